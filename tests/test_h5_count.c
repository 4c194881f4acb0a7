/* The counting driver: HDF5 does the same with it as without, every access is seen once,
 * and swallowed or discarded ones leave the file alone. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/hdf5/h5_count.h"
#include "libpack/hdf5/h5_parts.h"
#include "tests/tap.h"

enum {
    N_ROWS = 60,
    N_COLUMNS = 50,
    CHUNK_ROWS = 10,
    CHUNK_BYTES = CHUNK_ROWS * N_COLUMNS
};

static const char path[] = "test_h5_count.tmp.h5", other[] = "test_h5_count.tmp2.h5";

static hid_t
new_fapl(struct pack_h5_count *count)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (count && pack_h5_count_set(fapl, count, NULL) != PACK_OK)
        ok(false, "the driver registers");
    return fapl;
}

static void
fill(uint8_t *data, unsigned seed)
{
    for (int i = 0; i < N_ROWS * N_COLUMNS; i++)
        data[i] = (uint8_t)(i * 31u + i / 7u + seed);
}

/* Creates a chunked dataset through the given list; false when HDF5 fails anywhere. */
static bool
create(const char *name, hid_t fapl, const uint8_t *data)
{
    hsize_t dims[] = { N_ROWS, N_COLUMNS }, chunk[] = { CHUNK_ROWS, N_COLUMNS };
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(dcpl, false);
    H5Pset_chunk(dcpl, 2, chunk);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, fcpl, fapl);
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t set =
        H5Dcreate2(file, "x", H5T_NATIVE_UINT8, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    bool good = set >= 0 &&
                H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    if (set >= 0)
        good &= H5Dclose(set) >= 0;
    H5Sclose(space);
    if (file >= 0)
        good &= H5Fclose(file) >= 0;
    H5Pclose(dcpl);
    H5Pclose(fcpl);
    return good && file >= 0;
}

/* Reads dataset x; false when HDF5 fails. */
static bool
read_back(hid_t fapl, uint8_t *data)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    hid_t set = file < 0 ? -1 : H5Dopen2(file, "x", H5P_DEFAULT);
    bool good = set >= 0 &&
                H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    if (set >= 0)
        H5Dclose(set);
    if (file >= 0)
        H5Fclose(file);
    return good;
}

static size_t
slurp(const char *name, uint8_t *buffer, size_t capacity)
{
    FILE *f = fopen(name, "rb");
    size_t size = f ? fread(buffer, 1, capacity, f) : 0;
    if (f)
        fclose(f);
    return size;
}

static bool
same_files(const char *a, const char *b)
{
    static uint8_t x[1 << 17], y[1 << 17];
    size_t size = slurp(a, x, sizeof x);
    return size > 0 && size == slurp(b, y, sizeof y) && memcmp(x, y, size) == 0;
}

/* Notes the raw accesses it sees; swallows what it is told to. */
struct log {
    uint64_t address[64];
    size_t size[64];
    int n, n_done;
    bool swallow;
    struct pack_h5_count *count;
    int discard_after; /* writes; -1: never */
};

static enum pack_h5_action
log_read(void *context, const struct pack_h5_access *access)
{
    struct log *log = context;
    if (!access->raw)
        return PACK_H5_PASS;
    log->address[log->n % 64] = access->address;
    log->size[log->n++ % 64] = access->size;
    return log->swallow ? PACK_H5_SWALLOW : PACK_H5_PASS;
}

static void
log_done(void *context, const struct pack_h5_access *access, uint64_t start,
         uint64_t elapsed)
{
    struct log *log = context;
    log->n_done += access->raw && start > 0 && elapsed < UINT64_C(60000000000);
}

static enum pack_h5_action
log_write(void *context, const struct pack_h5_access *access, const void *data)
{
    struct log *log = context;
    (void)data;
    if (log->discard_after >= 0 && log->n++ == log->discard_after)
        log->count->discard = true;
    return log->swallow && access->raw ? PACK_H5_SWALLOW : PACK_H5_PASS;
}

