/*
 * Changes worth trying: those of chunks, cache, order and workers; bench_remedy.c has the
 * others. Each candidate is sent through the simulator, as far as the run went, and so is
 * the run itself; what a sample costs is then what was measured, scaled stage by stage
 * with the simulated counts:
 *
 *     storage   a fixed time per read, the rest with the bytes read
 *     decode    with the chunks decoded
 *     calls     a fixed time per call and wanted byte, the rest with the bytes of chunks
 *               loaded (the library allocates and frees each)
 *     assembly  as it was
 *
 * Readers and consumer then overlap, or follow one another when reading is in line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/pool.h"

enum { SIMULATED_SAMPLES_MAX = 400000, CANDIDATES_MAX = 16, SLOTS_FOR_MANY = 12421 };

/* Measured on the machines this was written on; only their order of magnitude matters. */
static const double read_ns = 1500, call_ns = 2500, copy_ns_per_byte = 0.08;

enum kind { KIND_CACHE, KIND_ORDER, KIND_CHUNK, KIND_WORKERS, KIND_REOPEN };

struct way { /* to store and to read the set */
    struct pack_shape chunk;
    struct pack_cache_params cache;
    struct pack_pattern pattern;
    uint64_t n_workers;
    bool reopen;
};

struct candidate {
    enum kind kind;
    struct way way;
    struct pack_bench_change change;
};

struct advisor {
    const struct pack_bench_params *params;
    const struct pack_bench_result *result;
    const struct pack_facts *facts;
    struct way now;
    struct pack_cache_counts now_counts;
    double slowness;
    struct candidate candidate[CANDIDATES_MAX];
    size_t n_candidates;
};

static uint64_t
lanes(uint64_t n_workers)
{
    return n_workers ? n_workers : 1;
}

/* What worker 0 of a way would do in the epochs and samples that the run had. */
static enum pack_status
simulate(const struct advisor *a, const struct way *way, struct pack_cache_counts *counts,
         uint64_t *n_samples, struct pack_error *err)
{
    const struct pack_readset *set = a->params->set;
    const struct pack_facts *facts = a->facts;
    struct pack_cachesim_params params = {
        .cache = way->cache,
        .filtered = facts->pipeline.n > 0,
        .edge_unfiltered = facts->edge_chunks_unfiltered,
        .stored_ratio = facts->stored_bytes && facts->chunk_bytes
                            ? (double)facts->stored_bytes /
                                  (double)(facts->chunk_bytes * facts->n_chunks_total)
                            : 1,
    };
    struct pack_pattern pattern = way->pattern;
    struct pack_grid grid;
    struct pack_pattern_iter *iter = NULL;
    struct pack_cachesim *sim = NULL;
    uint64_t most = a->result->total.n_samples / lanes(way->n_workers);
    pattern.extent = set->extent;
    pattern.workers = lanes(way->n_workers);
    pattern.chunk_samples = way->chunk.extent[0];
    *n_samples = 0;
    enum pack_status status =
        pack_grid_init(&grid, &set->extent, &way->chunk, set->elem_size, err);
    if (status == PACK_OK)
        status = pack_pattern_new(&pattern, &iter, err);
    if (status == PACK_OK)
        status = pack_cachesim_new(&grid, &params, &sim, err);
    if (most > SIMULATED_SAMPLES_MAX)
        most = SIMULATED_SAMPLES_MAX;
    for (uint64_t e = 0; e < a->result->n_epochs && status == PACK_OK; e++) {
        struct pack_request request;
        if (a->params->fresh_workers && way->n_workers > 0)
            pack_cachesim_reopen(sim);
        status = pack_pattern_seek(iter, pattern.epoch + e, 0, err);
        while (status == PACK_OK && *n_samples < most &&
               pack_pattern_next(iter, &request)) {
            if (way->reopen)
                pack_cachesim_reopen(sim);
            status = pack_cachesim_read_boxes(sim, request.boxes, request.n_boxes, err);
            *n_samples += request.n_samples;
        }
    }
    if (status == PACK_OK)
        pack_cachesim_counts(sim, counts);
    pack_cachesim_free(sim);
    pack_pattern_free(iter);
    return status;
}

