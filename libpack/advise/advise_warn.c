/*
 * Warnings: what findings.h makes of an outcome. The facts that need a simulation of their
 * own are rates of the same reads with other settings, over their first few thousand.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/findings/findings_stored.h"
#include "libpack/findings/thresholds.h"
#include "libpack/hdf5/filter.h"

enum { SAMPLES = 4000 };

static enum pack_status
rate_as(const struct pack_advise_params *params, const struct pack_advise_config *config,
        enum pack_hdf5_version version, double *rate, struct pack_error *err)
{
    struct pack_advise_params p = *params;
    struct pack_advise_outcome o;
    p.cache.version = version;
    enum pack_status status = pack_advise_evaluate(&p, config, SAMPLES, &o, err);
    if (status == PACK_OK)
        *rate = o.rate;
    return status;
}

/* The defaults of both versions, where they treat the chunk differently. */
static enum pack_status
rate_versions(const struct pack_advise_params *params,
              const struct pack_advise_config *today, struct pack_finding_facts *f,
              struct pack_error *err)
{
    struct pack_advise_config config = *today;
    struct pack_cache_params old, new;
    pack_cache_params_defaults(&old, PACK_HDF5_1_10);
    pack_cache_params_defaults(&new, PACK_HDF5_2_0);
    if (f->is_filtered || f->grid.chunk_bytes <= old.size_bytes ||
        f->grid.chunk_bytes > new.size_bytes)
        return PACK_OK;
    config.cache = old;
    enum pack_status status =
        rate_as(params, &config, PACK_HDF5_1_10, &f->rate_default_1, err);
    config.cache = new;
    if (status == PACK_OK)
        status = rate_as(params, &config, PACK_HDF5_2_0, &f->rate_default_2, err);
    return status;
}

/* Several samples to a read, and the same reads one by one. */
static enum pack_status
rate_apart(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
           struct pack_finding_facts *f, struct pack_error *err)
{
    struct pack_advise_config config = o->config;
    f->joined_elems = config.chunk.rank ? o->elems_per_read : o->runs_per_read;
    if (config.pattern.read != PACK_READ_BATCH || f->joined_elems <= 0)
        return PACK_OK;
    enum pack_status status =
        rate_as(params, &config, params->cache.version, &f->rate_joined, err);
    config.pattern.read = PACK_READ_SAMPLE;
    return status == PACK_OK
               ? rate_as(params, &config, params->cache.version, &f->rate_apart, err)
               : status;
}

/* What the same reads take as today, and with as many slots as keep chunks from pushing each
 * other out. */
static enum pack_status
rate_slots(const struct pack_advise_params *params, const struct pack_advise_config *today,
           struct pack_finding_facts *f, struct pack_error *err)
{
    enum { SLOT_SAMPLES = 20000 }; /* caches have to fill before anything collides */
    struct pack_advise_config config = *today;
    struct pack_advise_outcome now, enough;
    enum pack_status status = pack_advise_slots(params, &config, err);
    if (status != PACK_OK || config.cache.n_slots <= today->cache.n_slots)
        return status;
    status = pack_advise_evaluate(params, today, SLOT_SAMPLES, &now, err);
    if (status == PACK_OK)
        status = pack_advise_evaluate(params, &config, SLOT_SAMPLES, &enough, err);
    if (status != PACK_OK)
        return status;
    f->enough_slots = config.cache.n_slots;
    f->rate_today = now.later_rate;
    f->rate_enough = enough.later_rate;
    f->read_today = now.bytes_per_sample;
    f->read_enough = enough.bytes_per_sample;
    return PACK_OK;
}

static enum pack_status
simulate_facts(const struct pack_advise_params *params,
               const struct pack_advise_outcome *o, struct pack_finding_facts *f,
               struct pack_error *err)
{
    struct pack_advise_config config = o->config;
    enum pack_status status = rate_versions(params, &config, f, err);
    config.reopen = false;
    if (status == PACK_OK)
        status = rate_as(params, &config, params->cache.version, &f->rate_kept, err);
    config.reopen = true;
    if (status == PACK_OK)
        status = rate_as(params, &config, params->cache.version, &f->rate_reopened, err);
    config = o->config;
    if (status == PACK_OK)
        status = rate_apart(params, o, f, err);
    if (status == PACK_OK && f->counts.evictions_collision &&
        (double)f->counts.evictions_collision >=
            pack_threshold(f->thresholds, 203, "rate") * (double)f->counts.loads)
        status = rate_slots(params, &config, f, err);
    return status;
}

