/*
 * Storage and page cache, on one scratch file read with pread().
 *
 * Cold reads: the file's pages are dropped, mincore() says whether that worked, and
 * several threads read different places once each. Four figures come out: the time of a
 * small read alone; what large reads of one thread add per byte; bytes and reads per
 * second of many threads. Warm reads: random places of a file that is in the page cache,
 * larger than the processor's caches.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libpack/advise/calibrate_parts.h"
#include "libpack/base/clock.h"
#include "libpack/base/pool.h"
#include "libpack/base/sort.h"
#include "libpack/base/system.h"

enum { DEPTH_MAX = 16, READS_PER_THREAD = 24, SMALL = 4 << 10, LARGE = 2 << 20 };

static enum pack_status
write_scratch(struct pack_lab *lab, int fd, struct pack_error *err)
{
    for (size_t i = 0; i < PACK_LAB_BUFFER; i += 8) {
        uint64_t word = pack_rng_next(&lab->rng);
        for (int k = 0; k < 8; k++)
            lab->buffer[i + (size_t)k] = (unsigned char)(word >> 8 * k);
    }
    enum pack_status status = PACK_OK;
    for (uint64_t at = 0; status == PACK_OK && at + PACK_LAB_BUFFER <= lab->size_bytes;) {
        ssize_t n = pwrite(fd, lab->buffer, PACK_LAB_BUFFER, (off_t)at);
        /* bit by bit, so that whoever stops this does not wait for all of it */
        if ((n < 0 && errno != EINTR) || (!lab->params->is_quick && fdatasync(fd) != 0))
            return pack_fail_errno(err, errno, "cannot write in '%s'", lab->where);
        at += n > 0 ? (uint64_t)n : 0;
        status = pack_watch_check(&lab->params->watch, err);
    }
    return status;
}

/* Drops the file's pages and counts those that stayed. */
static enum pack_status
make_cold(struct pack_lab *lab, int fd, struct pack_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)lab->size_bytes;
    size_t n = (bytes + page - 1) / page;
    unsigned char *in_memory = malloc(n);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    enum pack_status status = PACK_OK;
    if (!in_memory || map == MAP_FAILED) {
        status = pack_fail_memory(err, "looking at the page cache");
        goto out;
    }
    pack_system_drop_fd(fd, NULL); /* whether it helped, mincore() says */
    if (mincore(map, bytes, in_memory) != 0) {
        status = pack_fail_errno(err, errno, "cannot look at the page cache of a file in '%s'",
                                 lab->where);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        lab->result->still_cached_bytes += in_memory[i] & 1 ? page : 0;
    lab->result->cold_bytes += bytes;
out:
    if (map != MAP_FAILED)
        munmap(map, bytes);
    free(in_memory);
    return status;
}

/* One thread's reads. */
struct reads {
    int fd;
    size_t size, n;
    uint64_t at[READS_PER_THREAD];
    unsigned char *buffer;
    int errnum;
};

static void
read_all(void *item, unsigned worker, void *context)
{
    struct reads *r = item;
    (void)worker, (void)context;
    for (size_t i = 0; i < r->n; i++)
        if (pread(r->fd, r->buffer, r->size, (off_t)r->at[i]) < 0)
            r->errnum = errno;
}

/* Cold reads of `size` bytes by `depth` threads: ns from the first to the last, per read
 * of one thread. */
static enum pack_status
time_cold(struct pack_lab *lab, int fd, size_t size, unsigned depth, double *ns,
          struct pack_error *err)
{
    size_t n = READS_PER_THREAD;
    struct reads reads[DEPTH_MAX];
    struct pack_pool_lane lane = { .work = read_all, .in_flight_max = DEPTH_MAX };
    struct pack_pool *pool = NULL;
    uint64_t places = lab->size_bytes / size, stride = places / (n * depth);
    if (stride == 0) { /* a small scratch file: fewer, so that none is read twice */
        stride = 1;
        n = places / depth;
    }
    uint64_t shift = pack_rng_below(&lab->rng, stride);
    enum pack_status status = make_cold(lab, fd, err);
    if (status == PACK_OK)
        status = pack_pool_new(depth, &lane, 1, &pool, err);
    if (status != PACK_OK)
        return status;
    for (unsigned d = 0; d < depth; d++) {
        reads[d] = (struct reads){ .fd = fd, .size = size, .n = n };
        reads[d].buffer = lab->buffer + (size_t)d * (PACK_LAB_BUFFER / DEPTH_MAX);
        if (depth == 1)
            reads[d].buffer = lab->buffer;
        for (size_t i = 0; i < n; i++) /* neighbours in time are far apart in the file */
            reads[d].at[i] = ((i * 7 % n) * depth + d) * stride * size + shift * size;
    }
    uint64_t start = pack_clock_ns();
    for (unsigned d = 0; d < depth; d++)
        pack_pool_submit(pool, 0, &reads[d]);
    for (unsigned d = 0; d < depth; d++) {
        struct reads *r = pack_pool_next(pool, 0);
        if (r->errnum)
            status = pack_fail_errno(err, r->errnum, "cannot read in '%s'", lab->where);
    }
    *ns = (double)(pack_clock_ns() - start) / (double)n;
    pack_pool_free(pool);
    return status;
}

