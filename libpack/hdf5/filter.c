/*
 * A pipeline is a list of stages; a stage turns one block of bytes into another. Blocks
 * live in the caller's memory or in one of two scratch buffers of the context, which the
 * stages use in turn:
 *
 *     encode:  data ─▶ scratch 0 ─▶ scratch 1 ─▶ scratch 0 ...   the last one is the result
 *     decode:  stored bytes ─▶ scratch 0 ─▶ ... ─▶ out
 *
 * Each stage has a bound on its output, known from the chunk's size alone, so nothing
 * that stored bytes say decides how much is allocated.
 */
#include "libpack/hdf5/filter.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "libpack/hdf5/filter_parts.h"

enum { FLETCHER_BYTES = 4, ZSTD_LEVEL = 3 };

struct block {
    const unsigned char *data;
    size_t size;
};

struct scratch {
    unsigned char *data;
    size_t capacity;
};

struct pack_filter_ctx {
    struct scratch scratch[2];
    z_stream deflate, inflate;
    int deflate_level; /* of the initialised stream, -1: none */
    bool has_inflate;
    ZSTD_CCtx *zstd_encoder;
    uint64_t zstd_encoded; /* bytes since the encoder was made */
    ZSTD_DCtx *zstd_decoder;
};

/* Where a stage may put its output. */
struct target {
    unsigned char *data;
    size_t capacity;
};

/*
 * A stage reads `in` and either writes into `to` and points *out there, or points *out
 * into `in` when there is nothing to do. PACK_ERR_FORMAT means that the bytes are wrong,
 * PACK_ERR_ARGUMENT that the parameters are.
 */
typedef enum pack_status (*stage_fn)(struct pack_filter_ctx *ctx,
                                     const struct pack_filter *filter, struct block in,
                                     struct target to, struct block *out,
                                     struct pack_error *err);

struct codec {
    uint32_t id;
    /* upper bound of the encoded size; 0: beyond size_t */
    size_t (*bound)(size_t size);
    stage_fn encode, decode;
};

/* ------------------------------------------------------------------ shuffle */

static size_t
same_bound(size_t size)
{
    return size;
}

/* 0: this block stays as it is. */
static size_t
shuffle_width(const struct pack_filter *filter, size_t size)
{
    size_t width = filter->cd[0];
    return width > 1 && size / width > 1 ? width : 0;
}

static enum pack_status
check_shuffle(const struct pack_filter *filter, struct block in, struct target to,
              struct pack_error *err)
{
    if (filter->n_cd != 1 || filter->cd[0] == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "shuffle without an element size");
    if (in.size > to.capacity)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "%zu bytes to shuffle, at most %zu expected", in.size,
                         to.capacity);
    return PACK_OK;
}

/* All first bytes of the elements, all second bytes, ...;
 * a remainder stays at the end. */
static enum pack_status
shuffle_encode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
               struct block in, struct target to, struct block *out,
               struct pack_error *err)
{
    (void)ctx;
    enum pack_status status = check_shuffle(filter, in, to, err);
    size_t width = shuffle_width(filter, in.size);
    if (status || width == 0) {
        *out = in;
        return status;
    }
    size_t n = in.size / width;
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < n; i++)
            to.data[k * n + i] = in.data[i * width + k];
    memcpy(to.data + n * width, in.data + n * width, in.size - n * width);
    *out = (struct block){ to.data, in.size };
    return PACK_OK;
}

static enum pack_status
shuffle_decode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
               struct block in, struct target to, struct block *out,
               struct pack_error *err)
{
    (void)ctx;
    enum pack_status status = check_shuffle(filter, in, to, err);
    size_t width = shuffle_width(filter, in.size);
    if (status || width == 0) {
        *out = in;
        return status;
    }
    size_t n = in.size / width;
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < n; i++)
            to.data[i * width + k] = in.data[k * n + i];
    memcpy(to.data + n * width, in.data + n * width, in.size - n * width);
    *out = (struct block){ to.data, in.size };
    return PACK_OK;
}

