/*
 * Whole runs against files made here: what HDF5 did must equal what the simulator says,
 * and every sample must arrive as often as the pattern says, in hundreds of combinations
 * of dataset, order, cache settings, workers, read modes and echoes.
 */
#include "libpack/bench/bench.h"

#include <dirent.h>
#include <errno.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpack/base/system.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/bench/bench_parts.h"
#include "libpack/hdf5/h5.h"
#include "libpack/base/rng.h"
#include "tests/made_time.h"
#include "tests/tap.h"
#include "tests/thresholds.h"

static char one_path[64], two_path[64];

/* Datasets of a test file: name, extent, chunk (rank 0: contiguous), filters. */
static const struct dataset {
    const char *name;
    int rank;
    hsize_t extent[4], chunk[4];
    int element_bytes;
    bool shuffle, gzip, fletcher;
    hsize_t written; /* indexes of axis 0 that have storage; 0: all */
} datasets[] = {
    { "single", 4, { 120, 3, 12, 10 }, { 1, 3, 12, 10 }, 1, 0, 0, 0, 0 },
    { "several", 4, { 120, 3, 12, 10 }, { 7, 3, 12, 10 }, 1, 0, 0, 0, 0 },
    { "narrow", 4, { 120, 3, 12, 10 }, { 10, 3, 11, 10 }, 1, 0, 0, 0, 0 },
    { "cut", 4, { 90, 12, 10, 3 }, { 5, 4, 5, 3 }, 1, 0, 1, 0, 0 },
    { "packed", 4, { 60, 3, 12, 10 }, { 1, 3, 12, 10 }, 1, 0, 1, 1, 0 },
    { "contiguous", 4, { 120, 3, 12, 10 }, { 0 }, 1, 0, 0, 0, 0 },
    { "table", 2, { 150, 40 }, { 16, 9 }, 4, 1, 1, 0, 0 },
    { "line", 1, { 700 }, { 33 }, 8, 0, 0, 1, 0 },
    { "holes", 3, { 100, 8, 8 }, { 4, 8, 8 }, 2, 0, 0, 0, 50 },
    { "labels", 1, { 700 }, { 64 }, 8, 0, 0, 0, 0 },
};
enum { N_DATASETS = sizeof datasets / sizeof *datasets };

static bool
write_dataset(hid_t file, const struct dataset *d, uint64_t seed)
{
    hid_t type = d->element_bytes == 1   ? H5T_NATIVE_UINT8
                 : d->element_bytes == 2 ? H5T_NATIVE_UINT16
                 : d->element_bytes == 4 ? H5T_NATIVE_INT32
                                         : H5T_NATIVE_INT64;
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    size_t bytes = (size_t)d->element_bytes;
    for (int i = 0; i < d->rank; i++)
        bytes *= d->extent[i];
    if (d->chunk[0])
        H5Pset_chunk(creation, d->rank, d->chunk);
    if (d->shuffle)
        H5Pset_shuffle(creation);
    if (d->gzip)
        H5Pset_deflate(creation, 1);
    if (d->fletcher)
        H5Pset_fletcher32(creation);
    hid_t space = H5Screate_simple(d->rank, d->extent, NULL);
    hid_t set =
        H5Dcreate2(file, d->name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    uint8_t *data = malloc(bytes);
    struct pack_rng rng;
    pack_rng_seed(&rng, seed);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(pack_rng_next(&rng) & 0x1f);
    hsize_t start[4] = { 0 }, count[4];
    memcpy(count, d->extent, sizeof count);
    if (d->written)
        count[0] = d->written;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    hid_t memory = H5Screate_simple(d->rank, count, NULL);
    bool done = H5Dwrite(set, type, memory, space, H5P_DEFAULT, data) >= 0;
    free(data);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(creation);
    return H5Dclose(set) >= 0 && done;
}

static bool
write_file(const char *path, uint64_t seed)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool done = file >= 0;
    for (int i = 0; i < N_DATASETS && done; i++)
        done = write_dataset(file, &datasets[i], seed + (uint64_t)i);
    return H5Fclose(file) >= 0 && done;
}

/* --------------------------------------------------------- thresholds of malloc */

enum { APART_BYTES = 6 << 20, MANY_EPOCHS = 20000 };

static bool
run_many_epochs(void)
{
    const char *path = one_path;
    struct pack_readset *set = NULL;
    struct pack_bench_result r;
    struct pack_error err;
    struct pack_bench_params p = { .pattern = { .batch = 8 },
                                   .stop = { .epochs = MANY_EPOCHS, .after_ns = 5000000 } };
    if (pack_readset_open(&path, 1, "single", &set, &err) != PACK_OK)
        return false;
    p.set = set;
    bool ran = pack_bench_run(&p, &r, &err) == PACK_OK;
    pack_bench_done(&r);
    pack_readset_close(set);
    return ran;
}

/* ------------------------------------------------------------- combinations */

