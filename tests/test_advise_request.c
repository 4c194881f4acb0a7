/* From what a user asks to what the advisor needs: datasets that do not exist yet, orders,
 * crops, settings, and sentences about what cannot be. */
#include <stdlib.h>
#include <unistd.h>

#include "libpack/advise/advise_request.h"
#include "libpack/base/system.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/model/cost.h"
#include "tests/tap.h"

static struct pack_advise_job job;
static struct pack_error err;

static struct pack_advise_request
request(const char *shape)
{
    struct pack_advise_request r = { PACK_ADVISE_REQUEST_DEFAULTS };
    (void)pack_shape_parse(shape, &r.data.shape, NULL);
    return r;
}

static bool
opens(const struct pack_advise_request *r)
{
    err.text[0] = '\0';
    pack_advise_job_close(&job);
    bool good = pack_advise_job_open(r, &job, &err) == PACK_OK;
    if (!good)
        note("%s", err.text);
    return good;
}

/* Fails for a member of the request, with a sentence. */
static bool
refuses(const struct pack_advise_request *r, const char *param, const char *text)
{
    bool right = !opens(r) && strstr(err.text, text) &&
                 (!param || (err.param && strcmp(err.param, param) == 0));
    if (!right)
        note("'%s' of '%s'", err.text, err.param ? err.param : "");
    return right;
}

static bool
is_shape(const struct pack_shape *shape, const char *text)
{
    char got[PACK_SHAPE_TEXT_MAX];
    return strcmp(shape->rank ? pack_shape_format(shape, got) : "", text) == 0;
}

static void
test_types(void)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = { { NULL, 1 },      { "uint8", 1 },   { "int8", 1 },    { "uint16", 2 },
                  { "int16", 2 },   { "float16", 2 }, { "uint32", 4 },  { "int32", 4 },
                  { "float32", 4 }, { "uint64", 8 },  { "int64", 8 },   { "float64", 8 } };
    struct pack_advise_request r = request("1000x32x48x3");
    bool right = true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        r.data.type = types[i].name;
        right = right && opens(&r) && job.params.data.elem_size == types[i].bytes &&
                strcmp(job.type, types[i].name ? types[i].name : "uint8") == 0;
    }
    ok(right, "elements have the bytes of their type");
    is_text(job.subject, "1000x32x48x3", "the shape is the subject");
    r.data.type = "int128";
    ok(refuses(&r, "type", "'int128' is none of int8"), "an unknown type is refused");
}

static void
test_order(void)
{
    struct pack_advise_request r = request("1000x32x48x3");
    ok(opens(&r) && job.params.reading.pattern.kind == PACK_PATTERN_SHUFFLE &&
           !job.params.reading.pattern_is_fixed &&
           job.params.reading.pattern.batch == 64 &&
           job.params.reading.pattern.workers == 4 && job.params.reading.epochs == 30 &&
           job.params.machine.memory_bytes == 1 << 30 && !job.params.now,
       "without a word it is a shuffle by 4 workers in batches of 64, 30 times");
    r.reading.pattern = "block:chunks=7,local";
    r.reading.rank = "2/5";
    r.reading.batch = 9;
    r.reading.workers = 3;
    r.reading.step = 6;
    r.reading.seed = 8;
    r.reading.epochs = 11;
    r.reading.workers_end = true;
    const struct pack_pattern *p = &job.params.reading.pattern;
    ok(opens(&r) && job.params.reading.pattern_is_fixed &&
           p->kind == PACK_PATTERN_BLOCK && p->pool_chunks == 7 && p->local &&
           p->rank == 2 && p->world == 5 && p->batch == 9 && p->workers == 3 &&
           p->step == 6 && p->seed == 8 && p->extent.extent[0] == 1000 &&
           job.params.reading.epochs == 11 && job.params.reading.workers_end,
       "what is said is taken");
    r.reading.workers = 0;
    ok(opens(&r) && !job.params.reading.workers_end, "without workers none of them ends");
    r.reading.pattern = "zigzag";
    ok(refuses(&r, "pattern", "zigzag"), "an unknown order is refused");
    r.reading.pattern = NULL;
    r.reading.rank = "5/5";
    ok(refuses(&r, "rank", "5"), "and a rank that is not there");
}

