/*
 * Changes worth trying: those of chunks, cache, order, workers and batches; bench_remedy.c
 * has the others, bench_words.c their words.
 *
 *     run ──bench_ask.c──▶ pack_advise ──▶ measure.h ──▶ the choice and what costs less
 *                     └──▶ workers, opening, batches ──▶ bench_try.c
 *
 * The first line is h5advise's own: asked the same, this program names the same change.
 * Beside the choice stand changes that cost less and gain less. Those of the second line
 * do not depend on the layout; they are read from the file itself, in turns with today's
 * settings. What cannot be tried stays predicted, from costs fitted to the run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_engine.h"
#include "libpack/advise/advise_parts.h"
#include "libpack/advise/advise_stored.h"
#include "libpack/base/numbers.h"
#include "libpack/base/pool.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/bench/bench_parts.h"
#include "libpack/bench/measure.h"

enum { N_PROPOSALS = 7 };
static const uint64_t rows_budget_ns = 2000 * 1000 * 1000;

/* What a gain is of: HDF5's calls, modelled; readers like h5advise's; the run's own. */
enum basis { OF_MODEL, OF_READING, OF_RUN };

struct proposal {
    struct bench_candidate candidate;
    enum basis basis;
    struct pack_bench_change change;
};

struct advisor {
    const struct pack_bench_params *params;
    const struct pack_bench_result *result;
    const struct pack_bench_ask *ask;
    struct bench_question question;
    struct pack_advise_result found;
    bool is_fitted; /* to the run: nothing else was read */
    double warm_rate; /* samples/s of today's settings out of the page cache */
    struct proposal proposals[N_PROPOSALS];
    size_t n_proposals;
};

/* ------------------------------------------------------------------- gains */

/* Which part of reading becomes faster: all that a trial of the run's own readers saw, or
 * others share; what is neither delay nor Python, where the advisor's were read; HDF5's,
 * where it is modelled. */
static double
part_of(const struct advisor *a, const struct proposal *p,
        const struct bench_times *times)
{
    const struct pack_bench_epoch *t = &a->result->total;
    double other = (double)(t->work.delay_ns + t->work.collate_ns + t->work.interpret_ns);
    if (p->basis == OF_RUN)
        return times->read;
    if (p->basis == OF_READING)
        return times->read * (1 - other / (double)t->work.total_ns);
    bool is_hdf5 = p->candidate.n_workers == a->result->setup.n_workers &&
                   !p->candidate.engine;
    return is_hdf5 ? times->hdf5 : times->read;
}

/* What the whole run gains when that part becomes so much faster. */
static double
run_gain(const struct advisor *a, const struct proposal *p, double gain)
{
    const struct bench_times now = pack_bench_times(a->result);
    struct bench_times then = now;
    double part = part_of(a, p, &now);
    if (p->basis != OF_MODEL && part == now.read &&
        strcmp(a->result->setup.consumer, "null") == 0)
        return gain; /* nothing else takes time */
    then.read = gain > 0 ? now.read - part + part / gain : now.read;
    then.in_line = p->candidate.n_workers == 0;
    double cycle = pack_bench_cycle_ns(&then);
    return cycle > 0 ? pack_bench_cycle_ns(&now) / cycle : 0;
}

static void
fill_gains(const struct advisor *a, struct proposal *p)
{
    p->change.is_measured = p->basis != OF_MODEL;
    p->change.gain = run_gain(a, p, p->candidate.gain.whole);
    p->change.first_gain = run_gain(a, p, p->candidate.gain.first);
    p->change.later_gain = run_gain(a, p, p->candidate.gain.later);
    if (p->basis == OF_MODEL || p->candidate.gain.low <= 0)
        return;
    p->change.gain_low = run_gain(a, p, p->candidate.gain.low);
    p->change.gain_high = run_gain(a, p, p->candidate.gain.high);
}

/* Gains of measured rows are those of readers with nothing behind them: so is the rate that
 * must be possible. */
