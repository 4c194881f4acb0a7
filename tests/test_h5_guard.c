/* A child that crashes, hangs, eats memory or fails becomes a sentence; one that comes
 * back leaves no trace. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/hdf5/h5_sources.h"
#include "tests/tap.h"

/* Of which one is out of reach: a child that a loaded machine does not run looks idle. */
static const struct pack_h5_guard_limits limits = { .cpu_ns = 400000000,
                                                    .idle_ns = UINT64_C(100000000000) },
                                         idle = { .cpu_ns = UINT64_C(100000000000),
                                                  .idle_ns = 800000000 };
enum { TRIES = 8 }; /* of what a child that is not run for long enough spoils */
static int n_run; /* in this process */

static enum pack_status
misbehave(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const char *how = context;
    volatile bool forever = true;
    n_run++;
    pack_h5_guard_note(guard, "reading '/%s'", how);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "odd") == 0)
        raise(SIGUSR1);
    if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    if (strcmp(how, "int") == 0)
        raise(SIGINT);
    if (strcmp(how, "exit") == 0)
        _exit(5);
    if (strcmp(how, "sleep") == 0)
        pause();
    for (int i = 0; strcmp(how, "trickle") == 0 && i < 150; i++)
        usleep(10000); /* as if each waited for an answer */
    while (forever && strcmp(how, "loop") == 0)
        continue;
    if (strcmp(how, "fail") == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'x.h5' needs something");
    if (strcmp(how, "eat") == 0) {
        char *volatile much = malloc((size_t)100 << 20); /* not to be left out */
        if (much)
            memset(much, 1, (size_t)100 << 20);
        bool refused = !much;
        free(much);
        if (refused)
            return pack_fail_memory(err, "eating");
    }
    return PACK_OK;
}

static enum pack_status
try(const char *how, const struct pack_h5_guard_limits *l, struct pack_error *err)
{
    *err = (struct pack_error){ 0 };
    return pack_h5_guard_try("x.h5", l, misbehave, (void *)how, err);
}

static bool
has_sanitizers(void)
{
    const char *list = getenv("SANITIZERS");
    return list && *list && strcmp(list, "no") != 0;
}

static void
says(const char *how, enum pack_status want, const char *sentence)
{
    struct pack_error err;
    enum pack_status status = try(how, &limits, &err);
    ok(status == want, "a child of kind '%s' has the status that it should have", how);
    is_text(err.text, sentence, "and the sentence");
}

static void
test_sentences(void)
{
    struct pack_error err;
    ok(try("good", &limits, &err) == PACK_OK && n_run == 0,
       "what comes back is fine, and ran elsewhere");
    if (has_sanitizers())
        skip("a sanitizer turns SIGSEGV into an exit of its own");
    else
        says("segv", PACK_ERR_FORMAT,
         "cannot open 'x.h5': HDF5 itself crashes on this file (SIGSEGV while reading "
         "'/segv')");
    says("abort", PACK_ERR_FORMAT,
         "cannot open 'x.h5': HDF5 itself crashes on this file (SIGABRT while reading "
         "'/abort')");
    ok(try("odd", &limits, &err) == PACK_ERR_FORMAT && strstr(err.text, "(signal "),
       "a signal without a name is a number");
    says("exit", PACK_ERR_FORMAT,
         "cannot open 'x.h5': HDF5 itself ends the program on this file (status 5 while "
         "reading '/exit')");
    says("loop", PACK_ERR_FORMAT,
         "cannot open 'x.h5': HDF5 does not finish within 0.4 s of processor time (while "
         "reading '/loop')");
    says("term", PACK_ERR_INTERRUPTED, "interrupted");
    says("int", PACK_ERR_INTERRUPTED, "interrupted");
    signal(SIGINT, SIG_IGN);
    ok(try("int", &limits, &err) == PACK_OK, "a signal that is ignored stays so");
    signal(SIGINT, SIG_DFL);
    says("fail", PACK_ERR_UNSUPPORTED, "'x.h5' needs something");
    ok(try("fail", &limits, &err) && pack_h5_guard_try("x.h5", &limits, misbehave,
                                                       (void *)"fail", NULL),
       "nobody needs to want the sentence");
    ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child is left");
}

