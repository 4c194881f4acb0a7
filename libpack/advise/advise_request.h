/* Turns what a user asks into the advisor's parameters: files opened, texts parsed and
 * checked. */
#ifndef LIBPACK_ADVISE_REQUEST_H
#define LIBPACK_ADVISE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <libpack/advise.h>
#include "libpack/advise/advise_file.h"
#include <libpack/image.h>
#include "libpack/advise/pattern_file.h"
#include "libpack/hdf5/h5_probe.h"
#include <libpack/pattern.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What there is to read: one of file, images and shape. */
struct pack_advise_ask_data {
    const char *file;              /* "FILE" or "FILE:/DATASET" */
    /* Of the dataset, where a child read them, and listed its chunks: HDF5 does not crash on
     * it. Or NULL. */
    const struct pack_facts *known;
    const char *with;              /* another dataset of it */
    const char *images;            /* a folder */
    struct pack_geometry geometry; /* of images, as h5pack makes them */
    enum pack_pixel_layout layout;
    bool gray;
    struct pack_shape shape;
    const char *type; /* of a shape: "uint8" */
};

/* How it is read. */
struct pack_advise_ask_reading {
    const char *pattern, *rank;
    uint64_t batch, epochs, step, seed;
    uint64_t workers; /* UINT64_MAX: as many as a trace was recorded of, else 4 */
    enum pack_read_mode read;
    struct pack_shape crop, box; /* crop: height and width of images */
    bool reopen, workers_end;    /* workers_end: as struct pack_advise_params has it */
};

/* The cache as it is: UINT64_MAX and a negative w0 are the version's default. */
struct pack_advise_ask_cache {
    const char *hdf5_version; /* NULL: the library's */
    uint64_t bytes, slots;
    double w0;
};

/* How the data could be stored. */
struct pack_advise_ask_storing {
    const char *const *chunks; /* "1x224x224x3" */
    size_t n_chunks;
    const char *codec; /* of a what-if */
    bool keep_file;    /* settings and orders only, for the file as it is */
};

struct pack_advise_ask_machine {
    uint64_t memory_bytes; /* 0 is refused: it holds no chunk; UINT64_MAX: 1 GiB, or half of
                              this machine's where that is less */
    uint64_t n_cpus;
    uint64_t ram_bytes;  /* UINT64_MAX: half of this machine's */
    const char *storage; /* a profile's name, or a file: with a / or .json */
    /* Processor terms of a named storage; NULL: those of the profile itself. */
    const struct pack_profile *processor;
};

struct pack_advise_ask_goal {
    double target, min_gain; /* 0: none; 0: the advisor's own */
};

/* What was asked, as it was written; NULL, rank 0 and zero mean not given, unless said
 * otherwise. */
struct pack_advise_request {
    struct pack_advise_ask_data data;
    struct pack_advise_ask_reading reading;
    struct pack_advise_ask_cache cache;
    struct pack_advise_ask_storing storing;
    struct pack_advise_ask_machine machine;
    struct pack_advise_ask_goal goal;
    struct pack_watch watch; /* of all that takes long */
};

/* What is assumed where nothing is said, in every program that asks: members of an
 * initializer. */
#define PACK_ADVISE_REQUEST_DEFAULTS                                                 \
    .reading = { .batch = 64, .workers = UINT64_MAX, .epochs = PACK_ADVISE_EPOCHS }, \
    .cache = { .bytes = UINT64_MAX, .slots = UINT64_MAX, .w0 = -1 },                 \
    .machine = { .memory_bytes = UINT64_MAX, .ram_bytes = UINT64_MAX }

/* Everything filled in; borrowed parts of params point into the job. */
struct pack_advise_job {
    struct pack_advise_params params;
    struct pack_profile profile;
    struct pack_advise_file *file, *with; /* NULL without */
    struct pack_advise_config now;        /* params.now, when there is one */
    struct pack_advise_companion companion;
    struct pack_shape *chunks;
    struct pack_pattern_file order; /* that the pattern names */
    bool is_found; /* the dataset, by what a trace reads most */
    uint32_t *labels; /* of the second dataset, when it holds classes */
    char hdf5_version[PACK_HDF5_VERSION_TEXT_MAX];
    char subject[1024], type[PACK_TYPE_TEXT_MAX];
};

/*
 * Opens, reads and parses all that the request names, and checks it. Without a file, `now`
 * is the first of `chunks` when cache settings are given too. Errors are those of the
 * readers of what is named, and say which member of the request is at fault
 * (pack_error.param). The job is for pack_advise_job_close in any case.
 */
enum pack_status pack_advise_job_open(const struct pack_advise_request *request,
                                      struct pack_advise_job *job,
                                      struct pack_error *err);
void pack_advise_job_close(struct pack_advise_job *job);

/* The job as if the request had named this processor: what is read may be a pipe, which
 * cannot be opened again. */
void pack_advise_job_take_processor(struct pack_advise_job *job,
                                    const struct pack_profile *processor);

/* The one configuration of a what-if: `now`, or the one chunk given; codec and cache as
 * asked. */
enum pack_status pack_advise_job_what_if(const struct pack_advise_request *request,
                                         struct pack_advise_job *job,
                                         struct pack_advise_config *config,
                                         struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
