/*
 *     parent ──fork──▶ child: limits, fn ──▶ what came out, in memory that both share
 *        ◀── end of a pipe: the child is gone, by itself or by a signal
 *
 * The child keeps its end of the pipe open as long as it lives, so that waiting with a
 * time limit needs no signal handler, which a library has no business to install. Between
 * two looks at the pipe the parent looks at the child's processor clock: what it shows is
 * limited, and when it stands still for long nothing goes on any more. A server that is
 * slow to answer moves it with each answer, and may take as long as it likes. What
 * fn made is lost with the child, so the caller does all of it again: opening costs
 * milliseconds, and nothing needs to be carried over.
 */
#include "libpack/hdf5/h5_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libpack/dataset.h>
#include "libpack/base/clock.h"
#include "libpack/base/fd.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_confine.h"

enum { DOING_MAX = 384, SENT_MAX = 256 << 20 };

/* In memory that parent and child share. */
struct pack_h5_guard {
    bool is_done; /* status and error are fn's */
    enum pack_status status;
    struct pack_error error;
    _Atomic uint64_t cpu_ns; /* limit of processor time, which the child may find too low */
    _Atomic uint64_t done, done_bytes;
    char doing[DOING_MAX];
    int sent_fd; /* memory that the child writes and the parent reads; -1: none */
    uint64_t sent_bytes;
};

static const uint64_t cpu_ns_default = UINT64_C(10000000000);
static const uint64_t idle_ns_default = UINT64_C(30000000000);
static const uint64_t memory_bytes_default = UINT64_C(4) << 30;
static const uint64_t source_ns = UINT64_C(10000000);
static const uint64_t bytes_per_ms = (UINT64_C(64) << 20) / 1000;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true; /* takes terabytes of address space */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif
#else
static const bool is_sanitized = false;
#endif

void
pack_h5_guard_note(struct pack_h5_guard *guard, const char *format, ...)
{
    va_list args;
    if (!guard)
        return;
    va_start(args, format);
    vsnprintf(guard->doing, sizeof guard->doing, format, args);
    va_end(args);
}

void
pack_h5_guard_tell(struct pack_h5_guard *guard, uint64_t done, uint64_t bytes)
{
    if (!guard)
        return;
    guard->done = done;
    guard->done_bytes = bytes;
}

enum pack_status
pack_h5_guard_send(struct pack_h5_guard *guard, const void *bytes, size_t size,
                   struct pack_error *err)
{
    if (guard->sent_fd < 0 || size > SENT_MAX - guard->sent_bytes)
        return pack_fail(err, PACK_ERR_LIMIT, "there is more to tell than %d MiB",
                         SENT_MAX >> 20);
    if (!pack_fd_write_at(guard->sent_fd, bytes, size, guard->sent_bytes))
        return pack_fail_memory(err, "what is known of a file");
    guard->sent_bytes += size;
    return PACK_OK;
}

void
pack_h5_guard_mend_bool(bool *value)
{
    unsigned char byte;
    memcpy(&byte, value, sizeof byte);
    *value = byte != 0;
}

/* A large file may honestly take longer; holes do not make it large. */
static uint64_t
reading_ns(const char *path)
{
    struct stat status;
    uint64_t bytes = stat(path, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
    return bytes / bytes_per_ms * 1000000;
}

/* In whole seconds, a little later than the parent. */
static rlim_t
system_limit(uint64_t cpu_ns)
{
    return cpu_ns / 1000000000 + 1;
}

void
pack_h5_guard_allow(struct pack_h5_guard *guard, const char *path)
{
    struct rlimit now;
    if (!guard)
        return;
    uint64_t before = guard->cpu_ns, after = before + source_ns + reading_ns(path);
    guard->cpu_ns = after;
    if (getrlimit(RLIMIT_CPU, &now) != 0 || now.rlim_cur != system_limit(before))
        return; /* it is the user's own */
    now.rlim_cur = system_limit(after) < now.rlim_max ? system_limit(after) : now.rlim_max;
    setrlimit(RLIMIT_CPU, &now);
}

/* ------------------------------------------------------------------- the child */

/* Address space in use, from the system; 0 where it does not tell. */
static uint64_t
address_space(void)
{
    char text[64] = "";
    unsigned long long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    long page = sysconf(_SC_PAGESIZE);
    return n > 0 && page > 0 && sscanf(text, "%llu", &pages) == 1
               ? (uint64_t)pages * (uint64_t)page
               : 0;
}

static void
limit(int resource, uint64_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 &&
        (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > most))
        setrlimit(resource,
                  &(struct rlimit){ .rlim_cur = most, .rlim_max = now.rlim_max });
}

/* Ctrl-C reaches the whole group, and ends the child; what is ignored, as under nohup,
 * stays ignored. */
static void
die_of(int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        signal(number, SIG_DFL);
}

