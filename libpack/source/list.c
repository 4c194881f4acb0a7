/*
 * The first row names the columns (or the format does); every further row's cells go
 * straight to the columns, which find their type as they grow.
 */
#include "libpack/source/list.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/base/utf8.h"
#include "libpack/source/list_column.h"
#include "libpack/source/list_rows.h"

struct table {
    size_t n_columns, path_at, label_at; /* label_at == n_columns: there is none */
    char **names;
    struct pack_column_builder *builders;
    uint64_t n_rows;
};

/* Datasets that packed files have anyway. */
static const char *const reserved[] = {
    "images",        "labels",       "filenames", "class_names",
    "original_size", "source_index", "offsets",   "shapes",
};

static enum pack_status
check_column_name(struct pack_rows *r, const struct table *t, size_t at)
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
make_columns(struct pack_rows *r, struct table *t, size_t first, bool implied_path)
{
    size_t n = r->n_cells - first + implied_path;
    t->names = calloc(n, sizeof *t->names);
    t->builders = calloc(n, sizeof *t->builders);
    if (!t->names || !t->builders)
        return pack_fail_memory(r->err, "the columns of a list");
    t->n_columns = t->path_at = t->label_at = n;
    for (size_t i = 0; i < n; i++) {
        bool implied = implied_path && i == 0;
        t->names[i] =
            strdup(implied ? "path" : pack_rows_cell(r, first + i - implied_path));
        if (!t->names[i])
            return pack_fail_memory(r->err, "the columns of a list");
        enum pack_status status = check_column_name(r, t, i);
        if (status != PACK_OK)
            return pack_rows_at_line(r, r->row_line, status);
        if (strcmp(t->names[i], "path") == 0)
            t->path_at = i;
        else if (strcmp(t->names[i], "label") == 0)
            t->label_at = i;
    }
    char text[PACK_NAME_TEXT_MAX];
    if (t->path_at == n)
        return pack_rows_at_line(
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
read_header(struct pack_rows *r, struct table *t, uint64_t *n_rows)
{
    if (r->syntax == PACK_ROWS_WHOLE)
        return make_columns(r, t, 0, true);
    enum pack_status status = pack_rows_next(r);
    if (status != PACK_OK)
        return status;
    if (r->n_cells == 0)
        return pack_fail(r->err, PACK_ERR_NOT_FOUND, "list '%s' is empty", r->name);
    if (r->syntax != PACK_ROWS_BLANKS)
        return make_columns(r, t, 0, false);
    if (r->n_cells > 1 ||
        pack_u64_parse(pack_rows_cell(r, 0), UINT64_MAX - 1, n_rows, r->err) != PACK_OK)
        return pack_rows_at_line(r, r->row_line,
                                 pack_fail(r->err, PACK_ERR_FORMAT,
                                           "a line of numbers is neither a header "
                                           "nor CelebA's count of images"));
    status = pack_rows_next(r);
    if (status != PACK_OK)
        return status;
    return make_columns(r, t, r->n_cells && !strcmp(pack_rows_cell(r, 0), "image_id"),
                        true);
}

static enum pack_status
add_row(struct pack_rows *r, struct table *t)
{
    if (r->n_cells != t->n_columns)
        return pack_rows_at_line(
            r, r->row_line,
            pack_fail(r->err, PACK_ERR_FORMAT, "%zu cell%s where the header has %zu",
                      r->n_cells, r->n_cells == 1 ? "" : "s", t->n_columns));
    if (*pack_rows_cell(r, t->path_at) == '\0')
        return pack_rows_at_line(r, r->row_line,
                                 pack_fail(r->err, PACK_ERR_FORMAT,
                                           "column %zu: the path is empty",
                                           t->path_at + 1));
    for (size_t i = 0; i < t->n_columns; i++) {
        enum pack_status status =
            pack_column_add(&t->builders[i], pack_rows_cell(r, i), r->err);
        if (status != PACK_OK)
            return status;
    }
    t->n_rows++;
    return PACK_OK;
}

static enum pack_status
read_table(struct pack_rows *r, struct table *t)
{
    uint64_t expected = UINT64_MAX;
    enum pack_status status = read_header(r, t, &expected);
    while (status == PACK_OK && (status = pack_rows_next(r)) == PACK_OK && r->n_cells > 0)
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
    struct pack_rows *r = malloc(sizeof *r);
    if (!r)
        return pack_fail_memory(err, "a list");
    pack_rows_init(r, file, name, format, err);
    enum pack_status status = read_table(r, &table);
    if (status == PACK_OK)
        status = finish(&table, list, err);
    table_done(&table);
    pack_rows_done(r);
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
