/*
 * A stand-in for libcuda.so.1 and libnvidia-ml.so.1, for tests on machines without a GPU.
 * Streams are timelines: every copy and kernel gets a beginning and an end when it is
 * started. It does its work late: when somebody has found out, by an event whose time
 * has come, that it is done, and then only what that event waits for. So times overlap as
 * on a GPU, and what is read before it was waited for, or overwritten while it is still
 * wanted, comes out wrong. In the other order that a GPU may choose, FAKE_CUDA_EAGER,
 * copies are done at once and only kernels late. Kernels are those of
 * consumer_cuda_kernels.cu, compiled for the host; the sums of their outputs are kept for
 * tests to compare.
 *
 * Environment, read by cuInit:
 *   FAKE_CUDA_FAIL=N     the N-th call fails with "unknown error"
 *   FAKE_CUDA_MEMORY=N   bytes of device memory (default: 1 GiB)
 *   FAKE_CUDA_DEVICES=N  number of devices (default: 1)
 *   FAKE_CUDA_HANG=1     nothing ever ends
 *   FAKE_CUDA_EAGER=1    copies do their work as soon as what they wait for is done
 *   FAKE_CUDA_BANDWIDTH=N  bytes per second from host to device (default: 10^10)
 *   FAKE_CUDA_FIRST_NS=N   what the first work of a stream waits (default: 0)
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

enum { OPERATIONS_MAX = 256, STREAMS_MAX = 8, OUTPUTS_MAX = 1024 };
enum kind { NOTHING, COPY, KERNEL, WAIT };

/* A place in a stream: all that was put into it before. */
struct place {
    struct stream *stream;
    uint64_t n;
};

struct operation {
    enum kind kind;
    void *to; /* of a copy */
    const void *from;
    size_t size;
    struct pack_kernel_normalise_args args;
    unsigned grid_x, grid_y, block_x;
    struct place wait;
};

struct stream {
    uint64_t ready_ns;       /* end of all that was put into it */
    uint64_t n_put, n_done;  /* operations */
    struct operation operations[OPERATIONS_MAX]; /* those not done, by number modulo */
};

struct event {
    uint64_t at_ns;
    struct place place;
};

static struct stream *streams[STREAMS_MAX];
static uint64_t n_calls, fail_at, die_after, n_kernels, first_ns;
static uint64_t memory_bytes, used_bytes, bandwidth;
static int n_devices;
static bool hangs, dead, eager;
static int n_live, n_hazards, n_outputs;
static uint64_t output_sums[OUTPUTS_MAX];

int fake_cuda_live(void);
int fake_cuda_hazards(void);
int fake_cuda_outputs(uint64_t *sums, int max);
uint64_t fake_cuda_sum(const void *data, size_t size);

/* Objects not yet given back; and memory given back while work wanted it. */
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

/* How many kernels made an output since cuInit, and the sums of the first of them. */
int
fake_cuda_outputs(uint64_t *sums, int max)
{
    memcpy(sums, output_sums, (size_t)(n_outputs < max ? n_outputs : max) * sizeof *sums);
    return n_outputs;
}

uint64_t
fake_cuda_sum(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
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

/* --------------------------------------------------------------- what is done */

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
    size_t bytes = op->args.n_planes * op->args.plane *
                   pack_precision_bytes((enum pack_precision)op->args.precision);
    if (n_outputs < OUTPUTS_MAX)
        output_sums[n_outputs] =
            fake_cuda_sum((const void *)(uintptr_t)op->args.out, bytes);
    n_outputs++;
}

/* Does the work of a stream up to a place, and all that it waits for, which was put
 * somewhere before it. */
static void
run_until(struct place place)
{
    while (place.stream && place.stream->n_done < place.n) {
        const struct operation *op =
            &place.stream->operations[place.stream->n_done++ % OPERATIONS_MAX];
        if (op->kind == COPY)
            memcpy(op->to, op->from, op->size);
        else if (op->kind == KERNEL)
            run_kernel(op);
        else if (op->kind == WAIT)
            run_until(op->wait);
    }
}

static bool
is_done(struct place place)
{
    return !place.stream || place.stream->n_done >= place.n;
}

/* FAKE_CUDA_EAGER: as much as can be done before the next kernel of each stream. */
static void
run_copies(void)
{
    for (int i = 0; i < STREAMS_MAX; i++)
        while (streams[i] && streams[i]->n_done < streams[i]->n_put) {
            struct stream *s = streams[i];
            const struct operation *op = &s->operations[s->n_done % OPERATIONS_MAX];
            if (op->kind == KERNEL || (op->kind == WAIT && !is_done(op->wait)))
                break;
            run_until((struct place){ s, s->n_done + 1 });
        }
}

