/* Output files: nothing under the final name until it is complete and synced, nothing
 * replaced without being asked, two writers refuse each other. The system's calls go
 * through here, so that some fail and others come between. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/base/outfile.h"
#include "tests/tap.h"

static char folder[] = "test_outfile.XXXXXX", name[64], part[80], journal[96];

/* ------------------------------------------------------------------ the system */

static struct {
    int lock_errno;        /* of every flock */
    bool renumbers;        /* no file has the number that it had before */
    bool renamed;          /* before the first flock, another writer is through */
    const char *stranger;  /* made by someone just before our file is, or a link */
    const char *bad_sync;  /* what cannot be synced: the end of its name, */
    int sync_errno;        /* and why, if not for EIO */
    bool interrupted;      /* every other write ends at once, the others half way */
    int rename_errno;      /* of every rename that replaces nothing, */
    int link_errno;        /* and of every link */
    char events[256];      /* "sync NAME (whether the output is there)" */
} system_;

static void put(const char *path, const char *text);

int
flock(int fd, int operation)
{
    if (system_.renamed) {
        system_.renamed = false;
        rename(part, name);
    }
    errno = system_.lock_errno;
    return errno ? -1 : (int)syscall(SYS_flock, fd, operation);
}

int
lstat(const char *path, struct stat *st)
{
    static ino_t n;
    int status = fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
    if (system_.renumbers)
        st->st_ino += ++n;
    return status;
}

