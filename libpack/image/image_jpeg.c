/*
 * JPEG pixels through libjpeg-turbo. Size and orientation are image_jpeg_markers.c's.
 *
 * Asked for is what Pillow asks for: RGB of three components, gray of one, CMYK of four,
 * accurate DCT, smooth upsampling, and in drafts a scale of 1/2, 1/4 or 1/8.
 *
 * libjpeg reports errors by calling back, and our callback leaves with longjmp(): every
 * call of libjpeg is in run(), which keeps nothing in locals across it. The data source
 * has all bytes from the start; when libjpeg asks for more, the file ends too early.
 */
#include "libpack/image/image_parts.h"

#include <stdio.h> /* jpeglib.h needs it */
#include <setjmp.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum { MAX_SCANS = 1000 };

/* Decoding a part of an image; earlier versions have it with faults. */
#if defined LIBJPEG_TURBO_VERSION_NUMBER && LIBJPEG_TURBO_VERSION_NUMBER >= 2001000
#define HAVE_PARTIAL_JPEG 1
#else
#define HAVE_PARTIAL_JPEG 0
#endif

/* ----------------------------------------------------------------- callbacks */

struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf leave;
    const uint8_t *data;
    size_t size;
    const struct pack_image_params *params;
    struct pack_image *image;
    struct pack_image_info *info;
    struct pack_image_rows rows;
    bool partial;            /* not all of the image was decoded */
    bool complete;           /* all rows are there */
    enum pack_status status; /* why run() was left */
    struct pack_error *err;
};

static enum pack_status
status_of_code(int code)
{
    switch (code) {
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE: return PACK_ERR_MEMORY;
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_ARITH_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOT_COMPILED: return PACK_ERR_UNSUPPORTED;
    default: return PACK_ERR_FORMAT;
    }
}

static void __attribute__((noreturn)) leave(struct decoder *d, enum pack_status status)
{
    d->status = status;
    longjmp(d->leave, 1);
}

static void
on_error(j_common_ptr jpeg)
{
    struct decoder *d = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    enum pack_status status = status_of_code(jpeg->err->msg_code);
    jpeg->err->format_message(jpeg, text);
    if (status == PACK_ERR_MEMORY)
        pack_fail_memory(d->err, "decoding a JPEG");
    else if (status == PACK_ERR_UNSUPPORTED)
        pack_fail(d->err, status, "a JPEG of a kind that libjpeg does not read: %s",
                  text);
    else
        pack_jpeg_damaged(text, d->err);
    leave(d, status);
}

static void
on_message(j_common_ptr jpeg, int level)
{
    struct decoder *d = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    if (level >= 0)
        return;
    jpeg->err->format_message(jpeg, text);
    pack_image_info_warn(d->info, text);
}

