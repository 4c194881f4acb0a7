/*
 * The search, in stages, each dearer and for fewer configurations:
 *
 *     candidates   some hundreds to thousands
 *     bounds       closed form; sorted by what each can reach at most
 *     sampled      the first reads of one worker, unless one already sampled beats the
 *                  bound with no more memory, file or order given up
 *     exact        every read of one worker: the best of the front, all --chunk, now
 *     slots        the smallest sufficient number for the choice, then exact again
 *
 * Batches of fixed size go to the threads and come back in order, so that what is dropped
 * never depends on timing.
 */
#include <libpack/advise.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include <libpack/pool.h>

enum {
    BATCH = 16,         /* evaluated between two looks at what may be dropped */
    SAMPLED_MAX = 320,  /* configurations */
    SAMPLES_MIN = 6000, /* per sampled configuration */
    SAMPLES_MAX = 60000,
    EXACT_MAX = 20,
    SLOTS_ROUNDS = 2
};

/* ---------------------------------------------------------------- parallel */

struct job {
    const struct pack_advise_params *params;
    const struct pack_advise_config *config;
    uint64_t max_samples;
    struct pack_advise_outcome *outcome;
    enum pack_status status;
    struct pack_error err;
};

static void
work(void *item, unsigned worker, void *context)
{
    struct job *job = item;
    (void)worker, (void)context;
    job->status = pack_advise_evaluate(job->params, job->config, job->max_samples,
                                       job->outcome, &job->err);
}

enum pack_status
pack_advise_evaluate_all(const struct pack_advise_params *params,
                         const struct pack_advise_config *const *configs, size_t n,
                         const uint64_t *max_samples,
                         struct pack_advise_outcome *outcomes, struct pack_error *err)
{
    struct pack_pool *pool = NULL;
    struct pack_pool_lane lane = { .work = work, .in_flight_max = n };
    struct job *jobs = calloc(n ? n : 1, sizeof *jobs), *job;
    enum pack_status status = jobs ? PACK_OK : pack_fail_memory(err, "evaluations");
    if (status == PACK_OK && n)
        status = pack_pool_new(params->n_threads ? params->n_threads : 1, &lane, 1, &pool,
                               err);
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        jobs[i] = (struct job){ .params = params,
                                .config = configs[i],
                                .max_samples = max_samples ? max_samples[i] : 0,
                                .outcome = &outcomes[i] };
        pack_pool_submit(pool, 0, &jobs[i]);
    }
    while (pool && (job = pack_pool_next(pool, 0)) != NULL) {
        if (status == PACK_OK && job->status != PACK_OK)
            status = pack_fail(err, job->status, "%s", job->err.text);
    }
    pack_pool_free(pool);
    free(jobs);
    return status;
}

/* -------------------------------------------------------------- the search */

struct candidate {
    size_t config; /* in the list */
    struct pack_advise_outcome bound;
    bool is_sampled;
};

struct search {
    const struct pack_advise_params *params;
    struct pack_advise_list list;
    struct candidate *candidates; /* by bound, best first */
    struct pack_advise_outcome *sampled;
    size_t n_sampled;
    struct pack_advise_outcome exact[EXACT_MAX + PACK_ADVISE_ROWS_MAX];
    size_t n_exact;
    uint64_t done, total; /* of the progress */
    struct pack_advise_result *result;
};

static enum pack_status
tell(struct search *s, uint64_t done, struct pack_error *err)
{
    const struct pack_watch *watch = &s->params->watch;
    s->done += done;
    pack_watch_tell(watch, &(struct pack_progress){ .stage = "simulating",
                                                    .unit = "settings",
                                                    .done = s->done,
                                                    .total = s->total });
    return pack_watch_check(watch, err);
}

static int
by_bound(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->bound.rate != y->bound.rate)
        return x->bound.rate < y->bound.rate ? 1 : -1;
    return x->config < y->config ? -1 : x->config > y->config;
}

static enum pack_status
bound_all(struct search *s, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    s->candidates = calloc(s->list.n, sizeof *s->candidates);
    s->sampled = calloc(SAMPLED_MAX, sizeof *s->sampled);
    if (!s->candidates || !s->sampled)
        return pack_fail_memory(err, "candidates");
    for (size_t i = 0; status == PACK_OK && i < s->list.n; i++) {
        s->candidates[i].config = i;
        status = pack_advise_bound(s->params, &s->list.config[i], &s->candidates[i].bound,
                                   err);
    }
    qsort(s->candidates, s->list.n, sizeof *s->candidates, by_bound);
    return status;
}

