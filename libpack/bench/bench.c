/*
 * One loop in the training process takes batches from the reader processes in order and
 * hands each to the consumer `echo` times:
 *
 *     worker 0 ─┐  shared memory
 *     worker 1 ─┼───▶ batch ───▶ consumer: step, step, ...
 *     worker 2 ─┘       └─ note: what reading it cost
 *
 * Everything that explains the result (simulator, verdict) is computed afterwards, so
 * that measuring costs next to nothing while it runs.
 */
#include "libpack/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/clock.h"
#include "libpack/base/large.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/base/size.h"

/* The part of the wait before a step in which pages were being dropped. */
static uint64_t
dropping(const struct bench_run *run, const struct pack_step *step)
{
    uint64_t begin = step->begin_ns - step->starved_ns, end = step->begin_ns;
    if (begin < run->drop_begin_ns)
        begin = run->drop_begin_ns;
    if (end > run->drop_end_ns)
        end = run->drop_end_ns;
    return end > begin ? end - begin : 0;
}

/* The consumer has finished a step. */
static void
on_step(void *context, const struct pack_step *step)
{
    struct bench_run *run = context;
    uint64_t dropped_ns = dropping(run, step);
    struct pack_bench_steps *s = &run->result->steps;
    s->n_steps++;
    s->n_samples += step->n_samples;
    s->pin_ns += step->pin_ns;
    s->copy_ns += step->copy_ns;
    s->copy_bytes += step->copy_bytes;
    s->normalise_ns += step->normalise_ns;
    run->last_end_ns = step->end_ns;
    if (step->number == 0) {
        run->first_end_ns = step->end_ns;
    } else {
        s->busy_ns += step->busy_ns;
        s->compute_ns += step->compute_ns;
        s->starved_ns += step->starved_ns - dropped_ns;
        run->dropped_ns += dropped_ns;
        s->copy_wait_ns += step->copy_wait_ns;
    }
    pack_bench_record_step(run->result, run->start_ns, step);
}

/* ----------------------------------------------------------------- opening */

static enum pack_status
open_procs(struct bench_run *run, struct pack_error *err)
{
    const struct pack_bench_params *p = &run->plan.params;
    struct pack_procs_params params = {
        .ops = &pack_bench_worker_ops,
        .context = &run->plan,
        .n_workers = (unsigned)p->workers.n,
        .prefetch = (unsigned)run->plan.prefetch,
        .fresh = p->hand_over.torch,
        .slot_bytes = run->plan.slot_bytes,
        .note_bytes = sizeof(struct bench_note),
        .activity_bytes = sizeof(struct bench_activity),
        .stall_ns = p->workers.stall_ns,
        .watch = p->watch,
    };
    return pack_procs_start(&params, &run->procs, err);
}

static enum pack_status
open_consumer(struct bench_run *run, struct pack_error *err)
{
    const struct pack_bench_params *p = &run->plan.params;
    struct pack_consumer_params params = p->consumer.params;
    params.sample_bytes = run->plan.stride_bytes;
    params.batch_max = run->plan.batch_max;
    params.on_step = on_step;
    params.watch = p->watch;
    params.context = run;
    if (strcmp(p->consumer.name, "checksum") == 0) {
        enum pack_status status = pack_bench_expect_open(&run->plan, &run->expect, err);
        if (status != PACK_OK)
            return status;
        params.expect = pack_bench_expect;
        params.expect_context = run->expect;
    }
    return pack_consumer_open(p->consumer.name, &params, &run->consumer, err);
}

/* Which make batches where the consumer likes them to lie. */
static enum pack_status
open_threads(struct bench_run *run, struct pack_error *err)
{
    struct pack_reader_buffers buffers = pack_consumer_buffers(run->consumer);
    return pack_bench_threads_open(&run->plan, &run->result->setup, &buffers, &run->threads,
                                   err);
}

