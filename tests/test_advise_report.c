/*
 * What reports of h5advise print, against a result made up here: every number has a value
 * of its own, so that one in the wrong place, of the wrong unit or off by one shows.
 */
#include "libpack/advise/report_advise.h"
#include "tests/made_up.h"

static struct pack_profile profile;
static struct pack_advise_params params;
static struct pack_advise_result result;
static struct pack_measured measured;

static const char *const sentences[] = { "First the layout.", "Then the cache.",
                                         "Last the speed." };

/* An outcome whose numbers begin at `from`. */
static struct pack_advise_outcome
outcome(uint64_t from)
{
    double d = (double)from;
    struct pack_advise_outcome o = {
        .config = { .chunk = { 3, { from, 64, 64 } },
                    .codec = "none",
                    .stored_rate = 1 + d / 1000,
                    .pattern = { .kind = PACK_PATTERN_SHUFFLE },
                    .cache = { 521 + from, (1 << 20) + from, 0.75, PACK_HDF5_1_10 } },
        .is_exact = true,
        .n_simulated = 3000 + from,
        .worker_samples = 500 + d,
        .first_samples = 510 + d,
        .steady_samples = 1000 + d,
        .rate = 1000 + d,
        .first_rate = 500 + d,
        .later_rate = 1100 + d,
        .modelled_rate = 1200 + d,
        .gain_low = 1.5 + d / 100,
        .gain_high = 2.5 + d / 100,
        .hit_rate = 0.25 + d / 1000,
        .loads_per_sample = 2.5 + d / 100,
        .bytes_per_sample = 5000 + 100 * d,
        .amplification = 1.25 + d / 100,
        .memory_bytes = (20 << 20) + d * (1 << 20),
        .file_bytes = (100 << 20) + d * (1 << 20),
        .randomness = 0.5 + d / 100,
        .shared_chunks = 70 + from,
        .class_mixing = 0.6 + d / 100,
        .page_cache_rate = 0.7 + d / 100,
        .lru_hit_rate = 0.3 + d / 100,
        .belady_hit_rate = 0.4 + d / 100,
        .fits = true,
    };
    number(&o.first.requests, sizeof o.first / 8, 10000 * from);
    number(&o.steady.requests, sizeof o.steady / 8, 20000 * from);
    o.first.hits = o.first.requests / 5;
    o.first.loads = o.first.requests / 2;
    double *cost = (double *)&o.steady_cost;
    for (size_t i = 0; i < sizeof o.steady_cost / sizeof *cost; i++)
        cost[i] = (d + (double)i) * o.steady_samples;
    return o;
}

static void
fill_map(struct pack_advise_map *map)
{
    *map = (struct pack_advise_map){ .n_chunks = 3,
                                     .n_caches = 2,
                                     .samples_per_chunk = { 1, 4, 16 },
                                     .chunk_bytes = { 4096, 16384, 65536 },
                                     .cache_bytes = { 1 << 20, 16 << 20 } };
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            map->hit_rate[i][j] = 0.06 + 0.15 * (3 * i + j);
            map->rate[i][j] = 1000 * (3 * i + j + 1);
        }
}

static void
fill(void)
{
    (void)pack_profile_named("nvme", &profile, NULL);
    profile.n_cpus = 6;
    params = (struct pack_advise_params){
        .data.extent = { 3, { 10240, 64, 64 } },
        .data.elem_size = 2,
        .machine.profile = &profile,
        .reading.pattern = { .kind = PACK_PATTERN_SHUFFLE,
                             .batch = 16,
                             .workers = 3,
                             .seed = 77 },
        .reading.epochs = 12,
        .machine.memory_bytes = 96 << 20,
        .machine.ram_bytes = UINT64_C(3) << 30,
        .goal.min_gain = 1.3,
        .goal.target = 9000,
    };
    memset(&result, 0, sizeof result);
    result.has_now = true;
    result.now = outcome(1);
    result.now.is_now = true;
    strcpy(result.cause, "This is the cause.");
    result.has_versions = true;
    result.version_1 = outcome(2);
    result.version_2 = outcome(3);
    result.version_1.rate = 1051;
    result.version_2.rate = 1000;
    result.n_rows = 3;
    result.rows[0] = outcome(8);
    result.rows[0].config.pattern = (struct pack_pattern){ .kind = PACK_PATTERN_BLOCK,
                                                           .pool_chunks = 24 };
    result.rows[0].rate = 2502.5; /* 2.5 times today's 1001 */
    result.rows[0].first_rate = 1503;
    result.rows[0].later_rate = 2202;
    result.rows[0].change = PACK_ADVISE_REWRITE;
    result.rows[0].basis = PACK_ADVISE_MEASURED;
    strcpy(result.rows[0].config.codec, "zstd:3");
    result.rows[1] = result.now;
    result.rows[2] = outcome(4);
    result.rows[2].is_front = true;
    result.rows[2].is_exact = false;
    for (int i = 0; i < PACK_ADVISE_WHY; i++)
        strcpy(result.why[i], sentences[i]);
    result.n_candidates = 901;
    result.n_bounded = 802;
    result.n_sampled = 73;
    result.n_exact = 14;
    result.n_visits = 5500000;
    result.n_warnings = 1;
    result.warnings[0] = (struct pack_advise_warning){ "w0-one", 202, "hazard", 3.5, 41, 0.5,
                                                       "today grows", "less of it" };
    result.n_choice_warnings = 1;
    result.choice_warnings[0] = (struct pack_advise_warning){
        "chunk-overhang", 102, "cost", 1.75, 42, 0.25, "the choice hangs over", ""
    };
    result.target_workers = 7;
    result.target_rate = 9100;
    result.target_echo = 3.6;
    fill_map(&result.map);
    measured = (struct pack_measured){ .resident_rate = 0.36,
                                       .storage_measured = true,
                                       .has_now = true,
                                       .now_first = 701,
                                       .now_later = 802,
                                       .modelled_first = 903,
                                       .modelled_later = 1604,
                                       .n_rounds = 11,
                                       .n_samples = 4321,
                                       .n_rows = 2,
                                       .now_ratio = 0.9,
                                       .elapsed_ns = 1234567 };
}