/* The same order costs nothing in randomness; across orders bounds do not compare. */
static bool
same_order(const struct pack_advise_config *a, const struct pack_advise_config *b)
{
    return a->pattern.kind == b->pattern.kind &&
           (a->pattern.kind != PACK_PATTERN_BLOCK ||
            a->pattern.pool_chunks * a->chunk.extent[0] <=
                b->pattern.pool_chunks * b->chunk.extent[0]);
}

static bool
is_user_chunk(const struct search *s, const struct pack_advise_config *config)
{
    for (size_t i = 0; i < s->params->n_chunks; i++)
        if (pack_shape_equal(&config->chunk, &s->params->chunks[i]))
            return true;
    return false;
}

/* Whether something sampled is better than this can be, at no greater cost. */
static bool
is_beaten(const struct search *s, const struct pack_advise_outcome *bound)
{
    for (size_t i = 0; i < s->n_sampled; i++) {
        const struct pack_advise_outcome *o = &s->sampled[i];
        int cost = pack_advise_compare_cost(o, bound);
        if (cost == 0)
            cost = pack_advise_compare_shapes(&o->config.chunk, &bound->config.chunk);
        if (o->rate >= 0.98 * bound->rate && cost <= 0 &&
            o->file_bytes <= 1.02 * bound->file_bytes &&
            same_order(&bound->config, &o->config))
            return true;
    }
    return false;
}

/* Long enough to fill the cache four times over. */
static uint64_t
sample_length(const struct search *s, const struct pack_advise_config *config)
{
    struct pack_grid grid;
    uint64_t n = SAMPLES_MIN;
    if (config->chunk.rank &&
        pack_advise_grid(s->params, &config->chunk, &grid, NULL) == PACK_OK)
        n += 8 * (config->cache.size_bytes / grid.chunk_bytes);
    return n < SAMPLES_MAX ? n : SAMPLES_MAX;
}

static enum pack_status
sample_batch(struct search *s, struct candidate **batch, size_t n, struct pack_error *err)
{
    const struct pack_advise_config *configs[BATCH] = { NULL };
    uint64_t max_samples[BATCH] = { 0 };
    struct pack_advise_outcome *out = s->sampled + s->n_sampled;
    for (size_t i = 0; i < n; i++) {
        configs[i] = &s->list.config[batch[i]->config];
        max_samples[i] = sample_length(s, configs[i]);
        batch[i]->is_sampled = true;
    }
    enum pack_status status =
        pack_advise_evaluate_all(s->params, configs, n, max_samples, out, err);
    for (size_t i = 0; status == PACK_OK && i < n; i++)
        s->result->n_visits += out[i].first.requests + out[i].steady.requests;
    s->n_sampled += n;
    return status == PACK_OK ? tell(s, n, err) : status;
}

static enum pack_status
sample_all(struct search *s, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    size_t next = 0;
    while (status == PACK_OK && next < s->list.n && s->n_sampled + BATCH <= SAMPLED_MAX) {
        struct candidate *batch[BATCH];
        size_t n = 0;
        for (; next < s->list.n && n < BATCH; next++)
            if (is_user_chunk(s, &s->candidates[next].bound.config) ||
                !is_beaten(s, &s->candidates[next].bound))
                batch[n++] = &s->candidates[next];
        if (n)
            status = sample_batch(s, batch, n, err);
    }
    return status;
}

/* --------------------------------------------------------------- finalists */

static bool
same_layout(const struct pack_advise_outcome *a, const struct pack_advise_outcome *b)
{
    return pack_shape_equal(&a->config.chunk, &b->config.chunk) &&
           strcmp(a->config.codec, b->config.codec) == 0;
}

static bool
same_kind(const struct pack_advise_outcome *a, const struct pack_advise_outcome *b)
{
    return same_layout(a, b) && a->config.pattern.kind == b->config.pattern.kind &&
           fabs(a->rate - b->rate) <= 0.02 * b->rate;
}

