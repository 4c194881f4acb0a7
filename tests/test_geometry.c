/* Geometry: plans against numbers worked out with Pillow 9.4 and torchvision 0.14, and
 * what is refused. Sums over pixels against the obvious loop. */
#include "config.h"

#include "libpack/image/geometry.h"
#include "libpack/image/pixel_parts.h"

#include "tests/tap.h"

struct expected {
    const char *what;
    struct pack_geometry g;
    uint32_t w, h;
    double box[4];
    uint32_t resized_w, resized_h, window_x, window_y, window_w, window_h, pad_x, pad_y;
    uint32_t out_w, out_h;
};

static const struct expected plans[] = {
    { "nothing asked for keeps the size",
      { 0 },
      500,
      375,
      { 0, 0, 500, 375 },
      500,
      375,
      0,
      0,
      500,
      375,
      0,
      0,
      500,
      375 },
    { "stretch takes the whole image",
      { .size_h = 224, .size_w = 100, .fit = PACK_FIT_STRETCH },
      500,
      375,
      { 0, 0, 500, 375 },
      100,
      224,
      0,
      0,
      100,
      224,
      0,
      0,
      100,
      224 },
    { "fit crops the sides of a wide image",
      { .size_h = 224, .size_w = 224 },
      500,
      375,
      { 62.5, 0, 437.5, 375 },
      224,
      224,
      0,
      0,
      224,
      224,
      0,
      0,
      224,
      224 },
    { "fit crops top and bottom of a tall image",
      { .size_h = 100, .size_w = 200 },
      300,
      400,
      { 0, 125, 300, 275 },
      200,
      100,
      0,
      0,
      200,
      100,
      0,
      0,
      200,
      100 },
    { "fit crops nothing at the same ratio",
      { .size_h = 30, .size_w = 40 },
      400,
      300,
      { 0, 0, 400, 300 },
      40,
      30,
      0,
      0,
      40,
      30,
      0,
      0,
      40,
      30 },
    { "pad puts a wide image in the middle",
      { .size_h = 224, .size_w = 224, .fit = PACK_FIT_PAD },
      500,
      375,
      { 0, 0, 500, 375 },
      224,
      168,
      0,
      0,
      224,
      168,
      0,
      28,
      224,
      224 },
    { "pad rounds half an offset to even",
      { .size_h = 10, .size_w = 10, .fit = PACK_FIT_PAD },
      10,
      5,
      { 0, 0, 10, 5 },
      10,
      5,
      0,
      0,
      10,
      5,
      0,
      2,
      10,
      10 },
    { "pad rounds half a side to even",
      { .size_h = 5, .size_w = 5, .fit = PACK_FIT_PAD },
      4,
      2,
      { 0, 0, 4, 2 },
      5,
      2,
      0,
      0,
      5,
      2,
      0,
      2,
      5,
      5 },
    { "pad leaves one pixel of an extreme ratio",
      { .size_h = 24, .size_w = 24, .fit = PACK_FIT_PAD },
      1000,
      1,
      { 0, 0, 1000, 1 },
      24,
      1,
      0,
      0,
      24,
      1,
      0,
      12,
      24,
      24 },
    { "the long side is cut, not rounded",
      { .shorter = 256 },
      500,
      375,
      { 0, 0, 500, 375 },
      341,
      256,
      0,
      0,
      341,
      256,
      0,
      0,
      341,
      256 },
    { "a tall image has its width scaled",
      { .shorter = 256 },
      333,
      500,
      { 0, 0, 333, 500 },
      256,
      384,
      0,
      0,
      256,
      384,
      0,
      0,
      256,
      384 },
    { "the centre is cut out after scaling",
      { .shorter = 256, .crop_h = 224, .crop_w = 224 },
      500,
      375,
      { 0, 0, 500, 375 },
      341,
      256,
      58,
      16,
      224,
      224,
      0,
      0,
      224,
      224 },
    { "half a crop offset goes to even, down",
      { .crop_h = 4, .crop_w = 4 },
      9,
      5,
      { 0, 0, 9, 5 },
      9,
      5,
      2,
      0,
      4,
      4,
      0,
      0,
      4,
      4 },
    { "half a crop offset goes to even, up",
      { .crop_h = 4, .crop_w = 4 },
      7,
      11,
      { 0, 0, 7, 11 },
      7,
      11,
      2,
      4,
      4,
      4,
      0,
      0,
      4,
      4 },
    { "a side smaller than the crop is padded",
      { .crop_h = 8, .crop_w = 9 },
      4,
      20,
      { 0, 0, 4, 20 },
      4,
      20,
      0,
      6,
      4,
      8,
      2,
      0,
      9,
      8 },
};

