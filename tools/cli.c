#include "tools/cli.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "libpack/base/name.h"

static const struct cli_program *running;
static bool is_given[CLI_OPTIONS_MAX]; /* by the place in running->options */
static bool is_quiet;
static int print_errno; /* of the first failure to print */

int cli_progress_form = CLI_PROGRESS_LINE;
const struct cli_option cli_common_options[] = {
    CLI_CHOICE(0, "progress", &cli_progress_form, "line|json",
               "on standard error: a line on a terminal (default), or JSON lines for programs"),
    { .kind = CLI_KIND_FLAG, .name = "help", .help = "show this text" },
    { .kind = CLI_KIND_FLAG, .name = "version", .help = "show the version" },
    CLI_END
};

/* ---------------------------------------------------------------- messages */

/* One line, whatever is in the names that a sentence quotes. */
static void
speak(const char *format, va_list args)
{
    char *sentence = NULL, form[8];
    size_t n;
    errno = 0;
    if (fflush(stdout) != 0 && !print_errno)
        print_errno = errno; /* cli_exit() tells it */
    fprintf(stderr, "%s: ", running ? running->name : "h5pack");
    if (vasprintf(&sentence, format, args) < 0)
        sentence = NULL;
    for (const char *s = sentence ? sentence : "out of memory"; *s; fwrite(form, 1, n, stderr))
        s += pack_name_visible(s, form, &n);
    fputc('\n', stderr);
    free(sentence);
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

static const struct cli_option *find_name(const struct cli_option *options,
                                          const char *name, size_t length);

/* The program's hint for a failure, or the end of its table. */
static const struct cli_hint *
hint_of(const struct pack_error *err)
{
    static const struct cli_hint none = { 0 };
    const struct cli_hint *hint = running && running->hints ? running->hints : &none;
    while (hint->param && (strcmp(hint->param, err->param) != 0 ||
                           (hint->status != PACK_OK && hint->status != err->status)))
        hint++;
    return hint;
}

/* The option that sets a parameter: the hint's, else the one of its name, "-" for "_";
 * NULL: the program has none. */
static const struct cli_option *
option_of(const struct cli_hint *hint, const char *param)
{
    char name[64];
    size_t n = 0;
    if (hint->option)
        param = hint->option;
    for (; param[n] && n < sizeof name; n++)
        name[n] = param[n] == '_' ? '-' : param[n];
    return running ? find_name(running->options, name, n) : NULL;
}

const char *
cli_error_text(const struct pack_error *err, char text[CLI_ERROR_MAX])
{
    const char *sentence = err->text;
    if (!err->param) {
        snprintf(text, CLI_ERROR_MAX, "%s", sentence);
        return text;
    }
    size_t n = strlen(err->param);
    const struct cli_hint *hint = hint_of(err);
    const struct cli_option *option = option_of(hint, err->param);
    bool named = option && strncmp(sentence, err->param, n) == 0 && sentence[n] == ':';
    snprintf(text, CLI_ERROR_MAX, "%s%s%s%s%s", named ? "--" : "",
             named ? option->name : "", named ? sentence + n : sentence,
             hint->hint ? "; " : "", hint->hint ? hint->hint : "");
    return text;
}

void
cli_blame_file(const char *operand, size_t n_operands, struct pack_error *err)
{
    if (n_operands > 0 && err->status != PACK_OK && err->param && strcmp(err->param, "box") == 0)
        pack_error_prefix(err, err->status, n_operands > 1 ? "'%s' and others" : "'%s'",
                          operand);
}

int
cli_fail(const struct pack_error *err)
{
    char text[CLI_ERROR_MAX];
    cli_complain("%s", cli_error_text(err, text));
    return err->status == PACK_ERR_INTERRUPTED && cli_signal ? 128 + cli_signal
                                                             : CLI_FAILED;
}

void
cli_set_quiet(bool quiet)
{
    is_quiet = quiet;
}

bool
cli_is_quiet(void)
{
    return is_quiet;
}

void
cli_print(const struct pack_buf *buf)
{
    errno = 0;
    if (buf->size && /* an empty one has no data */
        fwrite(buf->data, 1, buf->size, stdout) < buf->size && !print_errno)
        print_errno = errno;
}

int
cli_exit(int status)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) != 0 || failed) {
        int reason = print_errno ? print_errno : errno;
        cli_complain("cannot write to standard output%s%s", reason ? ": " : "",
                     reason ? strerror(reason) : "");
        return CLI_FAILED;
    }
    return status;
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
    char name[80];
    snprintf(name, sizeof name, "%s", word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
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
set_sides(const struct cli_option *option, const char *text, struct pack_error *err)
{
    struct pack_shape shape;
    bool is_shape = pack_shape_parse(text, &shape, NULL) == PACK_OK;
    if (is_shape && shape.rank == 1)
        shape = (struct pack_shape){ 2, { shape.extent[0], shape.extent[0] } };
    if (!is_shape || shape.rank != 2 || shape.extent[0] > PACK_GEOMETRY_MAX ||
        shape.extent[1] > PACK_GEOMETRY_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%.80s' is not HxW, nor N for NxN, with sides from 1 to %d", text,
                         PACK_GEOMETRY_MAX);
    *(struct pack_shape *)option->target = shape;
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
    case CLI_KIND_SIDES: return set_sides(option, text, err);
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
    is_given[option - program->options] = true;
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
        is_given[option - program->options] = true;
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

static enum pack_status
parse_option(const struct cli_program *program, char **words, int n, int *used,
             struct pack_error *err)
{
    return words[0][1] == '-' ? parse_long(program, words, n, used, err)
                              : parse_short(program, words, n, used, err);
}

enum pack_status
cli_parse_words(const struct cli_program *program, char **words, int n,
                struct pack_error *err)
{
    bool before[CLI_OPTIONS_MAX]; /* of the command line, whose table is another one */
    enum pack_status status = PACK_OK;
    memcpy(before, is_given, sizeof before);
    for (int i = 0, used; i < n && status == PACK_OK; i += used)
        if (words[i][0] == '-' && words[i][1] != '\0')
            status = parse_option(program, words + i, n - i, &used, err);
        else
            status = pack_fail(err, PACK_ERR_ARGUMENT, "'%.80s' is no option of %s",
                               words[i], program->name);
    memcpy(is_given, before, sizeof before);
    return status;
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

/* "--progress json", which no program has in its own table; *used counts the words taken. */
static bool
parse_progress(const struct cli_program *program, char **words, int n, int *used,
               enum pack_status *status, struct pack_error *err)
{
    const struct cli_program common = { .name = program->name, .options = cli_common_options };
    size_t length = strcspn(words[0], "=");
    if (length != strlen("--progress") || strncmp(words[0], "--progress", length) != 0)
        return false;
    *used = words[0][length] || n < 2 ? 1 : 2;
    *status = cli_parse_words(&common, words, *used, err);
    return true;
}

bool
cli_parse(const struct cli_program *program, int argc, char **argv, char ***operands,
          size_t *n_operands, int *exit_status)
{
    struct pack_error err;
    bool options_ended = false;
    fill_standard_descriptors();
    running = program;
    memset(is_given, 0, sizeof is_given);
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
            cli_help(program);
            goto stop;
        } else if (strcmp(word, "--version") == 0) {
            printf("%s (h5pack) %s\n", program->name, PACKAGE_VERSION);
            if (program->about)
                printf("%s\n", program->about());
            goto stop;
        } else if (!parse_progress(program, argv + i, argc - i, &used, &status, &err)) {
            status = parse_option(program, argv + i, argc - i, &used, &err);
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

bool
cli_is_given(const char *name)
{
    const struct cli_option *option = find_name(running->options, name, strlen(name));
    assert(option);
    return is_given[option - running->options];
}

void
cli_free_texts(struct cli_texts *texts)
{
    free(texts->text);
    *texts = (struct cli_texts){ 0 };
}
