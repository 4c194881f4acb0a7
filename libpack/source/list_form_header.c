/* Columns by the names that a header gives them. */
#include "libpack/source/list_form_parts.h"

#include <stdlib.h>
#include <string.h>

static bool
is_among(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(word, words[i]) == 0)
            return true;
    return false;
}

bool
pack_list_names_path(const char *word)
{
    static const char *const words[] = { "path",       "file",       "filename",
                                         "file_name",  "filepath",   "file_path",
                                         "image",      "image_id",   "imageid",
                                         "image_path", "image_name", "img_path" };
    return is_among(word, words, sizeof words / sizeof words[0]);
}

bool
pack_list_names_label(const char *word)
{
    static const char *const words[] = { "label", "class", "target", "category" };
    return is_among(word, words, sizeof words / sizeof words[0]);
}

bool
pack_list_leaves_out(const char *name)
{
    static const char made_up[] = "Unnamed: ";
    size_t n = sizeof made_up - 1;
    return *name == '\0' || (strncmp(name, made_up, n) == 0 && name[n] &&
                             name[n + strspn(name + n, "0123456789")] == '\0');
}

bool
pack_form_column_number(const char *column, size_t *at)
{
    size_t n = strspn(column, "0123456789");
    if (n == 0 || n > 6 || column[n])
        return false;
    unsigned long number = strtoul(column, NULL, 10);
    *at = number ? number - 1 : PACK_LIST_NO_COLUMN;
    return true;
}

/* The first column of this name, exactly or in any case; PACK_LIST_NO_COLUMN. */
static size_t
find_name(const struct pack_rows *header, const char *name)
{
    for (size_t i = 0; i < header->n_cells; i++)
        if (strcmp(pack_rows_cell(header, i), name) == 0)
            return i;
    for (size_t i = 0; i < header->n_cells; i++)
        if (strcasecmp(pack_rows_cell(header, i), name) == 0)
            return i;
    return PACK_LIST_NO_COLUMN;
}

/* A column that the caller names: by a name of the header, which begins behind the first
 * `n_implied` columns, else by its number. */
static enum pack_status
find_given(const struct pack_form_guess *g, const char *param, const char *column,
           size_t n_implied, size_t *at)
{
    const struct pack_rows *header = g->rows;
    char text[PACK_NAME_TEXT_MAX];
    *at = find_name(header, column);
    if (*at != PACK_LIST_NO_COLUMN) {
        *at += n_implied;
        return PACK_OK;
    }
    if (pack_form_column_number(column, at) &&
        (*at == PACK_LIST_NO_COLUMN || *at < n_implied + header->n_cells))
        return PACK_OK;
    return pack_fail_param(g->err, PACK_ERR_ARGUMENT, param,
                           "%s: '%s' has no column '%s', its header has %zu", param,
                           g->name, pack_name_text(column, text), header->n_cells);
}

/* ------------------------------------------------------------------ choosing */

struct choice {
    const char *exact; /* wins over others */
    bool (*is_name)(const char *word);
    const char *param, *what;
};

static const struct choice path_choice = { "path", pack_list_names_path, "path_column",
                                           "the path" };
static const struct choice label_choice = { "label", pack_list_names_label,
                                            "label_column", "the label" };

/* Asks which of two columns it is. */
static enum pack_status
ask_between(const struct pack_form_guess *g, const struct choice *c, size_t a, size_t b)
{
    char one[PACK_NAME_TEXT_MAX], other[PACK_NAME_TEXT_MAX];
    return pack_fail_param(g->err, PACK_ERR_ARGUMENT, c->param,
                           "'%s': columns %zu, '%s', and %zu, '%s', may both be %s",
                           g->name, a + 1, pack_name_text(pack_rows_cell(g->rows, a), one),
                           b + 1, pack_name_text(pack_rows_cell(g->rows, b), other),
                           c->what);
}

/* The column whose name says that it is the path or label, PACK_LIST_NO_COLUMN where none
 * does; of several paths the one whose files are there. */
