/*
 * Pillow's and torchvision's rounding, written out once.
 *
 * Everything is done in doubles in the order in which their Python code does it, because
 * the last bit of a ratio decides whether a side has 223 or 224 pixels.
 */
#include "libpack/base/check.h"
#include "libpack/image/geometry.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "libpack/base/size.h"

static const char *const filter_names[] = {
    [PACK_RESAMPLE_BILINEAR] = "bilinear", [PACK_RESAMPLE_NEAREST] = "nearest",
    [PACK_RESAMPLE_BOX] = "box",           [PACK_RESAMPLE_HAMMING] = "hamming",
    [PACK_RESAMPLE_BICUBIC] = "bicubic",   [PACK_RESAMPLE_LANCZOS] = "lanczos",
};
static const char *const fit_names[] = {
    [PACK_FIT_CROP] = "crop",
    [PACK_FIT_PAD] = "pad",
    [PACK_FIT_STRETCH] = "stretch",
};
enum {
    N_FILTERS = sizeof filter_names / sizeof filter_names[0],
    N_FITS = sizeof fit_names / sizeof fit_names[0]
};

/* Index of a name in a table, or -1. */
static int
find(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

enum pack_status
pack_resample_filter_parse(const char *name, enum pack_resample_filter *filter,
                           struct pack_error *err)
{
    if (!name || !filter)
        return pack_check_given(err, "name", name, "filter", filter, NULL);
    int i = find(name, filter_names, N_FILTERS);
    if (i < 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "unknown filter '%s': nearest, box, bilinear, hamming, bicubic "
                         "and lanczos are known",
                         name);
    *filter = (enum pack_resample_filter)i;
    return PACK_OK;
}

const char *
pack_resample_filter_name(enum pack_resample_filter filter)
{
    return (unsigned)filter < N_FILTERS ? filter_names[filter] : "unknown";
}

enum pack_status
pack_fit_parse(const char *name, enum pack_fit *fit, struct pack_error *err)
{
    if (!name || !fit)
        return pack_check_given(err, "name", name, "fit", fit, NULL);
    int i = find(name, fit_names, N_FITS);
    if (i < 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "unknown fit '%s': crop, pad and stretch are known", name);
    *fit = (enum pack_fit)i;
    return PACK_OK;
}

const char *
pack_fit_name(enum pack_fit fit)
{
    return (unsigned)fit < N_FITS ? fit_names[fit] : "unknown";
}

static enum pack_status
check_side(uint32_t side, const char *param, const char *what, struct pack_error *err)
{
    if (side > PACK_GEOMETRY_MAX)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, param,
                               "%s of %u pixels is over the limit of %d", what, side,
                               PACK_GEOMETRY_MAX);
    return PACK_OK;
}

enum pack_status
pack_geometry_check(const struct pack_geometry *g, struct pack_error *err)
{
    if (!g)
        return pack_check_given(err, "geometry", g, NULL);
    if (!g->size_h != !g->size_w)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "size_h",
                               "size %ux%u has an empty side", g->size_h, g->size_w);
    if (!g->crop_h != !g->crop_w)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "crop_h",
                               "crop %ux%u has an empty side", g->crop_h, g->crop_w);
    if (g->size_h && (g->shorter || g->crop_h))
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "size_h",
                               "a size and a %s cannot be asked for together",
                               g->shorter ? "shorter side" : "crop");
    if (g->draft && !g->size_h && !g->shorter)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "draft",
                               "a draft is for images that are resized, and no size is "
                               "asked for");
    enum pack_status status = pack_check_choice("filter", (int)g->filter, N_FILTERS, err);
    if (status == PACK_OK)
        status = pack_check_choice("fit", (int)g->fit, N_FITS, err);
    if (status != PACK_OK)
        return status;
    const struct {
        uint32_t side;
        const char *param, *what;
    } sides[] = {
        { g->size_h, "size_h", "a height" },
        { g->size_w, "size_w", "a width" },
        { g->shorter, "shorter", "a shorter side" },
        { g->crop_h, "crop_h", "a crop's height" },
        { g->crop_w, "crop_w", "a crop's width" },
    };
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        status = check_side(sides[i].side, sides[i].param, sides[i].what, err);
        if (status)
            return status;
    }
    return PACK_OK;
}

bool
pack_geometry_fixed(const struct pack_geometry *g, uint32_t *out_h, uint32_t *out_w)
{
    if (!g->size_h && !g->crop_h)
        return false;
    *out_h = g->size_h ? g->size_h : g->crop_h;
    *out_w = g->size_h ? g->size_w : g->crop_w;
    return true;
}

/* ImageOps.fit(): the largest centred box of the output's aspect ratio. */
static void
fit_crop(const struct pack_geometry *g, struct pack_geometry_plan *plan)
{
    double w = plan->source_w, h = plan->source_h;
    double live = w / h, wanted = (double)g->size_w / g->size_h;
    double crop_w = w, crop_h = h;
    if (live > wanted)
        crop_w = wanted * h;
    else if (live < wanted)
        crop_h = w / wanted;
    double left = (w - crop_w) * 0.5, top = (h - crop_h) * 0.5;
    plan->box[0] = left;
    plan->box[1] = top;
    plan->box[2] = fmin(left + crop_w, w);
    plan->box[3] = fmin(top + crop_h, h);
}

