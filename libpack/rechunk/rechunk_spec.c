/* What is asked for a dataset, as chunks and filters that it can have. */
#include "libpack/rechunk/rechunk_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/h5_number.h"

enum { STRETCH_BYTES = 256 << 10 };

bool
pack_rechunk_can(const struct pack_h5_dataset *d)
{
    return d->facts.layout != PACK_LAYOUT_VIRTUAL && d->facts.n_external == 0 &&
           strcmp(d->file, d->data_file) == 0 &&
           pack_pipeline_is_decoded(&d->facts.pipeline, NULL);
}

/* Of an element as it is to be. */
static uint32_t
element_bytes(const struct pack_rechunk_set *set)
{
    return set->narrow ? 1 : set->facts.type.bytes;
}

/* What is said of a dataset by itself is at fault, or what is said of all. */
static enum pack_status
fail_asked(const struct pack_rechunk_set *set, const char *asked, const char *param,
           enum pack_status status, struct pack_error *err)
{
    return asked ? pack_error_prefix(err, status, "'%.200s=': %s", set->path, param)
                 : pack_error_param(err, status, param);
}

static enum pack_status
parse_chunk(const char *text, const struct pack_rechunk_set *set, struct pack_shape *chunk,
            struct pack_error *err)
{
    const struct pack_facts *facts = &set->facts;
    struct pack_shape given, max = facts->max_extent;
    enum pack_status status = pack_shape_parse(text, &given, err);
    if (status != PACK_OK)
        return fail_asked(set, set->asked_chunk, "chunk", status, err);
    *chunk = facts->extent;
    pack_rechunk_turn_shape(set->axes, chunk);
    pack_rechunk_turn_shape(set->axes, &max);
    if (given.rank == 1)
        chunk->extent[0] = given.extent[0];
    else if (given.rank == facts->extent.rank)
        *chunk = given;
    else
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunk",
                               "'%s' has %d dimensions, the chunk %s has %d", facts->path,
                               facts->extent.rank, text, given.rank);
    for (int i = 0; i < chunk->rank; i++)
        if (chunk->extent[i] > max.extent[i])
            chunk->extent[i] = max.extent[i];
    return PACK_OK;
}

/* HDF5's own limit. */
static enum pack_status
check_size(const struct pack_shape *chunk, uint32_t element_bytes, struct pack_error *err)
{
    char text[PACK_SHAPE_TEXT_MAX];
    uint64_t n;
    if (pack_shape_count(chunk, &n) && n <= UINT32_MAX / element_bytes)
        return PACK_OK;
    return pack_fail_param(err, PACK_ERR_ARGUMENT, "chunk",
                           "chunks of %s would be of 4 GiB or more",
                           pack_shape_format(chunk, text));
}

/* Without chunks: stretches that lie in the file in one piece, of whole chunks of the source
 * along the axis that is cut. They are short, so that little memory holds those that a row of
 * its chunks touches. */
static void
set_stretch(struct pack_rechunk_set *set)
{
    struct pack_shape from = set->facts.chunk, *chunk = &set->chunk;
    uint64_t bytes = element_bytes(set), room = STRETCH_BYTES;
    *chunk = set->facts.extent;
    pack_rechunk_turn_shape(set->axes, chunk);
    pack_rechunk_turn_shape(set->axes, &from);
    for (int i = 0; i < chunk->rank; i++)
        set->is_fixed = set->is_fixed ||
                        set->facts.max_extent.extent[i] > set->facts.extent.extent[i];
    for (int i = chunk->rank - 1; i >= 0; i--) {
        uint64_t n = room / bytes;
        if (n < chunk->extent[i]) {
            if (from.rank > 0 && n > from.extent[i])
                n -= n % from.extent[i];
            chunk->extent[i] = n > 0 ? n : 1;
            room = 0; /* one of each axis before */
        }
        bytes *= chunk->extent[i];
    }
    set->is_contiguous = true;
}

static enum pack_status
set_chunk(const struct pack_rechunk_params *params, struct pack_rechunk_set *set,
          struct pack_error *err)
{
    const struct pack_facts *facts = &set->facts;
    const char *asked = set->asked_chunk ? set->asked_chunk : params->chunk;
    if (asked ? strcmp(asked, "none") == 0 : facts->layout != PACK_LAYOUT_CHUNKED) {
        set_stretch(set);
        return PACK_OK;
    }
    if (asked) {
        enum pack_status status = parse_chunk(asked, set, &set->chunk, err);
        return status == PACK_OK ? check_size(&set->chunk, element_bytes(set), err) : status;
    }
    set->chunk = facts->chunk;
    pack_rechunk_turn_shape(set->axes, &set->chunk);
    return PACK_OK;
}

