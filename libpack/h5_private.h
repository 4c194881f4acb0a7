/* The one place that includes hdf5.h, and the differences between its versions. Not for
 * use outside libpack's storage layer and its tests. */
#ifndef LIBPACK_H5_PRIVATE_H
#define LIBPACK_H5_PRIVATE_H

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h> /* H5FD_class_t moved here */
#endif

#endif
