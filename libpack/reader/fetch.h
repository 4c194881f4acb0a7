/* Bytes of a file at an address: a table of ways to get them. */
#ifndef LIBPACK_FETCH_H
#define LIBPACK_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_fetch_ops;

/* An open file; any number of threads may view it at a time. */
struct pack_fetch {
    const struct pack_fetch_ops *ops;
    int fd; /* borrowed */
    uint64_t size_bytes;
    void *mapping;
    void *asked;  /* its pages that were asked for, a bit each: fetch_mmap.c */
    size_t align; /* of room; 0: none is wanted */
};

/* One way; another one is a file of its own. */
struct pack_fetch_ops {
    const char *name;
    const char *refusal; /* why it is not done, where it is not */
    /* PACK_ERR_UNSUPPORTED where the system cannot do it. NULL: nothing to do. */
    enum pack_status (*open)(struct pack_fetch *fetch, struct pack_error *err);
    /* As pack_fetch_view(), the range being inside the file. */
    enum pack_status (*view)(const struct pack_fetch *fetch, uint64_t address,
                             size_t size, void *room, const void **data,
                             struct pack_error *err);
    void (*close)(struct pack_fetch *fetch); /* NULL: nothing to do */
};

extern const struct pack_fetch_ops pack_fetch_pread, pack_fetch_mmap, pack_fetch_direct;

/* From so many bytes on mapping files pays: below it, nothing takes long. */
#define PACK_FETCH_MAPPED_BYTES (UINT64_C(64) << 20)

/*
 * The fastest way for an open file, of `all_bytes` that are read again and again, this file
 * and others: a mapping of what has no filters, lies on this machine and fits the page cache,
 * half of the memory; else pread. A mapping saves one of two copies, and writes past the
 * processor's caches (bench_reader); through a network its pages may fail, and of files that
 * memory does not hold each page has to be unmapped again.
 */
const struct pack_fetch_ops *pack_fetch_best(int fd, uint64_t all_bytes, bool has_filters);

/* A file of size_bytes, open for reading; `fd` is borrowed until pack_fetch_close(), and
 * nobody else reads it meanwhile. What the system cannot do is done with pread:
 * fetch->ops says what it became. */
enum pack_status pack_fetch_open(struct pack_fetch *fetch,
                                 const struct pack_fetch_ops *ops, int fd,
                                 uint64_t size_bytes, struct pack_error *err);
void pack_fetch_close(struct pack_fetch *fetch); /* zeroed storage is fine */

/* What room has to have beside the bytes that are read; it lies at a multiple of align. */
size_t pack_fetch_margin_bytes(const struct pack_fetch *fetch);

/*
 * Makes `size` bytes from `address` on readable at *data: in `room`, of `size` bytes
 * and the margin, or where they are, until the fetch is closed. PACK_ERR_FORMAT when they
 * lie beyond the end of the file as it was, PACK_ERR_IO, PACK_ERR_CHANGED when it ends
 * earlier by now.
 */
enum pack_status pack_fetch_view(const struct pack_fetch *fetch, uint64_t address,
                                 size_t size, void *room, const void **data,
                                 struct pack_error *err);

/* work(argument), which reads `data` of a view and holds no lock and no memory of its own:
 * PACK_ERR_IO when that was gone before it ended. */
enum pack_status pack_fetch_read(const struct pack_fetch *fetch, const void *data,
                                 void (*work)(void *), void *argument,
                                 struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
