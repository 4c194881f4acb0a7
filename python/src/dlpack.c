/* Arrays for other libraries, whose deleters give slots back from whatever thread they run in. */
#include "native.h"

#include <stdlib.h>

#include "dlpack.h"

/* One allocation: what is managed, and the extents behind it. */
struct lent {
    union {
        struct dl_managed plain;
        struct dl_managed_versioned versioned;
    } managed;
    struct slot *slot;
    int64_t extent[];
};

static void
lent_free(struct lent *lent)
{
    slot_drop(lent->slot);
    free(lent);
}

static void
delete_plain(struct dl_managed *self)
{
    lent_free(self->context);
}

static void
delete_versioned(struct dl_managed_versioned *self)
{
    lent_free(self->context);
}

/* Of a capsule that nobody took: takers rename it. */
static void
capsule_free(PyObject *capsule)
{
    static const char *const names[] = { "dltensor", "dltensor_versioned" };
    for (int i = 0; i < 2; i++)
        if (PyCapsule_IsValid(capsule, names[i])) {
            struct lent *lent = PyCapsule_GetPointer(capsule, names[i]);
            lent_free(lent); /* `managed` is its first member */
            return;
        }
}

static bool
type_of(const struct element *element, struct dl_type *type)
{
    *type = (struct dl_type){ .bits = (uint8_t)(8 * element->bytes), .lanes = 1 };
    switch (element->kind) {
    case 'i': type->code = DL_INT; return true;
    case 'u': type->code = DL_UINT; return true;
    case 'f': type->code = DL_FLOAT; return element->bytes <= 8; /* no long double */
    case 'B': type->code = DL_BFLOAT; return true;
    case 'b': type->code = DL_BOOL; return true;
    default: return false;
    }
}

static void
describe(struct lent *lent, struct dl_tensor *tensor, int ndim, const Py_ssize_t *shape)
{
    int64_t stride = 1;
    tensor->device = (struct dl_device){ DL_CPU, 0 };
    tensor->ndim = ndim;
    tensor->byte_offset = 0;
    tensor->shape = lent->extent;
    tensor->strides = lent->extent + ndim;
    for (int i = ndim - 1; i >= 0; i--) {
        tensor->shape[i] = shape[i];
        tensor->strides[i] = stride;
        stride *= shape[i];
    }
}

PyObject *
dlpack_capsule(struct slot *slot, void *data, const struct element *element, int ndim,
               const Py_ssize_t *shape, bool is_versioned, bool is_readonly)
{
    struct dl_type type;
    if (!type_of(element, &type)) {
        PyErr_SetString(PyExc_BufferError, "DLPack has numbers of up to 8 bytes only: no texts, records or long "
                                             "doubles");
        return NULL;
    }
    struct lent *lent = malloc(sizeof *lent + 2 * (size_t)ndim * sizeof lent->extent[0]);
    if (!lent)
        return PyErr_NoMemory();
    struct dl_tensor *tensor =
        is_versioned ? &lent->managed.versioned.tensor : &lent->managed.plain.tensor;
    describe(lent, tensor, ndim, shape);
    tensor->data = data;
    tensor->dtype = type;
    if (is_versioned) {
        lent->managed.versioned.version.major = 1;
        lent->managed.versioned.version.minor = 0;
        lent->managed.versioned.flags = is_readonly ? DL_READ_ONLY : 0;
        lent->managed.versioned.context = lent;
        lent->managed.versioned.deleter = delete_versioned;
    } else {
        lent->managed.plain.context = lent;
        lent->managed.plain.deleter = delete_plain;
    }
    lent->slot = slot_share(slot);
    PyObject *capsule =
        PyCapsule_New(lent, is_versioned ? "dltensor_versioned" : "dltensor", capsule_free);
    if (!capsule)
        lent_free(lent);
    return capsule;
}
