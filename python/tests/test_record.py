"""record: the trace is what was asked for."""
import errno
import itertools
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import numpy

try:
    import h5py
except ImportError:
    raise unittest.SkipTest("no h5py here") from None

import h5pack
from h5pack import _jobs
from files import raised, write
from test_loader import is_asan


def read_trace(path):
    """(dataset, starts, counts, process) of each box, and the files."""
    names, boxes = {}, []
    with open(path, encoding="utf-8") as file:
        assert next(file) == "# h5pack-trace 2\n"
        for line in file:
            words = line.rstrip("\n").split("\t")
            if line.startswith("#"):
                names[words[0][2:], words[1] if len(words) > 2 else ""] = words[-1]
                continue
            numbers = [int(word) for word in words]
            half = (len(numbers) - 4) // 2
            boxes.append((names["dataset", words[-3]], tuple(numbers[:half]),
                          tuple(numbers[half:2 * half]), numbers[-2], numbers[-1]))
    assert [box[-1] for box in boxes] == sorted(box[-1] for box in boxes)
    return [box[:-1] for box in boxes], names


def boxes_of(path):
    return [box[1:3] for box in read_trace(path)[0]]


def recorded(tmp_path, read, name="images"):
    write(tmp_path / "t.h5")
    with h5py.File(tmp_path / "t.h5") as file:
        plain = [numpy.array(part) for part in read(file[name])]
        with h5pack.record(tmp_path / "t.trace", force=True):
            seen = [numpy.array(part) for part in read(file[name])]
    assert all((a == b).all() for a, b in zip(plain, seen, strict=True))
    return boxes_of(tmp_path / "t.trace")


WHOLE = ((0, 0, 0, 0), (103, 8, 9, 3))
FIRST = ((0, 0, 0, 0), (1, 8, 9, 3))


def test_whole_numbers_and_slices(tmp_path):
    boxes = recorded(tmp_path, lambda d: (d[5], d[-1], d[3:9], d[90:], d[4, 2:4], d[...], d[()],
                                          d[numpy.int64(7)], d[2:4, ..., 1], d[:, 0, 0, 0]))
    assert boxes == [((5, 0, 0, 0), (1, 8, 9, 3)), ((102, 0, 0, 0), (1, 8, 9, 3)),
                     ((3, 0, 0, 0), (6, 8, 9, 3)), ((90, 0, 0, 0), (13, 8, 9, 3)),
                     ((4, 2, 0, 0), (1, 2, 9, 3)), WHOLE, WHOLE, ((7, 0, 0, 0), (1, 8, 9, 3)),
                     ((2, 0, 0, 1), (2, 8, 9, 1)), ((0, 0, 0, 0), (103, 1, 1, 1))]


def test_lists_masks_and_steps_are_their_boxes(tmp_path):
    mask = numpy.zeros(103, bool)
    mask[[2, 3, 50]] = True
    boxes = recorded(tmp_path, lambda d: (d[[1, 4, 5, 20]], d[mask], d[0:30:10, 1]))
    assert [start[0] for start, _ in boxes] == [1, 4, 20, 2, 50, 0, 10, 20]
    assert [count[0] for _, count in boxes] == [1, 2, 1, 2, 1, 1, 1, 1]
    assert boxes[-1] == ((20, 1, 0, 0), (1, 1, 9, 3))


def test_pieces_of_several_axes_are_in_the_order_of_the_elements(tmp_path):
    mask = numpy.zeros((5, 6), bool)
    mask[1, 5] = mask[2, 1:3] = mask[3, 3] = True
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["x"] = numpy.arange(30).reshape(5, 6)
        with h5pack.record(tmp_path / "t.trace"):
            file["x"][::3, ::4]
            file["x"][mask]
    assert boxes_of(tmp_path / "t.trace") == [
        *((at, (1, 1)) for at in ((0, 0), (0, 4), (3, 0), (3, 4))),
        ((1, 5), (1, 1)), ((2, 1), (1, 2)), ((3, 3), (1, 1))]


def test_too_many_pieces_are_the_block_around_them(tmp_path):
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["x"] = numpy.arange(10000)
        with h5pack.record(tmp_path / "t.trace"):
            file["x"][::2]
    assert boxes_of(tmp_path / "t.trace") == [((0,), (9999,))]
    assert "around" in (tmp_path / "t.trace").read_text()


