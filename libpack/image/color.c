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
