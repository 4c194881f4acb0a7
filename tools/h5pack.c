/* h5pack: folders of JPEG and PNG images to one uint8 HDF5 file. */
#include "config.h"
#ifdef HAVE_MALLOPT
#include <malloc.h>
#endif

#include <stdlib.h>
#include <sys/stat.h>

#include <libpack/convert.h>

#include "libpack/advise/advise_request.h"
#include "libpack/base/name.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"
#include "tools/cli.h"
#include "tools/pack_args.h"
#include "tools/pack_lists.h"
#include "tools/pack_messages.h"
#include "tools/pack_stored.h"

static bool
exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static enum pack_convert_job
job_of(const struct pack_args *args)
{
    if (args->dry_run)
        return PACK_JOB_FORECAST;
    return args->verify && !args->force && !args->resume && args->output &&
                   exists(args->output)
               ? PACK_JOB_COMPARE
               : PACK_JOB_PACK;
}

/* The list of rejects is worth having whatever became of the run, unless that was refused, or
 * failed with none: then an earlier list stays. When it is what ended the run, it says
 * why itself. */
static enum pack_status
close_rejects(struct pack_talk *talk, enum pack_status status, struct pack_error *err)
{
    struct pack_error own;
    struct pack_outfile *rejects = talk->rejects;
    talk->rejects = NULL;
    if (!rejects)
        return status;
    bool is_refused = status == PACK_ERR_EXISTS || status == PACK_ERR_CHANGED;
    if (is_refused || (status != PACK_OK && talk->n_rejects == 0)) {
        pack_outfile_discard(rejects);
        return status;
    }
    bool is_told = status == PACK_OK || ferror(pack_outfile_stream(rejects));
    enum pack_status committed = pack_outfile_commit(rejects, is_told ? err : &own);
    return is_told ? committed : status;
}

/* The list is there before the file: who finds the one may look for the other. */
static enum pack_status
on_complete(void *context, struct pack_error *err)
{
    return close_rejects(context, PACK_OK, err);
}

static enum pack_status
work(enum pack_convert_job job, const struct pack_convert_params *params,
     struct pack_convert_result *result, struct pack_error *err)
{
    switch (job) {
    case PACK_JOB_FORECAST: return pack_convert_forecast(params, result, err);
    case PACK_JOB_COMPARE: return pack_convert_compare(params, result, err);
    default: return pack_convert(params, result, err);
    }
}

/*
 * How to open the file: what h5advise says of it, for the order that it was packed for
 * and the named storage that is assumed where nothing else is said. A file that cannot be
 * advised on is packed all the same; then HDF5's own settings stay.
 */
static bool
advise_settings(const struct pack_convert_params *params, const char *order,
                struct pack_cache_params *cache)
{
    struct pack_advise_request request = { PACK_ADVISE_REQUEST_DEFAULTS,
                                           .data.file = params->output,
                                           .storing.keep_file = true,
                                           .reading.pattern = order,
                                           .watch.stop = params->watch.stop };
    struct pack_advise_job *job = calloc(1, sizeof *job);
    struct pack_advise_result *result = calloc(1, sizeof *result);
    bool changes = job && result && pack_advise_job_open(&request, job, NULL) == PACK_OK &&
                   pack_advise(&job->params, result, NULL) == PACK_OK &&
                   result->rows[0].change != PACK_ADVISE_KEEP;
    if (changes)
        *cache = result->rows[0].config.cache;
    if (job)
        pack_advise_job_close(job);
    free(job);
    free(result);
    return changes;
}

/* What the summary says of reading, and the call that answers the same by measuring. */
static void
advise(const struct pack_convert_params *params, struct pack_buf *question,
       struct pack_convert_report *report)
{
    bool blocks = params->options.goal == PACK_CHUNK_FOR_BLOCK_SHUFFLE;
    const char *order = blocks ? "block:chunks=16" : "shuffle";
    report->sets_cache = advise_settings(params, order, &report->cache);
    if (pack_buf_printf(question, NULL, "h5advise ") == PACK_OK &&
        pack_name_word(params->output, question, NULL) == PACK_OK &&
        pack_buf_printf(question, NULL, " --keep-file --pattern %s", order) == PACK_OK)
        report->question = (const char *)question->data;
}

