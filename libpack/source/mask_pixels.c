/* Colours are counted in a small table; nothing is asked of them but how many differ. */
#include "libpack/source/mask_pixels.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpack/image.h>

#include "libpack/base/fd.h"

enum {
    FILE_BYTES_MAX = 1 << 26,
    DECODE_BYTES_MAX = 1 << 27,
    SHADES = 8, /* that a photo has for each colour of its mask */
    COLORS_MAX = SHADES * PACK_MASK_COLORS_MAX,
    SLOTS = 8192
};

/* Different colours, up to a bound. */
struct colors {
    uint32_t slots[SLOTS]; /* colour + 1; 0: free */
    uint32_t list[COLORS_MAX + 1];
    size_t n;
};

/* ------------------------------------------------------------------- decoding */

/* The whole file, to be freed with free(); *data is NULL when it cannot be had. */
static enum pack_status
read_file(const struct pack_source *source, uint64_t index, const struct pack_watch *watch,
          uint8_t **data, size_t *size, struct pack_error *err)
{
    struct stat st;
    enum pack_status status = PACK_OK;
    int fd;
    *data = NULL;
    if (pack_source_open_watched(source, index, watch, &fd, NULL) != PACK_OK)
        return pack_watch_check(watch, err);
    if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= FILE_BYTES_MAX) {
        *data = malloc((size_t)st.st_size);
        status = *data ? PACK_OK : pack_fail_memory(err, "an image");
    }
    if (*data && !pack_fd_read_at(fd, *data, (size_t)st.st_size, 0, size)) {
        free(*data);
        *data = NULL;
    }
    close(fd);
    return status;
}

/* A large JPEG is decoded small: its shades remain. */
static int
reduction_of(const struct pack_image_info *info)
{
    uint64_t pixels = (uint64_t)info->width * info->height;
    return pixels >= 1 << 22 ? 8 : pixels >= 1 << 20 ? 4 : 1;
}

/* *is_good is false where there is no image to be had. */
static enum pack_status
decode(const struct pack_source *source, uint64_t index, const struct pack_watch *watch,
       struct pack_image *image, struct pack_image_info *info, bool *is_good,
       struct pack_error *err)
{
    struct pack_image_params params = { 0 };
    uint8_t *data;
    size_t size;
    *is_good = false;
    enum pack_status status = read_file(source, index, watch, &data, &size, err);
    if (!data)
        return status;
    status = pack_image_probe(data, size, &params, info, err);
    if (status == PACK_OK && info->format == PACK_IMAGE_JPEG)
        params.reduce = reduction_of(info);
    if (status == PACK_OK && pack_image_decode_bytes(info, &params) <= DECODE_BYTES_MAX) {
        status = pack_image_decode(data, size, &params, image, info, err);
        *is_good = status == PACK_OK;
    }
    free(data);
    return status == PACK_ERR_MEMORY ? status : PACK_OK;
}

/* ------------------------------------------------------------------- counting */

static void
add_color(struct colors *c, uint32_t color)
{
    size_t slot = (color * UINT32_C(2654435761)) >> 19;
    while (c->slots[slot] && c->slots[slot] != color + 1)
        slot = (slot + 1) % SLOTS;
    if (c->slots[slot])
        return;
    c->slots[slot] = color + 1;
    c->list[c->n++] = color;
}

/* Stops behind `n_max` colours. */
static void
count_colors(const struct pack_image *image, size_t n_max, struct colors *c)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i + 2 < image->size && c->n <= n_max; i += 3)
        add_color(c, (uint32_t)image->pixels[i] << 16 |
                         (uint32_t)image->pixels[i + 1] << 8 | image->pixels[i + 2]);
}

/* False when there are too many. */
static bool
add_to_palette(struct pack_mask_palette *palette, const struct colors *c)
{
    for (size_t i = 0; i < c->n; i++) {
        size_t k = 0;
        while (k < palette->n && palette->colors[k] != c->list[i])
            k++;
        if (k == PACK_MASK_COLORS_MAX)
            return false;
        palette->colors[k] = c->list[i];
        palette->n += k == palette->n;
    }
    return true;
}

/* The two, decoded. */
struct decoded {
    struct pack_image mask, image;
    struct pack_image_info mask_info, image_info;
};

static enum pack_status
decode_both(const struct pack_source *source, struct pack_mask_pair pair,
            const struct pack_watch *watch, struct decoded *d, bool *are_good,
            struct pack_error *err)
{
    enum pack_status status =
        decode(source, pair.mask, watch, &d->mask, &d->mask_info, are_good, err);
    if (status == PACK_OK && *are_good && d->mask_info.format == PACK_IMAGE_JPEG)
        *are_good = false;
    if (status == PACK_OK && *are_good)
        status = decode(source, pair.image, watch, &d->image, &d->image_info, are_good, err);
    *are_good = *are_good && d->image_info.width == d->mask_info.width &&
                d->image_info.height == d->mask_info.height;
    return status;
}

static bool
have_colors(const struct decoded *d, struct pack_mask_palette *palette, struct colors *c)
{
    count_colors(&d->mask, PACK_MASK_COLORS_MAX, c);
    if (c->n < 2 || !add_to_palette(palette, c))
        return false;
    size_t n_shades = SHADES * c->n;
    count_colors(&d->image, n_shades, c);
    return c->n >= n_shades;
}

enum pack_status
pack_mask_pixels_fit(const struct pack_source *source, struct pack_mask_pair pair,
                     const struct pack_watch *watch, struct pack_mask_palette *palette,
                     bool *fit, struct pack_error *err)
{
    struct decoded d = { 0 };
    struct colors *c = malloc(sizeof *c);
    enum pack_status status = c ? decode_both(source, pair, watch, &d, fit, err)
                                : pack_fail_memory(err, "colours of an image");
    if (status == PACK_OK)
        *fit = *fit && have_colors(&d, palette, c);
    pack_image_done(&d.image);
    pack_image_done(&d.mask);
    free(c);
    return status;
}
