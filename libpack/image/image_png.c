/*
 * PNG pixels through libpng. Headers and metadata are image_png_chunks.c's.
 *
 * libpng hands out samples of 8 bits, to which fewer are spread, or of 16, which are
 * narrowed in image_rows.c, where it is seen what is in them. A colour key becomes alpha
 * only where a background is asked for. Palettes are looked up in image_rows.c, because
 * beyond PLTE Pillow has grays and libpng an error.
 *
 * libpng reports errors by calling back, and our callback leaves with longjmp(): every
 * call of libpng is in run(), which keeps nothing in locals across it.
 */
#include "libpack/image/image_parts.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct decoder {
    png_structp png;
    png_infop png_info;
    jmp_buf leave;
    const uint8_t *data;
    size_t size, at;
    const struct pack_image_params *params;
    struct pack_image *image;
    struct pack_image_info *info;
    struct pack_image_rows rows;
    enum pack_status status; /* why run() was left */
    struct pack_error *err;
};

/* ----------------------------------------------------------------- callbacks */

static PNG_NORETURN void
on_error(png_structp png, png_const_charp text)
{
    struct decoder *d = png_get_error_ptr(png);
    if (!d->status)
        d->status = pack_fail(d->err, PACK_ERR_FORMAT, "damaged PNG: %s", text);
    longjmp(d->leave, 1);
}

static void
on_warning(png_structp png, png_const_charp text)
{
    struct decoder *d = png_get_error_ptr(png);
    pack_image_info_warn(d->info, text);
}

static png_voidp
on_malloc(png_structp png, png_alloc_size_t size)
{
    struct decoder *d = png_get_mem_ptr(png);
    void *p = malloc(size);
    if (!p)
        d->status = pack_fail_memory(d->err, "decoding a PNG");
    return p;
}

