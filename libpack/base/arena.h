/* An arena: memory for texts and structs that are freed all at once. */
#ifndef LIBPACK_ARENA_H
#define LIBPACK_ARENA_H

#include <stddef.h>

/* Zeroed storage is an empty arena. */
struct pack_arena {
    struct pack_arena_block *block; /* the one being filled, then the full ones */
};

/* Room for `size` bytes without alignment; NULL when there is no memory. */
char *pack_arena_bytes(struct pack_arena *arena, size_t size);

/* The same, aligned for any struct, zeroed. */
void *pack_arena_zeroed(struct pack_arena *arena, size_t size);

/* A copy of `text`; NULL when there is no memory. */
char *pack_arena_text(struct pack_arena *arena, const char *text);
void pack_arena_done(struct pack_arena *arena);

#endif
