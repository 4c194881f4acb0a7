/* What the parts of the advisor share. */
#ifndef LIBPACK_ADVISE_PARTS_H
#define LIBPACK_ADVISE_PARTS_H

#include <libpack/advise.h>
#include <libpack/cachesim.h>
#include "libpack/findings/findings.h"

/* The box that one sample takes, all extents filled in; axis 0 of a whole sample is 1. */
void pack_advise_box(const struct pack_advise_params *params, struct pack_shape *box);
/* Its elements in bytes. */
double pack_advise_wanted_bytes(const struct pack_advise_params *params);
/* Of the batches that a reader has in turn: one that is used, two in flight. */
double pack_advise_batch_bytes(const struct pack_advise_params *params);

/* Epochs of the training. */
uint64_t pack_advise_epochs(const struct pack_advise_params *params);

/* What a rewrite must gain over `now`. */
double pack_advise_min_gain(const struct pack_advise_params *params);

/* Chunks, codec and sources are the same: what is stored is. */
bool pack_advise_same_layout(const struct pack_advise_config *a,
                             const struct pack_advise_config *b);

/* Chunk caches of one process: those of a virtual dataset's sources, else 1. */
uint64_t pack_advise_n_caches(const struct pack_advise_params *params,
                              const struct pack_advise_config *config);

/* Processes that read at the same time, at least 1. */
uint64_t pack_advise_workers(const struct pack_advise_params *params);

/* There is `now`, and an epoch reads one sample: no order, nothing to find in a cache. */
bool pack_advise_is_lone(const struct pack_advise_params *params);

/* Bytes that the caches of all workers may hold, and that of one. */
uint64_t pack_advise_memory(const struct pack_advise_params *params);

uint64_t pack_advise_budget(const struct pack_advise_params *params);

/* What caches may take together where nobody says it: 1 GiB, or half of a smaller machine
 * (control groups count); machine_bytes 0: not known. */
uint64_t pack_advise_default_memory(uint64_t machine_bytes);

/* The pattern of a configuration, complete: extent, samples per chunk, worker 0. */
void pack_advise_pattern(const struct pack_advise_params *params,
                         const struct pack_advise_config *config,
                         struct pack_pattern *pattern);

/* The grid of a chunked configuration; also says why HDF5 would refuse the chunk. */
enum pack_status pack_advise_grid(const struct pack_advise_params *params,
                                  const struct pack_shape *chunk, struct pack_grid *grid,
                                  struct pack_error *err);

/* ------------------------------------------------------ what cannot be, advise_check.c */

/* PACK_ERR_ARGUMENT or PACK_ERR_LIMIT with the parameter at fault: what every evaluation
 * needs; what a search needs beside it; a configuration but for its pattern; a result that
 * is to be settled. All of them may be NULL, which is refused. */
enum pack_status pack_advise_check_params(const struct pack_advise_params *params,
                                          struct pack_error *err);
enum pack_status pack_advise_check_search(const struct pack_advise_params *params,
                                          struct pack_error *err);
enum pack_status pack_advise_check_config(const struct pack_advise_config *config,
                                          struct pack_error *err);
enum pack_status pack_advise_check_result(const struct pack_advise_result *result,
                                          struct pack_error *err);

/* Samples/s over all epochs, from those of the first and of each later one. */
double pack_advise_mean_rate(const struct pack_advise_params *params, double first,
                             double later);

/* The rate, memory and file that no simulation of this configuration can beat. */
enum pack_status pack_advise_bound(const struct pack_advise_params *params,
                                   const struct pack_advise_config *config,
                                   struct pack_advise_outcome *bound,
                                   struct pack_error *err);

/* A growing list of configurations. */
struct pack_advise_list {
    struct pack_advise_config *config;
    size_t n, capacity;
};
enum pack_status pack_advise_add(struct pack_advise_list *list,
                                 const struct pack_advise_config *config,
                                 struct pack_error *err);

/* All that are worth a bound. The list is the caller's to free: pack_apart_free(list->config). */
enum pack_status pack_advise_candidates(const struct pack_advise_params *params,
                                        struct pack_advise_list *list,
                                        struct pack_error *err);

/* A number of slots under which next to nothing collides, before pack_advise_slots looks
 * for the smallest. */
uint64_t pack_advise_roomy_slots(const struct pack_grid *grid,
                                 enum pack_hdf5_version version, uint64_t n_entries);

/* Of an outcome that was evaluated for a given number of samples: what all of them take, and
 * samples/s of all workers. Its two halves are of one epoch, though the second stands for later
 * ones, whose pages may be in memory. Of a whole epoch, the first. */
