/* h5advise: which chunks, which cache, which order; from a model of HDF5's chunk
 * cache. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/convert.h>
#include "libpack/base/outfile.h"
#include "libpack/advise/report_advise.h"
#include "libpack/advise/snippet.h"
#include "libpack/rechunk/rechunk.h"
#include "tools/advise_ask.h"
#include "tools/advise_calibrate.h"
#include "tools/advise_record.h"
#include "tools/cli.h"
#include "tools/job_options.h"

/* What is not asked of the advisor, or has to be put together before. */
static struct {
    struct pack_shape size;
    uint64_t shorter;
    int fit, layout;
    const char *calibrate, *record, *output, *svg, *html, *code;
    bool json, quiet, force;
} o;

static struct advise_ask ask = { .request = { PACK_ADVISE_REQUEST_DEFAULTS } };

static const struct cli_option options[] = {
    CLI_SECTION("What is read"),
    CLI_SHAPE(0, "shape", &ask.request.data.shape, "NxHxWxC",
              "a dataset that does not exist yet"),
    CLI_TEXT(0, "type", &ask.request.data.type, "TYPE",
             "its elements: int8 to uint64, float16 to float64 (default: uint8)"),
    CLI_TEXT(0, "images", &ask.request.data.images, "FOLDER",
             "what h5pack would make of this folder; headers are read"),
    CLI_SIDES(0, "size", &o.size, "with --images: as for h5pack"),
    CLI_CHOICE(0, "fit", &o.fit, "crop|pad|stretch", "with --size: as for h5pack"),
    CLI_NUMBER(0, "shorter", &o.shorter, "N", 1, 65535,
               "with --images: as for h5pack; then --crop is what is stored"),
    CLI_CHOICE(0, "layout", &o.layout, "nhwc|nchw", "with --images: as for h5pack"),
    CLI_FLAG(0, "gray", &ask.request.data.gray, "with --images: as for h5pack"),
    CLI_TEXT(0, "with", &ask.request.data.with, "DATASET",
             "a second dataset of FILE, read in step"),

    CLI_SECTION("How it is read"),
    ADVISE_READING_OPTIONS(ask),

    CLI_SECTION("Settings to judge"),
    ADVISE_CACHE_OPTIONS(ask),
    CLI_TEXT(0, "compress", &ask.request.storing.codec, "CODEC",
             "with --what-if: none, gzip, zstd, shuffle+gzip:4, ... as h5pack's"),
    CLI_FLAG(0, "what-if", &ask.what_if,
             "evaluate exactly one configuration: FILE's or --chunk, with --rdcc-*"),

    CLI_SECTION("The machine"),
    ADVISE_MACHINE_OPTIONS(ask),
    CLI_FLAG(0, "keep-file", &ask.request.storing.keep_file,
             "propose cache settings and orders only, nothing that rewrites FILE"),

    CLI_SECTION("Measuring"),
    ADVISE_MEASURING_OPTIONS(ask),
    CLI_FLAG(
        0, "prove", &ask.prove,
        "write part of FILE's data in the first choices' layouts, read them in turns "
        "with today's, rank by what was measured; most of a minute"),
    CLI_TEXT(0, "scratch", &ask.scratch, "DIR",
             "with --prove: where it is written, and gone afterwards (default: memory)"),
    CLI_BYTES(0, "scratch-bytes", &ask.scratch_bytes, "SIZE",
              "with --prove: so much data in each layout (default: 256M)"),
    CLI_TEXT(0, "calibrate", &o.calibrate, "DIR",
             "measure the disk under DIR, processor and HDF5; about a minute"),
    CLI_TEXT('o', "output", &o.output, "FILE", "with --calibrate: the profile to write"),
    CLI_FLAG('f', "force", &o.force, "replace output files"),

    CLI_SECTION("Recording"),
    CLI_TEXT(0, "record", &o.record, "TRACE",
             "run the COMMAND behind -- and write what it reads of HDF5 files to TRACE, for "
             "--pattern trace:TRACE"),

    CLI_SECTION("What is said"),
    CLI_TEXT(
        0, "code", &o.code, "NAME",
        "settings as h5py, c, pytorch, h5pack, h5rechunk or all (default: short ones)"),
    CLI_TEXT(0, "svg", &o.svg, "FILE", "write the heat map of hit rates"),
    CLI_TEXT(0, "html", &o.html, "FILE", "write the report as a page to send to somebody"),
    CLI_FLAG(0, "json", &o.json, "print one JSON object"),
    CLI_FLAG('q', "quiet", &o.quiet, "no progress, no remarks"),
    CLI_END
};

