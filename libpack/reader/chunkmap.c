/*
 * The file is looked at before HDF5 lists its chunks and again afterwards: what was changed
 * in between has another size or time. HDF5 closes the file before anything is read, so that
 * no lock of its stays behind.
 */
#include "libpack/reader/chunkmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/base/fd.h"
#include "libpack/base/size.h"
#include "libpack/hdf5/filter.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_raw.h"
#include "libpack/hdf5/plugin_find.h"
#include "libpack/model/grid.h"

enum { LISTED_AT_ONCE = 1 << 16 };

static void
note_stat(struct pack_chunkmap_file *file, const struct stat *st)
{
    file->device = st->st_dev;
    file->inode = st->st_ino;
    file->size_bytes = (uint64_t)st->st_size;
    file->mtime_ns = pack_fd_mtime_ns(st);
}

enum pack_status
pack_chunkmap_check(const struct pack_chunkmap *map, int fd, struct pack_error *err)
{
    const struct pack_chunkmap_file *then = &map->file;
    struct pack_chunkmap_file now = { .name = NULL };
    struct stat st;
    if ((fd >= 0 ? fstat(fd, &st) : stat(then->name, &st)) != 0)
        return pack_fail_errno(err, errno, "cannot look at '%s'", then->name);
    note_stat(&now, &st);
    if (now.device == then->device && now.inode == then->inode &&
        now.size_bytes == then->size_bytes && now.mtime_ns == then->mtime_ns)
        return PACK_OK;
    return pack_fail(err, PACK_ERR_CHANGED, "'%s' was %s since it was opened", then->name,
                     now.device != then->device || now.inode != then->inode ? "replaced"
                     : now.size_bytes < then->size_bytes                    ? "cut short"
                                                         : "written to");
}

/* ------------------------------------------------------------------ opening */

static bool
is_plain(const struct pack_type *type)
{
    switch (type->class_id) {
    case PACK_TYPE_VLEN:
    case PACK_TYPE_REFERENCE:
    case PACK_TYPE_COMPOUND:
    case PACK_TYPE_ARRAY:
    case PACK_TYPE_OTHER: return false; /* may hold pointers into the file's heaps */
    default: return !type->is_variable && type->bytes > 0;
    }
}

static enum pack_status
check_samples(const struct pack_facts *facts, struct pack_error *err)
{
    char type[PACK_TYPE_TEXT_MAX];
    if (!is_plain(&facts->type))
        return pack_fail(err, PACK_ERR_UNSUPPORTED,
                         "'%s' holds elements of type %s; only numbers, bits, texts of fixed "
                         "size and opaque values can be read",
                         facts->path, pack_type_format(&facts->type, type));
    if (facts->space != PACK_SPACE_SIMPLE || facts->extent.rank == 0 ||
        facts->n_elements == 0)
        return pack_fail(err, PACK_ERR_UNSUPPORTED, "'%s' has no samples", facts->path);
    return PACK_OK;
}

/* Says why HDF5 has to read it; empty when it need not. */
static void
note_unmapped(struct pack_chunkmap *map)
{
    const struct pack_facts *facts = &map->facts;
    uint32_t id;
    if (facts->layout == PACK_LAYOUT_VIRTUAL)
        snprintf(map->unmapped, sizeof map->unmapped, "a virtual dataset");
    else if (facts->n_external > 0)
        snprintf(map->unmapped, sizeof map->unmapped, "stored in %llu external file%s",
                 (unsigned long long)facts->n_external, facts->n_external > 1 ? "s" : "");
    else if (!pack_plugins_find(&facts->pipeline, &map->plugins, &id)) {
        static const uint32_t last_own = 255; /* of HDF5, which comes with them */
        const char *name = pack_filter_name(id);
        pack_filter_need(id, map->unmapped);
        if (id <= last_own && name)
            snprintf(map->unmapped, sizeof map->unmapped,
                     "HDF5 alone decodes filter %u (%s)", id, name);
    }
}

/* Chunks of contiguous data: as many whole indexes of axis 0 as make about a row. */
static struct pack_shape
row_shape(const struct pack_facts *facts)
{
    struct pack_shape chunk = facts->extent;
    uint64_t index_bytes = facts->logical_bytes / facts->extent.extent[0];
    uint64_t n =
        index_bytes < PACK_CHUNKMAP_ROW_BYTES ? PACK_CHUNKMAP_ROW_BYTES / index_bytes : 1;
    chunk.extent[0] = n < facts->extent.extent[0] ? n : facts->extent.extent[0];
    return chunk;
}

