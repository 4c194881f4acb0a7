/*
 * The reader against H5Dread: every batch of every order, over layouts, filters, types and
 * strategies, the same bytes for any number of threads; what cannot be read is an error of
 * its batch.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "tests/made_h5.h"
#include "tests/made_reader.h"
#include "tests/tap.h"

static const char path[] = "test_reader.tmp.h5";

static const struct made mades[] = {
    { .name = "contiguous", .type = "i16", .rank = 2, .dims = { 103, 17 } },
    { .name = "contiguous, big-endian, behind a user block",
      .type = ">f64",
      .rank = 1,
      .dims = { 500 },
      .user_block = 1024 },
    { .name = "contiguous without storage",
      .type = ">i16",
      .rank = 3,
      .dims = { 1, 6, 7 },
      .sparse = true,
      .fill = 513 },
    { .name = "compact", .type = ">i64", .rank = 2, .dims = { 50, 3 }, .compact = true },
    { .name = "unfiltered chunks of one",
      .type = "u8",
      .rank = 4,
      .dims = { 40, 9, 8, 3 },
      .chunk = { 1, 9, 8, 3 },
      .v110 = true },
    { .name = "unfiltered tiles, some missing",
      .type = ">f32",
      .rank = 4,
      .dims = { 41, 9, 8, 3 },
      .chunk = { 7, 4, 3, 2 },
      .sparse = true,
      .fill = 3 },
    { .name = "gzip, chunks of one",
      .type = "u8",
      .rank = 4,
      .dims = { 40, 9, 8, 3 },
      .chunk = { 1, 9, 8, 3 },
      .pipeline = "gzip:1",
      .v110 = true },
    { .name = "zstd, chunks of sixteen",
      .type = "i16",
      .rank = 3,
      .dims = { 130, 6, 5 },
      .chunk = { 16, 6, 5 },
      .pipeline = "zstd:1",
      .v110 = true,
      .grows = true },
    { .name = "three filters and tiles, big-endian",
      .type = ">i64",
      .rank = 3,
      .dims = { 50, 11, 7 },
      .chunk = { 8, 4, 4 },
      .pipeline = "shuffle+gzip:4+fletcher32",
      .sparse = true,
      .fill = -5 },
    { .name = "filters skipped, edges not filtered",
      .type = "f32",
      .rank = 5,
      .dims = { 30, 3, 5, 4, 5 },
      .chunk = { 4, 2, 2, 3, 2 },
      .pipeline = "shuffle+gzip:4",
      .v110 = true,
      .masked = true,
      .plain_edges = true },
    { .name = "one long row, zstd",
      .type = "f64",
      .rank = 1,
      .dims = { 1000 },
      .chunk = { 37 },
      .pipeline = "shuffle+zstd:3" },
};
enum { N_MADES = sizeof mades / sizeof mades[0] };

/* What is read, and in which order. */
struct order {
    const char *text;
    bool crop;
    uint64_t batch, n_epochs;
    uint64_t memory_bytes;
    bool half; /* of every second sample, and the last one twice */
};

static const struct order orders[] = {
    { "sequential", false, 7, 1, 0, false },
    { "shuffle", false, 16, 2, 0, false },
    { "shuffle", true, 5, 1, 0, false },
    { "block:chunks=3", false, 10, 1, 0, false },
    { "replacement:draws=60", true, 60, 2, 0, false },
    { "shuffle", false, 4, 3, 1, false }, /* in the least memory */
    { "shuffle", true, 9, 3, 2, false },  /* with a few chunks kept */
    { "shuffle", false, 7, 2, 1, true },
    { "block:chunks=2", true, 4, 2, 2, true },
};
enum { N_ORDERS = sizeof orders / sizeof orders[0] };

/* ------------------------------------------------------- the slow way */

/* A dataset as HDF5 reads it, in the machine's byte order. */
struct whole {
    uint8_t *data;
    size_t size, elem_size, chunk_bytes;
    struct pack_shape extent;
};

static bool
read_whole(struct whole *whole)
{
    struct pack_facts facts;
    whole->data = made_read(path, "x", true, &whole->size);
    if (!whole->data || pack_dataset_facts(path, "x", &facts, NULL) != PACK_OK)
        return false;
    whole->extent = facts.extent;
    whole->elem_size = facts.type.bytes;
    whole->chunk_bytes = (size_t)facts.chunk_bytes;
    return true;
}

/* Whether a dense sample is what the box has. */
static bool
is_box(const struct whole *whole, const struct pack_box *box, const uint8_t *sample)
{
    uint64_t n = 1;
    for (int i = 0; i < box->rank; i++)
        n *= box->count[i];
    for (uint64_t e = 0; e < n; e++) {
        uint64_t left = e, at = 0, step = 1;
        for (int i = box->rank - 1; i >= 0; i--) {
            at += (box->start[i] + left % box->count[i]) * step;
            left /= box->count[i];
            step *= whole->extent.extent[i];
        }
        if (memcmp(whole->data + at * whole->elem_size, sample + e * whole->elem_size,
                   whole->elem_size) != 0)
            return false;
    }
    return true;
}

enum { HALF_MAX = 4000 };
static uint64_t half[HALF_MAX + 2];

static struct pack_pattern
pattern_of(const struct order *order, const struct whole *whole)
{
    struct pack_pattern p = { .seed = 5, .epoch = 3, .batch = order->batch };
    p.chunk_samples = 3; /* of a block shuffle */
    pack_pattern_parse(order->text, &p, NULL);
    p.extent = whole->extent;
    if (order->half) {
        uint64_t n = whole->extent.extent[0] / 2;
        for (uint64_t i = 0; i < n && i < HALF_MAX; i++)
            half[i] = 2 * (n - 1 - i);
        p.n_subset = n < HALF_MAX ? n : HALF_MAX;
        half[p.n_subset++] = whole->extent.extent[0] - 1;
        half[p.n_subset++] = whole->extent.extent[0] - 1;
        p.subset = half;
    }
    if (order->crop) {
        p.box = whole->extent;
        for (int i = 0; i < p.box.rank; i++)
            p.box.extent[i] = i == 0 ? 1 : (p.box.extent[i] * 2 + 2) / 3;
    }
    return p;
}

