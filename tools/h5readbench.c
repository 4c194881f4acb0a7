/* h5readbench: what a training loop gets out of an HDF5 file, and what limits it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench.h"
#include "libpack/base/numbers.h"
#include "libpack/base/outfile.h"
#include "libpack/bench/report_bench.h"
#include "tools/cli.h"
#include "tools/machine.h"
#include "tools/readbench_job.h"
#include "tools/readbench_sweep.h"

static const struct readbench_options defaults = {
    .epochs = 1,
    .seed = UINT64_MAX,
    .nbytes = UINT64_MAX,
    .nslots = UINT64_MAX,
    .w0 = -1,
    .layout = 0,
    .echo = 1,
    .min_busy = -1,
};
static struct readbench_options o;

static const struct cli_option options[] = {
    CLI_SECTION("What to read"),
    CLI_TEXT('d', "dataset", &o.dataset, "PATH",
             "the dataset (default: images, or the only one)"),
    CLI_TEXT(0, "with", &o.with, "PATH", "a second dataset, read in step, e.g. labels"),
    CLI_TEXT(0, "images", &o.images, "FOLDER",
             "instead of a file: decode these images at every epoch, as a baseline"),
    CLI_SIDES(0, "size", &o.size, "with --images: scale, as h5pack --size"),
    CLI_NUMBER(0, "shorter", &o.shorter, "N", 1, PACK_GEOMETRY_MAX,
               "with --images: scale, as h5pack --shorter"),

    CLI_SECTION("In which order"),
    CLI_TEXT('p', "pattern", &o.pattern, "NAME[:KEY=N,...]",
             "sequential, shuffle, block:chunks=32[,local], buffer:samples=10000, "
             "replacement, weighted:by=FILE or trace:FILE (default: shuffle)"),
    CLI_NUMBER('b', "batch", &o.batch, "N", 1, 1 << 24, "samples (default: 32)"),
    CLI_NUMBER('w', "workers", &o.workers, "N", 0, PACK_PROCS_MAX,
               "reader processes, as DataLoader's num_workers (default: 0, in line); "
               "threads of the reader with --engine libpack"),
    CLI_NUMBER(0, "prefetch", &o.prefetch, "N", 1, 1024,
               "batches in flight for each worker (default: 2)"),
    CLI_CHOICE(0, "read", &o.read, "sample|batch|span",
               "one H5Dread for each sample, for each batch, or for the span of a batch "
               "(default: sample)"),
    CLI_TEXT(0, "rank", &o.rank, "R/W", "read as rank R of W, counted from 0"),
    CLI_SIDES(0, "crop", &o.crop,
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
             "hdf5, the stock library in worker processes (default); libpack, its own "
             "reader in as many threads, by mapping what it gains for; pread, mmap or direct, "
             "the same, read in this way only, the last past the page cache; or images"),
    CLI_BYTES(0, "memory", &o.memory, "SIZE",
              "with --engine libpack, pread, mmap or direct: bound of all that the reader "
              "allocates (default: 1G)"),
    CLI_BYTES(0, "rdcc-nbytes", &o.nbytes, "SIZE",
              "chunk cache of each worker (default: a trace's, else the library's)"),
    CLI_NUMBER(0, "rdcc-nslots", &o.nslots, "N", 0, 0x1p40,
               "its slots (default: the same)"),
    CLI_REAL(0, "rdcc-w0", &o.w0, "W", 0, 1, "its preemption (default: the same)"),
    CLI_FLAG(0, "reopen", &o.reopen,
             "open the dataset by name at each read, as careless code does"),
    CLI_FLAG(0, "cold", &o.cold, "drop the file from the page cache before each epoch"),
    CLI_TEXT(0, "delay", &o.delay, "TIME",
             "add this to the making of each batch: what slower storage would do"),
    CLI_CHOICE(0, "hand-over", &o.hand_over, "slots|pytorch",
               "how batches reach the training process: in memory that is used again "
               "(default), or as PyTorch's DataLoader does"),
    CLI_TEXT(0, "sample-cost", &o.sample_cost, "TIME",
             "with --hand-over pytorch: Python's part of each sample (default: 8us)"),
    CLI_TEXT(0, "batch-cost", &o.batch_cost, "TIME",
             "likewise of each batch (default: 300us)"),
    CLI_FLAG(0, "no-persistent-workers", &o.no_persistent,
             "end and start the workers with every epoch, as DataLoader does unless told"),
    CLI_TEXT(0, "stall", &o.stall, "TIME",
             "give up on a worker or GPU that is silent for so long (default: 120s)"),
    CLI_FLAG(0, "no-check", &o.no_check,
             "do not compare the counts with the simulator's"),
    CLI_FLAG(0, "no-trial", &o.no_trial,
             "predict what changes are worth, without trying them"),

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
              "combinations, A;B;... are values that hold commas"),
    CLI_TEXT(0, "trace", &o.trace, "FILE", "write a Chrome trace, for Perfetto"),
    CLI_TEXT(0, "svg", &o.svg, "FILE", "write a timeline and the utilisation"),
    CLI_TEXT(0, "html", &o.html, "FILE", "write the report as a page to send to somebody"),
    CLI_TEXT(0, "prometheus", &o.prometheus, "FILE",
             "write the main figures for Prometheus, as node_exporter collects them"),
    CLI_FLAG('f', "force", &o.force, "replace existing files"),
    CLI_FLAG(0, "json", &o.json, "print one JSON object"),
    CLI_FLAG('q', "quiet", &o.quiet, "no progress, no remarks"),
    CLI_END
};

static const struct cli_hint hints[] = {
    CLI_HINT("dataset", PACK_ERR_ARGUMENT, "name one as FILE:/PATH"),
    CLI_HINT("force", PACK_OK, "--force replaces it"),
    CLI_HINT("read", PACK_OK, "use --read sample"),
    CLI_HINT("step", PACK_OK, "--step 25ms, or --preset, says it"),
    CLI_HINT("consumer", PACK_OK, "use --consumer emulated with --step instead"),
    CLI_NO_HINT
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
    .hints = hints,
};

/* What reports propose to set. */
static const struct pack_option_word option_words[] = {
    { "batch", "--batch" },
    { "cold", "--cold" },
    { "echo", "--echo" },
    { "engine", "--engine" },
    { "pattern", "--pattern" },
    { "rdcc_nbytes", "--rdcc-nbytes" },
    { "rdcc_nslots", "--rdcc-nslots" },
    { "rdcc_w0", "--rdcc-w0" },
    { "reopen", "--reopen" },
    { "step", "--step" },
    { "transfer", "--transfer" },
    { "workers", "--workers" },
    { NULL, NULL },
};

