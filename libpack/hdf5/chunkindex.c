/*
 * From HDF5 1.14 on, H5Dchunk_iter walks the index once (1.10.9 and 1.12.3 have it with
 * another callback). Before, the calls that give an address, H5Dget_chunk_info and its
 * sibling, walk all of it each time, 36 ms and more at 10^6 chunks. H5Dread_chunk,
 * however, looks one chunk up and reads it in one piece: with a driver that notes the
 * read and does not do it, that is a listing.
 *
 * That is also the way, whatever the release, where an extensible array grows along another
 * axis than the first: there H5Dchunk_iter names other chunks than those it found, in all
 * releases up to 2.2, and so do H5Dget_chunk_info and its sibling.
 */
#include <libpack/dataset.h>

#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_count.h"
#include "libpack/hdf5/h5_parts.h"
#include <libpack/shape.h>

enum { N_MAX_DEFAULT = 1 << 26 };

/* The read that the driver swallowed. */
struct noted {
    bool armed, seen;
    uint64_t address, size;
};

struct listing {
    struct noted noted;
    hid_t file, set;
    struct pack_shape chunk, n_chunks;
    uint64_t n_stored; /* chunks in the index, wherever they are */
    bool is_turned;    /* HDF5 names other chunks than it finds */
    struct pack_chunkindex index;
    bool is_odd; /* the index names a chunk outside the grid */
    const struct pack_watch *watch;
    uint64_t n_looked;
    bool is_stopped; /* by the watch */
    uint64_t end; /* of a file that is cut: a place behind it; 0: it is not cut */
};

/* Asks the watch, now and then. */
static bool
is_stopped(struct listing *listing)
{
    enum { LOOKED_EACH = 1 << 12 };
    if (++listing->n_looked % LOOKED_EACH == 0)
        listing->is_stopped = pack_watch_stops(listing->watch);
    return listing->is_stopped;
}

static enum pack_h5_action
note_read(void *context, const struct pack_h5_access *access)
{
    struct noted *noted = context;
    if (!noted->armed || !access->raw)
        return PACK_H5_PASS;
    noted->seen = true;
    noted->address = access->address;
    noted->size = access->size;
    return PACK_H5_SWALLOW;
}

/* Reads one chunk into nowhere; false when HDF5 refuses. */
static bool
note_chunk(struct listing *listing, const hsize_t *offset, uint64_t capacity,
           uint32_t *filter_mask)
{
    unsigned char nowhere;
    listing->noted = (struct noted){ .armed = true };
    bool good = pack_h5_read_chunk(listing->set, offset, filter_mask, &nowhere,
                                   (size_t)capacity) >= 0 &&
                listing->noted.seen;
    listing->noted.armed = false;
    return good;
}

#if H5_VERSION_GE(1, 14, 0)

static int
take_chunk(const hsize_t *offset, unsigned filter_mask, haddr_t address, hsize_t size,
           void *context)
{
    struct listing *listing = context;
    uint64_t number = 0;
    for (int i = 0; i < listing->chunk.rank; i++) {
        uint64_t at = offset[i] / listing->chunk.extent[i];
        if (at >= listing->n_chunks.extent[i]) {
            listing->is_odd = true;
            return H5_ITER_STOP;
        }
        number = number * listing->n_chunks.extent[i] + at;
    }
    struct pack_chunk *chunk = &listing->index.chunks[number];
    chunk->address_bytes = address;
    chunk->stored_bytes = size;
    chunk->filter_mask = filter_mask;
    return is_stopped(listing) ? H5_ITER_STOP : H5_ITER_CONT;
}

static void
chunk_offset(const struct listing *listing, uint64_t number, hsize_t *offset)
{
    for (int i = listing->chunk.rank - 1; i >= 0; i--) {
        offset[i] = number % listing->n_chunks.extent[i] * listing->chunk.extent[i];
        number /= listing->n_chunks.extent[i];
    }
}

