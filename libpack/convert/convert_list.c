/*
 * The list of images in the journal, so that an interrupted run goes on with the list, the
 * order and the seed that it began with, whatever has become of the source since:
 *
 *     ENTRY_LIST    list_head  folders, classes, columns       once, the first entry
 *     ENTRY_ROWS    rows_head  names, labels, cells            until all rows are there
 *     ENTRY_RANGE   range_entry                                where one is looked for
 *     ENTRY_BLOCK   block_head  sample_record*  chunk_record*  one a block, as it is done
 *     ENTRY_ROWS                                               images added since
 *     ENTRY_DONE   done_entry                              before the file gets its name
 *
 * Rows are in the order of listing; the seed and the limit make the order to store of
 * them. source_store.c has their form. The list is synced before any block is begun: a
 * journal whose list is not whole has no block, and nothing to go on with.
 */
#include "libpack/convert/convert_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/source/source_extend.h"
#include "libpack/source/source_store.h"

enum { PIECE_BYTES = 1 << 16 };
static const uint64_t PIXELS_MAX = UINT64_C(1) << 40;

/* ------------------------------------------------------------------- taking */

static bool
is_whole(const struct run *run)
{
    return run->source && run->source->n_listed >= run->begun.n_rows;
}

static enum pack_status
take_list(struct run *run, const uint8_t *payload, size_t size)
{
    struct list_head *begun = &run->begun;
    if (run->source || size < sizeof *begun)
        return PACK_ERR_MISMATCH;
    memcpy(begun, payload, sizeof *begun);
    uint64_t out_pixels = (uint64_t)begun->out_h * begun->out_w;
    if (begun->n_rows == 0 || begun->chunk_samples == 0 || out_pixels == 0 ||
        out_pixels > PIXELS_MAX)
        return PACK_ERR_MISMATCH;
    return pack_source_load_head(payload + sizeof *begun, size - sizeof *begun,
                                 &run->source, run->err);
}

static enum pack_status
take_rows(struct run *run, const uint8_t *payload, size_t size)
{
    struct rows_head head;
    if (!run->source || size < sizeof head)
        return PACK_ERR_MISMATCH;
    memcpy(&head, payload, sizeof head);
    if (head.first != run->source->n_listed)
        return PACK_ERR_MISMATCH;
    return pack_source_load_rows(run->source, payload + sizeof head, size - sizeof head,
                                 head.n, run->err);
}

static enum pack_status
take_range(struct run *run, const uint8_t *payload, size_t size)
{
    struct range_entry *range = &run->begun_range;
    if (!is_whole(run) || run->has_begun_range || size != sizeof *range)
        return PACK_ERR_MISMATCH;
    memcpy(range, payload, sizeof *range);
    run->has_begun_range = range->low <= range->high;
    return run->has_begun_range ? PACK_OK : PACK_ERR_MISMATCH;
}

/* Of a block, only how many images it says to hold: convert_resume.c looks at it. */
static enum pack_status
take_block(struct run *run, const uint8_t *payload, size_t size)
{
    struct block_head head;
    bool lacks_range = run->own.options.finds_range_16 && !run->has_begun_range;
    if (!is_whole(run) || lacks_range || size < sizeof head)
        return PACK_ERR_MISMATCH;
    memcpy(&head, payload, sizeof head);
    run->result->n_saved += head.n_records;
    return PACK_OK;
}

static enum pack_status
take_done(struct run *run, size_t size)
{
    return is_whole(run) && size == sizeof(struct done_entry) ? PACK_OK
                                                              : PACK_ERR_MISMATCH;
}

static enum pack_status
take_entry(void *context, uint32_t type, const void *payload, size_t size,
           struct pack_error *err)
{
    struct run *run = context;
    enum pack_status status = pack_watch_check(&run->params->watch, err);
    if (status != PACK_OK)
        return status;
    switch (type) {
    case ENTRY_LIST: status = take_list(run, payload, size); break;
    case ENTRY_ROWS: status = take_rows(run, payload, size); break;
    case ENTRY_RANGE: status = take_range(run, payload, size); break;
    case ENTRY_BLOCK: status = take_block(run, payload, size); break;
    case ENTRY_DONE: status = take_done(run, size); break;
    default: return PACK_ERR_MISMATCH;
    }
    run->n_entries_good += status == PACK_OK;
    return status == PACK_ERR_FORMAT ? PACK_ERR_MISMATCH : status;
}

/* Where a run cannot be resumed, not now and not later. */
static enum pack_status
refuse(struct run *run, const char *how)
{
    run->stuck = true;
    return pack_fail_param(run->err, PACK_ERR_CHANGED, "force", "'%s' was begun with %s",
                           run->published ? pack_outfile_path(run->out)
                                          : pack_outfile_part_path(run->out),
                           how);
}

