/* What the scalar and the vector form of sums over pixels share. */
#ifndef LIBPACK_PIXEL_PARTS_H
#define LIBPACK_PIXEL_PARTS_H

#include <stddef.h>

#include "libpack/image/pixel.h"

enum { PACK_PIXEL_COLUMNS = 48 }; /* any number of them belongs to whole pixels */

/* Adds up n interleaved values of 1 or 3 channels, or as many of them as it has registers
 * for: whole rows of PACK_PIXEL_COLUMNS. Returns how many that were. */
typedef size_t pack_pixel_add_fn(const uint8_t *p, size_t n, int channels,
                                 uint64_t sum[3], uint64_t sumsq[3]);
pack_pixel_add_fn pack_pixel_add_scalar; /* all */
#ifdef HAVE_AVX2
pack_pixel_add_fn pack_pixel_add_avx2;
/* The first pixels of `out`, as many as it returns, fewer than n. */
size_t pack_pixel_flip_avx2(const uint8_t *row, size_t n, uint8_t *out);
#endif

#endif
