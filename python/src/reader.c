/*
 * Reader: pack_reader_open(), next, keep and close. Python's lock is let go while it waits;
 * while waiting is long it is taken now and then to look for signals.
 */
#include "native.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PARTS_MAX = 257, SIGNALS_EACH_NS = 30 * 1000 * 1000 };

struct reader {
    PyObject_HEAD
    struct ring *ring; /* NULL: closed */
    size_t n_parts;
    struct part_kind *kinds;
    PyObject *native; /* the module */
    /* one that could not be kept, as too many are: the next call tries again */
    bool has_lent;
    struct pack_reader_batch lent;
    struct pack_reader_work work; /* of all that were kept */
    /* of the call that waits */
    bool is_busy;
    PyThreadState *waiting;
    uint64_t looked_ns;
    atomic_bool is_to_end; /* what waits gives up: set with Python's lock, looked at without */
    bool is_to_close;      /* and closes the reader then */
};

static struct native *
state_of(const struct reader *self)
{
    return PyModule_GetState(self->native);
}

static uint64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The watch's: whether somebody wants it to end, or a signal's handler raised something. */
static bool
look_for_signals(void *context)
{
    struct reader *self = context;
    if (atomic_load(&self->is_to_end))
        return true;
    if (!self->waiting || now_ns() - self->looked_ns < SIGNALS_EACH_NS)
        return false;
    PyEval_RestoreThread(self->waiting);
    bool raised = PyErr_CheckSignals() != 0;
    self->waiting = PyEval_SaveThread();
    self->looked_ns = now_ns();
    return raised;
}

static void
let_go(struct reader *self)
{
    self->looked_ns = now_ns();
    self->is_busy = true;
    self->waiting = PyEval_SaveThread();
}

static void
take_again(struct reader *self)
{
    PyThreadState *waiting = self->waiting;
    self->waiting = NULL;
    PyEval_RestoreThread(waiting);
    self->is_busy = false;
}

/* ------------------------------------------------------------------ opening */

static void
shorten(struct pack_shape *shape)
{
    memmove(shape->extent, shape->extent + 1, (PACK_RANK_MAX - 1) * sizeof shape->extent[0]);
    shape->rank--;
}

/* What a part is: shapes as the reader says, elements as the file does. */
static enum pack_status
find_kind(struct reader *self, size_t number, const char *file, const char *dataset,
          const struct pack_reader_params *params, struct pack_error *err)
{
    struct pack_facts *facts = malloc(sizeof *facts);
    struct pack_reader_info info;
    struct part_kind *kind = &self->kinds[number];
    if (!facts)
        return pack_fail_memory(err, "facts");
    enum pack_status status = pack_dataset_facts(file, dataset, facts, err);
    if (status == PACK_OK)
        status = number == 0
                     ? pack_reader_info(self->ring->reader, &info, err)
                     : pack_reader_further_info(self->ring->reader, number - 1, &info, err);
    if (status == PACK_OK) {
        bool is_boxed = number == 0 && (params->pattern.box.rank > 0 || params->pattern.trace);
        kind->element = element_of(&facts->type);
        kind->sample = info.sample;
        if (kind->sample.extent[0] == 1 && !is_boxed)
            shorten(&kind->sample);
        if (number == 0 && params->transform && params->transform->values != PACK_READER_BYTES)
            kind->element = (struct element){
                info.elem_size, params->transform->values == PACK_READER_BF16 ? 'B' : 'f'
            };
    }
    free(facts);
    return status;
}

static enum pack_status
open_reader(struct reader *self, const struct pack_reader_params *params, struct pack_error *err)
{
    enum pack_status status = pack_reader_open(params, &self->ring->reader, err);
    for (size_t i = 0; i < self->n_parts && status == PACK_OK; i++)
        status = find_kind(self, i, params->files[0],
                           i == 0 ? params->dataset : params->further[i - 1], params, err);
    return status;
}

struct asked {
    PyObject *files, *further, *order, *transform;
    struct pack_reader_transform made;
    struct pack_reader_params params;
    const char *strategy;
};

