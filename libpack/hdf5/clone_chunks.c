/*
 * Chunks of the datasets that are stored otherwise. HDF5 is deterministic, so the same calls
 * in the same order put each to the same place: see writer.h.
 *
 * Contiguous data gets its place with the first that is written of it. HDF5 would fill all of
 * it then, if a fill value was set: that is kept from the file, where replayed data may be.
 */
#include "libpack/hdf5/clone_parts.h"

enum pack_h5_action
pack_clone_on_write(void *context, const struct pack_h5_access *access, const void *data)
{
    struct pack_clone *clone = context;
    return pack_h5_placing_meet(clone->placing, &clone->count, access, data);
}

/* The driver did not meet the chunk, or not where it should be. */
static enum pack_status
fail_changed(struct pack_clone *clone, size_t set, struct pack_error *err)
{
    clone->count.discard = true;
    return pack_fail_param(err, PACK_ERR_CHANGED, "force",
                           "cannot resume '%.400s': a chunk of '%.200s' would not go where "
                           "the journal says it is",
                           clone->path, clone->params.sets[set].path);
}

/* What of a contiguous dataset lies in one of its chunks: a single write for the driver. */
static herr_t
write_stretch(hid_t dataset, const struct pack_shape *chunk, const hsize_t *start,
              const void *data)
{
    hsize_t extent[PACK_RANK_MAX], count[PACK_RANK_MAX], n = 1;
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset), memory = -1;
    herr_t result = -1;
    if (space >= 0 && H5Sget_simple_extent_dims(space, extent, NULL) == chunk->rank) {
        for (int i = 0; i < chunk->rank; i++) {
            hsize_t left = extent[i] - start[i];
            count[i] = left < chunk->extent[i] ? left : chunk->extent[i];
            n *= count[i];
        }
        memory = H5Screate_simple(1, &n, NULL);
    }
    if (type >= 0 && memory >= 0 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0)
        result = H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, data);
    if (memory >= 0)
        H5Sclose(memory);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return result;
}

static enum pack_status
write_chunk(struct pack_clone *clone, size_t set, const uint64_t *start, uint32_t mask,
            struct pack_h5_placing *placing, struct pack_error *err)
{
    const struct pack_clone_set *s = &clone->params.sets[set];
    hsize_t offset[PACK_RANK_MAX];
    for (int i = 0; i < s->chunk.rank; i++)
        offset[i] = start[i];
    placing->is_alone = s->is_contiguous;
    clone->placing = placing;
    herr_t result =
        s->is_contiguous
            ? write_stretch(clone->sets[set], &s->chunk, offset, placing->data)
            : H5Dwrite_chunk(clone->sets[set], H5P_DEFAULT, mask, offset, placing->size,
                             placing->data);
    clone->placing = NULL;
    enum pack_status status = pack_clone_check(clone, s->path, result, err);
    if (status == PACK_OK && (!placing->seen || (placing->replayed &&
                                                 placing->address != placing->expected)))
        status = fail_changed(clone, set, err);
    return status;
}

enum pack_status
pack_clone_chunk(struct pack_clone *clone, size_t set, const uint64_t *start,
                 const struct pack_stored *stored, uint64_t *address,
                 struct pack_error *err)
{
    struct pack_h5_placing placing = { .data = stored->data, .size = stored->size };
    clone->count.cut_next = clone->count.keep_existing && !clone->goes_on;
    clone->goes_on = true;
    enum pack_status status =
        write_chunk(clone, set, start, stored->filter_mask, &placing, err);
    if (status == PACK_OK)
        *address = placing.address;
    return status;
}

enum pack_status
pack_clone_chunk_replayed(struct pack_clone *clone, size_t set, const uint64_t *start,
                          const struct pack_stored *stored, uint64_t address,
                          struct pack_error *err)
{
    /* stands for the bytes, which nobody looks at */
    static const unsigned char placeholder = 0;
    struct pack_h5_placing placing = { .data = &placeholder,
                                       .size = stored->size,
                                       .replayed = true,
                                       .expected = address };
    return write_chunk(clone, set, start, stored->filter_mask, &placing, err);
}
