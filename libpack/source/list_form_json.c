/*
 * JSON in its forms, told apart by the first member or element:
 *
 *     {"path": "a.jpg", "label": 3}               JSON lines, or objects of several lines
 *     [{"path": "a.jpg", "label": 3}, ...         an array: pandas' records
 *     [["a.jpg", 3], ...   ["a.jpg", ...          of cells
 *     ["a.jpg", 3]                                one behind the other, as jq -c writes
 *     "a.jpg"                                     texts, the same
 *     {"labels": [["a.jpg", 3], ...               the same, StyleGAN's
 *     {"a.jpg": 3, ...                            an object of labels
 *     {"images": [...                             COCO's
 *     {"path": {"0": "a.jpg", ...                 pandas' columns, and others: refused
 */
#include "libpack/source/list_form_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/json.h"

/* ------------------------------------------------------------ looking at text */

/* The bytes behind blanks, from `at` on; head->size at the end. */
static size_t
behind_blanks(const struct pack_list_head *h, size_t at)
{
    while (at < h->size && h->bytes[at] && strchr(" \t\r\n", h->bytes[at]))
        at++;
    return at;
}

static char
char_at(const struct pack_list_head *h, size_t at)
{
    return at < h->size ? (char)h->bytes[at] : '\0';
}

/* Behind the value that starts at `at`; head->size where it does not end. */
static size_t
behind_value(const struct pack_list_head *h, size_t at)
{
    size_t depth = 0;
    bool quoted = false;
    for (; at < h->size; at++) {
        char c = (char)h->bytes[at];
        if (quoted && c == '\\')
            at++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && depth == 0 && (c == ',' || c == ']' || c == '}'))
            return at;
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
        if (!quoted && depth == 0 && (c == '"' || c == ']' || c == '}'))
            return at + 1;
    }
    return h->size;
}

/* An object that starts at `at`: "{" and then a key or "}". */
static bool
starts_object(const struct pack_list_head *h, size_t at)
{
    char next = char_at(h, behind_blanks(h, at + 1));
    return char_at(h, at) == '{' && (next == '"' || next == '}');
}

/* An array of what a list may be made of, which no path starts like. */
static bool
starts_array(const struct pack_list_head *h, size_t at)
{
    size_t first = behind_blanks(h, at + 1);
    if (char_at(h, at) != '[')
        return false;
    if (char_at(h, first) == '[') {
        char next = char_at(h, behind_blanks(h, first + 1));
        return next == '"' || next == '-' || (next >= '0' && next <= '9');
    }
    if (char_at(h, first) == '"') {
        size_t behind = behind_blanks(h, behind_value(h, first));
        return behind >= h->size ? !h->is_whole : strchr(",]", h->bytes[behind]) != NULL;
    }
    if (char_at(h, first) == ']')
        return h->is_whole && behind_blanks(h, first + 1) == h->size;
    return starts_object(h, first);
}

/* [3, "a.jpg"]: a label and then a path. */
static bool
starts_with_label(const struct pack_list_head *h, size_t at)
{
    size_t label = behind_blanks(h, at + 1), comma = behind_value(h, label);
    char first = char_at(h, label);
    return char_at(h, at) == '[' && (first == '-' || isdigit((unsigned char)first)) &&
           char_at(h, comma) == ',' && char_at(h, behind_blanks(h, comma + 1)) == '"';
}

/* Values without an array around: behind the first one, which opens with `c`, a line begins
 * with another. */
static bool
starts_values(const struct pack_list_head *h, size_t at, char c)
{
    if (char_at(h, at) != c)
        return false;
    size_t end = behind_value(h, at), next = behind_blanks(h, end);
    bool is_line = memchr(h->bytes + end, '\n', next - end) ||
                   memchr(h->bytes + end, '\r', next - end);
    return is_line && char_at(h, next) == c;
}

/* Whether the text that ends at `end`, in quotes, ends as an image's name does. One that the
 * list ends in has no second quote. */
static bool
ends_image(const struct pack_list_head *h, size_t start, size_t end)
{
    char ending[9] = "";
    if (end - start < 2 || h->bytes[end - 1] != '"')
        return false;
    size_t n = end - start - 2, n_ending = n < sizeof ending ? n : sizeof ending - 1;
    memcpy(ending, h->bytes + end - 1 - n_ending, n_ending);
    return pack_survey_image_name(ending);
}

