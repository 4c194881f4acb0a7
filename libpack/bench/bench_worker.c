/*
 * What a reader process does with each batch: asks the pattern what to read next, has it
 * read to where it belongs in the batch, and says what that took. How the process begins,
 * waits and ends is procs_worker.c's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libpack/bench/bench_request.h"
#include "libpack/base/clock.h"
#include "libpack/bench/nvtx.h"

enum { PRELOAD_BYTES = 32 << 20 }; /* read at a time */

struct reader {
    const struct bench_plan *plan;
    struct bench_activity *activity;
    struct pack_pattern_iter *iter;
    struct bench_side main, with;
    uint64_t round, n_lanes;
    bool began;
    uint64_t end_ns; /* of the batch before */
    bool knows_storage;
    struct pack_system_usage usage; /* up to there */
    struct bench_requests requests;
    struct pack_box *with_boxes;
    size_t n_with_boxes;
    struct piece *pieces; /* of a batch, room for one each sample; with torch */
    size_t n_pieces;
};

/* Samples in memory of their own, not yet in their batch. */
struct piece {
    void *data;
    size_t bytes;
};

static void
free_pieces(struct reader *reader)
{
    for (size_t i = 0; i < reader->n_pieces; i++)
        free(reader->pieces[i].data);
    reader->n_pieces = 0;
}

static void
reader_close(void *state)
{
    struct reader *reader = state;
    if (!reader)
        return;
    reader->plan->engine->close(reader->main.engine);
    reader->plan->engine->close(reader->with.engine);
    pack_pattern_free(reader->iter);
    pack_bench_requests_done(&reader->requests);
    free(reader->with_boxes);
    free_pieces(reader);
    free(reader->pieces);
    free(reader);
}

/* ------------------------------------------------------------ making a batch */

/* The same indexes of axis 0, whole, of the second dataset. */
static enum pack_status
with_request(struct reader *reader, const struct pack_request *request,
             struct pack_request *with, struct pack_error *err)
{
    const struct pack_shape *extent = &reader->with.set->extent;
    if (request->n_boxes > reader->n_with_boxes) {
        struct pack_box *more =
            realloc(reader->with_boxes, request->n_boxes * sizeof *more);
        if (!more)
            return pack_fail_memory(err, "a request");
        reader->with_boxes = more;
        reader->n_with_boxes = request->n_boxes;
    }
    for (size_t b = 0; b < request->n_boxes; b++) {
        struct pack_box *box = &reader->with_boxes[b];
        box->rank = extent->rank;
        for (int i = 0; i < extent->rank; i++) {
            box->start[i] = i ? 0 : request->boxes[b].start[0];
            box->count[i] = i ? extent->extent[i] : request->boxes[b].count[0];
        }
    }
    *with = *request;
    with->boxes = reader->with_boxes;
    return PACK_OK;
}

/* Keeps the processor busy, as an interpreter would. */
static void
interpret(uint64_t ns, struct bench_note *note)
{
    uint64_t begin_ns = pack_clock_ns(), now_ns = begin_ns;
    while (ns && now_ns - begin_ns < ns)
        now_ns = pack_clock_ns();
    note->work.interpret_ns += now_ns - begin_ns;
}

/* Reads a request into new memory, which is copied into the batch when all requests have
 * been read, as a list of samples is collated. */
static enum pack_status
read_apart(struct reader *reader, const struct pack_request *request,
           struct bench_note *note, struct pack_error *err)
{
    uint64_t stride = reader->plan->stride_bytes, skipped = note->work.read.skipped;
    struct piece *piece = &reader->pieces[reader->n_pieces];
    piece->bytes = request->n_samples * stride;
    piece->data = malloc(piece->bytes ? piece->bytes : 1);
    if (!piece->data)
        return pack_fail_memory(err, "a sample");
    reader->n_pieces++;
    enum pack_status status = pack_bench_read_request(
        &reader->requests, &reader->main, request, piece->data, &note->work, err);
    if (note->work.read.skipped > skipped)
        piece->bytes = 0;
    interpret(reader->plan->params.hand_over.sample_ns * request->n_samples, note);
    return status;
}

static void
collate(struct reader *reader, unsigned char *data, struct bench_note *note)
{
    uint64_t begin_ns = pack_clock_ns();
    for (size_t i = 0; i < reader->n_pieces; i++) {
        memcpy(data, reader->pieces[i].data, reader->pieces[i].bytes);
        data += reader->pieces[i].bytes;
    }
    free_pieces(reader);
    free(reader->requests.scratch); /* that of the next batch is new too */
    reader->requests.scratch = NULL;
    reader->requests.scratch_bytes = 0;
    note->work.collate_ns = pack_clock_ns() - begin_ns;
    interpret(reader->plan->params.hand_over.batch_ns, note);
}

