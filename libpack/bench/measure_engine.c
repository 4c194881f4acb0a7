/*
 * Processes that read with HDF5, and threads that do not, in turns: the same samples, in batches
 * of which a few are read in a slice. Threads that keep all chunks in a small file read on until
 * they have come to a later epoch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/clock.h"
#include "libpack/base/large.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/bench/measure_parts.h"

enum {
    ROUNDS = 6, /* the fewest whose extremes are an interval of 95 % */
    LONG_ROUNDS = 3,
    BATCHES = 8, /* of the reader in a slice */
    PART_BYTES = 128 << 20,
    PART_SAMPLES_MAX = 1 << 20
};
static const double slice_ns = 100 * 1000 * 1000, slice_most_ns = 250 * 1000 * 1000,
                    long_most_ns = 1000 * 1000 * 1000;
static const double alike = 0.1;

struct timing {
    const struct pack_measure_params *how;
    const struct pack_advise_params *params;
    struct pack_bench_params run[2]; /* today's way, and the reader's */
    uint64_t slice_ns;
    uint64_t *part;                  /* samples that the latter reads; NULL: all */
};

bool
pack_measure_is_steady(const struct pack_advise_outcome *o)
{
    double first = o->first_cost.total_ns * o->steady_samples,
           later = o->steady_cost.total_ns * o->first_samples;
    return fabs(first - later) <= alike * later;
}

/* Later epochs were read, or are like the first: gains over a training become rates, as rows
 * have them. Where today's are not like that, and were not read, first epochs are compared. */
static bool
take_all(const struct timing *t, const struct pack_advise_outcome *now,
         const struct pack_trial_result r[2], struct pack_advise_engine *e)
{
    const struct pack_advise_params *params = t->params;
    double more = e->later_rate / e->first_rate;
    struct bench_gain gain;
    bool now_told = r[0].has_later || pack_measure_is_steady(now),
         is_alike = fabs(more - 1) <= alike;
    pack_bench_trial_gain(&r[0], &r[1], pack_advise_epochs(params), &gain);
    if (gain.whole <= 0 || (!r[1].has_later && !is_alike) || (r[1].has_later && !now_told))
        return false;
    e->first_rate = now->first_rate * gain.first;
    e->later_rate = now_told ? now->later_rate * gain.later : e->first_rate * more;
    e->rate = pack_advise_mean_rate(params, e->first_rate, e->later_rate);
    if (now_told)
        e->rate = now->rate * gain.whole;
    double times = e->rate / now->rate / gain.whole;
    e->gain_low = times * gain.low;
    e->gain_high = times * gain.high;
    e->basis = PACK_ADVISE_MEASURED;
    return true;
}

/* The least of n values above 0, or the largest. */
static double
extreme(const double *values, uint32_t n, bool largest)
{
    double found = 0;
    for (uint32_t i = 0; i < n; i++)
        if (values[i] > 0 && (found <= 0 || (values[i] > found) == largest))
            found = values[i];
    return found;
}

/* Else the reader's are read, where it does not take long to get there and today's are known:
 * not in turns, so that the gain lies between the extremes. */
static enum pack_status
take_long(const struct timing *t, const struct pack_advise_outcome *now,
          const struct pack_trial_result r[2], struct pack_advise_engine *e, bool *done,
          struct pack_error *err)
{
    struct pack_trial_params trial = { .rounds_min = LONG_ROUNDS,
                                       .rounds_max = LONG_ROUNDS,
                                       .is_resident = true,
                                       .watch = t->how->watch };
    double epoch_ns = (double)e->forecast.epoch_samples / fmax(e->first_rate, 1e-9) * 1e9;
    if (epoch_ns > long_most_ns || t->part ||
        (!r[0].has_later && !pack_measure_is_steady(now)) || r[0].later_rate <= 0 ||
        r[0].first_rate <= 0)
        return PACK_OK;
    struct pack_trial_result *more = calloc(1, sizeof *more);
    if (!more)
        return pack_fail_memory(err, "measurements");
    trial.slice_ns = (uint64_t)(1.25 * epoch_ns + 2 * slice_ns);
    enum pack_status status = pack_trial_run(&t->run[1], 1, &trial, more, err);
    if (status == PACK_OK && more->has_later) {
        double later = more->later_rate / r[0].later_rate;
        e->first_rate = now->first_rate * more->first_rate / r[0].first_rate;
        e->later_rate = now->later_rate * later;
        e->rate = pack_advise_mean_rate(t->params, e->first_rate, e->later_rate);
        double whole = e->rate / now->rate / later;
        e->gain_low = whole * extreme(more->later, more->n_rounds, false) /
                      extreme(r[0].later, r[0].n_rounds, true);
        e->gain_high = whole * extreme(more->later, more->n_rounds, true) /
                       extreme(r[0].later, r[0].n_rounds, false);
        e->basis = PACK_ADVISE_MEASURED;
        *done = true;
    }
    free(more);
    return status;
}

/* Else what was measured of the first epoch over what the model says of the same samples scales
 * what it says of all. */
