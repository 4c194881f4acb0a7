/*
 * A uint8 has 256 values, so a channel's results are a table of 256 entries, made with
 * the exact fused multiply-add that the kernel uses (consumer_cuda_kernels.cu). Looking
 * up is faster than fmaf() where that is a library call, and cannot be contracted or
 * vectorised into something that rounds differently.
 */
#include "libpack/image/normalise.h"

#include <math.h>
#include <string.h>

enum pack_status
pack_normalise_set(struct pack_normalise *normalise, const double *mean,
                   const double *std, struct pack_error *err)
{
    for (uint32_t c = 0; c < normalise->channels; c++) {
        if (!(std[c] > 0) || !isfinite(std[c]) || !isfinite(mean[c]))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "channel %u has mean %g and standard deviation %g; the "
                             "latter must be above 0",
                             c, mean[c], std[c]);
        normalise->scale[c] = (float)(1 / std[c]);
        normalise->bias[c] = (float)(-mean[c] / std[c]);
    }
    return PACK_OK;
}

size_t
pack_normalise_values(const struct pack_normalise *n)
{
    return (size_t)n->channels * n->height * n->width;
}

size_t
pack_precision_bytes(enum pack_precision precision)
{
    return precision == PACK_FP32 ? 4 : 2;
}

const char *
pack_precision_name(enum pack_precision precision)
{
    static const char *const names[] = { "fp32", "fp16", "bf16" };
    return names[precision];
}

static uint32_t
float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Drops `n` low bits of a magnitude, to nearest even. */
static uint32_t
round_off(uint32_t bits, unsigned n)
{
    uint32_t half = UINT32_C(1) << (n - 1);
    return (bits + half - 1 + (bits >> n & 1)) >> n;
}

uint16_t
pack_bf16_bits(float value)
{
    uint32_t bits = float_bits(value);
    if (isnan(value))
        return 0x7fff;
    return (uint16_t)round_off(bits, 16);
}

uint16_t
pack_fp16_bits(float value)
{
    uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000,
             magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return 0x7fff;
    if (magnitude >= 0x477ff000) /* 65520: rounds to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* 2^-14: normal; the exponent's bias goes 127 to 15 */
        return (uint16_t)(sign | round_off(magnitude - (UINT32_C(112) << 23), 13));
    if (magnitude < 0x33000000) /* below 2^-25: rounds to zero */
        return (uint16_t)sign;
    unsigned shift = 126 - (magnitude >> 23);
    return (uint16_t)(sign | round_off((magnitude & 0x7fffff) | 0x800000, shift));
}

void
pack_normalise_table(const struct pack_normalise *n, struct pack_normalise_table *table)
{
    for (uint32_t c = 0; c < n->channels; c++)
        for (uint32_t x = 0; x < 256; x++) {
            float y = fmaf((float)x, n->scale[c], n->bias[c]);
            table->value[c][x] = n->precision == PACK_FP16   ? pack_fp16_bits(y)
                                 : n->precision == PACK_BF16 ? pack_bf16_bits(y)
                                                             : float_bits(y);
        }
}

void
pack_normalise_apply(const struct pack_normalise *n,
                     const struct pack_normalise_table *table, const uint8_t *sample,
                     void *out)
{
    size_t plane = (size_t)n->height * n->width;
    size_t pixel_step = n->layout == PACK_PIXEL_NHWC ? n->channels : 1;
    size_t channel_step = n->layout == PACK_PIXEL_NHWC ? 1 : plane;
    for (uint32_t c = 0; c < n->channels; c++) {
        const uint8_t *in = sample + c * channel_step;
        const uint32_t *value = table->value[c];
        if (n->precision == PACK_FP32) {
            uint32_t *to = (uint32_t *)out + c * plane;
            for (size_t i = 0; i < plane; i++)
                to[i] = value[in[i * pixel_step]];
        } else {
            uint16_t *to = (uint16_t *)out + c * plane;
            for (size_t i = 0; i < plane; i++)
                to[i] = (uint16_t)value[in[i * pixel_step]];
        }
    }
}
