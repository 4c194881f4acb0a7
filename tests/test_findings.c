/* Findings: for each rule facts that trigger it, and facts just short of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libpack/findings/findings.h"
#include "tests/tap.h"

enum { MAX = PACK_FINDINGS_MAX };

static struct pack_finding found[MAX];

static const struct pack_finding *
find(const struct pack_finding_facts *facts, const char *id)
{
    size_t n = pack_findings_find(facts, found, MAX);
    for (size_t i = 0; i < n; i++)
        if (strcmp(found[i].id, id) == 0)
            return &found[i];
    return NULL;
}

/* 1000 samples of 64x64 bytes in chunks of `samples`, about which nothing is wrong. */
static struct pack_finding_facts
facts_of(uint64_t samples, uint64_t height)
{
    const struct pack_shape extent = { 3, { 1000, 64, 64 } };
    const struct pack_shape chunk = { 3, { samples, height, 64 } };
    struct pack_finding_facts f = { .reads_whole_samples = true,
                                    .workers = 4,
                                    .epoch_samples = 1000,
                                    .n_samples = 250,
                                    .counts = { .requests = 250,
                                                .loads = 100,
                                                .file_read_bytes = 500 * 4096,
                                                .wanted_bytes = 250 * 4096 },
                                    .allowed_bytes = 1 << 30 };
    pack_cache_params_defaults(&f.cache, PACK_HDF5_1_10);
    (void)pack_grid_init(&f.grid, &extent, &chunk, 1, NULL);
    return f;
}

static void
test_nothing(void)
{
    struct pack_finding_facts f = facts_of(4, 64), none = { .workers = 1 };
    ok(pack_findings_find(&f, found, MAX) == 0, "nothing is found where nothing is wrong");
    ok(pack_findings_find(&none, found, MAX) == 0, "nor where nothing is known");
}

static void
test_layout(void)
{
    struct pack_finding_facts f = facts_of(4, 64);
    const struct pack_finding *w;
    f.missing_filter = 4;
    f.need = "needs szip";
    w = find(&f, "missing-filter");
    ok(w && w->severity == PACK_FINDING_HAZARD &&
           strncmp(w->evidence, "the dataset needs szip; without", 31) == 0,
       "a missing filter is named");
    f = facts_of(17, 64); /* 59 chunks for 1003 samples: 0.3 % */
    ok(!find(&f, "chunk-overhang"), "0.3 %% of overhang is not worth a word");
    f = facts_of(4, 63);
    w = find(&f, "chunk-overhang");
    ok(w && fabs(w->value - 126.0 / 64) < 1e-9 &&
           fabs(w->price_bytes - 1000 * 62 * 64) < 1 && strstr(w->evidence, "axis 1"),
       "a row too few doubles the file: %.0f bytes", w ? w->price_bytes : 0);
    f = facts_of(509, 64); /* 1018 samples */
    ok(!find(&f, "chunk-overhang"), "nor are 1.8 %%");
    f = facts_of(511, 64);
    w = find(&f, "chunk-overhang");
    ok(w && fabs(w->price_bytes - 22 * 4096) < 1e-6 &&
           strstr(w->evidence, "511 does not divide 1000 along axis 0, so that the last of 2 "
                               "chunks there holds 489 of its 511"),
       "2.2 %% are");
    f = facts_of(4, 64);
    f.counts.requests = 374;
    ok(!find(&f, "cut-samples"), "1.496 chunks a sample are no cut");
    f.counts.requests = 375;
    w = find(&f, "cut-samples");
    ok(w && w->value == 1.5 && w->price_bytes == 1000 * 4096, "1.5 are, with their bytes");
    f.reads_whole_samples = false;
    ok(!find(&f, "cut-samples"), "but not where samples are read in part");
}

