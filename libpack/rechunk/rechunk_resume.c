/*
 * Going on with an interrupted run. Its journal is read twice: to look whether it belongs to
 * this job, before anything is touched, and to take over the chunks it tells of. An entry
 * counts only as far as the file still holds the bytes that its checksums were taken of;
 * what follows it is made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/base/fd.h"
#include "libpack/base/system.h"
#include "libpack/model/grid.h"
#include "libpack/rechunk/rechunk_run.h"

/* How far a journal was read. */
struct reading {
    struct pack_rechunk_run *run;
    struct source_entry source;
    bool has_source, is_done;
    struct done_entry done;
    uint64_t n_chunks;
    bool takes; /* the chunks, and does not only look */
    unsigned char *bytes; /* of one of them */
    size_t n_bytes;
};

/* ------------------------------------------------------------------ entries */

/* Bytes that a chunk can have: HDF5 reads as many as there are elements of one that no
 * filter took. */
static bool
is_size_right(const struct pack_rechunk_set *set, const struct chunk_entry *entry)
{
    const struct pack_pipeline *pipeline = &set->pipeline;
    uint64_t chunk_bytes = pack_rechunk_plain_bytes(&set->move.plan.target,
                                                    set->is_contiguous, entry->number);
    uint32_t all = pipeline->n < 32 ? (UINT32_C(1) << pipeline->n) - 1 : UINT32_MAX;
    struct pack_chunk chunk;
    if (set->verbatim)
        return pack_chunkmap_chunk(set->map, entry->number, &chunk) != PACK_CHUNK_FILLED &&
               chunk.stored_bytes == entry->stored_bytes &&
               chunk.filter_mask == entry->filter_mask;
    if ((entry->filter_mask & all) == all)
        return entry->stored_bytes == chunk_bytes;
    return entry->stored_bytes <= pack_pipeline_bound(pipeline, chunk_bytes);
}

/* PACK_ERR_MISMATCH when the file does not hold the chunk's bytes: after a crash of the
 * machine it may not. */
static enum pack_status
check_bytes(struct reading *r, const struct chunk_entry *entry, struct pack_error *err)
{
    size_t size = entry->stored_bytes, got = 0;
    if (size > r->n_bytes) {
        unsigned char *grown = realloc(r->bytes, size);
        if (!grown)
            return pack_fail_memory(err, "a chunk of the interrupted run");
        r->bytes = grown;
        r->n_bytes = size;
    }
    return pack_fd_read_at(r->run->stored_fd, r->bytes, size, entry->address, &got) &&
                   got == size && pack_checksum(r->bytes, size, 0) == entry->checksum
               ? PACK_OK
               : PACK_ERR_MISMATCH;
}

static enum pack_status
check_chunk(struct reading *r, size_t i, const struct chunk_entry *entry,
            struct pack_error *err)
{
    const struct pack_rechunk_set *set = &r->run->result->sets[i];
    if (entry->number >= set->move.plan.target.n_chunks_total ||
        pack_rechunk_is_done(r->run->done[i], entry->number) || !is_size_right(set, entry))
        return PACK_ERR_MISMATCH;
    return r->takes ? check_bytes(r, entry, err) : PACK_OK;
}

/* The chunk is there: HDF5 learns of it. */
static enum pack_status
take_chunk(struct pack_rechunk_run *run, size_t i, const struct chunk_entry *entry,
           struct pack_error *err)
{
    struct pack_rechunk_set *set = &run->result->sets[i];
    const struct pack_grid *grid = &set->move.plan.target;
    const struct pack_stored stored = { NULL, entry->stored_bytes, entry->filter_mask };
    uint64_t start[PACK_RANK_MAX];
    pack_rechunk_set_done(run->done[i], entry->number);
    set->moved.n_resumed++;
    set->moved.resumed_bytes += entry->stored_bytes;
    if (run->is_published)
        return PACK_OK;
    run->result->n_saved++;
    pack_grid_coords(grid, entry->number, start);
    for (int k = 0; k < grid->rank; k++)
        start[k] *= grid->chunk[k];
    return pack_clone_chunk_replayed(run->clone, i, start, &stored, entry->address, err);
}

static enum pack_status
make_done(struct pack_rechunk_run *run, size_t i, struct pack_error *err)
{
    uint64_t n = run->result->sets[i].move.plan.target.n_chunks_total;
    if (!run->done[i])
        run->done[i] = calloc(n / 8 + 1, 1);
    return run->done[i] ? PACK_OK : pack_fail_memory(err, "a list of chunks");
}

/* All of the entry is looked at before HDF5 learns of any of it. */
static enum pack_status
read_chunks(struct reading *r, const unsigned char *payload, size_t size,
            struct pack_error *err)
{
    struct chunks_head head;
    struct chunk_entry entry;
    size_t n = (size - sizeof head) / sizeof entry;
    if (!r->has_source || size < sizeof head || n * sizeof entry != size - sizeof head)
        return PACK_ERR_MISMATCH;
    memcpy(&head, payload, sizeof head);
    if (head.set >= r->run->result->n_sets)
        return PACK_ERR_MISMATCH;
    enum pack_status status = r->takes ? make_done(r->run, head.set, err) : PACK_OK;
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        memcpy(&entry, payload + sizeof head + i * sizeof entry, sizeof entry);
        status = check_chunk(r, head.set, &entry, err);
    }
    for (size_t i = 0; i < n && status == PACK_OK && r->takes; i++) {
        memcpy(&entry, payload + sizeof head + i * sizeof entry, sizeof entry);
        status = take_chunk(r->run, head.set, &entry, err);
    }
    r->n_chunks += n;
    return status;
}

