/* What the HDF5 filter in h5_zstd.c needs beyond pipelines. */
#ifndef LIBPACK_FILTER_PARTS_H
#define LIBPACK_FILTER_PARTS_H

#include <libpack/dataset.h>

/* Bytes that a zstd frame says it decodes to; 0 when it does not say, is empty or is no
 * frame. */
uint64_t pack_filter_zstd_size(const void *data, size_t size);

#endif
