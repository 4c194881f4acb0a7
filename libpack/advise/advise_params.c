/* What the parameters of a search say, with their defaults. */
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/hdf5/h5_dataset.h"
#include "libpack/model/pattern_order.h"

void
pack_advise_box(const struct pack_advise_params *params, struct pack_shape *box)
{
    *box = params->reading.pattern.box;
    if (box->rank == 0) {
        *box = params->data.extent;
        box->extent[0] = 1;
    }
}

double
pack_advise_wanted_bytes(const struct pack_advise_params *params)
{
    struct pack_shape box;
    double bytes = (double)params->data.elem_size;
    pack_advise_box(params, &box);
    for (int i = 0; i < box.rank; i++)
        bytes *= (double)box.extent[i];
    return bytes;
}

double
pack_advise_batch_bytes(const struct pack_advise_params *params)
{
    static const double n_batches = 3;
    uint64_t batch = params->reading.pattern.batch;
    return n_batches * (double)(batch ? batch : 1) * pack_advise_wanted_bytes(params);
}

uint64_t
pack_advise_epochs(const struct pack_advise_params *params)
{
    return params->reading.epochs ? params->reading.epochs : PACK_ADVISE_EPOCHS;
}

double
pack_advise_min_gain(const struct pack_advise_params *params)
{
    return params->goal.min_gain > 0 ? params->goal.min_gain : 1.15;
}

uint64_t
pack_advise_workers(const struct pack_advise_params *params)
{
    return params->reading.pattern.workers ? params->reading.pattern.workers : 1;
}

uint64_t
pack_advise_memory(const struct pack_advise_params *params)
{
    uint64_t bytes = params->machine.memory_bytes;
    return bytes ? bytes : UINT64_C(1) << 30;
}

uint64_t
pack_advise_default_memory(uint64_t machine_bytes)
{
    uint64_t usual = UINT64_C(1) << 30;
    return machine_bytes && machine_bytes / 2 < usual ? machine_bytes / 2 : usual;
}

uint64_t
pack_advise_budget(const struct pack_advise_params *params)
{
    return pack_advise_memory(params) / pack_advise_workers(params);
}

bool
pack_advise_is_lone(const struct pack_advise_params *params)
{
    struct pack_pattern_iter *iter = NULL;
    struct pack_pattern all = params->reading.pattern;
    if (!params->now)
        return false;
    all.extent = params->data.extent;
    all.workers = all.worker = 0;
    if (pack_pattern_new(&all, &iter, NULL) != PACK_OK)
        return false; /* which others say */
    bool is_lone = pack_pattern_length(iter) <= 1;
    pack_pattern_free(iter);
    return is_lone;
}

bool
pack_advise_same_layout(const struct pack_advise_config *a,
                        const struct pack_advise_config *b)
{
    return pack_shape_equal(&a->chunk, &b->chunk) && strcmp(a->codec, b->codec) == 0 &&
           a->is_virtual == b->is_virtual;
}

uint64_t
pack_advise_n_caches(const struct pack_advise_params *params,
                     const struct pack_advise_config *config)
{
    return config->is_virtual && params->data.virtual_data
               ? params->data.virtual_data->sources.n_sources
               : 1;
}

void
pack_advise_pattern(const struct pack_advise_params *params,
                    const struct pack_advise_config *config, struct pack_pattern *pattern)
{
    *pattern = config->pattern;
    pattern->extent = params->data.extent;
    pattern->worker = 0;
    if (pattern->chunk_samples == 0)
        pattern->chunk_samples = pack_pattern_of_chunk(
            pattern, config->chunk.rank ? config->chunk.extent[0] : 1);
}

enum pack_status
pack_advise_grid(const struct pack_advise_params *params, const struct pack_shape *chunk,
                 struct pack_grid *grid, struct pack_error *err)
{
    char text[PACK_SHAPE_TEXT_MAX], extent[PACK_SHAPE_TEXT_MAX];
    pack_shape_format(chunk, text);
    enum pack_status status =
        pack_grid_init(grid, &params->data.extent, chunk, params->data.elem_size, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "chunk %.200s", text);
    const struct pack_shape *most =
        params->data.chunk_max.rank ? &params->data.chunk_max : &params->data.extent;
    for (int i = 0; i < chunk->rank; i++)
        if (chunk->extent[i] > most->extent[i])
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "chunk %.200s is larger than the dataset, %.200s", text,
                             pack_shape_format(&params->data.extent, extent));
    if (params->cache.version < PACK_HDF5_2_0 && grid->chunk_bytes > UINT32_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "chunk %.200s takes %.1f GiB; HDF5 before 2.0 ends at 4 GiB",
                         text, (double)grid->chunk_bytes / 0x1p30);
    return PACK_OK;
}
