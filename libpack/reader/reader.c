/* Opening and closing; the work is the crew's. */
#include <libpack/reader.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/base/clock.h"
#include "libpack/base/pool.h"
#include "libpack/base/size.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/model/pattern_order.h"
#include "libpack/reader/reader_parts.h"

enum { AHEAD_DEFAULT = 2, AHEAD_MAX = 1 << 16, FURTHER_MAX = 256 };

/* More batches that may be kept are not allocated before they are: then there are as many as
 * a loop keeps that holds one until it has the next. */
enum { KEPT_AT_ONCE_MAX = 1 << 16, KEPT_BEGIN = 2 };

static const struct pack_fetch_ops *const strategies[] = {
    [PACK_READER_AUTO] = NULL, /* pack_fetch_best() */
    [PACK_READER_PREAD] = &pack_fetch_pread,
    [PACK_READER_MMAP] = &pack_fetch_mmap,
    [PACK_READER_DIRECT] = &pack_fetch_direct,
};
enum { N_STRATEGIES = sizeof strategies / sizeof strategies[0] };

static enum pack_status
check_files_given(const struct pack_reader_params *p, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (p->n_files == 0)
        return pack_check_given(err, "file", p->file, NULL);
    if (p->file)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "files",
                               "there is a list of files beside 'file'");
    status = pack_check_given(err, "files", p->files, NULL);
    for (size_t i = 0; i < p->n_files && status == PACK_OK; i++)
        status = pack_check_given(err, "files", p->files[i], NULL);
    return status;
}

enum pack_status
pack_reader_check(const struct pack_reader_params *p, struct pack_error *err)
{
    enum pack_status status = pack_check_given(err, "dataset", p->dataset, NULL);
    if (status == PACK_OK)
        status = check_files_given(p, err);
    if (status == PACK_OK)
        status = pack_check_choice("strategy", (int)p->strategy, N_STRATEGIES, err);
    if (status == PACK_OK)
        status = pack_check_count("n_threads", p->n_threads, PACK_POOL_THREADS_MAX, err);
    if (status == PACK_OK)
        status = pack_check_count("n_ahead", p->n_ahead, AHEAD_MAX, err);
    if (status == PACK_OK)
        status = pack_check_count("n_kept", p->n_kept, PACK_READER_KEEP_ALL, err);
    if (status == PACK_OK && !p->buffers.allocate != !p->buffers.release)
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "buffers",
                                 "allocate and release are given together");
    if (status == PACK_OK)
        status = pack_check_count("n_further", p->n_further, FURTHER_MAX, err);
    if (status == PACK_OK && p->n_further > 0)
        status = pack_check_given(err, "further", p->further, NULL);
    for (size_t i = 0; i < p->n_further && status == PACK_OK; i++)
        status = pack_check_given(err, "further", p->further[i], NULL);
    if (status == PACK_OK &&
        (p->pattern.workers > 1 || p->pattern.worker > 0 || p->pattern.read != 0))
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "pattern",
                                 "a reader has no workers, and reads by sample");
    return status;
}

/* ------------------------------------------------------------------ opening */

static bool
is_other_order(const struct pack_type *type)
{
    bool is_number = type->class_id == PACK_TYPE_INTEGER ||
                     type->class_id == PACK_TYPE_FLOAT ||
                     type->class_id == PACK_TYPE_BITFIELD;
    enum pack_type_order own =
        __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? PACK_ORDER_BIG : PACK_ORDER_LITTLE;
    return is_number && type->bytes > 1 && type->order != PACK_ORDER_NONE &&
           type->order != own;
}

static enum pack_status
open_draw(const struct pack_reader *r, struct pack_draw *draw, uint64_t *chunk_samples,
          struct pack_error *err)
{
    const struct pack_facts *facts = &r->map->facts;
    struct pack_pattern pattern = r->params.pattern;
    uint64_t n_epochs = r->params.n_epochs ? r->params.n_epochs : 1;
    if (r->first)
        return pack_draw_follow(draw, &r->first->present, &r->rows, r->params.position, err);
    pattern.extent = facts->extent;
    for (size_t i = 0; i < r->rows.n_files && facts->layout != PACK_LAYOUT_CHUNKED; i++)
        facts = &r->rows.files[i].map->facts; /* those of the first file that has some */
    if (pattern.chunk_samples == 0 && facts->layout == PACK_LAYOUT_CHUNKED)
        pattern.chunk_samples = pack_pattern_of_chunk(&pattern, facts->chunk.extent[0]);
    *chunk_samples = pattern.chunk_samples;
    return pack_draw_init(draw, &pattern, &r->rows, r->params.position, n_epochs, err);
}

