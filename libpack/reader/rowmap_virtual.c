/*
 * A virtual dataset is resolved when each of its blocks holds whole rows:
 *
 *     rows of all     0          100         180     250
 *                     |  a.h5     |  missing  |  b.h5 |
 *     parts           file 1       file 0      file 2
 *     chunks          0 1 2 3      4 5         6 7 8
 */
#include "libpack/reader/rowmap.h"

#include <stdio.h>
#include <stdlib.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_raw.h"
#include "libpack/hdf5/h5_sources.h"

static int
compare_parts(const void *a, const void *b)
{
    const struct pack_rowmap_part *x = a, *y = b;
    return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

/* Sorts the parts from `first` on, which lie from `row` to `end`, and puts parts of `filler`
 * where there is none. False when they overlap. */
static bool
close_gaps(struct pack_rowmap *rows, size_t first, uint64_t row, uint64_t end, size_t filler,
           enum pack_status *status)
{
    size_t n = rows->n_parts;
    qsort(rows->parts + first, n - first, sizeof *rows->parts, compare_parts);
    uint64_t begin = row;
    for (size_t i = first; i <= n && *status == PACK_OK; i++) {
        struct pack_rowmap_part next = { .first_row = end };
        if (i < n)
            next = rows->parts[i];
        if (next.first_row < row)
            return false;
        if (next.first_row > row)
            *status = pack_rowmap_add_part(
                rows,
                (struct pack_rowmap_part){ .file = filler,
                                           .first_row = row,
                                           .n_rows = next.first_row - row,
                                           .file_row = row - begin },
                NULL);
        row = next.first_row + next.n_rows;
    }
    qsort(rows->parts + first, rows->n_parts - first, sizeof *rows->parts, compare_parts);
    return true;
}

/* What is being resolved: the virtual dataset, file `filler` of all, whose first row is
 * `first_row`. */
struct resolving {
    struct pack_rowmap *rows;
    struct pack_chunkmap *map;
    const struct pack_h5_sources *sources;
    const char *path;
    size_t filler;
    uint64_t first_row;
};

static enum pack_status
say_unmapped(struct pack_chunkmap *map, const char *why)
{
    snprintf(map->unmapped, sizeof map->unmapped, "a virtual dataset: %.100s", why);
    return PACK_OK;
}

/* Whether the block is of whole rows, on both sides. */
static bool
is_of_rows(const struct pack_shape *whole, const struct pack_h5_mapping *mapping,
           const struct pack_h5_source *source)
{
    const struct pack_box *from = &mapping->from, *to = &mapping->to;
    const struct pack_shape *extent = &source->facts.extent;
    if (from->rank != whole->rank)
        return false;
    for (int i = 1; i < whole->rank; i++)
        if (from->start[i] != 0 || from->count[i] != whole->extent[i])
            return false;
    if (from->start[0] >= whole->extent[0] ||
        from->count[0] > whole->extent[0] - from->start[0])
        return false;
    if (source->is_missing)
        return true;
    if (to->rank != whole->rank || extent->rank != whole->rank)
        return false;
    for (int i = 1; i < whole->rank; i++)
        if (to->start[i] != 0 || to->count[i] != whole->extent[i] ||
            extent->extent[i] != whole->extent[i])
            return false;
    return to->count[0] == from->count[0] && to->start[0] < extent->extent[0] &&
           to->count[0] <= extent->extent[0] - to->start[0];
}

/* Adds a source as a file of its own; else says in map->unmapped why not. */
static enum pack_status
add_source(const struct resolving *v, const struct pack_h5_source *source,
           struct pack_error *err)
{
    char why[100];
    struct pack_chunkmap *map = NULL;
    bool same = true;
    if (source->facts.layout == PACK_LAYOUT_VIRTUAL)
        return say_unmapped(v->map, "a source is virtual, too");
    enum pack_status status = pack_h5_same_type(v->map->file.name, v->path, source->file,
                                                source->dataset, &same, err);
    if (status == PACK_OK && !same)
        return say_unmapped(v->map, "a source is of another type");
    if (status == PACK_OK)
        status = pack_chunkmap_open(source->file, source->dataset, v->rows->limits, &map, err);
    if (status == PACK_OK)
        status = pack_rowmap_add_file(v->rows, map, err);
    if (status != PACK_OK) {
        pack_chunkmap_close(map);
        return status;
    }
    if (map->unmapped[0]) {
        snprintf(why, sizeof why, "a source: %.80s", map->unmapped);
        return say_unmapped(v->map, why);
    }
    return PACK_OK;
}

static enum pack_status
note_missing(const struct resolving *v, struct pack_error *err)
{
    const struct pack_h5_source *first;
    size_t n = pack_h5_sources_missing(v->sources, &first);
    v->rows->n_missing += n;
    if (n > 0 && !v->rows->missing &&
        asprintf(&v->rows->missing, "%s:/%s", first->file, first->dataset) < 0) {
        v->rows->missing = NULL;
        return pack_fail_memory(err, "a name");
    }
    return PACK_OK;
}

static enum pack_status
add_mappings(const struct resolving *v, const size_t *file_of, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    size_t first = v->rows->n_parts;
    for (size_t i = 0; i < v->sources->n_mappings && status == PACK_OK; i++) {
        const struct pack_h5_mapping *mapping = &v->sources->mappings[i];
        bool is_missing = v->sources->sources[mapping->source].is_missing;
        status = pack_rowmap_add_part(
            v->rows,
            (struct pack_rowmap_part){ .file = file_of[mapping->source],
                                       .first_row = v->first_row + mapping->from.start[0],
                                       .n_rows = mapping->from.count[0],
                                       .file_row = is_missing ? mapping->from.start[0]
                                                              : mapping->to.start[0] },
            err);
    }
    if (status == PACK_OK &&
        !close_gaps(v->rows, first, v->first_row,
                    v->first_row + v->map->facts.extent.extent[0], v->filler, &status))
        return say_unmapped(v->map, "its blocks overlap");
    return status == PACK_OK ? status : pack_fail_memory(err, "parts");
}

static enum pack_status
add_sources(const struct resolving *v, struct pack_error *err)
{
    const struct pack_h5_sources *s = v->sources;
    enum pack_status status = PACK_OK;
    if (s->unplaced)
        return say_unmapped(v->map, s->unplaced);
    for (size_t i = 0; i < s->n_mappings; i++)
        if (!is_of_rows(&v->map->facts.extent, &s->mappings[i],
                        &s->sources[s->mappings[i].source]))
            return say_unmapped(v->map, "its blocks are not of whole samples");
    size_t *file_of = calloc(s->n_sources + 1, sizeof *file_of);
    if (!file_of)
        return pack_fail_memory(err, "sources");
    v->map->unmapped[0] = '\0';
    for (size_t i = 0; i < s->n_sources && status == PACK_OK && !v->map->unmapped[0]; i++) {
        file_of[i] = s->sources[i].is_missing ? v->filler : v->rows->n_files;
        if (!s->sources[i].is_missing)
            status = add_source(v, &s->sources[i], err);
    }
    if (status == PACK_OK && !v->map->unmapped[0])
        status = add_mappings(v, file_of, err);
    free(file_of);
    return status;
}

enum pack_status
pack_rowmap_resolve(struct pack_rowmap *rows, size_t filler, const char *file,
                    const char *path, uint64_t first_row, struct pack_error *err)
{
    struct pack_h5_sources sources = { 0 };
    struct pack_chunkmap *map = rows->files[filler].map;
    int64_t h5 = -1;
    enum pack_status status = pack_h5_open(file, NULL, &h5, err);
    if (status != PACK_OK)
        return status;
    status = pack_h5_sources_read(h5, map->file.name, &map->facts, NULL, &sources, err);
    pack_h5_close(h5);
    if (status != PACK_OK)
        return status;
    const struct resolving v = { rows, map, &sources, path, filler, first_row };
    status = note_missing(&v, err);
    if (status == PACK_OK)
        status = add_sources(&v, err);
    pack_h5_sources_done(&sources);
    return status;
}