static _Noreturn void
become_child(struct pack_h5_guard *guard, const struct pack_h5_guard_limits *limits,
             pid_t parent, pack_h5_guard_fn fn, void *context)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0); /* the parent was gone before prctl could know */
    die_of(SIGINT);
    die_of(SIGHUP);
    die_of(SIGTERM);
    signal(SIGXFSZ, SIG_IGN); /* what is sent counts as a file: a failure, and no crash */
    uint64_t used = address_space();
    if (used > 0 && !is_sanitized)
        limit(RLIMIT_AS, used + limits->memory_bytes);
    limit(RLIMIT_CPU, system_limit(limits->cpu_ns));
    limit(RLIMIT_CORE, 0);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO); /* the C library's last words on a damaged heap */
    if (!is_sanitized) /* whose tools start programs of their own */
        (void)pack_h5_confine();
    guard->status = fn(context, guard, &guard->error);
    guard->is_done = true;
    _exit(0);
}

/* ------------------------------------------------------------------ the parent */

/* Processor time that the child has used; 0 where the system does not tell. */
static uint64_t
used_ns(pid_t child)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* How waiting came to its end. */
enum end { END_GONE, END_BUSY, END_IDLE, END_STOPPED };

/* Once there is something to tell. */
static void
tell_watch(const struct pack_h5_guard *guard, const struct pack_h5_guard_limits *limits)
{
    struct pack_progress now = limits->now;
    now.done = guard->done;
    now.bytes = guard->done_bytes;
    if (now.bytes > 0)
        pack_watch_tell(limits->watch, &now);
}

/* Waits until the pipe ends, which says that the child is gone, or a limit is passed. */
static enum end
wait_for_end(int fd, pid_t child, const struct pack_h5_guard *guard,
             const struct pack_h5_guard_limits *limits)
{
    enum { LOOK_MS = 20 };
    struct pollfd pipe_end = { .fd = fd, .events = POLLIN };
    uint64_t used = 0, moved = pack_clock_ns();
    while (poll(&pipe_end, 1, LOOK_MS) <= 0) {
        uint64_t now = pack_clock_ns(), then = used_ns(child);
        if (then > guard->cpu_ns)
            return END_BUSY;
        if (then != used)
            moved = now;
        if (now - moved > limits->idle_ns)
            return END_IDLE;
        if (pack_watch_stops(limits->watch))
            return END_STOPPED;
        tell_watch(guard, limits);
        used = then;
    }
    return END_GONE;
}

static const char *
signal_name(int number, char *text, size_t size)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        { SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },   { SIGABRT, "SIGABRT" },
        { SIGFPE, "SIGFPE" },   { SIGILL, "SIGILL" },   { SIGTRAP, "SIGTRAP" },
        { SIGSYS, "SIGSYS" },   { SIGKILL, "SIGKILL" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(text, size, "signal %d", number);
    return text;
}

static enum pack_status
too_slow(const char *path, const struct pack_h5_guard *guard, struct pack_error *err)
{
    return pack_fail(err, PACK_ERR_FORMAT,
                     "cannot open '%s': HDF5 does not finish within %.3g s of processor "
                     "time (while %s)",
                     path, (double)guard->cpu_ns / 1e9, guard->doing);
}

static enum pack_status
stuck(const char *path, const struct pack_h5_guard *guard, uint64_t idle_ns,
      struct pack_error *err)
{
    return pack_fail(err, PACK_ERR_IO,
                     "cannot open '%s': nothing happened for %.3g s (while %s)", path,
                     (double)idle_ns / 1e9, guard->doing);
}

/* What became of the child that is gone. */
static enum pack_status
judge(const char *path, const struct pack_h5_guard *guard, int how,
      struct pack_error *err)
{
    char text[32];
    if (guard->is_done) {
        if (guard->status != PACK_OK && err)
            *err = guard->error;
        return guard->status;
    }
    if (WIFSIGNALED(how)) {
        int number = WTERMSIG(how);
        if (number == SIGINT || number == SIGTERM || number == SIGHUP)
            return pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted");
        if (number == SIGXCPU)
            return too_slow(path, guard, err);
        return pack_fail(err, PACK_ERR_FORMAT,
                         "cannot open '%s': HDF5 itself crashes on this file (%s while "
                         "%s)",
                         path, signal_name(number, text, sizeof text), guard->doing);
    }
    return pack_fail(
        err, PACK_ERR_FORMAT,
        "cannot open '%s': HDF5 itself ends the program on this file (status "
        "%d while %s)",
        path, WEXITSTATUS(how), guard->doing);
}

