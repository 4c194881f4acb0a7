/* Checks what a pattern asks for, and fills in its defaults. */
#ifndef LIBPACK_PATTERN_CHECK_H
#define LIBPACK_PATTERN_CHECK_H

#include <stdbool.h>

#include <libpack/pattern.h>

/* *crops: some axis after the first has a random start. Errors as pack_pattern_new(), the
 * order's own apart. */
enum pack_status pack_pattern_complete(struct pack_pattern *pattern, bool *crops,
                                       struct pack_error *err);

#endif
