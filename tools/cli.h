/* What the programs share: option tables, messages, progress on a terminal, exit
 * statuses. */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpack/base/buf.h"
#include "libpack/image/geometry.h"
#include "libpack/base/size.h"
#include <libpack/status.h>

/* Exit statuses, as grep has them; after a signal it is 128 + its number. */
enum { CLI_DONE = 0, CLI_LOOK = 1, CLI_FAILED = 2 };

/* ----------------------------------------------------------------- options
 *
 * One table drives parsing and --help. `target` points to what the option sets; what is
 * not given keeps the value that was there. --progress, --help and --version are in every
 * table by themselves.
 */
enum cli_kind {
    CLI_KIND_END = 0,
    CLI_KIND_SECTION, /* a heading in --help */
    CLI_KIND_FLAG,    /* bool */
    CLI_KIND_TEXT,    /* const char * */
    CLI_KIND_TEXTS,   /* struct cli_texts: may be given several times */
    CLI_KIND_NUMBER,  /* uint64_t in min..max */
    CLI_KIND_REAL,    /* double in min..max */
    CLI_KIND_BYTES,   /* uint64_t, written 64K, 1.5GiB */
    CLI_KIND_SHAPE,   /* struct pack_shape, written 224x224x3 */
    CLI_KIND_SIDES,   /* struct pack_shape of an image: 480x640, or 224 for a square */
    CLI_KIND_CHOICE   /* int: the index of a word of `value`, "one|two|three" */
};

enum { CLI_OPTIONS_MAX = 128 }; /* of a table, its headings included */

struct cli_texts {
    const char **text;
    size_t n;
};

struct cli_option {
    enum cli_kind kind;
    char letter;      /* 0: none */
    const char *name; /* without the dashes */
    void *target;
    const char *value; /* name of the value in --help */
    const char *help;  /* lower case, without a full stop; wrapped by --help */
    double min, max;
};

#define CLI_SECTION(title)                        \
    {                                             \
        .kind = CLI_KIND_SECTION, .name = (title) \
    }
#define CLI_FLAG(l, n, t, h)                                                          \
    {                                                                                 \
        .kind = CLI_KIND_FLAG, .letter = (l), .name = (n), .target = (t), .help = (h) \
    }
#define CLI_VALUE_(k, l, n, t, v, h)                                          \
    {                                                                         \
        .kind = (k), .letter = (l), .name = (n), .target = (t), .value = (v), \
        .help = (h)                                                           \
    }
#define CLI_TEXT(l, n, t, v, h)   CLI_VALUE_(CLI_KIND_TEXT, l, n, t, v, h)
#define CLI_TEXTS(l, n, t, v, h)  CLI_VALUE_(CLI_KIND_TEXTS, l, n, t, v, h)
#define CLI_BYTES(l, n, t, v, h)  CLI_VALUE_(CLI_KIND_BYTES, l, n, t, v, h)
#define CLI_SHAPE(l, n, t, v, h)  CLI_VALUE_(CLI_KIND_SHAPE, l, n, t, v, h)
#define CLI_SIDES(l, n, t, h)     CLI_VALUE_(CLI_KIND_SIDES, l, n, t, "HxW", h)
#define CLI_CHOICE(l, n, t, v, h) CLI_VALUE_(CLI_KIND_CHOICE, l, n, t, v, h)
#define CLI_NUMBER(l, n, t, v, lo, hi, h)                                   \
    {                                                                       \
        .kind = CLI_KIND_NUMBER, .letter = (l), .name = (n), .target = (t), \
        .value = (v), .help = (h), .min = (double)(lo), .max = (double)(hi) \
    }
#define CLI_REAL(l, n, t, v, lo, hi, h)                                                 \
    {                                                                                   \
        .kind = CLI_KIND_REAL, .letter = (l), .name = (n), .target = (t), .value = (v), \
        .help = (h), .min = (lo), .max = (hi)                                           \
    }
#define CLI_END              \
    {                        \
        .kind = CLI_KIND_END \
    }

/* What to do about a failure for which the library names a parameter (pack_error.param):
 * "'out.h5' exists" becomes "'out.h5' exists; --force replaces it". */
struct cli_hint {
    const char *param;
    enum pack_status status; /* PACK_OK: whatever it is */
    const char *hint;        /* NULL: none */
    const char *option;      /* that sets it, where its name is not the parameter's */
};

#define CLI_HINT(p, s, h)                        \
    {                                            \
        .param = (p), .status = (s), .hint = (h) \
    }
#define CLI_SET_BY(p, o)            \
    {                               \
        .param = (p), .option = (o) \
    }
#define CLI_NO_HINT   \
    {                 \
        .param = NULL \
    }

struct cli_program {
    const char *name;
    const char *purpose;  /* one line */
    const char *synopsis; /* lines of usage, without the program's name */
    const struct cli_option *options;
    const char *epilogue;         /* examples and where to read on */
    const struct cli_hint *hints; /* up to one without a param; may be NULL */
    const char *(*about)(void);   /* a second line of --version; may be NULL */
};

/* An option that means something only beside others, so that none is ignored in silence.
 * Names are as in the table of options, several apart by "|"; "FILE" is an operand. */
struct cli_rule {
    const char *option;
    const char *with;    /* one of these is to be given; NULL: need not */
    const char *without; /* none of these; NULL: whatever */
};

/*
 * First thing in main(). Parses argv; words that are no options are moved to operands
 * (borrowed from argv), in order.
 * "--name value", "--name=value", "-o value", "-ovalue", bundled flags; "--" ends
 * options.
 *
 * Returns true when the program should go on; else it is to return *exit_status,
 * everything having been said (--help and --version on stdout with 0; a wrong word on
 * stderr with 2). cli_free_texts() releases what CLI_TEXTS collected; operands are freed
 * by the caller.
 */
