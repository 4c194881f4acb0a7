/*
 * The reader with random parts resized to 192 x 192 and flipped, against the resampler alone
 * on parts of the same sizes in memory, by as many threads; warm, shuffled, rounds in turns,
 * medians.
 *
 *     bench_transform FILE DATASET [ROUNDS] [pread|mmap]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpack/dataset.h>
#include <libpack/reader.h>
#include "libpack/base/clock.h"
#include "libpack/base/sort.h"
#include "libpack/hdf5/h5.h"
#include "libpack/image/resample.h"
#include "libpack/reader/transform.h"

enum { N_THREADS = 2, BATCH = 256, SIDE = 192, ROUNDS_MAX = 101 };

static const struct pack_reader_transform asked = { .crop = PACK_READER_CROP_RESIZED,
                                                    .height = SIDE,
                                                    .width = SIDE,
                                                    .flip = 0.5 };
static struct pack_facts facts;
static struct pack_transform transform;
static uint64_t n_samples;
static enum pack_reader_strategy strategy;

static void
die(const char *what)
{
    fprintf(stderr, "bench_transform: %s\n", what);
    exit(2);
}

/* Every second part; its pixels lie together already. */
static void *
resample_share(void *argument)
{
    uint64_t first = *(const uint64_t *)argument;
    size_t in_bytes = (size_t)transform.in_h * transform.in_w * 3;
    uint8_t *from = calloc(1, in_bytes), *out = malloc((size_t)SIDE * SIDE * 3);
    struct pack_resample_scratch *scratch = NULL;
    if (!from || !out || pack_resample_scratch_new(&scratch, NULL) != PACK_OK)
        die("out of memory");
    for (size_t i = 0; i < in_bytes; i++)
        from[i] = (uint8_t)(i * 7);
    for (uint64_t i = first; i < n_samples; i += N_THREADS) {
        const struct pack_geometry to = { .size_h = SIDE,
                                          .size_w = SIDE,
                                          .fit = PACK_FIT_STRETCH };
        struct pack_transform_drawn d;
        struct pack_geometry_plan plan;
        pack_transform_draw(&transform, 0, i, &d);
        struct pack_image part = { .pixels = from,
                                   .width = d.w,
                                   .height = d.h,
                                   .channels = 3,
                                   .size = (size_t)d.w * d.h * 3 };
        if (pack_geometry_plan_make(&to, d.w, d.h, &plan, NULL) != PACK_OK ||
            pack_resample(&part, &plan, PACK_PIXEL_NHWC, out, scratch, NULL) != PACK_OK)
            die("a part cannot be resized");
    }
    pack_resample_scratch_free(scratch);
    free(out);
    free(from);
    return NULL;
}

static double cpu_ns_per_sample; /* of what was measured last, by all threads */

static uint64_t
cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double
resample_alone(void)
{
    static const uint64_t firsts[N_THREADS] = { 0, 1 };
    pthread_t threads[N_THREADS];
    uint64_t begin_ns = pack_clock_ns(), begin_cpu_ns = cpu_ns();
    for (int i = 0; i < N_THREADS; i++)
        if (pthread_create(&threads[i], NULL, resample_share, (void *)&firsts[i]) != 0)
            die("no thread");
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    cpu_ns_per_sample = (double)(cpu_ns() - begin_cpu_ns) / (double)n_samples;
    return (double)n_samples * 1e9 / (double)(pack_clock_ns() - begin_ns);
}

static double
read_all(const char *file, const char *dataset)
{
    const struct pack_reader_params params = {
        .file = file,
        .dataset = dataset,
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = BATCH },
        .n_threads = N_THREADS,
        .strategy = strategy,
        .n_epochs = 2, /* the first one touches the buffers */
        .transform = &asked,
    };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 0 };
    struct pack_error err;
    if (pack_reader_open(&params, &reader, &err) != PACK_OK)
        die(err.text);
    uint64_t begin_ns = 0, begin_cpu_ns = 0, n_read = 0;
    do {
        n_read += begin_ns ? batch.n_samples : 0;
        if (pack_reader_next(reader, &batch, &err) != PACK_OK)
            die(err.text);
        if (batch.epoch == 1 && !begin_ns) {
            begin_ns = pack_clock_ns();
            begin_cpu_ns = cpu_ns();
        } else if (batch.n_samples == 0)
            break;
    } while (true);
    uint64_t taken_ns = pack_clock_ns() - begin_ns;
    cpu_ns_per_sample = (double)(cpu_ns() - begin_cpu_ns) / (double)n_samples;
    pack_reader_close(reader);
    return (double)(n_read - BATCH) * 1e9 / (double)taken_ns; /* the first was there */
}

int
main(int argc, char **argv)
{
    double alone[ROUNDS_MAX], with[ROUNDS_MAX], ratio[ROUNDS_MAX], cpu[ROUNDS_MAX];
    int n_rounds = argc > 3 ? atoi(argv[3]) : 5;
    struct pack_error err;
    if (argc < 3 || n_rounds < 1 || n_rounds > ROUNDS_MAX)
        die("usage: bench_transform FILE DATASET [ROUNDS] [pread|mmap]");
    if (pack_dataset_facts(argv[1], argv[2], &facts, &err) != PACK_OK)
        die(err.text);
    if (argc > 4)
        strategy = strcmp(argv[4], "mmap") == 0 ? PACK_READER_MMAP : PACK_READER_PREAD;
    struct pack_shape sample = facts.extent;
    n_samples = sample.extent[0];
    sample.extent[0] = 1;
    if (pack_transform_init(&transform, &asked, &facts, &sample, 0, &err) != PACK_OK)
        die(err.text);
    if (transform.channels != 3)
        die("images of three channels are wanted");
    read_all(argv[1], argv[2]);
    for (int i = 0; i < n_rounds; i++) {
        double alone_ns = 0;
        for (int turn = 0; turn < 2; turn++)
            if ((i + turn) % 2 == 0) {
                alone[i] = resample_alone();
                alone_ns = cpu_ns_per_sample;
            } else {
                with[i] = read_all(argv[1], argv[2]);
                cpu[i] = cpu_ns_per_sample;
            }
        ratio[i] = with[i] / alone[i];
        cpu[i] = alone_ns / cpu[i];
    }
    pack_sort_doubles(alone, (size_t)n_rounds);
    pack_sort_doubles(with, (size_t)n_rounds);
    pack_sort_doubles(ratio, (size_t)n_rounds);
    pack_sort_doubles(cpu, (size_t)n_rounds);
    printf("  resampler alone %.0f samples/s, reader %.0f, ratio %.2f (%.2f to %.2f), wanted "
           "0.9; of processor time %.2f (%.2f to %.2f)\n",
           alone[n_rounds / 2], with[n_rounds / 2], ratio[n_rounds / 2], ratio[0],
           ratio[n_rounds - 1], cpu[n_rounds / 2], cpu[0], cpu[n_rounds - 1]);
    return 0;
}
