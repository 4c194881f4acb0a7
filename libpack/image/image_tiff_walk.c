/*
 * The first directory of a TIFF, entry by entry, before libtiff sees it: libtiff keeps the
 * values of all tags, known to it or not, wherever they lie. A small file whose tags all
 * point at the same bytes would take any amount of memory so; no file that is whole holds
 * less than its tags do.
 *
 *     II 42 ─▶ directory: n ( tag type count value )...
 *                                            └─▶ where there is no room in it: the values
 */
#include "libpack/image/image_tiff.h"

#include "libpack/base/size.h"

enum { ENTRY_MAX = 20, ENTRIES_MAX = 65535 };

/* What libtiff makes of an entry and of its tag, at most. */
static const uint64_t ENTRY_BYTES = 256;

/* Values that it converts, to 8 bytes at most, have their number in 16 bits. */
static const uint64_t CONVERTED_MAX = 65535;

struct walk {
    const struct pack_image_reader *reader;
    bool is_big, is_msb;
    uint64_t stored_bytes;          /* by values that lie outside of the directory */
    uint64_t kept_bytes, most_bytes; /* in memory: all values; one, while it is read */
    /* as the tags have them; 0 where they have not */
    uint64_t width, height, strip_rows, tile_width, tile_height, n_samples, planar, depth;
};

static uint64_t
number(const struct walk *w, const uint8_t *at, int n)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | at[w->is_msb ? i : n - 1 - i];
    return value;
}

static enum pack_status
get(const struct walk *w, uint64_t at, void *to, size_t n, struct pack_error *err)
{
    return w->reader->read_at(w->reader->context, to, n, at) == n
               ? PACK_OK
               : pack_fail(err, PACK_ERR_FORMAT,
                           "damaged TIFF: the file ends before the image does");
}

/* Bytes of a value of this type; 0 for what is none. */
static uint64_t
type_bytes(uint64_t type)
{
    static const uint8_t bytes[] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8 };
    return type < sizeof bytes ? bytes[type] : 0;
}

static uint64_t *
measure_of(struct walk *w, uint64_t tag)
{
    switch (tag) {
    case TIFFTAG_IMAGEWIDTH: return &w->width;
    case TIFFTAG_IMAGELENGTH: return &w->height;
    case TIFFTAG_ROWSPERSTRIP: return &w->strip_rows;
    case TIFFTAG_TILEWIDTH: return &w->tile_width;
    case TIFFTAG_TILELENGTH: return &w->tile_height;
    case TIFFTAG_SAMPLESPERPIXEL: return &w->n_samples;
    case TIFFTAG_PLANARCONFIG: return &w->planar;
    case TIFFTAG_IMAGEDEPTH: return &w->depth;
    default: return NULL;
    }
}

static bool
is_part_list(uint64_t tag)
{
    return tag == TIFFTAG_STRIPOFFSETS || tag == TIFFTAG_STRIPBYTECOUNTS ||
           tag == TIFFTAG_TILEOFFSETS || tag == TIFFTAG_TILEBYTECOUNTS;
}

/* Lists of strips are counted once it is known how many there are. */
static enum pack_status
count_values(struct walk *w, uint64_t tag, uint64_t count, uint64_t bytes,
             struct pack_error *err)
{
    uint64_t converted = 8 * (count < CONVERTED_MAX ? count : CONVERTED_MAX);
    uint64_t kept = is_part_list(tag) ? 0 : bytes > converted ? bytes : converted;
    if (!pack_size_add(w->stored_bytes, bytes, &w->stored_bytes) ||
        w->stored_bytes > w->reader->size)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged TIFF: its tags hold more than the file does");
    w->kept_bytes += kept;
    if (bytes + kept > w->most_bytes)
        w->most_bytes = bytes + kept;
    return PACK_OK;
}

