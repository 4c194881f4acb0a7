/*
 * What the tags of a TIFF say, and which of it is decoded: samples that are whole numbers of
 * 1, 2, 4, 8 or 16 bits, as gray, palette, RGB, CMYK or YCbCr. What Pillow guesses at, or
 * reads as something else than it says, is refused in words.
 *
 * libtiff reads by way of callbacks, so that tags behind the end of what is there are
 * noticed, and a probe reads no more of a file than they are. What it allocates at a time
 * is bounded, what it does for the tags is known before.
 */
#include "libpack/image/image_tiff.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/size.h"

static const uint64_t RAW_MAX = UINT64_C(1) << 31;
static const tmsize_t ALLOC_MAX = (tmsize_t)1 << 31;

/* ----------------------------------------------------------------- callbacks */

static tmsize_t
on_read(thandle_t handle, void *to, tmsize_t n)
{
    struct pack_tiff *t = handle;
    const struct pack_image_reader *r = t->reader;
    size_t bytes = r->read_at(r->context, to, (size_t)n, t->at);
    t->ends_early |= bytes < (size_t)n;
    t->at += bytes;
    return (tmsize_t)bytes;
}

static tmsize_t
on_write(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle;
    (void)from;
    (void)n;
    return 0;
}

static toff_t
on_seek(thandle_t handle, toff_t offset, int whence)
{
    struct pack_tiff *t = handle;
    t->at = whence == SEEK_SET   ? offset
            : whence == SEEK_CUR ? t->at + offset
                                 : t->reader->size + offset;
    return t->at;
}

static int
on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t
on_size(thandle_t handle)
{
    return ((struct pack_tiff *)handle)->reader->size;
}

static int __attribute__((format(printf, 4, 0)))
on_error(TIFF *tiff, void *context, const char *module, const char *format, va_list args)
{
    struct pack_tiff *t = context;
    char text[sizeof t->text];
    (void)tiff;
    (void)module;
    vsnprintf(text, sizeof text, format, args);
    t->is_refused |= strstr(text, "beyond the") != NULL;
    if (t->info)
        pack_image_info_warn(t->info, text);
    if (!t->has_text)
        memcpy(t->text, text, sizeof text);
    t->has_text = true;
    return 1;
}

/* Of tags it knows many that libtiff does not: only what it says of pixels counts. */
static int __attribute__((format(printf, 4, 0)))
on_warning(TIFF *tiff, void *context, const char *module, const char *format,
           va_list args)
{
    struct pack_tiff *t = context;
    char text[sizeof t->text];
    (void)tiff;
    (void)module;
    vsnprintf(text, sizeof text, format, args);
    if (t->info)
        pack_image_info_warn(t->info, text);
    return 1;
}

/* What is asked of memory, and not granted, by a file that asks for none, for more than
 * libtiff is allowed, or for a window that zstd refuses, is that file's fault. */
static bool
is_out_of_memory(const struct pack_tiff *t)
{
    if (t->is_refused || strstr(t->text, "(0 elements") ||
        strstr(t->text, "requires too much memory"))
        return false;
    return strstr(t->text, "emory") || strstr(t->text, "No space for");
}

enum pack_status
pack_tiff_fail(const struct pack_tiff *t, struct pack_error *err)
{
    if (t->ends_early)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged TIFF: the file ends before the image does");
    if (is_out_of_memory(t))
        return pack_fail_memory(err, "decoding a TIFF");
    return pack_fail(err, PACK_ERR_FORMAT, "damaged TIFF: %s",
                     t->has_text ? t->text
                     : t->tiff   ? "its pixels cannot be decoded"
                                 : "it holds no image");
}

/* ---------------------------------------------------------------------- tags */

static enum pack_status
refuse(const char *what, struct pack_error *err)
{
    return pack_fail(err, PACK_ERR_UNSUPPORTED, "a TIFF %s is not read", what);
}

