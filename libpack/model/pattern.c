/*
 * From a position to a request, the definition in pattern.h read from the bottom up:
 *
 *     position of this worker -> batch -> position of its rank -> position of the order
 *         -> member -> sample -> box
 *
 * Each arrow is arithmetic, so an iterator holds little more than a position. Orders that
 * can only be drawn one after another are drawn up to the position wanted; the first few
 * samples are kept for the padding that makes ranks even.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/model/pattern_check.h"
#include "libpack/model/pattern_order.h"

/* A sample on its way into a request. */
struct drawn {
    uint64_t sample;
    uint64_t place; /* in the padded order of all ranks */
};

struct pack_pattern_iter {
    struct pack_pattern pattern; /* with its defaults filled in */
    bool crops;                  /* some axis after the first has a random start */
    struct pack_order order;
    uint64_t epoch, epoch_seed, position, length;
    uint64_t rank_length;

    uint64_t n_streamed; /* samples drawn of an order that has only `next` */
    uint64_t *start;     /* the first of them, kept for padding */
    size_t start_size;

    size_t batch_size;
    struct drawn *drawn;
    uint64_t *samples;
    struct pack_box *boxes;
};

/* ----------------------------------------------------------------- opening */

/* Batches that a worker gets, and the samples in them. */
static void
set_lengths(struct pack_pattern_iter *it)
{
    const struct pack_pattern *p = &it->pattern;
    uint64_t even = it->order.length / p->world, rest = it->order.length % p->world;
    it->rank_length = even + (rest > 0 && !p->drop_uneven);
    uint64_t n_batches = it->rank_length / p->batch;
    uint64_t last = it->rank_length % p->batch; /* samples of a short batch */
    if (last > 0 && !p->drop_last)
        n_batches++;
    else
        last = 0;
    it->length = 0;
    if (n_batches > p->worker) {
        uint64_t mine = (n_batches - p->worker - 1) / p->workers + 1;
        bool has_last = (n_batches - 1) % p->workers == p->worker;
        it->length = mine * p->batch - (last && has_last ? p->batch - last : 0);
    }
}

static enum pack_status
make_buffers(struct pack_pattern_iter *it, struct pack_error *err)
{
    const struct pack_pattern *p = &it->pattern;
    uint64_t most = p->batch < it->length ? p->batch : it->length; /* in one batch */
    it->batch_size = p->read == PACK_READ_SAMPLE || most == 0 ? 1 : (size_t)most;
    it->start_size = it->order.ops->next ? (size_t)(p->world - 1) : 0;
    if (it->start_size > it->order.length)
        it->start_size = (size_t)it->order.length;
    it->drawn = calloc(it->batch_size, sizeof it->drawn[0]);
    it->samples = calloc(it->batch_size, sizeof it->samples[0]);
    it->boxes =
        calloc(p->read == PACK_READ_BATCH ? it->batch_size : 1, sizeof it->boxes[0]);
    it->start = calloc(it->start_size + 1, sizeof it->start[0]);
    if (!it->drawn || !it->samples || !it->boxes || !it->start)
        return pack_fail_memory(err, "batch of a pattern");
    return PACK_OK;
}

static void
start_epoch(struct pack_pattern_iter *it, uint64_t epoch)
{
    it->epoch = epoch;
    it->epoch_seed = pack_rng_mix(it->pattern.seed, epoch);
    it->position = 0;
    it->n_streamed = 0;
    pack_order_start(&it->order, it->epoch_seed);
}

enum pack_status
pack_pattern_new(const struct pack_pattern *pattern, struct pack_pattern_iter **iter,
                 struct pack_error *err)
{
    if (!pattern || !iter)
        return pack_check_given(err, "pattern", pattern, "iter", iter, NULL);
    struct pack_pattern_iter *it = calloc(1, sizeof *it);
    if (!it)
        return pack_fail_memory(err, "pattern");
    it->pattern = *pattern;
    enum pack_status status = pack_pattern_complete(&it->pattern, &it->crops, err);
    if (status == PACK_OK)
        status = pack_order_open(&it->order, &it->pattern, err);
    if (status == PACK_OK) {
        set_lengths(it);
        status = make_buffers(it, err);
    }
    if (status) {
        pack_pattern_free(it);
        return status;
    }
    start_epoch(it, pattern->epoch);
    *iter = it;
    return PACK_OK;
}

