"""Compares decoding and resampling with Pillow 9.4, bit for bit, and with a manifest of odd files.

Usage: pixels.py PIXEL_SERVER [CASES]; CASES random resize cases (default 120, in long runs 300).
"""
import csv
import hashlib
import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

try:
    import PIL
    from PIL import Image, ImageOps
    import across_first  # noqa: F401 (what it is imported for, it does at once)
except ImportError:
    PIL = None

LONG = bool(os.environ.get("H5PACK_LONG"))
FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
n_tests = n_failed = 0


def ok(passed, sentence):
    global n_tests, n_failed
    n_tests += 1
    n_failed += not passed
    print(f"{'' if passed else 'not '}ok {n_tests} - {sentence}", flush=True)


def skip(reason):
    global n_tests
    n_tests += 1
    print(f"ok {n_tests} # SKIP {reason}")


def note(text):
    print(f"# {text}")


class Server:
    """tests/pixel_server: one process for all requests."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, path, *words):
        """(height, width, channels, orientation, warnings, bytes), or the text of an error."""
        line = "\t".join(["file=" + path, *words]) + "\n"
        self.process.stdin.write(os.fsencode(line))
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode("utf-8", "replace").rstrip("\n")
        kind, _, rest = answer.partition(" ")
        if kind == "ok":
            h, w, c, orientation, warnings = map(int, rest.split())
            return h, w, c, orientation, warnings, self.process.stdout.read(h * w * c)
        if kind != "error":
            raise SystemExit(f"Bail out! {words} on {path}: the server answered '{answer}'")
        return rest

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


# ------------------------------------------------------------------- what Pillow gives


def draft_size(image, g):
    """What the whole image would be resized to: what draft() is asked for."""
    w, h = image.size
    if "shorter" in g:
        short, long = min(w, h), max(w, h)
        longer = int(g["shorter"] * long / short)
        return (g["shorter"], longer) if w <= h else (longer, g["shorter"])
    size = g["size"][::-1]
    return ImageOps.contain(image, size).size if g["fit"] == "pad" else size


def pillow_decode(path, gray, background=None, as_stored=False, draft=None):
    image = Image.open(path)
    if draft:
        turned = not as_stored and image.getexif().get(0x0112) in (5, 6, 7, 8)
        upright = Image.new("L", image.size[::-1] if turned else image.size)
        size = draft_size(upright, draft)
        image.draft("RGB", size[::-1] if turned else size)
    if not as_stored:
        image = ImageOps.exif_transpose(image)
    if background is not None:
        below = Image.new("RGBA", image.size, tuple(background) + (255,))
        image = Image.alpha_composite(below, image.convert("RGBA"))
    return image.convert("L" if gray else "RGB")


def torchvision_resize(image, shorter, resample):
    w, h = image.size
    short, long = (w, h) if w <= h else (h, w)
    new_short, new_long = shorter, int(shorter * long / short)
    new_w, new_h = (new_short, new_long) if w <= h else (new_long, new_short)
    return image.resize((new_w, new_h), resample)


def torchvision_center_crop(image, crop_h, crop_w):
    w, h = image.size
    if crop_w > w or crop_h > h:
        left = (crop_w - w) // 2 if crop_w > w else 0
        top = (crop_h - h) // 2 if crop_h > h else 0
        right = (crop_w - w + 1) // 2 if crop_w > w else 0
        bottom = (crop_h - h + 1) // 2 if crop_h > h else 0
        image = ImageOps.expand(image, (left, top, right, bottom), 0)
        w, h = image.size
        if (crop_w, crop_h) == (w, h):
            return image
    top = int(round((h - crop_h) / 2.0))
    left = int(round((w - crop_w) / 2.0))
    return image.crop((left, top, left + crop_w, top + crop_h))


def pillow_geometry(image, g):
    resample = getattr(Image.Resampling, g["filter"].upper())
    if "size" in g:
        h, w = g["size"]
        if g["fit"] == "crop":
            return ImageOps.fit(image, (w, h), resample)
        if g["fit"] == "pad":
            return ImageOps.pad(image, (w, h), resample)
        return image.resize((w, h), resample)
    if "shorter" in g:
        image = torchvision_resize(image, g["shorter"], resample)
    if "crop" in g:
        image = torchvision_center_crop(image, *g["crop"])
    return image


def geometry_words(g):
    words = ["filter=" + g["filter"]]
    if "size" in g:
        words += ["size=%dx%d" % g["size"], "fit=" + g["fit"]]
    if "shorter" in g:
        words.append("shorter=%d" % g["shorter"])
    if "crop" in g:
        words.append("crop=%dx%d" % g["crop"])
    return words


def to_planes(data, channels):
    return b"".join(data[c::channels] for c in range(channels))


# ------------------------------------------------------------------------------ inputs


def random_pixels(rng, w, h, mode):
    """Noise, or noise on large flat areas, whose edges make filters overshoot."""
    bands = len(mode)
    if rng.random() < 0.5:
        return Image.frombytes(mode, (w, h), rng.randbytes(w * h * bands))
    small = Image.frombytes(mode, (4, 4), bytes(rng.choice((0, 255, 128)) for _ in range(16 * bands)))
    return small.resize((w, h), Image.Resampling.NEAREST)


def random_side(rng):
    return rng.choice([1, 2, 3, rng.randint(1, 20), rng.randint(1, 120), rng.randint(50, 700)])


def random_geometry(rng):
    g = {"filter": rng.choice(FILTERS)}
    kind = rng.randrange(6)
    if kind < 3:
        g["size"] = (random_side(rng), random_side(rng))
        g["fit"] = ("crop", "pad", "stretch")[kind]
    if kind in (3, 4):
        g["shorter"] = min(random_side(rng), 300)
    if kind in (4, 5):
        g["crop"] = (random_side(rng), random_side(rng))
    return g


def exif(orientation, byte_order="<"):
    """A TIFF structure whose only tag is the orientation."""
    head = b"II*\0" if byte_order == "<" else b"MM\0*"
    return head + struct.pack(byte_order + "LHHHLHHL", 8, 1, 274, 3, 1, orientation, 0, 0)


def chunk(kind, data):
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))


def insert_chunks(png, *chunks):
    """Puts chunks behind the header of a PNG."""
    return png[:33] + b"".join(chunks) + png[33:]


def encode(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


# -------------------------------------------------------------------------------- tests


def check(server, path, gray=False, background=None, geometry=None, words=(), variants=(0, 1, 2)):
    """True when all variants give Pillow's bytes; says what differs."""
    draft = geometry if "draft" in words else None
    image = pillow_decode(path, gray, background, "as-stored" in words, draft)
    words = list(words) + (["gray"] if gray else [])
    if background is not None:
        words.append("background=%d,%d,%d" % tuple(background))
    if geometry:
        image = pillow_geometry(image, geometry)
        words += geometry_words(geometry)
    want = image.tobytes()
    if "nchw" in words:
        want = to_planes(want, len(image.mode))
    for variant in variants:
        got = server.ask(path, *words, "variant=%d" % variant)
        if isinstance(got, str) or got[:2] != image.size[::-1] or got[5] != want:
            what = got if isinstance(got, str) else f"{got[:5]}, Pillow has {image.size[::-1]}"
            note(f"{path} {words} variant {variant}: {what}")
            return False
    return True


