"""Loader against what h5py reads."""
import ctypes
import gc
import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from types import MappingProxyType, SimpleNamespace

import files
import numpy
from files import N, SIDE, h5py, raised, take, write, write_virtual

import h5pack
from h5pack import _native, _stats

ORDERS = ("sequential", "shuffle", "block:chunks=4", "block:chunks=3,pool=slide",
          "block:chunks=2,local", "buffer:samples=20", "replacement", "replacement:draws=50")


def loader(tmp_path, batch_size=8, **options):
    path = tmp_path / "x.h5"
    if not path.exists():
        write(path)
    options.setdefault("out", "numpy")
    return h5pack.Loader(path, batch_size, **options)


def drawn(order, epoch=0, seed=0):
    """The samples that libpack draws without a file."""
    made = _native.Order(shape=(N, SIDE, SIDE + 1, 3), chunk_samples=4, order=order, seed=seed,
                         batch=8)
    made.seek(epoch)
    return numpy.frombuffer(made.samples(10**6), numpy.uint64).astype(int)


# ------------------------------------------------------------------ data and orders


def test_every_order_gives_what_h5py_reads_at_the_samples_drawn(tmp_path):
    pixels = write(tmp_path / "x.h5")
    for order in ORDERS:
        under_test = loader(tmp_path, order=order, seed=5)
        for epoch in range(2):
            images, labels = take(under_test)
            want = drawn(order, epoch, 5)
            assert labels.tolist() == want.tolist(), order
            assert (images == pixels[want]).all(), order


def test_an_iteration_of_which_nothing_is_taken_uses_up_no_epoch(tmp_path):
    under_test = loader(tmp_path)
    first = take(loader(tmp_path))[1].tolist()
    iter(under_test)
    assert under_test.state_dict()["batches"] == 0
    assert take(under_test)[1].tolist() == first, "as Lightning does, before it trains"
    begun = iter(under_test)
    under_test.set_epoch(0)
    next(begun)
    assert take(under_test)[1].tolist() == first, "what was asked for since holds"
    for asked in (lambda: under_test.set_epoch(0), lambda: under_test.load_state_dict(second)):
        under_test.set_epoch(0)
        begun = iter(under_test)
        second = under_test.state_dict()
        asked()
        for _ in range(3):
            next(begun)
        assert take(under_test)[1].tolist() == first, "and where it is the same place"


def test_epochs_differ_and_seeds_too(tmp_path):
    first = loader(tmp_path)
    epochs = [take(first)[1].tolist() for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    assert take(loader(tmp_path, seed=1))[1].tolist() not in epochs
    assert sorted(epochs[2]) == list(range(N))


def test_threads_do_not_change_anything(tmp_path):
    options = {"resized_crop": 5, "flip": True, "seed": 3}
    want = take(loader(tmp_path, threads=1, **options))
    for threads in (2, 3, 8):
        got = take(loader(tmp_path, threads=threads, **options))
        assert all((a == b).all() for a, b in zip(want, got)), threads


def test_ranks_cover_every_sample_once(tmp_path):
    for order in ("shuffle", "block:chunks=3", "block:chunks=2,local"):
        seen = []
        for rank in range(3):
            part = loader(tmp_path, 4, order=order, rank=rank, world=3)
            got = take(part)[1].tolist()
            assert len(got) == 35 and len(part) == 9
            seen += got
        assert len(seen) == 105 and set(seen) == set(range(N)), order  # padded by two


def test_several_files_are_one(tmp_path):
    want = [write(tmp_path / f"{i}.h5", seed=i, n=10 + i) for i in range(3)]
    paths = [tmp_path / f"{i}.h5" for i in range(3)]
    images, labels = take(h5pack.Loader(paths, 4, order="sequential", out="numpy"))
    assert (images == numpy.concatenate(want)).all()
    assert labels[10] == 1000 and len(labels) == 33


def test_any_numbers_are_read_and_other_datasets_beside(tmp_path):
    write(tmp_path / "x.h5")
    volume, names = take(loader(tmp_path, images="volume", with_=("names",), order="sequential"))
    with h5py.File(tmp_path / "x.h5") as file:
        assert (volume == file["volume"][:]).all() and volume.dtype == numpy.dtype("f4")
        assert (names == file["names"][:]).all()


def test_elements_that_are_no_numbers_of_this_machine_are_bytes(tmp_path):
    words = numpy.array([200, 1, 3, 7])
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for kind in ("u1", "i2", "u2", ">i2"):
            file.create_dataset(kind, data=words.astype(kind),
                                dtype=h5py.enum_dtype({"A": 200, "B": 1}, basetype=kind))
        brain = h5py.h5t.IEEE_F32LE.copy()
        brain.set_fields(15, 7, 8, 0, 7)
        brain.set_size(2)
        brain.set_ebias(127)
        made = h5py.h5d.create(file.id, b"brain", brain, h5py.h5s.create_simple((4,)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, words.astype("f4"))
        file["half"] = words.astype(">f2")
    for kind in ("u1", "i2", "u2", "half"):
        got, = take(loader(tmp_path, 4, images=kind, with_=(), order="sequential"))
        assert got.tolist() == words.tolist(), kind
    for kind, bits in ((">i2", words.astype(">i2")), ("brain", words.astype("f4").view("u4") >> 16)):
        got, = take(loader(tmp_path, 4, images=kind, with_=(), order="sequential"))
        assert got.dtype.kind == "V", kind
        assert got.view(bits.dtype.byteorder + "u2").tolist() == bits.tolist(), kind


def test_long_doubles_are_numbers_and_those_of_other_machines_refused(tmp_path):
    values = (numpy.arange(24, dtype="g") / 3).reshape(6, 4)
    own = h5py.h5t.py_create(values.dtype)
    is_long = own.get_size() > 8
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"], file["twice"] = values, values * 2
        for name, base, bias in ("turned", own, 0), ("odd", own, 1):
            kind = base.copy()
            if bias:
                kind.set_ebias(base.get_ebias() - bias)
            else:
                kind.set_order(h5py.h5t.ORDER_BE if sys.byteorder == "little" else h5py.h5t.ORDER_LE)
            made = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((6, 4)))
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    got, twice = take(loader(tmp_path, 4, with_="twice", order="sequential"))
    assert got.dtype == twice.dtype == numpy.longdouble
    assert (got == values).all() and (twice == values * 2).all()
    part = next(iter(loader(tmp_path, 4, with_=None, out="dlpack")))[0]
    if not is_long:
        return
    assert memoryview(part).format == "g" and part.typestr == f"<f{own.get_size()}"
    raised(BufferError, part.__dlpack__)
    for argument, options in ("images", {"images": "turned"}), ("with_", {"with_": "odd"}):
        said = raised(h5pack.ArgumentError, loader, tmp_path, **options)
        assert said.startswith(f"{argument}: '{tmp_path}/x.h5': '") and "this machine's long double" in said
    numbers = h5pack.Loader(tmp_path / "x.h5", 4, images="images", with_=None, order="sequential", out="torch") \
        if importlib.util.find_spec("torch") else None
    assert numbers is None or next(iter(numbers))[0].dtype == numpy.longdouble


def test_fields_of_bits_are_numbers(tmp_path):
    values = numpy.arange(24).reshape(4, 6)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, kind in ("B8", h5py.h5t.STD_B8LE), ("B16", h5py.h5t.STD_B16LE), ("B64", h5py.h5t.STD_B64LE):
            data = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((4, 6)))
            data.write(h5py.h5s.ALL, h5py.h5s.ALL, values.astype(f"u{int(name[1:]) // 8}"), kind)
    for name, dtype in ("B8", "u1"), ("B16", "u2"), ("B64", "u8"):
        got, = take(opened(tmp_path / "x.h5", 4, images=name, with_=None, order="sequential"))
        assert (got == values).all() and got.dtype == dtype, name


def test_truth_values_are_what_h5py_takes_for_them(tmp_path):
    values = numpy.arange(60).reshape(20, 3) % 3 == 0
    near = {"more": {"FALSE": 0, "TRUE": 1, "MAYBE": 2}, "other": {"NO": 0, "YES": 1},
            "turned": {"FALSE": 1, "TRUE": 0}, "one": {"FALSE": 0}}
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["masks"], file["labels"] = values, values[:, 0]
        file["wide"] = numpy.zeros(20, h5py.enum_dtype({"FALSE": 0, "TRUE": 1}, basetype="i2"))
        for name, members in near.items():
            file[name] = numpy.zeros(20, h5py.enum_dtype(members, basetype="i1"))
    under_test = loader(tmp_path, images="masks", with_=("labels", *near, "wide"), order="sequential")
    masks, labels, *others = take(under_test)
    assert masks.dtype == labels.dtype == bool
    assert (masks == values).all() and (labels == values[:, 0]).all()
    assert [other.dtype.str for other in others] == ["|i1"] * 4 + ["<i2"]
    images = h5pack.Images(tmp_path / "x.h5", images="masks")
    assert images[3][0].dtype == bool and images[3][1].dtype == bool
    part, _ = next(iter(loader(tmp_path, images="masks", with_="labels", out="dlpack")))
    assert part.typestr == "|b1" and memoryview(part).format == "?"


def test_boxes_of_volumes_are_samples_too(tmp_path):
    write(tmp_path / "x.h5")
    got, = take(loader(tmp_path, images="volume", with_=(), order="sequential", box=(1, 60)))
    assert got.shape == (N, 1, 60)
    got, = take(loader(tmp_path, images="volume", with_=(), order="sequential", box=(10, 60),
                       step=5))
    with h5py.File(tmp_path / "x.h5") as file:
        rows = file["volume"][:]
    assert got.shape == (19, 10, 60)
    assert all((got[i] == rows[5 * i:5 * i + 10]).all() for i in range(19))


def test_labels_that_are_not_there_are_left_out_unless_asked_for(tmp_path):
    with h5py.File(tmp_path / "bare.h5", "w") as file:
        file["images"] = numpy.zeros((10, 4), "f4")
    assert len(next(iter(h5pack.Loader(tmp_path / "bare.h5", 2, out="numpy")))) == 1
    said = raised(h5pack.NotFoundError, h5pack.Loader, tmp_path / "bare.h5", 2, with_=("labels",))
    assert said.startswith("with_: ") and "bare.h5" in said and "'labels'" in said, said
    with h5py.File(tmp_path / "bare.h5", "r+") as file:
        file.create_group("group")
    said = raised(h5pack.ArgumentError, h5pack.Loader, tmp_path / "bare.h5", 2, with_="group")
    assert said.startswith("with_: ") and "bare.h5" in said and "is a group" in said, said


