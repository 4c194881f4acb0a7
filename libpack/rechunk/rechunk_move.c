/*
 *     plan ─▶ load: read, decode, copy to slots ─▶ slot complete ─▶ encode ─▶ write
 *             worker threads                       this thread      workers   this thread
 *
 * Loads come back in the order of the plan, and so slots are complete, are encoded and
 * written in an order that follows from the plan alone. A load waits until there are slots
 * for what it touches; the plan says that those which are incomplete never need more.
 */
#include "libpack/rechunk/rechunk_move.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/model/grid.h"
#include "libpack/rechunk/rechunk_move_parts.h"

/* -------------------------------------------------------------------- slots */

static struct move_slot **
bucket_of(const struct mover *m, uint64_t number)
{
    return &m->buckets[number % m->n_buckets];
}

static struct move_slot *
find_slot(const struct mover *m, uint64_t number)
{
    struct move_slot *slot = *bucket_of(m, number);
    while (slot && slot->number != number)
        slot = slot->next;
    return slot;
}

static struct move_slot *
open_slot(struct mover *m, uint64_t number, const uint64_t *coords)
{
    const struct pack_grid *target = &m->move->plan.target;
    struct move_slot *slot = m->free, **bucket = bucket_of(m, number);
    struct pack_box box;
    m->free = slot->next;
    m->n_free--;
    pack_grid_chunk_box(target, coords, &box);
    slot->number = number;
    slot->is_stored = false;
    slot->left = 1;
    for (int i = 0; i < target->rank; i++)
        slot->left *= box.count[i];
    slot->next = *bucket;
    *bucket = slot;
    return slot;
}

/* Takes a complete slot out of its bucket. */
static void
unlink_slot(struct mover *m, struct move_slot *slot)
{
    struct move_slot **at = bucket_of(m, slot->number);
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    slot->next = NULL;
}

static void
free_slot(struct mover *m, struct move_slot *slot)
{
    slot->next = m->free;
    m->free = slot;
    m->n_free++;
}

/* What no load brings holds the fill value: elements that are not stored, which those of the
 * first part may be, and those of an edge chunk beyond the dataset. */
static void
fill_slot(const struct mover *m, struct move_slot *slot, const uint64_t *coords,
          enum pack_chunk_kind first)
{
    const struct pack_chunkmap *map = m->params->map;
    const struct pack_narrow *narrow = m->params->narrow;
    uint64_t bytes = m->move->plan.target.chunk_bytes, done = m->move->plan.target.elem_size;
    if (map->index.n_missing == 0 && first != PACK_CHUNK_FILLED &&
        !pack_grid_is_edge(&m->move->plan.target, coords))
        return;
    memcpy(slot->data, narrow ? &narrow->fill : map->fill, done);
    while (done < bytes) {
        uint64_t n = done < bytes - done ? done : bytes - done;
        memcpy(slot->data + done, slot->data, n);
        done += n;
    }
}

/* --------------------------------------------------------------- what is done */

bool
pack_rechunk_is_done(const unsigned char *done, uint64_t number)
{
    return done && (done[number / 8] >> number % 8 & 1);
}

void
pack_rechunk_set_done(unsigned char *done, uint64_t number)
{
    done[number / 8] |= (unsigned char)(1 << number % 8);
}

uint64_t
pack_rechunk_plain_bytes(const struct pack_grid *target, bool is_contiguous,
                         uint64_t number)
{
    uint64_t coords[PACK_RANK_MAX], bytes = target->elem_size;
    struct pack_box box;
    if (!is_contiguous)
        return target->chunk_bytes;
    pack_grid_coords(target, number, coords);
    pack_grid_chunk_box(target, coords, &box);
    for (int i = 0; i < target->rank; i++)
        bytes *= box.count[i];
    return bytes;
}

enum pack_status
pack_move_write_chunk(struct mover *m, struct pack_rechunk_chunk *chunk,
                      struct pack_error *err)
{
    const struct pack_grid *target = &m->move->plan.target;
    uint64_t start[PACK_RANK_MAX];
    pack_grid_coords(target, chunk->number, start);
    for (int i = 0; i < target->rank; i++)
        start[i] *= target->chunk[i];
    chunk->start = start;
    m->moved->n_writes++;
    m->moved->written_bytes += chunk->stored.size;
    return m->params->write(m->params->write_context, chunk, err);
}

