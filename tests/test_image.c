/* Decoding: images made on the spot, whole and damaged; every allocation refused in turn;
 * the memory bound held to what is really asked for. Pillow is asked by tests/pixels.py.
 */
#include "libpack/image/exif.h"
#include <libpack/image.h>
#include "libpack/image/probe.h"

#include <errno.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <jpeglib.h>
#include <malloc.h>
#include <zlib.h>

#include "config.h"
#include "tests/tap.h"

/* ---------------------------------------------------- an allocator that can say no */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_MEMORY 0
#endif
#endif
#ifndef COUNTS_MEMORY
#define COUNTS_MEMORY 1
#endif

static struct {
    bool on;
    unsigned long calls, fail_at; /* the fail_at-th call fails; 0: none */
    size_t live, peak, blocks;    /* since it was switched on */
} heap;

#if COUNTS_MEMORY
/* These stand in front of the C library's for libjpeg, libpng and zlib as well. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *p);

static bool
refused(void)
{
    return heap.on && ++heap.calls == heap.fail_at;
}

static void *
counted(void *p)
{
    if (!heap.on || !p)
        return p;
    heap.blocks++;
    heap.live += malloc_usable_size(p);
    heap.peak = heap.live > heap.peak ? heap.live : heap.peak;
    return p;
}

void *
malloc(size_t size)
{
    if (!refused())
        return counted(__libc_malloc(size));
    errno = ENOMEM;
    return NULL;
}

void *
calloc(size_t n, size_t size)
{
    if (!refused())
        return counted(__libc_calloc(n, size));
    errno = ENOMEM;
    return NULL;
}

void
free(void *p)
{
    if (heap.on && p) {
        heap.blocks--;
        heap.live -= malloc_usable_size(p);
    }
    __libc_free(p);
}

void *
realloc(void *old, size_t size)
{
    if (!old)
        return malloc(size);
    if (refused()) {
        errno = ENOMEM;
        return NULL;
    }
    if (heap.on) {
        heap.blocks--;
        heap.live -= malloc_usable_size(old);
    }
    return counted(__libc_realloc(old, size));
}
#endif

static void
heap_start(unsigned long fail_at)
{
    memset(&heap, 0, sizeof heap);
    heap.fail_at = fail_at;
    heap.on = true;
}

/* Not under a sanitizer or valgrind, which have an allocator of their own. */
static bool
heap_is_ours(void)
{
    void *(*volatile allocate)(size_t) =
        malloc; /* compilers know what malloc() does not do */
    heap_start(0);
    free(allocate(1));
    heap.on = false;
    return heap.calls == 1;
}

/* ------------------------------------------------------------------ made images */

struct bytes {
    uint8_t data[1 << 21];
    size_t size;
};

static void
append(struct bytes *b, const void *data, size_t size)
{
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void
append_u32(struct bytes *b, uint32_t value)
{
    uint8_t be[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16),
                      (uint8_t)(value >> 8), (uint8_t)value };
    append(b, be, 4);
}

static void
append_chunk(struct bytes *b, const char *type, const void *data, size_t size)
{
    append_u32(b, (uint32_t)size);
    size_t from = b->size;
    append(b, type, 4);
    append(b, data, size);
    append_u32(b, (uint32_t)crc32(0, b->data + from, (uInt)(size + 4)));
}

static uint8_t
pattern(uint32_t x, uint32_t y, int c)
{
    return (uint8_t)(x * 5 + y * 3 + (uint32_t)c * 70 + x * y);
}

struct png_kind {
    uint32_t w, h;
    int depth, color_type, interlace;
    const void *extra; /* a tEXt, eXIf... chunk's data */
    const char *extra_type;
    size_t extra_size;
};

