/*
 *     read the head ─ probe ─ (budget) ─ read the rest ─ decode ─ resample ─ sums
 *
 * The first HEAD_BYTES usually hold the headers. They tell what decoding will take, so
 * that the budget is asked once, before anything large is allocated; while waiting for it
 * a worker holds nothing but those bytes.
 */
#include "libpack/convert/sample_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/base/fd.h"
#include "libpack/base/size.h"
#include "libpack/convert/sample_memory.h"
#include "libpack/image/kind.h"
#include "libpack/image/probe.h"
#include "libpack/image/resample.h"
#include "libpack/image/pixel.h"

enum { HEAD_BYTES = 65536 };

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

enum pack_sample_outcome
pack_sample_outcome_of(int errnum)
{
    switch (errnum) {
    case 0:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:
    case ENODEV: return PACK_SAMPLE_REJECTED;
    case ENOENT:
    case EACCES:
    case EPERM:
    case EIO:
    case EUCLEAN:
    case EBADMSG: return PACK_SAMPLE_MISSING; /* bad sectors; the file system saw them */
    default: return PACK_SAMPLE_FAILED;
    }
}

static enum pack_status
fail_read(struct pack_sample_chain *c, struct pack_error *err)
{
    c->errnum = errno;
    return pack_fail_errno(err, errno, "cannot be read");
}

/* A file as it was found. */
struct found {
    int fd;
    struct stat st;
};

/* Its size and time of change must still be those that were found. */
static enum pack_status
check_unchanged(struct pack_sample_chain *c, const struct found *file,
                struct pack_error *err)
{
    struct stat after;
    if (fstat(file->fd, &after) != 0)
        return fail_read(c, err);
    if (after.st_size != file->st.st_size ||
        pack_fd_mtime_ns(&after) != pack_fd_mtime_ns(&file->st))
        return pack_fail(err, PACK_ERR_CHANGED, "changed while it was being read");
    return PACK_OK;
}

/* Reads bytes `have` to `size` of the file. */
static enum pack_status
read_part(struct pack_sample_chain *c, const struct found *file, size_t have, size_t size,
          struct pack_sample *sample, struct pack_error *err)
{
    if (size > c->capacity) {
        uint8_t *bytes = realloc(c->bytes, size);
        if (!bytes)
            return pack_fail(err, PACK_ERR_MEMORY, "out of memory: %zu bytes of file",
                             size);
        c->bytes = bytes;
        c->capacity = size;
    }
    size_t got;
    uint64_t begin_ns = pack_clock_ns();
    if (!pack_fd_read_at(file->fd, c->bytes + have, size - have, have, &got))
        return fail_read(c, err);
    sample->read_ns += pack_clock_ns() - begin_ns;
    sample->read_bytes += got;
    enum pack_status status = check_unchanged(c, file, err);
    return status == PACK_OK && have + got != size
               ? pack_fail(err, PACK_ERR_CHANGED, "changed while it was being read")
               : status;
}

/* -------------------------------------------------------------- one sample */

