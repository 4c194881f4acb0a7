/*
 * Cutting costs nothing: what is made is written by rows, from wherever they begin in the
 * sample, to the left where it is flipped, through a table of 256 values where it is
 * normalised. Resizing is libpack/image's, in between, and flips by itself; it wants pixels
 * of one or three channels, other numbers of them go through it one by one.
 */
#include "libpack/reader/transform.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/base/rng.h"
#include "libpack/base/size.h"
#include "libpack/hdf5/facts_layout.h"
#include "libpack/image/pixel.h"
#include "libpack/image/resample.h"

enum { TRIES = 10 };
static const uint64_t PURPOSE = UINT64_C(0x7472616e73666f72); /* of these random numbers */

struct pack_transform_hand {
    struct pack_resample_scratch *scratch; /* NULL: nothing is resized */
    unsigned char *part, *made;            /* planes of a part; resized */
};

/* -------------------------------------------------------------- what is asked for */

static enum pack_status
check_range(const char *name, double *range, double least, double most, double from,
            double to, struct pack_error *err)
{
    if (range[0] == 0 && range[1] == 0) {
        range[0] = from;
        range[1] = to;
    }
    for (int i = 0; i < 2; i++) {
        enum pack_status status = pack_check_number(name, range[i], least, most, err);
        if (status != PACK_OK)
            return status;
    }
    return range[0] <= range[1]
               ? PACK_OK
               : pack_fail_param(err, PACK_ERR_ARGUMENT, name, "%g is more than %g",
                                 range[0], range[1]);
}

static enum pack_status
check_numbers(struct pack_reader_transform *asked, struct pack_error *err)
{
    static const double SMALL = 1e-6, LARGE = 1e6;
    enum pack_status status =
        pack_check_choice("crop", (int)asked->crop, PACK_READER_CROP_RESIZED + 1, err);
    if (status == PACK_OK)
        status =
            pack_check_choice("filter", (int)asked->filter, PACK_RESAMPLE_LANCZOS + 1, err);
    if (status == PACK_OK)
        status = pack_check_choice("channels", (int)asked->channels,
                                   PACK_READER_CHANNELS_FIRST + 1, err);
    if (status == PACK_OK)
        status = pack_check_choice("values", (int)asked->values, PACK_READER_BF16 + 1, err);
    if (status == PACK_OK)
        status = pack_check_number("flip", asked->flip, 0, 1, err);
    if (status == PACK_OK)
        status = pack_check_count("height", asked->height, PACK_GEOMETRY_MAX, err);
    if (status == PACK_OK)
        status = pack_check_count("width", asked->width, PACK_GEOMETRY_MAX, err);
    if (status == PACK_OK)
        status = check_range("scale", asked->scale, SMALL, 1, 0.08, 1, err);
    return status == PACK_OK
               ? check_range("ratio", asked->ratio, SMALL, LARGE, 3. / 4, 4. / 3, err)
               : status;
}

/* Height, width and channels of the images. */
static enum pack_status
set_image(struct pack_transform *t, const struct pack_facts *facts,
          const struct pack_shape *sample, struct pack_error *err)
{
    char text[PACK_SHAPE_TEXT_MAX], type[PACK_TYPE_TEXT_MAX];
    const uint64_t *n = sample->extent;
    const struct pack_type *t_file = &facts->type;
    enum pack_facts_layout layout = pack_facts_layout(facts);
    bool is_byte = t_file->class_id == PACK_TYPE_INTEGER && t_file->bytes == 1 &&
                   !t_file->is_signed;
    bool is_gray = sample->rank == 3;
    t->rank = sample->rank;
    if (!is_byte || n[0] != 1 || (!is_gray && layout == PACK_FACTS_UNKNOWN))
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "transform",
                               "'%s' of %s %s has no images of bytes, N x H x W x C, "
                               "N x C x H x W or N x H x W, as far as can be seen",
                               facts->path, pack_shape_format(&facts->extent, text),
                               pack_type_format(t_file, type));
    t->is_planes = !is_gray && layout == PACK_FACTS_NCHW;
    int first = t->is_planes ? 2 : 1;
    uint64_t h = n[first], w = n[first + 1], c = is_gray ? 1 : n[t->is_planes ? 1 : 3];
    if (h > PACK_GEOMETRY_MAX || w > PACK_GEOMETRY_MAX || c > PACK_READER_CHANNELS_MAX)
        return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "transform",
                               "images of %s are larger than %d x %d with %d channels",
                               pack_shape_format(sample, text), PACK_GEOMETRY_MAX,
                               PACK_GEOMETRY_MAX, PACK_READER_CHANNELS_MAX);
    t->in_h = (uint32_t)h;
    t->in_w = (uint32_t)w;
    t->channels = (uint32_t)c;
    return PACK_OK;
}

