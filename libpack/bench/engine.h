/* How samples are read: a table of engines. */
#ifndef LIBPACK_ENGINE_H
#define LIBPACK_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/cachesim.h>
#include "libpack/base/histogram.h"
#include <libpack/image.h>
#include "libpack/hdf5/readset.h"
#include <libpack/reader.h>
#include <libpack/source.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What reading cost. Nanoseconds of stages do not overlap: they add up to call_ns. */
struct pack_read_cost {
    uint64_t calls;    /* of H5Dread, or samples decoded */
    uint64_t call_ns;  /* inside them, reopening included */
    uint64_t requests; /* chunks that they visited */
    uint64_t file_reads, file_read_bytes, storage_ns; /* of raw data */
    uint64_t metadata_reads, metadata_bytes, metadata_ns;
    uint64_t decode_ns;
    uint64_t overhead_ns; /* the rest: the library's own work and copying */
    uint64_t reopen_ns;   /* opening and closing the dataset for each of them */
    uint64_t wanted_bytes;
    uint64_t skipped; /* samples that could not be decoded: nothing was put into `out` */
};

void pack_read_cost_add(struct pack_read_cost *total, const struct pack_read_cost *part);

/* What an engine is doing, for the message when it hangs or dies. */
enum { PACK_ENGINE_REASONS_MAX = 3, PACK_ENGINE_REASON_MAX = 256 };
struct pack_engine_activity {
    bool reading;
    uint32_t part;
    struct pack_box box;
    struct pack_histogram latency; /* of file reads of raw data */
    uint32_t n_reasons;            /* why samples were skipped: the first ones */
    char reason[PACK_ENGINE_REASONS_MAX][PACK_ENGINE_REASON_MAX];
};

/* How a dataset is opened. */
struct pack_engine_open {
    bool set_cache; /* else the library's own */
    struct pack_cache_params cache;
    bool reopen; /* by name at each read, as f["x"][i] in h5py does */
    bool walk_index; /* as h5_boxes.h has it */
};

/* Image files, as they become samples. */
struct pack_engine_images {
    const struct pack_source *source;
    struct pack_geometry geometry;
    uint32_t height, width; /* that the geometry gives */
    enum pack_pixel_layout layout;
};

/* What there is to read, and so which engines can. */
enum pack_engine_kind { PACK_ENGINE_SET = 0, PACK_ENGINE_IMAGES };

struct pack_engine_params {
    enum pack_engine_kind kind; /* says which of the two this is: */
    union {
        struct {
            const struct pack_readset *readset;
            struct pack_engine_open open;
        } set;
        struct pack_engine_images images;
    };
    struct pack_engine_activity *activity;
};

/* A row of the table. An engine is used by one process, which opened it. */
struct pack_engine_ops {
    const char *name, *purpose;
    enum pack_engine_kind kind; /* of the parameters that `open` takes */
    /* Whole batches are made in threads of the training process, by libpack's reader with
     * this strategy; there is nothing to open, to read or to close. */
    bool is_threaded;
    enum pack_reader_strategy strategy;
    enum pack_status (*open)(const struct pack_engine_params *params, void **state,
                             struct pack_error *err);
    /*
     * Reads one request: boxes of the whole set, ascending along axis 0 and apart from
     * each other, to be read with one call where the files allow it; densely into `out`.
     * A sample that cannot be decoded may be skipped, when it is asked for alone.
     * Adds what it cost to *cost.
     */
    enum pack_status (*read)(void *state, const struct pack_box *boxes, size_t n_boxes,
                             void *out, struct pack_read_cost *cost,
                             struct pack_error *err);
    void (*close)(void *state); /* accepts NULL */
};

/* The table, ended by NULL; and the row of a name, or NULL. */
extern const struct pack_engine_ops *const pack_engines[];
const struct pack_engine_ops *pack_engine_find(const char *name);

/* PACK_ERR_ARGUMENT when an engine cannot read what there is. */
enum pack_status pack_engine_check(const struct pack_engine_ops *engine,
                                   enum pack_engine_kind kind, struct pack_error *err);

/* Opens an engine by its row, and checks the kind of its parameters. */
enum pack_status pack_engine_open(const struct pack_engine_ops *engine,
                                  const struct pack_engine_params *params, void **state,
                                  struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