/* --------------------------------------------------------------- fletcher32 */

static size_t
fletcher_bound(size_t size)
{
    return size <= SIZE_MAX - FLETCHER_BYTES ? size + FLETCHER_BYTES : 0;
}

/* The end-around carry of one's complement addition. */
static uint32_t
fold(uint32_t sum)
{
    return (sum & 0xffff) + (sum >> 16);
}

/*
 * Fletcher's checksum over big-endian 16-bit words as H5_checksum_fletcher32 computes it:
 * sums are folded every 360 words, before they can overflow 32 bits.
 */
static uint32_t
fletcher32(const unsigned char *data, size_t size)
{
    uint32_t a = 0, b = 0;
    size_t words = size / 2;
    while (words > 0) {
        size_t run = words < 360 ? words : 360;
        words -= run;
        for (; run > 0; run--, data += 2) {
            a += (uint32_t)data[0] << 8 | data[1];
            b += a;
        }
        a = fold(a);
        b = fold(b);
    }
    if (size % 2) {
        a += (uint32_t)*data << 8;
        b += a;
        a = fold(a);
        b = fold(b);
    }
    return fold(b) << 16 | fold(a);
}

static enum pack_status
fletcher_encode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
                struct block in, struct target to, struct block *out,
                struct pack_error *err)
{
    (void)ctx, (void)filter, (void)err;
    uint32_t sum = fletcher32(in.data, in.size);
    memcpy(to.data, in.data, in.size);
    for (int i = 0; i < FLETCHER_BYTES; i++)
        to.data[in.size + (size_t)i] = (unsigned char)(sum >> (8 * i));
    *out = (struct block){ to.data, in.size + FLETCHER_BYTES };
    return PACK_OK;
}

/* HDF5 also accepts what its release 1.6.2 wrote on little-endian machines: the bytes of
 * each half of the sum exchanged. */
static enum pack_status
fletcher_decode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
                struct block in, struct target to, struct block *out,
                struct pack_error *err)
{
    (void)ctx, (void)filter, (void)to;
    if (in.size < FLETCHER_BYTES)
        return pack_fail(err, PACK_ERR_FORMAT, "too short for its checksum");
    size_t size = in.size - FLETCHER_BYTES;
    const unsigned char *tail = in.data + size;
    uint32_t stored = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 |
                      (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24;
    uint32_t sum = fletcher32(in.data, size);
    uint32_t swapped = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
    if (stored != sum && stored != swapped)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "fletcher32 checksum is %08x, should be %08x", stored, sum);
    *out = (struct block){ in.data, size };
    return PACK_OK;
}

/* ------------------------------------------------------------------ deflate */

/* What H5Z_filter_deflate allows for its output: more than that is a failure. */
static size_t
deflate_limit(size_t size)
{
    return (size_t)ceil((double)size * (double)1.001f) + 12;
}

static size_t
deflate_bound(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    size_t own = compressBound(size), theirs = deflate_limit(size);
    return own > theirs ? own : theirs;
}

static uInt
at_most_uint(size_t size)
{
    return size > UINT_MAX ? UINT_MAX : (uInt)size;
}

static enum pack_status
deflate_start(struct pack_filter_ctx *ctx, int level, struct pack_error *err)
{
    if (ctx->deflate_level == level && deflateReset(&ctx->deflate) == Z_OK)
        return PACK_OK;
    if (ctx->deflate_level >= 0)
        deflateEnd(&ctx->deflate);
    ctx->deflate_level = -1;
    memset(&ctx->deflate, 0, sizeof ctx->deflate);
    if (deflateInit(&ctx->deflate, level) != Z_OK)
        return pack_fail_memory(err, "deflate");
    ctx->deflate_level = level;
    return PACK_OK;
}

