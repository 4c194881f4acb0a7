/* An HDF5 file as shards of some of its rows each, under a virtual file over them; and back. */
#ifndef LIBPACK_SHARDS_H
#define LIBPACK_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>
#include "libpack/base/buf.h"
#include "libpack/hdf5/clone.h"
#include "libpack/rechunk/shard_set.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pack_shards_params {
    const char *const *inputs; /* one; or, to be joined, also the shards in their order */
    size_t n_inputs;
    const char *output;  /* NULL: only with dry_run */
    const char *dataset; /* NULL: that which is meant, as pack_h5_dataset_find() has it */
    const char *split;   /* "8": so many shards; "2G": of so many bytes each; NULL: join */
    bool force, dry_run;
    uint64_t memory_bytes; /* for data that is carried; 0: 16 MiB */
    struct pack_watch watch;
};

/* A file with rows first .. end - 1. */
struct pack_shard {
    char *path, *name; /* name: without folders */
    uint64_t first, end;
};

struct pack_shards_result {
    struct pack_shard *shards; /* made, or joined; joining a virtual file: none */
    size_t n_shards;
    size_t n_absent; /* shards of the same set that are not among those joined */
    /* Files with names of shards of the output, in a set of another number. */
    struct pack_shard_earlier *earlier;
    size_t n_earlier;
    uint64_t n_rows; /* 0: joining a virtual file */
    struct pack_clone_counts counts;
    uint64_t output_bytes; /* of all files that were written */
    bool is_written;
};

/*
 * Datasets of one group with as many rows as the one that is meant are cut between chunks of
 * that one, or joined; all other objects are in every shard and in the virtual file. Shards of
 * "x.h5" are "x-00000-of-00008.h5" beside it. Files are written under partial names, and get
 * their names when all of them are complete, the virtual file's last. What a run that is killed
 * leaves is begun again with `force`; any other way out removes it, and shards that have their
 * names. With `force` shards of an earlier set of that name go, too, at the end.
 *
 * PACK_ERR_ARGUMENT for a number or size that does not fit, nothing to join, an output that is
 * an input; PACK_ERR_UNSUPPORTED for files that do not belong together, shards of two sets,
 * and what cannot be carried over; PACK_ERR_EXISTS; PACK_ERR_NOT_FOUND for a source that is
 * missing; others of reading and writing. What the result holds is filled in as far as it is
 * known.
 */
enum pack_status pack_shards(const struct pack_shards_params *params,
                             struct pack_shards_result *result, struct pack_error *err);
void pack_shards_result_done(struct pack_shards_result *result);

/* What was done, or would be; JSON is one object of schema "rechunk_shards/1". */
struct pack_shards_report {
    const char *program, *version;
    const struct pack_shards_params *params;
    const struct pack_shards_result *result;
};
enum pack_status pack_report_shards_text(const struct pack_shards_report *report,
                                         struct pack_buf *buf, struct pack_error *err);
enum pack_status pack_report_shards_json(const struct pack_shards_report *report,
                                         struct pack_buf *buf, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
