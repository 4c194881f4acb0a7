/* Sends what a pattern asks for through a simulated chunk cache. */
#ifndef LIBPACK_REPLAY_H
#define LIBPACK_REPLAY_H

#include <stdint.h>

#include <libpack/cachesim.h>
#include <libpack/pattern.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Replays up to `max` samples (in whole requests; UINT64_MAX: all) from where the
 * iterator is to the end of its epoch. *n_samples is how many it was, 0 at the end. The
 * pattern's extent must be the simulator's.
 *
 * PACK_ERR_ARGUMENT for a trace whose box is outside the grid, PACK_ERR_MEMORY.
 */
enum pack_status pack_replay(struct pack_pattern_iter *iter, struct pack_cachesim *sim,
                             uint64_t max, uint64_t *n_samples, struct pack_error *err);

#ifdef __cplusplus
}
#endif
#endif