static void
choose_pattern(struct pack_rng *rng, struct pack_pattern *pattern, int rank,
               const hsize_t *extent, bool allow_box)
{
    static const enum pack_pattern_kind kinds[] = {
        PACK_PATTERN_SEQUENTIAL, PACK_PATTERN_SHUFFLE, PACK_PATTERN_BLOCK,
        PACK_PATTERN_BUFFER, PACK_PATTERN_REPLACEMENT
    };
    pattern->kind = kinds[pack_rng_below(rng, 5)];
    pattern->seed = pack_rng_next(rng) >> 1;
    pattern->batch = 1 + pack_rng_below(rng, 40);
    pattern->pool_chunks = 1 + pack_rng_below(rng, 6);
    pattern->slide = pack_rng_below(rng, 2);
    pattern->local = !pattern->slide && pack_rng_below(rng, 2);
    pattern->buffer_samples = 1 + pack_rng_below(rng, 50);
    pattern->drop_last = pack_rng_below(rng, 2) && pattern->batch < 20;
    pattern->read = (enum pack_read_mode)pack_rng_below(rng, 3);
    if (pack_rng_below(rng, 4) == 0) {
        pattern->world = 2;
        pattern->rank = pack_rng_below(rng, 2);
    }
    if (!allow_box || pack_rng_below(rng, 3))
        return;
    pattern->read = PACK_READ_SAMPLE;
    pattern->box.rank = rank;
    for (int i = 0; i < rank; i++)
        pattern->box.extent[i] = i ? 1 + pack_rng_below(rng, extent[i]) : 1;
}

static void
choose_cache(struct pack_rng *rng, struct pack_bench_params *params)
{
    static const uint64_t slots[] = { 1, 3, 7, 64, 521, 0 };
    static const uint64_t sizes[] = { 0, 300, 1000, 4000, 40000, 1 << 20 };
    static const double w0[] = { 0, 0.5, 0.75, 1 };
    params->open.set_cache = pack_rng_below(rng, 5) > 0;
    params->open.cache.n_slots = slots[pack_rng_below(rng, 6)];
    params->open.cache.size_bytes = sizes[pack_rng_below(rng, 6)];
    params->open.cache.w0 = w0[pack_rng_below(rng, 4)];
}

/* Says how a combination differs, so that it can be repeated. */
static void
tell(const struct pack_bench_params *p, const char *dataset, const char *why)
{
    note("%s: %s, %s, read %s, batch %d, workers %d, cache %d slots %d bytes w0 %g%s%s, "
         "echo %d, seed %llu",
         why, dataset, pack_pattern_name(p->pattern.kind),
         pack_read_mode_name(p->pattern.read), (int)p->pattern.batch, (int)p->workers.n,
         p->open.set_cache ? (int)p->open.cache.n_slots : -1,
         p->open.set_cache ? (int)p->open.cache.size_bytes : -1, p->open.cache.w0,
         p->open.reopen ? ", reopened" : "", p->pattern.box.rank ? ", boxes" : "",
         (int)p->consumer.echo, (unsigned long long)p->pattern.seed);
}

static uint64_t
expected_steps(const struct pack_bench_params *p, const struct pack_bench_result *r)
{
    uint64_t steps = 0;
    for (uint64_t e = 0; e < r->n_epochs; e++) {
        uint64_t n = r->epochs[e].n_samples, batch = p->pattern.batch;
        for (uint64_t left = n; left > 0; left -= left < batch ? left : batch)
            steps +=
                p->consumer.echo *
                (p->consumer.echo_split && (left < batch ? left : batch) > 1 ? 2 : 1);
    }
    return steps;
}

static void
test_combinations(int n_runs, uint64_t seed)
{
    const char *both[] = { one_path, two_path };
    struct pack_rng rng;
    int n_failed = 0, n_different = 0, n_wrong = 0, n_compared = 0, kinds[8] = { 0 };
    pack_rng_seed(&rng, seed);
    for (int run = 0; run < n_runs; run++) {
        const struct dataset *d = &datasets[pack_rng_below(&rng, N_DATASETS - 1)];
        struct pack_readset *set = NULL, *with = NULL;
        struct pack_bench_result result;
        struct pack_error err = { 0 };
        struct pack_bench_params p = { .stop.epochs = 1 + pack_rng_below(&rng, 3),
                                       .consumer.name = "checksum",
                                       .consumer.echo = 1 + pack_rng_below(&rng, 2) };
        size_t n_files = 1 + (pack_rng_below(&rng, 4) == 0);
        choose_pattern(&rng, &p.pattern, d->rank, d->extent, true);
        choose_cache(&rng, &p);
        p.workers.n = pack_rng_below(&rng, 4);
        p.workers.prefetch = 1 + pack_rng_below(&rng, 3);
        p.open.reopen = pack_rng_below(&rng, 8) == 0;
        p.consumer.echo_split = pack_rng_below(&rng, 3) == 0;
        p.hand_over.torch = pack_rng_below(&rng, 3) == 0;
        p.workers.fresh = pack_rng_below(&rng, 4) == 0;
        enum pack_status status = pack_readset_open(both, n_files, d->name, &set, &err);
        if (status == PACK_OK && n_files == 1 && pack_rng_below(&rng, 2))
            status = pack_readset_open(both, 1, "labels", &with, &err);
        p.set = set;
        p.with = with;
        if (status == PACK_OK)
            status = pack_bench_run(&p, &result, &err);
        if (status != PACK_OK) {
            n_failed++;
            tell(&p, d->name, err.text);
        } else {
            bool whole =
                result.total.n_samples == result.setup.epoch_samples * p.stop.epochs &&
                result.steps.n_steps == expected_steps(&p, &result);
            n_wrong += !whole;
            n_different += result.mismatch.n > 0;
            n_compared += (int)result.mismatch.n_compared;
            kinds[p.pattern.kind]++;
            if (!whole || result.mismatch.n)
                tell(&p, d->name, whole ? result.mismatch.text : "samples missing");
            pack_bench_done(&result);
        }
        pack_readset_close(set);
        pack_readset_close(with);
    }
    is_number(n_failed, 0, "every sample of every combination is the file's");
    is_number(n_wrong, 0, "as many as the pattern and the echo say");
    ok(n_different == 0 && n_compared > n_runs,
       "%d runs: reads and bytes equal the simulator's in %d comparisons", n_runs,
       n_compared);
    note(
        "runs by pattern: sequential %d, shuffle %d, block %d, buffer %d, replacement %d",
        kinds[0], kinds[1], kinds[2], kinds[3], kinds[4]);
}

