/*
 * The reader against what bounds it, warm, rounds in turns, medians: two threads that copy
 * the same samples out of a mapping (unfiltered chunks of one) or decode the same chunks
 * (filtered), and stock HDF5 with its default cache. Uniform shuffle, or block shuffle of
 * POOL chunks; batches of 256.
 *
 *     bench_reader FILE DATASET [ROUNDS] [MEMORY_MIB] [POOL]
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <libpack/reader.h>
#include "libpack/base/clock.h"
#include "libpack/base/sort.h"
#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/reader/chunkmap.h"

enum { N_THREADS = 2, BATCH = 256, N_BUFFERS = 3, N_EPOCHS = 8, ROUNDS_MAX = 101 };

static const char *file, *dataset;
static uint64_t memory_bytes, pool_chunks;
static struct pack_chunkmap *map;
static const unsigned char *mapping;
static uint64_t *order, n_samples, sample_bytes;

static void
die(const char *what)
{
    fprintf(stderr, "bench_reader: %s\n", what);
    exit(2);
}

static struct pack_pattern
make_pattern(void)
{
    return (struct pack_pattern){ .kind = pool_chunks ? PACK_PATTERN_BLOCK
                                                      : PACK_PATTERN_SHUFFLE,
                                  .seed = 1,
                                  .pool_chunks = pool_chunks };
}

/* ------------------------------------------------------------------ floors */

struct share {
    pthread_t thread;
    unsigned number;
    unsigned char *buffer; /* of batches, or of a chunk */
};

/* Every second sample, to where it would be in a ring of batches. */
static void *
copy_share(void *argument)
{
    struct share *share = argument;
    for (uint64_t i = share->number; i < n_samples; i += N_THREADS) {
        struct pack_chunk chunk;
        pack_chunkmap_chunk(map, order[i], &chunk);
        memcpy(share->buffer + i % (BATCH * N_BUFFERS) * sample_bytes,
               mapping + chunk.address_bytes, sample_bytes);
    }
    return NULL;
}

/* Every second chunk, once. */
static void *
decode_share(void *argument)
{
    struct share *share = argument;
    struct pack_filter_ctx *ctx;
    struct pack_error err;
    size_t size = (size_t)map->grid.chunk_bytes;
    unsigned char *out = share->buffer + share->number * size;
    if (pack_filter_ctx_new(&ctx, &err) != PACK_OK)
        die(err.text);
    for (uint64_t i = share->number; i < map->grid.n_chunks_total; i += N_THREADS) {
        struct pack_chunk chunk;
        pack_chunkmap_chunk(map, i, &chunk);
        struct pack_stored stored = { mapping + chunk.address_bytes,
                                      (size_t)chunk.stored_bytes, chunk.filter_mask };
        if (pack_pipeline_decode(&map->facts.pipeline, ctx, &stored, out, size, &err) !=
            PACK_OK)
            die(err.text);
    }
    pack_filter_ctx_free(ctx);
    return NULL;
}

