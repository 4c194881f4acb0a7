/* The processor's part of a machine profile, measured once and kept for the user. */
#ifndef TOOLS_MACHINE_H
#define TOOLS_MACHINE_H

#include <stdbool.h>

#include <libpack/profile.h>
#include <libpack/status.h>

/*
 * Reads the profile from h5pack/ in the user's cache folder ($XDG_CACHE_HOME, else
 * ~/.cache), where a file is named after this machine, its processor and the versions of
 * h5pack and HDF5; measures it, in less than three seconds, when there is none, and keeps
 * it. That it cannot be kept is no failure.
 * PACK_ERR_INTERRUPTED, PACK_ERR_MEMORY, PACK_ERR_IO.
 */
enum pack_status machine_processor(const struct pack_watch *watch,
                                   struct pack_profile *profile, struct pack_error *err);

/* The kept one, where there is one that can be read; nothing is measured. */
bool machine_kept(struct pack_profile *profile);

#endif
