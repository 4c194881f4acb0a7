/*
 * The reader is the advisor's: the same question gets the same answer as from h5advise with
 * assumed times. The search for another layout is made only where something is wrong with
 * this one, for it takes a second.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/advise/advise_stored.h"
#include "libpack/advise/snippet.h"
#include "libpack/audit/audit_parts.h"
#include "libpack/base/numbers.h"
#include "libpack/model/cost.h"
#include "libpack/rechunk/rechunk.h"

enum { SAMPLES = PACK_AUDIT_SAMPLES };

static bool
is_fatal(enum pack_status status)
{
    return status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED;
}

static bool
is_layout(const struct pack_finding *f)
{
    return (f->code >= 102 && f->code <= 107) || f->code == 205;
}

static void
add(struct pack_audit_found *found, const struct pack_finding *finding)
{
    for (size_t i = 0; i < found->n; i++)
        if (found->finding[i].code == finding->code)
            return;
    found->finding[found->n++] = *finding;
}

/* The advisor's warnings of today's settings, as findings again. */
static void
add_warnings(const struct pack_advise_warning *warnings, size_t n, bool reopens,
             struct pack_audit_found *found)
{
    for (size_t i = 0; i < n; i++) {
        const struct pack_advise_warning *w = &warnings[i];
        size_t remedy = w->remedy[0] ? strlen(w->remedy) + 2 : 0, all = strlen(w->text);
        struct pack_finding f = { .code = w->code,
                                  .id = w->id,
                                  .value = w->value,
                                  .price_bytes = w->price_bytes,
                                  .price_s = w->price_s };
        f.severity = strcmp(w->severity, "hazard") == 0 ? PACK_FINDING_HAZARD
                     : strcmp(w->severity, "cost") == 0 ? PACK_FINDING_COST
                                                        : PACK_FINDING_NOTE;
        snprintf(f.evidence, sizeof f.evidence, "%.*s", (int)(all - remedy), w->text);
        snprintf(f.remedy, sizeof f.remedy, "%s", w->remedy);
        /* what the reader does otherwise, or what nobody asked about */
        if (w->code != 204 && (w->code != 302 || reopens))
            add(found, &f);
    }
}

static void
take_outcome(const struct pack_advise_job *job, const struct pack_advise_outcome *o,
             struct pack_audit_reading *r, struct pack_stored_reading *s)
{
    pack_advise_stored_reading(&job->params, o, s);
    r->is_known = true;
    r->rate = o->later_rate;
    r->amplification = o->amplification;
    r->loads_per_sample = o->loads_per_sample;
    r->hit_rate = o->hit_rate;
    r->epoch_s = s->epoch_s;
}

/* Both defaults, where nobody set the cache. */
static enum pack_status
compare_versions(const struct pack_advise_job *job, const struct pack_advise_outcome *now,
                 struct pack_audit_reading *r, struct pack_error *err)
{
    static const enum pack_hdf5_version versions[] = { PACK_HDF5_1_10, PACK_HDF5_2_0 };
    double *rates[] = { &r->rate_1, &r->rate_2 };
    enum pack_status status = PACK_OK;
    if (!pack_advise_has_default_cache(&now->config) || now->config.chunk.rank == 0)
        return PACK_OK;
    for (int i = 0; i < 2 && status == PACK_OK; i++) {
        struct pack_advise_params p = job->params;
        struct pack_advise_config config = now->config;
        struct pack_advise_outcome o;
        p.cache.version = versions[i];
        pack_cache_params_defaults(&config.cache, versions[i]);
        status = pack_advise_evaluate(&p, &config, SAMPLES, &o, err);
        if (status == PACK_OK)
            *rates[i] = o.later_rate;
    }
    return status;
}

/* Seconds that another layout, or cache, saves are the price of the worst that is told of what
 * it mends, and of that alone, so that prices add up. */
static void
price_layout(const struct pack_audit_params *params, struct pack_audit_found *found,
             double saved)
{
    static const int codes[] = { 205, 105, 103, 102, 106, 107, 104 };
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
        for (size_t i = 0; i < found->n; i++)
            if (found->finding[i].code == codes[c] && pack_audit_is_wanted(params, codes[c])) {
                found->finding[i].price_s = saved > 0 ? saved : 0;
                return;
            }
}

/* Where another cache gives as much as a rewrite, or nothing is worth one. */
static void
take_settings(const struct pack_advise_outcome *best, struct pack_audit_reading *r,
              struct pack_audit_found *found)
{
    const struct pack_cache_params *cache = &best->config.cache;
    if (r->is_kept)
        r->advised_rate = best->later_rate;
    for (size_t i = 0; i < found->n; i++)
        if (is_layout(&found->finding[i]) && !found->finding[i].remedy[0])
            snprintf(found->finding[i].remedy, sizeof found->finding[i].remedy,
                     "rdcc_nbytes=%llu, rdcc_nslots=%llu, rdcc_w0=%g: %s times as fast%s",
                     (unsigned long long)cache->size_bytes,
                     (unsigned long long)cache->n_slots, cache->w0,
                     pack_figure(r->rate > 0 ? best->later_rate / r->rate : 0).text,
                     r->is_kept ? "" : ", and nothing is rewritten");
}

