"""
Speed of h5rechunk in one run with what bounds it, two threads on two processors:

  plain     unfiltered files, from tiles and from chunks of 100 images to whole images, beside
            `cp` of the same file and a sync; wanted: half as fast
  h5repack  the same on 256 MiB, beside HDF5's own tool, once; wanted: 40 times as fast
  codec     zstd and gzip on either side, beside decoding and encoding the same chunks in memory
            on as many threads (codec_floor); wanted: 0.85. The codecs alone touch no file, and
            zstd is faster than a disk: what is read has to be decoded and what is made has to be
            written, so also beside the codecs and then `cp` of the result and a sync, one after
            the other, which is the floor of files where the processors do both

Files were written just before, so that they are read from memory; every run ends with the data
on the disk. A round runs each contestant once, every other round in the opposite order; medians
and spread (min to max) over the rounds. "CPU" is the processors' time, which a busy machine
disturbs less than the clock: of h5rechunk over that of what it is compared with (codecs and cp
together), in medians; below 1 is less. What h5rechunk holds in memory at most is compared with
--memory, beside what it takes for a file of one image.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import h5py
import numpy

IMAGE = (3, 218, 178)
IMAGE_BYTES = 3 * 218 * 178
ONE = "1x3x218x178"
TILES = (("tiles of 2 KB", "1x1x44x45"), ("tiles of 13 KB", "1x3x73x60"),
         ("100 images", "100x3x218x178"))
CODECS = (("100 images, zstd:1", "100x3x218x178", "zstd:1", "none"),
          ("100 images", "100x3x218x178", "none", "zstd:1"),
          ("tiles of 13 KB, gzip:1", "1x3x73x60", "gzip:1", "none"),
          ("tiles of 13 KB", "1x3x73x60", "none", "gzip:1"),
          ("16 images, gzip:4", "16x3x218x178", "gzip:4", "zstd:1"))
REPACK_MIB = 256


class Bench:
    def __init__(self, job):
        self.job = job
        self.failed = False
        self.base_kib = 0

    def path(self, name):
        return os.path.join(self.job.folder, name)

    def program(self, *words):
        """Seconds by the clock and of the processors, and the most memory in KiB."""
        started = time.perf_counter()
        process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            sys.exit(f"rechunk: status {status} of {' '.join(map(str, words))}")
        return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss

    def rechunk(self, source, out, chunk, codec="none", memory=None):
        return self.program(f"{self.job.build}/tools/h5rechunk", "-q", source, "-o", out, "-f", "--chunk", chunk,
                            "--compress", codec, "--memory", memory or self.job.memory)

    def check_memory(self, what, kib):
        """A bound that is broken is no matter of speed."""
        most = memory_kib(self.job.memory) + self.base_kib
        if kib > most:
            self.failed = True
            print(f"{what}: {kib >> 10} MiB OF MEMORY, {most >> 10} MiB WERE ALLOWED")

    def check_same(self, what, one, two):
        with h5py.File(one) as a, h5py.File(two) as b:
            n = len(a["images"])
            places = numpy.linspace(0, n - 1, 64).astype(int)
            if any((a["images"][i] != b["images"][i]).any() for i in places):
                self.failed = True
                print(f"{what}: NOT THE SAME IMAGES")

    def rounds(self, contestants):
        """name -> lists of seconds, and name -> medians of processors' seconds."""
        seconds, cpu = ({name: [] for name in contestants} for _ in range(2))
        for done in range(self.job.rounds):
            for name in list(contestants)[:: -1 if done % 2 else 1]:
                clock, processors = contestants[name]()
                seconds[name].append(clock)
                cpu[name].append(processors)
                out = self.path("out.h5")
                if os.path.exists(out):
                    os.unlink(out)
        return seconds, {name: statistics.median(values) for name, values in cpu.items()}


def memory_kib(text):
    return int(text[:-1]) << {"K": 0, "M": 10, "G": 20}[text[-1]]


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def ratios(seconds, other):
    """How many times as fast as the other, round by round."""
    return [b / a for a, b in zip(seconds, other)]