static void
test_cache(void)
{
    struct pack_finding_facts f = facts_of(4, 64);
    const struct pack_finding *w;
    f.cache.w0 = 1;
    f.peak_bytes = 1.01 * 1048576;
    ok(!find(&f, "w0-one"), "w0 = 1 that keeps to its bytes is harmless");
    f.peak_bytes = 2097152;
    w = find(&f, "w0-one");
    ok(w && w->value == 2097152 && w->price_bytes == 4 * 1048576 &&
           strstr(w->evidence, "2.0 MiB, 2 times the 1.0 MiB"),
       "w0 = 1 that grows to twice of them is not");
    f.cache.w0 = 0.99;
    ok(!find(&f, "w0-one"), "nor is it w0 = 0.99");
    f = facts_of(4, 64);
    f.counts.evictions_collision = 1;
    f.enough_slots = 1009;
    f.rate_today = 1000;
    f.rate_enough = 2000;
    f.read_today = 8192;
    f.read_enough = 5000;
    w = find(&f, "slot-collisions");
    ok(w && w->value == 0.01 && fabs(w->price_bytes - 1000 * 3192.0) < 1e-6 &&
           fabs(w->price_s - 0.5) < 1e-9 &&
           strstr(w->evidence, "slot collisions: 1 % of the loads") &&
           strstr(w->evidence, "would be 2 times as fast") &&
           strstr(w->remedy, "rdcc_nslots=1009 instead of 521"),
       "one collision in 100 loads is told, with the slots that avoid it");
    f.counts.loads = 101;
    ok(!find(&f, "slot-collisions"), "one in 101 is not");
    f.counts.evictions_collision = 707;
    w = find(&f, "slot-collisions");
    ok(w && w->value == 1 && strstr(w->evidence, "100 % of the loads"),
       "chunks that are not there are not loaded, and push others out: not more than all");
    f.counts.evictions_collision = 1;
    f.counts.loads = 100;
    f.enough_slots = 521;
    ok(!find(&f, "slot-collisions"), "nor where more slots would not help");
    f.enough_slots = 1009;
    f.rate_enough = 1049;
    ok(!find(&f, "slot-collisions"), "nor where reads are hardly faster with them");
    f.rate_enough = 1050;
    f.read_enough = 9000;
    w = find(&f, "slot-collisions");
    ok(w && w->price_bytes == 0 && w->price_s > 0, "twenty in 21 of the time are enough: %.3g s",
       w ? w->price_s : -1);
    f.rate_enough = 900;
    ok(!find(&f, "slot-collisions"), "and what is slower with them is no remedy");
    f.rate_today = f.rate_enough = 0;
    ok(!find(&f, "slot-collisions"), "nor what is not known to be one");
    f = facts_of(4, 64);
    f.memory_bytes = 0.5 * (1 << 30);
    w = find(&f, "memory-times-workers");
    ok(w && strstr(w->evidence, "each of 4 workers has a cache of its own, 128.0 MiB each"),
       "half of the memory allowed is told");
    f.memory_bytes -= 1;
    ok(!find(&f, "memory-times-workers"), "less is not");
    f.memory_bytes = 1 << 30;
    f.workers = 1;
    ok(!find(&f, "memory-times-workers"), "nor with one worker");
}

