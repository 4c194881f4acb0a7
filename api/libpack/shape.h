/* Shapes, boxes and byte counts; how they are written. */
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
    int rank;
    uint64_t extent[PACK_RANK_MAX]; /* elements */
};

/* A block of elements: `count[i]` of them from `start[i]` on, along each of `rank`
 * dimensions. */
struct pack_box {
    int rank;
    uint64_t start[PACK_RANK_MAX];
    uint64_t count[PACK_RANK_MAX];
};

/* Number of elements of a shape; false on overflow. Rank 0 (a scalar) counts 1. */
bool pack_shape_count(const struct pack_shape *shape, uint64_t *count);
bool pack_shape_equal(const struct pack_shape *a, const struct pack_shape *b);

/*
 * "224x224x3" to a shape. Extents are decimal, 1 to 2^64-1; '*' or 0 are not accepted.
 * PACK_ERR_ARGUMENT with a sentence that quotes the text.
 */
enum pack_status pack_shape_parse(const char *text, struct pack_shape *shape,
                                  struct pack_error *err);

/* Room for any printed shape: 32 extents of 20 digits and their separators. */
enum { PACK_SHAPE_TEXT_MAX = PACK_RANK_MAX * 21 + 1 };
/* "1x224x224x3" into text[PACK_SHAPE_TEXT_MAX]; "scalar" for rank 0. Returns text. */
char *pack_shape_format(const struct pack_shape *shape, char *text);

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
