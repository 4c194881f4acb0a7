/*
 * The reads of one worker: through the simulated chunk cache, through those of a virtual
 * dataset's sources, or through the window of the file that HDF5 keeps of contiguous data.
 */
#include "libpack/advise/advise_parts.h"
#include "libpack/hdf5/h5_caches.h"
#include "libpack/model/grid.h"
#include "libpack/model/replay.h"

enum { RUN_PROBES = 64 };

/* Follows H5D__contig_readvv_sieve_cb (src/H5Dcontig.c of 1.10.8). */
static void
sieve_read(struct pack_advise_sieve *sieve, uint64_t at, uint64_t bytes,
           struct pack_cache_counts *counts)
{
    if (sieve->is_unwritten || (at >= sieve->start && at + bytes <= sieve->end))
        return;
    counts->file_reads++;
    if (bytes > PACK_ADVISE_SIEVE_BYTES) {
        counts->file_read_bytes += bytes;
        return;
    }
    uint64_t window = sieve->total - at < PACK_ADVISE_SIEVE_BYTES
                          ? sieve->total - at
                          : PACK_ADVISE_SIEVE_BYTES;
    counts->file_read_bytes += window;
    sieve->start = at;
    sieve->end = at + window;
}

/* Splits a box into runs that are contiguous in the file; returns how many. */
static uint64_t
sieve_box(struct pack_advise_sieve *sieve, const struct pack_shape *extent,
          uint64_t elem_size, const struct pack_box *box,
          struct pack_cache_counts *counts)
{
    uint64_t step[PACK_RANK_MAX], index[PACK_RANK_MAX] = { 0 }, n_runs = 1, at = 0;
    int j = box->rank - 1;
    step[j] = elem_size;
    for (int i = j; i > 0; i--)
        step[i - 1] = step[i] * extent->extent[i];
    while (j > 0 && box->count[j] == extent->extent[j])
        j--;
    for (int i = 0; i < box->rank; i++)
        at += box->start[i] * step[i];
    for (int i = 0; i < j; i++)
        n_runs *= box->count[i];
    for (uint64_t run = 0; run < n_runs; run++) {
        sieve_read(sieve, at, box->count[j] * step[j], counts);
        for (int i = j - 1; i >= 0; i--) {
            at += step[i];
            if (++index[i] < box->count[i])
                break;
            at -= index[i] * step[i];
            index[i] = 0;
        }
    }
    counts->wanted_bytes += n_runs * box->count[j] * step[j];
    return n_runs;
}

static double
elements_of(const struct pack_box *box)
{
    double n = 1;
    for (int i = 0; i < box->rank; i++)
        n *= (double)box->count[i];
    return n;
}

/* Of a selection of several boxes HDF5 goes from one run along the last axis to the next,
 * even where they lie behind one another (H5S__hyper_get_seq_list_gen, src/H5Shyper.c of
 * 1.10.8; 2.0 as well). */
static double
union_runs(const struct pack_request *request)
{
    double n = 0;
    for (size_t i = 0; i < request->n_boxes; i++) {
        const struct pack_box *box = &request->boxes[i];
        n += elements_of(box) / (double)box->count[box->rank - 1];
    }
    return n;
}

/* Up to `max` samples of contiguous data. */
void
pack_advise_read_contiguous(struct pack_advise_worker *w, uint64_t max,
                            struct pack_advise_interval *out)
{
    const struct pack_advise_data *data = &w->params->data;
    struct pack_advise_sieve *sieve = &w->sieve;
    struct pack_request request;
    while (out->n_samples < max && pack_pattern_next(w->iter, &request)) {
        if (w->config->reopen)
            sieve->start = sieve->end = 0;
        double n_runs = 0;
        for (size_t i = 0; i < request.n_boxes; i++)
            n_runs += (double)sieve_box(sieve, &data->extent, data->elem_size,
                                        &request.boxes[i], &out->counts);
        out->n_runs += request.n_boxes > 1 ? union_runs(&request) : n_runs;
        out->n_samples += request.n_samples;
        out->n_reads++;
        out->n_boxes += (double)request.n_boxes;
        out->n_opens += w->config->reopen;
    }
    out->counts.requests = out->counts.bypass_visits = out->n_reads;
}

/* Contiguous runs that copying a box out of its chunks takes, and its chunks. */
static void
count_runs(const struct pack_grid *grid, const struct pack_box *box, double *runs)
{
    struct pack_grid_cursor c;
    for (bool more = pack_grid_first(&c, grid, box); more; more = pack_grid_next(&c)) {
        double n = 1;
        int j = grid->rank - 1;
        while (j > 0 && c.count[j] == grid->chunk[j] && c.count[j] == box->count[j])
            j--;
        for (int i = 0; i < j; i++)
            n *= (double)c.count[i];
        *runs += n;
    }
}

void
pack_advise_probe_requests(struct pack_pattern_iter *iter, const struct pack_grid *grid,
                           struct pack_advise_request_means *means)
{
    struct pack_request request;
    struct pack_advise_request_means sum = { 0 };
    int n = 0;
    for (; n < RUN_PROBES && pack_pattern_next(iter, &request); n++) {
        sum.boxes += (double)request.n_boxes;
        for (size_t i = 0; i < request.n_boxes; i++) {
            count_runs(grid, &request.boxes[i], &sum.runs);
            if (request.n_boxes > 1 && grid->rank > 1)
                sum.elems += elements_of(&request.boxes[i]);
        }
    }
    *means = (struct pack_advise_request_means){ 0 };
    if (n > 0)
        *means = (struct pack_advise_request_means){ sum.runs / n, sum.boxes / n,
                                                     sum.elems / n };
}

/* Up to `max` samples of chunked data, the cache going on from where it is. */
enum pack_status
pack_advise_read_chunked(struct pack_advise_worker *w, uint64_t max,
                         struct pack_advise_interval *out, struct pack_error *err)
{
    const struct pack_pattern *pattern = &w->pattern;
    bool reopen = w->config->reopen;
    uint64_t got = 1, share = reopen ? 1 : max;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && got && out->n_samples < max) {
        if (reopen)
            pack_cachesim_reopen(w->sim);
        status = pack_replay(w->iter, w->sim, share, &got, err);
        out->n_samples += got;
        out->n_opens += reopen && got;
    }
    uint64_t per_read =
        pattern->read == PACK_READ_SAMPLE || pattern->batch == 0 ? 1 : pattern->batch;
    out->n_reads = (out->n_samples + per_read - 1) / per_read;
    pack_cachesim_take(w->sim, &out->counts);
    return status;
}

/* Up to `max` samples of a virtual dataset, likewise. */
enum pack_status
pack_advise_read_virtual(struct pack_advise_worker *w, uint64_t max,
                         struct pack_advise_interval *out, struct pack_error *err)
{
    struct pack_request request;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && out->n_samples < max &&
           pack_pattern_next(w->iter, &request)) {
        if (w->config->reopen)
            pack_h5_caches_reopen(w->caches);
        status = pack_h5_caches_read(w->caches, request.boxes, request.n_boxes, err);
        out->n_samples += request.n_samples;
        out->n_reads++;
        out->n_opens += w->config->reopen;
    }
    pack_h5_caches_take(w->caches, &out->counts);
    return status;
}
