/* What is known of a sample, as a record of the journal, and of all of them, as the result. */
#include "libpack/convert/convert_run.h"

#include <string.h>

#include "libpack/convert/samples.h"

static enum pack_status
tell_reject(struct run *run, uint64_t index, const char *reason)
{
    const struct pack_convert_params *params = run->params;
    run->result->n_rejected++;
    return pack_convert_reject(params, index, reason,
                               params->options.on_error == PACK_ON_ERROR_FAIL, run->err);
}

/* Of a reject: the system did not let it be read. */
static bool
is_refused(const struct sample_record *record)
{
    return record->file_bytes == 0 && record->file_mtime_ns == 0;
}

enum pack_status
pack_convert_account(struct run *run, const struct sample_record *record,
                     const char *reason)
{
    struct pack_convert_result *result = run->result;
    bool blank = run->params->options.on_error == PACK_ON_ERROR_BLANK;
    bool ready = record->outcome == PACK_SAMPLE_READY;
    int32_t size[2] = { (int32_t)record->height, (int32_t)record->width };
    uint8_t valid = ready;
    enum pack_status status = PACK_OK;
    if (!ready) {
        uint32_t unread = record->flags >> RECORD_UNREAD_SHIFT;
        if (unread > 0 && unread < PACK_IMAGE_KINDS)
            result->unread[unread].n_rejected++;
        pack_convert_row_add(&run->rejects, record->index, reason, is_refused(record));
        status = tell_reject(run, record->index, reason);
        if (status != PACK_OK || !blank)
            return status;
        result->n_blank++;
    }
    result->n_packed++;
    result->n_warned += !!(record->flags & RECORD_WARNED);
    result->n_icc += !!(record->flags & RECORD_ICC);
    result->n_alpha += !!(record->flags & RECORD_ALPHA);
    result->n_oriented += !!(record->flags & RECORD_ORIENTED);
    result->n_animated += !!(record->flags & RECORD_ANIMATED);
    const struct pack_convert_options *o = &run->params->options;
    bool scales = o->image.scales_16 || o->finds_range_16;
    if (!scales && record->flags & RECORD_DIM) {
        result->n_dim++;
        result->n_pale += !!(record->flags & RECORD_PALE);
    }
    result->n_cut += !!(record->flags & RECORD_CUT);
    pack_moments_add(&run->moments, record->sum, record->sumsq);
    status = pack_buf_append(&run->rows, &record->index, sizeof record->index, run->err);
    if (status == PACK_OK)
        status = pack_buf_append(&run->sizes, size, sizeof size, run->err);
    if (status == PACK_OK && blank)
        status = pack_buf_append(&run->valid, &valid, sizeof valid, run->err);
    return status;
}

/* Of 12 bits in 16, as scanners and cameras of microscopes have them: what is left of the
 * high byte is next to nothing. Black images are what they are. */
static bool
is_dim(const struct pack_image_info *info)
{
    return info->has_range && info->sample_high > 0 && info->sample_high < 4096;
}

/* With samples that the range does not hold; one that was to be found and is not there
 * holds none. */
static bool
is_cut(const struct pack_convert_options *options, const struct pack_image_info *info)
{
    const struct pack_image_params *image = &options->image;
    if (!info->has_range || !image->scales_16)
        return info->has_range && options->finds_range_16;
    return info->sample_low < image->low_16 || info->sample_high > image->high_16;
}

struct sample_record
pack_convert_make_record(const struct run *run, const struct pack_sample *sample)
{
    struct sample_record record = {
        .index = sample->index,
        .file_bytes = sample->file_bytes,
        .file_mtime_ns = sample->file_mtime_ns,
        .outcome = (uint16_t)sample->outcome,
    };
    const struct pack_image_info *info = &sample->info;
    if (sample->outcome == PACK_SAMPLE_MISSING) { /* nothing to recognise it by */
        record.outcome = PACK_SAMPLE_REJECTED;
        record.file_bytes = 0;
        record.file_mtime_ns = 0;
    }
    if (sample->outcome != PACK_SAMPLE_READY) {
        record.reason_bytes = (uint16_t)(strlen(sample->reason) + 1);
        record.flags = (uint32_t)sample->unread << RECORD_UNREAD_SHIFT;
        return record;
    }
    record.width = info->width;
    record.height = info->height;
    record.flags = (info->n_warnings ? RECORD_WARNED : 0u) |
                   (info->has_icc ? RECORD_ICC : 0u) |
                   (info->has_alpha ? RECORD_ALPHA : 0u) |
                   (info->orientation > 1 ? RECORD_ORIENTED : 0u) |
                   (info->animated ? RECORD_ANIMATED : 0u) |
                   (is_dim(info) ? RECORD_DIM : 0u) |
                   (info->zero_is_white ? RECORD_PALE : 0u) |
                   (is_cut(&run->params->options, info) ? RECORD_CUT : 0u);
    memcpy(record.sum, sample->sum, sizeof record.sum);
    memcpy(record.sumsq, sample->sumsq, sizeof record.sumsq);
    return record;
}
