/* Whether the numbers of a dataset are laid out as machines have them. */
#ifndef LIBPACK_H5_NUMBER_H
#define LIBPACK_H5_NUMBER_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Integers all of whose bits count, and floats of 2, 4 and 8 bytes as IEEE 754 has them, in
 * either order. False too for what cannot be opened. HDF5 is used from one thread at a
 * time. */
bool pack_h5_is_plain_number(const char *file, const char *path);

#ifdef __cplusplus
}
#endif
#endif
