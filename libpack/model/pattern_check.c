/* What a stranger may ask of a pattern, and what zero means. */
#include "libpack/model/pattern_check.h"

#include <inttypes.h>

#include "libpack/base/check.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"

static uint64_t
or_default(uint64_t value, uint64_t otherwise)
{
    return value ? value : otherwise;
}

/* Boxes that some dataset could have; which one it is, a trace does not say. */
static enum pack_status
check_trace(const struct pack_pattern *p, struct pack_error *err)
{
    uint64_t end;
    if (p->n_trace > 0 && !p->trace)
        return pack_check_given(err, "trace", p->trace, NULL);
    if (p->trace_epochs && p->n_trace % p->trace_epochs != 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "trace_epochs",
                               "a trace of %" PRIu64 " boxes is not %" PRIu64
                               " epochs of the same length",
                               p->n_trace, p->trace_epochs);
    for (uint64_t i = 0; i < p->n_trace; i++) {
        const struct pack_box *box = &p->trace[i];
        bool good = box->rank >= 1 && box->rank <= PACK_RANK_MAX;
        for (int k = 0; good && k < box->rank; k++)
            good = pack_size_add(box->start[k], box->count[k], &end);
        if (!good)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "trace",
                                   "box %" PRIu64 " of the trace is not one of a dataset",
                                   i);
    }
    return PACK_OK;
}

static enum pack_status
check_pattern(const struct pack_pattern *p, struct pack_error *err)
{
    enum pack_status status =
        pack_check_choice("kind", (int)p->kind, PACK_PATTERN_TRACE + 1, err);
    if (status == PACK_OK)
        status = pack_check_choice("read", (int)p->read, PACK_READ_SPAN + 1, err);
    if (status == PACK_OK && p->kind == PACK_PATTERN_TRACE)
        status = check_trace(p, err);
    return status;
}

/* Members of a subset are samples. */
static enum pack_status
check_subset(const struct pack_pattern *p, struct pack_error *err)
{
    if (!p->subset && p->n_subset == 0)
        return PACK_OK;
    if (!p->subset)
        return pack_check_given(err, "subset", p->subset, NULL);
    if (p->n_subset == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "subset", "the subset is empty");
    for (uint64_t i = 0; i < p->n_subset; i++)
        if (p->subset[i] >= p->n_samples)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "subset",
                                   "index %" PRIu64 " of the subset is sample %" PRIu64
                                   ", of %s",
                                   i, p->subset[i],
                                   pack_counted(p->n_samples, "sample", "samples").text);
    return PACK_OK;
}

/* The shape of a sample, and how many there are. */
static enum pack_status
set_samples(struct pack_pattern *p, struct pack_error *err)
{
    static const uint64_t n_max = UINT64_C(1) << 62;
    if (p->kind == PACK_PATTERN_TRACE) {
        p->trace_epochs = or_default(p->trace_epochs, 1);
        p->n_samples = p->n_trace / p->trace_epochs;
    } else {
        if (p->extent.rank < 1 || p->extent.rank > PACK_RANK_MAX)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "extent",
                                   "dataset has %d dimensions, not 1 to %d",
                                   p->extent.rank, PACK_RANK_MAX);
        if (p->box.rank == 0) {
            p->box = p->extent;
            p->box.extent[0] = 1;
        }
        if (p->box.rank != p->extent.rank)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                                   "box has %s, dataset has %d",
                                   pack_dimensions(p->box.rank).text, p->extent.rank);
        for (int i = 0; i < p->box.rank; i++)
            if (p->box.extent[i] < 1 || p->box.extent[i] > p->extent.extent[i])
                return pack_fail_param(err, PACK_ERR_ARGUMENT, "box",
                                       "box of %" PRIu64
                                       " does not fit axis %d of %" PRIu64,
                                       p->box.extent[i], i, p->extent.extent[i]);
        p->step = or_default(p->step, 1);
        uint64_t fit = (p->extent.extent[0] - p->box.extent[0]) / p->step + 1;
        p->n_samples = or_default(p->n_samples, fit);
        if (p->n_samples > fit)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "n_samples",
                                   "%" PRIu64 " samples wanted, dataset has %" PRIu64,
                                   p->n_samples, fit);
    }
    if (p->n_samples == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "n_samples",
                               "pattern has no samples");
    if (p->n_samples > n_max || p->draws > n_max)
        return pack_fail_param(err, PACK_ERR_LIMIT, "n_samples",
                               "pattern has more than 2^62 samples");
    return check_subset(p, err);
}

static enum pack_status
check_readers(struct pack_pattern *p, struct pack_error *err)
{
    static const uint64_t n_max = UINT32_MAX;
    p->world = or_default(p->world, 1);
    p->workers = or_default(p->workers, 1);
    p->batch = or_default(p->batch, 1);
    p->dealt = or_default(p->dealt, p->workers);
    if (p->kind == PACK_PATTERN_BLOCK && p->local && p->slide)
        return pack_fail_param(
            err, PACK_ERR_ARGUMENT, "slide",
            "a worker-local block shuffle refills its pools: they cannot "
            "slide");
    if (p->rank >= p->world)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "rank",
                               "rank %" PRIu64 " of %" PRIu64
                               " does not exist: ranks count from 0",
                               p->rank, p->world);
    if (p->worker >= p->workers)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "worker",
                               "worker %" PRIu64 " of %" PRIu64
                               " does not exist: workers count from 0",
                               p->worker, p->workers);
    if (p->world > n_max || p->workers > n_max || p->dealt > n_max || p->batch > n_max)
        return pack_fail_param(err, PACK_ERR_LIMIT, "batch",
                               "ranks, workers and batch size end at %" PRIu64, n_max);
    if (p->kind == PACK_PATTERN_TRACE && p->read != PACK_READ_SAMPLE)
        return pack_fail_param(
            err, PACK_ERR_ARGUMENT, "read",
            "a trace says itself what each read asks for: read by sample");
    return PACK_OK;
}

/* Whether some axis after the first has a random start. */
static bool
has_crops(const struct pack_pattern *p)
{
    for (int i = 1; i < p->box.rank; i++)
        if (p->box.extent[i] < p->extent.extent[i])
            return true;
    return false;
}

enum pack_status
pack_pattern_complete(struct pack_pattern *p, bool *crops, struct pack_error *err)
{
    enum pack_status status = check_pattern(p, err);
    if (status == PACK_OK)
        status = set_samples(p, err);
    if (status == PACK_OK)
        status = check_readers(p, err);
    if (status != PACK_OK)
        return status;
    *crops = p->kind != PACK_PATTERN_TRACE && has_crops(p);
    if (p->read == PACK_READ_BATCH && *crops && p->step < p->box.extent[0])
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "read",
                               "windows that overlap cannot be cropped at random and "
                               "read as a batch: read by sample");
    return PACK_OK;
}
