/* Measurements in the place of predictions: copies of a dataset in other layouts, trials in
 * turns, intervals, and what they do to a choice. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpack/advise.h>
#include <libpack/dataset.h>
#include "libpack/advise/advise_parts.h"
#include "libpack/base/clock.h"
#include "libpack/base/rng.h"
#include "libpack/base/system.h"
#include "libpack/bench/measure_parts.h"
#include "libpack/bench/measure_storage.h"
#include "libpack/bench/trial.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/hdf5/readset.h"
#include "libpack/hdf5/scratch.h"
#include "tests/made_time.h"
#include "tests/tap.h"
#include "tests/thresholds.h"
#include "tests/thresholds.h"

enum { N = 300, SIDE = 24, SAMPLE = SIDE * SIDE };
static char source[512];

static unsigned char
pixel(uint64_t sample, uint64_t i)
{
    return (unsigned char)(sample * 31 + i * 7 + (i >> 5));
}

static void
fill(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    for (uint64_t s = 0; s < n; s++)
        for (uint64_t i = 0; i < SAMPLE; i++)
            ((unsigned char *)out)[s * SAMPLE + i] = pixel(first + s, i);
}

static void
name_source(void)
{
    const char *dir = getenv("TMPDIR");
    snprintf(source, sizeof source, "%s/h5pack-test-measure-%d.h5", dir ? dir : "/tmp",
             (int)getpid());
}

static void
make_source(void)
{
    struct pack_probe_layout layout = { .extent = { 3, { N, SIDE, SIDE } },
                                        .chunk = { 3, { 7, SIDE, 9 } } };
    struct pack_error err = { 0 };
    name_source();
    ok(pack_probe_create(source, &layout, fill, NULL, &err) == PACK_OK,
       "a source is made %s", err.text);
}

/* Every pixel of a copy, read through stock HDF5 by its path. */
static bool
copy_is_right(const struct pack_scratch *s)
{
    static unsigned char got[SAMPLE];
    struct pack_h5_count count = { 0 };
    struct pack_h5_boxes_params p = { .file = pack_scratch_path(s),
                                      .dataset = PACK_SCRATCH_DATASET,
                                      .count = &count };
    struct pack_h5_boxes *reader = NULL;
    struct pack_error err = { 0 };
    bool same = pack_h5_boxes_open(&p, &reader, &err) == PACK_OK;
    if (!same)
        note("%s", err.text);
    for (uint64_t i = 0; same && i < pack_scratch_samples(s); i++) {
        struct pack_box box = { 3, { i, 0, 0 }, { 1, SIDE, SIDE } };
        same = pack_h5_boxes_read(reader, &box, 1, got, NULL, &err) == PACK_OK;
        for (uint64_t k = 0; same && k < SAMPLE; k++)
            same = got[k] == pixel(i, k);
    }
    pack_h5_boxes_close(reader);
    return same;
}

static void
test_scratch(void)
{
    static const struct {
        const char *chunk, *codec;
        uint64_t n;
        bool on_disk;
    } cases[] = {
        { NULL, "none", N, false },          { "1x24x24", "none", N, false },
        { "100x24x24", "zstd:1", N, false }, { "7x5x24", "shuffle+gzip:2", 123, false },
        { "400x24x24", "none", 50, false },  { "16x24x24", "none", N, true },
    };
    char dir[512];
    snprintf(dir, sizeof dir, "%s", source);
    *strrchr(dir, '/') = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_scratch_params p = { .file = source,
                                         .dataset = "probe",
                                         .n_samples = cases[i].n,
                                         .dir = cases[i].on_disk ? dir : NULL };
        struct pack_scratch *s = NULL;
        struct pack_error err = { 0 };
        struct stat info;
        if (cases[i].chunk)
            pack_shape_parse(cases[i].chunk, &p.chunk, NULL);
        pack_pipeline_parse(cases[i].codec, 1, &p.pipeline, NULL);
        enum pack_status status = pack_scratch_make(&p, &s, &err);
        ok(status == PACK_OK && pack_scratch_samples(s) == cases[i].n && copy_is_right(s),
           "%s %s: %d samples are copied %s", cases[i].chunk ? cases[i].chunk : "contiguous",
           cases[i].codec, (int)cases[i].n, err.text);
        ok(s && stat(pack_scratch_path(s), &info) == 0 && info.st_nlink == 0,
           "and the copy has no name%s", cases[i].on_disk ? ", on a disk" : "");
        pack_scratch_close(s);
    }
    struct pack_scratch_params p = { .file = source, .dataset = "probe", .n_samples = N + 1 };
    struct pack_scratch *s = NULL;
    ok(pack_scratch_make(&p, &s, NULL) == PACK_ERR_ARGUMENT && !s,
       "more samples than there are is refused");
    p.n_samples = N;
    p.dir = "/nonexistent/folder";
    struct pack_error err = { 0 };
    ok(pack_scratch_make(&p, &s, &err) == PACK_ERR_NOT_FOUND ||
           strstr(err.text, "/nonexistent/folder"),
       "a folder that is not there is named: %s", err.text);
    p.dir = NULL;
    p.chunk = (struct pack_shape){ 3, { 10, SIDE, SIDE } };
    p.time_ns = 1;
    ok(pack_scratch_make(&p, &s, NULL) == PACK_OK && pack_scratch_samples(s) <= N &&
           copy_is_right(s),
       "what is written when the time is over is right");
    pack_scratch_close(s);
}

enum { LARGE_SIDE = 1800, LARGE_BYTES = LARGE_SIDE * LARGE_SIDE };

static void
fill_large(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    memset(out, (int)first, n * LARGE_BYTES);
}

/* Of a filtered chunk, which is decoded into a block of its own. */
static bool
copy_large(void)
{
    struct pack_scratch_params p = { .file = source, .dataset = "probe", .n_samples = 2,
                                     .chunk = { 3, { 1, LARGE_SIDE, LARGE_SIDE } } };
    struct pack_scratch *s = NULL;
    bool good = pack_scratch_make(&p, &s, NULL) == PACK_OK && pack_scratch_samples(s) == 2;
    pack_scratch_close(s);
    return good;
}

/* What is read past the page cache, and out of it, to tell how fast that is. */
static bool
measure_devices(void)
{
    enum { BYTES = 64 << 20 };
    char path[64];
    struct pack_profile profile;
    const struct pack_page_reads reads = { 1 << 20, 8 << 20, 2 };
    snprintf(path, sizeof path, "test_measure_%d.data", (int)getpid());
    pack_profile_named("hdd", &profile, NULL);
    FILE *f = fopen(path, "w");
    bool good = f && fseek(f, BYTES - 1, SEEK_SET) == 0 && fputc(1, f) == 1;
    good = f && fclose(f) == 0 && good;
    enum pack_status status = pack_measure_storage(path, &profile);
    good = good && (status == PACK_OK || status == PACK_ERR_UNSUPPORTED) &&
           pack_measure_pages(path, path, &reads) > 0;
    unlink(path);
    return good;
}

/* Before all else, as this process' thresholds have to be as they were. */
static void
test_scratch_is_apart(void)
{
    struct pack_probe_layout layout = { .extent = { 3, { 2, LARGE_SIDE, LARGE_SIDE } },
                                        .chunk = { 3, { 1, LARGE_SIDE, LARGE_SIDE } } };
    int how = -1;
    pack_pipeline_parse("gzip:1", 1, &layout.pipeline, NULL);
    name_source();
    pid_t maker = fork();
    if (maker == 0)
        _exit(pack_probe_create(source, &layout, fill_large, NULL, NULL) == PACK_OK ? 0 : 1);
    ok(maker > 0 && waitpid(maker, &how, 0) == maker && how == 0, "large chunks are made");
    keeps_thresholds(measure_devices, 1 << 20, "measuring storage and pages");
    keeps_thresholds(copy_large, LARGE_BYTES * 2 / 3, "a copy");
}

