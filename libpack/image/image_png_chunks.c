/*
 * A walk over the chunks of a PNG: header, orientation, and what is merely counted.
 *
 * libpng is told to skip every ancillary chunk but tRNS; what is wanted of them is read
 * here, where Pillow's rules can be followed to the letter: which of several texts wins,
 * that a chunk behind the pixels counts only when none stood before them, and that a
 * compressed text which grows beyond 1 MiB condemns the file. Chunks with a wrong
 * checksum are passed over; for the critical ones libpng refuses the file later.
 *
 *     signature (8)   length (4)  type (4)  data (length)  checksum (4)   length ...
 */
#include "libpack/image/image_parts.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "libpack/image/exif.h"
#include "libpack/base/utf8.h"

enum {
    SIGNATURE_BYTES = 8,
    IHDR_BYTES = 13,
    TEXT_MAX = 1024 * 1024,      /* of one decompressed text, as in Pillow */
    TEXTS_MAX = 64 * 1024 * 1024 /* of all texts together */
};

struct chunk {
    const uint8_t *type;
    const uint8_t *data;
    uint32_t size;
};

/* A piece of metadata: either inside the file or, decompressed, on the heap. */
struct text {
    const uint8_t *data;
    uint8_t *owned;
    size_t size;
};

/* The three places in which an orientation may stand; the last of each kind counts. */
struct metadata {
    struct text exif, raw_exif, xmp;
    size_t text_bytes;
};

struct walk {
    const uint8_t *data;
    size_t size, at;
    struct metadata metadata;
    struct pack_png_facts *facts;
    const struct pack_image_params *params;
    bool seen_pixels;
    struct pack_error *err;
};

static uint32_t
big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool
is(const struct chunk *chunk, const char *type)
{
    return memcmp(chunk->type, type, 4) == 0;
}

/* The chunk at the walk's position, and past it; false where none fits. */
static bool
next_chunk(struct walk *walk, struct chunk *chunk)
{
    if (walk->size - walk->at < 12)
        return false;
    const uint8_t *p = walk->data + walk->at;
    chunk->size = big_endian(p);
    chunk->type = p + 4;
    chunk->data = p + 8;
    if (chunk->size > walk->size - walk->at - 12)
        return false;
    walk->at += (size_t)chunk->size + 12;
    return true;
}

static bool
is_intact(const struct chunk *chunk)
{
    return crc32(crc32(0, Z_NULL, 0), chunk->type, chunk->size + 4) ==
           big_endian(chunk->data + chunk->size);
}

/* -------------------------------------------------------------------- header */

static bool
is_depth_allowed(int color_type, int depth)
{
    static const uint32_t depths[7] = {
        [0] = 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8 | 1u << 16,
        [2] = 1u << 8 | 1u << 16,
        [3] = 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8,
        [4] = 1u << 8 | 1u << 16,
        [6] = 1u << 8 | 1u << 16,
    };
    return color_type < 7 && depth <= 16 && depths[color_type] >> depth & 1;
}

static enum pack_status
read_header(struct walk *walk)
{
    struct chunk chunk;
    if (!next_chunk(walk, &chunk))
        return pack_fail(walk->err, PACK_ERR_FORMAT, "damaged PNG: ends in its header");
    if (!is(&chunk, "IHDR") || chunk.size != IHDR_BYTES)
        return pack_fail(walk->err, PACK_ERR_FORMAT,
                         "damaged PNG: does not begin with an image header");
    if (!is_intact(&chunk))
        return pack_fail(walk->err, PACK_ERR_FORMAT,
                         "damaged PNG: wrong checksum of the image header");
    struct pack_png_facts *facts = walk->facts;
    const uint8_t *p = chunk.data;
    facts->width = big_endian(p);
    facts->height = big_endian(p + 4);
    facts->depth = p[8];
    facts->color_type = p[9];
    facts->interlaced = p[12] == 1;
    if (!is_depth_allowed(p[9], p[8]))
        return pack_fail(walk->err, PACK_ERR_FORMAT,
                         "damaged PNG: colour type %d with %d bits does not exist", p[9],
                         p[8]);
    if (p[10] || p[11] || p[12] > 1)
        return pack_fail(
            walk->err, PACK_ERR_FORMAT,
            "damaged PNG: compression, filter or interlace method %d, %d, %d", p[10],
            p[11], p[12]);
    if (!facts->width || !facts->height || facts->width > INT32_MAX ||
        facts->height > INT32_MAX)
        return pack_fail(walk->err, PACK_ERR_FORMAT,
                         "damaged PNG: an image of %ux%u pixels", facts->width,
                         facts->height);
    return pack_image_check_size(facts->width, facts->height, walk->params, walk->err);
}

/* --------------------------------------------------------------------- texts */

static void
text_set(struct text *text, const uint8_t *data, uint8_t *owned, size_t size)
{
    free(text->owned);
    *text = (struct text){ data, owned, size };
}

