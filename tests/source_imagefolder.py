"""Random trees with nasty names: what source_dump lists is what torchvision's ImageFolder does.

image_folder below follows find_classes and make_dataset of torchvision/datasets/folder.py. The
trees have no hidden names and no loops of links, where h5pack differs on purpose.

    source_imagefolder.py SOURCE_DUMP N_TREES"""

import os
import random
import shutil
import subprocess
import sys
import tempfile

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def is_image_file(name):
    return name.lower().endswith(EXTENSIONS)


def walk_images(folder):
    for root, _, names in sorted(os.walk(folder, followlinks=True)):
        for name in sorted(names):
            path = os.path.join(root, name)
            if is_image_file(path):
                yield path


def image_folder(directory):
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    samples = [(path, label)
               for label, name in enumerate(classes)
               for path in walk_images(os.path.join(directory, name))]
    return classes, samples


# pieces whose order differs between bytes, code points and whole paths
PIECES = ["a", "b", "A", "Z", "-", "_", " ", "!", "0", "9", "~", "\u00e9", "\u20ac", "\uff21", "\ufffd",
          "\U0001f600", "\n", "\t", "\\", "'", '"', "$", "*", "%s", ",", "\udc80", "\udcff", "\udcc3",
          "\udced\udca0\udc80", "\udcf0\udc9f", "a" * 60]
ENDINGS = [".jpg", ".JPG", ".Jpeg", ".png", ".PnG", ".tif", ".TIFF", ".webp", ".bmp", ".pgm", ".ppm",
           ".txt", "", ".gif", ".jpg.txt", "jpg"]


def some_name(rng):
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 4)))


def fill(rng, folder, depth):
    for _ in range(rng.choice([0, 1, 3, 8])):
        path = os.path.join(folder, some_name(rng) + rng.choice(ENDINGS))
        if not os.path.lexists(path):
            if rng.random() < 0.1:
                os.symlink("nowhere", path)
            else:
                open(path, "wb").close()
    for _ in range(rng.choice([0, 0, 1, 2, 3]) if depth else 0):
        path = os.path.join(folder, some_name(rng) + rng.choice(["", "", ".jpg"]))
        if not os.path.lexists(path):
            os.mkdir(path)
            fill(rng, path, depth - 1)


def make_tree(rng, base):
    root, outside = os.path.join(base, "root"), os.path.join(base, "outside")
    os.mkdir(root)
    os.mkdir(outside)
    fill(rng, outside, 2)
    for _ in range(rng.randint(1, 6)):
        path = os.path.join(root, some_name(rng))
        if os.path.lexists(path):
            continue
        if rng.random() < 0.2:
            os.symlink("../outside", path)
        else:
            os.mkdir(path)
            fill(rng, path, 3)
            link = os.path.join(path, some_name(rng))
            if rng.random() < 0.3 and not os.path.lexists(link):
                os.symlink(outside, link)
    open(os.path.join(root, "stray.txt"), "wb").close()
    return root


def dump(program, *arguments):
    run = subprocess.run([program, *arguments], capture_output=True)
    if run.returncode:
        return None, run.stderr.decode()
    entries = [os.fsdecode(e) for e in run.stdout.split(b"\0")[:-1]]
    records = [e.split(" ", 1) for e in entries if not e.startswith("C ")]
    return ([e[2:] for e in entries if e.startswith("C ")],
            [(name, int(label)) for label, name in records]), run.stderr.decode()


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    n = failed = n_images = 0

    def ok(passed, sentence):
        nonlocal n, failed
        n += 1
        failed += not passed
        print(("" if passed else "not ") + "ok %d - %s" % (n, sentence))

    if sys.getfilesystemencoding() != "utf-8":
        print("1..0 # SKIP Python's file names are not UTF-8 here")
        return 0
    for seed in range(count):
        rng = random.Random(seed)
        base = tempfile.mkdtemp(prefix="source-")
        try:
            root = make_tree(rng, base)
            classes, samples = image_folder(root)
            want = classes, [(os.path.relpath(path, root), label) for path, label in samples]
            got, words = dump(program, root)
            n_images += len(samples)
            ok(got == want if samples else "no images" in words,
               "tree %d: %d classes, %d images in ImageFolder's order" % (seed, len(classes), len(samples)))
            want = [(os.path.relpath(path, root), -1) for path in walk_images(root)]
            got, words = dump(program, "--no-labels", root)
            ok(got == ([], want) if want else "no images" in words,
               "tree %d: without labels, all images in the same order" % seed)
        finally:
            shutil.rmtree(base)
    ok(n_images > 10 * count, "the trees held %d images" % n_images)
    print("1..%d" % n)
    return failed != 0


sys.exit(main())
