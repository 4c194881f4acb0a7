/*
 * What libwebp really takes of memory while it decodes is within what the budget is asked
 * for, and not far below. This program counts allocations in its own malloc(), to which
 * libwebp's calls resolve; its encoder makes the images.
 */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <libpack/image.h>

#include "libpack/base/rng.h"
#include "tests/tap.h"

#if defined(HAVE_WEBP) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) &&          \
    !defined(__SANITIZE_THREAD__)

#include <malloc.h>

#include <webp/encode.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static size_t held, peak;

static void *
count(void *made)
{
    held += made ? malloc_usable_size(made) : 0;
    peak = held > peak ? held : peak;
    return made;
}

static void
discount(void *old)
{
    held -= old ? malloc_usable_size(old) : 0;
}

void *
malloc(size_t size)
{
    return count(__libc_malloc(size));
}

void *
calloc(size_t n, size_t size)
{
    return count(__libc_calloc(n, size));
}

void *
realloc(void *old, size_t size)
{
    discount(old);
    return count(__libc_realloc(old, size));
}

void
free(void *old)
{
    discount(old);
    __libc_free(old);
}

/* Smooth, with edges and grain: nothing that few codes are enough for. */
static void
paint(uint8_t *rgba, int width, int height, bool has_alpha)
{
    struct pack_rng rng;
    pack_rng_seed(&rng, 7);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            uint64_t grain = pack_rng_next(&rng);
            uint8_t *p = rgba + 4 * ((size_t)y * (size_t)width + (size_t)x);
            int tile = x / 40 * 7 + y / 40 * 13;
            for (int c = 0; c < 3; c++)
                p[c] = (uint8_t)(tile * (c + 3) + x * (c + 1) / 9 + y / 7 +
                                 (int)(grain >> (8 * c) & (tile % 5 ? 15 : 0)));
            p[3] = has_alpha ? (uint8_t)(x * 3 + y + (int)(grain >> 32 & 7)) : 255;
        }
}

/* ------------------------------------------------ a picture that no encoder makes */

struct bits {
    uint8_t *data;
    size_t n;
};

static void
put(struct bits *b, uint32_t value, int n)
{
    for (int i = 0; i < n; i++, b->n++)
        b->data[b->n / 8] |= (uint8_t)((value >> i & 1) << b->n % 8);
}

/* A code of 256 symbols of 8 bits each, all lengths by a code of one symbol. */
static void
put_bytes_code(struct bits *b, bool has_more)
{
    put(b, 0, 1);
    put(b, 12 - 4, 4);
    put(b, 0, 11 * 3);
    put(b, 1, 3); /* the twelfth is of length 8 */
    put(b, has_more, 1);
    if (has_more) {
        put(b, 3, 3);
        put(b, 256 - 2, 8);
    }
}

static void
put_zero_code(struct bits *b)
{
    put(b, 1, 4); /* simple, of one symbol, 0 */
}

/* Codes are stored from their highest bit on. */
static void
put_byte(struct bits *b, uint32_t value)
{
    for (int i = 7; i >= 0; i--)
        put(b, value >> i & 1, 1);
}

/* A black picture, each 4x4 pixels of which have codes of their own. */
static size_t
make_hostile(uint8_t *file, uint32_t side)
{
    struct bits b = { .data = file + 20 };
    uint32_t n = (side + 3) / 4 * ((side + 3) / 4);
    put(&b, 0x2f, 8);
    put(&b, side - 1, 14);
    put(&b, side - 1, 14);
    put(&b, 0, 1 + 3 + 1); /* no transparency, version, transform */
    put(&b, 1, 1);
    put(&b, 11, 4); /* the largest cache, for which tables are largest */
    put(&b, 1, 1);
    put(&b, 0, 3 + 1); /* blocks of 4 x 4; no cache in the picture of groups */
    put_bytes_code(&b, true);
    put_bytes_code(&b, false);
    for (int i = 0; i < 3; i++)
        put_zero_code(&b);
    for (uint32_t i = 0; i < n; i++) {
        put_byte(&b, i & 255);
        put_byte(&b, i >> 8);
    }
    for (uint32_t i = 0; i < 5 * n; i++)
        put_zero_code(&b);
    uint32_t bytes = (uint32_t)((b.n + 15) / 16 * 2), whole = bytes + 12;
    memcpy(file, "RIFF....WEBPVP8L", 16);
    memcpy(file + 4, &whole, 4);
    memcpy(file + 16, &bytes, 4);
    return bytes + 20;
}

