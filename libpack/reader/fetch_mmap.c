/*
 * A mapping of the whole file. Pages are asked for before they are touched, with
 * MADV_POPULATE_READ of Linux 5.14: a page that cannot be read is an error of that call,
 * where touching it would be a SIGBUS. What is left is a file that is cut short between
 * that call and the copy: pack_fetch_read().
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libpack/base/mapped.h"
#include "libpack/reader/fetch.h"

#ifdef MADV_POPULATE_READ
enum { POPULATE_READ = MADV_POPULATE_READ };
#else
enum { POPULATE_READ = 22 }; /* a kernel that is newer than its headers */
#endif

static bool
populate(const struct pack_fetch *fetch, uint64_t address, size_t size)
{
    size_t behind = address % (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned char *at = (unsigned char *)fetch->mapping + address;
    return madvise(at - behind, size + behind, POPULATE_READ) == 0;
}

static void
mmap_close(struct pack_fetch *fetch)
{
    if (!fetch->mapping)
        return;
    munmap(fetch->mapping, fetch->size_bytes);
    pack_mapped_end();
}

static enum pack_status
mmap_open(struct pack_fetch *fetch, struct pack_error *err)
{
    void *mapping =
        fetch->size_bytes == 0 || fetch->size_bytes > SIZE_MAX
            ? MAP_FAILED
            : mmap(NULL, fetch->size_bytes, PROT_READ, MAP_SHARED, fetch->fd, 0);
    if (mapping == MAP_FAILED)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s", fetch->ops->refusal);
    fetch->mapping = mapping;
    pack_mapped_begin();
    if (populate(fetch, 0, 1) || errno != EINVAL)
        return PACK_OK;
    mmap_close(fetch);
    return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s", fetch->ops->refusal);
}

static enum pack_status
mmap_view(const struct pack_fetch *fetch, uint64_t address, size_t size, void *room,
          const void **data, struct pack_error *err)
{
    (void)room;
    if (!populate(fetch, address, size)) {
        if (errno == EFAULT)
            return pack_fail(err, PACK_ERR_IO,
                             "%zu bytes at %llu cannot be read, or are no longer there",
                             size, (unsigned long long)address);
        return pack_fail_errno(err, errno, "cannot read %zu bytes at %llu", size,
                               (unsigned long long)address);
    }
    *data = (const unsigned char *)fetch->mapping + address;
    return PACK_OK;
}

const struct pack_fetch_ops pack_fetch_mmap = {
    .name = "mmap",
    .refusal = "the file cannot be mapped on this system",
    .open = mmap_open,
    .view = mmap_view,
    .close = mmap_close,
};
