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
    PACK_TRACE_SPENT_MAX = 1 << 12,
    PACK_TRACE_CACHES_MAX = 1 << 12,
    PACK_TRACE_VERSION_MAX = 16
};

struct pack_trace_names {
    char **names;
    size_t n, capacity;
};

/* What a process's reads of a dataset took, as far as lines say so. */
struct pack_trace_spent {
    uint64_t file, dataset, n_reads, ns;
    uint64_t process; /* UINT64_MAX: they do not say whose they were */
};

/* In so much of a process's time it was on a processor and waited for one, and the process that
 * started it was on one. */
struct pack_trace_ran {
    uint64_t process, ns, busy_ns, delay_ns, parent, parent_busy_ns;
};

/* The chunk cache that a process read a dataset through, and the version of HDF5 that had it. */
struct pack_trace_cache {
    uint64_t file, dataset, process, n_slots, size_bytes;
    double w0;
    char version[PACK_TRACE_VERSION_MAX];
};

struct pack_trace_head {
    bool has_origin; /* lines say which file, dataset, process and time */
    struct pack_trace_names files, datasets;
    uint64_t n_around; /* reads of too many pieces: the block around them stands there */
    struct pack_trace_spent *spent;
    size_t n_spent, spent_capacity;
    struct pack_trace_ran *ran; /* sums; no more than PACK_TRACE_SPENT_MAX */
    size_t n_ran, ran_capacity;
    struct pack_trace_cache *caches; /* as they come; no more than PACK_TRACE_CACHES_MAX */
    size_t n_caches, caches_capacity;
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

/* A process that is recorded writes into a mapped file, behind which zeros follow, and may end
 * within a line: how much of it is whole lines. */
size_t pack_trace_text_whole(const char *text, size_t size);

/* At the first line of `size` bytes of text; *head, zeroed, is filled as names come. With zeros
 * at its end a trace of the second form is such a process's, and as long as it is whole. */
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

/* Adds to what a process's reads of a dataset took; sums that pass 64 bits stay there.
 * Of more of them than PACK_TRACE_SPENT_MAX nothing is kept. PACK_ERR_MEMORY. */
enum pack_status pack_trace_spend(struct pack_trace_head *head,
                                  const struct pack_trace_spent *spent,
                                  struct pack_error *err);

/* The same of how it ran. */
enum pack_status pack_trace_run(struct pack_trace_head *head, const struct pack_trace_ran *ran,
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
