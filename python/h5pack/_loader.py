"""Loader: batches of an epoch after another, made ahead by libpack's threads."""
import contextlib
import operator
import os
import sys
import threading
import time
import warnings

from h5pack import _cuda, _hdf5, _monitor, _native, _options, _out, _sets, _stats
from h5pack._options import fail

WITH = ("labels",)
CLOSING_S = 0.02  # after which a thread that waits for a batch is told to end
EPOCHS = 2**40  # of one reader: more than anybody trains
EPOCH_MAX = 2**62
AHEAD = 1  # beside the one that is lent, whose place another takes at once: so two are
LATER = ("trace", "box", "step", "chunk")  # in a state that h5pack 0.1.0 did not always write
COUNTED = ("box", "step", "trace", "trace_file", "trace_dataset")  # what samples depend on
STRATEGIES = ("auto", "pread", "mmap", "direct")


class Loader:
    """Batches of HDF5 datasets in the order of a training, for PyTorch and NumPy.

        for images, labels in h5pack.Loader("train.h5", 256):
            ...

    path       a file, or several that are read as one, their samples one behind the other. Relative
               ones are those of the folder in which the loader is made, also after os.chdir()
    batch_size samples in a batch; the last of an epoch may be short, or is left out: drop_last.
               Where that would leave none, on any rank as they all have as many, it is refused
    images     path of the dataset: uint8 N x H x W x C or any other of numbers
    with_      paths of datasets read in step; the default is left out where it is not there
    order      "sequential", "shuffle", "block:chunks=32[,local|,pool=slide]",
               "buffer:samples=N", "replacement[:draws=N]", "weighted[:draws=N]", "trace:FILE";
               see h5pack-chunks(7). It is drawn from seed and epoch
    weights    a number for each sample, drawn with replacement in that proportion
    indices    numbers of the samples that take part, in any order, or a mask of bool; weights are
               theirs then
    box, step  a sample is a box of that shape; along axis 0 they begin `step` apart
    threads    that read; by default one for each processor, fewer where memory would not do
    memory     bytes, or "1G", that everything read here takes: decoded chunks, batches ahead and
               those that you keep
    rank, world   which part is read: of two, 0 and 1. rank="auto" asks torch.distributed, then
               the environment (torchrun, Slurm's srun, Open MPI)

    Of images of bytes, in this order and by the reader's threads:

    crop, centre_crop   224 or (height, width), anywhere or of the middle
    resized_crop        as RandomResizedCrop: a size, or {"size": 224, "scale": (0.08, 1),
                        "ratio": (3/4, 4/3), "filter": "bilinear"}
    resize              the whole image to a size
    flip                True: every second one; or a probability
    normalize           (mean, std) of values from 0 to 1, or True: those that the dataset has,
                        0 and 1 where it has none
    dtype               what normalized ones are: "float32", "float16" or, not of NumPy, "bfloat16"
    layout              "nchw", "nhwc"; "channels_last": memory of nhwc with the axes of nchw

    out        "torch", "numpy", or "dlpack": objects with __dlpack__ and the buffer protocol. By
               default torch where it is installed
    device     "cuda", "cuda:1": batches arrive there, copied beside the computation. The memory
               that they are copied from is registered with CUDA, unless pin=False. "cpu" is as None
    strategy   "pread", "mmap", "direct" (past the page cache), or "auto": mmap of files without
               filters on local disks, from 64 MiB to half of the memory, else pread. What is mapped
               counts as this process's resident memory, though it is the page cache's

    An iteration gives tuples: images, and what with_ names. Elements are as in the file, in this
    machine's byte order; h5py's truth values are bool, and long doubles, which PyTorch does not have,
    numpy.longdouble. Arrays show the reader's memory, which is used
    again when the last array that shows a batch is gone, and not before; they stay
    good when the loader is gone. Each `for` reads the next epoch; one that takes no batch does not
    count. Threads may share an iteration: each batch is handed out once.
    """

    def __init__(self, path, batch_size, *, images="images", with_=WITH, order="shuffle",
                 threads=None, memory="1G", seed=0, rank=None, world=None, drop_last=False,
                 indices=None, weights=None, box=None, step=None, crop=None, centre_crop=None,
                 resized_crop=None, resize=None, flip=False, normalize=None, dtype=None,
                 layout=None, device=None, pin=None, out=None, strategy="auto"):
        self._names = _options.paths(path)  # as they were given
        if not self._names:
            fail("path", "there is no file in it")
        self._files = tuple(map(_options.absolute, self._names))
        self._images = _options.name("images", images)
        self._batch_size = _positive("batch_size", batch_size)
        self._rank, self._world = _options.rank_of(rank, world)
        self._threads = _options.thread_count(threads, rank)
        self._memory = _options.byte_count("memory", memory)
        if strategy not in STRATEGIES:
            fail("strategy", f"{strategy!r} is none of {', '.join(map(repr, STRATEGIES))}")
        self._strategy = strategy
        self._device = _cuda.name_of(device)
        normalize = bool(normalize) if _options.is_flag(normalize) else normalize
        self._order = {**_options.order(order, weights), **_options.subset(indices),
                       "seed": _options.whole("seed", seed), "batch": self._batch_size,
                       "rank": self._rank, "world": self._world,
                       "drop_last": _options.flag("drop_last", drop_last)}
        if "trace" in self._order:
            if box is not None or step is not None:
                fail("box" if box is not None else "step",
                     "does not go with a trace, which says itself what each read asks for")
            self._order["trace_dataset"] = os.fsencode(self._images)
            if len(self._files) == 1:
                self._order["trace_file"] = os.fsencode(os.path.realpath(self._files[0]))
        if box is not None:
            self._order["box"] = _extents(box)
        if step is not None:
            self._order["step"] = _positive("step", step)
        self._transform = _options.transform(crop, centre_crop, resize, resized_crop, flip,
                                             normalize, dtype, layout, self._device)
        self._out, self._layout = _out.chosen(out), layout
        if self._out == "numpy" and (self._transform or {}).get("values") == "bfloat16":
            fail("dtype", "NumPy has no bfloat16: out='torch' or 'dlpack'")
        self._pin = self._device is not None if pin is None else _options.flag("pin", pin)
        self._on_device = (normalize, dtype)
        if pin and not self._device:
            fail("pin", "goes with device='cuda': a copy of yours may still be under way when the "
                        "memory is used again")
        if self._device and self._out != "torch":
            fail("device", f"batches arrive there as tensors, not with out={out!r}")
        self._look(with_, indices)
        asked = {"crop": crop, "centre_crop": centre_crop, "resized_crop": resized_crop,
                 "resize": resize, "flip": flip or None, "normalize": normalize or None,
                 "layout": layout}
        self._check_images([name for name, given in asked.items() if given is not None])
        self._reset()

    def _look(self, with_, indices):
        """At the files: what is there, and how long an epoch is."""
        with _hdf5.alone():
            facts = [_native.dataset(file, self._images) for file in self._names]
            self._further = self._found(with_)
            beside = [self._facts_beside(file) for file in self._names]
        self._facts = facts[0]
        for name, fact, others in zip(self._names, facts, beside):
            _sets.check_type(name, "images", self._images, fact)
            for dataset, other in zip(self._further, others):
                _sets.check_type(name, "with_", dataset, other)
        self._known = [{name: (fact["shape"], fact["typestr"]) for name, fact in
                        ((self._images, first), *zip(self._further, others))}
                       for first, others in zip(facts, beside)]  # of each file
        self._layouts = [(fact["layout"], fact["chunk"]) for fact in facts]
        if not all(fact["shape"] for fact in facts):
            fail("images", f"'{self._images}' is a scalar, and has no samples")
        shape = list(facts[0]["shape"])
        shape[0] = sum(fact["shape"][0] for fact in facts)
        if 0 in shape:
            fail("images", f"'{self._images}' is of {_sets.times(shape)}, and has no samples")
        self._check_lengths()
        if len(self._files) > 1 and WITH[0] in self._further:
            _sets.warn_of_classes(self._names, self._files)
        n_all = self._count(shape)
        if indices is not None:
            _options.check_indices(indices, n_all)
        n_weighed = len(self._order.get("subset", range(n_all)))
        weights = self._order.get("weights", range(n_weighed))
        if len(weights) != n_weighed:
            fail("weights", f"there are {len(weights)}, and {n_weighed} samples")
        with self._named("order"):
            order = _native.Order(**self._order, shape=shape)
        self._n_samples = len(order)
        self._n_batches = -(-self._n_samples // self._batch_size)
        if not self._n_batches:
            _options.fail_empty(order.n_samples, self._order)

    def _check_lengths(self):
        """That what is read in step has a row for each sample, in each file, and that these go
        together."""
        for name, known in zip(self._names, self._known):
            _sets.check_alike(self._names[0], self._known[0], name, known)
            n = known[self._images][0][0]
            if n == 0:
                fail("path", f"'{os.fsdecode(name)}': '{self._images}' has no samples; leave the "
                             "file out")
            for dataset, (shape, _) in known.items():
                if not shape or shape[0] != n:
                    has = f"has {shape[0]}" if shape else "is a scalar"
                    fail("with_", f"'{os.fsdecode(name)}': '{dataset}' {has}, and "
                                  f"'{self._images}' has {n} samples: datasets in step are of one length")

    def _check_images(self, asked):
        """That what is asked to be made of them can be: a reader would refuse it later."""
        where = f"'{self._images}' of '{os.fsdecode(self._names[0])}'"
        box = self._order.get("box")
        if asked and box and box[0] != 1:
            fail("box", f"with {asked[0]} a sample is one image, and a box of {box[0]} along axis 0 "
                        "is none: 1 there, or no box")
        _options.check_channels(self._on_device[0], self._facts, where)
        if self._device:
            _cuda.check(self._facts, *self._on_device, self._layout, where)
        if not self._transform or "trace" in self._order:
            return
        try:
            with _hdf5.alone():
                _native.check_transform(self._names[0], self._images, self._transform, box)
        except (_native.ArgumentError, _native.UnsupportedError) as why:
            name = _options.transform_argument(why.param, asked)
            raise _about(name, type(why)(f"{where}: {why}")) from None

    def _count(self, shape):
        """Samples that there are to choose from: rows, boxes, or reads of a trace."""
        kept = {key: self._order[key] for key in COUNTED if key in self._order}
        if "trace" in kept:
            kept["order"] = self._order["order"]
        with self._named("order"):
            return _native.Order(**kept, shape=shape).n_samples

    @contextlib.contextmanager
    def _named(self, other=None):
        """As _named(); of a trace that is at fault its name is said, too."""
        try:
            with _named(other):
                yield
        except _native.Error as error:
            if "trace" not in self._order or error.param not in ("order", "box"):
                raise
            told, trace = str(error).partition(": ")[2], self._order["order"].partition(":")[2]
            raise _about("order", type(error)(f"'{trace}': {told}")) from None

    def _found(self, with_):
        if with_ is not WITH:
            return _options.names("with_", with_)
        return WITH if any(_sets.is_there(file, WITH[0]) for file in self._names) else ()

    def _facts_beside(self, file):
        """Of what is read in step."""
        try:
            return [_native.dataset(file, name) for name in self._further]
        except (_native.NotFoundError, _native.ArgumentError) as why:
            raise _about("with_", why) from None

    def _reset(self):
        """As nothing was read yet, in this process."""
        self._reader, self._is_hdf5 = None, False
        self._chunk_samples = None  # not known so far; 0: there are no chunks
        self._reader_at = None  # (epoch, batch) that it gives next
        self._start = (0, 0)  # (epoch, batch) where the next iteration begins
        self._asked = 0  # how often somebody said so
        self._at = (0, 0)  # (epoch, batches handed out)
        self._elsewhere = 0  # how often somebody said another place than that of the iteration
        self._make = None
        self._pins = self._mover = None
        self._warned = set()  # names of datasets
        self._turn = 0  # of iterations: the last that was begun may go on
        self._stats = _stats.Stats()
        self._locks = {}

    def _lock(self):
        """Of whoever takes a batch or moves the reader, in this process: in a forked one, that of
        the parent may be left as it was. Who has it may ask for it again, as a signal's handler."""
        pid = os.getpid()
        return self._locks.get(pid) or self._locks.setdefault(pid, threading.RLock())

    # -------------------------------------------------------------- epochs

    def __len__(self):
        """Batches of an epoch, of this rank."""
        return self._n_batches

    def __iter__(self):
        _check_worker()
        with self._lock():
            epoch, batch = self._start
            self._seek(epoch, batch)
            self._turn += 1
            self._at = (epoch, batch)
            return Iteration(self, epoch, batch, self._turn)

    def __getitem__(self, index):
        """No: what a DataLoader around a Loader asks for."""
        raise TypeError("a Loader gives batches in its own order and with threads of its own: "
                        "iterate over it, in place of a DataLoader around it")

    def set_epoch(self, epoch):
        """The next iteration reads this epoch, from its beginning. state_dict() says so from now
        on, whatever an iteration that is under way in another epoch still hands out."""
        epoch = _options.whole("epoch", epoch, most=EPOCH_MAX)
        self._elsewhere += epoch != self._at[0]
        self._at = self._start = (epoch, 0)
        self._asked += 1

    def state_dict(self):
        """Where it is: goes on from there in a loader with the same arguments, in another
        process, with exactly the batches that come next. Batches handed out count as done."""
        epoch, batch = self._at
        return {"epoch": epoch, "batches": batch, **self._identity()}

    def load_state_dict(self, state):
        """The next iteration goes on where state_dict() was called."""
        _options.check_state(state, self._identity(), LATER)
        epoch = _options.whole("state: epoch", state.get("epoch"), most=EPOCH_MAX)
        batch = _options.whole("state: batches", state.get("batches"), most=self._n_batches)
        self._at = (epoch, batch)
        self._start = (epoch, batch) if batch < self._n_batches else (epoch + 1, 0)
        self._elsewhere += 1
        self._asked += 1

    def _identity(self):
        own = {key: self._order[key] for key in ("order", "seed", "rank", "world", "drop_last")}
        drawn = {"indices": "subset", "weights": "weights", "trace": "trace"}
        box = self._order.get("box")
        return {**own, "batch_size": self._batch_size, "samples": self._n_samples,
                **{key: _options.checksum(self._order.get(name)) for key, name in drawn.items()},
                "box": None if box is None else list(box), "step": self._order.get("step"),
                "chunk": self._chunk()}

    def _chunk(self):
        """Samples of a chunk, where the order depends on them: of the first file that has some. Of
        a virtual dataset they are its sources', which a reader knows."""
        if not self._order["order"].startswith("block"):
            return None
        if self._chunk_samples is None:
            layout, chunk = next((one for one in self._layouts if one[1] or one[0] == "virtual"),
                                 (None, None))
            if layout != "virtual":
                self._chunk_samples = chunk[0] if chunk else 0
            elif self._reader is None:
                with _hdf5.alone():
                    self._open(*self._start).close()
        return self._chunk_samples or None

    # -------------------------------------------------------------- the reader

    def _seek(self, epoch, batch):
        """A reader that gives this batch next."""
        if self._reader is not None and self._reader.pid != os.getpid():
            self._reader = None  # the parent's, which left it here by forking
        if self._stats.pid != os.getpid():  # also where it had no reader
            self._stats = _stats.Stats()
        if self._is_at(epoch, batch) and not self._mover:
            return
        self.close()
        reader = self._open(epoch, batch)
        parts = range(1 + len(self._further))
        self._is_hdf5 = any(reader.info(part)["engine"] == "hdf5" for part in parts)
        self._reader = reader
        self._warn_of_missing([reader.info(part) for part in parts])  # which may raise
        if self._device:
            self._begin_moving()
        self._reader_at = (epoch, batch)

    def _warn_of_missing(self, infos):
        """Once: of samples that are fill values, since what they are made of is not there."""
        for dataset, info in zip((self._images, *self._further), infos):
            n = info["n_missing_sources"]
            if n and dataset not in self._warned:
                more = f" and {n - 1} more" if n > 1 else ""
                warnings.warn(
                    f"'{dataset}' is a virtual dataset, and '{info['missing_source']}'{more} that "
                    "it is made of cannot be found: those samples are fill values. `h5audit "
                    f"{os.fsdecode(self._files[0])}` names what is not there", stacklevel=4)
                self._warned.add(dataset)

    def _is_at(self, epoch, batch):
        """Whether this batch comes next, from the reader or from those on their way to a GPU."""
        batch += len(self._mover or ())
        at = (epoch, batch) if batch < self._n_batches else (epoch + 1, 0)
        return self._reader is not None and self._reader_at == at

    def _begin_moving(self):
        cuda = _cuda.Cuda(self._device)
        if self._pin:
            self._pins = _cuda.Pins(cuda, self._reader.info()["buffer_bytes"])
        self._mover = _cuda.Mover(cuda, _cuda.normalizer(
            cuda.torch, cuda.device, self._facts, *self._on_device, self._layout))

    def _open(self, epoch, batch):
        self._make = self._make or _out.maker(self._out, self._layout,
                                              len(self._facts["shape"]) == 4)
        with _hdf5.alone(), self._named():
            reader = _native.Reader(
                self._files, self._images, self._further, dict(self._order, epoch=epoch),
                transform=self._transform, position=batch * self._batch_size, n_epochs=EPOCHS,
                n_threads=self._threads, n_ahead=AHEAD, n_kept=_native.KEEP_ALL,
                memory_bytes=self._memory, strategy=self._strategy)
            try:
                self._check_unchanged(reader)
            except BaseException:
                reader.close()  # not only when nobody has the traceback any more
                raise
        return reader

    def _check_unchanged(self, reader):
        changed = self._changed() or (self._has_other_chunks(reader) and (
            self._names[0], self._images, "other chunks"))
        if changed:
            file, dataset, what = changed
            raise _native.ChangedError(
                f"'{os.fsdecode(file)}' is another file than when this loader was made: "
                f"'{dataset}' has {what}; make another loader for it")

    def _changed(self):
        """(file, dataset, what it has) of the first that is not as it was when this was made."""
        for name, file, known in zip(self._names, self._files, self._known):
            for dataset, (shape, kind) in known.items():
                now = _native.dataset(file, dataset)
                if now["shape"] != shape:
                    return name, dataset, "another shape"
                if now["typestr"] != kind:
                    return name, dataset, "another type"
        return None

    def _has_other_chunks(self, reader):
        """Than when this loader was made, or first opened: then the order is another."""
        if not self._order["order"].startswith("block"):
            return False
        known, now = self._chunk_samples, reader.info()["chunk_samples"]
        if known is None and not any(layout == "virtual" for layout, _ in self._layouts):
            known = self._chunk() or 0
        self._chunk_samples = now if known is None else known
        return self._chunk_samples != now

    def _next(self):
        """The next batch of the reader, as it is. Wherever Ctrl-C ends this, it is not known what
        the reader gives next, until another one is opened."""
        at, self._reader_at = self._reader_at, None
        try:
            if self._is_hdf5:
                with _hdf5.alone():
                    batch = self._reader.next()
            else:
                batch = self._reader.next()
        except _native.LimitError as why:
            self._reader_at = at
            raise self._too_many(why) from None
        except BaseException as why:
            if isinstance(why, _native.Error) and not isinstance(why, _native.Interrupted):
                self._reader_at = self._following(at)  # a damaged one is passed over
            else:
                self.close()  # of a signal's handler: it gives no more
            raise
        self._reader_at = self._following(at)
        if self._pins is not None:
            self._pins.add(batch.parts[0])
        return batch

    def _too_many(self, why):
        error = _native.LimitError(
            f"memory: {self._reader.info()['n_buffers']} batches fill {self._memory} bytes, and "
            "arrays show them still: let go of some, copy what is to stay, or give more memory")
        error.param = "memory"
        return error if why.param in ("n_kept", "memory_bytes") else why

    def _following(self, at):
        epoch, batch = at
        return (epoch + 1, 0) if batch + 1 == self._n_batches else (epoch, batch + 1)

    def close(self):
        """Ends the reader's threads; arrays that you have stay good. It can be iterated again. A
        thread that waits for a batch meanwhile gets RuntimeError; where HDF5 itself reads, it is
        waited for."""
        lock, reader = self._lock(), self._reader
        while not lock.acquire(timeout=CLOSING_S):
            reader = reader or self._reader
            if self._reader is not reader:
                return  # the thread that waited closed it, and may have opened another
            if reader is not None:
                reader.end_wait()
        try:
            with _hdf5.alone() if self._is_hdf5 else contextlib.nullcontext():
                self._close()
        finally:
            lock.release()

    def _close(self, when=None):
        """`when` is given what closes the reader, to call it."""
        self._reader_at = None
        if self._reader is not None and self._reader.pid == os.getpid():
            self._stats.close(self._reader)
            if self._mover is not None:
                self._mover.clear()
            if self._pins is not None:
                self._pins.release()
            if when is None:
                self._reader.close()
            else:
                when(self._reader.close)
        self._reader = self._reader_at = self._mover = self._pins = None

    def __del__(self):
        with contextlib.suppress(Exception):  # half made, or Python is ending
            self._close(_hdf5.when_alone if self._is_hdf5 else None)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    def __getstate__(self):
        kept = {**self.__dict__, "_stats": _stats.Stats(), "_locks": {}}
        for name in ("_reader", "_reader_at", "_make", "_pins", "_mover"):
            kept[name] = None
        return kept

    # -------------------------------------------------------------- what it does

    def stats(self):
        """A dictionary of what it has done so far: seconds in which the loop waited for batches
        and worked on them, batches, samples, and what the reader's threads did."""
        return self._stats.as_dict(self._reader)

    def advice(self):
        """One sentence: what limits, and what to change."""
        return _stats.advice(self.stats(), self)

    def log_to(self, writer, step=None, prefix="h5pack/"):
        """The numbers of stats() to a writer of TensorBoard, see h5pack.log_stats()."""
        _monitor.log_stats(writer, self.stats(), step, prefix)

    def __repr__(self):
        names = ", ".join(map(os.fsdecode, self._names))
        return (f"<h5pack.Loader of {names}: {self._n_samples} samples in {self._n_batches} "
                f"batches, {self._order['order']}>")


class Iteration:
    """The rest of one epoch."""

    def __init__(self, loader, epoch, batch, turn):
        self._loader, self._epoch, self._batch, self._turn = loader, epoch, batch, turn
        self._asked, self._elsewhere = loader._asked, loader._elsewhere
        self._left_ns = None

    def __iter__(self):
        return self

    def __len__(self):
        """Batches that are left."""
        return self._loader._n_batches - self._batch

    def __next__(self):
        with self._loader._lock():  # one thread after another: each batch is handed out once
            return self._step()

    def _step(self):
        loader = self._loader
        if self._batch == loader._n_batches:  # for good, as of any iterator
            raise StopIteration
        if loader._turn != self._turn:
            raise RuntimeError("this loader began another epoch since: one iteration at a time; "
                               "another Loader can be read beside it")
        asked_ns = time.perf_counter_ns()
        if not loader._is_at(self._epoch, self._batch):  # closed, or something was raised
            loader._seek(self._epoch, self._batch)
        made = self._take(loader)
        got_ns = time.perf_counter_ns()
        loader._stats.add(got_ns - asked_ns, asked_ns - self._left_ns if self._left_ns else 0,
                          made[0].shape[0])
        self._left_ns = got_ns
        return made

    def _take(self, loader):
        if loader._reader.pid != os.getpid():
            raise RuntimeError("this iteration was begun in the process that forked this one: "
                               "begin another here")
        try:
            made = (self._made if loader._mover is None else self._moved)(loader)
        except (_native.LimitError, _native.Interrupted):
            raise
        except _native.Error:
            self._pass(loader)
            raise
        self._pass(loader)
        return made

    def _made(self, loader):
        return loader._make(loader._next())

    def _moved(self, loader):
        """The next batch on the GPU, with copies of those behind it under way."""
        mover = loader._mover
        while self._batch + len(mover) < loader._n_batches and len(mover) <= _cuda.AHEAD:
            try:
                mover.start(self._made(loader))
            except _native.LimitError:
                if not len(mover):
                    raise
                break  # those on their way come first, and make room
            except _native.Interrupted:
                raise
            except _native.Error as error:
                mover.fail(error)
        return mover.take()

    def _pass(self, loader):
        if loader._asked == self._asked:  # nobody asked for a place since
            loader._start = (self._epoch + 1, 0)
        self._batch += 1
        if loader._elsewhere == self._elsewhere:
            loader._at = (self._epoch, self._batch)


def _extents(box):
    try:
        return tuple(_options.whole("box", extent) for extent in box)
    except TypeError:
        fail("box", f"{box!r} is no shape")


def _positive(name, number):
    try:
        value = operator.index(number)
    except TypeError:
        value = 0
    if value < 1:
        fail(name, f"{number!r} is no whole number above 0")
    return _options.whole(name, value)


def _check_worker():
    """Each worker of a DataLoader would give all of the samples."""
    data = sys.modules.get("torch.utils.data")
    worker = data.get_worker_info() if data is not None else None
    if worker is not None and worker.num_workers > 1:
        raise RuntimeError(
            f"this is worker {worker.id} of {worker.num_workers}, and each would give every "
            "sample: iterate over the Loader itself in place of a DataLoader, it has threads")


NAMES = {"memory_bytes": "memory", "n_threads": "threads", "files": "path", "file": "path",
         "dataset": "images", "further": "with_", "batch": "batch_size", "slide": "order",
         "box": "box", "rank": "rank", "weights": "weights", "subset": "indices"}


@contextlib.contextmanager
def _named(other=None):
    """A parameter of the reader or its order is an argument of the loader; all else is `other`."""
    try:
        yield
    except _native.Error as error:
        name = NAMES.get(error.param, other)
        if name is None:
            raise
        raise _about(name, error) from None


def _about(name, error):
    """The same error, of an argument."""
    named = type(error)(f"{name}: {error}")
    named.param = name
    return named