/* --------------------------------------------------------------------- run */

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

/* Nothing that is read is written, however much force is used, and nothing twice. */
static enum pack_status
check_outputs(const struct readbench_job *job, struct pack_error *err)
{
    const char *const outputs[] = { o.trace, o.svg, o.html, o.prometheus, job->params.pattern.file };
    enum { N = sizeof outputs / sizeof *outputs };
    enum pack_status status = PACK_OK;
    for (size_t k = 0; k + 1 < N && status == PACK_OK; k++) {
        status = cli_check_output(outputs[k], o.force, outputs + k + 1, N - k - 1, err);
        for (size_t i = 0; job->set && status == PACK_OK && i < job->set->n_files; i++) {
            const char *const file[] = { job->set->files[i].name };
            status = cli_check_output(outputs[k], o.force, file, 1, err);
        }
    }
    return status;
}

/* The text, whatever is printed, and the timeline. */
static enum pack_status
write_page(const struct pack_bench_report *report, struct pack_error *err)
{
    struct cli_page page = { .program = "h5readbench",
                             .subject = report->n_operands ? report->operands[0] : "images" };
    if (!o.html)
        return PACK_OK;
    enum pack_status status = pack_report_bench_text(report, &page.text, err);
    if (status == PACK_OK)
        status = pack_report_bench_svg(report, &page.svg, err);
    if (status == PACK_OK)
        status = cli_write_page(o.html, o.force, &page, err);
    pack_buf_done(&page.text);
    pack_buf_done(&page.svg);
    return status;
}

