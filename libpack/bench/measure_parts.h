/* What the parts of measuring share: rows that are read, each in a copy of its layout. */
#ifndef LIBPACK_MEASURE_PARTS_H
#define LIBPACK_MEASURE_PARTS_H

#include "libpack/bench/measure.h"
#include "libpack/bench/trial.h"
#include "libpack/hdf5/readset.h"
#include "libpack/hdf5/scratch.h"

enum {
    MEASURE_CANDIDATES_MAX = 10, /* rows that are read, `now` among them */
    MEASURE_LAYOUTS_MAX = 5,     /* copies */
    MEASURE_SIZES = 9            /* of reads: powers of two from 4 KiB to 1 MiB */
};

/* One row in its copy. */
struct measure_candidate {
    struct pack_advise_outcome *row;
    struct pack_advise_config config; /* as read in the copy */
    size_t layout;
};

struct measure_layout {
    const struct pack_advise_config *config;
    struct pack_scratch *scratch;
    struct pack_readset *set;
};

struct measure_rows {
    const struct pack_measure_params *how;
    const struct pack_advise_params *params;
    struct pack_advise_result *result;
    struct pack_measured *measured; /* for reasons why something is not */
    struct measure_layout layouts[MEASURE_LAYOUTS_MAX];
    size_t n_layouts;
    struct measure_candidate candidates[MEASURE_CANDIDATES_MAX];
    /* of the candidates, and behind them, where is_beside, of today's settings on the file */
    struct pack_bench_params bench[MEASURE_CANDIDATES_MAX + 1];
    struct pack_trial_result results[MEASURE_CANDIDATES_MAX + 1];
    size_t n_candidates;
    bool is_beside;
    uint64_t n_samples; /* of a copy */
    bool pages_are_alike; /* as today's settings show */
    double storage; /* what it takes over what the model says, as they show; 0: as much */
    /* Ratios of pages, of reads into one chunk's memory and of those into batches, by their
     * size; 0: not yet timed. */
    double pages[2][MEASURE_SIZES];
};

/* Keeps the first reason why something is predicted only. */
void pack_measure_note(struct pack_measured *measured, const char *what, const char *why);

/* measure.c: whether so many workers are ever started, and a copy of the first samples can
 * stand for the dataset; else the reason is noted. */
bool pack_measure_may_read(const struct pack_advise_params *params,
                           struct pack_measured *measured);

/* measure.c: a run ends between batches, and those of all workers are in memory at once: a
 * slow candidate makes smaller ones, and so do many workers, which changes nothing where
 * samples are read one at a time. rate: samples/s that are expected in `slice` ns. */
void pack_measure_cut_batch(const struct pack_advise_params *params, double rate,
                            uint64_t slice, struct pack_advise_config *config);

/* measure.c: `slice` or, up to 2.5 times that, as long as four batches of each worker take:
 * those that others had begun when a slice ended do not count. */
uint64_t pack_measure_slice(const struct pack_advise_params *params, double rate,
                            uint64_t slice, const struct pack_advise_config *config);

/* measure.c: a run of bench.h that reads `set` as a configuration says. */
void pack_measure_run(const struct pack_advise_params *params,
                      const struct pack_advise_config *config,
                      const struct pack_readset *set, struct pack_bench_params *run);

/* The file itself, and what is read in step with it or NULL. */
struct measure_file {
    const struct pack_readset *set, *with;
    struct pack_readset *opened, *opened_with; /* for pack_measure_close_file */
};

/* measure_now.c: those that are open already, or opened here. Errors as pack_readset_open,
 * after which there is nothing to close. */
enum pack_status pack_measure_open(const struct pack_measure_params *how,
                                   struct measure_file *file, struct pack_error *err);
void pack_measure_close_file(struct measure_file *file);

/* measure_now.c: what a trial of today's settings on the file gave, and the model's for the
 * same reads; as_read: with the batch that was read. The first epoch of a cold file stays as
 * it was noted first; later calls are of reads out of the page cache. */
enum pack_status pack_measure_take_now(const struct pack_advise_params *params,
                                       const struct pack_advise_config *as_read,
                                       const struct pack_trial_result *r,
                                       struct pack_measured *m, struct pack_error *err);

/* Chooses candidates among the rows of the result. */
void pack_measure_choose(struct measure_rows *rows);
/* Makes a copy for each of their layouts; without a proof, candidates whose copy cannot be
 * made are dropped. They are for pack_measure_close in any case. */
enum pack_status pack_measure_copy(struct measure_rows *rows, struct pack_error *err);
void pack_measure_close(struct measure_rows *rows);

/* What the model says of some reads. */
struct measure_expected {
    double first, later; /* samples/s */
    double first_samples, later_samples, epoch_samples; /* the last of all workers */
    struct pack_cost first_cost, later_cost; /* of these samples */
};

/* measure.c: for the first `first_samples` of all workers together, and for later epochs;
 * with the library that is here, whichever was asked about. */
enum pack_status pack_measure_model(const struct pack_advise_params *params,
                                    const struct pack_advise_config *config,
                                    uint64_t first_samples, struct measure_expected *e,
                                    struct pack_error *err);

/* measure.c: the same of whole epochs, later ones as trial.h takes them: the second half of so
 * many, in which a cache may still be filling. */
enum pack_status pack_measure_model_told(const struct pack_advise_params *params,
                                         const struct pack_advise_config *config,
                                         uint64_t n_epochs, struct measure_expected *e,
                                         struct pack_error *err);

/* measure.c: samples/s that all workers give where the first one, which has the most batches of
 * an epoch, takes as long as that cost: the others wait for it. */
double pack_measure_bound(const struct pack_advise_outcome *outcome,
                          const struct pack_cost *cost, double samples, double rate);

/* measure.c: a cache that holds a part of the dataset holds the same part of the copy, but
 * still the chunks that it can hold at all; that of a block shuffle holds its pool. */
void pack_measure_shrink_cache(const struct measure_rows *rows,
                               struct measure_candidate *candidate);

/* measure.c: a cache that fills for longer than a slice is read filled. */
bool pack_measure_is_preloaded(const struct measure_rows *rows,
                               const struct measure_candidate *candidate);

/* What a row gives on the file over what its copy foretells, as today's settings give `ratio`
 * of that: it lies in the pages of the file where these are half of their time or more, and rows
 * that read fewer have less of it; where they are a fifth or less it is the machine's, and all
 * have it; between the two it is shared out. */
double pack_measure_apart(double ratio, const struct pack_cost *now,
                          const struct pack_cost *cost);

/* Candidate i's row by what was measured of its copy; that of today's settings first, which
 * tells what file and copy have apart. */
enum pack_status pack_measure_correct(struct measure_rows *rows, size_t i,
                                      struct pack_measured *m, struct pack_error *err);

/* measure_engine.c: whether later epochs are like the first one by the model alone; true where
 * it says nothing. */
bool pack_measure_is_steady(const struct pack_advise_outcome *o);

/* Rows that stay predicted go by those that were measured, so that one table has one scale: by
 * that of their layout whose hits are nearest; else by the median of those that decode as they
 * do, or not; else of all. */
void pack_measure_scale_others(struct measure_rows *rows);

#endif
