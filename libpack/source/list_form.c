/*
 * What bytes alone tell comes first: files of other kinds, JSON, CelebA's count of rows.
 * Then the first line, which is a header when it has a name that headers have. A list
 * without one is cut in each way that there is, and the way that gives one column of file
 * names is taken:
 *
 *     a.jpg                 one path per line
 *     my a.jpg 3            path and label: cut at the last blank, or behind the ending
 *     3 my a.jpg            label and path, or one path: the files decide, else the user
 *     Smith, J.jpg          the same with a comma
 *     17 <tab> 3.0 <tab> a.jpg    im2rec's
 *
 * Where two ways remain nothing is guessed.
 */
#include "libpack/source/list_form_parts.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/name.h"

/* ------------------------------------------------------------ other files */

/* What files of other kinds start with, and what makes lists of them. */
static const struct {
    const char *bytes;
    size_t at, size;
    const char *what, *remedy;
} others[] = {
    { "\x89HDF\r\n\x1a\n", 0, 8, "an HDF5 file", "" },
    { "\xff\xd8\xff", 0, 3, "an image (JPEG)", "" },
    { "\x89PNG\r\n\x1a\n", 0, 8, "an image (PNG)", "" },
    { "GIF87a", 0, 6, "an image (GIF)", "" },
    { "GIF89a", 0, 6, "an image (GIF)", "" },
    { "WEBPVP8", 8, 7, "an image (WebP)", "" },
    { "II*\0", 0, 4, "an image (TIFF)", "" },
    { "MM\0*", 0, 4, "an image (TIFF)", "" },
    { "\0\0\0\0", 6, 4, "an image (BMP)", "" }, /* behind BM and a size */
    { "\x1f\x8b\x08", 0, 3, "compressed (gzip)", ": unpack it first" },
    { "\x28\xb5\x2f\xfd", 0, 4, "compressed (zstd)", ": unpack it first" },
    { "BZh", 0, 3, "compressed (bzip2)", ": unpack it first" },
    { "\xfd" "7zXZ\0", 0, 6, "compressed (xz)", ": unpack it first" },
    { "ustar", 257, 5, "a tar archive", ": unpack it first" },
    { "PK\3\4", 0, 4, "a ZIP archive or an Excel workbook",
      ": unpack it, or save it as CSV" },
    { "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0, 8, "an Excel workbook", ": save it as CSV" },
    { "PAR1", 0, 4, "a Parquet file", ": pandas' read_parquet().to_csv() makes one" },
    { "\x80\4\x95", 0, 3, "a Python pickle", ": pandas' read_pickle().to_csv() makes one" },
    { "\x80\5\x95", 0, 3, "a Python pickle", ": pandas' read_pickle().to_csv() makes one" },
    { "\x93NUMPY", 0, 6, "a NumPy array", ": its paths are to be lines of a text" },
    { "MATLAB 5.0", 0, 10, "a MATLAB file", ": writetable() makes a CSV of a table" },
    { "SQLite format 3\0", 0, 16, "an SQLite database", ": export a table of it as CSV" },
    { "<?xml", 0, 5, "an XML file", "" },
};

static bool
starts_so(const struct pack_list_head *h, size_t i)
{
    bool is_bmp = others[i].at == 6;
    return h->size >= others[i].at + others[i].size &&
           memcmp(h->bytes + others[i].at, others[i].bytes, others[i].size) == 0 &&
           (!is_bmp || memcmp(h->bytes, "BM", 2) == 0);
}

/* Whether `n` characters of ASCII or Latin-1 begin at `at`, their high bytes being first, or
 * last. */
static bool
are_wide(const struct pack_list_head *h, size_t at, size_t n, bool is_high_first)
{
    if (h->size < at + 2 * n)
        return false;
    for (size_t i = at; i < at + 2 * n; i += 2)
        if (h->bytes[i + !is_high_first] != 0 || h->bytes[i + is_high_first] == 0)
            return false;
    return true;
}

/* What iconv calls the encoding of a text in UTF-16, NULL for others: a byte order mark and a
 * character tell, or some without a mark, where no bytes of zero are between paths. */
static const char *
find_utf16(const struct pack_list_head *h, const struct pack_list_params *params)
{
    enum { ENOUGH = 4 };
    const unsigned char *b = h->bytes;
    if (h->size >= 2 && ((b[0] == 0xff && b[1] == 0xfe && are_wide(h, 2, 1, false)) ||
                         (b[0] == 0xfe && b[1] == 0xff && are_wide(h, 2, 1, true))))
        return "UTF-16";
    if (params->format == PACK_LIST_NULL)
        return NULL;
    return are_wide(h, 0, ENOUGH, false)  ? "UTF-16LE"
           : are_wide(h, 0, ENOUGH, true) ? "UTF-16BE"
                                          : NULL;
}

static enum pack_status
refuse_utf16(const struct pack_form_guess *g, const char *encoding)
{
    struct pack_buf word = { 0 };
    enum pack_status status = pack_name_word(g->raw_name, &word, g->err);
    if (status == PACK_OK)
        status = pack_fail(g->err, PACK_ERR_FORMAT,
                           "'%s' is UTF-16 text, as Excel's \"Unicode Text\" and "
                           "PowerShell write it: save it as CSV UTF-8, or convert it, by "
                           "iconv -f %s -t UTF-8 %.*s",
                           g->name, encoding, (int)word.size, (const char *)word.data);
    pack_buf_done(&word);
    return status;
}

static enum pack_status
refuse_others(const struct pack_form_guess *g)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (starts_so(g->head, i))
            return pack_fail_param(
                g->err, PACK_ERR_FORMAT,
                strncmp(others[i].what, "an image", 8) == 0 ? "list" : NULL,
                "'%s' is %s, not a list of images%s", g->name, others[i].what,
                others[i].remedy);
    const char *encoding = find_utf16(g->head, g->params);
    return encoding ? refuse_utf16(g, encoding) : PACK_OK;
}

