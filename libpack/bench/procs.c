/*
 * One mapping of anonymous shared memory, made before the workers are forked, holds all
 * that is large; a socket to each worker carries short messages that say whose turn it
 * is:
 *
 *     parent ──BEGIN round, CREDIT──▶ worker        shared:  where | slot | slot | ...
 *            ◀──READY item, FAILED──                slot:    note, data
 *
 * With `fresh`, slots hold notes only: each item is a file in memory that the worker makes
 * and fills, and whose descriptor travels with READY.
 *
 * Sockets rather than locks in shared memory, because a process that dies leaves a lock
 * locked but closes its sockets: the other side always wakes up.
 */
#include "libpack/bench/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/base/size.h"
#include "libpack/bench/procs_message.h"

struct worker {
    pid_t pid; /* 0: not running */
    int fd;
    unsigned next_slot; /* the slot of the next item that arrives */
    struct pack_procs_usage usage;
};

struct pack_procs {
    struct pack_procs_params params;
    unsigned n_lanes; /* workers, or 1 in line */
    unsigned n_slots; /* of each: prefetch, and one for the note that the parent looks at */
    unsigned char *shared;
    size_t shared_bytes, lane_bytes, slot_stride, where_stride;
    void *inline_state;
    bool inline_open;
    uint64_t round, n_items, next_item;
    struct worker worker[];
};

enum { PAGE = 4096, POLL_MS = 100, STOP_MS = 2000 };
static const uint64_t default_stall_ns = UINT64_C(120) * 1000000000;

/* ------------------------------------------------------------------ memory
 *
 * lane: [error, where | note, data | note, data | ...], each part on whole pages. */

static unsigned char *
lane_of(const struct pack_procs *procs, unsigned lane)
{
    return procs->shared + lane * procs->lane_bytes;
}

/* The error a worker ended with, which is longer than a message should be. Its parameter
 * is a literal, which lies in a forked process where it lies in this one. */
static struct pack_error *
lane_error(const struct pack_procs *procs, unsigned lane)
{
    return (struct pack_error *)lane_of(procs, lane);
}

static void *
lane_where(const struct pack_procs *procs, unsigned lane)
{
    return lane_of(procs, lane) + PAGE;
}

static unsigned char *
lane_slot(const struct pack_procs *procs, unsigned lane, unsigned slot)
{
    return lane_of(procs, lane) + PAGE + procs->where_stride + slot * procs->slot_stride;
}

static bool
add_pages(uint64_t bytes, uint64_t *total)
{
    uint64_t rounded;
    return pack_size_add(bytes, PAGE - 1, &rounded) &&
           pack_size_add(*total, rounded / PAGE * PAGE, total);
}

static size_t
note_stride(const struct pack_procs *procs)
{
    return (procs->params.note_bytes + PAGE - 1) / PAGE * PAGE;
}

static enum pack_status
map_shared(struct pack_procs *procs, struct pack_error *err)
{
    const struct pack_procs_params *p = &procs->params;
    uint64_t slot = 0, where = 0, lane = PAGE, total;
    if (!add_pages(p->fresh ? 0 : p->slot_bytes, &slot) ||
        !add_pages(p->note_bytes, &slot) || !add_pages(p->where_bytes, &where) ||
        !pack_size_mul(slot, procs->n_slots, &total) ||
        !pack_size_add(lane, where, &lane) || !pack_size_add(lane, total, &lane) ||
        !pack_size_mul(lane, procs->n_lanes, &total) || total > SIZE_MAX / 2)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "batches of %zu bytes, %u for each of %u workers, do not fit "
                         "the address space",
                         p->slot_bytes, p->prefetch, p->n_workers);
    procs->slot_stride = (size_t)slot;
    procs->where_stride = (size_t)where;
    procs->lane_bytes = (size_t)lane;
    procs->shared_bytes = (size_t)total;
    /* populated now, so that page faults are no part of what is measured */
    int sharing = p->n_workers ? MAP_SHARED : MAP_PRIVATE;
    void *shared = mmap(NULL, procs->shared_bytes, PROT_READ | PROT_WRITE,
                        sharing | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (shared == MAP_FAILED) {
        char text[PACK_BYTES_TEXT_MAX];
        return pack_fail_errno(err, errno, "cannot share %s with reader processes",
                               pack_bytes_format(total, text));
    }
    procs->shared = shared;
    return PACK_OK;
}

