/* HDF5's errors as sentences, and what else the files of this folder share. Not for use
 * outside this folder and its tests. */
#ifndef LIBPACK_H5_PARTS_H
#define LIBPACK_H5_PARTS_H

#include <stdbool.h>

#include <libpack/dataset.h>
#include "libpack/hdf5/hdf5_versions.h"
#include <libpack/status.h>

/* Turns HDF5's own printing of errors off. First thing in every public function that
 * calls HDF5. */
void pack_h5_quiet(void);

/*
 * Fails with "<format>: <why>", the reason being taken from HDF5's error stack, which is
 * emptied: the system's words when a system call failed, else the description nearest to
 * the cause. Returns `status`.
 */
enum pack_status pack_h5_fail(struct pack_error *err, enum pack_status status,
                              const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The same after a failed H5Dread of a dataset: PACK_ERR_UNSUPPORTED with "needs filter
 * 32001 (blosc): import hdf5plugin" when a filter is missing, else PACK_ERR_FORMAT.
 */
enum pack_status pack_h5_fail_read(struct pack_error *err, hid_t dataset,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The filters of a dataset creation list; false when HDF5 cannot tell. */
bool pack_h5_read_pipeline(hid_t dcpl, struct pack_pipeline *pipeline);

/* Whether a float has 2, 4 or 8 bytes and is laid out as in IEEE 754, in either order. */
bool pack_h5_is_ieee(hid_t type);

/* The type of the elements that a reader of boxes gives; it stays the reader's. */
struct pack_h5_boxes;
hid_t pack_h5_boxes_type(const struct pack_h5_boxes *reader);

/* Whether something is there at the end of `path`, all links on the way being intact. */
bool pack_h5_path_exists(hid_t file, const char *path);

/* Fails with PACK_ERR_NOT_FOUND and says what is missing at such a path: the dataset, or
 * what a link on the way leads to. */
enum pack_status pack_h5_fail_missing(hid_t file, const char *path,
                                      struct pack_error *err);

/* The zstd filter's class, for H5Zregister and for the plugin. */
extern const H5Z_class2_t pack_h5_zstd_class;

#endif
