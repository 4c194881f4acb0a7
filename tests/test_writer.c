/*
 * The writer: what it writes reads back, the same calls give the same bytes, and a run
 * killed or failing at any write is completed to those very bytes.
 *
 * A small converter is played out here, with outfile and journal. This program brings its
 * own pwrite and ftruncate, which libpack's resolve to, so that it can make the n-th of
 * them fail or end the process half-way through.
 *
 * With an argument, writes the sample file there and ends; test_plugin.sh uses that.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/base/checksum.h"
#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/hdf5/h5_read.h"
#include "libpack/base/journal.h"
#include "libpack/base/outfile.h"
#include "libpack/hdf5/writer.h"
#include "tests/tap.h"

/* ------------------------------------------------------------------- faults */

static struct {
    long countdown; /* writes until it happens; 0: never */
    int errnum;     /* what the write fails with; 0: the process ends */
    long n_writes;
} fault;

/* Whether this call is the one. */
static bool
strikes(void)
{
    fault.n_writes++;
    return fault.countdown > 0 && --fault.countdown == 0;
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
    if (!strikes())
        return syscall(SYS_pwrite64, fd, data, size, offset);
    syscall(SYS_pwrite64, fd, data, size / 2, offset);
    if (fault.errnum == 0)
        _exit(0);
    errno = fault.errnum;
    return -1;
}

int
ftruncate(int fd, off_t size)
{
    if (!strikes())
        return (int)syscall(SYS_ftruncate, fd, size);
    if (fault.errnum == 0)
        _exit(0);
    errno = fault.errnum;
    return -1;
}

static int lock_errno; /* of every flock; 0: they are the system's */

int
flock(int fd, int operation)
{
    errno = lock_errno;
    return errno ? -1 : (int)syscall(SYS_flock, fd, operation);
}

/* No power is lost here, and the disk has better things to do. */
int
fsync(int fd)
{
    (void)fd;
    return 0;
}

/* ------------------------------------------------------------- the converter */

enum { CHUNKS_MAX = 60000, RECORD_CHUNK = 1 };

struct job {
    enum pack_libver libver;
    const char *pipeline;
    unsigned n_samples;
};

struct record {
    uint64_t number, address, stored_bytes, checksum;
    uint32_t filter_mask;
};

static struct record records[CHUNKS_MAX];
static unsigned n_records, n_replayed;

enum { HEIGHT = 5, WIDTH = 6, CHUNK_H = 3, CHUNK_BYTES = 2 * CHUNK_H * WIDTH };

/* Contents of chunk `number`. */
static void
fill(uint8_t *data, uint64_t number)
{
    for (unsigned i = 0; i < CHUNK_BYTES; i++)
        data[i] = (uint8_t)(number * 31 + i / 3 + (i * number) % 7);
}

static enum pack_status
take_record(void *context, uint32_t type, const void *payload, size_t size,
            struct pack_error *err)
{
    (void)context;
    if (type != RECORD_CHUNK || size != sizeof records[0] || n_records == CHUNKS_MAX)
        return pack_fail(err, PACK_ERR_FORMAT, "odd record");
    memcpy(&records[n_records++], payload, size);
    return PACK_OK;
}

/* Whether the bytes that a record speaks of are in the file. */
static bool
is_intact(const char *path, const struct record *record)
{
    uint8_t bytes[2 * CHUNK_BYTES + 64];
    FILE *f = fopen(path, "rb");
    bool intact = f && record->stored_bytes <= sizeof bytes &&
                  fseek(f, (long)record->address, SEEK_SET) == 0 &&
                  fread(bytes, 1, record->stored_bytes, f) == record->stored_bytes &&
                  pack_checksum(bytes, record->stored_bytes, 0) == record->checksum;
    if (f)
        fclose(f);
    return intact;
}

