/* The baseline: image files, decoded and scaled again in every epoch, as h5pack would
 * have done once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/bench/engine_parts.h"
#include <libpack/image.h>
#include "libpack/image/resample.h"

struct images {
    struct pack_engine_params params;
    struct pack_image image;
    struct pack_resample_scratch *scratch;
    unsigned char *file;
    size_t capacity;
};

static void
images_close(void *state)
{
    struct images *images = state;
    if (!images)
        return;
    pack_image_done(&images->image);
    pack_resample_scratch_free(images->scratch);
    free(images->file);
    free(images);
}

static enum pack_status
images_open(const struct pack_engine_params *params, void **state, struct pack_error *err)
{
    struct images *images = calloc(1, sizeof *images);
    if (!images)
        return pack_fail_memory(err, "engine");
    images->params = *params;
    enum pack_status status = pack_resample_scratch_new(&images->scratch, err);
    if (status != PACK_OK) {
        images_close(images);
        return status;
    }
    *state = images;
    return PACK_OK;
}

/* A whole file into images->file; *size is how much. */
static enum pack_status
read_file(struct images *images, int fd, size_t *size, struct pack_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return pack_fail_errno(err, errno, "cannot read");
    if ((size_t)status.st_size + 1 > images->capacity) {
        unsigned char *more = realloc(images->file, (size_t)status.st_size + 1);
        if (!more)
            return pack_fail_memory(err, "an image file");
        images->file = more;
        images->capacity = (size_t)status.st_size + 1;
    }
    for (*size = 0; *size < (size_t)status.st_size;) {
        ssize_t got = read(fd, images->file + *size, (size_t)status.st_size - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pack_fail_errno(err, errno, "cannot read");
        if (got == 0)
            break;
        *size += (size_t)got;
    }
    return PACK_OK;
}

static enum pack_status
decode(struct images *images, size_t size, const struct pack_box *box, uint8_t *out,
       struct pack_error *err)
{
    struct pack_geometry_plan plan;
    enum pack_status status =
        pack_image_decode(images->file, size, NULL, &images->image, NULL, err);
    if (status == PACK_OK)
        status = pack_geometry_plan_make(&images->params.geometry, images->image.width,
                                         images->image.height, &plan, err);
    if (status != PACK_OK)
        return status;
    if (plan.out_h != box->count[1] || plan.out_w != box->count[2])
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "is %ux%u, others are %llux%llu; --size or --shorter and --crop "
                         "make them equal",
                         plan.out_h, plan.out_w, (unsigned long long)box->count[1],
                         (unsigned long long)box->count[2]);
    return pack_resample(&images->image, &plan, images->params.layout, out,
                         images->scratch, err);
}

/* Keeps why an image was skipped, once, as long as there is room. */
static void
note_reason(struct images *images, uint64_t index, const struct pack_error *why)
{
    struct pack_engine_where *where = images->params.where;
    char path[PACK_ENGINE_REASON_MAX / 2], reason[PACK_ENGINE_REASON_MAX];
    pack_source_path(images->params.source, index, path, sizeof path);
    snprintf(reason, sizeof reason, "%s: %.*s", path, PACK_ENGINE_REASON_MAX / 2 - 3,
             why->text);
    for (uint32_t i = 0; i < where->n_reasons; i++)
        if (strcmp(where->reason[i], reason) == 0)
            return;
    if (where->n_reasons == PACK_ENGINE_REASONS_MAX)
        return;
    memcpy(where->reason[where->n_reasons], reason, sizeof reason);
    where->n_reasons++;
}

/* An image that cannot be read or decoded is skipped, as tolerant loaders do. */
static enum pack_status
one_image(struct images *images, uint64_t index, const struct pack_box *box, uint8_t *out,
          struct pack_read_cost *cost, struct pack_error *err)
{
    const struct pack_source *source = images->params.source;
    int fd = -1;
    size_t size = 0;
    uint64_t begin_ns = pack_clock_ns();
    struct pack_error why = { 0 };
    enum pack_status status = pack_source_open_file(source, index, &fd, &why);
    if (status == PACK_OK) {
        status = read_file(images, fd, &size, &why);
        close(fd);
    }
    uint64_t read_ns = pack_clock_ns() - begin_ns;
    if (status == PACK_OK)
        status = decode(images, size, box, out, &why);
    if (status == PACK_ERR_MEMORY)
        return pack_fail(err, status, "%s", why.text);
    if (status != PACK_OK)
        note_reason(images, index, &why);
    uint64_t call_ns = pack_clock_ns() - begin_ns;
    pack_histogram_add(&images->params.where->latency, read_ns);
    struct pack_read_cost one = { .calls = 1,
                                  .call_ns = call_ns,
                                  .file_reads = 1,
                                  .file_read_bytes = size,
                                  .storage_ns = read_ns,
                                  .decode_ns = call_ns - read_ns,
                                  .wanted_bytes = status == PACK_OK ? size : 0,
                                  .skipped = status != PACK_OK };
    pack_read_cost_add(cost, &one);
    return PACK_OK;
}

static enum pack_status
images_read(void *state, const struct pack_box *boxes, size_t n_boxes, void *out,
            struct pack_read_cost *cost, struct pack_error *err)
{
    struct images *images = state;
    uint8_t *at = out;
    enum pack_status status = PACK_OK;
    for (size_t b = 0; b < n_boxes; b++)
        for (uint64_t i = 0; i < boxes[b].count[0] && status == PACK_OK; i++) {
            const struct pack_box *box = &boxes[b];
            images->params.where->box = *box;
            images->params.where->box.start[0] += i;
            status = one_image(images, box->start[0] + i, box, at, cost, err);
            at += box->count[1] * box->count[2] * box->count[3];
        }
    return status;
}

const struct pack_engine_ops pack_engine_images = {
    .name = "images",
    .purpose = "image files, decoded at every epoch",
    .open = images_open,
    .read = images_read,
    .close = images_close,
};
