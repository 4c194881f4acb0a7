/*
 * Datasets in step with the first, such as its labels. Each has a reader of its own that
 * follows the first one's order, batch by batch. One that is small has no threads: it is
 * read as a whole when it is opened, and its rows are copied when a batch is lent.
 */
#include "libpack/reader/reader_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"

/* All that are kept as a whole take no more than this, nor than a sixteenth of the memory
 * that is left when each has the least that does. */
static const uint64_t KEEP_BYTES_MAX = 64 << 20;
enum { KEEP_PART = 16 };

/* ------------------------------------------------------------------ opening */

enum pack_status
pack_further_check(const struct pack_reader *f, struct pack_error *err)
{
    const struct pack_facts *own = &f->map->facts, *first = &f->first->map->facts;
    if (own->extent.extent[0] == first->extent.extent[0])
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "further",
                           "'%s': '%s' has %" PRIu64
                           " indexes along axis 0, and '%s' %" PRIu64
                           "; datasets in step are of one length",
                           f->file, f->dataset, own->extent.extent[0], f->first->dataset,
                           first->extent.extent[0]);
}

enum pack_status
pack_further_prepare(struct pack_reader *r, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    size_t n = r->params.n_further;
    r->further = calloc(n + 1, sizeof *r->further);
    if (!r->further)
        return pack_fail_memory(err, "further datasets");
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        struct pack_reader *f = calloc(1, sizeof *f);
        if (!f)
            return pack_fail_memory(err, "further datasets");
        r->further[r->n_further++] = f;
        f->params = r->params;
        f->params.dataset = r->params.further[i];
        f->params.n_further = 0;
        f->params.transform = NULL;
        f->params.buffers = (struct pack_reader_buffers){ .context = NULL };
        f->first = r;
        status = pack_reader_prepare(f, err);
    }
    return status;
}

enum pack_status
pack_further_start(struct pack_reader *r, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < r->n_further && status == PACK_OK; i++)
        status = pack_reader_start(r->further[i], err);
    return status;
}

void
pack_further_stop(const struct pack_reader *r)
{
    for (size_t i = 0; i < r->n_further; i++)
        pack_reader_stop(r->further[i]);
}

void
pack_further_close(struct pack_reader *r)
{
    for (size_t i = 0; i < r->n_further; i++)
        pack_reader_close(r->further[i]);
    free(r->further);
}

/* ------------------------------------------------------------ kept as a whole */

/* What reads from the file is not needed any more. */
static void
let_go(struct pack_reader *f)
{
    pack_h5_boxes_close(f->stock);
    f->stock = NULL;
    pack_rowmap_unfetch(&f->rows);
    f->info.engine = "memory";
    f->info.reason[0] = '\0';
    f->info.n_threads = 0;
}

/* All of the dataset in one file, of n_rows. */
static enum pack_status
read_rows(const struct pack_reader *f, const char *file, uint64_t n_rows, unsigned char *to,
          struct pack_error *err)
{
    const struct pack_facts *facts = &f->map->facts;
    struct pack_h5_boxes_params params = { .file = file, .dataset = f->dataset };
    struct pack_h5_boxes *stock = NULL;
    struct pack_box box = { .rank = facts->extent.rank };
    memcpy(box.count, facts->extent.extent, sizeof box.count);
    box.count[0] = n_rows;
    enum pack_status status =
        facts->pipeline.n > 0 ? pack_h5_register_zstd(err) : PACK_OK;
    if (status == PACK_OK)
        status = pack_h5_boxes_open(&params, &stock, err);
    if (status == PACK_OK)
        status = pack_h5_boxes_read(stock, &box, 1, to, NULL, err);
    pack_h5_boxes_close(stock);
    return status;
}

static enum pack_status
read_list(const struct pack_reader *f, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    unsigned char *to = f->whole;
    uint64_t row_bytes = f->map->facts.logical_bytes / f->map->facts.extent.extent[0];
    for (size_t i = 0; i < f->params.n_files && status == PACK_OK; i++) {
        uint64_t n_rows = f->rows.listed_rows[i];
        status = read_rows(f, f->params.files[i], n_rows, to, err);
        to += n_rows * row_bytes;
    }
    return status;
}

