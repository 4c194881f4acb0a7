/*
 * What lies where is asked of HDF5, dataset by dataset; the bytes are read without it. Only
 * where the reader has no map (elements that are not plain bytes, filters of HDF5's own,
 * external files, virtual datasets of blocks) HDF5 reads, a chunk at a time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/audit/verify_parts.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/hdf5/h5_raw.h"
#include "libpack/model/grid.h"

/* ------------------------------------------------------------------- telling */

/* The size of a record is a multiple of 8. */
static enum pack_status
send(struct pack_verify_run *run, enum pack_verify_kind kind, const void *record,
     size_t size, struct pack_error *err)
{
    struct pack_verify_head head = { kind, (uint32_t)size };
    enum pack_status status = pack_h5_guard_send(run->guard, &head, sizeof head, err);
    return status == PACK_OK && size ? pack_h5_guard_send(run->guard, record, size, err)
                                     : status;
}

enum pack_status
pack_verify_tell(struct pack_verify_run *run, const struct pack_verify_bad *bad,
                 const char *why, struct pack_error *err)
{
    struct {
        struct pack_verify_record bad;
        char rest[PACK_RANK_MAX * sizeof(uint64_t) + sizeof((struct pack_error *)0)->text + 8];
    } sent = { .bad = { .first_row = bad->first_row,
                        .n_rows = bad->n_rows,
                        .address_bytes = bad->address_bytes,
                        .stored_bytes = bad->stored_bytes,
                        .fault = bad->fault,
                        .filter_mask = bad->filter_mask,
                        .rank = (uint64_t)bad->rank } };
    size_t size = sizeof sent.bad + (size_t)bad->rank * sizeof *bad->coords;
    memcpy(sent.rest, bad->coords, (size_t)bad->rank * sizeof *bad->coords);
    if (run->set->n_bad++ < PACK_VERIFY_TOLD) {
        char *text = (char *)&sent + size;
        snprintf(text, sizeof((struct pack_error *)0)->text, "%s", why);
        pack_cut_file_rename(run->cut, run->path, text,
                             sizeof((struct pack_error *)0)->text);
        size += (strlen(text) + 8) / 8 * 8;
    }
    return send(run, PACK_VERIFY_BAD, &sent, size, err);
}

void
pack_verify_progress(struct pack_verify_run *run, uint64_t bytes)
{
    run->read_bytes += bytes;
    pack_h5_guard_tell(run->guard, run->read_bytes >> 20, run->read_bytes);
}

/* ---------------------------------------------------------------- by HDF5 alone */

/* Chunks, or of contiguous data whole rows, about as many as a reader takes at a time. */
static enum pack_status
make_grid(const struct pack_facts *facts, struct pack_grid *grid, struct pack_error *err)
{
    struct pack_shape chunk =
        facts->layout == PACK_LAYOUT_CHUNKED ? facts->chunk : facts->extent;
    uint64_t row_bytes = facts->logical_bytes / facts->extent.extent[0];
    if (facts->layout != PACK_LAYOUT_CHUNKED)
        chunk.extent[0] = row_bytes < PACK_CHUNKMAP_ROW_BYTES && row_bytes > 0
                              ? PACK_CHUNKMAP_ROW_BYTES / row_bytes
                              : 1;
    return pack_grid_init(grid, &facts->extent, &chunk, facts->type.bytes, err);
}

