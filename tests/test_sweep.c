/* h5readbench --sweep: which command lines are run, in which order, what becomes of runs that
 * fail, and what is told of made-up figures. */
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libpack/base/json.h"
#include "tests/tap.h"
#include "tools/readbench_sweep.h"

enum { TEXT = 200, CALLS_MAX = 64 };

/* What the processes of the runs did, in memory that all share. */
static struct log {
    int n_runs, n_checks;
    char words[CALLS_MAX][TEXT]; /* of each run */
} *calls;

static void
join(int argc, char **argv, char text[TEXT])
{
    text[0] = '\0';
    for (int i = 0; i < argc; i++)
        snprintf(text + strlen(text), TEXT - strlen(text), "%s%s", i ? " " : "", argv[i]);
}

/* ------------------------------------------------------------------------------ options */

static enum pack_status
open_sweep(struct sweep *sweep, struct pack_error *err, size_t n, const char **text)
{
    struct cli_texts texts = { text, n };
    enum pack_status status = sweep_open(&texts, sweep, err);
    if (status != PACK_OK)
        sweep_close(sweep);
    return status;
}

static void
test_values(void)
{
    struct sweep sweep;
    struct pack_error err;
    const char *two[] = { "workers=0,1,2", "pattern=shuffle;block:chunks=4,local" };
    char all[TEXT] = "";
    ok(open_sweep(&sweep, &err, 2, two) == PACK_OK && sweep.n_runs == 6 && sweep.n_keys == 2,
       "three values and two are six runs");
    for (size_t run = 0; run < sweep.n_runs; run++)
        snprintf(all + strlen(all), TEXT - strlen(all), "%s %s|", sweep_value(&sweep, run, 0),
                 sweep_value(&sweep, run, 1));
    is_text(all,
            "0 shuffle|0 block:chunks=4,local|1 shuffle|1 block:chunks=4,local|"
            "2 shuffle|2 block:chunks=4,local|",
            "the last option changes fastest; semicolons keep commas");
    sweep_close(&sweep);
    ok(open_sweep(&sweep, &err, 0, NULL) == PACK_OK && sweep.n_runs == 1, "none is one run");
    sweep_close(&sweep);
}

static void
test_refused(void)
{
    static const char *const bad[] = { "workers", "=1,2", "workers=", "sweep=1,2" };
    struct sweep sweep;
    struct pack_error err;
    char want[TEXT];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *text = bad[i];
        snprintf(want, sizeof want, "--sweep: '%s' is not OPTION=VALUE,VALUE,...", text);
        ok(open_sweep(&sweep, &err, 1, &text) == PACK_ERR_ARGUMENT, "refused: %s", text);
        is_text(err.text, want, "and told so");
    }
    const char *seven[] = { "a=1", "b=1", "c=1", "d=1", "e=1", "f=1", "g=1" };
    ok(open_sweep(&sweep, &err, 6, seven) == PACK_OK && sweep.n_runs == 1, "six options");
    sweep_close(&sweep);
    ok(open_sweep(&sweep, &err, 7, seven) == PACK_ERR_ARGUMENT, "seven are too many");
    is_text(err.text, "more than 6 --sweep", "and told so");
    const char *many[] = { "a=1,2,3,4,5,6,7,8", "b=1,2,3,4,5,6,7,8", "c=1,2,3,4,5,6,7,8",
                           "d=1,2,3,4,5,6,7,8", "e=1,2" };
    ok(open_sweep(&sweep, &err, 4, many) == PACK_OK && sweep.n_runs == SWEEP_RUNS_MAX,
       "4096 runs");
    sweep_close(&sweep);
    ok(open_sweep(&sweep, &err, 5, many) == PACK_ERR_LIMIT, "twice as many are too many");
    is_text(err.text, "--sweep makes more than 4096 runs", "and told so");
}

/* --------------------------------------------------------------------------------- runs */

static bool
note_words(int argc, char **argv, void *figures)
{
    join(argc, argv, figures);
    return true;
}

