/*
 * What can go wrong in the middle of packing: it is stopped at any image, its journal or
 * its partial file is damaged, sources change, the disk returns other bytes. Afterwards
 * there is the file of an undisturbed run, or none, and a sentence.
 */
#include "libpack/convert/convert_options.h"
#include "libpack/convert/convert_run.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "libpack/base/checksum.h"
#include "libpack/base/rng.h"
#include "libpack/convert/convert_run.h"
#include "tests/tap.h"

#define PART    "out.h5.part"
#define JOURNAL "out.h5.part.journal"

/* ------------------------------------------------------------------- files */

static const char *_Atomic unreadable; /* files whose path has it can be opened, not read */

ssize_t
pread(int fd, void *data, size_t size, off_t offset)
{
    const char *part = atomic_load(&unreadable);
    char link[64], path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (part && readlink(link, path, sizeof path - 1) > 0 && strstr(path, part)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, data, size, offset);
}

static _Atomic uint64_t late_ns, deflate_ns; /* what clocks are late by, and each deflate() more */

int
clock_gettime(clockid_t which, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, which, now);
    if (which == CLOCK_MONOTONIC)
        now->tv_sec += (time_t)(atomic_load(&late_ns) / 1000000000);
    return status;
}

int
deflate(z_stream *stream, int flush)
{
    static int (*real)(z_stream *, int);
    if (!real)
        real = (int (*)(z_stream *, int))dlsym(RTLD_NEXT, "deflate");
    atomic_fetch_add(&late_ns, atomic_load(&deflate_ns));
    return real(stream, flush);
}

static struct pack_buf
read_all(const char *path)
{
    struct pack_buf bytes = { 0 };
    char block[4096];
    size_t n;
    FILE *file = fopen(path, "rb");
    while (file && (n = fread(block, 1, sizeof block, file)) > 0)
        if (pack_buf_append(&bytes, block, n, NULL) != PACK_OK)
            abort();
    if (file)
        fclose(file);
    return bytes;
}

static struct pack_buf
copy_of(const struct pack_buf *bytes)
{
    struct pack_buf copy = { 0 };
    if (pack_buf_append(&copy, bytes->data, bytes->size, NULL) != PACK_OK)
        abort();
    return copy;
}

static void
write_all(const char *path, const struct pack_buf *bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes->data, 1, bytes->size, file) != bytes->size ||
        fclose(file) != 0)
        abort();
}

static bool
is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void
remove_outputs(void)
{
    unlink("out.h5");
    unlink(PART);
    unlink(JOURNAL);
}

/* --------------------------------------------------------------------- jobs */

/* A run, and what happens when `stage` has got to image `at`: `act`, or else a stop. */
struct job {
    struct pack_convert_params params;
    struct pack_convert_result result;
    struct pack_error err;
    const char *stage;
    uint64_t at;
    void (*act)(void);
    bool acted, stop, forecasts, compares;
    uint64_t chunk_samples; /* 0: 4 */
};

static struct pack_buf reference; /* the file of the undisturbed run, ... */
static uint64_t reference_stored; /* ... and the bytes of chunks that it told of */

static void
on_progress(void *context, const struct pack_progress *progress)
{
    struct job *job = context;
    if (job->acted || !job->stage || strcmp(job->stage, progress->stage) != 0 ||
        progress->done < job->at)
        return;
    job->acted = true;
    if (job->act)
        job->act();
    else
        job->stop = true;
}

static bool
is_stopped(void *context)
{
    const struct job *job = context;
    return job->stop;
}

/* 27 small images of 3 classes, rejects before, between and behind them. */
static enum pack_status
run(struct job *job)
{
    enum pack_status (*const convert)(const struct pack_convert_params *,
                                      struct pack_convert_result *, struct pack_error *) =
        job->forecasts  ? pack_convert_forecast
        : job->compares ? pack_convert_compare
                        : pack_convert;
    const char *folder = "photos";
    struct pack_source_params sp = { 0 };
    struct pack_source *source;
    enum pack_status status = pack_source_open(&folder, 1, &sp, &source, &job->err);
    if (status != PACK_OK)
        return status;
    job->params.source = source;
    job->params.output = "out.h5";
    job->params.version = "1";
    job->params.n_threads = 2;
    job->params.options.geometry.size_h = 20;
    job->params.options.geometry.size_w = 16;
    job->params.options.chunk_samples = job->chunk_samples ? job->chunk_samples : 4;
    /* Others leave bytes unused, which nobody writes: what damage put there would stay. */
    job->params.options.libver = PACK_LIBVER_EARLIEST;
    job->params.watch = (struct pack_watch){ job, on_progress, is_stopped };
    status = convert(&job->params, &job->result, &job->err);
    pack_source_close(source);
    return status;
}

static bool
is_reference(const char *path)
{
    struct pack_buf bytes = read_all(path);
    bool same = bytes.size == reference.size &&
                memcmp(bytes.data, reference.data, bytes.size) == 0;
    pack_buf_done(&bytes);
    return same;
}

/* Goes on to the end: true when the file is the undisturbed one and nothing else
 * stays. */
static bool
resumes(uint64_t *n_replayed)
{
    struct job job = { .params.resume = true };
    enum pack_status status = run(&job);
    if (n_replayed)
        *n_replayed = job.result.n_replayed;
    if (status != PACK_OK)
        note("%s", job.err.text);
    return status == PACK_OK && is_reference("out.h5") && !is_there(PART) &&
           !is_there(JOURNAL) && job.result.stored_bytes == reference_stored;
}

/* ----------------------------------------------------------------- forecast */

/* Headers tell what packing tells, but for what only the file has. */
static void
test_forecast(const struct pack_convert_result *packed)
{
    struct job job = { .forecasts = true };
    enum pack_status status = run(&job);
    const struct pack_convert_result *r = &job.result;
    ok(status == PACK_OK && r->n_listed == packed->n_listed &&
           r->n_packed == packed->n_packed && r->n_rejected == packed->n_rejected &&
           pack_shape_equal(&r->extent, &packed->extent) &&
           pack_shape_equal(&r->chunk, &packed->chunk) &&
           r->n_chunks == packed->n_chunks && r->pixel_bytes == packed->pixel_bytes &&
           r->stored_bytes == packed->stored_bytes && r->n_channels == packed->n_channels &&
           r->buffer_bytes == packed->buffer_bytes,
       "a forecast counts what is packed, and the memory for it: %s", job.err.text);
    ok(r->n_tried == packed->n_packed && r->forecast_ns > 0 && r->source_bytes > 0,
       "and tries the images: %d", (int)r->n_tried);
}

