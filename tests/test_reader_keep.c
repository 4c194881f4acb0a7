/*
 * Batches that are kept: each holds, whenever it is given back and by whichever thread, what a
 * reader that keeps nothing gives; memory of the caller's; waiting that is stopped.
 */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "libpack/reader/reader_parts.h"
#include "tests/made_h5.h"
#include "tests/made_reader.h"
#include "tests/tap.h"

enum { N_ROWS = 90, SIDE = 12, BATCH = 8, N_KEPT = 5, ROUNDS = 4 };

static const char path[] = "test_reader_keep.tmp.h5";
static const char source[] = "test_reader_keep.source.h5";

static const struct made images = { .name = "x",
                                    .type = "u8",
                                    .rank = 4,
                                    .dims = { N_ROWS, SIDE, SIDE, 3 },
                                    .chunk = { 4, SIDE, SIDE, 3 },
                                    .pipeline = "zstd:1" };
static const struct made points = { .name = "points",
                                    .type = ">f32",
                                    .rank = 2,
                                    .dims = { N_ROWS, 50 },
                                    .chunk = { 7, 50 },
                                    .pipeline = "gzip:1" };
static const struct made plain = { .name = "plain",
                                   .type = "u8",
                                   .rank = 4,
                                   .dims = { N_ROWS, SIDE, SIDE, 3 } };
static const char *const further[] = { "points", "labels" };
enum { N_FURTHER = 2 };

static void
write_all(void)
{
    static const struct made labels = { .name = "labels",
                                        .type = "i64",
                                        .rank = 1,
                                        .dims = { N_ROWS } };
    made_write(&images, path);
    made_write(&images, source);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    made_add(file, &points);
    made_add(file, &labels);
    made_add(file, &plain);
    hid_t space = H5Screate_simple(images.rank, images.dims, NULL);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t half = 0; half < 2; half++) { /* no whole samples */
        hsize_t first[PACK_RANK_MAX] = { 0 }, count[PACK_RANK_MAX];
        memcpy(count, images.dims, sizeof *count * (size_t)images.rank);
        count[1] /= 2;
        first[1] = half * count[1];
        count[1] = half ? images.dims[1] - count[1] : count[1];
        H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL);
        H5Pset_virtual(dcpl, space, source, "x", space);
    }
    H5Dclose(H5Dcreate2(file, "virtual", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Fclose(file);
}

/* ------------------------------------------------------------ what is to be there */

/* All batches of a run, copied. */
struct copy {
    uint8_t *data;
    size_t n_samples, size, further_size[N_FURTHER];
    uint64_t samples[BATCH];
    uint8_t *further[N_FURTHER];
};
enum { N_COPIES = 400 };

static void
copy_batch(const struct pack_reader_batch *batch, struct pack_reader *reader, struct copy *to)
{
    struct pack_reader_info info;
    pack_reader_info(reader, &info, NULL);
    *to = (struct copy){ .n_samples = batch->n_samples,
                         .size = batch->n_samples * info.sample_bytes };
    to->data = malloc(to->size);
    memcpy(to->data, batch->data, to->size);
    memcpy(to->samples, batch->samples, batch->n_samples * sizeof *batch->samples);
    for (size_t i = 0; i < N_FURTHER; i++) {
        pack_reader_further_info(reader, i, &info, NULL);
        to->further_size[i] = batch->n_samples * info.sample_bytes;
        to->further[i] = malloc(to->further_size[i]);
        memcpy(to->further[i], batch->further[i], to->further_size[i]);
    }
}

static bool
is_copy(const struct pack_reader_batch *batch, const struct copy *copy)
{
    bool same = batch->n_samples == copy->n_samples &&
                memcmp(batch->data, copy->data, copy->size) == 0 &&
                memcmp(batch->samples, copy->samples,
                       copy->n_samples * sizeof *copy->samples) == 0;
    for (size_t i = 0; i < N_FURTHER; i++)
        same = same &&
               memcmp(batch->further[i], copy->further[i], copy->further_size[i]) == 0;
    return same;
}

static void
free_copies(struct copy *copies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < N_FURTHER; k++)
            free(copies[i].further[k]);
        free(copies[i].data);
    }
}

