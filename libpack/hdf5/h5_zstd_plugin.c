/* What HDF5 looks up in a shared object that it finds in HDF5_PLUGIN_PATH. Not part of
 * libpack: linked into the plugin only. */
#include <H5PLextern.h>

#include "libpack/hdf5/h5_parts.h"

H5PL_type_t
H5PLget_plugin_type(void)
{
    return H5PL_TYPE_FILTER;
}

const void *
H5PLget_plugin_info(void)
{
    return &pack_h5_zstd_class;
}
