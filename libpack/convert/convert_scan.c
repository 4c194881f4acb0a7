/* What headers tell before any pixel is decoded: sizes and rejects. */
#include "libpack/convert/convert_options.h"
#include "libpack/convert/convert_parts.h"
#include "libpack/base/pool.h"
#include "libpack/convert/samples.h"
#include "libpack/image/geometry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
count_size(struct pack_convert_scan *scan, uint32_t h, uint32_t w)
{
    for (int i = 0; i < scan->n_sizes; i++)
        if (scan->sizes[i].h == h && scan->sizes[i].w == w) {
            scan->sizes[i].n++;
            return;
        }
    if (scan->n_sizes == PACK_CONVERT_SIZES_MAX) {
        scan->n_other_sizes++;
        return;
    }
    scan->sizes[scan->n_sizes].h = h;
    scan->sizes[scan->n_sizes].w = w;
    scan->sizes[scan->n_sizes++].n = 1;
}

static enum pack_status
keep_reject(struct pack_convert_scan *scan, uint64_t index, const char *reason,
            struct pack_error *err)
{
    enum pack_status status = pack_buf_append(&scan->reasons, &index, sizeof index, err);
    return status == PACK_OK
               ? pack_buf_append(&scan->reasons, reason, strlen(reason) + 1, err)
               : status;
}

static enum pack_status
take(const struct pack_convert_params *params, const struct pack_sample *sample,
     struct pack_convert_scan *scan, struct pack_error *err)
{
    enum pack_status status =
        pack_convert_row_count(params, &scan->row, sample, err);
    if (status != PACK_OK)
        return status;
    struct pack_geometry_plan plan;
    enum pack_sample_outcome outcome = sample->outcome;
    const char *reason = sample->reason;
    struct pack_error why;
    bool is_counted = outcome == PACK_SAMPLE_READY || sample->over_memory;
    if (is_counted && sample->need_bytes > scan->largest.need_bytes)
        scan->largest = *sample;
    if (sample->over_memory) /* another may take more: the bound that is told holds all */
        return PACK_OK;
    if (outcome == PACK_SAMPLE_FAILED)
        return pack_convert_fail_sample(params, NULL, sample, err);
    if (outcome == PACK_SAMPLE_READY &&
        pack_geometry_plan_image(&params->options.geometry, &sample->info, &plan, &why) !=
            PACK_OK) {
        outcome = PACK_SAMPLE_REJECTED;
        reason = why.text;
    }
    if (outcome == PACK_SAMPLE_READY) {
        scan->n_ready++;
        scan->source_bytes += sample->file_bytes;
        uint64_t pixels = (uint64_t)sample->info.width * sample->info.height;
        scan->source_pixels += pixels;
        scan->wide_pixels += sample->info.source_depth == 16 ? pixels : 0;
        scan->n_icc += sample->info.has_icc;
        scan->n_alpha += sample->info.has_alpha;
        scan->n_oriented += sample->info.orientation > 1;
        scan->n_animated += sample->info.animated;
        count_size(scan, plan.out_h, plan.out_w);
        return PACK_OK;
    }
    scan->n_rejected++;
    pack_convert_row_add(&scan->rejects, sample->index, reason,
                         outcome == PACK_SAMPLE_MISSING);
    scan->n_unread[sample->unread] += sample->unread != 0;
    return keep_reject(scan, sample->index, reason, err);
}