int
open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    const char *stranger = flags & O_CREAT ? system_.stranger : NULL;
    if (stranger) {
        system_.stranger = NULL;
        put(path, stranger);
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int
fsync(int fd)
{
    char link[64], path[256] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    const char *last = n > 0 ? strrchr(path, '/') + 1 : "?";
    size_t used = strlen(system_.events);
    snprintf(system_.events + used, sizeof system_.events - used, "%s%s%s;",
             strcmp(last, "out.part") ? "folder" : last,
             access(name, F_OK) == 0 ? " with output" : " without output",
             access(part, F_OK) == 0 ? " and part" : "");
    bool is_bad = system_.bad_sync && strstr(last, system_.bad_sync);
    errno = system_.sync_errno ? system_.sync_errno : EIO;
    return is_bad ? -1 : (int)syscall(SYS_fsync, fd);
}

ssize_t
write(int fd, const void *data, size_t size)
{
    static int n;
    if (system_.interrupted && n++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (system_.interrupted && size > 1)
        size /= 2;
    return syscall(SYS_write, fd, data, size);
}

int
renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    errno = system_.rename_errno;
    return errno ? -1
                 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int
link(const char *from, const char *to)
{
    if (system_.stranger)
        put(to, system_.stranger);
    system_.stranger = NULL;
    errno = system_.link_errno;
    return errno ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ------------------------------------------------------------------ the tests */

static bool
holds(const char *path, const char *want)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    if (!f)
        return want == NULL;
    size_t size = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    return want && size == strlen(want) && memcmp(got, want, size) == 0;
}

static void
put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static int
n_files(void)
{
    return !access(name, F_OK) + !access(part, F_OK) + !access(journal, F_OK);
}

static void
test_plain(void)
{
    struct pack_outfile_params params = { 0 }, forced = { .force = true };
    struct pack_outfile *out, *second;
    struct pack_error err;
    ok(pack_outfile_open(name, &params, &out, &err) == PACK_OK, "an output is opened");
    fputs("one", pack_outfile_stream(out));
    fflush(pack_outfile_stream(out));
    ok(holds(name, NULL) && holds(part, "one"), "it is written beside its name");
    ok(pack_outfile_open(name, &params, &second, &err) == PACK_ERR_EXISTS &&
           strstr(err.text, "another process"),
       "a second writer is refused: %s", err.text);
    ok(holds(part, "one"), "and does no harm");
    ok(pack_outfile_commit(out, &err) == PACK_OK && holds(name, "one") && n_files() == 1,
       "commit moves it into place and leaves nothing else");
    ok(pack_outfile_open(name, &params, &out, &err) == PACK_ERR_EXISTS && n_files() == 1,
       "an existing file is kept: %s", err.text);
    ok(pack_outfile_open(name, &forced, &out, &err) == PACK_OK, "unless forced");
    fputs("two", pack_outfile_stream(out));
    pack_outfile_abandon(out);
    ok(holds(name, "one") && n_files() == 1, "giving up keeps the old file");
    ok(pack_outfile_write(name, true, "three", 5, &err) == PACK_OK &&
           holds(name, "three"),
       "bytes in memory are written in one call");
    unlink(name);

    pack_outfile_open(name, &params, &out, &err);
    put(name, "came between");
    ok(pack_outfile_commit(out, &err) == PACK_ERR_EXISTS && holds(name, "came between") &&
           n_files() == 1,
       "a file that appears meanwhile is not replaced: %s", err.text);
    unlink(name);
    put(part, "");
    ok(pack_outfile_write(name, false, "new", 3, &err) == PACK_OK && holds(name, "new"),
       "an empty part of a killed run is no obstacle");
    unlink(name);
}

/* What the power cut leaves of a NAME.part that begins "kind:". */
static void
test_torn_part(const char *bytes, size_t size, bool is_ours)
{
    struct pack_outfile_params alike = { .begins = "kind:" };
    struct pack_outfile *out;
    struct pack_error err;
    FILE *f = fopen(part, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
        exit(2);
    enum pack_status status = pack_outfile_open(name, &alike, &out, &err);
    ok(status == (is_ours ? PACK_OK : PACK_ERR_EXISTS), "%zu bytes as of '%s' are %s", size,
       bytes, is_ours ? "a torn part" : "a stranger's");
    if (status == PACK_OK)
        pack_outfile_discard(out);
    unlink(part);
}

/* A file with its name and a journal, as a run leaves them that is killed in between. */
static enum pack_status
open_published(const struct pack_outfile_params *params, struct pack_outfile **out,
               struct pack_error *err)
{
    static const char zeros[16];
    FILE *f = fopen(journal, "wb");
    if (!f || fwrite(zeros, 1, sizeof zeros, f) != sizeof zeros || fclose(f))
        exit(2);
    put(name, "whole");
    return pack_outfile_open(name, params, out, err);
}

static void
test_published(void)
{
    struct pack_outfile_params resume = { .journal = true, .resume = true };
    struct pack_outfile_params forced = { .journal = true, .force = true };
    struct pack_outfile *out;
    struct pack_error err;
    ok(open_published(&resume, &out, &err) == PACK_OK && pack_outfile_is_published(out) &&
           !pack_outfile_is_resumed(out),
       "a file with a journal beside it is one that was finished");
    system_.events[0] = '\0';
    ok(pack_outfile_settle(out, &err) == PACK_OK && holds(name, "whole") && n_files() == 1,
       "it stays, the journal goes");
    is_text(system_.events, "folder with output;", "when the name is on the disk");
    system_.bad_sync = "test_outfile";
    ok(open_published(&resume, &out, &err) == PACK_OK &&
           pack_outfile_settle(out, &err) == PACK_ERR_IO && n_files() == 2,
       "else both stay: %s", err.text);
    system_.bad_sync = NULL;
    ok(open_published(&resume, &out, &err) == PACK_OK, "and it can be tried again");
    pack_outfile_abandon(out);
    ok(n_files() == 2, "giving up leaves both");
    ok(open_published(&forced, &out, &err) == PACK_OK && !pack_outfile_is_published(out),
       "who does not resume begins anew");
    pack_outfile_discard(out);
    put(journal, "a text");
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_ERR_EXISTS && n_files() == 2,
       "a stranger's file is no journal: %s", err.text);
    unlink(journal);
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_ERR_EXISTS,
       "without one the file is in the way");
    unlink(name);
    mkdir(part, 0777);
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_ERR_ARGUMENT &&
           pack_outfile_open(name, &forced, &out, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "it is a folder") && n_files() == 1,
       "nor does --force remove a folder: %s", err.text);
    rmdir(part);
}

