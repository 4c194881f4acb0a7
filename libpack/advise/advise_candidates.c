/*
 * What is worth looking at, for the reads asked for.
 *
 * Chunk shapes: along axes that are read whole, the whole axis; along axes that are read
 * in part, the axis in 1 to 16 pieces as long as a piece is not less than half of what is
 * read; along axis 0 powers of two, and for samples longer than 1 fractions and multiples
 * of that length. From 4 KiB (or one sample) to 32 MiB, and the user's own. And no chunks
 * at all.
 *
 * Orders: the one asked for; unless it is fixed, block shuffles with pools of 16, 64
 * and 256 batches where chunks hold several samples, worker-local where there are several
 * workers: a plain one is no more random, and each of its chunks is loaded by all of them.
 *
 * Caches: the version's default, none, room for one read, for a block shuffle's pool, for
 * all of the memory, for all of the dataset. Slots are roomy here; pack_advise_slots
 * finds the smallest number in the end.
 *
 * Codecs: none, zstd, gzip and the present one, where they can be measured; gzip, which
 * decodes slowest and takes longest to measure, where zstd makes the data smaller.
 *
 * And the file as it is today, in every order and with every cache: no rewrite. Where an
 * epoch is one sample, nothing but the user's own: what seems faster is noise.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/dataset.h>
#include "libpack/advise/advise_parts.h"
#include "libpack/base/large.h"
#include "libpack/base/size.h"
#include "libpack/model/cachesim_parts.h"
#include "libpack/model/grid.h"

static const uint64_t chunk_bytes_min = 4 << 10, chunk_bytes_max = 32 << 20;

/* More entries than that have no slots to themselves: the simulator ends at 2^30. */
enum { LENGTHS_MAX = 24, SHAPES_MAX = 4096, ENTRIES_MAX = 1 << 26 };

/* Chunk lengths along one axis, without repeats. */
struct lengths {
    int n;
    uint64_t length[LENGTHS_MAX];
};

static void
add_length(struct lengths *l, uint64_t length, uint64_t extent)
{
    if (length < 1 || length > extent || l->n == LENGTHS_MAX)
        return;
    for (int i = 0; i < l->n; i++)
        if (l->length[i] == length)
            return;
    l->length[l->n++] = length;
}

static void
lengths_of_axis(int axis, uint64_t extent, uint64_t box, struct lengths *l)
{
    static const uint64_t pieces[] = { 1, 2, 3, 4, 6, 8, 12, 16 };
    l->n = 0;
    if (axis == 0) {
        for (uint64_t n = 1; n <= 4096 && n <= extent; n *= 2)
            add_length(l, n, extent);
        for (uint64_t d = 1; box > 1 && d <= 4; d *= 2) {
            add_length(l, (box + d - 1) / d, extent);
            add_length(l, box * d, extent);
        }
        return;
    }
    add_length(l, extent, extent);
    if (box == extent)
        return;
    add_length(l, box, extent);
    add_length(l, (box + 1) / 2, extent);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if ((extent + pieces[i] - 1) / pieces[i] >= (box + 1) / 2)
            add_length(l, (extent + pieces[i] - 1) / pieces[i], extent);
}

enum pack_status
pack_advise_add(struct pack_advise_list *list, const struct pack_advise_config *config,
                struct pack_error *err)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct pack_advise_config *more =
            pack_apart_alloc(capacity, sizeof *list->config);
        if (!more)
            return pack_fail_memory(err, "candidates");
        if (list->n)
            memcpy(more, list->config, list->n * sizeof *more);
        pack_apart_free(list->config);
        list->config = more;
        list->capacity = capacity;
    }
    list->config[list->n++] = *config;
    return PACK_OK;
}

/* Today's configuration itself is evaluated apart. */
static enum pack_status
add(const struct pack_advise_params *params, struct pack_advise_list *list,
    const struct pack_advise_config *config, struct pack_error *err)
{
    if (pack_advise_change_of(params, config) == PACK_ADVISE_KEEP)
        return PACK_OK;
    return pack_advise_add(list, config, err);
}

/* ------------------------------------------------------------------- slots */

