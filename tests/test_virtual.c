/*
 * Virtual datasets, external links and external files: what HDF5 opens by itself is read
 * through the counting driver, file by file, and the simulator replays each source's
 * requests on its own grid.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/advise/advise_request.h"
#include "libpack/base/system.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/bench/bench_parts.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_count.h"
#include "libpack/hdf5/h5_parts.h"
#include "tests/tap.h"

enum { ROWS = 24, HEIGHT = 6, WIDTH = 5, FILL = 9, N_SOURCES = 3 };
static const char *const sources[N_SOURCES] = { "vds_0.h5", "vds_1.h5", "vds_2.h5" };

static unsigned char
value(uint64_t source, uint64_t i)
{
    return (unsigned char)(20 + source * 60 + i * 7 % 59);
}

/* ROWS x HEIGHT x WIDTH, each source in chunks of its own, the second packed. */
static bool
make_source(int number)
{
    static const hsize_t chunks[N_SOURCES][3] = { { 4, 6, 5 }, { 7, 6, 5 }, { 1, 3, 5 } };
    const hsize_t extent[3] = { ROWS, HEIGHT, WIDTH };
    unsigned char data[ROWS * HEIGHT * WIDTH];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = value((uint64_t)number, i);
    hid_t file = H5Fcreate(sources[number], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(3, extent, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 3, chunks[number]);
    if (number == 1)
        H5Pset_deflate(list, 1);
    hid_t set = H5Dcreate2(file, "x", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool done = H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    return H5Fclose(file) >= 0 && done;
}

/* How sources are put together. */
enum shape { END_TO_END, SIDE_BY_SIDE, STACKED, STRIDED };

static bool
make_virtual(const char *name, enum shape shape)
{
    const hsize_t one[3] = { ROWS, HEIGHT, WIDTH }, stride[3] = { 2, 1, 1 };
    hsize_t extent[4] = { N_SOURCES * ROWS, HEIGHT, WIDTH };
    hsize_t start[4] = { 0 }, count[4] = { ROWS, HEIGHT, WIDTH };
    unsigned char fill = FILL;
    int rank = shape == STACKED ? 4 : 3;
    if (shape == SIDE_BY_SIDE)
        extent[0] = ROWS, extent[1] = N_SOURCES * HEIGHT;
    if (shape == STACKED)
        memcpy(extent, (hsize_t[]){ N_SOURCES, ROWS, HEIGHT, WIDTH }, sizeof extent),
            memcpy(count, (hsize_t[]){ 1, ROWS, HEIGHT, WIDTH }, sizeof count);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, extent, NULL);
    hid_t source = H5Screate_simple(3, one, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_value(list, H5T_NATIVE_UINT8, &fill);
    for (hsize_t i = 0; i < N_SOURCES; i++) {
        start[0] = shape == END_TO_END ? i * ROWS : shape == STACKED ? i : 0;
        start[1] = shape == SIDE_BY_SIDE ? i * HEIGHT : 0;
        if (shape == STRIDED)
            start[0] = i == 2 ? 2 * ROWS : i;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start,
                            shape == STRIDED && i < 2 ? stride : NULL, count, NULL);
        H5Pset_virtual(list, space, sources[i], "x", source);
    }
    H5Sselect_all(space);
    hid_t set =
        H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(source);
    H5Sclose(space);
    return H5Fclose(file) >= 0 && set >= 0;
}

/* --------------------------------------------------------------------- the driver */

struct book {
    struct pack_h5_count of[N_SOURCES], other;
};

static struct pack_h5_count *
on_further(void *context, const char *name)
{
    struct book *book = context;
    for (int i = 0; i < N_SOURCES; i++)
        if (strstr(name, sources[i]))
            return &book->of[i];
    return &book->other;
}

static void
test_driver(void)
{
    struct book book = { 0 };
    struct pack_h5_count count = { .context = &book, .on_further = on_further };
    static unsigned char data[N_SOURCES * ROWS * HEIGHT * WIDTH];
    int64_t file = -1;
    bool done = pack_h5_open("vds.h5", &count, &file, NULL) == PACK_OK;
    hid_t set = H5Dopen2(file, "images", H5P_DEFAULT);
    count.raw = (struct pack_h5_counters){ 0 }; /* the list of mappings, from a heap */
    done = done &&
           H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    uint64_t wrong = 0, n = ROWS * HEIGHT * WIDTH;
    for (uint64_t i = 0; i < sizeof data; i++)
        wrong += data[i] != value(i / n, i % n);
    ok(done && wrong == 0, "sources of a virtual dataset are read, not filled in");
    ok(book.of[0].raw.file_reads == 6 && book.of[1].raw.file_reads == 4 &&
           book.of[2].raw.file_reads == 48 && book.of[0].raw.file_read_bytes == n,
       "each source's reads count for itself");
    ok(count.raw.file_reads == 0 && count.metadata.file_reads > 0 &&
           book.other.raw.file_reads == 0,
       "and the virtual dataset's own file has none of data");
    H5Dclose(set);
    pack_h5_close(file);
    ok(count.n_open == 0, "all files are closed again");

    count = (struct pack_h5_count){ 0 };
    done = pack_h5_open("link.h5", &count, &file, NULL) == PACK_OK;
    set = H5Dopen2(file, "images", H5P_DEFAULT);
    done = done &&
           H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    ok(done && count.raw.file_reads == 4, "the target of an external link counts too");
    H5Dclose(set);
    pack_h5_close(file);
}

/* ------------------------------------------------------------------------- runs */

static bool
run(const struct pack_readset *set, const struct pack_bench_params *how,
    struct pack_bench_result *result)
{
    struct pack_bench_params params = *how;
    struct pack_error err = { 0 };
    params.set = set;
    params.consumer.name = "checksum";
    params.stop.epochs = 2;
    params.pattern.kind = PACK_PATTERN_SHUFFLE;
    params.pattern.seed = 5;
    params.pattern.batch = 7;
    bool done = pack_bench_run(&params, result, &err) == PACK_OK;
    if (!done || result->mismatch.n)
        note("%s", done ? result->mismatch.text : err.text);
    return done;
}

static void
test_runs(const char *name, bool is_compared)
{
    static const struct pack_bench_params ways[] = {
        { .workers.n = 0 },
        { .workers.n = 2, .open.set_cache = true, .open.cache = { 521, 300, 0.75, 0 } },
        { .workers.n = 2, .workers.fresh = true },
        { .workers.n = 0, .open.set_cache = true, .open.cache = { 7, 0, 0.75, 0 } },
        { .workers.n = 1,
          .open.set_cache = true,
          .open.cache = { 3, 250, 0, 0 },
          .open.reopen = true },
        { .pattern.read = PACK_READ_BATCH,
          .open.set_cache = true,
          .open.cache = { 521, 500, 1, 0 } },
    };
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    bool opened = pack_readset_open(&name, 1, NULL, &set, &err) == PACK_OK;
    uint64_t n_bad = 0, n_compared = 0, n_reads = 0;
    for (size_t i = 0; opened && i < sizeof ways / sizeof *ways; i++) {
        struct pack_bench_result result = { 0 };
        n_bad += !run(set, &ways[i], &result) || result.mismatch.n > 0;
        n_compared += result.mismatch.n_compared;
        n_reads += result.total.work.read.file_reads;
        if (is_compared && ways[i].pattern.read == PACK_READ_SAMPLE)
            n_bad +=
                result.total.work.read.requests != result.total.expected.set.requests;
        pack_bench_done(&result);
    }
    ok(opened && n_bad == 0 && n_reads > 0 && (n_compared == 16) == is_compared,
       "%s: reads and bytes equal the simulator's%s%s", name, opened ? "" : ": ", err.text);
    if (n_bad || (n_compared == 16) != is_compared)
        note("%d comparisons, %d bad", (int)n_compared, (int)n_bad);
    pack_readset_close(set);
}

/* What the advisor says of reading it as it is, and what is measured of the same reads. */
static bool
is_as_measured(const char *name, struct pack_advise_job *job)
{
    struct pack_bench_params how = { .workers.n = 1,
                                     .open = { .set_cache = true,
                                               .cache = { 521, 300, 0.75, 0 } } };
    struct pack_bench_result result = { 0 };
    struct pack_advise_outcome o = { .first_samples = 0 };
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    bool done = pack_advise_evaluate(&job->params, job->params.now, 0, &o, &err) == PACK_OK &&
                pack_readset_open(&name, 1, NULL, &set, &err) == PACK_OK &&
                run(set, &how, &result) && result.n_epochs == 2;
    const struct pack_read_cost *first = done ? &result.epochs[0].work.read : NULL,
                                *later = done ? &result.epochs[1].work.read : NULL;
    bool same = done && o.is_exact && o.first.file_reads == first->file_reads &&
                o.first.file_read_bytes == first->file_read_bytes &&
                o.steady.file_reads == later->file_reads &&
                o.steady.file_read_bytes == later->file_read_bytes;
    if (!same)
        note("%s: %llu reads, and not %llu %s", name, (unsigned long long)o.first.file_reads,
             (unsigned long long)(first ? first->file_reads : 0), err.text);
    pack_bench_done(&result);
    pack_readset_close(set);
    return same;
}

/* Rows that keep the sources, and rows that write one file. */
static void
count_rows(const struct pack_advise_result *r, size_t *n_kept, size_t *n_written)
{
    *n_kept = *n_written = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        bool is_virtual = r->rows[i].config.is_virtual;
        *n_kept += is_virtual && r->rows[i].change != PACK_ADVISE_REWRITE;
        *n_written += !is_virtual && r->rows[i].change == PACK_ADVISE_REWRITE;
    }
}

