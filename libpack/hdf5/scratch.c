/*
 * The file has no name: memfd_create(2), or pack_fd_open_nameless(). HDF5
 * opens it through /proc/self/fd/N, which any process forked from this one can do too,
 * and the system takes it away with the last descriptor, kill -9 included.
 *
 * Rows of whole chunks are read with one H5Dread and written with one H5Dwrite, so that
 * each chunk is decoded and encoded once whatever the two grids are, as long as a row
 * fits in SLAB_BYTES; the reader's chunk cache holds a row of its own chunks.
 *
 * All that is done in a process of its own: what HDF5 frees there would raise the sizes
 * from which this process' malloc() takes memory from the system and gives it back, and
 * those of all readers forked from it, which are to be like fresh ones.
 */
#include "libpack/hdf5/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/base/fd.h"
#include "libpack/base/large.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_parts.h"

enum { SLAB_BYTES = 32 << 20, PATH_BYTES = 64, CACHE_BYTES = 64 << 20 };

struct pack_scratch {
    int fd;
    char path[PATH_BYTES];
    uint64_t n_samples;
};

static enum pack_status
claim(const char *dir, struct pack_scratch *s, struct pack_error *err)
{
    s->fd = dir ? pack_fd_open_nameless(dir) : memfd_create("h5pack scratch", MFD_CLOEXEC);
    if (s->fd < 0 && dir)
        return pack_fail_errno(err, errno, "cannot write in '%s'", dir);
    if (s->fd < 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "no files in memory here: %s",
                         strerror(errno));
    snprintf(s->path, sizeof s->path, "/proc/self/fd/%d", s->fd);
    if (access(s->path, R_OK | W_OK) != 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "cannot open '%s': %s", s->path,
                         strerror(errno));
    return PACK_OK;
}

/* ----------------------------------------------------------------- copying */

/* What is open while a copy is made. */
struct copy {
    const struct pack_scratch_params *params;
    struct pack_h5_boxes *from;
    hid_t type; /* the reader's */
    hid_t to_file, creation, to, to_space;
    struct pack_h5_count count;
    int rank;
    hsize_t slab[PACK_RANK_MAX];
    hsize_t extent[PACK_RANK_MAX];
    uint64_t row_bytes, slab_rows;
};

static enum pack_status
open_source(struct copy *c, struct pack_error *err)
{
    const struct pack_scratch_params *p = c->params;
    struct pack_h5_boxes_params how = {
        .file = p->file,
        .dataset = p->dataset,
        .set_cache = true,
        .cache = { .n_slots = 8191, .size_bytes = CACHE_BYTES, .w0 = 1 },
    };
    enum pack_status status = pack_h5_register_zstd(err);
    if (status == PACK_OK)
        status = pack_h5_boxes_open(&how, &c->from, err);
    if (status != PACK_OK)
        return status;
    const struct pack_shape *extent = pack_h5_boxes_extent(c->from);
    c->type = pack_h5_boxes_type(c->from);
    c->rank = extent->rank;
    for (int i = 0; i < c->rank; i++)
        c->extent[i] = extent->extent[i];
    if (p->n_samples < 1 || p->n_samples > c->extent[0])
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%s' has no %llu samples", p->dataset,
                         (unsigned long long)p->n_samples);
    return PACK_OK;
}

/* The creation list; chunks are cut to the copy, which may be smaller. */
static bool
set_layout(struct copy *c)
{
    const struct pack_scratch_params *p = c->params;
    hsize_t chunk[PACK_RANK_MAX];
    c->creation = H5Pcreate(H5P_DATASET_CREATE);
    bool good = c->creation >= 0 && H5Pset_obj_track_times(c->creation, false) >= 0;
    if (!p->chunk.rank)
        return good;
    for (int i = 0; i < c->rank; i++)
        chunk[i] = p->chunk.extent[i] < c->extent[i] ? p->chunk.extent[i] : c->extent[i];
    good = good && H5Pset_chunk(c->creation, c->rank, chunk) >= 0;
    for (int i = 0; good && i < p->pipeline.n; i++) {
        const struct pack_filter *f = &p->pipeline.filter[i];
        unsigned cd[PACK_FILTER_CD_MAX];
        for (uint32_t k = 0; k < f->n_cd; k++)
            cd[k] = f->cd[k];
        good = H5Pset_filter(c->creation, (H5Z_filter_t)f->id, f->flags, f->n_cd, cd) >= 0;
    }
#ifdef H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
    if (good && p->edge_unfiltered)
        good = H5Pset_chunk_opts(c->creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) >= 0;
#endif
    return good;
}

