/*
 * Along one axis, with source chunks of s elements and target chunks of t, regions of m
 * target chunks cut through a source chunk wherever a border, a multiple of m t, is none of
 * s; each cut is one more load:
 *
 *     s   |-------|-------|-------|       n_s = 3, m = 1: borders at t and 2t, both cut:
 *     t   |----------|----------|--       5 loads, or 3 with m = s / gcd(s, t)
 *
 * The loads of the dataset are the product over all axes. Along the axis that is swept,
 * regions need no borders: a target chunk is done as soon as the sweep is past it, so that
 * only those are held that the current row of source chunks touches. Memory is therefore
 * (rows held along the swept axis) times (target chunks of the region along all others).
 *
 * First every axis is tried as the swept one, with the smallest regions that cut nothing.
 * If none fits, regions grow from a single target chunk, each time along the axis where the
 * loads shrink most, as long as there is room.
 */
#include "libpack/rechunk/rechunk_plan.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/model/grid.h"

static uint64_t
min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t
gcd(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t
mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return pack_size_mul(a, b, &product) ? product : UINT64_MAX;
}

/* The fewest target chunks per region along an axis that cut no source chunk. */
static uint64_t
whole_region(const struct pack_rechunk_plan *plan, int axis)
{
    uint64_t s = plan->source.chunk[axis], t = plan->target.chunk[axis];
    return min_of(s / gcd(s, t), plan->target.n_chunks[axis]);
}

/* Loads along an axis, with regions of m target chunks. */
static uint64_t
loads_along(const struct pack_rechunk_plan *plan, int axis, uint64_t m)
{
    uint64_t s = plan->source.chunk[axis], n = plan->target.n_chunks[axis];
    uint64_t n_borders = (n - 1) / m;
    if (n_borders == 0)
        return plan->source.n_chunks[axis];
    uint64_t length = m * plan->target.chunk[axis];
    return plan->source.n_chunks[axis] + n_borders - n_borders / (s / gcd(length, s));
}

/* Rows of target chunks that a row of source chunks touches, at most. */
static uint64_t
rows_held(const struct pack_rechunk_plan *plan, int axis)
{
    uint64_t s = min_of(plan->source.chunk[axis], plan->source.extent[axis]);
    uint64_t t = plan->target.chunk[axis], n;
    if (t % plan->source.chunk[axis] == 0)
        n = 1;
    else if (s % t == 0)
        n = s / t;
    else
        n = (s - 1) / t + 2;
    return min_of(n, plan->target.n_chunks[axis]);
}

static uint64_t
held(const struct pack_rechunk_plan *plan)
{
    uint64_t n = min_of(rows_held(plan, plan->sweep), plan->region[plan->sweep]);
    for (int i = 0; i < plan->target.rank; i++)
        if (i != plan->sweep)
            n = mul(n, plan->region[i]);
    return n;
}

static uint64_t
loads(const struct pack_rechunk_plan *plan)
{
    uint64_t n = 1;
    for (int i = 0; i < plan->target.rank; i++)
        n = mul(n, loads_along(plan, i, plan->region[i]));
    return n;
}

/* Regions that cut nothing, as large as there is room for beginning with the last axis, so
 * that the file is read and written in long stretches; false when they do not fit. */
static bool
make_whole(struct pack_rechunk_plan *plan, int sweep, uint64_t n_slots)
{
    plan->sweep = sweep;
    for (int i = 0; i < plan->target.rank; i++)
        plan->region[i] =
            i == sweep ? plan->target.n_chunks[i] : whole_region(plan, i);
    uint64_t n_held = held(plan);
    if (n_held > n_slots)
        return false;
    for (int i = plan->target.rank - 1; i >= 0; i--) {
        if (i == sweep)
            continue;
        uint64_t times = n_slots / n_held, whole = plan->region[i];
        plan->region[i] = min_of(mul(whole, times), plan->target.n_chunks[i]);
        n_held = held(plan);
        if (plan->region[i] < plan->target.n_chunks[i])
            break;
    }
    return true;
}

/* The next larger region along an axis that is worth a look. */
static uint64_t
larger(const struct pack_rechunk_plan *plan, int axis)
{
    return min_of(mul(plan->region[axis], 2), whole_region(plan, axis));
}

/* Lets regions grow along one axis, that which leaves fewest loads; false: there is no room,
 * or nothing to gain. */
static bool
grow(struct pack_rechunk_plan *plan, uint64_t n_slots)
{
    int best = -1;
    uint64_t best_loads = UINT64_MAX;
    for (int i = 0; i < plan->target.rank; i++) {
        uint64_t before = plan->region[i], n;
        if (i == plan->sweep || larger(plan, i) <= before)
            continue;
        plan->region[i] = larger(plan, i);
        n = held(plan) <= n_slots ? loads(plan) : UINT64_MAX;
        plan->region[i] = before;
        if (n < best_loads) {
            best = i;
            best_loads = n;
        }
    }
    if (best < 0)
        return false;
    plan->region[best] = larger(plan, best);
    return true;
}

