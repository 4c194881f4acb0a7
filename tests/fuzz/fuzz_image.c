/* Any bytes given to the image decoders: no crash; probe and decode agree, and so do the
 * whole image and a part of it. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <libpack/image.h>

/* A window that the last bytes choose holds what the whole image does, and its file is
 * taken or refused alike. */
static void
check_window(const uint8_t *data, size_t size, const struct pack_image_params *params,
             enum pack_status status, const struct pack_image *whole,
             const struct pack_image_info *info)
{
    struct pack_image_window w = { 0, 0, 1, 1 };
    struct pack_image_params part_params = *params;
    struct pack_image_info part_info;
    struct pack_image part = { 0 };
    if (status == PACK_OK) {
        w.x = data[size - 3] * whole->width / 256;
        w.y = data[size - 4] * whole->height / 256;
        w.w = 1 + data[size - 5] * (whole->width - w.x - 1) / 256;
        w.h = 1 + data[size - 6] * (whole->height - w.y - 1) / 256;
    }
    part_params.window = &w;
    assert(pack_image_decode(data, size, &part_params, &part, &part_info, NULL) ==
           status);
    if (status == PACK_OK) {
        assert(part_info.n_warnings == info->n_warnings);
        size_t n = (size_t)w.w * (size_t)whole->channels;
        for (uint32_t y = w.y; y < w.y + w.h; y++) {
            size_t at = ((size_t)y * whole->width + w.x) * (size_t)whole->channels;
            assert(memcmp(part.pixels + at, whole->pixels + at, n) == 0);
        }
    }
    pack_image_done(&part);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pack_image_params all_params[] = {
        { .max_pixels = 1 << 18 },
        { .max_pixels = 1 << 18, .mode = PACK_IMAGE_GRAY, .ignore_orientation = true },
        { .max_pixels = 1 << 18, .has_background = true, .strict = true },
    };
    const struct pack_image_params *params = &all_params[size % 3];
    struct pack_image image = { 0 };
    struct pack_image_info probed, decoded;
    struct pack_error probe_err, decode_err;
    enum pack_status probe = pack_image_probe(data, size, params, &probed, &probe_err);
    enum pack_status decode =
        pack_image_decode(data, size, params, &image, &decoded, &decode_err);
    if (probe != PACK_OK) {
        assert(decode == probe);
        assert(strcmp(probe_err.text, decode_err.text) == 0);
    } else if (decode == PACK_OK) {
        assert((uint64_t)image.width * image.height <= params->max_pixels);
        assert(image.size == (size_t)image.width * image.height * (size_t)image.channels);
        assert(image.width == decoded.width && image.height == decoded.height);
    }
    if (size > 8)
        check_window(data, size, params, decode, &image, &decoded);
    pack_image_done(&image);
    return 0;
}