static pid_t maker; /* of copies, which are written by another process */

static bool
die_in_writer(void *context)
{
    (void)context;
    if (getpid() != maker)
        raise(SIGKILL);
    return false;
}

/* The writer hears of nothing, and would write for ever. */
static bool
stop_in_maker(void *context)
{
    (void)context;
    while (getpid() != maker)
        pause();
    return true;
}

static void
test_writer_ends(void)
{
    struct pack_scratch_params p = { .file = source, .dataset = "probe", .n_samples = N,
                                     .watch = { .stop = die_in_writer } };
    struct pack_scratch *s = NULL;
    struct pack_error err = { 0 };
    maker = getpid();
    ok(pack_scratch_make(&p, &s, &err) == PACK_ERR_FORMAT && !s &&
           strstr(err.text, "HDF5 ended its process (signal 9)"),
       "a writer that is killed is told of: %s", err.text);
    p.watch.stop = stop_in_maker;
    ok(pack_scratch_make(&p, &s, &err) == PACK_ERR_INTERRUPTED && !s &&
           waitpid(-1, NULL, WNOHANG) < 0,
       "one that does not hear is ended when its maker is stopped");
}

/* A disk that is full, wherever in the copy that is. */
static void
test_full(void)
{
    char dir[512];
    struct pack_scratch_params p = { .file = source, .dataset = "probe", .n_samples = N,
                                     .chunk = { 3, { 16, SIDE, SIDE } }, .dir = dir };
    struct pack_scratch *s = NULL;
    struct rlimit kept, limit;
    struct stat info = { .st_size = 0 };
    int n_taken = 0;
    snprintf(dir, sizeof dir, "%s", source);
    *strrchr(dir, '/') = '\0';
    bool good = pack_scratch_make(&p, &s, NULL) == PACK_OK &&
                stat(pack_scratch_path(s), &info) == 0 && getrlimit(RLIMIT_FSIZE, &kept) == 0;
    pack_scratch_close(s);
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; good && i < 16; i++) {
        struct pack_error err = { .text = "" };
        limit = (struct rlimit){ (rlim_t)(info.st_size * i / 16), kept.rlim_max };
        s = NULL;
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        enum pack_status status = pack_scratch_make(&p, &s, &err);
        (void)setrlimit(RLIMIT_FSIZE, &kept);
        n_taken += status != PACK_ERR_IO || s || !strstr(err.text, strerror(EFBIG));
        pack_scratch_close(s);
    }
    ok(good && n_taken == 0, "a disk that becomes full is told, and no copy taken for whole");
}

/* In made-up time: 1600 samples/s of two workers that wait 20 ms for each batch of 16, and
 * a reader whose loads take most of its time. */
static void
test_trial(void)
{
    struct pack_readset *set = NULL;
    const char *file = source;
    struct pack_error err = { 0 };
    if (pack_readset_open(&file, 1, "probe", &set, &err) != PACK_OK) {
        ok(false, "the source opens %s", err.text);
        return;
    }
    struct pack_bench_params candidates[2] = {
        { .set = set, .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 16 } },
        { .set = set,
          .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 16 },
          .workers.n = 2,
          .workers.delay_ns = 20 * 1000 * 1000 },
    };
    struct pack_trial_params params = { .slice_ns = 30 * 1000 * 1000,
                                        .rounds_min = 4,
                                        .rounds_max = 4 };
    static struct pack_trial_result results[2];
    made_time = (struct made_time){ .call_ns = 1000, .byte_ns = 10 };
    enum pack_status status = pack_trial_run(candidates, 2, &params, results, &err);
    made_time = (struct made_time){ 0 };
    ok(status == PACK_OK && results[0].n_rounds == 4 && results[1].n_rounds == 4,
       "two candidates are read four times in turns %s", err.text);
    ok(results[0].n_epochs == MADE_TIME_EPOCHS && results[0].has_later &&
           results[0].later_rate > 2 * results[0].first_rate,
       "a fast one for all epochs, of which later ones find their chunks: %.0f and %.0f "
       "samples/s",
       results[0].first_rate, results[0].later_rate);
    ok(results[1].first_rate > 1500 && results[1].first_rate < 1600,
       "one that is kept waiting is as slow as that: %.0f samples/s", results[1].first_rate);
    ok(results[1].n_epochs == 1 && !results[1].has_later && results[1].later_rate > 0 &&
           results[1].later_rate < 2 * 16 / 0.02 * 1.3 && results[1].first_samples < N,
       "and is seen for a part of its first epoch");
    struct pack_trial_gain gain;
    pack_trial_gain(&results[1], &results[0], &gain);
    ok(fabs(gain.median * results[1].later_rate / results[0].later_rate - 1) < 1e-9 &&
           gain.low == gain.median && gain.high == gain.median,
       "rounds that are alike say what the fast one gains: %.3g (%.3g to %.3g)", gain.median,
       gain.low, gain.high);
    made_time = (struct made_time){ .call_ns = 1000, .byte_ns = 10 };
    params.race = 0.5;
    bool raced = pack_trial_run(candidates, 2, &params, results, &err) == PACK_OK &&
                 results[0].n_rounds == 4 && results[1].n_rounds == 3;
    params.always = 1;
    ok(raced && pack_trial_run(candidates, 2, &params, results, &err) == PACK_OK &&
           results[0].n_rounds == 4 && results[1].n_rounds == 4,
       "one that is much slower is out after three rounds, unless it is to be read always");
    made_time = (struct made_time){ 0 };
    params.race = 0;
    params.always = 0;
    params.rounds_min = params.rounds_max = 1;
    params.slice_ns = 1; /* by the clock: no time at all */
    status = pack_trial_run(candidates, 1, &params, results, &err);
    ok(status == PACK_OK && results[0].n_epochs == 1 && !results[0].has_later &&
           results[0].first_samples == 16,
       "whose time is over at once is seen for a batch");
    pack_readset_close(set);
}

/* A cache that holds everything, filled beforehand, leaves nothing to read; one for half
 * of it is filled to the half. */
static void
test_preload(void)
{
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    const char *file = source;
    if (pack_readset_open(&file, 1, "probe", &set, &err) != PACK_OK) {
        ok(false, "the source opens %s", err.text);
        return;
    }
    uint64_t reads[3] = { 0 };
    const uint64_t chunk = set->parts[0].data->chunks.grid.chunk_bytes,
                   n_chunks = set->parts[0].data->chunks.grid.n_chunks_total;
    for (int i = 0; i < 3; i++) {
        struct pack_bench_params p = {
            .set = set,
            .pattern = { .kind = PACK_PATTERN_SEQUENTIAL, .batch = 16 },
            .workers.n = 1,
            .open.set_cache = true,
            .open.cache = { 10007, chunk * (i == 2 ? n_chunks / 2 : n_chunks), 0.75, PACK_HDF5_1_10 },
            .preload = i > 0,
            .no_check = true,
        };
        struct pack_bench_result r;
        enum pack_status status = pack_bench_run(&p, &r, &err);
        ok(status == PACK_OK && r.total.n_samples == set->extent.extent[0],
           "the dataset is read once %s", err.text);
        reads[i] = r.total.work.read.file_reads;
        pack_bench_done(&r);
    }
    ok(reads[0] == n_chunks && reads[1] == 0,
       "a full cache leaves nothing to read: %d and %d file reads", (int)reads[0],
       (int)reads[1]);
    ok(reads[2] > 0 && reads[2] < n_chunks, "half a cache some: %d", (int)reads[2]);
    pack_readset_close(set);
}

