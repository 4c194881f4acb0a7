/*
 * Small reads alone give the latency; what large ones take beyond that, the rate of one
 * stream; small and large ones from several threads, what the device gives at most. Four
 * phases, each over after an eighth of a second or READS_MAX reads, whichever is first,
 * so that a disk that seeks is done in time too.
 */
#include "libpack/bench/measure_storage.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libpack/base/pool.h"
#include "libpack/base/clock.h"
#include "libpack/base/large.h"
#include "libpack/base/rng.h"
#include "libpack/base/sort.h"

enum { SMALL = 4096, LARGE = 1 << 20, DEPTH = 4, READS_MAX = 256, READS_MIN = 3 };
static const uint64_t phase_ns = 125 * 1000 * 1000, least_bytes = 16 << 20;

/* One thread's part of a phase. */
struct reads {
    int fd;
    size_t size;
    uint64_t places, seed, until_ns;
    unsigned char *buffer;
    uint64_t n, ns;
    int failed;
};

static void
read_some(void *item, unsigned worker, void *context)
{
    struct reads *r = item;
    struct pack_rng rng;
    (void)worker, (void)context;
    pack_rng_seed(&rng, r->seed);
    uint64_t start_ns = pack_clock_ns(), now = start_ns;
    while (r->n < READS_MAX && (r->n < READS_MIN || now < r->until_ns)) {
        off_t at = (off_t)(pack_rng_below(&rng, r->places) * r->size);
        if (pread(r->fd, r->buffer, r->size, at) != (ssize_t)r->size) {
            r->failed = errno ? errno : EIO;
            return;
        }
        now = pack_clock_ns();
        r->n++;
    }
    r->ns = now - start_ns;
}

/* The file, and memory for DEPTH large reads of it. */
struct storage {
    int fd;
    uint64_t bytes;
    void *buffer;
};

struct speed {
    double read_ns;     /* of one thread's read */
    double reads_per_s; /* of all threads */
};

/* Reads of so many bytes by `depth` threads. */
static enum pack_status
phase(const struct storage *storage, size_t size, unsigned depth, struct speed *speed)
{
    struct reads reads[DEPTH];
    struct pack_pool_lane lane = { .work = read_some, .in_flight_max = DEPTH };
    struct pack_pool *pool = NULL;
    enum pack_status status = pack_pool_new(depth, &lane, 1, &pool, NULL);
    if (status != PACK_OK)
        return status;
    double ns = 0, n = 0;
    *speed = (struct speed){ 0 };
    for (unsigned i = 0; i < depth; i++) {
        reads[i] = (struct reads){ .fd = storage->fd,
                                   .size = size,
                                   .places = storage->bytes / size,
                                   .seed = size + depth * 16 + i,
                                   .until_ns = pack_clock_ns() + phase_ns,
                                   .buffer = (unsigned char *)storage->buffer +
                                             i * (size_t)LARGE };
        pack_pool_submit(pool, 0, &reads[i]);
    }
    for (unsigned i = 0; i < depth; i++) {
        const struct reads *r = pack_pool_next(pool, 0);
        if (r->failed)
            status = r->failed == EINVAL ? PACK_ERR_UNSUPPORTED : PACK_ERR_IO;
        ns += (double)r->ns;
        n += (double)r->n;
        if (r->ns)
            speed->reads_per_s += (double)r->n * 1e9 / (double)r->ns;
    }
    pack_pool_free(pool);
    speed->read_ns = ns / fmax(n, 1);
    return status;
}

