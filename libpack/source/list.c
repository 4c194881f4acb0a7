/*
 * The form is recognised by the first bytes; then every row's cells go straight to the
 * columns, which find their type as they grow.
 */
#include "libpack/source/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/base/utf8.h"
#include "libpack/source/list_coco.h"
#include "libpack/source/list_column.h"
#include "libpack/source/list_form.h"
#include "libpack/source/list_rows.h"
#include "libpack/source/list_survey.h"

enum { HEAD_BYTES = PACK_LIST_ROW_MAX + (1 << 16) };

struct table {
    const struct pack_list_params *params;
    const struct pack_list_form *form;
    size_t n_columns;
    char **names; /* "": left out, but for path and label */
    struct pack_column_builder *builders;
    uint64_t n_rows;
    uint64_t n_folders; /* in the list, left out */
    char *folder;       /* the first of them */
};

/* Datasets that packed files have anyway. */
static const char *const reserved[] = {
    "images",        "labels",       "filenames", "class_names",
    "original_size", "source_index", "offsets",   "shapes",
};

/* -------------------------------------------------------------------- header */

static bool
is_further(const struct table *t, size_t at)
{
    return at != t->form->path_at && at != t->form->label_at && *t->names[at] != '\0';
}

/* Whether the name of a further column can be a dataset's. */
static enum pack_status
check_dataset_name(struct pack_rows *r, const struct table *t, size_t at)
{
    const char *name = t->names[at];
    char text[PACK_NAME_TEXT_MAX];
    pack_name_text(name, text);
    if (strchr(name, '/') || !strcmp(name, ".") || !pack_utf8_valid(name, strlen(name)))
        return pack_fail(r->err, PACK_ERR_FORMAT,
                         "column %zu, '%s', cannot name a dataset: it is '.', "
                         "has a '/' or is not UTF-8",
                         at + 1, text);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(name, reserved[i]) == 0)
            return pack_fail_param(r->err, PACK_ERR_FORMAT,
                                   strcmp(name, "labels") ? NULL : "label_column",
                                   "column %zu has the name of a dataset that h5pack "
                                   "writes, '%s'; rename it",
                                   at + 1, text);
    return PACK_OK;
}

static enum pack_status
check_column_name(struct pack_rows *r, const struct table *t, size_t at)
{
    char text[PACK_NAME_TEXT_MAX];
    if (*t->names[at] == '\0')
        return PACK_OK;
    enum pack_status status =
        is_further(t, at) ? check_dataset_name(r, t, at) : PACK_OK;
    for (size_t i = 0; status == PACK_OK && i < at; i++)
        if (strcmp(t->names[at], t->names[i]) == 0)
            status = pack_fail(r->err, PACK_ERR_FORMAT, "columns %zu and %zu are both '%s'",
                               i + 1, at + 1, pack_name_text(t->names[at], text));
    return status;
}

/* The name of column i: of cell i of a header, less a path that is implied. */
static const char *
name_column(const struct pack_rows *r, const struct table *t, size_t i, bool implied_path)
{
    bool is_used = i == t->form->path_at || i == t->form->label_at;
    if (!t->form->has_header || (implied_path && i == 0))
        return i == t->form->path_at ? "path" : i == t->form->label_at ? "label" : "";
    const char *name = pack_rows_cell(r, i - implied_path);
    bool leaves_out = t->form->is_escaped || pack_list_leaves_out(name);
    return leaves_out && !is_used ? "" : name;
}

/* Makes the columns of the row that was read. */
static enum pack_status
make_columns(struct pack_rows *r, struct table *t, bool implied_path)
{
    size_t n = r->n_cells + implied_path;
    t->names = calloc(n, sizeof *t->names);
    t->builders = calloc(n, sizeof *t->builders);
    if (!t->names || !t->builders)
        return pack_fail_memory(r->err, "the columns of a list");
    t->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        t->names[i] = strdup(name_column(r, t, i, implied_path));
        if (!t->names[i])
            return pack_fail_memory(r->err, "the columns of a list");
        enum pack_status status = check_column_name(r, t, i);
        if (status != PACK_OK)
            return pack_rows_at_line(r, r->row_line, status);
    }
    t->builders[t->form->path_at].is_text = true;
    return PACK_OK;
}

/* CelebA's: the number of rows, the names of all columns or of all but the path. */
static enum pack_status
read_counted_header(struct pack_rows *r, struct table *t, uint64_t *n_rows)
{
    enum pack_status status = pack_rows_next(r);
    if (status == PACK_OK && pack_u64_parse(pack_rows_cell(r, 0), UINT64_MAX - 1, n_rows,
                                            r->err) != PACK_OK)
        status = pack_rows_at_line(r, r->row_line, PACK_ERR_FORMAT);
    if (status == PACK_OK)
        status = pack_rows_next(r);
    return status == PACK_OK
               ? make_columns(r, t, !pack_list_names_path(pack_rows_cell(r, 0)))
               : status;
}

/* ---------------------------------------------------------------------- rows */

