/* Opening, closing and growing the dataset whose cache is simulated;
 * versions and counts. */
#include "libpack/model/cachesim_parts.h"
#include "libpack/base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- versions */

enum pack_status
pack_hdf5_version_parse(const char *text, enum pack_hdf5_version *version,
                        struct pack_error *err)
{
    static const struct {
        const char *prefix;
        enum pack_hdf5_version version;
    } known[] = {
        { "1.8", PACK_HDF5_1_8 },   { "1.10", PACK_HDF5_1_10 },
        { "1.12", PACK_HDF5_1_10 }, { "1.14", PACK_HDF5_1_10 },
        { "2.0", PACK_HDF5_2_0 },   { "2", PACK_HDF5_2_1 },
    };
    if (!text || !version)
        return pack_check_given(err, "text", text, "version", version, NULL);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t n = strlen(known[i].prefix);
        const char *rest = text + n;
        if (strncmp(text, known[i].prefix, n) == 0 &&
            (*rest == '\0' || (*rest == '.' && rest[1] >= '0' && rest[1] <= '9' &&
                               strspn(rest, ".0123456789") == strlen(rest)))) {
            *version = known[i].version;
            return PACK_OK;
        }
    }
    return pack_fail(err, PACK_ERR_ARGUMENT,
                     "'%.40s' is not a version of HDF5 from 1.8, 1.10, 1.12, 1.14 or 2.x",
                     text);
}

bool
pack_hdf5_version_is_compared(const char *text)
{
    enum pack_hdf5_version version;
    if (pack_hdf5_version_parse(text, &version, NULL) != PACK_OK)
        return false;
    return version < PACK_HDF5_2_0 || text[1] == '\0' ||
           (text[2] <= '1' && (text[3] == '\0' || text[3] == '.'));
}

const char *
pack_hdf5_version_name(enum pack_hdf5_version version)
{
    switch (version) {
    case PACK_HDF5_1_10: return "1.10";
    case PACK_HDF5_1_8: return "1.8";
    case PACK_HDF5_2_0: return "2.0";
    case PACK_HDF5_2_1: return "2.1";
    default: return "unknown";
    }
}

void
pack_cache_params_defaults(struct pack_cache_params *params,
                           enum pack_hdf5_version version)
{
    bool is_2 = version >= PACK_HDF5_2_0;
    if (!params)
        return;
    *params = (struct pack_cache_params){
        .n_slots = is_2 ? 8191 : 521,
        .size_bytes = (uint64_t)(is_2 ? 8 : 1) << 20,
        .w0 = 0.75,
        .version = version,
    };
}

/* ------------------------------------------------------------------ counts */

void
pack_cache_counts_add(struct pack_cache_counts *total,
                      const struct pack_cache_counts *part)
{
    if (!total || !part)
        return;
    total->requests += part->requests;
    total->hits += part->hits;
    total->loads += part->loads;
    total->decodes += part->decodes;
    total->fills += part->fills;
    total->bypass_visits += part->bypass_visits;
    total->file_reads += part->file_reads;
    total->file_read_bytes += part->file_read_bytes;
    total->wanted_bytes += part->wanted_bytes;
    total->evictions_space += part->evictions_space;
    total->evictions_collision += part->evictions_collision;
    total->walk_steps += part->walk_steps;
    total->peak_bytes += part->peak_bytes;
}

void
pack_cachesim_counts(const struct pack_cachesim *sim, struct pack_cache_counts *counts)
{
    if (!sim || !counts)
        return;
    *counts = sim->counts;
    counts->peak_bytes = sim->most_entries * sim->grid.chunk_bytes;
}

void
pack_cachesim_take(struct pack_cachesim *sim, struct pack_cache_counts *counts)
{
    if (!sim || !counts)
        return;
    pack_cachesim_counts(sim, counts);
    sim->counts = (struct pack_cache_counts){ 0 };
    sim->most_entries = sim->n_entries;
}

uint64_t
pack_cachesim_entries(const struct pack_cachesim *sim)
{
    return sim ? sim->n_entries : 0;
}

const struct pack_grid *
pack_cachesim_grid(const struct pack_cachesim *sim)
{
    return sim ? &sim->grid : NULL;
}

/* ----------------------------------------------------- opening and closing */

static const uint64_t reach_max = UINT64_C(1) << 30;

/* What follows from the grid. */
static void
set_grid(struct pack_cachesim *sim, const struct pack_grid *grid)
{
    sim->grid = *grid;
    sim->sample_is_one_chunk = true;
    sim->sample_elements = 1;
    for (int i = 1; i < grid->rank; i++) {
        sim->sample_is_one_chunk &= grid->n_chunks[i] == 1;
        sim->sample_elements *= grid->extent[i];
    }
    sim->chunk_rows = divider_make(grid->chunk[0]);
    sim->hash_is_number =
        sim->sample_is_one_chunk || sim->params.cache.version == PACK_HDF5_1_8;
}

