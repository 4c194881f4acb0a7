/*
 * HDF5 lets a program bring its own file driver: a table of functions that open, read and
 * write. This one does what HDF5's default driver (H5FD_SEC2) does, with pread and
 * pwrite, and asks a struct of the caller's before each access:
 *
 *     HDF5 ──read, write──▶ hooks ──pass──▶ pread, pwrite
 *                             └───swallow──▶ nothing
 *
 * Doing the system calls here rather than calling H5FD_SEC2 keeps the exact errno of a
 * failure, which HDF5 would bury in a text, and makes truncation ours to decide.
 */
#include "libpack/hdf5/h5_count.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/base/fd.h"
#include "libpack/base/writeback.h"
#include "libpack/hdf5/hdf5_versions.h"
#include "libpack/hdf5/superblock.h"

struct count_file {
    H5FD_t base; /* must be first: HDF5 knows only this part */
    struct pack_h5_count *count;
    struct pack_h5_count *first; /* of the file on whose behalf this one was opened */
    struct pack_h5_count own; /* where nobody wants to know */
    bool is_nameless;
    hid_t driver; /* held: HDF5 lets go of the class before it calls its close */
    int fd;
    dev_t device;
    ino_t inode;
    haddr_t eoa; /* end of what HDF5 has allocated */
    haddr_t eof; /* end of the file as HDF5 may know it, see keep_existing */
    haddr_t cut; /* where a file ends that says otherwise; 0: it does not */
    struct pack_writeback writeback;
};

/* What the property list holds. */
struct count_info {
    struct pack_h5_count *count;
};

/* Files that HDF5 opens by itself are opened with the property list of the file at hand.
 * Without these three functions it would lack our struct, and opening would fail. */
static void *
count_fapl_copy(const void *info)
{
    struct count_info *copy = malloc(sizeof *copy);
    if (copy)
        *copy = *(const struct count_info *)info;
    return copy;
}

static void *
count_fapl_get(H5FD_t *base)
{
    const struct count_info info = { ((const struct count_file *)base)->first };
    return count_fapl_copy(&info);
}

static herr_t
count_fapl_free(void *info)
{
    free(info);
    return 0;
}

enum { COUNT_DRIVER_VALUE = 499 }; /* 256 to 511: drivers that are not registered */

/* Adds a failed read to HDF5's error stack, from which h5.c makes its sentence. */
static void
push_read_error(const struct pack_h5_access *access, int errnum)
{
    char reason[128];
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO,
             H5E_SYSERRSTR, "cannot read %zu bytes at %llu: %s", access->size,
             (unsigned long long)access->address,
             strerror_r(errnum, reason, sizeof reason));
}

/* The same for a failed open or lock. */
static void
open_failed(struct pack_h5_count *count, const char *what, int errnum)
{
    char reason[128];
    count->open_errno = errnum;
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_FILE,
             H5E_SYSERRSTR, "cannot %s: %s", what,
             strerror_r(errnum, reason, sizeof reason));
}

/*
 * Notes the first failure and keeps everything that follows from reaching the file. HDF5
 * is not told: 1.10.8 crashes when it closes a file after a write failed (H5F__close).
 * The caller finds the failure in write_errno.
 */
static herr_t
write_failed(struct pack_h5_count *count, int errnum)
{
    if (count->write_errno == 0)
        count->write_errno = errnum;
    count->discard = true;
    return 0;
}

bool
pack_h5_is_nameless(const char *path)
{
    static const char folder[] = "/proc/self/fd/";
    return strncmp(path, folder, sizeof folder - 1) == 0;
}

/* One that can only be meant so, for it is named by its descriptor. */
static void
note_cut(struct count_file *file)
{
    struct pack_superblock sb;
    if (!pack_superblock_find(file->fd, file->eof, &sb) || sb.has_driver ||
        sb.end_bytes <= file->eof || sb.end_bytes > INT64_MAX)
        return;
    file->cut = file->eof;
    file->eof = sb.end_bytes;
    file->count->is_cut = true;
}