/* ----------------------------------------------------------- found by others */

/* Numeric chunked datasets of the shared files, as far as HDF5 reads them. */
static enum pack_status
collect_name(void *context, const char *path, struct pack_error *err)
{
    char(*names)[256] = context;
    (void)err;
    for (int i = 0; i < 64; i++)
        if (!names[i][0]) {
            snprintf(names[i], sizeof names[i], "%s", path);
            break;
        }
    return PACK_OK;
}

static void
run_shared(const char *path, const char *name, int *n_runs, int *n_bad)
{
    static const uint64_t sizes[] = { 0, 5000, 1 << 20 };
    struct pack_readset *set = NULL;
    if (pack_readset_open(&path, 1, name, &set, NULL) != PACK_OK)
        return;
    bool chunked = pack_readset_is_chunked(set) && set->extent.extent[0] < 5000 &&
                   set->extent.extent[0] * set->sample_bytes < 32 << 20;
    for (int i = 0; i < 6 && chunked; i++) {
        struct pack_bench_result result;
        struct pack_error err;
        struct pack_bench_params p = {
            .set = set,
            .consumer.name = "checksum",
            .stop.epochs = 2,
            .workers.n = (uint64_t)(i % 2) * 2,
            .pattern = { .kind = i < 3 ? PACK_PATTERN_SHUFFLE : PACK_PATTERN_SEQUENTIAL,
                         .batch = 16,
                         .seed = 5 },
            .open.set_cache = true,
            .open.cache = { 61, sizes[i % 3], 0.75, 0 },
        };
        enum pack_status status = pack_bench_run(&p, &result, &err);
        if (status != PACK_OK) {
            /* damaged data is refused in words; that is not what this looks at */
            break;
        }
        ++*n_runs;
        if (result.mismatch.n) {
            ++*n_bad;
            note("%s:%s %s", path, name, result.mismatch.text);
        }
        pack_bench_done(&result);
    }
    pack_readset_close(set);
}

static void
test_shared(void)
{
    static char names[64][256];
    const char *shared = shared_path("data/h5");
    int n_runs = 0, n_bad = 0, n_files = 0;
    char dir[4096];
    if (!shared) {
        skip("the shared HDF5 files are not here");
        return;
    }
    snprintf(dir, sizeof dir, "%s", shared);
    DIR *folder = opendir(dir);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[8192];
        int64_t file = -1;
        /* HDF5 1.10 crashes in some of the files made to attack it */
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "cve", 3) == 0 ||
            strncmp(entry->d_name, "gh-", 3) == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (pack_h5_open(path, NULL, &file, NULL) != PACK_OK)
            continue;
        memset(names, 0, sizeof names);
        pack_h5_datasets(file, collect_name, names, NULL);
        pack_h5_close(file);
        n_files++;
        for (int i = 0; i < 64 && names[i][0]; i++)
            run_shared(path, names[i], &n_runs, &n_bad);
    }
    if (folder)
        closedir(folder);
    ok(n_bad == 0 && n_runs > 0,
       "%d runs on the chunked datasets of %d found files equal the simulator", n_runs,
       n_files);
}

/* ----------------------------------------------------------------- starvation */

enum { TRIES = 10 }; /* of what other work on the machine can spoil, but not every time */

/* Closer than one more or one less of what there are; pauses may end late. */
static bool
is_near(double measured, double arithmetic)
{
    return measured > arithmetic * 0.6 && measured < arithmetic * 1.25;
}

