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
    double training; /* part of the time in which the process that trains was at work */
    double rate;    /* with the other reads */
    double gain;    /* rate / recorded_rate */
    bool is_least;  /* what is beside reading is too little to be known: gain is no more than a bound */
    double most;    /* gain of reads that take no time */
};

/*
 * A worker's time for a sample is that of its read, and that between reads, which stays: what
 * Python does with the sample, handing it over, waiting for whoever trains. Where the trace says
 * how processes ran, what they waited for a processor is taken off, and the rate is no more than
 * the process that trains and `n_cpus` processors have time for; else that is not known.
 * `speedup`: how many times as fast the other reads are. False where the trace does not say what
 * reads took, or is replayed by other workers than those it is of.
 */
bool pack_advise_training(const struct pack_trace_job *job, double speedup, double n_cpus,
                          struct pack_advise_training *training);

#ifdef __cplusplus
}
#endif
#endif
