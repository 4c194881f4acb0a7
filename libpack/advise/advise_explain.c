/* Three sentences for the choice, one for what is lost today. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/numbers.h"
#include "libpack/findings/causes.h"

static double
data_bytes(const struct pack_advise_params *params)
{
    double bytes = (double)params->data.elem_size;
    for (int i = 0; i < params->data.extent.rank; i++)
        bytes *= (double)params->data.extent.extent[i];
    return bytes;
}

const char *
pack_advise_times(double factor, char text[32])
{
    snprintf(text, 32, factor < 100 ? "%.3g" : "%.0f", factor);
    return text;
}

static double
requests_per_sample(const struct pack_advise_outcome *o)
{
    return (double)o->steady.requests / o->steady_samples;
}

/* The terms of the cost, largest first: "storage 71 %, copying 12 %". */
static void
format_terms(const struct pack_cost *cost, char *text, size_t size)
{
    struct {
        const char *name;
        double ns;
    } term[] = {
        { "storage", cost->storage_ns },
        { "reading the page cache", cost->page_ns },
        { "decoding", cost->decode_ns },
        { "copying", cost->copy_ns },
        { "calls of HDF5", cost->call_ns },
        { "looking for chunks to evict", cost->walk_ns },
        { "fresh memory", cost->touch_ns },
    };
    size_t n = sizeof term / sizeof *term, used = 0;
    text[0] = '\0';
    for (int k = 0; k < 2; k++) {
        size_t most = 0;
        for (size_t i = 1; i < n; i++)
            if (term[i].ns > term[most].ns)
                most = i;
        double share = 100 * term[most].ns / cost->total_ns;
        if (k && share < 1)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s%s %.0f %%",
                                 k ? " and " : "", term[most].name, share);
        term[most].ns = -1;
    }
}

static void
why_layout(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
           char *text)
{
    char shape[PACK_SHAPE_TEXT_MAX], size[PACK_BYTES_TEXT_MAX];
    struct pack_grid grid;
    if (params->data.is_unwritten && o->change != PACK_ADVISE_REWRITE) {
        snprintf(text, PACK_ADVISE_TEXT_MAX,
                 "Nothing of it was ever written: what is read is the fill value, of which "
                 "nothing comes from the file, and no other layout is looked for; ask again "
                 "once it holds data.");
        return;
    }
    if (o->config.chunk.rank == 0) {
        snprintf(text, PACK_ADVISE_TEXT_MAX,
                 "Without chunks a sample is read in %s, %.2f bytes from the file "
                 "for each byte wanted, and nothing needs to be decoded or cached.",
                 pack_figured(o->loads_per_sample, "piece", "pieces").text, o->amplification);
        return;
    }
    (void)pack_advise_grid(params, &o->config.chunk, &grid, NULL);
    snprintf(text, PACK_ADVISE_TEXT_MAX,
             "With chunks of %.100s (%s) a sample touches %s and loads %s from "
             "the file: %.2f bytes for each byte wanted.",
             pack_shape_format(&o->config.chunk, shape),
             pack_bytes_format(grid.chunk_bytes, size),
             pack_figured(requests_per_sample(o), "chunk", "chunks").text,
             pack_figure(o->loads_per_sample).text, o->amplification);
}

