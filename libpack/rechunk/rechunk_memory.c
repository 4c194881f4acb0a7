/*
 * The order of the chunks in the result is not to depend on the number of threads, so slots
 * for target chunks get half of the memory whatever that number is, and as many workers are
 * made as the rest has room for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/large.h"
#include "libpack/base/size.h"
#include "libpack/model/grid.h"
#include "libpack/rechunk/rechunk_move_parts.h"

static uint64_t
add(uint64_t a, uint64_t b)
{
    return pack_size_add(a, b, &a) ? a : UINT64_MAX;
}

static uint64_t
mul(uint64_t a, uint64_t b)
{
    return pack_size_mul(a, b, &a) ? a : UINT64_MAX;
}

uint64_t
pack_move_room_bytes(const struct pack_rechunk_move_params *params, uint64_t chunk_bytes)
{
    return params->pipeline.n > 0 ? pack_pipeline_bound(&params->pipeline, chunk_bytes)
                                  : 0;
}

/* Target chunks that have to be held at least: one, or those of one row of them. */
static uint64_t
fewest_slots(const struct pack_rechunk_plan *plan)
{
    return plan->rows ? plan->target.n_chunks_total / plan->target.n_chunks[0] : 1;
}

/* What zlib and zstd take to encode a chunk. */
static uint64_t
encoder_bytes(const struct pack_rechunk_move_params *params, uint64_t chunk_bytes)
{
    static const uint64_t DEFLATE = 1 << 19, ZSTD = 1 << 20, ZSTD_MAX = 64 << 20;
    uint64_t most = DEFLATE;
    for (int i = 0; i < params->pipeline.n; i++)
        if (params->pipeline.filter[i].id == PACK_FILTER_ZSTD)
            most = add(ZSTD, mul(4, chunk_bytes) < ZSTD_MAX ? 4 * chunk_bytes : ZSTD_MAX);
    return params->pipeline.n > 0 ? most : 0;
}

/* A part of a load; each row in another order may go to chunks of its own. */
static uint64_t
part_bytes(const struct pack_rechunk_plan *plan)
{
    uint64_t slots = plan->rows ? mul(plan->source.chunk[0], fewest_slots(plan)) : 0;
    return add(sizeof(struct move_part), mul(slots, sizeof(struct move_slot *)));
}

/* One worker with all that is in flight for it. */
static uint64_t
worker_bytes(const struct pack_rechunk_move_params *params,
             const struct pack_rechunk_plan *plan)
{
    uint64_t room = pack_move_room_bytes(params, plan->target.chunk_bytes);
    uint64_t buffers =
        params->pipeline.n > 0 ? (uint64_t)pack_pipeline_encode_buffers(&params->pipeline)
                               : 0;
    uint64_t bytes = add(pack_chunkload_bytes(params->map), plan->source.chunk_bytes);
    bytes = add(bytes, mul(room, buffers + MOVE_IN_FLIGHT));
    bytes = add(bytes, encoder_bytes(params, plan->target.chunk_bytes));
    bytes = add(bytes, mul(MOVE_IN_FLIGHT, part_bytes(plan)));
    return add(bytes,
               MOVE_IN_FLIGHT * (sizeof(struct move_load) + sizeof(struct move_encode)));
}

/* How many more parts a load can have: few when memory is short. */
static uint64_t
more_parts(const struct pack_rechunk_plan *plan, uint64_t memory_bytes, uint64_t rest_bytes)
{
    uint64_t worth = MOVE_BATCH_BYTES / plan->source.chunk_bytes;
    uint64_t room = memory_bytes / 16 < rest_bytes ? memory_bytes / 16 : rest_bytes;
    uint64_t n = room / MOVE_IN_FLIGHT / part_bytes(plan);
    if (worth > MOVE_BATCH_MAX)
        worth = MOVE_BATCH_MAX;
    return worth < 2 ? 0 : worth - 1 < n ? worth - 1 : n;
}

static enum pack_status
fail_memory(const struct pack_rechunk_move_params *params, uint64_t least,
            struct pack_error *err)
{
    char have[PACK_BYTES_TEXT_MAX];
    if (least == UINT64_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "chunks of '%s' are more than memory can hold",
                         params->map->facts.path);
    return pack_fail_param(err, PACK_ERR_MEMORY, "memory_bytes",
                           "%s are not enough for '%s', which needs %" PRIu64 "K",
                           pack_bytes_format(params->memory_bytes, have),
                           params->map->facts.path, least / 1024 + 1);
}