/* The next sample of the order, epoch after epoch. */
static const struct pack_box *
next_box(struct pack_pattern_iter *iter, struct pack_request *request)
{
    if (!pack_pattern_next(iter, request)) {
        pack_pattern_seek(iter, pack_pattern_epoch(iter) + 1, 0, NULL);
        if (!pack_pattern_next(iter, request))
            return NULL;
    }
    return &request->boxes[0];
}

/* Reads all batches and compares; returns a complaint or NULL. */
static const char *
compare(struct pack_reader *reader, const struct pack_pattern *pattern,
        const struct whole *whole, uint64_t n_epochs)
{
    struct pack_pattern_iter *iter;
    struct pack_reader_batch batch;
    struct pack_reader_info info;
    struct pack_request request;
    struct pack_error err = { .text = "" };
    const char *bad = NULL;
    uint64_t n = 0, n_batches = 0;
    struct pack_pattern p = *pattern;
    pack_reader_info(reader, &info, NULL);
    if (pack_pattern_new(&p, &iter, NULL) != PACK_OK)
        return "no pattern";
    while (!bad) {
        if (pack_reader_next(reader, &batch, &err) != PACK_OK) {
            note("%s", err.text);
            bad = "a batch failed";
            break;
        }
        if (batch.n_samples == 0)
            break;
        if (batch.position + pack_pattern_length(iter) * (batch.epoch - p.epoch) != n ||
            batch.number != batch.position / p.batch)
            bad = "batches are numbered otherwise";
        for (size_t i = 0; i < batch.n_samples && !bad; i++, n++) {
            const struct pack_box *box = next_box(iter, &request);
            if (!box || batch.samples[i] != request.samples[0])
                bad = "another order";
            else if (!is_box(whole, box,
                             (const uint8_t *)batch.data + i * info.sample_bytes))
                bad = "bytes differ";
        }
        n_batches++;
    }
    if (!bad && (n != n_epochs * pack_pattern_length(iter) ||
                 n_batches != n_epochs * info.n_batches))
        bad = "batches are missing";
    pack_pattern_free(iter);
    return bad;
}

/* ------------------------------------------------------- all against all */

static const char *
run(struct pack_reader_params params, const struct order *order,
    const struct whole *whole, struct pack_reader_info *done)
{
    struct pack_reader *reader = NULL;
    struct pack_reader_info info = { .engine = "" };
    struct pack_error err = { .text = "" };
    uint64_t least = order->memory_bytes ? least_memory(params) : 0;
    uint64_t slot_bytes = whole->chunk_bytes + 200; /* and what its bookkeeping takes */
    params.memory_bytes = least + (order->memory_bytes == 2 ? 4 * slot_bytes : 0);
    if (pack_reader_open(&params, &reader, &err) != PACK_OK) {
        note("%s", err.text);
        return "not opened";
    }
    const char *bad = compare(reader, &params.pattern, whole, params.n_epochs);
    pack_reader_info(reader, &info, NULL);
    if (!bad && params.memory_bytes && info.memory_bytes > params.memory_bytes)
        bad = "more memory than allowed";
    if (!bad && order->memory_bytes == 1 &&
        (info.n_slots > 0 || info.memory_bytes != least))
        bad = "the least memory is another";
    if (!bad && order->memory_bytes == 2 && info.loads > 0 &&
        (info.n_slots < 1 || info.n_slots > 8))
        bad = "other chunks are kept";
    if (!bad && done->visits > 0 &&
        (info.loads != done->loads || info.hits != done->hits ||
         info.visits != done->visits))
        bad = "other loads than with another number of threads";
    *done = info;
    pack_reader_close(reader);
    return bad;
}

static void
test_all(void)
{
    static const unsigned threads[] = { 1, 2, 5 };
    static const enum pack_reader_strategy strategies[] = {
        PACK_READER_PREAD, PACK_READER_MMAP, PACK_READER_DIRECT
    };
    for (size_t m = 0; m < N_MADES; m++) {
        struct whole whole = { .data = NULL };
        int n = 0, n_good = 0;
        if (!made_write(&mades[m], path) || !read_whole(&whole)) {
            ok(false, "%s: cannot be made", mades[m].name);
            continue;
        }
        for (size_t o = 0; o < N_ORDERS; o++) {
            struct pack_reader_info done = { .visits = 0 };
            for (int k = 0; k < 9; k++, n++) {
                struct pack_reader_params params = {
                    .file = path,
                    .dataset = "/x",
                    .pattern = pattern_of(&orders[o], &whole),
                    .n_epochs = orders[o].n_epochs,
                    .n_threads = threads[k % 3],
                    .n_ahead = 1 + (unsigned)o % 3,
                    .strategy = strategies[k / 3],
                };
                const char *bad = run(params, &orders[o], &whole, &done);
                n_good += !bad;
                if (bad)
                    note("%s, %u threads: %s", orders[o].text, threads[k % 3], bad);
            }
        }
        ok(n_good == n, "%s: as H5Dread, %d times", mades[m].name, n);
        free(whole.data);
    }
}

int
main(void)
{
    pack_h5_quiet();
    pack_h5_register_zstd(NULL);
    test_all();
    unlink(path);
    return done();
}
