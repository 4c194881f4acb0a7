/* One call moves 2 GiB at most, less where a signal or the disk says so. */
#include "libpack/base/fd.h"

#include <errno.h>
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
