/* Chunks on their way through the counting driver. */
#include "libpack/hdf5/h5_placing.h"

enum pack_h5_action
pack_h5_placing_meet(struct pack_h5_placing *placing, struct pack_h5_count *count,
                     const struct pack_h5_access *access, const void *data)
{
    if (!placing || !access->raw)
        return PACK_H5_PASS;
    if (data != placing->data || access->size != placing->size)
        return placing->is_alone ? PACK_H5_SWALLOW : PACK_H5_PASS;
    placing->seen = true;
    placing->address = access->address;
    if (!placing->replayed)
        return PACK_H5_PASS;
    if (placing->address != placing->expected)
        count->discard = true; /* this is another file: leave it alone */
    return PACK_H5_SWALLOW;
}
