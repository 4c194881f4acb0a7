/*
 * Sums are taken in 32 bits over blocks of rows and added up in 64: compilers turn that
 * into vector code, and 255 * 255 * MAX_ROWS stays below 2^32.
 */
#include "config.h"

#include "libpack/base/check.h"
#include "libpack/image/pixel_parts.h"

#include <string.h>

enum { COLUMNS = PACK_PIXEL_COLUMNS, MAX_ROWS = 65536 };

static const char *const layout_names[] = {
    [PACK_PIXEL_NHWC] = "nhwc",
    [PACK_PIXEL_NCHW] = "nchw",
};

enum pack_status
pack_pixel_layout_parse(const char *name, enum pack_pixel_layout *layout,
                        struct pack_error *err)
{
    if (!name || !layout)
        return pack_check_given(err, "name", name, "layout", layout, NULL);
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

/* COLUMNS independent sums, so that the inner loop has neither stride nor dependence;
 * column i belongs to channel i % channels. */
size_t
pack_pixel_add_scalar(const uint8_t *restrict p, size_t n, int channels, uint64_t sum[3],
                      uint64_t sumsq[3])
{
    const size_t all = n;
    while (n >= COLUMNS) {
        size_t rows = n / COLUMNS;
        rows = rows < MAX_ROWS ? rows : MAX_ROWS;
        uint32_t s[COLUMNS] = { 0 }, q[COLUMNS] = { 0 };
        for (size_t row = 0; row < rows; row++, p += COLUMNS)
            for (int i = 0; i < COLUMNS; i++) {
                s[i] += p[i];
                q[i] += (uint32_t)p[i] * p[i];
            }
        for (int i = 0; i < COLUMNS; i++) {
            sum[i % channels] += s[i];
            sumsq[i % channels] += q[i];
        }
        n -= rows * COLUMNS;
    }
    for (size_t i = 0; i < n; i++) {
        sum[i % channels] += p[i];
        sumsq[i % channels] += (uint32_t)p[i] * p[i];
    }
    return all;
}

static void
add_up(const uint8_t *p, size_t n, int channels, uint64_t *sum, uint64_t *sumsq)
{
    size_t done = 0;
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2"))
        done = pack_pixel_add_avx2(p, n, channels, sum, sumsq);
#endif
    pack_pixel_add_scalar(p + done, n - done, channels, sum, sumsq);
}

void
pack_pixel_sums(const uint8_t *sample, enum pack_pixel_layout layout, size_t n_pixels,
                int channels, uint64_t sum[3], uint64_t sumsq[3])
{
    if (layout == PACK_PIXEL_NHWC) {
        add_up(sample, n_pixels * (size_t)channels, channels, sum, sumsq);
        return;
    }
    for (int c = 0; c < channels; c++)
        add_up(sample + (size_t)c * n_pixels, n_pixels, 1, &sum[c], &sumsq[c]);
}

void
pack_pixel_flip(const uint8_t *row, size_t n, uint8_t *out)
{
    size_t x = 0;
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2"))
        x = pack_pixel_flip_avx2(row, n, out);
#endif
    for (; x < n; x++)
        memcpy(out + 3 * x, row + 3 * (n - 1 - x), 3);
}