static enum pack_status
put_chunk(struct pack_writer_dataset *set, struct pack_journal *journal,
          const struct pack_pipeline *pipeline, struct pack_filter_ctx *ctx,
          uint64_t number, struct pack_error *err)
{
    uint8_t data[CHUNK_BYTES];
    struct pack_stored stored;
    struct record record;
    memset(&record, 0, sizeof record);
    record.number = number;
    fill(data, number);
    enum pack_status status =
        pack_pipeline_encode(pipeline, ctx, data, sizeof data, &stored, err);
    if (!status)
        status = pack_writer_chunk(set, number, &stored, &record.address, err);
    if (status)
        return status;
    record.filter_mask = stored.filter_mask;
    record.stored_bytes = stored.size;
    record.checksum = pack_checksum(stored.data, stored.size, 0);
    status = pack_journal_append(journal, RECORD_CHUNK, &record, sizeof record, err);
    return !status && number % 3 == 0 ? pack_journal_flush(journal, err) : status;
}

static enum pack_status
put_chunks(struct pack_writer_dataset *set, const struct job *job, const char *part,
           struct pack_journal *journal, const struct pack_pipeline *pipeline,
           struct pack_error *err)
{
    struct pack_filter_ctx *ctx;
    enum pack_status status = pack_filter_ctx_new(&ctx, err);
    uint64_t n = pack_writer_chunk_count(set, job->n_samples);
    bool replaying = true;
    for (uint64_t i = 0; i < n && !status; i++) {
        replaying = replaying && i < n_records && records[i].number == i &&
                    (job->n_samples > 1000 || is_intact(part, &records[i]));
        if (replaying) {
            status = pack_writer_chunk_replayed(set, i, records[i].stored_bytes,
                                                records[i].filter_mask,
                                                records[i].address, err);
            /* a record that was rejected once is written again, behind those that stay */
            n_replayed++;
        } else {
            status = put_chunk(set, journal, pipeline, ctx, i, err);
        }
    }
    pack_filter_ctx_free(ctx);
    return status;
}

static enum pack_status
put_rest(struct pack_writer *writer, const struct job *job, struct pack_error *err)
{
    static const char *const labels[] = { "N", "H", "W" };
    static const char *const names[] = { "a.jpg", "b/c.png", "",
                                         "d\xc3\xa9j\xc3\xa0.jpg" };
    static const char *const nothing[] = { "", "", "" };
    static char long_name[70000];
    const char *uneven[20];
    int64_t classes[64];
    const double mean[] = { 120.5, 1.0 / 3 };
    int32_t count = (int32_t)job->n_samples;
    float scale = 0.5f;
    const struct pack_writer_numbers means = { PACK_FLOAT64, 2, mean, false },
                                     one = { PACK_INT32, 1, &count, true },
                                     scales = { PACK_FLOAT32, 1, &scale, false };
    struct pack_shape shape = { .rank = 2, .extent = { 32, 2 } };
    struct pack_shape none = { .rank = 1, .extent = { 0 } };
    for (int i = 0; i < 64; i++)
        classes[i] = i * (int64_t)1000000007 - 5;
    memset(long_name, 'x', sizeof long_name - 1);
    for (int i = 0; i < 20; i++)
        uneven[i] = i == 7 ? long_name : "short";
    enum pack_status status = pack_writer_attr_texts(writer, "train/images",
                                                     "DIMENSION_LABELS", labels, 3, err);
    if (!status)
        status = pack_writer_array(writer, "labels", PACK_INT64, &shape, classes, err);
    if (!status)
        status = pack_writer_array(writer, "train/none", PACK_FLOAT32, &none, NULL, err);
    if (!status)
        status = pack_writer_texts(writer, "columns/names", names, 4, err);
    if (!status)
        status = pack_writer_texts(writer, "columns/nothing", nothing, 3, err);
    if (!status)
        status = pack_writer_texts(writer, "columns/uneven", uneven, 20, err);
    if (!status)
        status = pack_writer_attr_text(writer, "train/images", "CLASS", "IMAGE", err);
    if (!status)
        status =
            pack_writer_attr_text(writer, "/", "h5pack_note", "d\xc3\xa9j\xc3\xa0", err);
    if (!status)
        status = pack_writer_attr_numbers(writer, "train/images", "mean", &means, err);
    if (!status)
        status = pack_writer_attr_numbers(writer, "/", "count", &one, err);
    if (!status)
        status = pack_writer_attr_numbers(writer, "train", "scale", &scales, err);
    return status;
}

