"""What recording costs a program that reads 12 KB samples one at a time through h5py, in turns:

    bench_record.py FILE.h5 [ROUNDS]

FILE is written where it is not there. Prints microseconds that a read takes longer (median of
the rounds) under `h5advise --record` and within h5pack.record, and what that is of the time at 5000
reads a second.
"""
import os
import statistics
import subprocess
import sys
import time

N = 2000
PASSES = 10
READS_PER_S = 5000


def read(path, trace):
    """Microseconds of a read."""
    import contextlib

    import h5py
    import numpy

    import h5pack

    order = numpy.random.default_rng(1).permutation(N)
    with h5py.File(path) as file:
        images = file["images"]
        with h5pack.record(trace, force=True) if trace else contextlib.nullcontext():
            for number in range(PASSES + 1):
                if number == 1:  # what was read once is in memory
                    begin = time.perf_counter()
                for i in order:
                    images[i]
            return (time.perf_counter() - begin) / (N * PASSES) * 1e6


def make(path):
    import h5py

    if not os.path.exists(path):
        with h5py.File(path, "w") as file:
            file.create_dataset("images", (N, 64, 64, 3), "u1", chunks=(1, 64, 64, 3))[...] = 7


def main():
    path, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    if rounds == 0:
        print(read(path, sys.argv[3] if len(sys.argv) > 3 else None))
        return
    make(path)
    trace = path + ".trace"
    one = [sys.executable, os.path.abspath(__file__), path, "0"]
    ways = {"plain": one, "h5advise --record": ["h5advise", "-q", "-f", "--record", trace, "--", *one],
            "h5pack.record": [*one, trace]}
    took = {name: [] for name in ways}
    for _ in range(rounds):
        for name, command in ways.items():
            took[name].append(float(subprocess.check_output(command).split()[0]))
    plain = statistics.median(took.pop("plain"))
    for name, each in took.items():
        more = [us - plain for us in each]
        print(f"        {name}: {statistics.median(more):.1f} us a read more ({min(more):.1f} to "
              f"{max(more):.1f}; without, {plain:.1f}): {statistics.median(more) * READS_PER_S / 1e4:.1f} "
              f"% of the time at {READS_PER_S} reads/s")


main()