/* Puts an operation at the end of a stream. */
static void
put(struct stream *stream, uint64_t duration_ns, const struct operation *op)
{
    uint64_t now = now_ns();
    if (stream->n_put == 0)
        now += first_ns;
    uint64_t begin = stream->ready_ns > now ? stream->ready_ns : now;
    stream->ready_ns = begin + duration_ns;
    if (stream->n_put - stream->n_done == OPERATIONS_MAX)
        abort(); /* nobody has that much under way */
    stream->operations[stream->n_put++ % OPERATIONS_MAX] = *op;
    if (eager)
        run_copies();
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
    first_ns = number_of("FAKE_CUDA_FIRST_NS", 0);
    hangs = number_of("FAKE_CUDA_HANG", 0) != 0;
    eager = number_of("FAKE_CUDA_EAGER", 0) != 0;
    dead = false;
    n_kernels = used_bytes = 0;
    n_outputs = 0;
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

static bool
lies_in(const void *at, const char *block, size_t bytes)
{
    return (const char *)at >= block && (const char *)at < block + bytes;
}

/* A GPU that still reads or writes what is given back is a mistake; here it is counted,
 * and forgotten. */
static void
forget(const char *block, size_t bytes)
{
    for (int i = 0; i < STREAMS_MAX; i++)
        for (uint64_t n = streams[i] ? streams[i]->n_done : 0;
             streams[i] && n < streams[i]->n_put; n++) {
            struct operation *op = &streams[i]->operations[n % OPERATIONS_MAX];
            bool wanted = op->kind == COPY && (lies_in(op->to, block, bytes) ||
                                               lies_in(op->from, block, bytes));
            if (op->kind == KERNEL)
                wanted = lies_in((void *)(uintptr_t)op->args.in, block, bytes) ||
                         lies_in((void *)(uintptr_t)op->args.indices, block, bytes) ||
                         lies_in((void *)(uintptr_t)op->args.out, block, bytes);
            if (wanted) {
                op->kind = NOTHING;
                n_hazards++;
            }
        }
}

static void
free_block(void *data)
{
    size_t bytes;
    memcpy(&bytes, (char *)data - 256, sizeof bytes);
    forget(data, bytes);
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
    free_block(host);
    CALL();
    return OK;
}

int
cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                     struct stream *stream)
{
    CALL();
    struct operation op = {
        .kind = COPY, .to = (void *)(uintptr_t)to, .from = from, .size = bytes
    };
    put(stream, (uint64_t)((double)bytes * 1e9 / (double)bandwidth) + 1000, &op);
    return OK;
}

/* Waits for none of the streams, as they are made not to wait for the default one. */
int
cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
    CALL();
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

/* -------------------------------------------------------- streams and events */

int
cuStreamCreate(struct stream **stream, unsigned flags)
{
    (void)flags;
    CALL();
    for (int i = 0; i < STREAMS_MAX; i++)
        if (!streams[i]) {
            *stream = streams[i] = calloc(1, sizeof **stream);
            n_live++;
            return OK;
        }
    abort(); /* nobody makes that many */
}

int
cuStreamDestroy_v2(struct stream *stream)
{
    for (int i = 0; i < STREAMS_MAX; i++)
        if (streams[i] == stream)
            streams[i] = NULL;
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
    put(stream, 0, &(struct operation){ .kind = WAIT, .wait = event->place });
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
    CALL();
    put(stream, 0, &(struct operation){ .kind = NOTHING });
    event->at_ns = stream->ready_ns;
    event->place = (struct place){ stream, stream->n_put };
    return OK;
}

int
cuEventQuery(struct event *event)
{
    CALL();
    if (hangs || event->at_ns > now_ns())
        return NOT_READY;
    run_until(event->place);
    return OK;
}

/* Says nothing about an event that nobody knows to have happened. */
int
cuEventElapsedTime(float *ms, struct event *begin, struct event *end)
{
    CALL();
    if (!is_done(begin->place) || !is_done(end->place))
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
        uint64_t duration_ns = *(const uint64_t *)arguments[0];
        pack_kernel_step(duration_ns);
        put(stream, duration_ns, &(struct operation){ .kind = NOTHING });
        return OK;
    }
    struct operation op = {
        .kind = KERNEL, .grid_x = grid_x, .grid_y = grid_y, .block_x = block_x
    };
    op.args = *(const struct pack_kernel_normalise_args *)arguments[0];
    put(stream, 20000, &op);
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
