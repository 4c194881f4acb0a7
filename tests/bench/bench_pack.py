"""
Packing speed of h5pack beside a floor and two peers, in one run:

  floor   reads and decodes the same files with libjpeg-turbo on as many threads, nothing else
  pillow1 Pillow + h5py in one process, whole-image chunks
  pillow2 the same with two processes that decode and one that writes

All pack the same list with shorter side 256, bilinear, crop 224, uncompressed; a round runs each
once, in turn; medians and spread (min to max) over the rounds. The final sync of the file is told
apart. Usage: bench_pack.py BUILD PHOTOS [N_IMAGES [ROUNDS [THREADS]]]
"""
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy
import PIL
from PIL import Image, ImageOps

SHORTER, CROP = 256, 224


def sample(path):
    image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    w, h = image.size
    size = (SHORTER, int(SHORTER * h / w)) if w <= h else (int(SHORTER * w / h), SHORTER)
    image = image.resize(size, Image.BILINEAR)
    x, y = round((size[0] - CROP) / 2.0), round((size[1] - CROP) / 2.0)
    return numpy.asarray(image.crop((x, y, x + CROP, y + CROP)))


def write(samples, n, out):
    started = time.perf_counter()
    with h5py.File(out, "w") as f:
        images = f.create_dataset("images", (n, CROP, CROP, 3), "u1", chunks=(1, CROP, CROP, 3))
        for i, pixels in enumerate(samples):
            images[i] = pixels
    outside = time.perf_counter() - started
    fd = os.open(out, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return outside, time.perf_counter() - started


def pillow1(paths, out):
    return write(map(sample, paths), len(paths), out)


def pillow2(paths, out):
    with multiprocessing.Pool(2) as pool:
        return write(pool.imap(sample, paths, chunksize=8), len(paths), out)


def h5pack(build, listing, out, threads):
    with open(listing, "rb") as paths:
        text = subprocess.run(
            [f"{build}/tools/h5pack", "--list", "-", "--shorter", str(SHORTER), "--crop", str(CROP),
             "--threads", str(threads), "--json", "-o", out],
            stdin=paths, check=True, capture_output=True).stdout
    measured = json.loads(text)["measured"]
    return (measured["elapsed_ns"] - measured["sync_ns"]) / 1e9, measured["elapsed_ns"] / 1e9


def floor(build, listing, threads):
    seconds = float(subprocess.run([f"{build}/tests/bench/decode_floor", str(threads), listing],
                                   check=True, capture_output=True).stdout)
    return seconds, seconds


def main():
    build, photos = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    threads = int(sys.argv[5]) if len(sys.argv) > 5 else 2
    found = sorted(os.path.join(folder, name) for folder, _, names in os.walk(photos)
                   for name in names if name.lower().endswith((".jpg", ".jpeg")))
    if not found:
        sys.exit(f"no photos in {photos}")
    paths = [os.path.abspath(found[i % len(found)]) for i in range(n)]
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        listing = os.path.join(folder, "list")
        with open(listing, "w") as f:
            f.writelines(path + "\n" for path in paths)
        contestants = {
            "floor": lambda out: floor(build, listing, threads),
            "h5pack": lambda out: h5pack(build, listing, out, threads),
            "pillow1": lambda out: pillow1(paths, out),
            "pillow2": lambda out: pillow2(paths, out),
        }
        for _ in range(rounds):
            for name, run in contestants.items():
                out = os.path.join(folder, name + ".h5")
                seconds.setdefault(name, []).append(run(out))
                if name in ("h5pack", "pillow1") and len(seconds[name]) == 1:
                    with h5py.File(out) as f:
                        checksum = f["images"][: min(n, 200)].sum(dtype="u8")
                    seconds.setdefault("sums", []).append(checksum)
                if os.path.exists(out):
                    os.unlink(out)
    sums = seconds.pop("sums")
    print(f"packing {n} photos ({len(found)} different), {threads} threads, {rounds} rounds, "
          f"{platform.machine()}, {os.cpu_count()} processors, Pillow {PIL.__version__}, "
          f"h5py {h5py.__version__}")
    print(f"{'':8} {'images/s':>9} {'min':>7} {'max':>7}   {'with sync':>9} {'min':>7} {'max':>7}")
    median = {}
    for name, pairs in seconds.items():
        cells = []
        for k in range(2):
            rates = [n / pair[k] for pair in pairs]
            median[name, k] = statistics.median(rates)
            cells.append(f"{median[name, k]:9.0f} {min(rates):7.0f} {max(rates):7.0f}")
        print(f"{name:8} {cells[0]}   {cells[1]}")
    for other, wanted in (("floor", 0.75), ("pillow2", 2.0), ("pillow1", 3.5)):
        print(f"h5pack / {other:8} {median['h5pack', 0] / median[other, 0]:5.2f}   "
              f"with sync {median['h5pack', 1] / median[other, 1]:5.2f}   wanted {wanted}")
    print("pixels of the first images agree with Pillow's" if sums[0] == sums[1]
          else "PIXELS DIFFER FROM PILLOW'S")


if __name__ == "__main__":
    main()
