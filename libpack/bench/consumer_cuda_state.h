/* State of one open cuda consumer: see consumer_cuda.c. Not for use outside libpack. */
#ifndef LIBPACK_CONSUMER_CUDA_STATE_H
#define LIBPACK_CONSUMER_CUDA_STATE_H

#include "libpack/bench/consumer_cuda_driver.h"

enum { CUDA_STEPS = 4, CUDA_BUFFERS = CUDA_STEPS - 1 };
enum {
    CUDA_COPY_BEGIN,
    CUDA_COPY_END,
    CUDA_BEGIN,
    CUDA_NORMALISED,
    CUDA_END,
    CUDA_EVENTS
};

struct cuda_buffer {
    void *pinned;
    pack_cuda_deviceptr device;
};

struct cuda_step {
    void *event[CUDA_EVENTS];
    uint32_t *pinned_indices;
    pack_cuda_deviceptr indices;
    bool has_copy;
    uint64_t n_samples, pin_begin_ns, pin_ns;
    uint64_t n_copied, compute_ns; /* samples, of which the step may use a part */
};

struct cuda_state {
    struct pack_cuda api;
    struct pack_consumer *consumer;
    struct pack_consumer_params params;  /* with defaults filled in */
    struct pack_normalise_table table;   /* for PACK_TRANSFER_FLOAT32 */
    size_t transfer_bytes, output_bytes; /* of one sample */
    void *module, *normalise, *compute;
    void *copy_stream, *compute_stream;
    void *origin;    /* an event at a known time of the host's clock */
    void *idle;      /* an event for the end of all work */
    uint64_t end_ns; /* host time at which the last step that was read ended */
    struct cuda_buffer buffer[CUDA_BUFFERS];
    struct cuda_step step[CUDA_STEPS];
    unsigned current;         /* buffer of the last batch */
    uint64_t n_begun, n_read; /* steps */
    pack_cuda_deviceptr output;
    void *output_host; /* keep_output only */
    int n_processors;
    uint64_t used_bytes, copy_ns, copy_bytes, normalise_ns, normalise_bytes;
    double pinned_bytes_per_s;
    struct pack_nvml *nvml;
};

/* Loads the driver, allocates, measures the pinned-copy ceiling;
 * and gives it all back. */
enum pack_status pack_cuda_state_open(struct pack_consumer *consumer, void **state,
                                      struct pack_error *err);
void pack_cuda_state_close(void *state);

/* PACK_OK, or what cannot be done on the GPU. */
static inline enum pack_status
cuda_check(const struct cuda_state *cuda, pack_cuda_result result, const char *what,
           struct pack_error *err)
{
    return pack_cuda_check(&cuda->api, result, what, err);
}

static inline enum pack_status
cuda_record(struct cuda_state *cuda, void *event, void *stream, struct pack_error *err)
{
    return cuda_check(cuda, cuda->api.EventRecord(event, stream), "record an event", err);
}

#endif
