/* A growable byte buffer with a stated maximum. */
#ifndef LIBPACK_BUF_H
#define LIBPACK_BUF_H

#include <stddef.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `size` bytes of `data` are in use. Zeroed storage is an empty buffer with no
 * maximum. */
struct pack_buf {
    unsigned char *data;
    size_t size, capacity;
    size_t max; /* PACK_ERR_LIMIT beyond this many bytes; 0: no limit of its own */
};

void pack_buf_init(struct pack_buf *buf, size_t max);
void pack_buf_done(struct pack_buf *buf);

/* Makes room for `more` bytes behind the used ones. PACK_ERR_MEMORY or PACK_ERR_LIMIT,
 * buffer unchanged. */
enum pack_status pack_buf_reserve(struct pack_buf *buf, size_t more,
                                  struct pack_error *err);

/* Copies `size` bytes behind the used ones. */
enum pack_status pack_buf_append(struct pack_buf *buf, const void *data, size_t size,
                                 struct pack_error *err);

/* Appends formatted text; the buffer's data stays NUL-terminated, the NUL not counted in
 * size. */
enum pack_status pack_buf_printf(struct pack_buf *buf, struct pack_error *err,
                                 const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
