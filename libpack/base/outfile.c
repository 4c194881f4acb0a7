/*
 * Nothing appears under the final name before it is complete and on the disk:
 *
 *     lock ─▶ write NAME.part ─▶ fsync ─▶ rename to NAME ─▶ fsync folder ─▶ remove journal
 *
 * An interruption before the rename leaves NAME.part (and the journal), one after it NAME
 * and a journal without NAME.part, by which a run that resumes sees that nothing is left to
 * do. The lock is taken first and everything else is looked at under it.
 */
#include "libpack/base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/fd.h"
#include "libpack/base/journal.h"
#include "libpack/base/publish.h"

enum { LOOKS_MAX = 100 }; /* until a file is found to be the one that is open */

struct pack_outfile {
    char *path, *part, *journal, *folder;
    struct pack_outfile_params params;
    int lock;        /* the journal, or NAME.part when there is none */
    FILE *stream;    /* writes NAME.part; NULL with journal */
    int write_errno; /* of the first write of the stream that failed */
    bool resumed, published;
    bool replace; /* what is under the final name */
};

static void
outfile_free(struct pack_outfile *out)
{
    if (out->stream)
        fclose(out->stream);
    if (out->lock >= 0)
        close(out->lock);
    free(out->path);
    free(out->part);
    free(out->journal);
    free(out->folder);
    free(out);
}

static char *
concat(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b) + 1;
    char *text = malloc(a_size + b_size);
    if (text) {
        memcpy(text, a, a_size);
        memcpy(text + a_size, b, b_size);
    }
    return text;
}

/* The folder that holds `path`: what is before the last slash, "/" or ".". */
static char *
folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Whether an open file begins as those of its kind do. */
static bool
begins_alike(const struct pack_outfile *out, int fd)
{
    char head[64];
    const char *begins = out->params.begins;
    size_t size = begins ? strlen(begins) : 0, got;
    return size > 0 && size <= sizeof head && pack_fd_read_at(fd, head, size, 0, &got) &&
           got == size && memcmp(head, begins, size) == 0;
}

/* Whether it can be one that a power cut left: without its bytes, or cut off in the first. */
static bool
may_be_torn(const struct pack_outfile *out, int fd)
{
    static const char zeros[64];
    char head[sizeof zeros];
    const char *begins = out->params.begins;
    size_t size = begins ? strlen(begins) : 0, got;
    return size > 0 && size <= sizeof head && pack_fd_read_at(fd, head, size, 0, &got) &&
           (memcmp(head, zeros, got) == 0 || (got < size && memcmp(head, begins, got) == 0));
}

static bool
is_alike(const struct pack_outfile *out, const char *path)
{
    int fd = out->params.begins ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    bool alike = fd >= 0 && begins_alike(out, fd);
    if (fd >= 0)
        close(fd);
    return alike;
}

/* What lets a run replace the file that is there: of one that was begun, or finished, a
 * journal is left. */
static const char *
way_out(const struct pack_outfile *out)
{
    struct stat status;
    if (!out->params.journal || lstat(out->journal, &status) != 0 || status.st_size == 0)
        return "force";
    return lstat(out->part, &status) == 0 ? "force_resume" : "force_finished";
}

/* With `resume`, that there is nothing to go on with. */
static const char *
nothing_left(const struct pack_outfile *out)
{
    struct stat status;
    return out->params.journal && out->params.resume && lstat(out->journal, &status) != 0
               ? ", and no interrupted run is left to go on with"
               : "";
}

/* Whether `path` may be what a run made that was killed before it removed its journal. */
static bool
may_be_published(const struct pack_outfile *out)
{
    struct stat status;
    return out->params.journal && out->params.resume && lstat(out->path, &status) == 0 &&
           S_ISREG(status.st_mode) && lstat(out->part, &status) != 0 && errno == ENOENT &&
           lstat(out->journal, &status) == 0 && status.st_size > 0;
}