/* Brings the list into the order that it had. */
static enum pack_status
restore_order(struct run *run)
{
    const struct pack_convert_options *o = &run->own.options;
    enum pack_status status = PACK_OK;
    if (o->shuffle && run->begun.seed != o->seed && !run->own.any_seed) {
        char how[64];
        snprintf(how, sizeof how, "seed %" PRIu64, run->begun.seed);
        return refuse(run, how);
    }
    run->own.options.seed = o->shuffle ? run->begun.seed : 0;
    if (o->shuffle)
        status = pack_source_shuffle(run->source, o->seed, run->err);
    if (status == PACK_OK && o->limit)
        pack_source_limit(run->source, o->limit);
    if (status == PACK_OK && run->source->n_listed == run->begun.n_rows &&
        pack_source_digest(run->source) != run->begun.digest) {
        run->stuck = true;
        return pack_fail_param(run->err, PACK_ERR_FORMAT, "force",
                               "'%s': its list of images is not as it was stored",
                               pack_outfile_journal_path(run->out));
    }
    return status;
}

/* The list becomes the run's, with what was added; or the caller's is, which is equal. */
static enum pack_status
adopt(struct run *run)
{
    struct pack_source *now = run->own.source;
    enum pack_status status = restore_order(run);
    if (status != PACK_OK)
        return status;
    run->own.source = run->source;
    if (!now)
        return PACK_OK;
    if (now->n_listed == run->source->n_listed &&
        pack_source_digest(now) == pack_source_digest(run->source)) {
        pack_source_close(run->source);
        run->source = NULL;
        run->own.source = now;
        return PACK_OK;
    }
    uint64_t n_before = run->source->n_records;
    status = pack_source_extend(run->source, now, &run->result->additions, run->err);
    if (status == PACK_ERR_CHANGED) {
        char how[sizeof run->err->text];
        snprintf(how, sizeof how, "other images: %.400s", run->err->text);
        return refuse(run, how);
    }
    if (status != PACK_OK)
        return status;
    if (run->own.options.limit)
        pack_source_limit(run->source, run->own.options.limit);
    run->result->additions.n_added = run->source->n_records - n_before;
    return PACK_OK;
}

/* Without a list in the journal the caller's is needed. */
static enum pack_status
check_list(struct run *run)
{
    return run->own.source
               ? PACK_OK
               : pack_fail_param(
                     run->err, PACK_ERR_ARGUMENT, "source",
                     "no source was given, and '%s' has no list to go on with",
                     pack_outfile_journal_path(run->out));
}

enum pack_status
pack_convert_list_take(struct run *run)
{
    struct pack_journal_params jp = pack_convert_journal(run);
    if (!pack_outfile_is_resumed(run->out) && !run->published)
        return check_list(run);
    enum pack_status status = pack_journal_read(&jp, take_entry, run, run->err);
    if (status == PACK_ERR_CHANGED)
        return refuse(run, "other options, or by another version of this program");
    run->stuck = status == PACK_ERR_FORMAT;
    if (status != PACK_OK)
        return status;
    run->resumed = is_whole(run);
    status = run->resumed ? adopt(run) : check_list(run);
    run->result->n_listed = pack_source_count(run->params->source);
    return status;
}

/* ------------------------------------------------------------------ putting */

static enum pack_status
put_head(struct run *run)
{
    const struct pack_source *source = run->params->source;
    struct list_head head = {
        .n_rows = source->n_listed,
        .digest = pack_source_digest(source),
        .seed = run->params->options.seed,
        .chunk_samples = run->plan.chunk.extent[0],
        .out_h = run->plan.out_h,
        .out_w = run->plan.out_w,
    };
    run->entry.size = 0;
    enum pack_status status = pack_buf_append(&run->entry, &head, sizeof head, run->err);
    if (status == PACK_OK)
        status = pack_source_store_head(source, &run->entry, run->err);
    return status == PACK_OK
               ? pack_journal_append(run->journal, ENTRY_LIST, run->entry.data,
                                     run->entry.size, run->err)
               : status;
}

/* Appends a piece of the rows that the journal lacks. */
static enum pack_status
put_rows(struct run *run, const uint64_t *place)
{
    struct rows_head head = { .first = run->n_rows_kept };
    uint64_t next = 0;
    run->entry.size = 0;
    enum pack_status status = pack_buf_append(&run->entry, &head, sizeof head, run->err);
    if (status == PACK_OK)
        status = pack_source_store_rows(run->params->source, place, head.first,
                                        PIECE_BYTES, &run->entry, &next, run->err);
    if (status != PACK_OK)
        return status;
    head.n = next - head.first;
    memcpy(run->entry.data, &head, sizeof head);
    run->n_rows_kept = next;
    return pack_journal_append(run->journal, ENTRY_ROWS, run->entry.data, run->entry.size,
                               run->err);
}

enum pack_status
pack_convert_list_put(struct run *run)
{
    const struct pack_source *source = run->params->source;
    uint64_t *place = NULL;
    if (run->n_rows_kept == source->n_listed)
        return PACK_OK;
    enum pack_status status = pack_source_places(source, &place, run->err);
    if (status == PACK_OK && !run->resumed)
        status = put_head(run);
    while (status == PACK_OK && run->n_rows_kept < source->n_listed)
        status = put_rows(run, place);
    free(place);
    return status == PACK_OK ? pack_journal_sync(run->journal, run->err) : status;
}
