/*
 * Images that cannot be read. One that is not there is a reject, but a file server that
 * dies, a disk that is unmounted and a ticket that expires say the same of every image:
 * ENOENT, EACCES or EIO. Which it was is seen from the next image that is read; until
 * then a record waits, and neither the file nor the journal knows of it:
 *
 *     read  gone  gone  read        both are rejects
 *     read  gone  gone  gone ...    a hundred in a row: nothing is left to be read from
 *     read  gone  gone  (end)       rejects if one of the hundred before can still be read
 *
 * Rows are counted in the order of records, so that threads make no difference. Since they
 * read ahead of each other, an image may have been read before one in front of it was
 * gone: it ends a row only when it can still be read then, and else is gone as well.
 */
#include "libpack/convert/convert_run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/numbers.h"
#include "libpack/convert/sample_chain.h"

/* What the system said, without what was tried: the text behind the last colon. */
static const char *
cause_of(const char *reason)
{
    const char *colon = strrchr(reason, ':');
    return colon ? colon : reason;
}

void
pack_convert_row_add(struct pack_convert_row *row, uint64_t index, const char *reason,
                     bool refused)
{
    if (row->n++ == 0) {
        row->first = index;
        row->alike = true;
        snprintf(row->reason, sizeof row->reason, "%s", reason);
    }
    row->last = index;
    row->alike = row->alike && refused && !strcmp(cause_of(reason), cause_of(row->reason));
}

/* What it looks like when several fail alike. */
static const char *
guess(const struct pack_convert_row *row)
{
    return row->alike && row->n > 1
               ? "; all fail alike, as when a disk or a server is gone"
               : "";
}

static const char *
path_text(const struct pack_source *source, uint64_t index, char shown[PACK_NAME_TEXT_MAX])
{
    char path[PATH_MAX];
    pack_source_path(source, index, path, sizeof path);
    return pack_name_text(path, shown);
}

static enum pack_status
fail_row(const struct pack_source *source, const struct pack_convert_row *row,
         const char *behind, struct pack_error *err)
{
    char from[PACK_NAME_TEXT_MAX], to[PACK_NAME_TEXT_MAX];
    if (row->n == 1)
        return pack_fail(err, PACK_ERR_IO, "'%s' %s%s", path_text(source, row->last, to),
                         row->reason, behind);
    return pack_fail_param(err, PACK_ERR_IO, row->gone ? "gone_are_rejects" : NULL,
                           "%s in a row cannot be read, from '%s', which %s, to '%s'%s%s",
                           pack_counted(row->n, "image", "images").text,
                           path_text(source, row->first, from), row->reason,
                           path_text(source, row->last, to), behind, guess(row));
}

enum pack_status
pack_convert_row_count(const struct pack_convert_params *params,
                       struct pack_convert_row *row, const struct pack_sample *sample,
                       struct pack_error *err)
{
    bool refused = sample->outcome == PACK_SAMPLE_MISSING;
    bool gone = refused && sample->status == PACK_ERR_NOT_FOUND;
    if (gone && params->gone_are_rejects)
        return PACK_OK;
    if (sample->is_read)
        row->n = 0;
    if (sample->is_read || (!refused && row->n == 0))
        return PACK_OK;
    pack_convert_row_add(row, sample->index, sample->reason, refused);
    row->gone = gone && (row->n == 1 || row->gone);
    return row->n < PACK_CONVERT_ROW_MAX
               ? PACK_OK
               : fail_row(params->source, row, "", err);
}

enum pack_status
pack_convert_fail_empty(const struct pack_source *source,
                        const struct pack_convert_row *rejects, struct pack_error *err)
{
    char shown[PACK_NAME_TEXT_MAX];
    if (rejects->n == 0)
        return pack_fail(err, PACK_ERR_FORMAT, "no readable image");
    return pack_fail(err, PACK_ERR_FORMAT,
                     "no readable image: %s rejected, %s'%s': %s%s",
                     pack_counted(rejects->n, "file was", "files were").text,
                     rejects->n > 1 ? "first " : "",
                     path_text(source, rejects->first, shown), rejects->reason,
                     guess(rejects));
}

/* errno says why not. */
static bool
can_be_read(const struct pack_convert_params *params, uint64_t index)
{
    int fd;
    char byte;
    enum pack_status status =
        pack_source_open_watched(params->source, index, &params->watch, &fd, NULL);
    if (status != PACK_OK)
        return status == PACK_ERR_INTERRUPTED; /* it was there to be waited for */
    bool is_read = pread(fd, &byte, 1, 0) >= 0;
    int saved = errno;
    close(fd);
    errno = saved;
    return is_read;
}

bool
pack_convert_is_lost(const struct run *run, const struct pack_sample *sample,
                     struct pack_sample *lost)
{
    struct pack_error why;
    if (run->row.n == 0 || !sample->is_read ||
        can_be_read(run->params, sample->index))
        return false;
    int saved = errno; /* 0: a folder is in its place, or the like */
    *lost = (struct pack_sample){ .index = sample->index,
                                  .outcome = pack_sample_outcome_of(saved) };
    lost->status = saved ? pack_fail_errno(&why, saved, "cannot be opened again")
                         : pack_fail(&why, PACK_ERR_FORMAT, "is no file any more");
    snprintf(lost->reason, sizeof lost->reason, "%.*s", PACK_SAMPLE_REASON_MAX - 1,
             why.text);
    return true;
}

enum pack_status
pack_convert_wait(struct run *run, const struct sample_record *record,
                  const struct pack_sample *sample, bool *waits)
{
    enum pack_status status =
        pack_convert_row_count(run->params, &run->row, sample, run->err);
    *waits = run->row.n > 0;
    return status == PACK_OK && *waits
               ? pack_convert_put_record(&run->waiting, record, sample->reason, run->err)
               : status;
}

enum pack_status
pack_convert_wait_over(struct run *run, struct block **block)
{
    const uint8_t *at = run->waiting.data, *end = at + run->waiting.size;
    struct sample_record record;
    enum pack_status status = PACK_OK;
    while (at != end && status == PACK_OK) {
        const char *reason = pack_convert_read_record(&at, end, &record);
        status = pack_convert_add(run, block, &record, reason, NULL);
    }
    run->waiting.size = 0;
    run->row.n = 0;
    return status;
}

enum pack_status
pack_convert_row_end(const struct pack_convert_params *params,
                     const struct pack_convert_row *row, struct pack_error *err)
{
    uint64_t n = row->n;
    if (n == 0)
        return PACK_OK;
    for (uint64_t i = row->first; i > 0 && n < PACK_CONVERT_ROW_MAX;) {
        if (can_be_read(params, --i))
            return PACK_OK;
        n += !(errno == ENOENT && params->gone_are_rejects);
    }
    return fail_row(params->source, row,
                    row->first ? "; none of those before can be read again" : "", err);
}

enum pack_status
pack_convert_wait_end(struct run *run, struct block **block)
{
    bool blank = run->params->options.on_error == PACK_ON_ERROR_BLANK;
    if (run->row.n == 0)
        return PACK_OK;
    enum pack_status status = pack_convert_row_end(run->params, &run->row, run->err);
    /* that nothing was read complete() finds */
    return status == PACK_OK || (run->result->n_packed == 0 && !blank)
               ? pack_convert_wait_over(run, block)
               : status;
}
