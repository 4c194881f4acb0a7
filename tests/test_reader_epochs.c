/*
 * Long runs of the reader: a million samples in every order, with nothing allocated on the
 * way and every chunk loaded as often as planned; every rank's samples of several epochs, by
 * the numbers that the samples themselves hold.
 */
#include <unistd.h>

#include <hdf5.h>

#include <libpack/reader.h>
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/reader/plan.h"
#include "tests/made_reader.h"
#include "tests/tap.h"

static const char path[] = "test_reader_epochs.tmp.h5";

/* Chunks of 64 KiB are a run of a thread each, and so a read of the file. */
enum { N_SAMPLES = 100000, CHUNK = 4096, N_CHUNKS = (N_SAMPLES + CHUNK - 1) / CHUNK };
enum { BATCH = 4000, N_RANKED = 499, RANKED_CHUNK = 20 };

static double weights[N_SAMPLES];
static struct pack_box boxes[N_SAMPLES];
static uint64_t order[N_SAMPLES];

/* ------------------------------------------------------------------- files */

/* Sample i is {i, 7 i}. */
static void
make_dataset(hid_t file, const char *name, uint64_t n, uint64_t chunk)
{
    static uint64_t values[N_SAMPLES][2];
    hsize_t dims[] = { n, 2 }, chunks[] = { chunk, 2 };
    hid_t space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    for (uint64_t i = 0; i < n; i++) {
        values[i][0] = i;
        values[i][1] = 7 * i;
    }
    H5Pset_chunk(list, 2, chunks);
    H5Pset_shuffle(list);
    H5Pset_deflate(list, 1);
    hid_t set = H5Dcreate2(file, name, H5T_NATIVE_UINT64, space, H5P_DEFAULT, list,
                           H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
}

static void
make_file(void)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    make_dataset(file, "long", N_SAMPLES, CHUNK);
    make_dataset(file, "ranked", N_RANKED, RANKED_CHUNK);
    H5Fclose(file);
    for (uint64_t i = 0; i < N_SAMPLES; i++) {
        weights[i] = 1 + (double)(i % 5);
        boxes[i] = (struct pack_box){ 2, { i * 77 % N_SAMPLES, 0 }, { 1, 2 } };
    }
}

/* Whether all samples of a batch hold their numbers; of a trace these are places in it. */
static bool
is_right(const struct pack_reader_batch *batch, bool is_trace)
{
    const uint64_t *value = batch->data;
    for (size_t i = 0; i < batch->n_samples; i++, value += 2) {
        uint64_t number = batch->samples[i];
        if (is_trace)
            number = boxes[number].start[0];
        if (value[0] != number || value[1] != 7 * number)
            return false;
    }
    return true;
}

/* --------------------------------------------------------- a million samples */

/* Chunks that a batch of the order visits, in order. */
static size_t
list_visits(const struct pack_pattern *pattern, uint64_t first, uint64_t n,
            uint64_t visits[N_CHUNKS])
{
    bool is_visited[N_CHUNKS] = { false };
    size_t n_visits = 0;
    for (uint64_t i = first; i < first + BATCH && i < n; i++) {
        uint64_t sample = order[i];
        if (pattern->kind == PACK_PATTERN_TRACE)
            sample = boxes[sample].start[0];
        is_visited[sample / CHUNK] = true;
    }
    for (uint64_t chunk = 0; chunk < N_CHUNKS; chunk++)
        if (is_visited[chunk])
            visits[n_visits++] = chunk;
    return n_visits;
}

/* All of the order, and so more than the reader sees ahead; but that is every chunk's next
 * visit, so that both have the same choice. Counts loads and visits. */
static uint64_t
plan_loads(const struct pack_reader_params *params, uint64_t n_slots, uint64_t *n_visits)
{
    uint64_t visits[N_CHUNKS], n_loads = 0;
    struct pack_pattern pattern = params->pattern;
    struct pack_plan_step step;
    struct pack_plan *plan;
    pattern.extent = (struct pack_shape){ 2, { N_SAMPLES, 2 } };
    pattern.chunk_samples = CHUNK;
    *n_visits = 0;
    if (pack_plan_new(N_CHUNKS, n_slots, params->n_epochs * N_CHUNKS * (N_SAMPLES / BATCH),
                      &plan, NULL) != PACK_OK)
        return 0;
    for (uint64_t i = 0; i < params->n_epochs; i++, pattern.epoch++) {
        struct pack_pattern_iter *iter;
        if (pack_pattern_new(&pattern, &iter, NULL) != PACK_OK)
            break;
        uint64_t n = pack_pattern_samples(iter, order, N_SAMPLES);
        pack_pattern_free(iter);
        for (uint64_t first = 0; first < n; first += BATCH) {
            size_t n_of = list_visits(&pattern, first, n, visits);
            for (size_t k = 0; k < n_of; k++)
                pack_plan_see(plan, visits[k]);
            *n_visits += n_of;
        }
    }
    while (pack_plan_ahead(plan) > 0) {
        pack_plan_next(plan, &step);
        n_loads += step.action != PACK_PLAN_HIT;
    }
    pack_plan_free(plan);
    return n_loads;
}

