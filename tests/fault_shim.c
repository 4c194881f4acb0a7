/*
 * Preloaded into a program under test, lets its n-th matching call fail. Set by the
 * environment:
 *
 *     FAULT_CALL    which calls, separated by commas: open read write sync rename
 *                   truncate close memory; writeback (sync_file_range); evict (what asks the
 *                   system to forget the pages of a file)
 *     FAULT_N       which of them fails, from 1; 0 or absent: they are only counted
 *     FAULT_LAST    up to which they fail (default: FAULT_N; "all": as on a full disk)
 *     FAULT_HOW     EIO, ENOSPC, EACCES, ENOMEM, EINTR ...: fails with this errno
 *                   short: a read or write does half of what it was asked to do
 *                   lost: of a file that is forgotten, a page in its middle was never on
 *                   the disk
 *                   SIGKILL, SIGINT, SIGTERM, SIGSTOP: the signal arrives just before the call
 *     FAULT_PATH    only calls on files whose path contains this (not for memory)
 *     FAULT_REPORT  a file for the count, written at the end, and for who was hit
 *
 * Standard input, output and error are left alone. So is memory asked for anywhere below
 * libhdf5: HDF5 itself crashes there. What libjpeg, libpng, zstd, zlib and the C library
 * ask for on our behalf counts. Who asks is told from the return addresses on the stack.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/shim.h"

/* The C library's own allocator, by the names that cannot be taken over. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

struct range {
    uintptr_t from, to;
};

enum { MAX_RANGES = 16, MAX_FRAMES = 64 };
enum how { HOW_ERRNO, HOW_SHORT, HOW_SIGNAL, HOW_LOST };

static struct {
    bool ready;
    const char *calls, *path, *report;
    unsigned long first, last;
    enum how how;
    int number; /* errno or signal */
    struct range hdf5[MAX_RANGES], loader[MAX_RANGES];
    int n_hdf5, n_loader;
} fault;

static atomic_ulong n_calls;
static _Thread_local bool is_inside;

/* ------------------------------------------------------------------- set-up */

static int
note_module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    bool is_hdf5 = strstr(info->dlpi_name, "libhdf5") != NULL;
    bool is_loader = strstr(info->dlpi_name, "/ld-linux") != NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        struct range range = { info->dlpi_addr + segment->p_vaddr,
                               info->dlpi_addr + segment->p_vaddr + segment->p_memsz };
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        if (is_hdf5 && fault.n_hdf5 < MAX_RANGES)
            fault.hdf5[fault.n_hdf5++] = range;
        if (is_loader && fault.n_loader < MAX_RANGES)
            fault.loader[fault.n_loader++] = range;
    }
    return 0;
}

static void
parse_how(const char *how)
{
    static const struct {
        const char *name;
        enum how how;
        int number;
    } names[] = {
        { "EIO", HOW_ERRNO, EIO },          { "ENOSPC", HOW_ERRNO, ENOSPC },
        { "EACCES", HOW_ERRNO, EACCES },    { "ENOMEM", HOW_ERRNO, ENOMEM },
        { "EMFILE", HOW_ERRNO, EMFILE },    { "EDQUOT", HOW_ERRNO, EDQUOT },
        { "EINTR", HOW_ERRNO, EINTR },      { "ENOENT", HOW_ERRNO, ENOENT },
        { "ESTALE", HOW_ERRNO, ESTALE },    { "EHOSTDOWN", HOW_ERRNO, EHOSTDOWN },
        { "short", HOW_SHORT, 0 },          { "ECONNABORTED", HOW_ERRNO, ECONNABORTED },
        { "lost", HOW_LOST, 0 },            { "EINVAL", HOW_ERRNO, EINVAL },
        { "SIGKILL", HOW_SIGNAL, SIGKILL }, { "SIGINT", HOW_SIGNAL, SIGINT },
        { "SIGTERM", HOW_SIGNAL, SIGTERM }, { "SIGSTOP", HOW_SIGNAL, SIGSTOP },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(how, names[i].name) == 0) {
            fault.how = names[i].how;
            fault.number = names[i].number;
            return;
        }
    fprintf(stderr, "fault_shim: unknown FAULT_HOW '%s'\n", how);
    _exit(99);
}

