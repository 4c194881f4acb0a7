/* The plan of rechunking against counting: every element goes once to its target chunk, no
 * more chunks are held than there is room for, as many loads as foretold. */
#include "libpack/base/rng.h"
#include "libpack/model/grid.h"
#include "libpack/rechunk/rechunk_move.h"
#include "tests/tap.h"

enum { RANK_MAX = 5, ELEMENTS_MAX = 1 << 14, CASES = 4000 };

struct task {
    struct pack_grid source, target;
    uint64_t n_slots;
};

static void
draw(struct pack_rng *rng, struct task *t)
{
    struct pack_shape extent, from, to;
    uint64_t left = ELEMENTS_MAX;
    extent.rank = from.rank = to.rank = 1 + (int)pack_rng_below(rng, RANK_MAX);
    for (int i = 0; i < extent.rank; i++) {
        uint64_t most = left < 40 ? left : 40;
        extent.extent[i] = 1 + pack_rng_below(rng, most);
        left /= extent.extent[i];
        from.extent[i] = 1 + pack_rng_below(rng, extent.extent[i] + 3);
        to.extent[i] = 1 + pack_rng_below(rng, extent.extent[i] + 3);
        if (pack_rng_below(rng, 3) == 0) /* one divides the other */
            to.extent[i] = from.extent[i] * (1 + pack_rng_below(rng, 3));
    }
    pack_grid_init(&t->source, &extent, &from, 1, NULL);
    pack_grid_init(&t->target, &extent, &to, 1, NULL);
    t->n_slots = 1 + pack_rng_below(rng, 1 + pack_rng_below(rng, 60));
    if (pack_rng_below(rng, 4) == 0)
        t->n_slots = t->target.n_chunks_total;
}

/* What walking the plan really does. */
struct tally {
    uint64_t n_loads, n_held, most_held, n_complete, n_elements, loads_of_most;
    bool is_sound;
};

static struct tally
walk(const struct pack_rechunk_plan *plan)
{
    static uint64_t got[4 * ELEMENTS_MAX], times[4 * ELEMENTS_MAX];
    struct tally tally = { .is_sound = true };
    struct pack_rechunk_walk w;
    struct pack_rechunk_load load;
    memset(got, 0, sizeof got);
    memset(times, 0, sizeof times);
    pack_rechunk_walk_begin(&w, plan);
    while (pack_rechunk_walk_next(&w, &load)) {
        struct pack_grid_cursor c;
        struct pack_box whole;
        tally.n_loads++;
        if (++times[load.number] > tally.loads_of_most)
            tally.loads_of_most = times[load.number];
        pack_grid_chunk_box(&plan->source, load.coords, &whole);
        for (int i = 0; i < whole.rank; i++)
            if (load.box.count[i] == 0 || load.box.start[i] < whole.start[i] ||
                load.box.start[i] + load.box.count[i] > whole.start[i] + whole.count[i])
                tally.is_sound = false;
        if (pack_grid_number(&plan->source, load.coords) != load.number)
            tally.is_sound = false;
        for (bool more = pack_grid_first(&c, &plan->target, &load.box); more;
             more = pack_grid_next(&c)) {
            tally.n_held += got[c.number] == 0;
            got[c.number] += c.n_elements;
            tally.n_elements += c.n_elements;
        }
        if (tally.n_held > tally.most_held)
            tally.most_held = tally.n_held;
        for (bool more = pack_grid_first(&c, &plan->target, &load.box); more;
             more = pack_grid_next(&c)) {
            struct pack_box box;
            uint64_t all = 1;
            pack_grid_chunk_box(&plan->target, c.coords, &box);
            for (int i = 0; i < box.rank; i++)
                all *= box.count[i];
            if (got[c.number] > all)
                tally.is_sound = false;
            if (got[c.number] == all) {
                tally.n_complete++;
                tally.n_held--;
            }
        }
    }
    return tally;
}

