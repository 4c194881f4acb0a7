/* What h5readbench cannot run, in words and on both sides of each limit; what of samples it
 * takes for pixels; what it keeps of its time; counts that are not the simulator's. */
#include "libpack/bench/bench_pixels.h"

#include <hdf5.h>
#include <math.h>
#include <unistd.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/bench/bench_request.h"
#include "libpack/bench/procs_memory.h"
#include "tests/tap.h"

static struct pack_error err;

/* Refused with this status, this sentence and, where there is one, for this parameter. */
static void
refused(enum pack_status got, enum pack_status want, const char *param, const char *sentence)
{
    bool right = got == want && strcmp(err.text, sentence) == 0 &&
                 (param ? err.param && strcmp(err.param, param) == 0 : !err.param);
    if (!ok(right, "%s", sentence))
        note("%d for '%s': %s", (int)got, err.param ? err.param : "", err.text);
    err = (struct pack_error){ 0 };
}

/* ------------------------------------------------------------------- pixels */

static void
test_presets(void)
{
    /* MLPerf Storage 1.0: simulated batches and computing times of its workloads */
    static const struct pack_bench_preset presets[] = {
        { "resnet50-h100", 400, 224000000, 0.9 },
        { "resnet50-a100", 400, 435000000, 0.9 },
        { "unet3d-h100", 7, 323000000, 0.9 },
        { "cosmoflow-h100", 1, 3500000, 0.7 },
    };
    bool right = true;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        const struct pack_bench_preset *p = pack_bench_preset_find(presets[i].name);
        right = right && p && p->batch == presets[i].batch &&
                p->step_ns == presets[i].step_ns && p->au_min == presets[i].au_min;
    }
    ok(right && !pack_bench_preset_find("resnet50"), "presets are those of MLPerf Storage");
}

static struct pack_facts
facts_of(const char *extent)
{
    struct pack_facts facts = { .type = { .class_id = PACK_TYPE_INTEGER, .bytes = 1 } };
    (void)pack_shape_parse(extent, &facts.extent, NULL);
    return facts;
}

