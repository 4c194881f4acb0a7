/* Whole samples go by number, in blocks, past all geometry;
 * everything else box by box. */
#include "libpack/model/replay.h"

enum { BLOCK = 1024 };

static enum pack_status
replay_whole(struct pack_pattern_iter *iter, struct pack_cachesim *sim, uint64_t max,
             uint64_t *n_samples, struct pack_error *err)
{
    uint64_t samples[BLOCK], done = 0;
    size_t n;
    enum pack_status status = PACK_OK;
    do {
        n = pack_pattern_samples(iter, samples,
                                 max - done < BLOCK ? (size_t)(max - done) : BLOCK);
        status = pack_cachesim_read_samples(sim, samples, n, err);
        done += n;
    } while (status == PACK_OK && n > 0);
    *n_samples = done;
    return status;
}

enum pack_status
pack_replay(struct pack_pattern_iter *iter, struct pack_cachesim *sim, uint64_t max,
            uint64_t *n_samples, struct pack_error *err)
{
    struct pack_request request;
    uint64_t done = 0;
    enum pack_status status = PACK_OK;
    if (pack_pattern_is_whole(iter))
        return replay_whole(iter, sim, max, n_samples, err);
    while (status == PACK_OK && done < max && pack_pattern_next(iter, &request)) {
        status = pack_cachesim_read_boxes(sim, request.boxes, request.n_boxes, err);
        done += request.n_samples;
    }
    *n_samples = done;
    return status;
}