static size_t
copy_all(const struct pack_reader_params *params, struct copy *copies)
{
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_error err = { .text = "" };
    size_t n = 0;
    if (pack_reader_open(params, &reader, &err) != PACK_OK)
        note("%s", err.text);
    while (reader && pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples &&
           n < N_COPIES)
        copy_batch(&batch, reader, &copies[n++]);
    pack_reader_close(reader);
    return n;
}

/* ------------------------------------------------------------------- keeping */

struct giver {
    struct pack_reader *reader;
    size_t buffer;
};

static void *
give_back(void *argument)
{
    const struct giver *giver = argument;
    pack_reader_give_back(giver->reader, giver->buffer, NULL);
    return NULL;
}

/* Now and then by a thread that is still at it when the next batch is taken. */
static void
give_back_somehow(struct pack_reader *reader, size_t buffer, bool beside, struct giver *giver,
                  pthread_t *thread, bool *runs)
{
    if (*runs)
        pthread_join(*thread, NULL);
    *runs = false;
    *giver = (struct giver){ reader, buffer };
    if (beside)
        *runs = pthread_create(thread, NULL, give_back, giver) == 0;
    else
        give_back(giver);
}

/* How many batches were not what they are to be, when they were taken or given back. */
static int
keep_at_random(const struct pack_reader_params *params, const struct copy *copies, size_t n,
               uint64_t seed)
{
    struct pack_reader *reader = NULL;
    struct pack_error err = { .text = "" };
    struct pack_rng rng;
    struct {
        struct pack_reader_batch batch;
        size_t number;
    } kept[N_KEPT];
    size_t n_kept = 0, n_read = 0;
    struct pack_reader_batch batch;
    struct giver giver;
    pthread_t thread;
    bool runs = false;
    int n_wrong = 0;
    pack_rng_seed(&rng, seed);
    if (pack_reader_open(params, &reader, &err) != PACK_OK) {
        note("%s", err.text);
        return -1;
    }
    while (n_read < n) {
        if (pack_reader_next(reader, &batch, &err) != PACK_OK || batch.n_samples == 0)
            break;
        n_wrong += !is_copy(&batch, &copies[n_read]);
        if (runs) /* so that there is room surely */
            pthread_join(thread, NULL);
        runs = false;
        if (pack_rng_below(&rng, 4)) {
            if (pack_reader_keep(reader, &batch, &err) != PACK_OK) {
                note("%s", err.text);
                n_wrong++;
                break;
            }
            kept[n_kept].batch = batch;
            kept[n_kept++].number = n_read;
        }
        n_read++;
        while (n_kept > 0 && (n_kept == N_KEPT || pack_rng_below(&rng, 3) == 0)) {
            size_t i = pack_rng_below(&rng, n_kept);
            n_wrong += !is_copy(&kept[i].batch, &copies[kept[i].number]);
            give_back_somehow(reader, kept[i].batch.buffer, pack_rng_below(&rng, 2), &giver,
                              &thread, &runs);
            kept[i] = kept[--n_kept];
        }
    }
    if (runs)
        pthread_join(thread, NULL);
    if (n_read == n) /* behind the last */
        n_wrong += pack_reader_next(reader, &batch, &err) != PACK_OK || batch.n_samples > 0;
    for (size_t i = 0; i < n_kept; i++)
        n_wrong += !is_copy(&kept[i].batch, &copies[kept[i].number]);
    pack_reader_close(reader); /* with batches that are kept */
    return n_read == n ? n_wrong : -1;
}