def test_the_last_batch_is_short_or_left_out(tmp_path):
    sizes = [len(labels) for _, labels in loader(tmp_path)]
    assert sizes == [8] * 12 + [7] and len(loader(tmp_path)) == 13
    assert [len(labels) for _, labels in loader(tmp_path, drop_last=True)] == [8] * 12
    assert len(loader(tmp_path, drop_last=True)) == 12


def test_an_epoch_without_a_batch_is_refused(tmp_path):
    for options, words in (
            ({"indices": range(7)}, "there are 7 samples, and a batch of 8"),
            ({"rank": 3, "world": 15}, "each of 15 ranks has 7 of 103 samples, and a batch of 8"),
            ({"order": "replacement:draws=5"}, "there are 5 samples")):
        said = raised(h5pack.ArgumentError, loader, tmp_path, drop_last=True, **options)
        assert said.startswith("drop_last: ") and words in said, said
        assert len(loader(tmp_path, **options)) == 1
    for order in ORDERS[:6]:
        for world in 12, 13:  # of 9 samples, and of 8
            counts = {len(loader(tmp_path, drop_last=True, order=order, rank=rank, world=world))
                      for rank in range(world)}
            assert counts == {1}, "all ranks have as many"
    path = tmp_path / "x.h5"
    said = raised(h5pack.ArgumentError, h5pack.BlockSampler, path, 104, workers=1, drop_last=True)
    assert said.startswith("drop_last: there are 103 samples"), said
    assert len(h5pack.BlockSampler(path, 103, workers=1, drop_last=True)) == 1


def test_weights_are_kept_to(tmp_path):
    weights = numpy.zeros(N)
    weights[[3, 50]] = 1, 3
    labels = take(loader(tmp_path, weights=weights))[1]
    assert set(labels) == {3, 50} and (labels == 50).mean() > 0.5
    labels = take(loader(tmp_path, weights=weights, order="weighted:draws=1000"))[1]
    assert len(labels) == 1000 and 0.7 < (labels == 50).mean() < 0.8


class Foreign:
    """Speaks DLPack and nothing else."""

    def __init__(self, numbers):
        self.numbers = numpy.array(numbers)

    def __dlpack__(self, **_):
        return self.numbers.__dlpack__()

    def __dlpack_device__(self):
        return self.numbers.__dlpack_device__()


def test_numbers_may_come_by_dlpack(tmp_path):
    assert sorted(take(loader(tmp_path, indices=Foreign([5, 3, 70])))[1]) == [3, 5, 70]
    weights = numpy.zeros(N)
    weights[[3, 50]] = 1, 3
    assert set(take(loader(tmp_path, weights=Foreign(weights)))[1]) == {3, 50}
    assert len(loader(tmp_path, indices=range(4), drop_last=numpy.False_)) == 1


def test_weights_and_masks_are_of_boxes_where_these_are_samples(tmp_path):
    volume = {"images": "volume", "with_": ()}
    for where, n in (({"box": (10, 60), "step": 5}, 19), ({"step": 2}, 52),
                     ({"box": (4, 60)}, 100)):
        for wrong in (n - 1, n + 1):
            said = raised(h5pack.ArgumentError, loader, tmp_path, weights=[1] * wrong,
                          **volume, **where)
            assert said == f"weights: there are {wrong}, and {n} samples", said
            said = raised(h5pack.ArgumentError, loader, tmp_path, indices=[True] * wrong,
                          **volume, **where)
            assert said == f"indices: it is a mask of {wrong}, and there are {n} samples", said
        assert len(loader(tmp_path, weights=[1] * n, **volume, **where)) == -(-n // 8)
        second = [number == 1 for number in range(n)]
        got, = take(loader(tmp_path, indices=second, **volume, **where))
        assert len(got) == 1 and got.reshape(-1)[0] == 60 * where.get("step", 1)


def test_indices_are_the_samples_that_take_part(tmp_path):
    some = numpy.random.default_rng(1).permutation(N)[:40]
    assert take(loader(tmp_path, indices=some, order="sequential"))[1].tolist() == some.tolist()
    for order in ("shuffle", "block:chunks=3", "block:chunks=2,local", "buffer:samples=9"):
        under_test = loader(tmp_path, indices=some, order=order)
        images, labels = take(under_test)
        assert sorted(labels) == sorted(some) and len(under_test) == 5, order
    mask = numpy.isin(numpy.arange(N), some)
    assert sorted(take(loader(tmp_path, indices=mask))[1]) == sorted(some)
    labels = take(loader(tmp_path, indices=[5, 9], weights=[0, 1]))[1]
    assert labels.tolist() == [9, 9]
    state = under_test.state_dict()
    said = raised(ValueError, loader(tmp_path, indices=some[::-1], order=order).load_state_dict,
                  state)
    assert "indices" in said, said


# ------------------------------------------------------------------ going on


def test_a_state_goes_on_with_exactly_the_next_batch(tmp_path):
    for order in ORDERS:
        whole = loader(tmp_path, order=order, seed=2)
        labels = [[label.tolist() for _, label in whole] for _ in range(2)]
        for stop in (0, 1, 5, len(whole)):
            first = loader(tmp_path, order=order, seed=2)
            iteration = iter(first)
            for _ in range(stop):
                next(iteration)
            second = loader(tmp_path, order=order, seed=2)
            second.load_state_dict(first.state_dict())
            got = [label.tolist() for _, label in second]
            want = labels[0][stop:] or labels[1]
            assert got == want, (order, stop)
            if stop != len(whole):
                assert [label.tolist() for _, label in second] == labels[1], order


def test_a_state_of_another_loader_is_refused(tmp_path):
    state = loader(tmp_path).state_dict()
    said = raised(ValueError, loader(tmp_path, seed=1).load_state_dict, state)
    assert "seed=0" in said and "seed=1" in said
    raised(ValueError, loader(tmp_path, 16).load_state_dict, state)


def test_set_epoch_gives_that_epoch_from_its_beginning(tmp_path):
    straight = loader(tmp_path)
    epochs = [take(straight)[1].tolist() for _ in range(3)]
    jumping = loader(tmp_path)
    for epoch in (2, 0, 0, 1):
        jumping.set_epoch(epoch)
        assert take(jumping)[1].tolist() == epochs[epoch]
    assert take(jumping)[1].tolist() == epochs[2]


def test_a_state_is_that_of_the_epoch_that_was_set(tmp_path):
    first, second = loader(tmp_path), loader(tmp_path)
    first.set_epoch(5)
    second.load_state_dict(first.state_dict())
    assert take(second)[1].tolist() == take(first)[1].tolist() == drawn("shuffle", 5).tolist()


def test_a_running_iteration_does_not_change_what_was_asked_for(tmp_path):
    under_test, want = loader(tmp_path), drawn("shuffle", 5).tolist()

    def begun():
        under_test.set_epoch(0)
        batches = iter(under_test)
        next(batches)
        return batches

    def place():
        state = under_test.state_dict()
        return state["epoch"], state["batches"]

    running = begun()
    under_test.set_epoch(5)
    next(running)
    assert place() == (5, 0)
    second = loader(tmp_path)
    second.load_state_dict(under_test.state_dict())
    assert take(second)[1].tolist() == want
    assert len(list(running)) == 11 and place() == (5, 0), "nor does its end"
    batches = iter(under_test)
    assert place() == (5, 0)
    assert next(batches)[1].tolist() == want[:8] and place() == (5, 1)
    del batches

    state = {**under_test.state_dict(), "epoch": 0, "batches": 4}
    running = begun()
    under_test.load_state_dict(state)
    next(running)
    assert place() == (0, 4), "a place in the same epoch"
    running = begun()
    under_test.set_epoch(0)
    assert place() == (0, 0)
    next(running)
    assert place() == (0, 2), "as of Lightning's callbacks, which say which epoch runs"


def test_an_exception_between_reading_and_handing_out_loses_no_batch(tmp_path):
    under_test = loader(tmp_path)
    iteration = iter(under_test)
    got = next(iteration)[1].tolist()
    real, under_test._make = under_test._make, lambda batch: [][1]
    raised(IndexError, next, iteration)
    under_test._make = real
    got += [label for _, labels in iteration for label in labels.tolist()]
    assert got == drawn("shuffle").tolist()


def test_relative_names_are_those_of_the_folder_in_which_it_was_made(tmp_path):
    write(tmp_path / "x.h5")
    (tmp_path / "far" / "other").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "other")
    write(tmp_path / "far" / "y.h5", seed=1)
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        for name in ("x.h5", b"x.h5", "link/../y.h5", ["x.h5", "./far/y.h5"]):
            os.chdir(tmp_path)
            under_test = h5pack.Loader(name, 8, order="sequential", out="numpy")
            want = take(under_test)[1]
            under_test.close()
            os.chdir("link")
            for other in (under_test, pickle.loads(pickle.dumps(under_test))):
                other.set_epoch(0)
                assert (take(other)[1] == want).all(), name
                other.close()
            assert "<h5pack.Loader of " + os.fsdecode(name if isinstance(name, (str, bytes))
                                                      else ", ".join(name)) in repr(under_test)
        os.chdir(tmp_path)
        assert raised(h5pack.NotFoundError, h5pack.Loader, "z.h5", 8).startswith("cannot open 'z.h5'")
    finally:
        os.chdir(here)


