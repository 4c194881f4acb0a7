/*
 * A batch is cut into pieces, sample by sample and chunk by chunk, which are then sorted by
 * chunk: so each chunk is visited once in a batch, and neighbours in the file follow each
 * other.
 */
#include "libpack/reader/draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/model/grid.h"

/* ------------------------------------------------------------------ opening */

/* All reads of a trace are of one shape, and inside. */
static enum pack_status
check_trace(const struct pack_draw *draw, struct pack_error *err)
{
    const struct pack_pattern *p = &draw->pattern;
    for (uint64_t i = 0; i < p->n_trace; i++) {
        enum pack_status status = pack_grid_check_box(draw->grid, &p->trace[i], err);
        if (status != PACK_OK)
            return status;
        if (memcmp(p->trace[i].count, draw->count,
                   (size_t)draw->grid->rank * sizeof *draw->count) != 0)
            return pack_fail(
                err, PACK_ERR_UNSUPPORTED,
                "read %" PRIu64 " of the trace has another shape than the first", i + 1);
    }
    return PACK_OK;
}

static void
set_count(struct pack_draw *draw)
{
    const struct pack_pattern *p = &draw->pattern;
    const struct pack_grid *grid = draw->grid;
    for (int i = 0; i < grid->rank; i++)
        draw->count[i] = i > 0 && draw->whole_rows        ? grid->extent[i]
                         : p->kind == PACK_PATTERN_TRACE ? p->trace[0].count[i]
                         : p->box.rank > 0             ? p->box.extent[i]
                         : i == 0                      ? 1
                                                       : grid->extent[i];
}

/* Most chunks of a part that `count` touches from axis `axis` on, wherever it is. */
static bool
count_touched(const struct pack_grid *grid, const uint64_t *count, int axis, uint64_t *n)
{
    for (*n = 1; axis < grid->rank; axis++) {
        uint64_t chunk = grid->chunk[axis], beyond = count[axis] - 1;
        uint64_t touched = beyond / chunk + (beyond % chunk != 0) + 1;
        if (touched > grid->n_chunks[axis])
            touched = grid->n_chunks[axis];
        if (!pack_size_mul(*n, touched, n))
            return false;
    }
    return true;
}

/* Most pieces of a batch. A sample that may lie in several parts has, in each of them, no
 * more than it would have if all of it lay there. */
static bool
count_pieces(struct pack_draw *draw)
{
    const struct pack_rowmap *rows = draw->rows;
    uint64_t n, most = 0, n_rows_min = UINT64_MAX, n_parts = 1;
    for (size_t i = 0; i < rows->n_parts; i++) {
        const struct pack_rowmap_part *part = &rows->parts[i];
        if (!count_touched(&rows->files[part->file].map->grid, draw->count, 0, &n))
            return false;
        most = n > most ? n : most;
        n_rows_min = part->n_rows < n_rows_min ? part->n_rows : n_rows_min;
    }
    if (draw->count[0] > 1)
        n_parts = (draw->count[0] - 2) / n_rows_min + 2;
    if (n_parts > rows->n_parts)
        n_parts = rows->n_parts;
    if (!pack_size_mul(most, n_parts, &n) || !pack_size_mul(n, draw->batch, &n))
        return false;
    draw->pieces_max = n;
    return n <= UINT32_MAX;
}

static enum pack_status
settle(struct pack_draw *draw, uint64_t position, struct pack_error *err)
{
    uint64_t length = pack_pattern_length(draw->iter);
    enum pack_status status = PACK_OK;
    draw->batch = draw->pattern.batch;
    if (position % draw->batch != 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "position",
                               "position %" PRIu64 " is inside a batch of %" PRIu64,
                               position, draw->batch);
    if (draw->batch > length)
        draw->batch = length > 0 ? length : 1;
    set_count(draw);
    if (draw->pattern.kind == PACK_PATTERN_TRACE && !draw->whole_rows)
        status = check_trace(draw, err);
    if (status == PACK_OK) {
        status = pack_pattern_seek(draw->iter, draw->pattern.epoch, position, err);
        if (status != PACK_OK)
            return pack_error_param(err, status, "position");
    }
    if (status == PACK_OK && !count_pieces(draw))
        status = pack_fail(err, PACK_ERR_LIMIT, "a batch takes more than 2^32 pieces");
    return status;
}

static enum pack_status
begin(struct pack_draw draw, uint64_t position, struct pack_draw *out,
      struct pack_error *err)
{
    enum pack_status status = pack_pattern_new(&draw.pattern, &draw.iter, err);
    if (status == PACK_OK)
        status = settle(&draw, position, err);
    if (status != PACK_OK) {
        pack_draw_done(&draw);
        return status;
    }
    *out = draw;
    return PACK_OK;
}

enum pack_status
pack_draw_init(struct pack_draw *out, const struct pack_pattern *pattern,
               const struct pack_rowmap *rows, uint64_t position, uint64_t n_epochs,
               struct pack_error *err)
{
    struct pack_draw draw = { .rows = rows,
                              .grid = &rows->whole->grid,
                              .pattern = *pattern };
    if (draw.pattern.batch == 0)
        draw.pattern.batch = 1;
    if (!pack_size_add(pattern->epoch, n_epochs, &draw.end_epoch))
        draw.end_epoch = UINT64_MAX;
    return begin(draw, position, out, err);
}

