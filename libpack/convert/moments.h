/* Mean and standard deviation of each channel of many images. */
#ifndef LIBPACK_MOMENTS_H
#define LIBPACK_MOMENTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over the pixels, 0 to 255, of up to 2^50 pixels. */
struct pack_moments {
    unsigned __int128 sum[3], sumsq[3];
};

void pack_moments_add(struct pack_moments *moments, const uint64_t sum[3],
                      const uint64_t sumsq[3]);

/* Of channel `c` of `n_pixels`, at least one; the deviation is the population's. */
double pack_moments_mean(const struct pack_moments *moments, int c, uint64_t n_pixels);
double pack_moments_std(const struct pack_moments *moments, int c, uint64_t n_pixels);

#ifdef __cplusplus
}
#endif
#endif
