/* What the scalar and the vector form of permutations share. */
#ifndef LIBPACK_PERMUTATION_PARTS_H
#define LIBPACK_PERMUTATION_PARTS_H

#include <stdbool.h>

#include "libpack/model/permutation.h"

/* The second multiplier of the 32-bit round function, from "lowbias32" (Wellons,
 * 2018). */
#define PERMUTATION_MULTIPLIER UINT32_C(0x2c1b3c6d)

/* One pass through the network for `count` consecutive inputs, a multiple of 8, without
 * cycle walking; n <= 2^32, and first + count too. */
typedef void pack_permutation_pass_fn(const struct pack_permutation *permutation,
                                      uint32_t first, size_t count, uint32_t *out);
pack_permutation_pass_fn pack_permutation_pass_scalar;
#ifdef HAVE_AVX2
pack_permutation_pass_fn pack_permutation_pass_avx2;
#endif

#endif
