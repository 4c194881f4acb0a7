/* Text inside XML and HTML. */
#ifndef LIBPACK_MARKUP_H
#define LIBPACK_MARKUP_H

#include "libpack/base/buf.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Appends text as what it says, in an element or a quoted attribute: <, >, &, " and ' become
 * entities, control characters but newlines and bytes that are not UTF-8 \xHH. */
enum pack_status pack_markup_text(const char *text, struct pack_buf *buf,
                                  struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
