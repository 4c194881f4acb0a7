/* Reader processes: order, back-pressure, errors, death, hanging, and nothing left
 * behind. */
#include "libpack/bench/procs.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

enum { SLOT_BYTES = 5000, OPENED = 77 };

struct note {
    uint64_t round, item;
    pid_t pid;
};

/* What the worker of a test is to do, besides filling its slots. */
struct plan {
    uint64_t fail_item, die_item, hang_item, fail_open, work_item; /* 0: never */
    bool open_slowly;
    int die_of; /* the signal; 0: SIGKILL */
};

struct filler {
    const struct plan *plan;
    unsigned worker;
    uint64_t *activity;
};

static enum pack_status
filler_open(void *context, unsigned worker, void *activity, void **state,
            struct pack_error *err)
{
    const struct plan *plan = context;
    struct filler *filler = malloc(sizeof *filler);
    if (!filler)
        return pack_fail_memory(err, "filler");
    if (plan->fail_open && worker + 1 == plan->fail_open) {
        free(filler);
        return pack_fail(err, PACK_ERR_NOT_FOUND, "worker %u finds nothing", worker);
    }
    *filler = (struct filler){ plan, worker, activity };
    *state = filler;
    if (plan->open_slowly) {
        nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
        *filler->activity = OPENED;
    }
    return PACK_OK;
}

static uint64_t
time_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

/* For the system, 50 ms of it. */
static void
make_work(void)
{
    struct rusage begin, now;
    getrusage(RUSAGE_SELF, &begin);
    do {
        munmap(mmap(NULL, 1 << 20, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
                    0),
               1 << 20);
        getrusage(RUSAGE_SELF, &now);
    } while (time_ns(now.ru_stime) < time_ns(begin.ru_stime) + 50000000);
}

static enum pack_status
filler_fill(void *state, uint64_t round, uint64_t item, void *data, void *note,
            struct pack_error *err)
{
    struct filler *filler = state;
    *filler->activity = item;
    if (filler->plan->fail_item && item == filler->plan->fail_item)
        return pack_fail_param(err, PACK_ERR_FORMAT, "items", "item %d is damaged",
                               (int)item);
    if (filler->plan->die_item && item == filler->plan->die_item)
        raise(filler->plan->die_of ? filler->plan->die_of : SIGKILL);
    if (filler->plan->work_item && item == filler->plan->work_item)
        make_work();
    if (filler->plan->hang_item && item == filler->plan->hang_item)
        for (;;)
            pause();
    memset(data, (int)(round * 16 + item), SLOT_BYTES);
    *(struct note *)note = (struct note){ round, item, getpid() };
    return PACK_OK;
}

static void
filler_describe(void *context, const void *activity, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "making item %d", (int)*(const uint64_t *)activity);
}

static const struct pack_procs_ops filler_ops = {
    .open = filler_open,
    .fill = filler_fill,
    .close = free,
    .describe = filler_describe,
};

static struct pack_procs_params
filler_params(struct plan *plan, unsigned n_workers, unsigned prefetch)
{
    return (struct pack_procs_params){
        .ops = &filler_ops,
        .context = plan,
        .n_workers = n_workers,
        .prefetch = prefetch,
        .slot_bytes = SLOT_BYTES,
        .note_bytes = sizeof(struct note),
        .activity_bytes = sizeof(uint64_t),
    };
}

