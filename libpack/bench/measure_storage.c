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
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/pool.h"
#include "libpack/base/clock.h"
#include "libpack/base/rng.h"

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

/* Reads by `depth` threads: ns per read of one thread, reads per second of all. */
static enum pack_status
phase(int fd, uint64_t file_bytes, size_t size, unsigned depth, unsigned char *buffer,
      double *read_ns, double *reads_per_s)
{
    struct reads reads[DEPTH];
    struct pack_pool_lane lane = { .work = read_some, .in_flight_max = DEPTH };
    struct pack_pool *pool = NULL;
    enum pack_status status = pack_pool_new(depth, &lane, 1, &pool, NULL);
    if (status != PACK_OK)
        return status;
    double ns = 0, n = 0;
    *reads_per_s = 0;
    for (unsigned i = 0; i < depth; i++) {
        reads[i] = (struct reads){ .fd = fd,
                                   .size = size,
                                   .places = file_bytes / size,
                                   .seed = size + depth * 16 + i,
                                   .until_ns = pack_clock_ns() + phase_ns,
                                   .buffer = buffer + i * (size_t)LARGE };
        pack_pool_submit(pool, 0, &reads[i]);
    }
    for (unsigned i = 0; i < depth; i++) {
        const struct reads *r = pack_pool_next(pool, 0);
        if (r->failed)
            status = r->failed == EINVAL ? PACK_ERR_UNSUPPORTED : PACK_ERR_IO;
        ns += (double)r->ns;
        n += (double)r->n;
        if (r->ns)
            *reads_per_s += (double)r->n * 1e9 / (double)r->ns;
    }
    pack_pool_free(pool);
    *read_ns = ns / fmax(n, 1);
    return status;
}

enum pack_status
pack_measure_storage(const char *file, struct pack_profile *profile)
{
    struct stat info;
    void *buffer = NULL;
    double small, large, many, alone, ignored, many_small, many_large;
    enum pack_status status = PACK_ERR_IO;
    int fd = open(file, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0)
        return errno == EINVAL ? PACK_ERR_UNSUPPORTED : PACK_ERR_IO;
    if (fstat(fd, &info) != 0)
        goto out;
    uint64_t bytes = (uint64_t)info.st_size;
    status = bytes < least_bytes ? PACK_ERR_UNSUPPORTED : PACK_OK;
    if (status == PACK_OK && posix_memalign(&buffer, SMALL, (size_t)DEPTH * LARGE) != 0)
        status = PACK_ERR_MEMORY;
    if (status == PACK_OK)
        status = phase(fd, bytes, SMALL, 1, buffer, &small, &alone);
    if (status == PACK_OK)
        status = phase(fd, bytes, LARGE, 1, buffer, &large, &ignored);
    if (status == PACK_OK)
        status = phase(fd, bytes, SMALL, DEPTH, buffer, &many, &many_small);
    if (status == PACK_OK)
        status = phase(fd, bytes, LARGE, DEPTH, buffer, &many, &many_large);
    if (status != PACK_OK)
        goto out;
    profile->latency_ns = small;
    profile->stream_bytes_per_s = 1e9 * (LARGE - SMALL) / fmax(large - small, 1000);
    profile->max_bytes_per_s = fmax(many_large * LARGE, profile->stream_bytes_per_s);
    profile->max_reads_per_s = fmax(many_small, alone);
out:
    free(buffer);
    close(fd);
    return status;
}