/* A thread of some sanitizers' own moves the clock of a child that does nothing. */
static void
test_idle(void)
{
    struct pack_error err;
    enum pack_status status = PACK_OK;
    const char *sanitizers = getenv("SANITIZERS");
    if (sanitizers && strstr(sanitizers, "thread")) {
        skip("the thread sanitizer never rests");
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        status = try("sleep", &idle, &err);
        if (strstr(err.text, "/sleep")) /* it came so far */
            break;
    }
    ok(status == PACK_ERR_IO, "a child that does nothing is given up");
    is_text(err.text,
            "cannot open 'x.h5': nothing happened for 0.8 s (while reading '/sleep')",
            "with the sentence");
    uint64_t took_ns = 0;
    for (int i = 0; i < TRIES; i++) {
        uint64_t start = pack_clock_ns();
        status = try("trickle", &idle, &err);
        took_ns = pack_clock_ns() - start;
        if (status == PACK_OK)
            break;
    }
    ok(status == PACK_OK && took_ns > idle.idle_ns,
       "a server that answers now and then may take longer than that: %s", err.text);
}

static void
test_memory(void)
{
    struct pack_h5_guard_limits small = { .memory_bytes = 32 << 20 };
    struct pack_error err;
    if (has_sanitizers()) {
        skip("a sanitizer takes more address space than any limit allows");
        return;
    }
    ok(try("eat", &small, &err) == PACK_ERR_MEMORY, "memory is bounded");
    small.memory_bytes = 512 << 20;
    ok(try("eat", &small, &err) == PACK_OK, "and enough of it is enough");
}

/* Reads the sources of a virtual dataset and takes 1.2 s of processor time for it. */
static enum pack_status
read_slowly(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const char *path = context;
    struct pack_h5_sources sources;
    struct pack_facts facts;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    enum pack_status status = pack_facts_read(file, "whole", &facts, err);
    if (status == PACK_OK)
        status = pack_h5_sources_read(file, path, &facts, guard, &sources, err);
    if (status == PACK_OK)
        pack_h5_sources_done(&sources);
    while (clock() < (clock_t)(1.2 * CLOCKS_PER_SEC))
        continue;
    return status;
}

/* A file of a few kilobytes, whose sources are large. */
static void
test_sources(void)
{
    const char *path = "guard_whole.h5", *part = "guard_part.h5";
    const hsize_t n = 40;
    struct pack_error err = { 0 };
    hid_t space = H5Screate_simple(1, &n, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    hid_t file = H5Fcreate(part, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, "part", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Fclose(file);
    int fd = open(part, O_WRONLY | O_CLOEXEC);
    bool is_large = fd >= 0 && posix_fallocate(fd, 0, 64 << 20) == 0;
    H5Pset_virtual(list, space, part, "part", space);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, "whole", H5T_STD_U8LE, space, H5P_DEFAULT, list,
                        H5P_DEFAULT));
    H5Fclose(file);
    H5Pclose(list);
    H5Sclose(space);
    enum pack_status status =
        pack_h5_guard_try(path, &limits, read_slowly, (void *)path, &err);
    ok(is_large && status == PACK_OK,
       "a source of 64 MiB allows the child a second more than 0.4 s: %s", err.text);
    is_large = fd >= 0 && ftruncate(fd, 1 << 20) == 0;
    status = pack_h5_guard_try(path, &limits, read_slowly, (void *)path, &err);
    ok(is_large && status == PACK_ERR_FORMAT &&
           strstr(err.text, "HDF5 does not finish within 0.42"),
       "one of 1 MiB does not: %s", err.text);
    if (fd >= 0)
        close(fd);
    unlink(path);
    unlink(part);
}

