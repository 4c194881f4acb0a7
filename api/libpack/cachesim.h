/* HDF5's chunk cache, simulated: slots, bytes, preemption. */
#ifndef LIBPACK_CACHESIM_H
#define LIBPACK_CACHESIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Versions of HDF5 whose caches count differently. */
enum pack_hdf5_version {
    PACK_HDF5_1_10 = 0, /* 1.10, 1.12, 1.14: 521 slots, 1 MiB */
    PACK_HDF5_1_8,      /* the same, but slots follow the linear chunk number */
    PACK_HDF5_2_0,      /* 2.0: 8191 slots, 8 MiB */
    PACK_HDF5_2_1       /* 2.1 and later: direct reads through a sieve buffer too */
};

/* "1.8", "1.10", "1.14.3", "2.0"; PACK_ERR_ARGUMENT for what is no such version. */
enum pack_status pack_hdf5_version_parse(const char *text,
                                         enum pack_hdf5_version *version,
                                         struct pack_error *err);
/* Whether this is a version whose counts were compared with the model's: up to 2.1. Those
 * of a later one that pack_hdf5_version_parse takes may differ by a few loads. */
bool pack_hdf5_version_is_compared(const char *text);
/* "1.8", "1.10", "2.0", "2.1"; "unknown" for what is none. */
const char *pack_hdf5_version_name(enum pack_hdf5_version version);

/*
 * What H5Pset_chunk_cache() sets (h5py: rdcc_nslots, rdcc_nbytes, rdcc_w0), and the
 * version that will read. Zero slots or bytes switch the cache off, so that zero is no
 * default here: see pack_cache_params_defaults.
 */
struct pack_cache_params {
    uint64_t n_slots;
    uint64_t size_bytes;
    double w0; /* 0 to 1 */
    enum pack_hdf5_version version;
};

/* Fills in what the version uses when nobody sets anything. */
void pack_cache_params_defaults(struct pack_cache_params *params,
                                enum pack_hdf5_version version);

/*
 * What else of a dataset its cache depends on. All zero: unfiltered, every chunk stored.
 * For a file: filtered is pack_facts.pipeline.n > 0, edge_unfiltered its
 * edge_chunks_unfiltered, skip_missing what pack_facts_skip_missing() says; stored_bytes
 * are those of a pack_chunkindex's chunks, in an array of their own.
 */
struct pack_cachesim_params {
    struct pack_cache_params cache;
    bool filtered;        /* chunks pass a filter pipeline */
    bool edge_unfiltered; /* except edge chunks (H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) */
    /* Chunks without storage are not read at all: fill time "never", or "if set" and no
     * fill value defined. */
    bool skip_missing;
    /*
     * Bytes of each chunk in the file by chunk number, 0 for one without storage;
     * borrowed while the simulator lives. NULL: all chunks are stored, filtered ones at
     * `stored_rate` times their full size.
     */
    const uint64_t *stored_bytes;
    double stored_rate;  /* 0 means 1 */
    uint64_t sieve_bytes; /* H5Pset_sieve_buf_size, of version 2.1 on; 0 means 64 KiB */
};

/*
 * What happened. A request is one chunk visited by one H5Dread;
 *
 *     requests == hits + loads + fills + bypass_visits
 *     file_reads == loads + reads made by bypass visits
 */
struct pack_cache_counts {
    uint64_t requests;
    uint64_t hits;
    uint64_t loads;         /* chunks read whole from the file */
    uint64_t decodes;       /* of those, passed through the filter pipeline */
    uint64_t fills;         /* chunks without storage, filled in memory */
    uint64_t bypass_visits; /* chunks read directly, piece by piece, past the cache */
    uint64_t file_reads;
    uint64_t file_read_bytes;
    uint64_t wanted_bytes;        /* selected by the reads */
    uint64_t evictions_space;     /* to keep to size_bytes */
    uint64_t evictions_collision; /* because another chunk took the slot */
    uint64_t walk_steps; /* list entries that the library's eviction walk looks at */
    uint64_t peak_bytes; /* most bytes of chunks held at once */
};

/* Adds the counts of one cache to those of others that live beside it (the workers of one
 * loader): everything adds up, peak_bytes too. */
void pack_cache_counts_add(struct pack_cache_counts *total,
                           const struct pack_cache_counts *part);

/*
 * One open dataset's chunk cache, exactly as HDF5 keeps it: same loads, hits, evictions
 * and decodes for the same reads, in every version from 1.8 to 2.1.
 *
 * Follows H5D__chunk_hash_val, H5D__chunk_cacheable, H5D__chunk_lock, H5D__chunk_unlock,
 * H5D__chunk_cache_prune and H5D__chunk_update_cache (src/H5Dchunk.c of 1.10.8,
 * which 1.12, 1.14 and 2.x do not change), H5D_CHUNK_HASH of 1.8 (src/H5Dpkg.h), and for
 * direct reads H5D__contig_readvv_sieve_cb of 2.x (src/H5Dcontig.c). tests/vectors.sh
 * holds it to counts recorded from six versions, test_cachesim_hdf5 to the installed one.
 *
 * What it leaves out: writes, H5Dread_chunk, extents that shrink, page buffers (which sit
 * below and only change file reads), and into how many pieces a strided selection falls
 * when it goes past the cache: there file_reads may differ by a few, and with version 2's
 * sieve buffer file_read_bytes too. When an extent grows, 1.8 is taken to
 * move its entries as 1.10 does; nobody has measured it.
 *
 * Needs O(n_slots + entries) memory, and no more slots than the dataset's chunks can
 * reach. A visit costs O(log entries) at worst, where the library walks its list to find
 * a victim, and O(1) where chunks are read whole. Says nothing about time.
 */