static bool
fail_at_two(int argc, char **argv, void *figures)
{
    (void)figures;
    return strcmp(argv[argc - 1], "--b=2") != 0;
}

static bool
die_at_two(int argc, char **argv, void *figures)
{
    if (!fail_at_two(argc, argv, figures))
        raise(SIGKILL);
    return true;
}

static bool
check_at_two(int argc, char **argv, void *figures)
{
    calls->n_checks++;
    return !figures && fail_at_two(argc, argv, figures);
}

static void
test_run(void)
{
    char *argv[] = { "h5readbench", "--sweep",   "a=x,y", "one.h5",
                     "--sweep=b=1,2", "--batch", "4",     "--",
                     "--sweep=z",   "-odd.h5",   NULL },
         *common[] = { "--seed=7", NULL }, text[TEXT] = "";
    const char *keys[] = { "a=x,y", "b=1,2" };
    struct sweep_job job = { 10, argv, common, note_words, check_at_two, TEXT };
    struct sweep sweep;
    struct pack_error err = { .text = "" };
    (void)open_sweep(&sweep, &err, 2, keys);
    ok(sweep_run(&sweep, 2, &job, text, &err) == PACK_OK, "a run %s", err.text);
    is_text(text, "h5readbench one.h5 --batch 4 --seed=7 --a=y --b=1 -- --sweep=z -odd.h5",
            "its options follow those given, in front of what is no option");
    job.fn = fail_at_two;
    job.argc = 7;
    ok(sweep_run(&sweep, 2, &job, text, &err) == PACK_OK, "the third run");
    ok(sweep_run(&sweep, 3, &job, text, &err) == PACK_ERR_IO, "the fourth fails");
    is_text(err.text, "run 4 of 4 failed", "and is named");
    job.fn = die_at_two;
    ok(sweep_run(&sweep, 1, &job, text, &err) == PACK_ERR_IO, "one that is killed failed, too");
    ok(strncmp(err.text, "run 2 of 4 was ended by signal 9 (", 34) == 0, "and is named: %s",
       err.text);
    ok(sweep_check(&sweep, &job, &err) == PACK_ERR_ARGUMENT && calls->n_checks == 2,
       "all are checked, until one is bad");
    is_text(err.text, "nothing of the sweep was run", "and none is run then");
    sweep_close(&sweep);
    (void)open_sweep(&sweep, &err, 1, keys);
    calls->n_checks = 0;
    ok(sweep_check(&sweep, &job, &err) == PACK_OK && calls->n_checks == 2, "or all are good");
    sweep_close(&sweep);
}

/* ------------------------------------------------------------------------------- rounds */

/* The n-th run of all that are made: its rates go 100, 101, 102, ...; the first round of
 * --w=1 ends with status 1, and without hits. */
static bool
made_up(int argc, char **argv, void *out)
{
    struct readbench_figures *f = out;
    int n = calls->n_runs++;
    bool is_one = strcmp(argv[argc - 1], "--w=1") == 0;
    join(argc, argv, calls->words[n]);
    *f = (struct readbench_figures){ .rate = 100 + n,
                                     .hit_rate = is_one ? -1 : 0.25,
                                     .amplification = 1.5,
                                     .busy_rate = 0.125,
                                     .au = is_one ? -1 : 0.75,
                                     .limit = PACK_LIMIT_DECODE };
    if (is_one && n == 2) {
        f->exit_status = CLI_LOOK;
        snprintf(f->reason, sizeof f->reason, "the GPU waits");
    }
    return true;
}

static bool
is_good(int argc, char **argv, void *figures)
{
    (void)argc, (void)argv, (void)figures;
    return true;
}

static bool
is_bad(int argc, char **argv, void *figures)
{
    (void)argc, (void)argv, (void)figures;
    return false;
}