static enum pack_status
fit_place(struct pack_sample_place *place, size_t size, struct pack_error *err)
{
    if (size <= place->capacity)
        return PACK_OK;
    uint8_t *pixels = realloc(place->pixels, size);
    if (!pixels)
        return pack_fail(err, PACK_ERR_MEMORY, "out of memory: %zu bytes of pixels",
                         size);
    place->pixels = pixels;
    place->capacity = size;
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
decode(struct pack_sample_chain *c, struct pack_sample *sample, struct pack_error *err)
{
    struct pack_image_params image = c->params->image;
    struct pack_geometry_plan plan;
    struct pack_image_window window;
    if (pack_geometry_plan_image(&c->params->geometry, &sample->info, &plan, NULL) ==
        PACK_OK) {
        window = pack_resample_source(&plan);
        image.window = &window;
        image.reduce = plan.reduce;
    }
    return pack_image_decode(c->bytes, (size_t)sample->file_bytes, &image, &c->image,
                             &sample->info, err);
}

static enum pack_status
resample(struct pack_sample_chain *c, struct pack_sample_place *place,
         struct pack_sample *sample, struct pack_error *err)
{
    const struct pack_samples_params *params = c->params;
    const struct pack_image *image = &c->image;
    struct pack_geometry_plan plan;
    enum pack_status status =
        pack_geometry_plan_image(&params->geometry, &sample->info, &plan, err);
    if (status == PACK_OK)
        status = check_size(params, &plan, err);
    if (params->ranges_only) /* what would be rejected is */
        return status;
    if (status == PACK_OK)
        status = fit_place(
            place, (size_t)plan.out_h * plan.out_w * (size_t)image->channels, err);
    if (status == PACK_OK)
        status =
            pack_resample(image, &plan, params->layout, place->pixels, c->scratch, err);
    if (status != PACK_OK)
        return status;
    sample->pixels = place->pixels;
    sample->out_h = plan.out_h;
    sample->out_w = plan.out_w;
    if (!params->no_sums)
        pack_pixel_sums(place->pixels, params->layout, (size_t)plan.out_h * plan.out_w,
                        image->channels, sample->sum, sample->sumsq);
    return PACK_OK;
}

/* ------------------------------------------------------------------ memory */

/* Whether the budget can ever hold so much. */
static enum pack_status
check_fits(const struct pack_sample_chain *c, uint64_t bytes, struct pack_sample *sample,
           struct pack_error *err)
{
    char text[PACK_BYTES_TEXT_MAX];
    sample->need_bytes = bytes;
    if (!c->budget || bytes <= pack_budget_limit(c->budget))
        return PACK_OK;
    sample->over_memory = true;
    return pack_fail(err, PACK_ERR_MEMORY, "takes %s of memory",
                     pack_bytes_format(bytes, text));
}

/* Back to the bytes of a head, which pack_sample_chain_init() allocated. */
static void
shrink_bytes(struct pack_sample_chain *c)
{
    uint8_t *head = c->capacity > HEAD_BYTES ? realloc(c->bytes, HEAD_BYTES) : NULL;
    if (head) {
        c->bytes = head;
        c->capacity = HEAD_BYTES;
    }
}

static void
shrink(struct pack_sample_chain *c)
{
    const struct pack_image *image = &c->image;
    if (c->capacity + image->capacity + image->work_capacity +
            pack_resample_scratch_bytes(c->scratch) <=
        c->keep_bytes)
        return;
    pack_image_done(&c->image);
    pack_resample_scratch_empty(c->scratch);
    shrink_bytes(c);
}

static enum pack_status
take(struct pack_sample_chain *c, uint64_t bytes, struct pack_sample *sample,
     struct pack_error *err)
{
    enum pack_status status = check_fits(c, bytes, sample, err);
    if (status == PACK_OK && c->budget)
        pack_budget_take(c->budget, bytes);
    return status;
}

static void
give(struct pack_sample_chain *c, uint64_t bytes)
{
    if (c->budget)
        pack_budget_give(c->budget, bytes);
}

/* Whether the first bytes say all that is asked: not when what turns a PNG may follow
 * behind its pixels, and nothing will be decoded. */
static bool
is_enough(const struct pack_samples_params *params, enum pack_status status,
          const struct pack_image_info *info)
{
    return status == PACK_OK && !(params->headers_only && info->partial);
}

/* A file of which the first bytes are at hand. */
struct scattered {
    const uint8_t *head;
    size_t have;
    int fd, errnum; /* errnum: why it could not be read */
};

static size_t
read_scattered(void *context, void *to, size_t n, uint64_t offset)
{
    struct scattered *s = context;
    size_t got;
    if (offset <= s->have && n <= s->have - offset) {
        memcpy(to, s->head + offset, n);
        return n;
    }
    if (offset > INT64_MAX - n)
        return 0;
    if (pack_fd_read_at(s->fd, to, n, offset, &got))
        return got;
    s->errnum = errno;
    return 0;
}

/* Of a file whose headers lie anywhere, only those are read. */
static enum pack_status
probe_scattered(struct pack_sample_chain *c, const struct found *file, size_t have,
                struct pack_sample *sample, struct pack_error *err)
{
    struct scattered s = { c->bytes, have, file->fd, 0 };
    struct pack_image_reader reader = { .size = (uint64_t)file->st.st_size,
                                        .read_at = read_scattered,
                                        .context = &s };
    const struct pack_image_params *image = &c->params->image;
    uint64_t bytes;
    enum pack_status status = pack_image_probe_bytes(&reader, image, &bytes, err);
    if (status == PACK_OK)
        status = take(c, bytes, sample, err);
    if (status == PACK_OK) {
        status = pack_image_probe_at(&reader, image, &sample->info, err);
        give(c, bytes);
    }
    if (s.errnum) {
        errno = s.errnum;
        return fail_read(c, err);
    }
    enum pack_status unchanged =
        sample->over_memory ? PACK_OK : check_unchanged(c, file, err);
    return unchanged == PACK_OK ? status : unchanged;
}

/* More of a file whose first bytes did not say all, up to all of it. What is held while
 * waiting for memory is those first bytes. */
static enum pack_status
probe_more(struct pack_sample_chain *c, const struct found *file, size_t have,
           size_t part, struct pack_sample *sample, struct pack_error *err)
{
    size_t size = (size_t)file->st.st_size;
    for (;; part = part < size / 4 ? 4 * part : size) {
        if (take(c, part, sample, err) != PACK_OK)
            return check_fits(c, size, sample, err); /* all will be read */
        enum pack_status status = read_part(c, file, have, part, sample, err);
        bool is_read = status == PACK_OK;
        if (is_read)
            status = pack_image_probe(c->bytes, part, &c->params->image, &sample->info,
                                      err);
        shrink_bytes(c);
        give(c, part);
        if (!is_read || part == size || is_enough(c->params, status, &sample->info))
            return status;
    }
}

/* Headers are in the first bytes of nearly every file; else more of it is looked at,
 * unless those bytes are of no image at all. */
static enum pack_status
probe(struct pack_sample_chain *c, const struct found *file, size_t have,
      struct pack_sample *sample, struct pack_error *err)
{
    const struct pack_image_params *image = &c->params->image;
    if (pack_image_is_scattered(c->bytes, have))
        return probe_scattered(c, file, have, sample, err);
    enum pack_status status = pack_image_probe(c->bytes, have, image, &sample->info, err);
    size_t size = (size_t)file->st.st_size;
    if (is_enough(c->params, status, &sample->info) || have == size ||
        !pack_image_is_known(c->bytes, have))
        return status;
    if (status != PACK_OK)
        return probe_more(c, file, have, size / 4 > have ? 4 * have : size, sample, err);
    status = check_fits(c, pack_sample_need_bytes(c->params, &sample->info, size), sample, err);
    return status == PACK_OK ? probe_more(c, file, have, size, sample, err) : status;
}

static enum pack_status
check_file_size(const struct pack_samples_params *params, uint64_t size,
                struct pack_error *err)
{
    char has[PACK_BYTES_TEXT_MAX], limit[PACK_BYTES_TEXT_MAX];
    if (!params->max_file_bytes || size <= params->max_file_bytes)
        return PACK_OK;
    return pack_fail(err, PACK_ERR_LIMIT, "a file of %s is over the limit of %s",
                     pack_bytes_format(size, has),
                     pack_bytes_format(params->max_file_bytes, limit));
}

static enum pack_status
make_sample(struct pack_sample_chain *c, int fd, struct pack_sample_place *place,
            struct pack_sample *sample, struct pack_error *err)
{
    struct found file = { .fd = fd };
    if (fstat(fd, &file.st) != 0)
        return fail_read(c, err);
    size_t size = (size_t)file.st.st_size, have = size < HEAD_BYTES ? size : HEAD_BYTES;
    enum pack_status status = check_file_size(c->params, size, err);
    sample->file_bytes = size;
    sample->file_mtime_ns = pack_fd_mtime_ns(&file.st);
    if (status == PACK_OK)
        status = read_part(c, &file, 0, have, sample, err);
    if (status == PACK_OK)
        status = probe(c, &file, have, sample, err);
    if (status != PACK_OK)
        return status;
    uint64_t need = pack_sample_need_bytes(c->params, &sample->info, sample->file_bytes);
    if (c->params->headers_only)
        return check_fits(c, need, sample, err);
    if (c->params->ranges_only && sample->info.source_depth != 16)
        return PACK_OK;
    status = take(c, need, sample, err);
    if (status != PACK_OK)
        return status;
    status = read_part(c, &file, have, size, sample, err);
    if (status == PACK_OK)
        status = decode(c, sample, err);
    if (status == PACK_OK)
        status = resample(c, place, sample, err);
    shrink(c);
    give(c, need);
    return status;
}

/* ---------------------------------------------------------------- the chain */

enum pack_status
pack_sample_chain_init(struct pack_sample_chain *chain,
                       const struct pack_samples_params *params,
                       struct pack_budget *budget, uint64_t keep_bytes,
                       struct pack_error *err)
{
    *chain = (struct pack_sample_chain){ .params = params,
                                         .budget = budget,
                                         .keep_bytes = keep_bytes,
                                         .bytes = malloc(HEAD_BYTES),
                                         .capacity = HEAD_BYTES };
    if (!chain->bytes)
        return pack_fail_memory(err, "decoder");
    return pack_resample_scratch_new(&chain->scratch, err);
}

void
pack_sample_chain_done(struct pack_sample_chain *chain)
{
    free(chain->bytes);
    pack_image_done(&chain->image);
    pack_resample_scratch_free(chain->scratch);
}

/* Opens the file and makes the sample; c->errnum says what the system refused. */
static enum pack_status
try_sample(struct pack_sample_chain *c, uint64_t index, struct pack_sample_place *place,
           struct pack_sample *sample, struct pack_error *err)
{
    int fd;
    *sample = (struct pack_sample){ .index = index };
    c->errnum = 0;
    uint64_t begin_ns = pack_clock_ns();
    enum pack_status status = pack_source_open_watched(c->params->source, index,
                                                       &c->params->watch, &fd, err);
    if (status != PACK_OK) {
        c->errnum = errno;
        return status;
    }
    sample->read_ns = pack_clock_ns() - begin_ns;
    status = make_sample(c, fd, place, sample, err);
    sample->is_read = c->errnum == 0;
    size_t have = sample->file_bytes < HEAD_BYTES ? sample->file_bytes : HEAD_BYTES;
    if (status == PACK_ERR_UNSUPPORTED && !pack_image_is_known(c->bytes, have))
        sample->unread = pack_image_kind(c->bytes, have);
    close(fd);
    return status;
}

void
pack_sample_chain_run(struct pack_sample_chain *chain, uint64_t index,
                      struct pack_sample_place *place, struct pack_sample *sample)
{
    struct pack_error err;
    enum pack_status status = try_sample(chain, index, place, sample, &err);
    if (chain->errnum == EIO) /* disks and servers recover */
        status = try_sample(chain, index, place, sample, &err);
    if (chain->errnum)
        fail(sample, pack_sample_outcome_of(chain->errnum), &err);
    else if (status == PACK_ERR_IO || status == PACK_ERR_MEMORY ||
             status == PACK_ERR_CHANGED)
        fail(sample, PACK_SAMPLE_FAILED, &err);
    else if (status != PACK_OK)
        fail(sample, PACK_SAMPLE_REJECTED, &err);
}
