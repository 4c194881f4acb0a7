/*
 * One configuration, from its pattern to samples per second:
 *
 *     pattern --boxes--> grid, cachesim (or HDF5's sieve buffer) --counts--> cost
 *
 * advise_simulate.c counts; here counts become times, rates, memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/check.h"
#include "libpack/base/size.h"
#include "libpack/model/cost.h"

/* Bytes of the file among which the order moves for a while. */
static double
range_of(const struct pack_advise_worker *w, double stored_bytes)
{
    const struct pack_pattern *p = &w->pattern;
    switch (p->kind) {
    case PACK_PATTERN_BLOCK:
        return (double)(p->pool_chunks ? p->pool_chunks : 32) *
               fmax(1, (double)p->chunk_samples / (double)w->grid.chunk[0]) *
               stored_bytes;
    case PACK_PATTERN_BUFFER:
        return (double)(p->buffer_samples ? p->buffer_samples : 10000) /
               (double)w->grid.chunk[0] * stored_bytes;
    case PACK_PATTERN_SEQUENTIAL: return stored_bytes;
    default: return (double)w->grid.n_chunks_total * stored_bytes;
    }
}

/* From the first to the last byte of a chunk that a sample takes. */
static double
visit_of(const struct pack_advise_worker *w)
{
    const struct pack_grid *grid = &w->grid;
    struct pack_shape box;
    double stride = (double)w->params->data.elem_size, bytes = stride;
    pack_advise_box(w->params, &box);
    for (int i = grid->rank - 1; i >= 0; i--) {
        uint64_t n = box.extent[i] < grid->chunk[i] ? box.extent[i] : grid->chunk[i];
        if (i == 0 && w->pattern.read != PACK_READ_SAMPLE)
            n = grid->chunk[0];
        bytes += (double)(n - 1) * stride;
        stride *= (double)grid->chunk[i];
    }
    return bytes;
}

/* What an interval is to cost.h. */
static void
work_of(const struct pack_advise_worker *w, const struct pack_advise_interval *s,
        const struct pack_advise_interval *all, struct pack_cost_work *work)
{
    const struct pack_advise_config *config = w->config;
    double chunk_bytes = config->chunk.rank ? (double)w->grid.chunk_bytes : 0;
    *work = (struct pack_cost_work){
        .n_reads = s->n_reads,
        .counts = s->counts,
        .n_runs = s->n_runs,
        .n_boxes = s->n_boxes,
        .n_elems = s->n_elems,
        .rank = config->chunk.rank,
        .n_opens = s->n_opens,
        .n_slots = config->chunk.rank ? config->cache.n_slots : 0,
        .chunk_bytes = (uint64_t)chunk_bytes,
        .stored_bytes = chunk_bytes * config->stored_rate,
        .visit_bytes = config->chunk.rank ? visit_of(w) : 0,
        .held_bytes = (double)all->counts.peak_bytes,
        .batch_bytes = pack_advise_batch_bytes(w->params),
        .decode_ns = config->decode_ns,
        .is_sequential = w->pattern.kind == PACK_PATTERN_SEQUENTIAL ||
                         w->pattern.kind == PACK_PATTERN_BUFFER,
    };
    if (config->chunk.rank && w->params->data.has_old_index)
        work->n_searched = fmin((double)w->grid.n_chunks_total, range_of(w, 1));
    if (config->chunk.rank == 0 || s->counts.loads == 0)
        return;
    double per_sample = (double)s->counts.requests / (double)s->n_samples;
    double distinct = fmin((double)w->grid.n_chunks_total,
                           (double)s->n_samples * per_sample / (double)w->grid.chunk[0]);
    work->range_bytes = range_of(w, work->stored_bytes);
    work->n_again = fmax(0, (double)s->counts.loads - distinct);
}

static enum pack_cost_order
order_of(enum pack_pattern_kind kind)
{
    switch (kind) {
    case PACK_PATTERN_SHUFFLE:
    case PACK_PATTERN_BLOCK: return PACK_COST_PERMUTED;
    case PACK_PATTERN_REPLACEMENT:
    case PACK_PATTERN_WEIGHTED:
    case PACK_PATTERN_TRACE: return PACK_COST_INDEPENDENT;
    default: return PACK_COST_SEQUENTIAL;
    }
}

