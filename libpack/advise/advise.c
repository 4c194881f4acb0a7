/*
 * The search, in stages, each dearer and for fewer configurations:
 *
 *     candidates   some hundreds to thousands
 *     bounds       closed form; sorted by what each can reach at most
 *     sampled      the first reads of one worker, unless one already sampled beats the
 *                  bound with no more memory, file or order given up
 *     exact        every read of one worker: the user's shapes, today's file under other
 *                  settings, the best of the front
 *     slots        the smallest sufficient number for the choice, then exact again
 *     settling     the choice among these and today's, see advise_settle.c
 *
 * Batches of fixed size go to the threads and come back in order, so that what is dropped
 * never depends on timing.
 */
#include <libpack/advise.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/check.h"
#include "libpack/base/large.h"

enum {
    BATCH = 16,         /* evaluated between two looks at what may be dropped */
    SAMPLED_MAX = 320,  /* configurations */
    USER_MAX = 120,     /* of these, for the user's shapes */
    SAMPLES_MIN = 6000, /* per sampled configuration */
    SAMPLES_MAX = 60000,
    EXACT_MAX = 20,
    SLOTS_ROUNDS = 2,
    BRIEF_MAX = 1 << 17 /* samples of a finalist, where that is enough */
};

/* -------------------------------------------------------------- the search */

struct candidate {
    size_t config; /* in the list */
    struct pack_advise_outcome bound;
    bool is_wanted; /* sampled in any case */
};

struct search {
    const struct pack_advise_params *params;
    struct pack_advise_list list;
    struct candidate *candidates; /* by bound, best first */
    struct pack_advise_outcome *sampled;
    size_t n_sampled;
    struct pack_advise_outcome exact[EXACT_MAX + 1]; /* and `now` */
    size_t n_exact;
    double random;        /* the most random outcome's randomness */
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

static bool
needs_rewrite(const struct search *s, const struct pack_advise_outcome *o)
{
    return pack_advise_change_of(s->params, &o->config) == PACK_ADVISE_REWRITE;
}

/* The most promising ones of each of the user's shapes, and whatever needs no rewrite:
 * bounds know nothing of collisions, so that one of each is not enough. */
static void
want(struct search *s)
{
    size_t n_chunks = s->params->storing.n_chunks;
    for (size_t k = 0; k < n_chunks; k++) {
        size_t left = USER_MAX / n_chunks;
        for (size_t i = 0; i < s->list.n && left; i++) {
            struct candidate *c = &s->candidates[i];
            if (pack_shape_equal(&c->bound.config.chunk, &s->params->storing.chunks[k])) {
                c->is_wanted = true;
                left--;
            }
        }
    }
    for (size_t i = 0; i < s->list.n; i++)
        if (!needs_rewrite(s, &s->candidates[i].bound))
            s->candidates[i].is_wanted = true;
}

static enum pack_status
bound_all(struct search *s, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    s->candidates = pack_apart_alloc(s->list.n + 1, sizeof *s->candidates);
    s->sampled = pack_apart_alloc(SAMPLED_MAX, sizeof *s->sampled);
    if (!s->candidates || !s->sampled)
        return pack_fail_memory(err, "candidates");
    for (size_t i = 0; status == PACK_OK && i < s->list.n; i++) {
        s->candidates[i].config = i;
        status = pack_advise_bound(s->params, &s->list.config[i], &s->candidates[i].bound,
                                   err);
    }
    qsort(s->candidates, s->list.n, sizeof *s->candidates, by_bound);
    want(s);
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
    for (size_t i = 0; i < s->params->storing.n_chunks; i++)
        if (pack_shape_equal(&config->chunk, &s->params->storing.chunks[i]))
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
            pack_advise_memory_step(o->memory_bytes) <=
                pack_advise_memory_step(bound->memory_bytes) &&
            o->file_bytes <= 1.02 * bound->file_bytes &&
            needs_rewrite(s, o) <= needs_rewrite(s, bound) &&
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
    }
    enum pack_status status =
        pack_advise_evaluate_all(s->params, configs, n, max_samples, out, err);
    for (size_t i = 0; status == PACK_OK && i < n; i++)
        s->result->n_visits += out[i].first.requests + out[i].steady.requests;
    s->n_sampled += n;
    return status == PACK_OK ? tell(s, n, err) : status;
}