/* A PNG of 8-bit samples of pattern(); interlaced ones of one pass, 1x1. */
static void
make_png(struct bytes *b, const struct png_kind *k)
{
    static const int channels[7] = { 1, 0, 3, 1, 2, 0, 4 };
    static uint8_t rows[200 * 1000], packed[200 * 1000];
    b->size = 0;
    append(b, "\x89PNG\r\n\x1a\n", 8);
    static struct bytes header;
    header.size = 0;
    append_u32(&header, k->w);
    append_u32(&header, k->h);
    uint8_t rest[5] = { (uint8_t)k->depth, (uint8_t)k->color_type, 0, 0,
                        (uint8_t)k->interlace };
    append(&header, rest, sizeof rest);
    append_chunk(b, "IHDR", header.data, header.size);
    if (k->extra_type)
        append_chunk(b, k->extra_type, k->extra, k->extra_size);
    size_t n = 0;
    for (uint32_t y = 0; y < k->h; y++) {
        rows[n++] = 0;
        for (uint32_t x = 0; x < k->w; x++)
            for (int c = 0; c < channels[k->color_type]; c++)
                rows[n++] = pattern(x, y, c);
    }
    uLongf size = sizeof packed;
    compress(packed, &size, rows, n);
    append_chunk(b, "IDAT", packed, size);
    append_chunk(b, "IEND", "", 0);
}