def test_manifest(server, folder):
    manifest = os.path.join(folder, "MANIFEST.tsv")
    with open(manifest, newline="", encoding="utf-8", errors="surrogateescape") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    wrong = accepted = silent = unlike = strict = 0
    for row in rows:
        path = os.path.join(folder, row["file"])
        got = server.ask(path)
        if row["expect"] == "ok":
            gray16 = row["detail"].startswith("ct0 16bit")
            want = row["rgb_strip16_sha256" if gray16 else "rgb_sha256"]
            if isinstance(got, str) or hashlib.sha256(got[5]).hexdigest() != want:
                note(f"{row['file']}: {got if isinstance(got, str) else 'other pixels'}")
                wrong += 1
        if row["expect"] == "error" and not isinstance(got, str):
            # WebP and TIFF by other names are read where the build has them
            if row["format"] not in ("WEBP", "TIFF") or hashlib.sha256(got[5]).hexdigest() != row["rgb_sha256"]:
                note(f"{row['file']}: accepted")
                accepted += 1
        if isinstance(got, str) and len(got.partition(" ")[2]) < 20:
            note(f"{row['file']}: says only '{got}'")
            silent += 1
        probe = server.ask(path, "probe")
        refused_early = isinstance(probe, str)
        if refused_early and probe != got:
            unlike += 1
            note(f"{row['file']}: the probe says {probe}")
        if not refused_early and not isinstance(got, str) and probe[:2] != got[:2]:
            unlike += 1
            note(f"{row['file']}: the probe has {probe[:2]}")
        if not isinstance(got, str) and got[4]:
            strict += not isinstance(server.ask(path, "strict"), str)
    n = {kind: sum(row["expect"] == kind for row in rows) for kind in ("ok", "error", "warn")}
    ok(wrong == 0, f"{n['ok']} good files have the manifest's pixels")
    ok(accepted == 0, f"{n['error']} bad files are refused")
    ok(silent == 0, "every refusal says why")
    ok(unlike == 0, "headers alone give the same size, and the same refusals where they refuse")
    ok(strict == 0, "what decodes with a warning is refused when strict")