def test_4096_pieces_are_not_too_many(tmp_path):
    def every_second(n):
        mask = numpy.zeros((2, 10000), bool)
        mask[0, :2 * n:2] = True
        return mask

    kinds = (("x", lambda n: slice(0, 2 * n, 2)), ("y", every_second),
             ("x", lambda n: [*range(0, 2 * n - 2, 2), 9999]))  # of no regular step
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["x"], file["y"] = numpy.zeros(10000), numpy.zeros((2, 10000))
        for name, selection in kinds:
            for n, n_boxes in (4096, 4096), (4097, 1):
                with h5pack.record(tmp_path / "t.trace", force=True):
                    file[name][selection(n)]
                assert len(boxes_of(tmp_path / "t.trace")) == n_boxes, (name, n)


def test_other_ways_of_reading(tmp_path):
    def ways(d):
        out = numpy.zeros((2, 8, 9, 3), d.dtype)
        d.read_direct(out, numpy.s_[3:5])
        yield out
        yield next(iter(d))
        yield d.astype("f4")[6]
        yield numpy.asarray(d)

    assert recorded(tmp_path, ways) == [((3, 0, 0, 0), (2, 8, 9, 3)), FIRST,
                                        ((6, 0, 0, 0), (1, 8, 9, 3)), WHOLE]


def test_what_is_known_of_a_dataset_is_of_that_one_as_it_is(tmp_path):
    """Names and shape are kept for each h5py.Dataset, whose place in memory is used again."""
    with h5py.File(tmp_path / "n.h5", "w") as file:
        for name in "ab":
            file.create_dataset(name, (300, 2), "u1", maxshape=(None, 3))
        with h5pack.record(tmp_path / "t.trace"):
            places, names = set(), numpy.random.default_rng(1).integers(0, 2, 100).tolist()
            for i, name in enumerate(names):
                dataset = file["ab"[name]]
                dataset[i]
                places.add((id(dataset), name))
                del dataset
            # memory is of one and then of the other, unless what was freed is kept
            assert is_asan() or len(dict(places)) < len(places)
            grown = file["a"]
            grown[-1]
            grown.resize(400, axis=0)
            grown[-1]
            grown.resize(3, axis=1)
            grown[numpy.uint8(255)]
            grown[numpy.int8(-1)]
            grown[399]
    boxes, _ = read_trace(tmp_path / "t.trace")
    assert [box[:3] for box in boxes] == [
        *((("/a", "/b")[name], (i, 0), (1, 2)) for i, name in enumerate(names)),
        ("/a", (299, 0), (1, 2)), ("/a", (399, 0), (1, 2)), ("/a", (255, 0), (1, 3)),
        ("/a", (399, 0), (1, 3)), ("/a", (399, 0), (1, 3))]


def test_a_relative_path_is_of_the_folder_in_which_the_file_was_opened(tmp_path):
    write(tmp_path / "t.h5")
    before = os.getcwd()
    os.mkdir(tmp_path / "other")
    try:
        with h5pack.record(tmp_path / "t.trace"):
            os.chdir(tmp_path)
            file = h5py.File("t.h5")
            os.chdir("other")
            file["labels"][3]
            with h5py.File("m.h5", "w", driver="core", backing_store=False) as memory:
                memory["labels"] = [1, 2]
                memory["labels"][0]
    finally:
        os.chdir(before)
    file.close()
    lines = (tmp_path / "t.trace").read_text().splitlines()
    files = [line.rpartition("\t")[2] for line in lines if line.startswith("# file")]
    assert files == [os.path.realpath(tmp_path / name) for name in ("t.h5", "other/m.h5")]


def test_fields(tmp_path):
    table = numpy.zeros(9, [("a", "i4"), ("b", "f8")])
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["x"] = table
        with h5pack.record(tmp_path / "t.trace"):
            file["x"].fields("a")[2:4]
            file["x"]["b"]
            file["x"]["a", 3]
    assert boxes_of(tmp_path / "t.trace") == [((2,), (2,)), ((0,), (9,)), ((3,), (1,))]


