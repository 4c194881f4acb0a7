/*
 * One pass over the text. Annotations may come before or after images, and a hundred times
 * as many: of each image's a table keeps the first category, by the image's id. What an
 * event belongs to is told by its depth:
 *
 *     {                                                    0
 *         "images": [                                      1, a section
 *             {                                            2, an item
 *                 "id": 1, "file_name": "a.jpg"            3, its members
 */
#include "libpack/source/list_coco.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/json.h"
#include "libpack/base/numbers.h"
#include "libpack/source/list_column.h"
#include "libpack/source/list_survey.h"

enum section { OTHER, IMAGES, ANNOTATIONS, CATEGORIES, N_SECTIONS };

/* The members that count, by section. */
enum member { ID, FILE_NAME, IMAGE_ID, CATEGORY_ID, NAME, N_MEMBERS };

static const struct {
    const char *key, *item;
    const char *members[N_MEMBERS]; /* that an item must have */
} sections[N_SECTIONS] = {
    [IMAGES] = { "images", "an image", { [ID] = "id", [FILE_NAME] = "file_name" } },
    [ANNOTATIONS] = { "annotations",
                      "an annotation",
                      { [IMAGE_ID] = "image_id", [CATEGORY_ID] = "category_id" } },
    [CATEGORIES] = { "categories", "a category", { [ID] = "id", [NAME] = "name" } },
};

/* What annotations say of an image. */
struct label {
    int64_t image, category;
    bool used, has_several;
};

struct category {
    int64_t id;
    char *name;
};

struct coco {
    int depth;
    enum section section;
    bool has[N_SECTIONS];
    /* the item being read */
    bool given[N_MEMBERS];
    int64_t numbers[N_MEMBERS];
    struct pack_buf texts[N_MEMBERS];

    struct label *labels; /* a table of 2^k entries, by image */
    size_t n_labels, n_slots;
    struct category *categories;
    size_t n_categories, capacity;
    int64_t *images; /* ids by row */
    size_t n_images, images_capacity;
    struct pack_column_builder path;
    const struct pack_list_params *params;
    uint64_t n_items, n_several, n_none;
    char name[PACK_NAME_TEXT_MAX];
    struct pack_error *err;
};

/* -------------------------------------------------------------------- labels */

static size_t
slot_of(const struct coco *c, int64_t image)
{
    uint64_t hash = (uint64_t)image * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 20) & (c->n_slots - 1);
    while (c->labels[at].used && c->labels[at].image != image)
        at = (at + 1) & (c->n_slots - 1);
    return at;
}

static enum pack_status
grow_labels(struct coco *c)
{
    struct coco larger = *c;
    larger.n_slots = c->n_slots ? 2 * c->n_slots : 1024;
    larger.labels = calloc(larger.n_slots, sizeof *larger.labels);
    if (!larger.labels)
        return pack_fail_memory(c->err, "labels of images");
    for (size_t i = 0; i < c->n_slots; i++)
        if (c->labels[i].used)
            larger.labels[slot_of(&larger, c->labels[i].image)] = c->labels[i];
    free(c->labels);
    c->labels = larger.labels;
    c->n_slots = larger.n_slots;
    return PACK_OK;
}

static enum pack_status
add_annotation(struct coco *c)
{
    enum pack_status status = 2 * c->n_labels >= c->n_slots ? grow_labels(c) : PACK_OK;
    if (status != PACK_OK)
        return status;
    struct label *label = &c->labels[slot_of(c, c->numbers[IMAGE_ID])];
    if (label->used) {
        label->has_several |= label->category != c->numbers[CATEGORY_ID];
        return PACK_OK;
    }
    *label = (struct label){ .image = c->numbers[IMAGE_ID],
                             .category = c->numbers[CATEGORY_ID],
                             .used = true };
    c->n_labels++;
    return PACK_OK;
}

/* --------------------------------------------------------------------- items */

