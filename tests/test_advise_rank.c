/* What the advisor makes of outcomes: constructed ones, just above and just below each
 * threshold. Nothing here depends on a model of time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/outcomes.h"

/* Which of today's, a and b is chosen: 0, 1, 2. */
static size_t
chosen(struct pack_advise_outcome a, struct pack_advise_outcome b)
{
    struct pack_advise_outcome now = at(100), rows[3] = { now, a, b };
    return pack_advise_choose(&params, &now, rows, 3);
}

static void
test_changes(void)
{
    struct pack_advise_config c = today;
    ok(pack_advise_change_of(&params, &c) == PACK_ADVISE_KEEP, "today's changes nothing");
    c.cache.n_slots++;
    ok(pack_advise_change_of(&params, &c) == PACK_ADVISE_SETTINGS,
       "another number of slots is a setting");
    c = today;
    c.reopen = true;
    ok(pack_advise_change_of(&params, &c) == PACK_ADVISE_SETTINGS,
       "and whether the dataset stays open");
    c.pattern.kind = PACK_PATTERN_BLOCK;
    ok(pack_advise_change_of(&params, &c) == PACK_ADVISE_ORDER,
       "another order is an order");
    strcpy(c.codec, "gzip:4");
    ok(pack_advise_change_of(&params, &c) == PACK_ADVISE_REWRITE,
       "another codec is a rewrite");
    c = today;
    c.chunk.extent[0] = 3;
    ok(pack_advise_change_of(&params, &c) == PACK_ADVISE_REWRITE, "so are other chunks");
    params.now = NULL;
    ok(pack_advise_change_of(&params, &today) == PACK_ADVISE_REWRITE,
       "and everything where there is nothing yet");
    params.now = &today;
}

/* Of each kind the best is measured: what is of one must not hide what is of another. */
static void
test_kinds(void)
{
    struct pack_advise_outcome o = at(100), other = rewritten(100);
    const unsigned now = pack_advise_kind_of(&params, &o);
    o.config.cache.n_slots++;
    const unsigned settings = pack_advise_kind_of(&params, &o);
    o.config.cache.size_bytes = 8 << 20;
    ok(settings != now && pack_advise_kind_of(&params, &o) == settings,
       "today's are a kind, other settings another");
    const unsigned plain = pack_advise_kind_of(&params, &other);
    other.config.chunk.extent[0] = 16;
    ok(plain != now && plain != settings && pack_advise_kind_of(&params, &other) == plain,
       "other chunks are one, whatever their shape");
    strcpy(other.config.codec, "gzip:4");
    const unsigned packed = pack_advise_kind_of(&params, &other);
    strcpy(other.config.codec, "zstd:3");
    ok(packed != plain && pack_advise_kind_of(&params, &other) == packed,
       "compressed ones another, by any codec");
    strcpy(other.config.codec, "none");
    other.hit_rate = 0.49;
    bool loads = pack_advise_kind_of(&params, &other) == plain;
    other.hit_rate = 0.5;
    const unsigned held = pack_advise_kind_of(&params, &other);
    ok(loads && held != plain, "so is what finds half of its chunks in the cache");
    other.config.cache.size_bytes = 16 * 64 * 64 - 1;
    const unsigned past = pack_advise_kind_of(&params, &other);
    ok(past != plain && past != held, "and what reads past it");
    other.config.pattern.kind = PACK_PATTERN_BLOCK;
    ok(pack_advise_kind_of(&params, &other) != past, "and another order");
}

