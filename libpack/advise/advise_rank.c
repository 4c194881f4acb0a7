/*
 * Which of two outcomes is better, which of many are worth showing, which one to choose.
 * Functions of outcomes alone, so that measured ones can stand where modelled ones did.
 */
#include <math.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"

bool
pack_advise_has_default_cache(const struct pack_advise_config *config)
{
    struct pack_cache_params usual;
    pack_cache_params_defaults(&usual, config->cache.version);
    return usual.n_slots == config->cache.n_slots &&
           usual.size_bytes == config->cache.size_bytes && usual.w0 == config->cache.w0;
}

/* By elements, then along the slowest axis first. */
int
pack_advise_compare_shapes(const struct pack_shape *a, const struct pack_shape *b)
{
    uint64_t an = 1, bn = 1;
    (void)pack_shape_count(a, &an);
    (void)pack_shape_count(b, &bn);
    for (int i = 0; an == bn && i < a->rank && i < b->rank; i++) {
        an = a->extent[i];
        bn = b->extent[i];
    }
    return an < bn ? -1 : an > bn;
}

int
pack_advise_memory_step(double bytes)
{
    return ilogb(fmax(bytes, 32 << 20));
}

/* Less to set, less to explain: the version's defaults, then no cache at all. */
static int
plainness(const struct pack_advise_config *config)
{
    if (pack_advise_has_default_cache(config))
        return 0;
    return config->cache.size_bytes == 0 ? 1 : 2;
}

/* Plainer settings, less memory, chunks (which can be compressed and extended), the
 * smaller file. */
int
pack_advise_compare_cost(const struct pack_advise_outcome *a,
                         const struct pack_advise_outcome *b)
{
    int ap = plainness(&a->config), bp = plainness(&b->config);
    int am = pack_advise_memory_step(a->memory_bytes),
        bm = pack_advise_memory_step(b->memory_bytes);
    bool ac = a->config.chunk.rank != 0, bc = b->config.chunk.rank != 0;
    if (ap != bp)
        return ap < bp ? -1 : 1;
    if (am != bm)
        return am < bm ? -1 : 1;
    if (ac != bc)
        return ac ? -1 : 1;
    if (fabs(a->file_bytes - b->file_bytes) > 0.01 * b->file_bytes)
        return a->file_bytes < b->file_bytes ? -1 : 1;
    return 0;
}

static const double slack = 1.01, memory_floor = 32 << 20;

/* a is at least as good as b in every respect, within a percent. */
static bool
is_no_worse(const struct pack_advise_outcome *a, const struct pack_advise_outcome *b)
{
    return a->rate * slack >= b->rate &&
           a->memory_bytes <= fmax(b->memory_bytes, memory_floor) * slack &&
           a->file_bytes <= b->file_bytes * slack &&
           a->randomness * slack >= b->randomness;
}

/* ... and better in one. */
static bool
dominates(const struct pack_advise_outcome *a, const struct pack_advise_outcome *b)
{
    return is_no_worse(a, b) &&
           (a->rate > b->rate * slack ||
            fmax(a->memory_bytes, memory_floor) * slack < b->memory_bytes ||
            a->file_bytes * slack < b->file_bytes ||
            a->randomness > b->randomness * slack);
}

/* Of equals, the first is on the front. */
void
pack_advise_mark_front(struct pack_advise_outcome *o, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        o[i].is_front = true;
        for (size_t j = 0; j < n && o[i].is_front; j++)
            o[i].is_front =
                j == i ||
                !(dominates(&o[j], &o[i]) ||
                  (j < i && !dominates(&o[i], &o[j]) && is_no_worse(&o[j], &o[i])));
    }
}

/* Rates within a percent or so of each other share a step. */
static int
rate_step(double rate)
{
    return rate > 0 ? (int)floor(100 * log(rate)) : 0;
}

/* Best first: rate in steps, then what it costs; a total order,
 * so that sorting repeats. */
