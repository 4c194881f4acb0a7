/* The parts of bench.c. Not for use outside libpack. */
#ifndef LIBPACK_BENCH_PARTS_H
#define LIBPACK_BENCH_PARTS_H

#include "libpack/bench/bench.h"

/* What all parts of a run know beforehand. */
struct bench_plan {
    struct pack_bench_params params; /* defaults filled in */
    const struct pack_engine_ops *engine;
    struct pack_pattern pattern; /* of the whole rank */
    uint64_t n_threads; /* of libpack's reader; 0: one for each processor */
    uint64_t epoch_samples, epoch_batches;
    uint64_t prefetch;          /* of each worker: no more than it has to make */
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
    uint64_t n_hits, n_loads;       /* of chunks that libpack's reader decodes */
};

/* What a worker is doing, and its latencies; in shared memory. */
struct bench_activity {
    uint64_t round, batch;
    bool in_with;
    struct pack_engine_activity set, with;
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

/* Drops the pages of all files that a run reads, and sees what stayed. */
enum pack_status pack_bench_go_cold(const struct pack_bench_params *params,
                                    struct pack_bench_epoch *epoch,
                                    struct pack_error *err);

/* What each worker did in each epoch, for the comparison with the simulator. */
struct bench_tally {
    uint64_t n_batches;
    uint64_t file_reads, file_read_bytes, with_reads, with_bytes;
};

struct bench_threads;

/* A run that goes on. */
struct bench_run {
    struct bench_plan plan;
    struct pack_bench_result *result;
    struct pack_procs *procs;
    struct bench_threads *threads; /* instead of them, or NULL */
    struct pack_consumer *consumer;
    struct bench_expect *expect; /* NULL: nothing is compared */
    struct bench_tally *tally;   /* [epoch * n_lanes + lane] */
    uint64_t n_lanes;
    uint32_t *indices; /* of one batch, with echo_split */
    uint64_t start_ns, first_end_ns, last_end_ns, n_batches, n_samples, n_bytes;
    uint64_t drop_begin_ns, drop_end_ns; /* the last time that pages were dropped */
    uint64_t dropped_ns;                 /* of the time between steps */
    uint64_t live_requests, live_loads;
};

/* The next batch, from its worker through the consumer. */
enum pack_status pack_bench_batch(struct bench_run *run, struct pack_error *err);
void pack_bench_usage_add(struct pack_procs_usage *total,
                          const struct pack_system_usage *part);

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

/* ---------------------------------------- bench_threads.c: libpack's reader makes batches */

/* PACK_ERR_ARGUMENT for what only processes with HDF5 do. */
enum pack_status pack_bench_threads_check(const struct pack_bench_params *params,
                                          const struct pack_engine_ops *engine,
                                          struct pack_error *err);

/*
 * Opens the reader for the run; what it is goes into setup->threads. With --cold it is
 * opened anew for each epoch, as what it has decoded is no longer cold. `buffers`, which may
 * be zero, is where batches lie until it is closed.
 */
enum pack_status pack_bench_threads_open(const struct bench_plan *plan,
                                         struct pack_bench_setup *setup,
                                         const struct pack_reader_buffers *buffers,
                                         struct bench_threads **threads,
                                         struct pack_error *err);
void pack_bench_threads_close(struct bench_threads *threads); /* accepts NULL */

/* Lets go of the file until the next epoch: pages that are mapped cannot be dropped. */
void pack_bench_threads_rest(struct bench_threads *threads);

/* Before each epoch. */
enum pack_status pack_bench_threads_begin(struct bench_threads *threads, uint64_t round,
                                          struct pack_error *err);

/* The next batch, with its note, until the next call. What it took is the batch's own, though
 * threads are ahead of it. */
enum pack_status pack_bench_threads_next(struct bench_threads *threads,
                                         struct pack_procs_item *item,
                                         struct pack_error *err);

/* Adds the counts of a batch to where a simulator's stand for other engines. */
void pack_bench_threads_count(const struct bench_note *note,
                              struct pack_bench_epoch *epoch);

#endif