/* Unfiltered chunks that one version reads past its default cache and the other does not. */
static bool
is_cliff(const struct pack_advise_params *params, const struct pack_advise_config *config)
{
    struct pack_cache_params old, new;
    pack_cache_params_defaults(&old, PACK_HDF5_1_10);
    pack_cache_params_defaults(&new, PACK_HDF5_2_0);
    double bytes = (double)params->data.elem_size;
    for (int i = 0; i < config->chunk.rank; i++)
        bytes *= (double)config->chunk.extent[i];
    return strcmp(config->codec, "none") == 0 && bytes > (double)old.size_bytes &&
           bytes <= (double)new.size_bytes;
}

/* What whole chunks take over what the data does. */
static double
overhang(const struct pack_advise_params *params, const struct pack_advise_config *config)
{
    double factor = 1;
    for (int i = 0; i < config->chunk.rank; i++) {
        double extent = (double)params->data.extent.extent[i];
        double chunk = (double)config->chunk.extent[i];
        factor *= ceil(extent / chunk) * chunk / extent;
    }
    return factor;
}

/* Whether another layout makes the file smaller, which is worth a rewrite that reads no
 * faster. */
static bool
saves_space(const struct pack_audit_params *params, const struct pack_audit_found *found)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct pack_finding *f = &found->finding[i];
        if ((f->code == 102 || f->code == 106) && f->price_bytes > 0 &&
            pack_audit_is_wanted(params, f->code))
            return true;
    }
    return false;
}

/* So many chunks of so few bytes that rule 106 would find them. */
static bool
is_tiny(const struct pack_advise_params *params, const struct pack_thresholds *thresholds,
        const struct pack_advise_config *config)
{
    double bytes = (double)params->data.elem_size, n = 1;
    for (int i = 0; i < config->chunk.rank; i++) {
        bytes *= (double)config->chunk.extent[i];
        n *= ceil((double)params->data.extent.extent[i] / (double)config->chunk.extent[i]);
    }
    return bytes <= pack_threshold(thresholds, 106, "bytes") &&
           n >= pack_threshold(thresholds, 106, "chunks");
}

/* Chunks that h5rechunk writes and that no rule finds fault with: as good after an upgrade of
 * HDF5, no larger than the data. */
static bool
is_clean(const struct pack_advise_params *params, const struct pack_thresholds *thresholds,
         const struct pack_advise_config *config)
{
    double most = fmin(1.02, fmax(1.000001, pack_threshold(thresholds, 102, "factor")));
    return config->chunk.rank > 0 && pack_advise_has_default_cache(config) &&
           !is_cliff(params, config) && overhang(params, config) < most &&
           !is_tiny(params, thresholds, config) &&
           pack_snippet_can_rechunk(config, params->data.elem_size);
}

/* Whether a rewrite or other settings are the advisor's choice, rather than what is. */
static bool
is_worth_more(const struct pack_advise_result *result)
{
    return result->rows[0].change == PACK_ADVISE_REWRITE ||
           result->rows[0].change == PACK_ADVISE_SETTINGS;
}

/* The best of the rows that are worth a rewrite, also where other settings are worth as much:
 * it mends the file for all who read it. */
static enum pack_status
find_best(const struct pack_audit_outlook *l, const struct pack_advise_result *result,
          struct pack_audit_choice *best, struct pack_error *err)
{
    const struct pack_advise_params *params = &l->job->params;
    enum pack_status status = PACK_OK;
    if (!is_worth_more(result))
        return PACK_OK;
    for (size_t i = 0; i < result->n_rows && status == PACK_OK; i++) {
        const struct pack_advise_outcome *o = &result->rows[i];
        if (o->change == PACK_ADVISE_REWRITE && o->fits &&
            is_clean(params, l->thresholds, &o->config) &&
            o->rate >= pack_advise_min_gain(params) * result->now.rate)
            status = pack_audit_consider(l, PACK_AUDIT_FIX_LAYOUT, params, o, best, err);
    }
    return status;
}

/* The choice, or else the best of the rows, that leaves the file as it is; NULL: none gains. */
static const struct pack_advise_outcome *
find_settings(const struct pack_advise_params *params,
              const struct pack_advise_result *result)
{
    const struct pack_advise_outcome *best = NULL;
    if (result->n_rows > 0 && result->rows[0].change == PACK_ADVISE_SETTINGS)
        return &result->rows[0];
    for (size_t i = 0; i < result->n_rows; i++) {
        const struct pack_advise_outcome *o = &result->rows[i];
        if (o->change == PACK_ADVISE_SETTINGS && o->fits &&
            o->rate >= pack_advise_min_gain(params) * result->now.rate &&
            (!best || o->rate > best->rate))
            best = o;
    }
    return best;
}

