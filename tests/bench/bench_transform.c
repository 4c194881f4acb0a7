/*
 * The reader with random parts resized to 192 x 192 and flipped, by as many threads against
 *
 *     alone    the resampler on parts of the same sizes, that stay in the processor's caches
 *     floor    the resampler on the same parts of samples that lie in memory, in a random
 *              order, into three batches: what memory gives is its bound as well
 *
 * warm, shuffled, rounds in turns, medians.
 *
 *     bench_transform FILE DATASET [ROUNDS] [pread|mmap]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/dataset.h>
#include <libpack/reader.h>
#include "libpack/base/clock.h"
#include "libpack/base/sort.h"
#include "libpack/hdf5/h5.h"
#include "libpack/image/resample.h"
#include "libpack/reader/transform.h"

enum { N_THREADS = 2, BATCH = 256, SIDE = 192, ROUNDS_MAX = 101, STEP = 1000003 };

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

/* A thread's share of the parts, every second one. */
struct share {
    uint64_t first;
    uint8_t *samples, *batches; /* all in memory; NULL: one that stays in the caches */
};

static void *
resample_share(void *argument)
{
    const struct share *share = argument;
    size_t in_bytes = (size_t)transform.in_h * transform.in_w * 3,
           row = (size_t)transform.in_w * 3, out_bytes = (size_t)SIDE * SIDE * 3;
    uint8_t *from = calloc(1, in_bytes), *out = malloc(out_bytes);
    struct pack_resample_scratch *scratch = NULL;
    if (!from || !out || pack_resample_scratch_new(&scratch, NULL) != PACK_OK)
        die("out of memory");
    for (size_t i = 0; i < in_bytes; i++)
        from[i] = (uint8_t)(i * 7);
    for (uint64_t i = share->first; i < n_samples; i += N_THREADS) {
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
        uint8_t *target = out;
        if (share->samples) { /* STEP is a prime: each sample once, in no order */
            part.pixels = share->samples + i * STEP % n_samples * in_bytes + d.y * row + d.x * 3;
            target = share->batches + i % (3 * BATCH) * out_bytes;
        }
        bool planned = pack_geometry_plan_make(&to, d.w, d.h, &plan, NULL) == PACK_OK;
        plan.flips = share->samples && d.flips;
        if (!planned ||
            pack_resample_part(&part, share->samples ? row : (size_t)d.w * 3, &plan,
                               PACK_PIXEL_NHWC, target, scratch, NULL) != PACK_OK)
            die("a part cannot be resized");
    }
    pack_resample_scratch_free(scratch);
    free(out);
    free(from);
    return NULL;
}

static double
resample(uint8_t *samples, uint8_t *batches)
{
    struct share shares[N_THREADS];
    pthread_t threads[N_THREADS];
    uint64_t begin_ns = pack_clock_ns();
    for (int i = 0; i < N_THREADS; i++) {
        shares[i] = (struct share){ (uint64_t)i, samples, batches };
        if (pthread_create(&threads[i], NULL, resample_share, &shares[i]) != 0)
            die("no thread");
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
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
    uint64_t begin_ns = 0, n_read = 0;
    do {
        n_read += begin_ns ? batch.n_samples : 0;
        if (pack_reader_next(reader, &batch, &err) != PACK_OK)
            die(err.text);
        if (batch.epoch == 1 && !begin_ns) {
            begin_ns = pack_clock_ns();
        } else if (batch.n_samples == 0)
            break;
    } while (true);
    uint64_t taken_ns = pack_clock_ns() - begin_ns;
    pack_reader_close(reader);
    return (double)(n_read - BATCH) * 1e9 / (double)taken_ns; /* the first was there */
}

/* Memory that has been touched. */
static uint8_t *
touched(size_t bytes)
{
    uint8_t *memory = malloc(bytes);
    if (!memory)
        die("out of memory");
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (uint8_t)(i * 7);
    return memory;
}

static void
put(const char *name, double *rate, const double *with, int n)
{
    double ratio[ROUNDS_MAX];
    for (int i = 0; i < n; i++)
        ratio[i] = with[i] / rate[i];
    pack_sort_doubles(rate, (size_t)n);
    pack_sort_doubles(ratio, (size_t)n);
    printf("  %s %.0f samples/s, of which the reader reaches %.2f (%.2f to %.2f), wanted 0.9\n",
           name, rate[n / 2], ratio[n / 2], ratio[0], ratio[n - 1]);
}

int
main(int argc, char **argv)
{
    double alone[ROUNDS_MAX], floor[ROUNDS_MAX], with[ROUNDS_MAX];
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
    uint8_t *samples = touched((size_t)n_samples * transform.in_h * transform.in_w * 3),
            *batches = touched((size_t)3 * BATCH * SIDE * SIDE * 3);
    read_all(argv[1], argv[2]);
    for (int i = 0; i < n_rounds; i++)
        for (int turn = 0; turn < 3; turn++)
            switch ((i + turn) % 3) {
            case 0: alone[i] = resample(NULL, NULL); break;
            case 1: floor[i] = resample(samples, batches); break;
            default: with[i] = read_all(argv[1], argv[2]);
            }
    put("the resampler alone", alone, with, n_rounds);
    put("the same on samples in memory", floor, with, n_rounds);
    pack_sort_doubles(with, (size_t)n_rounds);
    printf("  the reader %.0f samples/s (%.0f to %.0f)\n", with[n_rounds / 2], with[0],
           with[n_rounds - 1]);
    free(samples);
    free(batches);
    return 0;
}
