/* The module h5pack._native: its table of contents. */
#include "native.h"

static PyTypeObject *
type_add(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, type) < 0)
        Py_CLEAR(type);
    return type;
}

static int
fill(PyObject *module)
{
    struct native *native = PyModule_GetState(module);
    if (errors_add(module, native) < 0 || !(native->part = type_add(module, &part_spec)) ||
        !(native->batch = type_add(module, &batch_spec)) ||
        !(native->order = type_add(module, &order_spec)) ||
        !(native->reader = type_add(module, &reader_spec)))
        return -1;
    if (PyModule_AddIntConstant(module, "KEEP_ALL", PACK_READER_KEEP_ALL) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", H5PACK_VERSION);
}

struct native *
native_of(PyTypeObject *type)
{
    return PyModule_GetState(PyType_GetModule(type));
}

static int
traverse(PyObject *module, visitproc visit, void *arg)
{
    struct native *native = PyModule_GetState(module);
    Py_VISIT(native->error);
    for (int i = 0; i < N_ERRORS; i++)
        Py_VISIT(native->errors[i]);
    Py_VISIT(native->part);
    Py_VISIT(native->batch);
    Py_VISIT(native->order);
    Py_VISIT(native->reader);
    return 0;
}

static int
clear(PyObject *module)
{
    struct native *native = PyModule_GetState(module);
    Py_CLEAR(native->error);
    for (int i = 0; i < N_ERRORS; i++)
        Py_CLEAR(native->errors[i]);
    Py_CLEAR(native->part);
    Py_CLEAR(native->batch);
    Py_CLEAR(native->order);
    Py_CLEAR(native->reader);
    return 0;
}

static PyMethodDef functions[] = {
    { "dataset", facts_dataset, METH_VARARGS,
      "dataset(file, path): its shape, elements, chunks and filters, and what images say of "
      "themselves." },
    { "check_transform", facts_transform, METH_VARARGS,
      "check_transform(file, path, transform, sample=None): raises what a Reader would of that "
      "transform, for samples of that shape or, None, one index of axis 0." },
    { "parse_bytes", facts_bytes, METH_O, "'64K', '1.5G' as a number; K is 1024." },
    { NULL, NULL, 0, NULL }
};

static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *)fill }, { 0, NULL } };

struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "h5pack._native",
    .m_doc = "libpack for Python, nothing added; use h5pack.",
    .m_size = sizeof(struct native),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
};

__attribute__((visibility("default"))) PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&native_module);
}
