/* Selections that are not one block: the chunks they touch are found first, as the
 * library does, and each is visited once, in ascending number. */
#include "libpack/model/cachesim_parts.h"
#include "libpack/base/check.h"
#include "libpack/base/size.h"

#include <stdlib.h>
#include <string.h>

/* One visit, with the coordinates at hand. True when pieces are to be read directly. */
static bool
visit(struct pack_cachesim *sim, uint64_t number, const uint64_t *coords,
      uint64_t n_elements)
{
    if (!sim->caching)
        return pack_cachesim_visit_uncached(sim, number, n_elements);
    pack_cachesim_visit_slot(sim, number, pack_cachesim_slot(sim, number, coords),
                             n_elements);
    return false;
}

/* ----------------------------------------------------------------- strided */

/* Along one axis, the selected elements that fall into one chunk. */
struct run {
    uint64_t first; /* index among the selected ones */
    uint64_t coord; /* of the chunk */
    uint64_t start; /* of the first, from the chunk's corner */
    uint64_t count;
};

static struct run
run_from(const struct pack_grid *grid, const struct pack_box *box, const uint64_t *stride,
         int axis, uint64_t first)
{
    uint64_t at = box->start[axis] + first * stride[axis], chunk = grid->chunk[axis];
    uint64_t start = at % chunk, fit = (chunk - 1 - start) / stride[axis] + 1;
    uint64_t remain = box->count[axis] - first;
    return (struct run){ first, at / chunk, start, fit < remain ? fit : remain };
}

static void
visit_runs(struct pack_cachesim *sim, const struct run *runs, const struct pack_box *box,
           const uint64_t *stride)
{
    uint64_t coords[PACK_RANK_MAX], start[PACK_RANK_MAX], count[PACK_RANK_MAX], n = 1;
    for (int i = 0; i < sim->grid.rank; i++) {
        coords[i] = runs[i].coord;
        start[i] = runs[i].start;
        count[i] = runs[i].count;
        n *= count[i];
    }
    if (visit(sim, pack_grid_number(&sim->grid, coords), coords, n)) {
        struct pack_pieces pieces = { 0 };
        struct pack_block block = { start, count, stride, box->count, 0 };
        pack_cachesim_add_block(sim, &pieces, &block);
        pack_cachesim_end_pieces(sim, &pieces);
    }
}

enum pack_status
pack_cachesim_read_strided(struct pack_cachesim *sim, const struct pack_box *box,
                           const uint64_t *stride, struct pack_error *err)
{
    struct run runs[PACK_RANK_MAX];
    int axis;
    enum pack_status status = pack_cachesim_check_strided(sim, box, stride, err);
    if (status != PACK_OK)
        return status;
    for (int i = 0; i < sim->grid.rank; i++) {
        if (box->count[i] == 0)
            return PACK_OK;
        runs[i] = run_from(&sim->grid, box, stride, i, 0);
    }
    do {
        visit_runs(sim, runs, box, stride);
        for (axis = sim->grid.rank - 1; axis >= 0; axis--) {
            uint64_t next = runs[axis].first + runs[axis].count;
            bool more = next < box->count[axis];
            runs[axis] = run_from(&sim->grid, box, stride, axis, more ? next : 0);
            if (more)
                break;
        }
    } while (axis >= 0);
    return PACK_OK;
}

/* -------------------------------------------------------- points and boxes */

/* What one point or one box has in one chunk. */
struct part {
    uint64_t number;
    size_t from;     /* index of the point or box */
    uint64_t before; /* elements of the selection before this point or box */
    uint64_t n_elements;
};

static int
by_number(const void *a, const void *b)
{
    const struct part *p = a, *q = b;
    if (p->number != q->number)
        return p->number < q->number ? -1 : 1;
    return p->from < q->from ? -1 : p->from > q->from;
}

/* Adds one part's pieces to those of its chunk; `selection` is what the caller gave. */
typedef void add_part_fn(struct pack_cachesim *sim, struct pack_pieces *pieces,
                         const uint64_t *coords, const void *selection,
                         const struct part *part);

/* Visits each chunk of the parts once. */
static void
visit_parts(struct pack_cachesim *sim, struct part *parts, size_t n_parts,
            const void *selection, add_part_fn *add_part)
{
    qsort(parts, n_parts, sizeof parts[0], by_number);
    for (size_t i = 0, end; i < n_parts; i = end) {
        uint64_t coords[PACK_RANK_MAX], n_elements = 0;
        for (end = i; end < n_parts && parts[end].number == parts[i].number; end++)
            n_elements += parts[end].n_elements;
        pack_grid_coords(&sim->grid, parts[i].number, coords);
        if (!visit(sim, parts[i].number, coords, n_elements))
            continue;
        struct pack_pieces pieces = { .joins = true };
        for (size_t k = i; k < end; k++)
            add_part(sim, &pieces, coords, selection, &parts[k]);
        pack_cachesim_end_pieces(sim, &pieces);
    }
}

