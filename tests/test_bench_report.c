/*
 * What reports of h5readbench print, against results made up here: every number has a
 * value of its own, so that one in the wrong place, of the wrong unit or off by one shows.
 */
#include <math.h>

#include "libpack/base/rng.h"
#include "libpack/bench/report_bench.h"
#include "tests/made_up.h"

static struct pack_bench_epoch epochs[2];
static struct pack_procs_usage usage[2] = { { 400000000, 100000000 },
                                            { 600000000, 300000000 } };
static struct pack_bench_event events[] = {
    { PACK_EVENT_STEP, 0, 0, 500, 0, 0, 0, 0, 0, 0 },
    { PACK_EVENT_STEP, 0, 750, 1000, 1, 0, 0, 0, 0, 0 },
    { PACK_EVENT_READ, 1, 100125, 200500, 7, 3, 60125, 20125, 30125, 10125 },
    { PACK_EVENT_HAND_OVER, 1, 200375, 260125, 7, 0, 0, 0, 0, 0 },
};

static struct pack_bench_params params;
static struct pack_bench_result result;
static struct pack_bench_advice advice = {
    33, 2, { { "transfer", "sending less", "{less} 1", 1.25, 1.04, 1.27, true, 1.13, 1.38,
               "made in a storm" },
             { "workers", "more of them", "{more} 2", 1.125, 1.16, 1.12, false, 0, 0, "" } },
    1, { { "made-up", 399, "cost", 2.5, 4096, 0.75, "something costs; do without", "do without" } }
};
static const struct pack_bench_preset preset = { "made-up", 10, 5000000, 0.6 };

static void
fill(void)
{
    for (int i = 0; i < 2; i++) {
        struct pack_bench_epoch *e = &epochs[i];
        uint64_t base = 1000 * (uint64_t)(i + 1);
        *e = (struct pack_bench_epoch){
            .elapsed_ns = 1000000000,
            .n_batches = 50,
            .n_samples = base / 2,
            .wait_ns = base + 1,
            .work.total_ns = 1000000000,
            .work.idle_ns = 600000000,
            .work.assemble_ns = base + 2,
            .work.delay_ns = 40000000,
            .work.collate_ns = 60000000,
            .work.interpret_ns = 80000000,
            .start_ns = 10000000,
            .pages.drop_ns = 250000000,
            .pages.cold = PACK_COLD_CHECKED,
            .pages.resident_bytes = 100000,
            .work.knows_storage = true,
            .work.storage_bytes = 12000000,
            .expected.is_known = true,
        };
        number((uint64_t *)&e->work.read, sizeof e->work.read / 8, 100000 * base);
        number((uint64_t *)&e->work.with, sizeof e->work.with / 8, 10 * base);
        number(&e->expected.set.requests, sizeof e->expected.set / 8, 400 + base);
        number(&e->expected.with.requests, sizeof e->expected.set / 8, 700 + base);
        e->expected.set.hits = (400 + base) / 4;
        e->work.read.storage_ns = 300000000;
        e->work.read.metadata_ns = 20000000;
        e->work.read.decode_ns = 110000000;
        e->work.read.overhead_ns = 130000000;
        e->work.read.reopen_ns = 70000000;
        e->work.read.call_ns = 630000000;
        e->work.read.requests = 400 + base;
        e->work.read.file_read_bytes = 25000000;
        e->work.read.wanted_bytes = 10000000;
        e->work.read.skipped = 0;
        memset(&e->work.with, 0, sizeof e->work.with);
        e->work.with.call_ns = e->work.with.storage_ns = 50000000;
        e->work.with.file_read_bytes = 5000000;
    }
    result = (struct pack_bench_result){
        .setup.engine = "hdf5",
        .setup.consumer = "emulated",
        .setup.seed = 77,
        .setup.n_workers = 2,
        .setup.prefetch = 3,
        .setup.batch = 15,
        .setup.echo = 2,
        .setup.sample_bytes = 2000,
        .setup.epoch_samples = 750,
        .setup.hdf5_version = "1.2.3",
        .setup.has_cache = true,
        .setup.cache = { 521, 1 << 20, 0.75, 0 },
        .n_epochs = 2,
        .epochs = epochs,
        .elapsed_ns = 2000000000,
        .open_ns = 44,
        .steps = { .n_steps = 201,
                   .n_samples = 3000,
                   .total_ns = 2000000000,
                   .compute_ns = 1000000000,
                   .busy_ns = 1100000000,
                   .starved_ns = 900000000,
                   .copy_wait_ns = 300000000,
                   .pin_ns = 61,
                   .copy_ns = 62,
                   .copy_bytes = 63,
                   .normalise_ns = 64,
                   .busy_rate = 0.55,
                   .au = 0.5 },
        .device = { "Made GPU", "CUDA 99", UINT64_C(8) << 30, UINT64_C(1) << 30, 20e9,
                    5e9, 30e9, 120e9, 9, 0.42, 3e9 },
        .cpu.workers = usage,
        .cpu.has_machine = true,
        .cpu.machine = { 1000, 500, 200, 300 },
        .verdict.limit = PACK_LIMIT_DECODE,
        .verdict.cause = "something is wrong",
        .events.n = sizeof events / sizeof *events,
        .events.event = events,
    };
    for (uint64_t i = 1; i <= 100; i++)
        pack_histogram_add(&result.latency, i * 16000);
    result.mismatch.n_compared = 8;
    struct pack_bench_epoch *t = &result.total;
    *t = epochs[0];
    const uint64_t *a = (const uint64_t *)&epochs[0].work.read,
                   *b = (uint64_t *)&epochs[1].work.read;
    t->n_batches = 100;
    t->n_samples = 1500;
    t->work.total_ns = 2000000000;
    t->work.idle_ns = 1200000000;
    t->work.delay_ns = 80000000;
    t->work.collate_ns = 120000000;
    t->work.interpret_ns = 160000000;
    t->start_ns = 20000000;
    t->pages.drop_ns = 500000000;
    t->pages.resident_bytes = 200000;
    t->work.storage_bytes = 24000000;
    for (size_t i = 0; i < sizeof t->work.read / 8; i++)
        ((uint64_t *)&t->work.read)[i] = a[i] + b[i];
    t->work.with.call_ns = t->work.with.storage_ns = 100000000;
    t->work.with.file_read_bytes = 10000000;
    t->expected.set.bypass_visits = 31;
    t->expected.set.file_reads = 50;
    t->expected.set.loads = 9;
    t->expected.set.fills = 32;
    t->expected.set.evictions_collision = 33;
    params = (struct pack_bench_params){ .cold = true,
                                         .hand_over.torch = true,
                                         .hand_over.sample_ns = 8000,
                                         .hand_over.batch_ns = 300000,
                                         .consumer.params.step_ns = 5000000 };
}

