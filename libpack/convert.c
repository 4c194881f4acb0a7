/*
 * Packing, from the caller's thread:
 *
 *     samples (lane 0, many threads) ──▶ block being filled ──▶ encode (lane 1, many)
 *                                                                  │ in order
 *     journal ◀── entry of the block ◀── writer ◀──────────────────┘
 *
 * Results of both lanes come back in order, so the file does not depend on how many
 * threads there are. What happened to each record, packed or not, is put down once in a
 * sample_record; accounting starts from it both when it is new and when it comes out of
 * the journal of an interrupted run. A block's journal entry holds the records since the
 * block before and where its chunks are. It is appended only after their bytes were
 * handed to the system, so whatever a journal says is there.
 */
#include "libpack/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/checksum.h"
#include "libpack/clock.h"
#include "libpack/convert_private.h"
#include "libpack/journal.h"
#include "libpack/outfile.h"

enum { LANE_SAMPLES, LANE_ENCODE, N_LANES };
enum { ENTRY_BLOCK = 1 };
enum {
    RECORD_WARNED = 1,
    RECORD_ICC = 2,
    RECORD_ALPHA = 4,
    RECORD_ORIENTED = 8,
    RECORD_ANIMATED = 16
};

/* What became of one record of the source. In the journal as it is in memory: a run is
 * resumed on the machine, and with the program, that it was started with. */
struct sample_record {
    uint64_t index;
    uint64_t file_bytes;
    int64_t file_mtime_ns;
    uint64_t sum[3], sumsq[3];
    uint32_t width, height; /* of the source image, upright */
    uint32_t flags;
    uint16_t outcome;      /* enum pack_sample_outcome */
    uint16_t reason_bytes; /* of the text behind the record, padded to 8 */
};

struct chunk_record {
    uint64_t address, stored_bytes;
    uint64_t pixel_checksum, stored_checksum;
    uint32_t filter_mask, unused;
};

struct block_head {
    uint64_t number;
    uint32_t n_records, n_chunks;
};

/* Samples on their way into the file. */
struct block {
    uint64_t number, n_samples;
    uint8_t *pixels; /* block_samples samples */
    uint32_t n_records;
    struct pack_buf records;     /* sample_records and reasons */
    struct chunk_record *chunks; /* chunks_per_block */
    const uint8_t **stored;      /* their bytes: in `pixels` or in `encoded` */
    struct pack_buf encoded;
    enum pack_status status; /* of encoding */
    struct pack_error err;
};

/* What a thread needs to encode. */
struct encoder {
    struct pack_filter_ctx *ctx;
    uint8_t *chunk; /* one chunk, cut out of a block */
};

struct run {
    const struct pack_convert_params *params;
    struct pack_convert_result *result;
    struct pack_convert_plan plan;
    struct pack_error *err;
    uint64_t start_ns;

    struct pack_outfile *out;
    struct pack_writer *writer;
    struct pack_writer_dataset *images;
    struct pack_journal *journal;
    struct pack_buf identity;
    struct pack_buf entry; /* a journal entry being put together */

    struct pack_samples *samples;
    struct pack_pool *pool;
    struct encoder *encoders;
    struct block *blocks;
    uint64_t next_block;  /* number of the block that is being filled */
    uint64_t next_record; /* first one that no journal entry covers */
    bool replaying;       /* the journal was found to be of this job */
    bool stuck;           /* going on from here would end here again */
    int part_fd;          /* the partial file, for reading back while resuming */

    struct pack_buf rows;      /* uint64_t: record of each packed sample */
    struct pack_buf sizes;     /* int32_t[2]: height and width of its source */
    struct pack_buf checksums; /* uint64_t per chunk, of its pixels */
    struct pack_buf valid;     /* uint8_t, with PACK_ON_ERROR_BLANK */
    unsigned __int128 sum[3], sumsq[3];
};

/* -------------------------------------------------------------- accounting */

static enum pack_status
tell_reject(struct run *run, uint64_t index, const char *reason)
{
    const struct pack_convert_params *params = run->params;
    struct pack_reject reject = { index, params->source->records[index].name, reason };
    run->result->n_rejected++;
    if (params->options.on_error == PACK_ON_ERROR_FAIL) {
        pack_fail(run->err, PACK_ERR_FORMAT, "%s", reason);
        return pack_convert_name_record(params->source, index, PACK_ERR_FORMAT, run->err);
    }
    if (params->on_reject && !params->on_reject(params->context, &reject))
        return pack_fail(run->err, PACK_ERR_IO, "cannot write the list of rejects");
    return PACK_OK;
}