static struct pack_report_advise
report(void)
{
    return (struct pack_report_advise){ .program = "h5advise",
                                        .version = "9.8.7",
                                        .subject = "train.h5:/images",
                                        .type = "uint16",
                                        .file = "train.h5",
                                        .dataset = "images",
                                        .pattern = "shuffle",
                                        .hdf5_version = "1.10",
                                        .code = "h5py",
                                        .measured = &measured,
                                        .params = &params,
                                        .result = &result };
}

/* The report as text; in `buf` until the next. */
static const char *
print(struct pack_buf *buf, const struct pack_report_advise *r, bool lines)
{
    buf->size = 0;
    if (pack_report_advise_text(r, buf, NULL) != PACK_OK)
        return "";
    return text_of(buf, lines);
}

/* --------------------------------------------------------------------- text */

static void
test_text(void)
{
    static const char *const pieces[] = {
        "BEST chunks 8x64x64, compression zstd:3, block 24, rdcc_nbytes=1048584 (1.0M) "
        "rdcc_nslots=529 rdcc_w0=0.75: 2502 samples/s, 2.5 times today's ",
        "12 epochs; the first 1503 samples/s, later ones 2202: 3 and 2 times today's ",
        "FOR train.h5:/images 10240x64x64 uint16, 80M ",
        "shuffle, batch 16, 3 workers, caches up to 96M in all, page cache 3.0G, storage "
        "nvme (assumed figures), 6 processors, HDF5 1.10 ",
        "NOW chunks 1x64x64, compression none, cache 1.0M in 522 slots, w0 0.75 ",
        "1001 samples/s (first epoch 501, later 1101), hit rate 25.1 %, 2.51 loads and "
        "5.0K bytes a sample (1.26 times what is wanted), 21M of memory ",
        "measured on this file, now: 701 samples/s, later epochs 802; the model alone "
        "says 1604 there, 2 times as much ",
        "36 % of the file lay in the page cache; storage figures are measured, past the "
        "page cache ",
        "hit rate of the first epoch: HDF5 20.0 %, least recently used 31.0 %, the best "
        "that any policy could do 41.0 % ",
        "a batch holds 61 % of the classes that a uniformly drawn one does This is the "
        "cause. ",
        "defaults of HDF5 1.x (1 MiB): 1051 samples/s; of 2.x (8 MiB): 1000 ",
        "Rates with m: measured on this machine, 4321 samples written in that layout and "
        "read up to 11 times in turns with today's; the others are predicted. ",
        "WHY First the layout. Then the cache. Last the speed. hit rate of the first "
        "epoch: HDF5 20.0 %, least recently used 38.0 %, the best that any policy could "
        "do 48.0 % a batch holds 68 % of",
        "TARGET 9000 samples/s take 7 workers of the first row, which reach 9100 ",
        "MIND of the choice: the choice hangs over MIND today: today grows ",
        "HOW 901 candidates: 802 dropped by bounds in closed form, 73 simulated in part, "
        "14 in full (the rows above, at least the first 0.003 million of 0.000504 million "
        "reads an epoch of one worker, to which all others are alike); 5.5 million chunk "
        "visits; seed 77 ",
        "Counts are exact for HDF5 1.10; times come from the cost model and the measured "
        "processor. ",
    };
    static const char *const lines[] = {
        /* chunk, codec, order, cache, rate and its basis, hits, loads, bytes, memory,
         * file, randomness */
        "*8x64x64       zstd:3 block 24   1.0M    2502m 25.8   2.58  5.7K  28M 108M 0.58\n",
        "=1x64x64       none   shuffle    1.0M    1001  25.1   2.51  5.0K  21M 101M 0.51\n",
        "+4x64x64       none   shuffle    1.0M    1004  25.4   2.54  5.3K  24M 104M 0.54\n",
        "hit rate, 0 to 9 tenths, by samples per chunk and cache per worker\n"
        "            1     4    16\n"
        "   16M    +5+   *6*   %8%\n"
        "  1.0M     0    :2:   -3-\n",
    };
    struct pack_buf text = { 0 };
    struct pack_report_advise r = report();
    is_number(missing(print(&text, &r, false), pieces, sizeof pieces / sizeof *pieces), 0,
              "every number of the text is the one that was made up");
    is_number(missing(print(&text, &r, true), lines, sizeof lines / sizeof *lines), 0,
              "and every column of table and chart");
    const char *line = (const char *)text.data;
    bool narrow = true;
    for (size_t n; *line && strstr(line, "--- "); line += n + (line[n] == '\n')) {
        n = strcspn(line, "\n");
        narrow = narrow && n <= 80;
    }
    ok(narrow, "in lines of at most 80 columns, code apart");
    pack_buf_done(&text);
}