/* The fastest of the plain layouts, whole samples with today's filters, that is `gain` times as
 * fast as today's, at least; with `is_smaller`, that is not larger either. */
static enum pack_status
find_plain(const struct pack_audit_outlook *l, double gain, bool is_smaller,
           struct pack_audit_choice *best, struct pack_error *err)
{
    const struct pack_advise_params *params = &l->job->params;
    struct pack_advise_config config = *params->now;
    struct pack_advise_outcome now, o;
    enum pack_status status =
        pack_advise_evaluate(params, params->now, SAMPLES, &now, err);
    for (int i = 0; status == PACK_OK &&
                    pack_audit_plain_chunk(&params->data.extent, params->data.elem_size, i,
                                           &config.chunk);
         i++) {
        if (!is_clean(params, l->thresholds, &config))
            continue;
        status = pack_advise_evaluate(params, &config, SAMPLES, &o, err);
        if (status == PACK_OK && o.fits && o.rate >= gain * now.rate &&
            (!is_smaller || o.file_bytes <= now.file_bytes))
            status = pack_audit_consider(l, PACK_AUDIT_FIX_LAYOUT, params, &o, best, err);
    }
    return status;
}

/* Another layout that is worth a rewrite: one that is faster, or else, where the file can be
 * smaller, one that reads nearly as fast as today's. */
static enum pack_status
find_rewrite(const struct pack_audit_params *params, const struct pack_audit_outlook *l,
             const struct pack_audit_found *found, const struct pack_advise_result *result,
             struct pack_audit_choice *best, struct pack_error *err)
{
    static const double nearly = 0.9;
    const struct pack_advise_params *asked = &l->job->params;
    enum pack_status status = find_best(l, result, best, err);
    if (status == PACK_OK && !best->is_made && is_worth_more(result))
        status = find_plain(l, pack_advise_min_gain(asked), false, best, err);
    if (status == PACK_OK && (!best->is_made || best->is_harmful) && saves_space(params, found)) {
        *best = (struct pack_audit_choice){ .is_made = false };
        status = find_plain(l, nearly, true, best, err);
    }
    return status;
}

/* Whether a layout is at fault by a rule that was asked for. */
static bool
is_at_fault(const struct pack_audit_params *params, const struct pack_audit_found *found)
{
    for (size_t i = 0; i < found->n; i++)
        if (is_layout(&found->finding[i]) &&
            pack_audit_is_wanted(params, found->finding[i].code))
            return true;
    return false;
}

/* Another layout, for the order that was asked for. */
static enum pack_status
find_layout(const struct pack_audit_params *params, const struct pack_audit_outlook *l,
            struct pack_audit_reading *r, struct pack_audit_found *found, struct pack_error *err)
{
    struct pack_advise_job *job = l->job;
    if (!pack_rechunk_can(pack_advise_file_data(job->file)))
        return PACK_OK;
    struct pack_advise_result *result = calloc(1, sizeof *result);
    if (!result)
        return pack_fail_memory(err, "advice");
    struct pack_audit_choice best = { .is_made = false };
    job->params.reading.pattern_is_fixed = true;
    job->params.goal.is_brief = true;
    enum pack_status status = pack_advise(&job->params, result, err);
    if (status == PACK_OK)
        status = find_rewrite(params, l, found, result, &best, err);
    bool is_best = best.is_made && !best.is_harmful;
    if (status == PACK_OK) {
        r->has_advice = true;
        r->is_kept = !is_best;
        r->advised_rate = is_best ? best.outcome.later_rate : 0;
        if (is_best)
            pack_audit_plan_add(r, PACK_AUDIT_FIX_LAYOUT, &best, true);
    }
    const struct pack_advise_outcome *settings = find_settings(&job->params, result);
    double rate = r->advised_rate;
    if (status == PACK_OK && settings &&
        (r->is_kept || pack_advise_min_gain(&job->params) * settings->rate > best.outcome.rate)) {
        take_settings(settings, r, found);
        rate = fmax(rate, settings->later_rate);
    }
    double saved = r->rate > 0 && rate > r->rate ? r->epoch_s * (1 - r->rate / rate) : 0;
    price_layout(params, found, saved);
    free(result);
    return status;
}

