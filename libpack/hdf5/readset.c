#include "libpack/hdf5/readset.h"

#include <stdlib.h>
#include <string.h>

#include <libpack/dataset.h>
#include "libpack/hdf5/h5.h"
#include "libpack/model/grid.h"
#include "libpack/base/size.h"
#include "libpack/base/system.h"

/* --------------------------------------------------------- what can be read */

static bool
is_plain(const struct pack_type *type)
{
    switch (type->class_id) {
    case PACK_TYPE_INTEGER:
    case PACK_TYPE_FLOAT:
    case PACK_TYPE_TIME:
    case PACK_TYPE_STRING:
    case PACK_TYPE_BITFIELD:
    case PACK_TYPE_OPAQUE:
    case PACK_TYPE_ENUM: return !type->is_variable && type->bytes > 0;
    default: return false;
    }
}

static enum pack_status
check_part(const struct pack_h5_dataset *d, struct pack_error *err)
{
    const struct pack_facts *facts = &d->facts;
    char type[PACK_TYPE_TEXT_MAX];
    if (!is_plain(&facts->type))
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:/%s' holds elements of type %s; only numbers, bits, texts of fixed "
                         "size and opaque values can be read",
                         d->file, d->path, pack_type_format(&facts->type, type));
    if (d->chunks.is_too_many)
        return pack_fail(err, PACK_ERR_LIMIT, "'%s:/%s' has too many chunks (%llu)",
                         d->file, d->path, (unsigned long long)facts->n_chunks_total);
    return PACK_OK;
}

enum pack_status
pack_readset_check_filters(const struct pack_readset *set, struct pack_error *err)
{
    char need[PACK_FILTER_NEED_MAX];
    uint32_t id;
    for (size_t i = 0; i < set->n_parts; i++) {
        const struct pack_h5_dataset *d = set->parts[i].data;
        if (!d->facts.filters_available &&
            pack_h5_lacks_filter(&d->facts.pipeline, d->chunks.left_out, &id))
            return pack_fail(err, PACK_ERR_UNSUPPORTED,
                             "'%s:/%s' cannot be decoded here: it %s", d->file, d->path,
                             pack_filter_need(id, need));
    }
    return PACK_OK;
}

static enum pack_status
check_agreement(const struct pack_h5_dataset *first, const struct pack_h5_dataset *d,
                struct pack_error *err)
{
    const struct pack_facts *a = &first->facts, *b = &d->facts;
    char one[PACK_SHAPE_TEXT_MAX], two[PACK_SHAPE_TEXT_MAX];
    struct pack_shape x = a->extent, y = b->extent;
    x.extent[0] = y.extent[0] = 1;
    if (!pack_shape_equal(&x, &y) || a->type.class_id != b->type.class_id ||
        a->type.bytes != b->type.bytes)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s' and '%s' are not parts of one dataset: samples of %s x %u "
                         "bytes and of %s x %u bytes",
                         first->file, d->file, pack_shape_format(&x, one), a->type.bytes,
                         pack_shape_format(&y, two), b->type.bytes);
    return PACK_OK;
}

/* ------------------------------------------------------------------ opening */

/* The path that an operand is read at: its own, the set's, or NULL: the one that is meant.
 * All parts have the same. */
static enum pack_status
settle_path(const struct pack_readset *set, const char *own, const char *given,
            const char **path, struct pack_error *err)
{
    *path = own ? own : set->dataset ? set->dataset : given;
    if (own && given && strcmp(own + strspn(own, "/"), given + strspn(given, "/")) != 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "dataset",
                               "'%s' and '%s' are two names for what is to be read", own, given);
    if (own && set->dataset && strcmp(own, set->dataset) != 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s' and '%s' are different datasets; measure them apart",
                         set->dataset, own);
    return PACK_OK;
}

static enum pack_status
open_part(struct pack_readset *set, const char *operand, const char *dataset,
          struct pack_error *err)
{
    struct pack_readset_part *part = &set->parts[set->n_parts];
    struct pack_h5_dataset *d = NULL;
    char *file = NULL, *own = NULL;
    const char *path;
    enum pack_status status = pack_h5_operand_split(operand, &file, &own, err);
    if (status == PACK_OK)
        status = settle_path(set, own, dataset, &path, err);
    if (status == PACK_OK)
        status = pack_h5_dataset_open(file, path, &d, err);
    if (status == PACK_OK)
        status = check_part(d, err);
    if (status == PACK_OK && set->n_parts > 0)
        status = check_agreement(set->parts[0].data, d, err);
    free(file);
    free(own);
    if (status != PACK_OK) {
        pack_h5_dataset_close(d);
        return status;
    }
    *part = (struct pack_readset_part){ .data = d,
                                        .first = set->extent.extent[0],
                                        .n_samples = d->facts.extent.extent[0] };
    if (set->n_parts++ == 0) {
        set->dataset = d->path;
        set->extent = d->facts.extent;
        set->elem_size = d->facts.type.bytes;
        set->sample_bytes = d->facts.n_elements / part->n_samples * set->elem_size;
    } else if (!pack_size_add(part->first, part->n_samples, &set->extent.extent[0])) {
        return pack_fail(err, PACK_ERR_LIMIT, "more than 2^64 samples");
    }
    return PACK_OK;
}

