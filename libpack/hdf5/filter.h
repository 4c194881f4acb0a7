/* Encodes and decodes chunks through filter pipelines, byte for byte as HDF5 does,
 * without HDF5 and from any number of threads. */
#ifndef LIBPACK_FILTER_H
#define LIBPACK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* State of zlib and zstd and scratch buffers, reused from chunk to chunk. One thread at a
 * time uses one. */
struct pack_filter_ctx;
enum pack_status pack_filter_ctx_new(struct pack_filter_ctx **ctx,
                                     struct pack_error *err);
void pack_filter_ctx_free(struct pack_filter_ctx *ctx);
/* Filters of the pipeline that is decoded from now on, as pack_plugins_find() found them;
 * borrowed. */
struct pack_plugins;
void pack_filter_ctx_use(struct pack_filter_ctx *ctx, const struct pack_plugins *plugins);

/* One chunk as it stands in a file. */
struct pack_stored {
    const void *data;
    size_t size;
    uint32_t filter_mask; /* bit i is set when filter i was skipped */
};

/*
 * Encodes one chunk of `size` bytes as H5Dwrite would before it stores it.
 *
 * stored->data is borrowed from ctx (or `data` itself when no filter changed it) until the
 * next call with ctx. A filter is skipped when it fails and is optional (deflate fails when
 * its output exceeds 1.001 times the input and 12 bytes).
 *
 * Follows H5Z_pipeline and the filters of HDF5 1.10.8, and the registered zstd filter
 * (one frame of ZSTD_compress, level clamped to what zstd has). PACK_ERR_UNSUPPORTED for
 * a filter not known here and not optional, PACK_ERR_ARGUMENT for impossible parameters
 * of one that is not optional, PACK_ERR_MEMORY.
 */
enum pack_status pack_pipeline_encode(const struct pack_pipeline *pipeline,
                                      struct pack_filter_ctx *ctx, const void *data,
                                      size_t size, struct pack_stored *stored,
                                      struct pack_error *err);

/*
 * The same, but what filters made of `data` is left at `room`, of pack_pipeline_bound()
 * bytes, so that it outlives the next call: stored->data is `room` or `data`.
 */
enum pack_status pack_pipeline_encode_to(const struct pack_pipeline *pipeline,
                                         struct pack_filter_ctx *ctx, const void *data,
                                         size_t size, void *room,
                                         struct pack_stored *stored,
                                         struct pack_error *err);

/*
 * Decodes one stored chunk into exactly `out_size` bytes at `out`, the size of a whole
 * chunk. PACK_ERR_FORMAT when it is damaged, fails its checksum or does not decode to
 * that size; PACK_ERR_UNSUPPORTED, naming filter and package, for a filter not known
 * here and without a plugin in use; PACK_ERR_ARGUMENT for impossible parameters. Whatever
 * the bytes claim, no stage may produce more than what encoding out_size bytes could have
 * given it, and ctx holds at most two buffers of that size, and one that plugins work in.
 */
enum pack_status pack_pipeline_decode(const struct pack_pipeline *pipeline,
                                      struct pack_filter_ctx *ctx,
                                      const struct pack_stored *stored, void *out,
                                      size_t out_size, struct pack_error *err);

/* Whether every filter of the pipeline can be decoded here: those that are known, and lzf.
 * If not, *id is the first that cannot. */
bool pack_pipeline_is_decoded(const struct pack_pipeline *pipeline, uint32_t *id);

/* Whether some filter makes data smaller: all but those that only sort bytes or check them. */
bool pack_pipeline_compresses(const struct pack_pipeline *pipeline);

/* Gives back the buffers of a ctx that are larger than `keep_bytes`. */
void pack_filter_ctx_trim(struct pack_filter_ctx *ctx, size_t keep_bytes);

/* How many buffers of pack_pipeline_bound() bytes a ctx has while pack_pipeline_encode_to()
 * works. */
int pack_pipeline_encode_buffers(const struct pack_pipeline *pipeline);

/*
 * Upper bound of what encoding `size` bytes can store, and of a ctx buffer, whichever of
 * the optional filters are skipped; 0 when it does not fit size_t, and where a filter that
 * is not optional is not known here.
 */
size_t pack_pipeline_bound(const struct pack_pipeline *pipeline, size_t size);

/* The same for reading: what stored bytes may be. Of filters not known here, twice what they
 * got and a little. */
size_t pack_pipeline_stored_bound(const struct pack_pipeline *pipeline, size_t size);

#ifdef __cplusplus
}
#endif
#endif
