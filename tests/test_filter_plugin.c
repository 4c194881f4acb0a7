/*
 * Filters of plugins in the reader's threads, against HDF5 that loads the same plugins: by
 * themselves, before and behind filters of libpack's, one that must be called by one thread at
 * a time, some that fail or lie, none at all; blosc, with a function that all may be in;
 * bzip2 by libbz2. Real plugins, where there are some: filter_plugins.sh.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpack/reader.h>
#include "tests/made_h5.h"
#include "tests/tap.h"

enum { BZIP2 = 307, PLAIN = 277, LONE = 278, BLOSC = 32001, N_ROWS = 200, WIDTH = 300, ROWS = 4 };

static const char path[] = "test_filter_plugin.tmp.h5";
static const char folder[] = "test_filter_plugin.tmp";

/* How each dataset is stored; `mode` is what the plugin is told. */
static const struct set {
    const char *name;
    int before, id, behind;
    unsigned mode;
} sets[] = {
    { "plain", 0, PLAIN, 0, 0 },
    { "lone", 0, LONE, 0, 0 },
    { "last", H5Z_FILTER_SHUFFLE, PLAIN, 0, 0 },
    { "first", 0, PLAIN, H5Z_FILTER_DEFLATE, 0 },
    { "middle", H5Z_FILTER_SHUFFLE, LONE, H5Z_FILTER_FLETCHER32, 0 },
    { "both", PLAIN, LONE, H5Z_FILTER_DEFLATE, 0 },
    { "blosc", 0, BLOSC, 0, 0 },
    { "blosc between", H5Z_FILTER_SHUFFLE, BLOSC, H5Z_FILTER_FLETCHER32, 0 },
    { "blosc of another version", 0, BLOSC, 0, 1 },
    { "fails", 0, PLAIN, 0, 1 },
    { "long", 0, PLAIN, 0, 2 },
    { "longer", H5Z_FILTER_SHUFFLE, PLAIN, 0, 3 },
    { "blosc of gigabytes", H5Z_FILTER_SHUFFLE, BLOSC, 0, 2 },
    { "blosc that is cut", 0, BLOSC, 0, 3 },
    { "blosc that is short", 0, BLOSC, 0, 4 },
};
enum { N_GOOD = 9, N_SETS = sizeof sets / sizeof *sets };

static void
add_filter(hid_t dcpl, int id, unsigned mode)
{
    const unsigned level = 1;
    if (id == H5Z_FILTER_SHUFFLE)
        H5Pset_shuffle(dcpl);
    else if (id == H5Z_FILTER_DEFLATE)
        H5Pset_deflate(dcpl, level);
    else if (id == H5Z_FILTER_FLETCHER32)
        H5Pset_fletcher32(dcpl);
    else if (id)
        H5Pset_filter(dcpl, id, 0, 1, &mode);
}

static bool
write_sets(void)
{
    static int16_t data[N_ROWS * WIDTH];
    const hsize_t dims[] = { N_ROWS, WIDTH }, chunk[] = { ROWS, WIDTH };
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL);
    bool good = true;
    made_bytes((uint8_t *)data, sizeof data);
    for (size_t i = 0; i < N_SETS; i++) {
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(dcpl, 2, chunk);
        add_filter(dcpl, sets[i].before, 0);
        add_filter(dcpl, sets[i].id, sets[i].mode);
        add_filter(dcpl, sets[i].behind, 0);
        hid_t set = H5Dcreate2(file, sets[i].name, H5T_STD_I16LE, space, H5P_DEFAULT, dcpl,
                               H5P_DEFAULT);
        good = good && set >= 0 &&
               H5Dwrite(set, H5T_STD_I16LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
        if (set >= 0)
            H5Dclose(set);
        H5Pclose(dcpl);
    }
    H5Sclose(space);
    return H5Fclose(file) >= 0 && good;
}

