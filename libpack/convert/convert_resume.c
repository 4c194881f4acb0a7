/*
 * Going on with an interrupted run: its journal is read with suspicion. An entry counts
 * only if its records are the next ones and the partial file holds the bytes that its
 * checksums were taken of; and it ends the run if a file that an image came from is there
 * and is not the same.
 */
#include "libpack/convert/convert_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/base/fd.h"
#include "libpack/convert/sample_chain.h"

static bool
is_same(const struct sample_record *record, const struct stat *st)
{
    return (uint64_t)st->st_size == record->file_bytes &&
           pack_fd_mtime_ns(st) == record->file_mtime_ns;
}

/* PACK_ERR_CHANGED when the file is not the one that was packed. What is gone since stays
 * packed, what was rejected stays that, also where it was repaired meanwhile. */
static enum pack_status
check_source(struct run *run, const struct sample_record *record)
{
    const struct pack_source *source = run->params->source;
    struct stat st;
    int fd;
    if (record->outcome == PACK_SAMPLE_REJECTED || run->published)
        return PACK_OK;
    enum pack_status status = pack_source_open_watched(
        source, record->index, &run->params->watch, &fd, run->err);
    if (status == PACK_ERR_INTERRUPTED)
        return status;
    if (status == PACK_OK) {
        if (fstat(fd, &st) != 0)
            status = pack_fail_errno(run->err, errno, "cannot be read");
        else if (!is_same(record, &st))
            status = pack_fail_param(run->err, PACK_ERR_CHANGED, "force",
                                     "not as the interrupted run read it: its size or "
                                     "time of change differs");
        close(fd);
    } else if (pack_sample_outcome_of(errno) != PACK_SAMPLE_FAILED) {
        return PACK_OK;
    }
    if (status == PACK_OK)
        return PACK_OK;
    run->stuck = status == PACK_ERR_CHANGED;
    return pack_convert_name_record(source, record->index, status, run->err);
}

/* Bytes that a chunk of this filter mask can have: HDF5 reads as many as pixels of one that
 * no filter took, and behind its end when it is shorter. */
static bool
is_size_right(const struct run *run, const struct chunk_record *record)
{
    const struct pack_pipeline *pipeline = &run->params->options.pipeline;
    uint32_t all = pipeline->n < 32 ? (UINT32_C(1) << pipeline->n) - 1 : UINT32_MAX;
    if ((record->filter_mask & all) == all)
        return record->stored_bytes == run->plan.chunk_bytes;
    return record->stored_bytes <= pack_pipeline_bound(pipeline, run->plan.chunk_bytes);
}

/* PACK_ERR_MISMATCH for bytes that do not become a chunk's pixels: HDF5 takes it for
 * granted that filters give as many bytes as a chunk has, and reads behind them. */
static enum pack_status
check_pixels(struct run *run, const struct chunk_record *record, const uint8_t *bytes)
{
    uint64_t size = run->plan.chunk_bytes;
    struct pack_stored stored = { bytes, record->stored_bytes, record->filter_mask };
    uint8_t *pixels = malloc(size);
    if (!pixels)
        return pack_fail_memory(run->err, "a chunk of the interrupted run");
    enum pack_status status =
        pack_pipeline_decode(&run->params->options.pipeline, run->encoders[0].ctx,
                             &stored, pixels, size, run->err);
    if (status == PACK_OK && pack_checksum(pixels, size, 0) != record->pixel_checksum)
        status = PACK_ERR_MISMATCH;
    free(pixels);
    return status == PACK_OK || status == PACK_ERR_MEMORY ? status : PACK_ERR_MISMATCH;
}

/*
 * Whether the partial file still holds a chunk's bytes: after a crash of the machine it
 * may not. PACK_ERR_MISMATCH when it does not. What is to be read through HDF5 before
 * anybody trusts it is decoded, too.
 */
static enum pack_status
check_chunk(struct run *run, const struct chunk_record *record)
{
    size_t size = record->stored_bytes, got = 0;
    if (!is_size_right(run, record))
        return PACK_ERR_MISMATCH;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        return pack_fail_memory(run->err, "a chunk of the interrupted run");
    bool same = pack_fd_read_at(run->part_fd, bytes, size, record->address, &got) &&
                got == size && pack_checksum(bytes, size, 0) == record->stored_checksum;
    enum pack_status status = same ? PACK_OK : PACK_ERR_MISMATCH;
    if (same && run->params->verify && run->params->options.pipeline.n)
        status = check_pixels(run, record, bytes);
    free(bytes);
    return status;
}

static enum pack_status
replay_chunks(struct run *run, uint64_t number, const struct chunk_record *chunks)
{
    enum pack_status status = PACK_OK;
    for (uint64_t k = 0; k < run->plan.chunks_per_block && status == PACK_OK; k++) {
        if (!run->published)
            status = pack_writer_chunk_replayed(
                run->images, number * run->plan.chunks_per_block + k,
                chunks[k].stored_bytes, chunks[k].filter_mask, chunks[k].address, run->err);
        run->result->stored_bytes += chunks[k].stored_bytes;
        if (status == PACK_OK && run->params->verify)
            status = pack_buf_append(&run->checksums, &chunks[k].pixel_checksum,
                                     sizeof chunks[k].pixel_checksum, run->err);
    }
    if (status == PACK_ERR_CHANGED) { /* by another HDF5: it puts it elsewhere every time */
        run->stuck = true;
        run->err->param = "force";
    }
    return status;
}

const char *
pack_convert_read_record(const uint8_t **at, const uint8_t *end,
                         struct sample_record *record)
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

/* Whether an entry continues the run: its records are the next ones and fill its
 * chunks. */
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
        if (next >= n_source || !pack_convert_read_record(&at, end, &record) ||
            record.index != next || record.outcome > PACK_SAMPLE_REJECTED)
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
        const char *reason = pack_convert_read_record(&at, end, &record);
        status = check_source(run, &record);
        if (status == PACK_OK)
            status = pack_convert_account(run, &record, reason);
    }
    return status;
}

/* The list was taken before, as far as it is good. */
static enum pack_status
replay_list(struct run *run, uint32_t type, const void *payload)
{
    struct rows_head head;
    if (type != ENTRY_ROWS)
        return PACK_OK;
    memcpy(&head, payload, sizeof head);
    run->n_rows_kept += head.n;
    return PACK_OK;
}

enum pack_status
pack_convert_replay(void *context, uint32_t type, const void *payload, size_t size,
                    struct pack_error *err)
{
    struct run *run = context;
    struct pack_convert_result *result = run->result;
    struct entry entry;
    enum pack_status status = pack_watch_check(&run->params->watch, err);
    if (status != PACK_OK)
        return status;
    if (run->n_entries++ == run->n_entries_good)
        return PACK_ERR_MISMATCH;
    if (type != ENTRY_BLOCK)
        return replay_list(run, type, payload);
    if (!read_entry(payload, size, &entry) || !continues(run, &entry))
        return PACK_ERR_MISMATCH;
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
    result->n_replayed = result->n_packed;
    return pack_convert_watch(run->params, "resuming", run->next_record,
                              run->params->source->n_records,
                              result->n_packed * run->plan.sample_bytes, err);
}
