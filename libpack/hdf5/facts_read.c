/* Facts from a dataset's object header and chunk index; its data is not read. */
#include <stdlib.h>
#include <string.h>

#include "libpack/base/check.h"
#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"
#include "libpack/base/size.h"

enum { ATTRIBUTE_MAX = 1 << 16, LABELS_MAX = 64 };

/* --------------------------------------------------------------- attributes */

/* Opens an attribute and its type and space; what it holds is bounded by the caller. */
struct attribute {
    hid_t id, type, space;
    hssize_t n;
    size_t bytes; /* of one element in the file */
};

static void
attribute_close(struct attribute *attribute)
{
    if (attribute->space >= 0)
        H5Sclose(attribute->space);
    if (attribute->type >= 0)
        H5Tclose(attribute->type);
    if (attribute->id >= 0)
        H5Aclose(attribute->id);
}

static bool
attribute_open(hid_t object, const char *name, struct attribute *attribute)
{
    *attribute = (struct attribute){ -1, -1, -1, 0, 0 };
    if (H5Aexists(object, name) <= 0)
        return false;
    attribute->id = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute->id >= 0) {
        attribute->type = H5Aget_type(attribute->id);
        attribute->space = H5Aget_space(attribute->id);
    }
    if (attribute->type < 0 || attribute->space < 0) {
        attribute_close(attribute);
        return false;
    }
    attribute->n = H5Sget_simple_extent_npoints(attribute->space);
    attribute->bytes = H5Tget_size(attribute->type);
    return true;
}

static void
copy_text(char *to, size_t capacity, const char *from, size_t size)
{
    size_t n = from ? strnlen(from, size) : 0;
    if (n >= capacity)
        n = capacity - 1;
    if (n > 0)
        memcpy(to, from, n);
    to[n] = '\0';
}

/*
 * Reads up to n_max texts of a string attribute into rows of `capacity` bytes. Returns
 * how many; 0 when it is absent, no string, or unreasonably large.
 */
static int
read_texts(hid_t object, const char *name, char *rows, size_t capacity, int n_max)
{
    struct attribute attribute;
    int n = 0;
    if (!attribute_open(object, name, &attribute))
        return 0;
    bool variable = H5Tis_variable_str(attribute.type) > 0;
    if (H5Tget_class(attribute.type) != H5T_STRING || attribute.n < 1 ||
        attribute.n > LABELS_MAX || attribute.bytes == 0 ||
        attribute.bytes > ATTRIBUTE_MAX) {
        attribute_close(&attribute);
        return 0;
    }
    char *data = calloc((size_t)attribute.n, attribute.bytes);
    if (data && H5Aread(attribute.id, attribute.type, data) >= 0) {
        n = attribute.n < n_max ? (int)attribute.n : n_max;
        for (int i = 0; i < n; i++) {
            const char *text = data + (size_t)i * attribute.bytes;
            if (variable)
                memcpy(&text, data + (size_t)i * sizeof text, sizeof text);
            copy_text(rows + (size_t)i * capacity, capacity, text,
                      variable ? ATTRIBUTE_MAX : attribute.bytes);
        }
        if (variable)
            H5Dvlen_reclaim(attribute.type, attribute.space, H5P_DEFAULT, data);
    }
    free(data);
    attribute_close(&attribute);
    return n;
}

static int
read_numbers(hid_t object, const char *name, double *numbers, int n_max)
{
    struct attribute attribute;
    double data[PACK_FACTS_CHANNELS_MAX];
    int n = 0;
    if (!attribute_open(object, name, &attribute))
        return 0;
    H5T_class_t class_id = H5Tget_class(attribute.type);
    if ((class_id == H5T_INTEGER || class_id == H5T_FLOAT) && attribute.n >= 1 &&
        attribute.n <= n_max && H5Aread(attribute.id, H5T_NATIVE_DOUBLE, data) >= 0) {
        n = (int)attribute.n;
        memcpy(numbers, data, (size_t)n * sizeof *numbers);
    }
    attribute_close(&attribute);
    return n;
}

