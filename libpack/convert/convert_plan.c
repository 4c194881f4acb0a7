/* Shapes and memory of a file before anything is decoded. */
#include "libpack/convert/convert_options.h"
#include "libpack/convert/convert_run.h"
#include "libpack/base/numbers.h"
#include "libpack/base/pool.h"
#include "libpack/base/size.h"
#include "libpack/convert/sample_memory.h"
#include "libpack/image/geometry.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

static const uint64_t DEFAULT_MEMORY = UINT64_C(1) << 30;
static const uint64_t CHUNK_MAX =
    UINT32_MAX; /* HDF5 before 2.0 counts chunk bytes in 32 bits */
static const uint64_t BLOCK_SAMPLES_MAX = 1 << 22; /* their records fit a journal entry */
static const uint64_t CHUNKS_MAX = 1 << 30; /* each takes some dozen bytes of index */
static const uint64_t SINGLE_CHUNK = 64 << 10, BLOCK_CHUNK = 1 << 20;

uint64_t
pack_convert_chunk_samples(enum pack_chunk_goal goal, uint64_t sample_bytes)
{
    uint64_t room = goal == PACK_CHUNK_FOR_BLOCK_SHUFFLE ? BLOCK_CHUNK : SINGLE_CHUNK - 1;
    return sample_bytes && sample_bytes <= room ? room / sample_bytes : 1;
}

static void
sample_shape(const struct pack_convert_options *o, uint32_t h, uint32_t w,
             struct pack_shape *shape)
{
    bool gray = o->image.mode == PACK_IMAGE_GRAY;
    uint64_t channels = gray ? 1 : 3;
    if (o->layout == PACK_PIXEL_NCHW)
        *shape = (struct pack_shape){ 3, { channels, h, w } };
    else if (gray)
        *shape = (struct pack_shape){ 2, { h, w } };
    else
        *shape = (struct pack_shape){ 3, { h, w, channels } };
}

static enum pack_status
chunk_shape(const struct pack_convert_params *params, struct pack_convert_plan *plan,
            struct pack_error *err)
{
    const struct pack_convert_options *o = &params->options;
    char text[PACK_SHAPE_TEXT_MAX];
    if (o->chunk.rank) {
        if (o->chunk.rank != plan->sample.rank + 1)
            return pack_fail(
                err, PACK_ERR_ARGUMENT, "chunk %s has %s, the dataset has %d",
                pack_shape_format(&o->chunk, text), pack_dimensions(o->chunk.rank).text,
                plan->sample.rank + 1);
        for (int i = 0; i < plan->sample.rank; i++)
            if (o->chunk.extent[i + 1] > plan->sample.extent[i])
                return pack_fail(
                    err, PACK_ERR_ARGUMENT,
                    "chunk %s is larger than a sample along axis %d (%" PRIu64 ")",
                    pack_shape_format(&o->chunk, text), i + 1, plan->sample.extent[i]);
        plan->chunk = o->chunk;
        return PACK_OK;
    }
    uint64_t n = o->chunk_samples;
    if (n == 0) {
        n = pack_convert_chunk_samples(o->goal, plan->sample_bytes);
        if (n > params->source->n_records)
            n = params->source->n_records;
    }
    plan->chunk.rank = plan->sample.rank + 1;
    plan->chunk.extent[0] = n;
    memcpy(&plan->chunk.extent[1], plan->sample.extent,
           sizeof(uint64_t) * (size_t)plan->sample.rank);
    return PACK_OK;
}

/* PACK_ERR_LIMIT for more chunks than an index is made for. */
static enum pack_status
check_n_chunks(const struct pack_convert_params *params,
               const struct pack_convert_plan *plan, struct pack_error *err)
{
    uint64_t n = params->source->n_records, n_chunks;
    char text[PACK_SHAPE_TEXT_MAX];
    if (!pack_size_mul(n / plan->block_samples + (n % plan->block_samples != 0),
                       plan->chunks_per_block, &n_chunks))
        n_chunks = UINT64_MAX;
    if (n_chunks <= CHUNKS_MAX)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_LIMIT, "chunk",
                           "chunks of %s would be %" PRIu64 " for %" PRIu64
                           " images, more than %" PRIu64,
                           pack_shape_format(&plan->chunk, text), n_chunks, n, CHUNKS_MAX);
}

/* ------------------------------------------------------------------ memory */

static uint64_t
slots_max(const struct pack_convert_plan *plan)
{
    return 4 * (uint64_t)plan->n_threads + 4;
}

static uint64_t
blocks_max(const struct pack_convert_plan *plan)
{
    return plan->direct ? 1 : (uint64_t)plan->n_threads + 2;
}

/* Bytes for at least `least` items and at most `most`, else this share. */
static uint64_t
share_bytes(uint64_t share, uint64_t item_bytes, uint64_t least, uint64_t most)
{
    if (share / item_bytes >= most)
        return most * item_bytes;
    return share > least * item_bytes ? share : least * item_bytes;
}

/* A quarter of the memory, or a half where no blocks are filled. */
static uint64_t
slots_bytes(const struct pack_convert_plan *plan, uint64_t memory)
{
    return share_bytes(memory / (plan->direct ? 2 : 4), plan->slot_bytes, 2,
                       slots_max(plan));
}

static uint64_t
blocks_bytes(const struct pack_convert_plan *plan, uint64_t memory)
{
    return share_bytes(memory / 2, plan->filling_bytes, !plan->direct + 1,
                       blocks_max(plan));
}

/* The shares count in full, also what is left over where they are no whole number of
 * items: thus more memory never leaves less. */
uint64_t
pack_convert_left_bytes(const struct pack_convert_plan *plan, uint64_t memory)
{
    if (plan->slot_bytes == 0)
        return memory;
    uint64_t beside = slots_bytes(plan, memory) + blocks_bytes(plan, memory);
    bool holds =
        2 * plan->slot_bytes + 2 * plan->filling_bytes <= memory - memory / 4;
    return holds && memory > beside ? memory - beside : 0;
}

static bool
fits(const struct pack_convert_plan *plan, uint64_t memory, uint64_t bytes)
{
    uint64_t left = pack_convert_left_bytes(plan, memory);
    return bytes <= pack_sample_budget_bytes(left, plan->n_threads);
}

/* The least bound in MiB under which so many bytes can be taken for one image. */
static uint64_t
least_mib(const struct pack_convert_plan *plan, uint64_t bytes)
{
    uint64_t none = 0, least = UINT64_MAX >> 20;
    while (least - none > 1) {
        uint64_t mib = none + (least - none) / 2;
        *(fits(plan, mib << 20, bytes) ? &least : &none) = mib;
    }
    return least;
}

/* The memory does not hold the chunks. What holds them and the images, too, is told from
 * the headers of some. */
static enum pack_status
fail_chunks(const struct pack_convert_params *params,
            const struct pack_convert_plan *plan, struct pack_error *err)
{
    struct pack_convert_params few = *params;
    struct pack_convert_some some;
    struct pack_convert_scan scan;
    char have[PACK_BYTES_TEXT_MAX], path[PATH_MAX], shown[PACK_NAME_TEXT_MAX];
    pack_convert_some_of(params->source, &some);
    few.source = &some.source;
    enum pack_status status = pack_convert_scan_headers(&few, &scan, err);
    uint64_t need = scan.largest.need_bytes;
    pack_convert_scan_done(&scan);
    if (status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED)
        return status;
    pack_bytes_format(pack_convert_memory(params), have);
    if (need == 0)
        return pack_fail(
            err, PACK_ERR_MEMORY,
            "a memory bound of %s is too small for chunks of %s, which take %" PRIu64
            " MiB, and some more to decode in",
            have, pack_counted(plan->block_samples, "sample", "samples").text,
            least_mib(plan, 1));
    pack_source_path(&some.source, scan.largest.index, path, sizeof path);
    return pack_fail(err, PACK_ERR_MEMORY,
                     "a memory bound of %s is too small for chunks of %s and an image like "
                     "'%s', which a bound of %" PRIu64 " MiB would hold",
                     have, pack_counted(plan->block_samples, "sample", "samples").text,
                     pack_name_text(path, shown), least_mib(plan, need));
}

/* Splits the memory: for samples, for blocks, and the rest for decoding. */
static enum pack_status
share_memory(const struct pack_convert_params *params, struct pack_convert_plan *plan,
             struct pack_error *err)
{
    uint64_t memory = pack_convert_memory(params);
    plan->decode_bytes = pack_convert_left_bytes(plan, memory);
    if (plan->decode_bytes == 0)
        return fail_chunks(params, plan, err);
    plan->n_slots = slots_bytes(plan, memory) / plan->slot_bytes;
    plan->n_blocks = blocks_bytes(plan, memory) / plan->filling_bytes;
    plan->buffer_bytes =
        plan->n_slots * plan->slot_bytes + plan->n_blocks * plan->filling_bytes;
    return PACK_OK;
}

