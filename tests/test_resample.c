/* Resampling: every variant of this machine against the scalar definition, bit for bit,
 * and laws that hold whatever the filter. Pillow itself is asked by tests/pixels.py. */
#include "libpack/image/resample_parts.h"
#include "libpack/base/rng.h"

#include "tests/tap.h"

enum { N_FILTERS = 6 };

/* An image of noise or of flat areas, its pixels on a heap block of exactly their
 * size. */
static struct pack_image
make_image(struct pack_rng *rng, uint32_t w, uint32_t h, int channels)
{
    struct pack_image image = { .width = w, .height = h, .channels = channels };
    image.size = image.capacity = (size_t)w * h * (size_t)channels;
    image.pixels = malloc(image.size);
    bool flat = pack_rng_below(rng, 2);
    for (size_t i = 0; i < image.size; i++)
        image.pixels[i] =
            (uint8_t)(flat ? (i / 41 % 3 == 0 ? 255 : 0) : pack_rng_next(rng));
    return image;
}

struct sample {
    uint8_t *bytes;
    size_t size;
    uint32_t w, h;
};

/* One sample, on a heap block of exactly its size; NULL bytes when refused. */
static struct sample
run(struct pack_resample_scratch *scratch, const struct pack_resample_ops *ops,
    const struct pack_image *image, const struct pack_geometry *g,
    enum pack_pixel_layout layout)
{
    struct pack_geometry_plan plan;
    struct sample sample = { 0 };
    if (pack_geometry_plan_make(g, image->width, image->height, &plan, NULL))
        return sample;
    sample.w = plan.out_w;
    sample.h = plan.out_h;
    sample.size = (size_t)plan.out_w * plan.out_h * (size_t)image->channels;
    sample.bytes = malloc(sample.size);
    memset(sample.bytes, 0x5a, sample.size);
    pack_resample_scratch_use(scratch, ops);
    if (pack_resample(image, &plan, layout, sample.bytes, scratch, NULL)) {
        free(sample.bytes);
        sample.bytes = NULL;
    }
    return sample;
}

static bool
same_samples(const struct sample *a, const struct sample *b)
{
    return a->bytes && b->bytes && a->size == b->size &&
           memcmp(a->bytes, b->bytes, a->size) == 0;
}

static uint32_t
random_side(struct pack_rng *rng)
{
    static const uint32_t most[] = { 3, 20, 130, 500 };
    return 1 + (uint32_t)pack_rng_below(rng, most[pack_rng_below(rng, 4)]);
}

static struct pack_geometry
random_geometry(struct pack_rng *rng, enum pack_resample_filter filter)
{
    struct pack_geometry g = { .filter = filter };
    uint64_t kind = pack_rng_below(rng, 6);
    if (kind < 3) {
        g.fit = (enum pack_fit)kind;
        g.size_h = random_side(rng);
        g.size_w = random_side(rng);
        return g;
    }
    if (kind != 3)
        g.shorter = random_side(rng);
    if (kind != 4) {
        g.crop_h = random_side(rng);
        g.crop_w = random_side(rng);
    }
    return g;
}

static void
test_variants(struct pack_resample_scratch *scratch)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 1);
    const struct pack_resample_ops *ops;
    for (int v = 0; (ops = pack_resample_variant(v)); v++) {
        note("variant: %s", ops->name);
        for (int filter = 0; filter < N_FILTERS; filter++) {
            int bad = 0;
            for (int i = 0; i < 120; i++) {
                int channels = pack_rng_below(&rng, 3) ? 3 : 1;
                struct pack_image image =
                    make_image(&rng, random_side(&rng), random_side(&rng), channels);
                struct pack_geometry g =
                    random_geometry(&rng, (enum pack_resample_filter)filter);
                enum pack_pixel_layout layout =
                    (enum pack_pixel_layout)pack_rng_below(&rng, 2);
                struct sample want =
                    run(scratch, &pack_resample_scalar, &image, &g, layout);
                struct sample got = run(scratch, ops, &image, &g, layout);
                if (want.bytes)
                    bad += !same_samples(&got, &want);
                free(want.bytes);
                free(got.bytes);
                pack_image_done(&image);
            }
            ok(bad == 0, "%s gives the scalar bytes for %s", ops->name,
               pack_resample_filter_name((enum pack_resample_filter)filter));
        }
    }
}

