"""
Packing speed of h5pack beside floors and peers, in one run:

  floor   reads and decodes the same files with libjpeg-turbo on as many threads, nothing else
  floor-z the same, and compresses a sample of each with zstd 1, written nowhere
  h5pack  uncompressed; h5pack-z with --compress zstd:1
  pillow1 Pillow + h5py in one process, whole-image chunks
  pillow2 the same with two processes that decode and one that writes

All pack the same list with shorter side 256, bilinear, crop 224; a round runs each once, in
turn; medians and spread (min to max) over the rounds. The final sync of the file is told
apart, and the most memory that waited to be written while h5pack ran (/proc/meminfo: Dirty and
Writeback, above what was there before). Usage: bench_pack.py BUILD PHOTOS [N_IMAGES [ROUNDS
[THREADS [CONTESTANT,...]]]]
"""
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
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


def unwritten():
    with open("/proc/meminfo") as f:
        return sum(int(line.split()[1]) for line in f
                   if line.startswith(("Dirty:", "Writeback:"))) << 10


class Unwritten(threading.Thread):
    """Watches the memory that waits to be written."""

    def __init__(self):
        super().__init__()
        self.before = self.most = unwritten()
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(0.02):
            self.most = max(self.most, unwritten())

    def end(self):
        self.done.set()
        self.join()
        return self.most - self.before


waiting = {}


def h5pack(build, listing, out, threads, *options):
    watch = Unwritten()
    watch.start()
    with open(listing, "rb") as paths:
        text = subprocess.run(
            [f"{build}/tools/h5pack", "--list", "-", "--shorter", str(SHORTER), "--crop", str(CROP),
             "--threads", str(threads), "--json", "-o", out, *options],
            stdin=paths, check=True, capture_output=True).stdout
    waiting.setdefault(" ".join(options), []).append(watch.end())
    measured = json.loads(text)["measured"]
    return (measured["elapsed_ns"] - measured["sync_ns"]) / 1e9, measured["elapsed_ns"] / 1e9


def floor(build, listing, threads, *codec):
    seconds = float(subprocess.run(
        [f"{build}/tests/bench/decode_floor", str(threads), listing, *codec],
        check=True, capture_output=True).stdout)
    return seconds, seconds


def first_samples(build, listing, folder, n, threads):
    """The first n samples in a file of their own."""
    out, raw = os.path.join(folder, "first.h5"), os.path.join(folder, "first.raw")
    h5pack(build, listing, out, threads, "--limit", str(n))
    with h5py.File(out) as f:
        f["images"][:].tofile(raw)
    os.unlink(out)
    waiting.clear()
    return raw


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
    sums = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("PACK_DIR")) as folder:
        listing = os.path.join(folder, "list")
        with open(listing, "w") as f:
            f.writelines(path + "\n" for path in paths)
        raw = first_samples(build, listing, folder, min(n, len(found)), threads)
        codec = ("1", raw, str(CROP * CROP * 3))
        contestants = {
            "floor": lambda out: floor(build, listing, threads),
            "floor-z": lambda out: floor(build, listing, threads, *codec),
            "h5pack": lambda out: h5pack(build, listing, out, threads),
            "h5pack-z": lambda out: h5pack(build, listing, out, threads, "--compress", "zstd:1"),
            "pillow1": lambda out: pillow1(paths, out),
            "pillow2": lambda out: pillow2(paths, out),
        }
        if len(sys.argv) > 6:
            contestants = {name: contestants[name] for name in sys.argv[6].split(",")}
        for _ in range(rounds):
            for name, run in contestants.items():
                out = os.path.join(folder, name + ".h5")
                seconds.setdefault(name, []).append(run(out))
                if name in ("h5pack", "pillow1") and name not in sums:
                    with h5py.File(out) as f:
                        sums[name] = f["images"][: min(n, 200)].sum(dtype="u8")
                if os.path.exists(out):
                    os.unlink(out)
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
    for name, other, wanted in (("h5pack", "floor", 0.85), ("h5pack-z", "floor-z", 0.9),
                                ("h5pack", "pillow2", 2.0), ("h5pack", "pillow1", 3.5)):
        if name not in seconds or other not in seconds:
            continue
        ratios = [[b[k] / a[k] for a, b in zip(seconds[name], seconds[other])] for k in range(2)]
        told = [f"{statistics.median(r):5.2f} ({min(r):.2f} to {max(r):.2f})" for r in ratios]
        print(f"{name:8} / {other:8} {told[0]}   with sync {told[1]}   wanted {wanted}")
    for name, options in (("h5pack", ""), ("h5pack-z", "--compress zstd:1")):
        if name not in seconds:
            continue
        syncs = [1 - pair[0] / pair[1] for pair in seconds[name]]
        print(f"{name:8} syncs for {statistics.median(syncs):.3f} of the run "
              f"(max {max(syncs):.3f}); at most {max(waiting[options]) >> 20} MiB waited "
              f"to be written")
    if len(sums) == 2:
        print("pixels of the first images agree with Pillow's" if len(set(sums.values())) == 1
              else "PIXELS DIFFER FROM PILLOW'S")


if __name__ == "__main__":
    main()