static void
test_utilisation(void)
{
    static const struct {
        uint64_t delay_ms, step_ms, workers;
        double au;
    } cases[] = {
        { 30, 10, 0, 10.0 / 40 }, /* in line: one after the other */
        { 30, 10, 1, 10.0 / 30 }, /* beside: the slower of the two */
        { 30, 10, 2, 10.0 / 15 },
        { 5, 60, 3, 1.0 },
    };
    const char *path = one_path;
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    pack_readset_open(&path, 1, "single", &set, &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_bench_result r;
        struct pack_bench_params p = { .set = set,
                                       .pattern = { .batch = 6, .seed = 1 },
                                       .workers.n = cases[i].workers,
                                       .workers.delay_ns = cases[i].delay_ms * 1000000,
                                       .consumer.name = "emulated",
                                       .consumer.params = { .step_ns = cases[i].step_ms *
                                                                       1000000 } };
        enum pack_limit limit =
            cases[i].au < 1 ? PACK_LIMIT_DELAY : PACK_LIMIT_CONSUMER;
        bool ran = pack_bench_run(&p, &r, &err) == PACK_OK;
        /* other work on the machine disturbs a run now and then, not every time */
        for (int again = 0;
             ran && again < TRIES &&
             !(is_near(r.steps.au, cases[i].au) && r.verdict.limit == limit);
             again++) {
            pack_bench_done(&r);
            ran = pack_bench_run(&p, &r, &err) == PACK_OK;
        }
        if (!ran) {
            ok(false, "%s", err.text);
            continue;
        }
        ok(is_near(r.steps.au, cases[i].au),
           "%d ms a batch, %d ms a step, %d workers: AU %.2f, arithmetic says %.2f",
           (int)cases[i].delay_ms, (int)cases[i].step_ms, (int)cases[i].workers,
           r.steps.au, cases[i].au);
        ok(r.verdict.limit == limit, "limited by %s", pack_limit_name(r.verdict.limit));
        pack_bench_done(&r);
    }
    pack_readset_close(set);
}

/* ------------------------------------------------------------------- faults */

static enum pack_status
run_plain(const char *path, const char *dataset, struct pack_bench_params *p,
          struct pack_bench_result *r, struct pack_error *err)
{
    struct pack_readset *set = NULL;
    enum pack_status status = pack_readset_open(&path, 1, dataset, &set, err);
    p->set = set;
    if (status == PACK_OK)
        status = pack_bench_run(p, r, err);
    pack_readset_close(set);
    return status;
}

/* ------------------------------------------------------------- where time goes */

static uint64_t
stages_ns(const struct pack_read_cost *c)
{
    return c->storage_ns + c->metadata_ns + c->decode_ns + c->overhead_ns + c->reopen_ns;
}

static void
test_times(void)
{
    struct pack_bench_result r;
    struct pack_error err = { 0 };
    struct pack_bench_params p = { .pattern = { .batch = 8, .seed = 1 }, .workers.n = 2 };
    bool counted = false, is_limit = false;
    p.workers.delay_ns = 10000000;
    for (int i = 0; i < TRIES && !is_limit; i++) {
        counted = run_plain(one_path, "single", &p, &r, &err) == PACK_OK &&
                  r.total.work.delay_ns >= 15 * p.workers.delay_ns &&
                  r.total.work.delay_ns <= r.total.work.total_ns;
        is_limit = counted && r.verdict.limit == PACK_LIMIT_DELAY;
        pack_bench_done(&r);
        if (!counted)
            break;
    }
    ok(counted && is_limit, "a delay is counted apart, and is the verdict when it is most");
    p.workers.delay_ns = 0;
    ok(run_plain(one_path, "several", &p, &r, &err) == PACK_OK &&
           r.total.work.read.reopen_ns == 0 &&
           stages_ns(&r.total.work.read) == r.total.work.read.call_ns,
       "the stages of reading add up to its calls");
    pack_bench_done(&r);
    p.open.reopen = true;
    ok(run_plain(one_path, "several", &p, &r, &err) == PACK_OK &&
           r.total.work.read.reopen_ns > 120 * 1000 &&
           stages_ns(&r.total.work.read) == r.total.work.read.call_ns &&
           r.total.work.read.call_ns <= r.total.work.total_ns,
       "so they do when the dataset is opened each time, which is a stage of its own");
    pack_bench_done(&r);
    p.open.reopen = false;
    p.workers.prefetch = 14;
    p.stop.batches = 2;
    ok(run_plain(one_path, "cut", &p, &r, &err) == PACK_OK &&
           r.cpu.workers[0].user_ns + r.cpu.workers[0].system_ns <=
               r.elapsed_ns + 5000000,
       "a worker that runs ahead has no more processor time than time");
    pack_bench_done(&r);
    p.stop.batches = p.workers.prefetch = 0;
    p.hand_over.torch = true;
    p.hand_over.sample_ns = 20000;
    p.hand_over.batch_ns = 300000;
    ok(run_plain(one_path, "single", &p, &r, &err) == PACK_OK &&
           r.total.work.collate_ns > 0 &&
           r.total.work.interpret_ns >= 120 * 20000 + 15 * 300000 &&
           r.total.work.interpret_ns + r.total.work.collate_ns +
                   r.total.work.read.call_ns <=
               r.total.work.total_ns,
       "what PyTorch does with a batch is counted apart");
    pack_bench_done(&r);
    p.hand_over.torch = false;
    p.hand_over.sample_ns = p.hand_over.batch_ns = 0;
    p.workers.fresh = true;
    p.stop.epochs = 3;
    ok(run_plain(one_path, "single", &p, &r, &err) == PACK_OK &&
           r.total.start_ns > 3 * 50000 && r.total.start_ns < r.elapsed_ns &&
           r.total.expected.set.hits == 0 && r.mismatch.n == 0,
       "so is starting workers with each epoch, which begin with empty caches");
    pack_bench_done(&r);
    p.workers.fresh = false;
    for (p.workers.n = 0; p.workers.n < 3; p.workers.n += 2) {
        p.stop.batches = 0;
        p.stop.epochs = 40;
        ok(run_plain(one_path, "packed", &p, &r, &err) == PACK_OK &&
               r.cpu.workers[0].user_ns + r.cpu.workers[0].system_ns <=
                   r.elapsed_ns + 5000000,
           "processor time is that of the run, %d workers", (int)p.workers.n);
        pack_bench_done(&r);
    }
}

