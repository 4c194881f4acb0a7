/* Measured rows against what must hold whatever the clock says: which are read, how much of
 * the data, and how their rates follow from what was measured. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/bench/measure_parts.h"
#include "libpack/bench/trial.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/hdf5/scratch.h"
#include "libpack/model/cost.h"
#include "tests/clock_shim.h"
#include "tests/tap.h"

enum { N = 300, SIDE = 24, SAMPLE = SIDE * SIDE, ROWS = 6 };
static char source[512];
static struct pack_profile profile;
static struct pack_advise_config today;
static struct pack_advise_params params;
static struct pack_advise_result result;
static struct pack_measured measured;

static void
fill(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    for (uint64_t i = 0; i < n * SAMPLE; i++)
        ((unsigned char *)out)[i] = (unsigned char)((first * SAMPLE + i) * 31);
}

static bool
near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void
setup(void)
{
    struct pack_probe_layout layout = { .extent = { 3, { N, SIDE, SIDE } },
                                        .chunk = { 3, { 7, SIDE, SIDE } } };
    struct pack_error err = { 0 };
    const char *dir = getenv("TMPDIR");
    snprintf(source, sizeof source, "%s/h5pack-test-rows-%d.h5", dir ? dir : "/tmp",
             (int)getpid());
    (void)pack_profile_named("nvme", &profile, &err);
    ok(pack_probe_create(source, &layout, fill, NULL, &err) == PACK_OK,
       "a source is made %s", err.text);
    params = (struct pack_advise_params){
        .data.extent = { 3, { N, SIDE, SIDE } },
        .data.elem_size = 1,
        .machine.profile = &profile,
        .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 16 },
        .reading.epochs = 30,
        .machine.ram_bytes = 1 << 30,
        .now = &today,
    };
    today = (struct pack_advise_config){ .chunk = { 3, { 7, SIDE, SIDE } },
                                         .codec = "none",
                                         .stored_rate = 1,
                                         .pattern = params.reading.pattern };
    pack_cache_params_defaults(&today.cache, PACK_HDF5_1_10);
}

static void
test_now(void)
{
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_error err = { 0 };
    struct pack_advise_outcome o;
    enum pack_status status = pack_measure_now(&how, &params, &profile, &measured, &err);
    ok(status == PACK_OK && measured.has_now && measured.now_first > 0 &&
           measured.now_later > 0 && measured.elapsed_ns > 0,
       "today's settings are read on the file %s", err.text);
    ok(measured.resident_rate == 1 && params.machine.is_warm &&
           !measured.storage_measured,
       "which was just written, and so lies in the page cache");
    (void)pack_advise_evaluate(&params, &today, 0, &o, &err);
    ok(near(measured.modelled_first, o.first_rate) &&
           fabs(measured.modelled_later / o.later_rate - 1) < 0.05,
       "the model's rates are those of the same reads");
    struct pack_measured m;
    struct pack_advise_params p = params;
    p.machine.ram_bytes = 100000; /* of 173 kB */
    status = pack_measure_now(&how, &p, &profile, &m, &err);
    ok(status == PACK_OK && !p.machine.is_warm && !m.storage_measured,
       "a file that does not stay in memory is not warm, but too small to measure storage on");
    p.now = NULL;
    status = pack_measure_now(&how, &p, &profile, &m, &err);
    ok(status == PACK_OK && !m.has_now && m.resident_rate < 0 && m.now_ratio == 1,
       "what is not there yet is not measured");
    status = pack_measure_now(&(struct pack_measure_params){ .file = source,
                                                             .dataset = "nothing" },
                              &params, &profile, &m, &err);
    ok(status == PACK_OK && !m.has_now, "nor what cannot be read");
}

/* The model of what is read in a slice: of 20 samples of a file that is cold once, each in two
 * halves; of batches that one worker has alone; of a cache that fills for longer. */
