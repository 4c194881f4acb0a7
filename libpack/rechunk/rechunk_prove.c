/*
 * Whether all of a dataset is bytes, and by which scale: its chunks are read and decoded once
 * more than moving takes, in threads. Results come in the order of the chunks, so the first
 * counter-example is the same whatever the number of threads: of each scale the first in the
 * order of the elements; when all scales have one, and no chunk that is left may hold an
 * earlier one, the rest need not be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/pool.h"
#include "libpack/model/grid.h"
#include "libpack/reader/chunkload.h"
#include "libpack/rechunk/rechunk_parts.h"

enum { IN_FLIGHT = 4 }; /* per worker */

/* The first element that a scale does not have; `at` in the order of all elements. */
struct counter_example {
    bool is_found;
    uint64_t at;
    unsigned char element[8];
};

struct item {
    uint64_t number;
    bool wanted[PACK_NARROW_SCALES];
    struct counter_example found[PACK_NARROW_SCALES];
    enum pack_status status;
    struct pack_error err;
};

struct worker {
    struct pack_chunkload load;
    unsigned char *chunk;
};

struct prover {
    const struct pack_chunkmap *map;
    const struct pack_narrow *narrow;
    struct pack_fetch fetch;
    unsigned n_workers;
    struct worker *workers;
    struct item *items;
    struct pack_pool *pool;
    struct counter_example found[PACK_NARROW_SCALES];
};

/* --------------------------------------------------------------- in the workers */

static enum pack_status
read_chunk(struct prover *p, struct worker *worker, const struct pack_box *box,
           struct item *item)
{
    static const uint64_t corner[PACK_RANK_MAX];
    const struct pack_grid *grid = &p->map->grid;
    struct pack_chunk chunk;
    struct pack_strided whole;
    enum pack_chunk_kind kind = pack_chunkmap_chunk(p->map, item->number, &chunk);
    const struct pack_strided_place place = { grid->chunk, corner };
    pack_strided_set(&whole, grid->rank, box->count, grid->elem_size, place, place);
    if (kind == PACK_CHUNK_CODED)
        return pack_chunkload_decode(&worker->load, &chunk, worker->chunk, &item->err);
    if (kind == PACK_CHUNK_FILLED)
        pack_strided_fill(&whole, p->map->fill, grid->elem_size, worker->chunk);
    else
        return pack_chunkload_copy(&worker->load, kind, &chunk, &whole, worker->chunk,
                                   &item->err);
    return PACK_OK;
}

/* Where an element of a chunk is among all. */
static uint64_t
place_of(const struct pack_grid *grid, const struct pack_box *box, uint64_t offset)
{
    uint64_t at = 0, step = 1;
    for (int i = grid->rank - 1; i >= 0; i--) {
        at += step * (box->start[i] + offset % grid->chunk[i]);
        offset /= grid->chunk[i];
        step *= grid->extent[i];
    }
    return at;
}

/* The block's first element that is none, in runs of those that lie together. */
static void
scan(const struct prover *p, const unsigned char *data, const struct pack_box *box,
     enum pack_narrow_scale scale, struct counter_example *found)
{
    const struct pack_grid *grid = &p->map->grid;
    uint64_t run = box->count[grid->rank - 1], row[PACK_RANK_MAX] = { 0 };
    int axis = grid->rank - 1;
    for (; axis > 0 && box->count[axis] == grid->chunk[axis]; axis--)
        run *= box->count[axis - 1];
    for (int i = axis; i >= 0;) {
        uint64_t offset = 0;
        for (int k = 0; k < grid->rank; k++)
            offset = offset * grid->chunk[k] + row[k];
        const unsigned char *at = data + offset * grid->elem_size;
        size_t n = pack_narrow_scan(p->narrow, scale, at, run);
        if (n < run) {
            found->is_found = true;
            found->at = place_of(grid, box, offset + n);
            memcpy(found->element, at + n * grid->elem_size, grid->elem_size);
            return;
        }
        for (i = axis - 1; i >= 0 && ++row[i] == box->count[i]; i--)
            row[i] = 0;
    }
}