/* What a crop of a full-size result holds. */
static bool
is_window_of(const struct sample *part, const struct sample *whole, uint32_t x,
             uint32_t y, size_t channels)
{
    for (uint32_t row = 0; row < part->h; row++)
        if (memcmp(part->bytes + row * part->w * channels,
                   whole->bytes + ((size_t)(y + row) * whole->w + x) * channels,
                   part->w * channels) != 0)
            return false;
    return true;
}

static void
test_window(struct pack_resample_scratch *scratch)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 2);
    int bad = 0;
    for (int i = 0; i < 60; i++) {
        struct pack_image image = make_image(&rng, 20 + random_side(&rng), 30, 3);
        struct pack_geometry g = { .shorter = 40,
                                   .filter = (enum pack_resample_filter)(i % N_FILTERS) };
        struct sample whole =
            run(scratch, pack_resample_variant(0), &image, &g, PACK_PIXEL_NHWC);
        struct pack_geometry_plan plan;
        g.crop_h = 1 + (uint32_t)pack_rng_below(&rng, 39);
        g.crop_w = 1 + (uint32_t)pack_rng_below(&rng, 39);
        pack_geometry_plan_make(&g, image.width, image.height, &plan, NULL);
        struct sample part =
            run(scratch, pack_resample_variant(0), &image, &g, PACK_PIXEL_NHWC);
        bad += !is_window_of(&part, &whole, plan.window_x, plan.window_y, 3);
        free(whole.bytes);
        free(part.bytes);
        pack_image_done(&image);
    }
    ok(bad == 0, "a crop holds what the whole resized image holds there");
}

static void
test_layouts(struct pack_resample_scratch *scratch)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 3);
    int bad = 0;
    for (int i = 0; i < 60; i++) {
        struct pack_image image =
            make_image(&rng, random_side(&rng), random_side(&rng), 3);
        struct pack_geometry g =
            random_geometry(&rng, (enum pack_resample_filter)(i % N_FILTERS));
        struct sample rows =
            run(scratch, pack_resample_variant(0), &image, &g, PACK_PIXEL_NHWC);
        struct sample planes =
            run(scratch, pack_resample_variant(0), &image, &g, PACK_PIXEL_NCHW);
        size_t n = rows.size / 3;
        for (size_t at = 0; rows.bytes && at < rows.size; at++)
            bad += rows.bytes[at] != planes.bytes[at % 3 * n + at / 3];
        free(rows.bytes);
        free(planes.bytes);
        pack_image_done(&image);
    }
    ok(bad == 0, "planes hold what rows hold, padding included");
}

/* A flat image stays flat, and padding is black. */
static void
test_flat(struct pack_resample_scratch *scratch)
{
    int bad = 0;
    for (int filter = 0; filter < N_FILTERS; filter++)
        for (int value = 0; value < 256; value += 51) {
            uint8_t pixels[40 * 30];
            memset(pixels, value, sizeof pixels);
            struct pack_image image = { .pixels = pixels,
                                        .width = 40,
                                        .height = 30,
                                        .channels = 1,
                                        .size = sizeof pixels };
            struct pack_geometry g = { .size_h = 20,
                                       .size_w = 20,
                                       .fit = PACK_FIT_PAD,
                                       .filter = (enum pack_resample_filter)filter };
            struct sample got =
                run(scratch, pack_resample_variant(0), &image, &g, PACK_PIXEL_NHWC);
            for (int i = 0; i < 400; i++)
                bad += got.bytes[i] != (i / 20 < 2 || i / 20 >= 17 ? 0 : value);
            free(got.bytes);
        }
    ok(bad == 0, "a flat image stays flat under every filter, on black");
}