/* What would be chosen now, the user's shapes, the front, one of each other layout;
 * returns how many. */
static size_t
pick(struct search *s, struct pack_advise_outcome *o, size_t n, size_t max,
     const struct pack_advise_config **picked)
{
    const struct pack_advise_outcome *chosen[EXACT_MAX];
    size_t n_picked = 0, best = pack_advise_choose(s->params, o, n);
    chosen[n_picked] = &o[best];
    picked[n_picked++] = &o[best].config;
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < n && n_picked < max; i++) {
            bool wanted = pass == 0   ? is_user_chunk(s, &o[i].config)
                          : pass == 1 ? o[i].is_front
                                      : true;
            for (size_t j = 0; wanted && j < n_picked; j++)
                wanted = pass == 1 ? !same_kind(chosen[j], &o[i])
                                   : !same_layout(chosen[j], &o[i]);
            if (wanted) {
                chosen[n_picked] = &o[i];
                picked[n_picked++] = &o[i].config;
            }
        }
    }
    return n_picked;
}

/* Simulates the finalists in full, then gives the choice its final slots. */
static enum pack_status
settle(struct search *s, struct pack_error *err)
{
    const struct pack_advise_config *picked[EXACT_MAX];
    qsort(s->sampled, s->n_sampled, sizeof *s->sampled, pack_advise_by_rate);
    pack_advise_mark_front(s->sampled, s->n_sampled);
    size_t n = pick(s, s->sampled, s->n_sampled, EXACT_MAX, picked);
    enum pack_status status =
        pack_advise_evaluate_all(s->params, picked, n, NULL, s->exact, err);
    s->n_exact = n;
    if (status == PACK_OK)
        status = tell(s, 4 * n, err);
    for (int round = 0; status == PACK_OK && round < SLOTS_ROUNDS; round++) {
        size_t best = pack_advise_choose(s->params, s->exact, s->n_exact);
        struct pack_advise_config config = s->exact[best].config;
        if (config.chunk.rank == 0 || pack_advise_has_default_cache(&config) ||
            config.cache.n_slots == 0 || s->params->cache_is_fixed)
            break;
        uint64_t before = config.cache.n_slots;
        status = pack_advise_slots(s->params, &config, err);
        if (status == PACK_OK && config.cache.n_slots != before)
            status = pack_advise_evaluate(s->params, &config, 0, &s->exact[best], err);
    }
    return status;
}

static void
publish(struct search *s)
{
    struct pack_advise_result *r = s->result;
    size_t best = pack_advise_choose(s->params, s->exact, s->n_exact);
    struct pack_advise_outcome choice = s->exact[best];
    s->exact[best] = s->exact[0];
    s->exact[0] = choice;
    qsort(s->exact + 1, s->n_exact - 1, sizeof *s->exact, pack_advise_by_rate);
    pack_advise_mark_front(s->exact, s->n_exact);
    for (size_t i = 0; i < s->n_exact && r->n_rows < PACK_ADVISE_ROWS_MAX; i++) {
        struct pack_advise_outcome *o = &s->exact[i];
        o->is_user = is_user_chunk(s, &o->config);
        r->rows[r->n_rows++] = *o;
        r->n_visits += o->first.requests + o->steady.requests;
    }
    r->n_exact = s->n_exact;
}

static enum pack_status
evaluate_now(struct search *s, struct pack_error *err)
{
    const struct pack_advise_params *p = s->params;
    struct pack_advise_result *r = s->result;
    if (!p->now)
        return PACK_OK;
    enum pack_status status = pack_advise_evaluate(p, p->now, 0, &r->now, err);
    r->has_now = status == PACK_OK;
    if (status != PACK_OK || !pack_advise_has_default_cache(p->now))
        return status;
    struct pack_advise_params as = *p;
    struct pack_advise_config config = *p->now;
    const enum pack_hdf5_version versions[2] = { PACK_HDF5_1_10, PACK_HDF5_2_0 };
    struct pack_advise_outcome *outcomes[2] = { &r->version_1, &r->version_2 };
    for (int i = 0; status == PACK_OK && i < 2; i++) {
        as.version = versions[i];
        pack_cache_params_defaults(&config.cache, versions[i]);
        if (config.cache.version == p->now->cache.version)
            *outcomes[i] = r->now;
        else
            status = pack_advise_evaluate(&as, &config, 0, outcomes[i], err);
    }
    r->has_versions = status == PACK_OK;
    return status;
}

