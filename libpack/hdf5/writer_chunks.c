/* Datasets of chunks, written whole. */
#include <stdlib.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/writer_parts.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"

static hid_t
chunked_list(const struct pack_writer_dataset_params *params)
{
    hsize_t chunk[PACK_RANK_MAX];
    for (int i = 0; i < params->chunk.rank; i++)
        chunk[i] = params->chunk.extent[i];
    hid_t dcpl = pack_writer_dataset_list();
    herr_t result = H5Pset_chunk(dcpl, params->chunk.rank, chunk);
    if (result >= 0)
        result = H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
    if (result >= 0)
        result = H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR);
    for (int i = 0; i < params->pipeline.n && result >= 0; i++) {
        const struct pack_filter *filter = &params->pipeline.filter[i];
        result = H5Pset_filter(dcpl, (H5Z_filter_t)filter->id, filter->flags,
                               filter->n_cd, filter->cd);
    }
    if (result >= 0)
        return dcpl;
    H5Pclose(dcpl);
    return H5I_INVALID_HID;
}

/* The numbers that chunk arithmetic needs; refuses shapes that make none. */
static enum pack_status
set_geometry(struct pack_writer_dataset *set,
             const struct pack_writer_dataset_params *params, struct pack_error *err)
{
    set->chunk = params->chunk;
    set->extent.rank = params->sample.rank + 1;
    set->n_per_row = 1;
    set->chunk_bytes = pack_writer_number_bytes(params->type);
    if (params->chunk.rank != set->extent.rank || set->extent.rank > PACK_RANK_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "chunk has %s, dataset has %d",
                         pack_dimensions(params->chunk.rank).text, set->extent.rank);
    for (int i = 0; i < set->extent.rank; i++) {
        uint64_t chunk = params->chunk.extent[i];
        uint64_t extent = i > 0 ? params->sample.extent[i - 1] : chunk;
        if (chunk == 0 || extent == 0)
            return pack_fail(err, PACK_ERR_ARGUMENT, "dimension %d is empty", i);
        set->extent.extent[i] = i > 0 ? extent : 0;
        if (!pack_size_mul(set->n_per_row, (extent - 1) / chunk + 1, &set->n_per_row) ||
            !pack_size_mul(set->chunk_bytes, chunk, &set->chunk_bytes))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "the dataset is more than 64 bits can count");
    }
    return PACK_OK;
}

static bool
has_filter(const struct pack_pipeline *pipeline, uint32_t id)
{
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->filter[i].id == id)
            return true;
    return false;
}

enum pack_status
pack_writer_dataset_create(struct pack_writer *writer, const char *path,
                           const struct pack_writer_dataset_params *params,
                           struct pack_writer_dataset **out, struct pack_error *err)
{
    enum pack_status status = pack_writer_still_failed(writer, err);
    if (!status && has_filter(&params->pipeline, PACK_FILTER_ZSTD))
        status = pack_h5_register_zstd(err); /* its name goes into the file */
    if (status)
        return status;
    struct pack_writer_dataset *set = calloc(1, sizeof *set);
    if (!set)
        return pack_fail_memory(err, "dataset");
    status = set_geometry(set, params, err);
    if (!status) {
        struct pack_writer_object object = { pack_writer_file_type(params->type),
                                             pack_writer_space(&set->extent, true),
                                             chunked_list(params) };
        status = pack_writer_create_object(writer, path, &object, &set->id, err);
    }
    if (status) {
        free(set);
        return status;
    }
    set->writer = writer;
    set->next = writer->datasets;
    writer->datasets = set;
    *out = set;
    return PACK_OK;
}

uint64_t
pack_writer_chunk_bytes(const struct pack_writer_dataset *set)
{
    return set->chunk_bytes;
}

uint64_t
pack_writer_chunk_count(const struct pack_writer_dataset *set, uint64_t n_samples)
{
    uint64_t rows = set->chunk.extent[0];
    return (n_samples / rows + (n_samples % rows != 0)) * set->n_per_row;
}

