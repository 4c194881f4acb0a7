/*
 * What HDF5 itself costs, as differences between reads of small datasets. Each term is
 * the time of a read that has it, less all terms known before:
 *
 *     call    one small cached chunk, again and again
 *     far     cached chunks at random among many
 *     miss    chunks at random through a cache of 8
 *     chunk   64 cached chunks in one box
 *     box     16 bytes of each of 64 cached chunks in 64 boxes
 *     elem    whole chunks in such boxes, less the same; axis: with four dimensions
 *     run     a box of many short runs in one cached chunk
 *     piece   the same past the cache, less that
 *     walk    partly read chunks in caches of 500 and of 8000: w0 = 0.75 less w0 = 0,
 *             by the steps that the simulator counts
 *     open    opening by name with few slots, and with many
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/model/profile_terms.h"
#include <libpack/cachesim.h>
#include "libpack/advise/calibrate_parts.h"
#include "libpack/base/clock.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/model/cost.h"

enum { SAMPLE = 1024, PAIR = 512, SIDE = 256, MANY = 64, SLIVER = 16 };

static void
fill_any(void *context, uint64_t first, uint64_t n, void *out)
{
    const struct pack_probe_layout *layout = context;
    unsigned char *bytes = out;
    uint64_t size = n;
    for (int i = 1; i < layout->extent.rank; i++)
        size *= layout->extent.extent[i];
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((first + i) * 37 >> 3);
}

/* A series of reads to time. */
struct series {
    struct pack_box boxes[MANY];
    size_t n_boxes;
    uint64_t range; /* box 0 starts at a random index below this; 0: it stays */
    int n;          /* reads per round */
};

static enum pack_status
read_series(struct pack_lab *lab, struct pack_probe *probe, struct series *s, double *ns,
            struct pack_error *err)
{
    enum pack_status status = pack_watch_check(&lab->params->watch, err);
    uint64_t start = pack_clock_cpu_ns();
    for (int i = 0; status == PACK_OK && i < s->n; i++) {
        if (s->range)
            s->boxes[0].start[0] = pack_rng_below(&lab->rng, s->range);
        status = pack_probe_read(probe, s->boxes, s->n_boxes, lab->buffer, err);
    }
    *ns = (double)(pack_clock_cpu_ns() - start) / s->n;
    return status;
}

/* Its slots do not collide. */
static struct pack_cache_params
cache_of(uint64_t bytes)
{
    return (struct pack_cache_params){ 1000003, bytes, 0.75, PACK_HDF5_1_10 };
}

static enum pack_status
time_series(struct pack_lab *lab, struct series *s, struct pack_cache_params cache,
            int n_warm, double *ns, struct pack_error *err)
{
    struct pack_probe *probe = NULL;
    double times[PACK_LAB_ROUNDS], ignored;
    enum pack_status status = pack_probe_open(lab->path, &cache, NULL, &probe, err);
    for (int i = 0; status == PACK_OK && i < n_warm; i++)
        status = read_series(lab, probe, s, &ignored, err);
    for (size_t i = 0; status == PACK_OK && i < lab->n_rounds; i++)
        status = read_series(lab, probe, s, &times[i], err);
    pack_probe_close(probe);
    if (status == PACK_OK)
        *ns = pack_lab_fastest(times, lab->n_rounds);
    return status;
}

static struct series
one_box(uint64_t n0, uint64_t n1, uint64_t range, int n)
{
    return (struct series){ .boxes = { { .rank = 2, .count = { n0, n1 } } },
                            .n_boxes = 1,
                            .range = range,
                            .n = n };
}

/* 64 boxes of every other sample: `n` elements along the last axis, the others whole. */
static struct series
boxes_apart(const struct pack_shape *extent, uint64_t n, int n_reads)
{
    struct series s = { .n_boxes = MANY, .n = n_reads };
    for (uint64_t i = 0; i < MANY; i++) {
        struct pack_box *box = &s.boxes[i];
        *box = (struct pack_box){ .rank = extent->rank, .start = { 2 * i } };
        memcpy(box->count, extent->extent, sizeof box->count);
        box->count[0] = 1;
        box->count[box->rank - 1] = n;
    }
    return s;
}

/* box, elem: boxes of few elements and of many; the dataset is that of pack_lab_calls. */
static enum pack_status
measure_boxes(struct pack_lab *lab, const struct pack_shape *extent, struct pack_error *err)
{
    struct pack_profile *p = lab->profile;
    struct series slivers = boxes_apart(extent, SLIVER, 100),
                  whole = boxes_apart(extent, SAMPLE, 10);
    double few = 0, many = 0, near = pack_profile_at(&p->copy, SAMPLE);
    enum pack_status status = time_series(lab, &slivers, cache_of(1 << 20), 1, &few, err);
    if (status == PACK_OK)
        status = time_series(lab, &whole, cache_of(1 << 20), 1, &many, err);
    p->elem_ns = pack_lab_positive((many - few) / MANY / (SAMPLE - SLIVER) - near);
    p->box_ns = pack_lab_positive((few - p->call_ns - MANY * SLIVER * p->elem_ns) /
                                      (MANY - 1) - p->chunk_ns);
    return status;
}

