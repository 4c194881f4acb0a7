/*
 * A table of rules. Each looks at the facts, and where its threshold is passed writes its
 * number, its price and its sentences; adding a rule is one function and one line.
 */
#include "libpack/findings/findings.h"

#include <math.h>
#include <stdio.h>

#include "libpack/base/numbers.h"
#include "libpack/findings/thresholds.h"
#include <libpack/shape.h>

#define SAY(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

static double
least(const struct pack_finding_facts *f, int code, const char *name)
{
    return pack_threshold(f->thresholds, code, name);
}

/* Seconds that an epoch takes longer at the slower of two rates. */
static double
seconds_lost(const struct pack_finding_facts *f, double slow, double fast)
{
    return slow > 0 && fast > slow ? f->epoch_samples * (1 / slow - 1 / fast) : 0;
}

/* Bytes that all workers read in an epoch beyond those wanted. */
static double
bytes_in_vain(const struct pack_finding_facts *f)
{
    double more = (double)f->counts.file_read_bytes - (double)f->counts.wanted_bytes;
    return f->n_samples > 0 ? fmax(0, more) / f->n_samples * f->epoch_samples : 0;
}

static bool
missing_filter(const struct pack_finding_facts *f, struct pack_finding *out)
{
    if (f->missing_filter == 0)
        return false;
    out->value = f->missing_filter;
    SAY(out->evidence,
        "the dataset %s; without it nothing could be decoded here: counts hold, times of "
        "decoding and what other codecs would save are assumed",
        f->need ? f->need : "needs a filter that is missing here");
    return true;
}

static bool
bypass_cliff(const struct pack_finding_facts *f, struct pack_finding *out)
{
    struct pack_cache_params old, new;
    char chunk[PACK_BYTES_TEXT_MAX];
    pack_cache_params_defaults(&old, PACK_HDF5_1_10);
    pack_cache_params_defaults(&new, PACK_HDF5_2_0);
    if (f->grid.rank == 0 || f->is_filtered || f->grid.chunk_bytes <= old.size_bytes ||
        f->grid.chunk_bytes > new.size_bytes || f->rate_default_2 <= 0 ||
        f->rate_default_1 < least(f, 201, "factor") * f->rate_default_2)
        return false;
    out->value = f->rate_default_1 / f->rate_default_2;
    out->price_s = seconds_lost(f, f->rate_default_2, f->rate_default_1);
    SAY(out->evidence,
        "bypass cliff: chunks of %s pass the 1 MiB default cache of HDF5 1.x, which reads "
        "just what is wanted, but fit the 8 MiB of HDF5 2.0, which then reads whole "
        "chunks: %s times slower after the upgrade",
        pack_bytes_format(f->grid.chunk_bytes, chunk), pack_figure(out->value).text);
    SAY(out->remedy, "set rdcc_nbytes=1048576");
    return true;
}

static bool
w0_one(const struct pack_finding_facts *f, struct pack_finding *out)
{
    char peak[PACK_BYTES_TEXT_MAX], size[PACK_BYTES_TEXT_MAX];
    if (f->grid.rank == 0 || f->cache.w0 < 1 ||
        f->peak_bytes <= least(f, 202, "factor") * (double)f->cache.size_bytes)
        return false;
    out->value = f->peak_bytes;
    out->price_bytes = (f->peak_bytes - (double)f->cache.size_bytes) * (double)f->workers;
    SAY(out->evidence,
        "rdcc_w0 = 1 evicts only chunks that were read completely; in this order the "
        "cache of each worker grows to %s, %s times the %s it was given",
        pack_bytes_format((uint64_t)f->peak_bytes, peak),
        pack_figure(f->peak_bytes / (double)f->cache.size_bytes).text,
        pack_bytes_format(f->cache.size_bytes, size));
    SAY(out->remedy, "any w0 below 1 keeps to it");
    return true;
}

