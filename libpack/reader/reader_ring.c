/*
 * Places are changed by the thread that calls the reader, and only those of batches that it
 * has been lent; the crew looks at others. That thread alone adds jobs, too. What other
 * threads may change is a job's state: from kept to let go by whoever is first, and that
 * one puts it on the list of those given back, which the caller's thread takes as a whole.
 *
 * Jobs are found by their number in blocks, each as long as all before it, which stay where
 * they are:
 *
 *     0 1 2 3 4 | 5 6 7 8 9 | 10 ... 19 | 20 ...
 */
#include "libpack/reader/reader_parts.h"

#include <stdlib.h>

#include "libpack/base/size.h"

enum state { IDLE = 0, IN_RING, KEPT, LET_GO };
enum { BLOCKS_MAX = 64 };

struct pack_ring {
    const struct pack_reader *reader;
    size_t n;                /* places */
    struct pack_job **place; /* their jobs */
    struct pack_job **block[BLOCKS_MAX];
    _Atomic size_t n_jobs;
    struct pack_job *idle; /* the caller's thread's */
    struct pack_job *_Atomic given_back;
};

/* ------------------------------------------------------------------ all jobs */

/* Where the job of a number is. */
struct cell {
    int block;
    size_t at, length; /* in the block; of it */
};

static struct cell
find_cell(const struct pack_ring *ring, size_t number)
{
    size_t begin = 0, end = ring->reader->n_jobs;
    int block = 0;
    while (number >= end) {
        begin = end;
        end *= 2;
        block++;
    }
    return (struct cell){ block, number - begin, end - begin };
}

size_t
pack_ring_jobs(const struct pack_ring *ring)
{
    return atomic_load_explicit(&ring->n_jobs, memory_order_acquire);
}

struct pack_job *
pack_ring_job(struct pack_ring *ring, size_t number)
{
    if (number >= pack_ring_jobs(ring))
        return NULL;
    struct cell cell = find_cell(ring, number);
    return ring->block[cell.block][cell.at];
}

uint64_t
pack_ring_more_bytes(const struct pack_ring *ring)
{
    struct cell cell = find_cell(ring, pack_ring_jobs(ring));
    uint64_t bytes = pack_job_bytes(ring->reader);
    if (!ring->block[cell.block] &&
        !pack_size_add(bytes, cell.length * sizeof(struct pack_job *), &bytes))
        return UINT64_MAX;
    return bytes;
}

enum pack_status
pack_ring_more(struct pack_ring *ring, struct pack_error *err)
{
    size_t number = pack_ring_jobs(ring);
    struct cell cell = find_cell(ring, number);
    struct pack_job *job;
    if (!ring->block[cell.block])
        ring->block[cell.block] = calloc(cell.length, sizeof(struct pack_job *));
    if (!ring->block[cell.block])
        return pack_fail_memory(err, "batches");
    enum pack_status status = pack_job_new(ring->reader, &job, err);
    if (status != PACK_OK)
        return status;
    job->number = number;
    job->next = ring->idle;
    ring->idle = job;
    ring->block[cell.block][cell.at] = job;
    atomic_store_explicit(&ring->n_jobs, number + 1, memory_order_release);
    return PACK_OK;
}

/* ------------------------------------------------------------------- the ring */

static void
put(struct pack_ring *ring, size_t place)
{
    struct pack_job *job = ring->idle;
    ring->idle = job->next;
    job->state = IN_RING;
    job->place = place;
    ring->place[place] = job;
}

uint64_t
pack_ring_bytes(const struct pack_reader *r)
{
    return sizeof(struct pack_ring) +
           ((uint64_t)r->n_ring + r->n_jobs) * sizeof(struct pack_job *);
}

enum pack_status
pack_ring_new(struct pack_reader *r, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    struct pack_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return pack_fail_memory(err, "batches");
    r->ring = ring;
    ring->reader = r;
    ring->n = r->n_ring;
    ring->place = calloc(ring->n, sizeof(struct pack_job *));
    if (!ring->place)
        return pack_fail_memory(err, "batches");
    for (size_t i = 0; i < r->n_jobs && status == PACK_OK; i++)
        status = pack_ring_more(ring, err);
    for (size_t i = 0; i < ring->n && status == PACK_OK; i++)
        put(ring, i);
    return status;
}

void
pack_ring_free(struct pack_ring *ring)
{
    if (!ring)
        return;
    for (size_t i = 0; i < ring->n_jobs; i++)
        pack_job_free(ring->reader, pack_ring_job(ring, i));
    for (int i = 0; i < BLOCKS_MAX; i++)
        free((void *)ring->block[i]);
    free((void *)ring->place);
    free(ring);
}

struct pack_job *
pack_ring_at(const struct pack_ring *ring, uint64_t batch)
{
    return ring->place[batch % ring->n];
}

bool
pack_ring_has_room(struct pack_ring *ring)
{
    if (!ring->idle)
        ring->idle =
            atomic_exchange_explicit(&ring->given_back, NULL, memory_order_acquire);
    return ring->idle != NULL;
}

void
pack_ring_keep(struct pack_ring *ring, struct pack_job *job)
{
    put(ring, job->place);
    job->state = KEPT;
}

bool
pack_ring_let_go(struct pack_job *job)
{
    unsigned char kept = KEPT;
    return atomic_compare_exchange_strong(&job->state, &kept, LET_GO);
}

void
pack_ring_give_back(struct pack_ring *ring, struct pack_job *job)
{
    struct pack_job *first =
        atomic_load_explicit(&ring->given_back, memory_order_relaxed);
    job->state = IDLE;
    do
        job->next = first;
    while (!atomic_compare_exchange_weak_explicit(
        &ring->given_back, &first, job, memory_order_release, memory_order_relaxed));
}
