"""
Random folders and lists, packed with random options: everything that h5pack leaves and says
(each dataset, type, label, name, attribute, chunk and filter, the list of rejects, each number
of --json, the exit status) is compared with what is computed here, with Pillow and NumPy.

    random_packs.py FOLDER N_CASES
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys

import h5py
import numpy as np
from PIL import Image, ImageOps

import across_first  # noqa: F401 (what it is imported for, it does at once)
from tap import done, note, ok

MASK = (1 << 64) - 1
PLUGIN_LOADS = os.environ.get("SANITIZERS", "no") == "no"
READ_ENDINGS = (".jpg", ".jpeg", ".png")
FILTERS = {"nearest": Image.NEAREST, "box": Image.BOX, "bilinear": Image.BILINEAR,
           "hamming": Image.HAMMING, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}

# ------------------------------------------------------------------- what is drawn


def escaped(path):
    return path.replace("\\", "\\\\")


class Record:
    """An image of the source: its path and name, what becomes of it, and its facts."""

    def __init__(self, path, name, label=-1, row=()):
        self.path, self.name, self.label, self.row = path, name, label, row

    def look(self, options):
        """Decodes it; leaves `fate`: "packed", "rejected", or the name of a format."""
        self.fate, self.seen = "rejected", False
        if not os.path.exists(self.path):
            return
        self.bytes = os.path.getsize(self.path)
        with open(self.path, "rb") as f:
            data = f.read()
        if self.bytes > options.max_file:
            return
        if data.startswith(b"GIF8"):
            self.fate = "GIF"
            return
        try:
            image = Image.open(self.path)
        except OSError:
            return
        if image.width * image.height > options.max_pixels:
            return
        self.seen, self.size = True, image.size[::-1]  # its header is well
        try:
            image.load()
        except (OSError, SyntaxError):
            return
        self.fate = "packed"
        turn = image.getexif().get(0x0112, 1) if options.turns else 1
        self.turned = turn > 1
        self.icc = "icc_profile" in image.info
        self.alpha = image.mode in ("RGBA", "LA") or "transparency" in image.info
        self.wide = image.mode.startswith("I")
        if self.wide:
            wide = np.asarray(image).astype("u2")
            self.dim = 0 < wide.max() < 4096
            image = Image.fromarray((wide >> 8).astype("u1"))
        else:
            self.dim = False
            image = ImageOps.exif_transpose(image) if options.turns else image
        self.image = image.convert("L" if options.gray else "RGB")
        self.size = self.image.size[::-1]


class Options:
    """Words for the command line, and what they mean."""

    def __init__(self, rng):
        self.words = words = []

        def flag(name, chance):
            given = rng.random() < chance
            words.extend([name] if given else [])
            return given

        def choice(name, default, others, chance=0.4):
            value = rng.choice(others) if rng.random() < chance else default
            if value != default or rng.random() < 0.2:
                words.extend([name, str(value)])
            return value

        self.size = self.shorter = self.crop = None
        kind = rng.choice(["size", "size", "shorter", "both", "none", "crop"])
        if kind == "size":
            self.size = (rng.randint(1, 40), rng.randint(1, 40))
            if rng.random() < 0.3:
                self.size = (rng.randint(12, 40), rng.randint(12, 40))
            words.extend(["--size", "%dx%d" % self.size])
        if kind in ("shorter", "both"):
            self.shorter = rng.randint(4, 30)
            words.extend(["--shorter", str(self.shorter)])
        if kind in ("shorter", "both", "crop"):
            top = self.shorter or 16
            self.crop = (rng.randint(1, min(top, 16)), rng.randint(1, min(top, 16)))
            words.extend(["--crop", "%dx%d" % self.crop])
        room = self.size and min(self.size) >= 12  # Pillow pads no images of no height
        self.fit = (choice("--fit", "crop", ["pad", "stretch"] if room else ["stretch"])
                    if self.size else None)
        self.resample = (choice("--resample", "bilinear", list(FILTERS), 0.6)
                         if self.size or self.shorter else None)
        self.gray = flag("--gray", 0.3)
        self.planes = choice("--layout", "nhwc", ["nchw"]) == "nchw"
        self.turns = not flag("--no-exif-orientation", 0.2)
        self.max_pixels = choice("--max-pixels", 178956970, [1500, 900], 0.15)
        self.max_file = choice("--max-file", 4 << 30, [900, 2048], 0.15)
        self.goal = choice("--for", "shuffle", ["block-shuffle"])
        self.libver = choice("--libver", "v110", ["earliest", "v18", "latest"])
        self.on_error = choice("--on-error", "skip", ["blank", "blank", "fail"], 0.5)
        self.pipeline = []
        codec = choice("--compress", "none", ["gzip", "gzip:1", "gzip:9", "gzip:0"]
                       + (["zstd", "zstd:1", "zstd:7"] if PLUGIN_LOADS else []), 0.6)
        if codec != "none":
            name, _, level = codec.partition(":")
            level = int(level or {"gzip": 4, "zstd": 3}[name])
            self.pipeline.append((f"{name}:{level}", {"gzip": 1, "zstd": 32015}[name], 1, (level,)))
        if flag("--fletcher32", 0.3):
            self.pipeline.append(("fletcher32", 3, 0, ()))
        self.seed = rng.choice([None, None, rng.getrandbits(62), rng.randint(0, 9)])
        if self.seed is not None:
            words.extend(["--shuffle", "--seed", str(self.seed)])
        self.limit = rng.choice([None, None, None, 1, 3, 7, 100])
        if self.limit:
            words.extend(["--limit", str(self.limit)])
        self.verify = flag("--verify", 0.4)
        words.extend(["-j", str(rng.randint(1, 4))])
        if rng.random() < 0.3:
            words.extend(["--memory", rng.choice(["48M", "300M"])])
        self.chunk = rng.choice(["auto", "auto", 1, 2, 5, 64, "shape"])
        self.chunk_seed = rng.random()

    def ask_chunk(self, sample):
        """Once the size of samples is known."""
        if self.chunk == "shape":
            rng = random.Random(self.chunk_seed)
            shape = (rng.choice([1, 2, 5]), *(rng.randint(max(1, n // 3), n) for n in sample))
            self.chunk = "x".join(map(str, shape))
        if self.chunk != "auto":
            self.words.extend(["--chunk", str(self.chunk)])

    def chunk_shape(self, sample, n_listed):
        if self.chunk == "auto":
            n_bytes = int(np.prod(sample))
            room = (1 << 20) if self.goal == "block-shuffle" else (1 << 16) - 1
            return (min(max(1, room // n_bytes), n_listed), *sample)
        if isinstance(self.chunk, int):
            return (self.chunk, *sample)
        return tuple(map(int, self.chunk.split("x")))

    def stored(self):
        """What h5pack_options holds, in this order."""
        o = {"mode": "gray" if self.gray else "rgb", "layout": "nchw" if self.planes else "nhwc"}
        if self.size:
            o["size"], o["fit"] = "%dx%d" % self.size, self.fit
        if self.shorter:
            o["shorter"] = self.shorter
        if self.crop:
            o["crop"] = "%dx%d" % self.crop
        if self.resample:
            o["resample"] = self.resample
        o.update(exif_orientation=self.turns, strict=False, max_pixels=self.max_pixels,
                 max_file_bytes=self.max_file, chunk=self.chunk)
        o["for"] = self.goal
        o.update(compress="+".join(p[0] for p in self.pipeline) or "none", libver=self.libver,
                 on_error=self.on_error, shuffle=self.seed is not None)
        if self.seed is not None:
            o["seed"] = self.seed
        if self.limit:
            o["limit"] = self.limit
        return o

    def pixels(self, image):
        """Resized and cut, as an array in the file's layout."""
        if self.size:
            h, w = self.size
            method = FILTERS[self.resample]
            image = (image.resize((w, h), method) if self.fit == "stretch" else
                     ImageOps.fit(image, (w, h), method) if self.fit == "crop" else
                     ImageOps.pad(image, (w, h), method))
        if self.shorter:
            w, h, n = *image.size, self.shorter
            image = image.resize((n, int(n * h / w)) if w <= h else (int(n * w / h), n),
                                 FILTERS[self.resample])
        if self.crop:
            image = centre(image, *self.crop)
        pixels = np.asarray(image)
        if self.planes:
            pixels = pixels[None] if self.gray else pixels.transpose(2, 0, 1)
        return pixels


