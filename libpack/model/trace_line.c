/*
 * Two forms. A bare one has starts and counts. One whose first line is "# h5pack-trace 2"
 * has four more numbers behind them, and names in its comments:
 *
 *     # h5pack-trace 2
 *     # file     0  /data/train.h5
 *     # dataset  0  /images
 *     17  0   1  4096   0  0  4711  81237
 *     # spent  0  0  1  51200
 */
#include "libpack/model/trace_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"

static const char form[] = "# h5pack-trace ";

enum pack_status
pack_trace_text_fail(const struct pack_trace_text *t, const char *what,
                     struct pack_error *err)
{
    return pack_fail(err, PACK_ERR_FORMAT, "line %zu, column %td: %s", t->line,
                     t->at - t->line_start + 1, what);
}

static bool
at_line_end(const struct pack_trace_text *t)
{
    return t->at == t->end || *t->at == '\n' ||
           (*t->at == '\r' && (t->at + 1 == t->end || t->at[1] == '\n'));
}

static void
next_line(struct pack_trace_text *t)
{
    const char *newline = memchr(t->at, '\n', (size_t)(t->end - t->at));
    t->at = t->line_start = newline ? newline + 1 : t->end;
    t->line++;
}

/* Whether the text goes on with `word`, which is then behind it. */
static bool
take(struct pack_trace_text *t, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

static enum pack_status
parse_number(struct pack_trace_text *t, uint64_t *value, struct pack_error *err)
{
    uint64_t n = 0;
    const char *first = t->at;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
        if (!pack_size_mul(n, 10, &n) ||
            !pack_size_add(n, (uint64_t)(*t->at - '0'), &n)) {
            t->at = first;
            return pack_trace_text_fail(t, "a number of more than 64 bits", err);
        }
        t->at++;
    }
    if (t->at == first)
        return pack_trace_text_fail(t, "a number is expected here", err);
    *value = n;
    return PACK_OK;
}

/* ------------------------------------------------------------------- names */

void
pack_trace_names_done(struct pack_trace_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct pack_trace_names){ 0 };
}

void
pack_trace_head_done(struct pack_trace_head *head)
{
    pack_trace_names_done(&head->files);
    pack_trace_names_done(&head->datasets);
    free(head->spent);
    head->spent = NULL;
    head->n_spent = head->spent_capacity = 0;
}

static uint64_t
sum_or_most(uint64_t a, uint64_t b)
{
    return pack_size_add(a, b, &a) ? a : UINT64_MAX;
}

enum pack_status
pack_trace_spend(struct pack_trace_head *head, const struct pack_trace_spent *spent,
                 struct pack_error *err)
{
    size_t i = head->n_spent; /* mostly one of the last */
    while (i > 0 && (head->spent[i - 1].file != spent->file ||
                     head->spent[i - 1].dataset != spent->dataset))
        i--;
    if (i > 0) {
        struct pack_trace_spent *sum = &head->spent[i - 1];
        sum->n_reads = sum_or_most(sum->n_reads, spent->n_reads);
        sum->ns = sum_or_most(sum->ns, spent->ns);
        return PACK_OK;
    }
    if (head->n_spent == PACK_TRACE_SPENT_MAX)
        return PACK_OK;
    if (head->n_spent == head->spent_capacity) {
        size_t capacity = head->spent_capacity ? 2 * head->spent_capacity : 4;
        struct pack_trace_spent *more = realloc(head->spent, capacity * sizeof *more);
        if (!more)
            return pack_fail_memory(err, "times of a trace");
        head->spent = more;
        head->spent_capacity = capacity;
    }
    head->spent[head->n_spent++] = *spent;
    return PACK_OK;
}

static enum pack_status
add_name(struct pack_trace_names *names, char *name, struct pack_error *err)
{
    if (names->n == PACK_TRACE_NAMES_MAX)
        return pack_fail(err, PACK_ERR_LIMIT, "more than %d names", PACK_TRACE_NAMES_MAX);
    if (names->n == names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 8;
        char **more = realloc(names->names, capacity * sizeof *more);
        if (!more)
            return pack_fail_memory(err, "names of a trace");
        names->names = more;
        names->capacity = capacity;
    }
    names->names[names->n++] = name;
    return PACK_OK;
}

enum pack_status
pack_trace_names_place(struct pack_trace_names *names, const char *name, size_t *place,
                       struct pack_error *err)
{
    for (*place = 0; *place < names->n; ++*place)
        if (strcmp(names->names[*place], name) == 0)
            return PACK_OK;
    char *copy = strdup(name);
    enum pack_status status =
        copy ? add_name(names, copy, err) : pack_fail_memory(err, "names of a trace");
    if (status != PACK_OK)
        free(copy);
    return status;
}

