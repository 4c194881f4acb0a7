/*
 * The child walks all datasets and sends a map; each stretch of the file belongs to whom most
 * of its data is.
 */
#include "libpack/hdf5/file_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_chunks.h"
#include "libpack/hdf5/h5_parts.h"

/* ----------------------------------------------------------------- the map */

/* What is known of a stretch so far. */
struct tally {
    double bytes, most; /* of all datasets; of `set` */
    double own, order;  /* of the dataset being added, and its bytes times their places */
    uint32_t set;
    double place; /* of the data of `set` */
};

struct pack_file_mapper {
    struct pack_file_map map; /* without its cells */
    size_t first, end;        /* cells in which the dataset being added has data */
    uint64_t set_bytes;
    struct tally tally[PACK_FILE_MAP_CELLS];
};

enum pack_status
pack_file_mapper_open(uint64_t file_bytes, struct pack_file_mapper **out,
                      struct pack_error *err)
{
    struct pack_file_mapper *m = calloc(1, sizeof *m);
    if (!m)
        return pack_fail_memory(err, "a map");
    uint64_t cell = file_bytes / PACK_FILE_MAP_CELLS + (file_bytes % PACK_FILE_MAP_CELLS != 0);
    m->map.file_bytes = file_bytes;
    m->map.cell_bytes = cell ? cell : 1;
    m->map.n_cells = (uint32_t)(file_bytes / m->map.cell_bytes +
                                (file_bytes % m->map.cell_bytes != 0));
    m->first = PACK_FILE_MAP_CELLS;
    *out = m;
    return PACK_OK;
}

void
pack_file_mapper_add(struct pack_file_mapper *m, uint64_t address, uint64_t bytes,
                     double order)
{
    uint64_t cell = m->map.cell_bytes;
    if (address >= m->map.file_bytes || bytes == 0)
        return;
    if (bytes > m->map.file_bytes - address)
        bytes = m->map.file_bytes - address;
    uint64_t end = address + bytes;
    m->set_bytes += bytes;
    for (uint64_t i = address / cell; i * cell < end; i++) {
        uint64_t from = i * cell > address ? i * cell : address;
        uint64_t to = (i + 1) * cell < end ? (i + 1) * cell : end;
        m->tally[i].own += (double)(to - from);
        m->tally[i].order += (double)(to - from) * order;
        m->first = i < m->first ? (size_t)i : m->first;
        m->end = i >= m->end ? (size_t)i + 1 : m->end;
    }
}

/* Into the list of the largest, if it is one of them. */
static void
note_large(struct pack_file_map *map, const char *path, uint64_t bytes)
{
    int i = PACK_FILE_MAP_SETS;
    while (i > 0 && map->largest[i - 1].bytes < bytes)
        i--;
    if (i == PACK_FILE_MAP_SETS)
        return;
    memmove(&map->largest[i + 1], &map->largest[i],
            (size_t)(PACK_FILE_MAP_SETS - 1 - i) * sizeof map->largest[0]);
    map->largest[i].number = map->n_sets;
    map->largest[i].bytes = bytes;
    strncpy(map->largest[i].path, path, sizeof map->largest[i].path - 1);
    map->largest[i].path[sizeof map->largest[i].path - 1] = '\0';
}

void
pack_file_mapper_end_set(struct pack_file_mapper *m, const char *path)
{
    if (m->set_bytes > 0) {
        m->map.n_sets++;
        m->map.data_bytes += m->set_bytes;
        note_large(&m->map, path, m->set_bytes);
    }
    for (size_t i = m->first; i < m->end; i++) {
        struct tally *t = &m->tally[i];
        t->bytes += t->own;
        if (t->own > t->most) {
            t->most = t->own;
            t->set = m->map.n_sets;
            t->place = t->order / t->own;
        }
        t->own = t->order = 0;
    }
    m->first = PACK_FILE_MAP_CELLS;
    m->end = 0;
    m->set_bytes = 0;
}

static uint16_t
share(double part)
{
    return part <= 0 ? 0 : part >= 1 ? UINT16_MAX : (uint16_t)(part * UINT16_MAX + 0.5);
}

void
pack_file_mapper_map(const struct pack_file_mapper *m, struct pack_file_map *map)
{
    *map = m->map;
    for (uint32_t i = 0; i < map->n_cells; i++) {
        const struct tally *t = &m->tally[i];
        uint64_t left = map->file_bytes - i * map->cell_bytes;
        double length = (double)(left < map->cell_bytes ? left : map->cell_bytes);
        map->cell[i] = (struct pack_file_map_cell){ .set = t->set,
                                                    .data = share(t->bytes / length),
                                                    .order = share(t->place) };
    }
}

void
pack_file_mapper_close(struct pack_file_mapper *m)
{
    free(m);
}

/* ---------------------------------------------------------------- the child */

