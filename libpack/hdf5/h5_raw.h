/* What a reader that does without HDF5 cannot learn from addresses: the fill value, and the
 * data of compact datasets, which lies among metadata. */
#ifndef LIBPACK_H5_RAW_H
#define LIBPACK_H5_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What an element reads as that has no storage, in the file's type, facts->type.bytes of
 * them: the fill value; zeros where none is defined, and where HDF5 would leave the
 * buffer alone. `file` is open (h5.h). PACK_ERR_FORMAT.
 */
enum pack_status pack_h5_raw_fill(int64_t file, const char *path,
                                  const struct pack_facts *facts, void *fill,
                                  struct pack_error *err);

/* All elements of a dataset in the file's type: logical_bytes of its facts. */
enum pack_status pack_h5_raw_data(int64_t file, const char *path, void *data,
                                  struct pack_error *err);

/* Whether elements of two datasets, each in a file by its name, are stored alike, so that HDF5
 * converts nothing between them. Errors as pack_h5_open(). */
enum pack_status pack_h5_same_type(const char *file, const char *path, const char *other_file,
                                   const char *other_path, bool *same,
                                   struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
