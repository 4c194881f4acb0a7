/* Records of a source to finished samples: read, decoded, resampled on many threads, in
 * order. */
#ifndef LIBPACK_SAMPLES_H
#define LIBPACK_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpack/image.h>
#include "libpack/base/pool.h"
#include "libpack/source/records.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pack_sample_outcome {
    PACK_SAMPLE_READY = 0, /* pixels are there (after a header scan: info is) */
    PACK_SAMPLE_REJECTED,  /* the file's own fault: damaged, unsupported, not permitted,
                              missing */
    PACK_SAMPLE_FAILED     /* the machine's: I/O error, no memory, a file that changed
                              meanwhile */
};

enum { PACK_SAMPLE_REASON_MAX = 256 };

struct pack_sample {
    uint64_t index; /* of the record */
    enum pack_sample_outcome outcome;
    enum pack_status status;             /* why not READY */
    char reason[PACK_SAMPLE_REASON_MAX]; /* one sentence, without the file's name */

    const uint8_t *pixels; /* out_h * out_w * channels bytes; NULL after a header scan */
    uint32_t out_h, out_w;
    uint64_t sum[3], sumsq[3]; /* of the pixels, per channel */
    struct pack_image_info info;
    uint64_t file_bytes;
    int64_t file_mtime_ns;
    uint64_t read_ns, read_bytes; /* opening and reading the file, or what was needed */
};

struct pack_samples_params {
    const struct pack_source *source;
    uint64_t first; /* record to start from */
    struct pack_image_params image;
    struct pack_geometry geometry;
    enum pack_pixel_layout layout;
    bool headers_only; /* no pixels: read what the headers say */
    bool no_readahead;
    bool no_sums;          /* sum and sumsq stay 0 */
    uint32_t out_h, out_w; /* what every sample must measure; 0: whatever it does */
    unsigned n_threads;
    uint64_t memory_bytes; /* for reading and decoding; one giant image comes in alone */
    size_t n_slots;        /* samples in flight, at least 2; 0: 4 per thread and 4 */
};

/*
 * A stream of samples on a lane of the caller's pool:
 *
 *     pack_samples_new(&params, &samples, err);
 *     lanes[0] = pack_samples_lane(samples);
 *     pack_pool_new(n_threads, lanes, 1, &pool, err);
 *     pack_samples_start(samples, pool, 0);
 *     while ((sample = pack_samples_next(samples)))
 *         ...
 *     pack_pool_free(pool);
 *     pack_samples_free(samples);
 *
 * Everything a worker needs it keeps from image to image, so that a steady stream
 * allocates nothing. A file is read once; its size and time of change are compared before
 * and after. Whether a file is READY never depends on geometry, except that a sample
 * which does not measure out_h x out_w is rejected.
 */
struct pack_samples;

enum pack_status pack_samples_new(const struct pack_samples_params *params,
                                  struct pack_samples **samples, struct pack_error *err);
void pack_samples_free(struct pack_samples *samples);
struct pack_pool_lane pack_samples_lane(struct pack_samples *samples);
void pack_samples_start(struct pack_samples *samples, struct pack_pool *pool,
                        unsigned lane);

/* The next sample in order of records; NULL behind the last.
 * Valid until the next call. */
const struct pack_sample *pack_samples_next(struct pack_samples *samples);

/* Most bytes held for reading and decoding at any moment so far. */
uint64_t pack_samples_peak_bytes(struct pack_samples *samples);

#ifdef __cplusplus
}
#endif
#endif
