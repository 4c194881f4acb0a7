/* Tries what is to be done with a stranger's HDF5 file in a child process first, because
 * HDF5 itself crashes or hangs on files that are damaged cleverly enough. */
#ifndef LIBPACK_H5_GUARD_H
#define LIBPACK_H5_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>
#include "libpack/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the child says what it is doing. */
struct pack_h5_guard;

/* What is tried: opens, reads and closes as the caller will afterwards, and frees what it
 * made. Runs in the child, whose memory is a copy of the caller's. */
typedef enum pack_status (*pack_h5_guard_fn)(void *context, struct pack_h5_guard *guard,
                                             struct pack_error *err);

/* "opening it", "reading '/x'": completes "while ..." in the sentence that names a crash.
 * guard NULL: outside a child, where nobody needs to know. */
void pack_h5_guard_note(struct pack_h5_guard *guard, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The child opens another file, too, which takes processor time of its own: 10 ms, and as
 * its size allows. guard may be NULL. */
void pack_h5_guard_allow(struct pack_h5_guard *guard, const char *path);

/* The child has done so much, of what the limits' `now` counts, and read so many bytes. */
void pack_h5_guard_tell(struct pack_h5_guard *guard, uint64_t done, uint64_t bytes);

/* Zero means the default. */
struct pack_h5_guard_limits {
    /* Of processor time: 10 s, and 1 s for each 64 MiB that the file occupies. */
    uint64_t cpu_ns;
    uint64_t idle_ns;      /* of waiting in which nothing happens at all: 30 s */
    uint64_t memory_bytes; /* 4 GiB beyond what the process has; not under a sanitizer */
    /* Is told, in the caller's process, what the child says of where it stands, and asked there
     * whether to stop; NULL: nobody is. `now` has what stays: stage, unit, total. */
    const struct pack_watch *watch;
    struct pack_progress now;
};

/*
 * Runs fn(context) in a child process. PACK_OK: it came back with PACK_OK, and so may be
 * done again here. Else fn's own failure, or PACK_ERR_FORMAT and "cannot open 'x.h5':
 * HDF5 itself crashes on this file (SIGSEGV while reading '/x')" or "...: HDF5 does not
 * finish within 10 s of processor time (while opening it)"; PACK_ERR_IO: "...: nothing
 * happened for 30 s (...)". A slow server is not idle as long as answers come, however
 * late. PACK_ERR_INTERRUPTED when the child was ended from outside. limits may be NULL.
 * Costs a fork and a further run of fn. The child can read files, but not write any, nor start
 * programs, nor reach others (h5_confine.h), unless it runs under a sanitizer.
 */
enum pack_status pack_h5_guard_try(const char *path,
                                   const struct pack_h5_guard_limits *limits,
                                   pack_h5_guard_fn fn, void *context,
                                   struct pack_error *err);

/*
 * The same, and what the child sent until then, also where it came to a bad end: the last of
 * it may then be cut short. 256 MiB at most; beyond that sending fails.
 */
enum pack_status pack_h5_guard_gather(const char *path,
                                      const struct pack_h5_guard_limits *limits,
                                      pack_h5_guard_fn fn, void *context,
                                      struct pack_buf *sent, struct pack_error *err);
/* For fn of that: bytes for the caller. PACK_ERR_LIMIT, PACK_ERR_MEMORY. */
enum pack_status pack_h5_guard_send(struct pack_h5_guard *guard, const void *bytes,
                                    size_t size, struct pack_error *err);

/* Tries what any program does with a file: lists all datasets, reads facts and chunk
 * indexes. */
enum pack_status pack_h5_guard_file(const char *path, struct pack_error *err);

/* The same for those who try more than that, so that one limit holds for all of it: a
 * pack_h5_guard_fn, `path` being the context. */
enum pack_status pack_h5_guard_look(void *path, struct pack_h5_guard *guard,
                                    struct pack_error *err);

/* What a child sent as a bool may be any byte, of which only 0 and 1 are one. */
void pack_h5_guard_mend_bool(bool *value);

#ifdef __cplusplus
}
#endif
#endif