static void
test_advice(const char *name, bool is_clear)
{
    struct pack_advise_request request = { PACK_ADVISE_REQUEST_DEFAULTS, .data.file = name };
    struct pack_advise_job *job = calloc(1, sizeof *job);
    struct pack_advise_result *result = calloc(1, sizeof *result);
    struct pack_error err = { 0 };
    size_t n_kept = 0, n_written = 0;
    request.reading = (struct pack_advise_ask_reading){
        .pattern = "shuffle", .batch = 7, .workers = 1, .epochs = 2, .seed = 5
    };
    request.cache = (struct pack_advise_ask_cache){ .bytes = 300, .slots = 521, .w0 = 0.75 };
    bool done = pack_advise_job_open(&request, job, &err) == PACK_OK;
    ok(done && job->now.is_virtual && (job->now.chunk.rank != 0) == is_clear,
       "%s is asked about as it is%s%s", name, done ? "" : ": ", err.text);
    if (done && is_clear)
        ok(is_as_measured(name, job), "%s: its reads are those of its sources", name);
    if (done && pack_advise(&job->params, result, &err) == PACK_OK)
        count_rows(result, &n_kept, &n_written);
    ok(n_kept >= 1 && n_written >= 1 && n_kept + n_written == result->n_rows,
       "%s: it is kept, or written as one file", name);
    job->params.storing.keep_file = true;
    if (done && pack_advise(&job->params, result, &err) == PACK_OK)
        count_rows(result, &n_kept, &n_written);
    ok(n_kept >= 1 && n_written == 0, "%s: kept when nothing is to be written %s", name,
       err.text);
    pack_advise_job_close(job);
    free(job);
    free(result);
}

