/* Several candidates, measured in turns for a short time each, so that what the machine
 * does meanwhile happens to all of them. */
#ifndef LIBPACK_TRIAL_H
#define LIBPACK_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/status.h>
#include "libpack/bench/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_TRIAL_ROUNDS_MAX = 64, PACK_TRIAL_FRESH = 2 };

struct pack_trial_params {
    uint64_t slice_ns;  /* of one candidate in one round; 0: 150 ms */
    uint64_t budget_ns; /* after so long no round begins, except the first rounds_min */
    uint32_t rounds_min, rounds_max; /* 0: 3 and PACK_TRIAL_ROUNDS_MAX */
    double race; /* after three rounds, candidates whose later epochs have less than this
                    part of the best one's rate are read no more; after five, those that
                    lack more than half of what this leaves out; the first one always is
                    read; 0: all are */
    size_t always; /* another one that always is read; 0: none */
    bool is_resident; /* the files lie in the page cache: indexes of chunks are walked before
                         the clock starts, as a slice would end before the library's cache of
                         metadata holds what it does for most of an epoch */
    struct pack_watch watch; /* only asked whether to stop */
};

/* Samples/s of one candidate. Rates are medians over the rounds. */
struct pack_trial_result {
    uint32_t n_rounds;
    /* Round by round; 0: not measured in that round. */
    double first[PACK_TRIAL_ROUNDS_MAX]; /* of the first epoch, or of what was read of it */
    uint64_t begun_samples[PACK_TRIAL_ROUNDS_MAX]; /* that were read of it */
    double early[PACK_TRIAL_ROUNDS_MAX]; /* ... without the beginning of the run */
    double later[PACK_TRIAL_ROUNDS_MAX]; /* of the second half of the epochs; `early` where
                                            has_later is false */
    double first_rate, later_rate;
    uint32_t n_later;         /* rounds in which more than one epoch was read */
    bool has_later;           /* that was so in half of them */
    uint64_t first_samples;   /* read in the first epoch, their median */
    uint64_t opening_samples; /* ... and of the first round */
    uint64_t n_epochs;        /* of the last round, whose second half `later` is; or 1 */
    double storage_bytes;     /* that came from storage, all rounds */
};

/*
 * Reads as each of `candidates` says, one after another, round after round, each time in
 * processes started anew; their starting does not count. Epochs follow one another until
 * the slice is over. `candidates` are runs of bench.h, of which stop, no_check, watch
 * and open.walk_index are set here. A candidate with preload is read without it in the
 * first PACK_TRIAL_FRESH rounds, which measure its first epoch; the other rounds measure
 * the later ones.
 *
 * Errors as pack_bench_run. Only results with n_rounds > 0 count after
 * PACK_ERR_INTERRUPTED.
 */
enum pack_status pack_trial_run(const struct pack_bench_params *candidates,
                                size_t n_candidates,
                                const struct pack_trial_params *params,
                                struct pack_trial_result *results,
                                struct pack_error *err);

/* Adds a run as one more round, of later epochs alone where its caches were filled
 * beforehand. An epoch that the end of the slice cut off counts only as the first one, or
 * as the second when a quarter of it was read. */
void pack_trial_add(struct pack_trial_result *result, const struct pack_bench_result *run,
                    bool is_filled);

/* Marks the candidates to be read no more: those whose later epochs have so far less than
 * `part` of the best one's rate. The first never is: all are compared with it. */
void pack_trial_race(double part, struct pack_trial_result *results, size_t n_candidates,
                     bool *is_out);

/*
 * What candidate `b` gains over candidate `a`: the median of the rounds' ratios, later
 * epochs over later epochs, and the interval that holds the true one in at least 95 of
 * 100 cases (order statistics of a binomial; for fewer than six rounds the extremes, which
 * hold it less often).
 */
struct pack_trial_gain {
    double median, low, high;
};
void pack_trial_gain(const struct pack_trial_result *a, const struct pack_trial_result *b,
                     struct pack_trial_gain *gain);

#ifdef __cplusplus
}
#endif
#endif
