/*
 * Proposals for the same file, tried before they are made: today's way and the others are
 * read in turns by trial.h, with no consumer behind them. A run of E epochs gives
 *
 *     rate = E / (1 / first + (E - 1) / later)
 *
 * of each round's first and later epochs, and what a way gains is the median of the
 * rounds' ratios of these. Batches that take long are read in fewer, longer rounds.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"

enum { ROUNDS = 5, SLOW_ROUNDS = 3, BATCHES_MIN = 4 };
static const uint64_t slice_ns = 80 * 1000 * 1000, slice_most_ns = 250 * 1000 * 1000,
                      batch_most_ns = 500 * 1000 * 1000;

/* What a reader takes for one batch. */
static uint64_t
batch_ns(const struct pack_bench_result *r)
{
    return r->total.n_batches ? r->total.work_ns / r->total.n_batches : UINT64_MAX;
}

bool
pack_bench_can_try(const struct pack_bench_params *params,
                   const struct pack_bench_result *result,
                   const struct bench_question *question,
                   const struct pack_bench_ask *ask)
{
    /* a process that has started CUDA does not fork readers any more */
    return !ask->no_trial && question->params.is_warm && !params->source &&
           strcmp(result->engine, "hdf5") == 0 && strcmp(result->consumer, "cuda") != 0 &&
           batch_ns(result) <= batch_most_ns;
}

static struct pack_bench_params
way_of_run(const struct pack_bench_params *params)
{
    struct pack_bench_params p = *params;
    p.consumer = NULL;
    p.consume = (struct pack_consumer_params){ .has_normalise = false };
    p.echo = 0;
    p.echo_split = p.keep_events = p.cold = false;
    p.batches_max = 0;
    return p;
}

static struct pack_bench_params
way_of(const struct pack_bench_params *params, const struct bench_way *way)
{
    struct pack_bench_params p = way_of_run(params);
    p.pattern.kind = way->config.pattern.kind;
    p.pattern.pool_chunks = way->config.pattern.pool_chunks;
    p.pattern.local = way->config.pattern.local;
    p.n_workers = way->n_workers;
    p.reopen = way->config.reopen;
    p.set_cache = true;
    p.cache = way->config.cache;
    return p;
}

/* Rates of a whole run in the place of those of later epochs. */
static void
mix(struct pack_trial_result *r, uint64_t n_epochs)
{
    for (uint32_t i = 0; i < r->n_rounds; i++)
        if (r->first[i] > 0 && r->later[i] > 0)
            r->later[i] = (double)n_epochs /
                          (1 / r->first[i] + (double)(n_epochs - 1) / r->later[i]);
}

enum pack_status
pack_bench_try(const struct pack_bench_params *params,
               const struct pack_bench_result *result, const struct pack_bench_ask *ask,
               const struct bench_way *ways, size_t n, struct pack_trial_gain *gains,
               struct pack_error *err)
{
    uint64_t wanted_ns = batch_ns(result) * BATCHES_MIN;
    bool is_slow = wanted_ns > slice_most_ns;
    struct pack_trial_params trial = { .rounds_min = is_slow ? SLOW_ROUNDS : ROUNDS,
                                       .rounds_max = is_slow ? SLOW_ROUNDS : ROUNDS,
                                       .watch = ask->watch };
    struct pack_bench_params runs[BENCH_WAYS_MAX + 1] = { way_of_run(params) };
    struct pack_trial_result *r = calloc(n + 1, sizeof *r);
    if (!r)
        return pack_fail_memory(err, "a trial");
    for (size_t i = 0; i < n; i++)
        runs[i + 1] = way_of(params, &ways[i]);
    trial.slice_ns = is_slow                ? slice_most_ns
                     : wanted_ns > slice_ns ? wanted_ns
                                            : slice_ns;
    enum pack_status status = pack_trial_run(runs, n + 1, &trial, r, err);
    for (size_t i = 0; i < n + 1; i++)
        mix(&r[i], result->n_epochs);
    memset(gains, 0, n * sizeof *gains);
    for (size_t i = 0; status == PACK_OK && i < n; i++)
        pack_trial_gain(&r[0], &r[i + 1], &gains[i]);
    free(r);
    return status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED ? status : PACK_OK;
}
