/*
 * One worker with its cache reads as a configuration says, and what happens is counted.
 *
 * A full simulation runs the epochs one after another through one cache and keeps the
 * first apart from the rest. A sampled one reads the beginning of the first epoch only;
 * its second half, with the cache warmed by the first, stands for the steady epochs, or
 * all of it, where workers and their caches end with each epoch.
 */
#include <math.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/size.h"
#include "libpack/hdf5/h5_caches.h"
#include "libpack/model/order_text.h"

enum {
    EPOCHS_MAX = 3,   /* simulated; further ones are like these */
    GROWING_MAX = 64, /* while the cache still grows; further ones are like the last */
    VISITS_MAX = 1 << 25, /* of a full evaluation: some seconds */
    VISIT_RUNS = 8,       /* read past the cache: they take as long as a visit */
    SLICE = 1 << 16       /* samples between two looks at the watch */
};

/* The layout that the file has, of which it is known what is stored. */
static bool
is_stored_so(const struct pack_advise_params *params,
             const struct pack_advise_config *config)
{
    return params->now && pack_advise_same_layout(params->now, config);
}

/* Chunks of all sources, for all that goes by their number and mean size. */
static void
count_source_chunks(const struct pack_h5_sources *s, struct pack_grid *grid)
{
    double n = 0, bytes = 0;
    for (size_t i = 0; i < s->n_sources; i++) {
        const struct pack_grid *g = &s->sources[i].chunks.grid;
        n += (double)g->n_chunks_total;
        bytes += (double)g->n_chunks_total * (double)g->chunk_bytes;
    }
    grid->n_chunks_total = (uint64_t)fmax(1, n);
    grid->chunk_bytes = (uint64_t)fmax(1, bytes / fmax(1, n));
}

static enum pack_status
init_virtual(struct pack_advise_worker *w, struct pack_error *err)
{
    const struct pack_h5_dataset *d = w->params->data.virtual_data;
    pack_advise_probe_requests(w->iter, &w->grid, &w->per_read);
    count_source_chunks(&d->sources, &w->grid);
    enum pack_status status = pack_pattern_seek(w->iter, w->pattern.epoch, 0, err);
    return status == PACK_OK ? pack_h5_caches_new(d, &w->config->cache, &w->caches, err)
                             : status;
}

/* One chunk, which no cache holds. */
static enum pack_status
init_contiguous(struct pack_advise_worker *w, struct pack_error *err)
{
    const struct pack_advise_data *data = &w->params->data;
    struct pack_grid whole;
    enum pack_status status =
        pack_grid_init(&whole, &data->extent, &data->extent, data->elem_size, err);
    if (status != PACK_OK)
        return status;
    w->sieve.total = whole.chunk_bytes;
    w->sieve.is_unwritten = data->is_unwritten && is_stored_so(w->params, w->config);
    pack_advise_probe_requests(w->iter, &whole, &w->per_read);
    return pack_pattern_seek(w->iter, w->pattern.epoch, 0, err);
}

enum pack_status
pack_advise_worker_init(struct pack_advise_worker *w,
                        const struct pack_advise_params *params,
                        const struct pack_advise_config *config, struct pack_error *err)
{
    *w = (struct pack_advise_worker){ .params = params, .config = config };
    if (config->is_virtual && !w->params->data.virtual_data)
        return pack_fail(err, PACK_ERR_ARGUMENT, "no virtual dataset is given");
    pack_advise_pattern(w->params, config, &w->pattern);
    enum pack_status status = pack_pattern_new(&w->pattern, &w->iter, err);
    if (status == PACK_OK && w->pattern.kind == PACK_PATTERN_TRACE)
        status = pack_trace_check(w->pattern.trace, w->pattern.n_trace,
                                  &params->data.extent, err);
    if (status != PACK_OK)
        return status;
    if (config->chunk.rank == 0)
        return init_contiguous(w, err);
    status = pack_advise_grid(w->params, &config->chunk, &w->grid, err);
    if (status != PACK_OK)
        return status;
    if (config->is_virtual)
        return init_virtual(w, err);
    struct pack_cachesim_params sim = {
        .cache = config->cache,
        .filtered = strcmp(config->codec, "none") != 0,
        .edge_unfiltered = config->edge_unfiltered,
        .stored_rate = config->stored_rate,
    };
    if (w->params->data.stored_bytes && is_stored_so(w->params, config)) {
        sim.stored_bytes = w->params->data.stored_bytes;
        sim.skip_missing = w->params->data.skip_missing;
    }
    pack_advise_probe_requests(w->iter, &w->grid, &w->per_read);
    status = pack_pattern_seek(w->iter, w->pattern.epoch, 0, err);
    return status == PACK_OK ? pack_cachesim_new(&w->grid, &sim, &w->sim, err) : status;
}

