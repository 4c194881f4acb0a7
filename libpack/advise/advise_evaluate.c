/*
 * One configuration, from its pattern to samples per second:
 *
 *     pattern --boxes--> grid, cachesim (or HDF5's sieve buffer) --counts--> cost
 *
 * A full evaluation runs the epochs one after another through one cache and keeps the
 * first apart from the rest. A sampled one reads the beginning of the first epoch only;
 * its second half, with the cache warmed by the first, stands for the steady epochs, or
 * all of it, where workers and their caches end with each epoch.
 */
#include <math.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/check.h"
#include "libpack/base/size.h"
#include "libpack/hdf5/h5_caches.h"
#include "libpack/model/cost.h"

enum {
    EPOCHS_MAX = 3,       /* simulated; further ones are like these */
    GROWING_MAX = 16,     /* while the cache still grows; further ones are like the last */
    VISITS_MAX = 1 << 25, /* of a full evaluation: some seconds */
    SLICE = 1 << 16       /* samples between two looks at the watch */
};

/* One worker with its cache. */
struct bench {
    const struct pack_advise_params *params;
    const struct pack_advise_config *config;
    struct pack_pattern pattern;
    struct pack_grid grid;
    struct pack_pattern_iter *iter;
    struct pack_cachesim *sim; /* NULL: contiguous, or virtual */
    struct pack_h5_caches *caches; /* of a virtual dataset's sources */
    struct pack_advise_sieve sieve;
    struct pack_advise_request_means per_read;
};