/* ------------------------------------------------------------ fresh memory */

static size_t
fresh_bytes(const struct pack_procs *procs)
{
    return procs->params.slot_bytes ? procs->params.slot_bytes : 1;
}

/* Maps a file of memory, or memory of this process alone where file is -1; NULL where
 * there is none. */
static void *
map_fresh(const struct pack_procs *procs, int file)
{
    int sharing = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *data =
        mmap(NULL, fresh_bytes(procs), PROT_READ | PROT_WRITE, sharing, file, 0);
    return data == MAP_FAILED ? NULL : data;
}

static enum pack_status
fail_fresh(const struct pack_procs *procs, struct pack_error *err)
{
    char text[PACK_BYTES_TEXT_MAX];
    return pack_fail_errno(err, errno, "cannot share a batch of %s",
                           pack_bytes_format(procs->params.slot_bytes, text));
}

/* ------------------------------------------------------------- in a worker */

struct credit {
    int fd;
    uint64_t n; /* slots that are free */
};

/* Waits until the parent begins a round (true) or hangs up (false). */
static bool
wait_begin(struct credit *credit, struct procs_message *begin)
{
    while (pack_procs_receive(credit->fd, begin)) {
        if (begin->kind == PROCS_BEGIN)
            return true;
        credit->n++;
    }
    return false;
}

static bool
wait_credit(struct credit *credit)
{
    struct procs_message message;
    while (credit->n == 0) {
        if (!pack_procs_receive(credit->fd, &message))
            return false;
        credit->n += message.kind == PROCS_CREDIT;
    }
    credit->n--;
    return true;
}

static enum pack_status
fill_slot(struct pack_procs *procs, unsigned lane, unsigned slot, void *state,
          uint64_t round, uint64_t item, struct pack_error *err)
{
    unsigned char *note = lane_slot(procs, lane, slot);
    return procs->params.ops->fill(state, round, item, note + note_stride(procs), note,
                                   err);
}

/* Likewise into fresh memory, *file on success. */
static enum pack_status
fill_fresh(struct pack_procs *procs, unsigned lane, unsigned slot, void *state,
           uint64_t round, uint64_t item, int *file, struct pack_error *err)
{
    unsigned char *note = lane_slot(procs, lane, slot);
    enum pack_status status = PACK_OK;
    void *data = NULL;
    *file = memfd_create("batch", MFD_CLOEXEC);
    if (*file < 0 || ftruncate(*file, (off_t)fresh_bytes(procs)) != 0 ||
        !(data = map_fresh(procs, *file)))
        status = fail_fresh(procs, err);
    if (status == PACK_OK)
        status = procs->params.ops->fill(state, round, item, data, note, err);
    if (data)
        munmap(data, fresh_bytes(procs));
    if (status != PACK_OK && *file >= 0)
        close(*file);
    return status;
}

/* Makes one item and says so; false ends the worker. */
static bool
make_item(struct pack_procs *procs, unsigned index, unsigned slot, void *state,
          const struct procs_message *begin, uint64_t item)
{
    struct pack_error *err = lane_error(procs, index);
    int fd = procs->worker[index].fd, file = -1;
    bool sent;
    enum pack_status status =
        procs->params.fresh
            ? fill_fresh(procs, index, slot, state, begin->round, item, &file, err)
            : fill_slot(procs, index, slot, state, begin->round, item, err);
    if (status != PACK_OK) {
        pack_procs_send(fd, PROCS_FAILED, begin->round, item);
        return false;
    }
    if (!procs->params.fresh)
        return pack_procs_send(fd, PROCS_READY, begin->round, item);
    struct procs_message ready = { PROCS_READY, begin->round, item };
    sent = pack_procs_send_file(fd, &ready, file);
    close(file);
    return sent;
}

