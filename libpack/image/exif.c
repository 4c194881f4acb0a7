/*
 * A TIFF directory is a count and as many entries of 12 bytes:
 *
 *     tag (2)  type (2)  count (4)  the values, or their offset when over 4 bytes (4)
 *
 * Only the orientation's value is looked at, but an entry whose values lie outside the
 * data ends the walk, as it does in Pillow.
 */
#include "libpack/image/exif.h"

#include <string.h>

enum { TAG_ORIENTATION = 274, ENTRY_BYTES = 12 };

struct tiff {
    const uint8_t *data;
    size_t size;
    bool big_endian;
};

enum value_kind {
    UNKNOWN = 0,
    OPAQUE,
    UNSIGNED,
    SIGNED,
    FLOATING,
    RATIONAL,
    SIGNED_RATIONAL
};

/* TIFF types by number. */
static const struct {
    uint8_t bytes;
    uint8_t kind;
} types[] = {
    [1] = { 1, OPAQUE },           [2] = { 1, OPAQUE },    [3] = { 2, UNSIGNED },
    [4] = { 4, UNSIGNED },         [5] = { 8, RATIONAL },  [6] = { 1, SIGNED },
    [7] = { 1, OPAQUE },           [8] = { 2, SIGNED },    [9] = { 4, SIGNED },
    [10] = { 8, SIGNED_RATIONAL }, [11] = { 4, FLOATING }, [12] = { 8, FLOATING },
    [13] = { 4, UNSIGNED },        [16] = { 8, UNSIGNED },
};

/* An unsigned number of `bytes` bytes. */
static uint64_t
number(const struct tiff *tiff, const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | p[tiff->big_endian ? i : bytes - 1 - i];
    return value;
}

static int64_t
signed_number(const struct tiff *tiff, const uint8_t *p, int bytes)
{
    int shift = 64 - 8 * bytes;
    return (int64_t)(number(tiff, p, bytes) << shift) >> shift;
}

static double
floating(const struct tiff *tiff, const uint8_t *p, int bytes)
{
    uint64_t bits = number(tiff, p, bytes);
    if (bytes == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The first value as an orientation; 1 where it is none. */
static int
orientation_of(const struct tiff *tiff, int type, const uint8_t *p)
{
    int bytes = types[type].bytes;
    double value = 0;
    switch ((enum value_kind)types[type].kind) {
    case UNSIGNED: value = (double)number(tiff, p, bytes); break;
    case SIGNED: value = (double)signed_number(tiff, p, bytes); break;
    case FLOATING: value = floating(tiff, p, bytes); break;
    case RATIONAL:
        value = (double)number(tiff, p, 4) / (double)number(tiff, p + 4, 4);
        break;
    case SIGNED_RATIONAL:
        value = (double)signed_number(tiff, p, 4) / (double)signed_number(tiff, p + 4, 4);
        break;
    case UNKNOWN:
    case OPAQUE: break;
    }
    for (int orientation = 2; orientation <= 8; orientation++)
        if (value == orientation)
            return orientation;
    return 1;
}

static bool
open_tiff(struct tiff *tiff)
{
    static const char magic[5][4] = {
        { 'M', 'M', 0, 42 }, { 'I', 'I', 42, 0 }, { 'M', 'M', 42, 0 },
        { 'I', 'I', 0, 42 }, { 'M', 'M', 0, 43 },
    };
    if (tiff->size < 8)
        return false;
    tiff->big_endian = tiff->data[0] == 'M';
    for (int i = 0; i < 5; i++)
        if (memcmp(tiff->data, magic[i], 4) == 0)
            return true;
    return false;
}

/* The values of an entry, NULL when they lie outside the data. */
static const uint8_t *
entry_values(const struct tiff *tiff, const uint8_t *entry, uint64_t bytes)
{
    if (bytes <= 4)
        return entry + 8;
    uint64_t offset = number(tiff, entry + 8, 4);
    if (offset > tiff->size || bytes > tiff->size - offset)
        return NULL;
    return tiff->data + offset;
}

bool
pack_exif_orientation(const void *data, size_t size, int *orientation)
{
    struct tiff tiff = { .data = data, .size = size };
    if (size >= 6 && memcmp(data, "Exif\0\0", 6) == 0) {
        tiff.data += 6;
        tiff.size -= 6;
    }
    if (!open_tiff(&tiff))
        return false;
    uint64_t at = number(&tiff, tiff.data + 4, 4);
    if (at > tiff.size || tiff.size - at < 2)
        return false;
    uint64_t n = number(&tiff, tiff.data + at, 2);
    bool found = false;
    at += 2;
    for (; n && tiff.size - at >= ENTRY_BYTES; n--, at += ENTRY_BYTES) {
        const uint8_t *entry = tiff.data + at;
        uint64_t type = number(&tiff, entry + 2, 2);
        if (type >= sizeof types / sizeof types[0] || types[type].kind == UNKNOWN)
            continue;
        uint64_t bytes = number(&tiff, entry + 4, 4) * types[type].bytes;
        const uint8_t *values = entry_values(&tiff, entry, bytes);
        if (!values)
            break;
        if (bytes && number(&tiff, entry, 2) == TAG_ORIENTATION) {
            *orientation = orientation_of(&tiff, (int)type, values);
            found = true;
        }
    }
    return found;
}

bool
pack_exif_xmp_orientation(const void *data, size_t size, int *orientation)
{
    static const char name[] = "tiff:Orientation";
    const char *p = data, *end = p + size;
    while ((p = memmem(p, (size_t)(end - p), name, sizeof name - 1))) {
        p += sizeof name - 1;
        const char *value = end - p >= 2 && p[0] == '>'                  ? p + 1
                            : end - p >= 3 && p[0] == '=' && p[1] == '"' ? p + 2
                                                                         : NULL;
        if (value && *value >= '0' && *value <= '9') {
            *orientation = *value >= '2' && *value <= '8' ? *value - '0' : 1;
            return true;
        }
    }
    return false;
}
