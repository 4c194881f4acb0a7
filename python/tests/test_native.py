"""The extension by itself: what h5pack's own Python never hands it, and what it gives back."""
import array
import ctypes
import gc
import os
import sys
import weakref

import files
import numpy
from files import N, h5py, raised, write

import h5pack
from h5pack import _native
from test_loader import is_asan, resident_kib


def reader(tmp_path, order=None, further=(), **options):
    path = tmp_path / "x.h5"
    if not path.exists():
        write(path)
    return _native.Reader((str(path),), "images", further, {"batch": 4, **(order or {})},
                          **{"n_kept": 2, **options})


# ------------------------------------------------------------------ arrays for others


class View(ctypes.Structure):
    """Python's Py_buffer."""
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
                ("strides", ctypes.POINTER(ctypes.c_ssize_t)), ("suboffsets", ctypes.c_void_p),
                ("internal", ctypes.c_void_p)]


def viewed(part, flags):
    view = View()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(part), ctypes.byref(view), flags)
    told = (view.len, view.itemsize, view.readonly, view.ndim, view.format,
            view.shape[:view.ndim] if view.shape else None, bool(view.strides))
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    return told


def test_a_view_says_what_was_asked_for_and_no_more(tmp_path):
    simple, writable, form, nd, strides = 0, 0x1, 0x4, 0x8, 0x18
    batch = reader(tmp_path).next()
    images, samples = batch.parts[0], batch.samples
    n_bytes = 4 * 8 * 9 * 3
    assert viewed(images, simple) == (n_bytes, 1, 0, 1, None, None, False)
    assert viewed(images, nd | writable) == (n_bytes, 1, 0, 4, None, [4, 8, 9, 3], False)
    assert viewed(images, strides | form) == (n_bytes, 1, 0, 4, b"B", [4, 8, 9, 3], True)
    assert viewed(samples, nd) == (32, 8, 1, 1, None, [4], False)
    raised(BufferError, viewed, samples, nd | writable)