double pack_advise_begun(const struct pack_advise_params *params,
                         const struct pack_advise_outcome *outcome, struct pack_cost *cost,
                         double *samples);

/* Evaluates configurations on params->n_threads threads, outcomes in their order. */
enum pack_status pack_advise_evaluate_all(const struct pack_advise_params *params,
                                          const struct pack_advise_config *const *configs,
                                          size_t n, const uint64_t *max_samples,
                                          struct pack_advise_outcome *outcomes,
                                          struct pack_error *err);

/* ---------------------------------------------------------- reading, advise_read.c */

enum { PACK_ADVISE_SIEVE_BYTES = 64 << 10 }; /* H5Pset_sieve_buf_size's default */

/* What some reads, one after another, add up to. */
struct pack_advise_interval {
    struct pack_cache_counts counts;
    uint64_t n_samples, n_reads;
    double n_runs, n_boxes, n_elems; /* n_elems: see pack_cost_work */
    uint64_t n_opens;
    double n_starts; /* of the worker, with an empty cache */
};

/* HDF5's reading of contiguous data: one window of the file is kept. */
struct pack_advise_sieve {
    uint64_t start, end; /* bytes of the dataset */
    uint64_t total;
    bool is_unwritten; /* so that nothing is read */
};

/* What requests have on average: runs copied out of chunks, boxes, elements of those that
 * have several boxes and more than one dimension. */
struct pack_advise_request_means {
    double runs, boxes, elems;
};

/* One worker with its cache. */
struct pack_advise_worker {
    const struct pack_advise_params *params;
    const struct pack_advise_config *config;
    struct pack_pattern pattern;
    struct pack_grid grid;
    struct pack_pattern_iter *iter;
    struct pack_cachesim *sim;     /* NULL: contiguous, or virtual */
    struct pack_h5_caches *caches; /* of a virtual dataset's sources */
    struct pack_advise_sieve sieve;
    struct pack_advise_request_means per_read;
};

/* Up to `max` samples, going on from where the worker's pattern and cache are, into a
 * zeroed interval: of contiguous data, where those in `out` count; of chunks; of a virtual
 * dataset. */
void pack_advise_read_contiguous(struct pack_advise_worker *worker, uint64_t max,
                                 struct pack_advise_interval *out);
enum pack_status pack_advise_read_chunked(struct pack_advise_worker *worker, uint64_t max,
                                          struct pack_advise_interval *out,
                                          struct pack_error *err);
enum pack_status pack_advise_read_virtual(struct pack_advise_worker *worker, uint64_t max,
                                          struct pack_advise_interval *out,
                                          struct pack_error *err);
/* Of the next requests, which are read. */
void pack_advise_probe_requests(struct pack_pattern_iter *iter,
                                const struct pack_grid *grid,
                                struct pack_advise_request_means *means);

/* ------------------------------------------------------ simulating, advise_simulate.c */

/* A worker that has read nothing yet; borrows both. To be done with in any case. */
enum pack_status pack_advise_worker_init(struct pack_advise_worker *worker,
                                         const struct pack_advise_params *params,
                                         const struct pack_advise_config *config,
                                         struct pack_error *err);
void pack_advise_worker_done(struct pack_advise_worker *worker);

/* How many samples to simulate where up to so many are asked for, 0 being all of them:
 * no more than take some seconds. */
uint64_t pack_advise_sample_limit(const struct pack_advise_worker *worker,
                                  uint64_t max_samples);

struct pack_advise_epochs {
    struct pack_advise_interval first, steady;
    bool is_exact; /* as in an outcome */
};
/* Up to so many samples of all epochs, 0: all. PACK_ERR_INTERRUPTED, PACK_ERR_MEMORY. */
enum pack_status pack_advise_simulate(struct pack_advise_worker *worker,
                                      uint64_t max_samples,
                                      struct pack_advise_epochs *epochs,
                                      struct pack_error *err);

/* Randomness, and the mixing of classes where there are labels, of a complete pattern. */
enum pack_status pack_advise_mix(const struct pack_advise_params *params,
                                 const struct pack_pattern *pattern,
                                 struct pack_advise_outcome *outcome,
                                 struct pack_error *err);

/* ---------------------------------------------------------- ranking, advise_rank.c */

/* New settings, or a new order, are proposed from this gain on; rates closer than it to
 * the best one equal it. */
#define PACK_ADVISE_EQUAL_GAIN 1.05

/* What the pattern asked for is to change, see enum pack_advise_change. */
enum pack_advise_change pack_advise_change_of(const struct pack_advise_params *params,
                                              const struct pack_advise_config *config);
