/* Any bytes decoded as a chunk through each kind of pipeline; what a pipeline encodes, it
 * decodes. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "libpack/hdf5/filter.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = { "gzip:1", "zstd:1", "shuffle+gzip:1",
                                         "shuffle+zstd:1+fletcher32", "fletcher32" };
    static unsigned char chunk[4096];
    if (size < 2)
        return 0;
    struct pack_pipeline pipeline = { 0 };
    struct pack_filter_ctx *ctx = NULL;
    struct pack_error err;
    size_t chunk_size = 1 + (size_t)data[0] * 16;
    struct pack_stored stored;
    if (pack_pipeline_parse(texts[data[1] % 5], 4, &pipeline, &err) != PACK_OK ||
        pack_filter_ctx_new(&ctx, &err) != PACK_OK)
        return 0;
    data += 2;
    size -= 2;
    stored = (struct pack_stored){ .data = data, .size = size };
    (void)pack_pipeline_decode(&pipeline, ctx, &stored, chunk, chunk_size, &err);
    if (size && size <= sizeof chunk &&
        pack_pipeline_encode(&pipeline, ctx, data, size, &stored, &err) == PACK_OK) {
        unsigned char copy[2 * sizeof chunk];
        assert(stored.size <= sizeof copy);
        memcpy(copy, stored.data, stored.size);
        stored.data = copy;
        assert(pack_pipeline_decode(&pipeline, ctx, &stored, chunk, size, &err) == PACK_OK);
        assert(memcmp(chunk, data, size) == 0);
    }
    pack_filter_ctx_free(ctx);
    return 0;
}
