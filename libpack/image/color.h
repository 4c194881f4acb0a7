/* A colour as people write it, #RRGGBB, and a range of samples, 0:4095. */
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

/* Two whole numbers up to 65535, the first below the second; false for anything else. */
bool pack_image_range_parse(const char *text, uint16_t *low, uint16_t *high);

#ifdef __cplusplus
}
#endif
#endif