static enum pack_status
check(const struct pack_advise_params *p, struct pack_error *err)
{
    char text[PACK_BYTES_TEXT_MAX];
    uint64_t budget = pack_advise_budget(p), elements, bytes;
    if (!pack_shape_count(&p->extent, &elements) ||
        !pack_size_mul(elements, p->elem_size, &bytes))
        return pack_fail(err, PACK_ERR_LIMIT,
                         "the dataset has more bytes than 64 bits count");
    if (p->elem_size == 0 || bytes == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "the dataset is empty");
    for (size_t i = 0; i < p->n_chunks; i++) {
        struct pack_grid grid;
        enum pack_status status = pack_advise_grid(p, &p->chunks[i], &grid, err);
        if (status != PACK_OK)
            return status;
    }
    uint64_t least = p->elem_size; /* the smallest chunk there is a candidate for */
    double wanted = pack_advise_wanted_bytes(p);
    least = wanted < 4096 ? (uint64_t)wanted : 4096;
    if (budget < least)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "memory for %llu workers is too small: "
                         "%s each do not hold one chunk",
                         (unsigned long long)pack_advise_workers(p),
                         pack_bytes_format(budget, text));
    return PACK_OK;
}

static void
meet_target(const struct pack_advise_params *p, struct pack_advise_result *r)
{
    const struct pack_advise_outcome *o = &r->rows[0];
    double per_worker = o->rate / (double)pack_advise_workers(p);
    if (p->target <= 0)
        return;
    r->target_is_reached = o->rate >= p->target;
    r->target_echo = fmax(1, p->target / o->rate);
    double workers = ceil(p->target / per_worker);
    if (!r->target_is_reached && workers <= (double)p->profile->n_cpus)
        r->target_workers = (uint64_t)workers;
}

enum pack_status
pack_advise_what_if(const struct pack_advise_params *params,
                    const struct pack_advise_config *config,
                    struct pack_advise_result *result, struct pack_error *err)
{
    memset(result, 0, sizeof *result);
    enum pack_status status = check(params, err);
    if (status == PACK_OK)
        status = pack_advise_evaluate(params, config, 0, &result->rows[0], err);
    if (status != PACK_OK)
        return status;
    struct pack_advise_outcome *o = &result->rows[0];
    result->n_rows = result->n_exact = result->n_candidates = 1;
    result->n_visits = o->first.requests + o->steady.requests;
    meet_target(params, result);
    pack_advise_cause(params, o, result->cause);
    status = pack_advise_policies(params, o, err);
    return status == PACK_OK ? pack_advise_warn(params, result, err) : status;
}

enum pack_status
pack_advise(const struct pack_advise_params *params, struct pack_advise_result *result,
            struct pack_error *err)
{
    struct search *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "search");
    memset(result, 0, sizeof *result);
    s->params = params;
    s->result = result;
    s->total = SAMPLED_MAX + 4 * EXACT_MAX;
    enum pack_status status = check(params, err);
    if (status == PACK_OK)
        status = evaluate_now(s, err);
    if (status == PACK_OK)
        status = pack_advise_candidates(params, &s->list, err);
    if (status == PACK_OK)
        status = bound_all(s, err);
    if (status == PACK_OK)
        status = sample_all(s, err);
    if (status == PACK_OK)
        status = settle(s, err);
    if (status == PACK_OK) {
        publish(s);
        result->n_candidates = s->list.n;
        result->n_sampled = s->n_sampled;
        result->n_bounded = s->list.n - s->n_sampled;
        meet_target(params, result);
        pack_advise_explain(params, result);
        status = pack_advise_policies(params, &result->rows[0], err);
    }
    if (status == PACK_OK && result->has_now)
        status = pack_advise_policies(params, &result->now, err);
    if (status == PACK_OK)
        status = pack_advise_warn(params, result, err);
    if (status == PACK_OK)
        status = pack_advise_chart(params, result, err);
    free(s->list.config);
    free(s->candidates);
    free(s->sampled);
    free(s);
    return status;
}