/* A run's question is about the same: sources as they are, with the run's cache. */
static void
test_question(const char *name)
{
    struct pack_bench_params how = { .open.set_cache = true,
                                     .open.cache = { 521, 300, 0.75, 0 } };
    const struct pack_bench_ask ask = { .no_trial = true };
    struct pack_bench_result result = { 0 };
    struct bench_question *question = calloc(1, sizeof *question);
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    bool can = false, done = pack_readset_open(&name, 1, NULL, &set, &err) == PACK_OK;
    how.set = set;
    how.pattern.kind = PACK_PATTERN_SHUFFLE;
    done = done && run(set, &how, &result) &&
           pack_bench_question_make(&how, &result, &ask, question, &can, &err) == PACK_OK;
    ok(done && can && question->now.is_virtual && question->first_factor > 0,
       "%s: a run of it asks the advisor %s", name, err.text);
    is_number((long long)question->now.cache.size_bytes, 300, "about its cache");
    struct bench_plan plan;
    how.pattern.kind = PACK_PATTERN_BLOCK;
    ok(done && pack_bench_plan_make(&how, &plan, &err) == PACK_OK &&
           plan.pattern.chunk_samples == question->now.chunk.extent[0] &&
           plan.pattern.chunk_samples > 1,
       "%s: blocks are of its sources' chunks", name);
    pack_bench_question_done(question);
    pack_bench_done(&result);
    pack_readset_close(set);
    free(question);
}