static const char escapes[][2] = {
    { '\\', '\\' }, { '\t', 't' }, { '\n', 'n' }, { '\r', 'r' }
};
enum { N_ESCAPES = sizeof escapes / sizeof *escapes };

enum pack_status
pack_trace_put_name(struct pack_buf *buf, const char *kind, size_t place,
                    const char *name, struct pack_error *err)
{
    enum pack_status status = pack_buf_printf(buf, err, "# %s\t%zu\t", kind, place);
    for (; status == PACK_OK && *name; name++) {
        char text[2] = { *name };
        size_t n = 1;
        for (int i = 0; i < N_ESCAPES; i++)
            if (*name == escapes[i][0]) {
                text[0] = '\\';
                text[1] = escapes[i][1];
                n = 2;
            }
        status = pack_buf_append(buf, text, n, err);
    }
    return status == PACK_OK ? pack_buf_append(buf, "\n", 1, err) : status;
}

/* What stands behind a backslash; false where nothing does that is known. */
static bool
unescape(struct pack_trace_text *t, char *c)
{
    t->at++;
    for (int i = 0; i < N_ESCAPES; i++)
        if (!at_line_end(t) && *t->at == escapes[i][1]) {
            *c = escapes[i][0];
            return true;
        }
    return false;
}

/* Up to the end of the line. */
static enum pack_status
parse_escaped(struct pack_trace_text *t, char **name, struct pack_error *err)
{
    const char *end = memchr(t->at, '\n', (size_t)(t->end - t->at)), *why = NULL;
    size_t n = 0;
    char *text = malloc((size_t)((end ? end : t->end) - t->at) + 1);
    if (!text)
        return pack_fail_memory(err, "names of a trace");
    while (!why && !at_line_end(t)) {
        char c = *t->at;
        if (c == '\\' && !unescape(t, &c))
            why = "\\\\, \\t, \\n or \\r is expected here";
        else if (c == '\0')
            why = "a name with a NUL";
        else
            t->at++;
        text[n++] = c;
    }
    if (!why && n == 0)
        why = "a name is expected here";
    if (why) {
        free(text);
        return pack_trace_text_fail(t, why, err);
    }
    text[n] = '\0';
    *name = text;
    return PACK_OK;
}

/* Names count from 0, in their order. */
static enum pack_status
parse_name(struct pack_trace_text *t, struct pack_trace_names *names,
           struct pack_error *err)
{
    uint64_t place = 0;
    char *name = NULL;
    const char *first = t->at;
    enum pack_status status = parse_number(t, &place, err);
    if (status == PACK_OK && place != names->n) {
        t->at = first;
        return pack_fail(err, PACK_ERR_FORMAT,
                         "line %zu, column %td: %zu is expected here", t->line,
                         t->at - t->line_start + 1, names->n);
    }
    if (status == PACK_OK && !take(t, "\t"))
        status = pack_trace_text_fail(t, "a tab is expected here", err);
    if (status == PACK_OK)
        status = parse_escaped(t, &name, err);
    if (status == PACK_OK)
        status = add_name(names, name, err);
    if (status != PACK_OK)
        free(name);
    return status;
}

/* File, dataset, reads, nanoseconds. */
static enum pack_status
parse_spent(struct pack_trace_text *t, struct pack_error *err)
{
    struct pack_trace_head *head = t->head;
    struct pack_trace_spent spent = { 0 };
    uint64_t *const values[] = { &spent.file, &spent.dataset, &spent.n_reads, &spent.ns };
    enum pack_status status = PACK_OK;
    for (int i = 0; i < 4 && status == PACK_OK; i++) {
        if (i > 0 && !take(t, "\t"))
            return pack_trace_text_fail(t, "a tab is expected here", err);
        status = parse_number(t, values[i], err);
    }
    if (status == PACK_OK &&
        (spent.file >= head->files.n || spent.dataset >= head->datasets.n))
        return pack_trace_text_fail(t, "times of what has no name so far", err);
    return status == PACK_OK ? pack_trace_spend(head, &spent, err) : status;
}

/* A line that begins with '#'. */
static enum pack_status
parse_comment(struct pack_trace_text *t, struct pack_error *err)
{
    struct pack_trace_head *head = t->head;
    if (!head || !t->has_origin)
        return PACK_OK;
    if (take(t, "# file\t"))
        return parse_name(t, &head->files, err);
    if (take(t, "# dataset\t"))
        return parse_name(t, &head->datasets, err);
    if (take(t, "# spent\t"))
        return parse_spent(t, err);
    uint64_t n = 0;
    if (!take(t, "# around\t"))
        return PACK_OK;
    enum pack_status status = parse_number(t, &n, err);
    if (status == PACK_OK && !pack_size_add(head->n_around, n, &head->n_around))
        status = pack_trace_text_fail(t, "a number of more than 64 bits", err);
    return status;
}