/* In the newest format, as h5pack writes: index look-ups cost what they cost there. */
static enum pack_status
open_target(struct copy *c, const struct pack_scratch *s, struct pack_error *err)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hsize_t most[PACK_RANK_MAX];
    memcpy(most, c->extent, sizeof most);
    if (access < 0 || pack_h5_count_set(access, &c->count, err) != PACK_OK ||
        H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST) < 0 ||
        H5Pset_alignment(access, 4096, 64) < 0 ||
        (c->to_file = H5Fcreate(s->path, H5F_ACC_TRUNC, H5P_DEFAULT, access)) < 0 ||
        (c->to_space = H5Screate_simple(c->rank, c->extent, most)) < 0 || !set_layout(c) ||
        (c->to = H5Dcreate2(c->to_file, PACK_SCRATCH_DATASET, c->type, c->to_space,
                            H5P_DEFAULT, c->creation, H5P_DEFAULT)) < 0) {
        if (access >= 0)
            H5Pclose(access);
        return pack_h5_fail(err, PACK_ERR_IO, "cannot write a copy in another layout");
    }
    H5Pclose(access);
    return PACK_OK;
}

static void
close_all(struct copy *c)
{
    if (c->to_space >= 0)
        H5Sclose(c->to_space);
    if (c->creation >= 0)
        H5Pclose(c->creation);
    pack_h5_boxes_close(c->from);
}

/* Closing writes what is left; a full disk shows here. */
static enum pack_status
close_target(struct copy *c, struct pack_error *err)
{
    bool good = (c->to < 0 || H5Dclose(c->to) >= 0);
    good = (c->to_file < 0 || H5Fclose(c->to_file) >= 0) && good;
    if (c->count.write_errno)
        return pack_fail_errno(err, c->count.write_errno,
                               "cannot write a copy in another layout");
    return good ? PACK_OK
                : pack_h5_fail(err, PACK_ERR_IO, "cannot finish a copy in another layout");
}

static enum pack_status
plan_slab(struct copy *c, struct pack_error *err)
{
    const struct pack_scratch_params *p = c->params;
    uint64_t step = p->chunk.rank ? p->chunk.extent[0] : 1, bytes;
    c->extent[0] = p->n_samples;
    if (step > p->n_samples)
        step = p->n_samples;
    c->row_bytes = H5Tget_size(c->type);
    for (int i = 1; i < c->rank; i++)
        if (!pack_size_mul(c->row_bytes, c->extent[i], &c->row_bytes))
            return pack_fail(err, PACK_ERR_LIMIT, "a sample has more than 2^64 bytes");
    if (!pack_size_mul(c->row_bytes, step, &bytes) || bytes > SIZE_MAX / 4 ||
        bytes > UINT64_C(1) << 31)
        return pack_fail(err, PACK_ERR_LIMIT, "a row of chunks has %llu times %llu bytes",
                         (unsigned long long)step, (unsigned long long)c->row_bytes);
    uint64_t rows = bytes && bytes < SLAB_BYTES ? SLAB_BYTES / bytes : 1;
    c->slab_rows = rows * step;
    memcpy(c->slab, c->extent, sizeof c->slab);
    return PACK_OK;
}

/* Rows first to first + n of the source to the same rows of the target. */
static enum pack_status
copy_slab(struct copy *c, uint64_t first, uint64_t n, void *rows, struct pack_error *err)
{
    hsize_t start[PACK_RANK_MAX] = { first };
    struct pack_box box = { .rank = c->rank, .start = { first } };
    c->slab[0] = n;
    for (int i = 0; i < c->rank; i++)
        box.count[i] = c->slab[i];
    enum pack_status status = pack_h5_boxes_read(c->from, &box, 1, rows, NULL, err);
    if (status != PACK_OK)
        return status;
    hid_t memory = H5Screate_simple(c->rank, c->slab, NULL);
    if (memory < 0 ||
        H5Sselect_hyperslab(c->to_space, H5S_SELECT_SET, start, NULL, c->slab, NULL) < 0 ||
        H5Dwrite(c->to, c->type, memory, c->to_space, H5P_DEFAULT, rows) < 0)
        status = pack_h5_fail(err, PACK_ERR_IO, "cannot write a copy in another layout");
    if (memory >= 0)
        H5Sclose(memory);
    return status;
}

static enum pack_status
copy_rows(struct copy *c, uint64_t *n_samples, struct pack_error *err)
{
    const struct pack_scratch_params *p = c->params;
    uint64_t start_ns = pack_clock_ns(), at = 0;
    void *rows = pack_apart_alloc((size_t)c->slab_rows, (size_t)c->row_bytes);
    enum pack_status status = rows ? PACK_OK : pack_fail_memory(err, "rows to copy");
    while (status == PACK_OK && at < p->n_samples) {
        uint64_t left = p->n_samples - at, n = left < c->slab_rows ? left : c->slab_rows;
        status = copy_slab(c, at, n, rows, err);
        at += n;
        if (status == PACK_OK)
            status = pack_watch_check(&p->watch, err);
        if (p->time_ns && p->chunk.rank && pack_clock_ns() - start_ns > p->time_ns)
            break;
    }
    pack_apart_free(rows);
    if (status == PACK_OK && at < p->n_samples) {
        c->extent[0] = at;
        if (H5Dset_extent(c->to, c->extent) < 0)
            status = pack_h5_fail(err, PACK_ERR_IO, "cannot cut a copy short");
    }
    *n_samples = at;
    return status;
}