static enum pack_status
simulate(struct pack_advise_job *job, const struct pack_thresholds *thresholds,
         struct pack_audit_reading *r, struct pack_stored_reading *stored,
         struct pack_audit_found *found, struct pack_error *err)
{
    struct pack_advise_outcome now;
    struct pack_advise_warning warnings[PACK_ADVISE_WARNINGS_MAX];
    size_t n = 0;
    if (!job->params.now)
        return PACK_OK;
    enum pack_status status =
        pack_advise_evaluate(&job->params, job->params.now, SAMPLES, &now, err);
    if (status == PACK_OK)
        status = pack_advise_warn(&job->params, &now, thresholds, warnings, &n, err);
    if (status == PACK_OK)
        status = compare_versions(job, &now, r, err);
    if (status != PACK_OK)
        return status;
    take_outcome(job, &now, r, stored);
    add_warnings(warnings, n, job->params.reading.reopen, found);
    return PACK_OK;
}

/* A plain layout that is looked at in any case: whole samples, as many as make a chunk of some
 * size; "" where there is none. */
static void
suggest(const struct pack_facts *facts, char text[PACK_SHAPE_TEXT_MAX])
{
    enum { CHUNK_BYTES = 64 << 10 };
    struct pack_shape chunk = facts->extent;
    double bytes = (double)facts->type.bytes;
    text[0] = '\0';
    for (int i = 1; i < chunk.rank; i++)
        bytes *= (double)chunk.extent[i];
    if (facts->layout != PACK_LAYOUT_CHUNKED || bytes > UINT32_MAX)
        return;
    uint64_t n = bytes < CHUNK_BYTES ? (uint64_t)(CHUNK_BYTES / bytes) : 1;
    chunk.extent[0] = n < chunk.extent[0] ? n : chunk.extent[0];
    pack_shape_format(&chunk, text);
}

/* All rules, and what is known of what mends them. */
static enum pack_status
look(const struct pack_audit_params *params, const struct pack_audit_file *file,
     struct pack_advise_job *job, enum pack_status opened, struct pack_audit_reading *r,
     struct pack_audit_found *found, struct pack_error *err)
{
    const struct pack_survey_dataset *d = &file->survey.datasets[r->set];
    struct pack_stored_reading stored = { .epoch_samples = 0 };
    struct pack_finding rules[PACK_FINDINGS_STORED_MAX];
    enum pack_status status = opened;
    if (status == PACK_OK)
        status = simulate(job, &params->thresholds, r, &stored, found, err);
    size_t n = pack_findings_dataset(d, &stored, &params->thresholds, rules,
                                     PACK_FINDINGS_STORED_MAX);
    for (size_t i = 0; i < n; i++)
        add(found, &rules[i]);
    pack_audit_find_contents(params, file, r->set, found);
    const struct pack_audit_outlook outlook = {
        .job = job,
        .thresholds = &params->thresholds,
        .dataset = d,
        .contents = file->contents && file->contents[r->set].is_known
                        ? &file->contents[r->set]
                        : NULL,
        .found = found,
    };
    if (status == PACK_OK && is_at_fault(params, found))
        status = find_layout(params, &outlook, r, found, err);
    return status == PACK_OK ? pack_audit_plan(&outlook, r, err) : status;
}

enum pack_status
pack_audit_read(const struct pack_audit_params *params,
                const struct pack_audit_file *file, struct pack_audit_reading *r,
                struct pack_audit_found *found, struct pack_error *err)
{
    const struct pack_survey_dataset *d = &file->survey.datasets[r->set];
    struct pack_advise_request request = params->request;
    struct pack_advise_job *job = calloc(1, sizeof *job);
    struct pack_error why = { .text = "" };
    char *operand = NULL, chunk[PACK_SHAPE_TEXT_MAX];
    const char *suggested = chunk;
    if (!job || asprintf(&operand, "%s:/%s", file->path,
                         d->facts.path + strspn(d->facts.path, "/")) < 0) {
        free(job);
        return pack_fail_memory(err, "an audit");
    }
    suggest(&d->facts, chunk);
    request.data.file = operand;
    request.data.known = d->has_stats ? &d->facts : NULL;
    request.storing.chunks = &suggested;
    request.storing.n_chunks = chunk[0] != '\0';
    request.watch = (struct pack_watch){ .context = params->watch.context,
                                         .stop = params->watch.stop };
    enum pack_status status = pack_advise_job_open(&request, job, &why);
    status = look(params, file, job, status, r, found, &why);
    if (status != PACK_OK)
        snprintf(r->why_not, sizeof r->why_not, "%.*s", PACK_SURVEY_TEXT_MAX - 1,
                 why.text);
    if (is_fatal(status) && err)
        *err = why;
    status = is_fatal(status) ? status : PACK_OK;
    for (size_t i = 0; i < found->n && status == PACK_OK; i++)
        status = pack_audit_mend(&found->finding[i], file->path, &d->facts, r,
                                 &found->mending[i], err);
    pack_advise_job_close(job);
    free(job);
    free(operand);
    return status;
}
