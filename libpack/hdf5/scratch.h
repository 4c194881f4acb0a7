/* The beginning of a dataset written again in another layout, for measuring; in memory or
 * on a disk, without a name that could be left behind. */
#ifndef LIBPACK_SCRATCH_H
#define LIBPACK_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "libpack/hdf5/filter.h"
#include "libpack/base/size.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Its dataset inside the file. */
#define PACK_SCRATCH_DATASET "images"

struct pack_scratch_params {
    const char *file, *dataset; /* what is copied, through stock HDF5 */
    uint64_t n_samples;         /* indexes of axis 0 from the first on, 1 to its extent */
    struct pack_shape chunk;    /* rank 0: contiguous; cut to what is copied */
    struct pack_pipeline pipeline;
    bool edge_unfiltered;
    /* Stop writing at the next row of chunks after so long; what is there by then is the
     * dataset. 0: never. Contiguous data are written whole. */
    uint64_t time_ns;
    const char *dir;         /* where; NULL: in memory (memfd_create) */
    struct pack_watch watch; /* asked between rows */
};

struct pack_scratch;

/*
 * Writes the copy. PACK_ERR_IO when there is no room or `dir` cannot be written (the
 * sentence names it), PACK_ERR_UNSUPPORTED where the system has no files without names,
 * PACK_ERR_FORMAT for chunks of the source that cannot be read, PACK_ERR_INTERRUPTED,
 * PACK_ERR_MEMORY.
 */
enum pack_status pack_scratch_make(const struct pack_scratch_params *params,
                                   struct pack_scratch **scratch, struct pack_error *err);

/* A path that opens it, in this process and in those forked from it, until it is closed;
 * nothing is left then, nor when this process dies in whatever way. */
const char *pack_scratch_path(const struct pack_scratch *scratch);
/* Indexes of axis 0 that it holds. */
uint64_t pack_scratch_samples(const struct pack_scratch *scratch);
void pack_scratch_close(struct pack_scratch *scratch); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
