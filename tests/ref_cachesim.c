/* A linked list, a hash table without chains, and the library's walks as they are. Names
 * in brackets are the library's. */
#include "libpack/model/grid.h"
#include "tests/ref_cachesim.h"

#include <stdlib.h>
#include <string.h>

struct entry {                      /* [H5D_rdcc_ent_t] */
    uint64_t coords[PACK_RANK_MAX]; /* [scaled] */
    uint64_t left;                  /* bytes [rd_count] */
    uint64_t slot;                  /* [idx] */
    struct entry *next, *prev;
    struct entry *waiting_next, *waiting_prev; /* [tmp_next, tmp_prev] */
};

struct ref_cachesim {
    struct pack_grid grid;
    struct pack_cachesim_params params;
    int bits[PACK_RANK_MAX]; /* [scaled_encode_bits] */
    struct entry **slots;    /* [slot] */
    struct entry *head, *tail;
    uint64_t n_used, bytes_used; /* [nused, nbytes_used] */
    struct pack_cache_counts counts;
};

static void *
must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void
set_bits(struct ref_cachesim *ref, bool round_up)
{
    for (int i = 0; i < ref->grid.rank; i++) {
        uint64_t n = ref->grid.extent[i] / ref->grid.chunk[i], power = 1;
        if (round_up && ref->grid.extent[i] % ref->grid.chunk[i])
            n++;
        ref->bits[i] = 0;
        while (power < n) {
            power *= 2;
            ref->bits[i]++;
        }
    }
}

struct ref_cachesim *
ref_new(const struct pack_grid *grid, const struct pack_cachesim_params *params)
{
    struct ref_cachesim *ref = must(calloc(1, sizeof *ref));
    ref->grid = *grid;
    ref->params = *params;
    if (params->cache.n_slots == 0 || params->cache.size_bytes == 0)
        ref->params.cache.n_slots = ref->params.cache.size_bytes = 0;
    ref->slots = must(calloc(ref->params.cache.n_slots + 1, sizeof *ref->slots));
    set_bits(ref, true);
    return ref;
}

static void
evict(struct ref_cachesim *ref, struct entry *e)
{
    if (e->prev)
        e->prev->next = e->next;
    else
        ref->head = e->next;
    if (e->next)
        e->next->prev = e->prev;
    else
        ref->tail = e->prev;
    if (ref->slots[e->slot] == e)
        ref->slots[e->slot] = NULL;
    ref->n_used--;
    ref->bytes_used -= ref->grid.chunk_bytes;
    free(e);
}

void
ref_reopen(struct ref_cachesim *ref)
{
    while (ref->head)
        evict(ref, ref->head);
    set_bits(ref, true);
}

void
ref_free(struct ref_cachesim *ref)
{
    ref_reopen(ref);
    free(ref->slots);
    free(ref);
}

const struct pack_cache_counts *
ref_counts(const struct ref_cachesim *ref)
{
    return &ref->counts;
}

/* [H5D__chunk_hash_val; H5D_CHUNK_HASH in 1.8] */
static uint64_t
slot_of(const struct ref_cachesim *ref, const uint64_t *coords)
{
    uint64_t value = coords[0];
    if (ref->params.cache.version == PACK_HDF5_1_8)
        return pack_grid_number(&ref->grid, coords) % ref->params.cache.n_slots;
    for (int i = 1; i < ref->grid.rank; i++) {
        value <<= ref->bits[i];
        value ^= coords[i];
    }
    return value % ref->params.cache.n_slots;
}

/* [H5D__chunk_cache_prune], two walkers, the second of which starts late */
static void
prune(struct ref_cachesim *ref, uint64_t need)
{
    uint64_t total = ref->params.cache.size_bytes;
    int delay = (int)((double)ref->n_used * ref->params.cache.w0);
    struct entry *p[2] = { ref->head, NULL };
    while ((p[0] || p[1]) && ref->bytes_used + need > total) {
        struct entry *n[2];
        if (delay == 0)
            p[1] = ref->head;
        ref->counts.walk_steps++;
        for (int i = 0; i < 2; i++)
            n[i] = p[i] ? p[i]->next : NULL;
        for (int i = 0; i < 2 && ref->bytes_used + need > total; i++) {
            struct entry *e = p[i];
            if (!e || (i == 0 && e->left > 0))
                continue;
            for (int k = 0; k < 2; k++) {
                if (p[k] == e)
                    p[k] = NULL;
                if (n[k] == e)
                    n[k] = e->next;
            }
            evict(ref, e);
            ref->counts.evictions_space++;
        }
        p[0] = n[0];
        p[1] = n[1];
        delay--;
    }
}

static void
swap_with_next(struct ref_cachesim *ref, struct entry *e)
{
    struct entry *f = e->next;
    e->next = f->next;
    f->prev = e->prev;
    if (e->next)
        e->next->prev = e;
    else
        ref->tail = e;
    if (f->prev)
        f->prev->next = f;
    else
        ref->head = f;
    f->next = e;
    e->prev = f;
}