static bool
is_plan(const struct pack_geometry_plan *p, const struct expected *e)
{
    for (int i = 0; i < 4; i++)
        if (p->box[i] != e->box[i])
            return false;
    return p->resized_w == e->resized_w && p->resized_h == e->resized_h &&
           p->window_x == e->window_x && p->window_y == e->window_y &&
           p->window_w == e->window_w && p->window_h == e->window_h &&
           p->pad_x == e->pad_x && p->pad_y == e->pad_y && p->out_w == e->out_w &&
           p->out_h == e->out_h && p->source_w == e->w && p->source_h == e->h;
}

static void
test_plans(void)
{
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        const struct expected *e = &plans[i];
        struct pack_geometry_plan p = { 0 };
        enum pack_status status = pack_geometry_plan_make(&e->g, e->w, e->h, &p, NULL);
        if (!ok(status == PACK_OK && is_plan(&p, e), "%s", e->what))
            note("box %g %g %g %g resized %ux%u window %u,%u %ux%u pad %u,%u out %ux%u",
                 p.box[0], p.box[1], p.box[2], p.box[3], p.resized_w, p.resized_h,
                 p.window_x, p.window_y, p.window_w, p.window_h, p.pad_x, p.pad_y,
                 p.out_w, p.out_h);
    }
}

static const struct {
    const char *what;
    struct pack_geometry g;
    uint32_t w, h;
    int reduce;
    uint32_t source_w, source_h, resized_w, resized_h;
} drafts[] = {
    { "a photo of 12 megapixels is reduced to an eighth",
      { .shorter = 256, .draft = true }, 4000, 3001, 8, 500, 376, 340, 256 },
    { "and not to a ninth", { .shorter = 16, .draft = true }, 400, 301, 8, 50, 38, 21, 16 },
    { "just twice as large is enough for a half",
      { .size_h = 224, .size_w = 224, .draft = true }, 448, 600, 2, 224, 300, 224, 224 },
    { "and a pixel less is not",
      { .size_h = 224, .size_w = 224, .draft = true }, 447, 600, 1, 447, 600, 224, 224 },
    { "three times are taken as twice",
      { .size_h = 100, .size_w = 100, .fit = PACK_FIT_STRETCH, .draft = true },
      300, 900, 2, 150, 450, 100, 100 },
    { "the smaller ratio decides",
      { .size_h = 50, .size_w = 200, .fit = PACK_FIT_STRETCH, .draft = true },
      900, 900, 4, 225, 225, 200, 50 },
    { "padding asks for what the image will fill",
      { .size_h = 100, .size_w = 100, .fit = PACK_FIT_PAD, .draft = true },
      801, 100, 8, 101, 13, 100, 13 },
    { "an image that is too small is left as it is",
      { .shorter = 256, .draft = true }, 300, 200, 1, 300, 200, 384, 256 },
    { "without draft nothing is reduced",
      { .shorter = 16 }, 400, 300, 1, 400, 300, 21, 16 },
};

static void
test_drafts(void)
{
    struct pack_geometry_plan p;
    struct pack_image_info info = { .format = PACK_IMAGE_JPEG };
    for (size_t i = 0; i < sizeof drafts / sizeof drafts[0]; i++) {
        info.width = drafts[i].w;
        info.height = drafts[i].h;
        p = (struct pack_geometry_plan){ 0 };
        pack_geometry_plan_image(&drafts[i].g, &info, &p, NULL);
        if (!ok(p.reduce == drafts[i].reduce && p.source_w == drafts[i].source_w &&
                    p.source_h == drafts[i].source_h &&
                    p.resized_w == drafts[i].resized_w &&
                    p.resized_h == drafts[i].resized_h,
                "draft: %s", drafts[i].what))
            note("1/%d, %ux%u to %ux%u", p.reduce, p.source_w, p.source_h, p.resized_w,
                 p.resized_h);
    }
    info.format = PACK_IMAGE_PNG;
    info.width = info.height = 4000;
    ok(pack_geometry_plan_image(&drafts[0].g, &info, &p, NULL) == PACK_OK &&
           p.reduce == 1 && p.source_w == 4000,
       "draft: a PNG is left as it is");
}

