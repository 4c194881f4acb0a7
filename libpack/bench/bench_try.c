/*
 * Candidates are tried on the file itself before they are proposed: they and today's
 * settings are read in turns by trial.h, without a consumer. A training of E epochs gives
 *
 *     rate = E / (1 / first + (E - 1) / later)
 *
 * of each round's first and later epochs, and what a candidate gains is the median of the
 * rounds' ratios of these. Batches that take long are read in fewer, longer rounds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/base/system.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/bench/measure_parts.h"

enum { ROUNDS = 5, SLOW_ROUNDS = 3, BATCHES_MIN = 4 };
static const uint64_t slice_ns = 80 * 1000 * 1000, slice_most_ns = 250 * 1000 * 1000,
                      slow_most_ns = 1500 * 1000 * 1000, batch_most_ns = 500 * 1000 * 1000;

/* What a reader takes for one batch. */
static uint64_t
batch_ns(const struct pack_bench_result *r)
{
    return r->total.n_batches ? r->total.work.total_ns / r->total.n_batches : UINT64_MAX;
}

/* Batches within half a second, of stock HDF5; a process that has started CUDA does not
 * fork readers any more. */
static bool
can_read(const struct pack_bench_params *params, const struct pack_bench_result *result,
         const struct pack_bench_ask *ask)
{
    return !ask->no_trial && !params->images.source &&
           strcmp(result->setup.engine, "hdf5") == 0 &&
           strcmp(result->setup.consumer, "cuda") != 0;
}

bool
pack_bench_can_try(const struct pack_bench_params *params,
                   const struct pack_bench_result *result,
                   const struct bench_question *question,
                   const struct pack_bench_ask *ask)
{
    return can_read(params, result, ask) &&
           (params->cold || question->params.machine.is_warm) &&
           batch_ns(result) <= batch_most_ns;
}

bool
pack_bench_can_measure(const struct pack_bench_params *params,
                       const struct pack_bench_result *result,
                       const struct pack_bench_ask *ask)
{
    const struct pack_bench_epoch *t = &result->total;
    /* measure.c makes smaller batches where that is all the same */
    uint64_t n = params->pattern.read == PACK_READ_SAMPLE ? t->n_samples : t->n_batches;
    return can_read(params, result, ask) && n &&
           (t->work.read.call_ns + t->work.assemble_ns) / n <= batch_most_ns;
}

bool
pack_bench_fits(const struct pack_bench_params *params,
                const struct pack_bench_result *result, uint64_t n_workers, uint64_t batch,
                uint64_t memory_bytes)
{
    const struct pack_readset *with = params->with;
    uint64_t prefetch = result->setup.prefetch ? result->setup.prefetch : 2,
             n = n_workers ? n_workers * prefetch : 1, bytes;
    uint64_t rows = params->pattern.box.rank ? params->pattern.box.extent[0] : 1;
    return pack_size_mul(with ? with->sample_bytes : 0, rows, &bytes) &&
           pack_size_add(bytes, result->setup.sample_bytes, &bytes) &&
           pack_size_mul(bytes, batch, &bytes) && pack_size_mul(bytes, n, &bytes) &&
           bytes <= memory_bytes / 2;
}

bool
pack_bench_has_room(const struct pack_bench_params *params,
                    const struct pack_bench_result *result, uint64_t n_workers,
                    uint64_t batch)
{
    uint64_t memory_bytes;
    return !pack_system_memory_bytes(&memory_bytes) ||
           pack_bench_fits(params, result, n_workers, batch, memory_bytes);
}

/* The run with nothing behind its readers. */
static struct pack_bench_params
as_reader(const struct pack_bench_params *params)
{
    struct pack_bench_params p = *params;
    p.consumer.name = NULL;
    p.consumer.params = (struct pack_consumer_params){ .has_normalise = false };
    p.consumer.echo = 0;
    p.consumer.echo_split = p.keep_events = false;
    p.stop.batches = 0;
    return p;
}

static struct pack_bench_params
params_of(const struct pack_bench_params *params, const struct bench_candidate *candidate)
{
    struct pack_bench_params p = as_reader(params);
    p.pattern.kind = candidate->config.pattern.kind;
    p.pattern.pool_chunks = candidate->config.pattern.pool_chunks;
    p.pattern.local = candidate->config.pattern.local;
    p.pattern.batch = candidate->config.pattern.batch;
    p.workers.n = candidate->n_workers;
    p.open.reopen = candidate->config.reopen;
    p.open.set_cache = true;
    p.open.cache = candidate->config.cache;
    if (candidate->engine) { /* it has no cache of HDF5's */
        p.engine = candidate->engine;
        p.open = (struct pack_engine_open){ .set_cache = false };
    }
    return p;
}

