/*
 *     version 0, 1   signature 8, versions, size of offsets at 13, flags at 20 (24: version 1
 *                    has 4 more), then offsets: base, free space, end of file, driver
 *     version 2, 3   signature 8, version, size of offsets, size of lengths, flags, then
 *                    offsets: base, extension, end of file
 */
#include "libpack/hdf5/superblock.h"

#include <string.h>
#include <unistd.h>

static const unsigned char signature[] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };

/* Offsets are of 2, 4, 8 bytes or more, of which eight are looked at. */
static uint64_t
number(const unsigned char *bytes, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = size < 8 ? size : 8; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}

static uint64_t
undefined(unsigned size)
{
    return size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
}

/* Versions 0 and 1, which have no flags that tell of a writer. */
static void
parse_old(const unsigned char *bytes, struct pack_superblock *s)
{
    unsigned size = bytes[13];
    const unsigned char *at = bytes + (s->version == 1 ? 28 : 24);
    s->end_bytes = number(at + 2 * size, size);
    s->has_driver = number(at + 3 * size, size) != undefined(size);
}

static void
parse_new(const unsigned char *bytes, struct pack_superblock *s)
{
    enum { MARKED_WRITE = 1, MARKED_SWMR = 4 };
    unsigned size = bytes[9];
    s->is_marked_open = (bytes[11] & (MARKED_WRITE | MARKED_SWMR)) != 0;
    s->end_bytes = number(bytes + 12 + 2 * size, size);
}

bool
pack_superblock_parse(const unsigned char bytes[PACK_SUPERBLOCK_BYTES], uint64_t start,
                      struct pack_superblock *out)
{
    struct pack_superblock s = { .version = bytes[8], .start_bytes = start };
    if (memcmp(bytes, signature, sizeof signature) != 0 || s.version > 3)
        return false;
    unsigned size = bytes[s.version < 2 ? 13 : 9];
    if (size != 2 && size != 4 && size != 8 && size != 16)
        return false;
    if (s.version < 2)
        parse_old(bytes, &s);
    else
        parse_new(bytes, &s);
    if (s.end_bytes == undefined(size))
        s.end_bytes = 0;
    *out = s;
    return true;
}

bool
pack_superblock_find(int fd, uint64_t size, struct pack_superblock *superblock)
{
    unsigned char bytes[PACK_SUPERBLOCK_BYTES];
    for (uint64_t start = 0; start < size && start <= INT64_MAX / 4;
         start = start ? 2 * start : 512) {
        memset(bytes, 0, sizeof bytes);
        if (pread(fd, bytes, sizeof bytes, (off_t)start) <= 0)
            return false;
        if (pack_superblock_parse(bytes, start, superblock))
            return true;
    }
    return false;
}
