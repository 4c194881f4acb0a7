/*
 *     places: stored chunks by address ──batches──▶ threads: gather, read, decode ──▶ faults
 *
 * In order of address, neighbours are read at once, and chunks that share bytes follow each
 * other. Batches come back in the order of submission, so that what is told does not depend
 * on the number of threads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/audit/verify_parts.h"
#include "libpack/base/large.h"
#include "libpack/base/pool.h"
#include "libpack/base/size.h"
#include "libpack/model/grid.h"
#include "libpack/reader/chunkload.h"

enum { BATCH_CHUNKS = 32, BATCH_BYTES = 4 << 20 };

struct place {
    uint64_t address, number; /* number: of all chunks of the rowmap */
};

/* What a thread has. */
struct hand {
    struct pack_chunkload load;
    unsigned char *out; /* a decoded chunk */
};

struct job {
    struct pack_verify_run *run;
    const struct pack_rowmap *rows;
    const struct pack_rowmap_file *file;
    struct place *places;
    uint64_t n;
    unsigned char *faults; /* of each place */
    struct hand *hands;
    unsigned n_hands;
};

struct batch {
    const struct job *job;
    uint64_t first, n, bytes;
    char *why[BATCH_CHUNKS]; /* NULL: no memory for it */
};

static enum pack_chunk_kind
chunk_at(const struct job *job, uint64_t i, struct pack_chunk *chunk)
{
    const struct pack_rowmap_file *file;
    enum pack_chunk_kind kind =
        pack_rowmap_chunk(job->rows, job->places[i].number, &file, chunk);
    const struct pack_chunkmap *map = file->map;
    if (map->facts.layout == PACK_LAYOUT_CONTIGUOUS) { /* the last may be shorter */
        uint64_t begin = chunk->number * map->grid.chunk_bytes;
        uint64_t left = map->facts.logical_bytes - begin;
        if (chunk->stored_bytes > left)
            chunk->stored_bytes = left;
    }
    return kind;
}

/* ------------------------------------------------------------- in the threads */

/* Reads neighbours of chunk i that come before `end` together with it. */
static void
gather(const struct job *job, struct hand *hand, uint64_t i, uint64_t end)
{
    struct pack_chunk chunk;
    chunk_at(job, i, &chunk);
    uint64_t begin = chunk.address_bytes, past = begin, n = 0;
    if (pack_chunkload_has(&hand->load, &chunk))
        return;
    for (; i < end; i++, n++) {
        chunk_at(job, i, &chunk);
        uint64_t after;
        if (!pack_size_add(chunk.address_bytes, chunk.stored_bytes, &after) ||
            after > job->file->fetch.size_bytes ||
            chunk.address_bytes > past + PACK_CHUNKLOAD_GAP_BYTES ||
            after - begin > PACK_CHUNKLOAD_SPAN_BYTES)
            break;
        past = after > past ? after : past;
    }
    if (n > 1)
        pack_chunkload_gather(&hand->load, begin, past - begin);
}

static enum pack_status
read_raw(struct hand *hand, const struct pack_chunk *chunk, struct pack_error *err)
{
    struct pack_chunkload *load = &hand->load;
    struct pack_chunk whole = *chunk;
    enum pack_status status = PACK_OK;
    const void *data;
    whole.stored_bytes = load->map->grid.chunk_bytes;
    for (uint64_t at = 0, n; at < chunk->stored_bytes && status == PACK_OK; at += n) {
        n = chunk->stored_bytes - at;
        n = n < PACK_CHUNKLOAD_SPAN_BYTES ? n : PACK_CHUNKLOAD_SPAN_BYTES;
        status = pack_chunkload_view(load, PACK_CHUNK_RAW, &whole, at, (size_t)n, load->room,
                                     &data, err);
    }
    return status;
}

/* Not known, for there was no memory to find out: it may be good. */
static const enum pack_verify_fault UNKNOWN = PACK_VERIFY_FAULTS;