enum pack_status
pack_writer_dataset_extent(struct pack_writer_dataset *set, uint64_t n_samples,
                           struct pack_error *err)
{
    enum pack_status status = pack_writer_still_failed(set->writer, err);
    if (status || n_samples == set->extent.extent[0])
        return status;
    if (n_samples < set->extent.extent[0])
        return pack_fail(
            err, PACK_ERR_ARGUMENT, "the dataset cannot shrink from %llu to %llu samples",
            (unsigned long long)set->extent.extent[0], (unsigned long long)n_samples);
    hsize_t extent[PACK_RANK_MAX];
    set->extent.extent[0] = n_samples;
    for (int i = 0; i < set->extent.rank; i++)
        extent[i] = set->extent.extent[i];
    return pack_writer_check(set->writer, H5Dset_extent(set->id, extent), err);
}

/* Where chunk `number` begins. */
static void
chunk_offset(const struct pack_writer_dataset *set, uint64_t number, hsize_t *offset)
{
    uint64_t left = number;
    for (int i = set->extent.rank - 1; i > 0; i--) {
        uint64_t n = (set->extent.extent[i] - 1) / set->chunk.extent[i] + 1;
        offset[i] = left % n * set->chunk.extent[i];
        left /= n;
    }
    offset[0] = left * set->chunk.extent[0];
}

static enum pack_status
write_chunk(struct pack_writer_dataset *set, uint64_t number, uint32_t filter_mask,
            struct pack_h5_placing *chunk, struct pack_error *err)
{
    struct pack_writer *writer = set->writer;
    hsize_t offset[PACK_RANK_MAX];
    enum pack_status status = pack_writer_still_failed(writer, err);
    uint64_t last_row = 0;
    if (!status &&
        !pack_size_mul(number / set->n_per_row + 1, set->chunk.extent[0], &last_row))
        return pack_fail(err, PACK_ERR_ARGUMENT, "chunk %llu is out of reach",
                         (unsigned long long)number);
    if (status)
        return status;
    chunk_offset(set, number, offset);
    if (offset[0] >= set->extent.extent[0])
        status = pack_writer_dataset_extent(set, offset[0] + 1, err);
    if (status)
        return status;
    writer->chunk = chunk;
    herr_t result = H5Dwrite_chunk(set->id, H5P_DEFAULT, filter_mask, offset, chunk->size,
                                   chunk->data);
    writer->chunk = NULL;
    return pack_writer_check(writer, result, err);
}

/* The driver did not meet the chunk, or not where it should be. */
static enum pack_status
fail_changed(struct pack_writer *writer, uint64_t number, struct pack_error *err)
{
    writer->count.discard = true;
    writer->failed = pack_fail(
        &writer->error, PACK_ERR_CHANGED,
        "cannot resume '%s': chunk %llu would not go where the journal says it is",
        writer->path, (unsigned long long)number);
    return pack_writer_still_failed(writer, err);
}

enum pack_status
pack_writer_chunk(struct pack_writer_dataset *set, uint64_t number,
                  const struct pack_stored *stored, uint64_t *address,
                  struct pack_error *err)
{
    struct pack_h5_placing chunk = { .data = stored->data, .size = stored->size };
    struct pack_writer *writer = set->writer;
    writer->count.cut_next = writer->count.keep_existing && !writer->goes_on;
    writer->goes_on = true;
    enum pack_status status = write_chunk(set, number, stored->filter_mask, &chunk, err);
    if (status)
        return status;
    if (!chunk.seen)
        return fail_changed(set->writer, number, err);
    *address = chunk.address;
    return PACK_OK;
}

enum pack_status
pack_writer_chunk_replayed(struct pack_writer_dataset *set, uint64_t number,
                           size_t stored_bytes, uint32_t filter_mask, uint64_t address,
                           struct pack_error *err)
{
    /* stands for the bytes, which nobody looks at */
    static const unsigned char placeholder = 0;
    struct pack_h5_placing chunk = {
        .data = &placeholder, .size = stored_bytes, .replayed = true, .expected = address
    };
    enum pack_status status = write_chunk(set, number, filter_mask, &chunk, err);
    if (!status && (!chunk.seen || chunk.address != address))
        status = fail_changed(set->writer, number, err);
    return status;
}