/* Each image is encoded as one was, on two threads: by a clock that deflate() sets a thousand
 * seconds on. */
static void
test_forecast_time(void)
{
    const uint64_t thousand_s = UINT64_C(1000000000000);
    struct job plain = { .forecasts = true }, coded = { .forecasts = true };
    if (pack_pipeline_parse("gzip:1", 1, &coded.params.options.pipeline, NULL))
        abort();
    atomic_store(&deflate_ns, thousand_s);
    bool good = run(&plain) == PACK_OK && run(&coded) == PACK_OK;
    atomic_store(&deflate_ns, 0);
    uint64_t encoding = thousand_s * 27 / 2, ns = coded.result.forecast_ns;
    ok(good && plain.result.forecast_ns < thousand_s && ns >= encoding &&
           ns < encoding + thousand_s,
       "a forecast has the time of encoding, where there is any: %d s and %d s",
       (int)(plain.result.forecast_ns / 1000000000), (int)(ns / 1000000000));
}

/* ------------------------------------------------------------------ compare */

/* Makes the labels of out.h5 numbers with a fraction, of the same values. */
static void
make_labels_float(uint64_t n)
{
    float values[32] = { 0 };
    hsize_t extent = n;
    hid_t file = H5Fopen("out.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t old = H5Dopen2(file, "labels", H5P_DEFAULT);
    if (n > 32 || H5Dread(old, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 ||
        H5Dclose(old) < 0 || H5Ldelete(file, "labels", H5P_DEFAULT) < 0)
        abort();
    hid_t set = H5Dcreate2(file, "labels", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT,
                           H5P_DEFAULT);
    if (H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 ||
        H5Dclose(set) < 0 || H5Sclose(space) < 0 || H5Fclose(file) < 0)
        abort();
}

static void
test_compare(const struct pack_convert_result *packed)
{
    struct job job = { .compares = true }, other = { .compares = true };
    enum pack_status status = run(&job);
    ok(status == PACK_OK && job.result.n_packed == packed->n_packed &&
           job.result.pixel_bytes == packed->pixel_bytes && packed->pixel_bytes > 0,
       "a file is compared with its images, all its bytes: %s", job.err.text);
    hid_t file = H5Fopen("out.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    ok(H5Aexists_by_name(file, "images", "DIMENSION_LABELS", H5P_DEFAULT) > 0,
       "what its dimensions are is stored with it");
    H5Fclose(file);
    make_labels_float(packed->n_packed);
    status = run(&other);
    ok(status == PACK_ERR_FORMAT && strstr(other.err.text, "'labels' is not of integers"),
       "labels with fractions are no labels: %s", other.err.text);
}

/* ----------------------------------------------------------------- stopping */

static void
test_stopped_anywhere(uint64_t n_records)
{
    int wrong = 0, kept = 0;
    for (uint64_t at = 1; at <= n_records; at++) {
        struct job job = { .stage = "packing", .at = at };
        uint64_t n_replayed;
        remove_outputs();
        enum pack_status status = run(&job);
        bool saved = job.result.n_saved > 0;
        kept += saved;
        wrong += status != PACK_ERR_INTERRUPTED || is_there("out.h5") ||
                 job.result.resumable != saved || is_there(PART) != saved ||
                 is_there(JOURNAL) != saved || job.result.n_saved > at;
        wrong += !resumes(&n_replayed) || n_replayed > job.result.n_saved ||
                 (saved && n_replayed == 0);
    }
    ok(wrong == 0 && kept > 4,
       "stopped at any of %d images, what is said to be saved is, "
       "and the file is the same",
       (int)n_records);
}

/* ----------------------------------------------------------------- damage */

struct word2 {
    uint32_t type, size;
    uint64_t checksum;
};

/* Where the first record is. */
static size_t
first_record(const struct pack_buf *journal)
{
    uint32_t identity;
    memcpy(&identity, journal->data + 20, sizeof identity);
    return 32 + ((identity + 7) & ~(size_t)7);
}

/* Makes the checksum of the record at `at` right. */
static void
seal(struct pack_buf *journal, size_t at)
{
    struct word2 head;
    memcpy(&head, journal->data + at, sizeof head);
    uint32_t words[2] = { head.type, head.size };
    head.checksum = pack_checksum(journal->data + at + sizeof head, head.size,
                                  pack_checksum(words, sizeof words, at));
    memcpy(journal->data + at, &head, sizeof head);
}

/* Changes one byte of a random record and makes its checksum right. */
static void
forge(struct pack_buf *journal, struct pack_rng *rng)
{
    struct word2 head;
    size_t first = first_record(journal), at = first, n = 0;
    for (; at + sizeof head <= journal->size; n++) {
        memcpy(&head, journal->data + at, sizeof head);
        at += sizeof head + ((head.size + 7) & ~(size_t)7);
    }
    at = first;
    for (uint64_t skip = n ? pack_rng_below(rng, n) : 0; skip > 0; skip--) {
        memcpy(&head, journal->data + at, sizeof head);
        at += sizeof head + ((head.size + 7) & ~(size_t)7);
    }
    memcpy(&head, journal->data + at, sizeof head);
    unsigned char *payload = journal->data + at + sizeof head;
    uint64_t place = pack_rng_below(rng, 3) ? pack_rng_below(rng, 16) : 0;
    if (pack_rng_below(rng, 2)) /* else the head of the block */
        place = pack_rng_below(rng, head.size);
    payload[place] = (unsigned char)pack_rng_next(rng);
    seal(journal, at);
}

/* Takes the last byte off the first chunk that the journal tells of. */
static void
shorten(struct pack_buf *journal, const struct pack_buf *part)
{
    struct word2 head;
    struct chunk_record chunk;
    size_t at = first_record(journal);
    memcpy(&head, journal->data + at, sizeof head);
    while (head.type != ENTRY_BLOCK) {
        at += sizeof head + ((head.size + 7) & ~(size_t)7);
        memcpy(&head, journal->data + at, sizeof head);
    }
    unsigned char *last = journal->data + at + sizeof head + head.size - sizeof chunk;
    memcpy(&chunk, last, sizeof chunk);
    chunk.stored_bytes--;
    chunk.stored_checksum = pack_checksum(part->data + chunk.address, chunk.stored_bytes, 0);
    memcpy(last, &chunk, sizeof chunk);
    seal(journal, at);
}

/* Something else happens to a journal or a partial file. */
static void
damage(struct pack_buf *bytes, struct pack_rng *rng)
{
    size_t at = pack_rng_below(rng, bytes->size);
    unsigned char garbage[64];
    switch (pack_rng_below(rng, 4)) {
    case 0: bytes->data[at] ^= (unsigned char)(1u << pack_rng_below(rng, 8)); break;
    case 1: bytes->size = at; break;
    case 2:
        for (size_t i = 0; i < sizeof garbage; i++)
            garbage[i] = (unsigned char)pack_rng_next(rng);
        pack_buf_append(bytes, garbage, pack_rng_below(rng, sizeof garbage), NULL);
        break;
    default: {
        size_t from = pack_rng_below(rng, bytes->size), last = at > from ? at : from;
        memmove(bytes->data + at, bytes->data + from,
                pack_rng_below(rng, bytes->size - last));
        break;
    }
    }
}

/* A run that was stopped in the middle, as it lies on the disk. */
static void
stop_in_the_middle(struct pack_buf *part, struct pack_buf *journal)
{
    struct job job = { .stage = "packing", .at = 20 };
    remove_outputs();
    run(&job);
    *part = read_all(PART);
    *journal = read_all(JOURNAL);
}

static void
test_damage(void)
{
    struct pack_buf part, journal;
    struct pack_rng rng;
    int wrong = 0, refused = 0, healed = 0;
    stop_in_the_middle(&part, &journal);
    pack_rng_seed(&rng, 1);
    for (int i = 0; i < 300; i++) {
        struct pack_buf bad_part = copy_of(&part), bad_journal = copy_of(&journal);
        damage(i % 3 ? &bad_journal : &bad_part, &rng);
        remove_outputs();
        write_all(PART, &bad_part);
        write_all(JOURNAL, &bad_journal);
        struct job job = { .params.resume = true };
        enum pack_status status = run(&job);
        if (status == PACK_OK) {
            healed++;
            wrong += !is_reference("out.h5");
        } else { /* the journal's head says whose it is: without it nothing is touched */
            refused++;
            wrong += (status != PACK_ERR_CHANGED && status != PACK_ERR_FORMAT) ||
                     job.result.resumable || is_there("out.h5") || !is_there(PART);
        }
        pack_buf_done(&bad_part);
        pack_buf_done(&bad_journal);
    }
    ok(wrong == 0 && healed > 200,
       "a damaged journal or partial file: %d times the same file, %d times refused",
       healed, refused);

    int wild = 0;
    for (int i = 0; i < 300; i++) {
        struct pack_buf forged = copy_of(&journal);
        forge(&forged, &rng);
        remove_outputs();
        write_all(PART, &part);
        write_all(JOURNAL, &forged);
        struct job job = { .params.resume = true, .params.verify = true };
        wild += run(&job) != PACK_OK;
        pack_buf_done(&forged);
    }
    ok(wild < 300, "a forged journal is survived: %d of 300 refused", wild);
    uint64_t n_replayed;
    remove_outputs();
    shorten(&journal, &part);
    write_all(PART, &part);
    write_all(JOURNAL, &journal);
    ok(resumes(&n_replayed) && n_replayed == 0,
       "a chunk of fewer bytes than its pixels is not taken over");
    pack_buf_done(&part);
    pack_buf_done(&journal);
}

/* A job whose chunks go through two filters. */
static struct job
filtered_job(void)
{
    struct job job = { .params.verify = true };
    if (pack_pipeline_parse("gzip:1+fletcher32", 1, &job.params.options.pipeline, NULL))
        abort();
    return job;
}

/* The last block of a journal says that its chunk went through the filters that are not in
 * `mask`, and holds a byte; and so it does. */
static void
forge_short(struct pack_buf *part, struct pack_buf *journal, uint32_t mask)
{
    struct pack_pipeline pipeline = { 0 };
    struct pack_filter_ctx *ctx;
    struct pack_stored stored;
    struct chunk_record chunk;
    struct word2 head;
    uint32_t identity;
    size_t block = 0;
    memcpy(&identity, journal->data + 20, sizeof identity);
    for (size_t at = 32 + padded(identity); at + sizeof head <= journal->size;
         at += sizeof head + padded(head.size)) {
        memcpy(&head, journal->data + at, sizeof head);
        block = head.type == ENTRY_BLOCK ? at : block;
    }
    pack_pipeline_parse(mask ? "fletcher32" : "gzip:1+fletcher32", 1, &pipeline, NULL);
    if (!block || pack_filter_ctx_new(&ctx, NULL) != PACK_OK ||
        pack_pipeline_encode(&pipeline, ctx, "x", 1, &stored, NULL) != PACK_OK)
        abort();
    memcpy(&head, journal->data + block, sizeof head);
    unsigned char *payload = journal->data + block + sizeof head,
                  *last = payload + head.size - sizeof chunk;
    memcpy(&chunk, last, sizeof chunk);
    memcpy(part->data + chunk.address, stored.data, stored.size);
    chunk.stored_bytes = stored.size;
    chunk.stored_checksum = pack_checksum(stored.data, stored.size, 0);
    chunk.filter_mask = mask;
    memcpy(last, &chunk, sizeof chunk);
    uint32_t words[2] = { head.type, head.size };
    head.checksum =
        pack_checksum(payload, head.size, pack_checksum(words, sizeof words, block));
    memcpy(journal->data + block, &head, sizeof head);
    pack_filter_ctx_free(ctx);
}

/* HDF5 would read a whole chunk where there is a byte. */
static void
test_short_chunks(void)
{
    struct job whole = filtered_job();
    remove_outputs();
    enum pack_status status = run(&whole);
    struct pack_buf want = read_all("out.h5");
    ok(status == PACK_OK, "chunks go through two filters");
    for (uint32_t mask = 0; mask < 2; mask++) {
        struct job stopped = filtered_job(), resumed = filtered_job();
        remove_outputs();
        stopped.stage = "packing";
        stopped.at = 20;
        run(&stopped);
        struct pack_buf part = read_all(PART), journal = read_all(JOURNAL);
        forge_short(&part, &journal, mask);
        write_all(PART, &part);
        write_all(JOURNAL, &journal);
        resumed.params.resume = true;
        status = run(&resumed);
        struct pack_buf got = read_all("out.h5");
        ok(status == PACK_OK && resumed.result.n_replayed > 0 &&
               resumed.result.n_replayed < stopped.result.n_saved &&
               got.size == want.size && memcmp(got.data, want.data, got.size) == 0,
           "a forged chunk that decodes to a byte, %s, is packed again: %s",
           mask ? "a filter being skipped" : "all filters used", resumed.err.text);
        pack_buf_done(&part);
        pack_buf_done(&journal);
        pack_buf_done(&got);
    }
    pack_buf_done(&want);
    remove_outputs();
}

/* -------------------------------------------------------- sources that change */

static char victim[256]; /* the third image */

static void
remove_victim(void)
{
    rename(victim, "saved");
}

static void
test_sources(void)
{
    struct job job = { .stage = "packing", .at = 20 };
    struct stat st;
    remove_outputs();
    run(&job);
    remove_victim();
    ok(resumes(NULL), "an image that was packed and is gone stays packed");
    rename("saved", victim);
    job = (struct job){ .stage = "packing", .at = 20 };
    remove_outputs();
    run(&job);
    stat(victim, &st);
    utimensat(AT_FDCWD, victim,
              (struct timespec[2]){ st.st_atim, { .tv_sec = st.st_mtim.tv_sec + 1 } }, 0);
    struct job changed = { .params.resume = true };
    ok(run(&changed) == PACK_ERR_CHANGED && !changed.result.resumable && is_there(PART) &&
           strstr(changed.err.text, victim) && strcmp(changed.err.param, "force") == 0,
       "an image that changed: %s", changed.err.text);
    struct job other = { .params.resume = true, .params.options.image.strict = true };
    ok(run(&other) == PACK_ERR_CHANGED && !other.result.resumable && is_there(PART) &&
           strstr(other.err.text, "other options"),
       "other options: %s", other.err.text);
    utimensat(AT_FDCWD, victim, (struct timespec[2]){ st.st_atim, st.st_mtim }, 0);
    rename("photos/zebra/98.jpg", "photos/zebra/97.jpg");
    struct job renamed = { .params.resume = true };
    ok(run(&renamed) == PACK_OK && is_reference("out.h5") &&
           renamed.result.n_rejected == 5 && renamed.result.additions.n_left_out == 1,
       "an image that was renamed before is gone, and its new name left out");
    rename("photos/zebra/97.jpg", "photos/zebra/98.jpg");

    job = (struct job){ .stage = "packing", .at = 20 };
    remove_outputs();
    run(&job);
    rename("photos", "away");
    mkdir("photos", 0777);
    rename("away/bee", "photos/wasp");
    struct job others = { .params.resume = true };
    ok(run(&others) == PACK_ERR_CHANGED && !others.result.resumable && is_there(PART) &&
           strstr(others.err.text, "other images"),
       "other images: %s", others.err.text);
    rename("photos/wasp", "away/bee");
    rmdir("photos");
    rename("away", "photos");
    ok(resumes(NULL), "with the images as they were the run goes on");
}

static void
remove_last(void)
{
    rename("photos/zebra/26.png", "saved");
}

static void
test_gone_while_packing(void)
{
    struct job job = { .stage = "packing", .at = 4, .act = remove_last };
    remove_outputs();
    enum pack_status status = run(&job);
    ok(status == PACK_OK && job.result.n_packed == 26 && job.result.n_rejected == 6,
       "an image that vanishes before it is read is a reject, as a later one was read");
    rename("saved", "photos/zebra/26.png");
}

/* ---------------------------------------------- files that open and do not read */

static void
break_disk(void)
{
    atomic_store(&unreadable, "/photos/");
}

static void
test_unreadable(void)
{
    struct job broken = { .stage = "packing", .at = 16, .act = break_disk };
    remove_outputs();
    enum pack_status status = run(&broken);
    atomic_store(&unreadable, NULL);
    ok(status == PACK_ERR_IO && broken.result.resumable && !is_there("out.h5") &&
           strstr(broken.err.text, "in a row cannot be read"),
       "a disk that is read no more near the end: %s", broken.err.text);
    ok(resumes(NULL), "once it is, the run goes on");

    struct job bad = { .stage = "packing", .at = 20 };
    struct stat st;
    remove_outputs();
    atomic_store(&unreadable, victim);
    run(&bad);
    atomic_store(&unreadable, NULL);
    stat(victim, &st);
    utimensat(AT_FDCWD, victim,
              (struct timespec[2]){ st.st_atim, { .tv_sec = st.st_mtim.tv_sec + 1 } }, 0);
    struct job mended = { .params.resume = true };
    status = run(&mended);
    ok(status == PACK_OK && bad.result.n_rejected == 4 && mended.result.n_rejected == 6 &&
           mended.result.n_packed == 26,
       "an image that could not be read may be another afterwards%s",
       status ? mended.err.text : "");
    utimensat(AT_FDCWD, victim, (struct timespec[2]){ st.st_atim, st.st_mtim }, 0);
}

/* ------------------------------------------------------------------- the end */

static void
take_name(void)
{
    close(open("out.h5", O_CREAT | O_WRONLY, 0666));
}

/* Turns a bit in the middle of the partial file, which is pixels. */
static void
flip_bit(void)
{
    int fd = open(PART, O_RDWR);
    unsigned char byte;
    off_t at = lseek(fd, 0, SEEK_END) / 2;
    if (pread(fd, &byte, 1, at) != 1)
        abort();
    byte ^= 4;
    if (pwrite(fd, &byte, 1, at) != 1)
        abort();
    close(fd);
}

static void
test_end(void)
{
    struct job taken = { .stage = "packing", .at = 8, .act = take_name };
    struct stat st;
    remove_outputs();
    enum pack_status status = run(&taken);
    ok(status == PACK_ERR_EXISTS && taken.result.resumable &&
           taken.result.n_saved == taken.result.n_listed && stat("out.h5", &st) == 0 &&
           st.st_size == 0,
       "a file that turns up under the name is not replaced: %s", taken.err.text);
    unlink("out.h5");
    ok(resumes(NULL), "once it is gone, what was packed gets the name");

    struct job forced = { .stage = "packing", .at = 20, .params.force = true };
    take_name();
    run(&forced);
    struct job again = { .params.force = true, .params.resume = true };
    ok(run(&again) == PACK_OK && again.result.n_replayed > 0 && is_reference("out.h5"),
       "a run that replaces a file is resumed as it was begun, with force");

    struct job flipped = {
        .stage = "verifying", .at = 1, .act = flip_bit, .params.verify = true
    };
    remove_outputs();
    status = run(&flipped);
    ok(status == PACK_ERR_MISMATCH && flipped.result.resumable && !is_there("out.h5"),
       "a bit that turned on the disk: %s", flipped.err.text);
    ok(resumes(NULL), "resuming packs again what it hit");
}

/* ------------------------------------------------------- fields of the journal */

/* Where the first entry of a type is; 0: there is none. */
static size_t
find_entry(const struct pack_buf *journal, uint32_t type)
{
    struct word2 head;
    for (size_t at = first_record(journal); at + sizeof head <= journal->size;
         at += sizeof head + padded(head.size)) {
        memcpy(&head, journal->data + at, sizeof head);
        if (head.type == type)
            return at;
    }
    return 0;
}

/* Appends an entry as it would be, had it been written last. */
static void
append_entry(struct pack_buf *journal, uint32_t type, const void *payload, uint32_t size)
{
    static const unsigned char zeros[8];
    struct word2 head = { type, size, 0 };
    size_t at = journal->size;
    if (pack_buf_append(journal, &head, sizeof head, NULL) != PACK_OK ||
        pack_buf_append(journal, payload, size, NULL) != PACK_OK ||
        pack_buf_append(journal, zeros, padded(size) - size, NULL) != PACK_OK)
        abort();
    seal(journal, at);
}

/* What comes of a journal and its part: the undisturbed file, `from` images of which were
 * taken over at least and `to` at most; or, with `says`, that sentence. */
static bool
comes_to(const struct pack_buf *part, const struct pack_buf *journal, uint64_t from,
         uint64_t to, const char *says)
{
    struct job job = { .params.resume = true };
    remove_outputs();
    write_all(PART, part);
    write_all(JOURNAL, journal);
    enum pack_status status = run(&job);
    uint64_t n = job.result.n_replayed;
    bool right = says ? status != PACK_OK && strstr(job.err.text, says) &&
                            !is_there("out.h5") && is_there(PART)
                      : status == PACK_OK && is_reference("out.h5") && n >= from && n <= to;
    if (!right)
        note("%d replayed, status %d: %s", (int)n, (int)status, job.err.text);
    return right;
}

/* A field of an entry's payload becomes another, sealed; see comes_to(). */
static void
test_field(const struct pack_buf *part, const struct pack_buf *journal, uint32_t type,
           size_t offset, size_t size, uint64_t value, uint64_t from, uint64_t to,
           const char *says, const char *what)
{
    struct pack_buf forged = copy_of(journal);
    size_t at = find_entry(&forged, type);
    memcpy(forged.data + at + sizeof(struct word2) + offset, &value, size);
    seal(&forged, at);
    ok(at && comes_to(part, &forged, from, to, says), "a journal %s", what);
    pack_buf_done(&forged);
}

static void
test_fields(void)
{
    struct pack_buf part, journal;
    stop_in_the_middle(&part, &journal);
    static const struct {
        uint32_t type;
        size_t offset, size;
        uint64_t value;
        bool starts_over;
        const char *says, *what;
    } fields[] = {
        { ENTRY_LIST, offsetof(struct list_head, n_rows), 8, 0, true, NULL,
          "of a list of no images is not gone on with" },
        { ENTRY_LIST, offsetof(struct list_head, n_rows), 8, 33, true, NULL,
          "whose list is not whole is not gone on with" },
        { ENTRY_LIST, offsetof(struct list_head, digest), 8, 1, false,
          "its list of images is not as it was stored", "of another list is refused" },
        { ENTRY_LIST, offsetof(struct list_head, seed), 8, 9, false, NULL,
          "may have a seed where nothing is shuffled" },
        { ENTRY_LIST, offsetof(struct list_head, chunk_samples), 8, 0, true, NULL,
          "of chunks of no image is not gone on with" },
        { ENTRY_LIST, offsetof(struct list_head, out_h), 4, 0, true, NULL,
          "of images of no height is not gone on with" },
        { ENTRY_LIST, offsetof(struct list_head, out_w), 4, 0, true, NULL,
          "of images of no width is not gone on with" },
        { ENTRY_LIST, offsetof(struct list_head, out_h), 8, UINT64_MAX, true, NULL,
          "of images larger than any is not gone on with" },
        { ENTRY_ROWS, offsetof(struct rows_head, first), 8, 1, true, NULL,
          "that lacks the first row is not gone on with" },
        { ENTRY_ROWS, offsetof(struct rows_head, n), 8, 31, true, NULL,
          "that counts a row less is not gone on with" },
        { ENTRY_ROWS, offsetof(struct rows_head, n), 8, UINT64_MAX, true, NULL,
          "that counts more rows than bytes is not gone on with" },
        { ENTRY_BLOCK, offsetof(struct block_head, number), 8, 1, true, NULL,
          "without its first block starts over" },
        { ENTRY_BLOCK, offsetof(struct block_head, n_records), 4, 5, true, NULL,
          "of a block that counts a record less starts over" },
        { ENTRY_BLOCK, offsetof(struct block_head, n_records), 4, UINT32_MAX, true, NULL,
          "of a block that counts more records than bytes starts over" },
        { ENTRY_BLOCK, offsetof(struct block_head, n_chunks), 4, 0, true, NULL,
          "of a block without chunks starts over" },
        { ENTRY_BLOCK, offsetof(struct block_head, n_chunks), 4, UINT32_MAX, true, NULL,
          "of a block with more chunks than bytes starts over" },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        test_field(&part, &journal, fields[i].type, fields[i].offset, fields[i].size,
                   fields[i].value, fields[i].starts_over ? 0 : 1,
                   fields[i].starts_over ? 0 : 32, fields[i].says, fields[i].what);
    pack_buf_done(&part);
    pack_buf_done(&journal);
}

/* An HDF5 that puts chunks elsewhere than that of the run before; here it is the journal that
 * says so of the first one, with the checksum of what is there. */
static void
test_moved_chunk(void)
{
    struct pack_buf part, journal;
    struct word2 head;
    struct chunk_record chunk;
    stop_in_the_middle(&part, &journal);
    size_t at = find_entry(&journal, ENTRY_BLOCK);
    memcpy(&head, journal.data + at, sizeof head);
    unsigned char *place = journal.data + at + sizeof head + head.size - sizeof chunk;
    memcpy(&chunk, place, sizeof chunk);
    chunk.address += 8;
    chunk.stored_checksum = pack_checksum(part.data + chunk.address, chunk.stored_bytes, 0);
    memcpy(place, &chunk, sizeof chunk);
    seal(&journal, at);
    struct job job = { .params.resume = true };
    remove_outputs();
    write_all(PART, &part);
    write_all(JOURNAL, &journal);
    enum pack_status status = run(&job);
    ok(status == PACK_ERR_CHANGED && !job.result.resumable && job.err.param &&
           strcmp(job.err.param, "force") == 0 && is_there(PART) && is_there(JOURNAL),
       "a run whose chunks would go elsewhere cannot go on, now or later: %s",
       job.err.text);
    remove_outputs();
    pack_buf_done(&part);
    pack_buf_done(&journal);
}

/* What comes behind the blocks is of no use, and does no harm to them. */
static void
test_strange_entries(void)
{
    struct pack_buf part, journal;
    struct word2 head;
    stop_in_the_middle(&part, &journal);
    size_t list = find_entry(&journal, ENTRY_LIST), rows = find_entry(&journal, ENTRY_ROWS);
    struct range_entry backwards = { true, 9, 3 };
    const struct {
        uint32_t type;
        size_t copied; /* an entry; 0: `payload` */
        const void *payload;
        uint32_t size;
        const char *what;
    } entries[] = {
        { ENTRY_LIST, list, NULL, 0, "a second list" },
        { ENTRY_LIST, 0, "1234567", 8, "a list of eight bytes" },
        { ENTRY_ROWS, rows, NULL, 0, "the rows once more" },
        { ENTRY_ROWS, 0, "1234567", 8, "rows of eight bytes" },
        { ENTRY_RANGE, 0, &backwards, sizeof backwards, "a range that ends before it begins" },
        { ENTRY_RANGE, 0, &backwards, 4, "a range of four bytes" },
        { ENTRY_BLOCK, 0, "1234567", 8, "a block of eight bytes" },
        { 77, 0, "1234567", 8, "an entry of no known kind" },
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct pack_buf strange = copy_of(&journal);
        const void *payload = entries[i].payload;
        uint32_t size = entries[i].size;
        if (entries[i].copied) {
            memcpy(&head, journal.data + entries[i].copied, sizeof head);
            payload = journal.data + entries[i].copied + sizeof head;
            size = head.size;
        }
        append_entry(&strange, entries[i].type, payload, size);
        ok(comes_to(&part, &strange, 1, 32, NULL), "%s behind the blocks does no harm",
           entries[i].what);
        pack_buf_done(&strange);
    }
    pack_buf_done(&part);
    pack_buf_done(&journal);
}

/* The entries of a journal once more; of those of `type` there are `n`, of this payload where
 * one is given. */
static struct pack_buf
rebuilt(const struct pack_buf *journal, uint32_t type, int n, const void *payload,
        uint32_t size)
{
    struct pack_buf again = copy_of(journal);
    struct word2 head;
    again.size = first_record(journal);
    for (size_t at = again.size; at + sizeof head <= journal->size;
         at += sizeof head + padded(head.size)) {
        memcpy(&head, journal->data + at, sizeof head);
        bool is_other = head.type == type;
        for (int i = 0; i < (is_other ? n : 1); i++)
            append_entry(&again, head.type,
                         is_other && payload ? payload : journal->data + at + sizeof head,
                         is_other && payload ? size : head.size);
    }
    return again;
}

/* Blocks go on from the range of 16-bit samples that was found before them, or not at all. */
static void
test_ranges(void)
{
    static const struct range_entry as_found = { false, 0, 0 }, narrow = { false, 5, 5 },
                                    backwards = { true, 9, 3 }, longer[2] = { { 0 } };
    static const struct {
        const char *what;
        int n;
        const void *payload;
        uint32_t size;
        bool goes_on;
    } cases[] = {
        { "its range", 1, NULL, 0, true },
        { "the same range, put down again", 1, &as_found, sizeof as_found, true },
        { "a range of one value", 1, &narrow, sizeof narrow, true },
        { "no range", 0, NULL, 0, false },
        { "two ranges", 2, NULL, 0, false },
        { "a range that ends before it begins", 1, &backwards, sizeof backwards, false },
        { "a range cut short", 1, &as_found, sizeof as_found - 1, false },
        { "a range of a byte more", 1, longer, sizeof as_found + 1, false },
        { "a range of twice the size", 1, longer, sizeof longer, false },
    };
    struct job whole = { .params.options.finds_range_16 = true };
    remove_outputs();
    bool packed = run(&whole) == PACK_OK;
    struct pack_buf want = read_all("out.h5");
    struct job stopped = { .params.options.finds_range_16 = true, .stage = "packing", .at = 20 };
    remove_outputs();
    run(&stopped);
    struct pack_buf part = read_all(PART), journal = read_all(JOURNAL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_buf other = rebuilt(&journal, ENTRY_RANGE, cases[i].n, cases[i].payload,
                                        cases[i].size);
        struct job job = { .params.options.finds_range_16 = true, .params.resume = true };
        remove_outputs();
        write_all(PART, &part);
        write_all(JOURNAL, &other);
        enum pack_status status = run(&job);
        struct pack_buf got = read_all("out.h5");
        ok(packed && status == PACK_OK && (job.result.n_replayed > 0) == cases[i].goes_on &&
               got.size == want.size && memcmp(got.data, want.data, got.size) == 0,
           "a journal with %s is %sgone on with: %d taken over %s", cases[i].what,
           cases[i].goes_on ? "" : "not ", (int)job.result.n_replayed, job.err.text);
        pack_buf_done(&got);
        pack_buf_done(&other);
    }
    pack_buf_done(&want);
    pack_buf_done(&part);
    pack_buf_done(&journal);
    remove_outputs();
}

/* 27 images are three blocks of 9, and there are rejects behind them. */
static void
test_rejects_behind(void)
{
    struct job whole = { .chunk_samples = 9 };
    remove_outputs();
    bool packed = run(&whole) == PACK_OK;
    struct pack_buf want = read_all("out.h5");
    struct job taken = { .chunk_samples = 9, .stage = "packing", .at = 8, .act = take_name };
    remove_outputs();
    packed = packed && run(&taken) == PACK_ERR_EXISTS;
    unlink("out.h5");
    struct job resumed = { .chunk_samples = 9, .params.resume = true };
    enum pack_status status = run(&resumed);
    struct pack_buf got = read_all("out.h5");
    ok(packed && status == PACK_OK && resumed.result.n_replayed == 27 &&
           resumed.result.n_rejected == 5 && resumed.result.n_saved == 32 &&
           resumed.result.source_bytes == 0 && got.size == want.size &&
           memcmp(got.data, want.data, got.size) == 0,
       "rejects behind the last whole block are taken over, too: %s", resumed.err.text);
    pack_buf_done(&got);
    pack_buf_done(&want);
    remove_outputs();
}

/* ------------------------------------------------------------------ options */

static void
random_options(struct pack_rng *rng, struct pack_convert_options *o)
{
    static const char *const pipelines[] = { "none", "gzip:1", "zstd:19" };
    bool shaped = pack_rng_below(rng, 2);
    *o = (struct pack_convert_options){
        .image = { .mode = (enum pack_image_mode)pack_rng_below(rng, 2),
                   .ignore_orientation = pack_rng_below(rng, 2),
                   .strict = pack_rng_below(rng, 2),
                   .max_pixels = 1 + pack_rng_below(rng, UINT64_C(1) << 40) },
        .max_file_bytes = 1 + pack_rng_below(rng, UINT64_C(1) << 40),
        .layout = (enum pack_pixel_layout)pack_rng_below(rng, 2),
        .goal = (enum pack_chunk_goal)pack_rng_below(rng, 2),
        .libver = (enum pack_libver)pack_rng_below(rng, 4),
        .on_error = (enum pack_on_error)pack_rng_below(rng, 3),
        .limit = pack_rng_below(rng, 2) * pack_rng_below(rng, INT64_MAX),
    };
    if (pack_rng_below(rng, 2)) {
        o->image.has_background = true;
        for (int i = 0; i < 3; i++)
            o->image.background[i] = (uint8_t)pack_rng_next(rng);
    }
    if (pack_rng_below(rng, 2))
        o->chunk_samples = pack_rng_below(rng, INT64_MAX);
    else if (shaped)
        o->chunk = (struct pack_shape){ 4, { 1 + pack_rng_below(rng, 1000), 2, 3, 1 } };
    if ((o->shuffle = pack_rng_below(rng, 2)))
        o->seed = pack_rng_next(rng);
    struct pack_geometry *g = &o->geometry;
    g->filter = (enum pack_resample_filter)pack_rng_below(rng, 6);
    switch (pack_rng_below(rng, 3)) {
    case 0: g->filter = 0; break; /* means nothing without a size */
    case 1:
        g->size_h = 1 + (uint32_t)pack_rng_below(rng, PACK_GEOMETRY_MAX);
        g->size_w = 1 + (uint32_t)pack_rng_below(rng, PACK_GEOMETRY_MAX);
        g->fit = (enum pack_fit)pack_rng_below(rng, 3);
        break;
    default:
        g->shorter = 1 + (uint32_t)pack_rng_below(rng, PACK_GEOMETRY_MAX);
        g->crop_h = 1 + (uint32_t)pack_rng_below(rng, PACK_GEOMETRY_MAX);
        g->crop_w = 1 + (uint32_t)pack_rng_below(rng, PACK_GEOMETRY_MAX);
    }
    if (pack_pipeline_parse(pipelines[pack_rng_below(rng, 3)], 1, &o->pipeline, NULL) !=
        PACK_OK)
        abort();
}

static bool
same_options(const struct pack_convert_options *a, const struct pack_convert_options *b)
{
    return a->image.mode == b->image.mode &&
           a->image.ignore_orientation == b->image.ignore_orientation &&
           a->image.strict == b->image.strict &&
           a->image.max_pixels == b->image.max_pixels &&
           a->max_file_bytes == b->max_file_bytes &&
           a->image.has_background == b->image.has_background &&
           memcmp(a->image.background, b->image.background, 3) == 0 &&
           memcmp(&a->geometry, &b->geometry, sizeof a->geometry) == 0 &&
           a->layout == b->layout && a->goal == b->goal && a->libver == b->libver &&
           a->on_error == b->on_error && a->limit == b->limit &&
           a->shuffle == b->shuffle && a->seed == b->seed &&
           a->chunk_samples == b->chunk_samples && pack_shape_equal(&a->chunk, &b->chunk);
}

/* Every value, one after the other, is made another's: none is passed over in silence. */
static void
test_bad_values(void)
{
    static const char text[] =
        "{\"mode\": \"gray\", \"layout\": \"nchw\", \"size\": \"20x30\", \"fit\": \"pad\", "
        "\"shorter\": 20, \"crop\": \"4x5\", \"resample\": \"box\", \"draft\": true, "
        "\"exif_orientation\": true, \"background\": \"#010203\", \"scale16\": \"1:2\", "
        "\"strict\": true, \"max_pixels\": 7, \"max_file_bytes\": 8, \"for\": \"shuffle\", "
        "\"compress\": \"gzip:1\", \"libver\": \"v18\", \"on_error\": \"blank\", "
        "\"shuffle\": true, \"seed\": 9, \"limit\": 10, \"chunk\": \"3x4x5x1\"}";
    static const char *const strange[] = { "\"x\"", "-1", "1.5", "null", "[1]", "\"0x5\"" };
    struct pack_convert_options o;
    struct pack_error err = { 0 };
    int wrong = pack_convert_options_parse(text, &o, &err) != PACK_OK, n = 0;
    for (const char *at = text; (at = strstr(at, "\": ")); at += 3)
        for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
            char changed[1024], want[64];
            const char *key = at, *end = at + 3 + strcspn(at + 3, ",}");
            while (key[-1] != '"')
                key--;
            if (strncmp(key, "chunk", 5) == 0 && (i == 3 || i == 4))
                continue; /* neither text nor number: automatic */
            snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at + 3 - text), text,
                     strange[i], end);
            snprintf(want, sizeof want, "bad '%.*s'", (int)(at - key), key);
            n++;
            if (pack_convert_options_parse(changed, &o, &err) != PACK_ERR_FORMAT ||
                !strstr(err.text, want)) {
                wrong++;
                note("%s: %s", changed, err.text);
            }
        }
    ok(wrong == 0 && n > 100, "a value that cannot be is refused by its name, %d of them", n);
    struct pack_writer_params wp = { .is_new = true };
    struct pack_writer *writer;
    if (pack_writer_open("other.h5", &wp, &writer, NULL) != PACK_OK ||
        pack_writer_attr_text(writer, "/", "h5pack_options", "{}", NULL) != PACK_OK ||
        pack_writer_close(writer, NULL) != PACK_OK)
        abort();
    ok(pack_convert_options_read("other.h5", &o, &err) == PACK_ERR_FORMAT &&
           strncmp(err.text, "'other.h5': ", 12) == 0,
       "the file that has it is named: %s", err.text);
}