static const struct cli_hint hints[] = {
    JOB_GEOMETRY_HINT,
    CLI_HINT("dataset", PACK_ERR_ARGUMENT, "name one as FILE:/PATH"),
    CLI_HINT("force", PACK_OK, "--force replaces it"),
    CLI_SET_BY("chunks", "chunk"),
    CLI_SET_BY("codec", "compress"),
    CLI_NO_HINT
};

static const struct cli_program program = {
    .name = "h5advise",
    .purpose = "which chunks, which chunk cache and which order to train with",
    .synopsis = "[OPTIONS] FILE[:/DATASET]\n[OPTIONS] --shape NxHxWxC [--type TYPE]\n"
                "[OPTIONS] --images FOLDER\n--calibrate DIR -o profile.json\n"
                "--record TRACE -- COMMAND [ARGUMENT...]",
    .options = options,
    .epilogue =
        "Examples:\n"
        "  h5advise train.h5:/images --workers 8 --memory 4G\n"
        "  h5advise --shape 202599x3x218x178 --chunk 100x3x217x178 --what-if\n"
        "  h5advise --record train.trace -- python train.py\n"
        "  h5advise --shape 512x512x512 --pattern replacement --box 64x64x64\n\n"
        "man h5advise has the rest, man h5pack-chunks explains the chunk cache.\n",
    .hints = hints,
};

/* ------------------------------------------------------------------- runs */

static struct cli_progress progress;

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

/* The text, whatever is printed, and the heat map where there is one. */
static enum pack_status
write_page(const struct pack_report_advise *report, struct pack_error *err)
{
    struct cli_page page = { .program = report->program, .subject = report->subject };
    enum pack_status status = pack_report_advise_text(report, &page.text, err);
    if (status == PACK_OK && !report->is_what_if)
        status = pack_report_advise_svg(report, &page.svg, err);
    if (status == PACK_OK)
        status = cli_write_page(o.html, o.force, &page, err);
    pack_buf_done(&page.text);
    pack_buf_done(&page.svg);
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
    if (ask.request.data.images)
        snprintf(text, size, "--images %s", ask.request.data.images);
    else
        snprintf(text, size, "--shape %s", pack_shape_format(&ask.request.data.shape, shape));
    return text;
}

/* How h5pack made FILE, or would make one of a folder; NULL where it did not. */
static const struct pack_convert_options *
packing(const struct pack_advise_job *job)
{
    static struct pack_convert_options options;
    if (ask.request.data.images) {
        options.geometry = ask.request.data.geometry;
        options.layout = ask.request.data.layout;
        options.image.mode = ask.request.data.gray ? PACK_IMAGE_GRAY : PACK_IMAGE_RGB;
        return &options;
    }
    const struct pack_h5_dataset *data = job->file ? pack_advise_file_data(job->file)
                                                   : NULL;
    bool is_packed = data && strcmp(data->path, "images") == 0 &&
                     pack_convert_options_read(data->file, &options, NULL) == PACK_OK;
    return is_packed ? &options : NULL;
}

