/*
 * Command lines to paste: of h5pack, from the images, and of HDF5's h5repack, from the
 * file as it is (snippet_repack.c). The only places of the library that know options, those
 * of the programs that they write for.
 */
#include "libpack/advise/advise_parts.h"
#include "libpack/advise/snippet_parts.h"

#include <inttypes.h>
#include <string.h>

enum pack_status
pack_snippet_word(const char *text, struct pack_buf *buf, struct pack_error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./,:+@%=";
    if (*text && text[strspn(text, plain)] == '\0')
        return pack_buf_printf(buf, err, "%s", text);
    enum pack_status status = pack_buf_append(buf, "'", 1, err);
    for (; status == PACK_OK && *text; text++)
        status = *text == '\'' ? pack_buf_append(buf, "'\\''", 4, err)
                               : pack_buf_append(buf, text, 1, err);
    return status == PACK_OK ? pack_buf_append(buf, "'", 1, err) : status;
}

/* Nothing is to be written: the file has these chunks and this codec. */
static bool
is_stored(const struct pack_snippet_subject *s)
{
    const struct pack_advise_config *now = s->params->now;
    return now && pack_advise_same_layout(now, s->config);
}

/* "--chunk 8" for whole samples, else the shape; how the axes lie,
 * where it is not nhwc. */
static enum pack_status
h5pack_shape(const struct pack_snippet_subject *s, struct pack_buf *buf,
             struct pack_error *err)
{
    char shape[PACK_SHAPE_TEXT_MAX];
    const uint64_t *extent = s->params->extent.extent, *chunk = s->config->chunk.extent;
    bool planes = (extent[1] == 1 || extent[1] == 3) && extent[3] > 3;
    bool gray = planes ? extent[1] == 1 : extent[3] == 1;
    enum pack_status status = pack_buf_printf(
        buf, err, "%s%s", planes ? " --layout nchw" : "", gray ? " --gray" : "");
    if (status != PACK_OK)
        return status;
    if (chunk[1] == extent[1] && chunk[2] == extent[2] && chunk[3] == extent[3])
        return pack_buf_printf(buf, err, " --chunk %" PRIu64, chunk[0]);
    return pack_buf_printf(buf, err, " --chunk %s",
                           pack_shape_format(&s->config->chunk, shape));
}

const char *
pack_snippet_new_file(const struct pack_snippet_subject *s)
{
    const char *slash = s->file ? strrchr(s->file, '/') : NULL;
    const char *name = slash ? slash + 1 : s->file;
    return name && strcmp(name, "new.h5") == 0 ? "newer.h5" : "new.h5";
}

enum pack_status
pack_snippet_h5pack(const struct pack_snippet_subject *s, struct pack_buf *buf,
                    struct pack_error *err)
{
    if (is_stored(s))
        return pack_buf_printf(buf, err, "# the file stays as it is");
    if (s->config->chunk.rank == 0)
        return pack_buf_printf(buf, err, "# h5pack writes chunks; see h5repack");
    if (s->config->chunk.rank != 4)
        return pack_buf_printf(buf, err, "# h5pack writes images; see h5repack");
    enum pack_status status = pack_buf_printf(buf, err, "h5pack ");
    if (status == PACK_OK)
        status = pack_snippet_word(s->source ? s->source : "FOLDER", buf, err);
    if (status == PACK_OK)
        status = h5pack_shape(s, buf, err);
    if (status == PACK_OK)
        status = pack_buf_printf(buf, err, " --compress %s -o ", s->config->codec);
    return status == PACK_OK ? pack_snippet_word(pack_snippet_new_file(s), buf, err)
                             : status;
}

enum pack_status
pack_snippet_h5repack(const struct pack_snippet_subject *s, struct pack_buf *buf,
                      struct pack_error *err)
{
    return is_stored(s) ? pack_buf_printf(buf, err, "# the file stays as it is")
                        : pack_snippet_repack(s, buf, err);
}
