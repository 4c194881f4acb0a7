/* Fuzzes traces and the words of --pattern: what is accepted is what it claims to be. */
#include <stdlib.h>
#include <string.h>

#include <libpack/pattern.h>
#include "libpack/model/trace_job.h"
#include "libpack/model/trace_merge.h"

/* The job of a trace keeps reads, and is of epochs of one length. */
static void
find_job(struct pack_trace *trace, size_t size)
{
    struct pack_trace_job job;
    size_t n = trace->n_boxes;
    bool has_processes = trace->processes != NULL;
    if (pack_trace_job(trace, size % 3 ? PACK_TRACE_AS_RECORDED : 2, size % 5, &job,
                       NULL))
        abort();
    if (trace->n_boxes == 0 || job.epochs == 0 || trace->n_boxes % job.epochs != 0 ||
        trace->n_boxes + job.n_beside + job.n_uneven != n ||
        has_processes != (job.workers > 0))
        abort();
}

/* What is merged of pieces is read again. */
static void
merge(const char *text, size_t size)
{
    struct pack_trace_piece pieces[] = { { text, size / 2, false },
                                         { text, size, false },
                                         { text + size / 3, size - size / 3, false } };
    struct pack_buf out = { 0 };
    struct pack_trace trace;
    size_t n_damaged, n_stopped;
    if (pack_trace_merge(pieces, 3, &out, &n_damaged, &n_stopped, NULL))
        abort();
    if (out.size > 0 &&
        pack_trace_parse((const char *)out.data, out.size, &trace, NULL) == PACK_OK)
        pack_trace_free(&trace);
    pack_buf_done(&out);
}

static void
parse_trace(const char *text, size_t size)
{
    struct pack_trace trace;
    if (pack_trace_parse(text, size, &trace, NULL))
        return;
    for (size_t i = 0; i < trace.n_boxes; i++) {
        const struct pack_box *box = &trace.boxes[i];
        if (box->rank != trace.boxes[0].rank || box->rank < 1 ||
            box->rank > PACK_RANK_MAX)
            abort();
        for (int k = 0; k < box->rank; k++)
            if (box->count[k] == 0 || box->start[k] + box->count[k] < box->start[k])
                abort();
    }
    find_job(&trace, size);
    pack_trace_free(&trace);
}

static void
parse_pattern(const char *text)
{
    struct pack_pattern pattern = { .extent = { 1, { 1000 } } };
    struct pack_pattern_iter *it;
    uint64_t samples[100];
    pack_pattern_parse_rank(text, &pattern, NULL);
    if (pack_pattern_parse(text, &pattern, NULL) || pattern.draws > 100000 ||
        pack_pattern_new(&pattern, &it, NULL))
        return;
    if (pack_pattern_samples(it, samples, 100) == 0 && pack_pattern_length(it) > 0)
        abort();
    pack_pattern_free(it);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    parse_trace((const char *)data, size);
    merge((const char *)data, size);
    parse_pattern(text);
    free(text);
    return 0;
}