/* Why there is something to look at; false: there is nothing. */
static bool
find_reason(const struct pack_bench_report *report, char *reason)
{
    const struct pack_bench_result *r = report->result;
    const struct pack_bench_preset *preset = report->preset;
    if (report->changed)
        snprintf(reason, READBENCH_REASON_MAX, "while it was read, %s", report->changed);
    else if (r->mismatch.n)
        snprintf(reason, READBENCH_REASON_MAX,
                 "%" PRIu64 " of %s from the simulator's", r->mismatch.n,
                 pack_counted(r->mismatch.n_compared, "count differs", "counts differ").text);
    else if (r->total.work.read.skipped)
        snprintf(reason, READBENCH_REASON_MAX, "%s could not be decoded",
                 pack_counted(r->total.work.read.skipped, "image", "images").text);
    else if (report->min_busy >= 0 && r->steps.n_steps < 2)
        snprintf(reason, READBENCH_REASON_MAX,
                 "too few steps to say how busy the consumer was");
    else if (report->min_busy >= 0 && r->steps.busy_rate < report->min_busy)
        snprintf(reason, READBENCH_REASON_MAX,
                 "the consumer was busy for %.2f %% of the time, --min-busy asks for "
                 "%.2f %%",
                 100 * r->steps.busy_rate, 100 * report->min_busy);
    else if (preset && r->steps.au < 0)
        snprintf(reason, READBENCH_REASON_MAX, "too few steps to say whether %s passes",
                 preset->name);
    else if (preset && r->steps.au < preset->au_min)
        snprintf(reason, READBENCH_REASON_MAX,
                 "%s fails: AU %.2f %%, it asks for %.2f %%", preset->name,
                 100 * r->steps.au, 100 * preset->au_min);
    else
        return false;
    return true;
}

/* 0, or 1 with a reason, or that of a signal. */
static int
exit_status_of(const struct pack_bench_report *report, char *reason)
{
    if (cli_signal)
        return 128 + cli_signal;
    return find_reason(report, reason) ? CLI_LOOK : CLI_DONE;
}

/* As h5advise has it: measured once and kept. Only known, where nothing is to be read;
 * false: it has to be assumed. */
static bool
find_processor(const struct readbench_job *job, const struct pack_bench_result *result,
               struct pack_watch *watch, struct pack_profile *processor)
{
    struct pack_error err;
    if (machine_kept(processor))
        return true;
    if (o.no_trial || !job->params.set || result->verdict.limit == PACK_LIMIT_CONSUMER ||
        strcmp(result->setup.consumer, "cuda") == 0)
        return false;
    enum pack_status status = machine_processor(watch, processor, &err);
    if (status != PACK_OK && status != PACK_ERR_INTERRUPTED)
        cli_say("the processor could not be measured, its times are assumed: %s", err.text);
    return status == PACK_OK;
}

/* What fails here, Ctrl-C too, ends the looking for advice, not the report. */
static void
advise(struct readbench_job *job, const struct pack_bench_result *result,
       struct pack_bench_advice *advice)
{
    struct pack_error err;
    struct pack_profile processor;
    *advice = (struct pack_bench_advice){ .n = 0 };
    if (result->setup.threads.n > 0)
        return;
    struct pack_bench_ask ask = { .no_trial = o.no_trial,
                                  .order_is_fixed = o.pattern != NULL,
                                  .watch = job->params.watch };
    ask.watch.progress = NULL;
    if (find_processor(job, result, &ask.watch, &processor))
        ask.processor = &processor;
    enum pack_status status =
        pack_bench_advise(&job->params, result, &ask, advice, &err);
    if (status != PACK_OK && status != PACK_ERR_INTERRUPTED)
        cli_say("changes were not looked for to the end: %s", err.text);
}

