/* Opens the files of records, as data sets keep them: under paths of any length, on file
 * servers that hold leases. */
#include "libpack/source/source_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libpack/base/check.h"

enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* As open(path, OPEN_FLAGS) for paths of any length; changes `path`. */
static int
open_long(char *path, size_t length)
{
    int folder = AT_FDCWD, fd;
    while (length >= PATH_MAX) {
        char *cut = memrchr(path, '/', PATH_MAX - 1);
        if (!cut || cut == path) {
            errno = ENAMETOOLONG;
            fd = -1;
            goto out;
        }
        *cut = '\0';
        fd = openat(folder, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            goto out;
        if (folder != AT_FDCWD)
            close(folder);
        folder = fd;
        length -= (size_t)(cut + 1 - path);
        path = cut + 1;
    }
    fd = openat(folder, path, OPEN_FLAGS);
out:
    if (folder != AT_FDCWD) {
        int saved = errno;
        close(folder);
        errno = saved;
    }
    return fd;
}

static int
open_record(const struct pack_source *source, uint64_t i)
{
    char path[PATH_MAX];
    size_t length = pack_source_path(source, i, path, sizeof path);
    if (length < sizeof path)
        return open(path, OPEN_FLAGS);
    char *long_path = malloc(length + 1);
    if (!long_path)
        return -1;
    pack_source_path(source, i, long_path, length + 1);
    int fd = open_long(long_path, length);
    int saved = errno;
    free(long_path);
    errno = saved;
    return fd;
}

/*
 * Who holds a lease on a file (a file server, mostly) is told by the first try to open it
 * and lets go within lease-break-time (proc(5)), 45 s, or loses it. Nothing else makes a
 * file be busy. Whether to try again, after a nap; *n counts the naps.
 */
static bool
waits_for_lease(int fd, const struct pack_watch *watch, int *n)
{
    enum { TRIES = 6000 };
    const struct timespec pause = { .tv_nsec = 10000000 };
    if (fd >= 0 || errno != EAGAIN || *n == TRIES || pack_watch_stops(watch))
        return false;
    ++*n;
    nanosleep(&pause, NULL);
    return true;
}

static int
open_leased(const struct pack_source *source, uint64_t i, const struct pack_watch *watch)
{
    int n = 0, fd;
    do
        fd = open_record(source, i);
    while (waits_for_lease(fd, watch, &n));
    return fd;
}

int
pack_source_open_entry(int folder, const char *name, const struct pack_watch *watch)
{
    int n = 0, fd;
    do
        fd = openat(folder, name, OPEN_FLAGS);
    while (waits_for_lease(fd, watch, &n));
    return fd;
}

enum pack_status
pack_source_open_file(const struct pack_source *source, uint64_t i, int *fd,
                      struct pack_error *err)
{
    return pack_source_open_watched(source, i, NULL, fd, err);
}

enum pack_status
pack_source_open_watched(const struct pack_source *source, uint64_t i,
                         const struct pack_watch *watch, int *fd, struct pack_error *err)
{
    struct stat st;
    if (!source || !fd)
        return pack_check_given(err, "source", source, "fd", fd, NULL);
    if (i >= source->n_records)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "i",
                               "there is no image %" PRIu64 ", they end at %" PRIu64, i,
                               source->n_records);
    int file = open_leased(source, i, watch);
    if (file < 0 && errno == EAGAIN && pack_watch_stops(watch)) {
        errno = EINTR;
        return pack_watch_check(watch, err);
    }
    bool failed = file < 0 || fstat(file, &st) != 0;
    if (!failed && S_ISREG(st.st_mode)) {
        *fd = file;
        return PACK_OK;
    }
    int saved = failed ? errno : 0;
    if (file >= 0)
        close(file);
    enum pack_status status =
        failed ? pack_fail_errno(err, saved, "cannot be opened")
               : pack_fail(err, PACK_ERR_FORMAT, "is %s",
                           S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    errno = saved;
    return status;
}