/* Slots and workers of what the memory has beside the map. */
static enum pack_status
share(const struct pack_rechunk_move_params *params, struct pack_rechunk_move *move,
      struct pack_error *err)
{
    uint64_t fixed = pack_chunkmap_bytes(params->map), few = fewest_slots(&move->plan);
    uint64_t worker = worker_bytes(params, &move->plan);
    uint64_t slot = add(move->plan.target.chunk_bytes, sizeof(struct move_slot) + 32);
    uint64_t least = add(fixed, add(worker, mul(few, slot))), n_max = params->n_threads;
    if (least > params->memory_bytes)
        return fail_memory(params, least, err);
    uint64_t more = more_parts(&move->plan, params->memory_bytes, params->memory_bytes - least);
    worker += more * MOVE_IN_FLIGHT * part_bytes(&move->plan);
    move->n_batch = (unsigned)more + 1;
    uint64_t rest = params->memory_bytes - fixed, n_slots = rest / 2 / slot;
    if (n_slots > move->plan.target.n_chunks_total)
        n_slots = move->plan.target.n_chunks_total;
    if (n_slots > (rest - worker) / slot)
        n_slots = (rest - worker) / slot;
    move->n_slots = n_slots > few ? n_slots : few;
    uint64_t n_workers = (rest - move->n_slots * slot) / worker;
    move->n_workers = (unsigned)(n_workers < n_max ? n_workers : n_max);
    move->peak_bytes = fixed + move->n_slots * slot + move->n_workers * worker;
    return PACK_OK;
}

void
pack_rechunk_turn_shape(const int *axes, struct pack_shape *shape)
{
    const struct pack_shape from = *shape;
    for (int i = 0; axes && i < from.rank; i++)
        shape->extent[i] = from.extent[axes[i]];
}

/* A grid as it is seen along other axes: what follows from coordinates stays right. */
static void
turn_grid(const int *axes, struct pack_grid *grid)
{
    const struct pack_grid from = *grid;
    for (int i = 0; axes && i < from.rank; i++) {
        grid->extent[i] = from.extent[axes[i]];
        grid->chunk[i] = from.chunk[axes[i]];
        grid->n_chunks[i] = from.n_chunks[axes[i]];
        grid->number_step[i] = from.number_step[axes[i]];
    }
}

enum pack_status
pack_rechunk_move_plan(const struct pack_rechunk_move_params *params,
                       struct pack_rechunk_move *move, struct pack_error *err)
{
    struct pack_rechunk_move made = { .n_workers = 1 };
    const struct pack_facts *facts = &params->map->facts;
    struct pack_shape extent = facts->extent;
    struct pack_grid target;
    uint64_t stored = params->map->grid.chunk_bytes;
    pack_rechunk_turn_shape(params->axes, &extent);
    enum pack_status status = pack_grid_init(&target, &extent, &params->chunk,
                                             params->narrow ? 1 : facts->type.bytes, err);
    if (status != PACK_OK)
        return status;
    made.plan.source = params->map->grid;
    turn_grid(params->axes, &made.plan.source);
    made.plan.target = target;
    made.plan.rows = params->rows;
    if (params->verbatim) {
        if (params->map->stored_max_bytes > stored)
            stored = params->map->stored_max_bytes;
        made.peak_bytes = add(pack_chunkmap_bytes(params->map), stored);
        if (made.peak_bytes > params->memory_bytes)
            return fail_memory(params, made.peak_bytes, err);
        made.plan.n_loads = target.n_chunks_total;
    } else {
        status = share(params, &made, err);
        if (status != PACK_OK)
            return status;
        if (params->rows)
            status = pack_rechunk_plan_rows(&made.plan, made.n_slots, &made.plan, err);
        else
            pack_rechunk_plan_make(&made.plan.source, &made.plan.target, made.n_slots,
                                   &made.plan);
    }
    if (status == PACK_OK)
        *move = made;
    return status;
}

/* ------------------------------------------------------------- what is taken of it */