/* Adds what happened later. */
static void
interval_add(struct pack_advise_interval *total, const struct pack_advise_interval *part)
{
    uint64_t peak = total->counts.peak_bytes > part->counts.peak_bytes
                        ? total->counts.peak_bytes
                        : part->counts.peak_bytes;
    pack_cache_counts_add(&total->counts, &part->counts);
    total->counts.peak_bytes = peak;
    total->n_samples += part->n_samples;
    total->n_reads += part->n_reads;
    total->n_runs += part->n_runs;
    total->n_boxes += part->n_boxes;
    total->n_elems += part->n_elems;
    total->n_opens += part->n_opens;
    total->n_starts += part->n_starts;
}

static enum pack_status
read_slice(struct pack_advise_worker *w, uint64_t max, struct pack_advise_interval *out,
           struct pack_error *err)
{
    *out = (struct pack_advise_interval){ 0 };
    if (!w->sim && !w->caches) {
        pack_advise_read_contiguous(w, max, out);
        return PACK_OK;
    }
    enum pack_status status = w->sim ? pack_advise_read_chunked(w, max, out, err)
                                     : pack_advise_read_virtual(w, max, out, err);
    out->n_runs = (double)out->n_reads * w->per_read.runs;
    out->n_boxes = (double)out->n_reads * w->per_read.boxes;
    out->n_elems = (double)out->n_reads * w->per_read.elems;
    return status;
}

/* Up to `max` samples, going on from where the pattern and the cache are. */
static enum pack_status
read_samples(struct pack_advise_worker *w, uint64_t max, struct pack_advise_interval *out,
             struct pack_error *err)
{
    struct pack_advise_interval slice = { .n_samples = 1 };
    enum pack_status status = PACK_OK;
    *out = (struct pack_advise_interval){ 0 };
    while (status == PACK_OK && slice.n_samples && out->n_samples < max) {
        uint64_t left = max - out->n_samples;
        status = read_slice(w, left < SLICE ? left : SLICE, &slice, err);
        if (status == PACK_OK)
            status = pack_watch_check(&w->params->watch, err);
        interval_add(out, &slice);
    }
    return status;
}

/* What a new process has: nothing. */
static void
restart(struct pack_advise_worker *w)
{
    if (w->sim)
        pack_cachesim_reopen(w->sim);
    if (w->caches)
        pack_h5_caches_reopen(w->caches);
    w->sieve.start = w->sieve.end = 0;
}

/* Adds an epoch as often as it will be repeated. */
static void
interval_add_times(struct pack_advise_interval *total,
                   const struct pack_advise_interval *part, uint64_t times)
{
    struct pack_advise_interval sum = { 0 }, twice = *part;
    for (; times; times >>= 1) { /* by doubling */
        if (times & 1)
            interval_add(&sum, &twice);
        struct pack_advise_interval once = twice;
        interval_add(&twice, &once);
    }
    interval_add(total, &sum);
}

