/*
 * Chunk coordinates are the digits of a chunk number in a mixed radix, n_chunks being the
 * radices and number_step their place values. A box covers a range of digits at every
 * place, so the walk is a counter that runs from the first digit to the last at each
 * place, the fastest axis on the right:
 *
 *        0   1   2   3        box rows 5..9, columns 3..11, chunks 4x4:
 *      +---+---+---+---+      rows of chunks 1..2, columns 0..2
 *    0 |   |   |   |   |      numbers 4 5 6, 8 9 10
 *    1 |  ,|###|## |   |
 *    2 |  ,|###|## |   |
 *      +---+---+---+---+
 */
#include "libpack/base/numbers.h"
#include "libpack/model/grid.h"
#include "libpack/base/check.h"
#include "libpack/base/size.h"

#include <inttypes.h>
#include <string.h>

/* Fills in one axis; false when chunks along it, counted whole, pass 64 bits. */
static bool
init_axis(struct pack_grid *grid, int axis, uint64_t extent, uint64_t chunk)
{
    uint64_t n = extent / chunk + (extent % chunk != 0), covered;
    grid->extent[axis] = extent;
    grid->chunk[axis] = chunk;
    grid->n_chunks[axis] = n;
    return pack_size_mul(n, chunk, &covered);
}

/* Products over the axes; false when one does not fit. */
static bool
init_products(struct pack_grid *grid)
{
    uint64_t total_bytes;
    grid->n_chunks_total = 1;
    grid->chunk_elements = 1;
    for (int i = grid->rank - 1; i >= 0; i--) {
        grid->number_step[i] = grid->n_chunks_total;
        if (!pack_size_mul(grid->n_chunks_total, grid->n_chunks[i],
                           &grid->n_chunks_total) ||
            !pack_size_mul(grid->chunk_elements, grid->chunk[i], &grid->chunk_elements))
            return false;
    }
    return pack_size_mul(grid->chunk_elements, grid->elem_size, &grid->chunk_bytes) &&
           pack_size_mul(grid->chunk_bytes, grid->n_chunks_total, &total_bytes);
}

enum pack_status
pack_grid_init(struct pack_grid *grid, const struct pack_shape *extent,
               const struct pack_shape *chunk, uint64_t elem_size, struct pack_error *err)
{
    if (!grid || !extent || !chunk)
        return pack_check_given(err, "grid", grid, "extent", extent, "chunk", chunk, NULL);
    struct pack_grid g = { .rank = extent->rank, .elem_size = elem_size };
    if (extent->rank < 1 || extent->rank > PACK_RANK_MAX)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "extent",
                               "dataset has %d dimensions, not 1 to %d", extent->rank,
                               PACK_RANK_MAX);
    if (chunk->rank != extent->rank)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunk",
                               "chunk has %s, dataset has %d",
                               pack_dimensions(chunk->rank).text, extent->rank);
    if (elem_size == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "elem_size",
                               "elements have no bytes");
    for (int i = 0; i < g.rank; i++)
        if (chunk->extent[i] == 0)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunk",
                                   "chunk has no extent along axis %d", i);
    for (int i = 0; i < g.rank; i++)
        if (!init_axis(&g, i, extent->extent[i], chunk->extent[i]))
            goto too_large;
    if (!init_products(&g))
        goto too_large;
    *grid = g;
    return PACK_OK;
too_large:
    return pack_fail(err, PACK_ERR_LIMIT,
                     "dataset has more bytes than 64 bits can count");
}

enum pack_status
pack_grid_check(const struct pack_grid *grid, struct pack_error *err)
{
    if (!grid)
        return pack_check_given(err, "grid", grid, NULL);
    struct pack_shape extent = { .rank = grid->rank }, chunk = { .rank = grid->rank };
    struct pack_grid made;
    memcpy(extent.extent, grid->extent, sizeof extent.extent);
    memcpy(chunk.extent, grid->chunk, sizeof chunk.extent);
    enum pack_status status =
        pack_grid_init(&made, &extent, &chunk, grid->elem_size, NULL);
    size_t size = sizeof made.n_chunks[0] * (size_t)(status == PACK_OK ? made.rank : 0);
    if (status == PACK_OK && memcmp(made.n_chunks, grid->n_chunks, size) == 0 &&
        memcmp(made.number_step, grid->number_step, size) == 0 &&
        made.n_chunks_total == grid->n_chunks_total &&
        made.chunk_elements == grid->chunk_elements &&
        made.chunk_bytes == grid->chunk_bytes)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "grid",
                           "the grid is not one that pack_grid_init filled in");
}