enum pack_status
pack_measure_storage(const char *file, struct pack_profile *profile)
{
    struct stat info;
    struct storage s = { .fd = open(file, O_RDONLY | O_DIRECT | O_CLOEXEC) };
    struct speed small, large, many_small, many_large;
    enum pack_status status = PACK_ERR_IO;
    if (s.fd < 0)
        return errno == EINVAL ? PACK_ERR_UNSUPPORTED : PACK_ERR_IO;
    unsigned char *room = pack_apart_alloc(1, (size_t)DEPTH * LARGE + SMALL);
    if (fstat(s.fd, &info) != 0)
        goto out;
    s.bytes = (uint64_t)info.st_size;
    status = s.bytes < least_bytes ? PACK_ERR_UNSUPPORTED : PACK_OK;
    if (status == PACK_OK && !room)
        status = PACK_ERR_MEMORY;
    if (room) /* what past the page cache is read begins with a page */
        s.buffer = room + (SMALL - (uintptr_t)room % SMALL);
    if (status == PACK_OK)
        status = phase(&s, SMALL, 1, &small);
    if (status == PACK_OK)
        status = phase(&s, LARGE, 1, &large);
    if (status == PACK_OK)
        status = phase(&s, SMALL, DEPTH, &many_small);
    if (status == PACK_OK)
        status = phase(&s, LARGE, DEPTH, &many_large);
    if (status != PACK_OK)
        goto out;
    double stream = 1e9 * (LARGE - SMALL) / fmax(large.read_ns - small.read_ns, 1000);
    profile->latency_ns = small.read_ns;
    profile->stream_bytes_per_s = stream;
    profile->max_bytes_per_s = fmax(many_large.reads_per_s * LARGE, stream);
    profile->max_reads_per_s = fmax(many_small.reads_per_s, small.reads_per_s);
out:
    pack_apart_free(room);
    close(s.fd);
    return status;
}

/* ------------------------------------------------------------------ page cache */

enum { PAIRS_MAX = 257, PAIRS_MIN = 9, PLACES_MAX = 16, READERS_MAX = 8, TO_MAX = 64 << 20 };
static const uint64_t pairs_ns = 30 * 1000 * 1000;

/* A random place below `end` where data is stored: holes are read from nowhere, or from
 * one page. Negative where none was found. */
static off_t
data_place(int fd, size_t bytes, uint64_t end, struct pack_rng *rng)
{
    for (int i = 0; i < PLACES_MAX; i++) {
        off_t at = (off_t)pack_rng_below(rng, end - bytes + 1),
              data = lseek(fd, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            continue; /* a hole up to the end */
        if (data < 0 ||
            (data == at && lseek(fd, at, SEEK_HOLE) >= at + (off_t)bytes))
            return at; /* or holes are not told */
    }
    return -1;
}

/* Of one read at a random place below `end`, from pages alone: what is not there is read
 * untimed first. 0 on failure, and where nothing can be had from pages alone for sure. */
static double
read_ns(int fd, void *buffer, size_t bytes, uint64_t end, struct pack_rng *rng)
{
    struct iovec part = { .iov_base = buffer, .iov_len = bytes };
    off_t at = data_place(fd, bytes, end, rng);
    if (at < 0)
        return 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        uint64_t start_ns = pack_clock_ns();
        ssize_t n = preadv2(fd, &part, 1, at, RWF_NOWAIT);
        double ns = (double)(pack_clock_ns() - start_ns);
        if (n == (ssize_t)bytes)
            return ns;
        bool is_known = n >= 0 || errno == EAGAIN;
        start_ns = pack_clock_ns();
        if (pread(fd, buffer, bytes, at) != (ssize_t)bytes)
            return 0;
        if (!is_known) /* a file system that does not tell */
            return (double)(pack_clock_ns() - start_ns);
    }
    return 0;
}

/* Of the smaller of two files; 0 where one is not there. */
static uint64_t
common_bytes(int a, int b)
{
    struct stat x, y;
    if (a < 0 || b < 0 || fstat(a, &x) != 0 || fstat(b, &y) != 0)
        return 0;
    return (uint64_t)(x.st_size < y.st_size ? x.st_size : y.st_size);
}

/* One reader's part. */
struct pairs {
    int fd, copy_fd;
    uint64_t end, seed;
    size_t size, n_places; /* places: where reads go to, one after another */
    unsigned char *to;
    double ratio[PAIRS_MAX];
    size_t n;
};

