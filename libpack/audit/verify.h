/* Reads and decodes everything that a file stores, and says which chunks are bad and what of
 * the data is left. */
#ifndef LIBPACK_VERIFY_H
#define LIBPACK_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/base/buf.h"
#include "libpack/hdf5/h5_guard.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default. All borrowed. */
struct pack_verify_params {
    const char *file;
    const char *dataset;   /* NULL: all of the file */
    unsigned n_threads;    /* as many as there are processors */
    uint64_t memory_bytes; /* for what threads read and decode at a time: 1 GiB */
    /* Of the child process; processor time by default 10 s and 1 s for each 4 MiB. */
    struct pack_h5_guard_limits limits;
    /* `progress` in "MiB" of the file; `stop` is asked in the child, which a signal reaches by
     * itself. */
    struct pack_watch watch;
};

enum pack_verify_fault {
    PACK_VERIFY_GOOD = 0,
    PACK_VERIFY_BEYOND,   /* reaches beyond the end of the file */
    PACK_VERIFY_SIZE,     /* stores what its filters cannot have made */
    PACK_VERIFY_DECODING, /* read, but damaged: a checksum, or a filter that fails */
    PACK_VERIFY_READING,  /* the system cannot read it */
    PACK_VERIFY_OVERLAP,  /* decodes, but shares bytes with another chunk that does */
    PACK_VERIFY_MASK,     /* decodes, but leaves out filters that there are not */
    PACK_VERIFY_FAULTS
};

/* "beyond-end", "size", "decoding", ...: a literal. */
const char *pack_verify_fault_name(enum pack_verify_fault fault);

/* A bad chunk, or a stretch of contiguous data. Of a virtual dataset it is one of a source,
 * which `why` names. */
struct pack_verify_bad {
    uint64_t set; /* index into sets */
    enum pack_verify_fault fault;
    uint32_t filter_mask;
    uint64_t first_row, n_rows; /* indexes of axis 0 that touch it, of the dataset */
    /* PACK_CHUNK_MISSING: not known, because HDF5 read it. */
    uint64_t address_bytes;
    uint64_t stored_bytes;
    int rank;
    const uint64_t *coords; /* of the chunk; of contiguous data, rows in axis 0 */
    const char *why;        /* a sentence without end; of a dataset's first 10000 */
};

struct pack_verify_rows {
    uint64_t first, n;
};

struct pack_verify_set {
    char path[PACK_FACTS_PATH_MAX];
    enum pack_layout layout;
    struct pack_shape extent, chunk; /* chunk: rank 0 unless chunked */
    bool is_missing;   /* asked for, and no dataset of the file */
    bool is_done;      /* looked at to the end; else `failure` says why not */
    bool is_external;  /* other files hold it */
    bool is_by_hdf5;   /* read through HDF5, chunk by chunk */
    bool has_checksum; /* fletcher32: whatever changed in a chunk is noticed */
    char failure[512];
    uint64_t n_chunks, n_stored, n_masked, n_bad; /* of all sources */
    uint64_t stored_bytes;                        /* that were read */
    uint64_t n_bad_rows;
    size_t first_bad, n_listed;          /* its share of result->bad */
    struct pack_verify_rows *bad_rows;   /* ascending, apart from each other; owned */
    size_t n_bad_ranges;
};

struct pack_verify_result {
    struct pack_verify_set *sets;
    size_t n_sets;
    struct pack_verify_bad *bad; /* by set, each in order of its chunks */
    size_t n_bad;
    /* The file ends at file_bytes and says that it ends at end_bytes: what lies before that was
     * looked at. 0: it ends where it says. */
    uint64_t file_bytes, end_bytes;
    enum pack_status status; /* of the file by itself; PACK_OK: its datasets were found */
    struct pack_error failure;
    struct pack_buf sent; /* what texts and coordinates lie in */
};

/*
 * Reads the file in child processes: where HDF5 or a filter crashes on one dataset, that is
 * its failure, and the others are read by another child. PACK_OK also where all of it is bad.
 * PACK_ERR_NOT_FOUND and PACK_ERR_IO for what is no file that may be read, or does not have
 * the dataset; PACK_ERR_MEMORY, PACK_ERR_INTERRUPTED. *result is for pack_verify_done() after
 * PACK_OK.
 */
enum pack_status pack_verify(const struct pack_verify_params *params,
                             struct pack_verify_result *result, struct pack_error *err);
void pack_verify_done(struct pack_verify_result *result);

/* Everything was read, and nothing is bad. */
bool pack_verify_is_good(const struct pack_verify_result *result);

#ifdef __cplusplus
}
#endif
#endif
