/*
 * Each round reads each candidate once, in an order that turns with the rounds, because
 * what ran before leaves its mark on the processor's caches:
 *
 *     round 0   a b c d        round 1   b c d a        round 2   c d a b
 *
 * A run's first epoch is kept apart: its chunks come into fresh memory. The second half of
 * its epochs is what a long training sees; in those between, the cache fills. Filling a
 * large cache takes longer than a slice: such a candidate is read from the beginning in
 * two rounds, and with its cache filled beforehand in all others.
 *
 * The first two fifths of a slice, in which the system may let two processes share one
 * processor, count for the first epoch only, and where a run is hardly longer than that.
 * An epoch that the end of the slice cut off counts only as the second one, and if a
 * quarter of it was read. What a run that saw no later epoch read is never taken for one:
 * such rounds count only where most are like them.
 */
#include "libpack/bench/trial.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/base/sort.h"

enum {
    EPOCHS_MAX = 20000,
    ROUNDS_MIN = 3,
    RACE_ROUNDS = PACK_TRIAL_FRESH + 1,
    FINAL_ROUNDS = PACK_TRIAL_FRESH + 3
};
static const uint64_t slice_default_ns = 150 * 1000 * 1000;

/* Of those above 0; 0 without any. */
static double
median(const double *values, uint32_t n_values)
{
    double there[PACK_TRIAL_ROUNDS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_values; i++)
        if (values[i] > 0)
            there[n++] = values[i];
    return pack_sort_median(there, n);
}

/* How far the first epoch was read in the round that was as fast as the median: slices are
 * equally long. */
static uint64_t
median_samples(const struct pack_trial_result *r)
{
    double samples[PACK_TRIAL_ROUNDS_MAX];
    for (uint32_t i = 0; i < r->n_rounds; i++)
        samples[i] = (double)r->begun_samples[i];
    return (uint64_t)median(samples, r->n_rounds);
}

/* Samples and the time that they took. */
struct span {
    uint64_t samples, ns;
};

static struct span
span_of(const struct pack_bench_result *run, uint64_t begin, uint64_t end)
{
    struct span span = { 0 };
    for (uint64_t i = begin; i < end; i++) {
        span.samples += run->epochs[i].n_samples;
        span.ns += run->epochs[i].elapsed_ns - run->epochs[i].start_ns;
    }
    return span;
}

static double
rate_of(struct span span)
{
    return span.ns ? (double)span.samples * 1e9 / (double)span.ns : 0;
}

/* Of some epochs from the first on, without the beginning of the run where that is not
 * most of them. */
static double
rate_when_warm(const struct pack_bench_result *run, uint64_t n_epochs)
{
    struct span span = span_of(run, 0, n_epochs);
    if (2 * run->warm_samples <= span.samples && run->warm_ns < span.ns) {
        span.samples -= run->warm_samples;
        span.ns -= run->warm_ns;
    }
    return rate_of(span);
}

/* Epochs that tell what a later one is like, when the first is not among them: all that
 * are whole, and a second one that nearly is. */
static uint64_t
n_told(const struct pack_bench_result *run)
{
    uint64_t n = run->n_epochs, last = run->epochs[n - 1].n_samples;
    if (last == run->setup.epoch_samples || (n == 2 && last >= run->setup.epoch_samples / 4))
        return n;
    return n - 1;
}

void
pack_trial_add(struct pack_trial_result *r, const struct pack_bench_result *run,
               bool is_filled)
{
    uint64_t n = n_told(run);
    uint32_t i = r->n_rounds++;
    bool is_later = is_filled || n > 1;
    r->n_later += is_later;
    r->has_later = 2 * r->n_later >= r->n_rounds;
    r->first[i] = is_filled ? 0 : rate_of(span_of(run, 0, 1));
    r->early[i] = is_filled ? 0 : rate_when_warm(run, 1);
    if (is_later)
        r->later[i] =
            n > 1 ? rate_of(span_of(run, n / 2, n)) : rate_when_warm(run, run->n_epochs);
    r->begun_samples[i] = is_filled ? 0 : run->epochs[0].n_samples;
    if (i == 0)
        r->opening_samples = run->epochs[0].n_samples;
    r->n_epochs = n > 0 ? n : 1;
    r->storage_bytes += (double)run->total.work.storage_bytes;
}

