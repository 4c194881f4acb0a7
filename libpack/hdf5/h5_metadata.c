#include "libpack/hdf5/h5_metadata.h"

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

#if H5_VERSION_GE(1, 12, 0)
static herr_t
add_object(hid_t file, const char *name, const H5O_info2_t *unused, void *sum)
{
    H5O_native_info_t info;
    (void)unused;
    if (H5Oget_native_info_by_name(file, name, &info,
                                   H5O_NATIVE_INFO_HDR | H5O_NATIVE_INFO_META_SIZE,
                                   H5P_DEFAULT) < 0)
        return 0;
#else
static herr_t
add_object(hid_t file, const char *name, const H5O_info_t *given, void *sum)
{
    const H5O_info_t info = *given;
    (void)file;
    (void)name;
#endif
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
    H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_NATIVE, add_object, &sum, H5O_INFO_BASIC);
#else
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, add_object, &sum,
              H5O_INFO_HDR | H5O_INFO_META_SIZE);
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