static void
test_gains(void)
{
    struct pack_advise_outcome slow = reset(1, 0);
    ok(chosen(rewritten(114.9), slow) == 0, "a gain of 1.149 is no reason to rewrite");
    ok(chosen(rewritten(115.1), slow) == 1, "one of 1.151 is");
    params.goal.min_gain = 2;
    ok(chosen(rewritten(199), slow) == 0 && chosen(rewritten(201), slow) == 1,
       "unless more is asked for");
    params.goal.min_gain = 0;
    ok(chosen(reset(104.9, 4 << 20), slow) == 0, "settings stay for a gain of 1.049");
    ok(chosen(reset(105.1, 4 << 20), slow) == 1, "and change for 1.051");
    ok(chosen(reordered(104.9, 0.95), slow) == 0, "so does an order");
    ok(chosen(reordered(105.1, 0.95), slow) == 1, "for as much");
    ok(chosen(reordered(500, 0.89), slow) == 0 && chosen(reordered(500, 0.91), slow) == 1,
       "but only one that is nearly as random");
    struct pack_advise_outcome large = reset(500, 64 << 20);
    large.memory_bytes = 1.11 * (256 << 20);
    ok(chosen(large, slow) == 0, "what takes more memory than allowed is no choice");
    large.memory_bytes = 1.09 * (256 << 20);
    ok(chosen(large, slow) == 1, "a tenth more is allowed for slots");
    struct pack_advise_outcome plain = at(104.9);
    today.cache.size_bytes = 64 << 20;
    ok(chosen(plain, slow) == 0, "plainer settings have to gain as much");
    plain.rate = 105.1;
    ok(chosen(plain, slow) == 1, "and are chosen when they do");
    pack_cache_params_defaults(&today.cache, PACK_HDF5_1_10);
    struct pack_advise_outcome now = at(100), rows[2] = { now, rewritten(101) };
    now.fits = rows[0].fits = false;
    ok(pack_advise_choose(&params, &now, rows, 2) == 1,
       "what does not fit in memory today is not kept");
}

/* With one sample an epoch any gain is noise. */
static void
test_lone(void)
{
    struct pack_advise_outcome fast = rewritten(500), slow = reset(1, 0);
    params.data.extent.extent[0] = 2;
    ok(chosen(fast, slow) == 1, "two samples can be stored better");
    params.data.extent.extent[0] = 1;
    ok(chosen(fast, slow) == 0 && chosen(reset(500, 0), slow) == 0,
       "with one sample today's is kept, whatever is five times as fast");
    params.reading.pattern.kind = PACK_PATTERN_REPLACEMENT;
    params.reading.pattern.draws = 2;
    ok(chosen(fast, slow) == 1, "but not where it is drawn twice");
    params.reading.pattern.draws = 1;
    ok(chosen(fast, slow) == 0, "and where it is drawn once it is");
    params.reading.pattern.kind = PACK_PATTERN_SHUFFLE;
    params.reading.pattern.draws = 0;
    params.data.extent.extent[0] = 1000;
}

static void
test_measured(void)
{
    struct pack_advise_outcome now = at(100), rows[2] = { now, rewritten(130) };
    now.basis = rows[0].basis = PACK_ADVISE_MEASURED;
    ok(pack_advise_choose(&params, &now, rows, 2) == 0,
       "what is predicted does not replace what was measured");
    rows[1].basis = PACK_ADVISE_PROVEN;
    rows[1].gain_low = 0.999;
    ok(pack_advise_choose(&params, &now, rows, 2) == 0, "nor what may be a loss");
    rows[1].gain_low = 1;
    ok(pack_advise_choose(&params, &now, rows, 2) == 1, "what cannot be one does");
    now.modelled_rate = rows[0].modelled_rate = 100;
    rows[1].modelled_rate = 104;
    ok(pack_advise_choose(&params, &now, rows, 2) == 0,
       "a rewrite has to gain by what is known of it too: a copy may lie well by luck");
    rows[1].modelled_rate = 105;
    ok(pack_advise_choose(&params, &now, rows, 2) == 1, "a little is enough");
    struct pack_advise_outcome off = reset(110, 0), three[3] = { now, rows[1], off };
    three[2].basis = PACK_ADVISE_MEASURED;
    three[2].modelled_rate = 100;
    ok(pack_advise_choose(&params, &now, three, 3) == 1, "also over what settings give");
    three[2].modelled_rate = 101;
    ok(pack_advise_choose(&params, &now, three, 3) == 2, "and not without a reason");
    rows[1].config.chunk = now.config.chunk;
    rows[1].config.cache.size_bytes = 77;
    rows[1].modelled_rate = 90;
    ok(pack_advise_choose(&params, &now, rows, 2) == 1, "and settings are free to try");
    rows[1] = rewritten(130);
    rows[1].basis = PACK_ADVISE_MEASURED;
    now.basis = rows[0].basis = PACK_ADVISE_PREDICTED;
    rows[1].modelled_rate = 104;
    ok(pack_advise_choose(&params, &now, rows, 2) == 0,
       "nor beside what could not be measured without a reason");
    rows[1].modelled_rate = 105;
    ok(pack_advise_choose(&params, &now, rows, 2) == 1, "with one it is");
}

