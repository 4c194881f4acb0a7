/* h5readbench: what a training loop gets out of an HDF5 file, and what limits it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "libpack/bench.h"
#include "libpack/json.h"
#include "libpack/outfile.h"
#include "libpack/report_bench.h"
#include "libpack/rng.h"
#include "tools/cli.h"
#include "tools/sweep.h"

struct opts {
    const char *dataset, *with, *images, *size, *crop, *pattern, *rank;
    uint64_t shorter, batch, workers, prefetch, epochs, batches, seed;
    double seconds;
    struct pack_shape box;
    bool drop_last;
    int read;
    const char *engine;
    uint64_t nbytes, nslots;
    double w0;
    bool reopen, cold, no_check;
    const char *consumer, *step, *preset, *mean, *std, *gpu, *delay, *stall;
    int layout, precision, transfer;
    uint64_t echo;
    bool echo_split;
    double min_busy;
    struct cli_texts sweep;
    const char *trace, *svg;
    bool force, json, quiet;
};
static const struct opts defaults = {
    .pattern = "shuffle",
    .batch = 32,
    .epochs = 1,
    .seed = UINT64_MAX,
    .nbytes = UINT64_MAX,
    .nslots = UINT64_MAX,
    .w0 = -1,
    .layout = 0,
    .echo = 1,
    .min_busy = -1,
};
static struct opts o;

static const struct cli_option options[] = {
    CLI_SECTION("What to read"),
    CLI_TEXT('d', "dataset", &o.dataset, "PATH",
             "the dataset (default: images, or the only one)"),
    CLI_TEXT(0, "with", &o.with, "PATH", "a second dataset, read in step, e.g. labels"),
    CLI_TEXT(0, "images", &o.images, "FOLDER",
             "instead of a file: decode these images at every epoch, as a baseline"),
    CLI_TEXT(0, "size", &o.size, "HxW", "with --images: scale, as h5pack --size"),
    CLI_NUMBER(0, "shorter", &o.shorter, "N", 1, PACK_GEOMETRY_MAX,
               "with --images: scale, as h5pack --shorter"),

    CLI_SECTION("In which order"),
    CLI_TEXT('p', "pattern", &o.pattern, "NAME[:KEY=N,...]",
             "sequential, shuffle, block:chunks=32, buffer:samples=10000, replacement, "
             "weighted:by=FILE or trace:FILE (default: shuffle)"),
    CLI_NUMBER('b', "batch", &o.batch, "N", 1, 1 << 24, "samples (default: 32)"),
    CLI_NUMBER('w', "workers", &o.workers, "N", 0, PACK_PROCS_MAX,
               "reader processes, as DataLoader's num_workers (default: 0, in line)"),
    CLI_NUMBER(0, "prefetch", &o.prefetch, "N", 1, 1024,
               "batches in flight for each worker (default: 2)"),
    CLI_CHOICE(0, "read", &o.read, "sample|batch|span",
               "one H5Dread for each sample, for each batch, or for the span of a batch "
               "(default: sample)"),
    CLI_TEXT(0, "rank", &o.rank, "R/W", "read as rank R of W, counted from 0"),
    CLI_TEXT(0, "crop", &o.crop, "HxW",
             "a random crop of each image; with --images the centre"),
    CLI_SHAPE(0, "box", &o.box, "AxBxC", "a random box of this shape as sample"),
    CLI_FLAG(0, "drop-last", &o.drop_last, "leave out a last batch that is short"),
    CLI_NUMBER(0, "seed", &o.seed, "N", 0, 0x1p63 - 1025,
               "of the order (default: random)"),
    CLI_NUMBER('e', "epochs", &o.epochs, "N", 1, 1 << 20, "default: 1"),
    CLI_NUMBER(0, "batches", &o.batches, "N", 1, 0x1p53, "stop after so many"),
    CLI_REAL(0, "seconds", &o.seconds, "S", 0.001, 1e7, "stop after so long"),

    CLI_SECTION("How to read"),
    CLI_TEXT(0, "engine", &o.engine, "NAME",
             "hdf5, the stock library (default), or images"),
    CLI_BYTES(0, "rdcc-nbytes", &o.nbytes, "SIZE",
              "chunk cache of each worker (default: the library's)"),
    CLI_NUMBER(0, "rdcc-nslots", &o.nslots, "N", 0, 0x1p40,
               "its slots (default: the library's)"),
    CLI_REAL(0, "rdcc-w0", &o.w0, "W", 0, 1, "its preemption (default: the library's)"),
    CLI_FLAG(0, "reopen", &o.reopen,
             "open the dataset by name at each read, as careless code does"),
    CLI_FLAG(0, "cold", &o.cold, "drop the file from the page cache before each epoch"),
    CLI_TEXT(0, "delay", &o.delay, "TIME",
             "add this to the making of each batch: what slower storage would do"),
    CLI_TEXT(0, "stall", &o.stall, "TIME",
             "give up on a worker or GPU that is silent for so long (default: 120s)"),
    CLI_FLAG(0, "no-check", &o.no_check,
             "do not compare the counts with the simulator's"),

    CLI_SECTION("The consumer"),
    CLI_TEXT('c', "consumer", &o.consumer, "NAME",
             "null, host, emulated, checksum, cuda, or auto for the best there is "
             "(default: null, or emulated with --step or --preset)"),
    CLI_TEXT(0, "step", &o.step, "TIME",
             "computing time of a training step: 25ms (emulated, cuda)"),
    CLI_TEXT(0, "preset", &o.preset, "NAME",
             "batch, step and threshold of MLPerf Storage: resnet50-h100, resnet50-a100, "
             "unet3d-h100, cosmoflow-h100"),
    CLI_CHOICE(0, "layout", &o.layout, "auto|nhwc|nchw",
               "of the images (default: as labelled in the file)"),
    CLI_TEXT(0, "mean", &o.mean, "M,...",
             "for normalising, of values 0 to 1 (default: the file's)"),
    CLI_TEXT(0, "std", &o.std, "S,...", "likewise"),
    CLI_CHOICE(0, "precision", &o.precision, "fp32|fp16|bf16",
               "of normalised images (default: fp32)"),
    CLI_CHOICE(0, "transfer", &o.transfer, "uint8|float32",
               "what goes to the GPU (default: uint8, normalised there)"),
    CLI_TEXT(0, "gpu", &o.gpu, "N|UUID", "index, UUID or MIG UUID (default: the first)"),
    CLI_NUMBER(0, "echo", &o.echo, "N", 1, 1 << 20, "use each batch N times"),
    CLI_FLAG(0, "echo-split", &o.echo_split,
             "each use shuffles the batch and takes it in two halves"),
    CLI_REAL(0, "min-busy", &o.min_busy, "PERCENT", 0, 100,
             "exit with 1 when the consumer is busy for less"),

    CLI_SECTION("Reporting"),
    CLI_TEXTS(0, "sweep", &o.sweep, "KEY=A,B,...",
              "run with each value of option KEY and print a table; several make all "
              "combinations"),
    CLI_TEXT(0, "trace", &o.trace, "FILE", "write a Chrome trace, for Perfetto"),
    CLI_TEXT(0, "svg", &o.svg, "FILE", "write a timeline and the utilisation"),
    CLI_FLAG('f', "force", &o.force, "replace existing files"),
    CLI_FLAG(0, "json", &o.json, "print one JSON object"),
    CLI_FLAG('q', "quiet", &o.quiet, "no progress, no remarks"),
    CLI_END
};

static const struct cli_program program = {
    .name = "h5readbench",
    .purpose = "what a training loop gets out of an HDF5 file, and what limits it",
    .synopsis = "[OPTIONS] FILE[:/DATASET]...\n"
                "[OPTIONS] --images FOLDER",
    .options = options,
    .epilogue =
        "TIME is 25ms, 3.5ms, 200us, 1.5s. Exit status: 0 done; 1 done, but the "
        "consumer\n"
        "starved (--min-busy), a preset failed, or counts or samples differ; 2 could "
        "not;\n"
        "128 + signal when stopped, after printing what was measured so far.\n"
        "\n"
        "examples:\n"
        "  h5readbench train.h5 --batch 64 --workers 4 --step 25ms\n"
        "  h5readbench train.h5 --preset resnet50-h100 --workers 8 --cold\n"
        "  h5readbench train.h5 --consumer cuda --step 25ms --precision fp16\n"
        "  h5readbench train.h5 --sweep rdcc-nbytes=1M,16M,64M --sweep workers=1,2,4\n"
        "\n"
        "More: man h5readbench\n",
};

/* ---------------------------------------------------------------- options */