/* What the file is to be made with; one that is compared says what it was made with. */
static enum pack_status
read_options(const struct pack_args *args, enum pack_convert_job job,
             struct pack_convert_options *options, struct pack_error *err)
{
    if (job != PACK_JOB_COMPARE)
        return pack_args_options(args, options, err);
    enum pack_status status = pack_h5_guard_file(args->output, err);
    if (status == PACK_OK)
        status = pack_convert_options_read(args->output, options, err);
    return status == PACK_OK ? pack_stored_check(args, options, err) : status;
}

/* Whether an interrupted run left a list of images to go on with: the journal, and what it
 * had written, under its first or its last name. */
static bool
was_begun(const char *output)
{
    struct pack_buf path = { 0 };
    bool begun = pack_buf_printf(&path, NULL, "%s.part", output) == PACK_OK &&
                 (exists((const char *)path.data) || exists(output)) &&
                 pack_buf_printf(&path, NULL, ".journal") == PACK_OK &&
                 exists((const char *)path.data);
    pack_buf_done(&path);
    return begun;
}

/* The images, and the list of those that are rejected. An interrupted run has its own
 * images; that no others can be listed is no reason to lose it. */
static enum pack_status
open_lists(const struct pack_args *args, struct pack_convert_params *params,
           struct pack_talk *talk, struct pack_source **source, struct pack_error *err)
{
    enum pack_status status = pack_lists_check_written(args, NULL, err);
    if (status != PACK_OK)
        return status;
    status = pack_lists_open_source(args, &params->options, &params->watch, source, err);
    cli_progress_end(&talk->progress);
    if (status != PACK_OK && status != PACK_ERR_INTERRUPTED && params->resume &&
        was_begun(params->output)) {
        cli_say("%s; going on with the list of the interrupted run", err->text);
        status = PACK_OK;
    }
    if (status != PACK_OK)
        return status;
    params->source = *source;
    if (*source)
        status = pack_lists_check_written(args, *source, err);
    if (status != PACK_OK)
        return status;
    return args->rejects ? pack_lists_open_rejects(args->rejects, args->force,
                                                   &talk->rejects, err)
                         : PACK_OK;
}

static int
run(const struct pack_args *args)
{
    struct pack_error err;
    int exit_status;
    struct pack_source *source = NULL;
    struct pack_convert_result result = { 0 };
    struct pack_talk talk = { 0 };
    struct pack_buf question = { 0 };
    struct pack_convert_params params = {
        .output = args->output,
        .version = PACKAGE_VERSION,
        .force = args->force,
        .resume = args->resume,
        .gone_are_rejects = args->gone_are_rejects,
        .any_seed = args->seed == UINT64_MAX,
        .verify = args->verify,
        .n_threads = (unsigned)args->threads,
        .memory_bytes = args->memory,
        .watch = cli_watch(&talk.progress),
        .on_reject = pack_messages_reject,
        .reject_context = &talk,
        .on_complete = on_complete,
        .complete_context = &talk,
    };
    struct pack_convert_report report = { .params = &params, .result = &result };
    enum pack_status status = pack_args_check(args, &err);
    if (status == PACK_OK)
        status = pack_h5_register_zstd(&err);
    if (status != PACK_OK)
        goto out;
    report.job = job_of(args);
    status = read_options(args, report.job, &params.options, &err);
    if (status == PACK_OK)
        status = open_lists(args, &params, &talk, &source, &err);
    if (status != PACK_OK)
        goto out;
    if (source)
        pack_messages_notes(args, source);
    status = work(report.job, &params, &result, &err);
    cli_progress_end(&talk.progress);
    status = close_rejects(&talk, status, &err);
    if (params.options.shuffle && report.job == PACK_JOB_PACK)
        params.options.seed = result.seed;
    report.differs = status == PACK_ERR_MISMATCH;
    if (status == PACK_OK && report.job == PACK_JOB_PACK && !args->json && !args->quiet)
        advise(&params, &question, &report);
out:
    exit_status = pack_messages_end(args, &report, status, &err);
    pack_buf_done(&question);
    pack_source_close(source);
    return exit_status;
}

/*
 * glibc learns from large blocks that come and go to keep them, per thread. What a worker
 * gives back is to leave the process, or --memory would be no bound of it.
 */
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
    int exit_status;
    const struct pack_args *args = pack_args_parse(argc, argv, &exit_status);
    if (!args)
        return exit_status;
    cli_set_quiet(args->quiet);
    cli_catch_signals();
    return_large_blocks();
    exit_status = run(args);
    pack_args_free();
    return cli_exit(exit_status);
}
