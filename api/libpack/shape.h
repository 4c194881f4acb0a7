/* Shapes, boxes, grids of chunks and byte counts; how they are written. */
#ifndef LIBPACK_SHAPE_H
#define LIBPACK_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACK_RANK_MAX = 32 }; /* as H5S_MAX_RANK */

/* A shape, slowest dimension first, as HDF5 stores it; written "1x224x224x3". */
struct pack_shape {
    int rank;                       /* 0 (a scalar) to PACK_RANK_MAX */
    uint64_t extent[PACK_RANK_MAX]; /* elements; those behind `rank` say nothing */
};

/* A block of elements: `count[i]` of them from `start[i]` on, along each of `rank`
 * dimensions. */
struct pack_box {
    int rank; /* 1 to PACK_RANK_MAX */
    uint64_t start[PACK_RANK_MAX];
    uint64_t count[PACK_RANK_MAX];
};

/* Number of elements of a shape; false on overflow, and for what is no shape. Rank 0 (a
 * scalar) counts 1. */
bool pack_shape_count(const struct pack_shape *shape, uint64_t *count);
/* The same rank and extents; what is no shape equals nothing. */
bool pack_shape_equal(const struct pack_shape *a, const struct pack_shape *b);

/*
 * "224x224x3" to a shape. Extents are decimal, 1 to 2^64-1; '*' or 0 are not accepted.
 * PACK_ERR_ARGUMENT with a sentence that quotes the text.
 */
enum pack_status pack_shape_parse(const char *text, struct pack_shape *shape,
                                  struct pack_error *err);

/* Room for any printed shape: 32 extents of 20 digits and their separators. */
enum { PACK_SHAPE_TEXT_MAX = PACK_RANK_MAX * 21 + 1 };
/* "1x224x224x3" into text[PACK_SHAPE_TEXT_MAX]; "scalar" for rank 0, "unknown" for what is
 * no shape. Returns text. */
char *pack_shape_format(const struct pack_shape *shape, char *text);

/* ------------------------------------------------------------------ chunks */

/*
 * A dataset's extent cut into chunks of one shape, slowest dimension first. Chunks at the
 * upper end of an axis may reach beyond the extent ("edge chunks"); in the file and in
 * HDF5's cache they count whole. Chunk numbers are row-major over the grid of chunks.
 *
 * Filled in by pack_grid_init; for reading only, as all members follow from extent, chunk
 * and elem_size. Functions that take one refuse any other.
 */
struct pack_grid {
    int rank;                            /* 1 to PACK_RANK_MAX */
    uint64_t elem_size;                  /* bytes */
    uint64_t extent[PACK_RANK_MAX];      /* elements */
    uint64_t chunk[PACK_RANK_MAX];       /* elements */
    uint64_t n_chunks[PACK_RANK_MAX];    /* along each axis, edge chunks included */
    uint64_t number_step[PACK_RANK_MAX]; /* of chunk numbers, to the next along an axis */
    uint64_t n_chunks_total;
    uint64_t chunk_elements;
    uint64_t chunk_bytes; /* chunk_elements * elem_size */
};

/*
 * `elem_size` in bytes. PACK_ERR_ARGUMENT for ranks that differ or are not 1 to
 * PACK_RANK_MAX, and chunk or element sizes of zero; PACK_ERR_LIMIT when the bytes of the
 * dataset, with edge chunks counted whole, pass 64 bits. An extent of zero is a dataset
 * without chunks. A chunk may be larger than the extent, as HDF5 allows for dimensions
 * that can grow. Allocates nothing.
 */
enum pack_status pack_grid_init(struct pack_grid *grid, const struct pack_shape *extent,
                                const struct pack_shape *chunk, uint64_t elem_size,
                                struct pack_error *err);

/* Says why a box is not one of this dataset: its rank, or an end beyond the extent.
 * PACK_ERR_ARGUMENT. A count of zero is an empty box and fine. */
enum pack_status pack_grid_check_box(const struct pack_grid *grid,
                                     const struct pack_box *box, struct pack_error *err);

/* ------------------------------------------------------------------- bytes */

/*
 * "4096", "64K", "64KiB", "1.5G": a count of bytes, K, M, G, T being powers of 1024, with
 * an optional "B" or "iB", any case. A fraction needs a unit. PACK_ERR_ARGUMENT
 * otherwise.
 */
enum pack_status pack_bytes_parse(const char *text, uint64_t *bytes,
                                  struct pack_error *err);

enum { PACK_BYTES_TEXT_MAX = 32 };
/* "147.0 KiB", "1.0 GiB", "512 B" into text[PACK_BYTES_TEXT_MAX]. Returns text. */
char *pack_bytes_format(uint64_t bytes, char *text);

#ifdef __cplusplus
}
#endif
#endif
