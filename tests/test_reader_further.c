/*
 * Datasets in step against H5Dread: each batch of each order has, of every further dataset,
 * the rows of the samples that the first gives, kept or read, in any memory and with any
 * number of threads.
 */
#include <unistd.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "tests/made_h5.h"
#include "tests/made_reader.h"
#include "tests/tap.h"

static const char path[] = "test_reader_further.tmp.h5";
static const char source[] = "test_reader_further.source.h5";

enum { N_ROWS = 96 };

static const struct made images = { .name = "x",
                                    .type = "i16",
                                    .rank = 3,
                                    .dims = { N_ROWS, 9, 10 },
                                    .chunk = { 8, 5, 10 },
                                    .pipeline = "shuffle+gzip:4+fletcher32" };
static const struct made mades[] = {
    { .name = "labels", .type = ">i64", .rank = 1, .dims = { N_ROWS } },
    { .name = "compact",
      .type = "i16",
      .rank = 2,
      .dims = { N_ROWS, 3 },
      .compact = true },
    { .name = "points",
      .type = ">f32",
      .rank = 2,
      .dims = { N_ROWS, 50 },
      .chunk = { 10, 50 },
      .pipeline = "zstd:1+fletcher32" },
    { .name = "masks",
      .type = "u8",
      .rank = 4,
      .dims = { N_ROWS, 7, 6, 3 },
      .chunk = { 5, 4, 4, 2 },
      .pipeline = "gzip:1",
      .sparse = true,
      .fill = 3 },
    { .name = "plain chunks",
      .type = "f64",
      .rank = 1,
      .dims = { N_ROWS },
      .chunk = { 7 } },
};
enum { N_MADES = sizeof mades / sizeof mades[0], N_FURTHER = N_MADES + 1, N_ALL };

/* The last is virtual: HDF5 reads it. */
static const char *const names[N_FURTHER] = { "labels", "/compact",     "points",
                                              "masks",  "plain chunks", "virtual" };

/* As HDF5 reads them, the images first. */
static struct {
    uint8_t *data;
    size_t size;
} wholes[N_ALL];

/* ------------------------------------------------------------------ a file */

static void
add_virtual(hid_t file)
{
    static const struct made made = {
        .name = "x", .type = ">i16", .rank = 2, .dims = { N_ROWS, 4 }
    };
    made_write(&made, source);
    hid_t space = H5Screate_simple(2, made.dims, NULL);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t column = 0; column < 4; column += 2) { /* no whole samples */
        H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){ 0, column }, NULL,
                            (hsize_t[]){ N_ROWS, 2 }, NULL);
        H5Pset_virtual(dcpl, space, source, "x", space);
    }
    H5Dclose(H5Dcreate2(file, "virtual", H5T_STD_I16BE, space, H5P_DEFAULT, dcpl,
                        H5P_DEFAULT));
    H5Pclose(dcpl);
    H5Sclose(space);
}