static const struct pack_option_word words[] = { { "less", "--less" },
                                                 { "more", "--more" },
                                                 { "echo", "--echo" },
                                                 { NULL, NULL } };

static struct pack_bench_report
report(void)
{
    return (struct pack_bench_report){ .params = &params,
                                       .result = &result,
                                       .advice = &advice,
                                       .preset = &preset,
                                       .options = words,
                                       .min_busy = -1 };
}

/* --------------------------------------------------------------------- text */

static void
test_text(void)
{
    static const char *const lines[] = {
        "consumer busy 55.0 %, limited by decode\n  something is wrong\n",
        "750.0 samples/s, 1.5 MB/s: 100 batches of 15 in 2.00 s, 2 epochs, seed 77\n",
        "100.50 steps/s, each batch used 2 times\n",
        "AU 50.0 % of computing time, made-up asks for 60 %: fail\n",
        "where the workers' time went            per batch     share\n",
        "  storage: reading chunks                 7.000 ms   21.9 %\n",
        "  storage: reading indexes                0.400 ms    1.2 %\n",
        "  opening the dataset each time           1.400 ms    4.4 %\n",
        "  decode                                  2.200 ms    6.9 %\n",
        "  HDF5 calls and copies                   2.600 ms    8.1 %\n",
        "  CPU assembly                            2.800 ms    8.8 %\n",
        "  copying into new shared memory          1.200 ms    3.8 %\n",
        "  the interpreter, as stated below        1.600 ms    5.0 %\n",
        "  the delay asked for                     0.800 ms    2.5 %\n",
        "  waiting for a free buffer              12.000 ms   37.5 %\n",
        "Python is 8.0 us a sample and 300.0 us a batch",
        "  0.02 s went into starting and ending workers",
        "emulated: 201 steps, 5.500 ms busy and 4.500 ms starved in each,\n",
        "  1.500 ms of that waiting for the copy to the device\n",
        "Made GPU, CUDA 99; 1.0 GiB of 8.0 GiB used\n",
        "  copies          5.00 GB/s, 25 % of the 20.00 GB/s that pinned memory gives\n",
        "  normalise      30.00 GB/s, 25 % of the memory's 120 GB/s\n",
        "  NVML        GPU-Util 42 %, PCIe received 3.00 GB/s (9 samples)\n",
        "chunk cache of each worker: 521 slots, 1.0 MiB, w0 0.75 (HDF5 1.2.3)\n",
        "      1       500.0       1400    25.0 %       1402        25.0      2.50\n",
        "      2      1000.0       2400    25.0 %       2402        25.0      2.50\n",
        "  31 requests went past the cache, in 41 reads",
        "  32 requests for chunks without storage",
        "  33 evictions because two chunks had one slot\n",
        "  reads and bytes equal the simulator's in all 8 comparisons\n",
        "  24.0 MB from storage (readahead included), 36.0 MB from the page cache\n",
        "  cold: 0.2 MB were still in the page cache when epochs began\n",
        "  dropping pages took 0.50 s",
        "processors: each worker 25 % user, 10 % system; the machine 75 % busy, 10 % iowait\n",
        "\nmind\n  something costs; do without\n",
        "worth most in a training of 33 epochs\n   1.25x measured   sending less\n"
        "                    (1.13x to 1.38x in 95 of 100 cases)\n"
        "                    (made in a storm)\n"
        "                    (the first epoch 1.04x, later ones 1.27x)\n"
        "                    --less 1\n",
        "   1.12x predicted  more of them\n                    --more 2\n",
    };
    struct pack_buf text = { 0 };
    struct pack_bench_report r = report();
    int wrong = pack_report_bench_text(&r, &text, NULL) != PACK_OK;
    pack_buf_append(&text, "", 1, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr((char *)text.data, lines[i])) {
            wrong++;
            note("missing: %.70s", lines[i]);
        }
    is_number(wrong, 0, "every number of the text is the one that was made up");

    text.size = 0;
    result.total.pages.resident_bytes = 60000000 / 20 + 1;
    result.steps.au = 0.6;
    result.mismatch.n = 3;
    result.total.work.read.skipped = 5;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    ok(strstr((char *)text.data, "; this was NOT cold") &&
           strstr((char *)text.data, "60 %: pass\n") &&
           strstr((char *)text.data, "3 of 8 counts differ") &&
           strstr((char *)text.data, "\n5 images could not be decoded"),
       "more than a twentieth that stayed is not cold; a threshold that is met passes");
    text.size = 0;
    result.total.pages.resident_bytes = 60000000 / 20;
    result.total.pages.cold = PACK_COLD_ASSUMED;
    r.options = NULL;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    ok(strstr((char *)text.data, "                    less 1\n"),
       "without words for options, parameters go by their names");
    ok(strstr((char *)text.data, "cold is assumed") && !strstr((char *)text.data, "NOT cold"),
       "cold that nobody checked is called assumed");
    text.size = 0;
    result.total.pages.cold = PACK_COLD_PARTLY;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    ok(strstr((char *)text.data, "external files (H5Pset_external) was NOT made cold"),
       "and what was never dropped is not");
    fill();
    text.size = 0;
    r = report();
    advice.epochs = result.total.n_batches = result.n_epochs = result.setup.cache.n_slots = 1;
    result.total.work.read.skipped = result.mismatch.n_compared = result.mismatch.n = 1;
    result.device.n_samples = 1;
    struct pack_cache_counts *counts = &result.total.expected.set;
    counts->bypass_visits = counts->fills = counts->evictions_collision = 1;
    counts->file_reads = counts->loads + 1;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    const char *s = (const char *)text.data;
    ok(strstr(s, " 1 batch of ") && strstr(s, " 1 epoch, seed") && strstr(s, ": 1 slot, ") &&
           strstr(s, "\n1 image could not be decoded and was left out") &&
           strstr(s, "1 of 1 count differs from") && !plural_of_one(s),
       "one of anything stands in the singular%s%.20s", plural_of_one(s) ? ", but " : "",
       plural_of_one(s) ? plural_of_one(s) : "");
    text.size = 0;
    result.setup.has_cache = false;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    ok(strstr((char *)text.data, "\na chunk cache for each source of the virtual dataset\n"),
       "what answers requests without a cache of its own is virtual");
    text.size = 0;
    counts->requests = 0;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    ok(strstr((char *)text.data, "\nno chunk cache at work\n"), "else no cache is at work");
    advice.epochs = 33;
    pack_buf_done(&text);
    fill();
}

