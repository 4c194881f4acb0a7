/* Copies an HDF5 file object by object through stock HDF5, some of its datasets getting
 * other chunks and filters; their data is the caller's to bring. */
#ifndef LIBPACK_CLONE_H
#define LIBPACK_CLONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/hdf5/filter.h"
#include "libpack/model/permutation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dataset that is stored otherwise in the copy. */
struct pack_clone_set {
    const char *path; /* of the dataset in the source */
    struct pack_shape chunk;
    struct pack_pipeline pipeline;
    /* In one piece, no axis of which can grow; `chunk` is what is written at a time, of elements
     * that lie in a row. */
    bool is_contiguous;
    bool edge_chunks_unfiltered;
    /* Axis i was axis axes[i]; NULL: all are where they were. DIMENSION_LABELS follows them,
     * and INTERLACE_MODE says by is_planes whether channels are planes. */
    const int *axes;
    bool is_planes;
    /* Its numbers become bytes: with this fill value where one was set, and attributes that
     * say what they were, PACK_CLONE_TYPE, and by which scale, PACK_CLONE_SCALE. */
    bool is_narrowed;
    unsigned char fill;
    const char *scale;
    /* Stretches of axis 0 that were lost, first and number of each, into the attribute
     * PACK_CLONE_LOST of n_lost x 2 numbers; n_lost 0: nothing was. */
    const uint64_t *lost;
    size_t n_lost;
};

/* The same of a dataset that is carried over as it is. */
struct pack_clone_noted {
    const char *path; /* without a leading slash */
    const uint64_t *lost;
    size_t n_lost;
};

#define PACK_CLONE_TYPE  "h5rechunk_type"
#define PACK_CLONE_SCALE "h5rechunk_scale"
#define PACK_CLONE_LOST  "h5audit_lost_samples"

/*
 * Datasets whose rows lie in several files, one file's behind the other's. One clone of the
 * source makes a shard, one the virtual file over all of them; one of the virtual file, or of
 * the first of the shards, makes a plain file again. All else is in each.
 */
enum pack_clone_cut { PACK_CLONE_SHARD = 0, PACK_CLONE_VIRTUAL, PACK_CLONE_JOINED };

struct pack_clone_pieces {
    enum pack_clone_cut cut;
    const char *group; /* of the datasets with so many rows; NULL: those joined are virtual */
    const char *dataset; /* which is one of them, with `group` */
    uint64_t n_rows;
    /* The files, the rows of each ending at `end`: as the virtual file is to name them, or as
     * they are opened, the source being the first. */
    const char *const *files;
    const uint64_t *end;
    size_t n, at; /* at: the shard that is made */
    const char *output; /* no source of virtual datasets that are joined may be this one */
    /* Is told of each such source's file, by whatever opens the clone; NULL: nobody is. */
    enum pack_status (*note)(void *context, const char *file, struct pack_error *err);
    void *note_context;
    /* What attribute PACK_CLONE_LABEL of the root says of it; NULL: there is none. That of
     * the source is not carried over. */
    const char *label;
};

#define PACK_CLONE_LABEL "h5rechunk_shard"

struct pack_clone_params {
    const char *file;
    const struct pack_clone_set *sets; /* borrowed, as is their path, until closing */
    size_t n_sets;
    const struct pack_clone_noted *noted; /* borrowed, likewise */
    size_t n_noted;
    uint64_t room_bytes; /* for carrying data; 0: 16 MiB */
    /* The sets' records in another order, borrowed; NULL: in theirs. All other datasets of
     * `group` with as many rows follow, each in memory of at most rows_bytes; source_index
     * there says where each was, unless one that follows does. */
    const struct pack_permutation *rows;
    const char *group;
    uint64_t rows_bytes;
    const struct pack_clone_pieces *pieces; /* borrowed, with all in it; NULL: none */
    struct pack_watch watch;
};

/* What is carried over. */
struct pack_clone_counts {
    uint64_t n_groups, n_datasets, n_types, n_attributes, n_links;
    uint64_t n_pieces; /* datasets that are cut, or joined */
    uint64_t n_null_references; /* led nowhere, and are null in the copy */
};

/*
 * Groups, committed types, datasets, all links (hard ones to one object stay so), the order
 * in which links and attributes were made where it is kept, attributes, references to
 * objects and regions, the user block. Not kept: times, and what deleted objects left. The
 * copy is as new as the source: what HDF5 of 1.8 or 1.10 could read, it can.
 *
 * HDF5 is used from one thread at a time.
 */
struct pack_clone;

/* Opens a stranger's file and looks at everything, in a child process: whether HDF5 crashes
 * on it, or hangs, as pack_h5_guard_try(). */
enum pack_status pack_clone_try(const char *file, struct pack_error *err);

/* Opens the source and looks at everything. PACK_ERR_UNSUPPORTED for what cannot be carried
 * over, before anything is written; else as pack_h5_open(). Sentences name the file. */
enum pack_status pack_clone_open(const struct pack_clone_params *params,
                                 struct pack_clone **clone, struct pack_error *err);

/* Creates the copy at `path`, where nothing may be, with all objects, and the data of
 * those that are not in `sets`. With `resumes` an interrupted run left what is there: it
 * is written over, as writer.h has it, and holds at the end what the other would have
 * made of it. */
enum pack_status pack_clone_create(struct pack_clone *clone, const char *path,
                                   bool resumes, struct pack_error *err);

/* Writes a chunk, as it is to be stored, of sets[set]; `start` in elements, *address where
 * its bytes are in the copy. Of contiguous data all chunks are to be written, those at an edge
 * without what is beyond it. A failure is one for good: what follows is
 * pack_clone_close(). */
enum pack_status pack_clone_chunk(struct pack_clone *clone, size_t set,
                                  const uint64_t *start,
                                  const struct pack_stored *stored, uint64_t *address,
                                  struct pack_error *err);

/* The same for one whose bytes an interrupted run left at `address`, which are not looked
 * at: stored->data may be NULL. All such come first, in the order in which they were
 * written. PACK_ERR_CHANGED when HDF5 now puts it elsewhere. */
enum pack_status pack_clone_chunk_replayed(struct pack_clone *clone, size_t set,
                                           const uint64_t *start,
                                           const struct pack_stored *stored,
                                           uint64_t address, struct pack_error *err);

/* Completes the copy and closes both files. */
enum pack_status pack_clone_finish(struct pack_clone *clone, struct pack_error *err);

/* Whether two pipelines make the same bytes: chunks of one can be taken for the other. */
bool pack_clone_same_pipeline(const struct pack_pipeline *a,
                              const struct pack_pipeline *b);

struct pack_clone_counts pack_clone_counts(const struct pack_clone *clone);

/* Frees; of a copy that is not complete nothing more is written. Accepts NULL. */
void pack_clone_close(struct pack_clone *clone);

#ifdef __cplusplus
}
#endif
#endif