/* `array` with room for one more than `n` entries of `size` bytes; NULL: no memory. */
static void *
grown(void *array, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return array;
    size_t more = *capacity < 64 ? 64 : *capacity + *capacity / 2;
    void *larger = reallocarray(array, more, size);
    *capacity = larger ? more : *capacity;
    return larger;
}

static enum pack_status
add_image(struct coco *c)
{
    const char *path = (const char *)c->texts[FILE_NAME].data;
    int64_t *images =
        grown(c->images, c->n_images, &c->images_capacity, sizeof *images);
    if (!images)
        return pack_fail_memory(c->err, "ids of images");
    c->images = images;
    images[c->n_images++] = c->numbers[ID];
    if (*path == '\0')
        return pack_fail(c->err, PACK_ERR_FORMAT, "image %" PRId64 " has no file_name",
                         c->numbers[ID]);
    enum pack_status status = pack_survey_check_path(path, c->params, c->err);
    return status == PACK_OK ? pack_column_add(&c->path, path, c->err) : status;
}

static enum pack_status
add_category(struct coco *c)
{
    struct category *categories =
        grown(c->categories, c->n_categories, &c->capacity, sizeof *categories);
    if (!categories)
        return pack_fail_memory(c->err, "names of classes");
    c->categories = categories;
    char *name = strdup((const char *)c->texts[NAME].data);
    if (!name)
        return pack_fail_memory(c->err, "names of classes");
    categories[c->n_categories++] = (struct category){ c->numbers[ID], name };
    return PACK_OK;
}

/* An item with all its members has been read. */
static enum pack_status
add_item(struct coco *c)
{
    for (int i = 0; i < N_MEMBERS; i++)
        if (sections[c->section].members[i] && !c->given[i])
            return pack_fail(c->err, PACK_ERR_FORMAT, "%s has no '%s'%s",
                             sections[c->section].item, sections[c->section].members[i],
                             i == CATEGORY_ID ? ", and so gives no label" : "");
    enum pack_status status =
        pack_list_watch(c->params, ++c->n_items, c->n_images, c->err);
    return status != PACK_OK           ? status
           : c->section == IMAGES      ? add_image(c)
           : c->section == ANNOTATIONS ? add_annotation(c)
                                       : add_category(c);
}

/* Which member of an item of this section it is, N_MEMBERS for others. */
static enum member
find_member(const struct coco *c, const char *key)
{
    for (int i = 0; key && i < N_MEMBERS; i++)
        if (sections[c->section].members[i] &&
            strcmp(sections[c->section].members[i], key) == 0)
            return (enum member)i;
    return N_MEMBERS;
}

/* A whole number that is no integer here. */
static bool
is_large(const struct pack_json_value *value)
{
    return value->kind == PACK_JSON_NUMBER && !strpbrk(value->text, ".eE");
}

static enum pack_status
take_member(struct coco *c, const struct pack_json_value *value)
{
    enum member m = find_member(c, value->key);
    bool is_text = m == FILE_NAME || m == NAME;
    if (m == N_MEMBERS)
        return PACK_OK;
    if (is_text ? value->kind != PACK_JSON_TEXT : !value->is_integer)
        return pack_fail(c->err, PACK_ERR_FORMAT, "'%s' of %s is %s", value->key,
                         sections[c->section].item,
                         is_text           ? "no text"
                         : is_large(value) ? "beyond 64 bits, such as ids are to fit"
                                           : "no whole number");
    c->given[m] = true;
    c->numbers[m] = value->integer;
    c->texts[m].size = 0;
    return is_text ? pack_buf_append(&c->texts[m], value->text, strlen(value->text) + 1,
                                     c->err)
                   : PACK_OK;
}

/* -------------------------------------------------------------------- events */

static enum section
find_section(const char *key)
{
    for (int i = OTHER + 1; key && i < N_SECTIONS; i++)
        if (strcmp(sections[i].key, key) == 0)
            return (enum section)i;
    return OTHER;
}

