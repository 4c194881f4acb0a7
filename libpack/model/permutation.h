/* A random permutation of 0 .. n-1 that is computed, not stored. */
#ifndef LIBPACK_PERMUTATION_H
#define LIBPACK_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_PERMUTATION_ROUNDS_MAX = 24 };

/*
 * A Feistel network on a rectangle of `rows` rows of 2^row_bits columns, the smallest
 * such that holds n cells, with addition modulo `rows` in the odd rounds and exclusive or
 * in the even ones; results outside 0 .. n-1 are put through it again ("cycle walking",
 * about once in sqrt(n) results). After Black and Rogaway, "Ciphers with arbitrary finite
 * domains" (CT-RSA 2002). The round function is a keyed multiply-xorshift-multiply hash,
 * of 32 bits for n up to 2^32. 6 rounds, and 24 below 65536 elements, where each round
 * mixes less.
 *
 * Meant for shuffling data: test_permutation finds neither the positions of neighbours
 * nor their differences to be other than uniform, and all permutations of 3 to 6 elements
 * equally often. It is no cipher.
 *
 * A value type: copy it freely, use it from any thread.
 */
struct pack_permutation {
    uint64_t n, rows;
    int row_bits, n_rounds;
    uint64_t add[PACK_PERMUTATION_ROUNDS_MAX], multiply[PACK_PERMUTATION_ROUNDS_MAX];
};

/* One of 2^64 permutations of n elements; n >= 1. The same everywhere for a seed. */
void pack_permutation_init(struct pack_permutation *permutation, uint64_t n,
                           uint64_t seed);

/* The element at position i, and the position of an element; both below n. */
uint64_t pack_permutation_at(const struct pack_permutation *permutation, uint64_t i);
uint64_t pack_permutation_find(const struct pack_permutation *permutation,
                               uint64_t element);

/* The elements at `count` positions from `first` on: the same, faster. */
void pack_permutation_range(const struct pack_permutation *permutation, uint64_t first,
                            size_t count, uint64_t *elements);

#ifdef __cplusplus
}
#endif
#endif
