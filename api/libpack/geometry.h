/* From the size of an image to what is resized, what is cut out of it and where it
 * goes. */
#ifndef LIBPACK_GEOMETRY_H
#define LIBPACK_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    uint32_t size_h, size_w; /* --size HxW */
    enum pack_fit fit;
    uint32_t shorter;        /* shorter side, as torchvision's Resize(N) */
    uint32_t crop_h, crop_w; /* then the centre, as torchvision's CenterCrop((H, W)) */
    enum pack_resample_filter filter;
};

enum { PACK_GEOMETRY_MAX = 65535 };

/*
 * What to do with one image: scale `box` of the source to resized_w x resized_h, take the
 * window of it, put that into an out_w x out_h sample at pad_x, pad_y; the rest is black.
 *
 *     source          resized               output
 *     +---------+     +--------------+      +----------+
 *     | +-box-+ | --> |  +-window-+  | -->  |  black   |
 *     | +-----+ |     |  +--------+  |      | +window+ |
 *     +---------+     +--------------+      +----------+
 */
struct pack_geometry_plan {
    uint32_t source_w, source_h;
    double box[4]; /* left, top, right, bottom in source pixels, as Pillow's `box` */
    uint32_t resized_w, resized_h;
    uint32_t window_x, window_y, window_w, window_h;
    uint32_t pad_x, pad_y;
    uint32_t out_w, out_h;
    enum pack_resample_filter filter;
};

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

/* PACK_ERR_ARGUMENT for combinations and sizes that mean nothing. */
enum pack_status pack_geometry_check(const struct pack_geometry *geometry,
                                     struct pack_error *err);

/* Whether every image gets the same output size, and which; false where `shorter` stands
 * alone or nothing is asked for. */
bool pack_geometry_fixed(const struct pack_geometry *geometry, uint32_t *out_h,
                         uint32_t *out_w);

/*
 * The plan for an image of w x h pixels (upright), both at least 1.
 *
 * crop and pad:      ImageOps.fit() and ImageOps.pad() of Pillow 9.4, with centring
 *                    (0.5, 0.5). Where ImageOps.pad() rounds a side to nothing and fails,
 *                    that side is 1
 * shorter and crop:  torchvision's Resize and CenterCrop on PIL images: the long side is
 *                    int(N * long / short), the crop's offset
 *                    int(round((side - crop) / 2)), half to even; a side smaller than the
 *                    crop is padded with (crop - side) / 2 before it
 *
 * Returns PACK_OK, PACK_ERR_ARGUMENT as pack_geometry_check(), or PACK_ERR_LIMIT when the
 * resized image or the sample would pass 2^31 - 1 pixels a side or bytes (of 3 channels).
 */
enum pack_status pack_geometry_plan_make(const struct pack_geometry *geometry, uint32_t w,
                                         uint32_t h, struct pack_geometry_plan *plan,
                                         struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
