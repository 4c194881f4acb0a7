/* What other reads would make of a training that was recorded. */
#ifndef LIBPACK_ADVISE_TRAINING_H
#define LIBPACK_ADVISE_TRAINING_H

#include <stdbool.h>

#include "libpack/model/trace_job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rates are samples/s of all workers together. */
struct pack_advise_training {
    double recorded_rate;
    double reading; /* part of a worker's time in which it read */
    double rate;    /* with the other reads */
    double gain;    /* rate / recorded_rate */
    double most;    /* gain of reads that take no time */
};

/*
 * A worker's time for a sample is that of its read, and that between reads, which stays: what
 * Python does with the sample, handing it over, waiting for whoever trains. `speedup`: how
 * many times as fast the other reads are. False where the trace does not say what reads
 * took, or is replayed by other workers than those it is of.
 */
bool pack_advise_training(const struct pack_trace_job *job, double speedup,
                          struct pack_advise_training *training);

#ifdef __cplusplus
}
#endif
#endif
