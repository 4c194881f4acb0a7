/* What the parts of the pattern iterator share. */
#ifndef LIBPACK_PATTERN_ORDER_H
#define LIBPACK_PATTERN_ORDER_H

#include <libpack/pattern.h>
#include "libpack/model/permutation.h"
#include "libpack/base/rng.h"

struct pack_order;

/*
 * One kind of order. Orders whose samples can be computed from their position have `at`,
 * perhaps `range`; the others have `next`, which gives them one after another.
 */
struct pack_order_ops {
    enum pack_status (*open)(struct pack_order *order, const struct pack_pattern *pattern,
                             struct pack_error *err);
    void (*start)(struct pack_order *order, uint64_t seed); /* of an epoch */
    uint64_t (*at)(struct pack_order *order, uint64_t position);
    void (*range)(struct pack_order *order, uint64_t first, size_t count,
                  uint64_t *samples);
    uint64_t (*next)(struct pack_order *order);
};

/* A chunk in a sliding pool: how its samples are permuted and how many are gone. */
struct pack_held_chunk {
    uint64_t chunk, taken;
    struct pack_permutation permutation;
};

/* Block, of a subset: how many members are in each of the chunks that have some. */
struct pack_order_groups {
    uint64_t *first;  /* of each chunk, its first member, chunk by chunk; their number. NULL:
                       * this is no subset */
    uint64_t *member; /* chunk by chunk; NULL: the subset is in this order */
    uint64_t *line;   /* as `first`, of the chunks as they lie in this epoch */
    uint64_t line_seed;
    bool has_line;
};

/* The epoch's order of all ranks: `length` samples, each one of 0 .. n_samples-1. Of a
 * subset these are its members, and the pattern knows which samples they are. */
struct pack_order {
    const struct pack_order_ops *ops;
    uint64_t n_samples, length;
    uint64_t seed;                       /* of this epoch */
    struct pack_permutation permutation; /* shuffle: of samples; block: of chunks */
    struct pack_rng rng;

    uint64_t chunk_samples, n_chunks, pool_chunks; /* block */
    uint64_t shortfall;  /* samples missing from the last chunk */
    uint64_t short_at;   /* the slot of that chunk */
    uint64_t short_from; /* the slot that the permutation gives it; the two are swapped */
    uint64_t world, workers, batch;           /* worker-local: how batches are dealt */
    struct pack_permutation pool_permutation; /* of one pool's samples */
    uint64_t permuted_share, permuted_pool;   /* which; UINT64_MAX: none yet */
    struct pack_held_chunk *held;             /* sliding pool */
    struct pack_order_groups groups;
    uint64_t n_held, next_chunk;

    uint64_t *buffer; /* buffer */
    uint64_t buffer_size, n_buffered, next_sample;

    double *keep; /* weighted: Walker's alias table */
    uint64_t *alias;
};

extern const struct pack_order_ops pack_order_refill, pack_order_local, pack_order_slide;

enum pack_status pack_order_open(struct pack_order *order,
                                 const struct pack_pattern *pattern,
                                 struct pack_error *err);
void pack_order_close(struct pack_order *order);
void pack_order_start(struct pack_order *order, uint64_t seed);
/* What it has allocated. */
uint64_t pack_order_bytes(const struct pack_order *order);
/* Likewise, of a whole iterator. */
uint64_t pack_pattern_bytes(const struct pack_pattern_iter *iter);
/* Worker-local: see pack_pattern_shared_chunks. */
uint64_t pack_order_shared_chunks(const struct pack_order *order, uint64_t rank);

/* chunk_samples of a file whose chunks have so many indexes of axis 0: samples that begin
 * `step` apart. At least 1. */
uint64_t pack_pattern_of_chunk(const struct pack_pattern *pattern, uint64_t n_indexes);

/* ------------------------------------------------- pattern_groups.c: blocks of a subset */

/* The groups of a subset's members, for chunks of so many samples; *n_chunks have some.
 * PACK_ERR_MEMORY. */
enum pack_status pack_order_group(struct pack_order_groups *groups,
                                  const struct pack_pattern *pattern,
                                  uint64_t chunk_samples, uint64_t *n_chunks,
                                  struct pack_error *err);
void pack_order_groups_done(struct pack_order_groups *groups); /* zeroed is fine */
/* Lays them out in the order of a permutation, which follows from the seed. */
void pack_order_groups_line(struct pack_order_groups *groups,
                            const struct pack_permutation *permutation, uint64_t seed);
/* The slot of n that holds a place. */
uint64_t pack_order_groups_slot(const struct pack_order_groups *groups, uint64_t n,
                                uint64_t place);

/* A random word for a place: a function of seed and place. */
static inline uint64_t
pack_order_word(uint64_t seed, uint64_t place)
{
    return pack_rng_mix(seed, place);
}

/* Uniform in 0 .. n-1 but for a bias below n / 2^64. */
static inline uint64_t
pack_order_below(uint64_t word, uint64_t n)
{
    return (uint64_t)((unsigned __int128)word * n >> 64);
}

#endif
