/* Memory for a lot of data, in large pages where the system has them. */
#ifndef LIBPACK_LARGE_H
#define LIBPACK_LARGE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As malloc(), for free(). No more becomes resident than was asked for. */
void *pack_large_alloc(size_t bytes);

/*
 * As calloc(), but apart from what malloc() has, for pack_apart_free(). glibc gives memory back
 * to the system, or keeps it, by thresholds that rise to the largest block that was ever freed,
 * and processes that are forked have their parent's: readers whose parent freed some MiB keep
 * the memory of chunks for which others ask at every read. What a process frees that starts
 * readers to be timed, and is larger than their chunks, comes from here.
 */
void *pack_apart_alloc(size_t n, size_t bytes);
void pack_apart_free(void *data);

#ifdef __cplusplus
}
#endif
#endif
