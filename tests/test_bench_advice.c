/*
 * What h5readbench proposes after a run: that the advisor is asked, that what it found is
 * tried before it is named, and that it holds when it is applied. Reads are real, times
 * are made up: only what a batch in one read costs in HDF5 is measured.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/base/pool.h"
#include "libpack/bench/bench_advice_parts.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/hdf5/readset.h"
#include "tests/made_time.h"
#include "tests/tap.h"

enum { N = 256, SMALL = 64, LARGE = 256, ROWS = 16 }; /* samples, their sides, chunks */

static const struct pack_cache_params too_large = { 521, 128 << 10, 0.75, 0 },
                                      none = { 521, 0, 0.75, 0 };
/* 0.1 ms to load a chunk of ROWS small samples, 1 ms to decode it as well, 3 us a call. */
static const struct made_time usual = { .call_ns = 3000,
                                        .byte_ns = 1.6,
                                        .decode_ns = 16,
                                        .start_ns = 1e6 };

static void
fill(void *context, uint64_t first, uint64_t n, void *out)
{
    const struct pack_probe_layout *layout = context;
    uint64_t sample = layout->extent.extent[1] * layout->extent.extent[2];
    for (uint64_t i = 0; i < n * sample; i++)
        ((unsigned char *)out)[i] = (unsigned char)((first + i / sample) * 31 + (i >> 9));
}

/* A file of squares in chunks of so many, opened for reading. */
static struct pack_readset *
make(const char *name, uint64_t side, uint64_t rows, const char *codec)
{
    static char path[2][512];
    static int n_made;
    struct pack_probe_layout layout = { .extent = { 3, { N, side, side } },
                                        .chunk = { 3, { rows, side, side } } };
    struct pack_readset *set = NULL;
    struct pack_error err = { 0 };
    const char *dir = getenv("TMPDIR"), *file = path[n_made % 2];
    snprintf(path[n_made++ % 2], sizeof path[0], "%s/h5pack-test-advice-%s-%d.h5",
             dir ? dir : "/tmp", name, (int)getpid());
    pack_pipeline_parse(codec, 1, &layout.pipeline, NULL);
    ok(pack_probe_create(file, &layout, fill, &layout, &err) == PACK_OK &&
           pack_readset_open(&file, 1, "probe", &set, &err) == PACK_OK,
       "a file is made and opened %s", err.text);
    return set;
}

static void
drop(struct pack_readset *set)
{
    if (set)
        unlink(set->parts[0].data->file);
    pack_readset_close(set);
}

static struct pack_bench_params
reading(const struct pack_readset *set, const struct pack_cache_params *cache)
{
    return (struct pack_bench_params){
        .set = set,
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 16, .seed = 3 },
        .stop.epochs = 3,
        .open.set_cache = true,
        .open.cache = *cache,
    };
}

/* The proposal whose command has this text, or NULL. */
static const struct pack_bench_change *
find(const struct pack_bench_advice *advice, const char *command)
{
    for (size_t i = 0; i < advice->n; i++)
        if (strstr(advice->change[i].command, command))
            return &advice->change[i];
    return NULL;
}

static void
tell(const struct pack_bench_advice *advice)
{
    for (size_t i = 0; i < advice->n; i++)
        note("%.2f %s: %s | %s", advice->change[i].gain,
             advice->change[i].is_measured ? "measured" : "predicted",
             advice->change[i].what, advice->change[i].command);
}

