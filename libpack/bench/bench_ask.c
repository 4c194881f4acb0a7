/*
 * A run of the bench as a question to the advisor: the one that advise_request.c makes of
 * the same file, order and workers, so that both programs answer alike. It is about a
 * training, not about the few epochs that were read here.
 *
 * Where nothing else may be read, the run itself answers for this machine and moment: its
 * samples/s inside HDF5 over those that the model gives for the same reads,
 *
 *     factor = measured / modelled        of the first epoch, and of later ones
 *
 * scale whatever else the model says, as measure.c does it for a file that is read briefly.
 */
#include "libpack/advise/advise_parts.h"
#include "libpack/base/pool.h"
#include "libpack/base/system.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/model/profile_terms.h"

static const double warm_rate = 0.99; /* of the files' bytes: they count as resident */

bool
pack_bench_is_resident(const struct pack_readset *set)
{
    uint64_t bytes;
    return pack_readset_resident_rate(set, &bytes) >= warm_rate;
}

/* Storage is assumed, the processor is this machine's where it was measured. */
static enum pack_status
make_profile(const struct pack_bench_ask *ask, struct pack_profile *profile,
             struct pack_error *err)
{
    enum pack_status status = pack_profile_named("nvme", profile, err);
    if (status == PACK_OK && ask->processor)
        pack_profile_take_processor(profile, ask->processor);
    profile->n_cpus = pack_pool_default_threads();
    return status;
}

/* Whether it is still the file that was read: another may have taken its name meanwhile. */
static bool
is_same_file(const struct pack_h5_dataset *d)
{
    const struct pack_facts *then = &d->facts;
    struct pack_facts now;
    return pack_dataset_facts(d->file, d->path, &now, NULL) == PACK_OK &&
           pack_shape_equal(&then->extent, &now.extent) &&
           pack_shape_equal(&then->chunk, &now.chunk) && then->layout == now.layout &&
           then->type.bytes == now.type.bytes && then->stored_bytes == now.stored_bytes;
}

static void
fill_file(const struct pack_readset *set, const struct pack_watch *watch,
          struct bench_question *q)
{
    struct pack_advise_params *p = &q->params;
    pack_advise_file_use(q->file, watch, &q->profile);
    pack_advise_file_config(q->file, &q->profile, &q->now);
    pack_advise_file_chunk_max(q->file, &p->data.chunk_max);
    for (int i = 0; i < set->extent.rank; i++) /* the parts together are longer */
        if (set->extent.extent[i] > p->data.chunk_max.extent[i])
            p->data.chunk_max.extent[i] = set->extent.extent[i];
    if (set->n_parts == 1) {
        const struct pack_h5_dataset *d = set->parts[0].data;
        p->data.stored_bytes = pack_advise_file_stored(q->file, &p->data.skip_missing);
        p->data.is_unwritten = pack_facts_is_unwritten(&d->facts);
        p->data.virtual_data = d->facts.layout == PACK_LAYOUT_VIRTUAL ? d : NULL;
    }
    p->data.missing_filter = pack_advise_file_missing_filter(q->file);
    p->data.has_old_index = pack_advise_file_has_old_index(q->file);
    p->storing.measure = pack_advise_file_measure;
    p->storing.measure_context = q->file;
}

uint64_t
pack_bench_training(const struct pack_bench_params *params)
{
    return params->stop.epochs > PACK_ADVISE_EPOCHS ? params->stop.epochs : PACK_ADVISE_EPOCHS;
}

/* That of the run, of a virtual dataset's sources too; of data without chunks, the one that
 * new chunks would have. */
static void
fill_cache(const struct pack_readset *set, const struct pack_bench_result *result,
           struct pack_advise_params *p)
{
    char version[PACK_HDF5_VERSION_TEXT_MAX];
    p->cache.version = result->setup.cache.version;
    p->cache.settings = result->setup.cache;
    if (pack_readset_is_clear(set))
        return;
    (void)pack_hdf5_version_parse(pack_probe_hdf5_version(version), &p->cache.version,
                                  NULL);
    pack_cache_params_defaults(&p->cache.settings, p->cache.version);
}

