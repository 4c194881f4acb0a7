/*
 * Pillow's two-pass resize, row by row.
 *
 * Pillow first scales all rows horizontally into a temporary image, then that image
 * vertically. The sums are the same when each horizontal row is made just before the
 * first vertical sum that needs it, and kept in a ring only as long as one does:
 *
 *     source rows          ring of scaled rows      output row
 *     ===============      =======                  =======
 *     ===============  ->  =======  } taps      ->  (sum over a column)
 *     ===============      =======
 *
 * A few dozen rows of a window then stay in the first-level cache. Coefficients are
 * resample_table.c's; the sums are exact integers, so any order and any vector width
 * gives the same bytes.
 *
 * What the variants do is in struct pack_resample_ops; resample_scalar.c defines it.
 */
#include "config.h"

#include "libpack/image/resample_parts.h"

#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"

/* Behind rows of our own; covers overread and overwrite. */
enum { ROW_SLACK = 64 };

struct pack_resample_scratch {
    const struct pack_resample_ops *ops;
    struct pack_resample_tables tables;
    uint8_t *rows; /* ring, padded source rows and one line */
    size_t n_row_bytes;
    const uint8_t **pointers; /* column of rows */
    size_t n_pointers;
    int32_t *indices; /* nearest: source column per output column */
    size_t n_indices;
};

/* A buffer of n elements in place of `buffer`, whose content is lost; NULL without
 * memory. */
static void *
reserve(void *buffer, size_t *capacity, size_t n, size_t element_bytes)
{
    if (n <= *capacity)
        return buffer;
    uint64_t bytes;
    free(buffer);
    *capacity = 0;
    if (!pack_size_mul(n, element_bytes, &bytes) || bytes > SIZE_MAX)
        return NULL;
    buffer = malloc(bytes);
    if (buffer)
        *capacity = n;
    return buffer;
}

const struct pack_resample_ops *
pack_resample_variant(int i)
{
#ifdef HAVE_VNNI
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && i-- == 0)
        return &pack_resample_vnni;
#endif
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && i-- == 0)
        return &pack_resample_avx2;
#endif
    return i == 0 ? &pack_resample_scalar : NULL;
}

/* ------------------------------------------------------------------ the job */

struct job {
    const struct pack_image *src;
    const struct pack_geometry_plan *plan;
    struct pack_resample_scratch *scratch;
    enum pack_pixel_layout layout;
    uint8_t *out;
    size_t window_bytes; /* of one row */
    size_t row_bytes;    /* from one row of the source to the next */
    uint8_t *line;       /* a finished row, before it is split into planes */
};

static bool
is_planar(const struct job *job)
{
    return job->layout == PACK_PIXEL_NCHW && job->src->channels == 3;
}

static const uint8_t *
source_row(const struct job *job, uint32_t y)
{
    return job->src->pixels + y * job->row_bytes;
}

/* Where row y of the window, interleaved, is to be written; followed by finish_row(). */
static uint8_t *
begin_row(const struct job *job, uint32_t y)
{
    const struct pack_geometry_plan *p = job->plan;
    size_t at = (size_t)(p->pad_y + y) * p->out_w + p->pad_x;
    return is_planar(job) ? job->line : job->out + at * job->src->channels;
}

static void
split_row(const struct job *job, uint32_t y, const uint8_t *row)
{
    const struct pack_geometry_plan *p = job->plan;
    size_t plane = (size_t)p->out_h * p->out_w;
    uint8_t *at = job->out + (size_t)(p->pad_y + y) * p->out_w + p->pad_x;
    uint8_t *const planes[3] = { at, at + plane, at + 2 * plane };
    job->scratch->ops->split(planes, row, p->window_w);
}

static void
finish_row(const struct job *job, uint32_t y)
{
    if (is_planar(job))
        split_row(job, y, job->line);
}

/* For a row that is in memory already. */
static void
copy_row(const struct job *job, uint32_t y, const uint8_t *row)
{
    if (is_planar(job))
        split_row(job, y, row);
    else
        memcpy(begin_row(job, y), row, job->window_bytes);
}

static bool
is_plain_crop(const struct pack_geometry_plan *p, const float b[4])
{
    return b[0] == (int32_t)b[0] && b[2] - b[0] == p->resized_w &&
           b[1] == (int32_t)b[1] && b[3] - b[1] == p->resized_h &&
           (uint64_t)b[0] + p->resized_w <= p->source_w &&
           (uint64_t)b[1] + p->resized_h <= p->source_h;
}

