/* Sums and figures of a finished run. */
#include <math.h>
#include <stdlib.h>

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
    total->delay_ns += e->delay_ns;
    total->collate_ns += e->collate_ns;
    total->interpret_ns += e->interpret_ns;
    total->start_ns += e->start_ns;
    total->drop_ns += e->drop_ns;
    if (e->cold && (!total->cold || e->cold < total->cold))
        total->cold = e->cold; /* one that is assumed makes all so */
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
pack_bench_finish(uint64_t total_ns, struct pack_bench_result *result)
{
    struct pack_bench_steps *s = &result->steps;
    for (uint64_t i = 0; i < result->n_epochs; i++)
        add_epoch(&result->total, &result->epochs[i]);
    s->au = -1;
    if (s->n_steps < 2 || total_ns == 0)
        return;
    s->total_ns = total_ns;
    s->busy_rate = (double)s->busy_ns / (double)s->total_ns;
    if (s->busy_rate > 1)
        s->busy_rate = 1;
    if (s->compute_ns)
        s->au = (double)s->compute_ns / (double)s->total_ns;
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

enum pack_origin
pack_bench_origin(const struct pack_bench_epoch *e)
{
    uint64_t bytes = e->read.file_read_bytes + e->read.metadata_bytes +
                     e->with.file_read_bytes + e->with.metadata_bytes;
    /* what was seen to be gone must have come from storage, even where a file system does
     * not count what it fetches */
    bool gone = e->cold == PACK_COLD_CHECKED && e->resident_bytes < bytes / 20;
    if (gone || (e->knows_storage && e->storage_bytes * 20 >= bytes))
        return PACK_ORIGIN_STORAGE;
    return e->knows_storage ? PACK_ORIGIN_MEMORY : PACK_ORIGIN_UNKNOWN;
}

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

/* Of one fresh batch, ns: the consumer's work on each use, all of its uses together with
 * what it waited for, and reading, as far as it shows. False: not known. */
struct uses {
    double busy_ns, cycle_ns, read_ns;
};

static bool
uses_of(const struct pack_bench_result *result, struct uses *uses)
{
    const struct pack_bench_steps *s = &result->steps;
    double echo = (double)result->echo;
    if (s->n_steps < 2 || s->busy_ns == 0)
        return false;
    /* total_ns is that of all steps but the first */
    double batches = (double)(s->n_steps - 1) / ((double)s->n_steps /
                                                 (double)result->total.n_batches);
    uses->busy_ns = (double)s->busy_ns / batches / echo;
    uses->cycle_ns = (double)s->total_ns / batches;
    uses->read_ns = uses->cycle_ns;
    if (result->n_workers == 0)
        uses->read_ns -= echo * uses->busy_ns;
    return true;
}

uint64_t
pack_bench_echo_for(const struct pack_bench_result *result, double target)
{
    struct uses uses;
    if (target >= 1 || !uses_of(result, &uses))
        return 0;
    double echo = target * uses.read_ns / uses.busy_ns;
    if (result->n_workers == 0)
        echo /= 1 - target;
    return echo > 1 ? (uint64_t)ceil(echo - 1e-9) : 1;
}

double
pack_bench_echo_gain(const struct pack_bench_result *result, uint64_t echo)
{
    struct uses uses;
    if (!uses_of(result, &uses))
        return 1;
    double work = (double)echo * uses.busy_ns, cycle = uses.read_ns + work;
    if (result->n_workers > 0)
        cycle = work > uses.read_ns ? work : uses.read_ns;
    return (double)echo / cycle / ((double)result->echo / uses.cycle_ns);
}
