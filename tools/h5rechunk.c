/* h5rechunk: the same HDF5 file with other chunks and filters. */
#include "config.h"
#ifdef HAVE_MALLOPT
#include <malloc.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/numbers.h"
#include "libpack/base/pool.h"
#include "libpack/hdf5/h5_dataset.h"
#include "libpack/rechunk/rechunk.h"
#include "libpack/rechunk/report_rechunk.h"
#include "tools/cli.h"
#include "tools/rechunk_advice.h"
#include "tools/rechunk_shards.h"

static struct {
    const char *output, *chunk, *compress, *as, *layout, *split, *advise;
    struct cli_texts datasets;
    uint64_t threads, memory, seed;
    bool shuffle, join, fletcher32, force, resume, dry_run, verify, json, quiet;
} o = { .memory = 1 << 30 };

static const struct cli_option options[] = {
    CLI_SECTION("What is rewritten"),
    CLI_TEXTS(0, "dataset", &o.datasets, "PATH[=SPEC]",
              "this dataset; SPEC is a --chunk, a --compress or both of its own: 16, or "
              ",zstd:3, or 16,zstd:3; may be given several times (default: images, else data, "
              "else the only one with samples)"),
    CLI_TEXT('c', "chunk", &o.chunk, "N|AxBxC|none",
             "samples per chunk, or a whole chunk shape; or none, for contiguous data, which "
             "has no filters (default: as it is)"),
    CLI_TEXT(0, "compress", &o.compress, "none|zstd[:LEVEL]|gzip[:LEVEL]",
             "filters, several joined by +, as in shuffle+gzip:4 (default: as they are)"),
    CLI_FLAG(0, "fletcher32", &o.fletcher32,
             "a checksum in every chunk, checked at every read"),
    CLI_TEXT(0, "as", &o.as, "uint8",
             "numbers that are all integers of 0 to 255, or those by 255, become bytes"),
    CLI_TEXT(0, "layout", &o.layout, "nhwc|nchw",
             "images get their channels last, or first, as planes (default: as it is)"),
    CLI_FLAG(0, "shuffle", &o.shuffle,
             "records in a random order, with all of their length in the same group"),
    CLI_NUMBER(0, "seed", &o.seed, "N", 0, 0x1p63 - 1025, "which order (default: 0)"),
    CLI_TEXT(0, "split", &o.split, "N|SIZE",
             "into N files of rows, or files of about SIZE, and a virtual file over them"),
    CLI_FLAG(0, "join", &o.join,
             "a virtual file, or several files, into one plain file"),
    CLI_TEXT(0, "advise", &o.advise, "OPTIONS",
             "chunks and filters that 'h5advise OPTIONS FILE' puts first; '' for none"),

    CLI_SECTION("Running"),
    CLI_TEXT('o', "output", &o.output, "FILE.h5", "the file to write"),
    CLI_NUMBER('j', "threads", &o.threads, "N", 1, PACK_POOL_THREADS_MAX,
               "worker threads (default: one per processor)"),
    CLI_BYTES(0, "memory", &o.memory, "SIZE", "bound of all chunk buffers (default: 1G)"),
    CLI_FLAG('f', "force", &o.force, "replace an existing file or an interrupted run"),
    CLI_FLAG('r', "resume", &o.resume,
             "go on with an interrupted run, the options being the same"),
    CLI_FLAG(0, "dry-run", &o.dry_run, "look at everything, print the plan, write nothing"),
    CLI_FLAG(0, "verify", &o.verify,
             "compare what was rewritten with the source, before the file gets its name"),
    CLI_FLAG(0, "json", &o.json, "print one JSON object"),
    CLI_FLAG('q', "quiet", &o.quiet, "no progress, no remarks"),
    CLI_END
};

static const struct cli_hint hints[] = {
    CLI_HINT("dataset", PACK_ERR_ARGUMENT, "--dataset names one"),
    CLI_HINT("force", PACK_ERR_EXISTS, "--force replaces it"),
    CLI_HINT("force", PACK_OK, "--force starts again"),
    CLI_HINT("force_resume", PACK_OK,
             "--force --resume goes on with the interrupted run that is to replace it, "
             "--force alone starts again"),
    CLI_HINT("force_finished", PACK_OK,
             "--resume sees whether a run that was killed had completed it, --force replaces it"),
    CLI_HINT("resume", PACK_OK,
             "with the same options --resume completes it, --force starts again"),
    CLI_HINT("chunk", PACK_ERR_UNSUPPORTED, "--chunk says which"),
    CLI_HINT("is_virtual", PACK_OK, "--join makes a plain file of it first"),
    CLI_HINT("compress", PACK_ERR_UNSUPPORTED, "--compress sets others"),
    CLI_HINT("memory_bytes", PACK_OK, "--memory sets the bound"),
    CLI_NO_HINT
};

