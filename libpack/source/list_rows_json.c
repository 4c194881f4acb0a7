/*
 * A line, or an element, becomes a tree, small as it is (PACK_LIST_ROW_MAX). The keys of
 * the first object are kept one behind the other, and looked for in each further one.
 */
#include "libpack/source/list_rows_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "libpack/base/json.h"

static enum pack_status
fail_row(struct pack_rows *r, const char *what, const char *key)
{
    char text[PACK_NAME_TEXT_MAX];
    return pack_rows_at_line(r, r->row_line,
                             pack_fail(r->err, PACK_ERR_FORMAT, "'%s' %s",
                                       pack_name_text(key, text), what));
}

static bool
is_nested(const struct pack_json_value *value)
{
    return value->kind == PACK_JSON_ARRAY || value->kind == PACK_JSON_OBJECT;
}

static bool
has_key(const struct pack_rows *r, const char *key)
{
    const char *known = (const char *)r->keys.data;
    for (size_t i = 0; i < r->n_keys; i++, known += strlen(known) + 1)
        if (strcmp(known, key) == 0)
            return true;
    return false;
}

/* Whether a number has no fraction and float64 holds all like it: 1.0 is a label as 1 is. */
static bool
is_whole(const struct pack_json_value *value)
{
    return fabs(value->number) < 0x1p53 && value->number == trunc(value->number);
}

/* A member of an object as a cell; numbers that float64 would change, as they stand. */
static enum pack_status
add_value(struct pack_rows *r, const struct pack_json_value *value)
{
    char text[64] = "";
    const char *cell = text;
    if (value && value->kind == PACK_JSON_TEXT)
        cell = value->text;
    else if (value && value->kind == PACK_JSON_BOOL)
        cell = value->truth ? "1" : "0";
    else if (value && value->kind == PACK_JSON_NUMBER && value->is_integer)
        snprintf(text, sizeof text, "%" PRId64, value->integer);
    else if (value && value->kind == PACK_JSON_NUMBER && is_whole(value))
        snprintf(text, sizeof text, "%.0f", value->number);
    else if (value && value->kind == PACK_JSON_NUMBER)
        cell = value->text;
    return pack_rows_add_cell(r, cell, strlen(cell));
}

/* The keys become the row, and stay. */
static enum pack_status
take_keys(struct pack_rows *r, const struct pack_json_value *object)
{
    enum pack_status status = PACK_OK;
    for (const struct pack_json_value *v = object->first; status == PACK_OK && v;
         v = v->next) {
        if (is_nested(v))
            continue;
        status = pack_rows_add_cell(r, v->key, strlen(v->key));
        if (status == PACK_OK)
            status = pack_buf_append(&r->keys, v->key, strlen(v->key) + 1, r->err);
        r->n_keys++;
    }
    if (status == PACK_OK && r->n_cells == 0)
        return pack_rows_at_line(r, r->row_line,
                                 pack_fail(r->err, PACK_ERR_FORMAT,
                                           "the object has no member that is a text or "
                                           "a number"));
    return status;
}

static enum pack_status
take_values(struct pack_rows *r, const struct pack_json_value *object)
{
    const char *key = (const char *)r->keys.data;
    enum pack_status status = PACK_OK;
    for (const struct pack_json_value *v = object->first; v; v = v->next)
        if (!is_nested(v) && !has_key(r, v->key))
            return fail_row(r,
                            "is no key of the first object, which is to have all keys "
                            "(null where it has no value)",
                            v->key);
    for (size_t i = 0; status == PACK_OK && i < r->n_keys; i++) {
        const struct pack_json_value *value = pack_json_find(object, key);
        if (value && is_nested(value))
            return fail_row(r, "holds several values, the first object has one there", key);
        status = add_value(r, value);
        key += strlen(key) + 1;
    }
    return status;
}

static bool
is_of_word(unsigned char c)
{
    return c == '-' || c == '_' || isalnum(c);
}

/* Python's json writes NaN where there is no number, as null stands for in other lists: an
 * empty text of as many bytes does here. */
static void
empty_nan(struct pack_buf *line)
{
    unsigned char *text = line->data;
    bool quoted = false;
    for (size_t i = 0; i < line->size; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && line->size - i >= 3 && memcmp(text + i, "NaN", 3) == 0 &&
                 (i == 0 || !is_of_word(text[i - 1])) &&
                 (line->size - i == 3 || !is_of_word(text[i + 3])))
            memcpy(text + i++, "\"\" ", 3); /* and over the second quote */
    }
}

/* The next line or element into r->object. */
static enum pack_status
read_object(struct pack_rows *r)
{
    enum pack_status status =
        r->syntax.opens ? pack_rows_read_element(r) : pack_rows_read_line(r);
    struct pack_buf line = r->row;
    r->row = r->object;
    r->object = line;
    empty_nan(&r->object);
    r->row.size = 0;
    r->object_line = r->row_line;
    return status;
}

static bool
is_empty(const struct pack_buf *line)
{
    for (size_t i = 0; i < line->size; i++)
        if (!strchr(" \t\r", line->data[i]))
            return false;
    return true;
}

static enum pack_status
parse_object(struct pack_rows *r, struct pack_json_doc **doc,
             const struct pack_json_value **value)
{
    r->row_line = r->object_line;
    enum pack_status status = pack_json_parse((const char *)r->object.data,
                                              r->object.size, doc, value, r->err);
    return status == PACK_OK ? status : pack_rows_at_line(r, r->row_line, status);
}

enum pack_status
pack_rows_read_json(struct pack_rows *r)
{
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *object;
    bool is_first = r->n_keys == 0;
    enum pack_status status = r->has_object ? PACK_OK : read_object(r);
    if (status != PACK_OK || is_empty(&r->object))
        return status;
    status = parse_object(r, &doc, &object);
    if (status == PACK_OK && object->kind != PACK_JSON_OBJECT)
        status = pack_rows_at_line(
            r, r->row_line, pack_fail(r->err, PACK_ERR_FORMAT, "is no JSON object"));
    else if (status == PACK_OK)
        status = is_first ? take_keys(r, object) : take_values(r, object);
    r->has_object = is_first;
    pack_json_free(doc);
    return status;
}

static enum pack_status
add_cells(struct pack_rows *r, const struct pack_json_value *array)
{
    enum pack_status status = PACK_OK;
    for (const struct pack_json_value *v = array->first; status == PACK_OK && v;
         v = v->next) {
        if (is_nested(v) && !r->syntax.passes_nested)
            return pack_rows_at_line(
                r, r->row_line,
                pack_fail_param(r->err, PACK_ERR_FORMAT, "label_column",
                                "value %zu is an array or object: an image has one label, "
                                "a number or a text",
                                r->n_cells + 1));
        status = add_value(r, is_nested(v) ? NULL : v);
    }
    return status;
}

enum pack_status
pack_rows_read_json_cells(struct pack_rows *r)
{
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *value;
    enum pack_status status = read_object(r);
    if (status != PACK_OK || is_empty(&r->object))
        return status;
    status = parse_object(r, &doc, &value);
    if (status == PACK_OK && value->kind == PACK_JSON_TEXT)
        status = add_value(r, value);
    else if (status == PACK_OK && value->kind == PACK_JSON_ARRAY && value->n > 0)
        status = add_cells(r, value);
    else if (status == PACK_OK)
        status = pack_rows_at_line(
            r, r->row_line,
            pack_fail(r->err, PACK_ERR_FORMAT,
                      "is no path, and no array of path and label"));
    pack_json_free(doc);
    return status;
}