def test_forked_processes_append_to_files_of_their_own(tmp_path):
    write(tmp_path / "t.h5")
    with h5pack.record(tmp_path / "t.trace"):
        with h5py.File(tmp_path / "t.h5") as file:
            file["labels"][3]
        pids, pipes = [], [os.pipe(), os.pipe()]
        for k in range(2):
            pid = os.fork()
            if pid == 0:
                with h5py.File(tmp_path / "t.h5") as file:
                    for i in range(k, 20, 2):
                        file["images"][i]
                        if i == 10 + k:  # both are at work at the same time
                            os.write(pipes[1 - k][1], b"x")
                            os.read(pipes[k][0], 1)
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
    boxes, names = read_trace(tmp_path / "t.trace")
    assert boxes[0] == ("/labels", (3,), (1,), os.getpid())
    for k, pid in enumerate(pids):
        assert [box[1][0] for box in boxes if box[3] == pid] == list(range(k, 20, 2))
    assert names["file", "0"] == str((tmp_path / "t.h5").resolve())
    report = h5pack.advise(f"{tmp_path / 't.h5'}:/images", pattern=f"trace:{tmp_path / 't.trace'}",
                           no_measure=True, what_if=True, progress=False)
    assert report["options"]["workers"] == 2


def test_chunk_caches_are_noted(tmp_path):
    """Of what has no chunks its file's, once for each process."""
    write(tmp_path / "t.h5")
    with h5py.File(tmp_path / "t.h5", "r+") as file:
        file.create_dataset("chunked", data=list(range(64)), chunks=(8,))
        file.create_dataset("whole", data=list(range(64)))
    with h5py.File(tmp_path / "t.h5", rdcc_nbytes=1234567, rdcc_nslots=97, rdcc_w0=0.25) as file:
        with h5pack.record(tmp_path / "t.trace"):
            access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
            access.set_chunk_cache(11, 4096, 1.0)
            chunked = h5py.Dataset(h5py.h5d.open(file.id, b"chunked", access))
            for i in range(3):
                chunked[i]
                file["whole"][i]
            pid = os.fork()
            if pid == 0:
                chunked[9]
                os._exit(0)
            os.waitpid(pid, 0)
    lines = [line.split("\t") for line in (tmp_path / "t.trace").read_text().splitlines()]
    caches = [line[2:] for line in lines if line[0] == "# cache"]
    own, files = (["11", "4096", "1"], ["97", "1234567", "0.25"])
    version = h5py.version.hdf5_version
    assert sorted(caches) == sorted([["0", str(os.getpid()), *own, version],
                                     ["1", str(os.getpid()), *files, version],
                                     ["0", str(pid), *own, version]])
    advice = h5pack.advise(f"{tmp_path / 't.h5'}:/chunked", pattern=f"trace:{tmp_path / 't.trace'}",
                           what_if=True)
    assert advice["result"]["rows"][0]["rdcc_nbytes"] == 4096
    assert advice["options"]["hdf5_version"] == h5py.version.hdf5_version


def test_a_forked_process_notes_what_it_reads_of_a_dataset_that_was_open(tmp_path):
    """Under its own number, in a piece of its own; and one that leaves by an exception leaves the
    trace to the process that began it."""
    write(tmp_path / "t.h5")
    with h5pack.record(tmp_path / "t.trace"):
        with h5py.File(tmp_path / "t.h5") as file:
            dataset = file["images"]
            dataset[3]
            pid = os.fork()
            if pid == 0:
                dataset[4]
                h5pack.record._running.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
                os._exit((tmp_path / "t.trace").exists())
            assert os.waitpid(pid, 0)[1] == 0
            dataset[5]
    boxes, _ = read_trace(tmp_path / "t.trace")
    assert [(box[1][0], box[3]) for box in boxes] == [(3, os.getpid()), (4, pid), (5, os.getpid())]


