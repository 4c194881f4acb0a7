/* Reads what a pattern asks for to where its samples belong in a batch. */
#ifndef LIBPACK_BENCH_REQUEST_H
#define LIBPACK_BENCH_REQUEST_H

#include "libpack/bench/bench_parts.h"

/* One of the two datasets that a batch is made of. */
struct bench_side {
    const struct pack_readset *set; /* NULL: image files */
    void *engine;                   /* state of plan->engine */
    uint64_t stride_bytes;          /* from a sample to the next in a batch */
    bool is_with;                   /* the second one */
};

/* Memory of requests, kept from one to the next. Zeroed but for the plan. */
struct bench_requests {
    const struct bench_plan *plan;
    unsigned char *scratch; /* a request as it was read, before samples are picked out */
    size_t scratch_bytes;
    uint64_t *before; /* rows in front of each box of a request */
    size_t n_before;
};
void pack_bench_requests_done(struct bench_requests *requests);

/* Of one index of axis 0 of a box. */
uint64_t pack_bench_row_bytes(const struct bench_side *side, const struct pack_box *box);
/* Room for so many rows of so many bytes in scratch. PACK_ERR_MEMORY. */
enum pack_status pack_bench_reserve(struct bench_requests *requests, uint64_t rows,
                                    uint64_t row, struct pack_error *err);
/* Reads a request of one side; *work says what it took. */
enum pack_status pack_bench_read_request(struct bench_requests *requests,
                                         const struct bench_side *side,
                                         const struct pack_request *request,
                                         unsigned char *to, struct pack_bench_work *work,
                                         struct pack_error *err);

#endif
