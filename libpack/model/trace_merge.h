/* Makes one trace of those that each process of a job has written for itself. */
#ifndef LIBPACK_TRACE_MERGE_H
#define LIBPACK_TRACE_MERGE_H

#include <stdbool.h>

#include "libpack/base/buf.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a process has written, as far as it is whole: pack_trace_text_whole(). */
struct pack_trace_piece {
    const char *text;
    size_t size;
    bool is_damaged; /* set by pack_trace_merge() */
};

/*
 * Appends to *out the lines of all pieces in the order of time, names numbered anew. A
 * piece that is no trace of the second form, or one that stops to be, is taken as far as
 * it is; is_damaged marks them, *n_damaged counts them. A line that begins "# stopped" in a
 * piece says that its process could not go on recording: *n_stopped counts them. No reads:
 * nothing is appended. PACK_ERR_MEMORY, PACK_ERR_LIMIT.
 */
enum pack_status pack_trace_merge(struct pack_trace_piece *pieces, size_t n,
                                  struct pack_buf *out, size_t *n_damaged,
                                  size_t *n_stopped, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