static enum pack_status
choose(const struct pack_form_guess *g, const struct pack_rows_syntax *syntax,
       const struct choice *c, size_t not_at, size_t *at)
{
    bool looks = c == &path_choice;
    size_t n_most = 0;
    *at = PACK_LIST_NO_COLUMN;
    for (size_t i = 0; i < g->rows->n_cells; i++)
        if (strcmp(pack_rows_cell(g->rows, i), c->exact) == 0 && i != not_at) {
            *at = i;
            return PACK_OK;
        }
    size_t rival = PACK_LIST_NO_COLUMN;
    for (size_t i = 0; i < g->rows->n_cells; i++) {
        if (i == not_at || !c->is_name(pack_rows_cell(g->rows, i)))
            continue;
        struct pack_survey_place place = { *syntax, i, 1, false };
        size_t n = 0;
        enum pack_status status =
            looks ? pack_survey_look(g->head, &place, g->params, &n, g->err) : PACK_OK;
        if (status != PACK_OK)
            return status;
        if (*at == PACK_LIST_NO_COLUMN || n > n_most) {
            rival = PACK_LIST_NO_COLUMN;
            *at = i;
            n_most = n;
        } else if (n == n_most) {
            rival = i;
        }
    }
    return rival == PACK_LIST_NO_COLUMN ? PACK_OK : ask_between(g, c, *at, rival);
}

static enum pack_status
check_label(const struct pack_form_guess *g)
{
    const struct pack_list_form *f = g->form;
    return f->label_at != f->path_at
               ? PACK_OK
               : pack_fail_param(g->err, PACK_ERR_ARGUMENT, "label_column",
                                 "'%s': column %zu cannot be both path and label",
                                 g->name, f->path_at + 1);
}

static enum pack_status
choose_label(const struct pack_form_guess *g, const struct pack_rows_syntax *syntax)
{
    struct pack_list_form *f = g->form;
    if (g->params->no_label) {
        f->label_at = PACK_LIST_NO_COLUMN;
        return PACK_OK;
    }
    enum pack_status status =
        g->params->label_column
            ? find_given(g, "label_column", g->params->label_column, 0, &f->label_at)
            : choose(g, syntax, &label_choice, f->path_at, &f->label_at);
    return status == PACK_OK ? check_label(g) : status;
}

/* The columns that become datasets. */
static void
count_further(struct pack_form_guess *g)
{
    g->n_columns = g->rows->n_cells;
    g->n_further = 0;
    for (size_t i = 0; i < g->rows->n_cells; i++)
        g->n_further += i != g->form->path_at && i != g->form->label_at &&
                        !g->form->is_escaped &&
                        !pack_list_leaves_out(pack_rows_cell(g->rows, i));
}

/* What h5pack writes with --rejects: paths in their stored form, and why. */
static bool
is_rejects(const struct pack_rows *header, const struct pack_rows_syntax *syntax)
{
    return syntax->cut == PACK_ROWS_TSV && header->n_cells == 2 &&
           !strcmp(pack_rows_cell(header, 0), "path") &&
           !strcmp(pack_rows_cell(header, 1), "reason");
}

enum pack_status
pack_form_take_count(struct pack_form_guess *g)
{
    struct pack_list_form *f = g->form;
    pack_rows_init(g->rows, &f->rows, g->head, NULL, g->raw_name, g->err);
    enum pack_status status = pack_rows_next(g->rows);
    if (status == PACK_OK)
        status = pack_rows_next(g->rows);
    bool has_path = status == PACK_OK && pack_list_names_path(pack_rows_cell(g->rows, 0));
    if (status == PACK_OK && g->params->label_column) {
        status = find_given(g, "label_column", g->params->label_column, !has_path,
                            &f->label_at);
    } else if (status == PACK_OK && !g->params->no_label) {
        size_t named = find_name(g->rows, "label");
        f->label_at = named == PACK_LIST_NO_COLUMN ? named : named + !has_path;
    }
    if (status == PACK_OK)
        status = check_label(g);
    if (status == PACK_OK) {
        g->n_columns = g->rows->n_cells + !has_path;
        g->n_further = g->n_columns - 1 - (f->label_at != PACK_LIST_NO_COLUMN);
        pack_form_describe(g, NULL);
    }
    pack_rows_done(g->rows);
    return status;
}

