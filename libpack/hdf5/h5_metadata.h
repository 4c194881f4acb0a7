/* What a file spends on describing its data. */
#ifndef LIBPACK_H5_METADATA_H
#define LIBPACK_H5_METADATA_H

#include <stdint.h>

#include "libpack/hdf5/hdf5_versions.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes of the object headers of all objects that links lead to, of what finds links, chunks
 * and attributes, of attributes of variable length (about: they are read, as many as 2^20 values
 * of one), of the superblock's extension, shared messages and lists of free space. Not the
 * superblock, and not the heaps of datasets. Objects that HDF5 cannot say it of count nothing.
 */
uint64_t pack_h5_metadata_bytes(hid_t file);

/* Bytes of a page of a file whose space is managed in pages, which data of a page and more begin
 * anew; else 0. */
uint64_t pack_h5_page_bytes(hid_t file);

#ifdef __cplusplus
}
#endif
#endif
