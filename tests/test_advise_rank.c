/* What the advisor makes of outcomes: constructed ones, just above and just below each
 * threshold. Nothing here depends on a model of time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "tests/tap.h"

static struct pack_profile profile;
static struct pack_advise_config today;
static struct pack_advise_params params;

/* 1000 samples of 64x64 bytes, today in chunks of 4 with the default cache. */
static void
setup(void)
{
    struct pack_error err;
    (void)pack_profile_named("nvme", &profile, &err);
    params = (struct pack_advise_params){
        .extent = { 3, { 1000, 64, 64 } },
        .elem_size = 1,
        .profile = &profile,
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 16 },
        .memory_bytes = 256 << 20,
        .ram_bytes = 1 << 30,
        .now = &today,
    };
    today = (struct pack_advise_config){ .chunk = { 3, { 4, 64, 64 } },
                                         .codec = "none",
                                         .stored_ratio = 1,
                                         .pattern = params.pattern };
    pack_cache_params_defaults(&today.cache, PACK_HDF5_1_10);
}

/* An outcome of today's configuration at a rate. */
static struct pack_advise_outcome
at(double rate)
{
    return (struct pack_advise_outcome){ .config = today,
                                         .rate = rate,
                                         .first_rate = rate,
                                         .later_rate = rate,
                                         .modelled_rate = rate,
                                         .memory_bytes = 1 << 20,
                                         .file_bytes = 4096000,
                                         .randomness = 1,
                                         .worker_samples = 1000,
                                         .first_samples = 1000,
                                         .steady_samples = 1000,
                                         .first = { .requests = 1000, .loads = 1000 },
                                         .steady = { .requests = 1000, .loads = 1000 },
                                         .first_cost = { .total_ns = 1 },
                                         .steady_cost = { .total_ns = 1 },
                                         .fits = true };
}

static struct pack_advise_outcome
rewritten(double rate)
{
    struct pack_advise_outcome o = at(rate);
    o.config.chunk.extent[0] = 8;
    return o;
}

static struct pack_advise_outcome
reset(double rate, uint64_t bytes)
{
    struct pack_advise_outcome o = at(rate);
    o.config.cache.size_bytes = bytes;
    return o;
}

static struct pack_advise_outcome
reordered(double rate, double randomness)
{
    struct pack_advise_outcome o = at(rate);
    o.config.pattern.kind = PACK_PATTERN_BLOCK;
    o.config.pattern.pool_chunks = 16;
    o.randomness = randomness;
    return o;
}

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

static void
test_gains(void)
{
    struct pack_advise_outcome slow = reset(1, 0);
    ok(chosen(rewritten(114.9), slow) == 0, "a gain of 1.149 is no reason to rewrite");
    ok(chosen(rewritten(115.1), slow) == 1, "one of 1.151 is");
    params.min_gain = 2;
    ok(chosen(rewritten(199), slow) == 0 && chosen(rewritten(201), slow) == 1,
       "unless more is asked for");
    params.min_gain = 0;
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
    struct pack_advise_outcome now = at(100), rows[2] = { now, rewritten(101) };
    now.fits = rows[0].fits = false;
    ok(pack_advise_choose(&params, &now, rows, 2) == 1,
       "what does not fit in memory today is not kept");
}

static void
test_equals(void)
{
    ok(chosen(rewritten(130), reset(124, 4 << 20)) == 2,
       "within 5 %%, settings are preferred to a rewrite");
    ok(chosen(rewritten(130), reset(123, 4 << 20)) == 1, "beyond, the rewrite wins");
    ok(chosen(reordered(130, 0.92), reset(125, 4 << 20)) == 2,
       "more randomness is preferred at equal rates");
    ok(chosen(reordered(130, 0.92), rewritten(125)) == 2, "even to no rewrite");
    ok(chosen(reset(125, 4 << 20), reset(130, 0)) == 2 &&
           chosen(reset(130, 4 << 20), reset(125, 0)) == 2,
       "no cache is plainer than one of a size of its own");
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
    ok(strstr(result.why[2], "today's 100 samples/s become 130, 1.3 times"),
       "and the gain is told");
    pack_advise_scale(&result.rows[0], &params, 0.8);
    ok(result.rows[0].basis == PACK_ADVISE_MEASURED &&
           fabs(result.rows[0].rate - 104) < 1e-9 && result.rows[0].modelled_rate == 130,
       "a measured row keeps what the model said");
    ok(pack_advise_settle(&params, &result, &err) == PACK_OK && result.rows[0].is_now &&
           result.rows[0].rate == 100,
       "measured, it gains too little: today's is kept");
    ok(strstr(result.why[2], "the fastest of what was tried reaches 1.10 times that") &&
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
    params.epochs = 10;
    ok(fabs(pack_advise_mean_rate(&params, 10, 100) - 10 / (0.1 + 0.09)) < 1e-9,
       "a run of ten epochs is the first and nine later ones");
    params.epochs = 0;
}

int
main(void)
{
    setup();
    test_changes();
    test_gains();
    test_equals();
    test_settle();
    test_mean();
    return done();
}