static enum pack_status
parse_time(const char *name, const char *text, uint64_t *ns, struct pack_error *err)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    char *end;
    if (!text)
        return PACK_OK;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++)
        if (strcmp(end, units[i].unit) == 0 && value >= 0 && value * units[i].ns < 1e18) {
            *ns = (uint64_t)(value * units[i].ns + 0.5);
            return PACK_OK;
        }
    return pack_fail(err, PACK_ERR_ARGUMENT, "--%s: '%.40s' is not a time like 25ms",
                     name, text);
}

static enum pack_status
parse_sides(const char *name, const char *text, uint32_t *h, uint32_t *w,
            struct pack_error *err)
{
    struct pack_shape shape;
    if (!text)
        return PACK_OK;
    enum pack_status status = pack_shape_parse(text, &shape, err);
    if (status == PACK_OK && (shape.rank != 2 || shape.extent[0] > PACK_GEOMETRY_MAX ||
                              shape.extent[1] > PACK_GEOMETRY_MAX))
        status = pack_fail(err, PACK_ERR_ARGUMENT, "'%.40s' is not HxW", text);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "--%s", name);
    *h = (uint32_t)shape.extent[0];
    *w = (uint32_t)shape.extent[1];
    return PACK_OK;
}

/* Everything that one run holds open. */
struct job {
    struct pack_bench_params params;
    struct pack_readset *set, *with;
    struct pack_source *source;
    struct pack_bench_order order;
    const struct pack_bench_preset *preset;
    struct cli_progress progress;
    char **operands;
    size_t n_operands;
};

