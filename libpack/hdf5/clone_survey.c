/*
 * What the source has, found before anything is written. Objects are told apart by their
 * address (from HDF5 1.12 on by a token), so that several hard links lead to one of them.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/hdf5/clone_parts.h"
#include "libpack/hdf5/h5.h"

#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info2_t object_info;
#else
typedef H5O_info_t object_info;
#endif

static struct clone_key
key_of(const object_info *info)
{
    struct clone_key key = { { 0, 0 } };
#if H5_VERSION_GE(1, 12, 0)
    memcpy(&key, &info->token, sizeof key);
#else
    key.word[0] = info->addr;
#endif
    return key;
}

static bool
get_info(hid_t object, object_info *info)
{
#if H5_VERSION_GE(1, 12, 0)
    return H5Oget_info3(object, info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) >= 0;
#else
    return H5Oget_info2(object, info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) >= 0;
#endif
}

bool
pack_clone_key(hid_t object, struct clone_key *key)
{
    object_info info;
    if (!get_info(object, &info))
        return false;
    *key = key_of(&info);
    return true;
}

int
pack_clone_n_attributes(hid_t object)
{
    object_info info;
    return get_info(object, &info) && info.num_attrs <= INT_MAX ? (int)info.num_attrs
                                                                 : -1;
}

static int
compare_keys(const void *a, const void *b)
{
    const struct clone_key *x = a, *y = b; /* the first member of a place */
    if (x->word[0] != y->word[0])
        return x->word[0] < y->word[0] ? -1 : 1;
    return x->word[1] < y->word[1] ? -1 : x->word[1] > y->word[1];
}

struct clone_object *
pack_clone_find(const struct pack_clone *clone, const struct clone_key *key)
{
    const struct clone_place *place =
        bsearch(key, clone->places, clone->n_objects, sizeof *clone->places, compare_keys);
    return place ? &clone->objects[place->index] : NULL;
}

static enum pack_status
sort_places(struct pack_clone *clone, struct pack_error *err)
{
    clone->places = calloc(clone->n_objects + 1, sizeof *clone->places);
    if (!clone->places)
        return pack_fail_memory(err, "a list of objects");
    for (size_t i = 0; i < clone->n_objects; i++)
        clone->places[i] = (struct clone_place){ clone->objects[i].key, i };
    qsort(clone->places, clone->n_objects, sizeof *clone->places, compare_keys);
    return PACK_OK;
}

/* -------------------------------------------------------------------- types */

static void
add_needs(struct clone_needs *sum, struct clone_needs more)
{
    sum->references |= more.references;
    sum->pointers |= more.pointers;
    sum->new_references |= more.new_references;
}

static struct clone_needs
needs_of_members(hid_t type)
{
    struct clone_needs needs = { false, false, false };
    int n = H5Tget_nmembers(type);
    for (int i = 0; i < n; i++) {
        hid_t member = H5Tget_member_type(type, (unsigned)i);
        add_needs(&needs, pack_clone_needs(member));
        H5Tclose(member);
    }
    return needs;
}

static struct clone_needs
needs_of_super(hid_t type)
{
    hid_t super = H5Tget_super(type);
    struct clone_needs needs = pack_clone_needs(super);
    H5Tclose(super);
    return needs;
}

struct clone_needs
pack_clone_needs(hid_t type)
{
    struct clone_needs needs = { false, false, false };
    switch (H5Tget_class(type)) {
    case H5T_REFERENCE:
        needs.references = true;
        needs.new_references = H5Tequal(type, H5T_STD_REF_OBJ) <= 0 &&
                               H5Tequal(type, H5T_STD_REF_DSETREG) <= 0;
        break;
    case H5T_STRING: needs.pointers = H5Tis_variable_str(type) > 0; break;
    case H5T_COMPOUND: needs = needs_of_members(type); break;
    case H5T_ARRAY: needs = needs_of_super(type); break;
    case H5T_VLEN:
        needs = needs_of_super(type);
        needs.pointers = true;
        break;
    default: break;
    }
    return needs;
}

/* ----------------------------------------------------------------- refusals */

enum pack_status
pack_clone_refuse(const struct pack_clone *clone, const char *path, const char *what,
       struct pack_error *err)
{
    H5Eclear2(H5E_DEFAULT);
    return pack_fail(err, PACK_ERR_UNSUPPORTED,
                     "cannot carry over '%.200s:/%.200s': %s", clone->params.file,
                     strcmp(path, ".") == 0 ? "" : path, what);
}

static enum pack_status
check_type(const struct pack_clone *clone, const char *path, hid_t type,
           struct pack_error *err)
{
    if (type < 0)
        return pack_clone_refuse(clone, path, "its type cannot be read", err);
    return pack_clone_needs(type).new_references
               ? pack_clone_refuse(clone, path,
                                   "its references are of a form that only HDF5 1.12 and later "
                                   "know",
                                   err)
               : PACK_OK;
}

/* Whether HDF5 gives the values: what it stumbles over is found before anything is
 * written. */
