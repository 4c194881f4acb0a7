/* The chunk caches that HDF5 keeps for a dataset in one process, simulated: one, or of a
 * virtual dataset one for each source. */
#ifndef LIBPACK_H5_CACHES_H
#define LIBPACK_H5_CACHES_H

#include <stddef.h>

#include <libpack/cachesim.h>
#include "libpack/hdf5/h5_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_h5_caches;

/*
 * All start empty and have the same settings, as sources have those of the virtual
 * dataset. `dataset` is borrowed while they live. PACK_ERR_UNSUPPORTED where the chunks
 * that reads visit cannot be told: contiguous data, sources that are unclear.
 */
enum pack_status pack_h5_caches_new(const struct pack_h5_dataset *dataset,
                                    const struct pack_cache_params *cache,
                                    struct pack_h5_caches **caches,
                                    struct pack_error *err);
void pack_h5_caches_free(struct pack_h5_caches *caches); /* accepts NULL */

/* One H5Dread of boxes, ascending along axis 0 and apart from each other. */
enum pack_status pack_h5_caches_read(struct pack_h5_caches *caches,
                                     const struct pack_box *boxes, size_t n_boxes,
                                     struct pack_error *err);

/* The dataset is closed and opened again: all caches are empty. */
void pack_h5_caches_reopen(struct pack_h5_caches *caches);

/* Counts since the last call, of all caches together; peak_bytes is the sum of each one's
 * own peak. */
void pack_h5_caches_take(struct pack_h5_caches *caches, struct pack_cache_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
