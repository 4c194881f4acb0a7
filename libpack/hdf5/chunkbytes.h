/* The bytes of a chunk on their way through its filters. */
#ifndef LIBPACK_CHUNKBYTES_H
#define LIBPACK_CHUNKBYTES_H

#include <stddef.h>

/* Between two stages of a pipeline. */
struct pack_block {
    const unsigned char *data;
    size_t size;
};

/* Where a stage may put its output. */
struct pack_block_room {
    unsigned char *data;
    size_t capacity;
};

#endif