static void
prove_chunk(void *context_item, unsigned number, void *context)
{
    struct prover *p = context;
    struct item *item = context_item;
    struct worker *worker = &p->workers[number];
    uint64_t coords[PACK_RANK_MAX];
    struct pack_box box;
    pack_grid_coords(&p->map->grid, item->number, coords);
    pack_grid_chunk_box(&p->map->grid, coords, &box);
    item->status = read_chunk(p, worker, &box, item);
    for (int s = 0; s < p->narrow->n_scales && item->status == PACK_OK; s++)
        if (item->wanted[s])
            scan(p, worker->chunk, &box, (enum pack_narrow_scale)s, &item->found[s]);
}

/* ----------------------------------------------------------------- one after another */

/* Whether a scale may have its first counter-example in a chunk, or behind it: those behind it
 * begin behind it, too. */
static bool
is_open(const struct prover *p, int scale, uint64_t number)
{
    const struct pack_grid *grid = &p->map->grid;
    uint64_t coords[PACK_RANK_MAX];
    struct pack_box box;
    if (!p->found[scale].is_found)
        return true;
    pack_grid_coords(grid, number, coords);
    pack_grid_chunk_box(grid, coords, &box);
    return place_of(grid, &box, 0) < p->found[scale].at;
}

static enum pack_status
take(struct prover *p, struct item *item, struct pack_error *err)
{
    if (item->status != PACK_OK) {
        if (err)
            *err = item->err;
        return item->status;
    }
    for (int s = 0; s < p->narrow->n_scales; s++)
        if (item->found[s].is_found &&
            (!p->found[s].is_found || item->found[s].at < p->found[s].at))
            p->found[s] = item->found[s];
    return PACK_OK;
}

/* False: nothing of the chunk, nor of those behind it, is of interest. */
static bool
submit(struct prover *p, uint64_t number)
{
    struct item *item = &p->items[number % ((uint64_t)IN_FLIGHT * p->n_workers)];
    bool any = false;
    *item = (struct item){ .number = number };
    for (int s = 0; s < p->narrow->n_scales; s++)
        any |= item->wanted[s] = is_open(p, s, number);
    if (any)
        pack_pool_submit(p->pool, 0, item);
    return any;
}

static enum pack_status
prove_chunks(struct prover *p, const struct pack_watch *watch, struct pack_error *err)
{
    uint64_t n = p->map->grid.n_chunks_total;
    enum pack_status status = PACK_OK;
    struct item *item;
    for (uint64_t i = 0; i < n && status == PACK_OK; i++) {
        const struct pack_progress progress = { .stage = "proving",
                                                .unit = "chunks",
                                                .done = i,
                                                .total = n };
        pack_watch_tell(watch, &progress);
        status = pack_watch_check(watch, err);
        if (status == PACK_OK && !pack_pool_has_room(p->pool, 0))
            status = take(p, pack_pool_next(p->pool, 0), err);
        if (status == PACK_OK && !submit(p, i))
            break;
    }
    while (status == PACK_OK && (item = pack_pool_next(p->pool, 0)))
        status = take(p, item, err);
    return status;
}

static enum pack_status
set_up(struct prover *p, struct pack_error *err)
{
    const struct pack_pool_lane lane = { prove_chunk, p, (size_t)IN_FLIGHT * p->n_workers };
    enum pack_status status = PACK_OK;
    p->workers = calloc(p->n_workers, sizeof *p->workers);
    p->items = calloc(lane.in_flight_max, sizeof *p->items);
    if (!p->workers || !p->items)
        return pack_fail_memory(err, "workers");
    for (unsigned i = 0; i < p->n_workers && status == PACK_OK; i++) {
        p->workers[i].chunk = malloc(p->map->grid.chunk_bytes);
        if (!p->workers[i].chunk)
            return pack_fail_memory(err, "a chunk");
        status = pack_chunkload_init(&p->workers[i].load, p->map, &p->fetch, err);
    }
    return status == PACK_OK ? pack_pool_new(p->n_workers, &lane, 1, &p->pool, err) : status;
}

