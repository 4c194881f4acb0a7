"""Several files that are read as one: whether they go together."""
import os
import warnings

from h5pack import _hdf5, _native
from h5pack._options import fail

CLASSES = "class_names"
CLASSES_BYTES = 256 << 20  # that reading them may take


def times(shape):
    return "x".join(map(str, shape))


def is_there(file, dataset):
    try:
        _native.dataset(file, dataset)
    except _native.NotFoundError:
        return False
    return True


def check_alike(first, known_1, name, known):
    """(shape, type) of each dataset of a file, with the first's: a reader would refuse others later."""
    file, first = os.fsdecode(name), os.fsdecode(first)
    for dataset, (shape, kind) in known.items():
        shape_1, kind_1 = known_1[dataset]
        if shape[1:] != shape_1[1:]:
            fail("path", f"'{dataset}' of '{file}' is {times(shape)}, of '{first}' "
                         f"{times(shape_1)}; files of a set have samples of one shape")
        if kind != kind_1:
            fail("path", f"'{dataset}' of '{file}' is of type {kind}, of '{first}' {kind_1}: "
                         "files of a set have one")


def check_type(name, argument, dataset, fact):
    """Long floats of another machine are no numbers here, and not what somebody means by bytes."""
    kind = fact["type"]
    if kind.lstrip(">").startswith("float") and fact["typestr"][1] == "V" and int(fact["typestr"][2:]) > 8:
        fail(argument, f"'{os.fsdecode(name)}': '{dataset}' is of type {kind}, which is not this machine's "
                       "long double; HDF5 itself makes numbers of it: h5py's file[name].astype('f8')")


def warn_of_classes(names, files):
    """Of files that were packed each on its own, where a label is the number of another class."""
    known, origin = (), None
    for name, file in zip(names, files):
        classes = _classes(file)
        for label, (one, other) in enumerate(zip(known, classes)):
            if one != other:
                warnings.warn(
                    f"label {label} is {one!r} in '{os.fsdecode(origin)}', and {other!r} in "
                    f"'{os.fsdecode(name)}': h5pack --classes packs with the numbers of another "
                    "file", stacklevel=4)
                return
        if len(classes) > len(known):
            known, origin = classes, name


def _classes(file):
    """Names of classes by label, as h5pack writes them; none of a file that has none."""
    order = {"order": "sequential", "seed": 0, "batch": 1, "rank": 0, "world": 1, "drop_last": False}
    try:
        with _hdf5.alone():
            facts = _native.dataset(file, CLASSES)
            if facts["typestr"][1:2] != "S":
                return ()
            reader = _native.Reader((file,), CLASSES, (), {**order, "batch": facts["shape"][0]},
                                    n_threads=1, n_kept=1, memory_bytes=CLASSES_BYTES)
            try:
                names = memoryview(reader.next().parts[0])
            finally:
                reader.close()
    except (_native.Error, IndexError):  # none, or none that can be read: they are for people
        return ()
    text, size = names.tobytes(), names.itemsize
    return tuple(text[at:at + size].rstrip(b"\0").decode("utf-8", "replace")
                 for at in range(0, len(text), size))