static void
test_equals(void)
{
    ok(chosen(rewritten(130), reset(113.5, 4 << 20)) == 2,
       "what settings give too is no reason to rewrite");
    ok(chosen(rewritten(131), reset(113.5, 4 << 20)) == 1,
       "beyond it by the gain that a rewrite has to have, the rewrite wins");
    ok(chosen(rewritten(131), reordered(125, 0.96)) == 1 &&
           chosen(rewritten(131), reordered(138, 0.96)) == 2,
       "it has to equal what is faster and less random");
    params.goal.min_gain = 1.02;
    ok(chosen(rewritten(130), reset(126, 4 << 20)) == 1, "a rewrite may be worth less");
    params.goal.min_gain = 0;
    ok(chosen(reordered(130, 0.92), reset(125, 4 << 20)) == 2,
       "more randomness is preferred at equal rates");
    ok(chosen(reordered(130, 0.92), rewritten(125)) == 2, "even to no rewrite");
    ok(chosen(reset(125, 4 << 20), reset(130, 0)) == 2 &&
           chosen(reset(130, 4 << 20), reset(125, 0)) == 2,
       "no cache is plainer than one of a size of its own");
    ok(chosen(reordered(130, 1), reset(125, 4 << 20)) == 2 &&
           chosen(reset(125, 4 << 20), reordered(130, 1)) == 1,
       "the order asked for is preferred to one as random, plainer as its settings may be");
    struct pack_advise_outcome usual = rewritten(130), off = rewritten(135);
    off.config.cache.size_bytes = off.config.cache.n_slots = 0;
    ok(chosen(usual, off) == 1 && chosen(off, usual) == 2,
       "the version's default is plainer still");
    struct pack_advise_outcome small = reset(125, 4 << 20), large = reset(130, 64 << 20);
    small.memory_bytes = 60 << 20;
    large.memory_bytes = 70 << 20;
    ok(chosen(small, large) == 1 && chosen(large, small) == 2,
       "of two sizes, the one with less memory");
    struct pack_advise_outcome rows[2] = { rewritten(100), rewritten(120) };
    params.now = NULL;
    ok(pack_advise_choose(&params, NULL, rows, 2) == 1,
       "without a file of today the fastest is chosen");
    params.now = &today;
}

/* A rewrite with so many rows to a chunk. */
static struct pack_advise_outcome
rows_of(uint64_t rows, double rate)
{
    struct pack_advise_outcome o = rewritten(rate);
    o.config.chunk.extent[0] = rows;
    return o;
}

