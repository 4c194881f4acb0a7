#include "libpack/hdf5/h5_chunks.h"

#include <stdlib.h>

static enum pack_status
list(const char *file, const char *path, const struct pack_facts *facts,
     struct pack_h5_chunks *chunks, struct pack_error *err)
{
    struct pack_chunkindex index;
    enum pack_status status = pack_h5_chunks_list(file, path, facts, 0, NULL, &index, err);
    chunks->is_too_many = status == PACK_ERR_LIMIT;
    if (status != PACK_OK)
        return chunks->is_too_many ? PACK_OK : status;
    chunks->stored_bytes = calloc(index.n_chunks ? index.n_chunks : 1, sizeof(uint64_t));
    for (uint64_t i = 0; chunks->stored_bytes && i < index.n_chunks; i++)
        chunks->stored_bytes[i] = index.chunks[i].stored_bytes;
    chunks->left_out = index.n_missing < index.n_chunks ? UINT32_MAX : 0;
    for (uint64_t i = 0; i < index.n_chunks; i++)
        if (index.chunks[i].address_bytes != PACK_CHUNK_MISSING)
            chunks->left_out &= index.chunks[i].filter_mask;
    pack_chunkindex_done(&index);
    return chunks->stored_bytes ? PACK_OK : pack_fail_memory(err, "sizes of chunks");
}

enum pack_status
pack_h5_chunks_read(const char *file, const char *path, const struct pack_facts *facts,
                    struct pack_h5_chunks *chunks, struct pack_error *err)
{
    *chunks = (struct pack_h5_chunks){ .stored_bytes = NULL };
    if (facts->layout != PACK_LAYOUT_CHUNKED)
        return PACK_OK;
    enum pack_status status = pack_grid_init(&chunks->grid, &facts->extent, &facts->chunk,
                                             facts->type.bytes, err);
    bool is_alike = facts->pipeline.n == 0 &&
                    facts->n_chunks_stored == facts->n_chunks_total;
    return status != PACK_OK || is_alike ? status : list(file, path, facts, chunks, err);
}

void
pack_h5_chunks_done(struct pack_h5_chunks *chunks)
{
    free(chunks->stored_bytes);
    *chunks = (struct pack_h5_chunks){ .stored_bytes = NULL };
}