/* Adds a record to everything that is known of the file so far. */
static enum pack_status
account(struct run *run, const struct sample_record *record, const char *reason)
{
    struct pack_convert_result *result = run->result;
    bool blank = run->params->options.on_error == PACK_ON_ERROR_BLANK;
    bool ready = record->outcome == PACK_SAMPLE_READY;
    int32_t size[2] = { (int32_t)record->height, (int32_t)record->width };
    uint8_t valid = ready;
    enum pack_status status = PACK_OK;
    if (!ready) {
        status = tell_reject(run, record->index, reason);
        if (status != PACK_OK || !blank)
            return status;
        result->n_blank++;
    }
    result->n_packed++;
    result->n_warned += !!(record->flags & RECORD_WARNED);
    result->n_icc += !!(record->flags & RECORD_ICC);
    result->n_alpha += !!(record->flags & RECORD_ALPHA);
    result->n_oriented += !!(record->flags & RECORD_ORIENTED);
    result->n_animated += !!(record->flags & RECORD_ANIMATED);
    for (int c = 0; c < 3; c++) {
        run->sum[c] += record->sum[c];
        run->sumsq[c] += record->sumsq[c];
    }
    status = pack_buf_append(&run->rows, &record->index, sizeof record->index, run->err);
    if (status == PACK_OK)
        status = pack_buf_append(&run->sizes, size, sizeof size, run->err);
    if (status == PACK_OK && blank)
        status = pack_buf_append(&run->valid, &valid, sizeof valid, run->err);
    return status;
}

static struct sample_record
make_record(const struct pack_sample *sample)
{
    struct sample_record record = {
        .index = sample->index,
        .file_bytes = sample->file_bytes,
        .file_mtime_ns = sample->file_mtime_ns,
        .outcome = (uint16_t)sample->outcome,
    };
    const struct pack_image_info *info = &sample->info;
    if (sample->outcome != PACK_SAMPLE_READY) {
        record.reason_bytes = (uint16_t)(strlen(sample->reason) + 1);
        return record;
    }
    record.width = info->width;
    record.height = info->height;
    record.flags = (info->n_warnings ? RECORD_WARNED : 0u) |
                   (info->has_icc ? RECORD_ICC : 0u) |
                   (info->has_alpha ? RECORD_ALPHA : 0u) |
                   (info->orientation > 1 ? RECORD_ORIENTED : 0u) |
                   (info->animated ? RECORD_ANIMATED : 0u);
    memcpy(record.sum, sample->sum, sizeof record.sum);
    memcpy(record.sumsq, sample->sumsq, sizeof record.sumsq);
    return record;
}

static size_t
padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* ---------------------------------------------------------------- encoding */

/*
 * Cuts chunk k out of a block, zeros outside the sample: a block of A x d0 x d1 x d2
 * elements, the missing axes being 1, holds ceil(d0/c0) x ceil(d1/c1) x ceil(d2/c2)
 * chunks of A x c0 x c1 x c2.
 */
static void
cut_chunk(const struct pack_convert_plan *plan, const uint8_t *block, uint64_t k,
          uint8_t *chunk)
{
    uint64_t d[3] = { 1, 1, 1 }, c[3] = { 1, 1, 1 }, at[3], n[3];
    for (int i = 0; i < plan->sample.rank; i++) {
        d[3 - plan->sample.rank + i] = plan->sample.extent[i];
        c[3 - plan->sample.rank + i] = plan->chunk.extent[i + 1];
    }
    for (int i = 2; i >= 0; i--) {
        uint64_t count = (d[i] + c[i] - 1) / c[i];
        at[i] = k % count * c[i];
        n[i] = d[i] - at[i] < c[i] ? d[i] - at[i] : c[i];
        k /= count;
    }
    memset(chunk, 0, plan->chunk_bytes);
    for (uint64_t a = 0; a < plan->block_samples; a++)
        for (uint64_t i = 0; i < n[0]; i++)
            for (uint64_t j = 0; j < n[1]; j++)
                memcpy(chunk + ((a * c[0] + i) * c[1] + j) * c[2],
                       block + ((a * d[0] + at[0] + i) * d[1] + at[1] + j) * d[2] + at[2],
                       n[2]);
}

