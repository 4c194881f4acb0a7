/* h5audit: what is wrong with existing HDF5 files, what it costs, what mends it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpack/audit/report_audit.h"
#include "libpack/audit/report_map.h"
#include "libpack/audit/report_verify.h"
#include "libpack/base/numbers.h"
#include "libpack/base/outfile.h"
#include "libpack/base/pool.h"
#include "libpack/findings/findings_contents.h"
#include "libpack/hdf5/h5_dataset.h"
#include "tools/advise_ask.h"
#include "tools/audit_files.h"
#include "tools/audit_rules.h"
#include "tools/cli.h"

static struct advise_ask ask = { .request = { PACK_ADVISE_REQUEST_DEFAULTS } };

static struct {
    struct cli_texts only, ignored, thresholds;
    const char *explain, *fix, *salvage, *map, *html;
    struct cli_texts fix_rules;
    uint64_t threads, sample;
    int fail_on;
    bool recursive, list, verify, deep, force, json, sarif, quiet, no_reader;
} o = { .fail_on = PACK_FINDING_COST };

static const struct cli_option options[] = {
    CLI_SECTION("What is looked at"),
    CLI_FLAG(0, "recursive", &o.recursive,
             "folders stand for all files in and below them that are named .h5, .hdf5, .he5, "
             ".nc, .mat or .nwb"),
    CLI_TEXTS(0, "rule", &o.only, "CODE",
              "this rule alone, H5A102 or chunk-overhang; may be given several times"),
    CLI_TEXTS(0, "ignore", &o.ignored, "CODE", "not this rule; may be given several times"),
    CLI_TEXTS(0, "threshold", &o.thresholds, "CODE=VALUE",
              "from which number on a rule finds something, as H5A102=1.1 or "
              "dragged-chunks.bytes=1M (--explain names them); may be given several times"),
    CLI_CHOICE(0, "fail-on", &o.fail_on, "note|cost|hazard",
               "findings so severe make status 1 (default: cost)"),

    CLI_NUMBER(0, "sample", &o.sample, "N", 1, 1 << 20,
               "read N samples of each dataset, too, spread evenly: what they hold"),
    CLI_FLAG(0, "deep", &o.deep, "read all samples"),

    CLI_SECTION("Whether the data is whole"),
    CLI_FLAG(0, "verify", &o.verify,
             "in place of the rules: every chunk is read and decoded; bad ones are listed, and "
             "what is left"),
    CLI_NUMBER('j', "threads", &o.threads, "N", 1, PACK_POOL_THREADS_MAX,
               "with --verify, --fix, --sample and --deep: threads that work (default: one per "
               "processor)"),

    CLI_SECTION("Mending"),
    CLI_TEXT(0, "fix", &o.fix, "OUT.h5",
             "one FILE written anew, without the findings that another layout and other filters "
             "mend; values, types and order stay"),
    CLI_TEXTS(0, "fix-rule", &o.fix_rules, "CODE",
              "with --fix: what mends this rule alone, also where type or order change; may be "
              "given several times"),
    CLI_TEXT(0, "salvage", &o.salvage, "OUT.h5",
             "--verify, and one FILE written anew without its bad chunks, which are listed"),
    CLI_FLAG('f', "force", &o.force,
             "replace an existing OUT.h5, FILE.svg or FILE.html, or an interrupted run"),

    CLI_SECTION("The reader who pays"),
    ADVISE_READING_OPTIONS(ask),
    CLI_TEXT(0, "hdf5-version", &ask.request.cache.hdf5_version, "V",
             "version that reads: 1.8, 1.10, 2.0, 2.1 (default: the one linked)"),
    CLI_BYTES(0, "rdcc-nbytes", &ask.request.cache.bytes, "SIZE",
              "chunk cache of one process"),
    CLI_NUMBER(0, "rdcc-nslots", &ask.request.cache.slots, "N", 0, 4e9, "its slots"),
    CLI_REAL(0, "rdcc-w0", &ask.request.cache.w0, "W", 0, 1, "its preemption"),
    CLI_BYTES('m', "memory", &ask.request.machine.memory_bytes, "SIZE",
              "for the caches of all workers together (default: 1G, or half of a smaller "
              "machine)"),
    CLI_BYTES(0, "ram", &ask.request.machine.ram_bytes, "SIZE",
              "for the system's page cache (default: half of this machine's memory)"),
    CLI_NUMBER(0, "cpus", &ask.request.machine.n_cpus, "N", 1, 65536,
               "processors for the workers (default: this machine's, or the profile's)"),
    CLI_TEXT(0, "storage", &ask.request.machine.storage, "NAME",
             "nvme, sata-ssd, hdd, nfs, or a profile.json: times of that machine (default: "
             "nvme)"),
    CLI_FLAG(0, "no-reader", &o.no_reader, "none is asked about: nothing is priced"),

    CLI_SECTION("What is said"),
    CLI_TEXT(0, "html", &o.html, "FILE.html",
             "write a page to send to somebody: verdict, findings, map, commands"),
    CLI_TEXT(0, "map", &o.map, "FILE.svg",
             "draw one file: what lies where, in which order, and what is no data"),
    CLI_TEXT(0, "explain", &o.explain, "CODE", "what a rule means, and why; no file is read"),
    CLI_FLAG(0, "list-rules", &o.list, "all rules with their codes; no file is read"),
    CLI_FLAG(0, "json", &o.json, "print one JSON object"),
    CLI_FLAG(0, "sarif", &o.sarif,
             "print SARIF 2.1.0, which systems show that run checks (GitHub, GitLab)"),
    CLI_FLAG('q', "quiet", &o.quiet, "findings alone, no progress, no remarks"),
    CLI_END
};

static const struct cli_hint hints[] = {
    CLI_HINT("force", PACK_ERR_EXISTS, "--force replaces it"),
    CLI_HINT("force", PACK_OK, "--force starts again"),
    CLI_HINT("force_resume", PACK_OK, "--force starts again"),
    CLI_HINT("force_finished", PACK_OK, "--force replaces it"),
    CLI_HINT("resume", PACK_OK, "the same command completes it, --force starts again"),
    CLI_NO_HINT,
};

static const struct cli_program program = {
    .name = "h5audit",
    .purpose = "what is wrong with HDF5 files, what it costs, what mends it",
    .synopsis = "[OPTIONS] FILE[:/DATASET]...\n[OPTIONS] --recursive FOLDER...\n"
                "--explain CODE\n--list-rules",
    .options = options,
    .epilogue =
        "Files are only read, each by a process of its own first: a damaged one is a finding,\n"
        "and the others go on. Data is read with --sample, --deep, --verify and --fix only. Exit\n"
        "status: 0 nothing as severe as --fail-on, or nothing left so after --fix; 1 findings, bad\n"
        "chunks, or samples that cannot be read; 2 a file could not be looked at, or written, or\n"
        "wrong usage; 128 + signal when stopped.\n"
        "\n"
        "examples:\n"
        "  h5audit train.h5\n"
        "  h5audit --workers 8 --pattern block:chunks=32 train.h5:/images\n"
        "  h5audit --recursive --fail-on hazard --json datasets\n"
        "  h5audit --sample 500 --html page.html train.h5\n"
        "  h5audit --fix better.h5 train.h5\n"
        "  h5audit --verify train.h5\n"
        "  h5audit --explain H5A102\n"
        "\n"
        "More: man h5audit\n",
    .hints = hints,
};

/* ------------------------------------------------------------------- rules */