static enum pack_verify_fault
check_chunk(const struct job *job, struct hand *hand, uint64_t i, struct pack_error *err)
{
    const struct pack_chunkmap *map = job->file->map;
    struct pack_chunk chunk;
    enum pack_chunk_kind kind = chunk_at(job, i, &chunk);
    uint64_t after;
    bool is_raw = kind == PACK_CHUNK_RAW;
    if (!pack_size_add(chunk.address_bytes, chunk.stored_bytes, &after) ||
        after > map->file.size_bytes) {
        if (chunk.stored_bytes == 0)
            pack_fail(err, PACK_ERR_FORMAT,
                      "the part of the index that says where it lies was cut off");
        else
            pack_fail(err, PACK_ERR_FORMAT,
                      "%" PRIu64 " bytes at %" PRIu64
                      " reach beyond the end of the file at %" PRIu64,
                  chunk.stored_bytes, chunk.address_bytes, map->file.size_bytes);
        return PACK_VERIFY_BEYOND;
    }
    if (is_raw && map->facts.layout == PACK_LAYOUT_CHUNKED &&
        chunk.stored_bytes != map->grid.chunk_bytes) {
        pack_fail(err, PACK_ERR_FORMAT, "%" PRIu64 " bytes are stored instead of %" PRIu64,
                  chunk.stored_bytes, map->grid.chunk_bytes);
        return PACK_VERIFY_SIZE;
    }
    if (is_raw && pack_chunkload_has(&hand->load, &chunk))
        return PACK_VERIFY_GOOD;
    enum pack_status status = is_raw
                                  ? read_raw(hand, &chunk, err)
                                  : pack_chunkload_decode(&hand->load, &chunk, hand->out, err);
    return status == PACK_OK                            ? PACK_VERIFY_GOOD
           : status == PACK_ERR_MEMORY                  ? UNKNOWN
           : chunk.stored_bytes > hand->load.room_bytes ? PACK_VERIFY_SIZE
           : status == PACK_ERR_IO || status == PACK_ERR_CHANGED
               ? PACK_VERIFY_READING
               : PACK_VERIFY_DECODING;
}

static void
work(void *item, unsigned worker, void *context)
{
    struct batch *b = item;
    const struct job *job = context;
    struct hand *hand = &job->hands[worker];
    for (uint64_t i = b->first; i < b->first + b->n; i++) {
        struct pack_error why = { .text = "" };
        gather(job, hand, i, b->first + b->n);
        job->faults[i] = (unsigned char)check_chunk(job, hand, i, &why);
        b->why[i - b->first] = job->faults[i] ? strdup(why.text) : NULL;
    }
}

/* ------------------------------------------------------------------- telling */

static enum pack_status
tell(const struct job *job, uint64_t i, enum pack_verify_fault fault, const char *why,
     struct pack_error *err)
{
    const struct pack_grid *grid = &job->file->map->grid;
    const struct pack_rowmap_part *part =
        pack_rowmap_part(job->rows, job->places[i].number);
    struct pack_chunk chunk;
    chunk_at(job, i, &chunk);
    uint64_t coords[PACK_RANK_MAX];
    struct pack_verify_bad bad = { .fault = fault,
                                   .filter_mask = chunk.filter_mask,
                                   .address_bytes = chunk.address_bytes,
                                   .stored_bytes = chunk.stored_bytes,
                                   .rank = grid->rank,
                                   .coords = coords };
    pack_grid_coords(grid, chunk.number, coords);
    uint64_t first = coords[0] * grid->chunk[0], end = part->file_row + part->n_rows;
    uint64_t last = grid->chunk[0] < end - first ? first + grid->chunk[0] : end;
    first = first > part->file_row ? first : part->file_row;
    bad.first_row = first - part->file_row + part->first_row;
    bad.n_rows = last - first;
    return pack_verify_tell(job->run, &bad, why, err);
}

static enum pack_status
tell_batch(struct batch *b, enum pack_status status, struct pack_error *err)
{
    for (uint64_t i = 0; i < b->n; i++) {
        enum pack_verify_fault fault = (enum pack_verify_fault)b->job->faults[b->first + i];
        const char *why = b->why[i] ? b->why[i] : "";
        if (fault && status == PACK_OK)
            status = fault == UNKNOWN ? pack_fail(err, PACK_ERR_LIMIT, "%s", why)
                                      : tell(b->job, b->first + i, fault, why, err);
        free(b->why[i]);
    }
    return status;
}

/* Each of two that decode, and of whose bytes some are the same, for it cannot be known whose
 * they are. */
