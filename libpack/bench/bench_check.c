/*
 * Sends the same reads through the simulator, worker by worker and epoch by epoch, and
 * compares. Both sides see one cache per worker and file, kept from epoch to epoch.
 */
#include <stdio.h>
#include <stdlib.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/hdf5/h5_caches.h"
#include "libpack/base/numbers.h"

/* The comparison of one of the two datasets. */
struct check {
    const struct bench_plan *plan;
    const struct bench_tally *tally; /* [epoch * n_lanes + lane] */
    struct pack_bench_result *result;
    uint64_t n_lanes;
    bool is_with; /* the second dataset */
    const struct pack_readset *set;
    struct pack_h5_caches **caches; /* of each part */
    struct pack_box *local;
    size_t n_local;
};

static void
check_done(struct check *check)
{
    for (size_t i = 0; check->caches && i < check->set->n_parts; i++)
        pack_h5_caches_free(check->caches[i]);
    free(check->caches);
    free(check->local);
    check->caches = NULL;
    check->local = NULL;
    check->n_local = 0;
}

static enum pack_status
check_init(struct check *check, struct pack_error *err)
{
    const struct pack_readset *set = check->set;
    check->caches = calloc(set->n_parts ? set->n_parts : 1, sizeof *check->caches);
    enum pack_status status =
        check->caches ? PACK_OK : pack_fail_memory(err, "simulators");
    for (size_t i = 0; i < set->n_parts && status == PACK_OK; i++)
        status = pack_h5_caches_new(set->parts[i].data, &check->result->setup.cache,
                                    &check->caches[i], err);
    return status;
}

static enum pack_status
reserve(struct check *check, size_t n, struct pack_error *err)
{
    if (n <= check->n_local)
        return PACK_OK;
    struct pack_box *local = realloc(check->local, n * sizeof *local);
    if (!local)
        return pack_fail_memory(err, "a request");
    check->local = local;
    check->n_local = n;
    return PACK_OK;
}

static enum pack_status
replay_request(struct check *check, const struct pack_box *boxes, size_t n_boxes,
               struct pack_error *err)
{
    struct pack_readset_cursor cursor = { 0 };
    size_t n, part;
    enum pack_status status = reserve(check, n_boxes, err);
    while (status == PACK_OK && (n = pack_readset_take(check->set, boxes, n_boxes, &cursor,
                                                       check->local, &part)) > 0) {
        if (check->plan->params.open.reopen)
            pack_h5_caches_reopen(check->caches[part]);
        status = pack_h5_caches_read(check->caches[part], check->local, n, err);
    }
    return status;
}

/* The whole indexes of axis 0 that the second dataset is read at. */
static void
widen(struct pack_box *box, const struct pack_shape *extent)
{
    box->rank = extent->rank;
    for (int i = 1; i < extent->rank; i++) {
        box->start[i] = 0;
        box->count[i] = extent->extent[i];
    }
}

static enum pack_status
replay_batches(struct check *check, struct pack_pattern_iter *iter, uint64_t lane,
               uint64_t n_batches, struct pack_error *err)
{
    const struct bench_plan *plan = check->plan;
    struct pack_request request;
    struct pack_box *boxes = NULL;
    enum pack_status status = PACK_OK;
    uint64_t n_samples = 0;
    for (uint64_t i = 0; i < n_batches; i++)
        n_samples += pack_bench_batch_samples(plan, lane + i * check->n_lanes);
    while (n_samples > 0 && status == PACK_OK && pack_pattern_next(iter, &request)) {
        n_samples -= request.n_samples;
        if (check->is_with) {
            boxes = malloc(request.n_boxes * sizeof *boxes);
            if (!boxes)
                return pack_fail_memory(err, "a request");
            for (size_t b = 0; b < request.n_boxes; b++) {
                boxes[b] = request.boxes[b];
                widen(&boxes[b], &check->set->extent);
            }
        }
        status =
            replay_request(check, boxes ? boxes : request.boxes, request.n_boxes, err);
        free(boxes);
        boxes = NULL;
    }
    return status;
}

