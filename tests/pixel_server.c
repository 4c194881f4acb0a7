/*
 * Decodes and resamples on request, for tests/pixels.py. A request is one line of
 * tab-separated words, "key=value" or a bare flag, of which "file" is the image:
 *
 *     file=a.jpg  gray  background=1,2,3  size=64x48  fit=pad  filter=lanczos  nchw
 *
 * The answer is a line "ok HEIGHT WIDTH CHANNELS ORIENTATION WARNINGS" and the sample's
 * bytes, or "error STATUS SENTENCE".
 */
#include "libpack/image/resample_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *file;
    struct pack_image_params params;
    struct pack_geometry geometry;
    enum pack_pixel_layout layout;
    bool probe, window;
    int variant;
};

/* "HxW" into two numbers. */
static void
parse_pair(const char *text, uint32_t *h, uint32_t *w)
{
    if (sscanf(text, "%ux%u", h, w) != 2)
        exit(3);
}

static void
parse_background(const char *text, struct pack_image_params *params)
{
    int c[3];
    if (sscanf(text, "%d,%d,%d", &c[0], &c[1], &c[2]) != 3)
        exit(3);
    params->has_background = true;
    for (int i = 0; i < 3; i++)
        params->background[i] = (uint8_t)c[i];
}

static void
parse_word(char *word, struct request *r)
{
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    if (strcmp(word, "file") == 0)
        r->file = value;
    else if (strcmp(word, "gray") == 0)
        r->params.mode = PACK_IMAGE_GRAY;
    else if (strcmp(word, "strict") == 0)
        r->params.strict = true;
    else if (strcmp(word, "as-stored") == 0)
        r->params.ignore_orientation = true;
    else if (strcmp(word, "background") == 0)
        parse_background(value, &r->params);
    else if (strcmp(word, "scale16") == 0) {
        r->params.scales_16 = true;
        if (sscanf(value, "%hu:%hu", &r->params.low_16, &r->params.high_16) != 2)
            exit(3);
    } else if (strcmp(word, "probe") == 0)
        r->probe = true;
    else if (strcmp(word, "window") == 0)
        r->window = true;
    else if (strcmp(word, "size") == 0)
        parse_pair(value, &r->geometry.size_h, &r->geometry.size_w);
    else if (strcmp(word, "crop") == 0)
        parse_pair(value, &r->geometry.crop_h, &r->geometry.crop_w);
    else if (strcmp(word, "shorter") == 0)
        r->geometry.shorter = (uint32_t)atoi(value);
    else if (strcmp(word, "fit") == 0)
        pack_fit_parse(value, &r->geometry.fit, NULL);
    else if (strcmp(word, "filter") == 0)
        pack_resample_filter_parse(value, &r->geometry.filter, NULL);
    else if (strcmp(word, "draft") == 0)
        r->geometry.draft = true;
    else if (strcmp(word, "nchw") == 0)
        r->layout = PACK_PIXEL_NCHW;
    else if (strcmp(word, "variant") == 0)
        r->variant = atoi(value);
    else
        exit(3);
}

/* The whole file on the heap, exactly as large as it is, so that memory checkers see
 * reads beyond it. */
static uint8_t *
read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        exit(4);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(*size ? *size : 1);
    if (!data || fread(data, 1, *size, f) != *size)
        exit(4);
    fclose(f);
    return data;
}

/* The plan for an image of the probed size, and its pixels: all, or those that the plan
 * looks at. */
static enum pack_status
decode(const struct request *r, const uint8_t *data, size_t size,
       struct pack_image *image, struct pack_image_info *info,
       struct pack_geometry_plan *plan, struct pack_error *err)
{
    struct pack_image_params params = r->params;
    struct pack_image_window window;
    enum pack_status status = pack_image_probe(data, size, &params, info, err);
    if (status)
        return status;
    status = pack_geometry_plan_image(&r->geometry, info, plan, err);
    if (status)
        return status;
    params.reduce = plan->reduce;
    if (r->window) {
        window = pack_resample_source(plan);
        params.window = &window;
    }
    return pack_image_decode(data, size, &params, image, info, err);
}

static enum pack_status
answer(const struct request *r, const uint8_t *data, size_t size,
       struct pack_image *image, struct pack_resample_scratch *scratch,
       struct pack_error *err)
{
    struct pack_image_info info;
    struct pack_geometry_plan plan;
    if (r->probe) {
        enum pack_status status = pack_image_probe(data, size, &r->params, &info, err);
        if (!status)
            printf("ok %u %u 0 %d 0\n", info.height, info.width, info.orientation);
        return status;
    }
    enum pack_status status = decode(r, data, size, image, &info, &plan, err);
    if (status)
        return status;
    size_t bytes = (size_t)plan.out_h * plan.out_w * image->channels;
    uint8_t *out = malloc(bytes);
    if (!out)
        return pack_fail_memory(err, "sample");
    const struct pack_resample_ops *ops = pack_resample_variant(r->variant);
    pack_resample_scratch_use(scratch, ops ? ops : &pack_resample_scalar);
    status = pack_resample(image, &plan, r->layout, out, scratch, err);
    if (!status) {
        printf("ok %u %u %d %d %u\n", plan.out_h, plan.out_w, image->channels,
               info.orientation, info.n_warnings);
        fwrite(out, 1, bytes, stdout);
    }
    free(out);
    return status;
}

int
main(void)
{
    static char line[65536];
    struct pack_image image = { 0 };
    struct pack_resample_scratch *scratch;
    if (pack_resample_scratch_new(&scratch, NULL))
        return 4;
    while (fgets(line, sizeof line, stdin)) {
        struct request r = { 0 };
        struct pack_error err;
        line[strcspn(line, "\n")] = '\0';
        for (char *word = strtok(line, "\t"); word; word = strtok(NULL, "\t"))
            parse_word(word, &r);
        size_t size;
        uint8_t *data = read_file(r.file, &size);
        if (answer(&r, data, size, &image, scratch, &err))
            printf("error %s %s\n", pack_status_name(err.status), err.text);
        fflush(stdout);
        free(data);
    }
    pack_image_done(&image);
    pack_resample_scratch_free(scratch);
    return 0;
}
