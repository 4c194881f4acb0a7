/* From what was asked for to sizes, counts and an engine. */
#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/model/order_text.h"
#include "libpack/model/pattern_order.h"

uint64_t
pack_bench_batch_samples(const struct bench_plan *plan, uint64_t number)
{
    uint64_t first = number * plan->pattern.batch, left = plan->epoch_samples - first;
    return left < plan->pattern.batch ? left : plan->pattern.batch;
}

/* Bytes of the largest sample. */
static enum pack_status
plan_sample(struct bench_plan *plan, struct pack_error *err)
{
    const struct pack_bench_params *p = &plan->params;
    const struct pack_pattern *pattern = &plan->pattern;
    uint64_t elem_size = p->set ? p->set->elem_size : 1, count;
    if (pattern->kind == PACK_PATTERN_TRACE) {
        for (uint64_t i = 0; i < pattern->n_trace; i++) {
            uint64_t bytes = pack_readset_box_bytes(p->set, &pattern->trace[i]);
            if (bytes > plan->stride_bytes)
                plan->stride_bytes = bytes;
        }
        return PACK_OK;
    }
    struct pack_shape sample = pattern->box.rank ? pattern->box : pattern->extent;
    if (pattern->box.rank == 0)
        sample.extent[0] = 1;
    if (!pack_shape_count(&sample, &count) ||
        !pack_size_mul(count, elem_size, &plan->stride_bytes))
        return pack_fail(err, PACK_ERR_LIMIT, "a sample has more than 2^64 bytes");
    return PACK_OK;
}

/* Indexes of axis 0 that the longest sample takes. */
static uint64_t
rows_of_sample(const struct pack_pattern *pattern)
{
    uint64_t rows = pattern->box.rank ? pattern->box.extent[0] : 1;
    if (pattern->kind != PACK_PATTERN_TRACE)
        return rows;
    for (uint64_t i = 0; i < pattern->n_trace; i++)
        if (pattern->trace[i].count[0] > rows)
            rows = pattern->trace[i].count[0];
    return rows;
}

static enum pack_status
plan_slot(struct bench_plan *plan, struct pack_error *err)
{
    uint64_t main_bytes, with_bytes = 0, total;
    const struct pack_readset *with = plan->params.with;
    if (with && !pack_size_mul(with->sample_bytes, rows_of_sample(&plan->pattern),
                               &plan->with_stride_bytes))
        return pack_fail(err, PACK_ERR_LIMIT, "a sample has more than 2^64 bytes");
    if (!pack_size_mul(plan->stride_bytes, plan->batch_max, &main_bytes) ||
        !pack_size_mul(plan->with_stride_bytes, plan->batch_max, &with_bytes) ||
        !pack_size_add(main_bytes, with_bytes, &total) || total > SIZE_MAX / 2)
        return pack_fail(err, PACK_ERR_LIMIT, "a batch of %llu samples is too large",
                         (unsigned long long)plan->batch_max);
    plan->slot_bytes = (size_t)total;
    return PACK_OK;
}

/* A trace is recorded elsewhere: its boxes may not be this dataset's. */
static enum pack_status
check_trace(const struct pack_bench_params *p, struct pack_error *err)
{
    const struct pack_pattern *pattern = &p->pattern;
    if (!p->set || pattern->read != PACK_READ_SAMPLE)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "read",
                               "a trace replays single reads of a file");
    return pack_trace_check(pattern->trace, pattern->n_trace, &p->set->extent, err);
}

static enum pack_status
check_params(const struct pack_bench_params *p, struct pack_error *err)
{
    if (p->with && p->set && p->with->extent.extent[0] < p->set->extent.extent[0])
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%s' has %llu entries for %llu samples",
                         p->with->dataset, (unsigned long long)p->with->extent.extent[0],
                         (unsigned long long)p->set->extent.extent[0]);
    if (p->pattern.kind == PACK_PATTERN_TRACE)
        return check_trace(p, err);
    if (p->pattern.read == PACK_READ_SPAN && p->pattern.box.rank > 0)
        for (int i = 1; i < p->pattern.box.rank; i++)
            if (p->set && p->pattern.box.extent[i] < p->set->extent.extent[i])
                return pack_fail_param(err, PACK_ERR_ARGUMENT, "read",
                                       "a span is of whole samples, not crops");
    return PACK_OK;
}

static enum pack_status
check_filters(const struct pack_bench_params *p, struct pack_error *err)
{
    enum pack_status status = p->set ? pack_readset_check_filters(p->set, err) : PACK_OK;
    return status == PACK_OK && p->with ? pack_readset_check_filters(p->with, err) : status;
}

