/*
 * Two ways to trust a file. Right after packing, every chunk is read back through stock
 * HDF5 and compared with the checksum taken when its pixels were made: that covers the
 * codec, the library and the way to the system's cache, from which most of it is read.
 * For an existing file the source is decoded again and compared byte for byte.
 */
#include <libpack/convert.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/checksum.h"
#include "libpack/base/clock.h"
#include "libpack/convert/convert_parts.h"
#include "libpack/convert/moments.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_read.h"
#include "libpack/base/numbers.h"
#include "libpack/base/pool.h"
#include "libpack/convert/samples.h"

/* ------------------------------------------------------ a file just written */

/* Reads chunk `number` as HDF5 gives it, zeros where it hangs over the edge, into
 * `chunk`. */
static enum pack_status
read_chunk(struct pack_h5_boxes *reader, const struct pack_convert_plan *plan,
           uint64_t number, uint8_t *chunk, uint8_t *part, struct pack_error *err)
{
    const struct pack_shape *extent = pack_h5_boxes_extent(reader);
    struct pack_box box = { .rank = extent->rank };
    uint64_t left = number;
    bool whole = true;
    for (int i = extent->rank - 1; i >= 0; i--) {
        uint64_t c = plan->chunk.extent[i], count = (extent->extent[i] + c - 1) / c;
        box.start[i] = (i ? left % count : left) * c;
        left /= count;
        uint64_t rest = extent->extent[i] - box.start[i];
        box.count[i] = rest < c ? rest : c;
        whole = whole && rest >= c;
    }
    enum pack_status status =
        pack_h5_boxes_read(reader, &box, 1, whole ? chunk : part, NULL, err);
    if (status != PACK_OK || whole)
        return status;
    memset(chunk, 0, plan->chunk_bytes);
    uint64_t d[4] = { 1, 1, 1, 1 }, c[4] = { 1, 1, 1, 1 };
    for (int i = 0; i < extent->rank; i++) {
        d[4 - extent->rank + i] = box.count[i];
        c[4 - extent->rank + i] = plan->chunk.extent[i];
    }
    for (uint64_t a = 0; a < d[0]; a++)
        for (uint64_t i = 0; i < d[1]; i++)
            for (uint64_t j = 0; j < d[2]; j++)
                memcpy(chunk + ((a * c[1] + i) * c[2] + j) * c[3],
                       part + ((a * d[1] + i) * d[2] + j) * d[3], d[3]);
    return PACK_OK;
}

enum pack_status
pack_convert_verify_chunks(const struct pack_convert_params *params, const char *path,
                           const struct pack_convert_plan *plan,
                           const uint64_t *checksums, uint64_t n_packed,
                           struct pack_error *err)
{
    struct pack_h5_boxes_params how = { .file = path, .dataset = "images" };
    struct pack_h5_boxes *reader = NULL;
    uint64_t n_chunks = (n_packed + plan->block_samples - 1) / plan->block_samples *
                        plan->chunks_per_block;
    uint8_t *chunk = malloc(plan->chunk_bytes), *part = malloc(plan->chunk_bytes);
    enum pack_status status = chunk && part ? pack_h5_boxes_open(&how, &reader, err)
                                            : pack_fail_memory(err, "a chunk");
    for (uint64_t i = 0; i < n_chunks && status == PACK_OK; i++) {
        status = read_chunk(reader, plan, i, chunk, part, err);
        if (status == PACK_OK &&
            pack_checksum(chunk, plan->chunk_bytes, 0) != checksums[i])
            status = pack_fail(
                err, PACK_ERR_MISMATCH,
                "'%s': chunk %" PRIu64 " of images is not what was written", path, i);
        uint64_t done = (i + 1) * plan->block_samples / plan->chunks_per_block;
        if (status == PACK_OK)
            status =
                pack_convert_watch(params, "verifying", done < n_packed ? done : n_packed,
                                   n_packed, (i + 1) * plan->chunk_bytes, err);
    }
    pack_h5_boxes_close(reader);
    free(chunk);
    free(part);
    return status == PACK_OK || status == PACK_ERR_MISMATCH ||
                   status == PACK_ERR_INTERRUPTED
               ? status
               : pack_error_prefix(err, status, "cannot verify");
}