/* Whole chunks are loaded for single samples: that is the cliff, and another cache cures it. */
static void
test_cliff(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &too_large);
    struct pack_bench_result r, after;
    struct pack_bench_advice advice;
    struct pack_bench_ask ask = { .no_trial = true };
    if (!ok(pack_bench_run(&p, &r, NULL) == PACK_OK, "a run over the cliff"))
        return;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK, "the advisor is asked");
    const struct pack_bench_change *c = find(&advice, "{rdcc_nbytes} ");
    tell(&advice);
    ok(c && !c->is_measured && c->gain > 1.5 && strcmp(c->kind, "settings") == 0,
       "without a trial the cure is predicted");
    ok(advice.epochs == 30 && c && c->later_gain > c->first_gain && c->gain > c->first_gain &&
           c->gain < c->later_gain,
       "for a training, whose first epoch fills the cache, though three were read");
    ok(!find(&advice, "h5rechunk") && !find(&advice, "{pattern}"),
       "and nobody is told to rewrite or reorder for what settings bring");
    ask.no_trial = false;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK, "asked again");
    c = find(&advice, "{rdcc_nbytes} ");
    tell(&advice);
    if (!ok(c && c->is_measured && c->gain > 5, "with a trial it is measured")) {
        pack_bench_done(&r);
        return;
    }
    p.open.cache.size_bytes = strtoull(strstr(c->command, "nbytes} ") + 8, NULL, 10);
    p.stop.epochs = 30;
    bool done = pack_bench_run(&p, &after, NULL) == PACK_OK;
    double gain = done ? pack_bench_rate(&after) / pack_bench_rate(&r) : 0;
    ok(gain > 0.75 * c->gain && gain < 1.25 * c->gain,
       "and applied, it holds: %.3g times as many samples/s", gain);
    pack_bench_done(&after);
    pack_bench_done(&r);
}

/* By a processor for which each load takes a millisecond larger chunks are worth anything;
 * what the advisor then believes to gain does not, and is not named. */
static void
test_refuted(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &none);
    struct pack_bench_result r;
    struct pack_bench_advice advice;
    struct pack_profile slow;
    struct pack_bench_ask ask = { .processor = &slow, .no_trial = true };
    pack_profile_named("nvme", &slow, NULL);
    slow.miss_ns = slow.piece_ns = 1e6;
    p.stop.epochs = 1;
    p.workers.n = 2;
    p.workers.fresh = true; /* no cache outlives an epoch */
    if (!ok(pack_bench_run(&p, &r, NULL) == PACK_OK, "one image per chunk, read past the cache"))
        return;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK, "the advisor is asked");
    const struct pack_bench_change *c = find(&advice, "h5rechunk");
    double predicted = c ? c->gain : 0;
    ok(predicted > 1.2, "larger chunks are what a wrong model suggests");
    tell(&advice);
    ask.no_trial = false;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK, "asked again");
    c = find(&advice, "h5rechunk");
    ok(!c, "but a trial in which they lose drops them");
    tell(&advice);
    pack_bench_done(&r);
}

/* What Python takes does not become faster with another cache. */
static void
test_python(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &too_large);
    struct pack_bench_result r;
    struct pack_bench_advice advice;
    struct pack_bench_ask ask = { .no_trial = false };
    p.hand_over.torch = true;
    p.hand_over.batch_ns = 100 * 1000 * 1000; /* far more than reading takes */
    p.stop.batches = 3;
    if (!ok(pack_bench_run(&p, &r, NULL) == PACK_OK, "a run as PyTorch hands over"))
        return;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK &&
           !find(&advice, "{rdcc_nbytes} "),
       "where Python takes the time a cache gains nothing");
    tell(&advice);
    pack_bench_done(&r);
}

static void
test_rewrite(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &too_large);
    struct pack_bench_result r;
    struct pack_bench_advice advice;
    struct pack_bench_ask ask = { .no_trial = true };
    p.stop.epochs = 1;
    p.stop.batches = 8;
    p.open.cache.size_bytes = 4 << 10;
    p.workers.n = 1;
    p.workers.fresh = true; /* no cache outlives an epoch */
    if (!ok(pack_bench_run(&p, &r, NULL) == PACK_OK, "a run on compressed chunks"))
        return;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK &&
           find(&advice, "h5rechunk") && find(&advice, "h5rechunk")->gain > 2,
       "16 images are unpacked for one: another layout is predicted to gain");
    tell(&advice);
    ask.no_trial = false;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK, "tried in copies");
    const struct pack_bench_change *c = find(&advice, "h5rechunk");
    tell(&advice);
    ok(c && c->is_measured && c->gain > 5, "it does gain");
    made_time.decode_ns = made_time.byte_ns = 0;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK && !find(&advice, "h5rechunk"),
       "and is not proposed where, tried, it does not");
    tell(&advice);
    made_time = usual;
    pack_bench_done(&r);
}