/* The order of the dataset's samples, once as it is read and once to look ahead. */
static enum pack_status
open_draws(struct pack_reader *r, struct pack_error *err)
{
    const struct pack_facts *facts = &r->map->facts;
    uint64_t bytes = facts->type.bytes;
    char type[PACK_TYPE_TEXT_MAX];
    if (facts->type.is_padded && !r->params.file_order)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s' holds elements of type %s of which not all bits count; only "
                         "HDF5 itself reads these as numbers (h5py: f['new'] = f['old'][()])",
                         facts->path, pack_type_format(&facts->type, type));
    enum pack_status status = r->first ? pack_further_check(r, err) : PACK_OK;
    if (status == PACK_OK)
        status = open_draw(r, &r->present, &r->info.chunk_samples, err);
    if (status == PACK_OK)
        status = open_draw(r, &r->future, &r->info.chunk_samples, err);
    if (status != PACK_OK)
        return status;
    r->info.sample.rank = r->map->grid.rank;
    for (int i = 0; i < r->map->grid.rank; i++) {
        r->info.sample.extent[i] = r->present.count[i];
        bytes *= r->present.count[i]; /* of a box inside the dataset, which fits */
    }
    r->sample_bytes = r->info.sample_bytes = (size_t)bytes;
    r->info.elem_size = facts->type.bytes;
    uint64_t length = pack_pattern_length(r->present.iter), batch = r->present.batch;
    r->info.n_batches = length / batch + (length % batch != 0);
    r->swaps = !r->params.file_order && is_other_order(&facts->type);
    return PACK_OK;
}

/* What is handed out is another shape then. */
static enum pack_status
open_transform(struct pack_reader *r, struct pack_error *err)
{
    if (!r->params.transform)
        return PACK_OK;
    r->transform = malloc(sizeof *r->transform);
    if (!r->transform)
        return pack_fail_memory(err, "transform");
    enum pack_status status =
        pack_transform_init(r->transform, r->params.transform, &r->map->facts,
                            &r->info.sample, r->params.pattern.seed, err);
    r->params.transform = &r->transform->asked;
    if (status != PACK_OK)
        return status;
    pack_transform_shape(r->transform, &r->info.sample);
    r->info.elem_size = r->transform->value_bytes;
    r->info.sample_bytes = r->transform->out_bytes;
    return PACK_OK;
}

/* Whether each sample lies in one piece of one chunk, wherever its box begins. */
static bool
are_whole(const struct pack_reader *r)
{
    if (r->rows.n_parts > 1 && r->present.count[0] > 1)
        return false;
    for (size_t k = 0; k < r->rows.n_parts; k++) {
        const struct pack_grid *grid = &r->rows.files[r->rows.parts[k].file].map->grid;
        for (int i = 1; i < grid->rank; i++)
            if (r->present.count[i] != grid->chunk[i] || grid->n_chunks[i] > 1)
                return false;
    }
    return true;
}

/* The file without HDF5, if it can be read so. */
static enum pack_status
open_data(struct pack_reader *r, struct pack_error *err)
{
    const struct pack_chunkmap *map = r->map;
    const struct pack_fetch_ops *ops = strategies[r->params.strategy];
    if (map->unmapped[0]) {
        r->info.engine = "hdf5";
        snprintf(r->info.reason, sizeof r->info.reason, "%s", map->unmapped);
        return pack_reader_stock_open(r, err);
    }
    enum pack_status status = pack_rowmap_fetch(&r->rows, ops, err);
    if (status != PACK_OK)
        return status;
    r->info.engine = ops ? ops->name : pack_fetch_pread.name;
    r->makes_at_once = r->transform && are_whole(r);
    for (size_t i = 0; i < r->rows.n_files; i++)
        if (r->rows.files[i].fd >= 0 && r->rows.files[i].fetch.ops != ops) {
            r->info.engine = r->rows.files[i].fetch.ops->name;
            if (ops)
                snprintf(r->info.reason, sizeof r->info.reason, "%s", ops->refusal);
        }
    return PACK_OK;
}