/* A JPEG of a gradient. */
static void
make_jpeg(struct bytes *b, uint32_t w, uint32_t h, int channels, bool progressive)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long size = 0;
    static uint8_t row[4 * 4000];
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out, &size);
    jpeg.image_width = w;
    jpeg.image_height = h;
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 1   ? JCS_GRAYSCALE
                          : channels == 3 ? JCS_RGB
                                          : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    if (progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (uint32_t y = 0; y < h; y++) {
        for (uint32_t x = 0; x < w * (uint32_t)channels; x++)
            row[x] = (uint8_t)(x / 3 + y);
        JSAMPROW line = row;
        jpeg_write_scanlines(&jpeg, &line, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    b->size = 0;
    append(b, out, size);
    free(out);
}

/* Puts a segment behind the first two bytes of a JPEG. */
static void
insert_segment(struct bytes *b, int marker, const void *data, size_t size)
{
    uint8_t head[4] = { 0xFF, (uint8_t)marker, (uint8_t)((size + 2) >> 8),
                        (uint8_t)(size + 2) };
    memmove(b->data + 6 + size, b->data + 2, b->size - 2);
    memcpy(b->data + 2, head, 4);
    memcpy(b->data + 6, data, size);
    b->size += size + 4;
}

/* ------------------------------------------------------------------------ tests */

static struct bytes file;

static bool
refuses(const char *data, size_t size, enum pack_status status, const char *words)
{
    struct pack_image image = { 0 };
    struct pack_error err = { 0 };
    enum pack_status got = pack_image_decode(data, size, NULL, &image, NULL, &err);
    pack_image_done(&image);
    if (got == status && err.status == status && strstr(err.text, words))
        return true;
    note("%s: %s", pack_status_name(got), err.text);
    return false;
}

static void
test_sniffing(void)
{
    static const struct {
        const char *data;
        size_t size;
        const char *name;
    } foreign[] = {
        { "GIF89a......", 12, "GIF" },
#ifndef HAVE_WEBP
        { "RIFF....WEBPVP8 ", 16, "WebP" },
#endif
#ifndef HAVE_TIFF
        { "II*\0........", 12, "TIFF" },
        { "MM\0*........", 12, "TIFF" },
#endif
        { "II*\0\x10\0\0\0CR..", 12, "camera raw" },
        { "BM..........", 12, "BMP" },
        { "P6\n3 3\n255\n", 11, "PPM" },
        { "\0\0\0\x20"
          "ftypavif....",
          16, "AVIF" },
        { "\0\0\0\x20"
          "ftypheix....",
          16, "HEIC" },
        { "\0\0\0\x0cjP  \r\n\x87\n", 12, "JPEG 2000" },
        { "<svg xmlns=", 11, "SVG" },
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        ok(!pack_image_is_known(foreign[i].data, foreign[i].size) &&
               refuses(foreign[i].data, foreign[i].size, PACK_ERR_UNSUPPORTED,
                       foreign[i].name),
           "%s is refused by its name", foreign[i].name);
    ok(refuses("", 0, PACK_ERR_FORMAT, "empty"), "an empty file is refused as such");
    ok(refuses("XIFF....WEBPVP8 ", 16, PACK_ERR_FORMAT, "it begins with 58 49 46 46"),
       "WEBP outside a RIFF file is no WebP image that is not read");
    ok(refuses("\xff\xd8", 2, PACK_ERR_FORMAT, "it begins with ff d8"),
       "a file of two bytes is refused with its bytes");
    ok(refuses("hello, world", 12, PACK_ERR_FORMAT, "68 65 6c 6c"),
       "what is no image is refused with how it begins");
    ok(pack_image_is_known("\xff\xd8\xff\xe0", 4) &&
           pack_image_is_known("\x89PNG\r\n\x1a\n", 8) &&
           !pack_image_is_known("\x89PNG\r\n\x1a", 7),
       "JPEG and PNG are known by their first bytes");
}

static void
test_png_pixels(void)
{
    struct png_kind kind = { .w = 13, .h = 9, .depth = 8, .color_type = 2 };
    struct pack_image image = { 0 };
    struct pack_image_info info;
    make_png(&file, &kind);
    bool same =
        pack_image_decode(file.data, file.size, NULL, &image, &info, NULL) == PACK_OK &&
        image.width == 13 && image.height == 9 && image.channels == 3 &&
        image.size == 13 * 9 * 3;
    for (uint32_t i = 0; same && i < image.size; i++)
        same = image.pixels[i] == pattern(i / 3 % 13, i / 39, (int)(i % 3));
    ok(same, "a PNG's pixels come back");
    ok(info.format == PACK_IMAGE_PNG && info.source_channels == 3 &&
           info.source_depth == 8 && !info.has_alpha && !info.whole && !info.n_warnings &&
           info.orientation == 1,
       "and what it says about itself");
    uint8_t *before = image.pixels;
    kind.w = 5;
    make_png(&file, &kind);
    ok(pack_image_decode(file.data, file.size, NULL, &image, NULL, NULL) == PACK_OK &&
           image.pixels == before && image.width == 5,
       "a smaller image reuses the memory");
    pack_image_done(&image);
    ok(!image.pixels && !image.capacity && !image.work, "done leaves nothing");
    pack_image_done(NULL);
}

static void
test_limits(void)
{
    struct png_kind kind = { .w = 20, .h = 10, .depth = 8, .color_type = 0 };
    struct pack_image_params params = { .max_pixels = 200 };
    struct pack_image image = { 0 };
    struct pack_image_info info;
    struct pack_error err;
    make_png(&file, &kind);
    ok(pack_image_decode(file.data, file.size, &params, &image, NULL, NULL) == PACK_OK,
       "an image of exactly the limit is read");
    params.max_pixels = 199;
    ok(pack_image_decode(file.data, file.size, &params, &image, NULL, &err) ==
               PACK_ERR_LIMIT &&
           strstr(err.text, "20x10") && strstr(err.text, "199"),
       "one pixel more is refused with both numbers");
    make_jpeg(&file, 20, 10, 3, false);
    ok(pack_image_probe(file.data, file.size, &params, &info, NULL) == PACK_ERR_LIMIT,
       "a JPEG's headers are held to it too");
    pack_image_done(&image);
}

static void
test_text_bombs(void)
{
    static uint8_t zeros[2 * 1024 * 1024], packed[20000], text[20100];
    uLongf size = sizeof packed;
    compress2(packed, &size, zeros, sizeof zeros, 9);
    memcpy(text, "Comment\0", 9);
    memcpy(text + 9, packed, size);
    struct png_kind kind = { .w = 3,
                             .h = 3,
                             .depth = 8,
                             .color_type = 0,
                             .extra = text,
                             .extra_type = "zTXt",
                             .extra_size = 9 + size };
    make_png(&file, &kind);
    ok(refuses((char *)file.data, file.size, PACK_ERR_LIMIT, "1 MiB"),
       "a text that grows beyond 1 MiB condemns its PNG");
    size = sizeof packed;
    compress2(packed, &size, zeros, 1024 * 1024, 9);
    memcpy(text + 9, packed, size);
    kind.extra_size = 9 + size;
    make_png(&file, &kind);
    struct pack_image_info info;
    ok(pack_image_probe(file.data, file.size, NULL, &info, NULL) == PACK_OK,
       "one of exactly 1 MiB does not");
}

static void
test_jpeg_headers(void)
{
    static const uint8_t exif_six[] =
        "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01"
        "\0\x06\0\0\0\0\0\0";
    struct pack_image image = { 0 };
    struct pack_image_info info;
    struct pack_image_params stored = { .ignore_orientation = true };
    make_jpeg(&file, 30, 20, 3, false);
    insert_segment(&file, 0xE2, "ICC_PROFILE\0\1\1profile", 21);
    insert_segment(&file, 0xE1, exif_six, sizeof exif_six);
    ok(pack_image_decode(file.data, file.size, NULL, &image, &info, NULL) == PACK_OK &&
           info.has_icc && info.orientation == 6 && image.width == 20 &&
           image.height == 30,
       "EXIF orientation turns a JPEG, its ICC profile is seen");
    ok(pack_image_probe(file.data, file.size, &stored, &info, NULL) == PACK_OK &&
           info.orientation == 1 && info.width == 30,
       "unless the orientation is to be ignored");
    ok(pack_image_probe(file.data, 300, NULL, &info, NULL) == PACK_ERR_FORMAT &&
           pack_image_probe(file.data, file.size - 20, NULL, &info, NULL) == PACK_OK,
       "a probe is content with a file's beginning that reaches its pixels");
    make_jpeg(&file, 30, 20, 3, true);
    ok(pack_image_probe(file.data, file.size, NULL, &info, NULL) == PACK_OK && info.whole,
       "a progressive JPEG is decoded in one piece");
    make_jpeg(&file, 30, 20, 4, false);
    ok(pack_image_decode(file.data, file.size, NULL, &image, &info, NULL) == PACK_OK &&
           info.source_channels == 4 && image.channels == 3,
       "a CMYK JPEG becomes RGB");
    pack_image_done(&image);
}

/* Looks for the frame header's marker. */
static uint8_t *
find_frame(struct bytes *b)
{
    for (size_t i = 2; i + 1 < b->size; i++)
        if (b->data[i] == 0xFF && b->data[i + 1] == 0xC0)
            return b->data + i;
    return NULL;
}

static void
test_jpeg_damage(void)
{
    make_jpeg(&file, 30, 20, 3, false);
    find_frame(&file)[4] = 12;
    ok(refuses((char *)file.data, file.size, PACK_ERR_UNSUPPORTED, "12 bits"),
       "a JPEG of 12 bits is refused as unsupported");
    make_jpeg(&file, 30, 20, 3, false);
    find_frame(&file)[1] = 0xC3;
    /* libjpeg-turbo 3 knows lossless, and then stumbles over what is not */
    ok(refuses((char *)file.data, file.size, PACK_ERR_UNSUPPORTED, "SOF type 0xc3") ||
           refuses((char *)file.data, file.size, PACK_ERR_UNSUPPORTED,
                   "Unsupported color conversion"),
       "so is a lossless one, in libjpeg's words");
    make_jpeg(&file, 30, 20, 3, false);
    find_frame(&file)[5] = find_frame(&file)[6] = 0;
    ok(refuses((char *)file.data, file.size, PACK_ERR_FORMAT, "30x0"),
       "a JPEG without height is damaged");
    make_jpeg(&file, 30, 20, 3, false);
    ok(refuses((char *)file.data, file.size / 2, PACK_ERR_FORMAT, "ends before"),
       "half a JPEG is refused");
    make_jpeg(&file, 300, 200, 3, false);
    struct pack_image image = { 0 };
    struct pack_image_info info;
    struct pack_error err;
    struct pack_image_params strict = { .strict = true };
    memcpy(file.data + file.size - 700, "\xff\xd3",
           2); /* a restart marker out of nowhere */
    ok(pack_image_decode(file.data, file.size, NULL, &image, &info, NULL) == PACK_OK &&
           info.n_warnings > 0 && info.warning[0],
       "a JPEG with damage that libjpeg bridges is read, with a warning");
    ok(pack_image_decode(file.data, file.size, &strict, &image, &info, &err) ==
               PACK_ERR_FORMAT &&
           strstr(err.text, "warning"),
       "and refused when strict, in the warning's words");
    pack_image_done(&image);
}

/* A JPEG whose scans are repeated: a few kilobytes that keep a decoder busy for long. */
static void
test_scan_bomb(void)
{
    make_jpeg(&file, 64, 64, 1, true);
    static struct bytes bomb;
    size_t last = file.size - 2, start = 0;
    for (size_t i = 2; i + 1 < file.size; i++) /* the last scan */
        if (file.data[i] == 0xFF && file.data[i + 1] == 0xDA)
            start = i;
    bomb.size = 0;
    append(&bomb, file.data, last);
    for (int i = 0; i < 1100 && bomb.size + last - start + 2 < sizeof bomb.data; i++)
        append(&bomb, file.data + start, last - start);
    append(&bomb, "\xff\xd9", 2);
    ok(refuses((char *)bomb.data, bomb.size, PACK_ERR_LIMIT, "1000 scans"),
       "a JPEG of more than a thousand scans is refused");
}

static void
test_orientation_parsers(void)
{
    int orientation = 5;
    ok(!pack_exif_orientation("", 0, &orientation) &&
           !pack_exif_orientation("Exif\0\0", 6, &orientation) &&
           !pack_exif_orientation("II*\0\xff\xff\xff\xff", 8, &orientation) &&
           orientation == 5,
       "data without a directory have no orientation");
    ok(pack_exif_xmp_orientation("<tiff:Orientation>8<", 20, &orientation) &&
           orientation == 8 &&
           pack_exif_xmp_orientation("tiff:Orientation=\"9\"", 20, &orientation) &&
           orientation == 1 &&
           !pack_exif_xmp_orientation("tiff:Orientation=\"", 18, &orientation) &&
           !pack_exif_xmp_orientation("tiff:Orientation>", 17, &orientation) &&
           !pack_exif_xmp_orientation("tiff:Orientation", 16, &orientation),
       "XMP is read to its end and not beyond");
}

/* A beginning of a PNG leaves open what turns it, unless that stood before the pixels. */
static void
test_partial(void)
{
    static const uint8_t exif[] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 18, 0, 3,
                                    0,   0,   0, 1,  0, 6, 0, 0, 0, 0, 0, 0 };
    struct png_kind kind = { .w = 90, .h = 60, .depth = 8, .color_type = 2 };
    struct pack_image_params as_stored = { .ignore_orientation = true };
    struct pack_image_info info = { 0 };
    make_png(&file, &kind);
    size_t end = file.size - 12; /* where IEND begins */
    ok(pack_image_probe(file.data, file.size, NULL, &info, NULL) == PACK_OK &&
           !info.partial,
       "a whole PNG says all");
    ok(pack_image_probe(file.data, end - 1, NULL, &info, NULL) == PACK_OK && info.partial,
       "one cut in its pixels does not");
    ok(pack_image_probe(file.data, end - 1, &as_stored, &info, NULL) == PACK_OK &&
           !info.partial,
       "unless it stays as it is stored");
    file.size = end;
    append_chunk(&file, "eXIf", exif, sizeof exif);
    append_chunk(&file, "IEND", "", 0);
    ok(pack_image_probe(file.data, file.size, NULL, &info, NULL) == PACK_OK &&
           !info.partial && info.orientation == 6 && info.width == 60,
       "EXIF data behind the pixels turn it");
    kind.extra = exif;
    kind.extra_type = "eXIf";
    kind.extra_size = sizeof exif;
    make_png(&file, &kind);
    ok(pack_image_probe(file.data, file.size - 20, NULL, &info, NULL) == PACK_OK &&
           !info.partial && info.orientation == 6,
       "those before them are seen in a beginning");
}

/* The files whose decoding takes every path that allocates. */
static void
make_case(int i, struct pack_image_params *params)
{
    static const uint8_t xmp[] = "XML:com.adobe.xmp\0\0";
    static uint8_t text[300];
    static const uint8_t words[] = "tiff:Orientation=\"6\"";
    uLongf size = sizeof text - sizeof xmp;
    struct png_kind kind = { .w = 40, .h = 30, .depth = 8, .color_type = 6 };
    *params = (struct pack_image_params){ .has_background = i % 2 };
    switch (i) {
    case 0: make_jpeg(&file, 100, 60, 3, false); return;
    case 1: make_jpeg(&file, 100, 60, 3, true); return;
    case 2: make_jpeg(&file, 33, 60, 1, false); return;
    case 3: make_jpeg(&file, 33, 60, 4, true); return;
    case 4: break;
    case 5:
        memcpy(text, xmp, sizeof xmp);
        compress(text + sizeof xmp - 1, &size, words, sizeof words - 1);
        kind.extra = text;
        kind.extra_type = "zTXt";
        kind.extra_size = sizeof xmp - 1 + size;
        break;
    case 6:
        kind.w = kind.h = 1;
        kind.interlace = 1;
        break;
    }
    make_png(&file, &kind);
}
enum { N_CASES = 7 };

static void
test_no_memory(void)
{
    unsigned long tried = 0;
    int bad = 0, leaks = 0, wrong = 0;
    for (int i = 0; i < N_CASES; i++) {
        struct pack_image_params params;
        struct pack_image image = { 0 };
        make_case(i, &params);
        enum pack_status status = PACK_ERR_MEMORY;
        for (unsigned long n = 1; status != PACK_OK && n < 1000; n++, tried++) {
            struct pack_error err = { 0 };
            heap_start(n);
            status = pack_image_decode(file.data, file.size, &params, &image, NULL, &err);
            pack_image_done(&image);
            heap.on = false;
            leaks += heap.blocks != 0;
            wrong += status && (status != PACK_ERR_MEMORY || !strstr(err.text, "memory"));
        }
        bad += status != PACK_OK;
    }
    note("%lu allocations refused", tried);
    ok(bad == 0 && tried > 3 * N_CASES, "with one allocation refused, decoding stops");
    ok(wrong == 0, "it says that it is for memory");
    ok(leaks == 0, "and leaves none behind");
}

static bool
within_bound(const char *what)
{
    struct pack_image image = { 0 };
    struct pack_image_info info;
    heap_start(0);
    enum pack_status status =
        pack_image_decode(file.data, file.size, NULL, &image, &info, NULL);
    heap.on = false;
    uint64_t bound = pack_image_decode_bytes(&info, NULL);
    pack_image_done(&image);
    if (!status && heap.peak <= bound && bound < 4 * heap.peak + 1024 * 1024)
        return true;
    note("%s: %s, peak %zu, bound %llu", what, pack_status_name(status), heap.peak,
         (unsigned long long)bound);
    return false;
}

static void
test_memory_bound(void)
{
    static const uint32_t sizes[][2] = { { 1, 1 },     { 2000, 1 },   { 1, 2000 },
                                         { 640, 480 }, { 3000, 100 }, { 1500, 1100 } };
    bool good = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1)
            for (int progressive = 0; progressive < 2; progressive++) {
                make_jpeg(&file, sizes[i][0], sizes[i][1], channels, progressive);
                good &= within_bound("JPEG");
            }
        struct png_kind kind = {
            .w = sizes[i][0], .h = sizes[i][1], .depth = 8, .color_type = 6
        };
        if ((uint64_t)kind.w * kind.h < 40000) {
            make_png(&file, &kind);
            good &= within_bound("PNG");
        }
    }
    ok(good, "decoding needs no more memory than announced, nor a quarter of it");
}

