/*
 * Two forms. A bare one has starts and counts. One whose first line is "# h5pack-trace 2"
 * has four more numbers behind them, and names in its comments:
 *
 *     # h5pack-trace 2
 *     # file     0  /data/train.h5
 *     # dataset  0  /images
 *     17  0   1  4096   0  0  4711  81237
 *     # spent  0  0  1  51200  4711
 *     # ran    4711  90000  60000  500  4700  1000
 *     # cache  0  0  4711  521  1048576  0.75  1.10.8
 */
#include "libpack/model/trace_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/cachesim.h>
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
    free(head->ran);
    head->ran = NULL;
    head->n_ran = head->ran_capacity = 0;
    free(head->caches);
    head->caches = NULL;
    head->n_caches = head->caches_capacity = 0;
}

static uint64_t
sum_or_most(uint64_t a, uint64_t b)
{
    return pack_size_add(a, b, &a) ? a : UINT64_MAX;
}

/* Room for one more behind n items; NULL: no memory, and the items are where they were. */
static void *
grown(void *items, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return items;
    size_t more = *capacity ? 2 * *capacity : 4;
    void *moved = realloc(items, more * size);
    if (moved)
        *capacity = more;
    return moved;
}

enum pack_status
pack_trace_spend(struct pack_trace_head *head, const struct pack_trace_spent *spent,
                 struct pack_error *err)
{
    size_t i = head->n_spent; /* mostly one of the last */
    while (i > 0 && (head->spent[i - 1].file != spent->file ||
                     head->spent[i - 1].dataset != spent->dataset ||
                     head->spent[i - 1].process != spent->process))
        i--;
    if (i > 0) {
        struct pack_trace_spent *sum = &head->spent[i - 1];
        sum->n_reads = sum_or_most(sum->n_reads, spent->n_reads);
        sum->ns = sum_or_most(sum->ns, spent->ns);
        return PACK_OK;
    }
    if (head->n_spent == PACK_TRACE_SPENT_MAX)
        return PACK_OK;
    struct pack_trace_spent *more =
        grown(head->spent, head->n_spent, &head->spent_capacity, sizeof *more);
    if (!more)
        return pack_fail_memory(err, "times of a trace");
    head->spent = more;
    head->spent[head->n_spent++] = *spent;
    return PACK_OK;
}

enum pack_status
pack_trace_run(struct pack_trace_head *head, const struct pack_trace_ran *ran,
               struct pack_error *err)
{
    size_t i = head->n_ran;
    while (i > 0 && (head->ran[i - 1].process != ran->process ||
                     head->ran[i - 1].parent != ran->parent))
        i--;
    if (i > 0) {
        struct pack_trace_ran *sum = &head->ran[i - 1];
        sum->ns = sum_or_most(sum->ns, ran->ns);
        sum->busy_ns = sum_or_most(sum->busy_ns, ran->busy_ns);
        sum->delay_ns = sum_or_most(sum->delay_ns, ran->delay_ns);
        sum->parent_busy_ns = sum_or_most(sum->parent_busy_ns, ran->parent_busy_ns);
        return PACK_OK;
    }
    if (head->n_ran == PACK_TRACE_SPENT_MAX)
        return PACK_OK;
    struct pack_trace_ran *more = grown(head->ran, head->n_ran, &head->ran_capacity, sizeof *more);
    if (!more)
        return pack_fail_memory(err, "times of a trace");
    head->ran = more;
    head->ran[head->n_ran++] = *ran;
    return PACK_OK;
}

static enum pack_status
add_name(struct pack_trace_names *names, char *name, struct pack_error *err)
{
    if (names->n == PACK_TRACE_NAMES_MAX)
        return pack_fail(err, PACK_ERR_LIMIT, "more than %d names", PACK_TRACE_NAMES_MAX);
    char **more = grown(names->names, names->n, &names->capacity, sizeof *more);
    if (!more)
        return pack_fail_memory(err, "names of a trace");
    names->names = more;
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

/* Numbers, tabs between them. */
static enum pack_status
parse_numbers(struct pack_trace_text *t, uint64_t *const values[], size_t n,
              struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        if (i > 0 && !take(t, "\t"))
            return pack_trace_text_fail(t, "a tab is expected here", err);
        status = parse_number(t, values[i], err);
    }
    return status;
}

/* File, dataset, reads, nanoseconds, and mostly a process. */
static enum pack_status
parse_spent(struct pack_trace_text *t, struct pack_error *err)
{
    struct pack_trace_head *head = t->head;
    struct pack_trace_spent spent = { .process = UINT64_MAX };
    uint64_t *const values[] = { &spent.file, &spent.dataset, &spent.n_reads, &spent.ns };
    enum pack_status status = parse_numbers(t, values, 4, err);
    if (status == PACK_OK && take(t, "\t"))
        status = parse_number(t, &spent.process, err);
    if (status == PACK_OK &&
        (spent.file >= head->files.n || spent.dataset >= head->datasets.n))
        return pack_trace_text_fail(t, "times of what has no name so far", err);
    return status == PACK_OK ? pack_trace_spend(head, &spent, err) : status;
}

