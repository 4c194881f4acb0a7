/* Takes the batch and returns: measures the reader alone. */
#include "libpack/base/clock.h"
#include "libpack/bench/consumer_parts.h"

static enum pack_status
null_open(struct pack_consumer *consumer, void **state, struct pack_error *err)
{
    (void)err;
    *state = consumer;
    return PACK_OK;
}

static enum pack_status
null_take(void *state, const struct pack_batch *batch, struct pack_error *err)
{
    (void)err;
    pack_consumer_report_now(state, batch, pack_clock_ns());
    return PACK_OK;
}

static void
null_close(void *state)
{
    (void)state;
}

const struct pack_consumer_ops pack_consumer_null = {
    .name = "null",
    .purpose = "takes the batch and returns: the reader alone",
    .open = null_open,
    .take = null_take,
    .close = null_close,
};