/* What equals the choice is named beside it, and nothing else is. */
static void
test_as_good(void)
{
    struct pack_advise_result r = { .has_now = true, .now = at(100), .n_rows = 6,
                                    .rows = { at(100), rows_of(8, 200), rows_of(2, 199),
                                              rows_of(4, 198), rows_of(16, 190.4),
                                              reset(198, 4 << 20) } };
    char text[200];
    r.rows[3].randomness = 0.5;
    r.rows[2].basis = PACK_ADVISE_MEASURED;
    ok(pack_advise_settle(&params, &r, NULL) == PACK_OK, "several rewrites are alike");
    struct pack_advise_outcome choice = rows_of(8, 200);
    choice.change = PACK_ADVISE_REWRITE;
    ok(pack_advise_as_good(&params, &r, &choice, text, sizeof text) &&
           strcmp(text, "chunks 2x64x64, none would do as well") == 0,
       "one equals it, others are less random, slower, no rewrite: %s", text);
    choice.rate = 199.9;
    ok(pack_advise_as_good(&params, &r, &choice, text, sizeof text) &&
           strcmp(text, "2 other layouts would do as well, among them chunks 2x64x64, none") == 0,
       "two do: %s", text);
    r.rows[r.n_rows++] = rows_of(2, 198);
    r.rows[r.n_rows - 1].config.cache.size_bytes = 8 << 20;
    r.rows[r.n_rows - 1].change = PACK_ADVISE_REWRITE;
    r.rows[r.n_rows++] = rows_of(32, 212);
    r.rows[r.n_rows - 1].change = PACK_ADVISE_REWRITE;
    ok(pack_advise_as_good(&params, &r, &choice, text, sizeof text) &&
           strcmp(text, "2 other layouts would do as well, among them chunks 2x64x64, none") == 0,
       "one with another cache is not one more, and what is faster has its reasons: %s", text);
    r.now.basis = PACK_ADVISE_MEASURED;
    for (size_t i = 0; i < r.n_rows; i++) {
        r.rows[i].basis = PACK_ADVISE_MEASURED;
        r.rows[i].gain_low = r.rows[i].rate >= 198 ? 0.9 : 0;
    }
    ok(pack_advise_as_good(&params, &r, &choice, text, sizeof text) &&
           strcmp(text, "chunks 16x64x64, none would do as well") == 0,
       "nor what may be a loss: %s", text);
    r.now.basis = PACK_ADVISE_PREDICTED;
    for (size_t i = 0; i < r.n_rows; i++) {
        r.rows[i].basis = r.rows[i].rate == 199 ? PACK_ADVISE_MEASURED : PACK_ADVISE_PREDICTED;
        r.rows[i].gain_low = 0;
    }
    r.n_rows -= 2;
    choice.basis = PACK_ADVISE_MEASURED;
    ok(pack_advise_as_good(&params, &r, &choice, text, sizeof text) &&
           strcmp(text, "chunks 2x64x64, none would do as well") == 0,
       "what is only predicted does not equal what was measured: %s", text);
    choice.change = PACK_ADVISE_SETTINGS;
    ok(pack_advise_as_good(&params, &r, &choice, text, sizeof text) == 0 && !text[0],
       "settings have no layouts beside them");
    r.rows[0] = choice = rows_of(8, 200);
    r.rows[1] = rows_of(2, 199);
    r.rows[2] = at(100);
    r.n_rows = 3;
    ok(pack_advise_settle(&params, &r, NULL) == PACK_OK && strstr(r.why[2], ", none would do as well."),
       "it is told with the reasons: %s", r.why[2]);
}

static struct pack_advise_result result;

