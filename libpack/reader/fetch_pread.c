/* Positioned reads: one copy by the system, and every error is one of its read. */
#include <errno.h>

#include "libpack/base/fd.h"
#include "libpack/reader/fetch.h"

static enum pack_status
pread_view(const struct pack_fetch *fetch, uint64_t address, size_t size, void *room,
           const void **data, struct pack_error *err)
{
    size_t got;
    if (!pack_fd_read_at(fetch->fd, room, size, address, &got))
        return pack_fail_errno(err, errno, "cannot read %zu bytes at %llu", size,
                               (unsigned long long)address);
    if (got < size)
        return pack_fail(err, PACK_ERR_CHANGED,
                         "the file was cut short: %zu of %zu bytes at %llu", got, size,
                         (unsigned long long)address);
    *data = room;
    return PACK_OK;
}

const struct pack_fetch_ops pack_fetch_pread = {
    .name = "pread",
    .view = pread_view,
};