static enum pack_status
put_all(struct pack_writer *writer, const struct job *job, const char *part,
        struct pack_journal *journal, struct pack_error *err)
{
    struct pack_writer_dataset_params params = {
        .type = PACK_UINT8,
        .sample = { .rank = 2, .extent = { HEIGHT, WIDTH } },
        .chunk = { .rank = 3, .extent = { 2, CHUNK_H, WIDTH } },
    };
    struct pack_writer_dataset *set;
    enum pack_status status =
        pack_pipeline_parse(job->pipeline, 1, &params.pipeline, err);
    if (!status)
        status = pack_writer_dataset_create(writer, "train/images", &params, &set, err);
    if (!status)
        status = put_chunks(set, job, part, journal, &params.pipeline, err);
    if (!status)
        status = pack_writer_dataset_extent(set, job->n_samples, err);
    return status ? status : put_rest(writer, job, err);
}

/* The whole job, from the start or from where an earlier one stopped. */
static enum pack_status
run(const char *path, const struct job *job, struct pack_error *err)
{
    struct pack_outfile_params out_params = { .journal = true, .resume = true };
    struct pack_writer_params params = { .libver = job->libver };
    struct pack_outfile *out = NULL;
    struct pack_journal *journal = NULL;
    struct pack_writer *writer = NULL;
    n_records = n_replayed = 0;
    enum pack_status status = pack_outfile_open(path, &out_params, &out, err);
    if (status)
        return status;
    params.resume = pack_outfile_is_resumed(out);
    struct pack_journal_params journal_params = {
        .fd = pack_outfile_journal_fd(out),
        .name = pack_outfile_journal_path(out),
        .identity = job->pipeline,
        .identity_size = strlen(job->pipeline),
    };
    status = pack_journal_resume(&journal_params, take_record, NULL, &journal, err);
    if (!status)
        status = pack_writer_open(pack_outfile_part_path(out), &params, &writer, err);
    if (!status)
        status = put_all(writer, job, pack_outfile_part_path(out), journal, err);
    if (status) {
        pack_writer_abandon(writer);
        pack_journal_close(journal, NULL);
        pack_outfile_abandon(out);
        return status;
    }
    status = pack_journal_close(journal, err);
    if (status)
        pack_writer_abandon(writer);
    else
        status = pack_writer_close(writer, err);
    if (status) {
        pack_outfile_abandon(out);
        return status;
    }
    return pack_outfile_commit(out, err);
}

/* -------------------------------------------------------------------- tests */

static const char path[] = "test_writer.tmp.h5", want_path[] = "test_writer.want.h5";

static void
remove_all(void)
{
    unlink(path);
    unlink("test_writer.tmp.h5.part");
    unlink("test_writer.tmp.h5.part.journal");
}

static bool
same_files(const char *a, const char *b)
{
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    bool same = f && g;
    for (int x = 0, y = 0; same && x != EOF; same = x == y) {
        x = getc(f);
        y = getc(g);
    }
    if (f)
        fclose(f);
    if (g)
        fclose(g);
    return same;
}

static int
n_of_kind(const char *name)
{
    return !access(name, F_OK);
}

static void
test_content(const struct job *job)
{
    struct pack_error err;
    remove_all();
    ok(run(path, job, &err) == PACK_OK && n_of_kind(path) == 1, "the job is done");
    int64_t file;
    struct pack_h5_count count = { 0 };
    ok(pack_h5_open(path, &count, &file, &err) == PACK_OK, "the file opens");
    hid_t set = H5Dopen2(file, "train/images", H5P_DEFAULT);
    static uint8_t got[64 * HEIGHT * WIDTH], chunk[CHUNK_BYTES];
    ok(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0,
       "the images read");
    int wrong = 0;
    for (unsigned n = 0; n < job->n_samples; n++)
        for (unsigned y = 0; y < HEIGHT; y++) {
            fill(chunk, (uint64_t)(n / 2) * 2 + y / CHUNK_H);
            wrong +=
                memcmp(got + (n * HEIGHT + y) * WIDTH,
                       chunk + ((n % 2) * CHUNK_H + y % CHUNK_H) * WIDTH, WIDTH) != 0;
        }
    is_number(wrong, 0, "every row is the one that was given");
    H5Dclose(set);
    set = H5Dopen2(file, "labels", H5P_DEFAULT);
    int64_t labels[64];
    ok(H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels) >= 0 &&
           labels[63] == 63 * (int64_t)1000000007 - 5,
       "so do the labels");
    H5Dclose(set);
    pack_h5_close(file);
    struct stat status = { 0 };
    bool is_there = stat(path, &status) == 0;
    ok(is_there && status.st_size < 200000,
       "one long name does not make every name long: %ld bytes", (long)status.st_size);
}

