/*
 * One evaluation, from counts to rates and memory, against sums done here; what a bound
 * promises; which candidates there are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/large.h"
#include "libpack/model/cost.h"
#include "libpack/model/profile_terms.h"
#include "tests/tap.h"

/* 600 samples of 1000 bytes in 100 chunks. */
enum { N = 600, SAMPLE = 1000, ROWS = 6, CHUNK = ROWS * SAMPLE, CHUNKS = N / ROWS, SLOTS = 1009 };

static struct pack_profile profile;
static struct pack_advise_params params;
static struct pack_advise_config config;

static void
setup(void)
{
    (void)pack_profile_named("nvme", &profile, NULL);
    params = (struct pack_advise_params){ .data.extent = { 2, { N, SAMPLE } },
                                          .data.elem_size = 1,
                                          .machine.profile = &profile,
                                          .reading.epochs = 3,
                                          .machine.ram_bytes = 1 << 30,
                                          .reading.pattern = {
                                              .kind = PACK_PATTERN_SHUFFLE } };
    config =
        (struct pack_advise_config){ .chunk = { 2, { ROWS, SAMPLE } },
                                     .codec = "none",
                                     .stored_rate = 1,
                                     .pattern = params.reading.pattern,
                                     .cache = { SLOTS, 1 << 20, 0.75, PACK_HDF5_1_10 } };
}

static struct pack_advise_outcome
evaluate(void)
{
    struct pack_advise_outcome o = { .rate = 0 };
    struct pack_error err = { 0 };
    if (pack_advise_evaluate(&params, &config, 0, &o, &err) != PACK_OK)
        note("%s", err.text);
    return o;
}

static bool
near(double a, double b)
{
    bool is = fabs(a - b) <= 1e-9 * fabs(b);
    if (!is)
        note("%.12g, not %.12g", a, b);
    return is;
}

static void
test_memory(void)
{
    static const struct pack_advise_companion with = { .extent = { 1, { N } },
                                                       .chunk = { 1, { 100 } },
                                                       .elem_size = 8,
                                                       .stored_rate = 1 };
    ok(near(evaluate().memory_bytes, N * SAMPLE + 8 * SLOTS),
       "a cache takes its chunks and 8 bytes for each slot");
    params.data.companion = &with;
    ok(near(evaluate().memory_bytes, N * SAMPLE + 8 * SLOTS + N * 8 + 8 * SLOTS),
       "that of a second dataset comes on top");
    params.data.companion = NULL;
    strcpy(config.codec, "gzip:4");
    config.stored_rate = 0.5;
    ok(near(evaluate().memory_bytes, N * SAMPLE + 8 * SLOTS + CHUNK / 2),
       "and the stored bytes of the one that is decoded");
    ok(pack_advise_default_memory(0) == UINT64_C(1) << 30 &&
           pack_advise_default_memory(UINT64_C(8) << 30) == UINT64_C(1) << 30 &&
           pack_advise_default_memory(UINT64_C(512) << 20) == UINT64_C(256) << 20,
       "caches take a gigabyte unless told, or half of a smaller machine");
    params.machine.memory_bytes = 100000;
    ok(evaluate().fits, "what is more than was allowed, but less than there is, fits");
    params.machine.ram_bytes = 500000;
    ok(!evaluate().fits, "what is more than both does not");
    setup();
}

/* A second dataset of another rank, in step with windows, weights and traces. */
static void
test_companion(void)
{
    enum { WINDOW = 64, WEIGHTS = N - WINDOW + 1 };
    static const struct pack_advise_companion with = { .extent = { 1, { N } },
                                                       .chunk = { 1, { 100 } },
                                                       .elem_size = 8,
                                                       .stored_rate = 1 };
    static const struct pack_box trace[] = { { 2, { 10, 0 }, { 20, 30 } },
                                             { 2, { 590, 970 }, { 10, 30 } } };
    double *weights = malloc(WEIGHTS * sizeof *weights); /* read behind its end: ASan says so */
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = 1;
    params.data.companion = &with;
    params.reading.pattern.box = (struct pack_shape){ 2, { WINDOW, 8 } };
    config.pattern = params.reading.pattern;
    struct pack_advise_outcome windows = evaluate(), alone;
    ok(windows.rate > 0, "windows of two axes are read in step with a row of labels");
    params.data.companion = NULL;
    alone = evaluate();
    ok(windows.rate < alone.rate && windows.first_samples == WEIGHTS,
       "labels take time on top: %.0f, not %.0f", windows.rate, alone.rate);
    params.data.companion = &with;
    params.reading.pattern.kind = PACK_PATTERN_WEIGHTED;
    params.reading.pattern.weights = weights;
    config.pattern = params.reading.pattern;
    ok(evaluate().rate > 0, "so are windows with weights, of which there are fewer than labels");
    free(weights);
    setup();
    params.reading.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_TRACE,
                                                    .trace = trace,
                                                    .n_trace = 2 };
    config.pattern = params.reading.pattern;
    alone = evaluate();
    params.data.companion = &with;
    windows = evaluate();
    ok(windows.rate > 0 && windows.rate < alone.rate,
       "a trace is read in step along axis 0: %.0f, %.0f alone", windows.rate, alone.rate);
    setup();
}