/* What is called NAME.part need not be ours. */
static void
test_strangers(void)
{
    struct pack_outfile_params alike = { .begins = "kind:" };
    struct pack_outfile_params resume = { .journal = true, .resume = true };
    struct pack_outfile *out;
    struct pack_error err;
    put(part, "a stranger's");
    ok(pack_outfile_write(name, false, "new", 3, &err) == PACK_ERR_EXISTS &&
           strcmp(err.param, "force") == 0 && holds(part, "a stranger's") &&
           n_files() == 1,
       "someone's file is not taken for a part: %s", err.text);
    ok(pack_outfile_open(name, &alike, &out, &err) == PACK_ERR_EXISTS &&
           holds(part, "a stranger's"),
       "nor is one that begins otherwise");
    ok(pack_outfile_write(name, true, "new", 3, &err) == PACK_OK && holds(name, "new"),
       "unless forced");
    ok(pack_outfile_open(name, &alike, &out, &err) == PACK_ERR_EXISTS,
       "a file that begins otherwise is kept");
    put(name, "kind: old");
    put(part, "kind: killed");
    ok(pack_outfile_open(name, &alike, &out, &err) == PACK_OK, "its like are replaced");
    fputs("kind: new", pack_outfile_stream(out));
    ok(pack_outfile_commit(out, &err) == PACK_OK && holds(name, "kind: new") &&
           n_files() == 1,
       "the file and what was left of one");
    unlink(name);
    test_torn_part("kin", 3, true);
    test_torn_part("kid", 3, false);
    test_torn_part("kind?", 5, false);
    test_torn_part("\0\0\0\0\0", 5, true);
    test_torn_part("\0\0", 2, true);
    test_torn_part("\0\0\0x", 4, false);

    put(name, "precious");
    put(journal, "");
    if (symlink("out", part) != 0)
        exit(2);
    rename(name, "precious");
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_ERR_ARGUMENT,
       "a link is no part to resume: %s", err.text);
    unlink(part);
    unlink(journal);
    unlink("precious");

    system_.stranger = "came first";
    ok(pack_outfile_write(name, false, "new", 3, &err) == PACK_ERR_EXISTS &&
           holds(part, "came first"),
       "a file made at the same moment is not ours: %s", err.text);
    unlink(part);
    put(part, "the other's, and complete");
    system_.renamed = true;
    ok(pack_outfile_write(name, true, "ours", 4, &err) == PACK_OK && holds(name, "ours"),
       "a part that was moved before it was locked is not written to");
    unlink(name);
}

/* File systems without locks, or that number their files as they like. */
static void
test_file_systems(void)
{
    static const int errnums[] = { ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL };
    struct pack_outfile_params params = { .journal = true };
    struct pack_outfile_params resume = { .journal = true, .resume = true };
    struct pack_outfile *out;
    struct pack_error err = { .text = "" };
    for (size_t i = 0; i < sizeof errnums / sizeof *errnums; i++) {
        system_.lock_errno = errnums[i];
        ok(pack_outfile_write(name, true, "x", 1, &err) == PACK_OK,
           "a file system whose locks say '%s' is used without", strerror(errnums[i]));
    }
    system_.lock_errno = 0;
    system_.renumbers = true;
    ok(pack_outfile_write(name, true, "y", 1, &err) == PACK_OK && holds(name, "y"),
       "so is one where no file keeps its number: %s", err.text);
    unlink(name);
    put(part, "of something else");
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_ERR_EXISTS && n_files() == 1,
       "where a journal just made is known as new");
    unlink(part);
    ok(pack_outfile_open(name, &params, &out, &err) == PACK_OK, "a run is begun there");
    put(part, "half");
    ok(write(pack_outfile_journal_fd(out), "x", 1) == 1, "with a journal");
    pack_outfile_abandon(out);
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_OK &&
           pack_outfile_is_resumed(out),
       "and goes on there");
    pack_outfile_discard(out);
    system_.renumbers = false;
}

