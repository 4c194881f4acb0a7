#include "libpack/image/color.h"

#include <stdlib.h>
#include <string.h>

/* strtoul() alone would take blanks and signs too. */
bool
pack_image_color_parse(const char *text, uint8_t rgb[3])
{
    if (text[0] != '#' || strlen(text) != 7 ||
        strspn(text + 1, "0123456789abcdefABCDEF") != 6)
        return false;
    unsigned long value = strtoul(text + 1, NULL, 16);
    for (int i = 0; i < 3; i++)
        rgb[i] = (uint8_t)(value >> (16 - 8 * i));
    return true;
}

/* A number of 16 bits at *text, which goes on behind it. */
static bool
take_number(const char **text, uint16_t *number)
{
    size_t n = strspn(*text, "0123456789");
    unsigned long value = n > 0 && n <= 5 ? strtoul(*text, NULL, 10) : UINT16_MAX + 1ul;
    *text += n;
    *number = (uint16_t)value;
    return value <= UINT16_MAX;
}

bool
pack_image_range_parse(const char *text, uint16_t *low, uint16_t *high)
{
    uint16_t from, to;
    if (!take_number(&text, &from) || *text++ != ':' || !take_number(&text, &to) ||
        *text || from >= to)
        return false;
    *low = from;
    *high = to;
    return true;
}
