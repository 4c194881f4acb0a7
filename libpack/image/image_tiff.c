/*
 * TIFF pixels through libtiff, from memory. What the tags say is image_tiff_tags.c's.
 *
 *     strips or tiles ─▶ a band of rows as they are stored ─▶ native rows ─▶ upright
 *
 * libtiff undoes compression and byte order; what samples mean is decided here, since its
 * own conversion to RGB blends and scales where Pillow does not. Only YCbCr that is not
 * JPEG is left to it, as Pillow does. Its complaints come to callbacks of this one file
 * (libtiff 4.5), so that nothing is shared between threads and nothing is printed.
 */
#include "libpack/image/image_tiff.h"

#include <stdlib.h>
#include <string.h>

struct decoder {
    struct pack_tiff tiff;
    struct pack_image_rows rows;
    struct pack_image_info *info;
    struct pack_error *err;
    uint8_t *band;           /* rows as they are stored, plane behind plane */
    size_t row_bytes;        /* of a plane in it */
    size_t plane_bytes;      /* from plane to plane */
    uint32_t waiting, n_put; /* rows at rows.native that are not handed over; that are */
};

/* --------------------------------------------------------------- native rows */

static inline unsigned
sample_at(const uint8_t *row, size_t i, int depth)
{
    uint16_t wide;
    if (depth == 8)
        return row[i];
    if (depth == 16) {
        memcpy(&wide, row + 2 * i, sizeof wide);
        return wide;
    }
    size_t bit = i * (size_t)depth;
    return row[bit / 8] >> (8 - depth - (int)(bit % 8)) & ((1u << depth) - 1);
}

/* Pillow's unpackRGBa(): a colour that was multiplied with its alpha. */
static inline uint8_t
divided(unsigned color, unsigned alpha)
{
    unsigned value = alpha ? color * 255 / alpha : 0;
    return value > 255 ? 255 : (uint8_t)value;
}

/* A stored sample of so many bits as 8 bits, save for an index and what stays wide, which
 * a range as the file has it may be scaled from before white and black change places. */
static inline unsigned
leveled(const struct pack_tiff_tags *tags, unsigned value, bool stays_wide)
{
    unsigned max = (1u << tags->depth) - 1;
    if (stays_wide)
        return value;
    if (tags->photometric == PHOTOMETRIC_MINISWHITE ||
        tags->photometric == PHOTOMETRIC_SEPARATED)
        value = max - value;
    if (tags->depth < 8 && tags->photometric != PHOTOMETRIC_PALETTE)
        return value * (255 / max);
    return tags->depth == 16 ? value >> 8 : value;
}

static void
put_sample(uint8_t *to, size_t i, unsigned value, bool wide)
{
    uint16_t word = (uint16_t)value;
    if (wide)
        memcpy(to + 2 * i, &word, sizeof word);
    else
        to[i] = (uint8_t)value;
}

static void
convert_row(const struct decoder *d, const uint8_t *row, uint8_t *native)
{
    const struct pack_tiff_tags *tags = &d->tiff.tags;
    bool is_planar = tags->is_planar, wide = d->rows.wide;
    size_t n = tags->n_native, step = is_planar ? 1 : tags->n_samples;
    for (size_t x = 0; x < tags->width; x++, native += n * (wide ? 2 : 1)) {
        for (size_t c = 0; c < n; c++) {
            const uint8_t *plane = is_planar ? row + c * d->plane_bytes : row;
            size_t at = x * step + (is_planar ? 0 : c);
            put_sample(native, c, leveled(tags, sample_at(plane, at, tags->depth), wide),
                       wide);
        }
        for (size_t c = 0; tags->is_multiplied && c + 1 < n; c++)
            native[c] = divided(native[c], native[n - 1]);
    }
}

static void
hand_over(struct decoder *d)
{
    pack_image_rows_put(&d->rows, d->n_put, d->waiting, d->rows.native);
    d->n_put += d->waiting;
    d->waiting = 0;
}

/* Room for the next row. */
static uint8_t *
next_native(struct decoder *d)
{
    if (d->waiting == PACK_IMAGE_STRIP)
        hand_over(d);
    return d->rows.native + d->waiting++ * d->rows.native_stride;
}

static void
put_band(struct decoder *d, uint32_t n)
{
    for (uint32_t y = 0; y < n; y++)
        convert_row(d, d->band + y * d->row_bytes, next_native(d));
}

/* --------------------------------------------------------------------- bands */

/* Rows of the band that begins with row y. */
static uint32_t
band_height(const struct pack_tiff_tags *tags, uint32_t y)
{
    uint32_t left = tags->height - y;
    return left < tags->band_rows ? left : tags->band_rows;
}

