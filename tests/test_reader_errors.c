/*
 * What a reader does when something is wrong, or asked for in another way: errors come with
 * the batch they hit, closing works at any time, an order goes on where it was left, ranks
 * share it, HDF5 reads what only HDF5 can.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <libpack/reader.h>
#include "libpack/base/clock.h"
#include "libpack/hdf5/h5.h"
#include "libpack/reader/fetch.h"
#include "tests/made_h5.h"
#include "tests/made_reader.h"
#include "tests/tap.h"

static const char path[] = "test_reader_errors.tmp.h5";

/* 12 chunks of 8 samples, 96 in all. */
static const struct made coded = { .name = "coded",
                                   .type = "i16",
                                   .rank = 2,
                                   .dims = { 96, 50 },
                                   .chunk = { 8, 50 },
                                   .pipeline = "shuffle+gzip:4+fletcher32" };
static const struct made plain = {
    .name = "plain", .type = "i16", .rank = 2, .dims = { 96, 50 }, .chunk = { 8, 50 }
};
enum { N_SAMPLES = 96, SAMPLE_BYTES = 100 };

static uint8_t data[N_SAMPLES * SAMPLE_BYTES];

static void
write_file(const struct made *made)
{
    size_t size;
    made_write(made, path);
    uint8_t *read = made_read(path, "x", true, &size);
    memcpy(data, read, sizeof data);
    free(read);
}

/* In order, a chunk a batch. */
static struct pack_reader_params
in_order(enum pack_reader_strategy strategy, unsigned n_threads)
{
    return (struct pack_reader_params){ .file = path,
                                        .dataset = "x",
                                        .pattern = { .batch = 8 },
                                        .n_epochs = 2,
                                        .n_threads = n_threads,
                                        .strategy = strategy };
}

static bool
is_right(const struct pack_reader_batch *batch)
{
    for (size_t i = 0; i < batch->n_samples; i++)
        if (memcmp((const uint8_t *)batch->data + i * SAMPLE_BYTES,
                   data + batch->samples[i] * SAMPLE_BYTES, SAMPLE_BYTES) != 0)
            return false;
    return true;
}

/* ------------------------------------------------------------------ damage */

static const enum pack_reader_strategy strategies[] = { PACK_READER_PREAD,
                                                        PACK_READER_MMAP,
                                                        PACK_READER_DIRECT };
static const char *const names[] = { "pread", "mmap", "direct" };

/* Overwrites 8 bytes of chunk `number`, or of where the file says that it lies. */
static void
damage(uint64_t number, bool address)
{
    static uint8_t bytes[1 << 16];
    struct pack_chunkindex index;
    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, bytes, sizeof bytes, 0), at = -1;
    const uint64_t beyond = 1 << 20;
    if (pack_chunkindex_read(path, "x", 0, &index, NULL) == PACK_OK) {
        uint64_t where = index.chunks[number].address_bytes;
        uint8_t *found = memmem(bytes, (size_t)size, &where, sizeof where);
        at = !address ? (ssize_t)where + 20 : found ? found - bytes : -1;
        pack_chunkindex_done(&index);
    }
    if (at < 0 || pwrite(fd, &beyond, sizeof beyond, at) != sizeof beyond)
        note("nothing was damaged");
    close(fd);
}

/* Reads two epochs; batches of chunk `bad` are to fail with a sentence that names it. */
static bool
fails_at(struct pack_reader_params params, uint64_t bad, const char *why)
{
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_error err = { .text = "" };
    char name[32], text[PACK_ERROR_TEXT_MAX] = "";
    int n_good = 0, n_bad = 0, n_other = 0;
    snprintf(name, sizeof name, "chunk (%llu,0)", (unsigned long long)bad);
    if (pack_reader_open(&params, &reader, &err) != PACK_OK) {
        note("%s", err.text);
        return false;
    }
    for (uint64_t i = 0; i < 24; i++) {
        enum pack_status status = pack_reader_next(reader, &batch, &err);
        if (status == PACK_OK && i % 12 != bad && is_right(&batch))
            n_good++;
        else if (status == PACK_ERR_FORMAT && i % 12 == bad && strstr(err.text, name) &&
                 strstr(err.text, why) && (!text[0] || strcmp(text, err.text) == 0))
            n_bad++;
        else
            n_other++;
        if (status != PACK_OK)
            snprintf(text, sizeof text, "%s", err.text);
    }
    bool ended = pack_reader_next(reader, &batch, &err) == PACK_OK && !batch.n_samples;
    pack_reader_close(reader);
    if (n_good != 22 || n_bad != 2 || !ended)
        note("%d good, %d bad, %d otherwise: %s", n_good, n_bad, n_other, text);
    return n_good == 22 && n_bad == 2 && ended;
}

