/*
 * One task makes one sample from beginning to end on one thread, so that an image stays
 * in that core's cache:
 *
 *     ask for a file further on ─ read ─ probe ─ (budget) ─ decode ─ resample ─ sums
 *
 * Asking for a later file (open, POSIX_FADV_WILLNEED, close) lets the kernel fetch it
 * while this one is decoded; it needs no state and no second thread. The first HEAD_BYTES
 * usually hold the headers. They tell what decoding will take, so that the budget is
 * asked once, before anything large is allocated; while waiting for it a worker holds
 * nothing but those bytes.
 */
#include <libpack/samples.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/image/resample.h"
#include <libpack/size.h>

enum { HEAD_BYTES = 65536 };

/* What a worker holds on to from image to image; what one giant image made it allocate
 * beyond that is given back. */
static const uint64_t KEEP_MAX = 64 << 20;

struct worker {
    uint8_t *bytes; /* the file */
    size_t capacity;
    struct pack_image image;
    struct pack_resample_scratch *scratch;
};

struct slot {
    struct pack_sample sample;
    uint8_t *pixels;
    size_t capacity;
};

struct pack_samples {
    struct pack_samples_params params;
    struct pack_budget *budget; /* what is left of the memory when all workers keep */
    uint64_t keep_bytes;
    struct worker *workers;
    struct slot *slots;
    size_t n_slots;
    struct pack_pool *pool;
    unsigned lane;
    uint64_t next; /* record to submit */
};

/* ----------------------------------------------------------------- reading */

static void
fail(struct pack_sample *sample, enum pack_sample_outcome outcome,
     const struct pack_error *err)
{
    sample->outcome = outcome;
    sample->status = err->status;
    snprintf(sample->reason, sizeof sample->reason, "%.*s", PACK_SAMPLE_REASON_MAX - 1,
             err->text);
}

/* Errors that come from the machine, not from this file. */
static bool
is_machine_error(int errnum)
{
    return errnum == EIO || errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM ||
           errnum == ESTALE || errnum == ETIMEDOUT || errnum == ENOTCONN;
}

