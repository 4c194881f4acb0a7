/*
 * The system gives memory page by page, when each is first touched: a tenth of the time of
 * rechunking went there. Only whole large pages are asked for, so that what lies behind the
 * last one comes in small ones and nothing is resident that is not ours.
 */
#include "libpack/base/large.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libpack/base/size.h"

enum { LARGE_PAGE = 2 << 20, HEAD = 64 };

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

/* The size of all stands before it. */
void *
pack_apart_alloc(size_t n, size_t bytes)
{
    uint64_t all;
    if (!pack_size_mul(n, bytes, &all) || !pack_size_add(all, HEAD, &all) || all > SIZE_MAX)
        return NULL;
    unsigned char *data = mmap(NULL, (size_t)all, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return NULL;
    memcpy(data, &all, sizeof all);
    return data + HEAD;
}

void
pack_apart_free(void *data)
{
    uint64_t all;
    if (!data)
        return;
    memcpy(&all, (unsigned char *)data - HEAD, sizeof all);
    munmap((unsigned char *)data - HEAD, (size_t)all);
}
