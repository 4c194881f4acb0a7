/*
 * Both files are read in blocks of indexes of axis 0, of as many as cover whole chunks of
 * both where the room allows, so that HDF5 decodes each chunk once or nearly so. Numbers that
 * became bytes are made bytes here too, from what HDF5 reads.
 */
#include "libpack/rechunk/rechunk_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/hdf5/h5_boxes.h"
#include "libpack/reader/strided.h"

struct comparison {
    const struct pack_rechunk_params *params;
    const struct pack_rechunk_set *set;
    struct pack_h5_boxes *from, *to;
    unsigned char *a, *b, *row; /* row: of a, its axes in the other order */
    uint64_t row_bytes, n_rows; /* of a block, as in the source */
};

static uint64_t
rows_of_block(const struct comparison *c, uint64_t memory_bytes)
{
    const struct pack_facts *facts = &c->set->facts;
    uint64_t rows = c->set->chunk.extent[0], n = memory_bytes / 2 / c->row_bytes;
    if (facts->layout == PACK_LAYOUT_CHUNKED && facts->chunk.extent[0] > rows)
        rows = facts->chunk.extent[0];
    if (n > rows)
        n -= n % rows;
    if (n > facts->extent.extent[0])
        n = facts->extent.extent[0];
    return n > 0 ? n : 1;
}

/* The same rows of the copy, wherever they are. */
static enum pack_status
read_copy(struct comparison *c, const struct pack_box *box, struct pack_error *err)
{
    const struct pack_permutation *rows = c->set->rows;
    const struct pack_rechunk_set *set = c->set;
    uint64_t bytes = c->row_bytes / (set->narrow ? set->facts.type.bytes : 1);
    struct pack_box row = *box;
    enum pack_status status = PACK_OK;
    for (int i = 0; set->axes && i < box->rank; i++)
        row.count[i] = box->count[set->axes[i]];
    if (!rows)
        return pack_h5_boxes_read(c->to, &row, 1, c->b, NULL, err);
    row.count[0] = 1;
    for (uint64_t i = 0; i < box->count[0] && status == PACK_OK; i++) {
        row.start[0] = pack_permutation_find(rows, box->start[0] + i);
        status = pack_h5_boxes_read(c->to, &row, 1, c->b + i * bytes, NULL, err);
    }
    return status;
}

/* Row i of what was read of the source, as the copy is to have it. */
static const unsigned char *
wanted_row(const struct comparison *c, const struct pack_box *box, uint64_t i, uint64_t bytes)
{
    static const uint64_t corner[PACK_RANK_MAX];
    const int *axes = c->set->axes;
    const unsigned char *row = c->a + i * bytes;
    uint64_t count[PACK_RANK_MAX], elem_size = bytes;
    struct pack_strided turn;
    if (!axes)
        return row;
    for (int k = 0; k < box->rank; k++) {
        count[k] = k > 0 ? box->count[axes[k]] : 1;
        elem_size /= count[k];
    }
    pack_strided_set_turned(&turn, box->rank, count, elem_size,
                            (struct pack_strided_place){ count, corner }, axes,
                            (struct pack_strided_place){ count, corner });
    pack_strided_copy(&turn, 0, row, c->row);
    return c->row;
}

static enum pack_status
compare_block(struct comparison *c, struct pack_box *box, struct pack_error *err)
{
    enum pack_status status = pack_h5_boxes_read(c->from, box, 1, c->a, NULL, err);
    if (status == PACK_OK)
        status = read_copy(c, box, err);
    if (status != PACK_OK)
        return status;
    uint64_t bytes = c->row_bytes;
    if (c->set->narrow) {
        bytes /= c->set->facts.type.bytes;
        pack_narrow_put(c->set->narrow, c->a, (size_t)(bytes * box->count[0]), c->a);
    }
    for (uint64_t i = 0; i < box->count[0]; i++)
        if (memcmp(wanted_row(c, box, i, bytes), c->b + i * bytes, bytes) != 0)
            return pack_fail(err, PACK_ERR_MISMATCH,
                             "the copy of '%s:/%s' is another one at index %" PRIu64,
                             c->params->input, c->set->facts.path, box->start[0] + i);
    return PACK_OK;
}

static enum pack_status
compare(struct comparison *c, struct pack_error *err)
{
    const struct pack_facts *facts = &c->set->facts;
    struct pack_box box = { .rank = facts->extent.rank };
    enum pack_status status = PACK_OK;
    memcpy(box.count, facts->extent.extent, sizeof box.count);
    for (uint64_t at = 0; at < facts->extent.extent[0] && status == PACK_OK;
         at += c->n_rows) {
        uint64_t left = facts->extent.extent[0] - at;
        const struct pack_progress progress = { .stage = "verifying",
                                                .unit = "samples",
                                                .done = at,
                                                .total = facts->extent.extent[0],
                                                .bytes = at * c->row_bytes };
        box.start[0] = at;
        box.count[0] = left < c->n_rows ? left : c->n_rows;
        pack_watch_tell(&c->params->watch, &progress);
        status = pack_watch_check(&c->params->watch, err);
        if (status == PACK_OK)
            status = compare_block(c, &box, err);
    }
    return status;
}

enum pack_status
pack_rechunk_verify(const struct pack_rechunk_params *params,
                    const struct pack_rechunk_set *set, const char *file,
                    struct pack_error *err)
{
    const struct pack_facts *facts = &set->facts;
    const struct pack_h5_boxes_params from = { .file = params->input,
                                               .dataset = set->path },
                                      to = { .file = file, .dataset = set->path };
    struct comparison c = { .params = params,
                            .set = set,
                            .row_bytes = facts->logical_bytes / facts->extent.extent[0] };
    c.n_rows = rows_of_block(&c, params->memory_bytes);
    c.a = malloc(c.n_rows * c.row_bytes);
    c.b = malloc(c.n_rows * c.row_bytes);
    c.row = malloc(c.row_bytes);
    enum pack_status status = PACK_OK;
    if (!c.a || !c.b || !c.row)
        status = pack_fail_memory(err, "samples to compare");
    if (status == PACK_OK)
        status = pack_h5_boxes_open(&from, &c.from, err);
    if (status == PACK_OK)
        status = pack_h5_boxes_open(&to, &c.to, err);
    if (status == PACK_OK)
        status = compare(&c, err);
    pack_h5_boxes_close(c.to);
    pack_h5_boxes_close(c.from);
    free(c.row);
    free(c.b);
    free(c.a);
    return status;
}
