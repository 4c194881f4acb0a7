/* In which order chunks of one grid become chunks of another, within so many chunks of
 * memory: numbers only. */
#ifndef LIBPACK_RECHUNK_PLAN_H
#define LIBPACK_RECHUNK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/shape.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The dataset is cut into regions of whole target chunks, done one after another in
 * row-major order. Inside a region the source chunks that touch it are loaded in row-major
 * order too, the axis `sweep` being the slowest. A target chunk is held from the first load
 * that gives something to it until the last one; then it is written, once.
 */
struct pack_rechunk_plan {
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

/* One load: the part of source chunk `number` that lies in the region, in elements of the
 * dataset; `box` can be handed to pack_grid_first() with the target grid. */
struct pack_rechunk_load {
    uint64_t number;
    uint64_t coords[PACK_RANK_MAX];
    struct pack_box box;
};

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