struct mapping {
    const char *path;
    struct pack_h5_guard *guard;
    int64_t file;
    struct pack_file_mapper *mapper;
    struct pack_facts facts;
};

static enum pack_status
add_chunks(struct mapping *m, const char *dataset, struct pack_error *err)
{
    struct pack_chunkindex index;
    pack_h5_guard_note(m->guard, "listing the chunks of '/%s'", dataset);
    enum pack_status status =
        pack_h5_chunks_list(m->path, dataset, &m->facts, 0, NULL, &index, err);
    if (status != PACK_OK)
        return status;
    double last = index.n_chunks > 1 ? (double)(index.n_chunks - 1) : 1;
    for (uint64_t i = 0; i < index.n_chunks; i++)
        if (index.chunks[i].address_bytes != PACK_CHUNK_MISSING)
            pack_file_mapper_add(m->mapper, index.chunks[i].address_bytes,
                                 index.chunks[i].stored_bytes, (double)i / last);
    pack_chunkindex_done(&index);
    return PACK_OK;
}

/* In one piece; as it is in order, each part has its place. */
static void
add_piece(struct mapping *m)
{
    enum { PARTS = PACK_FILE_MAP_CELLS };
    uint64_t bytes = m->facts.stored_bytes, part = bytes / PARTS + 1;
    for (uint64_t at = 0; at < bytes && m->facts.contiguous_address < UINT64_MAX - at; at += part)
        pack_file_mapper_add(m->mapper, m->facts.contiguous_address + at,
                             bytes - at < part ? bytes - at : part,
                             (double)at / (double)bytes);
}

/* What HDF5 cannot read of is left out: rules say so. */
static enum pack_status
add_dataset(void *context, const char *dataset, struct pack_error *err)
{
    struct mapping *m = context;
    (void)err;
    pack_h5_guard_note(m->guard, "reading '/%s'", dataset);
    if (pack_facts_read(m->file, dataset, &m->facts, NULL) != PACK_OK)
        return PACK_OK;
    if (m->facts.layout == PACK_LAYOUT_CHUNKED)
        (void)add_chunks(m, dataset, NULL);
    else if (m->facts.layout == PACK_LAYOUT_CONTIGUOUS && m->facts.n_external == 0)
        add_piece(m);
    pack_file_mapper_end_set(m->mapper, dataset);
    return PACK_OK;
}

static enum pack_status
walk(void *context, struct pack_h5_guard *guard, struct pack_error *err)
{
    struct mapping *m = context;
    m->guard = guard;
    struct pack_file_map *map = malloc(sizeof *map);
    enum pack_status status = map ? pack_h5_register_zstd(err) : pack_fail_memory(err, "a map");
    if (status == PACK_OK)
        status = pack_h5_open(m->path, NULL, &m->file, err);
    if (status == PACK_OK) {
        status = pack_h5_datasets(m->file, add_dataset, m, err);
        pack_h5_guard_note(guard, "closing it");
        pack_h5_close(m->file);
    }
    if (status == PACK_OK) {
        pack_file_mapper_map(m->mapper, map);
        status = pack_h5_guard_send(guard, map, sizeof *map, err);
    }
    free(map);
    return status;
}

/* --------------------------------------------------------------- the parent */

/* A child whose heap the file has damaged may send anything. */
static bool
is_sane(struct pack_file_map *map, uint64_t file_bytes)
{
    for (int i = 0; i < PACK_FILE_MAP_SETS; i++)
        map->largest[i].path[sizeof map->largest[i].path - 1] = '\0';
    return map->file_bytes == file_bytes && map->cell_bytes > 0 &&
           map->n_cells <= PACK_FILE_MAP_CELLS;
}

enum pack_status
pack_file_map_make(const char *path, const struct pack_h5_guard_limits *limits,
                   struct pack_file_map *map, struct pack_error *err)
{
    struct pack_buf sent = { 0 };
    struct stat st;
    if (stat(path, &st) != 0)
        return pack_fail_errno(err, errno, "cannot open '%s'", path);
    struct mapping *m = calloc(1, sizeof *m);
    if (!m)
        return pack_fail_memory(err, "a map");
    m->path = path;
    enum pack_status status = pack_file_mapper_open((uint64_t)st.st_size, &m->mapper, err);
    if (status == PACK_OK)
        status = pack_h5_guard_gather(path, limits, walk, m, &sent, err);
    if (status == PACK_OK && sent.size == sizeof *map)
        memcpy(map, sent.data, sizeof *map);
    if (status == PACK_OK &&
        (sent.size != sizeof *map || !is_sane(map, (uint64_t)st.st_size)))
        status = pack_fail(err, PACK_ERR_FORMAT, "'%s' cannot be mapped", path);
    pack_file_mapper_close(m->mapper);
    free(m);
    pack_buf_done(&sent);
    return status;
}
