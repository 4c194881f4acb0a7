/* Where the bytes of a dataset lie: all that reading it takes once HDF5 has closed the
 * file. */
#ifndef LIBPACK_CHUNKMAP_H
#define LIBPACK_CHUNKMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/dataset.h>
#include <libpack/shape.h>
#include <libpack/status.h>
#include "libpack/hdf5/filter_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file as it was when its chunks were listed. */
struct pack_chunkmap_file {
    char *name;
    uint64_t device, inode, size_bytes;
    int64_t mtime_ns;
};

/*
 * A dataset as chunks. Contiguous and compact data is seen as unfiltered chunks of whole
 * indexes of axis 0, about PACK_CHUNKMAP_ROW_BYTES each, one behind the other. Nothing
 * changes after opening: any thread may read it.
 */
struct pack_chunkmap {
    struct pack_chunkmap_file file; /* that holds the data */
    struct pack_facts facts;
    struct pack_grid grid;
    struct pack_chunkindex index; /* of chunked data; else empty */
    unsigned char *compact;       /* data of a compact dataset; else NULL */
    unsigned char *fill;          /* one element of what is not stored */
    uint64_t n_coded;             /* filtered chunks */
    uint64_t stored_max_bytes;    /* of one of them */
    /* Why HDF5 itself has to read it, a sentence without end; empty when it has not. */
    char unmapped[PACK_FILTER_NEED_MAX];
    struct pack_plugins plugins; /* of the filters that libpack does not have */
};

enum { PACK_CHUNKMAP_ROW_BYTES = 1 << 16 };

/* What listing many chunks is held to; zeroed: nothing. */
struct pack_chunkmap_limits {
    uint64_t memory_bytes;          /* that an index may take; 0: any */
    const struct pack_watch *watch; /* NULL: nobody stops it */
};

/*
 * Opens the dataset at `path` of the file named `file` with HDF5, in this process, and
 * closes it again, within limits, which may be NULL. PACK_ERR_UNSUPPORTED for what has no elements or dimensions, and for
 * elements that are no plain bytes (of variable length, references); PACK_ERR_MEMORY, naming
 * memory_bytes, before chunks are listed that are too many and take long; PACK_ERR_INTERRUPTED; else errors
 * as pack_chunkindex_read(). Virtual and external datasets and filters not known here are
 * no errors, see `unmapped`: they have no index. pack_chunkmap_close() frees.
 */
enum pack_status pack_chunkmap_open(const char *file, const char *path,
                                    const struct pack_chunkmap_limits *limits,
                                    struct pack_chunkmap **map, struct pack_error *err);
void pack_chunkmap_close(struct pack_chunkmap *map); /* accepts NULL */

/* Makes it a dataset of n_rows such rows, of which none is stored. False: too many bytes. */
bool pack_chunkmap_stretch(struct pack_chunkmap *map, uint64_t n_rows);

/* Memory that it takes, the struct included. */
uint64_t pack_chunkmap_bytes(const struct pack_chunkmap *map);

enum pack_chunk_kind {
    PACK_CHUNK_FILLED = 0, /* not stored: all fill value */
    PACK_CHUNK_RAW,        /* as it is, at `address_bytes` */
    PACK_CHUNK_HELD,       /* in memory: `address_bytes` is an offset in map->compact */
    PACK_CHUNK_CODED       /* through the pipeline */
};

/* What chunk `number` of the grid is, and where. stored_bytes of raw chunks is what the
 * index says, or that of a whole chunk of contiguous data, whose last may be shorter. */
enum pack_chunk_kind pack_chunkmap_chunk(const struct pack_chunkmap *map, uint64_t number,
                                         struct pack_chunk *chunk);

/* Whether the file is another one by now, or was written to: PACK_ERR_CHANGED, naming it.
 * `fd` is the open file, or -1 to look at its name. */
enum pack_status pack_chunkmap_check(const struct pack_chunkmap *map, int fd,
                                     struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