static void
test_counts(const uint8_t *data)
{
    static uint8_t got[N_ROWS * N_COLUMNS];
    struct pack_h5_count writing = { 0 };
    hid_t fapl = new_fapl(&writing);
    ok(create(path, fapl, data), "a file is written through the driver");
    H5Pclose(fapl);
    ok(create(other, H5P_DEFAULT, data) && same_files(path, other),
       "and equals the stock driver's byte for byte");
    is_number((long long)writing.raw.file_writes, N_ROWS / CHUNK_ROWS,
              "one raw write per chunk");
    is_number((long long)writing.raw.file_write_bytes, N_ROWS * N_COLUMNS,
              "of all its bytes");
    ok(writing.metadata.file_writes > 0, "metadata is counted apart");

    struct log log = { .discard_after = -1 };
    struct pack_h5_count reading = { .context = &log,
                                     .on_read = log_read,
                                     .on_read_done = log_done };
    fapl = new_fapl(&reading);
    ok(read_back(fapl, got) && memcmp(got, data, sizeof got) == 0, "it reads back");
    is_number((long long)reading.raw.file_reads, N_ROWS / CHUNK_ROWS,
              "one raw read per chunk");
    is_number((long long)reading.raw.file_read_bytes, sizeof got, "of all its bytes");
    ok(reading.metadata.file_reads > 0, "metadata reads are counted apart");
    is_number(log.n_done, N_ROWS / CHUNK_ROWS, "each with its time");
    static uint8_t bytes[1 << 17];
    slurp(path, bytes, sizeof bytes);
    int wrong = 0;
    for (int i = 0; i < N_ROWS / CHUNK_ROWS; i++)
        wrong += log.size[i] != CHUNK_BYTES ||
                 memcmp(bytes + log.address[i], data + i * CHUNK_BYTES, CHUNK_BYTES) != 0;
    is_number(wrong, 0, "the addresses are where the chunks' bytes are in the file");

    log.swallow = true;
    reading.raw.file_reads = 0;
    memset(got, 0xA5, sizeof got);
    ok(read_back(fapl, got) && reading.raw.file_reads == 0,
       "swallowed reads succeed and do not count");
    H5Pclose(fapl);
}

static void
test_errors(const uint8_t *data)
{
    struct pack_h5_count count = { 0 };
    hid_t fapl = new_fapl(&count);
    ok(H5Fopen("/nonexistent/x.h5", H5F_ACC_RDONLY, fapl) < 0 &&
           count.open_errno == ENOENT,
       "a missing file fails with ENOENT");
    ok(H5Fopen("/", H5F_ACC_RDWR, fapl) < 0 && count.open_errno == EISDIR,
       "a folder fails with EISDIR");
    unlink(path);
    ok(create(path, fapl, data) && count.open_errno == 0,
       "a file that is created leaves no errno behind");

    struct rlimit old, small = { 4000, 4000 };
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    ok(create(path, fapl, data), "HDF5 is not told of a failed write");
    setrlimit(RLIMIT_FSIZE, &old);
    is_number(count.write_errno, EFBIG, "we are, with its exact errno");
    ok(count.discard, "and nothing is written after it");
    struct stat status;
    ok(stat(path, &status) == 0 && status.st_size <= 4000, "the file stays short");
    H5Pclose(fapl);
}

/* What HDF5 seldom asks of a driver: behind the end of the file are zeros, as H5FD_SEC2 has
 * it; the file's descriptor, its locks and which file it is are told. */
