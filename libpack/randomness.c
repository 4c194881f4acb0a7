/*
 * Both measures are one: batches are drawn from the pattern, each sample falls into a
 * part, the entropy of the counts is averaged and divided by its expectation
 *
 *     E[H] = - sum over parts p, sum over k of Binomial(k; b, p) (k/b) ln(k/b)
 *
 * for b independent draws with probabilities p.
 */
#include "libpack/randomness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 256, PARTS_MAX = 64, LONE_BATCH = 64, BATCH_MAX = 4096 };

/* Where samples fall. */
struct parts {
    uint64_t n, n_samples;
    const int64_t *labels;        /* NULL: equal parts of the samples */
    const struct pack_box *trace; /* whose boxes samples are; NULL: none */
    uint64_t *counts;             /* of the batch at hand */
};

static uint64_t
part_of(const struct parts *parts, uint64_t sample)
{
    if (parts->labels)
        return sample < parts->n_samples ? (uint64_t)parts->labels[sample] : 0;
    if (parts->trace)
        sample = parts->trace[sample].start[0];
    uint64_t part =
        (uint64_t)((double)sample / (double)parts->n_samples * (double)parts->n);
    return part < parts->n ? part : parts->n - 1;
}

/* -(x) ln(x), 0 at 0. */
static double
surprise(double x)
{
    return x > 0 ? -x * log(x) : 0;
}

/* The expected contribution of a part of probability p to the entropy of b draws. */
static double
expected_surprise(double p, uint64_t b)
{
    double sum = 0, n = (double)b;
    if (p <= 0)
        return 0;
    for (uint64_t k = 1; k <= b; k++) {
        double x = (double)k;
        double ln = lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) + x * log(p) +
                    (n - x) * (p < 1 ? log1p(-p) : 0);
        if (p < 1 || k == b)
            sum += exp(ln) * surprise(x / n);
    }
    return sum;
}

static double
batch_entropy(struct parts *parts, const uint64_t *samples, size_t n)
{
    double entropy = 0;
    for (size_t i = 0; i < n; i++)
        parts->counts[part_of(parts, samples[i])]++;
    for (size_t i = 0; i < n; i++) { /* each part once, clearing it */
        uint64_t *count = &parts->counts[part_of(parts, samples[i])];
        entropy += surprise((double)*count / (double)n);
        *count = 0;
    }
    return entropy;
}

/* The mean entropy of batches spread over the epoch. */
static enum pack_status
mean_entropy(const struct pack_pattern *pattern, struct parts *parts, uint64_t batch,
             double *mean, struct pack_error *err)
{
    struct pack_pattern alone = *pattern;
    struct pack_pattern_iter *iter = NULL;
    uint64_t samples[BATCH_MAX];
    double sum = 0;
    size_t n_batches = 0;
    alone.workers = alone.worker = 0;
    alone.read = PACK_READ_SAMPLE;
    enum pack_status status = pack_pattern_new(&alone, &iter, err);
    if (status != PACK_OK)
        return status;
    uint64_t length = pack_pattern_length(iter), wanted = length / batch;
    bool can_seek = pattern->kind != PACK_PATTERN_BUFFER && !pattern->slide;
    wanted = wanted > BATCHES ? BATCHES : wanted ? wanted : 1;
    for (uint64_t i = 0; status == PACK_OK && i < wanted; i++) {
        if (can_seek)
            status = pack_pattern_seek(iter, pattern->epoch,
                                       length / batch * i / wanted * batch, err);
        size_t n = status == PACK_OK ? pack_pattern_samples(iter, samples, batch) : 0;
        if (n < 2)
            break;
        sum += batch_entropy(parts, samples, n);
        n_batches++;
    }
    pack_pattern_free(iter);
    *mean = n_batches ? sum / (double)n_batches : 0;
    return status;
}

static uint64_t
batch_of(const struct pack_pattern *pattern)
{
    uint64_t batch = pattern->batch > 1 ? pattern->batch : LONE_BATCH;
    return batch < BATCH_MAX ? batch : BATCH_MAX;
}

static double
clamp(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* What parts are cut from: samples, or for a trace indexes of axis 0. */
static enum pack_status
count_samples(const struct pack_pattern *pattern, uint64_t *n, struct pack_error *err)
{
    struct pack_pattern_iter *iter;
    struct pack_pattern sequential = *pattern;
    if (pattern->kind == PACK_PATTERN_TRACE) {
        *n = 1;
        for (uint64_t i = 0; i < pattern->n_trace; i++)
            if (pattern->trace[i].start[0] >= *n)
                *n = pattern->trace[i].start[0] + 1;
        return PACK_OK;
    }
    sequential.kind = PACK_PATTERN_SEQUENTIAL;
    sequential.read = PACK_READ_SAMPLE;
    enum pack_status status = pack_pattern_new(&sequential, &iter, err);
    if (status != PACK_OK)
        return status;
    *n = pack_pattern_n_samples(iter);
    pack_pattern_free(iter);
    return PACK_OK;
}

enum pack_status
pack_randomness_of(const struct pack_pattern *pattern, double *randomness,
                   struct pack_error *err)
{
    uint64_t counts[PARTS_MAX] = { 0 }, batch = batch_of(pattern);
    struct parts parts = { .counts = counts };
    if (pattern->kind == PACK_PATTERN_TRACE)
        parts.trace = pattern->trace;
    double mean;
    enum pack_status status = count_samples(pattern, &parts.n_samples, err);
    parts.n = batch < PARTS_MAX ? batch : PARTS_MAX;
    if (parts.n > parts.n_samples)
        parts.n = parts.n_samples;
    if (status == PACK_OK)
        status = mean_entropy(pattern, &parts, batch, &mean, err);
    if (status != PACK_OK)
        return status;
    double expected = (double)parts.n * expected_surprise(1 / (double)parts.n, batch);
    *randomness = expected > 0 ? clamp(mean / expected) : 1;
    return PACK_OK;
}

enum pack_status
pack_randomness_mixing(const struct pack_pattern *pattern, const int64_t *labels,
                       uint64_t n_labels, uint64_t n_classes, double *mixing,
                       struct pack_error *err)
{
    struct parts parts = { .n = n_classes, .n_samples = n_labels, .labels = labels };
    double mean, expected = 0;
    uint64_t batch = batch_of(pattern);
    enum pack_status status = PACK_OK;
    parts.counts = calloc(n_classes ? n_classes : 1, sizeof *parts.counts);
    if (!parts.counts)
        return pack_fail_memory(err, "classes");
    for (uint64_t i = 0; status == PACK_OK && i < n_labels; i++) {
        if (labels[i] < 0 || (uint64_t)labels[i] >= n_classes)
            status = pack_fail(err, PACK_ERR_ARGUMENT,
                               "label %lld of sample %llu is none of "
                               "%llu classes",
                               (long long)labels[i], (unsigned long long)i,
                               (unsigned long long)n_classes);
        else
            parts.counts[labels[i]]++;
    }
    for (uint64_t i = 0; status == PACK_OK && i < n_classes; i++) {
        expected += expected_surprise((double)parts.counts[i] / (double)n_labels, batch);
        parts.counts[i] = 0;
    }
    if (status == PACK_OK)
        status = mean_entropy(pattern, &parts, batch, &mean, err);
    free(parts.counts);
    if (status == PACK_OK)
        *mixing = expected > 0 ? clamp(mean / expected) : 1;
    return status;
}
