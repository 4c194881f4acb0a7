/*
 * What a path inside a file leads to. HDF5 calls a path missing whether nothing has that
 * name or a link of that name leads nowhere; who moved one of two files wants to know
 * which.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"

enum { LINK_BYTES_MAX = 64 << 10, PATH_BYTES_MAX = 64 << 10 };

/* The first `length` characters of a path lead to a link. */
static bool
is_link(hid_t file, const char *path, size_t length, char *prefix)
{
    memcpy(prefix, path, length);
    prefix[length] = '\0';
    while (length > 0 && path[length - 1] == '/')
        length--;
    if (length == 0 || (path[length - 1] == '.' && (length == 1 || path[length - 2] == '/')))
        return true; /* the root, or a group itself */
    return H5Lexists(file, prefix, H5P_DEFAULT) > 0;
}

/* Every step of the path is a link that is there; HDF5 refuses to be asked about the last
 * one when an earlier one is missing. Allocates nothing: without memory a dataset would be
 * told to be missing. */
bool
pack_h5_path_exists(hid_t file, const char *path)
{
    char prefix[PATH_BYTES_MAX];
    size_t length = strlen(path);
    bool exists = length > 0 && length < sizeof prefix;
    for (size_t i = 1; exists && i <= length; i++)
        if (path[i] == '/' || path[i] == '\0')
            exists = is_link(file, path, i, prefix);
    return exists && H5Oexists_by_name(file, path, H5P_DEFAULT) > 0;
}

bool
pack_h5_is_dataset(int64_t file, const char *path)
{
    pack_h5_quiet();
    if (!pack_h5_path_exists(file, path))
        return false;
    hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0)
        return false;
    bool is_dataset = H5Iget_type(object) == H5I_DATASET;
    H5Oclose(object);
    return is_dataset;
}

/* ------------------------------------------------------------- links to nowhere */

/* What a soft or external link says, as HDF5 packs it; NULL: it is neither. */
static char *
read_link(hid_t file, const char *path, H5L_info_t *info)
{
    if (H5Lget_info(file, path, info, H5P_DEFAULT) < 0 ||
        (info->type != H5L_TYPE_SOFT && info->type != H5L_TYPE_EXTERNAL) ||
        info->u.val_size == 0 || info->u.val_size > LINK_BYTES_MAX)
        return NULL;
    char *value = calloc(1, info->u.val_size + 1);
    if (value && H5Lget_val(file, path, value, info->u.val_size, H5P_DEFAULT) < 0) {
        free(value);
        value = NULL;
    }
    return value;
}

/* Says where a link leads, if that is nowhere. */
static bool
explain_link(hid_t file, const char *path, struct pack_error *err)
{
    H5L_info_t info;
    const char *target, *object;
    if (H5Oexists_by_name(file, path, H5P_DEFAULT) > 0)
        return false;
    char *value = read_link(file, path, &info);
    bool is_external = value && info.type == H5L_TYPE_EXTERNAL;
    bool is_known = value != NULL;
    if (is_external)
        is_known = H5Lunpack_elink_val(value, info.u.val_size, NULL, &target, &object) >= 0;
    if (is_known && is_external)
        pack_fail(err, PACK_ERR_NOT_FOUND,
                  "'%.200s' is an external link to '%.200s' in '%.200s', which is not "
                  "there",
                  path, object, target);
    else if (is_known)
        pack_fail(err, PACK_ERR_NOT_FOUND,
                  "'%.200s' is a link to '%.200s', which is not there", path, value);
    free(value);
    return is_known;
}

enum pack_status
pack_h5_fail_missing(hid_t file, const char *path, struct pack_error *err)
{
    size_t length = strlen(path);
    char *prefix = malloc(length + 1);
    bool is_explained = false, exists = prefix != NULL;
    for (size_t i = 1; exists && !is_explained && i <= length; i++)
        if (path[i] == '/' || path[i] == '\0') {
            exists = is_link(file, path, i, prefix);
            is_explained = exists && explain_link(file, prefix, err);
        }
    free(prefix);
    return is_explained ? PACK_ERR_NOT_FOUND
                        : pack_fail(err, PACK_ERR_NOT_FOUND,
                                    "there is no dataset '%.200s'", path);
}

/* ---------------------------------------------------------------- other files */

enum pack_status
pack_h5_data_file(int64_t file, const char *path, char **name, struct pack_error *err)
{
    pack_h5_quiet();
    hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    ssize_t length = object < 0 ? -1 : H5Fget_name(object, NULL, 0);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text)
        H5Fget_name(object, text, (size_t)length + 1);
    if (object >= 0)
        H5Oclose(object);
    if (length < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot open '%.200s'", path);
    if (!text)
        return pack_fail_memory(err, "a file's name");
    *name = text;
    return PACK_OK;
}
