/*
 * A run was killed after its file had got its name and before the journal was removed. The
 * file is whole then, and its journal says so (ENTRY_DONE, the last entry, with the size
 * of the file). A run that resumes looks at it as at a partial one, packs nothing, says
 * what the other could not say any more, and removes the journal.
 */
#include "libpack/convert/convert_run.h"

#include <string.h>
#include <sys/stat.h>

/* How a journal ends. */
struct ending {
    const struct pack_watch *watch;
    bool is_done;
    struct done_entry done;
};

static enum pack_status
note_entry(void *context, uint32_t type, const void *payload, size_t size,
           struct pack_error *err)
{
    struct ending *ending = context;
    ending->is_done = type == ENTRY_DONE && size == sizeof ending->done;
    if (ending->is_done)
        memcpy(&ending->done, payload, size);
    return pack_watch_check(ending->watch, err);
}

static bool
has_size(const char *path, uint64_t bytes)
{
    struct stat st;
    return lstat(path, &st) == 0 && (uint64_t)st.st_size == bytes;
}

static enum pack_status
fail_exists(struct run *run)
{
    run->stuck = true;
    return pack_fail_param(run->err, PACK_ERR_EXISTS, "force", "'%s' exists",
                           pack_outfile_path(run->out));
}

enum pack_status
pack_convert_published_find(struct run *run)
{
    struct ending ending = { .watch = &run->params->watch };
    struct pack_journal_params jp = pack_convert_journal(run);
    run->published = pack_outfile_is_published(run->out);
    if (!run->published)
        return PACK_OK;
    enum pack_status status = pack_journal_read(&jp, note_entry, &ending, run->err);
    if (status != PACK_OK && status != PACK_ERR_CHANGED && status != PACK_ERR_FORMAT)
        return status;
    if (status == PACK_OK && ending.is_done &&
        has_size(pack_outfile_path(run->out), ending.done.file_bytes))
        return PACK_OK;
    if (!run->params->force)
        return fail_exists(run);
    run->published = false;
    return PACK_OK;
}

/* Whether the file holds all images of the list, as they were packed. */
static enum pack_status
check_whole(struct run *run)
{
    uint64_t n_added = run->result->additions.n_added;
    run->stuck |= n_added > 0;
    if (n_added)
        return pack_fail_param(run->err, PACK_ERR_EXISTS, "force",
                               "'%s' was complete before %s added",
                               pack_outfile_path(run->out),
                               n_added == 1 ? "another image was" : "further images were");
    return run->next_record == run->params->source->n_records ? PACK_OK : fail_exists(run);
}

enum pack_status
pack_convert_published_take(struct run *run)
{
    const char *path = pack_outfile_path(run->out);
    struct pack_journal_params jp = pack_convert_journal(run);
    enum pack_status status = pack_convert_open_stored(run, path);
    if (status == PACK_OK)
        status = pack_journal_read(&jp, pack_convert_replay, run, run->err);
    if (status == PACK_OK)
        status = check_whole(run);
    if (status == PACK_OK)
        status = pack_convert_check_stored(run, path);
    if (status == PACK_OK)
        status = pack_convert_tell_complete(run);
    if (status != PACK_OK)
        return status;
    struct pack_outfile *out = run->out;
    run->out = NULL;
    return pack_outfile_settle(out, run->err);
}
