"""record: what a training reads through h5py, as a trace that h5advise and h5readbench replay.

Each process appends to a file of its own, without a buffer, since forked workers end by os._exit;
at the end of the `with` they become one trace. libpack/pattern.h defines its form.
"""
import contextlib
import functools
import heapq
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
import traceback
import uuid
import warnings
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from h5pack import _options
from h5pack._native import ExistsError, NotFoundError, ReadError

HEAD = b"# h5pack-trace 2\n"
SIGNATURE = b"\x89HDF\r\n\x1a\n"
BOXES_MAX = 4096  # of one read; of more the block around them is noted
SPENT_READS = 64  # whose time is written at once
RAN_NS = 50_000_000  # from one look at how a process ran to the next
CACHES_MAX = 4096  # datasets whose chunk cache one process notes
READ_BYTES = 1 << 16  # at once of each piece when they become one
OWN = ("h5pack", "h5py", "numpy")  # whose exceptions are no reason to end a training
METHODS = ("__getitem__", "read_direct")  # what all other ways of reading come down to

Box = tuple[tuple[int, ...], tuple[int, ...]]  # starts and counts


# ---------------------------------------------------------------- selections

def _plain(shape: tuple[int, ...], args: tuple) -> Box | None:
    """The box of whole numbers and slices of step 1, as most reads are; None of others."""
    if len(args) > len(shape):
        return None
    starts, counts = [], []
    for arg, extent in zip(args, shape):
        if type(arg) is int:
            start, count = arg + extent if arg < 0 else arg, 1
        elif type(arg) is slice and arg.step in (None, 1):
            start, stop, _ = arg.indices(extent)
            count = stop - start
        else:
            return None
        if count < 1:
            return None
        starts.append(start)
        counts.append(count)
    rest = shape[len(args):]
    return (*starts, *[0] * len(rest)), (*counts, *rest)


def _listed(arg: Any, rank: int) -> Any:
    """A mask of one axis as the list that it is; select() of older h5py takes no such mask."""
    is_mask = getattr(arg, "dtype", None) == bool and arg.ndim == 1 and rank > 1
    return arg.nonzero()[0] if is_mask else arg


def _grid(start, stride, count, block) -> Iterator[Box]:
    """The blocks of a regular selection; those that touch are one."""
    rank = len(start)
    touch = [count[k] == 1 or stride[k] == block[k] for k in range(rank)]
    size = tuple(block[k] * count[k] if touch[k] else block[k] for k in range(rank))
    times = [1 if touch[k] else count[k] for k in range(rank)]
    total = 1
    for n in times:
        total *= n
    if total > BOXES_MAX:
        return
    for i in range(total):
        at = list(start)
        for k in reversed(range(rank)):
            i, step = divmod(i, times[k])
            at[k] += step * stride[k]
        yield tuple(at), size


def _points(points) -> Iterator[Box]:
    """Points; those that follow one another along the last axis are one box."""
    first, n = None, 0
    for point in points.tolist():
        if first is not None and point[:-1] == first[:-1] and point[-1] == first[-1] + n:
            n += 1
            continue
        if first is not None:
            yield tuple(first), (*[1] * (len(first) - 1), n)
        first, n = point, 1
    if first is not None:
        yield tuple(first), (*[1] * (len(first) - 1), n)


def _boxes(h5py: Any, space: Any) -> tuple[list[Box], bool]:
    """The boxes of a selection, and whether they are the block around too many."""
    kind = space.get_select_type()
    boxes: list[Box] = []
    if kind == h5py.h5s.SEL_NONE:
        return [], False
    if kind == h5py.h5s.SEL_ALL:
        return [((0,) * len(space.shape), tuple(space.shape))], False
    if kind == h5py.h5s.SEL_POINTS:
        if space.get_select_elem_npoints() <= BOXES_MAX:
            boxes = list(_points(space.get_select_elem_pointlist()))
    elif space.is_regular_hyperslab():
        boxes = list(_grid(*space.get_regular_hyperslab()))
    elif space.get_select_hyper_nblocks() <= BOXES_MAX:
        boxes = [(tuple(first), tuple(b - a + 1 for a, b in zip(first, last)))
                 for first, last in space.get_select_hyper_blocklist().tolist()]
    if boxes:
        return boxes, False
    first, last = space.get_select_bounds()
    return [(tuple(first), tuple(b - a + 1 for a, b in zip(first, last)))], True