static enum pack_status
read_boxes(struct pack_verify_run *run, struct pack_h5_boxes *boxes,
           const struct pack_h5_count *count, const struct pack_grid *grid, void *out,
           struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (uint64_t i = 0; i < grid->n_chunks_total && status == PACK_OK; i++) {
        uint64_t coords[PACK_RANK_MAX];
        struct pack_verify_bad bad = { .fault = PACK_VERIFY_DECODING,
                                       .address_bytes = PACK_CHUNK_MISSING,
                                       .rank = grid->rank,
                                       .coords = coords };
        struct pack_box box;
        struct pack_error why = { .text = "" };
        pack_grid_coords(grid, i, coords);
        pack_grid_chunk_box(grid, coords, &box);
        memset(out, 0, (size_t)grid->chunk_bytes);
        uint64_t n_beyond = count->n_beyond;
        enum pack_status read = pack_h5_boxes_read(boxes, &box, 1, out, NULL, &why);
        if (read == PACK_OK)
            pack_h5_boxes_reclaim(boxes, out);
        pack_verify_progress(run, grid->chunk_bytes);
        bool is_beyond = count->n_beyond > n_beyond;
        if (is_beyond)
            read =
                pack_fail(&why, PACK_ERR_FORMAT, "it reaches beyond the end of the file");
        bad.first_row = box.start[0];
        bad.n_rows = box.count[0];
        bad.fault = is_beyond             ? PACK_VERIFY_BEYOND
                    : read == PACK_ERR_IO ? PACK_VERIFY_READING
                                          : PACK_VERIFY_DECODING;
        if (read != PACK_OK)
            status = pack_verify_tell(run, &bad, why.text, err);
        if (status == PACK_OK)
            status = pack_watch_check(&run->params->watch, err);
    }
    return status;
}

static enum pack_status
read_by_hdf5(struct pack_verify_run *run, const struct pack_facts *facts,
             struct pack_error *err)
{
    const struct pack_verify_params *p = run->params;
    struct pack_h5_count count = { .context = NULL };
    struct pack_h5_boxes_params params = { .file = p->file,
                                           .dataset = facts->path,
                                           .count = &count };
    uint64_t most = p->memory_bytes ? p->memory_bytes : UINT64_C(1) << 30;
    struct pack_h5_boxes *boxes = NULL;
    struct pack_grid grid = { .rank = 0 };
    uint32_t id;
    char need[PACK_FILTER_NEED_MAX];
    if (pack_h5_missing_filter(&facts->pipeline, &id))
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "%s", pack_filter_need(id, need));
    enum pack_status status = make_grid(facts, &grid, err);
    if (status == PACK_OK && grid.chunk_bytes > most)
        return pack_fail_param(err, PACK_ERR_LIMIT, "memory_bytes",
                               "a chunk takes %" PRIu64 " bytes, of %" PRIu64
                               " that are allowed",
                               grid.chunk_bytes, most);
    if (status == PACK_OK)
        status = pack_h5_boxes_open(&params, &boxes, err);
    void *out = status == PACK_OK ? malloc((size_t)grid.chunk_bytes) : NULL;
    if (status == PACK_OK && !out)
        status = pack_fail_memory(err, "room for a chunk");
    run->set->is_by_hdf5 = true;
    run->set->n_chunks = grid.n_chunks_total;
    run->set->n_stored = facts->layout == PACK_LAYOUT_CHUNKED ? facts->n_chunks_stored
                                                              : grid.n_chunks_total;
    run->set->stored_bytes = facts->stored_bytes;
    if (status == PACK_OK)
        status = read_boxes(run, boxes, &count, &grid, out, err);
    free(out);
    pack_h5_boxes_close(boxes);
    return status;
}

/* A single value. */
static enum pack_status
read_value(struct pack_verify_run *run, const struct pack_facts *facts,
           struct pack_error *err)
{
    if (facts->space != PACK_SPACE_SCALAR || facts->type.bytes == 0 ||
        facts->type.class_id == PACK_TYPE_VLEN || facts->type.is_variable)
        return PACK_OK; /* nothing, or a single text, which lies among metadata */
    void *out = malloc(facts->type.bytes);
    enum pack_status status = out ? pack_h5_raw_data(run->h5, facts->path, out, err)
                                  : pack_fail_memory(err, "a value");
    free(out);
    return status;
}

/* ---------------------------------------------------------------- without HDF5 */

static enum pack_status
read_mapped(struct pack_verify_run *run, struct pack_rowmap *rows, struct pack_error *err)
{
    enum pack_status status = pack_rowmap_fetch(rows, &pack_fetch_pread, err);
    run->set->n_chunks = rows->n_chunks;
    for (size_t i = 0; i < rows->n_files && status == PACK_OK; i++) {
        if (i > 0)
            pack_h5_guard_allow(run->guard, rows->files[i].map->file.name);
        status = pack_verify_chunks(run, rows, i, err);
    }
    return status;
}

