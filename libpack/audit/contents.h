/* Looks at what the datasets of a file hold, in a child process. */
#ifndef LIBPACK_CONTENTS_H
#define LIBPACK_CONTENTS_H

#include "libpack/findings/findings_contents.h"
#include "libpack/hdf5/survey.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_contents_params {
    const char *file;
    uint64_t n_samples; /* of each dataset, spread evenly; 0: all */
    unsigned n_threads; /* 0: one per processor */
    const struct pack_watch *watch; /* asked whether to stop, or NULL */
};

/* Whether it is read as samples of numbers; h5py's bool is an enum. */
bool pack_contents_is_of_numbers(const struct pack_facts *facts);

/*
 * Fills in contents[i] for the survey's dataset i, where it is of numbers and asked[i]. Where
 * all samples are looked at, 24 bytes of memory for each. A dataset that cannot be read stays
 * not known, and contents[i].why_not says why; so do those behind one on which HDF5 crashes,
 * of which `why_not` tells, "" else.
 * PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED.
 */
enum pack_status pack_contents_look(const struct pack_contents_params *params,
                                    const struct pack_survey *survey, const bool *asked,
                                    struct pack_contents *contents,
                                    char why_not[PACK_SURVEY_TEXT_MAX],
                                    struct pack_error *err);

/* For that: what a child sent, which may be anything. */
void pack_contents_take(const struct pack_buf *sent, const struct pack_survey *survey,
                        struct pack_contents *contents);

#ifdef __cplusplus
}
#endif
#endif
