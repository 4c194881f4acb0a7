/*
 * Bytes become rows of cells in one pass, by one of four syntaxes that the first line (or
 * the caller) chooses; cells go straight to the columns, which find their type as they
 * grow. Only one row is kept as such.
 */
#include "libpack/source/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/buf.h"
#include "libpack/source/list_column.h"
#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/base/utf8.h"

enum syntax { SYNTAX_CSV, SYNTAX_TSV, SYNTAX_BLANKS, SYNTAX_WHOLE };

struct reader {
    FILE *file;
    enum syntax syntax;
    int terminator;                              /* of a line: LF or NUL */
    uint64_t line;                               /* of the next byte, from 1 */
    uint64_t row_line;                           /* where the row starts */
    struct pack_buf row;                         /* cells, each with its NUL */
    size_t n_cells, cell[PACK_LIST_COLUMNS_MAX]; /* where in `row` they start */
    size_t cell_start;                           /* of the cell being read */
    size_t at, end;
    unsigned char input[1 << 16];
    char name[PACK_NAME_TEXT_MAX];
    struct pack_error *err;
};

struct table {
    size_t n_columns, path_at, label_at; /* label_at == n_columns: there is none */
    char **names;
    struct pack_column_builder *builders;
    uint64_t n_rows;
};

/* "NAME:LINE: " in front of the sentence in r->err. */
static enum pack_status
at_line(struct reader *r, uint64_t line, enum pack_status status)
{
    return pack_error_prefix(r->err, status, "%s:%" PRIu64, r->name, line);
}

static bool
refill(struct reader *r)
{
    r->at = 0;
    r->end = fread(r->input, 1, sizeof r->input, r->file);
    return r->end > 0;
}

static int
next_byte(struct reader *r)
{
    if (r->at == r->end && !refill(r))
        return EOF;
    int c = r->input[r->at++];
    r->line += c == r->terminator;
    return c;
}

static int
peek_byte(struct reader *r)
{
    return r->at == r->end && !refill(r) ? EOF : r->input[r->at];
}

static enum pack_status
put(struct reader *r, int c)
{
    if (c == '\0')
        return at_line(r, r->line,
                       pack_fail(r->err, PACK_ERR_FORMAT,
                                 "a NUL byte (the list is to be UTF-8 text)"));
    if (r->row.size >= PACK_LIST_ROW_MAX)
        return at_line(r, r->row_line,
                       pack_fail(r->err, PACK_ERR_LIMIT, "a row of more than %d bytes",
                                 PACK_LIST_ROW_MAX));
    if (r->row.size == r->row.capacity) {
        enum pack_status status = pack_buf_reserve(&r->row, 1, r->err);
        if (status != PACK_OK)
            return status;
    }
    r->row.data[r->row.size++] = (unsigned char)c;
    return PACK_OK;
}

/* Closes the cell that reaches up to row.size and starts the next one. */
static enum pack_status
end_cell(struct reader *r)
{
    if (r->n_cells == PACK_LIST_COLUMNS_MAX)
        return at_line(r, r->row_line,
                       pack_fail(r->err, PACK_ERR_LIMIT, "more than %d columns",
                                 PACK_LIST_COLUMNS_MAX));
    enum pack_status status = pack_buf_append(&r->row, "", 1, r->err);
    if (status == PACK_OK) {
        r->cell[r->n_cells++] = r->cell_start;
        r->cell_start = r->row.size;
    }
    return status;
}

static void
start_row(struct reader *r)
{
    r->row.size = r->n_cells = r->cell_start = 0;
    r->row_line = r->line;
}

/* A line into the row, without its end. */
static enum pack_status
read_line(struct reader *r)
{
    int c;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && (c = next_byte(r)) != EOF && c != r->terminator)
        status = put(r, c);
    if (r->terminator == '\n' && r->row.size && r->row.data[r->row.size - 1] == '\r')
        r->row.size--;
    return status;
}

/* Cuts the line in the row into cells at single tabs. */
static enum pack_status
split_tabs(struct reader *r)
{
    for (size_t i = 0; i < r->row.size; i++) {
        if (r->row.data[i] != '\t')
            continue;
        if (r->n_cells == PACK_LIST_COLUMNS_MAX)
            return end_cell(r);
        r->row.data[i] = '\0';
        r->cell[r->n_cells++] = r->cell_start;
        r->cell_start = i + 1;
    }
    return end_cell(r);
}