static void
plain_crop(const struct job *job, const float b[4])
{
    const struct pack_geometry_plan *p = job->plan;
    size_t left = ((size_t)b[0] + p->window_x) * job->src->channels;
    uint32_t top = (uint32_t)b[1] + p->window_y;
    for (uint32_t y = 0; y < p->window_h; y++)
        copy_row(job, y, source_row(job, top + y) + left);
}

/* Source positions of a window's outputs, as ImagingScaleAffine() walks: by adding up; -1
 * outside the source. */
static void
nearest_indices(const struct pack_resample_axis *axis, int32_t *indices)
{
    double step = (double)(axis->to - axis->from) / axis->out;
    double at = axis->from + step * 0.5;
    for (uint32_t i = 0; i < axis->first + axis->n; i++, at += step)
        if (i >= axis->first) {
            uint32_t n = i - axis->first, place = axis->flips ? axis->n - 1 - n : n;
            indices[place] = at >= 0 && at < axis->in ? (int32_t)at : -1;
        }
}

static void
gather(uint8_t *out, const uint8_t *row, const int32_t *indices, uint32_t n, int channels)
{
    static const uint8_t black[3];
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *p = indices[i] < 0 ? black : row + (size_t)indices[i] * channels;
        for (int c = 0; c < channels; c++)
            *out++ = p[c];
    }
}

static bool
resample_nearest(struct job *job, const struct pack_resample_axis *across,
                 const struct pack_resample_axis *down)
{
    struct pack_resample_scratch *s = job->scratch;
    s->indices = reserve(s->indices, &s->n_indices, (size_t)across->n + down->n,
                         sizeof *s->indices);
    s->rows = reserve(s->rows, &s->n_row_bytes, job->window_bytes, 1);
    if (!s->indices || !s->rows)
        return false;
    int32_t *columns = s->indices, *lines = s->indices + across->n;
    nearest_indices(across, columns);
    nearest_indices(down, lines);
    job->line = s->rows;
    for (uint32_t y = 0; y < down->n; y++) {
        uint8_t *row = begin_row(job, y);
        if (lines[y] < 0)
            memset(row, 0, job->window_bytes);
        else
            gather(row, source_row(job, (uint32_t)lines[y]), columns, across->n,
                   job->src->channels);
        finish_row(job, y);
    }
    return true;
}

/* Rows scaled horizontally, of which the last `n` are kept; see the drawing on top. */
struct ring {
    const struct pack_resample_table *across;
    uint8_t *rows;
    size_t stride;
    uint32_t n;      /* rows */
    uint8_t *padded; /* PACK_RESAMPLE_ROWS source rows that may be read beyond */
    size_t padded_stride;
    uint32_t next; /* source row that comes next */
    uint32_t end;  /* source row behind the last one needed */
};

static uint8_t *
ring_row(const struct ring *ring, uint32_t y)
{
    return ring->rows + (size_t)(y % ring->n) * ring->stride;
}

/* A source row behind which PACK_RESAMPLE_OVERREAD bytes can be read: itself, or a copy
 * near the end of the image. */
static const uint8_t *
readable_row(const struct job *job, const struct ring *ring, uint32_t y, int i)
{
    const struct pack_image *src = job->src;
    size_t bytes = (size_t)src->width * src->channels;
    size_t behind = (size_t)(src->height - 1 - y) * bytes;
    if (behind >= PACK_RESAMPLE_OVERREAD)
        return source_row(job, y);
    uint8_t *copy = ring->padded + (size_t)i * ring->padded_stride;
    memcpy(copy, source_row(job, y), bytes);
    memset(copy + bytes, 0, PACK_RESAMPLE_OVERREAD);
    return copy;
}

/* Asks for the rows after the ones that come next, which are far away in a file's mapping.
 * Only what lies in the image: a part's rows reach further. */
static void
prefetch_rows(const struct job *job, const struct ring *ring)
{
    enum { LINE = 64 };
    size_t bytes = (size_t)job->src->width * job->src->channels;
    uint32_t y = ring->next + PACK_RESAMPLE_ROWS;
    for (uint32_t end = y + PACK_RESAMPLE_ROWS; y < end && y < ring->end; y++)
        for (size_t at = 0; at < bytes; at += LINE)
            __builtin_prefetch(source_row(job, y) + at);
}

/* Scales source rows up to, at least, the one before `end`. At the bottom the last row
 * is done several times over, into one place. */