/* What is said to be done survives the machine. */
static void
test_syncs(void)
{
    static const char order[] =
        "out.part without output and part;folder with output;";
    struct pack_outfile_params params = { .journal = true };
    struct pack_outfile *out;
    struct pack_error err;
    system_.events[0] = '\0';
    ok(pack_outfile_write(name, false, "x", 1, &err) == PACK_OK, "an output is written");
    is_text(system_.events, order, "its data are synced, then its name");
    unlink(name);
    pack_outfile_open(name, &params, &out, &err);
    put(part, "x");
    system_.events[0] = '\0';
    ok(pack_outfile_commit(out, &err) == PACK_OK, "one with a journal is");
    is_text(system_.events, order, "in the same order");
    unlink(name);

    static const char *const bad[] = { "part", "test_outfile" };
    for (int i = 0; i < 2; i++) {
        system_.bad_sync = bad[i];
        ok(pack_outfile_write(name, false, "x", 1, &err) == PACK_ERR_IO && n_files() == 0 &&
               strstr(err.text, strerror(EIO)),
           "one that cannot be synced does not appear: %s", err.text);
        pack_outfile_open(name, &params, &out, &err);
        put(part, "x");
        ok(pack_outfile_commit(out, &err) == PACK_ERR_IO && holds(name, NULL) &&
               holds(part, "x"),
           "with a journal it stays to be resumed: %s", err.text);
        unlink(part);
        unlink(journal);
    }
    system_.sync_errno = EINVAL;
    ok(pack_outfile_write(name, false, "x", 1, &err) == PACK_OK && holds(name, "x"),
       "a folder that no call can sync needs none");
    unlink(name);
    system_.bad_sync = bad[0];
    ok(pack_outfile_write(name, false, "x", 1, &err) != PACK_OK && n_files() == 0,
       "a file does: %s", err.text);
    system_.bad_sync = NULL;
    system_.sync_errno = 0;
    system_.interrupted = true;
    ok(pack_outfile_write(name, false, "a few words", 11, &err) == PACK_OK &&
           holds(name, "a few words"),
       "writes that are interrupted or short go on");
    system_.interrupted = false;
    unlink(name);
}

/* File systems that cannot rename without replacing, link, or either. */
static void
test_renames(void)
{
    static const struct {
        int rename_errno, link_errno;
        const char *how;
    } cases[] = { { EINVAL, 0, "by links where no rename keeps what is there" },
                  { ENOSYS, 0, "by links where the kernel has no such rename" },
                  { EINVAL, EPERM, "by a plain rename where there are no links either" } };
    struct pack_outfile_params params = { 0 };
    struct pack_outfile *out;
    struct pack_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        system_.rename_errno = cases[i].rename_errno;
        system_.link_errno = cases[i].link_errno;
        ok(pack_outfile_write(name, false, "new", 3, &err) == PACK_OK &&
               holds(name, "new") && n_files() == 1,
           "an output is put in place %s", cases[i].how);
        unlink(name);
        pack_outfile_open(name, &params, &out, &err);
        system_.stranger = "came between";
        ok(pack_outfile_commit(out, &err) == PACK_ERR_EXISTS &&
               holds(name, "came between") && n_files() == 1,
           "nothing is replaced there: %s", err.text);
        unlink(name);
        system_.bad_sync = "test_outfile";
        ok(pack_outfile_write(name, false, "x", 1, &err) == PACK_ERR_IO && n_files() == 0,
           "and one whose folder cannot be synced is taken back: %s", err.text);
        system_.bad_sync = NULL;
    }
    system_.rename_errno = EIO;
    system_.link_errno = 0;
    ok(pack_outfile_write(name, false, "x", 1, &err) == PACK_ERR_IO && n_files() == 0 &&
           strstr(err.text, "cannot rename") && strstr(err.text, strerror(EIO)),
       "a rename that fails for another reason is not tried otherwise: %s", err.text);
    system_.rename_errno = 0;
}