static enum pack_status
write_slot(struct mover *m, struct move_slot *slot, const struct pack_stored *stored,
           uint64_t checksum, struct pack_error *err)
{
    struct pack_rechunk_chunk chunk = { .number = slot->number,
                                        .stored = *stored,
                                        .checksum = checksum };
    enum pack_status status = pack_move_write_chunk(m, &chunk, err);
    free_slot(m, slot);
    return status;
}

static enum pack_status
write_encoded(struct mover *m, struct move_encode *encode, struct pack_error *err)
{
    m->n_encoding--;
    if (encode->status == PACK_OK)
        return write_slot(m, encode->slot, &encode->stored, encode->checksum, err);
    if (err)
        *err = encode->err;
    return pack_error_prefix(err, encode->status, "'%s'", m->params->map->facts.path);
}

static void
make_ready(struct mover *m, struct move_slot *slot)
{
    *m->ready_end = slot;
    m->ready_end = &slot->next;
}

static void
complete_slot(struct mover *m, struct move_slot *slot)
{
    unlink_slot(m, slot);
    if (!slot->is_stored)
        free_slot(m, slot);
    else if (m->move->plan.rows)
        m->region[slot->number - m->region_first] = slot;
    else
        make_ready(m, slot);
}

static void
take_part(struct mover *m, struct move_part *part)
{
    struct pack_rechunk_piece piece;
    size_t i = 0;
    if (part->kind != PACK_CHUNK_FILLED) {
        m->moved->n_loads++;
        m->moved->read_bytes += part->chunk.stored_bytes;
    }
    for (bool more = pack_rechunk_piece_first(&piece, &m->move->plan, &part->load); more;
         more = pack_rechunk_piece_next(&piece)) {
        struct move_slot *slot = part->slots[i++];
        if (!slot)
            continue;
        slot->left -= piece.cursor.n_elements;
        if (slot->left == 0)
            complete_slot(m, slot);
    }
    pack_move_free_slots(part);
}

static enum pack_status
take_load(struct mover *m, struct move_load *load, struct pack_error *err)
{
    m->n_loading--;
    if (load->status != PACK_OK) {
        if (err)
            *err = load->err;
        return load->status;
    }
    for (unsigned i = 0; i < load->n; i++)
        take_part(m, &load->parts[i]);
    return PACK_OK;
}

static void
encode(struct mover *m, struct move_slot *slot)
{
    struct move_encode *item = &m->encodes[m->encode_at++ % m->n_in_flight];
    item->slot = slot;
    m->n_encoding++;
    pack_pool_submit(m->pool, MOVE_ENCODE, item);
}

/* Complete slots go on their way; without filters there is nothing between. */
static enum pack_status
pass_ready(struct mover *m, struct pack_error *err)
{
    bool is_plain = m->params->pipeline.n == 0;
    enum pack_status status = PACK_OK;
    while (m->ready && status == PACK_OK &&
           (is_plain || pack_pool_has_room(m->pool, MOVE_ENCODE))) {
        struct move_slot *slot = m->ready;
        struct pack_stored stored = { slot->data, 0, 0 };
        stored.size = (size_t)pack_rechunk_plain_bytes(
            &m->move->plan.target, m->params->is_contiguous, slot->number);
        m->ready = slot->next;
        if (!m->ready)
            m->ready_end = &m->ready;
        slot->next = NULL;
        if (is_plain)
            status = write_slot(m, slot, &stored,
                                pack_checksum(stored.data, stored.size, 0), err);
        else
            encode(m, slot);
    }
    return status;
}

/* Takes one result back: of encoding, when there is one or it is waited for (`encoded`),
 * else the oldest load. */
