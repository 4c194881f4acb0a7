/*
 * The table of codecs, and what all of them share. Rows and colours are image_rows.c's.
 */
#include "libpack/image/image_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/base/size.h"

static const struct pack_image_codec *const codecs[] = {
    &pack_image_jpeg,
    &pack_image_png,
};
enum { N_CODECS = sizeof codecs / sizeof codecs[0] };

/* Formats that are named when they are refused. */
static const struct {
    uint8_t offset, size;
    char magic[16];
    const char *name;
} foreign[] = {
    { 0, 4, "GIF8", "GIF" },
    { 8, 4, "WEBP", "WebP" },
    { 0, 2, "BM", "BMP" },
    { 0, 4, "II*\0", "TIFF" },
    { 0, 4, "MM\0*", "TIFF" },
    { 0, 4, "II+\0", "BigTIFF" },
    { 0, 4, "MM\0+", "BigTIFF" },
    { 4, 8, "ftypavif", "AVIF" },
    { 4, 8, "ftypheic", "HEIC" },
    { 4, 8, "ftypmif1", "HEIF" },
    { 0, 12, "\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000" },
    { 0, 4, "\xff\x4f\xff\x51", "JPEG 2000" },
    { 0, 12, "\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL" },
    { 0, 2, "\xff\x0a", "JPEG XL" },
    { 0, 4, "8BPS", "Photoshop" },
    { 0, 4, "\0\0\1\0", "Windows icon" },
    { 0, 4, "qoif", "QOI" },
    { 0, 8, "\x8aMNG\r\n\x1a\n", "MNG" },
    { 0, 4, "\x76\x2f\x31\x01", "OpenEXR" },
    { 0, 4, "DDS ", "DDS" },
    { 0, 4, "<svg", "SVG" },
    { 0, 4, "%PDF", "PDF" },
    { 0, 3, "P1\n", "PBM" },
    { 0, 3, "P2\n", "PGM" },
    { 0, 3, "P3\n", "PPM" },
    { 0, 3, "P4\n", "PBM" },
    { 0, 3, "P5\n", "PGM" },
    { 0, 3, "P6\n", "PPM" },
};

static const char *
foreign_name(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (size >= (size_t)foreign[i].offset + foreign[i].size &&
            memcmp(data + foreign[i].offset, foreign[i].magic, foreign[i].size) == 0)
            return foreign[i].name;
    return NULL;
}

static const struct pack_image_codec *
find_codec(const uint8_t *data, size_t size)
{
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i]->is_mine(data, size))
            return codecs[i];
    return NULL;
}

static enum pack_status
refuse(const uint8_t *data, size_t size, struct pack_error *err)
{
    if (!size)
        return pack_fail(err, PACK_ERR_FORMAT, "not an image: the file is empty");
    const char *name = foreign_name(data, size);
    if (name)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "%s images are not read, only JPEG and PNG", name);
    char head[4 * 3 + 1] = "";
    for (size_t i = 0; i < 4 && i < size; i++)
        snprintf(head + 3 * i, 4, " %02x", data[i]);
    return pack_fail(err, PACK_ERR_FORMAT, "not a JPEG or PNG image: it begins with%s",
                     head);
}

const char *
pack_image_format_name(enum pack_image_format format)
{
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i]->format == format)
            return codecs[i]->name;
    return "unknown";
}

bool
pack_image_is_known(const void *data, size_t size)
{
    return data && find_codec(data, size) != NULL;
}

static const struct pack_image_params default_params;

/* Nothing at all is no image; that is for the codecs to say. */
static enum pack_status
check_data(const void *data, size_t size, const struct pack_image_params *params,
           struct pack_error *err)
{
    if (!data && size > 0)
        return pack_check_given(err, "data", data, NULL);
    return params ? pack_check_choice("mode", (int)params->mode, PACK_IMAGE_GRAY + 1, err)
                  : PACK_OK;
}

enum pack_status
pack_image_probe(const void *data, size_t size, const struct pack_image_params *params,
                 struct pack_image_info *info, struct pack_error *err)
{
    enum pack_status status = check_data(data, size, params, err);
    if (status == PACK_OK)
        status = pack_check_given(err, "info", info, NULL);
    if (status != PACK_OK)
        return status;
    const struct pack_image_codec *codec = find_codec(data, size);
    if (!codec)
        return refuse(data, size, err);
    struct pack_image_info found = { .format = codec->format, .orientation = 1 };
    status =
        codec->probe(data, size, params ? params : &default_params, &found, err);
    if (!status)
        *info = found;
    return status;
}