__attribute__((constructor)) static void
set_up(void)
{
    const char *first = getenv("FAULT_N"), *last = getenv("FAULT_LAST");
    const char *how = getenv("FAULT_HOW");
    void *frame;
    fault.calls = getenv("FAULT_CALL");
    fault.path = getenv("FAULT_PATH");
    fault.report = getenv("FAULT_REPORT");
    fault.first = first ? strtoul(first, NULL, 10) : 0;
    fault.last = !last                 ? fault.first
                 : strcmp(last, "all") ? strtoul(last, NULL, 10)
                                       : ULONG_MAX;
    parse_how(how ? how : "EIO");
    if (fault.how == HOW_SIGNAL) /* a shell's background jobs ignore SIGINT */
        signal(fault.number, SIG_DFL);
    dl_iterate_phdr(note_module, NULL);
    backtrace(&frame, 1); /* loads what it needs now, not inside an allocation */
    fault.ready = fault.calls != NULL;
}

/* One write, no allocation: may be called from anywhere. */
static void
report(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    int file = fault.report
                   ? openat(AT_FDCWD, fault.report, O_WRONLY | O_CREAT | O_APPEND, 0666)
                   : -1;
    if (file < 0)
        return;
    ssize_t written = write(file, line, (size_t)n);
    (void)written;
    close(file);
}

__attribute__((destructor)) static void
tear_down(void)
{
    is_inside = true;
    if (fault.ready)
        report("calls %lu\n", atomic_load(&n_calls));
}

/* ----------------------------------------------------------------- decision */

static bool
is_listed(const char *call)
{
    size_t length = strlen(call);
    for (const char *word = fault.calls; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (strncmp(word, call, length) == 0 && (word[length] == ',' || !word[length]))
            return true;
    }
    return false;
}

static bool
is_in(const struct range *ranges, int n, const void *address)
{
    for (int i = 0; i < n; i++)
        if ((uintptr_t)address >= ranges[i].from && (uintptr_t)address < ranges[i].to)
            return true;
    return false;
}

static void
report_hit(const char *call, unsigned long n, const char *path)
{
    void *frames[MAX_FRAMES];
    int depth = backtrace(frames, MAX_FRAMES);
    report("hit %s %lu %s\n", call, n, path ? path : "");
    for (int i = 2; i < depth && i < 12; i++) {
        Dl_info info = { 0 };
        if (dladdr(frames[i], &info) && info.dli_fname)
            report("  %s %s +0x%lx\n", info.dli_fname,
                   info.dli_sname ? info.dli_sname : "?",
                   (unsigned long)((uintptr_t)frames[i] - (uintptr_t)info.dli_fbase));
    }
}

/* Counts a matching call; true when it is one of those to fail, errno then being set. */
static bool
strikes(const char *call, const char *path)
{
    unsigned long n = atomic_fetch_add(&n_calls, 1) + 1;
    if (fault.first == 0 || n < fault.first || n > fault.last)
        return false;
    report_hit(call, n, path);
    if (fault.how == HOW_SIGNAL) {
        kill(getpid(), fault.number);
        return false;
    }
    errno = fault.number;
    return true;
}

static bool
strikes_path(const char *call, const char *path)
{
    if (!fault.ready || is_inside || !is_listed(call))
        return false;
    if (fault.path && !(path && strstr(path, fault.path)))
        return false;
    is_inside = true;
    bool strike = strikes(call, path);
    is_inside = false;
    return strike;
}