static bool
no_children(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static int
n_open_files(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static bool
item_is_right(const struct pack_procs_item *item, uint64_t round, uint64_t number,
              unsigned n_workers)
{
    const struct note *note = item->note;
    const unsigned char *data = item->data;
    bool same = true;
    for (size_t i = 0; i < SLOT_BYTES; i++)
        same = same && data[i] == (unsigned char)(round * 16 + number);
    return same && item->round == round && item->number == number &&
           note->round == round && note->item == number &&
           item->worker == (n_workers ? number % n_workers : 0) &&
           (note->pid == getpid()) == (n_workers == 0);
}

static bool
is_mapped(const void *at)
{
    unsigned char present;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return mincore((void *)((uintptr_t)at / page * page), 1, &present) == 0;
}

/* Rounds of several lengths, holding up to `hold` items before releasing the oldest. */
static bool
rounds(unsigned n_workers, unsigned prefetch, bool fresh)
{
    static const uint64_t lengths[] = { 7, 0, 1, 12 };
    struct plan plan = { 0 };
    struct pack_procs_params params = filler_params(&plan, n_workers, prefetch);
    params.fresh = fresh;
    struct pack_procs *procs;
    struct pack_error err;
    int n_files = n_open_files();
    if (pack_procs_start(&params, &procs, &err) != PACK_OK)
        return false;
    bool right = true;
    for (uint64_t round = 0; round < 4 && right; round++) {
        pack_procs_begin(procs, round, lengths[round]);
        for (uint64_t i = 0; i < lengths[round] && right; i++) {
            struct pack_procs_item item;
            right = pack_procs_next(procs, &item, &err) == PACK_OK &&
                    item_is_right(&item, round, i, n_workers);
            if (right) {
                const void *data = item.data;
                pack_procs_release(procs, &item);
                right = is_mapped(data) == !fresh;
            }
        }
    }
    struct pack_procs_usage usage[8];
    pack_procs_stop(procs, usage);
    return right && no_children() && n_open_files() == n_files;
}

static void
test_order(void)
{
    for (unsigned n_workers = 0; n_workers <= 5; n_workers++)
        for (unsigned prefetch = 1; prefetch <= 3; prefetch += 2)
            ok(rounds(n_workers, prefetch, false) && rounds(n_workers, prefetch, true),
               "%u workers with %u slots deliver every item in order, in memory that "
               "stays, and in fresh memory that goes",
               n_workers, prefetch);
}

/* Batches wait in both directions, more than a socket holds; `held` are released together. */
static bool
far_ahead(bool fresh, unsigned held)
{
    enum { AHEAD = 1024, ITEMS = 2400 };
    static struct pack_procs_item items[AHEAD];
    struct plan plan = { 0 };
    struct pack_procs_params params = filler_params(&plan, 1, AHEAD);
    struct pack_procs *procs;
    struct pack_error err;
    bool right = true;
    params.fresh = fresh;
    if (pack_procs_start(&params, &procs, &err) != PACK_OK)
        return false;
    for (uint64_t round = 0; round < 2 && right; round++) {
        pack_procs_begin(procs, round, ITEMS);
        for (unsigned i = 0; i < ITEMS && right; i += held) {
            for (unsigned k = 0; k < held && right; k++)
                right = pack_procs_next(procs, &items[k], &err) == PACK_OK &&
                        item_is_right(&items[k], round, i + k, 1);
            for (unsigned k = 0; k < held && right; k++)
                pack_procs_release(procs, &items[k]);
        }
    }
    pack_procs_stop(procs, NULL);
    return right;
}

static void
test_far_ahead(void)
{
    alarm(60); /* two that wait for each other are never given up */
    ok(far_ahead(false, 1) && far_ahead(true, 1),
       "a worker may run ahead further than a socket holds messages");
    ok(far_ahead(false, 600), "and its items be released many at a time");
    alarm(300);
}

/* A batch in fresh memory cannot be had without a descriptor for it. */
static void
test_no_descriptors(void)
{
    struct plan plan = { 0 };
    struct pack_procs_params params = filler_params(&plan, 1, 2);
    struct pack_procs *procs = NULL;
    struct pack_procs_item item;
    struct pack_error err = { 0 };
    struct rlimit usual, none;
    params.fresh = true;
    if (getrlimit(RLIMIT_NOFILE, &usual) != 0 ||
        pack_procs_start(&params, &procs, &err) != PACK_OK) {
        ok(false, "a worker starts %s", err.text);
        return;
    }
    none = usual;
    none.rlim_cur = 1; /* poll(2) wants one */
    pack_procs_begin(procs, 0, 3);
    setrlimit(RLIMIT_NOFILE, &none);
    enum pack_status status = pack_procs_next(procs, &item, &err);
    setrlimit(RLIMIT_NOFILE, &usual);
    ok(status == PACK_ERR_IO && strstr(err.text, "cannot share a batch"),
       "a process without descriptors is told so: %s", err.text);
    pack_procs_stop(procs, NULL);
}

enum { NOBODY = 77 }; /* root that may not be anybody else */

/* As a plain user: descriptors under way count, and are no more than may be open. */
static int
too_many_under_way(void)
{
    enum { FILES = 64, ITEMS = 300 };
    const struct rlimit few = { FILES, FILES };
    struct plan plan = { 0 };
    struct pack_procs_params params = filler_params(&plan, 1, 200);
    struct pack_procs *procs;
    struct pack_procs_item item;
    struct pack_error err = { 0 };
    siginfo_t ended;
    params.fresh = true;
    if (geteuid() == 0 && setuid(65534) != 0)
        return NOBODY;
    if (setrlimit(RLIMIT_NOFILE, &few) != 0 ||
        pack_procs_start(&params, &procs, &err) != PACK_OK)
        return 2;
    pack_procs_begin(procs, 0, ITEMS);
    waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT); /* the worker, which nobody has asked yet */
    enum pack_status status = PACK_OK;
    for (int i = 0; i < ITEMS && status == PACK_OK; i++) {
        status = pack_procs_next(procs, &item, &err);
        if (status == PACK_OK)
            pack_procs_release(procs, &item);
    }
    pack_procs_stop(procs, NULL);
    note("%s", err.text);
    fflush(stdout);
    return !(status == PACK_ERR_IO && strstr(err.text, "cannot hand over a batch") &&
             strstr(err.text, strerror(ETOOMANYREFS)));
}

static void
test_too_many_under_way(void)
{
    int how = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(too_many_under_way());
    }
    waitpid(pid, &how, 0);
    if (WIFEXITED(how) && WEXITSTATUS(how) == NOBODY)
        skip("root may not become a plain user here");
    else
        ok(WIFEXITED(how) && WEXITSTATUS(how) == 0,
           "more batches under way than descriptors may be is the reason given");
}

