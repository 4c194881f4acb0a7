/* Images that look like segmentation masks of others. */
#ifndef LIBPACK_SOURCE_MASKS_H
#define LIBPACK_SOURCE_MASKS_H

#include "libpack/source/source_parts.h"

/*
 * Notes the records from `first` on that look like masks of others among them, and refuses
 * with PACK_ERR_ARGUMENT, unless it `takes_them`, a source of images and masks: when most
 * in folders that are called masks, labels or the like are, or a quarter of all lies, with
 * such an ending, beside its image.
 */
enum pack_status pack_source_check_masks(struct pack_source *source, uint64_t first,
                                         bool takes_them, struct pack_error *err);

#endif