static void
test_keeping(void)
{
    static const struct pack_reader_transform centre = { .crop = PACK_READER_CROP_CENTRE,
                                                         .height = 5,
                                                         .width = 7,
                                                         .values = PACK_READER_FP32 };
    static const struct {
        const char *dataset;
        const struct pack_reader_transform *transform;
        uint64_t least;
    } sets[] = { { "x", NULL, 0 },       { "x", NULL, 1 },      { "plain", NULL, 0 },
                 { "virtual", NULL, 0 }, { "x", &centre, 0 },   { "plain", &centre, 1 },
                 { "virtual", &centre, 0 } };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        struct pack_reader_params params = {
            .file = path,
            .dataset = sets[s].dataset,
            .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = BATCH, .seed = s },
            .n_epochs = 3,
            .n_threads = 2,
            .transform = sets[s].transform,
            .further = further,
            .n_further = N_FURTHER
        };
        struct copy copies[N_COPIES];
        size_t n = copy_all(&params, copies);
        int n_wrong = 0;
        for (unsigned round = 0; round < ROUNDS; round++) {
            params.n_kept = round == ROUNDS - 1 && !sets[s].least ? PACK_READER_KEEP_ALL : N_KEPT;
            params.n_threads = 1 + round;
            params.n_ahead = 1 + round % 3;
            params.memory_bytes = 0;
            if (sets[s].least) /* then the further ones are read, not kept as a whole */
                params.memory_bytes = least_memory(params);
            int wrong = keep_at_random(&params, copies, n, 10 * s + round);
            n_wrong += wrong < 0 ? 1000 : wrong;
        }
        ok(n == 3 * ((N_ROWS + BATCH - 1) / BATCH) && n_wrong == 0,
           "%s%s%s: %zu batches, of which many are kept; %d are wrong", sets[s].dataset,
           sets[s].transform ? ", cut and normalised" : "", sets[s].least ? ", little memory" : "",
           n, n_wrong);
        free_copies(copies, n);
    }
}

static void
test_bounds(void)
{
    struct pack_reader_params params = { .file = path,
                                         .dataset = "x",
                                         .pattern = { .batch = BATCH },
                                         .n_ahead = 1,
                                         .n_kept = 2,
                                         .n_threads = 1 };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch a, b, c, d;
    struct pack_reader_info info = { .engine = "" };
    struct pack_error err = { .text = "" };
    if (pack_reader_open(&params, &reader, &err) != PACK_OK) {
        ok(false, "%s", err.text);
        return;
    }
    pack_reader_info(reader, &info, NULL);
    ok(info.n_buffers == 4 && info.buffer_bytes == BATCH * SIDE * SIDE * 3,
       "in the making, lent and two kept: %zu buffers of %zu bytes", info.n_buffers,
       info.buffer_bytes);
    pack_reader_next(reader, &a, NULL);
    ok(pack_reader_give_back(reader, a.buffer, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.param, "buffer") == 0,
       "what is only lent is not given back: %s", err.text);
    ok(pack_reader_keep(reader, &a, NULL) == PACK_OK &&
           pack_reader_keep(reader, &a, &err) == PACK_ERR_ARGUMENT,
       "what is kept is not kept again: %s", err.text);
    pack_reader_next(reader, &b, NULL);
    ok(pack_reader_keep(reader, &a, &err) == PACK_ERR_ARGUMENT &&
           pack_reader_keep(reader, &b, NULL) == PACK_OK,
       "only the batch that is lent is kept");
    pack_reader_next(reader, &c, NULL);
    ok(pack_reader_keep(reader, &c, &err) == PACK_ERR_LIMIT &&
           strcmp(err.param, "n_kept") == 0,
       "no more than was said: %s", err.text);
    pack_reader_next(reader, &d, NULL);
    ok(a.buffer != b.buffer && b.buffer != d.buffer && a.buffer != d.buffer &&
           d.samples[0] == 3 * BATCH && a.samples[0] == 0 && b.samples[0] == BATCH,
       "the reader goes on beside them");
    ok(pack_reader_give_back(reader, a.buffer, NULL) == PACK_OK &&
           pack_reader_give_back(reader, a.buffer, &err) == PACK_ERR_ARGUMENT &&
           pack_reader_give_back(reader, 99, &err) == PACK_ERR_ARGUMENT &&
           pack_reader_keep(reader, &d, NULL) == PACK_OK,
       "one that is given back, once, makes room for another: %s", err.text);
    pack_reader_close(reader);
}

