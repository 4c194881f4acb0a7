/*
 * Each term of the cost model against the sum that cost.h states, worked out here by hand:
 * a machine made up so that no two of its figures are alike, and work in which one thing
 * happens at a time.
 */
#include <math.h>
#include <string.h>

#include "libpack/model/cost.h"
#include "tests/tap.h"

enum { CHUNK = 4096, PIECE = 1024, HELD = 4 << 20 }; /* four times what stays near */

/* Curves have their points where they are asked. */
static const struct pack_profile machine = {
    .n_cpus = 2,
    .call_ns = 1000,
    .chunk_ns = 300,
    .far_ns = 70,
    .run_ns = 5,
    .miss_ns = 800,
    .piece_ns = 20,
    .place_ns = 0.25,
    .walk_ns = 7,
    .walk_far_ns = 27,
    .box_ns = 9000,
    .open_ns = 6000,
    .slot_ns = 2,
    .touch_ns = 0.5,
    .copy = { 3, { CHUNK, HELD, 1 << 30 }, { 1, 4, 8 } },
    .page = { 2, { PIECE, CHUNK }, { 10, 100 } },
    .gzip_decode_ns = 11,
    .gzip_encode_ns = 1100,
    .zstd_decode_ns = 13,
    .zstd_encode_ns = 1300,
    .shuffle_decode_ns = 17,
    .fletcher32_decode_ns = 19,
    .latency_ns = 1000,
    .stream_bytes_per_s = CHUNK / 500e-9,  /* a chunk takes one reader 500 ns */
    .max_bytes_per_s = 4 * CHUNK / 2000e-9, /* four of them 2000 ns */
    .max_reads_per_s = 4 / 1800e-9,
};

static struct pack_cost
cost_of(const struct pack_cost_work *work, uint64_t readers)
{
    struct pack_cost cost;
    pack_cost_estimate(&machine, work, readers, &cost);
    return cost;
}

static void
is_ns(double got, double want, const char *sentence)
{
    if (!ok(fabs(got - want) <= 1e-6 * fabs(want), "%s", sentence))
        note("%.9g ns, not %.9g", got, want);
}

static void
test_calls(void)
{
    struct pack_cost_work w = { .n_reads = 10, .n_boxes = 10, .counts = { .requests = 10 } };
    is_ns(cost_of(&w, 1).call_ns, 10 * 1000, "ten calls of one box in one chunk");
    w.counts.requests = 13;
    w.n_boxes = 14;
    is_ns(cost_of(&w, 1).call_ns, 10 * 1000 + 3 * 300 + 4 * 9000,
          "three further chunks, four further boxes");
    w.n_opens = 2;
    w.n_slots = 50;
    is_ns(cost_of(&w, 1).call_ns, 10 * 1000 + 3 * 300 + 4 * 9000 + 2 * (6000 + 50 * 2),
          "the dataset opened twice, with 50 slots");
    w = (struct pack_cost_work){ .n_reads = 10, .n_boxes = 10, .held_bytes = HELD,
                                 .counts = { .requests = 10, .hits = 8 } };
    is_ns(cost_of(&w, 1).call_ns, 10 * 1000 + 8 * 70 * 0.75,
          "eight hits, three quarters of them far away");
    w.held_bytes = 1 << 20;
    is_ns(cost_of(&w, 1).call_ns, 10 * 1000, "in a small cache all are near");
}

static void
test_copies(void)
{
    struct pack_cost_work w = {
        .n_reads = 8,
        .n_runs = 8,
        .chunk_bytes = CHUNK,
        .held_bytes = HELD,
        .counts = { .requests = 8, .hits = 4, .loads = 3, .fills = 1, .wanted_bytes = 800 },
    };
    is_ns(cost_of(&w, 1).copy_ns, 4 * 100 * 1 + 4 * 100 * 4,
          "loaded and filled chunks are copied while near, hits from afar");
    w.n_runs = 20;
    is_ns(cost_of(&w, 1).copy_ns, 4 * 100 * 1 + 4 * 100 * 4 + 12 * 5,
          "twelve further runs");
    w.batch_bytes = HELD;
    is_ns(cost_of(&w, 1).copy_ns, 4 * 100 * 1 + 4 * 100 * 4 + 12 * 5 + 800 * (8 - 1) * 0.75,
          "into batches of which three quarters are far away, and are fetched");
    w.counts.requests = 16;
    w.counts.wanted_bytes = 1600;
    w.n_runs = 28;
    is_ns(cost_of(&w, 1).copy_ns,
          4 * 100 * 1 + 4 * 100 * 4 + 12 * 5 + (800 * (8 - 1) + 800 * 0.25) * 0.75,
          "what passes the cache, the system puts there");
    w.counts.requests = 8;
    w.counts.wanted_bytes = 800;
    w.n_runs = 20;
    w.batch_bytes = 1 << 20;
    is_ns(cost_of(&w, 1).copy_ns, 4 * 100 * 1 + 4 * 100 * 4 + 12 * 5, "small ones are near");
    w.touched_bytes = 1000;
    is_ns(cost_of(&w, 1).touch_ns, 500, "memory is touched for the first time");
}