static void
test_pixels(void)
{
    static const struct {
        const char *extent, *box, *label;
        int layout;
        const char *pixels; /* channels, height, width, layout; NULL: none */
    } cases[] = {
        { "9x20x30x3", "", "", -1, "3 20x30 nhwc" },
        { "9x3x20x30", "", "", -1, "3 20x30 nchw" },
        { "9x20x30x4", "", "", -1, "4 20x30 nhwc" },
        { "9x20x30x5", "", "", -1, NULL }, /* 20 channels */
        { "9x4x30x4", "", "", -1, "4 30x4 nchw" },
        { "9x5x30x4", "", "", -1, "4 5x30 nhwc" },
        { "9x4x30x4", "", "C", -1, "4 4x30 nhwc" },
        { "9x3x20x3", "", "W", -1, "3 20x3 nchw" },
        { "9x3x20x3", "", "W", PACK_PIXEL_NHWC, "3 3x20 nhwc" },
        { "9x3x20x3", "", "C", PACK_PIXEL_NCHW, "3 20x3 nchw" },
        { "9x20x30", "", "", -1, "1 20x30 nchw" },
        { "9x20x30", "", "", PACK_PIXEL_NHWC, "1 20x30 nchw" },
        { "9x20", "", "", -1, NULL },
        { "9x2x3x20x30", "", "", -1, NULL },
        { "9x20x30x3", "1x8x7x3", "", -1, "3 8x7 nhwc" },
        { "9x20x30x3", "2x8x7x3", "", -1, NULL },
        { "9x3x65535x65535", "", "", -1, "3 65535x65535 nchw" },
        { "9x3x65536x5", "", "", -1, NULL },
        { "9x3x5x65536", "", "", -1, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_facts facts = facts_of(cases[i].extent);
        struct pack_normalise n = { 0 };
        struct pack_shape box = { 0 };
        char text[64] = "none";
        if (cases[i].box[0])
            (void)pack_shape_parse(cases[i].box, &box, NULL);
        facts.n_labels = cases[i].label[0] ? 4 : 0;
        strcpy(facts.label[3], cases[i].label);
        if (pack_bench_pixels(&facts, &box, cases[i].layout, &n))
            snprintf(text, sizeof text, "%u %ux%u %s", n.channels, n.height, n.width,
                     n.layout == PACK_PIXEL_NHWC ? "nhwc" : "nchw");
        ok(strcmp(text, cases[i].pixels ? cases[i].pixels : "none") == 0,
           "pixels of %s%s%s: %s", cases[i].extent, cases[i].box[0] ? " read as " : "",
           cases[i].box, text);
    }
    const struct pack_shape whole = { 0 };
    struct pack_facts facts = facts_of("9x20x30x3");
    struct pack_normalise n;
    facts.type.is_signed = true;
    ok(!pack_bench_pixels(&facts, &whole, -1, &n), "numbers with a sign are no pixels");
    facts = facts_of("9x20x30x3");
    facts.type.bytes = 2;
    ok(!pack_bench_pixels(&facts, &whole, -1, &n), "nor are wider ones");
    facts = facts_of("9x20x30x3");
    facts.type.class_id = PACK_TYPE_ENUM;
    ok(!pack_bench_pixels(&facts, &whole, -1, &n), "nor names of values");
}

/* Scale and bias of each channel are 1 / std and -mean / std. */
static bool
is_scale(const struct pack_normalise *n, const double *mean, const double *std)
{
    bool right = true;
    for (uint32_t c = 0; c < n->channels; c++) {
        bool same = fabs(n->scale[c] * std[c] - 1) < 1e-6 &&
                    fabs(n->bias[c] * std[c] + mean[c]) < 1e-4;
        if (!same)
            note("channel %u: scale %g, bias %g", c, n->scale[c], n->bias[c]);
        right = right && same;
    }
    return right;
}

static void
test_scale(void)
{
    struct pack_facts facts = facts_of("9x20x30x3");
    struct pack_normalise n = { .channels = 3, .height = 2, .width = 2 };
    ok(pack_bench_scale(&facts, NULL, NULL, &n, &err) == PACK_OK &&
           is_scale(&n, (double[]){ 0, 0, 0 }, (double[]){ 255, 255, 255 }),
       "without a word pixels become 0 to 1");
    facts.n_mean = facts.n_std = 3;
    for (int c = 0; c < 3; c++) {
        facts.mean[c] = 10 + c;
        facts.std[c] = 20 + c;
    }
    facts.std[1] = 0;
    ok(pack_bench_scale(&facts, NULL, NULL, &n, &err) == PACK_OK &&
           is_scale(&n, (double[]){ 10, 11, 12 }, (double[]){ 20, 255, 22 }),
       "the file's mean and deviation are taken, but for a deviation of 0");
    ok(pack_bench_scale(&facts, "0.1,0.2,0.4", "1,2,3", &n, &err) == PACK_OK &&
           is_scale(&n, (double[]){ 25.5, 51, 102 }, (double[]){ 255, 510, 765 }),
       "what is said goes first, of values 0 to 1");
    ok(pack_bench_scale(&facts, "0.2", "0.1", &n, &err) == PACK_OK &&
           is_scale(&n, (double[]){ 51, 51, 51 }, (double[]){ 25.5, 25.5, 25.5 }),
       "one number is for all channels");
    facts.n_std = 2;
    ok(pack_bench_scale(&facts, NULL, NULL, &n, &err) == PACK_OK &&
           is_scale(&n, (double[]){ 0, 0, 0 }, (double[]){ 255, 255, 255 }),
       "two deviations of three are none");
    facts.n_std = 3;
    facts.n_mean = 2;
    ok(pack_bench_scale(&facts, NULL, NULL, &n, &err) == PACK_OK &&
           is_scale(&n, (double[]){ 0, 0, 0 }, (double[]){ 255, 255, 255 }),
       "nor are two means");
    refused(pack_bench_scale(NULL, "1,2", NULL, &n, &err), PACK_ERR_ARGUMENT, "mean",
            "mean: '1,2' is not a list of 3 numbers between commas");
    refused(pack_bench_scale(NULL, "1,2,3,4", NULL, &n, &err), PACK_ERR_ARGUMENT, "mean",
            "mean: '1,2,3,4' is not a list of 3 numbers between commas");
    refused(pack_bench_scale(NULL, NULL, "1;2;3", &n, &err), PACK_ERR_ARGUMENT, "std",
            "std: '1;2;3' is not a list of 3 numbers between commas");
    refused(pack_bench_scale(NULL, NULL, "", &n, &err), PACK_ERR_ARGUMENT, "std",
            "std: '' is not a list of 3 numbers between commas");
    refused(pack_bench_scale(NULL, NULL, "1,0,1", &n, &err), PACK_ERR_ARGUMENT, NULL,
            "channel 1 has mean 0 and standard deviation 0; the latter must be above 0");
}

/* -------------------------------------------------------------------- plans */

/* A set that is in no file. */
struct made {
    struct pack_readset set;
    struct pack_readset_part part;
    struct pack_h5_dataset data;
};

static void
make(struct made *made, const char *dataset, const char *extent, uint64_t elem_size)
{
    *made = (struct made){ .set = { .dataset = dataset,
                                    .elem_size = elem_size,
                                    .sample_bytes = elem_size,
                                    .n_parts = 1,
                                    .parts = &made->part },
                           .part = { .data = &made->data } };
    (void)pack_shape_parse(extent, &made->set.extent, NULL);
    for (int i = 1; i < made->set.extent.rank; i++)
        made->set.sample_bytes *= made->set.extent.extent[i];
    made->part.n_samples = made->set.extent.extent[0];
}

static enum pack_status
plan_of(const struct pack_bench_params *p, struct bench_plan *plan)
{
    err = (struct pack_error){ 0 };
    return pack_bench_plan_make(p, plan, &err);
}

static void
test_plan_sizes(void)
{
    struct made images, labels;
    struct bench_plan plan;
    make(&images, "images", "10x4x6", 2);
    make(&labels, "labels", "10x3", 8);
    struct pack_bench_params p = { .set = &images.set };
    ok(plan_of(&p, &plan) == PACK_OK && plan.pattern.batch == 1 &&
           plan.epoch_batches == 10 && plan.batch_max == 1 && plan.slot_bytes == 48 &&
           plan.stride_bytes == 48 && plan.with_stride_bytes == 0 &&
           plan.params.stop.epochs == 1 && plan.params.workers.prefetch == 2 &&
           plan.params.consumer.echo == 1 && plan.pattern.dealt == 1,
       "without a word one sample is a batch, and one epoch a run");
    images.data.facts.chunk = (struct pack_shape){ 3, { 7, 4, 6 } };
    bool right = plan_of(&p, &plan) == PACK_OK && plan.pattern.chunk_samples == 7;
    p.pattern.step = 3;
    right = right && plan_of(&p, &plan) == PACK_OK && plan.pattern.chunk_samples == 2;
    p.pattern.step = 8;
    right = right && plan_of(&p, &plan) == PACK_OK && plan.pattern.chunk_samples == 1;
    p.pattern.chunk_samples = 5;
    ok(right && plan_of(&p, &plan) == PACK_OK && plan.pattern.chunk_samples == 5,
       "blocks are of the file's chunks: of the samples that begin in one");
    p.pattern.chunk_samples = p.pattern.step = 0;
    p.pattern.batch = 4;
    p.with = &labels.set;
    p.workers.n = 3;
    ok(plan_of(&p, &plan) == PACK_OK && plan.epoch_batches == 3 && plan.epoch_samples == 10 &&
           plan.batch_max == 4 && plan.with_stride_bytes == 24 &&
           plan.slot_bytes == 4 * (48 + 24) && plan.pattern.dealt == 3 &&
           pack_bench_batch_samples(&plan, 1) == 4 && pack_bench_batch_samples(&plan, 2) == 2,
       "labels lie behind the samples of a batch, the last of which is smaller");
    p.pattern.drop_last = true;
    ok(plan_of(&p, &plan) == PACK_OK && plan.epoch_batches == 2 && plan.epoch_samples == 8,
       "or left out");
    p.pattern.drop_last = false;
    p.pattern.box = (struct pack_shape){ 3, { 2, 3, 5 } };
    ok(plan_of(&p, &plan) == PACK_OK && plan.stride_bytes == 60 && plan.with_stride_bytes == 48,
       "boxes of two samples have both labels");
    struct pack_box trace[] = { { 3, { 0 }, { 1, 4, 6 } }, { 3, { 2 }, { 3, 2, 1 } } };
    p.pattern = (struct pack_pattern){
        .kind = PACK_PATTERN_TRACE, .batch = 2, .trace = trace, .n_trace = 2
    };
    ok(plan_of(&p, &plan) == PACK_OK && plan.stride_bytes == 48 && plan.with_stride_bytes == 72,
       "of a trace the largest read counts, and the one with the most labels");
}

static void
test_plan_refusals(void)
{
    struct made images, labels;
    struct bench_plan plan;
    struct pack_box read = { 3, { 0 }, { 1, 4, 6 } };
    make(&images, "images", "10x4x6", 2);
    make(&labels, "labels", "9x3", 8);
    struct pack_bench_params p = { .set = &images.set, .with = &labels.set };
    refused(plan_of(&p, &plan), PACK_ERR_ARGUMENT, NULL,
            "'labels' has 9 entries for 10 samples");
    make(&labels, "labels", "10x3", 8);
    ok(plan_of(&p, &plan) == PACK_OK, "ten entries are enough");
    p.with = NULL;
    p.engine = "abacus";
    refused(plan_of(&p, &plan), PACK_ERR_ARGUMENT, NULL, "no engine is called 'abacus'");
    p.engine = NULL;
    p.pattern = (struct pack_pattern){ .batch = 11, .drop_last = true };
    refused(plan_of(&p, &plan), PACK_ERR_ARGUMENT, NULL,
            "10 samples do not fill a batch of 11");
    p.pattern.batch = 10;
    ok(plan_of(&p, &plan) == PACK_OK && plan.epoch_batches == 1, "but one of 10");
    make(&images, "images", "1x4x6", 2);
    p.pattern.batch = 2;
    refused(plan_of(&p, &plan), PACK_ERR_ARGUMENT, NULL,
            "1 sample does not fill a batch of 2");
    make(&images, "images", "10x4x6", 2);
    p.pattern = (struct pack_pattern){
        .kind = PACK_PATTERN_TRACE, .trace = &read, .n_trace = 1, .read = PACK_READ_BATCH
    };
    refused(plan_of(&p, &plan), PACK_ERR_ARGUMENT, "read",
            "a trace replays single reads of a file");
    p.pattern.read = PACK_READ_SAMPLE;
    read.count[2] = 7;
    ok(plan_of(&p, &plan) != PACK_OK && strstr(err.text, "read 1 of the trace goes beyond"),
       "a trace of another dataset is refused");
    p.pattern = (struct pack_pattern){ .read = PACK_READ_SPAN,
                                       .box = { 3, { 1, 4, 5 } } };
    refused(plan_of(&p, &plan), PACK_ERR_ARGUMENT, "read",
            "a span is of whole samples, not crops");
    p.pattern.box.extent[2] = 6;
    ok(plan_of(&p, &plan) == PACK_OK, "boxes that are whole samples are");
    p.pattern = (struct pack_pattern){ .batch = 2 };
    make(&images, "images", "10x4294967296x4294967296", 1);
    refused(plan_of(&p, &plan), PACK_ERR_LIMIT, NULL, "a sample has more than 2^64 bytes");
    make(&images, "images", "10x4294967296x2147483648", 2);
    refused(plan_of(&p, &plan), PACK_ERR_LIMIT, NULL, "a sample has more than 2^64 bytes");
    make(&images, "images", "10x2147483648x2147483648", 1);
    refused(plan_of(&p, &plan), PACK_ERR_LIMIT, NULL, "a batch of 2 samples is too large");
    p.pattern.batch = 1;
    ok(plan_of(&p, &plan) == PACK_OK && plan.slot_bytes == (size_t)1 << 62, "one is not");
    make(&images, "images", "10x4x6", 2);
    make(&labels, "labels", "10x3", (uint64_t)1 << 61);
    p.with = &labels.set;
    p.pattern.batch = 2;
    refused(plan_of(&p, &plan), PACK_ERR_LIMIT, NULL, "a batch of 2 samples is too large");
    labels.set.sample_bytes = (uint64_t)1 << 63;
    p.pattern = (struct pack_pattern){ .batch = 1, .box = { 3, { 2, 4, 6 } } };
    refused(plan_of(&p, &plan), PACK_ERR_LIMIT, NULL, "a sample has more than 2^64 bytes");
}

static void
test_memory(void)
{
    struct procs_memory memory;
    struct procs_memory_params params = { .prefetch = 3,
                                          .n_workers = 5,
                                          .slot_bytes = SIZE_MAX / 8 };
    char sentence[256];
    snprintf(sentence, sizeof sentence,
             "batches of %zu bytes, 3 for each of 5 workers, do not fit the address space",
             params.slot_bytes);
    refused(pack_procs_memory_open(&params, &memory, &err), PACK_ERR_LIMIT, NULL, sentence);
    params.slot_bytes = 5000;
    params.note_bytes = 10;
    params.activity_bytes = 4097;
    bool is_open = pack_procs_memory_open(&params, &memory, &err) == PACK_OK;
    /* a page for the error, two of activity, and of each slot one of notes and two of data */
    ok(is_open && memory.lane_bytes == 4096 * (1 + 2 + 3 * (1 + 2)) &&
           memory.shared_bytes == 5 * memory.lane_bytes && memory.n_slots == 3,
       "what is shared is whole pages, a lane for each worker");
    pack_procs_memory_close(&memory);
    params.fresh = true;
    is_open = pack_procs_memory_open(&params, &memory, &err) == PACK_OK;
    ok(is_open && memory.lane_bytes == 4096 * (1 + 2 + 4) && memory.n_slots == 4 &&
           memory.item_bytes == 5000,
       "where batches have memory of their own only notes are, one more of them");
    pack_procs_memory_close(&memory);
    const struct pack_procs_params many = { .n_workers = PACK_PROCS_MAX + 1 };
    struct pack_procs *procs = NULL;
    snprintf(sentence, sizeof sentence, "%d workers are more than %d", PACK_PROCS_MAX + 1,
             PACK_PROCS_MAX);
    refused(pack_procs_start(&many, &procs, &err), PACK_ERR_ARGUMENT, NULL, sentence);
    struct bench_requests requests = { 0 };
    refused(pack_bench_reserve(&requests, UINT64_MAX, 2, &err), PACK_ERR_MEMORY, "read",
            "out of memory: 16.0 EiB to read one batch with one call");
    ok(pack_bench_reserve(&requests, 3, 100, &err) == PACK_OK &&
           requests.scratch_bytes == 300 &&
           pack_bench_reserve(&requests, 1, 100, &err) == PACK_OK &&
           requests.scratch_bytes == 300,
       "memory of a request is kept for the next");
    pack_bench_requests_done(&requests);
}

/* -------------------------------------------------------------------- spans */

static bool
is_span(const struct pack_bench_event *e, enum pack_event_kind kind, uint64_t begin_ns,
        uint64_t end_ns)
{
    bool same = e->kind == kind && e->begin_ns == begin_ns && e->end_ns == end_ns &&
                e->number == 5;
    if (!same)
        note("kind %d of %d: %d to %d", (int)e->kind, (int)e->number, (int)e->begin_ns,
             (int)e->end_ns);
    return same;
}

/* Of a run that began at 1000: a worker waited from 1100 on, read from 1120 to 1180, and its
 * batch was taken at 1190, for which the trainer had waited since 1170. */
static void
test_spans(void)
{
    static struct pack_bench_result r;
    struct bench_note n = { .begin_ns = 1120, .end_ns = 1180, .work.idle_ns = 20 };
    const struct pack_procs_item item = { .worker = 3, .number = 5, .note = &n };
    const struct pack_bench_event *e;
    n.work.read = (struct pack_read_cost){
        .file_reads = 7, .call_ns = 30, .storage_ns = 11, .metadata_ns = 2, .decode_ns = 4
    };
    n.work.with = (struct pack_read_cost){
        .file_reads = 100, .call_ns = 15, .storage_ns = 3, .metadata_ns = 1, .decode_ns = 6
    };
    n.work.delay_ns = 9;
    pack_bench_record_batch(&r, 1000, &item, 1170, 1190);
    pack_bench_record_take(&r, 1000, 5, 1190, 1195);
    pack_bench_record_step(&r, 1000, &(struct pack_step){ .begin_ns = 1190, .end_ns = 1200 });
    ok(r.events.n == 0, "spans are not kept unless asked for");
    if (!ok(pack_bench_events_open(&r, &err) == PACK_OK, "there is memory for spans"))
        return;
    pack_bench_record_batch(&r, 1000, &item, 1170, 1190);
    e = r.events.event;
    ok(r.events.n == 4 && is_span(&e[0], PACK_EVENT_IDLE, 100, 120) &&
           is_span(&e[1], PACK_EVENT_HAND_OVER, 180, 190) &&
           is_span(&e[2], PACK_EVENT_READ, 120, 180) &&
           is_span(&e[3], PACK_EVENT_WAIT, 170, 190),
       "a batch has four spans, counted from the run's start");
    ok(e[0].lane == 3 && e[1].lane == 3 && e[2].lane == 3 && e[3].lane == 0,
       "three of them the worker's");
    ok(e[2].loads == 7 && e[2].call_ns == 45 && e[2].storage_ns == 17 &&
           e[2].decode_ns == 10 && e[2].delay_ns == 9,
       "reading divides into calls, storage, decoding and the delay, of both datasets");
    const struct pack_step step = { .number = 5,
                                    .begin_ns = 1200,
                                    .end_ns = 1260,
                                    .pin_begin_ns = 1150,
                                    .pin_ns = 10,
                                    .copy_begin_ns = 1165,
                                    .copy_ns = 25,
                                    .normalise_ns = 8 };
    r.events.n = 0;
    pack_bench_record_take(&r, 1000, 5, 1190, 1195);
    pack_bench_record_step(&r, 1000, &step);
    ok(r.events.n == 5 && is_span(&e[0], PACK_EVENT_TAKE, 190, 195) &&
           is_span(&e[1], PACK_EVENT_PIN, 150, 160) &&
           is_span(&e[2], PACK_EVENT_COPY, 165, 190) &&
           is_span(&e[3], PACK_EVENT_NORMALISE, 200, 208) &&
           is_span(&e[4], PACK_EVENT_STEP, 200, 260),
       "a step has four more");
    r.events.n = 0;
    pack_bench_record_take(&r, 1000, 5, 999, 1100);
    pack_bench_record_take(&r, 1000, 5, 1100, 1100);
    ok(r.events.n == 0, "what began before the run, or took no time, has none");
    pack_bench_record_take(&r, 1000, 5, 1000, 1001);
    ok(r.events.n == 1 && is_span(&e[0], PACK_EVENT_TAKE, 0, 1), "what began with it has");
    r.events.n = PACK_BENCH_EVENTS_MAX - 1;
    pack_bench_record_take(&r, 1000, 5, 1000, 1001);
    ok(r.events.n == PACK_BENCH_EVENTS_MAX && !r.events.cut, "there is room for so many,");
    pack_bench_record_take(&r, 1000, 5, 1000, 1001);
    ok(r.events.n == PACK_BENCH_EVENTS_MAX && r.events.cut, "and that there were more is told");
    pack_bench_done(&r);
}

/* ----------------------------------------------------------------- mismatch */

static char path[64];

static bool
write_dataset(hid_t file, const char *name, const hsize_t *extent, const hsize_t *chunk)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, extent, NULL);
    H5Pset_chunk(creation, 2, chunk);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    hid_t set = H5Dcreate2(file, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT, creation,
                           H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(creation);
    return H5Dclose(set) >= 0;
}