/* Those wanted in any case, or else those that nothing sampled beats. */
static enum pack_status
sample_those(struct search *s, bool wanted, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    size_t next = 0;
    while (status == PACK_OK && next < s->list.n && s->n_sampled + BATCH <= SAMPLED_MAX) {
        struct candidate *batch[BATCH];
        size_t n = 0;
        for (; next < s->list.n && n < BATCH; next++) {
            struct candidate *c = &s->candidates[next];
            if (c->is_wanted == wanted && (wanted || !is_beaten(s, &c->bound)))
                batch[n++] = c;
        }
        if (n)
            status = sample_batch(s, batch, n, err);
    }
    return status;
}

static enum pack_status
sample_all(struct search *s, struct pack_error *err)
{
    enum pack_status status = sample_those(s, true, err);
    return status == PACK_OK ? sample_those(s, false, err) : status;
}

/* --------------------------------------------------------------- finalists */

static bool
same_layout(const struct pack_advise_outcome *a, const struct pack_advise_outcome *b)
{
    return pack_shape_equal(&a->config.chunk, &b->config.chunk) &&
           strcmp(a->config.codec, b->config.codec) == 0;
}

static bool
alike(const struct pack_advise_outcome *a, const struct pack_advise_outcome *b)
{
    return same_layout(a, b) && a->config.pattern.kind == b->config.pattern.kind &&
           fabs(a->rate - b->rate) <= 0.02 * b->rate;
}

static const struct pack_advise_outcome *
now_of(const struct search *s)
{
    return s->result->has_now ? &s->result->now : NULL;
}

/* In this order: the user's shapes, the best of each kind that can be chosen, the fastest
 * of each order without a rewrite, the front, one of each other layout. */
enum pass { USER, KINDS, NO_REWRITE, FRONT, LAYOUTS, N_PASSES };

static bool
is_picked_in(const struct search *s, enum pass pass, const struct pack_advise_outcome *o,
             const struct pack_advise_outcome *const *chosen, size_t n)
{
    bool wanted = pass == USER         ? is_user_chunk(s, &o->config)
                  : pass == KINDS      ? pack_advise_is_possible(s->params, o, s->random)
                  : pass == NO_REWRITE ? !needs_rewrite(s, o)
                  : pass == FRONT      ? o->is_front
                                       : true;
    for (size_t j = 0; wanted && j < n; j++)
        wanted = pass == FRONT ? !alike(chosen[j], o)
                 : pass == KINDS ? pack_advise_kind_of(s->params, chosen[j]) !=
                                       pack_advise_kind_of(s->params, o)
                 : pass == NO_REWRITE
                     ? needs_rewrite(s, chosen[j]) ||
                           chosen[j]->config.pattern.kind != o->config.pattern.kind
                     : !same_layout(chosen[j], o);
    return wanted;
}

/* What would be chosen now, then by pass; returns how many. */
static size_t
pick(struct search *s, struct pack_advise_outcome *o, size_t n, size_t max,
     const struct pack_advise_config **picked)
{
    const struct pack_advise_outcome *chosen[EXACT_MAX];
    size_t n_picked = 0, best = pack_advise_choose(s->params, now_of(s), o, n);
    s->random = pack_advise_most_random(o, n);
    if (n == 0)
        return 0;
    chosen[n_picked] = &o[best];
    picked[n_picked++] = &o[best].config;
    for (int pass = 0; pass < N_PASSES; pass++) {
        for (size_t i = 0; i < n && n_picked < max; i++) {
            if (is_picked_in(s, (enum pass)pass, &o[i], chosen, n_picked)) {
                chosen[n_picked] = &o[i];
                picked[n_picked++] = &o[i].config;
            }
        }
    }
    return n_picked;
}