static bool
is_changed(const struct readbench_job *job, char *text, size_t size)
{
    return (job->set && pack_readset_is_changed(job->set, text, size)) ||
           (job->with && pack_readset_is_changed(job->with, text, size));
}

/* Runs once; appends the report to *text. Status 1 comes with a reason. */
static int
run_once(struct readbench_job *job, bool is_in_sweep, struct pack_buf *text,
         struct pack_bench_result *result, char *reason)
{
    struct pack_error err = { 0 };
    struct pack_bench_advice advice;
    char changed[READBENCH_REASON_MAX - 32];
    struct pack_bench_report report = {
        .params = &job->params,
        .result = result,
        .operands = (const char *const *)job->operands,
        .n_operands = job->n_operands,
        .options = option_words,
        .min_busy = o.min_busy < 0 ? -1 : o.min_busy / 100,
    };
    enum pack_status status = readbench_open(&o, job, &err);
    if (status == PACK_OK)
        status = check_outputs(job, &err);
    if (status == PACK_OK) {
        job->params.watch = cli_watch(&job->progress);
        status = pack_bench_run(&job->params, result, &err);
        cli_progress_end(&job->progress);
        if (is_changed(job, changed, sizeof changed))
            report.changed = changed;
        cli_blame_file(job->n_operands > 0 ? job->operands[0] : NULL, job->n_operands, &err);
        if (status != PACK_OK && status != PACK_ERR_INTERRUPTED && report.changed)
            status = pack_error_prefix(&err, status, "while it was read, %s", changed);
    }
    report.preset = job->preset;
    if (status == PACK_ERR_MISMATCH) {
        snprintf(reason, READBENCH_REASON_MAX, "%.*s", READBENCH_REASON_MAX - 1,
                 err.text);
        return CLI_LOOK;
    }
    bool measured =
        status == PACK_OK || (status == PACK_ERR_INTERRUPTED && result->epochs);
    if (measured && !result->interrupted && !is_in_sweep && !report.changed) {
        advise(job, result, &advice);
        report.advice = &advice;
    }
    if (measured && (status == PACK_OK || status == PACK_ERR_INTERRUPTED))
        status = (o.json ? pack_report_bench_json : pack_report_bench_text)(&report, text,
                                                                            &err);
    if (status == PACK_OK)
        status = write_file(o.trace, pack_report_bench_trace, &report, &err);
    if (status == PACK_OK && result->events.cut)
        cli_say("trace and picture end after %d spans", PACK_BENCH_EVENTS_MAX);
    if (status == PACK_OK)
        status = write_file(o.svg, pack_report_bench_svg, &report, &err);
    if (status == PACK_OK)
        status = write_page(&report, &err);
    if (status == PACK_OK)
        status = write_file(o.prometheus, pack_report_bench_prometheus, &report, &err);
    return status == PACK_OK ? exit_status_of(&report, reason) : cli_fail(&err);
}

/* -------------------------------------------------------------------- main */

/* What would be ignored. */
static const struct cli_rule rules[] = {
    { "dataset", "FILE", NULL },
    { "with", "FILE", NULL },
    { "box", "FILE", "crop" },
    { "rdcc-nbytes", "FILE", NULL },
    { "rdcc-nslots", "FILE", NULL },
    { "rdcc-w0", "FILE", NULL },
    { "reopen", "FILE", NULL },
    { "memory", "engine|sweep", NULL },
    { "size", "images", NULL },
    { "shorter", "images", NULL },
    { "mean", "consumer|sweep", NULL },
    { "std", "consumer|sweep", NULL },
    { "precision", "consumer|sweep", NULL },
    { "transfer", "consumer|sweep", NULL },
    { "gpu", "consumer|sweep", NULL },
    { "echo-split", "echo|sweep", NULL },
    { "trace", NULL, "sweep" },
    { "svg", NULL, "sweep" },
    { "html", NULL, "sweep" },
    { "prometheus", NULL, "sweep" },
};

