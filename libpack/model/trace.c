/* Reads the text twice: once to count the lines that hold a read,
 * once to fill the boxes. */
#include <libpack/pattern.h>
#include "libpack/base/check.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/model/order_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where in the text we are, for messages. */
struct cursor {
    const char *at, *end, *line_start;
    size_t line;
};

static enum pack_status
fail_at(const struct cursor *c, const char *what, struct pack_error *err)
{
    return pack_fail(err, PACK_ERR_FORMAT, "line %zu, column %td: %s", c->line,
                     c->at - c->line_start + 1, what);
}

static bool
at_line_end(const struct cursor *c)
{
    return c->at == c->end || *c->at == '\n' ||
           (*c->at == '\r' && (c->at + 1 == c->end || c->at[1] == '\n'));
}

static void
next_line(struct cursor *c)
{
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
    c->at = c->line_start = newline ? newline + 1 : c->end;
    c->line++;
}

/* Moves to the next line that holds a read; false at the end. */
static bool
find_read(struct cursor *c)
{
    while (c->at < c->end && (*c->at == '#' || at_line_end(c)))
        next_line(c);
    return c->at < c->end;
}

static enum pack_status
parse_number(struct cursor *c, uint64_t *value, struct pack_error *err)
{
    uint64_t n = 0;
    const char *first = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (!pack_size_mul(n, 10, &n) ||
            !pack_size_add(n, (uint64_t)(*c->at - '0'), &n)) {
            c->at = first;
            return fail_at(c, "a number of more than 64 bits", err);
        }
        c->at++;
    }
    if (c->at == first)
        return fail_at(c, "a number is expected here", err);
    *value = n;
    return PACK_OK;
}

/* All numbers of a line, 2 * PACK_RANK_MAX at most, and where each begins. */
static enum pack_status
parse_line(struct cursor *c, uint64_t *values, const char **places, int *n,
           struct pack_error *err)
{
    *n = 0;
    for (;;) {
        if (*n == 2 * PACK_RANK_MAX)
            return fail_at(c, "more than 32 starts and 32 counts", err);
        places[*n] = c->at;
        enum pack_status status = parse_number(c, &values[(*n)++], err);
        if (status || at_line_end(c))
            return status;
        if (*c->at != '\t')
            return fail_at(c, "a tab is expected here", err);
        c->at++;
    }
}

/* One read; `rank` is 0 until the first has said what it is. */
static enum pack_status
parse_read(struct cursor *c, int *rank, struct pack_box *box, struct pack_error *err)
{
    uint64_t values[2 * PACK_RANK_MAX], end;
    const char *places[2 * PACK_RANK_MAX];
    int n;
    enum pack_status status = parse_line(c, values, places, &n, err);
    if (status)
        return status;
    if (n % 2 != 0)
        return fail_at(c, "as many counts as starts are expected", err);
    if (*rank != 0 && n != 2 * *rank)
        return fail_at(c, "another number of dimensions than in the first read", err);
    *rank = n / 2;
    box->rank = *rank;
    for (int i = 0; i < *rank; i++) {
        box->start[i] = values[i];
        box->count[i] = values[*rank + i];
        c->at = places[*rank + i];
        if (box->count[i] == 0)
            return fail_at(c, "a count of 0", err);
        if (!pack_size_add(box->start[i], box->count[i], &end))
            return fail_at(c, "start and count add up to more than 64 bits", err);
    }
    next_line(c);
    return PACK_OK;
}

enum pack_status
pack_trace_parse(const char *text, size_t size, struct pack_trace *trace,
                 struct pack_error *err)
{
    if (!trace || (!text && size > 0))
        return pack_check_given(err, "trace", trace, "text", text, NULL);
    if (!text)
        text = "";
    const struct cursor begin = { text, text + size, text, 1 };
    struct cursor c = begin;
    struct pack_box *boxes;
    size_t n_reads = 0, n = 0;
    int rank = 0;
    for (; find_read(&c); next_line(&c))
        n_reads++;
    if (n_reads == 0)
        return pack_fail(err, PACK_ERR_FORMAT, "the trace holds no reads");
    boxes = calloc(n_reads, sizeof boxes[0]);
    if (!boxes)
        return pack_fail_memory(err, "trace");
    for (c = begin; find_read(&c);) {
        enum pack_status status = parse_read(&c, &rank, &boxes[n++], err);
        if (status) {
            free(boxes);
            return status;
        }
    }
    *trace = (struct pack_trace){ boxes, n };
    return PACK_OK;
}

void
pack_trace_free(struct pack_trace *trace)
{
    if (!trace)
        return;
    free(trace->boxes);
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
