/*
 * h5repack takes "NAMES:CHUNK=..." and "NAMES:FILTER": names are apart by commas and end
 * at a colon, so that a dataset whose own name has one of these, or a blank, is not found.
 * h5py takes any name, and writes what a virtual dataset shows, which h5repack copies as
 * the list of its sources.
 */
#include <string.h>

#include <libpack/dataset.h>
#include "libpack/advise/snippet_parts.h"
#include "libpack/base/name.h"

enum { STEP_BYTES = 32 << 20 };

/* Whether h5repack can be told the name. */
static bool
is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-./+@%";
    return name[strspn(name, letters)] == '\0';
}

static enum pack_status
parse_codec(const struct pack_snippet_subject *s, struct pack_pipeline *pipeline,
            struct pack_error *err)
{
    *pipeline = (struct pack_pipeline){ .n = 0 };
    return strcmp(s->config->codec, "none") == 0
               ? PACK_OK
               : pack_pipeline_parse(s->config->codec,
                                     (uint32_t)s->params->data.elem_size, pipeline, err);
}

/* ---------------------------------------------------------------------- h5repack */

/* " -f images:GZIP=4", one for each filter. Without the name, h5repack would filter all
 * datasets of the file, and this one with the first filter only. */
static enum pack_status
print_filters(const char *name, const struct pack_pipeline *pipeline,
              struct pack_buf *buf, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    if (pipeline->n == 0)
        return pack_buf_printf(buf, err, " -f %s:NONE", name);
    for (int i = 0; status == PACK_OK && i < pipeline->n; i++) {
        const struct pack_filter *f = &pipeline->filter[i];
        unsigned value = f->n_cd ? f->cd[0] : 3;
        status = pack_buf_printf(buf, err, " -f %s:", name);
        if (status != PACK_OK)
            return status;
        switch (f->id) {
        case PACK_FILTER_SHUFFLE: status = pack_buf_printf(buf, err, "SHUF"); break;
        case PACK_FILTER_FLETCHER32: status = pack_buf_printf(buf, err, "FLET"); break;
        case PACK_FILTER_DEFLATE:
            status = pack_buf_printf(buf, err, "GZIP=%u", value);
            break;
        default:
            status = pack_buf_printf(buf, err, "UD=%u,0,1,%u", (unsigned)f->id, value);
        }
    }
    return status;
}

static enum pack_status
print_h5repack(const struct pack_snippet_subject *s, const struct pack_pipeline *pipeline,
               struct pack_buf *buf, struct pack_error *err)
{
    char shape[PACK_SHAPE_TEXT_MAX];
    enum pack_status status = pack_buf_printf(buf, err, "h5repack -l %s:", s->dataset);
    if (status == PACK_OK && s->config->chunk.rank == 0)
        status = pack_buf_printf(buf, err, "CONTI");
    else if (status == PACK_OK)
        status = pack_buf_printf(buf, err, "CHUNK=%s",
                                 pack_shape_format(&s->config->chunk, shape));
    if (status == PACK_OK)
        status = print_filters(s->dataset, pipeline, buf, err);
    if (status == PACK_OK)
        status = pack_buf_printf(buf, err, " ");
    if (status == PACK_OK)
        status = pack_name_word(s->file, buf, err);
    return status == PACK_OK
               ? pack_buf_printf(buf, err, " %s", pack_snippet_new_file(s))
               : status;
}

/* -------------------------------------------------------------------------- h5py */

