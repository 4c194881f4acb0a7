/*
 * A read of a virtual dataset goes through its mappings in their order; what it takes of
 * each is a read of that source.
 */
#include "libpack/hdf5/h5_caches.h"

#include <stdlib.h>

struct pack_h5_caches {
    const struct pack_h5_dataset *data;
    size_t n;
    struct pack_cachesim **sim; /* of the dataset, or of each source; NULL: missing */
    struct pack_box *cut;
    size_t n_cut; /* that there is room for */
};

static enum pack_status
new_sim(const struct pack_facts *facts, const struct pack_h5_chunks *chunks,
        const struct pack_cache_params *cache, struct pack_cachesim **sim,
        struct pack_error *err)
{
    struct pack_cachesim_params params = {
        .cache = *cache,
        .filtered = facts->pipeline.n > 0,
        .edge_unfiltered = facts->edge_chunks_unfiltered,
        .skip_missing = pack_facts_skip_missing(facts),
        .stored_bytes = chunks->stored_bytes,
    };
    return pack_cachesim_new(&chunks->grid, &params, sim, err);
}

static enum pack_status
new_sims(struct pack_h5_caches *c, const struct pack_cache_params *cache,
         struct pack_error *err)
{
    const struct pack_h5_dataset *d = c->data;
    enum pack_status status = PACK_OK;
    if (d->chunks.grid.rank > 0)
        return new_sim(&d->facts, &d->chunks, cache, &c->sim[0], err);
    for (size_t i = 0; i < c->n && status == PACK_OK; i++) {
        const struct pack_h5_source *source = &d->sources.sources[i];
        if (!source->is_missing)
            status = new_sim(&source->facts, &source->chunks, cache, &c->sim[i], err);
    }
    return status;
}

enum pack_status
pack_h5_caches_new(const struct pack_h5_dataset *d, const struct pack_cache_params *cache,
                   struct pack_h5_caches **caches, struct pack_error *err)
{
    bool is_virtual = d->facts.layout == PACK_LAYOUT_VIRTUAL;
    if (is_virtual && d->sources.unclear)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "which chunks reads of '%s:/%s' visit cannot be told: %s",
                         d->file, d->path, d->sources.unclear);
    if (!is_virtual && d->chunks.grid.rank == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%s:/%s' has no chunks", d->file,
                         d->path);
    struct pack_h5_caches *c = calloc(1, sizeof *c);
    if (!c)
        return pack_fail_memory(err, "simulators");
    c->data = d;
    c->n = is_virtual ? d->sources.n_sources : 1;
    c->sim = calloc(c->n ? c->n : 1, sizeof *c->sim);
    enum pack_status status =
        c->sim ? new_sims(c, cache, err) : pack_fail_memory(err, "simulators");
    if (status == PACK_OK)
        *caches = c;
    else
        pack_h5_caches_free(c);
    return status;
}

void
pack_h5_caches_free(struct pack_h5_caches *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->sim && i < c->n; i++)
        pack_cachesim_free(c->sim[i]);
    free(c->sim);
    free(c->cut);
    free(c);
}

static enum pack_status
reserve(struct pack_h5_caches *c, size_t n, struct pack_error *err)
{
    if (n <= c->n_cut)
        return PACK_OK;
    struct pack_box *more = realloc(c->cut, n * sizeof *more);
    if (!more)
        return pack_fail_memory(err, "a request");
    c->cut = more;
    c->n_cut = n;
    return PACK_OK;
}

enum pack_status
pack_h5_caches_read(struct pack_h5_caches *c, const struct pack_box *boxes, size_t n_boxes,
                    struct pack_error *err)
{
    const struct pack_h5_sources *s = &c->data->sources;
    if (c->data->chunks.grid.rank > 0)
        return pack_cachesim_read_boxes(c->sim[0], boxes, n_boxes, err);
    enum pack_status status = reserve(c, n_boxes, err);
    for (size_t i = 0; i < s->n_mappings && status == PACK_OK; i++) {
        const struct pack_h5_mapping *mapping = &s->mappings[i];
        struct pack_cachesim *sim = c->sim[mapping->source];
        size_t n = 0;
        for (size_t b = 0; b < n_boxes && sim; b++)
            n += pack_h5_mapping_cut(mapping, &boxes[b], &c->cut[n]);
        if (n > 0)
            status = pack_cachesim_read_boxes(sim, c->cut, n, err);
    }
    return status;
}

void
pack_h5_caches_reopen(struct pack_h5_caches *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->sim[i])
            pack_cachesim_reopen(c->sim[i]);
}

void
pack_h5_caches_take(struct pack_h5_caches *c, struct pack_cache_counts *counts)
{
    struct pack_cache_counts one;
    *counts = (struct pack_cache_counts){ 0 };
    for (size_t i = 0; i < c->n; i++) {
        if (!c->sim[i])
            continue;
        pack_cachesim_take(c->sim[i], &one);
        pack_cache_counts_add(counts, &one);
    }
}
