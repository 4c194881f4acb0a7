/* Which chunks of a grid a box touches, edge chunks, linear chunk numbers. Nothing here is
 * checked: grids come from pack_grid_init, boxes have passed pack_grid_check_box. */
#ifndef LIBPACK_GRID_H
#define LIBPACK_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Says whether a grid is as pack_grid_init fills it in, or PACK_ERR_ARGUMENT: the only way
 * to trust one that a stranger hands over. */
enum pack_status pack_grid_check(const struct pack_grid *grid, struct pack_error *err);

/* Chunk coordinates ("scaled" in HDF5: start divided by chunk shape) and chunk numbers,
 * both ways. Inside the grid only. */
uint64_t pack_grid_number(const struct pack_grid *grid, const uint64_t *coords);
void pack_grid_coords(const struct pack_grid *grid, uint64_t number, uint64_t *coords);

/* The chunk reaches beyond the extent. */
bool pack_grid_is_edge(const struct pack_grid *grid, const uint64_t *coords);

/* The part of the dataset that a chunk holds. */
void pack_grid_chunk_box(const struct pack_grid *grid, const uint64_t *coords,
                         struct pack_box *box);

/* How many chunks a box touches. */
uint64_t pack_grid_count(const struct pack_grid *grid, const struct pack_box *box);

/*
 * Walks the chunks that a box touches in ascending chunk number, the order in which one
 * H5Dread visits them:
 *
 *     struct pack_grid_cursor c;
 *     for (bool more = pack_grid_first(&c, grid, box); more; more = pack_grid_next(&c))
 *         visit(c.number, c.n_elements);
 *
 * grid and box are borrowed while walking. A step costs O(1) amortised.
 */
struct pack_grid_cursor {
    const struct pack_grid *grid;
    const struct pack_box *box;
    uint64_t number;
    uint64_t n_elements;            /* of the box, in this chunk */
    uint64_t coords[PACK_RANK_MAX]; /* of this chunk */
    uint64_t start[PACK_RANK_MAX];  /* of the box's part, from the chunk's corner */
    uint64_t count[PACK_RANK_MAX];
    uint64_t last[PACK_RANK_MAX]; /* chunk coordinates where the walk turns */
};

/* False when the box is empty. */
bool pack_grid_first(struct pack_grid_cursor *cursor, const struct pack_grid *grid,
                     const struct pack_box *box);
/* False behind the last chunk. */
bool pack_grid_next(struct pack_grid_cursor *cursor);

#ifdef __cplusplus
}
#endif
#endif