void
pack_move_free_slots(struct move_part *part)
{
    if (part->slots != &part->only)
        free(part->slots);
    part->slots = NULL;
}

/* Less of it may do. */
static enum pack_status
fail_system(struct pack_error *err)
{
    return pack_fail_param(err, PACK_ERR_MEMORY, "memory_bytes",
                           "the system has no memory for the chunks");
}

static enum pack_status
make_slots(struct mover *m, struct pack_error *err)
{
    uint64_t n = m->move->n_slots, bytes = m->move->plan.target.chunk_bytes;
    m->n_buckets = n;
    m->slots = calloc(n, sizeof *m->slots);
    m->buckets = calloc(n, sizeof *m->buckets);
    m->region = calloc(n, sizeof *m->region);
    m->data = pack_large_alloc(n * bytes);
    if (!m->slots || !m->buckets || !m->region || !m->data)
        return fail_system(err);
    for (uint64_t i = n; i-- > 0;) {
        m->slots[i].data = m->data + i * bytes;
        m->slots[i].next = m->free;
        m->free = &m->slots[i];
        m->n_free++;
    }
    return PACK_OK;
}

static enum pack_status
make_workers(struct mover *m, struct pack_error *err)
{
    uint64_t room = pack_move_room_bytes(m->params, m->move->plan.target.chunk_bytes);
    enum pack_status status = PACK_OK;
    m->n_in_flight = MOVE_IN_FLIGHT * m->move->n_workers;
    m->workers = calloc(m->move->n_workers, sizeof *m->workers);
    m->loads = calloc(m->n_in_flight, sizeof *m->loads);
    m->parts = calloc((size_t)m->n_in_flight * m->move->n_batch, sizeof *m->parts);
    m->encodes = calloc(m->n_in_flight, sizeof *m->encodes);
    if (!m->workers || !m->loads || !m->parts || !m->encodes)
        return fail_system(err);
    for (unsigned i = 0; i < m->n_in_flight; i++)
        m->loads[i].parts = m->parts + (size_t)i * m->move->n_batch;
    for (unsigned i = 0; i < m->move->n_workers && status == PACK_OK; i++) {
        struct move_worker *worker = &m->workers[i];
        worker->chunk = pack_large_alloc(m->move->plan.source.chunk_bytes);
        if (!worker->chunk)
            return fail_system(err);
        memset(worker->chunk, 0, m->move->plan.source.chunk_bytes);
        status = pack_chunkload_init(&worker->load, m->params->map, &m->fetch, err);
        if (status == PACK_OK)
            status = pack_filter_ctx_new(&worker->ctx, err);
    }
    for (unsigned i = 0; room > 0 && i < m->n_in_flight && status == PACK_OK; i++)
        if (!(m->encodes[i].room = malloc(room)))
            status = fail_system(err);
    return status;
}

enum pack_status
pack_move_set_up(struct mover *m, struct pack_error *err)
{
    const struct pack_pool_lane lanes[] = {
        [MOVE_LOAD] = { pack_move_load, m, MOVE_IN_FLIGHT * m->move->n_workers },
        [MOVE_ENCODE] = { pack_move_encode, m, MOVE_IN_FLIGHT * m->move->n_workers },
    };
    m->ready_end = &m->ready;
    enum pack_status status = make_slots(m, err);
    if (status == PACK_OK)
        status = make_workers(m, err);
    return status == PACK_OK ? pack_pool_new(m->move->n_workers, lanes, 2, &m->pool, err)
                             : status;
}

void
pack_move_tear_down(struct mover *m)
{
    pack_pool_free(m->pool);
    for (unsigned i = 0; m->workers && i < m->move->n_workers; i++) {
        pack_chunkload_done(&m->workers[i].load);
        pack_filter_ctx_free(m->workers[i].ctx);
        free(m->workers[i].chunk);
    }
    for (size_t i = 0; m->parts && i < (size_t)m->n_in_flight * m->move->n_batch; i++)
        pack_move_free_slots(&m->parts[i]);
    for (unsigned i = 0; m->encodes && i < m->n_in_flight; i++)
        free(m->encodes[i].room);
    free(m->workers);
    free(m->loads);
    free(m->parts);
    free(m->encodes);
    free(m->slots);
    free(m->buckets);
    free(m->region);
    free(m->data);
}