static enum pack_status
simulate_epochs(struct pack_advise_worker *w, struct pack_advise_interval *first,
                struct pack_advise_interval *steady, struct pack_error *err)
{
    uint64_t n = pack_advise_epochs(w->params), e = 1, held;
    struct pack_advise_interval later;
    enum pack_status status = read_samples(w, UINT64_MAX, first, err);
    bool grows = !w->params->reading.workers_end;
    first->n_starts = 1;
    *steady = (struct pack_advise_interval){ 0 };
    held = first->counts.peak_bytes;
    for (; status == PACK_OK && e < n && (e < EPOCHS_MAX || grows); e++) {
        if (w->params->reading.workers_end)
            restart(w);
        status = pack_pattern_seek(w->iter, w->pattern.epoch + e, 0, err);
        if (status == PACK_OK)
            status = read_samples(w, UINT64_MAX, &later, err);
        if (status != PACK_OK)
            break;
        later.n_starts = w->params->reading.workers_end;
        interval_add(steady, &later);
        grows = grows && later.counts.peak_bytes > held + held / 1000 && e < GROWING_MAX &&
                e * later.counts.requests < VISITS_MAX;
        held = later.counts.peak_bytes;
    }
    if (status == PACK_OK && e > EPOCHS_MAX)
        interval_add_times(steady, &later, n - e);
    if (steady->n_samples == 0)
        *steady = *first;
    return status;
}

/* The beginning of the first epoch stands for all of them. */
static enum pack_status
simulate_prefix(struct pack_advise_worker *w, uint64_t max_samples,
                struct pack_advise_interval *first, struct pack_advise_interval *steady,
                struct pack_error *err)
{
    enum pack_status status = read_samples(w, max_samples / 2, first, err);
    *steady = (struct pack_advise_interval){ 0 };
    first->n_starts = 1;
    if (status == PACK_OK && max_samples > first->n_samples) /* batches are whole */
        status = read_samples(w, max_samples - first->n_samples, steady, err);
    if (status == PACK_OK && w->params->reading.workers_end) {
        interval_add(steady, first);
        *first = *steady;
    }
    if (steady->n_samples == 0) /* one read took all of them */
        *steady = *first;
    return status;
}

/* Whether reads go past the cache, run by run. */
static bool
is_direct(const struct pack_advise_worker *w)
{
    const struct pack_advise_config *config = w->config;
    return config->chunk.rank == 0 ||
           (strcmp(config->codec, "none") == 0 &&
            w->grid.chunk_bytes > config->cache.size_bytes);
}

/* Samples whose visits are as many as a full evaluation may make, at least one. */
static uint64_t
samples_max(const struct pack_advise_worker *w)
{
    const struct pack_pattern *p = &w->pattern;
    struct pack_shape box;
    double visits = 1, together = 1;
    pack_advise_box(w->params, &box);
    for (int i = 0; i < w->grid.rank; i++)
        visits *= ceil((double)box.extent[i] / (double)w->grid.chunk[i]);
    if (p->read != PACK_READ_SAMPLE)
        together = fmin((double)p->batch, (double)pack_pattern_length(w->iter));
    if (is_direct(w))
        visits = fmax(visits, w->per_read.runs / fmax(1, together) / VISIT_RUNS);
    return (uint64_t)fmax(2, (double)VISITS_MAX / visits);
}

uint64_t
pack_advise_sample_limit(const struct pack_advise_worker *w, uint64_t max_samples)
{
    uint64_t epochs = pack_advise_epochs(w->params), limit = samples_max(w);
    uint64_t most = limit / (epochs < EPOCHS_MAX ? epochs : EPOCHS_MAX);
    if (max_samples == 0 && pack_pattern_length(w->iter) > most)
        max_samples = most;
    if (max_samples > limit)
        max_samples = limit;
    if (max_samples == 1 || (max_samples == 0 && most == 0))
        max_samples = 2; /* a half each of first and later ones */
    return max_samples;
}

enum pack_status
pack_advise_simulate(struct pack_advise_worker *w, uint64_t max_samples,
                     struct pack_advise_epochs *epochs, struct pack_error *err)
{
    epochs->is_exact = max_samples == 0 || max_samples >= pack_pattern_length(w->iter);
    return epochs->is_exact
               ? simulate_epochs(w, &epochs->first, &epochs->steady, err)
               : simulate_prefix(w, max_samples, &epochs->first, &epochs->steady, err);
}

void
pack_advise_worker_done(struct pack_advise_worker *w)
{
    pack_cachesim_free(w->sim);
    pack_h5_caches_free(w->caches);
    pack_pattern_free(w->iter);
}
