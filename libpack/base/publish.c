/* A finished file gets its name, and keeps it when the power goes. */
#include "libpack/base/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

/*
 * Renames without replacing: in one step where the file system can; else by a second
 * name, which fails when the name is taken; else after a look.
 */
static int
rename_new(const char *from, const char *to)
{
    struct stat status;
#ifdef HAVE_RENAMEAT2
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
#endif
    if (link(from, to) == 0)
        return unlink(from);
    if (errno == EEXIST)
        return -1;
    if (lstat(to, &status) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

/* Folders that cannot be read, and those on file systems that say EINVAL, go without a
 * sync. */
static enum pack_status
open_folder(const char *path, const char *folder, int *fd, struct pack_error *err)
{
    *fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    return *fd >= 0 || errno == EACCES
               ? PACK_OK
               : pack_fail_errno(err, errno, "cannot open the folder of '%s' to sync it",
                                 path);
}

static enum pack_status
sync_folder(const char *path, int fd, struct pack_error *err)
{
    return fd < 0 || fsync(fd) == 0 || errno == EINVAL
               ? PACK_OK
               : pack_fail_errno(err, errno, "cannot sync the folder of '%s'", path);
}

enum pack_status
pack_publish(const char *from, const char *to, const char *folder, bool replace,
             struct pack_error *err)
{
    int fd;
    enum pack_status status = open_folder(to, folder, &fd, err);
    if (status)
        return status;
    int moved = replace ? rename(from, to) : rename_new(from, to);
    if (moved != 0) {
        status = pack_fail_errno(err, errno, "cannot rename '%s' to '%s'", from, to);
    } else {
        status = sync_folder(to, fd, err);
        if (status)
            rename_new(to, from);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

enum pack_status
pack_publish_sync(const char *path, const char *folder, struct pack_error *err)
{
    int fd;
    enum pack_status status = open_folder(path, folder, &fd, err);
    if (!status)
        status = sync_folder(path, fd, err);
    if (fd >= 0)
        close(fd);
    return status;
}
