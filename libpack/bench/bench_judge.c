/*
 * The verdict. What the consumer waited for is either the bus, or batches; what batches
 * wait for is the largest part of the readers' time. The cause is that which causes.h
 * finds in the run's counts.
 */
#include <stdio.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/findings/causes.h"

const char *
pack_limit_name(enum pack_limit limit)
{
    static const char *const names[] = {
        [PACK_LIMIT_CONSUMER] = "consumer",
        [PACK_LIMIT_STORAGE] = "storage",
        [PACK_LIMIT_DECODE] = "decode",
        [PACK_LIMIT_ASSEMBLY] = "CPU assembly",
        [PACK_LIMIT_CALLS] = "HDF5 call overhead",
        [PACK_LIMIT_BUS] = "PCIe",
        [PACK_LIMIT_PAGE_CACHE] = "page cache",
        [PACK_LIMIT_FILE_READS] = "file reads",
        [PACK_LIMIT_REOPEN] = "opening the dataset",
        [PACK_LIMIT_DELAY] = "the delay asked for",
        [PACK_LIMIT_COLLATE] = "copying into batches",
        [PACK_LIMIT_INTERPRETER] = "the interpreter",
        [PACK_LIMIT_UNKNOWN] = "unknown",
    };
    return names[limit];
}

static uint64_t
minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

enum pack_limit
pack_bench_file_reads(const struct pack_bench_result *r)
{
    uint64_t ns[] = { [PACK_ORIGIN_UNKNOWN] = 0,
                      [PACK_ORIGIN_MEMORY] = 0,
                      [PACK_ORIGIN_STORAGE] = 0 };
    for (uint64_t i = 0; i < r->n_epochs; i++) {
        const struct pack_bench_epoch *e = &r->epochs[i];
        ns[pack_bench_origin(e)] += e->work.read.storage_ns + e->work.read.metadata_ns +
                                    e->work.with.storage_ns + e->work.with.metadata_ns;
    }
    if (ns[PACK_ORIGIN_STORAGE] >= ns[PACK_ORIGIN_MEMORY] &&
        ns[PACK_ORIGIN_STORAGE] >= ns[PACK_ORIGIN_UNKNOWN])
        return PACK_LIMIT_STORAGE;
    return ns[PACK_ORIGIN_MEMORY] >= ns[PACK_ORIGIN_UNKNOWN] ? PACK_LIMIT_PAGE_CACHE
                                                             : PACK_LIMIT_FILE_READS;
}

/* Of the readers' working time: the stage that takes most of it. */
static enum pack_limit
largest_stage(const struct pack_bench_result *r)
{
    const struct pack_bench_epoch *t = &r->total;
    const struct pack_read_cost *a = &t->work.read, *b = &t->work.with;
    const struct {
        enum pack_limit limit;
        uint64_t ns;
    } stages[] = {
        { pack_bench_file_reads(r),
          a->storage_ns + b->storage_ns + a->metadata_ns + b->metadata_ns },
        { PACK_LIMIT_DECODE, a->decode_ns + b->decode_ns },
        { PACK_LIMIT_CALLS, a->overhead_ns + b->overhead_ns },
        { PACK_LIMIT_REOPEN, a->reopen_ns + b->reopen_ns },
        { r->setup.threads.n ? PACK_LIMIT_COLLATE : PACK_LIMIT_ASSEMBLY,
          minus(t->work.total_ns, a->call_ns + b->call_ns + t->work.delay_ns +
                                      t->work.collate_ns + t->work.interpret_ns) },
        { PACK_LIMIT_DELAY, t->work.delay_ns },
        { PACK_LIMIT_COLLATE, t->work.collate_ns },
        { PACK_LIMIT_INTERPRETER, t->work.interpret_ns },
    };
    size_t largest = 0;
    for (size_t i = 1; i < sizeof stages / sizeof *stages; i++)
        if (stages[i].ns > stages[largest].ns)
            largest = i;
    return stages[largest].limit;
}

