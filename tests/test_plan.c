/* The plan of loads: step by step the same as the slowest way to follow its rule; with the
 * whole future no search finds fewer loads; steps wait for earlier ones only. */
#include "libpack/base/rng.h"
#include "libpack/model/policy.h"
#include "libpack/reader/plan.h"
#include "tests/tap.h"

enum { N = 400, CHUNKS_MAX = 64, SLOTS_MAX = 40 };

/* How visits are drawn, and what is there to hold chunks. */
struct order {
    uint64_t numbers[N];
    int n;
    uint64_t n_chunks, n_slots, ahead;
    int shrinks_at; /* before this step, to so many slots; 0: never */
    uint64_t shrinks_to;
};

static void
draw(struct pack_rng *rng, struct order *o)
{
    o->n = 1 + (int)pack_rng_below(rng, N);
    o->n_chunks = 1 + pack_rng_below(rng, CHUNKS_MAX);
    o->n_slots = pack_rng_below(rng, SLOTS_MAX + 1);
    o->ahead = 1 + pack_rng_below(rng, pack_rng_below(rng, 2) ? 20 : N);
    o->shrinks_at = 0;
    bool epochs = pack_rng_below(rng, 2); /* each chunk about as often as any other */
    for (int i = 0; i < o->n; i++)
        o->numbers[i] = epochs ? ((uint64_t)i * 7 + pack_rng_below(rng, 3)) % o->n_chunks
                               : pack_rng_below(rng, o->n_chunks);
}

/* When a chunk is visited next after visit i, among those seen; N: not. */
static int
next_visit(const struct order *o, int i, uint64_t number)
{
    int end = i + (int)o->ahead < o->n ? i + (int)o->ahead : o->n;
    for (int k = i + 1; k < end; k++)
        if (o->numbers[k] == number)
            return k;
    return N;
}

/* The rule as plan.h has it, looked up anew each time. */
struct slow {
    uint64_t held[SLOTS_MAX];
    uint64_t n_steps[SLOTS_MAX], n_loads[SLOTS_MAX];
    uint64_t n_held;
};

static struct pack_plan_step
slow_step(struct slow *slow, const struct order *o, int i)
{
    uint64_t number = o->numbers[i], at = 0;
    int own = next_visit(o, i, number), worst = -1;
    struct pack_plan_step step = { .action = PACK_PLAN_HIT };
    while (at < slow->n_held && slow->held[at] != number)
        at++;
    if (at == slow->n_held) {
        step.action = PACK_PLAN_LOAD;
        if (slow->n_held < o->n_slots) {
            slow->n_held++;
        } else {
            for (uint64_t k = 0; k < slow->n_held; k++)
                if (next_visit(o, i, slow->held[k]) > worst) {
                    worst = next_visit(o, i, slow->held[k]);
                    at = k;
                }
            if (worst <= own)
                return (struct pack_plan_step){ .action = PACK_PLAN_PASS };
        }
        slow->held[at] = number;
        slow->n_loads[at]++;
    }
    step.slot = (uint32_t)at;
    step.n_loads = slow->n_loads[at];
    step.n_before = slow->n_steps[at]++;
    return step;
}

/* All steps of an order; returns the loads, passing ones included. */
static uint64_t
plan_all(const struct order *o, struct pack_plan_step *steps)
{
    struct pack_plan *plan;
    uint64_t n_loads = 0;
    int seen = 0;
    if (pack_plan_new(o->n_chunks, o->n_slots, o->ahead, &plan, NULL) != PACK_OK)
        return UINT64_MAX;
    for (int i = 0; i < o->n; i++) {
        while (seen < o->n && pack_plan_ahead(plan) < o->ahead)
            pack_plan_see(plan, o->numbers[seen++]);
        if (i > 0 && i == o->shrinks_at)
            pack_plan_shrink(plan, o->shrinks_to);
        pack_plan_next(plan, &steps[i]);
        n_loads += steps[i].action != PACK_PLAN_HIT;
    }
    pack_plan_free(plan);
    return n_loads;
}

static bool
is_same(const struct pack_plan_step *a, const struct pack_plan_step *b)
{
    return a->action == b->action && a->slot == b->slot && a->n_loads == b->n_loads &&
           a->n_before == b->n_before;
}

static void
test_reference(void)
{
    enum { ROUNDS = 400 };
    static struct pack_plan_step steps[N];
    struct pack_rng rng;
    int same = 0;
    pack_rng_seed(&rng, 11);
    for (int round = 0; round < ROUNDS; round++) {
        struct order o;
        struct slow slow = { .n_held = 0 };
        int i = 0;
        draw(&rng, &o);
        plan_all(&o, steps);
        for (; i < o.n; i++) {
            struct pack_plan_step want = slow_step(&slow, &o, i);
            if (!is_same(&steps[i], &want))
                break;
        }
        same += i == o.n;
    }
    is_number(same, ROUNDS, "steps are those of the rule, looked up the slow way");
}

/* From some step on there are fewer slots: those that are left are as they were. */
static void
test_shrinking(void)
{
    enum { ROUNDS = 400 };
    static struct pack_plan_step steps[N];
    struct pack_rng rng;
    int same = 0;
    pack_rng_seed(&rng, 14);
    for (int round = 0; round < ROUNDS; round++) {
        struct order o;
        struct slow slow = { .n_held = 0 };
        int i = 0;
        draw(&rng, &o);
        o.shrinks_at = 1 + (int)pack_rng_below(&rng, (uint64_t)o.n);
        o.shrinks_to = pack_rng_below(&rng, o.n_slots + 2); /* or to as many, or to more */
        plan_all(&o, steps);
        for (; i < o.n; i++) {
            if (i == o.shrinks_at && o.shrinks_to < o.n_slots)
                o.n_slots = o.shrinks_to;
            if (slow.n_held > o.n_slots)
                slow.n_held = o.n_slots;
            struct pack_plan_step want = slow_step(&slow, &o, i);
            if (!is_same(&steps[i], &want))
                break;
        }
        same += i == o.n;
    }
    is_number(same, ROUNDS, "with fewer slots from some step on, too");
}

