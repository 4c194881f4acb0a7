/* The ways to cut the lines of a list without a header. */
#include "libpack/source/list_form_ways.h"

bool
pack_way_is_headed(const struct way *w, size_t at)
{
    const struct pack_survey_column *c = &w->survey.columns[at];
    bool is_table = w->syntax.cut == PACK_ROWS_TSV || w->syntax.cut == PACK_ROWS_CSV;
    return is_table && w->survey.n_cells > 1 && c->n_image > 0 && !c->first_like &&
           c->n_like + 1 == w->survey.n_rows;
}

/* In a column the first row alone has no digit, and in none all are numbers. */
static bool
has_word_above(const struct pack_survey *s)
{
    bool found = false;
    for (size_t i = 0; i < s->n_cells; i++) {
        const struct pack_survey_column *c = &s->columns[i];
        if (c->n_number == s->n_rows)
            return false;
        found |= c->first_word && c->n_digit + c->n_empty + 1 == s->n_rows;
    }
    return found;
}

enum pack_status
pack_way_look_for_header(const struct bare *b, struct way *w)
{
    size_t n_first, n_others, n_rows = w->survey.n_rows, n = n_rows - 1;
    struct pack_survey_place place = { w->syntax, w->path_at, 0, true };
    if (w->has_header || w->survey.n_cells < 2 || n_rows < 3 || !has_word_above(&w->survey))
        return PACK_OK;
    enum pack_status status =
        pack_survey_look(b->g->head, &place, b->g->params, &n_first, b->g->err);
    place.skip = 1;
    if (status == PACK_OK)
        status = pack_survey_look(b->g->head, &place, b->g->params, &n_others, b->g->err);
    if (status != PACK_OK)
        return status;
    if (n > PACK_SURVEY_LOOKS_MAX)
        n = PACK_SURVEY_LOOKS_MAX;
    if (n_rows > PACK_SURVEY_LOOKS_MAX)
        n_rows = PACK_SURVEY_LOOKS_MAX;
    w->has_header = n_others == n && n_first + 1 == n_rows;
    return PACK_OK;
}

void
pack_way_find_path(struct way *w)
{
    const struct pack_survey *s = &w->survey;
    w->path_at = PACK_LIST_NO_COLUMN;
    for (size_t i = 0; i < s->n_cells; i++) {
        bool headed = pack_way_is_headed(w, i);
        if (s->columns[i].n_image == 0 || (s->columns[i].n_like < s->n_rows && !headed))
            continue;
        w->path_at = i;
        w->has_header = headed;
        if (w->n_paths < 2)
            w->paths[w->n_paths] = i;
        w->n_paths++;
    }
    if (w->n_paths != 1)
        w->path_at = PACK_LIST_NO_COLUMN;
}

enum pack_status
pack_ways_survey(struct bare *b)
{
    static const enum pack_rows_cut cuts[N_WAYS] = {
        [WAY_TSV] = PACK_ROWS_TSV,       [WAY_CSV] = PACK_ROWS_CSV,
        [WAY_SEMICOLON] = PACK_ROWS_CSV, [WAY_LAST] = PACK_ROWS_LAST,
        [WAY_FIRST] = PACK_ROWS_FIRST,   [WAY_BLANKS] = PACK_ROWS_BLANKS,
        [WAY_WHOLE] = PACK_ROWS_WHOLE,
    };
    enum pack_status status = PACK_OK;
    for (int i = 0; status == PACK_OK && i < N_WAYS; i++) {
        struct way *w = &b->ways[i];
        w->syntax = (struct pack_rows_syntax){ .cut = cuts[i],
                                               .separator = i == WAY_SEMICOLON ? ';' : 0,
                                               .terminator = b->g->terminator,
                                               .trims = true,
                                               .has_comments = true };
        status = pack_survey_take(b->g->head, &w->syntax, &w->survey, b->g->err);
        pack_way_find_path(w);
    }
    return status;
}

bool
pack_ways_fit(const struct bare *b, int way)
{
    const struct way *w = &b->ways[way];
    size_t n_least = way == WAY_BLANKS ? 3 : way == WAY_WHOLE ? 1 : 2;
    if (!w->survey.is_even || w->survey.is_broken || w->survey.n_cells < n_least ||
        w->path_at == PACK_LIST_NO_COLUMN)
        return false;
    return way != WAY_LAST || w->path_at == 0;
}

enum pack_status
pack_ways_look(const struct bare *b, int way, size_t *n_there)
{
    const struct way *w = &b->ways[way];
    bool is_whole = way == WAY_WHOLE;
    struct pack_survey_place place = { w->syntax, is_whole ? 0 : w->path_at,
                                       !is_whole && w->has_header, false };
    return pack_survey_look(b->g->head, &place, b->g->params, n_there, b->g->err);
}