static void
test_cold(void)
{
    struct pack_bench_result r = { 0 };
    struct pack_error err = { 0 };
    struct pack_bench_params p = { .pattern = { .batch = 60, .seed = 1 },
                                   .stop.epochs = 50,
                                   .cold = true,
                                   .consumer.name = "emulated",
                                   .consumer.params.step_ns = 1000 };
    bool done = false, apart = false, waited = true;
    for (int i = 0; i < TRIES && !(apart && !waited); i++) {
        pack_bench_done(&r);
        done = run_plain(one_path, "single", &p, &r, &err) == PACK_OK;
        if (!done)
            break;
        uint64_t reading_ns = r.total.pages.drop_ns / 2;
        for (uint64_t e = 0; e < r.n_epochs; e++)
            reading_ns += r.epochs[e].elapsed_ns;
        apart = r.total.pages.drop_ns > 0 && r.elapsed_ns < reading_ns;
        waited = r.steps.busy_ns + r.steps.starved_ns >= reading_ns ||
                 r.steps.total_ns >= reading_ns;
    }
    if (!ok(done, "cold reading"))
        return;
    ok(apart, "dropping pages is no part of the time that rates are made of");
    ok(!waited, "nor of what the consumer waited");
    ok(r.total.pages.cold == PACK_COLD_CHECKED,
       "who owns a file is told what stayed of it");
    pack_bench_done(&r);
}

static void
test_halves(void)
{
    struct pack_bench_result r;
    struct pack_error err = { 0 };
    struct pack_bench_params p = {
        .pattern = { .batch = 7, .seed = 1, .drop_last = true },
        .consumer.echo = 2,
        .consumer.echo_split = true,
        .consumer.name = "emulated",
        .consumer.params.step_ns = 2100000
    };
    /* 17 batches, used twice, in halves of 3 and 4 samples */
    ok(run_plain(one_path, "single", &p, &r, &err) == PACK_OK && r.steps.n_steps == 68 &&
           r.steps.busy_ns == UINT64_C(34) * 2100000 - 900000 &&
           r.steps.compute_ns == r.steps.busy_ns,
       "a half takes its part of the step's time, two of them the whole of it");
    pack_bench_done(&r);
}

static bool
stop_at_once(void *context)
{
    return ++*(int *)context > 5;
}

static void
test_faults(void)
{
    struct pack_bench_result r;
    struct pack_error err = { 0 };
    struct pack_bench_params p = { .pattern = { .batch = 8, .seed = 1 }, .workers.n = 2 };
    ok(run_plain(one_path, "nothing", &p, &r, &err) == PACK_ERR_NOT_FOUND,
       "a dataset that is not there");
    note("%s", err.text);

    /* damage the stored bytes of the checksummed dataset */
    struct pack_readset *set = NULL;
    const char *path = two_path;
    FILE *file = fopen(two_path, "r+b");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    if (truncate(two_path, size / 2) != 0)
        return;
    enum pack_status status = pack_readset_open(&path, 1, "packed", &set, &err);
    if (status == PACK_OK) {
        p.set = set;
        status = pack_bench_run(&p, &r, &err);
        if (status == PACK_OK)
            pack_bench_done(&r);
    }
    pack_readset_close(set);
    ok(status != PACK_OK && err.text[0], "a truncated file ends in a sentence");
    note("%s", err.text);

    int n = 0;
    p.watch.stop = stop_at_once;
    p.watch.context = &n;
    ok(run_plain(one_path, "single", &p, &r, &err) == PACK_ERR_INTERRUPTED &&
           r.interrupted && r.total.n_batches > 0 && r.total.n_batches < 15 &&
           r.mismatch.n == 0,
       "a run that is stopped has its report, and what was delivered still adds up");
    pack_bench_done(&r);
    ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no process is left");
}

/* ----------------------------------------------------------- chunks gone wrong */