/* The median of three. */
static enum pack_status
cold(struct pack_lab *lab, int fd, size_t size, unsigned depth, double *ns,
     struct pack_error *err)
{
    double t[3];
    enum pack_status status = PACK_OK;
    for (int i = 0; status == PACK_OK && i < 3; i++) {
        status = time_cold(lab, fd, size, depth, &t[i], err);
        if (status == PACK_OK)
            status = pack_watch_check(&lab->params->watch, err);
    }
    if (status == PACK_OK)
        *ns = pack_sort_median(t, 3);
    return status;
}

static enum pack_status
measure_cold(struct pack_lab *lab, int fd, struct pack_error *err)
{
    struct pack_profile *p = lab->profile;
    double small, large, many_small, many_large;
    const unsigned readers = 4;
    enum pack_status status = cold(lab, fd, SMALL, 1, &small, err);
    if (status == PACK_OK)
        status = cold(lab, fd, LARGE, 1, &large, err);
    if (status == PACK_OK)
        status = cold(lab, fd, SMALL, DEPTH_MAX, &many_small, err);
    if (status == PACK_OK)
        status = cold(lab, fd, LARGE / 4, readers, &many_large, err);
    if (status != PACK_OK)
        return status;
    p->latency_ns = pack_lab_positive(small);
    p->stream_bytes_per_s = 1e9 * (LARGE - SMALL) / pack_lab_positive(large - small);
    p->max_reads_per_s = 1e9 * DEPTH_MAX / many_small;
    p->max_bytes_per_s = 1e9 * readers * (LARGE / 4) / many_large;
    if (p->max_bytes_per_s < p->stream_bytes_per_s)
        p->max_bytes_per_s = p->stream_bytes_per_s;
    if (p->max_reads_per_s < 1e9 / small)
        p->max_reads_per_s = 1e9 / small;
    lab->result->is_cold = lab->result->still_cached_bytes * 20 < lab->result->cold_bytes;
    return PACK_OK;
}

/* ns of one read of `size` bytes, from random places that are in the page cache to random
 * places among `range` bytes of memory. */
static double
time_warm(struct pack_lab *lab, int fd, size_t size, unsigned char *to, size_t range)
{
    double times[PACK_LAB_ROUNDS];
    size_t n = PACK_LAB_BUFFER / size;
    n = n > 2000 ? 2000 : n < 4 ? 4 : n;
    for (size_t round = 0; round < lab->n_rounds; round++) {
        uint64_t places = (lab->size_bytes - size) / SMALL, start = pack_clock_cpu_ns();
        for (size_t i = 0; i < n; i++) {
            off_t at = (off_t)(pack_rng_below(&lab->rng, places) * SMALL);
            size_t shift = (size_t)pack_rng_below(&lab->rng, range / size) * size;
            if (pread(fd, to + shift, size, at) < 0)
                return 0;
        }
        times[round] = (double)(pack_clock_cpu_ns() - start) / (double)n;
    }
    return pack_lab_fastest(times, lab->n_rounds);
}

/* What a byte costs more when it goes to memory that has left the processor's caches. */
static enum pack_status
measure_place(struct pack_lab *lab, int fd, struct pack_error *err)
{
    const size_t size = 256 << 10, range = lab->params->is_quick ? 64 << 20 : 256 << 20;
    unsigned char *memory = aligned_alloc(PACK_LAB_PAGE, range);
    if (!memory)
        return pack_fail_memory(err, "measuring");
    memset(memory, 1, range);
    double far = time_warm(lab, fd, size, memory, range);
    double near = time_warm(lab, fd, size, memory, size);
    lab->profile->place_ns = fmax((far - near) / (double)size, 1e-3);
    free(memory);
    return PACK_OK;
}

static void
measure_warm(struct pack_lab *lab, int fd)
{
    static const size_t sizes[] = { 1 << 10,   4 << 10, 16 << 10, 64 << 10,
                                    256 << 10, 1 << 20, 4 << 20,  16 << 20 };
    struct pack_profile_curve *page = &lab->profile->page;
    page->n = 0;
    for (uint64_t at = 0; at + PACK_LAB_BUFFER <= lab->size_bytes; at += PACK_LAB_BUFFER)
        if (pread(fd, lab->buffer, PACK_LAB_BUFFER, (off_t)at) < 0)
            break;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        page->bytes[page->n] = (double)sizes[i];
        page->value[page->n++] =
            pack_lab_positive(time_warm(lab, fd, sizes[i], lab->buffer, sizes[i]));
    }
}

enum pack_status
pack_lab_storage(struct pack_lab *lab, struct pack_error *err)
{
    int fd = open(lab->path, O_RDWR | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open a scratch file in '%s'", lab->where);
    enum pack_status status = write_scratch(lab, fd, err);
    lab->size_bytes -= lab->size_bytes % PACK_LAB_BUFFER;
    if (status == PACK_OK)
        status = measure_cold(lab, fd, err);
    if (status == PACK_OK) {
        measure_warm(lab, fd);
        status = measure_place(lab, fd, err);
    }
    close(fd);
    return status;
}

enum pack_status
pack_lab_page_cache(struct pack_lab *lab, struct pack_error *err)
{
    int fd = open(lab->path, O_RDWR | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open a scratch file in '%s'", lab->where);
    enum pack_status status = write_scratch(lab, fd, err);
    if (status == PACK_OK) {
        measure_warm(lab, fd);
        status = measure_place(lab, fd, err);
    }
    close(fd);
    return status;
}