static void
test_remark(const char *name, const char *want, const char *what)
{
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    char text[1024] = "";
    bool opened = pack_readset_open(&name, 1, "images", &set, &err) == PACK_OK;
    bool said = opened && pack_readset_remark(set, text, sizeof text);
    ok(opened && (want ? said && strstr(text, want) : !said), "%s", what);
    if (!opened || (want && !strstr(text, want)))
        note("%s%s", text, err.text);
    pack_readset_close(set);
}

/* Sources are looked for beside the file, not where the program was started. */
static void
test_other_folder(void)
{
    static const char *const names[] = { "vds.h5", "vds_0.h5", "vds_1.h5", "vds_2.h5" };
    enum { N = sizeof names / sizeof *names };
    char moved[N][32];
    bool good = mkdir("sub", 0755) == 0;
    for (int i = 0; i < N; i++) {
        snprintf(moved[i], sizeof moved[i], "sub/%s", names[i]);
        good = good && rename(names[i], moved[i]) == 0;
    }
    ok(good, "a file and its sources are moved together");
    test_remark(moved[0], NULL, "they are found beside it");
    test_runs(moved[0], true);
    test_advice(moved[0], true);
    for (int i = 0; i < N; i++)
        good = good && rename(moved[i], names[i]) == 0;
    ok(good && rmdir("sub") == 0, "and moved back");
}

/* A file with `images` of uint8, made as `list` says; `list` is closed. */
static void
make_file(const char *name, const hsize_t extent[2], hid_t list)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL);
    H5Dclose(H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, list,
                        H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
}

