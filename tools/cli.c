#include "tools/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config.h"
#include "libpack/base/clock.h"

volatile sig_atomic_t cli_signal;

static const char *program_name = "h5pack";
static bool is_quiet;

/* ---------------------------------------------------------------- messages */

static void
speak(const char *format, va_list args)
{
    fflush(stdout);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void
cli_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    speak(format, args);
    va_end(args);
}

void
cli_say(const char *format, ...)
{
    if (is_quiet)
        return;
    va_list args;
    va_start(args, format);
    speak(format, args);
    va_end(args);
}

int
cli_fail(const struct pack_error *err)
{
    cli_complain("%s", err->text);
    return err->status == PACK_ERR_INTERRUPTED && cli_signal ? 128 + cli_signal
                                                             : CLI_FAILED;
}

void
cli_set_quiet(bool quiet)
{
    is_quiet = quiet;
}

void
cli_print(const struct pack_buf *buf)
{
    if (buf->size) /* an empty one has no data */
        fwrite(buf->data, 1, buf->size, stdout);
}

int
cli_exit(int status)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) != 0 || failed) {
        cli_complain("cannot write to standard output%s%s", errno ? ": " : "",
                     errno ? strerror(errno) : "");
        return CLI_FAILED;
    }
    return status;
}

/* ----------------------------------------------------------------- signals */

static void
on_signal(int number)
{
    cli_signal = number;
    signal(number, SIG_DFL); /* the second one ends the program at once */
}

void
cli_catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = { .sa_handler = on_signal }, before;
        /* one that is ignored, as under nohup, stays ignored */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, told by cli_exit */
    signal(SIGXFSZ, SIG_IGN); /* as is a file size limit */
}

/* -------------------------------------------------------------------- help */

enum { HELP_COLUMN = 30, HELP_WIDTH = 80 };

/* Prints text from column `at`, wrapped, later lines indented to HELP_COLUMN. */
static void
wrap(const char *text, int at)
{
    while (*text) {
        size_t word = strcspn(text, " ");
        if (at > HELP_COLUMN && at + 1 + (int)word > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        } else if (at > HELP_COLUMN) {
            putchar(' ');
            at++;
        }
        printf("%.*s", (int)word, text);
        at += (int)word;
        text += word + strspn(text + word, " ");
    }
    putchar('\n');
}

static void
help_option(const struct cli_option *option)
{
    if (option->kind == CLI_KIND_SECTION) {
        printf("\n%s:\n", option->name);
        return;
    }
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int at = printf("  %s--%s%s%s", letter, option->name, option->value ? " " : "",
                    option->value ? option->value : "");
    if (at + 2 > HELP_COLUMN) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", HELP_COLUMN - at, "");
    wrap(option->help, HELP_COLUMN);
}

static const struct cli_option standard_options[] = {
    { .kind = CLI_KIND_FLAG, .name = "help", .help = "show this text" },
    { .kind = CLI_KIND_FLAG, .name = "version", .help = "show the version" },
    CLI_END
};

static void
help(const struct cli_program *program)
{
    const char *line = program->synopsis;
    printf("%s - %s\n\n", program->name, program->purpose);
    for (bool first = true; *line; first = false) {
        size_t length = strcspn(line, "\n");
        printf("%s %s %.*s\n", first ? "usage:" : "      ", program->name, (int)length,
               line);
        line += length + (line[length] == '\n');
    }
    for (const struct cli_option *o = program->options; o->kind != CLI_KIND_END; o++)
        help_option(o);
    for (const struct cli_option *o = standard_options; o->kind != CLI_KIND_END; o++)
        help_option(o);
    if (program->epilogue)
        printf("\n%s", program->epilogue);
}

/* ----------------------------------------------------------------- parsing */

/* Edit distance, for "did you mean". */
static size_t
distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