/* ", chunks=(8, 224, 224, 3), compression='gzip', ..." */
static enum pack_status
print_layout(const struct pack_snippet_subject *s, const struct pack_pipeline *pipeline,
             struct pack_buf *buf, struct pack_error *err)
{
    const struct pack_shape *chunk = &s->config->chunk;
    enum pack_status status =
        chunk->rank ? pack_buf_printf(buf, err, ",\n        maxshape=data.maxshape, chunks=(")
                    : PACK_OK;
    for (int i = 0; status == PACK_OK && i < chunk->rank; i++)
        status = pack_buf_printf(buf, err, "%llu,%s",
                                 (unsigned long long)chunk->extent[i],
                                 i + 1 < chunk->rank ? " " : ")");
    for (int i = 0; status == PACK_OK && i < pipeline->n; i++) {
        const struct pack_filter *f = &pipeline->filter[i];
        unsigned value = f->n_cd ? f->cd[0] : 3;
        if (f->id == PACK_FILTER_SHUFFLE)
            status = pack_buf_printf(buf, err, ", shuffle=True");
        else if (f->id == PACK_FILTER_FLETCHER32)
            status = pack_buf_printf(buf, err, ", fletcher32=True");
        else if (f->id == PACK_FILTER_DEFLATE)
            status = pack_buf_printf(buf, err, ", compression='gzip', compression_opts=%u",
                                     value);
        else
            status = pack_buf_printf(buf, err, ", compression=%u, compression_opts=(%u,)",
                                     (unsigned)f->id, value);
    }
    return status;
}

/* Samples that are copied at a time: whole chunks. */
static uint64_t
step_of(const struct pack_snippet_subject *s)
{
    uint64_t chunk = s->config->chunk.rank ? s->config->chunk.extent[0] : 1;
    double bytes = (double)s->params->data.elem_size * (double)chunk;
    for (int i = 1; i < s->params->data.extent.rank; i++)
        bytes *= (double)s->params->data.extent.extent[i];
    return bytes < STEP_BYTES ? (uint64_t)(STEP_BYTES / bytes) * chunk : chunk;
}

/* With: a plugin to import, the dataset's name, the old and the new file, the layout, and
 * three times the samples that are copied at once. */
static const char repack_script[] =
    "python3 <<'END'\n"
    "import h5py%s\n"
    "name = %.*s\n"
    "with h5py.File(%.*s, 'r') as old, h5py.File('%s', 'w') as new:\n"
    "    data = old[name]\n"
    "    copy = new.create_dataset(name, data.shape, data.dtype,\n"
    "        fillvalue=data.fillvalue%.*s)\n"
    "    for i in range(0, len(data), %llu):\n"
    "        copy[i:i + %llu] = data[i:i + %llu]\n"
    "    # other objects and attributes; further links to them, references and\n"
    "    # dimension scales are not kept\n"
    "    def other(path, item):\n"
    "        if isinstance(item, h5py.Group):\n"
    "            new.require_group(path)\n"
    "        elif path != name:\n"
    "            return old.copy(item, new, path)\n"
    "        new[path].attrs.update(item.attrs)\n"
    "    old.visititems(other)\n"
    "    new.attrs.update(old.attrs)\n"
    "END";

static enum pack_status
print_h5py(const struct pack_snippet_subject *s, const struct pack_pipeline *pipeline,
           struct pack_buf *buf, struct pack_error *err)
{
    bool is_foreign = strstr(s->config->codec, "zstd") != NULL;
    unsigned long long step = step_of(s);
    struct pack_buf name = { 0 }, file = { 0 }, layout = { 0 };
    enum pack_status status = pack_name_literal(s->dataset, '\'', &name, err);
    if (status == PACK_OK)
        status = pack_name_literal(s->file, '\'', &file, err);
    if (status == PACK_OK)
        status = print_layout(s, pipeline, &layout, err);
    if (status == PACK_OK)
        status = pack_buf_printf(buf, err, repack_script,
                                 is_foreign ? ", hdf5plugin  # encodes zstd" : "",
                                 (int)name.size, (const char *)name.data, (int)file.size,
                                 (const char *)file.data, pack_snippet_new_file(s),
                                 (int)layout.size,
                                 layout.size ? (const char *)layout.data : "", step, step,
                                 step);
    pack_buf_done(&name);
    pack_buf_done(&file);
    pack_buf_done(&layout);
    return status;
}

enum pack_status
pack_snippet_repack(const struct pack_snippet_subject *s, struct pack_buf *buf,
                    struct pack_error *err)
{
    struct pack_pipeline pipeline;
    enum pack_status status = parse_codec(s, &pipeline, err);
    if (status != PACK_OK)
        return status;
    bool is_virtual = s->params->now && s->params->now->is_virtual;
    return is_plain(s->dataset) && !is_virtual ? print_h5repack(s, &pipeline, buf, err)
                                               : print_h5py(s, &pipeline, buf, err);
}
