/* What programs share: progress on a terminal, standard descriptors that are not
 * there. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tools/cli.h"

enum { TRIES = 8 }; /* of what a process that is not run for a while spoils */

static void
wait_for_a_line(void)
{
    usleep(250 * 1000);
}

/* Runs `talk` with a terminal for standard error; what was drawn goes to text[size]. */
static bool
on_terminal(void (*talk)(void), char *text, size_t size)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), saved = dup(STDERR_FILENO);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return false;
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0)
        return false;
    dup2(slave, STDERR_FILENO);
    talk();
    dup2(saved, STDERR_FILENO);
    struct pollfd there = { .fd = master, .events = POLLIN };
    size_t used = 0;
    while (used < size - 1 && poll(&there, 1, 200) == 1) {
        ssize_t n = read(master, text + used, size - 1 - used);
        used += n > 0 ? (size_t)n : 0;
    }
    text[used] = '\0';
    close(slave);
    close(master);
    close(saved);
    return true;
}

/* A run that goes on with 900 of 1000 images does 10 of its own in half a second. */
static void
resume_at_900(void)
{
    struct cli_progress progress;
    cli_progress_begin(&progress, "packing", "images", 1000);
    cli_progress_update(&progress, 900, 900000000);
    wait_for_a_line();
    cli_progress_update(&progress, 905, 905000000);
    cli_progress_hide(&progress);
    wait_for_a_line();
    cli_progress_update(&progress, 910, 910000000);
    cli_progress_end(&progress);
}

static void
count_without_total(void)
{
    struct cli_progress progress;
    cli_progress_begin(&progress, "listing", "images", 0);
    cli_progress_update(&progress, 0, 0);
    wait_for_a_line();
    cli_progress_update(&progress, 4321, 0);
    cli_progress_end(&progress);
}

static void
test_progress(void)
{
    char text[1024] = "";
    if (!on_terminal(resume_at_900, text, sizeof text)) {
        skip("no terminal can be made here");
        skip("no terminal can be made here");
        skip("no terminal can be made here");
        return;
    }
    const char *last = strstr(text, "910/1,000 images  91%");
    double rate = last ? strtod(strstr(last, "%") + 1, NULL) : 0;
    if (!ok(last && rate > 0 && rate < 60 && strstr(last, "ETA"),
            "a resumed run's rate counts what it does itself: %.0f/s", rate))
        note("%s", text);
    size_t size = strlen(text);
    ok(size > 4 && strcmp(text + size - 4, "\r\033[K") == 0, "the line leaves no trace");
    on_terminal(count_without_total, text, sizeof text);
    if (!ok(strstr(text, "listing  4,321 images  ") && !strchr(text, '%'),
            "without a total there is no percentage"))
        note("%s", text);
}

static void
test_numbers(void)
{
    static const struct {
        uint64_t number;
        const char *text;
    } thousands[] = { { 0, "0" },          { 999, "999" },           { 1000, "1,000" },
                      { 12345, "12,345" }, { 123456, "123,456" },    { 1234567, "1,234,567" },
                      { UINT64_MAX, "18,446,744,073,709,551,615" } };
    static const struct {
        double seconds;
        const char *text;
    } durations[] = { { -1, "0:00" },      { 0.4, "0:00" },        { 59.5, "1:00" },
                      { 3599, "59:59" },   { 3600, "1:00:00" },    { 86399, "23:59:59" } };
    char text[64];
    for (size_t i = 0; i < sizeof thousands / sizeof *thousands; i++)
        is_text(cli_thousands(thousands[i].number, text), thousands[i].text,
                "numbers are grouped by thousands");
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        is_text(cli_duration(durations[i].seconds, text), durations[i].text,
                "times are minutes and seconds, from an hour on with hours");
}