static void
on_free(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

static void
on_read(png_structp png, png_bytep out, size_t n)
{
    struct decoder *d = png_get_io_ptr(png);
    if (n > d->size - d->at)
        png_error(png, "the file ends too early");
    memcpy(out, d->data + d->at, n);
    d->at += n;
}

/* ---------------------------------------------------------------------- rows */

static const enum pack_image_samples samples_of_color_type[] = {
    [PNG_COLOR_TYPE_GRAY] = PACK_SAMPLES_GRAY,
    [PNG_COLOR_TYPE_RGB] = PACK_SAMPLES_RGB,
    [PNG_COLOR_TYPE_PALETTE] = PACK_SAMPLES_PALETTE,
    [PNG_COLOR_TYPE_GRAY_ALPHA] = PACK_SAMPLES_GRAY_ALPHA,
    [PNG_COLOR_TYPE_RGB_ALPHA] = PACK_SAMPLES_RGB_ALPHA,
};

static void
set_transforms(struct decoder *d)
{
    int color_type = png_get_color_type(d->png, d->png_info);
    uint16_t one = 1;
    if (*(uint8_t *)&one == 1)
        png_set_swap(d->png); /* 16-bit samples: the file's byte order is big endian */
    png_set_packing(d->png);
    if (color_type == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(d->png);
    if (color_type != PNG_COLOR_TYPE_PALETTE && d->params->has_background &&
        png_get_valid(d->png, d->png_info, PNG_INFO_tRNS))
        png_set_tRNS_to_alpha(d->png);
}

/* Pillow's palette is a ramp of grays, overwritten as far as PLTE goes. */
static void
set_palette(struct decoder *d)
{
    png_colorp colors = NULL;
    png_bytep alpha = NULL;
    int n_colors = 0, n_alpha = 0;
    png_get_PLTE(d->png, d->png_info, &colors, &n_colors);
    png_get_tRNS(d->png, d->png_info, &alpha, &n_alpha, NULL);
    for (int i = 0; i < 256; i++) {
        uint8_t rgb[3] = { (uint8_t)i, (uint8_t)i, (uint8_t)i };
        if (i < n_colors) {
            rgb[0] = colors[i].red;
            rgb[1] = colors[i].green;
            rgb[2] = colors[i].blue;
        }
        pack_image_rows_color(&d->rows, i, rgb, i < n_alpha ? alpha[i] : 255);
    }
}

static void
read_interlaced(struct decoder *d, int passes)
{
    struct pack_image_rows *rows = &d->rows;
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < rows->height; y++)
            png_read_row(d->png, rows->native + y * rows->native_stride, NULL);
    for (uint32_t y = 0; y < rows->height; y += PACK_IMAGE_STRIP) {
        uint32_t left = rows->height - y;
        pack_image_rows_put(rows, y, left < PACK_IMAGE_STRIP ? left : PACK_IMAGE_STRIP,
                            rows->native + y * rows->native_stride);
    }
}

static void
read_rows(struct decoder *d)
{
    struct pack_image_rows *rows = &d->rows;
    uint32_t waiting = 0; /* rows of a strip that are not handed over yet */
    for (uint32_t y = 0; y < rows->height; y++) {
        uint8_t *direct = pack_image_rows_direct(rows, y);
        if (direct) {
            png_read_row(d->png, direct, NULL);
            continue;
        }
        png_read_row(d->png, rows->native + waiting * rows->native_stride, NULL);
        if (++waiting == PACK_IMAGE_STRIP || y + 1 == rows->height) {
            pack_image_rows_put(rows, y + 1 - waiting, waiting, rows->native);
            waiting = 0;
        }
    }
}

/* ------------------------------------------------------------------ decoding */

static void
read_image(struct decoder *d)
{
    png_set_read_fn(d->png, d, on_read);
    png_set_user_limits(d->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_keep_unknown_chunks(d->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(d->png, d->png_info);
    set_transforms(d);
    int passes = png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->png_info);
    int color_type = png_get_color_type(d->png, d->png_info);
    d->rows.image = d->image;
    d->rows.samples = samples_of_color_type[color_type];
    d->rows.wide = png_get_bit_depth(d->png, d->png_info) == 16;
    d->status = pack_image_rows_begin(&d->rows, passes > 1, d->info, d->params, d->err);
    if (d->status)
        return;
    if (color_type == PNG_COLOR_TYPE_PALETTE)
        set_palette(d);
    if (passes > 1)
        read_interlaced(d, passes);
    else
        read_rows(d);
    pack_image_rows_end(&d->rows, d->info);
    png_read_end(d->png, NULL);
}

static void
run(struct decoder *d)
{
    if (setjmp(d->leave))
        return;
    d->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, d, on_error, on_warning, d,
                                      on_malloc, on_free);
    if (d->png)
        d->png_info = png_create_info_struct(d->png);
    if (d->png_info)
        read_image(d);
    else if (!d->status)
        d->status = pack_fail_memory(d->err, "decoding a PNG");
}

static enum pack_status
png_decode(const uint8_t *data, size_t size, const struct pack_image_params *params,
           struct pack_image *image, struct pack_image_info *info, struct pack_error *err)
{
    struct decoder d = { .data = data,
                         .size = size,
                         .params = params,
                         .image = image,
                         .info = info,
                         .err = err };
    run(&d);
    png_destroy_read_struct(&d.png, &d.png_info, NULL);
    return d.status;
}

static enum pack_status
png_probe(const uint8_t *data, size_t size, const struct pack_image_params *params,
          struct pack_image_info *info, struct pack_error *err)
{
    struct pack_png_facts facts;
    enum pack_status status = pack_png_walk(data, size, params, &facts, err);
    if (status)
        return status;
    info->width = facts.width;
    info->height = facts.height;
    bool has_color = facts.color_type & PNG_COLOR_MASK_COLOR;
    bool has_channel = facts.color_type & PNG_COLOR_MASK_ALPHA;
    bool is_palette = facts.color_type == PNG_COLOR_TYPE_PALETTE;
    info->source_channels = (has_color && !is_palette ? 3 : 1) + has_channel;
    info->source_depth = facts.depth;
    info->has_icc = facts.has_icc;
    info->has_alpha = has_channel || facts.has_trns;
    info->animated = facts.animated;
    info->whole = facts.interlaced;
    info->partial = facts.partial && !params->ignore_orientation;
    pack_image_info_turn(info, facts.orientation, params);
    return PACK_OK;
}

static bool
png_is_mine(const uint8_t *data, size_t size)
{
    return size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0;
}

/* libpng keeps two rows as stored, the zlib window and some tables. */
static uint64_t
png_decoder_bytes(const struct pack_image_info *info)
{
    uint32_t width, height;
    pack_image_info_stored(info, &width, &height);
    return 256 * 1024 + UINT64_C(3) * 8 * width +
           pack_image_rows_bytes(width, height, info->source_depth == 16 ? 8 : 4,
                                 info->whole);
}

const struct pack_image_codec pack_image_png = {
    .name = "PNG",
    .format = PACK_IMAGE_PNG,
    .is_mine = png_is_mine,
    .probe = png_probe,
    .decode = png_decode,
    .decoder_bytes = png_decoder_bytes,
};