static void
why_cache(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
          char *text)
{
    char size[PACK_BYTES_TEXT_MAX], total[PACK_BYTES_TEXT_MAX];
    const struct pack_cache_params *cache = &o->config.cache;
    struct pack_grid grid;
    if (o->config.chunk.rank == 0 || o->steady.hits + o->steady.loads == 0) {
        snprintf(text, PACK_ADVISE_TEXT_MAX,
                 "No chunk cache is needed: reads go past it and take exactly what they "
                 "ask for, and the memory for caches (%s) stays free.",
                 pack_bytes_format(params->machine.memory_bytes, total));
        return;
    }
    if (o->config.is_virtual) {
        snprintf(text, PACK_ADVISE_TEXT_MAX,
                 "A cache of %s for each of the %llu sources answers %.1f %% of the "
                 "requests; with %llu workers that is %s in all.",
                 pack_bytes_format(cache->size_bytes, size),
                 (unsigned long long)pack_advise_n_caches(params, &o->config),
                 100 * o->hit_rate, (unsigned long long)pack_advise_workers(params),
                 pack_bytes_format((uint64_t)o->memory_bytes, total));
        return;
    }
    (void)pack_advise_grid(params, &o->config.chunk, &grid, NULL);
    uint64_t held = cache->size_bytes / grid.chunk_bytes;
    if (held > grid.n_chunks_total)
        held = grid.n_chunks_total;
    snprintf(
        text, PACK_ADVISE_TEXT_MAX,
        "A cache of %s holds %llu of %s and answers %.1f %% of the requests; "
        "with %s that is %s in all.",
        pack_bytes_format(cache->size_bytes, size), (unsigned long long)held,
        pack_counted(grid.n_chunks_total, "chunk", "chunks").text, 100 * o->hit_rate,
        pack_counted(pack_advise_workers(params), "worker", "workers").text,
        pack_bytes_format((uint64_t)o->memory_bytes, total));
}

/* What somebody would have to change for it: "rdcc_nbytes=0", "chunks 8x64x64". */
static const char *
change_text(const struct pack_advise_outcome *o, char *text, size_t size)
{
    char shape[PACK_SHAPE_TEXT_MAX];
    const struct pack_advise_config *c = &o->config;
    if (o->change == PACK_ADVISE_SETTINGS)
        snprintf(text, size, "rdcc_nbytes=%llu", (unsigned long long)c->cache.size_bytes);
    else if (o->change == PACK_ADVISE_ORDER)
        snprintf(text, size, "a block shuffle of %llu chunks",
                 (unsigned long long)c->pattern.pool_chunks);
    else if (c->chunk.rank == 0)
        snprintf(text, size, "no chunks");
    else
        snprintf(text, size, "chunks %.60s, %.30s", pack_shape_format(&c->chunk, shape),
                 c->codec);
    return text;
}

/* The fastest of the other rows that could be chosen and are faster than `than`, among
 * measured ones where that was measured, or of all; NULL: none is. */
static const struct pack_advise_outcome *
faster(const struct pack_advise_params *params, const struct pack_advise_result *r,
       const struct pack_advise_outcome *than, bool of_all)
{
    const struct pack_advise_outcome *best = NULL;
    for (size_t i = 1; i < r->n_rows; i++) {
        const struct pack_advise_outcome *o = &r->rows[i];
        bool is_known = of_all || than->basis == PACK_ADVISE_PREDICTED ||
                        o->basis != PACK_ADVISE_PREDICTED;
        if (is_known && o->rate > (best ? best : than)->rate &&
            pack_advise_is_possible(params, o, than->randomness))
            best = o;
    }
    return best;
}

/* Why a rewrite is not proposed that gains so much: too little, or nobody knows why. */
static const char *
why_too_little(const struct pack_advise_params *params, double gain, char text[64])
{
    const double least = pack_advise_min_gain(params);
    if (gain >= least)
        return "as measured, which the model does not explain";
    snprintf(text, 64, "and writing the file anew pays from %.2f on", least);
    return text;
}

