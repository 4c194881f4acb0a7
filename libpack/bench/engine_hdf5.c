/*
 * The stock library, opened as users open it: one handle and one chunk cache per file and
 * process. What is counted comes from the file driver underneath, so that library and
 * file are the unmodified ones.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/engine_parts.h"
#include "libpack/hdf5/h5_boxes.h"

struct part {
    struct pack_h5_boxes *reader;
    struct pack_h5_count count;
    const struct pack_h5_dataset *data;
    bool filtered;
};

struct hdf5 {
    const struct pack_readset *set;
    struct pack_engine_activity *activity;
    struct pack_box *boxes; /* of a request, as they lie in one part */
    size_t n_boxes_max;
    size_t n_parts;
    struct part part[];
};

static void
on_read_done(void *context, const struct pack_h5_access *access, uint64_t start_ns,
             uint64_t elapsed_ns)
{
    (void)start_ns;
    if (access->raw)
        pack_histogram_add(context, elapsed_ns);
}

static void
hdf5_close(void *state)
{
    struct hdf5 *hdf5 = state;
    if (!hdf5)
        return;
    for (size_t i = 0; i < hdf5->n_parts; i++)
        pack_h5_boxes_close(hdf5->part[i].reader);
    free(hdf5->boxes);
    free(hdf5);
}

static bool
is_filtered(const struct pack_h5_dataset *d)
{
    bool filtered = d->facts.pipeline.n > 0;
    for (size_t i = 0; i < d->sources.n_sources; i++)
        filtered = filtered || d->sources.sources[i].facts.pipeline.n > 0;
    return filtered;
}

static enum pack_status
hdf5_open(const struct pack_engine_params *params, void **state, struct pack_error *err)
{
    const struct pack_readset *set = params->set.readset;
    const struct pack_engine_open *open = &params->set.open;
    struct hdf5 *hdf5 = calloc(1, sizeof *hdf5 + set->n_parts * sizeof *hdf5->part);
    enum pack_status status = PACK_OK;
    if (!hdf5)
        return pack_fail_memory(err, "engine");
    hdf5->set = set;
    hdf5->activity = params->activity;
    hdf5->n_parts = set->n_parts;
    for (size_t i = 0; i < set->n_parts && status == PACK_OK; i++) {
        struct part *part = &hdf5->part[i];
        struct pack_h5_boxes_params p = { .file = set->parts[i].data->file,
                                          .dataset = set->dataset,
                                          .set_cache = open->set_cache,
                                          .cache = open->cache,
                                          .reopen = open->reopen,
                                          .walk_index = open->walk_index,
                                          .count = &part->count };
        part->count.context = &params->activity->latency;
        part->count.on_read_done = on_read_done;
        part->data = set->parts[i].data;
        part->filtered = is_filtered(part->data);
        status = pack_h5_boxes_open(&p, &part->reader, err);
        part->count.raw = part->count.metadata = (struct pack_h5_counters){ 0 };
    }
    if (status != PACK_OK) {
        hdf5_close(hdf5);
        return status;
    }
    *state = hdf5;
    return PACK_OK;
}

static uint64_t
minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Moves what the driver counted during one call into *cost, and splits its time. */
static void
settle(struct part *part, uint64_t call_ns, struct pack_read_cost *cost)
{
    struct pack_h5_counters *raw = &part->count.raw, *metadata = &part->count.metadata;
    struct pack_h5_boxes_reopened reopened = pack_h5_boxes_reopened(part->reader);
    uint64_t below_ns = raw->file_read_ns + metadata->file_read_ns;
    uint64_t reopen_ns = minus(reopened.elapsed_ns, reopened.file_read_ns);
    uint64_t rest_ns = minus(call_ns + reopened.elapsed_ns, below_ns + reopen_ns);
    struct pack_read_cost call = {
        .calls = 1,
        .call_ns = below_ns + reopen_ns + rest_ns,
        .reopen_ns = reopen_ns,
        .file_reads = raw->file_reads,
        .file_read_bytes = raw->file_read_bytes,
        .storage_ns = raw->file_read_ns,
        .metadata_reads = metadata->file_reads,
        .metadata_bytes = metadata->file_read_bytes,
        .metadata_ns = metadata->file_read_ns,
    };
    /* a call that loads filtered chunks spends its time on decoding them */
    if (part->filtered && raw->file_reads > 0)
        call.decode_ns = rest_ns;
    else
        call.overhead_ns = rest_ns;
    pack_read_cost_add(cost, &call);
    *raw = *metadata = (struct pack_h5_counters){ 0 };
}

static enum pack_status
reserve(struct hdf5 *hdf5, size_t n_boxes, struct pack_error *err)
{
    if (n_boxes <= hdf5->n_boxes_max)
        return PACK_OK;
    struct pack_box *more = realloc(hdf5->boxes, n_boxes * sizeof *more);
    if (!more)
        return pack_fail_memory(err, "a request");
    hdf5->boxes = more;
    hdf5->n_boxes_max = n_boxes;
    return PACK_OK;
}

static enum pack_status
hdf5_read(void *state, const struct pack_box *boxes, size_t n_boxes, void *out,
          struct pack_read_cost *cost, struct pack_error *err)
{
    struct hdf5 *hdf5 = state;
    struct pack_engine_activity *activity = hdf5->activity;
    struct pack_readset_cursor cursor = { 0 };
    size_t n, index;
    unsigned char *at = out;
    enum pack_status status = reserve(hdf5, n_boxes, err);
    while (status == PACK_OK && (n = pack_readset_take(hdf5->set, boxes, n_boxes, &cursor,
                                                       hdf5->boxes, &index)) > 0) {
        struct part *part = &hdf5->part[index];
        uint64_t call_ns = 0;
        activity->part = (uint32_t)index;
        activity->box.rank = hdf5->boxes[0].rank;
        memcpy(activity->box.start, hdf5->boxes[0].start,
               (size_t)activity->box.rank * sizeof *activity->box.start);
        activity->reading = true;
        status = pack_h5_boxes_read(part->reader, hdf5->boxes, n, at, &call_ns, err);
        activity->reading = false;
        settle(part, call_ns, cost);
        cost->requests += pack_readset_requests(part->data, hdf5->boxes, n);
        for (size_t i = 0; i < n; i++) {
            uint64_t bytes = pack_readset_box_bytes(hdf5->set, &hdf5->boxes[i]);
            at += bytes;
            cost->wanted_bytes += bytes;
        }
    }
    return status;
}

const struct pack_engine_ops pack_engine_hdf5 = {
    .name = "hdf5",
    .purpose = "the stock library with its chunk cache",
    .kind = PACK_ENGINE_SET,
    .open = hdf5_open,
    .read = hdf5_read,
    .close = hdf5_close,
};
