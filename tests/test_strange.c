/* Files that others make and HDF5 reads: chunks larger than the dataset, filters that are
 * not here, zstd without a plugin, chunks that pack well, badly or are not there. The advisor answers, and says what it assumed. */
#include <unistd.h>

#include <libpack/dataset.h>

#include "libpack/advise/advise_request.h"
#include "libpack/bench/bench.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "tests/tap.h"

static const char path[] = "strange.h5";

static size_t
pass_on(unsigned flags, size_t n_cd, const unsigned *cd, size_t size, size_t *buf_size,
        void **buf)
{
    (void)flags, (void)n_cd, (void)cd, (void)buf_size, (void)buf;
    return size;
}

static const H5Z_class2_t blosc_class = { .version = H5Z_CLASS_T_VERS,
                                          .id = 32001,
                                          .encoder_present = 1,
                                          .decoder_present = 1,
                                          .name = "no blosc at all",
                                          .filter = pass_on };

struct kind {
    hsize_t extent[2], chunk[2];
    int filter; /* 0: none */
};

/* One dataset "d" of uint8, every byte different from its neighbours. */
static bool
make(const struct kind *kind)
{
    hsize_t most[2] = { H5S_UNLIMITED, H5S_UNLIMITED };
    unsigned char data[64 * 64];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7 % 61);
    H5Zregister(&blosc_class);
    H5Zregister(&pack_h5_zstd_class);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, kind->extent, most);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, kind->chunk);
    if (kind->filter)
        H5Pset_filter(list, kind->filter, H5Z_FLAG_MANDATORY, 0, NULL);
    hid_t set = H5Dcreate2(file, "d", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool done = H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    done = H5Fclose(file) >= 0 && done;
    H5Zunregister(blosc_class.id);
    H5Zunregister(pack_h5_zstd_class.id);
    return done;
}

static const struct pack_advise_request request = {
    .data.file = "strange.h5",
    .reading.batch = 4,
    .reading.workers = 1,
    .reading.epochs = 2,
    .cache.bytes = UINT64_MAX,
    .cache.slots = UINT64_MAX,
    .cache.w0 = -1,
    .machine.storage = "nvme",
    .machine.memory_bytes = 1 << 30,
    .machine.ram_bytes = 1 << 30,
};

static bool
advise(struct pack_advise_result *result)
{
    struct pack_advise_job job;
    struct pack_error err = { 0 };
    enum pack_status status = pack_advise_job_open(&request, &job, &err);
    if (status == PACK_OK)
        status = pack_advise(&job.params, result, &err);
    pack_advise_job_close(&job);
    if (status != PACK_OK)
        note("%s", err.text);
    return status == PACK_OK;
}

static const char *
warning(const struct pack_advise_result *result, const char *id)
{
    for (size_t i = 0; i < result->n_warnings; i++)
        if (strcmp(result->warnings[i].id, id) == 0)
            return result->warnings[i].text;
    return NULL;
}

static void
test_large_chunk(struct pack_advise_result *result)
{
    const struct kind kind = { { 20, 6 }, { 64, 8 }, 0 };
    const char *operand = path;
    struct pack_bench_params params = { .workers.n = 0, .stop.epochs = 2 };
    struct pack_bench_result measured = { 0 };
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    ok(make(&kind) && advise(result), "a chunk larger than the dataset is advised on");
    ok(result->has_now && result->now.config.chunk.extent[0] == 64 &&
           result->now.first.loads == 1 && result->now.first.file_read_bytes == 64 * 8 &&
           result->now.first.requests == 20,
       "and counts whole, once");
    params.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_SHUFFLE, .batch = 4 };
    bool done = pack_readset_open(&operand, 1, NULL, &set, &err) == PACK_OK;
    params.set = set;
    done = done && pack_bench_run(&params, &measured, &err) == PACK_OK;
    ok(done && measured.mismatch.n_compared > 0 && measured.mismatch.n == 0 &&
           measured.total.work.read.file_reads == 1 &&
           measured.total.work.read.file_read_bytes == 64 * 8,
       "h5readbench measures the same%s%s", done ? "" : ": ", err.text);
    pack_bench_done(&measured);
    pack_readset_close(set);
}

