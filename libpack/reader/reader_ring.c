/*
 * Places are changed by the thread that calls the reader, and only those of batches that it
 * has been lent; the crew looks at others. What other threads may change is a job's state
 * alone: from kept to let go by whoever is first, and to idle.
 */
#include "libpack/reader/reader_parts.h"

#include <stdatomic.h>
#include <stdlib.h>

enum state { IN_RING = 0, KEPT, LET_GO, IDLE };

struct pack_ring {
    size_t n;                /* places */
    struct pack_job **place; /* their jobs */
    struct pack_job *jobs;   /* all of them, of which each has a state: */
    size_t n_jobs;
    _Atomic unsigned char *state;
};

uint64_t
pack_ring_bytes(const struct pack_reader *r)
{
    return sizeof(struct pack_ring) + r->n_jobs * sizeof(_Atomic unsigned char) +
           r->n_ring * sizeof(struct pack_job *);
}

enum pack_status
pack_ring_new(struct pack_reader *r, struct pack_error *err)
{
    struct pack_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return pack_fail_memory(err, "batches");
    r->ring = ring;
    ring->n = r->n_ring;
    ring->jobs = r->jobs;
    ring->n_jobs = r->n_jobs;
    ring->place = malloc(r->n_ring * sizeof(struct pack_job *));
    ring->state = calloc(r->n_jobs, sizeof *ring->state);
    if (!ring->place || !ring->state)
        return pack_fail_memory(err, "batches");
    for (size_t i = 0; i < r->n_ring; i++)
        ring->place[i] = &r->jobs[i];
    for (size_t i = r->n_ring; i < r->n_jobs; i++)
        ring->state[i] = IDLE;
    return PACK_OK;
}

void
pack_ring_free(struct pack_ring *ring)
{
    if (!ring)
        return;
    free((void *)ring->state);
    free((void *)ring->place);
    free(ring);
}

struct pack_job *
pack_ring_at(const struct pack_ring *ring, uint64_t batch)
{
    return ring->place[batch % ring->n];
}

bool
pack_ring_keep(struct pack_ring *ring, const struct pack_job *job)
{
    size_t place = 0, idle = 0;
    while (ring->place[place] != job)
        place++;
    while (idle < ring->n_jobs && ring->state[idle] != IDLE)
        idle++;
    if (idle == ring->n_jobs)
        return false;
    ring->state[idle] = IN_RING;
    ring->place[place] = &ring->jobs[idle];
    ring->state[job - ring->jobs] = KEPT;
    return true;
}

bool
pack_ring_let_go(struct pack_ring *ring, const struct pack_job *job)
{
    unsigned char kept = KEPT;
    return atomic_compare_exchange_strong(&ring->state[job - ring->jobs], &kept, LET_GO);
}

void
pack_ring_give_back(struct pack_ring *ring, const struct pack_job *job)
{
    ring->state[job - ring->jobs] = IDLE;
}