static double
ratio(double a, double b)
{
    return b > 0 ? a / b : 1;
}

/* Reading time of one sample in one worker, ns. */
static double
sample_ns(const struct advisor *a, const struct way *way,
          const struct pack_cache_counts *c, double n)
{
    const struct pack_bench_epoch *t = &a->result->total;
    const struct pack_cache_counts *b = &a->now_counts;
    double samples = (double)t->n_samples;
    double storage = (double)(t->read.storage_ns + t->read.metadata_ns) / samples;
    double decode = (double)t->read.decode_ns / samples;
    double calls = (double)t->read.overhead_ns / samples;
    double reopen = way->reopen ? (double)t->read.reopen_ns / samples : 0;
    double assembly = (double)(t->work_ns - t->read.call_ns) / samples;
    double reads_now = (double)t->read.file_reads / samples;
    double fixed = read_ns * reads_now < storage / 2 ? read_ns : storage / 2 / reads_now;
    double base = call_ns * (double)t->read.calls / samples +
                  copy_ns_per_byte * (double)t->read.wanted_bytes / samples;
    double now_n = (double)t->n_samples / lanes(a->now.n_workers);
    if (now_n > SIMULATED_SAMPLES_MAX)
        now_n = SIMULATED_SAMPLES_MAX;
    double bytes =
        ratio((double)c->file_read_bytes / n, (double)b->file_read_bytes / now_n);
    double decodes =
        b->decodes ? ratio((double)c->decodes / n, (double)b->decodes / now_n) : 1;
    double loads = b->loads ? bytes : 1;
    if (base > calls)
        base = calls;
    if (reads_now <= 0)
        fixed = 0;
    return fixed * (double)c->file_reads / n + (storage - fixed * reads_now) * bytes +
           decode * decodes + base + (calls - base) * loads + reopen + assembly;
}

/* What the consumer needs for one fresh sample, ns. */
static double
consume_ns(const struct advisor *a)
{
    const struct pack_bench_steps *s = &a->result->steps;
    double step = s->n_steps > 1 ? (double)s->busy_ns / (double)(s->n_steps - 1) : 0;
    return step * ratio((double)s->n_steps, (double)a->result->total.n_samples);
}

/* Reading time of one sample when a way's workers share the processors, ns. */
static double
shared_ns(const struct advisor *a, const struct way *way,
          const struct pack_cache_counts *c, double n)
{
    uint64_t cpus = pack_pool_default_threads(), n_workers = way->n_workers;
    return sample_ns(a, way, c, n) / (double)lanes(n_workers < cpus ? n_workers : cpus);
}

/*
 * The readers' wall time over shared_ns(), at least 1: batches are taken in order, so a
 * slow one holds up those behind it, and other programs take their share. Not to be seen
 * when the readers were not what the run waited for.
 */
static double
slowness(const struct advisor *a, double n)
{
    double wall = (double)a->result->elapsed_ns / (double)a->result->total.n_samples;
    double consume = consume_ns(a), read = shared_ns(a, &a->now, &a->now_counts, n);
    if (a->now.n_workers == 0)
        wall -= consume;
    else if (wall < 1.1 * consume)
        return 1;
    return wall > read && read > 0 ? wall / read : 1;
}

/* Fresh samples per second of readers and consumer together. */
static double
rate_of(const struct advisor *a, const struct way *way, const struct pack_cache_counts *c,
        double n)
{
    double consume = consume_ns(a);
    double read = shared_ns(a, way, c, n) * a->slowness;
    if (way->n_workers == 0)
        return 1e9 / (read + consume);
    return 1e9 / (read > consume ? read : consume);
}

/* ------------------------------------------------------------- candidates */

