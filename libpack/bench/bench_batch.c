/*
 * One batch in the training process: taken from its worker, its note added to the result,
 * and handed to the consumer as often as it is used.
 */
#include <stdio.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/clock.h"
#include "libpack/base/rng.h"
#include "libpack/base/size.h"

void
pack_bench_usage_add(struct pack_procs_usage *total, const struct pack_system_usage *part)
{
    total->user_ns += part->user_ns;
    total->system_ns += part->system_ns;
}

/* Adds a batch's note to its epoch and its worker. */
static void
settle_note(struct bench_run *run, const struct pack_procs_item *item,
            uint64_t wait_begin_ns)
{
    const struct bench_note *note = item->note;
    struct pack_bench_epoch *e = &run->result->epochs[item->round];
    struct bench_tally *tally = &run->tally[item->round * run->n_lanes + item->worker];
    uint64_t now = pack_clock_ns();
    e->n_batches++;
    e->n_samples += note->n_samples;
    e->wait_ns += now - wait_begin_ns;
    pack_bench_work_add(&e->work, &note->work);
    if (run->plan.params.workers.n > 0)
        pack_bench_usage_add(&run->result->cpu.workers[item->worker], &note->usage);
    tally->n_batches++;
    tally->file_reads += note->work.read.file_reads;
    tally->file_read_bytes += note->work.read.file_read_bytes;
    tally->with_reads += note->work.with.file_reads;
    tally->with_bytes += note->work.with.file_read_bytes;
    if (run->threads)
        pack_bench_threads_count(note, e);
    run->n_batches++;
    run->n_samples += note->n_samples;
    run->n_bytes += note->n_samples * run->plan.stride_bytes;
    run->live_requests += note->work.read.requests;
    run->live_loads += note->work.read.file_reads;
    pack_bench_record_batch(run->result, run->start_ns, item, wait_begin_ns, now);
}

/* A fresh permutation for each use of a batch but the first. */
static void
permute(struct bench_run *run, uint64_t n, const struct pack_procs_item *item,
        uint64_t use)
{
    struct pack_rng rng;
    uint64_t batch = pack_rng_mix(item->round, item->number);
    pack_rng_seed(&rng, pack_rng_mix(run->plan.pattern.seed, pack_rng_mix(batch, use)));
    for (uint64_t i = 0; i < n; i++)
        run->indices[i] = (uint32_t)i;
    for (uint64_t i = n; use > 0 && i > 1; i--) {
        uint64_t j = pack_rng_below(&rng, i);
        uint32_t other = run->indices[j];
        run->indices[j] = run->indices[i - 1];
        run->indices[i - 1] = other;
    }
}

/* Hands one batch to the consumer, as often and in as many parts as asked. */
static enum pack_status
consume(struct bench_run *run, const struct pack_procs_item *item, struct pack_error *err)
{
    const struct pack_bench_params *p = &run->plan.params;
    const struct bench_note *note = item->note;
    struct pack_batch batch = { .data = item->data,
                                .n_samples = note->n_samples,
                                .round = item->round,
                                .number = item->number,
                                .ready_ns = note->end_ns,
                                .is_buffer = run->threads &&
                                             pack_consumer_buffers(run->consumer).allocate };
    enum pack_status status = PACK_OK;
    if (batch.n_samples == 0) /* all skipped */
        return PACK_OK;
    for (uint64_t use = 0; use < p->consumer.echo && status == PACK_OK; use++) {
        if (!p->consumer.echo_split || batch.n_samples < 2) {
            status = pack_consumer_take(run->consumer, &batch, err);
            batch.again = true;
            continue;
        }
        permute(run, batch.n_samples, item, use);
        batch.indices = run->indices;
        batch.n_indices = batch.n_samples / 2;
        status = pack_consumer_take(run->consumer, &batch, err);
        batch.again = true;
        batch.indices += batch.n_indices;
        batch.n_indices = batch.n_samples - batch.n_indices;
        if (status == PACK_OK)
            status = pack_consumer_take(run->consumer, &batch, err);
    }
    return status;
}

/* The pages of a batch in fresh memory are mapped one by one, when its reader first looks
 * at them: this is that look. */
static void
touch(const struct bench_run *run, const struct pack_procs_item *item)
{
    const struct bench_note *note = item->note;
    const volatile unsigned char *data = item->data;
    uint64_t bytes = note->n_samples * run->plan.stride_bytes;
    for (uint64_t at = 0; run->plan.params.hand_over.torch && at < bytes; at += 4096)
        (void)data[at];
}

static void
tell_progress(struct bench_run *run)
{
    const struct pack_bench_params *p = &run->plan.params;
    const struct pack_bench_steps *s = &run->result->steps;
    char hits[32] = "", note[64];
    if (!p->watch.progress)
        return;
    uint64_t known = s->busy_ns + s->starved_ns, total = 0;
    if (!p->stop.after_ns &&
        pack_size_mul(run->plan.epoch_batches, p->stop.epochs, &total) &&
        p->stop.batches && total > p->stop.batches)
        total = p->stop.batches;
    if (run->result->setup.has_cache && run->live_requests)
        snprintf(hits, sizeof hits, "hits %.0f %%  ",
                 100 - 100 * (double)run->live_loads / (double)run->live_requests);
    snprintf(note, sizeof note, "%sbusy %.0f %%", hits,
             known ? 100 * (double)s->busy_ns / (double)known : 0);
    pack_watch_tell(&p->watch, &(struct pack_progress){ .stage = "reading",
                                                        .unit = "batches",
                                                        .done = run->n_batches,
                                                        .total = total,
                                                        .bytes = run->n_bytes,
                                                        .note = note });
}

enum pack_status
pack_bench_batch(struct bench_run *run, struct pack_error *err)
{
    struct pack_procs_item item;
    uint64_t begin_ns = pack_clock_ns();
    enum pack_status status = run->threads
                                  ? pack_bench_threads_next(run->threads, &item, err)
                                  : pack_procs_next(run->procs, &item, err);
    if (status != PACK_OK)
        return status;
    touch(run, &item);
    settle_note(run, &item, begin_ns);
    begin_ns = pack_clock_ns();
    status = consume(run, &item, err);
    pack_bench_record_take(run->result, run->start_ns, item.number, begin_ns,
                           pack_clock_ns());
    if (run->procs)
        pack_procs_release(run->procs, &item);
    tell_progress(run);
    return status;
}
