/*
 * Command lines to paste: of h5pack, from the images, and of h5rechunk, from the file as it
 * is (snippet_rechunk.c); snippet_reader.c has h5readbench's. The only places of the library that
 * know options, those of the programs that they write for.
 */
#include "libpack/advise/advise_parts.h"
#include "libpack/advise/snippet_parts.h"

#include <inttypes.h>
#include <string.h>

#include <libpack/dataset.h>
#include "libpack/base/name.h"
#include "libpack/base/page.h"

/* Nothing is to be written: the file has these chunks and this codec. */
static bool
is_stored(const struct pack_snippet_subject *s)
{
    const struct pack_advise_config *now = s->params->now;
    return now && pack_advise_same_layout(now, s->config);
}

static bool
is_nchw(const struct pack_shape *extent)
{
    return (extent->extent[1] == 1 || extent->extent[1] == 3) && extent->extent[3] > 3;
}

/* Bytes in one channel or three: h5pack could have made it. */
static bool
are_images(const struct pack_snippet_subject *s)
{
    const struct pack_shape *extent = &s->params->data.extent;
    return s->packed ||
           (extent->rank == 4 && s->params->data.elem_size == 1 &&
            (is_nchw(extent) || extent->extent[3] == 1 || extent->extent[3] == 3));
}

/* Pixels of the size and kind that the dataset has, where nothing more is known of them. */
static void
h5pack_like(const struct pack_shape *extent, struct page *page)
{
    bool planes = is_nchw(extent);
    const uint64_t *size = extent->extent + (planes ? 2 : 1);
    LINE(page, " --size %" PRIu64 "x%" PRIu64 "%s%s", size[0], size[1],
         planes ? " --layout nchw" : "",
         extent->extent[planes ? 1 : 3] == 1 ? " --gray" : "");
}

/* The options that decide pixels and which images there are, as they were. */
static void
h5pack_as_packed(const struct pack_convert_options *o, struct page *page)
{
    const struct pack_geometry *g = &o->geometry;
    const uint8_t *colour = o->image.background;
    if (g->size_h)
        LINE(page, " --size %" PRIu32 "x%" PRIu32, g->size_h, g->size_w);
    if (g->size_h && g->fit != PACK_FIT_CROP)
        LINE(page, " --fit %s", pack_fit_name(g->fit));
    if (g->shorter)
        LINE(page, " --shorter %" PRIu32, g->shorter);
    if (g->crop_h)
        LINE(page, " --crop %" PRIu32 "x%" PRIu32, g->crop_h, g->crop_w);
    if (g->filter != PACK_RESAMPLE_BILINEAR)
        LINE(page, " --resample %s", pack_resample_filter_name(g->filter));
    if (o->layout != PACK_PIXEL_NHWC)
        LINE(page, " --layout %s", pack_pixel_layout_name(o->layout));
    if (o->image.mode == PACK_IMAGE_GRAY)
        LINE(page, " --gray");
    if (o->image.ignore_orientation)
        LINE(page, " --no-exif-orientation");
    if (o->image.has_background)
        LINE(page, " --background '#%02x%02x%02x'", colour[0], colour[1], colour[2]);
    if (o->image.strict)
        LINE(page, " --strict");
    if (o->shuffle)
        LINE(page, " --shuffle --seed %" PRIu64, o->seed);
    if (o->limit)
        LINE(page, " --limit %" PRIu64, o->limit);
    if (o->on_error == PACK_ON_ERROR_BLANK)
        LINE(page, " --on-error blank");
}

/* "--chunk 8" for whole samples, else the shape. */
static void
h5pack_chunk(const struct pack_snippet_subject *s, struct page *page)
{
    char shape[PACK_SHAPE_TEXT_MAX];
    const struct pack_shape *chunk = &s->config->chunk;
    for (int i = 1; i < chunk->rank; i++)
        if (chunk->extent[i] != s->params->data.extent.extent[i]) {
            LINE(page, " --chunk %s", pack_shape_format(chunk, shape));
            return;
        }
    LINE(page, " --chunk %" PRIu64, chunk->extent[0]);
}

const char *
pack_snippet_new_file(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    const char *name = slash ? slash + 1 : file;
    return name && strcmp(name, "new.h5") == 0 ? "newer.h5" : "new.h5";
}

enum pack_status
pack_snippet_h5pack(const struct pack_snippet_subject *s, struct pack_buf *buf,
                    struct pack_error *err)
{
    if (is_stored(s))
        return pack_buf_printf(buf, err, "# the file stays as it is");
    if (s->config->chunk.rank == 0)
        return pack_buf_printf(buf, err, "# h5pack writes chunks; see h5rechunk");
    if (!are_images(s))
        return pack_buf_printf(buf, err, "# h5pack writes images; see h5rechunk");
    struct page page = { buf, PACK_OK, err };
    LINE(&page, "h5pack ");
    if (page.status == PACK_OK)
        page.status = pack_name_word(s->source ? s->source : "FOLDER", buf, err);
    if (s->packed)
        h5pack_as_packed(s->packed, &page);
    else
        h5pack_like(&s->params->data.extent, &page);
    h5pack_chunk(s, &page);
    LINE(&page, " --compress %s -o ", s->config->codec);
    return page.status == PACK_OK ? pack_name_word(pack_snippet_new_file(s->file), buf, err)
                                  : page.status;
}

enum pack_status
pack_snippet_h5rechunk(const struct pack_snippet_subject *s, struct pack_buf *buf,
                       struct pack_error *err)
{
    return is_stored(s) ? pack_buf_printf(buf, err, "# the file stays as it is")
                        : pack_snippet_rewrite(s, buf, err);
}