static enum pack_status
check_compression(const struct pack_tiff_tags *tags, struct pack_error *err)
{
    static const uint16_t known[] = {
        COMPRESSION_NONE,     COMPRESSION_CCITTRLE,      COMPRESSION_CCITTFAX3,
        COMPRESSION_CCITTFAX4, COMPRESSION_LZW,          COMPRESSION_JPEG,
        COMPRESSION_DEFLATE,  COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS,
        COMPRESSION_ZSTD,
    };
    char what[64];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (tags->compression == known[i] && TIFFIsCODECConfigured(known[i]))
            return PACK_OK;
    snprintf(what, sizeof what, "with compression %u", tags->compression);
    return refuse(what, err);
}

static int
n_colors(uint16_t photometric)
{
    switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE: return 1;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR: return 3;
    case PHOTOMETRIC_SEPARATED: return 4;
    default: return 0;
    }
}

static bool
is_depth_known(const struct pack_tiff_tags *tags)
{
    switch (tags->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
        return tags->depth == 1 || tags->depth == 2 || tags->depth == 4 ||
               tags->depth == 8 || tags->depth == 16;
    case PHOTOMETRIC_PALETTE:
        return tags->depth == 1 || tags->depth == 2 || tags->depth == 4 ||
               tags->depth == 8;
    case PHOTOMETRIC_YCBCR: return tags->depth == 8;
    default: return tags->depth == 8 || tags->depth == 16;
    }
}

/* What the samples of a pixel are. */
static enum pack_status
read_samples(struct pack_tiff *t, struct pack_error *err)
{
    struct pack_tiff_tags *tags = &t->tags;
    uint16_t format = SAMPLEFORMAT_UINT, n_extra = 0, *extra = NULL, planar = 0;
    char what[80];
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_BITSPERSAMPLE, &tags->depth);
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_SAMPLESPERPIXEL, &tags->n_samples);
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_EXTRASAMPLES, &n_extra, &extra);
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_PLANARCONFIG, &planar);
    if (!TIFFGetField(t->tiff, TIFFTAG_PHOTOMETRIC, &tags->photometric))
        tags->photometric = PHOTOMETRIC_MINISWHITE; /* as Pillow has it */
    int colors = n_colors(tags->photometric);
    if (colors == 0) {
        snprintf(what, sizeof what, "of photometric interpretation %u",
                 tags->photometric);
        return refuse(what, err);
    }
    if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
        return refuse(format == SAMPLEFORMAT_IEEEFP ? "of floating-point samples"
                                                    : "of signed or complex samples",
                      err);
    if (!is_depth_known(tags)) {
        snprintf(what, sizeof what, "of %u bits a sample in these colours", tags->depth);
        return refuse(what, err);
    }
    if (tags->n_samples < colors || tags->n_samples > colors + 3) {
        snprintf(what, sizeof what, "of %u samples a pixel in these colours",
                 tags->n_samples);
        return refuse(what, err);
    }
    bool has_extra = tags->n_samples > colors;
    bool is_gray = tags->photometric < PHOTOMETRIC_RGB;
    tags->is_planar = planar == PLANARCONFIG_SEPARATE && tags->n_samples > 1;
    tags->is_multiplied = has_extra && n_extra && extra[0] == EXTRASAMPLE_ASSOCALPHA;
    /* four samples that say nothing of the last are RGBA to Pillow */
    tags->has_alpha = has_extra && (!n_extra || extra[0] != EXTRASAMPLE_UNSPECIFIED);
    if (has_extra && (tags->depth < 8 || tags->photometric == PHOTOMETRIC_YCBCR ||
                      (tags->has_alpha && !is_gray &&
                       tags->photometric != PHOTOMETRIC_RGB)))
        return refuse("with transparency in these colours", err);
    return PACK_OK;
}

