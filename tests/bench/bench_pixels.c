/*
 * What decoding and resampling cost, in one thread's CPU time: pack_image_decode() beside
 * a bare libjpeg-turbo loop over the same files, pack_resample() beside memcpy().
 *
 *     bench_pixels [-r ROUNDS] FILE...
 *
 * Rounds go over all files with each contender in turn, so that a slow moment hits both;
 * what is printed is the median round and, behind it, the quickest and the slowest.
 * Pixels are those of the source image, whatever comes out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jpeglib.h>

#include "libpack/image/resample_parts.h"
#include "libpack/image/pixel.h"

enum { MAX_FILES = 200, MAX_ROUNDS = 101, SAMPLE_SIDE = 224 };

struct file {
    const char *name;
    uint8_t *data;
    size_t size;
    struct pack_image image;
};

static struct file files[MAX_FILES];
static int n_files, n_rounds = 9;
static double n_pixels; /* of all files */

static void
fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_pixels: %s: %s\n", what, why);
    exit(2);
}

static double
cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
load(struct file *file, const char *name)
{
    struct pack_error err;
    FILE *f = fopen(name, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        fail(name, "cannot open it");
    file->name = name;
    file->size = (size_t)ftell(f);
    file->data = malloc(file->size);
    rewind(f);
    if (!file->data || fread(file->data, 1, file->size, f) != file->size)
        fail(name, "cannot read it");
    fclose(f);
    if (pack_image_decode(file->data, file->size, NULL, &file->image, NULL, &err))
        fail(name, err.text);
    n_pixels += (double)file->image.width * file->image.height;
}

/* ------------------------------------------------------------------- contenders */

/* The least that a JPEG takes: one decompressor for all, rows straight into memory. */
static void
bare_libjpeg(void)
{
    static struct pack_image out;
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    for (int i = 0; i < n_files; i++) {
        jpeg_mem_src(&jpeg, files[i].data, files[i].size);
        jpeg_read_header(&jpeg, TRUE);
        jpeg.out_color_space = JCS_RGB;
        jpeg_start_decompress(&jpeg);
        size_t row_bytes = (size_t)jpeg.output_width * 3;
        if (out.capacity < row_bytes * jpeg.output_height) {
            out.capacity = row_bytes * jpeg.output_height;
            free(out.pixels);
            out.pixels = malloc(out.capacity);
        }
        while (jpeg.output_scanline < jpeg.output_height) {
            JSAMPROW rows[16];
            uint32_t n = jpeg.output_height - jpeg.output_scanline;
            n = n < 16 ? n : 16;
            for (uint32_t row = 0; row < n; row++)
                rows[row] = out.pixels + (jpeg.output_scanline + row) * row_bytes;
            jpeg_read_scanlines(&jpeg, rows, n);
        }
        jpeg_finish_decompress(&jpeg);
    }
    jpeg_destroy_decompress(&jpeg);
}

static void
our_decode(void)
{
    static struct pack_image image;
    for (int i = 0; i < n_files; i++)
        if (pack_image_decode(files[i].data, files[i].size, NULL, &image, NULL, NULL))
            fail(files[i].name, "decoding failed");
}

static void
copy(void)
{
    static uint8_t *to;
    static size_t capacity;
    for (int i = 0; i < n_files; i++) {
        if (capacity < files[i].image.size)
            to = realloc(to, capacity = files[i].image.size);
        memcpy(to, files[i].image.pixels, files[i].image.size);
    }
}

static struct {
    struct pack_resample_scratch *scratch;
    struct pack_geometry geometry;
    enum pack_pixel_layout layout;
    uint8_t out[SAMPLE_SIDE * SAMPLE_SIDE * 3];
} job;

static void
resample(void)
{
    for (int i = 0; i < n_files; i++) {
        struct pack_geometry_plan plan;
        const struct pack_image *image = &files[i].image;
        if (pack_geometry_plan_make(&job.geometry, image->width, image->height, &plan,
                                    NULL) ||
            pack_resample(image, &plan, job.layout, job.out, job.scratch, NULL))
            fail(files[i].name, "resampling failed");
    }
}

static void
sums(void)
{
    uint64_t sum[3] = { 0 }, sumsq[3] = { 0 };
    for (int i = 0; i < n_files; i++)
        pack_pixel_sums(job.out, job.layout, (size_t)SAMPLE_SIDE * SAMPLE_SIDE, 3, sum,
                        sumsq);
}

/* ------------------------------------------------------------------- measuring */

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts and prints the rounds of one contender; returns their median. */
static double
report(const char *name, double *rounds, double pixels)
{
    qsort(rounds, (size_t)n_rounds, sizeof *rounds, ascending);
    double median = rounds[n_rounds / 2];
    printf("  %-28s %8.3f ns/pixel  %8.3f ms/image   (%.3f to %.3f ns)\n", name,
           median / pixels, median / n_files / 1e6, rounds[0] / pixels,
           rounds[n_rounds - 1] / pixels);
    fflush(stdout);
    return median;
}

static double
measure(const char *name, void (*run)(void), double pixels)
{
    double rounds[MAX_ROUNDS];
    run();
    for (int i = 0; i < n_rounds; i++) {
        double start = cpu_ns();
        run();
        rounds[i] = cpu_ns() - start;
    }
    return report(name, rounds, pixels);
}

static void
measure_decoding(void)
{
    double bare[MAX_ROUNDS], ours[MAX_ROUNDS], ratio[MAX_ROUNDS];
    bare_libjpeg();
    our_decode();
    for (int i = 0; i < n_rounds; i++) {
        double start = cpu_ns();
        bare_libjpeg();
        double middle = cpu_ns();
        our_decode();
        bare[i] = middle - start;
        ours[i] = cpu_ns() - middle;
        ratio[i] = ours[i] / bare[i];
    }
    printf("decoding to RGB\n");
    report("bare libjpeg-turbo", bare, n_pixels);
    report("pack_image_decode", ours, n_pixels);
    qsort(ratio, (size_t)n_rounds, sizeof *ratio, ascending);
    printf("  ratio within a round %.4f (%.4f to %.4f)\n", ratio[n_rounds / 2], ratio[0],
           ratio[n_rounds - 1]);
}

static void
measure_resampling(void)
{
    static const enum pack_resample_filter order[] = {
        PACK_RESAMPLE_NEAREST, PACK_RESAMPLE_BOX,     PACK_RESAMPLE_BILINEAR,
        PACK_RESAMPLE_HAMMING, PACK_RESAMPLE_BICUBIC, PACK_RESAMPLE_LANCZOS,
    };
    const struct pack_resample_ops *ops;
    for (int variant = 0; (ops = pack_resample_variant(variant)); variant++) {
        printf("shorter side 256, crop 224, %s\n", ops->name);
        pack_resample_scratch_use(job.scratch, ops);
        for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
            for (int layout = 0; layout < 2; layout++) {
                char name[64];
                job.geometry.filter = order[i];
                job.layout = (enum pack_pixel_layout)layout;
                snprintf(name, sizeof name, "%s, %s", pack_resample_filter_name(order[i]),
                         pack_pixel_layout_name(job.layout));
                measure(name, resample, n_pixels);
            }
    }
    printf("beside them\n");
    measure("memcpy of the source", copy, n_pixels);
    job.layout = PACK_PIXEL_NHWC;
    measure("pack_pixel_sums, nhwc", sums, (double)SAMPLE_SIDE * SAMPLE_SIDE * n_files);
    job.layout = PACK_PIXEL_NCHW;
    measure("pack_pixel_sums, nchw", sums, (double)SAMPLE_SIDE * SAMPLE_SIDE * n_files);
}

int
main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "r:")) != -1;)
        if (option != 'r' || (n_rounds = atoi(optarg)) < 1 || n_rounds > MAX_ROUNDS)
            fail("usage", "bench_pixels [-r ROUNDS] FILE...");
    for (; optind < argc && n_files < MAX_FILES; optind++)
        load(&files[n_files++], argv[optind]);
    if (!n_files)
        fail("usage", "bench_pixels [-r ROUNDS] FILE...");
    job.geometry = (struct pack_geometry){ .shorter = 256,
                                           .crop_h = SAMPLE_SIDE,
                                           .crop_w = SAMPLE_SIDE };
    if (pack_resample_scratch_new(&job.scratch, NULL))
        return 2;
    printf("%d files, %.0f pixels on average, %d rounds\n", n_files, n_pixels / n_files,
           n_rounds);
    measure_decoding();
    measure_resampling();
    return 0;
}
