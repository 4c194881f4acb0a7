/*
 * Changes worth trying: those of chunks, cache, order and workers; bench_remedy.c has the
 * others.
 *
 *     run ──bench_ask.c──▶ pack_advise ──▶ proposals ──bench_try.c──▶ what gains
 *
 * The advisor searches with costs fitted to the run; the best of its rows of each kind of
 * change is a proposal, and so are more workers and a dataset that is opened once. Those
 * that need no other file are then read for real, beside today's; a new layout in a copy,
 * by measure.c. What cannot be tried stays predicted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/pool.h"
#include "libpack/base/size.h"
#include "libpack/bench/bench_parts.h"
#include "libpack/bench/measure.h"

/* What costs less comes first. */
enum kind { KIND_SETTINGS, KIND_ORDER, KIND_REWRITE, KIND_WORKERS, KIND_REOPEN, N_KINDS };
static const uint64_t copy_budget_ns = 1000 * 1000 * 1000;
static const double rewrite_gain = 1.15; /* as advise.h has it */

struct proposal {
    enum kind kind;
    struct bench_way way;
    double read_gain; /* of the readers, predicted */
    struct pack_advise_outcome outcome; /* that it stands on */
    struct pack_bench_change change;
};

struct advisor {
    const struct pack_bench_params *params;
    const struct pack_bench_result *result;
    const struct pack_bench_ask *ask;
    struct bench_question question;
    struct pack_advise_result found;
    struct proposal proposals[N_KINDS];
    size_t n_proposals;
};

/* ------------------------------------------------------------------- gains */

/* What the whole run gains when HDF5's part of reading becomes so much faster, or, with
 * `whole`, all of it. */
static double
run_gain(const struct advisor *a, const struct bench_way *way, double gain, bool whole)
{
    const struct bench_pace now = pack_bench_pace(a->result);
    struct bench_pace then = now;
    double part = whole ? now.read : now.hdf5;
    then.read = now.read - part + part / gain;
    then.in_line = way->n_workers == 0;
    double cycle = pack_bench_cycle_ns(&then);
    return cycle > 0 ? pack_bench_cycle_ns(&now) / cycle : 0;
}

/* Over the run's epochs; 0 where a longer training would lose by it. */
static double
gain_of(const struct pack_advise_outcome *now, const struct pack_advise_outcome *o)
{
    return now->rate > 0 && o->later_rate >= now->later_rate ? o->rate / now->rate : 0;
}

/* ------------------------------------------------------------------- words */

/* Options of a cache, behind what a command says already. */
static void
put_cache(const struct advisor *a, const struct pack_cache_params *cache, char *text,
          size_t size)
{
    const struct pack_cache_params *now = &a->result->cache;
    size_t used = strlen(text);
    if (cache->size_bytes != now->size_bytes)
        used += (size_t)snprintf(text + used, size - used, "%s--rdcc-nbytes %" PRIu64,
                                 used ? " " : "", cache->size_bytes);
    if (cache->size_bytes == 0)
        return; /* nothing else counts then */
    if (cache->n_slots != now->n_slots)
        used += (size_t)snprintf(text + used, size - used, "%s--rdcc-nslots %" PRIu64,
                                 used ? " " : "", cache->n_slots);
    if (cache->w0 != now->w0)
        snprintf(text + used, size - used, "%s--rdcc-w0 %g", used ? " " : "", cache->w0);
}

static void
word_settings(const struct advisor *a, const struct pack_advise_config *config,
              struct pack_bench_change *c)
{
    char bytes[PACK_BYTES_TEXT_MAX];
    bool reads_past = a->params->set->parts[0].facts.pipeline.n == 0 &&
                      a->params->set->parts[0].grid.chunk_bytes > config->cache.size_bytes;
    pack_bytes_format(config->cache.size_bytes, bytes);
    if (config->cache.size_bytes == 0)
        snprintf(c->what, sizeof c->what,
                 "no chunk cache: HDF5 then reads just what is wanted");
    else if (reads_past)
        snprintf(c->what, sizeof c->what,
                 "a chunk cache of %s: nothing but what is wanted is read", bytes);
    else
        snprintf(c->what, sizeof c->what, "a chunk cache of %s in each worker", bytes);
    put_cache(a, &config->cache, c->command, sizeof c->command);
}

