/* A drawing of what lies where in a file. */
#ifndef LIBPACK_REPORT_MAP_H
#define LIBPACK_REPORT_MAP_H

#include "libpack/base/buf.h"
#include "libpack/hdf5/file_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SVG of at most a few hundred KiB, readable on white and black; `name` is the file's.
 * PACK_ERR_MEMORY. */
enum pack_status pack_report_map_svg(const struct pack_file_map *map, const char *name,
                                     struct pack_buf *buf, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