/* The same job once more in another second, so that stored times would differ. */
static void
test_same_bytes(const struct job *job, const char *what)
{
    struct pack_error err = { .text = "" };
    remove_all();
    bool good = run(path, job, &err) == PACK_OK && rename(path, want_path) == 0;
    sleep(1);
    good = good && run(path, job, &err) == PACK_OK && same_files(path, want_path);
    ok(good, "%s: the same calls give the same bytes %s", what, err.text);
}

/* Runs the job in a child that dies in the middle of write n; true when it came to
 * that. */
static bool
run_killed(const struct job *job, long n)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        fault.countdown = n;
        fault.errnum = 0;
        _exit(run(path, job, NULL) == PACK_OK ? 1 : 2);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
test_killed(const struct job *job, const char *what)
{
    int bad = 0;
    long n;
    unsigned replayed = 0;
    struct pack_error err = { .text = "" };
    for (n = 1;; n++) {
        remove_all();
        bool killed = run_killed(job, n);
        if (!killed)
            break;
        bad += run_killed(job, n / 2 + 1) && n_of_kind(path); /* and once more */
        bad += access(path, F_OK) == 0 && !same_files(path, want_path);
        if (access(path, F_OK) != 0) {
            bool good = run(path, job, &err) == PACK_OK && same_files(path, want_path);
            bad += !good;
            replayed += n_replayed;
        }
    }
    ok(bad == 0 && n > 60 && replayed > 100,
       "%s: killed at any of %ld writes, twice, it is resumed to the same bytes, with %u "
       "chunks taken over %s",
       what, n - 1, replayed, err.text);
}

static void
test_full_disk(const struct job *job, const char *what)
{
    int bad = 0;
    long n;
    for (n = 1;; n++) {
        struct pack_error err = { .text = "" };
        remove_all();
        fault.countdown = n;
        fault.errnum = ENOSPC;
        enum pack_status status = run(path, job, &err);
        bool struck = fault.countdown == 0;
        fault.countdown = 0;
        if (!struck)
            break;
        bool good = status == PACK_ERR_IO && access(path, F_OK) != 0 &&
                    strstr(err.text, "No space left on device") &&
                    strstr(err.text, "test_writer.tmp.h5.part") &&
                    run(path, job, NULL) == PACK_OK && same_files(path, want_path);
        if (!good)
            note("write %ld: %s", n, err.text);
        bad += !good;
    }
    ok(bad == 0 && n > 60,
       "%s: the disk full at any of %ld writes is one sentence, and resumable", what,
       n - 1);
}

/* Enough chunks that HDF5's metadata cache has to write and read B-tree nodes on the
 * way. */
static void
test_large(void)
{
    struct job job = { PACK_LIBVER_EARLIEST, "none", 40000 };
    int bad = 0;
    remove_all();
    fault.n_writes = 0;
    bad += run(path, &job, NULL) != PACK_OK || rename(path, want_path) != 0;
    long n = fault.n_writes;
    for (int i = 1; i <= 5; i++) {
        bad += !run_killed(&job, n * i / 6);
        bad += run(path, &job, NULL) != PACK_OK || !same_files(path, want_path);
        remove_all();
    }
    ok(bad == 0, "40,000 chunks, killed at 5 of %ld writes: resumed to the same bytes",
       n);
}

