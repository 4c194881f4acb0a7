/*
 * Renders a folder of images that behave like photographs, for quickstart.sh and the
 * tests:
 *
 *     render_samples FOLDER [COUNT [SEED [WIDTH]]]
 *
 * A scene is a sky, a few ridges in front of each other, and things standing on them:
 *
 *     gradient + clouds        what compresses well
 *     ridges of fractal noise  edges at every scale, as foliage, rock and water have
 *     discs and houses         hard edges, flat and shaded faces
 *     lens and sensor          darker corners, grain: keeps photographs from compressing
 *
 * One table row is one class folder. Sizes vary around WIDTH (500) by 3:2, 4:3 and 1:1,
 * some upright. Of 40 images 4 are PNG, 2 gray, 1 progressive, 1 stored turned with an
 * EXIF orientation. The same arguments give the same pixels.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jpeglib.h>
#include <png.h>

#include "libpack/base/rng.h"

struct colour {
    float rgb[3];
};

struct scene {
    const char *name;
    struct colour top, horizon, ground, detail;
    int ridges, discs, houses;
    float roughness; /* how much of each octave of noise the next finer one keeps */
};

static const struct scene scenes[] = {
    { "coast",
      { { 70, 130, 200 } },
      { { 215, 225, 235 } },
      { { 30, 80, 110 } },
      { { 205, 195, 160 } },
      3,
      1,
      0,
      0.55f },
    { "desert",
      { { 60, 110, 190 } },
      { { 240, 215, 180 } },
      { { 190, 130, 70 } },
      { { 235, 190, 120 } },
      4,
      0,
      0,
      0.45f },
    { "forest",
      { { 120, 160, 200 } },
      { { 220, 225, 215 } },
      { { 25, 55, 25 } },
      { { 110, 150, 60 } },
      5,
      0,
      0,
      0.72f },
    { "fruit",
      { { 90, 70, 55 } },
      { { 160, 130, 100 } },
      { { 120, 85, 55 } },
      { { 170, 130, 90 } },
      1,
      9,
      0,
      0.5f },
    { "meadow",
      { { 95, 150, 225 } },
      { { 225, 235, 245 } },
      { { 60, 110, 35 } },
      { { 215, 205, 70 } },
      3,
      5,
      0,
      0.68f },
    { "night",
      { { 8, 10, 25 } },
      { { 70, 45, 60 } },
      { { 12, 12, 18 } },
      { { 60, 50, 45 } },
      3,
      2,
      9,
      0.5f },
    { "snow",
      { { 130, 165, 210 } },
      { { 235, 240, 245 } },
      { { 215, 222, 232 } },
      { { 120, 130, 145 } },
      4,
      0,
      1,
      0.6f },
    { "street",
      { { 140, 165, 195 } },
      { { 215, 215, 210 } },
      { { 95, 92, 90 } },
      { { 165, 150, 135 } },
      2,
      2,
      12,
      0.6f },
};
enum { N_SCENES = sizeof scenes / sizeof *scenes };

struct canvas {
    int width, height;
    float *rgb, *noise; /* noise: width x height, -1 to 1, of the layer being painted */
};

static void
stop(const char *what, const char *path)
{
    fprintf(stderr, "render_samples: %s '%s': %s\n", what, path, strerror(errno));
    exit(2);
}

static void *
memory(size_t size)
{
    void *data = malloc(size);
    if (!data)
        stop("cannot allocate", "pixels");
    return data;
}

/* -1 to 1 */
static float
signed_unit(struct pack_rng *rng)
{
    return (float)(pack_rng_next(rng) >> 40) / 8388608.0f - 1;
}

static float
between(struct pack_rng *rng, float low, float high)
{
    return low + (high - low) * (signed_unit(rng) + 1) / 2;
}

static struct colour
mix(struct colour a, struct colour b, float t)
{
    for (int c = 0; c < 3; c++)
        a.rgb[c] += (b.rgb[c] - a.rgb[c]) * t;
    return a;
}

static struct colour
vary(struct pack_rng *rng, struct colour a, float amount)
{
    for (int c = 0; c < 3; c++)
        a.rgb[c] += amount * signed_unit(rng);
    return a;
}

/* ------------------------------------------------------------------- noise */

