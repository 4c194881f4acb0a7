#include "libpack/hdf5/h5_metadata.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"

static void
add(uint64_t *sum, uint64_t bytes)
{
    if (!pack_size_add(*sum, bytes, sum))
        *sum = UINT64_MAX;
}

static void
add_file(hid_t file, uint64_t *sum)
{
    H5F_info2_t info;
    if (H5Fget_info2(file, &info) < 0)
        return;
    add(sum, info.super.super_ext_size);
    add(sum, info.free.meta_size);
    add(sum, info.sohm.hdr_size);
    add(sum, info.sohm.msgs_info.index_size);
    add(sum, info.sohm.msgs_info.heap_size);
}

/* What texts or sequences take in a heap, where each has a head, too. */
static uint64_t
count_heap(hid_t type, size_t n, const void *values)
{
    enum { HEAD_BYTES = 16 };
    uint64_t sum = n * (uint64_t)HEAD_BYTES;
    hid_t item = H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1;
    for (size_t i = 0; i < n; i++)
        if (item >= 0)
            add(&sum, ((const hvl_t *)values)[i].len * H5Tget_size(item));
        else if (((char *const *)values)[i])
            add(&sum, strlen(((char *const *)values)[i]) + 1);
    if (item >= 0)
        H5Tclose(item);
    return sum;
}

static herr_t
add_attribute(hid_t object, const char *name, const H5A_info_t *info, void *sum)
{
    enum { VALUES_MAX = 1 << 20 };
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    bool is_in_heap = H5Tis_variable_str(type) > 0 || H5Tget_class(type) == H5T_VLEN;
    void *values = is_in_heap && n > 0 && n <= VALUES_MAX ? calloc((size_t)n, sizeof(hvl_t)) : NULL;
    (void)info;
    if (values && H5Aread(attribute, type, values) >= 0) {
        add(sum, count_heap(type, (size_t)n, values));
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    }
    free(values);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return 0;
}

/* Of an object's attributes, whose values may lie apart. */
static void
add_attributes(hid_t file, const char *name, uint64_t n, uint64_t *sum)
{
    hsize_t at = 0;
    if (n > 0)
        H5Aiterate_by_name(file, name, H5_INDEX_NAME, H5_ITER_NATIVE, &at, add_attribute, sum,
                           H5P_DEFAULT);
}

#if H5_VERSION_GE(1, 12, 0)
static herr_t
add_object(hid_t file, const char *name, const H5O_info2_t *given, void *sum)
{
    H5O_native_info_t info;
    if (H5Oget_native_info_by_name(file, name, &info,
                                   H5O_NATIVE_INFO_HDR | H5O_NATIVE_INFO_META_SIZE,
                                   H5P_DEFAULT) < 0)
        return 0;
#else
static herr_t
add_object(hid_t file, const char *name, const H5O_info_t *given, void *sum)
{
    const H5O_info_t info = *given;
#endif
    add_attributes(file, name, given->num_attrs, sum);
    add(sum, info.hdr.space.total);
    add(sum, info.meta_size.obj.index_size);
    add(sum, info.meta_size.obj.heap_size);
    add(sum, info.meta_size.attr.index_size);
    add(sum, info.meta_size.attr.heap_size);
    return 0;
}

uint64_t
pack_h5_metadata_bytes(hid_t file)
{
    uint64_t sum = 0;
    add_file(file, &sum);
#if H5_VERSION_GE(1, 12, 0)
    H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_NATIVE, add_object, &sum,
              H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS);
#else
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, add_object, &sum,
              H5O_INFO_HDR | H5O_INFO_META_SIZE | H5O_INFO_NUM_ATTRS);
#endif
    return sum;
}

uint64_t
pack_h5_page_bytes(hid_t file)
{
    H5F_fspace_strategy_t strategy;
    hbool_t persists;
    hsize_t threshold, bytes = 0;
    hid_t plist = H5Fget_create_plist(file);
    if (plist < 0)
        return 0;
    if (H5Pget_file_space_strategy(plist, &strategy, &persists, &threshold) < 0 ||
        strategy != H5F_FSPACE_STRATEGY_PAGE ||
        H5Pget_file_space_page_size(plist, &bytes) < 0)
        bytes = 0;
    H5Pclose(plist);
    return bytes;
}