/* What is left of a cache that is filled beforehand where each epoch has new workers, and
 * how long a run goes on whose first epoch has no more batches than there are workers. */
static void
test_preload_ends(void)
{
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    const char *file = source;
    if (pack_readset_open(&file, 1, "probe", &set, &err) != PACK_OK) {
        ok(false, "the source opens %s", err.text);
        return;
    }
    const struct pack_grid *grid = &set->parts[0].data->chunks.grid;
    struct pack_bench_params p = {
        .set = set,
        .pattern = { .kind = PACK_PATTERN_SEQUENTIAL, .batch = 16 },
        .workers = { .n = 1, .fresh = true },
        .open.set_cache = true,
        .open.cache = { 10007, grid->chunk_bytes * grid->n_chunks_total, 0.75, PACK_HDF5_1_10 },
        .stop.epochs = 2,
        .preload = true,
        .no_check = true,
    };
    struct pack_bench_result r;
    enum pack_status status = pack_bench_run(&p, &r, &err);
    ok(status == PACK_OK && r.total.work.read.file_reads == 2 * grid->n_chunks_total,
       "fresh workers find nothing in their caches: %d file reads %s",
       (int)r.total.work.read.file_reads, err.text);
    pack_bench_done(&r);
    p.workers = (struct pack_bench_workers){ .n = 2 };
    p.stop.epochs = 1;
    status = pack_bench_run(&p, &r, &err);
    ok(status == PACK_OK && r.total.work.read.file_reads == 0 &&
           r.total.work.read.requests > 0,
       "workers that stay find all in theirs: %d requests %s",
       (int)r.total.work.read.requests, err.text);
    pack_bench_done(&r);
    pack_readset_close(set);
}

/* P(Binomial(n, 1/2) <= k), the long way. */
static double
below(int n, int k)
{
    double sum = 0;
    for (int i = 0; i <= k; i++)
        sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2));
    return sum;
}

static void
test_gain(void)
{
    static struct pack_trial_result a, b;
    bool right = true, sharp = true;
    for (uint32_t n = 1; n <= PACK_TRIAL_ROUNDS_MAX; n++) {
        struct pack_trial_gain gain;
        a.n_rounds = b.n_rounds = n;
        for (uint32_t i = 0; i < n; i++) {
            a.later[i] = 10;
            b.later[i] = 10 * (1 + (i * 37) % n); /* ratios 1 to n in some order */
        }
        if (n % 37 == 0)
            continue; /* all alike */
        pack_trial_gain(&a, &b, &gain);
        int k = (int)gain.low - 1;
        right = right && gain.low + gain.high == n + 1 && gain.median == (n + 1) / 2.0;
        if (n >= 6) {
            right = right && 1 - 2 * below((int)n, k) >= 0.95;
            sharp = sharp && 1 - 2 * below((int)n, k + 1) < 0.95;
        } else {
            right = right && k == 0;
        }
    }
    ok(right, "intervals hold the median in 95 of 100 cases for 6 to 64 rounds");
    ok(sharp, "and are no wider than that takes");
    a.n_rounds = b.n_rounds = 4;
    for (uint32_t i = 0; i < 4; i++)
        b.later[i] = i == 2 ? 0 : 20;
    a.later[0] = 0;
    struct pack_trial_gain some;
    pack_trial_gain(&a, &b, &some);
    ok(some.median == 2 && some.low == 2, "rounds that did not look at both do not count");
    a.n_rounds = 3;
    b.n_rounds = 0;
    struct pack_trial_gain none;
    pack_trial_gain(&a, &b, &none);
    ok(none.median == 0 && none.low == 0 && none.high == 0, "no rounds, no gain");
}

/* Rows around today's, which gives 1000. */
static size_t
choose(double rate, double gain_low, enum pack_advise_basis now_basis,
       enum pack_advise_basis basis)
{
    struct pack_advise_config today = { .chunk = { 3, { 1, SIDE, SIDE } }, .codec = "none" };
    struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                         .data.elem_size = 1,
                                         .now = &today };
    struct pack_advise_outcome rows[2] = { { .config = today,
                                             .rate = 1000,
                                             .fits = true,
                                             .randomness = 1,
                                             .is_now = true,
                                             .basis = now_basis } };
    rows[1] = rows[0];
    rows[1].is_now = false;
    rows[1].basis = basis;
    rows[1].rate = rate;
    rows[1].gain_low = gain_low;
    rows[1].config.chunk.extent[0] = 4;
    return pack_advise_choose(&params, &rows[0], rows, 2);
}

static void
test_choice(void)
{
    const enum pack_advise_basis predicted = PACK_ADVISE_PREDICTED,
                                 measured = PACK_ADVISE_MEASURED;
    ok(choose(1160, 1.01, measured, measured) == 1,
       "a measured gain whose interval lies above 1 is chosen");
    ok(choose(1160, 0.99, measured, measured) == 0,
       "one whose interval reaches below 1 is not");
    ok(choose(1140, 1.01, measured, measured) == 0, "nor one below the gain wanted");
    ok(choose(5000, 0, measured, predicted) == 0,
       "a predicted row is not chosen over a measured one");
    ok(choose(5000, 0, predicted, predicted) == 1, "where nothing is measured it is");
}

static void
test_storage(void)
{
    struct pack_profile before, profile;
    pack_profile_named("hdd", &before, NULL);
    profile = before;
    ok(pack_measure_storage(source, &profile) != PACK_OK &&
           profile.latency_ns == before.latency_ns,
       "a file too small to tell leaves the profile as it is");
    ok(pack_measure_storage("/nonexistent", &profile) == PACK_ERR_IO,
       "a file that is not there too");
    const struct pack_page_reads reads = { 4096, 1 << 20, 3 }, plain = { 4096, 0, 0 };
    double pages = pack_measure_pages(source, source, &reads);
    ok(pages > 0 && pack_measure_pages(source, source, &plain) > 0 &&
           pack_measure_pages(source, "/nonexistent", &reads) == 1 &&
           pack_measure_pages("/nonexistent", source, &reads) == 1 &&
           pack_measure_pages("/dev/null", source, &reads) == 1,
       "pages of a file are compared with those of another, where both can be read: %.2f",
       pages);
}

static void
fill_waves(void *context, uint64_t first, uint64_t n, void *out)
{
    const struct pack_probe_layout *layout = context;
    uint64_t bytes = n * layout->extent.extent[1] * layout->extent.extent[2];
    for (uint64_t i = 0; i < bytes; i++)
        ((unsigned char *)out)[i] = (unsigned char)((first + i) * 37 >> (i & 3));
}

/* What gzip cannot make small: opening the file reads no more than its beginning. */
static void
fill_noise(void *context, uint64_t first, uint64_t n, void *out)
{
    const struct pack_probe_layout *layout = context;
    uint64_t bytes = n * layout->extent.extent[1] * layout->extent.extent[2];
    uint64_t state = first + 1;
    for (uint64_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((unsigned char *)out)[i] = (unsigned char)(state >> 56);
    }
}