/* HDF5 1.10 itself looks at each address when chunks are listed. */
static bool
is_refused(struct pack_reader_params params)
{
    struct pack_reader *reader = NULL;
    struct pack_error err = { .text = "" };
    enum pack_status status = pack_reader_open(&params, &reader, &err);
    pack_reader_close(reader);
    return status == PACK_ERR_FORMAT && strstr(err.text, "index of 'x' is damaged");
}

static void
test_damage(void)
{
    for (int s = 0; s < 3; s++) {
        enum pack_reader_strategy strategy = strategies[s];
        const char *name = names[s];
        bool good = true;
        write_file(&coded);
        damage(5, false);
        for (unsigned n = 1; n < 5; n++)
            good = good && fails_at(in_order(strategy, n), 5, "checksum");
        ok(good, "%s: a damaged chunk fails its batch, in each epoch, and no other",
           name);
        write_file(&coded);
        damage(7, true);
        ok(is_refused(in_order(strategy, 2)) ||
               fails_at(in_order(strategy, 2), 7, "beyond the end"),
           "%s: one that is said to lie beyond the end fails, or opening does", name);
        write_file(&plain);
        damage(2, true);
        ok(is_refused(in_order(strategy, 2)) ||
               fails_at(in_order(strategy, 2), 2, "beyond the end"),
           "%s: without filters, too", name);
    }
}

/* The first chunk of a batch that fails is told of, whatever fails first. */
static void
test_first(void)
{
    struct pack_reader_params params = in_order(PACK_READER_PREAD, 3);
    int n = 0;
    write_file(&coded);
    damage(4, false);
    damage(6, false);
    params.pattern.batch = 96;
    params.n_epochs = 1;
    for (int i = 0; i < 20; i++) {
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        struct pack_error err = { .text = "" };
        pack_reader_open(&params, &reader, &err);
        n += pack_reader_next(reader, &batch, &err) == PACK_ERR_FORMAT &&
             strstr(err.text, "chunk (4,0)");
        pack_reader_close(reader);
    }
    is_number(n, 20, "of two damaged chunks, the first is named");
}

/* Waits until the batches ahead are made, of a chunk each. */
static void
wait_idle(struct pack_reader *reader, uint64_t n_visits)
{
    const struct timespec nap = { .tv_nsec = 1000000 };
    struct pack_reader_info info = { .visits = 0 };
    for (int i = 0; i < 20000 && info.visits < n_visits; i++) {
        nanosleep(&nap, NULL);
        pack_reader_info(reader, &info, NULL);
    }
}

static void
test_changes(void)
{
    for (int s = 0; s < 6; s++) {
        struct pack_reader_params params = in_order(strategies[s % 3], 2);
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        struct pack_error err = { .text = "" };
        struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        write_file(s < 3 ? &coded : &plain);
        pack_reader_open(&params, &reader, &err);
        bool first = pack_reader_next(reader, &batch, &err) == PACK_OK;
        wait_idle(reader, 3);
        if (s == 0)
            utimensat(AT_FDCWD, path, times, 0);
        else if (truncate(path, 600) != 0)
            first = false;
        int n = 0;
        for (int i = 0; i < 23; i++)
            n += pack_reader_next(reader, &batch, &err) == PACK_ERR_CHANGED;
        ok(first && n == 23, "all batches after a change: %s", err.text);
        pack_reader_close(reader);
    }
}

