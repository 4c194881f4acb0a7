/* Reads whole lists of numbers and texts, and attributes, through stock HDF5. */
#ifndef LIBPACK_H5_READ_H
#define LIBPACK_H5_READ_H

#include <stdint.h>

#include "libpack/hdf5/h5.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A whole one-dimensional dataset of integers as int64, of floating-point numbers as
 * double, or of texts as UTF-8; of integers also with `n_columns` in each entry. At most
 * `n_max` entries, PACK_ERR_LIMIT beyond; PACK_ERR_NOT_FOUND, _FORMAT, _UNSUPPORTED.
 * `file` is open (h5.h), and sentences name the dataset alone. The caller frees *values
 * with free(); *texts with pack_h5_texts_free().
 */
enum pack_status pack_h5_read_integers(int64_t file, const char *path, uint64_t n_max,
                                       int64_t **values, uint64_t *n,
                                       struct pack_error *err);
enum pack_status pack_h5_read_integer_rows(int64_t file, const char *path,
                                           uint64_t n_columns, uint64_t n_max,
                                           int64_t **values, uint64_t *n,
                                           struct pack_error *err);
enum pack_status pack_h5_read_floats(int64_t file, const char *path, uint64_t n_max,
                                     double **values, uint64_t *n, struct pack_error *err);
enum pack_status pack_h5_read_texts(int64_t file, const char *path, uint64_t n_max,
                                    char ***texts, uint64_t *n, struct pack_error *err);
void pack_h5_texts_free(char **texts, uint64_t n);

/* A scalar text attribute of the object at `path`, to be freed with free().
 * PACK_ERR_NOT_FOUND when there is none; at most 1 MiB. */
enum pack_status pack_h5_read_attr_text(int64_t file, const char *path, const char *name,
                                        char **text, struct pack_error *err);

/* An attribute of `n` numbers, likewise. */
enum pack_status pack_h5_read_attr_integers(int64_t file, const char *path,
                                            const char *name, uint64_t n, int64_t *values,
                                            struct pack_error *err);
enum pack_status pack_h5_read_attr_floats(int64_t file, const char *path, const char *name,
                                          uint64_t n, double *values,
                                          struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
