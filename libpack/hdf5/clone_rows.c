/*
 * Records in another order: the datasets beside the one that is rewritten that have an
 * element, or a row of them, for each record. They are read as a whole, put in order and
 * written, as they may be of any type; where each record was is kept beside them.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/hdf5/clone_parts.h"

static const char INDEX[] = "source_index";

/* --------------------------------------------------------------- what there is */

struct finding {
    struct pack_clone *clone;
    struct pack_error *err;
    enum pack_status status;
};

/* HDF5 itself is to read and write it: filters that are optional, too. */
static enum pack_status
check_filters(const struct pack_clone *clone, const char *path, hid_t dcpl,
              struct pack_error *err)
{
    struct pack_pipeline pipeline = { 0 };
    char need[PACK_FILTER_NEED_MAX];
    if (H5Pget_layout(dcpl) != H5D_CHUNKED)
        return PACK_OK;
    if (!pack_h5_read_pipeline(dcpl, &pipeline))
        return pack_clone_refuse(clone, path, "its filters cannot be read", err);
    for (int i = 0; i < pipeline.n; i++)
        if (H5Zfilter_avail((H5Z_filter_t)pipeline.filter[i].id) <= 0)
            return pack_clone_refuse(clone, path,
                                     pack_filter_need(pipeline.filter[i].id, need), err);
    return PACK_OK;
}

static enum pack_status
check_aligned(struct pack_clone *clone, const char *path, hid_t set, struct pack_error *err)
{
    hid_t type = H5Dget_type(set), space = H5Dget_space(set), dcpl = H5Dget_create_plist(set);
    hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    uint64_t bytes = 0;
    enum pack_status status = PACK_OK;
    if (type < 0 || dcpl < 0 || n < 0)
        status = pack_clone_refuse(clone, path, "its type or shape cannot be read", err);
    else if (H5Pget_layout(dcpl) == H5D_VIRTUAL)
        status = pack_clone_refuse(clone, path,
                                   "it is virtual, and its rows cannot be put in order", err);
    else if (!pack_size_mul((uint64_t)n, 2 * H5Tget_size(type), &bytes) ||
             bytes > clone->params.rows_bytes)
        status = pack_fail_param(err, PACK_ERR_MEMORY, "memory_bytes",
                                 "putting the rows of '%.200s' in order takes %llu bytes of "
                                 "memory, twice its own",
                                 path, (unsigned long long)bytes);
    else
        status = check_filters(clone, path, dcpl, err);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

/* Of a dataset's shape: 0 has no first axis. */
static int
rank_of(hid_t set, hsize_t *n_rows)
{
    hsize_t extent[H5S_MAX_RANK];
    hid_t space = H5Dget_space(set);
    int rank = space < 0 ? 0 : H5Sget_simple_extent_dims(space, extent, NULL);
    if (space >= 0)
        H5Sclose(space);
    *n_rows = rank > 0 ? extent[0] : 0;
    return rank;
}

static enum pack_status
look_at(struct pack_clone *clone, const char *name, struct clone_object *object, hid_t set,
        struct pack_error *err)
{
    hsize_t n_rows;
    int rank = rank_of(set, &n_rows);
    bool is_aligned = rank > 0 && n_rows == clone->params.rows->n;
    if (strcmp(name, "offsets") == 0)
        return pack_clone_refuse(clone, object->from,
                                 "it says that records are of various sizes, which cannot be "
                                 "put in another order",
                                 err);
    if (strcmp(name, INDEX) == 0) {
        clone->has_index = true;
        if (!is_aligned)
            return pack_clone_refuse(clone, object->from,
                                     "the order of the records is to have its name", err);
    }
    if (!is_aligned || pack_clone_is_of_classes(name) || object->set < clone->params.n_sets)
        return PACK_OK;
    object->is_aligned = true;
    return check_aligned(clone, object->from, set, err);
}

static herr_t
find_aligned(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct finding *finding = context;
    struct clone_key key;
    if (info->type != H5L_TYPE_HARD)
        return 0;
    hid_t child = H5Oopen(group, name, H5P_DEFAULT);
    struct clone_object *object = child >= 0 && pack_clone_key(child, &key)
                                      ? pack_clone_find(finding->clone, &key)
                                      : NULL;
    if (object && object->kind == CLONE_DATASET)
        finding->status = look_at(finding->clone, name, object, child, finding->err);
    else if (strcmp(name, INDEX) == 0)
        finding->status = pack_clone_refuse(
            finding->clone, name, "the order of the records is to have its name", finding->err);
    if (child >= 0)
        H5Oclose(child);
    return finding->status != PACK_OK;
}

enum pack_status
pack_clone_find_aligned(struct pack_clone *clone, struct pack_error *err)
{
    struct finding finding = { clone, err, PACK_OK };
    hsize_t at = 0;
    uint64_t bytes;
    if (!pack_size_mul(clone->params.rows->n, sizeof(int64_t), &bytes) ||
        bytes > clone->params.rows_bytes)
        return pack_fail_param(err, PACK_ERR_MEMORY, "memory_bytes",
                               "the order of %llu records does not fit in memory",
                               (unsigned long long)clone->params.rows->n);
    hid_t group = H5Gopen2(clone->source, clone->params.group, H5P_DEFAULT);
    herr_t result = group < 0 ? -1
                              : H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at,
                                           find_aligned, &finding);
    if (group >= 0)
        H5Gclose(group);
    if (finding.status != PACK_OK)
        return finding.status;
    return result < 0 ? pack_clone_refuse(clone, clone->params.group,
                                          "its links cannot be listed", err)
                      : PACK_OK;
}

