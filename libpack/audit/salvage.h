/* Writes what verification found good into another file. */
#ifndef LIBPACK_SALVAGE_H
#define LIBPACK_SALVAGE_H

#include "libpack/audit/verify.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_salvage_params {
    const char *file, *output;
    bool force;
    unsigned n_threads; /* 0: one per processor */
    struct pack_watch watch;
};

struct pack_salvaged {
    bool is_written; /* false: nothing is bad */
    uint64_t n_sets, n_chunks, n_rows; /* of datasets in which something is lost; of chunks and
                                        * samples that are */
    uint64_t output_bytes;
};

/*
 * The file without its bad chunks, which then hold the fill value; each dataset that lost some
 * says which samples are not what they were in the attribute h5audit_lost_samples, first and
 * number of each stretch. All else is carried over as pack_rechunk() does it, good chunks as
 * they are stored.
 *
 * PACK_ERR_UNSUPPORTED where that cannot be: data without chunks, or of other files, is bad;
 * HDF5 could not open the file, or look at a dataset to the end. Errors of pack_rechunk().
 */
enum pack_status pack_salvage(const struct pack_salvage_params *params,
                              const struct pack_verify_result *verified,
                              struct pack_salvaged *salvaged, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
