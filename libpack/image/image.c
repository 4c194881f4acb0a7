/*
 * The table of codecs, and what all of them share. Rows and colours are image_rows.c's.
 */
#include "libpack/image/image_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "libpack/base/check.h"
#include "libpack/base/size.h"
#include "libpack/image/kind.h"

static const struct pack_image_codec *const codecs[] = {
    &pack_image_jpeg,
    &pack_image_png,
#ifdef HAVE_WEBP
    &pack_image_webp,
#endif
#ifdef HAVE_TIFF
    &pack_image_tiff,
#endif
};
enum { N_CODECS = sizeof codecs / sizeof codecs[0] };

const struct pack_image_codec *
pack_image_codec_of(const uint8_t *data, size_t size)
{
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i]->is_mine(data, size))
            return codecs[i];
    return NULL;
}

/* "JPEG, PNG and WebP" */
static const char *
codec_names(const char *conjunction, char text[64])
{
    int at = snprintf(text, 64, "%s", codecs[0]->name);
    for (int i = 1; i < N_CODECS; i++)
        at += i + 1 < N_CODECS
                  ? snprintf(text + at, 64 - (size_t)at, ", %s", codecs[i]->name)
                  : snprintf(text + at, 64 - (size_t)at, " %s %s", conjunction,
                             codecs[i]->name);
    return text;
}

static enum pack_status
refuse(const uint8_t *data, size_t size, struct pack_error *err)
{
    if (!size)
        return pack_fail(err, PACK_ERR_FORMAT, "not an image: the file is empty");
    char names[64], head[4 * 3 + 1] = "";
    const char *kind = pack_image_kind_name(pack_image_kind(data, size));
    if (kind)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s images are not read, only %s",
                         kind, codec_names("and", names));
    for (size_t i = 0; i < 4 && i < size; i++)
        snprintf(head + 3 * i, 4, " %02x", data[i]);
    return pack_fail(err, PACK_ERR_FORMAT, "not a %s image: it begins with%s",
                     codec_names("or", names), head);
}

const char *
pack_image_format_name(enum pack_image_format format)
{
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i]->format == format)
            return codecs[i]->name;
    return "unknown";
}

const char *
pack_image_formats(void)
{
    return "JPEG, PNG"
#ifdef HAVE_WEBP
           ", WebP"
#endif
#ifdef HAVE_TIFF
           ", TIFF"
#endif
        ;
}

bool
pack_image_is_known(const void *data, size_t size)
{
    return data && pack_image_codec_of(data, size) != NULL;
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
    const struct pack_image_codec *codec = pack_image_codec_of(data, size);
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
        status =
            pack_image_codec_of(data, size)->decode(data, size, params, image, &found, err);
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
