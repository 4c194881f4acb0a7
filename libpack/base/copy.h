/* Copies that are too large for a cache. */
#ifndef LIBPACK_COPY_H
#define LIBPACK_COPY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As memcpy(), for bytes that nobody reads while a cache could still hold them: where the
 * processor can, they are written past it. That saves reading the target from memory before
 * it is overwritten, a third of all that moves, and leaves the cache to others. What is
 * written is seen by other threads as after memcpy().
 */
void pack_copy_past_cache(void *to, const void *from, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