/* --------------------------------------------------------- an existing file */

struct compare {
    const struct pack_convert_params *params;
    struct pack_convert_result *result;
    struct pack_convert_plan plan;
    struct pack_error *err;
    struct pack_h5_boxes *reader;
    uint8_t *stored; /* one sample */
    int64_t *labels;
    char **filenames;
    uint64_t n_labels, n_filenames;
    struct pack_convert_stored *stored_rows; /* what else the file has of each */
    struct pack_convert_row row;
    struct pack_moments moments;
    uint64_t n_images; /* of which they are: black stand-ins are none */
    struct pack_sample gone; /* the first that the file has and that cannot be read */
    bool has_gone;
};

/* Whether the file has this image where the next one is looked for. */
static enum pack_status
find_in_place(struct compare *c, const struct pack_sample *sample, bool *is_there)
{
    const char *record = c->params->source->records[sample->index].name;
    uint64_t row = c->result->n_packed;
    *is_there = false;
    if (row >= c->n_filenames)
        return PACK_OK;
    char *name = malloc(pack_name_escape(record, NULL) + 1);
    if (!name)
        return pack_fail_memory(c->err, "names");
    pack_name_escape(record, name);
    *is_there = strcmp(name, c->filenames[row]) == 0;
    free(name);
    return PACK_OK;
}

/* What the system said of an image that the file has; that it is gone is a difference. */
static enum pack_status
fail_gone(struct compare *c, const struct pack_sample *gone)
{
    enum pack_status status =
        gone->status == PACK_ERR_NOT_FOUND ? PACK_ERR_MISMATCH : PACK_ERR_IO;
    pack_fail(c->err, status, "%s (row %" PRIu64 " of '%s' has it)", gone->reason,
              c->result->n_packed, c->params->output);
    return pack_convert_name_record(c->params->source, gone->index, status, c->err);
}

static enum pack_status
mismatch(struct compare *c, uint64_t index, const char *what)
{
    if (c->has_gone)
        return fail_gone(c, &c->gone);
    pack_fail(c->err, PACK_ERR_MISMATCH, "%s (row %" PRIu64 " of '%s')", what,
              c->result->n_packed, c->params->output);
    return pack_convert_name_record(c->params->source, index, PACK_ERR_MISMATCH, c->err);
}

static enum pack_status
compare_stored(struct compare *c, const struct pack_sample *sample)
{
    struct pack_error why;
    enum pack_status status =
        pack_convert_stored_check(c->stored_rows, c->result->n_packed, sample, &why);
    if (status == PACK_ERR_MISMATCH)
        return mismatch(c, sample->index, why.text);
    if (status != PACK_OK)
        *c->err = why;
    return status;
}

static enum pack_status
compare_row(struct compare *c, const struct pack_sample *sample)
{
    const struct pack_record *record = &c->params->source->records[sample->index];
    uint64_t row = c->result->n_packed;
    if (row >= pack_h5_boxes_extent(c->reader)->extent[0])
        return mismatch(c, sample->index, "is not in the file");
    struct pack_box box = { .rank = c->plan.sample.rank + 1,
                            .start = { row },
                            .count = { 1 } };
    memcpy(&box.count[1], c->plan.sample.extent,
           sizeof(uint64_t) * (size_t)c->plan.sample.rank);
    enum pack_status status =
        pack_h5_boxes_read(c->reader, &box, 1, c->stored, NULL, c->err);
    if (status != PACK_OK)
        return status;
    bool same_name;
    status = find_in_place(c, sample, &same_name);
    if (status != PACK_OK)
        return status;
    if (!same_name)
        return mismatch(c, sample->index, "the file has another image in this place");
    if (c->labels && c->labels[row] != record->label)
        return mismatch(c, sample->index, "label differs");
    bool same;
    if (sample->outcome == PACK_SAMPLE_READY) {
        same = memcmp(c->stored, sample->pixels, c->plan.sample_bytes) == 0;
    } else {
        same = true;
        for (uint64_t i = 0; i < c->plan.sample_bytes && same; i++)
            same = c->stored[i] == 0;
        if (!same && sample->outcome == PACK_SAMPLE_MISSING)
            return fail_gone(c, sample);
    }
    return same ? compare_stored(c, sample) : mismatch(c, sample->index, "pixels differ");
}