enum pack_status
pack_form_name_columns(struct pack_form_guess *g, const struct pack_rows_syntax *syntax,
                       size_t path_at)
{
    struct pack_list_form *f = g->form;
    enum pack_status status = PACK_OK;
    pack_rows_init(g->rows, syntax, g->head, NULL, g->raw_name, g->err);
    status = pack_rows_next(g->rows);
    f->has_header = true;
    f->path_at = path_at;
    if (status == PACK_OK && g->params->path_column)
        status = find_given(g, "path_column", g->params->path_column, 0, &f->path_at);
    else if (status == PACK_OK && path_at == PACK_LIST_NO_COLUMN)
        status = choose(g, syntax, &path_choice, PACK_LIST_NO_COLUMN, &f->path_at);
    if (status == PACK_OK && f->path_at == PACK_LIST_NO_COLUMN)
        status = pack_fail_param(g->err, PACK_ERR_ARGUMENT, "path_column",
                                 "'%s': no column of its header is known to be the path",
                                 g->name);
    if (status == PACK_OK)
        status = choose_label(g, syntax);
    if (status == PACK_OK) {
        f->rows = *syntax;
        f->is_escaped = is_rejects(g->rows, syntax);
        f->rows.keeps_quotes = f->is_escaped;
        count_further(g);
        status = pack_form_trim(g, syntax->cut == PACK_ROWS_CSV ||
                                       syntax->cut == PACK_ROWS_TSV);
    }
    if (status == PACK_OK)
        pack_form_describe(g, g->rows);
    pack_rows_done(g->rows);
    return status;
}

/* ------------------------------------------------------------------- headers */

/* Whether a row of names is in g->rows: one of them is known, and none is a file's. */
static bool
is_header(const struct pack_form_guess *g)
{
    const struct pack_list_params *p = g->params;
    bool known = false;
    for (size_t i = 0; i < g->rows->n_cells; i++) {
        const char *cell = pack_rows_cell(g->rows, i);
        if (pack_survey_image_name(cell))
            return false;
        known |= pack_list_names_path(cell) ||
                 (g->rows->n_cells > 1 && pack_list_names_label(cell)) ||
                 (p->path_column && strcmp(cell, p->path_column) == 0) ||
                 (p->label_column && strcmp(cell, p->label_column) == 0);
    }
    return known;
}

/* The only word of the first line, "image", may be a file, or a folder in front of the
 * files in it, as find lists them. */
static enum pack_status
is_path(const struct pack_form_guess *g, const char *word, bool *is_one)
{
    struct pack_rows_syntax whole = { .cut = PACK_ROWS_WHOLE, .terminator = g->terminator };
    const struct pack_list_params *p = g->params;
    size_t n = strlen(word);
    bool found;
    *is_one = p->look && p->look(p->look_context, word) == PACK_LOOK_FILE;
    if (*is_one)
        return PACK_OK;
    struct pack_rows *r = malloc(sizeof *r);
    if (!r)
        return pack_fail_memory(g->err, "a list");
    pack_rows_init(r, &whole, g->head, NULL, "", NULL);
    enum pack_status status = pack_rows_try(r, &found, g->err);
    if (found)
        status = pack_rows_try(r, &found, g->err);
    *is_one = found && strncmp(pack_rows_cell(r, 0), word, n) == 0 &&
              pack_rows_cell(r, 0)[n] == '/';
    pack_rows_done(r);
    free(r);
    return status;
}

/* Names that blanks separate are words of a text as well: two are to be a path's and a
 * label's, more are to stand above as many cells, file names among them. */
static enum pack_status
fits_blanks(struct pack_form_guess *g, struct pack_rows_syntax *syntax, bool *fits)
{
    const struct pack_rows *header = g->rows;
    struct pack_survey s;
    bool first = pack_list_names_path(pack_rows_cell(header, 0));
    if (header->n_cells == 2) {
        *fits = first ? pack_list_names_label(pack_rows_cell(header, 1))
                      : pack_list_names_label(pack_rows_cell(header, 0)) &&
                            pack_list_names_path(pack_rows_cell(header, 1));
        syntax->cut = first ? PACK_ROWS_LAST : PACK_ROWS_FIRST;
        return PACK_OK;
    }
    enum pack_status status = pack_survey_take(g->head, syntax, &s, g->err);
    *fits = false;
    for (size_t i = 0; status == PACK_OK && s.is_even && i < s.n_cells; i++)
        *fits |= s.columns[i].n_image > 0 && s.columns[i].n_like + 1 == s.n_rows;
    free(s.columns);
    return status;
}

