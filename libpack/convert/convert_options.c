/* The options that decide the content of a file, to and from the JSON stored in it. */
#include "libpack/convert/convert_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_read.h"
#include "libpack/base/json.h"
#include "libpack/image/color.h"

static const char *const mode_names[] = { "rgb", "gray" };
static const char *const goal_names[] = { "shuffle", "block-shuffle" };
static const char *const on_error_names[] = { "skip", "fail", "blank" };

static void
write_geometry(struct pack_json *json, const struct pack_geometry *g)
{
    char size[32];
    if (g->size_h) {
        snprintf(size, sizeof size, "%" PRIu32 "x%" PRIu32, g->size_h, g->size_w);
        pack_json_text(json, "size", size);
        pack_json_text(json, "fit", pack_fit_name(g->fit));
    }
    if (g->shorter)
        pack_json_u64(json, "shorter", g->shorter);
    if (g->crop_h) {
        snprintf(size, sizeof size, "%" PRIu32 "x%" PRIu32, g->crop_h, g->crop_w);
        pack_json_text(json, "crop", size);
    }
    if (g->size_h || g->shorter)
        pack_json_text(json, "resample", pack_resample_filter_name(g->filter));
    if (g->draft)
        pack_json_bool(json, "draft", true);
}

uint64_t
pack_convert_max_file(const struct pack_convert_options *options)
{
    return options->max_file_bytes ? options->max_file_bytes : PACK_CONVERT_MAX_FILE;
}

void
pack_convert_options_put(const struct pack_convert_options *o, struct pack_json *json)
{
    char chunk[PACK_SHAPE_TEXT_MAX], pipeline[PACK_PIPELINE_TEXT_MAX], colour[16];
    char scale[16];
    pack_json_text(json, "mode", mode_names[o->image.mode]);
    pack_json_text(json, "layout", pack_pixel_layout_name(o->layout));
    write_geometry(json, &o->geometry);
    pack_json_bool(json, "exif_orientation", !o->image.ignore_orientation);
    if (o->image.has_background) {
        snprintf(colour, sizeof colour, "#%02x%02x%02x", o->image.background[0],
                 o->image.background[1], o->image.background[2]);
        pack_json_text(json, "background", colour);
    }
    if (o->finds_range_16) {
        pack_json_text(json, "scale16", "auto");
    } else if (o->image.scales_16) {
        snprintf(scale, sizeof scale, "%u:%u", o->image.low_16, o->image.high_16);
        pack_json_text(json, "scale16", scale);
    }
    pack_json_bool(json, "strict", o->image.strict);
    pack_json_u64(json, "max_pixels",
                  o->image.max_pixels ? o->image.max_pixels : PACK_IMAGE_MAX_PIXELS);
    pack_json_u64(json, "max_file_bytes", pack_convert_max_file(o));
    if (o->chunk.rank)
        pack_json_text(json, "chunk", pack_shape_format(&o->chunk, chunk));
    else if (o->chunk_samples)
        pack_json_u64(json, "chunk", o->chunk_samples);
    else
        pack_json_text(json, "chunk", "auto");
    pack_json_text(json, "for", goal_names[o->goal]);
    pack_json_text(json, "compress", pack_pipeline_format(&o->pipeline, pipeline));
    pack_json_text(json, "libver", pack_libver_name(o->libver));
    pack_json_text(json, "on_error", on_error_names[o->on_error]);
    pack_json_bool(json, "shuffle", o->shuffle);
    if (o->shuffle)
        pack_json_u64(json, "seed", o->seed);
    if (o->limit)
        pack_json_u64(json, "limit", o->limit);
}

enum pack_status
pack_convert_options_text(const struct pack_convert_options *options,
                          struct pack_buf *text, struct pack_error *err)
{
    struct pack_json json;
    pack_json_begin(&json, text);
    pack_json_object(&json, NULL);
    pack_convert_options_put(options, &json);
    pack_json_close(&json);
    return pack_json_end(&json, err);
}

