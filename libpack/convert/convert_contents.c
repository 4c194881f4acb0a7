/* Labels, names, columns and attributes: everything of a packed file that is not
 * pixels. The first failure stays in the struct, and ends what would be written after
 * it. */
#include "libpack/convert/convert_parts.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/utf8.h"

struct contents {
    const struct pack_convert_contents *c;
    struct pack_writer *writer;
    struct pack_error *err;
    enum pack_status status; /* the first failure */
    uint64_t n;              /* packed samples */
};

static void
write_array(struct contents *w, const char *path, enum pack_number type, uint64_t columns,
            const void *data)
{
    struct pack_shape shape = { columns > 1 ? 2 : 1, { w->n, columns } };
    if (w->status == PACK_OK)
        w->status = pack_writer_array(w->writer, path, type, &shape, data, w->err);
}

/* An attribute. */
static void
put_text(struct contents *w, const char *path, const char *name, const char *text)
{
    if (w->status == PACK_OK)
        w->status = pack_writer_attr_text(w->writer, path, name, text, w->err);
}

/* Room for a value of each packed sample; NULL when there is none, or after a failure. */
static void *
values_new(struct contents *w, const char *path)
{
    if (w->status != PACK_OK)
        return NULL;
    void *values = malloc(w->n * sizeof(int64_t));
    if (!values)
        w->status = pack_fail_memory(w->err, path);
    return values;
}

/* 64-bit values picked by row: `value(contents, row)` for each packed sample. */
typedef int64_t (*integer_fn)(const struct contents *w, uint64_t record);

static void
write_integers(struct contents *w, const char *path, integer_fn value)
{
    int64_t *values = values_new(w, path);
    for (uint64_t i = 0; values && i < w->n; i++)
        values[i] = value(w, w->c->rows[i]);
    write_array(w, path, PACK_INT64, 1, values);
    free(values);
}

static int64_t
label_of(const struct contents *w, uint64_t record)
{
    return w->c->source->records[record].label;
}

static int64_t
source_index_of(const struct contents *w, uint64_t record)
{
    return (int64_t)w->c->source->source_index[record];
}

/* ------------------------------------------------------------------- texts */

/* Texts in their stored form, for pack_writer_texts(). */
struct texts {
    const char **text;
    char *bytes;
};

static void
texts_done(struct texts *texts)
{
    free(texts->text);
    free(texts->bytes);
}

typedef const char *(*text_fn)(const void *context, uint64_t i);

static enum pack_status
escape_texts(const void *context, text_fn text, uint64_t n, struct texts *texts,
             struct pack_error *err)
{
    uint64_t total = 0;
    for (uint64_t i = 0; i < n; i++)
        total += pack_name_escape(text(context, i), NULL) + 1;
    texts->text = malloc((n ? n : 1) * sizeof *texts->text);
    texts->bytes = malloc(total ? total : 1);
    if (!texts->text || !texts->bytes)
        return pack_fail_memory(err, "names");
    char *at = texts->bytes;
    for (uint64_t i = 0; i < n; i++) {
        texts->text[i] = at;
        at += pack_name_escape(text(context, i), at) + 1;
    }
    return PACK_OK;
}

static enum pack_status
take_texts(const void *context, text_fn text, uint64_t n, struct texts *texts,
           struct pack_error *err)
{
    texts->text = malloc((n ? n : 1) * sizeof *texts->text);
    if (!texts->text)
        return pack_fail_memory(err, "texts");
    for (uint64_t i = 0; i < n; i++)
        texts->text[i] = text(context, i);
    return PACK_OK;
}

static void
write_texts(struct contents *w, const char *path, const void *context, text_fn text,
            uint64_t n)
{
    struct texts texts = { 0 };
    if (w->status == PACK_OK)
        w->status = escape_texts(context, text, n, &texts, w->err);
    if (w->status == PACK_OK)
        w->status = pack_writer_texts(w->writer, path, texts.text, n, w->err);
    texts_done(&texts);
}

static const char *
filename_of(const void *context, uint64_t i)
{
    const struct contents *w = context;
    return w->c->source->records[w->c->rows[i]].name;
}

static const char *
class_of(const void *context, uint64_t i)
{
    const struct contents *w = context;
    return w->c->source->class_names[i];
}

/* ----------------------------------------------------------------- columns */

struct cell {
    const struct contents *w;
    const struct pack_column *column;
};

static const char *
cell_text(const void *context, uint64_t i)
{
    const struct cell *cell = context;
    return cell->column
        ->strings[pack_source_row(cell->w->c->source, cell->w->c->rows[i])];
}

/* As it is; in the form of names, and saying so, when HDF5 could not say of what encoding
 * it is. */