static void
test_model(void)
{
    struct pack_error err = { 0 };
    struct pack_advise_params p = params;
    struct pack_advise_config config = today;
    struct measure_expected whole, part, shared;
    struct pack_advise_outcome o;
    config.cache.n_slots = config.cache.size_bytes = 0;
    p.now = &config;
    p.machine.is_warm = false;
    bool done = pack_measure_model(&p, &config, 20, &part, &err) == PACK_OK &&
                pack_measure_model(&p, &config, 0, &whole, &err) == PACK_OK &&
                pack_advise_evaluate(&p, &config, 0, &o, &err) == PACK_OK;
    ok(done && part.first_cost.storage_ns > 0 && whole.later_cost.storage_ns <= 0 &&
           part.first_samples >= 20 &&
           fabs(part.first_cost.storage_ns / part.first_samples /
                    (whole.first_cost.storage_ns / whole.first_samples) - 1) < 0.2 &&
           fabs(part.first / whole.first - 1) < 0.2,
       "a part of a cold epoch is cold to its end: %g samples/s, all of it %g %s", part.first,
       whole.first, err.text);
    ok(done && near(whole.first, o.first_rate) && near(whole.later, o.later_rate),
       "one worker has all of an epoch");
    p.reading.pattern.workers = config.pattern.workers = 2;
    p.reading.pattern.batch = config.pattern.batch = N;
    p.machine.is_warm = true;
    done = pack_measure_model(&p, &config, 0, &shared, &err) == PACK_OK &&
           pack_advise_evaluate(&p, &config, 0, &o, &err) == PACK_OK;
    ok(done && near(shared.first, o.first_rate / 2) && near(shared.later, o.later_rate / 2),
       "of two that share one batch the other waits: %g of %g samples/s %s", shared.later,
       o.later_rate, err.text);
    p.reading.pattern.batch = config.pattern.batch = N - N / 4;
    done = pack_measure_model(&p, &config, 0, &shared, &err) == PACK_OK &&
           pack_advise_evaluate(&p, &config, 0, &o, &err) == PACK_OK;
    ok(done && near(shared.later, o.later_rate * 2 / 3),
       "where it has a third as many it waits for two thirds of the time: %g of %g samples/s",
       shared.later, o.later_rate);
    p.reading.pattern.batch = 32;
    config.pattern.batch = 7;
    p.reading.pattern.drop_last = config.pattern.drop_last = true;
    done = pack_measure_model(&p, &config, 0, &shared, &err) == PACK_OK;
    ok(done && shared.epoch_samples == N / 7 * 7, "of batches of 7, %g of %d samples are read",
       shared.epoch_samples, N);
    p.reading.pattern.drop_last = config.pattern.drop_last = false;
    p.reading.pattern.workers = config.pattern.workers = 1;
    p.reading.pattern.batch = config.pattern.batch = 8;
    config.pattern.read = PACK_READ_BATCH;
    for (uint64_t n = 8; n <= 24; n += 8) {
        done = pack_measure_model(&p, &config, n, &part, &err) == PACK_OK;
        double times = n == 8 ? 2 : 1; /* one read stands for both halves */
        ok(done && part.first_samples == times * (double)n,
           "of %llu samples that were read at once, %g are modelled %s", (unsigned long long)n,
           part.first_samples, err.text);
    }
    p.reading.pattern.workers = config.pattern.workers = 2;
    struct pack_trial_result r = { .first_rate = 1, .later_rate = 1, .has_later = true,
                                   .n_epochs = 2 };
    struct pack_measured two = { .now_ratio = 1 }, many = two;
    config = today;
    config.chunk.extent[0] = 1;
    p.reading.pattern.batch = 1;
    config.pattern = p.reading.pattern;
    done = pack_measure_take_now(&p, &config, &r, &two, &err) == PACK_OK;
    r.n_epochs = 300;
    done = done && pack_measure_take_now(&p, &config, &r, &many, &err) == PACK_OK;
    ok(done && two.modelled_later < 0.9 * many.modelled_later,
       "a cache that two workers fill is not full in the second epoch: %g, later %g samples/s",
       two.modelled_later, many.modelled_later);
    struct measure_expected told, eight, four;
    p.reading.epochs = 8;
    done = pack_measure_model(&p, &config, 0, &eight, &err) == PACK_OK;
    p.reading.epochs = 4;
    done = done && pack_measure_model(&p, &config, 0, &four, &err) == PACK_OK &&
           pack_measure_model_told(&p, &config, 8, &told, &err) == PACK_OK;
    double last = 4 / (7 / eight.later - 3 / four.later);
    ok(done && fabs(told.later / last - 1) < 1e-6 && told.later > 1.01 * eight.later,
       "of eight epochs the later four: %g samples/s, of all but the first %g", told.later,
       eight.later);
}

/* What three rounds gave of a file, the first one more slowly: where it was not in the page
 * cache, only that one tells of storage. */
static void
test_take_now(void)
{
    struct pack_trial_result r = { .first = { 10, 30, 40 },
                                   .first_rate = 30,
                                   .later_rate = 50,
                                   .has_later = true,
                                   .opening_samples = 20,
                                   .first_samples = 200 };
    struct pack_advise_params p = params;
    struct pack_measured warm = { .now_ratio = 1 }, cold = warm, one = warm;
    struct measure_expected whole, part;
    struct pack_error err = { 0 };
    p.machine.is_warm = true;
    bool good = pack_measure_take_now(&p, &today, &r, &warm, &err) == PACK_OK &&
                pack_measure_model(&p, &today, 0, &whole, &err) == PACK_OK;
    ok(good && warm.has_now && warm.now_first == 30 && warm.now_later == 50 &&
           warm.cold_samples == 0 && warm.modelled_first == whole.first &&
           warm.modelled_later == whole.later,
       "of a warm file the median counts %s", err.text);
    ok(warm.now_warm == 50, "and later epochs are what the page cache gives");
    r.has_later = false;
    ok(pack_measure_take_now(&p, &today, &r, &one, &err) == PACK_OK && one.now_warm == 0 &&
           !one.later_unseen,
       "which a first one is not");
    one.has_now = false;
    p.machine.is_warm = false;
    ok(pack_measure_take_now(&p, &today, &r, &one, &err) == PACK_OK && one.later_unseen,
       "and which of a cold file is not one");
    r.has_later = true;
    p.machine.is_warm = false;
    good = pack_measure_take_now(&p, &today, &r, &cold, &err) == PACK_OK &&
           pack_measure_model(&p, &today, 20, &part, &err) == PACK_OK &&
           pack_measure_model(&p, &today, 0, &whole, &err) == PACK_OK;
    ok(good && cold.now_first == 10 && cold.cold_samples == 20 && part.first != whole.first &&
           cold.modelled_first == part.first && cold.modelled_later == whole.later &&
           !cold.later_unseen,
       "of a cold one the first round, beside the model of as many samples %s", err.text);
    r.first[0] = r.first_rate = 60;
    r.later_rate = 70;
    r.opening_samples = 30;
    good = pack_measure_take_now(&p, &today, &r, &cold, &err) == PACK_OK &&
           pack_measure_take_now(&p, &today, &r, &cold, &err) == PACK_OK;
    ok(good && cold.now_first == 10 && cold.cold_samples == 20 && cold.now_later == 70 &&
           cold.modelled_first == part.first,
       "which is not cold when it is read again %s", err.text);
    struct pack_advise_params two = p;
    struct pack_advise_config smaller = today;
    two.reading.pattern.workers = smaller.pattern.workers = 2;
    two.reading.pattern.batch = N;
    smaller.pattern.batch = N / 4;
    good = pack_measure_take_now(&two, &smaller, &r, &cold, &err) == PACK_OK &&
           pack_measure_model(&two, &smaller, 0, &whole, &err) == PACK_OK;
    ok(good && near(cold.modelled_later, whole.later),
       "what was read in smaller batches is modelled so %s", err.text);
    r.n_epochs = 2;
    good = pack_measure_take_now(&two, &smaller, &r, &cold, &err) == PACK_OK &&
           pack_measure_model_told(&two, &smaller, 2, &whole, &err) == PACK_OK;
    ok(good && fabs(cold.modelled_later / whole.later - 1) < 1e-3, "also of two epochs %s", err.text);
    r.has_later = false;
    good = pack_measure_take_now(&p, &today, &r, &cold, &err) == PACK_OK &&
           pack_measure_model(&p, &today, r.first_samples, &part, &err) == PACK_OK;
    p.machine.is_warm = true;
    good = good && pack_measure_model(&p, &today, r.first_samples, &whole, &err) == PACK_OK;
    ok(good && near(cold.modelled_later, whole.first) && part.first < 0.9 * whole.first &&
           !cold.later_unseen,
       "and in turns with copies the file is read out of the page cache: %g, not %g %s",
       whole.first, part.first, err.text);
}

