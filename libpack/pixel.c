/*
 * Sums run over rows of at most BLOCK pixels with 32-bit accumulators, which compilers
 * turn into vector code: 255 * 255 * BLOCK stays below 2^32.
 */
#include "libpack/pixel.h"

#include <string.h>

enum { BLOCK = 32768 };

static const char *const layout_names[] = {
    [PACK_LAYOUT_NHWC] = "nhwc",
    [PACK_LAYOUT_NCHW] = "nchw",
};

enum pack_status
pack_pixel_layout_parse(const char *name, enum pack_pixel_layout *layout,
                        struct pack_error *err)
{
    for (size_t i = 0; i < sizeof layout_names / sizeof layout_names[0]; i++)
        if (strcmp(name, layout_names[i]) == 0) {
            *layout = (enum pack_pixel_layout)i;
            return PACK_OK;
        }
    return pack_fail(err, PACK_ERR_ARGUMENT,
                     "unknown layout '%s': nhwc and nchw are known", name);
}

const char *
pack_pixel_layout_name(enum pack_pixel_layout layout)
{
    return (unsigned)layout < 2 ? layout_names[layout] : "unknown";
}

static void
sum_plane(const uint8_t *restrict p, size_t n, uint64_t *sum, uint64_t *sumsq)
{
    while (n) {
        size_t block = n < BLOCK ? n : BLOCK;
        uint32_t s = 0, q = 0;
        for (size_t i = 0; i < block; i++) {
            s += p[i];
            q += (uint32_t)p[i] * p[i];
        }
        *sum += s;
        *sumsq += q;
        p += block;
        n -= block;
    }
}

/* Three interleaved channels: 24 independent columns, so that the inner loop has no
 * stride and vectorises; column i belongs to channel i % 3. */
static void
sum_interleaved(const uint8_t *restrict p, size_t n_pixels, uint64_t sum[3],
                uint64_t sumsq[3])
{
    enum { COLUMNS = 48, PIXELS = COLUMNS / 3 };
    while (n_pixels >= PIXELS) {
        size_t rows = n_pixels / PIXELS;
        rows = rows < BLOCK ? rows : BLOCK;
        uint32_t s[COLUMNS] = { 0 }, q[COLUMNS] = { 0 };
        for (size_t r = 0; r < rows; r++, p += COLUMNS)
            for (int i = 0; i < COLUMNS; i++) {
                s[i] += p[i];
                q[i] += (uint32_t)p[i] * p[i];
            }
        for (int i = 0; i < COLUMNS; i++) {
            sum[i % 3] += s[i];
            sumsq[i % 3] += q[i];
        }
        n_pixels -= rows * PIXELS;
    }
    for (size_t i = 0; i < 3 * n_pixels; i++) {
        sum[i % 3] += p[i];
        sumsq[i % 3] += (uint32_t)p[i] * p[i];
    }
}

void
pack_pixel_sums(const uint8_t *sample, enum pack_pixel_layout layout, uint32_t h,
                uint32_t w, int channels, uint64_t sum[3], uint64_t sumsq[3])
{
    size_t n = (size_t)h * w;
    if (layout == PACK_LAYOUT_NHWC && channels == 3) {
        sum_interleaved(sample, n, sum, sumsq);
        return;
    }
    for (int c = 0; c < channels; c++)
        sum_plane(sample + (size_t)c * n, n, &sum[c], &sumsq[c]);
}
