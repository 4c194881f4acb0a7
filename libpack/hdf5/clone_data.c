/*
 * The data of datasets that are stored as before. Plain chunks are copied as they are
 * stored, without a filter; anything else goes through memory in the file's own type, box
 * after box, because sequences and references lie in heaps of their file.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/hdf5/clone_parts.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_chunks.h"

/* One dataset on its way. */
struct carried {
    struct pack_clone *clone;
    const struct clone_object *object;
    hid_t from, to, type, space, target; /* space, target: extents of both */
    struct clone_rows rows; /* which of them; all: from 0 to 0 */
    struct clone_needs needs;
    int rank;
    hsize_t extent[PACK_RANK_MAX], box[PACK_RANK_MAX], start[PACK_RANK_MAX];
    unsigned char *data;
};

/* The largest boxes, of whole rows as far as possible, that fit the room. */
static void
set_box(struct carried *c, uint64_t room_bytes)
{
    uint64_t bytes = H5Tget_size(c->type);
    for (int i = c->rank - 1; i >= 0; i--) {
        uint64_t n = room_bytes / bytes;
        c->box[i] = n < 1 ? 1 : n < c->extent[i] ? n : c->extent[i];
        bytes *= c->box[i];
        if (c->box[i] < c->extent[i])
            room_bytes = 0; /* one of each axis before */
    }
}

/* Boxes of rows end where chunks do, so that none is encoded, or decoded, twice. */
static void
keep_chunks_whole(struct carried *c)
{
    hsize_t chunk[PACK_RANK_MAX];
    hid_t dcpl = H5Dget_create_plist(c->to);
    if (dcpl >= 0 && c->rank > 0 && H5Pget_layout(dcpl) == H5D_CHUNKED &&
        H5Pget_chunk(dcpl, c->rank, chunk) == c->rank && c->box[0] > chunk[0])
        c->box[0] -= c->box[0] % chunk[0];
    if (dcpl >= 0)
        H5Pclose(dcpl);
}

static bool
next_box(struct carried *c)
{
    for (int i = c->rank - 1; i >= 0; i--) {
        c->start[i] += c->box[i];
        if (c->start[i] < c->extent[i])
            return true;
        c->start[i] = 0;
    }
    return false;
}

/* The data of a box, in memory; references lead to the copy. */
static enum pack_status
carry_values(struct carried *c, hid_t memory, size_t n, struct pack_error *err)
{
    struct pack_clone *clone = c->clone;
    const char *path = c->object->from;
    herr_t result = H5Dread(c->from, c->type, memory, c->space, H5P_DEFAULT, c->data);
    enum pack_status status = pack_clone_check(clone, path, result, err);
    if (status == PACK_OK)
        status = pack_clone_translate(clone, c->type, c->data, n, err);
    if (status == PACK_OK) {
        result = H5Dwrite(c->to, c->type, memory, c->target, H5P_DEFAULT, c->data);
        status = pack_clone_check(clone, path, result, err);
    }
    if (c->needs.pointers)
        H5Dvlen_reclaim(c->type, memory, H5P_DEFAULT, c->data);
    return status;
}

static enum pack_status
carry_box(struct carried *c, struct pack_error *err)
{
    hsize_t count[PACK_RANK_MAX], from[PACK_RANK_MAX], to[PACK_RANK_MAX], n = 1;
    herr_t result = 0;
    for (int i = 0; i < c->rank; i++) {
        hsize_t left = c->extent[i] - c->start[i];
        count[i] = left < c->box[i] ? left : c->box[i];
        from[i] = c->start[i] + (i == 0 ? c->rows.from : 0);
        to[i] = c->start[i] + (i == 0 ? c->rows.to : 0);
        n *= count[i];
    }
    if (c->rank > 0)
        result = H5Sselect_hyperslab(c->space, H5S_SELECT_SET, from, NULL, count, NULL);
    if (c->rank > 0 && result >= 0)
        result = H5Sselect_hyperslab(c->target, H5S_SELECT_SET, to, NULL, count, NULL);
    hid_t memory = result < 0 ? -1 : H5Screate_simple(1, &n, NULL);
    enum pack_status status = pack_clone_check(c->clone, c->object->from, memory, err);
    if (status == PACK_OK)
        status = carry_values(c, memory, n, err);
    if (memory >= 0)
        H5Sclose(memory);
    return status;
}

static enum pack_status
carry_boxes(struct carried *c, struct pack_error *err)
{
    uint64_t bytes = H5Tget_size(c->type);
    set_box(c, c->clone->params.room_bytes);
    keep_chunks_whole(c);
    for (int i = 0; i < c->rank; i++)
        if (!pack_size_mul(bytes, c->box[i], &bytes))
            return pack_clone_fail(c->clone, c->object->from, err);
    c->data = calloc(1, bytes);
    if (!c->data)
        return pack_fail_memory(err, "data that is carried over");
    enum pack_status status = PACK_OK;
    do {
        status = carry_box(c, err);
        if (status == PACK_OK)
            status = pack_watch_check(&c->clone->params.watch, err);
    } while (status == PACK_OK && next_box(c));
    free(c->data);
    return status;
}