/* A worker's life: rounds of every n-th item until the parent hangs up. */
static void
work(struct pack_procs *procs, unsigned index, int fd)
{
    const struct pack_procs_ops *ops = procs->params.ops;
    struct credit credit = { fd, procs->params.prefetch };
    struct pack_error *err = lane_error(procs, index);
    struct procs_message begin;
    void *state = NULL;
    unsigned slot = 0;
    if (ops->open(procs->params.context, index, lane_where(procs, index), &state, err) !=
        PACK_OK) {
        pack_procs_send(fd, PROCS_FAILED, 0, index);
        return;
    }
    while (wait_begin(&credit, &begin)) {
        for (uint64_t item = index; item < begin.item; item += procs->params.n_workers) {
            if (!wait_credit(&credit) ||
                !make_item(procs, index, slot, state, &begin, item))
                goto out;
            slot = (slot + 1) % procs->n_slots;
        }
    }
out:
    ops->close(state);
}

static void
become_worker(struct pack_procs *procs, unsigned index, pid_t parent, int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);            /* the parent was gone before prctl could know */
    /* Ctrl-C and timeout(1) reach the whole group; the parent decides */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    for (unsigned i = 0; i < index; i++)
        close(procs->worker[i].fd);
    procs->worker[index].fd = fd;
    work(procs, index, fd);
    _exit(0);
}

static enum pack_status
start_worker(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    struct worker *worker = &procs->worker[index];
    int fd[2] = { -1, -1 };
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) != 0 ||
        (worker->pid = fork()) < 0) {
        int errnum = errno;
        worker->pid = 0;
        if (fd[0] >= 0) {
            close(fd[0]);
            close(fd[1]);
        }
        return pack_fail_errno(err, errnum, "cannot start reader process %u", index);
    }
    if (worker->pid == 0) {
        close(fd[0]);
        become_worker(procs, index, parent, fd[1]);
    }
    close(fd[1]);
    worker->fd = fd[0];
    return PACK_OK;
}

