/*
 * Writes the samples of a dataset as the reader gives them, in order and in this machine's
 * byte order, to standard output, for tests in other languages; what it is read with, to
 * standard error.
 *
 *     reader_dump FILE[,FILE ...] DATASET [pread|mmap] [THREADS] [NAME=VALUE ...]
 *
 * Names are those of a transform: crop, height, width, filter, channels and values (as
 * numbers), flip, scale and ratio (as A:B), mean and std (A:B:...); and batch, seed, epochs,
 * kind (the pattern's, as a number), box (shape of a sample, as A:B:...), further (a dataset,
 * written behind each batch), wait (for standard input to end before that batch).
 * Each sample is then told of on standard error: epoch, number, what was drawn for it; with
 * plain=1 there is no transform, and numbers alone are told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "libpack/reader/chunkmap.h"
#include "libpack/reader/transform.h"

static void
set_many(const char *text, double *values)
{
    char *end;
    for (int i = 0; i < PACK_READER_CHANNELS_MAX; i++, text = end + 1) {
        values[i] = strtod(text, &end);
        if (*end != ':')
            return;
    }
}

static const char *further;
static long wait_before = -1;

static void
set_box(const char *text, struct pack_shape *box)
{
    char *end = NULL;
    for (; !end || *end == ':'; text = end + 1)
        box->extent[box->rank++] = strtoull(text, &end, 10);
}

/* Files are named in one argument, which is cut up. */
static void
set_files(char *text, struct pack_reader_params *p)
{
    static const char *files[1000];
    for (p->file = NULL; text; p->n_files++) {
        char *comma = strchr(text, ',');
        files[p->n_files] = text;
        if (comma)
            *comma++ = '\0';
        text = comma;
    }
    p->files = files;
}

static void
write_batch(const struct pack_reader_batch *batch, struct pack_reader *reader)
{
    struct pack_reader_info info;
    pack_reader_info(reader, &info, NULL);
    fwrite(batch->data, info.sample_bytes, batch->n_samples, stdout);
    if (further && pack_reader_further_info(reader, 0, &info, NULL) == PACK_OK)
        fwrite(batch->further[0], info.sample_bytes, batch->n_samples, stdout);
}

/* False for a name that there is not. */
static bool
set(const char *option, struct pack_reader_params *p, struct pack_reader_transform *t)
{
    const char *value = strchr(option, '=');
    size_t n = value ? (size_t)(value - option) : 0;
    double number = value ? strtod(value + 1, NULL) : 0;
#define IS(name) (n == strlen(name) && strncmp(option, name, n) == 0)
    if (IS("crop"))
        t->crop = (enum pack_reader_crop)number;
    else if (IS("height"))
        t->height = (uint32_t)number;
    else if (IS("width"))
        t->width = (uint32_t)number;
    else if (IS("filter"))
        t->filter = (enum pack_resample_filter)number;
    else if (IS("channels"))
        t->channels = (enum pack_reader_channels)number;
    else if (IS("values"))
        t->values = (enum pack_reader_values)number;
    else if (IS("flip"))
        t->flip = number;
    else if (IS("batch"))
        p->pattern.batch = (uint64_t)number;
    else if (IS("seed"))
        p->pattern.seed = (uint64_t)number;
    else if (IS("epochs"))
        p->n_epochs = (uint64_t)number;
    else if (IS("memory"))
        p->memory_bytes = (uint64_t)number;
    else if (IS("kind"))
        p->pattern.kind = (enum pack_pattern_kind)number;
    else if (IS("further"))
        p->further = &further, p->n_further = 1, further = value + 1;
    else if (IS("plain"))
        p->transform = NULL;
    else if (IS("box"))
        set_box(value + 1, &p->pattern.box);
    else if (IS("wait"))
        wait_before = (long)number;
    else if (IS("scale"))
        set_many(value + 1, t->scale);
    else if (IS("ratio"))
        set_many(value + 1, t->ratio);
    else if (IS("mean"))
        set_many(value + 1, t->mean);
    else if (IS("std"))
        set_many(value + 1, t->std);
    else
        return false;
    return true;
}

/* What was drawn for the samples of a batch, by the numbers alone. */
static void
tell(const struct pack_reader_params *p, const struct pack_reader_batch *batch)
{
    struct pack_chunkmap *map;
    struct pack_transform t;
    if (pack_chunkmap_open(p->file, p->dataset, NULL, &map, NULL) != PACK_OK)
        return;
    struct pack_shape sample = map->facts.extent;
    sample.extent[0] = 1;
    if (pack_transform_init(&t, p->transform, &map->facts, &sample, p->pattern.seed, NULL) ==
        PACK_OK)
        for (size_t i = 0; i < batch->n_samples; i++) {
            struct pack_transform_drawn d;
            pack_transform_draw(&t, batch->epoch, batch->samples[i], &d);
            fprintf(stderr, "drawn %llu %llu %u %u %u %u %d\n", (unsigned long long)batch->epoch,
                    (unsigned long long)batch->samples[i], d.y, d.x, d.h, d.w, d.flips);
        }
    pack_chunkmap_close(map);
}

static enum pack_reader_strategy
strategy_of(const char *name)
{
    return strcmp(name, "mmap") == 0     ? PACK_READER_MMAP
           : strcmp(name, "direct") == 0 ? PACK_READER_DIRECT
                                         : PACK_READER_PREAD;
}

int
main(int argc, char **argv)
{
    struct pack_error err = { .text = "usage: reader_dump FILE DATASET" };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info;
    struct pack_reader_transform transform = { 0 };
    struct pack_reader_params params = { 0 };
    enum pack_status status = PACK_ERR_ARGUMENT;
    if (argc > 2) {
        params = (struct pack_reader_params){
            .file = argv[1],
            .dataset = argv[2],
            .pattern = { .batch = 16 },
            .strategy = argc > 3 ? strategy_of(argv[3]) : PACK_READER_PREAD,
            .n_threads = argc > 4 ? (unsigned)atoi(argv[4]) : 2,
        };
        if (argc > 5)
            params.transform = &transform;
        for (int i = 5; i < argc; i++)
            if (!set(argv[i], &params, &transform))
                return 2;
        if (strchr(argv[1], ','))
            set_files(argv[1], &params);
        pack_h5_register_zstd(NULL);
        status = pack_reader_open(&params, &reader, &err);
    }
    if (status == PACK_OK)
        status = pack_reader_info(reader, &info, &err);
    for (long i = 0; status == PACK_OK; i++) {
        while (i == wait_before && getchar() != EOF)
            continue;
        status = pack_reader_next(reader, &batch, &err);
        if (status != PACK_OK || batch.n_samples == 0)
            break;
        write_batch(&batch, reader);
        for (size_t k = 0; k < batch.n_samples && argc > 5 && !params.transform; k++)
            fprintf(stderr, "sample %llu\n", (unsigned long long)batch.samples[k]);
        if (params.transform)
            tell(&params, &batch);
    }
    if (status == PACK_OK)
        fprintf(stderr, "%s %s\n", info.engine, info.reason);
    else
        fprintf(stderr, "reader_dump: %s\n", err.text);
    pack_reader_close(reader);
    return status == PACK_OK && fflush(stdout) == 0 ? 0 : 2;
}