static enum pack_status
compare_sample(struct compare *c, const struct pack_sample *sample)
{
    const struct pack_convert_params *params = c->params;
    enum pack_status status = PACK_OK;
    if (sample->outcome == PACK_SAMPLE_FAILED)
        return pack_convert_fail_sample(params, &c->plan, sample, c->err);
    status = pack_convert_row_count(params, &c->row, sample, c->err);
    if (status == PACK_OK && sample->outcome != PACK_SAMPLE_READY) {
        c->result->n_rejected++;
        if (sample->unread)
            c->result->unread[sample->unread].n_rejected++;
        status = pack_convert_reject(params, sample->index, sample->reason, false, c->err);
    }
    if (status == PACK_OK && sample->outcome == PACK_SAMPLE_MISSING && !c->has_gone &&
        params->options.on_error != PACK_ON_ERROR_BLANK) {
        status = find_in_place(c, sample, &c->has_gone);
        c->gone = *sample;
    }
    if (status != PACK_OK || (sample->outcome != PACK_SAMPLE_READY &&
                              params->options.on_error != PACK_ON_ERROR_BLANK))
        return status;
    status = compare_row(c, sample);
    c->result->n_packed += status == PACK_OK;
    if (sample->outcome == PACK_SAMPLE_READY) {
        pack_moments_add(&c->moments, sample->sum, sample->sumsq);
        c->n_images++;
    }
    return status;
}

static enum pack_status
compare_samples(struct compare *c, struct pack_samples *samples)
{
    const struct pack_convert_params *params = c->params;
    const struct pack_sample *sample;
    while ((sample = pack_samples_next(samples))) {
        enum pack_status status = compare_sample(c, sample);
        if (status == PACK_OK)
            status = pack_convert_watch(
                params, "verifying", sample->index + 1, params->source->n_records,
                c->result->n_packed * c->plan.sample_bytes, c->err);
        if (status != PACK_OK)
            return status;
    }
    uint64_t rows = pack_h5_boxes_extent(c->reader)->extent[0];
    if (c->result->n_packed == rows)
        return PACK_OK;
    enum pack_status status = pack_convert_row_end(params, &c->row, c->err);
    if (status != PACK_OK)
        return status;
    if (c->has_gone)
        return fail_gone(c, &c->gone);
    return pack_fail(c->err, PACK_ERR_MISMATCH,
                     "'%s' holds %s, the source gives %" PRIu64, params->output,
                     pack_counted(rows, "image", "images").text, c->result->n_packed);
}

/* PACK_ERR_MISMATCH where an attribute is not `values`, which another machine may have
 * rounded otherwise. */
static enum pack_status
compare_attr(struct compare *c, int64_t file, const char *name, const double *values)
{
    struct pack_error why;
    double stored[3];
    int n = c->plan.n_channels;
    enum pack_status status =
        pack_h5_read_attr_floats(file, "images", name, (uint64_t)n, stored, &why);
    if (status != PACK_OK && status != PACK_ERR_NOT_FOUND && status != PACK_ERR_FORMAT)
        return pack_fail(c->err, status, "'%s': %s", c->params->output, why.text);
    for (int i = 0; status == PACK_OK && i < n; i++)
        if (!(fabs(stored[i] - values[i]) < 1e-9))
            status = pack_fail(&why, PACK_ERR_MISMATCH, "attribute %s is not %.17g but %.17g",
                               name, values[i], stored[i]);
    return status == PACK_OK ? PACK_OK
                             : pack_fail(c->err, PACK_ERR_MISMATCH, "'%s': images: %s",
                                         c->params->output, why.text);
}

static enum pack_status
compare_moments(struct compare *c, int64_t file)
{
    uint64_t n_pixels = c->n_images * ((uint64_t)c->plan.out_h * c->plan.out_w);
    double mean[3] = { 0 }, std[3] = { 0 };
    for (int i = 0; i < c->plan.n_channels && n_pixels > 0; i++) {
        mean[i] = pack_moments_mean(&c->moments, i, n_pixels);
        std[i] = pack_moments_std(&c->moments, i, n_pixels);
    }
    enum pack_status status = compare_attr(c, file, "mean", mean);
    return status == PACK_OK ? compare_attr(c, file, "std", std) : status;
}

