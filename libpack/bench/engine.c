#include "libpack/bench/engine.h"

#include <string.h>

#include "libpack/bench/engine_parts.h"

const struct pack_engine_ops *const pack_engines[] = {
    &pack_engine_hdf5,
    &pack_engine_libpack,
    &pack_engine_pread,
    &pack_engine_mmap,
    &pack_engine_direct,
    &pack_engine_images,
    NULL,
};

const struct pack_engine_ops *
pack_engine_find(const char *name)
{
    for (const struct pack_engine_ops *const *row = pack_engines; *row; row++)
        if (strcmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}

enum pack_status
pack_engine_check(const struct pack_engine_ops *engine, enum pack_engine_kind kind,
                  struct pack_error *err)
{
    static const char *const kinds[] = {
        [PACK_ENGINE_SET] = "datasets", [PACK_ENGINE_IMAGES] = "folders of images"
    };
    if (kind == engine->kind)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "engine",
                           "engine '%s' reads %s, not %s", engine->name,
                           kinds[engine->kind], kinds[kind]);
}

enum pack_status
pack_engine_open(const struct pack_engine_ops *engine,
                 const struct pack_engine_params *params, void **state,
                 struct pack_error *err)
{
    enum pack_status status = pack_engine_check(engine, params->kind, err);
    return status == PACK_OK ? engine->open(params, state, err) : status;
}

void
pack_read_cost_add(struct pack_read_cost *total, const struct pack_read_cost *part)
{
    total->calls += part->calls;
    total->call_ns += part->call_ns;
    total->requests += part->requests;
    total->file_reads += part->file_reads;
    total->file_read_bytes += part->file_read_bytes;
    total->storage_ns += part->storage_ns;
    total->metadata_reads += part->metadata_reads;
    total->metadata_bytes += part->metadata_bytes;
    total->metadata_ns += part->metadata_ns;
    total->decode_ns += part->decode_ns;
    total->overhead_ns += part->overhead_ns;
    total->reopen_ns += part->reopen_ns;
    total->wanted_bytes += part->wanted_bytes;
    total->skipped += part->skipped;
}