/* Three batches of two workers, of which one has two: what the file gave is what its row says,
 * whether later epochs were seen or not. Of a cold one whose first epoch is as modelled, storage
 * is as modelled as well. */
static void
test_uneven(void)
{
    static struct measure_rows rows;
    static const char *const how_read[] = { "all of it", "a part", "all, cold" };
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    bool done = pack_readset_open(&how.file, 1, "probe", &set, &err) == PACK_OK;
    for (int i = 0; done && i < 3; i++) {
        struct pack_advise_config config = today;
        struct pack_advise_params p = params;
        struct pack_advise_outcome o;
        struct measure_expected e;
        struct pack_measured m = { .now_ratio = 1 };
        p.reading.pattern.workers = config.pattern.workers = 2;
        p.reading.pattern.batch = config.pattern.batch = N / 3;
        config.cache.n_slots = config.cache.size_bytes = 0; /* all epochs are alike */
        p.now = &config;
        p.machine.is_warm = i < 2;
        p.machine.ram_bytes = i < 2 ? 1 << 30 : 0;
        struct pack_trial_result r = { .first = { 5000, 5000 },
                                       .first_rate = 5000,
                                       .later_rate = 5000,
                                       .has_later = i != 1,
                                       .n_epochs = 2,
                                       .opening_samples = N,
                                       .first_samples = i == 1 ? 100 : N };
        done = pack_advise_evaluate(&p, &config, 0, &o, &err) == PACK_OK &&
               pack_measure_model(&p, &config, 0, &e, &err) == PACK_OK;
        if (i == 2)
            r.first[0] = e.first;
        done = done && pack_measure_take_now(&p, &config, &r, &m, &err) == PACK_OK;
        o.is_now = true;
        rows = (struct measure_rows){ .how = &how,
                                      .params = &p,
                                      .measured = &m,
                                      .layouts[0].set = set,
                                      .candidates[0] = { .row = &o, .config = config },
                                      .results[0] = r,
                                      .n_candidates = 1 };
        if (i == 2) { /* what its copy gives is as modelled, too */
            struct pack_advise_params copy = p;
            copy.machine.is_warm = true;
            copy.machine.ram_bytes = UINT64_MAX / 2;
            copy.now = NULL;
            done = done && pack_measure_model(&copy, &config, 0, &e, &err) == PACK_OK;
            rows.results[0].first_rate = e.first;
            rows.results[0].later_rate = e.later;
        }
        done = done && pack_measure_correct(&rows, 0, &m, &err) == PACK_OK;
        if (i == 2)
            ok(done && fabs(rows.storage - 1) < 0.02, "%s: storage takes %g of what is modelled %s",
               how_read[i], rows.storage, err.text);
        else
            ok(done && fabs(o.later_rate / (i ? 5000 * 0.75 : 5000) - 1) < 1e-6,
               "%s: later epochs are at %g samples/s %s", how_read[i], o.later_rate, err.text);
    }
    pack_readset_close(set);
}

/* Rows of so many samples to a chunk, as modelled; the first is today's. */
static void
make_rows(const uint64_t *samples, size_t n)
{
    struct pack_error err;
    memset(&result, 0, sizeof result);
    for (size_t i = 0; i < n; i++) {
        struct pack_advise_config config = today;
        config.chunk.extent[0] = samples[i];
        if (pack_advise_evaluate(&params, &config, 0, &result.rows[i], &err) != PACK_OK)
            note("%s", err.text);
        /* whatever the test makes of its rate, the model knows a reason */
        result.rows[i].modelled_rate = result.rows[0].rate * (i > 0 ? 2 : 1);
    }
    result.n_rows = n;
    result.has_now = true;
    result.rows[0].is_now = true;
    result.now = result.rows[0];
}

static const struct pack_advise_outcome *
row_of(uint64_t samples)
{
    for (size_t i = 0; i < result.n_rows; i++)
        if (result.rows[i].config.chunk.extent[0] == samples &&
            result.rows[i].config.cache.size_bytes == today.cache.size_bytes)
            return &result.rows[i];
    return NULL;
}