# -------------------------------------------------------------------- pieces

def _escaped(name: bytes) -> bytes:
    for plain, letter in ((b"\\", b"\\"), (b"\t", b"t"), (b"\n", b"n"), (b"\r", b"r")):
        name = name.replace(plain, b"\\" + letter)
    return name


def _ran(pid: int) -> list[int]:
    """How long the first thread of a process has been on a processor, and has waited for one; none
    where that cannot be told."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb", buffering=0) as file:
            return [int(word) for word in file.read(64).split()[:2]]
    except (OSError, ValueError):
        return []


class _Piece:
    """What one process reads."""

    def __init__(self, folder: str) -> None:
        self.pid = os.getpid()
        self._fd, path = tempfile.mkstemp(".trace", f"{self.pid}-", folder)
        self._lock = threading.Lock()
        self._names: dict[tuple[bytes, bytes], int] = {}
        self._counts = {b"file": 0, b"dataset": 0}
        self._is_full, self._end = False, 0
        self._spent: dict[tuple[bytes, bytes], list[int]] = {}  # reads, ns, reads until written
        self._cached: set[tuple[bytes, bytes]] = set()
        self._ran = 0, 0, [], []  # who started this process, when that was looked at, _ran() of both
        try:
            self._write(HEAD)
        except BaseException:
            os.close(self._fd)
            os.remove(path)
            raise

    def _write(self, text: bytes) -> None:
        """Where there was no room for all of it, nothing more follows: half a line is the last. What
        Ctrl-C ended is not there, as if it was not read."""
        size = 0 if self._is_full else len(text)
        if size == 0:
            return
        try:
            n = os.pwrite(self._fd, text, self._end)
        except BaseException as why:
            if not isinstance(why, OSError) or why.errno is None:
                os.ftruncate(self._fd, self._end)
                raise
            n = 0
        if n == size:
            self._end += n
            return
        self._is_full = True  # also where a whole line was the last that had room
        os.ftruncate(self._fd, max(0, os.fstat(self._fd).st_size - 1))

    def _place(self, kind: bytes, name: bytes) -> bytes:
        """The number of a name, written when it is new: a file's with its whole path."""
        place = self._names.get((kind, name))
        if place is not None:
            return b"%d" % place
        place = self._counts[kind]
        whole = os.path.realpath(name) if kind == b"file" else name
        self._write(b"# %b\t%d\t%b\n" % (kind, place, _escaped(whole)))
        self._counts[kind] += 1
        self._names[kind, name] = place  # once it is written: Ctrl-C may end this anywhere
        return b"%d" % place

    def places(self, file: bytes, dataset: bytes) -> tuple[bytes, bytes]:
        """The numbers of both names."""
        with self._lock:
            return self._place(b"file", file), self._place(b"dataset", dataset)

    def wants_cache(self, what: tuple[bytes, bytes]) -> bool:
        """Whether nothing is said so far of the chunk cache of what these places() are."""
        return what not in self._cached and len(self._cached) < CACHES_MAX

    def put_cache(self, what: tuple[bytes, bytes], cache: tuple[int, int, float],
                  version: str) -> None:
        """The slots, bytes and w0 that it is read through, and whose HDF5 that is."""
        with self._lock:
            self._write(b"# cache\t%b\t%b\t%d\t%d\t%d\t%.6g\t%b\n"
                        % (*what, self.pid, *cache, version.encode()))
            self._cached.add(what)

    def put(self, what: tuple[bytes, bytes], boxes: Iterable[Box], is_around: bool,
            took_ns: int, end_ns: int) -> None:
        """A read of what these places() are."""
        with self._lock:
            origin = b"\t".join((*what, b"%d" % self.pid, b"%d" % end_ns))
            text = b"".join(b"%b\t%b\n" % ("\t".join(map(str, (*starts, *counts))).encode(), origin)
                            for starts, counts in boxes)
            self._write(text + (b"# around\t1\n" if is_around else b"")
                        + self._spend(what, took_ns))

    def put_index(self, what: tuple[bytes, bytes], index: int, rest: bytes, took_ns: int,
                  end_ns: int) -> None:
        """A read of one index of axis 0, as most are: `rest` stands between it and the time."""
        with self._lock:
            self._write(b"%d%b%d\n%b" % (index, rest, end_ns, self._spend(what, took_ns)))

    def _spend(self, what: tuple[bytes, bytes], took_ns: int) -> bytes:
        """What reads took, for every so many: workers end at any time."""
        spent = self._spent.get(what)
        if spent is None:
            spent = self._spent[what] = [0, 0, 1]
        spent[0] += 1
        spent[1] += took_ns
        if spent[0] < spent[2]:
            return b""
        text = b"# spent\t%b\t%b\t%d\t%d\t%d\n" % (*what, spent[0], spent[1], self.pid)
        self._spent[what] = [0, 0, min(2 * spent[2], SPENT_READS)]
        return text + self._have_run()

    def _have_run(self) -> bytes:
        """How much of the time since this was asked the process was on a processor and waited for one,
        and how much the one was that started it: what the training itself takes."""
        before, now, parent = self._ran, time.monotonic_ns(), os.getppid()
        if now - before[1] < RAN_NS:
            return b""
        ran, theirs = _ran(self.pid), _ran(parent)
        self._ran = parent, now, ran, theirs
        if parent != before[0] or not (ran and theirs and before[2] and before[3]):
            return b""
        return b"# ran\t%d\t%d\t%d\t%d\t%d\t%d\n" % (
            self.pid, now - before[1], ran[0] - before[2][0], ran[1] - before[2][1], parent,
            theirs[0] - before[3][0])

    def close(self) -> None:
        """Nothing more is written: the number of the file may be another's by then."""
        with self._lock:
            self._is_full = True
            os.close(self._fd)


