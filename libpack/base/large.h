/* Memory for a lot of data, in large pages where the system has them. */
#ifndef LIBPACK_LARGE_H
#define LIBPACK_LARGE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As malloc(), for free(). No more becomes resident than was asked for. */
void *pack_large_alloc(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