/* What h5pack_options keeps is what the file was made with. */
static void
test_options(void)
{
    struct pack_rng rng;
    int wrong = 0, survived = 0;
    pack_rng_seed(&rng, 2);
    for (int i = 0; i < 500; i++) {
        struct pack_convert_options o, back;
        struct pack_buf text = { 0 }, again = { 0 };
        struct pack_error err = { 0 };
        random_options(&rng, &o);
        if (pack_convert_options_text(&o, &text, NULL) != PACK_OK ||
            pack_convert_options_parse((const char *)text.data, &back, &err) != PACK_OK ||
            !same_options(&o, &back) ||
            pack_convert_options_text(&back, &again, NULL) != PACK_OK ||
            strcmp((const char *)text.data, (const char *)again.data) != 0) {
            if (!wrong++)
                note("%s: %s", err.text, (const char *)text.data);
        }
        text.data[pack_rng_below(&rng, text.size)] = (unsigned char)pack_rng_next(&rng);
        survived +=
            pack_convert_options_parse((const char *)text.data, &back, NULL) != PACK_OK;
        pack_buf_done(&text);
        pack_buf_done(&again);
    }
    ok(wrong == 0, "options are stored as text and read back");
    test_bad_values();
    ok(survived > 0, "damaged texts are refused: %d of 500", survived);
    const struct {
        enum pack_chunk_goal goal;
        uint64_t sample_bytes, n;
    } chunks[] = {
        { PACK_CHUNK_FOR_SHUFFLE, 1, 65535 },
        { PACK_CHUNK_FOR_SHUFFLE, 32767, 2 },
        { PACK_CHUNK_FOR_SHUFFLE, 32768, 1 },
        { PACK_CHUNK_FOR_SHUFFLE, 65536, 1 },
        { PACK_CHUNK_FOR_SHUFFLE, 1 << 30, 1 },
        { PACK_CHUNK_FOR_BLOCK_SHUFFLE, 1 << 19, 2 },
        { PACK_CHUNK_FOR_BLOCK_SHUFFLE, (1 << 19) + 1, 1 },
        { PACK_CHUNK_FOR_BLOCK_SHUFFLE, 1 << 21, 1 },
    };
    wrong = 0;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
        wrong += pack_convert_chunk_samples(chunks[i].goal, chunks[i].sample_bytes) !=
                 chunks[i].n;
    ok(wrong == 0, "automatic chunks stay under 64 KiB, or within 1 MiB");
}

