/* How well an order mixes what is stored together. */
#ifndef LIBPACK_MIXING_H
#define LIBPACK_MIXING_H

#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Randomness of batches, without labels: 0 where every batch is a run of neighbours in
 * the file, 1 on average for a uniform shuffle.
 *
 * The samples of a batch, sorted, cut the dataset into gaps. For neighbours every gap is
 * 1; for a random batch they are about n / batch, and if one gap is short another is
 * long. The measure is the mean logarithm of the gaps, divided by what it would be for
 * batches drawn uniformly without replacement:
 *
 *     randomness = mean(log g) / E[log g],   P(g) = C(n - g, b - 1) / C(n, b)
 *
 * and 0 to 1 after clipping. The sum of log spacings is a classical test of uniformity
 * (Darling, "On a class of problems related to the random division of an interval",
 * 1953); a batch drawn from K chunks of m samples has gaps near K m / b instead of n / b,
 * so that the measure falls as log K does. A sample that comes twice makes a gap of 0,
 * which counts as one of 1.
 *
 * Like any such number it sees the order, not the data: files that are already shuffled
 * need none. Where labels are known, class mixing says more.
 */
struct pack_mixing {
    uint64_t n_samples;
    size_t batch;
    double sum_log; /* of all gaps so far */
    uint64_t n_gaps;

    const uint32_t *labels;
    uint32_t n_classes;
    uint64_t *class_sizes;
    uint32_t *class_batch; /* the last batch that each class was in */
    uint64_t n_batches, n_distinct;

    uint64_t *sorted;
};

/*
 * For batches of `batch` samples out of n_samples. `labels`, if not NULL, are those of
 * the samples, below n_classes, and borrowed. PACK_ERR_ARGUMENT for a batch below 2 or a
 * label that is not below n_classes; PACK_ERR_MEMORY.
 */
enum pack_status pack_mixing_init(struct pack_mixing *mixing, uint64_t n_samples,
                                  size_t batch, const uint32_t *labels,
                                  uint32_t n_classes, struct pack_error *err);
void pack_mixing_done(struct pack_mixing *mixing);

/* Adds one batch, of up to `batch` samples in any order. */
void pack_mixing_add(struct pack_mixing *mixing, const uint64_t *samples, size_t n);

/* Randomness as above; 1 before any batch of two samples. */
double pack_mixing_randomness(const struct pack_mixing *mixing);

/*
 * Classes in a batch: the mean over the batches so far, and what it would be for batches
 * drawn uniformly without replacement, the sum over the classes c of
 * 1 - C(n - n_c, b) / C(n, b). Both 0 without labels.
 */
void pack_mixing_classes(const struct pack_mixing *mixing, double *mean,
                         double *of_uniform);

#ifdef __cplusplus
}
#endif
#endif