static void
ring_advance(const struct job *job, struct ring *ring, uint32_t end)
{
    while (ring->next < end) {
        const uint8_t *in[PACK_RESAMPLE_ROWS];
        uint8_t *out[PACK_RESAMPLE_ROWS];
        for (int i = 0; i < PACK_RESAMPLE_ROWS; i++) {
            uint32_t y = ring->next + (uint32_t)i;
            y = y < ring->end ? y : ring->end - 1;
            in[i] = readable_row(job, ring, y, i);
            out[i] = ring_row(ring, y);
        }
        prefetch_rows(job, ring);
        job->scratch->ops->horizontal(out, in, job->src->channels, ring->across);
        ring->next += PACK_RESAMPLE_ROWS;
    }
}

/* One allocation for the ring, the padded source rows and the line. */
static bool
ring_init(struct ring *ring, struct job *job, uint32_t taps)
{
    size_t source_bytes = (size_t)job->src->width * job->src->channels;
    ring->n = taps + PACK_RESAMPLE_ROWS;
    ring->stride = job->window_bytes + ROW_SLACK;
    ring->padded_stride = source_bytes + ROW_SLACK;
    uint64_t bytes;
    struct pack_resample_scratch *s = job->scratch;
    if (!pack_size_mul(ring->n + 1, ring->stride, &bytes) ||
        !pack_size_add(bytes, PACK_RESAMPLE_ROWS * ring->padded_stride, &bytes) ||
        bytes > SIZE_MAX)
        return false;
    s->rows = reserve(s->rows, &s->n_row_bytes, bytes, 1);
    if (!s->rows)
        return false;
    ring->rows = s->rows;
    job->line = ring->rows + ring->n * ring->stride;
    ring->padded = job->line + ring->stride;
    return true;
}

/* Rows behind the last tap are the last row again: their coefficients are zero. */
static void
column_of_rows(const struct job *job, const struct ring *ring,
               const struct pack_resample_table *down, uint32_t y, const uint8_t **rows)
{
    size_t left = (size_t)job->plan->window_x * job->src->channels;
    for (uint32_t t = 0; t < down->taps; t++) {
        uint32_t tap = t < down->count[y] ? t : down->count[y] - 1;
        uint32_t at = down->first[y] + tap;
        rows[t] = ring->across ? ring_row(ring, at) : source_row(job, at) + left;
    }
}

static bool
resample_filtered(struct job *job, const struct pack_resample_axis *across,
                  const struct pack_resample_axis *down)
{
    struct pack_resample_scratch *s = job->scratch;
    const struct pack_image *src = job->src;
    bool wide = across->out != src->width || across->from || across->to != across->out ||
                across->flips;
    bool high = down->out != src->height || down->from || down->to != down->out;
    struct ring ring = { 0 };
    const struct pack_resample_table *columns = NULL;
    if (wide && !(ring.across = pack_resample_tables_get(&s->tables, across)))
        return false;
    if (high && !(columns = pack_resample_tables_get(&s->tables, down)))
        return false;
    uint32_t taps = columns ? columns->taps : 1;
    s->pointers = reserve((void *)s->pointers, &s->n_pointers, taps, sizeof *s->pointers);
    if (!s->pointers || !ring_init(&ring, job, taps))
        return false;
    uint32_t last = down->n - 1;
    ring.next = columns ? columns->first[0] : down->first;
    ring.end =
        columns ? columns->first[last] + columns->count[last] : down->first + down->n;
    for (uint32_t y = 0; y < down->n; y++) {
        if (wide)
            ring_advance(job, &ring,
                         columns ? columns->first[y] + columns->count[y]
                                 : down->first + y + 1);
        if (columns) {
            column_of_rows(job, &ring, columns, y, s->pointers);
            s->ops->vertical(begin_row(job, y), s->pointers, job->window_bytes, columns,
                             y);
            finish_row(job, y);
        } else
            copy_row(job, y, ring_row(&ring, down->first + y));
    }
    return true;
}

static void
plan_axes(const struct pack_geometry_plan *p, const float b[4],
          struct pack_resample_axis *across, struct pack_resample_axis *down)
{
    *across =
        (struct pack_resample_axis){ p->source_w, p->resized_w, p->window_x, p->window_w,
                                     b[0],        b[2],         p->filter,
                                     p->flips };
    *down =
        (struct pack_resample_axis){ p->source_h, p->resized_h, p->window_y, p->window_h,
                                     b[1],        b[3],         p->filter,
                                     false };
}

static void
plan_box(const struct pack_geometry_plan *p, float b[4])
{
    for (int i = 0; i < 4; i++)
        b[i] = (float)p->box[i];
}

enum pack_status
pack_resample(const struct pack_image *src, const struct pack_geometry_plan *plan,
              enum pack_pixel_layout layout, uint8_t *out,
              struct pack_resample_scratch *scratch, struct pack_error *err)
{
    return pack_resample_part(src, (size_t)src->width * (size_t)src->channels, plan, layout,
                              out, scratch, err);
}

