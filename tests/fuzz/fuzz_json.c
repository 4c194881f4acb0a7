/* Any bytes read as JSON: events are nested as the text is, no object of a tree has a key
 * twice, and integers are what they look like. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libpack/base/json.h"

static enum pack_status
count(void *context, enum pack_json_part part, const struct pack_json_value *value,
      struct pack_error *err)
{
    int *depth = context;
    (void)err;
    assert(*depth >= 0 && *depth <= PACK_JSON_DEPTH_MAX);
    *depth += part == PACK_JSON_BEGIN ? 1 : part == PACK_JSON_END ? -1 : 0;
    assert((value->kind == PACK_JSON_ARRAY || value->kind == PACK_JSON_OBJECT) ==
           (part != PACK_JSON_SCALAR));
    assert(!value->is_integer || (double)value->integer == value->number);
    assert(!value->is_natural || (double)value->natural == value->number);
    return PACK_OK;
}

static void
check(const struct pack_json_value *value)
{
    size_t n = 0;
    for (const struct pack_json_value *m = value->first; m; m = m->next, n++) {
        assert((m->key != NULL) == (value->kind == PACK_JSON_OBJECT));
        assert(!m->key || pack_json_find(value, m->key) == m);
        check(m);
    }
    assert(n == value->n);
}

static bool
passes_over(void *context, const struct pack_json_value *value)
{
    (void)context;
    return value->key && value->key[0] == 'x';
}

/* The same in two pieces, and with parts passed over, which hides errors at most. */
static void
read_stream(const uint8_t *data, size_t size, enum pack_status read)
{
    size_t n_head = size ? data[0] % size : 0;
    FILE *file = fmemopen((void *)(uintptr_t)(data + n_head), size - n_head, "r");
    struct pack_json_stream stream = { file, (const char *)data, n_head, NULL, NULL };
    int depth = 0;
    if (!file)
        return;
    assert(pack_json_read_stream(&stream, count, &depth, NULL) == read);
    rewind(file);
    stream.passes_over = passes_over;
    depth = 0;
    enum pack_status passed = pack_json_read_stream(&stream, count, &depth, NULL);
    assert(read != PACK_OK || passed == PACK_OK);
    fclose(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root = NULL;
    struct pack_error err;
    int depth = 0;
    enum pack_status read = pack_json_read((const char *)data, size, count, &depth, NULL);
    enum pack_status parsed =
        pack_json_parse((const char *)data, size, &doc, &root, &err);
    assert(read == parsed || parsed == PACK_ERR_LIMIT);
    if (read == PACK_OK)
        assert(depth == 0);
    if (size > 0)
        read_stream(data, size, read);
    if (parsed == PACK_OK) {
        check(root);
        pack_json_free(doc);
    }
    return 0;
}
