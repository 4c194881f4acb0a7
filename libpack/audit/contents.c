/*
 *     child: dataset by dataset ──reader.h──▶ samples ──contents_scan.c──▶ what they are ──▶ parent
 */
#include "libpack/audit/contents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/reader.h>
#include "libpack/audit/contents_scan.h"
#include "libpack/hdf5/h5_guard.h"

enum {
    BATCH_BYTES = 4 << 20,
    BATCH_MAX = 4096,
    SAMPLE_MAX = 256 << 20, /* a sample's bytes */
    SAMPLES_MAX = 1 << 20,  /* asked for */
    LABEL_BYTES = 64 << 20  /* so much of labels is looked at in any case */
};

struct record {
    uint64_t set;
    struct pack_contents contents;
};

struct looking {
    const struct pack_contents_params *params;
    const struct pack_survey *survey;
    const bool *asked;
    struct pack_h5_guard *guard;
};

bool
pack_contents_is_of_numbers(const struct pack_facts *f)
{
    return f->type.class_id == PACK_TYPE_INTEGER || f->type.class_id == PACK_TYPE_FLOAT ||
           f->type.class_id == PACK_TYPE_ENUM;
}

/* ----------------------------------------------------------------- the child */

static bool
is_of_numbers(const struct pack_survey_dataset *d)
{
    const struct pack_facts *f = &d->facts;
    uint64_t n = f->extent.rank ? f->extent.extent[0] : 0;
    return !d->failure[0] && n > 0 && f->space == PACK_SPACE_SIMPLE &&
           pack_contents_is_of_numbers(f) && f->logical_bytes / n > 0;
}

/* One of n samples spread over all: their boxes, or NULL where all are looked at. */
static struct pack_box *
spread(const struct pack_facts *f, uint64_t n)
{
    struct pack_box *boxes = malloc((size_t)n * sizeof *boxes);
    uint64_t last = f->extent.extent[0] - 1;
    for (uint64_t i = 0; boxes && i < n; i++) {
        double at = n > 1 ? (double)last * (double)i / (double)(n - 1) : 0;
        boxes[i].rank = f->extent.rank;
        memset(boxes[i].start, 0, sizeof boxes[i].start);
        memcpy(boxes[i].count, f->extent.extent, sizeof boxes[i].count);
        boxes[i].start[0] = (uint64_t)at < last ? (uint64_t)at : last;
        boxes[i].count[0] = 1;
    }
    return boxes;
}

static enum pack_status
scan(struct pack_reader *reader, const struct pack_box *boxes, struct pack_scan *s,
     struct pack_error *err)
{
    struct pack_reader_batch batch;
    enum pack_status status = PACK_OK;
    while ((status = pack_reader_next(reader, &batch, err)) == PACK_OK && batch.n_samples > 0) {
        const unsigned char *data = batch.data;
        for (size_t i = 0; i < batch.n_samples && status == PACK_OK; i++)
            status = pack_scan_sample(s,
                                      boxes ? boxes[batch.samples[i]].start[0] : batch.samples[i],
                                      data + i * pack_scan_bytes(s), err);
        if (status == PACK_OK)
            status = pack_scan_try(s, data, batch.n_samples, err);
        if (status != PACK_OK)
            return status;
    }
    return status;
}

static enum pack_status
look_at_set(const struct looking *l, size_t set, struct pack_contents *out,
            struct pack_error *err)
{
    const struct pack_survey_dataset *d = &l->survey->datasets[set];
    const struct pack_facts *f = &d->facts;
    char need[PACK_FILTER_NEED_MAX];
    uint64_t all = f->extent.extent[0], n = l->params->n_samples;
    uint64_t bytes = f->logical_bytes / all, batch = BATCH_BYTES / bytes;
    bool is_label = f->n_elements == all && f->logical_bytes <= LABEL_BYTES;
    if (n == 0 || n >= all || is_label)
        n = all;
    if (d->missing_filter)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s",
                         pack_filter_need(d->missing_filter, need));
    if (bytes > SAMPLE_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "each takes %" PRIu64 " MiB, where %d MiB are the most",
                         (bytes + (1 << 20) - 1) >> 20, SAMPLE_MAX >> 20);
    struct pack_box *boxes = n < all ? spread(f, n) : NULL;
    struct pack_scan *s = NULL;
    struct pack_reader *reader = NULL;
    struct pack_reader_params params = {
        .file = l->params->file,
        .dataset = f->path,
        .pattern = { .kind = boxes ? PACK_PATTERN_TRACE : PACK_PATTERN_SEQUENTIAL,
                     .trace = boxes,
                     .n_trace = boxes ? n : 0,
                     .batch = batch < 1 ? 1 : batch > BATCH_MAX ? BATCH_MAX : batch },
        .n_threads = l->params->n_threads,
    };
    enum pack_status status =
        n < all && !boxes ? pack_fail_memory(err, "a list of samples") : PACK_OK;
    if (status == PACK_OK)
        status = pack_scan_open(f, n, n == all, &s, err);
    if (status == PACK_OK)
        status = pack_reader_open(&params, &reader, err);
    if (status == PACK_OK)
        status = scan(reader, boxes, s, err);
    if (status == PACK_OK)
        pack_scan_end(s, out);
    pack_reader_close(reader);
    pack_scan_close(s);
    free(boxes);
    return status;
}