void
pack_pattern_free(struct pack_pattern_iter *iter)
{
    if (!iter)
        return;
    pack_order_close(&iter->order);
    free(iter->drawn);
    free(iter->samples);
    free(iter->boxes);
    free(iter->start);
    free(iter);
}

uint64_t
pack_pattern_bytes(const struct pack_pattern_iter *it)
{
    uint64_t n_boxes = it->pattern.read == PACK_READ_BATCH ? it->batch_size : 1;
    return sizeof *it + pack_order_bytes(&it->order) + n_boxes * sizeof it->boxes[0] +
           it->batch_size * (sizeof it->drawn[0] + sizeof it->samples[0]) +
           (it->start_size + 1) * sizeof it->start[0];
}

uint64_t
pack_pattern_length(const struct pack_pattern_iter *iter)
{
    return iter ? iter->length : 0;
}

uint64_t
pack_pattern_position(const struct pack_pattern_iter *iter)
{
    return iter ? iter->position : 0;
}

uint64_t
pack_pattern_epoch(const struct pack_pattern_iter *iter)
{
    return iter ? iter->epoch : 0;
}

uint64_t
pack_pattern_n_samples(const struct pack_pattern_iter *iter)
{
    return iter ? iter->order.length : 0;
}

uint64_t
pack_pattern_shared_chunks(const struct pack_pattern_iter *iter)
{
    if (!iter)
        return 0;
    const struct pack_pattern *p = &iter->pattern;
    return p->kind == PACK_PATTERN_BLOCK && p->local
               ? pack_order_shared_chunks(&iter->order, p->rank)
               : 0;
}

bool
pack_pattern_is_whole(const struct pack_pattern_iter *iter)
{
    if (!iter)
        return false;
    const struct pack_pattern *p = &iter->pattern;
    return p->kind != PACK_PATTERN_TRACE && p->read == PACK_READ_SAMPLE && !iter->crops &&
           p->box.extent[0] == 1 && p->step == 1;
}

enum pack_status
pack_pattern_seek(struct pack_pattern_iter *iter, uint64_t epoch, uint64_t position,
                  struct pack_error *err)
{
    if (!iter)
        return pack_check_given(err, "iter", iter, NULL);
    if (position > iter->length)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "position",
                               "position %" PRIu64
                               " is behind the end of an epoch of %" PRIu64 " samples",
                               position, iter->length);
    start_epoch(iter, epoch);
    iter->position = position;
    return PACK_OK;
}

/* ----------------------------------------------------------------- samples */

/* The rank's position that belongs to a position of this worker. */
static uint64_t
rank_position(const struct pack_pattern *p, uint64_t position)
{
    uint64_t batch = p->worker + position / p->batch * p->workers;
    return batch * p->batch + position % p->batch;
}

/* Draws an order that has only `next` up to a place; padding is its beginning, which a
 * reader that was sent here at once, or has nothing else, has yet to draw. */
static uint64_t
stream_to(struct pack_pattern_iter *it, uint64_t place)
{
    uint64_t sample = 0;
    bool is_padding = place >= it->order.length;
    if (is_padding)
        place %= it->order.length;
    while (it->n_streamed <= place) {
        sample = it->order.ops->next(&it->order);
        if (it->n_streamed < it->start_size)
            it->start[it->n_streamed] = sample;
        it->n_streamed++;
    }
    return is_padding ? it->start[place] : sample;
}

/* `n` samples of this rank from one of its positions on. */
static void
fill(struct pack_pattern_iter *it, uint64_t position, size_t n, uint64_t *samples)
{
    const struct pack_pattern *p = &it->pattern;
    const struct pack_order_ops *ops = it->order.ops;
    if (p->world == 1 && ops->range) {
        ops->range(&it->order, position, n, samples);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t place = (position + i) * p->world + p->rank;
        if (ops->next)
            samples[i] = stream_to(it, place);
        else
            samples[i] = ops->at(
                &it->order, place < it->order.length ? place : place % it->order.length);
    }
}

size_t
pack_pattern_samples(struct pack_pattern_iter *iter, uint64_t *samples, size_t max)
{
    if (!iter || !samples)
        return 0;
    const struct pack_pattern *p = &iter->pattern;
    size_t done = 0;
    while (done < max && iter->position < iter->length) {
        uint64_t n = iter->length - iter->position;
        if (p->workers > 1 && n > p->batch - iter->position % p->batch)
            n = p->batch - iter->position % p->batch;
        if (n > max - done)
            n = max - done;
        fill(iter, rank_position(p, iter->position), (size_t)n, samples + done);
        for (size_t i = done; p->subset && i < done + n; i++)
            samples[i] = p->subset[samples[i]];
        iter->position += n;
        done += (size_t)n;
    }
    return done;
}