static enum pack_status
take_one(struct mover *m, bool encoded, struct pack_error *err)
{
    enum pack_status status = pack_watch_check(&m->params->watch, err);
    assert(m->n_loading + m->n_encoding > 0); /* or the plan needs more than it says */
    if (status != PACK_OK)
        return status;
    struct move_encode *encode = encoded && m->n_encoding > 0
                                     ? pack_pool_next(m->pool, MOVE_ENCODE)
                                     : pack_pool_try_next(m->pool, MOVE_ENCODE);
    if (encode)
        status = write_encoded(m, encode, err);
    else if (m->n_loading > 0)
        status = take_load(m, pack_pool_next(m->pool, MOVE_LOAD), err);
    else if (m->n_encoding > 0)
        status = write_encoded(m, pack_pool_next(m->pool, MOVE_ENCODE), err);
    return status == PACK_OK ? pass_ready(m, err) : status;
}

/* ------------------------------------------------------------- what is to do */

/* Finds or opens the slots that a part touches. */
static void
assign_slots(struct mover *m, struct move_part *part)
{
    struct pack_rechunk_piece piece;
    const struct pack_grid_cursor *cursor = &piece.cursor;
    size_t n = 0;
    for (bool more = pack_rechunk_piece_first(&piece, &m->move->plan, &part->load); more;
         more = pack_rechunk_piece_next(&piece)) {
        if (pack_rechunk_is_done(m->params->done, cursor->number)) {
            part->slots[n++] = NULL;
            continue;
        }
        struct move_slot *slot = find_slot(m, cursor->number);
        if (!slot)
            slot = open_slot(m, cursor->number, cursor->coords);
        if ((part->kind != PACK_CHUNK_FILLED || m->params->is_contiguous) &&
            !slot->is_stored) {
            fill_slot(m, slot, cursor->coords, part->kind);
            slot->is_stored = true;
        }
        part->slots[n++] = slot;
    }
}

static uint64_t
count_new_slots(const struct mover *m, const struct pack_rechunk_load *load)
{
    struct pack_rechunk_piece piece;
    uint64_t n = 0;
    if (m->move->plan.rows) /* a region has them all */
        return 0;
    for (bool more = pack_rechunk_piece_first(&piece, &m->move->plan, load); more;
         more = pack_rechunk_piece_next(&piece))
        n += find_slot(m, piece.cursor.number) == NULL &&
             !pack_rechunk_is_done(m->params->done, piece.cursor.number);
    return n;
}

/* Whether all that a load would bring is there. */
static bool
is_brought(const struct mover *m, const struct pack_rechunk_load *load)
{
    struct pack_rechunk_piece piece;
    if (!m->params->done)
        return false;
    for (bool more = pack_rechunk_piece_first(&piece, &m->move->plan, load); more;
         more = pack_rechunk_piece_next(&piece))
        if (!pack_rechunk_is_done(m->params->done, piece.cursor.number))
            return false;
    return true;
}

static void
submit_filled(struct mover *m)
{
    if (!m->filling)
        return;
    m->n_loading++;
    pack_pool_submit(m->pool, MOVE_LOAD, m->filling);
    m->filling = NULL;
}

/* Waits until there is a load to fill, and as many free slots. */
static enum pack_status
make_room(struct mover *m, uint64_t n_slots, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (m->n_free < n_slots || (m->filling && m->filling->n == m->move->n_batch))
        submit_filled(m); /* it may be what completes slots */
    while (m->n_free < n_slots && status == PACK_OK)
        status = take_one(m, true, err);
    while (!m->filling && !pack_pool_has_room(m->pool, MOVE_LOAD) && status == PACK_OK)
        status = take_one(m, false, err);
    if (status == PACK_OK && !m->filling) {
        m->filling = &m->loads[m->load_at++ % m->n_in_flight];
        m->filling->status = PACK_OK;
        m->filling->n = 0;
    }
    return status;
}

/* With rows in another order chunks are complete in any, and are written in their own: as
 * they lie in the file they are read. */
static enum pack_status
end_region(struct mover *m, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    submit_filled(m);
    while (m->n_loading > 0 && status == PACK_OK)
        status = take_one(m, false, err);
    if (status != PACK_OK)
        return status;
    for (uint64_t i = m->region_first; i < m->region_end; i++) {
        if (m->region[i - m->region_first])
            make_ready(m, m->region[i - m->region_first]);
        m->region[i - m->region_first] = NULL;
    }
    status = pass_ready(m, err);
    while (m->n_encoding > 0 && status == PACK_OK)
        status = take_one(m, true, err);
    return status;
}