static void
test_journal(void)
{
    struct pack_outfile_params params = { .journal = true };
    struct pack_outfile_params resume = { .journal = true, .resume = true };
    struct pack_outfile_params forced = { .journal = true, .force = true };
    struct pack_outfile *out, *second;
    struct pack_error err;
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_OK &&
           !pack_outfile_is_resumed(out) && pack_outfile_stream(out) == NULL,
       "resume without anything to resume starts anew");
    is_text(pack_outfile_part_path(out), part, "the part is named after the output");
    ok(pack_outfile_open(name, &resume, &second, &err) == PACK_ERR_EXISTS,
       "a second writer is refused: %s", err.text);
    put(part, "half");
    ok(write(pack_outfile_journal_fd(out), "x", 1) == 1, "the journal can be written");
    pack_outfile_abandon(out);
    ok(holds(part, "half") && holds(journal, "x"), "giving up keeps both for later");
    ok(pack_outfile_open(name, &params, &out, &err) == PACK_ERR_EXISTS &&
           strcmp(err.param, "resume") == 0,
       "a new run does not trample on it: %s", err.text);
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_OK &&
           pack_outfile_is_resumed(out) && holds(part, "half") && holds(journal, "x"),
       "resume finds both");
    put(part, "whole");
    ok(pack_outfile_commit(out, &err) == PACK_OK && holds(name, "whole") &&
           n_files() == 1,
       "commit removes the journal");
    ok(pack_outfile_open(name, &params, &out, &err) == PACK_ERR_EXISTS && n_files() == 1,
       "an existing file is kept, no journal stays: %s", err.text);
    unlink(name);

    put(journal, "x");
    put(part, "of no use");
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_OK &&
           pack_outfile_restart(out, &err) == PACK_OK && !pack_outfile_is_resumed(out) &&
           access(part, F_OK) != 0,
       "a part of no use is begun again");
    pack_outfile_discard(out);

    put(part, "of something else");
    ok(pack_outfile_open(name, &resume, &out, &err) == PACK_ERR_EXISTS && n_files() == 1,
       "a part without a journal is nobody's to resume: %s", err.text);
    ok(pack_outfile_open(name, &forced, &out, &err) == PACK_OK &&
           !pack_outfile_is_resumed(out) && access(part, F_OK) != 0,
       "force starts again");
    pack_outfile_discard(out);
    ok(n_files() == 0, "discard removes everything");
}

static void
expect(const char *path, enum pack_status want, const char *what)
{
    struct pack_outfile_params params = { .force = true };
    struct pack_outfile *out;
    struct pack_error err = { .text = "(no failure)" };
    enum pack_status status = pack_outfile_open(path, &params, &out, &err);
    ok(status == want, "%s: %s", what, err.text);
    if (status == PACK_OK)
        pack_outfile_abandon(out);
}

static void
test_refusals(void)
{
    char path[400];
    expect("", PACK_ERR_ARGUMENT, "no name");
    expect("x/", PACK_ERR_ARGUMENT, "a name that ends in a slash");
    expect(folder, PACK_ERR_ARGUMENT, "a folder");
    expect("/dev/null", PACK_ERR_ARGUMENT, "a device");
    snprintf(path, sizeof path, "%s/none/x", folder);
    expect(path, PACK_ERR_NOT_FOUND, "a folder that is not there");
    snprintf(path, sizeof path, "%s/%0300d", folder, 1);
    expect(path, PACK_ERR_IO, "a name that is too long");
    ok(symlink("/etc/passwd", part) == 0, "a link lies where the part would be");
    expect(name, PACK_ERR_EXISTS, "it is not followed");
    unlink(part);
    ok(symlink("/proc/self/exe", name) == 0, "a name of what is open, as /dev/stdout is");
    expect(name, PACK_ERR_ARGUMENT, "it is not replaced");
    unlink(name);
    ok(mkfifo(part, 0600) == 0, "a fifo lies there");
    expect(name, PACK_ERR_ARGUMENT, "it is not written to");
    unlink(part);
}