static enum pack_status
write_copy(const struct pack_scratch_params *params, const struct pack_scratch *s,
           uint64_t *n_samples, struct pack_error *err)
{
    struct copy c = { .params = params,
                      .type = -1, .to_file = -1, .creation = -1, .to = -1,
                      .to_space = -1 };
    enum pack_status status = open_source(&c, err);
    if (status == PACK_OK)
        status = plan_slab(&c, err);
    if (status == PACK_OK)
        status = open_target(&c, s, err);
    if (status == PACK_OK)
        status = copy_rows(&c, n_samples, err);
    enum pack_status closed = close_target(&c, status == PACK_OK ? err : NULL);
    close_all(&c);
    return status == PACK_OK ? closed : status;
}

/* ------------------------------------------------- in a process of its own */

/* What the writing process leaves for this one, in memory that both share. */
struct outcome {
    bool is_done;
    enum pack_status status;
    struct pack_error error;
    uint64_t n_samples;
};

static void
become_writer(const struct pack_scratch_params *params, const struct pack_scratch *s,
              pid_t parent, struct outcome *outcome)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);           /* the parent was gone before prctl could know */
    signal(SIGINT, SIG_IGN); /* the parent decides */
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    outcome->status = write_copy(params, s, &outcome->n_samples, &outcome->error);
    outcome->is_done = true;
    _exit(0);
}

/* Until the writer has ended, which closes its end of a pipe, or is to be stopped. */
static bool
is_left_alone(const struct pack_scratch_params *params, int end)
{
    enum { LOOK_MS = 20 };
    struct pollfd gone = { .fd = end };
    while (poll(&gone, 1, LOOK_MS) <= 0)
        if (pack_watch_stops(&params->watch))
            return false;
    return true;
}

static enum pack_status
write_apart(const struct pack_scratch_params *params, struct pack_scratch *s,
            struct outcome *outcome, struct pack_error *err)
{
    int ends[2], how = 0;
    pid_t parent = getpid(), writer;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return pack_fail_errno(err, errno, "cannot start a process to write it");
    if ((writer = fork()) == 0)
        become_writer(params, s, parent, outcome);
    int errnum = errno;
    close(ends[1]);
    bool done = writer > 0 && is_left_alone(params, ends[0]);
    close(ends[0]);
    if (writer < 0)
        return pack_fail_errno(err, errnum, "cannot start a process to write it");
    if (!done)
        kill(writer, SIGKILL);
    while (waitpid(writer, &how, 0) < 0 && errno == EINTR)
        continue;
    if (!done)
        return pack_fail(err, PACK_ERR_INTERRUPTED, "interrupted");
    if (!outcome->is_done)
        return pack_fail(err, PACK_ERR_FORMAT, "HDF5 ended its process (signal %d)",
                         WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    if (outcome->status != PACK_OK && err)
        *err = outcome->error;
    s->n_samples = outcome->n_samples;
    return outcome->status;
}

static enum pack_status
fill(const struct pack_scratch_params *params, struct pack_scratch *s,
     struct pack_error *err)
{
    struct outcome *outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED)
        return pack_fail_memory(err, "a scratch file");
    enum pack_status status = write_apart(params, s, outcome, err);
    munmap(outcome, sizeof *outcome);
    return status;
}

enum pack_status
pack_scratch_make(const struct pack_scratch_params *params, struct pack_scratch **scratch,
                  struct pack_error *err)
{
    struct pack_scratch *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "a scratch file");
    pack_h5_quiet();
    enum pack_status status = claim(params->dir, s, err);
    if (status == PACK_OK)
        status = fill(params, s, err);
    if (status != PACK_OK) {
        pack_scratch_close(s);
        return status == PACK_ERR_INTERRUPTED
                   ? status
                   : pack_error_prefix(err, status, "a copy of '%s:/%s' in %s%s%s",
                                       params->file, params->dataset,
                                       params->dir ? "'" : "memory",
                                       params->dir ? params->dir : "",
                                       params->dir ? "'" : "");
    }
    *scratch = s;
    return PACK_OK;
}

const char *
pack_scratch_path(const struct pack_scratch *scratch)
{
    return scratch->path;
}

uint64_t
pack_scratch_samples(const struct pack_scratch *scratch)
{
    return scratch->n_samples;
}

void
pack_scratch_close(struct pack_scratch *scratch)
{
    if (!scratch)
        return;
    if (scratch->fd >= 0)
        close(scratch->fd);
    free(scratch);
}
