/*
 * One pass over the bytes, by the syntax that was recognised. A row's cells lie one after
 * the other in a buffer, each with its NUL; lines are cut into cells where they stand.
 */
#include "libpack/source/list_rows_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum pack_status
pack_rows_at_line(struct pack_rows *r, uint64_t line, enum pack_status status)
{
    if (r->is_inside && !r->has_ended)
        pack_error_prefix(r->err, status, "element %" PRIu64, r->n_elements);
    return pack_error_prefix(r->err, status, "%s:%" PRIu64, r->name, line);
}

static bool
refill(struct pack_rows *r)
{
    if (!r->file)
        return false;
    r->at = 0;
    r->end = fread(r->input, 1, r->capacity, r->file);
    return r->end > 0;
}

static int
next_byte(struct pack_rows *r)
{
    bool is_ahead = r->ahead_at < r->ahead.size;
    if (!is_ahead && r->at == r->end && !refill(r))
        return EOF;
    int c = is_ahead ? r->ahead.data[r->ahead_at++] : r->input[r->at++];
    r->line += c == r->syntax.terminator;
    return c;
}

static int
peek_byte(struct pack_rows *r)
{
    if (r->ahead_at < r->ahead.size)
        return r->ahead.data[r->ahead_at];
    return r->at == r->end && !refill(r) ? EOF : r->input[r->at];
}

