/* Two folders of any names, of which one has the masks of the other, in colours. */
#ifndef LIBPACK_MASK_FOLDERS_H
#define LIBPACK_MASK_FOLDERS_H

#include "libpack/source/mask_pixels.h"
#include "libpack/source/source_parts.h"

/*
 * Looks at the records from `first` on: they are to be in two folders, all of one PNG, each
 * called as an image in the other, or as it with a word of masks; three at least. *n is how
 * many masks there are then, and *pair the first; 0 where pixels do not show that they are.
 */
enum pack_status pack_mask_folders_find(const struct pack_source *source, uint64_t first,
                                        const struct pack_source_params *params,
                                        struct pack_mask_pair *pair, uint64_t *n,
                                        struct pack_error *err);

#endif