static enum pack_status
read_strips(struct decoder *d)
{
    const struct pack_tiff_tags *tags = &d->tiff.tags;
    uint16_t n_planes = tags->is_planar ? tags->n_samples : 1;
    for (uint32_t y = 0; y < tags->height; y += tags->band_rows) {
        uint32_t n = band_height(tags, y);
        for (uint16_t plane = 0; plane < n_planes; plane++) {
            uint32_t strip = TIFFComputeStrip(d->tiff.tiff, y, plane);
            if (TIFFReadEncodedStrip(d->tiff.tiff, strip, d->band + plane * d->plane_bytes,
                                     (tmsize_t)(n * d->row_bytes)) < 0)
                return pack_tiff_fail(&d->tiff, d->err);
        }
        put_band(d, n);
    }
    return PACK_OK;
}

/* A tile's rows into their places in the band. */
static void
place_tile(struct decoder *d, const uint8_t *tile, size_t at, uint16_t plane, uint32_t n)
{
    size_t tile_row = d->tiff.tags.tile_row_bytes;
    size_t bytes = d->row_bytes - at < tile_row ? d->row_bytes - at : tile_row;
    for (uint32_t y = 0; y < n; y++)
        memcpy(d->band + plane * d->plane_bytes + y * d->row_bytes + at,
               tile + y * tile_row, bytes);
}

static enum pack_status
read_tiles(struct decoder *d, uint8_t *tile)
{
    const struct pack_tiff_tags *tags = &d->tiff.tags;
    uint16_t n_planes = tags->is_planar ? tags->n_samples : 1;
    for (uint32_t y = 0; y < tags->height; y += tags->band_rows) {
        uint32_t n = band_height(tags, y);
        for (uint16_t plane = 0; plane < n_planes; plane++)
            for (uint32_t x = 0, i = 0; x < tags->width; x += tags->tile_width, i++) {
                if (TIFFReadTile(d->tiff.tiff, tile, x, y, 0, plane) < 0)
                    return pack_tiff_fail(&d->tiff, d->err);
                place_tile(d, tile, i * tags->tile_row_bytes, plane, n);
            }
        put_band(d, n);
    }
    return PACK_OK;
}

/* YCbCr with its subsampling: libtiff's own way to RGB, band by band as in Pillow. */
static enum pack_status
read_ycbcr(struct decoder *d, uint32_t *raster)
{
    const struct pack_tiff_tags *tags = &d->tiff.tags;
    TIFFRGBAImage image;
    char message[1024] = "";
    enum pack_status status = PACK_OK;
    if (!TIFFRGBAImageOK(d->tiff.tiff, message) ||
        !TIFFRGBAImageBegin(&image, d->tiff.tiff, 1, message))
        return pack_fail(d->err, PACK_ERR_FORMAT, "damaged TIFF: %.200s", message);
    image.orientation = image.req_orientation = ORIENTATION_TOPLEFT;
    for (uint32_t y = 0; status == PACK_OK && y < tags->height; y += tags->band_rows) {
        uint32_t n = band_height(tags, y);
        image.row_offset = (int)y;
        if (!TIFFRGBAImageGet(&image, raster, tags->width, n))
            status = pack_tiff_fail(&d->tiff, d->err);
        for (uint32_t row = 0; status == PACK_OK && row < n; row++) {
            uint8_t *native = next_native(d);
            for (uint32_t x = 0; x < tags->width; x++, native += 3) {
                uint32_t pixel = raster[(size_t)row * tags->width + x];
                native[0] = (uint8_t)TIFFGetR(pixel);
                native[1] = (uint8_t)TIFFGetG(pixel);
                native[2] = (uint8_t)TIFFGetB(pixel);
            }
        }
    }
    TIFFRGBAImageEnd(&image);
    return status;
}

/* ------------------------------------------------------------------ decoding */

/* As in Pillow, the high byte of each. */
static void
set_palette(struct decoder *d)
{
    uint16_t *red, *green, *blue;
    int n = 1 << d->tiff.tags.depth;
    if (!TIFFGetField(d->tiff.tiff, TIFFTAG_COLORMAP, &red, &green, &blue))
        n = 0; /* not so: the tags were looked at */
    for (int i = 0; i < n; i++) {
        uint8_t rgb[3] = { (uint8_t)(red[i] >> 8), (uint8_t)(green[i] >> 8),
                           (uint8_t)(blue[i] >> 8) };
        pack_image_rows_color(&d->rows, i, rgb, 255);
    }
}