/* Bytes of caches: chunks held, the one being loaded, decoding beside it, slots. */
static double
memory_of(const struct pack_advise_worker *w, const struct pack_advise_interval *first,
          const struct pack_advise_interval *steady)
{
    double peak =
        fmax((double)first->counts.peak_bytes, (double)steady->counts.peak_bytes);
    if (w->config->chunk.rank == 0)
        return (double)PACK_ADVISE_SIEVE_BYTES;
    double loading = first->counts.loads ? (double)w->grid.chunk_bytes : 0;
    double stored = first->counts.decodes ? loading * w->config->stored_rate : 0;
    double slots =
        (double)(w->config->cache.n_slots * pack_advise_n_caches(w->params, w->config));
    return fmax(peak, loading) + stored + 8 * slots;
}

static double
file_of(const struct pack_advise_worker *w)
{
    if (w->config->chunk.rank == 0)
        return (double)w->sieve.total;
    return (double)w->grid.n_chunks_total * (double)w->grid.chunk_bytes *
           w->config->stored_rate;
}

/*
 * The part of an epoch's file reads that the page cache answers: of what is read for the
 * first time in the epoch, the part `kept` from the last one; of what any worker reads
 * again, what fits of the range that the order moves in.
 */
static double
page_rate(const struct pack_advise_worker *w, const struct pack_advise_interval *s,
          double ram, double file_bytes, double kept)
{
    double workers = (double)pack_advise_workers(w->params);
    double epoch = workers * (double)pack_pattern_length(w->iter) / (double)s->n_samples;
    double read = epoch * (double)s->counts.file_read_bytes, range = file_bytes;
    if (w->config->chunk.rank)
        range = fmin(file_bytes, workers * range_of(w, (double)w->grid.chunk_bytes *
                                                           w->config->stored_rate));
    double again = read > file_bytes ? 1 - file_bytes / read : 0;
    double near = ram >= range ? 1 : fmax(0, ram) / range;
    return (1 - again) * kept + again * fmax(near, kept);
}

double
pack_advise_mean_rate(const struct pack_advise_params *params, double first, double later)
{
    double epochs = (double)pack_advise_epochs(params);
    return epochs / (1 / first + (epochs - 1) / later);
}

/* Samples that all workers of this rank read in an epoch. Batches are dealt, so that the
 * first worker, which is simulated, has up to one batch more than others. */
static double
samples_of_all(const struct pack_advise_worker *w)
{
    const struct pack_pattern *p = &w->pattern; /* whose batches may be smaller than asked */
    double all = (double)pack_pattern_length(w->iter) * (double)pack_advise_workers(w->params);
    double batch = p->batch > 0 ? (double)p->batch : 1;
    double rank = ceil((double)pack_pattern_n_samples(w->iter) /
                       (double)(p->world > 0 ? p->world : 1));
    if (p->kind == PACK_PATTERN_TRACE) /* each worker has its own */
        return all;
    if (p->drop_last)
        rank = floor(rank / batch) * batch;
    return fmin(all, rank);
}

/* Counts to rates, and the shared terms of both intervals. */
static void
conclude(const struct pack_advise_worker *w, const struct pack_advise_epochs *epochs,
         struct pack_advise_outcome *o)
{
    const struct pack_advise_interval *first = &epochs->first, *steady = &epochs->steady;
    const struct pack_advise_params *params = w->params;
    const struct pack_profile *profile = params->machine.profile;
    uint64_t workers = pack_advise_workers(params);
    struct pack_cost_work work;
    o->worker_samples = (double)pack_pattern_length(w->iter);
    o->epoch_samples = samples_of_all(w);
    o->shared_chunks = pack_pattern_shared_chunks(w->iter);
    o->memory_bytes = memory_of(w, first, steady) * (double)workers;
    o->file_bytes = file_of(w);
    double allowed = (double)pack_advise_budget(params) * (double)workers;
    o->fits = o->memory_bytes <= fmax(1.1 * allowed, (double)params->machine.ram_bytes);
    if (!o->fits)
        steady = first;
    o->first = first->counts;
    o->steady = steady->counts;
    o->first_samples = (double)first->n_samples;
    o->steady_samples = (double)steady->n_samples;
    double ram = (double)params->machine.ram_bytes - o->memory_bytes;
    double kept =
        pack_cost_page_cache_rate(order_of(w->pattern.kind), o->file_bytes, ram);
    o->page_cache_rate =
        params->machine.is_warm ? 1 : page_rate(w, steady, ram, o->file_bytes, kept);

