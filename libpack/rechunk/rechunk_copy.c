/* Chunks as they are stored: grid and filters are the same, so that nothing is decoded. */
#include <stdlib.h>

#include "libpack/base/checksum.h"
#include "libpack/rechunk/rechunk_move_parts.h"

static enum pack_status
copy_chunk(struct mover *m, const struct pack_chunk *chunk, unsigned char *room,
           struct pack_error *err)
{
    struct pack_stored stored = { NULL, (size_t)chunk->stored_bytes, chunk->filter_mask };
    enum pack_status status = pack_fetch_view(&m->fetch, chunk->address_bytes, stored.size,
                                              room, &stored.data, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s:/%s'", m->params->map->file.name,
                                 m->params->map->facts.path);
    m->moved->n_loads++;
    m->moved->read_bytes += stored.size;
    struct pack_rechunk_chunk copy = { .number = chunk->number,
                                       .stored = stored,
                                       .checksum =
                                           pack_checksum(stored.data, stored.size, 0) };
    return pack_move_write_chunk(m, &copy, err);
}

enum pack_status
pack_move_copy_chunks(struct mover *m, struct pack_error *err)
{
    const struct pack_chunkmap *map = m->params->map;
    uint64_t most = 1;
    enum pack_status status = PACK_OK;
    for (uint64_t i = 0; i < map->index.n_chunks; i++)
        if (map->index.chunks[i].address_bytes != PACK_CHUNK_MISSING &&
            map->index.chunks[i].stored_bytes > most)
            most = map->index.chunks[i].stored_bytes;
    unsigned char *room = malloc(most);
    if (!room)
        return pack_fail_memory(err, "a stored chunk");
    for (uint64_t i = 0; i < map->index.n_chunks && status == PACK_OK; i++) {
        const struct pack_chunk *chunk = &map->index.chunks[i];
        status = pack_watch_check(&m->params->watch, err);
        if (status == PACK_OK && chunk->address_bytes != PACK_CHUNK_MISSING &&
            !pack_rechunk_is_done(m->params->done, chunk->number))
            status = copy_chunk(m, chunk, room, err);
        pack_move_tell(m, i + 1);
    }
    free(room);
    return status;
}
