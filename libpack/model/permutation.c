/*
 * A position is a cell of a rectangle, row * 2^row_bits + column. One round moves a cell
 * within its column, by an amount that its column alone determines; the next moves it
 * within its row. Each can be undone, so together they are a permutation of the
 * rectangle.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "libpack/model/permutation_parts.h"
#include "libpack/base/rng.h"

void
pack_permutation_init(struct pack_permutation *permutation, uint64_t n, uint64_t seed)
{
    struct pack_permutation p = { .n = n, .n_rounds = n < 65536 ? 24 : 6 };
    struct pack_rng rng;
    int bits = 0;
    while (bits < 64 && (n - 1) >> bits)
        bits++;
    p.row_bits = bits / 2;
    p.rows = ((n - 1) >> p.row_bits) + 1;
    pack_rng_seed(&rng, seed);
    for (int i = 0; i < p.n_rounds; i++) {
        p.add[i] = pack_rng_next(&rng);
        p.multiply[i] = pack_rng_next(&rng) | 1;
    }
    *permutation = p;
}

static bool
is_narrow(const struct pack_permutation *p)
{
    return p->n <= UINT64_C(1) << 32;
}

/* The round function: a hash of one coordinate, 16 bits of it where n is narrow. */
static inline uint32_t
hash32(const struct pack_permutation *p, int round, uint32_t x)
{
    uint32_t h = (x ^ (uint32_t)p->add[round]) * (uint32_t)p->multiply[round];
    h ^= h >> 15;
    return (h * PERMUTATION_MULTIPLIER) >> 16;
}

static inline uint64_t
hash64(const struct pack_permutation *p, int round, uint64_t x)
{
    uint64_t h = (x ^ p->add[round]) * p->multiply[round];
    h ^= h >> 32;
    return (h * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

/* How far a cell moves along its column, and the mask that moves it within its row. */
static inline uint64_t
row_shift(const struct pack_permutation *p, int round, uint64_t column)
{
    if (is_narrow(p))
        return (uint64_t)(hash32(p, round, (uint32_t)column) * (uint32_t)p->rows >> 16);
    return hash64(p, round, column) * p->rows >> 32;
}

static inline uint64_t
column_mask(const struct pack_permutation *p, int round, uint64_t row)
{
    uint64_t hash =
        is_narrow(p) ? hash32(p, round, (uint32_t)row) : hash64(p, round, row);
    return hash & ((UINT64_C(1) << p->row_bits) - 1);
}

static uint64_t
pass(const struct pack_permutation *p, uint64_t x)
{
    uint64_t row = x >> p->row_bits, column = x & ((UINT64_C(1) << p->row_bits) - 1);
    for (int i = 0; i < p->n_rounds; i += 2) {
        row += row_shift(p, i, column);
        row -= row >= p->rows ? p->rows : 0;
        column ^= column_mask(p, i + 1, row);
    }
    return row << p->row_bits | column;
}

static uint64_t
pass_back(const struct pack_permutation *p, uint64_t x)
{
    uint64_t row = x >> p->row_bits, column = x & ((UINT64_C(1) << p->row_bits) - 1);
    for (int i = p->n_rounds - 2; i >= 0; i -= 2) {
        column ^= column_mask(p, i + 1, row);
        row += p->rows - row_shift(p, i, column);
        row -= row >= p->rows ? p->rows : 0;
    }
    return row << p->row_bits | column;
}

uint64_t
pack_permutation_at(const struct pack_permutation *permutation, uint64_t i)
{
    do
        i = pass(permutation, i);
    while (i >= permutation->n);
    return i;
}

uint64_t
pack_permutation_find(const struct pack_permutation *permutation, uint64_t element)
{
    do
        element = pass_back(permutation, element);
    while (element >= permutation->n);
    return element;
}

void
pack_permutation_pass_scalar(const struct pack_permutation *permutation, uint32_t first,
                             size_t count, uint32_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint32_t)pass(permutation, first + i);
}

static pack_permutation_pass_fn *
best_pass(void)
{
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2"))
        return pack_permutation_pass_avx2;
#endif
    return pack_permutation_pass_scalar;
}

enum { BLOCK = 256 };

void
pack_permutation_range(const struct pack_permutation *permutation, uint64_t first,
                       size_t count, uint64_t *elements)
{
    size_t done = 0;
    if (is_narrow(permutation)) {
        pack_permutation_pass_fn *pass_many = best_pass();
        uint32_t block[BLOCK];
        for (size_t n; (n = (count - done) & ~(size_t)7) > 0; done += n) {
            n = n < BLOCK ? n : BLOCK;
            pass_many(permutation, (uint32_t)(first + done), n, block);
            for (size_t i = 0; i < n; i++)
                elements[done + i] = block[i] < permutation->n
                                         ? block[i]
                                         : pack_permutation_at(permutation, block[i]);
        }
    }
    for (; done < count; done++)
        elements[done] = pack_permutation_at(permutation, first + done);
}
