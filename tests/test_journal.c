/* The journal: what was appended comes back in order, up to the last whole record,
 * whatever happened to the end of the file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libpack/base/journal.h"
#include "tests/tap.h"

static const char path[] = "test_journal.tmp", identity[] = "options and sources";

enum { N_RECORDS = 40, N_LARGE = 5, LARGE_BYTES = 100003 };

static int n_syncs, sync_errno; /* of fsync(), which goes through here */

int
fsync(int fd)
{
    n_syncs++;
    errno = sync_errno;
    return errno ? -1 : (int)syscall(SYS_fsync, fd);
}

/* Payload number i: i*i bytes that follow from i. */
static size_t
payload(unsigned i, unsigned char *bytes)
{
    for (unsigned k = 0; k < i * i; k++)
        bytes[k] = (unsigned char)(k * 7 + i);
    return i * i;
}

struct seen {
    unsigned n;
    bool wrong;
    unsigned stop_at;
    enum pack_status stop_with;
};

static enum pack_status
see(void *context, uint32_t type, const void *data, size_t size, struct pack_error *err)
{
    struct seen *seen = context;
    static unsigned char want[N_RECORDS * N_RECORDS];
    if (seen->stop_at && seen->n == seen->stop_at)
        return pack_fail(err, seen->stop_with, "stopped");
    unsigned i = seen->n++;
    seen->wrong |= type != i || size != payload(i, want) ||
                   memcmp(data, want, size) != 0 || (uintptr_t)data % 8 != 0;
    return PACK_OK;
}

static struct pack_journal_params
params_of(int fd, const char *id)
{
    return (struct pack_journal_params){ fd, path, id, strlen(id) };
}

static enum pack_status
resume(int fd, const char *id, struct seen *seen, struct pack_journal **journal,
       struct pack_error *err)
{
    struct pack_journal_params params = params_of(fd, id);
    return pack_journal_resume(&params, see, seen, journal, err);
}

static bool
append_from(struct pack_journal *journal, unsigned first)
{
    unsigned char bytes[N_RECORDS * N_RECORDS];
    for (unsigned i = first; i < N_RECORDS; i++)
        if (pack_journal_append(journal, i, bytes, payload(i, bytes), NULL) != PACK_OK)
            return false;
    return true;
}

static void
test_round_trip(int fd)
{
    struct pack_journal *journal;
    struct pack_error err;
    struct pack_journal_params params = params_of(fd, identity);
    ok(pack_journal_create(&params, &journal, &err) == PACK_OK,
       "a journal is made");
    ok(append_from(journal, 0) && pack_journal_sync(journal, &err) == PACK_OK &&
           pack_journal_close(journal, &err) == PACK_OK,
       "records are appended");
    struct seen seen = { 0 };
    ok(resume(fd, identity, &seen, &journal, &err) == PACK_OK, "it is resumed");
    ok(seen.n == N_RECORDS && !seen.wrong, "all %u records come back in order", seen.n);
    ok(pack_journal_close(journal, &err) == PACK_OK, "and it is closed");
    seen = (struct seen){ .stop_at = 3, .stop_with = PACK_ERR_INTERRUPTED };
    ok(resume(fd, identity, &seen, &journal, &err) == PACK_ERR_INTERRUPTED && seen.n == 3,
       "a reader who has seen enough ends the reading");
    ok(resume(fd, "other options", &seen, &journal, &err) == PACK_ERR_CHANGED,
       "another job's journal is refused: %s", err.text);
    struct stat status;
    ok(fstat(fd, &status) == 0 && status.st_size > 20000, "and left as it is");
    seen = (struct seen){ .stop_at = 3, .stop_with = PACK_ERR_MISMATCH };
    ok(resume(fd, identity, &seen, &journal, &err) == PACK_OK &&
           append_from(journal, 3) && pack_journal_close(journal, &err) == PACK_OK,
       "a record that is not taken is cut off, and appending goes on there");
    seen = (struct seen){ 0 };
    ok(resume(fd, identity, &seen, &journal, &err) == PACK_OK && seen.n == N_RECORDS &&
           !seen.wrong && pack_journal_close(journal, &err) == PACK_OK,
       "as if nothing had been behind");
}

/* Cut anywhere, or with a byte changed anywhere: a prefix comes back, appending the rest
 * gives the original file. */