def test_what_a_handler_raises_while_a_read_is_noted_is_the_trainings(tmp_path):
    """And not what noting itself fails of."""
    write(tmp_path / "t.h5")

    def handler(*_):
        raise TimeoutError("of the training")

    with h5py.File(tmp_path / "t.h5") as file, h5pack.record(tmp_path / "t.trace"):
        file["images"][0]
        whole = os.pwrite
        try:
            os.pwrite = handler
            assert raised(TimeoutError, lambda: file["images"][1]) == "of the training"
            os.pwrite = lambda *_: []["noting"]
            raised(TypeError, lambda: file["images"][2])  # nor of a test's own
            os.pwrite = None
            assert file["images"][3] is not None
        finally:
            os.pwrite = whole
        file["images"][4]
    assert [box[1][0] for box in read_trace(tmp_path / "t.trace")[0]] == [0, 4]


def test_what_reads_took_is_noted(tmp_path):
    write(tmp_path / "t.h5")
    with h5py.File(tmp_path / "t.h5") as file:
        begin_ns = time.perf_counter_ns()
        with h5pack.record(tmp_path / "t.trace"):
            for i in range(100):
                file["images"][i]
                file["labels"][i]
                time.sleep(0.002)
        most_ns = time.perf_counter_ns() - begin_ns
    lines = [line.split("\t") for line in (tmp_path / "t.trace").read_text().splitlines()]
    spent = [[int(word) for word in line[1:]] for line in lines if line[0] == "# spent"]
    assert sorted(line[:2] for line in spent) == [[0, 0], [0, 1]]
    assert all(50 <= line[2] <= 100 and line[3] > 0 for line in spent)
    assert sum(line[3] for line in spent) < most_ns
    assert all(line[4] == os.getpid() for line in spent)
    ran = [[int(word) for word in line[1:]] for line in lines if line[0] == "# ran"]
    assert not os.path.exists("/proc/self/schedstat") or [(line[0], line[4]) for line in ran] == [
        (os.getpid(), os.getppid())]
    for _, ns, busy, delay, _, theirs in ran:
        assert 0 < busy < most_ns and 0 <= delay and busy + delay <= 2 * ns
        assert 0 <= theirs <= 2 * ns and ns < most_ns
    advice = h5pack.advise(tmp_path / "t.h5", pattern=f"trace:{tmp_path / 't.trace'}", measure=False)
    assert 0 < advice["result"]["training"]["reading"] <= 1


def test_nothing_is_written_when_it_has_ended(tmp_path):
    """The number of the piece's file may be another file's by then."""
    write(tmp_path / "t.h5")
    with h5py.File(tmp_path / "t.h5") as file:
        recording = h5pack.record(tmp_path / "t.trace", force=True)
        with recording:
            kept = file["images"].__getitem__
            kept(1)
        others = [os.open(tmp_path / f"precious{i}", os.O_RDWR | os.O_CREAT) for i in range(8)]
        kept(2)
        assert [os.fstat(other).st_size for other in others] == [0] * 8
        for other in others:
            os.close(other)
        with recording:
            kept(3)  # of the recording before
            file["images"][4]
    assert [box[0][0] for box in boxes_of(tmp_path / "t.trace")][-1] == 4


def test_strange_names(tmp_path):
    with h5py.File(tmp_path / "a\tb.h5", "w") as file:
        file["x\\n\ny\r"] = numpy.arange(4)
        with h5pack.record(tmp_path / "t.trace"):
            file["x\\n\ny\r"][1]
    text = (tmp_path / "t.trace").read_bytes().decode()
    assert "a\\tb.h5\n" in text and "\t/x\\\\n\\ny\\r\n" in text


def test_reads_that_fail_and_single_values_are_not_there(tmp_path):
    write(tmp_path / "t.h5")
    with h5py.File(tmp_path / "t.h5", "a") as file:
        file["one"] = 5
        with h5pack.record(tmp_path / "t.trace"):
            raised(IndexError, lambda: file["images"][200])
            file["one"][()]
            assert file["labels"][5:5].size == file["images"][3, :, 9:].size == 0
            file["labels"][2]
    assert [box[0] for box in read_trace(tmp_path / "t.trace")[0]] == ["/labels"]


def test_what_is_there_stays(tmp_path):
    (tmp_path / "t.trace").write_text("mine")
    assert "force=True" in raised(h5pack.ExistsError, h5pack.record(tmp_path / "t.trace").__enter__)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with h5pack.record(tmp_path / "t.trace", force=True):
            pass
    assert "nothing was read" in str(said[0].message)
    assert sorted(os.listdir(tmp_path)) == ["t.trace"]
    assert (tmp_path / "t.trace").read_text() == "mine"


