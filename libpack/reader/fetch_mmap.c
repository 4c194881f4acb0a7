/*
 * A mapping of the whole file. Pages are asked for before they are touched the first time,
 * with MADV_POPULATE_READ of Linux 5.14: a page that cannot be read is an error of that call,
 * where touching it would be a SIGBUS. What is left is a page that goes after that call, of
 * a file that is cut short or one that memory took back: pack_fetch_read().
 *
 * Asking again for what is there takes a third as long as copying it, so pages that were
 * asked for have a bit each.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libpack/base/mapped.h"
#include "libpack/reader/fetch.h"

#ifdef MADV_POPULATE_READ
enum { POPULATE_READ = MADV_POPULATE_READ };
#else
enum { POPULATE_READ = 22 }; /* a kernel that is newer than its headers */
#endif

typedef _Atomic uint64_t word;

enum { WORD_BITS = 64 };

static uint64_t
page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Those bits of a word that stand for pages first to last. */
static uint64_t
bits_of(uint64_t at, uint64_t first, uint64_t last)
{
    uint64_t from = at == first / WORD_BITS ? first % WORD_BITS : 0;
    uint64_t to = at == last / WORD_BITS ? last % WORD_BITS : WORD_BITS - 1;
    return UINT64_MAX << from & UINT64_MAX >> (WORD_BITS - 1 - to);
}

static bool
were_asked(word *asked, uint64_t first, uint64_t last)
{
    for (uint64_t at = first / WORD_BITS; at <= last / WORD_BITS; at++) {
        uint64_t bits = bits_of(at, first, last);
        if ((atomic_load_explicit(&asked[at], memory_order_relaxed) & bits) != bits)
            return false;
    }
    return true;
}

static bool
populate(const struct pack_fetch *fetch, uint64_t address, size_t size)
{
    if (size == 0)
        return true;
    uint64_t page = page_bytes(), first = address / page,
             last = (address + size - 1) / page;
    word *asked = fetch->asked;
    if (were_asked(asked, first, last))
        return true;
    unsigned char *at = (unsigned char *)fetch->mapping + first * page;
    if (madvise(at, address - first * page + size, POPULATE_READ) != 0)
        return false;
    for (uint64_t i = first / WORD_BITS; i <= last / WORD_BITS; i++)
        atomic_fetch_or_explicit(&asked[i], bits_of(i, first, last),
                                 memory_order_relaxed);
    return true;
}

static void
mmap_close(struct pack_fetch *fetch)
{
    if (!fetch->mapping)
        return;
    munmap(fetch->mapping, fetch->size_bytes);
    free(fetch->asked);
    fetch->mapping = fetch->asked = NULL;
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
    fetch->asked = calloc(fetch->size_bytes / page_bytes() / WORD_BITS + 1, sizeof(word));
    if (!fetch->asked) {
        munmap(mapping, fetch->size_bytes);
        return pack_fail_memory(err, "pages of a mapping");
    }
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