static bool
is_resized(const struct pack_transform *t)
{
    return t->asked.crop == PACK_READER_CROP_RESIZED ||
           (t->asked.crop == PACK_READER_CROP_NONE &&
            (t->out_h != t->in_h || t->out_w != t->in_w));
}

static enum pack_status
set_size(struct pack_transform *t, struct pack_error *err)
{
    struct pack_reader_transform *a = &t->asked;
    bool has_size = a->height > 0 && a->width > 0;
    if (!has_size && (a->height > 0 || a->width > 0 || a->crop != PACK_READER_CROP_NONE))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, a->height > 0 ? "width" : "height",
                               "0 is no size");
    bool is_cut = a->crop == PACK_READER_CROP_CENTRE || a->crop == PACK_READER_CROP_RANDOM;
    if (is_cut && (a->height > t->in_h || a->width > t->in_w))
        return pack_fail_param(err, PACK_ERR_ARGUMENT,
                               a->height > t->in_h ? "height" : "width",
                               "%" PRIu32 " x %" PRIu32 " cannot be cut out of images of "
                               "%" PRIu32 " x %" PRIu32,
                               a->height, a->width, t->in_h, t->in_w);
    t->out_h = has_size ? a->height : t->in_h;
    t->out_w = has_size ? a->width : t->in_w;
    return PACK_OK;
}

static bool
are_zero(const double *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != 0)
            return false;
    return true;
}

static enum pack_status
set_values(struct pack_transform *t, const struct pack_facts *facts, struct pack_error *err)
{
    static const enum pack_precision precisions[] = { [PACK_READER_FP32] = PACK_FP32,
                                                      [PACK_READER_FP16] = PACK_FP16,
                                                      [PACK_READER_BF16] = PACK_BF16 };
    struct pack_reader_transform *a = &t->asked;
    struct pack_normalise normalise = { .channels = t->channels };
    bool has_own = facts->n_mean == (int)t->channels && facts->n_std == (int)t->channels;
    t->value_bytes = 1;
    if (a->values == PACK_READER_BYTES)
        return PACK_OK;
    for (uint32_t c = 0; are_zero(a->std, t->channels) && c < t->channels; c++)
        a->mean[c] = has_own ? facts->mean[c] : 0;
    if (are_zero(a->std, t->channels))
        for (uint32_t c = 0; c < t->channels; c++)
            a->std[c] = has_own ? facts->std[c] : 255;
    normalise.precision = precisions[a->values];
    t->value_bytes = pack_precision_bytes(normalise.precision);
    enum pack_status status = pack_normalise_set(&normalise, a->mean, a->std, err);
    if (status != PACK_OK)
        return pack_error_param(err, status, "std");
    pack_normalise_table(&normalise, &t->table);
    return PACK_OK;
}

enum pack_status
pack_transform_init(struct pack_transform *t, const struct pack_reader_transform *asked,
                    const struct pack_facts *facts, const struct pack_shape *sample,
                    uint64_t seed, struct pack_error *err)
{
    memset(t, 0, sizeof *t);
    t->asked = *asked;
    t->seed = seed;
    enum pack_status status = check_numbers(&t->asked, err);
    if (status == PACK_OK)
        status = set_image(t, facts, sample, err);
    if (status == PACK_OK)
        status = set_size(t, err);
    if (status == PACK_OK)
        status = set_values(t, facts, err);
    if (status != PACK_OK)
        return status;
    t->makes_planes = asked->channels == PACK_READER_CHANNELS_KEEP
                          ? t->is_planes
                          : asked->channels == PACK_READER_CHANNELS_FIRST;
    t->out_bytes = (size_t)t->out_h * t->out_w * t->channels * t->value_bytes;
    return PACK_OK;
}

