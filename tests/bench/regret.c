/*
 * How good the advice is: predictions against stock HDF5, on files that are really
 * written.
 *
 *     regret DIR [MIB_PER_LAYOUT]
 *
 * Measures a machine profile in DIR, renders images into one file per layout, reads them
 * in several orders through several caches, and compares what was measured with what the
 * advisor predicts for the very same reads. For each order the advisor also searches
 * freely; its choice is written and measured like the others. Warm: every file is in the
 * page cache. Rounds are interleaved, medians of ROUNDS are compared.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpack/advise.h>
#include "libpack/advise/calibrate.h"
#include "libpack/base/clock.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/base/rng.h"
#include "libpack/hdf5/filter.h"

enum { SIDE = 128, CHANNELS = 3, SAMPLE = SIDE * SIDE * CHANNELS, ROUNDS = 5 };
enum {
    STRIDE = 7919,
    READS_MIN = 100,
    READS_MAX = 6000,
    RUNS_MAX = 1024,
    FILES_MAX = 40
};
static const double run_ns = 25e6; /* a run is about so long, as far as predicted */

static const struct {
    const char *chunk, *codec;
} layouts[] = {
    { "contiguous", "none" },    { "1x128x128x3", "none" },
    { "2x128x128x3", "none" },   { "4x128x128x3", "none" },
    { "8x128x128x3", "none" },   { "16x128x128x3", "none" },
    { "32x128x128x3", "none" },  { "64x128x128x3", "none" },
    { "256x128x128x3", "none" }, { "1x64x64x3", "none" },
    { "8x32x128x3", "none" },    { "4x127x128x3", "none" },
    { "1x128x128x3", "zstd:3" }, { "8x128x128x3", "zstd:3" },
    { "1x128x128x3", "gzip:4" }, { "16x128x128x3", "gzip:4" },
};

static const struct {
    const char *name, *text;
    uint64_t crop; /* side of a random crop, 0: whole images */
} orders[] = {
    { "sequential", "sequential", 0 },     { "shuffle", "shuffle", 0 },
    { "block", "block:chunks=16", 0 },     { "crop", "shuffle", 64 },
    { "buffer", "buffer:samples=500", 0 },
};

static const struct pack_cache_params caches[] = {
    { 0, 0, 0.75, PACK_HDF5_1_10 },          { 521, 1 << 20, 0.75, PACK_HDF5_1_10 },
    { 8191, 8 << 20, 0.75, PACK_HDF5_1_10 }, { 100003, 64 << 20, 0.75, PACK_HDF5_1_10 },
    { 100003, 64 << 20, 0, PACK_HDF5_1_10 }, { 31, 64 << 20, 0.75, PACK_HDF5_1_10 },
};

enum {
    N_LAYOUTS = sizeof layouts / sizeof *layouts,
    N_ORDERS = sizeof orders / sizeof *orders,
    N_CACHES = sizeof caches / sizeof *caches
};

/* A file of one layout. */
struct file {
    char path[512];
    struct pack_shape chunk;
    char codec[PACK_ADVISE_CODEC_MAX];
    double stored_rate, decode_ns;
};

/* One configuration and what became of it. */
struct run {
    size_t order, file;
    bool is_choice; /* of the advisor's own search */
    struct pack_advise_config config;
    uint64_t n_reads;
    double ns[ROUNDS], measured, predicted; /* samples/s */
};

static struct {
    const char *dir;
    struct pack_shape extent;
    uint64_t memory_bytes; /* for caches that the advisor may choose */
    struct pack_profile profile;
    struct file files[FILES_MAX];
    size_t n_files;
    struct run runs[RUNS_MAX];
    size_t n_runs;
    unsigned char tile[4 * SAMPLE];
} lab;

static void
check(enum pack_status status, const struct pack_error *err)
{
    if (status == PACK_OK)
        return;
    fprintf(stderr, "regret: %s\n", err->text);
    for (size_t i = 0; i < lab.n_files; i++)
        unlink(lab.files[i].path);
    exit(1);
}

/* ------------------------------------------------------------------- files */

static void
render_tile(void)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    for (size_t i = 0; i < sizeof lab.tile; i++) {
        double x = (double)(i / 3 % SIDE), y = (double)(i / 3 / SIDE),
               c = (double)(i % 3);
        lab.tile[i] = (unsigned char)(120 + 60 * sin(x / 23 + c) * cos(y / 31) +
                                      (double)(pack_rng_next(&rng) & 15));
    }
}