bool
pack_rows_is_at_end(struct pack_rows *r)
{
    return peek_byte(r) == EOF;
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

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool
pack_rows_is_trimmed(const struct pack_rows *r)
{
    return r->syntax.trims && r->n_cells + 1 != r->syntax.untrimmed;
}

enum pack_status
pack_rows_close_cell(struct pack_rows *r, size_t end, bool trims)
{
    char *text = (char *)r->row.data;
    size_t start = r->cell_start;
    if (r->n_cells == PACK_LIST_COLUMNS_MAX)
        return pack_rows_at_line(r, r->row_line,
                                 pack_fail(r->err, PACK_ERR_LIMIT, "more than %d columns",
                                           PACK_LIST_COLUMNS_MAX));
    while (trims && end > start && is_blank(text[end - 1]))
        end--;
    while (trims && start < end && is_blank(text[start]))
        start++;
    text[end] = '\0';
    r->cell[r->n_cells++] = start;
    return PACK_OK;
}

enum pack_status
pack_rows_end_cell(struct pack_rows *r, bool trims)
{
    enum pack_status status = pack_buf_append(&r->row, "", 1, r->err);
    if (status == PACK_OK)
        status = pack_rows_close_cell(r, r->row.size - 1, trims);
    r->cell_start = r->row.size;
    return status;
}

enum pack_status
pack_rows_add_cell(struct pack_rows *r, const char *text, size_t size)
{
    enum pack_status status = pack_buf_append(&r->row, text, size, r->err);
    return status == PACK_OK ? pack_rows_end_cell(r, false) : status;
}

static void
start_row(struct pack_rows *r)
{
    r->row.size = r->n_cells = r->cell_start = 0;
    r->row_line = r->line;
}

enum pack_status
pack_rows_read_on(struct pack_rows *r)
{
    int c = EOF;
    enum pack_status status = r->row.size ? put(r, r->syntax.terminator) : PACK_OK;
    while (status == PACK_OK && (c = next_byte(r)) != EOF && c != r->syntax.terminator)
        status = put(r, c);
    r->ends_line = c != EOF;
    return status;
}

enum pack_status
pack_rows_give_back(struct pack_rows *r, size_t from, uint64_t line)
{
    struct pack_buf ahead = { 0 };
    enum pack_status status = pack_buf_append(&ahead, r->row.data + from + 1,
                                              r->row.size - from - 1, r->err);
    if (status == PACK_OK && r->ends_line)
        status = pack_buf_append(&ahead, &r->syntax.terminator, 1, r->err);
    if (status == PACK_OK && r->ahead_at < r->ahead.size)
        status = pack_buf_append(&ahead, r->ahead.data + r->ahead_at,
                                 r->ahead.size - r->ahead_at, r->err);
    pack_buf_done(&r->ahead);
    r->ahead = ahead;
    r->ahead_at = 0;
    r->row.size = from;
    r->line = line;
    return status;
}

enum pack_status
pack_rows_read_line(struct pack_rows *r)
{
    enum pack_status status = pack_rows_read_on(r);
    if (r->syntax.terminator == '\n' && r->row.size &&
        r->row.data[r->row.size - 1] == '\r')
        r->row.size--;
    return status;
}

/* ------------------------------------------------------------ elements of JSON */

/* The next byte that is no blank. */
static int
next_inked(struct pack_rows *r)
{
    int c;
    do
        c = next_byte(r);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    return c;
}

static enum pack_status
refuse_element(struct pack_rows *r, const char *why)
{
    return pack_rows_at_line(r, r->line, pack_fail(r->err, PACK_ERR_FORMAT, "%s", why));
}

static bool
ends_word(int c)
{
    return c == EOF || strchr(",:]} \t\r\n", c);
}

/* A value that starts with `c`, as it stands. */
static enum pack_status
copy_value(struct pack_rows *r, int c)
{
    size_t depth = 0;
    bool quoted = false, escaped = false;
    enum pack_status status = PACK_OK;
    for (; status == PACK_OK && c != EOF; c = next_byte(r)) {
        status = put(r, c);
        if (quoted) {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            quoted = c == '"';
            depth += c == '{' || c == '[';
            depth -= depth > 0 && (c == '}' || c == ']');
        }
        if (!quoted && depth == 0 && (strchr("}]\"", c) || ends_word(peek_byte(r))))
            return status;
    }
    return status == PACK_OK ? refuse_element(r, "ends too early") : status;
}

/* A member of an object, whose key starts with `c`, as an array of two. */
static enum pack_status
copy_member(struct pack_rows *r, int c)
{
    enum pack_status status = put(r, '[');
    if (status == PACK_OK)
        status = copy_value(r, c);
    if (status == PACK_OK && (c != '"' || next_inked(r) != ':'))
        status = refuse_element(r, "expected a key in double quotes, and ':'");
    if (status == PACK_OK)
        status = put(r, ',');
    if (status == PACK_OK)
        status = copy_value(r, next_inked(r));
    return status == PACK_OK ? put(r, ']') : status;
}

/* Behind the closing bracket there is nothing, or the rest of the object around. */
static enum pack_status
end_elements(struct pack_rows *r)
{
    int c = next_inked(r);
    r->has_ended = true;
    if (r->syntax.is_member ? c != '}' && c != ',' : c != EOF)
        return refuse_element(r, c == EOF ? "ends too early"
                                          : "unexpected text behind the list");
    if (r->syntax.is_member) {
        r->file = NULL;
        r->at = r->end;
    }
    return PACK_OK;
}

static enum pack_status
read_next_value(struct pack_rows *r)
{
    int c = next_inked(r);
    r->has_ended = c == EOF;
    r->is_inside = true;
    r->n_elements++;
    r->row_line = r->line;
    return c == EOF ? PACK_OK : copy_value(r, c);
}

enum pack_status
pack_rows_read_element(struct pack_rows *r)
{
    char opens = r->syntax.opens, closes = opens == '[' ? ']' : '}';
    if (r->has_ended)
        return PACK_OK;
    if (opens == ' ')
        return read_next_value(r);
    bool is_first = !r->is_inside;
    int c = next_inked(r);
    if (c == (is_first ? opens : ',')) {
        c = next_inked(r);
        r->is_inside = true;
        r->n_elements++;
        r->row_line = r->line;
        if (c != closes)
            return opens == '[' ? copy_value(r, c) : copy_member(r, c);
        if (!is_first)
            return refuse_element(r, "a comma needs a value behind it");
    }
    if (c == closes)
        return end_elements(r);
    return refuse_element(r, c == EOF ? "ends too early"
                                      : "expected a comma or the end behind it");
}

/* ------------------------------------------------------------------- cutting */

/* What stands before a character of a CSV row: nothing, blanks, text, an open quote, a
 * closed one. */
enum csv_state { CSV_START, CSV_LEADING, CSV_PLAIN, CSV_QUOTED, CSV_CLOSED };

static enum pack_status
refuse_quote(struct pack_rows *r, uint64_t line, const char *why)
{
    return pack_rows_at_line(r, line,
                             pack_fail(r->err, PACK_ERR_FORMAT, "column %zu: %s",
                                       r->n_cells + 1, why));
}

/* A character inside of a cell, which is no separator and no line's end there. */
static enum pack_status
take_csv(struct pack_rows *r, int c, enum csv_state *state)
{
    bool skips = r->syntax.trims && is_blank((char)c);
    switch (*state) {
    case CSV_QUOTED:
        if (c != '"')
            return put(r, c);
        *state = CSV_CLOSED;
        return PACK_OK;
    case CSV_CLOSED:
        if (skips)
            return PACK_OK;
        if (c != '"')
            return refuse_quote(r, r->line, "text behind the closing quote");
        *state = CSV_QUOTED;
        return put(r, c);
    case CSV_START:
    case CSV_LEADING:
        if (c == '"') {
            r->row.size = r->cell_start;
            *state = CSV_QUOTED;
            return PACK_OK;
        }
        *state = skips ? CSV_LEADING : CSV_PLAIN;
        break;
    case CSV_PLAIN: break;
    }
    return put(r, c);
}

/* RFC 4180; an empty line leaves a row without cells. */
static enum pack_status
read_csv_row(struct pack_rows *r)
{
    enum csv_state state = CSV_START;
    enum pack_status status = PACK_OK;
    uint64_t quote_line = r->line;
    char separator = r->syntax.separator ? r->syntax.separator : ',';
    while (status == PACK_OK) {
        int c = next_byte(r);
        bool closes = state != CSV_QUOTED;
        if (!closes && c == EOF)
            return refuse_quote(r, quote_line, "the quote is not closed");
        if (closes && (c == EOF || c == r->syntax.terminator))
            return state == CSV_START && r->n_cells == 0
                       ? PACK_OK
                       : pack_rows_end_cell(r, state != CSV_CLOSED && pack_rows_is_trimmed(r));
        if (closes && c == '\r' && (peek_byte(r) == '\n' || peek_byte(r) == EOF))
            continue;
        if (closes && c == separator) {
            status = pack_rows_end_cell(r, state != CSV_CLOSED && pack_rows_is_trimmed(r));
            state = CSV_START;
            continue;
        }
        status = take_csv(r, c, &state);
        if (closes && state == CSV_QUOTED)
            quote_line = r->line;
    }
    return status;
}

static enum pack_status
read_row(struct pack_rows *r)
{
    switch (r->syntax.cut) {
    case PACK_ROWS_CSV: return read_csv_row(r);
    case PACK_ROWS_TSV: return pack_rows_read_tsv(r);
    case PACK_ROWS_JSON: return pack_rows_read_json(r);
    case PACK_ROWS_JSON_CELLS: return pack_rows_read_json_cells(r);
    default: return pack_rows_read_cut(r);
    }
}

enum pack_status
pack_rows_next(struct pack_rows *r)
{
    enum pack_status status;
    do {
        start_row(r);
        errno = 0;
        status = read_row(r);
        if (r->file && ferror(r->file))
            return pack_fail_errno(r->err, errno ? errno : EIO, "cannot read '%s'",
                                   r->name);
    } while (status == PACK_OK && r->n_cells == 0 && peek_byte(r) != EOF);
    return status;
}

enum pack_status
pack_rows_try(struct pack_rows *r, bool *found, struct pack_error *err)
{
    enum pack_status status = pack_rows_next(r);
    *found = status == PACK_OK && r->n_cells > 0;
    return status == PACK_ERR_MEMORY ? pack_fail_memory(err, "a list") : PACK_OK;
}

const char *
pack_rows_cell(const struct pack_rows *r, size_t i)
{
    return (const char *)r->row.data + r->cell[i];
}

void
pack_rows_init(struct pack_rows *r, const struct pack_rows_syntax *syntax,
               const struct pack_list_head *head, FILE *file, const char *name,
               struct pack_error *err)
{
    *r = (struct pack_rows){ .file = file,
                             .syntax = *syntax,
                             .line = 1,
                             .at = head->start + syntax->opens_at,
                             .end = head->size,
                             .is_cut = !file && !head->is_whole,
                             .capacity = head->capacity,
                             .input = head->bytes,
                             .err = err };
    for (size_t i = 0; i < r->at; i++)
        r->line += head->bytes[i] == syntax->terminator;
    pack_name_text(name, r->name);
}

void
pack_rows_done(struct pack_rows *r)
{
    pack_buf_done(&r->row);
    pack_buf_done(&r->ahead);
    pack_buf_done(&r->object);
    pack_buf_done(&r->keys);
    free(r->comment);
    r->comment = NULL;
}
