/*
 * Changes that h5readbench proposes, from rows and runs made up here: what they say and
 * which parameters they set, which of them are named and in what order, which may be
 * tried. Nothing is read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/pool.h"
#include "libpack/base/rng.h"
#include "libpack/bench/bench_advice_parts.h"
#include "tests/tap.h"

enum { N = 1000, SIDE = 32 };

/* A dataset in chunks of 16 KiB, its run, and a row of the advisor's. */
struct made {
    struct pack_h5_dataset data;
    struct pack_readset_part part;
    struct pack_readset set;
    struct pack_bench_params params;
    struct bench_question question;
    struct pack_advise_outcome row;
};

static void
make(struct made *m, enum pack_advise_change change)
{
    memset(m, 0, sizeof *m);
    m->data.chunks.grid.chunk_bytes = 16 * SIDE * SIDE;
    m->data.file = m->data.data_file = (char *)"my faces.h5";
    m->data.path = (char *)"images";
    m->data.facts.layout = PACK_LAYOUT_CHUNKED;
    m->data.facts.type.bytes = 1;
    m->part.data = &m->data;
    m->set = (struct pack_readset){ .extent = { 3, { N, SIDE, SIDE } },
                                    .n_parts = 1,
                                    .parts = &m->part };
    m->params.set = &m->set;
    m->params.pattern.kind = PACK_PATTERN_SHUFFLE;
    m->question.now.cache = (struct pack_cache_params){ 521, 1 << 20, 0.75, 0 };
    m->row.change = change;
    m->row.config = (struct pack_advise_config){ .chunk = { 3, { 16, SIDE, SIDE } },
                                                 .codec = "none",
                                                 .cache = m->question.now.cache };
    m->row.config.pattern = m->params.pattern;
}

static void
says(const struct made *m, const char *what, const char *command)
{
    struct pack_bench_change c = { .gain = 2 };
    pack_bench_word(&m->params, &m->question, &m->row, &c);
    is_text(c.what, what, "what is to be done is said");
    is_text(c.command, command, "and how");
}

static void
test_settings(void)
{
    struct made m;
    struct pack_cache_params *cache = &m.row.config.cache;
    make(&m, PACK_ADVISE_SETTINGS);
    cache->size_bytes = 0;
    cache->n_slots = 1009;
    cache->w0 = 0.5;
    says(&m, "no chunk cache: HDF5 then reads just what is wanted", "{rdcc_nbytes} 0");
    cache->size_bytes = 16 * SIDE * SIDE - 1;
    says(&m, "a chunk cache of 16.0 KiB: nothing but what is wanted is read",
         "{rdcc_nbytes} 16383 {rdcc_nslots} 1009 {rdcc_w0} 0.5");
    cache->size_bytes++;
    cache->w0 = 0.75;
    says(&m, "a chunk cache of 16.0 KiB in each worker",
         "{rdcc_nbytes} 16384 {rdcc_nslots} 1009");
    cache->size_bytes = 1000;
    cache->n_slots = 521;
    m.data.facts.pipeline.n = 1;
    says(&m, "a chunk cache of 1000 B in each worker", "{rdcc_nbytes} 1000");
    cache->size_bytes = 1 << 20;
    cache->n_slots = 1009;
    says(&m, "a chunk cache of 1.0 MiB in each worker", "{rdcc_nslots} 1009");
    cache->n_slots = 521;
    cache->w0 = 0;
    says(&m, "a chunk cache of 1.0 MiB in each worker", "{rdcc_w0} 0");
}

static void
test_order(void)
{
    struct made m;
    make(&m, PACK_ADVISE_ORDER);
    m.row.config.pattern.kind = PACK_PATTERN_BLOCK;
    m.row.config.pattern.pool_chunks = 8;
    m.row.config.pattern.local = true;
    m.row.config.cache.size_bytes = 8 * 16 * SIDE * SIDE;
    says(&m, "block shuffle over 8 chunks, with a cache that holds them",
         "{pattern} block:chunks=8,local {rdcc_nbytes} 131072");
    m.row.config.cache.size_bytes--;
    m.row.config.pattern.local = false;
    says(&m, "block shuffle over 8 chunks", "{pattern} block:chunks=8 {rdcc_nbytes} 131071");
    m.row.config.cache.size_bytes = 1 << 20;
    m.row.config.pattern.pool_chunks = 1;
    says(&m, "block shuffle over 1 chunk, with a cache that holds them",
         "{pattern} block:chunks=1");
    m.data.chunks.grid.chunk_bytes = 0;
    says(&m, "block shuffle over 1 chunk", "{pattern} block:chunks=1");
}