struct kind {
    const char *what;
    int width, height;
    bool lossless, has_alpha;
    int method;
};

static bool
encode(const struct kind *k, WebPMemoryWriter *to)
{
    WebPConfig config;
    WebPPicture picture;
    uint8_t *rgba = malloc(4 * (size_t)k->width * (size_t)k->height);
    if (!rgba || !WebPConfigInit(&config) || !WebPPictureInit(&picture))
        return false;
    paint(rgba, k->width, k->height, k->has_alpha);
    config.lossless = k->lossless;
    config.method = k->method;
    config.quality = 50;
    picture.use_argb = k->lossless;
    picture.width = k->width;
    picture.height = k->height;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = to;
    WebPMemoryWriterInit(to);
    bool good = WebPPictureImportRGBA(&picture, rgba, 4 * k->width) &&
                WebPEncode(&config, &picture);
    WebPPictureFree(&picture);
    free(rgba);
    return good;
}

/* Bytes that decoding takes at its peak, its pixels included; 0 when it fails. */
static size_t
measure(const WebPMemoryWriter *file, const struct pack_image_params *params)
{
    struct pack_image image = { 0 };
    struct pack_image_info info;
    size_t before = peak = held;
    enum pack_status status =
        pack_image_decode(file->mem, file->size, params, &image, &info, NULL);
    size_t took = peak - before;
    pack_image_done(&image);
    return status == PACK_OK ? took : 0;
}

static void
test_kind(const struct kind *k)
{
    WebPMemoryWriter file;
    struct pack_image_info info;
    struct pack_image_params params = { 0 };
    if (!encode(k, &file)) {
        skip("%s: cannot be made here", k->what);
        return;
    }
    bool probed =
        pack_image_probe(file.mem, file.size, &params, &info, NULL) == PACK_OK;
    size_t took = measure(&file, &params);
    uint64_t bound = probed ? pack_image_decode_bytes(&info, &params) : 0;
    ok(took > 0 && took <= bound && bound < 3 * (uint64_t)took + (64 << 20),
       "%s, %dx%d: takes %zu KiB of %llu", k->what, k->width, k->height, took >> 10,
       (unsigned long long)bound >> 10);
    params.mode = PACK_IMAGE_GRAY;
    params.has_background = true;
    took = measure(&file, &params);
    bound = pack_image_decode_bytes(&info, &params);
    ok(took > 0 && took <= bound, "on a background, in gray: %zu KiB of %llu", took >> 10,
       (unsigned long long)bound >> 10);
    WebPMemoryWriterClear(&file);
}

static void
test_hostile(void)
{
    struct pack_image_info info;
    struct pack_image_params params = { 0 };
    WebPMemoryWriter file = { .mem = calloc(1, 1 << 20) };
    file.size = make_hostile(file.mem, 364);
    size_t took = measure(&file, &params);
    uint64_t bound = pack_image_probe(file.mem, file.size, &params, &info, NULL) == PACK_OK
                         ? pack_image_decode_bytes(&info, &params)
                         : 0;
    ok(took > (150 << 20) && took <= bound && bound < 2 * (uint64_t)took,
       "8281 groups of codes in 364x364 pixels: takes %zu KiB of %llu", took >> 10,
       (unsigned long long)bound >> 10);
    ok(pack_image_probe(file.mem, 12000, &params, &info, NULL) == PACK_ERR_FORMAT &&
           pack_image_probe(file.mem, 20000, &params, &info, NULL) == PACK_OK &&
           pack_image_decode_bytes(&info, &params) == bound,
       "a beginning says so when the groups are in it");
    free(file.mem);
}

int
main(void)
{
    static const struct kind kinds[] = {
        { "a lossless picture", 224, 224, true, false, 4 },
        { "one of one row", 9000, 1, true, false, 4 },
        { "one of one column", 1, 9000, true, true, 4 },
        { "a larger one", 2100, 1700, true, false, 0 },
        { "one with all transforms", 1300, 1500, true, true, 5 },
        { "a lossy picture", 2100, 1700, false, false, 2 },
        { "one with transparency", 2100, 1700, false, true, 2 },
        { "a small one", 100, 70, false, true, 2 },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        test_kind(&kinds[i]);
    test_hostile();
    return done();
}

#else

int
main(void)
{
    printf("1..0 # SKIP no libwebp, or other allocators\n");
    return 0;
}

#endif