static bool
has_filter(const struct pack_pipeline *pipeline, uint32_t id)
{
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->filter[i].id == id)
            return true;
    return false;
}

/* Filters are for chunks: those that are asked for, and not those that the source has. */
static enum pack_status
check_contiguous(const struct pack_rechunk_params *params, struct pack_rechunk_set *set,
                 bool is_asked, struct pack_error *err)
{
    bool has_none = set->asked_chunk || params->chunk;
    if (!is_asked)
        set->pipeline = (struct pack_pipeline){ 0 };
    if (set->pipeline.n == 0 && !params->fletcher32)
        return PACK_OK;
    return pack_fail_param(err, has_none ? PACK_ERR_ARGUMENT : PACK_ERR_UNSUPPORTED, "chunk",
                           has_none ? "'%s' is to have no chunks, and filters%s need some"
                                    : "'%s' has no chunks, and filters%s need some",
                           set->facts.path,
                           set->pipeline.n == 0 ? " such as fletcher32" : "");
}

static enum pack_status
set_pipeline(const struct pack_rechunk_params *params, struct pack_rechunk_set *set,
             struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    struct pack_pipeline checksum;
    const char *asked = set->asked_filters ? set->asked_filters : params->compress;
    set->pipeline = set->facts.pipeline;
    for (int i = 0; i < set->pipeline.n && set->narrow; i++)
        if (set->pipeline.filter[i].id == PACK_FILTER_SHUFFLE)
            set->pipeline.filter[i].cd[0] = 1;
    if (asked)
        status = pack_pipeline_parse(asked, element_bytes(set), &set->pipeline, err);
    if (status != PACK_OK)
        return fail_asked(set, set->asked_filters, "compress", status, err);
    if (set->is_contiguous)
        return check_contiguous(params, set, asked, err);
    if (!params->fletcher32 || has_filter(&set->pipeline, PACK_FILTER_FLETCHER32))
        return PACK_OK;
    status = pack_pipeline_parse("fletcher32", element_bytes(set), &checksum, err);
    return status == PACK_OK ? pack_pipeline_add(&set->pipeline, checksum.filter[0].id,
                                                 checksum.filter[0].flags, 0, NULL, err)
                             : status;
}

/* Bytes stay bytes. */
static enum pack_status
set_type(const struct pack_rechunk_params *params, struct pack_rechunk_set *set,
         struct pack_error *err)
{
    const struct pack_type *type = &set->facts.type;
    char text[PACK_TYPE_TEXT_MAX];
    if (!params->as)
        return PACK_OK;
    if (strcmp(params->as, "uint8") != 0)
        return pack_fail_param(err, PACK_ERR_ARGUMENT, "as",
                               "'%s' is not uint8, the only type to change to", params->as);
    bool is_plain = pack_h5_is_plain_number(params->input, set->path);
    if (is_plain && type->class_id == PACK_TYPE_INTEGER && type->bytes == 1 &&
        !type->is_signed)
        return PACK_OK;
    set->narrow = malloc(sizeof *set->narrow);
    if (!set->narrow)
        return pack_fail_memory(err, "a table of numbers");
    if (is_plain && pack_narrow_init(set->narrow, type))
        return PACK_OK;
    return pack_fail(err, PACK_ERR_UNSUPPORTED,
                     "'%s:/%s' cannot become uint8: %s is neither an integer of 8 to 64 bits "
                     "nor a float of 16, 32 or 64 as IEEE 754 has them",
                     params->input, set->path, pack_type_format(type, text));
}

enum pack_status
pack_rechunk_spec(const struct pack_rechunk_params *params, struct pack_rechunk_set *set,
                  struct pack_error *err)
{
    uint32_t id;
    enum pack_status status = set_type(params, set, err);
    if (status == PACK_OK)
        status = pack_rechunk_turn(params, set, err);
    if (status == PACK_OK)
        status = set_chunk(params, set, err);
    if (status == PACK_OK)
        status = set_pipeline(params, set, err);
    if (status != PACK_OK)
        return status;
    set->verbatim = !set->is_contiguous && !set->narrow && !set->rows && !set->axes &&
                    set->facts.layout == PACK_LAYOUT_CHUNKED &&
                    pack_shape_equal(&set->chunk, &set->facts.chunk) &&
                    pack_clone_same_pipeline(&set->pipeline, &set->facts.pipeline);
    if (set->verbatim || pack_pipeline_is_known(&set->pipeline, &id))
        return PACK_OK;
    const char *name = pack_filter_name(id);
    return pack_fail_param(err, PACK_ERR_UNSUPPORTED, "compress",
                           "'%s' has filter %" PRIu32 "%s%s%s, which cannot be written here",
                           set->facts.path, id, name ? " (" : "", name ? name : "",
                           name ? ")" : "");
}
