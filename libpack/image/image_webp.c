/*
 * WebP pixels through libwebp, found by libwebpdemux as Pillow finds them:
 *
 *     RIFF size WEBP  VP8X flags width height  [ICCP] [ANIM]  picture...  [EXIF] [XMP]
 *     RIFF size WEBP  picture
 *
 * A picture is VP8 (lossy, with transparency in an ALPH chunk in front), VP8L (lossless),
 * or an ANMF chunk with either and its place on the canvas. Of an animation the first
 * picture is taken, on a canvas that is black and transparent where it does not reach.
 */
#include "libpack/image/image_parts.h"

#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "libpack/image/exif.h"

enum { HEADER_BYTES = 12, CHUNK_BYTES = 8 };

static uint32_t
number(const uint8_t *p, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

/* Bytes of the file as its header has it. */
static uint64_t
claimed_bytes(const uint8_t *data)
{
    return (uint64_t)number(data + 4, 4) + CHUNK_BYTES;
}

/* What is in the first chunk called `name`; NULL when it is not in the data. */
static const uint8_t *
find_chunk(const uint8_t *data, size_t size, const char *name, size_t *bytes)
{
    uint64_t at = HEADER_BYTES;
    while (size >= CHUNK_BYTES && at <= size - CHUNK_BYTES) {
        uint64_t n = number(data + at + 4, 4);
        if (memcmp(data + at, name, 4) == 0) {
            *bytes = (size_t)n;
            return n <= size - CHUNK_BYTES - at ? data + at + CHUNK_BYTES : NULL;
        }
        at += CHUNK_BYTES + n + n % 2;
    }
    return NULL;
}

/* ------------------------------------------------------------------- headers */

/* EXIF lies behind the picture. PACK_ERR_FORMAT when the data end in front of it. */
static enum pack_status
read_orientation(const uint8_t *data, size_t size, int *orientation,
                 struct pack_error *err)
{
    size_t bytes;
    const uint8_t *exif = find_chunk(data, size, "EXIF", &bytes);
    *orientation = 1;
    if (exif)
        pack_exif_orientation(exif, bytes, orientation);
    else if (claimed_bytes(data) > size)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged WebP: the file ends before its EXIF data does");
    return PACK_OK;
}

/* Blocks of a picture whose sides are 2^bits pixels. */
static uint64_t
n_blocks(uint64_t width, uint64_t height, int bits)
{
    uint64_t side = UINT64_C(1) << bits;
    return ((width + side - 1) >> bits) * ((height + side - 1) >> bits);
}

/* Of what is in the chunk `name` at `part`, `there` bytes: those of a picture of so many
 * pixels, unless it has a size of its own. */
static uint64_t
groups_of(const uint8_t *name, const uint8_t *part, size_t there, uint32_t width,
          uint32_t height, bool *is_bad)
{
    enum { SIGNATURE_BYTES = 5 };
    *is_bad = there < SIGNATURE_BYTES;
    if (*is_bad || memcmp(name, "VP8 ", 4) == 0)
        return 1;
    if (memcmp(name, "ALPH", 4) == 0) /* in the first byte, how it is compressed */
        return (part[0] & 3) == 1
                   ? pack_webp_groups(part + 1, there - 1, width, height, is_bad)
                   : 1;
    uint32_t size = number(part + 1, 4);
    return pack_webp_groups(part + SIGNATURE_BYTES, there - SIGNATURE_BYTES,
                            (size & 0x3fff) + 1, (size >> 14 & 0x3fff) + 1, is_bad);
}

/* Groups of codes in the first picture. PACK_ERR_FORMAT when the data end in front of them. */
static enum pack_status
count_groups(const uint8_t *data, size_t size, uint32_t width, uint32_t height,
             uint64_t *n, struct pack_error *err)
{
    enum { FRAME_BYTES = 16 };
    uint64_t at = HEADER_BYTES;
    while (size >= CHUNK_BYTES && at <= size - CHUNK_BYTES) {
        const uint8_t *name = data + at, *part = name + CHUNK_BYTES;
        uint64_t bytes = number(name + 4, 4);
        size_t left = size - CHUNK_BYTES - (size_t)at;
        bool is_frame = memcmp(name, "ANMF", 4) == 0, is_bad;
        if (is_frame && left >= FRAME_BYTES) {
            width = number(part + 6, 3) + 1;
            height = number(part + 9, 3) + 1;
        }
        if ((memcmp(name, "VP8", 3) == 0 && name[3] != 'X') ||
            memcmp(name, "ALPH", 4) == 0) {
            size_t there = bytes < left ? (size_t)bytes : left;
            *n = groups_of(name, part, there, width, height, &is_bad);
            if (!is_bad || there == bytes) /* what is damaged libwebp refuses */
                return PACK_OK;
            break;
        }
        at += CHUNK_BYTES + (is_frame ? FRAME_BYTES : bytes + bytes % 2);
    }
    return pack_fail(err, PACK_ERR_FORMAT,
                     "damaged WebP: the file ends before its picture begins");
}

/*
 * What libwebp holds beside the pixels: some rows; of a lossless picture, and likewise of
 * the transparency of a lossy one, all of it as 32-bit words, up to three pictures of a word
 * per block (two transforms, and the groups of codes), and the tables of these groups, of
 * 5004 entries each. libwebp's encoder makes 2600 groups at most, others may make 65536.
 */
static uint64_t
decoder_bytes(uint64_t width, uint64_t height, bool is_lossless, bool has_alpha,
              uint64_t n_groups)
{
    const uint64_t group_bytes = 5004 * 4 + 640;
    uint64_t bytes = 512 * 1024 + 512 * width;
    if (!is_lossless && !has_alpha)
        return bytes;
    return bytes + 4 * width * (height + 16) + (is_lossless ? 0 : width * height) +
           3 * 4 * n_blocks(width, height, 2) + n_groups * group_bytes;
}

static enum pack_status
webp_probe(const uint8_t *data, size_t size, const struct pack_image_params *params,
           struct pack_image_info *info, struct pack_error *err)
{
    WebPBitstreamFeatures features;
    int orientation = 1;
    VP8StatusCode code = WebPGetFeatures(data, size, &features);
    if (code == VP8_STATUS_NOT_ENOUGH_DATA)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged WebP: the file ends before its picture begins");
    if (code != VP8_STATUS_OK || features.width <= 0 || features.height <= 0)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged WebP: its headers contradict each other");
    info->width = (uint32_t)features.width;
    info->height = (uint32_t)features.height;
    info->source_channels = features.has_alpha ? 4 : 3;
    info->source_depth = 8;
    info->has_alpha = features.has_alpha;
    info->animated = features.has_animation;
    enum pack_status status =
        pack_image_check_size(info->width, info->height, params, err);
    bool is_extended = memcmp(data + HEADER_BYTES, "VP8X", 4) == 0;
    uint8_t flags = is_extended ? data[HEADER_BYTES + CHUNK_BYTES] : 0;
    info->has_icc = flags & ICCP_FLAG;
    if (status == PACK_OK && flags & EXIF_FLAG)
        status = read_orientation(data, size, &orientation, err);
    if (status != PACK_OK)
        return status;
    bool is_lossless = features.format != 1; /* of an animation it is not told */
    uint64_t n_groups = 1;
    status = count_groups(data, size, info->width, info->height, &n_groups, err);
    if (status != PACK_OK)
        return status;
    info->decoder_bytes = decoder_bytes(info->width, info->height, is_lossless,
                                        features.has_alpha, n_groups) +
                          pack_image_rows_bytes(info->width, info->height, 4, true);
    pack_image_info_turn(info, orientation, params);
    return PACK_OK;
}

/* -------------------------------------------------------------------- pixels */

static enum pack_status
fail_code(VP8StatusCode code, struct pack_error *err)
{
    switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY: return pack_fail_memory(err, "decoding a WebP");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "a WebP of a kind that libwebp does not read");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged WebP: the file ends before the image does");
    default:
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged WebP: what is in it is no picture");
    }
}