/* What lies at NAME.part.journal, alone. */
static void
test_strange_journal(void)
{
    static const struct {
        const char *bytes;
        bool is_ours;
    } cases[] = { { "my notes", false },
                  { "h5pack journey", false },
                  { "h5pack journal 1, of an older version", true },
                  { "h5pack jo", true }, /* torn */
                  { "", true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int how = 0; how < 3; how++) { /* plain, resume, force */
            struct pack_outfile_params params = { .journal = true,
                                                  .resume = how == 1,
                                                  .force = how == 2 };
            struct pack_outfile *out = NULL;
            struct pack_error err = { .text = "" };
            bool is_taken = cases[i].is_ours || params.force;
            put(journal, cases[i].bytes);
            enum pack_status status = pack_outfile_open(name, &params, &out, &err);
            struct stat st;
            ok(status == (is_taken ? PACK_OK : PACK_ERR_EXISTS) &&
                   (is_taken || (strstr(err.text, journal) && stat(journal, &st) == 0 &&
                                 st.st_size == (off_t)strlen(cases[i].bytes))),
               "a journal that begins '%s' is %s%s: %s", cases[i].bytes,
               is_taken ? "taken over" : "left alone", how == 2 ? " by force" : "",
               err.text);
            if (status == PACK_OK)
                pack_outfile_discard(out);
            unlink(journal);
        }
    }
}

/* As a user who may not write there; needs root to become one. */
static void
test_read_only_folder(void)
{
    if (geteuid() != 0) {
        skip("needs root to become another user");
        return;
    }
    chmod(folder, 0555);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct pack_outfile_params params = { .journal = true };
        struct pack_outfile *out;
        struct pack_error err;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        _exit(pack_outfile_open(name, &params, &out, &err) != PACK_ERR_IO ||
              !strstr(err.text, "Permission denied") || !strstr(err.text, name));
    }
    int status = -1;
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "a folder one may not write to is refused, by name and in words");
    chmod(folder, 0755);
}

static void
test_full_disk(void)
{
    static const char data[100000];
    struct rlimit old, small;
    struct pack_error err;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){ 50000, old.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    enum pack_status status = pack_outfile_write(name, false, data, sizeof data, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    ok(status == PACK_ERR_IO && n_files() == 0 && strstr(err.text, strerror(EFBIG)),
       "a full disk leaves nothing: %s", err.text);
}

static void
test_race(void)
{
    enum { N = 8 };
    fflush(stdout);
    for (int i = 0; i < N; i++)
        if (fork() == 0) {
            char text[16];
            snprintf(text, sizeof text, "%d", i);
            enum pack_status status = pack_outfile_write(name, false, text, 1, NULL);
            _exit(status == PACK_OK ? 0 : status == PACK_ERR_EXISTS ? 1 : 2);
        }
    int count[3] = { 0 }, status;
    while (wait(&status) > 0)
        count[WIFEXITED(status) ? WEXITSTATUS(status) : 2]++;
    ok(count[0] == 1 && count[1] == N - 1 && n_files() == 1,
       "of %d writers at once, one wins and the others say why not", N);
    unlink(name);
}

int
main(void)
{
    if (!mkdtemp(folder)) {
        printf("Bail out! cannot make a folder\n");
        return 99;
    }
    snprintf(name, sizeof name, "%s/out", folder);
    snprintf(part, sizeof part, "%s.part", name);
    snprintf(journal, sizeof journal, "%s.journal", part);
    test_plain();
    test_journal();
    test_strangers();
    test_file_systems();
    test_syncs();
    test_published();
    test_renames();
    test_refusals();
    test_strange_journal();
    test_read_only_folder();
    test_full_disk();
    for (int i = 0; i < 20; i++)
        test_race();
    ok(rmdir(folder) == 0, "no file is left over");
    return done();
}
