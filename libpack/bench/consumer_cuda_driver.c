/* Loads NVIDIA's driver at run time, so that one binary serves machines with and
 * without. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "libpack/base/clock.h"
#include "libpack/bench/consumer_cuda_driver.h"

enum pack_status
pack_cuda_check(const struct pack_cuda *cuda, pack_cuda_result result, const char *what,
                struct pack_error *err)
{
    const char *name = NULL, *text = NULL;
    if (result == 0)
        return PACK_OK;
    cuda->GetErrorName(result, &name);
    cuda->GetErrorString(result, &text);
    return pack_fail(
        err, result == PACK_CUDA_OUT_OF_MEMORY ? PACK_ERR_MEMORY : PACK_ERR_IO,
        "cannot %s on the GPU: %s (%s, %d)%s", what, text ? text : "unknown error",
        name ? name : "CUDA error", result,
        result == PACK_CUDA_OUT_OF_MEMORY ? "; smaller batches need less" : "");
}

static enum pack_status
load(struct pack_cuda *cuda, struct pack_error *err)
{
    cuda->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda->library)
        return pack_fail_param(
            err, PACK_ERR_UNSUPPORTED, "consumer",
            "this machine has no NVIDIA driver (libcuda.so.1 is not there)");
#define PACK_CUDA_LOAD(member, symbol, arguments)                                  \
    *(void **)&cuda->member = dlsym(cuda->library, symbol);                        \
    if (!cuda->member)                                                             \
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "consumer",              \
                               "the NVIDIA driver is too old: it has no %s", symbol);
    PACK_CUDA_FUNCTIONS(PACK_CUDA_LOAD)
#undef PACK_CUDA_LOAD
    return PACK_OK;
}

/* "GPU-0a1b2c3d-..." of 16 bytes. */
static void
format_uuid(const struct pack_cuda_uuid *uuid, char *text, size_t size)
{
    const unsigned char *b = uuid->bytes;
    snprintf(text, size,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
             b[12], b[13], b[14], b[15]);
}

/* A UUID, with GPU- or MIG- in front, cut short at will, as nvidia-smi and
 * CUDA_VISIBLE_DEVICES have it. */
static bool
is_uuid(const char *gpu, const char *uuid)
{
    bool prefixed = strncasecmp(gpu, "GPU-", 4) == 0 || strncasecmp(gpu, "MIG-", 4) == 0;
    size_t length = strlen(gpu);
    return prefixed && length > 4 && length <= strlen(uuid) &&
           strncasecmp(gpu + 4, uuid + 4, length - 4) == 0;
}

static enum pack_status
choose(struct pack_cuda *cuda, const char *gpu, int n_devices, struct pack_error *err)
{
    char *end = NULL;
    long index = gpu ? strtol(gpu, &end, 10) : 0;
    bool is_index = !gpu || (*gpu && !*end);
    for (int i = 0; i < n_devices; i++) {
        struct pack_cuda_uuid uuid;
        pack_cuda_device device;
        enum pack_status status =
            pack_cuda_check(cuda, cuda->DeviceGet(&device, i), "open a device", err);
        if (status == PACK_OK)
            status = pack_cuda_check(cuda, cuda->DeviceGetUuid(&uuid, device),
                                     "read a device's UUID", err);
        if (status != PACK_OK)
            return status;
        format_uuid(&uuid, cuda->uuid, sizeof cuda->uuid);
        if (is_index ? i == index : is_uuid(gpu, cuda->uuid)) {
            cuda->device = device;
            return PACK_OK;
        }
    }
    return pack_fail(err, PACK_ERR_NOT_FOUND,
                     "there is no GPU '%.60s'; CUDA sees %d, numbered from 0, and "
                     "nvidia-smi -L lists their UUIDs",
                     gpu ? gpu : "0", n_devices);
}

static enum pack_status
start(struct pack_cuda *cuda, const char *gpu, struct pack_error *err)
{
    int n_devices = 0;
    pack_cuda_result result = cuda->Init(0);
    if (result == 0)
        result = cuda->DeviceGetCount(&n_devices);
    if (result == PACK_CUDA_NO_DEVICE || (result == 0 && n_devices == 0))
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "consumer",
                               "this machine has an NVIDIA driver but no GPU "
                               "that CUDA may use");
    enum pack_status status = pack_cuda_check(cuda, result, "start CUDA", err);
    if (status == PACK_OK)
        status = choose(cuda, gpu, n_devices, err);
    if (status != PACK_OK)
        return status;
    status = pack_cuda_check(cuda, cuda->CtxRetain(&cuda->context, cuda->device),
                             "make a context", err);
    if (status != PACK_OK) {
        cuda->context = NULL;
        return status;
    }
    return pack_cuda_check(cuda, cuda->CtxSetCurrent(cuda->context), "use a context",
                           err);
}

enum pack_status
pack_cuda_open(const char *gpu, struct pack_cuda *cuda, struct pack_error *err)
{
    *cuda = (struct pack_cuda){ 0 };
    enum pack_status status = load(cuda, err);
    if (status == PACK_OK)
        status = start(cuda, gpu, err);
    if (status != PACK_OK)
        pack_cuda_close(cuda);
    return status;
}

void
pack_cuda_close(struct pack_cuda *cuda)
{
    if (cuda->context)
        cuda->CtxRelease(cuda->device);
    if (cuda->library)
        dlclose(cuda->library);
    *cuda = (struct pack_cuda){ 0 };
}

enum pack_status
pack_cuda_wait(const struct pack_cuda *cuda, void *event, uint64_t stall_ns,
               const char *what, struct pack_error *err)
{
    uint64_t start_ns = pack_clock_ns();
    const struct timespec nap = { .tv_nsec = 30000 };
    for (;;) {
        pack_cuda_result result = cuda->EventQuery(event);
        if (result != PACK_CUDA_NOT_READY)
            return pack_cuda_check(cuda, result, what, err);
        if (pack_clock_ns() - start_ns > stall_ns)
            return pack_fail(err, PACK_ERR_IO,
                             "the GPU has not finished within %.0f s: cannot %s",
                             (double)stall_ns / 1e9, what);
        nanosleep(&nap, NULL);
    }
}