/* Runs until a failure, which it returns. */
static enum pack_status
run_to_error(struct pack_procs_params *params, struct pack_error *err)
{
    struct pack_procs *procs;
    struct pack_procs_item item;
    enum pack_status status = pack_procs_start(params, &procs, err);
    if (status != PACK_OK)
        return status;
    pack_procs_begin(procs, 0, 20);
    for (int i = 0; i < 20 && status == PACK_OK; i++) {
        status = pack_procs_next(procs, &item, err);
        if (status == PACK_OK)
            pack_procs_release(procs, &item);
    }
    pack_procs_stop(procs, NULL);
    return status;
}

static void
test_errors(void)
{
    struct plan plan = { .fail_item = 5 };
    struct pack_error err = { 0 };
    for (unsigned n_workers = 0; n_workers <= 2; n_workers += 2) {
        struct pack_procs_params params = filler_params(&plan, n_workers, 2);
        ok(run_to_error(&params, &err) == PACK_ERR_FORMAT &&
               err.status == PACK_ERR_FORMAT && strcmp(err.text, "item 5 is damaged") == 0,
           "with %u workers a worker's own error arrives", n_workers);
        is_text(err.param, "items", "with the parameter at fault");
    }
    plan = (struct plan){ .fail_open = 2 };
    struct pack_procs_params params = filler_params(&plan, 3, 2);
    ok(run_to_error(&params, &err) == PACK_ERR_NOT_FOUND, "so does one from opening");
    is_text(err.text, "worker 1 finds nothing", "with its words");

    plan = (struct plan){ .die_item = 7 };
    ok(run_to_error(&params, &err) == PACK_ERR_IO &&
           strstr(err.text, "reader process 1") &&
           strstr(err.text, "killed by signal 9") && strstr(err.text, "making item 7"),
       "a worker that is killed is named, with what it was doing");
    note("%s", err.text);

    plan = (struct plan){ .die_item = 7, .die_of = SIGUSR1 };
    ok(run_to_error(&params, &err) == PACK_ERR_IO && strstr(err.text, "killed by signal 10"),
       "whatever it was that killed it: %s", err.text);
    plan = (struct plan){ .die_item = 7, .die_of = SIGTERM };
    ok(run_to_error(&params, &err) == PACK_OK,
       "what Ctrl-C and timeout(1) send to the whole group, workers leave to the parent");

    plan = (struct plan){ .hang_item = 4 };
    params.stall_ns = 300000000;
    enum pack_status status = PACK_OK;
    for (int i = 0; i < 8 && !strstr(err.text, "making item 4"); i++)
        status = run_to_error(&params, &err); /* a loaded machine makes others look alike */
    ok(status == PACK_ERR_IO && strstr(err.text, "has not answered") &&
           strstr(err.text, "making item 4"),
       "so is one that hangs");
    note("%s", err.text);
    ok(no_children(), "and no process is left");
}

/* What opening takes is in no epoch, and what fails in it is known before any begins. */
static void
test_opening(void)
{
    struct plan plan = { .open_slowly = true };
    struct pack_procs_params params = filler_params(&plan, 2, 1);
    struct pack_procs *procs = NULL;
    struct pack_error err = { 0 };
    bool is_open = pack_procs_start(&params, &procs, &err) == PACK_OK;
    for (unsigned i = 0; i < 2 && is_open; i++)
        is_open = *(const uint64_t *)pack_procs_activity(procs, i) == OPENED;
    ok(is_open, "all workers have opened what they read when they are said to be started %s",
       err.text);
    pack_procs_stop(procs, NULL);
    plan.fail_open = 2;
    procs = NULL;
    ok(pack_procs_start(&params, &procs, &err) == PACK_ERR_NOT_FOUND && !procs,
       "and one that cannot open it is no start");
}

