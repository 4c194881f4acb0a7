/* Encoded bytes in memory to uint8 pixels: JPEG and PNG, WebP and TIFF where the library
 * was built with them, told apart by their content. */
#ifndef LIBPACK_IMAGE_H
#define LIBPACK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_image_format {
    PACK_IMAGE_JPEG = 0,
    PACK_IMAGE_PNG,
    PACK_IMAGE_WEBP,
    PACK_IMAGE_TIFF
};
enum pack_image_mode { PACK_IMAGE_RGB = 0, PACK_IMAGE_GRAY };

/* Pillow's refusal limit: twice its MAX_IMAGE_PIXELS. */
#define PACK_IMAGE_MAX_PIXELS UINT64_C(178956970)

/* A rectangle of the upright image as it is decoded. */
struct pack_image_window {
    uint32_t x, y, w, h;
};

struct pack_image_params {
    enum pack_image_mode mode;
    bool ignore_orientation; /* leave the pixels as they are stored */
    bool has_background;     /* composite transparent pixels on `background` */
    uint8_t background[3];   /* red, green, blue */
    bool strict;             /* refuse what decodes with a warning */
    uint64_t max_pixels;     /* width * height; 0: PACK_IMAGE_MAX_PIXELS */
    /* 16-bit samples: low_16 to high_16 become 0 to 255, linear, rounded to nearest, what
     * is outside is cut; else their high byte is taken. Samples are what the file has: where
     * 0 is white (TIFF), low_16 becomes 255 */
    bool scales_16;
    uint16_t low_16, high_16; /* low_16 up to high_16; where they are equal it becomes 0 */
    /* Only these pixels are wanted, others may come out as anything: saves a decoder work.
     * It never changes what is accepted, nor do parts of it outside the image, or all of
     * it. NULL: all. */
    const struct pack_image_window *window;
    /* 2, 4 or 8: a JPEG's sides come out as that part, rounded up, by smaller inverse
     * DCTs, which is what Pillow's Image.draft() makes of it. 0 or 1: as they are. Other
     * formats always do. Values between count as the next lower one. */
    int reduce;
};

enum { PACK_IMAGE_WARNING_MAX = 80 };

/* What the file says about itself. */
struct pack_image_info {
    enum pack_image_format format;
    uint32_t width, height; /* after orientation, whatever it is reduced to */
    int orientation;        /* 2 to 8 where one is applied, else 1 */
    int source_channels;    /* 1 to 4, as stored; a palette counts 1 */
    int source_depth;       /* bits per sample: 1, 2, 4, 8 or 16 */
    bool has_icc;           /* an ICC profile is there; it is left alone */
    bool has_alpha;         /* an alpha channel or a PNG tRNS chunk */
    bool animated; /* several pictures: an animated PNG, of which the default image is
                      read, an animated WebP or a TIFF of many pages: the first one */
    bool partial; /* a beginning, behind which an orientation may follow (PNG) */
    bool whole; /* progressive, several scans, interlaced: decoded in one piece */
    uint64_t decoder_bytes; /* of WebP and TIFF: what decoding holds beside the pixels */
    bool has_range; /* decoded, and of 16-bit samples as scales_16 is for; then these are */
    uint16_t sample_low, sample_high; /* the smallest and the largest, alpha apart */
    bool zero_is_white;                   /* of these samples, 0 becomes 255 (TIFF) */
    unsigned n_warnings;                  /* from decoding; 0 after a probe */
    char warning[PACK_IMAGE_WARNING_MAX]; /* the first one */
};

/*
 * Decoded pixels: rows of `width * channels` interleaved bytes without padding, red
 * first. Zero it before first use; decoding into it again reuses what it holds.
 */
struct pack_image {
    uint8_t *pixels;
    uint32_t width, height;
    int channels;    /* 3, or 1 in gray mode */
    size_t size;     /* width * height * channels */
    size_t capacity; /* bytes at `pixels` */
    uint8_t *work;   /* the decoder's own: strips, interlaced rows */
    size_t work_capacity;
};

/* Frees what the image holds and zeroes it; NULL is fine. */
void pack_image_done(struct pack_image *image);

/* Name of a format: "JPEG", "PNG"; "unknown" for what is none, or not in this build. */
const char *pack_image_format_name(enum pack_image_format format);

/* Those that this build decodes: "JPEG, PNG, WebP, TIFF". */
const char *pack_image_formats(void);

/* Whether the content begins as a format decoded here; the first 16 bytes decide. */
bool pack_image_is_known(const void *data, size_t size);

/*
 * Reads the headers only: what the file is, its size, its orientation.
 *
 * data:    an encoded file. A beginning of one will do if it reaches the pixel data; an
 *          orientation stored behind the pixels (rare, PNG only) is then not seen, as
 *          info->partial says
 * params:  NULL for the defaults
 * info:    written on success
 *
 * Returns PACK_OK; PACK_ERR_ARGUMENT; PACK_ERR_UNSUPPORTED with the format's name for
 * image formats not read here and for 12-bit and lossless JPEG; PACK_ERR_FORMAT for
 * damage; PACK_ERR_LIMIT beyond max_pixels; PACK_ERR_MEMORY. What it refuses,
 * pack_image_decode() refuses with the same words. Allocates nothing that grows with the
 * image. Safe from any thread.
 */
enum pack_status pack_image_probe(const void *data, size_t size,
                                  const struct pack_image_params *params,
                                  struct pack_image_info *info, struct pack_error *err);