enum pack_status
pack_convert_scan_headers(const struct pack_convert_params *params,
                          struct pack_convert_scan *scan, struct pack_error *err)
{
    struct pack_samples_params sp = {
        .source = params->source,
        .image = params->options.image,
        .geometry = params->options.geometry,
        .headers_only = true,
        .n_threads = pack_convert_threads(params),
        .memory_bytes = pack_convert_memory(params),
        .max_file_bytes = pack_convert_max_file(&params->options),
        .watch = params->watch,
    };
    struct pack_samples *samples = NULL;
    struct pack_pool *pool = NULL;
    const struct pack_sample *sample;
    memset(scan, 0, sizeof *scan);
    enum pack_status status = pack_samples_new(&sp, &samples, err);
    if (status != PACK_OK)
        return status;
    struct pack_pool_lane lane = pack_samples_lane(samples);
    status = pack_pool_new(sp.n_threads, &lane, 1, &pool, err);
    if (status != PACK_OK)
        goto out;
    pack_samples_start(samples, pool, 0);
    while (status == PACK_OK && (sample = pack_samples_next(samples))) {
        status = take(params, sample, scan, err);
        if (status == PACK_OK)
            status = pack_convert_watch(params, "scanning", sample->index + 1,
                                        params->source->n_records, 0, err);
    }
    if (status == PACK_OK)
        scan->row.n = 0;
    if (status == PACK_OK && scan->largest.over_memory)
        status = pack_convert_fail_sample(params, NULL, &scan->largest, err);
out:
    pack_samples_end(samples);
    pack_pool_free(pool);
    pack_samples_free(samples);
    return status;
}

void
pack_convert_some_of(const struct pack_source *source, struct pack_convert_some *some)
{
    some->source = *source;
    some->source.records = some->records;
    if (some->source.n_records > PACK_CONVERT_SOME)
        some->source.n_records = PACK_CONVERT_SOME;
    for (uint64_t i = 0; i < some->source.n_records; i++)
        some->records[i] =
            source->records[i * (source->n_records / some->source.n_records)];
}

enum pack_status
pack_convert_scan_tell(const struct pack_convert_params *params,
                       const struct pack_convert_scan *scan, struct pack_error *err)
{
    const unsigned char *at = scan->reasons.data, *end = at + scan->reasons.size;
    enum pack_status status = PACK_OK;
    uint64_t index;
    while (at != end && status == PACK_OK) {
        memcpy(&index, at, sizeof index);
        const char *reason = (const char *)at + sizeof index;
        if (scan->row.n > 0 && index >= scan->row.first)
            break;
        status = pack_convert_reject(params, index, reason, false, err);
        at += sizeof index + strlen(reason) + 1;
    }
    return status;
}

void
pack_convert_scan_done(struct pack_convert_scan *scan)
{
    pack_buf_done(&scan->reasons);
}

enum pack_status
pack_convert_check_scan(const struct pack_convert_params *params,
                        const struct pack_convert_scan *scan, struct pack_error *err)
{
    char text[512];
    int n = 0;
    if (scan->n_sizes == 0)
        return pack_convert_fail_empty(params->source, &scan->rejects, err);
    if (scan->n_sizes == 1)
        return pack_convert_check_fits(params, &scan->largest, err);
    for (int i = 0; i < scan->n_sizes; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s%" PRIu32 "x%" PRIu32 " (%" PRIu64 ")", i ? ", " : "",
                      scan->sizes[i].h, scan->sizes[i].w, scan->sizes[i].n);
    if (scan->n_other_sizes)
        snprintf(text + n, sizeof text - (size_t)n, " and others (%" PRIu64 ")",
                 scan->n_other_sizes);
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "geometry",
                           "images differ in size, height x width: %s", text);
}

enum pack_status
pack_convert_find_size(const struct pack_convert_params *params, uint32_t *out_h,
                       uint32_t *out_w, struct pack_error *err)
{
    struct pack_convert_scan scan;
    enum pack_status status = pack_geometry_check(&params->options.geometry, err);
    if (status != PACK_OK || pack_geometry_fixed(&params->options.geometry, out_h, out_w))
        return status;
    status = pack_convert_scan_headers(params, &scan, err);
    if (status == PACK_OK)
        status = pack_convert_check_scan(params, &scan, err);
    if (status == PACK_OK) {
        *out_h = scan.sizes[0].h;
        *out_w = scan.sizes[0].w;
    } else { /* else packing meets them again, and more */
        pack_convert_scan_tell(params, &scan, NULL);
    }
    pack_convert_scan_done(&scan);
    return status;
}
