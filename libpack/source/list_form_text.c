/* What was recognised in words, and the blanks around paths. */
#include "libpack/source/list_form_parts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Appends to form->taken. */
static void __attribute__((format(printf, 2, 3)))
say(struct pack_list_form *f, const char *format, ...)
{
    size_t used = strlen(f->taken);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->taken + used, sizeof f->taken - used, format, arguments);
    va_end(arguments);
}

/* "column 2, 'class',", the name only where it has one. */
static void
say_column(struct pack_list_form *f, const struct pack_rows *header, size_t at,
           const char *as)
{
    char text[PACK_NAME_TEXT_MAX];
    if (f->rows.opens == '{')
        say(f, "each %s as %s", at == 0 ? "key" : "value", as);
    else if (header && f->rows.cut == PACK_ROWS_JSON)
        say(f, "'%s' as %s", pack_name_text(pack_rows_cell(header, at), text), as);
    else if (header)
        say(f, "column %zu, '%s', as %s", at + 1,
            pack_name_text(pack_rows_cell(header, at), text), as);
    else
        say(f, "column %zu as %s", at + 1, as);
}

static const char *
form_of(const struct pack_list_form *f, const struct pack_rows *header)
{
    return f->rows.is_member               ? "StyleGAN's dataset.json"
           : f->rows.opens == '['          ? "JSON array"
           : f->rows.opens == '{'          ? "JSON object"
           : f->rows.opens == ' '
               ? f->rows.cut == PACK_ROWS_JSON ? "JSON objects" : "JSON values"
           : f->rows.cut == PACK_ROWS_JSON ? "JSON lines"
           : f->has_count                  ? "CelebA's table"
           : f->is_escaped                 ? "a list of rejects"
           : header                        ? "header"
                                           : "no header";
}

void
pack_form_describe(struct pack_form_guess *g, const struct pack_rows *header)
{
    struct pack_list_form *f = g->form;
    size_t n_used = 1 + (f->label_at != PACK_LIST_NO_COLUMN) + g->n_further;
    f->taken[0] = '\0';
    say(f, "takes ");
    if (f->rows.cut == PACK_ROWS_WHOLE && !header)
        say(f, "each line as path");
    else
        say_column(f, header, f->path_at, "path");
    if (f->label_at != PACK_LIST_NO_COLUMN) {
        say(f, ", ");
        say_column(f, header, f->label_at, "label");
    }
    if (g->n_further > 0)
        say(f, ", %zu more as dataset%s", g->n_further, g->n_further == 1 ? "" : "s");
    if (g->n_columns > n_used)
        say(f, ", leaves out %zu", g->n_columns - n_used);
    say(f, "; %s", form_of(f, header));
}

/* Whether `cell` has blanks at its ends; *start and *end are what is between them. */
static bool
has_blanks_around(char *cell, char **start, char **end)
{
    *start = cell + strspn(cell, " \t");
    *end = cell + strlen(cell);
    while (*end > *start && ((*end)[-1] == ' ' || (*end)[-1] == '\t'))
        --*end;
    return *start != *end && (*start != cell || **end);
}

/* Counts those first rows whose path has blanks around it and is there with them, and
 * without. */
static enum pack_status
look_for_blanks(const struct pack_form_guess *g, size_t *n_with, size_t *n_without)
{
    const struct pack_list_params *p = g->params;
    struct pack_rows_syntax raw = g->form->rows;
    size_t n_looks = 0, at = g->form->path_at;
    bool found = true;
    enum pack_status status = PACK_OK;
    *n_with = *n_without = 0;
    if (!p->look)
        return PACK_OK;
    struct pack_rows *r = malloc(sizeof *r);
    if (!r)
        return pack_fail_memory(g->err, "a list");
    raw.trims = false;
    pack_rows_init(r, &raw, g->head, NULL, "", NULL);
    for (size_t n = 0; n < PACK_SURVEY_ROWS_MAX && n_looks < PACK_SURVEY_LOOKS_MAX; n++) {
        status = pack_rows_try(r, &found, g->err);
        if (!found || r->n_cells <= at)
            break;
        char *cell = (char *)r->row.data + r->cell[at], *start, *end;
        if (!has_blanks_around(cell, &start, &end))
            continue;
        n_looks++;
        *n_with += p->look(p->look_context, cell) != PACK_LOOK_NOTHING;
        *end = '\0';
        *n_without += p->look(p->look_context, start) != PACK_LOOK_NOTHING;
    }
    pack_rows_done(r);
    free(r);
    return status;
}

enum pack_status
pack_form_trim(struct pack_form_guess *g, bool by_default)
{
    struct pack_list_form *f = g->form;
    size_t n_with, n_without;
    if (f->rows.cut != PACK_ROWS_CSV && f->rows.cut != PACK_ROWS_TSV &&
        f->rows.cut != PACK_ROWS_WHOLE)
        return PACK_OK;
    enum pack_status status = look_for_blanks(g, &n_with, &n_without);
    if (status != PACK_OK)
        return status;
    bool trims = n_with || n_without ? n_without > n_with : by_default;
    f->rows.trims = f->rows.cut != PACK_ROWS_WHOLE || trims;
    f->rows.untrimmed = trims && !f->is_escaped ? 0 : f->path_at + 1;
    return PACK_OK;
}

enum pack_status
pack_form_take_whole(struct pack_form_guess *g, char terminator)
{
    g->form->rows =
        (struct pack_rows_syntax){ .cut = PACK_ROWS_WHOLE, .terminator = terminator };
    g->form->path_at = 0;
    g->n_columns = 1;
    pack_form_describe(g, NULL);
    return PACK_OK;
}