/* One sample at a time, and all of it: reads in part are a reason to cut. */
static bool
reads_whole_samples(const struct pack_advise_params *params)
{
    struct pack_shape box;
    pack_advise_box(params, &box);
    for (int i = 1; i < box.rank; i++)
        if (box.extent[i] != params->data.extent.extent[i])
            return false;
    return params->reading.pattern.read == PACK_READ_SAMPLE && box.extent[0] <= 1;
}

/* One that is not known here does. */
static bool
is_compressed(const char *codec)
{
    struct pack_pipeline pipeline;
    return pack_pipeline_parse(codec, 1, &pipeline, NULL) != PACK_OK ||
           pack_pipeline_compresses(&pipeline);
}

static enum pack_status
facts_of(const struct pack_advise_params *params, const struct pack_advise_outcome *o,
         const struct pack_thresholds *thresholds, struct pack_finding_facts *f,
         struct pack_error *err)
{
    uint64_t workers = pack_advise_workers(params);
    *f = (struct pack_finding_facts){
        .thresholds = thresholds,
        .is_filtered = strcmp(o->config.codec, "none") != 0,
        .is_compressed = is_compressed(o->config.codec),
        .cache = o->config.cache,
        .reads_whole_samples = reads_whole_samples(params),
        .is_shared_block =
            o->config.pattern.kind == PACK_PATTERN_BLOCK && !o->config.pattern.local,
        .workers = workers,
        .epoch_samples = o->epoch_samples,
        .counts = o->steady,
        .n_samples = o->steady_samples,
        .peak_bytes = fmax((double)o->first.peak_bytes, (double)o->steady.peak_bytes),
        .memory_bytes = o->memory_bytes,
        .allowed_bytes = (double)pack_advise_budget(params) * (double)workers,
        .missing_filter = (int)params->data.missing_filter,
    };
    if (o->config.chunk.rank == 0)
        return rate_apart(params, o, f, err);
    enum pack_status status = pack_advise_grid(params, &o->config.chunk, &f->grid, err);
    return status == PACK_OK ? simulate_facts(params, o, f, err) : status;
}

void
pack_advise_warning_of(const struct pack_finding *found, struct pack_advise_warning *w)
{
    *w = (struct pack_advise_warning){
        .id = found->id,
        .code = found->code,
        .severity = pack_finding_severity_name(found->severity),
        .value = found->value,
        .price_bytes = found->price_bytes,
        .price_s = found->price_s,
    };
    snprintf(w->text, sizeof w->text, "%.*s%s%s", PACK_FINDING_TEXT_MAX - 1,
             found->evidence, found->remedy[0] ? "; " : "", found->remedy);
    snprintf(w->remedy, sizeof w->remedy, "%s", found->remedy);
}

enum pack_status
pack_advise_warn(const struct pack_advise_params *params,
                 const struct pack_advise_outcome *outcome,
                 const struct pack_thresholds *thresholds,
                 struct pack_advise_warning *warnings, size_t *n, struct pack_error *err)
{
    _Static_assert((int)PACK_ADVISE_REMEDY_MAX >= (int)PACK_FINDING_REMEDY_MAX,
                   "a remedy fits");
    _Static_assert((int)PACK_ADVISE_WARNINGS_MAX >=
                       (int)PACK_FINDINGS_MAX + (int)PACK_FINDINGS_STORED_MAX,
                   "a result has room for whatever is found");
    struct pack_finding found[PACK_ADVISE_WARNINGS_MAX];
    struct pack_finding_facts facts;
    char need[PACK_FILTER_NEED_MAX];
    enum pack_status status = facts_of(params, outcome, thresholds, &facts, err);
    if (status != PACK_OK)
        return status;
    if (facts.missing_filter)
        facts.need = pack_filter_need(params->data.missing_filter, need);
    *n = pack_findings_find(&facts, found, PACK_ADVISE_WARNINGS_MAX);
    for (size_t i = 0; i < *n; i++)
        pack_advise_warning_of(&found[i], &warnings[i]);
    return PACK_OK;
}
