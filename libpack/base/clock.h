/* Monotonic time, for measuring. */
#ifndef LIBPACK_CLOCK_H
#define LIBPACK_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds since an arbitrary moment; never goes back. Safe from any thread. */
uint64_t pack_clock_ns(void);

/* Nanoseconds of processor that the calling thread has used, in the system too: what
 * other programs take meanwhile is not in it, nor is waiting. */
uint64_t pack_clock_cpu_ns(void);

#ifdef __cplusplus
}
#endif
#endif
