/* What the parts of moving share. */
#ifndef LIBPACK_RECHUNK_MOVE_PARTS_H
#define LIBPACK_RECHUNK_MOVE_PARTS_H

#include "libpack/base/pool.h"
#include "libpack/reader/chunkload.h"
#include "libpack/rechunk/rechunk_move.h"

/* A target chunk in memory. */
struct move_slot {
    uint64_t number;
    uint64_t left;   /* elements that are still to come */
    bool is_stored;  /* something that is stored went into it */
    unsigned char *data;
    struct move_slot *next; /* in its bucket, among the free or the ready ones */
};

/* A source chunk on its way to its slots. */
struct move_part {
    struct pack_rechunk_load load;
    enum pack_chunk_kind kind;
    struct pack_chunk chunk;
    struct move_slot *only, **slots; /* of the target chunks it touches, in their order, NULL
                                        for one that is done: &only, or allocated */
};

/* What a worker gets at a time: small chunks are not worth a way to and fro each. */
struct move_load {
    struct move_part *parts;
    unsigned n;
    enum pack_status status;
    struct pack_error err; /* of the first part that failed */
};

/* A target chunk on its way to the file. */
struct move_encode {
    struct move_slot *slot;
    unsigned char *room;
    struct pack_stored stored;
    uint64_t checksum; /* of them */
    enum pack_status status;
    struct pack_error err;
};

struct move_worker {
    struct pack_chunkload load;
    unsigned char *chunk; /* a source chunk, decoded */
    struct pack_filter_ctx *ctx;
};

enum {
    MOVE_LOAD = 0,
    MOVE_ENCODE = 1,
    MOVE_IN_FLIGHT = 2, /* of each, per worker */
    MOVE_BATCH_MAX = 64 /* parts of a load, as long as they make no more than */
};
#define MOVE_BATCH_BYTES PACK_CHUNKLOAD_SPAN_BYTES /* which is read at once, too */

struct mover {
    const struct pack_rechunk_move_params *params;
    const struct pack_rechunk_move *move;
    struct pack_rechunk_moved *moved;
    struct pack_fetch fetch;
    struct move_worker *workers;
    struct pack_pool *pool;
    struct move_slot *slots, *free, *ready, **ready_end, **buckets;
    /* With rows in another order: the complete chunks of a region, which begins with chunk
     * number `region_first`, each at its place. */
    struct move_slot **region;
    uint64_t region_first, region_end, region_number;
    uint64_t n_free, n_buckets;
    unsigned char *data; /* of all slots */
    struct move_load *loads, *filling; /* filling: is not yet submitted; or NULL */
    struct move_part *parts;           /* of all loads */
    struct move_encode *encodes;
    unsigned n_in_flight; /* of loads, and of encodes, at most */
    uint64_t load_at, encode_at; /* submitted so far */
    unsigned n_loading, n_encoding;
};

/* Bytes that encoding leaves a chunk in; 0: there are no filters. */
uint64_t pack_move_room_bytes(const struct pack_rechunk_move_params *params,
                              uint64_t chunk_bytes);

/* Takes the memory that was planned, and starts the workers; ends them and frees it, also
 * after a failure. */
enum pack_status pack_move_set_up(struct mover *m, struct pack_error *err);
void pack_move_tear_down(struct mover *m);
/* The list of slots that a part goes to. */
void pack_move_free_slots(struct move_part *part);

/* Hands a chunk on. */
enum pack_status pack_move_write_chunk(struct mover *m, struct pack_rechunk_chunk *chunk,
                                       struct pack_error *err);
void pack_move_tell(const struct mover *m, uint64_t done);
/* All of them, in the order of the index. */
enum pack_status pack_move_copy_chunks(struct mover *m, struct pack_error *err);

/* What the workers do. */
void pack_move_load(void *item, unsigned worker, void *context);
void pack_move_encode(void *item, unsigned worker, void *context);

#endif
