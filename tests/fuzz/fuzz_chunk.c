/*
 * A stored chunk as a stranger's file has it, through the reader's own way: any bytes, any
 * filter mask, any address and size in the index, each of its pipelines. Decoded alone, behind
 * others that are read at once, and as unfiltered data, block by block.
 *
 * Seven bytes say what the index says, the rest is the file; or it is a chunk's data, which
 * is encoded and then damaged in one place, or in none.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/filter.h"
#include "libpack/reader/chunkload.h"

enum {
    SIDE = 12,
    ELEM_BYTES = 4,
    CHUNK_BYTES = SIDE * SIDE * ELEM_BYTES,
    HEAD_BYTES = 7
};

static const uint8_t *file; /* goes on with the same bytes again */
static size_t file_bytes;
static unsigned char decoded[CHUNK_BYTES];

/* The file in memory: `room` is filled, so that a sanitizer sees who reads beyond it. */
static enum pack_status
view(const struct pack_fetch *fetch, uint64_t address, size_t size, void *room,
     const void **data, struct pack_error *err)
{
    (void)err;
    assert(address <= fetch->size_bytes && size <= fetch->size_bytes - address);
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)room)[i] = file[(address + i) % file_bytes];
    *data = room;
    return PACK_OK;
}

static const struct pack_fetch_ops ops = { .name = "memory", .view = view };

/* A place or a size: near, within or a bit beyond the file, or far away. */
static uint64_t
widen(uint8_t byte, uint64_t size)
{
    return byte == 255   ? UINT64_MAX - 8
           : byte == 254 ? size
                         : byte * (size / 64 + 1) % (size + 9);
}

static void
copy_block(struct pack_chunkload *load, const struct pack_chunk *chunk, uint8_t where)
{
    const uint64_t extent[2] = { SIDE, SIDE }, start[2] = { where % 3, where / 3 % 5 },
                   count[2] = { 1 + where % 7, SIDE - start[1] }, zero[2] = { 0, 0 };
    struct pack_strided s;
    struct pack_error err;
    void *block = malloc(count[0] * count[1] * ELEM_BYTES);
    pack_strided_set(&s, 2, count, ELEM_BYTES,
                     (struct pack_strided_place){ extent, start },
                     (struct pack_strided_place){ count, zero });
    (void)pack_chunkload_copy(load, PACK_CHUNK_RAW, chunk, &s, block, &err);
    free(block);
}

static enum pack_status
decode(const struct pack_chunkmap *map, const struct pack_fetch *fetch,
       const struct pack_chunk *chunk, const uint8_t *head)
{
    struct pack_chunkload load;
    struct pack_error err;
    enum pack_status status = PACK_ERR_MEMORY;
    unsigned char *alone = calloc(1, CHUNK_BYTES), *gathered = malloc(CHUNK_BYTES);
    if (alone && gathered && pack_chunkload_init(&load, map, fetch, &err) == PACK_OK) {
        status = pack_chunkload_decode(&load, chunk, alone, &err);
        assert(status == PACK_OK || (status == PACK_ERR_FORMAT && err.text[0]) ||
               status == PACK_ERR_MEMORY);
        pack_chunkload_gather(&load, widen(head[5], fetch->size_bytes),
                              widen(head[6], fetch->size_bytes));
        assert(pack_chunkload_decode(&load, chunk, gathered, &err) == status);
        assert(status != PACK_OK || memcmp(alone, gathered, CHUNK_BYTES) == 0);
        copy_block(&load, chunk, head[0]);
        pack_chunkload_done(&load);
        memcpy(decoded, alone, CHUNK_BYTES);
    }
    free(gathered);
    free(alone);
    return status;
}

/* Everything of a dataset that is one chunk. */
static bool
set_map(struct pack_chunkmap *map, const char *pipeline)
{
    static const struct pack_shape extent = { 2, { SIDE, SIDE } };
    struct pack_error err;
    map->n_coded = 1;
    map->facts.layout = PACK_LAYOUT_CHUNKED;
    map->facts.extent = map->facts.chunk = extent;
    map->facts.type.bytes = ELEM_BYTES;
    return pack_grid_init(&map->grid, &extent, &extent, ELEM_BYTES, &err) == PACK_OK &&
           pack_pipeline_parse(pipeline, ELEM_BYTES, &map->facts.pipeline, &err) ==
               PACK_OK;
}

static void
read_any(struct pack_chunkmap *map, const uint8_t *head)
{
    uint64_t size = (uint64_t)file_bytes << (head[0] >> 4); /* many chunks, too */
    struct pack_fetch fetch = { .ops = &ops, .fd = -1, .size_bytes = size };
    struct pack_chunk chunk = { .filter_mask = head[2] % 16 };
    chunk.address_bytes = widen(head[3], size);
    chunk.stored_bytes = head[4] == 0 ? size : widen(head[4], size);
    if (head[0] & 1)
        chunk.stored_bytes = CHUNK_BYTES;
    map->stored_max_bytes = chunk.stored_bytes; /* as the chunk map has it of its index */
    decode(map, &fetch, &chunk, head);
}

static void
read_encoded(struct pack_chunkmap *map, const uint8_t *head)
{
    static uint8_t data[CHUNK_BYTES], stored_bytes[2 * CHUNK_BYTES];
    struct pack_filter_ctx *ctx;
    struct pack_stored stored;
    struct pack_error err;
    memset(data, 0, sizeof data);
    memcpy(data, file, file_bytes < sizeof data ? file_bytes : sizeof data);
    if (pack_filter_ctx_new(&ctx, &err) != PACK_OK)
        return;
    if (pack_pipeline_encode(&map->facts.pipeline, ctx, data, sizeof data, &stored,
                             &err) == PACK_OK) {
        assert(stored.size > 0 && stored.size <= sizeof stored_bytes);
        memcpy(stored_bytes, stored.data, stored.size);
        stored_bytes[(head[3] + 256u * head[4]) % stored.size] ^= head[2];
        file = stored_bytes;
        file_bytes = stored.size;
        struct pack_fetch fetch = { .ops = &ops, .fd = -1, .size_bytes = stored.size };
        struct pack_chunk chunk = { .filter_mask = stored.filter_mask,
                                    .stored_bytes = stored.size };
        map->stored_max_bytes = stored.size;
        if (decode(map, &fetch, &chunk, head) == PACK_OK && head[2] == 0)
            assert(memcmp(decoded, data, sizeof data) == 0);
        else
            assert(head[2] != 0);
    }
    pack_filter_ctx_free(ctx);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = { "gzip:1",         "zstd:1",
                                         "shuffle+gzip:1", "shuffle+zstd:1+fletcher32",
                                         "fletcher32",     "shuffle+gzip:1+zstd:1" };
    static char name[] = "fuzz.h5";
    struct pack_chunkmap map = { .file = { .name = name } };
    if (size <= HEAD_BYTES || !set_map(&map, texts[data[1] % 6]))
        return 0;
    file = data + HEAD_BYTES;
    file_bytes = size - HEAD_BYTES;
    if (data[0] & 2)
        read_encoded(&map, data);
    else
        read_any(&map, data);
    return 0;
}
