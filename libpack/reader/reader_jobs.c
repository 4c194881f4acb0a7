/*
 * The future runs ahead of the present by whole batches, as far as the plan has room: what
 * the plan is to decide for a batch it has always seen. Drawing an order twice costs less
 * than keeping its boxes.
 *
 * Visits are dealt out in runs of about RUN_BYTES, so that small chunks are not a lock
 * each.
 */
#include "libpack/reader/reader_parts.h"

#include "libpack/base/clock.h"
#include "libpack/model/grid.h"

enum { RUN_BYTES = 1 << 16 };

/* Shorter runs end in lines of which the cache has the rest. */
enum { PAST_CACHE_BYTES = 4096 };

/* ----------------------------------------------------------------- planning */

static bool
is_coded(const struct pack_reader *r, uint64_t number)
{
    const struct pack_rowmap_file *file;
    struct pack_chunk chunk;
    return pack_rowmap_chunk(&r->rows, number, &file, &chunk) == PACK_CHUNK_CODED;
}

/* Visits that need no plan count, too: an order may have none that does, and no end. */
static void
look_ahead(struct pack_reader *r)
{
    uint64_t most = r->plan_ahead_max - r->future.pieces_max;
    while (!r->future_ended && r->n_ahead <= most) {
        r->future_ended = !pack_draw_next(&r->future, &r->seen);
        if (r->future_ended)
            break;
        r->n_ahead += r->seen.n_visits;
        for (size_t i = 0; i < r->seen.n_visits; i++)
            if (is_coded(r, r->seen.visits[i].number))
                pack_plan_see(r->plan, r->seen.visits[i].number);
    }
}

/* The end of the run that begins at `first`. */
static size_t
find_run_end(const struct pack_reader *r, const struct pack_drawn *drawn, size_t first)
{
    uint64_t bytes = 0;
    size_t i = first;
    while (i < drawn->n_visits && bytes < RUN_BYTES) {
        const struct pack_visit *visit = &drawn->visits[i++];
        bytes += visit->is_coded ? r->rows.chunk_bytes
                                 : (uint64_t)visit->n * r->sample_bytes;
    }
    return i;
}

bool
pack_reader_plan_job(struct pack_reader *r, struct pack_job *job)
{
    struct pack_drawn *drawn = &job->drawn;
    if (!pack_draw_next(&r->present, drawn))
        return false;
    if (r->plan) {
        look_ahead(r);
        r->n_ahead -= drawn->n_visits;
    }
    for (size_t i = 0; i < drawn->n_visits; i++) {
        struct pack_visit *visit = &drawn->visits[i];
        visit->is_coded = is_coded(r, visit->number);
        if (visit->is_coded)
            pack_plan_next(r->plan, &visit->step);
    }
    for (size_t i = 0, end = 0; i < drawn->n_visits; i++) {
        if (i == end)
            end = find_run_end(r, drawn, i);
        drawn->visits[i].run_end = (uint32_t)end;
    }
    return true;
}

/* ----------------------------------------------------------------- reading */

/* Rows of a sample that lie in a part, as rows of its dataset; returns how many of the sample
 * come before them. */
static uint64_t
to_part(const struct pack_rowmap_part *part, uint64_t *begin, uint64_t *end)
{
    uint64_t part_end = part->first_row + part->n_rows, before = 0;
    if (*begin < part->first_row)
        before = part->first_row - *begin;
    *begin = *begin + before - part->first_row + part->file_row;
    *end = (*end < part_end ? *end : part_end) - part->first_row + part->file_row;
    return before;
}

void
pack_reader_strided(const struct pack_reader *r, const struct pack_job *job,
                    const struct pack_piece *piece, struct pack_strided *s)
{
    const struct pack_rowmap_part *part = pack_rowmap_part(&r->rows, piece->number);
    const struct pack_grid *grid = &r->rows.files[part->file].map->grid;
    const uint64_t *start = job->drawn.starts + piece->sample * (size_t)grid->rank;
    uint64_t coords[PACK_RANK_MAX], from[PACK_RANK_MAX], to[PACK_RANK_MAX],
        count[PACK_RANK_MAX];
    pack_grid_coords(grid, piece->number - part->first_chunk + part->file_chunk, coords);
    for (int i = 0; i < grid->rank; i++) {
        uint64_t begin = start[i], end = begin + r->present.count[i], before = 0;
        if (i == 0)
            before = to_part(part, &begin, &end);
        uint64_t corner = coords[i] * grid->chunk[i];
        uint64_t chunk_end = corner + grid->chunk[i];
        uint64_t first = begin > corner ? begin : corner;
        count[i] = (end < chunk_end ? end : chunk_end) - first;
        from[i] = first - corner;
        to[i] = before + first - begin;
    }
    pack_strided_set(s, grid->rank, count, grid->elem_size,
                     (struct pack_strided_place){ grid->chunk, from },
                     (struct pack_strided_place){ r->present.count, to });
    s->to += piece->sample * (uint64_t)r->sample_bytes;
    s->past_cache = r->past_cache && s->run_bytes >= PAST_CACHE_BYTES;
}

