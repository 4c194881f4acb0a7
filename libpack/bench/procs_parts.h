/* The parts of procs.c. Not for use outside libpack. */
#ifndef LIBPACK_PROCS_PARTS_H
#define LIBPACK_PROCS_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libpack/bench/procs.h"
#include "libpack/bench/procs_memory.h"
#include <libpack/status.h>

struct procs_worker {
    pid_t pid; /* 0: not running */
    int fd;
    unsigned next_slot; /* the slot of the next item that arrives */
    uint64_t owed;      /* free slots that it has not been told of */
    struct pack_procs_usage usage;
};

struct pack_procs {
    struct pack_procs_params params; /* defaults filled in */
    struct procs_memory memory;
    void *inline_state;
    bool inline_open;
    uint64_t round, n_items, next_item;
    struct procs_worker worker[]; /* of each lane: one in line */
};

/* Forks worker `index`, which makes items until the parent hangs up. */
enum pack_status pack_procs_worker_start(struct pack_procs *procs, unsigned index,
                                         struct pack_error *err);

/* Reaps a worker if it has ended; true when it has. flags: of wait4. */
bool pack_procs_worker_reap(struct procs_worker *worker, int *how, int flags);

/* Waits for a worker that was told to end; kills it when it does not in time. */
void pack_procs_worker_end(struct procs_worker *worker, uint64_t deadline_ns);

#endif