static enum pack_status
run_one(const struct pack_bench_params *candidate, const struct pack_trial_params *params,
        struct pack_trial_result *result, struct pack_error *err)
{
    struct pack_bench_params p = *candidate;
    struct pack_bench_result run;
    p.stop.epochs = EPOCHS_MAX;
    p.stop.after_ns = params->slice_ns ? params->slice_ns : slice_default_ns;
    p.no_check = true;
    p.open.walk_index = params->is_resident;
    p.watch = params->watch;
    p.watch.progress = NULL;
    p.preload = candidate->preload && result->n_rounds >= PACK_TRIAL_FRESH;
    enum pack_status status = pack_bench_run(&p, &run, err);
    if (status == PACK_OK) {
        pack_trial_add(result, &run, p.preload);
        if (candidate->preload && !p.preload)
            result->later[result->n_rounds - 1] = 0; /* its cache was filling */
        result->has_later |= p.preload;
    }
    pack_bench_done(&run);
    return status;
}

void
pack_trial_race(double part, struct pack_trial_result *results, size_t n_candidates,
                bool *is_out)
{
    double best = 0;
    for (size_t i = 0; i < n_candidates; i++) {
        struct pack_trial_result *r = &results[i];
        r->later_rate = median(r->has_later ? r->later : r->early, r->n_rounds);
        best = r->later_rate > best ? r->later_rate : best;
    }
    for (size_t i = 1; i < n_candidates; i++)
        is_out[i] |= results[i].later_rate < part * best;
}

enum pack_status
pack_trial_run(const struct pack_bench_params *candidates, size_t n_candidates,
               const struct pack_trial_params *params, struct pack_trial_result *results,
               struct pack_error *err)
{
    uint32_t most = params->rounds_max ? params->rounds_max : PACK_TRIAL_ROUNDS_MAX;
    uint32_t least = params->rounds_min ? params->rounds_min : ROUNDS_MIN;
    uint64_t start_ns = pack_clock_ns();
    enum pack_status status = PACK_OK;
    bool *is_out = calloc(n_candidates, sizeof *is_out);
    if (!is_out)
        return pack_fail_memory(err, "a trial");
    memset(results, 0, n_candidates * sizeof *results);
    if (most > PACK_TRIAL_ROUNDS_MAX)
        most = PACK_TRIAL_ROUNDS_MAX;
    for (uint32_t round = 0; status == PACK_OK && round < most; round++) {
        if (round >= least && pack_clock_ns() - start_ns >= params->budget_ns)
            break;
        for (size_t i = 0; status == PACK_OK && i < n_candidates; i++) {
            size_t at = (i + round) % n_candidates;
            if (!is_out[at] || at == params->always)
                status = run_one(&candidates[at], params, &results[at], err);
        }
        if (params->race > 0 && round + 1 == RACE_ROUNDS)
            pack_trial_race(params->race, results, n_candidates, is_out);
        if (params->race > 0 && round + 1 == FINAL_ROUNDS)
            pack_trial_race((1 + params->race) / 2, results, n_candidates, is_out);
    }
    free(is_out);
    for (size_t i = 0; i < n_candidates; i++) {
        struct pack_trial_result *r = &results[i];
        if (!r->has_later)
            memcpy(r->later, r->early, sizeof r->later);
        r->first_rate = median(r->first, r->n_rounds);
        r->first_samples = median_samples(r);
        r->later_rate = median(r->later, r->n_rounds);
    }
    return status;
}

/* How many of n ordered values to leave out at each end, so that what lies between those
 * left holds the true median in at least 95 of 100 cases: the largest k with
 * P(Binomial(n, 1/2) <= k) <= 0.025. */
static uint32_t
outside(uint32_t n)
{
    double p = 1, below = 0;
    for (uint32_t i = 0; i < n; i++)
        p /= 2;
    for (uint32_t k = 0; k < n / 2; k++) {
        below += p;
        if (below > 0.025)
            return k ? k - 1 : 0;
        p = p * (double)(n - k) / (double)(k + 1);
    }
    return 0;
}

void
pack_trial_gain(const struct pack_trial_result *a, const struct pack_trial_result *b,
                struct pack_trial_gain *gain)
{
    double ratio[PACK_TRIAL_ROUNDS_MAX];
    uint32_t n = 0, most = a->n_rounds < b->n_rounds ? a->n_rounds : b->n_rounds;
    for (uint32_t i = 0; i < most; i++)
        if (a->later[i] > 0 && b->later[i] > 0)
            ratio[n++] = b->later[i] / a->later[i];
    *gain = (struct pack_trial_gain){ 0 };
    if (n == 0)
        return;
    gain->median = pack_sort_median(ratio, n);
    uint32_t k = outside(n);
    gain->low = ratio[k];
    gain->high = ratio[n - 1 - k];
}
