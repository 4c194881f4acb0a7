/*
 * Coefficients of the two passes, and the tables of the sizes seen last.
 *
 * They are Pillow's, operation by operation (precompute_coeffs() and
 * normalize_coeffs_8bpc() in src/libImaging/Resample.c): computed in double, normalised,
 * rounded to 22 fraction bits. Only the outputs of a window are computed. A table costs
 * about as much as a twentieth of the resampling it is for (with sines, a fifth), and
 * photographs come in few sizes, so some are kept.
 */
#include "libpack/image/resample_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"

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

/* Indexed by enum pack_resample_filter; nearest has no weights, see resample.c. */
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

/* ------------------------------------------------------------------- one table */

static double
axis_support(const struct pack_resample_axis *axis, double *scale, double *filter_scale)
{
    *scale = (double)(axis->to - axis->from) / axis->out;
    *filter_scale = *scale < 1.0 ? 1.0 : *scale;
    return filters[axis->filter].support * *filter_scale;
}

uint32_t
pack_resample_taps(const struct pack_resample_axis *axis)
{
    double scale, filter_scale;
    double taps = ceil(axis_support(axis, &scale, &filter_scale)) * 2 + 1;
    uint32_t n = taps < axis->in ? (uint32_t)taps : axis->in;
    return (n + PACK_RESAMPLE_GROUP - 1) / PACK_RESAMPLE_GROUP * PACK_RESAMPLE_GROUP;
}

void
pack_resample_span(const struct pack_resample_axis *axis, uint32_t *from, uint32_t *n)
{
    double scale, filter_scale, support = axis_support(axis, &scale, &filter_scale);
    double low = floor(axis->from + axis->first * scale - support) - 1;
    double high =
        ceil(axis->from + ((double)axis->first + axis->n) * scale + support) + 1;
    *from = low > 0 ? (uint32_t)low : 0;
    *n = (high < axis->in ? (uint32_t)high : axis->in) - *from;
}

/* A table's one allocation: first, count, k, halves, digits. */
bool
pack_resample_table_bytes(const struct pack_resample_axis *axis, uint64_t *bytes)
{
    uint64_t per_output, taps = pack_resample_taps(axis);
    size_t per_tap = sizeof(int32_t) + 2 * sizeof(int16_t) + PACK_RESAMPLE_DIGITS;
    return pack_size_mul(taps, per_tap, &per_output) &&
           pack_size_add(per_output, 2 * sizeof(uint32_t), &per_output) &&
           pack_size_mul(axis->n, per_output, bytes) && *bytes <= SIZE_MAX;
}

/* Puts down coefficient x of output i, in all forms. */
static void
put_coefficient(struct pack_resample_table *table, uint32_t i, uint32_t x, int32_t k)
{
    uint32_t place = x % PACK_RESAMPLE_GROUP;
    size_t first = (size_t)i * table->taps + (x - place); /* of its group */
    int16_t *halves = table->halves + 2 * first + place;
    int8_t *digits = table->digits + PACK_RESAMPLE_DIGITS * first + place;
    table->k[first + place] = k;
    halves[0] = (int16_t)(k >> PACK_RESAMPLE_SPLIT);
    halves[PACK_RESAMPLE_GROUP] = (int16_t)(k & ((1 << PACK_RESAMPLE_SPLIT) - 1));
    for (int d = 0; d < PACK_RESAMPLE_DIGITS; d++) { /* from -128 to 127 */
        *digits = (int8_t)(k & 0xff);
        k = (k - *digits) / 256;
        digits += PACK_RESAMPLE_GROUP;
    }
}