/* Steps of each slot are counted. */
static void
test_counts(void)
{
    static struct pack_plan_step steps[N];
    struct pack_plan *plan;
    struct pack_rng rng;
    struct order o;
    uint64_t n_steps[SLOTS_MAX] = { 0 };
    int wrong = 0, seen = 0;
    pack_rng_seed(&rng, 15);
    do
        draw(&rng, &o);
    while (o.n_slots < 4);
    if (pack_plan_new(o.n_chunks, o.n_slots, o.ahead, &plan, NULL) != PACK_OK)
        return;
    for (int i = 0; i < o.n; i++) {
        while (seen < o.n && pack_plan_ahead(plan) < o.ahead)
            pack_plan_see(plan, o.numbers[seen++]);
        if (i == o.n / 2)
            pack_plan_shrink(plan, 2);
        pack_plan_next(plan, &steps[i]);
        if (steps[i].action != PACK_PLAN_PASS)
            n_steps[steps[i].slot]++;
    }
    for (uint64_t i = 0; i < o.n_slots; i++)
        wrong += pack_plan_steps(plan, i) != n_steps[i];
    is_number(wrong, 0, "steps of slots are counted, of those that are gone, too");
    pack_plan_free(plan);
}

static void
test_laws(void)
{
    enum { ROUNDS = 300 };
    static struct pack_plan_step steps[N];
    struct pack_rng rng;
    int between = 0, enough = 0, fewer = 0;
    pack_rng_seed(&rng, 12);
    for (int round = 0; round < ROUNDS; round++) {
        struct order o;
        uint64_t most, least, n_distinct = 0;
        bool visited[CHUNKS_MAX] = { false };
        draw(&rng, &o);
        uint64_t short_sighted = plan_all(&o, steps);
        o.ahead = N;
        uint64_t loads = plan_all(&o, steps);
        fewer += loads <= short_sighted;
        pack_policy_belady(o.numbers, (size_t)o.n, o.n_slots, &most, NULL);
        pack_policy_belady(o.numbers, (size_t)o.n, o.n_slots + 1, &least, NULL);
        between += loads <= most && loads >= least;
        for (int i = 0; i < o.n; i++) {
            n_distinct += !visited[o.numbers[i]];
            visited[o.numbers[i]] = true;
        }
        o.n_slots = o.n_chunks;
        o.ahead = 1;
        enough += plan_all(&o, steps) == n_distinct;
    }
    is_number(between, ROUNDS,
              "loads lie between Belady's of as many entries and one more");
    is_number(fewer, ROUNDS, "whoever sees all of it loads no more");
    is_number(enough, ROUNDS, "where all fits, each chunk is loaded once");
}

/* The fewest loads of any plan, by trying all: after visit i, with the chunks in `held`. */
static int
search(const struct order *o, int i, unsigned held)
{
    if (i == o->n)
        return 0;
    unsigned bit = 1u << o->numbers[i];
    if (held & bit)
        return search(o, i + 1, held);
    int best = search(o, i + 1, held); /* it passes */
    if ((uint64_t)__builtin_popcount(held) < o->n_slots) {
        int n = search(o, i + 1, held | bit);
        best = n < best ? n : best;
    } else {
        for (unsigned other = 1; other <= held; other <<= 1)
            if (held & other) {
                int n = search(o, i + 1, (held & ~other) | bit);
                best = n < best ? n : best;
            }
    }
    return best + 1;
}

static void
test_search(void)
{
    enum { ROUNDS = 200 };
    static struct pack_plan_step steps[N];
    struct pack_rng rng;
    int best = 0;
    pack_rng_seed(&rng, 13);
    for (int round = 0; round < ROUNDS; round++) {
        struct order o = { .n = 1 + (int)pack_rng_below(&rng, 11),
                           .n_chunks = 1 + pack_rng_below(&rng, 5),
                           .n_slots = pack_rng_below(&rng, 4),
                           .ahead = N };
        for (int i = 0; i < o.n; i++)
            o.numbers[i] = pack_rng_below(&rng, o.n_chunks);
        best += plan_all(&o, steps) == (uint64_t)search(&o, 0, 0);
    }
    is_number(best, ROUNDS, "no plan has fewer loads: all are tried");
}

/* An order of two epochs that nobody sees as far ahead as a chunk comes again. */
static void
test_keeps(void)
{
    static struct pack_plan_step steps[N];
    struct order o = { .n = 200, .n_chunks = 100, .n_slots = 40, .ahead = 10 };
    struct pack_rng rng;
    pack_rng_seed(&rng, 14);
    for (int epoch = 0; epoch < 2; epoch++)
        for (uint64_t i = 0; i < 100; i++) { /* shuffled as cards are */
            uint64_t k = pack_rng_below(&rng, i + 1);
            o.numbers[epoch * 100 + (int)i] = o.numbers[epoch * 100 + (int)k];
            o.numbers[epoch * 100 + (int)k] = i;
        }
    uint64_t loads = plan_all(&o, steps);
    ok(loads >= 160 && loads <= 165,
       "of two epochs shuffled, the second finds what fits: %llu loads",
       (unsigned long long)loads);
}

int
main(void)
{
    test_reference();
    test_shrinking();
    test_counts();
    test_laws();
    test_search();
    test_keeps();
    return done();
}