static enum pack_status
walk_entry(struct walk *w, const uint8_t *entry, struct pack_error *err)
{
    uint64_t tag = number(w, entry, 2), size = type_bytes(number(w, entry + 2, 2));
    uint64_t count = number(w, entry + 4, w->is_big ? 8 : 4);
    const uint8_t *value = entry + (w->is_big ? 12 : 8);
    uint64_t room = w->is_big ? 8 : 4, bytes;
    uint64_t *measure = measure_of(w, tag);
    uint8_t apart[8];
    if (!pack_size_mul(count, size, &bytes))
        bytes = UINT64_MAX;
    if (bytes > room) {
        enum pack_status status = count_values(w, tag, count, bytes, err);
        if (status == PACK_OK && measure && count == 1)
            status = get(w, number(w, value, (int)room), apart, (size_t)size, err);
        if (status != PACK_OK)
            return status;
        value = apart;
    }
    if (measure && *measure == 0 && count == 1 && size)
        *measure = number(w, value, (int)size);
    return PACK_OK;
}

static enum pack_status
walk_directory(struct walk *w, uint64_t *n_entries, struct pack_error *err)
{
    uint8_t head[16], entry[ENTRY_MAX];
    enum pack_status status = get(w, 0, head, 8, err);
    w->is_msb = head[0] == 'M';
    w->is_big = status == PACK_OK && number(w, head + 2, 2) == 43;
    if (status == PACK_OK && w->is_big)
        status = get(w, 8, head + 8, 8, err);
    if (status != PACK_OK)
        return status;
    uint64_t at = w->is_big ? number(w, head + 8, 8) : number(w, head + 4, 4);
    int word = w->is_big ? 8 : 2;
    status = get(w, at, head, (size_t)word, err);
    if (status != PACK_OK)
        return status;
    *n_entries = number(w, head, word);
    if (*n_entries > ENTRIES_MAX)
        return pack_fail(err, PACK_ERR_FORMAT, "damaged TIFF: it has too many tags");
    at += (uint64_t)word;
    for (uint64_t i = 0; i < *n_entries && status == PACK_OK; i++) {
        size_t bytes = w->is_big ? 20 : 12;
        status = get(w, at + i * bytes, entry, bytes, err);
        if (status == PACK_OK)
            status = walk_entry(w, entry, err);
    }
    return status;
}

static uint64_t
parts(uint64_t extent, uint64_t of)
{
    return of ? extent / of + (extent % of != 0) : 1;
}

/* Strips or tiles, of each of which libtiff keeps where it is and how long. */
static uint64_t
n_parts(const struct walk *w)
{
    bool is_tiled = w->tile_width || w->tile_height;
    uint64_t n = is_tiled ? parts(w->width, w->tile_width) : 1;
    if (!pack_size_mul(n, parts(w->height, is_tiled ? w->tile_height : w->strip_rows), &n) ||
        !pack_size_mul(n, w->planar == PLANARCONFIG_SEPARATE ? w->n_samples : 1, &n))
        return UINT64_MAX;
    return n;
}

enum pack_status
pack_tiff_walk(const struct pack_image_reader *reader,
               const struct pack_image_params *params, uint64_t *bytes,
               struct pack_error *err)
{
    struct walk w = { .reader = reader };
    uint64_t n_entries, part_bytes;
    enum pack_status status = walk_directory(&w, &n_entries, err);
    if (status == PACK_OK)
        status = pack_image_check_size(w.width, w.height, params, err);
    if (status != PACK_OK)
        return status;
    if (w.depth > 1)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "a TIFF of a volume is not read");
    uint64_t n = n_parts(&w);
    if (n > reader->size && !reader->is_beginning) /* each is in a list, with a byte at least */
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged TIFF: it has more strips or tiles than bytes");
    if (!pack_size_mul(n, 2 * sizeof(uint64_t), &part_bytes) ||
        !pack_size_add(part_bytes, w.kept_bytes + w.most_bytes + n_entries * ENTRY_BYTES,
                       bytes))
        *bytes = UINT64_MAX;
    return PACK_OK;
}
