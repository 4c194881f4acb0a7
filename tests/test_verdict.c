/*
 * Verdicts of h5readbench from measurements made up here: each limit, on both sides of
 * its threshold; causes, likewise; what echoing would bring, against arithmetic; sums and
 * rates.
 */
#include <math.h>
#include <stddef.h>

#include "libpack/bench/bench_parts.h"
#include "tests/tap.h"

#define MS UINT64_C(1000000)

/* One epoch of 100 batches of 10 samples that took 1 s in one worker; nothing happened. */
struct made {
    struct bench_plan plan;
    struct pack_bench_epoch epoch[2];
    struct pack_bench_result r;
};

static void
make(struct made *m, const char *consumer, uint64_t n_workers)
{
    *m = (struct made){ .r = { .setup.consumer = consumer,
                               .setup.engine = "hdf5",
                               .setup.n_workers = n_workers,
                               .setup.batch = 10,
                               .setup.echo = 1,
                               .n_epochs = 1 } };
    m->epoch[0] = (struct pack_bench_epoch){ .elapsed_ns = 1000 * MS,
                                             .n_batches = 100,
                                             .n_samples = 1000,
                                             .work.total_ns = 1000 * MS };
    m->r.elapsed_ns = 1000 * MS;
    m->r.steps.n_steps = 100;
    m->r.steps.busy_ns = 99 * MS;
}

static enum pack_limit
limit(struct made *m)
{
    m->r.epochs = m->epoch;
    m->r.total = (struct pack_bench_epoch){ .n_batches = 0 };
    pack_bench_finish(1000 * MS, &m->r);
    pack_bench_judge(&m->plan, &m->r);
    return m->r.verdict.limit;
}

/* ------------------------------------------------------------------- stages */