static enum pack_status
read_batch(struct reader *reader, uint64_t number, unsigned char *data,
           struct bench_note *note, struct pack_error *err)
{
    const struct bench_plan *plan = reader->plan;
    bool is_torch = plan->params.hand_over.torch;
    unsigned char *with_data = data + plan->batch_max * plan->stride_bytes;
    struct pack_request request, with;
    enum pack_status status = PACK_OK;
    uint64_t n = pack_bench_batch_samples(plan, number), asked = 0;
    for (; asked < n && status == PACK_OK; asked += request.n_samples) {
        uint64_t done = asked - note->work.read.skipped; /* skipped ones leave no gap */
        if (!pack_pattern_next(reader->iter, &request))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "the pattern ended before batch %llu",
                             (unsigned long long)number);
        reader->activity->in_with = false;
        status = is_torch
                     ? read_apart(reader, &request, note, err)
                     : pack_bench_read_request(&reader->requests, &reader->main, &request,
                                               data + done * plan->stride_bytes,
                                               &note->work, err);
        if (status != PACK_OK || !reader->with.set)
            continue;
        reader->activity->in_with = true;
        status = with_request(reader, &request, &with, err);
        if (status == PACK_OK)
            status = pack_bench_read_request(&reader->requests, &reader->with, &with,
                                             with_data + done * plan->with_stride_bytes,
                                             &note->work, err);
    }
    note->n_samples = asked - note->work.read.skipped;
    if (is_torch && status == PACK_OK)
        collate(reader, data, note);
    return status;
}

static uint64_t
delay(uint64_t ns)
{
    struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
                          .tv_nsec = (long)(ns % 1000000000) };
    uint64_t begin_ns = pack_clock_ns();
    if (ns)
        nanosleep(&t, NULL);
    return ns ? pack_clock_ns() - begin_ns : 0;
}

/* What the process used since its batch before. */
static void
count_usage(struct reader *reader, struct bench_note *note)
{
    struct pack_system_usage now, *before = &reader->usage;
    pack_system_usage(&now);
    note->work.knows_storage = reader->knows_storage;
    note->usage.user_ns = now.user_ns - before->user_ns;
    note->usage.system_ns = now.system_ns - before->system_ns;
    note->usage.storage_bytes = now.storage_bytes - before->storage_bytes;
    note->work.storage_bytes = note->usage.storage_bytes;
    *before = now;
}

static enum pack_status
reader_fill(void *state, uint64_t round, uint64_t item, void *data, void *out,
            struct pack_error *err)
{
    struct reader *reader = state;
    struct bench_note *note = out;
    enum pack_status status = PACK_OK;
    *note = (struct bench_note){ .begin_ns = pack_clock_ns() };
    reader->activity->round = round;
    reader->activity->batch = item;
    if (!reader->began || reader->round != round) {
        status =
            pack_pattern_seek(reader->iter, reader->plan->pattern.epoch + round, 0, err);
        reader->began = true;
        reader->round = round;
    } else {
        note->work.idle_ns = note->begin_ns - reader->end_ns;
    }
    pack_nvtx_begin("read");
    if (status == PACK_OK)
        status = read_batch(reader, item, data, note, err);
    pack_nvtx_end();
    if (status != PACK_OK)
        return status;
    note->work.delay_ns = delay(reader->plan->params.workers.delay_ns);
    count_usage(reader, note);
    note->end_ns = reader->end_ns = pack_clock_ns();
    note->work.total_ns = note->end_ns - note->begin_ns;
    return PACK_OK;
}

/* ----------------------------------------------------------------- opening */

static enum pack_status
open_side(struct reader *reader, struct bench_side *side,
          struct pack_engine_activity *activity, struct pack_error *err)
{
    const struct pack_bench_params *p = &reader->plan->params;
    struct pack_engine_params params = { .activity = activity };
    if (side->set) {
        params.kind = PACK_ENGINE_SET;
        params.set.readset = side->set;
        params.set.open = p->open;
    } else {
        params.kind = PACK_ENGINE_IMAGES;
        params.images = p->images;
    }
    return pack_engine_open(reader->plan->engine, &params, &side->engine, err);
}

/* Whole rows of chunks, until as many bytes were read as the cache can hold; parts of rows
 * where they are large: a chunk that is cached is loaded once all the same. */
