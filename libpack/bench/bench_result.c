/* Sums and figures of a finished run. */
#include <math.h>
#include <stdlib.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/large.h"

void
pack_bench_work_add(struct pack_bench_work *total, const struct pack_bench_work *part)
{
    total->total_ns += part->total_ns;
    total->assemble_ns += part->assemble_ns;
    total->delay_ns += part->delay_ns;
    total->collate_ns += part->collate_ns;
    total->interpret_ns += part->interpret_ns;
    total->idle_ns += part->idle_ns;
    pack_read_cost_add(&total->read, &part->read);
    pack_read_cost_add(&total->with, &part->with);
    total->knows_storage |= part->knows_storage;
    total->storage_bytes += part->storage_bytes;
}

static void
add_epoch(struct pack_bench_epoch *total, const struct pack_bench_epoch *e)
{
    total->elapsed_ns += e->elapsed_ns;
    total->n_batches += e->n_batches;
    total->n_samples += e->n_samples;
    total->wait_ns += e->wait_ns;
    pack_bench_work_add(&total->work, &e->work);
    total->start_ns += e->start_ns;
    total->pages.drop_ns += e->pages.drop_ns;
    if (e->pages.cold && (!total->pages.cold || e->pages.cold < total->pages.cold))
        total->pages.cold = e->pages.cold; /* the least that is known of any */
    total->pages.resident_bytes += e->pages.resident_bytes;
    total->expected.is_known |= e->expected.is_known;
    pack_cache_counts_add(&total->expected.set, &e->expected.set);
    pack_cache_counts_add(&total->expected.with, &e->expected.with);
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
    pack_apart_free(result->epochs);
    free(result->cpu.workers);
    free(result->events.event);
    *result = (struct pack_bench_result){ 0 };
}

/* ------------------------------------------------------------------ figures */

uint64_t
pack_bench_lanes(const struct pack_bench_result *result)
{
    const struct pack_bench_setup *setup = &result->setup;
    return setup->threads.n == 0 && setup->n_workers > 0 ? setup->n_workers : 1;
}

enum pack_origin
pack_bench_origin(const struct pack_bench_epoch *e)
{
    uint64_t bytes = e->work.read.file_read_bytes + e->work.read.metadata_bytes +
                     e->work.with.file_read_bytes + e->work.with.metadata_bytes;
    /* what was seen to be gone must have come from storage, even where a file system does
     * not count what it fetches */
    bool gone =
        e->pages.cold == PACK_COLD_CHECKED && e->pages.resident_bytes < bytes / 20;
    if (gone || (e->work.knows_storage && e->work.storage_bytes * 20 >= bytes))
        return PACK_ORIGIN_STORAGE;
    return e->work.knows_storage ? PACK_ORIGIN_MEMORY : PACK_ORIGIN_UNKNOWN;
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
    return epoch->expected.is_known && epoch->expected.set.requests
               ? (double)epoch->expected.set.hits / (double)epoch->expected.set.requests
               : -1;
}

double
pack_bench_amplification(const struct pack_bench_epoch *epoch)
{
    return epoch->work.read.wanted_bytes ? (double)epoch->work.read.file_read_bytes /
                                               (double)epoch->work.read.wanted_bytes
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
    double echo = (double)result->setup.echo;
    if (s->n_steps < 2 || s->busy_ns == 0)
        return false;
    /* total_ns is that of all steps but the first */
    double batches = (double)(s->n_steps - 1) / ((double)s->n_steps /
                                                 (double)result->total.n_batches);
    uses->busy_ns = (double)s->busy_ns / batches / echo;
    uses->cycle_ns = (double)s->total_ns / batches;
    uses->read_ns = uses->cycle_ns;
    if (result->setup.n_workers == 0)
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
    if (result->setup.n_workers == 0)
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
    if (result->setup.n_workers > 0)
        cycle = work > uses.read_ns ? work : uses.read_ns;
    return (double)echo / cycle / ((double)result->setup.echo / uses.cycle_ns);
}
