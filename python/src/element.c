/* What HDF5's types are to Python. */
#include "native.h"

#include <stdio.h>

struct element
element_of(const struct pack_type *type)
{
    struct element element = { type->bytes, 'V' };
    bool is_number = type->bytes == 1 || type->bytes == 2 || type->bytes == 4 ||
                     type->bytes == 8;
    /* Other enums than h5py's booleans are the numbers that they have in the file. */
    bool is_enum = type->class_id == PACK_TYPE_ENUM &&
                   (type->bytes == 1 || type->order == PACK_ORDER_LITTLE);
    if (type->class_id == PACK_TYPE_STRING)
        element.kind = 'S';
    else if (type->is_bool)
        element.kind = 'b';
    else if (type->class_id == PACK_TYPE_FLOAT && (type->is_ieee || type->is_long_double))
        element.kind = 'f';
    else if (type->class_id == PACK_TYPE_BITFIELD && is_number)
        element.kind = 'u';
    else if ((type->class_id == PACK_TYPE_INTEGER || is_enum) && is_number)
        element.kind = type->is_signed ? 'i' : 'u';
    return element;
}

static char
letter_of(const struct element *element)
{
    static const char integers[] = { [1] = 'b', [2] = 'h', [4] = 'i', [8] = 'q' };
    static const char floats[] = { [2] = 'e', [4] = 'f', [8] = 'd' };
    if (element->kind == 'f' && element->bytes > 8)
        return 'g'; /* long double */
    if (element->kind == 'f')
        return floats[element->bytes];
    char letter = integers[element->bytes];
    return element->kind == 'u' ? (char)(letter - 'a' + 'A') : letter;
}

const char *
element_format(const struct element *element, char *text)
{
    if (element->kind == 'B')
        return NULL;
    if (element->kind == 'S')
        snprintf(text, 24, "%zus", element->bytes);
    else if (element->kind == 'V') /* bytes that mean nothing here: NumPy's void */
        snprintf(text, 24, "T{%zux:v:}", element->bytes);
    else if (element->kind == 'b')
        snprintf(text, 24, "?");
    else
        snprintf(text, 24, "%c", letter_of(element));
    return text;
}

const char *
element_name(const struct element *element, char *text)
{
    if (element->kind == 'B')
        return "bfloat16";
    bool has_order = element->bytes > 1 && element->kind != 'S' && element->kind != 'V';
    snprintf(text, 24, "%c%c%zu", has_order ? '<' : '|', element->kind, element->bytes);
    return text;
}