static void
test_crops(void)
{
    struct pack_advise_request r = request("1000x32x48x3");
    r.reading.crop = (struct pack_shape){ 2, { 20, 30 } };
    ok(opens(&r) && is_shape(&job.params.reading.pattern.box, "1x20x30x3"),
       "a crop leaves channels that come last alone");
    r.data.shape = (struct pack_shape){ 4, { 1000, 3, 32, 48 } };
    ok(opens(&r) && is_shape(&job.params.reading.pattern.box, "1x3x20x30"), "or first");
    r.data.shape = (struct pack_shape){ 4, { 1000, 32, 48, 4 } };
    ok(opens(&r) && is_shape(&job.params.reading.pattern.box, "1x20x30x4"),
       "four of them are");
    r.data.shape = (struct pack_shape){ 4, { 1000, 3, 48, 4 } };
    r.reading.crop = (struct pack_shape){ 2, { 20, 3 } };
    ok(opens(&r) && is_shape(&job.params.reading.pattern.box, "1x3x20x3"),
       "not where as few come first");
    r.reading.crop = (struct pack_shape){ 2, { 20, 30 } };
    r.data.shape = (struct pack_shape){ 4, { 1000, 32, 48, 50 } };
    ok(opens(&r) && is_shape(&job.params.reading.pattern.box, "1x32x20x30"),
       "fifty are none");
    r.data.shape = (struct pack_shape){ 3, { 1000, 32, 48 } };
    ok(opens(&r) && is_shape(&job.params.reading.pattern.box, "1x20x30"),
       "gray images have none");
    r.data.shape = (struct pack_shape){ 2, { 1000, 32 } };
    ok(refuses(&r, "crop", "3 or 4 dimensions"), "rows cannot be cropped");
    r.data.shape = (struct pack_shape){ 3, { 1000, 32, 48 } };
    r.reading.box = (struct pack_shape){ 3, { 1, 5, 6 } };
    ok(refuses(&r, "box", "exclude each other"), "a box and a crop exclude each other");
    r.reading.crop.rank = 0;
    ok(opens(&r) && is_shape(&job.params.reading.pattern.box, "1x5x6"),
       "a box is taken as it is");
    r.reading.box.rank = 2;
    ok(refuses(&r, "box", "it has 2 dimensions, the dataset has 3"),
       "when its dimensions are the dataset's");
}

static void
test_settings(void)
{
    static const char *const chunks[] = { "4x32x48", "8x32x48" }, *const bad[] = { "4y4" };
    struct pack_advise_request r = request("1000x32x48");
    r.cache.hdf5_version = "2.0";
    ok(opens(&r) && job.params.cache.settings.size_bytes == 8 << 20 &&
           job.params.cache.version == PACK_HDF5_2_0,
       "a version brings its default cache");
    r.cache.hdf5_version = "1.10";
    r.storing.chunks = chunks;
    r.storing.n_chunks = 2;
    ok(opens(&r) && job.params.cache.settings.size_bytes == 1 << 20 &&
           job.params.cache.settings.n_slots == 521 &&
           job.params.cache.settings.w0 == 0.75 && job.params.storing.n_chunks == 2 &&
           is_shape(&job.params.storing.chunks[1], "8x32x48") && !job.params.now,
       "chunks alone are shapes to consider");
    r.cache.slots = 0;
    ok(opens(&r) && job.params.cache.settings.n_slots == 0 && job.params.now &&
           is_shape(&job.params.now->chunk, "4x32x48"),
       "with a cache, 0 slots too, the first is today's");
    r.cache.slots = 1009;
    ok(opens(&r) && job.params.now && job.params.now->cache.n_slots == 1009,
       "which has its slots");
    r.cache.slots = UINT64_MAX;
    r.cache.w0 = 0;
    ok(opens(&r) && job.params.cache.settings.w0 == 0 && job.params.now,
       "as with a w0 of 0");
    r.cache.w0 = -1;
    r.cache.bytes = 12345;
    r.reading.reopen = true;
    ok(opens(&r) && job.params.now && job.params.now->cache.size_bytes == 12345 &&
           job.params.now->reopen && job.params.reading.reopen,
       "and bytes; today's has them");
    r.cache.hdf5_version = "3.x";
    ok(refuses(&r, "hdf5_version", "3.x"), "an unknown version is refused");
    r.cache.hdf5_version = NULL;
    r.storing.chunks = bad;
    r.storing.n_chunks = 1;
    ok(refuses(&r, "chunks", "4y4"), "and what is no shape");
}

