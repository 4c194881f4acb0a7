/* A chain of blocks, each twice the one before up to 1 MiB: little waste for a few texts,
 * few allocations for many. */
#include "libpack/base/arena.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20 };

struct pack_arena_block {
    struct pack_arena_block *next;
    size_t size, used;
    _Alignas(max_align_t) char bytes[];
};

static struct pack_arena_block *
new_block(struct pack_arena *arena, size_t least)
{
    struct pack_arena_block *last = arena->block;
    size_t size = !last                        ? BLOCK_MIN
                  : last->size < BLOCK_MAX / 2 ? 2 * last->size
                                               : BLOCK_MAX;
    if (size < least)
        size = least;
    if (size > SIZE_MAX - sizeof *last)
        return NULL;
    struct pack_arena_block *block = malloc(sizeof *block + size);
    if (block) {
        *block = (struct pack_arena_block){ .next = last, .size = size };
        arena->block = block;
    }
    return block;
}

char *
pack_arena_bytes(struct pack_arena *arena, size_t size)
{
    struct pack_arena_block *block = arena->block;
    if (!block || size > block->size - block->used)
        block = new_block(arena, size);
    if (!block)
        return NULL;
    char *bytes = block->bytes + block->used;
    block->used += size;
    return bytes;
}

void *
pack_arena_zeroed(struct pack_arena *arena, size_t size)
{
    enum { UNIT = _Alignof(max_align_t) };
    struct pack_arena_block *block = arena->block;
    if (block) {
        size_t used = (block->used + UNIT - 1) / UNIT * UNIT;
        block->used = used < block->size ? used : block->size;
    }
    char *bytes = pack_arena_bytes(arena, size);
    return bytes ? memset(bytes, 0, size) : NULL;
}

char *
pack_arena_text(struct pack_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = pack_arena_bytes(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

void
pack_arena_done(struct pack_arena *arena)
{
    for (struct pack_arena_block *block = arena->block, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->block = NULL;
}