static void
tear_down(struct prover *p)
{
    pack_pool_free(p->pool);
    for (unsigned i = 0; p->workers && i < p->n_workers; i++) {
        pack_chunkload_done(&p->workers[i].load);
        free(p->workers[i].chunk);
    }
    free(p->workers);
    free(p->items);
}

/* ------------------------------------------------------------------- the outcome */

/* "0.5 at (3,0,1)" */
static char *
say_where(const struct prover *p, const struct counter_example *found, char *text)
{
    char value[PACK_NARROW_TEXT_MAX];
    const struct pack_grid *grid = &p->map->grid;
    uint64_t coords[PACK_RANK_MAX], left = found->at;
    for (int i = grid->rank - 1; i >= 0; i--) {
        coords[i] = left % grid->extent[i];
        left /= grid->extent[i];
    }
    int used = snprintf(text, PACK_SHAPE_TEXT_MAX + PACK_NARROW_TEXT_MAX, "%s at ",
                        pack_narrow_text(p->narrow, found->element, value));
    for (int i = 0; i < grid->rank; i++)
        used += sprintf(text + used, "%c%" PRIu64, i ? ',' : '(', coords[i]);
    strcpy(text + used, ")");
    return text;
}

static enum pack_status
refuse(const struct prover *p, struct pack_error *err)
{
    char same[PACK_SHAPE_TEXT_MAX + PACK_NARROW_TEXT_MAX],
        other[PACK_SHAPE_TEXT_MAX + PACK_NARROW_TEXT_MAX];
    const struct counter_example *found = p->found, *by = &found[PACK_NARROW_QUOTIENT];
    if (found[PACK_NARROW_PRODUCT].at > by->at)
        by = &found[PACK_NARROW_PRODUCT];
    say_where(p, found, same);
    say_where(p, by, other);
    if (p->narrow->n_scales == 1)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:/%s' is not of bytes: %s is no integer of 0 to 255",
                         p->map->file.name, p->map->facts.path, same);
    if (found->at == by->at)
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:/%s' is not of bytes: %s is neither an integer of 0 to 255 "
                         "nor one of them by 255",
                         p->map->file.name, p->map->facts.path, same);
    return pack_fail(err, PACK_ERR_UNSUPPORTED,
                     "'%s:/%s' is not of bytes: %s is no integer of 0 to 255, and %s is "
                     "none of them by 255",
                     p->map->file.name, p->map->facts.path, same, other);
}

static enum pack_status
conclude(const struct prover *p, struct pack_narrow *narrow, struct pack_error *err)
{
    for (int s = 0; s < narrow->n_scales; s++)
        if (!p->found[s].is_found) {
            narrow->scale = (enum pack_narrow_scale)s;
            pack_narrow_put(narrow, p->map->fill, 1, &narrow->fill);
            return PACK_OK;
        }
    return refuse(p, err);
}

enum pack_status
pack_rechunk_prove(const struct pack_rechunk_params *params, struct pack_rechunk_set *set,
                   struct pack_error *err)
{
    struct prover p = { .map = set->map,
                        .narrow = set->narrow,
                        .n_workers = set->move.n_workers };
    int fd = open(set->map->file.name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", set->map->file.name);
    enum pack_status status = pack_fetch_open(&p.fetch, &pack_fetch_pread, fd,
                                              set->map->file.size_bytes, err);
    if (status == PACK_OK)
        status = set_up(&p, err);
    if (status == PACK_OK)
        status = prove_chunks(&p, &params->watch, err);
    tear_down(&p);
    if (status == PACK_OK)
        status = pack_chunkmap_check(set->map, fd, err);
    pack_fetch_close(&p.fetch);
    close(fd);
    return status == PACK_OK ? conclude(&p, set->narrow, err) : status;
}
