"""Files for the tests, and what h5py reads from them."""
import unittest

import numpy

try:
    import h5py
except ImportError:
    raise unittest.SkipTest("no h5py here") from None

N, SIDE = 103, 8


def images(n=N, side=SIDE, seed=0):
    return numpy.random.default_rng(seed).integers(0, 256, (n, side, side + 1, 3), numpy.uint8)


def write(path, seed=0, n=N, **how):
    """images N x 8 x 9 x 3, labels, and others; returns the images."""
    how.setdefault("chunks", (4, SIDE, SIDE + 1, 3))
    pixels = images(n, seed=seed)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=pixels, **how)
        file["labels"] = numpy.arange(n) + 1000 * seed
        file.create_dataset("volume", data=numpy.arange(n * 60, dtype=">f4").reshape(n, 60),
                            chunks=(7, 60))
        file["names"] = numpy.array([b"%d" % i for i in range(n)])
    return pixels


def write_virtual(folder):
    """x.h5 as write() makes it, and v.h5, of which HDF5 itself has to read the images of x.h5."""
    write(folder / "x.h5")
    with h5py.File(folder / "v.h5", "w") as file:
        layout = h5py.VirtualLayout((N, SIDE, SIDE + 1, 3), "u1")
        source = h5py.VirtualSource("x.h5", "images", (N, SIDE, SIDE + 1, 3))
        layout[:, :4] = source[:, :4]  # no whole samples
        layout[:, 4:] = source[:, 4:]
        file.create_virtual_dataset("images", layout)
        file["labels"] = numpy.arange(N)


def take(loader):
    """An epoch as NumPy arrays of its own: images, labels."""
    parts = [tuple(numpy.array(part) for part in batch) for batch in loader]
    return tuple(numpy.concatenate(column) for column in zip(*parts))


def raised(kind, call, *args, **kwargs):
    """What it says, having raised that."""
    try:
        call(*args, **kwargs)
    except kind as why:
        return str(why)
    raise AssertionError(f"no {kind.__name__} was raised")
