#include "libpack/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

/* 0, or an errno. */
static int
advise(int fd, bool wanted)
{
#ifdef HAVE_POSIX_FADVISE
    return posix_fadvise(fd, 0, 0, wanted ? POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED);
#else
    (void)fd;
    return wanted ? 0 : ENOSYS;
#endif
}

void
pack_system_want_fd(int fd)
{
    advise(fd, true);
}

void
pack_system_forget_fd(int fd)
{
    advise(fd, false);
}

enum pack_status
pack_system_drop_fd(int fd, struct pack_error *err)
{
    int failed = fdatasync(fd) != 0 ? errno : advise(fd, false);
    return failed ? pack_fail_errno(err, failed, "cannot be dropped from the page cache")
                  : PACK_OK;
}

enum pack_status
pack_system_drop(const char *path, struct pack_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    enum pack_status status = pack_system_drop_fd(fd, err);
    close(fd);
    return status == PACK_OK ? PACK_OK : pack_error_prefix(err, status, "'%s'", path);
}

enum { WINDOW_BYTES = 64 << 20 }; /* mapped at a time */

static enum pack_status
count_resident(int fd, uint64_t size, unsigned char *present, uint64_t *bytes)
{
    long page = sysconf(_SC_PAGESIZE);
    *bytes = 0;
    for (uint64_t at = 0; at < size; at += WINDOW_BYTES) {
        size_t length = size - at < WINDOW_BYTES ? (size_t)(size - at) : WINDOW_BYTES;
        size_t n_pages = (length + (size_t)page - 1) / (size_t)page;
        void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)at);
        if (map == MAP_FAILED)
            return PACK_ERR_IO;
        int failed = mincore(map, length, present);
        munmap(map, length);
        if (failed)
            return PACK_ERR_IO;
        for (size_t i = 0; i < n_pages; i++)
            *bytes += (present[i] & 1) ? (uint64_t)page : 0;
    }
    if (*bytes > size)
        *bytes = size; /* the last page reaches beyond */
    return PACK_OK;
}

/* Who may not ask mincore(2) is told that every page is there. */
static bool
may_ask(int fd, const struct stat *status)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return geteuid() == 0 || status->st_uid == geteuid() || access(name, W_OK) == 0;
}

bool
pack_system_resident_fd(int fd, uint64_t *bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !may_ask(fd, &status))
        return false;
    unsigned char *present = malloc(WINDOW_BYTES / (size_t)sysconf(_SC_PAGESIZE) + 1);
    bool told = present &&
                count_resident(fd, (uint64_t)status.st_size, present, bytes) == PACK_OK;
    free(present);
    return told;
}

enum pack_status
pack_system_resident(const char *path, uint64_t *bytes, struct pack_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    bool told = pack_system_resident_fd(fd, bytes);
    close(fd);
    return told ? PACK_OK
                : pack_fail(err, PACK_ERR_UNSUPPORTED,
                            "the system does not tell what of '%s' is in memory", path);
}

enum pack_status
pack_system_size(const char *path, uint64_t *bytes, struct pack_error *err)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    *bytes = (uint64_t)status.st_size;
    return PACK_OK;
}

bool
pack_system_storage_bytes(uint64_t *bytes)
{
    char line[128];
    bool found = false;
    FILE *file = fopen("/proc/self/io", "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, "read_bytes: %" SCNu64, bytes) == 1;
    fclose(file);
    return found;
}

static uint64_t
time_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

void
pack_system_usage(struct pack_system_usage *usage)
{
    struct rusage own = { .ru_inblock = 0 };
    getrusage(RUSAGE_SELF, &own);
    *usage =
        (struct pack_system_usage){ .user_ns = time_ns(&own.ru_utime),
                                    .system_ns = time_ns(&own.ru_stime),
                                    .storage_bytes = (uint64_t)own.ru_inblock * 512 };
}

/* What a control group tells, by its version. `cache`: file pages that were not used
 * lately, which count as used and go when something else wants the memory. */
struct group_files {
    const char *limit, *usage, *cache;
};
static const struct group_files groups_v1 = { "memory.limit_in_bytes",
                                              "memory.usage_in_bytes",
                                              "total_inactive_file" },
                                groups_v2 = { "memory.max", "memory.current",
                                              "inactive_file" };

/* The number behind `name` in a file of a group; without a name the first. */
static bool
group_number(const char *folder, const char *file, const char *name, uint64_t *number)
{
    char path[4096], line[256];
    bool found = false;
    size_t length = name ? strlen(name) : 0;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        if (!name || (strncmp(line, name, length) == 0 && line[length] == ' '))
            found = sscanf(line + length, "%" SCNu64, number) == 1; /* "max" is none */
        if (!name)
            break;
    }
    if (f)
        fclose(f);
    return found;
}

static uint64_t
group_bytes(const char *folder, const struct group_files *files, bool left)
{
    uint64_t limit, used = 0, cache = 0;
    if (!group_number(folder, files->limit, NULL, &limit))
        return UINT64_MAX;
    if (!left || !group_number(folder, files->usage, NULL, &used))
        return limit;
    (void)group_number(folder, "memory.stat", files->cache, &cache);
    used -= cache < used ? cache : used;
    return used < limit ? limit - used : 0;
}

uint64_t
pack_system_group_bytes(const char *root, const char *group, bool is_v1, bool left)
{
    char folder[4096];
    const struct group_files *files = is_v1 ? &groups_v1 : &groups_v2;
    uint64_t least = UINT64_MAX, bytes;
    size_t n_root = (size_t)snprintf(folder, sizeof folder, "%s%s", root, group);
    if (n_root >= sizeof folder)
        return least;
    n_root = strlen(root);
    for (char *cut = folder + strlen(folder); cut && cut >= folder + n_root;
         cut = strrchr(folder + n_root, '/')) {
        *cut = '\0';
        bytes = group_bytes(folder, files, left);
        if (bytes < least)
            least = bytes;
    }
    return least;
}

/* The least of all control groups that this process is in. */
static uint64_t
groups_bytes(bool left)
{
    char line[2048];
    uint64_t least = UINT64_MAX, bytes;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group;
        line[strcspn(line, "\n")] = '\0';
        if (!controllers || !(group = strchr(controllers + 1, ':')))
            continue;
        *group++ = '\0';
        bytes = UINT64_MAX;
        if (controllers[1] == '\0')
            bytes = pack_system_group_bytes("/sys/fs/cgroup", group, false, left);
        else if (strstr(controllers + 1, "memory"))
            bytes = pack_system_group_bytes("/sys/fs/cgroup/memory", group, true, left);
        if (bytes < least)
            least = bytes;
    }
    if (file)
        fclose(file);
    return least;
}

uint64_t
pack_system_ram_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t ram = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    uint64_t limit = groups_bytes(false);
    return limit < ram ? limit : ram;
}

bool
pack_system_memory_bytes(uint64_t *bytes)
{
    char line[128];
    uint64_t kib, left = groups_bytes(true);
    bool found = false;
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1;
    fclose(file);
    if (found)
        *bytes = left / 1024 < kib ? left : kib * 1024;
    return found;
}

bool
pack_system_cpu(struct pack_system_cpu *cpu)
{
    uint64_t user, nice, system, idle, iowait;
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return false;
    bool found =
        fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &user, &nice, &system, &idle, &iowait) == 5;
    fclose(file);
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    if (found)
        *cpu = (struct pack_system_cpu){ (user + nice) * tick_ns, system * tick_ns,
                                         iowait * tick_ns, idle * tick_ns };
    return found;
}