static struct candidate *
propose(struct advisor *a, enum kind kind)
{
    if (a->n_candidates == CANDIDATES_MAX)
        return NULL;
    struct candidate *c = &a->candidate[a->n_candidates++];
    *c = (struct candidate){ .kind = kind, .way = a->now };
    return c;
}

static void
propose_cache(struct advisor *a, uint64_t bytes, uint64_t n_slots)
{
    char text[PACK_BYTES_TEXT_MAX];
    struct candidate *c = propose(a, KIND_CACHE);
    if (!c)
        return;
    c->way.cache.size_bytes = bytes;
    if (n_slots)
        c->way.cache.n_slots = n_slots;
    if (bytes == 0)
        snprintf(c->change.what, sizeof c->change.what,
                 "no chunk cache: HDF5 then reads just what is wanted");
    else
        snprintf(c->change.what, sizeof c->change.what,
                 "a chunk cache of %s in each worker", pack_bytes_format(bytes, text));
    int used = snprintf(c->change.command, sizeof c->change.command,
                        "--rdcc-nbytes %" PRIu64, bytes);
    if (n_slots && n_slots != a->now.cache.n_slots)
        snprintf(c->change.command + used, sizeof c->change.command - (size_t)used,
                 " --rdcc-nslots %" PRIu64, n_slots);
}

static void
propose_caches(struct advisor *a, const struct pack_grid *grid)
{
    uint64_t whole = grid->chunk_bytes * grid->n_chunks_total;
    uint64_t limit = UINT64_C(2) << 30;
    if (a->facts->pipeline.n == 0 && grid->chunk_bytes <= a->now.cache.size_bytes)
        propose_cache(a, 0, 0);
    for (uint64_t n = 4; n <= 1024; n *= 16)
        if (grid->chunk_bytes * n > a->now.cache.size_bytes &&
            grid->chunk_bytes * n < whole &&
            grid->chunk_bytes * n * lanes(a->now.n_workers) <= limit)
            propose_cache(a, grid->chunk_bytes * n, 0);
    if (whole > a->now.cache.size_bytes && whole * lanes(a->now.n_workers) <= limit)
        propose_cache(a, whole, SLOTS_FOR_MANY);
}

static void
propose_block(struct advisor *a, const struct pack_grid *grid)
{
    enum { POOL = 32 };
    if (grid->chunk[0] < 2 || a->now.pattern.kind != PACK_PATTERN_SHUFFLE)
        return;
    uint64_t chunks = 1;
    for (int i = 1; i < grid->rank; i++)
        chunks *= grid->n_chunks[i];
    uint64_t bytes = grid->chunk_bytes * chunks * (POOL + 1);
    struct candidate *c = propose(a, KIND_ORDER);
    if (!c)
        return;
    c->way.pattern.kind = PACK_PATTERN_BLOCK;
    c->way.pattern.pool_chunks = POOL;
    c->way.pattern.local = lanes(a->now.n_workers) > 1;
    if (bytes > c->way.cache.size_bytes)
        c->way.cache.size_bytes = bytes;
    snprintf(c->change.what, sizeof c->change.what,
             "block shuffle over %d chunks, with a cache that holds them", POOL);
    snprintf(c->change.command, sizeof c->change.command,
             "--pattern block:chunks=%d%s --rdcc-nbytes %" PRIu64, POOL,
             c->way.pattern.local ? ",local" : "", c->way.cache.size_bytes);
}

static void
propose_chunk(struct advisor *a, const struct pack_grid *grid)
{
    char text[PACK_SHAPE_TEXT_MAX];
    struct pack_shape one = a->params->set->extent;
    one.extent[0] = 1;
    if (a->now.pattern.box.rank || pack_shape_equal(&one, &a->now.chunk) ||
        a->now.pattern.kind == PACK_PATTERN_SEQUENTIAL || grid->rank < 2)
        return;
    struct candidate *c = propose(a, KIND_CHUNK);
    if (!c)
        return;
    c->way.chunk = one;
    snprintf(c->change.what, sizeof c->change.what, "chunks of one sample");
    snprintf(c->change.command, sizeof c->change.command,
             "pack or repack with chunks of %s, then run again",
             pack_shape_format(&one, text));
}