class Versioned(ctypes.Structure):
    """The beginning of DLPack's DLManagedTensorVersioned."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64)]


def test_dlpack_says_which_form_it_has_and_whether_it_is_for_reading(tmp_path):
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    batch = reader(tmp_path).next()
    for part, flags in (batch.parts[0], 0), (batch.samples, 1):
        for version in (1, 0), (1, 9), (2, 0):
            capsule = part.__dlpack__(max_version=version, dl_device=(1, 0), copy=False)
            head = Versioned.from_address(pointer_of(capsule, b"dltensor_versioned"))
            assert (head.major, head.minor, head.flags) == (1, 0, flags)
    for how in {}, {"max_version": (0, 8)}, {"max_version": None, "copy": None}:
        assert pointer_of(batch.parts[0].__dlpack__(**how), b"dltensor")
    for how in {"dl_device": (2, 0)}, {"copy": True}:
        raised(BufferError, batch.parts[0].__dlpack__, **how)
    raised(TypeError, batch.parts[0].__dlpack__, max_version=5)
    assert batch.parts[0].__dlpack_device__() == (1, 0)


def test_what_dlpack_shows_is_what_the_buffer_shows(tmp_path):
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for i, kind in enumerate(("u1", "i1", "?", "<i2", "<u4", "<i8", "<f2", "<f4", "<f8")):
            file[f"d{i}"] = numpy.arange(2 * 3 * 5 * 7).reshape(5, 2, 7, 3).astype(kind)
    names = tuple(f"d{i}" for i in range(9))
    parts = _native.Reader((str(tmp_path / "x.h5"),), names[0], names[1:], {"batch": 3}, n_kept=1).next().parts
    with h5py.File(tmp_path / "x.h5") as file:
        for name, part in zip(names, parts, strict=True):
            want, shown = file[name][:3], numpy.asarray(memoryview(part))
            assert (shown == want).all() and shown.dtype == want.dtype, name
            capsule = part.__dlpack__()  # its type is behind data, a device and the number of axes
            code, bits, lanes, unused = ctypes.string_at(pointer_of(capsule, b"dltensor") + 20, 4)
            assert (code, bits, lanes, unused) == ("iuf...b".index(want.dtype.kind), 8 * want.itemsize, 1, 0)
            if shown.dtype != bool:  # of which NumPy 1.24 knows none by DLPack
                lent = numpy.from_dlpack(part)
                assert (lent == want).all() and lent.dtype == want.dtype, name


def test_a_capsule_that_nobody_takes_gives_its_batch_back(tmp_path):
    under_test = reader(tmp_path, n_kept=1, n_epochs=2)
    for version in (0, 8), (1, 0):
        for _ in range(5):
            under_test.next().parts[0].__dlpack__(max_version=version)


# ------------------------------------------------------------------ batches and figures


def test_a_batch_says_where_it_is_and_what_it_took(tmp_path):
    write(tmp_path / "x.h5", compression="gzip")
    under_test = reader(tmp_path, further=("labels", "volume"), position=40, n_epochs=2, n_kept=3)
    sums, at, before_ns = {}, [], 0
    for _ in range(19):
        batch = under_test.next()
        at.append((batch.epoch, batch.number, batch.position, len(batch)))
        assert batch.ready_ns > 0 and 0 <= batch.buffer < under_test.info()["n_buffers"]
        labels, volume = map(numpy.asarray, map(memoryview, batch.parts[1:]))
        assert labels.tolist() == numpy.asarray(memoryview(batch.samples)).tolist()
        assert (volume[:, 0] == 60 * labels).all()
        for key, number in batch.work.items():
            sums[key] = sums.get(key, 0) + number
    assert at == [*((0, 10 + i, 40 + 4 * i, 4 if i < 15 else 3) for i in range(16)),
                  *((1, i, 4 * i, 4) for i in range(3))]
    info, beside = under_test.info(), under_test.info(1)
    for key in "total_ns", "read_ns", "decode_ns", "transform_ns":
        assert info[key] == sums[key] and beside[key] == 0, key
    assert info["decode_ns"] > 0 and info["sample"] == (1, 8, 9, 3) and beside["sample"] == (1,)
    del batch, labels, volume
    while under_test.next() is not None:
        pass
    assert under_test.next() is None, "and stays at its end"


# ------------------------------------------------------------------ what is refused


def test_numbers_that_do_not_fit_are_refused(tmp_path):
    order = _native.Order
    for kind, options in ((TypeError, {"seed": "5"}), (TypeError, {"seed": 1.5}),
                          (ValueError, {"seed": -1}), (ValueError, {"seed": 2**64}),
                          (TypeError, {"weights": array.array("f", [1, 2])}),
                          (TypeError, {"subset": array.array("l", [1, 2])}),
                          (ValueError, {"weights": array.array("d", [1, 2]), "subset": array.array("L", [1])})):
        raised(kind, lambda: order(**{"shape": [2], "order": "weighted:by=weights" if "weights" in options
                                      else "sequential", **options}))
    raised(TypeError, lambda: order([9]))
    assert "33 axes, at most 32 can be" in raised(ValueError, lambda: order(shape=[1] * 33))
    assert "40 axes, at most 32 can be" in raised(ValueError, lambda: order(shape=[9], box=[1] * 40))
    assert len(order(shape=[9, *[1] * 31])) == 9
    for options in {"n_threads": 2**31}, {"n_ahead": 2**31}, {"n_kept": 2**31}:
        assert "is too large" in raised(ValueError, reader, tmp_path, **options)
    assert "no way to read" in raised(ValueError, reader, tmp_path, strategy="x")
    path = str(tmp_path / "x.h5")
    said = raised(ValueError, _native.check_transform, path, "images", {"crop": "centre", "height": 2**32 + 4, "width": 4})
    assert said == "height is too large"
    for given in ({"flip": (0.5, 0.5)}, {"values": "float32", "mean": (0.5,) * 17, "std": (0.5,) * 3}, {"crop": "some"}):
        raised(ValueError, _native.check_transform, path, "images", given)
    labels = ("labels",)
    assert len(reader(tmp_path, further=256 * labels).next().parts) == 257
    assert "at most 256" in raised(ValueError, reader, tmp_path, further=257 * labels)


def test_each_way_to_read_reads(tmp_path):
    pixels = write(tmp_path / "x.h5")
    for strategy in "auto", "pread", "mmap", "direct":
        images = numpy.asarray(memoryview(reader(tmp_path, strategy=strategy).next().parts[0]))
        assert (images == pixels[:4]).all(), strategy


def test_workers_of_a_batch_share_the_order():
    def drawn(**options):
        return numpy.frombuffer(_native.Order(shape=[40], batch=5, **options).samples(99), "u8").tolist()

    parts = [drawn(workers=2, worker=worker) for worker in range(2)]
    assert parts[0] != parts[1] and sorted(sum(parts, [])) == drawn()


# ------------------------------------------------------------------ what is let go of


def test_nothing_that_was_handed_in_is_held(tmp_path):
    weights, subset = array.array("d", [1] * 9), array.array("L", range(9))
    big, path = 2**40, os.fsencode(tmp_path / "x.h5")
    held = reader(tmp_path, {"seed": big})
    order = _native.Order(shape=[N], order="weighted:by=weights", weights=weights, subset=subset, seed=big)
    weights.append(1)  # a BufferError as long as somebody has a view of it
    subset.append(1)
    before = [sys.getrefcount(one) for one in (big, path, _native)]
    for _ in range(3):
        _native.dataset(path, "images")
        _native.check_transform(path, "images", {"crop": "centre", "height": 4, "width": 4})
        raised(h5pack.NotFoundError, _native.dataset, path, "none")
        raised(h5pack.NotFoundError, _native.check_transform, path, "none", {})
        _native.Order(shape=[N], seed=big).samples(5)
        raised(h5pack.ArgumentError, lambda: _native.Order(shape=[N], seed=big, order="none"))
        reader(tmp_path, {"seed": big}).close()
    gc.collect()
    assert [sys.getrefcount(one) for one in (big, path, _native)] == before
    assert held.next() and len(order.samples(99)) == 8 * 9


def test_sentences_need_not_be_utf_8(tmp_path):
    for dataset in "x", "\u00fc":
        said = raised(h5pack.NotFoundError, _native.dataset, os.fsencode(tmp_path) + b"/\xff.h5", dataset)
        assert "\ufffd.h5" in said, said


def test_an_exception_goes_when_nobody_has_it(tmp_path):
    try:
        _native.dataset(tmp_path / "none.h5", "x")
    except h5pack.NotFoundError as why:
        gone = weakref.ref(why)
    gc.collect()
    assert gone() is None


def test_what_orders_readers_and_facts_take_is_given_back(tmp_path):
    """Each holds a few MiB, so that one that is not would show."""
    files.write(tmp_path / "x.h5")
    many = 10**6
    weights, subset = numpy.ones(many), numpy.zeros(many, "u8")
    boxes = b"".join(b"%d\t0\t0\t0\t1\t8\t9\t3\n" % (i % N) for i in range(20000))

    def some(times):
        for _ in range(times):
            _native.Order(shape=[many], order="weighted:by=weights", weights=weights)
            _native.Order(shape=[many], subset=subset)
            _native.Order(shape=[many], order="shuffle").samples(1)
            reader(tmp_path, {"subset": subset}).close()
            reader(tmp_path, {"order": "trace:t", "trace": boxes}).close()
        for _ in range(100 * times):
            _native.dataset(str(tmp_path / "x.h5"), "images")
        gc.collect()

    some(2)
    before = resident_kib()
    some(8)
    assert is_asan() or resident_kib() - before < 8000, resident_kib() - before


def test_facts_are_those_of_attributes(tmp_path):
    write(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5", "a") as file:
        file["images"].attrs["mean"], file["images"].attrs["std"] = [1.5, 2, 3], [4.5, 5, 6]
    facts = _native.dataset(str(tmp_path / "x.h5"), "images")
    assert facts["mean"] == [1.5, 2, 3] and facts["std"] == [4.5, 5, 6]