/* Cuts a file to half of it while two threads copy from its mapping: nobody is killed. */
static void
test_cut_mapping(void)
{
    const struct pack_reader_transform flip = { .flip = 0.5 };
    struct made large = { .name = "large",
                          .type = "u8",
                          .rank = 4,
                          .dims = { 512, 100, 80, 3 },
                          .chunk = { 1, 100, 80, 3 } };
    enum { N_ROUNDS = 24 };
    int n_cut = 0, n_other = 0;
    char other[PACK_ERROR_TEXT_MAX] = "";
    for (int i = 0; i < N_ROUNDS; i++) {
        struct pack_reader_params params = in_order(PACK_READER_MMAP, 2);
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        struct pack_error err = { .text = "" };
        struct stat st;
        enum pack_status status;
        large.pipeline = i % 3 == 1 ? "fletcher32" : NULL;
        made_write(&large, path);
        params.transform = i % 3 == 2 ? &flip : NULL;
        params.pattern.kind = PACK_PATTERN_SHUFFLE;
        params.n_epochs = 50;
        params.n_ahead = 200;
        status = pack_reader_open(&params, &reader, &err);
        for (int k = 0; k < 20 + i && status == PACK_OK; k++)
            status = pack_reader_next(reader, &batch, &err);
        if (status != PACK_OK || stat(path, &st) != 0 || truncate(path, st.st_size / 2) != 0)
            break;
        while (status == PACK_OK)
            status = pack_reader_next(reader, &batch, &err);
        if ((status == PACK_ERR_CHANGED || status == PACK_ERR_IO) && strstr(err.text, path))
            n_cut++;
        else {
            n_other++;
            snprintf(other, sizeof other, "%s", err.text);
        }
        pack_reader_close(reader);
    }
    ok(n_cut == N_ROUNDS && n_other == 0,
       "%d of %d mappings were cut while they were copied from, and it was said %s", n_cut,
       N_ROUNDS, other);
}

/* ----------------------------------------------------------------- closing */

static void
test_closing(void)
{
    int n = 0;
    write_file(&coded);
    for (int i = 0; i < 60; i++) {
        struct pack_reader_params params =
            in_order(PACK_READER_PREAD, 1 + (unsigned)i % 6);
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
    pack_reader_close(NULL);
    is_number(n, 60, "a reader is closed after any number of batches");
}

/* ------------------------------------------------------------------ orders */

static void
test_position(void)
{
    struct pack_reader_params params = in_order(PACK_READER_PREAD, 2);
    uint64_t order[2 * N_SAMPLES], n = 0, same = 0;
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_error err = { .text = "" };
    write_file(&coded);
    params.pattern.kind = PACK_PATTERN_SHUFFLE;
    params.pattern.seed = 9;
    params.pattern.batch = 7;
    pack_reader_open(&params, &reader, NULL);
    while (pack_reader_next(reader, &batch, NULL) == PACK_OK && batch.n_samples)
        for (size_t i = 0; i < batch.n_samples; i++)
            order[n++] = batch.samples[i];
    pack_reader_close(reader);
    for (int k = 0; k < 2; k++) { /* from the middle, and from the epoch's end */
        uint64_t at = k ? 96 : 49;
        params.position = k ? 0 : at;
        params.pattern.epoch = (uint64_t)k;
        params.n_epochs = 2 - (uint64_t)k;
        pack_reader_open(&params, &reader, NULL);
        while (pack_reader_next(reader, &batch, NULL) == PACK_OK && batch.n_samples)
            for (size_t i = 0; i < batch.n_samples; i++)
                same += is_right(&batch) && order[at++] == batch.samples[i];
        pack_reader_close(reader);
    }
    is_number((long long)same, 192 - 49 + 96, "an order goes on where it was left");
    params.position = 5;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.param, "position") == 0,
       "%s", err.text);
    params.position = 700;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.param, "position") == 0,
       "%s", err.text);
}

