#include "libpack/hdf5/h5_number.h"

#include <stddef.h>

#include "libpack/hdf5/h5.h"
#include "libpack/hdf5/h5_parts.h"

/* Of IEEE 754: where the exponent and the mantissa are, in bits from the lowest. */
static const struct layout {
    size_t bytes, exponent_at, exponent_bits, bias;
} layouts[] = { { 2, 10, 5, 15 }, { 4, 23, 8, 127 }, { 8, 52, 11, 1023 } };

bool
pack_h5_is_ieee(hid_t type)
{
    size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
    if (H5Tget_norm(type) != H5T_NORM_IMPLIED ||
        H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
        return false;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const struct layout *l = &layouts[i];
        if (l->bytes == H5Tget_size(type))
            return sign == 8 * l->bytes - 1 && exponent == l->exponent_at &&
                   exponent_bits == l->exponent_bits && mantissa == 0 &&
                   mantissa_bits == l->exponent_at && H5Tget_ebias(type) == l->bias;
    }
    return false;
}

static bool
is_plain(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    H5T_order_t order = H5Tget_order(type);
    return (class == H5T_INTEGER || (class == H5T_FLOAT && pack_h5_is_ieee(type))) &&
           (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && H5Tget_offset(type) == 0 &&
           H5Tget_precision(type) == 8 * H5Tget_size(type);
}

bool
pack_h5_is_plain_number(const char *file, const char *path)
{
    int64_t opened = -1;
    bool good = false;
    if (pack_h5_open(file, NULL, &opened, NULL) != PACK_OK)
        return false;
    hid_t set = H5Dopen2(opened, path, H5P_DEFAULT);
    hid_t type = set < 0 ? -1 : H5Dget_type(set);
    if (type >= 0) {
        good = is_plain(type);
        H5Tclose(type);
    }
    if (set >= 0)
        H5Dclose(set);
    pack_h5_close(opened);
    return good;
}
