/* A set of small numbers that finds its gaps and counts its members fast. */
#ifndef LIBPACK_POSSET_H
#define LIBPACK_POSSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One bit per number, and above the words a tree of counts with eight children a node:
 * level k counts the members of blocks of 64 * 8^(k+1) numbers. Gaps are found by
 * stepping over full blocks, ranges counted by adding up whole ones, both in O(log n)
 * steps; adding and removing changes one bit and one count a level.
 */
enum { POSSET_LEVELS_MAX = 9 };

struct pack_posset {
    uint64_t size; /* numbers 0 .. size-1; a multiple of 64 */
    uint64_t *bits;
    int n_levels;
    uint32_t *count[POSSET_LEVELS_MAX];
};

/* Log2 of the numbers in a block of a level. */
static inline int
pack_posset_shift(int level)
{
    return 9 + 3 * level;
}

/* An empty set; false without memory. size is a multiple of 64, up to 2^32. */
bool pack_posset_init(struct pack_posset *set, uint64_t size);
void pack_posset_done(struct pack_posset *set);
void pack_posset_clear(struct pack_posset *set);

static inline bool
pack_posset_has(const struct pack_posset *set, uint64_t number)
{
    return set->bits[number / 64] >> (number % 64) & 1;
}

/* `number` is not in the set. */
static inline void
pack_posset_add(struct pack_posset *set, uint64_t number)
{
    set->bits[number / 64] |= UINT64_C(1) << (number % 64);
    for (int k = 0; k < set->n_levels; k++)
        set->count[k][number >> pack_posset_shift(k)]++;
}

/* `number` is in the set. */
static inline void
pack_posset_remove(struct pack_posset *set, uint64_t number)
{
    set->bits[number / 64] &= ~(UINT64_C(1) << (number % 64));
    for (int k = 0; k < set->n_levels; k++)
        set->count[k][number >> pack_posset_shift(k)]--;
}

/* The first number from `from` on that is not in the set, or `end`. */
uint64_t pack_posset_gap(const struct pack_posset *set, uint64_t from, uint64_t end);

/* Members from `from` on and below `end`. */
uint64_t pack_posset_count(const struct pack_posset *set, uint64_t from, uint64_t end);

#endif