static enum pack_status
set_grid(struct pack_chunkmap *map, struct pack_error *err)
{
    const struct pack_facts *facts = &map->facts;
    uint64_t end;
    if (facts->logical_bytes == UINT64_MAX)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "'%s' has more bytes than 64 bits can count", facts->path);
    struct pack_shape chunk =
        facts->layout == PACK_LAYOUT_CHUNKED ? facts->chunk : row_shape(facts);
    if (facts->contiguous_address != UINT64_MAX &&
        !pack_size_add(facts->contiguous_address, facts->logical_bytes, &end))
        return pack_fail(err, PACK_ERR_FORMAT, "'%s' lies at %llu, beyond any file",
                         facts->path, (unsigned long long)facts->contiguous_address);
    return pack_grid_init(&map->grid, &facts->extent, &chunk, facts->type.bytes, err);
}

/* What only HDF5 knows, of an open file. */
static enum pack_status
read_metadata(struct pack_chunkmap *map, int64_t h5, const char *path,
              struct pack_error *err)
{
    struct pack_facts *facts = &map->facts;
    struct stat st;
    enum pack_status status = pack_facts_read(h5, path, facts, err);
    if (status == PACK_OK)
        status = check_samples(facts, err);
    if (status == PACK_OK)
        status = set_grid(map, err);
    if (status == PACK_OK)
        status = pack_h5_data_file(h5, path, &map->file.name, err);
    if (status != PACK_OK)
        return status;
    if (stat(map->file.name, &st) != 0)
        return pack_fail_errno(err, errno, "cannot look at '%s'", map->file.name);
    note_stat(&map->file, &st);
    note_unmapped(map);
    map->fill = calloc(1, facts->type.bytes);
    if (!map->fill)
        return pack_fail_memory(err, "fill value");
    status = pack_h5_raw_fill(h5, path, facts, map->fill, err);
    if (status != PACK_OK || facts->layout != PACK_LAYOUT_COMPACT)
        return status;
    if (facts->stored_bytes < facts->logical_bytes) /* HDF5 1.x reads on behind it */
        return pack_fail(err, PACK_ERR_FORMAT, "'%s' is damaged: it has %llu bytes of %llu",
                         path, (unsigned long long)facts->stored_bytes,
                         (unsigned long long)facts->logical_bytes);
    map->compact = calloc(1, facts->logical_bytes);
    if (!map->compact)
        return pack_fail_memory(err, "compact data");
    return pack_h5_raw_data(h5, path, map->compact, err);
}

/* Before HDF5 looks for so many chunks that it takes a while; of fewer, whoever needs memory for
 * more than them says how much that is. */
static enum pack_status
check_memory(const struct pack_chunkmap *map, const char *file, const char *path,
             uint64_t memory_bytes, struct pack_error *err)
{
    char limit[PACK_BYTES_TEXT_MAX], least[PACK_BYTES_TEXT_MAX];
    uint64_t n = map->facts.n_chunks_total, bytes;
    if (!pack_size_mul(n, sizeof(struct pack_chunk), &bytes))
        bytes = UINT64_MAX;
    if (memory_bytes == 0 || bytes <= memory_bytes || n <= LISTED_AT_ONCE)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_MEMORY, "memory_bytes",
                           "%s do not hold where the %" PRIu64 " chunks of '%.200s:/%.200s' "
                           "lie, which takes %s",
                           pack_bytes_format(memory_bytes, limit), n, file,
                           path + strspn(path, "/"), pack_bytes_format(bytes, least));
}

static enum pack_status
read_index(struct pack_chunkmap *map, const char *file, const char *path,
           const struct pack_chunkmap_limits *limits, struct pack_error *err)
{
    struct pack_chunk chunk;
    enum pack_status status = check_memory(map, file, path, limits->memory_bytes, err);
    if (status == PACK_OK)
        status = pack_h5_chunks_list(file, path, &map->facts, 0, limits->watch, &map->index,
                                     err);
    for (uint64_t i = 0; i < map->index.n_chunks && status == PACK_OK; i++) {
        if (pack_chunkmap_chunk(map, i, &chunk) != PACK_CHUNK_CODED)
            continue;
        map->n_coded++;
        if (chunk.stored_bytes > map->stored_max_bytes)
            map->stored_max_bytes = chunk.stored_bytes;
    }
    return status;
}