static void
fill_reading(const struct pack_bench_params *params,
             const struct pack_bench_result *result, struct bench_question *q)
{
    struct pack_advise_params *p = &q->params;
    const struct pack_readset *set = params->set;
    enum pack_origin origin = pack_bench_origin(&result->epochs[0]);
    p->data.extent = set->extent;
    p->data.elem_size = set->elem_size;
    p->machine.profile = &q->profile;
    p->reading.pattern = params->pattern;
    p->reading.pattern.extent = set->extent;
    p->reading.pattern.seed = 0; /* another drawing counts alike, but not the same */
    p->reading.pattern.workers = result->setup.n_workers;
    p->reading.epochs = pack_bench_training(params);
    p->reading.workers_end = params->workers.fresh && result->setup.n_workers > 0;
    p->reading.reopen = params->open.reopen;
    fill_cache(set, result, p);
    /* pages that are dropped before each epoch are of no use to any */
    p->machine.ram_bytes = params->cold ? 0 : pack_system_ram_bytes() / 2;
    p->machine.memory_bytes = pack_advise_default_memory(pack_system_ram_bytes());
    p->machine.is_warm =
        !params->cold && (origin == PACK_ORIGIN_MEMORY ||
                          (origin == PACK_ORIGIN_UNKNOWN && pack_bench_is_resident(set)));
    p->n_threads = pack_pool_default_threads();
    p->now = &q->now;
    q->now.pattern = p->reading.pattern;
    q->now.cache = p->cache.settings;
    q->now.reopen = params->open.reopen;
}

/* Samples/s inside HDF5's calls, of all lanes together. */
static double
measured_rate(const struct pack_bench_result *r, uint64_t begin, uint64_t end)
{
    double samples = 0, ns = 0;
    for (uint64_t i = begin; i < end; i++) {
        samples += (double)r->epochs[i].n_samples;
        ns += (double)r->epochs[i].work.read.call_ns;
    }
    return ns > 0 ? samples * 1e9 *
                        (double)(r->setup.n_workers ? r->setup.n_workers : 1) / ns
                  : 0;
}

static enum pack_status
fit(const struct pack_bench_result *r, struct bench_question *q, struct pack_error *err)
{
    uint64_t workers = r->setup.n_workers ? r->setup.n_workers : 1;
    uint64_t first = r->epochs[0].n_samples;
    bool is_cut = first < r->setup.epoch_samples;
    struct pack_advise_params as_run = q->params;
    struct pack_advise_outcome o;
    as_run.reading.epochs = r->n_epochs; /* later ones may see a fuller cache */
    enum pack_status status = pack_advise_evaluate(
        &as_run, &q->now, is_cut ? (first + workers - 1) / workers : 0, &o, err);
    if (status != PACK_OK)
        return status;
    struct pack_cost cost;
    double samples, modelled = pack_advise_begun(&as_run, &o, &cost, &samples);
    q->first_factor = measured_rate(r, 0, 1) / modelled;
    q->later_factor = q->first_factor;
    if (r->n_epochs > 1 && r->epochs[1].n_samples > 0)
        q->later_factor = measured_rate(r, 1, r->n_epochs) / o.later_rate;
    return PACK_OK;
}

void
pack_bench_fit(const struct bench_question *q, struct pack_advise_outcome *o)
{
    o->first_rate *= q->first_factor;
    o->later_rate *= q->later_factor;
    pack_advise_scale(o, &q->params, 1);
}

enum pack_status
pack_bench_question_make(const struct pack_bench_params *params,
                         const struct pack_bench_result *result,
                         const struct pack_bench_ask *ask, struct bench_question *q,
                         bool *can, struct pack_error *err)
{
    *q = (struct bench_question){ .file = NULL };
    *can = false;
    if (!params->set || result->total.work.read.call_ns == 0 ||
        params->pattern.kind == PACK_PATTERN_TRACE)
        return PACK_OK;
    enum pack_status status = make_profile(ask, &q->profile, err);
    /* of several files, the first stands for all */
    if (status != PACK_OK || !is_same_file(params->set->parts[0].data) ||
        pack_advise_file_of(params->set->parts[0].data, &q->file, NULL) != PACK_OK)
        return status;
    fill_file(params->set, &ask->watch, q);
    fill_reading(params, result, q);
    q->params.reading.pattern_is_fixed = ask->order_is_fixed;
    q->params.watch.context = ask->watch.context;
    q->params.watch.stop = ask->watch.stop;
    status = fit(result, q, err);
    if (status == PACK_ERR_ARGUMENT || status == PACK_ERR_LIMIT)
        return PACK_OK; /* read all the same, but beyond the model */
    *can = status == PACK_OK && q->first_factor > 0;
    return status;
}

void
pack_bench_question_done(struct bench_question *q)
{
    pack_advise_file_close(q->file);
    q->file = NULL;
}