/* What another codec would make of such chunks is measured on what there is. */
static void
test_large_chunk_packed(void)
{
    const char *const chunks[] = { "64x8" };
    struct pack_advise_request r = request;
    struct pack_advise_config config = { 0 };
    struct pack_advise_job job = { 0 };
    struct pack_error err = { 0 };
    r.storing.chunks = chunks;
    r.storing.n_chunks = 1;
    r.storing.codec = "gzip:6";
    bool done = pack_advise_job_open(&r, &job, &err) == PACK_OK &&
                pack_advise_job_what_if(&r, &job, &config, &err) == PACK_OK;
    ok(done && config.stored_rate > 0 && config.stored_rate < 2,
       "a codec for a chunk larger than the dataset is tried%s%s", done ? "" : ": ",
       err.text);
    pack_advise_job_close(&job);
}

static void
test_filters(struct pack_advise_result *result)
{
    const struct kind blosc = { { 20, 6 }, { 4, 6 }, 32001 };
    const struct kind zstd = { { 20, 6 }, { 4, 6 }, PACK_FILTER_ZSTD };
    const char *text;
    ok(make(&blosc) && advise(result), "a filter that is not here is no obstacle");
    text = warning(result, "missing-filter");
    ok(text && strstr(text, "filter 32001 (blosc): import hdf5plugin"),
       "its number, name and package are said");
    ok(result->now.first.loads == 5 && result->now.first.file_read_bytes == 5 * 24,
       "and the chunks are counted");
    ok(make(&zstd) && advise(result), "zstd needs no plugin");
    ok(!warning(result, "missing-filter"), "and nothing is said about it");
}

/* Rows 0 to 15 are alike, 16 to 27 random, 28 to 31 not written. */
static bool
make_uneven(void)
{
    hsize_t extent[2] = { 32, 256 }, chunk[2] = { 4, 256 }, rows[2] = { 28, 256 };
    hsize_t start[2] = { 0, 0 };
    unsigned char data[32 * 256] = { 0 };
    uint32_t noise = 1;
    for (size_t i = 16 * 256; i < sizeof data; i++) {
        noise = noise * 1664525 + 1013904223;
        data[i] = (unsigned char)(noise >> 24);
    }
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, chunk);
    H5Pset_deflate(list, 6);
    hid_t set = H5Dcreate2(file, "d", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, rows, NULL);
    bool done = H5Dwrite(set, H5T_NATIVE_UINT8, space, space, H5P_DEFAULT, data) >= 0;
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    return H5Fclose(file) >= 0 && done;
}

static void
test_stored_bytes(struct pack_advise_result *result)
{
    static const char trace[] = "0\t0\t1\t256\n20\t0\t1\t256\n30\t0\t1\t256\n"
                                "21\t0\t1\t256\n5\t0\t1\t256\n";
    struct pack_chunkindex index = { 0 };
    struct pack_advise_config config;
    struct pack_advise_job job = { 0 };
    struct pack_advise_request r = request;
    struct pack_error err = { 0 };
    FILE *file = fopen("strange.tsv", "w");
    fputs(trace, file);
    fclose(file);
    r.reading.pattern = "trace:strange.tsv";
    r.reading.epochs = 1;
    bool done = make_uneven() &&
                pack_chunkindex_read(path, "d", 0, &index, &err) == PACK_OK &&
                pack_advise_job_open(&r, &job, &err) == PACK_OK &&
                pack_advise_job_what_if(&r, &job, &config, &err) == PACK_OK &&
                pack_advise_what_if(&job.params, &config, result, &err) == PACK_OK;
    const struct pack_cache_counts *c = &result->rows[0].first;
    uint64_t want = 0;
    static const int read[] = { 0, 1, 5 };
    for (int i = 0; done && i < 3; i++)
        want += index.chunks[read[i]].stored_bytes;
    ok(done && c->file_reads == 3 && c->fills == 1 && c->hits == 1,
       "a chunk that is not there is filled, not read%s%s", done ? "" : ": ", err.text);
    ok(done && c->file_read_bytes == want,
       "bytes of packed chunks are each chunk's own, not the average");
    if (done && c->file_read_bytes != want)
        note("%llu for %llu", (unsigned long long)c->file_read_bytes,
             (unsigned long long)want);
    pack_advise_job_close(&job);
    pack_chunkindex_done(&index);
    unlink("strange.tsv");
}

int
main(void)
{
    struct pack_advise_result *result = calloc(1, sizeof *result);
    setenv("HDF5_PLUGIN_PATH", "/nonexistent", 1);
    pack_h5_quiet();
    test_large_chunk(result);
    test_large_chunk_packed();
    test_filters(result);
    test_stored_bytes(result);
    free(result);
    unlink(path);
    return done();
}