enum pack_status
pack_reader_transform_check(const struct pack_reader_transform *asked,
                            const struct pack_facts *facts, const struct pack_shape *sample,
                            struct pack_error *err)
{
    if (!asked || !facts || !sample)
        return pack_check_given(err, "transform", asked, "facts", facts, "sample", sample,
                                NULL);
    if (sample->rank < 1 || sample->rank > PACK_RANK_MAX ||
        sample->rank != facts->extent.rank)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "sample",
                               "it has %d axes, and the dataset %d", sample->rank,
                               facts->extent.rank);
    struct pack_transform *transform = malloc(sizeof *transform);
    if (!transform)
        return pack_fail_memory(err, "transform");
    enum pack_status status = pack_transform_init(transform, asked, facts, sample, 0, err);
    free(transform);
    return status;
}

void
pack_transform_shape(const struct pack_transform *t, struct pack_shape *shape)
{
    const uint64_t h = t->out_h, w = t->out_w, c = t->channels;
    *shape = (struct pack_shape){ .rank = t->rank, .extent = { 1, h, w, c } };
    if (t->rank == 4 && t->makes_planes)
        *shape = (struct pack_shape){ .rank = 4, .extent = { 1, c, h, w } };
}

/* ------------------------------------------------------------------------ random */

/* From a to b. */
static double
uniform(struct pack_rng *rng, const double *range)
{
    return range[0] + (range[1] - range[0]) * pack_rng_unit(rng);
}

static void
place_centre(const struct pack_transform *t, struct pack_transform_drawn *d)
{
    d->y = (t->in_h - d->h) / 2;
    d->x = (t->in_w - d->w) / 2;
}

static void
place_anywhere(const struct pack_transform *t, struct pack_rng *rng,
               struct pack_transform_drawn *d)
{
    d->y = (uint32_t)pack_rng_below(rng, (uint64_t)t->in_h - d->h + 1);
    d->x = (uint32_t)pack_rng_below(rng, (uint64_t)t->in_w - d->w + 1);
}

static uint32_t
side(double length, uint32_t most)
{
    double whole = rint(length);
    return whole < 1 ? 1 : whole > most ? most : (uint32_t)whole;
}

/* torchvision's RandomResizedCrop.get_params(). */
static void
draw_part(const struct pack_transform *t, struct pack_rng *rng,
          struct pack_transform_drawn *d)
{
    const double *ratio = t->asked.ratio;
    const double logs[] = { log(ratio[0]), log(ratio[1]) };
    double area = (double)t->in_h * t->in_w, own = (double)t->in_w / t->in_h;
    for (int i = 0; i < TRIES; i++) {
        double part = area * uniform(rng, t->asked.scale), aspect = exp(uniform(rng, logs));
        double w = rint(sqrt(part * aspect)), h = rint(sqrt(part / aspect));
        if (w < 1 || w > t->in_w || h < 1 || h > t->in_h)
            continue;
        d->w = (uint32_t)w;
        d->h = (uint32_t)h;
        place_anywhere(t, rng, d);
        return;
    }
    d->w = own > ratio[1] ? side(t->in_h * ratio[1], t->in_w) : t->in_w;
    d->h = own < ratio[0] ? side(t->in_w / ratio[0], t->in_h) : t->in_h;
    place_centre(t, d);
}

void
pack_transform_draw(const struct pack_transform *t, uint64_t epoch, uint64_t sample,
                    struct pack_transform_drawn *d)
{
    struct pack_rng rng;
    uint64_t seed = pack_rng_mix(pack_rng_mix(t->seed ^ PURPOSE, epoch), sample);
    pack_rng_seed(&rng, seed);
    *d = (struct pack_transform_drawn){ .h = t->in_h, .w = t->in_w };
    d->flips = pack_rng_unit(&rng) < t->asked.flip;
    switch (t->asked.crop) {
    case PACK_READER_CROP_NONE: break;
    case PACK_READER_CROP_CENTRE:
        d->h = t->out_h;
        d->w = t->out_w;
        place_centre(t, d);
        break;
    case PACK_READER_CROP_RANDOM:
        d->h = t->out_h;
        d->w = t->out_w;
        place_anywhere(t, &rng, d);
        break;
    case PACK_READER_CROP_RESIZED: draw_part(t, &rng, d); break;
    }
}