static void
render(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    for (uint64_t i = 0; i < n; i++) {
        unsigned char *pixels = (unsigned char *)out + i * SAMPLE;
        size_t shift = (size_t)((first + i) * 7919 % (3 * SAMPLE));
        struct pack_rng rng;
        pack_rng_seed(&rng, first + i);
        for (size_t k = 0; k < SAMPLE; k += 8) {
            uint64_t base, noise = pack_rng_next(&rng) & UINT64_C(0x0707070707070707);
            memcpy(&base, lab.tile + shift + k, 8);
            base += noise; /* the tile stays below 248 */
            memcpy(pixels + k, &base, 8);
        }
    }
}

/* Stored bytes per byte, and ns to decode one, on several rendered chunks. */
static enum pack_status
measure_codec(void *context, const struct pack_shape *chunk, const char *codec,
              double *stored_rate, double *decode_ns, struct pack_error *err)
{
    enum { CHUNKS = 6 };
    struct pack_pipeline pipeline;
    struct pack_filter_ctx *ctx = NULL;
    struct pack_stored stored;
    uint64_t n = chunk->extent[0] < 16 ? chunk->extent[0] : 16;
    size_t size = n * SAMPLE, total = 0;
    uint64_t ns = 0;
    unsigned char *raw = malloc(size), *copy = malloc(2 * size);
    (void)context;
    enum pack_status status = pack_pipeline_parse(codec, 1, &pipeline, err);
    if (status == PACK_OK)
        status = pack_filter_ctx_new(&ctx, err);
    for (uint64_t i = 0; status == PACK_OK && i < CHUNKS; i++) {
        render(NULL, i * n, n, raw);
        status = pack_pipeline_encode(&pipeline, ctx, raw, size, &stored, err);
        if (status != PACK_OK)
            break;
        memcpy(copy, stored.data, stored.size);
        stored.data = copy;
        total += stored.size;
        uint64_t start = pack_clock_cpu_ns();
        status = pack_pipeline_decode(&pipeline, ctx, &stored, raw, size, err);
        ns += pack_clock_cpu_ns() - start;
    }
    if (status == PACK_OK) {
        *stored_rate = (double)total / (double)(CHUNKS * size);
        *decode_ns = (double)ns / (double)(CHUNKS * size);
    }
    pack_filter_ctx_free(ctx);
    free(raw);
    free(copy);
    return status;
}

/* The file of a layout, written when it is new. */
static size_t
need_file(const struct pack_shape *chunk, const char *codec)
{
    struct pack_error err;
    struct file *f;
    for (size_t i = 0; i < lab.n_files; i++)
        if (pack_shape_equal(&lab.files[i].chunk, chunk) &&
            strcmp(lab.files[i].codec, codec) == 0)
            return i;
    if (lab.n_files == FILES_MAX)
        exit(1);
    f = &lab.files[lab.n_files++];
    struct pack_probe_layout layout = { .extent = lab.extent, .chunk = *chunk };
    *f = (struct file){ .chunk = *chunk, .stored_rate = 1 };
    snprintf(f->codec, sizeof f->codec, "%s", codec);
    snprintf(f->path, sizeof f->path, "%s/regret-%zu.h5", lab.dir, lab.n_files);
    if (strcmp(codec, "none") != 0) {
        check(pack_pipeline_parse(codec, 1, &layout.pipeline, &err), &err);
        check(measure_codec(NULL, chunk, codec, &f->stored_rate, &f->decode_ns, &err),
              &err);
    }
    check(pack_probe_create(f->path, &layout, render, NULL, &err), &err);
    return lab.n_files - 1;
}

/* ------------------------------------------------------------ predictions */

static void
set_pattern(size_t order, struct pack_pattern *pattern)
{
    struct pack_error err;
    *pattern = (struct pack_pattern){ .extent = lab.extent, .batch = 64, .seed = 7 };
    check(pack_pattern_parse(orders[order].text, pattern, &err), &err);
    if (orders[order].crop) {
        uint64_t side = orders[order].crop;
        pattern->box = (struct pack_shape){ 4, { 1, side, side, CHANNELS } };
    }
}

static struct pack_advise_params
params_of(size_t order)
{
    struct pack_advise_params p = { .data.extent = lab.extent,
                                    .data.elem_size = 1,
                                    .machine.profile = &lab.profile,
                                    .reading.pattern_is_fixed = true,
                                    .machine.is_warm = true,
                                    .reading.epochs = 1,
                                    .machine.memory_bytes = lab.memory_bytes,
                                    .machine.ram_bytes = UINT64_C(1) << 40,
                                    .storing.measure = measure_codec };
    set_pattern(order, &p.reading.pattern);
    return p;
}