int
pack_advise_by_rate(const void *x, const void *y)
{
    const struct pack_advise_outcome *a = x, *b = y;
    int as = rate_step(a->rate), bs = rate_step(b->rate), cost;
    if (as != bs)
        return as < bs ? 1 : -1;
    cost = pack_advise_compare_cost(a, b);
    if (cost == 0)
        cost = pack_advise_compare_shapes(&a->config.chunk, &b->config.chunk);
    if (cost)
        return cost;
    if (a->randomness != b->randomness)
        return a->randomness < b->randomness ? 1 : -1;
    return a->rate < b->rate ? 1 : a->rate > b->rate ? -1 : 0;
}

/* --------------------------------------------------------------- contenders */

enum pack_advise_access
pack_advise_access(const struct pack_advise_params *params,
                   const struct pack_advise_outcome *o)
{
    const struct pack_advise_config *config = &o->config;
    struct pack_grid grid;
    if (config->chunk.rank == 0 ||
        pack_advise_grid(params, &config->chunk, &grid, NULL) != PACK_OK)
        return PACK_ADVISE_BYPASS;
    if (strcmp(config->codec, "none") == 0 && grid.chunk_bytes > config->cache.size_bytes)
        return PACK_ADVISE_BYPASS;
    return o->hit_rate >= 0.5 ? PACK_ADVISE_HOLD : PACK_ADVISE_LOAD;
}

unsigned
pack_advise_kind_of(const struct pack_advise_params *params,
                    const struct pack_advise_outcome *o)
{
    unsigned kind = (unsigned)pack_advise_access(params, o);
    kind = 4 * kind + (unsigned)pack_advise_change_of(params, &o->config);
    kind = 2 * kind + (strcmp(o->config.codec, "none") != 0);
    return 16 * kind + (unsigned)o->config.pattern.kind;
}

/* ---------------------------------------------------------------- choosing */

static bool
same_cache(const struct pack_cache_params *a, const struct pack_cache_params *b)
{
    return a->n_slots == b->n_slots && a->size_bytes == b->size_bytes && a->w0 == b->w0;
}

/* Where nothing is stored today everything has to be written. */
enum pack_advise_change
pack_advise_change_of(const struct pack_advise_params *params,
                      const struct pack_advise_config *config)
{
    const struct pack_advise_config *now = params->now;
    if (!now || !pack_advise_same_layout(config, now))
        return PACK_ADVISE_REWRITE;
    if (config->pattern.kind != now->pattern.kind ||
        config->pattern.pool_chunks != now->pattern.pool_chunks ||
        config->pattern.local != now->pattern.local)
        return PACK_ADVISE_ORDER;
    bool same = config->reopen == now->reopen &&
                (now->chunk.rank == 0 || same_cache(&config->cache, &now->cache));
    return same ? PACK_ADVISE_KEEP : PACK_ADVISE_SETTINGS;
}

/* By how much a configuration has to be faster than today's. */
static double
gain_wanted(const struct pack_advise_params *params,
            const struct pack_advise_config *config)
{
    switch (pack_advise_change_of(params, config)) {
    case PACK_ADVISE_KEEP: return 0;
    case PACK_ADVISE_REWRITE: return pack_advise_min_gain(params);
    default: return PACK_ADVISE_EQUAL_GAIN;
    }
}

double
pack_advise_most_random(const struct pack_advise_outcome *outcomes, size_t n)
{
    double random = 0;
    for (size_t i = 0; i < n; i++)
        random = fmax(random, outcomes[i].randomness);
    return random;
}

bool
pack_advise_is_possible(const struct pack_advise_params *params,
                        const struct pack_advise_outcome *o, double random)
{
    double budget = 1.1 * (double)pack_advise_budget(params) *
                    (double)pack_advise_workers(params);
    return o->randomness >= 0.9 * random && o->memory_bytes <= budget;
}

bool
pack_advise_is_explained(const struct pack_advise_params *params,
                         const struct pack_advise_outcome *other,
                         const struct pack_advise_outcome *o)
{
    return pack_advise_change_of(params, &o->config) != PACK_ADVISE_REWRITE ||
           o->modelled_rate >= PACK_ADVISE_EQUAL_GAIN * other->modelled_rate;
}