static void
make_cut(struct pack_rechunk_plan *plan, int sweep, uint64_t n_slots)
{
    plan->sweep = sweep;
    for (int i = 0; i < plan->target.rank; i++)
        plan->region[i] = 1;
    plan->region[sweep] = rows_held(plan, sweep) <= n_slots
                              ? plan->target.n_chunks[sweep]
                              : n_slots;
    while (grow(plan, n_slots))
        continue;
}

static void
count(struct pack_rechunk_plan *plan)
{
    plan->n_held = held(plan);
    plan->n_loads = loads(plan);
    plan->n_regions = 1;
    for (int i = 0; i < plan->target.rank; i++)
        plan->n_regions *= (plan->target.n_chunks[i] - 1) / plan->region[i] + 1;
}

void
pack_rechunk_plan_make(const struct pack_grid *source, const struct pack_grid *target,
                       uint64_t n_slots, struct pack_rechunk_plan *plan)
{
    struct pack_rechunk_plan best = { .n_loads = 0 }, made = { .source = *source,
                                                                .target = *target };
    bool is_whole = false;
    for (int sweep = 0; sweep < source->rank && !is_whole; sweep++)
        is_whole = make_whole(&made, sweep, n_slots);
    if (is_whole)
        best = made;
    for (int sweep = 0; sweep < source->rank && !is_whole; sweep++) {
        make_cut(&made, sweep, n_slots);
        if (sweep == 0 || loads(&made) < loads(&best))
            best = made;
    }
    count(&best);
    *plan = best;
}

/* Loads of rows in another order: each row of source chunks once in every region that one of
 * its rows goes to. */
static enum pack_status
count_rows(struct pack_rechunk_plan *plan, struct pack_error *err)
{
    uint64_t n = 0, others = plan->source.n_chunks_total / plan->source.n_chunks[0];
    uint64_t *seen = calloc(plan->n_regions, sizeof *seen);
    if (!seen)
        return pack_fail_memory(err, "regions");
    for (uint64_t row = 0; row < plan->source.extent[0]; row++) {
        uint64_t chunk = row / plan->source.chunk[0] + 1;
        uint64_t to = pack_permutation_find(plan->rows, row) / plan->target.chunk[0];
        n += seen[to / plan->region[0]] != chunk;
        seen[to / plan->region[0]] = chunk;
    }
    plan->n_loads = mul(n, others);
    free(seen);
    return PACK_OK;
}

enum pack_status
pack_rechunk_plan_rows(const struct pack_rechunk_plan *grids, uint64_t n_slots,
                       struct pack_rechunk_plan *plan, struct pack_error *err)
{
    struct pack_rechunk_plan made = *grids;
    uint64_t layer = made.target.n_chunks_total / made.target.n_chunks[0];
    for (int i = 0; i < made.target.rank; i++)
        made.region[i] = made.target.n_chunks[i];
    made.region[0] = min_of(n_slots / layer, made.target.n_chunks[0]);
    made.sweep = 0;
    made.n_held = made.region[0] * layer;
    made.n_regions = (made.target.n_chunks[0] - 1) / made.region[0] + 1;
    enum pack_status status = count_rows(&made, err);
    if (status == PACK_OK)
        *plan = made;
    return status;
}

/* ------------------------------------------------------------------ walking */

/* Where region `at` is, and which source chunks touch it. */
static void
enter_region(struct pack_rechunk_walk *walk)
{
    const struct pack_rechunk_plan *plan = walk->plan;
    for (int i = 0; i < plan->target.rank; i++) {
        uint64_t extent = plan->target.extent[i], first = walk->at[i] * plan->region[i];
        bool is_last = plan->target.n_chunks[i] - first <= plan->region[i];
        walk->start[i] = first * plan->target.chunk[i];
        walk->end[i] =
            is_last ? extent : walk->start[i] + plan->region[i] * plan->target.chunk[i];
        walk->first[i] = walk->start[i] / plan->source.chunk[i];
        walk->last[i] = (walk->end[i] - 1) / plan->source.chunk[i];
        walk->coords[i] = walk->first[i];
    }
    if (plan->rows) { /* any source chunk may have some of its rows */
        walk->first[0] = walk->coords[0] = 0;
        walk->last[0] = plan->source.n_chunks[0] - 1;
    }
}

/* The next region, row-major. */
static bool
next_region(struct pack_rechunk_walk *walk)
{
    const struct pack_rechunk_plan *plan = walk->plan;
    for (int i = plan->target.rank - 1; i >= 0; i--) {
        walk->at[i]++;
        if (walk->at[i] * plan->region[i] < plan->target.n_chunks[i]) {
            enter_region(walk);
            walk->region++;
            return true;
        }
        walk->at[i] = 0;
    }
    return false;
}

