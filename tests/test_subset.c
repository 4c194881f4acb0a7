/*
 * Patterns over a subset: all kinds but blocks draw positions of members as they draw samples,
 * so that PyTorch's Subset would give the same; blocks by what they promise, chunks of the file
 * that pass through a pool.
 */
#include <libpack/cachesim.h>
#include <libpack/pattern.h>
#include "libpack/base/rng.h"
#include "libpack/model/replay.h"
#include "tests/tap.h"

enum { N_MAX = 1500, ROUNDS = 150 };
static uint64_t got[8 * N_MAX], other[8 * N_MAX], members[N_MAX];
static double weights[N_MAX];

/* Samples of an epoch, taken so many at a time. */
static size_t
epoch_of(const struct pack_pattern *p, uint64_t *samples, size_t step)
{
    struct pack_pattern_iter *it = NULL;
    struct pack_error err;
    size_t n = 0, more;
    if (pack_pattern_new(p, &it, &err) != PACK_OK) {
        note("%s", err.text);
        exit(2);
    }
    while ((more = pack_pattern_samples(it, samples + n, step)) > 0)
        n += more;
    pack_pattern_free(it);
    return n;
}

/* Some of n samples: ascending, or in a random order, or with some there twice. */
enum form { ASCENDING = 0, SHUFFLED, TWICE, N_FORMS };

static uint64_t
choose(struct pack_rng *rng, uint64_t n, enum form form)
{
    uint64_t n_members = 0, part = 1 + pack_rng_below(rng, 4);
    for (uint64_t i = 0; i < n; i++)
        if (pack_rng_below(rng, 4) < part)
            members[n_members++] = i;
    if (n_members == 0)
        members[n_members++] = pack_rng_below(rng, n);
    for (uint64_t i = n_members - 1; i > 0 && form != ASCENDING; i--) {
        uint64_t k = pack_rng_below(rng, i + 1), member = members[i];
        members[i] = members[k];
        members[k] = member;
    }
    if (form == TWICE && n_members > 1)
        members[n_members / 2] = members[0];
    return n_members;
}

static struct pack_pattern
random_pattern(struct pack_rng *rng, enum pack_pattern_kind kind, enum form form)
{
    uint64_t n = 1 + pack_rng_below(rng, N_MAX / 2);
    struct pack_pattern p = { .kind = kind, .extent = { 2, { n, 7 } }, .subset = members };
    p.n_subset = choose(rng, n, form);
    p.seed = pack_rng_next(rng);
    p.epoch = pack_rng_below(rng, 3);
    p.chunk_samples = 1 + pack_rng_below(rng, 20);
    p.pool_chunks = 1 + pack_rng_below(rng, 6);
    p.buffer_samples = 1 + pack_rng_below(rng, 60);
    p.batch = 1 + pack_rng_below(rng, 25);
    p.weights = weights;
    return p;
}

/* ------------------------------------------------------------------- all kinds */

/* What is drawn over all ranks and workers, counted by sample. */
static void
count_drawn(struct pack_pattern p, uint32_t *drawn)
{
    memset(drawn, 0, N_MAX * sizeof *drawn);
    for (p.rank = 0; p.rank < p.world; p.rank++)
        for (p.worker = 0; p.worker < p.workers; p.worker++) {
            size_t n = epoch_of(&p, got, 100);
            for (size_t i = 0; i < n; i++)
                drawn[got[i]]++;
        }
}

static void
test_each_once(void)
{
    static uint32_t drawn[N_MAX];
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    for (int kind = PACK_PATTERN_SEQUENTIAL; kind <= PACK_PATTERN_BUFFER + 2; kind++) {
        bool slides = kind == PACK_PATTERN_BUFFER + 1, local = kind == PACK_PATTERN_BUFFER + 2;
        int n_wrong = 0;
        for (int i = 0; i < ROUNDS; i++) {
            struct pack_pattern p = random_pattern(
                &rng, (enum pack_pattern_kind)(slides || local ? PACK_PATTERN_BLOCK : kind),
                (enum form)(i % N_FORMS));
            p.slide = slides;
            p.local = local;
            p.world = 1 + pack_rng_below(&rng, 4);
            p.drop_uneven = p.n_subset % p.world == 0 || p.n_subset < p.world;
            if (p.n_subset % p.world != 0)
                p.world = 1; /* padding comes twice */
            p.workers = 1 + pack_rng_below(&rng, 3);
            count_drawn(p, drawn);
            for (uint64_t k = 0; k < p.n_subset; k++)
                drawn[members[k]]--;
            for (size_t s = 0; s < N_MAX; s++)
                n_wrong += drawn[s] != 0;
        }
        ok(n_wrong == 0, "%s%s: every member once an epoch, over ranks and workers",
                  pack_pattern_name((enum pack_pattern_kind)(kind > PACK_PATTERN_BUFFER
                                                                 ? PACK_PATTERN_BLOCK
                                                                 : kind)),
                  slides ? ", sliding" : local ? ", local" : "");
    }
}

