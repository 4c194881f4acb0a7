/* Everything the cuda consumer allocates, and the ceiling it measures, before its first
 * step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/bench/consumer_cuda_kernels.h"
#include "libpack/bench/consumer_cuda_state.h"
#include "libpack/base/size.h"

enum { N_CEILING = 8 };
static const uint64_t default_stall_ns = UINT64_C(60) * 1000000000;

/* Waits for what is under way, so that nothing is freed that is being read or written; a
 * step that could not be begun to its end is not among the steps, but may be copying. */
static void
settle(struct cuda_state *cuda)
{
    void *streams[] = { cuda->copy_stream, cuda->compute_stream };
    for (int i = 0; i < 2; i++)
        if (cuda->idle && streams[i] &&
            cuda_record(cuda, cuda->idle, streams[i], NULL) == PACK_OK)
            pack_cuda_wait(&cuda->api, cuda->idle, cuda->params.stall_ns, "finish", NULL);
}

static void
free_event(struct cuda_state *cuda, void *event)
{
    if (event)
        cuda->api.EventDestroy(event);
}

void
pack_cuda_state_close(void *state)
{
    struct cuda_state *cuda = state;
    struct pack_cuda *api = &cuda->api;
    pack_nvml_close(cuda->nvml);
    if (api->context) {
        settle(cuda);
        for (int i = 0; i < CUDA_BUFFERS; i++) {
            if (cuda->buffer[i].pinned)
                api->MemFreeHost(cuda->buffer[i].pinned);
            if (cuda->buffer[i].device)
                api->MemFree(cuda->buffer[i].device);
        }
        for (int i = 0; i < CUDA_STEPS; i++) {
            for (int k = 0; k < CUDA_EVENTS; k++)
                free_event(cuda, cuda->step[i].event[k]);
            if (cuda->step[i].pinned_indices)
                api->MemFreeHost(cuda->step[i].pinned_indices);
            if (cuda->step[i].indices)
                api->MemFree(cuda->step[i].indices);
        }
        free_event(cuda, cuda->origin);
        free_event(cuda, cuda->idle);
        if (cuda->output)
            api->MemFree(cuda->output);
        if (cuda->copy_stream)
            api->StreamDestroy(cuda->copy_stream);
        if (cuda->compute_stream)
            api->StreamDestroy(cuda->compute_stream);
        if (cuda->module)
            api->ModuleUnload(cuda->module);
    }
    pack_cuda_close(api);
    free(cuda->output_host);
    free(cuda);
}

static enum pack_status
allocate(struct cuda_state *cuda, size_t bytes, pack_cuda_deviceptr *device,
         struct pack_error *err)
{
    char what[64], text[PACK_BYTES_TEXT_MAX];
    snprintf(what, sizeof what, "allocate %s", pack_bytes_format(bytes, text));
    enum pack_status status =
        cuda_check(cuda, cuda->api.MemAlloc(device, bytes), what, err);
    if (status == PACK_OK)
        cuda->used_bytes += bytes;
    return status;
}

static enum pack_status
allocate_pinned(struct cuda_state *cuda, size_t bytes, void **host,
                struct pack_error *err)
{
    char what[64], text[PACK_BYTES_TEXT_MAX];
    snprintf(what, sizeof what, "pin %s of host memory", pack_bytes_format(bytes, text));
    return cuda_check(cuda, cuda->api.MemHostAlloc(host, bytes, 0), what, err);
}

static enum pack_status
make_event(struct cuda_state *cuda, void **event, struct pack_error *err)
{
    return cuda_check(cuda, cuda->api.EventCreate(event, 0), "make an event", err);
}

/* The sizes of a batch in each of its forms; sizes come from a file. */
static enum pack_status
plan_memory(struct cuda_state *cuda, size_t *transfer, size_t *output,
            struct pack_error *err)
{
    const struct pack_consumer_params *p = &cuda->params;
    size_t values = pack_normalise_values(&p->normalise);
    uint64_t transfer_bytes, output_bytes;
    cuda->transfer_bytes =
        p->transfer == PACK_TRANSFER_FLOAT32 ? values * sizeof(float) : p->sample_bytes;
    cuda->output_bytes = values * pack_precision_bytes(p->normalise.precision);
    if (!pack_size_mul(cuda->transfer_bytes, p->batch_max, &transfer_bytes) ||
        !pack_size_mul(cuda->output_bytes, p->batch_max, &output_bytes) ||
        transfer_bytes > SIZE_MAX / 4 || output_bytes > SIZE_MAX / 4)
        return pack_fail(err, PACK_ERR_LIMIT, "a batch does not fit the address space");
    *transfer = (size_t)transfer_bytes;
    *output = (size_t)output_bytes;
    return PACK_OK;
}

