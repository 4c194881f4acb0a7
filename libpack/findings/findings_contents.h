/* What is wrong with what a dataset holds: rules over what was seen of its samples. */
#ifndef LIBPACK_FINDINGS_CONTENTS_H
#define LIBPACK_FINDINGS_CONTENTS_H

#include "libpack/findings/findings.h"
#include "libpack/hdf5/survey.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of samples that were looked at; a sample is an index of axis 0. */
struct pack_contents {
    bool is_known;      /* samples were looked at */
    /* Why samples that were to be looked at were not, a sentence; "": they were, or there was
     * nothing to look at. */
    char why_not[PACK_SURVEY_TEXT_MAX];
    uint64_t n_samples; /* so many; as many as there are: all of them */
    char
        scale[16]; /* elements are all bytes by this, "k" or "k/255"; "": they are not, or
                         * one of no more than a byte, or all of one value */
    uint64_t n_odd, first_odd;           /* with a NaN or an infinity in them */
    uint64_t n_constant, first_constant; /* of elements that are all alike */
    /* Exactly as an earlier one, which was looked for where all samples were: */
    uint64_t n_twice, first_twice, first_once;
    double
        zstd_rate; /* what zstd:3, behind a shuffle of wider elements, leaves of some */
    double bytes_zstd_rate; /* of them as bytes, where elements are all bytes by `scale`; or 0 */
    /* Of whole numbers, one to a sample, all of which were looked at: n_classes 0: else. */
    uint64_t n_classes;
    double classes_seen,
        classes_random; /* on average among 64 in order, and drawn at random */
};

enum { PACK_CONTENTS_WINDOW = 64 };

struct pack_contents_use {
    bool is_shuffled; /* samples are drawn at random from all of them */
    bool has_samples; /* numbers lie beside samples, which they may be the labels of */
};

/* Whether a rule is about what samples hold, so that some have to be read for it. */
bool pack_findings_is_of_contents(int code);

/* Pure. */
size_t pack_findings_contents(const struct pack_facts *facts,
                              const struct pack_contents *contents,
                              const struct pack_contents_use *use,
                              const struct pack_thresholds *thresholds,
                              struct pack_finding *findings, size_t max);

#ifdef __cplusplus
}
#endif
#endif
