/*
 * What the advisor refuses before it computes anything. Patterns say themselves what is
 * wrong with them when they are opened, caches and grids too; here is what would be used
 * before, and what nobody else looks at.
 */
#include "libpack/advise/advise_parts.h"

#include <float.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/base/numbers.h"
#include "libpack/base/pool.h"
#include "libpack/base/size.h"
#include "libpack/model/cachesim_parts.h"
#include "libpack/model/profile_terms.h"

static const uint64_t epochs_max = 1000000;

/* The extent, and what says something along each of its axes. */
static enum pack_status
check_shapes(const struct pack_advise_params *p, struct pack_error *err)
{
    const struct pack_shape *extent = &p->data.extent, *box = &p->reading.pattern.box;
    uint64_t elements, bytes;
    if (extent->rank < 1 || extent->rank > PACK_RANK_MAX)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "extent",
                               "dataset has %d dimensions, not 1 to %d", extent->rank,
                               PACK_RANK_MAX);
    if (!pack_shape_count(extent, &elements) ||
        !pack_size_mul(elements, p->data.elem_size, &bytes))
        return pack_fail_param(err, PACK_ERR_LIMIT, "extent",
                               "the dataset has more bytes than 64 bits count");
    if (p->data.elem_size == 0 || bytes == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT,
                               p->data.elem_size ? "extent" : "elem_size",
                               "the dataset is empty");
    if (p->data.chunk_max.rank != 0 && p->data.chunk_max.rank != extent->rank)
        return pack_fail_param(
            err, PACK_ERR_ARGUMENT, "chunk_max", "chunk_max has %s, dataset has %d",
            pack_dimensions(p->data.chunk_max.rank).text, extent->rank);
    if (box->rank != 0 && box->rank != extent->rank)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                               "box has %s, dataset has %d",
                               pack_dimensions(box->rank).text, extent->rank);
    return PACK_OK;
}

static enum pack_status
check_numbers(const struct pack_advise_params *p, struct pack_error *err)
{
    enum pack_status status =
        pack_check_choice("version", (int)p->cache.version, PACK_HDF5_2_1 + 1, err);
    if (status == PACK_OK)
        status = pack_check_choice("kind", (int)p->reading.pattern.kind,
                                   PACK_PATTERN_TRACE + 1, err);
    if (status == PACK_OK)
        status = pack_check_choice("read", (int)p->reading.pattern.read,
                                   PACK_READ_SPAN + 1, err);
    if (status == PACK_OK)
        status = pack_check_count("epochs", p->reading.epochs, epochs_max, err);
    if (status == PACK_OK)
        status = pack_check_count("n_threads", p->n_threads, PACK_POOL_THREADS_MAX, err);
    if (status == PACK_OK)
        status = pack_check_number("min_gain", p->goal.min_gain, 0, DBL_MAX, err);
    if (status == PACK_OK)
        status = pack_check_number("target", p->goal.target, 0, DBL_MAX, err);
    if (status == PACK_OK && p->cache.is_fixed)
        status = pack_cache_params_check(&p->cache.settings, err);
    return status;
}

/* It is read in step: one index of its axis 0 for each of the first dataset's. */
static enum pack_status
check_companion(const struct pack_advise_params *p, struct pack_error *err)
{
    const struct pack_advise_companion *with = p->data.companion;
    const struct pack_shape *extent = &with->extent;
    if (extent->rank < 1 || extent->rank > PACK_RANK_MAX ||
        extent->extent[0] != p->data.extent.extent[0])
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "companion",
                               "the second dataset has not as many entries as the first");
    return pack_check_number("stored_rate", with->stored_rate, 0, DBL_MAX, err);
}

enum pack_status
pack_advise_check_params(const struct pack_advise_params *p, struct pack_error *err)
{
    enum pack_status status = pack_check_given(err, "params", p, NULL);
    if (status == PACK_OK)
        status = pack_profile_check(p->machine.profile, err);
    if (status == PACK_OK)
        status = check_shapes(p, err);
    if (status == PACK_OK)
        status = check_numbers(p, err);
    if (status == PACK_OK && p->storing.n_chunks > 0)
        status = pack_check_given(err, "chunks", p->storing.chunks, NULL);
    if (status == PACK_OK && p->data.labels && p->data.n_labels > 0 &&
        p->data.n_classes == 0)
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "n_classes",
                                 "labels without classes");
    if (status == PACK_OK && p->data.companion)
        status = check_companion(p, err);
    return status;
}

/* The memory of each worker holds the smallest chunk that there is a candidate for. */
static enum pack_status
check_memory(const struct pack_advise_params *p, struct pack_error *err)
{
    char text[PACK_BYTES_TEXT_MAX];
    uint64_t budget = pack_advise_budget(p);
    double wanted = pack_advise_wanted_bytes(p);
    if (budget >= (wanted < 4096 ? (uint64_t)wanted : 4096))
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "memory_bytes",
                           "memory for %s is too small: %s each do not hold one chunk",
                           pack_counted(pack_advise_workers(p), "worker", "workers").text,
                           pack_bytes_format(budget, text));
}

enum pack_status
pack_advise_check_search(const struct pack_advise_params *p, struct pack_error *err)
{
    enum pack_status status = pack_advise_check_params(p, err);
    if (status == PACK_OK && p->storing.n_chunks > PACK_ADVISE_CHUNKS_MAX)
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "n_chunks",
                                 "up to %d chunk shapes can be considered, not %zu",
                                 PACK_ADVISE_CHUNKS_MAX, p->storing.n_chunks);
    for (size_t i = 0; status == PACK_OK && i < p->storing.n_chunks; i++) {
        struct pack_grid grid;
        if (p->storing.chunks[i].rank > 0)
            status = pack_advise_grid(p, &p->storing.chunks[i], &grid, err);
    }
    if (status == PACK_OK && p->now)
        status = pack_advise_check_config(p->now, err);
    return status == PACK_OK ? check_memory(p, err) : status;
}

enum pack_status
pack_advise_check_config(const struct pack_advise_config *config, struct pack_error *err)
{
    enum pack_status status = pack_check_given(err, "config", config, NULL);
    if (status == PACK_OK)
        status = pack_check_choice("chunk", config->chunk.rank, PACK_RANK_MAX + 1, err);
    if (status == PACK_OK && (config->codec[0] == '\0' ||
                              !memchr(config->codec, '\0', sizeof config->codec)))
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "codec",
                                 "the codec is no text, \"none\" or another");
    if (status == PACK_OK)
        status = pack_check_number("stored_rate", config->stored_rate, DBL_MIN, DBL_MAX,
                                   err);
    if (status == PACK_OK)
        status = pack_check_number("decode_ns", config->decode_ns, 0, DBL_MAX, err);
    return status == PACK_OK ? pack_cache_params_check(&config->cache, err) : status;
}

enum pack_status
pack_advise_check_result(const struct pack_advise_result *r, struct pack_error *err)
{
    enum pack_status status = pack_check_given(err, "result", r, NULL);
    if (status == PACK_OK && (r->n_rows < 1 || r->n_rows > PACK_ADVISE_ROWS_MAX))
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "result",
                                 "a result has 1 to %d rows, not %zu",
                                 PACK_ADVISE_ROWS_MAX, r->n_rows);
    for (size_t i = 0; status == PACK_OK && i < r->n_rows; i++)
        status = pack_advise_check_config(&r->rows[i].config, err);
    return status == PACK_OK && r->has_now
               ? pack_advise_check_config(&r->now.config, err)
               : status;
}