def make(bench, name, mib):
    """Chunks of one image: the rendered photos over and over, each time a little brighter."""
    n = max(1, (mib << 20) // IMAGE_BYTES)
    path = bench.path(name)
    with h5py.File(bench.path("photos.h5")) as f:
        photos = f["images"][:]
    with h5py.File(path, "w") as f:
        images = f.create_dataset("images", (n, *IMAGE), "u1", chunks=(1, *IMAGE))
        for i in range(n):
            turn, which = divmod(i, len(photos))
            images.id.write_direct_chunk((i, 0, 0, 0), (photos[which] + numpy.uint8(turn)).tobytes())
    return path, n * IMAGE_BYTES


def cp(bench, source):
    out = bench.path("out.h5")
    return bench.program("sh", "-c", 'cp "$1" "$2" && sync "$2"', "sh", source, out)[:2]


def plain(bench):
    whole, size = make(bench, "whole.h5", bench.job.mib)
    print(f"{size >> 20} MiB, not compressed, to whole images; {bench.job.rounds} rounds, --memory {bench.job.memory}")
    print(f"{'from':16} {'h5rechunk MB/s':>24} {'cp MB/s':>24}   of cp (wanted 0.5)   CPU   peak")
    for name, chunk in TILES:
        source, out, peak = bench.path("source.h5"), bench.path("out.h5"), []
        bench.rechunk(whole, source, chunk)

        def rechunk(source=source, out=out, peak=peak, name=name):
            *seconds, kib = bench.rechunk(source, out, ONE)
            peak.append(kib)
            if len(peak) == 1:
                bench.check_same(name, whole, out)
            return seconds

        seconds, cpu = bench.rounds({"cp": lambda source=source: cp(bench, source), "h5rechunk": rechunk})
        rates = {key: [size / 1e6 / s for s in values] for key, values in seconds.items()}
        bench.check_memory(name, max(peak))
        print(f"{name:16} {spread(rates['h5rechunk'], 0):>24} {spread(rates['cp'], 0):>24}   "
              f"{spread(ratios(seconds['h5rechunk'], seconds['cp']))}  {cpu['h5rechunk'] / cpu['cp']:4.1f}   "
              f"{max(peak) >> 10} MiB")
        os.unlink(source)
    os.unlink(whole)


def h5repack(bench):
    whole, size = make(bench, "whole.h5", min(REPACK_MIB, bench.job.mib))
    print(f"{size >> 20} MiB, not compressed, to whole images; h5repack once")
    print(f"{'from':16} {'h5rechunk MB/s':>24} {'h5repack MB/s':>24}   times (wanted 40)")
    for name, chunk in TILES:
        source, out = bench.path("source.h5"), bench.path("out.h5")
        bench.rechunk(whole, source, chunk)
        mine, _ = bench.rounds({"h5rechunk": lambda source=source, out=out: bench.rechunk(source, out, ONE)[:2]})
        theirs = bench.program("sh", "-c", 'h5repack -l images:CHUNK=$3 "$1" "$2" && sync "$2"', "sh", source, out,
                               ONE)[0]
        bench.check_same(name, whole, out)
        times = [theirs / s for s in mine["h5rechunk"]]
        print(f"{name:16} {spread([size / 1e6 / s for s in mine['h5rechunk']], 0):>24} {size / 1e6 / theirs:24.1f}   "
              f"{spread(times, 0)}")
        os.unlink(source)
        os.unlink(out)
    os.unlink(whole)


def codec(bench):
    whole, size = make(bench, "whole.h5", bench.job.codec_mib)
    print(f"{size >> 20} MiB, to whole images; {bench.job.rounds} rounds, 2 threads")
    print(f"{'from':24} {'to':8} {'h5rechunk MB/s':>19} {'codecs alone MB/s':>19} {'cp MB/s':>19}   "
          "of codecs (wanted 0.85)  of codecs and cp   CPU   peak")
    for name, chunk, packed, target in CODECS:
        source, out, floor_out, peak = (*map(bench.path, ("source.h5", "out.h5", "floor.h5")), [])
        bench.rechunk(whole, source, chunk, packed)
        bench.rechunk(source, floor_out, ONE, target)
        bench.check_same(name, whole, floor_out)

        def rechunk(source=source, out=out, target=target, peak=peak):
            *seconds, kib = bench.rechunk(source, out, ONE, target)
            peak.append(kib)
            return seconds

        def floor(source=source, floor_out=floor_out):
            words = [f"{bench.job.build}/tests/bench/codec_floor", "2", source, floor_out, "images"]
            return map(float, subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())

        seconds, cpu = bench.rounds({"floor": floor, "cp": lambda floor_out=floor_out: cp(bench, floor_out),
                                "h5rechunk": rechunk})
        rates = {key: [size / 1e6 / s for s in values] for key, values in seconds.items()}
        bench.check_memory(name, max(peak))
        both = [sum(pair) for pair in zip(seconds["floor"], seconds["cp"])]
        print(f"{name:24} {target:8} " + " ".join(f"{spread(rates[k], 0):>19}" for k in ("h5rechunk", "floor", "cp")) +
              f"   {spread(ratios(seconds['h5rechunk'], seconds['floor'])):23}  "
              f"{spread(ratios(seconds['h5rechunk'], both)):17}  "
              f"{cpu['h5rechunk'] / (cpu['floor'] + cpu['cp']):4.1f}   {max(peak) >> 10} MiB")
        os.unlink(source)
        os.unlink(floor_out)
    os.unlink(whole)


PARTS = {"plain": plain, "h5repack": h5repack, "codec": codec}


def main():
    parser = argparse.ArgumentParser(description="speed of h5rechunk")
    parser.add_argument("build", help="folder in which h5rechunk was built")
    parser.add_argument("folder", help="with photos.h5; files are made there")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--codec-mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--only", default=",".join(PARTS))
    bench = Bench(parser.parse_args())
    small, _ = make(bench, "small.h5", 0)
    bench.base_kib = bench.rechunk(small, bench.path("out.h5"), ONE, "zstd:1")[2]
    print(f"{os.uname().machine}, {os.cpu_count()} processors, HDF5 {h5py.version.hdf5_version} behind h5py")
    for part in bench.job.only.split(","):
        PARTS[part](bench)
    return bench.failed


sys.exit(main())