static bool
is_link(const struct pack_source *source, uint64_t index)
{
    char path[PATH_MAX];
    struct stat st;
    return pack_source_path(source, index, path, sizeof path) < sizeof path &&
           lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* A name that was in its folder a moment ago and is gone means that someone works there;
 * a link to nowhere, or a name that is only in a list, is the fault of what we were
 * given.
 */
static enum pack_sample_outcome
open_outcome(const struct pack_source *source, uint64_t index, enum pack_status status,
             int errnum)
{
    if (is_machine_error(errnum) || status == PACK_ERR_MEMORY)
        return PACK_SAMPLE_FAILED;
    if (status == PACK_ERR_NOT_FOUND && !source->list && !is_link(source, index))
        return PACK_SAMPLE_FAILED;
    return PACK_SAMPLE_REJECTED;
}

static int64_t
mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool
read_fully(int fd, uint8_t *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t n = read(fd, bytes + *got, size - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return true;
}

static void
read_ahead(const struct pack_samples *s, uint64_t index)
{
    int fd;
    if (index >= s->params.source->n_records)
        return;
    if (pack_source_open_file(s->params.source, index, &fd, NULL) != PACK_OK)
        return; /* said when its turn comes */
    posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
    close(fd);
}

/* Reads `size` bytes of the file, `have` of which are there already; the size must still
 * be right. */
static enum pack_status
read_rest(int fd, struct worker *worker, size_t have, size_t size,
          const struct stat *before, struct pack_error *err)
{
    if (size > worker->capacity) {
        uint8_t *bytes = realloc(worker->bytes, size);
        if (!bytes)
            return pack_fail(err, PACK_ERR_MEMORY, "out of memory: %zu bytes of file",
                             size);
        worker->bytes = bytes;
        worker->capacity = size;
    }
    size_t got;
    if (!read_fully(fd, worker->bytes + have, size - have, &got))
        return pack_fail_errno(err, errno, "cannot read");
    struct stat after;
    if (fstat(fd, &after) != 0)
        return pack_fail_errno(err, errno, "cannot read");
    if (have + got != size || after.st_size != before->st_size ||
        mtime_ns(&after) != mtime_ns(before))
        return pack_fail(err, PACK_ERR_CHANGED, "changed while it was being read");
    return PACK_OK;
}

/* -------------------------------------------------------------- one sample */

static enum pack_status
fit_slot(struct slot *slot, size_t size, struct pack_error *err)
{
    if (size <= slot->capacity)
        return PACK_OK;
    uint8_t *pixels = realloc(slot->pixels, size);
    if (!pixels)
        return pack_fail(err, PACK_ERR_MEMORY, "out of memory: %zu bytes of pixels",
                         size);
    slot->pixels = pixels;
    slot->capacity = size;
    return PACK_OK;
}

static enum pack_status
check_size(const struct pack_samples_params *params,
           const struct pack_geometry_plan *plan, struct pack_error *err)
{
    if (params->out_h && (plan->out_h != params->out_h || plan->out_w != params->out_w))
        return pack_fail(err, PACK_ERR_FORMAT,
                         "is %" PRIu32 "x%" PRIu32 " where the others are %" PRIu32
                         "x%" PRIu32,
                         plan->out_h, plan->out_w, params->out_h, params->out_w);
    return PACK_OK;
}

/* Decodes what the plan for this size will look at. */
static enum pack_status
decode(struct pack_samples *s, struct worker *worker, struct pack_sample *sample,
       size_t size, struct pack_error *err)
{
    struct pack_image_params image = s->params.image;
    struct pack_geometry_plan plan;
    struct pack_image_window window;
    if (pack_geometry_plan_make(&s->params.geometry, sample->info.width,
                                sample->info.height, &plan, NULL) == PACK_OK) {
        window = pack_resample_source(&plan);
        image.window = &window;
    }
    return pack_image_decode(worker->bytes, size, &image, &worker->image, &sample->info,
                             err);
}

static enum pack_status
resample(struct pack_samples *s, struct worker *worker, struct slot *slot,
         struct pack_error *err)
{
    const struct pack_samples_params *params = &s->params;
    struct pack_sample *sample = &slot->sample;
    const struct pack_image *image = &worker->image;
    struct pack_geometry_plan plan;
    enum pack_status status = pack_geometry_plan_make(&params->geometry, image->width,
                                                      image->height, &plan, err);
    if (status == PACK_OK)
        status = check_size(params, &plan, err);
    if (status == PACK_OK)
        status = fit_slot(slot, (size_t)plan.out_h * plan.out_w * (size_t)image->channels,
                          err);
    if (status == PACK_OK)
        status = pack_resample(image, &plan, params->layout, slot->pixels,
                               worker->scratch, err);
    if (status != PACK_OK)
        return status;
    sample->pixels = slot->pixels;
    sample->out_h = plan.out_h;
    sample->out_w = plan.out_w;
    pack_pixel_sums(slot->pixels, params->layout, plan.out_h, plan.out_w, image->channels,
                    sample->sum, sample->sumsq);
    return PACK_OK;
}

/* What reading, decoding and resampling this file holds at its peak. */
static uint64_t
need_bytes(const struct pack_samples_params *params, const struct pack_image_info *info,
           uint64_t file_bytes)
{
    struct pack_geometry_plan plan;
    uint64_t need = pack_image_decode_bytes(info, &params->image);
    if (pack_geometry_plan_make(&params->geometry, info->width, info->height, &plan,
                                NULL) == PACK_OK)
        if (!pack_size_add(need, pack_resample_bytes(&plan), &need))
            return UINT64_MAX;
    return pack_size_add(need, file_bytes, &need) ? need : UINT64_MAX;
}

/* Back to the bytes of a head, which pack_samples_new() allocated. */
static void
shrink_bytes(struct worker *worker)
{
    uint8_t *head =
        worker->capacity > HEAD_BYTES ? realloc(worker->bytes, HEAD_BYTES) : NULL;
    if (head) {
        worker->bytes = head;
        worker->capacity = HEAD_BYTES;
    }
}

static void
shrink(struct worker *worker, uint64_t keep_bytes)
{
    const struct pack_image *image = &worker->image;
    if (worker->capacity + image->capacity + image->work_capacity <= keep_bytes)
        return;
    pack_image_done(&worker->image);
    shrink_bytes(worker);
}

/* Headers are in the first bytes of nearly every file; else the whole of it is looked at,
 * unless those bytes are of no image at all. */
static enum pack_status
probe(struct pack_samples *s, struct worker *worker, int fd, const struct stat *st,
      size_t have, struct pack_image_info *info, struct pack_error *err)
{
    enum pack_status status =
        pack_image_probe(worker->bytes, have, &s->params.image, info, err);
    size_t size = (size_t)st->st_size;
    if (status == PACK_OK || have == size || !pack_image_is_known(worker->bytes, have))
        return status;
    pack_budget_take(s->budget, size);
    status = read_rest(fd, worker, have, size, st, err);
    if (status == PACK_OK)
        status = pack_image_probe(worker->bytes, size, &s->params.image, info, err);
    if (lseek(fd, (off_t)have, SEEK_SET) < 0 && status == PACK_OK)
        status = pack_fail_errno(err, errno, "cannot read");
    shrink_bytes(worker);
    pack_budget_give(s->budget, size);
    return status;
}

static enum pack_status
make_sample(struct pack_samples *s, struct worker *worker, struct slot *slot, int fd,
            struct pack_error *err)
{
    struct pack_sample *sample = &slot->sample;
    struct stat st;
    size_t have;
    if (fstat(fd, &st) != 0)
        return pack_fail_errno(err, errno, "cannot read");
    sample->file_bytes = (uint64_t)st.st_size;
    sample->file_mtime_ns = mtime_ns(&st);
    size_t head = (uint64_t)st.st_size < HEAD_BYTES ? (size_t)st.st_size : HEAD_BYTES;
    enum pack_status status = read_rest(fd, worker, 0, head, &st, err);
    have = head;
    if (status == PACK_OK)
        status = probe(s, worker, fd, &st, have, &sample->info, err);
    if (status != PACK_OK || s->params.headers_only)
        return status;
    uint64_t need = need_bytes(&s->params, &sample->info, (uint64_t)st.st_size);
    pack_budget_take(s->budget, need);
    status = read_rest(fd, worker, have, (size_t)st.st_size, &st, err);
    if (status == PACK_OK)
        status = decode(s, worker, sample, (size_t)st.st_size, err);
    if (status == PACK_OK)
        status = resample(s, worker, slot, err);
    shrink(worker, s->keep_bytes);
    pack_budget_give(s->budget, need);
    return status;
}

static void
work(void *item, unsigned number, void *context)
{
    struct pack_samples *s = context;
    struct slot *slot = item;
    struct pack_sample *sample = &slot->sample;
    struct pack_error err;
    int fd;
    if (!s->params.no_readahead)
        read_ahead(s, sample->index + s->n_slots);
    enum pack_status status =
        pack_source_open_file(s->params.source, sample->index, &fd, &err);
    if (status != PACK_OK) {
        fail(sample, open_outcome(s->params.source, sample->index, status, errno), &err);
        return;
    }
    status = make_sample(s, &s->workers[number], slot, fd, &err);
    if (status == PACK_ERR_IO || status == PACK_ERR_MEMORY || status == PACK_ERR_CHANGED)
        fail(sample, PACK_SAMPLE_FAILED, &err);
    else if (status != PACK_OK)
        fail(sample, PACK_SAMPLE_REJECTED, &err);
    close(fd);
}

/* -------------------------------------------------------------- the stream */

static enum pack_status
worker_init(struct worker *worker, struct pack_error *err)
{
    worker->bytes = malloc(HEAD_BYTES);
    if (!worker->bytes)
        return pack_fail_memory(err, "decoder");
    worker->capacity = HEAD_BYTES;
    return pack_resample_scratch_new(&worker->scratch, err);
}

enum pack_status
pack_samples_new(const struct pack_samples_params *params, struct pack_samples **samples,
                 struct pack_error *err)
{
    struct pack_samples *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "samples");
    uint64_t share = params->memory_bytes / 2 / params->n_threads;
    s->params = *params;
    s->keep_bytes = share < KEEP_MAX ? share : KEEP_MAX;
    s->next = params->first;
    s->n_slots = params->n_slots ? params->n_slots : 4 * (size_t)params->n_threads + 4;
    s->slots = calloc(s->n_slots, sizeof *s->slots);
    s->workers = calloc(params->n_threads, sizeof *s->workers);
    enum pack_status status = pack_budget_new(
        params->memory_bytes - params->n_threads * s->keep_bytes, &s->budget, err);
    if (status == PACK_OK && (!s->slots || !s->workers))
        status = pack_fail_memory(err, "samples");
    for (unsigned i = 0; i < params->n_threads && status == PACK_OK; i++)
        status = worker_init(&s->workers[i], err);
    if (status != PACK_OK) {
        pack_samples_free(s);
        return status;
    }
    *samples = s;
    return PACK_OK;
}

void
pack_samples_free(struct pack_samples *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->slots && i < s->n_slots; i++)
        free(s->slots[i].pixels);
    for (unsigned i = 0; s->workers && i < s->params.n_threads; i++) {
        free(s->workers[i].bytes);
        pack_image_done(&s->workers[i].image);
        pack_resample_scratch_free(s->workers[i].scratch);
    }
    free(s->slots);
    free(s->workers);
    pack_budget_free(s->budget);
    free(s);
}

struct pack_pool_lane
pack_samples_lane(struct pack_samples *s)
{
    return (
        struct pack_pool_lane){ .work = work, .context = s, .in_flight_max = s->n_slots };
}

/* Submits the next record in a slot that is free: the slots are used in a circle. */
static void
submit(struct pack_samples *s)
{
    struct slot *slot = &s->slots[s->next % s->n_slots];
    slot->sample = (struct pack_sample){ .index = s->next++ };
    pack_pool_submit(s->pool, s->lane, slot);
}

void
pack_samples_start(struct pack_samples *s, struct pack_pool *pool, unsigned lane)
{
    s->pool = pool;
    s->lane = lane;
    /* one slot is the caller's: the sample it holds until it asks for the next */
    while (s->next < s->params.source->n_records &&
           s->next - s->params.first < s->n_slots - 1)
        submit(s);
}

const struct pack_sample *
pack_samples_next(struct pack_samples *s)
{
    struct slot *slot = pack_pool_next(s->pool, s->lane);
    if (!slot)
        return NULL;
    if (s->next < s->params.source->n_records)
        submit(s);
    return &slot->sample;
}

uint64_t
pack_samples_peak_bytes(struct pack_samples *s)
{
    return pack_budget_peak(s->budget);
}