static void
test_loads(void)
{
    struct pack_cost_work w = {
        .n_reads = 3,
        .chunk_bytes = CHUNK,
        .stored_bytes = CHUNK,
        .range_bytes = HELD,
        .counts = { .requests = 3, .loads = 3, .file_reads = 3, .file_read_bytes = 3 * CHUNK },
    };
    is_ns(cost_of(&w, 1).page_ns, 3 * (800 + 100), "three chunks out of the page cache");
    w.n_again = 2;
    w.range_bytes = CHUNK;
    is_ns(cost_of(&w, 1).page_ns, 3 * (800 + 100) - 2 * 100 * (1 - 1.0 / 8),
          "two of three return to a small range: an eighth of the reading, that cache being "
          "eight times as fast");
    w.range_bytes = HELD;
    struct pack_profile slow = machine;
    struct pack_cost cost;
    slow.page.value[1] = 100000;
    pack_cost_estimate(&slow, &w, 1, &cost);
    is_ns(cost.page_ns, 3 * (800 + 100000) - 2 * CHUNK * (8 - 4),
          "or what copying out of it gains, where that is less");
    w.range_bytes = UINT64_C(1) << 31;
    is_ns(cost_of(&w, 1).page_ns, 3 * (800 + 100), "nothing, in a range as large as memory");
    w.n_searched = 24 * 1024 * 1024 / 280;
    is_ns(cost_of(&w, 1).page_ns, 3 * (800 + 100), "searched for in a small tree");
    w.n_searched = 4 * 24 * 1024 * 1024 / 280.0;
    is_ns(cost_of(&w, 1).page_ns, 3 * (800 + 6 * 70 * 0.75 + 100),
          "in a large one, three quarters of six looks are far away");
    w.n_searched = w.n_again = 0;
    w.held_bytes = HELD;
    is_ns(cost_of(&w, 1).page_ns, 3 * (800 + 100) + 3 * CHUNK * 0.25 * 0.75,
          "three quarters of their bytes go to memory far away");
    w.counts.decodes = 3;
    w.decode_ns = 1.5;
    is_ns(cost_of(&w, 1).decode_ns, 3 * CHUNK * 1.5, "three are decoded");
}

/* Loads wait for storage: its latency and bytes, or what all readers share. */
static void
test_storage(void)
{
    struct pack_cost_work w = {
        .n_reads = 10,
        .chunk_bytes = CHUNK,
        .stored_bytes = CHUNK,
        .counts = { .requests = 10, .loads = 10, .file_reads = 10,
                    .file_read_bytes = 10 * CHUNK },
    };
    is_ns(cost_of(&w, 1).storage_ns, 10 * 1500, "one reader waits for latency and bytes");
    is_ns(cost_of(&w, 4).storage_ns, 10 * 2000, "four for the bytes of all");
    w.stored_bytes = CHUNK / 4;
    w.counts.file_read_bytes = 10 * CHUNK / 4;
    is_ns(cost_of(&w, 4).storage_ns, 10 * 1800, "of small chunks for the reads of all");
    w.page_cache_rate = 0.75;
    is_ns(cost_of(&w, 4).storage_ns, 10 * 1800 / 4.0, "a quarter of them, when the rest is near");
    w.page_cache_rate = 0;
    w.is_sequential = true;
    is_ns(cost_of(&w, 1).storage_ns, 10 * 125, "in order for bytes alone");
    is_ns(cost_of(&w, 4).storage_ns, 10 * 500, "those of all");
    struct pack_cost c = cost_of(&w, 4);
    is_ns(c.cpu_ns, c.call_ns + c.copy_ns + c.page_ns + c.decode_ns + c.walk_ns + c.touch_ns,
          "the processor's terms add up");
    is_ns(c.total_ns, c.cpu_ns + 10 * 500, "with storage to the total");
}