/* Splits off the front of *rest up to a zero byte; false where there is none. */
static bool
split(struct text *rest, struct text *front)
{
    const uint8_t *end = rest->size ? memchr(rest->data, 0, rest->size) : NULL;
    if (!end)
        return false;
    *front = (struct text){ .data = rest->data, .size = (size_t)(end - rest->data) };
    rest->data = end + 1;
    rest->size -= front->size + 1;
    return true;
}

/*
 * Decompresses a text of at most TEXT_MAX bytes. A damaged stream gives *text with no
 * data at all, as in Pillow; one that merely ends early gives what it held.
 */
static enum pack_status
inflate_text(const struct text *packed, struct text *text, struct pack_error *err)
{
    z_stream stream = { .next_in = (Bytef *)packed->data,
                        .avail_in = (uInt)packed->size };
    *text = (struct text){ 0 };
    uint8_t *out = malloc(TEXT_MAX);
    if (!out)
        return pack_fail_memory(err, "a text chunk of a PNG");
    int rc = inflateInit(&stream);
    if (rc != Z_OK) {
        free(out);
        return pack_fail_memory(err, "a text chunk of a PNG");
    }
    stream.next_out = out;
    stream.avail_out = TEXT_MAX;
    rc = inflate(&stream, Z_SYNC_FLUSH);
    bool too_long = rc == Z_OK && !stream.avail_out && stream.avail_in;
    size_t size = TEXT_MAX - stream.avail_out;
    inflateEnd(&stream);
    if (rc == Z_MEM_ERROR || too_long ||
        (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)) {
        free(out);
        if (rc == Z_MEM_ERROR)
            return pack_fail_memory(err, "a text chunk of a PNG");
        return too_long ? pack_fail(err, PACK_ERR_LIMIT,
                                    "a compressed text in the PNG is longer than 1 MiB")
                        : PACK_OK;
    }
    *text = (struct text){ out, out, size };
    return PACK_OK;
}

static bool
key_is(const struct text *key, const char *name)
{
    return key->size == strlen(name) && memcmp(key->data, name, key->size) == 0;
}

/* Files a text under its key; takes over what it owns. */
static enum pack_status
keep_text(struct walk *walk, const struct chunk *chunk, const struct text *key,
          const struct text *text)
{
    struct metadata *m = &walk->metadata;
    struct text *place = NULL;
    m->text_bytes += text->size;
    if (key_is(key, "XML:com.adobe.xmp"))
        place = &m->xmp;
    else if (key_is(key, "Raw profile type exif"))
        place = &m->raw_exif;
    else if (key_is(key, "exif") && is(chunk, "tEXt"))
        place = &m->exif;
    if (place)
        text_set(place, text->data, text->owned, text->size);
    else
        free(text->owned);
    if (m->text_bytes > TEXTS_MAX)
        return pack_fail(walk->err, PACK_ERR_LIMIT,
                         "the texts in the PNG are longer than 64 MiB");
    return PACK_OK;
}

static enum pack_status
read_text(struct walk *walk, const struct chunk *chunk)
{
    struct text key, rest = { .data = chunk->data, .size = chunk->size };
    if (!split(&rest, &key))
        return PACK_OK;
    return keep_text(walk, chunk, &key, &rest);
}

static enum pack_status
read_ztxt(struct walk *walk, const struct chunk *chunk)
{
    struct text key, text, rest = { .data = chunk->data, .size = chunk->size };
    if (!split(&rest, &key) || !rest.size || rest.data[0] != 0)
        return PACK_OK;
    rest.data++;
    rest.size--;
    enum pack_status status = inflate_text(&rest, &text, walk->err);
    return status ? status : keep_text(walk, chunk, &key, &text);
}

/* key, 0, compressed, method, language, 0, translated key, 0, UTF-8 text */
static enum pack_status
read_itxt(struct walk *walk, const struct chunk *chunk)
{
    struct text key, language, translated,
        rest = { .data = chunk->data, .size = chunk->size };
    if (!split(&rest, &key) || rest.size < 2)
        return PACK_OK;
    bool compressed = rest.data[0] != 0, deflated = rest.data[1] == 0;
    rest.data += 2;
    rest.size -= 2;
    if (!split(&rest, &language) || !split(&rest, &translated) ||
        (compressed && !deflated))
        return PACK_OK;
    struct text text = rest;
    if (compressed) {
        enum pack_status status = inflate_text(&rest, &text, walk->err);
        if (status || !text.data)
            return status;
    }
    if (!pack_utf8_valid((const char *)language.data, language.size) ||
        !pack_utf8_valid((const char *)translated.data, translated.size) ||
        !pack_utf8_valid((const char *)text.data, text.size)) {
        free(text.owned);
        return PACK_OK;
    }
    return keep_text(walk, chunk, &key, &text);
}

static enum pack_status
read_exif(struct walk *walk, const struct chunk *chunk)
{
    text_set(&walk->metadata.exif, chunk->data, NULL, chunk->size);
    return PACK_OK;
}

/* --------------------------------------------------------------------- flags */