/* Where windows are elsewhere, everything is decoded, and nothing written beside it. */
static void
test_windows_outside(void)
{
    static const struct pack_image_window windows[] = {
        { 120, 0, 1, 1 },   { 100, 0, 1, 1 },          { 0, 3000, 1, 1 },
        { 5000, 0, 1, 1 },  { UINT32_MAX, 0, 1, 1 },   { 0, UINT32_MAX, 1, UINT32_MAX },
        { 4000, 4000, 0, 0 }
    };
    struct pack_image all = { 0 }, some = { 0 };
    make_jpeg(&file, 100, 600, 3, false);
    bool same = pack_image_decode(file.data, file.size, NULL, &all, NULL, NULL) == PACK_OK;
    for (size_t i = 0; same && i < sizeof windows / sizeof *windows; i++) {
        struct pack_image_params params = { .window = &windows[i] };
        pack_image_done(&some);
        same = pack_image_decode(file.data, file.size, &params, &some, NULL, NULL) ==
                   PACK_OK &&
               memcmp(all.pixels, some.pixels, all.size) == 0;
        if (!same)
            note("window at %u,%u", windows[i].x, windows[i].y);
    }
    ok(same, "a window outside the image changes nothing");
    pack_image_done(&all);
    pack_image_done(&some);
}

