/*
 * The codec floor of rechunking: decodes all chunks of SOURCE and encodes all of TARGET, as
 * far as they have filters, on N threads, in memory, and does nothing with the results.
 * Prints the seconds it took, by the clock and of the processors.
 *
 *     codec_floor N SOURCE TARGET DATASET
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/hdf5/filter.h"
#include "libpack/reader/chunkmap.h"

enum { THREADS_MAX = 64 };

/* A dataset in memory: stored, and for encoding its chunks decoded. */
struct side {
    struct pack_chunkmap *map;
    const unsigned char *stored;
    unsigned char *chunks; /* NULL: not needed */
    atomic_ullong next;
};

static struct side source, target;

static void
die(const char *what)
{
    fprintf(stderr, "codec_floor: %s\n", what);
    exit(2);
}

static void
decode(const struct side *side, uint64_t number, struct pack_filter_ctx *ctx, void *out)
{
    struct pack_chunk chunk;
    struct pack_error err;
    pack_chunkmap_chunk(side->map, number, &chunk);
    struct pack_stored stored = { side->stored + chunk.address_bytes,
                                  (size_t)chunk.stored_bytes, chunk.filter_mask };
    if (pack_pipeline_decode(&side->map->facts.pipeline, ctx, &stored, out,
                             (size_t)side->map->grid.chunk_bytes, &err) != PACK_OK)
        die(err.text);
}

static void *
work(void *unused)
{
    struct pack_filter_ctx *ctx;
    struct pack_error err;
    struct pack_stored stored;
    const struct pack_pipeline *pipeline = &target.map->facts.pipeline;
    size_t in = (size_t)source.map->grid.chunk_bytes,
           out = (size_t)target.map->grid.chunk_bytes;
    unsigned char *chunk = malloc(in), *room = malloc(pack_pipeline_bound(pipeline, out));
    if (!chunk || !room || pack_filter_ctx_new(&ctx, &err) != PACK_OK)
        die("no memory");
    for (uint64_t i; source.map->n_coded > 0 &&
                     (i = atomic_fetch_add(&source.next, 1)) < source.map->index.n_chunks;)
        decode(&source, i, ctx, chunk);
    for (uint64_t i; target.map->n_coded > 0 &&
                     (i = atomic_fetch_add(&target.next, 1)) < target.map->index.n_chunks;)
        if (pack_pipeline_encode_to(pipeline, ctx, target.chunks + i * out, out, room,
                                    &stored, &err) != PACK_OK)
            die(err.text);
    pack_filter_ctx_free(ctx);
    free(chunk);
    free(room);
    return unused;
}

static void
load(struct side *side, const char *file, const char *dataset)
{
    struct pack_error err;
    int fd = open(file, O_RDONLY);
    if (pack_chunkmap_open(file, dataset, NULL, &side->map, &err) != PACK_OK)
        die(err.text);
    if (side->map->facts.layout != PACK_LAYOUT_CHUNKED || side->map->unmapped[0])
        die("not chunked");
    side->stored = mmap(NULL, side->map->file.size_bytes, PROT_READ,
                        MAP_SHARED | MAP_POPULATE, fd, 0);
    if (side->stored == MAP_FAILED)
        die("cannot map a file");
    close(fd);
}

/* The chunks that are to be encoded. */
static void
decode_target(void)
{
    struct pack_filter_ctx *ctx;
    size_t size = (size_t)target.map->grid.chunk_bytes;
    target.chunks = calloc(target.map->index.n_chunks, size);
    if (!target.chunks || pack_filter_ctx_new(&ctx, NULL) != PACK_OK)
        die("no memory");
    for (uint64_t i = 0; i < target.map->index.n_chunks; i++)
        decode(&target, i, ctx, target.chunks + i * size);
    pack_filter_ctx_free(ctx);
}

static double
processor_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int
main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    int n = argc == 5 ? atoi(argv[1]) : 0;
    if (n < 1 || n > THREADS_MAX)
        die("N SOURCE TARGET DATASET");
    load(&source, argv[2], argv[4]);
    load(&target, argv[3], argv[4]);
    if (target.map->n_coded > 0)
        decode_target();
    double before_s = processor_s();
    uint64_t start_ns = pack_clock_ns();
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    printf("%.6f %.6f\n", (double)(pack_clock_ns() - start_ns) / 1e9,
           processor_s() - before_s);
    return 0;
}