/* A rule that is asked for, and has nothing to look at. */
static enum pack_status
check_samples(const char *option, const int *codes, size_t n, struct pack_error *err)
{
    for (size_t i = 0; i < n && !o.deep && !o.sample; i++)
        if (pack_findings_is_of_contents(codes[i]))
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "%s: H5A%03d is about what samples hold: --sample or --deep reads "
                             "them",
                             option, codes[i]);
    return PACK_OK;
}

static enum pack_status
read_thresholds(struct pack_thresholds *thresholds, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < o.thresholds.n && status == PACK_OK; i++)
        status = pack_thresholds_parse(o.thresholds.text[i], thresholds, err);
    return status == PACK_OK ? status : pack_error_prefix(err, status, "--threshold");
}

/* Who reads, and with what; which rules; what mends them or shows it. */
#define READER                                                                              \
    "pattern|batch|workers|rank|epochs|no-persistent-workers|crop|box|step|read|reopen|seed|" \
    "hdf5-version|rdcc-nbytes|rdcc-nslots|rdcc-w0|memory|ram|cpus|storage"
#define RULES "rule|ignore|threshold"
#define AUDIT READER "|no-reader|" RULES "|fail-on|sample|deep|fix|fix-rule|map|html|sarif"

/* Of names apart by "|". */
static bool
is_any_given(const char *names)
{
    char name[64];
    for (size_t n; *names; names += n + (names[n] == '|')) {
        n = strcspn(names, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        if (cli_is_given(name))
            return true;
    }
    return false;
}

/* -------------------------------------------------------------------- audit */

static struct cli_progress progress;

/* Of the file that was looked at, whatever is wrong with it. */
static enum pack_status
draw_map(const char *path, struct pack_buf *svg, struct pack_error *err)
{
    const struct pack_watch all = cli_watch(&progress);
    const struct pack_watch stop = { .context = all.context, .stop = all.stop };
    const struct pack_h5_guard_limits limits = { .watch = &stop };
    struct pack_file_map *map = malloc(sizeof *map);
    enum pack_status status = map ? pack_file_map_make(path, &limits, map, err)
                                  : pack_fail_memory(err, "a map");
    if (status == PACK_OK)
        status = pack_report_map_svg(map, path, svg, err);
    free(map);
    return status;
}

static enum pack_status
write_map(const char *path, struct pack_error *err)
{
    struct pack_buf svg = { 0 };
    enum pack_status status = draw_map(path, &svg, err);
    if (status == PACK_OK)
        status = pack_outfile_write(o.map, o.force, svg.data, svg.size, err);
    pack_buf_done(&svg);
    return status;
}

/* With a map where it is of one file, and that can be drawn. */
static enum pack_status
write_page(const struct pack_audit_report *r, struct pack_error *err)
{
    struct pack_buf svg = { 0 }, page = { 0 };
    bool is_one = r->result->n_files == 1 && r->result->n_failed == 0;
    struct pack_error why;
    enum pack_status drawn = is_one ? draw_map(r->result->files[0].path, &svg, &why)
                                    : PACK_ERR_UNSUPPORTED;
    enum pack_status status =
        drawn == PACK_ERR_INTERRUPTED
            ? pack_fail(err, drawn, "%s", why.text)
            : pack_report_audit_html(r, drawn == PACK_OK ? &svg : NULL, &page, err);
    if (status == PACK_OK)
        status = pack_outfile_write(o.html, o.force, page.data, page.size, err);
    pack_buf_done(&svg);
    pack_buf_done(&page);
    return status;
}

/* Whoever reads the report, the person who started it reads this. */
static void
complain(const struct pack_audit_result *result)
{
    for (size_t i = 0; i < result->n_files; i++)
        if (result->files[i].status != PACK_OK &&
            result->files[i].status != PACK_ERR_MEMORY && /* which ends the program */
            result->files[i].status != PACK_ERR_INTERRUPTED)
            cli_complain("%s", result->files[i].failure.text);
}

/* Why no dataset of any file could be read in the order and the parts that were asked for: a
 * name that was mistyped is not to pass for a file that is well. NULL: one could, or nothing of
 * the kind was asked for. */
static const char *
why_not_as_asked(const struct pack_audit_result *result)
{
    const struct pack_advise_ask_reading *asked = &ask.request.reading;
    struct pack_pattern pattern = { .file = NULL };
    const char *why = NULL;
    if (asked->pattern)
        (void)pack_pattern_parse(asked->pattern, &pattern, NULL);
    if (!pattern.file && !asked->crop.rank && !asked->box.rank && asked->step <= 1)
        return NULL;
    for (size_t i = 0; i < result->n_files; i++)
        for (size_t k = 0; k < result->files[i].n_readings; k++) {
            const struct pack_audit_reading *r = &result->files[i].readings[k];
            if (r->is_known)
                return NULL;
            why = !why && r->why_not[0] ? r->why_not : why;
        }
    return why;
}

static enum pack_status
report(const struct pack_audit_params *params, const struct audit_files *files,
       const struct pack_audit_result *result, const struct pack_audit_applied *applied,
       bool is_stopped, struct pack_buf *text, struct pack_error *err)
{
    char *folder = o.sarif ? getcwd(NULL, 0) : NULL; /* without it names stay as they are */
    const struct pack_audit_report r = { .program = program.name,
                                         .version = PACKAGE_VERSION,
                                         .params = params,
                                         .result = result,
                                         .output = o.fix,
                                         .applied = applied,
                                         .unlisted = files->unlisted.names,
                                         .n_unlisted = files->unlisted.n,
                                         .folder = folder,
                                         .fail_on = (enum pack_finding_severity)o.fail_on,
                                         .is_plain = !is_any_given(READER "|no-reader|" RULES),
                                         .is_brief = o.quiet,
                                         .is_stopped = is_stopped };
    enum pack_status status = o.json    ? pack_report_audit_json(&r, text, err)
                              : o.sarif ? pack_report_audit_sarif(&r, text, err)
                                        : pack_report_audit_text(&r, text, err);
    free(folder);
    return status == PACK_OK && o.html && !is_stopped ? write_page(&r, err) : status;
}

static struct pack_audit_apply_params
how_to_fix(const int *named)
{
    return (struct pack_audit_apply_params){ .output = o.fix,
                                             .force = o.force,
                                             .named = named,
                                             .n_named = o.fix_rules.n,
                                             .n_threads = (unsigned)o.threads };
}

/* With --force it begins again, which is needed only to replace a file. */
static void
say_how_to_go_on(const struct pack_audit_applied *applied, struct pack_error *err)
{
    struct pack_buf text = { 0 };
    const char *how = !o.force ? "the same command goes on"
                      : access(o.fix, F_OK) != 0
                          ? "without --force the same command goes on"
                          : "the same command begins again";
    if (pack_buf_printf(&text, NULL, "%s (%s done; %s)", err->text,
                        pack_counted(applied->n_saved, "chunk is", "chunks are").text,
                        how) == PACK_OK)
        pack_fail(err, err->status, "%s", (const char *)text.data);
    pack_buf_done(&text);
}

/* What was found before it was stopped is told, too. */
static enum pack_status
audit(const struct audit_files *files, struct pack_buf *text, int *exit_status,
      struct pack_error *err)
{
    struct pack_audit_params params = { .files = files->names,
                                        .n_files = files->n,
                                        .request = ask.request,
                                        .no_reader = o.no_reader,
                                        .n_only = o.only.n,
                                        .n_ignored = o.ignored.n,
                                        .n_samples = o.sample,
                                        .is_deep = o.deep,
                                        .n_threads = (unsigned)o.threads,
                                        .watch = cli_watch(&progress) };
    struct pack_audit_result result = { .n_files = 0 };
    struct pack_audit_applied applied = { .specs = NULL };
    struct pack_error why;
    int *only = NULL, *ignored = NULL, *named = NULL;
    params.request.reading.read = (enum pack_read_mode)ask.read;
    enum pack_status status = audit_rules_codes("--rule", &o.only, &only, err);
    if (status == PACK_OK)
        status = audit_rules_codes("--ignore", &o.ignored, &ignored, err);
    if (status == PACK_OK)
        status = audit_rules_codes("--fix-rule", &o.fix_rules, &named, err);
    if (status == PACK_OK)
        status = check_samples("--rule", only, o.only.n, err);
    if (status == PACK_OK)
        status = check_samples("--fix-rule", named, o.fix_rules.n, err);
    if (status == PACK_OK)
        status = read_thresholds(&params.thresholds, err);
    params.only = only;
    params.ignored = ignored;
    if (status == PACK_OK) {
        status = pack_audit(&params, &result, err);
        const struct pack_audit_apply_params how = how_to_fix(named);
        if (status == PACK_OK && o.fix && !result.n_failed)
            status = pack_audit_apply(&params, &result, &how, &applied, err);
        if (status != PACK_OK && applied.is_resumable)
            say_how_to_go_on(&applied, err);
        bool is_fixed = o.fix && status == PACK_OK && !result.n_failed,
             is_stopped = status == PACK_ERR_INTERRUPTED;
        if (status == PACK_OK && o.map && !result.n_failed)
            status = write_map(result.files[0].path, err);
        cli_progress_end(&progress);
        enum pack_status told =
            status == PACK_OK || result.n_files > 0
                ? report(&params, files, &result, is_fixed ? &applied : NULL, is_stopped, text,
                         &why)
                : PACK_OK;
        if (status == PACK_OK && told != PACK_OK)
            status = pack_fail(err, told, "%s", why.text);
    }
    complain(&result);
    const char *why_not = status == PACK_OK ? why_not_as_asked(&result) : NULL;
    if (why_not)
        cli_complain("nothing could be read as asked: %s", why_not);
    *exit_status = result.n_failed || why_not ? CLI_FAILED
                   : pack_audit_worst(applied.is_written ? &applied.after : &result) >= o.fail_on ||
                             !pack_audit_is_read(&result)
                       ? CLI_LOOK
                       : CLI_DONE;
    pack_audit_applied_done(&applied);
    pack_audit_done(&result);
    free(only);
    free(ignored);
    free(named);
    return status;
}

static enum pack_status
check_salvage(const char *file, const char *dataset, struct pack_error *err)
{
    const char *const others[] = { file };
    if (dataset)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--salvage: it is a whole FILE, not '/%.200s'",
                         dataset);
    return cli_check_output(o.salvage, o.force, others, 1, err);
}

