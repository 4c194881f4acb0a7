/* All of libpack: image folders to HDF5 datasets, HDF5's chunk cache as a model, advice. */
#ifndef LIBPACK_LIBPACK_H
#define LIBPACK_LIBPACK_H

#include <libpack/advise.h>
#include <libpack/cachesim.h>
#include <libpack/convert.h>
#include <libpack/dataset.h>
#include <libpack/image.h>
#include <libpack/pattern.h>
#include <libpack/profile.h>
#include <libpack/reader.h>
#include <libpack/shape.h>
#include <libpack/source.h>
#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The release of the library that is running, "0.1.0". Until 1.0 every release may change
 * functions and structs, and has a soname of its own: a program runs with the release it
 * was built with, and is built again for the next.
 */
const char *pack_version(void);

#ifdef __cplusplus
}
#endif
#endif
