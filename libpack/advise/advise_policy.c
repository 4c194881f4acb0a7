/* The first epoch under two other policies of the same size, for perspective. */
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/model/policy.h"

enum { SAMPLES_MAX = 1 << 20 };

enum pack_status
pack_advise_policies(const struct pack_advise_params *params,
                     struct pack_advise_outcome *outcome, struct pack_error *err)
{
    const struct pack_advise_config *config = &outcome->config;
    const struct pack_cache_counts *c = &outcome->first;
    struct pack_visits visits = { 0 };
    struct pack_pattern_iter *iter = NULL;
    struct pack_pattern pattern;
    struct pack_grid grid;
    uint64_t loads;
    if (config->chunk.rank == 0 || config->is_virtual || c->bypass_visits || config->reopen ||
        !outcome->is_exact || outcome->worker_samples > SAMPLES_MAX)
        return PACK_OK;
    enum pack_status status = pack_advise_grid(params, &config->chunk, &grid, err);
    if (status != PACK_OK)
        return status;
    uint64_t bytes = config->cache.size_bytes; /* w0 = 1 does not keep to them */
    uint64_t entries = (c->peak_bytes > bytes ? c->peak_bytes : bytes) / grid.chunk_bytes;
    if (entries == 0)
        return PACK_OK;
    if (entries > grid.n_chunks_total)
        entries = grid.n_chunks_total;
    pack_advise_pattern(params, config, &pattern);
    status = pack_pattern_new(&pattern, &iter, err);
    if (status == PACK_OK)
        status = pack_visits_replay(&visits, &grid, iter, UINT64_MAX, err);
    if (status == PACK_OK)
        status = pack_policy_lru(visits.numbers, visits.n, entries, &loads, err);
    if (status == PACK_OK && visits.n)
        outcome->lru_hit_rate = 1 - (double)loads / (double)visits.n;
    if (status == PACK_OK)
        status = pack_policy_belady(visits.numbers, visits.n, entries, &loads, err);
    if (status == PACK_OK && visits.n)
        outcome->belady_hit_rate = 1 - (double)loads / (double)visits.n;
    pack_visits_free(&visits);
    pack_pattern_free(iter);
    return status;
}
