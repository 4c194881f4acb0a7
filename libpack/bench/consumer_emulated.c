/*
 * Sleeps for the duration of a training step, as MLPerf Storage does. What is timed is
 * the accelerator, which has a queue: it begins when its step before has ended and the
 * batch was ready, and ends in time, however late this process wakes up and hears of it.
 */
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

/* Nobody who wants to end the run waits for a step of minutes. */
static enum pack_status
sleep_until(const struct pack_watch *watch, uint64_t until_ns, struct pack_error *err)
{
    static const uint64_t nap_ns = 100 * 1000 * 1000;
    for (uint64_t now = pack_clock_ns(); now < until_ns; now = pack_clock_ns()) {
        enum pack_status status = pack_watch_check(watch, err);
        if (status != PACK_OK)
            return status;
        uint64_t at = until_ns - now < nap_ns ? until_ns : now + nap_ns;
        const struct timespec wake = { .tv_sec = (time_t)(at / 1000000000),
                                       .tv_nsec = (long)(at % 1000000000) };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
    return PACK_OK;
}

static enum pack_status
emulated_take(void *state, const struct pack_batch *batch, struct pack_error *err)
{
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
    enum pack_status status =
        sleep_until(&pack_consumer_get_params(state)->watch, until, err);
    if (status == PACK_OK)
        pack_consumer_report(state, &step);
    return status;
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