/* ------------------------------------------------------------------- stopping */

static int
count_files(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* What is kept outlives the threads, and the file that it was read from; `by_hdf5`: HDF5 reads
 * the first of the two datasets. */
static void
test_ending(bool by_hdf5)
{
    struct pack_reader_params params = { .file = path,
                                         .dataset = by_hdf5 ? "virtual" : "x",
                                         .further = further,
                                         .n_further = N_FURTHER,
                                         .pattern = { .batch = BATCH },
                                         .n_kept = 2,
                                         .n_threads = 2 };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch a, b, c;
    struct pack_reader_info before = { .engine = "" }, after = before;
    struct pack_error err = { .text = "" };
    struct copy copy;
    int n_files = count_files();
    if (pack_reader_open(&params, &reader, &err) != PACK_OK ||
        pack_reader_next(reader, &a, &err) != PACK_OK ||
        pack_reader_keep(reader, &a, &err) != PACK_OK ||
        pack_reader_next(reader, &b, &err) != PACK_OK) {
        ok(false, "%s", err.text);
        pack_reader_close(reader);
        return;
    }
    copy_batch(&a, reader, &copy);
    pack_reader_info(reader, &before, NULL);
    ok((strcmp(before.engine, "hdf5") == 0) == by_hdf5, "read by %s", before.engine);
    pack_reader_stop(reader);
    pack_reader_stop(reader);
    pack_reader_info(reader, &after, NULL);
    ok(is_copy(&a, &copy) && count_files() == n_files &&
           H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0 &&
           after.loads >= before.loads && after.n_batches == before.n_batches,
       "a batch that is kept stays when threads and files are gone");
    ok(pack_reader_next(reader, &c, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.param, "reader") == 0 &&
           pack_reader_keep(reader, &b, NULL) == PACK_ERR_ARGUMENT,
       "there are no others: %s", err.text);
    ok(pack_reader_give_back(reader, a.buffer, NULL) == PACK_OK &&
           pack_reader_give_back(reader, a.buffer, NULL) == PACK_ERR_ARGUMENT,
       "it is given back as ever");
    pack_reader_close(reader);
    free_copies(&copy, 1);
}

/* ------------------------------------------------------------ as memory allows */

/* Reads and keeps until that fails, or `most` are kept, or there are no more batches. */
static size_t
keep_all(struct pack_reader *reader, struct pack_reader_batch *kept, size_t most,
         struct pack_error *err)
{
    size_t n = 0;
    *err = (struct pack_error){ .status = PACK_OK };
    while (n < most && pack_reader_next(reader, &kept[n], err) == PACK_OK &&
           kept[n].n_samples && pack_reader_keep(reader, &kept[n], err) == PACK_OK)
        n++;
    return n;
}

/* How many batches are kept, before and behind one that could not be. */
static size_t
count_kept(const struct pack_reader_batch *kept, size_t n, const struct copy *copies,
           const bool *is_there)
{
    size_t n_good = 0;
    for (size_t i = 0; i < n; i++)
        n_good += is_there[i] && is_copy(&kept[i], &copies[i]);
    return n_good;
}

static void
test_growing(void)
{
    static const struct pack_reader_transform flip = { .flip = 0.5,
                                                       .values = PACK_READER_FP32 };
    static const char *const sets[] = { "x", "plain", "virtual" };
    enum { N_MORE = 9 };
    for (int s = 0; s < 6; s++) {
        struct pack_reader_params params = {
            .file = path,
            .dataset = sets[s % 3],
            .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = BATCH, .seed = 5 },
            .n_epochs = 30,
            .n_threads = 2,
            .n_ahead = 1,
            .transform = s < 3 ? NULL : &flip,
            .further = further,
            .n_further = N_FURTHER
        };
        struct copy copies[N_COPIES];
        struct pack_reader_batch kept[N_COPIES];
        bool is_there[N_COPIES] = { false };
        struct pack_reader_info info = { .n_buffers = 0 }, begun = info;
        struct pack_reader *reader = NULL;
        struct pack_error err;
        size_t n = copy_all(&params, copies), n_kept = 0, n_again = 0;
        params.n_kept = PACK_READER_KEEP_ALL;
        uint64_t least = least_memory(params);
        /* room for some more, beside as many chunks */
        params.memory_bytes = least + 2 * N_MORE * BATCH * SIDE * SIDE * 3 * (s < 3 ? 1 : 4);
        bool good = pack_reader_open(&params, &reader, &err) == PACK_OK &&
                    pack_reader_info(reader, &begun, NULL) == PACK_OK &&
                    (n_kept = keep_all(reader, kept, N_COPIES, &err)) > 2 + N_MORE / 2 &&
                    pack_reader_info(reader, &info, NULL) == PACK_OK;
        ok(good && n_kept < n && err.status == PACK_ERR_LIMIT &&
               strcmp(err.param, "memory_bytes") == 0,
           "%s%s: %zu batches are kept: %s", params.dataset, s < 3 ? "" : ", transformed", n_kept,
           err.text);
        size_t ring = begun.n_buffers - 2;
        ok(good && info.n_buffers == ring + n_kept && info.memory_bytes > begun.memory_bytes &&
               info.memory_bytes <= params.memory_bytes,
           "%zu buffers have become %zu, within memory", begun.n_buffers, info.n_buffers);
        for (size_t i = 0; i < n_kept; i++)
            is_there[i] = true;
        good = good && is_copy(&kept[n_kept], &copies[n_kept]) && /* lent as it was */
               pack_reader_give_back(reader, kept[1].buffer, NULL) == PACK_OK &&
               pack_reader_give_back(reader, kept[n_kept - 1].buffer, NULL) == PACK_OK;
        is_there[1] = is_there[n_kept - 1] = false;
        good = good && pack_reader_keep(reader, &kept[n_kept], &err) == PACK_OK;
        is_there[n_kept] = true;
        if (good)
            n_again = keep_all(reader, kept + n_kept + 1, N_COPIES - n_kept - 1, &err);
        for (size_t i = 0; i < n_again; i++)
            is_there[n_kept + 1 + i] = true;
        pack_reader_info(reader, &begun, NULL);
        ok(good && n_again == 1 && err.status == PACK_ERR_LIMIT &&
               begun.n_buffers == info.n_buffers && begun.memory_bytes == info.memory_bytes &&
               count_kept(kept, n_kept + 2, copies, is_there) == n_kept,
           "what is given back holds the next ones, and all is as it was");
        for (size_t i = 0; i < n_kept + 2 && good; i++)
            good = !is_there[i] ||
                   pack_reader_give_back(reader, kept[i].buffer, NULL) == PACK_OK;
        ok(good && pack_reader_give_back(reader, info.n_buffers, &err) == PACK_ERR_ARGUMENT,
           "each is given back: %s", err.text);
        pack_reader_close(reader);
        free_copies(copies, n);
    }
}

