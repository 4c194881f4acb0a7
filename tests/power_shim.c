/*
 * Preloaded into a program under test, takes the power away at its n-th moment: what was
 * not synced by then is not on the disk. Set by the environment:
 *
 *     POWER_PATH    only files whose path contains this lose anything
 *     POWER_N       the moment, from 1: before and behind each sync, renaming and removal,
 *                   and the end of the program; 0 or absent: they are only counted
 *     POWER_DATA    drop: no write since the last sync of its file is there
 *                   tear: some are, some are not, some are half
 *     POWER_NAMES   lost: neither is what was created, renamed or removed since the last
 *                   sync of its folder
 *                   kept: all of it is
 *     POWER_REPORT  a file for the number of moments, written at the end
 *
 * Every write keeps what it overwrites, every removal a second name, until they are
 * synced; at the moment they are put back, latest first, and the program ends with status
 * 98, or with its own at its end. What only asks for write-back (sync_file_range) is no
 * sync.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/shim.h"

/* A write or truncation of a file, known by its number. */
struct change {
    dev_t device;
    ino_t inode;
    int file; /* for putting back */
    off_t at, size_before;
    size_t size; /* bytes at `old`; they were zeros behind the end */
    char *old;
};

enum kind { CREATED, RENAMED, REMOVED };

struct name {
    enum kind kind;
    char path[PATH_MAX], to[PATH_MAX];
    char kept[PATH_MAX + 32]; /* second name of what is gone; "" when nothing is */
};

enum { MAX_CHANGES = 1 << 16, MAX_NAMES = 64 };

static struct change changes[MAX_CHANGES];
static struct name names[MAX_NAMES];
static size_t n_changes, n_names;
static unsigned long n_moments, cut_at;
static const char *where;
static bool tears, loses_names;
static pid_t owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The next definition of the function being replaced. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ------------------------------------------------------------------ the cut */

static void
put_back(const struct change *change, size_t from)
{
    ssize_t put = REAL(pwrite)(change->file, change->old + from, change->size - from,
                               change->at + (off_t)from);
    (void)put;
}

static void
lose_data(void)
{
    for (size_t i = n_changes; i-- > 0;) {
        struct change *change = &changes[i];
        if (tears && i % 3 == 0)
            continue;
        put_back(change, tears && i % 3 == 1 ? change->size / 2 : 0);
        if (!tears && REAL(ftruncate)(change->file, change->size_before) != 0)
            _exit(97);
    }
}

static void
lose_names(void)
{
    for (size_t i = n_names; i-- > 0;) {
        const struct name *name = &names[i];
        if (name->kind == CREATED)
            REAL(unlink)(name->path);
        if (name->kind == RENAMED)
            REAL(rename)(name->to, name->path);
        if (name->kept[0])
            REAL(rename)(name->kept, name->kind == RENAMED ? name->to : name->path);
    }
}

static void
forget_names(void)
{
    for (size_t i = 0; i < n_names; i++)
        if (names[i].kept[0])
            REAL(unlink)(names[i].kept);
    n_names = 0;
}

static void
report(void)
{
    const char *path = getenv("POWER_REPORT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lu\n", n_moments);
    fclose(file);
}

/* The power may go now; `status` is what the program ends with then. */
static void
moment(int status)
{
    if (!where || getpid() != owner || ++n_moments != cut_at)
        return;
    lose_data();
    if (loses_names)
        lose_names();
    else
        forget_names();
    _exit(status);
}