/* Decodes a picture to memory, rows `stride` bytes apart, of which `room` are there. */
static enum pack_status
decode_picture(const WebPData *picture, WEBP_CSP_MODE mode, uint8_t *to, size_t stride,
               size_t room, struct pack_error *err)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "a libwebp of another version");
    config.output.colorspace = mode;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = to;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = room;
    VP8StatusCode code = WebPDecode(picture->bytes, picture->size, &config);
    WebPFreeDecBuffer(&config.output);
    return code == VP8_STATUS_OK ? PACK_OK : fail_code(code, err);
}

/* By way of a canvas of stored pixels. */
static enum pack_status
decode_canvas(const WebPIterator *frame, struct pack_image_rows *rows,
              struct pack_error *err)
{
    size_t pixel_bytes = rows->samples == PACK_SAMPLES_RGB ? 3 : 4;
    size_t all = rows->native_stride * rows->height;
    size_t skipped = (size_t)frame->y_offset * rows->native_stride +
                     (size_t)frame->x_offset * pixel_bytes;
    memset(rows->native, 0, all);
    enum pack_status status = decode_picture(
        &frame->fragment, rows->samples == PACK_SAMPLES_RGB ? MODE_RGB : MODE_RGBA,
        rows->native + skipped, rows->native_stride, all - skipped, err);
    for (uint32_t y = 0; status == PACK_OK && y < rows->height; y += PACK_IMAGE_STRIP) {
        uint32_t left = rows->height - y;
        pack_image_rows_put(rows, y, left < PACK_IMAGE_STRIP ? left : PACK_IMAGE_STRIP,
                            rows->native + y * rows->native_stride);
    }
    return status;
}

