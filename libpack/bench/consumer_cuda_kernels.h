/* What the kernels and the code that starts them agree on. */
#ifndef LIBPACK_CONSUMER_CUDA_KERNELS_H
#define LIBPACK_CONSUMER_CUDA_KERNELS_H

#include <stdint.h>

#include "libpack/image/normalise.h"

/* Argument of pack_kernel_normalise. A plane is one channel of one sample. */
struct pack_kernel_normalise_args {
    uint64_t in;    /* device address: samples, one after another */
    uint64_t indices; /* device address: uint32 numbers of the samples to use, or 0 */
    uint64_t out;   /* device address: NCHW values */
    uint64_t sample_bytes; /* from a sample to the next in `in` */
    uint64_t n_planes;     /* of the output */
    uint32_t channels;
    uint32_t plane;        /* values */
    uint32_t pixel_step;   /* in `in`, from a pixel's value to the next pixel's */
    uint32_t channel_step; /* in `in`, from a channel's first value to the next one's */
    uint32_t from_float;   /* `in` holds values that are normalised already */
    uint32_t precision;    /* enum pack_precision */
    float scale[PACK_NORMALISE_CHANNELS_MAX];
    float bias[PACK_NORMALISE_CHANNELS_MAX];
};

#define PACK_KERNEL_NORMALISE "pack_kernel_normalise"
#define PACK_KERNEL_STEP      "pack_kernel_step"

enum { PACK_KERNEL_THREADS = 256, PACK_KERNEL_VALUES = 4 /* of a thread at a time */ };

#endif