/* Small crops of what takes long to decode, with a cache that holds all of it. */
struct decoded {
    bool workers_end, is_cold; /* cold: its pages are dropped, if they can be */
    uint64_t ram_bytes;        /* 0: enough */
};

/* Today's settings, in made-up time. */
static bool
measure_decoded(struct decoded decoded, struct pack_measured *m)
{
    struct pack_probe_layout layout = { .extent = { 3, { N, 160, 160 } },
                                        .chunk = { 3, { N, 160, 160 } } };
    char path[600];
    struct pack_profile profile;
    struct pack_error err = { 0 };
    struct pack_advise_config now = { .chunk = layout.chunk, .stored_rate = 1 };
    pack_pipeline_parse("gzip:4", 1, &layout.pipeline, NULL);
    strcpy(now.codec, "gzip:4");
    pack_cache_params_defaults(&now.cache, PACK_HDF5_1_10);
    now.cache.size_bytes = 64 << 20;
    now.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_SHUFFLE,
                                         .box = { 3, { 1, 8, 8 } },
                                         .batch = N,
                                         .workers = 1 };
    struct pack_advise_params params = { .data.extent = layout.extent,
                                         .data.elem_size = 1,
                                         .machine.profile = &profile,
                                         .reading.pattern = now.pattern,
                                         .reading.workers_end = decoded.workers_end,
                                         .machine.ram_bytes = decoded.ram_bytes
                                                                  ? decoded.ram_bytes
                                                                  : UINT64_C(1) << 32,
                                         .now = &now };
    *m = (struct pack_measured){ 0 };
    snprintf(path, sizeof path, "%s.gzip", source);
    struct pack_measure_params how = { .file = path, .dataset = "probe" };
    enum pack_status status = pack_probe_create(
        path, &layout, decoded.is_cold ? fill_noise : fill_waves, &layout, &err);
    made_time = (struct made_time){ .call_ns = 1000, .decode_ns = 10, .start_ns = 1e6 };
    if (status == PACK_OK)
        status = pack_profile_named("nvme", &profile, &err);
    if (status == PACK_OK && decoded.is_cold)
        status = pack_system_drop(path, &err);
    if (status == PACK_OK)
        status = pack_measure_now(&how, &params, &profile, m, &err);
    made_time = (struct made_time){ 0 };
    unlink(path);
    if (status != PACK_OK || !m->has_now)
        note("%s", err.text);
    return m->has_now;
}

static double
later_over_first(bool workers_end)
{
    struct pack_measured m;
    return measure_decoded((struct decoded){ .workers_end = workers_end }, &m)
               ? m.now_later / m.now_first
               : 0;
}

/* A file that is cold, is read as it is today, and stays. */
static void
test_is_held(void)
{
    struct pack_measured warm, held, lost;
    bool good = measure_decoded((struct decoded){ .is_cold = false }, &warm) &&
                measure_decoded((struct decoded){ .is_cold = true }, &held) &&
                measure_decoded((struct decoded){ .is_cold = true, .ram_bytes = 1024 }, &lost);
    ok(good && warm.is_held && warm.resident_rate == 1, "a warm file stays warm");
    if (held.resident_rate >= 0.99)
        skip("pages of this file system cannot be dropped");
    else
        ok(good && held.is_held, "a cold file is held once it was read");
    ok(good && !lost.is_held, "but not where memory does not hold it");
}

static void
test_workers_end(void)
{
    double kept = later_over_first(false), ended = later_over_first(true);
    note("later epochs over the first: %.3g, with new workers %.3g", kept, ended);
    ok(ended == 1 && kept > 100,
       "workers that end with each epoch are measured without what they held");
}

/* What the model says of crops that go past the cache, which HDF5 2.1 reads with a sieve
 * buffer and 1.10 without. */
static double
modelled_as(enum pack_hdf5_version version)
{
    struct pack_profile profile;
    struct pack_advise_config now = { .chunk = { 3, { 7, SIDE, 9 } },
                                      .codec = "none",
                                      .stored_rate = 1,
                                      .cache = { 521, 0, 0.75, version } };
    struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                         .data.elem_size = 1,
                                         .machine.profile = &profile,
                                         .cache.version = version,
                                         .machine.ram_bytes = UINT64_C(1) << 32,
                                         .now = &now };
    struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_measured m = { 0 };
    now.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_SHUFFLE,
                                         .box = { 3, { 1, 8, 8 } },
                                         .batch = N,
                                         .workers = 1 };
    params.reading.pattern = now.pattern;
    (void)pack_profile_named("nvme", &profile, NULL);
    return pack_measure_now(&how, &params, &profile, &m, NULL) == PACK_OK
               ? m.modelled_later
               : 0;
}

/* More readers than are ever started. */
static void
test_many_workers(void)
{
    struct pack_advise_config now = { .chunk = { 3, { 7, SIDE, 9 } } };
    struct pack_profile profile;
    struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                         .data.elem_size = 1,
                                         .machine.profile = &profile,
                                         .reading.pattern.workers = 5000,
                                         .now = &now };
    struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_measured m = { .has_now = true };
    struct pack_error err = { 0 };
    static struct pack_advise_result result;
    ok(pack_measure_now(&how, &params, &profile, &m, &err) == PACK_OK && !m.has_now &&
           pack_measure_rows(&how, &params, &result, &m, &err) == PACK_OK &&
           m.n_rows == 0,
       "5000 workers are advised on, but not measured %s", err.text);
}

