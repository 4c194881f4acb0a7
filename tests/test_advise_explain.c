/* What the advisor says of outcomes: causes, reasons, warnings, from constructed ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/outcomes.h"

static struct pack_advise_result result;

/* What is said of today's loss, for so many chunks loaded and asked for per 1000 samples. */
static const char *
cause_of(struct pack_advise_outcome o, uint64_t loads, uint64_t requests, double amplification)
{
    static char text[PACK_ADVISE_TEXT_MAX];
    o.steady.loads = loads;
    o.steady.requests = requests;
    o.loads_per_sample = (double)loads / 1000;
    o.amplification = amplification;
    pack_advise_cause(&params, &o, text);
    return text;
}

static void
test_causes(void)
{
    struct pack_advise_outcome o = at(100);
    ok(strstr(cause_of(o, 250, 1000, 1.25), "Nothing is lost to the layout: 1.25 bytes come "
                                            "from the file for each byte wanted, in 0.25 reads"),
       "reading a quarter more than wanted is no loss");
    o.hit_rate = 0.4;
    ok(strstr(cause_of(o, 600, 1000, 1.26),
              "Each sample of 4.0 KiB costs 0.6 chunks of 16.0 KiB: the cache holds 64 of "
              "250 chunks and this order finds 40.0 % of its requests there."),
       "more is, and the cache is named");
    o.steady.evictions_collision = 60;
    ok(strstr(cause_of(o, 600, 1000, 1.26), "Each sample"), "60 collisions in 600 are few");
    o.steady.evictions_collision = 61;
    ok(strstr(cause_of(o, 600, 1000, 1.26), "10 % of the loads push another chunk out of the "
                                            "same slot although bytes are free: 521 slots"),
       "61 are not");
    o.config.reopen = true;
    ok(strstr(cause_of(o, 600, 1000, 1.26), "opened by name at each read, which empties its "
                                            "cache each time: each sample of 4.0 KiB "
                                            "loads 0.6 chunks of 16.0 KiB"),
       "opening it anew comes before all");
    o = at(100);
    o.config.cache.size_bytes = 16383;
    o.steady.decodes = 1;
    ok(strstr(cause_of(o, 1000, 1000, 4), "A chunk of 16.0 KiB does not fit in the cache of "
                                          "16.0 KiB, so that every read of 4.0 KiB loads and "
                                          "decodes 1 whole"),
       "a cache one byte too small holds no chunk");
    o.config.cache.size_bytes = 16384;
    ok(strstr(cause_of(o, 1000, 1000, 4), "the cache holds 1 of 250"), "one that fits does");
    o.config.cache.size_bytes = 64 << 20;
    ok(strstr(cause_of(o, 1000, 1000, 4), "the cache holds 250 of 250"),
       "no cache holds more chunks than there are");
    o.config.cache.size_bytes = 16 << 10;
    o = at(100);
    ok(strstr(cause_of(o, 1000, 1501, 1), "Chunks cut through samples: each read gathers 1.5 "
                                          "chunks of 16.0 KiB"),
       "1.501 chunks a sample cut it");
    ok(strstr(cause_of(o, 1000, 1500, 1), "Nothing is lost"), "1.5 do not");
    params.reading.pattern.box = (struct pack_shape){ 3, { 1, 32, 64 } };
    ok(strstr(cause_of(o, 1000, 1501, 1), "Each read of 2.0 KiB lies in 1.5 chunks"),
       "a part of a sample lies in them");
    ok(strstr(cause_of(o, 600, 1000, 1.26), "Each read of 2.0 KiB costs"),
       "and is a read, no sample");
    params.reading.pattern.box.rank = 0;
    o.file_bytes = 1.051 * 4096000;
    ok(strstr(cause_of(o, 1000, 1000, 1), "make the file 1.05 times as large"),
       "a file 5.1 %% too large is told");
    o.file_bytes = 1.049 * 4096000;
    ok(strstr(cause_of(o, 1000, 1000, 1), "Nothing is lost"), "4.9 %% are not");
    o.config.stored_rate = 0.5;
    ok(strstr(cause_of(o, 1000, 1000, 1), "make the file 2.10 times as large"),
       "unless it is what compression should have halved");
    o.file_bytes = 0.5 * 1.049 * 4096000;
    ok(strstr(cause_of(o, 1000, 1000, 1), "Nothing is lost"), "and did");
    o.config.chunk.rank = 0;
    ok(strstr(cause_of(o, 2000, 1000, 1.5), "Contiguous data is read piece by piece, 2 pieces "
                                            "and 1.50 bytes"),
       "contiguous data has pieces");
}