static enum pack_limit
limit_of(const struct pack_bench_result *r)
{
    const struct pack_bench_steps *s = &r->steps;
    bool consumes = strcmp(r->setup.consumer, "null") != 0;
    if (consumes && s->n_steps > 1 && s->busy_rate >= 0.98)
        return PACK_LIMIT_CONSUMER;
    if (s->starved_ns > 0 && s->copy_wait_ns > s->starved_ns / 2)
        return PACK_LIMIT_BUS;
    return largest_stage(r);
}

/* Chunks times their bytes, over those of the data. */
static double
stored_factor(const struct pack_grid *grid)
{
    double factor = 1;
    for (int i = 0; i < grid->rank; i++)
        factor *= (double)grid->n_chunks[i] * (double)grid->chunk[i] /
                  (double)grid->extent[i];
    return factor;
}

/* What one sample wants; without a box, all of it. */
static double
read_bytes(const struct pack_readset *set, const struct pack_shape *box, bool *is_whole)
{
    double bytes = (double)set->elem_size;
    *is_whole = box->rank == 0 || box->extent[0] <= 1;
    for (int i = box->rank ? 0 : 1; i < set->extent.rank; i++) {
        const struct pack_shape *of = box->rank ? box : &set->extent;
        bytes *= (double)of->extent[i];
        *is_whole = *is_whole && (i == 0 || of->extent[i] == set->extent.extent[i]);
    }
    return bytes;
}

static double
chunks_of(const struct pack_readset *set)
{
    double n = 0;
    for (size_t i = 0; i < set->n_parts; i++)
        n += (double)set->parts[i].data->chunks.grid.n_chunks_total;
    return n;
}

/* Of all workers and epochs together. */
static void
cause_facts(const struct bench_plan *plan, const struct pack_bench_result *r,
            struct pack_cause_facts *f)
{
    const struct pack_readset *set = plan->params.set;
    const struct pack_bench_epoch *t = &r->total;
    const struct pack_cache_counts *c = &t->expected.set;
    uint64_t workers = r->setup.n_workers ? r->setup.n_workers : 1;
    *f = (struct pack_cause_facts){
        .grid = set->parts[0].data->chunks.grid,
        .is_filtered = set->parts[0].data->facts.pipeline.n > 0,
        .cache = r->setup.cache,
        .reopens = plan->params.open.reopen,
        .workers = workers,
        .counts = *c,
        .n_samples = (double)t->n_samples,
        .amplification = pack_bench_amplification(t),
        .hit_rate = pack_bench_hit_rate(t),
        .stored_factor = stored_factor(&set->parts[0].data->chunks.grid),
        .peak_bytes = (double)c->peak_bytes / (double)workers / (double)r->n_epochs,
        .decodes_per_chunk =
            (double)c->decodes / (double)r->n_epochs / chunks_of(set),
    };
    f->read_bytes = read_bytes(set, &plan->params.pattern.box, &f->reads_whole_samples);
    if (t->n_samples)
        f->loads_per_sample = (double)c->file_reads / (double)t->n_samples;
    if (t->work.total_ns)
        f->decode_rate = (double)t->work.read.decode_ns / (double)t->work.total_ns;
}

/* Where something is lost, the sentence that h5advise has for it. */
static void
explain(const struct bench_plan *plan, struct pack_bench_result *r)
{
    const struct pack_readset *set = plan->params.set;
    struct pack_cause_facts facts;
    char text[PACK_CAUSE_TEXT_MAX];
    if (!set || r->setup.threads.n || !r->total.expected.is_known ||
        set->parts[0].data->chunks.grid.rank == 0)
        return; /* sources of a virtual dataset have a grid each */
    cause_facts(plan, r, &facts);
    if (pack_causes_find(&facts, text))
        snprintf(r->verdict.cause, sizeof r->verdict.cause, "%s", text);
}

void
pack_bench_judge(const struct bench_plan *plan, struct pack_bench_result *r)
{
    r->verdict.limit = r->total.n_batches ? limit_of(r) : PACK_LIMIT_UNKNOWN;
    explain(plan, r);
}