static void
test_gathering(void)
{
    struct pack_reader_params params = in_order(PACK_READER_PREAD, 2);
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 0 };
    struct pack_reader_info info = { .engine = "" };
    write_file(&coded);
    params.pattern.batch = 96;
    params.n_epochs = 1;
    if (pack_reader_open(&params, &reader, NULL) == PACK_OK &&
        pack_reader_next(reader, &batch, NULL) == PACK_OK)
        pack_reader_info(reader, &info, NULL);
    ok(batch.n_samples == 96 && is_right(&batch) && info.loads == 12 &&
           info.file_reads == 1,
       "small chunks side by side are read at once: %llu loads, %llu reads",
       (unsigned long long)info.loads, (unsigned long long)info.file_reads);
    pack_reader_close(reader);
}

/* A batch that was made ahead was ready before it was asked for, however late that is. */
static void
test_ready(void)
{
    const struct timespec nap = { .tv_nsec = 1000000 };
    struct pack_reader_params params = in_order(PACK_READER_PREAD, 1);
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 0 };
    struct pack_reader_info info = { .visits = 0 };
    write_file(&coded);
    params.pattern.batch = 48;
    params.n_epochs = 1;
    uint64_t begin_ns = pack_clock_ns(), asked_ns = 0;
    bool is_first = pack_reader_open(&params, &reader, NULL) == PACK_OK &&
                    pack_reader_next(reader, &batch, NULL) == PACK_OK;
    uint64_t first_ns = batch.ready_ns;
    ok(is_first && first_ns >= begin_ns && first_ns <= pack_clock_ns(),
       "a batch says when it was complete");
    for (int i = 0; is_first && i < 20000 && info.visits < 12; i++) {
        nanosleep(&nap, NULL);
        pack_reader_info(reader, &info, NULL);
    }
    if (is_first) {
        asked_ns = pack_clock_ns();
        pack_reader_next(reader, &batch, NULL);
    }
    ok(batch.number == 1 && batch.ready_ns >= first_ns && batch.ready_ns < asked_ns,
       "one made ahead was so before it was asked for");
    pack_reader_close(reader);
}

/* One that waits has read nothing, however long nobody asks; then it reads the same. */
static void
test_waits(void)
{
    const struct timespec nap = { .tv_nsec = 20000000 };
    for (int waits = 0; waits < 2; waits++) {
        struct pack_reader_params params = in_order(PACK_READER_PREAD, 2);
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch;
        struct pack_reader_info info = { .visits = 0 };
        uint64_t n = 0;
        write_file(&coded);
        params.waits = waits == 1;
        if (pack_reader_open(&params, &reader, NULL) != PACK_OK)
            continue;
        for (int i = 0; i < (waits ? 3 : 1000) && info.visits == 0; i++) {
            nanosleep(&nap, NULL);
            pack_reader_info(reader, &info, NULL);
        }
        while (pack_reader_next(reader, &batch, NULL) == PACK_OK && batch.n_samples)
            n += is_right(&batch) ? batch.n_samples : 0;
        ok((info.visits == 0) == params.waits && n == 192, "%s, and all is read",
           waits ? "nothing is read before it is asked for" : "batches are made ahead");
        pack_reader_close(reader);
    }
}

static void
test_ranks(void)
{
    write_file(&coded);
    for (uint64_t world = 1; world < 6; world++) {
        int seen[N_SAMPLES] = { 0 }, n_once = 0, n_twice = 0;
        for (uint64_t rank = 0; rank < world; rank++) {
            struct pack_reader_params params = in_order(PACK_READER_PREAD, 2);
            struct pack_reader *reader = NULL;
            struct pack_reader_batch batch;
            params.pattern.kind = PACK_PATTERN_SHUFFLE;
            params.pattern.world = world;
            params.pattern.rank = rank;
            params.n_epochs = 1;
            pack_reader_open(&params, &reader, NULL);
            while (pack_reader_next(reader, &batch, NULL) == PACK_OK && batch.n_samples)
                for (size_t i = 0; i < batch.n_samples; i++)
                    seen[batch.samples[i]]++;
            pack_reader_close(reader);
        }
        for (int i = 0; i < N_SAMPLES; i++) {
            n_once += seen[i] == 1;
            n_twice += seen[i] == 2;
        }
        int padded = (int)((world - N_SAMPLES % world) % world);
        ok(n_twice == padded && n_once == N_SAMPLES - padded,
           "%d ranks read every sample once, and %d again", (int)world, padded);
    }
}