/* What is made of them. */
static void
choose_samples(struct pack_tiff *t, const struct pack_image_params *params)
{
    struct pack_tiff_tags *tags = &t->tags;
    bool blends = tags->has_alpha && (params->has_background || tags->is_multiplied);
    bool is_jpeg = tags->compression == COMPRESSION_JPEG && !tags->is_planar;
    tags->is_ycbcr = tags->photometric == PHOTOMETRIC_YCBCR && !is_jpeg;
    if (tags->photometric == PHOTOMETRIC_YCBCR && is_jpeg)
        TIFFSetField(t->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    switch (tags->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
        tags->samples = blends ? PACK_SAMPLES_GRAY_ALPHA : PACK_SAMPLES_GRAY;
        tags->n_native = blends ? 2 : 1;
        break;
    case PHOTOMETRIC_PALETTE:
        tags->samples = PACK_SAMPLES_PALETTE;
        tags->n_native = 1;
        break;
    case PHOTOMETRIC_SEPARATED:
        tags->samples = PACK_SAMPLES_CMYK_INVERTED;
        tags->n_native = 4;
        break;
    default:
        tags->samples = blends ? PACK_SAMPLES_RGB_ALPHA : PACK_SAMPLES_RGB;
        tags->n_native = blends ? 4 : 3;
    }
    tags->stays_wide = tags->depth == 16 && !tags->is_multiplied &&
                       tags->photometric != PHOTOMETRIC_SEPARATED;
}

/* ------------------------------------------------------------------ measures */

/* Rows of so many pixels, in bytes of one plane. */
static uint64_t
plane_row_bytes(const struct pack_tiff_tags *tags, uint32_t width)
{
    uint64_t samples = (uint64_t)width * (tags->is_planar ? 1 : tags->n_samples);
    return (samples * tags->depth + 7) / 8;
}

static enum pack_status
measure_tiles(struct pack_tiff *t, const struct pack_image_params *params,
              struct pack_error *err)
{
    struct pack_tiff_tags *tags = &t->tags;
    uint32_t height = 0;
    if (!TIFFGetField(t->tiff, TIFFTAG_TILEWIDTH, &tags->tile_width) ||
        !TIFFGetField(t->tiff, TIFFTAG_TILELENGTH, &height) || !tags->tile_width ||
        !height)
        return pack_fail(err, PACK_ERR_FORMAT, "damaged TIFF: tiles without a size");
    enum pack_status status =
        pack_image_check_size(tags->tile_width, height, params, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "a tile of it");
    tags->tile_row_bytes = plane_row_bytes(tags, tags->tile_width);
    tags->tile_bytes = tags->tile_row_bytes * height;
    tags->band_rows = height < tags->height ? height : tags->height;
    if (tags->tile_width * tags->depth % 8)
        return refuse("of tiles that do not end with a byte", err);
    if (!tags->is_ycbcr && (uint64_t)TIFFTileSize(t->tiff) != tags->tile_bytes)
        return pack_fail(err, PACK_ERR_FORMAT, "damaged TIFF: tiles of another size");
    return PACK_OK;
}

static enum pack_status
measure(struct pack_tiff *t, const struct pack_image_params *params,
        struct pack_error *err)
{
    struct pack_tiff_tags *tags = &t->tags;
    tags->row_bytes = plane_row_bytes(tags, tags->width);
    tags->is_tiled = TIFFIsTiled(t->tiff);
    if (tags->is_tiled) {
        enum pack_status status = measure_tiles(t, params, err);
        if (status != PACK_OK)
            return status;
    } else {
        uint32_t rows = 0;
        TIFFGetFieldDefaulted(t->tiff, TIFFTAG_ROWSPERSTRIP, &rows);
        tags->band_rows = rows && rows < tags->height ? rows : tags->height;
        if (!tags->is_ycbcr && (uint64_t)TIFFScanlineSize(t->tiff) != tags->row_bytes)
            return pack_fail(err, PACK_ERR_FORMAT, "damaged TIFF: rows of another size");
    }
    uint64_t planes = tags->is_planar ? tags->n_samples : 1;
    uint64_t row = tags->is_ycbcr ? (uint64_t)tags->width * 4 : tags->row_bytes * planes;
    tags->band_bytes = row * tags->band_rows;
    uint32_t n_parts =
        tags->is_tiled ? TIFFNumberOfTiles(t->tiff) : TIFFNumberOfStrips(t->tiff);
    for (uint32_t i = 0; i < n_parts; i++) {
        uint64_t bytes = TIFFGetStrileByteCount(t->tiff, i);
        if (bytes > tags->raw_bytes)
            tags->raw_bytes = bytes;
    }
    if (tags->raw_bytes > t->reader->size && !t->reader->is_beginning)
        tags->raw_bytes = t->reader->size; /* libtiff takes room as it reads */
    tags->tags_bytes += n_parts * 2 * sizeof(uint64_t); /* it may cut strips, once more */
    if (tags->raw_bytes > RAW_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "a TIFF with %llu bytes in a piece is over the limit of %llu",
                         (unsigned long long)tags->raw_bytes,
                         (unsigned long long)RAW_MAX);
    return PACK_OK;
}

/*
 * Beside the band and a tile: a strip or tile as it is in the file; a strip or tile of
 * YCbCr once more, of JPEG its coefficients (two bytes for each sample, when
 * progressive), of zstd its window.
 */
uint64_t
pack_tiff_bytes(const struct pack_tiff_tags *tags)
{
    uint64_t part = tags->band_bytes + tags->tile_bytes;
    uint64_t bytes = part + 2 * tags->raw_bytes + 512 * 1024 + UINT64_C(64) * tags->width;
    if (!pack_size_add(bytes, tags->tags_bytes, &bytes))
        return UINT64_MAX;
    if (tags->is_ycbcr)
        bytes += part;
    if (tags->compression == COMPRESSION_JPEG)
        bytes += 3 * part + (1 << 20);
    if (tags->compression == COMPRESSION_ZSTD)
        bytes += UINT64_C(129) << 20;
    return bytes;
}

/* ------------------------------------------------------------------- opening */

static enum pack_status
read_tags(struct pack_tiff *t, const struct pack_image_params *params,
          struct pack_error *err)
{
    struct pack_tiff_tags *tags = &t->tags;
    uint16_t orientation = 1;
    uint32_t kind = 0, n_profile = 0;
    void *profile = NULL;
    if (!TIFFGetField(t->tiff, TIFFTAG_IMAGEWIDTH, &tags->width) ||
        !TIFFGetField(t->tiff, TIFFTAG_IMAGELENGTH, &tags->height) || !tags->width ||
        !tags->height)
        return pack_fail(err, PACK_ERR_FORMAT, "damaged TIFF: it has no size");
    enum pack_status status =
        pack_image_check_size(tags->width, tags->height, params, err);
    if (status != PACK_OK)
        return status;
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_SUBFILETYPE, &kind);
    if (kind & FILETYPE_REDUCEDIMAGE)
        return refuse("that begins with a reduced picture, as camera raw files do,", err);
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_COMPRESSION, &tags->compression);
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_ORIENTATION, &orientation);
    tags->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    tags->has_icc = TIFFGetField(t->tiff, TIFFTAG_ICCPROFILE, &n_profile, &profile);
    tags->has_more = !TIFFLastDirectory(t->tiff);
    status = check_compression(tags, err);
    if (status == PACK_OK)
        status = read_samples(t, err);
    if (status != PACK_OK)
        return status;
    uint16_t *red, *green, *blue;
    if (tags->photometric == PHOTOMETRIC_PALETTE &&
        !TIFFGetField(t->tiff, TIFFTAG_COLORMAP, &red, &green, &blue))
        return pack_fail(err, PACK_ERR_FORMAT, "damaged TIFF: it has no palette");
    choose_samples(t, params);
    return measure(t, params, err);
}