static bool
stops(void *context)
{
    return ++*(int *)context > 0;
}

static void
test_watch(void)
{
    struct pack_advise_request r = request("1000x32x48");
    struct pack_error err = { 0 };
    static struct pack_advise_result result;
    int n_asked = 0;
    r.watch = (struct pack_watch){ .context = &n_asked, .stop = stops };
    ok(opens(&r) && pack_advise(&job.params, &result, &err) == PACK_ERR_INTERRUPTED &&
           n_asked > 0,
       "who may stop a request may stop its search too");
}

static void
test_machine(void)
{
    struct pack_advise_request r = request("1000x32x48");
    struct pack_profile processor;
    (void)pack_profile_named("hdd", &processor, NULL);
    double latency_ns = processor.latency_ns;
    processor.call_ns = 4321;
    ok(opens(&r) && strcmp(job.profile.name, "nvme") == 0 &&
           job.params.machine.ram_bytes == pack_system_ram_bytes() / 2 &&
           job.profile.n_cpus > 0,
       "storage is assumed, half of the memory is for the page cache");
    r.machine.ram_bytes = 0;
    r.machine.storage = "sata-ssd";
    r.machine.processor = &processor;
    r.machine.n_cpus = 13;
    r.goal.min_gain = 1.4;
    r.goal.target = 555;
    r.machine.memory_bytes = 1 << 25;
    r.storing.keep_file = true;
    ok(opens(&r) && strcmp(job.profile.name, "sata-ssd") == 0 &&
           job.profile.call_ns == 4321 && job.profile.latency_ns < latency_ns &&
           job.profile.n_cpus == 13 && job.params.machine.ram_bytes == 0 &&
           job.params.goal.min_gain == 1.4 && job.params.goal.target == 555 &&
           job.params.machine.memory_bytes == 1 << 25 && job.params.storing.keep_file,
       "a processor's terms go with another storage");
    r.machine.storage = "tape";
    ok(refuses(&r, "storage", "tape"), "an unknown storage is refused");
    r.machine.storage = "none-such.json";
    ok(refuses(&r, "storage", "none-such.json"), "a profile that is not there is named");
}

/* Writes a text and asks for a pattern with it; the file is gone again. */
static bool
with_file(struct pack_advise_request *r, const char *kind, const char *text,
          const char *refusal)
{
    char path[] = "test_advise_request-XXXXXX", pattern[64];
    int fd = mkstemp(path);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    snprintf(pattern, sizeof pattern, "%s%s", kind, path);
    r->reading.pattern = pattern;
    good = good && (refusal ? refuses(r, NULL, refusal) && strstr(err.text, path) : opens(r));
    unlink(path);
    return good;
}

static void
test_files(void)
{
    struct pack_advise_request r = request("3x10x10");
    ok(with_file(&r, "weighted:by=", "1\n0\n2.5\n", NULL) &&
           job.params.reading.pattern.weights[0] == 1 &&
           job.params.reading.pattern.weights[1] == 0 &&
           job.params.reading.pattern.weights[2] == 2.5,
       "weights are one number a line");
    ok(with_file(&r, "weighted:by=", "0\n0\n0\n", "its weights add up to 0"),
       "weights of which none is above 0 are refused with the file's name");
    ok(with_file(&r, "weighted:by=", "1\n2\n", "it has 2 weights for 3 samples"),
       "as many as there are samples, not fewer");
    ok(with_file(&r, "weighted:by=", "1\n2\n3\n4\n", "line 4, column 1: more weights"),
       "nor more");
    ok(with_file(&r, "weighted:by=", "1\n-2\n3\n", "line 2, column 1: not one weight"),
       "and none below 0");
    ok(with_file(&r, "trace:", "0\t0\t0\t1\t10\t10\n0\t5\t0\t3\t5\t10\n", NULL) &&
           job.params.reading.pattern.n_trace == 2 &&
           job.params.reading.pattern.trace[1].start[1] == 5 &&
           is_shape(&job.params.reading.pattern.box, "2x10x10"),
       "a trace is boxes; on average these take two samples");
    ok(with_file(&r, "trace:", "0\t0\t0\t1\t10\t10\n0\t6\t0\t1\t5\t10\n",
                 "read 2 of the trace goes beyond the dataset's 10 along axis 1"),
       "one that ends a row too late is refused");
    r.reading.crop = (struct pack_shape){ 2, { 5, 5 } };
    ok(with_file(&r, "trace:", "0\t0\t0\t1\t10\t10\n",
                 "says itself what each read asks for: neither a box nor a crop or a step"),
       "a crop of what a trace says is refused");
    r.reading.crop.rank = 0;
    r.reading.step = 3;
    ok(with_file(&r, "trace:", "0\t0\t0\t1\t10\t10\n",
                 "says itself what each read asks for: neither a box nor a crop or a step"),
       "so is a step");
    r.reading.step = 1;
    ok(with_file(&r, "trace:", "0\t0\t10\t10\n", "read 1 of the trace has 2 dimensions, the dataset has 3"),
       "and one of other dimensions");
}

