#include "libpack/hdf5/readset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpack/dataset.h>
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_guard.h"
#include "libpack/model/grid.h"
#include "libpack/base/size.h"

enum pack_status
pack_readset_split(const char *operand, char **file, char **path, struct pack_error *err)
{
    const char *colon = NULL;
    *file = *path = NULL;
    if (access(operand, F_OK) != 0)
        for (const char *at = operand; (at = strstr(at, ":/")) != NULL; at++)
            colon = at;
    *file = colon ? strndup(operand, (size_t)(colon - operand)) : strdup(operand);
    if (colon)
        *path = strdup(colon + 1);
    if (!*file || (colon && !*path)) {
        free(*file);
        free(*path);
        return pack_fail_memory(err, "operands");
    }
    return PACK_OK;
}

/* ------------------------------------------------------- which dataset to read */

struct search {
    char *first;
    size_t n;
};

static enum pack_status
search_fn(void *context, const char *path, struct pack_error *err)
{
    struct search *search = context;
    if (search->n++ == 0 && !(search->first = strdup(path)))
        return pack_fail_memory(err, "a dataset's path");
    return PACK_OK;
}

static enum pack_status
find_dataset(int64_t file, const char *name, char **dataset, struct pack_error *err)
{
    struct search search = { 0 };
    if (pack_h5_is_dataset(file, "images")) {
        *dataset = strdup("images");
        return *dataset ? PACK_OK : pack_fail_memory(err, "a dataset's path");
    }
    enum pack_status status = pack_h5_datasets(file, search_fn, &search, err);
    if (status == PACK_OK && search.n == 1) {
        *dataset = search.first;
        return PACK_OK;
    }
    if (status == PACK_OK)
        status = pack_fail(err, PACK_ERR_ARGUMENT,
                           search.n ? "'%s' has %zu datasets and none is called "
                                      "'images'; say which with %s:/PATH"
                                    : "'%s' has no datasets (%zu); "
                                      "is it the right file (%s)?",
                           name, search.n, name);
    else if (status != PACK_OK)
        status = pack_error_prefix(err, status, "'%s'", name);
    free(search.first);
    return status;
}

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
check_part(const struct pack_readset_part *part, const char *dataset,
           struct pack_error *err)
{
    const struct pack_facts *facts = &part->facts;
    char type[PACK_TYPE_TEXT_MAX], need[PACK_FILTER_NEED_MAX];
    if (!is_plain(&facts->type))
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:%s' holds elements of type %s; only numbers and other "
                         "values of fixed size can be read",
                         part->file, dataset, pack_type_format(&facts->type, type));
    if (facts->space != PACK_SPACE_SIMPLE || facts->extent.rank == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s:%s' is a single value, not an array of samples", part->file,
                         dataset);
    if (facts->n_elements == 0)
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%s:%s' is empty", part->file, dataset);
    uint64_t bytes;
    if (!pack_size_mul(facts->n_elements, facts->type.bytes, &bytes))
        return pack_fail(err, PACK_ERR_LIMIT, "'%s:%s' claims more than 2^64 bytes",
                         part->file, dataset);
    uint32_t id;
    if (!facts->filters_available && pack_h5_missing_filter(&facts->pipeline, &id))
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s:%s' cannot be decoded here: it %s", part->file, dataset,
                         pack_filter_need(id, need));
    return PACK_OK;
}

static enum pack_status
check_agreement(const struct pack_readset *set, const struct pack_readset_part *part,
                struct pack_error *err)
{
    const struct pack_facts *a = &set->parts[0].facts, *b = &part->facts;
    char one[PACK_SHAPE_TEXT_MAX], two[PACK_SHAPE_TEXT_MAX];
    struct pack_shape x = a->extent, y = b->extent;
    x.extent[0] = y.extent[0] = 1;
    if (!pack_shape_equal(&x, &y) || a->type.class_id != b->type.class_id ||
        a->type.bytes != b->type.bytes)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s' and '%s' are not parts of one dataset: samples of %s x %u "
                         "bytes and of %s x %u bytes",
                         set->parts[0].file, part->file, pack_shape_format(&x, one),
                         a->type.bytes, pack_shape_format(&y, two), b->type.bytes);
    return PACK_OK;
}