static void
test_refusals(void)
{
    struct pack_writer_params params = { 0 };
    struct pack_writer *writer;
    struct pack_error err;
    struct pack_writer_dataset *set;
    struct pack_writer_dataset_params set_params = {
        .sample = { .rank = 1, .extent = { 4 } },
        .chunk = { .rank = 2, .extent = { 1, 4 } },
    };
    static const char *const bad[] = { "", "/x", "x/", "a//b", ".", "a/./b" };
    ok(pack_writer_open("/nonexistent/x", &params, &writer, &err) == PACK_ERR_NOT_FOUND,
       "no folder: %s", err.text);
    ok(pack_writer_open(path, &params, &writer, &err) == PACK_OK, "a file is created");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(pack_writer_dataset_create(writer, bad[i], &set_params, &set, &err) ==
               PACK_ERR_ARGUMENT,
           "%s", err.text);
    set_params.chunk.rank = 1;
    ok(pack_writer_dataset_create(writer, "x", &set_params, &set, &err) ==
           PACK_ERR_ARGUMENT,
       "%s", err.text);
    set_params.chunk.rank = 2;
    set_params.sample.extent[0] = UINT64_MAX;
    set_params.chunk.extent[1] = UINT64_MAX;
    set_params.chunk.extent[0] = 2;
    ok(pack_writer_dataset_create(writer, "x", &set_params, &set, &err) ==
           PACK_ERR_ARGUMENT,
       "%s", err.text);
    static char text[70000];
    memset(text, 'x', sizeof text - 1);
    ok(pack_writer_attr_text(writer, "/", "long", text, &err) == PACK_ERR_LIMIT, "%s",
       err.text);
    ok(pack_writer_attr_text(writer, "/", "fine", "text", &err) == PACK_OK,
       "none of that is the end of the file");
    ok(pack_writer_attr_text(writer, "none", "x", "y", &err) == PACK_ERR_IO, "%s",
       err.text);
    ok(pack_writer_attr_text(writer, "/", "more", "text", &err) == PACK_ERR_IO,
       "but after what HDF5 refuses, nothing goes on: %s", err.text);
    ok(pack_writer_close(writer, &err) == PACK_ERR_IO, "and closing says so");
    enum pack_libver libver;
    ok(pack_libver_parse("v110", &libver, &err) == PACK_OK && libver == PACK_LIBVER_V110,
       "v110 is a version");
    ok(pack_libver_parse("v7", &libver, &err) == PACK_ERR_ARGUMENT, "%s", err.text);
}