static enum pack_status
tell_overlap(struct job *job, uint64_t i, const struct pack_chunk *other,
             struct pack_error *err)
{
    char why[128];
    if (job->faults[i])
        return PACK_OK;
    job->faults[i] = PACK_VERIFY_OVERLAP;
    snprintf(why, sizeof why,
             "shares bytes with the chunk of %" PRIu64 " bytes at %" PRIu64,
             other->stored_bytes, other->address_bytes);
    return tell(job, i, PACK_VERIFY_OVERLAP, why, err);
}

static enum pack_status
tell_overlaps(struct job *job, struct pack_error *err)
{
    struct pack_chunk widest = { .stored_bytes = 0 }, chunk;
    uint64_t holder = 0;
    enum pack_status status = PACK_OK;
    for (uint64_t i = 0; i < job->n && status == PACK_OK; i++) {
        chunk_at(job, i, &chunk);
        if (job->faults[i] && job->faults[i] != PACK_VERIFY_OVERLAP)
            continue;
        uint64_t end = widest.address_bytes + widest.stored_bytes;
        if (chunk.address_bytes < end && chunk.number != widest.number &&
            chunk.stored_bytes > 0) {
            status = tell_overlap(job, holder, &chunk, err);
            if (status == PACK_OK)
                status = tell_overlap(job, i, &widest, err);
        }
        if (chunk.address_bytes + chunk.stored_bytes > end) {
            widest = chunk;
            holder = i;
        }
    }
    return status;
}

/* Bits of filters that there are not, at which HDF5 does not look. All of them are set by who
 * wrote the chunk as "no filters at all", which is no damage. */
static enum pack_status
tell_masks(struct job *job, struct pack_error *err)
{
    int n = job->file->map->facts.pipeline.n;
    const uint64_t all = (uint64_t)UINT32_MAX >> n;
    enum pack_status status = PACK_OK;
    struct pack_chunk chunk;
    for (uint64_t i = 0; i < job->n && status == PACK_OK; i++) {
        chunk_at(job, i, &chunk);
        uint64_t beyond = (uint64_t)chunk.filter_mask >> n;
        job->run->set->n_masked += chunk.filter_mask != 0;
        if (job->faults[i] || beyond == 0 || beyond == all)
            continue;
        job->faults[i] = PACK_VERIFY_MASK;
        status = tell(job, i, PACK_VERIFY_MASK,
                      "its mask leaves out filters that the dataset does not have", err);
    }
    return status;
}

/* ---------------------------------------------------------------- the whole */

static int
compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static uint64_t
count_places(const struct job *job, struct place *places)
{
    const struct pack_rowmap_file *file;
    struct pack_chunk chunk;
    uint64_t n = 0;
    for (size_t p = 0; p < job->rows->n_parts; p++) {
        const struct pack_rowmap_part *part = &job->rows->parts[p];
        if (&job->rows->files[part->file] != job->file)
            continue;
        for (uint64_t i = part->first_chunk; i < part->first_chunk + part->n_chunks; i++) {
            enum pack_chunk_kind kind = pack_rowmap_chunk(job->rows, i, &file, &chunk);
            if (kind != PACK_CHUNK_RAW && kind != PACK_CHUNK_CODED)
                continue;
            if (places)
                places[n] = (struct place){ chunk.address_bytes, i };
            n++;
        }
    }
    return n;
}

static enum pack_status
list_places(struct job *job, struct pack_error *err)
{
    bool is_sorted = true;
    job->n = count_places(job, NULL);
    job->places = calloc((size_t)job->n + 1, sizeof *job->places);
    job->faults = calloc((size_t)job->n + 1, 1);
    if (!job->places || !job->faults)
        return pack_fail_memory(err, "the list of chunks");
    count_places(job, job->places);
    for (uint64_t i = 1; i < job->n && is_sorted; i++)
        is_sorted = compare_places(&job->places[i - 1], &job->places[i]) < 0;
    if (!is_sorted)
        qsort(job->places, (size_t)job->n, sizeof *job->places, compare_places);
    return PACK_OK;
}