static void
test_verdicts(void)
{
    struct pack_bench_result small, large;
    struct pack_error err = { 0 };
    struct pack_bench_params p = {
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 10, .seed = 1 },
        .stop.epochs = 2,
        .open.set_cache = true
    };
    p.open.cache = (struct pack_cache_params){ 521, 2000, 0.75, 0 };
    ok(run_plain(one_path, "several", &p, &small, &err) == PACK_OK,
       "a cache below a chunk");
    p.open.cache.size_bytes = 3000;
    ok(run_plain(one_path, "several", &p, &large, &err) == PACK_OK, "one just above");
    double factor =
        pack_bench_amplification(&large.total) / pack_bench_amplification(&small.total);
    ok(pack_bench_amplification(&small.total) == 1 && factor > 5,
       "the cliff: the larger cache reads %.1f times the bytes", factor);
    ok(strstr(large.verdict.cause, "with a cache smaller than a chunk") &&
           !small.verdict.cause[0],
       "and the verdict says why");
    note("%s", large.verdict.cause);
    pack_bench_done(&small);
    pack_bench_done(&large);

    p.open.cache.size_bytes = 4000;
    ok(run_plain(one_path, "narrow", &p, &large, &err) == PACK_OK &&
           strstr(large.verdict.cause, "cover 11 of 12 along axis 2"),
       "a chunk that misses an axis by one is named");
    note("%s", large.verdict.cause);
    pack_bench_done(&large);

    p.open.cache = (struct pack_cache_params){ 521, 6000, 1.0, 0 };
    ok(run_plain(one_path, "several", &p, &large, &err) == PACK_OK &&
           large.total.expected.set.peak_bytes > 2 * 2 * 6000 &&
           strstr(large.verdict.cause, "w0 = 1"),
       "w0 = 1: the cache outgrows its limit, and the verdict names it");
    note("%s", large.verdict.cause);
    pack_bench_done(&large);
}

/* ------------------------------------------------------------ proposed changes */

/* What the best proposal with this in its command gains; 0: none. */
static double
best_gain(const struct pack_bench_params *p, const struct pack_bench_result *r,
          const char *command)
{
    struct pack_bench_advice advice;
    double best = 0;
    struct pack_bench_ask ask = { .no_trial = true };
    if (pack_bench_advise(p, r, &ask, &advice, NULL) != PACK_OK)
        return 0;
    for (size_t i = 0; i < advice.n; i++)
        if (strstr(advice.change[i].command, command) && advice.change[i].gain > best)
            best = advice.change[i].gain;
    return best;
}

/* One run, and what is proposed for it to workers that stay and to those that do not. */
static void
test_cache_advice(void)
{
    struct pack_readset *set = NULL;
    struct pack_bench_result r;
    struct pack_error err = { 0 };
    const char *path = one_path;
    struct pack_bench_params p = {
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 10, .seed = 1 },
        .stop.epochs = 20,
        .workers.n = 1,
        .open.set_cache = true,
        .open.cache = { 521, 3000, 0.75, 0 }
    };
    enum pack_status status = pack_readset_open(&path, 1, "several", &set, &err);
    p.set = set;
    made_time = (struct made_time){ .call_ns = 1000, .byte_ns = 5, .start_ns = 1e6 };
    if (status == PACK_OK)
        status = pack_bench_run(&p, &r, &err);
    made_time = (struct made_time){ 0 };
    ok(status == PACK_OK, "a cache of one chunk %s", err.text);
    if (status == PACK_OK) {
        double stay = best_gain(&p, &r, "{rdcc_nbytes}");
        p.workers.fresh = true;
        double end = best_gain(&p, &r, "{rdcc_nbytes}");
        note("a cache of all: %.2f for workers that stay, %.2f for others", stay, end);
        ok(stay > 0 && end < stay, "gains less where it is lost with each epoch");
        pack_bench_done(&r);
    }
    pack_readset_close(set);
}

/* A run of 100 batches of 10 samples, in ms per batch; one worker beside the trainer. */
static struct pack_bench_result
synthetic(const char *consumer, double read, double take, double busy)
{
    struct pack_bench_result r = { .setup.consumer = consumer,
                                   .setup.n_workers = 1,
                                   .setup.batch = 10,
                                   .setup.echo = 1,
                                   .setup.sample_bytes = 1000,
                                   .setup.epoch_samples = 1000,
                                   .n_epochs = 1 };
    double cycle = read > take + busy ? read : take + busy;
    r.total.n_batches = 100;
    r.total.n_samples = 1000;
    r.total.work.total_ns = (uint64_t)(read * 1e8);
    r.total.wait_ns = (uint64_t)((cycle - take - busy) * 1e8);
    r.elapsed_ns = (uint64_t)(cycle * 1e8);
    r.steps.n_steps = 100;
    r.steps.busy_ns = (uint64_t)(busy * 99e6);
    r.steps.total_ns = (uint64_t)(cycle * 99e6);
    r.steps.au = -1;
    r.verdict.limit = PACK_LIMIT_ASSEMBLY;
    return r;
}