/* Said of the folder, not of a file beside `path` that nobody asked for. */
static enum pack_status
check_folder(const struct pack_outfile *out, struct pack_error *err)
{
    struct stat st;
    return stat(out->folder, &st) != 0 && (errno == ENOENT || errno == ENOTDIR)
               ? pack_fail(err, PACK_ERR_NOT_FOUND,
                           "cannot create '%s': there is no folder '%s'", out->path, out->folder)
               : PACK_OK;
}

/* Whether a link leads into /proc, as /dev/stdout does: others need the link. */
static bool
is_of_proc(const char *path)
{
    char text[8];
    return readlink(path, text, sizeof text) >= 6 && memcmp(text, "/proc/", 6) == 0;
}

/* `path` may be created, or replaced when forced; a link is replaced itself. */
static enum pack_status
check_target(struct pack_outfile *out, struct pack_error *err)
{
    struct stat status;
    if (lstat(out->path, &status) != 0)
        return errno == ENOENT
                   ? PACK_OK
                   : pack_fail_errno(err, errno, "cannot create '%s'", out->path);
    bool is_link = S_ISLNK(status.st_mode);
    if (is_link && is_of_proc(out->path))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "cannot create '%s': it names what a process has open", out->path);
    if (is_link && stat(out->path, &status) != 0 && errno == ENOENT)
        status.st_mode = S_IFREG; /* a link to nothing may be replaced */
    if (S_ISDIR(status.st_mode))
        return pack_fail(err, PACK_ERR_ARGUMENT, "cannot create '%s': it is a folder",
                         out->path);
    if (!S_ISREG(status.st_mode))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "cannot create '%s': it is not a regular file", out->path);
    out->replace = out->replace || is_alike(out, out->path);
    return out->replace || may_be_published(out)
               ? PACK_OK
               : pack_fail_param(err, PACK_ERR_EXISTS, way_out(out), "'%s' exists%s",
                                 out->path, nothing_left(out));
}

/* Opens `name`, or creates it; *created stays true for a file that we made before and
 * that is still empty. */
static int
open_or_create(const char *name, bool *created)
{
    int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, fd = -1;
    struct stat st;
    for (int i = 0; i < LOOKS_MAX && fd < 0; i++) { /* others create and remove it, too */
        fd = open(name, how);
        if (fd >= 0)
            *created = *created && fstat(fd, &st) == 0 && st.st_size == 0;
        else if (errno == ENOENT)
            *created = (fd = open(name, how | O_CREAT | O_EXCL, 0666)) >= 0;
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/*
 * Opens and locks `name`, creating it (*created) when it is not there. The file may be
 * renamed or removed by its owner between our open and our lock: then what we hold is not
 * what is there, and we look again. File systems that number their files anew at each
 * look never show what we hold; file systems without locks are used without.
 */
static enum pack_status
open_locked(const char *name, int *fd, bool *created, struct pack_error *err)
{
    for (int i = 0;; i++) {
        struct stat mine, there;
        *fd = open_or_create(name, created);
        if (*fd < 0 && errno == ELOOP)
            return pack_fail(err, PACK_ERR_EXISTS,
                             "'%s' is a symbolic link, which is not followed: remove it",
                             name);
        if (*fd < 0)
            return pack_fail_errno(err, errno, "cannot create '%s'", name);
        if (fstat(*fd, &mine) != 0)
            return pack_fail_errno(err, errno, "cannot stat '%s'", name);
        if (!S_ISREG(mine.st_mode))
            return pack_fail(err, PACK_ERR_ARGUMENT, "'%s' is not a regular file", name);
        if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            *created = false; /* it is the other's now */
            return pack_fail(err, PACK_ERR_EXISTS,
                             "'%s' is being written by another process", name);
        }
        bool found = lstat(name, &there) == 0;
        if (found && ((there.st_ino == mine.st_ino && there.st_dev == mine.st_dev) ||
                      i == LOOKS_MAX))
            return PACK_OK;
        close(*fd);
        *fd = -1;
        if (i == LOOKS_MAX)
            return pack_fail(err, PACK_ERR_IO, "'%s' is gone each time it was made", name);
    }
}

/* With journal: is there something to resume, or something in the way? */
static enum pack_status
check_leftover(struct pack_outfile *out, bool journal_is_new, struct pack_error *err)
{
    struct stat part;
    bool found = lstat(out->part, &part) == 0;
    if (!found && errno != ENOENT)
        return pack_fail_errno(err, errno, "cannot stat '%s'", out->part);
    out->published = may_be_published(out) && pack_journal_may_be(out->lock);
    if (!found)
        return out->params.force || pack_journal_may_be(out->lock)
                   ? PACK_OK
                   : pack_fail_param(err, PACK_ERR_EXISTS, "force",
                                     "'%s' is in the way: it is no journal", out->journal);
    if (S_ISDIR(part.st_mode))
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%s' is in the way: it is a folder",
                         out->part);
    if (out->params.resume && !journal_is_new && !S_ISREG(part.st_mode))
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%s' is not a regular file", out->part);
    if (out->params.resume && !journal_is_new) {
        out->resumed = true;
        return PACK_OK;
    }
    if (out->params.force) {
        if (unlink(out->part) != 0)
            return pack_fail_errno(err, errno, "cannot remove '%s'", out->part);
        return PACK_OK;
    }
    if (journal_is_new)
        return pack_fail_param(err, PACK_ERR_EXISTS, "force",
                               "'%s' is in the way and has no journal to resume from",
                               out->part);
    return pack_fail_param(err, PACK_ERR_EXISTS, "resume",
                           "'%s' is left of an interrupted run", out->part);
}

