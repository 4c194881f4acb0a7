/*
 * What the simulator is asked to read is looked at once, before anything is counted; the
 * loops behind it trust it. A number is compared with a bound, which costs a fraction of
 * a look at the hash table.
 */
#include "libpack/model/cachesim_parts.h"

#include <inttypes.h>

#include "libpack/base/check.h"
#include "libpack/base/size.h"

/* Chunks that one read may visit, in half a minute or so; no memory holds more. */
static const uint64_t visits_max = UINT64_C(1) << 32;

enum pack_status
pack_cachesim_check_visits(uint64_t n_visits, const char *param, struct pack_error *err)
{
    if (n_visits <= visits_max)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_LIMIT, param,
                           "one read of %" PRIu64 " chunks is over the limit of %" PRIu64,
                           n_visits, visits_max);
}

enum pack_status
pack_cachesim_check_box(const struct pack_cachesim *sim, const struct pack_box *box,
                        const char *param, struct pack_error *err)
{
    if (!sim || !box)
        return pack_check_given(err, "sim", sim, param, box, NULL);
    enum pack_status status = pack_grid_check_box(&sim->grid, box, err);
    if (status != PACK_OK) {
        if (err)
            err->param = param;
        return status;
    }
    if (sim->grid.n_chunks_total <= visits_max)
        return PACK_OK;
    return pack_cachesim_check_visits(pack_grid_count(&sim->grid, box), param, err);
}

enum pack_status
pack_cachesim_check_below(const uint64_t *values, size_t n, uint64_t end,
                          const char *param, struct pack_error *err)
{
    uint64_t n_outside = 0, most = 0;
    if (!values && n > 0)
        return pack_check_given(err, param, values, NULL);
    for (size_t i = 0; i < n; i++) /* without a branch: each sample of an epoch comes by */
        n_outside += values[i] >= end;
    if (n_outside == 0)
        return PACK_OK;
    for (size_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, param,
                           "%s: %" PRIu64 " is not one of the dataset's %" PRIu64, param,
                           most, end);
}

/* The box around the elements that a strided read selects. */
static enum pack_status
span_of(const struct pack_box *box, const uint64_t *stride, struct pack_box *span,
        struct pack_error *err)
{
    *span = *box;
    for (int i = 0; i < box->rank; i++) {
        uint64_t reach = 0;
        if (stride[i] == 0)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "stride",
                                   "stride along axis %d is 0", i);
        if (box->count[i] == 0)
            continue;
        if (!pack_size_mul(box->count[i] - 1, stride[i], &reach) || reach == UINT64_MAX)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                                   "box of %" PRIu64 ", every %" PRIu64
                                   "th, is outside axis %d",
                                   box->count[i], stride[i], i);
        span->count[i] = reach + 1;
    }
    return PACK_OK;
}

/* Chunks that a strided read visits, at most. */
static uint64_t
strided_visits(const struct pack_grid *grid, const struct pack_box *box)
{
    uint64_t n = 1;
    for (int i = 0; i < grid->rank; i++)
        n *= box->count[i] < grid->n_chunks[i] ? box->count[i] : grid->n_chunks[i];
    return n;
}

enum pack_status
pack_cachesim_check_strided(const struct pack_cachesim *sim, const struct pack_box *box,
                            const uint64_t *stride, struct pack_error *err)
{
    struct pack_box span;
    if (!sim || !box || !stride)
        return pack_check_given(err, "sim", sim, "box", box, "stride", stride, NULL);
    enum pack_status status = pack_grid_check_box(&sim->grid, box, err);
    if (status == PACK_OK)
        status = span_of(box, stride, &span, err);
    if (status == PACK_OK)
        status = pack_grid_check_box(&sim->grid, &span, err);
    return status == PACK_OK
               ? pack_cachesim_check_visits(strided_visits(&sim->grid, box), "box", err)
               : status;
}

enum pack_status
pack_cachesim_check_points(const struct pack_cachesim *sim, const uint64_t *coords,
                           size_t n_points, struct pack_error *err)
{
    const struct pack_grid *grid = sim ? &sim->grid : NULL;
    if (!sim || (!coords && n_points > 0))
        return pack_check_given(err, "sim", sim, "coords", coords, NULL);
    for (size_t i = 0; i < n_points; i++)
        for (int k = 0; k < grid->rank; k++)
            if (coords[i * (size_t)grid->rank + (size_t)k] >= grid->extent[k])
                return pack_fail_param(
                    err, PACK_ERR_ARGUMENT, "coords",
                    "point %zu is at %" PRIu64 " of axis %d, which has %" PRIu64, i,
                    coords[i * (size_t)grid->rank + (size_t)k], k, grid->extent[k]);
    return PACK_OK;
}