bool
pack_advise_is_eligible(const struct pack_advise_params *params,
                        const struct pack_advise_outcome *now,
                        const struct pack_advise_outcome *o, double random)
{
    if (now && pack_advise_change_of(params, &o->config) == PACK_ADVISE_KEEP)
        return o->fits;
    if (!pack_advise_is_possible(params, o, random))
        return false;
    if (now && now->basis != PACK_ADVISE_PREDICTED &&
        (o->basis == PACK_ADVISE_PREDICTED || (o->gain_low > 0 && o->gain_low < 1)))
        return false;
    if (!now || !now->fits)
        return true;
    return pack_advise_is_explained(params, now, o) &&
           o->rate >= gain_wanted(params, &o->config) * now->rate;
}

/* In steps of 2 %: less of a difference is noise. */
static long
random_step(const struct pack_advise_outcome *o)
{
    return lround(20 * o->randomness);
}

/* a rather than b, both fast enough: more random; less to pay; or the same, and it alone is
 * at least `fast`; or it has the smaller chunk, which depends less on how it is read. */
static bool
prefer(const struct pack_advise_params *params, const struct pack_advise_outcome *a,
       const struct pack_advise_outcome *b, double fast)
{
    bool af = a->rate >= fast, bf = b->rate >= fast;
    enum pack_pattern_kind asked = params->reading.pattern.kind;
    bool ao = a->config.pattern.kind == asked, bo = b->config.pattern.kind == asked;
    int cost = pack_advise_compare_cost(a, b);
    if (random_step(a) != random_step(b))
        return random_step(a) > random_step(b);
    if (ao != bo)
        return ao;
    if (cost)
        return cost < 0;
    if (af != bf)
        return af;
    cost = pack_advise_compare_shapes(&a->config.chunk, &b->config.chunk);
    return cost < 0 || (cost == 0 && a->rate > b->rate);
}

static bool
is_rewrite(const struct pack_advise_params *params, const struct pack_advise_outcome *o)
{
    return pack_advise_change_of(params, &o->config) == PACK_ADVISE_REWRITE;
}

/* Of the eligible ones that need the file to be written anew, or of those that do not, the
 * preferred one among those that equal the fastest; NULL: there is none. */
static const struct pack_advise_outcome *
best_of(const struct pack_advise_params *params, const struct pack_advise_outcome *now,
        const struct pack_advise_outcome *o, size_t n, double random, bool rewritten)
{
    const struct pack_advise_outcome *best = NULL;
    double rate = 0;
    for (size_t i = 0; i < n; i++)
        if (is_rewrite(params, &o[i]) == rewritten &&
            pack_advise_is_eligible(params, now, &o[i], random))
            rate = fmax(rate, o[i].rate);
    for (size_t i = 0; i < n; i++) {
        if (is_rewrite(params, &o[i]) != rewritten ||
            o[i].rate * PACK_ADVISE_EQUAL_GAIN <= rate ||
            !pack_advise_is_eligible(params, now, &o[i], random))
            continue;
        if (!best || prefer(params, &o[i], best, 0.98 * rate))
            best = &o[i];
    }
    return best;
}

/* What settings or an order give the file as it is, a rewrite has to surpass by as much as
 * today's, and by reasons as good; one that is more random need only equal it. */
static bool
is_worth_writing(const struct pack_advise_params *params,
                 const struct pack_advise_outcome *written,
                 const struct pack_advise_outcome *kept)
{
    if (random_step(written) > random_step(kept))
        return written->rate * PACK_ADVISE_EQUAL_GAIN > kept->rate;
    return written->rate >= pack_advise_min_gain(params) * kept->rate &&
           (kept->basis == PACK_ADVISE_PREDICTED ||
            pack_advise_is_explained(params, kept, written));
}

size_t
pack_advise_choose(const struct pack_advise_params *params,
                   const struct pack_advise_outcome *now,
                   const struct pack_advise_outcome *o, size_t n)
{
    bool is_lone = now && now->fits && pack_advise_is_lone(params);
    /* where it is lone nothing else is possible */
    double random = is_lone ? HUGE_VAL : pack_advise_most_random(o, n);
    const struct pack_advise_outcome *kept = best_of(params, now, o, n, random, false),
                                     *written = best_of(params, now, o, n, random, true);
    if (written && (!kept || is_worth_writing(params, written, kept)))
        return (size_t)(written - o);
    return kept ? (size_t)(kept - o) : 0;
}
