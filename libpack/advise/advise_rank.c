/* Which of two outcomes is better, which of many are worth showing,
 * which one to choose. */
#include <math.h>

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

/* Which of two equally fast ones to prefer: less memory (in powers of two from 32 MiB
 * on), no settings to set, chunks (which can be compressed and extended), the smaller
 * file, smaller chunks (which other reads disturb less). */
int
pack_advise_compare_cost(const struct pack_advise_outcome *a,
                         const struct pack_advise_outcome *b)
{
    int am = ilogb(fmax(a->memory_bytes, 32 << 20)),
        bm = ilogb(fmax(b->memory_bytes, 32 << 20));
    bool ad = pack_advise_has_default_cache(&a->config),
         bd = pack_advise_has_default_cache(&b->config);
    bool ac = a->config.chunk.rank != 0, bc = b->config.chunk.rank != 0;
    if (am != bm)
        return am < bm ? -1 : 1;
    if (ad != bd)
        return ad ? -1 : 1;
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

/* a rather than b, both fast enough: it costs less; or the same, and it alone is at least
 * `fast`; or it has the smaller chunk, which depends less on how it is read. */
static bool
prefer(const struct pack_advise_outcome *a, const struct pack_advise_outcome *b,
       double fast)
{
    int cost = pack_advise_compare_cost(a, b);
    bool af = a->rate >= fast, bf = b->rate >= fast;
    if (cost)
        return cost < 0;
    if (af != bf)
        return af;
    cost = pack_advise_compare_shapes(&a->config.chunk, &b->config.chunk);
    return cost < 0 || (cost == 0 && a->rate > b->rate);
}

/* The preferred one among those as fast as the fastest within 5 %, and as random within
 * 10 %. */
size_t
pack_advise_choose(const struct pack_advise_params *params,
                   const struct pack_advise_outcome *o, size_t n)
{
    double random = 0, rate = 0,
           budget = 1.1 * (double)pack_advise_budget(params) *
                    (double)pack_advise_workers(params);
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        random = fmax(random, o[i].randomness);
    for (size_t i = 0; i < n; i++)
        if (o[i].randomness >= 0.9 * random && o[i].memory_bytes <= budget)
            rate = fmax(rate, o[i].rate);
    for (size_t i = 0; i < n; i++) {
        if (o[i].randomness < 0.9 * random || o[i].rate < 0.95 * rate ||
            o[i].memory_bytes > budget)
            continue;
        if (best == n || prefer(&o[i], &o[best], 0.98 * rate))
            best = i;
    }
    return best == n ? 0 : best;
}
