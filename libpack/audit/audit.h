/* Finds what is wrong with existing HDF5 files, prices it for a reader, and says what mends
 * it. */
#ifndef LIBPACK_AUDIT_H
#define LIBPACK_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>
#include "libpack/advise/advise_request.h"
#include "libpack/findings/findings_contents.h"
#include "libpack/findings/findings_stored.h"
#include "libpack/findings/thresholds.h"
#include "libpack/hdf5/survey.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACK_AUDIT_COMMAND_MAX = 1024,
    PACK_AUDIT_SETS_MAX = 32, /* of a file that a reader is simulated for, the largest */
    PACK_AUDIT_LEFT_MAX = 8,
    PACK_AUDIT_PLANS_MAX = 5
};

struct pack_audit_params {
    const char *const *files; /* "FILE" or "FILE:/DATASET" */
    size_t n_files;
    /* The reader that is asked about: reading, cache, machine and goal; data.file and
     * storing are not looked at. Prices are predicted, for the storage that it names. */
    struct pack_advise_request request;
    bool no_reader; /* is asked about: what depends on one is not looked for, nothing priced */
    const int *only, *ignored; /* codes of rules; n_only 0: all of them */
    size_t n_only, n_ignored;
    struct pack_thresholds thresholds; /* in place of the rules' own */
    /* Data is read: so many samples of each dataset, or all of them; 0: none. */
    uint64_t n_samples;
    bool is_deep;
    unsigned n_threads; /* that read; 0: one per processor */
    struct pack_watch watch; /* "auditing", in files */
};

/* What mends a finding: bits, as several of one dataset are mended at once. */
enum pack_audit_fix {
    PACK_AUDIT_FIX_LAYOUT = 1,      /* the reading's advice */
    PACK_AUDIT_FIX_NO_SHUFFLE = 2,  /* filters but for that one */
    PACK_AUDIT_FIX_ZSTD = 4,        /* in place of deflate */
    PACK_AUDIT_FIX_NO_FILTERS = 8,  /* but for a checksum */
    PACK_AUDIT_FIX_COPY = 16,       /* the file written anew */
    PACK_AUDIT_FIX_OTHER = 32,      /* a command that is not h5rechunk */
    /* These change the type, the order, or what reading costs: only when they are named. */
    PACK_AUDIT_FIX_BYTES = 64,     /* as uint8 */
    PACK_AUDIT_FIX_COMPRESS = 128, /* by zstd */
    PACK_AUDIT_FIX_MIX = 256,      /* records in a random order */
    PACK_AUDIT_FIX_NAMED = PACK_AUDIT_FIX_BYTES | PACK_AUDIT_FIX_COMPRESS | PACK_AUDIT_FIX_MIX
};

struct pack_audit_finding {
    struct pack_finding finding;
    size_t file;         /* index into files */
    const char *dataset; /* its path without a leading slash; NULL: of the file itself */
    unsigned fix;        /* enum pack_audit_fix; 0: none */
    char command[PACK_AUDIT_COMMAND_MAX]; /* that mends it, as a shell takes it; "": none */
    double grown_bytes; /* that the dataset takes then, about, where it is more; or 0 */
    /* Codes of what rules find in the dataset then: what the command brings along, or layouts
     * that it makes no better. */
    int left[PACK_AUDIT_LEFT_MAX];
    size_t n_left;
};

/* How a dataset is to be stored, by one of the fixes. */
struct pack_audit_plan {
    unsigned fix;  /* enum pack_audit_fix, one of them */
    double rate;   /* samples/s of later epochs */
    double bytes;  /* in the file, about; 0: not known */
    char chunk[PACK_SHAPE_TEXT_MAX]; /* "": as it is */
    char filters[PACK_PIPELINE_TEXT_MAX];
    int left[PACK_AUDIT_LEFT_MAX]; /* see pack_audit_finding */
    size_t n_left;
};

/* What a reader meets with in a dataset. */
struct pack_audit_reading {
    size_t set; /* index into survey.datasets */
    bool is_known;
    char why_not[PACK_SURVEY_TEXT_MAX]; /* a sentence without end */
    double rate, amplification, loads_per_sample, hit_rate; /* of later epochs */
    double epoch_s;
    double rate_1, rate_2; /* with the default caches of HDF5 1.x and 2.x; 0: alike */
    bool has_advice;       /* another layout was looked for, */
    bool is_kept;          /* and none is worth it; else there is a plan of it, which gives: */
    double advised_rate;
    struct pack_audit_plan plans[PACK_AUDIT_PLANS_MAX]; /* of another layout, and of other fixes */
    size_t n_plans;
};

struct pack_audit_file {
    const char *path;    /* as given; without the dataset, owned */
    char *dataset;       /* the only one that is looked at; NULL: all */
    enum pack_status status; /* of the file by itself; then all below is empty */
    struct pack_error failure;
    struct pack_survey survey;
    struct pack_contents *contents; /* of survey.datasets, where they were asked for; or NULL */
    char contents_why_not[PACK_SURVEY_TEXT_MAX];
    struct pack_audit_reading *readings;
    size_t n_readings, n_small; /* n_small: datasets that the reader is not asked about */
    size_t n_passed_over;       /* others, beyond PACK_AUDIT_SETS_MAX */
};

struct pack_audit_result {
    struct pack_audit_file *files;
    size_t n_files, n_failed; /* failed: could not be looked at */
    /* Of each file by severity, hazards first, then by price. */
    struct pack_audit_finding *findings;
    size_t n_findings;
};

/*
 * Looks at all files, one after another, each in a child process first. That a file is
 * damaged is a finding. PACK_ERR_ARGUMENT for a request that cannot be, PACK_ERR_MEMORY,
 * PACK_ERR_INTERRUPTED; what was found until then is in *result, which is for
 * pack_audit_done() in any case.
 */
enum pack_status pack_audit(const struct pack_audit_params *params,
                            struct pack_audit_result *result, struct pack_error *err);
void pack_audit_done(struct pack_audit_result *result);

/* The most severe of the findings; -1: there are none. */
int pack_audit_worst(const struct pack_audit_result *result);
/* Whether all samples that were to be looked at could be read. */
bool pack_audit_is_read(const struct pack_audit_result *result);
bool pack_audit_file_is_read(const struct pack_audit_file *file);

#ifdef __cplusplus
}
#endif
#endif