void
pack_reader_swap(const struct pack_reader *r, void *data, size_t n_samples)
{
    struct pack_strided all = { .run_bytes = n_samples * r->sample_bytes };
    if (r->swaps)
        pack_strided_swap(&all, r->map->facts.type.bytes, data);
}

static void
swap_piece(const struct pack_reader *r, struct pack_job *job,
           const struct pack_strided *s)
{
    if (r->swaps)
        pack_strided_swap(s, r->map->facts.type.bytes, job->raw);
}

/* Whether a chunk lies behind `reach`, so near that both are read at once. */
static bool
is_near(const struct pack_rowmap_file *file, const struct pack_chunk *chunk, uint64_t reach)
{
    uint64_t size = file->map->file.size_bytes;
    return chunk->address_bytes >= reach && chunk->address_bytes <= size &&
           chunk->stored_bytes <= size - chunk->address_bytes &&
           chunk->address_bytes - reach <= PACK_CHUNKLOAD_GAP_BYTES;
}

/* Small chunks that this thread decodes next and that lie behind this one are read along
 * with it. */
static void
gather(struct pack_reader *r, struct pack_hand *hand, const struct pack_job *job,
       const struct pack_visit *visit, const struct pack_chunk *first)
{
    const struct pack_visit *end = job->drawn.visits + visit->run_end;
    const struct pack_rowmap_file *file, *next;
    uint64_t reach = first->address_bytes;
    struct pack_chunk chunk = *first;
    int n = 0;
    pack_rowmap_chunk(&r->rows, visit->number, &file, &chunk);
    for (next = file; next == file && is_near(file, &chunk, reach);) {
        n++;
        reach = chunk.address_bytes + chunk.stored_bytes;
        do
            visit++;
        while (visit < end && (!visit->is_coded || visit->step.action == PACK_PLAN_HIT));
        if (visit == end)
            break;
        pack_rowmap_chunk(&r->rows, visit->number, &next, &chunk);
    }
    if (n > 1)
        pack_chunkload_gather(&hand->load, first->address_bytes,
                              reach - first->address_bytes);
}

enum pack_status
pack_reader_decode(struct pack_reader *r, struct pack_hand *hand,
                   const struct pack_job *job, const struct pack_visit *visit, void *out,
                   struct pack_error *err)
{
    const struct pack_rowmap_file *file;
    struct pack_chunk chunk;
    pack_rowmap_chunk(&r->rows, visit->number, &file, &chunk);
    pack_chunkload_turn(&hand->load, file->map, &file->fetch);
    if (!pack_chunkload_has(&hand->load, &chunk))
        gather(r, hand, job, visit, &chunk);
    return pack_chunkload_decode(&hand->load, &chunk, out, err);
}

/* What is drawn for sample i of a batch. */
static struct pack_transform_drawn
draw_for(const struct pack_reader *r, const struct pack_job *job, size_t i)
{
    struct pack_transform_drawn drawn;
    pack_transform_draw(r->transform, job->drawn.epoch, job->drawn.samples[i], &drawn);
    return drawn;
}

/* Makes sample i of a batch. */
static enum pack_status
make(const struct pack_reader *r, struct pack_hand *hand, struct pack_job *job, size_t i,
     const struct pack_transform_drawn *drawn, const unsigned char *sample,
     struct pack_error *err)
{
    uint64_t begin_ns = pack_clock_ns();
    enum pack_status status =
        pack_transform_apply(r->transform, hand->made, drawn, sample,
                             job->data + i * r->transform->out_bytes, err);
    hand->made_ns += pack_clock_ns() - begin_ns;
    return status;
}

enum pack_status
pack_reader_place(struct pack_reader *r, struct pack_hand *hand, struct pack_job *job,
                  const struct pack_visit *visit, const unsigned char *chunk,
                  struct pack_error *err)
{
    struct pack_strided s;
    enum pack_status status = PACK_OK;
    for (uint32_t i = visit->first; i < visit->first + visit->n && status == PACK_OK; i++) {
        const struct pack_piece *piece = &job->drawn.pieces[i];
        pack_reader_strided(r, job, piece, &s);
        if (r->makes_at_once) {
            const struct pack_transform_drawn drawn = draw_for(r, job, piece->sample);
            status = make(r, hand, job, piece->sample, &drawn, chunk + s.from, err);
            continue;
        }
        pack_strided_copy(&s, 0, chunk + s.from, job->raw + s.to);
        swap_piece(r, job, &s);
    }
    return status;
}