static enum pack_status
read_image(struct decoder *d)
{
    const struct pack_tiff_tags *tags = &d->tiff.tags;
    uint8_t *tile = NULL;
    enum pack_status status;
    if (tags->photometric == PHOTOMETRIC_PALETTE)
        set_palette(d);
    d->row_bytes = tags->row_bytes;
    d->plane_bytes = tags->row_bytes * tags->band_rows;
    d->band = calloc(1, (size_t)tags->band_bytes); /* damaged data may leave gaps */
    if (tags->is_tiled && d->band && !tags->is_ycbcr)
        tile = calloc(1, (size_t)tags->tile_bytes);
    if (!d->band || (tags->is_tiled && !tags->is_ycbcr && !tile))
        status = pack_fail_memory(d->err, "decoding a TIFF");
    else if (tags->is_ycbcr)
        status = read_ycbcr(d, (uint32_t *)(void *)d->band);
    else
        status = tile ? read_tiles(d, tile) : read_strips(d);
    if (status == PACK_OK)
        hand_over(d);
    free(tile);
    free(d->band);
    return status;
}

static enum pack_status
tiff_decode(const uint8_t *data, size_t size, const struct pack_image_params *params,
            struct pack_image *image, struct pack_image_info *info,
            struct pack_error *err)
{
    struct decoder d = { .rows = { .image = image }, .info = info, .err = err };
    struct pack_image_memory memory;
    pack_image_memory_init(&memory, data, size);
    enum pack_status status = pack_tiff_open(&d.tiff, &memory.reader, params, err);
    if (status != PACK_OK)
        return status;
    d.tiff.info = info;
    d.rows.samples = d.tiff.tags.samples;
    d.rows.wide = d.tiff.tags.stays_wide;
    d.rows.white_is_zero = d.tiff.tags.photometric == PHOTOMETRIC_MINISWHITE;
    status = pack_image_rows_begin(&d.rows, false, info, params, err);
    if (status == PACK_OK)
        status = read_image(&d);
    if (status == PACK_OK)
        pack_image_rows_end(&d.rows, info);
    pack_tiff_close(&d.tiff);
    return status;
}

static enum pack_status
tiff_probe_at(const struct pack_image_reader *reader,
              const struct pack_image_params *params, struct pack_image_info *info,
              struct pack_error *err)
{
    struct pack_tiff tiff = { 0 };
    enum pack_status status = pack_tiff_open(&tiff, reader, params, err);
    if (status != PACK_OK)
        return status;
    const struct pack_tiff_tags *tags = &tiff.tags;
    info->width = tags->width;
    info->height = tags->height;
    info->source_channels = tags->n_samples < 4 ? tags->n_samples : 4;
    info->source_depth = tags->depth;
    info->has_icc = tags->has_icc;
    info->has_alpha = tags->has_alpha;
    info->animated = tags->has_more;
    info->decoder_bytes =
        pack_tiff_bytes(tags) +
        pack_image_rows_bytes(tags->width, tags->height, tags->stays_wide ? 8 : 4, false);
    pack_image_info_turn(info, tags->orientation, params);
    pack_tiff_close(&tiff);
    return PACK_OK;
}

static enum pack_status
tiff_probe(const uint8_t *data, size_t size, const struct pack_image_params *params,
           struct pack_image_info *info, struct pack_error *err)
{
    struct pack_image_memory memory;
    pack_image_memory_init(&memory, data, size);
    return tiff_probe_at(&memory.reader, params, info, err);
}

/* Canon's raw files begin as a TIFF with a mark of their own. */
static bool
tiff_is_mine(const uint8_t *data, size_t size)
{
    static const char magic[4][4] = {
        { 'I', 'I', 42, 0 }, { 'M', 'M', 0, 42 }, { 'I', 'I', 43, 0 }, { 'M', 'M', 0, 43 }
    };
    for (int i = 0; size >= 8 && i < 4; i++)
        if (memcmp(data, magic[i], 4) == 0)
            return size < 10 || memcmp(data + 8, "CR", 2) != 0;
    return false;
}

static uint64_t
tiff_decoder_bytes(const struct pack_image_info *info)
{
    return info->decoder_bytes;
}

const struct pack_image_codec pack_image_tiff = {
    .name = "TIFF",
    .format = PACK_IMAGE_TIFF,
    .is_mine = tiff_is_mine,
    .probe = tiff_probe,
    .decode = tiff_decode,
    .decoder_bytes = tiff_decoder_bytes,
    .probe_bytes = pack_tiff_walk,
    .probe_at = tiff_probe_at,
};