static TIFF *
open_with(struct pack_tiff *t, TIFFOpenOptions *options)
{
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, t);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, t);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, ALLOC_MAX);
    /* m: not mapped, so that each read is seen */
    return TIFFClientOpenExt("TIFF", "rm", t, on_read, on_write, on_seek, on_close,
                             on_size, NULL, NULL, options);
}

enum pack_status
pack_tiff_open(struct pack_tiff *t, const struct pack_image_reader *reader,
               const struct pack_image_params *params, struct pack_error *err)
{
    t->reader = reader;
    enum pack_status status = pack_tiff_walk(reader, params, &t->tags.tags_bytes, err);
    if (status != PACK_OK)
        return status;
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return pack_fail_memory(err, "decoding a TIFF");
    t->tiff = open_with(t, options);
    TIFFOpenOptionsFree(options);
    status = t->tiff ? read_tags(t, params, err) : pack_tiff_fail(t, err);
    if (status == PACK_OK && t->ends_early)
        status = pack_tiff_fail(t, err);
    if (status != PACK_OK)
        pack_tiff_close(t);
    t->has_text = false;
    return status;
}

void
pack_tiff_close(struct pack_tiff *t)
{
    if (t->tiff)
        TIFFClose(t->tiff);
    t->tiff = NULL;
}