enum pack_status
pack_draw_follow(struct pack_draw *out, const struct pack_draw *leader,
                 const struct pack_rowmap *rows, uint64_t position,
                 struct pack_error *err)
{
    struct pack_draw draw = { .rows = rows,
                              .grid = &rows->whole->grid,
                              .pattern = leader->pattern,
                              .whole_rows = true,
                              .end_epoch = leader->end_epoch };
    return begin(draw, position, out, err);
}

void
pack_draw_done(struct pack_draw *draw)
{
    pack_pattern_free(draw->iter);
    *draw = (struct pack_draw){ .rows = NULL };
}

/* ------------------------------------------------------------------ a batch */

uint64_t
pack_draw_bytes(const struct pack_draw *draw)
{
    uint64_t rank =
        (uint64_t)draw->grid->rank; /* 2^32 pieces of some hundred bytes fit */
    return draw->batch * (1 + rank) * sizeof(uint64_t) +
           draw->pieces_max * (sizeof(struct pack_piece) + sizeof(struct pack_visit));
}

enum pack_status
pack_drawn_init(struct pack_drawn *out, const struct pack_draw *draw,
                struct pack_error *err)
{
    struct pack_drawn drawn = { .epoch = 0 };
    drawn.samples = calloc(draw->batch, sizeof *drawn.samples);
    drawn.starts = calloc(draw->batch, (size_t)draw->grid->rank * sizeof *drawn.starts);
    drawn.pieces = calloc(draw->pieces_max, sizeof *drawn.pieces);
    drawn.visits = calloc(draw->pieces_max, sizeof *drawn.visits);
    if (!drawn.samples || !drawn.starts || !drawn.pieces || !drawn.visits) {
        pack_drawn_done(&drawn);
        return pack_fail_memory(err, "batch");
    }
    *out = drawn;
    return PACK_OK;
}

void
pack_drawn_done(struct pack_drawn *drawn)
{
    free(drawn->visits);
    free(drawn->pieces);
    free(drawn->starts);
    free(drawn->samples);
    *drawn = (struct pack_drawn){ .epoch = 0 };
}

/* What a box of the pattern is in this dataset. */
static struct pack_box
place_box(const struct pack_draw *draw, const struct pack_box *drawn)
{
    int rank = draw->grid->rank;
    struct pack_box box = { .rank = rank };
    size_t n = draw->whole_rows ? 1 : (size_t)rank;
    memcpy(box.start, drawn->start, n * sizeof *box.start);
    memcpy(box.count, draw->count, (size_t)rank * sizeof *box.count);
    return box;
}

static void
cut_sample(const struct pack_draw *draw, struct pack_drawn *drawn, struct pack_box box)
{
    uint64_t row = box.start[0], end = row + box.count[0];
    while (row < end) {
        const struct pack_rowmap_part *part = pack_rowmap_row(draw->rows, row);
        uint64_t left = part->n_rows - (row - part->first_row);
        struct pack_grid_cursor c;
        box.start[0] = part->file_row + (row - part->first_row);
        box.count[0] = left < end - row ? left : end - row;
        for (bool more =
                 pack_grid_first(&c, &draw->rows->files[part->file].map->grid, &box);
             more; more = pack_grid_next(&c))
            drawn->pieces[drawn->n_pieces++] =
                (struct pack_piece){ c.number - part->file_chunk + part->first_chunk,
                                     (uint32_t)drawn->n_samples };
        row += box.count[0];
    }
}

static int
compare_pieces(const void *a, const void *b)
{
    const struct pack_piece *x = a, *y = b;
    return x->number != y->number   ? (x->number > y->number) - (x->number < y->number)
           : x->sample != y->sample ? (x->sample > y->sample) - (x->sample < y->sample)
                                    : 0;
}

static void
group_pieces(struct pack_drawn *drawn)
{
    qsort(drawn->pieces, drawn->n_pieces, sizeof *drawn->pieces, compare_pieces);
    drawn->n_visits = 0;
    for (size_t i = 0; i < drawn->n_pieces; i++) {
        uint64_t number = drawn->pieces[i].number;
        if (i == 0 || number != drawn->pieces[i - 1].number)
            drawn->visits[drawn->n_visits++] =
                (struct pack_visit){ .number = number, .first = (uint32_t)i };
        drawn->visits[drawn->n_visits - 1].n++;
    }
}

bool
pack_draw_next(struct pack_draw *draw, struct pack_drawn *drawn)
{
    struct pack_pattern_iter *iter = draw->iter;
    struct pack_request request;
    int rank = draw->grid->rank;
    uint64_t length = pack_pattern_length(iter), epoch = pack_pattern_epoch(iter);
    if (length > 0 && pack_pattern_position(iter) == length &&
        pack_pattern_seek(iter, ++epoch, 0, NULL) != PACK_OK)
        return false;
    if (length == 0 || epoch >= draw->end_epoch)
        return false;
    drawn->epoch = epoch;
    drawn->position = pack_pattern_position(iter);
    drawn->number = drawn->position / draw->pattern.batch;
    drawn->n_samples = drawn->n_pieces = 0;
    while (drawn->n_samples < draw->batch && pack_pattern_next(iter, &request)) {
        drawn->samples[drawn->n_samples] = request.samples[0];
        struct pack_box box = place_box(draw, &request.boxes[0]);
        memcpy(drawn->starts + drawn->n_samples * (size_t)rank, box.start,
               (size_t)rank * sizeof *drawn->starts);
        cut_sample(draw, drawn, box);
        drawn->n_samples++;
    }
    group_pieces(drawn);
    return true;
}
