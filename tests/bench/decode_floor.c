/*
 * The physical floor of packing JPEG photos: reads and decodes every file of a list with
 * libjpeg-turbo on N threads and does nothing with the pixels. Prints the seconds it
 * took.
 *
 *     decode_floor N LIST        (LIST: one path per line)
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "libpack/base/clock.h"

static char **paths;
static size_t n_paths;
static atomic_size_t next_path;
static atomic_ullong n_pixels;

struct decoder {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    unsigned char *file, *pixels;
    size_t file_capacity, pixel_capacity;
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
    while ((i = atomic_fetch_add(&next_path, 1)) < n_paths)
        decode(&d, paths[i]);
    jpeg_destroy_decompress(&d.cinfo);
    free(d.file);
    free(d.pixels);
    return unused;
}

int
main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    pthread_t threads[256];
    int n_threads = argc == 3 ? atoi(argv[1]) : 0;
    FILE *list = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!list || n_threads < 1 || n_threads > 256)
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
    fprintf(stderr, "%zu files, %llu pixels\n", n_paths, atomic_load(&n_pixels));
    return 0;
}