static enum pack_status
encode_chunk(const struct run *run, struct encoder *encoder, struct block *block,
             uint64_t k)
{
    const struct pack_convert_plan *plan = &run->plan;
    struct chunk_record *record = &block->chunks[k];
    const uint8_t *pixels = block->pixels;
    const void *stored;
    size_t stored_bytes;
    if (!plan->whole) {
        cut_chunk(plan, block->pixels, k, encoder->chunk);
        pixels = encoder->chunk;
    }
    *record = (struct chunk_record){ .pixel_checksum =
                                         pack_checksum(pixels, plan->chunk_bytes, 0) };
    enum pack_status status = pack_pipeline_encode(
        &run->params->options.pipeline, encoder->ctx, pixels, plan->chunk_bytes, &stored,
        &stored_bytes, &record->filter_mask, &block->err);
    if (status != PACK_OK)
        return status;
    record->stored_bytes = stored_bytes;
    record->stored_checksum = stored == pixels ? record->pixel_checksum
                                               : pack_checksum(stored, stored_bytes, 0);
    block->stored[k] = NULL; /* in `encoded`, which may still move */
    if (stored == block->pixels)
        block->stored[k] = block->pixels;
    else
        status = pack_buf_append(&block->encoded, stored, stored_bytes, &block->err);
    return status;
}

static void
encode(void *item, unsigned worker, void *context)
{
    const struct run *run = context;
    struct block *block = item;
    const struct pack_convert_plan *plan = &run->plan;
    uint64_t used = block->n_samples * plan->sample_bytes;
    memset(block->pixels + used, 0, plan->block_bytes - used);
    block->encoded.size = 0;
    block->status = PACK_OK;
    for (uint64_t k = 0; k < plan->chunks_per_block && block->status == PACK_OK; k++)
        block->status = encode_chunk(run, &run->encoders[worker], block, k);
    const uint8_t *next = block->encoded.data;
    for (uint64_t k = 0; k < plan->chunks_per_block && block->status == PACK_OK; k++)
        if (!block->stored[k]) {
            block->stored[k] = next;
            next += block->chunks[k].stored_bytes;
        }
}

/* ------------------------------------------------------------------ blocks */

static struct block *
block_at(struct run *run, uint64_t number)
{
    return &run->blocks[number % run->plan.n_blocks];
}

/* Appends a journal entry: head, sample records, chunk records. */
static enum pack_status
put_down(struct run *run, const struct block *block, uint32_t n_chunks)
{
    struct block_head head = { block->number, block->n_records, n_chunks };
    run->entry.size = 0;
    enum pack_status status = pack_buf_append(&run->entry, &head, sizeof head, run->err);
    if (status == PACK_OK)
        status = pack_buf_append(&run->entry, block->records.data, block->records.size,
                                 run->err);
    if (status == PACK_OK)
        status = pack_buf_append(&run->entry, block->chunks,
                                 n_chunks * sizeof *block->chunks, run->err);
    if (status == PACK_OK)
        status = pack_journal_append(run->journal, ENTRY_BLOCK, run->entry.data,
                                     run->entry.size, run->err);
    if (status == PACK_OK)
        status = pack_journal_flush(run->journal, run->err);
    if (status == PACK_OK)
        run->result->n_saved += block->n_records;
    return status;
}

static enum pack_status
write_block(struct run *run, struct block *block)
{
    enum pack_status status = block->status;
    uint64_t first = block->number * run->plan.chunks_per_block;
    if (status != PACK_OK) {
        if (run->err)
            *run->err = block->err;
        return status;
    }
    for (uint64_t k = 0; k < run->plan.chunks_per_block && status == PACK_OK; k++) {
        struct chunk_record *record = &block->chunks[k];
        status = pack_writer_chunk(run->images, first + k, block->stored[k],
                                   record->stored_bytes, record->filter_mask,
                                   &record->address, run->err);
        run->result->stored_bytes += record->stored_bytes;
        if (status == PACK_OK)
            status = pack_buf_append(&run->checksums, &record->pixel_checksum,
                                     sizeof record->pixel_checksum, run->err);
    }
    if (status == PACK_OK)
        status = put_down(run, block, (uint32_t)run->plan.chunks_per_block);
    return status;
}

/* Empties the block that is to be filled next. */
static struct block *
begin_block(struct run *run)
{
    struct block *block = block_at(run, run->next_block);
    block->number = run->next_block;
    block->n_samples = 0;
    block->n_records = 0;
    block->records.size = 0;
    return block;
}