static void
test_settle(void)
{
    struct pack_error err;
    memset(&result, 0, sizeof result);
    result.has_now = true;
    result.now = at(100);
    result.rows[0] = rewritten(130);
    result.rows[1] = reset(103, 4 << 20);
    result.rows[2] = rewritten(110);
    result.rows[2].config.chunk.extent[0] = 2;
    result.n_rows = 3;
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK && result.n_rows == 4 &&
           result.rows[0].config.chunk.extent[0] == 8,
       "a result without a row of today gets one");
    ok(result.rows[1].rate == 110 && result.rows[2].rate == 103 && result.rows[3].is_now,
       "below the choice rows are sorted by rate");
    ok(result.rows[0].change == PACK_ADVISE_REWRITE &&
           result.rows[2].change == PACK_ADVISE_SETTINGS &&
           result.rows[3].change == PACK_ADVISE_KEEP,
       "each says what it changes");
    ok(strstr(result.why[2], "today's 100 samples/s become 130, 1.3 times") &&
           !strstr(result.why[2], "writing the file anew"),
       "and the gain is told");
    struct pack_advise_result settings = { .has_now = true, .now = at(100), .n_rows = 4,
                                           .rows = { at(100), reset(125, 4 << 20),
                                                     rewritten(130), rewritten(135) } };
    settings.rows[3].randomness = 0.5;
    ok(pack_advise_settle(&params, &settings, &err) == PACK_OK &&
           settings.rows[0].change == PACK_ADVISE_SETTINGS &&
           strstr(settings.why[2],
                  "become 125, 1.25 times as many; written anew (chunks 8x64x64, none) it reaches "
                  "1.04 times that, and writing the file anew pays from 1.15 on."),
       "beside settings, what a rewrite would add");
    settings.now.basis = settings.rows[0].basis = settings.rows[1].basis =
        settings.rows[2].basis = PACK_ADVISE_MEASURED;
    for (size_t i = 0; i < settings.n_rows; i++)
        if (settings.rows[i].change == PACK_ADVISE_REWRITE && settings.rows[i].randomness == 1) {
            settings.rows[i].rate = 150;
            settings.rows[i].modelled_rate = 130;
        } else {
            settings.rows[i].modelled_rate = 125;
        }
    ok(pack_advise_settle(&params, &settings, &err) == PACK_OK &&
           settings.rows[0].change == PACK_ADVISE_SETTINGS &&
           strstr(settings.why[2],
                  "none) it reaches 1.20 times that, as measured, which the model does not explain."),
       "also where it is measured and nobody knows why");
    for (size_t i = 0; i < settings.n_rows; i++)
        if (settings.rows[i].rate == 150)
            settings.rows[i].gain_low = 0.9;
    ok(pack_advise_settle(&params, &settings, &err) == PACK_OK &&
           settings.rows[0].change == PACK_ADVISE_SETTINGS &&
           !strstr(settings.why[2], "written anew"),
       "but not of one that may be a loss");
    struct pack_advise_result plain = { .has_now = true, .now = at(100), .n_rows = 3,
                                        .rows = { at(100), reset(125, 0), reset(130, 4 << 20) } };
    ok(pack_advise_settle(&params, &plain, &err) == PACK_OK && plain.rows[0].rate == 125 &&
           !strstr(plain.why[2], "written anew"),
       "but not of settings that are hardly faster");
    pack_advise_scale(&result.rows[0], &params, 0.8);
    ok(result.rows[0].basis == PACK_ADVISE_MEASURED &&
           fabs(result.rows[0].rate - 104) < 1e-9 && result.rows[0].modelled_rate == 130,
       "a measured row keeps what the model said");
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK && result.rows[0].is_now &&
           result.rows[0].rate == 100,
       "measured, it gains too little: today's is kept");
    struct pack_advise_result unsure = { .has_now = true, .now = at(100), .n_rows = 1,
                                         .rows = { rewritten(300) } };
    unsure.now.basis = PACK_ADVISE_MEASURED;
    ok(pack_advise_settle(&params, &unsure, &err) == PACK_OK && unsure.rows[0].is_now &&
           strstr(unsure.why[2], "; nothing that was measured is faster; chunks 8x64x64, none is "
                                 "predicted to reach 3 times that, but could not be measured."),
       "what is kept for want of a measurement is told: %s", unsure.why[2]);
    ok(strstr(result.why[2], ") reaches 1.10 times that, and") &&
           strstr(result.why[2], "1.15"),
       "with the gain that there was, and the one that it takes");
    pack_advise_scale(&result.now, &params, 0.7);
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK &&
           fabs(result.rows[0].rate - 104) < 1e-9 && result.rows[0].basis == PACK_ADVISE_MEASURED,
       "where today was measured, of the rows that gain the measured one is taken");
    for (size_t i = 0; i < result.n_rows; i++)
        if (result.rows[i].rate == 110)
            pack_advise_scale(&result.rows[i], &params, 1);
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK &&
           fabs(result.rows[0].rate - 110) < 1e-9 && !result.rows[0].is_now && result.n_rows == 4,
       "a slower today makes the change worth while again");
    bool has_now = false;
    for (size_t i = 0; i < result.n_rows; i++)
        has_now |= result.rows[i].is_now && fabs(result.rows[i].rate - 70) < 1e-9 &&
                   result.rows[i].basis == PACK_ADVISE_MEASURED;
    ok(has_now, "its row says what was measured");
}

static void
test_mean(void)
{
    params.reading.epochs = 10;
    ok(fabs(pack_advise_mean_rate(&params, 10, 100) - 10 / (0.1 + 0.09)) < 1e-9,
       "a run of ten epochs is the first and nine later ones");
    params.reading.epochs = 0;
}

/* Which of two a table shows first. */
static bool
is_before(struct pack_advise_outcome a, struct pack_advise_outcome b)
{
    return pack_advise_by_rate(&a, &b) < 0 && pack_advise_by_rate(&b, &a) > 0;
}

static void
test_table(void)
{
    struct pack_advise_outcome a = at(100), b = at(103);
    ok(is_before(b, a), "the faster one is shown first");
    b = rewritten(100);
    ok(is_before(a, b), "of equal rates, the smaller chunk");
    b = reset(100, 4 << 20);
    ok(is_before(a, b) && is_before(reset(100, 0), b),
       "plain settings before others, no cache before one");
    b = at(100);
    b.memory_bytes = 31 << 20;
    a.memory_bytes = 33 << 20;
    ok(pack_advise_by_rate(&a, &b) == 0, "33 MiB are no more than 31");
    a.memory_bytes = 65 << 20;
    ok(is_before(b, a), "65 MiB are");
    a = b;
    a.file_bytes = 1.02 * b.file_bytes;
    ok(is_before(b, a), "the smaller file comes first");
    a.file_bytes = 1.009 * b.file_bytes;
    ok(pack_advise_by_rate(&a, &b) == 0, "from 1 %% on");
    b = at(100);
    b.config.chunk.rank = 0;
    ok(is_before(at(100), b), "chunks before none");
    a = b = at(100);
    a.randomness = 0.9;
    ok(is_before(b, a), "and the more random order");
}

