/* The file that a pattern names: a trace, or weights. */
#ifndef LIBPACK_BENCH_ORDER_H
#define LIBPACK_BENCH_ORDER_H

#include <stddef.h>

#include <libpack/pattern.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the file of a pattern holds: a trace, or weights of samples. */
struct pack_bench_order {
    struct pack_trace trace;
    double *weights;
    size_t n_weights;
};
/* Reads pattern->file, as the pattern's kind wants it: a trace as pattern.h defines it, or
 * one number per sample between blanks or newlines. PACK_ERR_FORMAT naming the line. */
enum pack_status pack_bench_order_read(const struct pack_pattern *pattern,
                                       struct pack_bench_order *order,
                                       struct pack_error *err);
void pack_bench_order_done(struct pack_bench_order *order);

#ifdef __cplusplus
}
#endif
#endif
