/*
 * The parent's side. Items lie in shared memory (procs_memory.c); a socket to each worker
 * (procs_worker.c) carries short messages that say whose turn it is:
 *
 *     parent ──BEGIN round, CREDIT──▶ worker
 *            ◀──OPENED, READY item, FAILED──
 *
 * A socket holds some hundred messages. A worker may wait for room in it, the parent never
 * does, or the two would wait for each other: credits that find no room are summed up and
 * go with the next, or before the parent waits. What left no room lets the worker go on.
 *
 * Sockets rather than locks in shared memory, because a process that dies leaves a lock
 * locked but closes its sockets: the other side always wakes up.
 */
#include "libpack/bench/procs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/bench/procs_message.h"
#include "libpack/bench/procs_parts.h"

enum { POLL_MS = 100, STOP_MS = 2000 };
static const uint64_t default_stall_ns = UINT64_C(120) * 1000000000;

const void *
pack_procs_activity(const struct pack_procs *procs, unsigned worker)
{
    return pack_procs_lane_activity(&procs->memory, worker);
}

static void
describe(const struct pack_procs *procs, unsigned index, char *text, size_t size)
{
    text[0] = '\0';
    if (procs->params.ops->describe)
        procs->params.ops->describe(procs->params.context,
                                    pack_procs_lane_activity(&procs->memory, index), text,
                                    size);
}

/* The worker hung up although it owes an item. */
static enum pack_status
worker_died(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    struct procs_worker *worker = &procs->worker[index];
    char doing[512];
    int pid = (int)worker->pid, how = 0;
    describe(procs, index, doing, sizeof doing);
    const char *by = doing[0] ? ", " : "";
    bool known = worker->pid > 0 && pack_procs_worker_reap(worker, &how, 0);
    if (known && WIFSIGNALED(how))
        return pack_fail(err, PACK_ERR_IO,
                         "reader process %u (pid %d) was killed by signal %d (%s)%s%s",
                         index, pid, WTERMSIG(how), strsignal(WTERMSIG(how)), by, doing);
    return pack_fail(err, PACK_ERR_IO,
                     "reader process %u (pid %d) ended with status %d%s%s", index, pid,
                     known && WIFEXITED(how) ? WEXITSTATUS(how) : -1, by, doing);
}

static enum pack_status
worker_hangs(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    char doing[512];
    describe(procs, index, doing, sizeof doing);
    return pack_fail(err, PACK_ERR_IO,
                     "reader process %u (pid %d) has not answered for %.0f s%s%s", index,
                     (int)procs->worker[index].pid, (double)procs->params.stall_ns / 1e9,
                     doing[0] ? ", " : "", doing);
}

/* Waits until a worker has said something or hung up. */
static enum pack_status
wait_worker(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    const struct pack_procs_params *p = &procs->params;
    uint64_t start = pack_clock_ns();
    for (;;) {
        struct pollfd poller = { .fd = procs->worker[index].fd, .events = POLLIN };
        int ready = poll(&poller, 1, POLL_MS);
        if (ready > 0)
            return PACK_OK;
        if (ready < 0 && errno != EINTR)
            return pack_fail_errno(err, errno, "cannot wait for reader process %u",
                                   index);
        enum pack_status status = pack_watch_check(&p->watch, err);
        if (status != PACK_OK)
            return status;
        if (pack_clock_ns() - start > p->stall_ns)
            return worker_hangs(procs, index, err);
    }
}

/* Why a worker makes no more items. */
static enum pack_status
worker_failed(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    const struct pack_error *why = pack_procs_lane_error(&procs->memory, index);
    if (err)
        *err = *why;
    return why->status;
}

static enum pack_status
wait_open(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    struct procs_message message;
    enum pack_status status = wait_worker(procs, index, err);
    if (status != PACK_OK)
        return status;
    if (!pack_procs_receive(procs->worker[index].fd, &message))
        return worker_died(procs, index, err);
    return message.kind == PROCS_FAILED ? worker_failed(procs, index, err) : PACK_OK;
}

enum pack_status
pack_procs_start(const struct pack_procs_params *params, struct pack_procs **out,
                 struct pack_error *err)
{
    if (params->n_workers > PACK_PROCS_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT, "%u workers are more than %d",
                         params->n_workers, PACK_PROCS_MAX);
    unsigned n_lanes = params->n_workers ? params->n_workers : 1;
    struct pack_procs *procs = calloc(1, sizeof *procs + n_lanes * sizeof *procs->worker);
    if (!procs)
        return pack_fail_memory(err, "reader processes");
    procs->params = *params;
    for (unsigned i = 0; i < n_lanes; i++)
        procs->worker[i].fd = -1; /* 0 may be a socket, where standard input is closed */
    if (procs->params.prefetch == 0)
        procs->params.prefetch = 2;
    if (params->n_workers == 0)
        procs->params.prefetch = 1; /* nobody runs ahead */
    if (procs->params.stall_ns == 0)
        procs->params.stall_ns = default_stall_ns;
    const struct procs_memory_params memory = {
        .n_workers = params->n_workers,
        .prefetch = procs->params.prefetch,
        .fresh = params->fresh,
        .slot_bytes = params->slot_bytes,
        .note_bytes = params->note_bytes,
        .activity_bytes = params->activity_bytes,
    };
    enum pack_status status = pack_procs_memory_open(&memory, &procs->memory, err);
    for (unsigned i = 0; i < params->n_workers && status == PACK_OK; i++)
        status = pack_procs_worker_start(procs, i, err);
    for (unsigned i = 0; i < params->n_workers && status == PACK_OK; i++)
        status = wait_open(procs, i, err);
    if (status == PACK_OK && params->n_workers == 0) {
        status = params->ops->open(params->context, 0,
                                   pack_procs_lane_activity(&procs->memory, 0),
                                   &procs->inline_state, err);
        procs->inline_open = status == PACK_OK;
    }
    if (status != PACK_OK) {
        pack_procs_stop(procs, NULL);
        return status;
    }
    *out = procs;
    return PACK_OK;
}