/* Mixing is among the members of a subset alone; a weighted order's draws are no samples. */
static void
test_subset(void)
{
    enum { HALF = N / 2, APART = 7 };
    static const struct pack_advise_companion with = { .extent = { 1, { N } },
                                                       .chunk = { 1, { 100 } },
                                                       .elem_size = 8,
                                                       .stored_rate = 1 };
    uint64_t *members = malloc(HALF * sizeof *members);
    uint32_t *labels = malloc(N * sizeof *labels); /* read behind its end: ASan says so */
    for (int i = 0; i < N; i++)
        labels[i] = i < HALF ? (uint32_t)i % 2 : i >= HALF + HALF / 2; /* then in order */
    for (int i = 0; i < HALF; i++)
        members[i] = (uint64_t)(N - 1 - i); /* the second half, from its end */
    params.data.labels = labels;
    params.data.n_labels = N;
    params.data.n_classes = 2;
    params.data.companion = &with;
    params.reading.pattern.batch = 32;
    params.reading.pattern.subset = members;
    params.reading.pattern.n_subset = HALF;
    config.pattern = params.reading.pattern;
    struct pack_advise_outcome o = evaluate();
    ok(o.worker_samples == HALF && o.randomness > 0.9,
       "shuffled, a subset is read as random as all: %.3f", o.randomness);
    ok(o.class_mixing > 0.95, "and its classes mix: %.3f", o.class_mixing);
    for (int i = 0; i < HALF; i++)
        members[i] = (uint64_t)HALF + (uint64_t)i;
    config.pattern.kind = PACK_PATTERN_SEQUENTIAL;
    o = evaluate();
    ok(o.randomness == 0 && o.class_mixing < 0.8,
       "in its order it is not, nor do its own classes mix: %.3f, %.3f", o.randomness,
       o.class_mixing);
    for (int i = 0; i < N / APART; i++)
        members[i] = APART * (uint64_t)i;
    config.pattern.n_subset = N / APART;
    struct pack_advise_outcome apart = evaluate();
    ok(apart.randomness == 0, "nor is one whose members lie apart: %.3f", apart.randomness);
    free(members);
    setup();
    params.data.labels = labels;
    params.data.n_labels = N;
    params.data.n_classes = 2;
    config.pattern.kind = PACK_PATTERN_REPLACEMENT;
    config.pattern.batch = 32;
    config.pattern.draws = 64;
    o = evaluate();
    ok(o.randomness > 0.5 && o.class_mixing >= 0, "few draws are of all samples: %.3f, %.3f",
       o.randomness, o.class_mixing);
    free(labels);
    setup();
}

