/*
 * What the model says is right in its counts; its times are of some machine at some
 * moment. So the same reads are done for real, briefly, and
 *
 *     rate = modelled for the whole dataset * (measured / modelled) for the copy
 *
 * stands for each row, first and later epochs apart: the model carries the counts from
 * the copy to the whole (a cache that holds a tenth of the copy is a tenth of the
 * dataset's), the measurement carries all that counts leave out: fresh memory, the
 * allocator, processes that share a memory bus. Pages of the file and of each copy are
 * timed in turns, as theirs may be of another size; today's settings are read on the file
 * too, in turns with all copies where it lies in the page cache, and what they give there
 * beyond that is taken to lie in its pages the more these take of their time, else to differ
 * for all rows alike.
 */
#include "libpack/bench/measure_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/clock.h"
#include "libpack/bench/procs.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/model/cost.h"

enum {
    ROUNDS_MIN = 9 + PACK_TRIAL_FRESH, /* an outlier does not make the interval of 95 % */
    PROOF_ROUNDS = 11 + PACK_TRIAL_FRESH,
    BATCHES_MIN = 8, /* of each worker in a slice */
    SLOW_BATCHES = 4,          /* ... where they cannot be made smaller */
    SLOW_ROUNDS = 6 + PACK_TRIAL_FRESH,
    BATCHES_BYTES = 128 << 20, /* of all workers together */
    SMALL_CACHE = 16 << 20     /* not made smaller for a smaller copy */
};
static const uint64_t slice_ns = 200 * 1000 * 1000, proof_slice_ns = 400 * 1000 * 1000,
                      budget_ns = 5000 * 1000 * 1000u;
static const double in_race = 0.5, /* of the best measured rate: worth reading again */
    slower = 2.5;                  /* times as long as usual, at most */

/* ------------------------------------------------------------- what is read */

void
pack_measure_cut_batch(const struct pack_advise_params *params, double rate, uint64_t slice,
                       struct pack_advise_config *config)
{
    uint64_t workers = pack_advise_workers(params);
    double samples = rate * (double)slice / 1e9 / (double)workers / BATCHES_MIN;
    double room = BATCHES_BYTES / (pack_advise_wanted_bytes(params) * 3 * (double)workers);
    samples = fmin(samples, room);
    if (config->pattern.read == PACK_READ_SAMPLE && samples < (double)config->pattern.batch)
        config->pattern.batch = (uint64_t)fmax(1, samples);
}

uint64_t
pack_measure_slice(const struct pack_advise_params *params, double rate, uint64_t slice,
                   const struct pack_advise_config *config)
{
    double some_ns = rate > 0 ? SLOW_BATCHES * (double)config->pattern.batch * 1e9 *
                                    (double)pack_advise_workers(params) / rate
                              : 0;
    return some_ns < (double)slice ? slice : (uint64_t)fmin(slower * (double)slice, some_ns);
}

void
pack_measure_run(const struct pack_advise_params *params,
                 const struct pack_advise_config *config, const struct pack_readset *set,
                 struct pack_bench_params *run)
{
    *run = (struct pack_bench_params){
        .set = set,
        .pattern = config->pattern,
        .workers.n = params->reading.pattern.workers,
        .open.set_cache = config->chunk.rank != 0,
        .open.cache = config->cache,
        .open.reopen = config->reopen,
        .workers.fresh = params->reading.workers_end,
    };
    run->pattern.extent.rank = 0; /* the set's */
}

double
pack_measure_bound(const struct pack_advise_outcome *o, const struct pack_cost *cost,
                   double samples, double rate)
{
    double epoch_ns = cost->total_ns * o->worker_samples / samples;
    return epoch_ns > 0 ? fmin(rate, o->epoch_samples * 1e9 / epoch_ns) : rate;
}

/* Samples/s of reads that wait for no storage, as those of a copy. */
static double
unstored_rate(const struct pack_advise_params *params, const struct pack_advise_outcome *o)
{
    struct pack_cost cost = o->first_cost;
    cost.storage_ns = 0;
    cost.total_ns = cost.cpu_ns;
    return pack_cost_rate(params->machine.profile, &cost, o->first_samples,
                          pack_advise_workers(params));
}

/* For the first `first_samples` of all workers together, and for later epochs; with the
 * library that is here, whichever was asked about. */
