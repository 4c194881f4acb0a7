/* Any bytes given to the image decoders: no crash, and probe and decode agree. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "libpack/image.h"

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
    pack_image_done(&image);
    return 0;
}