static bool
is_prime(uint64_t n)
{
    for (uint64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n >= 2;
}

static uint64_t
next_prime(uint64_t n)
{
    while (!is_prime(n))
        n++;
    return n;
}

/* One slot for each value that the hash takes: nothing can collide. 0 when too many. */
static uint64_t
distinct_slots(const struct pack_grid *grid, enum pack_hdf5_version version)
{
    uint64_t last[PACK_RANK_MAX];
    pack_grid_coords(grid, grid->n_chunks_total - 1, last);
    uint64_t most = pack_cachesim_hash(grid, version, last);
    return most < UINT32_MAX / 2 ? most + 1 : 0;
}

uint64_t
pack_advise_roomy_slots(const struct pack_grid *grid, enum pack_hdf5_version version,
                        uint64_t n_entries)
{
    uint64_t distinct = distinct_slots(grid, version), per_entry = 100;
    if (n_entries > ENTRIES_MAX)
        n_entries = ENTRIES_MAX;
    if (n_entries > 10000)
        per_entry = 10;
    uint64_t n = n_entries < 5 ? 521 : next_prime(per_entry * n_entries);
    return distinct && distinct < n ? distinct : n;
}

enum pack_status
pack_advise_slots(const struct pack_advise_params *params,
                  struct pack_advise_config *config, struct pack_error *err)
{
    struct pack_grid grid;
    struct pack_advise_outcome roomy, tried;
    enum pack_status status = pack_advise_check_params(params, err);
    if (status == PACK_OK)
        status = pack_advise_check_config(config, err);
    if (status == PACK_OK)
        status = pack_advise_grid(params, &config->chunk, &grid, err);
    if (status != PACK_OK)
        return status;
    uint64_t entries = config->cache.size_bytes / grid.chunk_bytes;
    if (entries > ENTRIES_MAX)
        entries = ENTRIES_MAX;
    uint64_t n_max = pack_advise_roomy_slots(&grid, config->cache.version, entries);
    uint64_t n_samples = 8192 + 8 * entries;
    if (entries > grid.n_chunks_total)
        entries = grid.n_chunks_total;
    config->cache.n_slots = n_max;
    status = pack_advise_evaluate(params, config, n_samples, &roomy, err);
    double allowed = 1.01 * (double)(roomy.first.loads + roomy.steady.loads);
    for (uint64_t n = next_prime(entries); status == PACK_OK && n < n_max;
         n = next_prime(n + n / 4 + 1)) {
        config->cache.n_slots = n;
        status = pack_advise_evaluate(params, config, n_samples, &tried, err);
        if (status == PACK_OK &&
            (double)(tried.first.loads + tried.steady.loads) <= allowed)
            return PACK_OK;
    }
    config->cache.n_slots = n_max;
    return status;
}

/* ------------------------------------------------------------------ caches */

/* Chunks that one read touches at most. */
static uint64_t
chunks_per_read(const struct pack_grid *grid, const struct pack_shape *box)
{
    uint64_t n = 1;
    for (int i = 0; i < grid->rank; i++) {
        uint64_t touched = (box->extent[i] + grid->chunk[i] - 2) / grid->chunk[i] + 1;
        if (box->extent[i] == grid->extent[i] || touched > grid->n_chunks[i])
            touched = grid->n_chunks[i];
        n *= touched;
    }
    return n;
}

/* Adds the configuration with room for n_entries chunks in each worker's caches, which
 * share them evenly. */
static enum pack_status
add_room(const struct pack_advise_params *params, struct pack_advise_list *list,
         struct pack_advise_config *config, const struct pack_grid *grid,
         uint64_t n_entries, struct pack_error *err)
{
    uint64_t bytes, slots, n_caches = pack_advise_n_caches(params, config);
    if (n_entries > grid->n_chunks_total)
        n_entries = grid->n_chunks_total;
    n_entries = (n_entries + n_caches - 1) / n_caches;
    slots = pack_advise_roomy_slots(grid, params->cache.version, n_entries);
    if (n_entries == 0 || !pack_size_mul(n_entries, grid->chunk_bytes, &bytes) ||
        bytes + 8 * slots > pack_advise_budget(params) / n_caches)
        return PACK_OK;
    config->cache =
        (struct pack_cache_params){ slots, bytes, 0.75, params->cache.version };
    return add(params, list, config, err);
}

static enum pack_status
add_caches(const struct pack_advise_params *params, struct pack_advise_list *list,
           struct pack_advise_config *config, struct pack_error *err)
{
    struct pack_grid grid;
    struct pack_shape box;
    enum pack_status status = pack_advise_grid(params, &config->chunk, &grid, err);
    if (status != PACK_OK)
        return status;
    if (params->cache.is_fixed) {
        config->cache = params->cache.settings;
        config->cache.version = params->cache.version;
        return add(params, list, config, err);
    }
    pack_advise_box(params, &box);
    uint64_t read = chunks_per_read(&grid, &box);
    uint64_t budget = pack_advise_budget(params) / grid.chunk_bytes;
    pack_cache_params_defaults(&config->cache, params->cache.version);
    status = add(params, list, config, err);
    if (status == PACK_OK && strcmp(config->codec, "none") == 0 &&
        config->pattern.kind != PACK_PATTERN_BLOCK) {
        config->cache.n_slots = config->cache.size_bytes = 0;
        status = add(params, list, config, err);
    }
    uint64_t rooms[] = { read,
                         4 * read,
                         config->pattern.kind == PACK_PATTERN_BLOCK
                             ? config->pattern.pool_chunks + read
                             : 0,
                         budget / 4,
                         budget - budget / 16,
                         grid.n_chunks_total };
    for (size_t i = 0; status == PACK_OK && i < sizeof rooms / sizeof *rooms; i++)
        status = add_room(params, list, config, &grid, rooms[i], err);
    return status;
}

/* ------------------------------------------------------- orders and codecs */

static uint64_t
rows_of_chunks(const struct pack_advise_params *params, const struct pack_shape *chunk)
{
    uint64_t n = params->data.extent.extent[0];
    return n / chunk->extent[0] + (n % chunk->extent[0] != 0);
}

static enum pack_status
add_orders(const struct pack_advise_params *params, struct pack_advise_list *list,
           struct pack_advise_config *config, struct pack_error *err)
{
    config->pattern = params->reading.pattern;
    enum pack_status status = add_caches(params, list, config, err);
    uint64_t step = params->reading.pattern.step ? params->reading.pattern.step : 1;
    uint64_t samples = config->chunk.extent[0] / step;
    uint64_t batch = params->reading.pattern.batch ? params->reading.pattern.batch : 1;
    if (params->reading.pattern_is_fixed ||
        params->reading.pattern.kind != PACK_PATTERN_SHUFFLE || samples < 2)
        return status;
    uint64_t workers = pack_advise_workers(params), all = rows_of_chunks(params, &config->chunk),
             share = all / workers + (all % workers != 0);
    bool is_all = share < 2;
    for (uint64_t batches = 16; status == PACK_OK && !is_all && batches <= 256; batches *= 4) {
        uint64_t chunks = batches * batch / samples;
        if (chunks < 8)
            chunks = 8;
        is_all = chunks >= share;
        if (is_all && workers == 1)
            break; /* a block of all is a shuffle; of a worker's own it loads each chunk once */
        config->pattern.kind = PACK_PATTERN_BLOCK;
        config->pattern.local = workers > 1;
        config->pattern.pool_chunks = is_all ? share : chunks;
        status = add_caches(params, list, config, err);
    }
    return status;
}

static enum pack_status
add_now(const struct pack_advise_params *params, struct pack_advise_list *list,
        struct pack_error *err)
{
    if (!params->now || params->now->chunk.rank == 0)
        return PACK_OK; /* contiguous data is a candidate anyway */
    struct pack_advise_config config = *params->now;
    return add_orders(params, list, &config, err);
}

/* What the caller's function said of a codec. */
static enum pack_status
check_measured(const struct pack_advise_config *config, struct pack_error *err)
{
    if (config->stored_rate > 0 && config->stored_rate <= DBL_MAX &&
        config->decode_ns >= 0 && config->decode_ns <= DBL_MAX)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "measure",
                           "measuring %s gave a ratio of %g and %g ns a byte",
                           config->codec, config->stored_rate, config->decode_ns);
}