/* What a worker did in an epoch with what it ought to have done. */
static void
compare(const struct check *check, uint64_t worker, uint64_t epoch,
        const struct pack_cache_counts *counts)
{
    const struct bench_tally *did = &check->tally[epoch * check->n_lanes + worker];
    uint64_t file_reads = check->is_with ? did->with_reads : did->file_reads;
    uint64_t bytes = check->is_with ? did->with_bytes : did->file_read_bytes;
    struct pack_bench_mismatch *mismatch = &check->result->mismatch;
    mismatch->n_compared++;
    if (counts->file_reads == file_reads && counts->file_read_bytes == bytes)
        return;
    if (mismatch->n++ == 0)
        snprintf(mismatch->text, sizeof mismatch->text,
                 "worker %llu, epoch %llu, dataset %s: HDF5 made %s of %llu "
                 "bytes in all, the simulator says %llu of %llu",
                 (unsigned long long)worker, (unsigned long long)epoch,
                 check->set->dataset, pack_counted(file_reads, "read", "reads").text,
                 (unsigned long long)bytes, (unsigned long long)counts->file_reads,
                 (unsigned long long)counts->file_read_bytes);
}

/* Whether file reads past the cache are not known to the last: see h5_sources.h. */
static bool
is_vague(const struct pack_readset *set, const struct pack_cache_counts *counts)
{
    bool is_side_by_side = false;
    for (size_t i = 0; i < set->n_parts; i++)
        is_side_by_side = is_side_by_side || set->parts[i].data->sources.is_side_by_side;
    return is_side_by_side && counts->bypass_visits > 0;
}

/* One worker's epoch, the caches going on from where they are. */
static enum pack_status
check_epoch(struct check *check, struct pack_pattern_iter *iter, uint64_t lane,
            uint64_t epoch, struct pack_error *err)
{
    uint64_t n_batches = check->tally[epoch * check->n_lanes + lane].n_batches;
    struct pack_bench_expected *expected = &check->result->epochs[epoch].expected;
    struct pack_cache_counts total = { 0 }, counts;
    for (size_t i = 0; check->plan->params.workers.fresh && i < check->set->n_parts; i++)
        pack_h5_caches_reopen(check->caches[i]);
    enum pack_status status =
        pack_pattern_seek(iter, check->plan->pattern.epoch + epoch, 0, err);
    if (status == PACK_OK)
        status = replay_batches(check, iter, lane, n_batches, err);
    if (status != PACK_OK)
        return status;
    for (size_t i = 0; i < check->set->n_parts; i++) {
        pack_h5_caches_take(check->caches[i], &counts);
        pack_cache_counts_add(&total, &counts);
    }
    if (!is_vague(check->set, &total))
        compare(check, lane, epoch, &total);
    pack_cache_counts_add(check->is_with ? &expected->with : &expected->set, &total);
    expected->is_known |= !check->is_with;
    return PACK_OK;
}

/* One worker's whole run. */
static enum pack_status
check_lane(struct check *check, uint64_t lane, struct pack_error *err)
{
    struct pack_pattern pattern = check->plan->pattern;
    struct pack_pattern_iter *iter = NULL;
    pattern.workers = check->n_lanes;
    pattern.worker = lane;
    enum pack_status status = pack_pattern_new(&pattern, &iter, err);
    if (status == PACK_OK)
        status = check_init(check, err);
    for (uint64_t e = 0; e < check->result->n_epochs && status == PACK_OK; e++)
        status = check_epoch(check, iter, lane, e, err);
    check_done(check);
    pack_pattern_free(iter);
    return status;
}

enum pack_status
pack_bench_check(const struct bench_plan *plan, const struct bench_tally *tally,
                 struct pack_bench_result *result, struct pack_error *err)
{
    uint64_t n_lanes = plan->params.workers.n ? plan->params.workers.n : 1;
    enum pack_status status = PACK_OK;
    for (int is_with = 0; is_with < 2; is_with++) {
        struct check check = { .plan = plan,
                               .tally = tally,
                               .result = result,
                               .n_lanes = n_lanes,
                               .is_with = is_with,
                               .set = is_with ? plan->params.with : plan->params.set };
        if (!check.set || !pack_readset_is_clear(check.set))
            continue;
        for (uint64_t lane = 0; lane < n_lanes && status == PACK_OK; lane++)
            status = check_lane(&check, lane, err);
    }
    return status;
}