/* libtiff speaks of memory that it could not get: one such file is not to end a run. */
static void
test_empty_tiff(void)
{
    static const uint8_t le[] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    static const uint8_t none[] = { 'I', 'I', 42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    struct pack_image_info info;
    struct pack_error err = { .text = "" };
    if (!strstr(pack_image_formats(), "TIFF")) {
        skip("built without libtiff");
        return;
    }
    if (!ok(pack_image_probe(le, sizeof le, NULL, &info, &err) == PACK_ERR_FORMAT,
            "a TIFF with a directory of nothing is damaged, and takes no memory"))
        note("%s", err.text);
    bool refused =
        pack_image_probe(none, sizeof none, NULL, &info, &err) == PACK_ERR_FORMAT;
    if (!ok(refused, "as is one without a directory"))
        note("%s", err.text);
}

enum { TIFF_TAGS = 10, TIFF_BYTES = 8 + 2 + 12 * TIFF_TAGS + 4 };

/* A TIFF of 4x4 pixels whose tags say this of its only strip and of its samples. */
static void
make_tiff(uint8_t bytes[TIFF_BYTES], uint32_t strip_bytes, uint32_t n_samples)
{
    enum { PACKBITS = 32773, SHORT = 3, LONG = 4, SEPARATE = 2 };
    const uint32_t tags[TIFF_TAGS][3] = {
        { 256, SHORT, 4 },     { 257, SHORT, 4 },         { 258, SHORT, 8 },
        { 259, SHORT, PACKBITS }, { 262, SHORT, 1 },      { 273, LONG, 8 },
        { 277, LONG, n_samples }, { 278, SHORT, 4 },      { 279, LONG, strip_bytes },
        { 284, SHORT, SEPARATE },
    };
    static const uint8_t head[] = { 'I', 'I', 42, 0, 8, 0, 0, 0, TIFF_TAGS };
    memset(bytes, 0, TIFF_BYTES);
    memcpy(bytes, head, sizeof head);
    for (size_t i = 0; i < TIFF_TAGS; i++) {
        uint8_t *entry = bytes + 10 + 12 * i;
        entry[0] = (uint8_t)tags[i][0];
        entry[1] = (uint8_t)(tags[i][0] >> 8);
        entry[2] = (uint8_t)tags[i][1];
        entry[4] = 1;
        for (int k = 0; k < 4; k++)
            entry[8 + k] = (uint8_t)(tags[i][2] >> 8 * k);
    }
}

/* Bytes that a strip is said to have, and that are not in the file, are never read. */
static void
test_tiff_claims(void)
{
    enum { STRIP_BYTES = 1700000000 };
    uint8_t bytes[TIFF_BYTES];
    struct pack_image_memory memory;
    struct pack_image_info info;
    struct pack_image image = { 0 };
    struct pack_error err = { .text = "" };
    uint64_t probe_bytes = 0;
    if (!strstr(pack_image_formats(), "TIFF")) {
        skip("built without libtiff");
        return;
    }
    make_tiff(bytes, STRIP_BYTES, 1);
    pack_image_memory_init(&memory, bytes, sizeof bytes);
    memory.reader.is_beginning = false;
    bool probed = pack_image_probe_at(&memory.reader, NULL, &info, &err) == PACK_OK;
    if (!ok(probed && pack_image_decode_bytes(&info, NULL) < 4 << 20,
            "a TIFF with a strip longer than the file takes the memory of its pixels"))
        note("%s, %llu bytes", err.text,
             (unsigned long long)(probed ? pack_image_decode_bytes(&info, NULL) : 0));
    ok(pack_image_probe(bytes, sizeof bytes, NULL, &info, NULL) == PACK_OK &&
           pack_image_decode_bytes(&info, NULL) > STRIP_BYTES,
       "of a beginning, that of the strip, which may follow");
    ok(pack_image_decode(bytes, sizeof bytes, NULL, &image, &info, &err) == PACK_ERR_FORMAT,
       "and is damaged");
    pack_image_done(&image);
    make_tiff(bytes, 16, UINT32_MAX);
    if (!ok(pack_image_probe_bytes(&memory.reader, NULL, &probe_bytes, &err) ==
                PACK_ERR_FORMAT,
            "one with more strips than bytes is damaged, whatever lists of them would take"))
        note("%llu bytes", (unsigned long long)probe_bytes);
}

int
main(void)
{
    test_windows_outside();
    test_sniffing();
    test_png_pixels();
    test_limits();
    test_text_bombs();
    test_jpeg_headers();
    test_jpeg_damage();
    test_scan_bomb();
    test_orientation_parsers();
    test_partial();
    test_empty_tiff();
    test_tiff_claims();
    if (heap_is_ours()) {
        test_no_memory();
        test_memory_bound();
    } else
        skip("another allocator is in front of ours");
    return done();
}