class _Known:
    """What is the same for all that is read through one h5py.Dataset: to be looked up once, since a
    read of one sample takes little more than asking HDF5 for names."""

    __slots__ = ("dataset", "piece", "shape", "what", "rest")

    def __init__(self, dataset: Any, gone: Any, piece: _Piece, shape: tuple[int, ...],
                 what: tuple[bytes, bytes]) -> None:
        self.dataset, self.piece = weakref.ref(dataset, gone), piece
        self.shape, self.what = shape, what
        rest = (*[0] * (len(shape) - 1), 1, *shape[1:])
        self.rest = b"\t%b\t%b\t%b\t%d\t" % ("\t".join(map(str, rest)).encode(), *what, piece.pid)


class _Said(dict):
    """What pieces say beside their lines: counts, and what reads of a dataset took."""

    def __init__(self) -> None:
        super().__init__(around=0, cut=0)
        self.spent: dict[tuple[bytes, bytes, bytes], list[int]] = {}
        self.ran: dict[tuple[bytes, bytes], list[int]] = {}  # process and parent: time, and of it
        self.caches: list[tuple[bytes, bytes, bytes]] = []  # names, and the rest of the line


def _whole_lines(path: str, said: _Said) -> Iterator[bytes]:
    """Up to half a line, of a process that was killed or a disk that was full. The file is not kept
    open: there may be more processes than a process may open files."""
    at = 0
    while True:
        with open(path, "rb") as file:
            file.seek(at)
            lines = file.readlines(READ_BYTES)
            at = file.tell()
        for line in lines:
            if not line.endswith(b"\n"):
                said["cut"] += 1
                return
            yield line
        if not lines:
            said["cut"] += at == 0  # no room for the first line
            return


def _lines(path: str, said: _Said) -> Iterator[tuple[int, bytes, bytes, bytes, bytes]]:
    """Time, numbers, escaped names of file and dataset, process, line by line."""
    names: dict[tuple[bytes, bytes], bytes] = {}
    for line in _whole_lines(path, said):
        words = line.rstrip(b"\n").split(b"\t")
        if line.startswith(b"# around"):
            said["around"] += 1
        elif line.startswith(b"# spent"):
            spent = said.spent.setdefault((names[b"file", words[1]], names[b"dataset", words[2]],
                                           words[5]), [0, 0])
            spent[0] += int(words[3])
            spent[1] += int(words[4])
        elif line.startswith(b"# ran"):
            ran = said.ran.setdefault((words[1], words[5]), [0, 0, 0, 0])
            for i, word in enumerate((*words[2:5], words[6])):
                ran[i] += int(word)
        elif line.startswith(b"# cache"):
            said.caches.append((names[b"file", words[1]], names[b"dataset", words[2]],
                                b"\t".join(words[3:])))
        elif line.startswith(b"#"):
            if len(words) == 3:
                names[words[0][2:], words[1]] = words[2]
        else:
            yield (int(words[-1]), b"\t".join(words[:-4]), names[b"file", words[-4]],
                   names[b"dataset", words[-3]], words[-2])