    work_of(w, first, first, &work);
    work.touched_bytes = (double)first->counts.peak_bytes;
    work.page_cache_rate =
        params->machine.is_warm ? 1 : page_rate(w, first, ram, o->file_bytes, 0);
    pack_cost_estimate(profile, &work, workers, &o->first_cost);
    work_of(w, steady, steady, &work);
    if (params->reading.workers_end)
        work.touched_bytes = steady->n_starts * (double)steady->counts.peak_bytes;
    else if (steady != first) /* what the cache still grew by */
        work.touched_bytes =
            fmax(0, (double)steady->counts.peak_bytes - (double)first->counts.peak_bytes);
    work.page_cache_rate = o->page_cache_rate;
    pack_cost_estimate(profile, &work, workers, &o->steady_cost);

    o->first_rate = pack_cost_rate(profile, &o->first_cost, o->first_samples, workers);
    o->later_rate = pack_cost_rate(profile, &o->steady_cost, o->steady_samples, workers);
    o->rate = pack_advise_mean_rate(params, o->first_rate, o->later_rate);
    const struct pack_cache_counts *c = &o->steady;
    double n = o->steady_samples;
    o->hit_rate = c->requests ? (double)c->hits / (double)c->requests : 0;
    o->loads_per_sample = (double)c->file_reads / n;
    o->bytes_per_sample = (double)c->file_read_bytes / n;
    o->elems_per_read = w->config->chunk.rank ? w->per_read.elems : 0;
    if (w->config->chunk.rank == 0 && steady->n_boxes > (double)steady->n_reads)
        o->runs_per_read = steady->n_runs / (double)steady->n_reads;
    o->amplification =
        c->wanted_bytes ? (double)c->file_read_bytes / (double)c->wanted_bytes : 0;
}

/* The same indexes of axis 0, whole, of the second dataset. */
static void
whole_boxes(const struct pack_box *boxes, uint64_t n, const struct pack_shape *extent,
            struct pack_box *whole)
{
    for (uint64_t b = 0; b < n; b++) {
        whole[b].rank = extent->rank;
        for (int i = 0; i < extent->rank; i++) {
            whole[b].start[i] = i ? 0 : boxes[b].start[0];
            whole[b].count[i] = i ? extent->extent[i] : boxes[b].count[0];
        }
    }
}

/* The order of the first dataset, of the second one: there are as many samples, of as many
 * indexes of axis 0. *trace is for free(). */
static enum pack_status
companion_pattern(const struct pack_advise_params *params,
                  const struct pack_advise_config *config, struct pack_pattern *pattern,
                  struct pack_box **trace, struct pack_error *err)
{
    const struct pack_shape *extent = &params->data.companion->extent;
    uint64_t bytes;
    pack_advise_pattern(params, config, pattern);
    if (pattern->box.rank != 0) {
        uint64_t n = pattern->box.extent[0];
        pattern->box = *extent;
        pattern->box.extent[0] = n;
    }
    if (pattern->kind != PACK_PATTERN_TRACE)
        return PACK_OK;
    if (pack_size_mul(pattern->n_trace, sizeof **trace, &bytes))
        *trace = malloc(bytes);
    if (!*trace)
        return pack_fail_memory(err, "a trace");
    whole_boxes(pattern->trace, pattern->n_trace, extent, *trace);
    pattern->trace = *trace;
    return PACK_OK;
}

/* What the companion takes on top. */
static void
add_outcome(const struct pack_advise_params *params,
            const struct pack_advise_outcome *other, struct pack_advise_outcome *o)
{
    const struct pack_profile *profile = params->machine.profile;
    uint64_t workers = pack_advise_workers(params);
    pack_cost_add(&o->first_cost, &other->first_cost,
                  o->first_samples / other->first_samples);
    pack_cost_add(&o->steady_cost, &other->steady_cost,
                  o->steady_samples / other->steady_samples);
    o->first_rate = pack_cost_rate(profile, &o->first_cost, o->first_samples, workers);
    o->later_rate = pack_cost_rate(profile, &o->steady_cost, o->steady_samples, workers);
    o->rate = pack_advise_mean_rate(params, o->first_rate, o->later_rate);
    o->memory_bytes += other->memory_bytes;
}