static float
smooth(float t)
{
    return t * t * (3 - 2 * t);
}

/* Adds one octave: random values on a lattice `cell` pixels wide,
 * joined by smooth steps. */
static void
add_octave(float *noise, int width, int height, int cell, float amount,
           struct pack_rng *rng)
{
    int columns = width / cell + 2;
    float *lattice = memory((2 * (size_t)columns + (size_t)cell) * sizeof *lattice);
    float *above = lattice, *below = above + columns, *step = below + columns;
    for (int i = 0; i < columns; i++)
        below[i] = signed_unit(rng);
    for (int k = 0; k < cell; k++)
        step[k] = smooth((float)k / (float)cell);
    for (int y = 0; y < height; y++) {
        if (y % cell == 0) {
            float *spare = above;
            above = below;
            below = spare;
            for (int i = 0; i < columns; i++)
                below[i] = signed_unit(rng);
        }
        float v = step[y % cell];
        for (int i = 0, x = 0; x < width; i++) {
            float left = above[i] + (below[i] - above[i]) * v;
            float right = above[i + 1] + (below[i + 1] - above[i + 1]) * v;
            for (int k = 0; k < cell && x < width; k++, x++)
                *noise++ += amount * (left + (right - left) * step[k]);
        }
    }
    free(lattice);
}

/* Fractal noise from `coarsest` pixels a cell down to single pixels. */
static void
make_noise(float *noise, int width, int height, int coarsest, float roughness,
           struct pack_rng *rng)
{
    float amount = 1 - roughness;
    memset(noise, 0, (size_t)width * (size_t)height * sizeof *noise);
    for (int cell = coarsest; cell >= 1; cell /= 2, amount *= roughness)
        add_octave(noise, width, height, cell, amount, rng);
}

/* ---------------------------------------------------------------- painting */

static void
paint(struct canvas *canvas, int x, int y, struct colour colour)
{
    memcpy(canvas->rgb + 3 * ((size_t)y * (size_t)canvas->width + (size_t)x), colour.rgb,
           sizeof colour.rgb);
}

static void
paint_sky(struct canvas *canvas, struct colour top, struct colour horizon,
          struct pack_rng *rng)
{
    make_noise(canvas->noise, canvas->width, canvas->height, canvas->width / 3 + 1, 0.4f,
               rng);
    const float *noise = canvas->noise;
    for (int y = 0; y < canvas->height; y++) {
        struct colour row = mix(top, horizon, (float)y / (float)canvas->height);
        for (int x = 0; x < canvas->width; x++) {
            float cloud = *noise++;
            paint(canvas, x, y, mix(row, horizon, cloud > 0 ? cloud : 0));
        }
    }
}

/* Everything below a ragged line; `distance` 1 (far, hazy) to 0. */
static void
paint_ridge(struct canvas *canvas, const struct scene *scene, float distance,
            struct colour haze, struct pack_rng *rng)
{
    int width = canvas->width, height = canvas->height;
    float *line = memory((size_t)width * sizeof *line);
    make_noise(line, width, 1, width / 4 + 1, 0.5f, rng);
    make_noise(canvas->noise, width, height, 64, scene->roughness, rng);
    struct colour ground = vary(rng, scene->ground, 15),
                  detail = vary(rng, scene->detail, 15);
    float level = (float)height * (0.85f - 0.5f * distance);
    for (int x = 0; x < width; x++) {
        int from = (int)(level + line[x] * (float)height * 0.2f);
        for (int y = from < 0 ? 0 : from; y < height; y++) {
            float texture = canvas->noise[(size_t)y * (size_t)width + (size_t)x];
            struct colour colour = mix(ground, detail, 0.5f + 0.9f * texture);
            paint(canvas, x, y, mix(colour, haze, 0.7f * distance));
        }
    }
    free(line);
}