static void
append(struct ref_cachesim *ref, const uint64_t *coords, uint64_t slot, uint64_t left)
{
    struct entry *e = must(calloc(1, sizeof *e));
    memcpy(e->coords, coords, sizeof e->coords);
    e->left = left;
    e->slot = slot;
    e->prev = ref->tail;
    if (ref->tail)
        ref->tail->next = e;
    else
        ref->head = e;
    ref->tail = e;
    ref->slots[slot] = e;
    ref->n_used++;
    ref->bytes_used += ref->grid.chunk_bytes;
    if (ref->bytes_used > ref->counts.peak_bytes)
        ref->counts.peak_bytes = ref->bytes_used;
}

static uint64_t
less(uint64_t a, uint64_t b)
{
    return a - (a < b ? a : b);
}

/* A chunk that is not cached comes from the file, or is filled. */
static void
fetch(struct ref_cachesim *ref, bool stored, bool filtered)
{
    ref->counts.loads += stored;
    ref->counts.decodes += stored && filtered;
    ref->counts.fills += !stored;
}

void
ref_visit(struct ref_cachesim *ref, uint64_t number, uint64_t n_elements)
{
    uint64_t coords[PACK_RANK_MAX], bytes = n_elements * ref->grid.elem_size;
    uint64_t size = ref->grid.chunk_bytes, slot;
    bool stored = !ref->params.stored_bytes || ref->params.stored_bytes[number];
    pack_grid_coords(&ref->grid, number, coords);
    bool filtered = ref->params.filtered && !(ref->params.edge_unfiltered &&
                                              pack_grid_is_edge(&ref->grid, coords));
    if (ref->params.cache.n_slots > 0 && size <= ref->params.cache.size_bytes) {
        slot = slot_of(ref, coords);
        struct entry *e = ref->slots[slot];
        size_t compare = (size_t)ref->grid.rank * sizeof coords[0];
        if (e && memcmp(e->coords, coords, compare) == 0) {
            ref->counts.hits++;
            if (e->next)
                swap_with_next(ref, e);
            e->left = less(e->left, bytes);
        } else if (!stored && ref->params.skip_missing) {
            return;
        } else {
            fetch(ref, stored, filtered);
            if (e) {
                evict(ref, e);
                ref->counts.evictions_collision++;
            }
            prune(ref, size);
            append(ref, coords, slot, less(size, bytes));
        }
    } else if (!stored && ref->params.skip_missing) {
        return;
    } else if (filtered) {
        fetch(ref, stored, true);
    } else {
        ref->counts.bypass_visits++;
    }
    ref->counts.requests++;
    ref->counts.wanted_bytes += bytes;
}

void
ref_read(struct ref_cachesim *ref, const uint64_t *n_elements)
{
    for (uint64_t i = 0; i < ref->grid.n_chunks_total; i++)
        if (n_elements[i])
            ref_visit(ref, i, n_elements[i]);
}

/* Puts an entry into its new slot; what was there waits. */
static void
move(struct ref_cachesim *ref, struct entry *e, struct entry *waiting)
{
    uint64_t slot = slot_of(ref, e->coords), old_slot = e->slot;
    if (slot == old_slot)
        return;
    struct entry *old = ref->slots[slot];
    e->slot = slot;
    if (old) {
        old->waiting_prev = waiting;
        old->waiting_next = waiting->waiting_next;
        if (old->waiting_next)
            old->waiting_next->waiting_prev = old;
        waiting->waiting_next = old;
    }
    ref->slots[slot] = e;
    if (e->waiting_prev) {
        e->waiting_prev->waiting_next = e->waiting_next;
        if (e->waiting_next)
            e->waiting_next->waiting_prev = e->waiting_prev;
        e->waiting_prev = e->waiting_next = NULL;
    } else {
        ref->slots[old_slot] = NULL;
    }
}

/* [H5D__set_extent, H5D__chunk_update_cache] */
void
ref_set_extent(struct ref_cachesim *ref, const struct pack_grid *grown,
               const uint64_t *stored_bytes)
{
    struct entry waiting = { .left = 0 };
    bool changed = memcmp(ref->grid.extent, grown->extent, sizeof grown->extent) != 0;
    ref->grid = *grown;
    ref->params.stored_bytes = stored_bytes;
    if (!changed)
        return;
    set_bits(ref, false);
    if (ref->params.cache.n_slots == 0)
        return;
    for (struct entry *e = ref->head; e; e = e->next)
        move(ref, e, &waiting);
    while (waiting.waiting_next) {
        struct entry *e = waiting.waiting_next;
        waiting.waiting_next = e->waiting_next;
        evict(ref, e);
        ref->counts.evictions_collision++;
    }
}
