/*
 * Every call that packing makes to others fails in turn: a sentence, nothing under the final
 * name, nothing kept; where the run can be resumed it gives the file of an undisturbed one.
 * See strikes.h.
 */
#include "tests/strikes.h"

#include <libpack/convert.h>
#include <libpack/source.h>

#include "libpack/base/buf.h"
#include "libpack/convert/convert_options.h"
#include "libpack/convert/report_convert.h"
#include "libpack/hdf5/h5.h"

#define PART    "out.h5.part"
#define JOURNAL "out.h5.part.journal"

static void
remove_out(void)
{
    unlink("out.h5");
    unlink(PART);
    unlink(JOURNAL);
}

/* ------------------------------------------------------------------ sources */

static enum pack_status
open_folder(struct pack_source **source, struct pack_error *err)
{
    const char *folder = "photos";
    struct pack_source_params params = { 0 };
    return pack_source_open(&folder, 1, &params, source, err);
}

static enum pack_status
open_list(struct pack_source **source, struct pack_error *err)
{
    struct pack_source_params params = { 0 };
    FILE *file = fopen("list.tsv", "r");
    if (!file)
        return pack_fail_errno(err, errno, "cannot open 'list.tsv'");
    enum pack_status status = pack_source_open_list(file, "list.tsv", &params, source, err);
    fclose(file);
    return status;
}

/* --------------------------------------------------------------------- jobs */

typedef enum pack_status (*job_fn)(const struct pack_convert_params *params,
                                   struct pack_convert_result *result,
                                   struct pack_error *err);

/* What is said of it: the counts, and the reports. */
static enum pack_status
say_result(const struct pack_convert_params *params, enum pack_convert_job job,
           struct pack_convert_result *r, struct pack_error *err)
{
    struct pack_buf text = { 0 };
    struct pack_convert_report report = { .job = job, .params = params, .result = r };
    r->elapsed_ns = r->sync_ns = r->verify_ns = r->forecast_ns = r->peak_bytes = 0;
    enum pack_status status = pack_report_convert_json(&report, &text, err);
    if (status == PACK_OK)
        strike_sum("json", text.data, text.size);
    text.size = 0;
    if (status == PACK_OK)
        status = pack_report_convert_text(&report, &text, err);
    if (status == PACK_OK)
        strike_sum("text", text.data, text.size);
    pack_buf_done(&text);
    return status;
}

static enum pack_status
do_job(enum pack_convert_job job, bool is_list, bool resume, struct pack_error *err)
{
    static const job_fn jobs[] = { pack_convert, pack_convert_forecast,
                                   pack_convert_compare };
    struct pack_convert_result result = { 0 };
    struct pack_convert_params params = { .output = "out.h5", .version = "1",
                                          .n_threads = 1, .resume = resume,
                                          .verify = is_list };
    struct pack_convert_options *o = &params.options;
    o->geometry.size_h = o->geometry.size_w = 8;
    o->on_error = PACK_ON_ERROR_FAIL;
    o->chunk_samples = is_list ? 2 : 1;
    enum pack_status status = is_list ? open_list(&params.source, err)
                                      : open_folder(&params.source, err);
    if (status == PACK_OK)
        status = pack_pipeline_parse(is_list ? "gzip:1+fletcher32" : "zstd:1", 1,
                                     &o->pipeline, err);
    if (status == PACK_OK && is_list) {
        o->shuffle = true;
        o->seed = 5;
        status = pack_source_shuffle(params.source, o->seed, err);
    }
    if (status == PACK_OK)
        status = jobs[job](&params, &result, err);
    if (status == PACK_OK)
        status = say_result(&params, job, &result, err);
    pack_source_close(params.source);
    return status;
}

static enum pack_status
pack_folder(struct pack_error *err)
{
    return do_job(PACK_JOB_PACK, false, false, err);
}

static enum pack_status
pack_list(struct pack_error *err)
{
    return do_job(PACK_JOB_PACK, true, false, err);
}

static enum pack_status
resume_folder(struct pack_error *err)
{
    return do_job(PACK_JOB_PACK, false, true, err);
}

static enum pack_status
forecast(struct pack_error *err)
{
    return do_job(PACK_JOB_FORECAST, false, false, err);
}

static enum pack_status
compare(struct pack_error *err)
{
    struct pack_convert_options options;
    enum pack_status status = pack_convert_options_read("out.h5", &options, err);
    return status == PACK_OK ? do_job(PACK_JOB_COMPARE, false, false, err) : status;
}