/* Cuts the line in the row into cells at runs of blanks; may find none. */
static enum pack_status
split_blanks(struct reader *r)
{
    enum pack_status status = pack_buf_append(&r->row, "", 1, r->err);
    if (status != PACK_OK)
        return status;
    char *text = (char *)r->row.data;
    for (size_t i = strspn(text, " \t"); text[i]; i += strspn(text + i, " \t")) {
        if (r->n_cells == PACK_LIST_COLUMNS_MAX)
            return end_cell(r);
        r->cell[r->n_cells++] = i;
        i += strcspn(text + i, " \t");
        if (text[i])
            text[i++] = '\0';
    }
    return PACK_OK;
}

static enum pack_status
read_line_row(struct reader *r)
{
    enum pack_status status = read_line(r);
    if (status != PACK_OK || r->row.size == 0)
        return status;
    switch (r->syntax) {
    case SYNTAX_TSV: return split_tabs(r);
    case SYNTAX_BLANKS: return split_blanks(r);
    default: return end_cell(r);
    }
}

/* RFC 4180; an empty line leaves a row without cells. */
static enum pack_status
read_csv_row(struct reader *r)
{
    enum { START, PLAIN, QUOTED, CLOSED } state = START;
    enum pack_status status = PACK_OK;
    uint64_t quote_line = 0;
    while (status == PACK_OK) {
        int c = next_byte(r);
        if (state == QUOTED && c == EOF)
            return at_line(r, quote_line,
                           pack_fail(r->err, PACK_ERR_FORMAT,
                                     "column %zu: the quote is not closed",
                                     r->n_cells + 1));
        if (state == QUOTED) {
            if (c == '"')
                state = CLOSED;
            else
                status = put(r, c);
        } else if (c == '"' && state != PLAIN) {
            if (state == CLOSED)
                status = put(r, c);
            else
                quote_line = r->line;
            state = QUOTED;
        } else if (c == ',') {
            status = end_cell(r);
            state = START;
        } else if (c == EOF || c == '\n') {
            return state == START && r->n_cells == 0 ? PACK_OK : end_cell(r);
        } else if (c == '\r' && (peek_byte(r) == '\n' || peek_byte(r) == EOF)) {
            continue;
        } else if (state == CLOSED) {
            return at_line(r, r->line,
                           pack_fail(r->err, PACK_ERR_FORMAT,
                                     "column %zu: text behind the closing quote",
                                     r->n_cells + 1));
        } else {
            status = put(r, c);
            state = PLAIN;
        }
    }
    return status;
}

/* The next row that is not empty; n_cells is 0 at the end of the file. */
static enum pack_status
next_row(struct reader *r)
{
    enum pack_status status;
    do {
        start_row(r);
        errno = 0;
        status = r->syntax == SYNTAX_CSV ? read_csv_row(r) : read_line_row(r);
        if (ferror(r->file))
            return pack_fail_errno(r->err, errno ? errno : EIO, "cannot read '%s'",
                                   r->name);
    } while (status == PACK_OK && r->n_cells == 0 && peek_byte(r) != EOF);
    return status;
}

static const char *
cell(const struct reader *r, size_t i)
{
    return (const char *)r->row.data + r->cell[i];
}

static bool
ends_in_csv(const char *name)
{
    size_t n = strlen(name);
    return n >= 4 && strcasecmp(name + n - 4, ".csv") == 0;
}

/* Chooses the syntax by the first line, as far as it is in the first input. */
static void
choose_syntax(struct reader *r, const char *name, enum pack_list_format format)
{
    r->terminator = format == PACK_LIST_NULL ? '\0' : '\n';
    r->syntax = format == PACK_LIST_TABLE ? SYNTAX_TSV : SYNTAX_WHOLE;
    if (format == PACK_LIST_NULL || !refill(r))
        return;
    if (r->end >= 3 && memcmp(r->input, "\xef\xbb\xbf", 3) == 0)
        r->at = 3;
    if (format != PACK_LIST_TABLE)
        return;
    size_t first = r->at;
    while (first < r->end && (r->input[first] == '\n' || r->input[first] == '\r'))
        first++;
    bool digit = false, other = false, tab = false, comma = false, quote = false;
    for (size_t i = first; i < r->end && r->input[i] != '\n'; i++) {
        unsigned char c = r->input[i];
        digit |= c >= '0' && c <= '9';
        other |= !(c >= '0' && c <= '9') && c != ' ' && c != '\t' && c != '\r';
        tab |= c == '\t';
        comma |= c == ',';
        quote |= c == '"';
    }
    r->syntax = digit && !other                       ? SYNTAX_BLANKS
                : tab                                 ? SYNTAX_TSV
                : comma || quote || ends_in_csv(name) ? SYNTAX_CSV
                                                      : SYNTAX_TSV;
}