/*
 * Decodes a whole file to RGB or gray, upright.
 *
 * data:    the encoded file, all of it; only read during the call
 * params:  NULL for the defaults
 * image:   pixels are written here, memory in it is reused or grown; on failure its pixels
 *          are undefined, its memory is still its own
 * info:    as pack_image_probe(), with warnings; may be NULL; written on success
 *
 * The pixels equal, bit for bit, those of Pillow 9.4 on the same libjpeg-turbo:
 * ImageOps.exif_transpose(Image.open(f)).convert("RGB") or .convert("L"). That means: ICC
 * profiles, gamma and significant bits are ignored; CMYK JPEGs are taken as inverted, as
 * Adobe writes them; gray is (19595 R + 38470 G + 7471 B + 32768) >> 16 of the RGB pixel,
 * never the JPEG's own luma; a palette index beyond PLTE is a gray of that value; the
 * orientation comes from EXIF, in a PNG also from "Raw profile type exif" and XMP texts.
 * Different from Pillow: samples of 16 bits keep their high byte for gray too (Pillow
 * turns most such images white), and what libpng refuses for damage is refused.
 *
 * Transparency is dropped, as convert("RGB") does. With has_background it is composited,
 * each channel (s * a + b * (255 - a)) / 255 rounded to nearest, which is
 * Image.alpha_composite() of convert("RGBA") over the opaque background and also
 * Image.paste() with the alpha as mask; in gray mode before going to gray. Colour keys
 * (tRNS of gray and RGB images) are compared at the depth of the file, as the PNG
 * specification has it; Pillow does so at 8 bits only.
 *
 * A JPEG that ends before its last row is refused. One that libjpeg-turbo complains about
 * but decodes is accepted and the complaints counted, unless `strict`. So are a PNG's
 * damaged ancillary chunks. More than 1 MiB of text behind one compressed PNG chunk is
 * refused, as by Pillow, and so are more than 1000 scans in one JPEG.
 *
 * Returns as pack_image_probe(). Different images may be decoded from different threads.
 * Needs at most pack_image_decode_bytes() of memory. The libraries never print.
 */
enum pack_status pack_image_decode(const void *data, size_t size,
                                   const struct pack_image_params *params,
                                   struct pack_image *image, struct pack_image_info *info,
                                   struct pack_error *err);

/*
 * An upper bound of the bytes that decoding this file takes at its peak, pixels included,
 * the encoded file not: for budgets. Saturates at UINT64_MAX, which is also the answer to
 * what no probe fills in.
 */
uint64_t pack_image_decode_bytes(const struct pack_image_info *info,
                                 const struct pack_image_params *params);

/* ------------------------------------------------------------------ samples
 *
 * What a sample of a dataset is made into: its size, and how it lies in memory. */

enum pack_pixel_layout {
    PACK_PIXEL_NHWC = 0, /* rows of interleaved pixels */
    PACK_PIXEL_NCHW      /* one plane per channel */
};

/* "nhwc" or "nchw"; PACK_ERR_ARGUMENT else. */
enum pack_status pack_pixel_layout_parse(const char *name, enum pack_pixel_layout *layout,
                                         struct pack_error *err);
/* The same words; "unknown" for what is none, as with the other names below. */
const char *pack_pixel_layout_name(enum pack_pixel_layout layout);

/* Pillow's filters of the same names. */
enum pack_resample_filter {
    PACK_RESAMPLE_BILINEAR = 0,
    PACK_RESAMPLE_NEAREST,
    PACK_RESAMPLE_BOX,
    PACK_RESAMPLE_HAMMING,
    PACK_RESAMPLE_BICUBIC,
    PACK_RESAMPLE_LANCZOS
};

/* What `size_h` and `size_w` mean for an image of another aspect ratio. */
enum pack_fit {
    PACK_FIT_CROP = 0, /* ImageOps.fit(): fill, cutting off what is too much, centred */
    PACK_FIT_PAD,      /* ImageOps.pad(): the whole image, centred on black */
    PACK_FIT_STRETCH   /* Image.resize() */
};

/*
 * What is asked for. All zero: images keep their size. Either size_h and size_w, or
 * `shorter` and/or crop_h and crop_w. Each is at most PACK_GEOMETRY_MAX pixels.
 */
struct pack_geometry {
    uint32_t size_h, size_w; /* pixels; see fit */
    enum pack_fit fit;
    uint32_t shorter;        /* shorter side, as torchvision's Resize(N) */
    uint32_t crop_h, crop_w; /* then the centre, as torchvision's CenterCrop((H, W)) */
    enum pack_resample_filter filter;
    bool draft; /* Image.draft() before: JPEGs are decoded at a half, a quarter or an eighth
                   of their sides where that is no less than the size asked for */
};

enum { PACK_GEOMETRY_MAX = 65535 };

/* "nearest", "box", "bilinear", "hamming", "bicubic", "lanczos";
 * PACK_ERR_ARGUMENT else. */
enum pack_status pack_resample_filter_parse(const char *name,
                                            enum pack_resample_filter *filter,
                                            struct pack_error *err);
const char *pack_resample_filter_name(enum pack_resample_filter filter);

/* "crop", "pad", "stretch"; PACK_ERR_ARGUMENT else. */
enum pack_status pack_fit_parse(const char *name, enum pack_fit *fit,
                                struct pack_error *err);
const char *pack_fit_name(enum pack_fit fit);

/* PACK_ERR_ARGUMENT for combinations and sizes that mean nothing; whether an image can be
 * made into that is not known before its own size is. */
enum pack_status pack_geometry_check(const struct pack_geometry *geometry,
                                     struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