/* Pillow's precompute_coeffs() and normalize_coeffs_8bpc() for output i of the window. */
static void
fill_output(const struct pack_resample_axis *axis, struct pack_resample_table *table,
            double *weights, uint32_t i)
{
    uint32_t place = axis->flips ? axis->n - 1 - i : i;
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
    for (uint32_t x = 0; x < table->taps; x++) {
        double weight = x >= count ? 0 : total != 0.0 ? weights[x] / total : weights[x];
        double fixed = weight * (1 << PACK_RESAMPLE_BITS);
        put_coefficient(table, place, x, (int32_t)(weight < 0 ? fixed - 0.5 : fixed + 0.5));
    }
    table->first[place] = (uint32_t)low;
    table->count[place] = count;
}

/* -------------------------------------------------------------- tables that are kept */

static bool
axis_equal(const struct pack_resample_axis *a, const struct pack_resample_axis *b)
{
    return a->in == b->in && a->out == b->out && a->first == b->first && a->n == b->n &&
           a->from == b->from && a->to == b->to && a->filter == b->filter &&
           a->flips == b->flips;
}

static void
slot_drop(struct pack_resample_slot *slot)
{
    free(slot->table.first);
    memset(slot, 0, sizeof *slot);
}

/* Drops tables that were not used in this job, oldest first, until one slot is free and
 * `bytes` more fit. Two slots are in use at most, so one is always found. */
static struct pack_resample_slot *
make_room(struct pack_resample_tables *tables, size_t bytes)
{
    for (;;) {
        struct pack_resample_slot *empty = NULL, *oldest = NULL;
        size_t kept = 0;
        for (int i = 0; i < PACK_RESAMPLE_TABLES; i++) {
            struct pack_resample_slot *s = &tables->slots[i];
            kept += s->bytes;
            if (!s->used)
                empty = s;
            else if (s->used < tables->now && (!oldest || s->used < oldest->used))
                oldest = s;
        }
        if (empty && (!oldest || (bytes <= PACK_RESAMPLE_KEPT &&
                                  kept <= PACK_RESAMPLE_KEPT - bytes)))
            return empty;
        slot_drop(oldest);
    }
}

static struct pack_resample_slot *
find(struct pack_resample_tables *tables, const struct pack_resample_axis *axis)
{
    for (int i = 0; i < PACK_RESAMPLE_TABLES; i++)
        if (tables->slots[i].used && axis_equal(&tables->slots[i].axis, axis))
            return &tables->slots[i];
    return NULL;
}

/* A new table in a free slot; NULL without memory. */
static struct pack_resample_slot *
make(struct pack_resample_tables *tables, const struct pack_resample_axis *axis)
{
    struct pack_resample_table table = { .n = axis->n, .taps = pack_resample_taps(axis) };
    uint64_t bytes;
    double *weights = malloc(table.taps * sizeof *weights);
    if (!weights || !pack_resample_table_bytes(axis, &bytes))
        goto out;
    struct pack_resample_slot *slot = make_room(tables, bytes);
    table.first = malloc(bytes);
    if (!table.first)
        goto out;
    table.count = table.first + table.n;
    table.k = (int32_t *)(table.count + table.n);
    table.halves = (int16_t *)(table.k + (size_t)table.n * table.taps);
    table.digits = (int8_t *)(table.halves + 2 * (size_t)table.n * table.taps);
    for (uint32_t i = 0; i < table.n; i++)
        fill_output(axis, &table, weights, i);
    *slot = (struct pack_resample_slot){ *axis, table, bytes, 0 };
    free(weights);
    return slot;
out:
    free(weights);
    return NULL;
}

const struct pack_resample_table *
pack_resample_tables_get(struct pack_resample_tables *tables,
                         const struct pack_resample_axis *axis)
{
    struct pack_resample_slot *slot = find(tables, axis);
    if (!slot)
        slot = make(tables, axis);
    if (!slot)
        return NULL;
    slot->used = tables->now;
    return &slot->table;
}

void
pack_resample_tables_done(struct pack_resample_tables *tables)
{
    for (int i = 0; i < PACK_RESAMPLE_TABLES; i++)
        slot_drop(&tables->slots[i]);
}