static enum pack_status
take_first(const struct timing *t, const struct pack_advise_outcome *now,
           const struct pack_trial_result r[2], struct pack_advise_engine *e,
           struct pack_error *err)
{
    const struct pack_advise_engine_subject part = { t->how->file, t->how->dataset,
                                                     r[1].first_samples };
    struct pack_advise_params params = *t->params;
    struct pack_advise_engine of_part;
    params.reading.pattern.batch = t->run[1].pattern.batch;
    enum pack_status status = pack_advise_engine(&params, &part, now, &of_part, err);
    if (status != PACK_OK || !of_part.is_known || r[1].first_rate <= 0)
        return status;
    double factor = r[1].first_rate / of_part.first_rate;
    e->first_rate *= factor;
    e->later_rate *= factor;
    e->rate *= factor;
    return PACK_OK; /* still predicted: later epochs are most of it, and were not seen */
}

/* What is read out of a mapping is dear once, in the first epoch, and a slice gets no further in a
 * large file. So it goes around in a part of it, which no processor's cache holds: where nothing
 * is decoded, and so nothing kept, a later epoch of it is like one of all. */
static enum pack_status
cut_pattern(struct timing *t, const struct pack_advise_engine *e, struct pack_error *err)
{
    struct pack_pattern *pattern = &t->run[1].pattern;
    double n = PART_BYTES / fmax(e->bytes_per_sample, 1);
    if (strcmp(e->forecast.engine, "mmap") != 0 || e->forecast.first.loads > 0 ||
        pattern->kind == PACK_PATTERN_TRACE || pattern->weights || pattern->subset ||
        pattern->draws || pattern->world > 1 || n > PART_SAMPLES_MAX ||
        2 * n >= (double)e->forecast.epoch_samples)
        return PACK_OK;
    pattern->n_subset = (uint64_t)n + 1;
    pattern->subset = t->part = pack_apart_alloc(pattern->n_subset, sizeof *t->part);
    if (!t->part)
        return pack_fail_memory(err, "measurements");
    for (uint64_t i = 0; i < pattern->n_subset; i++)
        t->part[i] = i;
    return PACK_OK;
}

static void
make_runs(struct timing *t, const struct measure_file *file,
          const struct pack_advise_outcome *now, const struct pack_advise_engine *e)
{
    double batch = (double)t->params->reading.pattern.batch,
           wanted_ns = BATCHES * batch / fmax(e->first_rate, 1) * 1e9;
    /* of each worker; threads share their batches */
    const double rates[2] = { now->rate,
                              e->first_rate * (double)pack_advise_workers(t->params) };
    t->slice_ns = (uint64_t)fmin(slice_most_ns, fmax(slice_ns, wanted_ns));
    for (int i = 0; i < 2; i++) {
        struct pack_advise_config config = *t->params->now;
        pack_measure_cut_batch(t->params, rates[i], t->slice_ns, &config);
        pack_measure_run(t->params, &config, file->set, &t->run[i]);
        t->run[i].with = file->with;
    }
    t->run[1].engine = "libpack";
    t->run[1].reader.memory_bytes = pack_advise_memory(t->params);
    t->run[1].open = (struct pack_engine_open){ .set_cache = false };
    t->run[1].workers.fresh = false;
}

static enum pack_status
time_both(struct timing *t, const struct measure_file *file,
          const struct pack_advise_outcome *now, struct pack_advise_engine *e,
          struct pack_error *err)
{
    struct pack_trial_params trial = { .rounds_min = ROUNDS,
                                       .rounds_max = ROUNDS,
                                       .is_resident = true, /* or it is not timed */
                                       .watch = t->how->watch };
    struct pack_trial_result *r = calloc(2, sizeof *r);
    if (!r)
        return pack_fail_memory(err, "measurements");
    make_runs(t, file, now, e);
    trial.slice_ns = t->slice_ns;
    enum pack_status status = cut_pattern(t, e, err);
    if (status == PACK_OK)
        status = pack_trial_run(t->run, 2, &trial, r, err);
    bool done = status == PACK_OK && take_all(t, now, r, e);
    if (status == PACK_OK && !done)
        status = take_long(t, now, r, e, &done, err);
    if (status == PACK_OK && !done)
        status = take_first(t, now, r, e, err);
    pack_apart_free(t->part);
    free(r);
    return status;
}

enum pack_status
pack_measure_engine(const struct pack_measure_params *how,
                    const struct pack_advise_params *params,
                    const struct pack_advise_outcome *now, struct pack_advise_engine *e,
                    struct pack_measured *m, struct pack_error *err)
{
    struct timing timing = { .how = how, .params = params };
    struct measure_file file;
    uint64_t start_ns = pack_clock_ns();
    struct pack_error why;
    if (!e->is_known || !params->machine.is_warm || !pack_measure_may_read(params, m))
        return PACK_OK;
    enum pack_status status = pack_measure_open(how, &file, &why);
    if (status == PACK_OK) {
        status = time_both(&timing, &file, now, e, &why);
        pack_measure_close_file(&file);
    }
    m->elapsed_ns += pack_clock_ns() - start_ns;
    if (status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED) {
        if (err)
            *err = why;
        return status;
    }
    if (status != PACK_OK)
        pack_measure_note(m, "libpack's reader was not timed", why.text);
    return PACK_OK;
}
