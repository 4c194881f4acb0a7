/* What a selection asks for, as boxes. */
#include <stdlib.h>
#include <string.h>

#include "record/record.h"

enum { SELECT_POINTS = 1, SELECT_BLOCKS = 2, SELECT_ALL = 3 }; /* H5S_sel_type */

static bool
make_room(struct record_boxes *b, size_t n)
{
    free(b->numbers);
    b->numbers = malloc(n * 2 * (size_t)b->rank * sizeof *b->numbers);
    return b->numbers != NULL;
}

void
record_boxes_done(struct record_boxes *boxes)
{
    free(boxes->numbers);
    boxes->numbers = NULL;
}

static hsize_t *
starts(const struct record_boxes *b, size_t i)
{
    return b->numbers + i * 2 * (size_t)b->rank;
}

static hsize_t *
counts(const struct record_boxes *b, size_t i)
{
    return starts(b, i) + b->rank;
}

static bool
around(const struct record_hdf5 *h, hid_t space, struct record_boxes *b)
{
    hsize_t last[RECORD_RANK_MAX];
    if (!make_room(b, 1) || h->bounds(space, starts(b, 0), last) < 0)
        return false;
    for (int k = 0; k < b->rank; k++)
        counts(b, 0)[k] = last[k] - starts(b, 0)[k] + 1;
    b->n = 1;
    b->is_around = true;
    return true;
}

static bool
whole(const struct record_hdf5 *h, hid_t space, struct record_boxes *b)
{
    if (!make_room(b, 1) || h->space_extent(space, counts(b, 0), NULL) < 0)
        return false;
    memset(starts(b, 0), 0, (size_t)b->rank * sizeof(hsize_t));
    b->n = 1;
    for (int k = 0; k < b->rank; k++)
        if (counts(b, 0)[k] == 0)
            return false;
    return true;
}

/* Blocks that touch are one. */
static void
join(int rank, const hsize_t *stride, hsize_t *count, hsize_t *block)
{
    for (int k = 0; k < rank; k++)
        if (count[k] == 1 || stride[k] == block[k]) {
            block[k] *= count[k];
            count[k] = 1;
        }
}

static bool
regular(const struct record_hdf5 *h, hid_t space, struct record_boxes *b)
{
    hsize_t start[RECORD_RANK_MAX], stride[RECORD_RANK_MAX], count[RECORD_RANK_MAX];
    hsize_t block[RECORD_RANK_MAX], at[RECORD_RANK_MAX] = { 0 }, n = 1;
    if (h->regular(space, start, stride, count, block) < 0)
        return false;
    join(b->rank, stride, count, block);
    for (int k = 0; k < b->rank; k++) {
        if (count[k] == 0 || block[k] == 0)
            return false;
        if (count[k] > RECORD_BOXES_MAX || (n *= count[k]) > RECORD_BOXES_MAX)
            return around(h, space, b);
    }
    if (!make_room(b, (size_t)n))
        return false;
    for (b->n = 0; b->n < n; b->n++) {
        for (int k = 0; k < b->rank; k++) {
            starts(b, b->n)[k] = start[k] + at[k] * stride[k];
            counts(b, b->n)[k] = block[k];
        }
        for (int k = b->rank - 1; k >= 0 && ++at[k] == count[k]; k--)
            at[k] = 0;
    }
    return true;
}

static bool
blocks(const struct record_hdf5 *h, hid_t space, struct record_boxes *b)
{
    if (h->is_regular(space) > 0)
        return regular(h, space, b);
    long long n = h->n_blocks(space);
    if (n <= 0)
        return false;
    if (n > RECORD_BOXES_MAX)
        return around(h, space, b);
    if (!make_room(b, (size_t)n) || h->blocks(space, 0, (hsize_t)n, b->numbers) < 0)
        return false;
    for (b->n = 0; b->n < (size_t)n; b->n++) /* HDF5 gives both corners */
        for (int k = 0; k < b->rank; k++)
            counts(b, b->n)[k] -= starts(b, b->n)[k] - 1;
    return true;
}