/* Batches that are read at once cannot be made smaller. */
static void
test_slice(void)
{
    const struct pack_advise_params params = { .reading.pattern.workers = 3 };
    const struct pack_advise_config config = { .pattern = { .batch = 64 } };
    const struct {
        double rate;
        uint64_t ms;
    } cases[] = { { 0, 200 }, { 3900, 200 }, { 3072, 250 }, { 100, 500 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t ns = pack_measure_slice(&params, cases[i].rate, 200000000, &config);
        ok(ns == cases[i].ms * 1000000,
           "at %g samples/s four batches of three workers are waited for: %g s",
           cases[i].rate, (double)ns / 1e9);
    }
}

/* What is never read, each with its reason; what is just short of it has none. */
static void
test_not_read(void)
{
    static const struct pack_box trace[] = { { 3, { 0, 0, 0 }, { 1, SIDE, SIDE } } };
    static struct pack_advise_result result;
    struct pack_advise_config now = { .chunk = { 3, { 7, SIDE, 9 } } };
    const struct pack_advise_params usual = { .data.extent = { 3, { N, SIDE, SIDE } },
                                              .data.elem_size = 1,
                                              .now = &now };
    struct pack_advise_params p = usual;
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    uint64_t memory = 0;
    p.reading.pattern.kind = PACK_PATTERN_TRACE;
    p.reading.pattern.trace = trace;
    p.reading.pattern.n_trace = 1;
    struct {
        struct pack_advise_params params;
        const char *why;
    } cases[4] = { { p, "a trace is of the dataset as it is" } };
    cases[1].params = cases[2].params = cases[3].params = usual;
    cases[1].params.data.extent.rank = 0;
    cases[1].why = "a single value has no samples";
    cases[2].params.reading.pattern.workers = 1 << 20;
    cases[2].why = "so many workers are not started here";
    cases[3].params.reading.pattern.workers = 2;
    cases[3].params.reading.pattern.read = PACK_READ_BATCH;
    cases[3].why = "would take more than a quarter of memory";
    int n = 3;
    if (pack_system_memory_bytes(&memory)) /* that is free: a little more or less in a moment */
        cases[n++].params.reading.pattern.batch = memory / (4 * 3 * 2 * SAMPLE) * 3 / 2;
    for (int i = 0; i < n; i++) {
        struct pack_measured m = { .n_rows = 7 };
        ok(pack_measure_rows(&how, &cases[i].params, &result, &m, NULL) == PACK_OK &&
               strncmp(m.why_not, "nothing could be read: ", 23) == 0 &&
               strstr(m.why_not, cases[i].why) && m.n_rounds == 0,
           "nothing is read, and it is said why: %s", m.why_not);
    }
}

/* Copies of so large samples do not fit; and a sample that takes so long. */
static void
test_large(void)
{
    static struct pack_advise_result result;
    struct pack_advise_config now = { .codec = "none", .stored_rate = 1 }; /* contiguous */
    struct pack_profile profile;
    (void)pack_profile_named("nvme", &profile, NULL);
    struct pack_advise_params p = { .data.extent = { 2, { 2, UINT64_C(1) << 44 } },
                                    .data.elem_size = 1,
                                    .machine.profile = &profile,
                                    .machine.is_warm = true,
                                    .reading.pattern.box = { 2, { 1, SIDE } },
                                    .now = &now };
    struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_measured m = { .now_ratio = 1 };
    struct pack_error err = { 0 };
    pack_cache_params_defaults(&now.cache, PACK_HDF5_1_10);
    result.n_rows = 1;
    result.rows[0].config = now;
    result.rows[0].is_now = true;
    ok(pack_measure_rows(&how, &p, &result, &m, &err) == PACK_OK && m.n_rows == 0 &&
           strstr(m.why_not, "copies of 1 sample in 1 layout would take more than a quarter"),
       "16 TiB are not copied: %s", m.why_not);
    how.prove = true;
    ok(pack_measure_rows(&how, &p, &result, &m, &err) == PACK_ERR_LIMIT,
       "and a proof is refused: %s", err.text);
    p.data.extent = (struct pack_shape){ 3, { N, SIDE, SIDE } };
    p.reading.pattern = (struct pack_pattern){ .workers = 2, .batch = 10 };
    how.scratch_bytes = 19 * SAMPLE;
    ok(pack_measure_rows(&how, &p, &result, &m, &err) == PACK_ERR_ARGUMENT &&
           err.param && strcmp(err.param, "scratch_bytes") == 0,
       "nor do 19 samples tell what two workers with batches of 10 give: %s", err.text);
    how.scratch_bytes = 0;
    how.prove = false;
    p.reading.pattern = (struct pack_pattern){ .workers = 0 };
    p.reading.pattern.box.rank = 0;
    p.reading.pattern.workers = 3;
    const double rates[] = { 5.9, 6.1 };
    for (int i = 0; i < 2; i++) {
        m = (struct pack_measured){ .now_ratio = 1, .has_now = true, .now_later = rates[i] };
        result.rows[0].config.chunk = now.chunk = (struct pack_shape){ 3, { 7, SIDE, 9 } };
        (void)pack_measure_rows(&how, &p, &result, &m, &err);
        ok(!strstr(m.why_not, "a sample takes longer than half a second") == (i == 1),
           "%g samples/s of three readers: %s", rates[i], m.why_not);
    }
}

/* Today's settings, of a file whose chunk is damaged; a second dataset is read beside. */
static void
test_now_read(void)
{
    struct pack_advise_config now = { .chunk = { 3, { 7, SIDE, 9 } },
                                      .codec = "none",
                                      .stored_rate = 1 };
    struct pack_profile profile;
    char path[600];
    struct pack_probe_layout layout = { .extent = { 3, { N, 32, 32 } },
                                        .chunk = { 3, { N, 32, 32 } } };
    pack_cache_params_defaults(&now.cache, PACK_HDF5_1_10);
    now.pattern.batch = N;
    (void)pack_profile_named("nvme", &profile, NULL);
    struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                         .data.elem_size = 1,
                                         .machine.profile = &profile,
                                         .reading.pattern = now.pattern,
                                         .machine.ram_bytes = UINT64_C(1) << 32,
                                         .now = &now };
    struct pack_measure_params how = { .file = source, .dataset = "probe", .with = "probe" };
    struct pack_measured m;
    struct pack_error err = { 0 };
    made_time = (struct made_time){ .call_ns = 1000 };
    memset(&made_time_of, 0, sizeof made_time_of);
    enum pack_status status = pack_measure_now(&how, &params, &profile, &m, &err);
    ok(status == PACK_OK && m.has_now && made_time_of.with != NULL && !m.why_not[0],
       "what is read beside today's is read %s%s", err.text, m.why_not);
    how.with = "nothing";
    status = pack_measure_now(&how, &params, &profile, &m, &err);
    ok(status == PACK_OK && m.has_now && made_time_of.with == NULL,
       "where it is there %s", err.text);
    how.with = NULL;
    made_time = (struct made_time){ 0 };
    snprintf(path, sizeof path, "%s.bad", source);
    pack_pipeline_parse("gzip:4", 1, &layout.pipeline, NULL);
    status = pack_probe_create(path, &layout, fill_waves, &layout, &err);
    static const char garbage[64] = "this is no compressed data";
    struct pack_chunkindex index = { .n_chunks = 0 };
    if (status == PACK_OK)
        status = pack_chunkindex_read(path, "probe", 0, &index, &err);
    int file = open(path, O_WRONLY);
    bool done = status == PACK_OK && index.n_chunks == 1 &&
                pwrite(file, garbage, sizeof garbage, (off_t)index.chunks[0].address_bytes) ==
                    sizeof garbage;
    close(file);
    pack_chunkindex_done(&index);
    if (ok(done, "a chunk is damaged %s", err.text)) {
        how.file = path;
        now.chunk = layout.chunk;
        params.data.extent = layout.extent;
        strcpy(now.codec, "gzip:4");
        status = pack_measure_now(&how, &params, &profile, &m, &err);
        ok(status == PACK_OK && !m.has_now &&
               strncmp(m.why_not, "today's settings could not be read: ", 36) == 0,
           "what cannot be decoded stays predicted, and it is said why: %s", m.why_not);
    }
    unlink(path);
}

/* A run ends between batches: of what is slow they are so small that each worker makes eight
 * of them in the 0.3 s that today's settings are read. */
static void
test_small_batches(void)
{
    static const double calls_ns[] = { 1e9, 3e6, 1e6, 1e3 };
    static const uint64_t batches[] = { 300, 10 };
    for (size_t i = 0; i < 2 * sizeof calls_ns / sizeof *calls_ns; i++)
        for (uint64_t workers = 1; workers <= 2; workers++) {
            struct pack_profile profile;
            struct pack_advise_config now = { .chunk = { 3, { 7, SIDE, 9 } },
                                              .codec = "none",
                                              .stored_rate = 1 };
            struct pack_advise_outcome o = { .rate = 0 };
            struct pack_measured m;
            const struct pack_measure_params how = { .file = source, .dataset = "probe" };
            (void)pack_profile_named("nvme", &profile, NULL);
            profile.call_ns = calls_ns[i / 2];
            pack_cache_params_defaults(&now.cache, PACK_HDF5_1_10);
            now.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_SHUFFLE,
                                                 .batch = batches[i % 2],
                                                 .workers = workers };
            struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                                 .data.elem_size = 1,
                                                 .machine.profile = &profile,
                                                 .reading.pattern = now.pattern,
                                                 .machine.ram_bytes = UINT64_C(1) << 32,
                                                 .now = &now };
            made_time = (struct made_time){ .call_ns = 1000 };
            memset(&made_time_of, 0, sizeof made_time_of);
            bool done = pack_measure_now(&how, &params, &profile, &m, NULL) == PACK_OK;
            made_time = (struct made_time){ 0 };
            done = done && pack_advise_evaluate(&params, &now, 0, &o, NULL) == PACK_OK;
            double fit = o.first_rate * 0.3 / (double)workers / 8;
            uint64_t want = fit >= (double)batches[i % 2] ? batches[i % 2]
                            : fit < 1                     ? 1
                                                          : (uint64_t)fit;
            ok(done && made_time_of.pattern.batch == want,
               "%.3g samples/s of %d workers are read in batches of %d, not %d", o.first_rate,
               (int)workers, (int)made_time_of.pattern.batch, (int)batches[i % 2]);
        }
}

