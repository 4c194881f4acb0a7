/* Small documents as trees: the reader's events, kept in an arena. */
#include "libpack/base/json.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/arena.h"

struct node {
    struct pack_json_value value;
    struct node *parent;
    struct pack_json_value *last; /* member so far */
};

struct pack_json_doc {
    struct pack_arena arena;
    struct node *root;
    struct node *open; /* the innermost array or object that has not ended */
    size_t n_values;
};

static enum pack_status
keep(void *context, enum pack_json_part part, const struct pack_json_value *value,
     struct pack_error *err)
{
    struct pack_json_doc *doc = context;
    if (part == PACK_JSON_END) {
        doc->open = doc->open->parent;
        return PACK_OK;
    }
    if (++doc->n_values > PACK_JSON_VALUES_MAX)
        return pack_fail(err, PACK_ERR_LIMIT, "JSON of more than %d values",
                         PACK_JSON_VALUES_MAX);
    struct node *node = pack_arena_zeroed(&doc->arena, sizeof *node);
    if (!node)
        return pack_fail_memory(err, "JSON");
    node->value = *value;
    node->parent = doc->open;
    if (value->key)
        node->value.key = pack_arena_text(&doc->arena, value->key);
    if (value->text)
        node->value.text = pack_arena_text(&doc->arena, value->text);
    if ((value->key && !node->value.key) || (value->text && !node->value.text))
        return pack_fail_memory(err, "JSON");
    if (!doc->open) {
        doc->root = node;
    } else {
        struct node *parent = doc->open;
        if (parent->last)
            parent->last->next = &node->value;
        else
            parent->value.first = &node->value;
        parent->last = &node->value;
        parent->value.n++;
    }
    if (part == PACK_JSON_BEGIN)
        doc->open = node;
    return PACK_OK;
}

enum pack_status
pack_json_parse(const char *text, size_t size, struct pack_json_doc **doc,
                const struct pack_json_value **root, struct pack_error *err)
{
    struct pack_json_doc *made = calloc(1, sizeof *made);
    if (!made)
        return pack_fail_memory(err, "JSON");
    enum pack_status status = pack_json_read(text, size, keep, made, err);
    if (status != PACK_OK) {
        pack_json_free(made);
        return status;
    }
    *doc = made;
    *root = &made->root->value;
    return PACK_OK;
}

void
pack_json_free(struct pack_json_doc *doc)
{
    if (!doc)
        return;
    pack_arena_done(&doc->arena);
    free(doc);
}

const struct pack_json_value *
pack_json_find(const struct pack_json_value *object, const char *key)
{
    if (!object || object->kind != PACK_JSON_OBJECT)
        return NULL;
    for (const struct pack_json_value *m = object->first; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}
