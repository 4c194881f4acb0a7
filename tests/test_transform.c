/*
 * What the reader makes of images, by its own numbers: each value against the pixel that it
 * is to come from; errors and closing while samples are being made. Against Pillow:
 * reader_transform.sh.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpack/dataset.h>
#include <libpack/reader.h>
#include "libpack/reader/transform.h"
#include "tests/made_h5.h"
#include "tests/made_reader.h"
#include "tests/tap.h"

enum { N = 96, H = 6, W = 9, C = 3, BATCH = 8 };

static const char path[] = "test_transform.tmp.h5";
/* A chunk a batch. */
static const struct made images = { .name = "images",
                                    .type = "u8",
                                    .rank = 4,
                                    .dims = { N, H, W, C },
                                    .chunk = { BATCH, H, W, C },
                                    .pipeline = "gzip:1+fletcher32" };
static uint8_t data[N][H][W][C];

static void
write_file(void)
{
    size_t size;
    made_write(&images, path);
    uint8_t *read = made_read(path, "x", true, &size);
    memcpy(data, read, sizeof data);
    free(read);
}

static struct pack_reader_params
reading(const struct pack_reader_transform *transform, unsigned n_threads)
{
    return (struct pack_reader_params){ .file = path,
                                        .dataset = "x",
                                        .pattern = { .batch = BATCH },
                                        .n_epochs = 2,
                                        .n_threads = n_threads,
                                        .transform = transform };
}

/* Of the drawn part, without resizing, as it is to be in the batch. */
static bool
is_right(const struct pack_reader_transform *asked, const struct pack_reader_batch *batch)
{
    static struct pack_facts facts;
    const struct pack_shape sample = { .rank = 4, .extent = { 1, H, W, C } };
    struct pack_transform t;
    pack_dataset_facts(path, "x", &facts, NULL);
    pack_transform_init(&t, asked, &facts, &sample, 0, NULL);
    const uint8_t *got = batch->data;
    for (size_t i = 0; i < batch->n_samples; i++) {
        struct pack_transform_drawn d;
        pack_transform_draw(&t, batch->epoch, batch->samples[i], &d);
        for (uint32_t k = 0; k < t.out_h * t.out_w * C; k++) {
            uint32_t c = t.makes_planes ? k / (t.out_h * t.out_w) : k % C;
            uint32_t pixel = t.makes_planes ? k % (t.out_h * t.out_w) : k / C;
            uint32_t y = pixel / t.out_w, x = pixel % t.out_w;
            uint8_t want = data[batch->samples[i]][d.y + y]
                               [d.x + (d.flips ? t.out_w - 1 - x : x)][c];
            float value = 0;
            if (asked->values == PACK_READER_BYTES && got[k] != want)
                return false;
            memcpy(&value, got + 4 * (size_t)k, sizeof value * (asked->values != 0));
            if (asked->values == PACK_READER_FP32 && value != (float)want / 2 - 50)
                return false;
        }
        got += t.out_bytes;
    }
    return true;
}

static void
test_values(void)
{
    int n_wrong = 0, n_read = 0;
    for (int i = 0; i < 3 * 3 * 2 * 2; i++) {
        struct pack_reader_transform asked = {
            .crop = (enum pack_reader_crop)(i % 3),
            .channels = (enum pack_reader_channels)(i / 3 % 3),
            .values = (enum pack_reader_values)(i / 9 % 2),
            .flip = i / 18 ? 0.5 : 0,
            .height = i % 3 ? 4 : 0,
            .width = i % 3 ? 5 : 0,
            .mean = { 100, 100, 100 },
            .std = { 2, 2, 2 },
        };
        struct pack_reader_params params = reading(&asked, 1 + (unsigned)i % 4);
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch = { .n_samples = 1 };
        struct pack_error err = { .text = "" };
        if (pack_reader_open(&params, &reader, &err) != PACK_OK)
            note("%s", err.text);
        while (reader && pack_reader_next(reader, &batch, &err) == PACK_OK &&
               batch.n_samples) {
            n_wrong += !is_right(&asked, &batch);
            n_read++;
        }
        pack_reader_close(reader);
    }
    ok(n_wrong == 0 && n_read == 36 * 2 * N / BATCH,
       "%d batches, %d of them wrong: cut, flipped, turned, normalised", n_read, n_wrong);
}

