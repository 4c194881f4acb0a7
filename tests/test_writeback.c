/*
 * What is written is brought to the disk meanwhile: which stretches the system is asked
 * for, and what becomes of its answers. This program brings its own sync_file_range(), to
 * which libpack's resolve.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "config.h"
#include "libpack/base/writeback.h"
#include "libpack/hdf5/writer.h"
#include "tests/tap.h"

#ifdef HAVE_SYNC_FILE_RANGE

static struct {
    unsigned n, n_waits; /* calls */
    uint64_t begun, waited;
    bool in_order, ahead; /* every stretch begins where the last one ended; is written */
    unsigned fails_at;    /* the call that fails with `errnum`, and all behind it */
    int errnum;
    uint64_t size; /* what is written by now */
} asked;

int
sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags)
{
    (void)fd;
    bool waits = flags & SYNC_FILE_RANGE_WAIT_AFTER;
    uint64_t *at = waits ? &asked.waited : &asked.begun;
    asked.n++;
    asked.n_waits += waits;
    if (asked.fails_at && asked.n >= asked.fails_at) {
        errno = asked.errnum;
        return -1;
    }
    asked.in_order &= bytes > 0 && (uint64_t)offset == *at;
    *at = (uint64_t)(offset + bytes);
    asked.ahead |= asked.size && *at > asked.size;
    return 0;
}

static void
forget(unsigned fails_at, int errnum)
{
    memset(&asked, 0, sizeof asked);
    asked.in_order = true;
    asked.fails_at = fails_at;
    asked.errnum = errnum;
}

static void
test_stretches(void)
{
    struct pack_writeback w = { 0 };
    bool good = true, bounded = true;
    forget(0, 0);
    for (uint64_t end = 150528; end < 200 << 20; end += 150528) {
        asked.size = end;
        good &= pack_writeback(&w, -1, end);
        bounded &= end - asked.begun < PACK_WRITEBACK_BEGIN;
        bounded &= end - asked.waited < PACK_WRITEBACK_HOLD + PACK_WRITEBACK_BEGIN;
    }
    ok(good && asked.in_order && asked.n > 50, "every stretch is asked for once, in order");
    ok(!asked.ahead, "never beyond what is written");
    ok(bounded && asked.n_waits > 30, "and no more than %d MiB are on their way",
       PACK_WRITEBACK_HOLD >> 20);
    unsigned n = asked.n;
    pack_writeback(&w, -1, 4096);
    is_number(asked.n, n, "what lies further in front asks for nothing");
    forget(0, 0);
    w = (struct pack_writeback){ 0 };
    pack_writeback(&w, -1, (UINT64_C(1) << 40) + 1);
    ok(asked.begun == UINT64_C(1) << 40 && asked.n == 2 && asked.in_order,
       "a resumed file is asked for in one");
}

static void
test_refusals(void)
{
    static const int refusals[] = { ENOSYS, EINVAL, ESPIPE, EPERM, EOPNOTSUPP };
    static const int failures[] = { EIO, ENOSPC, EDQUOT };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct pack_writeback w = { 0 };
        bool good = true;
        forget(1, refusals[i]);
        for (uint64_t end = 1 << 20; end < 100 << 20; end += 1 << 20)
            good &= pack_writeback(&w, -1, end);
        ok(good && asked.n == 1, "where the system says '%s' it is left alone",
           strerror(refusals[i]));
    }
    for (size_t i = 0; i < 2 * sizeof failures / sizeof *failures; i++) {
        struct pack_writeback w = { 0 };
        bool good = true;
        uint64_t end = 0;
        forget(i % 2 ? 11 : 1, failures[i / 2]); /* the 11th is one that waits */
        while (good && end < 100 << 20)
            good = pack_writeback(&w, -1, end += 1 << 20);
        ok(!good && errno == failures[i / 2] && asked.n_waits == i % 2,
           "'%s' is told%s", strerror(failures[i / 2]), i % 2 ? ", waiting" : "");
    }
}

/* Writes a file of so many chunks of a MiB; status of the call that failed. */
static enum pack_status
write_file(const char *path, unsigned n_chunks, unsigned *n_written,
           struct pack_error *err)
{
    static uint8_t pixels[1 << 20];
    struct pack_writer_params params = { 0 };
    struct pack_writer_dataset_params images = {
        .sample = { .rank = 1, .extent = { sizeof pixels } },
        .chunk = { .rank = 2, .extent = { 1, sizeof pixels } },
    };
    struct pack_stored stored = { .data = pixels, .size = sizeof pixels };
    struct pack_writer *writer;
    struct pack_writer_dataset *set;
    uint64_t address;
    *n_written = 0;
    if (pack_writer_open(path, &params, &writer, err) ||
        pack_writer_dataset_create(writer, "images", &images, &set, err))
        abort();
    for (unsigned i = 0; i < n_chunks; i++, ++*n_written) {
        enum pack_status status = pack_writer_chunk(set, i, &stored, &address, err);
        if (status) {
            pack_writer_abandon(writer);
            return status;
        }
    }
    return pack_writer_close(writer, err);
}

static void
test_writer(const char *path)
{
    struct pack_error err = { 0 };
    unsigned n;
    forget(0, 0);
    ok(write_file(path, 60, &n, &err) == PACK_OK && asked.begun == 60 << 20 &&
           asked.in_order && asked.n_waits == 7,
       "the writer brings chunks to the disk while it writes");
    forget(1, ENOSYS);
    ok(write_file(path, 60, &n, &err) == PACK_OK && n == 60 && asked.n == 1,
       "and does without where it cannot");
    forget(3, EIO);
    ok(write_file(path, 60, &n, &err) == PACK_ERR_IO && n == 11 && asked.n == 3 &&
           strstr(err.text, "cannot write '") && strstr(err.text, strerror(EIO)),
       "a disk that does not take them ends the writing: %s", err.text);
}

int
main(void)
{
    char folder[] = "/tmp/h5pack-test.XXXXXX", path[64];
    test_stretches();
    test_refusals();
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/written.h5", folder);
    test_writer(path);
    unlink(path);
    rmdir(folder);
    return done();
}

#else

int
main(void)
{
    printf("1..0 # SKIP this system has no sync_file_range()\n");
    return 0;
}

#endif
