/*
 * A request of one sample is read where it belongs. One of several is read as boxes in the
 * file's order, in place where that is the order drawn, else into scratch memory, out of
 * which each sample is copied, repeats included:
 *
 *     drawn    5 2 5 3        boxes  [2 3] [5]
 *     scratch  2 3 5    ──▶   batch   5 2 5 3
 */
#include "libpack/bench/bench_request.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/base/size.h"

void
pack_bench_requests_done(struct bench_requests *requests)
{
    free(requests->scratch);
    free(requests->before);
}

uint64_t
pack_bench_row_bytes(const struct bench_side *side, const struct pack_box *box)
{
    uint64_t bytes = side->set ? side->set->elem_size : 1;
    for (int i = 1; i < box->rank; i++)
        bytes *= box->count[i];
    return bytes;
}

/* The last box that starts at or before a row. */
static size_t
find_box(const struct pack_request *request, uint64_t row)
{
    size_t low = 0, high = request->n_boxes;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (request->boxes[middle].start[0] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/*
 * Copies the samples of a request out of requests->scratch, in the order drawn, repeats
 * included. requests->before[i] counts the rows read in front of box i.
 */
static void
place(const struct bench_requests *requests, const struct bench_side *side,
      const struct pack_request *request, unsigned char *to)
{
    uint64_t step = requests->plan->pattern.step ? requests->plan->pattern.step : 1;
    const struct pack_shape *box = &requests->plan->pattern.box;
    uint64_t rows = box->rank ? box->extent[0] : 1;
    uint64_t row = pack_bench_row_bytes(side, &request->boxes[0]);
    for (size_t i = 0; i < request->n_samples; i++) {
        uint64_t start = request->samples[i] * step;
        size_t at = find_box(request, start);
        uint64_t before = requests->before[at] + start - request->boxes[at].start[0];
        memcpy(to + i * side->stride_bytes, requests->scratch + before * row, rows * row);
    }
}

static struct pack_read_cost *
cost_of(const struct bench_side *side, struct pack_bench_work *work)
{
    return side->is_with ? &work->with : &work->read;
}

static bool
is_in_place(const struct pack_request *request, uint64_t step, uint64_t rows)
{
    if (request->n_boxes != 1 || step != rows)
        return false;
    for (size_t i = 1; i < request->n_samples; i++)
        if (request->samples[i] != request->samples[i - 1] + 1)
            return false;
    return request->boxes[0].count[0] == request->n_samples * rows;
}

/* Fills requests->before; *rows counts all rows of the request. */
static enum pack_status
count_rows(struct bench_requests *requests, const struct pack_request *request,
           uint64_t *rows, struct pack_error *err)
{
    if (request->n_boxes > requests->n_before) {
        uint64_t *more = realloc(requests->before, request->n_boxes * sizeof *more);
        if (!more)
            return pack_fail_memory(err, "a request");
        requests->before = more;
        requests->n_before = request->n_boxes;
    }
    *rows = 0;
    for (size_t i = 0; i < request->n_boxes; i++) {
        requests->before[i] = *rows;
        *rows += request->boxes[i].count[0];
    }
    return PACK_OK;
}

enum pack_status
pack_bench_reserve(struct bench_requests *requests, uint64_t rows, uint64_t row,
                   struct pack_error *err)
{
    char text[PACK_BYTES_TEXT_MAX];
    uint64_t bytes;
    if (!pack_size_mul(rows, row, &bytes))
        bytes = UINT64_MAX;
    if (bytes <= requests->scratch_bytes)
        return PACK_OK;
    unsigned char *more =
        bytes < SIZE_MAX / 2 ? realloc(requests->scratch, (size_t)bytes) : NULL;
    if (!more)
        return pack_fail_param(err, PACK_ERR_MEMORY, "read",
                               "out of memory: %s to read one batch with one call",
                               pack_bytes_format(bytes, text));
    requests->scratch = more;
    requests->scratch_bytes = (size_t)bytes;
    return PACK_OK;
}

/* One request of several samples: read in one piece, then put in order. */
static enum pack_status
read_together(struct bench_requests *requests, const struct bench_side *side,
              const struct pack_request *request, unsigned char *to,
              struct pack_bench_work *work, struct pack_error *err)
{
    const struct pack_engine_ops *ops = requests->plan->engine;
    const struct pack_shape *box = &requests->plan->pattern.box;
    uint64_t step = requests->plan->pattern.step ? requests->plan->pattern.step : 1;
    struct pack_read_cost *cost = cost_of(side, work);
    if (is_in_place(request, step, box->rank ? box->extent[0] : 1))
        return ops->read(side->engine, request->boxes, request->n_boxes, to, cost, err);
    uint64_t rows = 0;
    enum pack_status status = count_rows(requests, request, &rows, err);
    if (status == PACK_OK)
        status = pack_bench_reserve(requests, rows,
                                    pack_bench_row_bytes(side, &request->boxes[0]), err);
    if (status == PACK_OK)
        status = ops->read(side->engine, request->boxes, request->n_boxes,
                           requests->scratch, cost, err);
    if (status != PACK_OK)
        return status;
    uint64_t begin_ns = pack_clock_ns();
    place(requests, side, request, to);
    work->assemble_ns += pack_clock_ns() - begin_ns;
    return PACK_OK;
}

enum pack_status
pack_bench_read_request(struct bench_requests *requests, const struct bench_side *side,
                        const struct pack_request *request, unsigned char *to,
                        struct pack_bench_work *work, struct pack_error *err)
{
    if (request->n_samples != 1 || request->n_boxes != 1)
        return read_together(requests, side, request, to, work, err);
    const struct pack_box *box = &request->boxes[0];
    enum pack_status status =
        requests->plan->engine->read(side->engine, box, 1, to, cost_of(side, work), err);
    uint64_t bytes = box->count[0] * pack_bench_row_bytes(side, box);
    if (bytes < side->stride_bytes) /* a trace may hold boxes of several sizes */
        memset(to + bytes, 0, side->stride_bytes - bytes);
    return status;
}
