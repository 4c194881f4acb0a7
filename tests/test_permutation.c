/* Permutations are permutations, look uniform, and are the same however they are
 * computed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <math.h>

#include "libpack/model/permutation_parts.h"
#include "libpack/base/rng.h"
#include "tests/tap.h"

static bool
is_permutation(uint64_t n, uint64_t seed)
{
    struct pack_permutation p;
    bool *seen = calloc(n, sizeof *seen), good = true;
    pack_permutation_init(&p, n, seed);
    for (uint64_t i = 0; i < n && good; i++) {
        uint64_t element = pack_permutation_at(&p, i);
        good = element < n && !seen[element] && pack_permutation_find(&p, element) == i;
        if (good)
            seen[element] = true;
    }
    free(seen);
    return good;
}

static void
test_bijective(void)
{
    static const uint64_t sizes[] = {
        1000, 4095, 4096, 4097, 65535, 65536, 99991, 262145
    };
    int n_good = 0, n = 0;
    for (uint64_t size = 1; size < 300; size++, n++)
        n_good += is_permutation(size, size * 77);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++, n++)
        n_good += is_permutation(sizes[i], i);
    is_number(n_good, n, "every element comes once, and is found where it is");

    static const uint64_t large[] = { UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1,
                                      UINT64_C(1000000000), UINT64_C(1) << 62 };
    bool good = true;
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        struct pack_permutation p;
        pack_permutation_init(&p, large[i], 5);
        for (uint64_t k = 0; k < 2000; k++) {
            uint64_t at = k * (large[i] / 2000), element = pack_permutation_at(&p, at);
            good &= element < large[i] && pack_permutation_find(&p, element) == at;
        }
    }
    ok(good, "elements of huge permutations are found where they are");
}

static void
test_range(void)
{
    static const uint64_t sizes[] = {
        1, 7, 1000, 65536, 1000003, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 5
    };
    bool good = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct pack_permutation p;
        uint64_t n = sizes[i] < 999 ? sizes[i] : 999, first = sizes[i] - n, got[999];
        pack_permutation_init(&p, sizes[i], 11);
        pack_permutation_range(&p, first, n, got);
        for (uint64_t k = 0; k < n; k++)
            good &= got[k] == pack_permutation_at(&p, first + k);
    }
    ok(good, "a range holds what its positions hold");
}

static void
test_variants(void)
{
#ifdef HAVE_AVX2
    static const uint64_t sizes[] = { 8, 1000, 65537, 1281167, UINT64_C(1) << 32 };
    bool good = true;
    if (!__builtin_cpu_supports("avx2")) {
        skip("this processor has no AVX2");
        return;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct pack_permutation p;
        uint32_t a[512], b[512], first = (uint32_t)(sizes[i] / 3);
        pack_permutation_init(&p, sizes[i], i);
        pack_permutation_pass_scalar(&p, first, 512, a);
        pack_permutation_pass_avx2(&p, first, 512, b);
        good &= memcmp(a, b, sizeof a) == 0;
    }
    ok(good, "AVX2 computes what scalar code computes");
#else
    skip("built without AVX2");
#endif
}

/* How many standard deviations a chi-square statistic is from its mean. */
static double
deviation(const uint32_t *counts, int n, double expected, int freedom)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return (sum - freedom) / sqrt(2.0 * freedom);
}

/* Where neighbours `lag` positions apart go, and how far from each other. */
static void
neighbours(const uint64_t *order, uint64_t n, uint64_t lag, double z[3])
{
    enum { GRID = 64, CELLS = GRID * GRID };
    static uint32_t place[CELLS], difference[CELLS], low[CELLS];
    memset(place, 0, sizeof place);
    memset(difference, 0, sizeof difference);
    memset(low, 0, sizeof low);
    for (uint64_t i = 0; i + lag < n; i++) {
        uint64_t a = order[i], b = order[i + lag];
        place[a * GRID / n * GRID + b * GRID / n]++;
        difference[(b + n - a) % n * CELLS / n]++;
        low[a % GRID * GRID + b % GRID]++;
    }
    double expected = (double)(n - lag) / CELLS;
    /* every element comes once, so that rows and columns of a table have known sums */
    z[0] = deviation(place, CELLS, expected, (GRID - 1) * (GRID - 1));
    z[1] = deviation(difference, CELLS, expected, CELLS - 1);
    z[2] = deviation(low, CELLS, expected, (GRID - 1) * (GRID - 1));
}

static void
test_uniform(void)
{
    static const uint64_t lags[] = { 1, 2, 64, 1024 };
    enum { N = 1 << 20 };
    uint64_t *order = malloc(N * sizeof *order);
    double worst = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct pack_permutation p;
        pack_permutation_init(&p, N, seed);
        pack_permutation_range(&p, 0, N, order);
        for (int i = 0; i < 4; i++) {
            double z[3];
            neighbours(order, N, lags[i], z);
            for (int k = 0; k < 3; k++)
                worst = fabs(z[k]) > worst ? fabs(z[k]) : worst;
        }
    }
    free(order);
    note("largest of 36 deviations: %.2f", worst);
    ok(worst < 4, "places and differences of neighbours are uniform");
}

/* The number of a permutation of up to 6 elements among all of them. */
static int
rank_of(const struct pack_permutation *p)
{
    bool used[6] = { false };
    int rank = 0, n = (int)p->n;
    for (int i = 0; i < n; i++) {
        int element = (int)pack_permutation_at(p, (uint64_t)i), below = 0;
        for (int k = 0; k < element; k++)
            below += !used[k];
        used[element] = true;
        rank = rank * (n - i) + below;
    }
    return rank;
}

static void
test_small(void)
{
    int factorial = 2;
    bool good = true;
    for (int n = 3; n <= 6; n++) {
        static uint32_t counts[720];
        factorial *= n;
        memset(counts, 0, sizeof counts);
        for (int seed = 0; seed < factorial * 100; seed++) {
            struct pack_permutation p;
            pack_permutation_init(&p, (uint64_t)n, (uint64_t)seed);
            counts[rank_of(&p)]++;
        }
        double z = deviation(counts, factorial, 100, factorial - 1);
        note("%d elements: deviation %.2f", n, z);
        good &= fabs(z) < 4;
    }
    ok(good, "all permutations of 3 to 6 elements come equally often");
}

int
main(void)
{
    test_bijective();
    test_range();
    test_variants();
    test_uniform();
    test_small();
    return done();
}