static enum pack_status
read_entry(void *context, uint32_t type, const void *payload, size_t size,
           struct pack_error *err)
{
    struct reading *r = context;
    enum pack_status status = pack_watch_check(&r->run->params->watch, err);
    if (status != PACK_OK)
        return status;
    const struct pack_progress progress = { .stage = "resuming",
                                            .unit = "chunks",
                                            .done = r->n_chunks };
    pack_watch_tell(&r->run->params->watch, &progress);
    r->is_done = type == ENTRY_DONE && size == sizeof r->done && r->has_source;
    if (type == ENTRY_CHUNKS)
        return read_chunks(r, payload, size, err);
    if (r->is_done)
        memcpy(&r->done, payload, size);
    if (type != ENTRY_SOURCE || size != sizeof r->source || r->has_source)
        return r->is_done ? PACK_OK : PACK_ERR_MISMATCH;
    memcpy(&r->source, payload, size);
    r->has_source = true;
    return PACK_OK;
}

/* ------------------------------------------------------------------ looking */

static const char *
left_path(const struct pack_rechunk_run *run)
{
    return run->is_published ? pack_outfile_path(run->out)
                             : pack_outfile_part_path(run->out);
}

static enum pack_status
refuse(const struct pack_rechunk_run *run, struct pack_error *err)
{
    return pack_fail_param(err, PACK_ERR_CHANGED, "force",
                           "'%s' was begun with other options, or by another version of "
                           "this program",
                           left_path(run));
}

static enum pack_status
check_source(const struct reading *r, struct pack_error *err)
{
    const struct source_entry now = pack_rechunk_source(r->run);
    if (now.size_bytes == r->source.size_bytes && now.mtime_ns == r->source.mtime_ns)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_CHANGED, "force",
                           "'%s' is not as the run that began '%s' read it: its size or "
                           "time of change differs",
                           r->run->params->input, left_path(r->run));
}

/* Whether the file under its name is the one that the journal says is whole. */
static bool
is_whole(const struct reading *r)
{
    struct stat st;
    return r->is_done && lstat(pack_outfile_path(r->run->out), &st) == 0 &&
           (uint64_t)st.st_size == r->done.file_bytes;
}

static enum pack_status
fail_exists(const struct pack_rechunk_run *run, struct pack_error *err)
{
    return pack_fail_param(err, PACK_ERR_EXISTS, "force",
                           "'%s' exists, and is not what the journal beside it tells of",
                           pack_outfile_path(run->out));
}

enum pack_status
pack_rechunk_resume_look(struct pack_rechunk_run *run, bool *goes_on,
                         struct pack_error *err)
{
    const struct pack_journal_params params = pack_rechunk_journal(run);
    struct reading r = { .run = run };
    run->is_published = pack_outfile_is_published(run->out);
    *goes_on = false;
    if (!run->is_left)
        return PACK_OK;
    enum pack_status status = pack_journal_read(&params, read_entry, &r, err);
    if (status == PACK_ERR_CHANGED)
        status = refuse(run, err);
    else if (status == PACK_ERR_FORMAT && err)
        err->param = "force";
    else if (status == PACK_OK && r.has_source)
        status = check_source(&r, err);
    if (status == PACK_OK && run->is_published && !is_whole(&r))
        status = fail_exists(run, err);
    bool is_other = status == PACK_ERR_CHANGED || status == PACK_ERR_FORMAT ||
                    status == PACK_ERR_EXISTS;
    if (run->is_published && is_other && run->params->force) {
        run->is_published = false; /* it is replaced, as any other file */
        return PACK_OK;
    }
    *goes_on = status == PACK_OK && (r.n_chunks > 0 || r.is_done);
    if (!*goes_on)
        return status;
    run->result->n_saved = r.n_chunks;
    return PACK_OK;
}

/* ------------------------------------------------------------------- taking */

/* What counts is on the disk: a page that could not be written looks well as long as it is
 * in memory. */
static enum pack_status
open_stored(struct pack_rechunk_run *run, struct pack_error *err)
{
    const char *path = left_path(run);
    run->stored_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (run->stored_fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    if (fdatasync(run->stored_fd) != 0)
        return pack_fail_errno(err, errno, "cannot sync '%s'", path);
    pack_system_forget_fd(run->stored_fd);
    return PACK_OK;
}

enum pack_status
pack_rechunk_resume_take(struct pack_rechunk_run *run, struct pack_error *err)
{
    const struct pack_journal_params params = pack_rechunk_journal(run);
    struct reading r = { .run = run, .takes = true };
    enum pack_status status = open_stored(run, err);
    if (status != PACK_OK)
        return status;
    uint64_t n_saved = run->result->n_saved;
    run->result->n_saved = 0;
    status = pack_journal_resume(&params, read_entry, &r, &run->journal, err);
    free(r.bytes);
    if (status == PACK_OK)
        run->is_left = false;
    else
        run->result->n_saved = n_saved;
    return status;
}

enum pack_status
pack_rechunk_resume_check(struct pack_rechunk_run *run, struct pack_error *err)
{
    const struct pack_journal_params params = pack_rechunk_journal(run);
    struct reading r = { .run = run, .takes = true };
    enum pack_status status = open_stored(run, err);
    if (status == PACK_OK)
        status = pack_journal_read(&params, read_entry, &r, err);
    free(r.bytes);
    return status == PACK_OK && !r.is_done ? fail_exists(run, err) : status;
}