/* Two batches of ten are read in the time there is: the model is asked about as many. */
static void
test_part_of_epoch(void)
{
    struct pack_profile profile;
    struct pack_advise_config now = { .chunk = { 3, { 7, SIDE, 9 } },
                                      .codec = "none",
                                      .stored_rate = 1,
                                      .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 10 } };
    struct pack_measured m;
    struct measure_expected part, whole;
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    pack_cache_params_defaults(&now.cache, PACK_HDF5_1_10);
    (void)pack_profile_named("nvme", &profile, NULL);
    struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                         .data.elem_size = 1,
                                         .machine.profile = &profile,
                                         .reading.pattern = now.pattern,
                                         .machine.ram_bytes = UINT64_C(1) << 32,
                                         .now = &now };
    made_time = (struct made_time){ .call_ns = 20e6 };
    bool done = pack_measure_now(&how, &params, &profile, &m, NULL) == PACK_OK && m.has_now;
    made_time = (struct made_time){ 0 };
    done = done && pack_measure_model(&params, &now, 20, &part, NULL) == PACK_OK &&
           pack_measure_model(&params, &now, 0, &whole, NULL) == PACK_OK;
    ok(done && part.first != whole.first && m.modelled_first == part.first &&
           m.modelled_later == part.first,
       "beside 20 samples stands the model of 20: %.0f samples/s, of an epoch %.0f",
       m.modelled_first, whole.first);
}

/* Where the file's pages are: in the page cache; there since they were read; elsewhere. */
enum held { WARM, WARM_SINCE, COLD };

/* Rows that take every sample from the file's pages, measured in copies, in made-up time. */
struct paged {
    double pages;   /* what such a read of the file takes over one of a copy */
    double on_file; /* what later epochs of the file take over those of a copy; 0: none were
                       read */
    enum held held;
    double cold; /* samples/s of the first epoch, as it was read of a cold file; 0: it was not */
    double miss_ns; /* in the model; 0: an NVMe machine's */
    double latency_ns; /* of storage that takes no other time; 0: an NVMe machine's */
    bool cached;    /* a second row's cache holds all */
};

struct paged_rows {
    struct pack_advise_outcome modelled[2], measured[2]; /* now, and the second row */
    double ratio; /* samples/s of the file over what its copy foretells */
    bool is_beside; /* what was noted of the file before is not what counts */
};

static const struct pack_advise_config now_paged = {
    .chunk = { 3, { 7, SIDE, 9 } },
    .codec = "none",
    .stored_rate = 1,
    .cache = { 521, 0, 0.75, PACK_HDF5_1_10 },
    .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 10 },
};

static struct paged_rows
measure_paged(struct paged paged)
{
    static struct pack_advise_result result;
    struct pack_profile profile;
    struct pack_error err = { 0 };
    struct paged_rows rows = { .ratio = 0 };
    struct pack_advise_config cached = now_paged;
    struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                         .data.elem_size = 1,
                                         .machine.profile = &profile,
                                         .machine.is_warm = paged.held == WARM,
                                         .machine.ram_bytes = UINT64_C(1) << 32,
                                         .reading.pattern = now_paged.pattern,
                                         .reading.epochs = 30,
                                         .now = &now_paged };
    struct pack_measure_params how = { .file = source,
                                       .data_file = "data",
                                       .dataset = "probe" };
    struct pack_measured m = { .now_ratio = 1,
                               .has_now = paged.on_file > 0,
                               .now_first = paged.cold > 0 ? paged.cold : 5,
                               .cold_samples = paged.cold > 0 ? N : 0,
                               .cold_batch = now_paged.pattern.batch,
                               .now_later = 7,
                               .is_held = paged.held != COLD };
    size_t n_rows = paged.cached ? 2 : 1;
    (void)pack_profile_named("nvme", &profile, NULL);
    if (paged.miss_ns > 0)
        profile.miss_ns = paged.miss_ns;
    if (paged.latency_ns > 0) {
        profile.latency_ns = paged.latency_ns;
        profile.stream_bytes_per_s = profile.max_bytes_per_s = profile.max_reads_per_s = 1e15;
    }
    cached.cache.size_bytes = 4 << 20;
    memset(&result, 0, sizeof result);
    enum pack_status status =
        pack_advise_evaluate(&params, &now_paged, 0, &result.rows[0], &err);
    if (status == PACK_OK && paged.cached)
        status = pack_advise_evaluate(&params, &cached, 0, &result.rows[1], &err);
    result.has_now = result.rows[0].is_now = true;
    result.n_rows = n_rows;
    for (size_t i = 0; i < n_rows; i++) {
        result.rows[i].modelled_rate = result.rows[i].rate;
        rows.modelled[i] = result.rows[i];
    }
    result.now = result.rows[0];
    m.modelled_later = result.now.later_rate;
    made_time = (struct made_time){ .call_ns = 20000,
                                    .byte_ns = 10,
                                    .pages = paged.pages,
                                    .on_file = paged.on_file,
                                    .file = source };
    if (status == PACK_OK)
        status = pack_measure_rows(&how, &params, &result, &m, &err);
    made_time = (struct made_time){ 0 };
    if (status != PACK_OK || m.n_rows != n_rows)
        note("%s %s", err.text, m.why_not);
    for (size_t i = 0; i < result.n_rows && i < 2; i++)
        rows.measured[!result.rows[i].is_now] = result.rows[i];
    rows.ratio = m.now_ratio;
    rows.is_beside = m.now_later != 7 && (m.now_first == 5) == (paged.held != WARM);
    return rows;
}

static double
later_paged(struct paged paged)
{
    return measure_paged(paged).measured[0].later_rate;
}

static double
page_part(const struct pack_cost *cost)
{
    return cost->page_ns / cost->cpu_ns;
}

static bool
is_close(double a, double b)
{
    return fabs(a / b - 1) < 1e-5; /* times are whole nanoseconds */
}

/* What is measured in a copy is scaled; of that, what pages take is as much more as those
 * of the file are slower. */
