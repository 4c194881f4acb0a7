/* h5rechunk --split and --join. */
#ifndef TOOLS_RECHUNK_SHARDS_H
#define TOOLS_RECHUNK_SHARDS_H

#include "libpack/rechunk/shards.h"

/* Does it and prints what was done, as JSON or, unless `quiet`, as text. */
enum pack_status rechunk_shards(const struct pack_shards_params *params, bool json, bool quiet,
                                struct pack_error *err);

#endif