static void
test_random(struct pack_rng *rng)
{
    bool loads = true, held = true, all = true, sound = true, once = true, least = true;
    for (int i = 0; i < CASES; i++) {
        struct task t;
        struct pack_rechunk_plan plan;
        draw(rng, &t);
        pack_rechunk_plan_make(&t.source, &t.target, t.n_slots, &plan);
        struct tally tally = walk(&plan);
        uint64_t n_elements = 1;
        for (int k = 0; k < t.source.rank; k++)
            n_elements *= t.source.extent[k];
        loads &= tally.n_loads == plan.n_loads;
        held &= plan.n_held <= t.n_slots && tally.most_held <= plan.n_held;
        all &= tally.n_complete == t.target.n_chunks_total &&
               tally.n_elements == n_elements && tally.n_held == 0;
        sound &= tally.is_sound;
        least &= plan.n_loads >= t.source.n_chunks_total;
        if (t.n_slots == t.target.n_chunks_total)
            once &= tally.n_loads == t.source.n_chunks_total && tally.loads_of_most == 1;
        if (!(loads && held && all && sound && once)) {
            note("case %d: rank %d, %llu slots, %llu loads (%llu), %llu held (%llu)", i,
                 t.source.rank, (unsigned long long)t.n_slots,
                 (unsigned long long)tally.n_loads, (unsigned long long)plan.n_loads,
                 (unsigned long long)tally.most_held, (unsigned long long)plan.n_held);
            break;
        }
    }
    ok(loads, "as many loads as foretold");
    ok(held, "no more chunks are held than foretold, and than there is room for");
    ok(all, "every target chunk is complete once, with every element");
    ok(sound, "loads lie in their chunks");
    ok(least, "every source chunk is loaded");
    ok(once, "with room for all, each source chunk is loaded once");
}

struct named {
    const char *what, *extent, *from, *to;
    uint64_t n_slots, n_held, n_loads;
};

static void
test_cases(void)
{
    static const struct named cases[] = {
        { "100 images a chunk to one: a chunk's images are held", "1000x3x8x8",
          "100x3x8x8", "1x3x8x8", 100, 100, 10 },
        { "one image a chunk to 100: one chunk is held", "1000x3x8x8", "1x3x8x8",
          "100x3x8x8", 1, 1, 1000 },
        { "tiles to whole images: one image is held", "50x3x8x8", "1x3x4x4", "1x3x8x8", 1,
          1, 200 },
        { "64 to 100 in a sweep: two rows are held", "6400", "64", "100", 2, 2, 100 },
        { "64 to 100 with one: borders cut", "6400", "64", "100", 1, 1, 160 },
        { "rows to columns without room: each row once per column", "16x16", "1x16",
          "16x1", 1, 1, 256 },
        { "rows to columns, half at a time", "16x16", "1x16", "16x1", 8, 8, 32 },
        { "regions are whole or cut: room for three holds two", "10x384", "1x64", "1x96",
          3, 2, 60 },
        { "rows to columns with room", "16x16", "1x16", "16x1", 16, 16, 16 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_shape extent, from, to;
        struct pack_grid source, target;
        struct pack_rechunk_plan plan;
        pack_shape_parse(cases[i].extent, &extent, NULL);
        pack_shape_parse(cases[i].from, &from, NULL);
        pack_shape_parse(cases[i].to, &to, NULL);
        pack_grid_init(&source, &extent, &from, 1, NULL);
        pack_grid_init(&target, &extent, &to, 1, NULL);
        pack_rechunk_plan_make(&source, &target, cases[i].n_slots, &plan);
        if (!ok(plan.n_held == cases[i].n_held && plan.n_loads == cases[i].n_loads, "%s",
                cases[i].what))
            note("%llu held, %llu loads", (unsigned long long)plan.n_held,
                 (unsigned long long)plan.n_loads);
    }
}

/* Chunks need not be done in the order of their numbers. */
static void
test_done(void)
{
    unsigned char done[3] = { 0 };
    pack_rechunk_set_done(done, 5);
    pack_rechunk_set_done(done, 16);
    int n_wrong = 0;
    for (uint64_t i = 0; i < 24; i++)
        n_wrong += pack_rechunk_is_done(done, i) != (i == 5 || i == 16);
    ok(n_wrong == 0 && !pack_rechunk_is_done(NULL, 5), "chunks that are done, and no others");
}

int
main(void)
{
    struct pack_rng rng;
    const char *seed = getenv("H5PACK_SEED");
    pack_rng_seed(&rng, seed ? strtoull(seed, NULL, 10) : 1);
    test_cases();
    test_done();
    test_random(&rng);
    return done();
}
