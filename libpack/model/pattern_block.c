/*
 * Block shuffles. The chunks of the file lie in a random order on a line, from which the
 * epoch is cut. A refilled pool is a run of whole chunks, whose samples are permuted:
 *
 *     line   | c4 | c1 | c0 | c8| c5 | c2 | c3 | c6 | c7 |     c8 is the short last chunk
 *     pools  |--------------|-------------|--------------|     of three chunks
 *
 * All of it is arithmetic on places of the line: which chunk lies there is a permutation
 * that is computed, and so is the order within a pool.
 *
 * Worker-local: PyTorch deals batch i to worker i mod W, so that each worker of each rank
 * gets a share of known size: as many samples as its batches hold. The line is cut into
 * these shares, rank after rank and worker after worker, and each share into pools of its
 * own. Two workers with batches of 6, chunks of 4, 33 samples, pools of two chunks:
 *
 *     line     | c4 | c1 | c0 | c6 | c2 | c7 | c5 |8| c3 |
 *     shares   |------ worker 0 ------|---- worker 1 ----|
 *     pools    |---------|---------|--|-------|------|---|
 *     batches  0, 2 and 4, of 6 each    1, 3, and 5 of 3
 *
 * Batch i is the (i / W)-th batch of share i mod W. No chunk is loaded twice but those
 * that lie across the end of a share (c2), one less than there are shares at most, and
 * none where the batches of each share fill whole chunks. Shares need no remainders that
 * would have to be mixed: they are whole batches, and the short last batch belongs to the
 * worker that reads it. Chunks dealt whole to workers would leave each of them with up to
 * a batch too many or too few, scattered over the chunks of a pool, which another worker
 * would have to load again: up to W batches' worth of loads instead of W - 1.
 *
 * Of a subset, chunks have as many samples as they have members: where each slot begins is
 * kept in a list then, and no chunk is the short one.
 *
 * So that the short last chunk displaces nobody, it lies in the last share, at a random
 * place; and the last share of a rank is that of the worker with the short last batch,
 * whose end is the only one that is not a multiple of the batch size.
 */
#include <assert.h>
#include <stdlib.h>

#include "libpack/model/pattern_order.h"

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t
max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---------------------------------------------------------------- the line */

/* Chunks on the line are counted in slots. */
static uint64_t
chunk_in_slot(const struct pack_order *order, uint64_t slot)
{
    if (slot == order->short_at)
        return order->n_chunks - 1;
    if (slot == order->short_from)
        slot = order->short_at;
    return pack_permutation_at(&order->permutation, slot);
}

static uint64_t
slot_start(const struct pack_order *order, uint64_t slot)
{
    if (order->groups.line)
        return order->groups.line[slot];
    return slot * order->chunk_samples - (slot > order->short_at ? order->shortfall : 0);
}

static uint64_t
slot_at(const struct pack_order *order, uint64_t place)
{
    if (order->groups.line)
        return pack_order_groups_slot(&order->groups, order->n_chunks, place);
    if (place >= slot_start(order, order->short_at + 1))
        place += order->shortfall;
    return place / order->chunk_samples;
}

/* Samples of a chunk. */
static uint64_t
chunk_size(const struct pack_order *order, uint64_t chunk)
{
    const uint64_t *first = order->groups.first;
    return first ? first[chunk + 1] - first[chunk]
                 : min_u64(order->chunk_samples,
                           order->n_samples - chunk * order->chunk_samples);
}

/* One of them. */
static uint64_t
chunk_sample(const struct pack_order *order, uint64_t chunk, uint64_t i)
{
    const struct pack_order_groups *groups = &order->groups;
    uint64_t at = groups->first ? groups->first[chunk] : chunk * order->chunk_samples;
    return groups->member ? groups->member[at + i] : at + i;
}

static uint64_t
sample_at(const struct pack_order *order, uint64_t place)
{
    uint64_t slot = slot_at(order, place);
    return chunk_sample(order, chunk_in_slot(order, slot),
                        place - slot_start(order, slot));
}

/* A part of the line that goes to one reader. */
struct share {
    uint64_t number, seed, first, end;
};

/* One filling of a pool: the part of a share that it takes. */
struct pool {
    uint64_t number, first, size;
};