static void
test_reading(void)
{
    struct pack_finding_facts f = facts_of(300, 64); /* 1.2 MiB */
    const struct pack_finding *w;
    f.rate_default_1 = 125;
    f.rate_default_2 = 100;
    w = find(&f, "bypass-cliff");
    ok(w && w->value == 1.25 && fabs(w->price_s - (1000 / 100. - 1000 / 125.)) < 1e-9 &&
           w->severity == PACK_FINDING_HAZARD,
       "1.25 times slower after an upgrade is a cliff of %.1f s an epoch",
       w ? w->price_s : 0);
    f.rate_default_1 = 124;
    ok(!find(&f, "bypass-cliff"), "1.24 times is not");
    f.rate_default_1 = 1000;
    f.is_filtered = true;
    ok(!find(&f, "bypass-cliff"), "nor is it for filtered chunks, which never pass");
    f.is_filtered = false;
    f.grid.chunk_bytes = 8 << 20;
    ok(find(&f, "bypass-cliff"), "chunks of 8 MiB fit in the cache of 2.0");
    f.grid.chunk_bytes++;
    ok(!find(&f, "bypass-cliff"), "larger ones pass that too");
    struct pack_finding_facts small = facts_of(256, 64); /* 1 MiB */
    small.rate_default_1 = 1000;
    small.rate_default_2 = 100;
    ok(!find(&small, "bypass-cliff"), "nor for chunks that fit 1 MiB");
    f = facts_of(4, 64);
    f.rate_kept = 125;
    f.rate_reopened = 100;
    w = find(&f, "reopening");
    ok(w && w->value == 1.25 && fabs(w->price_s - 2) < 1e-9, "reopening costs 2 s an epoch");
    f.rate_kept = 124;
    ok(!find(&f, "reopening"), "less is not told");
    f = facts_of(4, 64);
    f.joined_elems = 65536;
    f.rate_joined = 100;
    f.rate_apart = 125;
    w = find(&f, "scattered-batch");
    ok(w && w->value == 1.25 && fabs(w->price_s - 2) < 1e-9 && w->code == 303 &&
           strstr(w->evidence, "each of the 65536 elements of a read by itself: 1.25 times") &&
           strncmp(w->remedy, "read each sample by itself", 26) == 0,
       "scattered samples in one read that take 1.25 times as long are told");
    f.rate_apart = 124;
    ok(!find(&f, "scattered-batch"), "1.24 times are not");
    f.rate_apart = 1000;
    f.grid.rank = 0;
    w = find(&f, "scattered-batch");
    ok(w && w->value == 10 && strstr(w->evidence, "the 65536 runs along the last axis"),
       "of contiguous data it is runs along the last axis that take the time");
    f = facts_of(4, 64);
    f.is_shared_block = true;
    f.counts.loads = 94; /* of 62.5 at least */
    w = find(&f, "shared-pool");
    ok(w && fabs(w->value - 94 / 62.5) < 1e-9, "chunks loaded by 1.5 workers are told");
    f.counts.loads = 93;
    ok(!find(&f, "shared-pool"), "by 1.49 are not");
    f.counts.loads = 94;
    f.workers = 1;
    ok(!find(&f, "shared-pool"), "nor with one worker");
}

/* Where everything is wrong at once. */
static void
test_table(void)
{
    static const struct {
        int code;
        const char *id, *severity;
    } table[] = {
        { 101, "missing-filter", "hazard" },  { 201, "bypass-cliff", "hazard" },
        { 202, "w0-one", "hazard" },          { 102, "chunk-overhang", "cost" },
        { 103, "cut-samples", "cost" },       { 203, "slot-collisions", "cost" },
        { 301, "shared-pool", "cost" },       { 302, "reopening", "cost" },
        { 303, "scattered-batch", "cost" },   { 204, "memory-times-workers", "note" },
    };
    struct pack_finding_facts f = facts_of(300, 63);
    f.missing_filter = 4;
    f.rate_default_1 = f.rate_kept = f.rate_apart = 200;
    f.rate_default_2 = f.rate_reopened = f.rate_joined = 100;
    f.cache.w0 = 1;
    f.peak_bytes = 1e9;
    f.counts.requests = 1000;
    f.counts.evictions_collision = 50;
    f.enough_slots = 1009;
    f.rate_today = 1;
    f.rate_enough = 2;
    f.is_shared_block = true;
    f.memory_bytes = 1 << 30;
    size_t n = pack_findings_find(&f, found, MAX);
    bool same = n == sizeof table / sizeof *table;
    for (size_t i = 0; same && i < n; i++)
        same = found[i].code == table[i].code && strcmp(found[i].id, table[i].id) == 0 &&
               strcmp(pack_finding_severity_name(found[i].severity), table[i].severity) == 0;
    ok(same, "codes, names and severities are as the manual has them");
}

static void
test_order(void)
{
    struct pack_finding_facts f = facts_of(4, 63);
    f.memory_bytes = 1 << 30;
    size_t n = pack_findings_find(&f, found, MAX);
    ok(n == 2 && strcmp(found[0].id, "chunk-overhang") == 0 && found[0].code == 102,
       "findings come in the order of the table, with their codes");
    ok(pack_findings_find(&f, found, 1) == 1, "and no more than there is room for");
}

int
main(void)
{
    test_nothing();
    test_layout();
    test_cache();
    test_reading();
    test_table();
    test_order();
    return done();
}