/* Of many epochs, the first and the last five; of file reads, where most of them lie. */
static void
test_many(void)
{
    struct pack_bench_epoch many[12];
    struct pack_buf text = { 0 };
    struct pack_bench_report r = report();
    char reads[160];
    for (int i = 0; i < 12; i++)
        many[i] = epochs[0];
    result.epochs = many;
    result.n_epochs = 12;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    const char *s = (const char *)text.data;
    ok(strstr(s, "\n      5  ") && strstr(s, "\n    ...\n      8  ") && strstr(s, "\n     12  ") &&
           !strstr(s, "\n      6  ") && !strstr(s, "\n      7  "),
       "of twelve epochs two are left out");
    snprintf(reads, sizeof reads,
             "file reads: half within %.1f us, 90 %% %.2f ms, 99 %% %.2f ms, longest 1.60 ms\n",
             (double)pack_histogram_at(&result.latency, 0.5) / 1e3,
             (double)pack_histogram_at(&result.latency, 0.9) / 1e6,
             (double)pack_histogram_at(&result.latency, 0.99) / 1e6);
    ok(strstr(s, reads), "file reads are told by halves, nine tenths and 99 of 100: %s", reads);
    result.n_epochs = 10;
    text.size = 0;
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    ok(!strstr((char *)text.data, "...") && strstr((char *)text.data, "\n      6  "),
       "of ten none");
    pack_buf_done(&text);
    fill();
}

