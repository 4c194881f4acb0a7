/* Looks for changes that would make a run faster. */
#ifndef LIBPACK_BENCH_ADVICE_H
#define LIBPACK_BENCH_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/advise.h>
#include "libpack/bench/bench.h"
#include <libpack/profile.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_BENCH_CHANGES_MAX = 4 };

/* A change, what it would bring, and how to try it. */
struct pack_bench_change {
    const char *kind;  /* "settings", "order", "rewrite" as h5advise has them; "workers",
                          "reopen", "batch", "engine", "transfer", "preload",
                          "echo" */
    char what[384];    /* "a cache of 16 MiB" */
    char command[1024]; /* parameters to set, in braces, or a program to run before:
                          "{rdcc_nbytes} 1048576"; pack_option_text() puts options there */
    double gain; /* samples/s over those of today's settings, above 1: over all epochs, */
    double first_gain, later_gain; /* over the first one, over the others */
    bool is_measured; /* read in turns with the run's settings; else predicted */
    /* Between these lies a measured gain in 95 of 100 cases; 0: not known. */
    double gain_low, gain_high;
    char remark[96]; /* what speaks against a measurement; "": nothing does */
};
struct pack_bench_advice {
    uint64_t epochs; /* of the training that gains are of */
    size_t n;        /* most gain first */
    struct pack_bench_change change[PACK_BENCH_CHANGES_MAX];
    /* What pack_advise() warns of the run's own settings, but for mere notes. */
    size_t n_findings;
    struct pack_advise_warning findings[PACK_ADVISE_WARNINGS_MAX];
};

/* How to look for changes; zeroed by the caller, zero is the default. */
struct pack_bench_ask {
    /* Processor terms of this machine, borrowed; NULL: those of a named profile. */
    const struct pack_profile *processor;
    bool order_is_fixed;     /* only the run's order, no block shuffles */
    bool no_trial;           /* predict only, read nothing */
    struct pack_watch watch; /* only asked whether to stop */
};

/*
 * Looks for changes that would make a training with the run's settings faster, one of
 * PACK_ADVISE_EPOCHS epochs or of as many as the run was asked for. Changes of cache,
 * order and layout are those that pack_advise() and measure.h answer when asked the same:
 * the choice, and what costs less and gains less. More workers, opening once, larger
 * batches and libpack's own reader are tried on the file, in turns with the run's settings,
 * if it lies in memory, or else as the run was, with cold pages in each epoch.
 * Changes of transfer are predicted from the run's times, of the page cache from these and
 * what today's settings give there. Echoing comes last, where there is room for another change.
 *
 * That takes ten to thirty seconds, and 128 MiB of memory for each of five copies at most.
 * A change whose measured gain may be a loss is not named. Nothing is tried where the
 * consumer is cuda, whose process cannot fork readers any more, or where batches take more
 * than half a second: rates are then predicted, with costs fitted to the run.
 *
 * No change below 5 % is named, no new layout below goal.min_gain of advise.h, none when
 * the consumer is the limit. PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED; *advice then holds what
 * was found until that.
 */
enum pack_status pack_bench_advise(const struct pack_bench_params *params,
                                   const struct pack_bench_result *result,
                                   const struct pack_bench_ask *ask,
                                   struct pack_bench_advice *advice,
                                   struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