static struct pack_reader *
open_set(const char *name, unsigned n_threads, struct pack_reader_info *info)
{
    struct pack_reader_params params = { .file = path,
                                         .dataset = name,
                                         .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 7 },
                                         .n_epochs = 2,
                                         .n_threads = n_threads };
    struct pack_reader *reader = NULL;
    struct pack_error err;
    *info = (struct pack_reader_info){ .engine = "none" };
    if (pack_reader_open(&params, &reader, &err) == PACK_OK)
        pack_reader_info(reader, info, NULL);
    else
        note("%s", err.text);
    return reader;
}

/* How many samples are as HDF5 reads them. */
static size_t
count_right(struct pack_reader *reader, const uint8_t *whole)
{
    struct pack_reader_batch batch;
    struct pack_error err = { .text = "" };
    size_t n = 0, row = WIDTH * sizeof(int16_t);
    while (reader && pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples)
        for (size_t i = 0; i < batch.n_samples; i++)
            n += memcmp((const uint8_t *)batch.data + i * row, whole + batch.samples[i] * row,
                        row) == 0;
    if (err.text[0])
        note("%s", err.text);
    return n;
}

static void
test_reading(void)
{
    for (size_t i = 0; i < N_GOOD; i++) {
        size_t size, n = 0, n_threaded = 0;
        uint8_t *whole = made_read(path, sets[i].name, true, &size);
        for (unsigned threads = 1; threads < 9 && whole; threads += 3) {
            struct pack_reader_info info;
            struct pack_reader *reader = open_set(sets[i].name, threads, &info);
            n_threaded += strcmp(info.engine, "pread") == 0 && info.n_threads == threads;
            n += count_right(reader, whole);
            pack_reader_close(reader);
        }
        ok(n == 3 * 2 * N_ROWS && n_threaded == 3,
           "%s: %zu samples as HDF5 reads them, in threads", sets[i].name, n);
        free(whole);
    }
}

/* What is in the sentence about a set that lies. */
static const char *
sentence_of(const struct set *set)
{
    static const char *const of_blosc[] = {
        [2] = "filter 32001 (blosc) says that it decodes to 2147483647 bytes, of 2400 at most",
        [3] = "filter 32001 (blosc) stored 2417 bytes, of which 2416 are there",
        [4] = "decodes to 2399 bytes instead of 2400",
    };
    return set->id == BLOSC ? of_blosc[set->mode]
           : set->mode == 1 ? "filter 277 cannot decode"
                            : "decodes to";
}

static void
test_liars(void)
{
    for (size_t i = N_GOOD; i < N_SETS; i++) {
        struct pack_reader_info info;
        struct pack_reader_batch batch;
        struct pack_error err = { .text = "" };
        struct pack_reader *reader = open_set(sets[i].name, 2, &info);
        ok(reader && pack_reader_next(reader, &batch, &err) == PACK_ERR_FORMAT &&
               strstr(err.text, "chunk (") && strstr(err.text, sentence_of(&sets[i])),
           "%s: %s", sets[i].name, err.text);
        pack_reader_close(reader);
    }
}

