/* Decoding a window of a JPEG gives the pixels that decoding all of it gives, and takes
 * the same files. */
#include <dirent.h>
#include <stdio.h>

#include <jpeglib.h>

#include <libpack/image.h>
#include "libpack/base/rng.h"
#include "tests/tap.h"

static struct pack_rng rng;
static unsigned n_windows, n_wrong, n_partial, n_warned;
static int reduce; /* of what is decoded */

static uint32_t
below(uint32_t n)
{
    return (uint32_t)pack_rng_below(&rng, n);
}

/* Whether some pixel outside the window was left alone, that is:
 * the decoder saved work. */
static bool
left_alone(const struct pack_image *image)
{
    for (size_t i = 0; i + 8 <= image->size; i++) {
        size_t k = 0;
        while (k < 8 && image->pixels[i + k] == 0xA5)
            k++;
        if (k == 8)
            return true;
    }
    return false;
}

static void
compare(const void *data, size_t size, unsigned n)
{
    static struct pack_image all, part;
    struct pack_image_info info, part_info;
    struct pack_image_params params = { .reduce = reduce };
    struct pack_error err;
    enum pack_status status = pack_image_decode(data, size, &params, &all, &info, &err);
    for (unsigned i = 0; i < n; i++) {
        struct pack_image_window w = { 0, 0, 1, 1 };
        if (status == PACK_OK) {
            w.x = below(all.width);
            w.y = below(all.height);
            w.w = 1 + below(all.width - w.x);
            w.h = 1 + below(all.height - w.y);
        }
        params.window = &w;
        if (part.pixels)
            memset(part.pixels, 0xA5, part.capacity);
        bool same =
            pack_image_decode(data, size, &params, &part, &part_info, &err) == status;
        n_windows++;
        if (same && status == PACK_OK) {
            same = part_info.n_warnings == info.n_warnings;
            n_warned += info.n_warnings > 0;
            for (uint32_t y = w.y; y < w.y + w.h && same; y++) {
                size_t at = ((size_t)y * all.width + w.x) * 3;
                same = memcmp(all.pixels + at, part.pixels + at, (size_t)w.w * 3) == 0;
            }
            n_partial += left_alone(&part);
        }
        if (!same && n_wrong++ < 5)
            note("window %ux%u at %u,%u of %ux%u, reduced by %d, differs", w.h, w.w, w.y,
                 w.x, info.height, info.width, reduce);
    }
}

/* A JPEG of noise and edges with the given sampling factors of its luma. */
static unsigned char *
encode(uint32_t width, uint32_t height, int h, int v, bool arithmetic, int restart,
       size_t *size)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long length = 0;
    JSAMPLE *row = malloc((size_t)width * 3);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &length);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 50 + (int)below(50), TRUE);
    jpeg.comp_info[0].h_samp_factor = h;
    jpeg.comp_info[0].v_samp_factor = v;
    jpeg.arith_code = arithmetic;
    jpeg.restart_interval = (unsigned)restart;
    jpeg_start_compress(&jpeg, TRUE);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width * 3; x++)
            row[x] = (JSAMPLE)(((x / 30 + y / 7) % 2 ? 200 : 30) + below(50));
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    *size = length;
    return bytes;
}

static void
test_samplings(void)
{
    static const int factors[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 },
                                      { 1, 2 }, { 4, 1 }, { 4, 2 } };
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        n_windows = n_wrong = n_partial = 0;
        for (int k = 0; k < 24; k++) {
            size_t size;
            uint32_t w = k % 3 ? 1 + below(300) : 8 * (1 + below(40)), h = 1 + below(300);
            unsigned char *bytes = encode(w, h, factors[i][0], factors[i][1], k % 5 == 4,
                                          k % 4 == 3 ? 1 + (int)below(9) : 0, &size);
            compare(bytes, size, 12);
            if (k % 6 == 5 &&
                size > 700) { /* damaged: the same complaints, or refusals */
                for (int j = 0; j < 3; j++)
                    bytes[650 + below((uint32_t)size - 650)] ^=
                        (unsigned char)(1 + below(255));
                compare(bytes, size, 12);
            }
            free(bytes);
        }
        ok(n_wrong == 0, "luma %dx%d reduced by %d: %u windows equal", factors[i][0],
           factors[i][1], reduce, n_windows);
        ok(reduce == 1 ? n_partial > n_windows / 8 : n_partial == 0,
           "and %u of them saved work", n_partial);
    }
}

/* Where libjpeg complains, what it makes of a part depends on how much is decoded. */
static void
test_damage(void)
{
    n_windows = n_wrong = n_warned = 0;
    for (int k = 0; k < 300; k++) {
        size_t size;
        unsigned char *bytes = encode(150, 120, 1 + k % 2, 1 + k / 2 % 2, false,
                                      k % 3 ? 1 + (int)below(20) : 0, &size);
        for (int j = k % 4; j >= 0 && size > 700; j--)
            bytes[650 + below((uint32_t)size - 650)] ^= (unsigned char)(1 + below(255));
        compare(bytes, size, 8);
        free(bytes);
    }
    ok(n_wrong == 0, "%u windows of damaged images equal", n_windows);
    ok(n_warned > n_windows / 4, "%u of which libjpeg complains about", n_warned);
}

static void
test_folder(const char *path, unsigned n)
{
    char folder[4096], name[8192];
    DIR *dir = NULL;
    const char *found = shared_path(path);
    n_windows = n_wrong = n_partial = 0;
    if (found)
        snprintf(folder, sizeof folder, "%s", found);
    if (!found || !(dir = opendir(folder))) {
        skip("no shared %s beside the checkout", path);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        static unsigned char bytes[1 << 20];
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(name, "rb");
        size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
        if (f)
            fclose(f);
        if (size > 3 && size < sizeof bytes && bytes[0] == 0xFF && bytes[1] == 0xD8)
            compare(bytes, size, n);
    }
    closedir(dir);
    ok(n_wrong == 0, "%s: %u windows equal, %u saved work", path, n_windows, n_partial);
}

int
main(void)
{
    pack_rng_seed(&rng, 1);
    reduce = 2;
    test_samplings();
    reduce = 1;
    test_samplings();
    test_damage();
    test_folder("data/odd", 8);
    test_folder("data/photos/dogs", 8);
    test_folder("data/photos/vehicles", 8);
    return done();
}