static struct part *
make_parts(uint64_t n)
{
    uint64_t bytes;
    if (!pack_size_mul(n ? n : 1, sizeof(struct part), &bytes) || bytes > SIZE_MAX)
        return NULL;
    return malloc((size_t)bytes);
}

static void
add_point(struct pack_cachesim *sim, struct pack_pieces *pieces, const uint64_t *coords,
          const void *selection, const struct part *part)
{
    const struct pack_grid *grid = &sim->grid;
    const uint64_t *point = (const uint64_t *)selection + part->from * (size_t)grid->rank;
    uint64_t at = 0;
    for (int i = 0; i < grid->rank; i++)
        at = at * grid->chunk[i] + (point[i] - coords[i] * grid->chunk[i]);
    pack_cachesim_add_piece(sim, pieces, at * grid->elem_size, grid->elem_size,
                            part->before * grid->elem_size);
}

enum pack_status
pack_cachesim_read_points(struct pack_cachesim *sim, const uint64_t *coords,
                          size_t n_points, struct pack_error *err)
{
    enum pack_status status = pack_cachesim_check_points(sim, coords, n_points, err);
    if (status != PACK_OK)
        return status;
    const struct pack_grid *grid = &sim->grid;
    struct part *parts = make_parts(n_points);
    if (!parts)
        return pack_fail_memory(err, "points of a selection");
    for (size_t i = 0; i < n_points; i++) {
        uint64_t chunk[PACK_RANK_MAX];
        for (int k = 0; k < grid->rank; k++)
            chunk[k] = coords[i * (size_t)grid->rank + (size_t)k] / grid->chunk[k];
        parts[i] = (struct part){ pack_grid_number(grid, chunk), i, i, 1 };
    }
    visit_parts(sim, parts, n_points, coords, add_point);
    free(parts);
    return PACK_OK;
}

static void
add_box(struct pack_cachesim *sim, struct pack_pieces *pieces, const uint64_t *coords,
        const void *selection, const struct part *part)
{
    const struct pack_box *box = (const struct pack_box *)selection + part->from;
    uint64_t start[PACK_RANK_MAX], count[PACK_RANK_MAX], memory = 0;
    for (int i = 0; i < sim->grid.rank; i++) {
        uint64_t chunk = sim->grid.chunk[i], corner = coords[i] * chunk;
        uint64_t end = box->start[i] + box->count[i] - corner;
        start[i] = box->start[i] > corner ? box->start[i] - corner : 0;
        count[i] = (end < chunk ? end : chunk) - start[i];
        memory = memory * box->count[i] + (corner + start[i] - box->start[i]);
    }
    struct pack_block block = { start, count, NULL, box->count,
                                (part->before + memory) * sim->grid.elem_size };
    pack_cachesim_add_block(sim, pieces, &block);
}

enum pack_status
pack_cachesim_read_boxes(struct pack_cachesim *sim, const struct pack_box *boxes,
                         size_t n_boxes, struct pack_error *err)
{
    uint64_t n_parts = 0, before = 0;
    size_t n = 0;
    if (!sim || (!boxes && n_boxes > 0))
        return pack_check_given(err, "sim", sim, "boxes", boxes, NULL);
    if (n_boxes == 1)
        return pack_cachesim_read(sim, boxes, err);
    for (size_t i = 0; i < n_boxes; i++) {
        enum pack_status status = pack_cachesim_check_box(sim, &boxes[i], "boxes", err);
        if (status != PACK_OK)
            return status;
        if (!pack_size_add(n_parts, pack_grid_count(&sim->grid, &boxes[i]), &n_parts))
            n_parts = UINT64_MAX;
    }
    enum pack_status status = pack_cachesim_check_visits(n_parts, "boxes", err);
    if (status != PACK_OK)
        return status;
    struct part *parts = make_parts(n_parts);
    if (!parts)
        return pack_fail_memory(err, "boxes of a selection");
    for (size_t i = 0; i < n_boxes; i++) {
        struct pack_grid_cursor c;
        uint64_t n_elements = 0;
        for (bool more = pack_grid_first(&c, &sim->grid, &boxes[i]); more;
             more = pack_grid_next(&c)) {
            parts[n++] = (struct part){ c.number, i, before, c.n_elements };
            n_elements += c.n_elements;
        }
        before += n_elements;
    }
    visit_parts(sim, parts, n, boxes, add_box);
    free(parts);
    return PACK_OK;
}
