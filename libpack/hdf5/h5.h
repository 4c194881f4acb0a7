/* Opens HDF5 files quietly, lists and describes what is in them, and turns HDF5's error
 * stack into one sentence. */
#ifndef LIBPACK_H5_H
#define LIBPACK_H5_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include "libpack/hdf5/h5_count.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * HDF5 identifiers (hid_t) appear here as int64_t, so that hdf5.h is not needed. HDF5 is
 * used from one thread at a time. Every call here that may fail turns off HDF5's own
 * printing of errors, for the whole process.
 */

/*
 * Opens a file for reading. `count` is the driver's hooks and counters, or NULL for the
 * stock driver. PACK_ERR_NOT_FOUND, PACK_ERR_IO, PACK_ERR_FORMAT ("cannot open
 * 'train.h5': not an HDF5 file"). To be closed with pack_h5_close.
 */
enum pack_status pack_h5_open(const char *path, struct pack_h5_count *count,
                              int64_t *file, struct pack_error *err);
void pack_h5_close(int64_t file); /* accepts -1 */

/* Whether `path` inside an open file leads to a dataset. */
bool pack_h5_is_dataset(int64_t file, const char *path);

/* The name, newly allocated, of the file that holds what is at `path`: of the open file, or
 * of the one behind an external link. */
enum pack_status pack_h5_data_file(int64_t file, const char *path, char **name,
                                   struct pack_error *err);

/*
 * Calls fn with the path of every dataset of the file, in alphabetic order of their
 * groups' links, each once; "images", "train/images". Soft and external links are not
 * followed, cycles end. What is not PACK_OK from fn ends the walk and becomes its result.
 * Datasets found before a damaged group was met have been reported when
 * PACK_ERR_FORMAT comes back.
 */
typedef enum pack_status (*pack_h5_dataset_fn)(void *context, const char *path,
                                               struct pack_error *err);
enum pack_status pack_h5_datasets(int64_t file, pack_h5_dataset_fn fn, void *context,
                                  struct pack_error *err);

/* Likewise with the name of every soft and external link of the root group, wherever it
 * leads. */
enum pack_status pack_h5_links(int64_t file, pack_h5_dataset_fn fn, void *context,
                               struct pack_error *err);

/*
 * Fills *facts for the dataset at `path` from the file's metadata; no data is read.
 * PACK_ERR_NOT_FOUND when nothing is there, PACK_ERR_ARGUMENT when it is no dataset,
 * PACK_ERR_FORMAT when its metadata is damaged. Sentences name the dataset, not the file.
 */
enum pack_status pack_facts_read(int64_t file, const char *path, struct pack_facts *facts,
                                 struct pack_error *err);

/* The same without the chunks that are stored, for which HDF5 goes through the whole index:
 * n_chunks_stored and stored_bytes of a chunked dataset are UINT64_MAX. */
enum pack_status pack_facts_read_header(int64_t file, const char *path,
                                        struct pack_facts *facts, struct pack_error *err);

/* Whether this HDF5 lacks a filter of the pipeline, neither registered nor found as a
 * plugin; *id is the first such. pack_filter_need() says what brings it. */
bool pack_h5_missing_filter(const struct pack_pipeline *pipeline, uint32_t *id);
/* Likewise of those that decoding needs, where all chunks left some out: bit i is filter i. */
bool pack_h5_lacks_filter(const struct pack_pipeline *pipeline, uint32_t left_out,
                          uint32_t *id);

/*
 * Registers the zstd filter, number 32015, with HDF5 for the rest of the process, so that
 * HDF5 reads and writes such datasets without a plugin. Once or often, with or without
 * the plugin loaded.
 */
enum pack_status pack_h5_register_zstd(struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