/* Decoded chunks have all that is not needed, and make room for batches that are kept. */
static void
test_chunks_beside(void)
{
    struct pack_reader_params params = {
        .file = path,
        .dataset = "x",
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = BATCH, .seed = 7 },
        .n_epochs = 30,
        .n_kept = 2,
        .n_threads = 3,
        .further = further,
        .n_further = N_FURTHER
    };
    struct copy copies[N_COPIES];
    struct pack_reader_batch kept[N_COPIES];
    struct pack_reader *reader = NULL;
    struct pack_reader_info few = { .n_slots = 0 }, begun = few, info = few;
    struct pack_error err = { .text = "" };
    bool is_there[N_COPIES];
    size_t n_kept = 0, n = copy_all(&params, copies);
    params.memory_bytes = least_memory(params) + N_ROWS * SIDE * SIDE * 3 * 3 / 2;
    if (pack_reader_open(&params, &reader, NULL) == PACK_OK)
        pack_reader_info(reader, &few, NULL);
    pack_reader_close(reader);
    params.n_kept = PACK_READER_KEEP_ALL;
    reader = NULL;
    uint64_t before = allocated(), most = 0;
    if (pack_reader_open(&params, &reader, &err) == PACK_OK)
        pack_reader_info(reader, &begun, NULL);
    ok(few.n_slots > 2 && begun.n_slots == few.n_slots,
       "%ju chunks are held beside two batches, and %ju beside as many as fit",
       (uintmax_t)few.n_slots, (uintmax_t)begun.n_slots);
    uint64_t shrinks = 0, slots = begun.n_slots;
    for (; reader && n_kept < N_COPIES; n_kept++) {
        if (keep_all(reader, &kept[n_kept], 1, &err) != 1)
            break;
        pack_reader_info(reader, &info, NULL);
        shrinks += info.n_slots < slots;
        slots = info.n_slots;
        is_there[n_kept] = true;
        uint64_t now = allocated();
        most = now > before && now - before > most ? now - before : most;
    }
    ok(n_kept < n && err.status == PACK_ERR_LIMIT && strcmp(err.param, "memory_bytes") == 0 &&
           shrinks > 2 && slots == 0 && info.hits > 0 &&
           params.memory_bytes - info.memory_bytes < 2 * info.buffer_bytes,
       "they went in %ju steps, until %zu batches fill the memory", (uintmax_t)shrinks, n_kept);
    ok(info.memory_bytes <= params.memory_bytes && most <= params.memory_bytes + (64 << 10),
       "within %ju bytes: %ju are planned, %ju were allocated at most",
       (uintmax_t)params.memory_bytes, (uintmax_t)info.memory_bytes, (uintmax_t)most);
    is_number((long long)count_kept(kept, n_kept, copies, is_there), (long long)n_kept,
              "all of them are right");
    for (size_t i = 0; i < n_kept; i++)
        pack_reader_give_back(reader, kept[i].buffer, NULL);
    pack_reader_close(reader);
    free_copies(copies, n);
}