static int
parse(PyObject *args, PyObject *kwargs, struct asked *asked)
{
    static char *names[] = { "files",     "dataset",  "further",      "order",   "transform",
                             "position",  "n_epochs", "n_threads",    "n_ahead", "n_kept",
                             "memory_bytes", "strategy", "waits", NULL };
    PyObject *numbers[6] = { NULL };
    int waits = 0;
    uint64_t values[6] = { 0 };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OsOO!|$OOOOOOOsp:Reader", names,
                                     &asked->files, &asked->params.dataset, &asked->further,
                                     &PyDict_Type, &asked->order, &asked->transform, &numbers[0],
                                     &numbers[1], &numbers[2], &numbers[3], &numbers[4],
                                     &numbers[5], &asked->strategy, &waits))
        return -1;
    for (int i = 0; i < 6; i++)
        if (params_u64(numbers[i], names[5 + i], &values[i]) < 0)
            return -1;
    for (int i = 2; i < 5; i++)
        if (values[i] > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "%s is too large", names[5 + i]);
            return -1;
        }
    asked->params.position = values[0];
    asked->params.n_epochs = values[1];
    asked->params.n_threads = (unsigned)values[2];
    asked->params.n_ahead = (unsigned)values[3];
    asked->params.n_kept = (unsigned)values[4];
    asked->params.memory_bytes = values[5];
    asked->params.waits = waits;
    return 0;
}

static int
find_strategy(const char *name, enum pack_reader_strategy *strategy)
{
    static const char *const names[] = { "auto", "pread", "mmap", "direct" };
    for (unsigned i = 0; i < 4; i++)
        if (!name || strcmp(name, names[i]) == 0) {
            *strategy = (enum pack_reader_strategy)i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "'%s' is no way to read: auto, pread, mmap or direct", name);
    return -1;
}

/* With params complete but for texts, which live as long as this call. */
static int
open_with(struct reader *self, struct asked *asked, struct pack_error *err)
{
    struct pack_reader_params *params = &asked->params;
    params->files = params_texts(asked->files, "files", &params->n_files);
    params->further =
        params->files ? params_texts(asked->further, "further", &params->n_further) : NULL;
    int outcome = -1;
    if (params->further && params->n_files == 0)
        PyErr_SetString(PyExc_ValueError, "no file was given");
    else if (params->further && params->n_further >= PARTS_MAX)
        PyErr_SetString(PyExc_ValueError, "at most 256 datasets are read beside the first");
    else if (params->further) {
        self->n_parts = 1 + params->n_further;
        self->kinds = PyMem_Calloc(self->n_parts, sizeof *self->kinds);
        params->watch = (struct pack_watch){ .context = self, .stop = look_for_signals };
        let_go(self);
        outcome = self->kinds && open_reader(self, params, err) == PACK_OK ? 0 : -1;
        take_again(self);
    }
    PyMem_Free((void *)params->files);
    PyMem_Free((void *)params->further);
    return outcome;
}

static int
reader_fill(struct reader *self, PyObject *args, PyObject *kwargs, struct pack_error *err)
{
    struct asked asked = { .params = { .file = NULL } };
    if (parse(args, kwargs, &asked) < 0 ||
        find_strategy(asked.strategy, &asked.params.strategy) < 0)
        return -1;
    if (asked.transform && asked.transform != Py_None) {
        if (params_transform(asked.transform, &asked.made, err) < 0)
            return -1;
        asked.params.transform = &asked.made;
    }
    self->ring = calloc(1, sizeof *self->ring);
    if (!self->ring)
        return PyErr_NoMemory() ? 0 : -1;
    atomic_init(&self->ring->n_users, 1);
    self->ring->pid = getpid();
    if (params_pattern(asked.order, &self->ring->pattern, err) < 0)
        return -1;
    asked.params.pattern = self->ring->pattern.pattern;
    return open_with(self, &asked, err);
}