static void
test_rows(void)
{
    static const uint64_t samples[ROWS] = { 7, 20, 30, 50, 60, 20 };
    /* 230 samples and some bytes: 230 is no multiple of 50 */
    const struct pack_measure_params how = { .file = source,
                                             .dataset = "probe",
                                             .scratch_bytes = 230 * SAMPLE + 11 };
    struct pack_error err = { 0 };
    make_rows(samples, ROWS);
    result.rows[1].rate = 1.01 * result.rows[0].rate;
    result.rows[2].rate = 0.61 * result.rows[1].rate; /* worth reading */
    result.rows[3].rate = 0.11 * result.rows[1].rate; /* the first that loads its chunks */
    result.rows[3].hit_rate = 0.4;
    result.rows[4].rate = 0.59 * result.rows[1].rate; /* hopeless */
    result.rows[5].rate = 0.09 * result.rows[1].rate; /* would be the first of its kind */
    result.rows[5].config.pattern.kind = PACK_PATTERN_SEQUENTIAL;
    result.rows[5].config.cache.size_bytes = 4 << 20;
    const struct pack_advise_outcome before = result.rows[0], twenty = result.rows[1],
                                     sixty = result.rows[4], in_order = result.rows[5];
    result.has_versions = true;
    result.version_1 = result.version_2 = before;
    pack_advise_scale(&result.version_2, &params, 0.5);
    result.now.lru_hit_rate = 0.25;
    result.now.belady_hit_rate = 0.5;
    enum pack_status status = pack_measure_rows(&how, &params, &result, &measured, &err);
    ok(status == PACK_OK && !measured.proven && measured.n_rounds >= 5,
       "rows are read in turns %s", err.text);
    is_number((long long)measured.n_samples, 200, "copies hold whole rows of the largest chunk");
    is_number((long long)measured.n_rows, 4,
              "today's, the fastest ones, and the first of another kind");
    const struct pack_advise_outcome *now = &result.now, *row = row_of(20);
    size_t n_measured = 0;
    bool mean = true, kept = true;
    for (size_t i = 0; i < result.n_rows; i++) {
        const struct pack_advise_outcome *o = &result.rows[i];
        bool is_measured = o->basis == PACK_ADVISE_MEASURED;
        n_measured += is_measured;
        mean = mean && (!is_measured ||
                        near(o->rate, 30 / (1 / o->first_rate + 29 / o->later_rate)));
        kept = kept && (is_measured || o->gain_low == 0);
    }
    ok(now->lru_hit_rate == 0.25 && now->belady_hit_rate == 0.5,
       "what other policies would hit stays known");
    ok(n_measured == 4 && kept && row_of(60)->basis == PACK_ADVISE_PREDICTED,
       "the others stay predicted");
    double factor = row_of(60)->later_rate / sixty.later_rate;
    size_t n_below = 0, n_above = 0, same = 0;
    while (same + 1 < result.n_rows && result.rows[same].config.cache.size_bytes != 4 << 20)
        same++;
    ok(near(result.rows[same].later_rate / in_order.later_rate, row->rate / row->modelled_rate),
       "whose layout was read goes by that");
    for (size_t i = 0; i < result.n_rows; i++) {
        const struct pack_advise_outcome *o = &result.rows[i];
        if (o->basis == PACK_ADVISE_MEASURED) {
            n_below += o->rate / o->modelled_rate < factor;
            n_above += o->rate / o->modelled_rate > factor;
        }
    }
    ok(factor > 0 && n_below == 2 && n_above == 2,
       "by the median of those that were measured: %g, %zu below, %zu above", factor, n_below,
       n_above);
    ok(mean, "rates are those of thirty epochs");
    ok(now->basis == PACK_ADVISE_MEASURED && now->modelled_rate == before.modelled_rate &&
           near(now->later_rate / before.later_rate,
                measured.now_later / measured.modelled_later),
       "today's is what was measured on the file, in later epochs: %.9g, %.9g",
       now->later_rate / before.later_rate, measured.now_later / measured.modelled_later);
    ok(near(result.version_1.later_rate, before.later_rate * now->rate / before.rate) &&
           near(result.version_2.later_rate, 0.5 * result.version_1.later_rate),
       "the other versions' defaults are scaled by as much: %.9g, %.9g",
       result.version_1.later_rate / before.later_rate, now->rate / before.rate);
    ok(now->gain_low == 0 && now->gain_high == 0, "it gains nothing over itself");
    ok(row->modelled_rate == twenty.modelled_rate && row->gain_low > 0 &&
           row->gain_low <= row->rate / now->rate && row->gain_high >= row->rate / now->rate,
       "a gain lies in its interval: %.3g in %.3g to %.3g", row->rate / now->rate,
       row->gain_low, row->gain_high);
}

/* A rewrite that the model sees no reason for is not tried, however fast it is said to be. */
static void
test_reason(void)
{
    static const uint64_t samples[3] = { 7, 20, 30 };
    const struct pack_measure_params how = { .file = source,
                                             .dataset = "probe",
                                             .scratch_bytes = 200 * SAMPLE };
    struct pack_error err = { 0 };
    make_rows(samples, 3);
    result.rows[1].rate = result.rows[2].rate = 2 * result.rows[0].rate;
    result.rows[1].modelled_rate = 1.04 * result.rows[0].modelled_rate;
    result.rows[2].modelled_rate = 1.05 * result.rows[0].modelled_rate;
    enum pack_status status = pack_measure_rows(&how, &params, &result, &measured, &err);
    ok(status == PACK_OK && measured.n_rows == 2 &&
           row_of(20)->basis == PACK_ADVISE_PREDICTED &&
           row_of(30)->basis == PACK_ADVISE_MEASURED,
       "a rewrite is tried where the model sees a gain too %s", err.text);
}