enum pack_status
pack_reader_prepare(struct pack_reader *r, struct pack_error *err)
{
    const char *const *files = r->params.n_files > 0 ? r->params.files : &r->params.file;
    size_t n_files = r->params.n_files > 0 ? r->params.n_files : 1;
    r->file = strdup(files[0]);
    r->dataset = strdup(r->params.dataset);
    if (!r->file || !r->dataset)
        return pack_fail_memory(err, "reader");
    const struct pack_chunkmap_limits limits = { .memory_bytes = pack_reader_limit_bytes(r),
                                                 .watch = &r->params.watch };
    enum pack_status status =
        pack_rowmap_open(files, n_files, r->dataset, &limits, &r->rows, err);
    r->map = r->rows.whole;
    if (status == PACK_OK && r->rows.missing) {
        r->info.n_missing_sources = r->rows.n_missing;
        snprintf(r->info.missing_source, sizeof r->info.missing_source, "%s",
                 r->rows.missing);
    }
    if (status == PACK_OK)
        status = open_draws(r, err);
    if (status == PACK_OK)
        status = open_transform(r, err);
    if (status == PACK_OK)
        status = open_data(r, err);
    if (status != PACK_OK)
        return status;
    bool is_stock = r->stock != NULL;
    unsigned n_threads =
        r->params.n_threads ? r->params.n_threads : pack_pool_default_threads();
    r->info.n_threads = is_stock ? 0 : n_threads;
    r->n_ring =
        is_stock ? 1 : (r->params.n_ahead ? r->params.n_ahead : AHEAD_DEFAULT) + 1;
    r->n_jobs = r->n_ring + (r->params.n_kept > KEPT_AT_ONCE_MAX ? KEPT_BEGIN
                                                                 : r->params.n_kept);
    r->info.n_buffers = r->n_jobs;
    r->info.buffer_bytes = r->present.batch * r->info.sample_bytes;
    return PACK_OK;
}

enum pack_status
pack_reader_start(struct pack_reader *r, struct pack_error *err)
{
    if (r->stock || r->is_whole)
        return PACK_OK;
    return pack_crew_start(r, r->info.n_threads, &r->crew, err);
}

static enum pack_status
open_all(struct pack_reader *r, struct pack_error *err)
{
    enum pack_status status = pack_reader_prepare(r, err);
    if (status == PACK_OK)
        status = pack_further_prepare(r, err);
    if (status == PACK_OK)
        status = pack_reader_allocate(r, err);
    if (status == PACK_OK)
        status = pack_reader_start(r, err);
    if (status == PACK_OK)
        status = pack_further_start(r, err);
    return status;
}

enum pack_status
pack_reader_open(const struct pack_reader_params *params, struct pack_reader **out,
                 struct pack_error *err)
{
    if (!params || !out)
        return pack_check_given(err, "params", params, "reader", out, NULL);
    enum pack_status status = pack_reader_check(params, err);
    if (status != PACK_OK)
        return status;
    struct pack_reader *r = calloc(1, sizeof *r);
    if (!r)
        return pack_fail_memory(err, "reader");
    r->params = *params;
    status = open_all(r, err);
    if (status != PACK_OK) {
        pack_reader_close(r);
        return status;
    }
    *out = r;
    return PACK_OK;
}

void
pack_reader_stop(struct pack_reader *r)
{
    if (!r)
        return;
    pack_further_stop(r);
    if (r->crew)
        pack_crew_count(r->crew, &r->info);
    pack_crew_end(r->crew);
    r->crew = NULL;
    pack_h5_boxes_close(r->stock);
    r->stock = NULL;
    pack_rowmap_unfetch(&r->rows);
    r->lent = NULL;
    r->is_ended = true;
}

void
pack_reader_close(struct pack_reader *r)
{
    if (!r)
        return;
    pack_reader_stop(r);
    pack_further_close(r);
    pack_reader_release(r);
    pack_draw_done(&r->future);
    pack_draw_done(&r->present);
    pack_rowmap_done(&r->rows);
    free(r->dataset);
    free(r->file);
    free(r);
}

/* ------------------------------------------------------------------ reading */

static void
lend(struct pack_reader *r, struct pack_job *job, struct pack_reader_batch *batch)
{
    const struct pack_drawn *drawn = &job->drawn;
    r->lent = job;
    *batch = (struct pack_reader_batch){ .data = job->data,
                                         .n_samples = drawn->n_samples,
                                         .samples = drawn->samples,
                                         .epoch = drawn->epoch,
                                         .number = drawn->number,
                                         .position = drawn->position,
                                         .ready_ns = job->ready_ns,
                                         .work = job->work,
                                         .further = job->further_data,
                                         .buffer = job->number };
}

/* Looks at the files of a batch, as what was read of one that changes says nothing, good or
 * bad. Visits are in the order of files. */
static enum pack_status
check_files(const struct pack_reader *r, const struct pack_job *job, struct pack_error *err)
{
    const struct pack_rowmap_file *file, *last = NULL;
    struct pack_chunk chunk;
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < job->drawn.n_visits && status == PACK_OK; i++) {
        pack_rowmap_chunk(&r->rows, job->drawn.visits[i].number, &file, &chunk);
        if (file != last && file->fd >= 0)
            status = pack_chunkmap_check(file->map, file->fd, err);
        last = file;
    }
    return status;
}