#define RECHUNK "h5rechunk 'my faces.h5:/images' --chunk "

static void
test_rewrite(void)
{
    struct made m;
    struct pack_advise_config *config = &m.row.config;
    make(&m, PACK_ADVISE_REWRITE);
    config->chunk.extent[0] = 4;
    says(&m, "chunks of 4x32x32", RECHUNK "4x32x32 --compress none -o new.h5, then run again on it");
    strcpy(config->codec, "zstd:3");
    config->cache.size_bytes = 4 << 20;
    says(&m, "chunks of 4x32x32, zstd:3",
         RECHUNK "4x32x32 --compress zstd:3 -o new.h5, then run again on it with "
                 "{rdcc_nbytes} 4194304");
    config->pattern.kind = PACK_PATTERN_BLOCK;
    config->pattern.pool_chunks = 32;
    says(&m, "chunks of 4x32x32, zstd:3",
         RECHUNK "4x32x32 --compress zstd:3 -o new.h5, then run again on it with "
                 "{pattern} block:chunks=32 {rdcc_nbytes} 4194304");
    config->cache.size_bytes = 1 << 20;
    config->pattern.local = true;
    config->chunk.extent[0] = 1;
    says(&m, "chunks of one sample, zstd:3",
         RECHUNK "1x32x32 --compress zstd:3 -o new.h5, then run again on it with "
                 "{pattern} block:chunks=32,local");
    strcpy(config->codec, "none");
    config->pattern = m.params.pattern;
    struct pack_shape whole = config->chunk;
    uint64_t cache_bytes = config->cache.size_bytes;
    config->chunk = (struct pack_shape){ 0 };
    config->cache.size_bytes = 0; /* of no use there */
    says(&m, "no chunks: contiguous data", RECHUNK "none -o new.h5, then run again on it");
    config->chunk = whole;
    config->cache.size_bytes = cache_bytes;
    config->chunk.extent[2] = 16;
    says(&m, "chunks of 1x32x16", RECHUNK "1x32x16 --compress none -o new.h5, then run again on it");
    m.set.n_parts = 2;
    says(&m, "chunks of 1x32x16", RECHUNK "1x32x16 --compress none -o new.h5 "
         "(and the others, each into a file of its own), then run again on these");
    m.data.file = m.data.data_file = (char *)"{batch}.h5";
    says(&m, "chunks of 1x32x16", "h5rechunk FILE:/DATASET --chunk 1x32x16 --compress none -o new.h5 "
         "(and the others, each into a file of its own), then run again on these");
    m.data.data_file = (char *)"elsewhere.h5"; /* where h5rechunk does not reach */
    says(&m, "chunks of 1x32x16", "pack or repack with chunks of 1x32x16, then run again");
    strcpy(config->codec, "zstd:3");
    says(&m, "chunks of 1x32x16, zstd:3",
         "pack or repack with chunks of 1x32x16, compressed with zstd:3, then run again");
    strcpy(config->codec, "none");
    config->chunk = (struct pack_shape){ 0 };
    config->cache.size_bytes = 0;
    says(&m, "no chunks: contiguous data", "repack without chunks, then run again");
}

/* ------------------------------------------------------------------ ranking */

enum { KINDS = 6 };

/* The best of each kind, most gain first, by looking at all of them. */
static size_t
by_hand(const struct pack_bench_change *all, size_t n, const struct pack_bench_change **best)
{
    size_t n_best = 0;
    bool used[64] = { false };
    while (n_best < PACK_BENCH_CHANGES_MAX) {
        size_t at = n;
        for (size_t i = 0; i < n; i++)
            if (!used[i] && all[i].gain >= 1.05 && (at == n || all[i].gain > all[at].gain))
                at = i;
        if (at == n)
            return n_best;
        best[n_best++] = &all[at];
        for (size_t i = 0; i < n; i++)
            used[i] |= strcmp(all[i].kind, all[at].kind) == 0;
    }
    return n_best;
}