/* Datasets that packed files have anyway. */
static const char *const reserved[] = {
    "images",        "labels",       "filenames", "class_names",
    "original_size", "source_index", "offsets",   "shapes",
};

static enum pack_status
check_column_name(struct reader *r, const struct table *t, size_t at)
{
    const char *name = t->names[at];
    char text[PACK_NAME_TEXT_MAX];
    pack_name_text(name, text);
    if (*name == '\0')
        return pack_fail(r->err, PACK_ERR_FORMAT, "column %zu has no name", at + 1);
    if (strchr(name, '/') || !strcmp(name, ".") || !pack_utf8_valid(name, strlen(name)))
        return pack_fail(r->err, PACK_ERR_FORMAT,
                         "column %zu, '%s', cannot name a dataset: it is '.', "
                         "has a '/' or is not UTF-8",
                         at + 1, text);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(name, reserved[i]) == 0)
            return pack_fail(r->err, PACK_ERR_FORMAT,
                             "column %zu has the name of a dataset that h5pack writes, "
                             "'%s'; rename it",
                             at + 1, text);
    for (size_t i = 0; i < at; i++)
        if (strcmp(name, t->names[i]) == 0)
            return pack_fail(r->err, PACK_ERR_FORMAT, "columns %zu and %zu are both '%s'",
                             i + 1, at + 1, text);
    return PACK_OK;
}

/* Makes the columns, `names` of them from cell `first` of the row on, after an unnamed
 * path when `implied_path` is set. */
static enum pack_status
make_columns(struct reader *r, struct table *t, size_t first, bool implied_path)
{
    size_t n = r->n_cells - first + implied_path;
    t->names = calloc(n, sizeof *t->names);
    t->builders = calloc(n, sizeof *t->builders);
    if (!t->names || !t->builders)
        return pack_fail_memory(r->err, "the columns of a list");
    t->n_columns = t->path_at = t->label_at = n;
    for (size_t i = 0; i < n; i++) {
        bool implied = implied_path && i == 0;
        t->names[i] = strdup(implied ? "path" : cell(r, first + i - implied_path));
        if (!t->names[i])
            return pack_fail_memory(r->err, "the columns of a list");
        enum pack_status status = check_column_name(r, t, i);
        if (status != PACK_OK)
            return at_line(r, r->row_line, status);
        if (strcmp(t->names[i], "path") == 0)
            t->path_at = i;
        else if (strcmp(t->names[i], "label") == 0)
            t->label_at = i;
    }
    char text[PACK_NAME_TEXT_MAX];
    if (t->path_at == n)
        return at_line(
            r, r->row_line,
            pack_fail(r->err, PACK_ERR_FORMAT,
                      "the first line is to name the columns, one of them "
                      "'path', separated by tabs or commas; it starts with '%s'",
                      pack_name_text(t->names[0], text)));
    t->builders[t->path_at].is_text = true;
    return PACK_OK;
}

/* Reads what is in front of the rows; *n_rows is how many are to come, when known. */
static enum pack_status
read_header(struct reader *r, struct table *t, uint64_t *n_rows)
{
    if (r->syntax == SYNTAX_WHOLE)
        return make_columns(r, t, 0, true);
    enum pack_status status = next_row(r);
    if (status != PACK_OK)
        return status;
    if (r->n_cells == 0)
        return pack_fail(r->err, PACK_ERR_NOT_FOUND, "list '%s' is empty", r->name);
    if (r->syntax != SYNTAX_BLANKS)
        return make_columns(r, t, 0, false);
    if (r->n_cells > 1 ||
        pack_u64_parse(cell(r, 0), UINT64_MAX - 1, n_rows, r->err) != PACK_OK)
        return at_line(r, r->row_line,
                       pack_fail(r->err, PACK_ERR_FORMAT,
                                 "a line of numbers is neither a header "
                                 "nor CelebA's count of images"));
    status = next_row(r);
    if (status != PACK_OK)
        return status;
    return make_columns(r, t, r->n_cells && !strcmp(cell(r, 0), "image_id"), true);
}