int
main(void)
{
    char folder[] = "/tmp/h5pack-test.XXXXXX";
    const char *build = getenv("top_builddir");
    char command[4096];
    snprintf(command, sizeof command,
             "set -e; '%s/tests/render_samples' made 27 3 32; i=10; mkdir -p photos/ant "
             "photos/bee photos/zebra; for f in made/*/*; do c=ant; [ $i -lt 19 ] || "
             "c=bee; [ $i -lt 26 ] || c=zebra; mv $f photos/$c/$i.png; i=$((i + 1)); "
             "done; for r in ant/00 ant/01 bee/22a zebra/99 zebra/98; do echo no >"
             "photos/$r.jpg; done",
             build ? build : ".");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 99;
    if (system(command) != 0) {
        printf("1..0 # SKIP no images can be rendered\n");
        return 0;
    }
    snprintf(victim, sizeof victim, "photos/ant/12.png");
    struct job job = { 0 };
    enum pack_status status = run(&job);
    reference = read_all("out.h5");
    reference_stored = job.result.stored_bytes;
    struct pack_convert_result packed = job.result;
    ok(status == PACK_OK && job.result.n_packed == 27 && job.result.n_rejected == 5 &&
           job.result.n_saved == 32 && !is_there(PART),
       "an undisturbed run packs 27 images and rejects 5");
    test_forecast(&packed);
    test_forecast_time();
    test_compare(&packed);
    test_stopped_anywhere(job.result.n_listed);
    test_damage();
    test_short_chunks();
    test_sources();
    test_gone_while_packing();
    test_unreadable();
    test_end();
    test_fields();
    test_moved_chunk();
    test_strange_entries();
    test_ranges();
    test_rejects_behind();
    test_options();
    pack_buf_done(&reference);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        note("'%s' stays", folder);
    return done();
}