static void
test_rank(void)
{
    static const char *const kinds[KINDS] = { "settings", "order",  "rewrite",
                                              "workers",  "reopen", "batch" };
    struct pack_rng rng;
    int wrong = 0, n_full = 0;
    pack_rng_seed(&rng, 20261122);
    for (int round = 0; round < 2000; round++) {
        struct pack_bench_change all[16];
        const struct pack_bench_change *best[PACK_BENCH_CHANGES_MAX];
        struct pack_bench_advice advice = { .n = 0 };
        struct bench_ranking ranking = { .advice = &advice };
        size_t n = pack_rng_below(&rng, 16);
        for (size_t i = 0; i < n; i++) {
            all[i] = (struct pack_bench_change){ .kind = kinds[pack_rng_below(&rng, KINDS)] };
            all[i].gain = 0.9 + (double)pack_rng_below(&rng, 60) / 100;
            snprintf(all[i].what, sizeof all[i].what, "%zu", i);
            pack_bench_rank(&ranking, &all[i]);
        }
        size_t n_best = by_hand(all, n, best);
        bool same = advice.n == n_best;
        for (size_t i = 0; same && i < n_best; i++) /* of equals any */
            same = advice.change[i].gain == best[i]->gain;
        for (size_t i = 0; same && i + 1 < n_best; i++)
            for (size_t k = i + 1; k < n_best; k++)
                same = same && strcmp(advice.change[i].kind, advice.change[k].kind) != 0;
        wrong += !same;
        n_full += n_best == PACK_BENCH_CHANGES_MAX;
    }
    is_number(wrong, 0, "the three best are named, one of each kind, most gain first");
    ok(n_full > 500, "in %d of 2000 lists there are three", n_full);
    struct pack_bench_advice advice = { .n = 0 };
    struct bench_ranking ranking = { .advice = &advice };
    pack_bench_rank(&ranking, &(struct pack_bench_change){ .kind = "order", .gain = 1.0499 });
    ok(advice.n == 0, "what gains less than 5 %% is not named");
    pack_bench_rank(&ranking, &(struct pack_bench_change){ .kind = "order", .gain = 1.05 });
    ok(advice.n == 1, "5 %% are");
    pack_bench_rank(&ranking, &(struct pack_bench_change){ .kind = "batch", .gain = 1.05 });
    is_text(advice.change[0].kind, "order", "of equals the first stays in front");
}

/* ---------------------------------------------------------- what may be tried */