static void
test_as_positions(void)
{
    static const enum pack_pattern_kind kinds[] = { PACK_PATTERN_SEQUENTIAL,
                                                    PACK_PATTERN_SHUFFLE, PACK_PATTERN_BUFFER,
                                                    PACK_PATTERN_REPLACEMENT,
                                                    PACK_PATTERN_WEIGHTED };
    struct pack_rng rng;
    pack_rng_seed(&rng, 2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int n_wrong = 0;
        for (int i = 0; i < ROUNDS; i++) {
            struct pack_pattern p = random_pattern(&rng, kinds[k], (enum form)(i % N_FORMS));
            p.world = 1 + pack_rng_below(&rng, 5);
            p.rank = pack_rng_below(&rng, p.world);
            p.draws = i % 2 ? 1 + pack_rng_below(&rng, 500) : 0;
            size_t n = epoch_of(&p, got, 64);
            p.extent.extent[0] = p.n_subset; /* a dataset of as many samples */
            p.subset = NULL;
            p.n_subset = 0;
            n_wrong += epoch_of(&p, other, 77) != n;
            for (size_t s = 0; s < n; s++)
                n_wrong += got[s] != members[other[s]];
        }
        ok(n_wrong == 0, "%s: members where samples would be drawn",
                  pack_pattern_name(kinds[k]));
    }
}

static void
test_requests(void)
{
    static const uint64_t some[] = { 8, 2, 5 };
    struct pack_pattern p = { .extent = { 2, { 20, 7 } },
                              .box = { 2, { 2, 7 } },
                              .step = 2,
                              .subset = some,
                              .n_subset = 3,
                              .batch = 3 };
    struct pack_pattern_iter *it = NULL;
    struct pack_request r;
    pack_pattern_new(&p, &it, NULL);
    bool good = pack_pattern_n_samples(it) == 3 && pack_pattern_length(it) == 3;
    for (int i = 0; i < 3 && good; i++)
        good = pack_pattern_next(it, &r) && r.samples[0] == some[i] &&
               r.boxes[0].start[0] == 2 * some[i] && r.boxes[0].count[0] == 2;
    ok(good && !pack_pattern_next(it, &r), "requests have the dataset's numbers, and its boxes");
    pack_pattern_free(it);
    p.read = PACK_READ_BATCH;
    pack_pattern_new(&p, &it, NULL);
    ok(pack_pattern_next(it, &r) && r.n_samples == 3 && r.samples[0] == 8 && r.n_boxes == 3 &&
           r.boxes[0].start[0] == 4 && r.boxes[2].start[0] == 16,
       "read as a batch, too");
    pack_pattern_free(it);
}

/* --------------------------------------------------------------------- blocks */

/* How many chunks are begun and not through while samples pass, and how many there are. */
static uint64_t
most_open(const uint64_t *samples, size_t n, uint64_t chunk_samples, uint64_t *n_chunks)
{
    static uint64_t left[N_MAX];
    static bool begun[N_MAX];
    uint64_t open = 0, most = 0;
    memset(left, 0, sizeof left);
    memset(begun, 0, sizeof begun);
    *n_chunks = 0;
    for (size_t i = 0; i < n; i++)
        left[samples[i] / chunk_samples]++;
    for (size_t i = 0; i < n; i++) {
        uint64_t chunk = samples[i] / chunk_samples;
        open += !begun[chunk];
        *n_chunks += !begun[chunk];
        begun[chunk] = true;
        most = open > most ? open : most;
        open -= --left[chunk] == 0;
    }
    return most;
}

static void
test_pools(void)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 3);
    for (int slide = 0; slide < 2; slide++) {
        int n_wrong = 0, n_full = 0, n_sorted = 0;
        for (int i = 0; i < ROUNDS; i++) {
            uint64_t n_chunks;
            struct pack_pattern p =
                random_pattern(&rng, PACK_PATTERN_BLOCK, (enum form)(i % N_FORMS));
            p.slide = slide;
            size_t n = epoch_of(&p, got, 50);
            uint64_t most = most_open(got, n, p.chunk_samples, &n_chunks);
            n_wrong += most > p.pool_chunks;
            n_full += most == p.pool_chunks || most == n_chunks;
            p.epoch++;
            epoch_of(&p, other, 50);
            n_sorted += n > 20 && memcmp(got, other, n * sizeof *got) == 0;
        }
        ok(n_wrong == 0 && n_full > ROUNDS / 2 && n_sorted == 0,
           "%s: at most a pool of the file's chunks is begun, and mostly that; anew each epoch",
           slide ? "sliding" : "refilled");
    }
}

