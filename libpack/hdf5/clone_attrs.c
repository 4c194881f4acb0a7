/* Attributes, in the order in which they were made where the object keeps that. They come
 * when all objects are there, as they may refer to them. */
#include <stdlib.h>
#include <string.h>

#include "libpack/base/size.h"
#include "libpack/hdf5/clone_parts.h"
#include "libpack/hdf5/h5.h"

/* One attribute on its way; ids below 0 are a failure of HDF5. */
struct attribute {
    hid_t from, to, type, file_type, space, acpl;
    char *name;
    void *data;
};

static void
attribute_done(struct attribute *a)
{
    if (a->data && pack_clone_needs(a->type).pointers)
        H5Dvlen_reclaim(a->type, a->space, H5P_DEFAULT, a->data);
    free(a->data);
    free(a->name);
    if (a->to >= 0)
        H5Aclose(a->to);
    if (a->acpl >= 0)
        H5Pclose(a->acpl);
    if (a->space >= 0)
        H5Sclose(a->space);
    if (a->file_type >= 0)
        H5Tclose(a->file_type);
    if (a->type >= 0)
        H5Tclose(a->type);
    if (a->from >= 0)
        H5Aclose(a->from);
}

static bool
read_attribute(const struct pack_clone *clone, hid_t object, H5_index_t order, unsigned i,
               struct attribute *a)
{
    a->from =
        H5Aopen_by_idx(object, ".", order, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
    if (a->from < 0)
        return false;
    a->type = H5Aget_type(a->from);
    a->space = H5Aget_space(a->from);
    a->acpl = H5Aget_create_plist(a->from);
    ssize_t length = H5Aget_name(a->from, 0, NULL);
    if (a->type < 0 || a->space < 0 || a->acpl < 0 || length < 0)
        return false;
    a->file_type = pack_clone_type(clone, a->type);
    a->name = malloc((size_t)length + 1);
    return a->file_type >= 0 && a->name &&
           H5Aget_name(a->from, (size_t)length + 1, a->name) >= 0;
}

static const struct pack_clone_set *
set_of(const struct pack_clone *clone, const struct clone_object *object)
{
    return object->set < clone->params.n_sets ? &clone->params.sets[object->set] : NULL;
}

/* The words of an attribute that has one for each axis follow these. */
static enum pack_status
turn_values(const struct pack_clone *clone, const struct clone_object *object,
            struct attribute *a, size_t n, struct pack_error *err)
{
    const struct pack_clone_set *set = set_of(clone, object);
    size_t size = H5Tget_size(a->type);
    if (!set || !set->axes || strcmp(a->name, "DIMENSION_LABELS") != 0 ||
        n != (size_t)set->chunk.rank)
        return PACK_OK;
    unsigned char *turned = malloc(n * size);
    if (!turned)
        return pack_fail_memory(err, "an attribute");
    for (size_t i = 0; i < n; i++)
        memcpy(turned + i * size, (unsigned char *)a->data + (size_t)set->axes[i] * size, size);
    memcpy(a->data, turned, n * size);
    free(turned);
    return PACK_OK;
}

/* The values, in memory; references lead to the copy. */
static enum pack_status
carry_values(struct pack_clone *clone, const struct clone_object *object, struct attribute *a,
             struct pack_error *err)
{
    const char *path = object->from;
    hssize_t n = H5Sget_simple_extent_npoints(a->space);
    uint64_t bytes;
    if (H5Sget_simple_extent_type(a->space) == H5S_NULL || n <= 0)
        return PACK_OK;
    if (!pack_size_mul((uint64_t)n, H5Tget_size(a->type), &bytes))
        return pack_clone_fail(clone, path, err);
    a->data = calloc(1, bytes);
    if (!a->data)
        return pack_fail_memory(err, "an attribute");
    enum pack_status status =
        pack_clone_check(clone, path, H5Aread(a->from, a->type, a->data), err);
    if (status == PACK_OK)
        status = pack_clone_translate(clone, a->type, a->data, (size_t)n, err);
    if (status == PACK_OK)
        status = turn_values(clone, object, a, (size_t)n, err);
    if (status == PACK_OK)
        status = pack_clone_check(clone, path, H5Awrite(a->to, a->type, a->data), err);
    return status;
}

static bool
is_root(const struct clone_object *object)
{
    return strcmp(object->from, ".") == 0;
}

static enum pack_status
carry_attribute(struct pack_clone *clone, const struct clone_object *object,
                struct attribute *a, hid_t target, struct pack_error *err)
{
    if (clone->params.pieces && is_root(object) && strcmp(a->name, PACK_CLONE_LABEL) == 0)
        return PACK_OK;
    a->to = H5Acreate2(target, a->name, a->file_type, a->space, a->acpl, H5P_DEFAULT);
    enum pack_status status = pack_clone_check(clone, object->from, a->to, err);
    return status == PACK_OK ? carry_values(clone, object, a, err) : status;
}

/* Whether the order of attributes is kept. */
static H5_index_t
order_of(const struct clone_object *object, hid_t id)
{
    unsigned flags = 0;
    hid_t list = object->kind == CLONE_GROUP     ? H5Gget_create_plist(id)
                 : object->kind == CLONE_DATASET ? H5Dget_create_plist(id)
                                                 : H5Tget_create_plist(id);
    if (list >= 0) {
        H5Pget_attr_creation_order(list, &flags);
        H5Pclose(list);
    }
    return flags & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

static enum pack_status
carry_all(struct pack_clone *clone, const struct clone_object *object, hid_t from,
          hid_t to, struct pack_error *err)
{
    H5_index_t order = order_of(object, from);
    enum pack_status status = PACK_OK;
    int n = pack_clone_n_attributes(from);
    for (int i = 0; i < n && status == PACK_OK; i++) {
        struct attribute a = { -1, -1, -1, -1, -1, -1, NULL, NULL };
        status = read_attribute(clone, from, order, (unsigned)i, &a)
                     ? carry_attribute(clone, object, &a, to, err)
                     : pack_clone_fail(clone, object->from, err);
        attribute_done(&a);
    }
    return status;
}

/* ------------------------------------------------------------------- new ones */

static herr_t
add_text(hid_t object, const char *name, const char *text)
{
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1), attr = -1;
    herr_t result = -1;
    if (H5Aexists(object, name) > 0) /* from an earlier time, of what it is no more */
        H5Adelete(object, name);
    if (space >= 0 && type >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0 &&
        H5Tset_strpad(type, H5T_STR_NULLTERM) >= 0)
        attr = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attr >= 0) {
        result = H5Awrite(attr, type, text);
        H5Aclose(attr);
    }
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return result;
}