def centre(image, h, w):
    """torchvision's CenterCrop, black around what is smaller."""
    have_w, have_h = image.size
    if w > have_w or h > have_h:
        left, top = max(0, (w - have_w) // 2), max(0, (h - have_h) // 2)
        wide = Image.new(image.mode, (max(w, have_w), max(h, have_h)))
        wide.paste(image, (left, top))
        image, (have_w, have_h) = wide, wide.size
    x, y = int(round((have_w - w) / 2.0)), int(round((have_h - h) / 2.0))
    return image.crop((x, y, x + w, y + h))


def some_image(rng, path, size):
    """Writes an image of a random kind, rarely a bad one."""
    h, w = size
    noise = np.random.default_rng(rng.getrandbits(32))
    smooth = Image.fromarray(noise.integers(0, 256, (5, 5, 3), "u1")).resize((w, h), Image.BICUBIC)
    kind = rng.choice(["jpeg"] * 5 + ["png"] * 3 + ["gray jpeg", "palette", "alpha", "gray alpha",
                      "bits", "wide", "dim", "turned", "profile", "bad", "cut", "gif"])
    if kind == "jpeg":
        smooth.save(path, "JPEG", quality=rng.choice([50, 90]))
    elif kind == "png":
        smooth.save(path, "PNG")
    elif kind == "gray jpeg":
        smooth.convert("L").save(path, "JPEG")
    elif kind == "palette":
        smooth.quantize(16).save(path, "PNG")
    elif kind in ("alpha", "gray alpha"):
        image = smooth.convert("RGBA" if kind == "alpha" else "LA")
        image.putalpha(Image.fromarray(noise.integers(0, 256, (h, w), "u1")))
        image.save(path, "PNG")
    elif kind == "bits":
        smooth.convert("1").save(path, "PNG")
    elif kind in ("wide", "dim"):
        wide = noise.integers(0, 65536 if kind == "wide" else 4096, (h, w), "u2")
        wide[0, 0] = 65535 if kind == "wide" else 4095
        Image.fromarray(wide.astype("i4"), "I").convert("I;16").save(path, "PNG")
    elif kind == "turned":
        exif = Image.Exif()
        exif[0x0112] = rng.randint(1, 8)
        smooth.save(path, "JPEG", exif=exif)
    elif kind == "profile":
        smooth.save(path, "JPEG", icc_profile=b"\0" * 128)
    elif kind == "bad":
        with open(path, "wb") as f:
            f.write(rng.choice([b"", b"bad", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"]))
    elif kind == "cut":
        smooth.save(path, "PNG")
        os.truncate(path, os.path.getsize(path) * 2 // 3)
    else:
        smooth.convert("P").save(path, "GIF")


class Source:
    """A folder of classes, a flat one, one taken without labels, or a list."""

    def __init__(self, rng, root, one_size):
        self.root, self.rng = root, rng
        self.kind = rng.choice(["classes", "classes", "flat", "no labels", "list", "list"])
        self.words, self.classes, self.columns, self.ignored, self.unread = [], [], {}, {}, {}
        self.size = (rng.randint(8, 50), rng.randint(8, 50)) if one_size else None
        self.text = None
        os.makedirs(root)
        getattr(self, "make_" + self.kind.replace(" ", "_"))()

    def image(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        some_image(self.rng, path, self.size or (self.rng.randint(6, 60), self.rng.randint(6, 60)))

    def fill(self, folder, depth):
        rng = self.rng
        for i in range(rng.choice([1, 2, 3, 6])):
            name = rng.choice(["a", "B", "img_%d" % i, "x y", "\u00e9", "k\\", "z" * 60])
            ending = rng.choice([".jpg", ".JPG", ".png", ".Jpeg"])
            self.image(os.path.join(folder, f"{name}{i}{ending}"))
        if rng.random() < 0.2:
            self.image(os.path.join(folder, ".hidden.jpg"))
            self.count("hidden")
        if rng.random() < 0.2:
            with open(os.path.join(folder, "notes.txt"), "w") as f:
                f.write("no image")
            self.count("not_images")
        if depth and rng.random() < 0.4:
            self.fill(os.path.join(folder, rng.choice(["deep", "Z", "\u20ac"])), depth - 1)

    def count(self, kind):
        self.ignored[kind] = self.ignored.get(kind, 0) + 1

    def walk(self, folder):
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if not name.startswith(".") and name.lower().endswith(READ_ENDINGS):
                    yield os.path.join(root, name)

    def take(self, paths, label=-1):
        return [Record(p, escaped(os.path.relpath(p, self.root)), label) for p in paths]

    def make_classes(self):
        self.classes = sorted(self.rng.sample(["cat", "dog", "Eel", "a b", "\u00fc", "10", "9"],
                                              self.rng.randint(2, 4)))
        for name in self.classes:
            self.fill(os.path.join(self.root, name), 1)
        self.records = [r for i, name in enumerate(self.classes)
                        for r in self.take(self.walk(os.path.join(self.root, name)), i)]
        self.words = [self.root]

    def make_flat(self):
        self.fill(self.root, 0)
        self.records = self.take(self.walk(self.root))
        self.words = [self.root]

    def make_no_labels(self):
        for name in ("one", "two/three"):
            self.fill(os.path.join(self.root, name), 1)
        self.records = self.take(self.walk(self.root))
        self.words = [self.root, "--no-labels"]

    def make_list(self):
        rng = self.rng
        self.fill(self.root, 1)
        paths = list(self.walk(self.root))
        rng.shuffle(paths)
        if rng.random() < 0.3:
            paths.insert(rng.randint(0, len(paths)), os.path.join(self.root, "gone.jpg"))
        named = rng.random() < 0.5
        labels = [rng.choice(["cat", "dog", "eel"]) if named else rng.randint(-3, 1 << 40)
                  for _ in paths]
        if named:
            self.classes = sorted(set(labels))
        self.records = []
        for i, (path, label) in enumerate(zip(paths, labels)):
            record, = self.take([path], self.classes.index(label) if named else label)
            record.row = (i * 3 - 7, i / 8, rng.choice(["plain", "", "a \u00e9", "x" * 30]))
            self.records.append(record)
        self.columns = {"n": ("i8", [r.row[0] for r in self.records]),
                        "score": ("f8", [r.row[1] for r in self.records]),
                        "words": ("text", [r.row[2] for r in self.records])}
        mark = rng.choice(",\t")
        lines = [mark.join(["path", "label", "n", "score", "words"])]
        for record, label in zip(self.records, labels):
            lines.append(mark.join([os.path.relpath(record.path, self.root), str(label),
                                    *map(str, record.row)]))
        self.text = ("\n".join(lines) + "\n").encode()
        self.words = ["--list", "-", self.root]
        self.ignored = {}

    @property
    def has_labels(self):
        return self.kind in ("classes", "list")


# ----------------------------------------------------------------- what is expected


def permutation(n, seed):
    """Fisher and Yates with xoshiro256**, seeded by splitmix64."""
    state = []
    for _ in range(4):
        seed = z = (seed + 0x9e3779b97f4a7c15) & MASK
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        state.append(z ^ (z >> 31))

    def rotl(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    def following():
        result = rotl(state[1] * 5 & MASK, 7) * 9 & MASK
        t = state[1] << 17 & MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= t
        state[3] = rotl(state[3], 45)
        return result

    index = list(range(n))
    for i in range(n, 1, -1):
        j = following() * i >> 64
        index[i - 1], index[j] = index[j], index[i - 1]
    return index


class Expected:
    def __init__(self, source, options):
        self.source, self.o = source, options
        n = len(source.records)
        self.index = list(range(n)) if options.seed is None else permutation(n, options.seed)
        self.index = self.index[:options.limit]
        self.listed = [source.records[i] for i in self.index]
        for record in self.listed:
            record.look(options)
        self.good = [r.fate == "packed" for r in self.listed]
        self.rejects = [r for r in self.listed if r.fate != "packed"]
        blank = options.on_error == "blank"
        self.kept = [(i, r) for i, r in zip(self.index, self.listed) if r.fate == "packed" or blank]
        sizes = {r.size for r in self.listed if r.seen}
        self.differ = not (options.size or options.crop) and len(sizes) > 1
        if not any(self.good) and not (blank and (options.size or options.crop or sizes)):
            return
        h, w = options.crop or options.size or sorted(sizes)[0]
        self.hw = h, w
        c = 1 if options.gray else 3
        self.sample = ((c, h, w) if options.planes else (h, w) if options.gray else (h, w, c))
        options.ask_chunk(self.sample)
        self.chunk = options.chunk_shape(self.sample, len(self.listed))

    def images(self):
        black = np.zeros(self.sample, "u1")
        return np.stack([self.o.pixels(r.image) if r.fate == "packed" else black
                         for _, r in self.kept])

    def n_chunks(self):
        shape = (len(self.kept), *self.sample)
        return int(np.prod([-(-n // c) for n, c in zip(shape, self.chunk)]))

    def unread(self, taken):
        counts = {}
        for record in taken:
            if record.fate not in ("packed", "rejected"):
                counts[record.fate] = counts.get(record.fate, 0) + 1
        return counts


def statistics(images, o, valid):
    """Mean and std per channel from exact sums."""
    if not any(valid):
        return [0.0] * (1 if o.gray else 3), [0.0] * (1 if o.gray else 3)
    pixels = images[np.asarray(valid, bool)]
    pixels = pixels.reshape(len(pixels), 1, -1) if o.gray else (
        pixels.reshape(len(pixels), 3, -1) if o.planes else
        pixels.reshape(len(pixels), -1, 3).transpose(0, 2, 1))
    n = pixels.shape[0] * pixels.shape[2]
    sums = pixels.astype("u8").sum((0, 2)).tolist()
    squares = (pixels.astype("u8") ** 2).sum((0, 2)).tolist()
    return [s / n for s in sums], [(n * q - s * s) ** 0.5 / n for s, q in zip(sums, squares)]


# --------------------------------------------------------------------- what is there


class Wrong(Exception):
    pass


def same(got, want, what):
    if type(got) in (tuple, list) and type(want) in (tuple, list):
        got, want = list(got), list(want)
    if got != want:
        raise Wrong(f"{what}: got {got!r}, want {want!r}")


def text_type(item):
    """Size (None: variable), character set and padding of a text."""
    kind = item.get_type()
    return (None if kind.is_variable_str() else kind.get_size(), kind.get_cset(), kind.get_strpad())


def check_text(owner, name, want):
    item = owner.attrs.get_id(name)
    same(item.shape, (), f"shape of {name}")
    cset = h5py.h5t.CSET_ASCII if want.isascii() else h5py.h5t.CSET_UTF8
    same(text_type(item), (len(want.encode()) + 1, cset, h5py.h5t.STR_NULLTERM), f"type of {name}")
    got = owner.attrs[name]
    same(got.decode() if isinstance(got, bytes) else got, want, f"attribute {name}")


def check_texts(data, want):
    """A dataset of texts: as long as the longest, unless that were a waste."""
    rows = [text.encode() for text in want]
    longest, total = max(map(len, rows)), sum(map(len, rows))
    wastes = max(longest, 1) * len(rows) > 4 * total + 65536
    want_type = ((None, h5py.h5t.CSET_UTF8, h5py.h5t.STR_NULLTERM) if wastes else
                 (max(longest, 1), h5py.h5t.CSET_UTF8, h5py.h5t.STR_NULLPAD))
    same(text_type(data.id), want_type, f"type of {data.name}")
    same([t if isinstance(t, bytes) else t.encode() for t in data[()].tolist()], rows, data.name)


def check_plain(data, dtype, want):
    kind, shape = np.dtype(dtype).newbyteorder("<").str, np.shape(want)
    same((data.dtype.str, data.shape, data.maxshape, data.chunks), (kind, shape, shape, None),
         f"type of {data.name}")
    same(data[()].tolist(), list(want), data.name)


def check_channels(images, name, want):
    item = images.attrs.get_id(name)
    same((item.shape, item.dtype.str), ((len(want),), "<f8"), f"type of {name}")
    got = images.attrs[name].tolist()
    if not np.allclose(got, want, rtol=1e-13, atol=0):
        raise Wrong(f"{name}: got {got}, want {want}")
    return got


def check_images(e, f, want):
    o, data = e.o, f["images"]
    same((data.dtype.str, data.shape, data.maxshape, data.chunks),
         ("|u1", (len(e.kept), *e.sample), (None, *e.sample), e.chunk), "type of images")
    if not np.array_equal(data[()], want):
        differ = [i for i in range(len(want)) if not np.array_equal(data[i], want[i])]
        raise Wrong(f"pixels differ in {differ} of {[(r.name, r.fate) for _, r in e.kept]}")
    plist = data.id.get_create_plist()
    same([plist.get_filter(i)[:3] for i in range(plist.get_nfilters())],
         [p[1:] for p in o.pipeline], "filters")
    same((plist.get_fill_time(), plist.fill_value_defined(), plist.get_obj_track_times()),
         (h5py.h5d.FILL_TIME_NEVER, h5py.h5d.FILL_VALUE_DEFAULT, o.libver == "earliest"),
         "fill value and times")
    same(data.id.get_num_chunks(), e.n_chunks(), "chunks in the index")
    for i in range(data.id.get_num_chunks()):
        chunk = data.id.get_chunk_info(i)
        if not o.pipeline:
            same((chunk.filter_mask, chunk.size), (0, int(np.prod(e.chunk))), "a chunk as it is")
    subclass = "IMAGE_GRAYSCALE" if o.gray else "IMAGE_TRUECOLOR"
    texts = {"CLASS": "IMAGE", "IMAGE_VERSION": "1.2", "IMAGE_SUBCLASS": subclass}
    if not o.gray:
        texts["INTERLACE_MODE"] = "INTERLACE_PLANE" if o.planes else "INTERLACE_PIXEL"
    same(sorted(data.attrs), sorted([*texts, "DIMENSION_LABELS", "mean", "std"]),
         "attributes of images")
    for name, text in texts.items():
        check_text(data, name, text)
    labels = data.attrs.get_id("DIMENSION_LABELS")
    same((text_type(labels)[0], labels.shape), (None, (data.ndim,)), "type of DIMENSION_LABELS")
    same("".join(d.label for d in data.dims), ("NCHW" if o.planes else "NHWC")[:data.ndim], "labels of axes")
    return sum(data.id.get_chunk_info(i).size for i in range(data.id.get_num_chunks()))


def n_bytes(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.1f} {unit}" if unit != "B" else f"{n} B"
        n /= 1024
    return n


def check_summary(e, text, path, mean, std):
    """What is printed for people."""
    o, n = e.o, len(e.kept)
    lines = text.splitlines()
    read_back = ", read back and equal" if o.verify else ""
    size = n_bytes(os.path.getsize(path))
    same(lines[0], f"{path}: {n} image{'s' * (n != 1)}, {size}{read_back}", "the first line")
    words = {line.split()[0]: line for line in reversed(lines) if line.strip()}
    shape = "x".join(map(str, (n, *e.sample)))
    same(words["images"], f"  images    uint8 {shape}, {'nchw' if o.planes else 'nhwc'}", "shape")
    chunk = "x".join(map(str, e.chunk))
    codec = "+".join(p[0] for p in o.pipeline) or "not compressed"
    same(words["chunks"], f"  chunks    {e.n_chunks()} of {chunk}, {n_bytes(int(np.prod(e.chunk)))} each, {codec}",
         "chunks")
    for name, values in ("mean", mean), ("std", std):
        same(words[name].split()[1:len(values) + 1], [f"{v / 255:.4f}" for v in values], name)
    same("stored" in words, bool(o.pipeline), "the line about what is stored")
    same("  y = f['labels'][0]" in text, e.source.has_labels, "the line about labels")
    same("hdf5plugin" in text, any(p[1] == 32015 for p in o.pipeline), "the line about the plugin")
    same("left out" in text, bool(e.rejects) and o.on_error != "blank", "the line about rejects")


SUPERBLOCK = {"earliest": 0, "v18": 2, "v110": 3, "latest": 3}


def check_file(e, path):
    """Everything in the file; returns mean, std and stored bytes."""
    o, source, kept = e.o, e.source, e.kept
    want = e.images()
    valid = [r.fate == "packed" for _, r in kept]
    with open(path, "rb") as f:
        same(f.read(9)[8], SUPERBLOCK[o.libver], "version of the superblock")
    with h5py.File(path, "r") as f:
        stored = check_images(e, f, want)
        mean, std = statistics(want, o, valid)
        mean, std = check_channels(f["images"], "mean", mean), check_channels(f["images"], "std", std)
        names = {"images", "filenames", "original_size"}
        check_texts(f["filenames"], [r.name for _, r in kept])
        check_plain(f["original_size"], "i4",
                    [list(r.size) if r.fate == "packed" else [0, 0] for _, r in kept])
        same([t if isinstance(t, str) else t.decode() for t in f["original_size"].attrs["columns"]],
             ["height", "width"], "columns")
        if source.has_labels:
            names.add("labels")
            check_plain(f["labels"], "i8", [r.label for _, r in kept])
        if source.classes:
            names.add("class_names")
            check_texts(f["class_names"], source.classes)
        if o.seed is not None:
            names.add("source_index")
            check_plain(f["source_index"], "i8", [i for i, _ in kept])
        if o.on_error == "blank":
            names.add("valid")
            check_plain(f["valid"], "u1", [int(v) for v in valid])
        for name, (kind, values) in source.columns.items():
            names.add(name)
            values = [values[i] for i, _ in kept]
            if kind == "text":
                check_texts(f[name], values)
            else:
                check_plain(f[name], kind, values)
        same(sorted(f), sorted(names), "datasets")
        for name in names - {"images", "original_size"}:
            same(len(f[name].attrs), 0, f"attributes of {name}")
        same(sorted(f.attrs), ["h5pack_options", "h5pack_schema", "h5pack_version"], "root attributes")
        check_text(f, "h5pack_schema", "1")
        options = f.attrs["h5pack_options"]
        options = options if isinstance(options, str) else options.decode()
        check_text(f, "h5pack_options", options)
        same(list(json.loads(options).items()), list(o.stored().items()), "h5pack_options")
    return mean, std, stored


def check_counts(e, result, job):
    """What the listing and a look at the headers tell."""
    same((result["listed"], result["ignored"], result["masks"]),
         (len(e.listed), e.source.ignored, 0), "counts of the listing")
    if job != "forecast":
        same((result["packed" if job == "pack" else "compared"], result["rejected"], result["unread"]),
             (len(e.kept), len(e.rejects), e.unread(e.listed)), "counts")


def check_json(e, report, path, mean, std, stored):
    o, result, measured = e.o, report["result"], report["measured"]
    same((report["schema"], report["program"]), ("pack/1", "h5pack"), "schema")
    same(list(report["options"].items()), [("output", path), *o.stored().items()], "options")
    check_counts(e, result, "pack")
    good = [r for r in e.listed if r.fate == "packed"]
    shape = (len(e.kept), *e.sample)
    want = {"job": "pack", "blank": len(e.kept) - len(good), "warned": 0,
            "icc_profiles": sum(r.icc for r in good), "with_alpha": sum(r.alpha for r in good),
            "rotated": sum(r.turned for r in good), "animated": 0,
            "dim_16bit": sum(r.dim for r in good), "pale_16bit": 0, "cut_16bit": 0, "scale16": None,
            "extent": list(shape), "chunk": list(e.chunk), "chunks": e.n_chunks(),
            "pixel_bytes": int(np.prod(shape)), "stored_bytes": stored,
            "file_bytes": os.path.getsize(path), "mean": mean, "std": std}
    if o.verify:
        want["matches"] = True
    same({k: result[k] for k in result if k in want}, want, "result")
    same(set(result) - set(want), {"listed", "packed", "rejected", "ignored", "masks", "unread"}, "keys")
    same([measured[k] for k in ("resumed", "added", "left_out")], [0, 0, 0], "resumed")
    same(measured["verify_ns"] > 0, o.verify, "verify_ns is there when asked for")
    same(measured["sync_ns"] > 0 and measured["elapsed_ns"] >= measured["sync_ns"] + measured["verify_ns"],
         True, f"times: {measured}")
    if not o.max_file < 1 << 20:
        same(measured["source_bytes"], sum(r.bytes for r in e.listed if os.path.exists(r.path)), "source_bytes")


def check_rejects(e, path, err):
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    same((lines[0], lines[-1]), ("path\treason", ""), "first and last line of the rejects")
    rows = [line.split("\t") for line in lines[1:-1]]
    same([row[0] for row in rows], [escaped(r.path) for r in e.rejects], "rejects")
    for row, record in list(zip(rows, e.rejects))[:20]:
        told = f"h5pack: '{escaped(record.path)}': {row[1]}\n"
        if told not in err:
            raise Wrong(f"no line {told!r} in {err!r}")


# ------------------------------------------------------------------------- the runs


def run(words, source):
    result = subprocess.run(["h5pack", *words], input=source.text or b"", capture_output=True, timeout=100)
    result.err = result.stderr.decode()
    return result


def check_fails(e, result, path, says):
    same(result.returncode, 2, "status")
    same(result.stdout, b"", "standard output")
    if says not in result.err:
        raise Wrong(f"no {says!r} in {result.err!r}")
    same(os.path.exists(path), False, "the file")


def check_forecast(e, report):
    """From headers: what decoding would reject counts as packed."""
    o, result = e.o, report["result"]
    check_counts(e, result, "forecast")
    seen = [r for r in e.listed if r.seen]
    n = len(e.listed) if o.on_error == "blank" else len(seen)
    shape = (n, *e.sample)
    n_chunks = int(np.prod([-(-s // c) for s, c in zip(shape, e.chunk)]))
    want = {"job": "forecast", "packed": n, "rejected": len(e.listed) - len(seen),
            "blank": n - len(seen), "unread": e.unread(e.listed), "extent": list(shape),
            "chunk": list(e.chunk), "chunks": n_chunks, "pixel_bytes": int(np.prod(shape)),
            "stored_bytes": n_chunks * int(np.prod(e.chunk)), "scale16": None}
    same({k: result[k] for k in want}, want, "forecast")
    same(set(result) & {"mean", "std", "matches"}, set(), "what a forecast cannot know")
    good = sum(r.fate == "packed" for r in e.listed)
    same(report["measured"]["tried"], good, "images tried")


def damage(e, path, rng):
    """Changes one thing in a copy; returns what --verify says."""
    shutil.copy(path, "damaged.h5")
    names = [n for n in ("images", "labels", "filenames", "class_names", "original_size")
             if n in ("images", "filenames", "original_size") or n == "labels" and e.source.has_labels
             or n == "class_names" and e.source.classes]
    row = rng.randrange(len(e.kept))
    name = rng.choice([*names, "mean", "std", "shorter", "longer"])
    with h5py.File("damaged.h5", "r+") as f:
        if name in ("shorter", "longer"):
            n = len(e.kept) + (1 if name == "longer" else -1)
            f["images"].resize(n, 0)
            for other in set(f) - {"images", "class_names"}:
                values = f[other][()]
                del f[other]
                f[other] = np.resize(values, (n, *values.shape[1:]))
            return "is not in the file" if name == "shorter" else f"holds {n} images, the source gives {n - 1}"
        if name in ("mean", "std"):
            f["images"].attrs[name] = f["images"].attrs[name] + 1e-6
            return f"attribute {name} is not"
        if name == "images":
            at = (row, *(rng.randrange(n) for n in e.sample))
            f["images"][at] ^= 1 << rng.randrange(8)
            is_gone = os.path.basename(e.kept[row][1].name) == "gone.jpg"  # a stand-in, or was it?
            return f"{'' if is_gone else 'pixels differ '}(row {row} of 'damaged.h5'{' has it' if is_gone else ''})"
        if name == "labels":
            f["labels"][row] += rng.choice([-1, 1])
            return f"label differs (row {row} of 'damaged.h5')"
        if name == "original_size":
            f["original_size"][row] += [0, 1]
            return f"original_size is {'%dx%d' % tuple(f['original_size'][row])}, the image's "
        if name == "filenames":
            f["filenames"][row] = b"x"
            return "another image"
        f["class_names"][rng.randrange(len(e.source.classes))] = b"x"
        return "other classes"


def check_verify(e, path, rng):
    """An existing file, as it is and damaged."""
    result = run([*e.source.words, "--verify", "--json", "-o", path], e.source)
    report = json.loads(result.stdout)
    same((result.returncode, report["result"]["job"], report["result"]["matches"]),
         (1 if e.rejects else 0, "compare", True), "the file as it is: " + result.err)
    same(list(report["options"].items()), [("output", path), *e.o.stored().items()], "options compared")
    check_counts(e, report["result"], "compare")
    says = damage(e, path, rng)
    result = run([*e.source.words, "--verify", "--json", "-o", "damaged.h5"], e.source)
    same((result.returncode, json.loads(result.stdout)["result"]["matches"]), (1, False), says)
    if says not in result.err:
        raise Wrong(f"no {says!r} in {result.err!r}")


def check_case(seed):
    """Draws a source and options, runs, compares; returns what was tried."""
    rng = random.Random(seed)
    options = Options(rng)
    source = Source(rng, f"source{seed}", not (options.size or options.crop))
    path = f"out{seed}.h5"
    e = Expected(source, options)
    words = [*source.words, *options.words, "--rejects", "rejects.tsv"]
    what = " ".join(words)
    try:
        result = run([*words, "--json", "-o", path], source)
        if not hasattr(e, "chunk"):
            check_fails(e, result, path, "")
            return what
        if options.on_error == "fail" and e.rejects:
            check_fails(e, result, path, f"'{escaped(e.rejects[0].path)}': "
                        if options.size or options.crop else "")
            return what
        if e.differ:
            check_fails(e, result, path, "differ in size")
            return what
        same(result.returncode, 1 if e.rejects else 0, "status: " + result.err)
        mean, std, stored = check_file(e, path)
        check_json(e, json.loads(result.stdout), path, mean, std, stored)
        check_rejects(e, "rejects.tsv", result.err)
        if rng.random() < 0.3:
            check_summary(e, run([*words, "--force", "-o", path], source).stdout.decode(), path, mean, std)
        if not any(r.seen for r in e.listed):
            return what  # a forecast has nothing to go by
        forecast = run([*source.words, *[w for w in options.words if w != "--verify"],
                        "--dry-run", "--json"], source)
        check_forecast(e, json.loads(forecast.stdout))
        check_verify(e, path, rng)
    except (Wrong, KeyError, ValueError, OSError) as wrong:
        raise Wrong(f"case {seed}: h5pack {what}: {type(wrong).__name__}: {wrong}") from wrong
    return what


def main(folder, n):
    os.chdir(folder)
    first = int(os.environ.get("H5PACK_SEED", "1")) * 1000
    n_wrong = 0
    for seed in range(first, first + n):
        try:
            check_case(seed)
        except Wrong as wrong:
            n_wrong += 1
            note(wrong)
        shutil.rmtree(f"source{seed}")
        if os.path.exists(f"out{seed}.h5"):
            os.unlink(f"out{seed}.h5")
    ok(n_wrong == 0, f"{n} random sources with random options give what they should")
    done()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
