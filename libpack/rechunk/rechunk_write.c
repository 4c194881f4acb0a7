/*
 * Objects are copied, the data is moved, dataset after dataset, the copy is compared if that
 * is asked for, and it gets its name. A run that goes on makes the same calls, so that HDF5
 * makes the same file: see pack_clone_create().
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/rechunk/rechunk_parts.h"
#include "libpack/rechunk/rechunk_run.h"

enum pack_status
pack_rechunk_claim(struct pack_rechunk_run *run, struct pack_error *err)
{
    const struct pack_rechunk_params *p = run->params;
    const struct pack_outfile_params params = { .force = p->force,
                                                .journal = true,
                                                .resume = p->resume };
    enum pack_status status = pack_outfile_open(p->output, &params, &run->out, err);
    run->is_left = status == PACK_OK && (pack_outfile_is_resumed(run->out) ||
                                         pack_outfile_is_published(run->out));
    return status;
}

/* ------------------------------------------------------------------ writing */

/* Where the chunks of one dataset go. */
struct sink {
    struct pack_rechunk_run *run;
    size_t set;
};

static enum pack_status
write_chunk(void *context, const struct pack_rechunk_chunk *chunk, struct pack_error *err)
{
    const struct sink *sink = context;
    struct chunk_entry entry = { .number = chunk->number,
                                 .checksum = chunk->checksum,
                                 .stored_bytes = (uint32_t)chunk->stored.size,
                                 .filter_mask = chunk->stored.filter_mask };
    enum pack_status status = pack_clone_chunk(sink->run->clone, sink->set, chunk->start,
                                               &chunk->stored, &entry.address, err);
    return status == PACK_OK
               ? pack_rechunk_journal_chunk(sink->run, sink->set, &entry, err)
               : status;
}

struct pack_rechunk_move_params
pack_rechunk_move_of(const struct pack_rechunk_params *p,
                     const struct pack_rechunk_set *set)
{
    return (struct pack_rechunk_move_params){ .map = set->map,
                                              .chunk = set->chunk,
                                              .is_contiguous = set->is_contiguous,
                                              .pipeline = set->pipeline,
                                              .narrow = set->narrow,
                                              .rows = set->rows,
                                              .axes = set->axes,
                                              .verbatim = set->verbatim,
                                              .n_threads = p->n_threads,
                                              .memory_bytes = p->memory_bytes,
                                              .watch = p->watch };
}

static void
add_resumed(struct pack_rechunk_moved *moved, const struct pack_rechunk_moved *before)
{
    moved->n_resumed = before->n_resumed;
    moved->resumed_bytes = before->resumed_bytes;
}

/* What is lost counts as done, so that it stays without storage. */
static enum pack_status
leave_out(struct pack_rechunk_run *run, size_t i, struct pack_error *err)
{
    const struct pack_rechunk_set *set = &run->result->sets[i];
    const struct pack_rechunk_lost *lost = pack_rechunk_lost_of(run->params, set);
    uint64_t n = set->move.plan.target.n_chunks_total;
    if (!lost)
        return PACK_OK;
    if (!set->verbatim)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "lost",
                               "'%s' does not keep its chunks and filters", set->path);
    if (!run->done[i])
        run->done[i] = calloc(n / 8 + 1, 1);
    if (!run->done[i])
        return pack_fail_memory(err, "a list of chunks");
    for (size_t k = 0; k < lost->n_chunks; k++)
        if (lost->chunks[k] < n)
            pack_rechunk_set_done(run->done[i], lost->chunks[k]);
    return PACK_OK;
}

static enum pack_status
move_sets(struct pack_rechunk_run *run, struct pack_error *err)
{
    struct pack_rechunk_result *result = run->result;
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < result->n_sets && status == PACK_OK; i++) {
        struct pack_rechunk_set *set = &result->sets[i];
        const struct pack_rechunk_moved before = set->moved;
        struct sink sink = { run, i };
        struct pack_rechunk_move_params params = pack_rechunk_move_of(run->params, set);
        params.write = write_chunk;
        params.write_context = &sink;
        status = leave_out(run, i, err);
        params.done = run->done[i];
        if (status == PACK_OK)
            status = pack_rechunk_move(&params, &set->move, &set->moved, err);
        add_resumed(&set->moved, &before);
    }
    return status;
}