static struct pool
pool_at(const struct pack_order *order, const struct share *share, uint64_t place)
{
    uint64_t first_slot = slot_at(order, share->first);
    struct pool pool = { .number =
                             (slot_at(order, place) - first_slot) / order->pool_chunks };
    uint64_t slot = first_slot + pool.number * order->pool_chunks;
    uint64_t end_slot = min_u64(slot + order->pool_chunks, order->n_chunks);
    pool.first = max_u64(share->first, slot_start(order, slot));
    pool.size = min_u64(share->end, slot_start(order, end_slot)) - pool.first;
    return pool;
}

static void
permute_pool(struct pack_order *order, const struct share *share, const struct pool *pool)
{
    if (order->permuted_share == share->number && order->permuted_pool == pool->number)
        return;
    order->permuted_share = share->number;
    order->permuted_pool = pool->number;
    pack_permutation_init(&order->pool_permutation, pool->size,
                          pack_order_word(share->seed, pool->number));
}

/* `count` samples of a share, whose pools are permuted, from a place of the line on. */
static void
share_range(struct pack_order *order, const struct share *share, uint64_t place,
            size_t count, uint64_t *samples)
{
    while (count > 0) {
        struct pool pool = pool_at(order, share, place);
        assert(place >= pool.first && place - pool.first < pool.size);
        size_t n = (size_t)min_u64(count, pool.first + pool.size - place);
        permute_pool(order, share, &pool);
        pack_permutation_range(&order->pool_permutation, place - pool.first, n, samples);
        for (size_t i = 0; i < n; i++)
            samples[i] = sample_at(order, pool.first + samples[i]);
        place += n;
        samples += n;
        count -= n;
    }
}

/* ------------------------------------------------------------ opening, all */

uint64_t
pack_pattern_of_chunk(const struct pack_pattern *pattern, uint64_t n_indexes)
{
    uint64_t step = pattern->step ? pattern->step : 1;
    return n_indexes > step ? n_indexes / step : 1;
}

static enum pack_status
block_open(struct pack_order *order, const struct pack_pattern *pattern,
           struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    order->chunk_samples = pattern->chunk_samples ? pattern->chunk_samples : 1;
    order->chunk_samples = min_u64(order->chunk_samples, pattern->n_samples);
    order->n_chunks = (order->n_samples - 1) / order->chunk_samples + 1;
    if (pattern->subset)
        status = pack_order_group(&order->groups, pattern, order->chunk_samples,
                                  &order->n_chunks, err);
    order->pool_chunks =
        min_u64(pattern->pool_chunks ? pattern->pool_chunks : 32, order->n_chunks);
    order->world = pattern->world;
    order->workers = pattern->dealt;
    order->batch = pattern->batch;
    return status;
}

static void
block_start(struct pack_order *order, uint64_t seed)
{
    order->seed = seed;
    pack_permutation_init(&order->permutation, order->n_chunks, seed);
    order->permuted_share = order->permuted_pool = UINT64_MAX;
    if (order->groups.first) {
        pack_order_groups_line(&order->groups, &order->permutation, seed);
        order->short_at = order->short_from = UINT64_MAX;
        return;
    }
    order->shortfall = order->n_chunks * order->chunk_samples - order->n_samples;
    order->short_from = pack_permutation_find(&order->permutation, order->n_chunks - 1);
    order->short_at = order->short_from;
}

/* ---------------------------------------------------- one pool for everyone */

static void
refill_range(struct pack_order *order, uint64_t first, size_t count, uint64_t *samples)
{
    struct share all = { .seed = order->seed, .end = order->n_samples };
    share_range(order, &all, first, count, samples);
}

static uint64_t
refill_at(struct pack_order *order, uint64_t position)
{
    uint64_t sample;
    refill_range(order, position, 1, &sample);
    return sample;
}

/* ------------------------------------------------------------ worker-local */

/* The share of one worker of one rank. */
static struct share
share_of(const struct pack_order *order, uint64_t rank, uint64_t worker)
{
    uint64_t even = order->n_samples / order->world;
    uint64_t n_longer = order->n_samples % order->world; /* ranks with one sample more */
    uint64_t size = even + (rank < n_longer);
    uint64_t n_batches = size / order->batch, rest = size % order->batch;
    uint64_t each = n_batches / order->workers;
    uint64_t last = n_batches % order->workers; /* the worker with the short batch */
    uint64_t before = worker > last
                          ? (worker - last - 1) * each
                          : (order->workers - 1 - last) * each + worker * (each + 1);
    struct share share = { .number = rank * order->workers + worker };
    share.seed = pack_order_word(order->seed, share.number);
    share.first = rank * even + min_u64(rank, n_longer) + before * order->batch;
    share.end = share.first + (each + (worker < last)) * order->batch +
                (worker == last ? rest : 0);
    return share;
}