/* What the numbers of a dataset were that became bytes. */
static enum pack_status
add_narrowed(struct pack_clone *clone, const struct clone_object *object, hid_t to,
             struct pack_error *err)
{
    char type[PACK_TYPE_TEXT_MAX];
    struct pack_facts facts;
    const struct pack_clone_set *set = set_of(clone, object);
    if (!set || !set->is_narrowed)
        return PACK_OK;
    enum pack_status status = pack_facts_read_header(clone->source, object->from, &facts, err);
    if (status != PACK_OK)
        return pack_error_prefix(err, status, "'%s'", clone->params.file);
    herr_t result = add_text(to, PACK_CLONE_TYPE, pack_type_format(&facts.type, type));
    if (result >= 0)
        result = add_text(to, PACK_CLONE_SCALE, set->scale);
    return pack_clone_check(clone, object->from, result, err);
}

static struct pack_clone_noted
lost_of(const struct pack_clone *clone, const struct clone_object *object)
{
    const struct pack_clone_set *set = set_of(clone, object);
    const char *path = object->from + strspn(object->from, "/");
    if (set)
        return (struct pack_clone_noted){ set->path, set->lost, set->n_lost };
    for (size_t i = 0; i < clone->params.n_noted; i++)
        if (strcmp(clone->params.noted[i].path, path) == 0)
            return clone->params.noted[i];
    return (struct pack_clone_noted){ .n_lost = 0 };
}

/* Which samples are the fill value, or in part, because they could not be read. */
static enum pack_status
add_lost(struct pack_clone *clone, const struct clone_object *object, hid_t to,
         struct pack_error *err)
{
    const struct pack_clone_noted lost = lost_of(clone, object);
    if (lost.n_lost == 0)
        return PACK_OK;
    const hsize_t dims[] = { lost.n_lost, 2 };
    hid_t space = H5Screate_simple(2, dims, NULL);
    herr_t result = H5Aexists(to, PACK_CLONE_LOST) > 0 ? H5Adelete(to, PACK_CLONE_LOST) : 0;
    hid_t attr = result < 0 || space < 0 ? -1
                                         : H5Acreate2(to, PACK_CLONE_LOST, H5T_STD_U64LE, space,
                                                      H5P_DEFAULT, H5P_DEFAULT);
    result = attr < 0 ? -1 : H5Awrite(attr, H5T_NATIVE_UINT64, lost.lost);
    if (attr >= 0)
        H5Aclose(attr);
    if (space >= 0)
        H5Sclose(space);
    return pack_clone_check(clone, object->from, result, err);
}

/* Which of several files this is. */
static enum pack_status
add_label(struct pack_clone *clone, const struct clone_object *object, hid_t to,
          struct pack_error *err)
{
    const struct pack_clone_pieces *pieces = clone->params.pieces;
    return pieces && pieces->label && is_root(object)
               ? pack_clone_check(clone, object->from,
                                  add_text(to, PACK_CLONE_LABEL, pieces->label), err)
               : PACK_OK;
}

/* Of images that say whether their channels are planes. */
static enum pack_status
add_turned(struct pack_clone *clone, const struct clone_object *object, hid_t to,
           struct pack_error *err)
{
    static const char NAME[] = "INTERLACE_MODE";
    const struct pack_clone_set *set = set_of(clone, object);
    if (!set || !set->axes || H5Aexists(to, NAME) <= 0)
        return PACK_OK;
    herr_t result =
        add_text(to, NAME, set->is_planes ? "INTERLACE_PLANE" : "INTERLACE_PIXEL");
    return pack_clone_check(clone, object->from, result, err);
}

enum pack_status
pack_clone_attributes(struct pack_clone *clone, struct pack_error *err)
{
    enum pack_status status = PACK_OK;
    for (size_t i = 0; i < clone->n_objects && status == PACK_OK; i++) {
        const struct clone_object *object = &clone->objects[i];
        hid_t from = H5Oopen(clone->source, object->from, H5P_DEFAULT);
        hid_t to = from < 0 ? -1 : pack_clone_open_target(clone, object);
        status = pack_clone_check(clone, object->from, to, err);
        if (status == PACK_OK)
            status = carry_all(clone, object, from, to, err);
        if (status == PACK_OK)
            status = add_narrowed(clone, object, to, err);
        if (status == PACK_OK)
            status = add_turned(clone, object, to, err);
        if (status == PACK_OK)
            status = add_lost(clone, object, to, err);
        if (status == PACK_OK)
            status = add_label(clone, object, to, err);
        if (to >= 0)
            H5Oclose(to);
        if (from >= 0)
            H5Oclose(from);
        if (status == PACK_OK)
            status = pack_watch_check(&clone->params.watch, err);
    }
    return status;
}
