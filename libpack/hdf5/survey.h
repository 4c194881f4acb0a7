/* What can be known of a whole file without reading its data, looked at in a child process,
 * because HDF5 itself crashes or hangs on some files. */
#ifndef LIBPACK_SURVEY_H
#define LIBPACK_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include "libpack/hdf5/chunk_stats.h"
#include "libpack/hdf5/h5_guard.h"
#include "libpack/hdf5/superblock.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_SURVEY_DATASETS_MAX = 20000, PACK_SURVEY_TEXT_MAX = 256 };

struct pack_survey_file {
    uint64_t file_bytes; /* as the system says */
    bool has_superblock;
    struct pack_superblock superblock;
    uint64_t free_bytes; /* that HDF5 knows of and keeps for later */
    uint64_t n_datasets; /* all of them */
    uint64_t metadata_bytes, page_bytes; /* h5_metadata.h */
};

struct pack_survey_dataset {
    struct pack_facts facts; /* of one that failed, its path alone */
    uint32_t missing_filter; /* that this HDF5 lacks; 0: none */
    bool has_stats;          /* its chunks could be listed */
    struct pack_chunk_stats stats;
    /* Of a virtual one: datasets of files that it is put together from. */
    uint64_t n_sources, n_missing_sources;
    char missing_source[PACK_SURVEY_TEXT_MAX]; /* file of the first that is not there */
    uint64_t beyond_bytes; /* of contiguous data, behind the end of the file */
    char failure[PACK_SURVEY_TEXT_MAX]; /* why facts or chunks are not known; "": they are */
    bool is_elsewhere; /* in another file, which an external link names */
    bool is_too_many; /* chunks, to be listed: that is the failure, and all else is known */
};

/* Datasets of one group that have the same shape and type. */
struct pack_survey_alike {
    uint64_t n;
    char group[PACK_FACTS_PATH_MAX]; /* "" is the root */
    struct pack_shape extent;
};

/* Bytes of the file that two datasets claim: one of them was damaged, or the file made to be. */
struct pack_survey_shared {
    uint64_t n, first_bytes; /* places; the first, from the file's start. n 0: there are none */
    char one[PACK_FACTS_PATH_MAX], other[PACK_FACTS_PATH_MAX];
};

struct pack_survey {
    struct pack_survey_file file;
    /* The first PACK_SURVEY_DATASETS_MAX, and the one that was asked about if it is none. */
    struct pack_survey_dataset *datasets;
    size_t n_datasets;
    char meant[PACK_FACTS_PATH_MAX]; /* by which the one that was asked about is met; "": it is not */
    char not_meant[PACK_SURVEY_TEXT_MAX]; /* why it is none of the file; "": not known */
    struct pack_survey_alike *alike; /* all of which there are two, the most first */
    size_t n_alike;
    struct pack_survey_shared shared; /* looked for in the first 2^20 runs of chunks */
    bool is_complete; /* HDF5 came to the end of it; what it then said is `status` */
    enum pack_status status;
    struct pack_error failure; /* where status is not PACK_OK */
};

/*
 * Looks at the file, and, where it has no datasets, at those that links of its root group lead
 * to, whose chunks are not listed. PACK_OK also where it is damaged: that is in *survey, which is for
 * pack_survey_done() then. PACK_ERR_NOT_FOUND, _IO and _ARGUMENT for what is no regular file
 * that may be read; PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED. The file is only read, and not
 * locked. limits as pack_h5_guard_try() has them. Of a file that is cut short (cut_file.h) it
 * is what lies before its end.
 *
 * dataset: asked about by any of its links, or NULL; `meant` has the path that it is listed by
 */
enum pack_status pack_survey_file(const char *path, const char *dataset,
                                  const struct pack_h5_guard_limits *limits,
                                  struct pack_survey *survey, struct pack_error *err);
/* For those who hold what a child sent, which may be anything: into a survey that is zeroed but
 * for `file`. PACK_ERR_MEMORY. */
enum pack_status pack_survey_receive(struct pack_survey *survey, const struct pack_buf *sent,
                                  struct pack_error *err);

/* Of contiguous data in a file of so many bytes, those that the file does not have. */
uint64_t pack_survey_beyond(const struct pack_facts *facts, uint64_t file_bytes);
void pack_survey_done(struct pack_survey *survey);

#ifdef __cplusplus
}
#endif
#endif