static void
write_text_column(struct contents *w, const struct pack_column *column)
{
    struct cell cell = { w, column };
    struct texts texts = { 0 };
    bool is_utf8 = true;
    for (uint64_t i = 0; i < w->n && is_utf8; i++) {
        const char *text = cell_text(&cell, i);
        is_utf8 = pack_utf8_valid(text, strlen(text));
    }
    if (!is_utf8) {
        write_texts(w, column->name, &cell, cell_text, w->n);
        put_text(w, column->name, "escape", "\\xHH");
        return;
    }
    if (w->status == PACK_OK)
        w->status = take_texts(&cell, cell_text, w->n, &texts, w->err);
    if (w->status == PACK_OK)
        w->status = pack_writer_texts(w->writer, column->name, texts.text, w->n, w->err);
    texts_done(&texts);
}

static void
write_column(struct contents *w, const struct pack_column *column)
{
    if (column->kind == PACK_COLUMN_STRING) {
        write_text_column(w, column);
        return;
    }
    union {
        int64_t integer;
        double real;
    } *values = values_new(w, column->name);
    bool integers = column->kind == PACK_COLUMN_INT64;
    for (uint64_t i = 0; values && i < w->n; i++) {
        uint64_t row = pack_source_row(w->c->source, w->c->rows[i]);
        if (integers)
            values[i].integer = column->integers[row];
        else
            values[i].real = column->floats[row];
    }
    write_array(w, column->name, integers ? PACK_INT64 : PACK_FLOAT64, 1, values);
    free(values);
}

/* -------------------------------------------------------------- attributes */

static void
put_texts(struct contents *w, const char *path, const char *name,
          const char *const *texts, uint64_t n)
{
    if (w->status == PACK_OK)
        w->status = pack_writer_attr_texts(w->writer, path, name, texts, n, w->err);
}

/* A number of each channel. */
static void
put_channels(struct contents *w, const char *name, const double *values)
{
    struct pack_writer_numbers numbers = { PACK_FLOAT64,
                                           (uint64_t)w->c->plan->n_channels, values,
                                           false };
    if (w->status == PACK_OK)
        w->status = pack_writer_attr_numbers(w->writer, "images", name, &numbers, w->err);
}

/* What of 16-bit samples became 0 and 255, so that they can be had back. */
static void
put_range(struct contents *w)
{
    const struct pack_convert_result *result = w->c->result;
    int64_t range[] = { result->low_16, result->high_16 };
    struct pack_writer_numbers numbers = { PACK_INT64, 2, range, false };
    if (w->status == PACK_OK && result->scales_16)
        w->status =
            pack_writer_attr_numbers(w->writer, "images", "scale16", &numbers, w->err);
}

static void
describe_images(struct contents *w)
{
    static const char *const nhwc[] = { "N", "H", "W", "C" }, *const nchw[] = { "N", "C",
                                                                                "H",
                                                                                "W" };
    const struct pack_convert_result *result = w->c->result;
    bool gray = w->c->plan->n_channels == 1,
         planes = w->c->options->layout == PACK_PIXEL_NCHW;
    const struct {
        const char *name, *value;
    } texts[] = {
        { "CLASS", "IMAGE" },
        { "IMAGE_VERSION", "1.2" },
        { "IMAGE_SUBCLASS", gray ? "IMAGE_GRAYSCALE" : "IMAGE_TRUECOLOR" },
        { "INTERLACE_MODE", gray     ? NULL
                            : planes ? "INTERLACE_PLANE"
                                     : "INTERLACE_PIXEL" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value)
            put_text(w, "images", texts[i].name, texts[i].value);
    put_texts(w, "images", "DIMENSION_LABELS", planes ? nchw : nhwc,
              (uint64_t)w->c->plan->sample.rank + 1);
    put_channels(w, "mean", result->mean);
    put_channels(w, "std", result->std);
    put_range(w);
}

static void
describe_file(struct contents *w)
{
    static const char *const size_columns[] = { "height", "width" };
    put_texts(w, "original_size", "columns", size_columns, 2);
    put_text(w, "/", "h5pack_schema", "1");
    put_text(w, "/", "h5pack_version", w->c->version);
    put_text(w, "/", "h5pack_options", w->c->options_text);
}

enum pack_status
pack_convert_write_contents(struct pack_writer *writer,
                            const struct pack_convert_contents *contents,
                            struct pack_error *err)
{
    struct contents w = { contents, writer, err, PACK_OK, contents->result->n_packed };
    const struct pack_source *source = contents->source;
    if (source->has_labels)
        write_integers(&w, "labels", label_of);
    if (source->n_classes)
        write_texts(&w, "class_names", &w, class_of, source->n_classes);
    write_texts(&w, "filenames", &w, filename_of, w.n);
    write_array(&w, "original_size", PACK_INT32, 2, contents->sizes);
    if (source->source_index)
        write_integers(&w, "source_index", source_index_of);
    if (contents->valid)
        write_array(&w, "valid", PACK_UINT8, 1, contents->valid);
    for (int i = 0; source->list && i < source->list->n_columns; i++)
        write_column(&w, &source->list->columns[i]);
    describe_images(&w);
    describe_file(&w);
    return w.status;
}