/* Chunks lie where their numbers say, in a dataset that ends within some of them. */
static void
test_grid(void)
{
    enum { N = 5, H = 5, W = 7 };
    struct pack_writer_params params = { 0 };
    struct pack_writer *writer;
    struct pack_writer_dataset *set = NULL;
    struct pack_error err = { .text = "" };
    struct pack_writer_dataset_params how = {
        .type = PACK_INT32,
        .sample = { .rank = 2, .extent = { H, W } },
        .chunk = { .rank = 3, .extent = { 2, 3, 4 } },
    };
    int32_t chunk[2 * 3 * 4], got[N][H][W];
    unlink(path);
    pack_writer_open(path, &params, &writer, &err);
    bool good = pack_writer_dataset_create(writer, "a/x", &how, &set, &err) == PACK_OK;
    ok(good && pack_writer_chunk_bytes(set) == sizeof chunk &&
           pack_writer_chunk_count(set, 0) == 0 && pack_writer_chunk_count(set, 1) == 4 &&
           pack_writer_chunk_count(set, 2) == 4 && pack_writer_chunk_count(set, 3) == 8 &&
           pack_writer_chunk_count(set, N) == 12,
       "chunks are counted, those at an edge whole %s", err.text);
    for (uint64_t k = 0; good && k < 12; k++) {
        struct pack_stored stored = { chunk, sizeof chunk, 0 };
        uint64_t address = 0, n0 = k / 4 * 2, h0 = k / 2 % 2 * 3, w0 = k % 2 * 4;
        for (uint64_t i = 0; i < 24; i++)
            chunk[i] = (int32_t)((n0 + i / 12) * 100 + (h0 + i / 4 % 3) * 10 + w0 + i % 4);
        good = pack_writer_chunk(set, k, &stored, &address, &err) == PACK_OK && address > 0;
    }
    ok(good && pack_writer_dataset_extent(set, N, &err) == PACK_OK &&
           pack_writer_dataset_extent(set, N, &err) == PACK_OK,
       "all are written %s", err.text);
    ok(pack_writer_dataset_extent(set, N - 1, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "the dataset cannot shrink from 5 to 4 samples") == 0,
       "no sample is taken back: %s", err.text);
    ok(pack_writer_close(writer, &err) == PACK_OK, "the file is closed");
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t read = H5Dopen2(file, "a/x", H5P_DEFAULT);
    good = H5Dread(read, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0;
    int wrong = 0;
    for (int i = 0; i < N * H * W; i++)
        wrong += got[i / H / W][i / W % H][i % W] != i / H / W * 100 + i / W % H * 10 + i % W;
    ok(good && wrong == 0, "and has every number in its place");
    H5Dclose(read);
    H5Fclose(file);

    static const struct {
        struct pack_shape sample, chunk;
        const char *says;
    } bad[] = {
        { { 2, { 5, 7 } }, { 2, { 1, 5 } }, "chunk has 2 dimensions, dataset has 3" },
        { { 0, { 0 } }, { 2, { 1, 5 } }, "chunk has 2 dimensions, dataset has 1" },
        { { 2, { 5, 0 } }, { 3, { 1, 5, 7 } }, "dimension 2 is empty" },
        { { 2, { 5, 7 } }, { 3, { 0, 5, 7 } }, "dimension 0 is empty" },
        { { 2, { 5, 7 } }, { 3, { 1, 0, 7 } }, "dimension 1 is empty" },
        { { 2, { UINT64_MAX, 2 } }, { 3, { 1, 1, 1 } },
          "the dataset is more than 64 bits can count" },
        { { 1, { UINT64_MAX } }, { 2, { 1, UINT64_MAX } },
          "the dataset is more than 64 bits can count" },
    };
    unlink(path);
    pack_writer_open(path, &params, &writer, &err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        how.sample = bad[i].sample;
        how.chunk = bad[i].chunk;
        err.text[0] = '\0';
        pack_writer_dataset_create(writer, "x", &how, &set, &err);
        is_text(err.text, bad[i].says, "a shape that cannot be");
    }
    const struct pack_shape huge = { 2, { UINT64_MAX, 2 } };
    ok(pack_writer_array(writer, "y", PACK_UINT8, &huge, NULL, &err) == PACK_ERR_ARGUMENT &&
           strcmp(err.text, "the dataset is too large") == 0,
       "an array that cannot be: %s", err.text);
    pack_writer_close(writer, NULL);
}

/* Texts of fixed length over several blocks of memory, none, and one that is too long. */
static void
test_texts(void)
{
    enum { LONG = 3000, MANY = 1000, LIMIT = 65536 };
    static char words[MANY][LONG + 1], long_word[LIMIT + 2];
    const char *texts[MANY], *five[5] = { long_word, "", "", "", "" };
    struct pack_writer_params params = { 0 };
    struct pack_writer *writer;
    struct pack_error err = { .text = "" };
    for (int i = 0; i < MANY; i++) {
        memset(words[i], 'a' + i % 26, LONG);
        snprintf(words[i], 12, "%d", i);
        words[i][strlen(words[i])] = '-';
        words[i][LONG - i % 7] = '\0';
        texts[i] = words[i];
    }
    memset(long_word, 'x', LIMIT + 1);
    unlink(path);
    pack_writer_open(path, &params, &writer, &err);
    bool good = pack_writer_texts(writer, "many", texts, MANY, &err) == PACK_OK &&
                pack_writer_texts(writer, "none", texts, 0, &err) == PACK_OK &&
                pack_writer_texts(writer, "variable", five, 5, &err) == PACK_OK;
    long_word[LIMIT] = '\0';
    good = good && pack_writer_texts(writer, "fixed", five, 5, &err) == PACK_OK &&
           pack_writer_close(writer, &err) == PACK_OK;
    ok(good, "texts are written %s", err.text);
    char **back = NULL;
    uint64_t n = 0;
    int64_t file = -1;
    int wrong = 0;
    good = pack_h5_open(path, NULL, &file, &err) == PACK_OK &&
           pack_h5_read_texts(file, "many", MANY, &back, &n, &err) == PACK_OK && n == MANY;
    for (uint64_t i = 0; good && i < n; i++)
        wrong += strcmp(back[i], texts[i]) != 0;
    ok(good && wrong == 0, "a thousand long ones come back, block by block %s", err.text);
    pack_h5_texts_free(back, good ? n : 0);
    static const struct {
        const char *name;
        bool is_variable;
        size_t size;
    } kinds[] = { { "many", false, LONG }, { "none", false, 1 }, { "fixed", false, LIMIT },
                  { "variable", true, 0 } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hid_t set = H5Dopen2(file, kinds[i].name, H5P_DEFAULT), type = H5Dget_type(set);
        bool is_variable = H5Tis_variable_str(type) > 0;
        ok(is_variable == kinds[i].is_variable && H5Tget_cset(type) == H5T_CSET_UTF8 &&
               (is_variable || H5Tget_size(type) == kinds[i].size),
           "%s are of %s length", kinds[i].name, is_variable ? "any" : "one");
        H5Tclose(type);
        H5Dclose(set);
    }
    pack_h5_close(file);
}

/* Attributes at their limits, and what dimensions they have. */
static void
test_attributes(void)
{
    enum { MOST = 60000 };
    static char text[MOST + 1];
    static double numbers[MOST / 8 + 1];
    static const char *texts[MOST / 16 + 1];
    struct pack_writer_params params = { .libver = PACK_LIBVER_LATEST };
    struct pack_writer *writer;
    struct pack_error err = { .text = "" };
    memset(text, 'x', MOST);
    for (int i = 0; i <= MOST / 16; i++)
        texts[i] = "t";
    struct pack_writer_numbers many = { PACK_FLOAT64, MOST / 8 + 1, numbers, false },
                               one = { PACK_FLOAT64, 1, numbers, false },
                               scalar = { PACK_FLOAT64, 1, numbers, true },
                               two = { PACK_INT32, 2, numbers, true },
                               huge = { PACK_FLOAT64, UINT64_MAX, numbers, false };
    unlink(path);
    pack_writer_open(path, &params, &writer, &err);
    ok(pack_writer_attr_text(writer, "/", "text", text, &err) == PACK_ERR_LIMIT &&
           strcmp(err.text, "attribute 'text' of 60001 bytes is larger than 60000") == 0 &&
           (text[MOST - 1] = '\0',
            pack_writer_attr_text(writer, "/", "text", text, &err) == PACK_OK),
       "a text has 60000 bytes at most, with its end");
    ok(pack_writer_attr_numbers(writer, "/", "many", &many, &err) == PACK_ERR_LIMIT &&
           strcmp(err.text, "attribute 'many' of 60008 bytes is larger than 60000") == 0 &&
           pack_writer_attr_numbers(writer, "/", "huge", &huge, &err) == PACK_ERR_LIMIT &&
           (many.n--, pack_writer_attr_numbers(writer, "/", "many", &many, &err) == PACK_OK),
       "numbers are as many");
    ok(pack_writer_attr_texts(writer, "/", "texts", texts, MOST / 16 + 1, &err) ==
               PACK_ERR_LIMIT &&
           strcmp(err.text, "attribute 'texts' of 60016 bytes is larger than 60000") == 0 &&
           pack_writer_attr_texts(writer, "/", "texts", texts, MOST / 16, &err) == PACK_OK,
       "and texts");
    bool good = pack_writer_attr_numbers(writer, "/", "one", &one, &err) == PACK_OK &&
                pack_writer_attr_numbers(writer, "/", "scalar", &scalar, &err) == PACK_OK &&
                pack_writer_attr_numbers(writer, "/", "two", &two, &err) == PACK_OK &&
                pack_writer_close(writer, &err) == PACK_OK;
    static const struct {
        const char *name;
        int rank;
        hssize_t n;
    } shapes[] = { { "text", 0, 1 },   { "many", 1, MOST / 8 }, { "texts", 1, MOST / 16 },
                   { "one", 1, 1 },    { "scalar", 0, 1 },      { "two", 1, 2 } };
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    int wrong = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        hid_t attribute = H5Aopen(file, shapes[i].name, H5P_DEFAULT);
        hid_t space = H5Aget_space(attribute);
        wrong += H5Sget_simple_extent_ndims(space) != shapes[i].rank ||
                 H5Sget_simple_extent_npoints(space) != shapes[i].n;
        H5Sclose(space);
        H5Aclose(attribute);
    }
    H5Fclose(file);
    ok(good && wrong == 0, "each has its dimensions %s", err.text);
}

