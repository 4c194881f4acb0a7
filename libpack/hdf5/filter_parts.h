/* Between filter.c and its codecs. */
#ifndef LIBPACK_FILTER_PARTS_H
#define LIBPACK_FILTER_PARTS_H

#include <libpack/dataset.h>
#include "libpack/hdf5/chunkbytes.h"

/*
 * A stage reads `in` and either writes into `to` and points *out there, or points *out
 * into `in` when there is nothing to do. *state is what the codec keeps from chunk to
 * chunk: NULL at first, its to allocate. PACK_ERR_FORMAT means that the bytes are wrong,
 * PACK_ERR_ARGUMENT that the parameters are.
 */
typedef enum pack_status (*pack_filter_stage_fn)(void **state,
                                                 const struct pack_filter *filter,
                                                 struct pack_block in,
                                                 struct pack_block_room to,
                                                 struct pack_block *out,
                                                 struct pack_error *err);

/* One codec: adding a filter is one file and one line in filter.c. */
struct pack_filter_codec {
    uint32_t id;
    /* upper bound of the encoded size; 0: beyond size_t */
    size_t (*bound)(size_t size);
    pack_filter_stage_fn encode, decode; /* encode NULL: it is read only */
    void (*free_state)(void *state); /* NULL: it keeps none */
};

extern const struct pack_filter_codec pack_filter_deflate;
extern const struct pack_filter_codec pack_filter_shuffle;
extern const struct pack_filter_codec pack_filter_fletcher;
extern const struct pack_filter_codec pack_filter_zstd;
extern const struct pack_filter_codec pack_filter_lzf;

/* Bytes that a zstd frame says it decodes to; 0 when it does not say, is empty or is no
 * frame. */
uint64_t pack_filter_zstd_size(const void *data, size_t size);

#endif