enum pack_status
pack_resample_part(const struct pack_image *src, size_t row_bytes,
                   const struct pack_geometry_plan *plan, enum pack_pixel_layout layout,
                   uint8_t *out, struct pack_resample_scratch *scratch,
                   struct pack_error *err)
{
    if (src->width != plan->source_w || src->height != plan->source_h)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "image is %ux%u pixels, the plan was made for %ux%u", src->width,
                         src->height, plan->source_w, plan->source_h);
    struct job job = { .src = src,
                       .plan = plan,
                       .scratch = scratch,
                       .layout = layout,
                       .out = out,
                       .window_bytes = (size_t)plan->window_w * src->channels,
                       .row_bytes = row_bytes };
    if (plan->window_w < plan->out_w || plan->window_h < plan->out_h)
        memset(out, 0, (size_t)plan->out_h * plan->out_w * src->channels);
    float b[4];
    struct pack_resample_axis across, down;
    plan_box(plan, b);
    plan_axes(plan, b, &across, &down);
    scratch->tables.now++;
    if (!plan->flips && is_plain_crop(plan, b)) {
        plain_crop(&job, b);
        return PACK_OK;
    }
    bool done = plan->filter == PACK_RESAMPLE_NEAREST
                    ? resample_nearest(&job, &across, &down)
                    : resample_filtered(&job, &across, &down);
    return done ? PACK_OK : pack_fail_memory(err, "tables and rows for resampling");
}

struct pack_image_window
pack_resample_source(const struct pack_geometry_plan *plan)
{
    float b[4];
    struct pack_resample_axis across, down;
    struct pack_image_window window;
    plan_box(plan, b);
    plan_axes(plan, b, &across, &down);
    pack_resample_span(&across, &window.x, &window.w);
    pack_resample_span(&down, &window.y, &window.h);
    return window;
}

uint64_t
pack_resample_bytes(const struct pack_geometry_plan *plan)
{
    float b[4];
    struct pack_resample_axis axes[2];
    plan_box(plan, b);
    plan_axes(plan, b, &axes[0], &axes[1]);
    uint64_t row = 3 * (uint64_t)plan->window_w + ROW_SLACK;
    uint64_t total = PACK_RESAMPLE_KEPT + sizeof(struct pack_resample_scratch) +
                     PACK_RESAMPLE_ROWS * (3 * (uint64_t)plan->source_w + ROW_SLACK);
    if (plan->filter == PACK_RESAMPLE_NEAREST)
        return total + row + 4 * ((uint64_t)plan->window_w + plan->window_h);
    for (int i = 0; i < 2; i++) {
        uint64_t bytes, taps = pack_resample_taps(&axes[i]);
        if (!pack_resample_table_bytes(&axes[i], &bytes) ||
            !pack_size_add(total, bytes, &total))
            return UINT64_MAX;
        total += taps * (sizeof(double) + sizeof(void *));
    }
    return total + (pack_resample_taps(&axes[1]) + PACK_RESAMPLE_ROWS + 1) * row;
}

enum pack_status
pack_resample_scratch_new(struct pack_resample_scratch **scratch, struct pack_error *err)
{
    struct pack_resample_scratch *s = calloc(1, sizeof *s);
    if (!s)
        return pack_fail_memory(err, "a scratch for resampling");
    s->ops = pack_resample_variant(0);
    *scratch = s;
    return PACK_OK;
}

void
pack_resample_scratch_use(struct pack_resample_scratch *scratch,
                          const struct pack_resample_ops *ops)
{
    scratch->ops = ops;
}

uint64_t
pack_resample_scratch_bytes(const struct pack_resample_scratch *scratch)
{
    uint64_t total = scratch->n_row_bytes +
                     scratch->n_pointers * sizeof *scratch->pointers +
                     scratch->n_indices * sizeof *scratch->indices;
    for (int i = 0; i < PACK_RESAMPLE_TABLES; i++)
        total += scratch->tables.slots[i].bytes;
    return total;
}

void
pack_resample_scratch_empty(struct pack_resample_scratch *scratch)
{
    const struct pack_resample_ops *ops = scratch->ops;
    pack_resample_tables_done(&scratch->tables);
    free(scratch->rows);
    free((void *)scratch->pointers);
    free(scratch->indices);
    *scratch = (struct pack_resample_scratch){ .ops = ops };
}

void
pack_resample_scratch_free(struct pack_resample_scratch *scratch)
{
    if (scratch)
        pack_resample_scratch_empty(scratch);
    free(scratch);
}