/* Also compares it, if that is asked for. */
static enum pack_status
look_at_stored(struct pack_rechunk_run *run, const char *path, struct pack_error *err)
{
    struct pack_rechunk_result *result = run->result;
    const struct pack_rechunk_params *p = run->params;
    enum pack_status status = PACK_OK;
    struct stat st;
    if (stat(path, &st) == 0)
        result->output_bytes = (uint64_t)st.st_size;
    for (size_t i = 0; p->verify && i < result->n_sets && status == PACK_OK; i++)
        status = pack_rechunk_verify(p, &result->sets[i], path, err);
    result->is_verified = p->verify && status == PACK_OK;
    return status;
}

static enum pack_status
write_copy(struct pack_rechunk_run *run, bool goes_on, struct pack_error *err)
{
    const char *path = pack_outfile_part_path(run->out);
    enum pack_status status = goes_on ? PACK_OK : pack_outfile_restart(run->out, err);
    run->is_left = run->is_left && goes_on;
    if (status == PACK_OK && !goes_on)
        status = pack_rechunk_journal_begin(run, err);
    if (status == PACK_OK)
        status = pack_clone_create(run->clone, path, goes_on, err);
    if (status == PACK_OK && goes_on)
        status = pack_rechunk_resume_take(run, err);
    if (status == PACK_OK)
        status = move_sets(run, err);
    if (status == PACK_OK)
        status = pack_clone_finish(run->clone, err);
    run->result->counts = pack_clone_counts(run->clone);
    if (status == PACK_OK)
        status = pack_rechunk_journal_flush(run, err);
    if (status == PACK_OK)
        status = look_at_stored(run, path, err);
    return status == PACK_OK ? pack_watch_check(&run->params->watch, err) : status;
}

/* ------------------------------------------------------------------- naming */

static enum pack_status
publish(struct pack_rechunk_run *run, struct pack_error *err)
{
    enum pack_status status = pack_rechunk_journal_end(run, err);
    if (status != PACK_OK)
        return status;
    struct pack_outfile *out = run->out;
    struct stat st;
    if (lstat(pack_outfile_part_path(out), &st) != 0 && errno == ENOENT)
        return pack_fail(err, PACK_ERR_CHANGED, "'%s' was removed, or its folder was moved",
                         pack_outfile_part_path(out));
    run->out = NULL;
    status = pack_outfile_commit(out, err);
    run->result->is_resumable = status != PACK_OK;
    return status;
}

/* The file has its name already. */
static enum pack_status
settle(struct pack_rechunk_run *run, struct pack_error *err)
{
    enum pack_status status = pack_rechunk_resume_check(run, err);
    if (status == PACK_OK)
        status = look_at_stored(run, pack_outfile_path(run->out), err);
    if (status != PACK_OK)
        return status;
    struct pack_outfile *out = run->out;
    run->out = NULL;
    run->result->was_complete = true;
    return pack_outfile_settle(out, err);
}

enum pack_status
pack_rechunk_write(struct pack_rechunk_run *run, struct pack_error *err)
{
    bool goes_on = false;
    run->done = calloc(run->result->n_sets, sizeof *run->done);
    if (!run->done)
        return pack_fail_memory(err, "lists of chunks");
    enum pack_status status = pack_rechunk_identify(run, err);
    if (status == PACK_OK)
        status = pack_rechunk_resume_look(run, &goes_on, err);
    if (status != PACK_OK)
        return status;
    if (run->is_published) {
        status = settle(run, err);
    } else {
        status = write_copy(run, goes_on, err);
        if (status == PACK_OK)
            status = publish(run, err);
    }
    run->result->is_written = status == PACK_OK;
    return status;
}

/* ------------------------------------------------------------------- ending */

/* Whether the same run may come further another time: the system let it down, or it was
 * stopped. */
static bool
may_go_on(enum pack_status status)
{
    return status == PACK_ERR_INTERRUPTED || status == PACK_ERR_IO ||
           status == PACK_ERR_MEMORY || status == PACK_ERR_NOT_FOUND;
}

void
pack_rechunk_release(struct pack_rechunk_run *run, enum pack_status status)
{
    struct pack_rechunk_result *result = run->result;
    if (run->journal && may_go_on(status))
        pack_rechunk_journal_flush(run, NULL);
    pack_journal_close(run->journal, NULL);
    if (run->out)
        result->is_resumable =
            !run->is_published && result->n_saved > 0 && may_go_on(status);
    if (result->is_resumable || run->is_left)
        pack_outfile_abandon(run->out);
    else
        pack_outfile_discard(run->out);
    if (run->stored_fd >= 0)
        close(run->stored_fd);
    for (size_t i = 0; run->done && i < result->n_sets; i++)
        free(run->done[i]);
    free(run->done);
    pack_buf_done(&run->entry);
    pack_buf_done(&run->identity);
}
