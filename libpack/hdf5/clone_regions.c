/*
 * Regions of datasets whose elements lie elsewhere in the copy: rows in another order, axes in
 * another order, a part of the rows. What is selected is the same, as far as it is there.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/base/sort.h"
#include "libpack/hdf5/clone_parts.h"

/* Where an element of the source lies. */
struct moved {
    int rank;
    const struct pack_permutation *rows; /* NULL: in their order */
    uint64_t n_rows;                     /* of the source */
    uint64_t first, end;                 /* rows that are there, the first of which is row 0 */
    const int *axes;                     /* NULL: in their order */
};

static struct moved
moved_of(const struct pack_clone *clone, const struct clone_object *object, hid_t space)
{
    const struct pack_clone_params *p = &clone->params;
    const struct pack_clone_pieces *pieces = p->pieces;
    bool is_set = object->set < p->n_sets;
    hsize_t extent[H5S_MAX_RANK] = { 0 };
    struct moved m = { .rank = H5Sget_simple_extent_dims(space, extent, NULL) };
    m.n_rows = m.end = extent[0];
    if (p->rows && p->rows->n == m.n_rows && (is_set || object->is_aligned))
        m.rows = p->rows;
    if (is_set)
        m.axes = p->sets[object->set].axes;
    if (pieces && pieces->cut == PACK_CLONE_SHARD && object->is_aligned) {
        m.first = pieces->at > 0 ? pieces->end[pieces->at - 1] : 0;
        m.end = pieces->end[pieces->at];
    }
    return m;
}

static bool
is_part(const struct moved *m)
{
    return m->first > 0 || m->end < m->n_rows;
}

/* As H5Sselect_hyperslab() has it. */
struct slab {
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK],
        block[H5S_MAX_RANK];
};

/* Rows are those of the copy, axes still in the source's order. */
static herr_t
add_slab(const struct moved *m, const struct slab *from, hid_t to)
{
    struct slab s;
    for (int i = 0; i < m->rank; i++) {
        int axis = m->axes ? m->axes[i] : i;
        s.start[i] = from->start[axis];
        s.stride[i] = from->stride[axis];
        s.count[i] = from->count[axis];
        s.block[i] = from->block[axis];
    }
    return H5Sselect_hyperslab(to, H5S_SELECT_OR, s.start, s.stride, s.count, s.block);
}

static bool
find_row(const struct moved *m, uint64_t row, uint64_t *place)
{
    if (row < m->first || row >= m->end)
        return false;
    *place = m->rows ? pack_permutation_find(m->rows, row) : row - m->first;
    return true;
}

/* The rows of the copy that n rows of a slab are in, those that lie together at once. */
static herr_t
add_places(const struct moved *m, struct slab *s, const uint64_t *places, size_t n, hid_t to)
{
    herr_t result = 0;
    s->stride[0] = s->count[0] = 1;
    for (size_t i = 0, run; i < n && result >= 0; i += run) {
        for (run = 1; i + run < n && places[i + run] == places[i] + run; run++)
            ;
        s->start[0] = places[i];
        s->block[0] = run;
        result = add_slab(m, s, to);
    }
    return result;
}

/* Without rows that the dataset does not have: it may be smaller than it was, and a file may
 * say anything. */
static uint64_t
cut_rows(const struct moved *m, struct slab *s)
{
    if (s->start[0] >= m->n_rows || s->stride[0] == 0)
        return 0;
    uint64_t left = m->n_rows - s->start[0], most = (left - 1) / s->stride[0] + 1;
    s->count[0] = s->count[0] < most ? s->count[0] : most;
    s->block[0] = s->block[0] < left ? s->block[0] : left;
    return s->count[0] * s->block[0];
}