/* Of libpack's reader, where it is faster than today's settings. */
static void
test_engine(void)
{
    static const char *const pieces[] = {
        "READER libpack's own reader, 5 threads without HDF5's lock, of the file as it is: "
        "2102 samples/s, 2.1 times today's, predicted; later epochs 2203: 0.35 reads or "
        "decoded chunks and 4.5K bytes a sample, 62.5 % of visits find their chunk decoded ",
        "h5readbench train.h5:/images --engine libpack \\ --pattern shuffle --workers 3 "
        "--batch 16 --epochs 12 \\ --seed 77 --memory 100663296 TARGET ",
    };
    static const struct pack_advise_engine made = {
        .is_known = true,
        .forecast = { .engine = "pread", .n_threads = 5, .n_slots = 6 },
        .hit_rate = 0.625,
        .loads_per_sample = 0.35,
        .bytes_per_sample = 4600,
        .rate = 2102.1,
        .first_rate = 2001,
        .later_rate = 2203,
        .gain_low = 1.9,
        .gain_high = 2.2,
    };
    struct pack_advise_engine engine = made;
    struct pack_buf text = { 0 };
    struct pack_report_advise r = report();
    fill();
    r.engine = &engine;
    is_number(missing(print(&text, &r, false), pieces, sizeof pieces / sizeof *pieces), 0,
              "libpack's reader has a paragraph of its own, with the command");
    engine.basis = PACK_ADVISE_MEASURED;
    engine.forecast.n_slots = 0;
    const char *s = print(&text, &r, false);
    ok(strstr(s, "2.1 times today's, measured (1.9 to 2.2); later epochs") &&
           !strstr(s, "visits find") && strstr(s, "4.5K bytes a sample h5readbench"),
       "measured with its interval; nothing is decoded of what has no filters");
    engine.gain_low = engine.gain_high = 0;
    ok(strstr(print(&text, &r, false), "2.1 times today's, measured; later epochs") != NULL,
       "or without one");
    measured.later_unseen = true;
    s = print(&text, &r, false);
    ok(strstr(s, "now: 701 samples/s where it was read for the first time; the model alone says "
                 "903 there, 1.29 times as much") &&
           !strstr(s, "later epochs 802"),
       "later epochs that were not seen of a cold file are not told");
    measured.later_unseen = false;
    engine.rate = 1.049 * result.now.rate;
    ok(!strstr(print(&text, &r, false), "READER"), "no word of a reader that gains nothing");
    engine.rate = 1.051 * result.now.rate;
    ok(strstr(print(&text, &r, false), "READER") != NULL, "from a twentieth on it is told");
    engine.is_known = false;
    ok(!strstr(print(&text, &r, false), "READER"), "nor of one that cannot read it");
    pack_buf_done(&text);
}

static void
test_training(void)
{
    struct pack_trace_job job = {
        .workers = 3, .is_replayed = true, .box_ns = 2e6, .read_ns = 1.5e6
    };
    struct pack_buf text = { 0 };
    struct pack_report_advise r = report();
    fill();
    ok(!strstr(print(&text, &r, false), "the training that was recorded"),
       "no word of a training that was not recorded");
    r.recorded = &job;
    result.rows[0].is_now = false;
    result.rows[0].rate = 3 * result.now.rate;
    const char *s = print(&text, &r, false);
    if (!ok(strstr(s, "the training that was recorded: 1500 samples/s, 75 % of its workers' time "
                      "reading; 3000 with this, 2 times as many, predicted ") != NULL,
            "what the choice makes of the training that was recorded"))
        note("%.600s", s);
    job.parents = 1, job.parent_busy = 0.25, job.read_ns = 0.96 * job.box_ns;
    ok(strstr(print(&text, &r, false), "96 % of its workers' time reading, 25 % of the time of the "
                                       "process that trains working; 4167 with this, at least 2.78 "
                                       "times as many") != NULL,
       "what the process that trains does, and a gain that is a bound");
    job.parents = 0, job.parent_busy = 0;
    job.read_ns = 0.2609 * job.box_ns; /* 1.353 at most */
    ok(!strstr(print(&text, &r, false), "No way of reading"), "more is to be had");
    params.goal.min_gain = 1.36;
    ok(strstr(print(&text, &r, false), "No way of reading makes it more than 1.35 times as fast"),
       "or too little for a rewrite");
    result.rows[0].is_now = true;
    struct pack_advise_training t = { .gain = 0 };
    ok(!strstr(print(&text, &r, false), "with this") && pack_report_training(&r, &t) &&
           t.gain == 1,
       "nothing changes where nothing is changed");
    pack_buf_done(&text);
    fill();
}

