/*
 * Of a block of an unfiltered chunk, runs are read one by one, or rows of them with what
 * lies between, whichever is less work: a call costs about as much as copying four pages.
 *
 *     ..####......####......####..     a row of runs: read from the first to the last,
 *       <---------------------->       or three times
 */
#include "libpack/reader/chunkload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/clock.h"
#include "libpack/base/large.h"
#include "libpack/base/size.h"
#include "libpack/hdf5/filter.h"
#include "libpack/model/grid.h"

/* --------------------------------------------------------------- its memory */

/* No encoder makes more of a chunk than this; what the file claims beyond is not read. */
static uint64_t
stored_limit(const struct pack_chunkmap *map)
{
    return pack_pipeline_stored_bound(&map->facts.pipeline, (size_t)map->grid.chunk_bytes);
}

uint64_t
pack_chunkload_room_bytes(const struct pack_chunkmap *map)
{
    uint64_t limit = stored_limit(map);
    uint64_t stored = map->stored_max_bytes < limit ? map->stored_max_bytes : limit;
    return stored > PACK_CHUNKLOAD_SPAN_BYTES ? stored : PACK_CHUNKLOAD_SPAN_BYTES;
}

uint64_t
pack_chunkload_bytes(const struct pack_chunkmap *map)
{
    static const uint64_t bzip2_bytes = 1 << 22;
    uint64_t codec_bytes = 1 << 18; /* of zlib's and zstd's decoders */
    uint64_t scratch, total;
    if (map->n_coded == 0)
        return pack_chunkload_room_bytes(map);
    uint64_t n = map->facts.pipeline.n > 1 ? 2 : 0;
    if (!pack_pipeline_is_decoded(&map->facts.pipeline, NULL))
        n += 2; /* what a plugin gets, and what it makes of it */
    for (int i = 0; i < map->facts.pipeline.n; i++)
        if (map->plugins.filter[i].bunzip2)
            codec_bytes += bzip2_bytes;
    if (!pack_size_mul(stored_limit(map), n, &scratch) ||
        !pack_size_add(scratch, pack_chunkload_room_bytes(map) + codec_bytes, &total))
        return UINT64_MAX;
    return total;
}

static void *
allocate_room(const struct pack_fetch *fetch, size_t bytes)
{
    size_t align = fetch->align, all = bytes + pack_fetch_margin_bytes(fetch);
    return align ? aligned_alloc(align, all / align * align) : pack_large_alloc(all);
}

enum pack_status
pack_chunkload_init(struct pack_chunkload *load, const struct pack_chunkmap *map,
                    const struct pack_fetch *fetch, struct pack_error *err)
{
    struct pack_chunkload made = { .map = map, .fetch = fetch };
    enum pack_status status = pack_filter_ctx_new(&made.ctx, err);
    if (status != PACK_OK)
        return status;
    pack_filter_ctx_use(made.ctx, &map->plugins);
    made.room_bytes = (size_t)pack_chunkload_room_bytes(map);
    made.room = allocate_room(fetch, made.room_bytes);
    if (!made.room) {
        pack_chunkload_done(&made);
        return pack_fail_memory(err, "room for stored chunks");
    }
    *load = made;
    return PACK_OK;
}

void
pack_chunkload_done(struct pack_chunkload *load)
{
    pack_filter_ctx_free(load->ctx);
    free(load->room);
    *load = (struct pack_chunkload){ .map = NULL };
}

void
pack_chunkload_turn(struct pack_chunkload *load, const struct pack_chunkmap *map,
                    const struct pack_fetch *fetch)
{
    if (load->fetch != fetch || load->map != map)
        load->window_bytes = 0;
    load->map = map;
    load->fetch = fetch;
    pack_filter_ctx_use(load->ctx, &map->plugins);
}

/* ------------------------------------------------------------------ reading */

/* "'x.h5:/images', chunk (12,0,0)" in front of the sentence. */
static enum pack_status
name_chunk(const struct pack_chunkmap *map, uint64_t number, enum pack_status status,
           struct pack_error *err)
{
    uint64_t coords[PACK_RANK_MAX];
    char place[PACK_SHAPE_TEXT_MAX];
    const char *path = map->facts.path + strspn(map->facts.path, "/");
    if (map->facts.layout != PACK_LAYOUT_CHUNKED)
        return pack_error_prefix(err, status, "'%s:/%s'", map->file.name, path);
    pack_grid_coords(&map->grid, number, coords);
    int used = 0;
    for (int i = 0; i < map->grid.rank; i++)
        used += snprintf(place + used, sizeof place - (size_t)used, "%s%" PRIu64,
                         i ? "," : "", coords[i]);
    return pack_error_prefix(err, status, "'%s:/%s', chunk (%s)", map->file.name, path,
                             place);
}