static void
test_pages(void)
{
    struct paged_rows rows = measure_paged((struct paged){ .pages = 1 });
    double alike = rows.measured[0].later_rate,
           part = page_part(&rows.modelled[0].steady_cost),
           twice = later_paged((struct paged){ .pages = 2 }),
           half = later_paged((struct paged){ .pages = 0.5 });
    ok(part > 0.05 && is_close(alike / twice, 1 + part) && is_close(alike / half, 1 - part / 2),
       "pages that take twice as long take their part of the time once more: %.3f, %.3f",
       part, alike / twice);
    is_text(made_time_pages_of, "data", "they are those of the file that holds the data");
    bool is_far = made_time_reads.bytes == 4096 && made_time_reads.n_readers == 1 &&
                  made_time_reads.to_bytes == 3 * 10 * SAMPLE;
    (void)measure_paged((struct paged){ .pages = 2, .cached = true });
    ok(is_far && made_time_reads.bytes == 4096 && made_time_reads.to_bytes == 0,
       "read into three batches, and where chunks are loaded into the memory of one");
    rows = measure_paged((struct paged){ .pages = 2, .on_file = alike / twice });
    ok(is_close(rows.ratio, 1), "where the file is as slow as that, they explain it: %.3f",
       rows.ratio);
    rows = measure_paged((struct paged){ .pages = 2, .on_file = 1 });
    ok(is_close(rows.ratio, 1), "where it is as fast as the copy they do not count: %.3f",
       rows.ratio);
}

/* A file that lies in the page cache is read in turns with the copies, and what it gives beyond
 * them goes to its rows' rates; to that of the first epoch only where that is not cold. */
static void
test_held(void)
{
    struct paged_rows rows = measure_paged((struct paged){ .pages = 1 });
    double copy = rows.measured[0].later_rate;
    rows = measure_paged((struct paged){ .pages = 1, .on_file = 0.8 });
    ok(rows.is_beside && is_close(rows.ratio, 1.25) &&
           is_close(rows.measured[0].later_rate, 1.25 * copy),
       "a file that is faster than its copy makes the row as fast: %.3f", rows.ratio);
    struct paged cold = { .pages = 2, .held = COLD };
    rows = measure_paged(cold);
    double first = rows.measured[0].first_rate;
    ok(is_close(rows.measured[0].later_rate, copy) && first < 0.9 * copy,
       "of a cold file neither pages nor speed are compared");
    cold.on_file = 0.8;
    rows = measure_paged(cold);
    ok(!rows.is_beside && rows.ratio == 1 && is_close(rows.measured[0].later_rate, copy),
       "also where it was read: what that gave came from storage");
    cold.held = WARM_SINCE;
    rows = measure_paged(cold);
    ok(rows.is_beside && is_close(rows.ratio, 1.25) &&
           is_close(rows.measured[0].later_rate, 1.25 * copy) &&
           is_close(rows.measured[0].first_rate, first),
       "where it was held from then on, later epochs are as fast, the first is as it was");
    cold.on_file = copy / later_paged((struct paged){ .pages = 2 });
    rows = measure_paged(cold);
    ok(is_close(rows.ratio, 1) && is_close(rows.measured[0].later_rate, copy / cold.on_file),
       "and its pages count for them");
}

/* What storage takes in the first epoch of a row, over what the model says. */
static double
storage_of(const struct paged_rows *plain, const struct paged_rows *rows, size_t i)
{
    double more_ns =
        N * 1e9 / rows->measured[i].first_rate - N * 1e9 / plain->measured[i].first_rate;
    return 1 + more_ns / plain->modelled[i].first_cost.storage_ns;
}

/* A first epoch of which the processor takes most tells nothing of storage. */
static void
test_busy(void)
{
    struct paged paged = { .pages = 1, .on_file = 1, .held = COLD, .latency_ns = 2000 };
    struct paged_rows plain = measure_paged(paged);
    paged.cold = plain.measured[0].first_rate / 2;
    struct paged_rows rows = measure_paged(paged);
    ok(is_close(rows.measured[0].first_rate, plain.measured[0].first_rate),
       "where storage is a small part, what a cold file gave is not laid to it");
}

/* What a cold file gave when it was first read says how fast its storage is, for all rows. */
static void
test_cold(void)
{
    struct paged paged = { .pages = 1, .on_file = 1, .held = COLD, .cached = true };
    struct paged_rows plain = measure_paged(paged);
    double first = plain.measured[0].first_rate;
    paged.cold = first / 2;
    struct paged_rows rows = measure_paged(paged);
    double k = storage_of(&plain, &rows, 0);
    ok(plain.modelled[1].first_cost.storage_ns > 0 && k > 1.5 && k < 4 &&
           is_close(rows.measured[0].first_rate, first / 2),
       "the first epoch of today's settings is what was measured, %.3g, storage %.3g of the "
       "modelled",
       rows.measured[0].first_rate, k);
    ok(is_close(storage_of(&plain, &rows, 1), k) &&
           is_close(rows.measured[1].later_rate, plain.measured[1].later_rate),
       "a row that reads less of it has as much for each byte");
    paged.cold = first / 100;
    rows = measure_paged(paged);
    ok(is_close(storage_of(&plain, &rows, 0), 4), "at most four times the modelled");
    paged.cold = first * 100;
    rows = measure_paged(paged);
    ok(is_close(storage_of(&plain, &rows, 0), 0.25), "at least a quarter");
}

/* Where pages are most of today's time, a row that reads none is as fast as its copy. */
static void
test_cached(void)
{
    struct paged paged = { .pages = 1, .miss_ns = 1e5, .cached = true };
    struct paged_rows plain = measure_paged(paged);
    double now = plain.measured[0].later_rate, cached = plain.measured[1].later_rate;
    paged.on_file = 1 / 1.3;
    struct paged_rows rows = measure_paged(paged);
    ok(plain.modelled[1].steady_cost.page_ns == 0 && cached > 0 && is_close(rows.ratio, 1.3) &&
           is_close(rows.measured[0].later_rate, 1.3 * now) &&
           is_close(rows.measured[1].later_rate, cached),
       "what the file has over its copy goes to rows that read from pages");
    double part = page_part(&rows.modelled[1].first_cost) /
                  page_part(&rows.modelled[0].steady_cost);
    ok(part > 0.05 && part < 0.99 &&
           is_close(rows.measured[1].first_rate,
                    plain.measured[1].first_rate * pow(1.3, part)),
       "and so to the part of the first epoch that fills the cache: %.3f", part);
}

static bool
is_apart(double ratio, double now_pages, double pages, double want)
{
    const struct pack_cost now = { .cpu_ns = 100, .page_ns = now_pages },
                           cost = { .cpu_ns = 200, .page_ns = pages };
    double got = pack_measure_apart(ratio, &now, &cost);
    if (fabs(got - want) > 1e-9)
        note("%g of %g: %g, not %g", pages, now_pages, got, want);
    return fabs(got - want) < 1e-9;
}

/* File and copy apart, by how much of the time pages take. */
static void
test_apart(void)
{
    ok(is_apart(1.21, 80, 160, 1.21) && is_apart(1.21, 80, 190, 1.21),
       "what reads as much from pages has all that the file has over its copy");
    ok(is_apart(1.21, 80, 0, 1) && is_apart(1.21, 80, 80, 1.1) && is_apart(0.81, 80, 80, 0.9),
       "what reads less has less of it");
    ok(is_apart(1.21, 50, 0, 1) && is_apart(1.21, 35, 0, 1.1) && is_apart(1.21, 35, 70, 1.21) &&
           is_apart(1.21, 20, 0, 1.21) && is_apart(1.21, 10, 0, 1.21) &&
           is_apart(1.21, 0, 80, 1.21),
       "but half of it, or all, where today's time is another");
}

/* libpack's reader, of which something is said, is timed beside today's way, with so much time
 * for a read that a slice gets through a part of the file twice, but not through all of it. */
