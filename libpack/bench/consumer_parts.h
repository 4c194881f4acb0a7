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
    return batch->order ? batch->n_order : batch->n_samples;
}

static inline uint64_t
pack_batch_index(const struct pack_batch *batch, uint64_t i)
{
    return batch->order ? batch->order[i] : i;
}

#endif