static enum pack_status
read_set(struct pack_verify_run *run, const struct pack_facts *facts,
         struct pack_error *err)
{
    const char *file = run->params->file;
    struct pack_rowmap rows = { .whole = NULL };
    if (facts->space != PACK_SPACE_SIMPLE || facts->extent.rank == 0 ||
        facts->n_elements == 0)
        return read_value(run, facts, err);
    enum pack_status status = pack_rowmap_open(&file, 1, facts->path, NULL, &rows, err);
    if (status == PACK_ERR_UNSUPPORTED)
        return read_by_hdf5(run, facts, err);
    if (status == PACK_ERR_FORMAT && facts->layout == PACK_LAYOUT_CHUNKED) {
        /* The index is damaged: HDF5 finds some of the chunks; what it says is kept. */
        enum pack_status read = read_by_hdf5(run, facts, NULL);
        return read == PACK_ERR_INTERRUPTED ? read : status;
    }
    if (status != PACK_OK)
        return status;
    status = rows.whole->unmapped[0] ? read_by_hdf5(run, facts, err)
                                     : read_mapped(run, &rows, err);
    pack_rowmap_done(&rows);
    return status;
}

/* -------------------------------------------------------------------- datasets */

static void
describe(struct pack_verify_set *set, const struct pack_facts *facts)
{
    set->layout = facts->layout;
    set->is_external = facts->n_external > 0;
    set->extent = facts->extent;
    set->chunk = facts->chunk;
    for (int i = 0; i < facts->pipeline.n; i++)
        set->has_checksum =
            set->has_checksum || facts->pipeline.filter[i].id == PACK_FILTER_FLETCHER32;
}

static enum pack_status
visit(void *context, const char *path, struct pack_error *err)
{
    struct pack_verify_run *run = context;
    struct pack_verify_set set = { .is_done = false };
    struct pack_error why = { .text = "" };
    if (run->n_met < run->from) {
        run->n_met++;
        return PACK_OK;
    }
    struct pack_facts *facts = calloc(1, sizeof *facts);
    if (!facts)
        return pack_fail_memory(err, "facts of a dataset");
    run->set = &set;
    snprintf(set.path, sizeof set.path, "%s", path + strspn(path, "/"));
    pack_h5_guard_note(run->guard, "reading and decoding '/%s'", set.path);
    enum pack_status status = send(run, PACK_VERIFY_SET, &set, sizeof set, err);
    enum pack_status found = PACK_OK;
    if (status == PACK_OK) {
        found = pack_facts_read(run->h5, path, facts, &why);
        set.is_missing = run->params->dataset &&
                         (found == PACK_ERR_NOT_FOUND || found == PACK_ERR_ARGUMENT);
        if (found == PACK_OK) {
            snprintf(facts->path, sizeof facts->path, "%s", set.path);
            describe(&set, facts);
            found = read_set(run, facts, &why);
        }
        set.is_done = found == PACK_OK;
        snprintf(set.failure, sizeof set.failure, "%.*s", (int)sizeof set.failure - 1,
                 why.text);
        status = send(run, PACK_VERIFY_END, &set, sizeof set, err);
    }
    if (status == PACK_OK && found == PACK_ERR_INTERRUPTED)
        status = pack_fail(err, found, "%s", why.text);
    run->n_met++;
    free(facts);
    return status;
}

enum pack_status
pack_verify_child(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct pack_verify_run *run = context;
    const struct pack_verify_params *p = run->params;
    run->guard = guard;
    pack_h5_register_zstd(NULL);
    enum pack_status status = pack_h5_open(p->file, NULL, &run->h5, err);
    if (status != PACK_OK)
        return status;
    pack_h5_guard_note(guard, "listing its datasets");
    if (!p->dataset)
        status = pack_h5_datasets(run->h5, visit, run, err);
    else if (run->from == 0)
        status = visit(run, p->dataset, err);
    pack_h5_guard_note(guard, "closing it");
    if (status == PACK_OK)
        status = send(run, PACK_VERIFY_COMPLETE, NULL, 0, err);
    pack_h5_close(run->h5);
    return status;
}
