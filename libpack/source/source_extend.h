/* What was added to a source since it was listed. */
#ifndef LIBPACK_SOURCE_EXTEND_H
#define LIBPACK_SOURCE_EXTEND_H

#include "libpack/source/records.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Compares `source`, a listing of before, with the listing `now` of the same, and appends
 * to it the images that came since, where they can follow the others: the source is not
 * shuffled or limited, they come behind all others in the order of listing, their
 * classes, columns and folders are there. Others are counted. Images that are gone stay
 * in the source. Its folders are from then on where those of `now` are.
 *
 * PACK_ERR_CHANGED when that is another source: no image in common, or an image with
 * another label, or another value in a column, or other classes than those given.
 * PACK_ERR_MEMORY.
 */
enum pack_status pack_source_extend(struct pack_source *source,
                                    const struct pack_source *now,
                                    struct pack_source_additions *additions,
                                    struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