/* The range that 16-bit samples were scaled from, as the options have it. */
static enum pack_status
compare_range(struct compare *c, int64_t file)
{
    const struct pack_image_params *image = &c->params->options.image;
    int64_t range[2];
    struct pack_error why;
    if (!image->scales_16)
        return PACK_OK;
    enum pack_status status =
        pack_h5_read_attr_integers(file, "images", "scale16", 2, range, &why);
    if (status == PACK_OK && (range[0] != image->low_16 || range[1] != image->high_16))
        status = pack_fail(&why, PACK_ERR_MISMATCH,
                           "attribute scale16 is not %u:%u but %" PRId64 ":%" PRId64,
                           image->low_16, image->high_16, range[0], range[1]);
    return status == PACK_OK ? PACK_OK
                             : pack_fail(c->err, PACK_ERR_MISMATCH, "'%s': images: %s",
                                         c->params->output, why.text);
}

static bool
is_side(uint64_t extent)
{
    return extent > 0 && extent <= PACK_GEOMETRY_MAX;
}

/* The classes by number; a file without them has plain integers for labels. */
static enum pack_status
compare_classes(struct compare *c, int64_t file)
{
    const struct pack_source *source = c->params->source;
    char **names = NULL;
    uint64_t n = 0;
    enum pack_status status =
        pack_h5_read_texts(file, "class_names", UINT64_C(1) << 40, &names, &n, c->err);
    if (status != PACK_OK && status != PACK_ERR_NOT_FOUND)
        return status;
    bool same = n == source->n_classes;
    for (uint64_t i = 0; i < n && same; i++)
        same = pack_name_unescape(names[i], names[i], NULL) == PACK_OK &&
               strcmp(names[i], source->class_names[i]) == 0;
    pack_h5_texts_free(names, n);
    return same ? PACK_OK
                : pack_fail_param(c->err, PACK_ERR_MISMATCH, "classes",
                                  "has other classes than the source");
}

/* A file with labels is not what a source without them gives. */
static enum pack_status
read_labels(struct compare *c, int64_t file)
{
    bool has_labels = c->params->source->has_labels;
    enum pack_status status = pack_h5_read_integers(
        file, "labels", UINT64_C(1) << 40, &c->labels, &c->n_labels, c->err);
    if (has_labels)
        return status;
    return status == PACK_ERR_NOT_FOUND
               ? PACK_OK
               : pack_fail(c->err, PACK_ERR_MISMATCH, "has labels, the source has none");
}

/* Reads all that the file has of each image, and takes the size of a sample from the shape
 * of `images`. */
static enum pack_status
open_existing(struct compare *c, int64_t file)
{
    const struct pack_convert_options *o = &c->params->options;
    const struct pack_shape *extent = pack_h5_boxes_extent(c->reader);
    bool gray = o->image.mode == PACK_IMAGE_GRAY, planes = o->layout == PACK_PIXEL_NCHW;
    int rank = gray && !planes ? 3 : 4;
    if (extent->rank != rank || pack_h5_boxes_element_bytes(c->reader) != 1 ||
        !is_side(extent->extent[1 + planes]) || !is_side(extent->extent[2 + planes]) ||
        (rank == 4 && extent->extent[planes ? 1 : 3] != (gray ? 1 : 3)))
        return pack_fail(c->err, PACK_ERR_FORMAT, "images is not as h5pack_options says");
    enum pack_status status =
        pack_convert_plan_make(c->params, (uint32_t)extent->extent[1 + planes],
                               (uint32_t)extent->extent[2 + planes], &c->plan, c->err);
    if (status == PACK_OK)
        status = read_labels(c, file);
    if (status == PACK_OK)
        status = pack_h5_read_texts(file, "filenames", UINT64_C(1) << 40, &c->filenames,
                                    &c->n_filenames, c->err);
    if (status == PACK_OK && (c->n_filenames != extent->extent[0] ||
                              (c->labels && c->n_labels != extent->extent[0])))
        status = pack_fail(c->err, PACK_ERR_FORMAT,
                           "filenames and labels are not as many as images");
    if (status == PACK_OK)
        status = compare_classes(c, file);
    return status == PACK_OK
               ? pack_convert_stored_read(c->params->source, o, file, extent->extent[0],
                                          &c->stored_rows, c->err)
               : status;
}