static enum pack_status
view_part(struct pack_chunkload *load, uint64_t address, size_t size, void *room,
          const void **data, struct pack_error *err)
{
    load->file_reads++;
    return pack_fetch_view(load->fetch, address, size, room, data, err);
}

/* Through the load's own room, which is aligned, as much at a time as it holds. */
static enum pack_status
view_aligned(struct pack_chunkload *load, uint64_t address, size_t size, void *room,
             const void **data, struct pack_error *err)
{
    const void *part;
    enum pack_status status = PACK_OK;
    if (size <= load->room_bytes)
        return view_part(load, address, size, load->room, data, err);
    for (size_t i = 0, n; i < size && status == PACK_OK; i += n) {
        n = size - i < load->room_bytes ? size - i : load->room_bytes;
        status = view_part(load, address + i, n, load->room, &part, err);
        if (status == PACK_OK)
            memcpy((unsigned char *)room + i, part, n);
    }
    *data = room;
    return status;
}

static enum pack_status
view(struct pack_chunkload *load, uint64_t address, size_t size, void *room,
     const void **data, struct pack_error *err)
{
    load->file_read_bytes += size;
    if (room == load->room || load->fetch->align)
        load->window_bytes = 0;
    uint64_t begin_ns = pack_clock_ns();
    enum pack_status status =
        load->fetch->align ? view_aligned(load, address, size, room, data, err)
                           : view_part(load, address, size, room, data, err);
    load->read_ns += pack_clock_ns() - begin_ns;
    return status;
}

void
pack_chunkload_gather(struct pack_chunkload *load, uint64_t address, uint64_t bytes)
{
    const void *data;
    if (bytes > load->room_bytes ||
        view(load, address, (size_t)bytes, load->room, &data, NULL) != PACK_OK)
        return;
    load->window = data;
    load->window_address = address;
    load->window_bytes = (size_t)bytes;
}

bool
pack_chunkload_has(const struct pack_chunkload *load, const struct pack_chunk *chunk)
{
    uint64_t offset = chunk->address_bytes - load->window_address;
    return chunk->address_bytes >= load->window_address && offset < load->window_bytes &&
           chunk->stored_bytes <= load->window_bytes - offset;
}

/* ------------------------------------------------------ out of what is there */

struct copy {
    const struct pack_strided *strided;
    int axis;
    const void *from;
    void *to;
};

static void
copy_strided(void *argument)
{
    const struct copy *copy = argument;
    pack_strided_copy(copy->strided, copy->axis, copy->from, copy->to);
}

static enum pack_status
copy_out(const struct pack_chunkload *load, const struct pack_strided *s, int axis,
         const void *from, void *to, struct pack_error *err)
{
    struct copy copy = { s, axis, from, to };
    return pack_fetch_read(load->fetch, from, copy_strided, &copy, err);
}

/* What is decoded lies in the room: codecs cannot be left where they are. */
static enum pack_status
bring_in(const struct pack_chunkload *load, struct pack_stored *stored,
         struct pack_error *err)
{
    const struct pack_strided all = { .run_bytes = stored->size };
    if (!load->fetch->mapping)
        return PACK_OK;
    enum pack_status status = copy_out(load, &all, 0, stored->data, load->room, err);
    stored->data = load->room;
    return status;
}

enum pack_status
pack_chunkload_decode(struct pack_chunkload *load, const struct pack_chunk *chunk,
                      void *out, struct pack_error *err)
{
    const struct pack_chunkmap *map = load->map;
    struct pack_stored stored = { NULL, (size_t)chunk->stored_bytes, chunk->filter_mask };
    enum pack_status status = PACK_OK;
    if (chunk->stored_bytes > load->room_bytes)
        status = pack_fail(err, PACK_ERR_FORMAT,
                           "%" PRIu64 " bytes are stored, of %" PRIu64
                           " no filter makes more than %" PRIu64,
                           chunk->stored_bytes, map->grid.chunk_bytes, stored_limit(map));
    else if (pack_chunkload_has(load, chunk))
        stored.data = load->window + (chunk->address_bytes - load->window_address);
    else
        status =
            view(load, chunk->address_bytes, stored.size, load->room, &stored.data, err);
    uint64_t begin_ns = pack_clock_ns();
    if (status == PACK_OK)
        status = bring_in(load, &stored, err);
    if (status == PACK_OK)
        status = pack_pipeline_decode(&map->facts.pipeline, load->ctx, &stored, out,
                                      (size_t)map->grid.chunk_bytes, err);
    load->decode_ns += pack_clock_ns() - begin_ns;
    return status == PACK_OK ? status : name_chunk(map, chunk->number, status, err);
}

/* Whether the axes from `axis` on are read in one piece. */
static bool
is_one_read(const struct pack_strided *s, int axis, size_t room)
{
    uint64_t span = pack_strided_span(s, axis), runs = pack_strided_runs(s, axis);
    uint64_t wanted = s->run_bytes * runs;
    return span <= room && (span - wanted) / PACK_CHUNKLOAD_GAP_BYTES <= runs;
}