static void
test_front(void)
{
    struct pack_advise_outcome o[5] = { at(200), at(100), at(100), at(90), at(100) };
    o[1].memory_bytes = 16 << 20; /* slower, and nothing else: 32 MiB are nothing */
    o[0].memory_bytes = 40 << 20;
    o[2].randomness = 0.9;
    o[3].file_bytes /= 2;
    o[4].memory_bytes = 40 << 20;
    pack_advise_mark_front(o, 5);
    ok(o[0].is_front && o[1].is_front && !o[2].is_front && o[3].is_front && !o[4].is_front,
       "on the front is what nothing beats in all respects");
    struct pack_advise_outcome equal[2] = { at(100), at(100.5) };
    pack_advise_mark_front(equal, 2);
    ok(equal[0].is_front && !equal[1].is_front, "of equals the first");
    equal[1] = at(101.5);
    pack_advise_mark_front(equal, 2);
    ok(!equal[0].is_front && equal[1].is_front, "more than a percent is not equal");
}

/* A target: what more workers give, by the model, scaled as the row is. */
static void
test_target(void)
{
    struct pack_error err;
    memset(&result, 0, sizeof result);
    profile.n_cpus = 8;
    params.machine.is_warm = true;
    (void)pack_advise_evaluate(&params, &today, 0, &result.rows[0], &err);
    double alone = result.rows[0].rate;
    result.n_rows = 1;
    params.goal.target = alone;
    ok(pack_advise_meet_target(&params, &result, &err) == PACK_OK &&
           result.target_is_reached && result.target_workers == 0 && result.target_echo == 1,
       "a rate that is the target reaches it");
    params.goal.target = 2.5 * alone;
    (void)pack_advise_meet_target(&params, &result, &err);
    uint64_t many = result.target_workers;
    ok(!result.target_is_reached && many >= 3 &&
           result.target_rate >= params.goal.target && result.target_echo == 2.5,
       "more than two workers for 2.5 times as much: %d", (int)many);
    struct pack_advise_params p = params;
    struct pack_advise_config config = today;
    struct pack_advise_outcome fewer;
    p.reading.pattern.workers = config.pattern.workers = many - 1;
    (void)pack_advise_evaluate(&p, &config, 0, &fewer, &err);
    ok(fewer.rate < params.goal.target, "one less is not enough");
    p.reading.pattern.workers = config.pattern.workers = many;
    (void)pack_advise_evaluate(&p, &config, 0, &fewer, &err);
    const uint64_t usual = params.machine.memory_bytes;
    params.machine.memory_bytes = (uint64_t)(fewer.memory_bytes / 1.09);
    (void)pack_advise_meet_target(&params, &result, &err);
    is_number((long long)result.target_workers, (long long)many,
              "the caches of all of them may take a tenth more than is allowed");
    params.machine.memory_bytes = (uint64_t)(fewer.memory_bytes / 1.11);
    (void)pack_advise_meet_target(&params, &result, &err);
    is_number((long long)result.target_workers, 0, "and not more");
    params.machine.memory_bytes = usual;
    pack_advise_scale(&result.rows[0], &params, 2);
    (void)pack_advise_meet_target(&params, &result, &err);
    ok(result.target_workers && result.target_workers < many,
       "of what was measured to be faster fewer are enough: %d", (int)result.target_workers);
    params.goal.target = 1000 * alone;
    (void)pack_advise_meet_target(&params, &result, &err);
    ok(result.target_workers == 0 && result.target_rate == 0 && result.target_echo == 500,
       "what nothing reaches takes echoing");
    params.goal.target = 0;
    params.machine.is_warm = false;
}

