/*
 * Part: the samples of one dataset in a batch, an array of n_samples x sample that shows the
 * reader's own memory by the buffer protocol and by DLPack.
 */
#include "native.h"

#include <stdlib.h>

struct part {
    PyObject_HEAD
    struct slot *slot;
    void *data;
    struct element element;
    bool is_readonly;
    int ndim;
    char format[24];
    Py_ssize_t shape[PACK_RANK_MAX + 1], strides[PACK_RANK_MAX + 1]; /* strides in bytes */
};

PyObject *
part_new(const struct native *native, struct slot *slot, const void *data,
         const struct part_kind *kind, size_t n_samples, bool is_readonly)
{
    struct part *self = PyObject_New(struct part, native->part);
    if (!self)
        return NULL;
    self->slot = slot_share(slot);
    self->data = (void *)data;
    self->element = kind->element;
    self->is_readonly = is_readonly;
    self->ndim = kind->sample.rank + 1;
    self->shape[0] = (Py_ssize_t)n_samples;
    for (int i = 1; i < self->ndim; i++)
        self->shape[i] = (Py_ssize_t)kind->sample.extent[i - 1];
    Py_ssize_t stride = (Py_ssize_t)kind->element.bytes;
    for (int i = self->ndim - 1; i >= 0; i--) {
        self->strides[i] = stride;
        stride *= self->shape[i];
    }
    return (PyObject *)self;
}

static void
part_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    slot_drop(((struct part *)object)->slot);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* ------------------------------------------------------------------ views */

static int
part_getbuffer(PyObject *object, Py_buffer *view, int flags)
{
    struct part *self = (struct part *)object;
    view->obj = NULL;
    if (!element_format(&self->element, self->format)) {
        PyErr_SetString(PyExc_BufferError,
                        "bfloat16 has no format that NumPy knows: take it by DLPack");
        return -1;
    }
    if ((flags & PyBUF_WRITABLE) && self->is_readonly) {
        PyErr_SetString(PyExc_BufferError, "the numbers of samples are for reading");
        return -1;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self->ndim > 1) {
        PyErr_SetString(PyExc_BufferError, "batches are in C's order, not in Fortran's");
        return -1;
    }
    bool has_shape = (flags & PyBUF_ND) == PyBUF_ND;
    bool has_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    *view = (Py_buffer){ .obj = Py_NewRef(object),
                         .buf = self->data,
                         .len = self->strides[0] * self->shape[0],
                         .itemsize = (Py_ssize_t)self->element.bytes,
                         .readonly = self->is_readonly,
                         .ndim = has_shape ? self->ndim : 1,
                         .format = flags & PyBUF_FORMAT ? self->format : NULL,
                         .shape = has_shape ? self->shape : NULL,
                         .strides = has_strides ? self->strides : NULL };
    return 0;
}

/* Whether (type, id) is another device than the processor. */
static bool
is_elsewhere(PyObject *device)
{
    PyObject *type = PySequence_GetItem(device, 0);
    long number = type ? PyLong_AsLong(type) : -1;
    Py_XDECREF(type);
    return number != 1;
}

/* Newer consumers say max_version=(1, 0) and get the form that can say read-only. */
static PyObject *
part_dlpack(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    struct part *self = (struct part *)object;
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream,
                                     &version, &device, &copy))
        return NULL;
    long major = 0;
    if (version != Py_None) {
        PyObject *first = PySequence_GetItem(version, 0);
        major = first ? PyLong_AsLong(first) : -1;
        Py_XDECREF(first);
        if (major < 0 && PyErr_Occurred())
            return NULL;
    }
    if (device != Py_None && is_elsewhere(device)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_BufferError, "batches are in this machine's memory");
        return NULL;
    }
    if (copy != Py_None && PyObject_IsTrue(copy)) {
        PyErr_SetString(PyExc_BufferError, "no copies are made here");
        return NULL;
    }
    if (self->is_readonly && major < 1) {
        PyErr_SetString(PyExc_BufferError,
                        "the numbers of samples are for reading, which only DLPack 1.0 can say");
        return NULL;
    }
    return dlpack_capsule(self->slot, self->data, &self->element, self->ndim, self->shape,
                          major >= 1, self->is_readonly);
}

static PyObject *
part_dlpack_device(PyObject *object, PyObject *unused)
{
    (void)object;
    (void)unused;
    return Py_BuildValue("(ii)", 1, 0); /* kDLCPU */
}

/* ------------------------------------------------------------------ attributes */

static PyObject *
part_shape(PyObject *object, void *unused)
{
    struct part *self = (struct part *)object;
    (void)unused;
    PyObject *shape = PyTuple_New(self->ndim);
    for (int i = 0; shape && i < self->ndim; i++) {
        PyObject *extent = PyLong_FromSsize_t(self->shape[i]);
        if (!extent || PyTuple_SetItem(shape, i, extent) < 0)
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *
part_type(PyObject *object, void *unused)
{
    char text[24];
    (void)unused;
    return PyUnicode_FromString(element_name(&((struct part *)object)->element, text));
}

static PyObject *
part_address(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((struct part *)object)->data);
}

static PyMethodDef methods[] = {
    { "__dlpack__", (PyCFunction)(void (*)(void))part_dlpack, METH_VARARGS | METH_KEYWORDS,
      "The array for another library; it holds the batch until its deleter is called." },
    { "__dlpack_device__", part_dlpack_device, METH_NOARGS, "(1, 0): this machine's memory." },
    { NULL, NULL, 0, NULL }
};

static PyGetSetDef members[] = {
    { "shape", part_shape, NULL, "Extents, samples first.", NULL },
    { "typestr", part_type, NULL, "NumPy's name of an element, '|u1', or 'bfloat16'.", NULL },
    { "address", part_address, NULL, "Where it lies.", NULL },
    { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "The samples of one dataset in a batch; memory of the reader's own, which is "
                 "used again when nobody looks at it any more." },
    { Py_tp_dealloc, (void *)part_dealloc },
    { Py_bf_getbuffer, (void *)part_getbuffer },
    { Py_tp_methods, methods },
    { Py_tp_getset, members },
    { 0, NULL }
};

PyType_Spec part_spec = { "h5pack._native.Part", sizeof(struct part), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };
