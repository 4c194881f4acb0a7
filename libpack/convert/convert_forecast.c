/*
 * What packing would give, from headers, and how long it would take, from a trial: images
 * spread over the source are decoded on as many threads, and one of them is encoded.
 * Writing is not foreseen, as the system's cache hides it or not.
 */
#include "libpack/convert/convert_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/base/pool.h"
#include "libpack/base/size.h"
#include "libpack/convert/samples.h"
#include "libpack/image/geometry.h"

static const uint64_t TRIAL_NS = 500000000; /* at most, and the image it is at */

static void
count(const struct pack_convert_params *params, const struct pack_convert_scan *scan,
      struct pack_convert_result *result)
{
    bool blank = params->options.on_error == PACK_ON_ERROR_BLANK;
    result->n_packed = scan->n_ready + (blank ? scan->n_rejected : 0);
    result->n_rejected = scan->n_rejected;
    result->n_blank = blank ? scan->n_rejected : 0;
    result->n_icc = scan->n_icc;
    result->n_alpha = scan->n_alpha;
    result->n_oriented = scan->n_oriented;
    result->n_animated = scan->n_animated;
    for (int kind = 1; kind < PACK_IMAGE_KINDS; kind++)
        result->unread[kind].n_rejected = scan->n_unread[kind];
    result->source_bytes = scan->source_bytes;
}

static enum pack_status
measure(const struct pack_convert_params *params, const struct pack_convert_plan *plan,
        struct pack_convert_result *result, struct pack_error *err)
{
    result->n_channels = plan->n_channels;
    result->chunk = plan->chunk;
    result->extent = plan->chunk;
    result->extent.extent[0] = result->n_packed;
    memcpy(&result->extent.extent[1], plan->sample.extent,
           sizeof(uint64_t) * (size_t)plan->sample.rank);
    uint64_t n_blocks =
        (result->n_packed + plan->block_samples - 1) / plan->block_samples;
    result->n_chunks = n_blocks * plan->chunks_per_block;
    result->buffer_bytes = plan->buffer_bytes;
    if (!pack_size_mul(result->n_packed, plan->sample_bytes, &result->pixel_bytes) ||
        !pack_size_mul(result->n_chunks, plan->chunk_bytes, &result->stored_bytes))
        return pack_fail(err, PACK_ERR_LIMIT,
                         "%" PRIu64 " images of %" PRIu64
                         " bytes are more than 64 bits can count",
                         result->n_packed, plan->sample_bytes);
    uint64_t names = 0;
    for (uint64_t i = 0; i < params->source->n_records; i++)
        names += strlen(params->source->records[i].name);
    /* per image: label, original size, a name; per chunk: an entry of the index */
    result->file_bytes = result->stored_bytes + 16 * result->n_packed + names +
                         32 * result->n_chunks + 8192;
    return PACK_OK;
}

/* -------------------------------------------------------------------- trial */

struct trial {
    uint64_t n, source_pixels, decode_ns, encode_ns;
    struct pack_convert_range range; /* of 16-bit samples */
    uint8_t *pixels; /* of the last image, sample_bytes */
};

static void
decode_until(struct pack_samples *samples, const struct pack_convert_plan *plan,
             const struct pack_watch *watch, struct trial *trial)
{
    uint64_t start_ns = pack_clock_ns();
    const struct pack_sample *sample;
    while (trial->decode_ns < TRIAL_NS && !pack_watch_stops(watch) &&
           (sample = pack_samples_next(samples))) {
        trial->decode_ns = pack_clock_ns() - start_ns;
        if (sample->outcome != PACK_SAMPLE_READY)
            continue;
        trial->n++;
        trial->source_pixels += (uint64_t)sample->info.width * sample->info.height;
        pack_convert_range_add(&trial->range, &sample->info);
        memcpy(trial->pixels, sample->pixels, plan->sample_bytes);
    }
}

static enum pack_status
try_decoding(const struct pack_convert_params *params,
             const struct pack_convert_plan *plan, struct trial *trial,
             struct pack_error *err)
{
    struct pack_convert_some some;
    struct pack_samples *samples = NULL;
    struct pack_pool *pool = NULL;
    pack_convert_some_of(params->source, &some);
    struct pack_samples_params sp = pack_convert_samples(params, plan);
    sp.source = &some.source;
    enum pack_status status = pack_samples_new(&sp, &samples, err);
    if (status != PACK_OK)
        return status;
    struct pack_pool_lane lane = pack_samples_lane(samples);
    status = pack_pool_new(sp.n_threads, &lane, 1, &pool, err);
    if (status == PACK_OK) {
        pack_samples_start(samples, pool, 0);
        decode_until(samples, plan, &params->watch, trial);
        status = pack_watch_check(&params->watch, err);
    }
    pack_samples_end(samples);
    pack_pool_free(pool);
    pack_samples_free(samples);
    return status;
}

static enum pack_status
try_encoding(const struct pack_convert_params *params,
             const struct pack_convert_plan *plan, struct trial *trial,
             struct pack_error *err)
{
    struct pack_filter_ctx *ctx;
    struct pack_stored stored;
    enum pack_status status = pack_filter_ctx_new(&ctx, err);
    if (status != PACK_OK)
        return status;
    uint64_t start_ns = pack_clock_ns();
    status = pack_pipeline_encode(&params->options.pipeline, ctx, trial->pixels,
                                  plan->sample_bytes, &stored, err);
    trial->encode_ns = pack_clock_ns() - start_ns;
    pack_filter_ctx_free(ctx);
    return status;
}

/* The range that is given, or what the trial saw of the one that would be looked for. */
static void
foresee_range(const struct pack_convert_options *o, const struct trial *trial,
              struct pack_convert_result *result)
{
    result->scales_16 = o->finds_range_16 ? trial->range.is_known : o->image.scales_16;
    result->low_16 = o->finds_range_16 ? trial->range.low : o->image.low_16;
    result->high_16 = o->finds_range_16 ? trial->range.high : o->image.high_16;
}

static enum pack_status
foresee_time(const struct pack_convert_params *params,
             const struct pack_convert_plan *plan, const struct pack_convert_scan *scan,
             struct pack_convert_result *result, struct pack_error *err)
{
    struct trial trial = { .pixels = malloc(plan->sample_bytes) };
    if (!trial.pixels)
        return pack_fail_memory(err, "a sample");
    enum pack_status status = try_decoding(params, plan, &trial, err);
    if (status == PACK_OK && trial.n && params->options.pipeline.n)
        status = try_encoding(params, plan, &trial, err);
    free(trial.pixels);
    foresee_range(&params->options, &trial, result);
    if (status != PACK_OK || trial.source_pixels == 0)
        return status;
    uint64_t twice = params->options.finds_range_16 ? scan->wide_pixels : 0;
    result->n_tried = trial.n;
    result->forecast_ns =
        (uint64_t)((double)trial.decode_ns / (double)trial.source_pixels *
                       (double)(scan->source_pixels + twice) +
                   (double)trial.encode_ns * (double)result->n_packed / plan->n_threads);
    return PACK_OK;
}

/* The headers of all images, their rejects told in any case. */
static enum pack_status
scan_all(const struct pack_convert_params *params, struct pack_convert_scan *scan,
         struct pack_error *err)
{
    struct pack_error own;
    enum pack_status status = pack_convert_scan_headers(params, scan, err);
    if (status == PACK_OK)
        status = pack_convert_check_scan(params, scan, err);
    enum pack_status told =
        pack_convert_scan_tell(params, scan, status == PACK_OK ? err : &own);
    pack_convert_scan_done(scan);
    return status == PACK_OK ? told : status;
}

enum pack_status
pack_convert_forecast(const struct pack_convert_params *params,
                      struct pack_convert_result *result, struct pack_error *err)
{
    struct pack_convert_scan scan;
    struct pack_convert_plan plan;
    uint32_t out_h, out_w;
    enum pack_status status = pack_convert_check_source(params, result, false, err);
    if (status == PACK_OK)
        status = pack_convert_check_options(&params->options, err);
    if (status == PACK_OK)
        status = pack_convert_check_order(params->source, &params->options, err);
    if (status == PACK_OK)
        status = pack_convert_check_columns(params->source, &params->options, err);
    if (status != PACK_OK)
        return status;
    memset(result, 0, sizeof *result);
    result->n_listed = params->source->n_records;
    pack_convert_count_unread(params->source, result);
    status = scan_all(params, &scan, err);
    if (status != PACK_OK)
        return status;
    count(params, &scan, result);
    if (!pack_geometry_fixed(&params->options.geometry, &out_h, &out_w)) {
        out_h = scan.sizes[0].h;
        out_w = scan.sizes[0].w;
    }
    status = pack_convert_plan_make(params, out_h, out_w, &plan, err);
    if (status == PACK_OK)
        status = measure(params, &plan, result, err);
    return status == PACK_OK ? foresee_time(params, &plan, &scan, result, err) : status;
}
