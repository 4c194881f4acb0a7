/* The driver of h5_count.c opens files by descriptor, and can say how long they are. */
#include "libpack/hdf5/cut_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/hdf5/superblock.h"

bool
pack_cut_file_open(const char *path, struct pack_cut_file *cut)
{
    struct stat st;
    struct pack_superblock sb;
    *cut = (struct pack_cut_file){ .fd = -1 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        !pack_superblock_find(fd, (uint64_t)st.st_size, &sb) || sb.has_driver ||
        sb.end_bytes <= (uint64_t)st.st_size) {
        close(fd);
        return false;
    }
    cut->fd = fd;
    cut->file_bytes = (uint64_t)st.st_size;
    cut->end_bytes = sb.end_bytes;
    snprintf(cut->name, sizeof cut->name, "/proc/self/fd/%d", fd);
    return true;
}

void
pack_cut_file_close(struct pack_cut_file *cut)
{
    if (cut->fd >= 0)
        close(cut->fd);
    cut->fd = -1;
}

void
pack_cut_file_rename(const struct pack_cut_file *cut, const char *path, char *text,
                     size_t size)
{
    char rest[1024];
    char *at = cut->fd >= 0 ? strstr(text, cut->name) : NULL;
    if (!at)
        return;
    snprintf(rest, sizeof rest, "%s", at + strlen(cut->name));
    snprintf(at, size - (size_t)(at - text), "%s%s", path, rest);
}
