/*
 * A batch lies in a buffer that is handed out, of the caller's or the reader's own, and where
 * something is made of its samples and that not at once, in another as they are in the file.
 */
#include "libpack/reader/reader_parts.h"

#include <stdlib.h>

#include "libpack/base/size.h"

static void
add(uint64_t *sum, uint64_t n, uint64_t bytes)
{
    uint64_t product;
    if (!pack_size_mul(n, bytes, &product) || !pack_size_add(*sum, product, sum))
        *sum = UINT64_MAX;
}

/* Rows that are lent of a dataset that is kept as a whole. */
static void
add_rows(const struct pack_reader *f, uint64_t *sum)
{
    if (f->is_whole)
        add(sum, f->present.batch, f->sample_bytes);
}

uint64_t
pack_job_bytes(const struct pack_reader *r)
{
    uint64_t batch = r->present.batch;
    uint64_t sum = sizeof(struct pack_job) + pack_draw_bytes(&r->present);
    if (!r->makes_at_once)
        add(&sum, batch, r->sample_bytes);
    if (r->transform)
        add(&sum, batch, r->transform->out_bytes);
    add(&sum, r->n_further, 3 * sizeof(void *));
    for (size_t i = 0; i < r->n_further; i++)
        add_rows(r->further[i], &sum);
    return sum;
}

static void *
allocate_buffer(const struct pack_reader *r)
{
    const struct pack_reader_buffers *theirs = &r->params.buffers;
    return theirs->allocate ? theirs->allocate(theirs->context, r->info.buffer_bytes)
                            : calloc(1, r->info.buffer_bytes);
}

/* Of what is not handed out there are as many samples. */
static enum pack_status
allocate_data(const struct pack_reader *r, struct pack_job *job, struct pack_error *err)
{
    job->data = allocate_buffer(r);
    if (!job->data)
        return pack_fail_memory(err, r->params.buffers.allocate ? "batch, of the caller's"
                                                                : "batch");
    if (!r->transform)
        job->raw = job->data;
    else if (!r->makes_at_once)
        job->raw = calloc(r->present.batch, r->sample_bytes);
    return job->raw || r->makes_at_once ? PACK_OK : pack_fail_memory(err, "batch");
}

static enum pack_status
allocate_further(const struct pack_reader *r, struct pack_job *job,
                 struct pack_error *err)
{
    if (r->n_further == 0)
        return PACK_OK;
    job->further_data = calloc(r->n_further, sizeof *job->further_data);
    job->further_jobs = calloc(r->n_further, sizeof(struct pack_job *));
    job->further_rows = calloc(r->n_further, sizeof(unsigned char *));
    if (!job->further_data || !job->further_jobs || !job->further_rows)
        return pack_fail_memory(err, "further datasets");
    for (size_t i = 0; i < r->n_further; i++) {
        const struct pack_reader *f = r->further[i];
        if (f->is_whole &&
            !(job->further_rows[i] = calloc(f->present.batch, f->sample_bytes)))
            return pack_fail_memory(err, "batch");
    }
    return PACK_OK;
}

enum pack_status
pack_job_new(const struct pack_reader *r, struct pack_job **out, struct pack_error *err)
{
    struct pack_job *job = calloc(1, sizeof *job);
    if (!job)
        return pack_fail_memory(err, "batch");
    enum pack_status status = pack_drawn_init(&job->drawn, &r->present, err);
    if (status == PACK_OK)
        status = allocate_data(r, job, err);
    if (status == PACK_OK)
        status = allocate_further(r, job, err);
    if (status != PACK_OK) {
        pack_job_free(r, job);
        return status;
    }
    *out = job;
    return PACK_OK;
}

void
pack_job_free(const struct pack_reader *r, struct pack_job *job)
{
    const struct pack_reader_buffers *theirs = &r->params.buffers;
    if (!job)
        return;
    for (size_t i = 0; job->further_rows && i < r->n_further; i++)
        free(job->further_rows[i]);
    free((void *)job->further_rows);
    free((void *)job->further_jobs);
    free((void *)job->further_data);
    if (job->raw != job->data)
        free(job->raw);
    if (!theirs->allocate)
        free(job->data);
    else if (job->data)
        theirs->release(theirs->context, job->data);
    pack_drawn_done(&job->drawn);
    free(job);
}
