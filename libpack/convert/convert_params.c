/* What cannot be packed with, before anything is read. */
#include "libpack/convert/convert_parts.h"

#include <inttypes.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/base/pool.h"
#include "libpack/image/geometry.h"

static enum pack_status
check_pipeline(const struct pack_pipeline *pipeline, struct pack_error *err)
{
    enum pack_status status =
        pack_check_choice("pipeline", pipeline->n, PACK_PIPELINE_MAX + 1, err);
    for (int i = 0; status == PACK_OK && i < pipeline->n; i++)
        status = pack_check_count("pipeline", pipeline->filter[i].n_cd,
                                  PACK_FILTER_CD_MAX, err);
    return status;
}

static enum pack_status
check_chunk(const struct pack_shape *chunk, struct pack_error *err)
{
    enum pack_status status =
        pack_check_choice("chunk", chunk->rank, PACK_RANK_MAX + 1, err);
    for (int i = 0; status == PACK_OK && i < chunk->rank; i++)
        if (chunk->extent[i] == 0)
            status = pack_fail_param(err, PACK_ERR_ARGUMENT, "chunk",
                                     "chunk has no extent along axis %d", i);
    return status;
}

enum pack_status
pack_convert_check_options(const struct pack_convert_options *o, struct pack_error *err)
{
    const struct {
        const char *param;
        int value, n;
    } choices[] = {
        { "mode", (int)o->image.mode, PACK_IMAGE_GRAY + 1 },
        { "layout", (int)o->layout, PACK_PIXEL_NCHW + 1 },
        { "goal", (int)o->goal, PACK_CHUNK_FOR_BLOCK_SHUFFLE + 1 },
        { "libver", (int)o->libver, PACK_LIBVER_LATEST + 1 },
        { "on_error", (int)o->on_error, PACK_ON_ERROR_BLANK + 1 },
    };
    enum pack_status status = pack_geometry_check(&o->geometry, err);
    for (size_t i = 0; status == PACK_OK && i < sizeof choices / sizeof *choices; i++)
        status =
            pack_check_choice(choices[i].param, choices[i].value, choices[i].n, err);
    if (status == PACK_OK && o->image.window)
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "window",
                                 "a window is for one image, not for a file of them");
    if (status == PACK_OK && o->image.reduce)
        status = pack_fail_param(err, PACK_ERR_ARGUMENT, "reduce",
                                 "what an image is reduced by follows from its size: "
                                 "the geometry says whether drafts are taken");
    if (status == PACK_OK)
        status = check_chunk(&o->chunk, err);
    return status == PACK_OK ? check_pipeline(&o->pipeline, err) : status;
}

enum pack_status
pack_convert_check_source(const struct pack_convert_params *params,
                          const struct pack_convert_result *result, bool packs,
                          struct pack_error *err)
{
    if (!params || !result)
        return pack_check_given(err, "params", params, "result", result, NULL);
    if (!params->source && !(packs && params->resume))
        return pack_check_given(err, "source", params->source, NULL);
    if (params->source && params->source->n_records == 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "source",
                               "the source holds no image");
    return pack_check_count("n_threads", params->n_threads, PACK_POOL_THREADS_MAX, err);
}

enum pack_status
pack_convert_check_order(const struct pack_source *source,
                         const struct pack_convert_options *o, struct pack_error *err)
{
    bool is_shuffled = source->source_index != NULL;
    uint64_t n = o->limit && o->limit < source->n_listed ? o->limit : source->n_listed;
    if (is_shuffled != o->shuffle)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "shuffle",
                               "the source is %sshuffled, the options say otherwise",
                               is_shuffled ? "" : "not ");
    if (is_shuffled && source->seed != o->seed)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "seed",
                               "the source was shuffled with seed %" PRIu64
                               ", the options say %" PRIu64,
                               source->seed, o->seed);
    if (source->n_records != n)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "limit",
                               "the source was limited to %" PRIu64
                               " of %" PRIu64 " images, the options ask for %" PRIu64,
                               source->n_records, source->n_listed, n);
    return PACK_OK;
}

enum pack_status
pack_convert_check_columns(const struct pack_source *source,
                           const struct pack_convert_options *o, struct pack_error *err)
{
    int n_columns = source && source->list ? source->list->n_columns : 0;
    for (int i = 0; i < n_columns; i++)
        if (o->on_error == PACK_ON_ERROR_BLANK &&
            strcmp(source->list->columns[i].name, "valid") == 0)
            return pack_fail_param(err, PACK_ERR_ARGUMENT, "on_error",
                                   "the list has a column 'valid', which is also the "
                                   "dataset that tells blank images; rename it");
    return PACK_OK;
}

enum pack_status
pack_convert_check_output(const struct pack_convert_params *params,
                          struct pack_error *err)
{
    if (!params->output)
        return pack_check_given(err, "output", params->output, NULL);
    return *params->output ? PACK_OK
                           : pack_fail_param(err, PACK_ERR_ARGUMENT, "output",
                                             "the output has no name");
}
