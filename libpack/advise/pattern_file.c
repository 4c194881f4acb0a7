#include "libpack/advise/pattern_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/base/textfile.h"
#include "libpack/model/order_text.h"
#include "libpack/model/trace_survey.h"

enum { FILE_MAX = 1 << 30 };

/* What was made of the reads of several processes. */
static void
remark(const struct pack_pattern_file *file, const struct pack_pattern_reader *reader,
       char *text, size_t size)
{
    const struct pack_trace *trace = &file->trace;
    const struct pack_trace_job *job = &file->job;
    size_t n = (size_t)snprintf(text, size, "the trace has %zu boxes of '%.80s'",
                                trace->n_boxes, trace->dataset);
    if (reader->is_found)
        n += (size_t)snprintf(text + n, size - n, ", which is read most");
    n += (size_t)snprintf(
        text + n, size - n, ": %s, %s%s",
        pack_counted(job->workers, "worker", "workers").text,
        pack_counted(job->epochs, "epoch", "epochs").text,
        job->workers_end ? " that each started them anew" : "");
    if (!job->is_replayed)
        n += (size_t)snprintf(text + n, size - n, "; other workers share them in batches");
    if (job->n_beside + job->n_uneven > 0)
        n += (size_t)snprintf(text + n, size - n,
                              "; %" PRIu64 " left out, of processes that read little or of an "
                              "epoch that is longer or not complete",
                              job->n_beside + job->n_uneven);
    if (trace->hdf5_version[0])
        snprintf(text + n, size - n, "; through HDF5 %s", trace->hdf5_version);
}

static enum pack_status
read_trace(const struct pack_buf *text, const struct pack_shape *extent,
           const struct pack_pattern_reader *reader, struct pack_pattern *pattern,
           struct pack_pattern_file *file, struct pack_error *err)
{
    struct pack_trace *trace = &file->trace;
    char *real = reader->file ? realpath(reader->file, NULL) : NULL;
    enum pack_status status =
        pack_trace_parse_of((const char *)text->data, text->size,
                            real ? real : reader->file, reader->dataset, trace, err);
    free(real);
    if (status == PACK_OK)
        status = pack_trace_check(trace->boxes, trace->n_boxes, extent, err);
    if (status == PACK_OK)
        status = pack_trace_job(trace, reader->workers, pattern->batch, &file->job, err);
    if (status != PACK_OK)
        return status;
    if (trace->dataset)
        remark(file, reader, file->remark, sizeof file->remark);
    pattern->trace = trace->boxes;
    pattern->n_trace = trace->n_boxes;
    pattern->trace_epochs = file->job.epochs;
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
                       const struct pack_pattern_reader *reader,
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
                 ? read_trace(&text, extent, reader, pattern, file, err)
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

enum pack_status
pack_pattern_file_dataset(const char *pattern, const char *file, char **dataset,
                          struct pack_error *err)
{
    struct pack_pattern parsed = { 0 };
    struct pack_buf text = { 0 };
    struct pack_trace_survey survey = { 0 };
    const struct pack_trace_part *part = NULL;
    *dataset = NULL;
    if (pack_pattern_parse(pattern, &parsed, NULL) != PACK_OK ||
        parsed.kind != PACK_PATTERN_TRACE)
        return PACK_OK; /* what is wrong with it is said where it is used */
    enum pack_status status = pack_textfile_read(parsed.file, FILE_MAX, &text, err);
    if (status != PACK_OK)
        return status;
    char *real = realpath(file, NULL);
    status = pack_trace_survey((const char *)text.data, text.size, &survey, err);
    if (status == PACK_OK)
        status = pack_trace_survey_find(&survey, real ? real : file, NULL, &part, err);
    if (status != PACK_OK)
        pack_error_prefix(err, status, "'%s'", parsed.file);
    else if (survey.head.has_origin &&
             !(*dataset = strdup(survey.head.datasets.names[part->dataset])))
        status = pack_fail_memory(err, "trace");
    free(real);
    pack_trace_survey_done(&survey);
    pack_buf_done(&text);
    return status;
}
