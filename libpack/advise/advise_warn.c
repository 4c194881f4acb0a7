/*
 * Warnings: a table of rules, each a function of one configuration that writes a sentence
 * with its number, or nothing.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/hdf5/filter.h"
#include "libpack/advise/advise_parts.h"

enum { SAMPLES = 4000 };

struct subject {
    const struct pack_advise_params *params;
    const struct pack_advise_outcome *o;
    struct pack_grid grid; /* rank 0: contiguous */
};

typedef enum pack_status (*warn_fn)(const struct subject *s,
                                    struct pack_advise_warning *w,
                                    struct pack_error *err);

#define SAY(w, ...) snprintf((w)->text, sizeof(w)->text, __VA_ARGS__)

static bool
is_filtered(const struct subject *s)
{
    return strcmp(s->o->config.codec, "none") != 0;
}

/* Evaluates a variant of the subject's configuration, sampled. */
static enum pack_status
evaluate_as(const struct subject *s, const struct pack_advise_config *config,
            enum pack_hdf5_version version, struct pack_advise_outcome *out,
            struct pack_error *err)
{
    struct pack_advise_params params = *s->params;
    params.version = version;
    return pack_advise_evaluate(&params, config, SAMPLES, out, err);
}

static enum pack_status
bypass_cliff(const struct subject *s, struct pack_advise_warning *w,
             struct pack_error *err)
{
    struct pack_advise_config config = s->o->config;
    struct pack_advise_outcome one, two;
    struct pack_cache_params old, new;
    char chunk[PACK_BYTES_TEXT_MAX];
    pack_cache_params_defaults(&old, PACK_HDF5_1_10);
    pack_cache_params_defaults(&new, PACK_HDF5_2_0);
    if (s->grid.rank == 0 || is_filtered(s) || s->grid.chunk_bytes <= old.size_bytes ||
        s->grid.chunk_bytes > new.size_bytes)
        return PACK_OK;
    config.cache = old;
    enum pack_status status = evaluate_as(s, &config, PACK_HDF5_1_10, &one, err);
    config.cache = new;
    if (status == PACK_OK)
        status = evaluate_as(s, &config, PACK_HDF5_2_0, &two, err);
    if (status != PACK_OK || one.rate < 1.25 * two.rate)
        return status;
    w->value = one.rate / two.rate;
    SAY(w,
        "bypass cliff: chunks of %s pass the 1 MiB default cache of HDF5 1.x, which reads "
        "just what is wanted, but fit the 8 MiB of HDF5 2.0, which then reads whole chunks: "
        "%.3g times slower after the upgrade unless rdcc_nbytes=1048576 is set",
        pack_bytes_format(s->grid.chunk_bytes, chunk), w->value);
    return PACK_OK;
}

static enum pack_status
w0_one(const struct subject *s, struct pack_advise_warning *w, struct pack_error *err)
{
    const struct pack_cache_params *cache = &s->o->config.cache;
    char peak[PACK_BYTES_TEXT_MAX], size[PACK_BYTES_TEXT_MAX];
    (void)err;
    double most = fmax((double)s->o->first.peak_bytes, (double)s->o->steady.peak_bytes);
    if (s->grid.rank == 0 || cache->w0 < 1 || most <= 1.01 * (double)cache->size_bytes)
        return PACK_OK;
    w->value = most;
    SAY(w,
        "rdcc_w0 = 1 evicts only chunks that were read completely; in this order the cache "
        "of each worker grows to %s, %.3g times the %s it was given; "
        "any w0 below 1 keeps to it",
        pack_bytes_format((uint64_t)most, peak), most / (double)cache->size_bytes,
        pack_bytes_format(cache->size_bytes, size));
    return PACK_OK;
}

static enum pack_status
reopening(const struct subject *s, struct pack_advise_warning *w, struct pack_error *err)
{
    struct pack_advise_config config = s->o->config;
    struct pack_advise_outcome kept, opened;
    if (s->grid.rank == 0)
        return PACK_OK;
    config.reopen = false;
    enum pack_status status = evaluate_as(s, &config, s->params->version, &kept, err);
    config.reopen = true;
    if (status == PACK_OK)
        status = evaluate_as(s, &config, s->params->version, &opened, err);
    if (status != PACK_OK || kept.rate < 1.25 * opened.rate)
        return status;
    w->value = kept.rate / opened.rate;
    SAY(w,
        "opening the dataset by name at each read (f['images'][i]) empties its cache each "
        "time: %.3g times slower; keep the dataset object",
        w->value);
    return PACK_OK;
}

static enum pack_status
collisions(const struct subject *s, struct pack_advise_warning *w, struct pack_error *err)
{
    const struct pack_cache_counts *c = &s->o->steady;
    struct pack_advise_config config = s->o->config;
    if (s->grid.rank == 0 || c->evictions_collision * 100 < c->loads ||
        c->evictions_collision == 0)
        return PACK_OK;
    enum pack_status status = pack_advise_slots(s->params, &config, err);
    if (status != PACK_OK || config.cache.n_slots <= s->o->config.cache.n_slots)
        return status;
    w->value = (double)c->evictions_collision / (double)c->loads;
    SAY(w,
        "slot collisions: %.3g %% of the loads push out a chunk that shares the slot while "
        "bytes are free; rdcc_nslots=%llu instead of %llu avoids it",
        100 * w->value, (unsigned long long)config.cache.n_slots,
        (unsigned long long)s->o->config.cache.n_slots);
    return PACK_OK;
}

