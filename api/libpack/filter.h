/* Encodes and decodes chunks through filter pipelines, byte for byte as HDF5 does,
 * without HDF5 and from any number of threads. */
#ifndef LIBPACK_FILTER_H
#define LIBPACK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Filters that can be encoded and decoded here, by their number in HDF5 files. */
enum {
    PACK_FILTER_DEFLATE = 1,    /* cd: level 0 to 9 */
    PACK_FILTER_SHUFFLE = 2,    /* cd: bytes of an element */
    PACK_FILTER_FLETCHER32 = 3, /* no cd */
    PACK_FILTER_ZSTD = 32015    /* cd: none, or level up to 22 as an int */
};

enum {
    PACK_PIPELINE_MAX = 32, /* as H5Z_MAX_NFILTERS */
    PACK_FILTER_CD_MAX = 20,
    PACK_FILTER_OPTIONAL = 1 /* flag, as H5Z_FLAG_OPTIONAL */
};

struct pack_filter {
    uint32_t id;
    uint32_t flags;
    uint32_t n_cd; /* values the file has; the first PACK_FILTER_CD_MAX are in cd */
    uint32_t cd[PACK_FILTER_CD_MAX];
};

/* The filters of a dataset, in the order in which writing applies them. */
struct pack_pipeline {
    int n;
    struct pack_filter filter[PACK_PIPELINE_MAX];
};

/*
 * "none", or stages joined by '+': "gzip[:0..9]" (default 4), "zstd[:-50..22]" (default
 * 3), "shuffle", "fletcher32", e.g. "shuffle+gzip:4+fletcher32". "deflate" is accepted
 * for gzip. Flags are those that H5Pset_deflate and its siblings set: all but fletcher32
 * are optional. `element_bytes` is what shuffle works on. PACK_ERR_ARGUMENT with a
 * sentence.
 */
enum pack_status pack_pipeline_parse(const char *text, uint32_t element_bytes,
                                     struct pack_pipeline *pipeline,
                                     struct pack_error *err);

/* Appends one filter. PACK_ERR_ARGUMENT when the pipeline is full or n_cd > 20. */
enum pack_status pack_pipeline_add(struct pack_pipeline *pipeline, uint32_t id,
                                   uint32_t flags, uint32_t n_cd, const uint32_t *cd,
                                   struct pack_error *err);

enum { PACK_PIPELINE_TEXT_MAX = 512 };
/* As parsed, other filters by name ("lzf") or as "filter-305"; cut, with "...", when it
 * does not fit. text has PACK_PIPELINE_TEXT_MAX bytes. Returns text. */
char *pack_pipeline_format(const struct pack_pipeline *pipeline, char *text);

/* Short name of a registered filter ("zstd", "blosc2"), or NULL. */
const char *pack_filter_name(uint32_t id);

/* "needs filter 32015 (zstd): import hdf5plugin" into text; which filter, and the usual
 * package that brings it. Returns text. */
enum { PACK_FILTER_NEED_MAX = 128 };
char *pack_filter_need(uint32_t id, char *text);

/* Whether every filter of the pipeline is known here; if not, *id is the first unknown. */
bool pack_pipeline_is_known(const struct pack_pipeline *pipeline, uint32_t *id);

/* State of zlib and zstd and scratch buffers, reused from chunk to chunk. One thread at a
 * time uses one. */
struct pack_filter_ctx;
enum pack_status pack_filter_ctx_new(struct pack_filter_ctx **ctx,
                                     struct pack_error *err);
void pack_filter_ctx_free(struct pack_filter_ctx *ctx);

/*
 * Encodes one chunk of `size` bytes as H5Dwrite would before it stores it.
 *
 * out, out_size: the stored bytes, borrowed from ctx (or `data` itself when no filter
 *                changed it) until the next call with ctx
 * filter_mask:   bit i is set when filter i was skipped because it failed and is optional
 *                (deflate fails when its output exceeds 1.001 times the input and
 *                12 bytes)
 *
 * Follows H5Z_pipeline and the filters of HDF5 1.10.8, and the registered zstd filter
 * (one frame of ZSTD_compress, level clamped to what zstd has). PACK_ERR_UNSUPPORTED for
 * a filter not known here and not optional, PACK_ERR_ARGUMENT for impossible parameters
 * of one that is not optional, PACK_ERR_MEMORY.
 */
enum pack_status pack_pipeline_encode(const struct pack_pipeline *pipeline,
                                      struct pack_filter_ctx *ctx, const void *data,
                                      size_t size, const void **out, size_t *out_size,
                                      uint32_t *filter_mask, struct pack_error *err);

/*
 * Decodes one stored chunk into exactly `out_size` bytes at `out`, the size of a whole
 * chunk. PACK_ERR_FORMAT when it is damaged, fails its checksum or does not decode to
 * that size; PACK_ERR_UNSUPPORTED, naming filter and package, for a filter not known
 * here; PACK_ERR_ARGUMENT for impossible parameters. Whatever the bytes claim, no stage
 * may produce more than what encoding out_size bytes could have given it, and ctx holds
 * at most two buffers of that size.
 */
enum pack_status pack_pipeline_decode(const struct pack_pipeline *pipeline,
                                      struct pack_filter_ctx *ctx, uint32_t filter_mask,
                                      const void *data, size_t size, void *out,
                                      size_t out_size, struct pack_error *err);

/*
 * Upper bound of what encoding `size` bytes can store, and of a ctx buffer; 0 when it
 * does not fit size_t.
 */
size_t pack_pipeline_bound(const struct pack_pipeline *pipeline, size_t size);

#ifdef __cplusplus
}
#endif
#endif
