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
 * Pillow's: computed in double, normalised, rounded to 22 fraction bits; the sums are
 * exact integers, so any order and any vector width gives the same bytes.
 *
 * What the variants do is in struct pack_resample_ops; the scalar ones below define it.
 */
#include "config.h"

#include "libpack/resample_private.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/size.h"

enum {
    N_TABLES = 16,            /* kept per scratch, least recently used first out */
    KEPT_BYTES = 1024 * 1024, /* of all kept tables, unless one job needs more */
    ROW_SLACK = 64            /* behind rows of our own; covers overread and overwrite */
};

/* ------------------------------------------------------------------ filters */

static double
box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double
bilinear(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double
hamming(double x)
{
    x = fabs(x);
    if (x == 0.0)
        return 1.0;
    if (x >= 1.0)
        return 0.0;
    x *= M_PI;
    return sin(x) / x * (0.54f + 0.46f * cos(x));
}

static double
bicubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double
sinc(double x)
{
    if (x == 0.0)
        return 1.0;
    x *= M_PI;
    return sin(x) / x;
}

static double
lanczos(double x)
{
    return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

/* Indexed by enum pack_resample_filter; nearest takes another way. */
static const struct {
    double (*weight)(double x);
    double support; /* in source pixels, at scale 1 */
} filters[] = {
    [PACK_RESAMPLE_BILINEAR] = { bilinear, 1.0 },
    [PACK_RESAMPLE_NEAREST] = { NULL, 0.0 },
    [PACK_RESAMPLE_BOX] = { box, 0.5 },
    [PACK_RESAMPLE_HAMMING] = { hamming, 1.0 },
    [PACK_RESAMPLE_BICUBIC] = { bicubic, 2.0 },
    [PACK_RESAMPLE_LANCZOS] = { lanczos, 3.0 },
};

/* ------------------------------------------------------------------- tables */

/* One axis of a job: `in` source pixels, of which the interval from `from` to `to` is
 * scaled to `out`; the window is outputs `first` to `first + n - 1`. */
struct axis {
    uint32_t in, out, first, n;
    float from, to; /* single precision, as Pillow's box */
    enum pack_resample_filter filter;
};

struct slot {
    struct axis axis;
    struct pack_resample_table table;
    size_t bytes;
    uint64_t used; /* when, 0: empty */
};

struct pack_resample_scratch {
    const struct pack_resample_ops *ops;
    struct slot slots[N_TABLES];
    uint64_t now;
    double *weights; /* of one output */
    size_t n_weights;
    uint8_t *rows; /* ring, padded source rows and one line */
    size_t n_row_bytes;
    const uint8_t **pointers; /* column of rows */
    size_t n_pointers;
    int32_t *indices; /* nearest: source column per output column */
    size_t n_indices;
};

static double
axis_support(const struct axis *axis, double *scale, double *filter_scale)
{
    *scale = (double)(axis->to - axis->from) / axis->out;
    *filter_scale = *scale < 1.0 ? 1.0 : *scale;
    return filters[axis->filter].support * *filter_scale;
}

/* Taps of the widest output, in whole groups. */
static uint32_t
axis_taps(const struct axis *axis)
{
    double scale, filter_scale;
    double taps = ceil(axis_support(axis, &scale, &filter_scale)) * 2 + 1;
    uint32_t n = taps < axis->in ? (uint32_t)taps : axis->in;
    return (n + PACK_RESAMPLE_GROUP - 1) / PACK_RESAMPLE_GROUP * PACK_RESAMPLE_GROUP;
}

/* Bytes of a table's one allocation: first, count, k, halves. */
static bool
table_bytes(uint64_t n, uint64_t taps, uint64_t *bytes)
{
    uint64_t per_output;
    return pack_size_mul(taps, sizeof(int32_t) + 2 * sizeof(int16_t), &per_output) &&
           pack_size_add(per_output, 2 * sizeof(uint32_t), &per_output) &&
           pack_size_mul(n, per_output, bytes) && *bytes <= SIZE_MAX;
}

/* Pillow's precompute_coeffs() and normalize_coeffs_8bpc() for output i of the window. */
static void
fill_output(const struct axis *axis, struct pack_resample_table *table, double *weights,
            uint32_t i)
{
    double scale, filter_scale;
    double support = axis_support(axis, &scale, &filter_scale);
    double center = axis->from + (axis->first + i + 0.5) * scale;
    double per_pixel = 1.0 / filter_scale, total = 0.0;
    int64_t low = (int64_t)(center - support + 0.5);
    int64_t high = (int64_t)(center + support + 0.5);
    low = low < 0 ? 0 : low < axis->in ? low : axis->in - 1;
    high = high > axis->in ? axis->in : high > low ? high : low + 1;
    uint32_t count = (uint32_t)(high - low);
    for (uint32_t x = 0; x < count; x++) {
        weights[x] = filters[axis->filter].weight((x + low - center + 0.5) * per_pixel);
        total += weights[x];
    }
    int32_t *k = table->k + (size_t)i * table->taps;
    int16_t *halves = table->halves + (size_t)i * table->taps * 2;
    memset(k, 0, table->taps * sizeof *k);
    memset(halves, 0, 2 * table->taps * sizeof *halves);
    for (uint32_t x = 0; x < count; x++) {
        double weight = total != 0.0 ? weights[x] / total : weights[x];
        double fixed = weight * (1 << PACK_RESAMPLE_BITS);
        k[x] = (int32_t)(weight < 0 ? fixed - 0.5 : fixed + 0.5);
        int16_t *group = halves + x / PACK_RESAMPLE_GROUP * (2 * PACK_RESAMPLE_GROUP) +
                         x % PACK_RESAMPLE_GROUP;
        group[0] = (int16_t)(k[x] >> PACK_RESAMPLE_SPLIT);
        group[PACK_RESAMPLE_GROUP] = (int16_t)(k[x] & ((1 << PACK_RESAMPLE_SPLIT) - 1));
    }
    table->first[i] = (uint32_t)low;
    table->count[i] = count;
}

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

static bool
axis_equal(const struct axis *a, const struct axis *b)
{
    return a->in == b->in && a->out == b->out && a->first == b->first && a->n == b->n &&
           a->from == b->from && a->to == b->to && a->filter == b->filter;
}

static void
slot_drop(struct slot *slot)
{
    free(slot->table.first);
    memset(slot, 0, sizeof *slot);
}

/* Drops tables that were not used in this job, oldest first, until one slot is free and
 * `bytes` more fit. Two slots are in use at most, so one is always found. */
static struct slot *
make_room(struct pack_resample_scratch *scratch, size_t bytes)
{
    for (;;) {
        struct slot *empty = NULL, *oldest = NULL;
        size_t kept = 0;
        for (struct slot *s = scratch->slots; s < scratch->slots + N_TABLES; s++) {
            kept += s->bytes;
            if (!s->used)
                empty = s;
            else if (s->used < scratch->now && (!oldest || s->used < oldest->used))
                oldest = s;
        }
        if (empty && (!oldest || (bytes <= KEPT_BYTES && kept <= KEPT_BYTES - bytes)))
            return empty;
        slot_drop(oldest);
    }
}

/* The table of an axis, from the kept ones or new; NULL without memory. It stays until
 * the next job. */
static const struct pack_resample_table *
table_get(struct pack_resample_scratch *scratch, const struct axis *axis)
{
    for (struct slot *s = scratch->slots; s < scratch->slots + N_TABLES; s++)
        if (s->used && axis_equal(&s->axis, axis)) {
            s->used = scratch->now;
            return &s->table;
        }
    struct pack_resample_table table = { .n = axis->n, .taps = axis_taps(axis) };
    uint64_t bytes;
    if (!table_bytes(table.n, table.taps, &bytes))
        return NULL;
    scratch->weights =
        reserve(scratch->weights, &scratch->n_weights, table.taps, sizeof(double));
    if (!scratch->weights)
        return NULL;
    struct slot *slot = make_room(scratch, bytes);
    table.first = malloc(bytes);
    if (!table.first)
        return NULL;
    table.count = table.first + table.n;
    table.k = (int32_t *)(table.count + table.n);
    table.halves = (int16_t *)(table.k + (size_t)table.n * table.taps);
    for (uint32_t i = 0; i < table.n; i++)
        fill_output(axis, &table, scratch->weights, i);
    *slot = (struct slot){ *axis, table, bytes, scratch->now };
    return &slot->table;
}

/* ------------------------------------------------------------ scalar variant */

static uint8_t
clip(int32_t sum)
{
    int32_t value = sum >> PACK_RESAMPLE_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void
scalar_horizontal(uint8_t *const *out, const uint8_t *const *rows, int channels,
                  const struct pack_resample_table *table)
{
    for (int r = 0; r < PACK_RESAMPLE_ROWS; r++)
        for (uint32_t i = 0; i < table->n; i++) {
            const uint8_t *p = rows[r] + (size_t)table->first[i] * channels;
            const int32_t *k = table->k + (size_t)i * table->taps;
            for (int c = 0; c < channels; c++) {
                int32_t sum = 1 << (PACK_RESAMPLE_BITS - 1);
                for (uint32_t t = 0; t < table->count[i]; t++)
                    sum += p[t * channels + c] * k[t];
                out[r][i * channels + c] = clip(sum);
            }
        }
}

static void
scalar_vertical(uint8_t *out, const uint8_t *const *rows, size_t bytes,
                const struct pack_resample_table *table, uint32_t y)
{
    const int32_t *k = table->k + (size_t)y * table->taps;
    for (size_t x = 0; x < bytes; x++) {
        int32_t sum = 1 << (PACK_RESAMPLE_BITS - 1);
        for (uint32_t t = 0; t < table->count[y]; t++)
            sum += rows[t][x] * k[t];
        out[x] = clip(sum);
    }
}

static void
scalar_split(uint8_t *const planes[3], const uint8_t *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            planes[c][i] = pixels[3 * i + c];
}

const struct pack_resample_ops pack_resample_scalar = {
    "scalar",
    scalar_horizontal,
    scalar_vertical,
    scalar_split,
};

const struct pack_resample_ops *
pack_resample_variant(int i)
{
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
    uint8_t *line;       /* a finished row, before it is split into planes */
};

static bool
is_planar(const struct job *job)
{
    return job->layout == PACK_LAYOUT_NCHW && job->src->channels == 3;
}

static const uint8_t *
source_row(const struct job *job, uint32_t y)
{
    return job->src->pixels + (size_t)y * job->src->width * job->src->channels;
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
nearest_indices(const struct axis *axis, int32_t *indices)
{
    double step = (double)(axis->to - axis->from) / axis->out;
    double at = axis->from + step * 0.5;
    for (uint32_t i = 0; i < axis->first + axis->n; i++, at += step)
        if (i >= axis->first)
            indices[i - axis->first] = at >= 0 && at < axis->in ? (int32_t)at : -1;
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
resample_nearest(struct job *job, const struct axis *across, const struct axis *down)
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
resample_filtered(struct job *job, const struct axis *across, const struct axis *down)
{
    struct pack_resample_scratch *s = job->scratch;
    const struct pack_image *src = job->src;
    bool wide = across->out != src->width || across->from || across->to != across->out;
    bool high = down->out != src->height || down->from || down->to != down->out;
    struct ring ring = { 0 };
    const struct pack_resample_table *columns = NULL;
    if (wide && !(ring.across = table_get(s, across)))
        return false;
    if (high && !(columns = table_get(s, down)))
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
plan_axes(const struct pack_geometry_plan *p, const float b[4], struct axis *across,
          struct axis *down)
{
    *across = (struct axis){ p->source_w, p->resized_w, p->window_x, p->window_w,
                             b[0],        b[2],         p->filter };
    *down = (struct axis){ p->source_h, p->resized_h, p->window_y, p->window_h,
                           b[1],        b[3],         p->filter };
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
    if (src->width != plan->source_w || src->height != plan->source_h)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "image is %ux%u pixels, the plan was made for %ux%u", src->width,
                         src->height, plan->source_w, plan->source_h);
    struct job job = { .src = src,
                       .plan = plan,
                       .scratch = scratch,
                       .layout = layout,
                       .out = out,
                       .window_bytes = (size_t)plan->window_w * src->channels };
    if (plan->window_w < plan->out_w || plan->window_h < plan->out_h)
        memset(out, 0, (size_t)plan->out_h * plan->out_w * src->channels);
    float b[4];
    struct axis across, down;
    plan_box(plan, b);
    plan_axes(plan, b, &across, &down);
    scratch->now++;
    if (is_plain_crop(plan, b)) {
        plain_crop(&job, b);
        return PACK_OK;
    }
    bool done = plan->filter == PACK_RESAMPLE_NEAREST
                    ? resample_nearest(&job, &across, &down)
                    : resample_filtered(&job, &across, &down);
    return done ? PACK_OK : pack_fail_memory(err, "tables and rows for resampling");
}

/* Source pixels from *from on that `n` outputs from `first` on look at, along one axis.
 */
static void
source_span(const struct axis *axis, uint32_t size, uint32_t *from, uint32_t *n)
{
    double scale, filter_scale, support = axis_support(axis, &scale, &filter_scale);
    double low = floor(axis->from + axis->first * scale - support) - 1;
    double high =
        ceil(axis->from + ((double)axis->first + axis->n) * scale + support) + 1;
    *from = low > 0 ? (uint32_t)low : 0;
    *n = (high < size ? (uint32_t)high : size) - *from;
}

struct pack_image_window
pack_resample_source(const struct pack_geometry_plan *plan)
{
    float b[4];
    struct axis across, down;
    struct pack_image_window window;
    plan_box(plan, b);
    plan_axes(plan, b, &across, &down);
    source_span(&across, plan->source_w, &window.x, &window.w);
    source_span(&down, plan->source_h, &window.y, &window.h);
    return window;
}

uint64_t
pack_resample_bytes(const struct pack_geometry_plan *plan)
{
    float b[4];
    struct axis axes[2];
    plan_box(plan, b);
    plan_axes(plan, b, &axes[0], &axes[1]);
    uint64_t row = 3 * (uint64_t)plan->window_w + ROW_SLACK;
    uint64_t total = KEPT_BYTES + sizeof(struct pack_resample_scratch) +
                     PACK_RESAMPLE_ROWS * (3 * (uint64_t)plan->source_w + ROW_SLACK);
    if (plan->filter == PACK_RESAMPLE_NEAREST)
        return total + row + 4 * ((uint64_t)plan->window_w + plan->window_h);
    for (int i = 0; i < 2; i++) {
        uint64_t taps = axis_taps(&axes[i]), bytes;
        if (!table_bytes(axes[i].n, taps, &bytes) ||
            !pack_size_add(total, bytes + taps * (sizeof(double) + sizeof(void *)),
                           &total))
            return UINT64_MAX;
    }
    return total + (axis_taps(&axes[1]) + PACK_RESAMPLE_ROWS + 1) * row;
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

void
pack_resample_scratch_free(struct pack_resample_scratch *scratch)
{
    if (!scratch)
        return;
    for (struct slot *s = scratch->slots; s < scratch->slots + N_TABLES; s++)
        slot_drop(s);
    free(scratch->weights);
    free(scratch->rows);
    free((void *)scratch->pointers);
    free(scratch->indices);
    free(scratch);
}