/* What a stock open of a dataset gives. */
static enum pack_status
note_settings(struct bench_run *run, const char *file, const char *dataset,
              struct pack_error *err)
{
    const struct pack_bench_params *p = &run->plan.params;
    struct pack_h5_boxes *reader = NULL;
    struct pack_h5_boxes_params params = { .file = file,
                                           .dataset = dataset,
                                           .set_cache = p->open.set_cache,
                                           .cache = p->open.cache };
    enum pack_status status = pack_h5_boxes_open(&params, &reader, err);
    if (status == PACK_OK)
        status = pack_h5_boxes_cache(reader, &run->result->setup.cache, err);
    pack_h5_boxes_close(reader);
    return status;
}

/* The cache settings of the workers are those of any stock open, and the same for both
 * datasets, and for all sources of virtual ones, of which HDF5 tells none itself. */
static enum pack_status
note_cache(struct bench_run *run, struct pack_error *err)
{
    const struct pack_bench_params *p = &run->plan.params;
    struct pack_bench_result *r = run->result;
    const struct pack_readset *set = p->set;
    pack_h5_version_text(r->setup.hdf5_version);
    r->setup.has_cache = set && pack_readset_is_chunked(set);
    if (!set || !pack_readset_is_clear(set))
        set = p->with;
    if (!set || !pack_readset_is_clear(set))
        return PACK_OK;
    const struct pack_h5_dataset *d = set->parts[0].data;
    if (d->chunks.grid.rank > 0)
        return note_settings(run, d->file, d->path, err);
    for (size_t i = 0; i < d->sources.n_sources; i++) {
        const struct pack_h5_source *source = &d->sources.sources[i];
        if (!source->is_missing)
            return note_settings(run, source->file, source->dataset, err);
    }
    return PACK_OK;
}

static enum pack_status
open_run(struct bench_run *run, struct pack_error *err)
{
    struct pack_bench_result *r = run->result;
    const struct pack_bench_params *p = &run->plan.params;
    run->n_lanes = p->workers.n ? p->workers.n : 1;
    uint64_t n_tallies;
    if (!pack_size_mul(p->stop.epochs, run->n_lanes, &n_tallies) || n_tallies > 1 << 26)
        return pack_fail(err, PACK_ERR_LIMIT, "too many epochs (%llu)",
                         (unsigned long long)p->stop.epochs);
    run->tally = pack_apart_alloc((size_t)n_tallies, sizeof *run->tally);
    run->indices = calloc((size_t)run->plan.batch_max, sizeof *run->indices);
    r->epochs = pack_apart_alloc((size_t)p->stop.epochs, sizeof *r->epochs);
    r->cpu.workers = calloc((size_t)run->n_lanes, sizeof *r->cpu.workers);
    if (!run->tally || !run->indices || !r->epochs || !r->cpu.workers)
        return pack_fail_memory(err, "results");
    r->setup.engine = run->plan.engine->name;
    r->setup.seed = run->plan.pattern.seed;
    r->setup.n_workers = p->workers.n;
    r->setup.prefetch = p->workers.prefetch;
    r->setup.batch = run->plan.pattern.batch;
    r->setup.echo = p->consumer.echo;
    r->setup.sample_bytes = run->plan.stride_bytes;
    r->setup.epoch_samples = run->plan.epoch_samples;
    enum pack_status status =
        run->plan.engine->is_threaded ? PACK_OK : note_cache(run, err);
    uint64_t begin_ns = pack_clock_ns();
    if (status == PACK_OK && p->keep_events)
        status = pack_bench_events_open(r, err);
    if (status == PACK_OK && !run->plan.engine->is_threaded && !p->workers.fresh)
        status = open_procs(run, err); /* before anything that must not be forked */
    if (status == PACK_OK)
        status = open_consumer(run, err);
    if (status == PACK_OK && run->plan.engine->is_threaded)
        status = open_threads(run, err);
    if (status == PACK_OK)
        r->setup.consumer = pack_consumer_name(run->consumer);
    r->open_ns = pack_clock_ns() - begin_ns;
    return status;
}

/* -------------------------------------------------------------------- loop */

