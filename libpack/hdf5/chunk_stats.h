/* How the chunks of a dataset lie in their file: sizes, order, gaps, overlaps. */
#ifndef LIBPACK_CHUNK_STATS_H
#define LIBPACK_CHUNK_STATS_H

#include <stdint.h>

#include <libpack/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pack_chunk_stats {
    uint64_t n_stored, n_missing;
    uint64_t stored_min_bytes, stored_median_bytes, stored_p99_bytes, stored_max_bytes;
    uint64_t n_masked;      /* of which filters were left out */
    uint32_t left_out;      /* filters that all of them left out: bit i is filter i */
    uint64_t n_backward;    /* lie before the stored chunk that comes before them */
    uint64_t span_bytes;    /* from the first byte of any to the last */
    uint64_t gap_bytes;     /* of these, in no chunk */
    uint64_t n_overlapping; /* begin before another one ends */
    uint64_t n_beyond_end;  /* reach beyond the end of the file */
    uint64_t first_bad;     /* number of the first of these two kinds; UINT64_MAX: none */
    uint64_t aligned_bytes; /* the largest power of two that all addresses divide by, at most
                             * 1 MiB; 0: nothing is stored */
};

/* A pure function, but for its memory of 24 bytes a stored chunk. PACK_ERR_MEMORY. */
enum pack_status pack_chunk_stats_make(const struct pack_chunkindex *index,
                                       uint64_t file_bytes, struct pack_chunk_stats *stats,
                                       struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
