/*
 * Without this the system keeps what is written until memory is short or half a minute is
 * over, and the sync at the end waits for nearly all of it. Whole stretches are asked for,
 * so that the page at the end, which will be written to again, is left alone:
 *
 *     |--- on the disk ---|--- on its way, at most HOLD ---|--- less than BEGIN ---|
 *     0                  done                            begun                    end
 *
 * Waiting for the disk where it is slower than the writer is what a sync would do later;
 * it bounds the memory that is dirty. The pages stay in memory for those who read next.
 */
#include "libpack/base/writeback.h"

#include <errno.h>
#include <fcntl.h>

#include "config.h"

#ifdef HAVE_SYNC_FILE_RANGE

/* Not an answer about the data: no such call, or not on this file system. */
static bool
is_refusal(int errnum)
{
    return errnum == ENOSYS || errnum == EINVAL || errnum == ESPIPE || errnum == EPERM ||
           errnum == EOPNOTSUPP;
}

/* What the disk says of the stretch from `from` to `to`. */
static bool
ask(struct pack_writeback *w, int fd, uint64_t from, uint64_t to, unsigned flags)
{
    if (sync_file_range(fd, (off64_t)from, (off64_t)(to - from), flags) == 0 ||
        errno == EINTR)
        return true;
    w->refused = is_refusal(errno);
    return w->refused;
}

bool
pack_writeback(struct pack_writeback *w, int fd, uint64_t end)
{
    static const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                 SYNC_FILE_RANGE_WAIT_AFTER;
    uint64_t to = end - end % PACK_WRITEBACK_BEGIN;
    if (w->refused || to <= w->begun)
        return true;
    if (!ask(w, fd, w->begun, to, SYNC_FILE_RANGE_WRITE))
        return false;
    w->begun = to;
    if (w->refused || to - w->done <= PACK_WRITEBACK_HOLD)
        return true;
    uint64_t done = to - PACK_WRITEBACK_HOLD;
    if (!ask(w, fd, w->done, done, wait))
        return false;
    w->done = done;
    return true;
}

#else

bool
pack_writeback(struct pack_writeback *w, int fd, uint64_t end)
{
    (void)w, (void)fd, (void)end;
    return true;
}

#endif