enum pack_status
pack_readset_open(const char *const *operands, size_t n_operands, const char *dataset,
                  struct pack_readset **out, struct pack_error *err)
{
    struct pack_readset *set = calloc(1, sizeof *set);
    if (!set || !(set->parts = calloc(n_operands ? n_operands : 1, sizeof *set->parts))) {
        free(set);
        return pack_fail_memory(err, "a set of files");
    }
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < n_operands && status == PACK_OK; i++)
        status = open_part(set, operands[i], dataset, err);
    if (status == PACK_OK)
        status = pack_readset_note_files(set, err);
    if (status != PACK_OK) {
        pack_readset_close(set);
        return status;
    }
    *out = set;
    return PACK_OK;
}

void
pack_readset_close(struct pack_readset *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->n_parts; i++)
        pack_h5_dataset_close(set->parts[i].data);
    free(set->parts);
    free(set->files);
    free(set);
}

size_t
pack_readset_find(const struct pack_readset *set, uint64_t index)
{
    size_t low = 0, high = set->n_parts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (set->parts[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool
pack_readset_is_chunked(const struct pack_readset *set)
{
    for (size_t i = 0; i < set->n_parts; i++)
        if (set->parts[i].data->facts.layout != PACK_LAYOUT_CHUNKED)
            return false;
    return true;
}

bool
pack_readset_is_clear(const struct pack_readset *set)
{
    for (size_t i = 0; i < set->n_parts; i++) {
        const struct pack_h5_dataset *d = set->parts[i].data;
        if (d->facts.layout != PACK_LAYOUT_CHUNKED &&
            (d->facts.layout != PACK_LAYOUT_VIRTUAL || d->sources.unclear))
            return false;
    }
    return true;
}

uint64_t
pack_readset_requests(const struct pack_h5_dataset *d, const struct pack_box *boxes,
                      size_t n_boxes)
{
    const struct pack_h5_sources *s = &d->sources;
    uint64_t n = 0;
    struct pack_box box;
    for (size_t b = 0; b < n_boxes; b++) {
        if (d->chunks.grid.rank > 0)
            n += pack_grid_count(&d->chunks.grid, &boxes[b]);
        for (size_t i = 0; i < s->n_mappings && !s->unclear; i++)
            if (!s->sources[s->mappings[i].source].is_missing &&
                pack_h5_mapping_cut(&s->mappings[i], &boxes[b], &box))
                n += pack_grid_count(&s->sources[s->mappings[i].source].chunks.grid,
                                     &box);
    }
    return n;
}

/* Adds what is resident of a file; false: not known. */
static bool
add_resident(const char *file, double *resident, uint64_t *bytes)
{
    uint64_t in_memory, size;
    if (pack_system_resident(file, &in_memory, NULL) != PACK_OK ||
        pack_system_size(file, &size, NULL) != PACK_OK)
        return false;
    *resident += (double)in_memory;
    *bytes += size;
    return true;
}

double
pack_readset_resident_rate(const struct pack_readset *set, uint64_t *bytes)
{
    double resident = 0;
    bool is_known = true;
    *bytes = 0;
    for (size_t i = 0; i < set->n_parts && is_known; i++) {
        const struct pack_h5_sources *s = &set->parts[i].data->sources;
        is_known = add_resident(set->parts[i].data->data_file, &resident, bytes);
        for (size_t k = 0; k < s->n_sources && is_known; k++)
            if (!s->sources[k].is_missing)
                is_known = add_resident(s->sources[k].file, &resident, bytes);
    }
    return is_known && *bytes ? resident / (double)*bytes : -1;
}

bool
pack_readset_remark(const struct pack_readset *set, char *text, size_t size)
{
    for (size_t i = 0; i < set->n_parts; i++)
        if (pack_h5_dataset_remark(set->parts[i].data, text, size))
            return true;
    return false;
}

size_t
pack_readset_take(const struct pack_readset *set, const struct pack_box *boxes,
                  size_t n_boxes, struct pack_readset_cursor *cursor,
                  struct pack_box *local, size_t *part)
{
    size_t n = 0;
    for (; cursor->box < n_boxes; n++) {
        const struct pack_box *box = &boxes[cursor->box];
        uint64_t start = box->start[0] + cursor->row, left = box->count[0] - cursor->row;
        if (n == 0)
            *part = pack_readset_find(set, start);
        const struct pack_readset_part *at = &set->parts[*part];
        if (start - at->first >= at->n_samples)
            break;
        uint64_t room = at->n_samples - (start - at->first);
        local[n].rank = box->rank; /* not all of a box, most of which is unused */
        memcpy(local[n].start, box->start, (size_t)box->rank * sizeof *box->start);
        memcpy(local[n].count, box->count, (size_t)box->rank * sizeof *box->count);
        local[n].start[0] = start - at->first;
        local[n].count[0] = left < room ? left : room;
        if (left > room) {
            cursor->row += room;
            return n + 1;
        }
        cursor->box++;
        cursor->row = 0;
    }
    return n;
}

uint64_t
pack_readset_box_bytes(const struct pack_readset *set, const struct pack_box *box)
{
    uint64_t bytes = set->elem_size;
    for (int i = 0; i < box->rank; i++)
        bytes *= box->count[i];
    return bytes;
}
