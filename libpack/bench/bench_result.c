/* Sums and figures of a finished run. */
#include <stdlib.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"

static void
add_epoch(struct pack_bench_epoch *total, const struct pack_bench_epoch *e)
{
    total->elapsed_ns += e->elapsed_ns;
    total->n_batches += e->n_batches;
    total->n_samples += e->n_samples;
    total->wait_ns += e->wait_ns;
    total->work_ns += e->work_ns;
    total->idle_ns += e->idle_ns;
    total->assemble_ns += e->assemble_ns;
    pack_read_cost_add(&total->read, &e->read);
    pack_read_cost_add(&total->with, &e->with);
    total->resident_bytes += e->resident_bytes;
    total->knows_storage |= e->knows_storage;
    total->storage_bytes += e->storage_bytes;
    total->has_counts |= e->has_counts;
    pack_cache_counts_add(&total->counts, &e->counts);
    pack_cache_counts_add(&total->with_counts, &e->with_counts);
}

void
pack_bench_finish(uint64_t step_ns, uint64_t first_end_ns, uint64_t last_end_ns,
                  struct pack_bench_result *result)
{
    struct pack_bench_steps *s = &result->steps;
    bool computes = strcmp(result->consumer, "emulated") == 0 ||
                    strcmp(result->consumer, "cuda") == 0;
    for (uint64_t i = 0; i < result->n_epochs; i++)
        add_epoch(&result->total, &result->epochs[i]);
    s->au = -1;
    if (s->n_steps < 2 || last_end_ns <= first_end_ns)
        return;
    s->total_ns = last_end_ns - first_end_ns;
    s->busy_rate = (double)s->busy_ns / (double)s->total_ns;
    if (s->busy_rate > 1)
        s->busy_rate = 1;
    if (computes && step_ns)
        s->au = (double)(s->n_steps - 1) * (double)step_ns / (double)s->total_ns;
}

void
pack_bench_done(struct pack_bench_result *result)
{
    free(result->epochs);
    free(result->usage);
    free(result->events);
    *result = (struct pack_bench_result){ 0 };
}

/* ------------------------------------------------------------------ figures */

double
pack_bench_rate(const struct pack_bench_result *result)
{
    return result->elapsed_ns
               ? (double)result->total.n_samples * 1e9 / (double)result->elapsed_ns
               : 0;
}

double
pack_bench_hit_rate(const struct pack_bench_epoch *epoch)
{
    return epoch->has_counts && epoch->counts.requests
               ? (double)epoch->counts.hits / (double)epoch->counts.requests
               : -1;
}

double
pack_bench_amplification(const struct pack_bench_epoch *epoch)
{
    return epoch->read.wanted_bytes
               ? (double)epoch->read.file_read_bytes / (double)epoch->read.wanted_bytes
               : 0;
}

uint64_t
pack_bench_echo_for(const struct pack_bench_result *result, double target)
{
    const struct pack_bench_steps *s = &result->steps;
    if (s->n_steps < 2 || s->busy_ns == 0 || target >= 1)
        return 0;
    /* per fresh batch: `busy` of each use, and the time in which the readers make one */
    double uses = (double)result->echo;
    double batches = (double)s->n_steps / uses;
    double busy_ns = (double)s->busy_ns / (double)(s->n_steps - 1);
    double cycle_ns = (double)s->total_ns / batches;
    double echo = target * cycle_ns / busy_ns;
    uint64_t whole = (uint64_t)echo;
    return whole + ((double)whole < echo) > 1 ? whole + ((double)whole < echo) : 1;
}