/* ------------------------------------------------------------------- reads */

enum pack_status
pack_trace_text_begin(struct pack_trace_text *t, const char *text, size_t size,
                      struct pack_trace_head *head, struct pack_error *err)
{
    *t = (struct pack_trace_text){
        .at = text, .end = text + size, .line_start = text, .line = 1, .head = head
    };
    if (!take(t, form))
        return PACK_OK;
    t->has_origin = take(t, "2") && at_line_end(t);
    if (!t->has_origin)
        return pack_trace_text_fail(t, "a trace of a form that is not known: 2 is", err);
    if (head)
        head->has_origin = true;
    next_line(t);
    return PACK_OK;
}

enum { VALUES_MAX = 2 * PACK_RANK_MAX + PACK_TRACE_ORIGIN };

/* All numbers of a line, and where each begins. */
static enum pack_status
parse_values(struct pack_trace_text *t, uint64_t *values, const char **places, int *n,
             struct pack_error *err)
{
    int most = 2 * PACK_RANK_MAX + (t->has_origin ? PACK_TRACE_ORIGIN : 0);
    *n = 0;
    for (;;) {
        if (*n == most)
            return pack_trace_text_fail(t, "more than 32 starts and 32 counts", err);
        places[*n] = t->at;
        enum pack_status status = parse_number(t, &values[(*n)++], err);
        t->last_column = (size_t)(t->at - t->line_start) + 1;
        if (status || at_line_end(t))
            return status;
        if (*t->at != '\t')
            return pack_trace_text_fail(t, "a tab is expected here", err);
        t->at++;
    }
}

static enum pack_status
take_box(struct pack_trace_text *t, const uint64_t *values, const char **places,
         struct pack_box *box, struct pack_error *err)
{
    uint64_t end;
    for (int i = 0; i < box->rank; i++) {
        box->start[i] = values[i];
        box->count[i] = values[box->rank + i];
        t->at = places[box->rank + i];
        if (box->count[i] == 0)
            return pack_trace_text_fail(t, "a count of 0", err);
        if (!pack_size_add(box->start[i], box->count[i], &end))
            return pack_trace_text_fail(t, "start and count add up to more than 64 bits",
                                        err);
    }
    return PACK_OK;
}

static enum pack_status
take_origin(struct pack_trace_text *t, const uint64_t *values, const char **places,
            struct pack_trace_line *line, struct pack_error *err)
{
    line->origin = places[0];
    line->file = values[0];
    line->dataset = values[1];
    line->process = values[2];
    line->time_ns = values[3];
    t->at = places[0];
    if (t->head && line->file >= t->head->files.n)
        return pack_trace_text_fail(t, "a file that has no name so far", err);
    t->at = places[1];
    if (t->head && line->dataset >= t->head->datasets.n)
        return pack_trace_text_fail(t, "a dataset that has no name so far", err);
    return PACK_OK;
}

static enum pack_status
parse_read(struct pack_trace_text *t, struct pack_trace_line *line,
           struct pack_error *err)
{
    uint64_t values[VALUES_MAX];
    const char *places[VALUES_MAX];
    int n, origin = t->has_origin ? PACK_TRACE_ORIGIN : 0;
    *line = (struct pack_trace_line){ .text = t->at };
    enum pack_status status = parse_values(t, values, places, &n, err);
    if (status)
        return status;
    if (n < origin + 2 || (n - origin) % 2 != 0)
        return pack_trace_text_fail(
            t,
            origin
                ? "starts, as many counts, file, dataset, process and time are expected"
                : "as many counts as starts are expected",
            err);
    line->box.rank = (n - origin) / 2;
    status = take_box(t, values, places, &line->box, err);
    if (status == PACK_OK && origin)
        status = take_origin(t, values + n - origin, places + n - origin, line, err);
    return status;
}

enum pack_status
pack_trace_text_next(struct pack_trace_text *t, struct pack_trace_line *line, bool *more,
                     struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    *more = false;
    while (t->at < t->end && (*t->at == '#' || at_line_end(t))) {
        status = parse_comment(t, err);
        if (status != PACK_OK)
            return status;
        next_line(t);
    }
    if (t->at == t->end)
        return PACK_OK;
    status = parse_read(t, line, err);
    if (status == PACK_OK) {
        next_line(t);
        *more = true;
    }
    return status;
}