/* 500 of 1000 samples decode one of 250 chunks, in each worker. */
static void
test_decoding(void)
{
    struct pack_advise_outcome o = at(100);
    strcpy(o.config.codec, "gzip:4");
    o.steady.decodes = 500;
    o.hit_rate = 0.6;
    o.steady_cost = (struct pack_cost){ .decode_ns = 70, .total_ns = 100 };
    for (uint64_t workers = 1; workers <= 3; workers += 2) {
        params.reading.pattern.workers = workers;
        o.epoch_samples = 1000 * (double)workers;
        ok(strstr(cause_of(o, 500, 1000, 1),
                  workers == 1 ? "Each chunk is decoded 2 times an epoch, which takes 70 %"
                               : "Each chunk is decoded 6 times an epoch, which takes 70 %"),
           "%d workers decode a chunk twice each", (int)workers);
    }
    params.reading.pattern.workers = 0;
}

static void
test_why(void)
{
    struct pack_error err;
    memset(&result, 0, sizeof result);
    result.rows[0] = rewritten(100);
    struct pack_advise_outcome *o = &result.rows[0];
    result.n_rows = 1;
    o->steady.requests = 2000;
    o->steady.hits = 1500;
    o->hit_rate = 0.75;
    o->loads_per_sample = 0.5;
    o->amplification = 1.5;
    o->memory_bytes = 96 << 20;
    o->steady_cost = (struct pack_cost){ .call_ns = 10, .copy_ns = 25, .storage_ns = 60,
                                         .page_ns = 5, .total_ns = 100 };
    params.reading.pattern.workers = 3;
    params.now = NULL;
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK &&
           strstr(result.why[0], "With chunks of 8x64x64 (32.0 KiB) a sample touches 2 chunks "
                                 "and loads 0.5 from the file: 1.50 bytes"),
       "why the chunks: %s", result.why[0]);
    ok(strstr(result.why[1], "A cache of 1.0 MiB holds 32 of 125 chunks and answers 75.0 % "
                             "of the requests; with 3 workers that is 96.0 MiB in all."),
       "why the cache: %s", result.why[1]);
    result.rows[0].config.cache.size_bytes = 125 * 32768 - 1;
    (void)pack_advise_settle(&params, &result, &err);
    ok(strstr(result.why[1], " holds 124 of 125 chunks "), "a byte less than all holds one less");
    result.rows[0].config.cache.size_bytes = 64 << 20;
    (void)pack_advise_settle(&params, &result, &err);
    ok(strstr(result.why[1], "A cache of 64.0 MiB holds 125 of 125 chunks "),
       "no cache holds more chunks than there are: %s", result.why[1]);
    result.rows[0].config.cache.size_bytes = 1 << 20;
    is_text(result.why[2], "Of the time of a read, storage 60 % and copying 25 %.",
            "why the speed: the largest terms first");
    static const struct {
        struct pack_cost cost;
        const char *text;
    } costs[] = {
        { { .page_ns = 70, .decode_ns = 30, .total_ns = 100 },
          "reading the page cache 70 % and decoding 30 %." },
        { { .decode_ns = 99.2, .call_ns = 0.8, .total_ns = 100 }, "decoding 99 %." },
        { { .walk_ns = 99, .call_ns = 1, .total_ns = 100 },
          "looking for chunks to evict 99 % and calls of HDF5 1 %." },
        { { .touch_ns = 60, .storage_ns = 40, .total_ns = 100 }, "fresh memory 60 % and storage 40 %." },
    };
    const struct pack_cost usual = result.rows[0].steady_cost;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        result.rows[0].steady_cost = costs[i].cost;
        (void)pack_advise_settle(&params, &result, &err);
        ok(strstr(result.why[2], costs[i].text), "each term has its name: %s", costs[i].text);
    }
    result.rows[0].steady_cost = usual;
    result.rows[0].page_cache_rate = 0.99;
    (void)pack_advise_settle(&params, &result, &err);
    ok(!strstr(result.why[2], "fit in memory"), "what nearly fits in memory does not");
    result.rows[0].page_cache_rate = 1;
    result.rows[0].steady.hits = result.rows[0].steady.loads = 0;
    (void)pack_advise_settle(&params, &result, &err);
    ok(strstr(result.why[2], "its 3.9 MiB fit in memory") &&
           strstr(result.why[1], "No chunk cache is needed") &&
           strstr(result.why[1], "the memory for caches (256.0 MiB) stays"),
       "what fits in memory, and what goes past the cache, is told");
    params.now = &today;
    params.reading.pattern.workers = 0;
}

