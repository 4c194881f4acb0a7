/*
 * Which rows are worth reading, and the copies that they are read in: one for each layout
 * among them, as many samples of the dataset as fit in the memory given.
 */
#include "libpack/bench/measure_parts.h"

#include <math.h>
#include <stdio.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/numbers.h"
#include "libpack/base/size.h"
#include "libpack/base/system.h"

enum { BYTES_DEFAULT = 128 << 20 };
static const uint64_t write_ns = 500 * 1000 * 1000;
static const double hopeful = 0.6, /* of the best modelled rate: worth reading */
    unlikely = 0.1;                /* the first of its kind */

/* --------------------------------------------------------- what is worth reading */

static bool
same_layout(const struct pack_advise_config *a, const struct pack_advise_config *b)
{
    return pack_advise_same_layout(a, b) && a->edge_unfiltered == b->edge_unfiltered;
}

static bool
is_read(const struct measure_rows *rows, const struct pack_advise_outcome *row)
{
    for (size_t i = 0; i < rows->n_candidates; i++)
        if (rows->candidates[i].row == row)
            return true;
    return false;
}

static bool
is_new_kind(const struct measure_rows *rows, const struct pack_advise_outcome *row)
{
    unsigned kind = pack_advise_kind_of(rows->params, row);
    for (size_t i = 0; i < rows->n_candidates; i++)
        if (!rows->candidates[i].row->is_now &&
            pack_advise_kind_of(rows->params, rows->candidates[i].row) == kind)
            return false;
    return true;
}

static void
add_candidate(struct measure_rows *rows, struct pack_advise_outcome *row)
{
    size_t k = 0;
    while (k < rows->n_layouts && !same_layout(rows->layouts[k].config, &row->config))
        k++;
    if (k == MEASURE_LAYOUTS_MAX || rows->n_candidates == MEASURE_CANDIDATES_MAX ||
        is_read(rows, row))
        return;
    if (k == rows->n_layouts)
        rows->layouts[rows->n_layouts++].config = &row->config;
    rows->candidates[rows->n_candidates++] =
        (struct measure_candidate){ .row = row, .config = row->config, .layout = k };
}

/* Whether it can gain: not where it differs from today's settings in what the model knows
 * well, and gains nothing by that; nor a rewrite whose gain would have no reason. */
static bool
may_gain(const struct measure_rows *rows, const struct pack_advise_outcome *row)
{
    const struct pack_advise_outcome *now =
        rows->n_candidates ? rows->candidates[0].row : NULL;
    if (!now || !now->is_now)
        return true;
    if (!same_layout(&now->config, &row->config))
        return pack_advise_is_explained(rows->params, now, row);
    return pack_advise_access(rows->params, now) !=
               pack_advise_access(rows->params, row) ||
           row->rate >= PACK_ADVISE_EQUAL_GAIN * now->rate;
}

/* Today's before all, the choice, the best of each kind that could be chosen, then the
 * first others of these, as far as copies go. */
enum pass { NOW, KINDS, OTHERS, N_PASSES };

/* What all rows have at most. */
struct most {
    double rate, random;
};

static bool
is_wanted(const struct measure_rows *rows, enum pass pass,
          const struct pack_advise_outcome *row, const struct most *most)
{
    if (pass == NOW)
        return row->is_now;
    if (row == rows->result->rows)
        return true;
    if (!pack_advise_is_possible(rows->params, row, most->random) || !may_gain(rows, row))
        return false;
    if (pass == KINDS)
        return row->rate >= unlikely * most->rate && is_new_kind(rows, row);
    return row->rate >= hopeful * most->rate;
}

void
pack_measure_choose(struct measure_rows *rows)
{
    struct pack_advise_result *result = rows->result;
    struct most most = { .random =
                             pack_advise_most_random(result->rows, result->n_rows) };
    for (size_t i = 0; i < result->n_rows; i++)
        most.rate = fmax(most.rate, result->rows[i].rate);
    for (int pass = 0; pass < N_PASSES; pass++)
        for (size_t i = 0; i < result->n_rows; i++)
            if (is_wanted(rows, (enum pass)pass, &result->rows[i], &most))
                add_candidate(rows, &result->rows[i]);
}

/* ------------------------------------------------------------------------- copies */

/* Samples of each copy: what was asked for in bytes, whole rows of chunks, not more than
 * an eighth of free memory for all. */
static void
plan_samples(struct measure_rows *rows)
{
    const struct pack_advise_params *p = rows->params;
    const struct pack_measure_params *how = rows->how;
    uint64_t bytes = how->scratch_bytes ? how->scratch_bytes
                     : how->prove       ? 2 * (uint64_t)BYTES_DEFAULT
                                        : BYTES_DEFAULT,
             free_bytes, sample = p->data.elem_size, most = 1;
    if (!how->scratch_dir && pack_system_memory_bytes(&free_bytes) &&
        bytes > free_bytes / 8 / rows->n_layouts)
        bytes = free_bytes / 8 / rows->n_layouts;
    for (int i = 1; i < p->data.extent.rank; i++)
        sample *= p->data.extent.extent[i]; /* the search has checked the product */
    for (size_t i = 0; i < rows->n_layouts; i++)
        if (rows->layouts[i].config->chunk.rank &&
            rows->layouts[i].config->chunk.extent[0] > most)
            most = rows->layouts[i].config->chunk.extent[0];
    uint64_t n = sample ? bytes / sample : 0,
             box = p->reading.pattern.box.rank ? p->reading.pattern.box.extent[0] : 1;
    uint64_t there = how->set ? how->set->parts[0].n_samples : p->data.extent.extent[0];
    if (n > 4 * most)
        n -= n % most;
    if (n < box)
        n = box;
    rows->n_samples = n < there ? n : there;
}