/* The second dataset's cost is that of the same rows of it, whole, read alone. */
static void
test_companion_cost(void)
{
    enum { WIDE = 40 };
    static const struct pack_advise_companion with = { .extent = { 2, { N, WIDE } },
                                                       .chunk = { 2, { 50, WIDE / 2 } },
                                                       .elem_size = 8,
                                                       .stored_rate = 1 };
    static const struct pack_box trace[] = { { 2, { 10, 5 }, { 20, 30 } },
                                             { 2, { 590, 970 }, { 10, 30 } } },
                                 whole[] = { { 2, { 10, 0 }, { 20, WIDE } },
                                             { 2, { 590, 0 }, { 10, WIDE } } };
    for (int traced = 0; traced < 2; traced++) {
        if (traced)
            params.reading.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_TRACE,
                                                            .trace = trace,
                                                            .n_trace = 2 };
        config.pattern = params.reading.pattern;
        struct pack_advise_outcome alone = evaluate(), both, other;
        params.data.companion = &with;
        both = evaluate();
        params.data.companion = NULL;
        params.data.extent = with.extent;
        params.data.elem_size = with.elem_size;
        config.chunk = with.chunk;
        params.reading.pattern.trace = traced ? whole : NULL;
        config.pattern = params.reading.pattern;
        params.now = &config;
        other = evaluate();
        /* as many samples of it as of the first dataset */
        double first = alone.first_samples / other.first_samples,
               later = alone.steady_samples / other.steady_samples;
        bool times = near(both.first_cost.cpu_ns,
                          alone.first_cost.cpu_ns + first * other.first_cost.cpu_ns) &&
                     near(both.steady_cost.total_ns,
                          alone.steady_cost.total_ns + later * other.steady_cost.total_ns) &&
                     near(both.steady_cost.copy_ns,
                          alone.steady_cost.copy_ns + later * other.steady_cost.copy_ns) &&
                     near(both.first_cost.page_ns,
                          alone.first_cost.page_ns + first * other.first_cost.page_ns);
        ok(times, "a second dataset costs what %s of it cost alone",
           traced ? "the rows of a trace" : "its samples");
        ok(near(both.memory_bytes, alone.memory_bytes + other.memory_bytes) &&
               both.first.requests == alone.first.requests &&
               both.file_bytes == alone.file_bytes,
           "in memory of its own; counts are those of the first");
        setup();
    }
}

/* Chunks that are loaded again come out of the processor's caches, as far as the range that
 * a shuffle buffer moves in stays there. */