/* A virtual dataset whose only source is the one of this name. */
static void
make_circle(const char *name, const char *of)
{
    const hsize_t extent[2] = { 10, 6 };
    hid_t space = H5Screate_simple(2, extent, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(list, space, of, "images", space);
    H5Sclose(space);
    make_file(name, extent, list);
}

/* HDF5 follows them until its stack is used up. */
static void
test_circles(void)
{
    static const char *const names[] = { "circle.h5", "circle_a.h5" };
    make_circle("circle.h5", ".");
    make_circle("circle_a.h5", "circle_b.h5");
    make_circle("circle_b.h5", "circle_a.h5");
    for (int i = 0; i < 2; i++) {
        struct pack_readset *set = NULL;
        struct pack_error err = { 0 };
        enum pack_status status =
            pack_readset_open(&names[i], 1, "images", &set, &err);
        ok(status == PACK_ERR_FORMAT && strstr(err.text, names[i]) &&
               strstr(err.text, "is virtual, and a source of itself"),
           "%s: a virtual dataset made of itself is refused", names[i]);
        note("%s", err.text);
        pack_readset_close(set);
    }
    make_circle("circle_b.h5", "vds_0.h5");
    struct pack_readset *set = NULL;
    ok(pack_readset_open(&names[1], 1, "images", &set, NULL) == PACK_OK,
       "one whose source is virtual and ends somewhere is not");
    pack_readset_close(set);
    remove("circle.h5");
    remove("circle_a.h5");
    remove("circle_b.h5");
}

/* NAME with `n` images of 6 bytes, chunked or not. */
static void
make_plain(const char *name, hsize_t n, bool is_chunked)
{
    const hsize_t extent[2] = { n, 6 }, chunk[2] = { 2, 6 };
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (is_chunked)
        H5Pset_chunk(list, 2, chunk);
    make_file(name, extent, list);
}

/* The path of the first source, or "" where the set cannot be opened. */
static void
find_source(const char *name, char path[600], bool *is_missing)
{
    struct pack_readset *set = NULL;
    *path = '\0';
    if (pack_readset_open(&name, 1, "images", &set, NULL) != PACK_OK)
        return;
    const struct pack_h5_sources *s = &set->parts[0].data->sources;
    *is_missing = s->n_sources == 1 && s->sources[0].is_missing;
    snprintf(path, 600, "%s", s->n_sources == 1 ? s->sources[0].file : "");
    pack_readset_close(set);
}

/* A source with a whole path is there, or beside the file, where it may have moved to. */
static void
test_whole_paths(void)
{
    char here[400], source[500], found[600], want[600];
    bool is_missing = true;
    if (!getcwd(here, sizeof here) || mkdir("far", 0755) != 0 || mkdir("near", 0755) != 0) {
        ok(false, "folders are made");
        return;
    }
    snprintf(source, sizeof source, "%s/far/s.h5", here);
    make_plain("far/s.h5", 10, true);
    make_circle("near/v.h5", source);
    find_source("near/v.h5", found, &is_missing);
    ok(!is_missing && strcmp(found, source) == 0, "a source is where its whole path says: %s",
       found);
    make_plain("near/s.h5", 10, true);
    find_source("near/v.h5", found, &is_missing);
    ok(!is_missing && strcmp(found, source) == 0, "also where another lies beside: %s", found);
    unlink("far/s.h5");
    find_source("near/v.h5", found, &is_missing);
    ok(!is_missing && strcmp(found, "near/s.h5") == 0,
       "one that is not there any more lies beside: %s", found);
    snprintf(want, sizeof want, "%s/near/v.h5", here);
    find_source(want, found, &is_missing);
    snprintf(want, sizeof want, "%s/near/s.h5", here);
    ok(!is_missing && strcmp(found, want) == 0, "in the folder of the file: %s", found);
    rename("near/s.h5", "s.h5");
    find_source("near/v.h5", found, &is_missing);
    ok(!is_missing && strcmp(found, "s.h5") == 0, "or where the program is: %s", found);
    unlink("s.h5");
    find_source("near/v.h5", found, &is_missing);
    ok(is_missing && strcmp(found, "s.h5") == 0, "or nowhere: %s", found);
    unlink("near/v.h5");
    rmdir("near");
    rmdir("far");
}

/* 31 virtual datasets, one the source of the other, are read, 32 are not. */
static void
test_levels(void)
{
    enum { N = 33 };
    char names[N][16];
    const char *name = names[0];
    for (int i = 0; i < N; i++)
        snprintf(names[i], sizeof names[i], "level%d.h5", i);
    make_plain(names[N - 1], 10, true);
    for (int i = 0; i < N - 1; i++)
        make_circle(names[i], names[i + 1]);
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    ok(pack_readset_open(&name, 1, "images", &set, &err) == PACK_ERR_LIMIT, "32 are too many");
    is_text(err.text,
            "'level32.h5:/images' lies below 32 virtual datasets, one the source of the other",
            "as is said");
    name = names[1];
    ok(pack_readset_open(&name, 1, "images", &set, &err) == PACK_OK, "31 are not");
    pack_readset_close(set);
    for (int i = 0; i < N; i++)
        unlink(names[i]);
}

/* A virtual dataset that grows with files named by a pattern. */
static void
make_pattern(const char *name)
{
    const hsize_t extent[2] = { 10, 6 }, most[2] = { H5S_UNLIMITED, 6 };
    const hsize_t start[2] = { 0 }, count[2] = { H5S_UNLIMITED, 1 };
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, most), one = H5Screate_simple(2, extent, NULL);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, extent, count, extent);
    H5Pset_virtual(list, space, "plain%b.h5", "images", one);
    H5Dclose(H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, list,
                        H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(one);
    H5Sclose(space);
    H5Fclose(file);
}

