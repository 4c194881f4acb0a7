/* A recorded trace of reads: text to boxes. */
#ifndef LIBPACK_TRACE_H
#define LIBPACK_TRACE_H

#include <stddef.h>

#include <libpack/size.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One line per read: the starts of all axes, then the counts of all axes, separated by
 * tabs:
 *
 *     # start0  start1  count0  count1
 *     17        0       1       4096
 *
 * The first read fixes the rank. Empty lines and lines that begin with '#' say nothing;
 * lines may end in CR LF, and the last one without anything. Numbers are decimal.
 *
 * PACK_ERR_FORMAT with "line 3, column 5: ..." (columns count characters from 1), also
 * when there is no read at all, when a count is 0 or an end passes 64 bits;
 * PACK_ERR_MEMORY. Whether boxes lie inside a dataset is for pack_grid_check_box to say.
 */
struct pack_trace {
    struct pack_box *boxes;
    size_t n_boxes;
};

enum pack_status pack_trace_parse(const char *text, size_t size, struct pack_trace *trace,
                                  struct pack_error *err);
void pack_trace_free(struct pack_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