/* 10 batches of 100 samples that took half a second each. */
static void
test_can(void)
{
    const uint64_t half = 500 * 1000 * 1000;
    struct pack_bench_params p = { .pattern.read = PACK_READ_BATCH };
    struct pack_bench_result r = { .setup = { .engine = "hdf5", .consumer = "null" },
                                   .total = { .n_batches = 10, .n_samples = 1000 } };
    struct bench_question q = { .params.machine.is_warm = true };
    struct pack_bench_ask ask = { .no_trial = false };
    r.total.work.total_ns = 10 * half;
    r.total.work.read.call_ns = 8 * half;
    r.total.work.assemble_ns = 2 * half;
    ok(pack_bench_can_try(&p, &r, &q, &ask) && pack_bench_can_measure(&p, &r, &ask),
       "batches of half a second can be tried");
    r.total.work.total_ns += 10;
    r.total.work.assemble_ns += 10;
    ok(!pack_bench_can_try(&p, &r, &q, &ask) && !pack_bench_can_measure(&p, &r, &ask),
       "longer ones cannot");
    p.pattern.read = PACK_READ_SAMPLE;
    ok(!pack_bench_can_try(&p, &r, &q, &ask) && pack_bench_can_measure(&p, &r, &ask),
       "but be measured in smaller ones where samples are read one by one");
    r.total.work.read.call_ns = 998 * half;
    ok(pack_bench_can_measure(&p, &r, &ask), "unless a sample takes so long");
    r.total.work.assemble_ns = 2 * half + 1000;
    ok(!pack_bench_can_measure(&p, &r, &ask), "and that it is more than half a second");
    r.total.work.read.call_ns = r.total.work.assemble_ns = 0;
    r.total.work.total_ns = 10 * half;
    r.total.n_samples = r.total.n_batches = 0;
    ok(!pack_bench_can_try(&p, &r, &q, &ask) && !pack_bench_can_measure(&p, &r, &ask),
       "a run without batches says nothing about them");
    r.total.n_batches = 10;
    r.total.n_samples = 1000;
    q.params.machine.is_warm = false;
    ok(!pack_bench_can_try(&p, &r, &q, &ask) && pack_bench_can_measure(&p, &r, &ask),
       "nothing is tried on a file that lies on storage; copies can be measured");
    p.cold = true;
    ok(pack_bench_can_try(&p, &r, &q, &ask), "unless it is cold in each epoch, as it was asked");
    p.cold = false;
    q.params.machine.is_warm = true;
    r.setup.consumer = "cuda";
    ok(!pack_bench_can_try(&p, &r, &q, &ask) && !pack_bench_can_measure(&p, &r, &ask),
       "nor after CUDA was started");
    r.setup.consumer = "null";
    r.setup.engine = "images";
    ok(!pack_bench_can_try(&p, &r, &q, &ask) && !pack_bench_can_measure(&p, &r, &ask),
       "nor on images");
    r.setup.engine = "hdf5";
    ask.no_trial = true;
    ok(!pack_bench_can_try(&p, &r, &q, &ask) && !pack_bench_can_measure(&p, &r, &ask),
       "nor where nothing may be tried");
}

/* What a candidate gains is predicted as 2 in the first epoch, and as 2.2 or more in others. */
static void
test_tells(void)
{
    const struct bench_gain same = { 2, 2.19, 2.1, 0, 0 }, more = { 2, 2.21, 2.1, 0, 0 },
                            less = { 2, 1.79, 1.9, 0, 0 }, none = { 0 };
    struct pack_advise_outcome steady = { .first_samples = 50, .steady_samples = 100 },
                               filling = steady, unknown = { .first_samples = 0 };
    steady.first_cost.total_ns = 0.545; /* per sample 1.09 and 1.11 times as much */
    filling.first_cost.total_ns = 0.555;
    steady.steady_cost.total_ns = filling.steady_cost.total_ns = 1;
    struct bench_candidate c = { .saw_later = false };
    ok(pack_bench_tells_all(&filling, &same, &c) && pack_bench_tells_all(&filling, &none, &c),
       "a first epoch tells of others that gain as much, or of which nothing is known");
    ok(!pack_bench_tells_all(&steady, &more, &c) && !pack_bench_tells_all(&steady, &less, &c),
       "but not where they gain more or less");
    c.saw_later = true;
    ok(pack_bench_tells_all(&steady, &more, &c) && pack_bench_tells_all(&unknown, &more, &c) &&
           !pack_bench_tells_all(&filling, &more, &c),
       "they have to be seen, and today's too unless these are like the first");
    ok(!pack_bench_tells_all(&filling, &same, &c) && !pack_bench_tells_all(&filling, &none, &c),
       "nor are they compared with a first one");
    c.now_saw_later = true;
    ok(pack_bench_tells_all(&filling, &more, &c), "then all is told");
    c.saw_later = false;
    ok(!pack_bench_tells_all(&filling, &more, &c) && !pack_bench_tells_all(&filling, &same, &c) &&
           pack_bench_tells_all(&steady, &same, &c),
       "today's alone do not tell, but where all are alike");
}

/* ------------------------------------------------------------- a run's times */

/* A cold run of workers that share processors: 1000 samples in a second, of which each waited
 * 0.9 s. */