static void
word_order(const struct advisor *a, const struct pack_advise_config *config,
           struct pack_bench_change *c)
{
    const struct pack_pattern *p = &config->pattern;
    uint64_t chunk_bytes = a->params->set->parts[0].grid.chunk_bytes;
    bool holds = config->cache.size_bytes / chunk_bytes >= p->pool_chunks;
    snprintf(c->what, sizeof c->what, "block shuffle over %" PRIu64 " chunks%s",
             p->pool_chunks, holds ? ", with a cache that holds them" : "");
    snprintf(c->command, sizeof c->command, "--pattern block:chunks=%" PRIu64 "%s",
             p->pool_chunks, p->local ? ",local" : "");
    put_cache(a, &config->cache, c->command, sizeof c->command);
}

static void
word_rewrite(const struct advisor *a, const struct pack_advise_config *config,
             struct pack_bench_change *c)
{
    char chunk[PACK_SHAPE_TEXT_MAX], options[256] = "", order[80] = "";
    const struct pack_pattern *p = &config->pattern;
    struct pack_shape one = a->params->set->extent;
    bool is_packed = strcmp(config->codec, "none") != 0;
    one.extent[0] = 1;
    pack_shape_format(&config->chunk, chunk);
    if (config->chunk.rank == 0)
        snprintf(c->what, sizeof c->what, "no chunks: contiguous data");
    else if (pack_shape_equal(&one, &config->chunk))
        snprintf(c->what, sizeof c->what, "chunks of one sample%s%s",
                 is_packed ? ", " : "", is_packed ? config->codec : "");
    else
        snprintf(c->what, sizeof c->what, "chunks of %.60s%s%.40s", chunk,
                 is_packed ? ", " : "", is_packed ? config->codec : "");
    if (p->kind != a->params->pattern.kind)
        snprintf(order, sizeof order, " --pattern block:chunks=%" PRIu64 "%s",
                 p->pool_chunks, p->local ? ",local" : "");
    if (config->chunk.rank)
        put_cache(a, &config->cache, options, sizeof options);
    if (config->chunk.rank)
        snprintf(c->command, sizeof c->command, "pack or repack with chunks of %.200s%s%s",
                 chunk, is_packed ? ", compressed with " : "",
                 is_packed ? config->codec : "");
    else
        snprintf(c->command, sizeof c->command, "repack without chunks");
    size_t used = strlen(c->command);
    bool has_options = order[0] || options[0];
    snprintf(c->command + used, sizeof c->command - used, ", then run again%s%s%s%s",
             has_options ? " with" : "", order, options[0] ? " " : "", options);
}

/* --------------------------------------------------------------- proposals */

static struct proposal *
propose(struct advisor *a, enum kind kind, const struct pack_advise_outcome *o)
{
    double gain = gain_of(&a->found.now, o);
    if (gain < PACK_ADVISE_EQUAL_GAIN || !o->fits)
        return NULL;
    struct proposal *p = &a->proposals[a->n_proposals++];
    *p = (struct proposal){ .kind = kind,
                            .way = { o->config, a->result->n_workers },
                            .read_gain = gain,
                            .outcome = *o };
    if (o->config.cache.size_bytes == 0) /* as the command leaves them */
        p->way.config.cache.n_slots = a->result->cache.n_slots;
    return p;
}

/* The one of the advisor's rows of one kind that it would choose if there were no others. */
static void
propose_found(struct advisor *a, enum kind kind, enum pack_advise_change change,
              void (*word)(const struct advisor *a,
                           const struct pack_advise_config *config,
                           struct pack_bench_change *change))
{
    struct pack_advise_outcome rows[PACK_ADVISE_ROWS_MAX + 1] = { a->found.now };
    const struct pack_advise_outcome *now = &a->found.now;
    size_t n = 1;
    rows[0].is_now = true;
    for (size_t i = 0; i < a->found.n_rows; i++)
        if (!a->found.rows[i].is_now && a->found.rows[i].change == change)
            rows[n++] = a->found.rows[i];
    size_t best = pack_advise_choose(&a->question.params, now, rows, n);
    if (best == 0)
        return;
    struct proposal *p = propose(a, kind, &rows[best]);
    if (p)
        word(a, &rows[best].config, &p->change);
}

