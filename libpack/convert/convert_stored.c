/*
 * Everything of a packed file that has a value for each image, as convert_contents.c
 * writes it, read back whole: original_size, source_index, valid, and the columns of a
 * list. Labels and filenames are compared in convert_check.c, which finds images by them.
 */
#include "libpack/convert/convert_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/h5_read.h"

static const uint64_t ROWS_MAX = UINT64_C(1) << 40;

/* A column of a list, as the file has it. */
struct stored_column {
    int64_t *integers;
    double *floats;
    char **texts;
    bool is_escaped; /* texts are in the form of names */
};

struct pack_convert_stored {
    const struct pack_source *source;
    uint64_t n_rows;
    int64_t *sizes; /* height and width */
    int64_t *source_index, *valid;
    struct stored_column *columns; /* of source->list */
};

/* ------------------------------------------------------------------ reading */

static enum pack_status
check_count(const struct pack_convert_stored *s, const char *path, uint64_t n,
            struct pack_error *err)
{
    return n == s->n_rows ? PACK_OK
                          : pack_fail(err, PACK_ERR_FORMAT,
                                      "'%s' has %" PRIu64 " entries, images %" PRIu64, path,
                                      n, s->n_rows);
}

static enum pack_status
read_integers(const struct pack_convert_stored *s, int64_t file, const char *path,
              uint64_t n_columns, int64_t **values, struct pack_error *err)
{
    uint64_t n;
    enum pack_status status =
        pack_h5_read_integer_rows(file, path, n_columns, ROWS_MAX, values, &n, err);
    return status == PACK_OK ? check_count(s, path, n, err) : status;
}

static enum pack_status
read_texts(const struct pack_convert_stored *s, int64_t file, const char *path,
           struct stored_column *stored, struct pack_error *err)
{
    char *form = NULL;
    uint64_t n = 0;
    enum pack_status status =
        pack_h5_read_texts(file, path, ROWS_MAX, &stored->texts, &n, err);
    if (status == PACK_OK && (status = check_count(s, path, n, err)) != PACK_OK) {
        pack_h5_texts_free(stored->texts, n);
        stored->texts = NULL;
    }
    if (status != PACK_OK)
        return status;
    status = pack_h5_read_attr_text(file, path, "escape", &form, err);
    stored->is_escaped = status == PACK_OK;
    free(form);
    return status == PACK_ERR_NOT_FOUND ? PACK_OK : status;
}

/* A list that has another column than that which was packed is a difference. */
static enum pack_status
read_column(const struct pack_convert_stored *s, int64_t file,
            const struct pack_column *column, struct stored_column *stored,
            struct pack_error *err)
{
    const char *path = column->name;
    struct pack_error why;
    enum pack_status status;
    uint64_t n;
    if (column->kind == PACK_COLUMN_STRING) {
        status = read_texts(s, file, path, stored, &why);
    } else if (column->kind == PACK_COLUMN_INT64) {
        status = read_integers(s, file, path, 1, &stored->integers, &why);
    } else {
        status = pack_h5_read_floats(file, path, ROWS_MAX, &stored->floats, &n, &why);
        if (status == PACK_OK)
            status = check_count(s, path, n, &why);
    }
    if (status == PACK_ERR_NOT_FOUND || status == PACK_ERR_FORMAT)
        status = PACK_ERR_MISMATCH;
    return status == PACK_OK
               ? PACK_OK
               : pack_fail(err, status, "column '%s' of the list: %s", path, why.text);
}

static enum pack_status
read_columns(struct pack_convert_stored *s, int64_t file, struct pack_error *err)
{
    const struct pack_list *list = s->source->list;
    enum pack_status status = PACK_OK;
    if (!list || list->n_columns == 0)
        return PACK_OK;
    s->columns = calloc((size_t)list->n_columns, sizeof *s->columns);
    if (!s->columns)
        return pack_fail_memory(err, "columns of a list");
    for (int i = 0; i < list->n_columns && status == PACK_OK; i++)
        status = read_column(s, file, &list->columns[i], &s->columns[i], err);
    return status;
}

enum pack_status
pack_convert_stored_read(const struct pack_source *source,
                         const struct pack_convert_options *options, int64_t file,
                         uint64_t n_rows, struct pack_convert_stored **stored,
                         struct pack_error *err)
{
    struct pack_convert_stored *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "columns of a file");
    s->source = source;
    s->n_rows = n_rows;
    enum pack_status status = read_integers(s, file, "original_size", 2, &s->sizes, err);
    if (status == PACK_OK && source->source_index)
        status = read_integers(s, file, "source_index", 1, &s->source_index, err);
    if (status == PACK_OK && options->on_error == PACK_ON_ERROR_BLANK)
        status = read_integers(s, file, "valid", 1, &s->valid, err);
    if (status == PACK_OK)
        status = read_columns(s, file, err);
    if (status == PACK_OK)
        *stored = s;
    else
        pack_convert_stored_free(s);
    return status;
}