static enum pack_status
cut_samples(const struct subject *s, struct pack_advise_warning *w,
            struct pack_error *err)
{
    double n = (double)s->o->steady.requests / s->o->steady_samples;
    struct pack_shape box;
    (void)err;
    pack_advise_box(s->params, &box);
    for (int i = 1; i < box.rank; i++)
        if (box.extent[i] != s->params->extent.extent[i])
            return PACK_OK; /* reads in part are the reason to cut */
    if (s->grid.rank == 0 || n < 1.5 || s->params->pattern.read != PACK_READ_SAMPLE ||
        box.extent[0] > 1)
        return PACK_OK;
    w->value = n;
    SAY(w, "chunks cut through samples: each one is gathered from %.4g chunks", n);
    return PACK_OK;
}

static enum pack_status
overhang(const struct subject *s, struct pack_advise_warning *w, struct pack_error *err)
{
    double factor = 1, worst = 1;
    int axis = 0;
    (void)err;
    for (int i = 0; i < s->grid.rank; i++) {
        double f = (double)s->grid.n_chunks[i] * (double)s->grid.chunk[i] /
                   (double)s->grid.extent[i];
        factor *= f;
        if (f > worst) {
            worst = f;
            axis = i;
        }
    }
    if (s->grid.rank == 0 || factor < 1.02)
        return PACK_OK;
    w->value = factor;
    SAY(w,
        "chunk overhang: %llu does not divide %llu along axis %d, so that the last of %llu "
        "chunks there holds %llu of its %llu; the file takes %.3g times the "
        "bytes of its data",
        (unsigned long long)s->grid.chunk[axis], (unsigned long long)s->grid.extent[axis],
        axis, (unsigned long long)s->grid.n_chunks[axis],
        (unsigned long long)((s->grid.extent[axis] - 1) % s->grid.chunk[axis] + 1),
        (unsigned long long)s->grid.chunk[axis], factor);
    return PACK_OK;
}

static enum pack_status
memory_times_workers(const struct subject *s, struct pack_advise_warning *w,
                     struct pack_error *err)
{
    uint64_t workers = pack_advise_workers(s->params);
    char all[PACK_BYTES_TEXT_MAX], each[PACK_BYTES_TEXT_MAX], budget[PACK_BYTES_TEXT_MAX];
    double allowed = (double)pack_advise_budget(s->params) * (double)workers;
    (void)err;
    if (workers < 2 || (s->o->memory_bytes < 0.5 * allowed))
        return PACK_OK;
    w->value = s->o->memory_bytes;
    SAY(w,
        "memory: each of %llu workers has a cache of its own, %s each and %s in all, "
        "of the %s allowed",
        (unsigned long long)workers,
        pack_bytes_format((uint64_t)(s->o->memory_bytes / (double)workers), each),
        pack_bytes_format((uint64_t)s->o->memory_bytes, all),
        pack_bytes_format((uint64_t)allowed, budget));
    return PACK_OK;
}

static enum pack_status
shared_pool(const struct subject *s, struct pack_advise_warning *w,
            struct pack_error *err)
{
    uint64_t workers = pack_advise_workers(s->params);
    double samples = s->o->steady_samples * (double)workers;
    (void)err;
    if (s->grid.rank == 0 || s->o->config.pattern.kind != PACK_PATTERN_BLOCK ||
        s->o->config.pattern.local || workers < 2)
        return PACK_OK;
    double ideal = samples / (double)s->grid.chunk[0];
    double loads = (double)s->o->steady.loads * (double)workers;
    if (loads < 1.5 * ideal)
        return PACK_OK;
    w->value = loads / ideal;
    SAY(w,
        "block shuffle with %llu workers: batches are dealt to all of them, so that each "
        "chunk is loaded by %.2g workers; one worker, or a worker-local block shuffle "
        "(block:chunks=N,local), loads it once",
        (unsigned long long)workers, w->value);
    return PACK_OK;
}

static enum pack_status
missing_filter(const struct subject *s, struct pack_advise_warning *w,
               struct pack_error *err)
{
    char need[PACK_FILTER_NEED_MAX];
    (void)err;
    if (s->params->missing_filter == 0)
        return PACK_OK;
    w->value = s->params->missing_filter;
    SAY(w,
        "the dataset %s; without it nothing could be decoded here: counts hold, times of "
        "decoding and what other codecs would save are assumed",
        pack_filter_need(s->params->missing_filter, need));
    return PACK_OK;
}

static const struct {
    const char *id;
    warn_fn check;
} rules[] = {
    { "missing-filter", missing_filter },
    { "bypass-cliff", bypass_cliff },
    { "w0-one", w0_one },
    { "chunk-overhang", overhang },
    { "cut-samples", cut_samples },
    { "slot-collisions", collisions },
    { "shared-pool", shared_pool },
    { "reopening", reopening },
    { "memory-times-workers", memory_times_workers },
};

enum pack_status
pack_advise_warn(const struct pack_advise_params *params,
                 const struct pack_advise_outcome *outcome,
                 struct pack_advise_warning *warnings, size_t *n, struct pack_error *err)
{
    struct subject s = { .params = params, .o = outcome };
    enum pack_status status = PACK_OK;
    *n = 0;
    if (s.o->config.chunk.rank)
        status = pack_advise_grid(params, &s.o->config.chunk, &s.grid, err);
    for (size_t i = 0; status == PACK_OK && i < sizeof rules / sizeof *rules; i++) {
        struct pack_advise_warning w = { .id = rules[i].id };
        status = rules[i].check(&s, &w, err);
        if (status == PACK_OK && w.text[0])
            warnings[(*n)++] = w;
    }
    return status;
}