/* The report has a line or has it not. */
static void
says(const char *line, bool wanted, const char *sentence)
{
    struct pack_buf text = { 0 };
    struct pack_bench_report r = report();
    pack_report_bench_text(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    if (!ok(!strstr((char *)text.data, line) == !wanted, "%s", sentence))
        note("%s: %s", wanted ? "missing" : "not wanted", line);
    pack_buf_done(&text);
}

/* 40 ms more in each part of reading the second dataset. */
static void
test_second(void)
{
    struct pack_read_cost *with = &result.total.work.with;
    with->metadata_ns = with->reopen_ns = with->decode_ns = with->overhead_ns = 40000000;
    with->call_ns += 160000000;
    says("  storage: reading chunks                 7.000 ms   21.9 %\n"
         "  storage: reading indexes                0.800 ms    2.5 %\n"
         "  opening the dataset each time           1.800 ms    5.6 %\n"
         "  decode                                  2.600 ms    8.1 %\n"
         "  HDF5 calls and copies                   3.000 ms    9.4 %\n"
         "  CPU assembly                            1.200 ms    3.8 %\n",
         true, "what the second dataset takes is told with the first one's");
    with->call_ns += 200000000;
    says("  CPU assembly                            0.000 ms    0.0 %\n", true,
         "clocks that disagree leave nothing for assembly, not less");
    fill();
}

/* Each of 99.5 fresh batches is used twice in 1.1 s of work and 2 s of time: four uses are
 * the first that keep the consumer busy for nine tenths. */
static void
test_hints(void)
{
    const char *hint = "--echo 4 would keep the consumer busy for 90 %\n";
    says(hint, true, "who waits is told how often to use each batch");
    result.steps.busy_rate = 0.9;
    says(hint, false, "not where the consumer is busy enough");
    result.steps.busy_rate = 0.899;
    says(hint, true, "but up to there");
    result.setup.echo = 4;
    result.steps.busy_ns *= 2;
    says("would keep", false, "nor where batches are used that often already");
    fill();
    result.steps.au = -1;
    says("would keep", false, "nor where the consumer's computing is not known");
    says("\nAU ", false, "which has no utilisation then");
    fill();
    struct pack_bench_change *c = &advice.change[0];
    const struct pack_bench_change usual = *c;
    const char *uneven = "(the first epoch ";
    advice.n = 1;
    c->later_gain = 2;
    c->first_gain = 1.9;
    says(uneven, false, "epochs that gain alike within 5 % are not told apart");
    c->first_gain = 2.1;
    says(uneven, false, "on either side");
    c->first_gain = 1.89;
    says("(the first epoch 1.89x, later ones 2.00x)", true, "a first one that gains less is");
    c->first_gain = 2.11;
    says("(the first epoch 2.11x, later ones 2.00x)", true, "and one that gains more");
    *c = usual;
    advice.n = 2;
}

/* The longest file reads, of each magnitude; a consumer that only counts; few steps. */
static void
test_words(void)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } spans[] = { { 999000, "longest 999.0 us\n" },
                  { 1000000, "longest 1.00 ms\n" },
                  { 999990000, "longest 999.99 ms\n" },
                  { 1000000000, "longest 1.00 s\n" },
                  { 2340000000, "longest 2.34 s\n" } };
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        memset(&result.latency, 0, sizeof result.latency);
        pack_histogram_add(&result.latency, spans[i].ns);
        says(spans[i].text, true, "times have the unit that suits them");
    }
    fill();
    result.steps.n_steps = 1;
    says("too few steps to say how busy the consumer was, limited by decode\n", true,
         "one step says nothing about the consumer");
    says("emulated: ", false, "and is not told in parts");
    result.setup.consumer = "null";
    says("750.0 samples/s from the reader alone, limited by decode\n", true,
         "without a consumer the rate is the reader's");
    result.setup.n_workers = 0;
    says("\nwhere the time went    ", true, "in line it is all one process");
    says("  outside, in the consumer               12.000 ms   37.5 %\n", true,
         "whose other time went to the consumer");
    says("\nprocessors: this process 20 % user, 5 % system", true, "alone on its processor");
    fill();
    result.setup.engine = "images";
    says("  other work                              2.600 ms", true,
         "what decoders take beside decoding is no call of HDF5");
    result.interrupted = true;
    says("\n  (stopped before the end; this is what was measured so far)\n", true,
         "a run that was stopped says so");
    fill();
    result.device.memory_bytes_per_s = 0;
    says("  normalise      30.00 GB/s\n", true, "a memory that nobody knows is no measure");
    result.device.pinned_bytes_per_s = 0;
    says("5.00 GB/s, 0 % of the 0.00 GB/s", true, "nor is a bus");
    fill();
}

