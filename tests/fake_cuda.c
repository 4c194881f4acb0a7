/*
 * A stand-in for libcuda.so.1 and libnvidia-ml.so.1, for tests on machines without a GPU.
 * Streams are timelines: every copy and kernel gets a beginning and an end when it is
 * started, and does its work when the clock has passed its end, in the order of the ends.
 * So work overlaps as on a GPU, and data that is overwritten too early comes out wrong;
 * two such mistakes are also counted as hazards. Kernels are those of
 * consumer_cuda_kernels.cu, compiled for the host.
 *
 * Environment, read by cuInit:
 *   FAKE_CUDA_FAIL=N     the N-th call fails with "unknown error"
 *   FAKE_CUDA_MEMORY=N   bytes of device memory (default: 1 GiB)
 *   FAKE_CUDA_DEVICES=N  number of devices (default: 1)
 *   FAKE_CUDA_HANG=1     nothing ever ends
 *   FAKE_CUDA_BANDWIDTH=N  bytes per second from host to device (default: 10^10)
 *   FAKE_CUDA_DIE_AFTER=N  the N-th kernel and all calls after it fail
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    unsigned x, y, z;
} gridDim, blockDim, blockIdx, threadIdx;
#define PACK_KERNEL static
#define PACK_DEVICE static inline
#include "libpack/bench/consumer_cuda_kernels.cu"

enum {
    OK = 0,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_FAILED = 719,
    UNKNOWN = 999
};

struct stream {
    uint64_t ready_ns; /* end of all that was put into it */
};

struct event {
    uint64_t at_ns;
};

struct operation {
    uint64_t end_ns, number;
    bool is_kernel, pending;
    void *to; /* of a copy */
    const void *from;
    size_t size;
    uint64_t sum; /* of the source when the copy was started */
    struct pack_kernel_normalise_args args;
    unsigned grid_x, grid_y, block_x;
};

enum { OPERATIONS_MAX = 256 };
static struct operation operations[OPERATIONS_MAX];
static uint64_t n_started, n_calls, fail_at, die_after, n_kernels;
static uint64_t memory_bytes, used_bytes, bandwidth;
static int n_devices;
static bool hangs, dead;
static int n_live, n_hazards;

int fake_cuda_live(void);
int fake_cuda_hazards(void);

/* Objects not yet given back; and mistakes seen, see above. */
int
fake_cuda_live(void)
{
    return n_live;
}

int
fake_cuda_hazards(void)
{
    return n_hazards;
}

static uint64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t
number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* Counts a call; true when it is to fail. */
static bool
fails(void)
{
    return ++n_calls == fail_at || dead;
}

#define CALL()   \
    if (fails()) \
    return dead ? LAUNCH_FAILED : UNKNOWN

static uint64_t
sum_of(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

static void
run_kernel(const struct operation *op)
{
    gridDim.x = op->grid_x;
    gridDim.y = op->grid_y;
    blockDim.x = op->block_x;
    for (blockIdx.y = 0; blockIdx.y < op->grid_y; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < op->grid_x; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < op->block_x; threadIdx.x++)
                pack_kernel_normalise(op->args);
}

static void
run_copy(const struct operation *op)
{
    n_hazards += sum_of(op->from, op->size) != op->sum;
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        const struct operation *other = &operations[i];
        if (other->pending && other->is_kernel && other->number < op->number &&
            other->args.in == (uint64_t)(uintptr_t)op->to)
            n_hazards++; /* that kernel has not read its input yet */
    }
    memcpy(op->to, op->from, op->size);
}

/* Does all work that has ended by then. */
static void
advance(uint64_t until_ns)
{
    for (;;) {
        struct operation *first = NULL;
        for (int i = 0; i < OPERATIONS_MAX; i++) {
            struct operation *op = &operations[i];
            if (op->pending && op->end_ns <= until_ns &&
                (!first || op->end_ns < first->end_ns ||
                 (op->end_ns == first->end_ns && op->number < first->number)))
                first = op;
        }
        if (!first)
            return;
        first->pending = false;
        if (first->is_kernel)
            run_kernel(first);
        else
            run_copy(first);
    }
}