static void
read_attributes(hid_t file, hid_t set, struct pack_facts *facts)
{
    read_texts(set, "CLASS", facts->class_name, sizeof facts->class_name, 1);
    read_texts(set, "IMAGE_SUBCLASS", facts->image_subclass, sizeof facts->image_subclass,
               1);
    read_texts(set, "INTERLACE_MODE", facts->interlace_mode, sizeof facts->interlace_mode,
               1);
    facts->n_labels = read_texts(set, "DIMENSION_LABELS", facts->label[0],
                                 sizeof facts->label[0], PACK_FACTS_LABELS_MAX);
    facts->n_mean = read_numbers(set, "mean", facts->mean, PACK_FACTS_CHANNELS_MAX);
    facts->n_std = read_numbers(set, "std", facts->std, PACK_FACTS_CHANNELS_MAX);
    hid_t root = H5Oopen(file, "/", H5P_DEFAULT);
    if (root < 0)
        return;
    read_texts(root, "h5pack_schema", facts->h5pack_schema, sizeof facts->h5pack_schema,
               1);
    read_texts(root, "h5pack_version", facts->h5pack_version,
               sizeof facts->h5pack_version, 1);
    H5Oclose(root);
}

/* ----------------------------------------------------------- type and space */

static enum pack_type_class
class_of(H5T_class_t class_id)
{
    switch (class_id) {
    case H5T_INTEGER: return PACK_TYPE_INTEGER;
    case H5T_FLOAT: return PACK_TYPE_FLOAT;
    case H5T_TIME: return PACK_TYPE_TIME;
    case H5T_STRING: return PACK_TYPE_STRING;
    case H5T_BITFIELD: return PACK_TYPE_BITFIELD;
    case H5T_OPAQUE: return PACK_TYPE_OPAQUE;
    case H5T_COMPOUND: return PACK_TYPE_COMPOUND;
    case H5T_REFERENCE: return PACK_TYPE_REFERENCE;
    case H5T_ENUM: return PACK_TYPE_ENUM;
    case H5T_VLEN: return PACK_TYPE_VLEN;
    case H5T_ARRAY: return PACK_TYPE_ARRAY;
    default: return PACK_TYPE_OTHER;
    }
}

/* Whether an enum of 1 byte has a member of that name and value. */
static bool
has_member(hid_t id, const char *name, unsigned char value)
{
    unsigned char found;
    return H5Tenum_valueof(id, name, &found) >= 0 && found == value;
}

static void
describe_type(hid_t id, struct pack_type *type)
{
    H5T_class_t class_id = H5Tget_class(id);
    type->class_id = class_of(class_id);
    type->bytes = (uint32_t)H5Tget_size(id);
    bool is_whole = class_id == H5T_INTEGER || class_id == H5T_ENUM;
    type->is_signed = is_whole && H5Tget_sign(id) == H5T_SGN_2;
    type->is_ieee = class_id == H5T_FLOAT && pack_h5_is_ieee(id);
    type->is_long_double = class_id == H5T_FLOAT && type->bytes > 8 &&
                           H5Tequal(id, H5T_NATIVE_LDOUBLE) > 0;
    type->is_variable = class_id == H5T_VLEN || H5Tis_variable_str(id) > 0;
    H5T_order_t order = H5Tget_order(id);
    bool is_ordered = is_whole || class_id == H5T_FLOAT || class_id == H5T_BITFIELD;
    type->is_bool = class_id == H5T_ENUM && type->bytes == 1 && H5Tget_nmembers(id) == 2 &&
                    has_member(id, "FALSE", 0) && has_member(id, "TRUE", 1);
    hid_t number = class_id == H5T_ENUM ? H5Tget_super(id) : id;
    type->is_padded = is_ordered && class_id != H5T_FLOAT &&
                      (H5Tget_precision(number) != 8 * H5Tget_size(number) ||
                       H5Tget_offset(number) != 0);
    if (number >= 0 && number != id)
        H5Tclose(number);
    type->order = !is_ordered             ? PACK_ORDER_NONE
                  : order == H5T_ORDER_BE ? PACK_ORDER_BIG
                  : order == H5T_ORDER_LE ? PACK_ORDER_LITTLE
                                          : PACK_ORDER_NONE;
}

static uint64_t
product(uint64_t a, uint64_t b)
{
    uint64_t result;
    return a != UINT64_MAX && b != UINT64_MAX && pack_size_mul(a, b, &result)
               ? result
               : UINT64_MAX;
}