static void
write_all(void)
{
    made_write(&images, path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    for (size_t i = 0; i < N_MADES; i++)
        made_add(file, &mades[i]);
    add_virtual(file);
    H5Fclose(file);
    for (size_t i = 0; i < N_ALL; i++) {
        free(wholes[i].data);
        wholes[i].data = made_read(path, i ? names[i - 1] : "x", true, &wholes[i].size);
    }
}

/* ------------------------------------------------------- batch by batch */

static const struct order {
    const char *text;
    uint64_t batch, n_epochs, position, world, step;
    bool crop, two_rows;
} orders[] = {
    { "sequential", 7, 1, 0, 0, 0, false, false },
    { "shuffle", 16, 3, 48, 0, 0, false, false },
    { "shuffle", 5, 2, 0, 0, 0, true, false },
    { "block:chunks=3", 10, 2, 0, 3, 0, false, false },
    { "replacement:draws=60", 60, 2, 0, 0, 0, false, false },
    { "shuffle", 4, 2, 8, 2, 3, true, true },
};
enum { N_ORDERS = sizeof orders / sizeof orders[0] };

static struct pack_reader_params
params_of(const struct order *order)
{
    struct pack_pattern p = { .seed = 5, .epoch = 2, .batch = order->batch };
    pack_pattern_parse(order->text, &p, NULL);
    p.world = order->world;
    p.rank = order->world / 2;
    p.step = order->step;
    if (order->crop)
        p.box = (struct pack_shape){ 3, { order->two_rows ? 2 : 1, 4, 7 } };
    return (struct pack_reader_params){ .file = path,
                                        .dataset = "/x",
                                        .pattern = p,
                                        .position = order->position,
                                        .n_epochs = order->n_epochs,
                                        .further = names,
                                        .n_further = N_FURTHER };
}

/* Whether one sample, of all datasets, is what the box has. */
static bool
is_sample(const struct pack_reader_batch *batch, size_t i, const struct pack_box *box)
{
    const int16_t *x = (const int16_t *)wholes[0].data, *got = batch->data;
    size_t count[3] = { box->count[0], box->count[1], box->count[2] };
    got += i * count[0] * count[1] * count[2];
    for (size_t a = 0; a < count[0]; a++)
        for (size_t b = 0; b < count[1]; b++)
            for (size_t c = 0; c < count[2]; c++)
                if (*got++ != x[((box->start[0] + a) * 9 + box->start[1] + b) * 10 +
                                box->start[2] + c])
                    return false;
    for (size_t k = 0; k < N_FURTHER; k++) {
        size_t row = wholes[k + 1].size / N_ROWS;
        if (memcmp((const uint8_t *)batch->further[k] + i * count[0] * row,
                   wholes[k + 1].data + box->start[0] * row, count[0] * row) != 0) {
            note("'%s' differs", names[k]);
            return false;
        }
    }
    return true;
}

static const char *
compare(struct pack_reader *reader, const struct pack_reader_params *params)
{
    struct pack_pattern p = params->pattern;
    struct pack_pattern_iter *iter;
    struct pack_request request;
    struct pack_reader_batch batch;
    struct pack_error err = { .text = "" };
    const char *bad = NULL;
    uint64_t n = params->position;
    p.extent = (struct pack_shape){ 3, { N_ROWS, 9, 10 } };
    if (p.chunk_samples == 0)
        p.chunk_samples = images.chunk[0];
    pack_pattern_new(&p, &iter, NULL);
    pack_pattern_seek(iter, p.epoch, params->position, NULL);
    while (!bad && pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples)
        for (size_t i = 0; i < batch.n_samples && !bad; i++, n++) {
            if (!pack_pattern_next(iter, &request)) {
                pack_pattern_seek(iter, pack_pattern_epoch(iter) + 1, 0, NULL);
                pack_pattern_next(iter, &request);
            }
            if (!is_sample(&batch, i, &request.boxes[0]))
                bad = "bytes differ";
        }
    if (!bad && n != params->n_epochs * pack_pattern_length(iter))
        bad = err.text[0] ? "a batch failed" : "batches are missing";
    if (bad)
        note("%s", err.text);
    pack_pattern_free(iter);
    return bad;
}

/* ------------------------------------------------------- all against all */

/* Whether all further datasets are read, and kept, as they should be. */
static bool
is_engine(struct pack_reader *reader, const char *engine)
{
    struct pack_reader_info info;
    for (size_t k = 0; k < N_FURTHER; k++) {
        const char *wanted =
            k == N_MADES && strcmp(engine, "memory") != 0 ? "hdf5" : engine;
        if (pack_reader_further_info(reader, k, &info, NULL) != PACK_OK ||
            strcmp(info.engine, wanted) != 0)
            return false;
    }
    return true;
}

static const char *
run(struct pack_reader_params params, bool kept)
{
    struct pack_reader *reader = NULL;
    struct pack_reader_info info = { .engine = "" };
    struct pack_error err = { .text = "" };
    uint64_t least = least_memory(params);
    params.memory_bytes = kept ? 0 : least;
    if (pack_reader_open(&params, &reader, &err) != PACK_OK) {
        note("%s", err.text);
        return "not opened";
    }
    const char *bad = compare(reader, &params);
    pack_reader_info(reader, &info, NULL);
    if (!bad && !kept && info.memory_bytes > least)
        bad = "more than the least memory";
    if (!bad && !is_engine(reader, kept ? "memory" : info.engine))
        bad = "kept or read otherwise";
    pack_reader_close(reader);
    params.memory_bytes = least - 1;
    if (!bad && pack_reader_open(&params, &reader, &err) != PACK_ERR_MEMORY)
        bad = "less than the least does";
    return bad;
}

static void
test_all(void)
{
    static const unsigned threads[] = { 1, 2, 5 };
    write_all();
    for (size_t o = 0; o < N_ORDERS; o++) {
        int n_good = 0;
        for (unsigned k = 0; k < 12; k++) {
            struct pack_reader_params params = params_of(&orders[o]);
            params.n_threads = threads[k % 3];
            params.n_ahead = 1 + k % 4;
            params.strategy = PACK_READER_PREAD + k / 2 % 3;
            const char *bad = run(params, k < 6);
            n_good += !bad;
            if (bad)
                note("%u threads, %s: %s", params.n_threads, k < 6 ? "kept" : "read",
                     bad);
        }
        ok(n_good == 12, "%s: %d datasets in step as H5Dread, 12 times", orders[o].text,
           N_ALL);
    }
}

/* Boxes of a trace have rows of their own. */
static void
test_trace(void)
{
    struct pack_box boxes[] = { { 3, { 5, 1, 0 }, { 2, 3, 10 } },
                                { 3, { 94, 6, 0 }, { 2, 3, 10 } },
                                { 3, { 15, 0, 0 }, { 2, 3, 10 } } };
    for (int kept = 0; kept < 2; kept++) {
        struct pack_reader_params params = params_of(&orders[0]);
        params.pattern = (struct pack_pattern){
            .kind = PACK_PATTERN_TRACE, .trace = boxes, .n_trace = 3, .batch = 2
        };
        const char *bad = run(params, kept);
        ok(!bad, "a trace, %s%s%s", kept ? "kept" : "read", bad ? ": " : "",
           bad ? bad : "");
    }
}

/* ------------------------------------------------------------------ memory */

/* Two datasets too large to be kept share the memory, by their size. */
static void
test_memory(void)
{
    static const char *const pair[] = { "second", "small" };
    struct made large = { .name = "second",
                          .type = "i16",
                          .rank = 2,
                          .dims = { 2000, 3000 },
                          .chunk = { 8, 3000 },
                          .pipeline = "shuffle+gzip:1" };
    struct made small = { .name = "small", .type = "f64", .rank = 2, .dims = { 2000, 30 } };
    struct pack_reader_params params = { .file = path,
                                         .dataset = "x",
                                         .pattern = { .kind = PACK_PATTERN_SHUFFLE,
                                                      .batch = 8 },
                                         .memory_bytes = 12 << 20,
                                         .n_threads = 2,
                                         .further = pair,
                                         .n_further = 2 };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info all = { .engine = "" }, one = all, kept = all;
    uint64_t most = 0, n = 0;
    made_write(&large, path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    made_add(file, &large);
    made_add(file, &small);
    H5Fclose(file);
    H5garbage_collect();
    uint64_t before = allocated();
    if (pack_reader_open(&params, &reader, NULL) != PACK_OK) {
        ok(false, "a large file is opened");
        return;
    }
    while (pack_reader_next(reader, &batch, NULL) == PACK_OK && batch.n_samples) {
        n += batch.n_samples;
        most = allocated() > most ? allocated() : most;
    }
    most = most > before ? most - before : 0;
    pack_reader_info(reader, &all, NULL);
    pack_reader_further_info(reader, 0, &one, NULL);
    pack_reader_further_info(reader, 1, &kept, NULL);
    pack_reader_close(reader);
    ok(n == 2000 && most <= params.memory_bytes + (64 << 10) &&
           all.memory_bytes <= params.memory_bytes &&
           all.memory_bytes > params.memory_bytes * 9 / 10,
       "of 12 MiB allowed, %.1f are planned and %.1f allocated at most",
       (double)all.memory_bytes / (1 << 20), (double)most / (1 << 20));
    ok(strcmp(kept.engine, "memory") == 0 && one.n_slots > 20 && all.n_slots > 20 &&
           one.n_slots < all.n_slots + all.n_slots / 4 &&
           all.n_slots < one.n_slots + one.n_slots / 4,
       "two of a size keep %llu and %llu chunks, the small one is kept",
       (unsigned long long)all.n_slots, (unsigned long long)one.n_slots);
}

/* ------------------------------------------------------------------ errors */

/* Overwrites bytes of a chunk of a dataset. */
static void
damage(const char *dataset, uint64_t number)
{
    struct pack_chunkindex index;
    const uint64_t bytes = UINT64_MAX;
    FILE *file = fopen(path, "r+b");
    if (pack_chunkindex_read(path, dataset, 0, &index, NULL) == PACK_OK) {
        fseek(file, (long)index.chunks[number].address_bytes + 20, SEEK_SET);
        fwrite(&bytes, sizeof bytes, 1, file);
        pack_chunkindex_done(&index);
    }
    fclose(file);
}

/* In batches of ten, which are the chunks of "points". */
static void
test_damage(void)
{
    static const char *const points[] = { "labels", "points" };
    struct pack_reader_params params = params_of(&orders[0]);
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_error err = { .text = "" }, said = err;
    int n_good = 0, n_bad = 0;
    write_all();
    damage("points", 4);
    params.pattern.batch = 10;
    params.further = points;
    params.n_further = 2;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_FORMAT &&
           strstr(err.text, "points"),
       "one that would be kept and is damaged is not opened: %s", err.text);
    params.memory_bytes = least_memory(params);
    if (pack_reader_open(&params, &reader, &err) != PACK_OK) {
        ok(false, "%s", err.text);
        return;
    }
    for (uint64_t i = 0; i < 10; i++) {
        enum pack_status status = pack_reader_next(reader, &batch, &err);
        size_t row = wholes[1].size / N_ROWS, line = wholes[3].size / N_ROWS;
        n_good += status == PACK_OK && batch.number == i && i != 4 &&
                  memcmp(batch.further[0], wholes[1].data + i * 10 * row,
                         row * batch.n_samples) == 0 &&
                  memcmp(batch.further[1], wholes[3].data + i * 10 * line,
                         line * batch.n_samples) == 0;
        n_bad += status == PACK_ERR_FORMAT && i == 4;
        if (status != PACK_OK)
            said = err;
    }
    pack_reader_close(reader);
    ok(n_good == 9 && n_bad == 1 && strstr(said.text, "/points', chunk (4,0)"),
       "its batch fails, and no other: %s", said.text);
    damage("x", 2 * 5); /* samples 40 to 47, in batch 4 too */
    damage("x", 2 * 9); /* samples 72 to 79, in batch 7 alone */
    n_good = n_bad = 0;
    pack_reader_open(&params, &reader, &err);
    for (uint64_t i = 0; i < 10; i++) {
        enum pack_status status = pack_reader_next(reader, &batch, &err);
        size_t line = wholes[3].size / N_ROWS;
        n_good += status == PACK_OK && batch.number == i &&
                  memcmp(batch.further[1], wholes[3].data + i * 10 * line,
                         line * batch.n_samples) == 0;
        n_bad += status == PACK_ERR_FORMAT && (i == 4 || i == 7) &&
                 strstr(err.text, "/x', chunk (") != NULL;
    }
    pack_reader_close(reader);
    ok(n_good == 8 && n_bad == 2,
       "where the first fails it is named, and all stay in step");
}

static void
test_refusals(void)
{
    static const char *const none[] = { "labels", NULL }, *const away[] = { "no/such" },
                             *const other[] = { "labels", "short" };
    static const struct made brief = {
        .name = "short", .type = "u8", .rank = 1, .dims = { N_ROWS - 1 }
    };
    struct pack_reader_params params = params_of(&orders[0]);
    struct pack_reader *reader = NULL;
    struct pack_reader_info info;
    struct pack_error err = { .text = "" };
    write_all();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    made_add(file, &brief);
    H5Fclose(file);
    params.further = other;
    params.n_further = 2;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "'short' has 95") && strstr(err.text, "'/x' 96") &&
           strcmp(err.param, "further") == 0,
       "%s", err.text);
    params.further = none;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_ARGUMENT, "%s", err.text);
    params.further = NULL;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_ARGUMENT, "%s", err.text);
    params.n_further = 257;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_ARGUMENT, "%s", err.text);
    params.further = away;
    params.n_further = 1;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_NOT_FOUND, "%s", err.text);
    params.further = other;
    if (pack_reader_open(&params, &reader, &err) == PACK_OK)
        ok(pack_reader_further_info(reader, 1, &info, &err) == PACK_ERR_ARGUMENT, "%s",
           err.text);
    pack_reader_close(reader);
}