/* The layout that the file has: each chunk's size is known. */
static bool
is_stored_so(const struct pack_advise_params *params,
             const struct pack_advise_config *config)
{
    return params->now && params->data.stored_bytes &&
           pack_advise_same_layout(params->now, config);
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
init_virtual(struct bench *b, struct pack_error *err)
{
    const struct pack_h5_dataset *d = b->params->data.virtual_data;
    pack_advise_probe_requests(b->iter, &b->grid, &b->per_read);
    count_source_chunks(&d->sources, &b->grid);
    enum pack_status status = pack_pattern_seek(b->iter, b->pattern.epoch, 0, err);
    return status == PACK_OK
               ? pack_h5_caches_new(d, &b->config->cache, &b->caches, err)
               : status;
}

static enum pack_status
bench_init(struct bench *b, struct pack_error *err)
{
    const struct pack_advise_config *config = b->config;
    if (config->is_virtual && !b->params->data.virtual_data)
        return pack_fail(err, PACK_ERR_ARGUMENT, "no virtual dataset is given");
    pack_advise_pattern(b->params, config, &b->pattern);
    enum pack_status status = pack_pattern_new(&b->pattern, &b->iter, err);
    if (status != PACK_OK)
        return status;
    if (config->chunk.rank == 0) {
        b->sieve.total = b->params->data.elem_size;
        for (int i = 0; i < b->params->data.extent.rank; i++)
            if (!pack_size_mul(b->sieve.total, b->params->data.extent.extent[i],
                               &b->sieve.total))
                return pack_fail(err, PACK_ERR_LIMIT,
                                 "the dataset has more bytes than 64 bits count");
        return PACK_OK;
    }
    status = pack_advise_grid(b->params, &config->chunk, &b->grid, err);
    if (status != PACK_OK)
        return status;
    if (config->is_virtual)
        return init_virtual(b, err);
    struct pack_cachesim_params sim = {
        .cache = config->cache,
        .filtered = strcmp(config->codec, "none") != 0,
        .edge_unfiltered = config->edge_unfiltered,
        .stored_rate = config->stored_rate,
    };
    if (is_stored_so(b->params, config)) {
        sim.stored_bytes = b->params->data.stored_bytes;
        sim.skip_missing = b->params->data.skip_missing;
    }
    pack_advise_probe_requests(b->iter, &b->grid, &b->per_read);
    status = pack_pattern_seek(b->iter, b->pattern.epoch, 0, err);
    return status == PACK_OK ? pack_cachesim_new(&b->grid, &sim, &b->sim, err) : status;
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
read_slice(struct bench *b, uint64_t max, struct pack_advise_interval *out,
           struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    *out = (struct pack_advise_interval){ 0 };
    if (b->sim || b->caches) {
        status = b->sim ? pack_advise_read_chunked(b->iter, b->sim, &b->pattern,
                                                   b->config->reopen, max, out, err)
                        : pack_advise_read_virtual(b->iter, b->caches, b->config->reopen,
                                                   max, out, err);
        out->n_runs = (double)out->n_reads * b->per_read.runs;
        out->n_boxes = (double)out->n_reads * b->per_read.boxes;
        out->n_elems = (double)out->n_reads * b->per_read.elems;
    } else {
        pack_advise_read_contiguous(b->iter, b->params, &b->sieve, b->config->reopen, max,
                                    out);
    }
    return status;
}

/* Up to `max` samples, going on from where the pattern and the cache are. */
static enum pack_status
bench_read(struct bench *b, uint64_t max, struct pack_advise_interval *out,
           struct pack_error *err)
{
    struct pack_advise_interval slice = { .n_samples = 1 };
    enum pack_status status = PACK_OK;
    *out = (struct pack_advise_interval){ 0 };
    while (status == PACK_OK && slice.n_samples && out->n_samples < max) {
        uint64_t left = max - out->n_samples;
        status = read_slice(b, left < SLICE ? left : SLICE, &slice, err);
        if (status == PACK_OK)
            status = pack_watch_check(&b->params->watch, err);
        interval_add(out, &slice);
    }
    return status;
}

/* What a new process has: nothing. */
static void
bench_restart(struct bench *b)
{
    if (b->sim)
        pack_cachesim_reopen(b->sim);
    if (b->caches)
        pack_h5_caches_reopen(b->caches);
    b->sieve.start = b->sieve.end = 0;
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
bench_epochs(struct bench *b, struct pack_advise_interval *first,
             struct pack_advise_interval *steady, struct pack_error *err)
{
    uint64_t n = pack_advise_epochs(b->params), e = 1, held;
    struct pack_advise_interval later;
    enum pack_status status = bench_read(b, UINT64_MAX, first, err);
    bool grows = !b->params->reading.workers_end;
    first->n_starts = 1;
    *steady = (struct pack_advise_interval){ 0 };
    held = first->counts.peak_bytes;
    for (; status == PACK_OK && e < n && (e < EPOCHS_MAX || grows); e++) {
        if (b->params->reading.workers_end)
            bench_restart(b);
        status = pack_pattern_seek(b->iter, b->pattern.epoch + e, 0, err);
        if (status == PACK_OK)
            status = bench_read(b, UINT64_MAX, &later, err);
        if (status != PACK_OK)
            break;
        later.n_starts = b->params->reading.workers_end;
        interval_add(steady, &later);
        grows = grows && later.counts.peak_bytes > held + held / 50 &&
                e < GROWING_MAX && e * later.counts.requests < VISITS_MAX;
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
bench_prefix(struct bench *b, uint64_t max_samples, struct pack_advise_interval *first,
             struct pack_advise_interval *steady, struct pack_error *err)
{
    enum pack_status status = bench_read(b, max_samples / 2, first, err);
    first->n_starts = 1;
    if (status == PACK_OK)
        status = bench_read(b, max_samples - max_samples / 2, steady, err);
    if (status == PACK_OK && b->params->reading.workers_end) {
        interval_add(steady, first);
        *first = *steady;
    }
    return status;
}

/* Samples whose visits are as many as a full evaluation may make, at least one. */
static uint64_t
samples_max(const struct bench *b)
{
    struct pack_shape box;
    double visits = 1;
    pack_advise_box(b->params, &box);
    for (int i = 0; i < b->grid.rank; i++)
        visits *= ceil((double)box.extent[i] / (double)b->grid.chunk[i]);
    return (uint64_t)fmax(2, (double)VISITS_MAX / visits);
}

/* Bytes of the file among which the order moves for a while. */
static double
range_of(const struct bench *b, double stored_bytes)
{
    const struct pack_pattern *p = &b->pattern;
    switch (p->kind) {
    case PACK_PATTERN_BLOCK:
        return (double)(p->pool_chunks ? p->pool_chunks : 32) *
               fmax(1, (double)p->chunk_samples / (double)b->grid.chunk[0]) *
               stored_bytes;
    case PACK_PATTERN_BUFFER:
        return (double)(p->buffer_samples ? p->buffer_samples : 10000) /
               (double)b->grid.chunk[0] * stored_bytes;
    case PACK_PATTERN_SEQUENTIAL: return stored_bytes;
    default: return (double)b->grid.n_chunks_total * stored_bytes;
    }
}

/* What an interval is to cost.h. */
static void
work_of(const struct bench *b, const struct pack_advise_interval *s,
        const struct pack_advise_interval *all, struct pack_cost_work *work)
{
    const struct pack_advise_config *config = b->config;
    double chunk_bytes = config->chunk.rank ? (double)b->grid.chunk_bytes : 0;
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
        .held_bytes = (double)all->counts.peak_bytes,
        .decode_ns = config->decode_ns,
        .is_sequential = b->pattern.kind == PACK_PATTERN_SEQUENTIAL ||
                         b->pattern.kind == PACK_PATTERN_BUFFER,
    };
    if (config->chunk.rank == 0 || s->counts.loads == 0)
        return;
    double per_sample = (double)s->counts.requests / (double)s->n_samples;
    double distinct = fmin((double)b->grid.n_chunks_total,
                           (double)s->n_samples * per_sample / (double)b->grid.chunk[0]);
    work->range_bytes = range_of(b, work->stored_bytes);
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
memory_of(const struct bench *b, const struct pack_advise_interval *first,
          const struct pack_advise_interval *steady)
{
    double peak =
        fmax((double)first->counts.peak_bytes, (double)steady->counts.peak_bytes);
    if (b->config->chunk.rank == 0)
        return (double)PACK_ADVISE_SIEVE_BYTES;
    double loading = first->counts.loads ? (double)b->grid.chunk_bytes : 0;
    double stored = first->counts.decodes ? loading * b->config->stored_rate : 0;
    double slots = (double)(b->config->cache.n_slots *
                            pack_advise_n_caches(b->params, b->config));
    return fmax(peak, loading) + stored + 8 * slots;
}

static double
file_of(const struct bench *b)
{
    if (b->config->chunk.rank == 0)
        return (double)b->sieve.total;
    return (double)b->grid.n_chunks_total * (double)b->grid.chunk_bytes *
           b->config->stored_rate;
}

/*
 * The part of an epoch's file reads that the page cache answers: of what is read for the
 * first time in the epoch, the part `kept` from the last one; of what any worker reads
 * again, what fits of the range that the order moves in.
 */
static double
page_rate(const struct bench *b, const struct pack_advise_interval *s, double ram,
          double file_bytes, double kept)
{
    double workers = (double)pack_advise_workers(b->params);
    double epoch = workers * (double)pack_pattern_length(b->iter) / (double)s->n_samples;
    double read = epoch * (double)s->counts.file_read_bytes, range = file_bytes;
    if (b->config->chunk.rank)
        range = fmin(file_bytes, workers * range_of(b, (double)b->grid.chunk_bytes *
                                                           b->config->stored_rate));
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

/* Counts to rates, and the shared terms of both intervals. */
static void
conclude(const struct bench *b, const struct pack_advise_interval *first,
         const struct pack_advise_interval *steady, struct pack_advise_outcome *o)
{
    const struct pack_advise_params *params = b->params;
    const struct pack_profile *profile = params->machine.profile;
    uint64_t workers = pack_advise_workers(params);
    struct pack_cost_work work;
    o->worker_samples = (double)pack_pattern_length(b->iter);
    o->shared_chunks = pack_pattern_shared_chunks(b->iter);
    o->memory_bytes = memory_of(b, first, steady) * (double)workers;
    o->file_bytes = file_of(b);
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
        pack_cost_page_cache_rate(order_of(b->pattern.kind), o->file_bytes, ram);
    o->page_cache_rate =
        params->machine.is_warm ? 1 : page_rate(b, steady, ram, o->file_bytes, kept);

    work_of(b, first, first, &work);
    work.touched_bytes = (double)first->counts.peak_bytes;
    work.page_cache_rate =
        params->machine.is_warm ? 1 : page_rate(b, first, ram, o->file_bytes, 0);
    pack_cost_estimate(profile, &work, workers, &o->first_cost);
    work_of(b, steady, steady, &work);
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
    o->elems_per_read = b->config->chunk.rank ? b->per_read.elems : 0;
    o->amplification =
        c->wanted_bytes ? (double)c->file_read_bytes / (double)c->wanted_bytes : 0;
}

static void
add_cost(struct pack_cost *sum, const struct pack_cost *part, double scale)
{
    sum->call_ns += scale * part->call_ns;
    sum->copy_ns += scale * part->copy_ns;
    sum->page_ns += scale * part->page_ns;
    sum->storage_ns += scale * part->storage_ns;
    sum->decode_ns += scale * part->decode_ns;
    sum->walk_ns += scale * part->walk_ns;
    sum->touch_ns += scale * part->touch_ns;
    sum->cpu_ns += scale * part->cpu_ns;
    sum->total_ns += scale * part->total_ns;
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
    p.data.companion = NULL;
    p.data.extent = with->extent;
    p.data.chunk_max = with->chunk_max;
    p.now = &c;
    p.data.stored_bytes = with->stored_bytes;
    p.data.skip_missing = with->skip_missing;
    p.data.elem_size = with->elem_size;
    pack_advise_pattern(params, config, &c.pattern);
    c.pattern.box.rank = 0;
    c.chunk = with->chunk;
    c.is_virtual = false;
    strcpy(c.codec, with->filtered ? "filtered" : "none");
    c.stored_rate = with->stored_rate;
    c.decode_ns = with->decode_ns;
    enum pack_status status = pack_advise_evaluate(&p, &c, max_samples, &other, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "second dataset");
    add_cost(&o->first_cost, &other.first_cost, o->first_samples / other.first_samples);
    add_cost(&o->steady_cost, &other.steady_cost,
             o->steady_samples / other.steady_samples);
    uint64_t workers = pack_advise_workers(params);
    o->first_rate = pack_cost_rate(params->machine.profile, &o->first_cost,
                                   o->first_samples, workers);
    o->later_rate = pack_cost_rate(params->machine.profile, &o->steady_cost,
                                   o->steady_samples, workers);
    o->rate = pack_advise_mean_rate(params, o->first_rate, o->later_rate);
    o->memory_bytes += other.memory_bytes;
    return PACK_OK;
}

enum pack_status
pack_advise_evaluate(const struct pack_advise_params *params,
                     const struct pack_advise_config *config, uint64_t max_samples,
                     struct pack_advise_outcome *outcome, struct pack_error *err)
{
    struct bench bench = { .params = params, .config = config };
    struct pack_advise_interval first, steady;
    struct pack_advise_outcome o = { .lru_hit_rate = -1,
                                     .belady_hit_rate = -1,
                                     .class_mixing = -1 };
    enum pack_status status = pack_advise_check_params(params, err);
    if (status == PACK_OK)
        status = pack_advise_check_config(config, err);
    if (status == PACK_OK)
        status = pack_check_given(err, "outcome", outcome, NULL);
    if (status == PACK_OK)
        status = bench_init(&bench, err);
    if (status != PACK_OK)
        goto out;
    uint64_t epochs = pack_advise_epochs(params), length = pack_pattern_length(bench.iter);
    uint64_t limit = samples_max(&bench);
    uint64_t most = limit / (epochs < EPOCHS_MAX ? epochs : EPOCHS_MAX);
    if (max_samples == 0 && length > most)
        max_samples = most;
    if (max_samples > limit)
        max_samples = limit;
    if (max_samples == 1 || (max_samples == 0 && most == 0))
        max_samples = 2; /* a half each of first and later ones */
    o.is_exact = max_samples == 0 || max_samples >= length;
    status = o.is_exact ? bench_epochs(&bench, &first, &steady, err)
                        : bench_prefix(&bench, max_samples, &first, &steady, err);
    if (status != PACK_OK)
        goto out;
    o.config = *config;
    o.n_simulated = first.n_samples + steady.n_samples;
    conclude(&bench, &first, &steady, &o);
    status = pack_advise_mix(params, &bench.pattern, &o, err);
    if (status == PACK_OK && params->data.companion)
        status = add_companion(params, config, max_samples, &o, err);
    o.modelled_rate = o.rate;
    o.change = pack_advise_change_of(params, config);
    if (status == PACK_OK)
        *outcome = o;
out:
    pack_cachesim_free(bench.sim);
    pack_h5_caches_free(bench.caches);
    pack_pattern_free(bench.iter);
    return status;
}
