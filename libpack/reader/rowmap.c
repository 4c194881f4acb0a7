/*
 * A virtual dataset is resolved when each of its blocks holds whole rows:
 *
 *     rows of all     0          100         180     250
 *                     |  a.h5     |  missing  |  b.h5 |
 *     parts           file 1       file 0      file 2
 *     chunks          0 1 2 3      4 5         6 7 8
 */
#include "libpack/reader/rowmap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libpack/base/size.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_raw.h"
#include "libpack/hdf5/h5_sources.h"
#include "libpack/model/grid.h"

/* ------------------------------------------------------------- files and parts */

static enum pack_status
add_file(struct pack_rowmap *rows, struct pack_chunkmap *map, struct pack_error *err)
{
    struct pack_rowmap_file *more =
        realloc(rows->files, (rows->n_files + 1) * sizeof *rows->files);
    if (!more)
        return pack_fail_memory(err, "files");
    rows->files = more;
    rows->files[rows->n_files++] = (struct pack_rowmap_file){ .map = map, .fd = -1 };
    return PACK_OK;
}

/* A part of a file's rows, which begins at `first_row` of all. */
static enum pack_status
add_part(struct pack_rowmap *rows, struct pack_rowmap_part part, struct pack_error *err)
{
    struct pack_rowmap_part *more =
        realloc(rows->parts, (rows->n_parts + 1) * sizeof *rows->parts);
    if (!more)
        return pack_fail_memory(err, "parts");
    rows->parts = more;
    rows->parts[rows->n_parts++] = part;
    return PACK_OK;
}

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
            *status = add_part(rows,
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

/* Numbers the chunks that each part touches. */
static enum pack_status
number_chunks(struct pack_rowmap *rows, struct pack_error *err)
{
    for (size_t i = 0; i < rows->n_parts; i++) {
        struct pack_rowmap_part *part = &rows->parts[i];
        const struct pack_chunkmap *map = rows->files[part->file].map;
        const struct pack_grid *grid = &map->grid;
        uint64_t in_row = grid->n_chunks_total / grid->n_chunks[0];
        uint64_t first = part->file_row / grid->chunk[0];
        uint64_t last = (part->file_row + part->n_rows - 1) / grid->chunk[0];
        part->first_chunk = rows->n_chunks;
        part->file_chunk = first * in_row;
        part->n_chunks = (last - first + 1) * in_row;
        if (!pack_size_add(rows->n_chunks, part->n_chunks, &rows->n_chunks))
            return pack_fail(err, PACK_ERR_LIMIT, "more chunks than 64 bits can count");
        rows->n_coded += map->n_coded < part->n_chunks ? map->n_coded : part->n_chunks;
        if (map->n_coded > 0 && grid->chunk_bytes > rows->chunk_bytes)
            rows->chunk_bytes = grid->chunk_bytes;
    }
    return PACK_OK;
}

/* HDF5 reads all: what else was found is forgotten. */
static enum pack_status
forget_sources(struct pack_rowmap *rows, struct pack_error *err)
{
    while (rows->n_files > 1)
        pack_chunkmap_close(rows->files[--rows->n_files].map);
    rows->n_parts = rows->n_missing = 0;
    return add_part(rows,
                    (struct pack_rowmap_part){
                        .n_rows = rows->whole->facts.extent.extent[0] },
                    err);
}

/* ------------------------------------------------------------ virtual datasets */

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
        status = pack_chunkmap_open(source->file, source->dataset, &map, err);
    if (status == PACK_OK)
        status = add_file(v->rows, map, err);
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
add_mappings(const struct resolving *v, const size_t *file_of, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    size_t first = v->rows->n_parts;
    for (size_t i = 0; i < v->sources->n_mappings && status == PACK_OK; i++) {
        const struct pack_h5_mapping *mapping = &v->sources->mappings[i];
        bool is_missing = v->sources->sources[mapping->source].is_missing;
        v->rows->n_missing += is_missing;
        status = add_part(v->rows,
                          (struct pack_rowmap_part){
                              .file = file_of[mapping->source],
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

/* The sources of the virtual dataset that is file `filler` already. What HDF5 has to read is
 * not `unmapped` any more when it comes back. */
static enum pack_status
resolve(struct pack_rowmap *rows, size_t filler, const char *file, const char *path,
        uint64_t first_row, struct pack_error *err)
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
    status = add_sources(&v, err);
    pack_h5_sources_done(&sources);
    return status;
}

/* ------------------------------------------------------------------ opening */

/* Adds the rows of a dataset, behind those that there are. */
static enum pack_status
add_dataset(struct pack_rowmap *rows, struct pack_chunkmap *map, const char *file,
            const char *path, uint64_t first_row, struct pack_error *err)
{
    struct pack_rowmap_part all = { .file = rows->n_files,
                                    .first_row = first_row,
                                    .n_rows = map->facts.extent.extent[0] };
    enum pack_status status = add_file(rows, map, err);
    if (status != PACK_OK) {
        pack_chunkmap_close(map);
        return status;
    }
    if (map->facts.layout == PACK_LAYOUT_VIRTUAL && map->facts.n_external == 0)
        return resolve(rows, all.file, file, path, first_row, err);
    return add_part(rows, all, err);
}

static enum pack_status
check_rows(const struct pack_chunkmap *first, const struct pack_chunkmap *map,
           const char *const *files, size_t i, const char *path, struct pack_error *err)
{
    char one[PACK_SHAPE_TEXT_MAX], other[PACK_SHAPE_TEXT_MAX];
    const struct pack_shape *a = &first->facts.extent, *b = &map->facts.extent;
    bool same = a->rank == b->rank;
    for (int k = 1; k < a->rank && same; k++)
        same = a->extent[k] == b->extent[k];
    if (!same)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "files",
                               "'%s' of '%s' is %s, of '%s' %s; files of a set have samples "
                               "of one shape",
                               path, files[i], pack_shape_format(b, other), files[0],
                               pack_shape_format(a, one));
    enum pack_status status =
        pack_h5_same_type(files[0], path, files[i], path, &same, err);
    if (status == PACK_OK && !same)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "files",
                               "'%s' of '%s' is of another type than of '%s'", path,
                               files[i], files[0]);
    return status;
}

/* A map of all rows, of which no chunk is stored: facts are those of the first file. */
static enum pack_status
begin_list(struct pack_rowmap *rows, const char *file, const char *path,
           struct pack_error *err)
{
    enum pack_status status = pack_chunkmap_open(file, path, &rows->whole, err);
    if (status == PACK_OK)
        status = add_file(rows, rows->whole, err);
    return status;
}

static enum pack_status
end_list(struct pack_rowmap *rows, uint64_t n_rows, struct pack_error *err)
{
    struct pack_chunkmap *whole = rows->whole;
    if (!pack_chunkmap_stretch(whole, n_rows))
        return pack_fail(err, PACK_ERR_LIMIT,
                         "the files have more bytes than 64 bits can count");
    return PACK_OK;
}

static enum pack_status
open_list(struct pack_rowmap *rows, const char *const *files, size_t n, const char *path,
          struct pack_error *err)
{
    uint64_t n_rows = 0;
    enum pack_status status = begin_list(rows, files[0], path, err);
    rows->listed_rows = calloc(n, sizeof *rows->listed_rows);
    if (status == PACK_OK && !rows->listed_rows)
        status = pack_fail_memory(err, "files");
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        struct pack_chunkmap *map;
        status = pack_chunkmap_open(files[i], path, &map, err);
        if (status != PACK_OK)
            return status;
        if (i > 0)
            status = check_rows(rows->whole, map, files, i, path, err);
        if (status != PACK_OK) {
            pack_chunkmap_close(map);
            return status;
        }
        rows->listed_rows[i] = map->facts.extent.extent[0];
        status = add_dataset(rows, map, files[i], path, n_rows, err);
        if (status == PACK_OK && map->unmapped[0])
            return pack_fail(err, PACK_ERR_UNSUPPORTED,
                             "'%s:/%s' can be read by HDF5 alone (%s), and not as one of "
                             "several files",
                             files[i], path + strspn(path, "/"), map->unmapped);
        if (status == PACK_OK && !pack_size_add(n_rows, rows->listed_rows[i], &n_rows))
            n_rows = UINT64_MAX;
    }
    return status == PACK_OK ? end_list(rows, n_rows, err) : status;
}

enum pack_status
pack_rowmap_open(const char *const *files, size_t n, const char *path,
                 struct pack_rowmap *out, struct pack_error *err)
{
    struct pack_rowmap rows = { .whole = NULL };
    struct rlimit limit = { .rlim_cur = 1024 };
    enum pack_status status;
    if (n > 1) {
        status = open_list(&rows, files, n, path, err);
    } else {
        status = pack_chunkmap_open(files[0], path, &rows.whole, err);
        if (status == PACK_OK)
            status = add_dataset(&rows, rows.whole, files[0], path, 0, err);
        else
            rows.whole = NULL;
    }
    getrlimit(RLIMIT_NOFILE, &limit); /* others want files, too */
    if (status == PACK_OK && rows.n_files > 1 + limit.rlim_cur / 2) {
        if (n > 1)
            status = pack_fail(err, PACK_ERR_LIMIT,
                               "%zu files are to be open, of which the system allows %llu; "
                               "half as many are for data",
                               rows.n_files - 1, (unsigned long long)limit.rlim_cur);
        else
            say_unmapped(rows.whole, "its sources are more than files can be open");
    }
    if (status == PACK_OK && rows.whole->unmapped[0])
        status = forget_sources(&rows, err);
    if (status == PACK_OK)
        status = number_chunks(&rows, err);
    if (status != PACK_OK) {
        pack_rowmap_done(&rows);
        return status;
    }
    *out = rows;
    return PACK_OK;
}

enum pack_status
pack_rowmap_fetch(struct pack_rowmap *rows, const struct pack_fetch_ops *ops,
                  struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < rows->n_parts && status == PACK_OK; i++) {
        struct pack_rowmap_file *file = &rows->files[rows->parts[i].file];
        const struct pack_chunkmap_file *named = &file->map->file;
        if (file->fd >= 0 || file->map->facts.layout == PACK_LAYOUT_VIRTUAL)
            continue;
        file->fd = open(named->name, O_RDONLY | O_CLOEXEC);
        if (file->fd < 0)
            return pack_fail_errno(err, errno, "cannot open '%s'", named->name);
        status = pack_chunkmap_check(file->map, file->fd, err);
        if (status == PACK_OK)
            status = pack_fetch_open(&file->fetch, ops, file->fd, named->size_bytes, err);
    }
    return status;
}

