/* The baseline: image files, decoded and scaled again in every epoch, as h5pack would
 * have done once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/bench/engine_parts.h"
#include "libpack/convert/sample_chain.h"

struct images {
    const struct pack_source *source;
    struct pack_engine_activity *activity;
    struct pack_samples_params decode;
    struct pack_sample_chain chain;
};

static void
images_close(void *state)
{
    struct images *images = state;
    if (!images)
        return;
    pack_sample_chain_done(&images->chain);
    free(images);
}

static enum pack_status
images_open(const struct pack_engine_params *params, void **state, struct pack_error *err)
{
    struct images *images = calloc(1, sizeof *images);
    if (!images)
        return pack_fail_memory(err, "engine");
    images->source = params->images.source;
    images->activity = params->activity;
    images->decode = (struct pack_samples_params){ .source = params->images.source,
                                                   .geometry = params->images.geometry,
                                                   .layout = params->images.layout,
                                                   .no_sums = true };
    enum pack_status status =
        pack_sample_chain_init(&images->chain, &images->decode, NULL, UINT64_MAX, err);
    if (status != PACK_OK) {
        images_close(images);
        return status;
    }
    *state = images;
    return PACK_OK;
}

/* Keeps why an image was skipped, once, as long as there is room. */
static void
note_reason(struct images *images, uint64_t index, const char *why)
{
    struct pack_engine_activity *activity = images->activity;
    char path[PACK_ENGINE_REASON_MAX / 2], reason[PACK_ENGINE_REASON_MAX];
    pack_source_path(images->source, index, path, sizeof path);
    snprintf(reason, sizeof reason, "%s: %.*s", path, PACK_ENGINE_REASON_MAX / 2 - 3,
             why);
    for (uint32_t i = 0; i < activity->n_reasons; i++)
        if (strcmp(activity->reason[i], reason) == 0)
            return;
    if (activity->n_reasons == PACK_ENGINE_REASONS_MAX)
        return;
    memcpy(activity->reason[activity->n_reasons], reason, sizeof reason);
    activity->n_reasons++;
}

/* An image that cannot be read or decoded is skipped, as tolerant loaders do. */
static enum pack_status
one_image(struct images *images, uint64_t index, const struct pack_box *box, uint8_t *out,
          struct pack_read_cost *cost, struct pack_error *err)
{
    struct pack_sample_place place = { out, box->count[1] * box->count[2] *
                                                box->count[3] };
    struct pack_sample sample;
    uint64_t begin_ns = pack_clock_ns();
    images->decode.out_h = (uint32_t)box->count[1];
    images->decode.out_w = (uint32_t)box->count[2];
    pack_sample_chain_run(&images->chain, index, &place, &sample);
    uint64_t call_ns = pack_clock_ns() - begin_ns;
    bool ready = sample.outcome == PACK_SAMPLE_READY;
    if (sample.status == PACK_ERR_MEMORY)
        return pack_fail(err, sample.status, "%s", sample.reason);
    if (!ready)
        note_reason(images, index, sample.reason);
    pack_histogram_add(&images->activity->latency, sample.read_ns);
    struct pack_read_cost one = { .calls = 1,
                                  .call_ns = call_ns,
                                  .file_reads = 1,
                                  .file_read_bytes = sample.read_bytes,
                                  .storage_ns = sample.read_ns,
                                  .decode_ns = call_ns - sample.read_ns,
                                  .wanted_bytes = ready ? sample.file_bytes : 0,
                                  .skipped = !ready };
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
            images->activity->box = *box;
            images->activity->box.start[0] += i;
            status = one_image(images, box->start[0] + i, box, at, cost, err);
            at += box->count[1] * box->count[2] * box->count[3];
        }
    return status;
}

const struct pack_engine_ops pack_engine_images = {
    .name = "images",
    .purpose = "image files, decoded at every epoch",
    .kind = PACK_ENGINE_IMAGES,
    .open = images_open,
    .read = images_read,
    .close = images_close,
};
