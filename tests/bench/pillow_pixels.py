"""What Pillow takes for the same work as bench_pixels, in this process's CPU time.

Usage: pillow_pixels.py ROUNDS FILE...
"""
import sys
import time

try:
    import PIL
    from PIL import Image, features
except ImportError:
    sys.exit("pillow_pixels.py: there is no Pillow to compare with")


def measure(name, work, n_rounds, n_pixels, n_files):
    work()
    rounds = []
    for _ in range(n_rounds):
        start = time.process_time_ns()
        work()
        rounds.append(time.process_time_ns() - start)
    rounds.sort()
    median = rounds[n_rounds // 2]
    print(f"  {name:28} {median / n_pixels:8.3f} ns/pixel  {median / n_files / 1e6:8.3f} ms/image"
          f"   ({rounds[0] / n_pixels:.3f} to {rounds[-1] / n_pixels:.3f} ns)", flush=True)


def sample(image, resample):
    w, h = image.size
    short, long = min(w, h), max(w, h)
    longer = int(256 * long / short)
    w, h = (256, longer) if w <= h else (longer, 256)
    left, top = int(round((w - 224) / 2)), int(round((h - 224) / 2))
    return image.resize((w, h), resample).crop((left, top, left + 224, top + 224))


def main():
    n_rounds, names = int(sys.argv[1]), sys.argv[2:]
    images = [Image.open(name).convert("RGB") for name in names]
    n_pixels = sum(image.width * image.height for image in images)
    print(f"Pillow {PIL.__version__}, libjpeg-turbo {features.version('libjpeg_turbo')}")
    measure("decode", lambda: [Image.open(name).convert("RGB").load() for name in names],
            n_rounds, n_pixels, len(names))
    for name in ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"):
        resample = getattr(Image.Resampling, name.upper())
        measure(name, lambda: [sample(image, resample) for image in images],
                n_rounds, n_pixels, len(images))


main()
