#include "libpack/hdf5/h5_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/h5_parts.h"
#include "libpack/base/size.h"

/* ------------------------------------------------------------- whole lists */

struct list {
    hid_t dataset, space, type; /* type: the file's in the machine's byte order */
    uint64_t n;
};

static void
close_list(struct list *list)
{
    if (list->type >= 0)
        H5Tclose(list->type);
    if (list->space >= 0)
        H5Sclose(list->space);
    if (list->dataset >= 0)
        H5Dclose(list->dataset);
}

static hid_t
native_type(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), native = -1;
    if (type >= 0) {
        native = H5Tget_native_type(type, H5T_DIR_ASCEND);
        H5Tclose(type);
    }
    return native;
}

static enum pack_status
describe_list(struct list *list, const char *path, uint64_t n_columns, uint64_t n_max,
              struct pack_error *err)
{
    hsize_t extent[PACK_RANK_MAX] = { 0 };
    list->space = H5Dget_space(list->dataset);
    list->type = native_type(list->dataset);
    int rank = list->space < 0 ? -1 : H5Sget_simple_extent_dims(list->space, extent, NULL);
    if (rank < 0 || list->type < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read the shape of '%s'", path);
    list->n = extent[0];
    if (n_columns == 1 && rank != 1)
        return pack_fail(err, PACK_ERR_FORMAT, "'%s' is not one-dimensional", path);
    if (n_columns != 1 && (rank != 2 || extent[1] != n_columns))
        return pack_fail(err, PACK_ERR_FORMAT, "'%s' is not of %" PRIu64 " columns", path,
                         n_columns);
    if (list->n > n_max)
        return pack_fail(err, PACK_ERR_LIMIT,
                         "'%s' has %" PRIu64 " entries, more than %" PRIu64, path,
                         list->n, n_max);
    return PACK_OK;
}

/* Opens a dataset of at most n_max entries, one-dimensional where they are one value each. */
static enum pack_status
open_list(int64_t file, const char *path, uint64_t n_columns, uint64_t n_max,
          struct list *list, struct pack_error *err)
{
    pack_h5_quiet();
    *list = (struct list){ .dataset = -1, .space = -1, .type = -1 };
    if (!pack_h5_path_exists((hid_t)file, path))
        return pack_fail(err, PACK_ERR_NOT_FOUND, "no dataset '%s'", path);
    list->dataset = H5Dopen2((hid_t)file, path, H5P_DEFAULT);
    if (list->dataset < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open dataset '%s'", path);
    enum pack_status status = describe_list(list, path, n_columns, n_max, err);
    if (status != PACK_OK)
        close_list(list);
    return status;
}

/* What numbers are read as: 8 bytes each. */
struct number_type {
    H5T_class_t class;
    hid_t memory;
    const char *name;
};

static enum pack_status
read_numbers(int64_t file, const char *path, const struct number_type *type,
             uint64_t n_columns, uint64_t n_max, void **values, uint64_t *n,
             struct pack_error *err)
{
    struct list list;
    enum pack_status status = open_list(file, path, n_columns, n_max, &list, err);
    if (status != PACK_OK)
        return status;
    void *read = list.n > SIZE_MAX / 8 / n_columns
                     ? NULL
                     : calloc(list.n ? list.n * n_columns : 1, 8);
    if (!read)
        status = pack_fail_memory(err, path);
    else if (H5Tget_class(list.type) != type->class)
        status = pack_fail(err, PACK_ERR_FORMAT, "'%s' is not of %s", path, type->name);
    else if (H5Dread(list.dataset, type->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) < 0)
        status = pack_h5_fail_read(err, list.dataset, "cannot read '%s'", path);
    close_list(&list);
    if (status != PACK_OK) {
        free(read);
        return status;
    }
    *values = read;
    *n = list.n;
    return PACK_OK;
}

enum pack_status
pack_h5_read_integers(int64_t file, const char *path, uint64_t n_max, int64_t **values,
                      uint64_t *n, struct pack_error *err)
{
    return pack_h5_read_integer_rows(file, path, 1, n_max, values, n, err);
}

enum pack_status
pack_h5_read_integer_rows(int64_t file, const char *path, uint64_t n_columns,
                          uint64_t n_max, int64_t **values, uint64_t *n,
                          struct pack_error *err)
{
    struct number_type type = { H5T_INTEGER, H5T_NATIVE_INT64, "integers" };
    void *read;
    enum pack_status status =
        read_numbers(file, path, &type, n_columns, n_max, &read, n, err);
    if (status == PACK_OK)
        *values = read;
    return status;
}

enum pack_status
pack_h5_read_floats(int64_t file, const char *path, uint64_t n_max, double **values,
                    uint64_t *n, struct pack_error *err)
{
    struct number_type type = { H5T_FLOAT, H5T_NATIVE_DOUBLE, "floating-point numbers" };
    void *read;
    enum pack_status status = read_numbers(file, path, &type, 1, n_max, &read, n, err);
    if (status == PACK_OK)
        *values = read;
    return status;
}

void
pack_h5_texts_free(char **texts, uint64_t n)
{
    for (uint64_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

/* Reads texts of variable length; HDF5's own copies are given back. */
static enum pack_status
read_variable(const struct list *list, const char *path, char **texts,
              struct pack_error *err)
{
    char **theirs = calloc(list->n ? list->n : 1, sizeof *theirs);
    enum pack_status status = PACK_OK;
    if (!theirs)
        return pack_fail_memory(err, path);
    if (H5Dread(list->dataset, list->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, theirs) < 0)
        status = pack_h5_fail_read(err, list->dataset, "cannot read '%s'", path);
    for (uint64_t i = 0; i < list->n && status == PACK_OK; i++)
        if (!(texts[i] = strdup(theirs[i] ? theirs[i] : "")))
            status = pack_fail_memory(err, path);
    H5Dvlen_reclaim(list->type, list->space, H5P_DEFAULT, theirs);
    free(theirs);
    return status;
}

static enum pack_status
read_fixed(const struct list *list, const char *path, char **texts,
           struct pack_error *err)
{
    uint64_t bytes, width = H5Tget_size(list->type);
    if (!pack_size_mul(width, list->n, &bytes) || bytes > UINT64_C(1) << 34)
        return pack_fail(err, PACK_ERR_LIMIT, "'%s' is larger than 16 GiB", path);
    char *all = malloc(bytes ? bytes : 1);
    enum pack_status status = PACK_OK;
    if (!all)
        return pack_fail_memory(err, path);
    if (H5Dread(list->dataset, list->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) < 0)
        status = pack_h5_fail_read(err, list->dataset, "cannot read '%s'", path);
    for (uint64_t i = 0; i < list->n && status == PACK_OK; i++)
        if (!(texts[i] = strndup(all + i * width, width)))
            status = pack_fail_memory(err, path);
    free(all);
    return status;
}

enum pack_status
pack_h5_read_texts(int64_t file, const char *path, uint64_t n_max, char ***texts,
                   uint64_t *n, struct pack_error *err)
{
    struct list list;
    enum pack_status status = open_list(file, path, 1, n_max, &list, err);
    if (status != PACK_OK)
        return status;
    char **read = calloc(list.n ? list.n : 1, sizeof *read);
    if (!read)
        status = pack_fail_memory(err, path);
    else if (H5Tget_class(list.type) != H5T_STRING)
        status = pack_fail(err, PACK_ERR_FORMAT, "'%s' is not of texts", path);
    else if (H5Tis_variable_str(list.type) > 0)
        status = read_variable(&list, path, read, err);
    else
        status = read_fixed(&list, path, read, err);
    close_list(&list);
    if (status != PACK_OK) {
        pack_h5_texts_free(read, list.n);
        return status;
    }
    *texts = read;
    *n = list.n;
    return PACK_OK;
}

static enum pack_status
read_text_attr(hid_t attr, hid_t type, const char *name, char **text,
               struct pack_error *err)
{
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0)
        return pack_fail(err, PACK_ERR_FORMAT,
                         "attribute %s is not a text of fixed length", name);
    size_t size = H5Tget_size(type);
    if (size > 1 << 20)
        return pack_fail(err, PACK_ERR_LIMIT, "attribute %s is longer than 1 MiB", name);
    char *read = calloc(size + 1, 1);
    if (!read)
        return pack_fail_memory(err, "attribute");
    if (H5Aread(attr, type, read) < 0) {
        free(read);
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read attribute %s", name);
    }
    *text = read;
    return PACK_OK;
}

/* An open attribute; what is not is -1. */
struct attr {
    hid_t id, type, space;
};

static void
close_attr(struct attr *attr)
{
    if (attr->space >= 0)
        H5Sclose(attr->space);
    if (attr->type >= 0)
        H5Tclose(attr->type);
    if (attr->id >= 0)
        H5Aclose(attr->id);
}

static enum pack_status
open_attr(int64_t file, const char *path, const char *name, struct attr *attr,
          struct pack_error *err)
{
    pack_h5_quiet();
    if (H5Aexists_by_name((hid_t)file, path, name, H5P_DEFAULT) <= 0)
        return pack_fail(err, PACK_ERR_NOT_FOUND, "no attribute %s", name);
    attr->id = H5Aopen_by_name((hid_t)file, path, name, H5P_DEFAULT, H5P_DEFAULT);
    attr->type = attr->id >= 0 ? H5Aget_type(attr->id) : -1;
    attr->space = attr->id >= 0 ? H5Aget_space(attr->id) : -1;
    if (attr->type >= 0 && attr->space >= 0)
        return PACK_OK;
    enum pack_status status =
        pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open attribute %s", name);
    close_attr(attr);
    return status;
}

enum pack_status
pack_h5_read_attr_text(int64_t file, const char *path, const char *name, char **text,
                       struct pack_error *err)
{
    struct attr attr;
    enum pack_status status = open_attr(file, path, name, &attr, err);
    if (status != PACK_OK)
        return status;
    if (H5Sget_simple_extent_npoints(attr.space) != 1)
        status = pack_fail(err, PACK_ERR_FORMAT, "attribute %s is not a scalar", name);
    else
        status = read_text_attr(attr.id, attr.type, name, text, err);
    close_attr(&attr);
    return status;
}

/* Of a class of types, read as `type`; `what` is the class in words. */
static enum pack_status
read_attr_numbers(int64_t file, const char *path, const char *name, H5T_class_t class,
                  uint64_t n, void *values, struct pack_error *err)
{
    struct attr attr;
    bool floats = class == H5T_FLOAT;
    enum pack_status status = open_attr(file, path, name, &attr, err);
    if (status != PACK_OK)
        return status;
    if (H5Sget_simple_extent_npoints(attr.space) != (hssize_t)n ||
        H5Tget_class(attr.type) != class)
        status =
            pack_fail(err, PACK_ERR_FORMAT, "attribute %s is not of %" PRIu64 " %s", name, n,
                      floats ? "floating-point numbers" : "integers");
    else if (H5Aread(attr.id, floats ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, values) < 0)
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read attribute %s", name);
    close_attr(&attr);
    return status;
}

enum pack_status
pack_h5_read_attr_integers(int64_t file, const char *path, const char *name, uint64_t n,
                           int64_t *values, struct pack_error *err)
{
    return read_attr_numbers(file, path, name, H5T_INTEGER, n, values, err);
}

enum pack_status
pack_h5_read_attr_floats(int64_t file, const char *path, const char *name, uint64_t n,
                         double *values, struct pack_error *err)
{
    return read_attr_numbers(file, path, name, H5T_FLOAT, n, values, err);
}
