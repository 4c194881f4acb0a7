/*
 * What the workers do: a source chunk is read and decoded once, whatever it goes to, its
 * elements become what they are to be, and a target chunk is encoded. They write to parts of
 * slots that no other load writes to. Chunks that lie one behind the other in the file are
 * read at once; of a large one that goes to several places, each piece is read straight to its
 * own, unless its axes are turned.
 */
#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/model/grid.h"
#include "libpack/reader/strided.h"
#include "libpack/rechunk/rechunk_move_parts.h"

enum { LONG_BYTES = 1 << 14 };

/* Where a box of the dataset is in the chunk whose corner is at `origin`. */
static void
place_in(const struct pack_grid *grid, const uint64_t *coords, const uint64_t *at,
         uint64_t *start)
{
    for (int i = 0; i < grid->rank; i++)
        start[i] = at[i] - coords[i] * grid->chunk[i];
}

/* What of a source chunk goes to the target chunk at the cursor. */
static void
set_piece(const struct mover *m, const struct move_part *part,
          const struct pack_rechunk_piece *one, struct pack_strided *piece)
{
    const struct pack_grid *source = &m->move->plan.source;
    const struct pack_grid_cursor *cursor = &one->cursor;
    uint64_t from[PACK_RANK_MAX];
    place_in(source, part->load.coords, one->at, from);
    pack_strided_set_turned(
        piece, source->rank, cursor->count, cursor->grid->elem_size,
        (struct pack_strided_place){ source->chunk, from }, m->params->axes,
        (struct pack_strided_place){ cursor->grid->chunk, cursor->start });
}

/* An unfiltered chunk is read as a whole, as far as it lies in the dataset. */
static enum pack_status
read_whole(const struct mover *m, struct move_worker *worker, struct move_part *part,
           struct pack_error *err)
{
    static const uint64_t corner[PACK_RANK_MAX];
    const struct pack_grid *source = &m->params->map->grid;
    uint64_t coords[PACK_RANK_MAX];
    struct pack_box box;
    struct pack_strided whole;
    pack_grid_coords(source, part->load.number, coords);
    pack_grid_chunk_box(source, coords, &box);
    pack_strided_set(&whole, source->rank, box.count, source->elem_size,
                     (struct pack_strided_place){ source->chunk, corner },
                     (struct pack_strided_place){ source->chunk, corner });
    return pack_chunkload_copy(&worker->load, part->kind, &part->chunk, &whole,
                               worker->chunk, err);
}

/* Pieces so long that reading each costs less than copying it once more. */
static bool
are_long(const struct mover *m, const struct move_part *part)
{
    struct pack_rechunk_piece one;
    struct pack_strided piece;
    pack_rechunk_piece_first(&one, &m->move->plan, &part->load);
    set_piece(m, part, &one, &piece);
    return piece.run_bytes >= LONG_BYTES;
}

/* Brings the chunk to worker->chunk; *is_there: it is, else pieces are read one by one,
 * as they are. */
static enum pack_status
bring(const struct mover *m, struct move_worker *worker, struct move_part *part,
      bool *is_there, struct pack_error *err)
{
    *is_there = true;
    if (part->kind == PACK_CHUNK_CODED)
        return pack_chunkload_decode(&worker->load, &part->chunk, worker->chunk, err);
    if (m->params->narrow || m->params->axes ||
        (part->kind == PACK_CHUNK_RAW &&
         pack_rechunk_piece_count(&m->move->plan, &part->load) > 1 && !are_long(m, part)))
        return read_whole(m, worker, part, err);
    *is_there = false;
    return PACK_OK;
}

static enum pack_status
load_part(const struct mover *m, struct move_worker *worker, struct move_part *part,
          struct pack_error *err)
{
    struct pack_rechunk_piece one;
    struct pack_strided piece;
    bool is_there;
    size_t i = 0;
    enum pack_status status = bring(m, worker, part, &is_there, err);
    if (m->params->narrow && status == PACK_OK)
        pack_narrow_put(m->params->narrow, worker->chunk,
                        (size_t)m->move->plan.source.chunk_elements, worker->chunk);
    for (bool more = pack_rechunk_piece_first(&one, &m->move->plan, &part->load);
         more && status == PACK_OK; more = pack_rechunk_piece_next(&one)) {
        const struct move_slot *slot = part->slots[i++];
        if (!slot)
            continue;
        unsigned char *to = slot->data;
        set_piece(m, part, &one, &piece);
        if (is_there)
            pack_strided_copy(&piece, 0, worker->chunk + piece.from, to + piece.to);
        else
            status = pack_chunkload_copy(&worker->load, part->kind, &part->chunk, &piece,
                                         to, err);
    }
    return status;
}

static bool
is_in_file(const struct move_part *part)
{
    return part->kind == PACK_CHUNK_RAW || part->kind == PACK_CHUNK_CODED;
}

/* Reads part `i` at once with those behind it in the load that are behind it in the file. */
static void
gather(struct pack_chunkload *load, const struct move_load *batch, unsigned i)
{
    const struct pack_chunk *first = &batch->parts[i].chunk;
    uint64_t bytes = first->stored_bytes;
    unsigned n = 1;
    if (!is_in_file(&batch->parts[i]) || pack_chunkload_has(load, first))
        return;
    for (; i + n < batch->n && is_in_file(&batch->parts[i + n]); n++) {
        const struct pack_chunk *next = &batch->parts[i + n].chunk;
        if (bytes > load->room_bytes || next->stored_bytes > load->room_bytes - bytes ||
            next->address_bytes - first->address_bytes != bytes)
            break;
        bytes += next->stored_bytes;
    }
    if (n > 1)
        pack_chunkload_gather(load, first->address_bytes, bytes);
}

void
pack_move_load(void *item, unsigned number, void *context)
{
    struct mover *m = context;
    struct move_load *load = item;
    struct move_worker *worker = &m->workers[number];
    for (unsigned i = 0; i < load->n && load->status == PACK_OK; i++) {
        gather(&worker->load, load, i);
        if (load->parts[i].kind != PACK_CHUNK_FILLED)
            load->status = load_part(m, worker, &load->parts[i], &load->err);
    }
}

void
pack_move_encode(void *item, unsigned number, void *context)
{
    struct mover *m = context;
    struct move_encode *encode = item;
    encode->status = pack_pipeline_encode_to(
        &m->params->pipeline, m->workers[number].ctx, encode->slot->data,
        (size_t)m->move->plan.target.chunk_bytes, encode->room, &encode->stored,
        &encode->err);
    if (encode->status == PACK_OK)
        encode->checksum = pack_checksum(encode->stored.data, encode->stored.size, 0);
}
