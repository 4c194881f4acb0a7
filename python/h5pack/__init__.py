"""Batches from HDF5 files in the order of a training, made by libpack's threads.

    import h5pack

    for images, labels in h5pack.Loader("train.h5", 256):
        ...
"""
from h5pack import _native
from h5pack._loader import Loader
from h5pack._native import (
    ArgumentError,
    ChangedError,
    Error,
    ExistsError,
    FormatError,
    InterruptedError,
    LimitError,
    MemoryLimitError,
    MismatchError,
    NotFoundError,
    ReadError,
    UnsupportedError,
)

__version__ = _native.version
__all__ = [
    "ArgumentError",
    "ChangedError",
    "Error",
    "ExistsError",
    "FormatError",
    "InterruptedError",
    "LimitError",
    "Loader",
    "MemoryLimitError",
    "MismatchError",
    "NotFoundError",
    "ReadError",
    "UnsupportedError",
]