/* What was written to a standard descriptor meanwhile, into text. */
static int
sweep_to(const struct readbench_options *o, sweep_fn check, struct pack_buf *json,
         char out[2][2048])
{
    static char *argv[] = { "h5readbench", "x.h5", NULL };
    FILE *file[2] = { tmpfile(), tmpfile() };
    int kept[2] = { dup(1), dup(2) };
    fflush(stdout);
    *calls = (struct log){ 0 };
    for (int i = 0; i < 2; i++)
        dup2(fileno(file[i]), i + 1);
    int status = readbench_sweep(o, 2, argv, made_up, check, json);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], i + 1);
        close(kept[i]);
        rewind(file[i]);
        out[i][fread(out[i], 1, 2047, file[i])] = '\0';
        fclose(file[i]);
    }
    return status;
}

static void
test_rounds(void)
{
    const char *keys[] = { "w=0,1" };
    struct readbench_options o = { .seed = 5, .sweep = { keys, 1 } };
    struct pack_buf json;
    char out[2][2048], all[TEXT] = "";
    pack_buf_init(&json, 1 << 16);
    ok(sweep_to(&o, is_good, &json, out) == CLI_LOOK, "the worst status is the sweep's");
    for (int i = 0; i < calls->n_runs; i++)
        snprintf(all + strlen(all), TEXT - strlen(all), "%s", strrchr(calls->words[i], '='));
    is_text(all, "=0=0=1=1=0=0=1", "one run for nothing, then three rounds, to and fro");
    is_text(calls->words[0], "h5readbench x.h5 --seed=5 --w=0", "all in one order");
    is_text(out[0],
            "w             samples/s spread  hit rate  x wanted     busy  limited by\n"
            "0                 104.0    4 %    25.0 %      1.50   12.5 %  decode\n"
            "1                 103.0    4 %         -      1.50   12.5 %  decode\n",
            "a table of the median rounds");
    ok(strstr(out[1], "run 2 of 2: the GPU waits\n") != NULL, "the reason is told");
    o.cold = true;
    ok(sweep_to(&o, is_good, &json, out) == CLI_LOOK && calls->n_runs == 6,
       "cold ones need no run for nothing");
    is_number((long long)json.size, 0, "no JSON unless asked for");
    pack_buf_done(&json);
}

static void
test_json(void)
{
    const char *keys[] = { "w=0,1" };
    struct readbench_options o = { .seed = 5, .sweep = { keys, 1 }, .json = true };
    struct pack_buf json;
    char out[2][2048];
    pack_buf_init(&json, 1 << 16);
    ok(sweep_to(&o, is_good, &json, out) == CLI_LOOK && !out[0][0], "JSON instead of a table");
    const char *runs = json.size ? strstr((char *)json.data, "\"runs\"") : NULL;
    char flat[2048] = "";
    for (size_t n = 0; runs && *runs && n < sizeof flat - 1; runs++)
        if (*runs != ' ' && *runs != '\n')
            flat[n++] = *runs, flat[n] = '\0';
    is_text(flat,
            "\"runs\":[{\"values\":{\"w\":\"0\"},\"exit_status\":0,\"rounds\":3,"
            "\"samples_per_s\":104,\"samples_per_s_min\":101,\"samples_per_s_max\":105,"
            "\"hit_rate\":0.25,\"amplification\":1.5,\"busy_rate\":0.125,\"au\":0.75,"
            "\"limit\":\"decode\"},{\"values\":{\"w\":\"1\"},\"exit_status\":1,\"rounds\":3,"
            "\"samples_per_s\":103,\"samples_per_s_min\":102,\"samples_per_s_max\":106,"
            "\"hit_rate\":null,\"amplification\":1.5,\"busy_rate\":0.125,\"au\":null,"
            "\"limit\":\"decode\"}],\"interrupted\":false}",
            "medians with what they lie between");
    json.size = 0;
    ok(sweep_to(&o, is_bad, &json, out) == CLI_FAILED && calls->n_runs == 0 && json.size == 0,
       "a sweep that is refused runs nothing");
    pack_buf_done(&json);
}

int
main(void)
{
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (calls == MAP_FAILED)
        return 1;
    test_values();
    test_refused();
    test_run();
    test_rounds();
    test_json();
    return done();
}
