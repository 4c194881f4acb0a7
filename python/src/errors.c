/* Sentences of libpack become exceptions: one class for each status, fitting a builtin. */
#include "native.h"

struct kind {
    const char *name, *doc;
    PyObject **builtin; /* what it is besides; NULL: nothing */
};

#define KIND(name, doc, builtin) { "h5pack." name, doc, builtin }
static const struct kind *
kind_of(int status)
{
    static struct kind kinds[N_ERRORS];
    if (!kinds[0].name) { /* addresses of builtins are no constants */
        struct kind all[N_ERRORS] = {
            [0] = KIND("Error", "What h5pack could not do; `param` is the argument at fault.",
                       NULL),
            [PACK_ERR_ARGUMENT] = KIND("ArgumentError", "Asked for what cannot be.",
                                       &PyExc_ValueError),
            [PACK_ERR_MEMORY] = KIND("MemoryLimitError",
                                     "An allocation failed, or the stated memory is too little.",
                                     &PyExc_MemoryError),
            [PACK_ERR_IO] = KIND("ReadError", "The operating system refused.", &PyExc_OSError),
            [PACK_ERR_FORMAT] = KIND("FormatError",
                                     "Bytes are damaged or not what they claim to be.",
                                     &PyExc_ValueError),
            [PACK_ERR_UNSUPPORTED] = KIND("UnsupportedError",
                                          "Well-formed, but nothing here reads it.", NULL),
            [PACK_ERR_LIMIT] = KIND("LimitError", "Larger than a limit that protects.", NULL),
            [PACK_ERR_EXISTS] = KIND("ExistsError", "Would overwrite something.",
                                     &PyExc_FileExistsError),
            [PACK_ERR_NOT_FOUND] = KIND("NotFoundError",
                                        "A file, dataset or name that is not there.",
                                        &PyExc_FileNotFoundError),
            [PACK_ERR_CHANGED] = KIND("ChangedError", "A file changed while it was read.", NULL),
            [PACK_ERR_MISMATCH] = KIND("MismatchError", "A verification found a difference.",
                                       NULL),
            [PACK_ERR_INTERRUPTED] = KIND("Interrupted", "Stopped on request.", NULL),
        };
        memcpy(kinds, all, sizeof kinds);
    }
    return &kinds[status];
}

static PyObject *
class_new(const struct native *native, const struct kind *kind)
{
    if (!native->error) /* the first is all others' base */
        return PyErr_NewExceptionWithDoc(kind->name, kind->doc, NULL, NULL);
    PyObject *bases = kind->builtin ? PyTuple_Pack(2, native->error, *kind->builtin)
                                    : PyTuple_Pack(1, native->error);
    if (!bases)
        return NULL;
    PyObject *class = PyErr_NewExceptionWithDoc(kind->name, kind->doc, bases, NULL);
    Py_DECREF(bases);
    return class;
}

int
errors_add(PyObject *module, struct native *native)
{
    for (int i = 0; i < N_ERRORS; i++) {
        const struct kind *kind = kind_of(i);
        native->errors[i] = class_new(native, kind);
        if (!native->errors[i])
            return -1;
        if (i == 0)
            native->error = Py_NewRef(native->errors[0]);
        if (PyModule_AddObjectRef(module, strrchr(kind->name, '.') + 1, native->errors[i]) < 0)
            return -1;
    }
    PyObject *none = Py_None; /* of those that Python code raises without */
    return PyObject_SetAttrString(native->error, "param", none);
}

PyObject *
errors_raise(const struct native *native, const struct pack_error *err)
{
    if (PyErr_Occurred()) /* a signal's, found while waiting */
        return NULL;
    int status = (int)err->status;
    PyObject *class = native->errors[status > 0 && status < N_ERRORS ? status : 0];
    PyObject *text = PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text), "replace");
    PyObject *raised = text ? PyObject_CallFunctionObjArgs(class, text, NULL) : NULL;
    PyObject *param = raised && err->param ? PyUnicode_FromString(err->param) : NULL;
    if (param)
        PyObject_SetAttrString(raised, "param", param);
    if (raised && !PyErr_Occurred())
        PyErr_SetObject(class, raised);
    Py_XDECREF(param);
    Py_XDECREF(raised);
    Py_XDECREF(text);
    return NULL;
}