static const struct {
    const char *what;
    struct pack_geometry g;
    uint32_t w, h;
    enum pack_status status;
} refused[] = {
    { "a draft of what is not resized",
      { .crop_h = 3, .crop_w = 3, .draft = true }, 5, 5, PACK_ERR_ARGUMENT },
    { "half a size", { .size_h = 3 }, 5, 5, PACK_ERR_ARGUMENT },
    { "half a crop", { .crop_w = 3 }, 5, 5, PACK_ERR_ARGUMENT },
    { "size and shorter side",
      { .size_h = 3, .size_w = 3, .shorter = 3 },
      5,
      5,
      PACK_ERR_ARGUMENT },
    { "size and crop",
      { .size_h = 3, .size_w = 3, .crop_h = 1, .crop_w = 1 },
      5,
      5,
      PACK_ERR_ARGUMENT },
    { "a side over the limit", { .shorter = 65536 }, 5, 5, PACK_ERR_ARGUMENT },
    { "an unknown filter",
      { .filter = (enum pack_resample_filter)9 },
      5,
      5,
      PACK_ERR_ARGUMENT },
    { "an image of no pixels", { 0 }, 0, 5, PACK_ERR_ARGUMENT },
    { "a long side beyond all measure",
      { .shorter = 65535 },
      100000000,
      1,
      PACK_ERR_LIMIT },
    { "a sample of more than 2 GiB",
      { .size_h = 65535, .size_w = 65535 },
      5,
      5,
      PACK_ERR_LIMIT },
};

static void
test_refusals(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct pack_geometry_plan p;
        struct pack_error err = { 0 };
        enum pack_status status =
            pack_geometry_plan_make(&refused[i].g, refused[i].w, refused[i].h, &p, &err);
        ok(status == refused[i].status && err.status == status && strlen(err.text) > 15,
           "%s is refused", refused[i].what);
    }
    struct pack_geometry crop = { .shorter = 60000, .crop_h = 10, .crop_w = 10 };
    struct pack_geometry_plan p;
    ok(pack_geometry_plan_make(&crop, 30000, 2, &p, NULL) == PACK_OK &&
           p.resized_w == 900000000 && p.window_x == 449999995,
       "of an enormous resized image a crop can be asked for");
}

static void
test_names(void)
{
    static const char *const filters[] = { "bilinear", "nearest", "box",
                                           "hamming",  "bicubic", "lanczos" };
    enum pack_resample_filter filter;
    enum pack_fit fit;
    enum pack_pixel_layout layout;
    struct pack_error err;
    bool same = true;
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
        same &= pack_resample_filter_parse(filters[i], &filter, NULL) == PACK_OK &&
                strcmp(pack_resample_filter_name(filter), filters[i]) == 0;
    ok(same, "filters are found by their names");
    ok(pack_resample_filter_parse("cubic", &filter, &err) == PACK_ERR_ARGUMENT &&
           strstr(err.text, "'cubic'") && strstr(err.text, "bicubic"),
       "an unknown filter is quoted beside the known ones");
    ok(pack_fit_parse("pad", &fit, NULL) == PACK_OK && fit == PACK_FIT_PAD &&
           pack_fit_parse("fill", &fit, &err) == PACK_ERR_ARGUMENT,
       "fits are found by their names");
    ok(pack_pixel_layout_parse("nchw", &layout, NULL) == PACK_OK &&
           layout == PACK_PIXEL_NCHW &&
           pack_pixel_layout_parse("chw", &layout, &err) == PACK_ERR_ARGUMENT,
       "layouts are found by their names");
}