/* Every other row begins a sample: 150 of the file, 100 of a copy of 200 rows. */
static void
test_weights(void)
{
    static const uint64_t samples[2] = { 7, 20 };
    static double weights[N / 2];
    const struct pack_measure_params how = { .file = source,
                                             .dataset = "probe",
                                             .scratch_bytes = 200 * SAMPLE };
    const struct pack_pattern usual = params.reading.pattern;
    struct pack_error err = { 0 };
    for (uint64_t heavy = 99; heavy < 101; heavy++) {
        memset(weights, 0, sizeof weights);
        memset(&measured, 0, sizeof measured);
        weights[heavy] = 1;
        params.reading.pattern.kind = PACK_PATTERN_WEIGHTED;
        params.reading.pattern.step = 2;
        params.reading.pattern.weights = weights;
        today.pattern = params.reading.pattern;
        make_rows(samples, 2);
        result.rows[1].rate = 2 * result.rows[0].rate;
        enum pack_status status =
            pack_measure_rows(&how, &params, &result, &measured, &err);
        bool said = strstr(measured.why_not, "have no weight above 0") != NULL;
        ok(status == PACK_OK && said == (heavy == 100) &&
               (measured.n_rounds > 0) == (heavy == 99),
           "a copy of 100 samples %s by the weight of sample %d: %s",
           heavy == 99 ? "is read" : "cannot be", (int)heavy, measured.why_not);
    }
    params.reading.pattern = today.pattern = usual;
}

/* A copy of 300 of 3000 samples; today's chunks are of 4032 bytes. */
static void
test_shrinking(void)
{
    static struct measure_rows rows;
    struct pack_advise_params whole = params;
    struct pack_readset set = { .extent = { 3, { N, SIDE, SIDE } } };
    struct measure_candidate c = { .config = today };
    struct pack_cache_params *cache = &c.config.cache;
    whole.data.extent.extent[0] = 10 * N;
    rows = (struct measure_rows){ .params = &whole, .layouts[0].set = &set };
    cache->size_bytes = 512 << 20;
    pack_measure_shrink_cache(&rows, &c);
    ok(cache->size_bytes >= 53687091 && cache->size_bytes <= 53687092,
       "a tenth of the samples gets a tenth of the cache");
    cache->size_bytes = 100 << 20;
    pack_measure_shrink_cache(&rows, &c);
    ok(cache->size_bytes == 16 << 20, "down to 16 MiB");
    cache->size_bytes = 15 << 20;
    pack_measure_shrink_cache(&rows, &c);
    ok(cache->size_bytes == 15 << 20, "what is less already stays");
    c.config.chunk = (struct pack_shape){ 3, { 1, 5 << 10, 4 << 10 } };
    cache->size_bytes = 100 << 20;
    pack_measure_shrink_cache(&rows, &c);
    ok(cache->size_bytes == 20 << 20, "and one that holds a chunk of 20 MiB still does");
    c.config.chunk = today.chunk;
    c.config.pattern.kind = PACK_PATTERN_BLOCK;
    cache->size_bytes = 100 << 20;
    pack_measure_shrink_cache(&rows, &c);
    ok(cache->size_bytes == 100 << 20, "a block shuffle's pool is as large in the copy");
}

/* What was read in a copy, of its first epoch alone: 100 samples in ten seconds. */
static void
test_first_alone(void)
{
    static struct measure_rows rows;
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    struct pack_measured m = { .now_ratio = 1 };
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    bool done = pack_readset_open(&how.file, 1, "probe", &set, &err) == PACK_OK;
    for (int no_cache = 0; done && no_cache < 2; no_cache++) {
        struct pack_advise_config config = today;
        struct pack_advise_outcome o;
        strcpy(config.codec, "gzip:4"); /* chunks that are loaded take most of the time */
        config.decode_ns = 50;
        if (no_cache) /* every epoch loads as much as the first */
            config.cache.n_slots = config.cache.size_bytes = 0;
        done = pack_advise_evaluate(&params, &config, 0, &o, &err) == PACK_OK;
        rows = (struct measure_rows){ .how = &how,
                                      .params = &params,
                                      .measured = &m,
                                      .layouts[0].set = set,
                                      .candidates[0] = { .row = &o, .config = config },
                                      .results[0] = { .first_rate = 10, .first_samples = 100 },
                                      .n_candidates = 1 };
        done = done && pack_measure_correct(&rows, 0, &m, &err) == PACK_OK;
        ok(done && (o.basis == PACK_ADVISE_MEASURED) == no_cache,
           no_cache ? "a first epoch tells of others that load as much %s"
                    : "it does not tell of those that find all in a cache %s",
           err.text);
    }
    pack_readset_close(set);
}

/* The same of today's settings, on a file that no page cache holds, and on one that it does. */
static void
test_warm(void)
{
    static struct measure_rows rows;
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_advise_config config = today;
    struct pack_advise_outcome o[3];
    struct pack_measured m[3] = { { .now_ratio = 1 }, { .now_ratio = 1 },
                                  { .now_ratio = 1, .now_warm = 7 } };
    strcpy(config.codec, "gzip:4");
    config.decode_ns = 50;
    config.cache.n_slots = config.cache.size_bytes = 0;
    bool done = pack_readset_open(&how.file, 1, "probe", &set, &err) == PACK_OK;
    for (int i = 0; done && i < 3; i++) {
        struct pack_advise_params p = params;
        p.machine.is_warm = i != 0;
        p.machine.ram_bytes = i ? 1 << 30 : 0;
        p.now = &config;
        done = pack_advise_evaluate(&p, &config, 0, &o[i], &err) == PACK_OK;
        o[i].is_now = true;
        rows = (struct measure_rows){ .how = &how,
                                      .params = &p,
                                      .measured = &m[i],
                                      .layouts[0].set = set,
                                      .candidates[0] = { .row = &o[i], .config = config },
                                      .results[0] = { .first_rate = 5000, .later_rate = 5000,
                                                      .first_samples = 100 },
                                      .n_candidates = 1 };
        done = done && pack_measure_correct(&rows, 0, &m[i], &err) == PACK_OK;
    }
    ok(done && near(m[1].now_warm, o[1].later_rate) && near(m[0].now_warm, m[1].now_warm) &&
           o[0].later_rate < 0.99 * m[0].now_warm,
       "what a file gives out of the page cache is known of one that is not there: %g, %g, not "
       "%g %s", m[0].now_warm, o[1].later_rate, o[0].later_rate, err.text);
    ok(m[2].now_warm == 7, "unless it was seen");
    pack_readset_close(set);
}

