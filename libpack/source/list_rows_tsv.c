/*
 * Cells apart by tabs. They may be in quotes as those of CSV, and hold tabs and ends of lines
 * then, as pandas writes them. But many lists of tabs know no quotes: one opens a cell only
 * where another closes it, in front of a tab or the end of a line, and else stands for itself.
 * Lines that were read to find that other one are given back where there is none.
 */
#include "libpack/source/list_rows_parts.h"

#include <string.h>

enum { AHEAD_MAX = 1 << 16 }; /* bytes that a cell may have behind its first line */

#define OPEN SIZE_MAX

/* The end of the row's last line, of which a CR before LF is no part. */
static size_t
line_end(const struct pack_rows *r)
{
    size_t n = r->row.size;
    bool has_cr = r->syntax.terminator == '\n' && n > 0 && r->row.data[n - 1] == '\r';
    return n - has_cr;
}

/* Looks for the quote that closes the cell at `at`, from `from` on. Returns what is behind it,
 * a tab or `end`; `at` where quotes stand for themselves, OPEN where none is found. */
static size_t
behind_quotes(const struct pack_rows *r, size_t at, size_t from, size_t end)
{
    const unsigned char *text = r->row.data;
    for (size_t i = from; i < end; i++) {
        if (text[i] != '"')
            continue;
        if (i + 1 == end || text[i + 1] == '\t')
            return i + 1;
        if (text[i + 1] != '"')
            return at;
        i++;
    }
    return OPEN;
}

/* The first cell from `at` on whose quotes are open at the end of the line, else OPEN. */
static size_t
find_open(const struct pack_rows *r, size_t at)
{
    const unsigned char *text = r->row.data;
    size_t end = line_end(r);
    for (; at < end; at++) {
        size_t behind = text[at] == '"' ? behind_quotes(r, at, at + 1, end) : at;
        if (behind == OPEN)
            return at;
        at = behind;
        while (at < end && text[at] != '\t')
            at++;
    }
    return OPEN;
}

/* Reads on behind a line whose cell at `open` has no second quote yet. */
static enum pack_status
read_further(struct pack_rows *r, size_t open)
{
    size_t kept = r->row.size, behind = OPEN;
    uint64_t line = r->line;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && open != OPEN) {
        size_t seen = r->row.size;
        bool is_far = seen - kept > AHEAD_MAX;
        if (pack_rows_is_at_end(r) && r->is_cut)
            return PACK_OK; /* it goes on behind what is at hand */
        if (is_far || pack_rows_is_at_end(r))
            break;
        status = pack_rows_read_on(r);
        behind = status == PACK_OK ? behind_quotes(r, open, seen, line_end(r)) : OPEN;
        if (behind == open)
            break;
        if (status != PACK_OK || behind == OPEN)
            continue;
        kept = r->row.size;
        line = r->line;
        open = find_open(r, behind);
    }
    return status == PACK_OK && r->row.size > kept ? pack_rows_give_back(r, kept, line)
                                                   : status;
}

/* Takes the quotes from a cell that ends at `end`. Returns its new end. */
static size_t
unquote(struct pack_rows *r, size_t end)
{
    unsigned char *text = r->row.data;
    size_t to = r->cell_start;
    for (size_t i = to + 1; i + 1 < end; i++) {
        text[to++] = text[i];
        i += text[i] == '"';
    }
    return to;
}

/* Cuts the row into cells at single tabs, outside of quotes. */
static enum pack_status
split_tabs(struct pack_rows *r)
{
    enum pack_status status = pack_buf_append(&r->row, "\t", 1, r->err);
    while (status == PACK_OK && r->cell_start < r->row.size) {
        size_t start = r->cell_start, end = start;
        if (r->row.data[start] == '"' && !r->syntax.keeps_quotes)
            end = behind_quotes(r, start, start + 1, r->row.size - 1);
        bool is_quoted = end > start && end != OPEN;
        end = is_quoted ? end : start;
        while (r->row.data[end] != '\t')
            end++;
        status = is_quoted
                     ? pack_rows_close_cell(r, unquote(r, end), false)
                     : pack_rows_close_cell(r, end, pack_rows_is_trimmed(r));
        r->cell_start = end + 1;
    }
    return status;
}

enum pack_status
pack_rows_read_tsv(struct pack_rows *r)
{
    enum pack_status status = pack_rows_read_on(r);
    size_t open = status == PACK_OK && !r->syntax.keeps_quotes ? find_open(r, 0) : OPEN;
    if (open != OPEN)
        status = read_further(r, open);
    r->row.size = line_end(r);
    return status == PACK_OK && r->row.size ? split_tabs(r) : status;
}
