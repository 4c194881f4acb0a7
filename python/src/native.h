/* What the files of the extension share; each of its types is a file of its own. */
#ifndef H5PACK_NATIVE_H
#define H5PACK_NATIVE_H

#include <Python.h>

#include <libpack/libpack.h>

/* The module's state: its types and exceptions. */
struct native {
    PyObject *error; /* h5pack.Error */
};

extern struct PyModuleDef native_module;

#endif