enum pack_status
pack_measure_model(const struct pack_advise_params *params,
                   const struct pack_advise_config *config, uint64_t first_samples,
                   struct measure_expected *e, struct pack_error *err)
{
    uint64_t workers = pack_advise_workers(params);
    struct pack_advise_params here = *params;
    struct pack_advise_config as_read = *config;
    struct pack_advise_outcome o;
    char version[PACK_HDF5_VERSION_TEXT_MAX];
    (void)pack_hdf5_version_parse(pack_probe_hdf5_version(version), &here.cache.version,
                                  NULL);
    as_read.cache.version = here.cache.version;
    enum pack_status status = pack_advise_evaluate(
        &here, &as_read, first_samples ? (first_samples + workers - 1) / workers : 0, &o, err);
    if (status == PACK_OK && !o.is_exact && (double)first_samples >= o.epoch_samples)
        status = pack_advise_evaluate(&here, &as_read, 0, &o, err); /* the busiest had more */
    if (status != PACK_OK)
        return status;
    *e = (struct measure_expected){ .first = o.first_rate,
                            .later = o.later_rate,
                            .first_samples = o.first_samples,
                            .later_samples = o.steady_samples,
                            .first_cost = o.first_cost,
                            .later_cost = o.steady_cost,
                            .epoch_samples = o.epoch_samples };
    if (!o.is_exact) {
        e->first = pack_advise_begun(&here, &o, &e->first_cost, &e->first_samples);
        return PACK_OK;
    }
    e->first = pack_measure_bound(&o, &e->first_cost, e->first_samples, e->first);
    e->later = pack_measure_bound(&o, &e->later_cost, e->later_samples, e->later);
    return PACK_OK;
}

enum pack_status
pack_measure_model_told(const struct pack_advise_params *params,
                        const struct pack_advise_config *config, uint64_t n_epochs,
                        struct measure_expected *e, struct pack_error *err)
{
    struct pack_advise_params told = *params;
    struct measure_expected before;
    told.reading.epochs = n_epochs;
    enum pack_status status = pack_measure_model(&told, config, 0, e, err);
    told.reading.epochs = n_epochs / 2;
    if (status != PACK_OK || told.reading.epochs < 2)
        return status; /* all but the first */
    status = pack_measure_model(&told, config, 0, &before, err);
    if (status != PACK_OK || before.later_samples >= e->later_samples)
        return status;
    const struct pack_profile *profile = params->machine.profile;
    uint64_t workers = pack_advise_workers(params);
    double bound = e->later / pack_cost_rate(profile, &e->later_cost, e->later_samples, workers);
    pack_cost_add(&e->later_cost, &before.later_cost, -1);
    e->later_samples -= before.later_samples;
    e->later = bound * pack_cost_rate(profile, &e->later_cost, e->later_samples, workers);
    return PACK_OK;
}

/* Three batches of each worker are in memory; those that are read at once cannot be cut, others
 * to one sample. */
static bool
batches_fit(const struct pack_advise_params *params)
{
    const struct pack_pattern *p = &params->reading.pattern;
    uint64_t free_bytes, n = p->read == PACK_READ_SAMPLE ? 1 : p->batch;
    if (!pack_system_memory_bytes(&free_bytes))
        return true;
    return pack_advise_wanted_bytes(params) * (double)n * 3 *
               (double)pack_advise_workers(params) <=
           (double)free_bytes / 4;
}

bool
pack_measure_may_read(const struct pack_advise_params *params, struct pack_measured *m)
{
    const char *why = NULL;
    if (params->reading.pattern.kind == PACK_PATTERN_TRACE)
        why = "a trace is of the dataset as it is, no part of it stands for all";
    else if (params->data.extent.rank == 0)
        why = "a single value has no samples";
    else if (params->reading.pattern.workers > PACK_PROCS_MAX)
        why = "so many workers are not started here";
    else if (!batches_fit(params))
        why = params->reading.pattern.read == PACK_READ_SAMPLE
                  ? "three samples of each worker would take more than a quarter of memory"
                  : "batches that are read at once would take more than a quarter of memory";
    if (why)
        pack_measure_note(m, "nothing could be read", why);
    return !why;
}

bool
pack_measure_is_fatal(enum pack_status status)
{
    return status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED;
}

/* --------------------------------------------------------------- the rows */

void
pack_measure_shrink_cache(const struct measure_rows *rows,
                          struct measure_candidate *candidate)
{
    struct pack_cache_params *cache = &candidate->config.cache;
    double part = (double)rows->layouts[candidate->layout].set->extent.extent[0] /
                  (double)rows->params->data.extent.extent[0];
    uint64_t chunk_bytes = rows->params->data.elem_size, least = SMALL_CACHE;
    for (int i = 0; i < candidate->config.chunk.rank; i++)
        chunk_bytes *=
            candidate->config.chunk.extent[i]; /* fits, as a grid of it was made */
    if (least < chunk_bytes && chunk_bytes <= cache->size_bytes)
        least = chunk_bytes;
    if (cache->size_bytes <= least ||
        candidate->config.pattern.kind == PACK_PATTERN_BLOCK)
        return;
    cache->size_bytes = (uint64_t)ceil((double)cache->size_bytes * part);
    if (cache->size_bytes < least)
        cache->size_bytes = least;
}

