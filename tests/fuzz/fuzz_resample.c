/* Any geometry on any small image: the plan stays inside,
 * and all variants give the same. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/image/resample_parts.h"

static void
check_plan(const struct pack_geometry_plan *p)
{
    assert(p->out_w && p->out_h && p->window_w && p->window_h);
    assert((uint64_t)p->window_x + p->window_w <= p->resized_w);
    assert((uint64_t)p->window_y + p->window_h <= p->resized_h);
    assert((uint64_t)p->pad_x + p->window_w <= p->out_w);
    assert((uint64_t)p->pad_y + p->window_h <= p->out_h);
    assert(p->box[0] >= 0 && p->box[1] >= 0 && p->box[0] < p->box[2] &&
           p->box[1] < p->box[3]);
    assert(p->box[2] <= p->source_w && p->box[3] <= p->source_h);
}

static uint8_t *
sample(const struct pack_image *image, const struct pack_geometry_plan *plan,
       enum pack_pixel_layout layout, const struct pack_resample_ops *ops, size_t bytes)
{
    struct pack_resample_scratch *scratch;
    uint8_t *out = malloc(bytes);
    if (!out || pack_resample_scratch_new(&scratch, NULL))
        abort();
    pack_resample_scratch_use(scratch, ops);
    if (pack_resample(image, plan, layout, out, scratch, NULL))
        abort();
    pack_resample_scratch_free(scratch);
    return out;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t n[8];
    if (size < sizeof n + 1)
        return 0;
    memcpy(n, data, sizeof n);
    struct pack_image image = { .width = 1u + n[0] % 300, .height = 1u + n[1] % 300 };
    image.channels = n[7] & 1 ? 3 : 1;
    image.size = (size_t)image.width * image.height * (size_t)image.channels;
    image.pixels = malloc(image.size);
    for (size_t i = 0; i < image.size; i++)
        image.pixels[i] = data[i % size];
    struct pack_geometry g = {
        .size_h = n[2] % 300,
        .size_w = n[3] % 300,
        .shorter = n[4] % 200,
        .crop_h = n[5] % 300,
        .crop_w = n[6] % 300,
        .fit = (enum pack_fit)(n[7] >> 1 & 3),
        .filter = (enum pack_resample_filter)(n[7] >> 3 & 7),
    };
    if (n[7] & 64) /* both kinds at once are refused; have each often */
        g.shorter = g.crop_h = g.crop_w = 0;
    else
        g.size_h = g.size_w = 0;
    struct pack_geometry_plan plan;
    if (!pack_geometry_plan_make(&g, image.width, image.height, &plan, NULL)) {
        check_plan(&plan);
        size_t bytes = (size_t)plan.out_w * plan.out_h * (size_t)image.channels;
        enum pack_pixel_layout layout = n[7] & 128 ? PACK_PIXEL_NCHW : PACK_PIXEL_NHWC;
        if (bytes < 1 << 20) {
            uint8_t *fast =
                sample(&image, &plan, layout, pack_resample_variant(0), bytes);
            uint8_t *slow = sample(&image, &plan, layout, &pack_resample_scalar, bytes);
            assert(memcmp(fast, slow, bytes) == 0);
            free(fast);
            free(slow);
        }
    }
    free(image.pixels);
    return 0;
}