/* Whether H5Dchunk_iter counts from the start of the file or from the end of a user block
 * depends on the release; where the first chunk is read from tells. */
static bool
add_user_block(struct listing *listing)
{
    struct pack_chunkindex *index = &listing->index;
    hsize_t offset[PACK_RANK_MAX];
    uint64_t i = 0, shift;
    uint32_t filter_mask;
    while (i < index->n_chunks && index->chunks[i].address_bytes == PACK_CHUNK_MISSING)
        i++;
    if (i == index->n_chunks)
        return true;
    chunk_offset(listing, i, offset);
    if (!note_chunk(listing, offset, index->chunks[i].stored_bytes, &filter_mask))
        return false;
    shift = listing->noted.address - index->chunks[i].address_bytes;
    for (; shift != 0 && i < index->n_chunks; i++)
        if (index->chunks[i].address_bytes != PACK_CHUNK_MISSING)
            index->chunks[i].address_bytes += shift;
    return true;
}

#endif

/* Steps to the next chunk in row-major order. */
static void
step(const struct listing *listing, hsize_t *offset)
{
    for (int i = listing->chunk.rank - 1; i >= 0; i--) {
        offset[i] += listing->chunk.extent[i];
        if (offset[i] / listing->chunk.extent[i] < listing->n_chunks.extent[i])
            return;
        offset[i] = 0;
    }
}

/* HDF5 refuses chunks that are missing and chunks whose index is damaged alike; which it
 * was, the number of chunks tells in the end. Behind the last that there is, none is looked
 * for: a sparse dataset may have millions of places. */
static bool
look_chunks_up(struct listing *listing)
{
    hsize_t offset[PACK_RANK_MAX] = { 0 };
    uint64_t n_left = listing->n_stored;
    for (uint64_t i = 0; i < listing->index.n_chunks && n_left > 0 && !is_stopped(listing);
         i++, step(listing, offset)) {
        struct pack_chunk *chunk = &listing->index.chunks[i];
        if (!note_chunk(listing, offset, SIZE_MAX, &chunk->filter_mask))
            continue;
        chunk->address_bytes = listing->noted.address;
        chunk->stored_bytes = listing->noted.size;
        n_left--;
    }
    return true;
}

static bool
list_chunks(struct listing *listing)
{
#if H5_VERSION_GE(1, 14, 0)
    if (!listing->is_turned && !listing->end)
        return H5Dchunk_iter(listing->set, H5P_DEFAULT, take_chunk, listing) >= 0 &&
               !listing->is_odd && add_user_block(listing);
#endif
    return look_chunks_up(listing);
}

/* Opens the dataset's shape of chunks into listing. */
static enum pack_status
open_grid(struct listing *listing, const char *path, const struct pack_facts *facts,
          uint64_t n_max, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (facts->layout != PACK_LAYOUT_CHUNKED)
        status = pack_fail(err, PACK_ERR_ARGUMENT, "'%.200s' is %s, not chunked", path,
                           pack_layout_name(facts->layout));
    if (!status && facts->n_chunks_total > n_max)
        status = pack_fail(
            err, PACK_ERR_LIMIT, "'%.200s' has %llu chunks, at most %llu fit", path,
            (unsigned long long)facts->n_chunks_total, (unsigned long long)n_max);
    if (!status) {
        listing->chunk = facts->chunk;
        listing->n_chunks = facts->n_chunks;
        listing->n_stored = facts->n_chunks_stored;
        listing->is_turned = facts->index == PACK_INDEX_EXTENSIBLE_ARRAY &&
                             facts->max_extent.extent[0] != UINT64_MAX;
        listing->index.n_chunks = facts->n_chunks_total;
        listing->set = H5Dopen2(listing->file, path, H5P_DEFAULT);
        if (listing->set < 0)
            status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open '%.200s'", path);
    }
    return status;
}

/* Where part of an index was cut off, it cannot be known which of the chunks that are not found
 * were there: all count as behind the end. */