uint64_t
pack_grid_number(const struct pack_grid *grid, const uint64_t *coords)
{
    uint64_t number = 0;
    for (int i = 0; i < grid->rank; i++)
        number += coords[i] * grid->number_step[i];
    return number;
}

void
pack_grid_coords(const struct pack_grid *grid, uint64_t number, uint64_t *coords)
{
    for (int i = 0; i < grid->rank; i++) {
        coords[i] = number / grid->number_step[i];
        number %= grid->number_step[i];
    }
}

bool
pack_grid_is_edge(const struct pack_grid *grid, const uint64_t *coords)
{
    for (int i = 0; i < grid->rank; i++)
        if ((coords[i] + 1) * grid->chunk[i] > grid->extent[i])
            return true;
    return false;
}

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void
pack_grid_chunk_box(const struct pack_grid *grid, const uint64_t *coords,
                    struct pack_box *box)
{
    box->rank = grid->rank;
    for (int i = 0; i < grid->rank; i++) {
        box->start[i] = coords[i] * grid->chunk[i];
        box->count[i] = min_u64(grid->chunk[i], grid->extent[i] - box->start[i]);
    }
}

enum pack_status
pack_grid_check_box(const struct pack_grid *grid, const struct pack_box *box,
                    struct pack_error *err)
{
    if (!grid || !box)
        return pack_check_given(err, "grid", grid, "box", box, NULL);
    if (grid->rank < 1 || grid->rank > PACK_RANK_MAX)
        return pack_grid_check(grid, err);
    if (box->rank != grid->rank)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                               "box has %s, dataset has %d",
                               pack_dimensions(box->rank).text, grid->rank);
    for (int i = 0; i < grid->rank; i++)
        if (box->start[i] > grid->extent[i] ||
            box->count[i] > grid->extent[i] - box->start[i])
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                                   "box of %" PRIu64 " from %" PRIu64
                                   " on is outside axis %d of %" PRIu64,
                                   box->count[i], box->start[i], i, grid->extent[i]);
    return PACK_OK;
}

uint64_t
pack_grid_count(const struct pack_grid *grid, const struct pack_box *box)
{
    uint64_t count = 1;
    for (int i = 0; i < grid->rank; i++) {
        if (box->count[i] == 0)
            return 0;
        uint64_t last = box->start[i] + box->count[i] - 1;
        count *= last / grid->chunk[i] - box->start[i] / grid->chunk[i] + 1;
    }
    return count;
}

/* Moves one axis to chunk coordinate `at`; the caller sees to number and n_elements. */
static void
place(struct pack_grid_cursor *c, int axis, uint64_t at)
{
    uint64_t corner = at * c->grid->chunk[axis], begin = c->box->start[axis];
    uint64_t end = begin + c->box->count[axis];
    uint64_t from = begin > corner ? begin - corner : 0;
    c->coords[axis] = at;
    c->start[axis] = from;
    c->count[axis] = min_u64(end - corner, c->grid->chunk[axis]) - from;
}

static uint64_t
count_elements(const struct pack_grid_cursor *c)
{
    uint64_t n = 1;
    for (int i = 0; i < c->grid->rank; i++)
        n *= c->count[i];
    return n;
}

bool
pack_grid_first(struct pack_grid_cursor *cursor, const struct pack_grid *grid,
                const struct pack_box *box)
{
    cursor->grid = grid;
    cursor->box = box;
    for (int i = 0; i < grid->rank; i++) {
        if (box->count[i] == 0)
            return false;
        cursor->last[i] = (box->start[i] + box->count[i] - 1) / grid->chunk[i];
        place(cursor, i, box->start[i] / grid->chunk[i]);
    }
    cursor->number = pack_grid_number(grid, cursor->coords);
    cursor->n_elements = count_elements(cursor);
    return true;
}

bool
pack_grid_next(struct pack_grid_cursor *cursor)
{
    const struct pack_grid *grid = cursor->grid;
    for (int i = grid->rank - 1; i >= 0; i--) {
        if (cursor->coords[i] < cursor->last[i]) {
            place(cursor, i, cursor->coords[i] + 1);
            cursor->number += grid->number_step[i];
            cursor->n_elements = count_elements(cursor);
            return true;
        }
        uint64_t first = cursor->box->start[i] / grid->chunk[i];
        cursor->number -= (cursor->coords[i] - first) * grid->number_step[i];
        place(cursor, i, first);
    }
    return false;
}
