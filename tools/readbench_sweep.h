/* h5readbench --sweep: each combination of option values several times, in rounds; what
 * is told is the median of each. */
#ifndef TOOLS_READBENCH_SWEEP_H
#define TOOLS_READBENCH_SWEEP_H

#include "libpack/base/buf.h"
#include "libpack/bench/bench.h"
#include "tools/readbench_job.h"
#include "tools/sweep.h"

enum { READBENCH_REASON_MAX = 256 };

/* What comes back from one run. */
struct readbench_figures {
    int exit_status;
    char reason[READBENCH_REASON_MAX]; /* of status 1 */
    double rate, hit_rate, amplification, busy_rate, au;
    enum pack_limit limit;
    unsigned n_rounds; /* of which these are those of the median rate, */
    double rate_min, rate_max; /* which lies between these */
};

/*
 * Runs `fn`, which fills struct readbench_figures, for all that options->sweep asks for;
 * prints a table line by line, or appends JSON to *text. The worst exit status of all.
 */
int readbench_sweep(const struct readbench_options *options, int argc, char **argv,
                    sweep_fn fn, sweep_fn check, struct pack_buf *text);

#endif