void
pack_rowmap_unfetch(struct pack_rowmap *rows)
{
    for (size_t i = 0; i < rows->n_files; i++) {
        pack_fetch_close(&rows->files[i].fetch);
        if (rows->files[i].fd >= 0)
            close(rows->files[i].fd);
        rows->files[i].fd = -1;
    }
}

void
pack_rowmap_done(struct pack_rowmap *rows)
{
    pack_rowmap_unfetch(rows);
    bool is_listed = false;
    for (size_t i = 0; i < rows->n_files; i++) {
        is_listed = is_listed || rows->files[i].map == rows->whole;
        pack_chunkmap_close(rows->files[i].map);
    }
    if (!is_listed)
        pack_chunkmap_close(rows->whole);
    free(rows->files);
    free(rows->parts);
    free(rows->listed_rows);
    *rows = (struct pack_rowmap){ .whole = NULL };
}

uint64_t
pack_rowmap_bytes(const struct pack_rowmap *rows)
{
    uint64_t bytes = rows->n_files * sizeof *rows->files + rows->n_parts * sizeof *rows->parts;
    for (size_t i = 0; i < rows->n_files; i++)
        bytes += pack_chunkmap_bytes(rows->files[i].map);
    return bytes;
}

/* ------------------------------------------------------------------ looking up */

const struct pack_rowmap_part *
pack_rowmap_row(const struct pack_rowmap *rows, uint64_t row)
{
    size_t low = 0, high = rows->n_parts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rows->parts[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return &rows->parts[low];
}

const struct pack_rowmap_part *
pack_rowmap_part(const struct pack_rowmap *rows, uint64_t number)
{
    size_t low = 0, high = rows->n_parts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rows->parts[middle].first_chunk <= number)
            low = middle;
        else
            high = middle;
    }
    return &rows->parts[low];
}

enum pack_chunk_kind
pack_rowmap_chunk(const struct pack_rowmap *rows, uint64_t number,
                  const struct pack_rowmap_file **file, struct pack_chunk *chunk)
{
    const struct pack_rowmap_part *part = pack_rowmap_part(rows, number);
    *file = &rows->files[part->file];
    return pack_chunkmap_chunk((*file)->map, number - part->first_chunk + part->file_chunk,
                               chunk);
}