static void
test_damage(int fd)
{
    static unsigned char whole[1 << 16], again[1 << 16];
    ssize_t size = pread(fd, whole, sizeof whole, 0);
    int bad_cuts = 0, bad_flips = 0;
    for (ssize_t cut = 0; cut <= size; cut += cut < 2000 ? 1 : 37) {
        struct pack_journal *journal;
        struct seen seen = { 0 };
        struct pack_error err;
        bad_cuts += ftruncate(fd, cut) != 0;
        if (resume(fd, identity, &seen, &journal, &err) != PACK_OK || seen.wrong) {
            bad_cuts++;
            continue;
        }
        bad_cuts += !append_from(journal, seen.n) ||
                    pack_journal_close(journal, NULL) != PACK_OK ||
                    pread(fd, again, sizeof again, 0) != size ||
                    memcmp(whole, again, (size_t)size) != 0;
    }
    is_number(bad_cuts, 0, "cut at any byte, it is completed to the same bytes");
    for (ssize_t at = 56; at < size; at += at < 2000 ? 1 : 41) {
        struct pack_journal *journal = NULL;
        struct seen seen = { 0 };
        bad_flips += pwrite(fd, whole, (size_t)size, 0) != size;
        unsigned char flipped = whole[at] ^ 0x10;
        bad_flips += pwrite(fd, &flipped, 1, at) != 1;
        /* flipped padding is no damage */
        if (resume(fd, identity, &seen, &journal, NULL) != PACK_OK || seen.wrong)
            bad_flips++;
        pack_journal_close(journal, NULL);
    }
    is_number(bad_flips, 0, "a changed byte never changes what comes back");
    struct pack_journal *journal = NULL;
    struct pack_error err;
    struct seen seen = { 0 };
    static const unsigned char zeros[4096];
    ok(pwrite(fd, whole, (size_t)size, 0) == size &&
           pwrite(fd, zeros, sizeof zeros, 0) == sizeof zeros &&
           resume(fd, identity, &seen, &journal, &err) == PACK_OK && seen.n == 0,
       "one whose beginning the disk lost is begun anew");
    pack_journal_close(journal, NULL);
    ok(pwrite(fd, "\x89HDF\r\n\x1a\n", 8, 0) == 8, "the journal is overwritten");
    ok(resume(fd, identity, &seen, &journal, &err) == PACK_ERR_FORMAT,
       "something that is no journal is refused: %s", err.text);
}

/* A record in another place than where it was written, as an older journal leaves it. */
static void
test_moved(int fd)
{
    struct pack_journal *journal;
    struct pack_journal_params params = params_of(fd, identity);
    unsigned char record[16 + 8], payload[8] = "12345678";
    struct seen seen = { 0 };
    pack_journal_create(&params, &journal, NULL);
    off_t first = lseek(fd, 0, SEEK_END);
    for (unsigned i = 0; i < 2; i++)
        pack_journal_append(journal, 0, payload, 0, NULL);
    pack_journal_append(journal, 2, payload, 4, NULL);
    pack_journal_close(journal, NULL);
    ok(pread(fd, record, sizeof record, first + 32) == sizeof record &&
           pwrite(fd, record, sizeof record, first + 16) == sizeof record,
       "the third record is copied over the second");
    ok(pack_journal_read(&params, see, &seen, NULL) == PACK_OK && seen.n == 1,
       "and does not count in its place: %u seen", seen.n);
}

/* A record that claims more bytes than the file holds, or than there is memory. */
static void
test_claims(int fd)
{
    struct pack_journal *journal;
    struct pack_journal_params params = params_of(fd, identity);
    struct pack_error err = { 0 };
    struct rlimit old;
    struct seen seen = { 0 };
    pack_journal_create(&params, &journal, NULL);
    append_from(journal, 0);
    pack_journal_close(journal, NULL);
    uint32_t head[4] = { N_RECORDS, UINT32_MAX - 8, 1, 2 };
    ok(pwrite(fd, head, sizeof head, lseek(fd, 0, SEEK_END)) == sizeof head &&
           getrlimit(RLIMIT_DATA, &old) == 0,
       "a record of 4 GiB is claimed");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct rlimit small = { UINT64_C(1) << 30, old.rlim_max };
    setrlimit(RLIMIT_DATA, &small);
#endif
    void *room = malloc(1 << 20);
    if (!room) /* a sanitizer's own memory is beyond the limit */
        setrlimit(RLIMIT_DATA, &old);
    free(room);
    ok(pack_journal_read(&params, see, &seen, &err) == PACK_OK && seen.n == N_RECORDS &&
           !seen.wrong,
       "nothing is allocated for it: %u good records, '%s'", seen.n, err.text);
    setrlimit(RLIMIT_DATA, &old);
}