/* A value at c->depth, of which the parts inside follow when it has any. */
static enum pack_status
take_value(struct coco *c, const struct pack_json_value *value)
{
    if (c->depth == 1) {
        c->section = find_section(value->key);
        c->has[c->section] = true;
        if (c->section != OTHER && value->kind != PACK_JSON_ARRAY)
            return pack_fail(c->err, PACK_ERR_FORMAT, "'%s' is no array", value->key);
    } else if (c->depth == 2 && value->kind != PACK_JSON_OBJECT) {
        return pack_fail(c->err, PACK_ERR_FORMAT, "%s is no object",
                         sections[c->section].item);
    } else if (c->depth == 2) {
        memset(c->given, 0, sizeof c->given);
    } else if (c->depth == 3) {
        return take_member(c, value);
    }
    return PACK_OK;
}

static enum pack_status
on_event(void *context, enum pack_json_part part, const struct pack_json_value *value,
         struct pack_error *err)
{
    struct coco *c = context;
    (void)err;
    if (part == PACK_JSON_END) {
        c->depth--;
        return c->depth == 2 ? add_item(c) : PACK_OK;
    }
    enum pack_status status = take_value(c, value);
    c->depth += part == PACK_JSON_BEGIN;
    return status;
}

/* Sections of other names, and what is nested in an item: outlines and boxes. */
static bool
is_passed_over(void *context, const struct pack_json_value *value)
{
    const struct coco *c = context;
    (void)value;
    return (c->depth == 2 && c->section == OTHER) || c->depth == 4;
}

/* ------------------------------------------------------------------- the list */

