/* Records of a source to finished samples: read, decoded, resampled on many threads, in
 * order. */
#ifndef LIBPACK_SAMPLES_H
#define LIBPACK_SAMPLES_H

#include <stdint.h>

#include "libpack/base/pool.h"
#include "libpack/convert/sample.h"
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A stream of samples on a lane of the caller's pool:
 *
 *     pack_samples_new(&params, &samples, err);
 *     lanes[0] = pack_samples_lane(samples);
 *     pack_pool_new(n_threads, lanes, 1, &pool, err);
 *     pack_samples_start(samples, pool, 0);
 *     while ((sample = pack_samples_next(samples)))
 *         ...
 *     pack_samples_end(samples);
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

/* The next sample in order of records; NULL behind the last. Valid until the next call.
 * Once the watch stops it, a file that is waited for is FAILED, PACK_ERR_INTERRUPTED. */
const struct pack_sample *pack_samples_next(struct pack_samples *samples);

/* From now on no worker waits for a file that another program is about to let go. Accepts
 * NULL. */
void pack_samples_end(struct pack_samples *samples);

/* Most bytes held for reading and decoding at any moment so far. */
uint64_t pack_samples_peak_bytes(struct pack_samples *samples);

#ifdef __cplusplus
}
#endif
#endif