/* Feeds zlib's 32-bit counters until `run` says something other than Z_OK. */
static int
pump(z_stream *stream, struct block in, struct target to, bool encode, size_t *put)
{
    size_t in_left = in.size, room = to.capacity;
    int result;
    stream->next_in = (Bytef *)(uintptr_t)in.data; /* zlib does not write there */
    stream->avail_in = 0;
    stream->next_out = to.data;
    stream->avail_out = 0;
    do {
        if (stream->avail_in == 0) {
            stream->avail_in = at_most_uint(in_left);
            in_left -= stream->avail_in;
        }
        if (stream->avail_out == 0) {
            stream->avail_out = at_most_uint(room);
            room -= stream->avail_out;
        }
        result = encode ? deflate(stream, in_left ? Z_NO_FLUSH : Z_FINISH)
                        : inflate(stream, Z_SYNC_FLUSH);
    } while (result == Z_OK);
    *put = to.capacity - room - stream->avail_out;
    return result;
}

static enum pack_status
deflate_encode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
               struct block in, struct target to, struct block *out,
               struct pack_error *err)
{
    if (filter->n_cd != 1 || filter->cd[0] > 9)
        return pack_fail(err, PACK_ERR_ARGUMENT, "gzip level is not 0 to 9");
    enum pack_status status = deflate_start(ctx, (int)filter->cd[0], err);
    if (status)
        return status;
    size_t size;
    to.capacity = deflate_limit(in.size);
    if (pump(&ctx->deflate, in, to, true, &size) != Z_STREAM_END)
        return pack_fail(err, PACK_ERR_LIMIT, "gzip makes %zu bytes larger than %zu",
                         in.size, to.capacity);
    *out = (struct block){ to.data, size };
    return PACK_OK;
}

static enum pack_status
deflate_decode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
               struct block in, struct target to, struct block *out,
               struct pack_error *err)
{
    (void)filter;
    if (!ctx->has_inflate) {
        memset(&ctx->inflate, 0, sizeof ctx->inflate);
        if (inflateInit(&ctx->inflate) != Z_OK)
            return pack_fail_memory(err, "inflate");
        ctx->has_inflate = true;
    } else {
        inflateReset(&ctx->inflate);
    }
    size_t size;
    int result = pump(&ctx->inflate, in, to, false, &size);
    if (result == Z_MEM_ERROR)
        return pack_fail_memory(err, "inflate");
    if (result == Z_BUF_ERROR && size == to.capacity)
        return pack_fail(err, PACK_ERR_FORMAT, "gzip data decodes to more than %zu bytes",
                         to.capacity);
    if (result != Z_STREAM_END)
        return pack_fail(err, PACK_ERR_FORMAT, "gzip data is damaged: %s",
                         result == Z_BUF_ERROR ? "it ends too early"
                         : ctx->inflate.msg    ? ctx->inflate.msg
                                               : "not a zlib stream");
    *out = (struct block){ to.data, size };
    return PACK_OK;
}

/* --------------------------------------------------------------------- zstd */

static size_t
zstd_bound(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    size_t bound = ZSTD_compressBound(size);
    return ZSTD_isError(bound) ? 0 : bound;
}

static int
zstd_level(const struct pack_filter *filter)
{
    int level = filter->n_cd > 0 ? (int)filter->cd[0] : ZSTD_LEVEL;
    if (level < ZSTD_minCLevel())
        return ZSTD_minCLevel();
    return level > ZSTD_maxCLevel() ? ZSTD_maxCLevel() : level;
}

/*
 * An encoder numbers the bytes it has seen in 32 bits, over all frames, and its choices
 * may change where it renumbers. A chunk must give the same bytes whatever was encoded
 * before it, so the encoder is replaced long before that.
 */