/* -------------------------------------------------------------------- plan */

/* Of each chunk in turn: cut out of its block, and between two filters. Counted for each
 * block, or sample that is one: no more of them than that are encoded at a time. */
static uint64_t
count_coding(const struct pack_pipeline *pipeline, const struct pack_convert_plan *plan)
{
    bool cuts = !plan->whole && pipeline->n > 0; /* else right into its place */
    return (cuts ? plan->chunk_bytes : 0) +
           (uint64_t)pack_pipeline_encode_buffers(pipeline) *
               pack_pipeline_bound(pipeline, plan->chunk_bytes);
}

/* A block is assembled, and once more encoded, with what a codec may add. */
static void
count_bytes(const struct pack_pipeline *pipeline, struct pack_convert_plan *plan)
{
    plan->coded_bytes = plan->whole && pipeline->n == 0
                            ? 0
                            : plan->chunks_per_block *
                                  pack_pipeline_bound(pipeline, plan->chunk_bytes);
    plan->coding_bytes = count_coding(pipeline, plan);
    uint64_t notes = plan->chunks_per_block * CHUNK_NOTE_BYTES;
    uint64_t coded = plan->coded_bytes + plan->coding_bytes;
    plan->slot_bytes = plan->sample_bytes + (plan->direct ? coded + notes : 0);
    plan->filling_bytes = notes + (plan->direct ? 0 : plan->block_bytes + coded);
}

/* The plan, its memory not shared out yet. */
static enum pack_status
plan_shapes(const struct pack_convert_params *params, uint32_t out_h, uint32_t out_w,
            struct pack_convert_plan *plan, struct pack_error *err)
{
    struct pack_convert_plan p = { .out_h = out_h, .out_w = out_w };
    p.n_channels = params->options.image.mode == PACK_IMAGE_GRAY ? 1 : 3;
    p.n_threads = pack_convert_threads(params);
    p.sample_bytes = (uint64_t)out_h * out_w * (uint64_t)p.n_channels;
    sample_shape(&params->options, out_h, out_w, &p.sample);
    enum pack_status status = chunk_shape(params, &p, err);
    if (status != PACK_OK)
        return status;
    uint64_t count;
    if (!pack_shape_count(&p.chunk, &count) || count > CHUNK_MAX ||
        !pack_size_mul(p.chunk.extent[0], p.sample_bytes, &p.block_bytes))
        return pack_fail(err, PACK_ERR_LIMIT,
                         "chunks of %s of %" PRIu64
                         " bytes are larger than HDF5's limit of 4 GiB",
                         pack_counted(p.chunk.extent[0], "sample", "samples").text,
                         p.sample_bytes);
    p.chunk_bytes = count;
    p.block_samples = p.chunk.extent[0];
    if (p.block_samples > BLOCK_SAMPLES_MAX)
        return pack_fail(err, PACK_ERR_LIMIT, "more than %" PRIu64 " samples in a chunk",
                         BLOCK_SAMPLES_MAX);
    p.chunks_per_block = 1;
    for (int i = 0; i < p.sample.rank; i++)
        p.chunks_per_block *=
            (p.sample.extent[i] + p.chunk.extent[i + 1] - 1) / p.chunk.extent[i + 1];
    p.whole = p.chunk_bytes == p.block_bytes;
    p.direct = p.block_samples == 1;
    count_bytes(&params->options.pipeline, &p);
    *plan = p;
    return PACK_OK;
}

enum pack_status
pack_convert_plan_make(const struct pack_convert_params *params, uint32_t out_h,
                       uint32_t out_w, struct pack_convert_plan *plan,
                       struct pack_error *err)
{
    struct pack_convert_plan p;
    enum pack_status status = plan_shapes(params, out_h, out_w, &p, err);
    if (status == PACK_OK)
        status = check_n_chunks(params, &p, err);
    if (status == PACK_OK)
        status = share_memory(params, &p, err);
    if (status == PACK_OK)
        *plan = p;
    return status;
}

uint64_t
pack_convert_memory(const struct pack_convert_params *params)
{
    return params->memory_bytes ? params->memory_bytes : DEFAULT_MEMORY;
}

unsigned
pack_convert_threads(const struct pack_convert_params *params)
{
    return params->n_threads ? params->n_threads : pack_pool_default_threads();
}