/* The share that is last on the line. */
static struct share
last_share(const struct pack_order *order)
{
    uint64_t size = order->n_samples / order->world;
    return share_of(order, order->world - 1, size / order->batch % order->workers);
}

static void
local_start(struct pack_order *order, uint64_t seed)
{
    block_start(order, seed);
    if (order->shortfall == 0)
        return;
    uint64_t first = last_share(order).first;
    uint64_t slot = min_u64((first + order->chunk_samples - 1) / order->chunk_samples,
                            order->n_chunks - 1);
    uint64_t word = pack_order_word(seed, order->world * order->workers);
    order->short_at = slot + pack_order_below(word, order->n_chunks - slot);
}

/* Of one rank's positions, from `first` on. */
static void
local_fill(struct pack_order *order, uint64_t rank, uint64_t first, size_t count,
           uint64_t *samples)
{
    while (count > 0) {
        uint64_t batch = first / order->batch, in_batch = first % order->batch;
        struct share share = share_of(order, rank, batch % order->workers);
        size_t n = (size_t)min_u64(count, order->batch - in_batch);
        share_range(order, &share,
                    share.first + batch / order->workers * order->batch + in_batch, n,
                    samples);
        first += n;
        samples += n;
        count -= n;
    }
}

static uint64_t
local_at(struct pack_order *order, uint64_t position)
{
    uint64_t sample;
    local_fill(order, position % order->world, position / order->world, 1, &sample);
    return sample;
}

static void
local_range(struct pack_order *order, uint64_t first, size_t count, uint64_t *samples)
{
    local_fill(order, 0, first, count, samples); /* asked only where there is one rank */
}

uint64_t
pack_order_shared_chunks(const struct pack_order *order, uint64_t rank)
{
    uint64_t n = 0, n_batches = order->n_samples / order->world / order->batch + 2;
    for (uint64_t worker = 0; worker < min_u64(order->workers, n_batches); worker++) {
        struct share share = share_of(order, rank, worker);
        n += share.first < share.end &&
             slot_start(order, slot_at(order, share.first)) != share.first;
    }
    return n;
}

/* ----------------------------------------------------------- sliding pool */

static enum pack_status
slide_open(struct pack_order *order, const struct pack_pattern *pattern,
           struct pack_error *err)
{
    enum pack_status status = block_open(order, pattern, err);
    if (status != PACK_OK)
        return status;
    order->held = calloc(order->pool_chunks, sizeof order->held[0]);
    return order->held ? PACK_OK : pack_fail_memory(err, "pool of chunks");
}

static void
slide_start(struct pack_order *order, uint64_t seed)
{
    block_start(order, seed);
    pack_rng_seed(&order->rng, pack_order_word(seed, 0));
    order->n_held = order->next_chunk = 0;
}

static uint64_t
slide_next(struct pack_order *order)
{
    for (; order->n_held < order->pool_chunks && order->next_chunk < order->n_chunks;
         order->next_chunk++) {
        struct pack_held_chunk *held = &order->held[order->n_held++];
        held->chunk = pack_permutation_at(&order->permutation, order->next_chunk);
        held->taken = 0;
        pack_permutation_init(&held->permutation, chunk_size(order, held->chunk),
                              pack_order_word(order->seed, 1 + held->chunk));
    }
    uint64_t draw = pack_rng_below(&order->rng, order->n_held);
    struct pack_held_chunk *held = &order->held[draw];
    uint64_t sample = chunk_sample(
        order, held->chunk, pack_permutation_at(&held->permutation, held->taken++));
    if (held->taken == held->permutation.n)
        *held = order->held[--order->n_held];
    return sample;
}

const struct pack_order_ops pack_order_refill = { block_open, block_start, refill_at,
                                                  refill_range, NULL };
const struct pack_order_ops pack_order_local = { block_open, local_start, local_at,
                                                 local_range, NULL };
const struct pack_order_ops pack_order_slide = { slide_open, slide_start, NULL, NULL,
                                                 slide_next };
