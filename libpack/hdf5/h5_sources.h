/* What a virtual dataset is put together from: source files, and which part of the whole
 * lies where in which of them. */
#ifndef LIBPACK_H5_SOURCES_H
#define LIBPACK_H5_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_guard.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One dataset of one file, however many mappings lead to it: HDF5 keeps one chunk cache
 * for it. */
struct pack_h5_source {
    char *file;      /* as found, or as the virtual dataset names it when missing */
    char *dataset;   /* path inside, without a leading slash */
    bool is_missing;   /* what is mapped to it reads as fill values, unless it is elsewhere */
    bool is_elsewhere; /* its file is where HDF5_VDS_PREFIX has HDF5 look first */
    struct pack_facts facts;
    struct pack_h5_chunks chunks;
};

/* A block of the virtual dataset and the block of a source that it shows. */
struct pack_h5_mapping {
    size_t source;
    struct pack_box from, to;
    int axis[PACK_RANK_MAX]; /* of `from`, for each axis of `to`; -1: one index only */
};

struct pack_h5_sources {
    size_t n_sources, n_mappings;
    struct pack_h5_source *sources;
    struct pack_h5_mapping *mappings; /* in the order in which HDF5 goes through them */
    const char *unplaced; /* why it cannot be told what lies in which source; NULL */
    /* Why it cannot be told which chunks reads visit; NULL when it can. */
    const char *unclear;
    /* Mappings lie side by side along an axis other than 0: what one read takes from a
     * source then lies in pieces in memory, and how many file reads that makes where the
     * chunk cache is bypassed is not known. */
    bool is_side_by_side;
};

/*
 * Reads the mappings of the virtual dataset with these facts in an open file named
 * `name`, and facts and chunk indexes of their sources. Sources are looked for as HDF5
 * does: beside the file, then from the current folder, then beside what the file's name is a
 * link to; where HDF5_VDS_PREFIX has HDF5 look elsewhere, `unplaced` says so.
 * Missing sources, and mappings that are no blocks, are no errors. PACK_ERR_FORMAT
 * when it is a source of itself, also by way of others: HDF5 would crash. guard as in
 * h5_guard.h.
 */
enum pack_status pack_h5_sources_read(int64_t file, const char *name,
                                      const struct pack_facts *facts,
                                      struct pack_h5_guard *guard,
                                      struct pack_h5_sources *sources,
                                      struct pack_error *err);
void pack_h5_sources_done(struct pack_h5_sources *sources);

/* How many sources are not there, here or elsewhere, and the first of them. */
size_t pack_h5_sources_missing(const struct pack_h5_sources *sources,
                               const struct pack_h5_source **first);

/* The source with most elements, NULL when all are missing. */
const struct pack_h5_source *pack_h5_sources_largest(const struct pack_h5_sources *sources);

/* The chunk of a chunked source as it lies in the virtual dataset of this extent. */
void pack_h5_sources_chunk(const struct pack_h5_sources *sources,
                           const struct pack_h5_source *source,
                           const struct pack_shape *extent, struct pack_shape *chunk);

/* The part of a box that a mapping shows, as a box of its source; false: none. */
bool pack_h5_mapping_cut(const struct pack_h5_mapping *mapping, const struct pack_box *box,
                         struct pack_box *in_source);

#ifdef __cplusplus
}
#endif
#endif
