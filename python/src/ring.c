/* A reader's memory and its batches: who uses them is counted, without Python. */
#include "native.h"

#include <stdlib.h>
#include <unistd.h>

static bool
is_last(atomic_size_t *n_users)
{
    return atomic_fetch_sub_explicit(n_users, 1, memory_order_acq_rel) == 1;
}

void
ring_drop(struct ring *ring)
{
    if (!ring || !is_last(&ring->n_users))
        return;
    if (ring->pid != getpid()) /* its threads are the parent's, and so are locks they hold */
        return;
    pack_reader_close(ring->reader);
    pattern_done(&ring->pattern);
    free(ring);
}

struct slot *
slot_new(struct ring *ring, size_t buffer)
{
    struct slot *slot = malloc(sizeof *slot);
    if (!slot)
        return NULL;
    atomic_init(&slot->n_users, 1);
    slot->ring = ring;
    slot->buffer = buffer;
    atomic_fetch_add_explicit(&ring->n_users, 1, memory_order_relaxed);
    return slot;
}

struct slot *
slot_share(struct slot *slot)
{
    atomic_fetch_add_explicit(&slot->n_users, 1, memory_order_relaxed);
    return slot;
}

void
slot_drop(struct slot *slot)
{
    if (!slot || !is_last(&slot->n_users))
        return;
    struct ring *ring = slot->ring;
    if (ring->pid == getpid())
        pack_reader_give_back(ring->reader, slot->buffer, NULL);
    free(slot);
    ring_drop(ring);
}