/* elem_axis: the same samples with four dimensions. */
static enum pack_status
measure_axes(struct pack_lab *lab, struct pack_error *err)
{
    struct pack_profile *p = lab->profile;
    struct pack_probe_layout layout = { .extent = { 4, { 2 * MANY, 8, 8, SLIVER } },
                                        .chunk = { 4, { 1, 8, 8, SLIVER } } };
    struct series whole = boxes_apart(&layout.extent, SLIVER, 10);
    double t = 0, known = p->call_ns + (MANY - 1) * (p->chunk_ns + p->box_ns) +
                          MANY * SAMPLE * pack_profile_at(&p->copy, SAMPLE);
    enum pack_status status =
        pack_probe_create(lab->path, &layout, fill_any, &layout, err);
    if (status == PACK_OK)
        status = time_series(lab, &whole, cache_of(1 << 20), 1, &t, err);
    p->elem_axis_ns =
        pack_lab_positive(((t - known) / MANY / SAMPLE - p->elem_ns) / 2);
    return status;
}

/* call, far, miss, chunk, box, elem: single samples of 1 KiB, a chunk each. */
enum pack_status
pack_lab_calls(struct pack_lab *lab, struct pack_error *err)
{
    const uint64_t n_samples = lab->n_chunks;
    struct pack_profile *p = lab->profile;
    struct pack_probe_layout layout = { .extent = { 2, { n_samples, SAMPLE } },
                                        .chunk = { 2, { 1, SAMPLE } } };
    struct series same = one_box(1, SAMPLE, 0, 4000),
                  random = one_box(1, SAMPLE, n_samples, (int)n_samples),
                  few = one_box(1, SAMPLE, n_samples, 4000),
                  many = one_box(MANY, SAMPLE, 0, 400);
    double near_copy = SAMPLE * pack_profile_at(&p->copy, SAMPLE), t = 0;
    const uint64_t all = (uint64_t)n_samples * SAMPLE;
    enum pack_status status =
        pack_probe_create(lab->path, &layout, fill_any, &layout, err);
    if (status == PACK_OK)
        status = time_series(lab, &same, cache_of(1 << 20), 1, &t, err);
    p->call_ns = pack_lab_positive(t - near_copy);
    if (status == PACK_OK)
        status = time_series(lab, &random, cache_of(all), 4, &t, err);
    t -= p->call_ns + SAMPLE * pack_profile_at(&p->copy, (double)all);
    p->far_ns = pack_lab_positive(t / pack_cost_far_part((double)all));
    if (status == PACK_OK)
        status = time_series(lab, &few, cache_of(8 * SAMPLE), 2, &t, err);
    p->miss_ns =
        pack_lab_positive(t - p->call_ns - near_copy - pack_profile_at(&p->page, SAMPLE));
    if (status == PACK_OK)
        status = time_series(lab, &many, cache_of(1 << 20), 1, &t, err);
    p->chunk_ns = pack_lab_positive((t - p->call_ns) / (MANY - 1) - near_copy);
    if (status == PACK_OK)
        status = measure_boxes(lab, &layout.extent, err);
    return status == PACK_OK ? measure_axes(lab, err) : status;
}

/* run: half the side of a plane, so that each row is a run. */
static enum pack_status
measure_runs(struct pack_lab *lab, struct pack_error *err)
{
    struct pack_profile *p = lab->profile;
    struct pack_probe_layout layout = { .extent = { 2, { SIDE, SIDE } },
                                        .chunk = { 2, { SIDE, SIDE } } };
    struct series rows = one_box(SIDE / 2, SIDE / 2, 0, 2000);
    double t = 0;
    enum pack_status status =
        pack_probe_create(lab->path, &layout, fill_any, &layout, err);
    if (status == PACK_OK)
        status = time_series(lab, &rows, cache_of(1 << 20), 1, &t, err);
    t -= p->call_ns + SIDE / 2 * SIDE / 2 * pack_profile_at(&p->copy, SIDE * SIDE);
    p->run_ns = pack_lab_positive(t / (SIDE / 2 - 1));
    if (status == PACK_OK)
        status = time_series(lab, &rows, cache_of(0), 1, &t, err);
    t -= p->call_ns + p->miss_ns + pack_profile_at(&p->page, SIDE / 2 * SIDE / 2);
    p->piece_ns = pack_lab_positive(t / (SIDE / 2 - 1) - p->run_ns);
    return status;
}