/* ------------------------------------------------------------- as it is stored */

static enum pack_status
carry_chunk(struct carried *c, const struct pack_facts *facts,
            const struct pack_chunk *chunk, struct pack_error *err)
{
    hsize_t offset[PACK_RANK_MAX], to[PACK_RANK_MAX];
    uint64_t left = chunk->number;
    uint32_t mask = 0;
    for (int i = c->rank - 1; i >= 0; i--) {
        offset[i] = left % facts->n_chunks.extent[i] * facts->chunk.extent[i];
        left /= facts->n_chunks.extent[i];
        to[i] = offset[i];
    }
    if (offset[0] - c->rows.from >= c->rows.n) /* or in front of them: it wraps */
        return PACK_OK;
    to[0] = offset[0] - c->rows.from + c->rows.to;
    unsigned char *data = malloc(chunk->stored_bytes ? chunk->stored_bytes : 1);
    if (!data)
        return pack_fail_memory(err, "a stored chunk");
    herr_t result =
        pack_h5_read_chunk(c->from, offset, &mask, data, chunk->stored_bytes);
    if (result >= 0)
        result = H5Dwrite_chunk(c->to, H5P_DEFAULT, mask, to, chunk->stored_bytes,
                                data);
    free(data);
    return pack_clone_check(c->clone, c->object->from, result, err);
}

static enum pack_status
carry_chunks(struct carried *c, const struct pack_facts *facts, struct pack_error *err)
{
    struct pack_chunkindex index;
    enum pack_status status = pack_h5_chunks_list(c->rows.file, c->rows.dataset, facts, 0,
                                                  &c->clone->params.watch, &index, err);
    if (status != PACK_OK)
        return status;
    for (uint64_t i = 0; i < index.n_chunks && status == PACK_OK; i++) {
        if (index.chunks[i].address_bytes != PACK_CHUNK_MISSING)
            status = carry_chunk(c, facts, &index.chunks[i], err);
        if (status == PACK_OK)
            status = pack_watch_check(&c->clone->params.watch, err);
    }
    pack_chunkindex_done(&index);
    return status;
}

/* HDF5 stores the filters' parameters as they were, so that chunks can be taken as they
 * are. */
static bool
is_same_pipeline(hid_t from, hid_t to)
{
    struct pack_pipeline a = { 0 }, b = { 0 };
    hid_t x = H5Dget_create_plist(from), y = H5Dget_create_plist(to);
    bool same = x >= 0 && y >= 0 && pack_h5_read_pipeline(x, &a) &&
                pack_h5_read_pipeline(y, &b) && pack_clone_same_pipeline(&a, &b);
    if (x >= 0)
        H5Pclose(x);
    if (y >= 0)
        H5Pclose(y);
    return same;
}

/* Chunks of rows in another place are the same chunks: they begin where chunks do, and no other
 * rows follow in the last. */
static bool
is_same_grid(const struct carried *c, const struct pack_facts *facts)
{
    hsize_t chunk[PACK_RANK_MAX], extent[PACK_RANK_MAX];
    unsigned options = 0;
    hid_t dcpl = H5Dget_create_plist(c->to);
    bool same = dcpl >= 0 && H5Pget_layout(dcpl) == H5D_CHUNKED &&
                H5Pget_chunk(dcpl, PACK_RANK_MAX, chunk) == c->rank;
    for (int i = 0; i < c->rank && same; i++)
        same = chunk[i] == facts->chunk.extent[i];
    H5Sget_simple_extent_dims(c->target, extent, NULL);
    same = same && c->rows.from % chunk[0] == 0 && c->rows.to % chunk[0] == 0 &&
           (c->rows.n % chunk[0] == 0 || c->rows.to + c->rows.n == extent[0]);
    if (dcpl >= 0 && H5Pget_layout(dcpl) == H5D_CHUNKED)
        H5Pget_chunk_opts(dcpl, &options);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    return same && !facts->edge_chunks_unfiltered && options == 0;
}

/* What is not stored is read as this. */
static bool
get_fill(hid_t set, hid_t type, H5D_fill_value_t *is_defined, void *fill)
{
    hid_t dcpl = H5Dget_create_plist(set);
    bool good = dcpl >= 0 && H5Pfill_value_defined(dcpl, is_defined) >= 0 &&
                (*is_defined == H5D_FILL_VALUE_UNDEFINED ||
                 H5Pget_fill_value(dcpl, type, fill) >= 0);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    return good;
}

/* Whether what is not stored there need not be stored here. Pointers are not compared: they
 * are the same where neither has a value of its own. */