/* gzip makes nothing smaller of what zstd leaves nearly as it is. */
static bool
is_vain(const struct pack_advise_params *params, const char *codec, double zstd_rate)
{
    const double nearly = 0.95;
    return strcmp(codec, "gzip:4") == 0 && zstd_rate > nearly &&
           !(params->now && strcmp(params->now->codec, codec) == 0);
}

/* Whether other chunks can have the filters of today's. */
static bool
can_be_written(const struct pack_advise_params *params)
{
    struct pack_pipeline pipeline;
    return pack_pipeline_parse(params->now->codec, (uint32_t)params->data.elem_size, &pipeline,
                               NULL) == PACK_OK;
}

static enum pack_status
add_codecs(const struct pack_advise_params *params, struct pack_advise_list *list,
           const struct pack_shape *chunk, struct pack_error *err)
{
    const char *codecs[] = { "none", "zstd:3", "gzip:4", NULL };
    if (params->now && params->storing.measure && can_be_written(params))
        codecs[3] = params->now->codec;
    enum pack_status status = PACK_OK;
    double zstd_rate = 0;
    for (int i = 0; status == PACK_OK && i < 4; i++) {
        struct pack_advise_config config = { .chunk = *chunk,
                                             .stored_rate = 1,
                                             .reopen = params->reading.reopen };
        if (!codecs[i] || (i > 0 && !params->storing.measure) ||
            is_vain(params, codecs[i], zstd_rate))
            continue;
        if (i == 3 &&
            (strcmp(codecs[3], "none") == 0 || strcmp(codecs[3], "zstd:3") == 0 ||
             strcmp(codecs[3], "gzip:4") == 0))
            continue;
        strcpy(config.codec, codecs[i]);
        if (params->now && pack_advise_same_layout(params->now, &config))
            continue; /* known without measuring, see add_now */
        if (i > 0) /* takes long where chunks are large */
            status = pack_watch_check(&params->watch, err);
        if (i > 0 && status == PACK_OK)
            status = params->storing.measure(params->storing.measure_context, chunk,
                                             config.codec, &config.stored_rate,
                                             &config.decode_ns, err);
        if (status == PACK_OK && i > 0)
            status = check_measured(&config, err);
        if (i == 1)
            zstd_rate = config.stored_rate;
        if (status == PACK_OK)
            status = add_orders(params, list, &config, err);
    }
    return status;
}

