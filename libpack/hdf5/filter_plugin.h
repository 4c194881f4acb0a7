/* Calls the filters of HDF5's plugins without HDF5 and from any thread. */
#ifndef LIBPACK_FILTER_PLUGIN_H
#define LIBPACK_FILTER_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/status.h>
#include "libpack/hdf5/chunkbytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blosc without its lock: two functions of c-blosc; NULL where it was not found. */
struct pack_plugin_blosc {
    int (*validate)(const void *stored, size_t stored_bytes, size_t *bytes);
    int (*decompress)(const void *stored, void *to, size_t to_bytes, int n_threads);
};

/* The filters of one pipeline that plugins bring; zeroed storage has none. */
struct pack_plugins {
    struct pack_plugin {
        uint32_t id; /* 0: none */
        void *call;  /* its function; NULL: one of these below */
        bool alone;  /* one call at a time in the process */
        struct pack_plugin_blosc blosc;
        int (*bunzip2)(char *to, unsigned *to_bytes, char *stored, unsigned stored_bytes,
                       int sparing, int verbose); /* libbz2's; NULL: not bzip2, or not there */
    } filter[PACK_PIPELINE_MAX];
};

/* What a plugin works in: it may give it back and leave another. */
struct pack_plugin_buffer {
    void *data; /* malloc's */
    size_t capacity;
};

/*
 * Undoes a filter: what *block holds becomes bytes in `to`, and *block these. From any thread;
 * a plugin that needs it is called by one at a time, blosc in all at once where its functions
 * were found, libbz2 in place of bzip2's plugin. PACK_ERR_FORMAT when it fails, makes more than there is room for, or says that
 * it will (filter_claims.h); PACK_ERR_MEMORY. What a plugin allocates for bytes that lie about
 * more than their size is its own affair.
 */
enum pack_status pack_plugin_decode(const struct pack_plugin *plugin,
                                    const struct pack_filter *filter,
                                    struct pack_block_room to,
                                    struct pack_plugin_buffer *buffer,
                                    struct pack_block *block, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