bool cli_parse(const struct cli_program *program, int argc, char **argv, char ***operands,
               size_t *n_operands, int *exit_status);
void cli_free_texts(struct cli_texts *texts);

/*
 * The words of a text, as a shell takes it apart: blanks between them, quotes and backslashes
 * to have blanks in them. Zeroed, there are none; PACK_ERR_ARGUMENT for a quote without end.
 */
struct cli_words {
    char *text; /* in which they lie */
    char **word;
    int n;
};
enum pack_status cli_words_split(const char *text, struct cli_words *words,
                                 struct pack_error *err);
void cli_words_free(struct cli_words *words);

/* Words as options of a table of their own, which are not "given" on the command line. What
 * targets borrow lies in the words. */
enum pack_status cli_parse_words(const struct cli_program *program, char **words, int n,
                                 struct pack_error *err);

/* Whether the command line that was parsed last has the option of this name. */
bool cli_is_given(const char *name);

/* PACK_ERR_ARGUMENT for the first of n rules that the command line breaks. */
enum pack_status cli_check_rules(const struct cli_rule *rules, size_t n,
                                 size_t n_operands, struct pack_error *err);

/* What --help prints. */
void cli_help(const struct cli_program *program);

/* ---------------------------------------------------------------- messages */

/* "program: sentence" on stderr. cli_say is silent after --quiet, cli_complain never. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The sentence of a failure with the program's hint, into text; returns text. A sentence
 * that begins with its parameter's name begins with the option of that name instead:
 * "pattern: ..." is "--pattern: ...". */
enum { CLI_ERROR_MAX = PACK_ERROR_TEXT_MAX + 512 };
const char *cli_error_text(const struct pack_error *err, char text[CLI_ERROR_MAX]);

/* Complains with cli_error_text; returns CLI_FAILED, or 128 + the signal when that is
 * why. */
int cli_fail(const struct pack_error *err);
/* Of a box that does not fit, puts the file in front that it is to be of, if there is one. */
void cli_blame_file(const char *operand, size_t n_operands, struct pack_error *err);

/* The options that every program has beside those of its table, for --help. */
extern const struct cli_option cli_common_options[];

/* How --progress says that a long call is to be followed. */
enum cli_progress_form { CLI_PROGRESS_LINE = 0, CLI_PROGRESS_JSON };
extern int cli_progress_form;

/* Set by programs right after parsing. */
void cli_set_quiet(bool quiet);
bool cli_is_quiet(void);

/* Whether an output can be claimed now, as pack_outfile_check, and is none of the other
 * files of the run, by whatever name; NULL among these are none. */
enum pack_status cli_check_output(const char *path, bool force, const char *const *others,
                                  size_t n_others, struct pack_error *err);

/* A report in text as a page, with a drawing where there is one; as pack_outfile_write. */
struct cli_page {
    const char *program, *subject; /* "h5advise", "train.h5" */
    struct pack_buf text, svg;
};
enum pack_status cli_write_page(const char *path, bool force, const struct cli_page *page,
                                struct pack_error *err);

/* Writes buf to stdout. */
void cli_print(const struct pack_buf *buf);

/* Flushes and closes stdout; a failure there turns `status` into CLI_FAILED. main() ends
 * with it. */
int cli_exit(int status);

/* ----------------------------------------------------------------- signals */

/*
 * After cli_catch_signals(), SIGINT and SIGTERM (SIGHUP too) only set this, the first one;
 * a second one kills, after cli_outlast_signals(n) the n-th. Those that come within a second
 * of the one before count as the same: a terminal and timeout(1) send theirs to a process
 * and again to its whole group.
 */
extern volatile sig_atomic_t cli_signal;
void cli_catch_signals(void);
void cli_outlast_signals(int n);

/* ---------------------------------------------------------------- progress
 *
 * A line on stderr, a few times a second, only on a terminal and not after --quiet; it
 * leaves no trace. To be called from one thread at a time.
 *
 *     packing  1,234/50,000 images  2%  823/s  118 MB/s  ETA 0:59
 *     listing  1,234 images  823/s
 *
 * With --progress json, terminal or not, a line that is one JSON object instead, and one more
 * at the end of each stage:
 *
 *     { "progress": "packing", "unit": "images", "done": 1234, "total": 50000,
 *       "bytes": 185757696, "note": null }
 */
struct cli_progress {
    const char *verb, *unit;
    uint64_t total;
    uint64_t start_ns, last_ns;
    uint64_t first_done, first_bytes; /* where the first update stood: a resumed run */
    uint64_t done, bytes;             /* of the last update */
    const char *note;                 /* said at the end of the line; NULL: nothing */
    bool enabled, started, shown;
    bool is_due; /* as JSON: the last update is not told yet */
};

/* `total` 0: not known. */
void cli_progress_begin(struct cli_progress *progress, const char *verb, const char *unit,
                        uint64_t total);
/* `bytes` 0 leaves the MB/s away. Cheap when it is not yet time to print. */
void cli_progress_update(struct cli_progress *progress, uint64_t done, uint64_t bytes);
/* Makes room for a message; the next update shows the line again. */
void cli_progress_hide(struct cli_progress *progress);
void cli_progress_end(struct cli_progress *progress);

/* Shows what a long call says of itself in `progress`, one line a stage, and ends it
 * after a signal. cli_progress_end() is to follow the call. */
struct pack_watch cli_watch(struct cli_progress *progress);

/* "1,234,567" into text[32]; returns text. */
char *cli_thousands(uint64_t number, char *text);

/* "0:59", "1:02:03" into text[32]; returns text. */
char *cli_duration(double seconds, char *text);

#endif