static bool
step_axis(struct pack_rechunk_walk *walk, int axis)
{
    if (walk->coords[axis]++ < walk->last[axis])
        return true;
    walk->coords[axis] = walk->first[axis];
    return false;
}

/* Whether any row of the source chunks at coords goes to the region. */
static bool
has_row(const struct pack_rechunk_walk *walk)
{
    const struct pack_rechunk_plan *plan = walk->plan;
    uint64_t row = walk->coords[0] * plan->source.chunk[0];
    uint64_t end = min_of(row + plan->source.chunk[0], plan->source.extent[0]);
    for (; row < end; row++) {
        uint64_t to = pack_permutation_find(plan->rows, row);
        if (to >= walk->start[0] && to < walk->end[0])
            return true;
    }
    return false;
}

/* The next source chunk of the region: the swept axis turns last. */
static bool
next_chunk(struct pack_rechunk_walk *walk)
{
    for (int i = walk->plan->target.rank - 1; i >= 0; i--)
        if (i != walk->plan->sweep && step_axis(walk, i))
            return true;
    return step_axis(walk, walk->plan->sweep);
}

void
pack_rechunk_walk_begin(struct pack_rechunk_walk *walk,
                        const struct pack_rechunk_plan *plan)
{
    memset(walk, 0, sizeof *walk);
    walk->plan = plan;
}

bool
pack_rechunk_walk_next(struct pack_rechunk_walk *walk, struct pack_rechunk_load *load)
{
    const struct pack_grid *source = &walk->plan->source;
    do {
        if (!walk->is_begun)
            enter_region(walk);
        else if (!next_chunk(walk) && !next_region(walk))
            return false;
        walk->is_begun = true;
    } while (walk->plan->rows && !has_row(walk));
    load->region = walk->region;
    load->first_row = walk->start[0];
    load->end_row = walk->end[0];
    load->number = pack_grid_number(source, walk->coords);
    load->box.rank = source->rank;
    for (int i = 0; i < source->rank; i++) {
        uint64_t start = walk->coords[i] * source->chunk[i];
        uint64_t length = min_of(source->chunk[i], source->extent[i] - start);
        uint64_t end = min_of(start + length, walk->end[i]);
        load->coords[i] = walk->coords[i];
        load->box.start[i] = start > walk->start[i] ? start : walk->start[i];
        load->box.count[i] = end - load->box.start[i];
    }
    if (walk->plan->rows) {
        load->box.start[0] = walk->coords[0] * source->chunk[0];
        load->box.count[0] = min_of(source->chunk[0], source->extent[0] - load->box.start[0]);
    }
    return true;
}

/* ------------------------------------------------------------------- pieces */

/* To the next row of the load that lies in the region, from `row` on. */
static bool
enter_row(struct pack_rechunk_piece *piece)
{
    const struct pack_rechunk_load *load = piece->load;
    uint64_t end = load->box.start[0] + load->box.count[0];
    for (; piece->row < end; piece->row++) {
        uint64_t to = pack_permutation_find(piece->plan->rows, piece->row);
        if (to < load->first_row || to >= load->end_row)
            continue;
        piece->box = load->box;
        piece->box.start[0] = to;
        piece->box.count[0] = 1;
        return pack_grid_first(&piece->cursor, &piece->plan->target, &piece->box);
    }
    return false;
}

static bool
set_at(struct pack_rechunk_piece *piece, bool more)
{
    const struct pack_grid_cursor *c = &piece->cursor;
    for (int i = 0; more && i < c->grid->rank; i++)
        piece->at[i] = c->coords[i] * c->grid->chunk[i] + c->start[i];
    if (more && piece->plan->rows)
        piece->at[0] = piece->row;
    return more;
}

bool
pack_rechunk_piece_first(struct pack_rechunk_piece *piece,
                         const struct pack_rechunk_plan *plan,
                         const struct pack_rechunk_load *load)
{
    piece->plan = plan;
    piece->load = load;
    piece->row = load->box.start[0];
    return set_at(piece, plan->rows
                             ? enter_row(piece)
                             : pack_grid_first(&piece->cursor, &plan->target, &load->box));
}

bool
pack_rechunk_piece_next(struct pack_rechunk_piece *piece)
{
    bool more = pack_grid_next(&piece->cursor);
    if (!more && piece->plan->rows) {
        piece->row++;
        more = enter_row(piece);
    }
    return set_at(piece, more);
}

uint64_t
pack_rechunk_piece_count(const struct pack_rechunk_plan *plan,
                         const struct pack_rechunk_load *load)
{
    struct pack_rechunk_piece piece;
    uint64_t n = 0;
    if (!plan->rows)
        return pack_grid_count(&plan->target, &load->box);
    for (bool more = pack_rechunk_piece_first(&piece, plan, load); more;
         more = pack_rechunk_piece_next(&piece))
        n++;
    return n;
}
