/* Between the files that verify. */
#ifndef LIBPACK_VERIFY_PARTS_H
#define LIBPACK_VERIFY_PARTS_H

#include "libpack/audit/verify.h"
#include "libpack/hdf5/cut_file.h"
#include "libpack/reader/rowmap.h"

/* What the child says, each with its size in front, in multiples of 8 bytes. */
enum pack_verify_kind {
    PACK_VERIFY_SET = 1, /* struct pack_verify_set: it begins */
    PACK_VERIFY_BAD,     /* struct pack_verify_record, behind it coordinates and a text */
    PACK_VERIFY_END,     /* the set again: it was looked at */
    PACK_VERIFY_COMPLETE /* there are no further sets */
};
struct pack_verify_head {
    uint32_t kind, bytes; /* of what follows */
};

/* A bad chunk on its way: there may be millions of them. */
struct pack_verify_record {
    uint64_t first_row, n_rows, address_bytes, stored_bytes;
    uint32_t fault, filter_mask;
    uint64_t rank; /* as many coordinates follow */
};

/* verify.c: what children said, in result->sent, into tables; it may be anything. */
enum pack_status pack_verify_settle(struct pack_verify_result *result, struct pack_error *err);

enum { PACK_VERIFY_TOLD = 10000 }; /* bad chunks of a dataset that say why */

/* The child. */
struct pack_verify_run {
    const struct pack_verify_params *params;
    const struct pack_cut_file *cut; /* which params->file is a name of, and its path: */
    const char *path;
    uint64_t from; /* sets that other children have looked at */
    struct pack_h5_guard *guard;
    int64_t h5;
    uint64_t n_met;              /* sets so far */
    struct pack_verify_set *set; /* that is being read */
    uint64_t read_bytes;         /* of all sets */
};

/* verify_file.c: a pack_h5_guard_fn; the context is the run. */
enum pack_status pack_verify_child(void *context, struct pack_h5_guard *guard,
                                   struct pack_error *err);
/* One more bad chunk of the set; only so many of them say why. */
enum pack_status pack_verify_tell(struct pack_verify_run *run,
                                  const struct pack_verify_bad *bad, const char *why,
                                  struct pack_error *err);

/* So many more bytes were read. */
void pack_verify_progress(struct pack_verify_run *run, uint64_t bytes);

/* verify_chunks.c: the chunks of one of the files of a dataset, in threads. */
enum pack_status pack_verify_chunks(struct pack_verify_run *run,
                                    const struct pack_rowmap *rows, size_t file,
                                    struct pack_error *err);

#endif
