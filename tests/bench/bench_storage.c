/*
 * The reader against plain reads, cold: two threads that each pread every second sample of
 * the same shuffled order into a buffer that is used again. Before each turn the file's pages
 * are dropped, and it is an error when some stay. Rounds in turns, medians.
 *
 *     bench_storage FILE DATASET [ROUNDS]
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpack/reader.h>
#include "libpack/base/clock.h"
#include "libpack/base/sort.h"
#include "libpack/base/system.h"
#include "libpack/reader/chunkmap.h"

enum { N_THREADS = 2, BATCH = 256, N_BUFFERS = 3, ROUNDS_MAX = 101, N_WAYS = 4 };

static const char *file, *dataset;
static struct pack_chunkmap *map;
static uint64_t *order, n_samples, sample_bytes;
static int fd;

static void
die(const char *what)
{
    fprintf(stderr, "bench_storage: %s\n", what);
    exit(2);
}

static void
drop(void)
{
    struct pack_error err;
    uint64_t resident;
    if (pack_system_drop_fd(fd, &err) != PACK_OK)
        die(err.text);
    if (!pack_system_resident_fd(fd, &resident) || resident > 0)
        die("pages of the file stay in memory");
}

static void *
read_share(void *argument)
{
    unsigned char *buffer = malloc(sample_bytes);
    for (uint64_t i = *(unsigned *)argument; i < n_samples && buffer; i += N_THREADS) {
        struct pack_chunk chunk;
        pack_chunkmap_chunk(map, order[i], &chunk);
        if (pread(fd, buffer, sample_bytes, (off_t)chunk.address_bytes) !=
            (ssize_t)sample_bytes)
            die("cannot read");
    }
    free(buffer);
    return NULL;
}

static double
time_plain(void)
{
    pthread_t threads[N_THREADS];
    unsigned numbers[N_THREADS];
    drop();
    uint64_t start_ns = pack_clock_ns();
    for (unsigned i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, read_share, &numbers[i]);
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    return (double)(pack_clock_ns() - start_ns) / 1e9;
}

/* Memory of batches that was there before the clock starts, as in a long run. */
static unsigned char *buffers;
static size_t n_lent;

static void *
lend(void *context, size_t bytes)
{
    (void)context;
    return buffers + n_lent++ % N_BUFFERS * bytes;
}

static void
take_back(void *context, void *buffer)
{
    (void)context;
    (void)buffer;
}

/* Seconds of one epoch, once the file is opened: HDF5 reads its index for itself. */
static double
time_reader(enum pack_reader_strategy strategy)
{
    struct pack_reader_params params = { .file = file,
                                         .dataset = dataset,
                                         .pattern = { .kind = PACK_PATTERN_SHUFFLE,
                                                      .seed = 1,
                                                      .batch = BATCH },
                                         .n_threads = N_THREADS,
                                         .buffers = { NULL, lend, take_back },
                                         .strategy = strategy };
    struct pack_reader *reader;
    struct pack_reader_batch batch = { .n_samples = 1 };
    struct pack_error err;
    n_lent = 0;
    drop();
    if (pack_reader_open(&params, &reader, &err) != PACK_OK)
        die(err.text);
    uint64_t start_ns = pack_clock_ns();
    while (batch.n_samples)
        if (pack_reader_next(reader, &batch, &err) != PACK_OK)
            die(err.text);
    uint64_t end_ns = pack_clock_ns();
    pack_reader_close(reader);
    return (double)(end_ns - start_ns) / 1e9;
}

static void
open_all(void)
{
    struct pack_error err;
    struct pack_pattern_iter *iter;
    if (pack_chunkmap_open(file, dataset, NULL, &map, &err) != PACK_OK)
        die(err.text);
    fd = open(file, O_RDONLY);
    n_samples = map->facts.extent.extent[0];
    sample_bytes = map->facts.logical_bytes / n_samples;
    order = calloc(n_samples, sizeof *order);
    buffers = malloc(N_BUFFERS * BATCH * sample_bytes);
    if (buffers)
        memset(buffers, 1, N_BUFFERS * BATCH * sample_bytes);
    struct pack_pattern pattern = { .kind = PACK_PATTERN_SHUFFLE, .seed = 1 };
    pattern.extent = map->facts.extent;
    if (fd < 0 || !order || !buffers || map->n_coded > 0 || map->grid.chunk[0] != 1 ||
        pack_pattern_new(&pattern, &iter, &err) != PACK_OK)
        die("this takes chunks of one without filters");
    pack_pattern_samples(iter, order, n_samples);
    pack_pattern_free(iter);
}

int
main(int argc, char **argv)
{
    static double seconds[N_WAYS][ROUNDS_MAX], ratios[N_WAYS][ROUNDS_MAX];
    static const char *const names[] = { "plain preads", "reader, pread", "reader, mmap",
                                         "reader, direct" };
    static const enum pack_reader_strategy strategies[] = {
        PACK_READER_AUTO, PACK_READER_PREAD, PACK_READER_MMAP, PACK_READER_DIRECT
    };
    int n_rounds = argc > 3 ? atoi(argv[3]) : 7;
    if (argc < 3 || n_rounds < 1 || n_rounds > ROUNDS_MAX)
        die("FILE DATASET [ROUNDS]");
    file = argv[1];
    dataset = argv[2];
    open_all();
    for (int i = 0; i < n_rounds; i++)
        for (int k = 0; k < N_WAYS; k++) {
            seconds[k][i] = k ? time_reader(strategies[k]) : time_plain();
            ratios[k][i] = seconds[0][i] / seconds[k][i];
        }
    for (int k = 0; k < N_WAYS; k++) {
        double s = pack_sort_median(seconds[k], (size_t)n_rounds);
        double ratio = pack_sort_median(ratios[k], (size_t)n_rounds);
        printf("%-14s %8.0f samples/s (%.0f to %.0f), %.2f of plain (%.2f to %.2f)\n",
               names[k], (double)n_samples / s, (double)n_samples / seconds[k][n_rounds - 1],
               (double)n_samples / seconds[k][0], ratio, ratios[k][0],
               ratios[k][n_rounds - 1]);
    }
    pack_chunkmap_close(map);
    free(order);
    free(buffers);
    close(fd);
    return 0;
}