/* Process, nanoseconds, those on a processor and waiting for one, parent, those on a processor. */
static enum pack_status
parse_ran(struct pack_trace_text *t, struct pack_error *err)
{
    struct pack_trace_ran r = { 0 };
    uint64_t *const values[] = { &r.process,  &r.ns,     &r.busy_ns,
                                 &r.delay_ns, &r.parent, &r.parent_busy_ns };
    enum pack_status status = parse_numbers(t, values, 6, err);
    return status == PACK_OK ? pack_trace_run(t->head, &r, err) : status;
}

/* A number from 0 to 1, as 0.75. */
static enum pack_status
parse_w0(struct pack_trace_text *t, double *w0, struct pack_error *err)
{
    uint64_t whole = 0;
    double digits = 0, unit = 1;
    enum pack_status status = parse_number(t, &whole, err);
    if (status != PACK_OK)
        return status;
    if (take(t, "."))
        for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++, unit *= 10)
            digits = 10 * digits + (*t->at - '0');
    *w0 = (double)whole + digits / unit;
    return *w0 <= 1 ? PACK_OK : pack_trace_text_fail(t, "a number from 0 to 1 is expected here", err);
}

/* Digits and points, to the end of the line. */
static enum pack_status
parse_version(struct pack_trace_text *t, char version[PACK_TRACE_VERSION_MAX],
              struct pack_error *err)
{
    size_t n = 0;
    while (!at_line_end(t) && n + 1 < PACK_TRACE_VERSION_MAX)
        version[n++] = *t->at++;
    version[n] = '\0';
    return at_line_end(t) && n > 0 && strspn(version, ".0123456789") == n
               ? PACK_OK
               : pack_trace_text_fail(t, "a version of HDF5 is expected here", err);
}

static enum pack_status
add_cache(struct pack_trace_head *head, const struct pack_trace_cache *cache,
          struct pack_error *err)
{
    if (head->n_caches == PACK_TRACE_CACHES_MAX)
        return PACK_OK;
    struct pack_trace_cache *more =
        grown(head->caches, head->n_caches, &head->caches_capacity, sizeof *more);
    if (!more)
        return pack_fail_memory(err, "caches of a trace");
    head->caches = more;
    head->caches[head->n_caches++] = *cache;
    return PACK_OK;
}

/* File, dataset, process, slots, bytes, w0, version. */
static enum pack_status
parse_cache(struct pack_trace_text *t, struct pack_error *err)
{
    struct pack_trace_cache c = { 0 };
    uint64_t *const values[] = { &c.file, &c.dataset, &c.process, &c.n_slots, &c.size_bytes };
    enum pack_status status = parse_numbers(t, values, 5, err);
    if (status == PACK_OK && !take(t, "\t"))
        return pack_trace_text_fail(t, "a tab is expected here", err);
    if (status == PACK_OK && (c.file >= t->head->files.n || c.dataset >= t->head->datasets.n))
        return pack_trace_text_fail(t, "a cache of what has no name so far", err);
    if (status == PACK_OK)
        status = parse_w0(t, &c.w0, err);
    if (status == PACK_OK && !take(t, "\t"))
        return pack_trace_text_fail(t, "a tab is expected here", err);
    if (status == PACK_OK)
        status = parse_version(t, c.version, err);
    enum pack_hdf5_version known; /* of a version that nobody knows the cache is not either */
    return status == PACK_OK && pack_hdf5_version_parse(c.version, &known, NULL) == PACK_OK
               ? add_cache(t->head, &c, err)
               : status;
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
    if (take(t, "# ran\t"))
        return parse_ran(t, err);
    if (take(t, "# cache\t"))
        return parse_cache(t, err);
    uint64_t n = 0;
    if (!take(t, "# around\t"))
        return PACK_OK;
    enum pack_status status = parse_number(t, &n, err);
    if (status == PACK_OK && !pack_size_add(head->n_around, n, &head->n_around))
        status = pack_trace_text_fail(t, "a number of more than 64 bits", err);
    return status;
}

/* ------------------------------------------------------------------- reads */

size_t
pack_trace_text_whole(const char *text, size_t size)
{
    const char *nul = memchr(text, '\0', size);
    size = nul ? (size_t)(nul - text) : size;
    while (size > 0 && text[size - 1] != '\n')
        size--;
    return size;
}

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
    if (text[size - 1] == '\0') /* what a recording left that was killed */
        t->end = text + pack_trace_text_whole(text, size);
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
