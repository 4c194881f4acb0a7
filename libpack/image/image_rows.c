/*
 * From a codec's rows to an upright image: colours first, then places.
 *
 * A stored pixel (x, y) goes to origin + x * step_x + y * step_y, counted in pixels; the
 * eight orientations are eight such triples. Where step_x is 1, rows are converted in
 * place. Else a strip of rows is converted and then written column by column, so that
 * neighbouring writes stay together also when rows become columns:
 *
 *     stored strip           upright (orientation 6)
 *     a b c d ...            . . . e a
 *     e f g h ...     ->     . . . f b
 *                            . . . g c
 */
#include "libpack/image/image_parts.h"

#include <stdlib.h>
#include <string.h>

#include <libpack/shape.h>

/* Indexed by enum pack_image_samples. */
static const uint8_t native_channels[] = { 1, 2, 3, 4, 1, 4 };

/* ------------------------------------------------------------------- colours */

/* a * b / 255, rounded: Pillow's MULDIV255 */
static inline unsigned
mul_div_255(unsigned a, unsigned b)
{
    unsigned t = a * b + 128;
    return (t + (t >> 8)) >> 8;
}

/* Pillow's L24() */
static inline uint8_t
luma(const uint8_t rgb[3])
{
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >>
                     16);
}

/* (s * a + b * (255 - a)) / 255, rounded */
static inline uint8_t
blend(uint8_t s, uint8_t b, uint8_t alpha)
{
    unsigned t = s * alpha + b * (255u - alpha) + 128;
    return (uint8_t)((t + (t >> 8)) >> 8);
}

static inline void
composite(const struct pack_image_rows *rows, uint8_t rgb[3], uint8_t alpha)
{
    for (int c = 0; c < 3; c++)
        rgb[c] = blend(rgb[c], rows->background[c], alpha);
}

/* One stored pixel to RGB. */
static inline __attribute__((always_inline)) void
to_rgb(const struct pack_image_rows *rows, const uint8_t *in, uint8_t rgb[3],
       enum pack_image_samples samples, bool blended)
{
    switch (samples) {
    case PACK_SAMPLES_GRAY:
    case PACK_SAMPLES_GRAY_ALPHA:
        rgb[0] = rgb[1] = rgb[2] = in[0];
        if (blended)
            composite(rows, rgb, in[1]);
        break;
    case PACK_SAMPLES_RGB:
    case PACK_SAMPLES_RGB_ALPHA:
        memcpy(rgb, in, 3);
        if (blended)
            composite(rows, rgb, in[3]);
        break;
    case PACK_SAMPLES_PALETTE: memcpy(rgb, rows->palette[in[0]], 3); break;
    case PACK_SAMPLES_CMYK_INVERTED: /* Pillow's cmyk2rgb() of 255 - in */
        for (int c = 0; c < 3; c++)
            rgb[c] = (uint8_t)(in[3] - mul_div_255(255u - in[c], in[3]));
        break;
    }
}

/* n pixels to RGB or gray; inlined once per kind, with `samples` and `blended`
 * constant. */
static inline __attribute__((always_inline)) void
convert(const struct pack_image_rows *rows, const uint8_t *in, uint8_t *out, size_t n,
        enum pack_image_samples samples, bool blended)
{
    size_t step = native_channels[samples];
    if (rows->image->channels == 3) {
        for (size_t i = 0; i < n; i++)
            to_rgb(rows, in + i * step, out + 3 * i, samples, blended);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t rgb[3];
        to_rgb(rows, in + i * step, rgb, samples, blended);
        out[i] = luma(rgb);
    }
}

/* low..high to 0..255, rounded to nearest */
static inline uint8_t
scaled(const struct pack_image_rows *rows, uint16_t v)
{
    uint32_t range = (uint32_t)rows->high - rows->low;
    if (v <= rows->low)
        return 0;
    return v >= rows->high ? 255
                           : (uint8_t)(((uint32_t)(v - rows->low) * 255 + range / 2) / range);
}

