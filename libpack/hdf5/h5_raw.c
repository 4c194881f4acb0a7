/* A read with the file's own type as memory type converts nothing. */
#include "libpack/hdf5/h5_raw.h"

#include <string.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"

/* The dataset's creation list, of which the fill value is taken in type `type`. */
static bool
get_fill(hid_t set, hid_t type, void *fill)
{
    hid_t creation = H5Dget_create_plist(set);
    bool good = creation >= 0 && H5Pget_fill_value(creation, type, fill) >= 0;
    if (creation >= 0)
        H5Pclose(creation);
    return good;
}

static bool
get_data(hid_t set, hid_t type, void *data)
{
    return H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
}

static enum pack_status
with_dataset(int64_t file, const char *path, bool (*get)(hid_t set, hid_t type, void *to),
             void *to, struct pack_error *err)
{
    pack_h5_quiet();
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    hid_t type = set < 0 ? -1 : H5Dget_type(set);
    enum pack_status status = PACK_OK;
    if (type < 0 || !get(set, type, to))
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read '%.200s'", path);
    if (type >= 0)
        H5Tclose(type);
    if (set >= 0)
        H5Dclose(set);
    return status;
}

enum pack_status
pack_h5_raw_fill(int64_t file, const char *path, const struct pack_facts *facts,
                 void *fill, struct pack_error *err)
{
    memset(fill, 0, facts->type.bytes);
    if (facts->fill != PACK_FILL_USER || pack_facts_skip_missing(facts))
        return PACK_OK;
    return with_dataset(file, path, get_fill, fill, err);
}

enum pack_status
pack_h5_raw_data(int64_t file, const char *path, void *data, struct pack_error *err)
{
    return with_dataset(file, path, get_data, data, err);
}

static enum pack_status
open_type(const char *name, const char *path, hid_t *type, struct pack_error *err)
{
    int64_t file = -1;
    enum pack_status status = pack_h5_open(name, NULL, &file, err);
    if (status != PACK_OK)
        return status;
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    hid_t stored = set < 0 ? -1 : H5Dget_type(set);
    *type = stored < 0 ? -1 : H5Tcopy(stored); /* which does not keep the file open */
    if (*type < 0)
        status = pack_h5_fail(err, PACK_ERR_FORMAT, "cannot read '%s:/%.200s'", name, path);
    if (stored >= 0)
        H5Tclose(stored);
    if (set >= 0)
        H5Dclose(set);
    pack_h5_close(file);
    return status;
}

enum pack_status
pack_h5_same_type(const char *file, const char *path, const char *other_file,
                  const char *other_path, bool *same, struct pack_error *err)
{
    hid_t one = -1, other = -1;
    enum pack_status status = open_type(file, path, &one, err);
    if (status == PACK_OK)
        status = open_type(other_file, other_path, &other, err);
    if (status == PACK_OK)
        *same = H5Tequal(one, other) > 0;
    if (one >= 0)
        H5Tclose(one);
    if (other >= 0)
        H5Tclose(other);
    return status;
}
