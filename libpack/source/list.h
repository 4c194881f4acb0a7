/* Reads lists of image files, in whatever form they come. */
#ifndef LIBPACK_LIST_H
#define LIBPACK_LIST_H

#include <stdio.h>

#include "libpack/source/records.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads a whole list from `file`, which stays the caller's; `name` is what messages call
 * it, as in "faces.csv:12: 3 cells where the header has 4".
 *
 * What it may look like, and what is refused: see pack_source_open_list() in source.h.
 *
 * Memory: the paths and 9 bytes each; per further cell 8 bytes when a number, else its
 * text and 9 bytes (text that turns out to be numbers is given back at the end). Arrays
 * grow by half. Plus one row, and what is looked at to recognise the form, about 1 MiB.
 *
 * Returns PACK_OK; PACK_ERR_FORMAT; PACK_ERR_ARGUMENT where the list can be read in several
 * ways; PACK_ERR_LIMIT; PACK_ERR_NOT_FOUND for a list without rows; PACK_ERR_IO;
 * PACK_ERR_MEMORY.
 */
enum pack_status pack_list_read(FILE *file, const char *name,
                                const struct pack_list_params *params,
                                struct pack_list **list, struct pack_error *err);
void pack_list_free(struct pack_list *list);

#ifdef __cplusplus
}
#endif
#endif
