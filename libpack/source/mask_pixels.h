/* Whether the pixels of an image are the numbers of things in another, in colours. */
#ifndef LIBPACK_MASK_PIXELS_H
#define LIBPACK_MASK_PIXELS_H

#include "libpack/source/records.h"

enum {
    PACK_MASK_PAIRS_MAX = 16,   /* that are looked into */
    PACK_MASK_COLORS_MAX = 128, /* of all masks together */
};

/* Two records of a source, one of which may be the other's mask. */
struct pack_mask_pair {
    uint64_t mask, image;
};

/* The colours of the masks looked at. Zeroed by the caller. */
struct pack_mask_palette {
    uint32_t colors[PACK_MASK_COLORS_MAX];
    size_t n;
};

/*
 * *fit is whether the mask has two colours at least, those of all masks being few, and the
 * image eight times as many in as many pixels: a photo has shades, and maps of labels share
 * their colours. False also where they cannot be decoded, or take more than 128 MiB for it.
 * PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED.
 */
enum pack_status pack_mask_pixels_fit(const struct pack_source *source,
                                      struct pack_mask_pair pair,
                                      const struct pack_watch *watch,
                                      struct pack_mask_palette *palette, bool *fit,
                                      struct pack_error *err);

#endif