static const struct cli_option *
find_name(const struct cli_option *table, const char *name, size_t length)
{
    for (; table->kind != CLI_KIND_END; table++)
        if (table->kind != CLI_KIND_SECTION && strlen(table->name) == length &&
            strncmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

static const struct cli_option *
find_letter(const struct cli_option *table, char letter)
{
    for (; table->kind != CLI_KIND_END; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

static enum pack_status
unknown_option(const struct cli_program *program, const char *word,
               struct pack_error *err)
{
    const char *nearest = NULL;
    size_t least = 3;
    const char *name = word + strspn(word, "-");
    for (const struct cli_option *o = program->options; o->kind != CLI_KIND_END; o++) {
        if (o->kind == CLI_KIND_SECTION)
            continue;
        size_t d = distance(name, o->name);
        if (d < least) {
            least = d;
            nearest = o->name;
        }
    }
    return pack_fail(err, PACK_ERR_ARGUMENT, "unknown option '%.80s'%s%s; see %s --help",
                     word, nearest ? ", did you mean --" : "", nearest ? nearest : "",
                     program->name);
}

static enum pack_status
set_choice(const struct cli_option *option, const char *text, struct pack_error *err)
{
    int index = 0;
    for (const char *word = option->value; *word; index++) {
        size_t length = strcspn(word, "|");
        if (strlen(text) == length && strncmp(word, text, length) == 0) {
            *(int *)option->target = index;
            return PACK_OK;
        }
        word += length + (word[length] == '|');
    }
    return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is not one of %s", text,
                     option->value);
}

static enum pack_status
set_real(const struct cli_option *option, const char *text, struct pack_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is not a number", text);
    if (value < option->min || value > option->max)
        return pack_fail(err, PACK_ERR_ARGUMENT, "%s is not in %g to %g", text,
                         option->min, option->max);
    *(double *)option->target = value;
    return PACK_OK;
}

static enum pack_status
set_number(const struct cli_option *option, const char *text, struct pack_error *err)
{
    uint64_t max = option->max >= 0x1p64 ? UINT64_MAX : (uint64_t)option->max, value;
    enum pack_status status = pack_u64_parse(text, max, &value, err);
    if (status == PACK_OK && (double)value < option->min)
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is less than %.0f", text,
                         option->min);
    if (status == PACK_OK)
        *(uint64_t *)option->target = value;
    return status;
}

static enum pack_status
add_text(struct cli_texts *texts, const char *text, struct pack_error *err)
{
    const char **more = realloc(texts->text, (texts->n + 1) * sizeof *more);
    if (!more)
        return pack_fail_memory(err, "options");
    texts->text = more;
    texts->text[texts->n++] = text;
    return PACK_OK;
}

static enum pack_status
set_value(const struct cli_option *option, const char *text, struct pack_error *err)
{
    switch (option->kind) {
    case CLI_KIND_TEXT: *(const char **)option->target = text; return PACK_OK;
    case CLI_KIND_TEXTS: return add_text(option->target, text, err);
    case CLI_KIND_NUMBER: return set_number(option, text, err);
    case CLI_KIND_REAL: return set_real(option, text, err);
    case CLI_KIND_BYTES: return pack_bytes_parse(text, option->target, err);
    case CLI_KIND_SHAPE: return pack_shape_parse(text, option->target, err);
    case CLI_KIND_CHOICE: return set_choice(option, text, err);
    default: return pack_fail(err, PACK_ERR_ARGUMENT, "takes no value");
    }
}

/* "--name", "--name=value", "--name value"; *used counts the words taken. */
static enum pack_status
parse_long(const struct cli_program *program, char **words, int n, int *used,
           struct pack_error *err)
{
    const char *name = words[0] + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *option = find_name(program->options, name, length);
    *used = 1;
    if (!option)
        return unknown_option(program, words[0], err);
    enum pack_status status;
    if (option->kind == CLI_KIND_FLAG && !equals) {
        *(bool *)option->target = true;
        return PACK_OK;
    }
    const char *value = equals ? equals + 1 : n > 1 ? words[1] : NULL;
    *used = equals ? 1 : 2;
    if (value)
        status = set_value(option, value, err);
    else
        status = pack_fail(err, PACK_ERR_ARGUMENT, "needs a value (%s)", option->value);
    return status == PACK_OK ? status
                             : pack_error_prefix(err, status, "--%s", option->name);
}

/* "-abc", "-o value", "-ovalue". */
static enum pack_status
parse_short(const struct cli_program *program, char **words, int n, int *used,
            struct pack_error *err)
{
    *used = 1;
    for (const char *c = words[0] + 1; *c; c++) {
        const struct cli_option *option = find_letter(program->options, *c);
        if (!option)
            return unknown_option(program, words[0], err);
        if (option->kind == CLI_KIND_FLAG) {
            *(bool *)option->target = true;
            continue;
        }
        const char *value = c[1] ? c + 1 : n > 1 ? words[1] : NULL;
        *used = c[1] ? 1 : 2;
        enum pack_status status = value ? set_value(option, value, err)
                                        : pack_fail(err, PACK_ERR_ARGUMENT,
                                                    "needs a value (%s)", option->value);
        return status == PACK_OK ? status
                                 : pack_error_prefix(err, status, "-%c", option->letter);
    }
    return PACK_OK;
}

/*
 * A program started without standard input, output or error would get their numbers for
 * the files it opens, and its messages would be written into them. What takes the places
 * refuses every use.
 */
static void
fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool
cli_parse(const struct cli_program *program, int argc, char **argv, char ***operands,
          size_t *n_operands, int *exit_status)
{
    struct pack_error err;
    bool options_ended = false;
    fill_standard_descriptors();
    program_name = program->name;
    *exit_status = CLI_DONE;
    *n_operands = 0;
    *operands = calloc((size_t)argc + 1, sizeof **operands);
    if (!*operands) {
        pack_fail_memory(&err, "operands");
        goto fail;
    }
    for (int i = 1; i < argc;) {
        enum pack_status status = PACK_OK;
        int used = 1;
        char *word = argv[i];
        if (options_ended || word[0] != '-' || word[1] == '\0') {
            (*operands)[(*n_operands)++] = word;
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (strcmp(word, "--help") == 0) {
            help(program);
            goto stop;
        } else if (strcmp(word, "--version") == 0) {
            printf("%s (h5pack) %s\n", program->name, PACKAGE_VERSION);
            goto stop;
        } else if (word[1] == '-') {
            status = parse_long(program, argv + i, argc - i, &used, &err);
        } else {
            status = parse_short(program, argv + i, argc - i, &used, &err);
        }
        if (status != PACK_OK)
            goto fail;
        i += used;
    }
    return true;
fail:
    cli_complain("%s", err.text);
    *exit_status = CLI_FAILED;
stop:
    free(*operands);
    *operands = NULL;
    *exit_status = cli_exit(*exit_status);
    return false;
}

void
cli_free_texts(struct cli_texts *texts)
{
    free(texts->text);
    *texts = (struct cli_texts){ 0 };
}

/* ---------------------------------------------------------------- progress */

char *
cli_thousands(uint64_t number, char *text)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *out = text;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

char *
cli_duration(double seconds, char *text)
{
    uint64_t s = seconds < 0 ? 0 : seconds > 1e9 ? 1000000000 : (uint64_t)(seconds + 0.5);
    if (s < 3600)
        snprintf(text, 32, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    else
        snprintf(text, 32, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
                 s % 60);
    return text;
}

void
cli_progress_begin(struct cli_progress *progress, const char *verb, const char *unit,
                   uint64_t total)
{
    *progress = (struct cli_progress){ .verb = verb, .unit = unit, .total = total };
    progress->enabled = !is_quiet && isatty(STDERR_FILENO);
    progress->start_ns = progress->last_ns = pack_clock_ns();
}

enum { LINE_MAX_BYTES = 256 };

/* Into line[LINE_MAX_BYTES]; returns line. */
static const char *
progress_line(const struct cli_progress *progress, uint64_t done, uint64_t bytes,
              double seconds, char *line)
{
    char number[32], total[32], eta[32];
    size_t room = LINE_MAX_BYTES;
    double rate = (double)(done - progress->first_done) / seconds;
    int n = snprintf(line, room, "%s  %s", progress->verb, cli_thousands(done, number));
    if (progress->total)
        n += snprintf(line + n, room - (size_t)n, "/%s %s  %.0f%%",
                      cli_thousands(progress->total, total), progress->unit,
                      100.0 * (double)done / (double)progress->total);
    else
        n += snprintf(line + n, room - (size_t)n, " %s", progress->unit);
    n += snprintf(line + n, room - (size_t)n, "  %.0f/s", rate);
    if (bytes)
        n += snprintf(line + n, room - (size_t)n, "  %.0f MB/s",
                      (double)(bytes - progress->first_bytes) / seconds / 1e6);
    if (rate > 0 && done < progress->total)
        snprintf(line + n, room - (size_t)n, "  ETA %s",
                 cli_duration((double)(progress->total - done) / rate, eta));
    return line;
}

static int
terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col
                                                                            : 80;
}

void
cli_progress_update(struct cli_progress *progress, uint64_t done, uint64_t bytes)
{
    if (!progress->enabled)
        return;
    if (!progress->started) {
        progress->started = true;
        progress->first_done = done;
        progress->first_bytes = bytes;
    }
    uint64_t now = pack_clock_ns();
    if (now - progress->last_ns < 200 * UINT64_C(1000000))
        return;
    progress->last_ns = now;
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1,
            progress_line(progress, done, bytes, (double)(now - progress->start_ns) / 1e9,
                          (char[LINE_MAX_BYTES]){ 0 }));
    fflush(stderr);
    progress->shown = true;
}

void
cli_progress_hide(struct cli_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}

void
cli_progress_end(struct cli_progress *progress)
{
    cli_progress_hide(progress);
    progress->enabled = false;
}
