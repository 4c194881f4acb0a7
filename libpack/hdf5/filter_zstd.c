/* Zstandard: one frame a chunk, as the registered filter writes it. */
#include "libpack/hdf5/filter_parts.h"

#include <stdlib.h>
#include <zstd.h>

enum { ZSTD_LEVEL = 3 };
static const uint64_t CHUNK_MAX = UINT32_MAX; /* bytes of one in HDF5 */

struct zstd_state {
    ZSTD_CCtx *encoder;
    uint64_t encoded_bytes; /* since the encoder was made */
    ZSTD_DCtx *decoder;
};

static size_t
zstd_bound(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    size_t bound = ZSTD_compressBound(size);
    return ZSTD_isError(bound) ? 0 : bound;
}

static int
zstd_level(const struct pack_filter *filter)
{
    int level = filter->n_cd > 0 ? (int)filter->cd[0] : ZSTD_LEVEL;
    if (level < ZSTD_minCLevel())
        return ZSTD_minCLevel();
    return level > ZSTD_maxCLevel() ? ZSTD_maxCLevel() : level;
}

/*
 * An encoder numbers the bytes it has seen in 32 bits, over all frames, and its choices
 * may change where it renumbers. A chunk must give the same bytes whatever was encoded
 * before it, so the encoder is replaced long before that.
 */
static enum pack_status
zstd_start(struct zstd_state *zstd, size_t size, struct pack_error *err)
{
    static const uint64_t lifetime_bytes = UINT64_C(1) << 30;
    if (zstd->encoder && zstd->encoded_bytes + size > lifetime_bytes) {
        ZSTD_freeCCtx(zstd->encoder);
        zstd->encoder = NULL;
    }
    if (!zstd->encoder) {
        zstd->encoder = ZSTD_createCCtx();
        zstd->encoded_bytes = 0;
    }
    zstd->encoded_bytes += size;
    return zstd->encoder ? PACK_OK : pack_fail_memory(err, "zstd encoder");
}

static struct zstd_state *
zstd_of(void **state)
{
    if (!*state)
        *state = calloc(1, sizeof(struct zstd_state));
    return *state;
}

static enum pack_status
zstd_encode(void **state, const struct pack_filter *filter, struct pack_block in,
            struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    struct zstd_state *zstd = zstd_of(state);
    if (!zstd)
        return pack_fail_memory(err, "zstd encoder");
    enum pack_status status = zstd_start(zstd, in.size, err);
    if (status)
        return status;
    size_t size = ZSTD_compressCCtx(zstd->encoder, to.data, to.capacity, in.data, in.size,
                                    zstd_level(filter));
    /* the target is as large as it can get, so only memory can be missing */
    if (ZSTD_isError(size))
        return pack_fail_memory(err, ZSTD_getErrorName(size));
    *out = (struct pack_block){ to.data, size };
    return PACK_OK;
}

static enum pack_status
zstd_decode(void **state, const struct pack_filter *filter, struct pack_block in,
            struct pack_block_room to, struct pack_block *out, struct pack_error *err)
{
    (void)filter;
    struct zstd_state *zstd = zstd_of(state);
    if (zstd && !zstd->decoder)
        zstd->decoder = ZSTD_createDCtx();
    if (!zstd || !zstd->decoder)
        return pack_fail_memory(err, "zstd decoder");
    size_t size =
        ZSTD_decompressDCtx(zstd->decoder, to.data, to.capacity, in.data, in.size);
    if (ZSTD_isError(size))
        return pack_fail(err, PACK_ERR_FORMAT, "zstd data is damaged: %s",
                         ZSTD_getErrorName(size));
    *out = (struct pack_block){ to.data, size };
    return PACK_OK;
}

static void
zstd_free(void *state)
{
    struct zstd_state *zstd = state;
    ZSTD_freeCCtx(zstd->encoder);
    ZSTD_freeDCtx(zstd->decoder);
    free(zstd);
}

uint64_t
pack_filter_zstd_size(const void *data, size_t size)
{
    unsigned long long content = ZSTD_getFrameContentSize(data, size);
    bool is_known =
        content != ZSTD_CONTENTSIZE_UNKNOWN && content != ZSTD_CONTENTSIZE_ERROR;
    return is_known && content <= CHUNK_MAX && content / ZSTD_BLOCKSIZE_MAX <= size / 4
               ? content
               : 0;
}

const struct pack_filter_codec pack_filter_zstd = {
    .id = PACK_FILTER_ZSTD,
    .bound = zstd_bound,
    .encode = zstd_encode,
    .decode = zstd_decode,
    .free_state = zstd_free,
};