/* ------------------------------------------------------------------ opening */

static enum pack_status
list_chunks(struct pack_readset_part *part, const char *dataset, struct pack_error *err)
{
    struct pack_chunkindex index = { 0 };
    enum pack_status status =
        pack_grid_init(&part->grid, &part->facts.extent, &part->facts.chunk,
                       part->facts.type.bytes, err);
    if (status == PACK_OK)
        status = pack_chunkindex_read(part->file, dataset, 0, &index, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s:%s'", part->file, dataset);
    part->stored_bytes = calloc(index.n_chunks ? index.n_chunks : 1, sizeof(uint64_t));
    if (part->stored_bytes)
        for (uint64_t i = 0; i < index.n_chunks; i++)
            part->stored_bytes[i] = index.chunks[i].stored_bytes;
    else
        status = pack_fail_memory(err, "sizes of chunks");
    part->n_chunks_missing = index.n_missing;
    pack_chunkindex_done(&index);
    return status;
}

/* One operand on its way into a set, tried in a child first. */
struct opening {
    struct pack_readset *set;
    struct pack_readset_part *part;
    const char *path,
        *dataset; /* in the operand, or NULL; for operands without, or NULL */
};

/* Which dataset is meant, into the set by the first part. */
static enum pack_status
settle_dataset(const struct opening *o, int64_t file, struct pack_error *err)
{
    const char *named = o->path ? o->path : o->dataset;
    struct pack_readset *set = o->set;
    if (!set->dataset && !named)
        return find_dataset(file, o->part->file, &set->dataset, err);
    if (!set->dataset) {
        set->dataset = strdup(named);
        return set->dataset ? PACK_OK : pack_fail_memory(err, "a dataset's path");
    }
    if (o->path && strcmp(o->path, set->dataset) != 0)
        return pack_fail(err, PACK_ERR_ARGUMENT,
                         "'%s' and '%s' are different datasets; measure them apart",
                         set->dataset, o->path);
    return PACK_OK;
}

static enum pack_status
read_part(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    const struct opening *o = context;
    struct pack_readset_part *part = o->part;
    int64_t file = -1;
    enum pack_status status = pack_h5_open(part->file, NULL, &file, err);
    if (status != PACK_OK)
        return status;
    pack_h5_guard_note(guard, "listing its datasets");
    status = settle_dataset(o, file, err);
    const char *name = status == PACK_OK ? o->set->dataset : "";
    pack_h5_guard_note(guard, "reading '/%s'", name + strspn(name, "/"));
    if (status == PACK_OK) {
        status = pack_facts_read(file, name, &part->facts, err);
        if (status != PACK_OK)
            pack_error_prefix(err, status, "'%s'", part->file);
    }
    if (status == PACK_OK && part->facts.layout == PACK_LAYOUT_VIRTUAL)
        status = pack_h5_sources_read(file, part->file, &part->facts, guard,
                                      &part->sources, err);
    pack_h5_close(file);
    if (status == PACK_OK)
        status = check_part(part, name, err);
    if (status == PACK_OK)
        status = check_agreement(o->set, part, err);
    if (status == PACK_OK && part->facts.layout == PACK_LAYOUT_CHUNKED)
        status = list_chunks(part, name, err);
    return status;
}

static enum pack_status
open_part(struct pack_readset *set, const char *operand, const char *dataset,
          struct pack_error *err)
{
    struct pack_readset_part *part = &set->parts[set->n_parts];
    char *path = NULL;
    enum pack_status status = pack_readset_split(operand, &part->file, &path, err);
    if (status != PACK_OK)
        return status;
    set->n_parts++; /* from here on pack_readset_close frees it */
    struct opening o = { .set = set, .part = part, .path = path, .dataset = dataset };
    status = pack_h5_guard_try(part->file, NULL, read_part, &o, err);
    if (status == PACK_OK)
        status = read_part(&o, NULL, err);
    free(path);
    part->first = set->extent.rank ? set->extent.extent[0] : 0;
    part->n_samples = part->facts.extent.extent[0];
    return status;
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
    enum pack_status status = pack_h5_register_zstd(err);
    for (size_t i = 0; i < n_operands && status == PACK_OK; i++) {
        status = open_part(set, operands[i], dataset, err);
        if (status != PACK_OK)
            break;
        const struct pack_readset_part *part = &set->parts[i];
        if (i == 0) {
            set->extent = part->facts.extent;
            set->elem_size = part->facts.type.bytes;
            set->sample_bytes = part->facts.n_elements / part->n_samples * set->elem_size;
        } else if (!pack_size_add(set->extent.extent[0], part->n_samples,
                                  &set->extent.extent[0])) {
            status = pack_fail(err, PACK_ERR_LIMIT, "more than 2^64 samples");
        }
    }
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
    for (size_t i = 0; i < set->n_parts; i++) {
        free(set->parts[i].file);
        free(set->parts[i].stored_bytes);
        pack_h5_sources_done(&set->parts[i].sources);
    }
    free(set->parts);
    free(set->dataset);
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
        if (set->parts[i].facts.layout != PACK_LAYOUT_CHUNKED)
            return false;
    return true;
}

bool
pack_readset_is_clear(const struct pack_readset *set)
{
    for (size_t i = 0; i < set->n_parts; i++) {
        const struct pack_readset_part *part = &set->parts[i];
        if (part->facts.layout != PACK_LAYOUT_CHUNKED &&
            (part->facts.layout != PACK_LAYOUT_VIRTUAL || part->sources.unclear))
            return false;
    }
    return true;
}

uint64_t
pack_readset_requests(const struct pack_readset_part *part, const struct pack_box *boxes,
                      size_t n_boxes)
{
    const struct pack_h5_sources *s = &part->sources;
    uint64_t n = 0;
    struct pack_box box;
    for (size_t b = 0; b < n_boxes; b++) {
        if (part->grid.rank > 0)
            n += pack_grid_count(&part->grid, &boxes[b]);
        for (size_t i = 0; i < s->n_mappings && !s->unclear; i++)
            if (!s->sources[s->mappings[i].source].is_missing &&
                pack_h5_mapping_cut(&s->mappings[i], &boxes[b], &box))
                n += pack_grid_count(&s->sources[s->mappings[i].source].grid, &box);
    }
    return n;
}

bool
pack_readset_remark(const struct pack_readset *set, char *text, size_t size)
{
    for (size_t i = 0; i < set->n_parts; i++) {
        const struct pack_readset_part *part = &set->parts[i];
        const struct pack_h5_sources *s = &part->sources;
        size_t n_missing = 0, first = 0;
        for (size_t k = s->n_sources; k-- > 0;)
            if (s->sources[k].is_missing) {
                n_missing++;
                first = k;
            }
        if (n_missing > 0)
            snprintf(text, size,
                     "'%s:%s' is virtual, and %zu of its %zu sources %s missing, '%s' "
                     "first: fill values are read in their place",
                     part->file, set->dataset, n_missing, s->n_sources,
                     n_missing == 1 ? "is" : "are", s->sources[first].file);
        else if (s->unclear)
            snprintf(text, size,
                     "'%s:%s' is virtual, and which chunks its reads visit cannot be "
                     "told: %s",
                     part->file, set->dataset, s->unclear);
        else if (part->facts.n_external > 0)
            snprintf(text, size,
                     "'%s:%s' keeps its data in %llu external files (H5Pset_external): "
                     "HDF5 reads those past every driver, so that file reads are not "
                     "counted",
                     part->file, set->dataset,
                     (unsigned long long)part->facts.n_external);
        else
            continue;
        return true;
    }
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