static herr_t
carry_slab(const struct moved *m, struct slab *s, hid_t to)
{
    if (!m->rows && !is_part(m))
        return add_slab(m, s, to);
    const uint64_t n = cut_rows(m, s);
    uint64_t *places = calloc(n > 0 ? n : 1, sizeof *places);
    size_t kept = 0;
    for (uint64_t i = 0; i < n && places; i++)
        kept += find_row(m, s->start[0] + i / s->block[0] * s->stride[0] + i % s->block[0],
                         &places[kept]);
    if (places)
        pack_sort_u64(places, kept);
    herr_t result = places ? add_places(m, s, places, kept, to) : -1;
    free(places);
    return result;
}

/* Any number of blocks, the first element and the last one of each. */
static herr_t
carry_blocks(const struct moved *m, hid_t from, hid_t to)
{
    hssize_t n = H5Sget_select_hyper_nblocks(from);
    size_t rank = (size_t)m->rank;
    hsize_t *corners = n > 0 ? calloc((size_t)n, 2 * rank * sizeof *corners) : NULL;
    herr_t result =
        corners ? H5Sget_select_hyper_blocklist(from, 0, (hsize_t)n, corners) : -1;
    for (size_t i = 0; i < (size_t)n && result >= 0; i++) {
        const hsize_t *first = corners + 2 * rank * i, *last = first + rank;
        struct slab s;
        for (size_t k = 0; k < rank; k++) {
            s.start[k] = first[k];
            s.stride[k] = s.count[k] = 1;
            s.block[k] = last[k] - first[k] + 1;
        }
        result = carry_slab(m, &s, to);
    }
    free(corners);
    return result;
}

static herr_t
carry_hyperslabs(const struct moved *m, hid_t from, hid_t to)
{
    struct slab s;
    if (H5Sis_regular_hyperslab(from) <= 0)
        return carry_blocks(m, from, to);
    herr_t result = H5Sget_regular_hyperslab(from, s.start, s.stride, s.count, s.block);
    return result < 0 ? result : carry_slab(m, &s, to);
}

/* One of the source to one of the copy; false when it is not there. */
static bool
carry_point(const struct moved *m, const hsize_t *from, hsize_t *to)
{
    hsize_t at[H5S_MAX_RANK];
    uint64_t row;
    memcpy(at, from, (size_t)m->rank * sizeof *at);
    if (!find_row(m, at[0], &row))
        return false;
    at[0] = row;
    for (int i = 0; i < m->rank; i++)
        to[i] = at[m->axes ? m->axes[i] : i];
    return true;
}

static herr_t
carry_points(const struct moved *m, hid_t from, hid_t to)
{
    hssize_t n = H5Sget_select_elem_npoints(from);
    size_t rank = (size_t)m->rank, kept = 0;
    hsize_t *points = n > 0 ? calloc((size_t)n, rank * sizeof *points) : NULL;
    herr_t result = points ? H5Sget_select_elem_pointlist(from, 0, (hsize_t)n, points) : -1;
    for (size_t i = 0; i < (size_t)n && result >= 0; i++)
        kept += carry_point(m, points + i * rank, points + kept * rank);
    if (result >= 0 && kept > 0)
        result = H5Sselect_elements(to, H5S_SELECT_SET, kept, points);
    free(points);
    return result;
}

hid_t
pack_clone_region(const struct pack_clone *clone, const struct clone_object *object,
                  hid_t region, hid_t target)
{
    struct moved m = moved_of(clone, object, region);
    H5S_sel_type type = H5Sget_select_type(region);
    bool is_moved = m.rank > 0 && (m.rows || m.axes || is_part(&m));
    hid_t to = is_moved ? H5Dget_space(target) : H5Scopy(region);
    herr_t result = to < 0 ? -1 : 0;
    if (to >= 0 && is_moved && type != H5S_SEL_ALL)
        result = H5Sselect_none(to);
    if (result >= 0 && is_moved && type == H5S_SEL_HYPERSLABS)
        result = carry_hyperslabs(&m, region, to);
    if (result >= 0 && is_moved && type == H5S_SEL_POINTS)
        result = carry_points(&m, region, to);
    if (result < 0 && to >= 0) {
        H5Sclose(to);
        to = -1;
    }
    return to;
}