static bool
strikes_file(const char *call, int file)
{
    char link[64], path[4096];
    if (!fault.ready || is_inside || file <= STDERR_FILENO || !is_listed(call))
        return false;
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = '\0';
    errno = saved;
    return strikes_path(call, path);
}

static bool
strikes_memory(const void *caller)
{
    if (!fault.ready || is_inside || !is_listed("memory") ||
        is_in(fault.hdf5, fault.n_hdf5, caller) ||
        is_in(fault.loader, fault.n_loader, caller))
        return false;
    void *frames[MAX_FRAMES];
    bool is_below = false, strike;
    is_inside = true;
    for (int i = backtrace(frames, MAX_FRAMES) - 1; i >= 0 && !is_below; i--)
        is_below = is_in(fault.hdf5, fault.n_hdf5, frames[i]) ||
                   is_in(fault.loader, fault.n_loader, frames[i]);
    strike = !is_below && strikes("memory", NULL);
    is_inside = false;
    if (strike)
        errno = ENOMEM;
    return strike;
}

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* The next definition of the function being replaced. */
#define REAL(name) ((__typeof__(&name))real_symbol(#name))

static void *
real_symbol(const char *name)
{
    bool before = is_inside;
    is_inside = true;
    void *symbol = dlsym(RTLD_NEXT, name);
    is_inside = before;
    return symbol;
}

/* -------------------------------------------------------------------- files */

int
open(const char *path, int flags, ...)
{
    OPEN_MODE(flags, flags)
    return strikes_path("open", path) ? -1 : REAL(open)(path, flags, mode);
}

int
open64(const char *path, int flags, ...)
{
    OPEN_MODE(flags, flags)
    return strikes_path("open", path) ? -1 : REAL(open64)(path, flags, mode);
}

int
openat(int folder, const char *path, int flags, ...)
{
    OPEN_MODE(flags, flags)
    return strikes_path("open", path) ? -1 : REAL(openat)(folder, path, flags, mode);
}

int
openat64(int folder, const char *path, int flags, ...)
{
    OPEN_MODE(flags, flags)
    return strikes_path("open", path) ? -1 : REAL(openat64)(folder, path, flags, mode);
}

FILE *
fopen(const char *path, const char *mode)
{
    return strikes_path("open", path) ? NULL : REAL(fopen)(path, mode);
}

FILE *
fopen64(const char *path, const char *mode)
{
    return strikes_path("open", path) ? NULL : REAL(fopen64)(path, mode);
}

/* What a read or write of `size` bytes is cut to when it is to be short. */
static size_t
shorten(size_t size)
{
    return size > 1 ? size / 2 : size;
}

/* ssize_t functions (file, data, size[, offset]). */
#define TRANSFER(call, name, parameters, ...) \
    ssize_t name parameters                   \
    {                                         \
        if (strikes_file(call, file)) {       \
            if (fault.how != HOW_SHORT)       \
                return -1;                    \
            size = shorten(size);             \
        }                                     \
        return REAL(name)(__VA_ARGS__);       \
    }

TRANSFER("read", read, (int file, void *data, size_t size), file, data, size)
TRANSFER("read", pread, (int file, void *data, size_t size, off_t at), file, data, size,
         at)
TRANSFER("read", pread64, (int file, void *data, size_t size, off64_t at), file, data,
         size, at)
TRANSFER("write", write, (int file, const void *data, size_t size), file, data, size)
TRANSFER("write", pwrite, (int file, const void *data, size_t size, off_t at), file, data,
         size, at)
TRANSFER("write", pwrite64, (int file, const void *data, size_t size, off64_t at), file,
         data, size, at)

ssize_t
writev(int file, const struct iovec *parts, int n)
{
    bool strike = strikes_file("write", file);
    if (strike && fault.how != HOW_SHORT)
        return -1;
    return REAL(writev)(file, parts, strike && n > 1 ? 1 : n);
}

