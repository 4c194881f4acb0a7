/* Address, stored size and filter mask of every chunk of a dataset. */
#ifndef LIBPACK_CHUNKINDEX_H
#define LIBPACK_CHUNKINDEX_H

#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PACK_CHUNK_MISSING UINT64_MAX /* address of a chunk without storage */

struct pack_chunk {
    uint64_t number;        /* row-major over the grid of chunks */
    uint64_t address_bytes; /* from the start of the file, or PACK_CHUNK_MISSING */
    uint64_t stored_bytes;
    uint32_t filter_mask; /* bit i: filter i of the pipeline was not applied */
};

struct pack_chunkindex {
    struct pack_chunk *chunks; /* all of the grid, chunks[i].number == i */
    uint64_t n_chunks;
    uint64_t n_missing;
    uint64_t stored_bytes; /* sum over all chunks */
};

/*
 * Lists the chunks of the dataset at `path` in the file named `file`. Opens the file by
 * itself, with its own driver. At most `n_max` chunks (32 bytes each), PACK_ERR_LIMIT
 * beyond; 0 stands for 2^26. PACK_ERR_ARGUMENT when the dataset is not chunked. Stored
 * sizes and addresses are as HDF5 gives them: they may lie outside a damaged file.
 *
 * Uses H5Dchunk_iter where the library has it. Before that, in HDF5 1.10, asking for one
 * chunk's address costs a walk over all of them; instead every chunk is read with
 * H5Dread_chunk and the driver notes and swallows the reads. pack_chunkindex_done frees.
 */
enum pack_status pack_chunkindex_read(const char *file, const char *path, uint64_t n_max,
                                      struct pack_chunkindex *index,
                                      struct pack_error *err);
void pack_chunkindex_done(struct pack_chunkindex *index);

#ifdef __cplusplus
}
#endif
#endif