/* ----------------------------------------------------------------- reading */

/* Keeps the first complaint, so that a list of look-ups needs no check after each. */
struct look {
    const struct pack_json_value *root;
    enum pack_status status;
    struct pack_error *err;
};

static void
bad(struct look *look, const char *key)
{
    if (look->status == PACK_OK)
        look->status = pack_fail(look->err, PACK_ERR_FORMAT,
                                 "attribute h5pack_options: bad '%s'", key);
}

static const char *
look_text(struct look *look, const char *key)
{
    const struct pack_json_value *value = pack_json_find(look->root, key);
    if (value && value->kind != PACK_JSON_TEXT)
        bad(look, key);
    return value && value->kind == PACK_JSON_TEXT ? value->text : NULL;
}

static bool
look_bool(struct look *look, const char *key)
{
    const struct pack_json_value *value = pack_json_find(look->root, key);
    if (value && value->kind != PACK_JSON_BOOL)
        bad(look, key);
    return value && value->kind == PACK_JSON_BOOL && value->truth;
}

static uint64_t
look_u64(struct look *look, const char *key)
{
    const struct pack_json_value *value = pack_json_find(look->root, key);
    if (value && !value->is_natural)
        bad(look, key);
    return value ? value->natural : 0;
}

static int
look_name(struct look *look, const char *key, const char *const *names, int n)
{
    const char *text = look_text(look, key);
    for (int i = 0; text && i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    if (text)
        bad(look, key);
    return 0;
}

static void
look_extent(struct look *look, const char *key, uint32_t *h, uint32_t *w)
{
    struct pack_shape shape;
    const char *text = look_text(look, key);
    if (!text)
        return;
    if (pack_shape_parse(text, &shape, NULL) != PACK_OK || shape.rank != 2 ||
        shape.extent[0] > PACK_GEOMETRY_MAX || shape.extent[1] > PACK_GEOMETRY_MAX) {
        bad(look, key);
        return;
    }
    *h = (uint32_t)shape.extent[0];
    *w = (uint32_t)shape.extent[1];
}

static void
look_geometry(struct look *look, struct pack_geometry *g)
{
    const char *fit = look_text(look, "fit"), *filter = look_text(look, "resample");
    look_extent(look, "size", &g->size_h, &g->size_w);
    look_extent(look, "crop", &g->crop_h, &g->crop_w);
    g->draft = look_bool(look, "draft");
    uint64_t shorter = look_u64(look, "shorter");
    if (shorter > PACK_GEOMETRY_MAX)
        bad(look, "shorter");
    g->shorter = (uint32_t)shorter;
    if (fit && pack_fit_parse(fit, &g->fit, NULL) != PACK_OK)
        bad(look, "fit");
    if (filter && pack_resample_filter_parse(filter, &g->filter, NULL) != PACK_OK)
        bad(look, "resample");
}

static void
look_chunk(struct look *look, struct pack_convert_options *o)
{
    const struct pack_json_value *chunk = pack_json_find(look->root, "chunk");
    if (chunk && chunk->kind == PACK_JSON_NUMBER)
        o->chunk_samples = look_u64(look, "chunk");
    else if (chunk && chunk->kind == PACK_JSON_TEXT && strcmp(chunk->text, "auto") != 0 &&
             pack_shape_parse(chunk->text, &o->chunk, NULL) != PACK_OK)
        bad(look, "chunk");
}

static void
look_background(struct look *look, struct pack_image_params *image)
{
    const char *text = look_text(look, "background");
    if (!text)
        return;
    image->has_background = pack_image_color_parse(text, image->background);
    if (!image->has_background)
        bad(look, "background");
}

static void
look_scale(struct look *look, struct pack_convert_options *o)
{
    struct pack_image_params *image = &o->image;
    const char *text = look_text(look, "scale16");
    o->finds_range_16 = text && strcmp(text, "auto") == 0;
    if (!text || o->finds_range_16)
        return;
    image->scales_16 = pack_image_range_parse(text, &image->low_16, &image->high_16);
    if (!image->scales_16)
        bad(look, "scale16");
}

enum pack_status
pack_convert_options_parse(const char *text, struct pack_convert_options *options,
                           struct pack_error *err)
{
    struct pack_convert_options o = { 0 };
    struct look look = { .err = err };
    struct pack_json_doc *doc;
    enum pack_status status = pack_json_parse(text, strlen(text), &doc, &look.root, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "attribute h5pack_options");
    if (look.root->kind != PACK_JSON_OBJECT)
        bad(&look, "{");
    o.image.mode = (enum pack_image_mode)look_name(&look, "mode", mode_names, 2);
    o.goal = (enum pack_chunk_goal)look_name(&look, "for", goal_names, 2);
    o.on_error = (enum pack_on_error)look_name(&look, "on_error", on_error_names, 3);
    look_geometry(&look, &o.geometry);
    look_chunk(&look, &o);
    look_background(&look, &o.image);
    look_scale(&look, &o);
    o.image.ignore_orientation = !look_bool(&look, "exif_orientation");
    o.image.strict = look_bool(&look, "strict");
    o.image.max_pixels = look_u64(&look, "max_pixels");
    o.max_file_bytes = look_u64(&look, "max_file_bytes");
    o.shuffle = look_bool(&look, "shuffle");
    o.seed = look_u64(&look, "seed");
    o.limit = look_u64(&look, "limit");
    const char *layout = look_text(&look, "layout"),
               *compress = look_text(&look, "compress"),
               *libver = look_text(&look, "libver");
    if (!layout || pack_pixel_layout_parse(layout, &o.layout, NULL) != PACK_OK)
        bad(&look, "layout");
    if (compress && pack_pipeline_parse(compress, 1, &o.pipeline, NULL) != PACK_OK)
        bad(&look, "compress");
    if (libver && pack_libver_parse(libver, &o.libver, NULL) != PACK_OK)
        bad(&look, "libver");
    pack_json_free(doc);
    if (look.status == PACK_OK)
        *options = o;
    return look.status;
}

/* The range that was found when the file was packed; none where there is no attribute. */
static enum pack_status
read_range(int64_t file, struct pack_image_params *image, struct pack_error *err)
{
    int64_t range[2] = { 0 };
    enum pack_status status =
        pack_h5_read_attr_integers(file, "images", "scale16", 2, range, err);
    if (status != PACK_OK)
        return status == PACK_ERR_NOT_FOUND ? PACK_OK : status;
    if (range[0] < 0 || range[1] < range[0] || range[1] > UINT16_MAX)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "attribute scale16 of images: %" PRId64 ":%" PRId64
                         " is no range of 16 bits",
                         range[0], range[1]);
    image->scales_16 = true;
    image->low_16 = (uint16_t)range[0];
    image->high_16 = (uint16_t)range[1];
    return PACK_OK;
}

enum pack_status
pack_convert_options_read(const char *path, struct pack_convert_options *options,
                          struct pack_error *err)
{
    int64_t file = -1;
    char *text = NULL;
    struct pack_convert_options found;
    if (!path || !options)
        return pack_check_given(err, "path", path, "options", options, NULL);
    enum pack_status status = pack_h5_open(path, NULL, &file, err);
    if (status != PACK_OK)
        return status;
    status = pack_h5_read_attr_text(file, "/", "h5pack_options", &text, err);
    if (status == PACK_ERR_NOT_FOUND)
        status = pack_fail(err, PACK_ERR_FORMAT,
                           "no attribute h5pack_options: h5pack did not write this file");
    if (status == PACK_OK)
        status = pack_convert_options_parse(text, &found, err);
    if (status == PACK_OK && found.finds_range_16)
        status = read_range(file, &found.image, err);
    free(text);
    pack_h5_close(file);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s'", path);
    *options = found;
    return PACK_OK;
}
