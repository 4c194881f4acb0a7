/* What image.c, its codecs and image_rows.c share. */
#ifndef LIBPACK_IMAGE_PARTS_H
#define LIBPACK_IMAGE_PARTS_H

#include <libpack/image.h>

struct pack_image_reader; /* probe.h */

/* One codec: adding a format is one file and one line in image.c. */
struct pack_image_codec {
    const char *name;
    enum pack_image_format format;
    bool (*is_mine)(const uint8_t *data, size_t size);
    /* Headers only; calls pack_image_check_size(). params is never NULL. */
    enum pack_status (*probe)(const uint8_t *data, size_t size,
                              const struct pack_image_params *params,
                              struct pack_image_info *info, struct pack_error *err);
    /* After a probe, whose info it completes with warnings. */
    enum pack_status (*decode)(const uint8_t *data, size_t size,
                               const struct pack_image_params *params,
                               struct pack_image *image, struct pack_image_info *info,
                               struct pack_error *err);
    /* Beside pixels, at most. Without one every budget is too small. */
    uint64_t (*decoder_bytes)(const struct pack_image_info *info);
    /* Of formats whose headers lie anywhere, else NULL: what a probe takes, and the probe. */
    enum pack_status (*probe_bytes)(const struct pack_image_reader *reader,
                                    const struct pack_image_params *params,
                                    uint64_t *bytes, struct pack_error *err);
    enum pack_status (*probe_at)(const struct pack_image_reader *reader,
                                 const struct pack_image_params *params,
                                 struct pack_image_info *info, struct pack_error *err);
};

/* NULL when content begins as none that is decoded here. */
const struct pack_image_codec *pack_image_codec_of(const uint8_t *data, size_t size);

extern const struct pack_image_codec pack_image_jpeg;
extern const struct pack_image_codec pack_image_png;
extern const struct pack_image_codec pack_image_webp; /* where there is libwebp */
extern const struct pack_image_codec pack_image_tiff; /* where there is libtiff */

/* PACK_ERR_LIMIT beyond params->max_pixels. */
enum pack_status pack_image_check_size(uint64_t width, uint64_t height,
                                       const struct pack_image_params *params,
                                       struct pack_error *err);

/* Sets the orientation (1 to 8) unless params ignore it, turning width and height. */
void pack_image_info_turn(struct pack_image_info *info, int orientation,
                          const struct pack_image_params *params);

/* Width and height as stored, before any turning. */
void pack_image_info_stored(const struct pack_image_info *info, uint32_t *width,
                            uint32_t *height);

/* Width and height as they are decoded: reduced, where the format can be. */
void pack_image_info_reduce(struct pack_image_info *info,
                            const struct pack_image_params *params);

/* What a decoder that can divides the sides by: 1, 2, 4 or 8. */
int pack_image_reduction(const struct pack_image_params *params);

/* Counts a warning and keeps the first one's text. */
void pack_image_info_warn(struct pack_image_info *info, const char *text);

/* What a codec's rows consist of: interleaved samples of 8 bits, or 16. */
enum pack_image_samples {
    PACK_SAMPLES_GRAY,
    PACK_SAMPLES_GRAY_ALPHA,
    PACK_SAMPLES_RGB,
    PACK_SAMPLES_RGB_ALPHA,
    PACK_SAMPLES_PALETTE,       /* indices */
    PACK_SAMPLES_CMYK_INVERTED, /* 255 is no ink */
};

enum { PACK_IMAGE_STRIP = 16 }; /* rows that a codec hands over at most at once */

/* Takes stored rows, in order, and puts them upright into an image in its mode. */
struct pack_image_rows {
    struct pack_image *image;        /* set by the codec */
    enum pack_image_samples samples; /* likewise */
    bool wide; /* likewise: 16-bit samples in the machine's byte order; gray and RGB only */
    bool white_is_zero; /* likewise, of wide gray: turned over when it is of 8 bits */
    uint32_t width, height; /* as stored */
    int orientation;
    bool composite;
    uint8_t background[3];
    uint8_t palette[256][3]; /* composited already */
    uint8_t palette_gray[256];
    bool scales;        /* 16-bit samples from low..high, else their high byte */
    uint16_t low, high; /* what is scaled to 0..255 */
    uint16_t seen_low, seen_high; /* of 16-bit samples put so far, alpha apart */
    uint8_t *native;      /* room for the codec: a strip of rows, or all of them */
    size_t native_stride; /* bytes from row to row there */
    uint8_t *strip;       /* converted rows on their way to being turned */
};

/*
 * Sizes rows->image and its working memory. info says how large; `whole` asks for room
 * for all stored rows at rows->native. Palettes are set by pack_image_rows_color().
 */
enum pack_status pack_image_rows_begin(struct pack_image_rows *rows, bool whole,
                                       const struct pack_image_info *info,
                                       const struct pack_image_params *params,
                                       struct pack_error *err);

/* Colour i of a palette; alpha 255 where the file has none. */
void pack_image_rows_color(struct pack_image_rows *rows, int i, const uint8_t rgb[3],
                           uint8_t alpha);

/* Where stored row y may be decoded to without a detour, or NULL. */
uint8_t *pack_image_rows_direct(const struct pack_image_rows *rows, uint32_t y);

/* Takes n stored rows, at most PACK_IMAGE_STRIP, from row y on. Rows of 16 bits become
 * rows of 8 where they are. */
void pack_image_rows_put(struct pack_image_rows *rows, uint32_t y, uint32_t n,
                         uint8_t *native);

/* What was seen of the samples, for info. */
void pack_image_rows_end(const struct pack_image_rows *rows,
                         struct pack_image_info *info);

/* Bytes that rows_begin() takes beside the pixels, for pixels of so many bytes. */
uint64_t pack_image_rows_bytes(uint64_t width, uint64_t height, int native_bytes,
                               bool whole);

/* What the markers of a JPEG say. */
struct pack_jpeg_headers {
    uint32_t width, height;
    int components;
    bool progressive, has_icc;
    int scan_components; /* of the first scan */
    int orientation;     /* 0: no EXIF data seen */
};

/* Walks over a JPEG's markers up to its first scan. Errors as pack_image_probe(). */
enum pack_status pack_jpeg_scan(const uint8_t *data, size_t size,
                                struct pack_jpeg_headers *headers,
                                struct pack_error *err);

/* PACK_ERR_FORMAT, saying what is wrong with a JPEG. */
enum pack_status pack_jpeg_damaged(const char *what, struct pack_error *err);

/* Groups of codes in the pixels of a lossless WebP, or of the transparency of a lossy one,
 * at most, from behind their header on. *is_bad: they end before that is known, or are
 * damaged. */
uint64_t pack_webp_groups(const uint8_t *data, size_t size, uint32_t width,
                          uint32_t height, bool *is_bad);

/* What the chunks of a PNG say, pixels apart. */
struct pack_png_facts {
    uint32_t width, height;
    int depth, color_type;
    bool interlaced, has_trns, has_icc, animated, partial;
    int orientation; /* 1 to 8 */
};

/* Walks over a PNG's chunks, without libpng. Errors as pack_image_probe(). */
enum pack_status pack_png_walk(const uint8_t *data, size_t size,
                               const struct pack_image_params *params,
                               struct pack_png_facts *facts, struct pack_error *err);

#endif