static struct pack_bench_result
cold_run(void)
{
    uint64_t n = 4 * pack_pool_default_threads();
    struct pack_bench_result r = { .setup = { .n_workers = n, .consumer = "null", .batch = 10,
                                              .epoch_samples = 10 },
                                   .verdict.limit = PACK_LIMIT_STORAGE,
                                   .steps.au = -1,
                                   .elapsed_ns = 1000 * 1000 * 1000 };
    struct pack_bench_work *w = &r.total.work;
    r.total.n_samples = 1000;
    r.total.n_batches = 100;
    r.total.wait_ns = r.elapsed_ns;
    w->total_ns = n * 1000000000;
    w->read.call_ns = w->read.storage_ns = n * 900000000;
    w->read.file_read_bytes = w->storage_bytes = 1 << 20;
    w->read.file_reads = 1000;
    w->knows_storage = true;
    return r;
}

static void
test_times(void)
{
    struct pack_bench_result r = cold_run();
    struct bench_times t = pack_bench_times(&r);
    ok(pack_bench_cycle_ns(&t) == 1e6 && t.read * t.wall_per_read == 1e6 && t.hdf5 < t.read &&
           t.hdf5 > 0.89 * t.read,
       "readers that wait for storage side by side take no longer than the run: %g", t.read);
}

static double
gain_of(const struct pack_bench_advice *advice, const char *kind)
{
    for (size_t i = 0; i < advice->n; i++)
        if (strcmp(advice->change[i].kind, kind) == 0)
            return advice->change[i].gain;
    return 0;
}

/* 5000 samples/s out of the page cache are 5 times what was read, unless 0.3 ms of each 1 ms are
 * the interpreter's and the labels'. */
static void
test_preload(void)
{
    struct made m;
    struct pack_bench_advice advice = { .n = 0 };
    struct bench_ranking ranking = { .advice = &advice, .warm_rate = 5000 };
    struct pack_bench_result r = cold_run();
    make(&m, PACK_ADVISE_KEEP);
    m.params.cold = true;
    pack_bench_remedies(&m.params, &r, &ranking);
    double gain = gain_of(&advice, "preload");
    ok(gain > 4.999 && gain < 5.001, "preloading gains what the advisor found: %g", gain);
    m.params.cold = false;
    advice.n = 0;
    pack_bench_remedies(&m.params, &r, &ranking);
    gain = gain_of(&advice, "preload");
    ok(fabs(gain - (5 + 29) / 30.0) < 1e-3 && advice.change[0].later_gain == 1 &&
           fabs(advice.change[0].first_gain - 5) < 1e-3,
       "in the first epoch, where pages stay: %g in a training", gain);
    m.params.cold = true;
    r.total.start_ns = 100 * 1000 * 1000;
    advice.n = 0;
    pack_bench_remedies(&m.params, &r, &ranking);
    gain = gain_of(&advice, "preload");
    ok(gain > 3.333 && gain < 3.334, "workers that are started anew start then, too: %g", gain);
    r.total.start_ns = 0;
    ranking.warm_rate = 0;
    advice.n = 0;
    pack_bench_remedies(&m.params, &r, &ranking);
    gain = gain_of(&advice, "preload");
    ok(gain > 5 && gain < 10.01,
       "where that is not known, storage is as fast as memory, in as many lanes: %g", gain);
    ranking.warm_rate = 5000;
    r.setup.n_workers = 1; /* as on any number of processors */
    r.total.work.total_ns = 1000 * 1000 * 1000;
    r.total.work.interpret_ns = 200 * 1000 * 1000;
    r.total.work.with.call_ns = 100 * 1000 * 1000;
    advice.n = 0;
    pack_bench_remedies(&m.params, &r, &ranking);
    gain = gain_of(&advice, "preload");
    ok(gain > 1.999 && gain < 2.001, "but for what is not reading: %g", gain);
    r.total.work.interpret_ns = r.total.work.with.call_ns = 0;
    ranking.warm_rate = 900;
    advice.n = 0;
    pack_bench_remedies(&m.params, &r, &ranking);
    ok(gain_of(&advice, "preload") == 0, "and nothing where it is no faster");
}

int
main(void)
{
    test_tells();
    test_times();
    test_preload();
    test_settings();
    test_order();
    test_rewrite();
    test_rank();
    test_can();
    return done();
}
