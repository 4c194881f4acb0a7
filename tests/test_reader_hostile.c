/*
 * Files with bytes changed at random, or cut: each is first listed by HDF5, then read by the
 * reader, in a child process. HDF5 may crash on some, which is counted; the reader may not:
 * it says what is wrong, or gives what HDF5 gives, in the file's type: what was changed may
 * be the type, whose bits HDF5 would move.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "tests/made_h5.h"
#include "tests/tap.h"

static const char path[] = "test_reader_hostile.tmp.h5";

static const struct made mades[] = {
    { .name = "gzip in a B-tree v1",
      .type = "i16",
      .rank = 2,
      .dims = { 40, 30 },
      .chunk = { 8, 8 },
      .pipeline = "shuffle+gzip:4" },
    { .name = "zstd in an extensible array",
      .type = ">f32",
      .rank = 3,
      .dims = { 20, 9, 7 },
      .chunk = { 3, 4, 4 },
      .pipeline = "zstd:1",
      .v110 = true,
      .grows = true },
    { .name = "a fixed array, with masks",
      .type = "i64",
      .rank = 2,
      .dims = { 30, 11 },
      .chunk = { 4, 4 },
      .pipeline = "shuffle+gzip:4+fletcher32",
      .v110 = true,
      .masked = true },
    { .name = "unfiltered chunks",
      .type = "u8",
      .rank = 2,
      .dims = { 60, 40 },
      .chunk = { 7, 40 } },
    { .name = "contiguous data", .type = "i16", .rank = 2, .dims = { 60, 40 } },
    { .name = "compact data",
      .type = "i16",
      .rank = 2,
      .dims = { 20, 10 },
      .compact = true },
};
enum { N_MADES = sizeof mades / sizeof mades[0] };

/* How a child ends; anything else is a crash, of HDF5 or of ours. */
enum { READ = 0, REFUSED = 33, FAILED, DIFFERENT, HDF5_DIED };

/* --------------------------------------------------------------- in a child */

/* What HDF5 does with the file: whatever it does, this process may end. */
static void
try_hdf5(void)
{
    struct pack_facts facts;
    struct pack_chunkindex index = { 0 };
    size_t size;
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        if (pack_dataset_facts(path, "x", &facts, NULL) == PACK_OK &&
            pack_chunkindex_read(path, "x", 1 << 16, &index, NULL) == PACK_OK)
            pack_chunkindex_done(&index);
        if (facts.n_elements < 1 << 20)
            free(made_read(path, "x", true, &size));
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        _exit(HDF5_DIED);
}

static int
read_all(enum pack_reader_strategy strategy)
{
    struct pack_reader_params params = { .file = path,
                                         .dataset = "x",
                                         .pattern = { .batch = 4 },
                                         .n_threads = 2,
                                         .memory_bytes = 64 << 20,
                                         .strategy = strategy,
                                         .file_order = true };
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info;
    size_t size = 0, at = 0;
    int n_failed = 0, n_different = 0;
    params.pattern.kind = PACK_PATTERN_SEQUENTIAL;
    if (pack_reader_open(&params, &reader, NULL) != PACK_OK)
        return REFUSED;
    pack_reader_info(reader, &info, NULL);
    uint8_t *want = info.n_batches < 1 << 16 ? made_read(path, "x", false, &size) : NULL;
    for (uint64_t i = 0; i < info.n_batches && i < 1 << 10; i++) {
        enum pack_status status = pack_reader_next(reader, &batch, NULL);
        size_t bytes = 4 * info.sample_bytes;
        n_failed += status != PACK_OK;
        if (status == PACK_OK)
            bytes = batch.n_samples * info.sample_bytes;
        if (status == PACK_OK && want && at + bytes <= size)
            n_different += memcmp(batch.data, want + at, bytes) != 0;
        at += bytes;
    }
    free(want);
    pack_reader_close(reader);
    return n_different ? DIFFERENT : n_failed ? FAILED : READ;
}

static int
in_child(enum pack_reader_strategy strategy)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit cpu = { 10, 10 }, none = { 0, 0 };
        int null = open("/dev/null", O_WRONLY); /* malloc's last words */
        setrlimit(RLIMIT_CPU, &cpu);
        setrlimit(RLIMIT_CORE, &none);
        dup2(null, 2);
        try_hdf5();
        _exit(read_all(strategy));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ------------------------------------------------------------------ damage */

static void
spoil(const uint8_t *bytes, size_t size, struct pack_rng *rng)
{
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    uint64_t kind = pack_rng_below(rng, 4), n = 1 + pack_rng_below(rng, 6);
    size_t end = kind == 0 ? size * pack_rng_below(rng, 1000) / 1000 : size;
    for (uint64_t i = 0; i < n && kind > 0; i++) {
        size_t at = pack_rng_below(rng, size);
        copy[at] = kind == 1   ? (uint8_t)pack_rng_next(rng)
                   : kind == 2 ? (uint8_t)(copy[at] ^ 1u << pack_rng_below(rng, 8))
                               : 0xff;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(fd, copy, end) != (ssize_t)end)
        note("not written");
    close(fd);
    free(copy);
}

int
main(void)
{
    static uint8_t bytes[1 << 17];
    const char *seed = getenv("H5PACK_SEED");
    int n = getenv("H5PACK_LONG") ? 1000 : 60;
    struct pack_rng rng;
    pack_rng_seed(&rng, seed ? strtoull(seed, NULL, 10) : 1);
    pack_h5_quiet();
    pack_h5_register_zstd(NULL);
    for (size_t m = 0; m < N_MADES; m++) {
        int n_of[256] = { 0 };
        made_write(&mades[m], path);
        int fd = open(path, O_RDONLY);
        ssize_t size = read(fd, bytes, sizeof bytes);
        close(fd);
        for (int i = 0; i < n; i++) {
            spoil(bytes, (size_t)size, &rng);
            n_of[in_child(PACK_READER_PREAD + (unsigned)i % 3) & 0xff]++;
        }
        int n_known = n_of[READ] + n_of[REFUSED] + n_of[FAILED] + n_of[HDF5_DIED];
        ok(n_known == n,
           "%s, damaged: %d read, %d refused, %d with batches that fail, HDF5 died of %d "
           "(and %d differ)",
           mades[m].name, n_of[READ], n_of[REFUSED], n_of[FAILED], n_of[HDF5_DIED],
           n_of[DIFFERENT]);
    }
    unlink(path);
    return done();
}
