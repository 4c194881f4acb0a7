/* Lists without a header: the way to cut lines that gives a column of file names. */
#include "libpack/source/list_form_ways.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ labels */

static bool
is_empty(const struct pack_survey *s, size_t at)
{
    return s->columns[at].n_empty == s->n_rows;
}

/* A number for each image, counted up or in front of labels and path (im2rec's). */
static bool
is_index(const struct way *w, size_t at)
{
    const struct pack_survey *s = &w->survey;
    bool is_im2rec = w->syntax.cut == PACK_ROWS_TSV && w->path_at + 1 == s->n_cells;
    return at == 0 && (s->columns[0].n_counting == s->n_rows ||
                       (is_im2rec && s->columns[0].n_number == s->n_rows)) &&
           s->n_rows > 0;
}

static enum pack_status
ask_label(const struct bare *b, size_t one, size_t other)
{
    return pack_fail_param(b->g->err, PACK_ERR_ARGUMENT, "label_column",
                           "'%s': columns %zu and %zu may both be the label, of which an "
                           "image has one",
                           b->g->name, one + 1, other + 1);
}

/* The only column that is not the path, nor empty, nor a mere index. */
static enum pack_status
find_label(const struct bare *b, const struct way *w, size_t *label_at)
{
    const struct pack_survey *s = &w->survey;
    bool skips_index = s->n_cells > 2;
    *label_at = PACK_LIST_NO_COLUMN;
    for (size_t i = 0; i < s->n_cells; i++) {
        if (i == w->path_at || is_empty(s, i) || (skips_index && is_index(w, i)))
            continue;
        if (*label_at != PACK_LIST_NO_COLUMN)
            return ask_label(b, *label_at, i);
        *label_at = i;
    }
    return PACK_OK;
}

static enum pack_status
find_given_label(const struct bare *b, const struct way *w, size_t *label_at)
{
    const struct pack_form_guess *g = b->g;
    const char *given = g->params->label_column;
    char text[PACK_NAME_TEXT_MAX];
    if (!pack_form_column_number(given, label_at))
        return pack_fail_param(g->err, PACK_ERR_ARGUMENT, "label_column",
                               "label_column: '%s' has no header with a column '%s'",
                               g->name, pack_name_text(given, text));
    if (*label_at != PACK_LIST_NO_COLUMN && *label_at >= w->survey.n_cells)
        return pack_fail_param(g->err, PACK_ERR_ARGUMENT, "label_column",
                               "label_column: '%s' has no column %zu, its first line has "
                               "%zu",
                               g->name, *label_at + 1, w->survey.n_cells);
    if (*label_at == w->path_at)
        return pack_fail_param(g->err, PACK_ERR_ARGUMENT, "label_column",
                               "'%s': column %zu cannot be both path and label", g->name,
                               *label_at + 1);
    return PACK_OK;
}

/* ------------------------------------------------------------------ choosing */

/* Takes the list in this way, w->path_at being the path. */
static enum pack_status
take(const struct bare *b, const struct way *w)
{
    struct pack_form_guess *g = b->g;
    struct pack_list_form *f = g->form;
    enum pack_status status = PACK_OK;
    if (w->has_header && !g->params->no_header)
        return pack_form_name_columns(g, &w->syntax, w->path_at);
    f->rows = w->syntax;
    f->path_at = w->path_at;
    bool cuts_once = w->syntax.cut == PACK_ROWS_LAST || w->syntax.cut == PACK_ROWS_FIRST;
    f->checks_paths =
        cuts_once && w->survey.columns[w->path_at].n_like == w->survey.n_rows;
    if (g->params->no_label)
        f->label_at = PACK_LIST_NO_COLUMN;
    else if (g->params->label_column)
        status = find_given_label(b, w, &f->label_at);
    else
        status = find_label(b, w, &f->label_at);
    if (status != PACK_OK)
        return status;
    g->n_columns = w->survey.n_cells;
    status = pack_form_trim(g, w->syntax.cut != PACK_ROWS_WHOLE);
    if (status == PACK_OK)
        pack_form_describe(g, NULL);
    return status;
}

static enum pack_status
take_lines(const struct bare *b)
{
    struct way whole = b->ways[WAY_WHOLE];
    whole.path_at = 0;
    whole.has_header = false;
    return whole.survey.n_rows ? take(b, &whole)
                               : pack_form_take_whole(b->g, b->g->terminator);
}