/* More sizes than tables are kept, back and forth. */
static void
test_tables(struct pack_resample_scratch *scratch)
{
    struct pack_rng rng;
    struct pack_resample_scratch *fresh = NULL;
    pack_rng_seed(&rng, 4);
    int bad = 0;
    struct pack_geometry g = { .size_h = 33,
                               .size_w = 29,
                               .filter = PACK_RESAMPLE_LANCZOS };
    for (int i = 0; i < 120; i++) {
        uint32_t w = 40 + (uint32_t)(i * 7 % 30), h = i % 40 == 39 ? 20000 : 50;
        struct pack_image image = make_image(&rng, w, h, 1);
        if (pack_resample_scratch_new(&fresh, NULL))
            break;
        struct sample kept =
            run(scratch, pack_resample_variant(0), &image, &g, PACK_PIXEL_NHWC);
        struct sample made =
            run(fresh, pack_resample_variant(0), &image, &g, PACK_PIXEL_NHWC);
        bad += !same_samples(&kept, &made);
        pack_resample_scratch_free(fresh);
        free(kept.bytes);
        free(made.bytes);
        pack_image_done(&image);
    }
    ok(bad == 0, "a scratch that has seen 120 sizes gives what a fresh one gives");
}

static void
mirror(const uint8_t *from, uint32_t w, uint32_t h, size_t channels, uint8_t *to)
{
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++)
            memcpy(to + ((size_t)y * w + w - 1 - x) * channels,
                   from + ((size_t)y * w + x) * channels, channels);
}

/* One side, both or none may be as they are to be; sizes repeat, with and without flips. */
static void
test_flips(struct pack_resample_scratch *scratch)
{
    struct pack_rng rng;
    const struct pack_resample_ops *ops;
    int bad = 0, n = 0;
    pack_rng_seed(&rng, 5);
    for (int v = 0; (ops = pack_resample_variant(v)); v++)
        for (int i = 0; i < 40 * N_FILTERS; i++) {
            struct pack_image image =
                make_image(&rng, random_side(&rng), random_side(&rng), i % 5 ? 3 : 1);
            struct pack_geometry g = { .filter = (enum pack_resample_filter)(i % N_FILTERS) };
            struct pack_geometry_plan plan;
            g.size_w = pack_rng_below(&rng, 3) ? random_side(&rng) : image.width;
            g.size_h = pack_rng_below(&rng, 3) ? random_side(&rng) : image.height;
            struct sample plain = run(scratch, ops, &image, &g, PACK_PIXEL_NHWC);
            if (pack_geometry_plan_make(&g, image.width, image.height, &plan, NULL) != PACK_OK)
                break;
            uint8_t *want = malloc(plain.size), *got = malloc(plain.size);
            mirror(plain.bytes, plain.w, plain.h, (size_t)image.channels, want);
            plan.flips = true;
            bad += pack_resample(&image, &plan, PACK_PIXEL_NHWC, got, scratch, NULL) != PACK_OK ||
                   memcmp(got, want, plain.size) != 0;
            n++;
            free(plain.bytes);
            free(want);
            free(got);
            pack_image_done(&image);
        }
    ok(bad == 0 && n >= 40 * N_FILTERS, "%d of %d are not what comes out otherwise, mirrored",
       bad, n);
}

static void
test_wrong_plan(struct pack_resample_scratch *scratch)
{
    uint8_t pixel[3] = { 1, 2, 3 }, out[3];
    struct pack_image image = { .pixels = pixel, .width = 1, .height = 1, .channels = 3 };
    struct pack_geometry g = { 0 };
    struct pack_geometry_plan plan;
    struct pack_error err;
    pack_geometry_plan_make(&g, 2, 1, &plan, NULL);
    ok(pack_resample(&image, &plan, PACK_PIXEL_NHWC, out, scratch, &err) ==
               PACK_ERR_ARGUMENT &&
           strstr(err.text, "1x1") && strstr(err.text, "2x1"),
       "a plan for another size is refused");
}

int
main(void)
{
    struct pack_resample_scratch *scratch;
    if (pack_resample_scratch_new(&scratch, NULL))
        return 1;
    test_variants(scratch);
    test_window(scratch);
    test_layouts(scratch);
    test_flat(scratch);
    test_tables(scratch);
    test_flips(scratch);
    test_wrong_plan(scratch);
    pack_resample_scratch_free(scratch);
    pack_resample_scratch_free(NULL);
    return done();
}