/* Today's is kept though another row is faster. */
static void
test_keep(void)
{
    struct pack_error err;
    memset(&result, 0, sizeof result);
    result.has_now = true;
    result.now = at(100);
    result.now.basis = PACK_ADVISE_MEASURED;
    result.rows[0] = result.now;
    result.rows[0].is_now = true;
    result.rows[1] = rewritten(120);
    result.rows[2] = rewritten(130);
    result.rows[2].config.chunk.extent[0] = 9;
    result.rows[3] = rewritten(500); /* predicted */
    result.rows[3].config.chunk.extent[0] = 10;
    result.n_rows = 4;
    for (int i = 1; i < 3; i++) {
        result.rows[i].basis = PACK_ADVISE_MEASURED;
        result.rows[i].gain_low = 0.9;
        result.rows[i].gain_high = 1.5;
    }
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK && result.rows[0].is_now &&
           strstr(result.why[2], "the fastest of what was tried (chunks 9x64x64, none) reaches "
                                 "1.30 times that, but anything from 0.90 to 1.50 as measured"),
       "a gain that may be a loss is told with its interval");
    result.now.rate = 125;
    for (size_t i = 0; i < result.n_rows; i++)
        if (result.rows[i].rate == 130)
            result.rows[i].gain_low = 1.02;
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK && result.rows[0].is_now &&
           strstr(result.why[2], "reaches 1.04 times that, and writing the file anew pays from "
                                 "1.15 on"),
       "one that is too small with what it takes");
    struct pack_advise_outcome tried[] = { reordered(104, 1), reset(104, 4 << 20),
                                           rewritten(104) };
    static const char *const words[] = { "(a block shuffle of 16 chunks) reaches 1.04 times",
                                         "(rdcc_nbytes=4194304) reaches 1.04 times",
                                         "(no chunks) reaches 1.04 times" };
    tried[2].config.chunk.rank = 0;
    for (int i = 0; i < 3; i++) {
        memset(&result, 0, sizeof result);
        result.has_now = true;
        result.now = result.rows[0] = at(100);
        result.rows[0].is_now = true;
        result.rows[1] = tried[i];
        result.n_rows = 2;
        ok(pack_advise_settle(&params, &result, &err) == PACK_OK && result.rows[0].is_now &&
               strstr(result.why[2], words[i]) &&
               strstr(result.why[2], i == 2 ? "anew pays from 1.15 on" : "a change pays from 1.05 on"),
           "what would have to be changed is named: %s", words[i]);
    }
}

static const struct pack_advise_warning *
warned(const struct pack_advise_outcome *o, const char *id)
{
    static struct pack_advise_warning warnings[PACK_ADVISE_WARNINGS_MAX];
    struct pack_error err;
    size_t n = 0;
    if (pack_advise_warn(&params, o, NULL, warnings, &n, &err) != PACK_OK)
        note("%s", err.text);
    for (size_t i = 0; i < n; i++)
        if (strcmp(warnings[i].id, id) == 0)
            return &warnings[i];
    return NULL;
}