static H5FD_t *
count_open(const char *name, unsigned flags, hid_t fapl_id, haddr_t max_address)
{
    const struct count_info *info = H5Pget_driver_info(fapl_id);
    if (!info || max_address == 0)
        return NULL;
    struct count_file *file = calloc(1, sizeof *file);
    struct pack_h5_count *count = info->count;
    if (!file) {
        if (count)
            open_failed(count, "open", ENOMEM);
        return NULL;
    }
    if (!count)
        count = &file->own;
    bool writable = (flags & H5F_ACC_RDWR) != 0;
    bool truncate = (flags & H5F_ACC_TRUNC) != 0;
    int how = O_CLOEXEC | (writable ? O_RDWR : O_RDONLY);
    if (flags & H5F_ACC_CREAT)
        how |= O_CREAT;
    if (flags & H5F_ACC_EXCL)
        how |= O_EXCL;
    if (truncate && !count->keep_existing && !count->discard)
        how |= count->is_new ? O_EXCL : O_TRUNC;
    if (count->is_new || count->keep_existing)
        how |= O_NOFOLLOW;

    struct stat status;
    file->fd = open(name, how, 0666);
    if (file->fd < 0 || fstat(file->fd, &status) != 0) {
        open_failed(count, "open", errno);
        if (file->fd >= 0)
            close(file->fd);
        free(file);
        return NULL;
    }
    count->open_errno = 0;
    file->first = file->count = count;
    if (count->n_open > 0 && count->on_further) {
        struct pack_h5_count *own = count->on_further(count->context, name);
        file->count = own ? own : count;
    }
    count->n_open++;
    file->is_nameless = pack_h5_is_nameless(name);
    file->driver = H5Pget_driver(fapl_id);
    H5Iinc_ref(file->driver);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->eof = truncate && count->keep_existing ? 0 : (haddr_t)status.st_size;
    if (file->is_nameless && !writable)
        note_cut(file);
    return &file->base;
}

static herr_t
count_close(H5FD_t *base)
{
    struct count_file *file = (struct count_file *)base;
    if (close(file->fd) != 0)
        write_failed(file->count, errno);
    file->first->n_open--;
    /* a call into HDF5 empties the error stack, on which may be why the file is closed */
    hid_t stack = H5Eget_current_stack();
    H5Idec_ref(file->driver);
    H5Eset_current_stack(stack);
    free(file);
    return 0;
}

static int
order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
count_cmp(const H5FD_t *a, const H5FD_t *b)
{
    const struct count_file *x = (const struct count_file *)a;
    const struct count_file *y = (const struct count_file *)b;
    int by_device = order(x->device, y->device);
    return by_device ? by_device : order(x->inode, y->inode);
}

/* The features of H5FD_SEC2, so that HDF5 accumulates, sieves and aggregates alike. */
static herr_t
count_query(const H5FD_t *base, unsigned long *flags)
{
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
             H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    /* HDF5 would look for the name behind the link, to resolve external links by */
    if (base && ((const struct count_file *)base)->is_nameless)
        *flags &= ~(unsigned long)H5FD_FEAT_POSIX_COMPAT_HANDLE;
    return 0;
}

static haddr_t
count_get_eoa(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const struct count_file *)base)->eoa;
}

static herr_t
count_set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((struct count_file *)base)->eoa = address;
    return 0;
}

static haddr_t
count_get_eof(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const struct count_file *)base)->eof;
}

static herr_t
count_get_handle(H5FD_t *base, hid_t fapl_id, void **handle)
{
    (void)fapl_id;
    *handle = &((struct count_file *)base)->fd;
    return 0;
}

static bool
is_region(haddr_t address, size_t size)
{
    return address <= INT64_MAX && size <= (uint64_t)INT64_MAX - address;
}

/* Reads all of it; what lies behind the end of the file reads as zeros, as H5FD_SEC2 has
 * it. */
static bool
read_fully(int fd, void *buffer, size_t size, uint64_t address)
{
    size_t got;
    if (!pack_fd_read_at(fd, buffer, size, address, &got))
        return false;
    memset((unsigned char *)buffer + got, 0, size - got);
    return true;
}

static herr_t
count_read(H5FD_t *base, H5FD_mem_t type, hid_t dxpl_id, haddr_t address, size_t size,
           void *buffer)
{
    (void)dxpl_id;
    struct count_file *file = (struct count_file *)base;
    struct pack_h5_count *count = file->count;
    struct pack_h5_access access = { type == H5FD_MEM_DRAW, address, size };
    if (!is_region(address, size))
        return -1;
    if (count->on_read && count->on_read(count->context, &access) == PACK_H5_SWALLOW)
        return 0;
    if (file->cut && access.raw && (address > file->cut || size > file->cut - address))
        count->n_beyond++;
    uint64_t start = pack_clock_ns();
    if (!read_fully(file->fd, buffer, size, address)) {
        if (count->read_errno == 0)
            count->read_errno = errno;
        push_read_error(&access, errno);
        return -1;
    }
    uint64_t elapsed = pack_clock_ns() - start;
    struct pack_h5_counters *counters = access.raw ? &count->raw : &count->metadata;
    counters->file_reads++;
    counters->file_read_bytes += size;
    counters->file_read_ns += elapsed;
    if (count->on_read_done)
        count->on_read_done(count->context, &access, start, elapsed);
    return 0;
}