/* Places of chunks are as many bytes apart as a chunk has, and are given back from the end. */
static void
test_slots(void)
{
    enum { BYTES = 3000 };
    static const uint64_t numbers[] = { 1, 63, 64, 65, 200, 1000 };
    size_t n_wrong = 0;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        struct pack_slots slots;
        uint64_t n = numbers[k], before = allocated();
        if (pack_slots_new(&slots, n, BYTES, NULL) != PACK_OK)
            n_wrong += 1000;
        for (uint64_t i = 0; i < n; i++)
            memset(pack_slots_at(&slots, i), (int)(i % 251), BYTES);
        uint64_t all = allocated(), bytes = n * BYTES / 3, left;
        n_wrong += before > 0 && (all - before < n * BYTES || all - before > n * (BYTES + 64));
        left = pack_slots_without(&slots, &bytes);
        n_wrong += bytes < n * BYTES / 3 || bytes > n * BYTES / 3 + (n / 64 + 1) * BYTES ||
                   left != n - bytes / BYTES;
        n_wrong += pack_slots_free(&slots, left) != bytes;
        n_wrong += before > 0 && all - allocated() < bytes;
        for (uint64_t i = 0; i < left; i++)
            n_wrong += pack_slots_at(&slots, i)[0] != i % 251 ||
                       pack_slots_at(&slots, i)[BYTES - 1] != i % 251;
        bytes = UINT64_MAX;
        n_wrong += pack_slots_without(&slots, &bytes) != 0 || bytes != left * BYTES;
        pack_slots_done(&slots);
        n_wrong += allocated() > before + 64;
    }
    is_number((long long)n_wrong, 0, "places of chunks, and what giving them back sets free");
}

