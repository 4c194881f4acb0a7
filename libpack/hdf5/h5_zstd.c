/*
 * The zstd filter as HDF5 calls it, for registration in a program and for the plugin. As
 * the registered filter does it: one frame with its content size in front, cd_values[0]
 * (if any) the level.
 *
 * No HDF5 function is called here, memory included: a plugin is loaded into processes
 * whose HDF5 it cannot link to (Python wheels carry their own, out of reach), and HDF5's
 * allocation is malloc in every release build.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/filter_parts.h"
#include "libpack/hdf5/h5_parts.h"

/* Replaces *buf by `data`, which is malloc'd and now HDF5's. */
static size_t
hand_over(void *data, size_t capacity, size_t size, size_t *buf_size, void **buf)
{
    free(*buf);
    *buf = data;
    *buf_size = capacity;
    return size;
}

static size_t
decode(const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx, size_t size,
       size_t *buf_size, void **buf)
{
    uint64_t content = pack_filter_zstd_size(*buf, size);
    if (content == 0 || content > SIZE_MAX)
        return 0;
    struct pack_stored frame = { .data = *buf, .size = size };
    void *data = malloc((size_t)content);
    if (!data ||
        pack_pipeline_decode(pipeline, ctx, &frame, data, (size_t)content, NULL)) {
        free(data);
        return 0;
    }
    return hand_over(data, (size_t)content, (size_t)content, buf_size, buf);
}

static size_t
encode(const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx, size_t size,
       size_t *buf_size, void **buf)
{
    struct pack_stored frame;
    if (pack_pipeline_encode(pipeline, ctx, *buf, size, &frame, NULL) || frame.size == 0)
        return 0;
    void *data = malloc(frame.size);
    if (!data)
        return 0;
    memcpy(data, frame.data, frame.size);
    return hand_over(data, frame.size, frame.size, buf_size, buf);
}

/* Returns the new size of the data; 0 is failure. */
static size_t
zstd_filter(unsigned flags, size_t n_cd, const unsigned *cd, size_t size,
            size_t *buf_size, void **buf)
{
    struct pack_pipeline pipeline = { .n = 1 };
    pipeline.filter[0].id = PACK_FILTER_ZSTD;
    if (n_cd > 0) {
        pipeline.filter[0].n_cd = 1;
        pipeline.filter[0].cd[0] = cd[0];
    }
    struct pack_filter_ctx *ctx;
    if (pack_filter_ctx_new(&ctx, NULL) != PACK_OK)
        return 0;
    size_t result = flags & H5Z_FLAG_REVERSE
                        ? decode(&pipeline, ctx, size, buf_size, buf)
                        : encode(&pipeline, ctx, size, buf_size, buf);
    pack_filter_ctx_free(ctx);
    return result;
}

/* The name is stored in files; it is the one that the registered filter stores. */
const H5Z_class2_t pack_h5_zstd_class = {
    .version = H5Z_CLASS_T_VERS,
    .id = PACK_FILTER_ZSTD,
    .encoder_present = 1,
    .decoder_present = 1,
    .name = "Zstandard compression: http://www.zstd.net",
    .filter = zstd_filter,
};