static void
doubt(const struct advisor *a, struct proposal *p, double rate, double predicted)
{
    struct pack_bench_change c = p->change;
    uint64_t n = p->candidate.n_workers ? p->candidate.n_workers : 1;
    double most = pack_bench_most(&a->question.profile, n, a->result->setup.sample_bytes);
    const struct bench_gain model = { predicted, predicted, predicted, 0, 0 };
    if (p->basis == OF_MODEL || !pack_bench_doubt(&c, rate, most, &model))
        return;
    if (!c.is_measured) { /* of the readers: the run's part of it is to be found again */
        p->basis = OF_MODEL;
        p->candidate.gain = model;
        p->change.gain_low = p->change.gain_high = 0;
        fill_gains(a, p);
    }
    memcpy(p->change.remark, c.remark, sizeof c.remark);
}

static struct bench_gain
gain_over(const struct pack_advise_outcome *now, const struct pack_advise_outcome *o)
{
    return (struct bench_gain){ .first = o->first_rate / now->first_rate,
                                .later = o->later_rate / now->later_rate,
                                .whole = o->rate / now->rate };
}

/* --------------------------------------------------------------- proposals */

static struct proposal *
propose(struct advisor *a, const char *kind, const struct pack_advise_config *config)
{
    struct proposal *p = &a->proposals[a->n_proposals++];
    *p = (struct proposal){ .candidate = { .config = *config,
                                           .n_workers = a->result->setup.n_workers },
                            .change.kind = kind };
    return p;
}

/* A row of the advisor's answer. */
static void
propose_row(struct advisor *a, const struct pack_advise_outcome *o)
{
    struct proposal *p =
        propose(a, pack_advise_change_name(o->change), &o->config);
    char other[200];
    if (o->basis != PACK_ADVISE_PREDICTED && !a->is_fitted)
        p->basis = OF_READING;
    p->candidate.gain = gain_over(&a->found.now, o);
    p->candidate.gain.low = o->gain_low;
    p->candidate.gain.high = o->gain_high;
    fill_gains(a, p);
    doubt(a, p, o->rate, o->modelled_rate / a->found.now.modelled_rate);
    pack_bench_word(a->params, &a->question, o, &p->change);
    size_t used = strlen(p->change.what);
    if (pack_advise_as_good(&a->question.params, &a->found, o, other, sizeof other))
        snprintf(p->change.what + used, sizeof p->change.what - used, " (%s)", other);
    if (o->change == PACK_ADVISE_REWRITE &&
        p->change.gain < pack_advise_min_gain(&a->question.params))
        a->n_proposals--; /* of the run as a whole that is too little */
}

/* What would be chosen if there were only changes of one kind: today's row, or another. */
static const struct pack_advise_outcome *
best_of(const struct advisor *a, enum pack_advise_change change,
        struct pack_advise_outcome *rows)
{
    size_t n = 0;
    rows[n++] = a->found.now;
    rows[0].is_now = true;
    for (size_t i = 0; i < a->found.n_rows; i++)
        if (!a->found.rows[i].is_now && a->found.rows[i].change == change)
            rows[n++] = a->found.rows[i];
    return &rows[pack_advise_choose(&a->question.params, &a->found.now, rows, n)];
}

/* The advisor's choice, and before it what changes less and gains clearly less. */
static void
propose_found(struct advisor *a)
{
    struct pack_advise_outcome rows[PACK_ADVISE_ROWS_MAX + 1];
    const struct pack_advise_outcome *choice = &a->found.rows[0];
    if (choice->change == PACK_ADVISE_KEEP || a->found.now.rate <= 0)
        return;
    propose_row(a, choice);
    for (int change = PACK_ADVISE_SETTINGS; change < (int)choice->change; change++) {
        const struct pack_advise_outcome *o =
            best_of(a, (enum pack_advise_change)change, rows);
        if (!o->is_now && o->rate * PACK_ADVISE_EQUAL_GAIN <= choice->rate)
            propose_row(a, o);
    }
}

