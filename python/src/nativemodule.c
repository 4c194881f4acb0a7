/* The module h5pack._native: its table of contents. */
#include "native.h"

static int
fill(PyObject *module)
{
    struct native *native = PyModule_GetState(module);
    native->error = PyErr_NewExceptionWithDoc("h5pack.Error", "What h5pack could not do.",
                                              NULL, NULL);
    if (!native->error || PyModule_AddObjectRef(module, "Error", native->error) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", H5PACK_VERSION);
}

static int
traverse(PyObject *module, visitproc visit, void *arg)
{
    struct native *native = PyModule_GetState(module);
    Py_VISIT(native->error);
    return 0;
}

static int
clear(PyObject *module)
{
    struct native *native = PyModule_GetState(module);
    Py_CLEAR(native->error);
    return 0;
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *)fill }, { 0, NULL } };

struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "h5pack._native",
    .m_doc = "libpack for Python, nothing added; use h5pack.",
    .m_size = sizeof(struct native),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
};

__attribute__((visibility("default"))) PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&native_module);
}
