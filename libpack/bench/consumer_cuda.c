/*
 * Real work on a GPU, on two streams that overlap:
 *
 *     host      memcpy to pinned ─┐
 *     copy      ........... host to device ─┐
 *     compute   .......................... normalise ── step ──
 *               |<------- starved ------->|<----- busy ------>|
 *
 * A batch has one of CUDA_BUFFERS pairs of buffers, pinned and on the device; a step has
 * one of CUDA_STEPS sets of events. At most CUDA_STEPS - 1 steps are under way, so that
 * the events of the step before are still there when a step's times are read: the host's
 * clock is carried from end to end of steps, because the distance of two events is a
 * float and loses its precision when they are far apart. With as many buffers, the step
 * that had a buffer last has ended when its turn comes again; nothing else guards them.
 */
#include <stdio.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/bench/consumer_cuda_kernels.h"
#include "libpack/bench/consumer_cuda_state.h"
#include "libpack/bench/consumer_parts.h"
#include "libpack/bench/nvtx.h"

/* ------------------------------------------------------------------- steps */

static enum pack_status
elapsed(struct cuda_state *cuda, void *begin, void *end, uint64_t *ns,
        struct pack_error *err)
{
    float ms = 0;
    enum pack_status status =
        cuda_check(cuda, cuda->api.EventElapsedTime(&ms, begin, end),
                   "read the time of an event", err);
    *ns = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
    return status;
}

/* Reads the times of the oldest step, which has ended, and reports it. */
static enum pack_status
read_step(struct cuda_state *cuda, struct pack_error *err)
{
    struct cuda_step *step = &cuda->step[cuda->n_read % CUDA_STEPS];
    void **event = step->event;
    void *before = cuda->n_read
                       ? cuda->step[(cuda->n_read - 1) % CUDA_STEPS].event[CUDA_END]
                       : cuda->origin;
    struct pack_step result = { .n_samples = step->n_samples,
                                .compute_ns = step->compute_ns,
                                .pin_begin_ns = step->pin_begin_ns,
                                .pin_ns = step->pin_ns };
    uint64_t starved, copy_to_begin = 0;
    enum pack_status status = elapsed(cuda, before, event[CUDA_BEGIN], &starved, err);
    if (status == PACK_OK)
        status = elapsed(cuda, event[CUDA_BEGIN], event[CUDA_END], &result.busy_ns, err);
    if (status == PACK_OK)
        status = elapsed(cuda, event[CUDA_BEGIN], event[CUDA_NORMALISED],
                         &result.normalise_ns, err);
    if (status == PACK_OK && step->has_copy)
        status = elapsed(cuda, event[CUDA_COPY_BEGIN], event[CUDA_COPY_END],
                         &result.copy_ns, err);
    if (status == PACK_OK && step->has_copy)
        status =
            elapsed(cuda, event[CUDA_COPY_BEGIN], event[CUDA_BEGIN], &copy_to_begin, err);
    if (status != PACK_OK)
        return status;
    result.begin_ns = cuda->end_ns + starved;
    result.end_ns = result.begin_ns + result.busy_ns;
    if (cuda->n_read > 0) {
        result.starved_ns = starved;
        result.copy_wait_ns = copy_to_begin < starved ? copy_to_begin : starved;
    }
    result.copy_begin_ns = result.begin_ns - copy_to_begin;
    if (step->has_copy)
        result.copy_bytes = step->n_copied * cuda->transfer_bytes;
    cuda->end_ns = result.end_ns;
    cuda->copy_ns += result.copy_ns;
    cuda->copy_bytes += result.copy_bytes;
    cuda->normalise_ns += result.normalise_ns;
    cuda->normalise_bytes +=
        step->n_samples * (cuda->transfer_bytes + cuda->output_bytes);
    cuda->n_read++;
    pack_consumer_report(cuda->consumer, &result);
    return PACK_OK;
}

/* Reads steps until at most `n_left` are under way. */
static enum pack_status
read_steps(struct cuda_state *cuda, uint64_t n_left, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && cuda->n_begun - cuda->n_read > n_left) {
        void *end = cuda->step[cuda->n_read % CUDA_STEPS].event[CUDA_END];
        status =
            pack_cuda_wait(&cuda->api, end, cuda->params.step_ns + cuda->params.stall_ns,
                           "finish a step", err);
        if (status == PACK_OK)
            status = read_step(cuda, err);
    }
    return status;
}

/* Puts a batch into pinned memory in the form in which it is to go over the bus. */
static void
fill_pinned(struct cuda_state *cuda, const struct pack_batch *batch, void *pinned)
{
    const struct pack_consumer_params *p = &cuda->params;
    if (p->transfer == PACK_TRANSFER_UINT8) {
        memcpy(pinned, batch->data, batch->n_samples * p->sample_bytes);
        return;
    }
    struct pack_normalise single = p->normalise;
    single.precision = PACK_FP32;
    for (uint64_t i = 0; i < batch->n_samples; i++)
        pack_normalise_apply(&single, &cuda->table,
                             (const uint8_t *)batch->data + i * p->sample_bytes,
                             (char *)pinned + i * cuda->transfer_bytes);
}