static enum pack_status
read_whole(struct pack_reader *f, struct pack_error *err)
{
    const struct pack_facts *facts = &f->map->facts;
    struct pack_strided all = { .run_bytes = facts->logical_bytes };
    enum pack_status status = PACK_OK;
    f->whole = malloc(facts->logical_bytes);
    if (!f->whole)
        return pack_fail_memory(err, "further dataset");
    if (f->rows.listed_rows)
        status = read_list(f, err);
    else
        status = read_rows(f, f->file, facts->extent.extent[0], f->whole, err);
    for (size_t i = 0; i < f->rows.n_files && status == PACK_OK; i++)
        if (f->rows.files[i].map->facts.layout != PACK_LAYOUT_VIRTUAL)
            status = pack_chunkmap_check(f->rows.files[i].map, f->rows.files[i].fd, err);
    if (status == PACK_OK && f->swaps)
        pack_strided_swap(&all, facts->type.bytes, f->whole);
    let_go(f);
    return status;
}

/* What both it and the first take at least. */
static enum pack_status
find_least(const struct pack_reader *f, uint64_t *bytes, struct pack_error *err)
{
    uint64_t first;
    enum pack_status status = pack_reader_least(f, bytes, err);
    if (status == PACK_OK)
        status = pack_reader_least(f->first, &first, err);
    if (status == PACK_OK)
        *bytes += first; /* each is at most half of what a number holds */
    return status;
}

/* What reading it would have taken is left instead, less what it takes to keep it, if there
 * is so much. */
static enum pack_status
keep(struct pack_reader *f, uint64_t *left, struct pack_error *err)
{
    uint64_t read, kept;
    enum pack_status status = find_least(f, &read, err);
    f->is_whole = true;
    if (status == PACK_OK)
        status = find_least(f, &kept, err);
    if (status != PACK_OK)
        return status;
    if (kept > read && kept - read > *left) {
        f->is_whole = false;
        return PACK_OK;
    }
    *left += read;
    *left -= kept;
    return read_whole(f, err);
}

enum pack_status
pack_further_keep(struct pack_reader *r, uint64_t *left, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    uint64_t room =
        *left / KEEP_PART < KEEP_BYTES_MAX ? *left / KEEP_PART : KEEP_BYTES_MAX;
    for (size_t i = 0; i < r->n_further && status == PACK_OK; i++) {
        uint64_t bytes = r->further[i]->map->facts.logical_bytes;
        if (bytes > room)
            continue;
        room -= bytes;
        status = keep(r->further[i], left, err);
    }
    return status;
}

/* ------------------------------------------------------------------ reading */

/* To where the job has room for them. */
static void
copy_rows(const struct pack_reader *f, const struct pack_job *job, unsigned char *rows)
{
    const struct pack_facts *facts = &f->map->facts;
    size_t row_bytes = (size_t)(facts->logical_bytes / facts->extent.extent[0]);
    size_t rank = (size_t)f->first->map->grid.rank;
    for (size_t i = 0; i < job->drawn.n_samples; i++)
        memcpy(rows + i * f->sample_bytes,
               f->whole + job->drawn.starts[i * rank] * row_bytes, f->sample_bytes);
}

/* The batch of dataset `i` that belongs to a job, if that is one. */
static enum pack_status
take_one(struct pack_reader *f, size_t i, const struct pack_job *job, struct pack_error *err)
{
    struct pack_job *own = NULL;
    enum pack_status status = PACK_OK;
    if (!f->is_whole)
        status = pack_reader_take(f, &own, err);
    else if (job)
        copy_rows(f, job, job->further_rows[i]);
    if (!job)
        return status;
    job->further_jobs[i] = own;
    job->further_data[i] = f->is_whole ? job->further_rows[i] : own ? own->data : NULL;
    return status;
}

enum pack_status
pack_further_take(struct pack_reader *r, const struct pack_job *job,
                  struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < r->n_further && status != PACK_ERR_INTERRUPTED; i++) {
        enum pack_status one =
            take_one(r->further[i], i, job, status == PACK_OK ? err : NULL);
        if (status == PACK_OK || one == PACK_ERR_INTERRUPTED)
            status = one;
    }
    return status;
}

void
pack_further_keep_job(const struct pack_reader *r, const struct pack_job *job)
{
    for (size_t i = 0; i < r->n_further; i++)
        if (job->further_jobs[i])
            pack_ring_keep(r->further[i]->ring, job->further_jobs[i]);
}

void
pack_further_give_back(const struct pack_reader *r, const struct pack_job *job)
{
    for (size_t i = 0; i < r->n_further; i++)
        if (job->further_jobs[i] && pack_ring_let_go(job->further_jobs[i]))
            pack_ring_give_back(r->further[i]->ring, job->further_jobs[i]);
}