static enum pack_status
look(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct looking *l = context;
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < l->survey->n_datasets && status == PACK_OK; i++) {
        struct record record = { .set = i };
        struct pack_error why;
        if (!l->asked[i] || !is_of_numbers(&l->survey->datasets[i]))
            continue;
        pack_h5_guard_note(guard, "reading the samples of '/%s'",
                           l->survey->datasets[i].facts.path);
        /* one that cannot be read does not keep the others from it */
        if (look_at_set(l, i, &record.contents, &why) != PACK_OK) {
            record.contents = (struct pack_contents){ .is_known = false };
            snprintf(record.contents.why_not, sizeof record.contents.why_not, "%.*s",
                     PACK_SURVEY_TEXT_MAX - 1, why.text);
        }
        status = pack_h5_guard_send(guard, &record, sizeof record, err);
    }
    return status;
}

/* ---------------------------------------------------------------- the parent */

/* Of processor time, for what is decoded; a small file that says to hold much is not believed
 * for ever. */
static uint64_t
time_for(const struct pack_survey *survey)
{
    double bytes = 0, most = 256 * (double)survey->file.file_bytes + (1 << 30);
    for (size_t i = 0; i < survey->n_datasets; i++)
        bytes += (double)survey->datasets[i].facts.logical_bytes;
    return (uint64_t)(1e10 + (bytes < most ? bytes : most) / (4 << 20) * 1e9);
}

/* What the child sent may be anything, if the file has taken it over. */
void
pack_contents_take(const struct pack_buf *sent, const struct pack_survey *survey,
     struct pack_contents *contents)
{
    struct record record;
    for (size_t at = 0; sent->size - at >= sizeof record; at += sizeof record) {
        memcpy(&record, sent->data + at, sizeof record);
        record.contents.scale[sizeof record.contents.scale - 1] = '\0';
        record.contents.why_not[sizeof record.contents.why_not - 1] = '\0';
        pack_h5_guard_mend_bool(&record.contents.is_known);
        if (record.set < survey->n_datasets)
            contents[record.set] = record.contents;
    }
}

enum pack_status
pack_contents_look(const struct pack_contents_params *params,
                   const struct pack_survey *survey, const bool *asked,
                   struct pack_contents *contents, char why_not[PACK_SURVEY_TEXT_MAX],
                   struct pack_error *err)
{
    struct looking l = { .params = params, .survey = survey, .asked = asked };
    struct pack_h5_guard_limits limits = { .cpu_ns = time_for(survey),
                                           .watch = params->watch };
    struct pack_buf sent = { 0 };
    struct pack_error why = { .text = "" };
    why_not[0] = '\0';
    if (params->n_samples > SAMPLES_MAX)
        return pack_fail_param(err, PACK_ERR_LIMIT, "n_samples", "%d samples are the most",
                               SAMPLES_MAX);
    enum pack_status status =
        pack_h5_guard_gather(params->file, &limits, look, &l, &sent, &why);
    pack_contents_take(&sent, survey, contents);
    pack_buf_done(&sent);
    if (status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED)
        return pack_fail(err, status, "%s", why.text);
    if (status != PACK_OK)
        snprintf(why_not, PACK_SURVEY_TEXT_MAX, "%.*s", PACK_SURVEY_TEXT_MAX - 1, why.text);
    return PACK_OK;
}