/* Samples/s of a cost whose loads take `load` times as long, and all the rest `rest` times. */
static double
slowed(struct pack_cost cost, double samples, double load, double rest)
{
    double loads = cost.page_ns + cost.decode_ns + cost.touch_ns;
    cost.cpu_ns = load * loads + rest * (cost.cpu_ns - loads);
    cost.total_ns = cost.cpu_ns + cost.storage_ns;
    return pack_cost_rate(&profile, &cost, samples, 1);
}

/* As copies are asked about. */
static struct pack_advise_params
of_copy(void)
{
    struct pack_advise_params p = params;
    p.machine.is_warm = true;
    p.machine.ram_bytes = UINT64_MAX / 2;
    p.reading.epochs = 1000;
    p.now = NULL;
    return p;
}

/* A copy of all samples, of which later epochs find all in the cache, on a machine that
 * loads so much slower and does all the rest so much slower than the profile says. */
static void
test_two_factors(void)
{
    static const struct {
        double load, rest;
        bool apart; /* both can be told from the two rates */
    } cases[] = { { 3, 0.5, true },   { 0.5, 3, true },  { 1, 1, true },
                  { 49, 2, true },    { 51, 2, false },  { 0.06, 1, true },
                  { 0.04, 1, false }, { 2, 49, true },   { 2, 51, false },
                  { 1, 0.06, true },  { 1, 0.04, false } };
    static struct measure_rows rows;
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_advise_params copy = of_copy();
    struct pack_advise_config config = today, uncached;
    struct measure_expected e;
    strcpy(config.codec, "gzip:4");
    config.decode_ns = 50;
    uncached = config; /* the row: loads are another part of its time than of the copy's */
    uncached.cache.n_slots = uncached.cache.size_bytes = 0;
    bool done = pack_readset_open(&how.file, 1, "probe", &set, &err) == PACK_OK &&
                pack_measure_model(&copy, &config, 0, &e, &err) == PACK_OK;
    for (size_t i = 0; done && i < sizeof cases / sizeof *cases; i++) {
        struct pack_measured m = { .now_ratio = 1 };
        struct pack_advise_outcome o, model;
        double load = cases[i].load, rest = cases[i].rest;
        double first = slowed(e.first_cost, e.first_samples, load, rest),
               later = slowed(e.later_cost, e.later_samples, load, rest);
        done = pack_advise_evaluate(&params, &uncached, 0, &model, &err) == PACK_OK;
        o = model;
        rows = (struct measure_rows){
            .how = &how,
            .params = &params,
            .measured = &m,
            .layouts[0].set = set,
            .candidates[0] = { .row = &o, .config = config },
            .results[0] = { .has_later = true, .first_rate = first, .later_rate = later },
            .n_candidates = 1
        };
        done = done && pack_measure_correct(&rows, 0, &m, &err) == PACK_OK;
        double by_first = e.first / first, by_later = e.later / later;
        double want_first = slowed(model.first_cost, model.first_samples,
                                   cases[i].apart ? load : by_first,
                                   cases[i].apart ? rest : by_first),
               want_later = slowed(model.steady_cost, model.steady_samples,
                                   cases[i].apart ? load : by_later,
                                   cases[i].apart ? rest : by_later);
        if (!ok(done && fabs(o.first_rate / want_first - 1) < 1e-6 &&
                    fabs(o.later_rate / want_later - 1) < 1e-6,
                "loads that take %g times as long, and %g times all the rest, are %s", load,
                rest, cases[i].apart ? "told apart" : "not believed"))
            note("%.6g, %.6g, not %.6g, %.6g samples/s %s", o.first_rate, o.later_rate,
                 want_first, want_later, err.text);
    }
    pack_readset_close(set);
}

/* Which candidates are read with their cache filled: 16 samples of 1 MiB. */
static void
test_preloaded(void)
{
    struct pack_readset set = { .sample_bytes = 1 << 20, .extent = { 1, { 16 } } };
    struct pack_advise_outcome row = { .hit_rate = 0.5 };
    struct pack_advise_params p = params;
    static struct measure_rows rows;
    const struct pack_measure_params usual = { .prove = false };
    rows = (struct measure_rows){ .params = &p, .how = &usual, .layouts[0].set = &set };
    struct measure_candidate large = { .row = &row, .config = today }, small, block,
                             virtual, none;
    large.config.cache.size_bytes = 16 << 20;
    small = block = virtual = large;
    small.config.cache.size_bytes--;
    virtual.config.is_virtual = true;
    block.config.pattern.kind = PACK_PATTERN_BLOCK;
    none = large;
    none.config.chunk.rank = 0;
    ok(pack_measure_is_preloaded(&rows, &large) && !pack_measure_is_preloaded(&rows, &small) &&
           !pack_measure_is_preloaded(&rows, &virtual) &&
           !pack_measure_is_preloaded(&rows, &none),
       "a large cache is read filled, unless each source has one of its own");
    set.extent.extent[0] = 17;
    bool more = pack_measure_is_preloaded(&rows, &block);
    set.extent.extent[0] = 16;
    ok(!more && pack_measure_is_preloaded(&rows, &block),
       "that of a block shuffle where it holds all");
    row.first_samples = row.steady_samples = 100;
    row.first.loads = 10;
    row.steady.loads = 4;
    for (int ms = 8; ms >= 6; ms -= 2) { /* 16 samples of one worker, half a slice of 200 ms */
        row.first_cost = (struct pack_cost){ .decode_ns = 100e6 * ms, .cpu_ns = 100e6 * ms,
                                             .total_ns = 100e6 * ms };
        ok(pack_measure_is_preloaded(&rows, &small) == (ms == 8),
           "a small one whose first epoch takes %d ms of a slice of 200", 16 * ms);
    }
    row.first_cost.decode_ns = row.first_cost.cpu_ns = row.first_cost.total_ns = 800e6;
    row.steady.loads = 5;
    ok(!pack_measure_is_preloaded(&rows, &small), "not where later epochs are like the first");
    row.hit_rate = 0;
    ok(!pack_measure_is_preloaded(&rows, &large), "not one that finds nothing");
    row.hit_rate = 0.5;
    p.reading.workers_end = true;
    ok(!pack_measure_is_preloaded(&rows, &large), "nor one that ends with its worker");
}

