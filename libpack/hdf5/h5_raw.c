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