def read_one(path):
    with h5py.File(path) as file:
        file["labels"][0]


def kept_in(said):
    """The boxes in the folder that a sentence names."""
    folder = said.rpartition("is in '")[2].rstrip("'")
    pieces = os.listdir(folder)
    boxes = [box for piece in pieces for box in boxes_of(os.path.join(folder, piece))]
    shutil.rmtree(folder)
    return boxes


def test_recordings_of_one_path_do_not_touch_each_other_nor_files_of_the_user(tmp_path):
    write(tmp_path / "t.h5")
    (tmp_path / "t.trace.part").write_text("mine")

    def work():
        with h5pack.record(tmp_path / "t.trace"):
            read_one(tmp_path / "t.h5")
            (tmp_path / "t.trace").write_text("of another rank")

    said = raised(h5pack.ExistsError, work)
    assert "exists by now" in said and kept_in(said) == [((0,), (1,))]
    assert (tmp_path / "t.trace").read_text() == "of another rank"
    with h5pack.record(tmp_path / "t.trace", force=True):
        read_one(tmp_path / "t.h5")
    assert boxes_of(tmp_path / "t.trace") == [((0,), (1,))]
    assert (tmp_path / "t.trace.part").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["t.h5", "t.trace", "t.trace.part"]


def test_where_there_are_no_links_a_trace_is_written_all_the_same(tmp_path):
    write(tmp_path / "t.h5")
    real = os.link

    def refuse(*unused):
        raise PermissionError(1, "Operation not permitted")

    os.link = refuse
    try:
        with h5pack.record(tmp_path / "t.trace"):
            read_one(tmp_path / "t.h5")
    finally:
        os.link = real
    assert boxes_of(tmp_path / "t.trace") == [((0,), (1,))]
    assert sorted(os.listdir(tmp_path)) == ["t.h5", "t.trace"]


def test_where_there_are_no_links_a_failure_leaves_no_empty_trace(tmp_path):
    write(tmp_path / "t.h5")
    real = os.link, os.replace

    def refuse(*unused):
        raise PermissionError(1, "Operation not permitted")

    def work():
        with h5pack.record(tmp_path / "t.trace"):
            read_one(tmp_path / "t.h5")

    os.link = os.replace = refuse
    try:
        said = raised(h5pack.ReadError, work)
    finally:
        os.link, os.replace = real
    assert "not permitted" in said and kept_in(said) == [((0,), (1,))]
    assert os.listdir(tmp_path) == ["t.h5"]


def test_the_pieces_are_gone_when_they_are_one_trace(tmp_path):
    write(tmp_path / "t.h5")
    (tmp_path / "temporary").mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path / "temporary")
    try:
        with h5pack.record(tmp_path / "t.trace"):
            read_one(tmp_path / "t.h5")
            assert os.listdir(tmp_path / "temporary")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nothing was read
            with h5pack.record(tmp_path / "u.trace"):
                pass
    finally:
        tempfile.tempdir = before
    assert os.listdir(tmp_path / "temporary") == []


def test_what_was_read_is_kept_when_the_disk_is_full(tmp_path):
    write(tmp_path / "t.h5")
    real = os.fsync

    def full(fd):
        raise OSError(28, "No space left on device")

    def work(error=None):
        with h5pack.record(tmp_path / "t.trace"):
            read_one(tmp_path / "t.h5")
            os.fsync = full
            if error:
                raise error

    try:
        said = raised(h5pack.ReadError, work)
        assert "t.trace': No space left on device; " in said and kept_in(said) == [((0,), (1,))]
        mine = KeyError("of the training")
        raised(KeyError, work, mine)
        note, = mine.__notes__
        assert "No space left" in note and kept_in(note) == [((0,), (1,))]
    finally:
        os.fsync = real
    assert os.listdir(tmp_path) == ["t.h5"]