def test_manifest_gray(server, folder):
    with open(os.path.join(folder, "MANIFEST.tsv"), newline="", encoding="utf-8",
              errors="surrogateescape") as f:
        rows = [row for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)
                if row["expect"] == "ok" and not row["detail"].startswith("ct0 16bit")]
    good = sum(check(server, os.path.join(folder, row["file"]), gray=True, variants=(0,))
               for row in rows)
    ok(good == len(rows), f"{len(rows)} good files have Pillow's pixels in gray")


def test_random(server, work, cases):
    rng = random.Random(2)
    path = os.path.join(work, "random.png")
    good = done = 0
    while done < cases:
        image = random_pixels(rng, random_side(rng), random_side(rng), rng.choice(("RGB", "L")))
        geometry = random_geometry(rng)
        image.save(path, compress_level=0)
        try:
            pillow_geometry(image, geometry)
        except ValueError:  # ImageOps.pad() with a side of no pixels
            continue
        done += 1
        good += check(server, path, gray=image.mode == "L", geometry=geometry,
                      words=["nchw"] if rng.random() < 0.5 else [])
    ok(good == cases, f"{cases} random images, sizes, fits and filters equal Pillow, all variants")


def test_sizes(server, work):
    """Every filter on the sizes that break things."""
    sizes = [(1, 1), (1, 7), (7, 1), (2, 2), (5, 4), (31, 33), (640, 3), (3, 640), (257, 129)]
    targets = [(1, 1), (1, 50), (50, 1), (33, 31), (129, 257), (5, 4)]
    rng = random.Random(3)
    path = os.path.join(work, "sizes.png")
    wrong = {name: 0 for name in FILTERS}
    for w, h in sizes:
        for mode in ("RGB", "L"):
            random_pixels(rng, w, h, mode).save(path, compress_level=0)
            for name in FILTERS:
                for target in targets:
                    geometry = {"filter": name, "size": target, "fit": "stretch"}
                    wrong[name] += not check(server, path, gray=mode == "L", geometry=geometry)
    for name in FILTERS:
        ok(wrong[name] == 0, f"{name} equals Pillow from {len(sizes)} to {len(targets)} sizes")


def test_photo_geometry(server, work):
    """What training uses: shorter side 256, crop 224, of many aspect ratios."""
    rng = random.Random(4)
    path = os.path.join(work, "photo.png")
    good = n = 0
    sides = [(500, 375), (255, 257), (400, 100), (375, 500), (500, 333), (256, 256), (640, 427)]
    for w, h in sides if LONG else sides[:3]:
        random_pixels(rng, w, h, "RGB").save(path, compress_level=0)
        for name in FILTERS:
            for geometry in ({"shorter": 256, "crop": (224, 224)}, {"size": (224, 224), "fit": "crop"},
                             {"size": (224, 224), "fit": "pad"}, {"crop": (300, 301)}):
                n += 1
                good += check(server, path, geometry={"filter": name, **geometry})
    ok(good == n, f"{n} ways to make a training sample equal Pillow and torchvision")


