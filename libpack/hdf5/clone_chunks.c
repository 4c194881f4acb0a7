/* Chunks of the datasets that are stored otherwise. HDF5 is deterministic, so the same calls
 * in the same order put each to the same place: see writer.h. */
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

static enum pack_status
write_chunk(struct pack_clone *clone, size_t set, const uint64_t *start, uint32_t mask,
            struct pack_h5_placing *placing, struct pack_error *err)
{
    hsize_t offset[PACK_RANK_MAX];
    for (int i = 0; i < clone->params.sets[set].chunk.rank; i++)
        offset[i] = start[i];
    clone->placing = placing;
    herr_t result = H5Dwrite_chunk(clone->sets[set], H5P_DEFAULT, mask, offset,
                                   placing->size, placing->data);
    clone->placing = NULL;
    enum pack_status status =
        pack_clone_check(clone, clone->params.sets[set].path, result, err);
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