/* Opens all chunks of a load's region, unless it is that of the load before. */
static enum pack_status
begin_region(struct mover *m, const struct pack_rechunk_load *load, struct pack_error *err)
{
    const struct pack_grid *target = &m->move->plan.target;
    uint64_t layer = target->n_chunks_total / target->n_chunks[0], coords[PACK_RANK_MAX];
    if (!m->move->plan.rows || m->region_number == load->region + 1)
        return PACK_OK;
    enum pack_status status = end_region(m, err);
    if (status != PACK_OK)
        return status;
    m->region_number = load->region + 1;
    m->region_first = load->first_row / target->chunk[0] * layer;
    m->region_end = ((load->end_row - 1) / target->chunk[0] + 1) * layer;
    for (uint64_t i = m->region_first; i < m->region_end; i++) {
        if (pack_rechunk_is_done(m->params->done, i))
            continue;
        pack_grid_coords(target, i, coords);
        open_slot(m, i, coords);
    }
    return PACK_OK;
}

static enum pack_status
submit_part(struct mover *m, const struct pack_rechunk_load *next, struct pack_error *err)
{
    enum pack_status status = make_room(m, count_new_slots(m, next), err);
    if (status != PACK_OK)
        return status;
    struct move_part *part = &m->filling->parts[m->filling->n];
    uint64_t n = pack_rechunk_piece_count(&m->move->plan, next);
    part->load = *next;
    part->kind = pack_chunkmap_chunk(m->params->map, next->number, &part->chunk);
    part->slots = n == 1 ? &part->only : malloc(n * sizeof *part->slots);
    if (!part->slots)
        return pack_fail_memory(err, "a list of chunks");
    m->filling->n++;
    assign_slots(m, part);
    return PACK_OK;
}

void
pack_move_tell(const struct mover *m, uint64_t done)
{
    const struct pack_progress progress = { .stage = "rechunking",
                                            .unit = "chunks",
                                            .done = done,
                                            .total = m->move->plan.n_loads,
                                            .bytes = m->moved->read_bytes };
    pack_watch_tell(&m->params->watch, &progress);
}

static enum pack_status
move_chunks(struct mover *m, struct pack_error *err)
{
    struct pack_rechunk_walk walk;
    struct pack_rechunk_load load;
    enum pack_status status = PACK_OK;
    uint64_t done = 0;
    pack_rechunk_walk_begin(&walk, &m->move->plan);
    while (status == PACK_OK && pack_rechunk_walk_next(&walk, &load)) {
        status = begin_region(m, &load, err);
        if (status == PACK_OK && !is_brought(m, &load))
            status = submit_part(m, &load, err);
        pack_move_tell(m, ++done);
    }
    if (status == PACK_OK)
        status = end_region(m, err);
    while (status == PACK_OK && m->n_loading + m->n_encoding > 0)
        status = take_one(m, false, err);
    return status;
}

/* -------------------------------------------------------------------- all of it */

enum pack_status
pack_rechunk_move(const struct pack_rechunk_move_params *params,
                  const struct pack_rechunk_move *move, struct pack_rechunk_moved *moved,
                  struct pack_error *err)
{
    struct mover m = { .params = params, .move = move, .moved = moved };
    const struct pack_chunkmap *map = params->map;
    *moved = (struct pack_rechunk_moved){ 0 };
    int fd = open(map->file.name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", map->file.name);
    enum pack_status status =
        pack_fetch_open(&m.fetch, &pack_fetch_pread, fd, map->file.size_bytes, err);
    if (status == PACK_OK && params->verbatim) {
        status = pack_move_copy_chunks(&m, err);
    } else if (status == PACK_OK) {
        status = pack_move_set_up(&m, err);
        if (status == PACK_OK)
            status = move_chunks(&m, err);
    }
    pack_move_tear_down(&m);
    if (status == PACK_OK)
        status = pack_chunkmap_check(map, fd, err);
    pack_fetch_close(&m.fetch);
    close(fd);
    return status;
}