static enum pack_status
next_in_line(struct pack_procs *procs, struct pack_procs_item *item,
             struct pack_error *err)
{
    const struct procs_memory *memory = &procs->memory;
    struct procs_worker *lane = &procs->worker[0];
    void *note = pack_procs_slot_note(memory, 0, lane->next_slot);
    void *data = memory->fresh ? pack_procs_fresh_map(memory, -1)
                               : pack_procs_slot_data(memory, 0, lane->next_slot);
    if (!data)
        return pack_procs_fresh_fail(memory, err);
    enum pack_status status =
        procs->params.ops->fill(procs->inline_state, procs->round, procs->next_item, data,
                                note, err);
    if (status != PACK_OK) {
        if (memory->fresh)
            pack_procs_fresh_unmap(memory, data);
        return status;
    }
    lane->next_slot = (lane->next_slot + 1) % memory->n_slots;
    *item = (struct pack_procs_item){ .round = procs->round,
                                      .number = procs->next_item++,
                                      .note = note,
                                      .data = data };
    return PACK_OK;
}

/* A worker that cannot be told is gone, or has credits to read. */
static void
give_credit(struct procs_worker *worker, uint64_t round, unsigned n_free)
{
    worker->owed += n_free;
    if (worker->owed &&
        pack_procs_try_send(worker->fd, PROCS_CREDIT, round, worker->owed))
        worker->owed = 0;
}

/* Takes what a worker has to say: an item, or why there is none. */
static enum pack_status
take_item(struct pack_procs *procs, unsigned index, struct pack_procs_item *item,
          struct pack_error *err)
{
    const struct procs_memory *memory = &procs->memory;
    struct procs_worker *worker = &procs->worker[index];
    struct procs_message message;
    int file = -1;
    if (!pack_procs_receive_file(worker->fd, &message, &file))
        return worker_died(procs, index, err);
    if (message.kind == PROCS_FAILED)
        return worker_failed(procs, index, err);
    if (memory->fresh && file < 0) /* this process has no descriptor left for it */
        return pack_fail_errno(err, EMFILE, "cannot share a batch");
    void *data = file < 0 ? pack_procs_slot_data(memory, index, worker->next_slot)
                          : pack_procs_fresh_map(memory, file);
    if (file >= 0)
        close(file);
    if (!data)
        return pack_procs_fresh_fail(memory, err);
    if (memory->fresh) /* as DataLoader does: on with the next while this one is used */
        give_credit(worker, message.round, 1);
    *item = (struct pack_procs_item){
        .worker = index,
        .round = message.round,
        .number = message.item,
        .note = pack_procs_slot_note(memory, index, worker->next_slot),
        .data = data,
    };
    worker->next_slot = (worker->next_slot + 1) % memory->n_slots;
    return PACK_OK;
}

/* A worker that cannot be told is gone; pack_procs_next finds that out and says why. */
void
pack_procs_begin(struct pack_procs *procs, uint64_t round, uint64_t n_items)
{
    procs->round = round;
    procs->n_items = n_items;
    procs->next_item = 0;
    for (unsigned i = 0; i < procs->params.n_workers; i++)
        pack_procs_send(procs->worker[i].fd, PROCS_BEGIN, round, n_items);
}

enum pack_status
pack_procs_next(struct pack_procs *procs, struct pack_procs_item *item,
                struct pack_error *err)
{
    const struct pack_procs_params *p = &procs->params;
    if (procs->next_item >= procs->n_items)
        return pack_fail(err, PACK_ERR_ARGUMENT, "the round has no more batches");
    enum pack_status status = pack_watch_check(&p->watch, err);
    if (status != PACK_OK)
        return status;
    if (p->n_workers == 0)
        return next_in_line(procs, item, err);
    unsigned index = (unsigned)(procs->next_item % p->n_workers);
    give_credit(&procs->worker[index], procs->round, 0);
    status = wait_worker(procs, index, err);
    if (status == PACK_OK)
        status = take_item(procs, index, item, err);
    if (status == PACK_OK)
        procs->next_item++;
    return status;
}

void
pack_procs_release(struct pack_procs *procs, const struct pack_procs_item *item)
{
    if (procs->memory.fresh)
        pack_procs_fresh_unmap(&procs->memory, item->data);
    else if (procs->params.n_workers > 0)
        give_credit(&procs->worker[item->worker], item->round, 1);
}

void
pack_procs_stop(struct pack_procs *procs, struct pack_procs_usage *usage)
{
    if (!procs)
        return;
    unsigned n = procs->params.n_workers;
    uint64_t deadline = pack_clock_ns() + STOP_MS * UINT64_C(1000000);
    for (unsigned i = 0; i < n; i++)
        if (procs->worker[i].fd >= 0)
            close(procs->worker[i].fd);
    for (unsigned i = 0; i < n; i++) {
        pack_procs_worker_end(&procs->worker[i], deadline);
        if (usage)
            usage[i] = procs->worker[i].usage;
    }
    if (procs->inline_open)
        procs->params.ops->close(procs->inline_state);
    pack_procs_memory_close(&procs->memory);
    free(procs);
}