/* A ball lit from the upper left. */
static void
paint_disc(struct canvas *canvas, struct colour colour, struct pack_rng *rng)
{
    float radius = between(rng, 0.04f, 0.16f) * (float)canvas->height;
    float cx = between(rng, 0.05f, 0.95f) * (float)canvas->width;
    float cy = between(rng, 0.45f, 0.9f) * (float)canvas->height;
    for (int y = 0; y < canvas->height; y++)
        for (int x = 0; x < canvas->width; x++) {
            float dx = ((float)x - cx) / radius, dy = ((float)y - cy) / radius;
            float inside = 1 - dx * dx - dy * dy;
            if (inside <= 0)
                continue;
            float light = 0.25f + 0.75f * (sqrtf(inside) - 0.5f * dx - 0.6f * dy) / 1.4f;
            static const struct colour black = { { 0, 0, 0 } };
            paint(canvas, x, y, mix(black, colour, light < 0.1f ? 0.1f : light));
        }
}

static void
paint_house(struct canvas *canvas, struct colour wall, bool lit, struct pack_rng *rng)
{
    int w = canvas->width, h = canvas->height;
    int left = (int)(between(rng, -0.05f, 0.95f) * (float)w);
    int right = left + (int)(between(rng, 0.08f, 0.2f) * (float)w);
    int top = (int)(between(rng, 0.2f, 0.6f) * (float)h);
    int bottom = (int)(between(rng, 0.75f, 0.95f) * (float)h), pane = 5 + w / 60;
    uint64_t pattern = pack_rng_next(rng);
    struct colour window = { { 45, 55, 70 } }, lamp = { { 250, 215, 130 } };
    for (int y = top; y < bottom; y++)
        for (int x = left < 0 ? 0 : left; x < right && x < w; x++) {
            int column = (x - left) / pane, row = (y - top) / pane;
            bool is_window = column % 2 && row % 2;
            bool is_lamp = lit && pattern >> (column * 7 + row) % 64 & 1;
            float shade = 0.85f + 0.15f * (float)(x - left) / (float)(right - left);
            struct colour colour = is_window ? is_lamp ? lamp : window : wall;
            for (int c = 0; c < 3; c++)
                colour.rgb[c] *= shade;
            paint(canvas, x, y, colour);
        }
}

/* Texture of every surface, darker corners and grain, rounded to 8 bits. */
static void
expose(struct canvas *canvas, float grain, uint8_t *pixels, struct pack_rng *rng)
{
    int width = canvas->width, height = canvas->height;
    make_noise(canvas->noise, width, height, 16, 0.85f, rng);
    const float *rgb = canvas->rgb, *noise = canvas->noise;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float u = (float)x / (float)width - 0.5f, v = (float)y / (float)height - 0.5f;
            float lens = 1.05f - 0.5f * (u * u + v * v), surface = 1 + 0.35f * *noise++;
            for (int c = 0; c < 3; c++) {
                float value = *rgb++ * lens * surface + grain * signed_unit(rng);
                *pixels++ = value < 0 ? 0 : value > 255 ? 255 : (uint8_t)(value + 0.5f);
            }
        }
}

static void
render(struct canvas *canvas, const struct scene *scene, uint8_t *pixels,
       struct pack_rng *rng)
{
    struct colour haze = vary(rng, scene->horizon, 20);
    paint_sky(canvas, vary(rng, scene->top, 25), haze, rng);
    for (int i = 0; i < scene->ridges; i++) {
        float distance = 1 - (float)(i + 1) / (float)scene->ridges;
        paint_ridge(canvas, scene, distance, haze, rng);
        if (i + 2 < scene->ridges)
            continue;
        for (int n = scene->houses / 2; n > 0; n--)
            paint_house(canvas, vary(rng, scene->detail, 50), scene->top.rgb[2] < 60,
                        rng);
    }
    for (int n = scene->discs; n > 0; n--)
        paint_disc(canvas, vary(rng, (struct colour){ { 170, 110, 90 } }, 80), rng);
    expose(canvas, between(rng, 4, 16), pixels, rng);
}

/* ----------------------------------------------------------------- writing */

/* Rows of `from` become columns, so that orientation 6 (turn right) shows it upright. */
static void
turn(const uint8_t *from, int width, int height, uint8_t *to)
{
    for (int row = 0; row < width; row++)
        for (int column = 0; column < height; column++, to += 3)
            memcpy(to,
                   from +
                       3 * ((size_t)column * (size_t)width + (size_t)(width - 1 - row)),
                   3);
}