/* What differs from the first report where something else is so. */
static void
test_variants(void)
{
    struct pack_buf text = { 0 };
    struct pack_report_advise r = report();
    const char *s;
    result.version_1.rate = 1049;
    result.version_2.rate = 1000;
    ok(!strstr(print(&text, &r, false), "defaults of HDF5"),
       "versions that differ by less than 5 %% are not told apart");
    result.version_1.rate = 1000;
    result.version_2.rate = 1051;
    ok(strstr(print(&text, &r, false), "(1 MiB): 1000 samples/s; of 2.x (8 MiB): 1051"),
       "the later one may be the faster");
    measured.storage_measured = false;
    measured.proven = true;
    result.rows[0].basis = PACK_ADVISE_PROVEN;
    s = print(&text, &r, false);
    ok(strstr(s, "storage figures are assumed ") && strstr(s, "Rates with p: proven on") &&
           strstr(s, " 2502p"),
       "proven rates are called so, assumed storage too");
    params.machine.is_warm = true;
    params.reading.workers_end = true;
    profile.is_measured = true;
    s = print(&text, &r, false);
    ok(strstr(s, "storage figures are not needed ") &&
           strstr(s, "3 workers that end with each epoch, caches") &&
           strstr(s, "nvme (measured), 6") && strstr(s, "and the measured profile."),
       "a file in the page cache needs no storage");
    bool calm = !strstr(s, "Rounds of one row differ");
    double high = result.rows[1].gain_high;
    result.rows[1].gain_high = 3 * result.rows[1].gain_low;
    calm = calm && !strstr(print(&text, &r, false), "Rounds of one row differ");
    result.rows[1].gain_high = 3.01 * result.rows[1].gain_low;
    ok(calm && strstr(print(&text, &r, false), "Rounds of one row differ by more than 3"),
       "rounds that differ widely are remarked on");
    result.rows[1].gain_high = high;
    strcpy(measured.why_not, "a layout could not be tried: no room");
    ok(strstr(print(&text, &r, false), "Not all could be measured: a layout could not be"),
       "what could not be measured is said with the reason");
    measured.n_rows = 0;
    measured.processor_assumed = true;
    profile.is_measured = false;
    s = print(&text, &r, false);
    ok(strstr(s, "All rates of the table are predictions of the model, none was measured: a") &&
           strstr(s, "assumed figures (measure with"),
       "where nothing was measured it says so, and why");
    profile.is_measured = true;
    s = print(&text, &r, false);
    ok(strstr(s, "and the measured storage; the processor is assumed (measure with") &&
           !strstr(s, "measured profile"),
       "a file's storage alone is no measured profile");
    profile.is_measured = false;
    measured.why_not[0] = '\0';
    measured.processor_assumed = false;
    r.measured = NULL;
    s = print(&text, &r, false);
    ok(strstr(s, "All rates are predicted, for assumed times.") &&
           !strstr(s, "measured on this file"),
       "and where nobody tried");
    r.hdf5_version = "2.3";
    ok(strstr(print(&text, &r, false), "HDF5 2.3: counts are those of 2.1 and may differ"),
       "a version that nobody compared is named");
    fill();
    result.target_workers = 0;
    s = print(&text, &r, false);
    ok(strstr(s, "9000 samples/s are out of reach of the first row on this storage, 6 "
                 "processors and the memory allowed: it gives 2502; using each sample "
                 "3.60 times (echo)"),
       "a target out of reach is told with the echo that makes up for it");
    result.target_is_reached = true;
    ok(strstr(print(&text, &r, false), "TARGET 9000 samples/s are reached: 2502 "),
       "one that is reached with the rate");
    result.rows[0] = result.now;
    s = print(&text, &r, false);
    ok(strstr(s, "KEEP chunks 1x64x64") && strstr(s, "1001 samples/s, as it is today ") &&
           strstr(s, "later ones 1101 ") && strstr(s, "MIND the choice hangs over") &&
           !strstr(s, "today grows"),
       "what is kept is not compared with itself, nor warned of twice");
    fill();
    r.is_what_if = true;
    s = print(&text, &r, false);
    ok(strstr(s, "WHAT IF chunks 8x64x64") && strstr(s, "rdcc_w0=0.75: 2502 samples/s 12") &&
           strstr(s, "2502 samples/s (first epoch 1503, later 2202), hit rate 25.8 %") &&
           strstr(s, "HOW one configuration, "),
       "a what-if is one configuration, compared with nothing");
    fill();
    r.is_what_if = false;
    for (size_t i = 1; i <= 2; i++) {
        result.rows[i].is_exact = false;
        result.rows[i].worker_samples = 8e6;
        result.rows[i].n_simulated = i * 2000000;
        result.rows[3 - i].n_simulated = 5000000 - i;
        const char *least = i == 1 ? "the first 2 million of 8 million reads"
                                   : "the first 4 million of 8 million reads";
        ok(strstr(print(&text, &r, false), least),
           "of rows that were simulated in part the least is told, the %s of two",
           i == 1 ? "first" : "second");
    }
    fill();
    result.rows[0].fits = false;
    result.now.fits = false;
    result.now.config.reopen = true;
    result.rows[0].config.cache.n_slots = 0;
    result.rows[0].rate = 123456;
    result.rows[2].config.chunk.rank = 0;
    result.rows[2].rate = 99999.4;
    result.rows[1].rate = 12.345;
    result.rows[1].config.pattern.kind = PACK_PATTERN_BLOCK;
    result.rows[1].config.pattern.local = true;
    s = print(&text, &r, true);
    ok(strstr(s, "\n*8x64x64       zstd:3 block 24    off    123Km 25.8") &&
           strstr(s, "\n+contiguous    none   shuffle       -   99999  25.4") &&
           strstr(s, "\n=1x64x64       none   local 32   1.0M    12.3  25.1"),
       "rates of any size fit, no cache is off, no chunks have none");
    s = print(&text, &r, false);
    ok(strstr(s, "21M of memory, more than there is: it ends before the first epoch does") &&
           strstr(s, "w0 0.75, opened by name at each read"),
       "what does not fit, and what is opened again, is told");
    fill();
    ok(!strstr(print(&text, &r, false), "two workers' shares"), "only a local order has shares");
    result.rows[0].config.pattern.local = true;
    ok(strstr(print(&text, &r, false), "chunks that lie across two workers' shares, and are "
                                       "loaded by both: 78"),
       "with the number of chunks that are loaded twice");
    fill();
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            result.map.hit_rate[i][j] = 0.09;
    result.map.rate[1][2] = 12345;
    s = print(&text, &r, true);
    ok(strstr(s, "samples/s of later epochs, by samples") &&
           strstr(s, "   16M   4.0K  5.0K   12K\n  1.0M   1.0K  2.0K  3.0K\n"),
       "where nothing is hit the chart shows rates");
    fill();
    pack_buf_done(&text);
}

