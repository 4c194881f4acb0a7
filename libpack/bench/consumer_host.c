/* Normalises every sample on the processor, into memory that is used again. */
#include <stdlib.h>

#include "libpack/base/clock.h"
#include "libpack/bench/consumer_parts.h"
#include "libpack/base/size.h"

struct host {
    struct pack_consumer *consumer;
    struct pack_normalise_table table;
    unsigned char *out; /* a batch of normalised samples */
    size_t out_bytes;   /* of one sample */
};

static void
host_close(void *state)
{
    struct host *host = state;
    free(host->out);
    free(host);
}

static enum pack_status
host_open(struct pack_consumer *consumer, void **state, struct pack_error *err)
{
    const struct pack_consumer_params *p = pack_consumer_get_params(consumer);
    struct host *host = calloc(1, sizeof *host);
    uint64_t bytes;
    if (!host)
        return pack_fail_memory(err, "host consumer");
    host->consumer = consumer;
    host->out_bytes = pack_normalise_values(&p->normalise) *
                      pack_precision_bytes(p->normalise.precision);
    pack_normalise_table(&p->normalise, &host->table);
    if (!pack_size_mul(host->out_bytes, p->batch_max, &bytes) || bytes > SIZE_MAX ||
        !(host->out = malloc(bytes ? (size_t)bytes : 1))) {
        host_close(host);
        return pack_fail_memory(err, "a normalised batch");
    }
    *state = host;
    return PACK_OK;
}

static enum pack_status
host_take(void *state, const struct pack_batch *batch, struct pack_error *err)
{
    (void)err;
    struct host *host = state;
    const struct pack_consumer_params *p = pack_consumer_get_params(host->consumer);
    uint64_t begin = pack_clock_ns(), n = pack_batch_used(batch);
    for (uint64_t i = 0; i < n; i++)
        pack_normalise_apply(&p->normalise, &host->table,
                             (const uint8_t *)batch->data +
                                 pack_batch_index(batch, i) * p->sample_bytes,
                             host->out + i * host->out_bytes);
    if (p->on_output)
        p->on_output(p->context, host->out, (size_t)n * host->out_bytes);
    pack_consumer_report_now(host->consumer, batch, begin);
    return PACK_OK;
}

const struct pack_consumer_ops pack_consumer_host = {
    .name = "host",
    .purpose = "normalises on the processor",
    .needs_pixels = true,
    .open = host_open,
    .take = host_take,
    .close = host_close,
};