/* Puts an operation at the end of a stream. */
static struct operation *
start(struct stream *stream, uint64_t duration_ns)
{
    uint64_t now = now_ns();
    advance(now);
    uint64_t begin = stream->ready_ns > now ? stream->ready_ns : now;
    stream->ready_ns = begin + duration_ns;
    for (int i = 0; i < OPERATIONS_MAX; i++)
        if (!operations[i].pending) {
            operations[i] = (struct operation){ .end_ns = stream->ready_ns,
                                                .number = n_started++,
                                                .pending = true };
            return &operations[i];
        }
    abort(); /* nobody has that much under way */
}

/* ------------------------------------------------------------------ device */

int
cuInit(unsigned flags)
{
    (void)flags;
    n_calls = 0;
    fail_at = number_of("FAKE_CUDA_FAIL", 0);
    die_after = number_of("FAKE_CUDA_DIE_AFTER", 0);
    memory_bytes = number_of("FAKE_CUDA_MEMORY", 1 << 30);
    bandwidth = number_of("FAKE_CUDA_BANDWIDTH", 10000000000u);
    n_devices = (int)number_of("FAKE_CUDA_DEVICES", 1);
    hangs = number_of("FAKE_CUDA_HANG", 0) != 0;
    dead = false;
    n_kernels = used_bytes = 0;
    CALL();
    return n_devices ? OK : NO_DEVICE;
}

int
cuDriverGetVersion(int *version)
{
    CALL();
    *version = 12040;
    return OK;
}

int
cuDeviceGetCount(int *count)
{
    CALL();
    *count = n_devices;
    return OK;
}

int
cuDeviceGet(int *device, int ordinal)
{
    CALL();
    if (ordinal < 0 || ordinal >= n_devices)
        return INVALID_DEVICE;
    *device = ordinal;
    return OK;
}

int
cuDeviceGetName(char *name, int size, int device)
{
    CALL();
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return OK;
}

int
cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    CALL();
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(device * 16 + i);
    return OK;
}

int
cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    CALL();
    *bytes = memory_bytes;
    return OK;
}

int
cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    CALL();
    *value = attribute == 16 ? 4 : attribute == 36 ? 1000000 : 512;
    return OK;
}

int
cuDevicePrimaryCtxRetain(void **context, int device)
{
    static int dummy;
    (void)device;
    CALL();
    *context = &dummy;
    n_live++;
    return OK;
}

int
cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    n_live--;
    CALL();
    return OK;
}

int
cuCtxSetCurrent(void *context)
{
    (void)context;
    CALL();
    return OK;
}

int
cuModuleLoadData(void **module, const void *image)
{
    (void)image;
    CALL();
    *module = malloc(1);
    n_live++;
    return OK;
}

int
cuModuleUnload(void *module)
{
    free(module);
    n_live--;
    CALL();
    return OK;
}

int
cuModuleGetFunction(void **function, void *module, const char *name)
{
    static const char *const names[] = { PACK_KERNEL_NORMALISE, PACK_KERNEL_STEP };
    (void)module;
    CALL();
    for (int i = 0; i < 2; i++)
        if (strcmp(name, names[i]) == 0) {
            *function = (void *)names[i];
            return OK;
        }
    return NOT_FOUND;
}

/* ------------------------------------------------------------------ memory */

/* Every block has its size in front. */
static void *
new_block(size_t bytes)
{
    char *block = calloc(1, bytes + 256);
    memcpy(block, &bytes, sizeof bytes);
    n_live++;
    return block + 256;
}

static void
free_block(void *data)
{
    free((char *)data - 256);
    n_live--;
}

int
cuMemAlloc_v2(unsigned long long *device, size_t bytes)
{
    CALL();
    if (bytes > memory_bytes - used_bytes)
        return OUT_OF_MEMORY;
    used_bytes += bytes;
    *device = (unsigned long long)(uintptr_t)new_block(bytes);
    return OK;
}

int
cuMemFree_v2(unsigned long long device)
{
    advance(UINT64_MAX);
    free_block((void *)(uintptr_t)device);
    CALL();
    return OK;
}

int
cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    (void)flags;
    CALL();
    *host = new_block(bytes);
    return OK;
}

int
cuMemFreeHost(void *host)
{
    advance(UINT64_MAX);
    free_block(host);
    CALL();
    return OK;
}