/* As make_circle(), of the first 10 rows of a source, however many it has. */
static void
make_part(const char *name, const char *of)
{
    const hsize_t extent[2] = { 10, 6 }, start[2] = { 0 };
    hid_t space = H5Screate_simple(2, extent, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    hid_t part = H5Scopy(space);
    H5Sselect_hyperslab(part, H5S_SELECT_SET, start, NULL, extent, NULL);
    H5Pset_virtual(list, space, of, "images", part);
    H5Sclose(part);
    H5Sclose(space);
    make_file(name, extent, list);
}

/* What keeps reads of a virtual dataset from being foreseen is said. */
static void
test_unclear(void)
{
    make_part("v.h5", "plain0.h5");
    make_plain("plain0.h5", 10, true);
    test_remark("v.h5", NULL, "a chunked source of the same size is clear");
    make_plain("plain0.h5", 11, true);
    test_remark("v.h5", NULL, "so is a larger one");
    make_plain("plain0.h5", 9, true);
    test_remark("v.h5", "a source is smaller than what is mapped to it", "a smaller one is not");
    make_plain("plain0.h5", 10, false);
    test_remark("v.h5", "a source is not chunked", "nor one without chunks");
    make_plain("plain0.h5", 10, true);
    make_pattern("v.h5");
    test_remark("v.h5", "its sources are named by a pattern", "nor such as a pattern names");
    unlink("v.h5");
    unlink("plain0.h5");
}

static void
make_others(void)
{
    const hsize_t extent[2] = { 10, 6 };
    hid_t file = H5Fcreate("link.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(sources[1], "/x", file, "images", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    FILE *raw = fopen("external.raw", "wb");
    for (int i = 0; i < 60; i++)
        putc(i, raw);
    fclose(raw);
    file = H5Fcreate("external.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(list, "external.raw", 0, 60);
    H5Dclose(H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, list,
                        H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
}

/* Where the folder's pages can be dropped at all. */
static void
test_cold(const char *name, const char *source)
{
    struct bench_plan plan = { .slot_bytes = 0 };
    struct pack_bench_epoch epoch = { .n_samples = 0 };
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    uint64_t kept = 0, bytes = 0;
    bool good = pack_readset_open(&name, 1, NULL, &set, &err) == PACK_OK &&
                pack_system_drop(sources[1], &err) == PACK_OK &&
                pack_system_resident(sources[1], &kept, &err) == PACK_OK;
    plan.params.set = set;
    good = good && pack_bench_go_cold(&plan.params, &epoch, &err) == PACK_OK &&
           (!source || pack_system_resident(source, &bytes, &err) == PACK_OK);
    ok(good && (bytes == 0 || kept > 0) &&
           epoch.pages.cold == (source ? PACK_COLD_ASSUMED : PACK_COLD_PARTLY),
       "%s: what has a name is dropped, and %s %s", name,
       source ? "being cold is assumed" : "data elsewhere is not", err.text);
    pack_readset_close(set);
}

/* One file names the data, another has it. */
static void
test_link(void)
{
    const char *name = "link.h5";
    struct bench_plan plan = { .slot_bytes = 0 };
    struct pack_bench_epoch epoch = { .n_samples = 0 };
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    uint64_t size, left = 1;
    char text[600];
    bool good = pack_readset_open(&name, 1, NULL, &set, &err) == PACK_OK;
    const struct pack_h5_dataset *d = good ? set->parts[0].data : NULL;
    const char *end = good ? strrchr(d->data_file, '/') : NULL; /* HDF5 adds the folder */
    ok(good && strcmp(d->file, name) == 0 &&
           strcmp(end ? end + 1 : d->data_file, sources[1]) == 0 &&
           strcmp(pack_h5_dataset_storage(d), d->data_file) == 0,
       "the file behind an external link is known %s", err.text);
    plan.params.set = set;
    good = good && pack_bench_go_cold(&plan.params, &epoch, &err) == PACK_OK &&
           pack_system_resident(sources[1], &left, &err) == PACK_OK;
    ok(good && epoch.pages.cold == PACK_COLD_CHECKED && left == epoch.pages.resident_bytes,
       "its pages are those that are dropped and counted %s", err.text);
    ok(good && pack_readset_resident_rate(set, &size) >= 0 && size >= d->facts.stored_bytes,
       "and asked for where nothing is dropped");
    ok(good && !pack_readset_is_changed(set, text, sizeof text), "both stay as they are");
    if (good && rename(sources[1], "moved.h5") == 0) {
        ok(pack_readset_is_changed(set, text, sizeof text) && strstr(text, sources[1]),
           "or it is said that one does not: %s", text);
        pack_readset_close(set);
        set = NULL;
        is_number(pack_readset_open(&name, 1, NULL, &set, &err), PACK_ERR_NOT_FOUND,
                  "a link to nowhere is refused");
        is_text(err.text,
                "'link.h5': 'images' is an external link to '/x' in 'vds_1.h5', which is not "
                "there",
                "with what is missing");
        rename("moved.h5", sources[1]);
    }
    pack_readset_close(set);
}

int
main(void)
{
    static const char *const made[] = { "vds.h5",     "side.h5", "stacked.h5",
                                        "strided.h5", "link.h5", "external.h5",
                                        "external.raw" };
    bool good = true;
    pack_h5_quiet();
    for (int i = 0; i < N_SOURCES; i++)
        good = make_source(i) && good;
    good = good && make_virtual("vds.h5", END_TO_END) &&
           make_virtual("side.h5", SIDE_BY_SIDE) && make_virtual("stacked.h5", STACKED) &&
           make_virtual("strided.h5", STRIDED);
    make_others();
    ok(good, "files are made");
    test_circles();
    test_whole_paths();
    test_levels();
    test_unclear();
    test_driver();
    test_link();
    test_runs("vds.h5", true);
    test_runs("stacked.h5", true);
    test_runs("side.h5", false);
    test_advice("vds.h5", true);
    test_advice("stacked.h5", true);
    test_advice("strided.h5", false);
    test_question("vds.h5");
    test_cold("vds.h5", sources[0]);
    test_remark("vds.h5", NULL, "nothing is said where all is clear");
    test_remark("strided.h5", "its mappings are not of blocks",
                "other mappings than blocks are named");
    test_remark("external.h5", "1 external file (H5Pset_external)",
                "data in external files is named as not counted");
    test_cold("external.h5", NULL);
    test_other_folder();
    unlink(sources[2]);
    test_remark("vds.h5", "1 of its 3 sources is missing, 'vds_2.h5' first",
                "a missing source is said in words");
    test_runs("vds.h5", true);
    test_advice("vds.h5", true);
    unlink(sources[0]);
    test_remark("vds.h5", "2 of its 3 sources are missing, 'vds_0.h5' first",
                "of two that are missing the first is named");
    for (int i = 0; i < N_SOURCES; i++)
        unlink(sources[i]);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(made[i]);
    return done();
}
