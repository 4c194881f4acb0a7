/*
 * The system gives memory page by page, when each is first touched: a tenth of the time of
 * rechunking went there. Only whole large pages are asked for, so that what lies behind the
 * last one comes in small ones and nothing is resident that is not ours.
 */
#include "libpack/base/large.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 << 20 };

void *
pack_large_alloc(size_t bytes)
{
    size_t behind = bytes % LARGE_PAGE, whole = bytes - behind + (behind ? LARGE_PAGE : 0);
    if (whole < bytes)
        return NULL;
    void *data = bytes < LARGE_PAGE ? malloc(bytes) : aligned_alloc(LARGE_PAGE, whole);
#ifdef MADV_HUGEPAGE
    if (data && bytes >= LARGE_PAGE)
        madvise(data, bytes - bytes % LARGE_PAGE, MADV_HUGEPAGE); /* or small ones it is */
#endif
    return data;
}
