/* Rewrites an HDF5 file with other chunks and filters for some of its datasets; all else
 * is carried over. */
#ifndef LIBPACK_RECHUNK_H
#define LIBPACK_RECHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/status.h>
#include "libpack/hdf5/clone.h"
#include "libpack/hdf5/h5_dataset.h"
#include "libpack/rechunk/narrow.h"
#include "libpack/rechunk/rechunk_move.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chunks of a dataset that are left out, so that they read as the fill value. */
struct pack_rechunk_lost {
    const char *path;       /* as in `datasets`, without its SPEC */
    const uint64_t *chunks; /* their numbers, row-major over the grid */
    size_t n_chunks;
    const uint64_t *rows; /* as pack_clone_set has them */
    size_t n_rows;
};

/* What decides about the bytes of the output goes into pack_rechunk_identify(), too. */
struct pack_rechunk_params {
    const char *input, *output; /* output NULL: only with dry_run */
    /* Paths of datasets; none: the one that is meant, as pack_h5_dataset_open() has it. One
     * that is PATH=CHUNK, PATH=CHUNK,FILTERS or PATH=,FILTERS, and not a path as a whole, has
     * these in place of `chunk` and `compress`. */
    const char *const *datasets;
    size_t n_datasets;
    /* "16": so many indexes of axis 0, all of the other axes; or a shape, cut to the
     * dataset's size along axes that cannot grow; or "none": contiguous, without filters, and
     * no axis can grow. NULL: as they are. */
    const char *chunk;
    const char *compress; /* as pack_pipeline_parse() has it; NULL: as it is */
    const char *as;       /* "uint8": numbers proven to be bytes; NULL: as they are */
    const char *layout;   /* "nhwc" or "nchw": where images get their channels; NULL: as it is */
    bool fletcher32;      /* a checksum, behind all other filters */
    bool shuffle;         /* records in a random order, that of `seed` */
    uint64_t seed;
    /* Of datasets that keep chunks and filters; not with `resume` or `verify`. */
    const struct pack_rechunk_lost *lost;
    size_t n_lost;
    /* Of datasets that are carried over as they are, what is said of them. */
    const struct pack_clone_noted *noted;
    size_t n_noted;
    bool force, dry_run, verify;
    bool resume; /* go on with what an interrupted run left, if anything */
    unsigned n_threads;    /* 0: one per processor */
    uint64_t memory_bytes; /* of all chunk buffers; 0: 1 GiB */
    struct pack_watch watch;
};

/* One dataset that is rewritten. */
struct pack_rechunk_set {
    char *path;
    const char *asked_chunk, *asked_filters; /* of this one alone, behind path; or NULL */
    struct pack_facts facts; /* of the source */
    struct pack_shape chunk; /* of the copy, as all below */
    struct pack_pipeline pipeline;
    struct pack_narrow *narrow; /* numbers that become bytes; NULL: they stay as they are */
    const struct pack_permutation *rows; /* in another order; NULL: as they are */
    const int *axes; /* in another order: axis i was axis axes[i]; NULL: as they are */
    bool is_contiguous; /* chunk: what is written at a time */
    bool is_fixed;      /* and so an axis can grow no more */
    bool verbatim;
    struct pack_chunkmap *map;
    struct pack_rechunk_move move;
    struct pack_rechunk_moved moved;
};

struct pack_rechunk_result {
    struct pack_rechunk_set *sets;
    size_t n_sets;
    struct pack_permutation rows; /* with `shuffle` */
    char *group;                  /* in which records are in another order */
    struct pack_clone_counts counts; /* of the whole file */
    uint64_t input_bytes, output_bytes;
    bool is_written, is_verified;
    bool was_complete; /* another run had written it, and was killed before it could say so */
    bool is_resumable; /* a failed run left its work to go on with: */
    uint64_t n_saved;  /* so many chunks */
};

/* Whether a dataset of numbers can be rewritten: its data is in chunks or in one piece of the
 * file itself, under filters that are known here. */
bool pack_rechunk_can(const struct pack_h5_dataset *dataset);

/*
 * Writes the output, which appears under its name when it is complete. What the result
 * holds is filled in as far as it is known, also on failure; pack_rechunk_result_done()
 * frees it.
 *
 * A run that is killed leaves OUTPUT.part and OUTPUT.part.journal, and so does one that is
 * stopped, or that the system let down, once chunks were written. With `resume`, the same
 * parameters (but for force, verify and n_threads) and the same source, another goes on from
 * there; its file is the same, byte for byte.
 *
 * PACK_ERR_ARGUMENT for a specification that does not fit, or an output that is the input;
 * PACK_ERR_EXISTS as pack_outfile_open(); PACK_ERR_MEMORY naming `memory_bytes`;
 * PACK_ERR_UNSUPPORTED for what cannot be carried over, read or written, and numbers that
 * are no bytes, before any work;
 * PACK_ERR_CHANGED when what is resumed was begun otherwise or from another source, which
 * leaves it as it is;
 * PACK_ERR_MISMATCH when verification, which is done before the output appears, finds a
 * difference; errors of reading, decoding and writing.
 */
enum pack_status pack_rechunk(const struct pack_rechunk_params *params,
                              struct pack_rechunk_result *result, struct pack_error *err);
/* Whether the output is another file than the input and can be claimed now, so that nothing is
 * asked for in vain; with `force` the latter is not looked at. Errors as above; nothing
 * changes. */
enum pack_status pack_rechunk_check_output(const struct pack_rechunk_params *params,
                                           struct pack_error *err);

void pack_rechunk_result_done(struct pack_rechunk_result *result);

#ifdef __cplusplus
}
#endif
#endif
