/*
 * Committed types come first, without a link. Then the links of one group after the other
 * are made, in the order in which they were, beginning with the root: the first hard link
 * that leads to an object creates it there, all others lead to that.
 */
#include <stdlib.h>
#include <string.h>

#include "libpack/hdf5/clone_parts.h"

hid_t
pack_clone_type(const struct pack_clone *clone, hid_t type)
{
    struct clone_key key;
    if (H5Tcommitted(type) > 0 && pack_clone_key(type, &key)) {
        const struct clone_object *object = pack_clone_find(clone, &key);
        if (object && object->type >= 0)
            return H5Iinc_ref(object->type) < 0 ? -1 : object->type;
    }
    return H5Tcopy(type);
}

hid_t
pack_clone_open_target(const struct pack_clone *clone, const struct clone_object *object)
{
    return object->to ? H5Oopen(clone->target, object->to, H5P_DEFAULT) : -1;
}

static herr_t
commit_type(const struct pack_clone *clone, struct clone_object *object)
{
    hid_t from = H5Topen2(clone->source, object->from, H5P_DEFAULT);
    hid_t list = from < 0 ? -1 : H5Tget_create_plist(from);
    hid_t copy = list < 0 ? -1 : H5Tcopy(from);
    herr_t result = -1;
    if (copy >= 0 && H5Pset_obj_track_times(list, false) >= 0)
        result = H5Tcommit_anon(clone->target, copy, list, H5P_DEFAULT);
    if (result >= 0)
        object->type = copy;
    else if (copy >= 0)
        H5Tclose(copy);
    if (list >= 0)
        H5Pclose(list);
    if (from >= 0)
        H5Tclose(from);
    return result;
}

/* ------------------------------------------------------------ new objects */

/* No chunks, and so no filters. */
static herr_t
set_contiguous(hid_t dcpl)
{
    herr_t result =
        H5Pget_nfilters(dcpl) > 0 ? H5Premove_filter(dcpl, H5Z_FILTER_ALL) : 0;
    if (result >= 0)
        result = H5Pset_layout(dcpl, H5D_CONTIGUOUS);
    return result < 0 ? result : H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_LATE);
}

/* Other chunks and filters in a creation list that is else the source's. */
static herr_t
set_storage(hid_t dcpl, const struct pack_clone_set *set)
{
    hsize_t chunk[PACK_RANK_MAX];
    if (set->is_contiguous)
        return set_contiguous(dcpl);
    for (int i = 0; i < set->chunk.rank; i++)
        chunk[i] = set->chunk.extent[i];
    unsigned options =
        set->edge_chunks_unfiltered ? H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS : 0;
    herr_t result = H5Pset_chunk(dcpl, set->chunk.rank, chunk);
    if (result >= 0)
        result = H5Pset_chunk_opts(dcpl, options);
    if (result >= 0)
        result = H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR);
    if (result >= 0 && H5Pget_nfilters(dcpl) > 0)
        result = H5Premove_filter(dcpl, H5Z_FILTER_ALL);
    for (int i = 0; i < set->pipeline.n && result >= 0; i++) {
        const struct pack_filter *filter = &set->pipeline.filter[i];
        result = H5Pset_filter(dcpl, (H5Z_filter_t)filter->id, filter->flags,
                               filter->n_cd, filter->cd);
    }
    return result;
}

static const struct pack_clone_set *
set_of(const struct pack_clone *clone, const struct clone_object *object)
{
    return object->set < clone->params.n_sets ? &clone->params.sets[object->set] : NULL;
}

/* A fill value was set, and is to be one of bytes. */
static herr_t
set_fill(hid_t dcpl, const struct pack_clone_set *set)
{
    H5D_fill_value_t is_defined;
    herr_t result = H5Pfill_value_defined(dcpl, &is_defined);
    return result >= 0 && is_defined == H5D_FILL_VALUE_USER_DEFINED
               ? H5Pset_fill_value(dcpl, H5T_NATIVE_UCHAR, &set->fill)
               : result;
}

/* The source's extent, its axes in their new order, and none to grow without chunks; to be
 * closed. */
static hid_t
space_of(hid_t from, const struct pack_clone_set *set)
{
    hsize_t extent[H5S_MAX_RANK], max[H5S_MAX_RANK], turned[2][H5S_MAX_RANK];
    hid_t space = H5Dget_space(from);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, extent, max);
    if (!set || rank <= 0)
        return space;
    for (int i = 0; i < rank; i++) {
        int axis = set->axes ? set->axes[i] : i;
        turned[0][i] = extent[axis];
        turned[1][i] = set->is_contiguous ? extent[axis] : max[axis];
    }
    if (H5Sset_extent_simple(space, rank, turned[0], turned[1]) < 0) {
        H5Sclose(space);
        return -1;
    }
    return space;
}