/* Memory of this process that is resident. */
static int64_t
resident_bytes(void)
{
    long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

/* What was there when all buffers had been used, and at the end. */
struct memory {
    int64_t allocated, resident;
};

static struct memory
look_at_memory(void)
{
    return (struct memory){ (int64_t)allocated(), resident_bytes() };
}

/* What a decoder allocates when it is first used, by a thread that had nothing to do so far. */
enum { DECODER_BYTES = 1 << 17 };

static void
run_long(const char *name, struct pack_reader_params params)
{
    struct pack_reader *reader = NULL;
    struct pack_reader_batch batch;
    struct pack_reader_info info = { .visits = 0 };
    struct pack_error err = { .text = "" };
    struct memory early = { 0, 0 }, late;
    uint64_t n = 0, n_right = 0, n_visits;
    if (pack_reader_open(&params, &reader, &err) != PACK_OK) {
        ok(false, "%s: %s", name, err.text);
        return;
    }
    while (pack_reader_next(reader, &batch, &err) == PACK_OK && batch.n_samples) {
        n += batch.n_samples;
        n_right += is_right(&batch, params.pattern.kind == PACK_PATTERN_TRACE)
                       ? batch.n_samples
                       : 0;
        if (batch.epoch == 1 && batch.number == 0)
            early = look_at_memory();
    }
    late = look_at_memory();
    pack_reader_info(reader, &info, NULL);
    pack_reader_close(reader);
    ok(n == params.n_epochs * N_SAMPLES && n_right == n, "%s: %llu samples, as they are %s",
       name, (unsigned long long)n, err.text);
    bool grows = early.allocated > 0 && (late.allocated - early.allocated > DECODER_BYTES ||
                                         late.resident - early.resident > 1 << 20);
    ok(!grows, "%s: nothing more is allocated on the way", name);
    if (grows)
        note("allocated %lld, then %lld; resident %lld, then %lld",
             (long long)early.allocated, (long long)late.allocated,
             (long long)early.resident, (long long)late.resident);
    uint64_t n_loads = plan_loads(&params, info.n_slots, &n_visits);
    ok(info.visits == n_visits && info.loads == n_loads && info.file_reads == n_loads,
       "%s: %llu visits, %llu loads planned, %llu done, in %llu reads", name,
       (unsigned long long)info.visits, (unsigned long long)n_loads,
       (unsigned long long)info.loads, (unsigned long long)info.file_reads);
}

static void
test_long(void)
{
    static const struct {
        const char *name;
        struct pack_pattern pattern;
    } patterns[] = {
        { "sequential", { .kind = PACK_PATTERN_SEQUENTIAL } },
        { "shuffle", { .kind = PACK_PATTERN_SHUFFLE } },
        { "blocks", { .kind = PACK_PATTERN_BLOCK, .pool_chunks = 3 } },
        { "sliding blocks", { .kind = PACK_PATTERN_BLOCK, .pool_chunks = 3, .slide = true } },
        { "a buffer", { .kind = PACK_PATTERN_BUFFER, .buffer_samples = 5000 } },
        { "replacement", { .kind = PACK_PATTERN_REPLACEMENT } },
        { "weighted", { .kind = PACK_PATTERN_WEIGHTED, .weights = weights } },
        { "a trace", { .kind = PACK_PATTERN_TRACE, .trace = boxes, .n_trace = N_SAMPLES } },
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct pack_reader_params params = { .file = path,
                                             .dataset = "long",
                                             .pattern = patterns[i].pattern,
                                             .n_epochs = allocated() ? 10 : 2,
                                             .n_threads = 2 };
        params.pattern.batch = BATCH;
        params.pattern.seed = 3;
        params.memory_bytes = 9 << 19;
        if (params.pattern.weights) /* of the order read and the one looked ahead at */
            params.memory_bytes += 2 * 2 * N_SAMPLES * sizeof *weights;
        run_long(patterns[i].name, params);
    }
}

/* ------------------------------------------------------------------- ranks */

/* Counts how often the ranks together read each sample in each of two epochs. */
static bool
count_all(struct pack_pattern pattern, unsigned seen[2][N_RANKED])
{
    for (pattern.rank = 0; pattern.rank < pattern.world; pattern.rank++) {
        struct pack_reader_params params = { .file = path,
                                             .dataset = "ranked",
                                             .pattern = pattern,
                                             .n_epochs = 2,
                                             .n_threads = 2 };
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch = { .n_samples = 0 };
        struct pack_error err = { .text = "" };
        bool good = pack_reader_open(&params, &reader, &err) == PACK_OK;
        while (good && (good = pack_reader_next(reader, &batch, &err) == PACK_OK) &&
               batch.n_samples)
            for (size_t i = 0; i < batch.n_samples; i++)
                seen[batch.epoch][((const uint64_t *)batch.data)[2 * i] % N_RANKED]++;
        pack_reader_close(reader);
        if (!good) {
            note("%s", err.text);
            return false;
        }
    }
    return true;
}

/* Whether, of each epoch, so many were read once, the others twice or not at all. */
static bool
are_dealt(unsigned seen[2][N_RANKED], bool drops, unsigned world)
{
    unsigned rest = N_RANKED % world, more = rest ? world - rest : 0;
    for (int epoch = 0; epoch < 2; epoch++) {
        unsigned n_of[3] = { 0 };
        for (size_t i = 0; i < N_RANKED; i++)
            n_of[seen[epoch][i] < 2 ? seen[epoch][i] : 2]++;
        if (n_of[0] != (drops ? rest : 0) || n_of[2] != (drops ? 0 : more))
            return false;
    }
    return true;
}

static void
test_ranks(void)
{
    static const enum pack_pattern_kind kinds[] = { PACK_PATTERN_SEQUENTIAL,
                                                    PACK_PATTERN_SHUFFLE,
                                                    PACK_PATTERN_BLOCK, PACK_PATTERN_BUFFER };
    static const unsigned worlds[] = { 1, 2, 3, 4, 7, 16 };
    for (size_t k = 0; k < 4; k++) {
        int n = 0, n_good = 0;
        for (size_t w = 0; w < 6; w++)
            for (int drops = 0; drops < 2; drops++, n++) {
                unsigned seen[2][N_RANKED] = { { 0 } };
                struct pack_pattern pattern = { .kind = kinds[k],
                                                .seed = 5,
                                                .world = worlds[w],
                                                .drop_uneven = drops,
                                                .pool_chunks = 2,
                                                .buffer_samples = 40,
                                                .batch = 13 };
                bool good = count_all(pattern, seen) && are_dealt(seen, drops, worlds[w]);
                n_good += good;
                if (!good)
                    note("%u ranks, %s", worlds[w], drops ? "uneven ends dropped" : "padded");
            }
        ok(n_good == n,
           "%s: of %d splits, each gives every sample once, and ends padded or dropped",
           pack_pattern_name(kinds[k]), n);
    }
}

/* -------------------------------------------------- little to plan, no end in sight */

/* One chunk of many is stored; an order that never comes to it has nothing to plan. */
static void
test_nothing_to_plan(void)
{
    enum { N = 1000, AHEAD_SECONDS = 60 };
    static const uint64_t subset[] = { 998, 999 };
    static const uint64_t one;
    hsize_t dims[] = { N }, chunk[] = { 1 }, count[] = { 1 }, start[] = { 0 };
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 1, chunk);
    H5Pset_deflate(list, 1);
    hid_t set = H5Dcreate2(file, "sparse", H5T_NATIVE_UINT64, space, H5P_DEFAULT, list,
                           H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    hid_t memory = H5Screate_simple(1, count, NULL);
    H5Dwrite(set, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, &one);
    H5Sclose(memory);
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
    int n_read = 0;
    alarm(AHEAD_SECONDS); /* it would look ahead for ever */
    for (int k = 0; k < 2; k++) {
        struct pack_reader_params params = { .file = path,
                                             .dataset = "sparse",
                                             .pattern = { .batch = 2,
                                                          .subset = k ? NULL : subset,
                                                          .n_subset = k ? 0 : 2 },
                                             .n_epochs = UINT64_MAX };
        struct pack_reader *reader = NULL;
        struct pack_reader_batch batch = { .n_samples = 0 };
        if (pack_reader_open(&params, &reader, NULL) == PACK_OK)
            for (int i = 0; i < N; i++)
                n_read += pack_reader_next(reader, &batch, NULL) == PACK_OK &&
                          batch.n_samples == 2;
        pack_reader_close(reader);
    }
    alarm(0);
    is_number(n_read, 2 * N, "where little is to be planned nobody looks ahead for ever");
}

int
main(void)
{
    pack_h5_quiet();
    make_file();
    test_nothing_to_plan();
    test_long();
    test_ranks();
    unlink(path);
    return done();
}