static enum pack_status
report(const struct advise_answer *answer, struct pack_buf *text, struct pack_error *err)
{
    char subject[1024];
    const struct pack_advise_job *job = &answer->job;
    const struct pack_h5_dataset *data = job->file ? pack_advise_file_data(job->file)
                                                   : NULL;
    struct pack_report_advise r = {
        .program = program.name,
        .version = PACKAGE_VERSION,
        .subject = subject_of(job, subject, sizeof subject),
        .type = job->type,
        .file = data ? data->file : "train.h5",
        .dataset = data ? data->path : "images",
        .source = ask.request.data.images,
        .with = ask.request.data.with,
        .needs_python = data && !pack_rechunk_can(data),
        .packed = packing(job),
        .pattern = ask.request.reading.pattern ? ask.request.reading.pattern : "shuffle",
        .hdf5_version = job->hdf5_version,
        .code = o.code,
        .options = option_words,
        .measured = advise_ask_measures(&ask) ? &answer->measured : NULL,
        .engine = &answer->engine,
        .recorded = &job->order.job,
        .is_what_if = ask.what_if,
        .params = &job->params,
        .result = &answer->result,
    };
    enum pack_status status = o.json ? pack_report_advise_json(&r, text, err)
                                     : pack_report_advise_text(&r, text, err);
    if (status != PACK_OK)
        text->size = 0;
    if (status == PACK_OK && o.svg)
        status = write_svg(&r, err);
    return status == PACK_OK && o.html ? write_page(&r, err) : status;
}

/* The options that are not yet as the request has them. */
static enum pack_status
complete_request(struct pack_error *err)
{
    struct job_pixels pixels = { .size = o.size, .shorter = o.shorter, .fit = o.fit };
    ask.request.data.layout = (enum pack_pixel_layout)o.layout;
    if (o.shorter) {
        pixels.crop = ask.request.reading.crop; /* stored, not read */
        ask.request.reading.crop.rank = 0;
    }
    return job_geometry(&pixels, &ask.request.data.geometry, err);
}

static char changed[512]; /* what happened to a file meanwhile; "": nothing */

static enum pack_status
advise(const char *operand, struct pack_buf *text, struct pack_error *err)
{
    struct advise_answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return pack_fail_memory(err, "a run");
    enum pack_status status = complete_request(err);
    if (status == PACK_OK)
        status = pack_outfile_check(o.svg, o.force, err);
    const char *const others[] = { o.svg };
    if (status == PACK_OK)
        status = cli_check_output(o.html, o.force, others, 1, err);
    if (status == PACK_OK)
        status = advise_answer_open(&ask, operand, answer, err);
    if (status == PACK_OK)
        status = advise_files_check(&answer->files, o.svg, o.force, err);
    if (status == PACK_OK)
        status = advise_files_check(&answer->files, o.html, o.force, err);
    if (status == PACK_OK)
        status = advise_answer_find(&ask, answer, err);
    if (operand)
        cli_blame_file(operand, 1, err);
    if (status == PACK_OK)
        status = advise_answer_engine(&ask, answer, err);
    cli_progress_end(&progress);
    if (status == PACK_OK)
        status = report(answer, text, err);
    if (advise_answer_close(answer, changed, sizeof changed) && status != PACK_OK &&
        status != PACK_ERR_INTERRUPTED)
        status = pack_error_prefix(err, status, "meanwhile %s", changed);
    free(answer);
    return status;
}