static int
compare_categories(const void *a, const void *b)
{
    const struct category *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int
compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static enum pack_status
check_ids(struct coco *c)
{
    int64_t *ids = malloc((c->n_images ? c->n_images : 1) * sizeof *ids);
    enum pack_status status = PACK_OK;
    if (!ids)
        return pack_fail_memory(c->err, "ids of images");
    for (size_t i = 0; i < c->n_images; i++)
        ids[i] = c->images[i];
    qsort(ids, c->n_images, sizeof *ids, compare_ids);
    for (size_t i = 1; status == PACK_OK && i < c->n_images; i++)
        if (ids[i] == ids[i - 1])
            status = pack_fail(c->err, PACK_ERR_FORMAT, "two images have id %" PRId64,
                               ids[i]);
    free(ids);
    if (c->n_categories)
        qsort(c->categories, c->n_categories, sizeof *c->categories, compare_categories);
    for (size_t i = 1; status == PACK_OK && i < c->n_categories; i++)
        if (c->categories[i].id == c->categories[i - 1].id)
            status = pack_fail(c->err, PACK_ERR_FORMAT, "two categories have id %" PRId64,
                               c->categories[i].id);
    return status;
}

/* The name of image `row`'s category, "" when it has none; NULL when there is no such. */
static const char *
label_of(struct coco *c, size_t row, int64_t *id)
{
    const struct label *label =
        c->n_slots ? &c->labels[slot_of(c, c->images[row])] : NULL;
    if (!label || !label->used) {
        c->n_none++;
        return "";
    }
    *id = label->category;
    c->n_several += label->has_several;
    struct category key = { .id = label->category };
    const struct category *category =
        c->n_categories ? bsearch(&key, c->categories, c->n_categories, sizeof key,
                                  compare_categories)
                        : NULL;
    return category ? category->name : NULL;
}

static enum pack_status
fill_labels(struct coco *c, struct pack_list *list)
{
    struct pack_column_builder labels = { .is_text = true };
    enum pack_status status = PACK_OK;
    int64_t id = 0;
    list->label = calloc(1, sizeof *list->label);
    if (!list->label || !(list->label->name = strdup("label")))
        return pack_fail_memory(c->err, "a list");
    for (size_t i = 0; status == PACK_OK && i < c->n_images; i++) {
        const char *name = label_of(c, i, &id);
        status = name ? pack_column_add(&labels, name, c->err)
                      : pack_fail(c->err, PACK_ERR_FORMAT,
                                  "image %" PRId64 " has category %" PRId64
                                  ", which is none of its categories",
                                  c->images[i], id);
    }
    if (status == PACK_OK)
        status = pack_column_finish(&labels, list->label, c->err);
    pack_column_builder_done(&labels);
    list->classes = calloc(c->n_categories ? c->n_categories : 1, sizeof *list->classes);
    if (status == PACK_OK && !list->classes)
        status = pack_fail_memory(c->err, "names of classes");
    for (; status == PACK_OK && list->n_classes < c->n_categories; list->n_classes++) {
        list->classes[list->n_classes] = c->categories[list->n_classes].name;
        c->categories[list->n_classes].name = NULL;
    }
    return status;
}

static enum pack_status
fill_ids(struct coco *c, struct pack_list *list)
{
    list->columns = calloc(1, sizeof *list->columns);
    if (!list->columns || !(list->columns[0].name = strdup("image_id")))
        return pack_fail_memory(c->err, "a list");
    list->n_columns = 1;
    list->columns[0].kind = PACK_COLUMN_INT64;
    list->columns[0].integers = c->images;
    c->images = NULL;
    return PACK_OK;
}

static enum pack_status
describe(const struct coco *c, struct pack_list *list)
{
    char text[512] = "";
    if (list->label)
        snprintf(text, sizeof text,
                 ", the first category of each image as label (%" PRIu64
                 " have several, %" PRIu64 " none)",
                 c->n_several, c->n_none);
    struct pack_buf taken = { 0 };
    enum pack_status status =
        pack_buf_printf(&taken, c->err,
                        "takes file_name as path%s, image_id as dataset; COCO", text);
    list->taken = (char *)taken.data;
    return status;
}

static enum pack_status
fill(struct coco *c, const struct pack_list_params *params, struct pack_list *list)
{
    if (!c->has[IMAGES])
        return pack_fail(c->err, PACK_ERR_FORMAT, "there is no 'images'");
    if (c->n_images == 0)
        return pack_fail(c->err, PACK_ERR_NOT_FOUND, "'images' is empty");
    enum pack_status status = check_ids(c);
    list->n_rows = c->n_images;
    if (status == PACK_OK && !(list->path.name = strdup("file_name")))
        status = pack_fail_memory(c->err, "a list");
    if (status == PACK_OK)
        status = pack_column_finish(&c->path, &list->path, c->err);
    if (status == PACK_OK && c->has[ANNOTATIONS] && !params->no_label)
        status = fill_labels(c, list);
    if (status == PACK_OK)
        status = fill_ids(c, list);
    return status == PACK_OK ? describe(c, list) : status;
}

static void
coco_done(struct coco *c)
{
    for (int i = 0; i < N_MEMBERS; i++)
        pack_buf_done(&c->texts[i]);
    for (size_t i = 0; i < c->n_categories; i++)
        free(c->categories[i].name);
    pack_column_builder_done(&c->path);
    free(c->categories);
    free(c->labels);
    free(c->images);
}

enum pack_status
pack_coco_read(FILE *file, const char *name, const struct pack_list_head *head,
               const struct pack_list_params *params, struct pack_list *list,
               struct pack_error *err)
{
    struct coco c = { .path.is_text = true, .params = params, .err = err };
    struct pack_json_stream stream = { .file = file,
                                       .head = (const char *)head->bytes + head->start,
                                       .head_bytes = head->size - head->start,
                                       .passes_over = is_passed_over,
                                       .watch = params->watch };
    pack_name_text(name, c.name);
    enum pack_status status;
    if (params->path_column || (params->label_column && !params->no_label))
        status = pack_fail_param(err, PACK_ERR_ARGUMENT,
                                 params->path_column ? "path_column" : "label_column",
                                 "this is COCO's object, which has no columns");
    else
        status = pack_json_read_stream(&stream, on_event, &c, err);
    if (status == PACK_OK)
        status = fill(&c, params, list);
    coco_done(&c);
    return status == PACK_OK || status == PACK_ERR_INTERRUPTED
               ? status
               : pack_error_prefix(err, status, "'%s'", c.name);
}