static int run_command(int argc, char **argv, struct readbench_figures *figures,
                       struct pack_buf *text);

/* Whether a run of a sweep can be begun. */
static bool
check_one_of_sweep(int argc, char **argv, void *none)
{
    struct readbench_job job = { 0 };
    struct pack_error err = { 0 };
    int exit_status;
    (void)none;
    o = defaults;
    if (!cli_parse(&program, argc, argv, &job.operands, &job.n_operands, &exit_status))
        return false;
    enum pack_status status =
        cli_check_rules(rules, sizeof rules / sizeof *rules, job.n_operands, &err);
    if (status == PACK_OK && (o.trace || o.svg || o.html || o.prometheus))
        status = pack_fail(&err, PACK_ERR_ARGUMENT, "--%s is of one run, not of a sweep",
                           o.trace  ? "trace"
                           : o.svg  ? "svg"
                           : o.html ? "html"
                                    : "prometheus");
    if (status == PACK_OK)
        status = readbench_check(&o, &job, &err);
    if (status != PACK_OK)
        cli_fail(&err);
    free(job.operands);
    return status == PACK_OK;
}

/* In a process of its own. */
static bool
run_one_of_sweep(int argc, char **argv, void *out)
{
    struct readbench_figures *figures = out;
    struct pack_buf text = { 0 };
    int exit_status = run_command(argc, argv, figures, &text);
    figures->exit_status = exit_status;
    return exit_status != CLI_FAILED;
}

/* Parses and runs; with `figures`, as one of a sweep. */
static int
run_command(int argc, char **argv, struct readbench_figures *figures,
            struct pack_buf *text)
{
    struct readbench_job job = { 0 };
    struct pack_bench_result result = { 0 };
    char reason[READBENCH_REASON_MAX] = "";
    int exit_status;
    o = defaults;
    if (!cli_parse(&program, argc, argv, &job.operands, &job.n_operands, &exit_status))
        exit(exit_status);
    cli_set_quiet(o.quiet || figures);
    struct pack_error err = { 0 };
    if (cli_check_rules(rules, sizeof rules / sizeof *rules, job.n_operands, &err) != PACK_OK)
        exit_status = cli_fail(&err);
    else
        exit_status = o.sweep.n ? readbench_sweep(&o, argc, argv, run_one_of_sweep,
                                                  check_one_of_sweep, text)
                                : run_once(&job, figures != NULL, text, &result, reason);
    if (reason[0] && !figures)
        cli_complain("%s", reason);
    if (figures)
        *figures = (struct readbench_figures){
            .rate = pack_bench_rate(&result),
            .hit_rate = pack_bench_hit_rate(&result.total),
            .amplification = pack_bench_amplification(&result.total),
            .busy_rate = result.steps.busy_rate,
            .au = result.steps.au,
            .limit = result.verdict.limit,
        };
    if (figures)
        memcpy(figures->reason, reason, sizeof reason);
    pack_bench_done(&result);
    readbench_close(&job);
    cli_free_texts(&o.sweep);
    free(job.operands);
    return exit_status;
}

int
main(int argc, char **argv)
{
    struct pack_buf text = { 0 };
    cli_catch_signals();
    cli_outlast_signals(3); /* what was measured is to be printed */
    int exit_status = run_command(argc, argv, NULL, &text);
    cli_print(&text);
    pack_buf_done(&text);
    return cli_exit(exit_status);
}