/* What is left of a run that failed is gone on with. */
static const char *
goes_on(bool is_list, enum pack_status status)
{
    static uint64_t whole[2];
    bool is_left = access(PART, F_OK) == 0;
    struct pack_error err;
    if (status == PACK_OK)
        whole[is_list] = strike_file("out.h5");
    if (status == PACK_OK && is_left)
        return "leaves a part behind a whole file";
    if (status == PACK_OK || !is_left || access("out.h5", F_OK) == 0)
        return NULL;
    if (do_job(PACK_JOB_PACK, is_list, true, &err) != PACK_OK)
        return "cannot be resumed";
    return whole[is_list] && strike_file("out.h5") != whole[is_list]
               ? "gives another file when it is resumed"
               : NULL;
}

static const char *
folder_goes_on(enum pack_status status)
{
    return goes_on(false, status);
}

static const char *
list_goes_on(enum pack_status status)
{
    return goes_on(true, status);
}

/* -------------------------------------------------------------------- states */

static void
copy(const char *from, const char *to)
{
    char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n = in && out ? fread(bytes, 1, sizeof bytes, in) : 0;
    if (!in || !out || n == sizeof bytes || fwrite(bytes, 1, n, out) != n ||
        fclose(out) != 0 || fclose(in) != 0)
        abort();
}

/* What a run left that was stopped in the middle. */
static void
put_stopped(void)
{
    remove_out();
    copy("stopped.part", PART);
    copy("stopped.journal", JOURNAL);
}

static bool
always(void *context)
{
    int *n = context;
    return --*n < 0;
}

static void
make_stopped(void)
{
    struct pack_convert_result result;
    int n = 5;
    struct pack_convert_params params = { .output = "out.h5", .version = "1",
                                          .n_threads = 1,
                                          .watch = { .context = &n, .stop = always } };
    params.options.geometry.size_h = params.options.geometry.size_w = 8;
    params.options.on_error = PACK_ON_ERROR_FAIL;
    params.options.chunk_samples = 1;
    if (open_folder(&params.source, NULL) != PACK_OK ||
        pack_pipeline_parse("zstd:1", 1, &params.options.pipeline, NULL) != PACK_OK ||
        pack_convert(&params, &result, NULL) != PACK_ERR_INTERRUPTED || !result.resumable) {
        printf("Bail out! no run is stopped\n");
        exit(99);
    }
    pack_source_close(params.source);
    if (rename(PART, "stopped.part") != 0 || rename(JOURNAL, "stopped.journal") != 0)
        abort();
}

static void
put_whole(void)
{
    remove_out();
    copy("whole.h5", "out.h5");
}

int
main(void)
{
    /* What may change what is said: a file's size that is not told, a chunk that is packed
     * again, an image that a forecast does not try. */
    enum { MEMORY = 1u << STRIKE_MEMORY, SYSTEM = 1u << STRIKE_SYSTEM };
    static const struct strike_case cases[] = {
        { "a folder is packed", remove_out, pack_folder, "out.h5", false, false, SYSTEM, 0,
          folder_goes_on },
        { "a list is packed", remove_out, pack_list, "out.h5", false, false, SYSTEM, 0,
          list_goes_on },
        { "a run goes on", put_stopped, resume_folder, "out.h5", false, false, SYSTEM, 2,
          folder_goes_on },
        { "a forecast is made", NULL, forecast, NULL, false, false, MEMORY, 0, NULL },
        /* inside of HDF5 a decoder without memory is a chunk that is damaged */
        { "a file is compared", put_whole, compare, NULL, false, true, 0, 0, NULL },
    };
    char folder[] = "/tmp/h5pack-test.XXXXXX", command[4096];
    const char *build = getenv("top_builddir");
    snprintf(command, sizeof command,
             "set -e; '%s/tests/render_samples' photos 6 2 24; { printf "
             "'path\\tlabel\\tage\\tnote\\tscore\\n'; i=0; for f in photos/*/*; do i=$((i + "
             "1)); printf '%%s\\tcat\\t%%s\\tsome words\\t0.5\\n' $f $i; done; } >list.tsv",
             build ? build : ".");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 99;
    if (system(command) != 0) {
        printf("1..0 # SKIP no images can be rendered\n");
        return 0;
    }
    pack_h5_quiet();
    if (pack_h5_register_zstd(NULL) != PACK_OK || pack_folder(NULL) != PACK_OK)
        return 99;
    rename("out.h5", "whole.h5");
    make_stopped();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int kind = 0; kind < STRIKE_KINDS; kind++)
            strike_all(&cases[i], (enum strike_kind)kind);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(command) != 0)
        note("'%s' stays", folder);
    return done();
}