/* Many: found by their number, whichever it is. */
static void
test_many(void)
{
    enum { MANY = 3000 };
    struct pack_reader_params params = { .file = path,
                                         .dataset = "labels",
                                         .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 1 },
                                         .n_epochs = 1 + MANY / N_ROWS,
                                         .n_kept = PACK_READER_KEEP_ALL,
                                         .n_threads = 2 };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch *kept = calloc(MANY, sizeof *kept);
    int64_t *values = calloc(MANY, sizeof *values);
    bool *is_used = calloc(2 * MANY, sizeof *is_used);
    struct pack_error err = { .text = "" };
    size_t n_wrong = 0;
    if (pack_reader_open(&params, &reader, &err) != PACK_OK)
        note("%s", err.text);
    for (size_t i = 0; reader && i < MANY; i++) {
        bool good = pack_reader_next(reader, &kept[i], &err) == PACK_OK && kept[i].n_samples &&
                    pack_reader_keep(reader, &kept[i], &err) == PACK_OK &&
                    kept[i].buffer < 2 * MANY && !is_used[kept[i].buffer];
        n_wrong += !good;
        if (good) {
            is_used[kept[i].buffer] = true;
            memcpy(&values[i], kept[i].data, sizeof *values);
        }
    }
    for (size_t i = 0; reader && i < MANY; i++)
        n_wrong += !kept[i].data || memcmp(&values[i], kept[i].data, sizeof *values) != 0 ||
                   pack_reader_give_back(reader, kept[i].buffer, NULL) != PACK_OK;
    ok(reader && n_wrong == 0, "%d batches are kept, %zu of them wrongly: %s", MANY, n_wrong,
       err.text);
    pack_reader_close(reader);
    free(is_used);
    free(values);
    free(kept);
}

/* -------------------------------------------------------- the caller's memory */

struct room {
    size_t n, n_held, most, bytes;
    void *buffer[16];
};

static void *
allocate(void *context, size_t bytes)
{
    struct room *room = context;
    if (room->n_held == room->most)
        return NULL;
    room->bytes = bytes;
    room->n_held++;
    return room->buffer[room->n++] = malloc(bytes);
}

static void
release(void *context, void *buffer)
{
    struct room *room = context;
    room->n_held--;
    free(buffer);
}

/* Of buffers that are added, too; until there are no more. */
static void
test_buffers_grow(void)
{
    struct room room = { .most = 9 };
    struct pack_reader_params params = { .file = path,
                                         .dataset = "x",
                                         .pattern = { .batch = BATCH },
                                         .n_ahead = 1,
                                         .n_kept = PACK_READER_KEEP_ALL,
                                         .buffers = { &room, allocate, release } };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch kept[16];
    struct pack_error err = { .text = "" };
    size_t n = 0;
    if (pack_reader_open(&params, &reader, &err) == PACK_OK && room.n == 4)
        n = keep_all(reader, kept, 10, &err);
    bool good = n == 7 && err.status == PACK_ERR_MEMORY && room.n == 9;
    for (size_t i = 0; i < n + 1 && good; i++)
        good = kept[i].data == room.buffer[kept[i].buffer];
    ok(good, "they are asked for when more are kept: %s", err.text);
    ok(good && pack_reader_give_back(reader, kept[3].buffer, NULL) == PACK_OK &&
           pack_reader_keep(reader, &kept[7], &err) == PACK_OK,
       "a batch for which there was none stays lent");
    pack_reader_close(reader);
    ok(room.n_held == 0, "and all are given back");
}

