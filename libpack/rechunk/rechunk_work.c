/* What the workers do: a source chunk is read and decoded once, whatever it goes to, and a
 * target chunk encoded. They write to parts of slots that no other load writes to. */
#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/model/grid.h"
#include "libpack/reader/strided.h"
#include "libpack/rechunk/rechunk_move_parts.h"

/* Where a box of the dataset is in the chunk whose corner is at `origin`. */
static void
place_in(const struct pack_grid *grid, const uint64_t *coords, const uint64_t *at,
         uint64_t *start)
{
    for (int i = 0; i < grid->rank; i++)
        start[i] = at[i] - coords[i] * grid->chunk[i];
}

/* The part of a load that goes to the target chunk at the cursor. */
static void
set_piece(const struct mover *m, const struct move_load *load,
          const struct pack_grid_cursor *cursor, struct pack_strided *piece)
{
    const struct pack_grid *source = &m->move->plan.source;
    uint64_t at[PACK_RANK_MAX], from[PACK_RANK_MAX];
    for (int i = 0; i < source->rank; i++)
        at[i] = cursor->coords[i] * cursor->grid->chunk[i] + cursor->start[i];
    place_in(source, load->load.coords, at, from);
    pack_strided_set(piece, source->rank, cursor->count, source->elem_size,
                     (struct pack_strided_place){ source->chunk, from },
                     (struct pack_strided_place){ cursor->grid->chunk, cursor->start });
}

/* An unfiltered chunk that goes to several places is read as a whole, as far as it lies in
 * the dataset. */
static enum pack_status
read_whole(const struct mover *m, struct move_worker *worker, struct move_load *load)
{
    static const uint64_t corner[PACK_RANK_MAX];
    const struct pack_grid *source = &m->move->plan.source;
    struct pack_box box;
    struct pack_strided whole;
    pack_grid_chunk_box(source, load->load.coords, &box);
    pack_strided_set(&whole, source->rank, box.count, source->elem_size,
                     (struct pack_strided_place){ source->chunk, corner },
                     (struct pack_strided_place){ source->chunk, corner });
    return pack_chunkload_copy(&worker->load, load->kind, &load->chunk, &whole,
                               worker->chunk, &load->err);
}

/* Brings the chunk to worker->chunk; *is_there: it is, else pieces are read one by one. */
static enum pack_status
bring(const struct mover *m, struct move_worker *worker, struct move_load *load,
      bool *is_there)
{
    *is_there = true;
    if (load->kind == PACK_CHUNK_CODED)
        return pack_chunkload_decode(&worker->load, &load->chunk, worker->chunk,
                                     &load->err);
    if (load->kind == PACK_CHUNK_RAW &&
        pack_grid_count(&m->move->plan.target, &load->load.box) > 1)
        return read_whole(m, worker, load);
    *is_there = false;
    return PACK_OK;
}

void
pack_move_load(void *item, unsigned number, void *context)
{
    struct mover *m = context;
    struct move_load *load = item;
    struct move_worker *worker = &m->workers[number];
    struct pack_grid_cursor cursor;
    struct pack_strided piece;
    bool is_there;
    size_t i = 0;
    if (load->kind == PACK_CHUNK_FILLED)
        return;
    load->status = bring(m, worker, load, &is_there);
    for (bool more =
             pack_grid_first(&cursor, &m->move->plan.target, &load->load.box);
         more && load->status == PACK_OK; more = pack_grid_next(&cursor)) {
        const struct move_slot *slot = load->slots[i++];
        if (!slot)
            continue;
        unsigned char *to = slot->data;
        set_piece(m, load, &cursor, &piece);
        if (is_there)
            pack_strided_copy(&piece, 0, worker->chunk + piece.from, to + piece.to);
        else
            load->status = pack_chunkload_copy(&worker->load, load->kind, &load->chunk,
                                               &piece, to, &load->err);
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