/* ---------------------------------------------------------------- requests */

static void
make_box(const struct pack_pattern_iter *it, const struct drawn *drawn,
         struct pack_box *box)
{
    const struct pack_pattern *p = &it->pattern;
    if (p->kind == PACK_PATTERN_TRACE) {
        *box = p->trace[it->epoch % p->trace_epochs * p->n_samples + drawn->sample];
        return;
    }
    box->rank = p->box.rank;
    box->start[0] = drawn->sample * p->step;
    box->count[0] = p->box.extent[0];
    uint64_t word = it->crops ? pack_rng_mix(~it->epoch_seed, drawn->place) : 0;
    for (int i = 1; i < box->rank; i++) {
        uint64_t room = p->extent.extent[i] - p->box.extent[i];
        box->count[i] = p->box.extent[i];
        box->start[i] =
            room ? pack_order_below(pack_rng_mix(word, (uint64_t)i), room + 1) : 0;
    }
}

static int
by_sample(const void *a, const void *b)
{
    const struct drawn *p = a, *q = b;
    if (p->sample != q->sample)
        return p->sample < q->sample ? -1 : 1;
    return p->place < q->place ? -1 : p->place > q->place;
}

/* The boxes of a batch, a sample drawn twice being read once; those that touch along axis
 * 0 become one where they are alike. */
static size_t
batch_boxes(struct pack_pattern_iter *it, size_t n)
{
    size_t n_boxes = 0;
    qsort(it->drawn, n, sizeof it->drawn[0], by_sample);
    for (size_t i = 0; i < n; i++) {
        struct pack_box *last = n_boxes ? &it->boxes[n_boxes - 1] : NULL;
        struct pack_box box;
        if (i > 0 && it->drawn[i].sample == it->drawn[i - 1].sample)
            continue;
        make_box(it, &it->drawn[i], &box);
        if (last && !it->crops && box.start[0] <= last->start[0] + last->count[0])
            last->count[0] = box.start[0] + box.count[0] - last->start[0];
        else
            it->boxes[n_boxes++] = box;
    }
    return n_boxes;
}

/* The smallest block around all samples of a batch. */
static size_t
span_box(struct pack_pattern_iter *it, size_t n)
{
    struct pack_box *span = &it->boxes[0], box;
    make_box(it, &it->drawn[0], span);
    for (size_t k = 1; k < n; k++) {
        make_box(it, &it->drawn[k], &box);
        for (int i = 0; i < box.rank; i++) {
            uint64_t end = box.start[i] + box.count[i];
            uint64_t span_end = span->start[i] + span->count[i];
            if (span->start[i] > box.start[i])
                span->start[i] = box.start[i];
            span->count[i] = (end > span_end ? end : span_end) - span->start[i];
        }
    }
    return 1;
}

bool
pack_pattern_next(struct pack_pattern_iter *iter, struct pack_request *request)
{
    if (!iter || !request)
        return false;
    const struct pack_pattern *p = &iter->pattern;
    uint64_t first = iter->position, remain = iter->length - first;
    if (remain == 0)
        return false;
    uint64_t in_batch = p->batch - first % p->batch;
    size_t n = iter->batch_size;
    if (p->read != PACK_READ_SAMPLE)
        n = (size_t)(in_batch < remain ? in_batch : remain);
    pack_pattern_samples(iter, iter->samples, n);
    for (size_t i = 0; i < n; i++)
        iter->drawn[i] =
            (struct drawn){ iter->samples[i],
                            rank_position(p, first + i) * p->world + p->rank };
    *request = (struct pack_request){
        .position = first,
        .batch = rank_position(p, first) / p->batch,
        .n_samples = n,
        .samples = iter->samples,
        .n_boxes = 1,
        .boxes = iter->boxes,
    };
    switch (p->read) {
    case PACK_READ_SAMPLE: make_box(iter, &iter->drawn[0], iter->boxes); break;
    case PACK_READ_BATCH: request->n_boxes = batch_boxes(iter, n); break;
    case PACK_READ_SPAN: request->n_boxes = span_box(iter, n); break;
    }
    return true;
}
