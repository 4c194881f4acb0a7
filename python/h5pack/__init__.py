"""Batches from HDF5 files in the order of a training, made by libpack's threads.

    import h5pack

    for images, labels in h5pack.Loader("train.h5", 256):
        ...
"""
from h5pack import _native
from h5pack._images import Images
from h5pack._jobs import JobError, Report, advise, audit, facts, pack
from h5pack._loader import Loader
from h5pack._monitor import log_stats, prometheus, write_prometheus
from h5pack._native import (
    ArgumentError,
    ChangedError,
    Error,
    ExistsError,
    FormatError,
    Interrupted,
    LimitError,
    MemoryLimitError,
    MismatchError,
    NotFoundError,
    ReadError,
    UnsupportedError,
)
from h5pack._record import record
from h5pack._sampler import BlockSampler

__version__ = _native.version
__all__ = [
    "ArgumentError",
    "BlockSampler",
    "ChangedError",
    "Error",
    "ExistsError",
    "FormatError",
    "Images",
    "Interrupted",
    "JobError",
    "LimitError",
    "Loader",
    "MemoryLimitError",
    "MismatchError",
    "NotFoundError",
    "ReadError",
    "Report",
    "UnsupportedError",
    "advise",
    "audit",
    "facts",
    "log_stats",
    "pack",
    "prometheus",
    "record",
    "write_prometheus",
]