/* The cell of a column, "" where the row has ended before. */
static const char *
cell_of(const struct pack_rows *r, size_t at)
{
    return at < r->n_cells ? pack_rows_cell(r, at) : "";
}

/* Cells may lack, or be too many, where nothing is in them: Excel leaves commas at the end
 * of some rows. A column without a name is the first one, pandas' index, or is empty. */
static enum pack_status
check_cells(struct pack_rows *r, const struct table *t)
{
    size_t at = t->n_columns;
    while (at < r->n_cells && *pack_rows_cell(r, at) == '\0')
        at++;
    bool fits = at >= r->n_cells;
    for (at = r->n_cells; fits && at < t->n_columns; at++)
        fits = at != t->form->path_at && at != t->form->label_at && !is_further(t, at);
    if (!fits)
        return pack_rows_at_line(
            r, r->row_line,
            pack_fail(r->err, PACK_ERR_FORMAT, "%zu cell%s where the %s %zu",
                      r->n_cells, r->n_cells == 1 ? "" : "s",
                      t->form->has_header ? "header has" : "first line has", t->n_columns));
    for (at = 1; t->form->has_header && !t->form->is_escaped && at < r->n_cells; at++)
        if (at < t->n_columns && *t->names[at] == '\0' && *pack_rows_cell(r, at) &&
            t->form->rows.cut != PACK_ROWS_JSON)
            return pack_rows_at_line(r, r->row_line,
                                     pack_fail(r->err, PACK_ERR_FORMAT,
                                               "column %zu has no name, but a value here",
                                               at + 1));
    return PACK_OK;
}

/* The path in its own form; refused where it is none. */
static enum pack_status
check_path(struct pack_rows *r, const struct table *t)
{
    size_t at = t->form->path_at;
    char *path = (char *)r->row.data + r->cell[at], text[PACK_NAME_TEXT_MAX];
    if (*path == '\0')
        return pack_rows_at_line(r, r->row_line,
                                 pack_fail(r->err, PACK_ERR_FORMAT,
                                           "column %zu: the path is empty", at + 1));
    if (t->form->is_escaped) {
        enum pack_status status = pack_name_unescape(path, path, r->err);
        return status == PACK_OK ? status : pack_rows_at_line(r, r->row_line, status);
    }
    if (pack_survey_check_path(path, t->params, r->err) != PACK_OK)
        return pack_rows_at_line(r, r->row_line, PACK_ERR_FORMAT);
    if (t->form->checks_paths && !pack_survey_file_name(path))
        return pack_rows_at_line(
            r, r->row_line,
            pack_fail(r->err, PACK_ERR_FORMAT,
                      "'%s' is no file's name like those in the lines above; with blanks in "
                      "names and in labels, let tabs or commas stand between them",
                      pack_name_text(path, text)));
    return PACK_OK;
}

/* A line that names a folder, as find prints them. */
static enum pack_status
leave_out_folder(struct pack_rows *r, struct table *t, bool *is_folder)
{
    const struct pack_list_params *p = t->params;
    const char *path = pack_rows_cell(r, 0);
    *is_folder = t->form->rows.cut == PACK_ROWS_WHOLE && !t->form->has_header && p->look &&
                 !pack_survey_image_name(path) &&
                 p->look(p->look_context, path) == PACK_LOOK_FOLDER;
    if (!*is_folder || t->n_folders++ > 0)
        return PACK_OK;
    t->folder = strdup(path);
    return t->folder ? PACK_OK : pack_fail_memory(r->err, "a list");
}

static bool
is_blank_row(const struct pack_rows *r)
{
    for (size_t i = 0; i < r->n_cells; i++)
        if (*pack_rows_cell(r, i) != '\0')
            return false;
    return true;
}

static enum pack_status
add_row(struct pack_rows *r, struct table *t)
{
    bool is_folder = false;
    if (is_blank_row(r))
        return PACK_OK;
    enum pack_status status = check_cells(r, t);
    if (status == PACK_OK)
        status = check_path(r, t);
    if (status == PACK_OK)
        status = leave_out_folder(r, t, &is_folder);
    if (status != PACK_OK || is_folder)
        return status;
    for (size_t i = 0; i < t->n_columns; i++) {
        if (*t->names[i] == '\0' && i != t->form->path_at && i != t->form->label_at)
            continue;
        status = pack_column_add(&t->builders[i], cell_of(r, i), r->err);
        if (status != PACK_OK)
            return status;
    }
    t->n_rows++;
    return pack_list_watch(t->params, t->n_rows, t->n_rows, r->err);
}

