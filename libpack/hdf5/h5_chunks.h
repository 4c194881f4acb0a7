/* The chunks of a dataset as a simulated cache wants them: their grid, and the bytes that
 * each has in the file. */
#ifndef LIBPACK_H5_CHUNKS_H
#define LIBPACK_H5_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_h5_chunks {
    struct pack_grid grid; /* rank 0 unless chunked */
    /* Of each chunk, 0: missing; NULL: all are there and as large as a chunk, or too many
     * to be listed. */
    uint64_t *stored_bytes;
    bool is_too_many; /* to be listed, see pack_chunkindex_read() */
    uint32_t left_out; /* filters that all chunks left out, of those that were listed: bit i is
                        * filter i */
};

/*
 * Reads the chunks of the dataset with these facts at `path` of the file named `file`.
 * PACK_OK and rank 0 when it is not chunked. Errors as pack_chunkindex_read(), but for
 * too many chunks. pack_h5_chunks_done frees.
 */
enum pack_status pack_h5_chunks_read(const char *file, const char *path,
                                     const struct pack_facts *facts,
                                     struct pack_h5_chunks *chunks,
                                     struct pack_error *err);
void pack_h5_chunks_done(struct pack_h5_chunks *chunks);

/* As pack_chunkindex_read(), for those who have just read the facts (else NULL), which
 * takes HDF5 a walk over all chunks. PACK_ERR_INTERRUPTED when the watch, which may be
 * NULL, stops it. */
enum pack_status pack_h5_chunks_list(const char *file, const char *path,
                                     const struct pack_facts *facts, uint64_t n_max,
                                     const struct pack_watch *watch,
                                     struct pack_chunkindex *index,
                                     struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
