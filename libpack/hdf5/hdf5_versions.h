/* hdf5.h, included here alone, and what differs between HDF5's versions. Not for use outside
 * this folder and its tests. */
#ifndef LIBPACK_HDF5_VERSIONS_H
#define LIBPACK_HDF5_VERSIONS_H

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h> /* H5FD_class_t moved here */
#endif

/*
 * Reads a stored chunk as it is into `capacity` bytes at buffer. From HDF5 2.0 on the
 * library checks the capacity itself; before, it trusts it.
 */
static inline herr_t
pack_h5_read_chunk(hid_t dataset, const hsize_t *offset, uint32_t *filter_mask,
                   void *buffer, size_t capacity)
{
#if H5_VERSION_GE(2, 0, 0)
    return H5Dread_chunk2(dataset, H5P_DEFAULT, offset, filter_mask, buffer, &capacity);
#else
    (void)capacity;
    return H5Dread_chunk(dataset, H5P_DEFAULT, offset, filter_mask, buffer);
#endif
}

#endif
