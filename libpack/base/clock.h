/* Monotonic time, for measuring. */
#ifndef LIBPACK_CLOCK_H
#define LIBPACK_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds since an arbitrary moment; never goes back. Safe from any thread. */
uint64_t pack_clock_ns(void);

/* Processor time of the calling thread in nanoseconds, user and system together; neither
 * waiting nor what other programs take counts. */
uint64_t pack_clock_cpu_ns(void);

#ifdef __cplusplus
}
#endif
#endif
