/*
 * Four lanes, so that the multiplications of one do not wait for those of another:
 *
 *     lane = (lane ^ word) * odd;  lane ^= lane >> 29     (a bijection in lane and in word)
 *
 * The lanes are folded one into the next by the same step. The four-lane idea is that of
 * xxHash.
 */
#include "libpack/base/checksum.h"

#include <endian.h>
#include <string.h>

static const uint64_t ODD = UINT64_C(0x9fb21c651e98df25);

static uint64_t
step(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * ODD;
    return lane ^ (lane >> 29);
}

static uint64_t
word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

uint64_t
pack_checksum(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t a = seed, b = seed + 1, c = seed + 2, d = seed + 3;
    size_t left = size;
    for (; left >= 32; left -= 32, p += 32) {
        a = step(a, word_at(p));
        b = step(b, word_at(p + 8));
        c = step(c, word_at(p + 16));
        d = step(d, word_at(p + 24));
    }
    for (; left >= 8; left -= 8, p += 8)
        a = step(a, word_at(p));
    if (left) {
        unsigned char tail[8] = { 0 };
        memcpy(tail, p, left);
        b = step(b, word_at(tail));
    }
    return step(step(step(step(a, b), c), d), size);
}