/* A row of 16-bit samples to one of 8 bits, where it is. */
static void
narrow_row(struct pack_image_rows *rows, uint8_t *row)
{
    size_t n = native_channels[rows->samples], n_colors = n % 2 ? n : n - 1;
    for (size_t i = 0; i < rows->width * n; i += n)
        for (size_t c = 0; c < n; c++) {
            uint16_t v;
            memcpy(&v, row + 2 * (i + c), sizeof v);
            row[i + c] =
                c < n_colors && rows->scales ? scaled(rows, v) : (uint8_t)(v >> 8);
            if (c < n_colors && rows->white_is_zero)
                row[i + c] = (uint8_t)(255 - row[i + c]);
            if (c < n_colors && v < rows->seen_low)
                rows->seen_low = v;
            if (c < n_colors && v > rows->seen_high)
                rows->seen_high = v;
        }
}

static void
convert_row(const struct pack_image_rows *rows, const uint8_t *in, uint8_t *out)
{
    size_t n = rows->width;
    bool gray = rows->image->channels == 1;
    switch (rows->samples) {
    case PACK_SAMPLES_GRAY:
        if (gray)
            memcpy(out, in, n);
        else
            convert(rows, in, out, n, PACK_SAMPLES_GRAY, false);
        break;
    case PACK_SAMPLES_GRAY_ALPHA:
        if (rows->composite)
            convert(rows, in, out, n, PACK_SAMPLES_GRAY_ALPHA, true);
        else
            convert(rows, in, out, n, PACK_SAMPLES_GRAY_ALPHA, false);
        break;
    case PACK_SAMPLES_RGB:
        if (gray)
            convert(rows, in, out, n, PACK_SAMPLES_RGB, false);
        else
            memcpy(out, in, 3 * n);
        break;
    case PACK_SAMPLES_RGB_ALPHA:
        if (rows->composite)
            convert(rows, in, out, n, PACK_SAMPLES_RGB_ALPHA, true);
        else
            convert(rows, in, out, n, PACK_SAMPLES_RGB_ALPHA, false);
        break;
    case PACK_SAMPLES_PALETTE:
        if (gray)
            for (size_t i = 0; i < n; i++)
                out[i] = rows->palette_gray[in[i]];
        else
            convert(rows, in, out, n, PACK_SAMPLES_PALETTE, false);
        break;
    case PACK_SAMPLES_CMYK_INVERTED:
        convert(rows, in, out, n, PACK_SAMPLES_CMYK_INVERTED, false);
        break;
    }
}

void
pack_image_rows_color(struct pack_image_rows *rows, int i, const uint8_t rgb[3],
                      uint8_t alpha)
{
    memcpy(rows->palette[i], rgb, 3);
    if (rows->composite)
        composite(rows, rows->palette[i], alpha);
    rows->palette_gray[i] = luma(rows->palette[i]);
}

/* -------------------------------------------------------------------- places */

struct placement {
    ptrdiff_t origin, step_x, step_y; /* in pixels */
};

static struct placement
placement_of(const struct pack_image_rows *rows)
{
    ptrdiff_t w = rows->width, h = rows->height;
    switch (rows->orientation) {
    case 2: return (struct placement){ w - 1, -1, w };
    case 3: return (struct placement){ w * h - 1, -1, -w };
    case 4: return (struct placement){ w * (h - 1), 1, -w };
    case 5: return (struct placement){ 0, h, 1 };
    case 6: return (struct placement){ h - 1, h, -1 };
    case 7: return (struct placement){ w * h - 1, -h, -1 };
    case 8: return (struct placement){ h * (w - 1), -h, 1 };
    default: return (struct placement){ 0, 1, w };
    }
}

/* Columns of a converted strip of n rows, `channels` constant where it is inlined. */
static inline __attribute__((always_inline)) void
scatter(const struct pack_image_rows *rows, const struct placement *place, uint32_t y,
        uint32_t n, ptrdiff_t channels)
{
    size_t stride = (size_t)rows->width * channels;
    uint8_t *column =
        rows->image->pixels + (place->origin + y * place->step_y) * channels;
    const uint8_t *in = rows->strip;
    for (uint32_t x = 0; x < rows->width; x++) {
        uint8_t *out = column + (ptrdiff_t)x * place->step_x * channels;
        for (uint32_t row = 0; row < n; row++, out += place->step_y * channels)
            memcpy(out, in + row * stride, channels);
        in += channels;
    }
}