static bool
cut_existing(struct count_file *file)
{
    struct stat status;
    file->count->cut_next = false;
    return fstat(file->fd, &status) == 0 &&
           ((haddr_t)status.st_size <= file->eof ||
            ftruncate(file->fd, (off_t)file->eof) == 0);
}

static herr_t
count_write(H5FD_t *base, H5FD_mem_t type, hid_t dxpl_id, haddr_t address, size_t size,
            const void *data)
{
    (void)dxpl_id;
    struct count_file *file = (struct count_file *)base;
    struct pack_h5_count *count = file->count;
    struct pack_h5_access access = { type == H5FD_MEM_DRAW, address, size };
    if (!is_region(address, size))
        return -1;
    bool pass = !count->discard;
    if (pass && count->on_write)
        pass = count->on_write(count->context, &access, data) == PACK_H5_PASS &&
               !count->discard;
    if (pass && count->cut_next && !cut_existing(file)) {
        write_failed(count, errno);
        pass = false;
    }
    if (pass) {
        uint64_t start = pack_clock_ns();
        if (!pack_fd_write_at(file->fd, data, size, address) ||
            (count->write_back && access.raw &&
             !pack_writeback(&file->writeback, file->fd, address + size)))
            write_failed(count, errno);
        struct pack_h5_counters *counters = access.raw ? &count->raw : &count->metadata;
        counters->file_writes++;
        counters->file_write_bytes += size;
        counters->file_write_ns += pack_clock_ns() - start;
    }
    if (address + size > file->eof)
        file->eof = address + size;
    return 0;
}

static herr_t
count_flush(H5FD_t *base, hid_t dxpl_id, hbool_t closing)
{
    (void)base, (void)dxpl_id, (void)closing; /* as H5FD_SEC2: nothing is buffered here */
    return 0;
}

static herr_t
count_truncate(H5FD_t *base, hid_t dxpl_id, hbool_t closing)
{
    (void)dxpl_id;
    struct count_file *file = (struct count_file *)base;
    struct pack_h5_count *count = file->count;
    if (file->eof == file->eoa && !(count->keep_existing && closing))
        return 0;
    struct stat status;
    if (!count->discard) {
        if (fstat(file->fd, &status) != 0)
            return write_failed(count, errno);
        bool shrinks = (haddr_t)status.st_size > file->eoa;
        if ((haddr_t)status.st_size != file->eoa &&
            !(shrinks && count->keep_existing && !closing) &&
            ftruncate(file->fd, (off_t)file->eoa) != 0)
            return write_failed(count, errno);
    }
    file->eof = file->eoa;
    return 0;
}

/* Advisory locks as H5FD_SEC2 takes them; a file system that has none, which it says in
 * many ways, is used without. */
static herr_t
set_lock(H5FD_t *base, int operation)
{
    struct count_file *file = (struct count_file *)base;
    if (flock(file->fd, operation) == 0 || errno != EWOULDBLOCK)
        return 0;
    open_failed(file->count, "lock", errno);
    return -1;
}

static herr_t
count_lock(H5FD_t *base, hbool_t writes)
{
    return set_lock(base, (writes ? LOCK_EX : LOCK_SH) | LOCK_NB);
}

static herr_t
count_unlock(H5FD_t *base)
{
    return set_lock(base, LOCK_UN);
}

static const H5FD_class_t count_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = COUNT_DRIVER_VALUE,
#endif
    .name = "h5pack_count",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct count_info),
    .fapl_get = count_fapl_get,
    .fapl_copy = count_fapl_copy,
    .fapl_free = count_fapl_free,
    .open = count_open,
    .close = count_close,
    .cmp = count_cmp,
    .query = count_query,
    .get_eoa = count_get_eoa,
    .set_eoa = count_set_eoa,
    .get_eof = count_get_eof,
    .get_handle = count_get_handle,
    .read = count_read,
    .write = count_write,
    .flush = count_flush,
    .truncate = count_truncate,
    .lock = count_lock,
    .unlock = count_unlock,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

enum pack_status
pack_h5_count_set(int64_t fapl_id, struct pack_h5_count *count, struct pack_error *err)
{
    struct count_info info = { count };
    hid_t driver = H5FDregister(&count_class);
    herr_t set = driver < 0 ? -1 : H5Pset_driver(fapl_id, driver, &info);
    if (driver >= 0)
        H5Idec_ref(driver); /* the list holds it from here on */
    if (set < 0)
        return pack_fail_memory(err, "a file driver for HDF5");
    return PACK_OK;
}