static hid_t
create_dataset(struct pack_clone *clone, const struct clone_object *object, hid_t group,
               const char *name, hid_t lcpl)
{
    const struct pack_clone_set *set = set_of(clone, object);
    hid_t from = H5Dopen2(clone->source, object->from, H5P_DEFAULT), made = -1;
    if (from < 0)
        return -1;
    hid_t dcpl = H5Dget_create_plist(from), space = space_of(from, set);
    hid_t source_type = H5Dget_type(from);
    bool is_narrowed = set && set->is_narrowed;
    hid_t type = source_type < 0 ? -1
                 : is_narrowed   ? H5Tcopy(H5T_STD_U8LE)
                                 : pack_clone_type(clone, source_type);
    herr_t result = type < 0 ? -1 : H5Pset_obj_track_times(dcpl, false);
    if (result >= 0)
        result = pack_clone_set_piece(clone, object, space, dcpl);
    if (result >= 0 && set)
        result = set_storage(dcpl, set);
    if (result >= 0 && is_narrowed)
        result = set_fill(dcpl, set);
    if (result >= 0)
        made = H5Dcreate2(group, name, type, space, lcpl, dcpl, H5P_DEFAULT);
    if (type >= 0)
        H5Tclose(type);
    if (source_type >= 0)
        H5Tclose(source_type);
    if (space >= 0)
        H5Sclose(space);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    H5Dclose(from);
    return made;
}

/* How a group was created, to be closed. HDF5's own list says besides where the links of the
 * source lie, if they are many, and a group made with it would look for them there. */
static hid_t
group_list(hid_t group)
{
    unsigned links = 0, attributes = 0, most, least;
    size_t heap_bytes = 0;
    hid_t from = H5Gget_create_plist(group), to = H5Pcreate(H5P_GROUP_CREATE);
    bool good = from >= 0 && to >= 0 && H5Pget_link_creation_order(from, &links) >= 0 &&
                H5Pset_link_creation_order(to, links) >= 0 &&
                H5Pget_attr_creation_order(from, &attributes) >= 0 &&
                H5Pset_attr_creation_order(to, attributes) >= 0 &&
                H5Pget_link_phase_change(from, &most, &least) >= 0 &&
                H5Pset_link_phase_change(to, most, least) >= 0 &&
                H5Pget_attr_phase_change(from, &most, &least) >= 0 &&
                H5Pset_attr_phase_change(to, most, least) >= 0 &&
                H5Pget_est_link_info(from, &most, &least) >= 0 &&
                H5Pset_est_link_info(to, most, least) >= 0 &&
                H5Pget_local_heap_size_hint(from, &heap_bytes) >= 0 &&
                H5Pset_local_heap_size_hint(to, heap_bytes) >= 0;
    if (from >= 0)
        H5Pclose(from);
    if (!good && to >= 0)
        H5Pclose(to);
    return good ? to : -1;
}

static herr_t
create_group(struct pack_clone *clone, const struct clone_object *object, hid_t group,
             const char *name, hid_t lcpl)
{
    hid_t from = H5Gopen2(clone->source, object->from, H5P_DEFAULT), made = -1;
    hid_t gcpl = from < 0 ? -1 : group_list(from);
    if (gcpl >= 0 && H5Pset_obj_track_times(gcpl, false) >= 0)
        made = H5Gcreate2(group, name, lcpl, gcpl, H5P_DEFAULT);
    if (made >= 0)
        H5Gclose(made);
    if (gcpl >= 0)
        H5Pclose(gcpl);
    if (from >= 0)
        H5Gclose(from);
    return made < 0 ? -1 : 0;
}

/* Creates an object where its first link is. */
static herr_t
create_object(struct pack_clone *clone, struct clone_object *object, hid_t group,
              const char *name, hid_t lcpl)
{
    hid_t set;
    switch (object->kind) {
    case CLONE_TYPE: return H5Olink(object->type, group, name, lcpl, H5P_DEFAULT);
    case CLONE_GROUP:
        clone->queue[clone->n_queue++] = (size_t)(object - clone->objects);
        return create_group(clone, object, group, name, lcpl);
    case CLONE_DATASET: break;
    }
    set = create_dataset(clone, object, group, name, lcpl);
    if (set >= 0 && object->set < clone->params.n_sets)
        clone->sets[object->set] = set;
    else if (set >= 0)
        H5Dclose(set);
    return set < 0 ? -1 : 0;
}

/* -------------------------------------------------------------------- links */

/* The group whose links are being made. */
struct linking {
    struct pack_clone *clone;
    const struct clone_object *parent;
    hid_t from, to;
    struct pack_error *err;
    enum pack_status status;
};

static char *
join(const char *parent, const char *name)
{
    size_t size = strlen(parent) + strlen(name) + 2;
    char *path = malloc(size);
    bool is_root = strcmp(parent, "/") == 0;
    if (path) {
        strcpy(path, is_root ? "" : parent);
        strcat(path, "/");
        strcat(path, name);
    }
    return path;
}