/* Payload number i: as large as no buffer is. */
static const unsigned char *
large(uint32_t i)
{
    static unsigned char bytes[LARGE_BYTES];
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)(k * 7 + k / 256 + i);
    return bytes;
}

static enum pack_status
see_large(void *context, uint32_t type, const void *data, size_t size,
          struct pack_error *err)
{
    struct seen *seen = context;
    (void)err;
    seen->wrong |= type != seen->n || size != LARGE_BYTES ||
                   memcmp(data, large(seen->n), LARGE_BYTES) != 0;
    seen->n++;
    return PACK_OK;
}

/* Records larger than all buffers; going on behind them, and once more. */
static void
test_large(int fd)
{
    struct pack_journal *journal = NULL;
    struct pack_journal_params params = params_of(fd, identity);
    struct pack_error err = { .text = "" };
    enum pack_status status = pack_journal_create(&params, &journal, &err);
    for (uint32_t i = 0; i < 2 * N_LARGE && !status; i++) {
        if (i == N_LARGE) {
            struct seen seen = { 0 };
            pack_journal_close(journal, NULL);
            journal = NULL;
            status = pack_journal_resume(&params, see_large, &seen, &journal, &err);
            ok(!status && seen.n == N_LARGE && !seen.wrong,
               "records of %d bytes come back: %u", LARGE_BYTES, seen.n);
        }
        if (!status)
            status = pack_journal_append(journal, i, large(i), LARGE_BYTES, &err);
    }
    pack_journal_close(journal, NULL);
    struct seen seen = { 0 };
    ok(!status && pack_journal_read(&params, see_large, &seen, &err) == PACK_OK &&
           seen.n == 2 * N_LARGE && !seen.wrong,
       "and are gone on with: %u%s", seen.n, err.text);
}

static void
test_sync(int fd)
{
    struct pack_journal *journal;
    struct pack_journal_params params = params_of(fd, identity);
    struct pack_error err = { .text = "" };
    pack_journal_create(&params, &journal, NULL);
    append_from(journal, 0);
    n_syncs = 0;
    ok(pack_journal_sync(journal, &err) == PACK_OK && n_syncs == 1,
       "what is to survive the machine is synced");
    sync_errno = EIO;
    ok(pack_journal_sync(journal, &err) == PACK_ERR_IO && strstr(err.text, "cannot sync"),
       "that it cannot be is told: %s", err.text);
    sync_errno = 0;
    ok(pack_journal_append(journal, 0, "", 0, NULL) == PACK_ERR_IO &&
           pack_journal_sync(journal, NULL) == PACK_ERR_IO &&
           pack_journal_close(journal, NULL) == PACK_ERR_IO,
       "and not forgotten, though the next one would work");
}

static void
test_failure(int fd)
{
    struct pack_journal *journal;
    struct pack_error err;
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){ 1000, old.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    struct pack_journal_params params = params_of(fd, identity);
    pack_journal_create(&params, &journal, &err);
    setrlimit(RLIMIT_FSIZE, &small);
    bool told = append_from(journal, 0) && pack_journal_flush(journal, &err) == PACK_ERR_IO;
    setrlimit(RLIMIT_FSIZE, &old); /* which holds for what we print, too */
    ok(told, "a full disk is told: %s", err.text);
    ok(pack_journal_append(journal, 0, "", 0, &err) == PACK_ERR_IO &&
           pack_journal_close(journal, &err) == PACK_ERR_IO,
       "and not forgotten");
    struct seen seen = { 0 };
    ok(resume(fd, identity, &seen, &journal, &err) == PACK_OK && seen.n > 3 &&
           !seen.wrong,
       "what was written before it counts: %u records", seen.n);
    pack_journal_close(journal, NULL);
    params.identity_size = (size_t)PACK_JOURNAL_RECORD_MAX + 1;
    ok(pack_journal_create(&params, &journal, &err) == PACK_ERR_ARGUMENT,
       "an identity beyond the limit is refused: %s", err.text);
}

int
main(void)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    test_round_trip(fd);
    test_damage(fd);
    test_moved(fd);
    test_claims(fd);
    test_large(fd);
    test_sync(fd);
    test_failure(fd);
    close(fd);
    unlink(path);
    return done();
}
