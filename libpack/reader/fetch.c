#include "libpack/reader/fetch.h"

#include <sys/vfs.h>

#include "libpack/base/mapped.h"
#include "libpack/base/system.h"

/* ext2 to 4, XFS, Btrfs, F2FS, tmpfs, overlayfs: statfs(2). */
static const uint32_t local_file_systems[] = { 0xef53,     0x58465342, 0x9123683e,
                                               0xf2f52010, 0x01021994, 0x794c7630 };

static bool
is_local(int fd)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof local_file_systems / sizeof local_file_systems[0]; i++)
        if ((uint32_t)fs.f_type == local_file_systems[i])
            return true;
    return false;
}

const struct pack_fetch_ops *
pack_fetch_best(int fd, uint64_t all_bytes, bool has_filters)
{
    return !has_filters && all_bytes >= PACK_FETCH_MAPPED_BYTES &&
                   all_bytes <= pack_system_ram_bytes() / 2 && is_local(fd)
               ? &pack_fetch_mmap
               : &pack_fetch_pread;
}

enum pack_status
pack_fetch_open(struct pack_fetch *fetch, const struct pack_fetch_ops *ops, int fd,
                uint64_t size_bytes, struct pack_error *err)
{
    struct pack_fetch made = { .ops = ops, .fd = fd, .size_bytes = size_bytes };
    enum pack_status status = made.ops->open ? made.ops->open(&made, err) : PACK_OK;
    if (status == PACK_ERR_UNSUPPORTED) {
        made.ops = &pack_fetch_pread;
        status = PACK_OK;
    }
    if (status == PACK_OK)
        *fetch = made;
    return status;
}

void
pack_fetch_close(struct pack_fetch *fetch)
{
    if (fetch->ops && fetch->ops->close)
        fetch->ops->close(fetch);
    *fetch = (struct pack_fetch){ .ops = NULL };
}

size_t
pack_fetch_margin_bytes(const struct pack_fetch *fetch)
{
    return 2 * fetch->align; /* before, and behind */
}

enum pack_status
pack_fetch_view(const struct pack_fetch *fetch, uint64_t address, size_t size, void *room,
                const void **data, struct pack_error *err)
{
    if (address > fetch->size_bytes || size > fetch->size_bytes - address)
        return pack_fail(
            err, PACK_ERR_FORMAT,
            "%zu bytes at %llu lie beyond the end of the file, which has %llu", size,
            (unsigned long long)address, (unsigned long long)fetch->size_bytes);
    return fetch->ops->view(fetch, address, size, room, data, err);
}

static bool
is_mapped(const struct pack_fetch *fetch, const void *data)
{
    return fetch->mapping &&
           (uintptr_t)data - (uintptr_t)fetch->mapping < fetch->size_bytes;
}

enum pack_status
pack_fetch_read(const struct pack_fetch *fetch, const void *data, void (*work)(void *),
                void *argument, struct pack_error *err)
{
    if (!is_mapped(fetch, data))
        work(argument);
    else if (!pack_mapped_read(fetch->mapping, (size_t)fetch->size_bytes, work, argument))
        return pack_fail(err, PACK_ERR_IO, "what was read is no longer there");
    return PACK_OK;
}
