/* One call moves 2 GiB at most, less where a signal or the disk says so. */
#include "libpack/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool
pack_fd_read_at(int fd, void *data, size_t size, uint64_t offset, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t n = pread(fd, (char *)data + *got, size - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return true;
}

bool
pack_fd_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n =
            pwrite(fd, (const char *)data + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

int64_t
pack_fd_mtime_ns(const struct stat *st)
{
    return (int64_t)((uint64_t)st->st_mtim.tv_sec * 1000000000 +
                     (uint64_t)st->st_mtim.tv_nsec);
}

/* Where O_TMPFILE is not known, to the system or to the file system, a name is given and
 * removed at once. */
int
pack_fd_open_nameless(const char *dir)
{
    char name[4096];
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
#endif
    int n = snprintf(name, sizeof name, "%s/.h5pack-scratch-XXXXXX", dir);
    if (n < 0 || (size_t)n >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}