/* Half of the images in half a second: the other half takes as long. */
static void
half_way(void)
{
    struct cli_progress progress;
    cli_progress_begin(&progress, "packing", "images", 100000);
    cli_progress_update(&progress, 0, 0);
    progress.start_ns -= UINT64_C(100000000000); /* begun 100 s ago */
    wait_for_a_line();
    cli_progress_update(&progress, 75000, 0);
    cli_progress_end(&progress);
}

static void
test_eta(void)
{
    char text[1024] = "";
    if (!on_terminal(half_way, text, sizeof text)) {
        skip("no terminal can be made here");
        return;
    }
    for (int i = 0; i < TRIES && !strstr(text, "ETA 0:33"); i++)
        on_terminal(half_way, text, sizeof text); /* in time, this time */
    ok(strstr(text, "75,000/100,000 images  75%  7") && strstr(text, "ETA 0:33"),
       "three quarters in 100 s: the last one takes 33 s more");
    int saved = dup(STDERR_FILENO), file = open("test_cli.err", O_CREAT | O_RDWR | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    half_way();
    dup2(saved, STDERR_FILENO);
    ok(lseek(file, 0, SEEK_END) == 0, "nothing is drawn where there is no terminal");
    close(saved);
    close(file);
    unlink("test_cli.err");
}

/* What cli_exit gives in a child whose standard output is `path`, after `n` bytes. */
static int
exit_on(const char *path, size_t n)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY), null = open("/dev/null", O_WRONLY);
        dup2(fd, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        for (size_t i = 0; i < n; i++)
            putchar('x');
        _exit(cli_exit(7));
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
test_exit(void)
{
    is_number(exit_on("/dev/null", 100), 7, "a program ends with its status");
    if (access("/dev/full", W_OK) != 0) {
        skip("there is no /dev/full here");
        return;
    }
    is_number(exit_on("/dev/full", 100), CLI_FAILED, "but not where its answer does not fit");
    is_number(exit_on("/dev/full", 1 << 20), CLI_FAILED, "nor where it found out before the end");
}

/* Parses an empty command line in a child whose descriptors 0 to 2 are closed, then opens
 * a file: the status is its descriptor, 99 when writing to standard error succeeded. */
static int
first_descriptor(void)
{
    static const struct cli_option options[] = { CLI_END };
    static const struct cli_program program = { .name = "h5test", .options = options };
    char *words[] = { (char[]){ "h5test" }, NULL }, **operands;
    size_t n_operands;
    int status;
    pid_t child = fork();
    if (child == 0) {
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        cli_parse(&program, 1, words, &operands, &n_operands, &status);
        int fd = open("/dev/null", O_RDWR);
        _exit(write(STDERR_FILENO, "x", 1) == 1 ? 99 : fd);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                    : -1;
}

/* What several programs read off their command lines in the same way. */
static struct pack_shape size;
static bool force;
static uint64_t count;
static const struct cli_option options[] = { CLI_NUMBER(0, "count", &count, "N", 1, 9, ""),
                                             CLI_SIDES(0, "size", &size, ""),
                                             CLI_FLAG('f', "rdcc-force", &force, ""),
                                             CLI_END };
static const struct cli_hint hints[] = {
    CLI_HINT("rdcc_force", PACK_ERR_EXISTS, "--rdcc-force replaces it"),
    CLI_HINT("rdcc_force", PACK_OK, "--rdcc-force starts again"),
    CLI_SET_BY("sides", "size"),
    CLI_NO_HINT
};
static const struct cli_program program = { .name = "h5test",
                                            .options = options,
                                            .hints = hints };

static bool
parses(const char *option, const char *text)
{
    char *words[] = { (char[]){ "h5test" }, NULL, NULL, NULL }, **operands;
    char copy[64], name[64];
    size_t n_operands;
    int status, null = open("/dev/null", O_WRONLY), saved = dup(STDERR_FILENO);
    snprintf(copy, sizeof copy, "%s", text);
    snprintf(name, sizeof name, "%s", option);
    words[1] = name;
    words[2] = copy;
    size = (struct pack_shape){ 0 };
    dup2(null, STDERR_FILENO); /* a refusal is said there, and ends standard output */
    bool goes_on = cli_parse(&program, 3, words, &operands, &n_operands, &status);
    dup2(saved, STDERR_FILENO);
    close(null);
    close(saved);
    if (goes_on)
        free(operands);
    return goes_on;
}

static bool
parses_size(const char *text)
{
    return parses("--size", text) && size.rank == 2;
}

static void
test_sides(void)
{
    ok(parses_size("480x640") && size.extent[0] == 480 && size.extent[1] == 640,
       "--size 480x640 is height and width");
    ok(parses_size("224") && size.extent[0] == 224 && size.extent[1] == 224,
       "--size 224 is a square");
    ok(parses_size("65535x1"), "a side may be 65535");
    ok(parses("--count", "1") && count == 1 && parses("--count", "9") && count == 9,
       "a number may be the least and the most");
}

static void
test_hints(void)
{
    struct pack_error err;
    char text[CLI_ERROR_MAX];
    pack_fail_param(&err, PACK_ERR_EXISTS, "rdcc_force", "'x' exists");
    is_text(cli_error_text(&err, text), "'x' exists; --rdcc-force replaces it",
            "a parameter at fault gets the hint of its option");
    pack_fail_param(&err, PACK_ERR_CHANGED, "rdcc_force", "'x' is another");
    is_text(cli_error_text(&err, text), "'x' is another; --rdcc-force starts again",
            "which may hang on the status");
    pack_fail_param(&err, PACK_ERR_ARGUMENT, "size", "'x' is none");
    is_text(cli_error_text(&err, text), "'x' is none", "one without a hint gets none");
    pack_fail(&err, PACK_ERR_ARGUMENT, "'9' is too large");
    pack_error_param(&err, PACK_ERR_ARGUMENT, "size");
    is_text(cli_error_text(&err, text), "--size: '9' is too large",
            "a sentence that begins with a parameter begins with its option");
    pack_fail(&err, PACK_ERR_ARGUMENT, "'9' is too large");
    pack_error_param(&err, PACK_ERR_ARGUMENT, "sides");
    is_text(cli_error_text(&err, text), "--size: '9' is too large",
            "which may have another name");
    pack_fail(&err, PACK_ERR_EXISTS, "'x' exists");
    is_text(cli_error_text(&err, text), "'x' exists", "without a parameter there is none");
}

/* A watch shows what a call tells, and stops it after a signal. */
static void
tell_watch(void)
{
    struct cli_progress progress;
    struct pack_watch watch = cli_watch(&progress);
    struct pack_progress now = { .stage = "reading", .unit = "batches", .total = 80 };
    pack_watch_tell(&watch, &now);
    wait_for_a_line();
    now.done = 20;
    now.note = "hits 98 %";
    pack_watch_tell(&watch, &now);
    now = (struct pack_progress){ .stage = "checking", .unit = "chunks" };
    pack_watch_tell(&watch, &now);
    wait_for_a_line();
    now.done = 7;
    pack_watch_tell(&watch, &now);
    cli_progress_end(&progress);
}

static void
test_watch(void)
{
    char text[1024] = "";
    struct cli_progress progress;
    struct pack_error err;
    if (on_terminal(tell_watch, text, sizeof text)) {
        ok(strstr(text, "reading  20/80 batches  25%") && strstr(text, "  hits 98 %"),
           "a watch shows how far a call is, with its note");
        ok(strstr(text, "checking  7 chunks") && !strstr(strstr(text, "checking"), "hits"),
           "each stage has a line of its own");
    }
    struct pack_watch watch = cli_watch(&progress);
    ok(pack_watch_check(&watch, &err) == PACK_OK, "without a signal calls go on");
    cli_signal = 15;
    ok(pack_watch_check(&watch, &err) == PACK_ERR_INTERRUPTED, "a signal ends them");
    cli_signal = 0;
    ok(pack_watch_check(NULL, &err) == PACK_OK && !pack_watch_stops(NULL),
       "without a watch nothing does");
}

/* What runs tells of on standard error, into text[size], without a terminal. */
static void
on_pipe(void (*run)(void), char *text, size_t size)
{
    int ends[2], saved = dup(STDERR_FILENO);
    text[0] = '\0';
    if (pipe(ends) != 0)
        return;
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    run();
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t n = read(ends[0], text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    close(ends[0]);
}

static void
test_json_lines(void)
{
    char text[1024], wanted[] =
        "{ \"progress\": \"reading\", \"unit\": \"batches\", \"done\": 20, \"total\": 80, "
        "\"bytes\": 0, \"note\": \"hits 98 %\" }\n"
        "{ \"progress\": \"checking\", \"unit\": \"chunks\", \"done\": 7, \"total\": null, "
        "\"bytes\": 0, \"note\": null }\n"
        "{ \"progress\": \"packing\", \"unit\": \"images\", \"done\": 905, \"total\": 1000, "
        "\"bytes\": 905000000, \"note\": null }\n"
        "{ \"progress\": \"packing\", \"unit\": \"images\", \"done\": 910, \"total\": 1000, "
        "\"bytes\": 910000000, \"note\": null }\n";
    on_pipe(tell_watch, text, sizeof text);
    is_text(text, "", "without a terminal nothing is told of progress");
    cli_progress_form = CLI_PROGRESS_JSON;
    on_pipe(tell_watch, text, sizeof text);
    size_t n = strlen(text);
    on_pipe(resume_at_900, text + n, sizeof text - n);
    is_text(text, wanted, "--progress json tells it in lines, the end of a stage too");
    cli_set_quiet(true);
    on_pipe(tell_watch, text, sizeof text);
    is_text(text, "", "but not with --quiet");
    cli_set_quiet(false);
    cli_progress_form = CLI_PROGRESS_LINE;
}

/* A program that outlasts signals, and gets n of them, `apart` ms one after another; how
 * it ended. */
static int
outlast(int n, int apart_ms)
{
    int how = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct timespec nap = { apart_ms / 1000, apart_ms % 1000 * 1000000L };
        cli_catch_signals();
        cli_outlast_signals(3);
        for (int i = 0; i < n; i++) {
            raise(i ? SIGINT : SIGTERM);
            nanosleep(&nap, NULL);
        }
        _exit(cli_signal == SIGTERM ? 7 : 8);
    }
    waitpid(pid, &how, 0);
    return how;
}

/* As under nohup: what is ignored stays ignored. */
static bool
stays_ignored(void)
{
    int how = -1;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGHUP, SIG_IGN);
        cli_catch_signals();
        raise(SIGHUP);
        _exit(cli_signal == 0 ? 7 : 8);
    }
    return waitpid(pid, &how, 0) == pid && WIFEXITED(how) && WEXITSTATUS(how) == 7;
}

