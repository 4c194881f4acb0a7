/* Whole samples go by number, in blocks, past all geometry;
 * everything else box by box. */
#include "libpack/model/replay.h"

enum { BLOCK = 1024 };

static uint64_t
replay_whole(struct pack_pattern_iter *iter, struct pack_cachesim *sim, uint64_t max)
{
    uint64_t samples[BLOCK], done = 0;
    size_t n;
    do {
        n = pack_pattern_samples(iter, samples,
                                 max - done < BLOCK ? (size_t)(max - done) : BLOCK);
        pack_cachesim_read_samples(sim, samples, n);
        done += n;
    } while (n > 0);
    return done;
}

static enum pack_status
check_boxes(const struct pack_cachesim *sim, const struct pack_request *request,
            struct pack_error *err)
{
    for (size_t i = 0; i < request->n_boxes; i++) {
        enum pack_status status =
            pack_grid_check_box(pack_cachesim_grid(sim), &request->boxes[i], err);
        if (status)
            return status;
    }
    return PACK_OK;
}

enum pack_status
pack_replay(struct pack_pattern_iter *iter, struct pack_cachesim *sim, uint64_t max,
            uint64_t *n_samples, struct pack_error *err)
{
    struct pack_request request;
    uint64_t done = 0;
    enum pack_status status = PACK_OK;
    if (pack_pattern_is_whole(iter)) {
        *n_samples = replay_whole(iter, sim, max);
        return PACK_OK;
    }
    while (status == PACK_OK && done < max && pack_pattern_next(iter, &request)) {
        status = check_boxes(sim, &request, err);
        if (status == PACK_OK)
            status = pack_cachesim_read_boxes(sim, request.boxes, request.n_boxes, err);
        done += request.n_samples;
    }
    *n_samples = done;
    return status;
}