/* What the fastest of the others would have gained. Returns as snprintf. */
static int
why_keep(const struct pack_advise_params *params, const struct pack_advise_result *r,
         char *text, size_t size)
{
    if (pack_advise_is_lone(params))
        return snprintf(text, size,
                        "; an epoch reads one sample, so that there is nothing to choose: "
                        "no order, and nothing to find in a cache");
    const struct pack_advise_outcome *best = faster(params, r, &r->now, false),
                                     *guessed = faster(params, r, &r->now, true);
    char change[120], reason[64];
    if (!best && guessed && guessed->rate >= pack_advise_min_gain(params) * r->now.rate)
        return snprintf(text, size,
                        "; nothing that was measured is faster; %s is predicted to reach %.3g "
                        "times that, but could not be measured",
                        change_text(guessed, change, sizeof change),
                        guessed->rate / r->now.rate);
    if (!best)
        return snprintf(text, size, "; nothing that was tried is faster");
    double gain = best->rate / r->now.rate;
    change_text(best, change, sizeof change);
    if (best->gain_low > 0 && best->gain_low < 1)
        return snprintf(text, size,
                        "; the fastest of what was tried (%s) reaches %.2f times that, "
                        "but anything from %.2f to %.2f as measured, which may be a loss",
                        change, gain, best->gain_low, best->gain_high);
    if (best->change == PACK_ADVISE_REWRITE)
        return snprintf(text, size, "; the fastest of what was tried (%s) reaches %.2f times "
                                    "that, %s",
                        change, gain, why_too_little(params, gain, reason));
    return snprintf(text, size,
                    "; the fastest of what was tried (%s) reaches %.2f times that, and a change "
                    "pays from %.2f on",
                    change, gain, PACK_ADVISE_EQUAL_GAIN);
}

/* What a rewrite would add to settings or an order. Returns as snprintf. */
static int
why_not_written(const struct pack_advise_params *params, const struct pack_advise_result *r,
                char *text, size_t size)
{
    const struct pack_advise_outcome *choice = &r->rows[0], *o = faster(params, r, choice, false);
    char change[120], reason[64];
    if (!o || choice->change == PACK_ADVISE_REWRITE || o->change != PACK_ADVISE_REWRITE ||
        (o->gain_low > 0 && o->gain_low < 1)) /* which may be a loss */
        return 0;
    change_text(o, change, sizeof change);
    const double gain = o->rate / choice->rate;
    return snprintf(text, size, "; written anew (%s) it reaches %.2f times that, %s", change, gain,
                    why_too_little(params, gain, reason));
}

/* Whether another row is a rewrite into another layout that could be chosen as well. */
static bool
is_as_good(const struct pack_advise_params *params, const struct pack_advise_result *r,
           const struct pack_advise_outcome *o, const struct pack_advise_outcome *other)
{
    const double ratio = other->rate / o->rate;
    return other->change == PACK_ADVISE_REWRITE &&
           !pack_advise_same_layout(&other->config, &o->config) &&
           (o->basis == PACK_ADVISE_PREDICTED || other->basis != PACK_ADVISE_PREDICTED) &&
           other->config.pattern.kind == o->config.pattern.kind &&
           ratio < PACK_ADVISE_EQUAL_GAIN && ratio * PACK_ADVISE_EQUAL_GAIN > 1 &&
           pack_advise_is_eligible(params, r->has_now ? &r->now : NULL, other,
                                   pack_advise_most_random(r->rows, r->n_rows));
}

int
pack_advise_as_good(const struct pack_advise_params *params,
                    const struct pack_advise_result *r, const struct pack_advise_outcome *o,
                    char *text, size_t size)
{
    const struct pack_advise_outcome *good[PACK_ADVISE_ROWS_MAX], *best = NULL;
    char change[120];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; o->change == PACK_ADVISE_REWRITE && i < r->n_rows; i++) {
        const struct pack_advise_outcome *other = &r->rows[i];
        size_t k = 0;
        if (!is_as_good(params, r, o, other))
            continue;
        if (!best || other->rate > best->rate)
            best = other;
        while (k < n && !pack_advise_same_layout(&good[k]->config, &other->config))
            k++;
        if (k == n) /* with two caches it is one layout */
            good[n++] = other;
    }
    if (n == 0)
        return 0;
    change_text(best, change, sizeof change);
    return n == 1 ? snprintf(text, size, "%s would do as well", change)
                  : snprintf(text, size, "%zu other layouts would do as well, among them %s", n,
                             change);
}