uint8_t *
pack_image_rows_direct(const struct pack_image_rows *rows, uint32_t y)
{
    struct placement place = placement_of(rows);
    bool same = rows->samples == PACK_SAMPLES_RGB && rows->image->channels == 3;
    same |= rows->samples == PACK_SAMPLES_GRAY && rows->image->channels == 1;
    if (!same || rows->wide || place.step_x != 1)
        return NULL;
    return rows->image->pixels +
           (place.origin + y * place.step_y) * rows->image->channels;
}

void
pack_image_rows_put(struct pack_image_rows *rows, uint32_t y, uint32_t n, uint8_t *native)
{
    struct placement place = placement_of(rows);
    int channels = rows->image->channels;
    for (uint32_t row = 0; rows->wide && row < n; row++)
        narrow_row(rows, native + row * rows->native_stride);
    if (place.step_x == 1) {
        for (uint32_t row = 0; row < n; row++) {
            ptrdiff_t at = place.origin + (ptrdiff_t)(y + row) * place.step_y;
            convert_row(rows, native + row * rows->native_stride,
                        rows->image->pixels + at * channels);
        }
        return;
    }
    for (uint32_t row = 0; row < n; row++)
        convert_row(rows, native + row * rows->native_stride,
                    rows->strip + (size_t)row * rows->width * channels);
    if (channels == 3)
        scatter(rows, &place, y, n, 3);
    else
        scatter(rows, &place, y, n, 1);
}

void
pack_image_rows_end(const struct pack_image_rows *rows, struct pack_image_info *info)
{
    if (!rows->wide)
        return;
    info->has_range = true;
    info->sample_low = rows->seen_low;
    info->sample_high = rows->seen_high;
    info->zero_is_white = rows->white_is_zero;
}

/* -------------------------------------------------------------------- memory */

/* Grows a buffer to `bytes`; its content is lost. */
static bool
grow(uint8_t **buffer, size_t *capacity, uint64_t bytes)
{
    if (bytes <= *capacity)
        return true;
    free(*buffer);
    *capacity = 0;
    *buffer = bytes <= SIZE_MAX ? malloc(bytes) : NULL;
    if (!*buffer)
        return false;
    *capacity = bytes;
    return true;
}

/* Rows that are handed over at once. */
static uint64_t
strip_rows(uint64_t height)
{
    return height < PACK_IMAGE_STRIP ? height : PACK_IMAGE_STRIP;
}

uint64_t
pack_image_rows_bytes(uint64_t width, uint64_t height, int native_bytes, bool whole)
{
    uint64_t strip = strip_rows(height), native_rows = whole ? height : strip;
    return width * (native_rows * (uint64_t)native_bytes + strip * 3);
}

enum pack_status
pack_image_rows_begin(struct pack_image_rows *rows, bool whole,
                      const struct pack_image_info *info,
                      const struct pack_image_params *params, struct pack_error *err)
{
    struct pack_image *image = rows->image;
    int n_native = native_channels[rows->samples] * (rows->wide ? 2 : 1);
    *rows = (struct pack_image_rows){
        .image = image,
        .samples = rows->samples,
        .wide = rows->wide,
        .white_is_zero = rows->white_is_zero,
        .scales = params->scales_16,
        .low = params->low_16,
        .high = params->high_16,
        .seen_low = UINT16_MAX,
        .orientation = info->orientation,
        .composite = params->has_background,
    };
    pack_image_info_stored(info, &rows->width, &rows->height);
    memcpy(rows->background, params->background, sizeof rows->background);
    image->width = info->width;
    image->height = info->height;
    image->channels = params->mode == PACK_IMAGE_GRAY ? 1 : 3;
    image->size = 0;
    rows->native_stride = (size_t)rows->width * (size_t)n_native;
    uint64_t bytes = (uint64_t)info->width * info->height * (unsigned)image->channels;
    uint64_t work = pack_image_rows_bytes(rows->width, rows->height, n_native, whole);
    if (!grow(&image->pixels, &image->capacity, bytes) ||
        !grow(&image->work, &image->work_capacity, work))
        return pack_fail_memory(err, "the pixels of an image");
    image->size = bytes;
    rows->native = image->work;
    rows->strip = image->work + work - rows->width * strip_rows(rows->height) * 3;
    return PACK_OK;
}
