/* What the headers of other people's filters say of sizes, checked before plugins believe it. */
#ifndef LIBPACK_FILTER_CLAIMS_H
#define LIBPACK_FILTER_CLAIMS_H

#include <stddef.h>

#include <libpack/dataset.h>
#include <libpack/status.h>
#include "libpack/hdf5/chunkbytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Of blosc, blosc2, lz4 and bitshuffle, whose chunks begin with the size that they decode to:
 * PACK_ERR_FORMAT when that is more than `most` bytes, or when there are fewer bytes in `in`
 * than the header takes or says. Chunks of blosc2 have chunks in them, which are padded to
 * whole blocks: up to twice `most` in each dimension.
 *
 * Says nothing of other filters: bzip2, zfp, sz, sz3, sperr and fcidecomp, for instance.
 */
enum pack_status pack_claims_check(const struct pack_filter *filter, struct pack_block in,
                                   size_t most, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