/* The proposal whose command has this text, or NULL. */
static const struct pack_bench_change *
proposal(const struct pack_bench_params *p, const struct pack_bench_result *r,
         const char *command)
{
    static struct pack_bench_advice advice;
    if (pack_bench_advise(p, r, &(struct pack_bench_ask){ .no_trial = true }, &advice,
                          NULL) != PACK_OK)
        return NULL;
    for (size_t i = 0; i < advice.n; i++)
        if (strstr(advice.change[i].command, command))
            return &advice.change[i];
    return NULL;
}

static bool
is_about(const struct pack_bench_change *c, double gain)
{
    if (c)
        note("%.2f  %s: %s", c->gain, c->what, c->command);
    return c && c->gain > gain * 0.97 && c->gain < gain * 1.03;
}

/* The consumer's work is known of all steps but the first. */
static void
test_step_times(void)
{
    struct pack_bench_result r = synthetic("emulated", 1, 0, 4);
    r.steps.n_steps = 2;
    r.steps.busy_ns = 3000000;
    ok(fabs(pack_bench_times(&r).consume - 2 * 3000.0) < 1e-9,
       "two steps of 1000 samples take twice what the second one took");
    r.steps.n_steps = 1;
    ok(pack_bench_times(&r).consume == 0, "of a single step nothing is known");
}

static void
test_transfer_advice(void)
{
    struct pack_bench_params p = { .consumer.params.transfer = PACK_TRANSFER_FLOAT32 };
    struct pack_bench_result r = synthetic("cuda", 1, 0, 2);
    r.elapsed_ns = 800000000; /* 8 ms a batch: the copies */
    r.total.wait_ns = 0;
    r.steps.copy_ns = 800000000;
    r.steps.pin_ns = 600000000;
    r.verdict.limit = PACK_LIMIT_BUS;
    ok(is_about(proposal(&p, &r, "{transfer} uint8"), 4.0),
       "floats over the bus: uint8 is a quarter, until the step is the limit");
    r.steps.busy_ns = 99 * 4000000u;
    ok(is_about(proposal(&p, &r, "{transfer} uint8"), 2.0), "which may come earlier");
    p.consumer.params.transfer = PACK_TRANSFER_UINT8;
    ok(!proposal(&p, &r, "{transfer}"), "not proposed where it is so already");
}

static void
test_batch_advice(void)
{
    struct pack_bench_params p = { .pattern.read = PACK_READ_SAMPLE };
    struct pack_bench_result r = synthetic("emulated", 1, 4, 4);
    p.consumer.params.step_ns = 4000000;
    ok(is_about(proposal(&p, &r, "{batch} 40 {step} 16000us"), 8.0 / 5),
       "half of the time goes into handing batches over: larger ones");
    r.setup.epoch_samples = 30;
    ok(!proposal(&p, &r, "{batch}"), "not larger than the dataset");
    r = synthetic("emulated", 1, 4, 4);
    r.setup.sample_bytes = UINT64_C(1) << 44;
    ok(!proposal(&p, &r, "{batch}"), "nor than memory holds");

    r = synthetic("null", 0.01, 0, 0);
    r.total.work.read.calls = 100;
    r.total.work.read.overhead_ns = 200000;
    ok(!proposal(&p, &r, "{batch}"), "calls for single samples do not become fewer");
    p.pattern.read = PACK_READ_BATCH;
    ok(is_about(proposal(&p, &r, "{batch} 40"), 1 / (1 - 0.75 * 0.2)),
       "calls for whole batches do");

    r = synthetic("null", 0.1, 0, 0);
    r.elapsed_ns = 12000000; /* 20 us more for each batch than reading explains */
    r.total.wait_ns = r.elapsed_ns;
    ok(is_about(proposal(&p, &r, "{batch} 40"), 120.0 / 105), "and so does waking up");
    r = synthetic("null", 10, 0, 0);
    ok(!proposal(&p, &r, "{batch}"), "batches that take long enough are left alone");
}

