/*
 * Reads past the page cache (O_DIRECT), for files that are larger than it and read once: the
 * device puts the bytes into the room, and the room alone. Ranges begin and end at multiples
 * of what the file system says, into memory that does, too; of the last block of a file only
 * what there is is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/reader/fetch.h"

enum { ALIGN_USUAL = 4096, ALIGN_MAX = 1 << 16 };

/* 0: such reads are not done here, or not so that they can be served. */
static size_t
find_align(int fd)
{
    size_t align = ALIGN_USUAL;
#ifdef STATX_DIOALIGN /* Linux 6.1 */
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
        st.stx_mask & STATX_DIOALIGN) {
        align = st.stx_dio_offset_align;
        if (align < st.stx_dio_mem_align)
            align = st.stx_dio_mem_align;
    }
#endif
    return align <= ALIGN_MAX && (align & (align - 1)) == 0 ? align : 0;
}

/* Whether a read is done, well or not: some file systems refuse only that. */
static bool
is_read(int fd, size_t align)
{
    void *block = aligned_alloc(align, align);
    bool done = block && (pread(fd, block, align, 0) >= 0 || errno != EINVAL);
    free(block);
    return done;
}

static enum pack_status
direct_open(struct pack_fetch *fetch, struct pack_error *err)
{
    int flags = fcntl(fetch->fd, F_GETFL);
    size_t align = find_align(fetch->fd);
    if (align == 0 || flags < 0 || fcntl(fetch->fd, F_SETFL, flags | O_DIRECT) != 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s", fetch->ops->refusal);
    if (!is_read(fetch->fd, align)) {
        fcntl(fetch->fd, F_SETFL, flags);
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s", fetch->ops->refusal);
    }
    fetch->align = align;
    return PACK_OK;
}

static enum pack_status
direct_view(const struct pack_fetch *fetch, uint64_t address, size_t size, void *room,
            const void **data, struct pack_error *err)
{
    size_t before = address % fetch->align, wanted = before + size, got = 0;
    size_t all = (wanted + fetch->align - 1) / fetch->align * fetch->align;
    while (got < wanted) {
        ssize_t n = pread(fetch->fd, (unsigned char *)room + got, all - got,
                          (off_t)(address - before + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pack_fail_errno(err, errno, "cannot read %zu bytes at %llu", size,
                                   (unsigned long long)address);
        size_t reached = got + (size_t)n;
        if (reached < wanted)
            reached -= reached % fetch->align; /* to go on from there */
        if (reached == got)
            return pack_fail(err, PACK_ERR_CHANGED,
                             "the file was cut short: %zu bytes at %llu are no longer there",
                             size, (unsigned long long)address);
        got = reached;
    }
    *data = (unsigned char *)room + before;
    return PACK_OK;
}

const struct pack_fetch_ops pack_fetch_direct = {
    .name = "direct",
    .refusal = "the file system does not read past the page cache",
    .open = direct_open,
    .view = direct_view,
};