static void
test_files(void)
{
    const char *path = "guard_good.h5";
    hsize_t extent[2] = { 20, 8 }, chunk[2] = { 4, 8 };
    struct pack_error err = { 0 };
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, chunk);
    H5Dclose(H5Dcreate2(file, "a", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "b", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
    uint64_t start = pack_clock_ns();
    bool good = pack_h5_guard_file(path, &err) == PACK_OK;
    ok(good, "a good file is good%s%s", good ? "" : ": ", err.text);
    note("it takes %.1f ms", (double)(pack_clock_ns() - start) / 1e6);
    ok(pack_h5_guard_file("guard_none.h5", &err) == PACK_ERR_NOT_FOUND &&
           strstr(err.text, "cannot open 'guard_none.h5': No such file"),
       "a file that is not there is no crash");
    unlink(path);
}

/* ---------------------------------------------------------------- what it cannot do */

enum { TRIED_MAX = 32 };

struct tried {
    bool is_confined;
    int n;
    struct {
        char what[24];
        int errnum; /* 0: it could */
    } call[TRIED_MAX];
};

static void
note_call(struct tried *t, const char *what, bool worked)
{
    int errnum = worked ? 0 : errno;
    snprintf(t->call[t->n].what, sizeof t->call[0].what, "%s", what);
    t->call[t->n++].errnum = errnum;
}

static void *
do_nothing(void *context)
{
    return context;
}

static void
try_forbidden(struct tried *t)
{
    char *const argv[] = { "true", NULL };
    pid_t child;
    int fd;
    note_call(t, "execve", execve("/bin/true", argv, NULL) == 0);
    if ((child = fork()) == 0)
        _exit(0);
    note_call(t, "fork", child > 0);
    if (child > 0)
        waitpid(child, NULL, 0);
    note_call(t, "socket", (fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    note_call(t, "unix socket", (fd = socket(AF_UNIX, SOCK_DGRAM, 0)) >= 0);
    note_call(t, "kill", kill(getppid(), 0) == 0);
    note_call(t, "tgkill", syscall(SYS_tgkill, getppid(), getppid(), 0) == 0);
    note_call(t, "ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0);
    note_call(t, "write", (fd = open("test_h5_guard.made", O_WRONLY)) >= 0);
    note_call(t, "read and write", (fd = open("test_h5_guard.made", O_RDWR)) >= 0);
    note_call(t, "create", (fd = open("test_h5_guard.new", O_RDONLY | O_CREAT, 0600)) >= 0);
    note_call(t, "truncate", truncate("test_h5_guard.made", 0) == 0);
    note_call(t, "unlink", unlink("test_h5_guard.made") == 0);
    note_call(t, "rename", rename("test_h5_guard.made", "test_h5_guard.new") == 0);
    note_call(t, "link", link("test_h5_guard.made", "test_h5_guard.new") == 0);
    note_call(t, "symlink", symlink("test_h5_guard.made", "test_h5_guard.new") == 0);
    note_call(t, "mkdir", mkdir("test_h5_guard.new", 0700) == 0);
    note_call(t, "chmod", chmod("test_h5_guard.made", 0) == 0);
    note_call(t, "setuid", setuid(getuid()) == 0);
    note_call(t, "openat2", syscall(SYS_openat2, AT_FDCWD, "test_h5_guard.made", NULL, 0) >= 0);
    (void)fd;
}

static void
try_allowed(struct tried *t)
{
    pthread_t thread;
    int fd = open("test_h5_guard.made", O_RDONLY | O_CLOEXEC);
    char byte;
    note_call(t, "read", fd >= 0 && read(fd, &byte, 1) == 1);
    note_call(t, "lock", flock(fd, LOCK_SH) == 0);
    errno = pthread_create(&thread, NULL, do_nothing, NULL);
    note_call(t, "thread", errno == 0 && pthread_join(thread, NULL) == 0);
    void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    note_call(t, "map", map != MAP_FAILED);
    note_call(t, "memory", (fd = memfd_create("x", MFD_CLOEXEC)) >= 0 && write(fd, "x", 1) == 1);
}

static enum pack_status
try_all(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct tried t = { .is_confined = prctl(PR_GET_SECCOMP) == 2 };
    (void)context;
    if (t.is_confined) {
        try_forbidden(&t);
        try_allowed(&t);
    }
    return pack_h5_guard_send(guard, &t, sizeof t, err);
}

static void
test_confined(void)
{
    struct pack_buf sent = { 0 };
    struct tried t = { .n = 0 };
    struct pack_error err = { .text = "" };
    int fd = open("test_h5_guard.made", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ok(write(fd, "x", 1) == 1 && close(fd) == 0 &&
           pack_h5_guard_gather("x.h5", NULL, try_all, NULL, &sent, &err) == PACK_OK &&
           sent.size == sizeof t,
       "what a child may do is tried %s", err.text);
    if (sent.size == sizeof t)
        memcpy(&t, sent.data, sizeof t);
    pack_buf_done(&sent);
    if (!t.is_confined)
        note("children of this build, or on this system, are not confined");
    for (int i = 0; i < t.n && i < TRIED_MAX; i++) {
        bool is_allowed = i >= t.n - 5;
        bool is_newer = strcmp(t.call[i].what, "openat2") == 0;
        ok(t.call[i].errnum == (is_allowed ? 0 : is_newer ? ENOSYS : EPERM), "%s: %s",
           t.call[i].what, strerror(t.call[i].errnum));
    }
    ok(access("test_h5_guard.new", F_OK) != 0 && unlink("test_h5_guard.made") == 0,
       "nothing was made or taken away");
}

int
main(void)
{
    signal(SIGINT, SIG_DFL); /* which a shell ignores in what it starts with & */
    alarm(300); /* a child that is never given up is a failure too */
    pack_h5_guard_note(NULL, "nothing");
    test_sentences();
    test_idle();
    test_memory();
    test_sources();
    test_files();
    test_confined();
    return done();
}