/* The time of each stage in turn; the rest of the second is another's. */
static void
test_stages(void)
{
    static const struct {
        enum pack_limit limit;
        const char *name;
        size_t offset;
    } stages[] = {
#define READ(field) offsetof(struct pack_bench_epoch, work.read.field)
#define WITH(field) offsetof(struct pack_bench_epoch, work.with.field)
        { PACK_LIMIT_FILE_READS, "file reads", READ(storage_ns) },
        { PACK_LIMIT_FILE_READS, "file reads", READ(metadata_ns) },
        { PACK_LIMIT_FILE_READS, "file reads", WITH(storage_ns) },
        { PACK_LIMIT_FILE_READS, "file reads", WITH(metadata_ns) },
        { PACK_LIMIT_DECODE, "decode", READ(decode_ns) },
        { PACK_LIMIT_DECODE, "decode", WITH(decode_ns) },
        { PACK_LIMIT_CALLS, "HDF5 call overhead", READ(overhead_ns) },
        { PACK_LIMIT_CALLS, "HDF5 call overhead", WITH(overhead_ns) },
        { PACK_LIMIT_REOPEN, "opening the dataset", READ(reopen_ns) },
        { PACK_LIMIT_REOPEN, "opening the dataset", WITH(reopen_ns) },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        for (int more = 0; more < 2; more++) {
            struct made m;
            make(&m, "null", 1);
            /* the stage and assembly share the second, one a little ahead */
            uint64_t ns = more ? 501 * MS : 499 * MS;
            memcpy((char *)&m.epoch[0] + stages[i].offset, &ns, sizeof ns);
            if (stages[i].offset < offsetof(struct pack_bench_epoch, work.with))
                m.epoch[0].work.read.call_ns = ns;
            else
                m.epoch[0].work.with.call_ns = ns;
            enum pack_limit want = more ? stages[i].limit : PACK_LIMIT_ASSEMBLY;
            if (limit(&m) != want) {
                wrong++;
                note("stage %zu, %d: limited by %s", i, more,
                     pack_limit_name(m.r.verdict.limit));
            }
            if (more && strcmp(pack_limit_name(m.r.verdict.limit), stages[i].name) != 0)
                wrong++;
        }
    is_number(wrong, 0, "the stage that takes most is the limit, by 2 ms in a second");

    struct made m;
    make(&m, "null", 1);
    m.epoch[0].n_batches = 0;
    ok(limit(&m) == PACK_LIMIT_UNKNOWN, "what finished no batch has no limit");
    make(&m, "null", 1);
    m.epoch[0].work.delay_ns = 501 * MS;
    ok(limit(&m) == PACK_LIMIT_DELAY, "a delay that was asked for is named as such");
    m.epoch[0].work.delay_ns = 499 * MS;
    ok(limit(&m) == PACK_LIMIT_ASSEMBLY, "and is no part of assembly");
    m.epoch[0].work.read.call_ns = m.epoch[0].work.read.overhead_ns = 300 * MS;
    m.epoch[0].work.delay_ns = 299 * MS;
    ok(limit(&m) == PACK_LIMIT_ASSEMBLY, "401 ms are left of 1000 beside 300 and 299");
    m.epoch[0].work.delay_ns = 401 * MS;
    ok(limit(&m) == PACK_LIMIT_DELAY, "299 ms beside 300 and 401");
}

/* What users read, and scripts compare. */
static void
test_names(void)
{
    static const struct {
        enum pack_limit limit;
        const char *name;
    } names[] = { { PACK_LIMIT_CONSUMER, "consumer" },
                  { PACK_LIMIT_STORAGE, "storage" },
                  { PACK_LIMIT_DECODE, "decode" },
                  { PACK_LIMIT_ASSEMBLY, "CPU assembly" },
                  { PACK_LIMIT_CALLS, "HDF5 call overhead" },
                  { PACK_LIMIT_BUS, "PCIe" },
                  { PACK_LIMIT_PAGE_CACHE, "page cache" },
                  { PACK_LIMIT_FILE_READS, "file reads" },
                  { PACK_LIMIT_REOPEN, "opening the dataset" },
                  { PACK_LIMIT_DELAY, "the delay asked for" },
                  { PACK_LIMIT_COLLATE, "copying into batches" },
                  { PACK_LIMIT_INTERPRETER, "the interpreter" },
                  { PACK_LIMIT_UNKNOWN, "unknown" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_text(pack_limit_name(names[i].limit), names[i].name, "a limit has its name");
}

/* ---------------------------------------------------------- storage or memory */

static void
test_origin(void)
{
    struct made m;
    make(&m, "null", 1);
    struct pack_bench_epoch *e = &m.epoch[0];
    e->work.read.call_ns = e->work.read.storage_ns = 900 * MS;
    e->work.read.file_read_bytes = 1500;
    e->work.read.metadata_bytes = 100;
    e->work.with.file_read_bytes = 300;
    e->work.with.metadata_bytes = 100;
    ok(limit(&m) == PACK_LIMIT_FILE_READS, "who answered reads is not made up");
    e->work.knows_storage = true;
    ok(limit(&m) == PACK_LIMIT_PAGE_CACHE,
       "nothing came from storage: limited by the page cache, not by storage");
    e->work.storage_bytes = 99;
    ok(limit(&m) == PACK_LIMIT_PAGE_CACHE, "nor when it was less than a twentieth");
    e->work.storage_bytes = 100;
    ok(limit(&m) == PACK_LIMIT_STORAGE, "a twentieth of 2000 bytes came from storage");
    e->work.storage_bytes = 0;
    e->pages.cold = PACK_COLD_CHECKED;
    e->pages.resident_bytes = 99;
    ok(limit(&m) == PACK_LIMIT_STORAGE,
       "pages that were seen to be gone came from storage, counted or not");
    e->pages.resident_bytes = 100;
    ok(limit(&m) == PACK_LIMIT_PAGE_CACHE, "those that stayed did not");
    e->pages.resident_bytes = 0;
    e->pages.cold = PACK_COLD_ASSUMED;
    ok(limit(&m) == PACK_LIMIT_PAGE_CACHE, "being told to go is not being gone");

    /* the first epoch from storage, the second from memory; the longer one counts */
    m.r.n_epochs = 2;
    e->pages.cold = PACK_COLD_NO;
    e->work.storage_bytes = 2000;
    m.epoch[1] = *e;
    m.epoch[1].work.storage_bytes = 0;
    m.epoch[1].work.read.storage_ns = 899 * MS;
    ok(limit(&m) == PACK_LIMIT_STORAGE, "the epoch whose reads took longer decides");
    m.epoch[1].work.read.metadata_ns = 2 * MS;
    ok(limit(&m) == PACK_LIMIT_PAGE_CACHE, "index reads among them");
    m.epoch[0].work.read.storage_ns = 800 * MS;
    m.epoch[0].work.with.storage_ns = 102 * MS;
    ok(limit(&m) == PACK_LIMIT_STORAGE, "and those of the second dataset");
}

/* ---------------------------------------------------------------- the consumer */

static void
test_consumer(void)
{
    struct made m;
    make(&m, "emulated", 1);
    m.r.steps.busy_ns = 980 * MS;
    ok(limit(&m) == PACK_LIMIT_CONSUMER, "busy for 98.0 %%: the consumer is the limit");
    m.r.steps.busy_ns = 979 * MS;
    ok(limit(&m) == PACK_LIMIT_ASSEMBLY, "busy for 97.9 %%: it is not");
    m.r.steps.busy_ns = 1000 * MS;
    m.r.steps.n_steps = 1;
    ok(limit(&m) == PACK_LIMIT_ASSEMBLY, "one step says nothing about it");
    make(&m, "null", 1);
    m.r.steps.busy_ns = 1000 * MS;
    ok(limit(&m) == PACK_LIMIT_ASSEMBLY, "nor does a consumer that does nothing");
    make(&m, "cuda", 1);
    m.r.steps.starved_ns = 800 * MS;
    m.r.steps.copy_wait_ns = 401 * MS;
    ok(limit(&m) == PACK_LIMIT_BUS, "more than half of the waiting was for copies: PCIe");
    m.r.steps.copy_wait_ns = 400 * MS;
    ok(limit(&m) == PACK_LIMIT_ASSEMBLY, "half of it: the readers");
    m.r.steps.starved_ns = m.r.steps.copy_wait_ns = 0;
    ok(limit(&m) == PACK_LIMIT_ASSEMBLY, "nobody waited");
}

/* --------------------------------------------------------------------- echoing */

/* Runs a pipeline of `n` fresh batches on paper; the busy part of its last half. */
static double
busy_on_paper(double read, double step, uint64_t echo, bool in_line)
{
    double reader = 0, consumer = 0, busy = 0, since = 0;
    for (int i = 0; i < 2000; i++) {
        reader = (in_line && consumer > reader ? consumer : reader) + read;
        double begin = reader > consumer ? reader : consumer;
        consumer = begin + (double)echo * step;
        if (i == 999)
            since = consumer;
        if (i > 999)
            busy += (double)echo * step;
    }
    return busy / (consumer - since);
}

static void
test_echo(void)
{
    static const struct {
        double read, step; /* ms of a batch */
        uint64_t echo;
    } cases[] = { { 30, 10, 1 }, { 30, 10, 2 }, { 100, 3, 4 }, { 7, 6, 1 }, { 250, 9, 1 } };
    int wrong = 0;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        bool in_line = i % 2;
        double read = cases[i / 2].read, step = cases[i / 2].step;
        uint64_t echo = cases[i / 2].echo, best = 1;
        double work = step * (double)echo;
        double cycle = in_line ? read + work : work > read ? work : read;
        struct made m;
        make(&m, "emulated", in_line ? 0 : 2);
        m.r.setup.echo = echo;
        m.r.total.n_batches = 100;
        m.r.steps.n_steps = 100 * echo;
        m.r.steps.busy_ns = (uint64_t)((double)(100 * echo - 1) * step * 1e6);
        m.r.steps.total_ns =
            (uint64_t)((double)(100 * echo - 1) / (double)echo * cycle * 1e6);
        while (busy_on_paper(read, step, best, in_line) < 0.9 - 1e-6)
            best++;
        uint64_t said = pack_bench_echo_for(&m.r, 0.9);
        double gain = (double)best / (double)echo * cycle /
                      (in_line                            ? read + (double)best * step
                       : (double)best * step > read ? (double)best * step
                                                          : read);
        bool right =
            said == best && fabs(pack_bench_echo_gain(&m.r, best) - gain) < 0.001;
        wrong += !right;
        if (!right)
            note("%g ms, %g ms, %s: %d uses for %d, gain %.3f for %.3f", read, step,
                 in_line ? "in line" : "beside", (int)said, (int)best,
                 pack_bench_echo_gain(&m.r, best), gain);
    }
    is_number(wrong, 0,
              "the uses of a batch that keep a consumer busy for 90 %, in line and beside");
    struct made m;
    make(&m, "emulated", 0);
    m.r.steps.busy_ns = 0;
    is_number((long long)pack_bench_echo_for(&m.r, 0.9), 0, "unknown without work");
}

/* ---------------------------------------------------------------------- causes */

static struct pack_h5_dataset data;
static struct pack_readset_part part = { .data = &data };
static struct pack_readset one_part = { .n_parts = 1, .parts = &part };

/* The cause that is found for a run on chunks of a dataset of 1000 samples. */
static const char *
cause(struct made *m, uint64_t height, uint64_t width, struct pack_shape chunk)
{
    const struct pack_shape extent = { 3, { 1000, height, width } };
    (void)pack_grid_init(&data.chunks.grid, &extent, &chunk, 1, NULL);
    one_part.extent = extent;
    one_part.elem_size = 1;
    m->plan.params.set = &one_part;
    m->r.verdict.cause[0] = '\0';
    limit(m);
    return m->r.verdict.cause;
}

/* One epoch in which nothing is wrong: 400 loads for 1000 requests. */
static void
make_counts(struct made *m, uint64_t n_workers)
{
    make(m, "null", n_workers);
    m->r.setup.cache = (struct pack_cache_params){ 521, 1 << 20, 0.75, PACK_HDF5_1_10 };
    m->epoch[0].expected.is_known = true;
    m->epoch[0].expected.set.requests = 1000;
    m->epoch[0].expected.set.loads = 400;
    m->epoch[0].work.read.wanted_bytes = 100;
    m->epoch[0].work.read.file_read_bytes = 100;
    data.facts.pipeline.n = 0;
}

/* Each cause has its thresholds in test_causes; here, what a run is to them. */
static void
test_causes(void)
{
    struct made m;
    const struct pack_shape one = { 3, { 1, 64, 64 } }, eight = { 3, { 8, 64, 64 } };
    make_counts(&m, 1);
    is_text(cause(&m, 64, 64, one), "", "where nothing is lost nothing is said");
    m.epoch[0].expected.set.requests = 1501;
    m.epoch[0].expected.set.hits = 1101;
    ok(strstr(cause(&m, 64, 65, one), "Chunks cover 64 of 65 along axis 2, so that every sample "
                                      "has a second chunk that is nearly empty: 1.00 bytes"),
       "requests are per sample: 1501 of 1000 reach a second chunk");
    m.epoch[0].expected.set.requests = 1500;
    ok(strstr(cause(&m, 64, 65, one), "make the file 1.97 times as large"),
       "1500 do not, and the file is as large as its grid says");
    m.epoch[0].expected.set.requests = 2000;
    m.plan.params.pattern.box = (struct pack_shape){ 3, { 1, 32, 64 } };
    ok(strstr(cause(&m, 64, 64, one), "Each read of 2.0 KiB lies in 2 chunks of 4.0 KiB"),
       "a box is a read of its bytes");
    m.plan.params.pattern.box = (struct pack_shape){ 3, { 1, 64, 64 } };
    ok(strstr(cause(&m, 64, 64, one), "to make one sample of 4.0 KiB"), "unless it is all of it");
    m.plan.params.pattern.box.rank = 0;
    m.epoch[0].expected.set.requests = 1000;
    m.epoch[0].expected.set.hits = 400;
    m.epoch[0].expected.set.file_reads = 600;
    m.epoch[0].work.read.file_read_bytes = 200;
    ok(strstr(cause(&m, 64, 64, eight),
              "Each sample of 4.0 KiB costs 0.6 chunks of 32.0 KiB: the cache holds 32 of 125 "
              "chunks and this order finds 40.0 % of its requests there; with a cache"),
       "hits, loads and bytes are the run's");
    data.facts.pipeline.n = 1;
    ok(strstr(cause(&m, 64, 64, eight), "requests there."), "so is the pipeline");
    m.epoch[0].expected.set.evictions_collision = 41;
    ok(strstr(cause(&m, 64, 64, eight), "10 % of the loads push another chunk out"),
       "and collisions");
    m.epoch[0].expected.is_known = false;
    is_text(cause(&m, 64, 65, one), "", "without counts nothing is said");
}

static void
test_epochs(void)
{
    struct made m;
    const struct pack_shape eight = { 3, { 8, 64, 64 } };
    make_counts(&m, 2);
    m.r.n_epochs = 2;
    m.r.setup.cache.w0 = 1;
    m.epoch[0].expected.set.peak_bytes =
        4 << 20; /* of two workers, in each of two epochs */
    m.epoch[1] = m.epoch[0];
    ok(strstr(cause(&m, 64, 64, eight), "the cache of 1.0 MiB grew to 2.0 MiB in each worker"),
       "w0 = 1 lets caches grow to twice their size");
    m.epoch[1].expected.set.peak_bytes -= 4;
    is_text(cause(&m, 64, 64, eight), "", "a byte less is not said");
    m.r.setup.cache.w0 = 0.75;
    data.facts.pipeline.n = 1;
    m.epoch[0].expected.set.decodes = 188;
    m.epoch[1].expected.set.decodes = 187;
    is_text(cause(&m, 64, 64, eight), "", "decoding is a cause where it takes half of the time");
    m.epoch[0].work.read.call_ns = m.epoch[0].work.read.decode_ns = 500 * MS;
    m.epoch[1].work.read.call_ns = m.epoch[1].work.read.decode_ns = 500 * MS;
    is_text(cause(&m, 64, 64, eight),
            "Each chunk is decoded 1.5 times an epoch, which takes 50 % of the time of reading.",
            "375 times in two epochs for 125 chunks");
    m.plan.params.open.reopen = true;
    ok(strstr(cause(&m, 64, 64, eight), "opened by name at each read, which empties its cache"),
       "a dataset that is opened again caches nothing");
}

/* ------------------------------------------------------------------------ sums */

/* Every number of an epoch is added to the total. */
static void
test_all_sums(void)
{
    struct made m;
    make(&m, "null", 1);
    m.r.n_epochs = 2;
    uint64_t *const fields[] = {
#define FIELD(e, name) &(e)->name
#define FIELDS(e)                                                                        \
    FIELD(e, elapsed_ns), FIELD(e, n_batches), FIELD(e, n_samples), FIELD(e, wait_ns),   \
        FIELD(e, work.total_ns), FIELD(e, work.idle_ns), FIELD(e, work.assemble_ns),     \
        FIELD(e, work.delay_ns), FIELD(e, work.collate_ns),                              \
        FIELD(e, work.interpret_ns), FIELD(e, start_ns), FIELD(e, pages.drop_ns),        \
        FIELD(e, pages.resident_bytes), FIELD(e, work.storage_bytes),                    \
        FIELD(e, work.read.calls), FIELD(e, work.read.requests),                         \
        FIELD(e, work.read.file_reads), FIELD(e, work.read.file_read_bytes),             \
        FIELD(e, work.read.wanted_bytes), FIELD(e, work.read.call_ns),                   \
        FIELD(e, work.read.storage_ns), FIELD(e, work.read.metadata_ns),                 \
        FIELD(e, work.read.metadata_reads), FIELD(e, work.read.metadata_bytes),          \
        FIELD(e, work.read.decode_ns), FIELD(e, work.read.overhead_ns),                  \
        FIELD(e, work.read.reopen_ns), FIELD(e, work.read.skipped),                      \
        FIELD(e, work.with.storage_ns), FIELD(e, expected.set.hits),                     \
        FIELD(e, expected.set.requests), FIELD(e, expected.with.loads)
        FIELDS(&m.epoch[0]),
        FIELDS(&m.epoch[1]),
        FIELDS(&m.r.total),
    };
    enum { N = sizeof fields / sizeof *fields / 3 };
    int wrong = 0;
    for (uint64_t i = 0; i < N; i++) {
        *fields[i] = 1000 + i;
        *fields[N + i] = 5000 + 3 * i;
    }
    limit(&m);
    for (uint64_t i = 0; i < N; i++)
        if (*fields[2 * N + i] != 6000 + 4 * i) {
            wrong++;
            note("number %d adds up to %llu", (int)i, (unsigned long long)*fields[2 * N + i]);
        }
    is_number(wrong, 0, "every number of two epochs is in their total");
}

static void
test_sums(void)
{
    struct made m;
    make(&m, "emulated", 1);
    m.r.n_epochs = 2;
    m.epoch[1] = m.epoch[0];
    m.epoch[1].n_samples = 500;
    m.epoch[0].work.delay_ns = 3;
    m.epoch[1].work.delay_ns = 4;
    m.epoch[0].pages.drop_ns = 5;
    m.epoch[1].pages.drop_ns = 6;
    m.epoch[0].pages.cold = PACK_COLD_CHECKED;
    m.epoch[1].pages.cold = PACK_COLD_ASSUMED;
    m.epoch[0].work.read.reopen_ns = 7;
    m.epoch[1].work.read.reopen_ns = 8;
    m.r.steps.compute_ns = 450 * MS;
    m.r.elapsed_ns = 3000 * MS;
    limit(&m);
    const struct pack_bench_epoch *t = &m.r.total;
    ok(t->n_samples == 1500 && t->work.delay_ns == 7 && t->pages.drop_ns == 11 &&
           t->work.read.reopen_ns == 15 && t->pages.cold == PACK_COLD_ASSUMED,
       "epochs add up, and one that is assumed cold makes all so");
    ok(pack_bench_rate(&m.r) == 500 && m.r.steps.au == 0.45 &&
           m.r.steps.busy_rate == 0.099,
       "1500 samples in 3 s; 450 ms computed and 99 ms busy of 1000");
    m.r.steps.busy_ns = 1100 * MS;
    limit(&m);
    ok(m.r.steps.busy_rate == 1, "nothing is busy for more than all of the time");
    m.r.steps.n_steps = 1;
    m.r.steps.au = m.r.steps.busy_rate = 0;
    limit(&m);
    ok(m.r.steps.au < 0 && m.r.steps.busy_rate == 0, "one step has no rates");
    struct pack_bench_epoch e = { .expected.is_known = true,
                                  .expected.set = { .requests = 8, .hits = 6 } };
    e.work.read.wanted_bytes = 100;
    e.work.read.file_read_bytes = 250;
    ok(pack_bench_hit_rate(&e) == 0.75 && pack_bench_amplification(&e) == 2.5,
       "6 hits of 8 requests, 250 bytes for 100");
}

int
main(void)
{
    test_stages();
    test_names();
    test_origin();
    test_consumer();
    test_echo();
    test_causes();
    test_epochs();
    test_all_sums();
    test_sums();
    return done();
}