struct pack_samples_params
pack_convert_samples(const struct pack_convert_params *params,
                     const struct pack_convert_plan *plan)
{
    return (struct pack_samples_params){
        .source = params->source,
        .image = params->options.image,
        .geometry = params->options.geometry,
        .layout = params->options.layout,
        .out_h = plan->out_h,
        .out_w = plan->out_w,
        .n_threads = plan->n_threads,
        .memory_bytes = plan->decode_bytes,
        .max_file_bytes = pack_convert_max_file(&params->options),
        .watch = params->watch,
        .n_slots = plan->n_slots,
    };
}

enum pack_status
pack_convert_watch(const struct pack_convert_params *params, const char *stage,
                   uint64_t done, uint64_t total, uint64_t bytes, struct pack_error *err)
{
    pack_watch_tell(&params->watch, &(struct pack_progress){ .stage = stage,
                                                             .unit = "images",
                                                             .done = done,
                                                             .total = total,
                                                             .bytes = bytes });
    return pack_watch_check(&params->watch, err);
}

enum pack_status
pack_convert_reject(const struct pack_convert_params *params, uint64_t index,
                    const char *reason, bool ends_run, struct pack_error *err)
{
    char path[2 * PATH_MAX];
    struct pack_reject reject = { ends_run, index, params->source->records[index].name,
                                  path, reason };
    pack_source_path(params->source, index, path, sizeof path);
    if (params->on_reject && !params->on_reject(params->reject_context, &reject))
        return pack_fail(err, PACK_ERR_IO, "cannot write the list of rejects");
    if (!ends_run)
        return PACK_OK;
    pack_fail(err, PACK_ERR_FORMAT, "%s", reason);
    return pack_convert_name_record(params->source, index, PACK_ERR_FORMAT, err);
}

_Static_assert((int)PACK_IMAGE_KINDS <= (int)PACK_CONVERT_UNREAD_MAX,
               "every kind has its place");

void
pack_convert_count_unread(const struct pack_source *source,
                          struct pack_convert_result *result)
{
    for (int kind = 1; kind < PACK_IMAGE_KINDS; kind++)
        result->unread[kind] = (struct pack_convert_unread){
            pack_image_kind_name(kind), 0, source ? source->unread[kind].count : 0
        };
}

/* The plan for images like this one, as far as memory is asked about. */
static struct pack_convert_plan
plan_for(const struct pack_convert_params *params, const struct pack_image_info *info)
{
    struct pack_convert_plan plan = { .n_threads = pack_convert_threads(params) };
    struct pack_geometry_plan shape;
    if (pack_geometry_plan_image(&params->options.geometry, info, &shape, NULL) == PACK_OK)
        plan_shapes(params, shape.out_h, shape.out_w, &plan, NULL);
    return plan;
}

static enum pack_status
fail_memory(const struct pack_convert_params *params, const struct pack_convert_plan *plan,
            const struct pack_sample *sample, struct pack_error *err)
{
    char text[PACK_BYTES_TEXT_MAX];
    pack_fail_param(err, PACK_ERR_MEMORY, "memory_bytes",
                    "takes %s%s of memory, which a bound of %" PRIu64 " MiB would hold",
                    sample->info.width ? "" : "at least ", /* it was not seen yet */
                    pack_bytes_format(sample->need_bytes, text),
                    least_mib(plan, sample->need_bytes));
    return pack_convert_name_record(params->source, sample->index, PACK_ERR_MEMORY, err);
}

enum pack_status
pack_convert_fail_sample(const struct pack_convert_params *params,
                         const struct pack_convert_plan *plan,
                         const struct pack_sample *sample, struct pack_error *err)
{
    if (sample->status == PACK_ERR_INTERRUPTED)
        return pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted");
    if (sample->over_memory) {
        struct pack_convert_plan own = plan ? *plan : plan_for(params, &sample->info);
        return fail_memory(params, &own, sample, err);
    }
    pack_fail(err, sample->status, "%s", sample->reason);
    return pack_convert_name_record(params->source, sample->index, sample->status, err);
}

enum pack_status
pack_convert_check_fits(const struct pack_convert_params *params,
                        const struct pack_sample *sample, struct pack_error *err)
{
    struct pack_convert_plan plan = plan_for(params, &sample->info);
    return fits(&plan, pack_convert_memory(params), sample->need_bytes)
               ? PACK_OK
               : fail_memory(params, &plan, sample, err);
}

enum pack_status
pack_convert_name_record(const struct pack_source *source, uint64_t index,
                         enum pack_status status, struct pack_error *err)
{
    char path[PATH_MAX], shown[PACK_NAME_TEXT_MAX];
    pack_source_path(source, index, path, sizeof path);
    return pack_error_prefix(err, status, "'%s'", pack_name_text(path, shown));
}
