/* What takes the batches: a table of consumers that stand for the training step. */
#ifndef LIBPACK_CONSUMER_H
#define LIBPACK_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpack/image/normalise.h"
#include <libpack/reader.h>
#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One finished training step. Times are CLOCK_MONOTONIC nanoseconds. */
struct pack_step {
    uint64_t number;    /* from 0 */
    uint64_t n_samples; /* used by this step */
    uint64_t begin_ns, end_ns;
    uint64_t busy_ns;      /* the consumer worked */
    uint64_t compute_ns;   /* of that, what params.step_ns asked for; 0: nothing did */
    uint64_t starved_ns;   /* idle before this step, waiting for data or for its copy */
    uint64_t copy_wait_ns; /* of those, while its data was being copied to the device */
    uint64_t pin_ns;  /* the host copied the batch into pinned memory; 0 where none is */
    uint64_t copy_ns; /* host to device */
    uint64_t pin_begin_ns, copy_begin_ns; /* of these two */
    uint64_t copy_bytes;
    uint64_t normalise_ns;
};

/* Samples that one step uses, all of them whole and of one size. */
struct pack_batch {
    const void *data;      /* n_samples * sample_bytes, until the call returns */
    uint64_t n_samples;    /* in data */
    uint64_t round;        /* the epoch, from 0 */
    uint64_t number;       /* of the batch in its round */
    const uint32_t *indices; /* which of them, in which order; NULL: all as they are */
    uint64_t n_indices;      /* how many of them, when indices are given */
    uint64_t ready_ns;     /* when it was made; 0: now */
    bool again;            /* data is the same as in the call before (batch echoing) */
    bool is_buffer; /* data lies in memory that pack_consumer_buffers() led to */
};

enum pack_transfer { PACK_TRANSFER_UINT8 = 0, PACK_TRANSFER_FLOAT32 };

/* Zeroed by the caller; zero is the default where nothing else is said. */
struct pack_consumer_params {
    size_t sample_bytes;
    uint64_t batch_max; /* samples */
    uint64_t step_ns;   /* emulated, cuda: computing of a step that uses a whole batch */
    bool has_normalise; /* samples are uint8 images */
    struct pack_normalise normalise; /* host, cuda */
    enum pack_transfer transfer;     /* cuda: what goes over the bus */
    const char *gpu;                 /* cuda: index, UUID or MIG UUID; NULL: the first */
    /* cuda: a step that takes this much longer than step_ns is an error; 0: 60 s. */
    uint64_t stall_ns;
    struct pack_watch watch;         /* emulated: ends a step, however long it is */
    bool keep_output; /* cuda: fetch each normalised batch for on_output (tests) */

    /* checksum: the sample expected at place `index` of batch `number` of round
     * `round`. */
    enum pack_status (*expect)(void *context, uint64_t round, uint64_t number,
                               uint64_t index, uint64_t *checksum,
                               struct pack_error *err);
    void *expect_context;

    void (*on_step)(void *context, const struct pack_step *step); /* may be NULL */
    void (*on_output)(void *context, const void *values, size_t size);
    void *context; /* of on_step and on_output */
};

/* What a device says about itself and did in all; zero where there is none. */
struct pack_device_result {
    char name[96];                /* "NVIDIA H100 80GB HBM3" */
    char driver[96];              /* "CUDA 12.4", and NVML's version of the driver */
    uint64_t memory_bytes;        /* of the device */
    uint64_t used_bytes;          /* allocated by this run */
    double pinned_bytes_per_s;    /* copies from pinned memory and nothing else */
    double copy_bytes_per_s;      /* the batches' copies */
    double normalise_bytes_per_s; /* read and written by the kernel */
    double memory_bytes_per_s;    /* what the device's memory could do; 0 unknown */
    unsigned n_samples;           /* NVML samples taken; 0: NVML not there */
    double utilisation;           /* mean GPU-Util as nvidia-smi shows it, 0 to 1 */
    double pcie_bytes_per_s;      /* mean received, as NVML counts */
};

struct pack_consumer;

/*
 * A row of the table. Functions get the state that `open` made. `take` may return before
 * the step is done, but not before batch->data may be overwritten; `finish` waits for all
 * steps. Each reports its steps through pack_consumer_report, in order.
 */
struct pack_consumer_ops {
    const char *name, *purpose;
    bool needs_pixels; /* only uint8 images will do */
    enum pack_status (*open)(struct pack_consumer *consumer, void **state,
                             struct pack_error *err);
    enum pack_status (*take)(void *state, const struct pack_batch *batch,
                             struct pack_error *err);
    enum pack_status (*finish)(void *state, struct pack_error *err); /* may be NULL */
    void (*device)(void *state, struct pack_device_result *result);  /* may be NULL */
    /* Memory for batches that `take` then need not copy; both may be NULL. */
    void *(*allocate)(void *state, size_t bytes);
    void (*release)(void *state, void *buffer);
    void (*close)(void *state);
};

/* The table, ended by NULL; and the row of a name, or NULL. */
extern const struct pack_consumer_ops *const pack_consumers[];
const struct pack_consumer_ops *pack_consumer_find(const char *name);
/* Whether this build has it: PACK_ERR_ARGUMENT, or PACK_ERR_UNSUPPORTED. */
enum pack_status pack_consumer_check(const char *name, struct pack_error *err);

/*
 * Opens a consumer by name. PACK_ERR_ARGUMENT for an unknown name, or samples it cannot
 * use; PACK_ERR_UNSUPPORTED when this build or this machine lacks it, with what to use
 * instead. params are copied.
 */
enum pack_status pack_consumer_open(const char *name,
                                    const struct pack_consumer_params *params,
                                    struct pack_consumer **consumer,
                                    struct pack_error *err);
/* Hands over one step's samples. */
enum pack_status pack_consumer_take(struct pack_consumer *consumer,
                                    const struct pack_batch *batch,
                                    struct pack_error *err);
/* Waits until all steps are done and reported. */
enum pack_status pack_consumer_finish(struct pack_consumer *consumer,
                                      struct pack_error *err);
void pack_consumer_device(struct pack_consumer *consumer,
                          struct pack_device_result *result);
/* Where batches best lie, for a reader that lives no longer than the consumer; zero where any
 * memory will do. */
struct pack_reader_buffers pack_consumer_buffers(const struct pack_consumer *consumer);
void pack_consumer_close(struct pack_consumer *consumer); /* accepts NULL */
const char *pack_consumer_name(const struct pack_consumer *consumer);

/* For the rows: parameters, and a finished step on its way to on_step,
 * which numbers it. */
const struct pack_consumer_params *
pack_consumer_get_params(const struct pack_consumer *consumer);
void pack_consumer_report(struct pack_consumer *consumer, const struct pack_step *step);
/* When the step before ended, 0 before the first: what lies between is starvation. */
uint64_t pack_consumer_last_end(const struct pack_consumer *consumer);

#ifdef __cplusplus
}
#endif
#endif