static bool
is_read(hid_t attr, hid_t type, hid_t space, uint64_t bytes)
{
    void *data = calloc(1, bytes > 0 ? bytes : 1);
    bool good = data && H5Aread(attr, type, data) >= 0;
    if (good && pack_clone_needs(type).pointers)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
    free(data);
    return good;
}

static enum pack_status
check_attribute(struct pack_clone *clone, const char *path, hid_t object, unsigned i,
                struct pack_error *err)
{
    enum { PLAIN_HEADER_BYTES = 60000 }; /* larger ones need an object header of 1.8 */
    hid_t attr = H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT,
                                H5P_DEFAULT);
    if (attr < 0)
        return pack_clone_refuse(clone, path, "an attribute cannot be read", err);
    hid_t type = H5Aget_type(attr), space = H5Aget_space(attr);
    enum pack_status status = check_type(clone, path, type, err);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    uint64_t bytes = 0;
    bool is_counted =
        space >= 0 && pack_size_mul(n > 0 ? (uint64_t)n : 0, H5Tget_size(type), &bytes);
    if (bytes > PLAIN_HEADER_BYTES)
        clone->needs_v18 = true;
    if (status == PACK_OK &&
        (!is_counted || (n > 0 && !is_read(attr, type, space, bytes))))
        status = pack_clone_refuse(clone, path, "an attribute cannot be read", err);
    clone->counts.n_attributes++;
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Aclose(attr);
    return status;
}

static enum pack_status
check_filters(const struct pack_clone *clone, const char *path, hid_t dcpl,
              struct pack_error *err)
{
    struct pack_pipeline pipeline = { 0 };
    char need[PACK_FILTER_NEED_MAX];
    if (H5Pget_layout(dcpl) != H5D_CHUNKED)
        return PACK_OK;
    if (!pack_h5_read_pipeline(dcpl, &pipeline))
        return pack_clone_refuse(clone, path, "its filters cannot be read", err);
    for (int i = 0; i < pipeline.n; i++) {
        const struct pack_filter *filter = &pipeline.filter[i];
        if (filter->n_cd > PACK_FILTER_CD_MAX)
            return pack_clone_refuse(clone, path, "a filter of it has too many parameters",
                                     err);
        if ((filter->flags & PACK_FILTER_OPTIONAL) == 0 &&
            H5Zfilter_avail((H5Z_filter_t)filter->id) <= 0)
            return pack_clone_refuse(clone, path, pack_filter_need(filter->id, need), err);
    }
    return PACK_OK;
}

static enum pack_status
check_dataset(const struct pack_clone *clone, const char *path, hid_t set,
              struct pack_error *err)
{
    hid_t type = H5Dget_type(set), dcpl = H5Dget_create_plist(set);
    enum pack_status status = check_type(clone, path, type, err);
    if (status == PACK_OK && dcpl < 0)
        status = pack_clone_refuse(clone, path, "how it was created cannot be read", err);
    if (status == PACK_OK && H5Pget_external_count(dcpl) > 0)
        status = pack_clone_refuse(clone, path, "its data lies in files of its own", err);
    if (status == PACK_OK)
        status = check_filters(clone, path, dcpl, err);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

struct link_check {
    struct pack_clone *clone;
    const char *path;
    struct pack_error *err;
    enum pack_status status;
};

static herr_t
check_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)group, (void)name;
    struct link_check *check = context;
    check->clone->counts.n_links++;
    if (info->type != H5L_TYPE_HARD && info->type != H5L_TYPE_SOFT &&
        info->type != H5L_TYPE_EXTERNAL)
        check->status = pack_clone_refuse(check->clone, check->path,
                               "it has a link of a kind that is not known here", check->err);
    return check->status != PACK_OK;
}

static enum pack_status
check_links(struct pack_clone *clone, const char *path, hid_t group,
            struct pack_error *err)
{
    struct link_check check = { clone, path, err, PACK_OK };
    hsize_t at = 0;
    herr_t result =
        H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, check_link, &check);
    return check.status != PACK_OK ? check.status
           : result < 0 ? pack_clone_refuse(clone, path, "its links cannot be listed", err)
                        : PACK_OK;
}

/* ------------------------------------------------------------------- survey */

static enum pack_status
look_closely(struct pack_clone *clone, struct clone_object *object,
             struct pack_error *err)
{
    hid_t id = H5Oopen(clone->source, object->from, H5P_DEFAULT);
    if (id < 0)
        return pack_clone_refuse(clone, object->from, "it cannot be opened", err);
    enum pack_status status = PACK_OK;
    switch (object->kind) {
    case CLONE_GROUP:
        clone->counts.n_groups++;
        status = check_links(clone, object->from, id, err);
        break;
    case CLONE_DATASET:
        clone->counts.n_datasets++;
        status = check_dataset(clone, object->from, id, err);
        break;
    case CLONE_TYPE:
        clone->counts.n_types++;
        status = check_type(clone, object->from, id, err);
    }
    int n = pack_clone_n_attributes(id);
    if (n < 0 && status == PACK_OK)
        status =
            pack_clone_refuse(clone, object->from, "its attributes cannot be counted", err);
    for (int i = 0; i < n && status == PACK_OK; i++)
        status = check_attribute(clone, object->from, id, (unsigned)i, err);
    H5Oclose(id);
    return status;
}

