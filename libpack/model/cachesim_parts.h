/* What the parts of the cache simulator share. */
#ifndef LIBPACK_CACHESIM_PARTS_H
#define LIBPACK_CACHESIM_PARTS_H

#include <libpack/cachesim.h>
#include "libpack/model/grid.h"
#include "libpack/model/posset.h"

/* Quotient by a number chosen once, without a division where both fit 32 bits (Lemire,
 * Kaser, Kurz 2019, "Faster remainder by direct computation"). */
struct divider {
    uint64_t by, magic; /* magic 0: `by` is 1 or has more than 32 bits */
};

static inline struct divider
divider_make(uint64_t by)
{
    return (struct divider){ by, by > 1 && by <= UINT32_MAX ? UINT64_MAX / by + 1 : 0 };
}

static inline uint64_t
divide(const struct divider *d, uint64_t n)
{
    if (d->magic != 0 && n <= UINT32_MAX)
        return (uint64_t)((unsigned __int128)d->magic * n >> 64);
    return d->by == 1 ? n : n / d->by;
}

/* One slot of the hash table: where the entry is, and enough of its chunk number to tell
 * most misses without looking there. */
struct slot {
    uint32_t at; /* index in the ring + 1; 0: empty */
    uint32_t tag;
};

struct entry {
    uint64_t number; /* of its chunk */
    uint64_t left;   /* elements until it counts as completely read */
    uint32_t slot;
};

struct pack_cachesim {
    struct pack_grid grid;
    struct pack_cachesim_params params;
    bool caching;             /* chunks fit, and the cache is not off */
    bool sample_is_one_chunk; /* axes 1 and up have one chunk each */
    bool hash_is_number;      /* so that no coordinates are needed */
    bool loads_alike;         /* every load is stored, and as large as any other */
    bool evicts_head_if_done; /* w0 is below 1 */
    uint64_t load_bytes;      /* of a chunk that is filtered as the dataset is */
    uint64_t sample_elements;
    struct divider chunk_rows; /* by the chunk's extent along axis 0 */
    struct divider slots_mod;  /* by n_slots */
    int shift[PACK_RANK_MAX];  /* of each chunk coordinate within the hash */

    struct slot *slots;
    uint64_t slots_size; /* as many of n_slots as chunks can reach */
    struct entry *ring;
    uint64_t ring_size; /* a power of two */
    uint64_t head, tail;
    uint64_t n_entries, n_holes;
    uint64_t most_entries; /* at once, since counting began */
    uint64_t done_from;    /* no entry before it is completely read */
    struct pack_posset holes, busy;

    struct pack_cache_counts counts;
};

/* ---- cachesim_slots.c; in line is what every visit needs */

static inline uint64_t
shift_left(uint64_t value, int by)
{
    return by < 64 ? value << by : 0;
}

/* Chunk coordinates packed into bits. */
static inline uint64_t
packed_hash(int rank, const int *shift, const uint64_t *coords)
{
    uint64_t hash = 0;
    for (int i = 0; i < rank; i++)
        hash ^= shift_left(coords[i], shift[i]);
    return hash;
}

static inline uint64_t
slot_of_hash(const struct pack_cachesim *sim, uint64_t hash)
{
    return hash - divide(&sim->slots_mod, hash) * sim->slots_mod.by;
}

/* The slot of a chunk. */
static inline uint64_t
pack_cachesim_slot(const struct pack_cachesim *sim, uint64_t number,
                   const uint64_t *coords)
{
    if (sim->params.cache.version == PACK_HDF5_1_8)
        return slot_of_hash(sim, number);
    return slot_of_hash(sim, packed_hash(sim->grid.rank, sim->shift, coords));
}

/*
 * The slot of a chunk before it is taken modulo n_slots: chunk coordinates packed into
 * bits (1.10 and later) or the linear number (1.8). For choosing n_slots; the grid as
 * opened.
 */
