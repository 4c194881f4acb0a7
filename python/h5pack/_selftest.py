"""python -m h5pack selftest: every part once, on images made here."""
import os
import struct
import tempfile
import zlib

import numpy

import h5pack

CLASSES, EACH, SIDE = 3, 7, 24


def png(pixels):
    """An RGB image, uint8 height x width x 3, as a file of PNG."""
    height, width, _ = pixels.shape

    def part(kind, data):
        return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">LLBBBBB", width, height, 8, 2, 0, 0, 0))
            + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


def render(folder):
    """CLASSES folders of EACH noisy images; the pixels, in the order of their names."""
    random = numpy.random.default_rng(1)
    pixels = random.integers(0, 256, (CLASSES * EACH, SIDE, SIDE, 3), numpy.uint8)
    for number, image in enumerate(pixels):
        place = os.path.join(folder, f"class{number // EACH}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"{number:03}.png"), "wb") as file:
            file.write(png(image))
    return pixels


def _pack(folder, path):
    report = h5pack.pack(folder, output=path, chunk=2, compress="gzip:1", progress=False)
    assert report["result"]["packed"] == CLASSES * EACH and report.status == 0
    return f"{CLASSES * EACH} images packed into {report['result']['file_bytes']} bytes"


def _audit(path):
    report = h5pack.audit(path, verify=True, progress=False)
    assert report.status == 0, report.remarks
    return "the file is whole"


def _advise(path):
    report = h5pack.advise(path, no_measure=True, progress=False)
    return f"{len(report['result']['rows'])} ways of reading compared"


def _load(path, pixels):
    seen = []
    for images, labels in h5pack.Loader(path, 4, out="numpy", threads=2, memory="64M"):
        for image, label in zip(images, labels):
            number = int(numpy.flatnonzero((pixels == image).all((1, 2, 3)))[0])
            assert number // EACH == label
            seen.append(number)
    assert sorted(seen) == list(range(len(pixels)))
    return f"an epoch of {len(seen)} samples, each once, with its label"


def _sample(path, pixels):
    sampler = h5pack.BlockSampler(path, 4, workers=2, chunks=3)
    images = h5pack.Images(path)
    numbers = [number for batch in sampler for number in batch]
    assert sorted(numbers) == list(range(len(pixels)))
    assert all((images[number][0] == pixels[number]).all() for number in numbers)
    images.close()
    return "the same by h5py, in blocks"


def main():
    """Prints a line for each part; 0, or 1 when one does not work."""
    status = 0
    with tempfile.TemporaryDirectory(prefix="h5pack-selftest.") as folder:
        photos, path = os.path.join(folder, "photos"), os.path.join(folder, "t.h5")
        pixels = render(photos)
        parts = [("pack", lambda: _pack(photos, path)), ("audit", lambda: _audit(path)),
                 ("advise", lambda: _advise(path)), ("Loader", lambda: _load(path, pixels)),
                 ("Images", lambda: _sample(path, pixels))]
        for name, part in parts:
            try:
                print(f"ok      {name:8} {part()}")
            except ImportError as why:
                print(f"skipped {name:8} {why}")
            except Exception as why:
                status = 1
                print(f"FAILED  {name:8} {type(why).__name__}: {why}")
    return status
