/* What the parts of rechunking share. */
#ifndef LIBPACK_RECHUNK_PARTS_H
#define LIBPACK_RECHUNK_PARTS_H

#include "libpack/rechunk/rechunk.h"

/* Sets chunk, pipeline and verbatim of a set whose facts are there. Sentences name the
 * dataset. */
enum pack_status pack_rechunk_spec(const struct pack_rechunk_params *params,
                                   struct pack_rechunk_set *set, struct pack_error *err);

/* Sets the axes of a set whose facts are there. PACK_ERR_UNSUPPORTED where its layout cannot be
 * told. */
enum pack_status pack_rechunk_turn(const struct pack_rechunk_params *params,
                                   struct pack_rechunk_set *set, struct pack_error *err);
/* Whether its channels come to be planes. */
bool pack_rechunk_is_planes(const struct pack_rechunk_set *set);

/* Finds out by which scale a set's numbers are bytes, if that is asked for.
 * PACK_ERR_UNSUPPORTED names the first that are none. */
enum pack_status pack_rechunk_prove(const struct pack_rechunk_params *params,
                                    struct pack_rechunk_set *set, struct pack_error *err);

/* What of a set is lost; NULL: nothing. */
const struct pack_rechunk_lost *
pack_rechunk_lost_of(const struct pack_rechunk_params *params,
                     const struct pack_rechunk_set *set);

/* How a set is moved, but for where its chunks go. */
struct pack_rechunk_move_params
pack_rechunk_move_of(const struct pack_rechunk_params *params,
                     const struct pack_rechunk_set *set);

/* Compares a dataset of params->input with that of `file`, both read through stock HDF5.
 * PACK_ERR_MISMATCH names the first index of axis 0 that differs. */
enum pack_status pack_rechunk_verify(const struct pack_rechunk_params *params,
                                     const struct pack_rechunk_set *set, const char *file,
                                     struct pack_error *err);

#endif
