"""
Large JPEGs to small samples (shorter side 256, bilinear, crop 224), in one run:

  djpeg   djpeg -scale 1/8 of each file into nothing, one process per file, as many at a time
  draft   h5pack --draft, into a file
  whole   h5pack without it
  pillow  Image.draft(), resize() and crop() in as many processes, written nowhere
  vips    vipsthumbnail, many files per process, as many processes at a time

A round runs each once, in turn; medians and spread over the rounds. What is lost is the mean
over the images of the PSNR between the samples of draft and whole, as 8-bit values.
"""
import argparse
import functools
import math
import multiprocessing
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import h5py
from PIL import Image

from bench_photos import GEOMETRY, SHORTER, arguments, machine, ratios, sample, spread, write_list


def pillow(paths, threads):
    with multiprocessing.Pool(threads) as pool:
        return list(pool.imap(functools.partial(sample, draft=True), paths))


def xargs(listing, threads, per_process, *command, **more):
    with open(listing, "rb") as paths:
        subprocess.run(["xargs", "-d", "\n", "-P", str(threads), "-n", str(per_process), *command],
                       stdin=paths, check=True, **more)


def h5pack(build, listing, threads, out, *options):
    with open(listing, "rb") as paths:
        subprocess.run([f"{build}/tools/h5pack", "--list", "-", *GEOMETRY, "--threads", str(threads),
                        "--quiet", "--force", "-o", out, *options], stdin=paths, check=True)


def psnr(a, b):
    error = ((a.astype("f8") - b) ** 2).mean()
    return 10 * math.log10(255 ** 2 / error) if error else math.inf


def loss(folder):
    with h5py.File(f"{folder}/draft.h5") as a, h5py.File(f"{folder}/whole.h5") as b:
        return [psnr(x, y) for x, y in zip(a["images"][:], b["images"][:])]


def main():
    job = arguments(argparse.ArgumentParser(description="large JPEGs to small samples"), 60)
    build, paths, n, threads = job.build, job.paths, job.images, job.threads
    pixels = [math.prod(Image.open(path).size) for path in paths]
    small = sum(p < 8 * 8 * SHORTER * SHORTER for p in pixels)
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        listing = write_list(job, folder)
        thumbnail = ("vipsthumbnail", "-s", str(SHORTER), "-o", folder + "/tn_%s.ppm")
        one_thread = dict(os.environ, VIPS_CONCURRENCY="1")
        contestants = {
            "djpeg": lambda: xargs(listing, threads, 1, "djpeg", "-scale", "1/8", "-outfile", "/dev/null"),
            "draft": lambda: h5pack(build, listing, threads, folder + "/draft.h5", "--draft"),
            "whole": lambda: h5pack(build, listing, threads, folder + "/whole.h5"),
            "pillow": lambda: pillow(paths, threads),
            "vips": lambda: xargs(listing, threads, -(-n // threads), *thumbnail, env=one_thread),
        }
        for name, program in (("djpeg", "djpeg"), ("vips", "vipsthumbnail")):
            if not shutil.which(program):
                print(f"{program} is not here to compare with")
                del contestants[name]
        for _ in range(job.rounds):
            for name, run in contestants.items():
                started = time.perf_counter()
                run()
                seconds.setdefault(name, []).append(time.perf_counter() - started)
        lost = loss(folder)
    print(f"{n} photos ({job.found} different) of {sum(pixels) / n / 1e6:.1f} megapixels on average "
          f"({small} too small for 1/8), {threads} threads, {job.rounds} rounds, {machine()}")
    print(f"{'':8} {'images/s':>9} {'min':>7} {'max':>7}")
    for name, times in seconds.items():
        rates = [n / t for t in times]
        print(f"{name:8} {statistics.median(rates):9.1f} {min(rates):7.1f} {max(rates):7.1f}")
    for other, wanted in (("djpeg", 0.9), ("pillow", 1), ("vips", 1), ("whole", 1)):
        if other in seconds:
            told = spread(ratios(seconds["draft"], seconds[other]))
            print(f"draft / {other:8} {told}   wanted {wanted}")
    print(f"draft against whole: {statistics.mean(lost):.1f} dB on average, "
          f"{min(lost):.1f} to {max(lost):.1f}")


if __name__ == "__main__":
    main()
