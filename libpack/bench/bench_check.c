/*
 * Sends the same reads through the simulator, worker by worker and epoch by epoch, and
 * compares. Both sides see one cache per worker and file, kept from epoch to epoch.
 */
#include <stdio.h>
#include <stdlib.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/numbers.h"

struct check {
    const struct bench_plan *plan;
    struct pack_cache_params cache;
    const struct pack_readset *set;
    struct pack_cachesim **sim; /* of each part, or of each of its sources; NULL: missing */
    size_t n_sims;
    struct pack_box *local, *cut; /* n_local each */
    size_t n_local;
};

static void
check_done(struct check *check)
{
    for (size_t i = 0; check->sim && i < check->n_sims; i++)
        pack_cachesim_free(check->sim[i]);
    free(check->sim);
    free(check->local);
    free(check->cut);
    check->sim = NULL;
    check->local = check->cut = NULL;
    check->n_local = 0;
}

/* Caches that a part has. */
static size_t
caches_of(const struct pack_h5_dataset *d)
{
    return d->chunks.grid.rank > 0 ? 1 : d->sources.n_sources;
}

static enum pack_status
new_sim(const struct check *check, const struct pack_facts *facts,
        const struct pack_h5_chunks *chunks, struct pack_cachesim **sim,
        struct pack_error *err)
{
    struct pack_cachesim_params params = {
        .cache = check->cache,
        .filtered = facts->pipeline.n > 0,
        .edge_unfiltered = facts->edge_chunks_unfiltered,
        .skip_missing = pack_facts_skip_missing(facts),
        .stored_bytes = chunks->stored_bytes,
    };
    return pack_cachesim_new(&chunks->grid, &params, sim, err);
}

static enum pack_status
check_init(struct check *check, struct pack_error *err)
{
    const struct pack_readset *set = check->set;
    enum pack_status status = PACK_OK;
    size_t n = 0;
    for (size_t i = 0; i < set->n_parts; i++)
        n += caches_of(set->parts[i].data);
    check->sim = calloc(n ? n : 1, sizeof *check->sim);
    check->n_sims = n;
    if (!check->sim)
        return pack_fail_memory(err, "simulators");
    struct pack_cachesim **sim = check->sim;
    for (size_t i = 0; i < set->n_parts && status == PACK_OK; i++) {
        const struct pack_h5_dataset *d = set->parts[i].data;
        if (d->chunks.grid.rank > 0)
            status = new_sim(check, &d->facts, &d->chunks, sim++, err);
        for (size_t k = 0; k < d->sources.n_sources && status == PACK_OK; k++, sim++) {
            const struct pack_h5_source *source = &d->sources.sources[k];
            if (!source->is_missing)
                status = new_sim(check, &source->facts, &source->chunks, sim, err);
        }
    }
    return status;
}

/* One H5Dread of check->local[0 .. n-1] of a part whose caches begin at `sim`. */
static enum pack_status
replay_part(struct check *check, const struct pack_h5_dataset *d,
            struct pack_cachesim **sim, size_t n, struct pack_error *err)
{
    const struct pack_h5_sources *s = &d->sources;
    enum pack_status status = PACK_OK;
    for (size_t i = 0; check->plan->params.open.reopen && i < caches_of(d); i++)
        if (sim[i])
            pack_cachesim_reopen(sim[i]);
    if (d->chunks.grid.rank > 0)
        return pack_cachesim_read_boxes(sim[0], check->local, n, err);
    for (size_t i = 0; i < s->n_mappings && status == PACK_OK; i++) {
        const struct pack_h5_mapping *mapping = &s->mappings[i];
        size_t n_cut = 0;
        for (size_t b = 0; b < n && sim[mapping->source]; b++)
            n_cut += pack_h5_mapping_cut(mapping, &check->local[b], &check->cut[n_cut]);
        if (n_cut > 0)
            status = pack_cachesim_read_boxes(sim[mapping->source], check->cut, n_cut, err);
    }
    return status;
}

static enum pack_status
reserve(struct check *check, size_t n, struct pack_error *err)
{
    if (n <= check->n_local)
        return PACK_OK;
    struct pack_box *local = realloc(check->local, n * sizeof *local);
    if (local)
        check->local = local;
    struct pack_box *cut = local ? realloc(check->cut, n * sizeof *cut) : NULL;
    if (!cut)
        return pack_fail_memory(err, "a request");
    check->cut = cut;
    check->n_local = n;
    return PACK_OK;
}

