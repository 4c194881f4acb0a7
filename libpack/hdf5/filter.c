/*
 * A pipeline is a list of stages; a stage turns one block of bytes into another. Blocks
 * live in the caller's memory or in one of two scratch buffers of the context, which the
 * stages use in turn:
 *
 *     encode:  data ─▶ scratch 0 ─▶ scratch 1 ─▶ scratch 0 ...   the last one is the result,
 *                                                               or the caller's room is
 *     decode:  stored bytes ─▶ scratch 0 ─▶ ... ─▶ out
 *
 * Each stage has a bound on its output, known from the chunk's size alone, so nothing
 * that stored bytes say decides how much is allocated.
 */
#include "libpack/hdf5/filter.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/filter_parts.h"
#include "libpack/hdf5/filter_plugin.h"

static const struct pack_filter_codec *const codecs[] = {
    &pack_filter_deflate,
    &pack_filter_shuffle,
    &pack_filter_fletcher,
    &pack_filter_zstd,
    &pack_filter_lzf,
};

enum { N_CODECS = sizeof codecs / sizeof codecs[0] };

struct scratch {
    unsigned char *data;
    size_t capacity;
};

struct pack_filter_ctx {
    struct scratch scratch[2];
    void *state[N_CODECS]; /* of each codec, NULL until it needs one */
    const struct pack_plugins *plugins; /* NULL: none */
    struct pack_plugin_buffer theirs;
};

/* Its place among the codecs, -1 when it is none of them. */
static int
find_codec(uint32_t id)
{
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i]->id == id)
            return i;
    return -1;
}

static bool
are_codecs(const struct pack_pipeline *pipeline, bool encode, uint32_t *id)
{
    for (int i = 0; i < pipeline->n; i++) {
        int codec = find_codec(pipeline->filter[i].id);
        if (codec >= 0 && (!encode || codecs[codec]->encode))
            continue;
        if (id)
            *id = pipeline->filter[i].id;
        return false;
    }
    return true;
}

bool
pack_pipeline_is_known(const struct pack_pipeline *pipeline, uint32_t *id)
{
    if (!pipeline || pipeline->n < 0 || pipeline->n > PACK_PIPELINE_MAX)
        return false;
    return are_codecs(pipeline, true, id);
}

bool
pack_pipeline_is_decoded(const struct pack_pipeline *pipeline, uint32_t *id)
{
    return are_codecs(pipeline, false, id);
}

bool
pack_pipeline_compresses(const struct pack_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->filter[i].id != PACK_FILTER_SHUFFLE &&
            pipeline->filter[i].id != PACK_FILTER_FLETCHER32)
            return true;
    return false;
}

enum pack_status
pack_filter_ctx_new(struct pack_filter_ctx **out, struct pack_error *err)
{
    struct pack_filter_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return pack_fail_memory(err, "filter context");
    *out = ctx;
    return PACK_OK;
}

void
pack_filter_ctx_free(struct pack_filter_ctx *ctx)
{
    if (!ctx)
        return;
    for (int i = 0; i < N_CODECS; i++)
        if (ctx->state[i])
            codecs[i]->free_state(ctx->state[i]);
    free(ctx->scratch[0].data);
    free(ctx->scratch[1].data);
    free(ctx->theirs.data);
    free(ctx);
}

void
pack_filter_ctx_use(struct pack_filter_ctx *ctx, const struct pack_plugins *plugins)
{
    ctx->plugins = plugins;
}

void
pack_filter_ctx_trim(struct pack_filter_ctx *ctx, size_t keep_bytes)
{
    for (int i = 0; i < 2; i++)
        if (ctx->scratch[i].capacity > keep_bytes) {
            free(ctx->scratch[i].data);
            ctx->scratch[i] = (struct scratch){ 0 };
        }
    if (ctx->theirs.capacity > keep_bytes) {
        free(ctx->theirs.data);
        ctx->theirs = (struct pack_plugin_buffer){ 0 };
    }
}

/* The scratch buffer that does not hold `data`, at least `capacity` bytes of it. */
static enum pack_status
take_scratch(struct pack_filter_ctx *ctx, const unsigned char *data, size_t capacity,
             struct pack_block_room *to, struct pack_error *err)
{
    struct scratch *scratch = &ctx->scratch[data && data == ctx->scratch[0].data];
    if (scratch->capacity < capacity) {
        free(scratch->data);
        scratch->capacity = 0;
        scratch->data = malloc(capacity);
        if (!scratch->data)
            return pack_fail_memory(err, "filter buffer");
        scratch->capacity = capacity;
    }
    *to = (struct pack_block_room){ scratch->data, capacity };
    return PACK_OK;
}

/* Most bytes that a stage makes of `size`; 0: beyond size_t, or not known. An optional one
 * that fails leaves what it got. */
static size_t
stage_bound(const struct pack_filter *filter, size_t size)
{
    int codec = find_codec(filter->id);
    size_t bound = codec < 0 ? 0 : codecs[codec]->bound(size);
    return filter->flags & PACK_FILTER_OPTIONAL && bound < size ? size : bound;
}

size_t
pack_pipeline_bound(const struct pack_pipeline *pipeline, size_t size)
{
    for (int i = 0; i < pipeline->n && size > 0; i++)
        size = stage_bound(&pipeline->filter[i], size);
    return size;
}