/* Reads past the cache: four visits to chunks, in twelve pieces of 4 KiB together. */
static void
test_direct(void)
{
    struct pack_cost_work w = {
        .n_reads = 4,
        .chunk_bytes = 1 << 20,
        .counts = { .requests = 4, .bypass_visits = 4, .file_reads = 12,
                    .file_read_bytes = 4 * PIECE },
    };
    is_ns(cost_of(&w, 1).page_ns, 4 * (800 + 10) + 8 * 20,
          "four visits, and eight further pieces");
    is_ns(cost_of(&w, 1).storage_ns, 12 * (1000 + 500 / 12.0),
          "twelve pieces in 1 MiB are requests of their own");
    w.chunk_bytes = 256 << 10;
    const double ahead_ns = 128 * 1024 * 500.0 / CHUNK;
    is_ns(cost_of(&w, 1).storage_ns, 8 * (1000 + ahead_ns),
          "in 256 KiB, twice what is read ahead, two for each visit, of as much");
    w.visit_bytes = 20 << 10;
    is_ns(cost_of(&w, 1).storage_ns, 4 * (1000 + ahead_ns * 40 / 128),
          "within 20 KiB of these one, which reads as far again");
    w.visit_bytes = 100 << 10;
    is_ns(cost_of(&w, 1).storage_ns, 4 * (1000 + ahead_ns),
          "within 100 no more than is read ahead");
    w.visit_bytes = 0;
    w.counts.file_reads = 4;
    is_ns(cost_of(&w, 1).storage_ns, 4 * (1000 + 500 / 4.0), "one piece is one request");
    w.chunk_bytes = 1 << 20;
    w.stored_bytes = CHUNK;
    w.counts.loads = 2;
    w.counts.requests = 6;
    w.counts.file_reads = 2 + 12;
    w.counts.file_read_bytes = 2 * CHUNK + 4 * PIECE;
    is_ns(cost_of(&w, 1).page_ns, 2 * (800 + 100) + 4 * (800 + 10) + 8 * 20,
          "two chunks are loaded beside, which are no pieces");
    is_ns(cost_of(&w, 1).storage_ns, 2 * 1500 + 12 * (1000 + 500 / 12.0),
          "and whose bytes are no part of theirs");
    w.n_searched = 4 * 24 * 1024 * 1024 / 280.0;
    is_ns(cost_of(&w, 1).page_ns, 2 * (800 + 100) + 4 * (800 + 10) + 8 * 20 + 6 * (6 * 70 * 0.75),
          "each of the six is searched for");
}

static void
test_walk(void)
{
    struct pack_cost_work w = { .chunk_bytes = CHUNK,
                                .held_bytes = 512.0 * CHUNK,
                                .counts = { .walk_steps = 100 } };
    is_ns(cost_of(&w, 1).walk_ns, 100 * 7, "512 entries are near");
    w.held_bytes = HELD / 350.0 * CHUNK; /* 4 MiB of entries of 350 bytes */
    is_ns(cost_of(&w, 1).walk_ns, 100 * (7 + 20 * 0.75), "of 11984, three quarters are far");
}

