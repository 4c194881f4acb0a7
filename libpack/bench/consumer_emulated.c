/*
 * Sleeps for the duration of a training step, as MLPerf Storage does. What is timed is
 * the accelerator, which has a queue: it begins when its step before has ended and the
 * batch was ready, and ends in time, however late this process wakes up and hears of it.
 */
#include <errno.h>
#include <time.h>

#include "libpack/base/clock.h"
#include "libpack/bench/consumer_parts.h"

static enum pack_status
emulated_open(struct pack_consumer *consumer, void **state, struct pack_error *err)
{
    if (pack_consumer_get_params(consumer)->step_ns == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "step",
                               "consumer 'emulated' needs the duration of a step");
    *state = consumer;
    return PACK_OK;
}

static enum pack_status
emulated_take(void *state, const struct pack_batch *batch, struct pack_error *err)
{
    (void)err;
    uint64_t begin = batch->ready_ns ? batch->ready_ns : pack_clock_ns();
    uint64_t last = pack_consumer_last_end(state);
    if (begin < last)
        begin = last;
    uint64_t step_ns =
        pack_batch_step_ns(batch, pack_consumer_get_params(state)->step_ns);
    uint64_t until = begin + step_ns;
    struct pack_step step = { .n_samples = pack_batch_used(batch),
                              .begin_ns = begin,
                              .end_ns = until,
                              .busy_ns = step_ns,
                              .compute_ns = step_ns,
                              .starved_ns = last ? begin - last : 0 };
    struct timespec at = { .tv_sec = (time_t)(until / 1000000000),
                           .tv_nsec = (long)(until % 1000000000) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
    pack_consumer_report(state, &step);
    return PACK_OK;
}

static void
emulated_close(void *state)
{
    (void)state;
}

const struct pack_consumer_ops pack_consumer_emulated = {
    .name = "emulated",
    .purpose = "sleeps for a step, as MLPerf Storage does",
    .open = emulated_open,
    .take = emulated_take,
    .close = emulated_close,
};