/* Of a finalist: all of its samples. */
static uint64_t
full_length(const struct search *s)
{
    return s->params->goal.is_brief ? BRIEF_MAX : 0;
}

/* The smallest sufficient number of slots for what would be chosen. */
static enum pack_status
trim_slots(struct search *s, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (int round = 0; status == PACK_OK && round < SLOTS_ROUNDS; round++) {
        size_t best = pack_advise_choose(s->params, now_of(s), s->exact, s->n_exact);
        struct pack_advise_config config = s->exact[best].config;
        if (config.chunk.rank == 0 || pack_advise_has_default_cache(&config) ||
            config.cache.n_slots == 0 || s->params->cache.is_fixed ||
            s->exact[best].is_now)
            break;
        uint64_t before = config.cache.n_slots;
        status = pack_advise_slots(s->params, &config, err);
        if (status == PACK_OK && config.cache.n_slots != before)
            status = pack_advise_evaluate(s->params, &config, full_length(s), &s->exact[best],
                                          err);
    }
    return status;
}

/* Simulates the finalists in full. */
static enum pack_status
finish(struct search *s, struct pack_error *err)
{
    const struct pack_advise_config *picked[EXACT_MAX];
    uint64_t max_samples[EXACT_MAX];
    qsort(s->sampled, s->n_sampled, sizeof *s->sampled, pack_advise_by_rate);
    pack_advise_mark_front(s->sampled, s->n_sampled);
    size_t n = pick(s, s->sampled, s->n_sampled, EXACT_MAX, picked);
    for (size_t i = 0; i < n; i++)
        max_samples[i] = full_length(s);
    enum pack_status status =
        pack_advise_evaluate_all(s->params, picked, n, max_samples, s->exact, err);
    s->n_exact = n;
    if (s->result->has_now) {
        s->exact[s->n_exact] = s->result->now;
        s->exact[s->n_exact++].is_now = true;
    }
    if (status == PACK_OK)
        status = tell(s, 4 * n, err);
    return status == PACK_OK ? trim_slots(s, err) : status;
}

/* Whether none of the rows is of this one's kind. */
static bool
is_new_kind(const struct search *s, const struct pack_advise_outcome *o)
{
    const struct pack_advise_result *r = s->result;
    bool is_new = pack_advise_is_possible(s->params, o, s->random);
    for (size_t j = 0; j < r->n_rows && is_new; j++)
        is_new = pack_advise_kind_of(s->params, &r->rows[j]) !=
                 pack_advise_kind_of(s->params, o);
    return is_new;
}

/* The choice, today's row, the best row of each of the user's shapes and of each kind;
 * then by rate. */
static void
publish(struct search *s)
{
    struct pack_advise_result *r = s->result;
    bool taken[EXACT_MAX + 1] = { false };
    for (size_t i = 0; i < s->n_exact; i++)
        s->exact[i].is_user = is_user_chunk(s, &s->exact[i].config);
    size_t best = pack_advise_choose(s->params, now_of(s), s->exact, s->n_exact);
    struct pack_advise_outcome choice = s->exact[best];
    s->exact[best] = s->exact[0];
    s->exact[0] = choice;
    qsort(s->exact + 1, s->n_exact - 1, sizeof *s->exact, pack_advise_by_rate);
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < s->n_exact && r->n_rows < PACK_ADVISE_ROWS_MAX; i++) {
            const struct pack_advise_outcome *o = &s->exact[i];
            bool first_of_shape = o->is_user;
            for (size_t j = 0; j < r->n_rows && first_of_shape; j++)
                first_of_shape =
                    !pack_shape_equal(&r->rows[j].config.chunk, &o->config.chunk);
            if (taken[i] || (pass == 0 && i > 0 && !o->is_now && !first_of_shape) ||
                (pass == 1 && !is_new_kind(s, o)))
                continue;
            taken[i] = true;
            r->rows[r->n_rows++] = *o;
        }
    }
    for (size_t i = 0; i < s->n_exact; i++)
        r->n_visits += s->exact[i].first.requests + s->exact[i].steady.requests;
    r->n_exact = s->n_exact;
}