static bool
is_same_fill(const struct carried *c)
{
    size_t size = H5Tget_size(c->type);
    unsigned char *fills = calloc(2, size);
    H5D_fill_value_t one, other;
    bool same = fills && get_fill(c->from, c->type, &one, fills) &&
                get_fill(c->to, c->type, &other, fills + size);
    if (same && c->needs.pointers)
        same = one != H5D_FILL_VALUE_USER_DEFINED && other != H5D_FILL_VALUE_USER_DEFINED;
    else
        same = same && memcmp(fills, fills + size, size) == 0;
    free(fills);
    return same;
}

static bool
is_same_type(const struct carried *c)
{
    hid_t type = H5Dget_type(c->to);
    bool same = type >= 0 && H5Tequal(type, c->type) > 0;
    if (type >= 0)
        H5Tclose(type);
    return same;
}

static enum pack_status
carry(struct carried *c, int64_t source, struct pack_error *err)
{
    struct pack_facts facts;
    enum pack_status status = pack_facts_read(source, c->rows.dataset, &facts, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s'", c->rows.file);
    const bool is_piece = c->object->is_aligned && c->clone->params.pieces;
    bool is_empty = facts.space == PACK_SPACE_NULL || facts.n_elements == 0 ||
                    (facts.layout == PACK_LAYOUT_VIRTUAL && !is_piece);
    bool is_filled = is_piece && !is_empty && !is_same_fill(c); /* holes become values */
    if (is_empty || (pack_facts_is_unwritten(&facts) && !is_filled))
        return PACK_OK;
    if (c->object->is_aligned && !is_piece)
        return pack_clone_carry_rows(c->clone, c->object, c->from, c->to, err);
    bool is_plain = !c->needs.pointers && !c->needs.references && !is_filled;
    return is_plain && facts.layout == PACK_LAYOUT_CHUNKED &&
                   is_same_pipeline(c->from, c->to) &&
                   (!is_piece || (is_same_grid(c, &facts) && is_same_type(c)))
               ? carry_chunks(c, &facts, err)
               : carry_boxes(c, err);
}

/* What `rows` says, of a file that is open. */
static enum pack_status
carry_from(struct pack_clone *clone, const struct clone_object *object, int64_t source,
           const struct clone_rows *rows, struct pack_error *err)
{
    struct carried c = { .clone = clone,
                         .object = object,
                         .from = -1,
                         .to = -1,
                         .type = -1,
                         .space = -1,
                         .target = -1,
                         .rows = *rows };
    c.from = H5Dopen2(source, rows->dataset, H5P_DEFAULT);
    c.to = pack_clone_open_target(clone, object);
    if (c.from >= 0 && c.to >= 0) {
        c.type = H5Dget_type(c.from);
        c.space = H5Dget_space(c.from);
        c.target = H5Dget_space(c.to);
    }
    enum pack_status status =
        pack_clone_check(clone, object->from,
                         c.type < 0 || c.target < 0 ? -1 : c.space, err);
    if (status == PACK_OK) {
        c.needs = pack_clone_needs(c.type);
        c.rank = H5Sget_simple_extent_dims(c.space, c.extent, NULL);
        if (c.rank > 0)
            c.extent[0] = c.extent[0] < c.rows.n ? c.extent[0] : c.rows.n;
        status = pack_clone_check(clone, object->from, c.rank, err);
    }
    if (status == PACK_OK)
        status = carry(&c, source, err);
    if (c.target >= 0)
        H5Sclose(c.target);
    if (c.space >= 0)
        H5Sclose(c.space);
    if (c.type >= 0)
        H5Tclose(c.type);
    if (c.to >= 0)
        H5Dclose(c.to);
    if (c.from >= 0)
        H5Dclose(c.from);
    return status;
}

/* A dataset on its way, of which some rows come from one file and some from others. */
struct in_pieces {
    struct pack_clone *clone;
    const struct clone_object *object;
};

static enum pack_status
carry_piece(void *context, const struct clone_rows *rows, struct pack_error *err)
{
    const struct in_pieces *in = context;
    int64_t file = -1;
    enum pack_status status = pack_h5_open(rows->file, NULL, &file, err);
    if (status == PACK_OK)
        status = carry_from(in->clone, in->object, file, rows, err);
    pack_h5_close(file);
    return status;
}

static enum pack_status
carry_dataset(struct pack_clone *clone, const struct clone_object *object,
              struct pack_error *err)
{
    const struct clone_rows all = { clone->params.file, object->from, 0, 0, UINT64_MAX };
    struct in_pieces in = { clone, object };
    return clone->params.pieces && object->is_aligned
               ? pack_clone_each_piece(clone, object, carry_piece, &in, err)
               : carry_from(clone, object, clone->source, &all, err);
}

enum pack_status
pack_clone_data(struct pack_clone *clone, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < clone->n_objects && status == PACK_OK; i++) {
        const struct clone_object *object = &clone->objects[i];
        if (object->kind == CLONE_DATASET && object->set == clone->params.n_sets)
            status = carry_dataset(clone, object, err);
    }
    return status;
}