uint64_t pack_cachesim_hash(const struct pack_grid *grid, enum pack_hdf5_version version,
                            const uint64_t *coords);

/* Sets shifts from the bits that each axis takes, given its number of chunks. */
void pack_cachesim_set_shifts(struct pack_cachesim *sim, const uint64_t *n_chunks);
/* How many slots the chunks of the present grid can reach, with any of its shifts. */
uint64_t pack_cachesim_reach(const struct pack_cachesim *sim);

/* ---- cachesim.c */

/* One visit of a chunk when the cache is on; `slot` is its slot. */
void pack_cachesim_visit_slot(struct pack_cachesim *sim, uint64_t number, uint64_t slot,
                              uint64_t n_elements);
/* Evicts the entry at a position of the ring, uncounted. */
void pack_cachesim_drop(struct pack_cachesim *sim, uint64_t position);

/* ---- cachesim_state.c */

/* PACK_ERR_ARGUMENT for settings that H5Pset_chunk_cache would refuse. */
enum pack_status pack_cache_params_check(const struct pack_cache_params *cache,
                                         struct pack_error *err);

/* ---- cachesim_check.c: PACK_ERR_ARGUMENT or PACK_ERR_LIMIT, naming `param` */

/* One read of so many chunks. */
enum pack_status pack_cachesim_check_visits(uint64_t n_visits, const char *param,
                                            struct pack_error *err);
/* `sim` and `box` may be NULL, and are refused then. */
enum pack_status pack_cachesim_check_box(const struct pack_cachesim *sim,
                                         const struct pack_box *box, const char *param,
                                         struct pack_error *err);
/* All of n numbers are less than `end`. */
enum pack_status pack_cachesim_check_below(const uint64_t *values, size_t n, uint64_t end,
                                           const char *param, struct pack_error *err);
enum pack_status pack_cachesim_check_strided(const struct pack_cachesim *sim,
                                             const struct pack_box *box,
                                             const uint64_t *stride,
                                             struct pack_error *err);
enum pack_status pack_cachesim_check_points(const struct pack_cachesim *sim,
                                            const uint64_t *coords, size_t n_points,
                                            struct pack_error *err);

/* ---- cachesim_direct.c */

bool pack_cachesim_is_stored(const struct pack_cachesim *sim, uint64_t number);
/* Counts n loads that are alike. */
void pack_cachesim_count_loads(struct pack_cachesim *sim, uint64_t n);
/* Counts the load of a whole chunk, or the fill of one without storage. */
void pack_cachesim_count_load(struct pack_cachesim *sim, uint64_t number);

/* One visit of a chunk when the cache is off or too small. True when its pieces are read
 * directly: the caller adds them. */
bool pack_cachesim_visit_uncached(struct pack_cachesim *sim, uint64_t number,
                                  uint64_t n_elements);

/* Direct reads of one chunk within one H5Dread; zeroed to begin with. */
struct pack_pieces {
    bool joins;                /* there are several blocks, whose pieces may join */
    uint64_t at, size, memory; /* the piece being put together; size 0: none */
    uint64_t sieve_from, sieve_end;
};

/*
 * The elements of a selection in one chunk: along each axis `count` of them, `stride`
 * apart (NULL: 1), from `start` on. `whole` is how many the whole block has, which is its
 * shape in memory; the first element of this chunk lies `memory` bytes from the buffer's
 * beginning.
 */
struct pack_block {
    const uint64_t *start, *count, *stride, *whole;
    uint64_t memory;
};

void pack_cachesim_add_block(struct pack_cachesim *sim, struct pack_pieces *pieces,
                             const struct pack_block *block);
/* Bytes from the chunk's start and the buffer's; joins with the piece before where they
 * touch in both. */
void pack_cachesim_add_piece(struct pack_cachesim *sim, struct pack_pieces *pieces,
                             uint64_t at, uint64_t size, uint64_t memory);
void pack_cachesim_end_pieces(struct pack_cachesim *sim, struct pack_pieces *pieces);

#endif