static uint64_t
random_seed(void)
{
    return pack_rng_mix((uint64_t)time(NULL), (uint64_t)getpid()) >> 33;
}

static enum pack_status
parse_order(struct job *job, struct pack_error *err)
{
    struct pack_bench_params *p = &job->params;
    p->pattern.seed = o.seed;
    if (o.seed == UINT64_MAX)
        p->pattern.seed = random_seed();
    p->pattern.batch = o.batch;
    p->pattern.drop_last = o.drop_last;
    p->pattern.read = (enum pack_read_mode)o.read;
    p->pattern.box = o.box;
    enum pack_status status = pack_pattern_parse(o.pattern, &p->pattern, err);
    if (status == PACK_OK && p->pattern.file)
        status = pack_bench_order_read(&p->pattern, &job->order, err);
    p->pattern.trace = job->order.trace.boxes;
    p->pattern.n_trace = job->order.trace.n_boxes;
    p->pattern.weights = job->order.weights;
    if (status == PACK_OK && o.rank)
        status = pack_pattern_parse_rank(o.rank, &p->pattern, err);
    return status;
}

static enum pack_status
parse_consumer(struct job *job, struct pack_error *err)
{
    struct pack_bench_params *p = &job->params;
    if (o.preset) {
        job->preset = pack_bench_preset_find(o.preset);
        if (!job->preset)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "--preset: '%.40s' is none of resnet50-h100, resnet50-a100, "
                             "unet3d-h100, cosmoflow-h100",
                             o.preset);
        p->pattern.batch = job->preset->batch;
        p->consume.step_ns = job->preset->step_ns;
    }
    enum pack_status status = parse_time("step", o.step, &p->consume.step_ns, err);
    if (status == PACK_OK)
        status = parse_time("delay", o.delay, &p->delay_ns, err);
    if (status == PACK_OK)
        status = parse_time("stall", o.stall, &p->stall_ns, err);
    p->consume.stall_ns = p->stall_ns;
    p->consume.transfer = (enum pack_transfer)o.transfer;
    p->consume.gpu = o.gpu;
    p->consume.normalise.precision = (enum pack_precision)o.precision;
    p->consumer = o.consumer ? o.consumer : p->consume.step_ns ? "emulated" : "null";
    p->echo = o.echo;
    p->echo_split = o.echo_split;
    return status;
}

