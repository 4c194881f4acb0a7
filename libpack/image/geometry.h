/* From the size of an image to what is resized, what is cut out of it and where it
 * goes. */
#ifndef LIBPACK_GEOMETRY_H
#define LIBPACK_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/image.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    int reduce; /* what decoding divides the sides by: 1, 2, 4 or 8; source_w and source_h
                   are what it gives */
    bool flips; /* the window is mirrored, left to right */
};

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

/*
 * The plan for an image file, from a probe of it. With `draft` a JPEG is reduced as
 * JpegImageFile.draft() of Pillow 9.4 does when it is given the size that the whole image
 * would be resized to: by the largest of 8, 4, 2 and 1 that is not above either ratio of
 * the sides, cut to whole numbers. What comes out of that is then treated as if it were
 * the image, so that Resize(N) takes its ratio from it.
 *
 * Errors as pack_geometry_plan_make().
 */
enum pack_status pack_geometry_plan_image(const struct pack_geometry *geometry,
                                          const struct pack_image_info *info,
                                          struct pack_geometry_plan *plan,
                                          struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