static double
predict(struct run *run, uint64_t n_reads)
{
    struct pack_advise_params p = params_of(run->order);
    struct pack_advise_outcome o;
    struct pack_error err;
    check(pack_advise_evaluate(&p, &run->config, n_reads, &o, &err), &err);
    if (o.is_exact)
        return o.first_samples / o.first_cost.total_ns * 1e9;
    return (o.first_samples + o.steady_samples) /
           (o.first_cost.total_ns + o.steady_cost.total_ns) * 1e9;
}

static void
add_run(size_t order, size_t file, const struct pack_cache_params *cache, bool is_choice)
{
    struct run *run = &lab.runs[lab.n_runs++];
    const struct file *f = &lab.files[file];
    *run = (struct run){ .order = order, .file = file, .is_choice = is_choice };
    run->config.chunk = f->chunk;
    strcpy(run->config.codec, f->codec);
    run->config.stored_rate = f->stored_rate;
    run->config.decode_ns = f->decode_ns;
    run->config.cache = *cache;
    set_pattern(order, &run->config.pattern);
    run->config.pattern.chunk_samples = 8; /* of block: the same order for all layouts */
    double rate = predict(run, READS_MIN * 4);
    double n = rate * run_ns / 1e9;
    run->n_reads = n < READS_MIN ? READS_MIN : n > READS_MAX ? READS_MAX : (uint64_t)n;
    if (run->n_reads > lab.extent.extent[0])
        run->n_reads = lab.extent.extent[0];
    run->predicted = predict(run, run->n_reads);
}

/* -------------------------------------------------------------- measuring */

static double
read_once(const struct run *run)
{
    static unsigned char out[SAMPLE];
    struct pack_pattern_iter *iter;
    struct pack_request request;
    struct pack_probe *probe;
    struct pack_error err;
    struct pack_pattern pattern = run->config.pattern;
    check(pack_pattern_new(&pattern, &iter, &err), &err);
    check(pack_probe_open(lab.files[run->file].path, &run->config.cache, NULL, &probe,
                          &err),
          &err);
    malloc_trim(0); /* as in a process that has just started */
    uint64_t start = pack_clock_cpu_ns();
    for (uint64_t i = 0; i < run->n_reads && pack_pattern_next(iter, &request); i++)
        check(pack_probe_read(probe, request.boxes, request.n_boxes, out, &err), &err);
    double ns = (double)(pack_clock_cpu_ns() - start);
    pack_probe_close(probe);
    pack_pattern_free(iter);
    return ns;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void
measure_all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < lab.n_runs;
             i++) { /* neighbours in time read other files */
            struct run *run = &lab.runs[i * STRIDE % lab.n_runs];
            run->ns[round] = read_once(run);
        }
        fprintf(stderr, "regret: round %d of %d\n", round + 1, ROUNDS);
    }
    for (size_t i = 0; i < lab.n_runs; i++) {
        struct run *run = &lab.runs[i];
        qsort(run->ns, ROUNDS, sizeof *run->ns, by_value);
        run->measured = (double)run->n_reads * 1e9 / run->ns[ROUNDS / 2];
    }
}

/* --------------------------------------------------------------- verdicts */

static void
print_runs(void)
{
    char chunk[PACK_SHAPE_TEXT_MAX];
    printf("%-10s %-15s %-7s %8s %7s %5s %9s %9s %6s\n", "order", "chunk", "codec",
           "cache", "slots", "w0", "measured", "predicted", "ratio");
    for (size_t i = 0; i < lab.n_runs; i++) {
        const struct run *run = &lab.runs[i];
        const struct pack_cache_params *cache = &run->config.cache;
        double ratio = run->predicted / run->measured;
        printf("%-10s %-15s %-7s %7lluK %7llu %5g %9.0f %9.0f %6.2f%s%s\n",
               orders[run->order].name,
               run->config.chunk.rank ? pack_shape_format(&run->config.chunk, chunk)
                                      : "contiguous",
               run->config.codec, (unsigned long long)cache->size_bytes >> 10,
               (unsigned long long)cache->n_slots, cache->w0, run->measured,
               run->predicted, ratio, ratio < 1 / 1.25 || ratio > 1.25 ? " *" : "",
               run->is_choice ? " choice" : "");
    }
}