/* A file that is not what the journal speaks of is not touched. */
static void
test_wrong_address(void)
{
    struct pack_writer_params params = { 0 };
    struct pack_writer *writer;
    struct pack_writer_dataset *set;
    struct pack_error err = { .text = "" };
    struct pack_writer_dataset_params set_params = {
        .sample = { .rank = 1, .extent = { 4 } },
        .chunk = { .rank = 2, .extent = { 1, 4 } },
    };
    unlink(path);
    pack_writer_open(path, &params, &writer, &err);
    pack_writer_dataset_create(writer, "x", &set_params, &set, &err);
    ok(pack_writer_chunk_replayed(set, 0, 4, 0, 123456, &err) == PACK_ERR_CHANGED, "%s",
       err.text);
    pack_writer_abandon(writer);
    struct stat status;
    ok(stat(path, &status) == 0 && status.st_size < 123456, "nothing was written there");
}

/* What a longer attempt left behind the end is cut off. */
static void
test_longer(const struct job *job)
{
    struct pack_error err = { .text = "" };
    remove_all();
    bool good = run(path, job, &err) == PACK_OK && rename(path, want_path) == 0 &&
                run_killed(job, 40);
    FILE *f = fopen("test_writer.tmp.h5.part", "ab");
    for (int i = 0; f && i < 500000; i++)
        putc('x', f);
    if (f)
        fclose(f);
    good = good && f && run(path, job, &err) == PACK_OK;
    ok(good && same_files(path, want_path), "a part that is too long is cut %s", err.text);
}

