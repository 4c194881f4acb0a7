/* Finds and opens the plugins that decode what filter.h does not. */
#ifndef LIBPACK_PLUGIN_FIND_H
#define LIBPACK_PLUGIN_FIND_H

#include "libpack/hdf5/filter_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Looks for plugins of all filters of the pipeline that filter.h does not decode: in the
 * folders where HDF5 looks, as it does, while it may load plugins. For blosc also c-blosc
 * itself, libblosc.so.1, where no plugin has it in it; for bzip2 libbz2.so.1.0 first. Files are
 * opened with what is theirs hidden from others, and stay open until the process ends, as with
 * HDF5. False when there is one without; *id (unless NULL) is its number.
 *
 * Calls HDF5: from one thread at a time.
 */
bool pack_plugins_find(const struct pack_pipeline *pipeline, struct pack_plugins *plugins,
                       uint32_t *id);

#ifdef __cplusplus
}
#endif
#endif