/* Lines in quotes are paths as texts of JSON, unless the second has more cells. */
static bool
starts_texts(const struct pack_list_head *h, size_t at)
{
    size_t first_end = behind_value(h, at), next = behind_blanks(h, first_end);
    bool is_alone = h->is_whole && next == h->size && char_at(h, at) == '"';
    if (!is_alone && !starts_values(h, at, '"'))
        return false;
    size_t end = is_alone ? next : behind_value(h, next);
    bool ends_line = end >= h->size || strchr("\r\n", h->bytes[end]);
    return ends_line && ends_image(h, at, first_end);
}

/* ----------------------------------------------------------------- an object */

struct member {
    char key[32];  /* its beginning */
    bool is_image; /* the key ends as an image's name does */
    size_t value;
};

/* The member behind `*at`, which is moved behind it. */
static bool
next_member(const struct pack_list_head *h, size_t *at, struct member *m)
{
    size_t start = behind_blanks(h, *at);
    if (char_at(h, start) == ',')
        start = behind_blanks(h, start + 1);
    size_t end = behind_value(h, start), colon = behind_blanks(h, end);
    if (char_at(h, start) != '"' || char_at(h, colon) != ':')
        return false;
    size_t n = end - start - 2;
    m->is_image = ends_image(h, start, end);
    n = n < sizeof m->key ? n : sizeof m->key - 1;
    memcpy(m->key, h->bytes + start + 1, n);
    m->key[n] = '\0';
    m->value = behind_blanks(h, colon + 1);
    *at = behind_value(h, m->value);
    return m->value < h->size;
}

enum known_key { IMAGES, ANNOTATIONS, CATEGORIES, LABELS, COLUMNS, SCHEMA, DATA, N_KEYS };

/* What the head shows of an object. */
struct object {
    size_t values[N_KEYS]; /* of these keys; 0: not there */
    size_t n_members, n_nested, n_images;
    bool names_path; /* as the columns of a table do */
    bool goes_on;    /* behind the head */
    struct member first;
};

static void
look_at_object(const struct pack_list_head *h, size_t at, struct object *o)
{
    static const char *const keys[N_KEYS] = {
        [IMAGES] = "images", [ANNOTATIONS] = "annotations", [CATEGORIES] = "categories",
        [LABELS] = "labels", [COLUMNS] = "columns",         [SCHEMA] = "schema",
        [DATA] = "data",
    };
    struct member m;
    *o = (struct object){ 0 };
    for (at++; next_member(h, &at, &m); o->n_members++) {
        if (o->n_members == 0)
            o->first = m;
        for (int i = 0; i < N_KEYS; i++)
            if (strcmp(m.key, keys[i]) == 0)
                o->values[i] = m.value;
        o->n_nested += char_at(h, m.value) == '{' || char_at(h, m.value) == '[';
        o->n_images += m.is_image;
        o->names_path |= pack_list_names_path(m.key);
    }
    o->goes_on = !h->is_whole && char_at(h, behind_blanks(h, at)) != '}';
}

static bool
is_number(const char *key)
{
    return *key && key[strspn(key, "0123456789")] == '\0';
}

/* What pandas calls the form of a table that is no object for each image; NULL: none. */
static const char *
find_orient(const struct pack_list_head *h, const struct object *o)
{
    struct member inner = { .key = "" };
    size_t at = o->first.value + 1;
    if (o->values[DATA] && (o->values[COLUMNS] || o->values[SCHEMA]))
        return o->values[COLUMNS] ? "split" : "table";
    if (o->n_members == 0 || o->n_nested < o->n_members)
        return NULL;
    if (char_at(h, o->first.value) == '[')
        return o->names_path ? "list" : NULL;
    if (is_number(o->first.key))
        return "index";
    next_member(h, &at, &inner);
    return is_number(inner.key) ? "columns" : NULL;
}

/* -------------------------------------------------------------------- taking */

/* Refuses a label of several values, in the object that g->rows has read. */
static enum pack_status
check_object(const struct pack_form_guess *g)
{
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *object, *v;
    char text[PACK_NAME_TEXT_MAX];
    enum pack_status status =
        pack_json_parse((const char *)g->rows->object.data, g->rows->object.size, &doc,
                        &object, g->err);
    for (v = status == PACK_OK ? object->first : NULL; status == PACK_OK && v; v = v->next)
        if ((v->kind == PACK_JSON_ARRAY || v->kind == PACK_JSON_OBJECT) &&
            !g->params->label_column && !g->params->no_label &&
            pack_list_names_label(v->key))
            status = pack_fail_param(g->err, PACK_ERR_ARGUMENT, "label_column",
                                     "'%s': '%s' of the first object holds several "
                                     "values, an image has one label",
                                     g->name, pack_name_text(v->key, text));
    pack_json_free(doc);
    return status;
}

