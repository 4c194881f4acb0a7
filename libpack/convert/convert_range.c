/*
 * The range of the 16-bit samples of a whole set, which has to be known before the first
 * one is scaled: images are read once more, with the threads and the memory that packing
 * has. Of those of 8 bits only the headers are; those that packing would reject, or that
 * cannot be read, do not count. What is smallest and largest does not depend on the order
 * in which images are looked at, so threads make no difference.
 */
#include "libpack/convert/convert_parts.h"

#include "libpack/base/pool.h"
#include "libpack/convert/samples.h"

void
pack_convert_range_add(struct pack_convert_range *range,
                       const struct pack_image_info *info)
{
    if (!info->has_range)
        return;
    if (!range->is_known || info->sample_low < range->low)
        range->low = info->sample_low;
    if (!range->is_known || info->sample_high > range->high)
        range->high = info->sample_high;
    range->is_known = true;
}

/* As when it is packed: a hundred in a row that cannot be read are no rejects. */
static enum pack_status
take(const struct pack_convert_params *params, const struct pack_sample *sample,
     struct pack_convert_row *row, struct pack_convert_range *range,
     struct pack_error *err)
{
    enum pack_status status = pack_convert_row_count(params, row, sample, err);
    if (status == PACK_OK && sample->outcome == PACK_SAMPLE_FAILED)
        status = pack_convert_fail_sample(params, NULL, sample, err);
    if (status != PACK_OK)
        return status;
    if (sample->outcome == PACK_SAMPLE_READY)
        pack_convert_range_add(range, &sample->info);
    return pack_convert_watch(params, "measuring", sample->index + 1,
                              params->source->n_records, 0, err);
}

enum pack_status
pack_convert_find_range(const struct pack_convert_params *params,
                        const struct pack_convert_plan *plan,
                        struct pack_convert_range *range, struct pack_error *err)
{
    struct pack_samples_params sp = pack_convert_samples(params, plan);
    struct pack_convert_row row = { 0 };
    struct pack_samples *samples = NULL;
    struct pack_pool *pool = NULL;
    const struct pack_sample *sample;
    sp.ranges_only = true;
    *range = (struct pack_convert_range){ 0 };
    enum pack_status status = pack_samples_new(&sp, &samples, err);
    if (status != PACK_OK)
        return status;
    struct pack_pool_lane lane = pack_samples_lane(samples);
    status = pack_pool_new(sp.n_threads, &lane, 1, &pool, err);
    if (status == PACK_OK)
        pack_samples_start(samples, pool, 0);
    while (status == PACK_OK && (sample = pack_samples_next(samples)))
        status = take(params, sample, &row, range, err);
    pack_samples_end(samples);
    pack_pool_free(pool);
    pack_samples_free(samples);
    return status;
}