/* int functions of an open file. */
#define ON_FILE(call, name, parameters, ...)                            \
    int name parameters                                                 \
    {                                                                   \
        return strikes_file(call, file) ? -1 : REAL(name)(__VA_ARGS__); \
    }

ON_FILE("sync", fsync, (int file), file)
ON_FILE("sync", fdatasync, (int file), file)
ON_FILE("truncate", ftruncate, (int file, off_t size), file, size)
ON_FILE("truncate", ftruncate64, (int file, off64_t size), file, size)

int
sync_file_range(int file, off64_t at, off64_t size, unsigned flags)
{
    return strikes_file("writeback", file) ? -1
                                           : REAL(sync_file_range)(file, at, size, flags);
}

/* Zeros in the middle of a file, as if another page had never come to the disk. */
static void
lose_page(int file)
{
    enum { PAGE = 4096 };
    static const char zeros[PAGE];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    int writable = REAL(open)(link, O_WRONLY | O_CLOEXEC);
    off_t size = lseek(writable, 0, SEEK_END);
    ssize_t put = REAL(pwrite)(writable, zeros, PAGE, size / 2 / PAGE * PAGE);
    if (writable < 0 || put != PAGE)
        _exit(99);
    REAL(close)(writable);
}

static int
forget(int file, int advice)
{
    if (advice != POSIX_FADV_DONTNEED || !strikes_file("evict", file))
        return 0;
    if (fault.how == HOW_LOST)
        lose_page(file);
    return fault.how == HOW_ERRNO ? fault.number : 0;
}

int
posix_fadvise(int file, off_t at, off_t size, int advice)
{
    int failed = forget(file, advice);
    return failed ? failed : REAL(posix_fadvise)(file, at, size, advice);
}

int
posix_fadvise64(int file, off64_t at, off64_t size, int advice)
{
    int failed = forget(file, advice);
    return failed ? failed : REAL(posix_fadvise64)(file, at, size, advice);
}

/* A failed close has closed the file all the same, as on Linux. HDF5's own driver cannot
 * take one: it crashes. */
int
close(int file)
{
    bool strike = !is_in(fault.hdf5, fault.n_hdf5, CALLER) && strikes_file("close", file);
    int saved = errno, status = REAL(close)(file);
    if (!strike)
        return status;
    errno = saved;
    return -1;
}

/* Streams write inside the C library, out of reach: their flush and close stand for
 * it. */
int
fflush(FILE *stream)
{
    return stream && strikes_file("write", fileno(stream)) ? EOF : REAL(fflush)(stream);
}

int
fclose(FILE *stream)
{
    bool strike = strikes_file("close", fileno(stream));
    int saved = errno, status = REAL(fclose)(stream);
    if (!strike)
        return status;
    errno = saved;
    return EOF;
}

int
rename(const char *from, const char *to)
{
    return strikes_path("rename", from) ? -1 : REAL(rename)(from, to);
}

int
renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return strikes_path("rename", from)
               ? -1
               : REAL(renameat)(from_folder, from, to_folder, to);
}

int
renameat2(int from_folder, const char *from, int to_folder, const char *to,
          unsigned int flags)
{
    return strikes_path("rename", from)
               ? -1
               : REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

int
link(const char *from, const char *to)
{
    return strikes_path("rename", from) ? -1 : REAL(link)(from, to);
}

/* ------------------------------------------------------------------- memory */

void *
malloc(size_t size)
{
    return strikes_memory(CALLER) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
    return strikes_memory(CALLER) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
    return strikes_memory(CALLER) ? NULL : __libc_realloc(old, size);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    return strikes_memory(CALLER) ? NULL : __libc_memalign(alignment, size);
}

int
posix_memalign(void **out, size_t alignment, size_t size)
{
    void *data = strikes_memory(CALLER) ? NULL : __libc_memalign(alignment, size);
    if (data)
        *out = data;
    return data ? 0 : ENOMEM;
}