static bool
overhang(const struct pack_finding_facts *f, struct pack_finding *out)
{
    const struct pack_grid *g = &f->grid;
    double factor = 1, worst = 1, stored = (double)g->n_chunks_total;
    int axis = 0;
    for (int i = 0; i < g->rank; i++) {
        double k = (double)g->n_chunks[i] * (double)g->chunk[i] / (double)g->extent[i];
        factor *= k;
        if (k > worst) {
            worst = k;
            axis = i;
        }
    }
    if (g->rank == 0 || factor <= 1 || factor < least(f, 102, "factor"))
        return false;
    out->value = factor;
    if (!f->is_compressed) /* what padding takes there is not known, and mostly little */
        out->price_bytes = stored * (double)g->chunk_bytes * (1 - 1 / factor);
    SAY(out->evidence,
        "chunk overhang: %llu does not divide %llu along axis %d, so that the last of "
        "%s there holds %llu of its %llu; %s %s times the bytes of %s data",
        (unsigned long long)g->chunk[axis], (unsigned long long)g->extent[axis], axis,
        pack_counted(g->n_chunks[axis], "chunk", "chunks").text,
        (unsigned long long)((g->extent[axis] - 1) % g->chunk[axis] + 1),
        (unsigned long long)g->chunk[axis],
        f->is_compressed ? "its chunks decode to" : "the file takes",
        pack_figure(factor).text, f->is_compressed ? "the" : "its");
    return true;
}

static bool
cut_samples(const struct pack_finding_facts *f, struct pack_finding *out)
{
    double n = f->n_samples > 0 ? (double)f->counts.requests / f->n_samples : 0;
    if (f->grid.rank == 0 || !f->reads_whole_samples || n <= 1 ||
        n < least(f, 103, "chunks"))
        return false;
    out->value = n;
    out->price_bytes = bytes_in_vain(f);
    SAY(out->evidence, "chunks cut through samples: each one is gathered from %s chunks",
        pack_figure(n).text);
    return true;
}

static bool
collisions(const struct pack_finding_facts *f, struct pack_finding *out)
{
    const struct pack_cache_counts *c = &f->counts;
    /* chunks that were never written are not loaded, and push others out as well */
    double loads = fmax((double)c->loads, (double)c->evictions_collision);
    if (f->grid.rank == 0 || c->evictions_collision == 0 ||
        (double)c->evictions_collision < least(f, 203, "rate") * loads ||
        f->enough_slots <= f->cache.n_slots || f->rate_enough <= f->rate_today ||
        f->rate_enough < least(f, 203, "factor") * f->rate_today)
        return false;
    out->value = (double)c->evictions_collision / loads;
    out->price_bytes = fmax(0, f->read_today - f->read_enough) * f->epoch_samples;
    out->price_s = seconds_lost(f, f->rate_today, f->rate_enough);
    SAY(out->evidence,
        "slot collisions: %.3g %% of the loads push out a chunk that shares the slot "
        "while bytes are free: reads would be %s times as fast without",
        100 * out->value, pack_figure(f->rate_enough / f->rate_today).text);
    SAY(out->remedy, "rdcc_nslots=%llu instead of %llu avoids it",
        (unsigned long long)f->enough_slots, (unsigned long long)f->cache.n_slots);
    return true;
}

static bool
shared_pool(const struct pack_finding_facts *f, struct pack_finding *out)
{
    if (f->grid.rank == 0 || !f->is_shared_block || f->workers < 2)
        return false;
    double ideal = f->n_samples / (double)f->grid.chunk[0];
    double loads = (double)f->counts.loads;
    if (ideal <= 0 || loads < least(f, 301, "factor") * ideal)
        return false;
    out->value = loads / ideal;
    out->price_bytes = bytes_in_vain(f);
    SAY(out->evidence,
        "block shuffle with %llu workers: batches are dealt to all of them, so that each "
        "chunk is loaded %s times",
        (unsigned long long)f->workers, pack_figure(out->value).text);
    SAY(out->remedy,
        "one worker, or a worker-local block shuffle (block:chunks=N,local), loads it once");
    return true;
}

