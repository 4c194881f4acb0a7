/*
 * The verdict. What the consumer waited for is either the bus, or batches; what batches
 * wait for is the largest part of the readers' time. The cause is looked for among what
 * chunks and caches are known to do wrong, the most expensive first.
 */
#include <stdio.h>
#include <string.h>

#include "libpack/bench/bench_parts.h"
#include "libpack/base/numbers.h"

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
        ns[pack_bench_origin(e)] += e->read.storage_ns + e->read.metadata_ns +
                                    e->with.storage_ns + e->with.metadata_ns;
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
    const struct pack_read_cost *a = &t->read, *b = &t->with;
    const struct {
        enum pack_limit limit;
        uint64_t ns;
    } stages[] = {
        { pack_bench_file_reads(r),
          a->storage_ns + b->storage_ns + a->metadata_ns + b->metadata_ns },
        { PACK_LIMIT_DECODE, a->decode_ns + b->decode_ns },
        { PACK_LIMIT_CALLS, a->overhead_ns + b->overhead_ns },
        { PACK_LIMIT_REOPEN, a->reopen_ns + b->reopen_ns },
        { PACK_LIMIT_ASSEMBLY,
          minus(t->work_ns, a->call_ns + b->call_ns + t->delay_ns + t->collate_ns +
                                t->interpret_ns) },
        { PACK_LIMIT_DELAY, t->delay_ns },
        { PACK_LIMIT_COLLATE, t->collate_ns },
        { PACK_LIMIT_INTERPRETER, t->interpret_ns },
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
    bool consumes = strcmp(r->consumer, "null") != 0;
    if (consumes && s->n_steps > 1 && s->busy_rate >= 0.98)
        return PACK_LIMIT_CONSUMER;
    if (s->starved_ns > 0 && s->copy_wait_ns > s->starved_ns / 2)
        return PACK_LIMIT_BUS;
    return largest_stage(r);
}

/* How many samples one chunk holds, at least 1. */
static uint64_t
chunk_samples(const struct pack_grid *grid)
{
    return grid->chunk[0];
}

/* Chunks that a whole sample touches, and the least that chunks of this size could. */
static bool
cuts_samples(const struct pack_grid *grid, uint64_t *n)
{
    *n = 1;
    for (int i = 1; i < grid->rank; i++)
        *n *= grid->n_chunks[i];
    return *n > 1;
}

/* An axis that the chunk misses by a little: 217 of 218. */
static int
narrow_axis(const struct pack_grid *grid)
{
    for (int i = 1; i < grid->rank; i++) {
        uint64_t rest = grid->extent[i] % grid->chunk[i];
        if (rest > 0 && rest <= grid->chunk[i] / 8 && grid->n_chunks[i] == 2)
            return i;
    }
    return -1;
}

static char *
bytes(uint64_t n, char *text)
{
    return pack_bytes_format(n, text);
}

/* Chunks wide of several samples, loaded whole for one of them. */
static bool
explain_whole_loads(const struct pack_bench_result *r, const struct pack_grid *grid,
                    bool filtered, char *text)
{
    char chunk[PACK_BYTES_TEXT_MAX], cache[PACK_BYTES_TEXT_MAX];
    double factor = pack_bench_amplification(&r->total);
    const struct pack_cache_counts *c = &r->total.counts;
    uint64_t used = c->loads ? c->loads : 1;
    double visits = (double)c->requests / (double)used;
    if (c->requests == 0 || c->loads * 2 < c->requests || factor < 2)
        return false;
    bytes(grid->chunk_bytes, chunk);
    bytes(r->cache.size_bytes, cache);
    if (grid->chunk_bytes > r->cache.size_bytes || r->cache.n_slots == 0)
        snprintf(text, PACK_BENCH_TEXT_MAX,
                 "chunks of %s are larger than the cache of %s, so each read loads%s its "
                 "chunk anew: %.1f bytes read per byte wanted",
                 chunk, cache, filtered ? " and decodes" : "", factor);
    else
        snprintf(text, PACK_BENCH_TEXT_MAX,
                 "each load brings a chunk of %s (%s) of which %.1f are used "
                 "before the cache of %s drops it: %.1f bytes read per byte wanted%s",
                 pack_counted(chunk_samples(grid), "sample", "samples").text, chunk, visits,
                 cache, factor,
                 filtered ? ""
                          : "; with a cache smaller than a chunk HDF5 "
                            "would read only what is wanted");
    return true;
}