static void
test_trace(void)
{
    struct pack_box boxes[] = { { 2, { 5, 10 }, { 2, 20 } },
                                { 2, { 94, 30 }, { 2, 20 } },
                                { 2, { 15, 0 }, { 2, 20 } } };
    struct pack_reader_params params = in_order(PACK_READER_PREAD, 2);
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch = { .n_samples = 0 };
    struct pack_error err = { .text = "" };
    bool good = true;
    write_file(&coded);
    params.pattern = (struct pack_pattern){
        .kind = PACK_PATTERN_TRACE, .trace = boxes, .n_trace = 3, .batch = 3
    };
    if (pack_reader_open(&params, &reader, &err) == PACK_OK)
        pack_reader_next(reader, &batch, &err);
    for (size_t i = 0; i < batch.n_samples; i++)
        for (size_t row = 0; row < 2; row++)
            good = good && memcmp((const uint8_t *)batch.data + i * 80 + row * 40,
                                  data + (boxes[i].start[0] + row) * SAMPLE_BYTES +
                                      boxes[i].start[1] * 2,
                                  40) == 0;
    ok(batch.n_samples == 3 && good, "boxes of a trace are read %s", err.text);
    pack_reader_close(reader);
    boxes[2].count[1] = 21;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_UNSUPPORTED, "%s", err.text);
    boxes[2].count[1] = 20;
    boxes[2].start[0] = 95;
    ok(pack_reader_open(&params, &reader, &err) == PACK_ERR_ARGUMENT, "%s", err.text);
}

/* The way that a reader takes by itself for `n` samples of 96 KB, which all are right. */
static const char *
way_of(uint64_t n, const char *pipeline, int *n_wrong)
{
    static char engine[sizeof ((struct pack_reader_info *)NULL)->reason + 32];
    struct made made = { .name = "way",
                         .type = "u8",
                         .rank = 2,
                         .dims = { n, 98304 },
                         .chunk = { 1, 98304 },
                         .pipeline = pipeline };
    struct pack_reader_params params = in_order(PACK_READER_AUTO, 2);
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info = { .engine = "" };
    size_t size;
    made_write(&made, path);
    uint8_t *want = made_read(path, "x", false, &size);
    params.pattern.kind = PACK_PATTERN_SHUFFLE;
    params.n_epochs = 1;
    if (pack_reader_open(&params, &reader, NULL) == PACK_OK)
        pack_reader_info(reader, &info, NULL);
    while (reader && pack_reader_next(reader, &batch, NULL) == PACK_OK && batch.n_samples)
        for (size_t i = 0; i < batch.n_samples; i++)
            *n_wrong += memcmp((const uint8_t *)batch.data + i * 98304,
                               want + batch.samples[i] * 98304, 98304) != 0;
    pack_reader_close(reader);
    free(want);
    snprintf(engine, sizeof engine, "%s%s", info.engine, info.reason);
    return engine;
}

/* The way of two files of `n` samples of 96 KB each. */
static const char *
way_of_two(uint64_t n)
{
    static char engine[32];
    struct made made = { .name = "two",
                         .type = "u8",
                         .rank = 2,
                         .dims = { n, 98304 },
                         .chunk = { 1, 98304 } };
    const char *const files[] = { path, path };
    struct pack_reader_params params = in_order(PACK_READER_AUTO, 2);
    struct pack_reader *reader = NULL;
    struct pack_reader_info info = { .engine = "" };
    params.file = NULL;
    params.files = files;
    params.n_files = 2;
    made_write(&made, path);
    if (pack_reader_open(&params, &reader, NULL) == PACK_OK)
        pack_reader_info(reader, &info, NULL);
    pack_reader_close(reader);
    snprintf(engine, sizeof engine, "%s", info.engine);
    return engine;
}