/* What gains in most rounds and loses in one is not surely a gain. */
static void
test_unsteady(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &none);
    struct pack_bench_result r;
    struct pack_bench_advice advice;
    struct pack_bench_ask ask = { .no_trial = false };
    p.workers.n = 1;
    if (pack_pool_default_threads() < 2) {
        skip("one processor: no further worker is tried");
        return;
    }
    if (!ok(pack_bench_run(&p, &r, NULL) == PACK_OK, "a run of one worker"))
        return;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK, "more are tried");
    const struct pack_bench_change *c = find(&advice, "{workers}");
    tell(&advice);
    ok(c && c->is_measured && c->gain > 1.15 && c->gain_low > 1, "and proposed, as they gain");
    made_time.unsteady = 10;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK && !find(&advice, "{workers}"),
       "but not where they were slower once");
    tell(&advice);
    made_time = usual;
    pack_bench_done(&r);
}

static bool
is_found(const struct pack_bench_advice *advice, const char *id)
{
    for (size_t i = 0; i < advice->n_findings; i++)
        if (strcmp(advice->findings[i].id, id) == 0)
            return true;
    return false;
}

/* One read of 16 images apart from each other, and of one at a time; by the clock, as
 * often as it takes to see so much: a hundred times is usual. */
static void
test_batches(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &none), one = p;
    struct pack_bench_result joined = { 0 }, apart = { 0 };
    struct pack_bench_advice advice;
    struct pack_bench_ask ask = { .no_trial = true };
    bool done = true, slow = false;
    p.stop.epochs = one.stop.epochs = 1;
    p.pattern.read = PACK_READ_BATCH;
    made_time = (struct made_time){ 0 };
    for (int i = 0; done && !slow && i < 8; i++) {
        pack_bench_done(&joined);
        pack_bench_done(&apart);
        done = pack_bench_run(&p, &joined, NULL) == PACK_OK &&
               pack_bench_run(&one, &apart, NULL) == PACK_OK;
        slow = done && pack_bench_rate(&apart) > 5 * pack_bench_rate(&joined);
    }
    made_time = usual;
    if (!ok(done, "a run of scattered batches in one read each, and sample by sample"))
        return;
    ok(slow, "HDF5 looks at each element of the batch by itself");
    ok(pack_bench_advise(&p, &joined, &ask, &advice, NULL) == PACK_OK &&
           is_found(&advice, "scattered-batch"),
       "which is told");
    ok(pack_bench_advise(&one, &apart, &ask, &advice, NULL) == PACK_OK &&
           advice.n_findings == 0,
       "and nothing is where samples are read one by one");
    pack_bench_done(&apart);
    one.open.reopen = true;
    one.stop.batches = 4;
    ok(pack_bench_run(&one, &apart, NULL) == PACK_OK &&
           pack_bench_advise(&one, &apart, &ask, &advice, NULL) == PACK_OK &&
           is_found(&advice, "reopening"),
       "opening it for each of them is told to those who do");
    pack_bench_done(&joined);
    pack_bench_done(&apart);
}

/* The least part of the file that was in the page cache whenever somebody looked. */
struct looked {
    const struct pack_readset *set;
    double least;
};

static bool
look(void *context)
{
    struct looked *looked = context;
    uint64_t size;
    double rate = pack_readset_resident_rate(looked->set, &size);
    if (rate >= 0 && rate < looked->least)
        looked->least = rate;
    return false;
}

/* A run leaves the pages that it was to find on the disk; what would be gained in the next
 * one is measured without them. */
static void
test_cold(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &none);
    struct pack_bench_result r;
    struct pack_bench_advice advice;
    struct looked looked = { .set = set, .least = 1 };
    struct pack_bench_ask ask = { .watch = { .context = &looked, .stop = look } };
    p.cold = true;
    p.stop.epochs = 1;
    bool done = pack_bench_run(&p, &r, NULL) == PACK_OK;
    if (done && r.epochs[0].pages.resident_bytes > 0) {
        skip("pages of this file system do not go away");
        pack_bench_done(&r);
        return;
    }
    look(&looked);
    ok(done && looked.least == 1, "a cold run leaves its pages there");
    done = done && pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK;
    ok(done && looked.least < 0.5,
       "they are dropped before its proposals are measured: %.0f %% were there",
       looked.least * 100);
    looked.least = 1;
    p.cold = false;
    look(&looked);
    double before = looked.least;
    done = done && pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK;
    /* a few pages the system takes away by itself, or does not tell of while they are read */
    ok(done && before > 0 && looked.least > before * 0.9,
       "and nobody drops those of another: %.1f %% of %.1f %% stayed", looked.least * 100,
       before * 100);
    pack_bench_done(&r);
}

