/* In which order chunks of one grid become chunks of another, within so many chunks of
 * memory: numbers only. */
#ifndef LIBPACK_RECHUNK_PLAN_H
#define LIBPACK_RECHUNK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/model/grid.h"
#include "libpack/model/permutation.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The dataset is cut into regions of whole target chunks, done one after another in
 * row-major order. Inside a region the source chunks that touch it are loaded in row-major
 * order too, the axis `sweep` being the slowest. A target chunk is held from the first load
 * that gives something to it until the last one; then it is written, once.
 *
 * With `rows` index i of axis 0 gets what was at pack_permutation_at(rows, i). Regions then
 * are of whole indexes; all of their target chunks are held, as any source chunk may give
 * something to any of them.
 */
struct pack_rechunk_plan {
    const struct pack_permutation *rows; /* borrowed; NULL: all stay where they are */
    struct pack_grid source, target;
    uint64_t region[PACK_RANK_MAX]; /* target chunks along each axis */
    int sweep;
    uint64_t n_held;  /* target chunks held at a time, at most */
    uint64_t n_loads; /* of source chunks: at least their number; UINT64_MAX: or more */
    uint64_t n_regions;
};

/*
 * Finds a plan that holds at most n_slots target chunks, 1 or more: one load of every
 * source chunk if that is possible in this form, else few. Both grids are of one dataset, as
 * pack_grid_init made them, and not empty.
 */
void pack_rechunk_plan_make(const struct pack_grid *source,
                            const struct pack_grid *target, uint64_t n_slots,
                            struct pack_rechunk_plan *plan);
/* The same with rows in another order; n_slots are at least the target chunks along all axes
 * but the first. PACK_ERR_MEMORY. */
enum pack_status pack_rechunk_plan_rows(const struct pack_rechunk_plan *grids,
                                        uint64_t n_slots, struct pack_rechunk_plan *plan,
                                        struct pack_error *err);

/* One load: the part of source chunk `number` that lies in the region, in elements of the
 * dataset. With rows in another order: the whole chunk, of which only what goes to rows
 * first_row .. end_row - 1 lies in it. */
struct pack_rechunk_load {
    uint64_t region, first_row, end_row;
    uint64_t number;
    uint64_t coords[PACK_RANK_MAX];
    struct pack_box box;
};

/*
 * What of a load goes to one target chunk after the other: `cursor` is where it goes, `at`
 * where it was, in elements of the dataset.
 *
 *     for (bool more = pack_rechunk_piece_first(&piece, &plan, &load); more;
 *          more = pack_rechunk_piece_next(&piece))
 *
 * Plan and load are borrowed while walking.
 */
struct pack_rechunk_piece {
    const struct pack_rechunk_plan *plan;
    const struct pack_rechunk_load *load;
    struct pack_grid_cursor cursor;
    uint64_t at[PACK_RANK_MAX];
    struct pack_box box; /* of one row in its new place */
    uint64_t row;        /* in the source */
};

bool pack_rechunk_piece_first(struct pack_rechunk_piece *piece,
                              const struct pack_rechunk_plan *plan,
                              const struct pack_rechunk_load *load);
bool pack_rechunk_piece_next(struct pack_rechunk_piece *piece);
uint64_t pack_rechunk_piece_count(const struct pack_rechunk_plan *plan,
                                  const struct pack_rechunk_load *load);

/*
 *     pack_rechunk_walk_begin(&walk, &plan);
 *     while (pack_rechunk_walk_next(&walk, &load))
 *         ...
 *
 * The plan is borrowed while walking.
 */
struct pack_rechunk_walk {
    const struct pack_rechunk_plan *plan;
    bool is_begun;
    uint64_t region; /* as counted from 0 */
    uint64_t at[PACK_RANK_MAX];                         /* region */
    uint64_t start[PACK_RANK_MAX], end[PACK_RANK_MAX];  /* of it, in elements */
    uint64_t first[PACK_RANK_MAX], last[PACK_RANK_MAX]; /* source chunks */
    uint64_t coords[PACK_RANK_MAX];
};

void pack_rechunk_walk_begin(struct pack_rechunk_walk *walk,
                             const struct pack_rechunk_plan *plan);
/* False behind the last load. */
bool pack_rechunk_walk_next(struct pack_rechunk_walk *walk,
                            struct pack_rechunk_load *load);

#ifdef __cplusplus
}
#endif
#endif