def test_a_folder_of_pieces_that_somebody_removed_is_not_said_to_hold_them(tmp_path):
    write(tmp_path / "t.h5")

    def work():
        with h5pack.record(tmp_path / "t.trace") as recording:
            read_one(tmp_path / "t.h5")
            shutil.rmtree(recording._folder)

    said = raised(h5pack.ReadError, work)
    assert "was removed meanwhile" in said and "is in '" not in said
    assert os.listdir(tmp_path) == ["t.h5"]


def test_where_no_trace_can_be_written_is_said_before_the_training(tmp_path):
    why = raised(h5pack.NotFoundError, h5pack.record(tmp_path / "no" / "t.trace").__enter__)
    assert "no folder" in why
    raised(h5pack.ReadError, h5pack.record(tmp_path, force=True).__enter__)
    os.mkfifo(tmp_path / "pipe")
    os.symlink("pipe", tmp_path / "link")
    for name in ("pipe", "link", "."):
        for force in (False, True):  # which does not replace it either
            said = raised(h5pack.ReadError, h5pack.record(tmp_path / name, force=force).__enter__)
            assert "not a regular file" in said
    assert stat.S_ISFIFO(os.stat(tmp_path / "link").st_mode)


def test_methods_are_what_they_were_afterwards(tmp_path):
    before = {name: h5py.Dataset.__dict__[name] for name in ("__getitem__", "read_direct")}
    write(tmp_path / "t.h5")
    try:
        with h5pack.record(tmp_path / "t.trace"):
            raised(RuntimeError, h5pack.record(tmp_path / "u.trace").__enter__)
            with h5py.File(tmp_path / "t.h5") as file:
                file["labels"][0]
            raise KeyError("x")
    except KeyError:
        pass
    assert {name: h5py.Dataset.__dict__[name] for name in before} == before
    assert boxes_of(tmp_path / "t.trace") == [((0,), (1,))]