/* Drops the files' pages; that is no part of what is measured. */
static enum pack_status
go_cold(struct bench_run *run, struct pack_bench_epoch *epoch, struct pack_error *err)
{
    run->drop_begin_ns = pack_clock_ns();
    if (run->threads)
        pack_bench_threads_rest(run->threads);
    enum pack_status status = pack_bench_go_cold(&run->plan.params, epoch, err);
    run->drop_end_ns = pack_clock_ns();
    epoch->pages.drop_ns = run->drop_end_ns - run->drop_begin_ns;
    return status;
}

/* What this process used since `before`, which becomes now. */
static struct pack_system_usage
used_since(struct pack_system_usage *before)
{
    struct pack_system_usage now;
    pack_system_usage(&now);
    struct pack_system_usage used = { now.user_ns - before->user_ns,
                                      now.system_ns - before->system_ns,
                                      now.storage_bytes - before->storage_bytes };
    *before = now;
    return used;
}

/* Once each: fresh workers find the same ones again. */
static void
keep_reason(struct pack_bench_result *r, const char *reason)
{
    for (uint32_t i = 0; i < r->skipped.n_reasons; i++)
        if (strcmp(r->skipped.reason[i], reason) == 0)
            return;
    if (r->skipped.n_reasons < PACK_ENGINE_REASONS_MAX)
        memcpy(r->skipped.reason[r->skipped.n_reasons++], reason,
               sizeof r->skipped.reason[0]);
}

/* Takes everything out of the processes that is only theirs, and ends them. */
static void
end_procs(struct bench_run *run)
{
    struct pack_bench_result *r = run->result;
    for (unsigned i = 0; run->procs && i < run->n_lanes; i++) {
        const struct bench_activity *activity = pack_procs_activity(run->procs, i);
        pack_histogram_merge(&r->latency, &activity->set.latency);
        pack_histogram_merge(&r->latency, &activity->with.latency);
        for (uint32_t k = 0; k < activity->set.n_reasons; k++)
            keep_reason(r, activity->set.reason[k]);
    }
    pack_procs_stop(run->procs, NULL);
    run->procs = NULL;
}

static bool
is_over(const struct bench_run *run)
{
    const struct pack_bench_params *p = &run->plan.params;
    return (p->stop.batches && run->n_batches >= p->stop.batches) ||
           (p->stop.after_ns && pack_clock_ns() - run->start_ns >= p->stop.after_ns);
}

/* After a batch of the first epoch: two fifths of the time that a run was given may be
 * over, in which the system has not yet found a processor for each process. */
static void
note_warm(struct bench_run *run, bool is_last)
{
    struct pack_bench_result *r = run->result;
    /* without the starting of workers that end with the epoch */
    uint64_t elapsed_ns = pack_clock_ns() - run->start_ns - r->epochs[0].start_ns;
    if (r->warm_ns || (!is_last && elapsed_ns < run->plan.params.stop.after_ns / 5 * 2))
        return;
    r->warm_ns = elapsed_ns;
    r->warm_samples = r->epochs[0].n_samples;
}

static enum pack_status
one_epoch(struct bench_run *run, uint64_t number, struct pack_error *err)
{
    const struct pack_bench_params *p = &run->plan.params;
    struct pack_bench_epoch *epoch = &run->result->epochs[number];
    uint64_t n = run->plan.epoch_batches;
    enum pack_status status = p->cold ? go_cold(run, epoch, err) : PACK_OK;
    if (p->stop.batches && n > p->stop.batches - run->n_batches)
        n = p->stop.batches - run->n_batches;
    struct pack_system_usage usage;
    pack_system_usage(&usage);
    uint64_t begin_ns = pack_clock_ns();
    if (number == 0)
        run->start_ns = begin_ns;
    run->result->n_epochs = number + 1;
    if (p->workers.fresh && status == PACK_OK)
        status = open_procs(run, err);
    epoch->start_ns = p->workers.fresh ? pack_clock_ns() - begin_ns : 0;
    if (run->procs)
        pack_procs_begin(run->procs, number, n);
    if (run->threads && status == PACK_OK)
        status = pack_bench_threads_begin(run->threads, number, err);
    for (uint64_t i = 0; i < n && status == PACK_OK && !(i > 0 && is_over(run)); i++) {
        status = pack_bench_batch(run, err);
        if (number == 0)
            note_warm(run, i + 1 == n);
    }
    uint64_t end_ns = pack_clock_ns();
    if (p->workers.fresh)
        end_procs(run);
    epoch->elapsed_ns = pack_clock_ns() - begin_ns;
    epoch->start_ns += p->workers.fresh ? pack_clock_ns() - end_ns : 0;
    usage = used_since(&usage);
    if (p->workers.n == 0)
        pack_bench_usage_add(&run->result->cpu.workers[0], &usage);
    return status;
}