static void
test_preload_advice(void)
{
    const char *path = one_path;
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    struct pack_bench_epoch epoch[2] = { { .work.knows_storage = true } };
    struct pack_bench_result r = synthetic("null", 10, 0, 0);
    if (!ok(pack_readset_open(&path, 1, "contiguous", &set, &err) == PACK_OK, "a set"))
        return;
    struct pack_bench_params p = { .set = set };
    r.verdict.limit = PACK_LIMIT_STORAGE;
    r.epochs = epoch;
    r.total.work.knows_storage = true;
    r.total.work.read.file_reads = 1000;
    r.total.work.read.file_read_bytes = r.total.work.storage_bytes = 10000000;
    r.total.work.read.storage_ns = 903000000; /* of 1000 ms; 3 ms when warm */
    ok(is_about(proposal(&p, &r, "cat "), (10 + 29) / 30.0),
       "what storage delivers can be preloaded, which gains in the first epoch of thirty");
    p.cold = true;
    ok(is_about(proposal(&p, &r, "cat "), 10.0), "or in all where pages are dropped");
    r.n_epochs = 2;
    epoch[0].work.storage_bytes = epoch[0].work.read.file_read_bytes = 9000000;
    epoch[1] = (struct pack_bench_epoch){ .work.knows_storage = true };
    epoch[1].work.read.file_read_bytes = 1000000;
    epoch[1].work.read.storage_ns = 40300000;
    ok(is_about(proposal(&p, &r, "cat "), 2.0), "a warm epoch tells what is left then");
    ok(proposal(&p, &r, "without {cold}") != NULL, "of use only without {cold}");
    r.total.work.storage_bytes = 1000;
    ok(!proposal(&p, &r, "cat "), "not where memory delivered already");
    r.total.work.storage_bytes = 10000000;
    uint64_t extent = set->extent.extent[0], stored = set->parts[0].data->facts.stored_bytes;
    set->extent.extent[0] = UINT64_C(1) << 44;
    set->parts[0].data->facts.stored_bytes = UINT64_C(1) << 60;
    ok(!proposal(&p, &r, "cat "), "nor where memory cannot hold it");
    set->extent.extent[0] = extent;
    uint64_t memory = 0; /* that is free: a little more or less in a moment */
    if (pack_system_memory_bytes(&memory)) {
        set->parts[0].data->facts.stored_bytes = memory;
        ok(!proposal(&p, &r, "cat "), "nor where it would take all of it");
        set->parts[0].data->facts.stored_bytes = memory / 2;
        ok(proposal(&p, &r, "cat ") != NULL, "half of it may be taken");
    }
    set->parts[0].data->facts.stored_bytes = stored;
    struct pack_h5_dataset *data = set->parts[0].data;
    struct pack_facts facts = data->facts;
    char *file = data->data_file, odd[] = "a b;rm 'x'.h5";
    data->data_file = odd;
    ok(proposal(&p, &r, "cat 'a b;rm '\\''x'\\''.h5' >/dev/null, then") != NULL,
       "a name is one word of the shell");
    static char lengthy[502], braces[] = "{cold}.h5";
    memset(lengthy, 'a', 501);
    data->data_file = lengthy;
    ok(proposal(&p, &r, "cat FILE >") != NULL, "one that is too long is not cut");
    data->data_file = braces;
    ok(proposal(&p, &r, "cat FILE >") != NULL, "nor is one taken for a parameter");
    data->data_file = file;
    data->facts.layout = PACK_LAYOUT_VIRTUAL;
    ok(!proposal(&p, &r, "cat "), "not for virtual data, which lie in other files");
    data->facts = facts;
    data->facts.n_external = 1;
    ok(!proposal(&p, &r, "cat "), "nor external data");
    data->facts = facts;
    r.verdict.limit = PACK_LIMIT_DECODE;
    ok(!proposal(&p, &r, "cat "), "nor where storage is not the limit");
    pack_readset_close(set);
}

/* Slots of 120 samples in batches of 7, which are 18. */
static void
test_prefetch(void)
{
    static const struct {
        uint64_t workers, prefetch, batches, slots;
    } cases[] = {
        { 4, 1024, 0, 5 }, { 4, 1024, 9, 3 }, { 4, 5, 0, 5 },   { 4, 4, 0, 4 },
        { 20, 0, 0, 1 },   { 4, 0, 100, 2 },  { 0, 1024, 0, 18 }, { 64, 1024, 20, 1 },
    };
    const char *name = one_path;
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    if (pack_readset_open(&name, 1, "single", &set, &err) != PACK_OK) {
        ok(false, "the file opens %s", err.text);
        return;
    }
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pack_bench_params p = { .set = set,
                                             .pattern.batch = 7,
                                             .workers.n = cases[i].workers,
                                             .workers.prefetch = cases[i].prefetch,
                                             .stop.batches = cases[i].batches };
        struct bench_plan plan;
        bool same = pack_bench_plan_make(&p, &plan, &err) == PACK_OK &&
                    plan.prefetch == cases[i].slots;
        if (!same)
            note("case %zu: %llu slots %s", i, (unsigned long long)plan.prefetch, err.text);
        right = right && same;
    }
    ok(right, "memory is for as many batches as there are, however many may be in flight");
    pack_readset_close(set);
}

int
main(void)
{
    snprintf(one_path, sizeof one_path, "test_bench_%d_one.h5", (int)getpid());
    snprintf(two_path, sizeof two_path, "test_bench_%d_two.h5", (int)getpid());
    const char *more = getenv("BENCH_RUNS");
    if (ok(write_file(one_path, 1) && write_file(two_path, 2), "test files are made")) {
        keeps_thresholds(run_many_epochs, APART_BYTES, "a run");
        test_prefetch();
        test_combinations(more ? atoi(more) : 300, 20261121);
        test_shared();
        test_utilisation();
        test_verdicts();
        test_times();
        test_cold();
        test_halves();
        test_cache_advice();
        test_step_times();
        test_transfer_advice();
        test_batch_advice();
        test_preload_advice();
        test_faults();
    }
    unlink(one_path);
    unlink(two_path);
    return done();
}