/* As many as were asked for have a batch for each worker, or are all: fewer would tell what it
 * takes to begin, and not what a layout gives. */
static enum pack_status
check_samples(const struct measure_rows *rows, struct pack_error *err)
{
    const struct pack_advise_params *p = rows->params;
    uint64_t least = p->reading.pattern.batch ? p->reading.pattern.batch : 1;
    if (!pack_size_mul(least, pack_advise_workers(p), &least) ||
        least > p->data.extent.extent[0])
        least = p->data.extent.extent[0];
    if (!rows->how->scratch_bytes || rows->n_samples >= least)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "scratch_bytes",
                           "scratch_bytes: it holds %s of the %llu that it takes: a batch of "
                           "each worker, or all",
                           pack_counted(rows->n_samples, "sample", "samples").text,
                           (unsigned long long)least);
}

/* At least one window has to be copied, and what is in memory fits there. */
static enum pack_status
check_room(const struct measure_rows *rows, struct pack_error *err)
{
    const struct pack_advise_params *p = rows->params;
    double bytes = (double)rows->n_samples * (double)rows->n_layouts * (double)p->data.elem_size;
    uint64_t free_bytes;
    for (int i = 1; i < p->data.extent.rank; i++)
        bytes *= (double)p->data.extent.extent[i];
    if (rows->how->scratch_dir || !pack_system_memory_bytes(&free_bytes) ||
        bytes <= (double)free_bytes / 4)
        return PACK_OK;
    return pack_fail(err, PACK_ERR_LIMIT,
                     "copies of %s in %s would take more than a quarter of memory; in a "
                     "folder on a disk there may be room",
                     pack_counted(rows->n_samples, "sample", "samples").text,
                     pack_counted(rows->n_layouts, "layout", "layouts").text);
}

/* What stays virtual is read where it is: a copy would be one file. */
static enum pack_status
make_copy(struct measure_rows *rows, struct measure_layout *layout,
          struct pack_error *err)
{
    const struct pack_measure_params *how = rows->how;
    if (layout->config->is_virtual)
        return pack_readset_open(&how->file, 1, how->dataset, &layout->set, err);
    struct pack_scratch_params p = { .file = how->file,
                                     .dataset = how->dataset,
                                     .n_samples = rows->n_samples,
                                     .chunk = layout->config->chunk,
                                     .edge_unfiltered = layout->config->edge_unfiltered,
                                     .time_ns = how->prove ? 0 : write_ns,
                                     .dir = how->scratch_dir,
                                     .watch = how->watch };
    enum pack_status status = pack_pipeline_parse(
        layout->config->codec, (uint32_t)rows->params->data.elem_size, &p.pipeline, err);
    if (status == PACK_OK)
        status = pack_scratch_make(&p, &layout->scratch, err);
    if (status != PACK_OK)
        return status;
    const char *path = pack_scratch_path(layout->scratch);
    return pack_readset_open(&path, 1, PACK_SCRATCH_DATASET, &layout->set, err);
}

/* Candidates whose copy could not be made stay predicted. */
static void
drop_layout(struct measure_rows *rows, size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_candidates; i++)
        if (rows->candidates[i].layout != k)
            rows->candidates[n++] = rows->candidates[i];
    rows->n_candidates = n;
}

/* Whether the samples of a copy of so many rows can be drawn by their weights. */
static bool
has_weight(const struct pack_pattern *p, uint64_t n_rows)
{
    uint64_t box = p->box.rank ? p->box.extent[0] : 1, step = p->step ? p->step : 1;
    uint64_t n = n_rows < box ? 0 : (n_rows - box) / step + 1;
    if (p->kind != PACK_PATTERN_WEIGHTED || !p->weights)
        return true;
    for (uint64_t i = 0; i < n; i++)
        if (p->weights[i] > 0)
            return true;
    return false;
}

/* A copy of which something can be read. */
static enum pack_status
make_layout(struct measure_rows *rows, struct measure_layout *layout,
            struct pack_error *err)
{
    enum pack_status status = make_copy(rows, layout, err);
    const struct pack_shape *box = &rows->params->reading.pattern.box;
    if (status == PACK_OK && box->rank && layout->set->extent.extent[0] < box->extent[0])
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "its writing took too long, no window is whole");
    if (status == PACK_OK && !has_weight(&rows->params->reading.pattern,
                                         layout->set->extent.extent[0]))
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           "the first samples, which a copy holds, have no weight above 0");
    return status;
}

void
pack_measure_note(struct pack_measured *measured, const char *what, const char *why)
{
    if (!measured->why_not[0])
        snprintf(measured->why_not, sizeof measured->why_not, "%.60s: %.250s", what, why);
}

enum pack_status
pack_measure_copy(struct measure_rows *rows, struct pack_error *err)
{
    if (rows->n_layouts == 0)
        return PACK_OK;
    plan_samples(rows);
    enum pack_status room = check_samples(rows, err);
    if (room == PACK_OK)
        room = check_room(rows, err);
    if (room != PACK_OK)
        return room;
    for (size_t i = 0; i < rows->n_layouts; i++) {
        enum pack_status status = make_layout(rows, &rows->layouts[i], err);
        if (status == PACK_OK)
            continue;
        if (status == PACK_ERR_INTERRUPTED || rows->how->prove)
            return status;
        pack_measure_note(rows->measured, "a layout could not be tried",
                          err ? err->text : "");
        drop_layout(rows, i);
    }
    return PACK_OK;
}

void
pack_measure_close(struct measure_rows *rows)
{
    for (size_t i = 0; i < rows->n_layouts; i++) {
        pack_readset_close(rows->layouts[i].set);
        pack_scratch_close(rows->layouts[i].scratch);
    }
}