def test_names_that_are_not_utf8_are_files_too(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff.h5"
    write(os.fsdecode(name))
    assert len(take(h5pack.Loader(name, 8, out="numpy"))[1]) == N
    assert len(h5pack.BlockSampler(os.fsdecode(name), 8, workers=1)) == 13


def test_attributes_that_are_not_utf8_do_not_matter(tmp_path):
    write(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5", "a") as file:
        file["images"].attrs["INTERLACE_MODE"] = numpy.bytes_(b"INTER\xff")
    assert _native.dataset(str(tmp_path / "x.h5"), "images")["interlace_mode"] == "INTER\ufffd"
    assert len(take(loader(tmp_path))[1]) == N


def test_more_samples_than_memory_are_an_error():
    many = _native.Order(shape=(10,), order=f"replacement:draws={2**61}")
    assert len(many.samples(4)) == 32
    raised(MemoryError, many.samples, 2**61)


def test_a_collector_that_reads_from_the_same_reader_changes_nothing(tmp_path):
    under_test = loader(tmp_path, order="sequential")
    next(iter(under_test))
    reader, others = under_test._reader, []

    class Last:
        def __del__(self):
            others.append(reader.next())

    gc.collect()
    gc.disable()
    thresholds = gc.get_threshold()
    try:
        last = Last()
        last.itself = last
        del last
        spare = [tuple([i, i]) for i in range(5000)]  # so that a tuple is new memory
        gc.set_threshold(1)
        gc.enable()
        batch = reader.next()
    finally:
        gc.set_threshold(*thresholds)
        gc.enable()
    assert spare and batch.number == 1
    assert numpy.asarray(batch.parts[1]).tolist() == list(range(8, 16))


def test_an_epoch_that_was_left_is_followed_by_the_next(tmp_path):
    straight = loader(tmp_path)
    epochs = [take(straight)[1].tolist() for _ in range(2)]
    left = loader(tmp_path)
    for _ in left:
        break
    assert take(left)[1].tolist() == epochs[1]


def test_an_iteration_ends_when_another_begins(tmp_path):
    under_test = loader(tmp_path)
    first = iter(under_test)
    next(first)
    iter(under_test)
    assert "another" in raised(RuntimeError, next, first)


# ------------------------------------------------------------------ memory


def test_arrays_outlive_the_loader(tmp_path):
    pixels = write(tmp_path / "x.h5")
    under_test = loader(tmp_path, order="sequential")
    iteration = iter(under_test)
    kept = [next(iteration)[0] for _ in range(4)]
    del under_test, iteration
    gc.collect()
    assert all((kept[i] == pixels[8 * i:8 * i + 8]).all() for i in range(4))
    kept[0][:] = 7  # and are memory of their own
    assert (kept[1] == pixels[8:16]).all()


def test_a_batch_that_is_kept_stays_while_others_are_read(tmp_path):
    pixels = write(tmp_path / "x.h5")
    kept = {}
    for number, (images, labels) in enumerate(loader(tmp_path, order="shuffle")):
        if number % 3 == 0:
            kept[number] = images[2:4], labels  # a view of a view
    assert all((images == pixels[labels[2:4]]).all() for images, labels in kept.values())


def test_keeping_all_batches_ends_in_a_sentence_and_can_go_on(tmp_path):
    under_test = loader(tmp_path, memory="2M", order="replacement:draws=100000")
    labels = drawn("replacement:draws=100000")
    iteration, kept = iter(under_test), []

    def hoard():
        for batch in iteration:
            kept.append(batch)

    said = raised(h5pack.LimitError, hoard)
    assert "memory" in said and "let go" in said, said
    done = 8 * len(kept)
    raised(h5pack.LimitError, next, iteration)  # of the same reader: not as much memory again
    kept.clear()
    assert next(iteration)[1].tolist() == labels[done:done + 8].tolist()  # nothing is lost


def test_other_limits_than_memory_are_told_as_they_are(tmp_path):
    under_test = loader(tmp_path)
    iteration = iter(under_test)

    class Reader:
        pid, info, close = os.getpid(), under_test._reader.info, under_test._reader.close

        def next(self):
            raise _native.LimitError("a chunk is too large")

    under_test._reader = Reader()
    assert raised(h5pack.LimitError, next, iteration) == "a chunk is too large"


def test_memory_that_is_too_little_is_refused_with_the_least(tmp_path):
    said = raised(h5pack.MemoryLimitError, take, loader(tmp_path, memory=1000))
    assert said.startswith("memory: ") and "do" in said, said


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def is_asan():
    """Address sanitizer keeps what was freed."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        return "libasan" in file.read()


def test_nothing_grows_over_ten_thousand_batches(tmp_path):
    under_test = loader(tmp_path, 2)
    for _ in range(20):
        for _ in under_test:
            pass
    before = resident_kib()
    for _ in range(200):
        for _ in under_test:
            pass
    assert under_test.stats()["batches"] > 10000
    assert is_asan() or resident_kib() - before < 1500


def test_loaders_come_and_go_without_growth(tmp_path):
    def some():
        for _ in range(60):
            for _ in loader(tmp_path):
                break  # in mid-epoch
        gc.collect()

    some()
    before, threads = resident_kib(), threading.active_count()
    some()
    assert (is_asan() or resident_kib() - before < 1500) and threading.active_count() == threads
    assert len(os.listdir("/proc/self/task")) < 20


# ------------------------------------------------------------------ what happens to processes


def test_one_reader_reads_epoch_after_epoch(tmp_path):
    """It is begun anew, with nothing read ahead, only where another place is asked for."""
    under_test, begun = loader(tmp_path), []
    really = under_test._open
    under_test._open = lambda *at: begun.append(at) or really(*at)
    for _ in range(3):
        take(under_test)
    assert begun == [(0, 0)]
    under_test.set_epoch(1)
    take(under_test)
    take(under_test)
    assert begun == [(0, 0), (1, 0)]


def test_several_loaders_at_once(tmp_path):
    many = [loader(tmp_path, seed=seed) for seed in range(4)]
    want = [take(one)[1].tolist() for one in (loader(tmp_path, seed=seed) for seed in range(4))]
    got = [[] for _ in many]
    for batches in zip(*many):
        for labels, (_, some) in zip(got, batches):
            labels += some.tolist()
    assert got == want


def in_child(work):
    """What a forked child's function says."""
    read, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except Exception as why:  # told of below
            said = f"{type(why).__name__}: {why}"
        os.write(write_end, str(said).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read) as file:
        said = file.read()
    assert os.waitpid(child, 0)[1] == 0, "the child died"
    return said


def test_a_forked_child_reads_with_a_reader_of_its_own(tmp_path):
    under_test = loader(tmp_path, order="sequential")
    iteration = iter(under_test)
    kept = next(iteration)
    assert "forked this one: begin another here" in in_child(lambda: next(iteration))
    assert in_child(lambda: take(under_test)[1].sum()) == str(N * (N - 1) // 2)

    def forget():
        nonlocal kept, iteration, under_test
        kept = iteration = under_test = None
        return gc.collect() and "gone"

    assert in_child(forget) in ("gone", "0")
    assert next(iteration)[1][0] == 8


def test_the_native_reader_says_that_it_was_forked(tmp_path):
    write(tmp_path / "x.h5")
    reader = _native.Reader((str(tmp_path / "x.h5"),), "images", (), {"batch": 4}, n_kept=2)
    assert "forked" in in_child(reader.next) and "forked" in in_child(reader.info)
    assert in_child(reader.close) == "None"
    assert len(reader.next()) == 4


def test_an_exception_in_the_loop_leaves_a_loader_that_works(tmp_path):
    under_test = loader(tmp_path)

    def work():
        for number, _ in enumerate(under_test):
            if number == 3:
                raise KeyError("mine")

    raised(KeyError, work)
    assert len(take(under_test)[1]) == N


INTERRUPTED = """
import signal, sys
import h5pack
loader = h5pack.Loader(sys.argv[1], 16, out="numpy", resize=int(sys.argv[2]), memory="8G",
                       order="replacement:draws=1000000000000", threads=1)

def handler(*unused):
    try:
        loader._reader.info()
        raise KeyboardInterrupt("between batches")
    except RuntimeError:
        raise KeyboardInterrupt("while waiting")

signal.signal(signal.SIGINT, handler)
iteration = iter(loader)
print("ready", flush=True)
try:
    next(iteration)
    signal.pause()
except KeyboardInterrupt as why:
    print(why)
print(loader.state_dict()["batches"], len(next(iteration)[0]))
"""


def interrupted(path, side):
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, path, str(side)],
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=120)[0].splitlines()
    assert child.returncode == 0, said
    return said


def test_ctrl_c_ends_waiting_and_the_loader_goes_on(tmp_path):
    write(tmp_path / "x.h5")
    for side in (1000, 2000, 4000):  # whatever the machine, some batch takes long enough
        said = interrupted(tmp_path / "x.h5", side)
        if said == ["while waiting", "0 16"]:
            return
    raise AssertionError(said)


ALARMED = """
import signal, sys
import h5pack
loader = h5pack.Loader(sys.argv[1], 16, out="numpy", resize=int(sys.argv[2]), memory="8G",
                       order="replacement:draws=1000000000000", threads=1)

def handler(*unused):
    raise TimeoutError

signal.signal(signal.SIGALRM, handler)
iteration = iter(loader)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    next(iteration)
    signal.pause()
except TimeoutError:
    print(loader.state_dict()["batches"], len(next(iteration)[0]))
"""


def test_any_exception_of_a_handler_ends_waiting_and_the_loader_goes_on(tmp_path):
    write(tmp_path / "x.h5")
    said = []
    for side in (1000, 2000, 4000):
        said.append(subprocess.run([sys.executable, "-c", ALARMED, tmp_path / "x.h5", str(side)],
                                   capture_output=True, text=True, timeout=120, check=False))
        if said[-1].stdout.startswith("0 "):
            break
    assert said[-1].stdout == "0 16\n", said


def test_stats_are_told_in_a_forked_process_and_while_another_thread_waits(tmp_path):
    under_test = loader(tmp_path)
    next(iter(under_test))
    assert under_test.stats()["visits"] > 0
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if under_test.stats()["batches"] == 1 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0

    class Busy:
        pid = os.getpid()

        def info(self):
            raise RuntimeError("another thread waits for a batch of this reader")

    seen, reader = under_test.stats(), under_test._reader
    under_test._reader = Busy()
    assert under_test.stats()["visits"] == seen["visits"]
    under_test._reader = reader


def test_threads_that_share_an_iteration_get_each_batch_once(tmp_path):
    under_test = loader(tmp_path, 2, order="shuffle", resize=64, threads=1)
    raised_in, got = [], []

    def work(batches):
        try:
            for _, labels in batches:
                got.append(labels.tolist())
        except BaseException as why:
            raised_in.append(why)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for epoch in range(3):
            got.clear()
            batches = iter(under_test)
            threads = [threading.Thread(target=work, args=(batches,)) for _ in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not raised_in and len(got) == 52
            assert sorted(sum(got, [])) == list(range(N)), epoch
            assert under_test.state_dict()["batches"] == 52
    finally:
        sys.setswitchinterval(before)


LOCKED = """
import os, signal, sys, threading
import h5pack
loader = h5pack.Loader(sys.argv[1], 16, out="numpy", resize=int(sys.argv[2]), memory="8G",
                       order="sequential", threads=1)
iteration = iter(loader)
got = []
other = threading.Thread(target=lambda: got.append(next(iteration)[1][0]))
other.start()
while not loader._reader_at is None:
    pass
threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
try:
    next(iteration)
    os._exit(0)  # too fast
except KeyboardInterrupt:
    is_early = not got
    other.join()
    print("interrupted" if is_early else "too fast", got[0], next(iteration)[1][0])
"""

CLOSED = """
import os, signal, sys, threading
import h5pack
loader = h5pack.Loader(sys.argv[1], 16, out="numpy", resize=int(sys.argv[2]), memory="8G",
                       order="sequential", threads=1)

def close(*unused):
    said.append(loader._reader_at is None)
    loader.close()

said = []
iteration = iter(loader)
signal.signal(signal.SIGALRM, close)
if sys.argv[3] == "handler":
    signal.setitimer(signal.ITIMER_REAL, 0.1)
else:
    threading.Timer(0.1, close).start()
try:
    next(iteration)
    os._exit(0)  # too fast
except RuntimeError as why:
    print(why, said, loader.state_dict()["batches"])
    images, labels = next(iteration)
    print(labels.tolist() == list(range(16)), images.shape[0])
"""


def slow(code, path, *words, expected):
    """What the program says with images that take long enough for it, on this machine."""
    for side in 1000, 2000, 4000:
        run = subprocess.run([sys.executable, "-c", code, path, str(side), *words],
                             capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, (run.returncode, run.stderr)
        if run.stdout.startswith(expected):
            return run.stdout
    raise AssertionError(run.stdout)


def test_ctrl_c_ends_the_wait_for_another_thread_s_batch(tmp_path):
    write(tmp_path / "x.h5")
    assert slow(LOCKED, tmp_path / "x.h5", expected="interrupted") == "interrupted 0 16\n"


def test_a_loader_that_is_closed_ends_the_wait_for_its_batch(tmp_path):
    write(tmp_path / "x.h5")
    for who in "thread", "handler":
        said = slow(CLOSED, tmp_path / "x.h5", who, expected="the reader was closed")
        assert said.splitlines() == [
            "the reader was closed, by another thread or a signal's handler, while this one waited "
            "for a batch [True] 0", "True 16"], (who, said)


def test_a_loader_is_closed_and_read_by_threads_at_will(tmp_path):
    under_test = loader(tmp_path, 2, order="sequential", resize=32)
    batches, got, end = iter(under_test), [], threading.Event()

    def close():
        while not end.is_set():
            under_test.close()
            time.sleep(0.001)

    threads = [threading.Thread(target=close) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        while True:
            try:
                got += next(batches)[1].tolist()
            except StopIteration:
                break
            except RuntimeError as why:
                assert "was closed" in str(why), why
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert got == list(range(N))


def test_a_forked_process_does_not_wait_for_the_parent_s_threads(tmp_path):
    under_test = loader(tmp_path, order="sequential")
    held, free = threading.Event(), threading.Event()

    def hold():
        with under_test._lock():
            held.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert in_child(lambda: take(under_test)[1].sum()) == str(N * (N - 1) // 2)
    finally:
        free.set()
        thread.join()


def test_a_file_that_changes_is_noticed(tmp_path):
    under_test = loader(tmp_path)
    iteration = iter(under_test)
    next(iteration)
    time.sleep(0.05)
    with open(tmp_path / "x.h5", "ab") as file:
        file.write(b"more")
    said = raised(h5pack.ChangedError, list, iteration)
    assert "x.h5" in said


# ------------------------------------------------------------------ what it says


def test_wrong_arguments_are_sentences(tmp_path):
    for options, word in (({"order": "shuffel"}, "shuffel"), ({"order": 3}, "order"),
                          ({"rank": 2, "world": 2}, "rank 2 of 2"), ({"rank": 1}, "world"),
                          ({"rank": "all"}, "auto"), ({"crop": "x"}, "crop"),
                          ({"crop": 4, "resize": 4}, "resize"), ({"flip": 2}, "flip"),
                          ({"normalize": 3}, "normalize"), ({"dtype": "float16"}, "normalize"),
                          ({"normalize": True, "dtype": "int8"}, "int8"),
                          ({"layout": "hwc"}, "hwc"), ({"memory": "1 apple"}, "apple"),
                          ({"out": "jax"}, "jax"), ({"pin": True}, "under way"),
                          ({"indices": [0.5]}, "float"),
                          ({"indices": [N]}, str(N)), ({"indices": []}, "none"),
                          ({"indices": [-1]}, "below 0"),
                          ({"indices": [1], "weights": [1, 2]}, "2, and 1"),
                          ({"weights": [1.0]}, "103 samples"),
                          ({"normalize": ((120,), (50,))}, "from 0 to 1"),
                          ({"resized_crop": {"size": 4, "scal": 1}}, "scal"),
                          ({"images": "image"}, "image"), ({"batch_size": 0}, "batch_size")):
        said = raised(h5pack.Error, loader, tmp_path, **options)
        assert word in said and "\n" not in said, (options, said)


def test_what_images_cannot_be_made_into_is_said_with_their_file(tmp_path):
    write(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        file["flat"] = numpy.zeros((N, 8, 8, 3), "u1")
        file["flat"].attrs.update(mean=[1.0] * 3, std=[0.0] * 3)
    for argument, options, kind, words in (
            ("crop", {"crop": 20}, ValueError, "20 x 20 cannot be cut out of images of 8 x 9"),
            ("centre_crop", {"centre_crop": (4, 10)}, ValueError, "images of 8 x 9"),
            ("crop", {"crop": 20, "layout": "nchw"}, ValueError, "20 x 20"),
            ("crop", {"crop": 6, "box": (1, 4, 5, 3)}, ValueError, "images of 4 x 5"),
            ("resize", {"resize": 2**20}, ValueError, "1048576"),
            ("resize", {"images": "volume", "resize": 4}, h5pack.UnsupportedError, "no images"),
            ("flip", {"images": "volume", "flip": True}, h5pack.UnsupportedError, "no images"),
            ("layout", {"images": "labels", "with_": (), "layout": "nchw"},
             h5pack.UnsupportedError, "no images"),
            ("resized_crop", {"resized_crop": {"size": 4, "scale": (0.5, 2)}}, ValueError, "scale"),
            ("normalize", {"normalize": ((0.5,) * 4, (0.5,) * 4)}, ValueError, "4, and images of 3"),
            ("normalize", {"images": "flat", "normalize": True, "flip": True}, ValueError, "above 0"),
            ("box", {"box": (2, 8, 9, 3), "crop": 4}, ValueError, "box of 2")):
        said = raised(kind, loader, tmp_path, **options)
        assert said.startswith(f"{argument}: ") and words in said, said
        assert argument == "box" or (str(tmp_path / "x.h5") in said and
                                     f"'{options.get('images', 'images')}'" in said), said
    images, _ = next(iter(loader(tmp_path, box=(1, 8, 9, 3), crop=4)))
    assert images.shape == (8, 1, 4, 4, 3)


def test_a_trace_whose_samples_are_no_images_is_told_of_when_reading_begins(tmp_path):
    (tmp_path / "t").write_text("".join(f"{i}\t0\t0\t0\t2\t8\t9\t3\n" for i in range(9)))
    under_test = loader(tmp_path, order=f"trace:{tmp_path / 't'}", with_=(), crop=4)
    assert "no images" in raised(h5pack.UnsupportedError, iter, under_test)


def test_a_damaged_batch_is_told_of_and_passed_over(tmp_path):
    pixels = write(tmp_path / "x.h5", compression="gzip", chunks=(8, SIDE, SIDE + 1, 3))
    with h5py.File(tmp_path / "x.h5") as file:
        chunk = file["images"].id.get_chunk_info(2)
    with open(tmp_path / "x.h5", "r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(b"\0" * 100)
    iteration = iter(loader(tmp_path, order="sequential"))
    batches = [next(iteration) for _ in range(2)]
    said = raised(h5pack.FormatError, next, iteration)
    assert "chunk" in said, said
    batches += iteration
    assert [labels[0] for _, labels in batches] == [0, 8, *range(24, N, 8)]
    assert all((images == pixels[labels]).all() for images, labels in batches)


def opened(path, batch_size, **options):
    return h5pack.Loader(path, batch_size, out="numpy", **options)


class Stopped(KeyboardInterrupt):
    pass


def stopping(call, step):
    """Whether call() was ended at that line of the package's Python."""
    package = os.path.dirname(h5pack.__file__)
    left = step

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_code.co_filename.startswith(package):
            return None
        left -= event == "line"
        if left == 0:
            raise Stopped
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        call()
    except Stopped:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_at_any_line_leaves_the_batches_in_order(tmp_path):
    write(tmp_path / "a.h5", n=20)

    def labels(batches):
        return [batch[1].tolist() for batch in batches]

    want = labels(opened(tmp_path / "a.h5", 4, threads=1))
    for n_before in (0, 2):
        for step in range(1, 1000):
            under_test = opened(tmp_path / "a.h5", 4, threads=1)
            batches = iter(under_test)
            for _ in range(n_before):
                next(batches)
            was_stopped = stopping(lambda: next(batches), step)
            rest = labels(batches)
            n_lost = len(want) - n_before - len(rest)
            assert n_lost in (0, 1) and rest == want[len(want) - len(rest):], (n_before, step)
            under_test.set_epoch(0)
            assert labels(under_test) == want, step
            if not was_stopped:
                break
        assert step > 10, "nothing was stopped"


def test_an_iteration_that_is_begun_and_stopped_leaves_the_older_one_alone(tmp_path):
    write(tmp_path / "a.h5", n=20)
    want = [batch[1].tolist() for batch in opened(tmp_path / "a.h5", 4)]
    for step in range(1, 1000):
        under_test = opened(tmp_path / "a.h5", 4)
        batches = iter(under_test)
        if not stopping(lambda: iter(under_test), step):
            break
        try:
            assert [batch[1].tolist() for batch in batches] == want, step
        except RuntimeError as why:
            assert "began another epoch" in str(why)


def test_an_iteration_that_cannot_begin_is_none(tmp_path):
    under_test = loader(tmp_path)
    labels = [take(under_test)[1].tolist() for _ in range(2)]
    under_test = loader(tmp_path)
    under_test.load_state_dict({**under_test.state_dict(), "batches": 5})
    os.rename(tmp_path / "x.h5", tmp_path / "y.h5")
    for _ in range(3):
        raised(h5pack.NotFoundError, iter, under_test)
    os.rename(tmp_path / "y.h5", tmp_path / "x.h5")
    assert take(under_test)[1].tolist() == labels[0][40:]
    assert take(under_test)[1].tolist() == labels[1]


def test_a_file_that_is_replaced_before_it_is_read_is_told_of(tmp_path):
    write(tmp_path / "a.h5", n=20)
    under_test = opened(tmp_path / "a.h5", 4)
    write(tmp_path / "a.h5", n=19)
    assert "another file" in raised(h5pack.ChangedError, iter, under_test)
    write(tmp_path / "a.h5", n=20)
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        del file["images"]
        file["images"] = numpy.zeros((20, SIDE, SIDE + 1, 3), "f4")
    assert "has another type" in raised(h5pack.ChangedError, iter, under_test)


def test_so_is_a_later_one(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.h5")
    under_test = opened([tmp_path / "a.h5", tmp_path / "b.h5"], 4)
    write(tmp_path / "b.h5", n=N - 1)
    said = raised(h5pack.ChangedError, iter, under_test)
    assert "b.h5' is another file" in said and "'images' has another shape" in said


def test_what_is_read_in_step_is_looked_at_again_too(tmp_path):
    paths = tmp_path / "a.h5", tmp_path / "b.h5"

    def write_both():
        for path in paths:
            write(path, n=20)

    write_both()
    one, both = opened(paths[0], 4, with_="labels"), opened(paths, 4, with_=("volume", "labels"))
    for dataset, data, what in (("labels", numpy.zeros(20, "f8"), "another type"),
                                ("labels", numpy.zeros((20, 2), "i8"), "another shape"),
                                ("volume", numpy.zeros((20, 60), ">f8"), "another type"),
                                ("volume", numpy.zeros((20, 30), ">f4"), "another shape")):
        write_both()
        take(one), take(both)
        one.close(), both.close()
        for path in paths:
            with h5py.File(path, "r+") as file:
                del file[dataset]
                file[dataset] = data
        said = raised(h5pack.ChangedError, iter, both)
        assert "a.h5" in said and f"'{dataset}' has {what}" in said and "another loader" in said, said
        if dataset == "labels":
            assert raised(h5pack.ChangedError, iter, one) == said
        else:
            assert len(take(one)[1]) == 20, "of what it does not read it knows nothing"
            one.close()


def test_chunks_that_are_others_are_told_of_where_the_order_is_by_chunks(tmp_path):
    """A state says of which chunks it is: it would fit none of both files."""
    for order, told in ("shuffle", False), ("block:chunks=2", True):
        write(tmp_path / "a.h5", n=20)
        under_test = opened(tmp_path / "a.h5", 4, order=order)
        take(under_test)
        under_test.close()
        write(tmp_path / "a.h5", n=20, chunks=(8, SIDE, SIDE + 1, 3))
        if told:
            assert "has other chunks" in raised(h5pack.ChangedError, iter, under_test)
        else:
            assert len(take(under_test)[1]) == 20


def test_chunks_of_later_files_and_of_sources_count_as_well(tmp_path):
    """The order goes by those of the first file that has some, and by a virtual dataset's source."""
    def lay_out(rows):
        write(tmp_path / "a.h5", n=20, chunks=None)
        write(tmp_path / "b.h5", n=20, chunks=(rows, SIDE, SIDE + 1, 3))
        with h5py.File(tmp_path / "v.h5", "w") as file:
            layout = h5py.VirtualLayout((20, SIDE, SIDE + 1, 3), "u1")
            layout[:] = h5py.VirtualSource(tmp_path / "b.h5", "images", layout.shape)
            file.create_virtual_dataset("images", layout)

    for path in ([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "v.h5"):
        lay_out(4)
        read, unread = (opened(path, 4, order="block:chunks=2", with_=()) for _ in range(2))
        list(zip(read, range(2)))
        state, untouched = read.state_dict(), unread.state_dict()
        assert state["chunk"] == untouched["chunk"] == 4
        read.close()
        lay_out(5)
        assert "has other chunks" in raised(h5pack.ChangedError, iter, read)
        other = opened(path, 4, order="block:chunks=2", with_=())
        assert "chunk=4" in raised(h5pack.ArgumentError, other.load_state_dict, state)


def test_what_is_in_step_is_as_long_in_each_file(tmp_path):
    """Also where the sums are: labels would be those of other images."""
    for name, n_images, n_labels in ("a", 10, 12), ("b", 12, 10), ("c", 4, None):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["images"] = numpy.zeros((n_images, 2, 2, 3), "u1")
            file["labels"] = 7 if n_labels is None else numpy.arange(n_labels)
    for names, said in (("a", "'labels' has 12, and 'images' has 10"), ("ab", "a.h5"),
                        ("c", "'labels' is a scalar")):
        files = [tmp_path / f"{name}.h5" for name in names]
        assert said in raised(h5pack.ArgumentError, opened, files, 2)


def test_sources_that_are_not_there_are_told_of_once(tmp_path):
    """HDF5 gives fill values for them in silence. By rows libpack reads, by columns HDF5."""
    def lay_out(name, by_rows, n_files):
        with h5py.File(tmp_path / name, "w") as file:
            layout = h5py.VirtualLayout((4 * n_files, SIDE, SIDE + 1, 3), "u1")
            for i in range(n_files):
                source = h5py.VirtualSource(f"{i}.h5", "images", (20, SIDE, SIDE + 1, 3))
                rows = slice(4 * i, 4 * i + 4)
                if by_rows:
                    layout[rows] = source[:4]
                else:
                    layout[rows, :5], layout[rows, 5:] = source[:4, :5], source[:4, 5:]
            file.create_virtual_dataset("images", layout)
            file["labels"] = numpy.arange(4 * n_files)

    write(tmp_path / "0.h5", n=20)
    for by_rows in True, False:
        for n_files, told in (1, None), (2, "1.h5:/images' that"), (4, "1.h5:/images' and 2 more"):
            lay_out(name := f"{by_rows}{n_files}.h5", by_rows, n_files)
            under_test = opened(tmp_path / name, 4, order="sequential")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                images, _ = take(under_test)
                assert not images[4:].any() and images[:4].any()
                under_test.close()
                take(under_test)
            assert len(caught) == (told is not None)
            for one in caught:
                assert told in str(one.message) and "fill values" in str(one.message)
                assert os.path.samefile(one.filename, files.__file__)  # whose line asked for it


def test_sources_that_hdf5_finds_elsewhere_are_not_called_missing(tmp_path):
    there, nowhere, beside = (tmp_path / name for name in ("there", "nowhere", "beside"))
    for folder in there, nowhere, beside:
        folder.mkdir()
    pixels = write(there / "s.h5", n=20)
    for path, stored in (tmp_path / "v.h5", "s.h5"), (tmp_path / "far.h5", "/none/s.h5"), (beside / "v.h5", "s.h5"):
        with h5py.File(path, "w") as file:
            layout = h5py.VirtualLayout(pixels.shape, "u1")
            layout[:] = h5py.VirtualSource(stored, "images", pixels.shape)
            file.create_virtual_dataset("images", layout)
    write(beside / "s.h5", n=20)
    program = ("import sys, h5pack; print(sum(int(x.sum()) for x, in "
               "h5pack.Loader(sys.argv[1], 4, out='numpy', memory='64M')))")
    for path, prefix, missing in ((tmp_path / "v.h5", there, False), (tmp_path / "v.h5", f"{nowhere}:{there}", False),
                                  (tmp_path / "far.h5", there, False), (tmp_path / "v.h5", nowhere, True),
                                  (tmp_path / "far.h5", nowhere, True), (tmp_path / "v.h5", "", True),
                                  (beside / "v.h5", nowhere, False)):
        run = subprocess.run([sys.executable, "-c", program, path], text=True, cwd=nowhere,
                             env={**os.environ, "HDF5_VDS_PREFIX": str(prefix)},
                             capture_output=True, check=True)
        assert ("cannot be found" in run.stderr) == missing, (path, prefix, run.stderr)
        assert (int(run.stdout) == pixels.sum()) != missing, (path, prefix)


def n_threads():
    return len(os.listdir("/proc/self/task"))


def test_a_reader_that_is_refused_ends_its_threads_at_once(tmp_path):
    """Not when nobody has the exception any more, whose traceback knows the reader."""
    write(tmp_path / "x.h5")
    under_test = opened(tmp_path / "x.h5", 4, threads=3)
    before = n_threads()
    write(tmp_path / "x.h5", n=N - 1)
    kept = None
    try:
        next(iter(under_test))
    except h5pack.ChangedError as why:
        kept = why
    assert kept and n_threads() == before
    real = _native.dataset
    _native.dataset = lambda *what: 1 / 0
    try:
        next(iter(under_test))
    except ZeroDivisionError as why:
        kept = why
    finally:
        _native.dataset = real
    assert isinstance(kept, ZeroDivisionError) and n_threads() == before


def test_a_warning_that_is_an_error_leaves_a_loader_that_can_be_closed(tmp_path):
    pixels = write(tmp_path / "x.h5", n=20)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        layout = h5py.VirtualLayout(pixels.shape, "u1")
        layout[:] = h5py.VirtualSource("none.h5", "images", pixels.shape)
        file.create_virtual_dataset("images", layout)
    under_test = opened(tmp_path / "v.h5", 4, threads=3)
    before = n_threads()
    kept = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            try:
                next(iter(under_test))
            except UserWarning as why:
                kept.append(why)
        under_test.close()
    assert len(kept) == 2 and n_threads() == before
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(under_test)) == 5
    assert len(caught) == 1


def test_a_trace_is_of_the_dataset_that_is_read(tmp_path):
    write(tmp_path / "a.h5")
    with h5pack.record(tmp_path / "t"), h5py.File(tmp_path / "a.h5") as file:
        for i in 7, 3, 5:
            for name in "volume", "images", "volume":
                file[name][i]
    words = {"order": f"trace:{tmp_path / 't'}", "with_": ()}
    images, = take(opened(tmp_path / "a.h5", 2, **words))
    volumes, = take(opened(tmp_path / "a.h5", 2, images="/volume", **words))
    with h5py.File(tmp_path / "a.h5") as file:
        assert [(image == file["images"][i]).all() for i, image in zip((7, 3, 5), images[:, 0])] == [True] * 3
        assert volumes.shape == (6, 1, 60) and (volumes[:, 0] == file["volume"][:][[7, 7, 3, 3, 5, 5]]).all()
    said = raised(h5pack.ArgumentError, opened, tmp_path / "a.h5", 2, images="labels", **words)
    assert "no reads of '/labels'" in said and "'/images' (3)" in said, said
    for key in "box", "step":
        said = raised(h5pack.ArgumentError, opened, tmp_path / "a.h5", 2, **{key: (1, 8, 9, 3) if key == "box" else 2}, **words)
        assert said.startswith(f"{key}: does not go with a trace"), said


def test_weights_and_indices_are_the_loader_s_own(tmp_path):
    weights, indices = numpy.arange(1.0, N + 1), numpy.arange(N, dtype="u8")
    for key, given in ("weights", weights), ("indices", indices):
        under_test = loader(tmp_path, **{key: given}, order="shuffle" if key == "indices" else "weighted")
        state = under_test.state_dict()
        before = take(under_test)[1]
        given[:] = given[0]
        under_test.set_epoch(0)
        assert (take(under_test)[1] == before).all()
        under_test.load_state_dict(state)


def test_figures_are_of_this_process(tmp_path):
    under_test = loader(tmp_path)
    take(under_test)
    copy = pickle.loads(pickle.dumps(under_test))
    assert copy.stats()["batches"] == 0
    take(copy)
    assert copy.stats()["samples"] == N and copy.stats()["storage_read_bytes"] >= 0
    iteration = iter(under_test)
    next(iteration)
    assert in_child(lambda: take(under_test) and under_test.stats()["batches"]) == "13"
    under_test.close()
    assert in_child(lambda: take(under_test) and under_test.stats()["batches"]) == "13"
    under_test._stats.storage_bytes = 1 << 60  # the system counts a forked process's anew
    assert in_child(lambda: under_test.stats()["storage_read_bytes"]) == "0"
    assert int(in_child(lambda: take(under_test) and under_test.stats()["storage_read_bytes"])) >= 0


def test_a_handler_that_interrupts_is_no_damaged_batch(tmp_path):
    under_test = loader(tmp_path)
    want = take(under_test)[1]

    def handler(number, frame):
        raise h5pack.Interrupted("enough")

    real, calls = under_test._open, []

    def opening(*place):  # a reader whose second batch is interrupted
        reader = real(*place)

        class Interrupting:
            pid, info, close = reader.pid, reader.info, reader.close

            def next(self):
                calls.append(1)
                if len(calls) == 2:
                    handler(None, None)
                return reader.next()

        return Interrupting()

    under_test._open = opening
    under_test.close()
    under_test.set_epoch(0)
    it, seen = iter(under_test), []
    while True:
        try:
            seen.append(next(it)[1])
        except h5pack.Interrupted:
            continue
        except StopIteration:
            break
    assert (numpy.concatenate(seen) == want).all()


def test_names_of_files_need_not_be_utf_8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff'\".h5")
    write(tmp_path / "a.h5", n=20)
    os.rename(tmp_path / "a.h5", path)
    for name in (path, os.fsencode(path)):
        assert len(take(opened(name, 4))[1]) == 20
    assert "h5" in repr(opened(path, 4))
    assert len(list(h5pack.BlockSampler(path, 4, workers=1))) == 5
    assert "path: " in raised(h5pack.ArgumentError, opened, "a\0b.h5", 4)


def test_every_wrong_argument_is_named(tmp_path):
    path = tmp_path / "a.h5"
    write(path)
    with h5py.File(path, "a") as file:
        file.create_dataset("empty", (0, 8, 8, 3), "u1")
    nothing = object()
    wrong = {
        "images": [None, 5, "a\0b", "\udcff", "empty"], "with_": [5, [5], [None], "a\0b"],
        "threads": [-1, "2", 1.5, 2**70], "memory": [0, "0", -1, 2**64, 1.5, "abc"],
        "drop_last": ["no", None, 2], "pin": ["no"],
        "seed": [-1, None, 1.5, 2**64], "strategy": ["x", None], "layout": [[1], 5],
        "indices": [[True] * 5, [True] * 200, [1.5], "abc"], "weights": ["x", 5, [None], ["a"] * N],
        "box": [5, "ab", (-1, 8, 9, 3), (1.5, 8, 9, 3)], "flip": ["yes", [1], 2, float("nan")],
        "crop": [0, (4, 0), 2**32, (2**32, 4), (4, 2**32), (4,), (4, 4, 4), 1.5],
        "normalize": [((), ()), (None, None), 5, (0.5, 0.5), ((0.5,) * 9, (0.5,) * 9)],
        "resized_crop": [{"size": 4, "scale": 5}, {"size": 4, "scale": "ab"},
                         {"size": 4, "scale": (0.1,)}, {"size": 4, "ratio": None}],
    }
    for argument, values in wrong.items():
        for value in values:
            why = raised(h5pack.ArgumentError, opened, path, 4, **{argument: value})
            assert why.startswith(f"{argument}: "), (argument, value, why)
    for value in (None, 5, nothing, [None]):
        assert raised(h5pack.ArgumentError, opened, value, 4).startswith("path: ")
    under_test = opened(path, 4)
    for epoch in (None, 1.5, -1, 2**64):
        assert raised(h5pack.ArgumentError, under_test.set_epoch, epoch).startswith("epoch: ")
    state = under_test.state_dict()
    for bad in (None, 5, [1], {}, {**state, "batches": -1}, {**state, "batches": 99},
                {**state, "epoch": None}, {**state, "batches": 1.5}):
        assert raised(h5pack.ArgumentError, under_test.load_state_dict, bad).startswith("state: ")


def test_sentences_say_what_is_wrong_with_a_number(tmp_path):
    write(tmp_path / "a.h5")
    nan, inf, half = float("nan"), float("inf"), (0.5,) * 3
    for options, said in (
            ({"normalize": ((nan, 0.5, 0.5), half)}, "normalize: the mean of channel 0 is nan, and is to be a finite number"),
            ({"normalize": ((0.5, -inf, 0.5), half)}, "normalize: the mean of channel 1 is -inf, and"),
            ({"normalize": (half, (0.5, 0.5, inf))}, "normalize: the standard deviation of channel 2 is inf, and"),
            ({"normalize": (half, (0.5, 0, 0.5))}, "normalize: the standard deviation of channel 1 is 0, and is to be a finite "
                                                   "number above 0"),
            ({"normalize": (half, (-1, 1, 1))}, "channel 0 is -1, and"),
            ({"normalize": ((120,) * 3, (50,) * 3)}, "values from 0 to 1"),
            ({"normalize": ((-5,) * 3, half)}, "values from 0 to 1"),
            ({"resized_crop": {"sise": 8}}, "resized_crop: 'sise': its keys are size, scale, ratio, filter"),
            ({"resized_crop": {"sise": 8, "size": 8, 3: 3}}, "resized_crop: 'sise', 3: its keys are size, "),
            ({"resized_crop": {"scale": (0.1, 1)}}, "resized_crop: a size is missing: its keys are size, "),
            ({"indices": [5, N, 7]}, f"indices: {N} at place 1 is no sample: they are 0 to {N - 1}"),
            ({"indices": [5, -1]}, "indices: -1 is below 0"),
            ({"box": (1, 40, 9, 3)}, "box: box of 40 does not fit axis 1 of 8"),
            ({"box": (2, 8, 9, 3), "resize": 4}, "box: with resize a sample is one image, and a box of 2 along axis 0 is none"),
            ({"rank": 2, "world": 2}, "rank: rank 2 of 2 does not exist")):
        why = raised(h5pack.ArgumentError, opened, tmp_path / "a.h5", 4, **options)
        assert said in why, why
    assert len(opened(tmp_path / "a.h5", 4, resized_crop=MappingProxyType({"size": 4}))) == 26
    assert raised(h5pack.LimitError, opened, tmp_path / "a.h5", 2**40).startswith("batch_size: ")


def test_a_state_with_other_weights_is_refused(tmp_path):
    write(tmp_path / "a.h5")
    state = opened(tmp_path / "a.h5", 4, weights=range(N)).state_dict()
    opened(tmp_path / "a.h5", 4, weights=range(N)).load_state_dict(state)
    other = opened(tmp_path / "a.h5", 4, weights=range(1, N + 1))
    assert "weights" in raised(h5pack.ArgumentError, other.load_state_dict, state)


def test_a_state_of_other_chunks_boxes_or_traces_is_refused(tmp_path):
    write(tmp_path / "a.h5")
    write(tmp_path / "b.h5", chunks=(5, SIDE, SIDE + 1, 3))
    volume = {"images": "volume", "with_": (), "order": "sequential"}
    for key, one, other in (
            ("chunk", {"order": "block"}, {"order": "block", "path": tmp_path / "b.h5"}),
            ("box", {"box": (2, 60), **volume}, {"box": (2, 30), **volume}),
            ("step", {"step": 60, **volume}, {"step": 70, **volume})):
        state = opened(**{"path": tmp_path / "a.h5", "batch_size": 4, **one}).state_dict()
        same = opened(**{"path": tmp_path / "a.h5", "batch_size": 4, **one})
        differs = opened(**{"path": tmp_path / "a.h5", "batch_size": 4, **other})
        same.load_state_dict(MappingProxyType(json.loads(json.dumps(state))))
        assert f"{key}=" in raised(h5pack.ArgumentError, differs.load_state_dict, state)
        del state[key]  # as of an earlier version
        differs.load_state_dict(state)
    state = opened(tmp_path / "a.h5", 4, order="shuffle").state_dict()
    opened(tmp_path / "b.h5", 4, order="shuffle").load_state_dict(state)  # no matter of chunks


def test_a_state_of_a_trace_that_was_written_anew_is_refused(tmp_path):
    write(tmp_path / "a.h5")

    def replayed(first):
        numbers = range(first, first + 9)
        (tmp_path / "t").write_text("".join(f"{i}\t0\t0\t0\t1\t8\t9\t3\n" for i in numbers))
        return opened(tmp_path / "a.h5", 4, order=f"trace:{tmp_path / 't'}", with_=())

    state = replayed(0).state_dict()
    replayed(0).load_state_dict(state)
    assert "trace=" in raised(h5pack.ArgumentError, replayed(1).load_state_dict, state)


def test_a_loader_in_a_dataloader_is_told_of(tmp_path):
    write(tmp_path / "a.h5")
    assert "in place of a DataLoader" in raised(TypeError, lambda: opened(tmp_path / "a.h5", 4)[0])


def test_the_axis_of_channels_is_what_labels_say_then_interlacing_then_their_number():
    from h5pack._options import channel_axis

    for shape, labels, mode, axis in (
            ((9, 8, 8, 3), [], "", 3), ((9, 3, 8, 8), [], "", 1), ((9, 3, 8, 3), [], "", None),
            ((9, 8, 8, 7), [], "", None), ((9, 8, 8), [], "INTERLACE_PIXEL", None),
            ((9, 7, 8, 8), [], "INTERLACE_PLANE", 1), ((9, 3, 8, 8), [], "INTERLACE_PIXEL", 3),
            ((9, 7, 8, 8), ["N", "C", "H", "W"], "INTERLACE_PIXEL", 1),
            ((9, 7, 8, 8), ["N", "H", "W", "C"], "INTERLACE_PLANE", 3),
            ((9, 7, 8, 3), ["N", "C"], "", 3), ((9, 8, 8, 3), ["", "", "C", ""], "", 3)):
        facts = {"shape": shape, "labels": labels, "interlace_mode": mode}
        assert channel_axis(facts) == axis, facts


def test_interlacing_says_how_many_means_there_are(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"] = numpy.arange(9 * 2 * 8 * 8, dtype="u1").reshape(9, 2, 8, 8)
        file["images"].attrs["INTERLACE_MODE"] = numpy.bytes_(b"INTERLACE_PLANE")
    images, = next(iter(loader(tmp_path, normalize=((0.5,) * 2, (0.5,) * 2))))
    assert images.shape == (8, 2, 8, 8)
    said = raised(h5pack.ArgumentError, loader, tmp_path, normalize=((0.5,) * 8, (0.5,) * 8))
    assert "mean and std of 8, and images of 2 channels" in said
    with h5py.File(tmp_path / "gray.h5", "w") as file:
        file["images"] = numpy.zeros((9, 8, 8), "u1")
    said = raised(h5pack.ArgumentError, opened, tmp_path / "gray.h5", 4, normalize=((0.5,) * 3, (0.5,) * 3))
    assert "mean and std of 3, and images of 1 channels" in said


def test_words_of_the_environment_that_are_no_numbers_are_named(tmp_path):
    write(tmp_path / "a.h5")
    os.environ.update(RANK="x", WORLD_SIZE="2")
    try:
        why = raised(h5pack.ArgumentError, opened, tmp_path / "a.h5", 4, rank="auto")
    finally:
        del os.environ["RANK"], os.environ["WORLD_SIZE"]
    assert why.startswith("rank: RANK='x'")


def test_ranks_are_those_of_a_step_of_slurm():
    from h5pack._options import rank_of

    kept = dict(os.environ)
    try:
        for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "SLURM_STEP_NUM_TASKS"):
            os.environ.pop(name, None)
        os.environ.update(SLURM_PROCID="0", SLURM_NTASKS="8")  # sbatch, without srun
        assert rank_of("auto", None) == (0, 1)
        os.environ.update(SLURM_PROCID="3", SLURM_STEP_NUM_TASKS="4")
        assert rank_of("auto", None) == (3, 4)
        os.environ.update(OMPI_COMM_WORLD_RANK="5", OMPI_COMM_WORLD_SIZE="8")  # inside of a step
        assert rank_of("auto", None) == (5, 8)
    finally:
        os.environ.clear()
        os.environ.update(kept)


def test_ranks_are_those_of_torch_where_it_has_some_and_share_the_processors():
    from h5pack._options import rank_of, thread_count

    kept, there = dict(os.environ), sys.modules.get("torch.distributed")
    sys.modules["torch.distributed"] = torch = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: False, get_rank=lambda: 6,
        get_world_size=lambda: 7)
    n = len(os.sched_getaffinity(0))
    try:
        os.environ.update(RANK="1", WORLD_SIZE="3")
        assert rank_of("auto", None) == (1, 3)
        torch.is_initialized = lambda: True
        assert rank_of("auto", None) == (6, 7)
        torch.is_available = lambda: False
        assert rank_of("auto", None) == (1, 3)
        for beside, threads in ("1", n), (str(n), 1), (str(10 * n), 1), ("", 0):
            os.environ["LOCAL_WORLD_SIZE"] = beside
            assert thread_count(None, "auto") == threads and thread_count(None, 0) == 0
            assert thread_count(5, "auto") == 5
        os.environ["LOCAL_WORLD_SIZE"] = "0"
        assert "LOCAL_WORLD_SIZE='0'" in raised(h5pack.ArgumentError, thread_count, None, "auto")
    finally:
        del sys.modules["torch.distributed"]
        if there:
            sys.modules["torch.distributed"] = there
        os.environ.clear()
        os.environ.update(kept)


def test_a_loader_in_several_workers_of_a_dataloader_is_refused(tmp_path):
    under_test, there = loader(tmp_path), sys.modules.get("torch.utils.data")
    try:
        for worker, is_refused in (None, False), ((0, 1), False), ((1, 2), True):
            told = worker and SimpleNamespace(id=worker[0], num_workers=worker[1])
            sys.modules["torch.utils.data"] = SimpleNamespace(get_worker_info=lambda told=told: told)
            if is_refused:
                assert "this is worker 1 of 2" in raised(RuntimeError, iter, under_test)
            else:
                assert len(list(under_test)) == 13
    finally:
        del sys.modules["torch.utils.data"]
        if there:
            sys.modules["torch.utils.data"] = there


def test_a_trace_is_of_the_file_that_a_link_leads_to(tmp_path):
    os.symlink("a.h5", tmp_path / "link.h5")
    for name in "ab":
        write(tmp_path / f"{name}.h5")
    with h5pack.record(tmp_path / "t"):
        for name, numbers in ("b", range(9)), ("link", (7, 3, 5)), ("a", (4,)):
            with h5py.File(tmp_path / f"{name}.h5") as file:
                for i in numbers:
                    file["labels"][i]
    for path in "a.h5", "link.h5":
        labels, = take(opened(tmp_path / path, 2, images="labels", order=f"trace:{tmp_path / 't'}", with_=()))
        assert labels.ravel().tolist() == [7, 3, 5, 4], path


def test_types_of_values_are_named_as_numpy_and_torch_do():
    from h5pack._options import dtype_name

    class Torch:
        def __str__(self):
            return "torch.bfloat16"

    assert [dtype_name(one) for one in (None, "float16", numpy.float32, numpy.dtype("f2"), Torch())] == [
        "float32", "float16", "float32", "float16", "bfloat16"]
    for wrong in numpy.float64, "f4", 5:
        raised(h5pack.ArgumentError, dtype_name, wrong)


def test_numbers_of_samples_are_for_reading(tmp_path):
    write(tmp_path / "x.h5")
    reader = _native.Reader((str(tmp_path / "x.h5"),), "images", (), {"batch": 4}, n_kept=2)
    samples = reader.next().samples
    assert memoryview(samples).readonly and numpy.asarray(samples).tolist() == [0, 1, 2, 3]
    raised(BufferError, samples.__dlpack__)
    samples.__dlpack__(max_version=(1, 1))


def test_order_of_fortran_is_refused(tmp_path):
    images, = next(iter(loader(tmp_path, with_=(), out="dlpack")))
    view = ctypes.create_string_buffer(256)
    fortran, strided = 0x0058, 0x0018  # PyBUF_F_CONTIGUOUS, PyBUF_STRIDES
    ask = ctypes.pythonapi.PyObject_GetBuffer
    raised(BufferError, ask, ctypes.py_object(images), view, fortran)
    assert ask(ctypes.py_object(images), view, strided) == 0
    ctypes.pythonapi.PyBuffer_Release(view)


def test_what_hdf5_itself_reads_is_the_same(tmp_path):
    write_virtual(tmp_path)
    under_test = loader(tmp_path)
    virtual = h5pack.Loader(tmp_path / "v.h5", 8, out="numpy")
    assert all((a == b).all() for a, b in zip(take(virtual), take(under_test)))
    assert virtual.stats()["engine"] == "hdf5"


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    said = raised(FileNotFoundError, h5pack.Loader, tmp_path / "none.h5", 4)
    assert "none.h5" in said


def test_stats_count_what_was_done(tmp_path):
    write(tmp_path / "x.h5", compression="gzip")
    under_test = loader(tmp_path)
    assert "before" in under_test.advice()
    take(under_test)
    stats = under_test.stats()
    assert stats["batches"] == 13 and stats["samples"] == N
    assert stats["visits"] >= 13 and stats["loads"] <= 26 and stats["engine"] == "pread"
    assert stats["waiting_s"] > 0 and 0 < stats["waiting_share"] <= 1
    under_test.close()
    assert under_test.stats()["loads"] >= 26


def test_stats_are_sums_over_readers_and_go_on_when_it_is_closed(tmp_path):
    """Each epoch from its beginning is another reader's: what they did adds up."""
    write(tmp_path / "x.h5", compression="gzip")
    under_test = loader(tmp_path, order="sequential", threads=1, memory="1G")
    visits = []
    for _ in range(3):
        under_test.set_epoch(0)
        began_ns = time.perf_counter_ns()
        for _ in under_test:
            time.sleep(1e-3)
        spent_s = (time.perf_counter_ns() - began_ns) / 1e9
        under_test.close()
        visits.append(under_test.stats()["visits"])
    # 26 of an epoch, and what was read ahead of the next one before it was closed
    assert all(26 <= more - less < 2 * 26 for less, more in zip([0, *visits], visits)), visits
    stats = under_test.stats()
    assert stats["threads"] == 1 and stats["memory_bytes"] > 0 and stats["engine"] == "pread"
    assert stats["hits"] + stats["loads"] == stats["visits"]
    assert abs(stats["hit_rate"] - stats["hits"] / stats["visits"]) < 1e-9
    assert stats["working_s"] >= 3 * 12 * 1e-3 and stats["batches"] == 39
    busy = sum(stats[f"{what}_thread_s"] for what in ("read", "decode", "transform"))
    assert 0 < busy <= stats["total_thread_s"] < 300 * (1 + spent_s)
    assert under_test.stats()["storage_read_bytes"] < 1 << 30


def test_bytes_of_storage_are_those_since_it_was_made():
    real, read_bytes = _stats._storage_bytes, 5120
    _stats._storage_bytes = lambda: read_bytes
    try:
        stats = _stats.Stats()
        read_bytes += 512
        assert stats.as_dict(None)["storage_read_bytes"] == 512
    finally:
        _stats._storage_bytes = real


def test_advice_says_what_limits(tmp_path):
    under_test = loader(tmp_path)
    assert "before some batches" in under_test.advice()
    for _ in under_test:
        pass
    under_test._stats.waiting_ns, under_test._stats.working_ns = 49, 951
    assert "does not limit" in under_test.advice(), under_test.advice()
    under_test._stats.waiting_ns, under_test._stats.working_ns = 51, 949
    assert "the loop waits 5% of its time" in under_test.advice(), under_test.advice()


def test_advice_is_of_what_takes_most_of_the_time(tmp_path):
    """Of figures that are made up: chunks of 4 samples, 103 of which are 25 chunks."""
    plain, virtual = loader(tmp_path), {"engine": "hdf5"}
    write_virtual(tmp_path)
    contiguous = h5pack.Loader(tmp_path / "v.h5", 8, out="numpy")
    block = loader(tmp_path, order="block:chunks=2")
    base = {"batches": 2, "samples": N, "waiting_share": 0.5, "samples_per_s": 9, "engine": "pread",
            "loads": 0, "file_read_bytes": 10, "storage_read_bytes": 10, "total_thread_s": 9}
    for of, told, said in (
            (plain, {"batches": 1}, "nothing can be said"),
            (plain, {"waiting_share": 0.05, "read": 8}, "the loop waits 5% of its time, 89%"),
            (plain, {"waiting_share": 0.04}, "the loader does not limit"),
            (plain, virtual, "HDF5 itself reads"),
            (plain, {"read": 5, "decode": 2}, "reading the file: order='block:chunks=32' reads each"),
            (block, {"read": 5, "decode": 2}, "reading the file: faster storage"),
            (contiguous, {"read": 5}, "reading the file: faster storage"),
            (plain, {"decode": 5, "loads": 38}, "decoding chunks: chunks are decoded again"),
            (plain, {"decode": 5, "loads": 37}, "decoding chunks: more threads"),
            (contiguous, {"decode": 5, "loads": 10**6}, "decoding chunks: more threads"),
            (plain, {"transform": 5}, "normalizing: more threads, or images"),
            (plain, {"transform": 4}, "copying samples: more threads")):
        parts = {f"{key}_thread_s": told.pop(key, 0) for key in ("read", "decode", "transform")}
        advice = _stats.advice({**base, **parts, **told}, of)
        assert said in advice, (said, advice)


def test_advice_on_reading_tells_the_page_cache_from_storage(tmp_path):
    write(tmp_path / "x.h5", chunks=(1, SIDE, SIDE + 1, 3))
    under_test = h5pack.Loader(tmp_path / "x.h5", 8)
    assert under_test.stats()["storage_read_bytes"] >= 0
    for storage, seconds, is_cached in ((0, 1, True), (99e6, 1, True), (101e6, 1, False),
                                        (0, 1.9, True), (0, 2.1, False), (1e9, 1, False)):
        stats = {"file_read_bytes": 1e9, "storage_read_bytes": storage, "read_thread_s": seconds}
        said = _stats._of_reading(stats, under_test)
        assert ("page cache" in said, "faster storage" in said) == (is_cached, not is_cached), stats


def test_integers_of_which_not_all_bits_count_are_refused(tmp_path):
    """Their other bits are what HDF5 makes of them as it reads: these bytes are no numbers yet."""
    path = str(tmp_path / "bits.h5")
    values = numpy.arange(-12, 12, dtype="i2").reshape(4, 6)
    with h5py.File(path, "w") as file:
        for name, bits, offset in ("whole", 16, 0), ("short", 12, 0), ("moved", 12, 4):
            kind = h5py.h5t.STD_I16LE.copy()
            kind.set_precision(bits)
            kind.set_offset(offset)
            data = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((4, 6)))
            data.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    loader = h5pack.Loader(path, 4, images="whole", with_=None, order="sequential", out="numpy")
    assert (next(iter(loader))[0] == values).all()
    for images, with_ in ("short", None), ("moved", None), ("whole", "short"):
        loader = h5pack.Loader(path, 4, images=images, with_=with_, out="numpy")
        said = raised(h5pack.UnsupportedError, list, loader)
        assert "of which not all bits count" in said


def test_what_is_kept_whole_needs_no_plugin(tmp_path):
    path, plain = str(tmp_path / "z.h5"), str(tmp_path / "plain.h5")
    pixels = write(plain)
    subprocess.run(["h5rechunk", plain + ":/volume", "--compress", "zstd", "-q", "-o", path], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    code = ("import sys, h5pack; print(sum(len(batch[1]) for batch in "
            "h5pack.Loader(sys.argv[1], 8, with_='volume', out='numpy')))")
    run = subprocess.run([sys.executable, "-c", code, path], env=environment, capture_output=True, text=True)
    assert run.stdout.split() == [str(len(pixels))], run.stderr


# ------------------------------------------------------------------ what a user gets wrong


def refused(tmp_path, kind=h5pack.ArgumentError, batch_size=8, **options):
    return raised(kind, loader, tmp_path, batch_size, **options)


def test_an_iteration_that_has_ended_has_ended_for_good(tmp_path):
    made = loader(tmp_path)
    first = iter(made)
    assert sum(len(labels) for _, labels in first) == N
    second = iter(made)
    next(second)
    assert next(first, "ended") == "ended"  # whatever is read since
    third = iter(made)
    assert "another Loader" in raised(RuntimeError, next, second)
    assert sum(len(labels) for _, labels in third) == N


def test_files_that_do_not_go_together_are_refused_when_a_loader_is_made(tmp_path):
    images = {"x": numpy.zeros((9, 4, 4, 3), "u1"), "wide": numpy.zeros((9, 4, 5, 3), "u1"),
              "floats": numpy.zeros((9, 4, 4, 3), "f4"), "none": numpy.zeros((0, 4, 4, 3), "u1")}
    for name, pixels in images.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["images"], file["labels"] = pixels, numpy.zeros(len(pixels), "i8")
    for name, what in (("wide", "is 9x4x5x3, of"), ("floats", "is of type <f4, of"),
                       ("none", "leave the file out")):
        for names in (("x", name), (name, "x")):
            said = raised(h5pack.ArgumentError, h5pack.Loader,
                          [tmp_path / f"{one}.h5" for one in names], 4, out="numpy")
            assert said.startswith("path: ") and f"{name}.h5'" in said
            assert what in said or names[0] == name
    with h5py.File(tmp_path / "wide.h5", "r+") as file:  # of what is read in step, too
        del file["images"], file["labels"]
        file["images"], file["labels"] = images["x"], numpy.zeros((9, 2), "i8")
    said = raised(h5pack.ArgumentError, h5pack.Loader, [tmp_path / "x.h5", tmp_path / "wide.h5"], 4)
    assert "'labels' of " in said and "is 9x2, of" in said


def test_labels_that_one_file_of_a_set_has_not_are_not_left_out(tmp_path):
    write(tmp_path / "x.h5")
    with h5py.File(tmp_path / "bare.h5", "w") as file:
        file["images"] = files.images(9)
    for names in (("x", "bare"), ("bare", "x")):
        said = raised(h5pack.NotFoundError, h5pack.Loader, [tmp_path / f"{one}.h5" for one in names],
                      4, out="numpy")
        assert said.startswith("with_: ") and "bare.h5': there is no dataset 'labels'" in said
    batch, = next(iter(h5pack.Loader([tmp_path / "bare.h5"] * 2, 4, out="numpy")))
    assert batch.shape == (4, SIDE, SIDE + 1, 3)


def warned(call, *args, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **options)
    return [str(one.message) for one in caught]


def test_labels_that_are_of_other_classes_in_another_file_are_told_of(tmp_path):
    of = {"x": (b"cat", b"dog"), "swapped": (b"dog", b"cat"), "more": (b"cat", b"dog", b"zebra"),
          "other": (b"cat", b"dog", b"yak"), "bare": None}
    for name, classes in of.items():
        write(tmp_path / f"{name}.h5")
        with h5py.File(tmp_path / f"{name}.h5", "r+") as file:
            if classes:
                file["class_names"] = numpy.array(classes)

    def said(*names, **options):
        return warned(h5pack.Loader, [tmp_path / f"{name}.h5" for name in names], 4, out="numpy",
                      **options)

    assert not said("x", "more") and not said("more", "x", "bare") and not said("swapped")
    text, = said("x", "bare", "swapped")
    assert "label 0 is 'cat' in '" in text and "x.h5', and 'dog' in '" in text
    assert "--classes" in text
    text, = said("x", "more", "other")  # where there are most
    assert "label 2 is 'zebra' in '" in text and "more.h5', and 'yak' in " in text
    assert not said("x", "swapped", with_=None)  # no labels, no classes


def test_sentences_about_an_order_name_the_argument_and_the_trace(tmp_path):
    assert refused(tmp_path, order="seq").startswith("order: 'seq' is not a pattern")
    assert refused(tmp_path, order="block:chunks=0").startswith("order: pattern block")
    for weights in ([0] * N, [float("nan")] * N):
        assert refused(tmp_path, weights=weights).startswith("weights: ")
    trace = tmp_path / "x.trace"
    trace.write_text("no trace")
    said = refused(tmp_path, h5pack.FormatError, order=f"trace:{trace}")
    assert said.startswith(f"order: '{trace}': line 1, column 1")
    trace.write_text("# h5pack-trace 2\n# file\t0\t/x.h5\n# dataset\t0\t/other\n"
                     "0\t0\t0\t0\t1\t8\t9\t3\t0\t0\t1\t1\n")
    said = refused(tmp_path, order=f"trace:{trace}")
    assert said.startswith(f"order: '{trace}': the trace has no reads of '/images'")
    trace.write_text("# h5pack-trace 2\n# file\t0\t/x.h5\n# dataset\t0\t/images\n"
                     "0\t0\t0\t0\t1\t80\t9\t3\t0\t0\t1\t1\n")
    said = raised(h5pack.ArgumentError, iter, loader(tmp_path, order=f"trace:{trace}"))
    assert said.startswith(f"order: '{trace}': box of 80")


def test_what_is_no_row_of_numbers_is_said(tmp_path):
    for given in ({1, 2}, (i for i in range(3)), range, 3, "abc", slice(0, 3)):
        said = refused(tmp_path, indices=given)
        assert said.startswith("indices: ") and "is no list or array" in said and "list()" in said
        said = refused(tmp_path, weights=given)
        assert said.startswith("weights: ") and "is no list or array" in said
    assert refused(tmp_path, indices=[[1]]).startswith("indices: have 2 axes")


def test_ranks_beyond_any_count_are_not_said_to_be_of_the_batch(tmp_path):
    assert refused(tmp_path, rank=0, world=2**40).startswith("world: ")


def test_a_device_that_is_neither_cuda_nor_the_cpu_is_refused_when_a_loader_is_made(tmp_path):
    for device in ("mps", "xyz", "", 0, "cuda:x", "cuda:", "cudax"):
        assert refused(tmp_path, device=device).startswith(f"device: {device!r} is none of 'cuda'")


def test_truth_values_of_numpy_are_for_normalize_too(tmp_path):
    images, _ = next(iter(loader(tmp_path, normalize=numpy.True_)))
    assert images.dtype == numpy.float32
    images, _ = next(iter(loader(tmp_path, normalize=numpy.False_)))
    assert images.dtype == numpy.uint8


def test_a_range_from_0_to_0_is_not_as_if_it_was_not_given(tmp_path):
    for key in ("scale", "ratio"):
        said = refused(tmp_path, resized_crop={"size": 4, key: (0, 0)})
        assert said.startswith(f"resized_crop: {key} from 0 to 0")
