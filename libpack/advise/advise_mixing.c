/*
 * How well an order mixes: batches spread over the first epoch, as the rank gets them,
 * whatever worker reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/sort.h"
#include "libpack/model/mixing.h"
#include "libpack/model/pattern_check.h"

enum { BATCHES = 256, LONE_BATCH = 64, BATCH_MAX = 4096 };

/* What samples are counted among, and their labels: of a subset its members as they lie in
 * the file. */
struct among {
    uint64_t n;
    uint64_t *members; /* NULL: all */
    uint32_t *own_labels;
    const uint32_t *labels;
};

static int
compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static enum pack_status
sort_members(const struct pack_pattern *p, struct among *among, struct pack_error *err)
{
    uint64_t bytes = p->n_subset * sizeof *among->members; /* as the subset has */
    among->n = p->n_subset;
    among->members = malloc(bytes);
    if (!among->members)
        return pack_fail_memory(err, "subset");
    memcpy(among->members, p->subset, bytes);
    qsort(among->members, among->n, sizeof *among->members, compare);
    if (!among->labels)
        return PACK_OK;
    among->own_labels = malloc(among->n * sizeof *among->own_labels);
    if (!among->own_labels)
        return pack_fail_memory(err, "subset");
    for (uint64_t i = 0; i < among->n; i++)
        among->own_labels[i] = among->labels[among->members[i]];
    among->labels = among->own_labels;
    return PACK_OK;
}

static enum pack_status
find_among(const struct pack_advise_params *params, const struct pack_pattern *pattern,
           struct among *among, struct pack_error *err)
{
    struct pack_pattern p = *pattern;
    bool is_trace = p.kind == PACK_PATTERN_TRACE, crops;
    *among = (struct among){ .n = 0 };
    enum pack_status status = pack_pattern_complete(&p, &crops, err);
    among->n = is_trace ? params->data.extent.extent[0] : p.n_samples;
    if (params->data.labels && params->data.n_labels == among->n)
        among->labels = params->data.labels;
    return status == PACK_OK && p.subset && !is_trace ? sort_members(&p, among, err)
                                                      : status;
}

/* A trace's samples are its reads; where they start says what they mix. */
static void
place(const struct pack_pattern *pattern, const struct among *among, uint64_t *samples,
      size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pattern->kind == PACK_PATTERN_TRACE)
            samples[i] = pattern->trace[samples[i]].start[0];
        else if (among->members)
            samples[i] = pack_sort_place(among->members, among->n, samples[i]);
}

static enum pack_status
add_batches(const struct pack_pattern *pattern, struct pack_pattern_iter *iter,
            const struct among *among, uint64_t batch, struct pack_mixing *mixing,
            struct pack_error *err)
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
        place(pattern, among, samples, n);
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
    struct among among;
    uint64_t batch = pattern->batch > 1 ? pattern->batch : LONE_BATCH;
    alone.dealt = pattern->dealt ? pattern->dealt : pattern->workers;
    alone.workers = alone.worker = 0;
    alone.read = PACK_READ_SAMPLE;
    enum pack_status status = pack_pattern_new(&alone, &iter, err);
    if (status != PACK_OK)
        return status;
    status = find_among(params, pattern, &among, err);
    batch = batch < BATCH_MAX ? batch : BATCH_MAX;
    if (batch > pack_pattern_length(iter))
        batch = pack_pattern_length(iter);
    if (batch > among.n)
        batch = among.n;
    if (status == PACK_OK && batch >= 2) {
        status = pack_mixing_init(&mixing, among.n, batch, among.labels,
                                  among.labels ? params->data.n_classes : 0, err);
        if (status == PACK_OK)
            status = add_batches(&alone, iter, &among, batch, &mixing, err);
        if (status == PACK_OK) {
            double mean = 0, uniform = 0;
            outcome->randomness = pack_mixing_randomness(&mixing);
            pack_mixing_classes(&mixing, &mean, &uniform);
            outcome->class_mixing = uniform > 0 ? mean / uniform : -1;
        }
        pack_mixing_done(&mixing);
    }
    free(among.own_labels);
    free(among.members);
    pack_pattern_free(iter);
    return status;
}
