#include "libpack/advise/pattern_file.h"

#include <stdlib.h>

#include "libpack/base/textfile.h"
#include "libpack/model/order_text.h"

enum { FILE_MAX = 1 << 30 };

static enum pack_status
read_trace(const struct pack_buf *text, const struct pack_shape *extent,
           struct pack_pattern *pattern, struct pack_pattern_file *file,
           struct pack_error *err)
{
    enum pack_status status =
        pack_trace_parse((const char *)text->data, text->size, &file->trace, err);
    if (status == PACK_OK)
        status = pack_trace_check(file->trace.boxes, file->trace.n_boxes, extent, err);
    if (status != PACK_OK)
        return status;
    pattern->trace = file->trace.boxes;
    pattern->n_trace = file->trace.n_boxes;
    return PACK_OK;
}

/* Samples of one epoch that are read once each, by one process. */
static enum pack_status
count_samples(const struct pack_pattern *pattern, const struct pack_shape *extent,
              uint64_t *n, struct pack_error *err)
{
    struct pack_pattern all = { .kind = PACK_PATTERN_SEQUENTIAL,
                                .extent = *extent,
                                .box = pattern->box,
                                .step = pattern->step,
                                .n_samples = pattern->n_samples };
    struct pack_pattern_iter *iter = NULL;
    enum pack_status status = pack_pattern_new(&all, &iter, err);
    if (status == PACK_OK)
        *n = pack_pattern_length(iter);
    pack_pattern_free(iter);
    return status;
}

static enum pack_status
read_weights(const struct pack_buf *text, const struct pack_shape *extent,
             struct pack_pattern *pattern, struct pack_pattern_file *file,
             struct pack_error *err)
{
    uint64_t n = 0;
    enum pack_status status = count_samples(pattern, extent, &n, err);
    if (status == PACK_OK)
        status = pack_weights_parse((const char *)text->data, text->size, n,
                                    &file->weights, err);
    pattern->weights = file->weights;
    return status;
}

enum pack_status
pack_pattern_file_read(struct pack_pattern *pattern, const struct pack_shape *extent,
                       struct pack_pattern_file *file, struct pack_error *err)
{
    struct pack_buf text = { 0 };
    if (!pattern->file)
        return PACK_OK;
    if (pattern->kind == PACK_PATTERN_TRACE && (pattern->box.rank > 0 || pattern->step > 1))
        return pack_fail_param(err, PACK_ERR_ARGUMENT,
                               pattern->box.rank > 0 ? "box" : "step",
                               "'%s' says itself what each read asks for: neither a box nor "
                               "a crop or a step goes with it",
                               pattern->file);
    enum pack_status status = pack_textfile_read(pattern->file, FILE_MAX, &text, err);
    if (status != PACK_OK)
        return status;
    status = pattern->kind == PACK_PATTERN_TRACE
                 ? read_trace(&text, extent, pattern, file, err)
                 : read_weights(&text, extent, pattern, file, err);
    pack_buf_done(&text);
    return status == PACK_OK ? status
                             : pack_error_prefix(err, status, "'%s'", pattern->file);
}

void
pack_pattern_file_done(struct pack_pattern_file *file)
{
    pack_trace_free(&file->trace);
    free(file->weights);
    *file = (struct pack_pattern_file){ .weights = NULL };
}
