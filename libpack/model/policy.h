/* What other caches of the same size would have loaded: least recently used, and Belady's
 * optimum. */
#ifndef LIBPACK_POLICY_H
#define LIBPACK_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include <libpack/pattern.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Chunk numbers in the order visited. The caller zeroes it to begin with. */
struct pack_visits {
    uint64_t *numbers;
    size_t n, capacity;
};

/* Adds the chunks of one H5Dread, each once, in ascending order. PACK_ERR_MEMORY. */
enum pack_status pack_visits_add(struct pack_visits *visits, const struct pack_grid *grid,
                                 const struct pack_box *boxes, size_t n_boxes,
                                 struct pack_error *err);
/* Adds what is left of the iterator's epoch, `max` samples at most (in whole
 * requests). */
enum pack_status pack_visits_replay(struct pack_visits *visits,
                                    const struct pack_grid *grid,
                                    struct pack_pattern_iter *iter, uint64_t max,
                                    struct pack_error *err);
void pack_visits_free(struct pack_visits *visits);

/*
 * Loads of a cache of n_entries chunks, empty to begin with, that keeps the most recently
 * used ones. Any slot for any chunk, so nothing collides. O(n) time, O(n_entries) memory.
 * PACK_ERR_MEMORY; PACK_ERR_LIMIT for 2^31 entries and more.
 */
enum pack_status pack_policy_lru(const uint64_t *numbers, size_t n, uint64_t n_entries,
                                 uint64_t *loads, struct pack_error *err);

/*
 * The fewest loads that any cache of n_entries chunks can do with, were it to know the
 * future: it evicts the chunk whose next visit is furthest away (Belady, "A study of
 * replacement algorithms for a virtual-storage computer", 1966). Every chunk visited is
 * taken in, as HDF5 does. O(n log n) time, O(n) memory. PACK_ERR_MEMORY.
 */
enum pack_status pack_policy_belady(const uint64_t *numbers, size_t n, uint64_t n_entries,
                                    uint64_t *loads, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
