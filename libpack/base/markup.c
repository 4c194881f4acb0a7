#include "libpack/base/markup.h"

#include <string.h>

#include "libpack/base/name.h"

static const char *
entity_of(char c)
{
    switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n': return "\n";
    default: return NULL;
    }
}

enum pack_status
pack_markup_text(const char *text, struct pack_buf *buf, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    while (*text && status == PACK_OK) {
        const char *entity = entity_of(*text);
        char form[8];
        size_t n = 0, taken = 1;
        if (entity) {
            status = pack_buf_append(buf, entity, strlen(entity), err);
        } else {
            taken = pack_name_visible(text, form, &n);
            status = pack_buf_append(buf, form, n, err);
        }
        text += taken;
    }
    return status;
}
