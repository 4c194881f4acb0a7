/* Decoded pixels to one finished sample: uint8 resize, crop, padding and layout. */
#ifndef LIBPACK_RESAMPLE_H
#define LIBPACK_RESAMPLE_H

#include "libpack/image/geometry.h"
#include <libpack/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tables and rows that one thread keeps from image to image. */
struct pack_resample_scratch;

/* PACK_ERR_MEMORY, else *scratch is to be freed. */
enum pack_status pack_resample_scratch_new(struct pack_resample_scratch **scratch,
                                           struct pack_error *err);
void pack_resample_scratch_free(struct pack_resample_scratch *scratch);
/* Bytes that a scratch holds; lets go of all of them. */
uint64_t pack_resample_scratch_bytes(const struct pack_resample_scratch *scratch);
void pack_resample_scratch_empty(struct pack_resample_scratch *scratch);

/*
 * Carries out a plan.
 *
 * src:      of the size the plan was made for, 1 or 3 channels
 * out:      out_h * out_w * channels bytes; every byte is written
 * scratch:  from one thread at a time
 *
 * Bit for bit what Pillow 9.4 gives for resize(), crop() and paste() of an "L" or "RGB"
 * image (src/libImaging/Resample.c, Geometry.c, and the shortcuts of _resize() in
 * src/_imaging.c), though only the window's rows and columns are computed. Of several
 * implementations the fastest that the processor has is used; all give the same bytes.
 *
 * Returns PACK_OK, PACK_ERR_ARGUMENT when src is not of the plan's size, PACK_ERR_MEMORY.
 */
enum pack_status pack_resample(const struct pack_image *src,
                               const struct pack_geometry_plan *plan,
                               enum pack_pixel_layout layout, uint8_t *out,
                               struct pack_resample_scratch *scratch,
                               struct pack_error *err);

/* The same of an image whose rows lie row_bytes apart, being part of a larger one. */
enum pack_status pack_resample_part(const struct pack_image *src, size_t row_bytes,
                                    const struct pack_geometry_plan *plan,
                                    enum pack_pixel_layout layout, uint8_t *out,
                                    struct pack_resample_scratch *scratch,
                                    struct pack_error *err);

/* The part of the source that a plan looks at, or a little more: all that need be
 * decoded. */
struct pack_image_window pack_resample_source(const struct pack_geometry_plan *plan);

/* An upper bound of the bytes that one plan adds to a scratch: for budgets. */
uint64_t pack_resample_bytes(const struct pack_geometry_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