/* What follows from how the dataset is stored. */
static void
set_storage(struct pack_cachesim *sim)
{
    const struct pack_cachesim_params *p = &sim->params;
    double bytes = (double)sim->grid.chunk_bytes * p->stored_rate;
    sim->load_bytes = p->filtered && p->stored_rate != 1 ? (uint64_t)llround(bytes)
                                                          : sim->grid.chunk_bytes;
    sim->loads_alike = !p->stored_bytes && !(p->filtered && p->edge_unfiltered);
}

/* The most entries that the cache can ever hold. */
static uint64_t
entries_max(const struct pack_cachesim *sim)
{
    const struct pack_cache_params *cache = &sim->params.cache;
    uint64_t n = sim->slots_size, fit = cache->size_bytes / sim->grid.chunk_bytes;
    if (n > sim->grid.n_chunks_total)
        n = sim->grid.n_chunks_total;
    return cache->w0 < 1 && fit < n ? fit : n;
}

/* Table, ring and sets for the present grid, all empty. */
static enum pack_status
make_tables(struct pack_cachesim *sim, struct pack_error *err)
{
    sim->slots_size = pack_cachesim_reach(sim);
    if (sim->slots_size > reach_max)
        return pack_fail(err, PACK_ERR_LIMIT, "more than 2^30 chunk cache slots");
    uint64_t n = entries_max(sim);
    for (sim->ring_size = 64; sim->ring_size < n + n / 4;)
        sim->ring_size *= 2;
    sim->slots = calloc(sim->slots_size, sizeof sim->slots[0]);
    sim->ring = calloc(sim->ring_size, sizeof sim->ring[0]);
    if (!sim->slots || !sim->ring || !pack_posset_init(&sim->holes, sim->ring_size) ||
        !pack_posset_init(&sim->busy, sim->ring_size))
        return pack_fail_memory(err, "chunk cache simulator");
    return PACK_OK;
}

static void
free_tables(struct pack_cachesim *sim)
{
    pack_posset_done(&sim->busy);
    pack_posset_done(&sim->holes);
    free(sim->ring);
    free(sim->slots);
}

enum pack_status
pack_cache_params_check(const struct pack_cache_params *cache, struct pack_error *err)
{
    enum pack_status status =
        pack_check_choice("version", (int)cache->version, PACK_HDF5_2_1 + 1, err);
    if (status == PACK_OK && !(cache->w0 >= 0 && cache->w0 <= 1))
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "w0",
                                 "w0 of %g is not between 0 and 1", cache->w0);
    return status;
}

static enum pack_status
check_new(const struct pack_grid *grid, const struct pack_cachesim_params *params,
          struct pack_cachesim **out, struct pack_error *err)
{
    if (!params || !out)
        return pack_check_given(err, "params", params, "sim", out, NULL);
    enum pack_status status = pack_grid_check(grid, err);
    if (status == PACK_OK)
        status = pack_cache_params_check(&params->cache, err);
    if (status != PACK_OK)
        return status;
    double bytes = (double)grid->chunk_bytes * params->stored_rate;
    if (!(params->stored_rate >= 0 && bytes < 0x1p63))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "stored_rate",
                               "stored rate of %g is not a rate", params->stored_rate);
    return PACK_OK;
}

enum pack_status
pack_cachesim_new(const struct pack_grid *grid, const struct pack_cachesim_params *params,
                  struct pack_cachesim **out, struct pack_error *err)
{
    struct pack_cachesim *sim;
    enum pack_status status = check_new(grid, params, out, err);
    if (status != PACK_OK)
        return status;
    sim = calloc(1, sizeof *sim);
    if (!sim)
        return pack_fail_memory(err, "chunk cache simulator");
    sim->params = *params;
    if (sim->params.stored_rate == 0)
        sim->params.stored_rate = 1;
    if (sim->params.sieve_bytes == 0)
        sim->params.sieve_bytes = 64 << 10;
    set_grid(sim, grid);
    set_storage(sim);
    pack_cachesim_set_shifts(sim, grid->n_chunks);
    sim->evicts_head_if_done = params->cache.w0 < 1;
    sim->caching = params->cache.n_slots > 0 && params->cache.size_bytes > 0 &&
                   grid->chunk_bytes <= params->cache.size_bytes;
    if (sim->caching) {
        sim->slots_mod = divider_make(params->cache.n_slots);
        status = make_tables(sim, err);
        if (status) {
            pack_cachesim_free(sim);
            return status;
        }
    }
    *out = sim;
    return PACK_OK;
}

void
pack_cachesim_free(struct pack_cachesim *sim)
{
    if (!sim)
        return;
    free_tables(sim);
    free(sim);
}

void
pack_cachesim_reopen(struct pack_cachesim *sim)
{
    if (!sim)
        return;
    while (sim->n_entries > 0)
        pack_cachesim_drop(sim, sim->head);
    sim->done_from = sim->head;
    pack_cachesim_set_shifts(sim, sim->grid.n_chunks);
}

/* ----------------------------------------------------------------- growing */