static bool
write_file(void)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool good = file >= 0 &&
                write_dataset(file, "x", (hsize_t[]){ 24, 10 }, (hsize_t[]){ 3, 10 }) &&
                write_dataset(file, "labels", (hsize_t[]){ 24, 6 }, (hsize_t[]){ 4, 2 });
    return H5Fclose(file) >= 0 && good;
}

/* In order, in batches of 6, by two workers whose caches hold all: each reads chunks of 3
 * samples once, and labels in chunks of 4 x 2, of which three lie side by side. */
static void
test_counts(void)
{
    const char *name = path;
    struct pack_readset *set = NULL, *with = NULL;
    if (!ok(pack_readset_open(&name, 1, "x", &set, &err) == PACK_OK &&
                pack_readset_open(&name, 1, "labels", &with, &err) == PACK_OK,
            "a file opens %s", err.text))
        return;
    const struct pack_bench_params p = { .set = set,
                                         .with = with,
                                         .workers.n = 2,
                                         .stop.epochs = 2,
                                         .pattern.kind = PACK_PATTERN_SEQUENTIAL,
                                         .pattern.batch = 6 };
    struct pack_bench_result r, again = { 0 };
    bool done = pack_bench_run(&p, &r, &err) == PACK_OK;
    if (ok(done && r.mismatch.n == 0 && r.mismatch.n_compared == 8,
           "each worker's epochs are compared, of both datasets %s%s", err.text,
           done ? r.mismatch.text : "")) {
        const struct pack_cache_counts *x = &r.epochs[0].expected.set,
                                       *l = &r.epochs[0].expected.with;
        ok(x->file_reads == 8 && x->file_read_bytes == 240 && r.epochs[0].expected.is_known,
           "the simulator reads each chunk of samples once");
        /* batches 0 and 2 have labels 0-5 and 12-17, 1 and 3 6-11 and 18-23 */
        ok(l->file_reads == 24 && l->file_read_bytes == 24 * 8,
           "and of labels all that lie side by side");
        if (l->file_reads != 24)
            note("%d reads of %d bytes", (int)l->file_reads, (int)l->file_read_bytes);
        ok(r.epochs[1].expected.set.file_reads == 0 && r.epochs[1].expected.with.file_reads == 0,
           "later epochs find all of it in the caches");
    }
    again.n_epochs = 2;
    again.epochs = done ? r.epochs : NULL;
    again.setup = r.setup;
    struct bench_plan plan;
    struct bench_tally tally[4] = { { 2, 4, 120, 12, 96 }, { 2, 4, 120, 12, 96 },
                                    { 2, 0, 0, 0, 0 },     { 2, 1, 30, 0, 0 } };
    if (done && plan_of(&p, &plan) == PACK_OK) {
        ok(pack_bench_check(&plan, tally, &again, &err) == PACK_OK && again.mismatch.n == 1 &&
               again.mismatch.n_compared == 8,
           "a read more than the simulator has is a mismatch");
        is_text(again.mismatch.text,
                "worker 1, epoch 1, dataset x: HDF5 made 1 read of 30 bytes in all, the "
                "simulator says 0 of 0",
                "which says where it is, and how many there were");
        tally[0].file_read_bytes = 119;
        tally[1].with_reads = 13;
        tally[3] = tally[2];
        again.mismatch = (struct pack_bench_mismatch){ 0 };
        ok(pack_bench_check(&plan, tally, &again, &err) == PACK_OK && again.mismatch.n == 2,
           "a byte less is one, too, and a read of labels");
        is_text(again.mismatch.text,
                "worker 0, epoch 0, dataset x: HDF5 made 4 reads of 119 bytes in all, the "
                "simulator says 4 of 120",
                "of which the first is told");
    }
    if (done)
        pack_bench_done(&r);
    struct pack_bench_params endless = p;
    endless.stop.epochs = (1 << 25) + 1;
    refused(pack_bench_run(&endless, &r, &err), PACK_ERR_LIMIT, NULL,
            "too many epochs (33554433)");
    pack_bench_done(&r);
    pack_readset_close(set);
    pack_readset_close(with);
}

static void
test_checksum(void)
{
    struct pack_consumer *consumer = NULL;
    struct bench_expect *expect = NULL;
    const struct pack_consumer_params params = { .sample_bytes = 1, .batch_max = 1 };
    const struct bench_plan images = { .batch_max = 1 };
    refused(pack_consumer_open("checksum", &params, &consumer, &err), PACK_ERR_ARGUMENT, NULL,
            "consumer 'checksum' has nothing to compare with");
    refused(pack_bench_expect_open(&images, &expect, &err), PACK_ERR_ARGUMENT, NULL,
            "consumer 'checksum' compares with a file, not with images");
}

int
main(void)
{
    snprintf(path, sizeof path, "test_bench_limits_%d.h5", (int)getpid());
    test_presets();
    test_pixels();
    test_scale();
    test_plan_sizes();
    test_plan_refusals();
    test_memory();
    test_spans();
    if (ok(write_file(), "a file is made"))
        test_counts();
    test_checksum();
    unlink(path);
    return done();
}
