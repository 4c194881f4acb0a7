/* Order: the samples that a pattern draws, without a file and without threads. */
#include "native.h"

struct order {
    PyObject_HEAD
    struct pattern pattern;
    struct pack_pattern_iter *iter;
};

static struct native *
state_of(PyObject *object)
{
    return native_of(Py_TYPE(object));
}

static PyObject *
order_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct pack_error err;
    if (PyTuple_Size(args) > 0 || !kwargs) {
        PyErr_SetString(PyExc_TypeError, "an Order takes keyword arguments: shape=, order=, ...");
        return NULL;
    }
    struct order *self = PyObject_New(struct order, type);
    if (!self)
        return NULL;
    self->iter = NULL;
    if (params_pattern(kwargs, &self->pattern, &err) < 0 ||
        pack_pattern_new(&self->pattern.pattern, &self->iter, &err) != PACK_OK) {
        errors_raise(native_of(type), &err);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
order_dealloc(PyObject *object)
{
    struct order *self = (struct order *)object;
    PyTypeObject *type = Py_TYPE(object);
    pack_pattern_free(self->iter);
    pattern_done(&self->pattern);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *
order_samples(PyObject *object, PyObject *number)
{
    struct order *self = (struct order *)object;
    uint64_t max = 0;
    if (params_u64(number, "number of samples", &max) < 0)
        return NULL;
    uint64_t left = pack_pattern_length(self->iter) - pack_pattern_position(self->iter);
    if (max > left)
        max = left;
    if (max > PY_SSIZE_T_MAX / sizeof(uint64_t))
        return PyErr_NoMemory();
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(max * sizeof(uint64_t)));
    if (!bytes)
        return NULL;
    size_t n = 0, got = 1;
    while (n < max && got > 0) {
        got = pack_pattern_samples(self->iter, (uint64_t *)PyBytes_AsString(bytes) + n,
                                   (size_t)max - n);
        n += got;
    }
    return bytes;
}

static PyObject *
order_seek(PyObject *object, PyObject *args)
{
    struct order *self = (struct order *)object;
    unsigned long long epoch, position = 0;
    struct pack_error err;
    if (!PyArg_ParseTuple(args, "K|K:seek", &epoch, &position))
        return NULL;
    if (pack_pattern_seek(self->iter, epoch, position, &err) != PACK_OK)
        return errors_raise(state_of(object), &err);
    return Py_NewRef(Py_None);
}

static Py_ssize_t
order_length(PyObject *object)
{
    return (Py_ssize_t)pack_pattern_length(((struct order *)object)->iter);
}

static PyObject *
order_n_samples(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(pack_pattern_n_samples(((struct order *)object)->iter));
}

static PyMethodDef methods[] = {
    { "samples", order_samples, METH_O,
      "Up to so many samples' numbers as bytes of uint64; none at the end of the epoch." },
    { "seek", order_seek, METH_VARARGS, "seek(epoch, position=0): goes to a sample of an epoch." },
    { NULL, NULL, 0, NULL }
};

static PyGetSetDef members[] = {
    { "n_samples", order_n_samples, NULL, "Samples of an epoch over all ranks, unpadded.", NULL },
    { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "Order(*, shape, order='sequential', seed, epoch, box, step, n_samples, "
                 "chunk_samples, weights, trace, world, rank, drop_uneven, batch, drop_last, "
                 "dealt, workers, worker): the samples of struct pack_pattern." },
    { Py_tp_new, (void *)order_new },
    { Py_tp_dealloc, (void *)order_dealloc },
    { Py_sq_length, (void *)order_length },
    { Py_tp_methods, methods },
    { Py_tp_getset, members },
    { 0, NULL }
};

PyType_Spec order_spec = { "h5pack._native.Order", sizeof(struct order), 0, Py_TPFLAGS_DEFAULT,
                           slots };