/* The first line, for a question. */
static const char *
first_line(const struct bare *b, char text[PACK_NAME_TEXT_MAX])
{
    struct pack_rows *r = b->g->rows;
    pack_rows_init(r, &b->ways[WAY_WHOLE].syntax, b->g->head, NULL, "", NULL);
    bool has_line = pack_rows_next(r) == PACK_OK && r->n_cells > 0;
    pack_name_text(has_line ? pack_rows_cell(r, 0) : "", text);
    pack_rows_done(r);
    return text;
}

/* The one of `n` ways whose files are there; asks where none is, or several are. */
static enum pack_status
take_there(const struct bare *b, const int *ways, int n)
{
    char text[PACK_NAME_TEXT_MAX];
    size_t n_most = 0, n_there;
    int best = -1;
    bool is_tied = false;
    for (int i = 0; i < n; i++) {
        enum pack_status status = pack_ways_look(b, ways[i], &n_there);
        if (status != PACK_OK)
            return status;
        is_tied = n_there == n_most ? is_tied || n_there > 0 : n_there < n_most && is_tied;
        if (n_there <= n_most)
            continue;
        n_most = n_there;
        best = ways[i];
    }
    if (best >= 0 && !is_tied)
        return best == WAY_WHOLE ? take_lines(b) : take(b, &b->ways[best]);
    return pack_fail_param(
        b->g->err, PACK_ERR_ARGUMENT, "path_column",
        "'%s': a line such as '%s' may be one path, or a label and a path, and %s",
        b->g->name, first_line(b, text),
        is_tied ? "there are files of both names" : "there is no file of either name");
}

/* Cut at tabs, or the whole lines where only these are there. */
static enum pack_status
take_tabs(const struct bare *b)
{
    size_t n_cut, n_whole = 0;
    enum pack_status status = pack_ways_look(b, WAY_TSV, &n_cut);
    if (status == PACK_OK && n_cut == 0)
        status = pack_ways_look(b, WAY_WHOLE, &n_whole);
    if (status != PACK_OK)
        return status;
    return n_whole ? take_lines(b) : take(b, &b->ways[WAY_TSV]);
}

/* Blanks: path and label, the reverse, a name with blanks. */
static enum pack_status
take_blanks(const struct bare *b, bool *taken)
{
    const struct way *first = &b->ways[WAY_FIRST], *blanks = &b->ways[WAY_BLANKS];
    *taken = true;
    if (pack_ways_fit(b, WAY_LAST))
        return take(b, &b->ways[WAY_LAST]);
    if (pack_ways_fit(b, WAY_FIRST) && first->path_at == 0) {
        bool has_numbers = pack_ways_fit(b, WAY_BLANKS);
        for (size_t i = 1; has_numbers && i < blanks->survey.n_cells; i++)
            has_numbers = blanks->survey.columns[i].n_number == blanks->survey.n_rows;
        return take(b, has_numbers ? blanks : first);
    }
    if (pack_ways_fit(b, WAY_FIRST)) {
        const int ways[] = { WAY_WHOLE, WAY_FIRST, WAY_BLANKS };
        return take_there(b, ways, pack_ways_fit(b, WAY_BLANKS) ? 3 : 2);
    }
    *taken = pack_ways_fit(b, WAY_BLANKS);
    return *taken ? take(b, blanks) : PACK_OK;
}

/* ---------------------------------------------------- without names of images */

enum { COLUMNS_LOOKED_AT = 8 };

/* The column of which most files are there, among the first ones. */
struct most {
    struct way way;
    size_t n_there;
    bool is_tied; /* of another column as many are, with endings added */
};

/* Takes the column of a way of which more files are there than before. */
static enum pack_status
look_at_columns(const struct bare *b, int way, bool adds_endings, struct most *most)
{
    struct way w = b->ways[way];
    bool is_cut = w.survey.is_even && !w.survey.is_broken && w.survey.n_cells > 1;
    size_t n_columns = way == WAY_WHOLE || is_cut ? w.survey.n_cells : 0, n_there;
    if (n_columns > COLUMNS_LOOKED_AT)
        n_columns = COLUMNS_LOOKED_AT;
    w.has_header = false;
    for (w.path_at = 0; w.path_at < n_columns; w.path_at++) {
        struct pack_survey_place place = { w.syntax, w.path_at, 0, adds_endings };
        enum pack_status status =
            pack_survey_look(b->g->head, &place, b->g->params, &n_there, b->g->err);
        if (status != PACK_OK)
            return status;
        if (adds_endings && n_there > 0 && n_there == most->n_there)
            most->is_tied |= w.path_at != most->way.path_at;
        if (n_there > most->n_there)
            *most = (struct most){ w, n_there, false };
    }
    return PACK_OK;
}