void
pack_bench_trial_gain(const struct pack_trial_result *a,
                      const struct pack_trial_result *b, uint64_t n_epochs,
                      struct bench_gain *gain)
{
    struct pack_trial_result whole[2] = { *a, *b }, first[2] = { *a, *b };
    struct pack_trial_gain g;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < whole[k].n_rounds; i++) {
            double once = whole[k].first[i], again = whole[k].later[i];
            if (once > 0 && again > 0)
                whole[k].later[i] =
                    (double)n_epochs / (1 / once + (double)(n_epochs - 1) / again);
            first[k].later[i] = once;
        }
    pack_trial_gain(&first[0], &first[1], &g);
    gain->first = g.median;
    pack_trial_gain(a, b, &g);
    gain->later = g.median;
    pack_trial_gain(&whole[0], &whole[1], &g);
    gain->whole = g.median;
    gain->low = g.low;
    gain->high = g.high;
}

bool
pack_bench_tells_all(const struct pack_advise_outcome *now,
                     const struct bench_gain *predicted, const struct bench_candidate *tried)
{
    static const double alike = 0.1;
    bool steady = pack_measure_is_steady(now);
    if (tried->saw_later && (tried->now_saw_later || steady))
        return true;
    if (tried->saw_later != tried->now_saw_later && !steady)
        return false; /* a later epoch stands over a first one, or under it */
    return predicted->first <= 0 || fabs(predicted->later / predicted->first - 1) <= alike;
}

/* Samples of the largest batch over those of the run's. */
static uint64_t
enlarged(const struct pack_bench_result *r, const struct bench_candidate *candidates,
         size_t n)
{
    uint64_t most = r->setup.batch;
    for (size_t i = 0; i < n; i++)
        if (candidates[i].config.pattern.batch > most)
            most = candidates[i].config.pattern.batch;
    return r->setup.batch ? most / r->setup.batch : 1;
}

/* Some batches of today's size in any case: those that other workers had begun when the
 * slice ended do not count. */
static uint64_t
slow_slice(const struct pack_bench_result *result)
{
    uint64_t some_ns = batch_ns(result) * BATCHES_MIN;
    if (some_ns > slow_most_ns)
        return slow_most_ns;
    return some_ns > slice_most_ns ? some_ns : slice_most_ns;
}

enum pack_status
pack_bench_try(const struct pack_bench_params *params,
               const struct pack_bench_result *result, const struct pack_bench_ask *ask,
               struct bench_candidate *candidates, size_t n, struct pack_error *err)
{
    uint64_t wanted_ns = batch_ns(result) * BATCHES_MIN * enlarged(result, candidates, n);
    bool is_slow = wanted_ns > slice_most_ns;
    struct pack_trial_params trial = { .rounds_min = is_slow ? SLOW_ROUNDS : ROUNDS,
                                       .rounds_max = is_slow ? SLOW_ROUNDS : ROUNDS,
                                       .is_resident = params->set && !params->cold &&
                                                      pack_bench_is_resident(params->set),
                                       .watch = ask->watch };
    struct pack_bench_params runs[BENCH_CANDIDATES_MAX + 1] = { as_reader(params) };
    struct pack_trial_result *r = calloc(n + 1, sizeof *r);
    if (!r)
        return pack_fail_memory(err, "a trial");
    for (size_t i = 0; i < n; i++)
        runs[i + 1] = params_of(params, &candidates[i]);
    trial.slice_ns = is_slow                ? slow_slice(result)
                     : wanted_ns > slice_ns ? wanted_ns
                                            : slice_ns;
    enum pack_status status = pack_trial_run(runs, n + 1, &trial, r, err);
    for (size_t i = 0; i < n; i++) {
        candidates[i].gain = (struct bench_gain){ 0 };
        candidates[i].saw_later = r[i + 1].has_later;
        candidates[i].now_saw_later = r[0].has_later;
        if (status == PACK_OK)
            pack_bench_trial_gain(&r[0], &r[i + 1], pack_bench_training(params),
                                  &candidates[i].gain);
    }
    free(r);
    return status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED ? status : PACK_OK;
}
