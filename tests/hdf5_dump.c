/*
 * Prints, for tests in other languages, what the library says of an HDF5 file: an object of
 * JSON for each dataset, with its facts, its chunks, its values read in a few boxes, and
 * what it is as a list of integers or texts.
 *
 *     hdf5_dump FILE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/base/json.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_read.h"

static const char *name; /* of the file */
static struct pack_json json;

static void
put_facts(const struct pack_facts *f)
{
    static const char *const fills[] = { "undefined", "default", "user" },
                             *const times[] = { "alloc", "never", "ifset" },
                             *const allocs[] = { "early", "late", "incremental" };
    char text[PACK_PIPELINE_TEXT_MAX];
    pack_json_text(&json, "path", f->path);
    pack_json_text(&json, "type", pack_type_format(&f->type, text));
    pack_json_text(&json, "type_class", pack_type_class_name(f->type.class_id));
    pack_json_u64(&json, "type_bytes", f->type.bytes);
    pack_json_u64(&json, "space", f->space);
    pack_json_shape(&json, "extent", &f->extent);
    pack_json_shape(&json, "max_extent", &f->max_extent);
    pack_json_u64(&json, "n_elements", f->n_elements);
    pack_json_u64(&json, "logical_bytes", f->logical_bytes);
    pack_json_text(&json, "layout", pack_layout_name(f->layout));
    pack_json_shape(&json, "chunk", &f->chunk);
    pack_json_u64(&json, "chunk_bytes", f->chunk_bytes);
    pack_json_shape(&json, "n_chunks", &f->n_chunks);
    pack_json_u64(&json, "n_chunks_total", f->n_chunks_total);
    pack_json_u64(&json, "n_chunks_stored", f->n_chunks_stored);
    pack_json_u64(&json, "stored_bytes", f->stored_bytes);
    pack_json_u64(&json, "contiguous_address", f->contiguous_address);
    pack_json_u64(&json, "n_external", f->n_external);
    pack_json_u64(&json, "n_virtual", f->n_virtual);
    pack_json_text(&json, "index", pack_index_name(f->index));
    pack_json_text(&json, "pipeline", pack_pipeline_format(&f->pipeline, text));
    pack_json_bool(&json, "filters_available", f->filters_available);
    pack_json_text(&json, "fill", fills[f->fill]);
    pack_json_text(&json, "fill_time", times[f->fill_time]);
    pack_json_text(&json, "alloc_time", allocs[f->alloc_time]);
    pack_json_bool(&json, "fill_is_zero", f->fill_is_zero);
    pack_json_bool(&json, "skips_missing", pack_facts_skip_missing(f));
    pack_json_text(&json, "class", f->class_name);
    pack_json_text(&json, "subclass", f->image_subclass);
    pack_json_text(&json, "interlace", f->interlace_mode);
    pack_json_array(&json, "labels");
    for (int i = 0; i < f->n_labels; i++)
        pack_json_text(&json, NULL, f->label[i]);
    pack_json_close(&json);
    pack_json_doubles(&json, "mean", f->mean, (size_t)f->n_mean);
    pack_json_doubles(&json, "std", f->std, (size_t)f->n_std);
    pack_json_u64(&json, "file_bytes", f->file_bytes);
    pack_json_u64(&json, "user_block", f->user_block_bytes);
    pack_json_u64(&json, "superblock", f->superblock_version);
    pack_json_bool(&json, "pages", f->has_page_strategy);
    pack_json_text(&json, "schema", f->h5pack_schema);
    pack_json_text(&json, "version", f->h5pack_version);
}

/* What is right, or the sentence. */
static bool
is_ok(enum pack_status status, const char *key, const struct pack_error *err)
{
    if (status != PACK_OK)
        pack_json_text(&json, key, err->text);
    return status == PACK_OK;
}

static void
put_chunks(const char *path)
{
    struct pack_chunkindex index = { 0 };
    struct pack_error err;
    if (!is_ok(pack_chunkindex_read(name, path, 0, &index, &err), "chunks", &err))
        return;
    pack_json_array(&json, "chunks");
    for (uint64_t i = 0; i < index.n_chunks; i++) {
        const struct pack_chunk *c = &index.chunks[i];
        uint64_t numbers[] = { c->number, c->address_bytes, c->stored_bytes, c->filter_mask };
        pack_json_u64s(&json, NULL, numbers, 4);
    }
    pack_json_close(&json);
    pack_json_u64(&json, "n_missing", index.n_missing);
    pack_json_u64(&json, "index_bytes", index.stored_bytes);
    pack_chunkindex_done(&index);
    pack_json_bool(&json, "is_limited",
                   index.n_chunks == 0 &&
                       pack_chunkindex_read(name, path, 1, &index, &err) == PACK_ERR_LIMIT);
    pack_chunkindex_done(&index);
}

