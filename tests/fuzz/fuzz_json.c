/* Any bytes read as JSON. */
#include <assert.h>
#include <stdint.h>

#include "libpack/base/json.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pack_json_doc *doc = NULL;
    const struct pack_json_value *root = NULL;
    struct pack_error err;
    if (pack_json_parse((const char *)data, size, &doc, &root, &err) == PACK_OK) {
        assert(root);
        (void)pack_json_find(root, "schema");
        pack_json_free(doc);
    }
    return 0;
}