/* Reads what is in front of the rows; *n_rows is how many are to come, when known. */
static enum pack_status
read_header(struct pack_rows *r, struct table *t, uint64_t *n_rows)
{
    if (t->form->has_count)
        return read_counted_header(r, t, n_rows);
    enum pack_status status = pack_rows_next(r);
    if (status == PACK_OK && r->n_cells == 0)
        return pack_fail(r->err, PACK_ERR_NOT_FOUND, "list '%s' is empty", r->name);
    if (status == PACK_OK)
        status = make_columns(r, t, false);
    return status == PACK_OK && !t->form->has_header ? add_row(r, t) : status;
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

/* The columns that are not left out, into `list`. */
static enum pack_status
finish(struct table *t, struct pack_list *list, struct pack_error *err)
{
    bool has_label = t->form->label_at < t->n_columns;
    enum pack_status status = PACK_OK;
    list->n_rows = t->n_rows;
    list->is_rejects = t->form->is_escaped;
    list->n_folders = t->n_folders;
    list->folder = t->folder;
    t->folder = NULL;
    list->columns = calloc(t->n_columns, sizeof *list->columns);
    list->label = has_label ? calloc(1, sizeof *list->label) : NULL;
    if (!list->columns || (has_label && !list->label))
        return pack_fail_memory(err, "a list");
    for (size_t i = 0; status == PACK_OK && i < t->n_columns; i++) {
        if (i == t->form->path_at)
            status = finish_column(t, i, &list->path, err);
        else if (i == t->form->label_at)
            status = finish_column(t, i, list->label, err);
        else if (*t->names[i] != '\0')
            status = finish_column(t, i, &list->columns[list->n_columns++], err);
    }
    return status;
}

static void
table_done(struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        free(t->names[i]);
        pack_column_builder_done(&t->builders[i]);
    }
    free(t->folder);
    free(t->names);
    free(t->builders);
}

/* ------------------------------------------------------------------- reading */

static enum pack_status
read_rows(FILE *file, const char *name, const struct pack_list_head *head,
          struct table *table, struct pack_list *list, struct pack_error *err)
{
    struct pack_rows *r = malloc(sizeof *r);
    if (!r)
        return pack_fail_memory(err, "a list");
    pack_rows_init(r, &table->form->rows, head, file, name, err);
    enum pack_status status = read_table(r, table);
    if (status == PACK_OK)
        status = finish(table, list, err);
    list->n_comments = r->n_comments;
    list->comment = r->comment;
    r->comment = NULL;
    table_done(table);
    pack_rows_done(r);
    free(r);
    return status;
}

/* The line in front of a table that tells Excel its separator: "sep=;". */
static size_t
hint_bytes(const unsigned char *text, size_t size)
{
    size_t n = 5;
    if (size < n + 1 || memcmp(text, "sep=", 4) != 0 || !strchr(",;\t", text[4]))
        return 0;
    n += text[n] == '\r';
    n += n < size && text[n] == '\n';
    return n > 5 ? n : 0;
}

/* The first bytes, a byte order mark and a hint aside. */
static enum pack_status
read_head(FILE *file, const char *name, enum pack_list_format format,
          struct pack_list_head *head, struct pack_error *err)
{
    char text[PACK_NAME_TEXT_MAX];
    head->bytes = malloc(HEAD_BYTES);
    if (!head->bytes)
        return pack_fail_memory(err, "a list");
    head->capacity = HEAD_BYTES;
    errno = 0;
    head->size = fread(head->bytes, 1, HEAD_BYTES, file);
    if (ferror(file))
        return pack_fail_errno(err, errno ? errno : EIO, "cannot read '%s'",
                               pack_name_text(name, text));
    head->is_whole = head->size < HEAD_BYTES;
    if (format != PACK_LIST_NULL && head->size >= 3 &&
        memcmp(head->bytes, "\xef\xbb\xbf", 3) == 0)
        head->start = 3;
    if (format == PACK_LIST_ANY)
        head->start += hint_bytes(head->bytes + head->start, head->size - head->start);
    return PACK_OK;
}

enum pack_status
pack_list_read(FILE *file, const char *name, const struct pack_list_params *params,
               struct pack_list **out, struct pack_error *err)
{
    struct pack_list_head head = { 0 };
    struct pack_list_form form;
    struct table table = { .params = params, .form = &form };
    struct pack_list *list = calloc(1, sizeof *list);
    enum pack_status status = PACK_OK;
    if (!list)
        status = pack_fail_memory(err, "a list");
    if (status == PACK_OK)
        status = read_head(file, name, params->format, &head, err);
    if (status == PACK_OK)
        status = pack_list_recognise(&head, name, params, &form, err);
    if (status == PACK_OK)
        head.start += form.mark_bytes;
    if (status == PACK_OK && form.is_coco)
        status = pack_coco_read(file, name, &head, params, list, err);
    else if (status == PACK_OK)
        status = read_rows(file, name, &head, &table, list, err);
    if (status == PACK_OK && !list->taken && !(list->taken = strdup(form.taken)))
        status = pack_fail_memory(err, "a list");
    free(head.bytes);
    if (status == PACK_OK)
        *out = list;
    else
        pack_list_free(list);
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
    for (size_t i = 0; i < list->n_classes; i++)
        free(list->classes[i]);
    free(list->classes);
    free(list->label);
    free(list->columns);
    free(list->folder);
    free(list->comment);
    free(list->taken);
    free(list);
}
