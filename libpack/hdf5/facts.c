/* Words for what facts say. */
#include <libpack/dataset.h>

#include <stdio.h>
#include <string.h>

const char *
pack_type_class_name(enum pack_type_class class_id)
{
    static const char *const names[] = {
        "integer",  "float",     "time", "string", "bitfield", "opaque",
        "compound", "reference", "enum", "vlen",   "array",    "other",
    };
    size_t i = (size_t)class_id;
    return i < sizeof names / sizeof names[0] ? names[i] : "other";
}

const char *
pack_layout_name(enum pack_layout layout)
{
    static const char *const names[] = { "compact", "contiguous", "chunked", "virtual" };
    size_t i = (size_t)layout;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}

const char *
pack_facts_layout_name(const struct pack_facts *facts)
{
    return !facts                  ? "unknown"
           : facts->n_external > 0 ? "external"
                                   : pack_layout_name(facts->layout);
}

const char *
pack_index_name(enum pack_index index)
{
    static const char *const names[] = { "none",     "B-tree v1",   "single",
                                         "implicit", "fixed array", "extensible array",
                                         "B-tree v2" };
    size_t i = (size_t)index;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}

char *
pack_type_format(const struct pack_type *type, char *text)
{
    if (!type || !text)
        return text ? strcpy(text, "unknown") : NULL;
    const char *big = type->order == PACK_ORDER_BIG && type->bytes > 1 ? ">" : "";
    unsigned bits = type->bytes * 8;
    switch (type->class_id) {
    case PACK_TYPE_INTEGER:
        snprintf(text, PACK_TYPE_TEXT_MAX, "%s%sint%u", big, type->is_signed ? "" : "u",
                 bits);
        break;
    case PACK_TYPE_FLOAT:
        snprintf(text, PACK_TYPE_TEXT_MAX, "%sfloat%u", big, bits);
        break;
    default:
        if (type->is_variable)
            snprintf(text, PACK_TYPE_TEXT_MAX, "variable-length %s",
                     pack_type_class_name(type->class_id));
        else
            snprintf(text, PACK_TYPE_TEXT_MAX, "%s of %u byte%s",
                     pack_type_class_name(type->class_id), type->bytes,
                     type->bytes == 1 ? "" : "s");
    }
    return text;
}

bool
pack_facts_skip_missing(const struct pack_facts *facts)
{
    return facts && (facts->fill_time == PACK_FILL_NEVER ||
                     (facts->fill_time == PACK_FILL_IFSET &&
                      facts->fill == PACK_FILL_UNDEFINED));
}

bool
pack_facts_is_unwritten(const struct pack_facts *facts)
{
    return facts && ((facts->layout == PACK_LAYOUT_CONTIGUOUS && facts->n_external == 0 &&
                      facts->contiguous_address == UINT64_MAX) ||
                     (facts->layout == PACK_LAYOUT_CHUNKED && facts->n_chunks_stored == 0));
}
