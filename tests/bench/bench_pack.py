"""
Packing speed of h5pack beside floors and peers, in one run:

  floor     reads and decodes the same files with libjpeg-turbo on as many threads, nothing else
  floor-z   the same, and compresses a sample of each with zstd 1, written nowhere
  h5pack    uncompressed; h5pack-z with --compress zstd:1
  before    the h5pack of another build (--before), uncompressed; before-z compressed
  pillow1   Pillow + h5py in one process, whole-image chunks
  pillow2   the same with two processes that decode and one that writes

All pack the same list with shorter side 256, bilinear, crop 224, from files that were read just
before; a round runs each once, every other round in the opposite order; medians and spread (min
to max) over the rounds. The final sync of the file is told apart, and so are the processor's
time, which a busy machine disturbs less than the clock, and the most memory that waited to be
written meanwhile (/proc/meminfo: Dirty and Writeback, above what was there before).
"""
import argparse
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import h5py

from bench_photos import CROP, GEOMETRY, arguments, machine, ratios, sample, spread, write_list

PAIRS = (("h5pack", "floor", "0.85"), ("h5pack-z", "floor-z", "0.9"), ("before", "floor", ""),
         ("before-z", "floor-z", ""), ("h5pack", "before", ""), ("h5pack-z", "before-z", ""),
         ("h5pack", "pillow2", "2.0"), ("h5pack", "pillow1", "3.5"))
PLAIN = ("h5pack", "before", "pillow2", "pillow1")  # what h5py reads without a plugin
ZSTD = ("--compress", "zstd:1")


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
    """Watches the memory that waits to be written; seldom, so as not to disturb."""

    def __init__(self):
        super().__init__()
        self.before = self.most = unwritten()
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(0.05):
            self.most = max(self.most, unwritten())

    def end(self):
        self.done.set()
        self.join()
        return self.most - self.before


def h5pack(build, listing, out, threads, *options):
    with open(listing, "rb") as paths:
        text = subprocess.run(
            [f"{build}/tools/h5pack", "--list", "-", *GEOMETRY, "--threads", str(threads), "--json",
             "-o", out, *options],
            stdin=paths, check=True, capture_output=True).stdout
    measured = json.loads(text)["measured"]
    return (measured["elapsed_ns"] - measured["sync_ns"]) / 1e9, measured["elapsed_ns"] / 1e9


def floor(build, listing, threads, *codec):
    seconds = float(subprocess.run(
        [f"{build}/tests/bench/decode_floor", str(threads), listing, *codec],
        check=True, capture_output=True).stdout)
    return seconds, seconds


def first_samples(job, listing, folder):
    """The first samples in a file of their own, each photo once."""
    out, raw = os.path.join(folder, "first.h5"), os.path.join(folder, "first.raw")
    n = min(job.images, job.found)
    h5pack(job.build, listing, out, job.threads, "--limit", str(n))
    with h5py.File(out) as f:
        f["images"][:].tofile(raw)
    os.unlink(out)
    return raw