static void
why_speed(const struct pack_advise_params *params, const struct pack_advise_result *r,
          char *text)
{
    const struct pack_advise_outcome *o = &r->rows[0];
    char terms[160], size[PACK_BYTES_TEXT_MAX], factor[32], other[200];
    int n;
    format_terms(&o->steady_cost, terms, sizeof terms);
    n = snprintf(text, PACK_ADVISE_TEXT_MAX, "Of the time of a read, %s", terms);
    if (o->page_cache_rate >= 1)
        n += snprintf(text + n, (size_t)(PACK_ADVISE_TEXT_MAX - n),
                      "; its %s fit in memory, so that from the second epoch on nothing "
                      "waits for storage, and reading the file once beforehand (preload) "
                      "speeds up the first epoch too",
                      pack_bytes_format((uint64_t)o->file_bytes, size));
    if (o->is_now)
        n += why_keep(params, r, text + n, (size_t)(PACK_ADVISE_TEXT_MAX - n));
    else if (r->has_now && r->now.rate > 0) {
        n += snprintf(text + n, (size_t)(PACK_ADVISE_TEXT_MAX - n),
                      "; today's %.0f samples/s become %.0f, %s times as many",
                      r->now.rate, o->rate, pack_advise_times(o->rate / r->now.rate, factor));
        n += why_not_written(params, r, text + n, (size_t)(PACK_ADVISE_TEXT_MAX - n));
        if (pack_advise_as_good(params, r, o, other, sizeof other))
            n += snprintf(text + n, (size_t)(PACK_ADVISE_TEXT_MAX - n), "; %s", other);
    }
    snprintf(text + n, (size_t)(PACK_ADVISE_TEXT_MAX - n), ".");
}

/* Samples are read whole, not in crops or boxes. */
static bool
is_whole(const struct pack_advise_params *params)
{
    struct pack_shape box;
    pack_advise_box(params, &box);
    for (int i = 1; i < box.rank; i++)
        if (box.extent[i] != params->data.extent.extent[i])
            return false;
    return box.extent[0] <= 1;
}

static void
cause_facts(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
            struct pack_cause_facts *f)
{
    const struct pack_cache_counts *c = &o->steady;
    uint64_t workers = pack_advise_workers(params);
    *f = (struct pack_cause_facts){
        .is_filtered = strcmp(o->config.codec, "none") != 0,
        .cache = o->config.cache,
        .reads_whole_samples = is_whole(params),
        .reopens = o->config.reopen,
        .workers = workers,
        .counts = *c,
        .n_samples = o->steady_samples,
        .read_bytes = pack_advise_wanted_bytes(params),
        .loads_per_sample = o->loads_per_sample,
        .amplification = o->amplification,
        .hit_rate = o->hit_rate,
        .stored_factor = o->file_bytes / (data_bytes(params) * o->config.stored_rate),
        .peak_bytes = fmax((double)o->first.peak_bytes, (double)c->peak_bytes),
        .decode_rate = o->steady_cost.decode_ns / o->steady_cost.total_ns,
    };
    if (o->config.chunk.rank == 0 ||
        pack_advise_grid(params, &o->config.chunk, &f->grid, NULL) != PACK_OK)
        return;
    f->decodes_per_chunk = (double)c->decodes / o->steady_samples * o->epoch_samples /
                           (double)f->grid.n_chunks_total;
}

void
pack_advise_cause(const struct pack_advise_params *params,
                  const struct pack_advise_outcome *o, char *text)
{
    struct pack_cause_facts facts;
    cause_facts(params, o, &facts);
    pack_causes_find(&facts, text);
}

void
pack_advise_explain(const struct pack_advise_params *params,
                    struct pack_advise_result *result)
{
    why_layout(params, &result->rows[0], result->why[0]);
    why_cache(params, &result->rows[0], result->why[1]);
    why_speed(params, result, result->why[2]);
    if (result->has_now)
        pack_advise_cause(params, &result->now, result->cause);
}
