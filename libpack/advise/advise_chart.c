/*
 * Hit rate and samples/s over chunk size and cache size, from the first reads of one
 * worker: chunks like the recommended one (else of whole samples) that hold 1, 2, 4, ...
 * samples, caches from 256 KiB in steps of 4 up to the memory of one worker.
 */
#include <math.h>

#include "libpack/advise/advise_parts.h"

enum { SAMPLES = 3000 };

static void
fill_axes(const struct pack_advise_params *params, const struct pack_shape *shape,
          struct pack_advise_map *map)
{
    struct pack_grid grid;
    struct pack_shape chunk = *shape;
    uint64_t budget = pack_advise_budget(params);
    for (uint64_t n = 1; map->n_chunks < PACK_ADVISE_MAP_MAX; n *= 2) {
        chunk.extent[0] = n;
        if (n > params->data.extent.extent[0] ||
            pack_advise_grid(params, &chunk, &grid, NULL) != PACK_OK ||
            (n > 1 && (grid.chunk_bytes > budget || grid.chunk_bytes > 32 << 20)))
            break;
        map->samples_per_chunk[map->n_chunks] = n;
        map->chunk_bytes[map->n_chunks++] = grid.chunk_bytes;
    }
    for (uint64_t bytes = 256 << 10; map->n_caches < PACK_ADVISE_MAP_MAX; bytes *= 4) {
        map->cache_bytes[map->n_caches++] = bytes < budget ? bytes : budget;
        if (bytes >= budget)
            break;
    }
}

bool
pack_advise_map_has_hits(const struct pack_advise_map *map)
{
    for (int i = 0; i < map->n_caches; i++)
        for (int j = 0; j < map->n_chunks; j++)
            if (map->hit_rate[i][j] >= 0.1)
                return true;
    return false;
}

enum pack_status
pack_advise_chart(const struct pack_advise_params *params,
                  struct pack_advise_result *result, struct pack_error *err)
{
    struct pack_advise_map *map = &result->map;
    struct pack_advise_config config[PACK_ADVISE_MAP_MAX];
    struct pack_advise_outcome outcome[PACK_ADVISE_MAP_MAX];
    const struct pack_advise_config *configs[PACK_ADVISE_MAP_MAX];
    uint64_t max_samples[PACK_ADVISE_MAP_MAX];
    struct pack_shape shape = result->rows[0].config.chunk;
    enum pack_status status = PACK_OK;
    if (shape.rank == 0)
        shape = params->data.extent;
    fill_axes(params, &shape, map);
    for (int i = 0; status == PACK_OK && i < map->n_caches; i++) {
        for (int j = 0; j < map->n_chunks; j++) {
            struct pack_grid grid;
            config[j] = result->rows[0].config;
            config[j].is_virtual = false; /* one file, cut in several ways */
            config[j].chunk = shape;
            config[j].chunk.extent[0] = map->samples_per_chunk[j];
            config[j].pattern.chunk_samples = 0;
            config[j].cache =
                (struct pack_cache_params){ .size_bytes = map->cache_bytes[i],
                                            .w0 = 0.75,
                                            .version = params->cache.version };
            status = pack_advise_grid(params, &config[j].chunk, &grid, err);
            if (status != PACK_OK)
                return status;
            uint64_t entries = map->cache_bytes[i] / grid.chunk_bytes;
            config[j].cache.n_slots =
                pack_advise_roomy_slots(&grid, params->cache.version, entries);
            configs[j] = &config[j];
            max_samples[j] = SAMPLES;
        }
        status = pack_advise_evaluate_all(params, configs, (size_t)map->n_chunks,
                                          max_samples, outcome, err);
        for (int j = 0; status == PACK_OK && j < map->n_chunks; j++) {
            map->hit_rate[i][j] = outcome[j].hit_rate;
            map->rate[i][j] = outcome[j].later_rate;
        }
    }
    return status;
}
