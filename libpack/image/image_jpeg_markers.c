/*
 * A walk over the markers of a JPEG, up to its first scan: size, kind, orientation.
 *
 * It follows Pillow's JpegImageFile._open(), so that what Pillow refuses for its
 * structure is refused here, before libjpeg has allocated anything.
 *
 *     FF D8   FF marker (1)  length (2)  data (length - 2)   FF marker ...   FF DA ...
 */
#include "libpack/image/image_parts.h"

#include <string.h>

#include "libpack/image/exif.h"

enum pack_status
pack_jpeg_damaged(const char *what, struct pack_error *err)
{
    return pack_fail(err, PACK_ERR_FORMAT, "damaged JPEG: %s", what);
}

enum {
    SOF0 = 0xC0,
    DHT = 0xC4,
    JPG = 0xC8,
    DAC = 0xCC,
    RST0 = 0xD0,
    EOI = 0xD9,
    SOS = 0xDA,
    DQT = 0xDB,
    DHP = 0xDE,
    APP1 = 0xE1,
    APP2 = 0xE2,
    JPG0 = 0xF0,
    COM = 0xFE
};

struct segment {
    int marker;
    const uint8_t *data;
    size_t size;
};

static bool
is_frame(int marker)
{
    return (marker >= SOF0 && marker < RST0 && marker != DHT && marker != JPG &&
            marker != DAC) ||
           marker == DHP;
}

static bool
has_segment(int marker)
{
    return marker != JPG && !(marker >= RST0 && marker <= EOI) &&
           !(marker >= JPG0 && marker < COM);
}

/*
 * The next segment from *at on. Bytes between segments that are no marker are passed
 * over, and so are markers that stand alone.
 */
static enum pack_status
next_segment(const uint8_t *data, size_t size, size_t *at, struct segment *segment,
             struct pack_error *err)
{
    for (;;) {
        const uint8_t *ff = *at < size ? memchr(data + *at, 0xFF, size - *at) : NULL;
        if (!ff || (size_t)(ff - data) + 1 >= size)
            return pack_jpeg_damaged("it ends before its pixels begin", err);
        size_t marker_at = (size_t)(ff - data) + 1;
        int marker = data[marker_at];
        *at = marker == 0xFF ? marker_at : marker_at + 1;
        if (marker == 0xFF || marker == 0)
            continue;
        if (marker < SOF0)
            return pack_fail(err, PACK_ERR_FORMAT,
                             "damaged JPEG: marker %02x among its headers", marker);
        if (!has_segment(marker))
            continue;
        if (size - *at < 2)
            return pack_jpeg_damaged("it ends before its pixels begin", err);
        size_t length = (size_t)data[*at] << 8 | data[*at + 1];
        length = length < 2 ? 2 : length;
        if (length > size - *at)
            return pack_jpeg_damaged("it ends before its pixels begin", err);
        *segment = (struct segment){ marker, data + *at + 2, length - 2 };
        *at += length;
        return PACK_OK;
    }
}

static enum pack_status
read_frame(const struct segment *s, struct pack_jpeg_headers *headers,
           struct pack_error *err)
{
    if (s->size < 6 || s->size % 3)
        return pack_jpeg_damaged("a frame header of a wrong length", err);
    if (s->data[0] != 8)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "JPEG images of %d bits are not read, only those of 8",
                         s->data[0]);
    headers->height = (uint32_t)s->data[1] << 8 | s->data[2];
    headers->width = (uint32_t)s->data[3] << 8 | s->data[4];
    headers->components = s->data[5];
    if (headers->components != 1 && headers->components != 3 && headers->components != 4)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "JPEG images of %d components are not read, only of 1, 3 and 4",
                         headers->components);
    headers->progressive = (s->marker & 3) == 2;
    return PACK_OK;
}

/* Tables of 64 values of one or two bytes, each behind a byte that says so. */
static enum pack_status
check_quantization(const struct segment *s, struct pack_error *err)
{
    for (size_t at = 0; at < s->size;) {
        size_t bytes = s->data[at] >> 4 ? 129 : 65;
        if (bytes > s->size - at)
            return pack_jpeg_damaged("a quantization table is cut short", err);
        at += bytes;
    }
    return PACK_OK;
}

static bool
starts_with(const struct segment *s, const char *text, size_t size)
{
    return s->size >= size && memcmp(s->data, text, size) == 0;
}

static enum pack_status
read_segment(const struct segment *s, struct pack_jpeg_headers *headers,
             struct pack_error *err)
{
    if (is_frame(s->marker))
        return read_frame(s, headers, err);
    if (s->marker == DQT)
        return check_quantization(s, err);
    if (s->marker == APP1 && !headers->orientation && starts_with(s, "Exif", 5)) {
        headers->orientation = 1; /* the first Exif segment counts, whatever it holds */
        pack_exif_orientation(s->data, s->size, &headers->orientation);
    }
    if (s->marker == APP2 && starts_with(s, "ICC_PROFILE", 12))
        headers->has_icc = true;
    if (s->marker == SOS)
        headers->scan_components = s->size ? s->data[0] : 0;
    return PACK_OK;
}

enum pack_status
pack_jpeg_scan(const uint8_t *data, size_t size, struct pack_jpeg_headers *headers,
               struct pack_error *err)
{
    struct segment segment = { 0 };
    size_t at = 2; /* the second marker's FF, which is part of the signature */
    *headers = (struct pack_jpeg_headers){ 0 };
    while (segment.marker != SOS) {
        enum pack_status status = next_segment(data, size, &at, &segment, err);
        if (!status)
            status = read_segment(&segment, headers, err);
        if (status)
            return status;
    }
    if (!headers->components)
        return pack_jpeg_damaged("its pixels begin without a frame header", err);
    if (!headers->width || !headers->height)
        return pack_fail(err, PACK_ERR_FORMAT, "damaged JPEG: an image of %ux%u pixels",
                         headers->width, headers->height);
    return PACK_OK;
}