/* One of each. */
static void
test_one(void)
{
    struct pack_buf text = { 0 };
    struct pack_report_advise r = report();
    params.reading.epochs = params.reading.pattern.workers = profile.n_cpus = 1;
    params.reading.workers_end = true;
    result.now.config.cache.n_slots = 1;
    result.n_candidates = result.target_workers = 1;
    measured.n_samples = measured.n_rounds = 1;
    const char *s = print(&text, &r, false);
    ok(!strstr(s, "later ones") && strstr(s, " 1 worker that ends with each epoch,") &&
           strstr(s, " 1 processor, HDF5") && strstr(s, " in 1 slot, w0") &&
           strstr(s, " take 1 worker of the first row, which reaches ") &&
           strstr(s, "1 sample written in that layout and read up to 1 time in turns") &&
           strstr(s, "HOW 1 candidate: ") && !plural_of_one(s),
       "one of anything stands in the singular%s%.20s", plural_of_one(s) ? ", but " : "",
       plural_of_one(s) ? plural_of_one(s) : "");
    result.target_workers = 0;
    s = print(&text, &r, false);
    ok(strstr(s, "on this storage, 1 processor and the memory") && !plural_of_one(s),
       "where a target is out of reach too");
    ok(plural_of_one("in 1 slots") && plural_of_one("1 batches of") &&
           !plural_of_one("21 slots") && !plural_of_one("1 is") && !plural_of_one("1 sample a"),
       "which would show");
    pack_buf_done(&text);
    fill();
}

/* Options are the program's. */
static void
test_options(void)
{
    static const struct pack_option_word words[] = { { "calibrate", "--measure-it" },
                                                     { NULL, NULL } };
    struct pack_buf text = { 0 };
    struct pack_report_advise r = report();
    r.measured = NULL;
    ok(strstr(print(&text, &r, false), "assumed figures (measure with calibrate)."),
       "a parameter goes by its name");
    r.options = words;
    ok(strstr(print(&text, &r, false), "assumed figures (measure with --measure-it)."),
       "or by that of the option that the program has for it");
    pack_buf_done(&text);
}

/* --------------------------------------------------------------------- JSON */

#define OUTCOME(path, o)                                                            \
    { path ".chunk.0", (double)(o).config.chunk.extent[0] },                        \
    { path ".stored_rate", (o).config.stored_rate },                               \
    { path ".rdcc_nbytes", (double)(o).config.cache.size_bytes },                   \
    { path ".rdcc_nslots", (double)(o).config.cache.n_slots },                      \
    { path ".rdcc_w0", (o).config.cache.w0 }, { path ".samples_per_s", (o).rate },  \
    { path ".first_epoch_samples_per_s", (o).first_rate },                          \
    { path ".later_epochs_samples_per_s", (o).later_rate },                         \
    { path ".hit_rate", (o).hit_rate },                                             \
    { path ".requests_per_sample", (double)(o).steady.requests / (o).steady_samples }, \
    { path ".loads_per_sample", (o).loads_per_sample },                             \
    { path ".read_bytes_per_sample", (o).bytes_per_sample },                        \
    { path ".amplification", (o).amplification },                                   \
    { path ".memory_bytes", (o).memory_bytes }, { path ".file_bytes", (o).file_bytes }, \
    { path ".randomness", (o).randomness }, { path ".class_mixing", (o).class_mixing }, \
    { path ".shared_chunks", (double)(o).shared_chunks },                           \
    { path ".page_cache_rate", (o).page_cache_rate },                               \
    { path ".lru_hit_rate", (o).lru_hit_rate },                                     \
    { path ".belady_hit_rate", (o).belady_hit_rate },                               \
    { path ".modelled_samples_per_s", (o).modelled_rate },                          \
    { path ".gain_low", (o).gain_low }, { path ".gain_high", (o).gain_high },       \
    { path ".worker_samples_per_epoch", (o).worker_samples },                       \
    { path ".later_samples_counted", (o).steady_samples },                          \
    COUNTS(path ".first_epoch_counts", (o).first),                                  \
    COUNTS(path ".later_counts", (o).steady),                                       \
    COST(path, o, call_ns), COST(path, o, copy_ns), COST(path, o, page_ns),         \
    COST(path, o, storage_ns), COST(path, o, decode_ns), COST(path, o, walk_ns),    \
    COST(path, o, touch_ns), COST(path, o, total_ns)