void
pack_convert_stored_free(struct pack_convert_stored *s)
{
    if (!s)
        return;
    for (int i = 0; s->columns && i < s->source->list->n_columns; i++) {
        free(s->columns[i].integers);
        free(s->columns[i].floats);
        pack_h5_texts_free(s->columns[i].texts, s->n_rows);
    }
    free(s->columns);
    free(s->valid);
    free(s->source_index);
    free(s->sizes);
    free(s);
}

/* ---------------------------------------------------------------- comparing */

static enum pack_status
check_integer(const char *name, const char *whose, int64_t stored, int64_t expected,
              struct pack_error *err)
{
    return stored == expected
               ? PACK_OK
               : pack_fail(err, PACK_ERR_MISMATCH,
                           "%s is %" PRId64 ", %s %" PRId64, name, stored, whose, expected);
}

static enum pack_status
check_size(const int64_t *stored, const struct pack_sample *sample, struct pack_error *err)
{
    bool is_ready = sample->outcome == PACK_SAMPLE_READY;
    int64_t height = is_ready ? sample->info.height : 0;
    int64_t width = is_ready ? sample->info.width : 0;
    return stored[0] == height && stored[1] == width
               ? PACK_OK
               : pack_fail(err, PACK_ERR_MISMATCH,
                           "original_size is %" PRId64 "x%" PRId64 ", the image's %" PRId64
                           "x%" PRId64,
                           stored[0], stored[1], height, width);
}

static enum pack_status
check_text(const struct pack_column *column, const struct stored_column *stored,
           const char *text, const char *cell, struct pack_error *err)
{
    char one[PACK_NAME_TEXT_MAX], other[PACK_NAME_TEXT_MAX];
    char *escaped = NULL;
    if (stored->is_escaped) {
        escaped = malloc(pack_name_escape(cell, NULL) + 1);
        if (!escaped)
            return pack_fail_memory(err, "texts");
        pack_name_escape(cell, escaped);
    }
    bool same = strcmp(text, escaped ? escaped : cell) == 0;
    free(escaped);
    return same ? PACK_OK
                : pack_fail(err, PACK_ERR_MISMATCH, "%s is '%s', in the list '%s'",
                            column->name, pack_name_text(text, one),
                            pack_name_text(cell, other));
}

/* The bits, so that NaN is as NaN is. */
static enum pack_status
check_float(const char *name, double stored, double expected, struct pack_error *err)
{
    return memcmp(&stored, &expected, sizeof stored) == 0
               ? PACK_OK
               : pack_fail(err, PACK_ERR_MISMATCH, "%s is %.17g, in the list %.17g", name,
                           stored, expected);
}

static enum pack_status
check_cell(const struct pack_column *column, const struct stored_column *stored,
           uint64_t row, uint64_t in_list, struct pack_error *err)
{
    switch (column->kind) {
    case PACK_COLUMN_INT64:
        return check_integer(column->name, "in the list", stored->integers[row],
                             column->integers[in_list], err);
    case PACK_COLUMN_FLOAT64:
        return check_float(column->name, stored->floats[row], column->floats[in_list],
                           err);
    default:
        return check_text(column, stored, stored->texts[row], column->strings[in_list],
                          err);
    }
}

enum pack_status
pack_convert_stored_check(const struct pack_convert_stored *s, uint64_t row,
                          const struct pack_sample *sample, struct pack_error *err)
{
    const struct pack_source *source = s->source;
    uint64_t in_list = source->list ? pack_source_row(source, sample->index) : 0;
    enum pack_status status = check_size(&s->sizes[2 * row], sample, err);
    if (status == PACK_OK && s->source_index)
        status = check_integer("source_index", "the source's", s->source_index[row],
                               (int64_t)source->source_index[sample->index], err);
    if (status == PACK_OK && s->valid)
        status = check_integer("valid", "the image's", s->valid[row],
                               sample->outcome == PACK_SAMPLE_READY, err);
    for (int i = 0; s->columns && i < source->list->n_columns && status == PACK_OK; i++)
        status =
            check_cell(&source->list->columns[i], &s->columns[i], row, in_list, err);
    return status;
}