static void
plan_extent(struct bench_plan *plan)
{
    const struct pack_bench_params *p = &plan->params;
    struct pack_pattern *pattern = &plan->pattern;
    if (p->set) {
        struct pack_shape chunk = { 0 };
        pattern->extent = p->set->extent;
        if (pattern->chunk_samples == 0 &&
            pack_h5_dataset_chunk(p->set->parts[0].data, &chunk))
            pattern->chunk_samples = pack_pattern_of_chunk(pattern, chunk.extent[0]);
        return;
    }
    pattern->read = PACK_READ_SAMPLE; /* image files know no other */
    pattern->extent = (struct pack_shape){
        .rank = 4,
        .extent = { pack_source_count(p->images.source), p->images.height,
                    p->images.width, 3 },
    };
}

/* Memory is for what there is: a worker makes no more batches at a time than an epoch, or
 * the run, has for it. */
static uint64_t
prefetch_of(const struct bench_plan *plan)
{
    const struct pack_bench_params *p = &plan->params;
    uint64_t n = plan->epoch_batches, lanes = p->workers.n ? p->workers.n : 1;
    if (p->stop.batches && p->stop.batches < n)
        n = p->stop.batches;
    uint64_t each = n / lanes + (n % lanes > 0);
    return p->workers.prefetch < each ? p->workers.prefetch : each;
}

/* Not even one batch: says of how many samples, whether they would be dropped or not. */
static enum pack_status
fail_batch(const struct pack_pattern *pattern, struct pack_error *err)
{
    struct pack_pattern all = *pattern;
    struct pack_pattern_iter *iter = NULL;
    all.drop_last = false;
    enum pack_status status = pack_pattern_new(&all, &iter, err);
    if (status != PACK_OK)
        return status;
    uint64_t n = pack_pattern_length(iter);
    pack_pattern_free(iter);
    return pack_fail(err, PACK_ERR_ARGUMENT, "%s not fill a batch of %llu",
                     pack_counted(n, "sample does", "samples do").text,
                     (unsigned long long)pattern->batch);
}

/* There are no processes, and no HDF5 whose reads a simulator knows. */
static void
give_to_threads(struct bench_plan *plan)
{
    struct pack_bench_params *p = &plan->params;
    plan->n_threads = p->workers.n;
    p->workers.n = 0;
    p->preload = false;
    p->no_check = true;
}

enum pack_status
pack_bench_plan_make(const struct pack_bench_params *params, struct bench_plan *plan,
                     struct pack_error *err)
{
    struct pack_pattern_iter *iter = NULL;
    *plan = (struct bench_plan){ .params = *params, .pattern = params->pattern };
    struct pack_bench_params *p = &plan->params;
    const char *engine = p->engine ? p->engine : p->images.source ? "images" : "hdf5";
    p->stop.epochs = p->stop.epochs ? p->stop.epochs : 1;
    p->workers.prefetch = p->workers.prefetch ? p->workers.prefetch : 2;
    p->workers.fresh = p->workers.fresh && p->workers.n > 0;
    p->preload = p->preload && !p->workers.fresh;
    p->consumer.echo = p->consumer.echo ? p->consumer.echo : 1;
    p->consumer.name = p->consumer.name ? p->consumer.name : "null";
    plan->engine = pack_engine_find(engine);
    if (!plan->engine)
        return pack_fail(err, PACK_ERR_ARGUMENT, "no engine is called '%.40s'", engine);
    enum pack_engine_kind kind = p->set ? PACK_ENGINE_SET : PACK_ENGINE_IMAGES;
    enum pack_status status = pack_engine_check(plan->engine, kind, err);
    if (status == PACK_OK && plan->engine->is_threaded)
        status = pack_bench_threads_check(params, plan->engine, err);
    if (status != PACK_OK)
        return status;
    if (plan->pattern.dealt == 0)
        plan->pattern.dealt = p->workers.n ? p->workers.n : 1;
    if (plan->engine->is_threaded)
        give_to_threads(plan);
    plan_extent(plan);
    plan->pattern.batch = plan->pattern.batch ? plan->pattern.batch : 1;
    plan->pattern.workers = plan->pattern.worker = 0;
    status = check_params(p, err);
    if (status == PACK_OK && !plan->engine->is_threaded)
        status = check_filters(p, err);
    if (status == PACK_OK)
        status = plan_sample(plan, err);
    if (status == PACK_OK)
        status = pack_pattern_new(&plan->pattern, &iter, err);
    if (status != PACK_OK)
        return status;
    uint64_t n = pack_pattern_length(iter), batch = plan->pattern.batch;
    pack_pattern_free(iter);
    plan->batch_max = n < batch ? n : batch; /* likewise */
    plan->epoch_samples = plan->pattern.drop_last ? n / batch * batch : n;
    plan->epoch_batches = n / batch + (n % batch && !plan->pattern.drop_last);
    if (plan->epoch_batches == 0)
        return fail_batch(&plan->pattern, err);
    plan->prefetch = prefetch_of(plan);
    return plan_slot(plan, err);
}
