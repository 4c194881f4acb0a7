"""Images: samples of an HDF5 file by their numbers, for a DataLoader over h5py."""
import contextlib
import errno
import operator
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from h5pack import _native, _options

WITH = ("labels",)
POOL_CHUNKS = 33  # those of a BlockSampler's pool, and one
CACHE_MAX_BYTES = 1 << 30


def cache_of(chunk_samples, chunk_bytes, is_filtered):
    """What h5py.File is to be opened with, for chunks of h5pack's files.

    Without filters HDF5 reads only the rows that are wanted from a chunk that does not fit its
    cache, so that none is best; a chunk of one sample is never wanted twice. A filtered chunk of
    several samples is decoded as a whole, and kept until the others have been asked for.
    """
    if not is_filtered or chunk_samples == 1:
        return {"rdcc_nbytes": 0}
    chunks = max(1, min(POOL_CHUNKS, CACHE_MAX_BYTES // max(1, chunk_bytes)))
    return {"rdcc_nbytes": chunks * chunk_bytes, "rdcc_nslots": 100 * chunks + 1, "rdcc_w0": 1.0}


def _is_there(file, name):
    """Whatever it is: what h5py cannot follow, as links that lead in a circle, is there as well."""
    try:
        return name in file
    except RuntimeError:
        return True


def _shown(selection):
    """"7", "8 to 10", "2, 5, 9"."""
    if isinstance(selection, slice):
        return f"{selection.start} to {selection.stop - 1}"
    numbers = numpy.atleast_1d(selection).tolist()
    return ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")


class Images:
    """A map-style dataset over a file of h5pack: ds[i] is (image, label).

        ds = h5pack.Images("train.h5", transform=to_float)
        loader = DataLoader(ds, 256, shuffle=True, num_workers=8)

    path              the file, opened by each process when it first reads, and read by h5py; a
                      relative one is that of the folder in which this is made
    images            path of the dataset: uint8 N x H x W x C, or any other of numbers
    with_             paths of datasets read in step, one number or row for each image; the default
                      is left out where it is not there
    transform         called with an image as a NumPy array of H x W x C, gives what is in its place
    target_transform  likewise with what comes from the first of with_, as a NumPy number
    rdcc_nbytes       HDF5's chunk cache in each process; by default what suits the file: none for
                      chunks without filters or of one sample, else that of a BlockSampler's pool

    ds[i] is a tuple of what images and with_ have, without with_ an array alone. A DataLoader asks
    for whole batches by __getitems__, which is one read of each dataset. Arrays belong to the
    caller. It can be pickled, for spawned workers: the file is opened anew there. What cannot be
    read is NotFoundError, FormatError, ReadError or ChangedError, with the file's name.
    """

    shape: tuple[int, ...]  # of the dataset, N first
    classes: list[str] | None  # their names, by label
    mean: numpy.ndarray | None  # float64 of each channel, of values 0 to 255
    std: numpy.ndarray | None

    def __init__(self, path: str | os.PathLike, *, images: str = "images",
                 with_: str | Sequence[str] | None = WITH,
                 transform: Callable[[Any], Any] | None = None,
                 target_transform: Callable[[Any], Any] | None = None,
                 rdcc_nbytes: int | None = None) -> None:
        self._name = _options.one_path("path", path)
        self._path, self._images = os.fspath(path), _options.name("images", images)
        for name, given in ("transform", transform), ("target_transform", target_transform):
            if given is not None and not callable(given):
                _options.fail(name, f"{given!r} is no function of a sample")
        self._absolute = _options.absolute(self._path)
        self.transform, self.target_transform = transform, target_transform
        self._file = self._process = self._datasets = None
        self._cache = {"rdcc_nbytes": 0}
        with self._opened() as file, self._told("it"):
            self._look(file, with_, rdcc_nbytes)

    def _opened(self):
        import h5py

        try:
            return h5py.File(self._absolute, "r", **self._cache)
        except OSError as why:
            raise self._error(f"cannot open '{self._name}'", why, "h5audit says more") from why

    def _error(self, what, why, remedy):
        """Of what h5py raised, whose own sentence names no file."""
        if why.errno == errno.EAGAIN:  # of HDF5's lock
            return _native.ReadError(f"{what}: another program has it open for writing")
        if why.errno is not None:
            kind = _native.NotFoundError if isinstance(why, FileNotFoundError) else _native.ReadError
            return kind(f"{what}: {os.strerror(why.errno)}")
        return _native.FormatError(f"{what}: {' '.join(str(why).split())}; {remedy}")

    @contextlib.contextmanager
    def _told(self, what):
        """Reading `what` of the file."""
        try:
            yield
        except _native.Error:
            raise
        except OSError as why:
            raise self._error(f"'{self._name}': cannot read {what}", why,
                              "h5audit --verify says what is damaged") from why

    def _look(self, file, with_, rdcc_nbytes):
        dataset = self._found(file, self._images)
        self.shape, self.dtype = dataset.shape, dataset.dtype
        names = ()
        with contextlib.suppress(KeyError, RuntimeError):  # a link to nowhere
            found = file["class_names"]
            names = found[()] if getattr(found, "shape", None) else ()
        self.classes = [name.decode("utf-8", "replace") for name in names
                        if isinstance(name, bytes)] or None
        self.mean, self.std = (None if key not in dataset.attrs else dataset.attrs[key]
                               for key in ("mean", "std"))
        if with_ is WITH:
            with_ = tuple(name for name in WITH if _is_there(file, name))
        self._with = _options.names("with_", with_)
        for name in self._with:
            n_rows = len(self._found(file, name))
            if n_rows != len(dataset):
                _options.fail("with_", f"'{self._name}': '{name}' has {n_rows}, and "
                                       f"'{self._images}' has {len(dataset)} samples: datasets in "
                                       "step are of one length")
        self._check_filters(dataset)
        chunk = dataset.chunks
        if rdcc_nbytes is not None:
            self._cache = {"rdcc_nbytes": _options.whole("rdcc_nbytes", rdcc_nbytes)}
        elif chunk is not None:
            size = int(numpy.prod(chunk)) * dataset.dtype.itemsize
            filtered = dataset.id.get_create_plist().get_nfilters() > 0
            self._cache = cache_of(chunk[0], size, filtered)

    def _found(self, file, name):
        """A dataset that has samples."""
        if not _is_there(file, name):
            raise _native.NotFoundError(f"'{self._name}' has no dataset '{name}'")
        try:
            found = file[name]
        except (KeyError, RuntimeError) as why:
            raise _native.NotFoundError(
                f"'{self._name}': '{name}' is there, and cannot be opened, as a link to nowhere: "
                f"{why.args[0]}") from why
        if not hasattr(found, "dtype"):
            raise _native.ArgumentError(f"'{self._name}': '{name}' is a group, not a dataset")
        if not found.shape:  # a single value, or none
            raise _native.ArgumentError(f"'{self._name}': '{name}' has no samples")
        return found

    def _check_filters(self, dataset):
        import h5py

        made = dataset.id.get_create_plist()
        for i in range(made.get_nfilters()):
            number, _, _, name = made.get_filter(i)
            if not h5py.h5z.filter_avail(number):
                raise _native.UnsupportedError(
                    f"'{self._name}': {self._images} needs filter {number} "
                    f"({name.decode('utf-8', 'replace')}), which h5py's HDF5 has not: import "
                    "hdf5plugin first, or read it with h5pack.Loader")

    def __getstate__(self):
        return {**self.__dict__, "_file": None, "_process": None, "_datasets": None}

    def _read(self, selection):
        """Of each dataset; the file is that of this process, not one inherited by fork."""
        if self._process != os.getpid():
            self._begin(self._opened())
        parts = []
        for dataset, name in zip(self._datasets, (self._images, *self._with)):
            with self._told(f"'{name}', samples {_shown(selection)}"):
                parts.append(dataset[selection])
        return parts

    def _begin(self, file):
        try:
            with self._told("it"):
                datasets = [self._found(file, name) for name in (self._images, *self._with)]
            for name, dataset in zip((self._images, *self._with), datasets):
                if len(dataset) != len(self) or (name == self._images and (
                        dataset.shape, dataset.dtype) != (self.shape, self.dtype)):
                    raise _native.ChangedError(
                        f"'{self._name}' is another file than when this was made: '{name}' has "
                        "another shape or type; make another Images for it")
        except BaseException:
            file.close()
            raise
        self._file, self._datasets, self._process = file, datasets, os.getpid()

    def close(self) -> None:
        """Closes the file, if this process has it open; a later read opens it again."""
        if self._process == os.getpid():
            self._file.close()
        self._file = self._process = self._datasets = None

    def __len__(self) -> int:
        return self.shape[0]

    def _number(self, index):
        try:
            number = operator.index(index)
        except TypeError:
            raise TypeError(f"{index!r} is no number of a sample") from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"{number} is none of {len(self)} samples")
        return number % len(self)

    def _sample(self, parts):
        image, *targets = parts
        if self.transform is not None:
            image = self.transform(image)
        if targets and self.target_transform is not None:
            targets[0] = self.target_transform(targets[0])
        return (image, *targets) if targets else image

    def __getitem__(self, index: int) -> Any:
        return self._sample(self._read(self._number(index)))

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """The samples of a batch, in the order of `indices`, by one read of each dataset."""
        numbers = [self._number(index) for index in indices]
        if not numbers:
            return []
        wanted, place = numpy.unique(numbers, return_inverse=True)
        if wanted[-1] - wanted[0] + 1 == len(wanted):
            rows = self._read(slice(int(wanted[0]), int(wanted[-1]) + 1))
        else:
            rows = self._read(wanted)
        if len(wanted) < len(numbers):  # those asked for twice do not share memory
            rows, place = [part[place] for part in rows], numpy.arange(len(numbers))
        return [self._sample([part[i] for part in rows]) for i in place.reshape(-1)]

    def __repr__(self):
        return f"h5pack.Images({self._path!r}, {len(self)} of {'x'.join(map(str, self.shape[1:]))})"