struct making {
    const struct pack_reader *r;
    struct pack_hand *hand;
    struct pack_job *job;
    size_t sample;
    const struct pack_transform_drawn *drawn;
    const unsigned char *data;
    enum pack_status status;
    struct pack_error *err;
};

static void
make_of_view(void *argument)
{
    struct making *m = argument;
    m->status = make(m->r, m->hand, m->job, m->sample, m->drawn, m->data, m->err);
}

/* Reads of a sample the rows that something is made of, and makes it. */
static enum pack_status
pass_made(struct pack_reader *r, struct pack_hand *hand, struct pack_job *job,
          const struct pack_piece *piece, const struct pack_chunk *chunk,
          enum pack_chunk_kind kind, struct pack_error *err)
{
    const struct pack_transform_drawn drawn = draw_for(r, job, piece->sample);
    struct pack_strided s;
    uint64_t first, n;
    pack_reader_strided(r, job, piece, &s);
    pack_transform_wanted(r->transform, &drawn, &first, &n);
    const void *rows;
    enum pack_status status =
        pack_chunkload_view(&hand->load, kind, chunk, s.from + first, (size_t)n,
                            hand->sample + first, &rows, err);
    if (status != PACK_OK)
        return status;
    struct making making = { .r = r, .hand = hand, .job = job, .sample = piece->sample,
                             .drawn = &drawn, .data = (const unsigned char *)rows - first,
                             .err = err };
    status = pack_fetch_read(hand->load.fetch, rows, make_of_view, &making, err);
    return status == PACK_OK ? making.status
                             : pack_chunkload_named(&hand->load, chunk, status, err);
}

/* A chunk that one sample wants, all of it, in one piece, is decoded where it belongs. */
static enum pack_status
pass_coded(struct pack_reader *r, struct pack_hand *hand, struct pack_job *job,
           const struct pack_visit *visit, struct pack_error *err)
{
    const struct pack_rowmap_part *part = pack_rowmap_part(&r->rows, visit->number);
    struct pack_strided s;
    pack_reader_strided(r, job, &job->drawn.pieces[visit->first], &s);
    bool in_place = visit->n == 1 &&
                    s.run_bytes == r->rows.files[part->file].map->grid.chunk_bytes &&
                    !r->makes_at_once;
    enum pack_status status = pack_reader_decode(
        r, hand, job, visit, in_place ? job->raw + s.to : hand->chunk, err);
    if (status == PACK_OK && in_place)
        swap_piece(r, job, &s);
    else if (status == PACK_OK)
        status = pack_reader_place(r, hand, job, visit, hand->chunk, err);
    return status;
}

enum pack_status
pack_reader_pass(struct pack_reader *r, struct pack_hand *hand, struct pack_job *job,
                 const struct pack_visit *visit, struct pack_error *err)
{
    const struct pack_rowmap_file *file;
    struct pack_chunk chunk;
    struct pack_strided s;
    enum pack_status status = PACK_OK;
    if (visit->is_coded)
        return pass_coded(r, hand, job, visit, err);
    enum pack_chunk_kind kind =
        pack_rowmap_chunk(&r->rows, visit->number, &file, &chunk);
    pack_chunkload_turn(&hand->load, file->map, &file->fetch);
    for (uint32_t i = visit->first; i < visit->first + visit->n && status == PACK_OK;
         i++) {
        const struct pack_piece *piece = &job->drawn.pieces[i];
        if (r->makes_at_once) {
            status = pass_made(r, hand, job, piece, &chunk, kind, err);
            continue;
        }
        pack_reader_strided(r, job, piece, &s);
        status = pack_chunkload_copy(&hand->load, kind, &chunk, &s, job->raw, err);
        if (status == PACK_OK)
            swap_piece(r, job, &s);
    }
    return status;
}

enum pack_status
pack_reader_make(const struct pack_reader *r, struct pack_hand *hand,
                 struct pack_job *job, size_t first, size_t end, size_t *bad,
                 struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = first; i < end && status == PACK_OK; i++) {
        const struct pack_transform_drawn drawn = draw_for(r, job, i);
        status = make(r, hand, job, i, &drawn, job->raw + i * r->sample_bytes, err);
        *bad = i;
    }
    return status;
}
