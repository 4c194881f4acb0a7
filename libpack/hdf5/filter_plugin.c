/*
 * The function of a filter gets a buffer from malloc, frees it as it likes and leaves one of
 * its own; HDF5's C library and a plugin's are the same here:
 *
 *     size_t call(flags, cd_nelmts, cd_values, nbytes, &buf_size, &buf)   0: it failed
 *
 * A plugin that calls HDF5 itself is called by one thread at a time. So are those whose codecs
 * keep a state between calls. That holds for all readers of the process, as the plugin is one
 * for all of them: the lock is the only variable that the library has.
 */
#include "libpack/hdf5/filter_plugin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

enum pack_status
pack_plugin_decode(const struct pack_plugins *plugins, const struct pack_filter *filter, int i,
                   const void *in, size_t *size, struct pack_plugin_buffer *buffer,
                   struct pack_error *err)
{
    const struct pack_plugin *plugin = &plugins->filter[i];
    unsigned cd[PACK_FILTER_CD_MAX];
    H5Z_func_t call;
    enum pack_status status = put(in, *size, buffer, err);
    if (status != PACK_OK)
        return status;
    memcpy(&call, &plugin->call, sizeof call);
    for (uint32_t k = 0; k < filter->n_cd; k++)
        cd[k] = filter->cd[k];
    if (plugin->alone)
        pthread_mutex_lock(&one_plugin_at_a_time);
    size_t made = call(filter->flags | H5Z_FLAG_REVERSE, filter->n_cd, cd, *size,
                       &buffer->capacity, &buffer->data);
    if (plugin->alone)
        pthread_mutex_unlock(&one_plugin_at_a_time);
    if (made == 0 || made > buffer->capacity) {
        const char *name = pack_filter_name(filter->id);
        return pack_fail(err, PACK_ERR_FORMAT, "the plugin of filter %u%s%s%s cannot decode it",
                         (unsigned)filter->id, name ? " (" : "", name ? name : "",
                         name ? ")" : "");
    }
    *size = made;
    return PACK_OK;
}
