/* dataset(): what is known of a dataset without reading its data, as a dictionary;
 * check_transform(): what a reader would say of one for it; and parse_bytes(), which reads sizes
 * as the programs do. */
#include "native.h"

#include <stdlib.h>

static PyObject *
shape_tuple(const struct pack_shape *shape)
{
    PyObject *tuple = PyTuple_New(shape->rank);
    for (int i = 0; tuple && i < shape->rank; i++)
        PyTuple_SetItem(tuple, i, PyLong_FromUnsignedLongLong(shape->extent[i]));
    return tuple;
}

static PyObject *
numbers_list(const double *numbers, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++)
        PyList_SetItem(list, i, PyFloat_FromDouble(numbers[i]));
    return list;
}

/* Of a file, which may say what it likes. */
static PyObject *
text_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *
labels_list(const struct pack_facts *facts)
{
    PyObject *list = PyList_New(facts->n_labels);
    for (int i = 0; list && i < facts->n_labels; i++)
        PyList_SetItem(list, i, text_of(facts->label[i]));
    return list;
}

static PyObject *
facts_dict(const struct pack_facts *facts)
{
    char type[PACK_TYPE_TEXT_MAX], element[24], pipeline[PACK_PIPELINE_TEXT_MAX];
    struct element numpy = element_of(&facts->type);
    return Py_BuildValue(
        "{sssssssNsNsssNsKsKsNsNsN}", "type", pack_type_format(&facts->type, type), "typestr",
        element_name(&numpy, element), "layout", pack_facts_layout_name(facts), "shape",
        shape_tuple(&facts->extent), "chunk", shape_tuple(&facts->chunk), "filters",
        pack_pipeline_format(&facts->pipeline, pipeline), "interlace_mode",
        text_of(facts->interlace_mode), "logical_bytes", facts->logical_bytes, "stored_bytes",
        facts->stored_bytes, "labels", labels_list(facts), "mean",
        numbers_list(facts->mean, facts->n_mean), "std", numbers_list(facts->std, facts->n_std));
}

/* Of a file, whose name is bytes as the system has them; for free(). NULL with an exception. */
static struct pack_facts *
read_facts(PyObject *module, PyObject *file, const char *path)
{
    struct pack_error err = { .status = PACK_ERR_MEMORY, .text = "out of memory" };
    struct pack_facts *facts = malloc(sizeof *facts);
    const char *name = PyBytes_AsString(file);
    PyThreadState *state = PyEval_SaveThread();
    enum pack_status status =
        facts ? pack_dataset_facts(name, path, facts, &err) : PACK_ERR_MEMORY;
    PyEval_RestoreThread(state);
    if (status == PACK_OK)
        return facts;
    errors_raise(PyModule_GetState(module), &err);
    free(facts);
    return NULL;
}

PyObject *
facts_dataset(PyObject *module, PyObject *args)
{
    PyObject *file;
    const char *path;
    if (!PyArg_ParseTuple(args, "O&s:dataset", PyUnicode_FSConverter, &file, &path))
        return NULL;
    struct pack_facts *facts = read_facts(module, file, path);
    PyObject *dict = facts ? facts_dict(facts) : NULL;
    free(facts);
    Py_DECREF(file);
    return dict;
}

/* `box` is a sample's shape, or None: one index of axis 0. */
static int
find_sample(PyObject *box, const struct pack_facts *facts, struct pack_shape *sample)
{
    *sample = (struct pack_shape){ 0 };
    if (box != Py_None)
        return params_shape(box, "sample", sample);
    *sample = facts->extent;
    sample->extent[0] = 1;
    return 0;
}

PyObject *
facts_transform(PyObject *module, PyObject *args)
{
    PyObject *file, *dict, *box = Py_None;
    const char *path;
    struct pack_reader_transform transform;
    struct pack_shape sample;
    struct pack_error err;
    if (!PyArg_ParseTuple(args, "O&sO!|O:check_transform", PyUnicode_FSConverter, &file, &path,
                          &PyDict_Type, &dict, &box))
        return NULL;
    struct pack_facts *facts = read_facts(module, file, path);
    PyObject *none = NULL;
    if (facts && find_sample(box, facts, &sample) == 0) {
        if (params_transform(dict, &transform, &err) == 0 &&
            pack_reader_transform_check(&transform, facts, &sample, &err) == PACK_OK)
            none = Py_NewRef(Py_None);
        else
            errors_raise(PyModule_GetState(module), &err);
    }
    free(facts);
    Py_DECREF(file);
    return none;
}

PyObject *
facts_bytes(PyObject *module, PyObject *text)
{
    struct pack_error err;
    uint64_t bytes;
    const char *words = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!words)
        return NULL;
    if (pack_bytes_parse(words, &bytes, &err) != PACK_OK)
        return errors_raise(PyModule_GetState(module), &err);
    return PyLong_FromUnsignedLongLong(bytes);
}