struct pack_cachesim;

/*
 * A simulator of an open dataset that nothing was read of yet, for pack_cachesim_free. The
 * grid and params are copied; params->stored_bytes has grid->n_chunks_total entries.
 * PACK_ERR_ARGUMENT for a grid that pack_grid_init did not fill in, w0 outside 0 to 1, a
 * version that is none, a stored rate that is negative or no number; PACK_ERR_LIMIT for
 * more than 2^30 reachable slots, PACK_ERR_MEMORY.
 */
enum pack_status pack_cachesim_new(const struct pack_grid *grid,
                                   const struct pack_cachesim_params *params,
                                   struct pack_cachesim **sim, struct pack_error *err);
void pack_cachesim_free(struct pack_cachesim *sim);

/*
 * The calls below read. Each looks at all that it is asked for before it counts anything:
 * PACK_ERR_ARGUMENT for what is not inside the extent (see pack_grid_check_box),
 * PACK_ERR_LIMIT for one H5Dread of more than 2^32 chunks; the simulator is as it was
 * then. Looking takes a few hundredths of the time of counting.
 */

/* One H5Dread of one block. */
enum pack_status pack_cachesim_read(struct pack_cachesim *sim, const struct pack_box *box,
                                    struct pack_error *err);

/*
 * n calls of H5Dread, each of one whole index of axis 0, in the order given: what reading
 * samples one at a time does, and the fastest way to say so.
 */
enum pack_status pack_cachesim_read_samples(struct pack_cachesim *sim,
                                            const uint64_t *samples, size_t n,
                                            struct pack_error *err);

/*
 * One H5Dread of several blocks that do not overlap (a union of hyperslabs, as h5py makes
 * of a list of indexes); where they do, elements count more than once. PACK_ERR_MEMORY:
 * it takes 32 bytes for each chunk visited.
 */
enum pack_status pack_cachesim_read_boxes(struct pack_cachesim *sim,
                                          const struct pack_box *boxes, size_t n_boxes,
                                          struct pack_error *err);

/* One H5Dread of every stride[i]-th element along each axis, 1 or more: box->count[i] of
 * them from box->start[i] on. */
enum pack_status pack_cachesim_read_strided(struct pack_cachesim *sim,
                                            const struct pack_box *box,
                                            const uint64_t *stride,
                                            struct pack_error *err);

/* One H5Dread of n_points single elements, `rank` coordinates each, one after another;
 * repeated ones count again. PACK_ERR_MEMORY: it takes 32 bytes a point. */
enum pack_status pack_cachesim_read_points(struct pack_cachesim *sim,
                                           const uint64_t *coords, size_t n_points,
                                           struct pack_error *err);

/*
 * One visit of one chunk by its number, with n_elements selected in it (up to those of a
 * chunk): the inner loop without geometry. Where the cache is bypassed the elements are
 * taken to be one piece at the chunk's start.
 */
enum pack_status pack_cachesim_visit(struct pack_cachesim *sim, uint64_t number,
                                     uint64_t n_elements, struct pack_error *err);
/* n such visits, in the order given. */
enum pack_status pack_cachesim_visit_many(struct pack_cachesim *sim,
                                          const uint64_t *numbers, size_t n,
                                          uint64_t n_elements, struct pack_error *err);

/*
 * H5Dset_extent through the open handle. stored_bytes follows the new chunk numbers,
 * borrowed as in the params and NULL as there. PACK_ERR_ARGUMENT for an extent of another
 * rank, PACK_ERR_UNSUPPORTED when it shrinks along an axis, PACK_ERR_LIMIT beyond 64 bits
 * or 2^30 slots, PACK_ERR_MEMORY; the simulator is unchanged then.
 */
enum pack_status pack_cachesim_set_extent(struct pack_cachesim *sim,
                                          const struct pack_shape *extent,
                                          const uint64_t *stored_bytes,
                                          struct pack_error *err);

/*
 * Closes the last handle of the dataset and opens it again: everything cached is gone,
 * the counts go on. (Opening a second handle changes nothing: it shares the first one's
 * cache, whatever its own settings.)
 */
void pack_cachesim_reopen(struct pack_cachesim *sim);

/* The counts since the simulator was made or pack_cachesim_take was called. */
void pack_cachesim_counts(const struct pack_cachesim *sim,
                          struct pack_cache_counts *counts);
/* The same, and starts counting anew while the cache keeps what it holds: one call at
 * each end of an epoch tells the cold epoch from the steady ones. */
void pack_cachesim_take(struct pack_cachesim *sim, struct pack_cache_counts *counts);

/* Chunks held now. */
uint64_t pack_cachesim_entries(const struct pack_cachesim *sim);
/* The grid as it is now, borrowed until the simulator is freed. */
const struct pack_grid *pack_cachesim_grid(const struct pack_cachesim *sim);

#ifdef __cplusplus
}
#endif
#endif