static enum pack_status
take_objects(struct pack_form_guess *g, const struct pack_rows_syntax *syntax)
{
    pack_rows_init(g->rows, syntax, g->head, NULL, g->raw_name, g->err);
    enum pack_status status = pack_rows_next(g->rows);
    if (status == PACK_OK)
        status = check_object(g);
    pack_rows_done(g->rows);
    return status == PACK_OK ? pack_form_name_columns(g, syntax, PACK_LIST_NO_COLUMN)
                             : status;
}

/* The elements of what opens at `at` are rows. */
static enum pack_status
take_elements(struct pack_form_guess *g, size_t at, bool is_member)
{
    const struct pack_list_head *h = g->head;
    struct pack_rows_syntax syntax = { .cut = PACK_ROWS_JSON_CELLS,
                                       .terminator = g->terminator,
                                       .opens = char_at(h, at),
                                       .opens_at = at - h->start,
                                       .is_member = is_member };
    char first = char_at(h, behind_blanks(h, at + 1));
    if (first == ']')
        return pack_fail(g->err, PACK_ERR_NOT_FOUND, "list '%s' is empty", g->name);
    if (syntax.opens == '{' || first != '{')
        return pack_form_take_cells(g, &syntax);
    syntax.cut = PACK_ROWS_JSON;
    return take_objects(g, &syntax);
}

static enum pack_status
refuse_null(const struct pack_form_guess *g)
{
    return pack_fail_param(g->err, PACK_ERR_NOT_FOUND, "no_labels",
                           "'%s': 'labels' is null, it names no images: the folder that "
                           "they are in is the source, without a list",
                           g->name);
}

static enum pack_status
refuse_table(const struct pack_form_guess *g, const char *orient)
{
    return pack_fail(g->err, PACK_ERR_FORMAT,
                     "'%s' is a table in pandas' form '%s', not an object for each image: "
                     "to_json(orient=\"records\") writes such a list",
                     g->name, orient);
}

static enum pack_status
take_object(struct pack_form_guess *g, size_t at)
{
    const struct pack_list_head *h = g->head;
    struct pack_rows_syntax lines = { .cut = PACK_ROWS_JSON, .terminator = g->terminator };
    struct object o;
    look_at_object(h, at, &o);
    char labels = char_at(h, o.values[LABELS]);
    g->form->is_coco = o.values[IMAGES] || o.values[ANNOTATIONS] || o.values[CATEGORIES];
    if (g->form->is_coco)
        return PACK_OK;
    if (o.values[LABELS] && !o.names_path && (labels == '[' || labels == 'n'))
        return labels == '[' ? take_elements(g, o.values[LABELS], true) : refuse_null(g);
    const char *orient = find_orient(h, &o);
    if (orient)
        return refuse_table(g, orient);
    if (o.n_images > 0 && o.n_images == o.n_members)
        return take_elements(g, at, false);
    g->form->is_coco = o.goes_on; /* its first members fill the head */
    if (memchr(h->bytes + at, g->terminator, behind_value(h, at) - at))
        lines.opens = ' ';
    return g->form->is_coco ? PACK_OK : take_objects(g, &lines);
}

/* Each line is a path, whatever it begins with. */
static bool
asks_for_lines(const struct pack_list_params *params)
{
    return params->path_column && strcmp(params->path_column, "0") == 0;
}

enum pack_status
pack_form_take_json(struct pack_form_guess *g, bool *taken)
{
    const struct pack_list_head *h = g->head;
    size_t first = behind_blanks(h, h->start);
    struct pack_rows_syntax values = { .cut = PACK_ROWS_JSON_CELLS,
                                       .terminator = g->terminator,
                                       .opens = ' ' };
    bool is_array = starts_array(h, first);
    bool is_flat = is_array && !strchr("[{", char_at(h, behind_blanks(h, first + 1)));
    is_flat = is_flat || starts_with_label(h, first);
    if (asks_for_lines(g->params))
        return PACK_OK;
    *taken = starts_texts(h, first) || (is_flat && starts_values(h, first, '['));
    if (*taken)
        return pack_form_take_cells(g, &values);
    *taken = is_array || starts_object(h, first);
    if (!*taken)
        return PACK_OK;
    return is_array ? take_elements(g, first, false) : take_object(g, first);
}