static enum pack_status
add_row(struct reader *r, struct table *t)
{
    if (r->n_cells != t->n_columns)
        return at_line(r, r->row_line,
                       pack_fail(r->err, PACK_ERR_FORMAT,
                                 "%zu cell%s where the header has %zu", r->n_cells,
                                 r->n_cells == 1 ? "" : "s", t->n_columns));
    if (*cell(r, t->path_at) == '\0')
        return at_line(r, r->row_line,
                       pack_fail(r->err, PACK_ERR_FORMAT, "column %zu: the path is empty",
                                 t->path_at + 1));
    for (size_t i = 0; i < t->n_columns; i++) {
        enum pack_status status = pack_column_add(&t->builders[i], cell(r, i), r->err);
        if (status != PACK_OK)
            return status;
    }
    t->n_rows++;
    return PACK_OK;
}

static enum pack_status
read_table(struct reader *r, struct table *t)
{
    uint64_t expected = UINT64_MAX;
    enum pack_status status = read_header(r, t, &expected);
    while (status == PACK_OK && (status = next_row(r)) == PACK_OK && r->n_cells > 0)
        status = add_row(r, t);
    if (status != PACK_OK)
        return status;
    if (expected != UINT64_MAX && t->n_rows != expected)
        return pack_fail(r->err, PACK_ERR_FORMAT,
                         "list '%s' has %s, its first line says %" PRIu64, r->name,
                         pack_counted(t->n_rows, "row", "rows").text, expected);
    if (t->n_rows == 0)
        return pack_fail(r->err, PACK_ERR_NOT_FOUND, "list '%s' names no images",
                         r->name);
    return PACK_OK;
}

static enum pack_status
finish_column(struct table *t, size_t at, struct pack_column *column,
              struct pack_error *err)
{
    column->name = t->names[at];
    t->names[at] = NULL;
    return pack_column_finish(&t->builders[at], column, err);
}

static enum pack_status
finish(struct table *t, struct pack_list **out, struct pack_error *err)
{
    bool has_label = t->label_at < t->n_columns;
    struct pack_list *list = calloc(1, sizeof *list);
    enum pack_status status = PACK_OK;
    if (!list)
        return pack_fail_memory(err, "a list");
    list->n_rows = t->n_rows;
    list->columns = calloc(t->n_columns, sizeof *list->columns);
    list->label = has_label ? calloc(1, sizeof *list->label) : NULL;
    if (!list->columns || (has_label && !list->label))
        status = pack_fail_memory(err, "a list");
    for (size_t i = 0; status == PACK_OK && i < t->n_columns; i++)
        status = finish_column(t, i,
                               i == t->path_at    ? &list->path
                               : i == t->label_at ? list->label
                                                  : &list->columns[list->n_columns++],
                               err);
    if (status == PACK_OK)
        *out = list;
    else
        pack_list_free(list);
    return status;
}

static void
table_done(struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        free(t->names[i]);
        pack_column_builder_done(&t->builders[i]);
    }
    free(t->names);
    free(t->builders);
}

enum pack_status
pack_list_read(FILE *file, const char *name, enum pack_list_format format,
               struct pack_list **list, struct pack_error *err)
{
    struct table table = { 0 };
    struct reader *r = malloc(sizeof *r);
    if (!r)
        return pack_fail_memory(err, "a list");
    *r = (struct reader){ .file = file, .line = 1, .err = err };
    pack_name_text(name, r->name);
    choose_syntax(r, name, format);
    enum pack_status status = read_table(r, &table);
    if (status == PACK_OK)
        status = finish(&table, list, err);
    table_done(&table);
    pack_buf_done(&r->row);
    free(r);
    return status;
}

static void
column_done(struct pack_column *column)
{
    free(column->name);
    free(column->integers);
    free(column->floats);
    free(column->strings);
    free(column->text);
}

void
pack_list_free(struct pack_list *list)
{
    if (!list)
        return;
    column_done(&list->path);
    if (list->label)
        column_done(list->label);
    for (int i = 0; i < list->n_columns; i++)
        column_done(&list->columns[i]);
    free(list->label);
    free(list->columns);
    free(list);
}
