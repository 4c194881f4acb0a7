/*
 * Reads the text three times: once to check it and to count the reads of each dataset,
 * once to note where those of the dataset in question stand, which are then put into the
 * order of time, and once to fill the boxes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/pattern.h>
#include "libpack/base/check.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/model/order_text.h"
#include "libpack/model/trace_survey.h"

/* Where a read stands in the text. */
struct spot {
    uint64_t time_ns;
    const char *text;
};

static int
by_time(const void *a, const void *b)
{
    const struct spot *p = a, *q = b;
    if (p->time_ns != q->time_ns)
        return p->time_ns < q->time_ns ? -1 : 1;
    return p->text < q->text ? -1 : p->text > q->text;
}

/* The reads of one dataset, in the order of time. */
static enum pack_status
find_spots(const char *text, size_t size, const struct pack_trace_part *part,
           struct spot *spots, struct pack_error *err)
{
    struct pack_trace_text t;
    struct pack_trace_line line;
    bool more = true, sorted = true;
    size_t n = 0;
    enum pack_status status = pack_trace_text_begin(&t, text, size, NULL, err);
    while (status == PACK_OK && more && n < part->n_boxes) {
        status = pack_trace_text_next(&t, &line, &more, err);
        if (status != PACK_OK || !more || line.file != part->file ||
            line.dataset != part->dataset)
            continue;
        sorted = sorted && (n == 0 || spots[n - 1].time_ns <= line.time_ns);
        spots[n++] = (struct spot){ line.time_ns, line.text };
    }
    if (!sorted)
        qsort(spots, n, sizeof *spots, by_time);
    return status;
}

static enum pack_status
fill(const char *text, size_t size, const struct spot *spots, struct pack_trace *trace,
     struct pack_error *err)
{
    struct pack_trace_text t;
    struct pack_trace_line line;
    bool more;
    enum pack_status status = pack_trace_text_begin(&t, text, size, NULL, err);
    for (size_t i = 0; i < trace->n_boxes && status == PACK_OK; i++) {
        t.at = t.line_start = spots[i].text;
        status = pack_trace_text_next(&t, &line, &more, err);
        if (status != PACK_OK)
            break;
        trace->boxes[i] = line.box;
        if (trace->processes) {
            trace->processes[i] = line.process;
            trace->times_ns[i] = line.time_ns;
        }
    }
    return status;
}

static int
by_id(const void *a, const void *b)
{
    const struct pack_trace_process *p = a, *q = b;
    return p->id < q->id ? -1 : p->id > q->id;
}

/* With the last parent of a process that had several. */
static void
take_ran(const struct pack_trace_head *head, struct pack_trace *trace)
{
    for (size_t i = 0; i < head->n_ran; i++) {
        const struct pack_trace_ran *r = &head->ran[i];
        struct pack_trace_process key = { .id = r->process };
        struct pack_trace_process *p =
            bsearch(&key, trace->spent, trace->n_spent, sizeof key, by_id);
        if (p) {
            p->ran_ns = (double)r->ns;
            p->busy_ns = (double)r->busy_ns;
            p->delay_ns = (double)r->delay_ns;
            p->parent_busy_ns = (double)r->parent_busy_ns;
            p->parent = r->parent;
        }
    }
}

/* What reading a box of a part took, as far as the trace says. */
static enum pack_status
find_read_ns(const struct pack_trace_survey *survey, const struct pack_trace_part *part,
             struct pack_trace *trace, struct pack_error *err)
{
    double ns = 0, n = 0, per_read = (double)part->n_reads / (double)part->n_boxes;
    trace->spent = calloc(survey->head.n_spent + 1, sizeof *trace->spent);
    if (!trace->spent)
        return pack_fail_memory(err, "trace");
    for (size_t i = 0; i < survey->head.n_spent; i++) {
        const struct pack_trace_spent *s = &survey->head.spent[i];
        if (s->file != part->file || s->dataset != part->dataset || s->n_reads == 0)
            continue;
        ns += (double)s->ns;
        n += (double)s->n_reads;
        if (s->process != UINT64_MAX)
            trace->spent[trace->n_spent++] = (struct pack_trace_process){
                .id = s->process, .read_ns = (double)s->ns / (double)s->n_reads * per_read
            };
    }
    trace->read_ns = n > 0 ? ns / n * per_read : 0;
    qsort(trace->spent, trace->n_spent, sizeof *trace->spent, by_id);
    take_ran(&survey->head, trace);
    return PACK_OK;
}

static int
by_process(const void *a, const void *b)
{
    const struct pack_trace_cache *p = a, *q = b;
    return p->process < q->process ? -1 : p->process > q->process;
}

/* Moves those of this dataset to the front, else those of this file, and returns how many. */
static size_t
gather_caches(struct pack_trace_head *head, const struct pack_trace_part *part)
{
    size_t n = 0;
    for (int any = 0; any < 2 && n == 0; any++)
        for (size_t i = 0; i < head->n_caches; i++)
            if (head->caches[i].file == part->file &&
                (any || head->caches[i].dataset == part->dataset)) {
                struct pack_trace_cache kept = head->caches[n];
                head->caches[n++] = head->caches[i];
                head->caches[i] = kept;
            }
    return n;
}

