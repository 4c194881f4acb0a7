/* Calls the filters of HDF5's plugins without HDF5 and from any thread. */
#ifndef LIBPACK_FILTER_PLUGIN_H
#define LIBPACK_FILTER_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The filters of one pipeline that plugins bring; zeroed storage has none. */
struct pack_plugins {
    struct pack_plugin {
        uint32_t id; /* 0: none */
        void *call;  /* its function */
        bool alone;  /* one call at a time in the process */
    } filter[PACK_PIPELINE_MAX];
};

/* What a plugin works in: it may give it back and leave another. */
struct pack_plugin_buffer {
    void *data; /* malloc's */
    size_t capacity;
};

/*
 * Undoes filter i of the pipeline: *size bytes of `in` become *size bytes in buffer->data.
 * From any thread; a plugin that needs it is called by one at a time. PACK_ERR_FORMAT when it
 * fails, PACK_ERR_MEMORY. How much a plugin allocates for bytes that lie is its own affair.
 */
enum pack_status pack_plugin_decode(const struct pack_plugins *plugins,
                                    const struct pack_filter *filter, int i, const void *in,
                                    size_t *size, struct pack_plugin_buffer *buffer,
                                    struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