/* ----------------------------------------------------------- in the parent */

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
    procs->n_lanes = n_lanes;
    if (procs->params.prefetch == 0)
        procs->params.prefetch = 2;
    if (params->n_workers == 0)
        procs->params.prefetch = 1; /* nobody runs ahead */
    if (procs->params.stall_ns == 0)
        procs->params.stall_ns = default_stall_ns;
    procs->n_slots = procs->params.prefetch + params->fresh;
    enum pack_status status = map_shared(procs, err);
    for (unsigned i = 0; i < params->n_workers && status == PACK_OK; i++)
        status = start_worker(procs, i, err);
    if (status == PACK_OK && params->n_workers == 0) {
        status = params->ops->open(params->context, 0, lane_where(procs, 0),
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

const void *
pack_procs_where(const struct pack_procs *procs, unsigned worker)
{
    return lane_where(procs, worker);
}

/* Reaps a worker if it has ended; true when it has. */
static bool
reap(struct worker *worker, int *how, int flags)
{
    struct rusage usage;
    pid_t got;
    do
        got = wait4(worker->pid, how, flags, &usage);
    while (got < 0 && errno == EINTR);
    if (got != worker->pid)
        return got < 0;
    worker->pid = 0;
    worker->usage.user_ns = (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
                            (uint64_t)usage.ru_utime.tv_usec * 1000;
    worker->usage.system_ns = (uint64_t)usage.ru_stime.tv_sec * 1000000000 +
                              (uint64_t)usage.ru_stime.tv_usec * 1000;
    return true;
}

static void
describe(const struct pack_procs *procs, unsigned index, char *text, size_t size)
{
    text[0] = '\0';
    if (procs->params.ops->describe)
        procs->params.ops->describe(procs->params.context, lane_where(procs, index), text,
                                    size);
}

/* The worker hung up although it owes an item. */
static enum pack_status
worker_died(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    struct worker *worker = &procs->worker[index];
    char doing[512];
    int pid = (int)worker->pid, how = 0;
    describe(procs, index, doing, sizeof doing);
    const char *by = doing[0] ? ", " : "";
    bool known = worker->pid > 0 && reap(worker, &how, 0);
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

static enum pack_status
next_in_line(struct pack_procs *procs, struct pack_procs_item *item,
             struct pack_error *err)
{
    struct worker *lane = &procs->worker[0];
    unsigned char *note = lane_slot(procs, 0, lane->next_slot);
    void *data = procs->params.fresh ? map_fresh(procs, -1) : note + note_stride(procs);
    if (!data)
        return fail_fresh(procs, err);
    enum pack_status status =
        procs->params.ops->fill(procs->inline_state, procs->round, procs->next_item, data,
                                note, err);
    if (status != PACK_OK) {
        if (procs->params.fresh)
            munmap(data, fresh_bytes(procs));
        return status;
    }
    lane->next_slot = (lane->next_slot + 1) % procs->n_slots;
    *item = (struct pack_procs_item){ .round = procs->round,
                                      .number = procs->next_item++,
                                      .note = note,
                                      .data = data };
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
    struct procs_message message;
    if (procs->next_item >= procs->n_items)
        return pack_fail(err, PACK_ERR_ARGUMENT, "the round has no more batches");
    enum pack_status status = pack_watch_check(&p->watch, err);
    if (status != PACK_OK)
        return status;
    if (p->n_workers == 0)
        return next_in_line(procs, item, err);
    unsigned index = (unsigned)(procs->next_item % p->n_workers);
    struct worker *worker = &procs->worker[index];
    status = wait_worker(procs, index, err);
    if (status != PACK_OK)
        return status;
    int file = -1;
    if (!pack_procs_receive_file(worker->fd, &message, &file))
        return worker_died(procs, index, err);
    if (message.kind == PROCS_FAILED) {
        if (err)
            *err = *lane_error(procs, index);
        return lane_error(procs, index)->status;
    }
    if (p->fresh && file < 0) /* this process has no descriptor left for it */
        return pack_fail_errno(err, EMFILE, "cannot share a batch");
    unsigned char *note = lane_slot(procs, index, worker->next_slot);
    void *data = file < 0 ? note + note_stride(procs) : map_fresh(procs, file);
    if (file >= 0)
        close(file);
    if (!data)
        return fail_fresh(procs, err);
    if (p->fresh) /* as DataLoader does: on with the next while this one is used */
        pack_procs_send(worker->fd, PROCS_CREDIT, message.round, message.item);
    worker->next_slot = (worker->next_slot + 1) % procs->n_slots;
    *item = (struct pack_procs_item){ .worker = index,
                                      .round = message.round,
                                      .number = message.item,
                                      .note = note,
                                      .data = data };
    procs->next_item++;
    return PACK_OK;
}

void
pack_procs_release(struct pack_procs *procs, const struct pack_procs_item *item)
{
    if (procs->params.fresh)
        munmap((void *)item->data, fresh_bytes(procs));
    else if (procs->params.n_workers > 0)
        pack_procs_send(procs->worker[item->worker].fd, PROCS_CREDIT, item->round,
                     item->number);
}

/* Waits for a worker that was told to end; kills it when it does not in time. */
static void
end_worker(struct worker *worker, uint64_t deadline_ns)
{
    const struct timespec nap = { .tv_nsec = 2000000 };
    int how;
    while (worker->pid > 0 && !reap(worker, &how, WNOHANG)) {
        if (pack_clock_ns() >= deadline_ns) {
            kill(worker->pid, SIGKILL);
            reap(worker, &how, 0);
            return;
        }
        nanosleep(&nap, NULL);
    }
}

void
pack_procs_stop(struct pack_procs *procs, struct pack_procs_usage *usage)
{
    if (!procs)
        return;
    unsigned n = procs->params.n_workers;
    uint64_t deadline = pack_clock_ns() + STOP_MS * UINT64_C(1000000);
    for (unsigned i = 0; i < n; i++)
        if (procs->worker[i].fd > 0)
            close(procs->worker[i].fd);
    for (unsigned i = 0; i < n; i++) {
        end_worker(&procs->worker[i], deadline);
        if (usage)
            usage[i] = procs->worker[i].usage;
    }
    if (procs->inline_open)
        procs->params.ops->close(procs->inline_state);
    if (procs->shared)
        munmap(procs->shared, procs->shared_bytes);
    free(procs);
}