#define COUNT(path, c, name) { path "." #name, (double)(c).name }
#define COUNTS(path, c)                                                             \
    COUNT(path, c, requests), COUNT(path, c, hits), COUNT(path, c, loads),          \
    COUNT(path, c, decodes), COUNT(path, c, fills), COUNT(path, c, bypass_visits),  \
    COUNT(path, c, file_reads), COUNT(path, c, file_read_bytes),                    \
    COUNT(path, c, wanted_bytes), COUNT(path, c, evictions_space),                  \
    COUNT(path, c, evictions_collision), COUNT(path, c, walk_steps),                \
    COUNT(path, c, peak_bytes)
#define COST(path, o, name)                                                         \
    { path ".later_cost_per_sample." #name, (o).steady_cost.name / (o).steady_samples }
#define WARNING(path, w)                                                            \
    { path ".value", (w).value }, { path ".code", (w).code },                       \
    { path ".price_bytes", (w).price_bytes }, { path ".price_s_per_epoch", (w).price_s }

static const struct pack_json_value *root;

static bool
says(const char *path, const char *text)
{
    const struct pack_json_value *v = at(root, path);
    bool same = v && v->text && strcmp(v->text, text) == 0;
    if (!same)
        note("%s is '%s', not '%s'", path, v && v->text ? v->text : "", text);
    return same;
}

static bool
holds(const char *path, enum pack_json_kind kind, bool truth)
{
    const struct pack_json_value *v = at(root, path);
    bool same = v && v->kind == kind && (kind != PACK_JSON_BOOL || v->truth == truth);
    if (!same)
        note("%s is not so", path);
    return same;
}

static void
test_words(void)
{
    ok(says("schema", "advise/1") && says("options.subject", "train.h5:/images") &&
           says("options.type", "uint16") && says("options.pattern", "shuffle") &&
           says("options.read", "sample") && says("options.storage", "nvme") &&
           says("options.hdf5_version", "1.10"),
       "options are as asked");
    ok(says("result.rows.0.codec", "zstd:3") && says("result.rows.0.order", "block 24") &&
           says("result.rows.0.change", "rewrite") &&
           says("result.rows.0.basis", "measured") &&
           says("result.rows.0.hdf5_version", "1.10") && says("result.rows.1.change", "none") &&
           says("result.rows.1.basis", "predicted"),
       "rows say what they are");
    ok(says("result.cause", "This is the cause.") && says("result.why.0", sentences[0]) &&
           says("result.why.2", sentences[2]) && says("result.warnings.0.id", "w0-one") &&
           says("result.warnings.0.severity", "hazard") &&
           says("result.warnings.0.remedy", "less of it") &&
           says("result.choice_warnings.0.text", "the choice hangs over"),
       "and sentences stand where they belong");
    ok(holds("options.persistent_workers", PACK_JSON_BOOL, true) &&
           holds("options.keep_file", PACK_JSON_BOOL, false) &&
           holds("options.storage_is_measured", PACK_JSON_BOOL, false) &&
           holds("options.hdf5_version_is_compared", PACK_JSON_BOOL, true) &&
           holds("options.what_if", PACK_JSON_BOOL, false) &&
           holds("options.box", PACK_JSON_NULL, false) &&
           holds("result.rows.0.is_now", PACK_JSON_BOOL, false) &&
           holds("result.rows.1.is_now", PACK_JSON_BOOL, true) &&
           holds("result.rows.1.is_front", PACK_JSON_BOOL, false) &&
           holds("result.rows.2.is_front", PACK_JSON_BOOL, true) &&
           holds("result.rows.2.is_exact", PACK_JSON_BOOL, false) &&
           holds("result.rows.2.fits", PACK_JSON_BOOL, true) &&
           holds("result.rows.2.is_user", PACK_JSON_BOOL, false) &&
           holds("result.target.is_reached", PACK_JSON_BOOL, false) &&
           holds("measured.storage", PACK_JSON_BOOL, true) &&
           holds("measured.has_now", PACK_JSON_BOOL, true) &&
           holds("measured.proven", PACK_JSON_BOOL, false),
       "yes is yes and no is no");
}

static void
test_json_engine(void)
{
    const struct pack_advise_engine engine = {
        .is_known = true,
        .forecast = { .engine = "mmap", .n_threads = 5, .n_slots = 6, .memory_bytes = 77,
                      .first = { .n_samples = 11, .visits = 12, .loads = 13, .hits = 14 },
                      .later = { .n_samples = 4 } },
        .hit_rate = 0.625, .loads_per_sample = 0.35, .bytes_per_sample = 4600,
        .rate = 2102, .first_rate = 2001, .later_rate = 2203, .modelled_rate = 1999,
        .gain_low = 1.9, .gain_high = 2.2, .basis = PACK_ADVISE_MEASURED,
        .later_cost = { .call_ns = 40, .copy_ns = 44, .page_ns = 48, .decode_ns = 52,
                        .total_ns = 56 },
    };
    static const struct made_up_number numbers[] = {
        { "result.engine.threads", 5 },
        { "result.engine.memory_bytes", 77 },
        { "result.engine.decoded_chunks_kept", 6 },
        { "result.engine.samples_per_s", 2102 },
        { "result.engine.first_epoch_samples_per_s", 2001 },
        { "result.engine.later_epochs_samples_per_s", 2203 },
        { "result.engine.modelled_samples_per_s", 1999 },
        { "result.engine.gain_low", 1.9 },
        { "result.engine.gain_high", 2.2 },
        { "result.engine.hit_rate", 0.625 },
        { "result.engine.loads_per_sample", 0.35 },
        { "result.engine.read_bytes_per_sample", 4600 },
        { "result.engine.first_epoch_counts.samples", 11 },
        { "result.engine.first_epoch_counts.visits", 12 },
        { "result.engine.first_epoch_counts.loads", 13 },
        { "result.engine.first_epoch_counts.hits", 14 },
        { "result.engine.later_cost_per_sample.call_ns", 10 },
        { "result.engine.later_cost_per_sample.total_ns", 14 },
        { "result.training.recorded_samples_per_s", 1500 },
        { "result.training.reading", 0.75 },
        { "result.training.samples_per_s", 3000 },
        { "result.training.gain", 2 },
        { "result.training.gain_most", 4 },
        { "result.training.training", 0.125 },
    };
    static const struct pack_trace_job job = {
        .workers = 3, .is_replayed = true, .box_ns = 2e6, .read_ns = 1.5e6, .parent_busy = 0.125
    };
    struct pack_buf text = { 0 };
    struct pack_json_doc *doc = NULL;
    struct pack_report_advise r = report();
    r.engine = &engine;
    r.recorded = &job;
    result.rows[0].is_now = false;
    result.rows[0].rate = 3 * result.now.rate;
    pack_report_advise_json(&r, &text, NULL);
    ok(pack_json_parse((char *)text.data, text.size, &doc, &root, NULL) == PACK_OK &&
           wrong_numbers(root, numbers, sizeof numbers / sizeof *numbers) == 0 &&
           says("result.engine.engine", "libpack") && says("result.engine.strategy", "mmap") &&
           says("result.engine.basis", "measured") &&
           holds("result.engine.is_exact", PACK_JSON_BOOL, false),
       "libpack's reader is told of in numbers, too, and the training that was recorded");
    pack_json_free(doc);
    pack_buf_done(&text);
    fill();
}

static void
test_json(void)
{
    const struct made_up_number numbers[] = {
        { "options.extent.0", 10240 },
        { "options.extent.2", 64 },
        { "options.element_bytes", 2 },
        { "options.batch", 16 },
        { "options.workers", 3 },
        { "options.rank", 0 },
        { "options.world", 1 },
        { "options.epochs", 12 },
        { "options.min_gain", 1.3 },
        { "options.memory_bytes", 96 << 20 },
        { "options.ram_bytes", 3221225472.0 },
        { "options.target_samples_per_s", 9000 },
        { "options.seed", 77 },
        OUTCOME("result.now", result.now),
        OUTCOME("result.defaults_1", result.version_1),
        OUTCOME("result.defaults_2", result.version_2),
        OUTCOME("result.rows.0", result.rows[0]),
        OUTCOME("result.rows.2", result.rows[2]),
        WARNING("result.warnings.0", result.warnings[0]),
        WARNING("result.choice_warnings.0", result.choice_warnings[0]),
        { "result.target.workers", 7 },
        { "result.target.workers_samples_per_s", 9100 },
        { "result.target.echo", 3.6 },
        { "result.map.samples_per_chunk.2", 16 },
        { "result.map.chunk_bytes.1", 16384 },
        { "result.map.cache_bytes.1", 16 << 20 },
        { "result.map.hit_rate.1.0", 0.51 },
        { "result.map.hit_rate.0.2", 0.36 },
        { "result.map.samples_per_s.1.2", 6000 },
        { "result.map.samples_per_s.0.1", 2000 },
        { "result.search.candidates", 901 },
        { "result.search.bounded", 802 },
        { "result.search.sampled", 73 },
        { "result.search.exact", 14 },
        { "result.search.visits", 5500000 },
        { "measured.resident_rate", 0.36 },
        { "measured.now_first_samples_per_s", 701 },
        { "measured.now_later_samples_per_s", 802 },
        { "measured.modelled_first_samples_per_s", 903 },
        { "measured.modelled_later_samples_per_s", 1604 },
        { "measured.rows", 2 },
        { "measured.rounds", 11 },
        { "measured.samples", 4321 },
        { "measured.file_over_copy", 0.9 },
        { "measured.elapsed_ns", 1234567 },
    };
    struct pack_buf text = { 0 };
    struct pack_json_doc *doc = NULL;
    struct pack_report_advise r = report();
    pack_report_advise_json(&r, &text, NULL);
    if (!ok(pack_json_parse((char *)text.data, text.size, &doc, &root, NULL) == PACK_OK,
            "the report is JSON"))
        return;
    is_number(wrong_numbers(root, numbers, sizeof numbers / sizeof *numbers), 0,
              "every number of it is the one that was made up");
    test_words();
    pack_json_free(doc);

    text.size = 0;
    params = (struct pack_advise_params){ .data.extent = params.data.extent,
                                          .machine.profile = &profile,
                                          .reading.workers_end = true,
                                          .storing.keep_file = true };
    measured.later_unseen = true;
    pack_report_advise_json(&r, &text, NULL);
    ok(pack_json_parse((char *)text.data, text.size, &doc, &root, NULL) == PACK_OK &&
           holds("measured.now_later_samples_per_s", PACK_JSON_NULL, false),
       "a rate of later epochs that were not seen is null");
    pack_json_free(doc);
    text.size = 0;
    result.has_now = false;
    result.rows[0].lru_hit_rate = result.rows[0].class_mixing = -1;
    r.measured = NULL;
    r.is_what_if = true;
    const struct made_up_number defaults[] = {
        { "options.batch", 1 },       { "options.workers", 1 },
        { "options.epochs", 30 },     { "options.min_gain", 1.15 },
        { "options.memory_bytes", 1 << 30 },
    };
    pack_report_advise_json(&r, &text, NULL);
    ok(pack_json_parse((char *)text.data, text.size, &doc, &root, NULL) == PACK_OK &&
           wrong_numbers(root, defaults, sizeof defaults / sizeof *defaults) == 0,
       "what was not said is printed as its default");
    ok(holds("result.now", PACK_JSON_NULL, false) &&
           holds("result.target", PACK_JSON_NULL, false) &&
           holds("result.engine", PACK_JSON_NULL, false) &&
           holds("result.training", PACK_JSON_NULL, false) &&
           holds("measured", PACK_JSON_NULL, false) && !at(root, "result.why.0") &&
           holds("result.rows.0.lru_hit_rate", PACK_JSON_NULL, false) &&
           holds("result.rows.0.class_mixing", PACK_JSON_NULL, false) &&
           holds("options.persistent_workers", PACK_JSON_BOOL, false) &&
           holds("options.keep_file", PACK_JSON_BOOL, true) &&
           holds("options.what_if", PACK_JSON_BOOL, true),
       "what is not known is null");
    pack_json_free(doc);
    pack_buf_done(&text);
    fill();
}

/* ------------------------------------------------------------------ pictures */

static void
test_svg(void)
{
    /* cells of 64 by 40 from (110, 60) on; the larger cache is above */
    static const char *const marks[] = {
        "width='480' height='250'",
        ">Chunk cache hit rate<",
        ">pattern shuffle, HDF5 1.10<",
        "<text x='102' y='85' text-anchor='end'>16.0 MiB</text>",
        "<text x='102' y='125' text-anchor='end'>1.0 MiB</text>",
        "<text x='142' y='160' text-anchor='middle'>1</text>",
        "<text x='270' y='160' text-anchor='middle'>16</text>",
        /* 6 %: 255 - 225 * 0.06, 255 - 175 * 0.06, 255 - 100 * 0.06 */
        "<rect x='110' y='100' width='64' height='40' fill='rgb(241,244,249)' "
        "stroke='#ccc'/>\n<text x='142' y='125' text-anchor='middle' fill='#222'>6 %<",
        "<rect x='238' y='60' width='64' height='40' fill='rgb(72,113,174)' "
        "stroke='#ccc'/>\n<text x='270' y='85' text-anchor='middle' fill='#fff'>81 %<",
        /* 8 samples: half way from 4 to 16; 4 MiB: half way from 1 to 16 */
        "<circle cx='238.0' cy='100.0' r='9' fill='none' stroke='#d62728' "
        "stroke-width='3'><title>recommended: 2502 samples/s</title>",
        "<circle cx='142.0' cy='120.0' r='9' fill='none' stroke='#ff9900' "
        "stroke-width='3'><title>today: 1001 samples/s</title>",
        "<text x='132' y='220'>recommended</text>",
        "<text x='272' y='220'>today</text>",
    };
    struct pack_buf text = { 0 };
    struct pack_report_advise r = report();
    result.rows[0].config.cache.size_bytes = 4 << 20;
    result.now.config.cache.size_bytes = 0;
    pack_report_advise_svg(&r, &text, NULL);
    is_number(missing(text_of(&text, true), marks, sizeof marks / sizeof *marks), 0,
              "cells, axes and marks of the picture lie where they belong");
    result.has_now = false;
    result.rows[0].config.chunk.rank = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            result.map.hit_rate[i][j] = 0.09;
    text.size = 0;
    pack_report_advise_svg(&r, &text, NULL);
    const char *s = text_of(&text, true);
    ok(strstr(s, ">Samples/s of later epochs<") && !strstr(s, "today") &&
           !strstr(s, "<title>") &&
           strstr(s, "<rect x='174' y='60' width='64' height='40' fill='rgb(67,109,171)' "
                     "stroke='#ccc'/>\n<text x='206' y='85' text-anchor='middle' "
                     "fill='#fff'>5K<"),
       "where nothing is hit it shows rates, of the largest one");
    pack_buf_done(&text);
    fill();
}

static void
test_calibration(void)
{
    struct pack_calibration c = { .cold_bytes = 512000000, .still_cached_bytes = 2500000,
                                  .is_cold = true };
    struct pack_buf text = { 0 };
    (void)pack_profile_named("hdd", &c.profile, NULL);
    c.profile.call_ns = 1234.5;
    pack_report_calibration_text(&c, &text, NULL);
    const char *s = text_of(&text, true);
    ok(strstr(s, "of 512 MB, 2.5 MB were still in memory\n") &&
           strstr(s, "call_ns                       1234 ns"),
       "a calibration says how cold its reads were, and every term");
    text.size = 0;
    c.is_cold = false;
    pack_report_calibration_text(&c, &text, NULL);
    ok(strstr(text_of(&text, true), "emptied here (2 of 512 MB stayed)"),
       "or that they were not");
    pack_buf_done(&text);
}

int
main(void)
{
    fill();
    test_text();
    test_engine();
    test_training();
    test_variants();
    test_one();
    test_options();
    test_json();
    test_json_engine();
    test_svg();
    test_calibration();
    return done();
}
