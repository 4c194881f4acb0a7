/* Sorted once, then searched: 16 bytes an image. */
#include "libpack/source/mask_index.h"

#include <stdlib.h>

#include "libpack/source/source_parts.h"

struct pack_mask_entry {
    uint64_t key, record;
};

enum pack_status
pack_mask_index_add(struct pack_mask_index *index, uint64_t key, uint64_t record,
                    struct pack_error *err)
{
    struct pack_mask_entry *entries =
        pack_grown(index->entries, index->n, &index->capacity, sizeof *entries);
    if (!entries)
        return pack_fail_memory(err, "names of images");
    index->entries = entries;
    entries[index->n++] = (struct pack_mask_entry){ key, record };
    return PACK_OK;
}

static int
compare_entries(const void *a, const void *b)
{
    const struct pack_mask_entry *one = a, *two = b;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return one->record < two->record ? -1 : one->record > two->record;
}

void
pack_mask_index_sort(struct pack_mask_index *index)
{
    if (index->n)
        qsort(index->entries, index->n, sizeof *index->entries, compare_entries);
}

bool
pack_mask_index_find(const struct pack_mask_index *index, uint64_t key, bool only,
                     uint64_t *record)
{
    const struct pack_mask_entry *entries = index->entries;
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->n || entries[low].key != key ||
        (only && low + 1 < index->n && entries[low + 1].key == key))
        return false;
    *record = entries[low].record;
    return true;
}

void
pack_mask_index_done(struct pack_mask_index *index)
{
    free(index->entries);
    *index = (struct pack_mask_index){ 0 };
}
