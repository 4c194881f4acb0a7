/*
 * h5rechunk writes any dataset of a file anew that it can decode, under any name, with
 * filters that it can encode, or without chunks. h5py does the rest: what a virtual dataset
 * shows, data of another file.
 */
#include <string.h>

#include <libpack/dataset.h>
#include "libpack/advise/snippet_parts.h"
#include "libpack/base/name.h"

enum { STEP_BYTES = 32 << 20 };

static enum pack_status
parse_codec(const char *codec, uint64_t elem_size, struct pack_pipeline *pipeline,
            struct pack_error *err)
{
    return pack_pipeline_parse(codec, (uint32_t)elem_size, pipeline, err);
}

/* --------------------------------------------------------------------- h5rechunk */

bool
pack_snippet_can_rechunk(const struct pack_advise_config *config, uint64_t elem_size)
{
    struct pack_pipeline pipeline;
    return parse_codec(config->codec, elem_size, &pipeline, NULL) == PACK_OK &&
           pack_pipeline_is_known(&pipeline, NULL) &&
           (config->chunk.rank > 0 || pipeline.n == 0);
}

/* "FILE:/DATASET", one word whatever is in the names. */
static enum pack_status
print_operand(const char *file, const char *dataset, struct pack_buf *buf,
              struct pack_error *err)
{
    struct pack_buf operand = { 0 };
    enum pack_status status = pack_buf_printf(&operand, err, "%s:/%s", file, dataset);
    if (status == PACK_OK)
        status = pack_buf_append(&operand, "", 1, err);
    if (status == PACK_OK)
        status = pack_name_word((const char *)operand.data, buf, err);
    pack_buf_done(&operand);
    return status;
}

enum pack_status
pack_snippet_rechunk(const char *file, const char *dataset,
                     const struct pack_advise_config *config, struct pack_buf *buf,
                     struct pack_error *err)
{
    char chunk[PACK_SHAPE_TEXT_MAX];
    enum pack_status status = pack_buf_printf(buf, err, "h5rechunk ");
    if (status == PACK_OK)
        status = print_operand(file, dataset, buf, err);
    if (status == PACK_OK)
        status = config->chunk.rank == 0
                     ? pack_buf_printf(buf, err, " --chunk none")
                     : pack_buf_printf(buf, err, " --chunk %s --compress %s",
                                       pack_shape_format(&config->chunk, chunk),
                                       config->codec);
    return status == PACK_OK
               ? pack_buf_printf(buf, err, " -o %s", pack_snippet_new_file(file))
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
    const struct pack_advise_config *now = s->params->now;
    bool encodes = strstr(s->config->codec, "zstd") != NULL;
    bool decodes = now && strstr(now->codec, "zstd") != NULL;
    unsigned long long step = step_of(s);
    struct pack_buf name = { 0 }, file = { 0 }, layout = { 0 };
    enum pack_status status = pack_name_literal(s->dataset, '\'', &name, err);
    if (status == PACK_OK)
        status = pack_name_literal(s->file, '\'', &file, err);
    if (status == PACK_OK)
        status = print_layout(s, pipeline, &layout, err);
    if (status == PACK_OK)
        status = pack_buf_printf(buf, err, repack_script,
                                 encodes   ? ", hdf5plugin  # encodes zstd"
                                 : decodes ? ", hdf5plugin  # decodes zstd"
                                           : "",
                                 (int)name.size, (const char *)name.data, (int)file.size,
                                 (const char *)file.data, pack_snippet_new_file(s->file),
                                 (int)layout.size,
                                 layout.size ? (const char *)layout.data : "", step, step,
                                 step);
    pack_buf_done(&name);
    pack_buf_done(&file);
    pack_buf_done(&layout);
    return status;
}

enum pack_status
pack_snippet_rewrite(const struct pack_snippet_subject *s, struct pack_buf *buf,
                     struct pack_error *err)
{
    struct pack_pipeline pipeline;
    uint64_t elem_size = s->params->data.elem_size;
    bool is_virtual = s->params->now && s->params->now->is_virtual;
    if (!s->needs_python && !is_virtual && pack_snippet_can_rechunk(s->config, elem_size))
        return pack_snippet_rechunk(s->file, s->dataset, s->config, buf, err);
    enum pack_status status = parse_codec(s->config->codec, elem_size, &pipeline, err);
    return status == PACK_OK ? print_h5py(s, &pipeline, buf, err) : status;
}