static void
test_driver(const uint8_t *data)
{
    static uint8_t bytes[1 << 17], got[64];
    struct pack_h5_count count = { 0 };
    hid_t fapl = new_fapl(&count);
    struct stat st;
    void *handle = NULL;
    create(path, H5P_DEFAULT, data);
    create(other, H5P_DEFAULT, data);
    size_t size = slurp(path, bytes, sizeof bytes);
    H5FD_t *file = H5FDopen(path, H5F_ACC_RDONLY, fapl, HADDR_UNDEF);
    H5FD_t *again = H5FDopen(path, H5F_ACC_RDONLY, fapl, HADDR_UNDEF);
    H5FD_t *else_ = H5FDopen(other, H5F_ACC_RDONLY, fapl, HADDR_UNDEF);
    if (!ok(file && again && else_ && size > 0 && count.n_open == 3, "files are opened alone"))
        return;
    memset(got, 0xee, sizeof got);
    bool read = H5FDset_eoa(file, H5FD_MEM_DRAW, size + 100) >= 0 &&
                H5FDread(file, H5FD_MEM_DRAW, H5P_DEFAULT, size - 10, 60, got) >= 0;
    int wrong = memcmp(got, bytes + size - 10, 10) != 0;
    for (int i = 10; i < 64; i++)
        wrong += got[i] != (i < 60 ? 0 : 0xee);
    ok(read && wrong == 0 && count.raw.file_reads == 1 && count.raw.file_read_bytes == 60,
       "what lies behind the end is zeros");
    read = H5FDread(file, H5FD_MEM_SUPER, H5P_DEFAULT, 0, 8, got) >= 0;
    ok(read && memcmp(got, "\x89HDF\r\n\x1a\n", 8) == 0 && count.metadata.file_reads == 1 &&
           count.metadata.file_read_bytes == 8 && count.raw.file_reads == 1,
       "other reads are of metadata");
    ok(H5FDget_vfd_handle(file, fapl, &handle) >= 0 && fstat(*(int *)handle, &st) == 0 &&
           (size_t)st.st_size == size,
       "the descriptor is that of the file");
    ok(H5FDcmp(file, again) == 0 && H5FDcmp(file, else_) != 0 &&
           H5FDcmp(file, else_) == -H5FDcmp(else_, file),
       "a file is itself, however often it is open");
    ok(H5FDget_eof(file, H5FD_MEM_DRAW) == size && H5FDget_eoa(file, H5FD_MEM_DRAW) == size + 100,
       "its end is known");
    bool locked = H5FDlock(file, true) >= 0;
    ok(locked && H5FDlock(again, false) < 0 && count.open_errno == EWOULDBLOCK,
       "who writes locks readers out");
    ok(H5FDunlock(file) >= 0 && H5FDlock(again, true) >= 0 && H5FDunlock(again) >= 0 &&
           H5FDlock(again, false) >= 0 && H5FDlock(file, false) >= 0,
       "until it is done; readers lock none out");
    H5FDclose(file);
    H5FDclose(again);
    H5FDclose(else_);
    is_number(count.n_open, 0, "all are closed");
    ok(!H5FDopen(other, H5F_ACC_RDWR | H5F_ACC_CREAT | H5F_ACC_EXCL, fapl, HADDR_UNDEF) &&
           count.open_errno == EEXIST,
       "a file that is to be new may not be there");
    H5Pclose(fapl);
}

/*
 * Discard at the n-th write stands for a kill there. Run again with keep_existing, the
 * same calls must end in the same bytes, although the raw writes that the killed run did
 * are swallowed.
 */
static void
test_interrupted(const uint8_t *data)
{
    create(other, H5P_DEFAULT, data);
    int bad = 0, n;
    for (n = 0;; n++) {
        struct pack_h5_count count = { 0 };
        struct log log = { .count = &count, .discard_after = n };
        count.context = &log;
        count.on_write = log_write;
        hid_t fapl = new_fapl(&count);
        unlink(path);
        bad += !create(path, fapl, data);
        bool complete = !count.discard;
        bad += complete != same_files(path, other);
        log.discard_after = -1;
        count.discard = false;
        count.keep_existing = true;
        log.swallow = complete;
        bad += !create(path, fapl, data) || !same_files(path, other);
        H5Pclose(fapl);
        if (complete || n > 1000)
            break;
    }
    ok(bad == 0 && n >= N_ROWS / CHUNK_ROWS,
       "stopped at any of %d writes, the same calls over the same file complete it", n);
}

int
main(void)
{
    static uint8_t data[N_ROWS * N_COLUMNS];
    fill(data, 1);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    test_counts(data);
    test_errors(data);
    test_driver(data);
    test_interrupted(data);
    unlink(path);
    unlink(other);
    return done();
}
