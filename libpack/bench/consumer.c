#include "libpack/bench/consumer.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "libpack/base/clock.h"
#include "libpack/bench/consumer_parts.h"

struct pack_consumer {
    const struct pack_consumer_ops *ops;
    struct pack_consumer_params params;
    void *state;
    uint64_t n_steps, last_end_ns;
};

const struct pack_consumer_ops *const pack_consumers[] = {
    &pack_consumer_null,
    &pack_consumer_host,
    &pack_consumer_emulated,
    &pack_consumer_checksum,
#ifdef HAVE_CUDA
    &pack_consumer_cuda,
#endif
    NULL,
};

const struct pack_consumer_ops *
pack_consumer_find(const char *name)
{
    for (const struct pack_consumer_ops *const *row = pack_consumers; *row; row++)
        if (strcmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}

enum pack_status
pack_consumer_check(const char *name, struct pack_error *err)
{
    if (pack_consumer_find(name))
        return PACK_OK;
    if (strcmp(name, "cuda") == 0)
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "consumer",
                               "this build has no cuda consumer: nvcc was not found when "
                               "it was configured");
    return pack_fail(err, PACK_ERR_ARGUMENT,
                     "no consumer is called '%.40s'; there are null, host, emulated, "
                     "checksum, cuda and auto",
                     name);
}

enum pack_status
pack_consumer_open(const char *name, const struct pack_consumer_params *params,
                   struct pack_consumer **out, struct pack_error *err)
{
    const struct pack_consumer_ops *ops = pack_consumer_find(name);
    if (!ops)
        return pack_consumer_check(name, err);
    if (ops->needs_pixels && !params->has_normalise)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "consumer '%s' normalises uint8 images of up to %d channels, "
                         "and the samples are something else; use 'null' or 'emulated'",
                         name, PACK_NORMALISE_CHANNELS_MAX);
    struct pack_consumer *consumer = calloc(1, sizeof *consumer);
    if (!consumer)
        return pack_fail_memory(err, "consumer");
    consumer->ops = ops;
    consumer->params = *params;
    enum pack_status status = ops->open(consumer, &consumer->state, err);
    if (status != PACK_OK) {
        free(consumer);
        return status;
    }
    *out = consumer;
    return PACK_OK;
}

enum pack_status
pack_consumer_take(struct pack_consumer *consumer, const struct pack_batch *batch,
                   struct pack_error *err)
{
    return consumer->ops->take(consumer->state, batch, err);
}

enum pack_status
pack_consumer_finish(struct pack_consumer *consumer, struct pack_error *err)
{
    return consumer->ops->finish ? consumer->ops->finish(consumer->state, err) : PACK_OK;
}

void
pack_consumer_device(struct pack_consumer *consumer, struct pack_device_result *result)
{
    *result = (struct pack_device_result){ 0 };
    if (consumer->ops->device)
        consumer->ops->device(consumer->state, result);
}

struct pack_reader_buffers
pack_consumer_buffers(const struct pack_consumer *consumer)
{
    return (struct pack_reader_buffers){ .context = consumer->state,
                                         .allocate = consumer->ops->allocate,
                                         .release = consumer->ops->release };
}

void
pack_consumer_close(struct pack_consumer *consumer)
{
    if (!consumer)
        return;
    consumer->ops->close(consumer->state);
    free(consumer);
}

const char *
pack_consumer_name(const struct pack_consumer *consumer)
{
    return consumer->ops->name;
}

const struct pack_consumer_params *
pack_consumer_get_params(const struct pack_consumer *consumer)
{
    return &consumer->params;
}

uint64_t
pack_consumer_last_end(const struct pack_consumer *consumer)
{
    return consumer->last_end_ns;
}

void
pack_consumer_report(struct pack_consumer *consumer, const struct pack_step *step)
{
    struct pack_step numbered = *step;
    numbered.number = consumer->n_steps++;
    consumer->last_end_ns = step->end_ns;
    if (consumer->params.on_step)
        consumer->params.on_step(consumer->params.context, &numbered);
}

void
pack_consumer_report_now(struct pack_consumer *consumer, const struct pack_batch *batch,
                         uint64_t begin_ns)
{
    uint64_t now = pack_clock_ns(), last = consumer->last_end_ns;
    struct pack_step step = { .n_samples = pack_batch_used(batch),
                              .begin_ns = begin_ns,
                              .end_ns = now,
                              .busy_ns = now - begin_ns,
                              .starved_ns = last ? begin_ns - last : 0 };
    pack_consumer_report(consumer, &step);
}