bool pack_advise_has_default_cache(const struct pack_advise_config *config);
/* Of two equally fast ones, negative when a is to be preferred: plainer settings, less
 * memory, chunks, the smaller file. */
int pack_advise_compare_cost(const struct pack_advise_outcome *a,
                             const struct pack_advise_outcome *b);
int pack_advise_compare_shapes(const struct pack_shape *a, const struct pack_shape *b);
/* Memory compared in powers of two; up to 32 MiB all is equal. */
int pack_advise_memory_step(double bytes);
/* For qsort: outcomes, best first; a total order. */
int pack_advise_by_rate(const void *a, const void *b);
void pack_advise_mark_front(struct pack_advise_outcome *outcomes, size_t n);
/* How chunks come into a read: past the cache, from the file as a rule, from the cache. */
enum pack_advise_access { PACK_ADVISE_BYPASS = 0, PACK_ADVISE_LOAD, PACK_ADVISE_HOLD };
enum pack_advise_access pack_advise_access(const struct pack_advise_params *params,
                                           const struct pack_advise_outcome *o);
/*
 * A number for what the model's error depends on: whether chunks are bypassed, loaded or
 * held in the cache, filtered or not, and what has to change. The best of each kind is to
 * be measured, since kinds do not compare by the model alone.
 */
unsigned pack_advise_kind_of(const struct pack_advise_params *params,
                             const struct pack_advise_outcome *o);
/* The randomness of the most random one. */
double pack_advise_most_random(const struct pack_advise_outcome *outcomes, size_t n);
/* Nearly as random as that, within the memory allowed. */
bool pack_advise_is_possible(const struct pack_advise_params *params,
                             const struct pack_advise_outcome *o, double random);
/* Whether the model too sees a gain in it over another where it is a rewrite: measured alone,
 * a copy can be faster by where its pages happen to lie. */
bool pack_advise_is_explained(const struct pack_advise_params *params,
                              const struct pack_advise_outcome *other,
                              const struct pack_advise_outcome *o);
/* ... and worth the change from `now`, which may be NULL. */
bool pack_advise_is_eligible(const struct pack_advise_params *params,
                             const struct pack_advise_outcome *now,
                             const struct pack_advise_outcome *o, double random);
/* Which other layouts equal that of a row, a rewrite: within 5 % one is chosen by what it costs,
 * and by noise. One clause, or an empty one; returns as snprintf. */
int pack_advise_as_good(const struct pack_advise_params *params,
                        const struct pack_advise_result *result,
                        const struct pack_advise_outcome *outcome, char *text, size_t size);
/* The index of the one to recommend; n >= 1. `now` may be NULL; where it fits, it is to be
 * among the outcomes. A rewrite has to gain what is wanted of one over the best that settings
 * or an order make of the file as it is. Rates, memory, randomness and configurations decide,
 * nothing is simulated. */
size_t pack_advise_choose(const struct pack_advise_params *params,
                          const struct pack_advise_outcome *now,
                          const struct pack_advise_outcome *outcomes, size_t n);

/* -------------------------------------------------------------- finished results */

/* Fills in the hit rates of other policies, where chunks are cached at all. */
enum pack_status pack_advise_policies(const struct pack_advise_params *params,
                                      struct pack_advise_outcome *outcome,
                                      struct pack_error *err);

/* Sentences about finished results. */
void pack_advise_explain(const struct pack_advise_params *params,
                         struct pack_advise_result *result);
void pack_advise_cause(const struct pack_advise_params *params,
                       const struct pack_advise_outcome *o, char *text);
/* "8.9", "2770": a factor without powers of ten; returns text. */
const char *pack_advise_times(double factor, char text[32]);
/* What there is to know of one outcome, up to PACK_ADVISE_WARNINGS_MAX; thresholds NULL: each
 * rule's own. */
enum pack_status pack_advise_warn(const struct pack_advise_params *params,
                                  const struct pack_advise_outcome *outcome,
                                  const struct pack_thresholds *thresholds,
                                  struct pack_advise_warning *warnings, size_t *n,
                                  struct pack_error *err);
/* A finding as a warning, which owns nothing. */
void pack_advise_warning_of(const struct pack_finding *found, struct pack_advise_warning *w);
/* Whether rows[0] reaches the target, and what would. */
enum pack_status pack_advise_meet_target(const struct pack_advise_params *params,
                                         struct pack_advise_result *result,
                                         struct pack_error *err);
/* Whether hit rates say anything: one is 10 % at least. */
bool pack_advise_map_has_hits(const struct pack_advise_map *map);
enum pack_status pack_advise_chart(const struct pack_advise_params *params,
                                   struct pack_advise_result *result,
                                   struct pack_error *err);

#endif
