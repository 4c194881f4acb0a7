/*
 * Verifying a dataset next to its floor: the same chunks read with pread and decoded on as
 * many threads, which find their chunks in a list that is there already.
 *
 *     bench_verify FILE DATASET [THREADS [PAIRS]]
 *
 * Prints both times of each of PAIRS interleaved pairs, and the medians of their ratios, of
 * time and of processor time, which other programs disturb less.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libpack/audit/verify.h"
#include "libpack/base/clock.h"
#include "libpack/base/sort.h"
#include "libpack/hdf5/filter.h"
#include "libpack/reader/chunkmap.h"

static struct pack_chunkmap *map;
static int fd;
static atomic_ullong next_chunk, n_failed;

static void *
read_chunks(void *unused)
{
    struct pack_filter_ctx *ctx;
    size_t room = (size_t)map->grid.chunk_bytes * 2 + 4096;
    unsigned char *stored = malloc(room), *out = malloc((size_t)map->grid.chunk_bytes);
    unsigned long long i;
    if (!stored || !out || pack_filter_ctx_new(&ctx, NULL) != PACK_OK)
        abort();
    pack_filter_ctx_use(ctx, &map->plugins);
    while ((i = atomic_fetch_add(&next_chunk, 1)) < map->index.n_chunks) {
        const struct pack_chunk *c = &map->index.chunks[i];
        struct pack_stored s = { stored, (size_t)c->stored_bytes, c->filter_mask };
        if (c->address_bytes == PACK_CHUNK_MISSING)
            continue;
        if (s.size > room ||
            pread(fd, stored, s.size, (off_t)c->address_bytes) != (ssize_t)s.size ||
            pack_pipeline_decode(&map->facts.pipeline, ctx, &s, out,
                                 (size_t)map->grid.chunk_bytes, NULL) != PACK_OK)
            atomic_fetch_add(&n_failed, 1);
    }
    pack_filter_ctx_free(ctx);
    free(stored);
    free(out);
    return unused;
}

struct took {
    double s, cpu_s;
};

static double
seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Of this process and of those it has waited for. */
static struct took
now(void)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return (struct took){ (double)pack_clock_ns() / 1e9,
                          seconds(self.ru_utime) + seconds(self.ru_stime) +
                              seconds(children.ru_utime) + seconds(children.ru_stime) };
}

static struct took
since(struct took begin)
{
    struct took end = now();
    return (struct took){ end.s - begin.s, end.cpu_s - begin.cpu_s };
}

static struct took
time_floor(unsigned n_threads)
{
    pthread_t threads[64];
    struct took begin = now();
    atomic_store(&next_chunk, 0);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, read_chunks, NULL);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    return since(begin);
}

static struct took
time_verify(const struct pack_verify_params *params)
{
    struct pack_verify_result result;
    struct pack_error err;
    struct took begin = now();
    if (pack_verify(params, &result, &err) != PACK_OK) {
        fprintf(stderr, "bench_verify: %s\n", err.text);
        exit(2);
    }
    struct took took = since(begin);
    if (!pack_verify_is_good(&result))
        fprintf(stderr, "bench_verify: the file is not good\n");
    pack_verify_done(&result);
    return took;
}

int
main(int argc, char **argv)
{
    enum { PAIRS_MAX = 100 };
    double ratios[PAIRS_MAX], cpu_ratios[PAIRS_MAX];
    struct pack_error err;
    unsigned n_threads = argc > 3 ? (unsigned)atoi(argv[3]) : 2;
    size_t n = argc > 4 ? (size_t)atoi(argv[4]) : 11;
    if (argc < 3 || n_threads < 1 || n_threads > 64 || n < 1 || n > PAIRS_MAX) {
        fprintf(stderr, "usage: bench_verify FILE DATASET [THREADS [PAIRS]]\n");
        return 2;
    }
    struct pack_verify_params params = { argv[1], argv[2], .n_threads = n_threads };
    time_verify(&params); /* warms up the page cache */
    if (pack_chunkmap_open(argv[1], argv[2], NULL, &map, &err) != PACK_OK) {
        fprintf(stderr, "bench_verify: %s\n", err.text);
        return 2;
    }
    fd = open(argv[1], O_RDONLY);
    for (size_t i = 0; i < n; i++) {
        struct took floor = { 0, 0 };
        if (i % 2)
            floor = time_floor(n_threads);
        struct took all = time_verify(&params);
        if (i % 2 == 0)
            floor = time_floor(n_threads);
        ratios[i] = all.s / floor.s;
        cpu_ratios[i] = all.cpu_s / floor.cpu_s;
        printf("verify %.3f s, floor %.3f s, ratio %.3f; processor %.3f s, %.3f s, %.3f\n",
               all.s, floor.s, ratios[i], all.cpu_s, floor.cpu_s, cpu_ratios[i]);
    }
    printf("%llu chunks, %u threads, median ratio %.3f, of processor time %.3f, of %zu pairs\n",
           (unsigned long long)map->index.n_chunks, n_threads, pack_sort_median(ratios, n),
           pack_sort_median(cpu_ratios, n), n);
    if (n_failed > 0)
        fprintf(stderr, "bench_verify: %llu chunks could not be read\n",
                (unsigned long long)n_failed);
    pack_chunkmap_close(map);
    close(fd);
    return 0;
}
