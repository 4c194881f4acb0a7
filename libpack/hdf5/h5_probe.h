/* Datasets of bytes made for measuring, and single reads of them, as stock HDF5 does
 * both. */
#ifndef LIBPACK_H5_PROBE_H
#define LIBPACK_H5_PROBE_H

#include <stdint.h>

#include <libpack/cachesim.h>
#include <libpack/dataset.h>
#include "libpack/hdf5/h5_count.h"
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A uint8 dataset "/probe" in a file of its own. */
struct pack_probe_layout {
    struct pack_shape extent;
    struct pack_shape chunk;       /* rank 0: contiguous */
    struct pack_pipeline pipeline; /* of chunked ones */
};

/* Writes `n` samples (indexes of axis 0) from `first` on into `out`. */
typedef void (*pack_probe_fill_fn)(void *context, uint64_t first, uint64_t n, void *out);

/* Creates the file, overwriting, and fills it chunk row by chunk row. What HDF5 refuses
 * is its sentence; PACK_ERR_MEMORY. */
enum pack_status pack_probe_create(const char *path,
                                   const struct pack_probe_layout *layout,
                                   pack_probe_fill_fn fill, void *context,
                                   struct pack_error *err);

struct pack_probe;

/* Opens the dataset of such a file with a chunk cache; `count` may be NULL,
 * as in h5.h. */
enum pack_status pack_probe_open(const char *path, const struct pack_cache_params *cache,
                                 struct pack_h5_count *count, struct pack_probe **probe,
                                 struct pack_error *err);
void pack_probe_close(struct pack_probe *probe);

/* Closes the dataset and opens it again by name. */
enum pack_status pack_probe_reopen(struct pack_probe *probe, struct pack_error *err);

/* One H5Dread of a box, or of several apart from each other, into `out`. */
enum pack_status pack_probe_read(struct pack_probe *probe, const struct pack_box *boxes,
                                 size_t n_boxes, void *out, struct pack_error *err);

enum { PACK_HDF5_VERSION_TEXT_MAX = 40 };
/* "1.10.8", the HDF5 that runs, into text. Returns text. */
char *pack_probe_hdf5_version(char *text);

#ifdef __cplusplus
}
#endif
#endif
