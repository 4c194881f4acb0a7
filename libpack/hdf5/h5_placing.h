/* Where HDF5 puts a chunk, and how one that an interrupted run left there is not written
 * again. */
#ifndef LIBPACK_H5_PLACING_H
#define LIBPACK_H5_PLACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpack/hdf5/h5_count.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One chunk during H5Dwrite_chunk(), for the driver to recognise by its bytes. */
struct pack_h5_placing {
    const void *data;
    size_t size;
    bool replayed;     /* the file holds it: `data` may be anything */
    bool is_alone;     /* other data that comes with it is not written: see clone_chunks.c */
    uint64_t expected; /* address of a replayed one */
    bool seen;
    uint64_t address;
};

/* What a hook on_write says, `placing` being NULL outside of H5Dwrite_chunk(): a replayed
 * chunk is swallowed, and when it goes elsewhere the file is left alone from then on. */
enum pack_h5_action pack_h5_placing_meet(struct pack_h5_placing *placing,
                                         struct pack_h5_count *count,
                                         const struct pack_h5_access *access,
                                         const void *data);

#ifdef __cplusplus
}
#endif
#endif