/* The run's configuration but for one thing, to be tried; predicted until then. */
static enum pack_status
propose_tried(struct advisor *a, const char *kind, uint64_t workers, bool reopen,
              struct pack_error *err)
{
    struct pack_advise_params params = a->question.params;
    struct pack_advise_config config = a->question.now;
    struct pack_advise_outcome now, o;
    enum pack_status status = pack_advise_evaluate(&params, &config, 0, &now, err);
    params.reading.reopen = config.reopen = reopen;
    params.reading.pattern.workers = config.pattern.workers = workers;
    if (status == PACK_OK)
        status = pack_advise_evaluate(&params, &config, 0, &o, err);
    if (status != PACK_OK)
        return status;
    pack_bench_fit(&a->question, &now);
    pack_bench_fit(&a->question, &o);
    struct bench_gain gain = gain_over(&now, &o);
    if (!o.fits || gain.whole < PACK_ADVISE_EQUAL_GAIN)
        return PACK_OK;
    struct proposal *p = propose(a, kind, &config);
    p->candidate.n_workers = workers;
    p->candidate.gain = gain;
    fill_gains(a, p);
    return PACK_OK;
}

static enum pack_status
propose_workers(struct advisor *a, struct pack_error *err)
{
    uint64_t cpus = pack_pool_default_threads();
    size_t before = a->n_proposals;
    if (a->result->setup.n_workers >= cpus ||
        !pack_bench_has_room(a->params, a->result, cpus, a->result->setup.batch))
        return PACK_OK;
    enum pack_status status =
        propose_tried(a, "workers", cpus, a->question.now.reopen, err);
    if (status != PACK_OK || a->n_proposals == before)
        return status;
    struct pack_bench_change *c = &a->proposals[before].change;
    snprintf(c->what, sizeof c->what, "%s", pack_counted(cpus, "worker", "workers").text);
    snprintf(c->command, sizeof c->command, "{workers} %" PRIu64, cpus);
    return PACK_OK;
}

static enum pack_status
propose_once(struct advisor *a, struct pack_error *err)
{
    size_t before = a->n_proposals;
    if (!a->question.now.reopen)
        return PACK_OK;
    enum pack_status status =
        propose_tried(a, "reopen", a->result->setup.n_workers, false, err);
    if (status != PACK_OK || a->n_proposals == before)
        return status;
    struct pack_bench_change *c = &a->proposals[before].change;
    snprintf(c->what, sizeof c->what, "opening the dataset once");
    snprintf(c->command, sizeof c->command, "leave {reopen} away");
    return PACK_OK;
}

/* Predicted as bench_remedy.c does it, where that is worth a trial. */
static void
propose_batch(struct advisor *a)
{
    struct pack_bench_change change;
    uint64_t batch;
    if (!pack_bench_enlarge(a->params, a->result, &batch, &change) ||
        change.gain < PACK_ADVISE_EQUAL_GAIN)
        return;
    struct proposal *p = propose(a, change.kind, &a->question.now);
    p->candidate.config.pattern.batch = batch;
    p->change = change;
}

/* How the advisor reads: the file that is open, for a few seconds. */
static struct pack_measure_params
measuring(const struct advisor *a)
{
    const struct pack_h5_dataset *data = a->params->set->parts[0].data;
    return (struct pack_measure_params){ .file = data->file,
                                         .data_file = pack_h5_dataset_storage(data),
                                         .dataset = a->params->set->dataset,
                                         .set = a->params->set,
                                         .with_set = a->params->with,
                                         .budget_ns = rows_budget_ns,
                                         .watch = a->question.params.watch };
}

/* The advisor's answer, measured as h5advise measures it where the file lies in memory. */
static enum pack_status
ask_engine(struct advisor *a, struct pack_advise_engine *e, struct pack_error *err)
{
    const struct pack_h5_dataset *data = a->params->set->parts[0].data;
    const struct pack_advise_engine_subject subject = { data->file, data->path, 0 };
    const struct pack_measure_params how = measuring(a);
    const struct pack_advise_params *params = &a->question.params;
    struct pack_measured measured = { .now_ratio = 1 };
    enum pack_status status = pack_advise_engine(params, &subject, &a->found.now, e, err);
    if (status != PACK_OK || !pack_bench_can_measure(a->params, a->result, a->ask))
        return status;
    return pack_measure_engine(&how, params, &a->found.now, e, &measured, err);
}