/* No way gives file names that end as images do: the files that are there decide, as they are
 * named, else with an ending; then not where those of two columns are. */
static enum pack_status
take_unlike(const struct bare *b)
{
    char text[PACK_NAME_TEXT_MAX];
    bool has_columns = false;
    struct most most = { b->ways[WAY_WHOLE], 0, false };
    for (int i = 2 * N_WAYS; i-- > 0 && (most.n_there == 0 || i >= N_WAYS);) {
        int way = i % N_WAYS;
        const struct pack_survey *s = &b->ways[way].survey;
        enum pack_status status = look_at_columns(b, way, i < N_WAYS, &most);
        if (status != PACK_OK)
            return status;
        has_columns |= way != WAY_WHOLE && (!s->is_even || s->n_cells > 1);
    }
    if ((most.n_there > 0 && !most.is_tied) || !has_columns) {
        if (most.way.syntax.cut == PACK_ROWS_WHOLE)
            return take_lines(b);
        enum pack_status status = pack_way_look_for_header(b, &most.way);
        return status == PACK_OK ? take(b, &most.way) : status;
    }
    return pack_fail_param(
        b->g->err, PACK_ERR_ARGUMENT, "path_column",
        "'%s': no column of it is known to be the path, it starts with '%s'", b->g->name,
        first_line(b, text));
}

/* ------------------------------------------------------------------ as asked */

static bool
is_like(const struct way *w, size_t at)
{
    return at < w->survey.n_cells && w->survey.columns[at].n_like == w->survey.n_rows;
}

/* How blanks cut the lines for the path to be column `at`. */
static int
way_of_column(const struct bare *b, size_t at)
{
    const struct way *w = b->ways;
    if (at == 0)
        return !is_like(&w[WAY_LAST], 0) && is_like(&w[WAY_FIRST], 0) ? WAY_FIRST
                                                                       : WAY_LAST;
    if (at == 1 && (is_like(&w[WAY_FIRST], 1) || !w[WAY_BLANKS].survey.is_even))
        return WAY_FIRST;
    return WAY_BLANKS;
}

/* The path is in column params->path_column. */
static enum pack_status
take_given(const struct bare *b)
{
    const struct pack_form_guess *g = b->g;
    const struct way *w = b->ways;
    char text[PACK_NAME_TEXT_MAX];
    size_t at;
    if (!pack_form_column_number(g->params->path_column, &at))
        return pack_fail_param(g->err, PACK_ERR_ARGUMENT, "path_column",
                               "path_column: '%s' has no header with a column '%s'",
                               g->name, pack_name_text(g->params->path_column, text));
    if (at == PACK_LIST_NO_COLUMN)
        return take_lines(b);
    int way = w[WAY_TSV].survey.n_cells > 1         ? WAY_TSV
              : w[WAY_CSV].survey.n_cells > 1       ? WAY_CSV
              : w[WAY_SEMICOLON].survey.n_cells > 1 ? WAY_SEMICOLON
                                                    : way_of_column(b, at);
    if (at == 0 && w[way].survey.n_cells == 1)
        return take_lines(b);
    if (at >= w[way].survey.n_cells)
        return pack_fail_param(g->err, PACK_ERR_ARGUMENT, "path_column",
                               "path_column: '%s' has no column %zu, its first line has "
                               "%zu",
                               g->name, at + 1, w[way].survey.n_cells);
    struct way chosen = w[way];
    chosen.has_header = pack_way_is_headed(&chosen, at);
    chosen.path_at = at;
    enum pack_status status = chosen.survey.columns[at].n_image == 0
                                  ? pack_way_look_for_header(b, &chosen)
                                  : PACK_OK;
    return status == PACK_OK ? take(b, &chosen) : status;
}