/* Loads of all workers with caches of a pool. */
static uint64_t
count_loads(struct pack_pattern p, uint64_t *shared)
{
    struct pack_shape chunk = { 2, { p.chunk_samples, 7 } };
    struct pack_cachesim_params params = {
        .cache = { 8191, (p.pool_chunks + 1) * p.chunk_samples * 7, 0.75, PACK_HDF5_1_10 }
    };
    struct pack_grid grid;
    uint64_t loads = 0, n;
    *shared = 0;
    for (p.rank = 0; p.rank < p.world; p.rank++)
        for (p.worker = 0; p.worker < p.workers; p.worker++) {
            struct pack_pattern_iter *it = NULL;
            struct pack_cachesim *sim = NULL;
            struct pack_cache_counts counts = { 0 };
            if (pack_pattern_new(&p, &it, NULL) || pack_grid_init(&grid, &p.extent, &chunk, 1, NULL) ||
                pack_cachesim_new(&grid, &params, &sim, NULL) ||
                pack_replay(it, sim, UINT64_MAX, &n, NULL))
                exit(2);
            pack_cachesim_counts(sim, &counts);
            loads += counts.loads;
            if (p.worker == 0)
                *shared += pack_pattern_shared_chunks(it);
            pack_cachesim_free(sim);
            pack_pattern_free(it);
        }
    return loads;
}

/* The loads are the chunks that have members, whoever reads them. */
static void
test_loads(void)
{
    struct pack_rng rng;
    int n_wrong = 0, n_local = 0;
    pack_rng_seed(&rng, 4);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t n_chunks, shared;
        struct pack_pattern p =
            random_pattern(&rng, PACK_PATTERN_BLOCK, (enum form)(i % N_FORMS));
        if (p.chunk_samples > p.extent.extent[0])
            p.chunk_samples = p.extent.extent[0];
        most_open(members, p.n_subset, p.chunk_samples, &n_chunks);
        n_wrong += count_loads((p.world = p.workers = 1, p), &shared) != n_chunks;
        p.local = true;
        p.workers = 1 + pack_rng_below(&rng, 4);
        p.world = 1 + pack_rng_below(&rng, 2);
        if (p.n_subset % p.world != 0)
            p.world = 1;
        n_local += count_loads(p, &shared) != n_chunks + shared ||
                   shared >= p.world * p.workers;
    }
    is_number(n_wrong, 0, "simulated with room for a pool, each chunk with members is loaded once");
    is_number(n_local, 0, "by local workers too, but for those that are shared");
}

/* From any place on, of an epoch that was or was not there before. */
static void
test_seek(void)
{
    struct pack_rng rng;
    int n_wrong = 0;
    pack_rng_seed(&rng, 5);
    for (int i = 0; i < ROUNDS; i++) {
        struct pack_pattern p =
            random_pattern(&rng, PACK_PATTERN_BLOCK, (enum form)(i % N_FORMS));
        struct pack_pattern_iter *it = NULL;
        p.local = i % 2;
        p.slide = i % 5 == 2 && !p.local;
        p.epoch = 1;
        size_t n = epoch_of(&p, got, 99);
        pack_pattern_new(&p, &it, NULL);
        for (int k = 0; k < 6; k++) {
            uint64_t at = pack_rng_below(&rng, n), epoch = k % 3 == 1 ? 0 : 1;
            pack_pattern_seek(it, epoch, at, NULL);
            size_t m = pack_pattern_samples(it, other, N_MAX);
            n_wrong += epoch == 1 && (m != n - at ||
                                      memcmp(other, got + at, m * sizeof *got) != 0);
        }
        pack_pattern_free(it);
    }
    is_number(n_wrong, 0, "an order is entered anywhere");
}

/* ------------------------------------------------------------------- refusals */

static void
test_refusals(void)
{
    static const uint64_t some[] = { 3, 8, 9, 2 };
    static const struct {
        struct pack_pattern pattern;
        const char *sentence;
    } cases[] = {
        { { .extent = { 1, { 9 } }, .subset = some, .n_subset = 4 },
          "index 2 of the subset is sample 9, of 9 samples" },
        { { .extent = { 1, { 20 } }, .n_samples = 8, .subset = some, .n_subset = 4 },
          "index 1 of the subset is sample 8, of 8 samples" },
        { { .extent = { 1, { 9 } }, .subset = some }, "the subset is empty" },
        { { .extent = { 1, { 9 } }, .n_subset = 1 }, "subset is NULL" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pack_pattern_iter *it;
        struct pack_error err = { .text = "" };
        ok(pack_pattern_new(&cases[i].pattern, &it, &err) == PACK_ERR_ARGUMENT &&
               strcmp(err.param, "subset") == 0,
           "refused");
        is_text(err.text, cases[i].sentence, "and why");
    }
}

int
main(void)
{
    for (size_t i = 0; i < N_MAX; i++)
        weights[i] = 1 + (double)(i % 5);
    test_each_once();
    test_as_positions();
    test_requests();
    test_pools();
    test_loads();
    test_seek();
    test_refusals();
    return done();
}
