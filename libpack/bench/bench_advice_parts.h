/* The parts of bench_advice.c. Not for use outside libpack. */
#ifndef LIBPACK_BENCH_ADVICE_PARTS_H
#define LIBPACK_BENCH_ADVICE_PARTS_H

#include <libpack/advise.h>
#include "libpack/advise/advise_file.h"
#include "libpack/bench/bench_advice.h"
#include "libpack/bench/trial.h"

/* Where a run's time went, in nanoseconds per fresh sample. */
struct bench_times {
    double read, wall_per_read; /* the latter at least 1: reading's wall time over it */
    double hdf5;                /* of read: inside the library's calls */
    double lanes;               /* readers that are at it side by side */
    double take;                /* this process, on top of waiting and consuming */
    double copy, consume;
    bool in_line, beside; /* read by this process; consumed by a device of its own */
};
struct bench_times pack_bench_times(const struct pack_bench_result *result);
/* From one sample to the next. */
double pack_bench_cycle_ns(const struct bench_times *times);

/* Epochs of the training that a run stands for. */
uint64_t pack_bench_training(const struct pack_bench_params *params);

struct bench_gain {
    double first, later, whole; /* of the first epoch, of the others, of all */
    double low, high;           /* of the whole: it gains between these; 0: not known */
};

/* A layout and settings to try, how many workers read, and what that gains. */
struct bench_candidate {
    struct pack_advise_config config;
    uint64_t n_workers;
    const char *engine;     /* NULL: the run's */
    struct bench_gain gain; /* of the readers */
    bool saw_later, now_saw_later; /* tried, it got beyond the first epoch; so did today's */
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

enum { BENCH_CANDIDATES_MAX = 4 };
/* Whether candidates can be tried on the file: batches come within half a second, from the
 * library, and out of memory or, as the run was, from storage in each epoch. */
bool pack_bench_can_try(const struct pack_bench_params *params,
                        const struct pack_bench_result *result,
                        const struct bench_question *question,
                        const struct pack_bench_ask *ask);
/* Whether measure.h can read for the advisor: likewise, wherever the file lies. */
bool pack_bench_can_measure(const struct pack_bench_params *params,
                            const struct pack_bench_result *result,
                            const struct pack_bench_ask *ask);
/*
 * Whether batches under way take no more than half of so much memory: the system ends
 * programs rather than refuse memory, and with them goes a run that is not reported yet.
 * pack_bench_has_room asks what is free; true where the system does not tell.
 */
bool pack_bench_fits(const struct pack_bench_params *params,
                     const struct pack_bench_result *result, uint64_t n_workers,
                     uint64_t batch, uint64_t memory_bytes);
bool pack_bench_has_room(const struct pack_bench_params *params,
                         const struct pack_bench_result *result, uint64_t n_workers,
                         uint64_t batch);
/* Samples/s that so many readers can hand over at most: each byte of a sample is copied
 * once, at the best rate that the profile knows. */
double pack_bench_most(const struct pack_profile *profile, uint64_t n_workers,
                       uint64_t sample_bytes);

/*
 * What speaks against a change's measured gain, into change->remark: its interval is so wide
 * that other work must have disturbed it; or `rate`, which it leads to, is above `most`, and
 * then `predicted` stands in the place of all that was measured. False: nothing does.
 */
bool pack_bench_doubt(struct pack_bench_change *change, double rate, double most,
                      const struct bench_gain *predicted);

/* bench_ask.c: whether (nearly) all bytes of its files lie in the page cache. */
bool pack_bench_is_resident(const struct pack_readset *set);

/*
 * Reads as the run did and as n candidates say, BENCH_CANDIDATES_MAX at most, in turns,
 * and fills in what each gains over a training, without a consumer; one that fails gains
 * nothing. PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED.
 */
enum pack_status pack_bench_try(const struct pack_bench_params *params,
                                const struct pack_bench_result *result,
                                const struct pack_bench_ask *ask,
                                struct bench_candidate *candidates, size_t n,
                                struct pack_error *err);

/* Whether that tells of a training: later epochs were seen, or gain as much as the first one
 * by what was predicted. now: as predicted too. */
bool pack_bench_tells_all(const struct pack_advise_outcome *now,
                          const struct bench_gain *predicted,
                          const struct bench_candidate *tried);

/* Medians of the ratios of two trials' rounds: of first epochs, of later ones, of trainings
 * of n_epochs, the last with its interval. */
void pack_bench_trial_gain(const struct pack_trial_result *a,
                           const struct pack_trial_result *b, uint64_t n_epochs,
                           struct bench_gain *gain);

/* Says what a row of the advisor's changes, and how to change it, in change->what and
 * ->command. */
void pack_bench_word(const struct pack_bench_params *params,
                     const struct bench_question *question,
                     const struct pack_advise_outcome *row,
                     struct pack_bench_change *change);

/* Collects the best changes; of one kind only the best stays. */
struct bench_ranking {
    struct pack_bench_advice *advice;
    bool batch_is_judged; /* larger ones were tried: they are not predicted any more */
    double warm_rate; /* samples/s of today's settings out of the page cache; 0: not known */
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

#endif