/* One file, which may be FILE:/DATASET. */
static enum pack_status
verify_file(const char *operand, struct pack_buf *text, bool *is_good, struct pack_error *err)
{
    struct pack_verify_result result;
    char *file = NULL, *dataset = NULL;
    enum pack_status status = pack_h5_operand_split(operand, &file, &dataset, err);
    const struct pack_verify_params params = { .file = file,
                                               .dataset = dataset,
                                               .n_threads = (unsigned)o.threads,
                                               .watch = ask.request.watch };
    struct pack_salvaged salvaged;
    const struct pack_verify_report r = { program.name, PACKAGE_VERSION, &params, &result,
                                          o.salvage, o.salvage ? &salvaged : NULL };
    const struct pack_salvage_params salvage = { .file = file,
                                                 .output = o.salvage,
                                                 .force = o.force,
                                                 .n_threads = (unsigned)o.threads,
                                                 .watch = ask.request.watch };
    if (status == PACK_OK && o.salvage)
        status = check_salvage(file, dataset, err);
    if (status == PACK_OK)
        status = pack_verify(&params, &result, err);
    if (status == PACK_OK && o.salvage) {
        status = pack_salvage(&salvage, &result, &salvaged, err);
        if (status != PACK_OK)
            pack_verify_done(&result);
    }
    if (status == PACK_OK) {
        status = o.json ? pack_report_verify_json(&r, text, err)
                        : pack_report_verify_text(&r, text, err);
        *is_good = *is_good && pack_verify_is_good(&result);
        pack_verify_done(&result);
    }
    free(file);
    free(dataset);
    return status;
}