/* --------------------------------------------------------------------- JSON */

/* What is not known is null, not 0. */
static void
test_unknown(void)
{
    static const char *const keys[] = { "measured.total.storage_bytes",
                                        "measured.total.resident_bytes",
                                        "measured.machine" };
    struct pack_buf text = { 0 };
    struct pack_bench_report r = report();
    for (int known = 0; known < 2; known++) {
        struct pack_json_doc *doc = NULL;
        const struct pack_json_value *root = NULL;
        result.total.work.knows_storage = result.cpu.has_machine = known;
        result.total.pages.cold = known ? PACK_COLD_CHECKED : PACK_COLD_ASSUMED;
        text.size = 0;
        pack_report_bench_json(&r, &text, NULL);
        (void)pack_json_parse((char *)text.data, text.size, &doc, &root, NULL);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            const struct pack_json_value *v = at(root, keys[i]);
            ok(v && (v->kind == PACK_JSON_NULL) == !known, "%s is %s", keys[i],
               known ? "told where it is known" : "null where it is not");
        }
        pack_json_free(doc);
    }
    pack_buf_done(&text);
    fill();
}

/* A threshold that is just met is passed. */
static void
test_threshold(void)
{
    struct pack_buf text = { 0 };
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root = NULL;
    struct pack_bench_report r = report();
    for (int i = 0; i < 2; i++) {
        result.steps.au = i ? 0.6 : 0.599;
        text.size = 0;
        pack_report_bench_json(&r, &text, NULL);
        (void)pack_json_parse((char *)text.data, text.size, &doc, &root, NULL);
        const struct pack_json_value *passed = at(root, "measured.au_passed");
        ok(passed && passed->kind == PACK_JSON_BOOL && passed->truth == (i == 1),
           "60 %% are asked for, %g %% %s", 100 * result.steps.au, i ? "pass" : "fail");
        pack_json_free(doc);
    }
    pack_buf_done(&text);
    fill();
}