static void
fill_reading(struct pack_bench_params *p)
{
    p->engine = o.engine;
    p->n_workers = o.workers;
    p->prefetch = o.prefetch;
    p->set_cache = o.nbytes != UINT64_MAX || o.nslots != UINT64_MAX || o.w0 >= 0;
    p->cache.n_slots = o.nslots; /* UINT64_MAX and a negative w0: HDF5's own defaults */
    p->cache.size_bytes = o.nbytes;
    p->cache.w0 = o.w0;
    p->reopen = o.reopen;
    p->cold = o.cold;
    p->epochs = o.epochs;
    p->batches_max = o.batches;
    p->seconds_ns = (uint64_t)(o.seconds * 1e9);
    p->keep_events = o.trace || o.svg;
    p->no_check = o.no_check;
}

/* ------------------------------------------------------------------ inputs */

/* --crop of a dataset: a box with all channels. */
static enum pack_status
set_crop(struct job *job, const struct pack_normalise *pixels, bool is_images,
         struct pack_error *err)
{
    uint32_t h = 0, w = 0;
    struct pack_shape *box = &job->params.pattern.box;
    enum pack_status status = parse_sides("crop", o.crop, &h, &w, err);
    if (status != PACK_OK || !o.crop)
        return status;
    if (!is_images)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--crop wants uint8 images; --box AxBxC takes any shape");
    *box = job->set->extent;
    box->extent[0] = 1;
    bool last = pixels->layout == PACK_LAYOUT_NHWC;
    box->extent[box->rank - (last ? 3 : 2)] = h;
    box->extent[box->rank - (last ? 2 : 1)] = w;
    return PACK_OK;
}

static enum pack_status
open_files(struct job *job, struct pack_error *err)
{
    struct pack_bench_params *p = &job->params;
    const char *const *operands = (const char *const *)job->operands;
    int layout = o.layout == 0 ? -1 : o.layout == 1 ? PACK_LAYOUT_NHWC : PACK_LAYOUT_NCHW;
    enum pack_status status =
        pack_readset_open(operands, job->n_operands, o.dataset, &job->set, err);
    if (status == PACK_OK && o.with) {
        const char *first = job->set->parts[0].file;
        if (job->set->n_parts > 1)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "--with reads beside one file, and there are %zu",
                             job->set->n_parts);
        status = pack_readset_open(&first, 1, o.with, &job->with, err);
    }
    if (status != PACK_OK)
        return status;
    p->set = job->set;
    p->with = job->with;
    if (job->order.n_weights && job->order.n_weights != job->set->extent.extent[0])
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s' has %zu weights for %" PRIu64 " samples", p->pattern.file,
                         job->order.n_weights, job->set->extent.extent[0]);
    const struct pack_facts *facts = &job->set->parts[0].facts;
    struct pack_normalise *n = &p->consume.normalise;
    status = set_crop(job, n, pack_bench_pixels(facts, &p->pattern.box, layout, n), err);
    p->consume.has_normalise = pack_bench_pixels(facts, &p->pattern.box, layout, n);
    if (status == PACK_OK && p->consume.has_normalise)
        status = pack_bench_scale(facts, o.mean, o.std, n, err);
    return status;
}

static enum pack_status
open_images(struct job *job, struct pack_error *err)
{
    struct pack_bench_params *p = &job->params;
    struct pack_geometry *g = &p->geometry;
    struct pack_source_params params = { 0 };
    g->shorter = (uint32_t)o.shorter;
    enum pack_status status = parse_sides("size", o.size, &g->size_h, &g->size_w, err);
    if (status == PACK_OK)
        status = parse_sides("crop", o.crop, &g->crop_h, &g->crop_w, err);
    if (status == PACK_OK)
        status = pack_geometry_check(g, err);
    if (status == PACK_OK && !pack_geometry_fixed(g, &p->image_height, &p->image_width))
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "--images needs one size for all: --size HxW, or --shorter N "
                           "and --crop HxW");
    if (status == PACK_OK)
        status = pack_source_open(&o.images, 1, &params, &job->source, err);
    if (status != PACK_OK)
        return status;
    p->source = job->source;
    p->layout = o.layout == 2 ? PACK_LAYOUT_NCHW : PACK_LAYOUT_NHWC;
    p->consume.has_normalise = true;
    struct pack_normalise *n = &p->consume.normalise;
    n->channels = 3;
    n->height = p->image_height;
    n->width = p->image_width;
    n->layout = p->layout;
    return pack_bench_scale(NULL, o.mean, o.std, n, err);
}

/* ------------------------------------------------------------- the consumer */

/* The best consumer there is; says which. */
static void
choose_consumer(struct pack_bench_params *p)
{
    struct pack_error err = { 0 };
    struct pack_consumer *consumer = NULL;
    struct pack_consumer_params probe = p->consume;
    const char *why = "samples are no uint8 images";
    if (strcmp(p->consumer, "auto") != 0)
        return;
    p->consumer = p->consume.step_ns ? "emulated" : "null";
    if (probe.has_normalise) {
        /* in a process of its own: CUDA must not be started before the readers are */
        pid_t pid = fork();
        if (pid == 0) {
            probe.batch_max = 1;
            probe.sample_bytes = pack_normalise_values(&probe.normalise);
            bool can = pack_consumer_open("cuda", &probe, &consumer, &err) == PACK_OK;
            pack_consumer_close(consumer);
            _exit(can ? 0 : 1);
        }
        int how = 1;
        if (pid > 0)
            waitpid(pid, &how, 0);
        why = "no GPU can be used";
        if (pid > 0 && how == 0) {
            p->consumer = "cuda";
            why = "a GPU is there";
        }
    }
    cli_say("consumer %s (%s)", p->consumer, why);
}

/* ---------------------------------------------------------------- progress */

static bool
should_stop(void *context)
{
    (void)context;
    return cli_signal != 0;
}

static void
show_progress(void *context, const struct pack_bench_live *live)
{
    struct job *job = context;
    struct cli_progress *progress = &job->progress;
    char text[96], hits[32] = "";
    if (!progress->enabled)
        return;
    if (live->hit_rate >= 0)
        snprintf(hits, sizeof hits, "  hits %.0f %%", 100 * live->hit_rate);
    snprintf(text, sizeof text, "batches%s  busy %.0f %%", hits, 100 * live->busy_rate);
    progress->unit = text;
    progress->total = live->n_batches_total ? live->n_batches_total : live->n_batches;
    cli_progress_update(progress, live->n_batches, live->n_bytes);
}

/* --------------------------------------------------------------------- run */

static void
close_job(struct job *job)
{
    pack_readset_close(job->set);
    pack_readset_close(job->with);
    pack_source_close(job->source);
    pack_bench_order_done(&job->order);
}

static enum pack_status
open_job(struct job *job, struct pack_error *err)
{
    struct pack_bench_params *p = &job->params;
    enum pack_status status = parse_order(job, err);
    if (status == PACK_OK)
        status = parse_consumer(job, err);
    fill_reading(p);
    if (status == PACK_OK && !job->n_operands == !o.images)
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "give either FILE[:/DATASET]... or --images FOLDER; see "
                           "h5readbench --help");
    if (status == PACK_OK)
        status = o.images ? open_images(job, err) : open_files(job, err);
    if (status != PACK_OK)
        return status;
    /* a MIG instance is seen only by a process that asks for it */
    if (o.gpu && (strncmp(o.gpu, "MIG-", 4) == 0 || strncmp(o.gpu, "GPU-", 4) == 0))
        setenv("CUDA_VISIBLE_DEVICES", o.gpu, 1);
    choose_consumer(p);
    p->stop = should_stop;
    p->progress = show_progress;
    p->context = job;
    return PACK_OK;
}

typedef enum pack_status (*report_fn)(const struct pack_bench_report *report,
                                      struct pack_buf *text, struct pack_error *err);

static enum pack_status
write_file(const char *path, report_fn fn, const struct pack_bench_report *report,
           struct pack_error *err)
{
    struct pack_buf text = { 0 };
    if (!path)
        return PACK_OK;
    enum pack_status status = fn(report, &text, err);
    if (status == PACK_OK)
        status = pack_outfile_write(path, o.force, text.data, text.size, err);
    pack_buf_done(&text);
    return status;
}

static int
exit_status_of(const struct pack_bench_report *report)
{
    const struct pack_bench_result *r = report->result;
    if (r->interrupted && cli_signal)
        return 128 + cli_signal;
    if (r->mismatch.n || r->total.read.skipped ||
        (report->min_busy >= 0 && r->steps.busy_rate < report->min_busy) ||
        (report->preset && r->steps.au < report->preset->au_min))
        return CLI_LOOK;
    return CLI_DONE;
}

/* Runs once; appends the report to *text. */
static int
run_once(struct job *job, struct pack_buf *text, struct pack_bench_result *result)
{
    struct pack_error err = { 0 };
    struct pack_bench_advice advice;
    struct pack_bench_report report = {
        .params = &job->params,
        .result = result,
        .operands = (const char *const *)job->operands,
        .n_operands = job->n_operands,
        .min_busy = o.min_busy < 0 ? -1 : o.min_busy / 100,
    };
    enum pack_status status = open_job(job, &err);
    if (status == PACK_OK) {
        cli_progress_begin(&job->progress, "reading", "batches", 0);
        status = pack_bench_run(&job->params, result, &err);
        cli_progress_end(&job->progress);
    }
    report.preset = job->preset;
    if (status == PACK_ERR_MISMATCH) {
        cli_complain("%s", err.text);
        return CLI_LOOK;
    }
    bool measured =
        status == PACK_OK || (status == PACK_ERR_INTERRUPTED && result->epochs);
    if (measured && !result->interrupted) {
        status = pack_bench_advise(&job->params, result, &advice, &err);
        report.advice = &advice;
    }
    if (measured && (status == PACK_OK || status == PACK_ERR_INTERRUPTED))
        status = (o.json ? pack_report_bench_json : pack_report_bench_text)(&report, text,
                                                                            &err);
    if (status == PACK_OK)
        status = write_file(o.trace, pack_report_bench_trace, &report, &err);
    if (status == PACK_OK && result->events_cut)
        cli_say("trace and picture end after %d spans", PACK_BENCH_EVENTS_MAX);
    if (status == PACK_OK)
        status = write_file(o.svg, pack_report_bench_svg, &report, &err);
    return status == PACK_OK ? exit_status_of(&report) : cli_fail(&err);
}

/* ------------------------------------------------------------------- sweep */

struct figures {
    int exit_status;
    double rate, hit_rate, amplification, busy_rate, au;
    enum pack_limit limit;
};

static void
print_header(const struct sweep *sweep)
{
    for (size_t k = 0; k < sweep->n_keys; k++)
        printf("%-12s ", sweep->key[k].name);
    printf("%10s  %8s  %8s  %7s  limited by\n", "samples/s", "hit rate", "x wanted",
           "busy");
}

static void
print_row(const struct sweep *sweep, size_t run, const struct figures *f)
{
    char hits[16] = "-";
    for (size_t k = 0; k < sweep->n_keys; k++)
        printf("%-12s ", sweep_value(sweep, run, k));
    if (f->hit_rate >= 0)
        snprintf(hits, sizeof hits, "%.1f %%", 100 * f->hit_rate);
    printf("%10.1f  %8s  %8.2f  %5.1f %%  %s\n", f->rate, hits, f->amplification,
           100 * f->busy_rate, pack_limit_name(f->limit));
    fflush(stdout);
}

static void
put_run(struct pack_json *json, const struct sweep *sweep, size_t run,
        const struct figures *f)
{
    pack_json_object(json, NULL);
    pack_json_object(json, "values");
    for (size_t k = 0; k < sweep->n_keys; k++)
        pack_json_text(json, sweep->key[k].name, sweep_value(sweep, run, k));
    pack_json_close(json);
    pack_json_i64(json, "exit_status", f->exit_status);
    pack_json_double(json, "samples_per_s", f->rate);
    pack_json_double(json, "hit_rate", f->hit_rate < 0 ? NAN : f->hit_rate);
    pack_json_double(json, "amplification", f->amplification);
    pack_json_double(json, "busy_rate", f->busy_rate);
    pack_json_double(json, "au", f->au < 0 ? NAN : f->au);
    pack_json_text(json, "limit", pack_limit_name(f->limit));
    pack_json_close(json);
}

static void
begin_sweep_json(struct pack_json *json, struct pack_buf *text)
{
    pack_json_begin(json, text);
    pack_json_object(json, NULL);
    pack_json_text(json, "schema", "readbench-sweep/1");
    pack_json_text(json, "program", "h5readbench");
    pack_json_text(json, "version", PACKAGE_VERSION);
    pack_json_object(json, "options");
    pack_json_u64(json, "seed", o.seed);
    pack_json_close(json);
    pack_json_array(json, "runs");
}

static int run_command(int argc, char **argv, struct figures *figures,
                       struct pack_buf *text);

static bool
run_one_of_sweep(int argc, char **argv, void *out)
{
    struct figures *figures = out;
    struct pack_buf text = { 0 };
    int exit_status = run_command(argc, argv, figures, &text);
    figures->exit_status = exit_status;
    return exit_status != CLI_FAILED;
}

static int
run_sweep(int argc, char **argv, struct pack_buf *text)
{
    struct sweep sweep;
    struct pack_error err = { 0 };
    struct pack_json json;
    char seed[48];
    char *common[] = { seed, NULL }; /* one order for all */
    int worst = CLI_DONE;
    if (o.seed == UINT64_MAX)
        o.seed = random_seed();
    snprintf(seed, sizeof seed, "--seed=%" PRIu64, o.seed);
    enum pack_status status = sweep_open(&o.sweep, &sweep, &err);
    begin_sweep_json(&json, text);
    if (status == PACK_OK && !o.json)
        print_header(&sweep);
    for (size_t run = 0; status == PACK_OK && run < sweep.n_runs && !cli_signal; run++) {
        struct figures figures;
        status = sweep_run(&sweep, run, argc, argv, common, run_one_of_sweep, &figures,
                           sizeof figures, &err);
        if (status != PACK_OK)
            break;
        if (figures.exit_status > worst)
            worst = figures.exit_status;
        if (o.json)
            put_run(&json, &sweep, run, &figures);
        else
            print_row(&sweep, run, &figures);
    }
    pack_json_close(&json);
    pack_json_close(&json);
    if (status == PACK_OK)
        status = pack_json_end(&json, &err);
    if (status != PACK_OK || !o.json)
        text->size = 0;
    sweep_close(&sweep);
    return cli_signal ? 128 + cli_signal : status == PACK_OK ? worst : cli_fail(&err);
}

/* -------------------------------------------------------------------- main */

/* Parses and runs; with `figures`, as one of a sweep. */
static int
run_command(int argc, char **argv, struct figures *figures, struct pack_buf *text)
{
    struct job job = { 0 };
    struct pack_bench_result result = { 0 };
    int exit_status;
    o = defaults;
    if (!cli_parse(&program, argc, argv, &job.operands, &job.n_operands, &exit_status))
        exit(exit_status);
    cli_set_quiet(o.quiet || figures);
    exit_status = o.sweep.n ? run_sweep(argc, argv, text) : run_once(&job, text, &result);
    if (figures)
        *figures = (struct figures){
            .rate = pack_bench_rate(&result),
            .hit_rate = pack_bench_hit_rate(&result.total),
            .amplification = pack_bench_amplification(&result.total),
            .busy_rate = result.steps.busy_rate,
            .au = result.steps.au,
            .limit = result.limit,
        };
    pack_bench_done(&result);
    close_job(&job);
    cli_free_texts(&o.sweep);
    free(job.operands);
    return exit_status;
}

int
main(int argc, char **argv)
{
    struct pack_buf text = { 0 };
    cli_catch_signals();
    int exit_status = run_command(argc, argv, NULL, &text);
    cli_print(&text);
    pack_buf_done(&text);
    return cli_exit(exit_status);
}