/* Hands the filled block to the encoders and makes room for the next. */
static enum pack_status
end_block(struct run *run, struct block **block)
{
    struct block *finished;
    enum pack_status status = PACK_OK;
    pack_pool_submit(run->pool, LANE_ENCODE, *block);
    run->next_block++;
    while (status == PACK_OK &&
           (finished = pack_pool_has_room(run->pool, LANE_ENCODE)
                           ? pack_pool_try_next(run->pool, LANE_ENCODE)
                           : pack_pool_next(run->pool, LANE_ENCODE)))
        status = write_block(run, finished);
    if (status == PACK_OK)
        *block = begin_block(run);
    return status;
}

static enum pack_status
add_sample(struct run *run, struct block *block, const struct pack_sample *sample)
{
    static const uint8_t zeros[8];
    struct sample_record record = make_record(sample);
    size_t reason = record.reason_bytes;
    enum pack_status status = account(run, &record, sample->reason);
    if (status == PACK_OK)
        status = pack_buf_append(&block->records, &record, sizeof record, run->err);
    if (status == PACK_OK)
        status = pack_buf_append(&block->records, sample->reason, reason, run->err);
    if (status == PACK_OK)
        status =
            pack_buf_append(&block->records, zeros, padded(reason) - reason, run->err);
    if (status != PACK_OK)
        return status;
    block->n_records++;
    uint8_t *place = block->pixels + block->n_samples * run->plan.sample_bytes;
    if (sample->outcome == PACK_SAMPLE_READY)
        memcpy(place, sample->pixels, run->plan.sample_bytes);
    else if (run->params->options.on_error == PACK_ON_ERROR_BLANK)
        memset(place, 0, run->plan.sample_bytes);
    else
        return PACK_OK;
    block->n_samples++;
    return PACK_OK;
}

static enum pack_status
pack_all(struct run *run)
{
    const struct pack_convert_params *params = run->params;
    const struct pack_sample *sample;
    struct block *block = begin_block(run), *finished;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && (sample = pack_samples_next(run->samples))) {
        run->result->source_bytes += sample->file_bytes;
        if (sample->outcome == PACK_SAMPLE_FAILED) {
            pack_fail(run->err, sample->status, "%s", sample->reason);
            return pack_convert_name_record(params->source, sample->index, sample->status,
                                            run->err);
        }
        status = add_sample(run, block, sample);
        if (status == PACK_OK && block->n_samples == run->plan.block_samples)
            status = end_block(run, &block);
        pack_convert_tell(params, "packing", sample->index + 1, params->source->n_records,
                          run->result->n_packed * run->plan.sample_bytes);
        if (status == PACK_OK && pack_convert_stopped(params))
            status = pack_convert_interrupted(run->err);
    }
    if (status == PACK_OK && block->n_samples > 0)
        status = end_block(run, &block);
    while (status == PACK_OK && (finished = pack_pool_next(run->pool, LANE_ENCODE)))
        status = write_block(run, finished);
    if (status == PACK_OK && block->n_records > 0) /* rejects behind the last block */
        status = put_down(run, block, 0);
    return status;
}

/* ---------------------------------------------------------------- resuming */

/* Size and time of change of a record's file, 0 and 0 when it cannot be opened. */
static enum pack_status
look_at_source(struct run *run, uint64_t index, uint64_t *bytes, int64_t *mtime_ns)
{
    struct stat st;
    int fd;
    *bytes = 0;
    *mtime_ns = 0;
    enum pack_status status =
        pack_source_open_file(run->params->source, index, &fd, run->err);
    if (status != PACK_OK)
        return status;
    if (fstat(fd, &st) == 0) {
        *bytes = (uint64_t)st.st_size;
        *mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    }
    close(fd);
    return PACK_OK;
}

/* PACK_ERR_CHANGED when the file is not the one that was packed, or rejected. */
static enum pack_status
check_source(struct run *run, const struct sample_record *record)
{
    uint64_t bytes;
    int64_t mtime_ns;
    enum pack_status status = look_at_source(run, record->index, &bytes, &mtime_ns);
    bool same =
        bytes == record->file_bytes && (mtime_ns == record->file_mtime_ns || bytes == 0);
    if (same && (status == PACK_OK || record->outcome == PACK_SAMPLE_REJECTED))
        return PACK_OK;
    if (status == PACK_OK)
        status = pack_fail(run->err, PACK_ERR_CHANGED,
                           "its size or time of change differs; --force starts again");
    run->stuck = status == PACK_ERR_CHANGED || status == PACK_ERR_NOT_FOUND;
    pack_error_prefix(run->err, status, "not as the interrupted run read it");
    return pack_convert_name_record(run->params->source, record->index, status, run->err);
}

