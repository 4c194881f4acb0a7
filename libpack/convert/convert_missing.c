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
#include <unistd.h>

#include "libpack/base/numbers.h"
#include "libpack/convert/sample_chain.h"

/* The row ends here: `index` and the n - 1 before cannot be read. */
static enum pack_status
fail_row(const struct pack_source *source, uint64_t n, uint64_t index, const char *reason,
         struct pack_error *err)
{
    char path[PATH_MAX], shown[PACK_NAME_TEXT_MAX];
    pack_source_path(source, index, path, sizeof path);
    return pack_fail(
        err, PACK_ERR_IO, "%s in a row cannot be read, at last '%s', which %s",
        pack_counted(n, "image", "images").text, pack_name_text(path, shown), reason);
}

enum pack_status
pack_convert_row_count(const struct pack_source *source, struct pack_convert_row *row,
                       const struct pack_sample *sample, struct pack_error *err)
{
    if (sample->is_read)
        row->n = 0;
    if (sample->is_read || (sample->outcome != PACK_SAMPLE_MISSING && row->n == 0))
        return PACK_OK;
    if (row->n == 0)
        row->first = sample->index;
    if (++row->n < PACK_CONVERT_ROW_MAX)
        return PACK_OK;
    return fail_row(source, row->n, sample->index, sample->reason, err);
}

/* errno says why not. */
static bool
can_be_read(const struct pack_source *source, uint64_t index)
{
    int fd;
    char byte;
    if (pack_source_open_file(source, index, &fd, NULL) != PACK_OK)
        return false;
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
        can_be_read(run->params->source, sample->index))
        return false;
    *lost = (struct pack_sample){ .index = sample->index,
                                  .outcome = pack_sample_outcome_of(errno) };
    lost->status = pack_fail_errno(&why, errno, "cannot be opened again");
    snprintf(lost->reason, sizeof lost->reason, "%.*s", PACK_SAMPLE_REASON_MAX - 1,
             why.text);
    return true;
}

enum pack_status
pack_convert_wait(struct run *run, const struct sample_record *record,
                  const struct pack_sample *sample, bool *waits)
{
    enum pack_status status =
        pack_convert_row_count(run->params->source, &run->row, sample, run->err);
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
pack_convert_wait_end(struct run *run, struct block **block)
{
    const struct pack_source *source = run->params->source;
    const struct pack_convert_row *row = &run->row;
    if (row->n == 0)
        return PACK_OK;
    uint64_t n = row->n;
    for (uint64_t i = row->first; i > 0 && n < PACK_CONVERT_ROW_MAX; n++)
        if (can_be_read(source, --i))
            return pack_convert_wait_over(run, block);
    if (run->result->n_packed == 0) /* where nothing ever was read, nothing is lost */
        return pack_convert_wait_over(run, block);
    return fail_row(source, n, row->first + row->n - 1,
                    "is the last: none of those before can be read again", run->err);
}