/* Whether the first line, cut like that, is a header; *syntax may become another. */
static enum pack_status
is_cut_so(struct pack_form_guess *g, struct pack_rows_syntax *syntax, bool *fits)
{
    bool is_whole = syntax->cut == PACK_ROWS_WHOLE;
    bool is_quoted = syntax->cut == PACK_ROWS_CSV && !syntax->separator &&
                     g->head->bytes[g->head->start] == '"';
    *fits = false;
    pack_rows_init(g->rows, syntax, g->head, NULL, g->raw_name, g->err);
    enum pack_status status = pack_rows_next(g->rows);
    size_t n = status == PACK_OK ? g->rows->n_cells : 0;
    bool is_one = false;
    if (n > 1 || (n == 1 && (is_whole || is_quoted)))
        *fits = is_header(g);
    if (*fits && is_whole)
        status = is_path(g, pack_rows_cell(g->rows, 0), &is_one);
    *fits = *fits && !is_one;
    if (*fits && syntax->cut == PACK_ROWS_BLANKS)
        status = fits_blanks(g, syntax, fits);
    if (*fits && is_whole && g->ends_in_csv)
        syntax->cut = PACK_ROWS_CSV;
    pack_rows_done(g->rows);
    return status;
}

/* Where only labels are named, the column of file names is the path. */
static enum pack_status
find_path(const struct pack_form_guess *g, const struct pack_rows_syntax *syntax,
          size_t *path_at)
{
    struct pack_survey s;
    size_t n = 0;
    *path_at = PACK_LIST_NO_COLUMN;
    enum pack_status status = pack_survey_take(g->head, syntax, &s, g->err);
    for (size_t i = 0; status == PACK_OK && i < s.n_cells; i++)
        if (s.n_rows > 1 && s.columns[i].n_like + 1 == s.n_rows && s.columns[i].n_image) {
            *path_at = i;
            n++;
        }
    if (n != 1)
        *path_at = PACK_LIST_NO_COLUMN;
    free(s.columns);
    return status;
}

/* Whether a name of the header, or the caller, says which column the path is. */
static enum pack_status
names_path(const struct pack_form_guess *g, const struct pack_rows_syntax *syntax,
           bool *names)
{
    bool found;
    *names = g->params->path_column != NULL;
    pack_rows_init(g->rows, syntax, g->head, NULL, "", NULL);
    enum pack_status status = pack_rows_try(g->rows, &found, g->err);
    for (size_t i = 0; found && i < g->rows->n_cells; i++)
        *names |= pack_list_names_path(pack_rows_cell(g->rows, i));
    pack_rows_done(g->rows);
    return status;
}

enum pack_status
pack_form_take_header(struct pack_form_guess *g, bool *taken)
{
    const struct pack_rows_syntax ways[] = {
        { .cut = PACK_ROWS_TSV, .trims = true },
        { .cut = PACK_ROWS_CSV, .trims = true },
        { .cut = PACK_ROWS_CSV, .separator = ';', .trims = true },
        { .cut = PACK_ROWS_BLANKS, .has_comments = true },
        { .cut = PACK_ROWS_WHOLE, .trims = true, .has_comments = true },
    };
    size_t path_at = PACK_LIST_NO_COLUMN;
    bool names = false;
    *taken = false;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct pack_rows_syntax syntax = ways[i];
        syntax.terminator = g->terminator;
        enum pack_status status = is_cut_so(g, &syntax, taken);
        if (status != PACK_OK && status != PACK_ERR_FORMAT)
            return status;
        if (status != PACK_OK || !*taken)
            continue;
        status = names_path(g, &syntax, &names);
        if (status == PACK_OK && !names)
            status = find_path(g, &syntax, &path_at);
        return status == PACK_OK ? pack_form_name_columns(g, &syntax, path_at) : status;
    }
    return PACK_OK;
}
