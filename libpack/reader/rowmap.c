/* Rows are numbered through all files, and so are the chunks of all parts. */
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
#include "libpack/hdf5/h5_raw.h"
#include "libpack/model/grid.h"

/* ------------------------------------------------------------- files and parts */

enum pack_status
pack_rowmap_add_file(struct pack_rowmap *rows, struct pack_chunkmap *map,
                     struct pack_error *err)
{
    struct pack_rowmap_file *more =
        realloc(rows->files, (rows->n_files + 1) * sizeof *rows->files);
    if (!more)
        return pack_fail_memory(err, "files");
    rows->files = more;
    rows->files[rows->n_files++] = (struct pack_rowmap_file){ .map = map, .fd = -1 };
    return PACK_OK;
}

enum pack_status
pack_rowmap_add_part(struct pack_rowmap *rows, struct pack_rowmap_part part,
                     struct pack_error *err)
{
    struct pack_rowmap_part *more =
        realloc(rows->parts, (rows->n_parts + 1) * sizeof *rows->parts);
    if (!more)
        return pack_fail_memory(err, "parts");
    rows->parts = more;
    rows->parts[rows->n_parts++] = part;
    return PACK_OK;
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
    rows->n_parts = 0;
    const struct pack_rowmap_part all = { .n_rows = rows->whole->facts.extent.extent[0] };
    return pack_rowmap_add_part(rows, all, err);
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
    enum pack_status status = pack_rowmap_add_file(rows, map, err);
    if (status != PACK_OK) {
        if (map != rows->whole) /* which has its owner */
            pack_chunkmap_close(map);
        return status;
    }
    if (map->facts.layout == PACK_LAYOUT_VIRTUAL && map->facts.n_external == 0)
        return pack_rowmap_resolve(rows, all.file, file, path, first_row, err);
    return pack_rowmap_add_part(rows, all, err);
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
    enum pack_status status = pack_chunkmap_open(file, path, rows->limits, &rows->whole, err);
    if (status == PACK_OK)
        status = pack_rowmap_add_file(rows, rows->whole, err);
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
        status = pack_chunkmap_open(files[i], path, rows->limits, &map, err);
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
                 const struct pack_chunkmap_limits *limits, struct pack_rowmap *out,
                 struct pack_error *err)
{
    struct pack_rowmap rows = { .limits = limits };
    struct rlimit limit = { .rlim_cur = 1024 };
    enum pack_status status;
    if (n > 1) {
        status = open_list(&rows, files, n, path, err);
    } else {
        status = pack_chunkmap_open(files[0], path, limits, &rows.whole, err);
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
            snprintf(rows.whole->unmapped, sizeof rows.whole->unmapped,
                     "a virtual dataset: more sources than files can be open");
    }
    if (status == PACK_OK && rows.whole->unmapped[0])
        status = forget_sources(&rows, err);
    if (status == PACK_OK)
        status = number_chunks(&rows, err);
    if (status != PACK_OK) {
        pack_rowmap_done(&rows);
        return status;
    }
    rows.limits = NULL;
    *out = rows;
    return PACK_OK;
}

/* Of a list the first file is there twice: as what all are like, and as one of them. */
static uint64_t
stored_bytes(const struct pack_rowmap *rows)
{
    uint64_t bytes = 0;
    for (size_t i = rows->listed_rows ? 1 : 0; i < rows->n_files; i++)
        if (!pack_size_add(bytes, rows->files[i].map->file.size_bytes, &bytes))
            return UINT64_MAX;
    return bytes;
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
        const struct pack_fetch_ops *way =
            ops ? ops
                : pack_fetch_best(file->fd, stored_bytes(rows),
                                  file->map->facts.pipeline.n > 0);
        if (status == PACK_OK)
            status = pack_fetch_open(&file->fetch, way, file->fd, named->size_bytes, err);
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
    free(rows->missing);
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

/* The last part that begins at `number` or before, counted in chunks or in rows. */
static const struct pack_rowmap_part *
find_part(const struct pack_rowmap *rows, uint64_t number, bool in_chunks)
{
    size_t low = 0, high = rows->n_parts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        const struct pack_rowmap_part *part = &rows->parts[middle];
        if ((in_chunks ? part->first_chunk : part->first_row) <= number)
            low = middle;
        else
            high = middle;
    }
    return &rows->parts[low];
}

const struct pack_rowmap_part *
pack_rowmap_row(const struct pack_rowmap *rows, uint64_t row)
{
    return find_part(rows, row, false);
}

const struct pack_rowmap_part *
pack_rowmap_part(const struct pack_rowmap *rows, uint64_t number)
{
    return find_part(rows, number, true);
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
