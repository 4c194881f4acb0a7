/* A block of elements that lies in rows in one place and in other rows in another. */
#ifndef LIBPACK_STRIDED_H
#define LIBPACK_STRIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a block of `count` elements lies inside an array of `extent`. */
struct pack_strided_place {
    const uint64_t *extent, *start;
};

/*
 * The block in both places, axes that lie together in both being one: n_axes counts those
 * that are left, each step of which is a run, or a row of runs, of its own.
 */
struct pack_strided {
    int n_axes; /* 0: one run */
    uint64_t count[PACK_RANK_MAX];
    uint64_t from_step[PACK_RANK_MAX], to_step[PACK_RANK_MAX]; /* bytes */
    uint64_t run_bytes;
    uint64_t from, to; /* offsets of the first run from each array's beginning */
    bool past_cache;   /* runs are copied past the processor's cache; the caller's to set */
};

/* The bytes of both arrays fit 64 bits, and no count is zero. */
void pack_strided_set(struct pack_strided *strided, int rank, const uint64_t *count,
                      uint64_t elem_size, struct pack_strided_place from,
                      struct pack_strided_place to);

/*
 * The same where the source has its axes in another order: axis i of count, of the target and
 * of from.start and from.extent, which are in the target's order, is its axis axes[i].
 */
void pack_strided_set_turned(struct pack_strided *strided, int rank, const uint64_t *count,
                             uint64_t elem_size, struct pack_strided_place from,
                             const int *axes, struct pack_strided_place to);

/* Bytes in the source from the first run to the last, of the axes from `axis` on. */
uint64_t pack_strided_span(const struct pack_strided *strided, int axis);
/* Runs, of the axes from `axis` on. */
uint64_t pack_strided_runs(const struct pack_strided *strided, int axis);

/* Copies the axes from `axis` on; `from` and `to` point at their first runs. */
void pack_strided_copy(const struct pack_strided *strided, int axis, const void *from,
                       void *to);
/* Fills the block at its place in the target with an element of elem_size bytes. */
void pack_strided_fill(const struct pack_strided *strided, const void *element,
                       size_t elem_size, void *target);
/* Turns the bytes of each element of the block in the target around. */
void pack_strided_swap(const struct pack_strided *strided, size_t elem_size,
                       void *target);

#ifdef __cplusplus
}
#endif
#endif
