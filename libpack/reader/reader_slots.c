/*
 * Slot i lies in block i / per_block. Blocks are given back from the last on: what is left
 * are the first slots.
 */
#include "libpack/reader/reader_parts.h"

#include <stdlib.h>

static uint64_t
blocks_of(const struct pack_slots *slots, uint64_t n)
{
    return n ? (n - 1) / slots->per_block + 1 : 0;
}

static uint64_t
block_bytes(const struct pack_slots *slots, size_t block)
{
    uint64_t first = block * slots->per_block, n = slots->n_all - first;
    return (n < slots->per_block ? n : slots->per_block) * slots->chunk_bytes;
}

enum pack_status
pack_slots_new(struct pack_slots *slots, uint64_t n, uint64_t chunk_bytes,
               struct pack_error *err)
{
    *slots =
        (struct pack_slots){ .n_all = n,
                             .per_block = (n + PACK_SLOTS_BLOCKS - 1) / PACK_SLOTS_BLOCKS,
                             .chunk_bytes = chunk_bytes };
    size_t n_blocks = (size_t)blocks_of(slots, n);
    for (; slots->n_blocks < n_blocks; slots->n_blocks++) {
        unsigned char *block = malloc(block_bytes(slots, slots->n_blocks));
        if (!block)
            return pack_fail_memory(err, "decoded chunks");
        slots->block[slots->n_blocks] = block;
    }
    return PACK_OK;
}

void
pack_slots_done(struct pack_slots *slots)
{
    while (slots->n_blocks > 0)
        free(slots->block[--slots->n_blocks]);
}

unsigned char *
pack_slots_at(const struct pack_slots *slots, uint64_t slot)
{
    return slots->block[slot / slots->per_block] +
           slot % slots->per_block * slots->chunk_bytes;
}

uint64_t
pack_slots_free(struct pack_slots *slots, uint64_t n)
{
    uint64_t bytes = 0;
    for (size_t left = (size_t)blocks_of(slots, n); slots->n_blocks > left;) {
        bytes += block_bytes(slots, --slots->n_blocks);
        free(slots->block[slots->n_blocks]);
    }
    return bytes;
}

uint64_t
pack_slots_without(const struct pack_slots *slots, uint64_t *bytes)
{
    uint64_t freed = 0;
    size_t n = slots->n_blocks;
    while (n > 0 && freed < *bytes)
        freed += block_bytes(slots, --n);
    *bytes = freed;
    return n * slots->per_block;
}