static bool
time_engine_of(struct pack_advise_engine *e, struct pack_advise_outcome *o,
               struct made_time times, double filling)
{
    struct pack_profile profile;
    struct pack_error err = { 0 };
    struct pack_advise_config now = { .chunk = { 3, { 7, SIDE, 9 } },
                                      .codec = "none",
                                      .stored_rate = 1,
                                      .cache = { 521, 0, 0.75, PACK_HDF5_1_10 } };
    now.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_SHUFFLE, .batch = 10, .workers = 1 };
    struct pack_advise_params params = { .data.extent = { 3, { N, SIDE, SIDE } },
                                         .data.elem_size = 1,
                                         .machine.profile = &profile,
                                         .machine.is_warm = true,
                                         .machine.ram_bytes = UINT64_C(1) << 32,
                                         .reading.pattern = now.pattern,
                                         .reading.epochs = 30,
                                         .now = &now };
    struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_measured m = { .now_ratio = 1 };
    (void)pack_profile_named("nvme", &profile, NULL);
    e->is_known = true;
    e->forecast.epoch_samples = N;
    made_time = times;
    made_time_members = 0;
    bool good = pack_advise_evaluate(&params, &now, 0, o, &err) == PACK_OK;
    o->later_rate *= filling;
    o->first_cost.total_ns *= filling;
    o->rate = pack_advise_mean_rate(&params, o->first_rate, o->later_rate);
    good = good && pack_measure_engine(&how, &params, o, e, &m, &err) == PACK_OK;
    made_time = (struct made_time){ 0 };
    if (!good || m.why_not[0])
        note("%s %s", err.text, m.why_not);
    return good;
}

static bool
time_engine(struct pack_advise_engine *e, struct pack_advise_outcome *o)
{
    e->first_rate = 1;
    e->later_rate = 2;
    return time_engine_of(e, o, (struct made_time){ .call_ns = 900000 }, 1);
}

static void
test_engine(void)
{
    static const double large = (128 << 20) / 20.0, small = (128 << 20) / 200.0;
    struct pack_advise_engine mapped = { .forecast.engine = "mmap", .bytes_per_sample = large },
                              others[] = {
                                  { .forecast.engine = "pread", .bytes_per_sample = large },
                                  { .forecast.engine = "mmap", .bytes_per_sample = small },
                                  { .forecast = { .engine = "mmap", .first.loads = 1 },
                                    .bytes_per_sample = large },
                              };
    struct pack_advise_outcome o;
    bool good = time_engine(&mapped, &o);
    ok(good && made_time_members == 21 && mapped.basis == PACK_ADVISE_MEASURED &&
           fabs(mapped.later_rate / o.later_rate - 1) < 0.01,
       "out of a mapping part of a large file is read again and again: %d samples, %.3g of %.3g",
       (int)made_time_members, mapped.later_rate, o.later_rate);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        good = time_engine(&others[i], &o);
        ok(good && made_time_members == 0,
           "all of it where nothing is mapped, it is small, or chunks are decoded");
    }
}

/* A slice gets through a sixth of the file; the reader, which is said to be a second in the
 * first epoch, is read on until it has seen others. */
static void
test_engine_long(void)
{
    const struct made_time times = { .call_ns = 3.2e6 },
                           unsteady = { .call_ns = 3.2e6, .unsteady = 10 };
    const double most = 1;
    struct pack_advise_engine e[] = {
        { .forecast = { .engine = "pread", .n_slots = 9 }, .first_rate = N / most + 1 },
        { .forecast = { .engine = "pread", .n_slots = 9 }, .first_rate = N / most - 1 },
        { .forecast = { .engine = "pread", .n_slots = 9 }, .first_rate = 10 * N },
    };
    struct pack_advise_outcome o[3];
    bool good = true;
    for (int i = 0; i < 3; i++) {
        e[i].later_rate = 3 * e[i].first_rate;
        good = time_engine_of(&e[i], &o[i], times, 1) && good;
        if (i == 0)
            is_number((long long)made_time_of.pattern.batch, 9,
                      "eight batches of the reader are read in a slice");
    }
    ok(good && e[0].basis == PACK_ADVISE_MEASURED && e[0].gain_low > 0.99 &&
           e[0].gain_low < 1.01 && e[0].gain_high >= e[0].gain_low && e[0].gain_high < 1.01 &&
           fabs(e[0].later_rate / o[0].later_rate - 1) < 0.01 &&
           fabs(e[0].first_rate / o[0].first_rate - 1) < 0.01,
       "later epochs are read where they are not like the first: %.3g of %.3g",
       e[0].later_rate, o[0].later_rate);
    ok(e[1].basis == PACK_ADVISE_PREDICTED, "but not where it takes long to get there");
    ok(e[2].basis == PACK_ADVISE_PREDICTED, "nor where it was said to be there, and is not");
    e[0].first_rate = N / most + 1;
    e[0].later_rate = 3 * e[0].first_rate;
    good = time_engine_of(&e[0], &o[0], unsteady, 1);
    ok(good && e[0].gain_low > 0 && e[0].gain_low < 0.5 * e[0].gain_high,
       "rounds that differ show: %.3g to %.3g", e[0].gain_low, e[0].gain_high);
    struct pack_advise_engine steady = { .forecast.engine = "pread", .first_rate = 10,
                                         .later_rate = 10.5 };
    good = time_engine_of(&steady, &o[0], times, 2);
    double gain = steady.rate / o[0].rate;
    ok(good && steady.basis == PACK_ADVISE_MEASURED &&
           fabs(steady.first_rate / o[0].first_rate - 1) < 0.01 &&
           fabs(steady.later_rate / steady.first_rate - 1.05) < 1e-9 && gain < 0.6 &&
           steady.gain_low > 0.98 * gain && steady.gain_high < 1.02 * gain,
       "where today's cache fills, later epochs are not taken for as much faster: %.3g", gain);
}

static void
test_version(void)
{
    double old = modelled_as(PACK_HDF5_1_10), new = modelled_as(PACK_HDF5_2_1);
    ok(old > 0 && old == new,
       "beside a measurement stands the model of the library that was measured");
    if (old != new)
        note("%.1f and %.1f samples/s", old, new);
}

/* As somebody who may read the file but neither owns nor may write it. */
static void
test_resident(void)
{
    uint64_t bytes = 0;
    int how = -1;
    ok(pack_system_resident(source, &bytes, NULL) == PACK_OK && bytes > 0,
       "what is resident of one's own file is told");
    pid_t child = geteuid() == 0 ? fork() : -1;
    if (child == 0) {
        if (chmod(source, 0444) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        _exit(pack_system_resident(source, &bytes, NULL) == PACK_OK);
    }
    if (child < 0 || waitpid(child, &how, 0) != child || how == 2 << 8)
        skip("only root can be somebody else");
    else
        ok(how == 0, "of a stranger's file it is not, as the system says all of it");
}

int
main(void)
{
    test_scratch_is_apart();
    make_source();
    test_workers_end();
    test_pages();
    test_held();
    test_cold();
    test_busy();
    test_cached();
    test_is_held();
    test_apart();
    test_engine();
    test_engine_long();
    test_version();
    test_many_workers();
    test_slice();
    test_not_read();
    test_large();
    test_now_read();
    test_small_batches();
    test_part_of_epoch();
    test_resident();
    test_scratch();
    test_writer_ends();
    test_full();
    test_trial();
    test_preload();
    test_preload_ends();
    test_gain();
    test_choice();
    test_storage();
    unlink(source);
    return done();
}