static bool
explain_narrow(const struct pack_bench_result *r, const struct pack_grid *grid,
               char *text)
{
    int axis = narrow_axis(grid);
    if (axis < 0 || r->total.counts.requests == 0)
        return false;
    snprintf(
        text, PACK_BENCH_TEXT_MAX,
        "chunks cover %llu of %llu along axis %d, so every sample has a second chunk "
        "that is nearly empty: %.1f bytes read per byte wanted",
        (unsigned long long)grid->chunk[axis], (unsigned long long)grid->extent[axis],
        axis, pack_bench_amplification(&r->total));
    return true;
}

static bool
explain_collisions(const struct pack_bench_result *r, char *text)
{
    const struct pack_cache_counts *c = &r->total.counts;
    if (c->loads == 0 || c->evictions_collision * 4 < c->loads)
        return false;
    snprintf(
        text, PACK_BENCH_TEXT_MAX,
        "%.0f %% of the loads pushed out a chunk that merely had the same slot: %llu "
        "slots are too few for this order",
        100.0 * (double)c->evictions_collision / (double)c->loads,
        (unsigned long long)r->cache.n_slots);
    return true;
}

static bool
explain_growth(const struct pack_bench_result *r, char *text)
{
    char peak[PACK_BYTES_TEXT_MAX], cache[PACK_BYTES_TEXT_MAX];
    uint64_t n = r->n_workers ? r->n_workers : 1;
    uint64_t each = r->total.counts.peak_bytes / n / (r->n_epochs ? r->n_epochs : 1);
    if (r->cache.w0 < 1 || each < 2 * r->cache.size_bytes)
        return false;
    snprintf(text, PACK_BENCH_TEXT_MAX,
             "w0 = 1 keeps chunks that were read in part whatever the limit says: the "
             "cache of %s grew to %s%s",
             bytes(r->cache.size_bytes, cache), bytes(each, peak),
             r->n_workers > 1 ? " in each worker" : "");
    return true;
}

static bool
explain_cut(const struct pack_grid *grid, char *text)
{
    uint64_t n;
    if (!cuts_samples(grid, &n))
        return false;
    snprintf(
        text, PACK_BENCH_TEXT_MAX,
        "one sample is cut into %llu chunks, each of which costs a look-up and, when "
        "it is not cached, a read",
        (unsigned long long)n);
    return true;
}

static void
explain(const struct bench_plan *plan, struct pack_bench_result *r)
{
    const struct pack_readset *set = plan->params.set;
    if (!set || !r->total.has_counts || set->parts[0].grid.rank == 0)
        return; /* sources of a virtual dataset have a grid each */
    const struct pack_grid *grid = &set->parts[0].grid;
    bool filtered = set->parts[0].facts.pipeline.n > 0;
    if (plan->params.reopen && grid->chunk[0] > 1)
        snprintf(r->cause, sizeof r->cause,
                 "the dataset is opened anew for each read, so nothing is ever cached");
    else if (explain_growth(r, r->cause) || explain_narrow(r, grid, r->cause) ||
             explain_collisions(r, r->cause) ||
             explain_whole_loads(r, grid, filtered, r->cause) ||
             explain_cut(grid, r->cause))
        return;
    else if (filtered && r->limit == PACK_LIMIT_DECODE)
        snprintf(r->cause, sizeof r->cause, "every chunk is decoded %.2f times an epoch",
                 (double)r->total.counts.decodes / (double)r->n_epochs /
                     (double)grid->n_chunks_total);
}

void
pack_bench_judge(const struct bench_plan *plan, struct pack_bench_result *r)
{
    r->limit = limit_of(r);
    explain(plan, r);
}
