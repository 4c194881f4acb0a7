/*
 * How well an order mixes: batches spread over the first epoch, as the rank gets them,
 * whatever worker reads them.
 */
#include <stdlib.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/model/mixing.h"

enum { BATCHES = 256, LONE_BATCH = 64, BATCH_MAX = 4096 };

/* A trace's samples are its reads; where they start says what they mix. */
static void
starts_of(const struct pack_pattern *pattern, uint64_t *samples, size_t n)
{
    if (pattern->kind != PACK_PATTERN_TRACE)
        return;
    for (size_t i = 0; i < n; i++)
        samples[i] = pattern->trace[samples[i]].start[0];
}

static enum pack_status
add_batches(const struct pack_pattern *pattern, struct pack_pattern_iter *iter,
            uint64_t batch, struct pack_mixing *mixing, struct pack_error *err)
{
    uint64_t samples[BATCH_MAX], length = pack_pattern_length(iter);
    uint64_t n_batches = length / batch,
             wanted = n_batches < BATCHES ? n_batches : BATCHES;
    bool can_seek = pattern->kind != PACK_PATTERN_BUFFER && !pattern->slide;
    enum pack_status status = PACK_OK;
    for (uint64_t i = 0; status == PACK_OK && i < wanted; i++) {
        uint64_t at = n_batches * i / wanted * batch;
        if (can_seek)
            status = pack_pattern_seek(iter, pattern->epoch, at, err);
        size_t n = status == PACK_OK ? pack_pattern_samples(iter, samples, batch) : 0;
        starts_of(pattern, samples, n);
        pack_mixing_add(mixing, samples, n);
    }
    return status;
}

enum pack_status
pack_advise_mix(const struct pack_advise_params *params,
                const struct pack_pattern *pattern, struct pack_advise_outcome *outcome,
                struct pack_error *err)
{
    struct pack_pattern alone = *pattern;
    struct pack_pattern_iter *iter = NULL;
    struct pack_mixing mixing = { 0 };
    uint64_t batch = pattern->batch > 1 ? pattern->batch : LONE_BATCH, n;
    alone.dealt = pattern->dealt ? pattern->dealt : pattern->workers;
    alone.workers = alone.worker = 0;
    alone.read = PACK_READ_SAMPLE;
    enum pack_status status = pack_pattern_new(&alone, &iter, err);
    if (status != PACK_OK)
        return status;
    n = pattern->kind == PACK_PATTERN_TRACE ? params->data.extent.extent[0]
                                            : pack_pattern_n_samples(iter);
    batch = batch < BATCH_MAX ? batch : BATCH_MAX;
    if (batch > pack_pattern_length(iter))
        batch = pack_pattern_length(iter);
    if (batch > n)
        batch = n;
    if (batch >= 2) {
        bool has_labels = params->data.labels && params->data.n_labels == n;
        status =
            pack_mixing_init(&mixing, n, batch, has_labels ? params->data.labels : NULL,
                             has_labels ? params->data.n_classes : 0, err);
        if (status == PACK_OK)
            status = add_batches(&alone, iter, batch, &mixing, err);
        if (status == PACK_OK) {
            double mean = 0, uniform = 0;
            outcome->randomness = pack_mixing_randomness(&mixing);
            pack_mixing_classes(&mixing, &mean, &uniform);
            outcome->class_mixing = uniform > 0 ? mean / uniform : -1;
        }
        pack_mixing_done(&mixing);
    }
    pack_pattern_free(iter);
    return status;
}