static void
propose_workers(struct advisor *a, const struct pack_grid *grid)
{
    (void)grid;
    uint64_t cpus = pack_pool_default_threads();
    if (a->now.n_workers >= cpus)
        return;
    struct candidate *c = propose(a, KIND_WORKERS);
    if (!c)
        return;
    c->way.n_workers = cpus;
    snprintf(c->change.what, sizeof c->change.what, "%" PRIu64 " workers", cpus);
    snprintf(c->change.command, sizeof c->change.command, "--workers %" PRIu64, cpus);
}

static void
propose_reopen(struct advisor *a, const struct pack_grid *grid)
{
    (void)grid;
    struct candidate *c = a->now.reopen ? propose(a, KIND_REOPEN) : NULL;
    if (!c)
        return;
    c->way.reopen = false;
    snprintf(c->change.what, sizeof c->change.what, "opening the dataset once");
    snprintf(c->change.command, sizeof c->change.command, "leave --reopen away");
}

/* ------------------------------------------------------------------ judging */

static enum pack_status
judge_candidates(struct advisor *a, double now_rate, struct bench_ranking *ranking,
                 struct pack_error *err)
{
    for (size_t i = 0; i < a->n_candidates; i++) {
        struct candidate *c = &a->candidate[i];
        struct pack_cache_counts counts;
        uint64_t n;
        enum pack_status status = simulate(a, &c->way, &counts, &n, err);
        if (status != PACK_OK)
            return status;
        if (n == 0)
            continue;
        double rate = rate_of(a, &c->way, &counts, (double)n);
        c->change.gain = ratio(rate, now_rate);
        pack_bench_rank(ranking, (int)c->kind, &c->change);
    }
    return PACK_OK;
}

/* Each looks at one thing that could be different, and proposes none or more. */
static void (*const proposals[])(struct advisor *a, const struct pack_grid *grid) = {
    propose_caches, propose_block, propose_chunk, propose_workers, propose_reopen,
};

/* The changes that need the simulator. */
static enum pack_status
advise_chunks(const struct pack_bench_params *params,
              const struct pack_bench_result *result, struct bench_ranking *ranking,
              struct pack_error *err)
{
    struct advisor *a = calloc(1, sizeof *a);
    uint64_t n = 0;
    if (!a)
        return pack_fail_memory(err, "advice");
    a->params = params;
    a->result = result;
    a->facts = &params->set->parts[0].facts;
    a->now = (struct way){ .chunk = a->facts->chunk,
                           .cache = result->cache,
                           .pattern = params->pattern,
                           .n_workers = result->n_workers,
                           .reopen = params->reopen };
    enum pack_status status = simulate(a, &a->now, &a->now_counts, &n, err);
    if (status == PACK_OK && n > 0) {
        a->slowness = slowness(a, (double)n);
        double now_rate = rate_of(a, &a->now, &a->now_counts, (double)n);
        for (size_t i = 0; i < sizeof proposals / sizeof *proposals; i++)
            proposals[i](a, &params->set->parts[0].grid);
        status = judge_candidates(a, now_rate, ranking, err);
    }
    free(a);
    return status;
}

enum pack_status
pack_bench_advise(const struct pack_bench_params *params,
                  const struct pack_bench_result *result,
                  struct pack_bench_advice *advice, struct pack_error *err)
{
    struct bench_ranking ranking = { .advice = advice };
    enum pack_status status = PACK_OK;
    *advice = (struct pack_bench_advice){ 0 };
    if (result->total.n_samples == 0 || result->limit == PACK_LIMIT_CONSUMER)
        return PACK_OK;
    if (params->set && result->has_cache && result->total.has_counts &&
        params->pattern.kind != PACK_PATTERN_TRACE)
        status = advise_chunks(params, result, &ranking, err);
    if (status == PACK_OK)
        pack_bench_remedies(params, result, &ranking);
    return status;
}