def cpu_seconds():
    """Of this process and of those it waited for."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Result:
    def __init__(self):
        self.seconds = ([], [])  # without the final sync, with it
        self.cpu = []
        self.waiting = []
        self.sum = None

    def run(self, contestant, out, can_read):
        watch = Unwritten()
        watch.start()
        cpu = cpu_seconds()
        for seconds, value in zip(self.seconds, contestant(out)):
            seconds.append(value)
        self.cpu.append(cpu_seconds() - cpu)
        self.waiting.append(watch.end())
        if can_read and self.sum is None:
            with h5py.File(out) as f:
                self.sum = f["images"][:200].sum(dtype="u8")
        if os.path.exists(out):
            os.unlink(out)


def contestants_of(job, listing, raw):
    n, threads = job.images, job.threads
    codec = ("1", raw, str(CROP * CROP * 3))
    found = {
        "floor": lambda out: floor(job.build, listing, threads),
        "h5pack": lambda out: h5pack(job.build, listing, out, threads),
        "before": lambda out: h5pack(job.before, listing, out, threads),
        "floor-z": lambda out: floor(job.build, listing, threads, *codec),
        "h5pack-z": lambda out: h5pack(job.build, listing, out, threads, *ZSTD),
        "before-z": lambda out: h5pack(job.before, listing, out, threads, *ZSTD),
        "pillow2": lambda out: pillow2(job.paths, out),
        "pillow1": lambda out: pillow1(job.paths, out),
    }
    wanted = job.only.split(",") if job.only else list(found)
    if not job.before:
        wanted = [name for name in wanted if not name.startswith("before")]
    unknown = [name for name in wanted if name not in found]
    if unknown or not wanted:
        sys.exit(f"contestants are {', '.join(found)}")
    return {name: found[name] for name in wanted}


def run_rounds(job, contestants, folder):
    """As many rounds as were asked for and as the time allows, one at least."""
    results = {name: Result() for name in contestants}
    started = time.perf_counter()
    longest = 0
    for done in range(job.rounds):
        begun = time.perf_counter()
        if done and job.seconds and begun - started + longest > job.seconds:
            break
        for name in list(contestants)[:: -1 if done % 2 else 1]:
            results[name].run(contestants[name], os.path.join(folder, name + ".h5"),
                              name in PLAIN)
        longest = max(longest, time.perf_counter() - begun)
    return results


def report(job, results):
    n, rounds = job.images, len(next(iter(results.values())).cpu)
    print(f"packing {n} photos ({job.found} different), {job.threads} threads, {rounds} rounds, "
          f"{machine()}, h5py {h5py.__version__}")
    print(f"{'':8} {'images/s':>9} {'min':>7} {'max':>7}   {'with sync':>9} {'min':>7} {'max':>7}"
          f"   {'CPU ms':>6}")
    for name, result in results.items():
        rates = [[n / s for s in seconds] for seconds in result.seconds]
        cells = [f"{statistics.median(r):9.0f} {min(r):7.0f} {max(r):7.0f}" for r in rates]
        cpu = statistics.median(result.cpu) / n * 1e3
        print(f"{name:8} {cells[0]}   {cells[1]}   {cpu:6.3f}")
    print(f"{'times as fast as':19} {'':21} {'with sync':21} {'CPU':21} wanted")
    for name, other, wanted in PAIRS:
        if name in results and other in results:
            a, b = results[name], results[other]
            told = [spread(ratios(a.seconds[0], b.seconds[0])),
                    spread(ratios(a.seconds[1], b.seconds[1])), spread(ratios(a.cpu, b.cpu))]
            print(f"{name:8} / {other:8} " + " ".join(f"{t:21}" for t in told) + " " + wanted)
    for name, result in results.items():
        if name.startswith(("h5pack", "before")):
            syncs = [1 - a / b for a, b in zip(*result.seconds)]
            print(f"{name:8} syncs for {statistics.median(syncs):.3f} of the run "
                  f"(max {max(syncs):.3f}); at most {max(result.waiting) >> 20} MiB waited "
                  f"to be written")
    sums = {result.sum for result in results.values() if result.sum is not None}
    if len(sums) > 1:
        print("PIXELS DIFFER")
    elif {"h5pack", "pillow1"} <= results.keys():
        print("pixels of the first images agree with Pillow's")


def main():
    parser = argparse.ArgumentParser(description="packing speed, beside floors and peers")
    parser.add_argument("--only", help="some of the contestants, NAME,NAME... (default: all)")
    parser.add_argument("--before", help="folder of another build, to compare its h5pack with")
    parser.add_argument("--seconds", type=float, help="no round begins that would end later")
    job = arguments(parser, 3000)
    with tempfile.TemporaryDirectory(dir=os.environ.get("PACK_DIR")) as folder:
        listing = write_list(job, folder)
        raw = first_samples(job, listing, folder)
        results = run_rounds(job, contestants_of(job, listing, raw), folder)
    report(job, results)


if __name__ == "__main__":
    main()
