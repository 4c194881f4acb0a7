"""BlockSampler: the order that reads every chunk once, for a DataLoader over h5py."""
import array
import os
from collections.abc import Iterator, Mapping
from typing import Any

from h5pack import _hdf5, _native, _options

DATASETS = ("images", "data")
LATER = ("chunk", "drop_last")  # in a state that h5pack 0.1.0 did not always write


def _look(file, dataset):
    """Name and facts of the dataset: `dataset`, else the first of those that h5pack writes."""
    missing = None
    if not isinstance(file, (str, bytes, os.PathLike)):
        _options.fail("file", f"{file!r} is no path")
    path, = _options.paths(file)
    for name in (dataset,) if dataset is not None else DATASETS:
        try:
            with _hdf5.alone():
                return name, _native.dataset(path, _options.name("dataset", name))
        except _native.NotFoundError as why:
            missing = missing or why
    raise missing


class BlockSampler:
    """Batches for DataLoader(batch_sampler=...) in which each worker has chunks of its own.

        sampler = h5pack.BlockSampler("train.h5", 256, workers=8)
        loader = DataLoader(h5pack.Images("train.h5"), batch_sampler=sampler, num_workers=8)
        for epoch in range(90):
            sampler.set_epoch(epoch)
            for images, labels in loader: ...

    In a plain shuffle each worker of a DataLoader reads nearly every chunk. Here chunks are dealt
    to the workers: batch i is drawn from a pool of `chunks` chunks of worker i mod workers, which
    gets that batch from the DataLoader. Where its cache holds a pool (.rdcc_nbytes), each chunk is
    read once an epoch, over all workers and ranks. It is the order of "block:chunks=32,local" in
    h5pack-chunks(7), drawn by the same code from (seed, epoch).

    file        what is read
    batch_size  samples in a batch; the last of an epoch may be short: drop_last leaves it out, and
                is refused where there would be no other
    workers     the DataLoader's num_workers; 0: it reads by itself
    dataset     path of the dataset; by default images, else data
    chunks      chunks in the pool of each worker: more mix better and need more memory
    rank, world as of h5pack.Loader; "auto" finds them

    Iterating gives lists of batch_size whole numbers, 0 to N - 1; len() is the number of batches
    in an epoch of this rank. A contiguous dataset has chunks of one sample.
    """

    chunk_bytes: int  # of one chunk, decoded
    rdcc_nbytes: int  # a chunk cache that holds the pool of a worker

    def __init__(self, file: str | os.PathLike, batch_size: int, *, workers: int,
                 dataset: str | None = None, chunks: int = 32, seed: int = 0,
                 rank: int | str | None = None, world: int | None = None,
                 drop_last: bool = False) -> None:
        dataset, facts = _look(file, dataset)
        if 0 in facts["shape"] or not facts["shape"]:
            _options.fail("dataset", f"'{os.fsdecode(file)}': '{dataset}' has no samples")
        chunk = facts["chunk"] or (1, *facts["shape"][1:])
        rank, world = _options.rank_of(rank, world)
        self._batch_size = _options.whole("batch_size", batch_size, 1, _options.COUNT_MAX)
        self._drop_last = _options.flag("drop_last", drop_last)
        workers = max(1, _options.whole("workers", workers, most=_options.COUNT_MAX))
        chunks, seed = _options.whole("chunks", chunks, 1), _options.whole("seed", seed)
        self._drawn_from = dict(
            shape=list(facts["shape"]), order=f"block:chunks={chunks},local",
            chunk_samples=chunk[0], seed=seed, rank=rank, world=world,
            batch=self._batch_size, drop_last=self._drop_last, dealt=workers)
        self._order = _native.Order(**self._drawn_from)
        if not len(self._order):
            _options.fail_empty(self._order.n_samples, self._drawn_from)
        self._identity = {"seed": seed, "batch_size": self._batch_size, "rank": rank,
                          "world": world, "workers": workers, "chunks": chunks,
                          "n_samples": facts["shape"][0], "chunk": chunk[0],
                          "drop_last": self._drop_last}
        self._epoch = self._first = self._batch = 0  # the next iteration's first; those asked for
        self._drawn = (0, 0)  # (epoch, batch) that the order gives next
        samples = 1
        for extent in chunk:
            samples *= extent
        element = facts["logical_bytes"] // max(1, _product(facts["shape"]))
        self.chunk_bytes = samples * element
        self.rdcc_nbytes = (chunks + 1) * self.chunk_bytes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_order": None, "_drawn": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._order = _native.Order(**self._drawn_from)

    def __len__(self) -> int:
        """Batches in an epoch of this rank."""
        return -(-len(self._order) // self._batch_size)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration begins this epoch, whose order is its own."""
        self._epoch, self._first, self._batch = _options.whole("epoch", epoch), 0, 0

    def __iter__(self) -> Iterator[list[int]]:
        """Lists of sample numbers; after load_state_dict() from there on, once."""
        epoch, first = self._epoch, self._first
        self._first, self._batch = 0, first
        for batch in range(first, len(self)):
            self._batch = batch + 1
            yield self._draw(epoch, batch)
            if self._epoch != epoch:
                return

    def _draw(self, epoch, batch):
        if self._drawn != (epoch, batch):  # as when two iterations take turns
            self._order.seek(epoch, batch * self._batch_size)
        self._drawn = None  # it is not known while this may be interrupted
        numbers = array.array("Q")
        numbers.frombytes(self._order.samples(self._batch_size))
        self._drawn = (epoch, batch + 1)
        return numbers.tolist()

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Where it is: {"epoch", "batch", and what it was made with}.

        batches  how many of the epoch the training has used. A DataLoader asks ahead, so that
                 without it the state is that of the batches asked for (torchdata's
                 StatefulDataLoader counts by itself).
        """
        batch = self._batch if batches is None else _options.whole("batches", batches,
                                                                   most=len(self))
        return {"epoch": self._epoch, "batch": batch, **self._identity}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where state_dict() was; behind the last batch that is the end of its epoch, and
        set_epoch() begins another. Raises ArgumentError for that of another order."""
        _options.check_state(state, self._identity, LATER)
        batch = _options.whole("state: batch", state.get("batch"), most=len(self))
        self._epoch = _options.whole("state: epoch", state.get("epoch"))
        self._batch = self._first = batch


def _product(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product
