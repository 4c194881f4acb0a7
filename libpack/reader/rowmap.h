/* Which rows of what is read lie in which dataset of which file: one dataset, a virtual one
 * over sources, or several files one behind the other. */
#ifndef LIBPACK_ROWMAP_H
#define LIBPACK_ROWMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>
#include "libpack/reader/chunkmap.h"
#include "libpack/reader/fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dataset that holds rows. */
struct pack_rowmap_file {
    struct pack_chunkmap *map;
    int fd; /* -1: nothing is read from it */
    struct pack_fetch fetch;
};

/* Rows that follow each other, here and in their dataset. A row is an index of axis 0. */
struct pack_rowmap_part {
    size_t file;
    uint64_t first_row, n_rows; /* of all */
    uint64_t file_row;          /* where they begin in their dataset */
    uint64_t first_chunk;       /* number of the first chunk that they touch, of all */
    uint64_t file_chunk;        /* and in its dataset's grid */
    uint64_t n_chunks;
};

/* Chunks of all parts are numbered as they follow each other. Nothing changes after opening:
 * any thread may read it. */
struct pack_rowmap {
    struct pack_chunkmap *whole; /* facts and grid of all rows; its chunks only of one file */
    size_t n_files, n_parts;
    struct pack_rowmap_file *files; /* the first is `whole`, of which missing rows are filled */
    struct pack_rowmap_part *parts; /* every row is in one of them */
    uint64_t n_chunks, n_coded;     /* of all parts; filtered ones, at most */
    uint64_t chunk_bytes;           /* of the largest filtered one */
    uint64_t n_missing;             /* sources of virtual datasets that are not there */
    char *missing;                  /* the first of them; NULL: none */
    uint64_t *listed_rows;          /* of each file of a list; NULL: there was one */
    const struct pack_chunkmap_limits *limits; /* while it is opened */
};

/*
 * Opens the dataset at `path` of n files with HDF5, and the sources of virtual ones, and
 * closes them again; `limits`, which may be NULL, are those of each. Errors as pack_chunkmap_open(); PACK_ERR_ARGUMENT, naming `files`, for
 * a file whose rows are of another type or shape than the first's, PACK_ERR_UNSUPPORTED
 * for one of several that only HDF5 can read; of one alone that is no error, see
 * whole->unmapped. pack_rowmap_done() frees.
 */
enum pack_status pack_rowmap_open(const char *const *files, size_t n, const char *path,
                                  const struct pack_chunkmap_limits *limits,
                                  struct pack_rowmap *rows, struct pack_error *err);
/* A file, whose map is owned from now on, and a part behind those that there are. */
enum pack_status pack_rowmap_add_file(struct pack_rowmap *rows, struct pack_chunkmap *map,
                                      struct pack_error *err);
enum pack_status pack_rowmap_add_part(struct pack_rowmap *rows, struct pack_rowmap_part part,
                                      struct pack_error *err);
/* Adds sources and parts of the virtual dataset at `path` of `file`, which is file `filler`
 * already, from first_row of all on. What it cannot is no error, but said in `unmapped` of
 * its map, which is empty otherwise. PACK_ERR_FORMAT for a source that is damaged. */
enum pack_status pack_rowmap_resolve(struct pack_rowmap *rows, size_t filler,
                                     const char *file, const char *path,
                                     uint64_t first_row, struct pack_error *err);

/* Opens all files for reading, in the best way where `ops` is NULL. PACK_ERR_CHANGED and as
 * pack_fetch_open(). */
enum pack_status pack_rowmap_fetch(struct pack_rowmap *rows,
                                   const struct pack_fetch_ops *ops, struct pack_error *err);
void pack_rowmap_unfetch(struct pack_rowmap *rows); /* closes them */
void pack_rowmap_done(struct pack_rowmap *rows);    /* zeroed storage is fine */

uint64_t pack_rowmap_bytes(const struct pack_rowmap *rows);

/* The part that holds a row, or a chunk. */
const struct pack_rowmap_part *pack_rowmap_row(const struct pack_rowmap *rows, uint64_t row);
const struct pack_rowmap_part *pack_rowmap_part(const struct pack_rowmap *rows,
                                                uint64_t number);
/* What chunk `number` of all is, and where in its file. */
enum pack_chunk_kind pack_rowmap_chunk(const struct pack_rowmap *rows, uint64_t number,
                                       const struct pack_rowmap_file **file,
                                       struct pack_chunk *chunk);

#ifdef __cplusplus
}
#endif
#endif
