/* Reads boxes of a dataset as users do, with H5Dread and a chunk cache, and counts what that
 * costs. */
#ifndef LIBPACK_H5_BOXES_H
#define LIBPACK_H5_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/cachesim.h>
#include "libpack/hdf5/h5_count.h"
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_h5_boxes_params {
    const char *file, *dataset; /* borrowed while the reader lives */
    bool set_cache; /* use `cache`; else what the linked library does by itself */
    struct pack_cache_params cache; /* version is not looked at */
    bool reopen; /* open the dataset by name at each read, as f["x"][i] in h5py does */
    /* The index of chunks is walked when the dataset is opened, and the library's cache of
     * metadata as large as it may become: what many thousand reads would lead to. Not more
     * than 2^22 chunks. */
    bool walk_index;
    struct pack_h5_count *count; /* hooks and counters, or NULL for the stock driver */
};

/* One dataset, opened in a file of its own, so with a chunk cache of its own. */
struct pack_h5_boxes;

/* Errors of pack_h5_open; PACK_ERR_NOT_FOUND when the dataset is not there. */
enum pack_status pack_h5_boxes_open(const struct pack_h5_boxes_params *params,
                                    struct pack_h5_boxes **reader,
                                    struct pack_error *err);
void pack_h5_boxes_close(struct pack_h5_boxes *reader); /* accepts NULL */

/* The extent when it was opened, and the bytes of an element as it is read. */
const struct pack_shape *pack_h5_boxes_extent(const struct pack_h5_boxes *reader);
size_t pack_h5_boxes_element_bytes(const struct pack_h5_boxes *reader);

/*
 * One H5Dread of n_boxes blocks of the dataset, ascending along axis 0 and apart from
 * each other, into `out`: elements as they are in the file, in the file's order, without
 * gaps. call_ns (may be NULL) is the time inside H5Dread. PACK_ERR_ARGUMENT when a box
 * leaves the extent; else PACK_ERR_IO, _FORMAT (a chunk cannot be read or decoded),
 * _UNSUPPORTED (a filter is missing). The sentence names file, dataset and what was read.
 */
enum pack_status pack_h5_boxes_read(struct pack_h5_boxes *reader,
                                    const struct pack_box *boxes, size_t n_boxes,
                                    void *out, uint64_t *call_ns, struct pack_error *err);

/* Frees what the last read allocated for elements of variable length in `out`; of others there
 * is nothing to free. */
void pack_h5_boxes_reclaim(struct pack_h5_boxes *reader, void *out);

/* What opening and closing the dataset anew cost at the last read: all of its time, and
 * that of the file reads among it, which `count` has too. */
struct pack_h5_boxes_reopened {
    uint64_t elapsed_ns, file_read_ns;
};
struct pack_h5_boxes_reopened pack_h5_boxes_reopened(const struct pack_h5_boxes *reader);

/* The cache settings in force for the open dataset, and the version of the library as
 * cachesim.h knows it. */
enum pack_status pack_h5_boxes_cache(struct pack_h5_boxes *reader,
                                     struct pack_cache_params *cache,
                                     struct pack_error *err);

/* "1.10.8": the linked HDF5, into text[32]. Returns text. */
char *pack_h5_version_text(char *text);

#ifdef __cplusplus
}
#endif
#endif