/* A name that is taken, or leads elsewhere, and file systems without locks. */
static void
test_safety(void)
{
    static const int errnums[] = { ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL };
    struct pack_writer_params params = { .is_new = true }, resume = { .resume = true };
    struct pack_writer *writer;
    struct pack_error err = { .text = "" };
    struct stat st;
    for (size_t i = 0; i < sizeof errnums / sizeof *errnums; i++) {
        remove_all();
        lock_errno = errnums[i];
        enum pack_status status = pack_writer_open(path, &params, &writer, &err);
        lock_errno = 0;
        ok(status == PACK_OK, "locks that say '%s' are done without: %s",
           strerror(errnums[i]), err.text);
        if (status == PACK_OK)
            pack_writer_abandon(writer);
    }
    remove_all();
    FILE *f = fopen(path, "wb");
    fputs("precious", f);
    fclose(f);
    ok(pack_writer_open(path, &params, &writer, &err) == PACK_ERR_EXISTS &&
           stat(path, &st) == 0 && st.st_size == 8,
       "a file that came between is left alone: %s", err.text);
    ok(symlink(path, "test_writer.tmp.h5.part") == 0 &&
           pack_writer_open("test_writer.tmp.h5.part", &params, &writer, &err) !=
               PACK_OK &&
           pack_writer_open("test_writer.tmp.h5.part", &resume, &writer, &err) !=
               PACK_OK &&
           stat(path, &st) == 0 && st.st_size == 8,
       "a link is not followed: %s", err.text);
    unlink("test_writer.tmp.h5.part");
    ok(symlink("test_writer.none.h5", "test_writer.tmp.h5.part") == 0 &&
           pack_writer_open("test_writer.tmp.h5.part", &params, &writer, &err) !=
               PACK_OK &&
           access("test_writer.none.h5", F_OK) != 0,
       "nor one to nowhere: %s", err.text);
    remove_all();
}

int
main(int argc, char **argv)
{
    struct job job = { PACK_LIBVER_EARLIEST, "zstd:3+fletcher32", 41 };
    struct pack_error err;
    if (argc > 1) {
        if (run(argv[1], &job, &err) != PACK_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        return 0;
    }
    test_content(&job);
    for (int v = 0; v <= PACK_LIBVER_LATEST; v++) {
        const char *name = pack_libver_name((enum pack_libver)v);
        job.libver = (enum pack_libver)v;
        job.pipeline = v % 2 ? "none" : "shuffle+gzip:1";
        test_same_bytes(&job, name);
        test_killed(&job, name);
        test_full_disk(&job, name);
    }
    test_longer(&job);
    test_safety();
    test_large();
    test_refusals();
    test_grid();
    test_texts();
    test_attributes();
    test_wrong_address();
    remove_all();
    unlink(want_path);
    return done();
}