static void
on_source(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

/* What is missing behind the last row hurts nobody. */
static boolean
on_need_bytes(j_decompress_ptr jpeg)
{
    struct decoder *d = jpeg->client_data;
    if (d->complete) {
        pack_image_info_warn(d->info, "Premature end of JPEG file");
        leave(d, PACK_OK);
    }
    leave(d, pack_jpeg_damaged("the file ends before the image does", d->err));
}

static void
on_skip(j_decompress_ptr jpeg, long n)
{
    struct jpeg_source_mgr *source = jpeg->src;
    if (n <= 0)
        return;
    size_t skipped = (size_t)n;
    if (skipped > source->bytes_in_buffer)
        skipped = source->bytes_in_buffer;
    source->next_input_byte += skipped;
    source->bytes_in_buffer -= skipped;
}

static void
on_progress(j_common_ptr common)
{
    struct decoder *d = common->client_data;
    if (d->jpeg.input_scan_number > MAX_SCANS)
        leave(d, pack_fail(d->err, PACK_ERR_LIMIT, "a JPEG with more than %d scans",
                           MAX_SCANS));
}

/* ------------------------------------------------------------------ decoding */

static void
set_callbacks(struct decoder *d)
{
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = on_error;
    d->errors.emit_message = on_message;
    d->jpeg.client_data = d;
    jpeg_create_decompress(&d->jpeg);
    d->source = (struct jpeg_source_mgr){
        .next_input_byte = d->data,
        .bytes_in_buffer = d->size,
        .init_source = on_source,
        .fill_input_buffer = on_need_bytes,
        .skip_input_data = on_skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = on_source,
    };
    d->jpeg.src = &d->source;
    d->progress.progress_monitor = on_progress;
    d->jpeg.progress = &d->progress;
}

static enum pack_image_samples
choose_colors(struct decoder *d)
{
    switch (d->info->source_channels) {
    case 1: d->jpeg.out_color_space = JCS_GRAYSCALE; return PACK_SAMPLES_GRAY;
    case 3: d->jpeg.out_color_space = JCS_RGB; return PACK_SAMPLES_RGB;
    default: d->jpeg.out_color_space = JCS_CMYK; return PACK_SAMPLES_CMYK_INVERTED;
    }
}

/* Decodes n rows into memory at `to`, rows `stride` bytes apart (negative: upwards). */
static void
read_strip(struct decoder *d, uint8_t *to, ptrdiff_t stride, uint32_t n)
{
    JSAMPROW lines[PACK_IMAGE_STRIP];
    for (uint32_t i = 0; i < n; i++)
        lines[i] = to + (ptrdiff_t)i * stride;
    for (uint32_t done = 0; done < n;)
        done += jpeg_read_scanlines(&d->jpeg, lines + done, n - done);
}

static void
read_rows(struct decoder *d)
{
    struct pack_image_rows *rows = &d->rows;
    for (uint32_t y = 0; y < rows->height; y += PACK_IMAGE_STRIP) {
        uint32_t left = rows->height - y;
        uint32_t n = left < PACK_IMAGE_STRIP ? left : PACK_IMAGE_STRIP;
        uint8_t *direct = pack_image_rows_direct(rows, y);
        if (direct) {
            ptrdiff_t stride = n > 1 ? pack_image_rows_direct(rows, y + 1) - direct : 0;
            read_strip(d, direct, stride, n);
            continue;
        }
        read_strip(d, rows->native, (ptrdiff_t)rows->native_stride, n);
        pack_image_rows_put(rows, y, n, rows->native);
    }
}

/*
 * What is to be read when a window is asked for: the window with a margin of one iMCU,
 * since smooth upsampling looks at neighbours that are not decoded beyond an edge. False
 * where decoding everything is simpler: turned images, several scans (all coefficients
 * are decoded before the first row then), windows that save next to nothing or begin
 * outside the image; and where it is not exact: libjpeg-turbo 2.1.5 misplaces the parts of
 * reduced images with one chroma sample for 4x2 pixels.
 */
static bool
choose_part(struct decoder *d, struct pack_image_window *part)
{
    const struct pack_image_window *window = d->params->window;
    const struct pack_image_rows *rows = &d->rows;
    if (!HAVE_PARTIAL_JPEG || !window || d->info->orientation != 1 ||
        pack_image_reduction(d->params) > 1 ||
        jpeg_has_multiple_scans(&d->jpeg) || !pack_image_rows_direct(rows, 0) ||
        window->x >= rows->width || window->y >= rows->height)
        return false;
    uint32_t mcu_w = (uint32_t)d->jpeg.max_h_samp_factor * DCTSIZE;
    uint32_t mcu_h = (uint32_t)d->jpeg.max_v_samp_factor * DCTSIZE;
    uint64_t right = (uint64_t)window->x + window->w + mcu_w;
    uint64_t bottom = (uint64_t)window->y + window->h + mcu_h;
    part->x = window->x > mcu_w ? window->x - mcu_w : 0;
    part->y = window->y > mcu_h ? window->y - mcu_h : 0;
    part->w = (uint32_t)(right < rows->width ? right : rows->width) - part->x;
    part->h = (uint32_t)(bottom < rows->height ? bottom : rows->height) - part->y;
    return part->w + 2 * mcu_w < rows->width || part->h + 2 * mcu_h < rows->height;
}

/*
 * Decodes the part only. The entropy coded data is decoded to its end all the same, so
 * that damage anywhere is found: hence the last row is read, for skipping to the very end
 * would pass over the data unseen.
 */
static void
read_part(struct decoder *d, const struct pack_image_window *part)
{
#if HAVE_PARTIAL_JPEG
    const struct pack_image_rows *rows = &d->rows;
    JDIMENSION x = part->x, w = part->w;
    uint32_t end = part->y + part->h;
    if (w < rows->width)
        jpeg_crop_scanline(&d->jpeg, &x, &w);
    if (part->y > 0)
        jpeg_skip_scanlines(&d->jpeg, part->y);
    for (uint32_t y = part->y; y < end; y += PACK_IMAGE_STRIP) {
        uint32_t n = end - y < PACK_IMAGE_STRIP ? end - y : PACK_IMAGE_STRIP;
        uint8_t *to = pack_image_rows_direct(rows, y);
        ptrdiff_t stride = n > 1 ? pack_image_rows_direct(rows, y + 1) - to : 0;
        read_strip(d, to + (size_t)x * (size_t)d->jpeg.output_components, stride, n);
    }
    if (end < rows->height) {
        if (end < rows->height - 1)
            jpeg_skip_scanlines(&d->jpeg, rows->height - 1 - end);
        read_strip(d, pack_image_rows_direct(rows, rows->height - 1), 0, 1);
    }
#else
    (void)d;
    (void)part;
#endif
}

/* libjpeg may find another header than the probe did. */
static void
check_header(struct decoder *d)
{
    uint32_t width, height;
    pack_image_info_stored(d->info, &width, &height);
    if (d->jpeg.image_width != width || d->jpeg.image_height != height ||
        d->jpeg.num_components != d->info->source_channels)
        leave(d, pack_jpeg_damaged("its headers contradict each other", d->err));
}

static void
read_image(struct decoder *d)
{
    while (jpeg_read_header(&d->jpeg, FALSE) == JPEG_HEADER_TABLES_ONLY)
        ;
    check_header(d);
    d->rows.image = d->image;
    d->rows.samples = choose_colors(d);
    d->jpeg.scale_num = 1;
    d->jpeg.scale_denom = (unsigned)pack_image_reduction(d->params);
    struct pack_image_info out = *d->info;
    pack_image_info_reduce(&out, d->params);
    d->status = pack_image_rows_begin(&d->rows, false, &out, d->params, d->err);
    if (d->status)
        return;
    jpeg_start_decompress(&d->jpeg);
    struct pack_image_window part;
    d->partial = choose_part(d, &part);
    if (d->partial)
        read_part(d, &part);
    else
        read_rows(d);
    d->complete = true;
    jpeg_finish_decompress(&d->jpeg);
}

static void
run(struct decoder *d)
{
    if (setjmp(d->leave))
        return;
    set_callbacks(d);
    read_image(d);
}

static enum pack_status
jpeg_decode(const uint8_t *data, size_t size, const struct pack_image_params *params,
            struct pack_image *image, struct pack_image_info *info,
            struct pack_error *err)
{
    struct decoder d = { .data = data,
                         .size = size,
                         .params = params,
                         .image = image,
                         .info = info,
                         .err = err };
    run(&d);
    jpeg_destroy_decompress(&d.jpeg);
    if (!d.partial || (d.status == PACK_OK && info->n_warnings == 0))
        return d.status;
    /* in damaged data, what is decoded depends on how much of it is: take all of it */
    struct pack_image_params all = *params;
    all.window = NULL;
    info->n_warnings = 0;
    info->warning[0] = '\0';
    return jpeg_decode(data, size, &all, image, info, err);
}

static enum pack_status
jpeg_probe(const uint8_t *data, size_t size, const struct pack_image_params *params,
           struct pack_image_info *info, struct pack_error *err)
{
    struct pack_jpeg_headers headers;
    enum pack_status status = pack_jpeg_scan(data, size, &headers, err);
    if (!status)
        status = pack_image_check_size(headers.width, headers.height, params, err);
    if (status)
        return status;
    info->width = headers.width;
    info->height = headers.height;
    info->source_channels = headers.components;
    info->source_depth = 8;
    info->has_icc = headers.has_icc;
    info->whole = headers.progressive || headers.scan_components != headers.components;
    pack_image_info_turn(info, headers.orientation ? headers.orientation : 1, params);
    return PACK_OK;
}

static bool
jpeg_is_mine(const uint8_t *data, size_t size)
{
    return size >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0;
}

/* Where there are several scans, the coefficients of the whole image: 64 of two bytes for
 * each block of 8x8, with up to four blocks of rounding. Beside them some dozen rows. */
static uint64_t
jpeg_decoder_bytes(const struct pack_image_info *info)
{
    uint32_t width, height;
    pack_image_info_stored(info, &width, &height);
    uint64_t blocks_high = info->whole ? height / 8 + 5 : 0;
    return 128 * 1024 +
           (uint64_t)info->source_channels * (width / 8 + 5) * (512 + 128 * blocks_high) +
           pack_image_rows_bytes(width, height, info->source_channels, false);
}

const struct pack_image_codec pack_image_jpeg = {
    .name = "JPEG",
    .format = PACK_IMAGE_JPEG,
    .is_mine = jpeg_is_mine,
    .probe = jpeg_probe,
    .decode = jpeg_decode,
    .decoder_bytes = jpeg_decoder_bytes,
};