/* ------------------------------------------------------------------------- hands */

/* The resizing of a part. */
static enum pack_status
plan_part(const struct pack_transform *t, uint32_t h, uint32_t w,
          struct pack_geometry_plan *plan, struct pack_error *err)
{
    const struct pack_geometry geometry = { .size_h = t->out_h,
                                            .size_w = t->out_w,
                                            .fit = PACK_FIT_STRETCH,
                                            .filter = t->asked.filter };
    return pack_geometry_plan_make(&geometry, w, h, plan, err);
}

uint64_t
pack_transform_hand_bytes(const struct pack_transform *t)
{
    uint64_t bytes = sizeof(struct pack_transform_hand), in, made;
    struct pack_geometry_plan plan;
    if (!is_resized(t))
        return bytes;
    if (plan_part(t, t->in_h, t->in_w, &plan, NULL) != PACK_OK ||
        !pack_size_mul((uint64_t)t->in_h * t->in_w, t->channels, &in) ||
        !pack_size_mul((uint64_t)t->out_h * t->out_w, t->channels, &made) ||
        !pack_size_add(bytes, in, &bytes) || !pack_size_add(bytes, made, &bytes) ||
        !pack_size_add(bytes, pack_resample_bytes(&plan), &bytes))
        return UINT64_MAX;
    return bytes;
}

enum pack_status
pack_transform_hand_new(const struct pack_transform *t, struct pack_transform_hand **out,
                        struct pack_error *err)
{
    struct pack_transform_hand *hand = calloc(1, sizeof *hand);
    enum pack_status status = PACK_OK;
    if (!hand)
        return pack_fail_memory(err, "a thread that transforms");
    if (is_resized(t)) {
        hand->part = malloc((size_t)t->in_h * t->in_w * t->channels);
        hand->made = malloc((size_t)t->out_h * t->out_w * t->channels);
        status = hand->part && hand->made
                     ? pack_resample_scratch_new(&hand->scratch, err)
                     : pack_fail_memory(err, "a thread that transforms");
    }
    if (status == PACK_OK)
        *out = hand;
    else
        pack_transform_hand_free(hand);
    return status;
}

void
pack_transform_hand_free(struct pack_transform_hand *hand)
{
    if (!hand)
        return;
    pack_resample_scratch_free(hand->scratch);
    free(hand->part);
    free(hand->made);
    free(hand);
}

/* ---------------------------------------------------------------------- one sample */

/* Pixels somewhere in memory: of (y, x, c) at y * row + x * pixel + c * channel. */
struct pixels {
    const unsigned char *first;
    size_t row, pixel, channel;
    bool is_planes;
};

static struct pixels
pixels_of(const unsigned char *first, bool is_planes, uint32_t h, uint32_t w, uint32_t c)
{
    return is_planes ? (struct pixels){ first, w, 1, (size_t)h * w, true }
                     : (struct pixels){ first, (size_t)w * c, c, 1, false };
}

/* Planes of a part, whose channels the resampler does not take as they lie. */
static void
gather(const struct pack_transform *t, struct pack_transform_hand *hand,
       const struct pack_transform_drawn *d, struct pixels *pixels)
{
    unsigned char *to = hand->part;
    for (uint32_t c = 0; c < t->channels; c++)
        for (uint32_t y = 0; y < d->h; y++) {
            const unsigned char *row =
                pixels->first + c * pixels->channel + y * pixels->row;
            for (uint32_t x = 0; x < d->w; x++)
                *to++ = row[x * pixels->pixel];
        }
    *pixels = pixels_of(hand->part, true, d->h, d->w, t->channels);
}

