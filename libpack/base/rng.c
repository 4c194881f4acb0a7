/* xoshiro256**: four words of state, a few cycles a number, and no library to disagree
 * with. */
#include "libpack/base/rng.h"

static uint64_t
rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static uint64_t
splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void
pack_rng_seed(struct pack_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->s[i] = splitmix(&seed);
}

uint64_t
pack_rng_next(struct pack_rng *rng)
{
    uint64_t *s = rng->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t
pack_rng_below(struct pack_rng *rng, uint64_t n)
{
    unsigned __int128 product = (unsigned __int128)pack_rng_next(rng) * n;
    if ((uint64_t)product < n) {
        uint64_t floor = -n % n;
        while ((uint64_t)product < floor)
            product = (unsigned __int128)pack_rng_next(rng) * n;
    }
    return (uint64_t)(product >> 64);
}

double
pack_rng_unit(struct pack_rng *rng)
{
    return (double)(pack_rng_next(rng) >> 11) * 0x1p-53;
}

uint64_t
pack_rng_mix(uint64_t a, uint64_t b)
{
    uint64_t state = a;
    uint64_t first = splitmix(&state);
    state = first ^ b;
    return splitmix(&state);
}
