/* Policies against the slowest thing that could work. */
#include <inttypes.h>

#include "libpack/model/policy.h"
#include "libpack/base/rng.h"
#include "tests/tap.h"

enum { N = 300 };

/* How soon a chunk comes again after moment i, or when it came last before. */
static int
distance(const uint64_t *numbers, int n, int i, uint64_t number, bool future)
{
    for (int k = 1; future ? i + k < n : k <= i; k++)
        if (numbers[future ? i + k : i - k] == number)
            return k;
    return N + 1;
}

/* Evicts whichever entry is furthest away, in the past or in the future. */
static uint64_t
slow(const uint64_t *numbers, int n, int n_entries, bool future)
{
    uint64_t held[N], loads = 0;
    int n_held = 0;
    for (int i = 0; i < n; i++) {
        int at = 0, worst = 0;
        while (at < n_held && held[at] != numbers[i])
            at++;
        if (at < n_held)
            continue;
        loads++;
        if (n_held == n_entries) {
            for (int k = 0; k < n_held; k++)
                if (distance(numbers, n, i, held[k], future) >
                    distance(numbers, n, i, held[worst], future))
                    worst = k;
            held[worst] = held[--n_held];
        }
        held[n_held++] = numbers[i];
    }
    return loads;
}

static void
test_policies(void)
{
    struct pack_rng rng;
    int lru_right = 0, belady_right = 0, ordered = 0;
    pack_rng_seed(&rng, 1);
    for (int i = 0; i < 300; i++) {
        uint64_t numbers[N], n_chunks = 1 + pack_rng_below(&rng, 60), lru, belady;
        int n = 1 + (int)pack_rng_below(&rng, N),
            n_entries = 1 + (int)pack_rng_below(&rng, 30);
        for (int k = 0; k < n; k++)
            numbers[k] = pack_rng_below(&rng, n_chunks) << 33;
        pack_policy_lru(numbers, (size_t)n, (uint64_t)n_entries, &lru, NULL);
        pack_policy_belady(numbers, (size_t)n, (uint64_t)n_entries, &belady, NULL);
        lru_right += lru == slow(numbers, n, n_entries, false);
        belady_right += belady == slow(numbers, n, n_entries, true);
        ordered += belady <= lru;
    }
    is_number(lru_right, 300, "LRU loads what evicting the oldest by hand loads");
    is_number(belady_right, 300, "Belady's optimum, by hand, with the future at hand");
    is_number(ordered, 300, "nothing loads less than the optimum");
    uint64_t one = 5, loads = 0;
    ok(pack_policy_lru(&one, 1, 0, &loads, NULL) == PACK_OK && loads == 1 &&
           pack_policy_belady(&one, 1, 0, &loads, NULL) == PACK_OK && loads == 1,
       "without a cache every visit loads");
}

static void
test_visits(void)
{
    struct pack_shape extent = { 2, { 100, 10 } }, chunk = { 2, { 10, 5 } };
    struct pack_box boxes[] = { { 2, { 4, 0 }, { 1, 10 } }, { 2, { 7, 0 }, { 10, 3 } } };
    struct pack_pattern p = { .extent = extent, .batch = 4 };
    struct pack_visits visits = { 0 };
    struct pack_pattern_iter *it = NULL;
    struct pack_grid grid;
    pack_grid_init(&grid, &extent, &chunk, 1, NULL);
    pack_visits_add(&visits, &grid, boxes, 2, NULL);
    ok(visits.n == 3 && visits.numbers[0] == 0 && visits.numbers[1] == 1 &&
           visits.numbers[2] == 2,
       "one read visits each chunk once, in ascending order");
    pack_pattern_new(&p, &it, NULL);
    ok(pack_visits_replay(&visits, &grid, it, UINT64_MAX, NULL) == PACK_OK &&
           visits.n == 3 + 200,
       "a pattern's epoch, two chunks a sample");
    pack_pattern_free(it);
    pack_visits_free(&visits);
}

int
main(void)
{
    test_policies();
    test_visits();
    return done();
}