/* Boxes of a chunk's shape, which begin anywhere, lie in up to four of them. */
static void
test_boxes(void)
{
    static const char large_path[] = "test_transform_large.tmp.h5";
    const struct pack_reader_transform asked = { .flip = 1 };
    struct made large = { .name = "large",
                          .type = "u8",
                          .rank = 4,
                          .dims = { N, 2 * H, 2 * W, C },
                          .chunk = { 1, H, W, C } };
    int n_wrong = 0, n_read = 0;
    for (int k = 0; k < 2; k++) {
        large.pipeline = k ? "gzip:1" : NULL;
        made_write(&large, large_path);
        struct pack_reader_params params = reading(NULL, 2);
        struct pack_reader *plain = NULL, *made = NULL;
        struct pack_reader_batch a = { .n_samples = 1 }, b;
        params.file = large_path;
        params.pattern.box = (struct pack_shape){ 4, { 1, H, W, C } };
        pack_reader_open(&params, &plain, NULL);
        params.transform = &asked;
        pack_reader_open(&params, &made, NULL);
        while (plain && made && pack_reader_next(plain, &a, NULL) == PACK_OK &&
               pack_reader_next(made, &b, NULL) == PACK_OK && a.n_samples) {
            const uint8_t(*from)[W][C] = a.data, (*to)[W][C] = b.data;
            for (size_t row = 0; row < a.n_samples * H; row++)
                for (int x = 0; x < W; x++)
                    n_wrong += memcmp(to[row][x], from[row][W - 1 - x], C) != 0;
            n_read++;
        }
        pack_reader_close(plain);
        pack_reader_close(made);
    }
    unlink(large_path);
    ok(n_wrong == 0 && n_read == 2 * 2 * N / BATCH,
       "boxes of several chunks are made as they are: %d batches, %d pixels wrong", n_read, n_wrong);
}

static void
test_info(void)
{
    const struct pack_reader_transform asked = { .crop = PACK_READER_CROP_RESIZED,
                                                 .height = 4,
                                                 .width = 5,
                                                 .values = PACK_READER_FP16,
                                                 .channels = PACK_READER_CHANNELS_FIRST };
    static const char *const further[] = { "x" };
    struct pack_reader_params params = reading(&asked, 2);
    struct pack_reader *reader = NULL;
    struct pack_reader_info info = { .n_slots = 0 };
    struct pack_reader_batch batch = { .n_samples = 0 };
    char text[PACK_SHAPE_TEXT_MAX] = "";
    params.further = further;
    params.n_further = 1;
    if (pack_reader_open(&params, &reader, NULL) == PACK_OK &&
        pack_reader_next(reader, &batch, NULL) == PACK_OK)
        pack_reader_info(reader, &info, NULL);
    ok(strcmp(pack_shape_format(&info.sample, text), "1x3x4x5") == 0 && info.elem_size == 2 &&
           info.sample_bytes == 120,
       "what is handed out has its own shape and type: %s of %zu", text, info.elem_size);
    ok(batch.work.transform_ns > 0 && batch.work.transform_ns <= batch.work.total_ns,
       "the time it takes is told of");
    ok(batch.n_samples == BATCH && memcmp(batch.further[0], data, sizeof data[0] * BATCH) == 0,
       "datasets in step stay as they are");
    pack_reader_close(reader);
}

/* A damaged chunk fails its batch and no other, also when samples are made of batches. */
static void
test_damage(void)
{
    const struct pack_reader_transform asked = { .flip = 1 };
    struct pack_chunkindex index;
    const uint64_t bytes = 0x123456789;
    int n_good = 0, n_bad = 0, fd = open(path, O_RDWR);
    if (pack_chunkindex_read(path, "x", 0, &index, NULL) == PACK_OK) {
        if (pwrite(fd, &bytes, sizeof bytes, (off_t)index.chunks[5].address_bytes + 30) < 0)
            note("nothing was damaged");
        pack_chunkindex_done(&index);
    }
    close(fd);
    for (unsigned n = 1; n < 5; n++) {
        struct pack_reader_params params = reading(&asked, n);
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        struct pack_error err;
        if (pack_reader_open(&params, &reader, &err) != PACK_OK)
            continue;
        for (int i = 0; i < 24; i++) {
            enum pack_status status = pack_reader_next(reader, &batch, &err);
            n_good += status == PACK_OK && i % 12 != 5 && is_right(&asked, &batch);
            n_bad += status == PACK_ERR_FORMAT && i % 12 == 5 && strstr(err.text, "chunk (5,");
        }
        pack_reader_close(reader);
    }
    ok(n_good == 4 * 22 && n_bad == 4 * 2, "a damaged chunk fails its batch alone: %d and %d",
       n_good, n_bad);
}

static void
test_closing(void)
{
    const struct pack_reader_transform asked = { .crop = PACK_READER_CROP_RESIZED,
                                                 .height = 40,
                                                 .width = 50 };
    int n = 0;
    for (int i = 0; i < 60; i++) {
        struct pack_reader_params params = reading(&asked, 1 + (unsigned)i % 6);
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        params.n_ahead = 1 + (unsigned)i % 20;
        params.pattern.kind = PACK_PATTERN_SHUFFLE;
        if (pack_reader_open(&params, &reader, NULL) != PACK_OK)
            continue;
        for (int k = 0; k < i % 30; k++)
            pack_reader_next(reader, &batch, NULL);
        pack_reader_close(reader);
        n++;
    }
    is_number(n, 60, "a reader is closed after any number of batches");
}

int
main(void)
{
    write_file();
    test_values();
    test_boxes();
    test_info();
    test_closing();
    test_damage();
    unlink(path);
    return done();
}