/* Seconds that the floor takes. */
static double
time_floor(void)
{
    static unsigned char *buffer;
    struct share share[N_THREADS];
    bool coded = map->n_coded > 0;
    size_t size = coded ? N_THREADS * (size_t)map->grid.chunk_bytes
                        : (size_t)(BATCH * N_BUFFERS * sample_bytes);
    if (!buffer && !(buffer = malloc(size)))
        die("no memory");
    memset(buffer, 1, size);
    uint64_t start_ns = pack_clock_ns();
    for (unsigned i = 0; i < N_THREADS; i++) {
        share[i] = (struct share){ .number = i, .buffer = buffer };
        pthread_create(&share[i].thread, NULL, coded ? decode_share : copy_share,
                       &share[i]);
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(share[i].thread, NULL);
    return (double)(pack_clock_ns() - start_ns) / 1e9;
}

/* ------------------------------------------------------------------ readers */

/* Of one epoch. */
struct timed {
    uint64_t loads;
    double busy_us; /* of the thread that asks for batches, each */
};

/*
 * Seconds of the median of N_EPOCHS, each from its first batch to that of the next, behind
 * one more: buffers are faulted in, a cache is full, and as much was made ahead before as
 * afterwards. bench_python.py times the same.
 */
static double
time_reader(enum pack_reader_strategy strategy, struct timed *timed)
{
    struct pack_reader_params params = { .file = file,
                                         .dataset = dataset,
                                         .pattern = make_pattern(),
                                         .n_epochs = N_EPOCHS + 2,
                                         .n_threads = N_THREADS,
                                         .memory_bytes = memory_bytes,
                                         .strategy = strategy };
    double seconds[N_EPOCHS], busy_us[N_EPOCHS];
    uint64_t at_ns = 0, busy_ns = 0, loads = 0;
    struct pack_reader *reader;
    struct pack_reader_batch batch;
    struct pack_error err;
    params.pattern.batch = BATCH;
    if (pack_reader_open(&params, &reader, &err) != PACK_OK)
        die(err.text);
    for (int n = -1; n < N_EPOCHS;) {
        struct pack_reader_info info;
        if (pack_reader_next(reader, &batch, &err) != PACK_OK)
            die(err.text);
        if (batch.epoch == 0 || batch.number > 0)
            continue;
        uint64_t now_ns = pack_clock_ns(), cpu_ns = pack_clock_cpu_ns();
        pack_reader_info(reader, &info, NULL);
        if (n >= 0) {
            seconds[n] = (double)(now_ns - at_ns) / 1e9;
            busy_us[n] = (double)(cpu_ns - busy_ns) / 1e3 /
                         (double)((n_samples + BATCH - 1) / BATCH);
            timed->loads = info.loads - loads;
        }
        at_ns = now_ns;
        busy_ns = cpu_ns;
        loads = info.loads;
        n++;
    }
    pack_reader_close(reader);
    timed->busy_us = pack_sort_median(busy_us, N_EPOCHS);
    return pack_sort_median(seconds, N_EPOCHS);
}

/* Seconds of stock HDF5 for the first `n` samples, as if for all. */
static double
time_stock(uint64_t n)
{
    struct pack_h5_boxes_params params = { .file = file, .dataset = dataset };
    struct pack_h5_boxes *boxes;
    struct pack_error err;
    struct pack_box box = { .rank = map->grid.rank };
    unsigned char *out = malloc(sample_bytes);
    if (pack_h5_boxes_open(&params, &boxes, &err) != PACK_OK)
        die(err.text);
    memcpy(box.count, map->grid.extent, sizeof box.count);
    box.count[0] = 1;
    uint64_t start_ns = pack_clock_ns();
    for (uint64_t i = 0; i < n; i++) {
        box.start[0] = order[i];
        if (pack_h5_boxes_read(boxes, &box, 1, out, NULL, &err) != PACK_OK)
            die(err.text);
    }
    uint64_t elapsed_ns = pack_clock_ns() - start_ns;
    pack_h5_boxes_close(boxes);
    free(out);
    return (double)elapsed_ns / 1e9 * (double)n_samples / (double)n;
}

static void
open_all(void)
{
    struct pack_error err;
    struct pack_pattern_iter *iter;
    int fd = open(file, O_RDONLY);
    if (pack_chunkmap_open(file, dataset, NULL, &map, &err) != PACK_OK)
        die(err.text);
    if (map->facts.layout != PACK_LAYOUT_CHUNKED)
        die("not chunked");
    n_samples = map->facts.extent.extent[0];
    sample_bytes = map->facts.logical_bytes / n_samples;
    mapping =
        mmap(NULL, map->file.size_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    order = calloc(n_samples, sizeof *order);
    struct pack_pattern pattern = make_pattern();
    pattern.epoch = 1;
    pattern.extent = map->facts.extent;
    pattern.chunk_samples = map->grid.chunk[0];
    if (mapping == MAP_FAILED || !order ||
        pack_pattern_new(&pattern, &iter, &err) != PACK_OK)
        die("cannot begin");
    pack_pattern_samples(iter, order, n_samples);
    pack_pattern_free(iter);
    close(fd);
}

int
main(int argc, char **argv)
{
    static double seconds[4][ROUNDS_MAX];
    static const char *const names[] = { "floor", "reader, pread", "reader, mmap",
                                         "stock HDF5" };
    int n_rounds = argc > 3 ? atoi(argv[3]) : 7;
    struct timed timed[4] = { { 0 } };
    if (argc < 3 || n_rounds < 1 || n_rounds > ROUNDS_MAX)
        die("FILE DATASET [ROUNDS] [MEMORY_MIB] [POOL]");
    file = argv[1];
    dataset = argv[2];
    memory_bytes = (argc > 4 ? strtoull(argv[4], NULL, 10) : 1024) << 20;
    pool_chunks = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
    pack_h5_register_zstd(NULL);
    open_all();
    for (int i = 0; i < n_rounds; i++) {
        seconds[0][i] = time_floor();
        seconds[1][i] = time_reader(PACK_READER_PREAD, &timed[1]);
        seconds[2][i] = time_reader(PACK_READER_MMAP, &timed[2]);
        seconds[3][i] = time_stock(n_samples < 1000 ? n_samples : 1000);
    }
    double floor_s = pack_sort_median(seconds[0], (size_t)n_rounds);
    for (int k = 0; k < 4; k++) {
        double s = pack_sort_median(seconds[k], (size_t)n_rounds);
        printf("%-14s %8.0f samples/s (%.0f to %.0f), %.2f of the floor", names[k],
               (double)n_samples / s, (double)n_samples / seconds[k][n_rounds - 1],
               (double)n_samples / seconds[k][0], floor_s / s);
        uint64_t n_chunks = map->grid.n_chunks_total;
        if (timed[k].busy_us > 0)
            printf(", its thread busy for %.1f us a batch", timed[k].busy_us);
        if (timed[k].loads && timed[k].loads != n_chunks)
            printf(", %llu loads of %llu chunks, %.2f of what they take the floor",
                   (unsigned long long)timed[k].loads, (unsigned long long)n_chunks,
                   floor_s * (double)timed[k].loads / (double)n_chunks / s);
        putchar('\n');
    }
    pack_chunkmap_close(map);
    return 0;
}