static enum pack_status
zstd_start(struct pack_filter_ctx *ctx, size_t size, struct pack_error *err)
{
    static const uint64_t lifetime_bytes = UINT64_C(1) << 30;
    if (ctx->zstd_encoder && ctx->zstd_encoded + size > lifetime_bytes) {
        ZSTD_freeCCtx(ctx->zstd_encoder);
        ctx->zstd_encoder = NULL;
    }
    if (!ctx->zstd_encoder) {
        ctx->zstd_encoder = ZSTD_createCCtx();
        ctx->zstd_encoded = 0;
    }
    ctx->zstd_encoded += size;
    return ctx->zstd_encoder ? PACK_OK : pack_fail_memory(err, "zstd encoder");
}

static enum pack_status
zstd_encode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
            struct block in, struct target to, struct block *out, struct pack_error *err)
{
    enum pack_status status = zstd_start(ctx, in.size, err);
    if (status)
        return status;
    size_t size = ZSTD_compressCCtx(ctx->zstd_encoder, to.data, to.capacity, in.data,
                                    in.size, zstd_level(filter));
    /* the target is as large as it can get, so only memory can be missing */
    if (ZSTD_isError(size))
        return pack_fail_memory(err, ZSTD_getErrorName(size));
    *out = (struct block){ to.data, size };
    return PACK_OK;
}

static enum pack_status
zstd_decode(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
            struct block in, struct target to, struct block *out, struct pack_error *err)
{
    (void)filter;
    if (!ctx->zstd_decoder)
        ctx->zstd_decoder = ZSTD_createDCtx();
    if (!ctx->zstd_decoder)
        return pack_fail_memory(err, "zstd decoder");
    size_t size =
        ZSTD_decompressDCtx(ctx->zstd_decoder, to.data, to.capacity, in.data, in.size);
    if (ZSTD_isError(size))
        return pack_fail(err, PACK_ERR_FORMAT, "zstd data is damaged: %s",
                         ZSTD_getErrorName(size));
    *out = (struct block){ to.data, size };
    return PACK_OK;
}

uint64_t
pack_filter_zstd_size(const void *data, size_t size)
{
    unsigned long long content = ZSTD_getFrameContentSize(data, size);
    return content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR
               ? 0
               : content;
}

/* ---------------------------------------------------------------- pipelines */

static const struct codec codecs[] = {
    { PACK_FILTER_DEFLATE, deflate_bound, deflate_encode, deflate_decode },
    { PACK_FILTER_SHUFFLE, same_bound, shuffle_encode, shuffle_decode },
    { PACK_FILTER_FLETCHER32, fletcher_bound, fletcher_encode, fletcher_decode },
    { PACK_FILTER_ZSTD, zstd_bound, zstd_encode, zstd_decode },
};

static const struct codec *
find_codec(uint32_t id)
{
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
        if (codecs[i].id == id)
            return &codecs[i];
    return NULL;
}

bool
pack_pipeline_is_known(const struct pack_pipeline *pipeline, uint32_t *id)
{
    if (!pipeline || pipeline->n < 0 || pipeline->n > PACK_PIPELINE_MAX)
        return false;
    for (int i = 0; i < pipeline->n; i++)
        if (!find_codec(pipeline->filter[i].id)) {
            if (id)
                *id = pipeline->filter[i].id;
            return false;
        }
    return true;
}

enum pack_status
pack_filter_ctx_new(struct pack_filter_ctx **out, struct pack_error *err)
{
    struct pack_filter_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return pack_fail_memory(err, "filter context");
    ctx->deflate_level = -1;
    *out = ctx;
    return PACK_OK;
}

void
pack_filter_ctx_free(struct pack_filter_ctx *ctx)
{
    if (!ctx)
        return;
    if (ctx->deflate_level >= 0)
        deflateEnd(&ctx->deflate);
    if (ctx->has_inflate)
        inflateEnd(&ctx->inflate);
    ZSTD_freeCCtx(ctx->zstd_encoder);
    ZSTD_freeDCtx(ctx->zstd_decoder);
    free(ctx->scratch[0].data);
    free(ctx->scratch[1].data);
    free(ctx);
}

