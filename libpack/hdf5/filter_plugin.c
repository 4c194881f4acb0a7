/*
 * The function of a filter gets a buffer from malloc, frees it as it likes and leaves one of
 * its own; HDF5's C library and a plugin's are the same here:
 *
 *     size_t call(flags, cd_nelmts, cd_values, nbytes, &buf_size, &buf)   0: it failed
 *
 * A plugin that calls HDF5 itself is called by one thread at a time. So are those whose codecs
 * keep a state between calls. That holds for all readers of the process, as the plugin is one
 * for all of them: the lock is the only variable that the library has.
 *
 * Blosc's plugin calls the function of c-blosc that has a lock and a pool of threads. Beside
 * it there is one without, which decodes into the room that is there; what it cannot decode,
 * of a codec that this c-blosc was built without for instance, the plugin tries.
 *
 * The plugin of bzip2 waits for ever for the end of a stream that is cut, and takes any memory
 * for one that goes on; libbz2 itself does neither.
 */
#include "libpack/hdf5/filter_plugin.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/filter_claims.h"
#include "libpack/hdf5/hdf5_versions.h"

static pthread_mutex_t one_plugin_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static enum pack_status
put(const void *in, size_t size, struct pack_plugin_buffer *buffer, struct pack_error *err)
{
    if (buffer->capacity < size || !buffer->data) {
        free(buffer->data);
        buffer->capacity = 0;
        buffer->data = malloc(size ? size : 1);
        if (!buffer->data)
            return pack_fail_memory(err, "filter buffer");
        buffer->capacity = size;
    }
    memcpy(buffer->data, in, size);
    return PACK_OK;
}

/* What the header says of the stored size was compared with it: see filter_claims.h. */
static bool
decode_blosc(const struct pack_plugin_blosc *blosc, struct pack_block_room to,
             struct pack_block *block)
{
    const unsigned char *size = block->data + 12;
    size_t bytes = 0, stored = size[0] | size[1] << 8 | size[2] << 16 | (size_t)size[3] << 24;
    if (blosc->validate(block->data, stored, &bytes) < 0 || bytes > to.capacity ||
        blosc->decompress(block->data, to.data, bytes, 1) != (int)bytes)
        return false;
    *block = (struct pack_block){ to.data, bytes };
    return true;
}

static enum pack_status
fail(const struct pack_filter *filter, struct pack_error *err)
{
    const char *name = pack_filter_name(filter->id);
    return pack_fail(err, PACK_ERR_FORMAT, "filter %u%s%s%s cannot decode it",
                     (unsigned)filter->id, name ? " (" : "", name ? name : "",
                     name ? ")" : "");
}

/* libbz2 does not write to what it decodes, whatever its prototype says. */
static bool
decode_bzip2(const struct pack_plugin *plugin, struct pack_block_room to,
             struct pack_block *block)
{
    unsigned bytes = to.capacity < UINT_MAX ? (unsigned)to.capacity : UINT_MAX;
    if (block->size > UINT_MAX ||
        plugin->bunzip2((char *)to.data, &bytes, (char *)(uintptr_t)block->data,
                        (unsigned)block->size, 0, 0) != 0)
        return false;
    *block = (struct pack_block){ to.data, bytes };
    return true;
}

/* By its own function: what it makes is left in *buffer. */
static enum pack_status
decode_call(const struct pack_plugin *plugin, const struct pack_filter *filter,
            struct pack_block in, struct pack_plugin_buffer *buffer, size_t *made,
            struct pack_error *err)
{
    unsigned cd[PACK_FILTER_CD_MAX];
    H5Z_func_t call;
    enum pack_status status = put(in.data, in.size, buffer, err);
    if (status != PACK_OK)
        return status;
    memcpy(&call, &plugin->call, sizeof call);
    for (uint32_t k = 0; k < filter->n_cd; k++)
        cd[k] = filter->cd[k];
    if (plugin->alone)
        pthread_mutex_lock(&one_plugin_at_a_time);
    *made = call(filter->flags | H5Z_FLAG_REVERSE, filter->n_cd, cd, in.size, &buffer->capacity,
                 &buffer->data);
    if (plugin->alone)
        pthread_mutex_unlock(&one_plugin_at_a_time);
    return *made == 0 || *made > buffer->capacity ? fail(filter, err) : PACK_OK;
}

enum pack_status
pack_plugin_decode(const struct pack_plugin *plugin, const struct pack_filter *filter,
                   struct pack_block_room to, struct pack_plugin_buffer *buffer,
                   struct pack_block *block, struct pack_error *err)
{
    size_t made = 0;
    enum pack_status status = pack_claims_check(filter, *block, to.capacity, err);
    if (status != PACK_OK)
        return status;
    if (plugin->blosc.decompress && decode_blosc(&plugin->blosc, to, block))
        return PACK_OK;
    if (plugin->bunzip2 && decode_bzip2(plugin, to, block))
        return PACK_OK;
    if (!plugin->call)
        return fail(filter, err);
    status = decode_call(plugin, filter, *block, buffer, &made, err);
    if (status != PACK_OK)
        return status;
    if (made > to.capacity)
        return pack_fail(err, PACK_ERR_FORMAT, "decodes to %zu bytes, of %zu at most", made,
                         to.capacity);
    memcpy(to.data, buffer->data, made);
    *block = (struct pack_block){ to.data, made };
    return PACK_OK;
}