/*
 * Whether the partial file still holds a chunk's bytes: after a crash of the machine it
 * may not. PACK_ERR_MISMATCH when it does not.
 */
static enum pack_status
check_chunk(struct run *run, const struct chunk_record *record)
{
    size_t size = record->stored_bytes, got = 0;
    if (record->stored_bytes >
        pack_pipeline_bound(&run->params->options.pipeline, run->plan.chunk_bytes))
        return PACK_ERR_MISMATCH;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        return pack_fail_memory(run->err, "a chunk of the interrupted run");
    while (got < size) { /* one call reads 2 GiB at most */
        ssize_t n =
            pread(run->part_fd, bytes + got, size - got, (off_t)(record->address + got));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    bool same = got == size && pack_checksum(bytes, size, 0) == record->stored_checksum;
    free(bytes);
    return same ? PACK_OK : PACK_ERR_MISMATCH;
}

static enum pack_status
replay_chunks(struct run *run, uint64_t number, const struct chunk_record *chunks)
{
    enum pack_status status = PACK_OK;
    for (uint64_t k = 0; k < run->plan.chunks_per_block && status == PACK_OK; k++) {
        status = pack_writer_chunk_replayed(
            run->images, number * run->plan.chunks_per_block + k, chunks[k].stored_bytes,
            chunks[k].filter_mask, chunks[k].address, run->err);
        run->result->stored_bytes += chunks[k].stored_bytes;
        if (status == PACK_OK)
            status = pack_buf_append(&run->checksums, &chunks[k].pixel_checksum,
                                     sizeof chunks[k].pixel_checksum, run->err);
    }
    return status;
}

/* The reason behind a record, or NULL when the entry is too short for it. */
static const char *
read_record(const uint8_t **at, const uint8_t *end, struct sample_record *record)
{
    if ((size_t)(end - *at) < sizeof *record)
        return NULL;
    memcpy(record, *at, sizeof *record);
    *at += sizeof *record;
    const char *reason = (const char *)*at;
    size_t bytes = record->reason_bytes;
    if ((size_t)(end - *at) < padded(bytes) || (bytes && reason[bytes - 1] != '\0'))
        return NULL;
    *at += padded(bytes);
    return bytes ? reason : "";
}

/* A journal entry, taken apart. */
struct entry {
    struct block_head head;
    const uint8_t *records;
    const struct chunk_record *chunks; /* behind the records, to the end of the entry */
};

static bool
read_entry(const void *payload, size_t size, struct entry *entry)
{
    struct block_head *head = &entry->head;
    if (size < sizeof *head || size % _Alignof(struct chunk_record) != 0)
        return false;
    memcpy(head, payload, sizeof *head);
    size_t rest = size - sizeof *head;
    if (rest / sizeof *entry->chunks < head->n_chunks)
        return false;
    entry->records = (const uint8_t *)payload + sizeof *head;
    entry->chunks =
        (const void *)(entry->records + rest - head->n_chunks * sizeof *entry->chunks);
    return true;
}

/* Whether an entry continues the run: its records are the next ones and fill its chunks.
 */
static bool
continues(const struct run *run, const struct entry *entry)
{
    const struct pack_convert_plan *plan = &run->plan;
    const uint64_t n_source = run->params->source->n_records;
    const uint8_t *at = entry->records, *end = (const uint8_t *)entry->chunks;
    bool blank = run->params->options.on_error == PACK_ON_ERROR_BLANK;
    struct sample_record record;
    uint64_t next = run->next_record, n_samples = 0;
    for (uint32_t i = 0; i < entry->head.n_records; i++, next++) {
        if (next >= n_source || !read_record(&at, end, &record) || record.index != next ||
            record.outcome > PACK_SAMPLE_REJECTED)
            return false;
        n_samples += blank || record.outcome == PACK_SAMPLE_READY;
    }
    if (at != end || entry->head.number != run->next_block)
        return false;
    if (entry->head.n_chunks == 0)
        return n_samples == 0 && next == n_source;
    return entry->head.n_chunks == plan->chunks_per_block &&
           (n_samples == plan->block_samples ||
            (n_samples > 0 && n_samples < plan->block_samples && next == n_source));
}

static enum pack_status
replay_records(struct run *run, const struct entry *entry)
{
    const uint8_t *at = entry->records, *end = (const uint8_t *)entry->chunks;
    struct sample_record record;
    enum pack_status status = PACK_OK;
    for (uint32_t i = 0; i < entry->head.n_records && status == PACK_OK; i++) {
        const char *reason = read_record(&at, end, &record);
        status = check_source(run, &record);
        if (status == PACK_OK)
            status = account(run, &record, reason);
    }
    return status;
}

/*
 * One entry of the interrupted run. PACK_ERR_MISMATCH, which ends the journal here, when
 * it does not continue the run or its bytes are gone: those images are packed again.
 */
static enum pack_status
replay(void *context, uint32_t type, const void *payload, size_t size,
       struct pack_error *err)
{
    struct run *run = context;
    struct pack_convert_result *result = run->result;
    struct entry entry;
    run->replaying = true;
    if (pack_convert_stopped(run->params))
        return pack_convert_interrupted(err);
    if (type != ENTRY_BLOCK || !read_entry(payload, size, &entry) ||
        !continues(run, &entry))
        return PACK_ERR_MISMATCH;
    enum pack_status status = PACK_OK;
    for (uint32_t k = 0; k < entry.head.n_chunks && status == PACK_OK; k++)
        status = check_chunk(run, &entry.chunks[k]);
    if (status == PACK_OK)
        status = replay_records(run, &entry);
    if (status == PACK_OK && entry.head.n_chunks)
        status = replay_chunks(run, entry.head.number, entry.chunks);
    if (status != PACK_OK)
        return status;
    run->next_record += entry.head.n_records;
    run->next_block += entry.head.n_chunks != 0;
    result->n_saved = run->next_record;
    result->n_replayed = result->n_packed;
    pack_convert_tell(run->params, "resuming", run->next_record,
                      run->params->source->n_records,
                      result->n_packed * run->plan.sample_bytes);
    return PACK_OK;
}

/* ------------------------------------------------------- beginning and end */

static enum pack_status
new_blocks(struct run *run)
{
    const struct pack_convert_plan *plan = &run->plan;
    bool complete = true;
    run->encoders = calloc(plan->n_threads, sizeof *run->encoders);
    run->blocks = calloc(plan->n_blocks, sizeof *run->blocks);
    for (size_t i = 0; run->blocks && i < plan->n_blocks; i++) {
        struct block *block = &run->blocks[i];
        block->pixels = malloc(plan->block_bytes);
        block->chunks = calloc(plan->chunks_per_block, sizeof *block->chunks);
        block->stored = calloc(plan->chunks_per_block, sizeof *block->stored);
        complete = complete && block->pixels && block->chunks && block->stored;
    }
    if (!run->encoders || !run->blocks || !complete)
        return pack_fail_memory(run->err, "chunks");
    for (unsigned i = 0; i < plan->n_threads; i++) {
        enum pack_status status = pack_filter_ctx_new(&run->encoders[i].ctx, run->err);
        if (status != PACK_OK)
            return status;
        if (!plan->whole && !(run->encoders[i].chunk = malloc(plan->chunk_bytes)))
            return pack_fail_memory(run->err, "chunks");
    }
    return PACK_OK;
}

static enum pack_status
start_threads(struct run *run)
{
    const struct pack_convert_params *params = run->params;
    struct pack_samples_params sp = {
        .source = params->source,
        .first = run->next_record,
        .image = params->options.image,
        .geometry = params->options.geometry,
        .layout = params->options.layout,
        .out_h = run->plan.out_h,
        .out_w = run->plan.out_w,
        .n_threads = run->plan.n_threads,
        .memory_bytes = run->plan.decode_bytes,
        .n_slots = run->plan.n_slots,
    };
    enum pack_status status = pack_samples_new(&sp, &run->samples, run->err);
    if (status != PACK_OK)
        return status;
    struct pack_pool_lane lanes[N_LANES] = {
        [LANE_SAMPLES] = pack_samples_lane(run->samples),
        /* one block is being filled */
        [LANE_ENCODE] = { encode, run, run->plan.n_blocks - 1 },
    };
    status = pack_pool_new(run->plan.n_threads, lanes, N_LANES, &run->pool, run->err);
    if (status == PACK_OK)
        pack_samples_start(run->samples, run->pool, LANE_SAMPLES);
    return status;
}

/* What a journal belongs to: the options, the list of images, the program. */
static enum pack_status
make_identity(struct run *run, struct pack_buf *options)
{
    uint64_t digest = pack_source_digest(run->params->source);
    enum pack_status status =
        pack_buf_append(&run->identity, options->data, options->size, run->err);
    if (status == PACK_OK)
        status = pack_buf_printf(
            &run->identity, run->err, "%s\n%016" PRIx64 "\n%" PRIu32 "x%" PRIu32,
            run->params->version, digest, run->plan.out_h, run->plan.out_w);
    return status;
}

static enum pack_status
open_files(struct run *run)
{
    const struct pack_convert_params *params = run->params;
    bool resumed = pack_outfile_is_resumed(run->out);
    const char *part = pack_outfile_part_path(run->out),
               *journal_path = pack_outfile_journal_path(run->out);
    int journal_fd = pack_outfile_journal_fd(run->out);
    struct pack_writer_params wp = { .libver = params->options.libver,
                                     .resume = resumed };
    struct pack_writer_dataset_params dp = {
        .type = PACK_UINT8,
        .sample = run->plan.sample,
        .chunk = run->plan.chunk,
        .pipeline = params->options.pipeline,
    };
    enum pack_status status = pack_writer_open(part, &wp, &run->writer, run->err);
    if (status == PACK_OK)
        status = pack_writer_dataset_create(run->writer, "images", &dp, &run->images,
                                            run->err);
    if (status != PACK_OK)
        return status;
    if (!resumed)
        return pack_journal_create(journal_fd, journal_path, run->identity.data,
                                   run->identity.size, &run->journal, run->err);
    run->part_fd = open(part, O_RDONLY | O_CLOEXEC);
    if (run->part_fd < 0)
        return pack_fail_errno(run->err, errno, "cannot open '%s'", part);
    status =
        pack_journal_resume(journal_fd, journal_path, run->identity.data,
                            run->identity.size, replay, run, &run->journal, run->err);
    if (status == PACK_ERR_CHANGED && !run->replaying)
        pack_fail(
            run->err, status,
            "'%s' was begun with other options or other images; --force starts again",
            part);
    run->stuck |= status == PACK_ERR_CHANGED || status == PACK_ERR_FORMAT;
    return status;
}

static void
release(struct run *run)
{
    pack_pool_free(run->pool);
    pack_samples_free(run->samples);
    for (unsigned i = 0; run->encoders && i < run->plan.n_threads; i++) {
        pack_filter_ctx_free(run->encoders[i].ctx);
        free(run->encoders[i].chunk);
    }
    for (size_t i = 0; run->blocks && i < run->plan.n_blocks; i++) {
        struct block *block = &run->blocks[i];
        free(block->pixels);
        free(block->chunks);
        free(block->stored);
        pack_buf_done(&block->records);
        pack_buf_done(&block->encoded);
    }
    free(run->encoders);
    free(run->blocks);
    if (run->part_fd >= 0)
        close(run->part_fd);
    pack_writer_abandon(run->writer);
    pack_journal_close(run->journal, NULL);
    bool saved = run->result->n_saved > 0 && !run->stuck;
    if (run->out && (saved || pack_outfile_is_resumed(run->out))) {
        run->result->resumable = !run->stuck;
        pack_outfile_abandon(run->out);
    } else {
        pack_outfile_discard(run->out);
    }
    pack_buf_done(&run->identity);
    pack_buf_done(&run->entry);
    pack_buf_done(&run->rows);
    pack_buf_done(&run->sizes);
    pack_buf_done(&run->checksums);
    pack_buf_done(&run->valid);
}

static void
finish_result(struct run *run)
{
    struct pack_convert_result *result = run->result;
    double n = (double)result->n_packed * run->plan.out_h * run->plan.out_w;
    result->n_channels = run->plan.n_channels;
    for (int c = 0; c < run->plan.n_channels && n > 0; c++) {
        /* n * sumsq - sum * sum without rounding: at most 2^50 pixels of 2^16 twice over
         */
        unsigned __int128 pixels =
            (unsigned __int128)result->n_packed * run->plan.out_h * run->plan.out_w;
        unsigned __int128 spread = pixels * run->sumsq[c] - run->sum[c] * run->sum[c];
        result->mean[c] = (double)((long double)run->sum[c] / (long double)n);
        result->std[c] = (double)(sqrtl((long double)spread) / (long double)n);
    }
    result->chunk = run->plan.chunk;
    result->extent = run->plan.chunk;
    result->extent.extent[0] = result->n_packed;
    memcpy(&result->extent.extent[1], run->plan.sample.extent,
           sizeof(uint64_t) * (size_t)run->plan.sample.rank);
    result->n_chunks = run->checksums.size / sizeof(uint64_t);
    result->pixel_bytes = result->n_packed * run->plan.sample_bytes;
    result->buffer_bytes = run->plan.buffer_bytes;
    result->peak_bytes = run->samples ? pack_samples_peak_bytes(run->samples) : 0;
}

static enum pack_status
complete(struct run *run, const struct pack_buf *options)
{
    const struct pack_convert_params *params = run->params;
    struct pack_convert_contents contents = {
        .source = params->source,
        .options = &params->options,
        .options_text = (const char *)options->data,
        .version = params->version,
        .plan = &run->plan,
        .result = run->result,
        .rows = (const uint64_t *)run->rows.data,
        .sizes = (const int32_t *)run->sizes.data,
        .valid = params->options.on_error == PACK_ON_ERROR_BLANK ? run->valid.data : NULL,
    };
    if (run->result->n_packed == 0) {
        run->stuck = true;
        return pack_convert_fail_empty(run->result->n_rejected, run->err);
    }
    finish_result(run);
    enum pack_status status =
        pack_writer_dataset_extent(run->images, run->result->n_packed, run->err);
    if (status == PACK_OK)
        status = pack_convert_write_contents(run->writer, &contents, run->err);
    if (status != PACK_OK)
        return status;
    struct pack_writer *writer = run->writer;
    run->writer = NULL;
    return pack_writer_close(writer, run->err);
}

static enum pack_status
commit(struct run *run)
{
    struct stat st;
    struct pack_outfile *out = run->out;
    const char *part = pack_outfile_part_path(out);
    if (run->params->verify) {
        uint64_t before = pack_clock_ns();
        enum pack_status status = pack_convert_verify_chunks(
            run->params, part, &run->plan, (const uint64_t *)run->checksums.data,
            run->result->n_packed, run->err);
        run->result->verify_ns = pack_clock_ns() - before;
        if (status != PACK_OK)
            return status;
    }
    if (stat(part, &st) == 0)
        run->result->file_bytes = (uint64_t)st.st_size;
    uint64_t before = pack_clock_ns();
    run->out = NULL;
    enum pack_status status = pack_journal_close(run->journal, run->err);
    run->journal = NULL;
    if (status == PACK_OK)
        status = pack_outfile_commit(out, run->err);
    else
        pack_outfile_abandon(out);
    run->result->resumable = status != PACK_OK;
    run->result->sync_ns = pack_clock_ns() - before;
    return status;
}

enum pack_status
pack_convert(const struct pack_convert_params *params, struct pack_convert_result *result,
             struct pack_error *err)
{
    struct pack_error own;
    struct run run = { .params = params,
                       .result = result,
                       .err = err ? err : &own,
                       .start_ns = pack_clock_ns(),
                       .part_fd = -1 };
    struct pack_outfile_params op = { params->force, true, params->resume };
    struct pack_buf options = { 0 };
    uint32_t out_h, out_w;
    memset(result, 0, sizeof *result);
    result->n_listed = params->source->n_records;
    enum pack_status status = pack_outfile_open(params->output, &op, &run.out, run.err);
    if (status == PACK_OK)
        status = pack_convert_find_size(params, &out_h, &out_w, run.err);
    if (status == PACK_OK)
        status = pack_convert_plan_make(params, out_h, out_w, &run.plan, run.err);
    if (status == PACK_OK)
        status = pack_convert_options_text(&params->options, &options, run.err);
    if (status == PACK_OK)
        status = make_identity(&run, &options);
    if (status == PACK_OK)
        status = new_blocks(&run);
    if (status == PACK_OK)
        status = open_files(&run);
    if (status == PACK_OK)
        status = start_threads(&run);
    if (status == PACK_OK)
        status = pack_all(&run);
    if (status == PACK_OK)
        status = complete(&run, &options);
    if (status == PACK_OK)
        status = commit(&run);
    finish_result(&run);
    release(&run);
    pack_buf_done(&options);
    result->elapsed_ns = pack_clock_ns() - run.start_ns;
    return status;
}
