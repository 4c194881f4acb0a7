/* A histogram of durations on a logarithmic scale. */
#ifndef LIBPACK_HISTOGRAM_H
#define LIBPACK_HISTOGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_HISTOGRAM_BUCKETS = 64 * 8 };

/* Eight buckets for each power of two, so a value is known to an eighth of it. Zero it
 * before use; plain data, so it may lie in shared memory and be copied. */
struct pack_histogram {
    uint64_t n, max_ns;
    uint64_t bucket[PACK_HISTOGRAM_BUCKETS];
};

void pack_histogram_add(struct pack_histogram *histogram, uint64_t ns);
void pack_histogram_merge(struct pack_histogram *total,
                          const struct pack_histogram *part);
/* A quantile: `part` (0 to 1) of all values are in the buckets up to the one whose upper
 * end this is; at most the maximum, 0 when there are no values. */
uint64_t pack_histogram_at(const struct pack_histogram *histogram, double part);

#ifdef __cplusplus
}
#endif
#endif