def _file_of(h5py: Any, dataset: Any) -> bytes:
    """Its path. HDF5 knows what it was opened by: a relative one is of the folder of that time, and
    the system says where the open file is."""
    name = h5py.h5f.get_name(dataset.id)
    if os.path.isabs(name):
        return name
    try:
        handle = h5py.h5i.get_file_id(dataset.id).get_vfd_handle()
        found = os.readlink(b"/proc/self/fd/%d" % handle)
    except Exception:  # of a driver without one
        return name
    return found if os.path.isfile(found) else name


def _is_other(path: str) -> bool:
    """A folder, a device, a pipe: what is no file, and is not replaced by one."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:  # not there, or a link to nothing
        return False


def _is_hdf5(path: str) -> bool:
    """Its signature stands in front, or behind a user block."""
    at = 0
    try:
        with open(path, "rb") as file:
            while file.seek(0, os.SEEK_END) >= at + len(SIGNATURE):
                file.seek(at)
                if file.read(len(SIGNATURE)) == SIGNATURE:
                    return True
                at = 2 * at or 512
    except OSError:
        pass
    return False


def _is_of_others(why: BaseException) -> bool:
    """Whether something else raised this while a read was noted: a signal's handler, say."""
    if getattr(why, "errno", None) is not None:
        return False  # the system
    for frame, _ in traceback.walk_tb(why.__traceback__):
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        if module not in OWN and module not in sys.stdlib_module_names:
            return True
    return False


def _merge(folder: str, out: Any) -> tuple[int, int]:
    """Writes all pieces by time; returns how many boxes there are, and processes that had no room
    for all of theirs."""
    said = _Said()
    places: dict[tuple[bytes, bytes], int] = {}
    counts = {b"file": 0, b"dataset": 0}
    n = 0
    pieces = [_lines(os.path.join(folder, name), said) for name in sorted(os.listdir(folder))]
    out.write(HEAD)
    for when, numbers, file, dataset, pid in heapq.merge(*pieces, key=lambda line: line[0]):
        for kind, name in ((b"file", file), (b"dataset", dataset)):
            if (kind, name) not in places:
                places[kind, name] = counts[kind]
                out.write(b"# %b\t%d\t%b\n" % (kind, counts[kind], name))
                counts[kind] += 1
        out.write(b"%b\t%d\t%d\t%b\t%d\n" % (numbers, places[b"file", file],
                                             places[b"dataset", dataset], pid, when))
        n += 1
    for (file, dataset, pid), (n_reads, ns) in said.spent.items():
        out.write(b"# spent\t%d\t%d\t%d\t%d\t%b\n" % (places[b"file", file],
                                                      places[b"dataset", dataset], n_reads, ns, pid))
    for (pid, parent), (*of_it, theirs) in said.ran.items():
        out.write(b"# ran\t%b\t%d\t%d\t%d\t%b\t%d\n" % (pid, *of_it, parent, theirs))
    for file, dataset, rest in said.caches[:CACHES_MAX]:
        if (b"file", file) in places and (b"dataset", dataset) in places:
            out.write(b"# cache\t%d\t%d\t%b\n" % (places[b"file", file],
                                                  places[b"dataset", dataset], rest))
    if said["around"]:
        out.write(b"# around\t%d\n" % said["around"])
    return n, said["cut"]


# ------------------------------------------------------------------ recording

