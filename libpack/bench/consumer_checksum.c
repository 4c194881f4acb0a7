/* Compares every sample with what an independent pass over the file found. */
#include "libpack/base/checksum.h"
#include "libpack/base/clock.h"
#include "libpack/bench/consumer_parts.h"

static enum pack_status
checksum_open(struct pack_consumer *consumer, void **state, struct pack_error *err)
{
    if (!pack_consumer_get_params(consumer)->expect)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "consumer 'checksum' has nothing to compare with");
    *state = consumer;
    return PACK_OK;
}

static enum pack_status
checksum_take(void *state, const struct pack_batch *batch, struct pack_error *err)
{
    const struct pack_consumer_params *p = pack_consumer_get_params(state);
    uint64_t begin = pack_clock_ns(), n = pack_batch_used(batch);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t index = pack_batch_index(batch, i), want;
        enum pack_status status =
            p->expect(p->expect_context, batch->round, batch->number, index, &want, err);
        if (status != PACK_OK)
            return status;
        const unsigned char *sample = batch->data;
        if (pack_checksum(sample + index * p->sample_bytes, p->sample_bytes, 0) != want)
            return pack_fail(err, PACK_ERR_MISMATCH,
                             "epoch %llu, batch %llu, "
                             "sample %llu of it differs from the file",
                             (unsigned long long)batch->round,
                             (unsigned long long)batch->number,
                             (unsigned long long)index);
    }
    pack_consumer_report_now(state, batch, begin);
    return PACK_OK;
}

static void
checksum_close(void *state)
{
    (void)state;
}

const struct pack_consumer_ops pack_consumer_checksum = {
    .name = "checksum",
    .purpose = "compares every sample with an independent pass over the file",
    .open = checksum_open,
    .take = checksum_take,
    .close = checksum_close,
};
