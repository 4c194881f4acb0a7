/* Reads a whole text file into memory, up to a bound. */
#ifndef LIBPACK_TEXTFILE_H
#define LIBPACK_TEXTFILE_H

#include <stddef.h>

#include "libpack/base/buf.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * All of the file at `path`, up to `max` bytes, PACK_ERR_LIMIT beyond; a NUL that does
 * not count follows it. A byte order mark at its beginning is left out. The caller frees
 * *text with pack_buf_done(); it is empty on failure. Sentences name the file and say
 * what the system said.
 */
enum pack_status pack_textfile_read(const char *path, size_t max, struct pack_buf *text,
                                    struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