/* A copy whose slices end within the first epoch, some earlier than others, on a machine as
 * above: loads lie close together there, and each round is compared with as many samples. */
static void
test_begun(void)
{
    static const struct {
        double load, rest;
        uint64_t begun[2];
    } cases[] = { { 3, 0.5, { 20, 20 } }, { 2, 2, { 20, 60 } }, { 2, 2, { 60, 20 } },
                  { 3, 0.5, { 0, 20 } } };
    static struct measure_rows rows;
    struct pack_error err = { 0 };
    struct pack_readset *set = NULL;
    const struct pack_measure_params how = { .file = source, .dataset = "probe" };
    struct pack_advise_params copy = of_copy();
    struct pack_advise_config config = today;
    struct measure_expected whole;
    strcpy(config.codec, "gzip:4");
    config.decode_ns = 50;
    bool done = pack_readset_open(&how.file, 1, "probe", &set, &err) == PACK_OK &&
                pack_measure_model(&copy, &config, 0, &whole, &err) == PACK_OK;
    for (size_t i = 0; done && i < sizeof cases / sizeof *cases; i++) {
        struct pack_measured m = { .now_ratio = 1 };
        struct pack_advise_outcome o, model = { .rate = 0 };
        double load = cases[i].load, rest = cases[i].rest, n = 0;
        rows = (struct measure_rows){
            .how = &how,
            .params = &params,
            .measured = &m,
            .layouts[0].set = set,
            .candidates[0] = { .row = &o, .config = config },
            .results[0] = { .has_later = true, .n_rounds = 3 },
            .n_candidates = 1
        };
        struct pack_trial_result *r = &rows.results[0];
        r->later_rate = slowed(whole.later_cost, whole.later_samples, load, rest);
        for (int k = 0; k < 2; k++) {
            struct measure_expected begun;
            r->begun_samples[k] = cases[i].begun[k];
            if (cases[i].begun[k] == 0)
                continue; /* its cache was filled beforehand */
            done = done && pack_measure_model(&copy, &config, cases[i].begun[k], &begun,
                                              &err) == PACK_OK;
            r->first[k] = slowed(begun.first_cost, begun.first_samples, load, rest);
            r->first_samples = cases[i].begun[k];
            r->first_rate += r->first[k];
            n++;
        }
        r->first_rate /= n;
        done = done && pack_advise_evaluate(&params, &config, 0, &model, &err) == PACK_OK;
        o = model;
        done = done && pack_measure_correct(&rows, 0, &m, &err) == PACK_OK;
        double want = slowed(model.first_cost, model.first_samples, load, rest);
        ok(done && fabs(o.first_rate / want - 1) < 1e-6 && o.first_rate > 1.5 * r->first_rate,
           "slices that end after %llu and %llu samples tell of all: %.6g, not %.6g %s",
           (unsigned long long)cases[i].begun[0], (unsigned long long)cases[i].begun[1],
           o.first_rate, want, err.text);
    }
    ok(done, "the model is asked %s", err.text);
    pack_readset_close(set);
}

/* -------------------------------------------------------------------- trials */

static void
test_epochs(void)
{
    struct pack_bench_epoch epochs[7];
    struct pack_bench_result run = { .epochs = epochs,
                                     .total = { .work.storage_bytes = 9 } };
    struct pack_trial_result r = { 0 };
    for (uint64_t i = 0; i < 7; i++)
        epochs[i] = (struct pack_bench_epoch){ .n_samples = 100 * (i + 1),
                                               .elapsed_ns = 1000000000 };
    run.n_epochs = 1;
    pack_trial_add(&r, &run, false);
    ok(!r.has_later && r.first[0] == 100 && r.early[0] == 100 && r.later[0] == 0 &&
           r.begun_samples[0] == 100,
       "one epoch tells nothing of later ones");
    run.n_epochs = 2;
    run.setup.epoch_samples = 200;
    pack_trial_add(&r, &run, false);
    ok(r.has_later && r.first[1] == 100 && r.later[1] == 200, "of two, each is one");
    run.n_epochs = 3;
    run.setup.epoch_samples = 300;
    pack_trial_add(&r, &run, false);
    ok(r.later[2] == 250, "of three, the last two are later ones");
    run.n_epochs = 4;
    run.setup.epoch_samples = 401;
    pack_trial_add(&r, &run, false);
    ok(r.later[3] == 250, "of four, the last was cut off");
    run.n_epochs = 7;
    run.setup.epoch_samples = 701;
    pack_trial_add(&r, &run, false);
    ok(r.later[4] == 500 && r.n_epochs == 6 && r.n_rounds == 5 && r.storage_bytes == 45,
       "of seven, the later half of six: 400 to 600");
    run.n_epochs = 2;
    run.setup.epoch_samples = 800;
    pack_trial_add(&r, &run, false);
    ok(r.has_later && r.n_later == 5 && r.first[5] == 100 && r.later[5] == 200,
       "a quarter of the second tells what later ones are like");
    run.setup.epoch_samples = 804;
    pack_trial_add(&r, &run, false);
    ok(r.n_later == 5 && r.later[6] == 0 && r.early[6] == 100, "less of it does not");
    run.warm_samples = 50;
    run.warm_ns = 800000000;
    pack_trial_add(&r, &run, false);
    ok(r.first[7] == 100 && near(r.early[7], 250),
       "the beginning of a run counts for the first epoch only");
    run.warm_samples = 51;
    pack_trial_add(&r, &run, false);
    ok(r.early[8] == 100, "unless it is most of it");
    run.n_epochs = 1;
    run.warm_samples = 50;
    pack_trial_add(&r, &run, true);
    ok(r.first[9] == 0 && near(r.later[9], 250) && r.n_later == 6,
       "where caches were filled beforehand, all of it is later");
    struct pack_trial_result filled = { 0 };
    pack_trial_add(&filled, &run, false);
    epochs[0].n_samples = 90;
    pack_trial_add(&filled, &run, true);
    epochs[0].n_samples = 100;
    ok(filled.begun_samples[0] == 100 && filled.begun_samples[1] == 0,
       "and says nothing of how far first ones came");
    struct pack_trial_result half = { .n_rounds = 3, .n_later = 1 };
    run.n_epochs = 2;
    run.setup.epoch_samples = 200;
    pack_trial_add(&half, &run, false);
    ok(half.has_later, "two rounds of four saw later epochs: that is enough");
    run.n_epochs = 1;
    pack_trial_add(&half, &run, false);
    ok(!half.has_later, "two of five is not");
}

