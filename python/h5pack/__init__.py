"""Batches from HDF5 files in the order of a training, made by libpack's threads."""
from h5pack import _native
from h5pack._native import Error

__version__ = _native.version
__all__ = ["Error"]
