/* From h5readbench's options to a run: parameters, and the files they speak of. */
#ifndef TOOLS_READBENCH_JOB_H
#define TOOLS_READBENCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpack/advise/pattern_file.h"
#include "libpack/bench/bench.h"
#include "libpack/bench/bench_pixels.h"
#include "tools/cli.h"

/* As they were given; --help says what each means. */
struct readbench_options {
    const char *dataset, *with, *images, *pattern, *rank;
    struct pack_shape size, crop; /* rank 0: not given */
    uint64_t shorter, batch, workers, prefetch, epochs, batches, seed;
    double seconds;
    struct pack_shape box;
    bool drop_last;
    int read;
    const char *engine;
    uint64_t nbytes, nslots;
    uint64_t memory; /* 0: the reader's default */
    double w0;
    bool reopen, cold, no_check, no_trial, no_persistent;
    int hand_over;
    const char *sample_cost, *batch_cost;
    const char *consumer, *step, *preset, *mean, *std, *gpu, *delay, *stall;
    int layout, precision, transfer;
    uint64_t echo;
    bool echo_split;
    double min_busy;
    struct cli_texts sweep;
    const char *trace, *svg, *html, *prometheus;
    bool force, json, quiet;
};

/* Everything that one run holds open. Zeroed, with the operands filled in. */
struct readbench_job {
    const struct readbench_options *options; /* borrowed */
    struct pack_bench_params params;
    struct pack_readset *set, *with;
    struct pack_source *source;
    struct pack_pattern_file order; /* that the pattern names */
    const struct pack_bench_preset *preset;
    struct cli_progress progress;
    char **operands;
    size_t n_operands;
};

/* What can be said of the options before anything is opened; fills job->params with them. */
enum pack_status readbench_check(const struct readbench_options *options,
                                 struct readbench_job *job, struct pack_error *err);

/* Does the same, opens what they name, and chooses the consumer.
 * readbench_close releases in any case. */
enum pack_status readbench_open(const struct readbench_options *options,
                                struct readbench_job *job, struct pack_error *err);
void readbench_close(struct readbench_job *job);

#endif
