/* Batch: what the reader made of one step of the order; its parts, and what it took. */
#include "native.h"

struct batch {
    PyObject_HEAD
    struct slot *slot;
    PyObject *parts; /* a tuple of Part */
    PyObject *samples;
    uint64_t epoch, number, position, ready_ns;
    size_t n_samples;
    struct pack_reader_work work;
};

static PyObject *
parts_new(const struct native *native, struct slot *slot, const struct pack_reader_batch *batch,
          const struct part_kind *kinds, size_t n_parts)
{
    PyObject *parts = PyTuple_New((Py_ssize_t)n_parts);
    for (size_t i = 0; parts && i < n_parts; i++) {
        const void *data = i == 0 ? batch->data : batch->further[i - 1];
        PyObject *part = part_new(native, slot, data, &kinds[i], batch->n_samples, false);
        if (!part || PyTuple_SetItem(parts, (Py_ssize_t)i, part) < 0)
            Py_CLEAR(parts);
    }
    return parts;
}

PyObject *
batch_new(const struct native *native, struct slot *slot, const struct pack_reader_batch *batch,
          const struct part_kind *kinds, size_t n_parts)
{
    static const struct part_kind number = { .element = { 8, 'u' } };
    struct batch *self = PyObject_New(struct batch, native->batch);
    if (!self) {
        slot_drop(slot);
        return NULL;
    }
    self->slot = slot;
    self->epoch = batch->epoch;
    self->number = batch->number;
    self->position = batch->position;
    self->ready_ns = batch->ready_ns;
    self->n_samples = batch->n_samples;
    self->work = batch->work;
    self->parts = parts_new(native, slot, batch, kinds, n_parts);
    self->samples = self->parts ? part_new(native, slot, batch->samples, &number,
                                           batch->n_samples, true)
                                : NULL;
    if (!self->samples)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void
batch_dealloc(PyObject *object)
{
    struct batch *self = (struct batch *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->parts);
    Py_XDECREF(self->samples);
    slot_drop(self->slot);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *
batch_parts(PyObject *object, void *unused)
{
    (void)unused;
    return Py_NewRef(((struct batch *)object)->parts);
}

static PyObject *
batch_samples(PyObject *object, void *unused)
{
    (void)unused;
    return Py_NewRef(((struct batch *)object)->samples);
}

static PyObject *
batch_number(PyObject *object, void *offset)
{
    return PyLong_FromUnsignedLongLong(*(uint64_t *)((char *)object + (size_t)offset));
}

static PyObject *
batch_buffer(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(((struct batch *)object)->slot->buffer);
}

static PyObject *
batch_work(PyObject *object, void *unused)
{
    const struct pack_reader_work *work = &((struct batch *)object)->work;
    (void)unused;
    return Py_BuildValue("{sKsKsKsKsKsKsKsKsK}", "visits", work->visits, "loads", work->loads,
                         "hits", work->hits, "file_reads", work->file_reads, "file_read_bytes",
                         work->file_read_bytes, "total_ns", work->total_ns, "read_ns",
                         work->read_ns, "decode_ns", work->decode_ns, "transform_ns",
                         work->transform_ns);
}

static Py_ssize_t
batch_length(PyObject *object)
{
    return (Py_ssize_t)((struct batch *)object)->n_samples;
}

#define NUMBER(name, doc) { #name, batch_number, NULL, doc, (void *)offsetof(struct batch, name) }
static PyGetSetDef members[] = {
    { "parts", batch_parts, NULL, "A Part of the dataset, and one of each read beside it.", NULL },
    { "samples", batch_samples, NULL, "The samples' numbers, uint64, as they were drawn.", NULL },
    NUMBER(epoch, "The epoch it is of."),
    NUMBER(number, "Its number in the epoch, from 0."),
    NUMBER(position, "Of its first sample among this rank's in the epoch."),
    NUMBER(ready_ns, "When it was complete, by CLOCK_MONOTONIC."),
    { "buffer", batch_buffer, NULL, "Which of the reader's n_buffers it lies in.", NULL },
    { "work", batch_work, NULL, "What it took: loads, hits, reads, nanoseconds.", NULL },
    { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "A batch that the reader keeps until nobody looks at it any more." },
    { Py_tp_dealloc, (void *)batch_dealloc },
    { Py_tp_getset, members },
    { Py_sq_length, (void *)batch_length },
    { 0, NULL }
};

PyType_Spec batch_spec = { "h5pack._native.Batch", sizeof(struct batch), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };
