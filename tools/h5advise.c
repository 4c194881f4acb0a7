/* h5advise: which chunks, which cache, which order; from a model of HDF5's chunk
 * cache. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/convert.h>
#include "libpack/advise/advise_request.h"
#include "libpack/base/outfile.h"
#include "libpack/advise/report_advise.h"
#include "libpack/advise/snippet.h"
#include "libpack/bench/measure.h"
#include "tools/advise_calibrate.h"
#include "tools/advise_files.h"
#include "tools/cli.h"
#include "tools/job_options.h"
#include "tools/machine.h"

/* What has to be put together before it is a request. */
static struct {
    struct pack_shape size;
    uint64_t shorter;
    int fit, layout, read;
    struct cli_texts chunks;
    bool what_if, no_measure, prove;
    const char *scratch;
    uint64_t scratch_bytes;
    const char *calibrate, *output, *svg, *code;
    bool json, quiet, force;
} o;

static struct pack_advise_request request = { PACK_ADVISE_REQUEST_DEFAULTS };

static const struct cli_option options[] = {
    CLI_SECTION("What is read"),
    CLI_SHAPE(0, "shape", &request.data.shape, "NxHxWxC",
              "a dataset that does not exist yet"),
    CLI_TEXT(0, "type", &request.data.type, "TYPE",
             "its elements: int8 to uint64, float32, float64 (default: uint8)"),
    CLI_TEXT(0, "images", &request.data.images, "FOLDER",
             "what h5pack would make of this folder; headers are read"),
    CLI_SIDES(0, "size", &o.size, "with --images: as for h5pack"),
    CLI_CHOICE(0, "fit", &o.fit, "crop|pad|stretch", "with --size: as for h5pack"),
    CLI_NUMBER(0, "shorter", &o.shorter, "N", 1, 65535,
               "with --images: as for h5pack; then --crop is what is stored"),
    CLI_CHOICE(0, "layout", &o.layout, "nhwc|nchw", "with --images: as for h5pack"),
    CLI_FLAG(0, "gray", &request.data.gray, "with --images: as for h5pack"),
    CLI_TEXT(0, "with", &request.data.with, "DATASET",
             "a second dataset of FILE, read in step"),

    CLI_SECTION("How it is read"),
    CLI_TEXT(
        'p', "pattern", &request.reading.pattern, "NAME[:...]",
        "sequential, shuffle, block:chunks=N[,local], buffer:samples=N, replacement, "
        "weighted:by=FILE, trace:FILE (default: shuffle, and block shuffles are tried)"),
    CLI_NUMBER('b', "batch", &request.reading.batch, "N", 1, 1e9,
               "samples per batch (default: 64)"),
    CLI_NUMBER('w', "workers", &request.reading.workers, "N", 0, 65536,
               "reading processes, each with its own cache (default: 4)"),
    CLI_TEXT(0, "rank", &request.reading.rank, "R/W",
             "this is rank R of W, as a DistributedSampler"),
    CLI_NUMBER('e', "epochs", &request.reading.epochs, "N", 1, 1e6,
               "epochs of one training (default: 30)"),
    CLI_FLAG(0, "no-persistent-workers", &request.reading.workers_end,
             "workers end with each epoch, as PyTorch's do unless told"),
    CLI_SIDES(0, "crop", &request.reading.crop, "a random crop of each image is read"),
    CLI_SHAPE(0, "box", &request.reading.box, "AxBx...",
              "a random box is read: patches of volumes, windows of time series"),
    CLI_NUMBER(0, "step", &request.reading.step, "N", 1, 1e15,
               "from one sample to the next along axis 0 (default: 1)"),
    CLI_CHOICE(0, "read", &o.read, "sample|batch|span",
               "what one H5Dread asks for (default: sample)"),
    CLI_FLAG(0, "reopen", &request.reading.reopen,
             "the dataset is opened by name at each read"),
    CLI_NUMBER(0, "seed", &request.reading.seed, "N", 0, 1.8e19,
               "of all that is random (default: 0)"),

    CLI_SECTION("Settings to judge"),
    CLI_TEXT(0, "hdf5-version", &request.cache.hdf5_version, "V",
             "version that reads: 1.8, 1.10, 2.0, 2.1 (default: the one linked)"),
    CLI_BYTES(0, "rdcc-nbytes", &request.cache.bytes, "SIZE",
              "chunk cache of one process"),
    CLI_NUMBER(0, "rdcc-nslots", &request.cache.slots, "N", 0, 4e9, "its slots"),
    CLI_REAL(0, "rdcc-w0", &request.cache.w0, "W", 0, 1, "its preemption"),
    CLI_TEXTS('c', "chunk", &o.chunks, "AxBx...",
              "a chunk shape to consider in any case; may be repeated"),
    CLI_TEXT(0, "compress", &request.storing.codec, "CODEC",
             "with --what-if: none, gzip, zstd, shuffle+gzip:4, ... as h5pack's"),
    CLI_FLAG(0, "what-if", &o.what_if,
             "evaluate exactly one configuration: FILE's or --chunk, with --rdcc-*"),

    CLI_SECTION("The machine"),
    CLI_BYTES('m', "memory", &request.machine.memory_bytes, "SIZE",
              "for the caches of all workers together (default: 1G, or half of a smaller machine)"),
    CLI_BYTES(0, "ram", &request.machine.ram_bytes, "SIZE",
              "for the system's page cache (default: half of this machine's memory)"),
    CLI_NUMBER(0, "cpus", &request.machine.n_cpus, "N", 1, 65536,
               "processors for the workers (default: this machine's, or the profile's)"),
    CLI_TEXT(0, "storage", &request.machine.storage, "NAME",
             "nvme, sata-ssd, hdd, nfs, or a profile.json: times of that machine are "
             "assumed, nothing is measured (default: FILE's, else nvme)"),
    CLI_REAL(0, "target", &request.goal.target, "RATE", 1e-9, 1e15,
             "samples/s that are needed"),
    CLI_REAL(0, "min-gain", &request.goal.min_gain, "FACTOR", 1, 1e9,
             "over today's rate, for which a file is written anew (default: 1.15)"),
    CLI_FLAG(0, "keep-file", &request.storing.keep_file,
             "propose cache settings and orders only, nothing that rewrites FILE"),

    CLI_SECTION("Measuring"),
    CLI_FLAG(0, "no-measure", &o.no_measure,
             "times are assumed: the same answer for the same input, at once"),
    CLI_FLAG(
        0, "prove", &o.prove,
        "write part of FILE's data in the first choices' layouts, read them in turns "
        "with today's, rank by what was measured; about half a minute"),
    CLI_TEXT(0, "scratch", &o.scratch, "DIR",
             "with --prove: where it is written, and gone afterwards (default: memory)"),
    CLI_BYTES(0, "scratch-bytes", &o.scratch_bytes, "SIZE",
              "with --prove: so much data in each layout (default: 256M)"),
    CLI_TEXT(0, "calibrate", &o.calibrate, "DIR",
             "measure the disk under DIR, processor and HDF5; about half a minute"),
    CLI_TEXT('o', "output", &o.output, "FILE", "with --calibrate: the profile to write"),
    CLI_FLAG('f', "force", &o.force, "replace output files"),

    CLI_SECTION("What is said"),
    CLI_TEXT(
        0, "code", &o.code, "NAME",
        "settings as h5py, c, pytorch, h5pack, h5repack or all (default: short ones)"),
    CLI_TEXT(0, "svg", &o.svg, "FILE", "write the heat map of hit rates"),
    CLI_FLAG(0, "json", &o.json, "print one JSON object"),
    CLI_FLAG('q', "quiet", &o.quiet, "no progress, no remarks"),
    CLI_END
};

static const struct cli_hint hints[] = {
    JOB_GEOMETRY_HINT,
    CLI_HINT("force", PACK_OK, "--force replaces it"),
    CLI_SET_BY("chunks", "chunk"),
    CLI_SET_BY("codec", "compress"),
    CLI_NO_HINT
};

static const struct cli_program program = {
    .name = "h5advise",
    .purpose = "which chunks, which chunk cache and which order to train with",
    .synopsis = "[OPTIONS] FILE[:/DATASET]\n[OPTIONS] --shape NxHxWxC [--type TYPE]\n"
                "[OPTIONS] --images FOLDER\n--calibrate DIR -o profile.json",
    .options = options,
    .epilogue =
        "Examples:\n"
        "  h5advise train.h5:/images --workers 8 --memory 4G\n"
        "  h5advise --shape 202599x3x218x178 --chunk 100x3x217x178 --what-if\n"
        "  h5advise --shape 512x512x512 --pattern replacement --box 64x64x64\n\n"
        "man h5advise has the rest, man h5pack-chunks explains the chunk cache.\n",
    .hints = hints,
};

/* ------------------------------------------------------------------- runs */

static struct cli_progress progress;
static struct pack_profile processor;
static char processor_why[256]; /* why its times are assumed; "": they are not */
static struct pack_measured measured;

/* A file that exists, on the machine that is here. */
static bool
is_measuring(void)
{
    return request.data.file && !o.no_measure && !request.machine.storage && !o.what_if;
}

static enum pack_status
write_svg(const struct pack_report_advise *report, struct pack_error *err)
{
    struct pack_buf svg = { 0 };
    enum pack_status status = pack_report_advise_svg(report, &svg, err);
    if (status == PACK_OK)
        status = pack_outfile_write(o.svg, o.force, svg.data, svg.size, err);
    pack_buf_done(&svg);
    return status;
}

static const struct pack_option_word option_words[] = { { "calibrate", "--calibrate" },
                                                        { NULL, NULL } };

/* What there is to advise on, in the words of the command line. */
static const char *
subject_of(const struct pack_advise_job *job, char *text, size_t size)
{
    char shape[PACK_SHAPE_TEXT_MAX];
    if (job->file)
        return job->subject;
    if (request.data.images)
        snprintf(text, size, "--images %s", request.data.images);
    else
        snprintf(text, size, "--shape %s", pack_shape_format(&request.data.shape, shape));
    return text;
}

/* How h5pack made FILE, or would make one of a folder; NULL where it did not. */
static const struct pack_convert_options *
packing(const struct pack_advise_job *job)
{
    static struct pack_convert_options options;
    if (request.data.images) {
        options.geometry = request.data.geometry;
        options.layout = request.data.layout;
        options.image.mode = request.data.gray ? PACK_IMAGE_GRAY : PACK_IMAGE_RGB;
        return &options;
    }
    const struct pack_h5_dataset *data = job->file ? pack_advise_file_data(job->file)
                                                   : NULL;
    bool is_packed = data && strcmp(data->path, "images") == 0 &&
                     pack_convert_options_read(data->file, &options, NULL) == PACK_OK;
    return is_packed ? &options : NULL;
}

static enum pack_status
report(const struct pack_advise_job *job, const struct pack_advise_result *result,
       struct pack_buf *text, struct pack_error *err)
{
    char subject[1024];
    const struct pack_h5_dataset *data = job->file ? pack_advise_file_data(job->file)
                                                   : NULL;
    struct pack_report_advise r = {
        .program = program.name,
        .version = PACKAGE_VERSION,
        .subject = subject_of(job, subject, sizeof subject),
        .type = job->type,
        .file = data ? data->file : "train.h5",
        .dataset = data ? data->path : "images",
        .source = request.data.images,
        .packed = packing(job),
        .pattern = request.reading.pattern ? request.reading.pattern : "shuffle",
        .hdf5_version = job->hdf5_version,
        .code = o.code,
        .options = option_words,
        .measured = is_measuring() ? &measured : NULL,
        .is_what_if = o.what_if,
        .params = &job->params,
        .result = result,
    };
    enum pack_status status = o.json ? pack_report_advise_json(&r, text, err)
                                     : pack_report_advise_text(&r, text, err);
    if (status != PACK_OK)
        text->size = 0;
    return status == PACK_OK && o.svg ? write_svg(&r, err) : status;
}

/* The options that are not yet as the request has them. */
static enum pack_status
complete_request(const char *operand, struct pack_error *err)
{
    struct job_pixels pixels = { .size = o.size, .shorter = o.shorter, .fit = o.fit };
    request.data.file = operand;
    request.reading.read = (enum pack_read_mode)o.read;
    request.data.layout = (enum pack_pixel_layout)o.layout;
    request.storing.chunks = o.chunks.text;
    request.storing.n_chunks = o.chunks.n;
    if (o.shorter) {
        pixels.crop = request.reading.crop; /* stored, not read */
        request.reading.crop.rank = 0;
    }
    return job_geometry(&pixels, &request.data.geometry, err);
}

static enum pack_status
evaluate(struct pack_advise_job *job, struct pack_advise_result *result,
         struct pack_error *err)
{
    struct pack_advise_config config;
    if (!o.what_if)
        return pack_advise(&job->params, result, err);
    enum pack_status status = pack_advise_job_what_if(&request, job, &config, err);
    if (status == PACK_OK)
        status = pack_advise_what_if(&job->params, &config, result, err);
    return status;
}

static struct pack_measure_params
measure_params(const struct pack_advise_job *job)
{
    const struct pack_h5_dataset *data = pack_advise_file_data(job->file);
    return (struct pack_measure_params){
        .file = data->file,
        .data_file = pack_h5_dataset_storage(data),
        .dataset = data->path,
        .with = request.data.with,
        .prove = o.prove,
        .scratch_dir = o.scratch,
        .scratch_bytes = o.scratch_bytes,
        .watch = request.watch,
    };
}

/* Storage and today's settings, before the search that builds on them. */
static enum pack_status
measure_now(struct pack_advise_job *job, struct pack_error *err)
{
    if (!is_measuring())
        return PACK_OK;
    struct pack_measure_params how = measure_params(job);
    return pack_measure_now(&how, &job->params, &job->profile, &measured, err);
}

static enum pack_status
measure_rows(struct pack_advise_job *job, struct pack_advise_result *result,
             struct pack_error *err)
{
    if (!is_measuring())
        return PACK_OK;
    struct pack_measure_params how = measure_params(job);
    enum pack_status status =
        pack_measure_rows(&how, &job->params, result, &measured, err);
    measured.processor_assumed = processor_why[0] != '\0';
    if (!measured.why_not[0])
        snprintf(measured.why_not, sizeof measured.why_not, "%s", processor_why);
    return status;
}

/* What is asked about is looked at first, where the processor takes seconds. */
static enum pack_status
open_job(struct pack_advise_job *job, struct pack_error *err)
{
    bool is_kept = is_measuring() && machine_kept(&processor);
    request.machine.processor = is_kept ? &processor : NULL;
    enum pack_status status = pack_advise_job_open(&request, job, err);
    if (status != PACK_OK || !is_measuring() || is_kept)
        return status;
    status = machine_processor(&request.watch, &processor, err);
    if (status == PACK_OK) {
        pack_advise_job_take_processor(job, &processor);
    } else if (status != PACK_ERR_INTERRUPTED) {
        snprintf(processor_why, sizeof processor_why,
                 "the processor could not be timed: %.200s", err->text);
        status = PACK_OK;
    }
    return status;
}

/* Measures, searches and reports. */
static enum pack_status
answer(struct pack_advise_job *job, struct pack_advise_result *result,
       struct pack_buf *text, struct pack_error *err)
{
    enum pack_status status = measure_now(job, err);
    if (status == PACK_OK)
        status = evaluate(job, result, err);
    if (status == PACK_OK)
        status = measure_rows(job, result, err);
    cli_progress_end(&progress);
    return status == PACK_OK ? report(job, result, text, err) : status;
}

static char changed[512]; /* what happened to a file meanwhile; "": nothing */

static enum pack_status
advise(const char *operand, struct pack_buf *text, struct pack_error *err)
{
    struct pack_advise_job *job = calloc(1, sizeof *job);
    struct pack_advise_result *result = calloc(1, sizeof *result);
    struct advise_files files = { .part.data = NULL };
    char remark[1024];
    enum pack_status status =
        job && result ? complete_request(operand, err) : pack_fail_memory(err, "a run");
    if (status == PACK_OK)
        status = pack_outfile_check(o.svg, o.force, err);
    if (status == PACK_OK)
        status = open_job(job, err);
    if (status == PACK_OK && job->file &&
        pack_h5_dataset_remark(pack_advise_file_data(job->file), remark, sizeof remark))
        cli_say("%s", remark);
    if (status == PACK_OK)
        status = advise_files_note(job, request.machine.storage, &files, err);
    if (status == PACK_OK)
        status = advise_files_check(&files, o.svg, o.force, err);
    if (status == PACK_OK)
        status = answer(job, result, text, err);
    if (advise_files_done(&files, changed, sizeof changed) && status != PACK_OK &&
        status != PACK_ERR_INTERRUPTED)
        status = pack_error_prefix(err, status, "meanwhile %s", changed);
    if (job)
        pack_advise_job_close(job);
    free(job);
    free(result);
    return status;
}

static enum pack_status
calibrate(struct pack_buf *text, struct pack_error *err)
{
    const struct advise_calibrate_options options = { .dir = o.calibrate,
                                                      .output = o.output,
                                                      .seed = request.reading.seed,
                                                      .json = o.json,
                                                      .force = o.force };
    return advise_calibrate(&options, &request.watch, &progress, text, err);
}

/* ------------------------------------------------------------------- main */

/* What would be ignored. The first rows are of what --calibrate has nothing to do with. */
static const struct cli_rule rules[] = {
    { "pattern", "FILE|shape|images", NULL },
    { "batch", "FILE|shape|images", NULL },
    { "workers", "FILE|shape|images", NULL },
    { "epochs", "FILE|shape|images", NULL },
    { "code", "FILE|shape|images", NULL },
    { "svg", "FILE|shape|images", "what-if" },
    { "output", "calibrate", NULL },
    { "type", "shape", NULL },
    { "size", "images", NULL },
    { "fit", "images", NULL },
    { "shorter", "images", NULL },
    { "layout", "images", NULL },
    { "gray", "images", NULL },
    { "with", "FILE", NULL },
    { "compress", "what-if", NULL },
    { "chunk", "FILE|shape|images", "keep-file" },
    { "rdcc-nbytes", "FILE|chunk", NULL },
    { "rdcc-nslots", "FILE|chunk", NULL },
    { "rdcc-w0", "FILE|chunk", NULL },
    { "keep-file", "FILE", "what-if" },
    { "min-gain", "FILE|chunk", "what-if" },
    { "prove", "FILE", "no-measure|storage|what-if" },
    { "scratch", "prove", NULL },
    { "scratch-bytes", "prove", NULL },
};

/* Exactly one thing to advise on. */
static enum pack_status
check_usage(size_t n_operands, struct pack_error *err)
{
    size_t n = n_operands + (request.data.shape.rank != 0) +
               (request.data.images != NULL) + (o.calibrate != NULL);
    const char *title;
    bool known = !o.code || strcmp(o.code, "all") == 0;
    if (n_operands > 1)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "one file at a time: each has a chunk cache of its own");
    if (n != 1)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "give one of FILE, --shape, --images and --calibrate; see "
                         "h5advise --help");
    if (cli_check_rules(rules, sizeof rules / sizeof *rules, n_operands, err) != PACK_OK)
        return PACK_ERR_ARGUMENT;
    if (o.scratch && !*o.scratch)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--scratch wants a folder, not ''");
    if (o.prove && cli_is_given("scratch-bytes") && o.scratch_bytes == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--scratch-bytes: 0 bytes hold no sample");
    for (size_t i = 0; !known && pack_snippet_name(i, &title); i++)
        known = strcmp(o.code, pack_snippet_name(i, &title)) == 0;
    if (!known)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--code: '%.80s' is none of h5py, c, pytorch, h5pack, h5repack, "
                         "all",
                         o.code);
    return PACK_OK;
}

int
main(int argc, char **argv)
{
    struct pack_error err = { 0 };
    struct pack_buf text = { 0 };
    char **operands;
    size_t n_operands;
    int status;
    if (!cli_parse(&program, argc, argv, &operands, &n_operands, &status))
        return status;
    cli_set_quiet(o.quiet);
    cli_catch_signals();
    request.watch = cli_watch(&progress);
    enum pack_status outcome = check_usage(n_operands, &err);
    if (outcome == PACK_OK)
        outcome = o.calibrate ? calibrate(&text, &err) : advise(operands[0], &text, &err);
    status = outcome == PACK_OK ? CLI_DONE : cli_fail(&err);
    if (outcome == PACK_OK && changed[0]) {
        cli_complain("while this was found, %s", changed);
        status = CLI_LOOK;
    }
    cli_print(&text); /* an answer stands, also where its picture could not be written */
    pack_buf_done(&text);
    cli_free_texts(&o.chunks);
    free(operands);
    return cli_exit(status);
}