static enum pack_status
read_trns(struct walk *walk, const struct chunk *chunk)
{
    walk->facts->has_trns = chunk->size > 0;
    return PACK_OK;
}

static enum pack_status
read_icc(struct walk *walk, const struct chunk *chunk)
{
    (void)chunk;
    walk->facts->has_icc = true;
    return PACK_OK;
}

static enum pack_status
read_animation(struct walk *walk, const struct chunk *chunk)
{
    walk->facts->animated |=
        !walk->seen_pixels && chunk->size >= 8 && big_endian(chunk->data) > 1;
    return PACK_OK;
}

static const struct {
    char type[4];
    enum pack_status (*read)(struct walk *walk, const struct chunk *chunk);
} readers[] = {
    { { 't', 'E', 'X', 't' }, read_text },      { { 'z', 'T', 'X', 't' }, read_ztxt },
    { { 'i', 'T', 'X', 't' }, read_itxt },      { { 'e', 'X', 'I', 'f' }, read_exif },
    { { 't', 'R', 'N', 'S' }, read_trns },      { { 'i', 'C', 'C', 'P' }, read_icc },
    { { 'a', 'c', 'T', 'L' }, read_animation },
};

static enum pack_status
read_chunk(struct walk *walk, const struct chunk *chunk)
{
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (memcmp(chunk->type, readers[i].type, 4) == 0)
            return is_intact(chunk) ? readers[i].read(walk, chunk) : PACK_OK;
    return PACK_OK;
}

/* --------------------------------------------------------------- orientation */

static int
hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* ImageMagick's text: three lines of heading, then hexadecimal digits. */
static enum pack_status
raw_profile_orientation(const struct text *text, int *orientation, struct pack_error *err)
{
    const uint8_t *p = text->data, *end = p + text->size;
    for (int line = 0; line < 3; line++) {
        p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (!p)
            return PACK_OK;
        p++;
    }
    uint8_t *bytes = malloc((size_t)(end - p) / 2 + 1);
    if (!bytes)
        return pack_fail_memory(err, "a text chunk of a PNG");
    size_t n = 0;
    int high = -1;
    bool good = true;
    for (; good && p < end; p++) {
        if (*p == '\n' || (high < 0 && strchr(" \t\r\v\f", *p) && *p))
            continue;
        int digit = hex_digit(*p);
        good = digit >= 0;
        if (high < 0)
            high = digit;
        else {
            bytes[n++] = (uint8_t)(high << 4 | digit);
            high = -1;
        }
    }
    if (good && high < 0)
        pack_exif_orientation(bytes, n, orientation);
    free(bytes);
    return PACK_OK;
}

/* EXIF before XMP, as Image.getexif(). */
static enum pack_status
read_orientation(struct walk *walk)
{
    const struct metadata *m = &walk->metadata;
    int orientation = 0;
    enum pack_status status = PACK_OK;
    if (m->exif.data)
        pack_exif_orientation(m->exif.data, m->exif.size, &orientation);
    else if (m->raw_exif.data)
        status = raw_profile_orientation(&m->raw_exif, &orientation, walk->err);
    if (!orientation && m->xmp.data)
        pack_exif_xmp_orientation(m->xmp.data, m->xmp.size, &orientation);
    walk->facts->orientation = orientation ? orientation : 1;
    return status;
}

/* ----------------------------------------------------------------- the walk */

/* Up to the pixels, and behind them unless EXIF data was found before; an animation's
 * second frame is the end. */
static enum pack_status
walk_chunks(struct walk *walk)
{
    enum pack_status status = read_header(walk);
    struct chunk chunk;
    bool is_there, ends = false;
    while (!status && !ends && (is_there = next_chunk(walk, &chunk))) {
        walk->seen_pixels |= is(&chunk, "IDAT");
        ends = is(&chunk, "IEND") ||
               (walk->seen_pixels && (walk->metadata.exif.data ||
                                      (is(&chunk, "fcTL") && walk->facts->animated)));
        if (!ends)
            status = read_chunk(walk, &chunk);
    }
    walk->facts->partial = !ends && !walk->metadata.exif.data;
    /* the pixels' chunk may reach beyond what is here */
    if (!status && !walk->seen_pixels &&
        (walk->size - walk->at < 8 || memcmp(walk->data + walk->at + 4, "IDAT", 4) != 0))
        return pack_fail(walk->err, PACK_ERR_FORMAT, "damaged PNG: has no pixels");
    return status ? status : read_orientation(walk);
}

enum pack_status
pack_png_walk(const uint8_t *data, size_t size, const struct pack_image_params *params,
              struct pack_png_facts *facts, struct pack_error *err)
{
    struct walk walk = { .data = data,
                         .size = size,
                         .at = SIGNATURE_BYTES,
                         .facts = facts,
                         .params = params,
                         .err = err };
    *facts = (struct pack_png_facts){ .orientation = 1 };
    enum pack_status status = walk_chunks(&walk);
    free(walk.metadata.exif.owned);
    free(walk.metadata.raw_exif.owned);
    free(walk.metadata.xmp.owned);
    return status;
}