static void
read_pairs(void *item, unsigned worker, void *context)
{
    struct pairs *p = item;
    struct pack_rng rng;
    (void)worker, (void)context;
    pack_rng_seed(&rng, p->seed);
    uint64_t start_ns = pack_clock_ns();
    for (size_t i = 0; p->n < PAIRS_MAX &&
                       (p->n < PAIRS_MIN || pack_clock_ns() - start_ns < pairs_ns);
         i += 2) {
        double of_file = read_ns(p->fd, p->to + i % p->n_places * p->size, p->size, p->end, &rng),
               of_copy = read_ns(p->copy_fd, p->to + (i + 1) % p->n_places * p->size, p->size,
                                 p->end, &rng);
        if (of_file <= 0 || of_copy <= 0)
            return;
        p->ratio[p->n++] = of_file / of_copy;
    }
}

/* Each with memory of its own, used before the clock starts; false without. */
static bool
give_memory(struct pairs *pairs, size_t n)
{
    size_t bytes = pairs->size * pairs->n_places;
    for (size_t i = 0; i < n; i++) {
        pairs[i].to = pack_apart_alloc(1, bytes);
        if (!pairs[i].to)
            return false;
        memset(pairs[i].to, 1, bytes);
    }
    return true;
}

/* The median of all readers' ratios; 1 where one of them could not tell. */
static double
median_of(struct pairs *pairs, size_t n_readers)
{
    static const size_t most = (size_t)READERS_MAX * PAIRS_MAX;
    double *all = pack_apart_alloc(most, sizeof *all), ratio = 1;
    size_t n = 0, least = PAIRS_MAX;
    for (size_t i = 0; all && i < n_readers; i++) {
        memcpy(all + n, pairs[i].ratio, pairs[i].n * sizeof *all);
        n += pairs[i].n;
        least = pairs[i].n < least ? pairs[i].n : least;
    }
    if (all && least >= PAIRS_MIN)
        ratio = pack_sort_median(all, n);
    pack_apart_free(all);
    return ratio;
}

double
pack_measure_pages(const char *file, const char *copy, const struct pack_page_reads *reads)
{
    struct pack_pool_lane lane = { .work = read_pairs, .in_flight_max = READERS_MAX };
    struct pack_pool *pool = NULL;
    double ratio = 1;
    uint64_t bytes = reads->bytes, to = reads->to_bytes;
    size_t n = reads->n_readers < 1 ? 1 : (size_t)reads->n_readers;
    n = n > READERS_MAX ? READERS_MAX : n;
    bytes = bytes < SMALL ? SMALL : bytes > LARGE ? LARGE : bytes;
    to = to > TO_MAX / n ? TO_MAX / n : to;
    to = to < bytes ? bytes : to;
    int fd = open(file, O_RDONLY | O_CLOEXEC), copy_fd = open(copy, O_RDONLY | O_CLOEXEC);
    /* the same span of both: of a small file the processor's caches hold more */
    uint64_t end = common_bytes(fd, copy_fd);
    struct pairs *pairs = pack_apart_alloc(n, sizeof *pairs);
    for (size_t i = 0; pairs && i < n; i++)
        pairs[i] = (struct pairs){ .fd = fd,
                                   .copy_fd = copy_fd,
                                   .end = end,
                                   .seed = bytes + i,
                                   .size = (size_t)bytes,
                                   .n_places = (size_t)(to / bytes) };
    if (pairs && end >= bytes && give_memory(pairs, n) &&
        pack_pool_new((unsigned)n, &lane, 1, &pool, NULL) == PACK_OK) {
        for (size_t i = 0; i < n; i++)
            pack_pool_submit(pool, 0, &pairs[i]);
        for (size_t i = 0; i < n; i++)
            (void)pack_pool_next(pool, 0);
        pack_pool_free(pool);
        ratio = median_of(pairs, n);
    }
    if (fd >= 0)
        close(fd);
    if (copy_fd >= 0)
        close(copy_fd);
    for (size_t i = 0; pairs && i < n; i++)
        pack_apart_free(pairs[i].to);
    pack_apart_free(pairs);
    return ratio;
}