class record:
    """Writes down what is read through h5py.Dataset within a `with`, as a trace.

        with h5pack.record("train.trace"):
            train()
        h5pack.advise("train.h5", pattern="trace:train.trace")

    path    the trace, there when the `with` ends; force=True replaces one that exists
    force   else ExistsError is raised, before anything is read if it exists by then. Each rank of
            a training wants a path of its own

    Indexing, slicing, fields, iterating and read_direct are noted, in this process and in those
    that are forked from it meanwhile, as a DataLoader's workers on Linux: start them within the
    `with`. Spawned processes and h5py's low-level calls are not; `h5advise --record` notes these
    too, without a line of code, and of a program that SIGTERM ends. A read that fails is not noted.
    Where nothing is read, no trace is written, with a warning; where it cannot be written, the
    exception names the folder that holds a trace of each process. One recording at a time:
    RuntimeError.
    """

    _running: "record | None" = None

    @staticmethod
    def _forked() -> None:
        """A forked process has a piece of its own."""
        if record._running:
            record._running._piece = None

    def __init__(self, path: str | bytes | os.PathLike, *, force: bool = False) -> None:
        self._path, self._force = os.path.abspath(_options.one_path("path", path)), force
        self._piece: _Piece | None = None
        self._local = threading.local()
        self._known: dict[int, _Known] = {}  # by id() of datasets: their own hash asks HDF5

    def __enter__(self) -> "record":
        import h5py
        import numpy

        if record._running:
            raise RuntimeError("a recording is going on already")
        if _is_other(self._path):
            raise ReadError(f"cannot write '{self._path}': it is not a regular file")
        if _is_hdf5(self._path):
            raise ExistsError(f"'{self._path}' is an HDF5 file, which a trace does not replace")
        if os.path.lexists(self._path) and not self._force:
            raise ExistsError(f"'{self._path}' exists already; force=True replaces it")
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):  # not only when the training has ended
            raise NotFoundError(f"cannot write '{self._path}': there is no folder '{folder}'")
        if not os.access(folder, os.W_OK):
            raise ReadError(f"cannot write '{self._path}'")
        self._h5py, self._pid = h5py, os.getpid()
        self._integers = (int, numpy.integer)
        self._folder = tempfile.mkdtemp(prefix="h5pack-record-")
        self._originals = {name: getattr(h5py.Dataset, name) for name in METHODS}
        for name, original in self._originals.items():
            setattr(h5py.Dataset, name, self._noting(name, original))
        record._running = self
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for name, original in self._originals.items():
            setattr(self._h5py.Dataset, name, original)
        record._running = None
        self._known = {}
        piece, self._piece = self._piece, None
        if piece and piece.pid == os.getpid():
            piece.close()
        if os.getpid() != self._pid:  # a forked process that leaves by an exception
            return
        try:
            n, n_cut = self._write()
        except BaseException as why:
            kept = f"what each process read is in '{self._folder}'"
            if not os.path.isdir(self._folder):
                kept = f"the folder of what each process read was removed meanwhile, '{self._folder}'"
            if error is not None and isinstance(why, Exception):
                error.add_note(f"{self._said(why)}; {kept}")  # and is raised, as it came first
                return
            if isinstance(why, OSError):
                raise self._kind(why)(f"{self._said(why)}; {kept}") from why
            why.add_note(kept)
            raise
        shutil.rmtree(self._folder, ignore_errors=True)
        written = "" if n > 0 else f": '{self._path}' is not written"
        if n_cut > 0:
            who = "1 process" if n_cut == 1 else f"{n_cut} processes"
            warnings.warn(f"{who} could not be recorded to the end: no room in the folder for "
                          f"temporary files (TMPDIR names another){written}",
                          RuntimeWarning, stacklevel=2)
        elif n == 0:
            warnings.warn(f"nothing was read through h5py{written}", RuntimeWarning, stacklevel=2)

    def _kind(self, why: BaseException) -> type[Exception]:
        return ExistsError if isinstance(why, FileExistsError) else ReadError

    def _said(self, why: BaseException) -> str:
        if isinstance(why, FileExistsError):
            return f"'{self._path}' exists by now" + ("" if self._force else "; force=True replaces it")
        return f"cannot write '{self._path}': {getattr(why, 'strerror', None) or why}"

    def _write(self) -> tuple[int, int]:
        """Returns what _merge() does; without boxes no trace is written."""
        part = os.path.join(os.path.dirname(self._path), f".h5pack-{uuid.uuid4().hex}.part")
        try:
            with open(part, "xb") as out:
                n, n_cut = _merge(self._folder, out)
                out.flush()
                os.fsync(out.fileno())
            if n > 0:
                self._publish(part)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(part)
        return n, n_cut

    def _publish(self, part: str) -> None:
        if self._force:
            if _is_other(self._path) or _is_hdf5(self._path):  # made meanwhile
                raise FileExistsError
            os.replace(part, self._path)
            return
        try:
            os.link(part, self._path)  # fails where somebody else was earlier
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with open(self._path, "xb"):
                try:
                    os.replace(part, self._path)
                except BaseException:
                    os.remove(self._path)
                    raise

    def _noting(self, name: str, original: Any) -> Any:
        """The method, noting what it read; what it calls of the others it has done itself."""
        local = self._local

        @functools.wraps(original)
        def method(dataset: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(local, "inside", False):
                return original(dataset, *args, **kwargs)
            local.inside = True
            begin_ns = time.monotonic_ns()
            try:
                result = original(dataset, *args, **kwargs)
                end_ns = time.monotonic_ns()
                try:
                    self._note(name, dataset, args, kwargs, end_ns - begin_ns, end_ns)
                except Exception as why:  # a training is never disturbed
                    if _is_of_others(why):
                        raise
            finally:  # also of what a signal's handler or the collector reads while this is noted
                local.inside = False
            return result

        return method

    def _note(self, name: str, dataset: Any, args: tuple, kwargs: dict,
              took_ns: int, end_ns: int) -> None:
        if record._running is not self:  # a method that was taken within the `with`
            return
        if name == "__getitem__":
            asked = args[0] if args else kwargs["args"]
        else:  # read_direct(dest, source_sel=None, dest_sel=None)
            asked = args[1] if len(args) > 1 else kwargs.get("source_sel")
        shape = dataset.shape
        if not shape or 0 in shape:  # no axes, or no elements
            return
        known = self._known.get(id(dataset))
        if not (known and known.shape == shape and known.piece is self._piece):
            known = self._look_up(dataset, shape)
        if known and isinstance(asked, self._integers) and asked is not True and asked is not False:
            index = int(asked) + shape[0] if asked < 0 else asked
            known.piece.put_index(known.what, index, known.rest, took_ns, end_ns)
        elif known:
            boxes, is_around = self._asked(dataset, shape, asked)
            if boxes:
                known.piece.put(known.what, boxes, is_around, took_ns, end_ns)

    def _look_up(self, dataset: Any, shape: tuple[int, ...]) -> _Known | None:
        """None of one that has no name any more."""
        key = id(dataset)
        piece = self._piece
        if not piece or piece.pid != os.getpid():
            piece = self._piece = _Piece(self._folder)
        path = self._h5py.h5i.get_name(dataset.id)
        if not path:
            return None
        what = piece.places(_file_of(self._h5py, dataset), path)
        if piece.wants_cache(what):
            piece.put_cache(what, self._cache(dataset), self._h5py.version.hdf5_version)
        table = self._known

        def forget(gone: Any) -> None:  # before another has that id()
            if key in table and table[key].dataset is gone:
                del table[key]

        known = table[key] = _Known(dataset, forget, piece, shape, what)
        return known

    def _cache(self, dataset: Any) -> tuple[int, int, float]:
        """Slots, bytes, w0: a dataset's own; of what has no chunks those of its file."""
        if dataset.chunks:
            return dataset.id.get_access_plist().get_chunk_cache()
        return self._h5py.h5i.get_file_id(dataset.id).get_access_plist().get_cache()[1:]

    def _asked(self, dataset: Any, shape: tuple, asked: Any) -> tuple[list[Box], bool]:
        h5py = self._h5py
        if asked is None or asked is Ellipsis:
            return [((0,) * len(shape), shape)], False
        if isinstance(asked, h5py._hl.selections.Selection):
            return _boxes(h5py, asked.id)
        args = asked if isinstance(asked, tuple) else (asked,)
        args = tuple(_listed(arg, len(shape)) for arg in args
                     if not isinstance(arg, (str, bytes)))  # which are fields
        box = _plain(shape, args)
        if box:
            return [box], False
        return _boxes(h5py, h5py._hl.selections.select(shape, args or (Ellipsis,), dataset).id)


os.register_at_fork(after_in_child=record._forked)