static void
to_gray(uint8_t *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pixels[i] = (uint8_t)((299 * pixels[3 * i] + 587 * pixels[3 * i + 1] +
                               114 * pixels[3 * i + 2] + 500) /
                              1000);
}

struct look {
    bool gray, progressive, turned;
    int quality;
};

static void
write_jpeg(const char *path, const uint8_t *pixels, int width, int height,
           struct look look)
{
    static const uint8_t exif_turned[] = "Exif\0\0MM\0*\0\0\0\10\0\1"
                                         "\1\22\0\3\0\0\0\1\0\6\0\0"
                                         "\0\0\0\0";
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path, "wb");
    if (!file)
        stop("cannot create", path);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = look.gray ? 1 : 3;
    jpeg.in_color_space = look.gray ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, look.quality, TRUE);
    if (look.progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    if (look.turned)
        jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif_turned, sizeof exif_turned - 1);
    size_t stride = (size_t)width * (look.gray ? 1 : 3);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + jpeg.next_scanline * stride);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    if (fclose(file) != 0)
        stop("cannot write", path);
}

static void
write_png(const char *path, const uint8_t *pixels, int width, int height, bool gray)
{
    png_image png = { .version = PNG_IMAGE_VERSION,
                      .width = (png_uint_32)width,
                      .height = (png_uint_32)height,
                      .format = gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB,
                      .flags = PNG_IMAGE_FLAG_FAST };
    if (!png_image_write_to_file(&png, path, 0, pixels, 0, NULL))
        stop("cannot write", path);
}

static void
write_sample(const char *folder, int number, uint64_t seed, int long_side)
{
    static const int ratios[][2] = { { 3, 2 }, { 4, 3 }, { 4, 3 }, { 1, 1 }, { 3, 4 } };
    const struct scene *scene = &scenes[number % N_SCENES];
    struct pack_rng rng;
    pack_rng_seed(&rng, pack_rng_mix(seed, (uint64_t)number));
    const int *ratio = ratios[pack_rng_below(&rng, 5)];
    int side = (int)((float)long_side * between(&rng, 0.85f, 1.1f));
    int width = ratio[0] >= ratio[1] ? side : side * ratio[0] / ratio[1];
    int height = ratio[0] >= ratio[1] ? side * ratio[1] / ratio[0] : side;
    size_t n = (size_t)width * (size_t)height;
    struct canvas canvas = { width, height, memory(3 * n * sizeof(float)),
                             memory(n * sizeof(float)) };
    uint8_t *pixels = memory(3 * n), *turned = memory(3 * n);
    render(&canvas, scene, pixels, &rng);

    int kind =
        number / N_SCENES % 10 + 10 * (number % 4); /* 0 to 39, spread over classes */
    struct look look = { kind == 12 || kind == 27, kind == 33, kind == 8,
                         (int)between(&rng, 88, 98) };
    bool png = kind % 10 == 5;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s_%04d.%s", folder, scene->name, scene->name,
             number, png ? "png" : "jpg");
    if (look.gray)
        to_gray(pixels, n);
    if (look.turned)
        turn(pixels, width, height, turned);
    if (png)
        write_png(path, pixels, width, height, look.gray);
    else if (look.turned)
        write_jpeg(path, turned, height, width, look);
    else
        write_jpeg(path, pixels, width, height, look);
    free(turned);
    free(pixels);
    free(canvas.noise);
    free(canvas.rgb);
}

static void
make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        stop("cannot create", path);
}

int
main(int argc, char **argv)
{
    if (argc < 2 || argc > 5 || argv[1][0] == '-') {
        fprintf(stderr, "usage: render_samples FOLDER [COUNT [SEED [WIDTH]]]\n");
        return 2;
    }
    int count = argc > 2 ? atoi(argv[2]) : 400, width = argc > 4 ? atoi(argv[4]) : 500;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (count < 1 || width < 16 || width > 8000) {
        fprintf(stderr, "render_samples: COUNT is at least 1, WIDTH 16 to 8000\n");
        return 2;
    }
    char path[4096];
    make_folder(argv[1]);
    for (int i = 0; i < N_SCENES && i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", argv[1], scenes[i].name);
        make_folder(path);
    }
    for (int i = 0; i < count; i++)
        write_sample(argv[1], i, seed, width);
    return 0;
}