/* Resizes and flips the part, to `to`, where *pixels are then. */
static enum pack_status
resize(const struct pack_transform *t, struct pack_transform_hand *hand,
       const struct pack_transform_drawn *d, struct pixels *pixels, unsigned char *to,
       struct pack_error *err)
{
    struct pack_geometry_plan plan;
    if (!pixels->is_planes && t->channels != 1 && t->channels != 3)
        gather(t, hand, d, pixels);
    bool is_planes = pixels->is_planes;
    size_t made = (size_t)t->out_h * t->out_w;
    struct pack_image image = { .width = d->w,
                                .height = d->h,
                                .channels = is_planes ? 1 : (int)t->channels };
    enum pack_status status = plan_part(t, d->h, d->w, &plan, err);
    plan.flips = d->flips;
    for (uint32_t c = 0; c < (is_planes ? t->channels : 1) && status == PACK_OK; c++) {
        image.pixels = (uint8_t *)(uintptr_t)(pixels->first + c * pixels->channel);
        status = pack_resample_part(&image, pixels->row, &plan, PACK_PIXEL_NHWC,
                                    to + c * made, hand->scratch, err);
    }
    *pixels = pixels_of(to, is_planes, t->out_h, t->out_w, t->channels);
    return status;
}

/* A row of one channel; from_step is negative where it is flipped. */
static void
put_row(const struct pack_transform *t, uint32_t c, const unsigned char *from,
        ptrdiff_t from_step, void *out, size_t to_step)
{
    const uint32_t *value = t->table.value[c];
    uint32_t n = t->out_w;
    if (t->value_bytes == 1) {
        unsigned char *to = out;
        for (uint32_t x = 0; x < n; x++, from += from_step)
            to[x * to_step] = *from;
    } else if (t->value_bytes == 2) {
        uint16_t *to = out;
        for (uint32_t x = 0; x < n; x++, from += from_step)
            to[x * to_step] = (uint16_t)value[*from];
    } else {
        uint32_t *to = out;
        for (uint32_t x = 0; x < n; x++, from += from_step)
            to[x * to_step] = value[*from];
    }
}

static void
put(const struct pack_transform *t, const struct pixels *from, bool flips,
    unsigned char *out)
{
    bool as_pixels = t->value_bytes == 1 && !from->is_planes && !t->makes_planes;
    bool as_stored = t->value_bytes == 1 && !flips && from->is_planes == t->makes_planes;
    bool turns = as_pixels && flips && t->channels == 3;
    uint32_t n = as_pixels && (as_stored || turns) ? 1 : t->channels; /* rows of a row */
    size_t plane = (size_t)t->out_h * t->out_w, row = t->out_w;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t y = 0; y < t->out_h; y++) {
            const unsigned char *in = from->first + y * from->row + c * from->channel;
            size_t to = t->makes_planes ? c * plane + y * row : y * row * t->channels + c;
            if (as_stored) {
                memcpy(out + to, in, from->is_planes ? row : row * t->channels);
                continue;
            }
            if (turns) {
                pack_pixel_flip(in, row, out + to);
                continue;
            }
            put_row(t, c, flips ? in + (row - 1) * from->pixel : in,
                    flips ? -(ptrdiff_t)from->pixel : (ptrdiff_t)from->pixel,
                    out + to * t->value_bytes, t->makes_planes ? 1 : t->channels);
        }
}

void
pack_transform_wanted(const struct pack_transform *t, const struct pack_transform_drawn *d,
                      uint64_t *first, uint64_t *n)
{
    struct pixels all = pixels_of(NULL, t->is_planes, t->in_h, t->in_w, t->channels);
    uint64_t planes = t->is_planes ? (uint64_t)(t->channels - 1) * all.channel : 0;
    *first = d->y * (uint64_t)all.row;
    *n = planes + d->h * (uint64_t)all.row;
}

enum pack_status
pack_transform_apply(const struct pack_transform *t, struct pack_transform_hand *hand,
                     const struct pack_transform_drawn *d, const unsigned char *sample,
                     void *out, struct pack_error *err)
{
    struct pixels pixels = pixels_of(sample, t->is_planes, t->in_h, t->in_w, t->channels);
    enum pack_status status = PACK_OK;
    pixels.first += d->y * pixels.row + d->x * pixels.pixel;
    bool as_planes = pixels.is_planes || (t->channels != 1 && t->channels != 3);
    bool is_last = t->value_bytes == 1 && as_planes == t->makes_planes;
    if (!is_resized(t))
        put(t, &pixels, d->flips, out);
    else
        status = resize(t, hand, d, &pixels, is_last ? out : hand->made, err);
    if (is_resized(t) && !is_last && status == PACK_OK)
        put(t, &pixels, false, out);
    return status;
}