static const struct cli_program program = {
    .name = "h5rechunk",
    .purpose = "the same HDF5 file with other chunks and filters",
    .synopsis = "[OPTIONS] FILE[:/PATH] -o OUT.h5",
    .options = options,
    .epilogue =
        "All else of the file is carried over: groups, attributes, links, references. It\n"
        "is never rewritten in place. Exit status: 0 done; 1 a verification failed; 2\n"
        "could not; 128 + signal when stopped.\n"
        "\n"
        "examples:\n"
        "  h5rechunk train.h5 --chunk 1 -o single.h5\n"
        "  h5rechunk train.h5 --chunk 16 --compress zstd:3 --verify -o small.h5\n"
        "  h5rechunk train.h5 --dataset images=1 --dataset labels=4096,zstd -o two.h5\n"
        "  h5rechunk train.h5 --chunk none -o plain.h5\n"
        "  h5rechunk scan.h5:/volume --chunk 64x64x64 --memory 4G -o bricks.h5\n"
        "  h5rechunk train.h5 --shuffle --seed 1 -o mixed.h5\n"
        "  h5rechunk train.h5 --split 8 -o shards/train.h5\n"
        "  h5rechunk --join shards/train.h5 -o one.h5\n"
        "  h5rechunk train.h5 --advise '--workers 8 --pattern shuffle' -o fast.h5\n"
        "\n"
        "More: man h5rechunk\n",
    .hints = hints,
};

static const struct cli_rule rules[] = {
    { "advise", NULL, "chunk|compress|fletcher32|as|layout|shuffle" },
    { "seed", "shuffle", NULL },
    { "split", NULL,
      "join|chunk|compress|fletcher32|as|layout|shuffle|advise|resume|verify|threads" },
    { "join", NULL,
      "chunk|compress|fletcher32|as|layout|shuffle|advise|resume|verify|threads" },
};

static enum pack_status
check_usage(size_t n_operands, struct pack_error *err)
{
    if (cli_check_rules(rules, sizeof rules / sizeof *rules, n_operands, err) != PACK_OK)
        return PACK_ERR_ARGUMENT;
    if (o.join && n_operands == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "give the FILE, or FILES, to join");
    if (n_operands != 1 && !o.join)
        return pack_fail(err, PACK_ERR_ARGUMENT, "give one FILE%s; see h5rechunk --help",
                         o.advise && o.advise[0] ? " (--advise takes the options as one "
                                                   "word, '' for none)"
                                                 : "");
    if (!o.output && !o.dry_run)
        return pack_fail(err, PACK_ERR_ARGUMENT, "give an output with -o, or --dry-run");
    if (o.verify && o.dry_run)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--verify: with --dry-run there is nothing to compare");
    if (o.resume && o.dry_run)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--resume: with --dry-run there is nothing to go on with");
    if (o.memory == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--memory: 0 bytes hold no chunk");
    return PACK_OK;
}

static enum pack_status
print(const struct pack_rechunk_params *params, const struct rechunk_advice *advice,
      const struct pack_rechunk_result *result, struct pack_error *err)
{
    const struct pack_rechunk_report report = { .program = program.name,
                                                .version = PACKAGE_VERSION,
                                                .params = params,
                                                .advice = o.advise ? &advice->told : NULL,
                                                .result = result };
    struct pack_buf text = { 0 };
    enum pack_status status = o.json
                                  ? pack_report_rechunk_json(&report, &text, err)
                                  : pack_report_rechunk_text(&report, &text, err);
    if (status == PACK_OK && (o.json || !o.quiet))
        cli_print(&text);
    pack_buf_done(&text);
    return status;
}

static void
say_how_to_go_on(const struct pack_rechunk_result *result, struct pack_error *err)
{
    struct pack_buf text = { 0 };
    if (pack_buf_printf(&text, NULL, "%s (%s done; --resume goes on with %s)", err->text,
                        pack_counted(result->n_saved, "chunk is", "chunks are").text,
                        result->n_saved == 1 ? "it" : "them") == PACK_OK)
        pack_fail(err, err->status, "%s", (const char *)text.data);
    pack_buf_done(&text);
}

/* The advisor's chunks and filters for the one dataset. */
static enum pack_status
take_advice(const char *operand, struct cli_progress *progress,
            struct pack_rechunk_params *params, struct rechunk_advice *advice,
            struct pack_error *err)
{
    char *named = NULL;
    if (params->n_datasets > 1)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--advise is for one dataset at a time");
    if (o.datasets.n == 1 &&
        asprintf(&named, "%s:/%s", operand, o.datasets.text[0]) < 0)
        return pack_fail_memory(err, "a name");
    enum pack_status status =
        rechunk_advice_take(o.advise, named ? named : operand, progress, advice, err);
    params->chunk = advice->chunk;
    params->compress = advice->codec[0] ? advice->codec : NULL;
    free(named);
    return status;
}

static enum pack_status
run(const char *operand, struct cli_progress *progress,
    struct pack_rechunk_params *params, struct pack_error *err)
{
    struct pack_rechunk_result result = { .sets = NULL };
    struct rechunk_advice advice = { .chunk = "" };
    enum pack_status status = PACK_OK;
    if (o.advise && !o.dry_run)
        status = pack_rechunk_check_output(params, err);
    if (status == PACK_OK && o.advise)
        status = take_advice(operand, progress, params, &advice, err);
    if (status == PACK_OK && !advice.told.keeps)
        status = pack_rechunk(params, &result, err);
    cli_progress_end(progress);
    if (status == PACK_OK)
        status = print(params, &advice, &result, err);
    if (result.is_resumable)
        say_how_to_go_on(&result, err);
    pack_rechunk_result_done(&result);
    rechunk_advice_done(&advice);
    return status;
}

/* With --join operands are names of files. */
static enum pack_status
split_or_join(char **operands, size_t n_operands, struct pack_error *err)
{
    char *file = NULL, *path = NULL;
    const char *one;
    struct pack_shards_params params = { .inputs = (const char *const *)operands,
                                         .n_inputs = n_operands,
                                         .output = o.output,
                                         .split = o.split,
                                         .dataset = o.datasets.n ? o.datasets.text[0] : NULL,
                                         .force = o.force,
                                         .dry_run = o.dry_run,
                                         .memory_bytes = o.memory };
    enum pack_status status = PACK_OK;
    if (o.datasets.n > 1)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--dataset: all rows beside one dataset are split, or joined, with it");
    if (params.dataset && strchr(params.dataset, '='))
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--dataset: '%.200s': files are split and joined with the chunks and "
                         "filters that they have, and rechunked before or after",
                         params.dataset);
    if (o.split)
        status = pack_h5_operand_split(operands[0], &file, &path, err);
    if (status == PACK_OK && path && params.dataset)
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "'%.200s' names a dataset, and so does --dataset", operands[0]);
    one = file;
    if (o.split)
        params.inputs = &one;
    if (path)
        params.dataset = path;
    if (status == PACK_OK)
        status = rechunk_shards(&params, o.json, o.quiet, err);
    free(file);
    free(path);
    return status;
}