static enum pack_status
try_in_child(const char *path, struct pack_h5_guard *guard,
             const struct pack_h5_guard_limits *limits, pack_h5_guard_fn fn,
             void *context, struct pack_error *err)
{
    int ends[2], how = 0;
    pid_t parent = getpid(), child = -1, got;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return pack_fail_errno(err, errno, "cannot watch over opening '%s'", path);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        become_child(guard, limits, parent, fn, context);
    }
    int errnum = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return pack_fail_errno(err, errnum, "cannot start a process to open '%s' in",
                               path);
    }
    enum end end = wait_for_end(ends[0], child, guard, limits);
    close(ends[0]);
    if (end != END_GONE)
        kill(child, SIGKILL);
    while ((got = waitpid(child, &how, 0)) < 0 && errno == EINTR)
        continue;
    /* what a child wrote that the file had taken over may have no end */
    guard->doing[sizeof guard->doing - 1] = '\0';
    guard->error.text[sizeof guard->error.text - 1] = '\0';
    return end == END_STOPPED ? pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted")
           : end == END_BUSY  ? too_slow(path, guard, err)
           : end == END_IDLE  ? stuck(path, guard, limits->idle_ns, err)
                              : judge(path, guard, got == child ? how : 0, err);
}

/* What was sent, as far as it came. */
static enum pack_status
receive(const struct pack_h5_guard *guard, struct pack_buf *sent, struct pack_error *err)
{
    size_t size = guard->sent_bytes < SENT_MAX ? guard->sent_bytes : SENT_MAX, got = 0;
    enum pack_status status = pack_buf_reserve(sent, size + 1, err);
    if (status == PACK_OK && pack_fd_read_at(guard->sent_fd, sent->data, size, 0, &got))
        sent->size = got;
    return status;
}

static enum pack_status
run(const char *path, const struct pack_h5_guard_limits *limits, pack_h5_guard_fn fn,
    void *context, struct pack_buf *sent, struct pack_error *err)
{
    struct pack_h5_guard_limits l = { 0 };
    if (limits)
        l = *limits;
    l.cpu_ns = l.cpu_ns ? l.cpu_ns : cpu_ns_default + reading_ns(path);
    l.idle_ns = l.idle_ns ? l.idle_ns : idle_ns_default;
    l.memory_bytes = l.memory_bytes ? l.memory_bytes : memory_bytes_default;
    struct pack_h5_guard *guard = mmap(NULL, sizeof *guard, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (guard == MAP_FAILED)
        return pack_fail_memory(err, "watching over a file");
    guard->cpu_ns = l.cpu_ns;
    guard->sent_fd = sent ? memfd_create("h5pack", MFD_CLOEXEC) : -1;
    pack_h5_guard_note(guard, "opening it");
    enum pack_status status = sent && guard->sent_fd < 0
                                  ? pack_fail_memory(err, "what is known of a file")
                                  : try_in_child(path, guard, &l, fn, context, err);
    if (guard->sent_fd >= 0) {
        struct pack_error why;
        enum pack_status received = receive(guard, sent, &why);
        if (status == PACK_OK && received != PACK_OK)
            status = pack_fail(err, received, "%s", why.text);
        close(guard->sent_fd);
    }
    munmap(guard, sizeof *guard);
    return status;
}

enum pack_status
pack_h5_guard_try(const char *path, const struct pack_h5_guard_limits *limits,
                  pack_h5_guard_fn fn, void *context, struct pack_error *err)
{
    return run(path, limits, fn, context, NULL, err);
}

enum pack_status
pack_h5_guard_gather(const char *path, const struct pack_h5_guard_limits *limits,
                     pack_h5_guard_fn fn, void *context, struct pack_buf *sent,
                     struct pack_error *err)
{
    return run(path, limits, fn, context, sent, err);
}

/* ------------------------------------------------------------------ whole files */

struct walk {
    const char *path;
    int64_t file;
    struct pack_h5_guard *guard;
};

/* What is wrong with one dataset is for those to say who want to read it. */
static enum pack_status
look_at(void *context, const char *dataset, struct pack_error *err)
{
    struct walk *walk = context;
    struct pack_facts facts;
    struct pack_chunkindex index;
    (void)err;
    pack_h5_guard_note(walk->guard, "reading '/%s'", dataset);
    if (pack_facts_read(walk->file, dataset, &facts, NULL) != PACK_OK ||
        facts.layout != PACK_LAYOUT_CHUNKED)
        return PACK_OK;
    pack_h5_guard_note(walk->guard, "listing the chunks of '/%s'", dataset);
    if (pack_h5_chunks_list(walk->path, dataset, &facts, 0, NULL, &index, NULL) == PACK_OK)
        pack_chunkindex_done(&index);
    return PACK_OK;
}

enum pack_status
pack_h5_guard_look(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct walk walk = { .path = context, .file = -1, .guard = guard };
    enum pack_status status = pack_h5_open(walk.path, NULL, &walk.file, err);
    if (status != PACK_OK)
        return status;
    pack_h5_guard_note(guard, "listing its datasets");
    pack_h5_datasets(walk.file, look_at, &walk, NULL);
    pack_h5_guard_note(guard, "closing it");
    pack_h5_close(walk.file);
    return PACK_OK;
}

enum pack_status
pack_h5_guard_file(const char *path, struct pack_error *err)
{
    return pack_h5_guard_try(path, NULL, pack_h5_guard_look, (void *)path, err);
}
