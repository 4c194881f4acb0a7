/* uint8 samples to normalised floating point, channels first: the definition that host
 * and GPU share. */
#ifndef LIBPACK_NORMALISE_H
#define LIBPACK_NORMALISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/image.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_precision { PACK_FP32 = 0, PACK_FP16, PACK_BF16 };
enum { PACK_NORMALISE_CHANNELS_MAX = 16 };

/*
 * y = x * scale[c] + bias[c] as one fused multiply-add in fp32, x being 0 to 255, then
 * rounded to nearest even where the precision is less. Output is NCHW whatever the input.
 */
struct pack_normalise {
    uint32_t channels, height, width;
    enum pack_pixel_layout layout; /* of the input */
    enum pack_precision precision; /* of the output */
    float scale[PACK_NORMALISE_CHANNELS_MAX];
    float bias[PACK_NORMALISE_CHANNELS_MAX];
};

/*
 * Fills scale = 1 / std and bias = -mean / std from a mean and standard deviation in
 * units of 0..255, which is how h5pack stores them; computed in double, rounded once.
 * PACK_ERR_ARGUMENT for a std that is not positive or not finite.
 */
enum pack_status pack_normalise_set(struct pack_normalise *normalise, const double *mean,
                                    const double *std, struct pack_error *err);

/* Values of one sample: channels * height * width. */
size_t pack_normalise_values(const struct pack_normalise *normalise);
/* Bytes of one value of a precision: 4 or 2. */
size_t pack_precision_bytes(enum pack_precision precision);
/* "fp32", "fp16", "bf16". */
const char *pack_precision_name(enum pack_precision precision);

/* The 256 results of each channel, from which pack_normalise_apply reads; fp16 and bf16
 * are in the low half. */
struct pack_normalise_table {
    uint32_t value[PACK_NORMALISE_CHANNELS_MAX][256];
};
void pack_normalise_table(const struct pack_normalise *normalise,
                          struct pack_normalise_table *table);

/* One sample of uint8 to one sample of floating point. */
void pack_normalise_apply(const struct pack_normalise *normalise,
                          const struct pack_normalise_table *table, const uint8_t *sample,
                          void *out);

/* fp32 to the bits of fp16 and bf16, to nearest even, as the GPU rounds;
 * NaN stays one. */
uint16_t pack_fp16_bits(float value);
uint16_t pack_bf16_bits(float value);

#ifdef __cplusplus
}
#endif
#endif
