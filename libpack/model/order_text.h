/* Orders that come from elsewhere: whether a trace fits a dataset, weights of samples as
 * text. */
#ifndef LIBPACK_ORDER_TEXT_H
#define LIBPACK_ORDER_TEXT_H

#include <libpack/pattern.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether all boxes lie inside a dataset of this extent; PACK_ERR_ARGUMENT names the first
 * that does not, counted from 1. */
enum pack_status pack_trace_check(const struct pack_box *boxes, uint64_t n_boxes,
                                  const struct pack_shape *extent,
                                  struct pack_error *err);

/*
 * One number per sample, 0 or more, apart by blanks or line ends; `text` ends in a NUL
 * behind its `size` bytes. The caller frees *weights, n of them, with free().
 *
 * PACK_ERR_FORMAT with "line 3, column 5: ..." as pack_trace_parse, also when there are
 * not just n, or when their sum is 0 or infinite; PACK_ERR_MEMORY.
 */
enum pack_status pack_weights_parse(const char *text, size_t size, uint64_t n,
                                    double **weights, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