/* What findings are told of an outcome: its counts, and rates of the same reads. */
static void
test_warnings(void)
{
    const struct pack_advise_warning *w;
    struct pack_advise_outcome o = at(100);
    params.reading.pattern.workers = 2;
    o.epoch_samples = 2000;
    o.steady.requests = 3000;
    o.steady.file_read_bytes = 8000000;
    o.steady.wanted_bytes = 4000000;
    w = warned(&o, "cut-samples");
    ok(w && w->value == 3 && fabs(w->price_bytes - 8e6) < 1 && w->price_s == 0,
       "counts are those of later epochs, prices those of all workers");
    params.reading.pattern.box = (struct pack_shape){ 3, { 2, 64, 64 } };
    ok(!warned(&o, "cut-samples"), "two samples at a time are no whole sample");
    params.reading.pattern.box = (struct pack_shape){ 3, { 1, 64, 64 } };
    ok(warned(&o, "cut-samples"), "a box of one is");
    params.reading.pattern.box.extent[1] = 63;
    ok(!warned(&o, "cut-samples"), "a part is not");
    params.reading.pattern.box.rank = 0;
    o = at(100);
    o.first.peak_bytes = 3 << 20;
    o.steady.peak_bytes = 2 << 20;
    o.config.cache.w0 = 1;
    w = warned(&o, "w0-one");
    ok(w && w->value == 3 << 20 && strcmp(w->severity, "hazard") == 0 &&
           strstr(w->text, "it was given; any w0 below 1 keeps to it"),
       "the first epoch's peak counts too; the remedy ends the text");
    o = at(100);
    o.memory_bytes = 127 << 20;
    ok(!warned(&o, "memory-times-workers"), "less than half of the memory allowed is no word");
    o.memory_bytes = 128 << 20;
    ok(warned(&o, "memory-times-workers"), "half of it is one");
    o = at(100);
    o.config.cache.n_slots = 7;
    o.steady.evictions_collision = 9;
    ok(!warned(&o, "slot-collisions"), "nine collisions in 1000 loads are no word");
    o.steady.evictions_collision = 10;
    w = warned(&o, "slot-collisions");
    ok(w && strstr(w->text, " instead of 7 avoids it"), "ten are, with the slots it takes: %s",
       w ? w->text : "");
    o = at(100);
    o.config.cache.size_bytes = 64 << 20;
    w = warned(&o, "reopening");
    ok(w && w->value > 1.25 && w->price_s > 0 && w->price_bytes == 0,
       "opening by name is compared with what is kept open: %.3g times", w ? w->value : 0);
    o = at(100);
    o.config.pattern.read = PACK_READ_BATCH;
    ok(!warned(&o, "scattered-batch"), "reads without several boxes are no scattered batch");
    o.elems_per_read = 65536;
    w = warned(&o, "scattered-batch");
    ok(w && w->value > 1.25 && w->price_s > 0 && strstr(w->text, "each of the 65536 elements"),
       "scattered samples in one read are compared with a read for each: %.3g times",
       w ? w->value : 0);
    o.config.pattern.read = PACK_READ_SAMPLE;
    ok(!warned(&o, "scattered-batch"), "which has nothing to be told");
    params.data.extent.extent[0] = 20000;
    o = at(100);
    o.config.chunk.extent[0] = 300;
    w = warned(&o, "bypass-cliff");
    ok(w && w->value > 2 && w->price_s > 0, "both versions' defaults are simulated: %.3g",
       w ? w->value : 0);
    params.data.extent.extent[0] = 1000;
    o = at(100);
    o.config.pattern.kind = PACK_PATTERN_BLOCK;
    o.steady.loads = 400;
    ok(warned(&o, "shared-pool"), "blocks dealt to two workers are told");
    o.config.pattern.local = true;
    ok(!warned(&o, "shared-pool"), "a worker's own are not");
    params.reading.pattern.workers = 0;
}

static bool
is_among(const struct pack_advise_warning *warnings, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(warnings[i].id, id) == 0)
            return true;
    return false;
}

/* Of today's settings, and of those that are recommended instead. */
static void
test_both(void)
{
    struct pack_error err = { .text = "" };
    memset(&result, 0, sizeof result);
    result.has_now = true;
    result.now = at(100);
    result.now.config.cache.w0 = 1;
    result.now.steady.peak_bytes = 3 << 20;
    result.rows[0] = rewritten(200);
    result.rows[0].steady.requests = 3000;
    result.n_rows = 1;
    enum pack_status status = pack_advise_settle(&params, &result, &err);
    ok(status == PACK_OK && !result.rows[0].is_now &&
           is_among(result.warnings, result.n_warnings, "w0-one") &&
           !is_among(result.warnings, result.n_warnings, "cut-samples"),
       "warnings are those of today's settings %s", err.text);
    ok(is_among(result.choice_warnings, result.n_choice_warnings, "cut-samples") &&
           !is_among(result.choice_warnings, result.n_choice_warnings, "w0-one"),
       "those of the choice stand apart");
}

int
main(void)
{
    setup();
    test_causes();
    test_decoding();
    test_why();
    test_keep();
    test_warnings();
    test_both();
    return done();
}
