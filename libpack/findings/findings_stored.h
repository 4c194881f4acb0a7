/* What is wrong with how a file and its datasets are stored: rules over what a survey and a
 * simulated reader know. Pure functions. */
#ifndef LIBPACK_FINDINGS_STORED_H
#define LIBPACK_FINDINGS_STORED_H

#include "libpack/findings/findings.h"
#include "libpack/hdf5/survey.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACK_FINDINGS_STORED_MAX = 20
}; /* rules there may be, of a file or of a dataset */

/* A reader of a dataset; all zero: none is known. Counts are of all its workers. */
struct pack_stored_reading {
    double epoch_samples, epoch_s;       /* of an epoch, once it is steady */
    double amplification;                /* bytes read / bytes wanted */
    double read_bytes;                   /* in an epoch */
    double decodes_per_sample, decode_s; /* chunks; seconds of an epoch, all workers */
    double gzip_ns, zstd_ns;             /* to decode a byte */
    struct pack_cache_params cache;
    uint64_t workers;
};

/* thresholds NULL: each rule's own. Of one file: rules 501 to 504, 510, 512, 515, 601. */
size_t pack_findings_file(const struct pack_survey *survey,
                          const struct pack_thresholds *thresholds,
                          struct pack_finding *findings, size_t max);

/* Of one dataset: the other rules of 104 on that are not in findings.h. */
size_t pack_findings_dataset(const struct pack_survey_dataset *dataset,
                             const struct pack_stored_reading *reading,
                             const struct pack_thresholds *thresholds,
                             struct pack_finding *findings, size_t max);

/* How many kinds of datasets rule 512 finds, the first of survey->alike. */
size_t pack_findings_alike(const struct pack_survey *survey,
                           const struct pack_thresholds *thresholds);

/* Whether chunks are those that h5py makes up for this shape: guess_chunk() of h5py 3
 * (h5py/_hl/filters.py). */
bool pack_is_guessed_chunk(const struct pack_shape *extent, uint64_t elem_size,
                           const struct pack_shape *chunk);

/* Whether the file ends before it says that it does: no tool of HDF5 opens it then. */
bool pack_findings_is_cut(const struct pack_survey *survey);

#ifdef __cplusplus
}
#endif
#endif