/* Whether a cache that is filled beforehand is what it will be: full of what comes next, or of all
 * that there is. */
static bool
may_fill(const struct measure_rows *rows, const struct measure_candidate *candidate)
{
    const struct pack_readset *set = rows->layouts[candidate->layout].set;
    return candidate->config.pattern.kind != PACK_PATTERN_BLOCK ||
           candidate->config.cache.size_bytes / set->sample_bytes >= set->extent.extent[0];
}

/* Whether slices would end before the cache holds what it does in later epochs: it is large, or
 * the first epoch, which loads more than twice as much as they do, is so slow. */
static bool
fills_long(const struct measure_rows *rows, const struct measure_candidate *candidate)
{
    const struct pack_advise_outcome *o = candidate->row;
    const uint64_t most_ns = rows->how->prove ? proof_slice_ns : slice_ns;
    double n = (double)rows->layouts[candidate->layout].set->extent.extent[0];
    return candidate->config.cache.size_bytes >= SMALL_CACHE ||
           ((double)o->first.loads / o->first_samples >
                2 * (double)o->steady.loads / o->steady_samples &&
            2 * n * 1e9 > unstored_rate(rows->params, o) * (double)most_ns);
}

bool
pack_measure_is_preloaded(const struct measure_rows *rows,
                          const struct measure_candidate *candidate)
{
    return fills_long(rows, candidate) && candidate->config.chunk.rank &&
           candidate->row->hit_rate > 0 &&
           !candidate->config.is_virtual && /* which has a cache for each source */
           may_fill(rows, candidate) &&
           !rows->params->reading.workers_end;
}

/* Whether today's settings are read on the file in turns with the copies: what machines do
 * from one second to the next would else stand between file and copy. */
static bool
is_beside(const struct measure_rows *rows)
{
    const struct measure_candidate *now = &rows->candidates[0];
    return now->row->is_now && rows->measured->has_now && rows->measured->is_held &&
           rows->layouts[now->layout].scratch && !rows->bench[0].preload;
}

/* One more run behind those of the candidates. */
static void
add_file(struct measure_rows *rows, const struct measure_file *file, uint64_t slice)
{
    struct pack_bench_params *run = &rows->bench[rows->n_candidates];
    struct pack_advise_config config = *rows->params->now;
    pack_measure_cut_batch(rows->params, rows->measured->now_later, slice, &config);
    pack_measure_run(rows->params, &config, file->set, run);
    run->with = file->with;
    rows->is_beside = true;
}

static enum pack_status
read_in_turns(struct measure_rows *rows, const struct pack_trial_params *trial,
              struct pack_measured *m, struct pack_error *err)
{
    struct measure_file file = { .set = NULL };
    struct pack_trial_params in_turns = *trial;
    size_t n = rows->n_candidates;
    if (is_beside(rows) && pack_measure_open(rows->how, &file, NULL) == PACK_OK)
        add_file(rows, &file, trial->slice_ns);
    if (rows->is_beside)
        in_turns.always = n;
    enum pack_status status = pack_trial_run(rows->bench, n + rows->is_beside, &in_turns,
                                             rows->results, err);
    rows->is_beside = rows->is_beside && rows->results[n].first_rate > 0;
    if (status == PACK_OK && rows->is_beside) {
        struct pack_advise_config as_read = *rows->params->now;
        as_read.pattern.batch = rows->bench[n].pattern.batch;
        status = pack_measure_take_now(rows->params, &as_read, &rows->results[n], m, err);
    }
    pack_measure_close_file(&file);
    return status;
}