/* Eviction steps per read of a series like time_series's, by simulation. */
static enum pack_status
count_steps(const struct pack_probe_layout *layout, struct pack_cache_params cache,
            uint64_t seed, double *steps, struct pack_error *err)
{
    enum { READS = 40000 };
    struct pack_grid grid;
    struct pack_cachesim *sim = NULL;
    struct pack_cache_counts counts;
    struct pack_rng rng;
    struct pack_cachesim_params params = { .cache = cache };
    pack_rng_seed(&rng, seed);
    enum pack_status status =
        pack_grid_init(&grid, &layout->extent, &layout->chunk, 1, err);
    if (status == PACK_OK)
        status = pack_cachesim_new(&grid, &params, &sim, err);
    for (int i = 0; status == PACK_OK && i < 2 * READS; i++) {
        uint64_t sample = pack_rng_below(&rng, layout->extent.extent[0]);
        if (i == READS)
            pack_cachesim_take(sim, &counts);
        status = pack_cachesim_read_samples(sim, &sample, 1, err);
    }
    if (status == PACK_OK) {
        pack_cachesim_counts(sim, &counts);
        *steps = (double)counts.walk_steps / READS;
    }
    pack_cachesim_free(sim);
    return status;
}

/* ns of a step among so many entries. */
static enum pack_status
measure_walk(struct pack_lab *lab, uint64_t entries, double *walk_ns,
             struct pack_error *err)
{
    struct pack_probe_layout layout = { .extent = { 2, { lab->n_chunks, PAIR } },
                                        .chunk = { 2, { 2, PAIR } } };
    struct series random = one_box(1, PAIR, lab->n_chunks, 4000);
    struct pack_cache_params cache = cache_of(entries * 2 * PAIR), eager = cache;
    double with = 0, without = 0, steps = 1, fewer = 0;
    int n_warm = (int)(entries / 1000) + 2;
    eager.w0 = 0;
    enum pack_status status =
        pack_probe_create(lab->path, &layout, fill_any, &layout, err);
    if (status == PACK_OK)
        status = time_series(lab, &random, cache, n_warm, &with, err);
    if (status == PACK_OK)
        status = time_series(lab, &random, eager, n_warm, &without, err);
    if (status == PACK_OK)
        status = count_steps(&layout, cache, lab->params->seed, &steps, err);
    if (status == PACK_OK)
        status = count_steps(&layout, eager, lab->params->seed, &fewer, err);
    *walk_ns = pack_lab_positive((with - without) / fmax(steps - fewer, 1));
    return status;
}

static enum pack_status
time_open(struct pack_lab *lab, uint64_t n_slots, double *ns, struct pack_error *err)
{
    enum { OPENS = 20 };
    struct pack_cache_params cache = { n_slots, 1 << 20, 0.75, PACK_HDF5_1_10 };
    struct pack_probe *probe = NULL;
    double times[PACK_LAB_ROUNDS];
    enum pack_status status = pack_probe_open(lab->path, &cache, NULL, &probe, err);
    for (size_t round = 0; status == PACK_OK && round < lab->n_rounds; round++) {
        uint64_t start = pack_clock_cpu_ns();
        for (int i = 0; status == PACK_OK && i < OPENS; i++)
            status = pack_probe_reopen(probe, err);
        times[round] = (double)(pack_clock_cpu_ns() - start) / OPENS;
    }
    pack_probe_close(probe);
    if (status == PACK_OK)
        *ns = pack_lab_fastest(times, lab->n_rounds);
    return status;
}

enum pack_status
pack_lab_hdf5(struct pack_lab *lab, struct pack_error *err)
{
    struct pack_profile *p = lab->profile;
    double few = 0, many = 0;
    const uint64_t few_slots = 521, many_slots = 500009, near = 500, far = 8000;
    enum pack_status status = pack_lab_calls(lab, err);
    if (status == PACK_OK)
        status = measure_runs(lab, err);
    if (status == PACK_OK)
        status = measure_walk(lab, near, &p->walk_ns, err);
    if (status == PACK_OK)
        status = measure_walk(lab, far, &p->walk_far_ns, err);
    p->walk_far_ns = pack_lab_positive(
        p->walk_ns + (p->walk_far_ns - p->walk_ns) /
                         pack_cost_far_part((double)far * PACK_COST_ENTRY_BYTES));
    if (status == PACK_OK)
        status = time_open(lab, few_slots, &few, err);
    if (status == PACK_OK)
        status = time_open(lab, many_slots, &many, err);
    p->slot_ns = pack_lab_positive((many - few) / (double)(many_slots - few_slots));
    p->open_ns = pack_lab_positive(few - (double)few_slots * p->slot_ns);
    return status;
}
