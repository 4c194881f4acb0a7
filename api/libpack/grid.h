/* Chunk geometry: which chunks a box touches, edge chunks, linear chunk numbers. */
#ifndef LIBPACK_GRID_H
#define LIBPACK_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A dataset's extent cut into chunks of one shape, slowest dimension first. Chunks at the
 * upper end of an axis may reach beyond the extent ("edge chunks"); in the file and in
 * HDF5's cache they count whole. Chunk numbers are row-major over the grid of chunks.
 */
struct pack_grid {
    int rank;                            /* 1 to PACK_RANK_MAX */
    uint64_t elem_size;                  /* bytes */
    uint64_t extent[PACK_RANK_MAX];      /* elements */
    uint64_t chunk[PACK_RANK_MAX];       /* elements */
    uint64_t n_chunks[PACK_RANK_MAX];    /* along each axis, edge chunks included */
    uint64_t number_step[PACK_RANK_MAX]; /* of chunk numbers, to the next along an axis */
    uint64_t n_chunks_total;
    uint64_t chunk_elements;
    uint64_t chunk_bytes; /* chunk_elements * elem_size */
};

/*
 * PACK_ERR_ARGUMENT for ranks that differ or are 0, and chunk or element sizes of zero;
 * PACK_ERR_LIMIT when the bytes of the dataset, with edge chunks counted whole, pass 64
 * bits. An extent of zero is a dataset without chunks. A chunk may be larger than the
 * extent, as HDF5 allows for dimensions that can grow.
 */
enum pack_status pack_grid_init(struct pack_grid *grid, const struct pack_shape *extent,
                                const struct pack_shape *chunk, uint64_t elem_size,
                                struct pack_error *err);

/* Chunk coordinates ("scaled" in HDF5: start divided by chunk shape) and chunk numbers,
 * both ways. Inside the grid only. */
uint64_t pack_grid_number(const struct pack_grid *grid, const uint64_t *coords);
void pack_grid_coords(const struct pack_grid *grid, uint64_t number, uint64_t *coords);

/* The chunk reaches beyond the extent. */
bool pack_grid_is_edge(const struct pack_grid *grid, const uint64_t *coords);

/* The part of the dataset that a chunk holds. */
void pack_grid_chunk_box(const struct pack_grid *grid, const uint64_t *coords,
                         struct pack_box *box);

/* Says why a box is not one of this dataset: its rank, or an end beyond the extent.
 * PACK_ERR_ARGUMENT. A count of zero is an empty box and fine. */
enum pack_status pack_grid_check_box(const struct pack_grid *grid,
                                     const struct pack_box *box, struct pack_error *err);

/* How many chunks a box touches. The box must have passed pack_grid_check_box. */
uint64_t pack_grid_count(const struct pack_grid *grid, const struct pack_box *box);

/*
 * Walks the chunks that a box touches in ascending chunk number, the order in which one
 * H5Dread visits them:
 *
 *     struct pack_grid_cursor c;
 *     for (bool more = pack_grid_first(&c, grid, box); more; more = pack_grid_next(&c))
 *         visit(c.number, c.n_elements);
 *
 * grid and box are borrowed while walking; the box must have passed pack_grid_check_box.
 * A step costs O(1) amortised.
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
