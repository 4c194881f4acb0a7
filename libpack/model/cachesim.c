/*
 * The library keeps its entries in a doubly linked list: new ones join at the tail, a hit
 * swaps an entry with its successor, and to make room it walks from the head to the first
 * entry that is completely read, over a share w0 of the list at most, or else takes the
 * head. That walk is linear in the number of entries. Here the list is a ring of
 * positions:
 *
 *        head                                   tail
 *          |                                     |
 *     . . [a] [b]  o  [c] [d] [e]  o   o  [f] [g] . .      o  a hole, left by an eviction
 *
 *     holes    0   0   1   0   0   0   1   1   0   0       positions without an entry
 *     busy     1   1   1   0   1   0   1   1   1   0       those, and partly read entries
 *
 * The first completely read entry is the first gap in `busy`; its place in the list is
 * its distance from the head less the holes between; a successor is the next gap in
 * `holes`. posset.c answers all three in O(log n). Where chunks are read whole in one go,
 * the head is always completely read, no set is ever touched, and a visit costs one look
 * at the hash table. When the ring is full of holes it is compacted: once in a quarter of
 * its size insertions at most, hence O(1) amortised.
 *
 * As every chunk of a dataset has the same size, one eviction makes room for one chunk.
 * Only w0 = 1, where the library evicts nothing but completely read chunks and otherwise
 * grows, may have several to evict at once.
 */
#include "libpack/model/cachesim_parts.h"
#include "libpack/base/check.h"

#include <string.h>

/* ---------------------------------------------------------------- the ring */

static inline uint64_t
index_of(const struct pack_cachesim *sim, uint64_t position)
{
    return position & (sim->ring_size - 1);
}

static inline struct entry *
entry_at(const struct pack_cachesim *sim, uint64_t position)
{
    return &sim->ring[index_of(sim, position)];
}

/* The position of the entry at an index of the ring. */
static inline uint64_t
position_of(const struct pack_cachesim *sim, uint64_t index)
{
    return sim->head + index_of(sim, index - sim->head);
}

/* Where a slot finds its entry. */
static inline void
point_slot(struct pack_cachesim *sim, uint64_t position)
{
    const struct entry *e = entry_at(sim, position);
    sim->slots[e->slot] =
        (struct slot){ (uint32_t)index_of(sim, position) + 1, (uint32_t)e->number };
}

/* The first position from `from` on that is not in the set, or the tail: the ring cut
 * open where it wraps around. */
static uint64_t
next_gap(const struct pack_cachesim *sim, const struct pack_posset *set, uint64_t from)
{
    uint64_t index = index_of(sim, from), n = sim->tail - from;
    uint64_t first = sim->ring_size - index, found;
    if (n <= first)
        return from - index + pack_posset_gap(set, index, index + n);
    found = pack_posset_gap(set, index, sim->ring_size);
    if (found < sim->ring_size)
        return from - index + found;
    return from + first + pack_posset_gap(set, 0, n - first);
}

/* Entries in front of a position. */
static uint64_t
place_in_list(const struct pack_cachesim *sim, uint64_t position)
{
    uint64_t index = index_of(sim, sim->head), n = position - sim->head;
    uint64_t first = sim->ring_size - index;
    if (sim->n_holes == 0)
        return n;
    if (n <= first)
        return n - pack_posset_count(&sim->holes, index, index + n);
    return n - pack_posset_count(&sim->holes, index, sim->ring_size) -
           pack_posset_count(&sim->holes, 0, n - first);
}

/* Moves the head over holes, to the next entry. */
static void
skip_holes(struct pack_cachesim *sim)
{
    while (sim->n_holes > 0 && pack_posset_has(&sim->holes, index_of(sim, sim->head))) {
        pack_posset_remove(&sim->holes, index_of(sim, sim->head));
        pack_posset_remove(&sim->busy, index_of(sim, sim->head));
        sim->n_holes--;
        sim->head++;
    }
}

static inline void
drop_head(struct pack_cachesim *sim)
{
    const struct entry *e = entry_at(sim, sim->head);
    sim->slots[e->slot].at = 0;
    if (e->left)
        pack_posset_remove(&sim->busy, index_of(sim, sim->head));
    sim->n_entries--;
    sim->head++;
    if (sim->n_holes > 0)
        skip_holes(sim);
}

