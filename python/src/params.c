/* What callers hand in, as the structs of libpack have it. */
#include "native.h"

#include <stdlib.h>

int
params_u64(PyObject *number, const char *name, uint64_t *out)
{
    if (number == NULL || number == Py_None)
        return 0;
    PyObject *index = PyNumber_Index(number);
    uint64_t value = index ? PyLong_AsUnsignedLongLong(index) : 0;
    Py_XDECREF(index);
    if (!PyErr_Occurred()) {
        *out = value;
        return 0;
    }
    bool is_too_large = PyErr_ExceptionMatches(PyExc_OverflowError);
    PyErr_Clear();
    PyErr_Format(is_too_large ? PyExc_ValueError : PyExc_TypeError,
                 is_too_large ? "%s is %R: it counts from 0 and fits 64 bits"
                              : "%s is %R, no whole number",
                 name, number);
    return -1;
}

const char **
params_texts(PyObject *tuple, const char *name, size_t *n)
{
    if (!PyTuple_Check(tuple)) {
        PyErr_Format(PyExc_TypeError, "%s is to be a tuple of str", name);
        return NULL;
    }
    Py_ssize_t size = PyTuple_Size(tuple);
    const char **texts = PyMem_Calloc((size_t)size + 1, sizeof *texts);
    if (!texts) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_ssize_t length;
        PyObject *item = PyTuple_GetItem(tuple, i);
        texts[i] = PyBytes_Check(item) ? PyBytes_AsString(item)
                                       : PyUnicode_AsUTF8AndSize(item, &length);
        if (!texts[i]) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    *n = (size_t)size;
    return texts;
}

/* ------------------------------------------------------------------ of a transform */

/* Borrowed; NULL when absent. */
static PyObject *
get(PyObject *dict, const char *key)
{
    return PyDict_GetItemString(dict, key);
}

static int
get_numbers(PyObject *dict, const char *key, double *out, Py_ssize_t max)
{
    PyObject *list = get(dict, key);
    if (!list)
        return 0;
    Py_ssize_t n = PySequence_Size(list);
    if (n > max)
        PyErr_Format(PyExc_ValueError, "%s has %zd numbers, at most %zd are of use", key, n, max);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PySequence_GetItem(list, i);
        out[i] = item ? PyFloat_AsDouble(item) : 0;
        Py_XDECREF(item);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The place of a word in a list that ends with NULL. */
static int
get_choice(PyObject *dict, const char *key, const char *const *words, unsigned *out)
{
    PyObject *word = get(dict, key);
    if (!word)
        return 0;
    for (unsigned i = 0; words[i]; i++)
        if (PyUnicode_Check(word) && PyUnicode_CompareWithASCIIString(word, words[i]) == 0) {
            *out = i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "%s is %R, which is none of its choices", key, word);
    return -1;
}

static int
get_extent(PyObject *dict, const char *key, uint32_t *out)
{
    uint64_t value = 0;
    if (params_u64(get(dict, key), key, &value) < 0)
        return -1;
    if (value > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%s is too large", key);
        return -1;
    }
    *out = (uint32_t)value;
    return 0;
}

int
params_transform(PyObject *dict, struct pack_reader_transform *transform,
                 struct pack_error *err)
{
    static const char *const crops[] = { "none", "centre", "random", "resized", NULL };
    static const char *const channels[] = { "keep", "last", "first", NULL };
    static const char *const values[] = { "bytes", "float32", "float16", "bfloat16", NULL };
    unsigned crop = 0, channel = 0, value = 0;
    *transform = (struct pack_reader_transform){ 0 };
    if (get_choice(dict, "crop", crops, &crop) ||
        get_choice(dict, "channels", channels, &channel) ||
        get_choice(dict, "values", values, &value) ||
        get_extent(dict, "height", &transform->height) ||
        get_extent(dict, "width", &transform->width) ||
        get_numbers(dict, "scale", transform->scale, 2) ||
        get_numbers(dict, "ratio", transform->ratio, 2) ||
        get_numbers(dict, "flip", &transform->flip, 1) ||
        get_numbers(dict, "mean", transform->mean, PACK_READER_CHANNELS_MAX) ||
        get_numbers(dict, "std", transform->std, PACK_READER_CHANNELS_MAX))
        return -1;
    transform->crop = (enum pack_reader_crop)crop;
    transform->channels = (enum pack_reader_channels)channel;
    transform->values = (enum pack_reader_values)value;
    PyObject *filter = get(dict, "filter");
    const char *name = filter ? PyUnicode_AsUTF8AndSize(filter, NULL) : "bilinear";
    return name && pack_resample_filter_parse(name, &transform->filter, err) == PACK_OK ? 0 : -1;
}

/* ------------------------------------------------------------------ of an order */

int
params_shape(PyObject *list, const char *name, struct pack_shape *shape)
{
    if (!list || list == Py_None)
        return 0;
    Py_ssize_t n = PySequence_Size(list);
    if (n > PACK_RANK_MAX)
        PyErr_Format(PyExc_ValueError, "%s has %zd axes, at most %d can be", name, n,
                     (int)PACK_RANK_MAX);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PySequence_GetItem(list, i);
        if (item)
            params_u64(item, name, &shape->extent[i]);
        Py_XDECREF(item);
    }
    shape->rank = (int)n;
    return PyErr_Occurred() ? -1 : 0;
}

