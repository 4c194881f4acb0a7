/* A colour as people write it: #RRGGBB. */
#ifndef LIBPACK_COLOR_H
#define LIBPACK_COLOR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Six hexadecimal digits behind a "#", to red, green and blue; false, and nothing
 * written, for anything else. */
bool pack_image_color_parse(const char *text, uint8_t rgb[3]);

#ifdef __cplusplus
}
#endif
#endif