static bool
describe_space(hid_t space, struct pack_facts *facts)
{
    hsize_t extent[PACK_RANK_MAX], most[PACK_RANK_MAX];
    H5S_class_t kind = H5Sget_simple_extent_type(space);
    if (kind == H5S_NO_CLASS)
        return false;
    facts->space = kind == H5S_NULL     ? PACK_SPACE_NULL
                   : kind == H5S_SCALAR ? PACK_SPACE_SCALAR
                                        : PACK_SPACE_SIMPLE;
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > PACK_RANK_MAX ||
        H5Sget_simple_extent_dims(space, extent, most) < 0)
        return false;
    facts->extent.rank = facts->max_extent.rank = rank;
    for (int i = 0; i < rank; i++) {
        facts->extent.extent[i] = extent[i];
        facts->max_extent.extent[i] = most[i] == H5S_UNLIMITED ? UINT64_MAX : most[i];
        if (extent[i] > facts->max_extent.extent[i]) /* HDF5 does not look */
            return false;
    }
    if (facts->space == PACK_SPACE_NULL)
        facts->n_elements = 0;
    else if (!pack_shape_count(&facts->extent, &facts->n_elements))
        facts->n_elements = UINT64_MAX;
    facts->logical_bytes = product(facts->n_elements, facts->type.bytes);
    return true;
}

/* ----------------------------------------------------------------- creation */

static enum pack_index
index_of(H5D_chunk_index_t index)
{
    switch (index) {
    case H5D_CHUNK_IDX_BTREE: return PACK_INDEX_BTREE1;
    case H5D_CHUNK_IDX_SINGLE: return PACK_INDEX_SINGLE;
    case H5D_CHUNK_IDX_NONE: return PACK_INDEX_IMPLICIT;
    case H5D_CHUNK_IDX_FARRAY: return PACK_INDEX_FIXED_ARRAY;
    case H5D_CHUNK_IDX_EARRAY: return PACK_INDEX_EXTENSIBLE_ARRAY;
    case H5D_CHUNK_IDX_BT2: return PACK_INDEX_BTREE2;
    default: return PACK_INDEX_NONE;
    }
}

static bool
is_by_descriptor(hid_t set)
{
    char name[32];
    return H5Fget_name(set, name, sizeof name) > 0 && pack_h5_is_nameless(name);
}