/* One that cannot be looked at does not keep the others from it. */
static enum pack_status
verify(const struct audit_files *files, struct pack_buf *text, int *exit_status,
       struct pack_error *err)
{
    bool is_good = true;
    if (o.json && files->n != 1)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "--verify: with --json it is one FILE at a time");
    ask.request.watch = cli_watch(&progress);
    for (size_t i = 0; i < files->n; i++) {
        enum pack_status status = verify_file(files->names[i], text, &is_good, err);
        cli_progress_end(&progress);
        if (status == PACK_ERR_MEMORY || status == PACK_ERR_INTERRUPTED || files->n == 1)
            return *exit_status = is_good ? CLI_DONE : CLI_LOOK, status;
        if (status != PACK_OK) {
            cli_complain("%s", err->text);
            *exit_status = CLI_FAILED;
        }
    }
    if (*exit_status == CLI_DONE && !is_good)
        *exit_status = CLI_LOOK;
    return PACK_OK;
}

/* Whether a drawing and a page can get their names, and are none of the other files. */
static enum pack_status
check_outputs(char **operands, size_t n_operands, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < n_operands && status == PACK_OK; i++) {
        char *file = NULL, *dataset = NULL;
        status = pack_h5_operand_split(operands[i], &file, &dataset, err);
        const char *const others[] = { file, o.fix, o.map };
        if (status == PACK_OK)
            status = cli_check_output(o.map, o.force, others, 2, err);
        if (status == PACK_OK)
            status = cli_check_output(o.html, o.force, others, 3, err);
        free(file);
        free(dataset);
    }
    return status;
}

