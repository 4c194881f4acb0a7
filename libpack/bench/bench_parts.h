/* The parts of bench.c. Not for use outside libpack. */
#ifndef LIBPACK_BENCH_PARTS_H
#define LIBPACK_BENCH_PARTS_H

#include <libpack/advise.h>
#include "libpack/advise/advise_file.h"
#include "libpack/bench/bench.h"
#include "libpack/bench/trial.h"

/* What all parts of a run know beforehand. */
struct bench_plan {
    struct pack_bench_params params; /* defaults filled in */
    const struct pack_engine_ops *engine;
    struct pack_pattern pattern; /* of the whole rank */
    uint64_t epoch_samples, epoch_batches;
    uint64_t batch_max;         /* samples of the largest batch of an epoch */
    uint64_t stride_bytes;      /* from a sample to the next in a batch */
    uint64_t with_stride_bytes; /* likewise, behind them; 0: none */
    size_t slot_bytes;
};

/* Travels beside each batch. */
struct bench_note {
    uint64_t n_samples;
    uint64_t begin_ns, end_ns;
    struct pack_bench_work work;    /* from begin to end, and waiting before */
    struct pack_system_usage usage; /* since the batch before */
};

/* What a worker is doing, and its latencies; in shared memory. */
struct bench_where {
    uint64_t round, batch;
    bool in_with;
    struct pack_engine_where set, with;
};

/* Parts of the run: makes batches in a worker, or in line. */
extern const struct pack_procs_ops pack_bench_worker_ops; /* context: struct bench_plan */

/* Errors of what cannot be read or does not fit together. */
enum pack_status pack_bench_plan_make(const struct pack_bench_params *params,
                                      struct bench_plan *plan, struct pack_error *err);

/* Samples of batch `number` of an epoch. */
uint64_t pack_bench_batch_samples(const struct bench_plan *plan, uint64_t number);

/* Spans of the run that began at start_ns, kept in result->events when those are open. */
enum pack_status pack_bench_events_open(struct pack_bench_result *result,
                                        struct pack_error *err);
void pack_bench_record_batch(struct pack_bench_result *result, uint64_t start_ns,
                             const struct pack_procs_item *item, uint64_t wait_begin_ns,
                             uint64_t taken_ns);
void pack_bench_record_take(struct pack_bench_result *result, uint64_t start_ns,
                            uint64_t number, uint64_t begin_ns, uint64_t end_ns);
void pack_bench_record_step(struct pack_bench_result *result, uint64_t start_ns,
                            const struct pack_step *step);

/* Drops the pages of all files that the run reads, and sees what stayed. */
enum pack_status pack_bench_go_cold(const struct bench_plan *plan,
                                    struct pack_bench_epoch *epoch,
                                    struct pack_error *err);

/* What each worker did in each epoch, for the comparison with the simulator. */
struct bench_tally {
    uint64_t n_batches;
    uint64_t file_reads, file_read_bytes, with_reads, with_bytes;
};

/*
 * Replays the same reads in the simulator: fills the counts of the epochs and the
 * mismatch. tally[epoch * lanes + worker], lanes being n_workers or 1.
 */
enum pack_status pack_bench_check(const struct bench_plan *plan,
                                  const struct bench_tally *tally,
                                  struct pack_bench_result *result,
                                  struct pack_error *err);

void pack_bench_work_add(struct pack_bench_work *total,
                         const struct pack_bench_work *part);

/* Adds up the epochs and computes the rates of the steps, which took total_ns from the
 * end of the first to the end of the last. */
void pack_bench_finish(uint64_t total_ns, struct pack_bench_result *result);

/* Fills limit and cause from everything measured. */
void pack_bench_judge(const struct bench_plan *plan, struct pack_bench_result *result);

/* ------------------------------------------------------------------ advice */