def test_there_may_be_more_processes_than_files_that_can_be_open(tmp_path):
    write(tmp_path / "t.h5")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, limits[1]))
    try:
        with h5pack.record(tmp_path / "t.trace"):
            for _ in range(50):
                child = os.fork()
                if child == 0:
                    with h5py.File(tmp_path / "t.h5") as file:
                        file["images"][3]
                    os._exit(0)
                os.waitpid(child, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    boxes, _ = read_trace(tmp_path / "t.trace")
    assert len({box[3] for box in boxes}) == len(boxes) == 50


def recorded_with(write_like, folder):
    """What is recorded of three reads, of which the second meets this os.pwrite; what is warned of."""
    write(folder / "t.h5")
    real = os.pwrite
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with h5py.File(folder / "t.h5") as file, h5pack.record(folder / "t.trace"):
                file["images"][1]
                os.pwrite = lambda *what: write_like(real, *what)
                file["images"][2]
                os.pwrite = real
                file["images"][3]
        finally:
            os.pwrite = real
    return [box[0][0] for box in boxes_of(folder / "t.trace")], [str(one.message) for one in said]


def test_where_the_disk_was_full_the_trace_ends(tmp_path):
    def half(real, fd, text, at):
        return real(fd, text[:len(text) // 2], at)

    def whole(real, fd, text, at):  # room for this line, and no more
        real(fd, text, at)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for number, full in enumerate((half, whole)):
        folder = tmp_path / str(number)
        folder.mkdir()
        boxes, said = recorded_with(full, folder)
        assert boxes == [1]
        assert len(said) == 1 and said[0].startswith("1 process could not be recorded to the end")


def test_a_disk_that_is_full_takes_no_file_descriptor_for_each_read(tmp_path):
    write(tmp_path / "t.h5")
    real = os.pwrite

    def full(*what):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with h5py.File(tmp_path / "t.h5") as file, h5pack.record(tmp_path / "t.trace"):
                before = len(os.listdir("/proc/self/fd"))
                os.pwrite = full
                for number in range(20):
                    file["images"][number]
                assert len(os.listdir("/proc/self/fd")) <= before + 1
        finally:
            os.pwrite = real
    assert len(said) == 1 and str(said[0].message).startswith("1 process could not")


def test_ctrl_c_while_a_read_is_noted_leaves_that_one_out(tmp_path):
    """Wherever it ends that: what is read afterwards, as by a training that saves, is there."""
    write(tmp_path / "t.h5")
    for module, name, calls in ((os, "pwrite", 4), (os.path, "realpath", 1),
                                (h5pack._record, "_escaped", 2)):
        for call, after in itertools.product(range(1, calls + 1), (False, True)):
            real, number_of_calls = getattr(module, name), itertools.count(1)

            def once(*what):
                is_now = next(number_of_calls) == call
                if is_now and not after:
                    raise KeyboardInterrupt
                done = real(*what)
                if is_now:
                    raise KeyboardInterrupt
                return done

            with warnings.catch_warnings(), h5py.File(tmp_path / "t.h5") as file:
                warnings.simplefilter("error")
                with h5pack.record(tmp_path / "t.trace", force=True):
                    setattr(module, name, once)
                    try:
                        for number in range(1, 4):
                            try:
                                file["images"][number]
                            except KeyboardInterrupt:
                                assert number == 1
                    finally:
                        setattr(module, name, real)
            seen = [start[0] for start, _ in boxes_of(tmp_path / "t.trace")]
            assert next(number_of_calls) > call and seen == [2, 3], (name, call, after, seen)


def test_what_a_signals_handler_reads_while_a_read_is_noted_does_not_wait_for_ever(tmp_path):
    class Late(BaseException):
        pass

    def late(*what):
        raise Late

    write(tmp_path / "t.h5")
    real, before = os.pwrite, signal.signal(signal.SIGALRM, late)
    with h5py.File(tmp_path / "t.h5") as file, h5pack.record(tmp_path / "t.trace"):
        file["images"][0]
        os.pwrite = lambda *what: (file["images"][7], real(*what))[1]
        signal.alarm(20)
        try:
            file["images"][5]
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            os.pwrite = real
    assert [start[0] for start, _ in boxes_of(tmp_path / "t.trace")] == [0, 5]


def test_a_trace_never_replaces_an_hdf5_file(tmp_path):
    for user_block in 0, 512, 4096:
        with h5py.File(tmp_path / "t.h5", "w", userblock_size=user_block) as file:
            file["x"] = 1
        said = raised(h5pack.ExistsError, h5pack.record(tmp_path / "t.h5", force=True).__enter__)
        assert "is an HDF5 file" in said
        with h5py.File(tmp_path / "t.h5") as file:
            assert file["x"][()] == 1


def test_nor_one_that_was_made_meanwhile(tmp_path):
    write(tmp_path / "x.h5")

    def work():
        with h5pack.record(tmp_path / "t.trace", force=True):
            read_one(tmp_path / "x.h5")
            write(tmp_path / "t.trace")

    said = raised(h5pack.ExistsError, work)
    assert "exists by now" in said and kept_in(said) == [((0,), (1,))]
    read_one(tmp_path / "t.trace")


def test_a_path_may_be_bytes_and_what_is_none_is_said(tmp_path):
    write(tmp_path / "x.h5", n=20)
    with h5pack.record(os.fsencode(tmp_path / "t")), h5py.File(tmp_path / "x.h5") as file:
        file["images"][3]
    assert (tmp_path / "t").read_bytes().startswith(b"# h5pack-trace")
    for given in 5, None, ["t"], "a\0b", b"a\0b":
        assert raised(h5pack.ArgumentError, h5pack.record, given).startswith("path: ")


def test_chunks_that_a_loader_looks_up_are_no_reads_for_h5advise(tmp_path):
    try:
        program = _jobs.find("h5advise")
    except h5pack.JobError as why:
        raise unittest.SkipTest(str(why)) from None
    if os.environ.get("LD_PRELOAD"):
        raise unittest.SkipTest("beside a sanitizer nothing is preloaded")
    write(tmp_path / "t.h5", compression="gzip")  # of 26 chunks
    code = ("import sys, h5pack\n"
            "for batch in h5pack.Loader(sys.argv[1], 8, out='numpy', memory='64M', with_=None): pass\n")
    said = subprocess.run([program, "--record", tmp_path / "t.trace", "--", sys.executable, "-c", code,
                           tmp_path / "t.h5"], capture_output=True, text=True, check=False)
    assert "nothing was recorded" in said.stderr, said.stderr
    assert not (tmp_path / "t.trace").exists()
