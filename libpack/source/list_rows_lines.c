/* Lines cut at blanks, or not at all; comments between them. */
#include "libpack/source/list_rows_parts.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/source/list_survey.h"

static bool
is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts the line in the row into cells at runs of blanks; may find none. */
static enum pack_status
split_blanks(struct pack_rows *r)
{
    enum pack_status status = pack_buf_append(&r->row, "", 1, r->err);
    const char *text = (const char *)r->row.data;
    size_t n;
    for (size_t i = 0; status == PACK_OK; i += n + 1) {
        i += strspn(text + i, " \t");
        n = strcspn(text + i, " \t");
        if (n == 0)
            return PACK_OK;
        bool is_last = text[i + n] == '\0';
        r->cell_start = i;
        status = pack_rows_close_cell(r, i + n, false);
        if (is_last)
            return status;
    }
    return status;
}

/* Cuts the line in the row once, at its first or last run of blanks; those at its ends do
 * not count, and a line without others is one cell. */
static enum pack_status
split_once(struct pack_rows *r)
{
    enum pack_status status = pack_buf_append(&r->row, "", 1, r->err);
    if (status != PACK_OK)
        return status;
    const char *text = (const char *)r->row.data;
    size_t start = strspn(text, " \t"), end = r->row.size - 1, cut;
    while (end > start && is_space(text[end - 1]))
        end--;
    if (start == end)
        return PACK_OK;
    if (r->syntax.cut == PACK_ROWS_FIRST)
        cut = start + strcspn(text + start, " \t");
    else
        for (cut = end; cut > start && !is_space(text[cut - 1]);)
            cut--;
    r->cell_start = start;
    if (cut <= start || cut >= end)
        return pack_rows_close_cell(r, end, false);
    status = pack_rows_close_cell(r, cut, true);
    r->cell_start = cut + (r->syntax.cut == PACK_ROWS_FIRST);
    return status == PACK_OK ? pack_rows_close_cell(r, end, true) : status;
}

/* Counts a comment, and leaves the row without cells then. */
static enum pack_status
pass_comment(struct pack_rows *r)
{
    enum pack_status status = pack_buf_append(&r->row, "", 1, r->err);
    if (status != PACK_OK)
        return status;
    const char *text = (const char *)r->row.data;
    const char *mark = text + strspn(text, " \t");
    r->row.size--;
    if (*mark != '#' || (mark[1] && !is_space(mark[1])) || pack_survey_image_name(text))
        return PACK_OK;
    r->row.size = 0;
    if (r->n_comments++ > 0)
        return PACK_OK;
    r->comment = strdup(mark);
    return r->comment ? PACK_OK : pack_fail_memory(r->err, "a list");
}

enum pack_status
pack_rows_read_cut(struct pack_rows *r)
{
    enum pack_status status = pack_rows_read_line(r);
    if (status == PACK_OK && r->syntax.has_comments)
        status = pass_comment(r);
    if (status != PACK_OK || r->row.size == 0)
        return status;
    switch (r->syntax.cut) {
    case PACK_ROWS_BLANKS: return split_blanks(r);
    case PACK_ROWS_FIRST:
    case PACK_ROWS_LAST: return split_once(r);
    default: return pack_rows_end_cell(r, pack_rows_is_trimmed(r));
    }
}