/* Reads the axes from `axis` on from `address`. */
static enum pack_status
read_axes(struct pack_chunkload *load, uint64_t address, const struct pack_strided *s,
          int axis, unsigned char *to, struct pack_error *err)
{
    const void *data;
    enum pack_status status = PACK_OK;
    if (axis == s->n_axes) { /* straight to its place */
        status = view(load, address, s->run_bytes, to, &data, err);
        if (status == PACK_OK && data != to)
            status = copy_out(load, s, axis, data, to, err);
        return status;
    }
    if (is_one_read(s, axis, load->room_bytes)) {
        status = view(load, address, pack_strided_span(s, axis), load->room, &data, err);
        if (status == PACK_OK)
            status = copy_out(load, s, axis, data, to, err);
        return status;
    }
    for (uint64_t i = 0; i < s->count[axis] && status == PACK_OK; i++)
        status = read_axes(load, address + i * s->from_step[axis], s, axis + 1,
                           to + i * s->to_step[axis], err);
    return status;
}

/* Where `from` of a chunk without filters lies. They have the size of a chunk, whatever the
 * index says. */
static enum pack_status
place_raw(const struct pack_chunkload *load, const struct pack_chunk *chunk, uint64_t from,
          uint64_t *address, struct pack_error *err)
{
    uint64_t whole = load->map->grid.chunk_bytes;
    if (chunk->stored_bytes != whole)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "%" PRIu64 " bytes are stored instead of %" PRIu64,
                         chunk->stored_bytes, whole);
    if (!pack_size_add(chunk->address_bytes, from, address) ||
        !pack_size_add(*address, whole, &whole))
        return pack_fail(err, PACK_ERR_FORMAT, "it lies at %" PRIu64 ", beyond any file",
                         chunk->address_bytes);
    return PACK_OK;
}

void
pack_chunkload_count(const struct pack_strided *s, uint64_t room_bytes, uint64_t *n_reads,
                     uint64_t *bytes)
{
    uint64_t n = 1;
    int axis = 0;
    for (; axis < s->n_axes && !is_one_read(s, axis, (size_t)room_bytes); axis++)
        n *= s->count[axis];
    *n_reads += n;
    *bytes += n * pack_strided_span(s, axis);
}

static enum pack_status
read_raw(struct pack_chunkload *load, const struct pack_chunk *chunk,
         const struct pack_strided *s, unsigned char *to, struct pack_error *err)
{
    uint64_t address;
    enum pack_status status = place_raw(load, chunk, s->from, &address, err);
    if (status != PACK_OK)
        return status;
    if (pack_chunkload_has(load, chunk))
        return copy_out(load, s, 0, load->window + (address - load->window_address), to,
                        err);
    return read_axes(load, address, s, 0, to, err);
}

enum pack_status
pack_chunkload_view(struct pack_chunkload *load, enum pack_chunk_kind kind,
                    const struct pack_chunk *chunk, uint64_t from, size_t n, void *room,
                    const void **data, struct pack_error *err)
{
    const struct pack_chunkmap *map = load->map;
    struct pack_strided all = { .run_bytes = n };
    enum pack_status status = PACK_OK;
    uint64_t address = 0;
    *data = room;
    switch (kind) {
    case PACK_CHUNK_FILLED:
        pack_strided_fill(&all, map->fill, map->facts.type.bytes, room);
        break;
    case PACK_CHUNK_HELD: *data = map->compact + chunk->address_bytes + from; break;
    default:
        status = place_raw(load, chunk, from, &address, err);
        if (status == PACK_OK)
            status = view(load, address, n, room, data, err);
    }
    return status == PACK_OK ? status : name_chunk(map, chunk->number, status, err);
}

enum pack_status
pack_chunkload_copy(struct pack_chunkload *load, enum pack_chunk_kind kind,
                    const struct pack_chunk *chunk, const struct pack_strided *s,
                    void *target, struct pack_error *err)
{
    const struct pack_chunkmap *map = load->map;
    unsigned char *to = (unsigned char *)target + s->to;
    enum pack_status status = PACK_OK;
    switch (kind) {
    case PACK_CHUNK_FILLED:
        pack_strided_fill(s, map->fill, map->facts.type.bytes, target);
        break;
    case PACK_CHUNK_HELD:
        pack_strided_copy(s, 0, map->compact + chunk->address_bytes + s->from, to);
        break;
    default: status = read_raw(load, chunk, s, to, err);
    }
    return status == PACK_OK ? status : name_chunk(map, chunk->number, status, err);
}

enum pack_status
pack_chunkload_named(const struct pack_chunkload *load, const struct pack_chunk *chunk,
                     enum pack_status status, struct pack_error *err)
{
    return name_chunk(load->map, chunk->number, status, err);
}