/* Whether a point is the next one behind a box, along the last axis. */
static bool
is_next(const struct record_boxes *b, const hsize_t *point)
{
    const hsize_t *start = starts(b, b->n - 1), *count = counts(b, b->n - 1);
    int last = b->rank - 1;
    for (int k = 0; k < last; k++)
        if (point[k] != start[k])
            return false;
    return point[last] == start[last] + count[last];
}

static bool
points(const struct record_hdf5 *h, hid_t space, struct record_boxes *b)
{
    long long n = h->n_points(space);
    size_t rank = (size_t)b->rank;
    if (n <= 0)
        return false;
    if (n > RECORD_BOXES_MAX)
        return around(h, space, b);
    if (!make_room(b, (size_t)n + (size_t)n / 2 + 1))
        return false;
    /* the points behind where the boxes end, which never reach them */
    hsize_t *list = b->numbers + (size_t)n * 2 * rank;
    if (h->points(space, 0, (hsize_t)n, list) < 0)
        return false;
    for (long long i = 0; i < n; i++, list += rank) {
        if (b->n > 0 && is_next(b, list)) {
            counts(b, b->n - 1)[rank - 1]++;
            continue;
        }
        memcpy(starts(b, b->n), list, rank * sizeof *list);
        for (size_t k = 0; k < rank; k++)
            counts(b, b->n)[k] = 1;
        b->n++;
    }
    return true;
}

static bool
selected(const struct record_hdf5 *h, hid_t space, struct record_boxes *b)
{
    *b = (struct record_boxes){ .rank = h->space_rank(space) };
    if (b->rank < 1 || b->rank > RECORD_RANK_MAX)
        return false;
    switch (h->select_type(space)) {
    case SELECT_POINTS: return points(h, space, b);
    case SELECT_BLOCKS: return blocks(h, space, b);
    case SELECT_ALL: return whole(h, space, b);
    default: return false;
    }
}

bool
record_boxes_of(const struct record_hdf5 *h, hid_t dataset, hid_t space,
                struct record_boxes *boxes)
{
    if (space != 0) /* H5S_ALL */
        return h->is_valid(space) > 0 && selected(h, space, boxes);
    space = h->dataset_space(dataset);
    if (space < 0)
        return false;
    bool good = selected(h, space, boxes);
    h->space_close(space);
    return good;
}

/* A chunk ends where the dataset does. */
static bool
clip(const hsize_t *extent, const hsize_t *chunk, const hsize_t *offset,
     struct record_boxes *b)
{
    for (int k = 0; k < b->rank; k++) {
        if (offset[k] >= extent[k] || chunk[k] == 0)
            return false;
        hsize_t left = extent[k] - offset[k];
        starts(b, 0)[k] = offset[k];
        counts(b, 0)[k] = chunk[k] < left ? chunk[k] : left;
    }
    b->n = 1;
    return true;
}

bool
record_boxes_of_chunk(const struct record_hdf5 *h, hid_t dataset, const hsize_t *offset,
                      struct record_boxes *boxes)
{
    hsize_t extent[RECORD_RANK_MAX], chunk[RECORD_RANK_MAX];
    hid_t space = h->dataset_space(dataset), plist = h->dataset_plist(dataset);
    *boxes = (struct record_boxes){ .rank = space < 0 ? 0 : h->space_rank(space) };
    bool good = plist >= 0 && boxes->rank > 0 && boxes->rank <= RECORD_RANK_MAX &&
                make_room(boxes, 1) && h->space_extent(space, extent, NULL) > 0 &&
                h->plist_chunk(plist, boxes->rank, chunk) == boxes->rank &&
                clip(extent, chunk, offset, boxes);
    if (space >= 0)
        h->space_close(space);
    if (plist >= 0)
        h->plist_close(plist);
    return good;
}