static void
at_end(int status, void *unused)
{
    (void)unused;
    fflush(NULL);
    pthread_mutex_lock(&lock);
    moment(status);
    if (getpid() == owner) {
        forget_names();
        where = NULL;
        report();
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void
set_up(void)
{
    const char *n = getenv("POWER_N"), *data = getenv("POWER_DATA"),
               *lost = getenv("POWER_NAMES");
    where = getenv("POWER_PATH");
    cut_at = n ? strtoul(n, NULL, 10) : 0;
    tears = data && strcmp(data, "tear") == 0;
    loses_names = lost && strcmp(lost, "lost") == 0;
    owner = getpid();
    on_exit(at_end, NULL);
}

/* -------------------------------------------------------------------- notes */

static bool
is_ours(const char *path)
{
    return where && path && getpid() == owner && strstr(path, where);
}

static bool
path_of(int file, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = where && getpid() == owner ? readlink(link, path, PATH_MAX - 1) : -1;
    path[n > 0 ? n : 0] = '\0';
    return is_ours(path);
}

/* An own descriptor of a file; one each is kept. */
static int
handle_of(const char *path, const struct stat *st)
{
    for (size_t i = 0; i < n_changes; i++)
        if (changes[i].device == st->st_dev && changes[i].inode == st->st_ino)
            return changes[i].file;
    return REAL(open)(path, O_RDWR | O_CLOEXEC);
}

/* Bytes from `at` on are about to change, `size` of them. */
static void
note_change(int file, off_t at, size_t size)
{
    char path[PATH_MAX];
    struct stat st;
    if (!path_of(file, path) || fstat(file, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    if (n_changes == MAX_CHANGES)
        _exit(97);
    struct change *change = &changes[n_changes];
    *change = (struct change){ st.st_dev, st.st_ino, handle_of(path, &st),
                               at,        st.st_size, size,
                               calloc(1, size ? size : 1) };
    if (change->file < 0 || !change->old ||
        REAL(pread)(change->file, change->old, size, at) < 0)
        _exit(97);
    n_changes++;
}

static void
note_name(enum kind kind, const char *path, const char *to)
{
    static unsigned n;
    const char *gone = kind == RENAMED ? to : kind == REMOVED ? path : NULL;
    if (n_names == MAX_NAMES)
        _exit(97);
    struct name *name = &names[n_names++];
    *name = (struct name){ .kind = kind };
    snprintf(name->path, sizeof name->path, "%s", path);
    snprintf(name->to, sizeof name->to, "%s", to ? to : "");
    if (!gone)
        return;
    snprintf(name->kept, sizeof name->kept, "%s.kept-%u", gone, n++);
    if (REAL(link)(gone, name->kept) != 0)
        name->kept[0] = '\0';
}

static void
forget_changes(const struct stat *st)
{
    size_t n = 0;
    for (size_t i = 0; i < n_changes; i++)
        if (changes[i].device != st->st_dev || changes[i].inode != st->st_ino)
            changes[n++] = changes[i];
        else
            free(changes[i].old);
    n_changes = n;
}

/* -------------------------------------------------------------------- calls */

static int
opened(const char *path, int file, bool was_there, int flags)
{
    int saved = errno;
    if (file >= 0 && !was_there && flags & O_CREAT && is_ours(path)) {
        pthread_mutex_lock(&lock);
        note_name(CREATED, path, NULL);
        pthread_mutex_unlock(&lock);
    }
    errno = saved;
    return file;
}

int
open(const char *path, int flags, ...)
{
    OPEN_MODE(flags, flags)
    bool was_there = access(path, F_OK) == 0;
    return opened(path, REAL(open)(path, flags, mode), was_there, flags);
}

int
open64(const char *path, int flags, ...)
{
    OPEN_MODE(flags, flags)
    bool was_there = access(path, F_OK) == 0;
    return opened(path, REAL(open64)(path, flags, mode), was_there, flags);
}

/* The call itself, under the lock, behind its note; `result` is what it gives. */
#define NOTED(type, note, call)     \
    pthread_mutex_lock(&lock);      \
    note;                           \
    type result = call;             \
    int saved = errno;              \
    pthread_mutex_unlock(&lock);    \
    errno = saved;                  \
    return result;

ssize_t
write(int file, const void *data, size_t size)
{
    NOTED(ssize_t, note_change(file, lseek(file, 0, SEEK_CUR), size),
          REAL(write)(file, data, size))
}

ssize_t
pwrite(int file, const void *data, size_t size, off_t at)
{
    NOTED(ssize_t, note_change(file, at, size), REAL(pwrite)(file, data, size, at))
}

ssize_t
pwrite64(int file, const void *data, size_t size, off64_t at)
{
    NOTED(ssize_t, note_change(file, at, size), REAL(pwrite64)(file, data, size, at))
}

/* What is cut off changes. */
static void
note_truncation(int file, off_t size)
{
    struct stat st;
    if (fstat(file, &st) == 0)
        note_change(file, size < st.st_size ? size : st.st_size,
                    size < st.st_size ? (size_t)(st.st_size - size) : 0);
}

int
ftruncate(int file, off_t size)
{
    NOTED(int, note_truncation(file, size), REAL(ftruncate)(file, size))
}

int
ftruncate64(int file, off64_t size)
{
    NOTED(int, note_truncation(file, size), REAL(ftruncate64)(file, size))
}

/* A folder's sync is one of all names. */
static int
synced(int file, int result)
{
    struct stat st;
    if (result == 0 && fstat(file, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            forget_names();
        else
            forget_changes(&st);
    }
    return result;
}

static int
sync_with(int (*real)(int), int file)
{
    char path[PATH_MAX];
    bool ours = path_of(file, path);
    pthread_mutex_lock(&lock);
    if (ours)
        moment(98);
    int result = real(file);
    int saved = errno;
    if (ours) {
        result = synced(file, result);
        moment(98);
    }
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int
fsync(int file)
{
    return sync_with(REAL(fsync), file);
}

int
fdatasync(int file)
{
    return sync_with(REAL(fdatasync), file);
}

/* Before and behind a call that changes names. */
#define RENAMING(kind, path, to, call) \
    pthread_mutex_lock(&lock);         \
    bool ours = is_ours(path);         \
    if (ours) {                        \
        moment(98);                    \
        note_name(kind, path, to);     \
    }                                  \
    int result = call;                 \
    int saved = errno;                 \
    if (ours && result != 0) {         \
        struct name *last = &names[--n_names]; \
        if (last->kept[0])             \
            REAL(unlink)(last->kept);  \
    } else if (ours) {                 \
        moment(98);                    \
    }                                  \
    pthread_mutex_unlock(&lock);       \
    errno = saved;                     \
    return result;

int
rename(const char *from, const char *to)
{
    RENAMING(RENAMED, from, to, REAL(rename)(from, to))
}

int
renameat2(int from_folder, const char *from, int to_folder, const char *to,
          unsigned int flags)
{
    RENAMING(RENAMED, from, to, REAL(renameat2)(from_folder, from, to_folder, to, flags))
}

int
unlink(const char *path)
{
    RENAMING(REMOVED, path, NULL, REAL(unlink)(path))
}
