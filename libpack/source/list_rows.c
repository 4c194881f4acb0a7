/*
 * One pass over the bytes, by one of four syntaxes that the first line (or the caller)
 * chooses. A row's cells lie one after the other in a buffer, each with its NUL; lines
 * are cut into cells where they stand.
 */
#include "libpack/source/list_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum pack_status
pack_rows_at_line(struct pack_rows *r, uint64_t line, enum pack_status status)
{
    return pack_error_prefix(r->err, status, "%s:%" PRIu64, r->name, line);
}

static bool
refill(struct pack_rows *r)
{
    r->at = 0;
    r->end = fread(r->input, 1, sizeof r->input, r->file);
    return r->end > 0;
}

static int
next_byte(struct pack_rows *r)
{
    if (r->at == r->end && !refill(r))
        return EOF;
    int c = r->input[r->at++];
    r->line += c == r->terminator;
    return c;
}

static int
peek_byte(struct pack_rows *r)
{
    return r->at == r->end && !refill(r) ? EOF : r->input[r->at];
}

static enum pack_status
put(struct pack_rows *r, int c)
{
    if (c == '\0')
        return pack_rows_at_line(r, r->line,
                                 pack_fail(r->err, PACK_ERR_FORMAT,
                                           "a NUL byte (the list is to be UTF-8 text)"));
    if (r->row.size >= PACK_LIST_ROW_MAX)
        return pack_rows_at_line(r, r->row_line,
                                 pack_fail(r->err, PACK_ERR_LIMIT,
                                           "a row of more than %d bytes",
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
end_cell(struct pack_rows *r)
{
    if (r->n_cells == PACK_LIST_COLUMNS_MAX)
        return pack_rows_at_line(r, r->row_line,
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
start_row(struct pack_rows *r)
{
    r->row.size = r->n_cells = r->cell_start = 0;
    r->row_line = r->line;
}

/* A line into the row, without its end. */
static enum pack_status
read_line(struct pack_rows *r)
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
split_tabs(struct pack_rows *r)
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
split_blanks(struct pack_rows *r)
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
read_line_row(struct pack_rows *r)
{
    enum pack_status status = read_line(r);
    if (status != PACK_OK || r->row.size == 0)
        return status;
    switch (r->syntax) {
    case PACK_ROWS_TSV: return split_tabs(r);
    case PACK_ROWS_BLANKS: return split_blanks(r);
    default: return end_cell(r);
    }
}

/* RFC 4180; an empty line leaves a row without cells. */
static enum pack_status
read_csv_row(struct pack_rows *r)
{
    enum { START, PLAIN, QUOTED, CLOSED } state = START;
    enum pack_status status = PACK_OK;
    uint64_t quote_line = 0;
    while (status == PACK_OK) {
        int c = next_byte(r);
        if (state == QUOTED && c == EOF)
            return pack_rows_at_line(r, quote_line,
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
            return pack_rows_at_line(
                r, r->line,
                pack_fail(r->err, PACK_ERR_FORMAT,
                          "column %zu: text behind the closing quote", r->n_cells + 1));
        } else {
            status = put(r, c);
            state = PLAIN;
        }
    }
    return status;
}

enum pack_status
pack_rows_next(struct pack_rows *r)
{
    enum pack_status status;
    do {
        start_row(r);
        errno = 0;
        status = r->syntax == PACK_ROWS_CSV ? read_csv_row(r) : read_line_row(r);
        if (ferror(r->file))
            return pack_fail_errno(r->err, errno ? errno : EIO, "cannot read '%s'",
                                   r->name);
    } while (status == PACK_OK && r->n_cells == 0 && peek_byte(r) != EOF);
    return status;
}

const char *
pack_rows_cell(const struct pack_rows *r, size_t i)
{
    return (const char *)r->row.data + r->cell[i];
}

/* ------------------------------------------------------------------ opening */

static bool
ends_in_csv(const char *name)
{
    size_t n = strlen(name);
    return n >= 4 && strcasecmp(name + n - 4, ".csv") == 0;
}

/* Chooses the syntax by the first line, as far as it is in the first input. */
static void
choose_syntax(struct pack_rows *r, const char *name, enum pack_list_format format)
{
    r->terminator = format == PACK_LIST_NULL ? '\0' : '\n';
    r->syntax = format == PACK_LIST_TABLE ? PACK_ROWS_TSV : PACK_ROWS_WHOLE;
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
    r->syntax = digit && !other                       ? PACK_ROWS_BLANKS
                : tab                                 ? PACK_ROWS_TSV
                : comma || quote || ends_in_csv(name) ? PACK_ROWS_CSV
                                                      : PACK_ROWS_TSV;
}

void
pack_rows_init(struct pack_rows *r, FILE *file, const char *name,
               enum pack_list_format format, struct pack_error *err)
{
    *r = (struct pack_rows){ .file = file, .line = 1, .err = err };
    pack_name_text(name, r->name);
    choose_syntax(r, name, format);
}

void
pack_rows_done(struct pack_rows *r)
{
    pack_buf_done(&r->row);
}