static enum pack_status
make_memory(struct cuda_state *cuda, struct pack_error *err)
{
    size_t transfer = 0, output = 0, indices = cuda->params.batch_max * sizeof(uint32_t);
    enum pack_status status = plan_memory(cuda, &transfer, &output, err);
    for (int i = 0; i < CUDA_BUFFERS && status == PACK_OK; i++) {
        struct cuda_buffer *buffer = &cuda->buffer[i];
        status = allocate_pinned(cuda, transfer, &buffer->pinned, err);
        if (status == PACK_OK)
            status = allocate(cuda, transfer, &buffer->device, err);
    }
    for (int i = 0; i < CUDA_STEPS && status == PACK_OK; i++) {
        struct cuda_step *step = &cuda->step[i];
        void *pinned = NULL;
        status = allocate_pinned(cuda, indices, &pinned, err);
        step->pinned_indices = status == PACK_OK ? pinned : NULL;
        if (status == PACK_OK)
            status = allocate(cuda, indices, &step->indices, err);
        for (int k = 0; k < CUDA_EVENTS && status == PACK_OK; k++)
            status = make_event(cuda, &step->event[k], err);
    }
    if (status == PACK_OK)
        status = make_event(cuda, &cuda->origin, err);
    if (status == PACK_OK)
        status = make_event(cuda, &cuda->idle, err);
    if (status == PACK_OK)
        status = allocate(cuda, output, &cuda->output, err);
    if (status == PACK_OK && cuda->params.keep_output &&
        !(cuda->output_host = malloc(output)))
        status = pack_fail_memory(err, "a normalised batch");
    return status;
}

static enum pack_status
make_kernels(struct cuda_state *cuda, struct pack_error *err)
{
    struct pack_cuda *api = &cuda->api;
    enum pack_status status =
        cuda_check(cuda, api->ModuleLoadData(&cuda->module, pack_consumer_cuda_fatbin),
                   "load the kernels", err);
    if (status == PACK_OK)
        status = cuda_check(
            cuda,
            api->ModuleGetFunction(&cuda->normalise, cuda->module, PACK_KERNEL_NORMALISE),
            "find the normalise kernel", err);
    if (status == PACK_OK)
        status = cuda_check(
            cuda, api->ModuleGetFunction(&cuda->compute, cuda->module, PACK_KERNEL_STEP),
            "find the step kernel", err);
    if (status == PACK_OK)
        status =
            cuda_check(cuda,
                       api->DeviceGetAttribute(&cuda->n_processors,
                                               PACK_CUDA_ATTR_PROCESSORS, api->device),
                       "count multiprocessors", err);
    for (int i = 0; i < 2 && status == PACK_OK; i++)
        status =
            cuda_check(cuda,
                       api->StreamCreate(i ? &cuda->copy_stream : &cuda->compute_stream,
                                         PACK_CUDA_STREAM_NON_BLOCKING),
                       "make a stream", err);
    return status;
}

/* The ceiling: copies of whole batches, back to back, and nothing else. */
static enum pack_status
measure_ceiling(struct cuda_state *cuda, struct pack_error *err)
{
    size_t bytes = cuda->transfer_bytes * cuda->params.batch_max;
    void **event = cuda->step[0].event;
    struct cuda_buffer *buffer = &cuda->buffer[0];
    float ms = 0;
    memset(buffer->pinned, 0, bytes);
    enum pack_status status = PACK_OK;
    for (int i = 0; i <= N_CEILING && status == PACK_OK; i++) {
        if (i == 1) /* the first one warms up */
            status = cuda_record(cuda, event[CUDA_BEGIN], cuda->copy_stream, err);
        if (status == PACK_OK)
            status = cuda_check(cuda,
                                cuda->api.MemcpyHtoDAsync(buffer->device, buffer->pinned,
                                                          bytes, cuda->copy_stream),
                                "copy to", err);
    }
    if (status == PACK_OK)
        status = cuda_record(cuda, event[CUDA_END], cuda->copy_stream, err);
    if (status == PACK_OK)
        status = pack_cuda_wait(&cuda->api, event[CUDA_END], cuda->params.stall_ns,
                                "measure copies", err);
    if (status == PACK_OK)
        status = cuda_check(
            cuda, cuda->api.EventElapsedTime(&ms, event[CUDA_BEGIN], event[CUDA_END]),
            "read the time", err);
    if (ms > 0)
        cuda->pinned_bytes_per_s = (double)bytes * N_CEILING / (ms / 1e3);
    return status;
}

/* Ties the GPU's clock to the host's. */
static enum pack_status
set_origin(struct cuda_state *cuda, struct pack_error *err)
{
    enum pack_status status = cuda_record(cuda, cuda->origin, cuda->compute_stream, err);
    if (status == PACK_OK)
        status =
            pack_cuda_wait(&cuda->api, cuda->origin, cuda->params.stall_ns, "start", err);
    cuda->end_ns = pack_clock_ns();
    return status;
}

enum pack_status
pack_cuda_state_open(struct pack_consumer *consumer, void **state, struct pack_error *err)
{
    struct cuda_state *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return pack_fail_memory(err, "cuda consumer");
    cuda->consumer = consumer;
    cuda->params = *pack_consumer_get_params(consumer);
    if (cuda->params.stall_ns == 0)
        cuda->params.stall_ns = default_stall_ns;
    if (cuda->params.transfer == PACK_TRANSFER_FLOAT32) {
        struct pack_normalise single = cuda->params.normalise;
        single.precision = PACK_FP32;
        pack_normalise_table(&single, &cuda->table);
    }
    enum pack_status status = pack_cuda_open(cuda->params.gpu, &cuda->api, err);
    if (status == PACK_OK)
        status = make_kernels(cuda, err);
    if (status == PACK_OK)
        status = make_memory(cuda, err);
    if (status == PACK_OK)
        status = measure_ceiling(cuda, err);
    if (status == PACK_OK)
        status = set_origin(cuda, err);
    if (status != PACK_OK) {
        pack_cuda_state_close(cuda);
        return status;
    }
    cuda->nvml = pack_nvml_open(cuda->api.uuid);
    *state = cuda;
    return PACK_OK;
}