static enum pack_status
evaluate_now(struct search *s, struct pack_error *err)
{
    const struct pack_advise_params *p = s->params;
    struct pack_advise_result *r = s->result;
    if (!p->now)
        return PACK_OK;
    enum pack_status status = pack_advise_evaluate(p, p->now, full_length(s), &r->now, err);
    r->has_now = status == PACK_OK;
    if (status != PACK_OK || p->goal.is_brief || !pack_advise_has_default_cache(p->now))
        return status;
    struct pack_advise_params as = *p;
    struct pack_advise_config config = *p->now;
    const enum pack_hdf5_version versions[2] = { PACK_HDF5_1_10, PACK_HDF5_2_0 };
    struct pack_advise_outcome *outcomes[2] = { &r->version_1, &r->version_2 };
    for (int i = 0; status == PACK_OK && i < 2; i++) {
        as.cache.version = versions[i];
        pack_cache_params_defaults(&config.cache, versions[i]);
        if (config.cache.version == p->now->cache.version)
            *outcomes[i] = r->now;
        else
            status = pack_advise_evaluate(&as, &config, 0, outcomes[i], err);
    }
    r->has_versions = status == PACK_OK;
    return status;
}

enum pack_status
pack_advise_what_if(const struct pack_advise_params *params,
                    const struct pack_advise_config *config,
                    struct pack_advise_result *result, struct pack_error *err)
{
    enum pack_status status = pack_check_given(err, "result", result, NULL);
    if (status == PACK_OK)
        status = pack_advise_check_search(params, err);
    if (status != PACK_OK)
        return status;
    memset(result, 0, sizeof *result);
    status = pack_advise_evaluate(params, config, 0, &result->rows[0], err);
    if (status != PACK_OK)
        return status;
    struct pack_advise_outcome *o = &result->rows[0];
    result->n_rows = result->n_exact = result->n_candidates = 1;
    result->n_visits = o->first.requests + o->steady.requests;
    pack_advise_cause(params, o, result->cause);
    return pack_advise_settle(params, result, err);
}

/* All stages, and what is said of what they find. */
static enum pack_status
find(struct search *s, struct pack_error *err)
{
    struct pack_advise_result *r = s->result;
    enum pack_status status = evaluate_now(s, err);
    if (status == PACK_OK)
        status = pack_advise_candidates(s->params, &s->list, err);
    if (status == PACK_OK)
        status = bound_all(s, err);
    if (status == PACK_OK)
        status = sample_all(s, err);
    if (status == PACK_OK)
        status = finish(s, err);
    if (status != PACK_OK)
        return status;
    publish(s);
    r->n_candidates = s->list.n;
    r->n_sampled = s->n_sampled;
    r->n_bounded = s->list.n - s->n_sampled;
    status = pack_advise_settle(s->params, r, err);
    if (status != PACK_OK || s->params->goal.is_brief)
        return status;
    if (r->has_now)
        status = pack_advise_policies(s->params, &r->now, err);
    return status == PACK_OK ? pack_advise_chart(s->params, r, err) : status;
}

enum pack_status
pack_advise(const struct pack_advise_params *params, struct pack_advise_result *result,
            struct pack_error *err)
{
    enum pack_status status = pack_check_given(err, "result", result, NULL);
    if (status == PACK_OK)
        status = pack_advise_check_search(params, err);
    if (status != PACK_OK)
        return status;
    struct search *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "search");
    memset(result, 0, sizeof *result);
    s->params = params;
    s->result = result;
    s->total = SAMPLED_MAX + 4 * EXACT_MAX;
    status = find(s, err);
    pack_apart_free(s->list.config);
    pack_apart_free(s->candidates);
    pack_apart_free(s->sampled);
    free(s);
    return status;
}
