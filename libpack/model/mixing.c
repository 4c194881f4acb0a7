/* Sums over batches; expectations for uniform batches come at the end, in closed form or
 * as a short sum. */
#include "libpack/model/mixing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/sort.h"

static enum pack_status
count_classes(struct pack_mixing *m, struct pack_error *err)
{
    m->class_sizes = calloc(m->n_classes, sizeof m->class_sizes[0]);
    m->class_batch = calloc(m->n_classes, sizeof m->class_batch[0]);
    if (!m->class_sizes || !m->class_batch)
        return pack_fail_memory(err, "classes");
    for (uint64_t i = 0; i < m->n_samples; i++) {
        if (m->labels[i] >= m->n_classes)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "sample %llu has label %lu, classes end at %lu",
                             (unsigned long long)i, (unsigned long)m->labels[i],
                             (unsigned long)m->n_classes - 1);
        m->class_sizes[m->labels[i]]++;
    }
    return PACK_OK;
}

enum pack_status
pack_mixing_init(struct pack_mixing *mixing, uint64_t n_samples, size_t batch,
                 const uint32_t *labels, uint32_t n_classes, struct pack_error *err)
{
    struct pack_mixing m = {
        .n_samples = n_samples, .batch = batch, .labels = labels, .n_classes = n_classes
    };
    enum pack_status status = PACK_OK;
    if (batch < 2)
        return pack_fail(err, PACK_ERR_ARGUMENT, "a batch of one sample mixes nothing");
    if (labels && n_classes == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "labels without classes");
    m.sorted = calloc(batch, sizeof m.sorted[0]);
    if (!m.sorted)
        status = pack_fail_memory(err, "batch");
    if (status == PACK_OK && labels)
        status = count_classes(&m, err);
    if (status)
        pack_mixing_done(&m);
    else
        *mixing = m;
    return status;
}

void
pack_mixing_done(struct pack_mixing *mixing)
{
    free(mixing->sorted);
    free(mixing->class_sizes);
    free(mixing->class_batch);
    *mixing = (struct pack_mixing){ 0 };
}

static void
add_classes(struct pack_mixing *m, const uint64_t *samples, size_t n)
{
    uint32_t batch = (uint32_t)m->n_batches; /* counted from 1 */
    for (size_t i = 0; i < n; i++) {
        uint32_t label = m->labels[samples[i]];
        m->n_distinct += m->class_batch[label] != batch;
        m->class_batch[label] = batch;
    }
}

void
pack_mixing_add(struct pack_mixing *mixing, const uint64_t *samples, size_t n)
{
    if (n > mixing->batch)
        n = mixing->batch;
    mixing->n_batches++;
    if (mixing->labels)
        add_classes(mixing, samples, n);
    memcpy(mixing->sorted, samples, n * sizeof samples[0]);
    pack_sort_u64(mixing->sorted, n);
    for (size_t i = 1; i < n; i++) {
        uint64_t gap = mixing->sorted[i] - mixing->sorted[i - 1];
        mixing->sum_log += gap > 1 ? log((double)gap) : 0;
        mixing->n_gaps++;
    }
}

/*
 * E[log g] for b of n drawn uniformly. P(g + 1) / P(g) = (n - g - b + 1) / (n - g), from
 * P(1) = b / n on. Where gaps are long they are nearly continuous, Beta(1, b) times n,
 * whose mean logarithm is log n - (1 + 1/2 + ... + 1/b).
 */
static double
uniform_log_gap(double n, double b)
{
    double mean = 0, p = b / n;
    if (n / b > 4096) {
        double harmonic = 0;
        for (double k = 1; k <= b; k++)
            harmonic += 1 / k;
        return log(n) - harmonic;
    }
    for (double g = 1; g <= n - b + 1 && p > 0; g++) {
        mean += p * log(g);
        p *= (n - g - b + 1) / (n - g);
    }
    return mean;
}

double
pack_mixing_randomness(const struct pack_mixing *mixing)
{
    double n = (double)mixing->n_samples, b = (double)mixing->batch;
    double expected = b < n ? uniform_log_gap(n, b) : 0;
    if (mixing->n_gaps == 0 || expected <= 0)
        return 1;
    double randomness = mixing->sum_log / (double)mixing->n_gaps / expected;
    return randomness < 1 ? randomness : 1;
}

/* log n!; the plain lgamma() leaves a sign in a global variable */
static double
log_factorial(double n)
{
    int sign;
    return lgamma_r(n + 1, &sign);
}

/* log C(n, k) */
static double
log_choose(double n, double k)
{
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

void
pack_mixing_classes(const struct pack_mixing *mixing, double *mean, double *of_uniform)
{
    double n = (double)mixing->n_samples, sum = 0;
    double b = (double)mixing->batch < n ? (double)mixing->batch : n;
    *mean = *of_uniform = 0;
    if (!mixing->labels || mixing->n_batches == 0)
        return;
    for (uint32_t c = 0; c < mixing->n_classes; c++) {
        double others = n - (double)mixing->class_sizes[c];
        if (mixing->class_sizes[c] > 0)
            sum += b > others ? 1 : 1 - exp(log_choose(others, b) - log_choose(n, b));
    }
    *of_uniform = sum;
    *mean = (double)mixing->n_distinct / (double)mixing->n_batches;
}