void
pack_cachesim_drop(struct pack_cachesim *sim, uint64_t position)
{
    uint64_t index = index_of(sim, position);
    if (position == sim->head) {
        drop_head(sim);
        return;
    }
    sim->slots[sim->ring[index].slot].at = 0;
    if (!sim->ring[index].left)
        pack_posset_add(&sim->busy, index);
    pack_posset_add(&sim->holes, index);
    sim->n_entries--;
    sim->n_holes++;
}

/* Closes up all holes. */
static void
compact(struct pack_cachesim *sim)
{
    uint64_t to = sim->head;
    pack_posset_clear(&sim->busy);
    for (uint64_t from = sim->head; from < sim->tail; from++) {
        if (pack_posset_has(&sim->holes, index_of(sim, from)))
            continue;
        *entry_at(sim, to) = *entry_at(sim, from);
        point_slot(sim, to);
        if (entry_at(sim, to)->left)
            pack_posset_add(&sim->busy, index_of(sim, to));
        to++;
    }
    pack_posset_clear(&sim->holes);
    sim->n_holes = 0;
    sim->tail = to;
    sim->done_from = sim->head;
}

static inline void
append(struct pack_cachesim *sim, uint64_t number, uint64_t slot, uint64_t left)
{
    if (sim->tail - sim->head == sim->ring_size)
        compact(sim);
    *entry_at(sim, sim->tail) = (struct entry){ number, left, (uint32_t)slot };
    point_slot(sim, sim->tail);
    if (left)
        pack_posset_add(&sim->busy, index_of(sim, sim->tail));
    sim->tail++;
    sim->n_entries++;
    if (sim->n_entries > sim->most_entries)
        sim->most_entries = sim->n_entries;
}

/* Exchanges two neighbours of the list. */
static void
swap(struct pack_cachesim *sim, uint64_t a, uint64_t b)
{
    struct entry *first = entry_at(sim, a), *second = entry_at(sim, b), kept = *first;
    if (!first->left != !second->left) {
        bool first_is_busy = first->left != 0;
        pack_posset_remove(&sim->busy, index_of(sim, first_is_busy ? a : b));
        pack_posset_add(&sim->busy, index_of(sim, first_is_busy ? b : a));
        if (first_is_busy && a < sim->done_from)
            sim->done_from = a;
    }
    *first = *second;
    *second = kept;
    point_slot(sim, a);
    point_slot(sim, b);
}

/* -------------------------------------------------------------- preemption */

static void
evict_for_space(struct pack_cachesim *sim, uint64_t position, uint64_t steps)
{
    sim->counts.walk_steps += steps;
    sim->counts.evictions_space++;
    pack_cachesim_drop(sim, position);
}

/* The first completely read entry, or the tail. */
static uint64_t
first_done(struct pack_cachesim *sim)
{
    uint64_t from = sim->done_from > sim->head ? sim->done_from : sim->head;
    sim->done_from = next_gap(sim, &sim->busy, from);
    return sim->done_from;
}

static bool
is_over(const struct pack_cachesim *sim)
{
    return (sim->n_entries + 1) * sim->grid.chunk_bytes > sim->params.cache.size_bytes;
}

/* w0 = 1: the walk ends before it would evict anything that is not completely read. */
static void
prune_done_only(struct pack_cachesim *sim)
{
    uint64_t steps = sim->n_entries, n_evicted = 0;
    while (is_over(sim)) {
        uint64_t position = first_done(sim);
        if (position == sim->tail)
            break;
        uint64_t place = place_in_list(sim, position);
        evict_for_space(sim, position, 0);
        n_evicted++;
        if (!is_over(sim))
            steps = place + n_evicted;
    }
    sim->counts.walk_steps += steps;
}

/* The walk, where the head is not completely read or w0 is 1. */
static void
prune(struct pack_cachesim *sim)
{
    uint64_t delay = (uint64_t)((double)sim->n_entries * sim->params.cache.w0);
    if (delay == sim->n_entries) {
        prune_done_only(sim);
        return;
    }
    if (delay == 0) {
        evict_for_space(sim, sim->head, 1);
        return;
    }
    uint64_t position = first_done(sim);
    if (position < sim->tail && position - sim->head <= delay + sim->n_holes) {
        uint64_t place = place_in_list(sim, position);
        if (place <= delay) {
            evict_for_space(sim, position, place + 1);
            return;
        }
    }
    evict_for_space(sim, sim->head, delay + 1);
}