enum pack_status
pack_chunkmap_open(const char *file, const char *path,
                   const struct pack_chunkmap_limits *limits, struct pack_chunkmap **out,
                   struct pack_error *err)
{
    static const struct pack_chunkmap_limits none;
    int64_t h5 = -1;
    struct pack_chunkmap *map = calloc(1, sizeof *map);
    if (!map)
        return pack_fail_memory(err, "chunk map");
    enum pack_status status = pack_h5_open(file, NULL, &h5, err);
    if (status == PACK_OK) {
        status = read_metadata(map, h5, path, err);
        pack_h5_close(h5);
        if (status != PACK_OK)
            pack_error_prefix(err, status, "'%s'", file);
    }
    if (status == PACK_OK && map->facts.layout == PACK_LAYOUT_CHUNKED &&
        map->unmapped[0] == '\0')
        status = read_index(map, file, path, limits ? limits : &none, err);
    if (status == PACK_OK)
        status = pack_chunkmap_check(map, -1, err);
    if (status != PACK_OK) {
        pack_chunkmap_close(map);
        return status;
    }
    *out = map;
    return PACK_OK;
}

void
pack_chunkmap_close(struct pack_chunkmap *map)
{
    if (!map)
        return;
    pack_chunkindex_done(&map->index);
    free(map->compact);
    free(map->fill);
    free(map->file.name);
    free(map);
}

bool
pack_chunkmap_stretch(struct pack_chunkmap *map, uint64_t n_rows)
{
    struct pack_facts *facts = &map->facts;
    uint64_t row_elements = facts->n_elements / facts->extent.extent[0];
    if (!pack_size_mul(n_rows, row_elements, &facts->n_elements) ||
        !pack_size_mul(facts->n_elements, facts->type.bytes, &facts->logical_bytes))
        return false;
    facts->extent.extent[0] = n_rows;
    facts->layout = PACK_LAYOUT_VIRTUAL;
    facts->contiguous_address = UINT64_MAX;
    facts->n_external = 0;
    map->unmapped[0] = '\0';
    map->n_coded = 0;
    pack_chunkindex_done(&map->index);
    free(map->compact);
    map->compact = NULL;
    return set_grid(map, NULL) == PACK_OK;
}

uint64_t
pack_chunkmap_bytes(const struct pack_chunkmap *map)
{
    return sizeof *map + map->index.n_chunks * sizeof *map->index.chunks +
           (map->compact ? map->facts.logical_bytes : 0) + map->facts.type.bytes;
}

/* ------------------------------------------------------------------- chunks */

/* HDF5 stores some chunks as they are although the dataset has filters. */
static bool
is_unfiltered(const struct pack_chunkmap *map, const struct pack_chunk *chunk)
{
    int n = map->facts.pipeline.n;
    uint64_t all = (UINT64_C(1) << n) - 1, coords[PACK_RANK_MAX];
    if ((chunk->filter_mask & all) == all)
        return true;
    if (!map->facts.edge_chunks_unfiltered)
        return false;
    pack_grid_coords(&map->grid, chunk->number, coords);
    return pack_grid_is_edge(&map->grid, coords);
}

enum pack_chunk_kind
pack_chunkmap_chunk(const struct pack_chunkmap *map, uint64_t number,
                    struct pack_chunk *chunk)
{
    const struct pack_facts *facts = &map->facts;
    if (facts->layout == PACK_LAYOUT_CHUNKED) {
        *chunk = map->index.chunks[number];
        return chunk->address_bytes == PACK_CHUNK_MISSING ? PACK_CHUNK_FILLED
               : is_unfiltered(map, chunk)                ? PACK_CHUNK_RAW
                                                          : PACK_CHUNK_CODED;
    }
    *chunk = (struct pack_chunk){ .number = number,
                                  .address_bytes = number * map->grid.chunk_bytes,
                                  .stored_bytes = map->grid.chunk_bytes };
    if (map->compact)
        return PACK_CHUNK_HELD;
    if (facts->contiguous_address == UINT64_MAX)
        return PACK_CHUNK_FILLED;
    chunk->address_bytes += facts->contiguous_address;
    return PACK_CHUNK_RAW;
}
