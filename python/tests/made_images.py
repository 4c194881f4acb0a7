"""Folders of images and files packed of them, for the tests."""
import functools
import os
import tempfile
import unittest

import h5pack
from h5pack import _selftest

_kept = tempfile.TemporaryDirectory(prefix="h5pack-made.")


@functools.lru_cache(maxsize=None)
def photos():
    """(a folder of class folders, their pixels)."""
    folder = os.path.join(_kept.name, "photos")
    return folder, _selftest.render(folder)


@functools.lru_cache(maxsize=None)
def packed(**options):
    """A file packed of photos() with these options."""
    try:
        h5pack._jobs.find("h5pack")
    except h5pack.Error as why:
        raise unittest.SkipTest(str(why)) from None
    path = os.path.join(_kept.name, "-".join(map(str, options.values())) + "made.h5")
    h5pack.pack(photos()[0], output=path, progress=False, force=True, **options)
    return path


def need(*modules):
    """Skips the test where one of the modules is not installed."""
    for name in modules:
        try:
            __import__(name)
        except ImportError as why:
            raise unittest.SkipTest(str(why)) from None


def raises(kind, call, *words):
    """The exception of that kind that call() raises, whose text holds all of the words."""
    try:
        call()
    except kind as why:
        for word in words:
            assert word in str(why), str(why)
        return why
    raise AssertionError(f"no {kind.__name__} was raised")