static enum pack_status
check_growth(const struct pack_cachesim *sim, const struct pack_grid *grown,
             struct pack_error *err)
{
    for (int i = 0; i < grown->rank; i++)
        if (grown->extent[i] < sim->grid.extent[i])
            return pack_fail(err, PACK_ERR_UNSUPPORTED,
                             "shrinking a dataset is not simulated");
    if (sim->params.edge_unfiltered)
        return pack_fail(
            err, PACK_ERR_UNSUPPORTED,
            "growing a dataset with unfiltered edge chunks is not simulated");
    return PACK_OK;
}

/*
 * The library recomputes the chunks along each axis, but rounds down where opening rounds
 * up (H5D__set_extent), so that coordinates may have too few bits until the next opening.
 */
static void
set_grown_shifts(struct pack_cachesim *sim)
{
    uint64_t n_chunks[PACK_RANK_MAX];
    for (int i = 0; i < sim->grid.rank; i++)
        n_chunks[i] = sim->grid.extent[i] / sim->grid.chunk[i];
    pack_cachesim_set_shifts(sim, n_chunks);
}

/* An entry on its way into the grown grid's tables. */
struct move {
    struct entry entry;
    bool moves; /* to another slot */
};

/* The entries in list order, with the numbers and slots that they have in `grown`. */
static size_t
list_moves(const struct pack_cachesim *sim, const struct pack_cachesim *grown,
           struct move *moves)
{
    size_t n = 0;
    for (uint64_t position = sim->head; position < sim->tail; position++) {
        uint64_t index = position & (sim->ring_size - 1), coords[PACK_RANK_MAX];
        if (pack_posset_has(&sim->holes, index))
            continue;
        const struct entry *e = &sim->ring[index];
        pack_grid_coords(&sim->grid, e->number, coords);
        uint64_t number = pack_grid_number(&grown->grid, coords);
        uint64_t slot = pack_cachesim_slot(grown, number, coords);
        moves[n++] =
            (struct move){ { number, e->left, (uint32_t)slot }, slot != e->slot };
    }
    return n;
}

/*
 * Fills the empty tables of `grown` as H5D__chunk_update_cache leaves them. The library
 * walks the list and puts each entry whose slot changes into its new one, in place of
 * what was there; entries without a slot in the end are evicted. So a slot goes to the
 * last entry that moves to it, or else to the one that stays.
 */
static void
settle(struct pack_cachesim *grown, const struct move *moves, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!moves[i].moves)
            grown->slots[moves[i].entry.slot].at = (uint32_t)i + 1;
    for (size_t i = 0; i < n; i++)
        if (moves[i].moves)
            grown->slots[moves[i].entry.slot].at = (uint32_t)i + 1;
    for (size_t i = 0; i < n; i++) {
        const struct entry *e = &moves[i].entry;
        if (grown->slots[e->slot].at != i + 1) {
            grown->counts.evictions_collision++;
            continue;
        }
        uint64_t index = grown->tail++;
        grown->ring[index] = *e;
        grown->slots[e->slot] = (struct slot){ (uint32_t)index + 1, (uint32_t)e->number };
        if (e->left)
            pack_posset_add(&grown->busy, index);
        grown->n_entries++;
    }
}

static enum pack_status
grow_tables(const struct pack_cachesim *sim, struct pack_cachesim *grown,
            struct pack_error *err)
{
    struct move *moves = malloc((sim->n_entries + 1) * sizeof *moves);
    if (!moves)
        return pack_fail_memory(err, "chunk cache simulator");
    grown->slots = NULL;
    grown->ring = NULL;
    memset(&grown->holes, 0, sizeof grown->holes);
    memset(&grown->busy, 0, sizeof grown->busy);
    grown->head = grown->tail = grown->done_from = 0;
    grown->n_entries = grown->n_holes = 0;
    enum pack_status status = make_tables(grown, err);
    if (status == PACK_OK)
        settle(grown, moves, list_moves(sim, grown, moves));
    else
        free_tables(grown);
    free(moves);
    return status;
}

enum pack_status
pack_cachesim_set_extent(struct pack_cachesim *sim, const struct pack_shape *extent,
                         const uint64_t *stored_bytes, struct pack_error *err)
{
    if (!sim || !extent)
        return pack_check_given(err, "sim", sim, "extent", extent, NULL);
    struct pack_shape chunk = { .rank = sim->grid.rank };
    memcpy(chunk.extent, sim->grid.chunk, sizeof chunk.extent);
    struct pack_grid grid;
    enum pack_status status =
        pack_grid_init(&grid, extent, &chunk, sim->grid.elem_size, err);
    if (status == PACK_OK)
        status = check_growth(sim, &grid, err);
    if (status)
        return status;
    struct pack_cachesim grown = *sim;
    grown.params.stored_bytes = stored_bytes;
    set_storage(&grown);
    if (memcmp(grid.extent, sim->grid.extent, sizeof grid.extent) != 0) {
        set_grid(&grown, &grid);
        set_grown_shifts(&grown);
        if (sim->caching) {
            status = grow_tables(sim, &grown, err);
            if (status)
                return status;
            free_tables(sim);
        }
    }
    *sim = grown;
    return PACK_OK;
}