/* Of a filter not known here, which may have been skipped: there is no telling. */
static size_t
stored_bound(const struct pack_filter *filter, size_t size)
{
    enum { LITTLE = 1 << 16 };
    if (find_codec(filter->id) >= 0)
        return stage_bound(filter, size);
    return size > (SIZE_MAX - LITTLE) / 2 ? 0 : 2 * size + LITTLE;
}

size_t
pack_pipeline_stored_bound(const struct pack_pipeline *pipeline, size_t size)
{
    for (int i = 0; i < pipeline->n && size > 0; i++)
        size = stored_bound(&pipeline->filter[i], size);
    return size;
}

int
pack_pipeline_encode_buffers(const struct pack_pipeline *pipeline)
{
    int n = pipeline->n - 1; /* the last stage has the caller's room */
    return n < 0 ? 0 : n > 2 ? 2 : n;
}

static enum pack_status
fail_unknown(uint32_t id, struct pack_error *err)
{
    char need[PACK_FILTER_NEED_MAX];
    return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s", pack_filter_need(id, need));
}

/* Into `room`, or into scratch when there is none. */
static enum pack_status
encode_stage(struct pack_filter_ctx *ctx, const struct pack_filter *filter, void *room,
             struct pack_block *block, struct pack_error *err)
{
    int codec = find_codec(filter->id);
    if (codec < 0 || !codecs[codec]->encode)
        return fail_unknown(filter->id, err);
    size_t bound = codecs[codec]->bound(block->size);
    struct pack_block_room to;
    if (bound == 0 && block->size > 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "a chunk of %zu bytes is too large",
                         block->size);
    enum pack_status status = PACK_OK;
    if (room)
        to = (struct pack_block_room){ room, bound };
    else
        status = take_scratch(ctx, block->data, bound, &to, err);
    if (status)
        return status;
    return codecs[codec]->encode(&ctx->state[codec], filter, *block, to, block, err);
}

enum pack_status
pack_pipeline_encode(const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx,
                     const void *data, size_t size, struct pack_stored *stored,
                     struct pack_error *err)
{
    return pack_pipeline_encode_to(pipeline, ctx, data, size, NULL, stored, err);
}

enum pack_status
pack_pipeline_encode_to(const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx,
                        const void *data, size_t size, void *room,
                        struct pack_stored *stored, struct pack_error *err)
{
    struct pack_block block = { data, size };
    uint32_t skipped = 0;
    for (int i = 0; i < pipeline->n; i++) {
        const struct pack_filter *filter = &pipeline->filter[i];
        bool optional = (filter->flags & PACK_FILTER_OPTIONAL) != 0;
        enum pack_status status =
            encode_stage(ctx, filter, i == pipeline->n - 1 ? room : NULL, &block,
                         optional ? NULL : err);
        if (status && optional && status != PACK_ERR_MEMORY) {
            skipped |= UINT32_C(1) << i;
            continue;
        }
        if (status)
            return optional ? pack_fail_memory(err, "filter") : status;
    }
    if (room && block.data != data && block.data != room) /* the last one was skipped */
        block.data = memcpy(room, block.data, block.size);
    *stored = (struct pack_stored){ block.data, block.size, skipped };
    return PACK_OK;
}

/* Most bytes that can stand before stage i, for each stage and behind the last. */
static enum pack_status
stage_bounds(const struct pack_pipeline *pipeline, size_t size, size_t *bound,
             struct pack_error *err)
{
    bound[0] = size;
    for (int i = 0; i < pipeline->n; i++) {
        bound[i + 1] = stored_bound(&pipeline->filter[i], bound[i]);
        if (bound[i + 1] < bound[i])
            return pack_fail(err, PACK_ERR_ARGUMENT, "a chunk of %zu bytes is too large",
                             size);
    }
    return PACK_OK;
}

/* Stage i into the room given, or into scratch of `bound` bytes when there is none. */
static enum pack_status
decode_stage(struct pack_filter_ctx *ctx, const struct pack_filter *filter, int i,
             struct pack_block_room to, size_t bound, struct pack_block *block,
             struct pack_error *err)
{
    int codec = find_codec(filter->id);
    if (codec < 0 && (!ctx->plugins || ctx->plugins->filter[i].id != filter->id))
        return fail_unknown(filter->id, err);
    enum pack_status status =
        to.data ? PACK_OK : take_scratch(ctx, block->data, bound, &to, err);
    if (status)
        return status;
    if (codec < 0)
        return pack_plugin_decode(&ctx->plugins->filter[i], filter, to, &ctx->theirs, block, err);
    return codecs[codec]->decode(&ctx->state[codec], filter, *block, to, block, err);
}

enum pack_status
pack_pipeline_decode(const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx,
                     const struct pack_stored *stored, void *out, size_t out_size,
                     struct pack_error *err)
{
    struct pack_block block = { stored->data, stored->size };
    size_t bound[PACK_PIPELINE_MAX + 1];
    enum pack_status status = stage_bounds(pipeline, out_size, bound, err);
    for (int i = pipeline->n - 1; i >= 0 && !status; i--) {
        if (stored->filter_mask >> i & 1)
            continue;
        struct pack_block_room to = { i > 0 ? NULL : out, out_size };
        status = decode_stage(ctx, &pipeline->filter[i], i, to, bound[i], &block, err);
    }
    if (status)
        return status;
    if (block.size != out_size)
        return pack_fail(err, PACK_ERR_FORMAT, "decodes to %zu bytes instead of %zu",
                         block.size, out_size);
    if (block.data != out)
        memcpy(out, block.data, out_size);
    return PACK_OK;
}