static herr_t
link_hard(struct linking *linking, const char *name, hid_t lcpl)
{
    struct clone_key key;
    hid_t child = H5Oopen(linking->from, name, H5P_DEFAULT);
    bool is_known = child >= 0 && pack_clone_key(child, &key);
    if (child >= 0)
        H5Oclose(child);
    struct clone_object *object = is_known ? pack_clone_find(linking->clone, &key) : NULL;
    if (!object)
        return -1;
    if (object->to)
        return H5Lcreate_hard(linking->clone->target, object->to, linking->to, name, lcpl,
                              H5P_DEFAULT);
    object->to = join(linking->parent->to, name);
    return object->to ? create_object(linking->clone, object, linking->to, name, lcpl)
                      : -1;
}

static herr_t
link_by_name(struct linking *linking, const char *name, const H5L_info_t *info,
             hid_t lcpl)
{
    const char *file, *path;
    herr_t result = -1;
    char *value = calloc(1, info->u.val_size + 1);
    if (value && H5Lget_val(linking->from, name, value, info->u.val_size,
                            H5P_DEFAULT) >= 0) {
        if (info->type == H5L_TYPE_SOFT)
            result = H5Lcreate_soft(value, linking->to, name, lcpl, H5P_DEFAULT);
        else if (H5Lunpack_elink_val(value, info->u.val_size, NULL, &file, &path) >= 0)
            result = H5Lcreate_external(file, path, linking->to, name, lcpl, H5P_DEFAULT);
    }
    free(value);
    return result;
}

static herr_t
make_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)group;
    struct linking *linking = context;
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    herr_t result = lcpl < 0 ? -1 : H5Pset_char_encoding(lcpl, info->cset);
    if (result >= 0)
        result = info->type == H5L_TYPE_HARD ? link_hard(linking, name, lcpl)
                                             : link_by_name(linking, name, info, lcpl);
    if (result < 0 || linking->clone->count.write_errno) {
        char *path = join(linking->parent->to, name);
        linking->status =
            pack_clone_fail(linking->clone, path ? path : name, linking->err);
        free(path);
    }
    if (lcpl >= 0)
        H5Pclose(lcpl);
    return linking->status != PACK_OK;
}

static enum pack_status
link_group(struct pack_clone *clone, const struct clone_object *parent,
           struct pack_error *err)
{
    struct linking linking = { clone, parent, -1, -1, err, PACK_OK };
    unsigned flags = 0;
    hsize_t at = 0;
    herr_t result = -1;
    linking.from = H5Gopen2(clone->source, parent->from, H5P_DEFAULT);
    linking.to = H5Gopen2(clone->target, parent->to, H5P_DEFAULT);
    hid_t gcpl = linking.from < 0 ? -1 : H5Gget_create_plist(linking.from);
    if (linking.to >= 0 && gcpl >= 0 && H5Pget_link_creation_order(gcpl, &flags) >= 0) {
        bool is_ordered = flags & H5P_CRT_ORDER_TRACKED;
        result = H5Literate(linking.from, is_ordered ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME,
                            H5_ITER_INC, &at, make_link, &linking);
    }
    enum pack_status status = linking.status;
    if (status == PACK_OK)
        status = pack_clone_check(clone, parent->from, result, err);
    if (gcpl >= 0)
        H5Pclose(gcpl);
    if (linking.to >= 0)
        H5Gclose(linking.to);
    if (linking.from >= 0)
        H5Gclose(linking.from);
    return status;
}

static enum pack_status
enqueue_root(struct pack_clone *clone, struct pack_error *err)
{
    struct clone_key key;
    struct clone_object *root =
        pack_clone_key(clone->source, &key) ? pack_clone_find(clone, &key) : NULL;
    if (!root)
        return pack_clone_fail(clone, "", err);
    root->to = strdup("/");
    if (!root->to)
        return pack_fail_memory(err, "a path");
    clone->queue[clone->n_queue++] = (size_t)(root - clone->objects);
    return PACK_OK;
}

enum pack_status
pack_clone_objects(struct pack_clone *clone, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    clone->queue = calloc(clone->n_objects, sizeof *clone->queue);
    if (!clone->queue)
        return pack_fail_memory(err, "a list of groups");
    for (size_t i = 0; i < clone->n_objects && status == PACK_OK; i++)
        if (clone->objects[i].kind == CLONE_TYPE)
            status = pack_clone_check(clone, clone->objects[i].from,
                                      commit_type(clone, &clone->objects[i]), err);
    if (status == PACK_OK)
        status = enqueue_root(clone, err);
    for (size_t i = 0; i < clone->n_queue && status == PACK_OK; i++) {
        status = link_group(clone, &clone->objects[clone->queue[i]], err);
        if (status == PACK_OK)
            status = pack_watch_check(&clone->params.watch, err);
    }
    return status;
}