/* Samples/s of today's settings with so many workers; 0: more of them than are looked at. */
static double
rate_of_workers(uint64_t n)
{
    struct pack_advise_params p = params;
    struct pack_advise_config config = today;
    struct pack_advise_outcome o;
    p.reading.pattern.workers = config.pattern.workers = n;
    return n <= 4 * profile.n_cpus && pack_advise_evaluate(&p, &config, 0, &o, NULL) == PACK_OK
               ? o.rate
               : 0;
}

/* Readers that wait for storage: more of them than processors help, up to four on each. */
static void
test_waiting_readers(void)
{
    struct pack_error err;
    struct pack_profile usual = profile;
    (void)pack_profile_named("nfs", &profile, &err);
    params.machine.ram_bytes = 0;
    for (unsigned n_cpus = 1; n_cpus <= 3; n_cpus++) {
        profile.n_cpus = n_cpus;
        memset(&result, 0, sizeof result);
        (void)pack_advise_evaluate(&params, &today, 0, &result.rows[0], &err);
        result.n_rows = 1;
        const uint64_t most = 4 * n_cpus;
        int wrong = 0;
        for (uint64_t n = 2; n <= most + 1; n++) {
            double last = rate_of_workers(n - 1), full = rate_of_workers(n);
            params.goal.target = full > 0 ? last + 0.9 * (full - last) : 1.1 * last;
            (void)pack_advise_meet_target(&params, &result, &err);
            bool right = full > 0 ? full > last && result.target_workers == n &&
                                        result.target_rate == full
                                  : result.target_workers == 0;
            wrong += !right;
            if (!right)
                note("%.0f of %.0f to %.0f samples/s: %d workers, not %d", params.goal.target,
                     last, full, (int)result.target_workers, (int)n);
        }
        ok(wrong == 0, "of up to %d workers on %u processors as few as it takes", (int)most,
           n_cpus);
    }
    profile = usual;
    params.machine.ram_bytes = 1 << 30;
    params.goal.target = 0;
}

/* Which rows were asked for, and which is today's, is told after settling too. */
static void
test_marks(void)
{
    struct pack_error err;
    for (int asked = 0; asked < 2; asked++) {
        memset(&result, 0, sizeof result);
        result.has_now = true;
        result.now = at(100);
        result.rows[0] = rewritten(200);
        result.rows[0].is_user = true;
        result.rows[1] = rewritten(150);
        result.rows[1].config.chunk.extent[0] = 10;
        result.rows[2] = at(90);
        result.rows[2].is_now = true;
        result.rows[2].is_user = asked;
        result.n_rows = 3;
        ok(pack_advise_settle(&params, &result, &err) == PACK_OK && result.n_rows == 3 &&
               result.rows[0].is_user && !result.rows[1].is_user && result.rows[2].is_now &&
               result.rows[2].rate == 100 && result.rows[2].is_user == asked,
           "today's row says what is known of today's, and %s",
           asked ? "that it was asked for" : "not that it was asked for");
    }
}

static void
test_full_table(void)
{
    struct pack_error err;
    memset(&result, 0, sizeof result);
    result.has_now = true;
    result.now = at(100);
    result.n_rows = PACK_ADVISE_ROWS_MAX;
    for (size_t i = 0; i < result.n_rows; i++) {
        result.rows[i] = rewritten(200 - (double)i);
        result.rows[i].config.chunk.extent[0] = 10 + i;
    }
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK &&
           result.n_rows == PACK_ADVISE_ROWS_MAX && result.rows[result.n_rows - 1].is_now &&
           result.rows[result.n_rows - 2].rate == 186,
       "in a full table today's row takes the place of the last one");
    ok(strcmp(pack_advise_basis_name(PACK_ADVISE_PROVEN), "proven") == 0 &&
           strcmp(pack_advise_basis_name(PACK_ADVISE_MEASURED), "measured") == 0 &&
           strcmp(pack_advise_change_name(PACK_ADVISE_ORDER), "order") == 0 &&
           strcmp(pack_advise_change_name(PACK_ADVISE_SETTINGS), "settings") == 0,
       "what rows are called");
}

int
main(void)
{
    setup();
    test_changes();
    test_kinds();
    test_gains();
    test_lone();
    test_measured();
    test_equals();
    test_as_good();
    test_settle();
    test_mean();
    test_table();
    test_front();
    test_target();
    test_waiting_readers();
    test_marks();
    test_full_table();
    return done();
}