/* libpack's reader in as many threads, which begins anew in each epoch that is to be cold. */
static enum pack_status
propose_engine(struct advisor *a, struct pack_error *err)
{
    static const char name[] = "libpack";
    const struct pack_advise_outcome *now = &a->found.now;
    uint64_t n = a->result->setup.n_workers;
    struct pack_advise_engine e;
    if (pack_bench_threads_check(a->params, pack_engine_find(name), NULL) != PACK_OK)
        return PACK_OK;
    enum pack_status status = ask_engine(a, &e, err);
    if (status != PACK_OK || !e.is_known || now->rate <= 0 ||
        (e.gain_low > 0 && e.gain_low <= 1)) /* not surely */
        return status;
    if (a->is_fitted && e.basis == PACK_ADVISE_PREDICTED) { /* to the run, as `now` is */
        e.first_rate *= a->question.first_factor;
        e.later_rate *= a->question.later_factor;
        e.rate = pack_advise_mean_rate(&a->question.params, e.first_rate, e.later_rate);
    }
    struct proposal *p = propose(a, "engine", &a->question.now);
    p->candidate.engine = name;
    p->candidate.gain = (struct bench_gain){ .first = e.first_rate / now->first_rate,
                                             .later = e.later_rate / now->later_rate,
                                             .whole = e.rate / now->rate };
    if (a->params->cold)
        p->candidate.gain.later = p->candidate.gain.whole = p->candidate.gain.first;
    if (e.basis == PACK_ADVISE_MEASURED) {
        p->basis = OF_READING;
        p->candidate.gain.low = e.gain_low;
        p->candidate.gain.high = e.gain_high;
    }
    fill_gains(a, p);
    snprintf(p->change.what, sizeof p->change.what, "libpack's reader, %s without HDF5",
             pack_counted(n ? n : pack_pool_default_threads(), "thread", "threads").text);
    snprintf(p->change.command, sizeof p->change.command, "{engine} %s", name);
    return PACK_OK;
}

/* ------------------------------------------------------------------ judging */

/* The advisor's answer, measured as h5advise measures it. */
static enum pack_status
search_measured(struct advisor *a, struct pack_error *err)
{
    struct pack_advise_params *params = &a->question.params;
    const struct pack_measure_params how = measuring(a);
    struct pack_measured measured = { .now_ratio = 1 };
    struct pack_bench_epoch dropped = { 0 };
    enum pack_status status = PACK_OK;
    if (a->params->cold) /* the run has left its pages there */
        status = pack_bench_go_cold(a->params, &dropped, err);
    if (status == PACK_OK)
        status = pack_measure_now(&how, params, &a->question.profile, &measured, err);
    if (status == PACK_OK)
        status = pack_advise(params, &a->found, err);
    if (status == PACK_OK)
        status = pack_measure_rows(&how, params, &a->found, &measured, err);
    a->warm_rate = measured.now_warm;
    return status;
}

/* Or else fitted to the run: where nothing can be measured, or that fails. */
static enum pack_status
search(struct advisor *a, struct pack_error *err)
{
    struct pack_advise_params *params = &a->question.params;
    if (pack_bench_can_measure(a->params, a->result, a->ask)) {
        const struct pack_advise_params asked = *params;
        const struct pack_profile profile = a->question.profile;
        enum pack_status measured = search_measured(a, err);
        if (measured == PACK_OK || pack_measure_is_fatal(measured))
            return measured;
        *params = asked; /* what measuring made of them is in the run's factors as well */
        a->question.profile = profile;
    }
    a->is_fitted = true;
    enum pack_status status = pack_advise(params, &a->found, err);
    if (status != PACK_OK)
        return status;
    pack_bench_fit(&a->question, &a->found.now);
    for (size_t i = 0; i < a->found.n_rows; i++)
        pack_bench_fit(&a->question, &a->found.rows[i]);
    return pack_advise_settle(params, &a->found, err);
}

/* It stays predicted, but for the first epoch, whose gain over what was predicted of it scales
 * that of all. */
static void
take_first(const struct advisor *a, struct proposal *p, const struct bench_gain *tried)
{
    struct bench_gain *gain = &p->candidate.gain;
    if (gain->first <= 0)
        return;
    double factor = tried->first / gain->first;
    gain->first *= factor;
    gain->later *= factor;
    gain->whole *= factor;
    fill_gains(a, p);
}

