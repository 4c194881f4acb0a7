/* A report being written: the first failure is kept, what follows does nothing. */
#ifndef LIBPACK_PAGE_H
#define LIBPACK_PAGE_H

#include "libpack/base/buf.h"
#include <libpack/status.h>

struct page {
    struct pack_buf *text;
    enum pack_status status;
    struct pack_error *err;
};

/* Formatted as printf does it; the caller brings the newline. */
#define LINE(page, ...)                                                             \
    ((page)->status = (page)->status == PACK_OK                                     \
                          ? pack_buf_printf((page)->text, (page)->err, __VA_ARGS__) \
                          : (page)->status)

#endif