static PyObject *
reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct pack_error err = { .status = PACK_ERR_MEMORY, .text = "out of memory" };
    struct reader *self = PyObject_New(struct reader, type);
    if (!self)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->native = Py_NewRef(PyType_GetModule(type));
    if (reader_fill(self, args, kwargs, &err) < 0) {
        errors_raise(state_of(self), &err);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

/* ------------------------------------------------------------------ closing */

/* Threads end here, or with the last batch that somebody has. */
static void
close_ring(struct reader *self)
{
    struct ring *ring = self->ring;
    self->ring = NULL;
    if (!ring)
        return;
    PyThreadState *state = PyEval_SaveThread();
    if (ring->pid == getpid())
        pack_reader_stop(ring->reader); /* of HDF5, nothing is left for another thread */
    ring_drop(ring);
    PyEval_RestoreThread(state);
}

static void
reader_dealloc(PyObject *object)
{
    struct reader *self = (struct reader *)object;
    PyTypeObject *type = Py_TYPE(object);
    close_ring(self);
    PyMem_Free(self->kinds);
    Py_DECREF(self->native);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* 0 when it can be used; what the sentence says otherwise. */
static int
check(const struct reader *self)
{
    const char *why = NULL;
    if (!self->ring)
        why = "this reader is closed";
    else if (self->ring->pid != getpid())
        why = "this reader was opened in the process that forked this one, and its threads are "
              "there: open another one here";
    else if (self->is_busy)
        why = "another thread waits for a batch of this reader: one at a time";
    if (why)
        PyErr_SetString(PyExc_RuntimeError, why);
    return why ? -1 : 0;
}

/* Whoever waits in here closes it on leaving. */
static PyObject *
reader_close(PyObject *object, PyObject *unused)
{
    struct reader *self = (struct reader *)object;
    (void)unused;
    if (self->ring && self->ring->pid == getpid() && self->is_busy) {
        self->is_to_close = true;
        atomic_store(&self->is_to_end, true);
    } else {
        close_ring(self);
    }
    return Py_NewRef(Py_None);
}

static PyObject *
reader_end_wait(PyObject *object, PyObject *unused)
{
    struct reader *self = (struct reader *)object;
    (void)unused;
    if (self->ring && self->ring->pid == getpid() && self->is_busy)
        atomic_store(&self->is_to_end, true);
    return Py_NewRef(Py_None);
}

/* ------------------------------------------------------------------ reading */

static void
add_work(struct pack_reader_work *sum, const struct pack_reader_work *work)
{
    sum->total_ns += work->total_ns;
    sum->read_ns += work->read_ns;
    sum->decode_ns += work->decode_ns;
    sum->transform_ns += work->transform_ns;
}

/* The next batch, kept. No slot: the last was before, if that is PACK_OK. */
static enum pack_status
next_kept(struct reader *self, struct slot **slot, struct pack_error *err)
{
    struct ring *ring = self->ring;
    enum pack_status status =
        self->has_lent ? PACK_OK : pack_reader_next(ring->reader, &self->lent, err);
    *slot = NULL;
    self->has_lent = status == PACK_OK && self->lent.n_samples > 0;
    if (!self->has_lent)
        return status;
    status = pack_reader_keep(ring->reader, &self->lent, err);
    if (status != PACK_OK)
        return status;
    self->has_lent = false;
    *slot = slot_new(ring, self->lent.buffer);
    add_work(&self->work, &self->lent.work);
    if (*slot)
        return PACK_OK;
    pack_reader_give_back(ring->reader, self->lent.buffer, NULL);
    return pack_fail_memory(err, "batch");
}

static PyObject *
reader_next(PyObject *object, PyObject *unused)
{
    struct reader *self = (struct reader *)object;
    struct pack_error err;
    struct slot *slot;
    (void)unused;
    if (check(self) < 0)
        return NULL;
    let_go(self);
    enum pack_status status = next_kept(self, &slot, &err);
    struct pack_reader_batch batch = self->lent; /* Python's collector may call this again */
    take_again(self);
    if (self->is_to_close)
        close_ring(self); /* not what slot keeps */
    if (status == PACK_ERR_INTERRUPTED && atomic_load(&self->is_to_end) && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "the reader was closed, by another thread or a signal's handler, while "
                        "this one waited for a batch");
    if (status != PACK_OK)
        return errors_raise(state_of(self), &err);
    if (!slot)
        return Py_NewRef(Py_None);
    return batch_new(state_of(self), slot, &batch, self->kinds, self->n_parts);
}

static PyObject *
info_dict(const struct pack_reader_info *info, const struct pack_reader_work *work)
{
    PyObject *sample = PyTuple_New(info->sample.rank);
    for (int i = 0; sample && i < info->sample.rank; i++)
        PyTuple_SetItem(sample, i, PyLong_FromUnsignedLongLong(info->sample.extent[i]));
    if (!sample)
        return NULL;
    return Py_BuildValue(
        "{sssssNsnsnsKsIsKsKsnsnsKsKsKsKsKsKsKsKsKsKsKsN}", "engine", info->engine, "reason", info->reason,
        "sample", sample, "elem_size", (Py_ssize_t)info->elem_size, "sample_bytes",
        (Py_ssize_t)info->sample_bytes, "n_batches", info->n_batches, "n_threads",
        info->n_threads, "memory_bytes", info->memory_bytes, "n_slots", info->n_slots,
        "n_buffers", (Py_ssize_t)info->n_buffers, "buffer_bytes",
        (Py_ssize_t)info->buffer_bytes, "visits", info->visits, "loads", info->loads, "hits",
        info->hits, "file_reads", info->file_reads, "file_read_bytes", info->file_read_bytes,
        "total_ns", work->total_ns, "read_ns", work->read_ns, "decode_ns", work->decode_ns,
        "transform_ns", work->transform_ns, "chunk_samples", info->chunk_samples,
        "n_missing_sources", info->n_missing_sources, "missing_source",
        PyUnicode_DecodeFSDefault(info->missing_source));
}

static PyObject *
reader_info(PyObject *object, PyObject *args)
{
    struct reader *self = (struct reader *)object;
    static const struct pack_reader_work none;
    struct pack_reader_info info;
    struct pack_error err;
    Py_ssize_t part = 0;
    if (!PyArg_ParseTuple(args, "|n:info", &part) || check(self) < 0)
        return NULL;
    enum pack_status status =
        part == 0 ? pack_reader_info(self->ring->reader, &info, &err)
                  : pack_reader_further_info(self->ring->reader, (size_t)part - 1, &info, &err);
    return status == PACK_OK ? info_dict(&info, part == 0 ? &self->work : &none)
                             : errors_raise(state_of(self), &err);
}

static PyObject *
reader_pid(PyObject *object, void *unused)
{
    struct reader *self = (struct reader *)object;
    (void)unused;
    return PyLong_FromLong(self->ring ? (long)self->ring->pid : 0);
}

static PyMethodDef methods[] = {
    { "next", reader_next, METH_NOARGS, "The next Batch, waited for; None behind the last." },
    { "info", reader_info, METH_VARARGS, "info(part=0): struct pack_reader_info of a dataset." },
    { "close", reader_close, METH_NOARGS,
      "Closes it; batches that somebody has stay as they are. A next() that waits ends." },
    { "end_wait", reader_end_wait, METH_NOARGS,
      "A next() that another thread waits in ends with RuntimeError, and the reader with it." },
    { NULL, NULL, 0, NULL }
};

static PyGetSetDef members[] = {
    { "pid", reader_pid, NULL, "The process that opened it, 0 once it is closed.", NULL },
    { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot slots[] = {
    { Py_tp_doc,
      "Reader(files, dataset, further, order, *, transform=None, position=0, n_epochs=1, "
      "n_threads=0, n_ahead=0, n_kept=0, memory_bytes=0, strategy='auto', waits=False): struct "
      "pack_reader_params; `order` and `transform` are dictionaries with the names of struct "
      "pack_pattern and struct pack_reader_transform." },
    { Py_tp_new, (void *)reader_new },
    { Py_tp_dealloc, (void *)reader_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, members },
    { 0, NULL }
};

PyType_Spec reader_spec = { "h5pack._native.Reader", sizeof(struct reader), 0,
                            Py_TPFLAGS_DEFAULT, slots };
