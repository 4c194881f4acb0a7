/* Which way up a photograph is: the orientation in EXIF and XMP metadata. */
#ifndef LIBPACK_EXIF_H
#define LIBPACK_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Looks for the orientation tag (274) in the first directory of EXIF data: a TIFF
 * structure, with or without "Exif\0\0" in front. Returns whether the tag is there and
 * readable; *orientation is then 1 to 8, and 1 for any value that means nothing.
 *
 * Reads what Pillow 9.4 does (ImageFileDirectory_v2.load()): either byte order, also with
 * the magic number's bytes swapped; the last of several tags; any numeric type but BYTE;
 * the first of several values; and all tags in front of a damaged one.
 */
bool pack_exif_orientation(const void *data, size_t size, int *orientation);

/* The same for an XMP packet: tiff:Orientation as an attribute or element. */
bool pack_exif_xmp_orientation(const void *data, size_t size, int *orientation);

#ifdef __cplusplus
}
#endif
#endif
