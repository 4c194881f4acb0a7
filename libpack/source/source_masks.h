/* Images that look like segmentation masks of others. */
#ifndef LIBPACK_SOURCE_MASKS_H
#define LIBPACK_SOURCE_MASKS_H

#include "libpack/source/source_parts.h"

/*
 * Notes the records from `first` on that look like masks of others among them, and refuses
 * with PACK_ERR_ARGUMENT, but for `no_labels`, a source of images and masks: when most in
 * folders that are called masks, labels or the like are and there is evidence besides their
 * names, or a quarter of all lies, called as one, beside its image, or pixels show it of two
 * folders (mask_folders.h). Nothing of it with
 * `masks_are_classes`, nor in folders that are called as one of the classes given.
 */
enum pack_status pack_source_check_masks(struct pack_source *source, uint64_t first,
                                         const struct pack_source_params *params,
                                         struct pack_error *err);

#endif
