/* Reads datasets through stock HDF5: boxes of numbers, whole lists of numbers and
 * texts. */
#ifndef LIBPACK_H5_READ_H
#define LIBPACK_H5_READ_H

#include <stddef.h>
#include <stdint.h>

#include "libpack/hdf5/h5.h"
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What H5Pset_chunk_cache() takes; h5py's rdcc_nslots, rdcc_nbytes and rdcc_w0. */
struct pack_h5_cache {
    size_t n_slots, size_bytes; /* SIZE_MAX: the library's default */
    double w0;                  /* negative: the library's default */
};

/* A dataset open for reading. HDF5 is used from one thread at a time. */
struct pack_h5_reader;

/*
 * Opens the dataset at `path` of an open file (pack_h5_open). `cache` NULL: the library's
 * defaults. PACK_ERR_NOT_FOUND, PACK_ERR_ARGUMENT (no dataset), PACK_ERR_FORMAT.
 * Sentences name the dataset, not the file.
 */
enum pack_status pack_h5_reader_open(int64_t file, const char *path,
                                     const struct pack_h5_cache *cache,
                                     struct pack_h5_reader **reader,
                                     struct pack_error *err);
void pack_h5_reader_close(struct pack_h5_reader *reader);

/* Extent when opened, and bytes of one element as read (in the machine's byte order). */
const struct pack_shape *pack_h5_reader_extent(const struct pack_h5_reader *reader);
size_t pack_h5_reader_element_bytes(const struct pack_h5_reader *reader);

/*
 * One H5Dread of a box into `out`, dense, in row-major order. PACK_ERR_ARGUMENT when the
 * box leaves the extent, PACK_ERR_FORMAT when a chunk cannot be read or decoded (naming a
 * filter that is missing), PACK_ERR_MEMORY.
 */
enum pack_status pack_h5_reader_read(struct pack_h5_reader *reader,
                                     const struct pack_box *box, void *out,
                                     struct pack_error *err);

/*
 * A whole one-dimensional dataset of integers as int64, or of texts as UTF-8. At most
 * `n_max` entries, PACK_ERR_LIMIT beyond. The caller frees *values with free(); *texts
 * with pack_h5_texts_free().
 */
enum pack_status pack_h5_read_integers(int64_t file, const char *path, uint64_t n_max,
                                       int64_t **values, uint64_t *n,
                                       struct pack_error *err);
enum pack_status pack_h5_read_texts(int64_t file, const char *path, uint64_t n_max,
                                    char ***texts, uint64_t *n, struct pack_error *err);
void pack_h5_texts_free(char **texts, uint64_t n);

/* A scalar text attribute of the object at `path`, to be freed with free().
 * PACK_ERR_NOT_FOUND when there is none; at most 1 MiB. */
enum pack_status pack_h5_read_attr_text(int64_t file, const char *path, const char *name,
                                        char **text, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
