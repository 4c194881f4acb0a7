/* The rows of the table of consumers. Not for use outside libpack. */
#ifndef LIBPACK_CONSUMER_PARTS_H
#define LIBPACK_CONSUMER_PARTS_H

#include "libpack/bench/consumer.h"

extern const struct pack_consumer_ops pack_consumer_null;
extern const struct pack_consumer_ops pack_consumer_host;
extern const struct pack_consumer_ops pack_consumer_emulated;
extern const struct pack_consumer_ops pack_consumer_checksum;
extern const struct pack_consumer_ops pack_consumer_cuda;

/* Fills in a step that began at begin_ns and ends now, and reports it: for consumers that
 * work while `take` runs. */
void pack_consumer_report_now(struct pack_consumer *consumer,
                              const struct pack_batch *batch, uint64_t begin_ns);

/* Samples a step uses, and the address of its i-th. */
static inline uint64_t
pack_batch_used(const struct pack_batch *batch)
{
    return batch->indices ? batch->n_indices : batch->n_samples;
}

/* Computing time of a step: a part of a batch takes its part of the time. */
static inline uint64_t
pack_batch_step_ns(const struct pack_batch *batch, uint64_t step_ns)
{
    return batch->indices && batch->n_samples
               ? (uint64_t)((double)step_ns * (double)batch->n_indices /
                            (double)batch->n_samples)
               : step_ns;
}

static inline uint64_t
pack_batch_index(const struct pack_batch *batch, uint64_t i)
{
    return batch->indices ? batch->indices[i] : i;
}

#endif
