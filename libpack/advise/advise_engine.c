/* The reader counts, and cost.h makes times of it. */
#include "libpack/advise/advise_engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/model/cost.h"

/* And samples/s. */
static double
cost_of(const struct pack_advise_params *params, const struct pack_forecast *f,
        const struct pack_forecast_counts *c, double page_cache_rate,
        struct pack_cost *cost)
{
    const struct pack_profile *profile = params->machine.profile;
    double n = (double)c->n_samples;
    enum pack_pattern_kind kind = params->reading.pattern.kind;
    const struct pack_cost_reader_work work = {
        .n_batches = (double)c->n_batches,
        .n_visits = (double)c->visits,
        .n_reads = (double)c->reads,
        .read_bytes = (double)c->read_bytes,
        .n_loads = (double)c->loads,
        .load_bytes = (double)c->load_bytes,
        .n_hits = (double)c->hits,
        .copy_bytes = (double)c->copy_bytes,
        .n_short_runs = (double)c->short_runs,
        .n_runs = (double)c->runs,
        .chunk_bytes = (double)f->chunk_bytes,
        .held_bytes = (double)f->n_slots * (double)f->chunk_bytes,
        .batch_bytes = pack_advise_batch_bytes(params),
        .decode_ns = params->now->decode_ns,
        .page_cache_rate = page_cache_rate,
        .is_sequential = kind == PACK_PATTERN_SEQUENTIAL || kind == PACK_PATTERN_BUFFER,
    };
    pack_cost_reader(profile, &work, f->n_threads, cost);
    return fmin(pack_cost_rate(profile, cost, n, f->n_threads),
                n * pack_cost_reader_most(profile, &work));
}

static void
conclude(const struct pack_advise_params *params, const struct pack_advise_outcome *now,
         struct pack_advise_engine *e)
{
    const struct pack_forecast *f = &e->forecast;
    const struct pack_forecast_counts *later = &f->later;
    bool is_warm = params->machine.is_warm;
    double n = (double)later->n_samples;
    e->first_rate = cost_of(params, f, &f->first, is_warm ? 1 : 0, &e->first_cost);
    e->later_rate =
        cost_of(params, f, later, is_warm ? 1 : now->page_cache_rate, &e->later_cost);
    e->rate = e->modelled_rate =
        pack_advise_mean_rate(params, e->first_rate, e->later_rate);
    double coded = (double)(later->hits + later->loads);
    e->hit_rate = coded > 0 ? (double)later->hits / coded : 0;
    e->loads_per_sample = (double)(later->loads + later->reads) / n;
    e->bytes_per_sample = (double)(later->load_bytes + later->read_bytes) / n;
    e->is_known = true;
}

/* What no reader does, in words; NULL: it may try. */
static const char *
find_refusal(const struct pack_advise_params *params)
{
    if (!params->now)
        return "there is no file";
    if (params->reading.pattern.read != PACK_READ_SAMPLE)
        return "it reads sample by sample, as it likes";
    if (params->reading.reopen)
        return "it opens the file once";
    return NULL;
}

enum pack_status
pack_advise_engine(const struct pack_advise_params *params,
                   const struct pack_advise_engine_subject *subject,
                   const struct pack_advise_outcome *now, struct pack_advise_engine *e,
                   struct pack_error *err)
{
    uint64_t workers = params->reading.pattern.workers;
    const char *refusal = find_refusal(params);
    struct pack_reader_params reader = { .file = subject->file,
                                         .dataset = subject->path,
                                         .pattern = params->reading.pattern,
                                         .n_epochs = pack_advise_epochs(params),
                                         .n_threads = (unsigned)workers,
                                         .memory_bytes = pack_advise_memory(params),
                                         .watch = params->watch };
    struct pack_error why = { .text = "" };
    *e = (struct pack_advise_engine){ .is_known = false };
    if (refusal) {
        snprintf(e->why_not, sizeof e->why_not, "%s", refusal);
        return PACK_OK;
    }
    if (reader.pattern.dealt == 0)
        reader.pattern.dealt = workers ? workers : 1;
    reader.pattern.workers = reader.pattern.worker = 0;
    enum pack_status status = pack_forecast(&reader, subject->samples_max, &e->forecast, &why);
    bool is_asked = why.param != NULL; /* memory_bytes do not hold a batch */
    if ((status == PACK_ERR_MEMORY && !is_asked) || status == PACK_ERR_INTERRUPTED) {
        if (err)
            *err = why;
        return status;
    }
    if (status != PACK_OK)
        snprintf(e->why_not, sizeof e->why_not, "%.199s", why.text);
    else if (strcmp(e->forecast.engine, "hdf5") == 0)
        snprintf(e->why_not, sizeof e->why_not, "%.199s", e->forecast.reason);
    else if (e->forecast.later.n_samples > 0)
        conclude(params, now, e);
    return PACK_OK;
}