/* Tries the proposals that leave the file as it is, in turns with today's settings. */
static enum pack_status
try_same_file(struct advisor *a, struct proposal *first, size_t n, struct pack_error *err)
{
    struct bench_candidate candidates[N_PROPOSALS];
    if (n == 0)
        return PACK_OK;
    for (size_t i = 0; i < n; i++)
        candidates[i] = first[i].candidate;
    enum pack_status status =
        pack_bench_try(a->params, a->result, a->ask, candidates, n, err);
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        if (candidates[i].gain.first > 0 &&
            !pack_bench_tells_all(&a->found.now, &first[i].candidate.gain, &candidates[i])) {
            take_first(a, &first[i], &candidates[i].gain);
            continue;
        }
        first[i].basis = OF_RUN;
        first[i].candidate = candidates[i];
        fill_gains(a, &first[i]);
        if (candidates[i].gain.low <= 1)
            first[i].change.gain = 0; /* not surely */
    }
    return status;
}

/* Seconds are the model's, and scaled as its rates are. What depends on a memory bound,
 * which nobody gave, is a note; how costly reopening were is of use to those who do. */
static void
take_findings(const struct advisor *a, struct pack_bench_advice *advice)
{
    for (size_t i = 0; i < a->found.n_warnings; i++) {
        struct pack_advise_warning w = a->found.warnings[i];
        if (strcmp(w.severity, "note") == 0 ||
            (strcmp(w.id, "reopening") == 0 && !a->params->open.reopen))
            continue;
        w.price_s /= a->question.later_factor;
        advice->findings[advice->n_findings++] = w;
    }
}

/* A failure ends the looking; what was found until then stands. */
static enum pack_status
judge(struct advisor *a, struct bench_ranking *ranking, struct pack_error *err)
{
    enum pack_status status = search(a, err);
    ranking->warm_rate = a->warm_rate;
    if (status == PACK_OK)
        status = pack_advise_warn_stored(&a->question.params, a->question.file, &a->found, err);
    if (status == PACK_OK) {
        take_findings(a, ranking->advice);
        propose_found(a);
    }
    size_t n_found = a->n_proposals;
    if (status == PACK_OK)
        status = propose_workers(a, err);
    if (status == PACK_OK)
        status = propose_once(a, err);
    bool can_try = pack_bench_can_try(a->params, a->result, &a->question, a->ask);
    bool engine_is_tried = can_try && a->params->cold; /* else it is as the advisor has it */
    if (status == PACK_OK && can_try)
        propose_batch(a);
    if (status == PACK_OK && engine_is_tried)
        status = propose_engine(a, err);
    if (status == PACK_OK && can_try) {
        ranking->batch_is_judged = true;
        status = try_same_file(a, a->proposals + n_found, a->n_proposals - n_found, err);
    }
    if (status == PACK_OK && !engine_is_tried)
        status = propose_engine(a, err);
    for (size_t i = 0; i < a->n_proposals; i++)
        pack_bench_rank(ranking, &a->proposals[i].change);
    return status;
}

/* The changes that are the advisor's. */
static enum pack_status
advise_chunks(const struct pack_bench_params *params,
              const struct pack_bench_result *result, const struct pack_bench_ask *ask,
              struct bench_ranking *ranking, struct pack_error *err)
{
    struct advisor *a = calloc(1, sizeof *a);
    bool can = false;
    if (!a)
        return pack_fail_memory(err, "advice");
    a->params = params;
    a->result = result;
    a->ask = ask;
    enum pack_status status =
        pack_bench_question_make(params, result, ask, &a->question, &can, err);
    if (status == PACK_OK && can)
        status = judge(a, ranking, err);
    pack_bench_question_done(&a->question);
    free(a);
    /* what was measured stands without advice on it */
    return pack_measure_is_fatal(status) ? status : PACK_OK;
}

enum pack_status
pack_bench_advise(const struct pack_bench_params *params,
                  const struct pack_bench_result *result,
                  const struct pack_bench_ask *ask, struct pack_bench_advice *advice,
                  struct pack_error *err)
{
    struct bench_ranking ranking = { .advice = advice };
    *advice = (struct pack_bench_advice){ .epochs = pack_bench_training(params) };
    if (result->total.n_samples == 0 || result->verdict.limit == PACK_LIMIT_CONSUMER ||
        result->setup.threads.n > 0)
        return PACK_OK;
    enum pack_status status = advise_chunks(params, result, ask, &ranking, err);
    pack_bench_remedies(params, result, &ranking);
    return status;
}