int
cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                     struct stream *stream)
{
    CALL();
    struct operation *op =
        start(stream, (uint64_t)((double)bytes * 1e9 / (double)bandwidth) + 1000);
    op->to = (void *)(uintptr_t)to;
    op->from = from;
    op->size = bytes;
    op->sum = sum_of(from, bytes);
    return OK;
}

int
cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
    CALL();
    advance(now_ns());
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

/* -------------------------------------------------------- streams and events */

int
cuStreamCreate(struct stream **stream, unsigned flags)
{
    (void)flags;
    CALL();
    *stream = calloc(1, sizeof **stream);
    n_live++;
    return OK;
}

int
cuStreamDestroy_v2(struct stream *stream)
{
    free(stream);
    n_live--;
    CALL();
    return OK;
}

int
cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags)
{
    (void)flags;
    CALL();
    if (event->at_ns > stream->ready_ns)
        stream->ready_ns = event->at_ns;
    return OK;
}

int
cuEventCreate(struct event **event, unsigned flags)
{
    (void)flags;
    CALL();
    *event = calloc(1, sizeof **event);
    n_live++;
    return OK;
}

int
cuEventDestroy_v2(struct event *event)
{
    free(event);
    n_live--;
    CALL();
    return OK;
}

int
cuEventRecord(struct event *event, struct stream *stream)
{
    uint64_t now = now_ns();
    CALL();
    event->at_ns = stream->ready_ns > now ? stream->ready_ns : now;
    return OK;
}

int
cuEventQuery(struct event *event)
{
    uint64_t now = now_ns();
    CALL();
    if (hangs)
        return NOT_READY;
    advance(now);
    return event->at_ns <= now ? OK : NOT_READY;
}

int
cuEventElapsedTime(float *ms, struct event *begin, struct event *end)
{
    uint64_t now = now_ns();
    CALL();
    if (begin->at_ns > now || end->at_ns > now)
        return NOT_READY;
    *ms = (float)(((double)end->at_ns - (double)begin->at_ns) / 1e6);
    return OK;
}

int
cuLaunchKernel(const char *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z,
               unsigned shared_bytes, struct stream *stream, void **arguments,
               void **extra)
{
    (void)grid_z, (void)block_y, (void)block_z, (void)shared_bytes, (void)extra;
    CALL();
    if (++n_kernels == die_after) {
        dead = true;
        return LAUNCH_FAILED;
    }
    if (strcmp(function, PACK_KERNEL_STEP) == 0) {
        uint64_t duration_ns = *(const uint64_t *)arguments[0], now = now_ns();
        pack_kernel_step(duration_ns);
        stream->ready_ns =
            (stream->ready_ns > now ? stream->ready_ns : now) + duration_ns;
        return OK;
    }
    struct operation *op = start(stream, 20000);
    op->is_kernel = true;
    op->args = *(const struct pack_kernel_normalise_args *)arguments[0];
    op->grid_x = grid_x;
    op->grid_y = grid_y;
    op->block_x = block_x;
    return OK;
}

int
cuGetErrorName(int result, const char **name)
{
    *name = result == OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                      : "CUDA_ERROR_UNKNOWN";
    return OK;
}

int
cuGetErrorString(int result, const char **text)
{
    *text = result == OUT_OF_MEMORY   ? "out of memory"
            : result == LAUNCH_FAILED ? "unspecified launch failure"
                                      : "unknown error";
    return OK;
}

/* -------------------------------------------------------------------- NVML */

int
nvmlInit_v2(void)
{
    return OK;
}

int
nvmlShutdown(void)
{
    return OK;
}

int
nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    static int dummy;
    *device = &dummy;
    return strncmp(uuid, "GPU-", 4) == 0 ? OK : NOT_FOUND;
}

int
nvmlDeviceGetUtilizationRates(void *device, unsigned *gpu_and_memory)
{
    (void)device;
    gpu_and_memory[0] = 42;
    gpu_and_memory[1] = 7;
    return OK;
}

int
nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *kib_per_s)
{
    (void)device, (void)counter;
    *kib_per_s = 1000;
    return OK;
}

int
nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "550.0 (fake)");
    return OK;
}