static void
test_fixed(void)
{
    uint32_t h = 0, w = 0;
    struct pack_geometry none = { 0 }, shorter = { .shorter = 5 };
    struct pack_geometry size = { .size_h = 4, .size_w = 6 };
    struct pack_geometry crop = { .shorter = 9, .crop_h = 7, .crop_w = 8 };
    ok(!pack_geometry_fixed(&none, &h, &w) && !pack_geometry_fixed(&shorter, &h, &w),
       "without size and crop the output differs from image to image");
    ok(pack_geometry_fixed(&size, &h, &w) && h == 4 && w == 6, "a size fixes the output");
    ok(pack_geometry_fixed(&crop, &h, &w) && h == 7 && w == 8, "so does a crop");
}

static bool
sums_agree(enum pack_pixel_layout layout, uint32_t h, uint32_t w, int channels, int fill)
{
    size_t n = (size_t)h * w * (size_t)channels;
    uint8_t *sample = malloc(n);
    uint64_t sum[3] = { 5, 6, 7 }, sumsq[3] = { 1, 2, 3 };
    uint64_t want[3] = { 5, 6, 7 }, wantsq[3] = { 1, 2, 3 };
    for (size_t i = 0; i < n; i++) {
        sample[i] = (uint8_t)(fill >= 0 ? fill : (int)(i * 2654435761u >> 13));
        size_t c = layout == PACK_PIXEL_NHWC ? i % (size_t)channels : i / ((size_t)h * w);
        want[c] += sample[i];
        wantsq[c] += (uint64_t)sample[i] * sample[i];
    }
    pack_pixel_sums(sample, layout, (size_t)h * w, channels, sum, sumsq);
    free(sample);
    return memcmp(sum, want, sizeof sum) == 0 && memcmp(sumsq, wantsq, sizeof sumsq) == 0;
}

/* Whether the variants of this machine add up alike. */
static bool
variants_agree(const uint8_t *values, size_t n, int channels)
{
    uint64_t want[2][3] = { { 0 } }, got[2][3] = { { 0 } };
    bool good = pack_pixel_add_scalar(values, n, channels, want[0], want[1]) == n;
#ifdef HAVE_AVX2
    if (!__builtin_cpu_supports("avx2"))
        return good;
    size_t done = pack_pixel_add_avx2(values, n, channels, got[0], got[1]);
    good &= done <= n && n - done < (size_t)2 * PACK_PIXEL_COLUMNS &&
            done % PACK_PIXEL_COLUMNS == 0;
    pack_pixel_add_scalar(values + done, n - done, channels, got[0], got[1]);
    good &= memcmp(got, want, sizeof got) == 0;
#else
    (void)got;
#endif
    return good;
}

static void
test_sums_variants(void)
{
    enum { MOST = 3 * 11000 };
    bool good = true;
    for (size_t n = 0; n <= MOST; n += n < 300 ? 3 : 3 * 1171) {
        uint8_t *values = malloc(n ? n : 1); /* sanitizers see what is read beyond */
        for (size_t i = 0; i < n; i++)
            values[i] = (uint8_t)(n % 2 ? 255 : i * 2654435761u >> 13);
        good &= variants_agree(values, n, 1) && variants_agree(values, n, 3);
        free(values);
    }
    ok(good, "sums by vectors are those of the scalar code");
}

static void
test_sums(void)
{
    bool same = true;
    for (uint32_t h = 1; h < 9; h++)
        for (uint32_t w = 1; w < 70; w += 3)
            for (int planar = 0; planar < 2; planar++)
                for (int channels = 1; channels <= 3; channels += 2)
                    same &=
                        sums_agree((enum pack_pixel_layout)planar, h, w, channels, -1);
    ok(same, "sums of small samples, any layout, are added to what was there");
    ok(sums_agree(PACK_PIXEL_NHWC, 2048, 2048, 1, 255) &&
           sums_agree(PACK_PIXEL_NCHW, 1500, 1500, 3, 255) &&
           sums_agree(PACK_PIXEL_NHWC, 1500, 1500, 3, 255),
       "sums of white pixels beyond what 32 bits hold are exact");
}

int
main(void)
{
    test_plans();
    test_drafts();
    test_refusals();
    test_names();
    test_fixed();
    test_sums();
    test_sums_variants();
    return done();
}
