/* Stored chunks read and decoded, by one thread: everything that a file claims is checked. */
#ifndef LIBPACK_CHUNKLOAD_H
#define LIBPACK_CHUNKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>
#include "libpack/reader/chunkmap.h"
#include "libpack/reader/fetch.h"
#include "libpack/reader/strided.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pieces that are gathered with one read: as many bytes at most, and for each of them no
 * more than PACK_CHUNKLOAD_GAP_BYTES beside its own, which take no longer than a call. */
enum { PACK_CHUNKLOAD_SPAN_BYTES = 1 << 18, PACK_CHUNKLOAD_GAP_BYTES = 4096 };

/* What one thread needs; map and fetch are borrowed, and shared. */
struct pack_chunkload {
    const struct pack_chunkmap *map;
    const struct pack_fetch *fetch;
    struct pack_filter_ctx *ctx;
    unsigned char *room;
    size_t room_bytes; /* for bytes as they are stored */
    /* What was gathered: `window_bytes` from an address on; 0: nothing. */
    const unsigned char *window;
    uint64_t window_address;
    size_t window_bytes;
    uint64_t file_reads, file_read_bytes, read_ns, decode_ns;
};

/* PACK_ERR_MEMORY. pack_chunkload_done() frees; zeroed storage is fine. */
enum pack_status pack_chunkload_init(struct pack_chunkload *load,
                                     const struct pack_chunkmap *map,
                                     const struct pack_fetch *fetch,
                                     struct pack_error *err);
void pack_chunkload_done(struct pack_chunkload *load);

/* The memory that one takes for this map, its filters' included; UINT64_MAX: more than can
 * be counted. */
uint64_t pack_chunkload_bytes(const struct pack_chunkmap *map);

/* Of these so much is room for what is read at once. */
uint64_t pack_chunkload_room_bytes(const struct pack_chunkmap *map);

/* What is read from now on, by a hand with enough room for it. */
void pack_chunkload_turn(struct pack_chunkload *load, const struct pack_chunkmap *map,
                         const struct pack_fetch *fetch);

/* Reads a range in which several chunks lie that are decoded next, at once: those inside
 * are then not read again. Nothing happens when it is larger than the room or cannot be
 * read: each chunk then says for itself what is wrong. */
void pack_chunkload_gather(struct pack_chunkload *load, uint64_t address, uint64_t bytes);
/* Whether a chunk was gathered. */
bool pack_chunkload_has(const struct pack_chunkload *load,
                        const struct pack_chunk *chunk);

/*
 * Decodes a chunk that is PACK_CHUNK_CODED into chunk_bytes of the grid at `out`.
 * PACK_ERR_FORMAT when it is damaged, stores more than an encoder could have made, or lies
 * outside the file; else as pack_fetch_view(). Sentences name file, dataset and chunk.
 */
enum pack_status pack_chunkload_decode(struct pack_chunkload *load,
                                       const struct pack_chunk *chunk, void *out,
                                       struct pack_error *err);

/*
 * Copies a block of a chunk of any other kind to its place in `target`, reading what it
 * takes and little more: `strided` has its source in the chunk. Errors likewise.
 */
enum pack_status pack_chunkload_copy(struct pack_chunkload *load,
                                     enum pack_chunk_kind kind,
                                     const struct pack_chunk *chunk,
                                     const struct pack_strided *strided, void *target,
                                     struct pack_error *err);

/* Adds the reads that this takes of a chunk without filters, with so much room for one. */
void pack_chunkload_count(const struct pack_strided *strided, uint64_t room_bytes,
                          uint64_t *n_reads, uint64_t *bytes);

/* Makes n bytes of such a chunk readable, from `from` on: in `room`, of as many, or where
 * they are until the next call. Errors as pack_chunkload_copy(). */
enum pack_status pack_chunkload_view(struct pack_chunkload *load, enum pack_chunk_kind kind,
                                     const struct pack_chunk *chunk, uint64_t from, size_t n,
                                     void *room, const void **data, struct pack_error *err);

/* Names file, dataset and chunk in front of the sentence of what failed with a view. */
enum pack_status pack_chunkload_named(const struct pack_chunkload *load,
                                      const struct pack_chunk *chunk,
                                      enum pack_status status, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
