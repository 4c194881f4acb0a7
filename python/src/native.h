/*
 * What the files of the extension share.
 *
 *   Reader ──keeps──▶ struct ring ◀──one each── struct slot ◀── Batch, Part, DLPack capsules
 *
 * A ring is a reader of libpack with all its memory. A slot is one batch that it keeps, given
 * back when the last view of it is gone: whoever that is, in whatever thread, with or without
 * Python's lock. The ring goes when its Reader is closed and its last slot given back.
 */
#ifndef H5PACK_NATIVE_H
#define H5PACK_NATIVE_H

#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <libpack/libpack.h>

/* ------------------------------------------------------------------ the module */

enum { N_ERRORS = 12 }; /* as enum pack_status has failures */

struct native {
    PyObject *error;           /* h5pack.Error */
    PyObject *errors[N_ERRORS]; /* its kinds, by enum pack_status */
    PyTypeObject *reader, *batch, *part, *order;
};

extern struct PyModuleDef native_module;

/* The state of the module that `type` is of. */
struct native *native_of(PyTypeObject *type);

/* ------------------------------------------------------------------ errors */

int errors_add(PyObject *module, struct native *native);
/* Raises what *err says, with its `param`; returns NULL. What is raised already stays. */
PyObject *errors_raise(const struct native *native, const struct pack_error *err);

/* ------------------------------------------------------------------ elements */

/* What an element is: a number in this machine's order, or so many bytes. */
struct element {
    size_t bytes;
    char kind; /* as NumPy's typestr: b i u f S V; 'B' stands for bfloat16 */
};

struct element element_of(const struct pack_type *type);
/* Its format for memoryview (struct's letters); NULL for bfloat16. text has 24 bytes. */
const char *element_format(const struct element *element, char *text);
/* NumPy's typestr, "<i8"; "bfloat16". text has 24 bytes. */
const char *element_name(const struct element *element, char *text);

/* ------------------------------------------------------------------ memory */

/* A pattern, and the memory that it borrows. `trace` is that of a file's text. */
struct pattern {
    struct pack_pattern pattern;
    double *weights;
    uint64_t *subset;
    struct pack_trace trace;
};
/* -1 also when libpack refuses, which *err tells then and no exception. */
int params_pattern(PyObject *dict, struct pattern *out, struct pack_error *err);
void pattern_done(struct pattern *pattern);

struct ring {
    atomic_size_t n_users; /* the Reader and each slot */
    struct pack_reader *reader;
    pid_t pid;              /* whose it is: a forked child has none of its threads */
    struct pattern pattern; /* what the reader borrows */
};

struct slot {
    atomic_size_t n_users;
    struct ring *ring;
    size_t buffer; /* as pack_reader_give_back() knows it */
};

/* Safe from any thread, with or without Python's lock. */
void ring_drop(struct ring *ring);
/* Of a batch that the ring keeps; NULL: no memory. */
struct slot *slot_new(struct ring *ring, size_t buffer);
struct slot *slot_share(struct slot *slot);
void slot_drop(struct slot *slot);

/* ------------------------------------------------------------------ types */

extern PyType_Spec reader_spec, batch_spec, part_spec, order_spec;

/* What is the same of a dataset's part in all batches. */
struct part_kind {
    struct element element;
    struct pack_shape sample; /* rank 0: one element */
};

/* A view of n_samples of one dataset in a slot. */
PyObject *part_new(const struct native *native, struct slot *slot, const void *data,
                   const struct part_kind *kind, size_t n_samples, bool is_readonly);

/* A batch that was kept. `slot` is the batch's from here on, failing or not. There are n_parts
 * kinds: the dataset's, and those of further ones. */
PyObject *batch_new(const struct native *native, struct slot *slot,
                    const struct pack_reader_batch *batch, const struct part_kind *kinds,
                    size_t n_parts);

/* The capsule of one array: flags and versions as array-API's __dlpack__ has them. */
PyObject *dlpack_capsule(struct slot *slot, void *data, const struct element *element, int ndim,
                         const Py_ssize_t *shape, bool is_versioned, bool is_readonly);

/* dataset(file, path), check_transform(file, path, transform, sample), parse_bytes(text) */
PyObject *facts_dataset(PyObject *module, PyObject *args);
PyObject *facts_transform(PyObject *module, PyObject *args);
PyObject *facts_bytes(PyObject *module, PyObject *text);

/* ------------------------------------------------------------------ parameters */

/* These read a dictionary whose keys are named as the struct's members; -1 with an exception. */
int params_transform(PyObject *dict, struct pack_reader_transform *transform,
                     struct pack_error *err);

int params_shape(PyObject *list, const char *name, struct pack_shape *shape);
/* Borrowed texts of a tuple of str; NULL with an exception. PyMem_Free() frees the list. */
const char **params_texts(PyObject *tuple, const char *name, size_t *n);
int params_u64(PyObject *number, const char *name, uint64_t *out);

#endif