static enum pack_status
propose_workers(struct advisor *a, struct pack_error *err)
{
    uint64_t cpus = pack_pool_default_threads();
    struct pack_advise_params p = a->question.params;
    struct pack_advise_config config = a->question.now;
    struct pack_advise_outcome o;
    if (a->result->n_workers >= cpus)
        return PACK_OK;
    p.pattern.workers = config.pattern.workers = cpus;
    enum pack_status status = pack_advise_evaluate(&p, &config, 0, &o, err);
    if (status != PACK_OK)
        return status;
    pack_bench_fit(&a->question, &o);
    struct proposal *w = propose(a, KIND_WORKERS, &o);
    if (!w)
        return PACK_OK;
    w->way.n_workers = cpus;
    snprintf(w->change.what, sizeof w->change.what, "%" PRIu64 " workers", cpus);
    snprintf(w->change.command, sizeof w->change.command, "--workers %" PRIu64, cpus);
    return PACK_OK;
}

static enum pack_status
propose_once(struct advisor *a, struct pack_error *err)
{
    struct pack_advise_params p = a->question.params;
    struct pack_advise_config config = a->question.now;
    struct pack_advise_outcome o;
    if (!config.reopen)
        return PACK_OK;
    p.reopen = config.reopen = false;
    enum pack_status status = pack_advise_evaluate(&p, &config, 0, &o, err);
    if (status != PACK_OK)
        return status;
    pack_bench_fit(&a->question, &o);
    struct proposal *once = propose(a, KIND_REOPEN, &o);
    if (once) {
        snprintf(once->change.what, sizeof once->change.what, "opening the dataset once");
        snprintf(once->change.command, sizeof once->change.command,
                 "leave --reopen away");
    }
    return PACK_OK;
}

/* The search, its rates fitted to the run. */
static enum pack_status
propose_all(struct advisor *a, struct pack_error *err)
{
    struct pack_advise_result *r = &a->found;
    enum pack_status status = pack_advise(&a->question.params, r, err);
    if (status != PACK_OK)
        return status;
    pack_bench_fit(&a->question, &r->now);
    for (size_t i = 0; i < r->n_rows; i++)
        pack_bench_fit(&a->question, &r->rows[i]);
    propose_found(a, KIND_SETTINGS, PACK_ADVISE_SETTINGS, word_settings);
    propose_found(a, KIND_ORDER, PACK_ADVISE_ORDER, word_order);
    propose_found(a, KIND_REWRITE, PACK_ADVISE_REWRITE, word_rewrite);
    status = propose_workers(a, err);
    return status == PACK_OK ? propose_once(a, err) : status;
}

/* ------------------------------------------------------------------ judging */

/* Ways of reading the file as it is, in turns with today's. */
static enum pack_status
try_same_file(struct advisor *a, struct pack_error *err)
{
    struct bench_way ways[BENCH_WAYS_MAX];
    struct proposal *tried[BENCH_WAYS_MAX];
    struct pack_trial_gain gains[BENCH_WAYS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < a->n_proposals; i++) {
        struct proposal *p = &a->proposals[i];
        if (p->kind == KIND_REWRITE || p->change.gain < PACK_ADVISE_EQUAL_GAIN)
            continue;
        ways[n] = p->way;
        tried[n++] = p;
    }
    if (n == 0)
        return PACK_OK;
    enum pack_status status =
        pack_bench_try(a->params, a->result, a->ask, ways, n, gains, err);
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        bool gains_surely = gains[i].low > 1;
        tried[i]->change.is_measured = true;
        tried[i]->change.gain =
            gains_surely ? run_gain(a, &ways[i], gains[i].median, true) : 0;
    }
    return status;
}

