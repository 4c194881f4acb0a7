/* The part of NVIDIA's driver interface that the cuda consumer uses, declared here so
 * that no CUDA headers are needed, and loaded when it is asked for. Not for use outside
 * libpack. */
#ifndef LIBPACK_CONSUMER_CUDA_DRIVER_H
#define LIBPACK_CONSUMER_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "libpack/bench/consumer.h"
#include <libpack/status.h>

/* As in cuda.h; consumer_cuda_kernels.cu compares them when nvcc compiles it. */
typedef int pack_cuda_result;
typedef int pack_cuda_device;
typedef unsigned long long pack_cuda_deviceptr;
struct pack_cuda_uuid {
    unsigned char bytes[16];
};
enum {
    PACK_CUDA_OUT_OF_MEMORY = 2,
    PACK_CUDA_NO_DEVICE = 100,
    PACK_CUDA_NOT_READY = 600,
    PACK_CUDA_ATTR_PROCESSORS = 16,
    PACK_CUDA_ATTR_MEMORY_KHZ = 36,
    PACK_CUDA_ATTR_BUS_BITS = 37,
    PACK_CUDA_STREAM_NON_BLOCKING = 1
};

/* Functions of libcuda.so.1: member, name of the symbol, arguments. Contexts, streams,
 * events, modules and functions are opaque pointers. */
#define PACK_CUDA_FUNCTIONS(X)                                                           \
    X(Init, "cuInit", (unsigned flags))                                                  \
    X(DriverGetVersion, "cuDriverGetVersion", (int *version))                            \
    X(DeviceGetCount, "cuDeviceGetCount", (int *count))                                  \
    X(DeviceGet, "cuDeviceGet", (pack_cuda_device * device, int ordinal))                \
    X(DeviceGetName, "cuDeviceGetName", (char *name, int size, pack_cuda_device device)) \
    X(DeviceGetUuid, "cuDeviceGetUuid_v2",                                               \
      (struct pack_cuda_uuid * uuid, pack_cuda_device device))                           \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, pack_cuda_device device))  \
    X(DeviceGetAttribute, "cuDeviceGetAttribute",                                        \
      (int *value, int attribute, pack_cuda_device device))                              \
    X(CtxRetain, "cuDevicePrimaryCtxRetain", (void **context, pack_cuda_device device))  \
    X(CtxRelease, "cuDevicePrimaryCtxRelease_v2", (pack_cuda_device device))             \
    X(CtxSetCurrent, "cuCtxSetCurrent", (void *context))                                 \
    X(ModuleLoadData, "cuModuleLoadData", (void **module, const void *image))            \
    X(ModuleUnload, "cuModuleUnload", (void *module))                                    \
    X(ModuleGetFunction, "cuModuleGetFunction",                                          \
      (void **function, void *module, const char *name))                                 \
    X(MemAlloc, "cuMemAlloc_v2", (pack_cuda_deviceptr * device, size_t bytes))           \
    X(MemFree, "cuMemFree_v2", (pack_cuda_deviceptr device))                             \
    X(MemHostAlloc, "cuMemHostAlloc", (void **host, size_t bytes, unsigned flags))       \
    X(MemFreeHost, "cuMemFreeHost", (void *host))                                        \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                           \
      (pack_cuda_deviceptr to, const void *from, size_t bytes, void *stream))            \
    X(MemcpyDtoH, "cuMemcpyDtoH_v2", (void *to, pack_cuda_deviceptr from, size_t bytes)) \
    X(StreamCreate, "cuStreamCreate", (void **stream, unsigned flags))                   \
    X(StreamDestroy, "cuStreamDestroy_v2", (void *stream))                               \
    X(StreamWaitEvent, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags)) \
    X(EventCreate, "cuEventCreate", (void **event, unsigned flags))                      \
    X(EventDestroy, "cuEventDestroy_v2", (void *event))                                  \
    X(EventRecord, "cuEventRecord", (void *event, void *stream))                         \
    X(EventQuery, "cuEventQuery", (void *event))                                         \
    X(EventElapsedTime, "cuEventElapsedTime", (float *ms, void *begin, void *end))       \
    X(LaunchKernel, "cuLaunchKernel",                                                    \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,      \
       void *stream, void **arguments, void **extra))                                    \
    X(GetErrorName, "cuGetErrorName", (pack_cuda_result result, const char **name))      \
    X(GetErrorString, "cuGetErrorString", (pack_cuda_result result, const char **text))

struct pack_cuda {
    void *library;
#define PACK_CUDA_MEMBER(member, symbol, arguments) pack_cuda_result(*member) arguments;
    PACK_CUDA_FUNCTIONS(PACK_CUDA_MEMBER)
#undef PACK_CUDA_MEMBER
    pack_cuda_device device;
    void *context;
    char uuid[48]; /* "GPU-..." */
};

/* Loads the driver, chooses a device (index, UUID, MIG UUID; NULL: the first) and makes
 * its primary context current. PACK_ERR_UNSUPPORTED where the machine has none. */
enum pack_status pack_cuda_open(const char *gpu, struct pack_cuda *cuda,
                                struct pack_error *err);
void pack_cuda_close(struct pack_cuda *cuda);

/* PACK_OK for 0, else a sentence: "cannot <what> on the GPU: out of memory". */
enum pack_status pack_cuda_check(const struct pack_cuda *cuda, pack_cuda_result result,
                                 const char *what, struct pack_error *err);

/* Waits for an event without keeping a processor busy; PACK_ERR_IO after stall_ns. */
enum pack_status pack_cuda_wait(const struct pack_cuda *cuda, void *event,
                                uint64_t stall_ns, const char *what,
                                struct pack_error *err);

/* ------------------------------------------------------------------ NVML
 *
 * Samples a device a few times a second from a thread of its own, since one sample of
 * the bus takes NVML 20 ms. */
struct pack_nvml;

/* NULL where NVML is missing; that is no error. */
struct pack_nvml *pack_nvml_open(const char *uuid);
void pack_nvml_tick(struct pack_nvml *nvml); /* often; cheap; accepts NULL */
/* Adds the means so far to *result. */
void pack_nvml_result(struct pack_nvml *nvml, struct pack_device_result *result);
void pack_nvml_close(struct pack_nvml *nvml);

/* Made by the build from consumer_cuda_kernels.cu. */
extern const unsigned char pack_consumer_cuda_fatbin[];

#endif
