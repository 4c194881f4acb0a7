/*
 * The two kernels of the cuda consumer. nvcc compiles them for the GPU; the fake driver of
 * the tests includes this file and runs them on the host, thread by thread, which is why
 * they keep to C.
 */
#include "libpack/bench/consumer_cuda_kernels.h"

#ifdef __CUDACC__
#include <cuda.h>
#define PACK_KERNEL extern "C" __global__
#define PACK_DEVICE static __device__ __forceinline__

/* consumer_cuda_private.h declares the driver's interface by itself; here, where cuda.h
 * is at hand, the two are compared. */
#include "libpack/bench/consumer_cuda_driver.h"
static_assert(PACK_CUDA_NOT_READY == CUDA_ERROR_NOT_READY, "cuda.h");
static_assert(PACK_CUDA_OUT_OF_MEMORY == CUDA_ERROR_OUT_OF_MEMORY, "cuda.h");
static_assert(PACK_CUDA_NO_DEVICE == CUDA_ERROR_NO_DEVICE, "cuda.h");
static_assert(PACK_CUDA_ATTR_PROCESSORS == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
              "cuda.h");
static_assert(PACK_CUDA_ATTR_MEMORY_KHZ == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
              "cuda.h");
static_assert(PACK_CUDA_ATTR_BUS_BITS == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
              "cuda.h");
static_assert(PACK_CUDA_STREAM_NON_BLOCKING == CU_STREAM_NON_BLOCKING, "cuda.h");
static_assert(sizeof(pack_cuda_deviceptr) == sizeof(CUdeviceptr), "cuda.h");
static_assert(sizeof(struct pack_cuda_uuid) == sizeof(CUuuid), "cuda.h");
#endif

/* fp32 to the bits of fp16 and bf16, to nearest even: one instruction each. */
PACK_DEVICE uint16_t
to_fp16(float y)
{
#ifdef __CUDA_ARCH__
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(y));
    return bits;
#else
    return pack_fp16_bits(y);
#endif
}

PACK_DEVICE uint16_t
to_bf16(float y)
{
#ifdef __CUDA_ARCH__
    uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(y));
    return bits;
#else
    return pack_bf16_bits(y);
#endif
}

/* Aligned groups, which move in one access. */
struct four_bytes {
    uint8_t v[4];
} __attribute__((aligned(4)));
struct four_floats {
    float v[4];
} __attribute__((aligned(16)));
struct four_halves {
    uint16_t v[4];
} __attribute__((aligned(8)));

PACK_DEVICE void
store_one(const struct pack_kernel_normalise_args *a, uint64_t at, float y)
{
    if (a->precision == PACK_FP32)
        ((float *)a->out)[at] = y;
    else
        ((uint16_t *)a->out)[at] = a->precision == PACK_FP16 ? to_fp16(y) : to_bf16(y);
}

PACK_DEVICE void
store_four(const struct pack_kernel_normalise_args *a, uint64_t at, const float *y)
{
    if (a->precision == PACK_FP32) {
        struct four_floats group = { { y[0], y[1], y[2], y[3] } };
        *(struct four_floats *)((float *)a->out + at) = group;
    } else {
        struct four_halves group;
        for (int k = 0; k < 4; k++)
            group.v[k] = a->precision == PACK_FP16 ? to_fp16(y[k]) : to_bf16(y[k]);
        *(struct four_halves *)((uint16_t *)a->out + at) = group;
    }
}

/* Value of pixel i: y = x * scale + bias as one fused multiply-add. */
PACK_DEVICE float
value_at(const struct pack_kernel_normalise_args *a, const uint8_t *plane, uint32_t c,
         uint64_t i)
{
    if (a->from_float)
        return ((const float *)plane)[i * a->pixel_step];
    return fmaf((float)plane[i * a->pixel_step], a->scale[c], a->bias[c]);
}

/*
 * A row of blocks (y) works on one plane, its threads on four values each. Planes whose
 * size is a multiple of four are stored, and where their values are neighbours loaded,
 * in groups.
 */
PACK_KERNEL void
pack_kernel_normalise(const struct pack_kernel_normalise_args a)
{
    const uint32_t *indices = (const uint32_t *)a.indices;
    uint64_t stride = (uint64_t)gridDim.x * blockDim.x * PACK_KERNEL_VALUES;
    uint64_t first = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * PACK_KERNEL_VALUES;
    uint32_t value_bytes = a.from_float ? 4 : 1;
    for (uint64_t p = blockIdx.y; p < a.n_planes; p += gridDim.y) {
        uint64_t sample = p / a.channels;
        uint32_t c = (uint32_t)(p - sample * a.channels);
        const uint8_t *plane = (const uint8_t *)a.in +
                               (indices ? indices[sample] : sample) * a.sample_bytes +
                               (uint64_t)c * a.channel_step * value_bytes;
        bool grouped = a.plane % 4 == 0;
        bool near = grouped && !a.from_float && a.pixel_step == 1 &&
                    a.sample_bytes % 4 == 0 && a.channel_step % 4 == 0;
        for (uint64_t i = first; i < a.plane; i += stride) {
            float y[PACK_KERNEL_VALUES];
            if (near) {
                struct four_bytes x = *(const struct four_bytes *)(plane + i);
                for (int k = 0; k < 4; k++)
                    y[k] = fmaf((float)x.v[k], a.scale[c], a.bias[c]);
            } else {
                for (int k = 0; k < 4; k++)
                    y[k] = i + k < a.plane ? value_at(&a, plane, c, i + k) : 0;
            }
            if (grouped)
                store_four(&a, p * a.plane + i, y);
            else
                for (int k = 0; k < 4 && i + k < a.plane; k++)
                    store_one(&a, p * a.plane + i + k, y[k]);
        }
    }
}

/* Stands for the training step: keeps every multiprocessor busy for `duration_ns`. */
PACK_KERNEL void
pack_kernel_step(uint64_t duration_ns)
{
#ifdef __CUDA_ARCH__
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < duration_ns);
#else
    (void)duration_ns; /* the fake driver's clock runs on */
#endif
}