/* ------------------------------------------------------------------- CelebA */

static bool
is_count(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= 19 && text[n] == '\0';
}

/* Whether the rows are a number alone, names of columns, and cells of several. */
static enum pack_status
is_counted(struct pack_rows *r, bool *is_so, struct pack_error *err)
{
    bool found;
    *is_so = false;
    enum pack_status status = pack_rows_try(r, &found, err);
    if (!found || r->n_cells != 1 || !is_count(pack_rows_cell(r, 0)))
        return status;
    status = pack_rows_try(r, &found, err);
    if (!found || pack_survey_file_name(pack_rows_cell(r, 0)))
        return status;
    size_t n_names = r->n_cells;
    status = pack_rows_try(r, &found, err);
    *is_so = (found ? r->n_cells : n_names) > 1;
    return status;
}

/* A number alone, a line of names, and rows that have a cell more than it. */
static enum pack_status
take_count(struct pack_form_guess *g, bool *taken)
{
    struct pack_rows_syntax blanks = { .cut = PACK_ROWS_BLANKS,
                                       .terminator = g->terminator };
    pack_rows_init(g->rows, &blanks, g->head, NULL, "", NULL);
    enum pack_status status = is_counted(g->rows, taken, g->err);
    pack_rows_done(g->rows);
    if (status != PACK_OK || !*taken)
        return status;
    g->form->rows = blanks;
    g->form->has_count = g->form->has_header = true;
    return pack_form_take_count(g);
}

/* ------------------------------------------------------------------ the text */

/* LF, or CR where there is no LF at all. */
static char
find_terminator(const struct pack_list_head *h)
{
    return !memchr(h->bytes + h->start, '\n', h->size - h->start) &&
                   memchr(h->bytes + h->start, '\r', h->size - h->start)
               ? '\r'
               : '\n';
}

/* Bytes of the mark that NumPy's savetxt() and others put before a header; 0: there is
 * none. */
static size_t
mark_bytes(const struct pack_list_head *h)
{
    size_t at = h->start;
    if (at == h->size || h->bytes[at++] != '#')
        return 0;
    while (at < h->size && (h->bytes[at] == ' ' || h->bytes[at] == '\t'))
        at++;
    return at == h->start + 1 || at == h->size ? 0 : at - h->start;
}

/* The header behind a mark; *taken is false where there are no names that headers have. */
static enum pack_status
take_marked_header(struct pack_form_guess *g, bool *taken)
{
    const struct pack_list_head *whole = g->head;
    struct pack_list_head behind = *whole;
    size_t n = mark_bytes(whole);
    if (n == 0)
        return PACK_OK;
    behind.start += n;
    g->head = &behind;
    enum pack_status status = pack_form_take_header(g, taken);
    g->head = whole;
    g->form->mark_bytes = *taken ? n : 0;
    return status;
}

static enum pack_status
recognise_text(struct pack_form_guess *g)
{
    bool taken = false;
    enum pack_status status = PACK_OK;
    bool asks = g->params->path_column || g->params->no_header;
    if (!asks)
        status = take_count(g, &taken);
    if (status == PACK_OK && !taken && !g->params->no_header)
        status = take_marked_header(g, &taken);
    if (status == PACK_OK && !taken && !g->params->no_header)
        status = pack_form_take_header(g, &taken);
    return status == PACK_OK && !taken ? pack_form_take_bare(g) : status;
}

static bool
is_blank(const struct pack_list_head *h)
{
    size_t at = h->start;
    while (at < h->size && h->bytes[at] && strchr(" \t\r\n", h->bytes[at]))
        at++;
    return at == h->size;
}

static enum pack_status
recognise(struct pack_form_guess *g)
{
    const struct pack_list_head *h = g->head;
    bool taken = false;
    enum pack_status status = refuse_others(g);
    if (status != PACK_OK)
        return status;
    if (g->params->format != PACK_LIST_ANY)
        return pack_form_take_whole(g, g->params->format == PACK_LIST_NULL ? '\0' : '\n');
    if (h->is_whole && is_blank(h))
        return pack_fail(g->err, PACK_ERR_NOT_FOUND, "list '%s' is empty", g->name);
    g->terminator = find_terminator(h);
    status = pack_form_take_json(g, &taken);
    return status == PACK_OK && !taken ? recognise_text(g) : status;
}

enum pack_status
pack_list_recognise(const struct pack_list_head *head, const char *name,
                    const struct pack_list_params *params, struct pack_list_form *form,
                    struct pack_error *err)
{
    struct pack_form_guess g = {
        .head = head, .params = params, .raw_name = name, .form = form, .err = err
    };
    pack_name_text(name, g.name);
    g.ends_in_csv = strlen(name) >= 4 && !strcasecmp(name + strlen(name) - 4, ".csv");
    *form = (struct pack_list_form){ .label_at = PACK_LIST_NO_COLUMN };
    g.rows = malloc(sizeof *g.rows);
    if (!g.rows)
        return pack_fail_memory(err, "a list");
    enum pack_status status = recognise(&g);
    free(g.rows);
    return status;
}
