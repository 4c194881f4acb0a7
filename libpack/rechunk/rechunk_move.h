/* The data of one dataset from its chunks to others, in threads, within a memory bound. */
#ifndef LIBPACK_RECHUNK_MOVE_H
#define LIBPACK_RECHUNK_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/status.h>
#include "libpack/hdf5/filter.h"
#include "libpack/reader/chunkmap.h"
#include "libpack/rechunk/narrow.h"
#include "libpack/rechunk/rechunk_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A chunk that is ready to be stored. */
struct pack_rechunk_chunk {
    uint64_t number;       /* in the target's grid */
    const uint64_t *start; /* in elements */
    struct pack_stored stored;
    uint64_t checksum; /* of the stored bytes */
};

/* Takes a chunk. Called on the thread of pack_rechunk_move(), in the same order whatever the
 * number of threads. */
typedef enum pack_status (*pack_rechunk_write_fn)(void *context,
                                                  const struct pack_rechunk_chunk *chunk,
                                                  struct pack_error *err);

struct pack_rechunk_move_params {
    const struct pack_chunkmap *map; /* of the source; not `unmapped` */
    struct pack_shape chunk;         /* of the target */
    /* All of it is written, those at an edge without what is beyond it; no filters. */
    bool is_contiguous;
    struct pack_pipeline pipeline;
    const struct pack_narrow *narrow; /* what its elements become; NULL: they stay */
    const struct pack_permutation *rows; /* their new order, as plan.h has it; or NULL */
    const int *axes; /* axis i is the source's axis axes[i], 0 its 0; NULL: as they are */
    bool verbatim; /* the same chunks and filters: taken as they are stored */
    unsigned n_threads;
    uint64_t memory_bytes;
    pack_rechunk_write_fn write;
    void *write_context;
    /* A bit for each target chunk, the lowest of byte 0 first: those that are there already,
     * being the first that `write` would get. They are left out. NULL: none. */
    const unsigned char *done;
    struct pack_watch watch;
};

/* What is going to be done; follows from memory_bytes, not from n_threads, which decides
 * about n_workers alone. */
struct pack_rechunk_move {
    /* Of a verbatim copy the grids only. With axes in another order the source's grid has
     * the target's; its chunks keep their numbers. */
    struct pack_rechunk_plan plan;
    uint64_t n_slots;
    unsigned n_workers;
    unsigned n_batch; /* source chunks that a worker gets at a time, at most */
    uint64_t peak_bytes; /* of memory */
};

/* PACK_ERR_MEMORY, naming `memory_bytes` and the least that does; PACK_ERR_LIMIT. */
enum pack_status pack_rechunk_move_plan(const struct pack_rechunk_move_params *params,
                                        struct pack_rechunk_move *move,
                                        struct pack_error *err);

/* What is written of a target chunk that no filter takes: as long as others, but for those at
 * an edge of contiguous data. */
uint64_t pack_rechunk_plain_bytes(const struct pack_grid *target, bool is_contiguous,
                                  uint64_t number);

/* A shape in the other order; nothing where axes is NULL. */
void pack_rechunk_turn_shape(const int *axes, struct pack_shape *shape);

/* What was done. */
struct pack_rechunk_moved {
    uint64_t n_loads, n_writes;         /* of chunks; those not stored are not counted */
    uint64_t read_bytes, written_bytes; /* as stored */
    /* What an interrupted run had written. Not set by pack_rechunk_move(), nor counted
     * above. */
    uint64_t n_resumed, resumed_bytes;
};

/* Whether a chunk is in a set of such bits, which may be NULL; and puts it there. */
bool pack_rechunk_is_done(const unsigned char *done, uint64_t number);
void pack_rechunk_set_done(unsigned char *done, uint64_t number);

/* Moves it all. Errors as pack_chunkload_decode() and `write`; PACK_ERR_CHANGED when the
 * source was written to meanwhile. */
enum pack_status pack_rechunk_move(const struct pack_rechunk_move_params *params,
                                   const struct pack_rechunk_move *move,
                                   struct pack_rechunk_moved *moved,
                                   struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