static bool
fills(const WebPIterator *frame, const struct pack_image_rows *rows)
{
    return frame->x_offset == 0 && frame->y_offset == 0 &&
           (uint32_t)frame->width == rows->width &&
           (uint32_t)frame->height == rows->height;
}

static enum pack_status
decode_frame(const WebPIterator *frame, const struct pack_image_params *params,
             struct pack_image *image, const struct pack_image_info *info,
             struct pack_error *err)
{
    struct pack_image_rows rows = { .image = image };
    bool blends = params->has_background && info->has_alpha;
    rows.samples = blends ? PACK_SAMPLES_RGB_ALPHA : PACK_SAMPLES_RGB;
    bool is_upright = info->orientation == 1 && params->mode == PACK_IMAGE_RGB && !blends;
    enum pack_status status =
        pack_image_rows_begin(&rows, !is_upright || info->animated, info, params, err);
    if (status != PACK_OK)
        return status;
    if ((uint64_t)frame->x_offset + (uint64_t)frame->width > rows.width ||
        (uint64_t)frame->y_offset + (uint64_t)frame->height > rows.height)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged WebP: its headers contradict each other");
    if (!is_upright || info->animated)
        return decode_canvas(frame, &rows, err);
    if (!fills(frame, &rows))
        return pack_fail(err, PACK_ERR_FORMAT,
                         "damaged WebP: its headers contradict each other");
    return decode_picture(&frame->fragment, MODE_RGB, image->pixels,
                          (size_t)rows.width * 3, image->size, err);
}

static enum pack_status
webp_decode(const uint8_t *data, size_t size, const struct pack_image_params *params,
            struct pack_image *image, struct pack_image_info *info,
            struct pack_error *err)
{
    WebPData whole = { data, size };
    WebPDemuxState state;
    WebPIterator frame;
    if (claimed_bytes(data) > size)
        return fail_code(VP8_STATUS_NOT_ENOUGH_DATA, err);
    WebPDemuxer *demuxer = WebPDemuxInternal(&whole, 0, &state, WEBP_DEMUX_ABI_VERSION);
    if (!demuxer)
        return state == WEBP_DEMUX_DONE ? pack_fail_memory(err, "decoding a WebP")
                                        : fail_code(VP8_STATUS_BITSTREAM_ERROR, err);
    enum pack_status status;
    if (WebPDemuxGetFrame(demuxer, 1, &frame)) {
        status = decode_frame(&frame, params, image, info, err);
        WebPDemuxReleaseIterator(&frame);
    } else {
        status = fail_code(VP8_STATUS_BITSTREAM_ERROR, err);
    }
    WebPDemuxDelete(demuxer);
    return status;
}

static bool
webp_is_mine(const uint8_t *data, size_t size)
{
    return size >= 16 && memcmp(data, "RIFF", 4) == 0 &&
           memcmp(data + 8, "WEBPVP8", 7) == 0;
}

static uint64_t
webp_decoder_bytes(const struct pack_image_info *info)
{
    return info->decoder_bytes;
}

const struct pack_image_codec pack_image_webp = {
    .name = "WebP",
    .format = PACK_IMAGE_WEBP,
    .is_mine = webp_is_mine,
    .probe = webp_probe,
    .decode = webp_decode,
    .decoder_bytes = webp_decoder_bytes,
};