/* Reads the companion in the same order and adds its time and memory. */
static enum pack_status
add_companion(const struct pack_advise_params *params,
              const struct pack_advise_config *config, uint64_t max_samples,
              struct pack_advise_outcome *o, struct pack_error *err)
{
    const struct pack_advise_companion *with = params->data.companion;
    struct pack_advise_params p = *params;
    struct pack_advise_config c = *config;
    struct pack_advise_outcome other;
    struct pack_box *trace = NULL;
    enum pack_status status = companion_pattern(params, config, &c.pattern, &trace, err);
    if (status != PACK_OK)
        return status;
    p.data.companion = NULL;
    p.data.extent = with->extent;
    p.data.chunk_max = with->chunk_max;
    p.now = &c;
    p.data.stored_bytes = with->stored_bytes;
    p.data.skip_missing = with->skip_missing;
    p.data.is_unwritten = with->is_unwritten;
    p.data.elem_size = with->elem_size;
    p.reading.pattern.box = c.pattern.box;
    c.chunk = with->chunk;
    c.is_virtual = false;
    strcpy(c.codec, with->filtered ? "filtered" : "none");
    c.stored_rate = with->stored_rate;
    c.decode_ns = with->decode_ns;
    status = pack_advise_evaluate(&p, &c, max_samples, &other, err);
    free(trace);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "second dataset");
    add_outcome(params, &other, o);
    return PACK_OK;
}

double
pack_advise_begun(const struct pack_advise_params *params,
                  const struct pack_advise_outcome *o, struct pack_cost *cost,
                  double *samples)
{
    struct pack_cost half = o->steady_cost;
    *cost = o->first_cost;
    *samples = o->first_samples;
    if (!o->is_exact) { /* the second half is of the same pages as the first */
        half.storage_ns = o->first.file_read_bytes
                              ? o->first_cost.storage_ns * (double)o->steady.file_read_bytes /
                                    (double)o->first.file_read_bytes
                              : half.storage_ns;
        half.total_ns = half.cpu_ns + half.storage_ns;
        pack_cost_add(cost, &half, 1);
        *samples += o->steady_samples;
    }
    return pack_cost_rate(params->machine.profile, cost, *samples,
                          pack_advise_workers(params));
}

enum pack_status
pack_advise_evaluate(const struct pack_advise_params *params,
                     const struct pack_advise_config *config, uint64_t max_samples,
                     struct pack_advise_outcome *outcome, struct pack_error *err)
{
    struct pack_advise_worker worker;
    struct pack_advise_epochs epochs;
    struct pack_advise_outcome o = { .lru_hit_rate = -1,
                                     .belady_hit_rate = -1,
                                     .class_mixing = -1 };
    enum pack_status status = pack_advise_check_params(params, err);
    if (status == PACK_OK)
        status = pack_advise_check_config(config, err);
    if (status == PACK_OK)
        status = pack_check_given(err, "outcome", outcome, NULL);
    if (status != PACK_OK)
        return status;
    status = pack_advise_worker_init(&worker, params, config, err);
    if (status != PACK_OK)
        goto out;
    max_samples = pack_advise_sample_limit(&worker, max_samples);
    status = pack_advise_simulate(&worker, max_samples, &epochs, err);
    if (status != PACK_OK)
        goto out;
    o.config = *config;
    o.is_exact = epochs.is_exact;
    o.n_simulated = epochs.first.n_samples + epochs.steady.n_samples;
    conclude(&worker, &epochs, &o);
    status = pack_advise_mix(params, &worker.pattern, &o, err);
    if (status == PACK_OK && params->data.companion)
        status = add_companion(params, config, max_samples, &o, err);
    if (status != PACK_OK)
        goto out;
    o.modelled_rate = o.rate;
    o.change = pack_advise_change_of(params, config);
    *outcome = o;
out:
    pack_advise_worker_done(&worker);
    return status;
}