static void
test_buffers(void)
{
    static const struct pack_reader_transform flip = { .flip = 1 };
    const char *const sets[] = { "x", "plain", "virtual" };
    int n_good = 0, n_refused = 0, n_tried = 0;
    for (int i = 0; i < 6; i++) {
        struct room room = { .most = 16 };
        struct pack_reader_params params = { .file = path,
                                             .dataset = sets[i % 3],
                                             .pattern = { .batch = BATCH },
                                             .n_kept = 1,
                                             .buffers = { &room, allocate, release },
                                             .transform = i < 3 ? NULL : &flip,
                                             .further = further,
                                             .n_further = N_FURTHER };
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        struct pack_reader_info info = { .n_buffers = 0 };
        struct pack_error err = { .text = "" };
        if (i % 2) /* the further ones have batches of their own then, in the reader's memory */
            params.memory_bytes = least_memory(params);
        bool good = pack_reader_open(&params, &reader, &err) == PACK_OK &&
                    pack_reader_info(reader, &info, NULL) == PACK_OK &&
                    room.n == info.n_buffers && room.bytes == info.buffer_bytes;
        while (good && pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples)
            good = batch.data == room.buffer[batch.buffer];
        pack_reader_close(reader);
        n_good += good && room.n_held == 0;
        for (size_t most = 0; most < info.n_buffers; most++) {
            room = (struct room){ .most = most };
            n_tried++;
            n_refused += pack_reader_open(&params, &reader, &err) == PACK_ERR_MEMORY &&
                         room.n_held == 0 && room.n == most;
        }
    }
    ok(n_good == 6, "batches lie in memory of the caller's, which is given back");
    ok(n_refused == n_tried && n_tried > 12, "and when there is not enough of it, too");
    test_buffers_grow();
    struct pack_reader_params half = { .file = path,
                                       .dataset = "x",
                                       .pattern = { .batch = BATCH },
                                       .buffers = { NULL, allocate, NULL } };
    struct pack_reader *reader = NULL;
    struct pack_error err = { .text = "" };
    ok(pack_reader_open(&half, &reader, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.param, "buffers") == 0,
       "%s", err.text);
}

/* ------------------------------------------------------------------ stopping */

/* From the n-th question on. */
static bool
stop(void *context)
{
    int *n = context;
    return --*n < 0;
}

static bool
stop_when_told(void *context)
{
    return *(const bool *)context;
}

static void
test_stop(void)
{
    const char *const sets[] = { "x", "virtual" };
    for (int i = 0; i < 2; i++) {
        bool stops = false;
        int n = 0, left = 2 + BATCH + 3; /* HDF5 reads sample by sample, each with a question */
        struct pack_reader_params params = { .file = path,
                                             .dataset = sets[i],
                                             .pattern = { .batch = BATCH },
                                             .n_threads = 1,
                                             .watch = { .context = i ? (void *)&left : &stops,
                                                        .stop = i ? stop : stop_when_told },
                                             .further = further,
                                             .n_further = N_FURTHER };
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch = { .n_samples = 1 };
        struct pack_error err = { .text = "" };
        enum pack_status status = pack_reader_open(&params, &reader, &err);
        while (status == PACK_OK && batch.n_samples) {
            status = pack_reader_next(reader, &batch, &err);
            stops = true;
            n++;
        }
        stops = false;
        left = 1000;
        ok(status == PACK_ERR_INTERRUPTED && n == 2 &&
               pack_reader_next(reader, &batch, &err) == PACK_ERR_INTERRUPTED,
           "%s: a stop ends it, for good", sets[i]);
        pack_reader_close(reader);
    }
}

/* A chunk that takes long: the second question is asked while it is waited for. */
static void
test_stop_waiting(void)
{
    static const struct made slow = { .name = "x",
                                      .type = "u8",
                                      .rank = 2,
                                      .dims = { 2, 48 << 20 },
                                      .chunk = { 1, 48 << 20 },
                                      .pipeline = "gzip:1" };
    int left = 1;
    struct pack_reader_params params = { .file = path,
                                         .dataset = "x",
                                         .pattern = { .batch = 1 },
                                         .n_threads = 1,
                                         .watch = { .context = &left, .stop = stop } };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 1 };
    struct pack_error err = { .text = "" };
    made_write(&slow, path);
    enum pack_status status = pack_reader_open(&params, &reader, &err);
    if (status == PACK_OK)
        status = pack_reader_next(reader, &batch, &err);
    ok(status == PACK_ERR_INTERRUPTED && left < 0, "a stop ends waiting for a batch: %s",
       err.text);
    pack_reader_close(reader);
}

int
main(void)
{
    pack_h5_register_zstd(NULL);
    write_all();
    test_keeping();
    test_bounds();
    test_growing();
    test_chunks_beside();
    test_slots();
    test_many();
    test_ending(false);
    test_ending(true);
    test_buffers();
    test_stop();
    test_stop_waiting();
    unlink(path);
    unlink(source);
    return done();
}
