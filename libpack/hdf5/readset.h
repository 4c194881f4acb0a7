/* What is to be read: one dataset, or the same dataset of several files taken as one. */
#ifndef LIBPACK_READSET_H
#define LIBPACK_READSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/hdf5/h5_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One file's share: indexes first .. first + n_samples - 1 of axis 0. */
struct pack_readset_part {
    struct pack_h5_dataset *data;
    uint64_t first, n_samples;
};

/* A file that is read, a part or a source of a virtual one, as it was when it was opened. */
struct pack_readset_file {
    const char *name;
    uint64_t device, inode, size_bytes;
    int64_t mtime_s, mtime_ns;
};

struct pack_readset {
    const char *dataset; /* path inside each file */
    struct pack_shape extent;
    uint64_t elem_size;    /* bytes, in the file */
    uint64_t sample_bytes; /* of one index of axis 0 */
    size_t n_parts;
    struct pack_readset_part *parts;
    size_t n_files;
    struct pack_readset_file *files;
};

/*
 * Opens FILE or FILE:/PATH operands that are parts of one dataset. `dataset` is the path
 * where the operands have none; NULL: as pack_h5_dataset_open() finds it. Parts must agree
 * in type and in all extents but the first. What HDF5 cannot hand over as plain bytes
 * (variable-length types, references) is refused. Else errors as pack_h5_dataset_open().
 */
enum pack_status pack_readset_open(const char *const *operands, size_t n_operands,
                                   const char *dataset, struct pack_readset **set,
                                   struct pack_error *err);
void pack_readset_close(struct pack_readset *set); /* accepts NULL */

/* PACK_ERR_UNSUPPORTED for what the linked HDF5 cannot decode, with what is needed; other
 * readers may be able to. */
enum pack_status pack_readset_check_filters(const struct pack_readset *set,
                                            struct pack_error *err);

/* Takes the files as they are now for what is_changed compares with; opening does it. */
enum pack_status pack_readset_note_files(struct pack_readset *set, struct pack_error *err);

/* Whether a file was cut, written to, replaced or removed since then: the first one, as a
 * sentence without end. */
bool pack_readset_is_changed(const struct pack_readset *set, char *text, size_t size);

/* The part that holds an index of axis 0, which must be inside the extent. */
size_t pack_readset_find(const struct pack_readset *set, uint64_t index);

/*
 * Cuts a request into pieces that lie in one file each: from the cursor (zeroed at first)
 * on, as many boxes as lie in the same part go into local[] (room for n_boxes), counted
 * from the part's beginning. A box across a border is cut there. Returns how many, 0 at
 * the end.
 */
struct pack_readset_cursor {
    size_t box;
    uint64_t row; /* of that box, along axis 0 */
};
size_t pack_readset_take(const struct pack_readset *set, const struct pack_box *boxes,
                         size_t n_boxes, struct pack_readset_cursor *cursor,
                         struct pack_box *local, size_t *part);

/* Bytes of the elements in a box. */
uint64_t pack_readset_box_bytes(const struct pack_readset *set,
                                const struct pack_box *box);

/* All parts are chunked, so that a chunk cache is at work. */
bool pack_readset_is_chunked(const struct pack_readset *set);

/* Whether it can be told which chunks a read visits: of chunked parts, and of virtual ones
 * whose sources are chunked and mapped block by block. */
bool pack_readset_is_clear(const struct pack_readset *set);

/* Chunks that one H5Dread of boxes of a part visits; 0 where they cannot be told. */
uint64_t pack_readset_requests(const struct pack_h5_dataset *part,
                               const struct pack_box *boxes, size_t n_boxes);

/* Part of the files' bytes that lies in the page cache, sources of virtual datasets
 * included, and all their bytes; negative: not known. */
double pack_readset_resident_rate(const struct pack_readset *set, uint64_t *bytes);

/* What is missing or not counted in the set, as a sentence without a full stop; false:
 * nothing is. */
bool pack_readset_remark(const struct pack_readset *set, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