/* ------------------------------------------------------------------ visits */

static void
hit(struct pack_cachesim *sim, uint64_t position, uint64_t n_elements)
{
    sim->counts.hits++;
    if (position + 1 < sim->tail) {
        uint64_t next = position + 1;
        if (sim->n_holes > 0)
            next = next_gap(sim, &sim->holes, next);
        if (next < sim->tail) {
            swap(sim, position, next);
            position = next;
        }
    }
    struct entry *e = entry_at(sim, position);
    if (e->left == 0)
        return;
    e->left = e->left > n_elements ? e->left - n_elements : 0;
    if (e->left == 0) {
        pack_posset_remove(&sim->busy, index_of(sim, position));
        if (position < sim->done_from)
            sim->done_from = position;
    }
}

/* Takes in a chunk that is not there. */
static inline void
insert(struct pack_cachesim *sim, uint64_t number, uint64_t slot, uint64_t n_elements)
{
    if (sim->slots[slot].at) {
        sim->counts.evictions_collision++;
        pack_cachesim_drop(sim, position_of(sim, sim->slots[slot].at - 1));
    }
    if (is_over(sim) && sim->n_entries > 0) {
        if (sim->evicts_head_if_done && entry_at(sim, sim->head)->left == 0) {
            sim->counts.walk_steps++;
            sim->counts.evictions_space++;
            drop_head(sim);
        } else {
            prune(sim);
        }
    }
    uint64_t whole = sim->grid.chunk_elements;
    append(sim, number, slot, whole > n_elements ? whole - n_elements : 0);
}

/* Whether the chunk is in its slot; then it counts as a hit. */
static inline bool
find(struct pack_cachesim *sim, uint64_t number, uint64_t slot, uint64_t n_elements)
{
    struct slot s = sim->slots[slot];
    if (!s.at || s.tag != (uint32_t)number || sim->ring[s.at - 1].number != number)
        return false;
    hit(sim, position_of(sim, s.at - 1), n_elements);
    return true;
}

void
pack_cachesim_visit_slot(struct pack_cachesim *sim, uint64_t number, uint64_t slot,
                         uint64_t n_elements)
{
    if (!find(sim, number, slot, n_elements)) {
        if (sim->params.skip_missing && !pack_cachesim_is_stored(sim, number))
            return;
        pack_cachesim_count_load(sim, number);
        insert(sim, number, slot, n_elements);
    }
    sim->counts.requests++;
    sim->counts.wanted_bytes += n_elements * sim->grid.elem_size;
}

static void
read_box(struct pack_cachesim *sim, const struct pack_box *box)
{
    struct pack_grid_cursor c;
    for (bool more = pack_grid_first(&c, &sim->grid, box); more;
         more = pack_grid_next(&c)) {
        if (sim->caching) {
            pack_cachesim_visit_slot(
                sim, c.number, pack_cachesim_slot(sim, c.number, c.coords), c.n_elements);
        } else if (pack_cachesim_visit_uncached(sim, c.number, c.n_elements)) {
            struct pack_pieces pieces = { 0 };
            struct pack_block block = { c.start, c.count, NULL, box->count, 0 };
            pack_cachesim_add_block(sim, &pieces, &block);
            pack_cachesim_end_pieces(sim, &pieces);
        }
    }
}

enum pack_status
pack_cachesim_read(struct pack_cachesim *sim, const struct pack_box *box,
                   struct pack_error *err)
{
    enum pack_status status = pack_cachesim_check_box(sim, box, "box", err);
    if (status == PACK_OK)
        read_box(sim, box);
    return status;
}

/* Chunk numbers are worked out this many visits ahead, so that the slots they need are on
 * their way from memory when it is their turn. */
enum { AHEAD = 64 };