/* The bytes of all of it, of a box in the middle, and of two boxes in one read. */
static void
put_boxes(const char *path, const struct pack_facts *f)
{
    struct pack_h5_boxes_params params = { .file = name, .dataset = path };
    struct pack_h5_boxes *reader = NULL;
    struct pack_error err;
    struct pack_box boxes[3];
    int rank = f->extent.rank;
    if (!is_ok(pack_h5_boxes_open(&params, &reader, &err), "boxes", &err))
        return;
    size_t bytes = pack_h5_boxes_element_bytes(reader) * f->n_elements;
    char *out = malloc(bytes ? bytes : 1);
    for (int b = 0; b < 3; b++) {
        boxes[b].rank = rank;
        for (int i = 0; i < rank; i++) {
            uint64_t n = f->extent.extent[i];
            boxes[b].start[i] = b == 0 ? 0 : n / 3;
            boxes[b].count[i] = b == 0 ? n : n - 2 * (n / 3);
        }
    }
    boxes[2].start[0] = 0; /* in front of the one in the middle */
    boxes[2].count[0] = boxes[1].start[0] / 2;
    struct pack_box two[] = { boxes[2].count[0] ? boxes[2] : boxes[1], boxes[1] };
    pack_json_array(&json, "boxes");
    for (int b = 0; b < 3; b++) {
        uint64_t n = pack_h5_boxes_element_bytes(reader);
        for (int i = 0; i < rank; i++)
            n *= boxes[b < 2 ? b : 1].count[i] + (b == 2 && i == 0 ? boxes[2].count[0] : 0);
        bool good = out && pack_h5_boxes_read(reader, b < 2 ? &boxes[b] : two,
                                              b < 2 || !boxes[2].count[0] ? 1 : 2, out, NULL,
                                              &err) == PACK_OK;
        if (good)
            pack_json_u64(&json, NULL, pack_checksum(out, n, 0));
        else
            pack_json_text(&json, NULL, err.text);
    }
    boxes[0].count[rank - 1]++;
    pack_json_bool(&json, NULL,
                   pack_h5_boxes_read(reader, &boxes[0], 1, out, NULL, &err) ==
                       PACK_ERR_ARGUMENT);
    boxes[0].rank--;
    pack_json_bool(&json, NULL,
                   pack_h5_boxes_read(reader, &boxes[0], 1, out, NULL, &err) ==
                       PACK_ERR_ARGUMENT);
    pack_json_close(&json);
    free(out);
    pack_h5_boxes_close(reader);
}

static void
put_lists(int64_t file, const char *path)
{
    struct pack_error err;
    int64_t *values;
    char **texts;
    uint64_t n;
    if (is_ok(pack_h5_read_integers(file, path, 50, &values, &n, &err), "integers", &err)) {
        pack_json_array(&json, "integers");
        for (uint64_t i = 0; i < n; i++)
            pack_json_i64(&json, NULL, values[i]);
        pack_json_close(&json);
        free(values);
    }
    if (is_ok(pack_h5_read_texts(file, path, 50, &texts, &n, &err), "texts", &err)) {
        pack_json_array(&json, "texts");
        for (uint64_t i = 0; i < n; i++)
            pack_json_text(&json, NULL, texts[i]);
        pack_json_close(&json);
        pack_h5_texts_free(texts, n);
    }
}

static void
put_attributes(int64_t file, const char *path)
{
    struct pack_error err;
    char *text;
    int64_t range[2];
    if (is_ok(pack_h5_read_attr_text(file, path, "CLASS", &text, &err), "attr", &err)) {
        pack_json_text(&json, "attr", text);
        free(text);
    }
    if (is_ok(pack_h5_read_attr_integers(file, path, "mean", 2, range, &err), "range", &err)) {
        pack_json_array(&json, "range");
        pack_json_i64(&json, NULL, range[0]);
        pack_json_i64(&json, NULL, range[1]);
        pack_json_close(&json);
    }
}

static enum pack_status
put_dataset(void *context, const char *path, struct pack_error *err)
{
    int64_t file = *(int64_t *)context;
    struct pack_facts *facts = malloc(sizeof *facts);
    pack_json_object(&json, NULL);
    if (!facts || pack_facts_read(file, path, facts, err) != PACK_OK) {
        pack_json_text(&json, "path", path);
        pack_json_text(&json, "facts", err->text);
    } else {
        put_facts(facts);
        if (facts->layout == PACK_LAYOUT_CHUNKED)
            put_chunks(path);
        if (facts->extent.rank > 0 && !facts->type.is_variable && facts->n_elements < 100000)
            put_boxes(path, facts);
        put_lists(file, path);
        put_attributes(file, path);
    }
    free(facts);
    pack_json_close(&json);
    return PACK_OK;
}

static enum pack_status
put_name(void *context, const char *path, struct pack_error *err)
{
    (void)context;
    (void)err;
    pack_json_text(&json, NULL, path);
    return PACK_OK;
}

int
main(int argc, char **argv)
{
    struct pack_buf text = { 0 };
    struct pack_error err;
    int64_t file = -1;
    name = argc == 2 ? argv[1] : "";
    if (pack_h5_open(name, NULL, &file, &err) != PACK_OK) {
        fprintf(stderr, "hdf5_dump: %s\n", err.text);
        return 2;
    }
    pack_json_begin(&json, &text);
    pack_json_object(&json, NULL);
    pack_json_array(&json, "datasets");
    if (pack_h5_datasets(file, put_dataset, &file, &err) != PACK_OK)
        pack_json_text(&json, NULL, err.text);
    pack_json_close(&json);
    pack_json_array(&json, "links");
    if (pack_h5_links(file, put_name, NULL, &err) != PACK_OK)
        pack_json_text(&json, NULL, err.text);
    pack_json_close(&json);
    pack_json_close(&json);
    if (pack_json_end(&json, &err) != PACK_OK)
        return 2;
    fwrite(text.data, 1, text.size, stdout);
    pack_buf_done(&text);
    pack_h5_close(file);
    return 0;
}