/* The cache of the process that has read most among those that say so. */
static enum pack_status
find_cache(struct pack_trace_head *head, const struct pack_trace_part *part,
           struct pack_trace *trace, struct pack_error *err)
{
    size_t n = gather_caches(head, part), best = 0;
    uint64_t *reads = calloc(n + 1, sizeof *reads);
    if (!reads)
        return pack_fail_memory(err, "trace");
    if (n > 0)
        qsort(head->caches, n, sizeof *head->caches, by_process);
    for (size_t i = 0; n > 0 && i < trace->n_boxes; i++) {
        struct pack_trace_cache key = { .process = trace->processes[i] };
        const struct pack_trace_cache *of =
            bsearch(&key, head->caches, n, sizeof key, by_process);
        if (of)
            reads[of - head->caches]++;
    }
    for (size_t i = 0; i < n; i++)
        best = reads[i] > reads[best] ? i : best;
    free(reads);
    if (n > 0) {
        const struct pack_trace_cache *c = &head->caches[best];
        trace->rdcc_nslots = c->n_slots;
        trace->rdcc_nbytes = c->size_bytes;
        trace->rdcc_w0 = c->w0;
        memcpy(trace->hdf5_version, c->version, sizeof trace->hdf5_version);
    }
    return PACK_OK;
}

/* `part` is the one whose reads are wanted. */
static enum pack_status
read_part(const char *text, size_t size, struct pack_trace_survey *survey,
          const struct pack_trace_part *part, struct pack_trace *trace,
          struct pack_error *err)
{
    size_t n = (size_t)part->n_boxes;
    struct spot *spots = calloc(n, sizeof *spots);
    struct pack_trace read = { .boxes = calloc(n, sizeof *read.boxes), .n_boxes = n };
    bool good = spots && read.boxes;
    if (good && survey->head.has_origin) {
        read.processes = calloc(n, sizeof *read.processes);
        read.times_ns = calloc(n, sizeof *read.times_ns);
        read.file = strdup(survey->head.files.names[part->file]);
        read.dataset = strdup(survey->head.datasets.names[part->dataset]);
        good = read.processes && read.times_ns && read.file && read.dataset;
    }
    enum pack_status status = good ? find_spots(text, size, part, spots, err)
                                   : pack_fail_memory(err, "trace");
    if (status == PACK_OK)
        status = fill(text, size, spots, &read, err);
    if (status == PACK_OK && read.processes)
        status = find_cache(&survey->head, part, &read, err);
    if (status == PACK_OK && read.processes)
        status = find_read_ns(survey, part, &read, err);
    free(spots);
    if (status == PACK_OK)
        *trace = read;
    else
        pack_trace_free(&read);
    return status;
}

enum pack_status
pack_trace_parse_of(const char *text, size_t size, const char *file, const char *dataset,
                    struct pack_trace *trace, struct pack_error *err)
{
    struct pack_trace_survey survey = { 0 };
    const struct pack_trace_part *part = NULL;
    if (!trace || (!text && size > 0))
        return pack_check_given(err, "trace", trace, "text", text, NULL);
    enum pack_status status = pack_trace_survey(text ? text : "", size, &survey, err);
    if (status == PACK_OK)
        status = pack_trace_survey_find(&survey, file, dataset, &part, err);
    if (status == PACK_OK)
        status = read_part(text, size, &survey, part, trace, err);
    pack_trace_survey_done(&survey);
    return status;
}

enum pack_status
pack_trace_parse(const char *text, size_t size, struct pack_trace *trace,
                 struct pack_error *err)
{
    return pack_trace_parse_of(text, size, NULL, NULL, trace, err);
}

void
pack_trace_free(struct pack_trace *trace)
{
    if (!trace)
        return;
    free(trace->boxes);
    free(trace->processes);
    free(trace->times_ns);
    free(trace->spent);
    free(trace->file);
    free(trace->dataset);
    *trace = (struct pack_trace){ 0 };
}

enum pack_status
pack_trace_check(const struct pack_box *boxes, uint64_t n_boxes,
                 const struct pack_shape *extent, struct pack_error *err)
{
    for (uint64_t i = 0; i < n_boxes; i++) {
        const struct pack_box *box = &boxes[i];
        if (box->rank != extent->rank)
            return pack_fail_param(
                err, PACK_ERR_ARGUMENT, "trace",
                "read %" PRIu64 " of the trace has %s, the dataset has %d", i + 1,
                pack_dimensions(box->rank).text, extent->rank);
        for (int k = 0; k < box->rank; k++) {
            if (box->count[k] == 0) {
                return pack_fail_param(err, PACK_ERR_ARGUMENT, "trace",
                                       "read %" PRIu64
                                       " of the trace has a count of 0 along axis %d",
                                       i + 1, k);
            } else if (box->start[k] > extent->extent[k] ||
                       box->count[k] > extent->extent[k] - box->start[k]) {
                return pack_fail_param(err, PACK_ERR_ARGUMENT, "trace",
                                       "read %" PRIu64
                                       " of the trace goes beyond the dataset's %" PRIu64
                                       " along axis %d",
                                       i + 1, extent->extent[k], k);
            }
        }
    }
    return PACK_OK;
}
