/*
 * What the recorder's files share. The library is preloaded into programs that nobody
 * edits, and must leave them as they are: it keeps errno, calls HDF5 only in ways that
 * cannot fail, and where it cannot go on it stops recording, never the program.
 */
#ifndef H5PACK_RECORD_H
#define H5PACK_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* HDF5's own types, since 1.10. */
typedef int64_t hid_t;
typedef int herr_t;
typedef unsigned long long hsize_t;

/* The HDF5 that a caller uses: h5py's wheels have one of their own, under another name. */
struct record_hdf5 {
    herr_t (*read)(hid_t, hid_t, hid_t, hid_t, hid_t, void *);
    herr_t (*read_multi)(size_t, hid_t *, hid_t *, hid_t *, hid_t *, hid_t, void **);
    herr_t (*read_chunk)(hid_t, hid_t, const hsize_t *, uint32_t *, void *);
    herr_t (*read_chunk1)(hid_t, hid_t, const hsize_t *, uint32_t *, void *);
    herr_t (*read_chunk2)(hid_t, hid_t, const hsize_t *, uint32_t *, void *, size_t *);
    bool is_known; /* all of the following are there, and ids have 64 bits */
    herr_t (*libversion)(unsigned *, unsigned *, unsigned *);
    int (*is_valid)(hid_t);
    int (*id_type)(hid_t);
    long (*id_name)(hid_t, char *, size_t);
    long (*file_name)(hid_t, char *, size_t);
    hid_t (*dataset_space)(hid_t);
    hid_t (*dataset_plist)(hid_t);
    hid_t (*dataset_access)(hid_t);
    hid_t (*file_of)(hid_t);
    hid_t (*file_access)(hid_t);
    herr_t (*file_handle)(hid_t, hid_t, void **);
    herr_t (*file_close)(hid_t);
    int (*plist_layout)(hid_t);
    herr_t (*plist_chunk_cache)(hid_t, size_t *, size_t *, double *);
    herr_t (*plist_cache)(hid_t, int *, size_t *, size_t *, double *);
    int (*plist_chunk)(hid_t, int, hsize_t *);
    herr_t (*plist_close)(hid_t);
    herr_t (*space_close)(hid_t);
    int (*space_rank)(hid_t);
    int (*space_extent)(hid_t, hsize_t *, hsize_t *);
    int (*select_type)(hid_t);
    int (*is_regular)(hid_t);
    herr_t (*regular)(hid_t, hsize_t *, hsize_t *, hsize_t *, hsize_t *);
    long long (*n_blocks)(hid_t);
    herr_t (*blocks)(hid_t, hsize_t, hsize_t, hsize_t *);
    long long (*n_points)(hid_t);
    herr_t (*points)(hid_t, hsize_t, hsize_t, hsize_t *);
    herr_t (*bounds)(hid_t, hsize_t *, hsize_t *);
};

/* Of whoever will be returned to; NULL: none can be found. */
const struct record_hdf5 *record_hdf5(void *return_address);

/* Whether it is the library of h5pack's reader, for one that record_hdf5() was asked about:
 * that one looks chunks up by H5Dread_chunk, which its driver does not read. */
bool record_is_of_libpack(void *return_address);

enum {
    RECORD_RANK_MAX = 32,
    RECORD_BOXES_MAX = 4096, /* of one read */
    RECORD_NAME_MAX = 4096
};

/* Starts and counts of all axes, box after box. */
struct record_boxes {
    int rank;
    size_t n;
    bool is_around; /* there were too many: this is the block around them */
    hsize_t *numbers;
};

/* What a selection of a dataset asks for; false: nothing, or it cannot be told. Either way
 * for record_boxes_done(): threads come and go, and leave nothing behind. */
bool record_boxes_of(const struct record_hdf5 *h, hid_t dataset, hid_t space,
                     struct record_boxes *boxes);
bool record_boxes_of_chunk(const struct record_hdf5 *h, hid_t dataset,
                           const hsize_t *offset, struct record_boxes *boxes);
void record_boxes_done(struct record_boxes *boxes);

/* Held for microseconds, and never while HDF5 is called. */
void record_lock(atomic_int *word);
void record_unlock(atomic_int *word);

/* Whether this program is recorded at all. */
bool record_is_on(void);
/* The time, on a clock that all processes share. */
uint64_t record_now_ns(void);

/* Whether reads of a file that HDF5 calls by this name are written already. */
bool record_knows(const char *file);
/* Writes a read into this process's file, and at times what reads took. Whether it is the first
 * of its dataset there, whose cache is not known. `real`: the whole path of a file that is not
 * known; NULL, it is found by the name. */
bool record_put(const char *file, const char *real, const char *dataset,
                const struct record_boxes *boxes, uint64_t took_ns);

/* The chunk cache that a dataset is read through, and the version that has it. */
struct record_cache {
    size_t n_slots, size_bytes;
    double w0;
    unsigned version[3];
};

void record_put_cache(const char *file, const char *dataset,
                      const struct record_cache *cache);

#endif