static void
test_signals(void)
{
    ok(stays_ignored(), "a signal that is ignored stays so");
    signal(SIGINT, SIG_DFL); /* which a shell ignores in what it starts with & */
    int how = outlast(20, 1);
    for (int i = 0; i < TRIES && WIFSIGNALED(how); i++)
        how = outlast(20, 1); /* within a second, this time */
    ok(WIFEXITED(how) && WEXITSTATUS(how) == 7, "signals of one second count as one");
    how = outlast(2, 1050);
    ok(WIFEXITED(how) && WEXITSTATUS(how) == 7, "a second one is outlasted");
    how = outlast(3, 1050);
    ok(WIFSIGNALED(how) && WTERMSIG(how) == SIGINT, "the third ends the program");
}

static bool
may_write(const char *path, bool force, const char *other)
{
    const char *const others[] = { NULL, other };
    return cli_check_output(path, force, others, 2, NULL) == PACK_OK;
}

static void
test_outputs(void)
{
    char dir[] = "test_cli-XXXXXX", a[64], b[64], none[64], other[64], read[128];
    if (!mkdtemp(dir)) {
        skip("no folder can be made here");
        return;
    }
    snprintf(a, sizeof a, "%s/a", dir);
    snprintf(b, sizeof b, "%s/b", dir);
    snprintf(none, sizeof none, "%s/none", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    snprintf(read, sizeof read, "%s/../%s/a", dir, dir);
    bool made = close(creat(a, 0600)) == 0 && symlink("a", b) == 0;
    ok(made && !may_write(a, true, read) && !may_write(b, true, a),
       "what is read is not written, by whatever name");
    bool has_other = close(creat(other, 0600)) == 0;
    ok(has_other && may_write(a, true, other) && may_write(a, true, none) &&
           !may_write(a, false, none),
       "another file is, with force");
    ok(may_write(none, false, a) && !may_write(none, true, none) && may_write(NULL, false, a),
       "two outputs are not one file, and none is none");
    unlink(a);
    unlink(b);
    unlink(other);
    rmdir(dir);
}

/* "[a][b c]", or what is wrong. */
static const char *
words_of(const char *text)
{
    static char all[256];
    struct cli_words words = { .n = 0 };
    struct pack_error err;
    all[0] = '\0';
    enum pack_status status = cli_words_split(text, &words, &err);
    for (int i = 0; i < words.n && status == PACK_OK; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "[%s]", words.word[i]);
    if (status != PACK_OK)
        snprintf(all, sizeof all, "%.*s", (int)sizeof all - 1, err.text);
    cli_words_free(&words);
    return all;
}

static void
test_words(void)
{
    is_text(words_of(""), "", "an empty text has no words");
    is_text(words_of(" \t\n"), "", "nor have blanks");
    is_text(words_of(" -p shuffle\t-b\n8 "), "[-p][shuffle][-b][8]", "blanks part words");
    is_text(words_of("by='my file' \"a 'b'\"c ''"), "[by=my file][a 'b'c][]", "quotes keep them");
    is_text(words_of("a\\ b '\\' \"\\\"\" c\\"), "[a b][\\][\"][c\\]", "so do backslashes");
    is_text(words_of("a 'b c"), "a quote has no end: b c", "a quote ends");
}

/* Options of another table than the command line's. */
static void
test_parse_words(void)
{
    char *good[] = { (char *)"--count", (char *)"3", (char *)"--size=4",
                     (char *)"-f" };
    char *bad[] = { (char *)"--count=3", (char *)"file" };
    struct pack_error err;
    bool before[] = { cli_is_given("count"), cli_is_given("size"), cli_is_given("rdcc-force") };
    count = 0;
    ok(cli_parse_words(&program, good, 4, NULL) == PACK_OK && count == 3 && size.extent[0] == 4,
       "words set what a table says");
    ok(cli_parse_words(&program, bad, 2, &err) == PACK_ERR_ARGUMENT,
       "and are nothing but options");
    is_text(err.text, "'file' is no option of h5test", "as is said");
    ok(cli_parse_words(&program, good, 1, &err) == PACK_ERR_ARGUMENT, "none is half there");
    is_text(err.text, "--count: needs a value (N)", "as on a command line");
    ok(cli_is_given("count") == before[0] && cli_is_given("size") == before[1] &&
           cli_is_given("rdcc-force") == before[2],
       "where they are not given");
}

int
main(void)
{
    test_words();
    test_progress();
    test_numbers();
    test_eta();
    test_exit();
    test_sides();
    test_hints();
    test_parse_words();
    test_watch();
    test_json_lines();
    test_outputs();
    int fd = first_descriptor();
    ok(fd > 2 && fd < 99, "no file gets the number of a standard stream that is closed");
    test_signals();
    return done();
}