static const struct cli_rule rules[] = {
    { "verify", "FILE", "explain|list-rules|" AUDIT },
    { "salvage", "FILE", "explain|list-rules|recursive|" AUDIT },
    { "rule", "FILE", "explain|list-rules" },
    { "ignore", "FILE", "explain|list-rules" },
    { "threshold", "FILE", "explain|list-rules" },
    { "fail-on", "FILE", "explain|list-rules" },
    { "no-reader", "FILE", "explain|list-rules|" READER },
    { "threads", "verify|fix|sample|deep|salvage", NULL },
    { "sample", "FILE", "explain|list-rules|deep" },
    { "deep", "FILE", "explain|list-rules" },
    { "fix-rule", "fix", NULL },
    { "fix", "FILE", "explain|list-rules|recursive" },
    { "force", "fix|salvage|map|html", NULL },
    { "html", "FILE", "explain|list-rules" },
    { "map", "FILE", "explain|list-rules|recursive" },
    { "recursive", "FILE", "explain|list-rules" },
    { "sarif", "FILE", "explain|list-rules|fix|json" },
    { "explain", NULL, "FILE|list-rules|json" },
    { "list-rules", NULL, "FILE|json" },
};

static enum pack_status
run(char **operands, size_t n_operands, struct pack_buf *text, int *exit_status,
    struct pack_error *err)
{
    struct audit_files files = { .n = 0 };
    enum pack_status status =
        cli_check_rules(rules, sizeof rules / sizeof *rules, n_operands, err);
    if (status == PACK_OK && o.list)
        return audit_rules_list(text, err);
    if (status == PACK_OK && o.explain)
        return audit_rules_explain(o.explain, text, err);
    if (status == PACK_OK && n_operands == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "give a FILE; see h5audit --help");
    if (status == PACK_OK && (o.fix || o.map || o.salvage) && n_operands != 1)
        return pack_fail(err, PACK_ERR_ARGUMENT, "--%s: it is one FILE at a time",
                         o.fix ? "fix" : o.map ? "map" : "salvage");
    if (status == PACK_OK)
        status = check_outputs(operands, n_operands, err);
    const struct pack_audit_apply_params how = how_to_fix(NULL);
    if (status == PACK_OK && o.fix)
        status = pack_audit_apply_check(operands[0], &how, err);
    if (status == PACK_OK)
        status = audit_files_list(operands, n_operands, o.recursive, &files, err);
    bool is_told = (o.json || o.sarif) && !o.verify; /* also that there are none */
    if (status == PACK_OK && (files.n > 0 || is_told))
        status = o.verify || o.salvage ? verify(&files, text, exit_status, err)
                          : audit(&files, text, exit_status, err);
    if (status == PACK_OK && files.unlisted.n > 0)
        *exit_status = CLI_FAILED;
    audit_files_done(&files);
    return status;
}

int
main(int argc, char **argv)
{
    struct pack_error err = { 0 };
    struct pack_buf text = { 0 };
    char **operands;
    size_t n_operands;
    int exit_status;
    if (!cli_parse(&program, argc, argv, &operands, &n_operands, &exit_status))
        return exit_status;
    cli_set_quiet(o.quiet);
    cli_catch_signals();
    exit_status = CLI_DONE;
    enum pack_status status = run(operands, n_operands, &text, &exit_status, &err);
    cli_print(&text);
    if (status != PACK_OK)
        exit_status = cli_fail(&err);
    pack_buf_done(&text);
    cli_free_texts(&o.only);
    cli_free_texts(&o.ignored);
    cli_free_texts(&o.fix_rules);
    cli_free_texts(&o.thresholds);
    free(operands);
    return cli_exit(exit_status);
}
