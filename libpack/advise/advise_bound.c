/*
 * What a configuration can reach at most, in closed form, so that hopeless ones need no
 * simulation. Every hit that could be, is; slots never collide; eviction never errs.
 *
 * With N chunks, C of them held, s samples per chunk and w workers, a request finds its
 * chunk in the cache with a probability of at most
 *
 *     shuffle, replacement  C / N, the chance that a uniformly drawn chunk is held
 *     block, C >= pool      1 - (1 - exp(-s/w)) w/s, see below
 *     block, C < pool       C / pool of that
 *     block, local          the same for w = 1
 *     sequential, buffer    1 - 1/s where C < N/w: every epoch a worker reads the same ones
 *     anything, C >= N      1
 *     weighted, trace       1: nothing is known
 *
 * Batches dealt to w workers leave each of them s/w of a chunk's samples on average, and
 * each worker loads each chunk that it touches at least once.
 */
#include <math.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/model/cost.h"

/* Expected chunks that a box touches, and contiguous runs copied out of them. */
static void
expected_touch(const struct pack_grid *grid, const struct pack_shape *box, double *chunks,
               double *runs)
{
    bool is_whole = true;
    *chunks = *runs = 1;
    for (int i = grid->rank - 1; i >= 0; i--) {
        double b = (double)box->extent[i], c = (double)grid->chunk[i];
        double touched = box->extent[i] == grid->extent[i] ? (double)grid->n_chunks[i]
                                                           : (b + c - 1) / c;
        *chunks *= touched;
        /* runs are cut where an inner axis is not read, or not stored, whole */
        *runs *= is_whole ? touched : fmax(b, touched);
        is_whole = is_whole && b == c;
        if (i == grid->rank - 1 && !is_whole)
            *runs = touched;
    }
}

static double
hit_bound(const struct pack_advise_params *params,
          const struct pack_advise_config *config, const struct pack_grid *grid)
{
    double held = floor((double)config->cache.size_bytes / (double)grid->chunk_bytes);
    double total = (double)grid->n_chunks_total;
    double workers = (double)pack_advise_workers(params);
    double per_chunk = fmax(1, (double)config->pattern.chunk_samples);
    double pool = fmax(1, (double)config->pattern.pool_chunks), share;
    if (held >= total)
        return 1;
    switch (config->pattern.kind) {
    case PACK_PATTERN_SHUFFLE:
    case PACK_PATTERN_REPLACEMENT: return held / total;
    case PACK_PATTERN_BLOCK:
        share = config->pattern.local ? per_chunk : per_chunk / workers;
        return (1 + expm1(-share) / share) * fmin(1, held / pool);
    case PACK_PATTERN_SEQUENTIAL:
    case PACK_PATTERN_BUFFER: return held < total / workers ? 1 - 1 / per_chunk : 1;
    default: return 1;
    }
}

/* Samples/s at a hit rate, `work` holding all that does not depend on it. */
static double
rate_of(const struct pack_advise_params *params, struct pack_cost_work *work,
        bool is_cached, bool is_filtered, double hits, double runs)
{
    struct pack_cache_counts *c = &work->counts;
    struct pack_cost cost;
    uint64_t workers = pack_advise_workers(params);
    double n = (double)work->n_reads;
    if (is_cached) {
        c->hits = (uint64_t)((double)c->requests * hits);
        c->loads = c->file_reads = c->requests - c->hits;
        c->decodes = is_filtered ? c->loads : 0;
        c->file_read_bytes = (uint64_t)((double)c->loads * work->stored_bytes);
    } else {
        c->bypass_visits = c->requests;
        c->file_reads = (uint64_t)(n * runs);
        c->file_read_bytes = c->wanted_bytes;
    }
    pack_cost_estimate(params->machine.profile, work, workers, &cost);
    return pack_cost_rate(params->machine.profile, &cost, n, workers);
}