/* Commas or semicolons; a label in front of the path may be part of it. */
static enum pack_status
take_separated(const struct bare *b, int way)
{
    const struct way *w = &b->ways[way];
    if (w->path_at + 1 == w->survey.n_cells && !w->has_header &&
        pack_ways_fit(b, WAY_WHOLE))
        return take_there(b, (const int[]){ WAY_WHOLE, way }, 2);
    return take(b, w);
}

static enum pack_status
choose(struct bare *b)
{
    bool taken = false;
    if (b->ways[WAY_WHOLE].survey.n_rows == 0)
        return take_lines(b); /* reading them will say why */
    if (b->g->params->path_column)
        return take_given(b);
    for (int i = WAY_TSV; i <= WAY_SEMICOLON; i++)
        if (b->ways[i].survey.is_even && b->ways[i].n_paths > 1)
            return pack_fail_param(b->g->err, PACK_ERR_ARGUMENT, "path_column",
                                   "'%s': columns %zu and %zu may both be the path",
                                   b->g->name, b->ways[i].paths[0] + 1,
                                   b->ways[i].paths[1] + 1);
    if (pack_ways_fit(b, WAY_TSV))
        return take_tabs(b);
    for (int i = WAY_CSV; i <= WAY_SEMICOLON; i++)
        if (pack_ways_fit(b, i))
            return take_separated(b, i);
    enum pack_status status = take_blanks(b, &taken);
    if (taken || status != PACK_OK)
        return status;
    bool are_paths = pack_ways_fit(b, WAY_WHOLE);
    if (!are_paths)
        status = pack_survey_is_paths(b->g->head, b->g->terminator, b->g->params,
                                      &are_paths, b->g->err);
    if (status != PACK_OK)
        return status;
    return are_paths ? take_lines(b) : take_unlike(b);
}

/* -------------------------------------------------------------- cells of JSON */

/* Says why there is no first row. */
static enum pack_status
refuse_cells(const struct pack_form_guess *g, const struct pack_rows_syntax *syntax)
{
    pack_rows_init(g->rows, syntax, g->head, NULL, g->raw_name, g->err);
    enum pack_status status = pack_rows_next(g->rows);
    pack_rows_done(g->rows);
    return status != PACK_OK
               ? status
               : pack_fail(g->err, PACK_ERR_NOT_FOUND, "list '%s' is empty", g->name);
}

/* The column of file names, or the one that is asked for, or else the first. */
static enum pack_status
find_cells_path(const struct pack_form_guess *g, struct way *w)
{
    const char *given = g->params->path_column;
    char text[PACK_NAME_TEXT_MAX];
    pack_way_find_path(w);
    if (given && (!pack_form_column_number(given, &w->path_at) ||
                  w->path_at >= w->survey.n_cells))
        return pack_fail_param(g->err, PACK_ERR_ARGUMENT, "path_column",
                               "path_column: '%s' has no column '%s', its first row has %zu",
                               g->name, pack_name_text(given, text), w->survey.n_cells);
    if (!given && w->n_paths > 1)
        return pack_fail_param(g->err, PACK_ERR_ARGUMENT, "path_column",
                               "'%s': columns %zu and %zu may both be the path", g->name,
                               w->paths[0] + 1, w->paths[1] + 1);
    if (w->path_at == PACK_LIST_NO_COLUMN)
        w->path_at = 0;
    return PACK_OK;
}

enum pack_status
pack_form_take_cells(struct pack_form_guess *g, const struct pack_rows_syntax *syntax)
{
    struct bare b = { .g = g };
    struct way *w = &b.ways[0];
    const char *label = g->params->label_column;
    w->syntax = *syntax;
    w->syntax.passes_nested = g->params->no_label || (label && strcmp(label, "0") == 0);
    enum pack_status status = pack_survey_take(g->head, &w->syntax, &w->survey, g->err);
    if (status == PACK_OK && w->survey.n_rows == 0)
        status = refuse_cells(g, &w->syntax);
    if (status == PACK_OK)
        status = find_cells_path(g, w);
    if (status == PACK_OK)
        status = take(&b, w);
    free(w->survey.columns);
    return status;
}

enum pack_status
pack_form_take_bare(struct pack_form_guess *g)
{
    struct bare b = { .g = g };
    enum pack_status status = pack_ways_survey(&b);
    if (status == PACK_OK)
        status = choose(&b);
    for (int i = 0; i < N_WAYS; i++)
        free(b.ways[i].survey.columns);
    return status;
}
