/* Reader processes that fill batches in shared memory, dealt out as PyTorch's DataLoader
 * deals them. */
#ifndef LIBPACK_PROCS_H
#define LIBPACK_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_PROCS_MAX = 1024 };

/*
 * Work is counted in rounds (epochs) of items (batches). Item i of a round is made by
 * worker i mod n_workers and handed to the parent in order; each worker has `prefetch`
 * slots, which bounds how far it runs ahead, and keeps its state from round to round. An
 * item in fresh memory leaves its slot when the parent takes it, others when it is
 * released.
 * With no workers the parent does the same work in line, in one slot.
 */
struct pack_procs_ops {
    /* In the worker, once. `activity`: activity_bytes of shared memory in which the
     * worker keeps what it is doing, for `describe`. */
    enum pack_status (*open)(void *context, unsigned worker, void *activity, void **state,
                             struct pack_error *err);
    /* In the worker: makes one item in `data` and says about it what it likes in
     * `note`. */
    enum pack_status (*fill)(void *state, uint64_t round, uint64_t item, void *data,
                             void *note, struct pack_error *err);
    void (*close)(void *state);
    /* In the parent, about a worker that died or hangs: what it was doing ("reading
     * 'a.h5:/images', chunk 17"), into text. */
    void (*describe)(void *context, const void *activity, char *text, size_t size);
};

struct pack_procs_params {
    const struct pack_procs_ops *ops;
    void *context;        /* handed to open and describe */
    unsigned n_workers;   /* 0: in line */
    unsigned prefetch;    /* slots per worker; 0: 2, as DataLoader has it */
    /* Each item in memory of its own, new from the system and given back afterwards, as
     * torch.multiprocessing hands tensors over: a shared file without a name, whose
     * descriptor goes over the socket and is mapped by the parent. */
    bool fresh;
    size_t slot_bytes;    /* one item */
    size_t note_bytes;    /* beside each item */
    size_t activity_bytes; /* per worker */
    uint64_t stall_ns;    /* a worker waited for this long counts as hung; 0: 120 s */
    struct pack_watch watch; /* its `stop` is asked a few times a second while waiting */
};

struct pack_procs_item {
    unsigned worker;
    uint64_t round, number;
    const void *data; /* until pack_procs_release */
    const void *note;
};

/* User and system time of one worker, known after pack_procs_stop. */
struct pack_procs_usage {
    uint64_t user_ns, system_ns;
};

struct pack_procs;

/*
 * Starts the workers with fork(2), and waits until each has opened what it reads: fails
 * with the worker's own error. The caller should not have threads, open HDF5 files or a
 * CUDA context. Workers die with the parent. Items travel in anonymous shared
 * memory: nothing has a name that could be left behind. PACK_ERR_MEMORY, PACK_ERR_IO,
 * PACK_ERR_LIMIT.
 */
enum pack_status pack_procs_start(const struct pack_procs_params *params,
                                  struct pack_procs **procs, struct pack_error *err);

/* Begins a round of n_items; all items of the round before must have been released. */
void pack_procs_begin(struct pack_procs *procs, uint64_t round, uint64_t n_items);

/*
 * The round's next item, waiting for it. Fails with the worker's own error; PACK_ERR_IO
 * naming the worker when it died or hangs; PACK_ERR_INTERRUPTED when the watch says so.
 * Items are released in the order they came; all of a worker's may be held at once.
 */
enum pack_status pack_procs_next(struct pack_procs *procs, struct pack_procs_item *item,
                                 struct pack_error *err);
void pack_procs_release(struct pack_procs *procs, const struct pack_procs_item *item);

/* What a worker last put into its activity; in line, worker 0. */
const void *pack_procs_activity(const struct pack_procs *procs, unsigned worker);

/*
 * Ends the workers, by force when they do not listen within two seconds, and waits for
 * them; usage (n_workers of them, may be NULL) tells their processor time. Accepts NULL.
 */
void pack_procs_stop(struct pack_procs *procs, struct pack_procs_usage *usage);

#ifdef __cplusplus
}
#endif
#endif
