/*
 * The physical floor of packing JPEG photos: reads and decodes every file of a list with
 * libjpeg-turbo on N threads and does nothing with the pixels. Prints the seconds it
 * took.
 *
 *     decode_floor N LIST        (LIST: one path per line)
 *     decode_floor N LIST LEVEL RAW BYTES
 *
 * The second compresses behind each image one of the samples of RAW, which are of BYTES
 * bytes each and lie one behind the other, with zstd of that level: the floor of packing
 * compressed.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <zstd.h>

#include "libpack/base/clock.h"

static char **paths;
static size_t n_paths;
static atomic_size_t next_path;
static atomic_ullong n_pixels, n_stored;

static struct {
    int level;
    unsigned char *samples; /* NULL: nothing is compressed */
    size_t n, bytes;
} codec;

struct decoder {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    unsigned char *file, *pixels;
    size_t file_capacity, pixel_capacity;
    ZSTD_CCtx *zstd;
    unsigned char *stored;
};

static void
on_error(j_common_ptr cinfo)
{
    longjmp(((struct decoder *)cinfo)->failed, 1);
}

static void
on_message(j_common_ptr cinfo)
{
    (void)cinfo;
}

static size_t
read_file(struct decoder *d, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    setvbuf(f, NULL, _IONBF, 0);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    if (size > d->file_capacity)
        d->file = realloc(d->file, d->file_capacity = size);
    size = fread(d->file, 1, size, f);
    fclose(f);
    return size;
}

static void
decode(struct decoder *d, const char *path)
{
    size_t size = read_file(d, path);
    if (!size || setjmp(d->failed)) {
        jpeg_abort_decompress(&d->cinfo);
        return;
    }
    jpeg_mem_src(&d->cinfo, d->file, size);
    jpeg_read_header(&d->cinfo, TRUE);
    d->cinfo.out_color_space = JCS_RGB;
    jpeg_start_decompress(&d->cinfo);
    size_t row = (size_t)d->cinfo.output_width * 3, need = row * d->cinfo.output_height;
    if (need > d->pixel_capacity)
        d->pixels = realloc(d->pixels, d->pixel_capacity = need);
    while (d->cinfo.output_scanline < d->cinfo.output_height) {
        JSAMPROW rows[16];
        for (int i = 0; i < 16; i++)
            rows[i] = d->pixels + row * (d->cinfo.output_scanline + (size_t)i) % need;
        JDIMENSION left = d->cinfo.output_height - d->cinfo.output_scanline;
        jpeg_read_scanlines(&d->cinfo, rows, left < 16 ? left : 16);
    }
    jpeg_finish_decompress(&d->cinfo);
    atomic_fetch_add(&n_pixels, need / 3);
}

static void
encode(struct decoder *d, size_t i)
{
    const unsigned char *sample = codec.samples + i % codec.n * codec.bytes;
    size_t size = ZSTD_compressCCtx(d->zstd, d->stored, ZSTD_compressBound(codec.bytes),
                                    sample, codec.bytes, codec.level);
    if (!ZSTD_isError(size))
        atomic_fetch_add(&n_stored, size);
}

static void *
worker(void *unused)
{
    struct decoder d;
    size_t i;
    memset(&d, 0, sizeof d);
    d.cinfo.err = jpeg_std_error(&d.errors);
    d.errors.error_exit = on_error;
    d.errors.output_message = on_message;
    jpeg_create_decompress(&d.cinfo);
    if (codec.samples) {
        d.zstd = ZSTD_createCCtx();
        d.stored = malloc(ZSTD_compressBound(codec.bytes));
    }
    while ((i = atomic_fetch_add(&next_path, 1)) < n_paths) {
        decode(&d, paths[i]);
        if (codec.samples)
            encode(&d, i);
    }
    jpeg_destroy_decompress(&d.cinfo);
    ZSTD_freeCCtx(d.zstd);
    free(d.stored);
    free(d.file);
    free(d.pixels);
    return unused;
}

static bool
read_samples(char **args)
{
    codec.level = atoi(args[0]);
    codec.bytes = strtoul(args[2], NULL, 10);
    FILE *f = fopen(args[1], "rb");
    if (!f || !codec.bytes || fseek(f, 0, SEEK_END))
        return false;
    codec.n = (size_t)ftell(f) / codec.bytes;
    rewind(f);
    codec.samples = malloc(codec.n * codec.bytes);
    bool whole =
        codec.n && fread(codec.samples, codec.bytes, codec.n, f) == codec.n;
    fclose(f);
    return whole;
}

int
main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    pthread_t threads[256];
    bool usage = argc == 3 || argc == 6;
    int n_threads = usage ? atoi(argv[1]) : 0;
    FILE *list = usage ? fopen(argv[2], "r") : NULL;
    if (!list || n_threads < 1 || n_threads > 256)
        return 2;
    if (argc == 6 && !read_samples(argv + 3))
        return 2;
    while ((length = getline(&line, &capacity, list)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        paths = realloc(paths, (n_paths + 1) * sizeof *paths);
        paths[n_paths++] = strdup(line);
    }
    uint64_t start = pack_clock_ns();
    for (int i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    printf("%.6f\n", (double)(pack_clock_ns() - start) / 1e9);
    fprintf(stderr, "%zu files, %llu pixels, %llu bytes compressed\n", n_paths,
            atomic_load(&n_pixels), atomic_load(&n_stored));
    return 0;
}