/* libpack's reader: no library between. */
static void
test_reader(void)
{
    struct pack_cost_reader_work w = { .n_batches = 2, .n_visits = 30, .page_cache_rate = 1 };
    struct pack_cost cost;
    pack_cost_reader(&machine, &w, 4, &cost);
    is_ns(cost.total_ns, 1000 * (0.2 * 30 + 8 * 2), "reader: visits and batches");
    w = (struct pack_cost_reader_work){ .n_reads = 5, .read_bytes = 5 * PIECE };
    pack_cost_reader(&machine, &w, 4, &cost);
    is_ns(cost.page_ns, 5 * 10, "reader: reads out of the page cache");
    is_ns(cost.storage_ns, 5 * fmax(1000 + 125, 1800), "reader: and out of storage, of four");
    is_ns(cost.total_ns, 5 * 10 + 5 * 1800, "reader: one behind the other");
    w.page_cache_rate = 0.75;
    w.is_sequential = true;
    pack_cost_reader(&machine, &w, 1, &cost);
    is_ns(cost.storage_ns, 0.25 * 5 * 125, "reader: a quarter of them, read ahead");
    w = (struct pack_cost_reader_work){ .n_loads = 3,
                                        .load_bytes = 3 * PIECE,
                                        .n_hits = 5,
                                        .copy_bytes = 8 * 100,
                                        .chunk_bytes = CHUNK,
                                        .held_bytes = HELD,
                                        .decode_ns = 13,
                                        .page_cache_rate = 1 };
    pack_cost_reader(&machine, &w, 4, &cost);
    is_ns(cost.page_ns, 3 * 10, "reader: chunks read as they are stored");
    is_ns(cost.decode_ns, 3 * CHUNK * 13.0, "reader: decoded");
    is_ns(cost.copy_ns, 3 * 100 * 1 + 5 * 100 * 4, "reader: copied out, from near and from far");
    is_ns(cost.cpu_ns, cost.page_ns + cost.decode_ns + cost.copy_ns, "reader: which is all");
    w.batch_bytes = HELD;
    w.n_reads = 1;
    w.read_bytes = PIECE;
    pack_cost_reader(&machine, &w, 4, &cost);
    is_ns(cost.copy_ns,
          3 * 100 * 1 + 5 * 100 * 4 + (8 * 100 * (8 - 1) + PIECE * 0.25) * 0.75,
          "reader: what is copied and what is read go to batches far away");
    w = (struct pack_cost_reader_work){ .n_short_runs = 1000, .n_runs = 10, .n_visits = 4 };
    pack_cost_reader(&machine, &w, 4, &cost);
    is_ns(cost.copy_ns, 1000 * (0.0005 * 1000 + 0.005 * 10), "reader: run by run");
    is_ns(pack_cost_reader_most(&machine, &w), 1e9 / (0.75 * 1000 * 4),
          "reader: visits are planned one after another");
    w.n_visits = 0;
    ok(isinf(pack_cost_reader_most(&machine, &w)), "reader: where there are some");
}

static void
test_rates(void)
{
    const struct pack_cost cost = { .cpu_ns = 80, .total_ns = 100 };
    is_ns(pack_cost_rate(&machine, &cost, 5, 1), 5e9 / 100, "one worker takes its own time");
    is_ns(pack_cost_rate(&machine, &cost, 5, 2), 5e9 / 50, "two take half");
    is_ns(pack_cost_rate(&machine, &cost, 5, 9), 5e9 * 2 / 80, "nine share two processors");
    is_ns(pack_cost_page_cache_rate(PACK_COST_PERMUTED, 100, 60), 0.6 + 0.4 * log(0.4),
          "of a permuted file, 60 % in memory find less than that");
    is_ns(pack_cost_page_cache_rate(PACK_COST_INDEPENDENT, 100, 60), 0.6, "draws find it");
    ok(pack_cost_page_cache_rate(PACK_COST_SEQUENTIAL, 100, 99) == 0 &&
           pack_cost_page_cache_rate(PACK_COST_PERMUTED, 100, -1) == 0 &&
           pack_cost_page_cache_rate(PACK_COST_SEQUENTIAL, 100, 100) == 1,
       "an order nothing, until all of it fits");
}

static void
test_pipelines(void)
{
    static const struct {
        const char *text;
        double ns, copied_ns, small_ns;
    } cases[] = { { "none", 0, 0, 0 },
                  { "gzip:9", 11, 1.1, 11 * 0.5 },
                  { "zstd:3", 13, 1.3, 13 * 0.55 },
                  { "shuffle", 17, 17, 17 },
                  { "fletcher32", 19, 19, 19 },
                  { "shuffle+gzip", 28, 18.1, 17 + 11 * 0.5 },
                  { "zstd+fletcher32", 32, 20.3, 19 + 13 * 0.55 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_pipeline pipeline = { 0 };
        (void)pack_pipeline_parse(cases[i].text, 2, &pipeline, NULL);
        ok(pack_cost_decode_ns(&machine, &pipeline, 0.99) == cases[i].ns,
           "%s takes %g ns a byte", cases[i].text, cases[i].ns);
        is_ns(pack_cost_decode_ns(&machine, &pipeline, 1), cases[i].copied_ns,
              "and where nothing could be compressed");
        is_ns(pack_cost_decode_ns(&machine, &pipeline, 0.1), cases[i].small_ns,
              "and where a tenth is left of it");
        is_ns(pack_cost_decode_ns(&machine, &pipeline, 0), cases[i].ns,
              "and where nobody knows how much");
    }
}

int
main(void)
{
    test_calls();
    test_copies();
    test_loads();
    test_storage();
    test_direct();
    test_walk();
    test_reader();
    test_rates();
    test_pipelines();
    return done();
}