/* Where a run's time went, in nanoseconds per fresh sample. */
struct bench_pace {
    double read, wall_per_read; /* the latter at least 1: reading's wall time over it */
    double hdf5;                /* of read: inside the library's calls */
    double take;                /* this process, on top of waiting and consuming */
    double copy, consume;
    bool in_line, beside; /* read by this process; consumed by a device of its own */
};
struct bench_pace pack_bench_pace(const struct pack_bench_result *result);
/* From one sample to the next. */
double pack_bench_cycle_ns(const struct bench_pace *pace);

/* Epochs of the training that a run stands for. */
uint64_t pack_bench_training(const struct pack_bench_params *params);

/* Another way to store and to read the set. */
struct bench_way {
    struct pack_advise_config config;
    uint64_t n_workers;
};

/* A run as a question to the advisor. */
struct bench_question {
    struct pack_profile profile;
    struct pack_advise_file *file;
    struct pack_advise_config now;
    struct pack_advise_params params;     /* points into this struct */
    double first_factor, later_factor;    /* measured over modelled samples/s */
};
/*
 * Fills *question, which is for pack_bench_question_done in any case, and fits the
 * factors. *can is false where the advisor has no answer: images, traces, data that the
 * model does not know.
 */
enum pack_status pack_bench_question_make(const struct pack_bench_params *params,
                                          const struct pack_bench_result *result,
                                          const struct pack_bench_ask *ask,
                                          struct bench_question *question, bool *can,
                                          struct pack_error *err);
void pack_bench_question_done(struct bench_question *question);
/* Scales an outcome of the advisor by the factors. */
void pack_bench_fit(const struct bench_question *question,
                    struct pack_advise_outcome *outcome);

enum { BENCH_WAYS_MAX = 4 };
/* Whether ways of reading the file can be tried: batches come within half a second, out of
 * memory, from the library. */
bool pack_bench_can_try(const struct pack_bench_params *params,
                        const struct pack_bench_result *result,
                        const struct bench_question *question,
                        const struct pack_bench_ask *ask);
/* Whether measure.h can read for the advisor: likewise, wherever the file lies. */
bool pack_bench_can_measure(const struct pack_bench_params *params,
                            const struct pack_bench_result *result,
                            const struct pack_bench_ask *ask);
struct bench_gain {
    double first, later, whole; /* of the first epoch, of the others, of all */
    double low;                 /* of the whole: what it gains at least */
};
/*
 * Reads in the run's way and in n others, BENCH_WAYS_MAX at most, in turns. gains[i]: of
 * the readers alone over so many epochs. A way that fails gains nothing. PACK_ERR_MEMORY,
 * PACK_ERR_INTERRUPTED.
 */
enum pack_status pack_bench_try(const struct pack_bench_params *params,
                                const struct pack_bench_result *result,
                                const struct pack_bench_ask *ask, uint64_t n_epochs,
                                const struct bench_way *ways, size_t n,
                                struct bench_gain *gains, struct pack_error *err);

/* Collects the best changes; of one kind only the best stays. */
struct bench_ranking {
    struct pack_bench_advice *advice;
    bool batch_is_judged; /* larger ones were tried: they are not predicted any more */
};
void pack_bench_rank(struct bench_ranking *ranking,
                     const struct pack_bench_change *change);

/* Batches that are several times as large: what that would bring, predicted. */
bool pack_bench_enlarge(const struct pack_bench_params *params,
                        const struct pack_bench_result *result, uint64_t *batch,
                        struct pack_bench_change *change);

/* Ranks the changes that are not a matter of chunks. */
void pack_bench_remedies(const struct pack_bench_params *params,
                         const struct pack_bench_result *result,
                         struct bench_ranking *ranking);

/* Checksums of the samples that a batch ought to have, from an independent pass. */
struct bench_expect;
enum pack_status pack_bench_expect_open(const struct bench_plan *plan,
                                        struct bench_expect **expect,
                                        struct pack_error *err);
void pack_bench_expect_close(struct bench_expect *expect); /* accepts NULL */
/* As pack_consumer_params.expect. */
enum pack_status pack_bench_expect(void *expect, uint64_t round, uint64_t number,
                                   uint64_t index, uint64_t *checksum,
                                   struct pack_error *err);

#endif