static enum pack_status
replay_request(struct check *check, const struct pack_box *boxes, size_t n_boxes,
               struct pack_error *err)
{
    const struct pack_readset *set = check->set;
    struct pack_readset_cursor cursor = { 0 };
    size_t n, part;
    enum pack_status status = reserve(check, n_boxes, err);
    while (status == PACK_OK && (n = pack_readset_take(set, boxes, n_boxes, &cursor,
                                                       check->local, &part)) > 0) {
        size_t first = 0;
        for (size_t i = 0; i < part; i++)
            first += caches_of(set->parts[i].data);
        status = replay_part(check, set->parts[part].data, check->sim + first, n, err);
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
replay_batches(struct check *check, struct pack_pattern_iter *iter, uint64_t n_batches,
               uint64_t n_lanes, uint64_t lane, bool is_with, struct pack_error *err)
{
    const struct bench_plan *plan = check->plan;
    struct pack_request request;
    struct pack_box *boxes = NULL;
    enum pack_status status = PACK_OK;
    uint64_t n_samples = 0;
    for (uint64_t i = 0; i < n_batches; i++)
        n_samples += pack_bench_batch_samples(plan, lane + i * n_lanes);
    while (n_samples > 0 && status == PACK_OK && pack_pattern_next(iter, &request)) {
        n_samples -= request.n_samples;
        if (is_with) {
            boxes = malloc(request.n_boxes * sizeof *boxes);
            if (!boxes)
                return pack_fail_memory(err, "a request");
            for (size_t b = 0; b < request.n_boxes; b++) {
                boxes[b] = request.boxes[b];
                widen(&boxes[b], &check->set->extent);
            }
        }
        status =
            replay_request(check, is_with ? boxes : request.boxes, request.n_boxes, err);
        free(boxes);
        boxes = NULL;
    }
    return status;
}

static void
compare(const struct pack_cache_counts *counts, uint64_t file_reads, uint64_t bytes,
        const char *dataset, uint64_t worker, uint64_t epoch,
        struct pack_bench_mismatch *mismatch)
{
    mismatch->n_compared++;
    if (counts->file_reads == file_reads && counts->file_read_bytes == bytes)
        return;
    if (mismatch->n++ == 0)
        snprintf(mismatch->text, sizeof mismatch->text,
                 "worker %llu, epoch %llu, dataset %s: HDF5 made %s of %llu "
                 "bytes in all, the simulator says %llu of %llu",
                 (unsigned long long)worker, (unsigned long long)epoch, dataset,
                 pack_counted(file_reads, "read", "reads").text, (unsigned long long)bytes,
                 (unsigned long long)counts->file_reads,
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

/* One worker's whole run on one of the two datasets. */
static enum pack_status
check_lane(struct check *check, const struct bench_tally *tally, uint64_t n_lanes,
           uint64_t lane, bool is_with, struct pack_bench_result *result,
           struct pack_error *err)
{
    struct pack_pattern pattern = check->plan->pattern;
    struct pack_pattern_iter *iter = NULL;
    pattern.workers = n_lanes;
    pattern.worker = lane;
    enum pack_status status = pack_pattern_new(&pattern, &iter, err);
    if (status == PACK_OK)
        status = check_init(check, err);
    for (uint64_t e = 0; e < result->n_epochs && status == PACK_OK; e++) {
        const struct bench_tally *did = &tally[e * n_lanes + lane];
        struct pack_cache_counts total = { 0 }, counts;
        for (size_t i = 0; check->plan->params.workers.fresh && i < check->n_sims; i++)
            if (check->sim[i])
                pack_cachesim_reopen(check->sim[i]);
        status = pack_pattern_seek(iter, pattern.epoch + e, 0, err);
        if (status == PACK_OK)
            status =
                replay_batches(check, iter, did->n_batches, n_lanes, lane, is_with, err);
        if (status != PACK_OK)
            break;
        for (size_t i = 0; i < check->n_sims; i++) {
            if (!check->sim[i])
                continue;
            pack_cachesim_take(check->sim[i], &counts);
            pack_cache_counts_add(&total, &counts);
        }
        if (!is_vague(check->set, &total))
            compare(&total, is_with ? did->with_reads : did->file_reads,
                    is_with ? did->with_bytes : did->file_read_bytes,
                    check->set->dataset, lane, e, &result->mismatch);
        struct pack_bench_epoch *epoch = &result->epochs[e];
        pack_cache_counts_add(is_with ? &epoch->expected.with : &epoch->expected.set,
                              &total);
        epoch->expected.is_known |= !is_with;
    }
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
                               .cache = result->setup.cache,
                               .set = is_with ? plan->params.with : plan->params.set };
        if (!check.set || !pack_readset_is_clear(check.set))
            continue;
        for (uint64_t lane = 0; lane < n_lanes && status == PACK_OK; lane++)
            status = check_lane(&check, tally, n_lanes, lane, is_with, result, err);
    }
    return status;
}
