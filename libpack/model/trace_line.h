/* One line of a trace after another: its numbers, and the names its head gives. */
#ifndef LIBPACK_TRACE_LINE_H
#define LIBPACK_TRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Behind starts and counts: file, dataset, process, time. */
enum {
    PACK_TRACE_ORIGIN = 4,
    PACK_TRACE_NAMES_MAX = 1 << 16,
    PACK_TRACE_SPENT_MAX = 1 << 12
};

struct pack_trace_names {
    char **names;
    size_t n, capacity;
};

/* What reads of a dataset took, as far as lines say so. */
struct pack_trace_spent {
    uint64_t file, dataset, n_reads, ns;
};

struct pack_trace_head {
    bool has_origin; /* lines say which file, dataset, process and time */
    struct pack_trace_names files, datasets;
    uint64_t n_around; /* reads of too many pieces: the block around them stands there */
    struct pack_trace_spent *spent;
    size_t n_spent, spent_capacity;
};

struct pack_trace_text {
    const char *at, *end, *line_start;
    size_t line, last_column;     /* of the last number of the read before */
    struct pack_trace_head *head; /* NULL: names have been read, pass over them */
    bool has_origin;
};

struct pack_trace_line {
    const char *text, *origin; /* where it begins, and what follows its counts */
    struct pack_box box;
    uint64_t file, dataset, process, time_ns; /* 0 without origin */
};

/* At the first line of `size` bytes of text; *head, zeroed, is filled as names come. */
enum pack_status pack_trace_text_begin(struct pack_trace_text *t, const char *text,
                                       size_t size, struct pack_trace_head *head,
                                       struct pack_error *err);
void pack_trace_head_done(struct pack_trace_head *head);

/* The next line that holds a read; *more is false at the end. PACK_ERR_FORMAT with line
 * and column; names are known before they are used, which is checked where there is a
 * head. */
enum pack_status pack_trace_text_next(struct pack_trace_text *t,
                                      struct pack_trace_line *line, bool *more,
                                      struct pack_error *err);

/* Adds to what reads of a dataset took; sums that pass 64 bits stay there.
 * Of more datasets than PACK_TRACE_SPENT_MAX nothing is kept. PACK_ERR_MEMORY. */
enum pack_status pack_trace_spend(struct pack_trace_head *head,
                                  const struct pack_trace_spent *spent,
                                  struct pack_error *err);

/* "line 3, column 5: ..." of where the text is. */
enum pack_status pack_trace_text_fail(const struct pack_trace_text *t, const char *what,
                                      struct pack_error *err);

/* The place of a name in the list, where it is put if it is not there.
 * PACK_ERR_LIMIT, PACK_ERR_MEMORY. */
enum pack_status pack_trace_names_place(struct pack_trace_names *names, const char *name,
                                        size_t *place, struct pack_error *err);
void pack_trace_names_done(struct pack_trace_names *names);

/* "# file\t0\tNAME\n" with what would end or part a line escaped: \\ \t \n \r. */
enum pack_status pack_trace_put_name(struct pack_buf *buf, const char *kind, size_t place,
                                     const char *name, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