/* The scratch buffer that does not hold `data`, at least `capacity` bytes of it. */
static enum pack_status
take_scratch(struct pack_filter_ctx *ctx, const unsigned char *data, size_t capacity,
             struct target *to, struct pack_error *err)
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
    *to = (struct target){ scratch->data, capacity };
    return PACK_OK;
}

size_t
pack_pipeline_bound(const struct pack_pipeline *pipeline, size_t size)
{
    for (int i = 0; i < pipeline->n && size > 0; i++) {
        const struct codec *codec = find_codec(pipeline->filter[i].id);
        size = codec ? codec->bound(size) : 0;
    }
    return size;
}

static enum pack_status
fail_unknown(uint32_t id, struct pack_error *err)
{
    char need[PACK_FILTER_NEED_MAX];
    return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s", pack_filter_need(id, need));
}

static enum pack_status
encode_stage(struct pack_filter_ctx *ctx, const struct pack_filter *filter,
             struct block *block, struct pack_error *err)
{
    const struct codec *codec = find_codec(filter->id);
    if (!codec)
        return fail_unknown(filter->id, err);
    size_t bound = codec->bound(block->size);
    struct target to;
    if (bound == 0 && block->size > 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "a chunk of %zu bytes is too large",
                         block->size);
    enum pack_status status = take_scratch(ctx, block->data, bound, &to, err);
    return status ? status : codec->encode(ctx, filter, *block, to, block, err);
}

enum pack_status
pack_pipeline_encode(const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx,
                     const void *data, size_t size, const void **out, size_t *out_size,
                     uint32_t *filter_mask, struct pack_error *err)
{
    struct block block = { data, size };
    uint32_t skipped = 0;
    for (int i = 0; i < pipeline->n; i++) {
        const struct pack_filter *filter = &pipeline->filter[i];
        bool optional = (filter->flags & PACK_FILTER_OPTIONAL) != 0;
        enum pack_status status =
            encode_stage(ctx, filter, &block, optional ? NULL : err);
        if (status && optional && status != PACK_ERR_MEMORY) {
            skipped |= UINT32_C(1) << i;
            continue;
        }
        if (status)
            return optional ? pack_fail_memory(err, "filter") : status;
    }
    *out = block.data;
    *out_size = block.size;
    *filter_mask = skipped;
    return PACK_OK;
}

/* Most bytes that can stand before stage i, for each stage and behind the last. */
static enum pack_status
stage_bounds(const struct pack_pipeline *pipeline, size_t size, size_t *bound,
             struct pack_error *err)
{
    bound[0] = size;
    for (int i = 0; i < pipeline->n; i++) {
        const struct codec *codec = find_codec(pipeline->filter[i].id);
        bound[i + 1] = codec ? codec->bound(bound[i]) : bound[i];
        if (bound[i + 1] < bound[i])
            return pack_fail(err, PACK_ERR_ARGUMENT, "a chunk of %zu bytes is too large",
                             size);
    }
    return PACK_OK;
}

enum pack_status
pack_pipeline_decode(const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx,
                     uint32_t filter_mask, const void *data, size_t size, void *out,
                     size_t out_size, struct pack_error *err)
{
    struct block block = { data, size };
    size_t bound[PACK_PIPELINE_MAX + 1];
    enum pack_status status = stage_bounds(pipeline, out_size, bound, err);
    for (int i = pipeline->n - 1; i >= 0 && !status; i--) {
        if (filter_mask >> i & 1)
            continue;
        const struct codec *codec = find_codec(pipeline->filter[i].id);
        if (!codec)
            return fail_unknown(pipeline->filter[i].id, err);
        struct target to = { out, out_size };
        if (i > 0)
            status = take_scratch(ctx, block.data, bound[i], &to, err);
        if (!status)
            status = codec->decode(ctx, &pipeline->filter[i], block, to, &block, err);
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