static enum pack_status
preload(struct reader *reader, struct pack_error *err)
{
    const struct bench_side *side = &reader->main;
    const struct pack_shape *extent = &side->set->extent;
    const struct pack_grid *grid = &side->set->parts[0].data->chunks.grid;
    uint64_t step = grid->rank ? grid->chunk[0] : 1, read = 0;
    uint64_t room = reader->plan->params.open.cache.size_bytes;
    struct pack_box box = { .rank = extent->rank };
    struct pack_read_cost cost = { 0 };
    for (int i = 1; i < box.rank; i++)
        box.count[i] = extent->extent[i];
    uint64_t row = pack_bench_row_bytes(side, &box);
    if (row && step > PRELOAD_BYTES / row)
        step = row < PRELOAD_BYTES ? PRELOAD_BYTES / row : 1;
    enum pack_status status = pack_bench_reserve(&reader->requests, step, row, err);
    for (uint64_t at = 0; at < extent->extent[0] && read < room && status == PACK_OK;
         at += step) {
        uint64_t left = extent->extent[0] - at;
        box.start[0] = at;
        box.count[0] = left < step ? left : step;
        read += box.count[0] * row;
        status = reader->plan->engine->read(side->engine, &box, 1,
                                            reader->requests.scratch, &cost, err);
    }
    return status;
}

static enum pack_status
open_parts(struct reader *reader, unsigned worker, struct pack_error *err)
{
    const struct bench_plan *plan = reader->plan;
    struct pack_pattern pattern = plan->pattern;
    pattern.workers = reader->n_lanes;
    pattern.worker = worker;
    enum pack_status status = pack_pattern_new(&pattern, &reader->iter, err);
    if (status != PACK_OK)
        return status;
    if (plan->params.hand_over.torch) {
        reader->pieces = calloc((size_t)plan->batch_max, sizeof *reader->pieces);
        if (!reader->pieces)
            return pack_fail_memory(err, "a reader");
    }
    status = open_side(reader, &reader->main, &reader->activity->set, err);
    if (status == PACK_OK && reader->with.set)
        status = open_side(reader, &reader->with, &reader->activity->with, err);
    if (status == PACK_OK && plan->params.preload && reader->main.set)
        status = preload(reader, err);
    return status;
}

static enum pack_status
reader_open(void *context, unsigned worker, void *activity, void **state,
            struct pack_error *err)
{
    const struct bench_plan *plan = context;
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return pack_fail_memory(err, "a reader");
    reader->plan = reader->requests.plan = plan;
    reader->activity = activity;
    reader->n_lanes = plan->params.workers.n ? plan->params.workers.n : 1;
    reader->main = (struct bench_side){ .set = plan->params.set,
                                        .stride_bytes = plan->stride_bytes };
    reader->with = (struct bench_side){ .set = plan->params.with,
                                        .stride_bytes = plan->with_stride_bytes,
                                        .is_with = true };
    enum pack_status status = open_parts(reader, worker, err);
    if (status != PACK_OK) {
        reader_close(reader);
        return status;
    }
    uint64_t bytes;
    reader->knows_storage = pack_system_storage_bytes(&bytes);
    pack_system_usage(&reader->usage);
    *state = reader;
    return PACK_OK;
}

static void
reader_describe(void *context, const void *shared, char *text, size_t size)
{
    const struct bench_plan *plan = context;
    const struct bench_activity *activity = shared;
    const struct pack_readset *set =
        activity->in_with ? plan->params.with : plan->params.set;
    const struct pack_engine_activity *at =
        activity->in_with ? &activity->with : &activity->set;
    if (!set) {
        snprintf(text, size, "decoding image %llu", (unsigned long long)at->box.start[0]);
        return;
    }
    size_t part = at->part < set->n_parts ? at->part : 0;
    const struct pack_grid *grid = &set->parts[part].data->chunks.grid;
    char place[PACK_SHAPE_TEXT_MAX] = "";
    size_t used = 0;
    for (int i = 0; i < at->box.rank && used < sizeof place; i++)
        used += (size_t)snprintf(
            place + used, sizeof place - used, "%s%llu", i ? "," : "",
            (unsigned long long)(at->box.start[i] / (grid->rank ? grid->chunk[i] : 1)));
    snprintf(text, size, "%s '%s:/%s', %s (%s)", at->reading ? "reading" : "after reading",
             set->parts[part].data->file, set->dataset, grid->rank ? "chunk" : "element",
             place);
}

const struct pack_procs_ops pack_bench_worker_ops = {
    .open = reader_open,
    .fill = reader_fill,
    .close = reader_close,
    .describe = reader_describe,
};
