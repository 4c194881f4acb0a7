/* What a finished sample looks like in memory, and exact sums over its pixels. */
#ifndef LIBPACK_PIXEL_H
#define LIBPACK_PIXEL_H

#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_pixel_layout {
    PACK_PIXEL_NHWC = 0, /* rows of interleaved pixels */
    PACK_PIXEL_NCHW      /* one plane per channel */
};

/* "nhwc" or "nchw"; PACK_ERR_ARGUMENT else. */
enum pack_status pack_pixel_layout_parse(const char *name, enum pack_pixel_layout *layout,
                                         struct pack_error *err);
const char *pack_pixel_layout_name(enum pack_pixel_layout layout);

/*
 * Adds each channel's sum of values and of squared values to sum[] and sumsq[].
 *
 * sample:  h * w * channels bytes in the given layout, 1 or 3 channels
 *
 * Exact. 64 bits hold 2^48 pixels of squares.
 */
void pack_pixel_sums(const uint8_t *sample, enum pack_pixel_layout layout, uint32_t h,
                     uint32_t w, int channels, uint64_t sum[3], uint64_t sumsq[3]);

#ifdef __cplusplus
}
#endif
#endif