static bool
reopening(const struct pack_finding_facts *f, struct pack_finding *out)
{
    if (f->grid.rank == 0 || f->rate_reopened <= 0 ||
        f->rate_kept < 1.25 * f->rate_reopened)
        return false;
    out->value = f->rate_kept / f->rate_reopened;
    out->price_s = seconds_lost(f, f->rate_reopened, f->rate_kept);
    SAY(out->evidence,
        "opening the dataset by name at each read (f['images'][i]) empties its cache each "
        "time: %s times slower",
        pack_figure(out->value).text);
    SAY(out->remedy, "keep the dataset object");
    return true;
}

static bool
scattered_batch(const struct pack_finding_facts *f, struct pack_finding *out)
{
    if (f->rate_joined <= 0 ||
        f->rate_apart < least(f, 303, "factor") * f->rate_joined)
        return false;
    out->value = f->rate_apart / f->rate_joined;
    out->price_s = seconds_lost(f, f->rate_joined, f->rate_apart);
    if (f->grid.rank == 0)
        SAY(out->evidence,
            "scattered samples in one read: HDF5 goes through the %.0f runs along the last "
            "axis of a read one by one, though they lie behind one another: %s times "
            "slower than a read for each sample",
            f->joined_elems, pack_figure(out->value).text);
    else
        SAY(out->evidence,
            "scattered samples in one read: their places in the file and in memory differ "
            "in shape, so that HDF5 looks at each of the %.0f elements of a read by itself: "
            "%s times slower than a read for each sample",
            f->joined_elems, pack_figure(out->value).text);
    SAY(out->remedy, "read each sample by itself, or, where a batch lies close together, "
                     "the span that holds it");
    return true;
}

static bool
memory_times_workers(const struct pack_finding_facts *f, struct pack_finding *out)
{
    char all[PACK_BYTES_TEXT_MAX], each[PACK_BYTES_TEXT_MAX], budget[PACK_BYTES_TEXT_MAX];
    if (f->workers < 2 || f->allowed_bytes <= 0 ||
        f->memory_bytes < 0.5 * f->allowed_bytes)
        return false;
    out->value = out->price_bytes = f->memory_bytes;
    SAY(out->evidence,
        "memory: each of %llu workers has a cache of its own, %s each and %s in all, of "
        "the %s allowed",
        (unsigned long long)f->workers,
        pack_bytes_format((uint64_t)(f->memory_bytes / (double)f->workers), each),
        pack_bytes_format((uint64_t)f->memory_bytes, all),
        pack_bytes_format((uint64_t)f->allowed_bytes, budget));
    return true;
}

static const struct {
    int code;
    const char *id;
    enum pack_finding_severity severity;
    bool (*find)(const struct pack_finding_facts *facts, struct pack_finding *out);
} rules[] = {
    { 101, "missing-filter", PACK_FINDING_HAZARD, missing_filter },
    { 201, "bypass-cliff", PACK_FINDING_HAZARD, bypass_cliff },
    { 202, "w0-one", PACK_FINDING_HAZARD, w0_one },
    { 102, "chunk-overhang", PACK_FINDING_COST, overhang },
    { 103, "cut-samples", PACK_FINDING_COST, cut_samples },
    { 203, "slot-collisions", PACK_FINDING_COST, collisions },
    { 301, "shared-pool", PACK_FINDING_COST, shared_pool },
    { 302, "reopening", PACK_FINDING_COST, reopening },
    { 303, "scattered-batch", PACK_FINDING_COST, scattered_batch },
    { 204, "memory-times-workers", PACK_FINDING_NOTE, memory_times_workers },
};

_Static_assert(sizeof rules / sizeof *rules <= PACK_FINDINGS_MAX,
               "callers have room for PACK_FINDINGS_MAX findings");

size_t
pack_findings_find(const struct pack_finding_facts *facts, struct pack_finding *findings,
                   size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && n < max; i++) {
        struct pack_finding found = { .code = rules[i].code,
                                      .id = rules[i].id,
                                      .severity = rules[i].severity };
        if (rules[i].find(facts, &found))
            findings[n++] = found;
    }
    return n;
}
