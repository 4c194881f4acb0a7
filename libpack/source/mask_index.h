/* Images by keys of their names. */
#ifndef LIBPACK_MASK_INDEX_H
#define LIBPACK_MASK_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

/* Zeroed by the caller. */
struct pack_mask_index {
    struct pack_mask_entry *entries;
    size_t n, capacity;
};

/* Adds a record under a key; it may have others, too, and the key may be others'. */
enum pack_status pack_mask_index_add(struct pack_mask_index *index, uint64_t key,
                                     uint64_t record, struct pack_error *err);
/* Behind the last that is added. */
void pack_mask_index_sort(struct pack_mask_index *index);
/* The first record of a key; false when there is none, or when it is to be the `only` one
 * and is not. */
bool pack_mask_index_find(const struct pack_mask_index *index, uint64_t key, bool only,
                          uint64_t *record);
void pack_mask_index_done(struct pack_mask_index *index);

#endif
