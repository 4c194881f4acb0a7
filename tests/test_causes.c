/* Causes: for each facts that trigger it, and facts just short of it; the dearest first. */
#include <string.h>

#include "libpack/findings/causes.h"
#include "tests/tap.h"

static char text[PACK_CAUSE_TEXT_MAX];

/* 1000 samples of 64x64 bytes in chunks of 4 samples, all of which one worker keeps. */
static struct pack_cause_facts
facts_of(uint64_t samples, uint64_t height)
{
    const struct pack_shape extent = { 3, { 1000, 64, 64 } };
    const struct pack_shape chunk = { 3, { samples, height, 64 } };
    struct pack_cause_facts f = { .reads_whole_samples = true,
                                  .workers = 1,
                                  .counts = { .requests = 1000, .loads = 250 },
                                  .n_samples = 1000,
                                  .read_bytes = 4096,
                                  .loads_per_sample = 0.25,
                                  .amplification = 1,
                                  .hit_rate = 0.75,
                                  .stored_factor = 1 };
    pack_cache_params_defaults(&f.cache, PACK_HDF5_1_10);
    (void)pack_grid_init(&f.grid, &extent, &chunk, 1, NULL);
    return f;
}

static bool
is_cause(const struct pack_cause_facts *f, const char *name, const char *sentence)
{
    const char *got = pack_causes_find(f, text);
    bool same = name ? got && strcmp(got, name) == 0 : !got;
    if (!same || !strstr(text, sentence))
        note("%s: %s", got ? got : "none", text);
    return same && strstr(text, sentence);
}

static const char lost[] = "Nothing is lost to the layout: 1.00 bytes come from the file for "
                           "each byte wanted, in 0.25 reads a sample.";

static void
test_layout(void)
{
    struct pack_cause_facts f = facts_of(4, 64);
    ok(is_cause(&f, NULL, lost), "where nothing is lost, that is said");
    f.counts.requests = 1500;
    ok(is_cause(&f, NULL, lost), "1.5 chunks a sample are no cut");
    f.counts.requests = 1501;
    ok(is_cause(&f, "cut", "each read gathers 1.5 chunks of 16.0 KiB to make one sample of "
                           "4.0 KiB"),
       "1.501 are");
    f.reads_whole_samples = false;
    ok(is_cause(&f, "cut", "Each read of 4.0 KiB lies in 1.5 chunks"), "or a part of a sample");
    f = facts_of(4, 56); /* the second chunk has 8 of 56 rows: a seventh */
    f.counts.requests = 2000;
    ok(is_cause(&f, "cut", ""), "a second chunk of 8 rows after 56 is no narrow one");
    f = facts_of(4, 57);
    f.counts.requests = 2000;
    ok(is_cause(&f, "narrow", "Chunks cover 57 of 64 along axis 1"), "of 7 after 57 it is");
    f.reads_whole_samples = false;
    ok(is_cause(&f, "cut", ""), "but not for reads in part");
    f.reads_whole_samples = true;
    f.counts.requests = 1500;
    ok(is_cause(&f, NULL, ""), "nor where it is not read");
    f = facts_of(4, 64);
    f.stored_factor = 1.05;
    ok(is_cause(&f, NULL, ""), "5 %% beyond the data are nothing");
    f.stored_factor = 1.051;
    ok(is_cause(&f, "overhang", "make the file 1.05 times as large"), "5.1 %% are told");
    f.grid.rank = 0;
    f.loads_per_sample = 2;
    ok(is_cause(&f, "contiguous", "2 pieces and 1.00 bytes"), "contiguous data has pieces");
    f.loads_per_sample = 0.9999;
    ok(is_cause(&f, "contiguous", "1 piece and 1.00 bytes"), "or one");
}

static void
test_cache(void)
{
    struct pack_cause_facts f = facts_of(4, 64);
    f.amplification = 1.25;
    ok(is_cause(&f, NULL, ""), "a quarter more than wanted is no loss");
    f.amplification = 1.26;
    ok(is_cause(&f, "whole-chunks", "Each sample of 4.0 KiB costs 0.25 chunks of 16.0 KiB: the "
                                    "cache holds 64 of 250 chunks and this order finds 75.0 % "
                                    "of its requests there."),
       "more is");
    f.amplification = 2;
    f.hit_rate = 0.5;
    ok(is_cause(&f, "whole-chunks", "there; with a cache smaller than a chunk HDF5 would read "
                                    "only what is wanted."),
       "where half of all requests load twice what is wanted, no cache is the cure");
    f.is_filtered = true;
    ok(is_cause(&f, "whole-chunks", "requests there."), "not for filtered chunks");
    f.is_filtered = false;
    f.amplification = 1.99;
    ok(is_cause(&f, "whole-chunks", "requests there."), "nor for 1.99 times");
    f.amplification = 2;
    f.hit_rate = 0.51;
    ok(is_cause(&f, "whole-chunks", "requests there."), "nor where more than half hits");
    f.counts.evictions_collision = 25;
    ok(is_cause(&f, "whole-chunks", ""), "25 collisions in 250 loads are few");
    f.counts.evictions_collision = 26;
    ok(is_cause(&f, "collisions", "10 % of the loads push another chunk out of the same slot "
                                  "although bytes are free: 521 slots"),
       "26 come before");
    f.cache.w0 = 1;
    f.peak_bytes = 2097151;
    ok(is_cause(&f, "collisions", ""), "w0 = 1 that stays below twice its bytes does not");
    f.peak_bytes = 2097152;
    ok(is_cause(&f, "growth", "the cache of 1.0 MiB grew to 2.0 MiB."), "twice of them does");
    f.workers = 2;
    ok(is_cause(&f, "growth", "grew to 2.0 MiB in each worker."), "in each of several workers");
    f.cache.w0 = 0.99;
    ok(is_cause(&f, "collisions", ""), "and never with w0 = 0.99");
    f.counts.decodes = 250;
    f.cache.size_bytes = 16384;
    ok(is_cause(&f, "collisions", ""), "a cache for one chunk has room");
    f.cache.size_bytes = 16383;
    ok(is_cause(&f, "no-room", "A chunk of 16.0 KiB does not fit in the cache of 16.0 KiB, so "
                               "that every read of 4.0 KiB loads and decodes 0.25 whole"),
       "one byte less has none");
    f.cache.size_bytes = 1 << 20;
    f.cache.n_slots = 0;
    ok(is_cause(&f, "no-room", ""), "nor has a cache without slots");
    f.reopens = true;
    ok(is_cause(&f, "reopening", "opened by name at each read, which empties its cache each "
                                 "time: each sample of 4.0 KiB loads 0.25 chunks of 16.0 KiB."),
       "opening it anew comes before all that");
}

static void
test_decoding(void)
{
    struct pack_cause_facts f = facts_of(4, 64);
    f.is_filtered = true;
    f.decode_rate = 0.5;
    f.decodes_per_chunk = 1.05;
    ok(is_cause(&f, NULL, ""), "decoding each chunk once is as it should be");
    f.decodes_per_chunk = 3;
    ok(is_cause(&f, "decoding", "Each chunk is decoded 3 times an epoch, which takes 50 %"),
       "three times is not, where it takes half of the time");
    f.decode_rate = 0.49;
    ok(is_cause(&f, NULL, ""), "where it takes less it does not matter");
}

int
main(void)
{
    test_layout();
    test_cache();
    test_decoding();
    return done();
}
