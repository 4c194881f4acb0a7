/* Facts for those who have a file's name and nothing else. */
#include <libpack/dataset.h>

#include "libpack/base/check.h"
#include "libpack/hdf5/h5.h"

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