static double
price_of(const struct pack_advise_warning *warnings, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(warnings[i].id, id) == 0)
            return warnings[i].price_s;
    return 0;
}

/* Seconds that the model speaks of are longer where the run was slower than it. */
static void
test_prices(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &none);
    struct pack_bench_result r;
    struct pack_bench_advice advice;
    struct pack_bench_ask ask = { .no_trial = true };
    struct bench_question question;
    static struct pack_advise_result model;
    bool can = false;
    p.open.reopen = true;
    p.stop.batches = 4;
    if (!ok(pack_bench_run(&p, &r, NULL) == PACK_OK, "a run that opens it for each read"))
        return;
    bool done = pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK &&
                pack_bench_question_make(&p, &r, &ask, &question, &can, NULL) ==
                    PACK_OK &&
                can && pack_advise(&question.params, &model, NULL) == PACK_OK;
    if (ok(done, "its advice, and what the model says alone")) {
        double told = price_of(advice.findings, advice.n_findings, "reopening"),
               price = price_of(model.warnings, model.n_warnings, "reopening"),
               slower = 1 / question.later_factor;
        ok(price > 0 && fabs(told / (price * slower) - 1) < 1e-6 &&
               fabs(slower - 1) > 1e-3,
           "%.3g s of the model are told as %.3g s of a run that takes %.3g times as long",
           price, told, slower);
    }
    pack_bench_question_done(&question);
    pack_bench_done(&r);
}

static void
test_best(struct pack_readset *set)
{
    struct pack_bench_params p = reading(set, &none);
    struct pack_bench_result r;
    struct pack_bench_advice advice;
    struct pack_bench_ask ask = { .no_trial = true };
    p.stop.epochs = 1;
    p.workers.n = 2;
    p.workers.fresh = true; /* no cache outlives an epoch */
    if (!ok(pack_bench_run(&p, &r, NULL) == PACK_OK, "one image per chunk, no cache"))
        return;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK &&
           !find(&advice, "{rdcc_") && !find(&advice, "h5rechunk") &&
           !find(&advice, "{pattern}"),
       "where today's is best nothing else is proposed");
    tell(&advice);
    r.verdict.limit = PACK_LIMIT_CONSUMER;
    ok(pack_bench_advise(&p, &r, &ask, &advice, NULL) == PACK_OK && advice.n == 0,
       "and nothing at all where the consumer is the limit");
    pack_bench_done(&r);
}

/* Constructed rounds: the first epoch twice, later ones four times as fast. */
static void
test_trial_gain(void)
{
    const struct pack_trial_result
        a = { .n_rounds = 3, .first = { 10, 20, 30 }, .later = { 100, 50, 200 } },
        b = { .n_rounds = 3, .first = { 20, 40, 60 }, .later = { 400, 200, 800 } };
    struct bench_gain gain;
    pack_bench_trial_gain(&a, &b, 10, &gain);
    ok(gain.first == 2 && gain.later == 4, "first epochs are compared with first ones");
    /* of the rounds' 2.62, 3.29 and 2.81 the last one's */
    double whole = (1 / 30.0 + 9 / 200.0) / (1 / 60.0 + 9 / 800.0);
    ok(fabs(gain.whole - whole) < 1e-9 && gain.low <= whole && gain.high >= whole &&
           gain.low > 2 && gain.high < 4,
       "a training of ten is one first and nine later ones: %.4g, from %.4g to %.4g",
       gain.whole, gain.low, gain.high);
    pack_bench_trial_gain(&b, &a, 1, &gain);
    ok(fabs(gain.whole - 0.5) < 1e-9, "one of one is the first epoch");
}

