/* What the variants of a resize do, pixel by pixel: the definition that the others are
 * held to. */
#include "libpack/image/resample_parts.h"

static uint8_t
clip(int32_t sum)
{
    int32_t value = sum >> PACK_RESAMPLE_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void
scalar_horizontal(uint8_t *const *out, const uint8_t *const *rows, int channels,
                  const struct pack_resample_table *table)
{
    for (int r = 0; r < PACK_RESAMPLE_ROWS; r++)
        for (uint32_t i = 0; i < table->n; i++) {
            const uint8_t *p = rows[r] + (size_t)table->first[i] * channels;
            const int32_t *k = table->k + (size_t)i * table->taps;
            for (int c = 0; c < channels; c++) {
                int32_t sum = 1 << (PACK_RESAMPLE_BITS - 1);
                for (uint32_t t = 0; t < table->count[i]; t++)
                    sum += p[t * channels + c] * k[t];
                out[r][i * channels + c] = clip(sum);
            }
        }
}

static void
scalar_vertical(uint8_t *out, const uint8_t *const *rows, size_t bytes,
                const struct pack_resample_table *table, uint32_t y)
{
    const int32_t *k = table->k + (size_t)y * table->taps;
    for (size_t x = 0; x < bytes; x++) {
        int32_t sum = 1 << (PACK_RESAMPLE_BITS - 1);
        for (uint32_t t = 0; t < table->count[y]; t++)
            sum += rows[t][x] * k[t];
        out[x] = clip(sum);
    }
}

static void
scalar_split(uint8_t *const planes[3], const uint8_t *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            planes[c][i] = pixels[3 * i + c];
}

const struct pack_resample_ops pack_resample_scalar = {
    "scalar",
    scalar_horizontal,
    scalar_vertical,
    scalar_split,
};
