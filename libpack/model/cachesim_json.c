#include "libpack/model/cachesim_json.h"

void
pack_cache_counts_print(struct pack_json *json, const char *key,
                        const struct pack_cache_counts *c)
{
    pack_json_object(json, key);
    pack_json_u64(json, "requests", c->requests);
    pack_json_u64(json, "hits", c->hits);
    pack_json_u64(json, "loads", c->loads);
    pack_json_u64(json, "decodes", c->decodes);
    pack_json_u64(json, "fills", c->fills);
    pack_json_u64(json, "bypass_visits", c->bypass_visits);
    pack_json_u64(json, "file_reads", c->file_reads);
    pack_json_u64(json, "file_read_bytes", c->file_read_bytes);
    pack_json_u64(json, "wanted_bytes", c->wanted_bytes);
    pack_json_u64(json, "evictions_space", c->evictions_space);
    pack_json_u64(json, "evictions_collision", c->evictions_collision);
    pack_json_u64(json, "walk_steps", c->walk_steps);
    pack_json_u64(json, "peak_bytes", c->peak_bytes);
    pack_json_close(json);
}