/* Whether the bus can have the batch from where it lies. */
static bool
is_pinned(const struct cuda_state *cuda, const struct pack_batch *batch)
{
    return batch->is_buffer && cuda->params.transfer == PACK_TRANSFER_UINT8;
}

static enum pack_status
begin_copy(struct cuda_state *cuda, const struct pack_batch *batch,
           struct cuda_step *step, struct pack_error *err)
{
    struct pack_cuda *api = &cuda->api;
    cuda->current = (cuda->current + 1) % CUDA_BUFFERS;
    struct cuda_buffer *buffer = &cuda->buffer[cuda->current];
    const void *from = is_pinned(cuda, batch) ? batch->data : buffer->pinned;
    step->pin_begin_ns = pack_clock_ns();
    if (from != batch->data) {
        fill_pinned(cuda, batch, buffer->pinned);
        step->pin_ns = pack_clock_ns() - step->pin_begin_ns;
    }
    step->has_copy = true;
    enum pack_status status =
        cuda_record(cuda, step->event[CUDA_COPY_BEGIN], cuda->copy_stream, err);
    if (status == PACK_OK)
        status = cuda_check(cuda,
                            api->MemcpyHtoDAsync(buffer->device, from,
                                                 batch->n_samples * cuda->transfer_bytes,
                                                 cuda->copy_stream),
                            "copy a batch", err);
    if (status == PACK_OK)
        status = cuda_record(cuda, step->event[CUDA_COPY_END], cuda->copy_stream, err);
    if (status == PACK_OK)
        status = cuda_check(
            cuda,
            api->StreamWaitEvent(cuda->compute_stream, step->event[CUDA_COPY_END], 0),
            "order streams", err);
    return status;
}

static struct pack_kernel_normalise_args
normalise_args(const struct cuda_state *cuda, const struct cuda_step *step, bool ordered)
{
    const struct pack_consumer_params *p = &cuda->params;
    const struct pack_normalise *n = &p->normalise;
    bool planar = n->layout == PACK_PIXEL_NCHW || p->transfer == PACK_TRANSFER_FLOAT32;
    struct pack_kernel_normalise_args args = {
        .in = cuda->buffer[cuda->current].device,
        .indices = ordered ? step->indices : 0,
        .out = cuda->output,
        .sample_bytes = cuda->transfer_bytes,
        .n_planes = step->n_samples * n->channels,
        .channels = n->channels,
        .plane = n->height * n->width,
        .pixel_step = planar ? 1 : n->channels,
        .channel_step = planar ? n->height * n->width : 1,
        .from_float = p->transfer == PACK_TRANSFER_FLOAT32,
        .precision = n->precision,
    };
    memcpy(args.scale, n->scale, sizeof args.scale);
    memcpy(args.bias, n->bias, sizeof args.bias);
    return args;
}

static enum pack_status
launch_normalise(struct cuda_state *cuda, const struct cuda_step *step, bool ordered,
                 struct pack_error *err)
{
    struct pack_kernel_normalise_args args = normalise_args(cuda, step, ordered);
    void *arguments[] = { &args };
    uint32_t per_block = PACK_KERNEL_THREADS * PACK_KERNEL_VALUES;
    unsigned x = (args.plane + per_block - 1) / per_block;
    unsigned y = args.n_planes < 65535 ? (unsigned)args.n_planes : 65535;
    return cuda_check(cuda,
                      cuda->api.LaunchKernel(cuda->normalise, x, y, 1,
                                             PACK_KERNEL_THREADS, 1, 1, 0,
                                             cuda->compute_stream, arguments, NULL),
                      "start the normalise kernel", err);
}

static enum pack_status
launch_step(struct cuda_state *cuda, const struct cuda_step *step, struct pack_error *err)
{
    uint64_t duration_ns = step->compute_ns;
    void *arguments[] = { &duration_ns };
    if (duration_ns == 0)
        return PACK_OK;
    return cuda_check(cuda,
                      cuda->api.LaunchKernel(cuda->compute, (unsigned)cuda->n_processors,
                                             1, 1, 128, 1, 1, 0, cuda->compute_stream,
                                             arguments, NULL),
                      "start the step kernel", err);
}

static enum pack_status
begin_compute(struct cuda_state *cuda, const struct pack_batch *batch,
              struct cuda_step *step, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (batch->indices) {
        size_t bytes = batch->n_indices * sizeof *batch->indices;
        memcpy(step->pinned_indices, batch->indices, bytes);
        status = cuda_check(cuda,
                            cuda->api.MemcpyHtoDAsync(step->indices, step->pinned_indices,
                                                      bytes, cuda->compute_stream),
                            "copy indices", err);
    }
    if (status == PACK_OK)
        status = cuda_record(cuda, step->event[CUDA_BEGIN], cuda->compute_stream, err);
    pack_nvtx_begin("normalise");
    if (status == PACK_OK)
        status = launch_normalise(cuda, step, batch->indices != NULL, err);
    pack_nvtx_end();
    if (status == PACK_OK)
        status =
            cuda_record(cuda, step->event[CUDA_NORMALISED], cuda->compute_stream, err);
    pack_nvtx_begin("step");
    if (status == PACK_OK)
        status = launch_step(cuda, step, err);
    pack_nvtx_end();
    if (status == PACK_OK)
        status = cuda_record(cuda, step->event[CUDA_END], cuda->compute_stream, err);
    return status;
}