struct listing {
    struct pack_clone *clone;
    struct pack_error *err;
    enum pack_status status;
};

static enum pack_status
add_object(struct pack_clone *clone, const char *path, const object_info *info,
           struct pack_error *err)
{
    if (clone->n_objects == clone->n_room) {
        size_t n = clone->n_room ? 2 * clone->n_room : 64;
        void *grown = reallocarray(clone->objects, n, sizeof *clone->objects);
        if (!grown)
            return pack_fail_memory(err, "a list of objects");
        clone->objects = grown;
        clone->n_room = n;
    }
    if (info->type != H5O_TYPE_GROUP && info->type != H5O_TYPE_DATASET &&
        info->type != H5O_TYPE_NAMED_DATATYPE)
        return pack_clone_refuse(clone, path, "it is no group, dataset or type", err);
    struct clone_object *object = &clone->objects[clone->n_objects];
    *object = (struct clone_object){ .key = key_of(info),
                                     .kind = info->type == H5O_TYPE_GROUP ? CLONE_GROUP
                                             : info->type == H5O_TYPE_DATASET
                                                 ? CLONE_DATASET
                                                 : CLONE_TYPE,
                                     .from = strdup(path),
                                     .type = -1,
                                     .set = clone->params.n_sets };
    if (!object->from)
        return pack_fail_memory(err, "a list of objects");
    clone->n_objects++;
    return PACK_OK;
}

static herr_t
list_object(hid_t root, const char *path, const object_info *info, void *context)
{
    (void)root;
    struct listing *listing = context;
    listing->status = add_object(listing->clone, path, info, listing->err);
    return listing->status != PACK_OK;
}

static bool
has_scales(const struct pack_clone *clone, const char *path)
{
    hid_t set = H5Dopen2(clone->source, path, H5P_DEFAULT);
    bool has = set >= 0 && H5Aexists(set, "DIMENSION_LIST") > 0;
    if (set >= 0)
        H5Dclose(set);
    return has;
}

struct clone_object *
pack_clone_dataset(const struct pack_clone *clone, const char *path)
{
    object_info here, there;
    hid_t id = H5Oopen(clone->source, path, H5P_DEFAULT);
    bool is_known = id >= 0 && get_info(id, &there) && get_info(clone->source, &here) &&
                    there.fileno == here.fileno;
    if (id >= 0)
        H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
    struct clone_key key = { { 0, 0 } };
    if (is_known)
        key = key_of(&there);
    struct clone_object *object = is_known ? pack_clone_find(clone, &key) : NULL;
    return object && object->kind == CLONE_DATASET ? object : NULL;
}

bool
pack_clone_is_of_classes(const char *name)
{
    return strcmp(name, "class_names") == 0;
}

/* Finds the datasets that are stored otherwise, by whatever link they are named. */
static enum pack_status
find_sets(struct pack_clone *clone, struct pack_error *err)
{
    for (size_t i = 0; i < clone->params.n_sets; i++) {
        const char *path = clone->params.sets[i].path;
        struct clone_object *object = pack_clone_dataset(clone, path);
        if (!object)
            return pack_clone_refuse(clone, path, "it is in another file", err);
        if (object->set != clone->params.n_sets)
            return pack_fail(err, PACK_ERR_ARGUMENT,
                             "'%.200s' and '%.200s' are one dataset, which is named twice",
                             clone->params.sets[object->set].path, path);
        object->set = i;
        if (clone->params.sets[i].axes && has_scales(clone, object->from))
            return pack_clone_refuse(clone, path,
                                     "it has dimension scales, which belong to axes that "
                                     "would be others",
                                     err);
    }
    return PACK_OK;
}

enum pack_status
pack_clone_survey(struct pack_clone *clone, struct pack_error *err)
{
    struct listing listing = { clone, err, PACK_OK };
#if H5_VERSION_GE(1, 12, 0)
    herr_t result = H5Ovisit3(clone->source, H5_INDEX_NAME, H5_ITER_INC, list_object,
                              &listing, H5O_INFO_BASIC);
#else
    herr_t result = H5Ovisit2(clone->source, H5_INDEX_NAME, H5_ITER_INC, list_object,
                              &listing, H5O_INFO_BASIC);
#endif
    if (listing.status != PACK_OK)
        return listing.status;
    if (result < 0)
        return pack_h5_fail(err, PACK_ERR_FORMAT, "cannot list the objects of '%s'",
                            clone->params.file);
    enum pack_status status = sort_places(clone, err);
    if (status == PACK_OK)
        status = find_sets(clone, err);
    if (status == PACK_OK && clone->params.rows)
        status = pack_clone_find_aligned(clone, err);
    if (status == PACK_OK && clone->params.pieces)
        status = pack_clone_find_pieces(clone, err);
    for (size_t i = 0; i < clone->n_objects && status == PACK_OK; i++) {
        status = look_closely(clone, &clone->objects[i], err);
        if (status == PACK_OK)
            status = pack_watch_check(&clone->params.watch, err);
    }
    return status;
}
