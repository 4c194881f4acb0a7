/* The rows of the table of engines. Not for use outside libpack. */
#ifndef LIBPACK_ENGINE_PARTS_H
#define LIBPACK_ENGINE_PARTS_H

#include "libpack/bench/engine.h"

extern const struct pack_engine_ops pack_engine_hdf5;
extern const struct pack_engine_ops pack_engine_images;
extern const struct pack_engine_ops pack_engine_libpack;
extern const struct pack_engine_ops pack_engine_pread;
extern const struct pack_engine_ops pack_engine_mmap;
extern const struct pack_engine_ops pack_engine_direct;

#endif
