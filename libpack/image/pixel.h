/* Over the pixels of finished samples: exact sums, and rows from right to left. */
#ifndef LIBPACK_PIXEL_H
#define LIBPACK_PIXEL_H

#include <stdint.h>

#include <libpack/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds each channel's sum of values and of squared values to sum[] and sumsq[].
 *
 * sample:  n_pixels * channels bytes in the given layout, 1 or 3 channels
 *
 * Exact. 64 bits hold 2^48 pixels of squares.
 */
void pack_pixel_sums(const uint8_t *sample, enum pack_pixel_layout layout,
                     size_t n_pixels, int channels, uint64_t sum[3], uint64_t sumsq[3]);

/* A row of n pixels of three bytes, its first pixel last. */
void pack_pixel_flip(const uint8_t *row, size_t n, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
