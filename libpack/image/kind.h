/* Image formats that are not read, so that they can be named and counted. */
#ifndef LIBPACK_KIND_H
#define LIBPACK_KIND_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_IMAGE_KINDS = 23 }; /* with 0, which is none of them */

/*
 * The number of the format that content begins as; 0 when it is none that is known here.
 * Some of them are read in some builds: pack_image_is_known() goes first.
 */
int pack_image_kind(const void *data, size_t size);

/* The same by the end of a file's name: ".heic" in any case. */
int pack_image_kind_of_name(const char *file);

/* "HEIC"; NULL for 0. */
const char *pack_image_kind_name(int kind);

/* Whether it holds a picture as photos are, rather than a document, a drawing, an icon. */
bool pack_image_kind_is_photo(int kind);

#ifdef __cplusplus
}
#endif
#endif