/* A new layout, in a copy beside one of today's. */
static enum pack_status
try_rewrite(struct advisor *a, struct proposal *p, struct pack_error *err)
{
    const struct pack_measure_params how = { .file = a->params->set->parts[0].file,
                                             .dataset = a->params->set->dataset,
                                             .budget_ns = copy_budget_ns,
                                             .watch = a->question.params.watch };
    struct pack_measured measured = { .now_ratio = 1 };
    struct pack_advise_result *two = calloc(1, sizeof *two);
    if (!two)
        return pack_fail_memory(err, "a trial");
    two->has_now = true;
    two->now = two->rows[0] = a->found.now;
    two->rows[0].is_now = true;
    two->rows[1] = p->outcome;
    two->n_rows = 2;
    enum pack_status status =
        pack_measure_rows(&how, &a->question.params, two, &measured, err);
    if (status == PACK_OK && measured.n_rows == 2) {
        const struct pack_advise_outcome *o = &two->rows[0];
        bool gains_surely = !o->is_now && o->gain_low > 1;
        double gain = gain_of(&two->now, o);
        p->change.is_measured = true;
        p->change.gain =
            gains_surely && gain > 0 ? run_gain(a, &p->way, gain, false) : 0;
    }
    free(two);
    return status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED ? status : PACK_OK;
}

/* A change that costs more must bring more than those that cost less: the best gain of
 * the kinds before it, times what the step is to gain. */
static double
gain_wanted(const struct advisor *a, enum kind kind)
{
    double best = 1;
    for (size_t i = 0; i < a->n_proposals; i++) {
        const struct proposal *p = &a->proposals[i];
        if ((p->kind < kind || p->kind == KIND_REOPEN) && p->kind != KIND_WORKERS &&
            p->change.gain > best)
            best = p->change.gain;
    }
    return kind == KIND_ORDER     ? best * PACK_ADVISE_EQUAL_GAIN
           : kind == KIND_REWRITE ? best * rewrite_gain
                                  : PACK_ADVISE_EQUAL_GAIN;
}

/* Leaves those that are not worth what they cost without a gain. */
static void
drop_dear(struct advisor *a)
{
    for (size_t i = 0; i < a->n_proposals; i++) {
        struct proposal *p = &a->proposals[i];
        if (p->change.gain < gain_wanted(a, p->kind))
            p->change.gain = 0;
    }
}

static enum pack_status
judge(struct advisor *a, struct bench_ranking *ranking, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < a->n_proposals; i++) {
        struct proposal *p = &a->proposals[i];
        p->change.gain = run_gain(a, &p->way, p->read_gain, p->kind == KIND_WORKERS);
    }
    drop_dear(a);
    bool can_try = pack_bench_can_try(a->params, a->result, &a->question, a->ask);
    if (can_try)
        status = try_same_file(a, err);
    for (size_t i = 0; status == PACK_OK && can_try && i < a->n_proposals; i++)
        if (a->proposals[i].kind == KIND_REWRITE && a->proposals[i].change.gain > 0)
            status = try_rewrite(a, &a->proposals[i], err);
    drop_dear(a);
    for (size_t i = 0; status == PACK_OK && i < a->n_proposals; i++)
        pack_bench_rank(ranking, (int)a->proposals[i].kind, &a->proposals[i].change);
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
        status = propose_all(a, err);
    if (status == PACK_OK && can)
        status = judge(a, ranking, err);
    pack_bench_question_done(&a->question);
    free(a);
    /* what was measured stands without advice on it */
    return status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED ? status : PACK_OK;
}

enum pack_status
pack_bench_advise(const struct pack_bench_params *params,
                  const struct pack_bench_result *result,
                  const struct pack_bench_ask *ask, struct pack_bench_advice *advice,
                  struct pack_error *err)
{
    struct bench_ranking ranking = { .advice = advice };
    *advice = (struct pack_bench_advice){ 0 };
    if (result->total.n_samples == 0 || result->limit == PACK_LIMIT_CONSUMER)
        return PACK_OK;
    enum pack_status status = advise_chunks(params, result, ask, &ranking, err);
    if (status == PACK_OK)
        pack_bench_remedies(params, result, &ranking);
    return status;
}