/* What the stream does with a full buffer. Keeps errno, which stdio does not. */
static ssize_t
stream_write(void *cookie, const char *data, size_t size)
{
    struct pack_outfile *out = cookie;
    size_t done = 0;
    while (done < size) {
        ssize_t put = write(out->lock, data + done, size - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            if (out->write_errno == 0)
                out->write_errno = errno;
            return 0;
        }
        done += (size_t)put;
    }
    return (ssize_t)done;
}

/* Without journal: what a killed run left is taken over, a file of someone else's is not. */
static enum pack_status
open_stream(struct pack_outfile *out, struct pack_error *err)
{
    struct stat part;
    if (fstat(out->lock, &part) != 0)
        return pack_fail_errno(err, errno, "cannot stat '%s'", out->part);
    if (part.st_size > 0 && !out->params.force && !begins_alike(out, out->lock) &&
        !may_be_torn(out, out->lock))
        return pack_fail_param(err, PACK_ERR_EXISTS, "force", "'%s' is in the way",
                               out->part);
    if (ftruncate(out->lock, 0) != 0)
        return pack_fail_errno(err, errno, "cannot truncate '%s'", out->part);
    out->stream = fopencookie(out, "w", (cookie_io_functions_t){ .write = stream_write });
    return out->stream ? PACK_OK : pack_fail_memory(err, "output stream");
}

enum pack_status
pack_outfile_open(const char *path, const struct pack_outfile_params *params,
                  struct pack_outfile **out_, struct pack_error *err)
{
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%s' is not the name of a file", path);
    struct pack_outfile *out = calloc(1, sizeof *out);
    if (!out)
        return pack_fail_memory(err, "output file");
    bool created = false;
    enum pack_status status;
    out->lock = -1;
    out->params = *params;
    out->replace = params->force;
    out->path = strdup(path);
    out->part = concat(path, ".part");
    out->journal = concat(path, ".part.journal");
    out->folder = folder_of(path);
    if (!out->path || !out->part || !out->journal || !out->folder) {
        status = pack_fail_memory(err, "output file");
        goto out;
    }
    const char *lock_path = params->journal ? out->journal : out->part;
    status = check_folder(out, err);
    if (!status)
        status = check_target(out, err);
    if (!status)
        status = open_locked(lock_path, &out->lock, &created, err);
    if (!status)
        status = check_target(out, err); /* another run may just have finished */
    if (!status)
        status =
            params->journal ? check_leftover(out, created, err) : open_stream(out, err);
    if (status && created)
        unlink(lock_path);
out:
    if (status)
        outfile_free(out);
    else
        *out_ = out;
    return status;
}