static void
judge_pairs(bool across_orders)
{
    uint64_t n = 0, right = 0;
    for (size_t i = 0; i < lab.n_runs; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct run *a = &lab.runs[i], *b = &lab.runs[j];
            if (!across_orders && a->order != b->order)
                continue;
            double m = a->measured / b->measured, p = a->predicted / b->predicted;
            if (m < 1.25 && m > 1 / 1.25)
                continue;
            n++;
            right += (m > 1) == (p > 1);
        }
    }
    printf("pairs more than 1.25x apart, %s: %.4f of %llu in the "
           "right order (0.97 wanted)\n",
           across_orders ? "all" : "of one order each", (double)right / (double)n,
           (unsigned long long)n);
}

static void
judge_choices(void)
{
    for (size_t order = 0; order < N_ORDERS; order++) {
        double best = 0, first = 0, choice = 0, most = 0;
        for (size_t i = 0; i < lab.n_runs; i++) {
            const struct run *run = &lab.runs[i];
            if (run->order != order)
                continue;
            best = fmax(best, run->measured);
            if (run->predicted > most) {
                most = run->predicted;
                first = run->measured;
            }
            if (run->is_choice)
                choice = run->measured;
        }
        printf("%-10s the advisor's choice reaches %.3f of the best measured, the best "
               "predicted %.3f (0.9 wanted)\n",
               orders[order].name, choice / best, first / best);
    }
}

static void
judge_rates(void)
{
    static double ratio[RUNS_MAX];
    size_t near = 0;
    for (size_t i = 0; i < lab.n_runs; i++) {
        ratio[i] = lab.runs[i].predicted / lab.runs[i].measured;
        near += ratio[i] >= 1 / 1.25 && ratio[i] <= 1.25;
    }
    printf("samples/s within 25 %%: %.3f of %zu runs (0.85 wanted)\n",
           (double)near / (double)lab.n_runs, lab.n_runs);
    qsort(ratio, lab.n_runs, sizeof *ratio, by_value);
    double middle = ratio[lab.n_runs / 2];
    size_t relative = 0;
    for (size_t i = 0; i < lab.n_runs; i++)
        relative += ratio[i] >= middle / 1.25 && ratio[i] <= middle * 1.25;
    printf("predicted / measured has the median %.2f; within 25 %% of that: %.3f\n",
           middle, (double)relative / (double)lab.n_runs);
}

/* The order's free search; its choice becomes a file and a run. */
static void
add_choice(size_t order)
{
    struct pack_advise_params p = params_of(order);
    static struct pack_advise_result result;
    struct pack_error err;
    p.reading.pattern.chunk_samples = 8;
    p.n_threads = 2;
    check(pack_advise(&p, &result, &err), &err);
    const struct pack_advise_config *config = &result.rows[0].config;
    add_run(order, need_file(&config->chunk, config->codec), &config->cache, true);
}

int
main(int argc, char **argv)
{
    struct pack_calibration calibration;
    struct pack_error err;
    struct pack_shape chunk;
    if (argc < 2) {
        fprintf(stderr, "usage: regret DIR [MIB_PER_LAYOUT]\n");
        return 2;
    }
    uint64_t mib = argc > 2 ? strtoull(argv[2], NULL, 10) : 2048;
    lab.dir = argv[1];
    lab.extent = (struct pack_shape){ 4, { (mib << 20) / SAMPLE, SIDE, SIDE, CHANNELS } };
    lab.memory_bytes = (mib << 20) / 8;
    render_tile();
    struct pack_calibrate_params params = { .dir = lab.dir };
    check(pack_calibrate(&params, &calibration, &err), &err);
    lab.profile = calibration.profile;
    lab.profile.n_cpus = 1;
    for (size_t i = 0; i < N_LAYOUTS; i++) {
        chunk.rank = 0;
        if (strcmp(layouts[i].chunk, "contiguous") != 0)
            check(pack_shape_parse(layouts[i].chunk, &chunk, &err), &err);
        need_file(&chunk, layouts[i].codec);
    }
    for (size_t order = 0; order < N_ORDERS; order++) {
        for (size_t file = 0; file < N_LAYOUTS; file++)
            for (size_t cache = 0; cache < (file ? N_CACHES : 1); cache++)
                add_run(order, file, &caches[cache], false);
        add_choice(order);
    }
    measure_all();
    printf("%zu layouts of %llu MiB, %zu runs, medians of %d, warm\n\n", lab.n_files,
           (unsigned long long)mib, lab.n_runs, ROUNDS);
    print_runs();
    putchar('\n');
    judge_pairs(false);
    judge_pairs(true);
    judge_choices();
    judge_rates();
    for (size_t i = 0; i < lab.n_files; i++)
        unlink(lab.files[i].path);
    return 0;
}
