/* Counts of a chunk cache in JSON, the same keys in every report. */
#ifndef LIBPACK_CACHESIM_JSON_H
#define LIBPACK_CACHESIM_JSON_H

#include <libpack/cachesim.h>
#include "libpack/base/json.h"

/* Adds an object called `key` whose members are those of struct pack_cache_counts. */
void pack_cache_counts_print(struct pack_json *json, const char *key,
                             const struct pack_cache_counts *counts);

#endif