/* A variable of the plugin that says to be blosc. */
static int *
of_blosc(const char *name)
{
    void *library = dlopen("tests/.libs/libfake_blosc.so", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

/* Reads a set; how often the plugin and c-blosc were called for it. */
static size_t
count_calls(const char *name, int *n_called, int *n_decoded)
{
    size_t size;
    struct pack_reader_info info;
    uint8_t *whole = made_read(path, name, true, &size);
    int called = *of_blosc("blosc_n_called"), decoded = *of_blosc("blosc_n_decoded");
    struct pack_reader *reader = open_set(name, 2, &info);
    size_t n = count_right(reader, whole);
    pack_reader_close(reader);
    free(whole);
    *n_called = *of_blosc("blosc_n_called") - called;
    *n_decoded = *of_blosc("blosc_n_decoded") - decoded;
    return n;
}

static void
test_blosc(void)
{
    enum { N_CHUNKS = N_ROWS / ROWS };
    int called = 0, decoded = 0, *meets = of_blosc("blosc_meets"), *met = of_blosc("blosc_met");
    if (!ok(meets && met, "the plugin that says to be blosc is there"))
        return;
    *meets = 1;
    size_t n = count_calls("blosc", &called, &decoded);
    ok(n == 2 * N_ROWS && *met, "two threads are in blosc at the same time");
    ok(called == 0 && decoded >= N_CHUNKS, "the plugin, which would have locked, is not called");
    *meets = 0;
    n = count_calls("blosc of another version", &called, &decoded);
    ok(n == 2 * N_ROWS && called >= N_CHUNKS && decoded == called,
       "the plugin is, for what c-blosc cannot decode");
}

/* One chunk at the start, of the first `size` bytes of a stream of bzip2's, of a dataset whose
 * chunks have so many rows. */
static void
write_bzip2(const char *name, hsize_t rows, size_t size)
{
    static const char stream[] = /* 0 300 times, 1 300 times, ... 7 */
        "\x42\x5a\x68\x31\x31\x41\x59\x26\x53\x59\xa7\x4c\xd3\x33\x00\x00\x00\xd0"
        "\x00\xff\x80\x00\x20\x00\x08\x20\x00\x54\x40\x36\xa0\x19\x53\xfd\x54\xcd"
        "\x1f\xaa\x29\x28\x7f\x28\x6a\x50\xdc\xa1\x92\x87\x25\x0e\xca\x0d\xaa\xaa"
        "\xe6\x60\x06\x78\xbb\x92\x29\xc2\x84\x85\x3a\x66\x99\x98";
    const hsize_t dims[] = { N_ROWS, WIDTH }, chunk[] = { rows, WIDTH }, origin[] = { 0, 0 };
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 2, chunk);
    H5Pset_filter(dcpl, BZIP2, H5Z_FLAG_OPTIONAL, 0, NULL);
    hid_t set =
        H5Dcreate2(file, name, H5T_STD_I16LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Dwrite_chunk(set, H5P_DEFAULT, 0, origin, size ? size : sizeof stream - 1, stream);
    H5Dclose(set);
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Fclose(file);
}

static void
test_bzip2(void)
{
    static uint8_t whole[N_ROWS * WIDTH * sizeof(int16_t)];
    static const struct {
        const char *name;
        hsize_t rows;
        size_t size;
    } bad[] = { { "bzip2 that is cut", ROWS, 60 }, { "bzip2 that goes on", ROWS - 1, 0 } };
    struct pack_reader_info info;
    struct pack_reader_batch batch = { .n_samples = 1 };
    for (size_t i = 0; i < ROWS * WIDTH * sizeof(int16_t); i++)
        whole[i] = (uint8_t)(i / 300);
    write_bzip2("bzip2", ROWS, 0);
    struct pack_reader *reader = open_set("bzip2", 2, &info);
    if (strcmp(info.engine, "hdf5") == 0)
        skip("there is no libbz2");
    else
        ok(count_right(reader, whole) == 2 * N_ROWS, "bzip2 needs no plugin");
    pack_reader_close(reader);
    for (size_t i = 0; i < 2 && strcmp(info.engine, "hdf5") != 0; i++) {
        struct pack_error err = { .text = "" };
        write_bzip2(bad[i].name, bad[i].rows, bad[i].size);
        reader = open_set(bad[i].name, 2, &info);
        while (reader && pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples)
            continue;
        ok(strstr(err.text, "chunk (0,0): filter 307 (bzip2) cannot decode it"), "%s: %s",
           bad[i].name, err.text);
        pack_reader_close(reader);
    }
}

/* In a child, whose HDF5 has not loaded anything. */
static bool
in_child(bool (*test)(void))
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(test() ? 0 : 1);
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
is_left_to_hdf5(void)
{
    struct pack_reader_info info;
    struct pack_reader *reader = open_set("plain", 2, &info);
    bool left = reader && strcmp(info.engine, "hdf5") == 0 && strstr(info.reason, "277");
    note("%s", info.reason);
    pack_reader_close(reader);
    return left;
}

static bool
without_folder(void)
{
    H5PLremove(0);
    return is_left_to_hdf5();
}

static bool
without_loading(void)
{
    H5PLset_loading_state(0);
    return is_left_to_hdf5();
}

/* A folder that has other things first, and the plugin by a link. */
static bool
among_others(void)
{
    char target[4096], link[64];
    struct pack_reader_info info;
    if (!realpath("tests/.libs/libplain_filter.so", target))
        return false;
    mkdir(folder, 0755);
    snprintf(link, sizeof link, "%s/libbroken.so", folder);
    FILE *file = fopen(link, "w");
    fputs("no library\n", file);
    fclose(file);
    snprintf(link, sizeof link, "%s/libother.so", folder);
    bool good = symlink("/proc/self/exe", link) == 0;
    snprintf(link, sizeof link, "%s/libz_turn.so", folder);
    good = good && symlink(target, link) == 0;
    H5PLreplace(folder, 0);
    struct pack_reader *reader = open_set("plain", 2, &info);
    good = good && strcmp(info.engine, "pread") == 0;
    pack_reader_close(reader);
    return good;
}

/* c-blosc itself, without a plugin: what is below, in a program that is started for it. */
static bool
with_libblosc(void)
{
    char where[4096];
    const char *before = getenv("LD_LIBRARY_PATH");
    snprintf(where, sizeof where, "%s:%s", folder, before ? before : "");
    return setenv("LD_LIBRARY_PATH", where, 1) == 0 &&
           execl("/proc/self/exe", "test_filter_plugin", "libblosc", NULL) == 0;
}

static int
read_with_libblosc(void)
{
    struct pack_reader_info info;
    struct pack_reader_batch batch;
    struct pack_error err = { .text = "" };
    bool good = false;
    H5PLreplace("/nonexistent", 0);
    struct pack_reader *reader = open_set("blosc", 2, &info);
    if (reader && strcmp(info.engine, "pread") == 0)
        good = pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples == 7;
    pack_reader_close(reader);
    reader = open_set("blosc of another version", 2, &info);
    good = good && reader && pack_reader_next(reader, &batch, &err) == PACK_ERR_FORMAT &&
           strstr(err.text, "filter 32001 (blosc) cannot decode it");
    note("%s", err.text);
    pack_reader_close(reader);
    return good ? 0 : 1;
}

static void
remove_folder(void)
{
    static const char *const names[] = { "libbroken.so", "libother.so", "libz_turn.so",
                                         "libblosc.so.1" };
    char name[64];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        unlink(name);
    }
    rmdir(folder);
}

int
main(int argc, char **argv)
{
    (void)argv;
    pack_h5_quiet();
    if (argc > 1)
        return read_with_libblosc();
    if (access("tests/.libs/liblone_filter.so", R_OK) != 0) {
        skip("plugins are not built here");
        return done();
    }
    H5PLprepend("tests/.libs");
    if (!write_sets()) {
        ok(false, "HDF5 writes with the plugins");
        return done();
    }
    test_reading();
    test_liars();
    test_blosc();
    test_bzip2();
    ok(in_child(without_folder), "what has no plugin here is left to HDF5, and it is said why");
    ok(in_child(without_loading), "so it is when HDF5 may not load any");
    ok(in_child(among_others), "files that are no plugins are passed over");
    char target[4096];
    mkdir(folder, 0755);
    if (realpath("tests/.libs/libfake_blosc.so", target) &&
        symlink(target, "test_filter_plugin.tmp/libblosc.so.1") == 0)
        ok(in_child(with_libblosc), "without a plugin, c-blosc is enough for blosc");
    remove_folder();
    unlink(path);
    return done();
}