static enum pack_status
check_strict(const struct pack_image_info *info, struct pack_error *err)
{
    if (!info->n_warnings)
        return PACK_OK;
    return pack_fail(err, PACK_ERR_FORMAT, "decodes only with %u warning%s, as: %s",
                     info->n_warnings, info->n_warnings == 1 ? "" : "s", info->warning);
}

enum pack_status
pack_image_decode(const void *data, size_t size, const struct pack_image_params *params,
                  struct pack_image *image, struct pack_image_info *info,
                  struct pack_error *err)
{
    struct pack_image_info found;
    if (!image)
        return pack_check_given(err, "image", image, NULL);
    if (!params)
        params = &default_params;
    enum pack_status status = pack_image_probe(data, size, params, &found, err);
    if (!status)
        status = find_codec(data, size)->decode(data, size, params, image, &found, err);
    if (!status && params->strict)
        status = check_strict(&found, err);
    if (!status && info)
        *info = found;
    return status;
}

uint64_t
pack_image_decode_bytes(const struct pack_image_info *info,
                        const struct pack_image_params *params)
{
    int channels = params && params->mode == PACK_IMAGE_GRAY ? 1 : 3;
    if (!info)
        return UINT64_MAX;
    struct pack_image_info out = *info;
    pack_image_info_reduce(&out, params ? params : &default_params);
    uint64_t pixels = (uint64_t)out.width * out.height, total;
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i]->format == info->format && codecs[i]->decoder_bytes &&
            pack_size_mul(pixels, (uint64_t)channels, &total) &&
            pack_size_add(total, codecs[i]->decoder_bytes(info), &total))
            return total;
    return UINT64_MAX;
}

void
pack_image_done(struct pack_image *image)
{
    if (!image)
        return;
    free(image->pixels);
    free(image->work);
    memset(image, 0, sizeof *image);
}

/* ------------------------------------------------------------- for the codecs */

enum pack_status
pack_image_check_size(uint64_t width, uint64_t height,
                      const struct pack_image_params *params, struct pack_error *err)
{
    uint64_t limit = params->max_pixels ? params->max_pixels : PACK_IMAGE_MAX_PIXELS;
    uint64_t pixels;
    if (!pack_size_mul(width, height, &pixels))
        pixels = UINT64_MAX;
    if (pixels > limit)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "an image of %llux%llu pixels is over the limit of %llu pixels",
                         (unsigned long long)width, (unsigned long long)height,
                         (unsigned long long)limit);
    return PACK_OK;
}

void
pack_image_info_turn(struct pack_image_info *info, int orientation,
                     const struct pack_image_params *params)
{
    info->orientation = params->ignore_orientation ? 1 : orientation;
    if (info->orientation < 5)
        return;
    uint32_t width = info->width;
    info->width = info->height;
    info->height = width;
}

void
pack_image_info_stored(const struct pack_image_info *info, uint32_t *width,
                       uint32_t *height)
{
    bool turned = info->orientation >= 5;
    *width = turned ? info->height : info->width;
    *height = turned ? info->width : info->height;
}

int
pack_image_reduction(const struct pack_image_params *params)
{
    int by = params->reduce;
    return by >= 8 ? 8 : by >= 4 ? 4 : by >= 2 ? 2 : 1;
}

void
pack_image_info_reduce(struct pack_image_info *info,
                       const struct pack_image_params *params)
{
    if (info->format != PACK_IMAGE_JPEG || !info->width || !info->height)
        return;
    uint32_t by = (uint32_t)pack_image_reduction(params);
    info->width = (info->width - 1) / by + 1;
    info->height = (info->height - 1) / by + 1;
}

void
pack_image_info_warn(struct pack_image_info *info, const char *text)
{
    if (info->n_warnings++)
        return;
    size_t n = strnlen(text, sizeof info->warning - 1);
    memcpy(info->warning, text, n);
    info->warning[n] = '\0';
}