static bool
describe_chunks(hid_t set, hid_t dcpl, struct pack_facts *facts)
{
    hsize_t chunk[PACK_RANK_MAX];
    unsigned options = 0;
    H5D_chunk_index_t index;
    int rank = H5Pget_chunk(dcpl, PACK_RANK_MAX, chunk);
    if (rank < 0 || rank != facts->extent.rank)
        return false;
    facts->chunk.rank = facts->n_chunks.rank = rank;
    facts->chunk_bytes = facts->type.bytes;
    facts->n_chunks_total = 1;
    for (int i = 0; i < rank; i++) {
        if (chunk[i] == 0)
            return false;
        uint64_t n = facts->extent.extent[i] / chunk[i] +
                     (facts->extent.extent[i] % chunk[i] != 0);
        facts->chunk.extent[i] = chunk[i];
        facts->n_chunks.extent[i] = n;
        facts->chunk_bytes = product(facts->chunk_bytes, chunk[i]);
    }
    if (!pack_shape_count(&facts->n_chunks, &facts->n_chunks_total))
        facts->n_chunks_total = UINT64_MAX;
    if (H5Pget_chunk_opts(dcpl, &options) >= 0)
        facts->edge_chunks_unfiltered =
            (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
    if (H5Dget_chunk_index_type(set, &index) < 0)
        return false;
    facts->index = index_of(index);
    return true;
}

/* Whether elements take in the file what they take in memory. */
static bool
is_of_size(const struct pack_type *type)
{
    return type->class_id == PACK_TYPE_INTEGER || type->class_id == PACK_TYPE_FLOAT ||
           type->class_id == PACK_TYPE_ENUM;
}

/*
 * What HDF5 has to go through the whole index of chunks for: once to count them, and once
 * more for their bytes, unless these follow from the number.
 */
static bool
count_stored(hid_t set, hid_t space, struct pack_facts *facts)
{
    hsize_t n_stored = 0;
    if (facts->layout != PACK_LAYOUT_CHUNKED)
        return true;
    bool is_cut = is_by_descriptor(set); /* asked first: HDF5 forgets a reason by it */
    if (H5Dget_num_chunks(set, space, &n_stored) < 0) {
        if (!is_cut)
            return false;
        n_stored = facts->n_chunks_total; /* of a file that is cut: cut_file.h */
    }
    facts->n_chunks_stored = n_stored;
    facts->stored_bytes = facts->pipeline.n == 0 && is_of_size(&facts->type)
                              ? product(n_stored, facts->chunk_bytes)
                              : H5Dget_storage_size(set);
    return true;
}

static bool
describe_pipeline(hid_t dcpl, struct pack_facts *facts)
{
    uint32_t missing;
    if (!pack_h5_read_pipeline(dcpl, &facts->pipeline))
        return false;
    facts->filters_available = !pack_h5_missing_filter(&facts->pipeline, &missing);
    return true;
}

/* Whether a fill value that someone chose is all zeros. */
static bool
is_zero_fill(hid_t dcpl, hid_t type)
{
    size_t size = H5Tget_size(type);
    unsigned char *value = size > 0 && size <= ATTRIBUTE_MAX &&
                                   H5Tdetect_class(type, H5T_VLEN) == 0 &&
                                   H5Tis_variable_str(type) == 0
                               ? malloc(size)
                               : NULL;
    bool zero = value && H5Pget_fill_value(dcpl, type, value) >= 0;
    for (size_t i = 0; zero && i < size; i++)
        zero = value[i] == 0;
    free(value);
    return zero;
}

static bool
describe_fill(hid_t dcpl, hid_t type, struct pack_facts *facts)
{
    H5D_fill_value_t fill;
    H5D_fill_time_t fill_time;
    H5D_alloc_time_t alloc_time;
    if (H5Pfill_value_defined(dcpl, &fill) < 0 ||
        H5Pget_fill_time(dcpl, &fill_time) < 0 ||
        H5Pget_alloc_time(dcpl, &alloc_time) < 0)
        return false;
    facts->fill = fill == H5D_FILL_VALUE_DEFAULT        ? PACK_FILL_DEFAULT
                  : fill == H5D_FILL_VALUE_USER_DEFINED ? PACK_FILL_USER
                                                        : PACK_FILL_UNDEFINED;
    facts->fill_time = fill_time == H5D_FILL_TIME_ALLOC   ? PACK_FILL_ALLOC
                       : fill_time == H5D_FILL_TIME_NEVER ? PACK_FILL_NEVER
                                                          : PACK_FILL_IFSET;
    facts->alloc_time = alloc_time == H5D_ALLOC_TIME_EARLY  ? PACK_ALLOC_EARLY
                        : alloc_time == H5D_ALLOC_TIME_INCR ? PACK_ALLOC_INCREMENTAL
                                                            : PACK_ALLOC_LATE;
    facts->fill_is_zero = facts->fill_time != PACK_FILL_NEVER &&
                          (facts->fill == PACK_FILL_DEFAULT ||
                           (facts->fill == PACK_FILL_USER && is_zero_fill(dcpl, type)));
    return true;
}

static bool
describe_storage(hid_t set, hid_t dcpl, struct pack_facts *facts)
{
    H5D_layout_t layout = H5Pget_layout(dcpl);
    facts->contiguous_address = UINT64_MAX;
    facts->stored_bytes = layout == H5D_CHUNKED ? UINT64_MAX : H5Dget_storage_size(set);
    switch (layout) {
    case H5D_COMPACT: facts->layout = PACK_LAYOUT_COMPACT; return true;
    case H5D_CHUNKED:
        facts->layout = PACK_LAYOUT_CHUNKED;
        facts->n_chunks_stored = UINT64_MAX;
        return describe_chunks(set, dcpl, facts);
    case H5D_VIRTUAL: {
        size_t n = 0;
        facts->layout = PACK_LAYOUT_VIRTUAL;
        if (H5Pget_virtual_count(dcpl, &n) < 0)
            return false;
        facts->n_virtual = n;
        return true;
    }
    case H5D_CONTIGUOUS: {
        facts->layout = PACK_LAYOUT_CONTIGUOUS;
        int n_external = H5Pget_external_count(dcpl);
        facts->n_external = n_external > 0 ? (uint64_t)n_external : 0;
        H5D_space_status_t allocated;
        if (H5Dget_space_status(set, &allocated) < 0)
            return false;
        if (allocated != H5D_SPACE_STATUS_NOT_ALLOCATED && facts->n_external == 0)
            facts->contiguous_address = H5Dget_offset(set);
        return true;
    }
    default: return false;
    }
}

static bool
describe_file(hid_t file, struct pack_facts *facts)
{
    hsize_t size = 0, user_block = 0, threshold;
    H5F_info2_t info;
    H5F_fspace_strategy_t strategy;
    hbool_t persist;
    hid_t fcpl = H5Fget_create_plist(file);
    bool good = fcpl >= 0 && H5Fget_filesize(file, &size) >= 0 &&
                H5Fget_info2(file, &info) >= 0 &&
                H5Pget_userblock(fcpl, &user_block) >= 0;
    if (good) {
        facts->file_bytes = size;
        facts->user_block_bytes = user_block;
        facts->superblock_version = info.super.version;
        facts->has_page_strategy =
            H5Pget_file_space_strategy(fcpl, &strategy, &persist, &threshold) >= 0 &&
            strategy == H5F_FSPACE_STRATEGY_PAGE;
    }
    if (fcpl >= 0)
        H5Pclose(fcpl);
    return good;
}

static enum pack_status
open_dataset(hid_t file, const char *path, hid_t *set, struct pack_error *err)
{
    path = path[0] ? path : "/"; /* a path of nothing but slashes, these cut off */
    if (!pack_h5_path_exists(file, path))
        return pack_h5_fail_missing(file, path, err);
    hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open '%.200s'", path);
    H5I_type_t kind = H5Iget_type(object);
    if (kind != H5I_DATASET) {
        H5Oclose(object);
        return pack_fail(err, PACK_ERR_ARGUMENT, "'%.200s' is a %s, not a dataset", path,
                         kind == H5I_GROUP ? "group" : "named type");
    }
    *set = object;
    return PACK_OK;
}

static enum pack_status
read_facts(int64_t file, const char *path, bool with_stored, struct pack_facts *out,
           struct pack_error *err)
{
    pack_h5_quiet();
    hid_t set = -1;
    enum pack_status status = open_dataset(file, path, &set, err);
    if (status)
        return status;
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    hid_t dcpl = H5Dget_create_plist(set);
    struct pack_facts *facts = calloc(1, sizeof *facts);
    if (!facts) {
        status = pack_fail_memory(err, "facts");
        goto out;
    }
    copy_text(facts->path, sizeof facts->path, path, strlen(path));
    if (type >= 0)
        describe_type(type, &facts->type);
    if (type < 0 || space < 0 || dcpl < 0 || !describe_space(space, facts) ||
        !describe_pipeline(dcpl, facts) || !describe_fill(dcpl, type, facts) ||
        !describe_storage(set, dcpl, facts) ||
        (with_stored && !count_stored(set, space, facts)) || !describe_file(file, facts)) {
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot describe '%.200s'", path);
        goto out;
    }
    read_attributes(file, set, facts);
    H5Eclear2(H5E_DEFAULT);
    *out = *facts;
out:
    free(facts);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Dclose(set);
    return status;
}

enum pack_status
pack_facts_read(int64_t file, const char *path, struct pack_facts *facts,
                struct pack_error *err)
{
    return read_facts(file, path, true, facts, err);
}

enum pack_status
pack_facts_read_header(int64_t file, const char *path, struct pack_facts *facts,
                       struct pack_error *err)
{
    return read_facts(file, path, false, facts, err);
}

enum pack_status
pack_dataset_facts(const char *file, const char *path, struct pack_facts *facts,
                   struct pack_error *err)
{
    int64_t h5 = -1;
    if (!file || !path || !facts)
        return pack_check_given(err, "file", file, "path", path, "facts", facts, NULL);
    enum pack_status status = pack_h5_open(file, NULL, &h5, err);
    if (status != PACK_OK)
        return status;
    status = pack_facts_read(h5, path, facts, err);
    pack_h5_close(h5);
    return status == PACK_OK ? status : pack_error_prefix(err, status, "'%s'", file);
}