static void
test_race(void)
{
    struct pack_trial_result r[5] = { 0 };
    bool is_out[5] = { 0 };
    const double rates[5][3] = {
        { 1, 1, 1 }, { 0, 0, 100 }, { 9, 49, 200 }, { 50, 51, 52 }, { 99, 10, 60 }
    };
    for (int i = 0; i < 5; i++) {
        r[i].n_rounds = 3;
        r[i].has_later = true;
        memcpy(r[i].later, rates[i], sizeof rates[i]);
    }
    pack_trial_race(0.5, r, 5, is_out);
    ok(is_out[2], "by the median of the rounds one has 0.49 of the best: it leaves");
    ok(!is_out[1] && !is_out[3] && !is_out[4],
       "a round that was not looked at does not count, and half the best rate is enough");
    ok(!is_out[0], "what all are compared with stays");
    pack_trial_race(0.75, r, 5, is_out);
    ok(is_out[3] && is_out[4] && is_out[2] && !is_out[1],
       "later the bar is higher, and none comes back");
    bool none[2] = { 0 };
    struct pack_trial_result two[2] = { { .n_rounds = 3, .early = { 100, 100, 100 } },
                                        { .n_rounds = 3, .early = { 40, 50, 60 } } };
    two[1].later[0] = two[1].later[1] = 10;
    pack_trial_race(0.5, two, 2, none);
    ok(!none[1] && two[1].later_rate == 50,
       "what saw no later epochs is judged by its first one alone");
}

/* -------------------------------------------------------------------- copies */

enum { LARGE = 66, LARGE_SAMPLE = 512 << 10 };

static void
fill_large(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    for (uint64_t s = 0; s < n; s++)
        memset((char *)out + s * LARGE_SAMPLE, (int)(first + s + 1), LARGE_SAMPLE);
}

/* More than is copied at once: 32 MiB are 64 samples, and one is left. */
static void
test_slabs(void)
{
    struct pack_probe_layout layout = { .extent = { 2, { LARGE, LARGE_SAMPLE } },
                                        .chunk = { 2, { 2, LARGE_SAMPLE } } };
    char path[600];
    struct pack_error err = { 0 };
    struct pack_scratch *s = NULL;
    static unsigned char got[LARGE_SAMPLE];
    snprintf(path, sizeof path, "%s.large", source);
    enum pack_status status = pack_probe_create(path, &layout, fill_large, NULL, &err);
    struct pack_scratch_params p = { .file = path,
                                     .dataset = "probe",
                                     .n_samples = 65,
                                     .chunk = { 2, { 1, LARGE_SAMPLE } } };
    if (status == PACK_OK)
        status = pack_scratch_make(&p, &s, &err);
    ok(status == PACK_OK && pack_scratch_samples(s) == 65, "65 samples of 512 KiB are copied %s",
       err.text);
    struct pack_h5_count count = { 0 };
    struct pack_h5_boxes *reader = NULL;
    struct pack_h5_boxes_params how = { .file = s ? pack_scratch_path(s) : path,
                                        .dataset = PACK_SCRATCH_DATASET,
                                        .count = &count };
    bool same = pack_h5_boxes_open(&how, &reader, &err) == PACK_OK;
    for (uint64_t i = 0; same && i < 65; i++) {
        struct pack_box box = { 2, { i, 0 }, { 1, LARGE_SAMPLE } };
        same = pack_h5_boxes_read(reader, &box, 1, got, NULL, &err) == PACK_OK &&
               got[0] == i + 1 && got[LARGE_SAMPLE - 1] == i + 1;
    }
    ok(same, "each to its place %s", err.text);
    pack_h5_boxes_close(reader);
    pack_scratch_close(s);
    unlink(path);
}

int
main(void)
{
    clock_times = 8; /* what is measured for seconds is for tenths of them */
    setup();
    test_slabs();
    test_epochs();
    test_race();
    test_now();
    test_shrinking();
    test_first_alone();
    test_warm();
    test_two_factors();
    test_begun();
    test_preloaded();
    test_model();
    test_take_now();
    test_uneven();
    test_rows();
    test_reason();
    test_weights();
    unlink(source);
    return done();
}