/* ImageOps.pad(): the largest size of the source's aspect ratio, centred. */
static void
fit_pad(const struct pack_geometry *g, struct pack_geometry_plan *plan)
{
    double w = plan->source_w, h = plan->source_h;
    double ratio = w / h, wanted = (double)g->size_w / g->size_h;
    if (ratio > wanted)
        plan->resized_h = (uint32_t)fmax(1, rint(h / w * g->size_w));
    else if (ratio < wanted)
        plan->resized_w = (uint32_t)fmax(1, rint(w / h * g->size_h));
    plan->pad_x = (uint32_t)rint((g->size_w - plan->resized_w) * 0.5);
    plan->pad_y = (uint32_t)rint((g->size_h - plan->resized_h) * 0.5);
}

/* torchvision's Resize(N): the long side is cut to a whole number, not rounded. */
static enum pack_status
resize_shorter(uint32_t shorter, struct pack_geometry_plan *plan, struct pack_error *err)
{
    uint32_t w = plan->source_w, h = plan->source_h;
    uint32_t small = w < h ? w : h, large = w < h ? h : w;
    /* exact: the product is below 2^48 */
    double longer = floor((double)((uint64_t)shorter * large) / small);
    if (longer > INT_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "%ux%u with its shorter side scaled to %u would be %.0f pixels "
                         "long, the limit is %d",
                         w, h, shorter, longer, INT_MAX);
    plan->resized_w = w <= h ? shorter : (uint32_t)longer;
    plan->resized_h = w <= h ? (uint32_t)longer : shorter;
    return PACK_OK;
}

/* torchvision's CenterCrop along one axis. */
static void
crop_axis(uint32_t resized, uint32_t crop, uint32_t *window, uint32_t *count,
          uint32_t *pad)
{
    if (crop > resized) {
        *window = 0;
        *count = resized;
        *pad = (crop - resized) / 2;
        return;
    }
    *window = (uint32_t)rint((resized - crop) / 2.0);
    *count = crop;
    *pad = 0;
}

enum pack_status
pack_geometry_plan_make(const struct pack_geometry *g, uint32_t w, uint32_t h,
                        struct pack_geometry_plan *plan, struct pack_error *err)
{
    enum pack_status status = pack_geometry_check(g, err);
    if (status)
        return status;
    if (!w || !h || w > INT_MAX || h > INT_MAX)
        return pack_fail(err, PACK_ERR_ARGUMENT, "an image of %ux%u pixels cannot be", w,
                         h);
    struct pack_geometry_plan p = {
        .source_w = w,
        .source_h = h,
        .box = { 0, 0, w, h },
        .resized_w = w,
        .resized_h = h,
        .filter = g->filter,
        .reduce = 1,
    };
    if (g->size_h) {
        p.resized_w = g->size_w;
        p.resized_h = g->size_h;
        if (g->fit == PACK_FIT_CROP)
            fit_crop(g, &p);
        else if (g->fit == PACK_FIT_PAD)
            fit_pad(g, &p);
    } else if (g->shorter) {
        status = resize_shorter(g->shorter, &p, err);
        if (status)
            return status;
    }
    p.window_w = p.resized_w;
    p.window_h = p.resized_h;
    if (g->crop_h) {
        crop_axis(p.resized_w, g->crop_w, &p.window_x, &p.window_w, &p.pad_x);
        crop_axis(p.resized_h, g->crop_h, &p.window_y, &p.window_h, &p.pad_y);
    }
    if (!pack_geometry_fixed(g, &p.out_h, &p.out_w)) {
        p.out_h = p.resized_h;
        p.out_w = p.resized_w;
    }
    uint64_t bytes;
    if (!pack_size_mul((uint64_t)p.out_h * p.out_w, 3, &bytes) || bytes > INT_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "a sample of %ux%u pixels is over the limit of %d bytes",
                         p.out_w, p.out_h, INT_MAX);
    *plan = p;
    return PACK_OK;
}

/* The scale that JpegImageFile.draft() takes for an image of w x h pixels. */
static int
draft_scale(uint32_t w, uint32_t h, const struct pack_geometry_plan *whole)
{
    uint32_t across = w / whole->resized_w, down = h / whole->resized_h;
    uint32_t scale = across < down ? across : down;
    return scale >= 8 ? 8 : scale >= 4 ? 4 : scale >= 2 ? 2 : 1;
}

enum pack_status
pack_geometry_plan_image(const struct pack_geometry *g,
                         const struct pack_image_info *info,
                         struct pack_geometry_plan *plan, struct pack_error *err)
{
    struct pack_geometry_plan whole;
    enum pack_status status =
        pack_geometry_plan_make(g, info->width, info->height, &whole, err);
    if (status)
        return status;
    uint32_t by = 1;
    if (g->draft && info->format == PACK_IMAGE_JPEG)
        by = (uint32_t)draft_scale(info->width, info->height, &whole);
    if (by > 1)
        status = pack_geometry_plan_make(g, (info->width - 1) / by + 1,
                                         (info->height - 1) / by + 1, &whole, err);
    if (status)
        return status;
    whole.reduce = (int)by;
    *plan = whole;
    return PACK_OK;
}