enum pack_status
pack_reader_take(struct pack_reader *r, struct pack_job **taken, struct pack_error *err)
{
    struct pack_job *job = NULL;
    enum pack_status status = PACK_OK;
    if (r->stock) {
        job = pack_ring_at(r->ring, 0);
        if (!pack_draw_next(&r->present, &job->drawn))
            job = NULL;
        if (job)
            status = pack_reader_stock_read(r, job, err);
        if (job)
            job->ready_ns = pack_clock_ns();
    } else {
        status = pack_crew_next(r->crew, &r->params.watch, &job, err);
        if (job)
            status = check_files(r, job, err);
        if (job && status == PACK_OK && job->bad_visit < job->drawn.n_visits) {
            status = job->error.status;
            if (err)
                *err = job->error;
        } else if (job && status == PACK_OK && job->made_error.status != PACK_OK) {
            status = job->made_error.status;
            if (err)
                *err = job->made_error;
        }
    }
    *taken = job;
    return status;
}

/* A reader that waits reads from now on, and those in step with it. */
static void
begin(struct pack_reader *r)
{
    if (!r->params.waits)
        return;
    r->params.waits = false;
    if (r->crew)
        pack_crew_begin(r->crew);
    for (size_t i = 0; i < r->n_further; i++)
        begin(r->further[i]);
}

enum pack_status
pack_reader_next(struct pack_reader *r, struct pack_reader_batch *batch,
                 struct pack_error *err)
{
    struct pack_job *job;
    if (!r || !batch)
        return pack_check_given(err, "reader", r, "batch", batch, NULL);
    if (r->is_ended)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "reader", "it was stopped");
    r->lent = NULL;
    begin(r);
    enum pack_status status = r->is_stopped
                                  ? pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted")
                                  : pack_watch_check(&r->params.watch, err);
    if (status == PACK_OK)
        status = pack_reader_take(r, &job, err);
    /* those in step go on also where the first has failed, which is told of then */
    enum pack_status beside = status == PACK_ERR_INTERRUPTED
                                  ? status
                                  : pack_further_take(r, job, status == PACK_OK ? err : NULL);
    if (status == PACK_OK || beside == PACK_ERR_INTERRUPTED)
        status = beside;
    r->is_stopped = status == PACK_ERR_INTERRUPTED;
    if (status != PACK_OK)
        return status;
    if (job)
        lend(r, job, batch);
    else
        *batch = (struct pack_reader_batch){ .data = NULL };
    return PACK_OK;
}

enum pack_status
pack_reader_keep(struct pack_reader *r, const struct pack_reader_batch *batch,
                 struct pack_error *err)
{
    if (!r || !batch)
        return pack_check_given(err, "reader", r, "batch", batch, NULL);
    if (!r->lent || batch->data != r->lent->data)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "batch",
                               "it is not lent, or is kept already");
    enum pack_status status = pack_reader_make_room(r, err);
    if (status != PACK_OK)
        return status;
    pack_ring_keep(r->ring, r->lent);
    pack_further_keep_job(r, r->lent);
    r->lent = NULL;
    return PACK_OK;
}

enum pack_status
pack_reader_give_back(struct pack_reader *r, size_t buffer, struct pack_error *err)
{
    if (!r)
        return pack_check_given(err, "reader", r, NULL);
    struct pack_job *job = pack_ring_job(r->ring, buffer);
    if (!job || !pack_ring_let_go(job))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "buffer", "no batch is kept in %zu",
                               buffer);
    pack_further_give_back(r, job);
    pack_ring_give_back(r->ring, job);
    return PACK_OK;
}

enum pack_status
pack_reader_info(struct pack_reader *r, struct pack_reader_info *info,
                 struct pack_error *err)
{
    if (!r || !info)
        return pack_check_given(err, "reader", r, "info", info, NULL);
    *info = r->info;
    if (r->crew)
        pack_crew_count(r->crew, info);
    return PACK_OK;
}

enum pack_status
pack_reader_further_info(struct pack_reader *r, size_t index,
                         struct pack_reader_info *info, struct pack_error *err)
{
    if (!r || !info)
        return pack_check_given(err, "reader", r, "info", info, NULL);
    if (index >= r->n_further)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "index",
                               "%zu is not below the number of further datasets, %zu",
                               index, r->n_further);
    return pack_reader_info(r->further[index], info, err);
}
