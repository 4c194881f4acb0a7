#include "libpack/image/kind.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum kind {
    NONE,
    GIF,
    WEBP,
    BMP,
    TIFF,
    BIGTIFF,
    AVIF,
    HEIC,
    HEIF,
    JPEG_2000,
    JPEG_XL,
    CAMERA_RAW,
    PHOTOSHOP,
    QOI,
    OPENEXR,
    DDS,
    PBM,
    PGM,
    PPM,
    LAST_PHOTO = PPM,
    ICON,
    MNG,
    SVG,
    PDF,
};

static const struct {
    const char *name;
    const char *endings[10]; /* of file names */
} kinds[PACK_IMAGE_KINDS] = {
    [GIF] = { "GIF", { ".gif" } },
    [WEBP] = { "WebP", { ".webp" } },
    [BMP] = { "BMP", { ".bmp", ".dib" } },
    [TIFF] = { "TIFF", { ".tif", ".tiff" } },
    [BIGTIFF] = { "BigTIFF", { NULL } },
    [AVIF] = { "AVIF", { ".avif" } },
    [HEIC] = { "HEIC", { ".heic" } },
    [HEIF] = { "HEIF", { ".heif", ".hif" } },
    [JPEG_2000] = { "JPEG 2000", { ".jp2", ".j2k", ".jpf", ".jpx", ".j2c", ".jpc" } },
    [JPEG_XL] = { "JPEG XL", { ".jxl" } },
    [CAMERA_RAW] = { "camera raw",
                     { ".nef", ".cr2", ".cr3", ".arw", ".dng", ".orf", ".rw2", ".raf" } },
    [PHOTOSHOP] = { "Photoshop", { ".psd" } },
    [QOI] = { "QOI", { ".qoi" } },
    [OPENEXR] = { "OpenEXR", { ".exr" } },
    [DDS] = { "DDS", { ".dds" } },
    [PBM] = { "PBM", { ".pbm" } },
    [PGM] = { "PGM", { ".pgm" } },
    [PPM] = { "PPM", { ".ppm", ".pnm" } },
    [ICON] = { "Windows icon", { NULL } },
    [MNG] = { "MNG", { NULL } },
    [SVG] = { "SVG", { NULL } },
    [PDF] = { "PDF", { NULL } },
};

static const struct {
    uint8_t offset, size;
    char bytes[16];
    uint8_t kind;
} magic[] = {
    { 0, 4, "GIF8", GIF },
    { 8, 4, "WEBP", WEBP },
    { 0, 2, "BM", BMP },
    { 8, 2, "CR", CAMERA_RAW }, /* a TIFF in front */
    { 0, 4, "II*\0", TIFF },
    { 0, 4, "MM\0*", TIFF },
    { 0, 4, "II+\0", BIGTIFF },
    { 0, 4, "MM\0+", BIGTIFF },
    { 4, 8, "ftypavif", AVIF },
    { 4, 8, "ftypavis", AVIF },
    { 4, 7, "ftyphei", HEIC },
    { 4, 7, "ftyphev", HEIC },
    { 4, 8, "ftypmif1", HEIF },
    { 4, 8, "ftypmsf1", HEIF },
    { 4, 8, "ftypcrx ", CAMERA_RAW },
    { 0, 12, "\0\0\0\x0cjP  \r\n\x87\n", JPEG_2000 },
    { 0, 4, "\xff\x4f\xff\x51", JPEG_2000 },
    { 0, 12, "\0\0\0\x0cJXL \r\n\x87\n", JPEG_XL },
    { 0, 2, "\xff\x0a", JPEG_XL },
    { 0, 4, "8BPS", PHOTOSHOP },
    { 0, 4, "\0\0\1\0", ICON },
    { 0, 4, "qoif", QOI },
    { 0, 8, "\x8aMNG\r\n\x1a\n", MNG },
    { 0, 4, "\x76\x2f\x31\x01", OPENEXR },
    { 0, 4, "DDS ", DDS },
    { 0, 4, "<svg", SVG },
    { 0, 4, "%PDF", PDF },
    { 0, 3, "P1\n", PBM },
    { 0, 3, "P4\n", PBM },
    { 0, 3, "P2\n", PGM },
    { 0, 3, "P5\n", PGM },
    { 0, 3, "P3\n", PPM },
    { 0, 3, "P6\n", PPM },
};

_Static_assert(PDF + 1 == PACK_IMAGE_KINDS, "the header counts the kinds");

static bool
begins(const uint8_t *data, size_t size, size_t i)
{
    return size >= (size_t)magic[i].offset + magic[i].size &&
           memcmp(data + magic[i].offset, magic[i].bytes, magic[i].size) == 0;
}

/* What stands at byte 8 tells the kind only inside the container that it belongs to. */
static bool
is_contained(const uint8_t *data, size_t i)
{
    return magic[i].offset != 8 ||
           memcmp(data, magic[i].kind == WEBP ? "RIFF" : "II*\0", 4) == 0;
}

int
pack_image_kind(const void *data, size_t size)
{
    for (size_t i = 0; i < sizeof magic / sizeof magic[0]; i++)
        if (begins(data, size, i) && is_contained(data, i))
            return magic[i].kind;
    return NONE;
}

int
pack_image_kind_of_name(const char *file)
{
    const char *dot = strrchr(file, '.');
    for (int kind = 1; dot && kind < PACK_IMAGE_KINDS; kind++)
        for (const char *const *ending = kinds[kind].endings; *ending; ending++)
            if (strcasecmp(dot, *ending) == 0)
                return kind;
    return NONE;
}

const char *
pack_image_kind_name(int kind)
{
    return kind > NONE && kind < PACK_IMAGE_KINDS ? kinds[kind].name : NULL;
}

bool
pack_image_kind_is_photo(int kind)
{
    return kind > NONE && kind <= LAST_PHOTO;
}
