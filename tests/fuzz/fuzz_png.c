/*
 * Bytes turned into a PNG whose checksums are right, so that what lies behind them is
 * reached: the first five are the header's choices, then come chunks, each a type out of
 * a list, a length and its bytes. Pixels are deflated on the way, texts as chance has it.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include <libpack/image.h>

static struct {
    uint8_t data[1 << 17];
    size_t size;
} png;

static void
append(const void *data, size_t size)
{
    assert(size <= sizeof png.data - png.size);
    memcpy(png.data + png.size, data, size);
    png.size += size;
}

static void
append_u32(uint32_t value)
{
    uint8_t be[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16),
                      (uint8_t)(value >> 8), (uint8_t)value };
    append(be, sizeof be);
}

static void
append_chunk(const char *type, const void *data, size_t size)
{
    append_u32((uint32_t)size);
    size_t from = png.size;
    append(type, 4);
    append(data, size);
    append_u32((uint32_t)crc32(0, png.data + from, (uInt)(size + 4)));
}

static void
append_pixels(const uint8_t *data, size_t size)
{
    static uint8_t packed[8192];
    uLongf packed_size = sizeof packed;
    if (compress2(packed, &packed_size, data, size, 1) == Z_OK)
        append_chunk("IDAT", packed, packed_size);
}

/* A text whose packed part, behind the bytes up to `packed_from`, is deflated here. */
static void
append_packed(const char *type, const uint8_t *data, size_t size, size_t packed_from)
{
    static uint8_t chunk[8192];
    if (size < packed_from)
        return;
    uLongf packed_size = sizeof chunk - packed_from;
    memcpy(chunk, data, packed_from);
    if (compress2(chunk + packed_from, &packed_size, data + packed_from,
                  size - packed_from, 1) == Z_OK)
        append_chunk(type, chunk, packed_from + packed_size);
}

static void
append_header(const uint8_t *choices)
{
    static const uint8_t depths[] = { 1, 2, 4, 8, 16 };
    uint8_t header[13] = { 0, 0, 0, choices[0], 0, 0, 0, choices[1] };
    header[8] = depths[choices[2] % 5];
    header[9] = choices[3] % 7;
    header[12] = choices[4] % 2;
    append_chunk("IHDR", header, sizeof header);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = { "IDAT", "PLTE", "tRNS", "eXIf", "tEXt", "iTXt",
                                         "zTXt", "iCCP", "acTL", "fcTL", "gAMA", "IDAT" };
    enum { N_TYPES = sizeof types / sizeof types[0] };
    struct pack_image_params params = { .max_pixels = 1 << 16 };
    struct pack_image image = { 0 };
    if (size < 6 || size > 4096)
        return 0;
    png.size = 0;
    append("\x89PNG\r\n\x1a\n", 8);
    append_header(data);
    params.has_background = data[5] & 1;
    params.mode = data[5] & 2 ? PACK_IMAGE_GRAY : PACK_IMAGE_RGB;
    data += 6;
    size -= 6;
    while (size >= 3 && png.size < sizeof png.data / 2) {
        size_t kind = data[0] % (N_TYPES + 2),
               n = ((size_t)data[1] << 8 | data[2]) % 1500;
        data += 3;
        size -= 3;
        n = n < size ? n : size;
        if (kind == 0)
            append_pixels(data, n);
        else if (kind < N_TYPES)
            append_chunk(types[kind], data, n);
        else if (kind == N_TYPES)
            append_packed("zTXt", data, n, 23);
        else
            append_packed("iTXt", data, n, 22);
        data += n;
        size -= n;
    }
    append_chunk("IEND", "", 0);
    struct pack_image_info info;
    if (pack_image_decode(png.data, png.size, &params, &image, &info, NULL) == PACK_OK)
        assert(image.size == (size_t)image.width * image.height * (size_t)image.channels);
    pack_image_done(&image);
    return 0;
}