static enum pack_status
read_all(struct measure_rows *rows, struct pack_measured *m, struct pack_error *err)
{
    const struct pack_measure_params *how = rows->how;
    const uint64_t usual_ns = how->prove ? proof_slice_ns : slice_ns;
    struct pack_trial_params trial = { .slice_ns = usual_ns,
                                       .rounds_min = how->prove ? PROOF_ROUNDS : ROUNDS_MIN,
                                       .rounds_max = how->prove ? PROOF_ROUNDS : 0,
                                       .race = in_race,
                                       .is_resident = true, /* copies */
                                       .budget_ns =
                                           how->budget_ns ? how->budget_ns : budget_ns,
                                       .watch = how->watch };
    if (rows->params->now && !rows->candidates[0].row->is_now)
        return PACK_OK; /* its copy failed: nothing to compare with */
    for (size_t i = 0; i < rows->n_candidates; i++) {
        struct measure_candidate *candidate = &rows->candidates[i];
        pack_measure_shrink_cache(rows, candidate);
        pack_measure_cut_batch(rows->params, candidate->row->rate, usual_ns,
                               &candidate->config);
        uint64_t needed_ns =
            pack_measure_slice(rows->params, unstored_rate(rows->params, candidate->row),
                               usual_ns, &candidate->config);
        if (needed_ns > trial.slice_ns)
            trial.slice_ns = needed_ns;
        pack_measure_run(rows->params, &candidate->config,
                         rows->layouts[candidate->layout].set, &rows->bench[i]);
        rows->bench[i].preload = pack_measure_is_preloaded(rows, candidate);
    }
    if (trial.slice_ns > usual_ns && !how->prove)
        trial.rounds_min = (uint32_t)fmax(
            SLOW_ROUNDS, ROUNDS_MIN * (double)usual_ns / (double)trial.slice_ns);
    enum pack_status status = read_in_turns(rows, &trial, m, err);
    for (size_t i = 0; status == PACK_OK && i < rows->n_candidates; i++)
        if (rows->results[i].first_rate > 0)
            status = pack_measure_correct(rows, i, m, err);
    m->n_rounds = rows->results[0].n_rounds;
    m->n_rows = rows->n_candidates;
    return status;
}

/* Today's layout under other defaults, seen beside what was measured of it. */
static void
scale_versions(const struct pack_advise_params *params, struct pack_advise_result *r)
{
    if (!r->has_versions || r->now.modelled_rate <= 0)
        return;
    double factor = r->now.rate / r->now.modelled_rate;
    pack_advise_scale(&r->version_1, params, factor);
    pack_advise_scale(&r->version_2, params, factor);
    r->version_1.basis = r->version_2.basis = r->now.basis;
}

/* Of the smallest copy: writing ends when it takes too long. */
static uint64_t
least_samples(const struct measure_rows *rows)
{
    uint64_t least = rows->n_samples;
    for (size_t i = 0; i < rows->n_layouts; i++) {
        const struct pack_readset *set = rows->layouts[i].set;
        if (set && set->extent.extent[0] < least)
            least = set->extent.extent[0];
    }
    return least;
}

/* Rounds would take minutes: whoever wants them asks for a proof. */
static bool
is_slow(const struct pack_measure_params *how, const struct pack_advise_params *params,
        const struct pack_measured *m)
{
    static const double most_s = 0.5; /* of a reader, for a sample */
    return !how->prove && m->has_now &&
           (double)pack_advise_workers(params) > most_s * m->now_later;
}

enum pack_status
pack_measure_rows(const struct pack_measure_params *how,
                  const struct pack_advise_params *params,
                  struct pack_advise_result *result, struct pack_measured *m,
                  struct pack_error *err)
{
    uint64_t start_ns = pack_clock_ns();
    struct pack_error why = { .text = "" };
    if (!pack_measure_may_read(params, m))
        return PACK_OK;
    if (is_slow(how, params, m)) {
        pack_measure_note(m, "layouts were not read",
                          "a sample takes longer than half a second");
        return PACK_OK;
    }
    struct measure_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return pack_fail_memory(err, "measurements");
    rows->how = how;
    rows->params = params;
    rows->result = result;
    rows->measured = m;
    pack_measure_choose(rows);
    enum pack_status status = pack_measure_copy(rows, &why);
    if (status == PACK_OK && rows->n_candidates)
        status = read_all(rows, m, &why);
    if (status == PACK_OK)
        pack_measure_scale_others(rows);
    if (status != PACK_OK && !pack_measure_is_fatal(status) && !how->prove) {
        pack_measure_note(m, "layouts could not be read", why.text);
        m->n_rows = 0;
        status = PACK_OK;
    }
    if (status != PACK_OK && err)
        *err = why;
    m->n_samples = least_samples(rows);
    m->proven = how->prove;
    pack_measure_close(rows);
    if (status == PACK_OK) {
        const struct pack_advise_outcome before = result->now;
        for (size_t i = 0; i < result->n_rows; i++)
            if (result->rows[i].is_now)
                result->now = result->rows[i];
        result->now.lru_hit_rate = before.lru_hit_rate; /* counts, of it alone */
        result->now.belady_hit_rate = before.belady_hit_rate;
        scale_versions(params, result);
        status = pack_advise_settle(params, result, err);
    }
    free(rows);
    m->elapsed_ns += pack_clock_ns() - start_ns;
    return status;
}