/* As many as were asked for, and as the memory allows. */
static enum pack_status
open_hands(struct job *job, struct pack_error *err)
{
    const struct pack_verify_params *p = job->run->params;
    const struct pack_chunkmap *map = job->file->map;
    uint64_t one = pack_chunkload_bytes(map), most = p->memory_bytes;
    uint64_t n = p->n_threads ? p->n_threads : pack_pool_default_threads();
    uint64_t out = map->n_coded ? map->grid.chunk_bytes : 0;
    most = most ? most : UINT64_C(1) << 30;
    if (!pack_size_add(one, out, &one) || one > most)
        return pack_fail_param(err, PACK_ERR_LIMIT, "memory_bytes",
                               "a chunk takes %" PRIu64 " bytes to be read and decoded, of "
                               "%" PRIu64 " that are allowed",
                               one, most);
    n = n < most / one ? n : most / one;
    n = n < PACK_POOL_THREADS_MAX ? n : PACK_POOL_THREADS_MAX;
    job->hands = calloc((size_t)n, sizeof *job->hands);
    if (!job->hands)
        return pack_fail_memory(err, "threads that read");
    for (; job->n_hands < n; job->n_hands++) {
        struct hand *hand = &job->hands[job->n_hands];
        enum pack_status status =
            pack_chunkload_init(&hand->load, map, &job->file->fetch, err);
        if (status != PACK_OK)
            return status;
        hand->out = out ? pack_large_alloc((size_t)out) : NULL;
        if (out && !hand->out) {
            pack_chunkload_done(&hand->load);
            return pack_fail_memory(err, "room for a chunk");
        }
    }
    return PACK_OK;
}

/* The next chunks, not too many bytes of them. */
static void
fill_batch(const struct job *job, struct batch *b, uint64_t first)
{
    uint64_t bytes = 0;
    struct pack_chunk chunk;
    *b = (struct batch){ .job = job, .first = first };
    while (b->n < BATCH_CHUNKS && first + b->n < job->n && bytes < BATCH_BYTES) {
        chunk_at(job, first + b->n, &chunk);
        bytes += chunk.stored_bytes < BATCH_BYTES ? chunk.stored_bytes : BATCH_BYTES;
        b->bytes += chunk.stored_bytes;
        b->n++;
    }
}

static enum pack_status
run_batches(struct job *job, struct batch *batches, size_t n, struct pack_error *err)
{
    const struct pack_pool_lane lane = { work, job, n };
    struct pack_pool *pool;
    struct batch *b;
    uint64_t next = 0, turn = 0;
    enum pack_status status = pack_pool_new(job->n_hands, &lane, 1, &pool, err);
    if (status != PACK_OK)
        return status;
    do {
        for (; status == PACK_OK && next < job->n && pack_pool_has_room(pool, 0); turn++) {
            b = &batches[turn % n];
            fill_batch(job, b, next);
            next += b->n;
            pack_pool_submit(pool, 0, b);
        }
        b = pack_pool_next(pool, 0);
        if (b) {
            status = tell_batch(b, status, err);
            job->run->set->stored_bytes += b->bytes;
            pack_verify_progress(job->run, b->bytes);
        }
        if (status == PACK_OK)
            status = pack_watch_check(&job->run->params->watch, err);
    } while (b);
    pack_pool_free(pool);
    return status;
}

enum pack_status
pack_verify_chunks(struct pack_verify_run *run, const struct pack_rowmap *rows, size_t file,
                   struct pack_error *err)
{
    struct job job = { .run = run, .rows = rows, .file = &rows->files[file] };
    struct batch *batches = NULL;
    enum pack_status status = list_places(&job, err);
    run->set->n_stored += job.n;
    if (status == PACK_OK && job.n > 0)
        status = open_hands(&job, err);
    size_t n = 3 * (size_t)job.n_hands + 1;
    if (status == PACK_OK && job.n > 0 && !(batches = calloc(n, sizeof *batches)))
        status = pack_fail_memory(err, "batches of chunks");
    if (status == PACK_OK && job.n > 0)
        status = run_batches(&job, batches, n, err);
    if (status == PACK_OK)
        status = tell_overlaps(&job, err);
    if (status == PACK_OK)
        status = tell_masks(&job, err);
    for (unsigned i = 0; i < job.n_hands; i++) {
        pack_chunkload_done(&job.hands[i].load);
        free(job.hands[i].out);
    }
    free(batches);
    free(job.hands);
    free(job.faults);
    free(job.places);
    return status;
}