static void
test_what_if(void)
{
    static const char *const chunks[] = { "4x32x48", "8x32x48" };
    struct pack_advise_request r = request("1000x32x48");
    struct pack_advise_config config;
    r.storing.chunks = chunks;
    r.storing.n_chunks = 2;
    ok(opens(&r) && pack_advise_job_what_if(&r, &job, &config, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "not 2"),
       "a what-if is of one shape");
    r.storing.n_chunks = 1;
    r.storing.codec = "gzip:4";
    ok(opens(&r) && pack_advise_job_what_if(&r, &job, &config, &err) == PACK_OK &&
           is_shape(&config.chunk, "4x32x48") && strcmp(config.codec, "gzip:4") == 0 &&
           config.stored_rate == 1 && config.decode_ns == job.profile.gzip_decode_ns,
       "with a codec of the profile's speed");
    r.storing.n_chunks = 0;
    ok(opens(&r) && pack_advise_job_what_if(&r, &job, &config, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "contiguous data cannot be compressed"),
       "which contiguous data cannot have");
    r.storing.codec = "lzma";
    ok(pack_advise_job_what_if(&r, &job, &config, &err) != PACK_OK && err.param &&
           strcmp(err.param, "codec") == 0,
       "nor an unknown one");
}

static void
fill_rows(void *context, uint64_t first, uint64_t n, void *out)
{
    (void)context;
    memset(out, (int)first, n * 8);
}

/* The processor that was measured decodes a file's chunks, and those of a second dataset. */
static void
test_processor(void)
{
    struct pack_probe_layout layout = { .extent = { 2, { 40, 8 } }, .chunk = { 2, { 4, 8 } } };
    struct pack_advise_request r = { PACK_ADVISE_REQUEST_DEFAULTS };
    struct pack_profile processor;
    char path[512];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/h5pack-test-request-%d.h5", dir ? dir : "/tmp",
             (int)getpid());
    pack_pipeline_parse("gzip:4", 1, &layout.pipeline, NULL);
    r.data.file = path;
    r.data.with = "probe";
    if (ok(pack_probe_create(path, &layout, fill_rows, NULL, &err) == PACK_OK && opens(&r),
           "a file is asked about with a second dataset %s", err.text)) {
        processor = job.profile;
        processor.gzip_decode_ns = 2 * job.profile.gzip_decode_ns + 1;
        double rate = job.now.stored_rate,
               ns = pack_cost_decode_ns(&job.profile, &layout.pipeline, rate);
        ok(ns > 0 && job.now.decode_ns == ns && job.companion.decode_ns == ns &&
               job.companion.filtered,
           "at first both are decoded by a processor that is assumed");
        pack_advise_job_take_processor(&job, &processor);
        double measured = pack_cost_decode_ns(&processor, &layout.pipeline, rate);
        ok(measured > ns && job.now.decode_ns == measured &&
               job.companion.decode_ns == measured,
           "then by the one that was measured");
        uint64_t rows = 40;
        ok(job.companion.extent.extent[0] == rows && job.companion.elem_size == 1 &&
               job.companion.chunk.extent[0] == 4,
           "of the second dataset its own layout counts");
    }
    r.data.with = "nothing";
    ok(refuses(&r, "with", "nothing"), "a second dataset that is not there is refused");
    unlink(path);
}

int
main(void)
{
    test_types();
    test_order();
    test_crops();
    test_settings();
    test_machine();
    test_watch();
    test_files();
    test_what_if();
    test_processor();
    pack_advise_job_close(&job);
    return done();
}