/* Tests look at what the kernel made, which the next step overwrites. */
static enum pack_status
fetch_output(struct cuda_state *cuda, const struct cuda_step *step,
             struct pack_error *err)
{
    size_t bytes = step->n_samples * cuda->output_bytes;
    enum pack_status status = pack_cuda_wait(&cuda->api, step->event[CUDA_END],
                                             cuda->params.step_ns + cuda->params.stall_ns,
                                             "finish a step", err);
    if (status == PACK_OK)
        status =
            cuda_check(cuda, cuda->api.MemcpyDtoH(cuda->output_host, cuda->output, bytes),
                       "copy a result from", err);
    if (status == PACK_OK && cuda->params.on_output)
        cuda->params.on_output(cuda->params.context, cuda->output_host, bytes);
    return status;
}

static enum pack_status
cuda_take(void *state, const struct pack_batch *batch, struct pack_error *err)
{
    struct cuda_state *cuda = state;
    enum pack_status status = read_steps(cuda, CUDA_STEPS - 2, err);
    if (status != PACK_OK)
        return status;
    struct cuda_step *step = &cuda->step[cuda->n_begun % CUDA_STEPS];
    step->n_samples = pack_batch_used(batch);
    step->n_copied = batch->n_samples;
    step->compute_ns = pack_batch_step_ns(batch, cuda->params.step_ns);
    step->has_copy = false;
    step->pin_ns = 0;
    if (!batch->again) {
        pack_nvtx_begin("copy");
        status = begin_copy(cuda, batch, step, err);
        pack_nvtx_end();
    }
    if (status == PACK_OK)
        status = begin_compute(cuda, batch, step, err);
    if (status == PACK_OK)
        cuda->n_begun++;
    if (status == PACK_OK && step->has_copy && is_pinned(cuda, batch))
        status = pack_cuda_wait(&cuda->api, step->event[CUDA_COPY_END],
                                cuda->params.stall_ns, "copy a batch", err);
    if (status == PACK_OK && cuda->params.keep_output)
        status = fetch_output(cuda, step, err);
    pack_nvml_tick(cuda->nvml);
    return status;
}

static enum pack_status
cuda_finish(void *state, struct pack_error *err)
{
    return read_steps(state, 0, err);
}

/* ------------------------------------------------------------------ result */

static void
cuda_device(void *state, struct pack_device_result *result)
{
    struct cuda_state *cuda = state;
    struct pack_cuda *api = &cuda->api;
    int version = 0, khz = 0, bits = 0;
    size_t memory = 0;
    api->DeviceGetName(result->name, sizeof result->name, api->device);
    api->DriverGetVersion(&version);
    snprintf(result->driver, sizeof result->driver, "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    if (api->DeviceTotalMem(&memory, api->device) == 0)
        result->memory_bytes = memory;
    if (api->DeviceGetAttribute(&khz, PACK_CUDA_ATTR_MEMORY_KHZ, api->device) == 0 &&
        api->DeviceGetAttribute(&bits, PACK_CUDA_ATTR_BUS_BITS, api->device) == 0)
        result->memory_bytes_per_s = 2.0 * khz * 1e3 * bits / 8; /* double data rate */
    result->used_bytes = cuda->used_bytes;
    result->pinned_bytes_per_s = cuda->pinned_bytes_per_s;
    if (cuda->copy_ns)
        result->copy_bytes_per_s = (double)cuda->copy_bytes * 1e9 / (double)cuda->copy_ns;
    if (cuda->normalise_ns)
        result->normalise_bytes_per_s =
            (double)cuda->normalise_bytes * 1e9 / (double)cuda->normalise_ns;
    pack_nvml_result(cuda->nvml, result);
}

/* Pinned, so that a batch need not be copied before it is copied. */
static void *
cuda_allocate(void *state, size_t bytes)
{
    struct cuda_state *cuda = state;
    void *buffer = NULL;
    return cuda->api.MemHostAlloc(&buffer, bytes, 0) == 0 ? buffer : NULL;
}

static void
cuda_release(void *state, void *buffer)
{
    struct cuda_state *cuda = state;
    cuda->api.MemFreeHost(buffer);
}

const struct pack_consumer_ops pack_consumer_cuda = {
    .name = "cuda",
    .purpose = "copies to a GPU, normalises there and computes for a step",
    .needs_pixels = true,
    .open = pack_cuda_state_open,
    .take = cuda_take,
    .finish = cuda_finish,
    .device = cuda_device,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .close = pack_cuda_state_close,
};