/* Processor time of a worker against what the system adds up of children. */
static void
test_usage(void)
{
    struct plan plan = { .work_item = 1 };
    struct pack_procs_params params = filler_params(&plan, 1, 1);
    struct pack_procs *procs;
    struct pack_procs_item item;
    struct pack_procs_usage used = { 0 };
    struct rusage before, after;
    struct pack_error err = { 0 };
    getrusage(RUSAGE_CHILDREN, &before);
    if (!ok(pack_procs_start(&params, &procs, &err) == PACK_OK, "a worker starts %s", err.text))
        return;
    pack_procs_begin(procs, 0, 2);
    for (int i = 0; i < 2 && pack_procs_next(procs, &item, &err) == PACK_OK; i++)
        pack_procs_release(procs, &item);
    pack_procs_stop(procs, &used);
    getrusage(RUSAGE_CHILDREN, &after);
    uint64_t user = time_ns(after.ru_utime) - time_ns(before.ru_utime),
             system = time_ns(after.ru_stime) - time_ns(before.ru_stime);
    ok(used.user_ns + 2000 > user && used.user_ns < user + 2000 &&
           used.system_ns + 2000 > system && used.system_ns < system + 2000 &&
           used.system_ns > 40000000,
       "a worker's time is what the system says: %llu and %llu us",
       (unsigned long long)used.user_ns / 1000, (unsigned long long)used.system_ns / 1000);
}

static bool
stop_now(void *context)
{
    (void)context;
    return true;
}

static void
test_stop(void)
{
    struct plan plan = { .hang_item = 1 };
    struct pack_error err = { 0 };
    struct pack_procs_params params = filler_params(&plan, 2, 2);
    params.watch.stop = stop_now;
    ok(run_to_error(&params, &err) == PACK_ERR_INTERRUPTED && no_children(),
       "a request to stop is heard while a worker hangs");
}

/* A process with workers is killed; they notice and go. */
static void
test_orphans(void)
{
    int fd[2];
    pid_t workers[2] = { 0, 0 };
    if (pipe(fd) != 0)
        return;
    pid_t parent = fork();
    if (parent == 0) {
        struct plan plan = { .hang_item = 2 };
        struct pack_procs_params params = filler_params(&plan, 2, 2);
        struct pack_procs *procs;
        struct pack_procs_item item;
        if (pack_procs_start(&params, &procs, NULL) != PACK_OK)
            _exit(1);
        pack_procs_begin(procs, 0, 20);
        for (int i = 0; i < 2; i++) {
            if (pack_procs_next(procs, &item, NULL) != PACK_OK)
                _exit(1);
            pid_t pid = ((const struct note *)item.note)->pid;
            if (write(fd[1], &pid, sizeof pid) != sizeof pid)
                _exit(1);
        }
        raise(SIGKILL);
    }
    bool known = read(fd[0], &workers[0], sizeof(pid_t)) == sizeof(pid_t) &&
                 read(fd[0], &workers[1], sizeof(pid_t)) == sizeof(pid_t);
    waitpid(parent, NULL, 0);
    bool gone = false;
    for (int i = 0; i < 3000 && known && !gone; i++) {
        struct timespec nap = { .tv_nsec = 20000000 };
        nanosleep(&nap, NULL);
        gone = true;
        for (int w = 0; w < 2; w++) {
            char path[64], line[256] = "";
            snprintf(path, sizeof path, "/proc/%d/stat", (int)workers[w]);
            FILE *stat = fopen(path, "r");
            /* where nobody reaps, a dead process stays as a zombie */
            if (stat && fgets(line, sizeof line, stat) && !strstr(line, ") Z"))
                gone = false;
            if (stat)
                fclose(stat);
        }
    }
    ok(known && gone, "workers die with a parent that is killed");
    close(fd[0]);
    close(fd[1]);
}

int
main(void)
{
    alarm(300); /* one that is never given up is a failure too */
    test_order();
    test_far_ahead();
    test_errors();
    test_opening();
    test_usage();
    test_no_descriptors();
    test_too_many_under_way();
    test_stop();
    test_orphans();
    return done();
}