const char *
pack_outfile_path(const struct pack_outfile *out)
{
    return out->path;
}

const char *
pack_outfile_part_path(const struct pack_outfile *out)
{
    return out->part;
}

const char *
pack_outfile_journal_path(const struct pack_outfile *out)
{
    return out->journal;
}

bool
pack_outfile_is_resumed(const struct pack_outfile *out)
{
    return out->resumed;
}

bool
pack_outfile_is_published(const struct pack_outfile *out)
{
    return out->published;
}

enum pack_status
pack_outfile_restart(struct pack_outfile *out, struct pack_error *err)
{
    if (out->resumed && unlink(out->part) != 0)
        return pack_fail_errno(err, errno, "cannot remove '%s'", out->part);
    out->resumed = false;
    return PACK_OK;
}

int
pack_outfile_journal_fd(const struct pack_outfile *out)
{
    return out->params.journal ? out->lock : -1;
}

FILE *
pack_outfile_stream(struct pack_outfile *out)
{
    return out->stream;
}

static enum pack_status
sync_file(const char *path, struct pack_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return pack_fail_errno(err, errno, "cannot open '%s' to sync it", path);
    enum pack_status status = PACK_OK;
    if (fsync(fd) != 0)
        status = pack_fail_errno(err, errno, "cannot sync '%s'", path);
    close(fd);
    return status;
}

static enum pack_status
sync_part(struct pack_outfile *out, struct pack_error *err)
{
    if (!out->stream)
        return sync_file(out->part, err);
    bool bad = ferror(out->stream) != 0;
    if (fflush(out->stream) != 0 || bad)
        return pack_fail_errno(err, out->write_errno ? out->write_errno : EIO,
                               "cannot write '%s'", out->part);
    if (fsync(out->lock) != 0)
        return pack_fail_errno(err, errno, "cannot sync '%s'", out->part);
    return PACK_OK;
}

enum pack_status
pack_outfile_commit(struct pack_outfile *out, struct pack_error *err)
{
    enum pack_status status = sync_part(out, err);
    if (!status)
        status = pack_publish(out->part, out->path, out->folder, out->replace, err);
    if (status) {
        pack_outfile_abandon(out);
        return status;
    }
    if (out->params.journal)
        unlink(out->journal);
    outfile_free(out);
    return PACK_OK;
}

enum pack_status
pack_outfile_settle(struct pack_outfile *out, struct pack_error *err)
{
    enum pack_status status = pack_publish_sync(out->path, out->folder, err);
    if (!status)
        unlink(out->journal);
    outfile_free(out);
    return status;
}

void
pack_outfile_abandon(struct pack_outfile *out)
{
    if (!out)
        return;
    if (!out->params.journal)
        unlink(out->part);
    outfile_free(out);
}

void
pack_outfile_discard(struct pack_outfile *out)
{
    if (!out)
        return;
    unlink(out->part);
    if (out->params.journal)
        unlink(out->journal);
    outfile_free(out);
}

enum pack_status
pack_outfile_check(const char *path, bool force, struct pack_error *err)
{
    struct pack_outfile_params params = { .force = force };
    struct pack_outfile *out = NULL;
    enum pack_status status = path ? pack_outfile_open(path, &params, &out, err) : PACK_OK;
    pack_outfile_abandon(out);
    return status;
}

enum pack_status
pack_outfile_write(const char *path, bool force, const void *data, size_t size,
                   struct pack_error *err)
{
    struct pack_outfile_params params = { .force = force };
    struct pack_outfile *out;
    enum pack_status status = pack_outfile_open(path, &params, &out, err);
    if (status)
        return status;
    fwrite(data, 1, size, pack_outfile_stream(out));
    return pack_outfile_commit(out, err);
}