static void
take_as_cut(struct listing *listing)
{
    struct pack_chunkindex *index = &listing->index;
    for (uint64_t i = 0; i < index->n_chunks; i++)
        if (index->chunks[i].address_bytes == PACK_CHUNK_MISSING)
            index->chunks[i].address_bytes = listing->end;
    index->n_missing = 0;
}

static enum pack_status
list(struct listing *listing, const char *path, struct pack_error *err)
{
    struct pack_chunkindex *index = &listing->index;
    /* calloc checks the product */
    index->chunks = calloc(index->n_chunks ? index->n_chunks : 1, sizeof *index->chunks);
    if (!index->chunks)
        return pack_fail_memory(err, "chunk index");
    for (uint64_t i = 0; i < index->n_chunks; i++) {
        index->chunks[i].number = i;
        index->chunks[i].address_bytes = PACK_CHUNK_MISSING;
    }
    bool is_listed = list_chunks(listing);
    if (listing->is_stopped)
        return pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted");
    if (!is_listed)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot list the chunks of '%.200s'",
                            path);
    H5Eclear2(H5E_DEFAULT);
    for (uint64_t i = 0; i < index->n_chunks; i++) {
        index->n_missing += index->chunks[i].address_bytes == PACK_CHUNK_MISSING;
        index->stored_bytes += index->chunks[i].stored_bytes;
    }
    if (index->n_chunks - index->n_missing != listing->n_stored && listing->end)
        take_as_cut(listing);
    else if (index->n_chunks - index->n_missing != listing->n_stored)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "the chunk index of '%.200s' is damaged: it has %llu chunks, of "
                         "which %llu are found",
                         path, (unsigned long long)listing->n_stored,
                         (unsigned long long)(index->n_chunks - index->n_missing));
    return PACK_OK;
}

/* With facts that are known, or that are read here. */
static enum pack_status
read_grid(struct listing *listing, const char *path, const struct pack_facts *known,
          uint64_t n_max, struct pack_error *err)
{
    if (known)
        return open_grid(listing, path, known, n_max, err);
    struct pack_facts *facts = malloc(sizeof *facts);
    if (!facts)
        return pack_fail_memory(err, "facts");
    enum pack_status status = pack_facts_read(listing->file, path, facts, err);
    if (status == PACK_OK)
        status = open_grid(listing, path, facts, n_max, err);
    free(facts);
    return status;
}

enum pack_status
pack_h5_chunks_list(const char *file, const char *path, const struct pack_facts *facts,
                    uint64_t n_max, const struct pack_watch *watch,
                    struct pack_chunkindex *index, struct pack_error *err)
{
    struct listing listing = { .file = -1, .set = -1, .watch = watch };
    struct pack_h5_count count = { .context = &listing.noted, .on_read = note_read };
    enum pack_status status = pack_h5_open(file, &count, &listing.file, err);
    if (status)
        return status;
    if (count.is_cut)
        listing.end = UINT64_C(1) << 62; /* behind any end */
    status = read_grid(&listing, path, facts, n_max ? n_max : N_MAX_DEFAULT, err);
    if (!status)
        status = list(&listing, path, err);
    if (listing.set >= 0)
        H5Dclose(listing.set);
    pack_h5_close(listing.file);
    if (status) {
        free(listing.index.chunks);
        return pack_error_prefix(err, status, "'%s'", file);
    }
    *index = listing.index;
    return PACK_OK;
}

enum pack_status
pack_chunkindex_read(const char *file, const char *path, uint64_t n_max,
                     struct pack_chunkindex *index, struct pack_error *err)
{
    if (!file || !path || !index)
        return pack_check_given(err, "file", file, "path", path, "index", index, NULL);
    return pack_h5_chunks_list(file, path, NULL, n_max, NULL, index, err);
}

void
pack_chunkindex_done(struct pack_chunkindex *index)
{
    if (!index)
        return;
    free(index->chunks);
    *index = (struct pack_chunkindex){ 0 };
}