def test_window(server, work):
    """JPEGs of which only the part is decoded that the sample shows."""
    rng = random.Random(14)
    path = os.path.join(work, "window.jpg")
    good = n = 0
    for _ in range(120 if LONG else 50):
        image = random_pixels(rng, rng.randint(1, 400), rng.randint(1, 400), rng.choice(("RGB", "L")))
        geometry = random_geometry(rng)
        image.save(path, "JPEG", subsampling=rng.randrange(3), progressive=rng.random() < 0.2,
                   exif=b"Exif\0\0" + exif(rng.choice((1, 1, 1, 6))))
        try:
            pillow_geometry(pillow_decode(path, False), geometry)
        except ValueError:
            continue
        n += 1
        good += check(server, path, rng.random() < 0.3, geometry=geometry, words=["window"],
                      variants=(0,))
    ok(good == n, f"{n} JPEGs, decoded as far as their sample needs, equal Pillow")


def draft_geometries(rng, w, h):
    """Sizes around those where the next scale begins, in every kind of fit."""
    for by in (1, 2, 4, 8, 11):
        short = max(1, min(w, h) // by - rng.randrange(2))
        box = (max(1, h // by - rng.randrange(2)), max(1, w // by - rng.randrange(2)))
        name = rng.choice(FILTERS)
        yield {"filter": name, "shorter": short}
        yield {"filter": name, "shorter": short, "crop": (max(1, short * 7 // 8),) * 2}
        for fit in ("crop", "pad", "stretch"):
            yield {"filter": name, "size": box if rng.random() < 0.5 else (short, short), "fit": fit}


def check_draft(server, path, rng, words=()):
    """(files that were compared, those that Pillow reduced, those that are wrong)"""
    n = reduced = wrong = 0
    with Image.open(path) as image:
        sides = image.size
    for geometry in draft_geometries(rng, *sides):
        try:
            drafted = pillow_decode(path, False, draft=geometry)
            pillow_geometry(drafted, geometry)
        except ValueError:  # ImageOps.pad() with a side of no pixels
            continue
        n += 1
        reduced += sorted(drafted.size) != sorted(sides)
        wrong += not check(server, path, rng.random() < 0.2, geometry=geometry,
                           words=["draft", "window", *words], variants=(0,))
    return n, reduced, wrong


def test_draft(server, work):
    rng = random.Random(15)
    path = os.path.join(work, "draft.jpg")
    total = [0, 0, 0]
    for k in range(90 if LONG else 15):
        w, h = rng.choice([(rng.randint(1, 40), rng.randint(1, 40)),
                           (rng.randint(100, 900), rng.randint(100, 900)),
                           (8 * rng.randint(1, 60), 16 * rng.randint(1, 30))])
        image = random_pixels(rng, w, h, rng.choice(("RGB", "RGB", "L", "CMYK")))
        image.save(path, "JPEG", subsampling=k % 3, progressive=k % 5 == 4,
                   quality=rng.randint(30, 95), exif=b"Exif\0\0" + exif(rng.choice((1, 1, 3, 6))))
        words = ["as-stored"] if rng.random() < 0.2 else []
        total = [a + b for a, b in zip(total, check_draft(server, path, rng, words))]
    ok(total[2] == 0 and total[1] > total[0] // 2,
       f"{total[0]} JPEGs resized from drafts, {total[1]} of them reduced, equal Pillow's draft()")
    image.convert("RGB").save(path, "PNG")
    ok(check_draft(server, path, rng) == (25, 0, 0), "a PNG has no draft, as in Pillow")


def test_manifest_draft(server, folder):
    rng = random.Random(16)
    total, n = [0, 0, 0], 0
    with open(os.path.join(folder, "MANIFEST.tsv"), newline="", encoding="utf-8",
              errors="surrogateescape") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["expect"] == "ok" and row["format"] in ("JPEG", "MPO"):
                n += 1
                path = os.path.join(folder, row["file"])
                total = [a + b for a, b in zip(total, check_draft(server, path, rng))]
    ok(total[2] == 0 and total[1] > total[0] // 2,
       f"{n} good JPEGs of every sampling, in {total[0]} sizes, equal Pillow's draft()")


def test_orientation(server, work):
    rng = random.Random(5)
    path = os.path.join(work, "orientation")
    bad = []
    for orientation in range(0, 10):
        for w, h in ((37, 21), (16, 33), (1, 40), (40, 1)):
            for mode in ("RGB", "L"):
                image = random_pixels(rng, w, h, mode)
                jpeg = encode(image, "JPEG", exif=b"Exif\0\0" + exif(orientation, ">"))
                progressive = encode(image, "JPEG", progressive=True, exif=b"Exif\0\0" + exif(orientation))
                png = insert_chunks(encode(image, "PNG"), chunk(b"eXIf", exif(orientation)))
                for data in (jpeg, progressive, png):
                    with open(path, "wb") as f:
                        f.write(data)
                    for gray in (False, True):
                        for words in ([], ["as-stored"]):
                            if not check(server, path, gray, words=words, variants=(0,)):
                                bad.append((orientation, w, h, mode))
    ok(not bad, f"eight orientations and two that are none, in JPEG and PNG, equal Pillow {bad[:3]}")


def ifd(entries, byte_order="<"):
    """A TIFF structure of (tag, type, count, four bytes) entries."""
    head = b"II*\0" if byte_order == "<" else b"MM\0*"
    data = head + struct.pack(byte_order + "LH", 8, len(entries))
    for tag, kind, count, value in entries:
        data += struct.pack(byte_order + "HHL", tag, kind, count) + value
    return data + bytes(4)


def test_exif(server, work):
    """Directories that stand on their heads, in PNG; each against Pillow."""
    six = b"\6\0\0\0"
    at_26 = struct.pack("<L", 26)
    cases = {
        "a short": ifd([(274, 3, 1, six)]),
        "a byte": ifd([(274, 1, 1, six)]),
        "a text": ifd([(274, 2, 1, six)]),
        "a long": ifd([(274, 4, 1, six)]),
        "a signed byte": ifd([(274, 6, 1, six)]),
        "an opaque value": ifd([(274, 7, 1, six)]),
        "a signed short": ifd([(274, 8, 1, six)]),
        "a signed long": ifd([(274, 9, 1, six)]),
        "a float": ifd([(274, 11, 1, struct.pack("<f", 6))]),
        "a broken float": ifd([(274, 11, 1, struct.pack("<f", 6.5))]),
        "an unknown type": ifd([(274, 14, 1, six)]),
        "two shorts": ifd([(274, 3, 2, b"\6\0\3\0")]),
        "no value": ifd([(274, 3, 0, six)]),
        "a double elsewhere": ifd([(274, 12, 1, at_26)]) + struct.pack("<d", 6),
        "a ratio": ifd([(274, 5, 1, at_26)]) + struct.pack("<LL", 12, 2),
        "a ratio of nothing": ifd([(274, 5, 1, at_26)]) + struct.pack("<LL", 12, 0),
        "a negative ratio": ifd([(274, 10, 1, at_26)]) + struct.pack("<ll", -12, -2),
        "a long long": ifd([(274, 16, 1, at_26)]) + struct.pack("<Q", 6),
        "shorts elsewhere": ifd([(274, 3, 3, at_26)]) + struct.pack("<HHH", 6, 1, 1),
        "values outside": ifd([(274, 3, 3, struct.pack("<L", 5000))]),
        "damage before": ifd([(271, 2, 99, struct.pack("<L", 5000)), (274, 3, 1, six)]),
        "damage behind": ifd([(274, 3, 1, six), (271, 2, 99, struct.pack("<L", 5000))]),
        "the last of two": ifd([(274, 3, 1, b"\3\0\0\0"), (274, 3, 1, six)]),
        "the last good of two": ifd([(274, 3, 1, six), (274, 3, 0, b"\3\0\0\0")]),
        "big endian": ifd([(274, 3, 1, b"\0\6\0\0")], ">"),
        "a swapped magic number": b"II\0*" + ifd([(274, 3, 1, six)])[4:],
        "a cut directory": ifd([(274, 3, 1, six), (271, 2, 1, six)])[:-10],
        "a count too high": b"II*\0" + struct.pack("<LH", 8, 900) + ifd([(274, 3, 1, six)])[10:],
    }
    rng = random.Random(6)
    plain = encode(random_pixels(rng, 5, 3, "RGB"), "PNG")
    path = os.path.join(work, "exif.png")
    bad = []
    for name, data in cases.items():
        with open(path, "wb") as f:
            f.write(insert_chunks(plain, chunk(b"eXIf", data)))
        if not check(server, path, variants=(0,)):
            bad.append(name)
    ok(not bad, f"{len(cases)} odd ways to write an orientation equal Pillow {bad}")


def test_png_metadata(server, work):
    """Which of several texts counts."""
    def itxt(value, key=b"XML:com.adobe.xmp", packed=False):
        data = zlib.compress(value) if packed else value
        return chunk(b"iTXt", key + b"\0" + bytes([packed, 0]) + b"\0\0" + data)

    def raw(orientation, packed=True, head=b"\nexif\n      26\n", body=None):
        data = b"Exif\0\0" + exif(orientation)
        text = head + (body or b"\n".join(data.hex().encode()[i:i + 72] for i in range(0, 200, 72)))
        key = b"Raw profile type exif\0"
        return chunk(b"zTXt", key + b"\0" + zlib.compress(text)) if packed else chunk(b"tEXt", key + text)

    six, three = b'<x tiff:Orientation="6"/>', b"<tiff:Orientation>3</tiff:Orientation>"
    rng = random.Random(7)
    plain = encode(random_pixels(rng, 5, 3, "RGB"), "PNG")
    tail = len(plain) - 12

    def behind(*chunks):
        return plain[:tail] + b"".join(chunks) + plain[tail:]

    cases = {
        "XMP attribute": insert_chunks(plain, itxt(six)),
        "XMP element": insert_chunks(plain, itxt(three)),
        "compressed XMP": insert_chunks(plain, itxt(six, packed=True)),
        "last XMP": insert_chunks(plain, itxt(six), itxt(three)),
        "XMP that is not UTF-8": insert_chunks(plain, itxt(six + b"\xff")),
        "XMP after a false start": insert_chunks(plain, itxt(b"tiff:Orientation=6 " + six)),
        "XMP in tEXt": insert_chunks(plain, chunk(b"tEXt", b"XML:com.adobe.xmp\0" + six)),
        "EXIF before XMP": insert_chunks(plain, itxt(six), chunk(b"eXIf", exif(8))),
        "XMP behind the pixels": behind(itxt(six)),
        "EXIF behind the pixels": behind(chunk(b"eXIf", exif(6))),
        "EXIF on both sides": insert_chunks(behind(chunk(b"eXIf", exif(6))), chunk(b"eXIf", exif(3))),
        "EXIF in front, XMP behind": insert_chunks(behind(itxt(six)), chunk(b"eXIf", ifd([]))),
        "raw profile": insert_chunks(plain, raw(6)),
        "raw profile in tEXt": insert_chunks(plain, raw(6, packed=False)),
        "raw profile and EXIF": insert_chunks(plain, raw(6), chunk(b"eXIf", exif(3))),
        "raw profile and XMP": insert_chunks(plain, raw(6), itxt(three)),
        "EXIF in a text": insert_chunks(plain, chunk(b"tEXt", b"exif\0Exif\0\0" + exif(6))),
        "another key": insert_chunks(plain, itxt(six, key=b"XML:com.adobe")),
        "damaged compressed text": insert_chunks(
            plain, itxt(three), chunk(b"zTXt", b"XML:com.adobe.xmp\0\0\x78\x9c\xff\xff")),
        "compressed text that ends early": insert_chunks(
            plain, chunk(b"zTXt", b"XML:com.adobe.xmp\0\0" + zlib.compress(six + bytes(500))[:-6])),
    }
    path = os.path.join(work, "metadata.png")
    bad = []
    for name, data in cases.items():
        with open(path, "wb") as f:
            f.write(data)
        if not check(server, path, variants=(0,)):
            bad.append(name)
    ok(not bad, f"{len(cases)} places of an orientation in a PNG equal Pillow {bad}")


def write_png(path, w, h, depth, color_type, rng, extra=()):
    """A PNG of random samples, any kind, filter 0."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color_type]
    row_bytes = (w * channels * depth + 7) // 8
    rows = b"".join(b"\0" + rng.randbytes(row_bytes) for _ in range(h))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n")
        f.write(chunk(b"IHDR", struct.pack(">LLBBBBB", w, h, depth, color_type, 0, 0, 0)))
        for kind, data in extra:
            f.write(chunk(kind, data))
        f.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_png_kinds(server, work):
    rng = random.Random(8)
    path = os.path.join(work, "kind.png")
    bad = []
    kinds = [(0, 1), (0, 2), (0, 4), (0, 8), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8),
             (4, 8), (4, 16), (6, 8), (6, 16)]
    for color_type, depth in kinds:
        for w, h in ((1, 1), (7, 5), (33, 18), (64, 40)):
            extra = [(b"PLTE", rng.randbytes(3 * min(2**depth, 200)))] if color_type == 3 else []
            write_png(path, w, h, depth, color_type, rng, extra)
            for gray in (False, True):
                if not check(server, path, gray, variants=(0,)):
                    bad.append((color_type, depth))
    ok(not bad, f"{len(kinds)} kinds of PNG equal Pillow, also beyond their palette {bad}")


def test_background(server, work):
    rng = random.Random(9)
    path = os.path.join(work, "alpha.png")
    bad = []
    palette = [(b"PLTE", rng.randbytes(768)), (b"tRNS", rng.randbytes(200))]
    one = [(b"PLTE", rng.randbytes(768)), (b"tRNS", b"\xff\0\xff")]
    kinds = {"gray and alpha": (4, 8, []), "RGB and alpha": (6, 8, []),
             "deep gray and alpha": (4, 16, []), "deep RGB and alpha": (6, 16, []),
             "palette with alpha": (3, 8, palette), "palette with one hole": (3, 8, one),
             "gray key": (0, 8, [(b"tRNS", b"\0\x55")]),
             "RGB key": (2, 8, [(b"tRNS", b"\0\x10\0\x20\0\x30")]),
             "opaque gray": (0, 8, []), "opaque RGB": (2, 8, [])}
    for name, (color_type, depth, extra) in kinds.items():
        write_png(path, 64, 50, depth, color_type, rng, extra)
        for background in ((0, 0, 0), (255, 255, 255), (13, 200, 90)):
            for gray in (False, True):
                if not check(server, path, gray, background, variants=(0,)):
                    bad.append(name)
    ok(not bad, f"{len(kinds)} kinds of transparency on a background equal alpha_composite() {bad}")
    # every source value at every alpha
    rgba = bytes(v for a in range(256) for s in range(256) for v in (s, 255 - s, s, a))
    image = Image.frombytes("RGBA", (256, 256), rgba)
    image.save(path)
    background = (77, 3, 250)
    pasted = Image.new("RGB", image.size, background)
    pasted.paste(image, mask=image.getchannel("A"))
    same = check(server, path, False, background, variants=(0,))
    ok(same and server.ask(path, "background=77,3,250")[5] == pasted.tobytes(),
       "all values at all alphas equal alpha_composite() and paste()")
    # a key of a shallow image is compared at its own depth, unlike in Pillow
    for depth in (1, 2, 4):
        write_png(path, 16, 4, depth, 0, random.Random(10), [(b"tRNS", b"\0\1")])
        shown = server.ask(path)[5]
        value = 255 // (2**depth - 1)
        want = b"".join(b"\7\7\7" if v == value else bytes([v] * 3) for v in shown[::3])
        if server.ask(path, "background=7,7,7")[5] != want:
            bad.append(depth)
    ok(not bad, f"a colour key is compared at the depth of its file {bad}")


def test_jpeg_kinds(server, work):
    rng = random.Random(11)
    path = os.path.join(work, "kind.jpg")
    bad = []
    for mode in ("RGB", "L", "CMYK"):
        for w, h in ((1, 1), (8, 8), (17, 16), (33, 65), (100, 37)):
            for options in ({}, {"quality": 30}, {"subsampling": 0}, {"subsampling": 1},
                            {"progressive": True}, {"optimize": True, "quality": 97}):
                mode_bands = {"CMYK": 4, "RGB": 3, "L": 1}[mode]
                image = Image.frombytes(mode, (w, h), rng.randbytes(w * h * mode_bands))
                image.save(path, "JPEG", **options)
                for gray in (False, True):
                    if not check(server, path, gray, variants=(0,)):
                        bad.append((mode, options))
    ok(not bad, f"three kinds of JPEG in six encodings equal Pillow {bad[:2]}")


def test_truncation(server, work):
    """Cut anywhere, a JPEG is read where Pillow reads it, and a PNG never."""
    rng = random.Random(12)
    path = os.path.join(work, "cut")
    image = random_pixels(rng, 40, 30, "RGB")
    unlike = 0
    for options in ({"quality": 50}, {"quality": 50, "progressive": True}):
        whole = encode(image, "JPEG", **options)
        for size in [*range(0, len(whole), 37), *range(len(whole) - 40, len(whole) + 1)]:
            with open(path, "wb") as f:
                f.write(whole[:size])
            try:
                pixels = Image.open(path).convert("RGB").tobytes()
            except (OSError, SyntaxError):
                pixels = None
            got = server.ask(path)
            unlike += (None if isinstance(got, str) else got[5]) != pixels
    ok(unlike == 0, "a cut JPEG is accepted exactly where Pillow accepts it")
    whole = encode(image, "PNG")
    accepted = 0
    for size in range(len(whole)):
        with open(path, "wb") as f:
            f.write(whole[:size])
        accepted += not isinstance(server.ask(path), str)
    ok(accepted == 0, "a cut PNG is refused wherever it is cut")


def test_damage(server, work):
    """Flipped bits: no crash, and the same pixels as Pillow where both read a JPEG."""
    rng = random.Random(13)
    path = os.path.join(work, "damaged")
    unlike = both = 0
    for kind, options in (("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {})):
        whole = encode(random_pixels(rng, 48, 31, "RGB"), kind, **options)
        for _ in range(150):
            data = bytearray(whole)
            for _ in range(rng.choice((1, 1, 3))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            with open(path, "wb") as f:
                f.write(data)
            got = server.ask(path)
            try:
                pixels = ImageOps.exif_transpose(Image.open(path)).convert("RGB").tobytes()
            except Exception:
                continue
            if not isinstance(got, str):
                both += 1
                unlike += got[5] != pixels
    ok(unlike == 0 and both > 50, f"{both} damaged files that both read have the same pixels")


def main():
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 300 if LONG else 120
    if PIL is None or not PIL.__version__.startswith("9.4."):
        have = "no Pillow" if PIL is None else f"Pillow {PIL.__version__}"
        print(f"1..0 # SKIP {have}, these are Pillow 9.4's pixels")
        return 0
    warnings.simplefilter("ignore")
    Image.MAX_IMAGE_PIXELS = None
    server = Server(sys.argv[1])
    shared = os.environ.get("H5PACK_SHARED") or os.path.join(
        os.environ.get("top_srcdir", "."), "..", "shared")
    odd = os.path.join(shared, "data", "odd")
    if os.path.isdir(odd):
        test_manifest(server, odd)
        test_manifest_gray(server, odd)
        test_manifest_draft(server, odd)
    else:
        skip("no data/odd among the shared test data")
    with tempfile.TemporaryDirectory() as work:
        test_sizes(server, work)
        test_photo_geometry(server, work)
        test_random(server, work, cases)
        test_window(server, work)
        test_draft(server, work)
        test_orientation(server, work)
        test_exif(server, work)
        test_png_metadata(server, work)
        test_png_kinds(server, work)
        test_background(server, work)
        test_jpeg_kinds(server, work)
        test_truncation(server, work)
        test_damage(server, work)
    ok(server.close() == 0, "the server ends well")
    print(f"1..{n_tests}")
    return n_failed != 0


if __name__ == "__main__":
    sys.exit(main())