/* A copy of a buffer whose elements have one of the formats, which end with NULL; 0 elements and
 * NULL when the key is absent. */
static int
get_array(PyObject *dict, const char *key, const char *const *formats, void **out, uint64_t *n)
{
    Py_buffer view;
    PyObject *array = get(dict, key);
    if (!array)
        return 0;
    if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return -1;
    while (*formats && (!view.format || strcmp(view.format, *formats) != 0))
        formats++;
    *out = *formats ? malloc((size_t)view.len + 1) : NULL;
    if (*out)
        memcpy(*out, view.buf, (size_t)view.len);
    *n = (uint64_t)(view.len / view.itemsize);
    PyBuffer_Release(&view);
    if (*out)
        return 0;
    if (*formats)
        PyErr_NoMemory();
    else
        PyErr_Format(PyExc_TypeError, "%s are of another type than this takes", key);
    return -1;
}

/* Weights and a subset, as many as libpack reads. */
static int
get_arrays(PyObject *dict, struct pattern *out)
{
    static const char *const doubles[] = { "d", NULL }, *const numbers[] = { "L", "Q", NULL };
    uint64_t n_weights = 0;
    if (get_array(dict, "weights", doubles, (void **)&out->weights, &n_weights) < 0 ||
        get_array(dict, "subset", numbers, (void **)&out->subset, &out->pattern.n_subset) < 0)
        return -1;
    out->pattern.weights = out->weights;
    out->pattern.subset = out->subset;
    if (out->weights && !out->subset)
        out->pattern.n_samples = n_weights;
    if (!out->weights || !out->subset || n_weights == out->pattern.n_subset)
        return 0;
    PyErr_SetString(PyExc_ValueError, "there are not as many weights as members of the subset");
    return -1;
}

/* The text of a file of boxes, and whose reads of it are meant. */
static int
get_trace(PyObject *dict, struct pattern *out, struct pack_error *err)
{
    PyObject *bytes = get(dict, "trace");
    PyObject *file = get(dict, "trace_file"), *dataset = get(dict, "trace_dataset");
    const char *names[2] = { NULL, NULL };
    char *text;
    Py_ssize_t size;
    if (!bytes)
        return 0;
    if ((file && !(names[0] = PyBytes_AsString(file))) ||
        (dataset && !(names[1] = PyBytes_AsString(dataset))) ||
        PyBytes_AsStringAndSize(bytes, &text, &size) < 0 ||
        pack_trace_parse_of(text, (size_t)size, names[0], names[1], &out->trace, err) != PACK_OK)
        return -1;
    out->pattern.trace = out->trace.boxes;
    out->pattern.n_trace = out->trace.n_boxes;
    return 0;
}

static int
get_counts(PyObject *dict, struct pack_pattern *p)
{
    const struct {
        const char *name;
        uint64_t *out;
    } counts[] = { { "seed", &p->seed },
                   { "epoch", &p->epoch },
                   { "step", &p->step },
                   { "n_samples", &p->n_samples },
                   { "chunk_samples", &p->chunk_samples },
                   { "dealt", &p->dealt },
                   { "world", &p->world },
                   { "rank", &p->rank },
                   { "batch", &p->batch },
                   { "workers", &p->workers },
                   { "worker", &p->worker } };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (params_u64(get(dict, counts[i].name), counts[i].name, counts[i].out) < 0)
            return -1;
    PyObject *last = get(dict, "drop_last"), *uneven = get(dict, "drop_uneven");
    p->drop_last = last && PyObject_IsTrue(last) == 1;
    p->drop_uneven = uneven && PyObject_IsTrue(uneven) == 1;
    return PyErr_Occurred() ? -1 : 0;
}

int
params_pattern(PyObject *dict, struct pattern *out, struct pack_error *err)
{
    *out = (struct pattern){ .weights = NULL };
    PyObject *order = get(dict, "order");
    const char *text = order ? PyUnicode_AsUTF8AndSize(order, NULL) : "sequential";
    if (text && pack_pattern_parse(text, &out->pattern, err) == PACK_OK &&
        get_counts(dict, &out->pattern) == 0 &&
        params_shape(get(dict, "box"), "box", &out->pattern.box) == 0 &&
        params_shape(get(dict, "shape"), "shape", &out->pattern.extent) == 0 &&
        get_arrays(dict, out) == 0 && get_trace(dict, out, err) == 0) {
        out->pattern.file = NULL; /* the text may go */
        return 0;
    }
    pattern_done(out);
    return -1;
}

void
pattern_done(struct pattern *pattern)
{
    pack_trace_free(&pattern->trace);
    free(pattern->subset);
    free(pattern->weights);
    *pattern = (struct pattern){ .weights = NULL };
}
