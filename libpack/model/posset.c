/* Both searches walk along the numbers in the largest aligned steps that fit: a word, or
 * a block whose count says all. */
#include "libpack/model/posset.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
n_blocks(const struct pack_posset *set, int level)
{
    int shift = pack_posset_shift(level);
    return (set->size + (UINT64_C(1) << shift) - 1) >> shift;
}

bool
pack_posset_init(struct pack_posset *set, uint64_t size)
{
    *set = (struct pack_posset){ .size = size };
    set->bits = calloc(size / 64, sizeof set->bits[0]);
    if (!set->bits)
        return false;
    while (set->n_levels < POSSET_LEVELS_MAX &&
           size >> pack_posset_shift(set->n_levels)) {
        int k = set->n_levels;
        set->count[k] = calloc(n_blocks(set, k), sizeof set->count[k][0]);
        if (!set->count[k]) {
            pack_posset_done(set);
            return false;
        }
        set->n_levels++;
    }
    return true;
}

void
pack_posset_done(struct pack_posset *set)
{
    for (int k = 0; k < set->n_levels; k++)
        free(set->count[k]);
    free(set->bits);
    *set = (struct pack_posset){ 0 };
}

void
pack_posset_clear(struct pack_posset *set)
{
    memset(set->bits, 0, set->size / 64 * sizeof set->bits[0]);
    for (int k = 0; k < set->n_levels; k++)
        memset(set->count[k], 0, n_blocks(set, k) * sizeof set->count[k][0]);
}

/* The highest level with a block that begins at `at`; -1: none. */
static int
aligned_level(const struct pack_posset *set, uint64_t at)
{
    int k = 0;
    while (k < set->n_levels && (at & ((UINT64_C(1) << pack_posset_shift(k)) - 1)) == 0)
        k++;
    return k - 1;
}

uint64_t
pack_posset_gap(const struct pack_posset *set, uint64_t from, uint64_t end)
{
    while (from < end) {
        int k = aligned_level(set, from);
        while (k >= 0 && set->count[k][from >> pack_posset_shift(k)] !=
                             UINT64_C(1) << pack_posset_shift(k))
            k--;
        if (k >= 0) {
            from += UINT64_C(1) << pack_posset_shift(k);
            continue;
        }
        uint64_t gaps = ~set->bits[from / 64] >> (from % 64);
        if (gaps) {
            from += (uint64_t)__builtin_ctzll(gaps);
            break;
        }
        from = (from | 63) + 1;
    }
    return from < end ? from : end;
}

/* Set bits of a word, without the call that the builtin is where the processor's own
 * instruction may not be used. */
static uint64_t
popcount(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return x * UINT64_C(0x0101010101010101) >> 56;
}

uint64_t
pack_posset_count(const struct pack_posset *set, uint64_t from, uint64_t end)
{
    uint64_t n = 0;
    while (from < end) {
        int k = aligned_level(set, from);
        while (k >= 0 && end - from < UINT64_C(1) << pack_posset_shift(k))
            k--;
        if (k >= 0) {
            n += set->count[k][from >> pack_posset_shift(k)];
            from += UINT64_C(1) << pack_posset_shift(k);
            continue;
        }
        uint64_t word = set->bits[from / 64] >> (from % 64), here = 64 - from % 64;
        if (here > end - from) {
            here = end - from;
            word &= (UINT64_C(1) << here) - 1;
        }
        n += popcount(word);
        from += here;
    }
    return n;
}