/* Opens the images anew where HDF5's own cache does not hold a compressed chunk of several,
 * or those that lie side by side: each was decoded for every image in it. */
static enum pack_status
hold_chunks(struct compare *c)
{
    enum { CACHE_BYTES = 1 << 20, N_SLOTS = 12421 };
    const struct pack_convert_plan *plan = &c->plan;
    uint64_t row_bytes = plan->chunks_per_block * plan->chunk_bytes;
    struct pack_h5_boxes_params how = {
        .file = c->params->output,
        .dataset = "images",
        .set_cache = true,
        .cache = { .n_slots = N_SLOTS, .size_bytes = row_bytes, .w0 = 0.75 }
    };
    if (c->params->options.pipeline.n == 0 || plan->block_samples == 1 ||
        row_bytes <= CACHE_BYTES)
        return PACK_OK;
    pack_h5_boxes_close(c->reader);
    c->reader = NULL;
    return pack_h5_boxes_open(&how, &c->reader, c->err);
}

static enum pack_status
decode_and_compare(struct compare *c)
{
    struct pack_samples_params sp = pack_convert_samples(c->params, &c->plan);
    struct pack_samples *samples = NULL;
    struct pack_pool *pool = NULL;
    c->stored = malloc(c->plan.sample_bytes);
    if (!c->stored)
        return pack_fail_memory(c->err, "a sample");
    enum pack_status status = hold_chunks(c);
    if (status == PACK_OK)
        status = pack_samples_new(&sp, &samples, c->err);
    if (status != PACK_OK)
        return status;
    struct pack_pool_lane lane = pack_samples_lane(samples);
    status = pack_pool_new(sp.n_threads, &lane, 1, &pool, c->err);
    if (status == PACK_OK) {
        pack_samples_start(samples, pool, 0);
        status = compare_samples(c, samples);
    }
    pack_samples_end(samples);
    pack_pool_free(pool);
    pack_samples_free(samples);
    return status;
}

enum pack_status
pack_convert_compare(const struct pack_convert_params *params,
                     struct pack_convert_result *result, struct pack_error *err)
{
    struct pack_error own;
    enum pack_status status = pack_convert_check_source(params, result, false, err);
    if (status == PACK_OK)
        status = pack_convert_check_output(params, err);
    if (status != PACK_OK)
        return status;
    struct pack_convert_params p = *params;
    struct compare c = { .params = &p, .result = result, .err = err ? err : &own };
    struct pack_h5_boxes_params how = { .file = params->output, .dataset = "images" };
    int64_t file = -1;
    uint64_t start_ns = pack_clock_ns();
    memset(result, 0, sizeof *result);
    result->n_listed = params->source->n_records;
    pack_convert_count_unread(params->source, result);
    status = pack_convert_options_read(params->output, &p.options, c.err);
    if (status == PACK_OK)
        status = pack_convert_check_order(params->source, &p.options, c.err);
    if (status == PACK_OK)
        status = pack_h5_boxes_open(&how, &c.reader, c.err);
    if (status == PACK_OK)
        status = pack_h5_open(params->output, NULL, &file, c.err);
    if (status != PACK_OK)
        goto out;
    status = open_existing(&c, file);
    if (status != PACK_OK)
        pack_error_prefix(c.err, status, "'%s'", params->output);
    else
        status = decode_and_compare(&c);
    if (status == PACK_OK)
        status = compare_moments(&c, file);
    if (status == PACK_OK)
        status = compare_range(&c, file);
out:
    pack_convert_stored_free(c.stored_rows);
    pack_h5_texts_free(c.filenames, c.n_filenames);
    free(c.labels);
    free(c.stored);
    pack_h5_boxes_close(c.reader);
    pack_h5_close(file);
    result->pixel_bytes = result->n_packed * c.plan.sample_bytes;
    result->elapsed_ns = pack_clock_ns() - start_ns;
    return status;
}