/* Constructed measurements: 10 GB/s of copying, samples of 1000 bytes. */
static void
test_doubt(void)
{
    static const struct bench_gain model = { 1.1, 1.3, 1.2, 0, 0 };
    const struct pack_bench_change steady = { .gain = 2,
                                              .first_gain = 3,
                                              .later_gain = 4,
                                              .is_measured = true,
                                              .gain_low = 1,
                                              .gain_high = 3 };
    struct pack_bench_change c = steady;
    struct pack_profile profile = { .n_cpus = 4,
                                    .copy = { 2, { 1e3, 1e6 }, { 0.1, 0.5 } } };
    double one = pack_bench_most(&profile, 1, 1000);
    ok(one >= 1e7 && one <= 2.5e7 && pack_bench_most(&profile, 3, 1000) == 3 * one &&
           pack_bench_most(&profile, 30, 1000) == 4 * one &&
           pack_bench_most(&profile, 1, 2000) == one / 2,
       "what memory can copy is a bound, for each reader that has a processor");
    ok(pack_bench_most(&profile, 1, 0) == 0 &&
           pack_bench_most(&(struct pack_profile){ .n_cpus = 1 }, 1, 10) == 0,
       "where nothing is known there is none");
    ok(!pack_bench_doubt(&c, one, one, &model) && !c.remark[0] && c.is_measured &&
           !pack_bench_doubt(&c, 1e99, 0, &model),
       "a rate at the bound and an interval of a factor of 3 are believed");
    c.gain_high = 3.01;
    ok(pack_bench_doubt(&c, one, one, &model) && c.is_measured && c.gain == 2 &&
           strstr(c.remark, "differ widely"),
       "a wider interval is remarked on, and the gain stays measured");
    c = steady;
    ok(pack_bench_doubt(&c, 1.01 * one, one, &model) && !c.is_measured && c.gain == 1.2 &&
           c.first_gain == 1.1 && c.later_gain == 1.3 && c.gain_low == 0 &&
           strstr(c.remark, "2x measured is not credible"),
       "a rate beyond it is not: the prediction stands in its place");
    c = steady;
    c.is_measured = false;
    ok(!pack_bench_doubt(&c, 1e99, one, &model) && c.gain == 2,
       "predictions are left as they are");
}

/* 8 workers with 2 batches of 2048 samples of 150528 bytes each. */
static void
test_room(void)
{
    struct pack_bench_params p = { .pattern.batch = 2048 };
    struct pack_bench_result r = {
        .setup = { .sample_bytes = 150528, .prefetch = 2, .batch = 2048 }
    };
    const uint64_t need = UINT64_C(150528) * 2048 * 8 * 2;
    ok(pack_bench_fits(&p, &r, 8, 2048, 2 * need) &&
           !pack_bench_fits(&p, &r, 8, 2048, 2 * need - 2) &&
           !pack_bench_fits(&p, &r, 8, 4 * 2048, 8 * need - 2),
       "batches under way may take half of the memory");
    ok(pack_bench_fits(&p, &r, 0, 2048, need / 8) &&
           !pack_bench_fits(&p, &r, 0, 2048, need / 8 - 2),
       "in line there is one");
    r.setup.prefetch = 0;
    ok(pack_bench_fits(&p, &r, 8, 2048, 2 * need) &&
           !pack_bench_fits(&p, &r, 8, 2048, 2 * need - 2),
       "of two without a number");
    struct pack_readset with = { .sample_bytes = 150528 };
    p.with = &with;
    ok(pack_bench_fits(&p, &r, 8, 2048, 4 * need) &&
           !pack_bench_fits(&p, &r, 8, 2048, 4 * need - 2),
       "what is read beside them counts");
    ok(!pack_bench_fits(&p, &r, 8, UINT64_MAX / 4, UINT64_MAX), "and overflows fit nowhere");
}

int
main(void)
{
    test_doubt();
    test_trial_gain();
    test_room();
    struct pack_readset *plain = make("plain", SMALL, ROWS, "none"),
                        *packed = make("packed", SMALL, ROWS, "gzip:1");
    made_time = usual;
    if (plain && packed) {
        test_cliff(plain);
        test_python(plain);
        test_unsteady(plain);
        test_rewrite(packed);
    }
    drop(plain);
    drop(packed);
    struct pack_readset *single = make("single", LARGE, 1, "none");
    if (single) {
        test_refuted(single);
        test_best(single);
        test_batches(single);
        test_cold(single);
        test_prices(single);
    }
    drop(single);
    return done();
}