static void
test_closing(void)
{
    int n = 0;
    for (int i = 0; i < 40; i++) {
        struct pack_reader_params params = params_of(&orders[1]);
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        params.n_threads = 1 + (unsigned)i % 3;
        params.memory_bytes = i % 2 ? least_memory(params) : 0;
        if (pack_reader_open(&params, &reader, NULL) != PACK_OK)
            continue;
        for (int k = 0; k < i % 20; k++)
            pack_reader_next(reader, &batch, NULL);
        pack_reader_close(reader);
        n++;
    }
    is_number(n, 40,
              "a reader of several datasets is closed after any number of batches");
}

/* This machine has six processors. */
enum { N_PROCESSORS = 6 };
unsigned __wrap_pack_pool_default_threads(void);

unsigned
__wrap_pack_pool_default_threads(void)
{
    return N_PROCESSORS;
}

/* Threads of a reader that was not told how many; 0: it was not opened. */
static unsigned
threads_within(struct pack_reader_params params, uint64_t bytes)
{
    struct pack_reader *reader = NULL;
    struct pack_reader_info info = { .n_threads = 0 };
    params.n_threads = 0;
    params.memory_bytes = bytes;
    if (pack_reader_open(&params, &reader, NULL) == PACK_OK)
        pack_reader_info(reader, &info, NULL);
    pack_reader_close(reader);
    return info.memory_bytes <= bytes ? info.n_threads : 0;
}

static void
test_threads(void)
{
    struct pack_reader_params params = params_of(&orders[1]);
    unsigned wrong = 0;
    for (unsigned n = 1; n <= N_PROCESSORS; n++) {
        params.n_threads = n;
        uint64_t least = least_memory(params);
        wrong += threads_within(params, least) != n;
        wrong += n > 1 && threads_within(params, least - 1) != n - 1;
    }
    is_number(wrong, 0, "of a thread for each processor there are as many as fit");
    params.n_threads = 1;
    is_number(threads_within(params, least_memory(params) - 1), 0,
              "where none fits nothing is opened");
}

int
main(void)
{
    pack_h5_quiet();
    pack_h5_register_zstd(NULL);
    test_all();
    test_trace();
    test_damage();
    test_refusals();
    test_closing();
    test_threads();
    test_memory();
    for (size_t i = 0; i < N_ALL; i++)
        free(wholes[i].data);
    unlink(path);
    unlink(source);
    return done();
}
