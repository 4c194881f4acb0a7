/* The rows of the table of engines. Not for use outside libpack. */
#ifndef LIBPACK_ENGINE_PRIVATE_H
#define LIBPACK_ENGINE_PRIVATE_H

#include "libpack/engine.h"

extern const struct pack_engine_ops pack_engine_hdf5;
extern const struct pack_engine_ops pack_engine_images;

#endif
