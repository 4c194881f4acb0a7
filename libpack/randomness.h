/* How random an order is, without knowing labels, and with them. */
#ifndef LIBPACK_RANDOMNESS_H
#define LIBPACK_RANDOMNESS_H

#include <stdint.h>

#include "libpack/pattern.h"
#include "libpack/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How well batches mix the dataset: 0 for a sequential order, 1 for a uniform shuffle.
 *
 * The dataset is cut along axis 0 into as many equal parts as a batch has samples (2 to
 * 64). Each batch has a Shannon entropy of the parts that its samples come from; the
 * measure is the mean entropy over up to 256 batches spread over the first epoch, divided
 * by what independent uniform draws give on average (in closed form). It is the minibatch
 * entropy by which scDataset (arXiv 2506.01883, section 3.4) compares samplers, with
 * parts of the dataset in place of labels: it says how well a dataset that is stored
 * class after class would be mixed, the hardest case. A batch of one is taken as one of
 * 64, for what follows one another.
 *
 * Errors of pack_pattern_new. Needs what its iterator needs.
 */
enum pack_status pack_randomness_of(const struct pack_pattern *pattern,
                                    double *randomness, struct pack_error *err);

/*
 * The same with classes for parts: labels[i] of sample i, 0 .. n_classes - 1; the mean
 * entropy of a batch's classes, divided by that of the whole dataset drawn from
 * uniformly. 1 when there is one class only. PACK_ERR_ARGUMENT for labels out of range.
 */
enum pack_status pack_randomness_mixing(const struct pack_pattern *pattern,
                                        const int64_t *labels, uint64_t n_labels,
                                        uint64_t n_classes, double *mixing,
                                        struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
