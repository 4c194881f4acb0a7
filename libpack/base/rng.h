/* A seeded generator of random numbers that gives the same sequence everywhere. */
#ifndef LIBPACK_RNG_H
#define LIBPACK_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64, both in the public
 * domain. A value type: copy it to fork a sequence. Not for secrets.
 */
struct pack_rng {
    uint64_t s[4];
};

/* Any seed will do, 0 included. */
void pack_rng_seed(struct pack_rng *rng, uint64_t seed);

/* 64 uniformly distributed bits. */
uint64_t pack_rng_next(struct pack_rng *rng);

/* Uniform in 0 .. n-1, n >= 1, without bias (Lemire's multiplication with rejection). */
uint64_t pack_rng_below(struct pack_rng *rng, uint64_t n);

/* Uniform in [0, 1), a multiple of 2^-53. */
double pack_rng_unit(struct pack_rng *rng);

/* Hashes two words into one, to derive independent seeds: (seed, epoch), (seed,
 * worker). */
uint64_t pack_rng_mix(uint64_t a, uint64_t b);

#ifdef __cplusplus
}
#endif
#endif