static enum pack_status
loop(struct bench_run *run, struct pack_error *err)
{
    struct pack_bench_result *r = run->result;
    struct pack_system_cpu before;
    bool has_before = pack_system_cpu(&before);
    enum pack_status status = PACK_OK;
    for (uint64_t i = 0; i < run->plan.params.stop.epochs && status == PACK_OK; i++)
        if (i == 0 || !is_over(run))
            status = one_epoch(run, i, err);
    if (status == PACK_OK || status == PACK_ERR_INTERRUPTED) {
        enum pack_status finished =
            pack_consumer_finish(run->consumer, status == PACK_OK ? err : NULL);
        status = status == PACK_OK ? finished : status;
    }
    r->elapsed_ns = run->start_ns ? pack_clock_ns() - run->start_ns : 0;
    for (uint64_t i = 1; i < r->n_epochs; i++)
        r->elapsed_ns -= r->epochs[i].pages.drop_ns;
    r->cpu.has_machine = has_before && pack_system_cpu(&r->cpu.machine);
    if (r->cpu.has_machine) {
        r->cpu.machine.user_ns -= before.user_ns;
        r->cpu.machine.system_ns -= before.system_ns;
        r->cpu.machine.iowait_ns -= before.iowait_ns;
        r->cpu.machine.idle_ns -= before.idle_ns;
    }
    return status;
}

/* --------------------------------------------------------------- finishing */

static void
close_run(struct bench_run *run)
{
    pack_bench_threads_close(run->threads);
    pack_consumer_close(run->consumer);
    end_procs(run);
    pack_bench_expect_close(run->expect);
    pack_apart_free(run->tally);
    free(run->indices);
}

static enum pack_status
explain(struct bench_run *run, struct pack_error *err)
{
    struct pack_bench_result *r = run->result;
    enum pack_status status = PACK_OK;
    if (!run->plan.params.no_check)
        status = pack_bench_check(&run->plan, run->tally, r, err);
    uint64_t total_ns = run->last_end_ns - run->first_end_ns;
    pack_bench_finish(total_ns > run->dropped_ns ? total_ns - run->dropped_ns : 0, r);
    if (r->total.n_samples == 0 && r->skipped.n_reasons > 0 && !r->interrupted)
        return pack_fail(
            err, PACK_ERR_FORMAT, "none of %llu images can be decoded; the first is %s",
            (unsigned long long)r->total.work.read.skipped, r->skipped.reason[0]);
    if (status == PACK_OK)
        pack_bench_judge(&run->plan, r);
    return status;
}

enum pack_status
pack_bench_run(const struct pack_bench_params *params, struct pack_bench_result *result,
               struct pack_error *err)
{
    struct bench_run run = { .result = result };
    *result = (struct pack_bench_result){ 0 };
    enum pack_status status = pack_bench_plan_make(params, &run.plan, err);
    if (status == PACK_OK)
        status = open_run(&run, err);
    bool opened = status == PACK_OK;
    if (opened)
        status = loop(&run, err);
    result->interrupted = status == PACK_ERR_INTERRUPTED;
    if (opened && (status == PACK_OK || result->interrupted)) {
        pack_consumer_device(run.consumer, &result->device);
        end_procs(&run);
        enum pack_status explained = explain(&run, result->interrupted ? NULL : err);
        status = status == PACK_OK ? explained : status;
    }
    close_run(&run);
    if (status != PACK_OK && !(opened && result->interrupted))
        pack_bench_done(result);
    return status;
}