/* Fetches the slots of the next visits, and of the next entries to be evicted. */
static void
look_ahead(struct pack_cachesim *sim, const uint64_t *numbers, size_t n, uint64_t *slots)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t coords[PACK_RANK_MAX], hash = numbers[i];
        if (!sim->hash_is_number) {
            pack_grid_coords(&sim->grid, numbers[i], coords);
            hash = packed_hash(sim->grid.rank, sim->shift, coords);
        }
        slots[i] = slot_of_hash(sim, hash);
        __builtin_prefetch(&sim->slots[slots[i]], 1);
    }
    for (size_t i = 0; i < n && sim->head + i < sim->tail; i++)
        __builtin_prefetch(&sim->slots[entry_at(sim, sim->head + i)->slot], 1);
}

static void
visit_ahead(struct pack_cachesim *sim, const uint64_t *numbers, size_t n,
            uint64_t n_elements)
{
    uint64_t slots[AHEAD], n_hits = sim->counts.hits;
    look_ahead(sim, numbers, n, slots);
    if (!sim->loads_alike) {
        for (size_t i = 0; i < n; i++)
            pack_cachesim_visit_slot(sim, numbers[i], slots[i], n_elements);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (!find(sim, numbers[i], slots[i], n_elements))
            insert(sim, numbers[i], slots[i], n_elements);
    pack_cachesim_count_loads(sim, n - (sim->counts.hits - n_hits));
    sim->counts.requests += n;
    sim->counts.wanted_bytes += n * n_elements * sim->grid.elem_size;
}

enum pack_status
pack_cachesim_visit_many(struct pack_cachesim *sim, const uint64_t *numbers, size_t n,
                         uint64_t n_elements, struct pack_error *err)
{
    if (!sim)
        return pack_check_given(err, "sim", sim, NULL);
    enum pack_status status = pack_cachesim_check_below(
        numbers, n, sim->grid.n_chunks_total, "numbers", err);
    if (status == PACK_OK)
        status = pack_check_count("n_elements", n_elements, sim->grid.chunk_elements,
                                  err);
    if (status != PACK_OK)
        return status;
    if (sim->caching) {
        for (size_t i = 0; i < n; i += AHEAD)
            visit_ahead(sim, numbers + i, n - i < AHEAD ? n - i : AHEAD, n_elements);
        return PACK_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (pack_cachesim_visit_uncached(sim, numbers[i], n_elements)) {
            struct pack_pieces pieces = { 0 };
            pack_cachesim_add_piece(sim, &pieces, 0, n_elements * sim->grid.elem_size, 0);
            pack_cachesim_end_pieces(sim, &pieces);
        }
    return PACK_OK;
}

enum pack_status
pack_cachesim_visit(struct pack_cachesim *sim, uint64_t number, uint64_t n_elements,
                    struct pack_error *err)
{
    return pack_cachesim_visit_many(sim, &number, 1, n_elements, err);
}

/* Each sample as a box. */
static enum pack_status
read_sample_boxes(struct pack_cachesim *sim, const uint64_t *samples, size_t n,
                  struct pack_error *err)
{
    struct pack_box box = { .rank = sim->grid.rank };
    memcpy(box.count, sim->grid.extent, sizeof box.count);
    box.count[0] = 1;
    enum pack_status status = pack_cachesim_check_box(sim, &box, "samples", err);
    for (size_t i = 0; status == PACK_OK && i < n; i++) {
        box.start[0] = samples[i];
        read_box(sim, &box);
    }
    return status;
}

enum pack_status
pack_cachesim_read_samples(struct pack_cachesim *sim, const uint64_t *samples, size_t n,
                           struct pack_error *err)
{
    if (!sim)
        return pack_check_given(err, "sim", sim, NULL);
    enum pack_status status =
        pack_cachesim_check_below(samples, n, sim->grid.extent[0], "samples", err);
    if (status != PACK_OK || n == 0)
        return status;
    if (!sim->caching || !sim->sample_is_one_chunk)
        return read_sample_boxes(sim, samples, n, err);
    uint64_t numbers[AHEAD];
    for (size_t i = 0; i < n;) {
        size_t n_ahead = n - i < AHEAD ? n - i : AHEAD;
        for (size_t k = 0; k < n_ahead; k++)
            numbers[k] = divide(&sim->chunk_rows, samples[i + k]);
        visit_ahead(sim, numbers, n_ahead, sim->sample_elements);
        i += n_ahead;
    }
    return PACK_OK;
}