/* ------------------------------------------------------------------- in order */

static void
put_in_order(const struct pack_permutation *rows, const unsigned char *from,
             unsigned char *to, size_t row_bytes)
{
    for (uint64_t i = 0; i < rows->n; i++)
        memcpy(to + i * row_bytes, from + pack_permutation_at(rows, i) * row_bytes, row_bytes);
}

enum pack_status
pack_clone_carry_rows(struct pack_clone *clone, const struct clone_object *object, hid_t from,
                      hid_t to, struct pack_error *err)
{
    hid_t type = H5Dget_type(from), space = H5Dget_space(from);
    hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    size_t bytes = n < 0 || type < 0 ? 0 : (size_t)n * H5Tget_size(type);
    unsigned char *data = calloc(2, bytes > 0 ? bytes : 1), *ordered = data + bytes;
    enum pack_status status = data ? PACK_OK : pack_fail_memory(err, "rows to put in order");
    if (status == PACK_OK)
        status = pack_clone_check(
            clone, object->from,
            bytes == 0 ? -1 : H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), err);
    if (status == PACK_OK) {
        put_in_order(clone->params.rows, data, ordered, bytes / clone->params.rows->n);
        status = pack_clone_translate(clone, type, ordered, (size_t)n, err);
        if (status == PACK_OK)
            status = pack_clone_check(
                clone, object->from,
                H5Dwrite(to, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, ordered), err);
        if (pack_clone_needs(type).pointers)
            H5Dvlen_reclaim(type, space, H5P_DEFAULT, ordered);
    }
    free(data);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

/* -------------------------------------------------------------- where they were */

static herr_t
write_index(hid_t group, const int64_t *index, hsize_t n)
{
    herr_t result = -1;
    hid_t space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t set = -1;
    if (space >= 0 && dcpl >= 0 && H5Pset_obj_track_times(dcpl, false) >= 0)
        set = H5Dcreate2(group, INDEX, H5T_STD_I64LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (set >= 0) {
        result = H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, index);
        H5Dclose(set);
    }
    if (dcpl >= 0)
        H5Pclose(dcpl);
    if (space >= 0)
        H5Sclose(space);
    return result;
}

enum pack_status
pack_clone_add_index(struct pack_clone *clone, struct pack_error *err)
{
    const struct pack_permutation *rows = clone->params.rows;
    int64_t *index = malloc(rows->n * sizeof *index);
    if (!index)
        return pack_fail_memory(err, "the order of records");
    for (uint64_t i = 0; i < rows->n; i++)
        index[i] = (int64_t)pack_permutation_at(rows, i);
    hid_t group = H5Gopen2(clone->target, clone->params.group, H5P_DEFAULT);
    herr_t result = group < 0 ? -1 : write_index(group, index, rows->n);
    if (group >= 0)
        H5Gclose(group);
    free(index);
    return pack_clone_check(clone, INDEX, result, err);
}
