/* References among values in memory, made to lead to the copy's objects. */
#include <string.h>

#include "libpack/hdf5/clone_parts.h"

static bool
is_null(const void *reference, size_t size)
{
    static const unsigned char zeros[sizeof(hdset_reg_ref_t)];
    return memcmp(reference, zeros, size) == 0;
}

/* What leads nowhere, or where only a part of the file led that is gone, becomes null. */
static enum pack_status
set_null(struct pack_clone *clone, void *reference, size_t size)
{
    H5Eclear2(H5E_DEFAULT);
    clone->counts.n_null_references++;
    memset(reference, 0, size);
    return PACK_OK;
}

/* The copy's object that a reference is to lead to; NULL: there is none. */
static struct clone_object *
referenced(const struct pack_clone *clone, H5R_type_t kind, const void *reference)
{
    struct clone_key key;
    hid_t object = H5Rdereference2(clone->source, H5P_DEFAULT, kind, reference);
    bool is_known = object >= 0 && pack_clone_key(object, &key);
    if (object >= 0)
        H5Oclose(object);
    return is_known ? pack_clone_find(clone, &key) : NULL;
}

/* The region of the copy that one of the source is in; 0: none of it is there; -1: it cannot
 * be had. */
static hid_t
region_in(struct pack_clone *clone, const struct clone_object *object, hid_t region,
          hid_t target)
{
    hid_t to = pack_clone_region(clone, object, region, target);
    hssize_t before = H5Sget_select_npoints(region), n = to < 0 ? -1 : H5Sget_select_npoints(to);
    if (n != 0 || before == 0)
        return to;
    H5Sclose(to);
    return 0;
}

static enum pack_status
translate_reference(struct pack_clone *clone, H5R_type_t kind, void *at, size_t size,
                    struct pack_error *err)
{
    unsigned char from[sizeof(hdset_reg_ref_t)], to[sizeof(hdset_reg_ref_t)] = { 0 };
    if (is_null(at, size))
        return PACK_OK;
    memcpy(from, at, size);
    const struct clone_object *object = referenced(clone, kind, from);
    if (!object)
        return set_null(clone, at, size);
    hid_t space = -1, target = pack_clone_open_target(clone, object);
    bool is_there = true;
    if (kind == H5R_DATASET_REGION && target >= 0) {
        hid_t region = H5Rget_region(clone->source, kind, from);
        space = region < 0 ? 0 : region_in(clone, object, region, target);
        is_there = space != 0;
        if (region >= 0)
            H5Sclose(region);
    }
    herr_t result = target < 0 ? -1 : is_there ? H5Rcreate(to, target, ".", kind, space) : 0;
    enum pack_status status = pack_clone_check(clone, object->from, result, err);
    if (space > 0)
        H5Sclose(space);
    if (target >= 0)
        H5Oclose(target);
    if (!is_there)
        return set_null(clone, at, size);
    memcpy(at, to, size);
    return status;
}

static enum pack_status
translate_references(struct pack_clone *clone, hid_t type, unsigned char *data, size_t n,
                     struct pack_error *err)
{
    bool is_region = H5Tequal(type, H5T_STD_REF_DSETREG) > 0;
    H5R_type_t kind = is_region ? H5R_DATASET_REGION : H5R_OBJECT;
    size_t size = is_region ? sizeof(hdset_reg_ref_t) : sizeof(hobj_ref_t);
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < n && status == PACK_OK; i++)
        status = translate_reference(clone, kind, data + i * size, size, err);
    return status;
}

static enum pack_status
translate_members(struct pack_clone *clone, hid_t type, unsigned char *data, size_t n,
                  struct pack_error *err)
{
    size_t size = H5Tget_size(type);
    int n_members = H5Tget_nmembers(type);
    enum pack_status status = PACK_OK;
    for (int m = 0; m < n_members && status == PACK_OK; m++) {
        hid_t member = H5Tget_member_type(type, (unsigned)m);
        size_t offset = H5Tget_member_offset(type, (unsigned)m);
        if (pack_clone_needs(member).references)
            for (size_t i = 0; i < n && status == PACK_OK; i++)
                status = pack_clone_translate(clone, member, data + i * size + offset, 1,
                                              err);
        H5Tclose(member);
    }
    return status;
}

static enum pack_status
translate_sequences(struct pack_clone *clone, hid_t super, unsigned char *data, size_t n,
                    struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < n && status == PACK_OK; i++) {
        hvl_t sequence;
        memcpy(&sequence, data + i * sizeof sequence, sizeof sequence);
        if (sequence.len > 0)
            status = pack_clone_translate(clone, super, sequence.p, sequence.len, err);
    }
    return status;
}

enum pack_status
pack_clone_translate(struct pack_clone *clone, hid_t type, void *data, size_t n,
                     struct pack_error *err)
{
    H5T_class_t class_id = H5Tget_class(type);
    if (!pack_clone_needs(type).references)
        return PACK_OK;
    if (class_id == H5T_REFERENCE)
        return translate_references(clone, type, data, n, err);
    if (class_id == H5T_COMPOUND)
        return translate_members(clone, type, data, n, err);
    hid_t super = H5Tget_super(type);
    enum pack_status status =
        class_id == H5T_VLEN
            ? translate_sequences(clone, super, data, n, err)
            : pack_clone_translate(clone, super, data,
                                   n * (H5Tget_size(type) / H5Tget_size(super)), err);
    H5Tclose(super);
    return status;
}