/* ------------------------------------------------------------------ shapes */

/* Whether the shape is of a sensible size; the user's own are taken as they are. */
static bool
is_sensible(const struct pack_advise_params *params, const struct pack_shape *chunk)
{
    struct pack_shape box;
    struct pack_grid grid;
    if (pack_advise_grid(params, chunk, &grid, NULL) != PACK_OK)
        return false;
    double wanted = pack_advise_wanted_bytes(params);
    double least = wanted < (double)chunk_bytes_min ? wanted : (double)chunk_bytes_min;
    pack_advise_box(params, &box);
    bool is_least = chunk->extent[0] == 1;
    return (double)grid.chunk_bytes >= least && chunks_per_read(&grid, &box) <= 512 &&
           (grid.chunk_bytes <= chunk_bytes_max || is_least) &&
           grid.chunk_bytes <= pack_advise_budget(params);
}

static enum pack_status
add_shapes(const struct pack_advise_params *params, struct pack_advise_list *list,
           struct pack_error *err)
{
    struct pack_shape box, chunk = { .rank = params->data.extent.rank };
    struct lengths lengths[PACK_RANK_MAX];
    int index[PACK_RANK_MAX] = { 0 };
    enum pack_status status = PACK_OK;
    pack_advise_box(params, &box);
    for (int i = 0; i < chunk.rank; i++)
        lengths_of_axis(i, params->data.extent.extent[i], box.extent[i], &lengths[i]);
    for (int n = 0; status == PACK_OK && n < SHAPES_MAX; n++) {
        for (int i = 0; i < chunk.rank; i++)
            chunk.extent[i] = lengths[i].length[index[i]];
        if (is_sensible(params, &chunk))
            status = add_codecs(params, list, &chunk, err);
        int axis = chunk.rank - 1;
        while (axis >= 0 && ++index[axis] == lengths[axis].n)
            index[axis--] = 0;
        if (axis < 0)
            break;
    }
    return status;
}

enum pack_status
pack_advise_candidates(const struct pack_advise_params *params,
                       struct pack_advise_list *list, struct pack_error *err)
{
    struct pack_advise_config contiguous = { .codec = "none",
                                             .stored_rate = 1,
                                             .pattern = params->reading.pattern,
                                             .reopen = params->reading.reopen };
    bool keep_file = params->now && (params->storing.keep_file ||
                                     (params->data.is_unwritten && params->storing.n_chunks == 0));
    enum pack_status status = PACK_OK;
    contiguous.is_virtual = keep_file && params->now->is_virtual;
    pack_cache_params_defaults(&contiguous.cache, params->cache.version);
    if (!pack_advise_is_lone(params)) {
        status = add_now(params, list, err);
        if (status == PACK_OK && (!keep_file || params->now->chunk.rank == 0))
            status = add(params, list, &contiguous, err);
        if (status == PACK_OK && !keep_file)
            status = add_shapes(params, list, err);
    }
    for (size_t i = 0; status == PACK_OK && !keep_file && i < params->storing.n_chunks;
         i++)
        if (params->storing.chunks[i].rank > 0)
            status = add_codecs(params, list, &params->storing.chunks[i], err);
        else if (pack_advise_is_lone(params)) /* else it is there already */
            status = add(params, list, &contiguous, err);
    return status;
}