static void
test_ways(void)
{
    int n_wrong = 0, fd = open(".", O_RDONLY);
    const char *mapped = pack_fetch_best(fd, PACK_FETCH_MAPPED_BYTES, false)->name;
    close(fd);
    ok(strcmp(way_of(700, NULL, &n_wrong), mapped) == 0, "69 MB are read by %s", mapped);
    ok(strcmp(way_of(600, NULL, &n_wrong), "pread") == 0, "59 MB are not mapped");
    ok(strcmp(way_of(700, "fletcher32", &n_wrong), "pread") == 0, "nor what has filters");
    is_number((uint64_t)n_wrong, 0, "and all samples are right");
    ok(strcmp(way_of_two(350), mapped) == 0, "two files of 34 MB are read by %s", mapped);
    ok(strcmp(way_of_two(340), "pread") == 0, "of 33 MB, which are less together, not");
}

/* -------------------------------------------------------------- HDF5 itself */

static void
test_virtual(void)
{
    static const char whole[] = "test_reader_errors.virtual.h5";
    struct pack_reader_params params = in_order(PACK_READER_MMAP, 4);
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info = { .engine = "" };
    struct pack_error err = { .text = "" };
    hsize_t dims[] = { 96, 50 };
    uint64_t n = 0;
    struct made big = coded;
    big.type = ">i16";
    write_file(&big);
    hid_t file = H5Fcreate(whole, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t column = 0; column < dims[1]; column += 25) { /* no whole samples */
        H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){ 0, column }, NULL,
                            (hsize_t[]){ dims[0], 25 }, NULL);
        H5Pset_virtual(dcpl, space, path, "x", space);
    }
    H5Dclose(H5Dcreate2(file, "v", H5T_STD_I16BE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Fclose(file);
    params.file = whole;
    params.dataset = "v";
    params.pattern.kind = PACK_PATTERN_SHUFFLE;
    if (pack_reader_open(&params, &reader, &err) == PACK_OK)
        pack_reader_info(reader, &info, NULL);
    while (reader && pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples)
        n += is_right(&batch) ? batch.n_samples : 0;
    ok(n == 192 && strcmp(info.engine, "hdf5") == 0 && info.n_threads == 0,
       "HDF5 reads %s, to the same bytes %s", info.reason, err.text);
    pack_reader_close(reader);
    unlink(whole);
}

/* ------------------------------------------------------------------ memory */

static void
test_memory(void)
{
    struct made large = coded;
    struct pack_reader_params params = in_order(PACK_READER_PREAD, 3);
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info = { .engine = "" };
    uint64_t most = 0;
    large.dims[0] = 4000;
    large.dims[1] = large.chunk[1] = 3000;
    large.pipeline = "shuffle+gzip:1+fletcher32";
    made_write(&large, path);
    params.memory_bytes = 8 << 20;
    params.pattern.kind = PACK_PATTERN_SHUFFLE;
    params.n_epochs = 1;
    uint64_t before = allocated();
    if (pack_reader_open(&params, &reader, NULL) != PACK_OK) {
        ok(false, "a large file is opened");
        return;
    }
    while (pack_reader_next(reader, &batch, NULL) == PACK_OK && batch.n_samples)
        most = allocated() > most ? allocated() : most;
    most = most > before ? most - before : 0;
    pack_reader_info(reader, &info, NULL);
    pack_reader_close(reader);
    ok(most <= params.memory_bytes && info.memory_bytes <= params.memory_bytes &&
           info.memory_bytes > params.memory_bytes * 9 / 10,
       "of 8 MiB allowed, %.1f are planned and %.1f allocated at most, for %llu slots",
       (double)info.memory_bytes / (1 << 20), (double)most / (1 << 20),
       (unsigned long long)info.n_slots);
    ok(info.loads + info.hits == info.visits && info.hits > 0, "%llu visits, %llu loads",
       (unsigned long long)info.visits, (unsigned long long)info.loads);
}

int
main(void)
{
    pack_h5_quiet();
    pack_h5_register_zstd(NULL);
    test_damage();
    test_first();
    test_changes();
    test_cut_mapping();
    test_closing();
    test_position();
    test_gathering();
    test_ready();
    test_waits();
    test_ranks();
    test_trace();
    test_ways();
    test_virtual();
    test_memory();
    unlink(path);
    return done();
}