static enum pack_status
calibrate(struct pack_buf *text, struct pack_error *err)
{
    const struct advise_calibrate_options options = { .dir = o.calibrate,
                                                      .output = o.output,
                                                      .seed = ask.request.reading.seed,
                                                      .json = o.json,
                                                      .force = o.force };
    return advise_calibrate(&options, &ask.request.watch, &progress, text, err);
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
    { "html", "FILE|shape|images", NULL },
    { "rank", "FILE|shape|images", NULL },
    { "no-persistent-workers", "FILE|shape|images", NULL },
    { "crop", "FILE|shape|images", NULL },
    { "box", "FILE|shape|images", NULL },
    { "step", "FILE|shape|images", NULL },
    { "read", "FILE|shape|images", NULL },
    { "reopen", "FILE|shape|images", NULL },
    { "hdf5-version", "FILE|shape|images", NULL },
    { "memory", "FILE|shape|images", NULL },
    { "ram", "FILE|shape|images", NULL },
    { "cpus", "FILE|shape|images", NULL },
    { "storage", "FILE|shape|images", NULL },
    { "target", "FILE|shape|images", NULL },
    { "no-measure", "FILE|shape|images", NULL },
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

/* What is recorded is advised on later: only where it goes can be said. */
static enum pack_status
check_record(size_t n_operands, struct pack_error *err)
{
    if (n_operands == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--record wants a program to run: --record TRACE -- COMMAND");
    for (size_t i = 0; options[i].kind != CLI_KIND_END; i++) {
        const char *name = options[i].kind == CLI_KIND_SECTION ? "record" : options[i].name;
        bool is_fine = strcmp(name, "record") == 0 || strcmp(name, "force") == 0 ||
                       strcmp(name, "quiet") == 0;
        if (!is_fine && cli_is_given(name))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "--%s goes with --pattern trace:TRACE, when %s has been written",
                             name, o.record);
    }
    return PACK_OK;
}

/* Exactly one thing to advise on. */
static enum pack_status
check_usage(size_t n_operands, struct pack_error *err)
{
    size_t n = n_operands + (ask.request.data.shape.rank != 0) +
               (ask.request.data.images != NULL) + (o.calibrate != NULL);
    const char *title;
    bool known = !o.code || strcmp(o.code, "all") == 0;
    if (o.record)
        return check_record(n_operands, err);
    if (n_operands > 1)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "one file at a time: each has a chunk cache of its own");
    if (n != 1)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "give one of FILE, --shape, --images and --calibrate; see "
                         "h5advise --help");
    if (cli_check_rules(rules, sizeof rules / sizeof *rules, n_operands, err) != PACK_OK)
        return PACK_ERR_ARGUMENT;
    if (ask.scratch && !*ask.scratch)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--scratch wants a folder, not ''");
    if (ask.prove && cli_is_given("scratch-bytes") && ask.scratch_bytes == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--scratch-bytes: 0 bytes hold no sample");
    for (size_t i = 0; !known && pack_snippet_name(i, &title); i++)
        known = strcmp(o.code, pack_snippet_name(i, &title)) == 0;
    if (!known)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--code: '%.80s' is none of h5py, c, pytorch, h5pack, "
                         "h5rechunk, all",
                         o.code);
    return PACK_OK;
}

/* The program's status, unless what it read could not be kept. */
static int
record(enum pack_status outcome, char **command, struct pack_error *err)
{
    int status = CLI_DONE;
    if (outcome == PACK_OK)
        outcome = advise_record(o.record, o.force, command, &status, err);
    if (outcome != PACK_OK && status == CLI_DONE)
        status = cli_fail(err);
    else if (outcome != PACK_OK)
        cli_fail(err);
    free(command);
    return cli_exit(status);
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
    enum pack_status outcome = check_usage(n_operands, &err);
    if (o.record)
        return record(outcome, operands, &err);
    cli_catch_signals();
    ask.request.watch = cli_watch(&progress);
    if (outcome == PACK_OK)
        outcome = o.calibrate ? calibrate(&text, &err) : advise(operands[0], &text, &err);
    status = outcome == PACK_OK ? CLI_DONE : cli_fail(&err);
    if (outcome == PACK_OK && changed[0]) {
        cli_complain("while this was found, %s", changed);
        status = CLI_LOOK;
    }
    cli_print(&text); /* an answer stands, also where its picture could not be written */
    pack_buf_done(&text);
    cli_free_texts(&ask.chunks);
    free(operands);
    return cli_exit(status);
}
