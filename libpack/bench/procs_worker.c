/*
 * The life of a reader process, from fork to its reaping: it waits for a round to begin,
 * makes every n-th item of it, each when a slot is free, and ends when the parent hangs
 * up.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/bench/procs_message.h"
#include "libpack/bench/procs_parts.h"

/* This process, when it is a worker. */
struct self {
    struct pack_procs *procs;
    unsigned index;
    int fd;          /* to the parent */
    void *state;     /* of the ops */
    unsigned slot;   /* of the next item */
    uint64_t credit; /* slots that are free */
};

/* Waits until the parent begins a round (true) or hangs up (false). */
static bool
wait_begin(struct self *self, struct procs_message *begin)
{
    while (pack_procs_receive(self->fd, begin)) {
        if (begin->kind == PROCS_BEGIN)
            return true;
        self->credit += begin->item;
    }
    return false;
}

static bool
wait_credit(struct self *self)
{
    struct procs_message message;
    while (self->credit == 0) {
        if (!pack_procs_receive(self->fd, &message))
            return false;
        if (message.kind == PROCS_CREDIT)
            self->credit += message.item;
    }
    self->credit--;
    return true;
}

/* Makes an item in `data`, and its note in the slot. */
static enum pack_status
fill(struct self *self, const struct procs_message *item, void *data)
{
    const struct pack_procs *procs = self->procs;
    return procs->params.ops->fill(
        self->state, item->round, item->item, data,
        pack_procs_slot_note(&procs->memory, self->index, self->slot),
        pack_procs_lane_error(&procs->memory, self->index));
}

/* Likewise in fresh memory, *file on success. */
static enum pack_status
fill_fresh(struct self *self, const struct procs_message *item, int *file)
{
    const struct procs_memory *memory = &self->procs->memory;
    void *data = NULL;
    *file = pack_procs_fresh_file(memory);
    if (*file >= 0)
        data = pack_procs_fresh_map(memory, *file);
    enum pack_status status =
        data ? fill(self, item, data)
             : pack_procs_fresh_fail(memory, pack_procs_lane_error(memory, self->index));
    if (data)
        pack_procs_fresh_unmap(memory, data);
    if (status != PACK_OK && *file >= 0)
        close(*file);
    return status;
}

/* Not where the user has more descriptors under way than may be open. */
static bool
hand_over(struct self *self, const struct procs_message *item, int file)
{
    bool sent = pack_procs_send_file(self->fd, item, file);
    int errnum = errno;
    close(file);
    if (sent)
        return true;
    pack_fail_errno(pack_procs_lane_error(&self->procs->memory, self->index), errnum,
                    errnum == ETOOMANYREFS
                        ? "cannot hand over a batch (fewer workers, a smaller prefetch or "
                          "more open files per user help)"
                        : "cannot hand over a batch");
    pack_procs_send(self->fd, PROCS_FAILED, item->round, item->item);
    return false;
}

/* Makes one item and says so; false ends the worker. */
static bool
make_item(struct self *self, const struct procs_message *item)
{
    const struct procs_memory *memory = &self->procs->memory;
    int file = -1;
    enum pack_status status =
        memory->fresh
            ? fill_fresh(self, item, &file)
            : fill(self, item, pack_procs_slot_data(memory, self->index, self->slot));
    if (status != PACK_OK) {
        pack_procs_send(self->fd, PROCS_FAILED, item->round, item->item);
        return false;
    }
    if (!memory->fresh)
        return pack_procs_send(self->fd, PROCS_READY, item->round, item->item);
    return hand_over(self, item, file);
}

/* Rounds of every n-th item until the parent hangs up. */
static void
make_rounds(struct self *self)
{
    const struct pack_procs *procs = self->procs;
    struct procs_message begin;
    while (wait_begin(self, &begin)) {
        for (uint64_t i = self->index; i < begin.item; i += procs->params.n_workers) {
            const struct procs_message item = { PROCS_READY, begin.round, i };
            if (!wait_credit(self) || !make_item(self, &item))
                return;
            self->slot = (self->slot + 1) % procs->memory.n_slots;
        }
    }
}

static void
work(struct pack_procs *procs, unsigned index, int fd)
{
    const struct pack_procs_params *p = &procs->params;
    struct self self = {
        .procs = procs, .index = index, .fd = fd, .credit = p->prefetch
    };
    if (p->ops->open(p->context, index, pack_procs_lane_activity(&procs->memory, index),
                     &self.state,
                     pack_procs_lane_error(&procs->memory, index)) != PACK_OK) {
        pack_procs_send(fd, PROCS_FAILED, 0, index);
        return;
    }
    if (pack_procs_send(fd, PROCS_OPENED, 0, index))
        make_rounds(&self);
    p->ops->close(self.state);
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
    work(procs, index, fd);
    _exit(0);
}

enum pack_status
pack_procs_worker_start(struct pack_procs *procs, unsigned index, struct pack_error *err)
{
    struct procs_worker *worker = &procs->worker[index];
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

bool
pack_procs_worker_reap(struct procs_worker *worker, int *how, int flags)
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

void
pack_procs_worker_end(struct procs_worker *worker, uint64_t deadline_ns)
{
    const struct timespec nap = { .tv_nsec = 2000000 };
    int how;
    while (worker->pid > 0 && !pack_procs_worker_reap(worker, &how, WNOHANG)) {
        if (pack_clock_ns() >= deadline_ns) {
            kill(worker->pid, SIGKILL);
            pack_procs_worker_reap(worker, &how, 0);
            return;
        }
        nanosleep(&nap, NULL);
    }
}
