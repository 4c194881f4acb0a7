/* An open TIFF: its first picture's tags, in terms of what is decoded. */
#ifndef LIBPACK_IMAGE_TIFF_H
#define LIBPACK_IMAGE_TIFF_H

#include <tiffio.h>

#include "libpack/image/image_parts.h"
#include "libpack/image/probe.h"

struct pack_tiff_tags {
    uint32_t width, height; /* as stored */
    uint16_t depth, n_samples, photometric, compression;
    bool is_planar, is_tiled, is_multiplied, has_alpha, has_icc, has_more;
    bool is_ycbcr;                   /* left to libtiff's conversion to RGB */
    bool stays_wide;                 /* 16-bit samples go on as such */
    int orientation;                 /* 1 to 8 */
    enum pack_image_samples samples; /* of native rows */
    size_t n_native;                 /* of them, stored samples that are looked at */
    uint32_t band_rows;              /* of a strip or tile */
    uint32_t tile_width;
    uint64_t row_bytes, tile_row_bytes; /* of one plane */
    uint64_t tile_bytes, band_bytes;    /* of all planes; of YCbCr, 32 bits a pixel */
    uint64_t raw_bytes;                 /* of the largest strip or tile in the file */
    uint64_t tags_bytes;                /* what libtiff keeps of the tags */
};

struct pack_tiff {
    TIFF *tiff;
    struct pack_tiff_tags tags;
    struct pack_image_info *info; /* takes warnings; NULL: they do not count */
    const struct pack_image_reader *reader;
    uint64_t at;
    bool ends_early; /* something was to be read behind the end */
    bool is_refused; /* libtiff refused to allocate that much */
    bool has_text;
    char text[160]; /* the first error's */
};

/* What libtiff takes at most to read the tags, from what they say; errors as
 * pack_image_probe(). */
enum pack_status pack_tiff_walk(const struct pack_image_reader *reader,
                                const struct pack_image_params *params, uint64_t *bytes,
                                struct pack_error *err);

/*
 * Opens a TIFF and checks that its first picture is one that is decoded here;
 * errors as pack_image_probe(). `tiff` is zeroed by the caller and stays where it is until
 * pack_tiff_close(), which is not called after a failure.
 */
enum pack_status pack_tiff_open(struct pack_tiff *tiff,
                                const struct pack_image_reader *reader,
                                const struct pack_image_params *params,
                                struct pack_error *err);
void pack_tiff_close(struct pack_tiff *tiff);

/* A call of libtiff failed: PACK_ERR_FORMAT or PACK_ERR_MEMORY, in its words. */
enum pack_status pack_tiff_fail(const struct pack_tiff *tiff, struct pack_error *err);

/* An upper bound of what libtiff and the band take. */
uint64_t pack_tiff_bytes(const struct pack_tiff_tags *tags);

#endif