static void
test_buffer(void)
{
    static const uint64_t sizes[] = { 24, 240, 0 };
    config.cache.size_bytes = 2 * CHUNK;
    profile.copy = (struct pack_profile_curve){ 2, { 1e4, 1e9 }, { 0.1, 1 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        params.reading.pattern.kind = PACK_PATTERN_BUFFER;
        params.reading.pattern.buffer_samples = sizes[i];
        config.pattern = params.reading.pattern;
        struct pack_advise_outcome o = evaluate();
        double loads = (double)o.first.loads, samples = (double)o.first_samples,
               distinct = fmin(CHUNKS, samples * (double)o.first.requests / samples / ROWS),
               range = (sizes[i] ? (double)sizes[i] : 10000) / ROWS * CHUNK,
               from_there = pack_profile_at(&profile.copy, range),
               from_memory = pack_profile_at(&profile.copy, 1e9),
               reading = pack_profile_at(&profile.page, CHUNK),
               gain = fmax(0, fmin(CHUNK * (from_memory - from_there),
                                   reading * (1 - from_there / from_memory))),
               page = loads * (profile.miss_ns + reading) -
                      fmin(loads, fmax(0, loads - distinct)) * gain;
        ok(o.first.loads > CHUNKS && near(o.first_cost.page_ns, page),
           "a buffer of %d samples: %d chunks are loaded again, each to gain %.3g ns",
           (int)sizes[i], (int)(loads - distinct), gain);
    }
    setup();
}

/* One read may take all of a worker's epoch: there is no later half. */
static void
test_one_read(void)
{
    struct pack_error err = { 0 };
    struct pack_advise_outcome o = { .rate = 0 };
    params.reading.pattern.batch = N;
    params.reading.pattern.read = PACK_READ_BATCH;
    config.pattern = params.reading.pattern;
    enum pack_status status = pack_advise_evaluate(&params, &config, N / 2, &o, &err);
    ok(status == PACK_OK && o.rate > 0 && isfinite(o.rate) && isfinite(o.later_rate),
       "an epoch of one read has a rate where half of it is simulated: %g, %s", o.rate,
       err.text);
    setup();
}

/* Each read loads and decodes its chunk: 600 loads of half a chunk, 100 of them new. */
static void
test_cold(void)
{
    strcpy(config.codec, "gzip:4");
    config.stored_rate = 0.5;
    config.decode_ns = 5;
    config.cache.size_bytes = CHUNK - 1;
    const double file = N * SAMPLE / 2.0, again = 1 - file / (N * CHUNK / 2.0);
    struct pack_advise_outcome o = evaluate();
    ok(o.first.loads == N && o.steady.loads == 2 * N, "a cache that holds no chunk finds none");
    params.machine.ram_bytes =
        (uint64_t)(file / 2 + o.memory_bytes); /* half the file, beside caches */
    o = evaluate();
    double kept = 0.5 + 0.5 * log(0.5);
    ok(near(o.page_cache_rate, (1 - again) * kept + again * 0.5),
       "what is read again lies in half of memory, what is new was kept from before");
    ok(near(o.first_cost.storage_ns / (1 - again * 0.5),
            o.steady_cost.storage_ns / 2 / (1 - o.page_cache_rate)),
       "in the first epoch nothing was kept");
    double far = pack_profile_at(&profile.copy, 512 << 20),
           gain = far - pack_profile_at(&profile.copy, file);
    ok(near(o.first_cost.page_ns,
            N * (profile.miss_ns + pack_profile_at(&profile.page, CHUNK / 2)) -
                (N - CHUNKS) * CHUNK / 2.0 * gain),
       "500 of 600 loads return to the same chunks");
    ok(near(o.first_cost.decode_ns, N * CHUNK * 5.0), "all are decoded");
    ok(near(o.loads_per_sample, 1) && near(o.bytes_per_sample, CHUNK / 2) &&
           near(o.amplification, ROWS / 2.0) && o.hit_rate == 0,
       "each sample costs one load of half a chunk");
    params.machine.is_warm = true;
    o = evaluate();
    ok(o.page_cache_rate == 1 && o.first_cost.storage_ns == 0, "a warm file waits for nothing");
    setup();
}

static void
test_contiguous(void)
{
    params.data.extent = (struct pack_shape){ 3, { 300, 40, 50 } };
    params.reading.pattern.box = (struct pack_shape){ 3, { 1, 7, 3 } };
    config.chunk.rank = 0;
    config.pattern = params.reading.pattern;
    struct pack_advise_outcome o = evaluate();
    is_number((long long)o.first.wanted_bytes, 300 * 7 * 3, "boxes want what is in all their runs");
    const uint64_t n_reads = o.first.file_reads;
    params.data.is_unwritten = true;
    o = evaluate();
    ok(n_reads > 0 && o.first.file_reads == n_reads,
       "of what was never written another layout is read");
    params.now = &config;
    o = evaluate();
    ok(o.first.file_reads == 0 && o.first.file_read_bytes == 0 && o.bytes_per_sample == 0 &&
           o.first.wanted_bytes == 300 * 7 * 3 && o.first_cost.page_ns == 0 && o.rate > 0,
       "and of today's nothing");
    setup();
}

/* What a worker had is gone with it: two later epochs take fresh memory, and read again what
 * HDF5 kept of contiguous data. */
static void
test_ends(void)
{
    params.machine.is_warm = true;
    struct pack_advise_outcome o = evaluate();
    ok(near(o.first_cost.touch_ns, N * SAMPLE * profile.touch_ns) &&
           o.steady_cost.touch_ns == 0,
       "a cache comes into fresh memory once");
    params.reading.workers_end = true;
    o = evaluate();
    ok(near(o.steady_cost.touch_ns, 2 * o.first_cost.touch_ns),
       "and where workers end, in each epoch");
    params.data.extent.extent[0] = 60; /* less than HDF5 keeps */
    config.chunk.rank = 0;
    params.reading.pattern.kind = config.pattern.kind = PACK_PATTERN_SEQUENTIAL;
    o = evaluate();
    ok(o.first.file_reads == 1 && o.steady.file_reads == 2,
       "a new worker has nothing of contiguous data: %llu reads in two epochs",
       (unsigned long long)o.steady.file_reads);
    params.reading.workers_end = false;
    ok(evaluate().steady.file_reads == 0, "one that stays has all");
    setup();
}

/* Runs that are read past the cache in one evaluation, at most. */
static double
runs_in_full(double runs_per_sample)
{
    struct pack_advise_worker worker;
    struct pack_error err = { 0 };
    double n = 0;
    if (pack_advise_worker_init(&worker, &params, &config, &err) == PACK_OK) {
        uint64_t limit = pack_advise_sample_limit(&worker, 0);
        n = (double)(limit ? limit : pack_pattern_length(worker.iter)) * runs_per_sample;
    } else {
        note("%s", err.text);
    }
    pack_advise_worker_done(&worker);
    return n;
}

/* What takes a row of each plane for itself takes longer to count. */
static void
test_runs(void)
{
    params.data.extent = (struct pack_shape){ 3, { 512, 512, 512 } };
    params.reading.pattern.kind = PACK_PATTERN_REPLACEMENT;
    params.reading.pattern.draws = 10000000;
    params.reading.pattern.box = (struct pack_shape){ 3, { 64, 64, 64 } };
    config.pattern = params.reading.pattern;
    config.chunk.rank = 0;
    double runs = runs_in_full(64 * 64);
    ok(runs > 1e6 && runs < 1e9, "boxes of contiguous data are simulated for %g runs", runs);
    config.pattern.read = PACK_READ_SPAN; /* nearly the whole volume, for 64 samples */
    config.pattern.batch = 64;
    runs = runs_in_full(512 * 512 / 64.0);
    ok(runs > 1e6 && runs < 1e9, "blocks around a batch for %g", runs);
    config.pattern.read = PACK_READ_SAMPLE;
    config.chunk = params.data.extent;
    runs = runs_in_full(64 * 64);
    ok(runs > 1e6 && runs < 1e9, "boxes of a chunk that no cache holds for %g", runs);
    params.reading.pattern.box.rank = config.pattern.box.rank = 0;
    config.chunk.rank = 0;
    is_number((long long)runs_in_full(1), 10000000, "planes of it are simulated all");
    setup();
}

/* Pieces of a sample, each copied out of its chunk row by row. */
static void
test_pieces(void)
{
    static const struct {
        struct pack_shape chunk;
        double runs;
    } cases[] = { { { 3, { 2, 8, 8 } }, 1 },
                  { { 3, { 2, 4, 8 } }, 2 },
                  { { 3, { 2, 8, 4 } }, 16 },
                  { { 3, { 2, 3, 4 } }, 16 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_advise_worker worker;
        struct pack_error err = { 0 };
        char text[PACK_SHAPE_TEXT_MAX];
        params.data.extent = (struct pack_shape){ 3, { 100, 8, 8 } };
        config.chunk = cases[i].chunk;
        bool done = pack_advise_worker_init(&worker, &params, &config, &err) == PACK_OK;
        ok(done && worker.per_read.runs == cases[i].runs,
           "a sample of 8x8 lies in %g runs in chunks of %s %s", cases[i].runs,
           pack_shape_format(&cases[i].chunk, text), err.text);
        pack_advise_worker_done(&worker);
    }
    setup();
}

/* Crops of 8x16 past the cache, of a cold file: what lies between their rows is read, too,
 * and as much behind them. */
static void
test_visits(void)
{
    static const struct {
        struct pack_shape chunk;
        enum pack_read_mode read;
        double span;
    } cases[] = { { { 3, { 16, 64, 64 } }, PACK_READ_SAMPLE, 7 * 64 + 16 },
                  { { 3, { 16, 4, 64 } }, PACK_READ_SAMPLE, 3 * 64 + 16 },
                  { { 3, { 16, 64, 64 } }, PACK_READ_SPAN, (15 * 64 + 7) * 64 + 16 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        params.data.extent = (struct pack_shape){ 3, { 128, 64, 64 } };
        params.reading.pattern.box = (struct pack_shape){ 3, { 1, 8, 16 } };
        params.reading.pattern.read = cases[i].read;
        params.reading.pattern.batch = 16;
        if (cases[i].read == PACK_READ_SPAN) /* boxes of one place */
            params.reading.pattern.kind = PACK_PATTERN_SEQUENTIAL;
        config.pattern = params.reading.pattern;
        config.chunk = cases[i].chunk;
        config.cache.size_bytes = config.cache.n_slots = 0;
        struct pack_advise_outcome o = evaluate();
        double visits = (double)o.first.bypass_visits,
               bytes = fmin(128 << 10, 2 * cases[i].span);
        double wait = fmax(bytes / profile.stream_bytes_per_s * 1e9 + profile.latency_ns,
                           1e9 / profile.max_reads_per_s);
        if (cases[i].read == PACK_READ_SPAN) /* the system reads ahead of it */
            wait = bytes / fmin(profile.stream_bytes_per_s, profile.max_bytes_per_s) * 1e9;
        ok(visits > 0 && (double)o.first.file_reads > visits &&
               near(o.first_cost.storage_ns, visits * wait),
           "%.0f visits of %.0f bytes wait for %.0f ns each", visits, cases[i].span, wait);
        setup();
    }
}

/* A cache that w0 = 1 lets grow epoch by epoch is simulated for longer; what follows is
 * like its last epoch. */
static void
test_epochs(void)
{
    params.reading.pattern.box =
        (struct pack_shape){ 2, { 1, SAMPLE / 2 } }; /* never read whole */
    params.reading.epochs = 40;
    config.pattern = params.reading.pattern;
    config.cache = (struct pack_cache_params){ 100003, 2 * CHUNK, 1, PACK_HDF5_1_10 };
    params.reading.pattern.kind = config.pattern.kind = PACK_PATTERN_REPLACEMENT;
    /* of 100 chunks, others each time */
    params.reading.pattern.draws = config.pattern.draws = 20;
    struct pack_advise_outcome o = evaluate();
    ok(near(o.rate, 40 / (1 / o.first_rate + 39 / o.later_rate)), "the rate is that of 40 epochs");
    ok(o.steady_samples == 39 * 20 && o.steady.requests == 39 * 20 &&
           o.steady.peak_bytes > 2 * o.first.peak_bytes,
       "later epochs are 39, all of them: %g reads, %llu requests", o.steady_samples,
       (unsigned long long)o.steady.requests);
    setup();
    params.reading.epochs = 1000;
    params.reading.pattern.kind = config.pattern.kind = PACK_PATTERN_REPLACEMENT;
    params.reading.pattern.draws = config.pattern.draws = 20;
    config.cache = (struct pack_cache_params){ 100003, 100 * CHUNK, 0.75, PACK_HDF5_1_10 };
    o = evaluate();
    uint64_t loads = o.first.loads + o.steady.loads;
    ok(o.steady_samples == 999 * 20 && loads <= 100 && loads >= 90,
       "a cache for all of 100 chunks loads each once, in however many epochs: %llu loads",
       (unsigned long long)loads);
    setup();
}

/* No simulation beats its bound by more than noise: what is dropped deserved it. */
static void
test_bounds(void)
{
    static const enum pack_pattern_kind kinds[] = { PACK_PATTERN_SHUFFLE,
                                                    PACK_PATTERN_REPLACEMENT,
                                                    PACK_PATTERN_SEQUENTIAL,
                                                    PACK_PATTERN_BLOCK };
    int wrong = 0;
    for (int i = 0; i < 4 * 2 * 4; i++) {
        struct pack_advise_outcome bound, o;
        params.reading.pattern.kind = config.pattern.kind = kinds[i % 4];
        params.reading.pattern.workers = config.pattern.workers =
            1 + (uint64_t)(i / 4 % 2);
        params.reading.pattern.batch = config.pattern.batch = 10;
        config.pattern.pool_chunks = 12;
        config.pattern.local = config.pattern.kind == PACK_PATTERN_BLOCK && i / 4 % 2;
        config.cache.size_bytes = (uint64_t)(CHUNK * (i / 8 ? 25 * (i / 8) : 12));
        o = evaluate();
        if (pack_advise_bound(&params, &config, &bound, NULL) != PACK_OK ||
            o.rate > 1.02 * bound.rate || o.rate == 0) {
            wrong++;
            note("%s, %llu workers, %llu bytes: %.0f against a bound of %.0f",
                 pack_pattern_name(kinds[i % 4]), 1 + (unsigned long long)(i / 4 % 2),
                 (unsigned long long)config.cache.size_bytes, o.rate, bound.rate);
        }
    }
    is_number(wrong, 0, "nothing reads faster than its bound says");
    setup();
    /* drawn anew in each epoch, from an archive that memory does not hold */
    params.machine.ram_bytes = 0;
    params.reading.pattern.kind = PACK_PATTERN_REPLACEMENT;
    for (uint64_t draws = 20; draws <= 20000; draws *= 10) {
        struct pack_advise_outcome bound, o;
        params.reading.pattern.draws = draws;
        config.pattern = params.reading.pattern;
        o = evaluate();
        ok(pack_advise_bound(&params, &config, &bound, NULL) == PACK_OK &&
               o.first_rate <= 1.02 * bound.first_rate && o.rate <= 1.02 * bound.rate,
           "nor where an epoch draws %d of 600: %.0f against %.0f", (int)draws, o.rate, bound.rate);
    }
    setup();
}

/* --------------------------------------------------------------- candidates */

static bool
has_chunk(const struct pack_advise_list *list, struct pack_shape chunk)
{
    for (size_t i = 0; i < list->n; i++)
        if (pack_shape_equal(&list->config[i].chunk, &chunk))
            return true;
    return false;
}

static void
test_candidates(void)
{
    struct pack_advise_list list = { 0 };
    struct pack_grid grid;
    const struct pack_shape extent = { 3, { 64, 64, 64 } }, ten = { 1, { 10 } },
                            one = { 1, { 1 } };
    params.data.extent = extent;
    params.reading.pattern.kind = PACK_PATTERN_REPLACEMENT;
    params.reading.pattern.box = (struct pack_shape){ 3, { 32, 32, 32 } };
    params.machine.memory_bytes = 200000; /* of 262144 bytes of data */
    ok(pack_advise_candidates(&params, &list, NULL) == PACK_OK &&
           has_chunk(&list, (struct pack_shape){ 3, { 16, 16, 16 } }) &&
           has_chunk(&list, (struct pack_shape){ 3, { 32, 32, 32 } }) &&
           has_chunk(&list, (struct pack_shape){ 0 }),
       "boxes of a volume are tried in chunks as large, smaller, and in none");
    bool keeps = true;
    for (size_t i = 0; i < list.n; i++) {
        const struct pack_cache_params *c = &list.config[i].cache;
        keeps = keeps && (pack_advise_has_default_cache(&list.config[i]) ||
                          c->size_bytes + 8 * c->n_slots <= 200000);
    }
    ok(keeps, "with caches that the memory allows");
    pack_apart_free(list.config);
    list = (struct pack_advise_list){ 0 };
    setup();
    bool one_read = false;
    const struct pack_shape eight = { 2, { 8, SAMPLE } };
    ok(pack_advise_candidates(&params, &list, NULL) == PACK_OK, "samples are tried in chunks");
    for (size_t i = 0; i < list.n; i++)
        one_read = one_read || (pack_shape_equal(&list.config[i].chunk, &eight) &&
                                list.config[i].cache.size_bytes == 8 * SAMPLE);
    ok(one_read, "with room for the one chunk that a read takes, too");
    pack_apart_free(list.config);
    list = (struct pack_advise_list){ 0 };
    params.now = &config;
    params.storing.keep_file = true;
    bool stays = pack_advise_candidates(&params, &list, NULL) == PACK_OK && list.n > 0;
    for (size_t i = 0; i < list.n; i++)
        stays = stays &&
                pack_advise_change_of(&params, &list.config[i]) != PACK_ADVISE_REWRITE;
    ok(stays, "none writes a file that is to stay");
    pack_apart_free(list.config);
    list = (struct pack_advise_list){ 0 };
    setup();
    params.cache.is_fixed = true;
    params.cache.settings = (struct pack_cache_params){ 77, 12345, 0.25, PACK_HDF5_1_10 };
    params.cache.version = PACK_HDF5_2_0;
    bool fixed = pack_advise_candidates(&params, &list, NULL) == PACK_OK && list.n > 0;
    for (size_t i = 0; i < list.n; i++) {
        const struct pack_cache_params *c = &list.config[i].cache;
        fixed = fixed && (list.config[i].chunk.rank == 0 ||
                          (c->n_slots == 77 && c->size_bytes == 12345 && c->w0 == 0.25 &&
                           c->version == PACK_HDF5_2_0));
    }
    ok(fixed, "a cache that is given stays with all of them");
    pack_apart_free(list.config);
    list = (struct pack_advise_list){ 0 };
    setup();
    params.data.extent = (struct pack_shape){ 2, { 4, UINT64_C(1) << 33 } };
    params.reading.pattern.box = (struct pack_shape){ 2, { 1, 4096 } };
    bool small = pack_advise_candidates(&params, &list, NULL) == PACK_OK && list.n > 1;
    for (size_t i = 0; i < list.n; i++)
        small = small && (list.config[i].chunk.rank == 0 ||
                          pack_advise_grid(&params, &list.config[i].chunk, &grid, NULL) ==
                              PACK_OK);
    ok(small, "no chunk has 4 GiB, however long an axis is");
    pack_apart_free(list.config);
    (void)pack_grid_init(&grid, &ten, &one, 1, NULL);
    is_number((long long)pack_advise_roomy_slots(&grid, PACK_HDF5_1_10, 10), 10,
              "ten chunks in a row take ten slots");
    setup();
}

static void
test_search(void)
{
    static struct pack_advise_result r;
    struct pack_error err = { 0 };
    params.data.extent = (struct pack_shape){ 2, { N, SAMPLE * 500 } };
    config.chunk = (struct pack_shape){ 2, { 4, SAMPLE * 500 } }; /* 2 MB: 1.x passes them by */
    pack_cache_params_defaults(&config.cache, PACK_HDF5_1_10);
    params.now = &config;
    params.storing.keep_file = params.reading.pattern_is_fixed = true;
    params.n_threads = 2;
    enum pack_status status = pack_advise(&params, &r, &err);
    ok(status == PACK_OK && r.has_versions &&
           r.version_1.config.cache.size_bytes == 1 << 20 &&
           r.version_2.config.cache.size_bytes == 8 << 20 &&
           r.version_1.amplification == 1 && r.version_2.amplification > 3,
       "the defaults of both versions are told apart %s", err.text);
    is_number((long long)(r.n_bounded + r.n_sampled), (long long)r.n_candidates,
              "every candidate is bounded or simulated");
    params.reading.pattern_is_fixed = false;
    config.cache = (struct pack_cache_params){ SLOTS, 64 << 20, 0.75, PACK_HDF5_1_10 };
    status = pack_advise(&params, &r, &err);
    ok(status == PACK_OK && r.now.lru_hit_rate > 0 && r.now.belady_hit_rate >= r.now.lru_hit_rate,
       "today's is compared with other policies: %.3f, %.3f", r.now.lru_hit_rate,
       r.now.belady_hit_rate);
    setup();
}

/* What one evaluation among several refuses is said as when it is alone. */
static void
test_refusal(void)
{
    struct pack_advise_config bad = config;
    const struct pack_advise_config *const both[] = { &config, &bad };
    struct pack_advise_outcome o[2];
    struct pack_error alone = { 0 }, among = { 0 };
    bad.pattern.world = 2;
    bad.pattern.rank = 5;
    enum pack_status status = pack_advise_evaluate(&params, &bad, 0, o, &alone);
    ok(status == PACK_ERR_ARGUMENT && alone.param && strcmp(alone.param, "rank") == 0,
       "a configuration is refused, and the parameter is named: %s", alone.text);
    ok(pack_advise_evaluate_all(&params, both, 2, NULL, o, &among) == status &&
           strcmp(among.text, alone.text) == 0 && among.param &&
           strcmp(among.param, "rank") == 0,
       "so it is as one of several");
    ok(pack_advise_evaluate_all(&params, both, 2, NULL, o, NULL) == status,
       "and where nobody asks why");
}

/* An epoch has the samples that there are, however many workers have none of them. */
static void
test_epoch_samples(void)
{
    static const struct {
        uint64_t workers, world, batch;
        bool drop_last;
        double wanted;
    } cases[] = {
        { 0, 0, 64, false, N },   { 1, 0, 64, false, N },        { 4, 0, 64, false, N },
        { 7, 0, 64, false, N },   { 1000, 0, 64, false, N },     { 7, 0, 64, true, N / 64 * 64 },
        { 1, 0, 64, true, N / 64 * 64 }, { 3, 7, 16, false, N / 7 + 1 }, { 1, 7, 16, false, N / 7 + 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_pattern *p = &params.reading.pattern;
        p->workers = cases[i].workers;
        p->world = cases[i].world;
        p->batch = cases[i].batch;
        p->drop_last = cases[i].drop_last;
        config.pattern = *p;
        struct pack_advise_outcome o = evaluate();
        ok(o.epoch_samples == cases[i].wanted, "%d workers, %d ranks: %.9g samples in an epoch",
           (int)p->workers, (int)p->world, o.epoch_samples);
    }
    setup();
}

/* Chunks that are searched for in an old index, whose tree leaves the processor's caches. */
static void
test_index(void)
{
    enum { MANY = 200000, KEY_BYTES = 280 };
    params.data.extent = (struct pack_shape){ 2, { MANY, 8 } };
    config.chunk = (struct pack_shape){ 2, { 1, 8 } };
    for (int block = 0; block < 2; block++) {
        if (block)
            config.pattern.kind = params.reading.pattern.kind = PACK_PATTERN_BLOCK;
        params.data.has_old_index = false;
        struct pack_cost direct = evaluate().steady_cost;
        params.data.has_old_index = true;
        struct pack_advise_outcome o = evaluate();
        double far = 1 - (24 << 20) / (double)(MANY * KEY_BYTES), loads = (double)o.steady.loads;
        double more = block ? 0 : loads * 6 * profile.far_ns * far;
        ok(loads > 0 && fabs(o.steady_cost.page_ns - direct.page_ns - more) <= 1e-6 * direct.page_ns,
           "%s, an old index takes %.3g ns more, of %.3g", block ? "in blocks" : "in a random order",
           o.steady_cost.page_ns - direct.page_ns, direct.page_ns);
    }
    setup();
}

int
main(void)
{
    setup();
    test_index();
    test_refusal();
    test_epoch_samples();
    test_memory();
    test_companion();
    test_subset();
    test_companion_cost();
    test_buffer();
    test_one_read();
    test_cold();
    test_contiguous();
    test_ends();
    test_runs();
    test_pieces();
    test_visits();
    test_epochs();
    test_bounds();
    test_candidates();
    test_search();
    return done();
}