enum pack_status
pack_advise_bound(const struct pack_advise_params *params,
                  const struct pack_advise_config *config,
                  struct pack_advise_outcome *bound, struct pack_error *err)
{
    struct pack_advise_config filled = *config;
    struct pack_grid grid;
    struct pack_shape box;
    uint64_t workers = pack_advise_workers(params);
    double chunks, runs, wanted = pack_advise_wanted_bytes(params);
    const double n = 1e6; /* reads, so that rounding to whole counts does not matter */
    *bound = (struct pack_advise_outcome){ .config = *config };
    if (config->chunk.rank == 0 || config->is_virtual) { /* evaluated as it is */
        bound->rate = HUGE_VAL;
        return PACK_OK;
    }
    enum pack_status status = pack_advise_grid(params, &config->chunk, &grid, err);
    if (status != PACK_OK)
        return status;
    pack_advise_pattern(params, config, &filled.pattern);
    pack_advise_box(params, &box);
    expected_touch(&grid, &box, &chunks, &runs);
    bool is_filtered = strcmp(config->codec, "none") != 0;
    bool is_held = grid.chunk_bytes <= config->cache.size_bytes && config->cache.n_slots;
    double hits = is_held ? hit_bound(params, &filled, &grid) : 0;
    struct pack_cost_work work = {
        .n_reads = (uint64_t)n,
        .n_runs = n * runs,
        .n_boxes = n,
        .n_again = n * chunks, /* from nearby, at best */
        .chunk_bytes = grid.chunk_bytes,
        .stored_bytes = (double)grid.chunk_bytes * config->stored_rate,
        .held_bytes = fmin((double)config->cache.size_bytes,
                           (double)grid.n_chunks_total * (double)grid.chunk_bytes),
        .batch_bytes = pack_advise_batch_bytes(params),
        .decode_ns = config->decode_ns,
        .is_sequential = config->pattern.kind == PACK_PATTERN_SEQUENTIAL ||
                         config->pattern.kind == PACK_PATTERN_BUFFER,
    };
    work.counts.requests = (uint64_t)(n * chunks);
    work.counts.wanted_bytes = (uint64_t)(n * wanted);
    bound->file_bytes =
        (double)grid.n_chunks_total * (double)grid.chunk_bytes * config->stored_rate;
    bound->memory_bytes = 0;
    if (is_held)
        bound->memory_bytes = (work.held_bytes + 8 * (double)config->cache.n_slots) *
                              (double)pack_advise_workers(params);
    double ram = (double)params->machine.ram_bytes - bound->memory_bytes;
    work.page_cache_rate =
        ram >= bound->file_bytes ? 1 : fmax(0, ram) / bound->file_bytes;
    double step = params->reading.pattern.step ? (double)params->reading.pattern.step : 1;
    double share = ((double)grid.chunk[0] + (double)box.extent[0] - 1) / step;
    if (!config->pattern.local)
        share /= (double)workers;
    if (params->reading.pattern.draws)
        share = HUGE_VAL; /* more or less than one epoch's worth: nothing is known */
    double cold = hits; /* each chunk is loaded once, to begin with */
    if (share < HUGE_VAL)
        cold = fmin(hits, 1 + expm1(-share) / share);
    if (params->reading.workers_end)
        hits = cold;
    bound->later_rate =
        rate_of(params, &work, is_filtered || is_held, is_filtered, hits, runs);
    hits = cold;
    work.page_cache_rate = 1;
    bound->first_rate =
        rate_of(params, &work, is_filtered || is_held, is_filtered, hits, runs);
    if (!params->machine.is_warm && !params->reading.pattern.draws &&
        work.counts.file_read_bytes) {
        /* ... and comes from storage then */
        double samples = (double)params->data.extent.extent[0] / step / n;
        double read = samples * (double)work.counts.file_read_bytes;
        work.page_cache_rate = 1 - fmin(1, bound->file_bytes / read);
        bound->first_rate =
            rate_of(params, &work, is_filtered || is_held, is_filtered, hits, runs);
    }
    bound->rate = pack_advise_mean_rate(params, bound->first_rate, bound->later_rate);
    return PACK_OK;
}