/* Opens nothing: what is wrong with FILE is the library's to say. */
static enum pack_status
rechunk(const char *operand, struct pack_error *err)
{
    struct cli_progress progress = { 0 };
    struct pack_rechunk_params params = { .output = o.output,
                                          .datasets = o.datasets.text,
                                          .n_datasets = o.datasets.n,
                                          .chunk = o.chunk,
                                          .compress = o.compress,
                                          .fletcher32 = o.fletcher32,
                                          .as = o.as,
                                          .layout = o.layout,
                                          .shuffle = o.shuffle,
                                          .seed = o.seed,
                                          .force = o.force,
                                          .resume = o.resume,
                                          .dry_run = o.dry_run,
                                          .verify = o.verify,
                                          .n_threads = (unsigned)o.threads,
                                          .memory_bytes = o.memory,
                                          .watch = cli_watch(&progress) };
    char *file = NULL, *path = NULL;
    enum pack_status status = pack_h5_operand_split(operand, &file, &path, err);
    const char *named = path;
    if (status == PACK_OK && path && params.n_datasets > 0)
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "'%.200s' names a dataset, and so does --dataset", operand);
    if (path && params.n_datasets == 0) {
        params.datasets = &named;
        params.n_datasets = 1;
    }
    params.input = file;
    if (status == PACK_OK)
        status = run(operand, &progress, &params, err);
    free(file);
    free(path);
    return status;
}

/* What a worker gives back is to leave the process, or --memory would be no bound of it. */
static void
return_large_blocks(void)
{
#ifdef HAVE_MALLOPT
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

int
main(int argc, char **argv)
{
    struct pack_error err = { 0 };
    char **operands;
    size_t n_operands;
    int exit_status;
    if (!cli_parse(&program, argc, argv, &operands, &n_operands, &exit_status))
        return exit_status;
    cli_set_quiet(o.quiet);
    cli_catch_signals();
    return_large_blocks();
    enum pack_status status = check_usage(n_operands, &err);
    if (status == PACK_OK)
        status = o.split || o.join ? split_or_join(operands, n_operands, &err)
                                   : rechunk(operands[0], &err);
    exit_status = status == PACK_OK ? CLI_DONE : cli_fail(&err);
    if (status == PACK_ERR_MISMATCH)
        exit_status = CLI_LOOK;
    cli_free_texts(&o.datasets);
    free(operands);
    return cli_exit(exit_status);
}