static void
test_json(void)
{
#define E(field) (double)epochs[1].field
#define T(field) (double)result.total.field
    const struct made_up_number numbers[] = {
        { "options.seed", 77 },
        { "options.batch", 15 },
        { "options.workers", 2 },
        { "options.prefetch", 3 },
        { "options.echo", 2 },
        { "options.step_ns", 5e6 },
        { "options.rdcc_nslots", 521 },
        { "options.rdcc_nbytes", 1 << 20 },
        { "options.rdcc_w0", 0.75 },
        { "options.sample_cost_ns", 8000 },
        { "options.batch_cost_ns", 300000 },
        { "result.sample_bytes", 2000 },
        { "result.epoch_samples", 750 },
        { "result.check.compared", 8 },
        { "result.check.different", 0 },
        { "result.epochs.1.hit_rate", 0.25 },
#define COUNT(name)                                            \
    { "result.epochs.1.counts." #name, E(expected.set.name) }, \
        { "result.epochs.1.with_counts." #name, E(expected.with.name) }
        COUNT(requests),
        COUNT(hits),
        COUNT(loads),
        COUNT(decodes),
        COUNT(fills),
        COUNT(bypass_visits),
        COUNT(file_reads),
        COUNT(file_read_bytes),
        COUNT(wanted_bytes),
        COUNT(evictions_space),
        COUNT(evictions_collision),
        COUNT(peak_bytes),
        { "measured.samples_per_s", 750 },
        { "measured.busy_rate", 0.55 },
        { "measured.au", 0.5 },
        { "measured.advice_epochs", 33 },
        { "measured.advice.0.gain", 1.25 },
        { "measured.advice.0.first_epoch_gain", 1.04 },
        { "measured.advice.0.gain_low", 1.13 },
        { "measured.advice.0.gain_high", 1.38 },
        { "measured.advice.0.later_epochs_gain", 1.27 },
        { "measured.advice.1.gain", 1.125 },
        { "measured.findings.0.value", 2.5 },
        { "measured.findings.0.code", 399 },
        { "measured.findings.0.price_bytes", 4096 },
        { "measured.findings.0.price_s_per_epoch", 0.75 },
        { "measured.elapsed_ns", 2e9 },
        { "measured.open_ns", 44 },
#define STEP(key, name) { "measured.steps." key, (double)result.steps.name }
        STEP("steps", n_steps),
        STEP("samples", n_samples),
        STEP("total_ns", total_ns),
        STEP("compute_ns", compute_ns),
        STEP("busy_ns", busy_ns),
        STEP("starved_ns", starved_ns),
        STEP("copy_wait_ns", copy_wait_ns),
        STEP("pin_ns", pin_ns),
        STEP("copy_ns", copy_ns),
        STEP("copy_bytes", copy_bytes),
        STEP("normalise_ns", normalise_ns),
#define EPOCH(key, name) { "measured.epochs.1." key, E(name) }, \
                         { "measured.total." key, T(name) }
        EPOCH("elapsed_ns", elapsed_ns),
        EPOCH("batches", n_batches),
        EPOCH("samples", n_samples),
        EPOCH("wait_ns", wait_ns),
        EPOCH("work_ns", work.total_ns),
        EPOCH("idle_ns", work.idle_ns),
        EPOCH("assemble_ns", work.assemble_ns),
        EPOCH("delay_ns", work.delay_ns),
        EPOCH("collate_ns", work.collate_ns),
        EPOCH("interpret_ns", work.interpret_ns),
        EPOCH("start_ns", start_ns),
        EPOCH("drop_ns", pages.drop_ns),
        EPOCH("storage_bytes", work.storage_bytes),
        EPOCH("resident_bytes", pages.resident_bytes),
        EPOCH("read.calls", work.read.calls),
        EPOCH("read.requests", work.read.requests),
        EPOCH("read.file_reads", work.read.file_reads),
        EPOCH("read.file_read_bytes", work.read.file_read_bytes),
        EPOCH("read.wanted_bytes", work.read.wanted_bytes),
        EPOCH("read.call_ns", work.read.call_ns),
        EPOCH("read.storage_ns", work.read.storage_ns),
        EPOCH("read.metadata_ns", work.read.metadata_ns),
        EPOCH("read.decode_ns", work.read.decode_ns),
        EPOCH("read.overhead_ns", work.read.overhead_ns),
        EPOCH("read.reopen_ns", work.read.reopen_ns),
        EPOCH("with.call_ns", work.with.call_ns),
        { "measured.file_read_latency.reads", 100 },
        { "measured.file_read_latency.max_ns", 1600000 },
        { "measured.device.memory_bytes", 8589934592.0 },
        { "measured.device.used_bytes", 1073741824.0 },
        { "measured.device.pinned_bytes_per_s", 20e9 },
        { "measured.device.copy_bytes_per_s", 5e9 },
        { "measured.device.normalise_bytes_per_s", 30e9 },
        { "measured.device.memory_bytes_per_s", 120e9 },
        { "measured.device.nvml_samples", 9 },
        { "measured.device.utilisation", 0.42 },
        { "measured.device.pcie_bytes_per_s", 3e9 },
        { "measured.workers.1.user_ns", 6e8 },
        { "measured.workers.0.system_ns", 1e8 },
        { "measured.machine.user_ns", 1000 },
        { "measured.machine.system_ns", 500 },
        { "measured.machine.iowait_ns", 200 },
        { "measured.machine.idle_ns", 300 },
    };
    struct pack_buf text = { 0 };
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root = NULL;
    struct pack_bench_report r = report();
    pack_report_bench_json(&r, &text, NULL);
    if (!ok(pack_json_parse((char *)text.data, text.size, &doc, &root, NULL) == PACK_OK,
            "the report is JSON"))
        return;
    is_number(wrong_numbers(root, numbers, sizeof numbers / sizeof *numbers), 0,
              "every number of it is the one that was made up");
    is_text(at(root, "measured.limit")->text, "decode", "and the limit");
    is_text(at(root, "measured.file_reads_from")->text, "storage", "and who answered reads");
    pack_json_free(doc);
    pack_buf_done(&text);
}

/* ------------------------------------------------------------ pictures, traces */

static void
test_spans(void)
{
    static const char *const marks[] = {
        "\"name\":\"batch\",\"pid\":1,\"tid\":6,\"ts\":100.125,\"dur\":100.375,",
        "\"name\":\"read\",\"pid\":1,\"tid\":6,\"ts\":100.125,\"dur\":60.125}",
        "\"name\":\"storage\",\"pid\":1,\"tid\":6,\"ts\":100.125,\"dur\":20.125}",
        "\"name\":\"decode\",\"pid\":1,\"tid\":6,\"ts\":120.25,\"dur\":30.125}",
        "\"name\":\"assembly\",\"pid\":1,\"tid\":6,\"ts\":160.25,\"dur\":30.125}",
        "\"name\":\"delay\",\"pid\":1,\"tid\":6,\"ts\":190.375,\"dur\":10.125}",
        "\"ph\":\"b\",\"name\":\"handover\",\"pid\":1,\"tid\":6,\"ts\":200.375,",
        "\"ph\":\"e\",\"name\":\"handover\",\"pid\":1,\"tid\":6,\"ts\":260.125,",
        "\"name\":\"step\",\"pid\":1,\"tid\":2,\"ts\":0.75,\"dur\":0.25,",
        "\"number\":7,\"file_reads\":3",
    };
    struct pack_buf text = { 0 };
    struct pack_bench_report r = report();
    char *plain;
    size_t n = 0;
    int wrong = 0;
    pack_report_bench_trace(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    plain = malloc(text.size);
    for (size_t i = 0; i < text.size; i++) /* without blanks */
        if (!strchr(" \n", text.data[i]) || !text.data[i])
            plain[n++] = (char)text.data[i];
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strstr(plain, marks[i])) {
            wrong++;
            note("missing: %s", marks[i]);
        }
    if (wrong)
        note("%s", strstr(plain, "\"batch\""));
    is_number(wrong, 0, "spans of the trace lie where they were, in microseconds");
    free(plain);

    /* one step over the first half, one over the last quarter; a row of 1000 ns */
    text.size = 0;
    result.events.n = 2;
    pack_report_bench_svg(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    const char *svg = (const char *)text.data;
    ok(strstr(svg, "emulated: busy 55.0 %, limited by decode<") &&
           strstr(svg, "750.0 samples/s, 100 batches of 15, 2 workers<"),
       "the picture says what the text says");
    int busy = 0, columns = 0;
    for (const char *p = strstr(svg, "d=\"M"); p && *p != 'Z'; p++)
        if (*p == 'L') {
            double x, y, x2, y2;
            if (sscanf(p, "L%lf %lfL%lf %lf", &x, &y, &x2, &y2) == 4 && y == y2) {
                columns++;
                busy += y == 60; /* the top */
                p = strchr(p + 1, 'L');
            }
        }
    ok(columns == 400 && busy == 300, "and three quarters of its graph are busy (%d of %d)",
       busy, columns);
    text.size = 0;
    result.events.n = 3;
    pack_report_bench_svg(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    ok(strstr((char *)text.data, "<rect x=\"490\" y=\"226\" width=\"400\""),
       "the second worker works in the last half of its row");
    pack_buf_done(&text);
    fill();
}

/* Spans that overlap fill a slice once; of many workers the first 32 are drawn. */
static void
test_crowd(void)
{
    struct pack_bench_event steps[] = { { PACK_EVENT_STEP, 0, 0, 1000, 0, 0, 0, 0, 0, 0 },
                                        { PACK_EVENT_STEP, 0, 0, 1000, 1, 0, 0, 0, 0, 0 },
                                        { PACK_EVENT_READ, 31, 0, 1000, 0, 0, 0, 0, 0, 0 },
                                        { PACK_EVENT_READ, 32, 0, 1000, 0, 0, 0, 0, 0, 0 } };
    struct pack_buf text = { 0 };
    struct pack_bench_report r = report();
    result.events.event = steps;
    result.events.n = 4;
    result.setup.n_workers = 40;
    pack_report_bench_svg(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    const char *svg = (const char *)text.data;
    ok(strstr(svg, "d=\"M90 180L90 60.0L92 60.0L92 60.0"), "two steps at once are one that is busy");
    ok(strstr(svg, ", 40 workers<") && strstr(svg, ">worker 31<") && !strstr(svg, ">worker 32<"),
       "of 40 workers 32 are drawn");
    ok(strstr(svg, "<rect x=\"90\" y=\"706\" width=\"800\"") && !strstr(svg, " y=\"722\" width"),
       "each in its row");
    pack_buf_done(&text);
    fill();
}

/* -------------------------------------------------------------------- histogram */

static int
ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Percentiles against sorting: never below the value, at most an eighth above, and the
 * same from two halves. */
static void
test_histogram(void)
{
    static const double parts[] = { 0, 0.01, 0.25, 0.5, 0.9, 0.99, 1 };
    static uint64_t value[2000];
    struct pack_rng rng;
    int wrong = 0;
    pack_rng_seed(&rng, 5);
    for (int run = 0; run < 60; run++) {
        static struct pack_histogram whole, half[2];
        size_t n = 1 + pack_rng_below(&rng, 2000);
        memset(&whole, 0, sizeof whole);
        memset(half, 0, sizeof half);
        for (size_t i = 0; i < n; i++) {
            uint64_t shift = run < 3 ? 60 : pack_rng_below(&rng, 60);
            value[i] = pack_rng_next(&rng) >> shift;
            pack_histogram_add(&whole, value[i]);
            pack_histogram_add(&half[i % 3 == 0], value[i]);
        }
        pack_histogram_merge(&half[0], &half[1]);
        wrong += memcmp(&half[0], &whole, sizeof whole) != 0;
        qsort(value, n, sizeof *value, ascending);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            size_t rank = (size_t)ceil(parts[k] * (double)n);
            uint64_t truth = value[rank ? rank - 1 : 0]; /* at least `part` are not above */
            uint64_t said = pack_histogram_at(&whole, parts[k]);
            wrong += said < truth || said - truth > truth / 8 || said > value[n - 1] ||
                     (truth < 16 && said != truth);
        }
    }
    is_number(wrong, 0, "percentiles are those of the sorted values, to an eighth");
}

/* Every family has its HELP and TYPE before its values, once; names are in the report's own
 * words. */
static void
test_prometheus(void)
{
    static const char *const operands[] = { "a \"b\".h5", "c\\d\n.h5" };
    static const char labels[] = "{file=\"a \\\"b\\\".h5,c\\\\d\\\\x0a.h5\",dataset=\"\"";
    static const char *const lines[] = {
        "consumer=\"emulated\",limit=\"decode\"} 1\n",
        "samples_per_second@} 750\n",
        "elapsed_seconds@} 2\n",
        "samples@} 1500\n",
        "batches@} 100\n",
        "batch_wait_seconds@} 1.001e-06\n",
        "consumer_busy_ratio@} 0.55\n",
        "consumer_starved_seconds@} 0.9\n",
        "accelerator_utilisation_ratio@} 0.5\n",
        "gpu_utilisation_ratio@} 0.42\n",
        "file_read_bytes@} 60000000\n",
        "wanted_bytes@} 20000000\n",
        "storage_bytes@} 24000000\n",
        "cache_hit_ratio@} 0.25\n",
        "stage_seconds@,stage=\"storage\"} 0.7\n",
        "stage_seconds@,stage=\"metadata\"} 0.04\n",
        "stage_seconds@,stage=\"reopen\"} 0.14\n",
        "stage_seconds@,stage=\"decode\"} 0.22\n",
        "stage_seconds@,stage=\"calls\"} 0.26\n",
        "stage_seconds@,stage=\"assembly\"} 0.28\n",
        "stage_seconds@,stage=\"collate\"} 0.12\n",
        "stage_seconds@,stage=\"interpreter\"} 0.16\n",
        "stage_seconds@,stage=\"delay\"} 0.08\n",
        "stage_seconds@,stage=\"idle\"} 1.2\n",
        "file_read_seconds@,quantile=\"0.9\"} 0.001",
        "skipped_images@} 0\n",
        "interrupted@} 0\n",
        "changed@} 0\n",
    };
    struct pack_buf text = { 0 };
    struct pack_bench_report r = report();
    r.operands = operands;
    r.n_operands = 2;
    int wrong = pack_report_bench_prometheus(&r, &text, NULL) != PACK_OK;
    pack_buf_append(&text, "", 1, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[384];
        const char *at = strchr(lines[i], '@');
        int n = at ? (int)(at - lines[i]) : 0;
        snprintf(line, sizeof line, "%s%.*s%s%s", at ? "\nh5readbench_" : "", n, lines[i],
                 at ? labels : "", at ? at + 1 : lines[i]);
        if (!strstr((char *)text.data, line)) {
            wrong++;
            note("missing: %s", line);
        }
    }
    is_number(wrong, 0, "every figure for Prometheus is the one that was made up");

    char family[64] = "";
    wrong = 0;
    for (char *s = (char *)text.data, *end; *s; s = end + 1) {
        end = strchr(s, '\n');
        int named = 0;
        if (sscanf(s, "# HELP %63s ", family) == 1) {
            char type[192];
            snprintf(type, sizeof type, "\n# TYPE %s gauge\n%s{", family, family);
            wrong += strncmp(end, type, strlen(type)) != 0;
        } else if (s[0] != '#') {
            named = (int)strlen(family);
            wrong += strncmp(s, family, (size_t)named) != 0 || s[named] != '{';
        }
    }
    is_number(wrong, 0, "each family is introduced once, in front of its values");

    text.size = 0;
    result.setup.consumer = "null";
    result.total.work.knows_storage = false;
    result.total.expected.is_known = false;
    memset(&result.latency, 0, sizeof result.latency);
    result.interrupted = true;
    r.changed = "it was cut";
    pack_report_bench_prometheus(&r, &text, NULL);
    pack_buf_append(&text, "", 1, NULL);
    const char *s = (const char *)text.data;
    ok(!strstr(s, "consumer_") && !strstr(s, "utilisation") && !strstr(s, "storage_bytes") &&
           !strstr(s, "cache_hit") && !strstr(s, "file_read_seconds") &&
           strstr(s, "interrupted{") && strstr(strstr(s, "\nh5readbench_interrupted{"), "} 1\n"),
       "what is not known has no line");
    pack_buf_done(&text);
    fill();
}

int
main(void)
{
    fill();
    test_text();
    test_many();
    test_second();
    test_hints();
    test_words();
    test_unknown();
    test_threshold();
    test_json();
    test_spans();
    test_crowd();
    test_prometheus();
    test_histogram();
    return done();
}
