"""WebP and TIFF against Pillow, bit for bit; and what is refused, damaged or too large.

formats.py PIXEL_SERVER FOLDER FORMATS: FORMATS are those of this build. Pillow writes what it
can, the rest of the TIFFs are put together here. Prints TAP.
"""
import io
import os
import random
import struct
import sys
import zlib

import pixels
from pixels import Server, encode, exif, note, ok, random_pixels, skip
from PIL import Image, ImageOps, features

program = os.path.abspath(sys.argv[1])
os.chdir(sys.argv[2])
server = Server(program)


def ask(data, *words):
    with open("image", "wb") as f:
        f.write(data)
    return server.ask("image", *words)


def same(what, data, image, *words):
    """Whether the server has the pixels of `image`, which is in its final mode."""
    got = ask(data, *words)
    if isinstance(got, str) or got[:2] != image.size[::-1] or got[5] != image.tobytes():
        note(f"{what} {words}: {got if isinstance(got, str) else got[:5]}, wanted {image.size[::-1]}")
        with open(f"wrong-{os.path.basename(what).replace(' ', '-')}", "wb") as f:
            f.write(data)
        return False
    probe = ask(data, "probe")
    if isinstance(probe, str) or probe[:2] != got[:2]:
        note(f"{what}: the probe has {probe}")
        return False
    return True


def equals_pillow(what, data, turn=False):
    """In colour, in gray, and on a background; TIFF is turned by Pillow itself."""
    def opened():
        image = Image.open(io.BytesIO(data))
        return ImageOps.exif_transpose(image) if turn else image
    good = same(what, data, opened().convert("RGB"))
    # Pillow knows a shorter way from some modes to gray; ours is by way of RGB
    good = same(what, data, opened().convert("RGB").convert("L"), "gray") and good
    image = opened()
    if image.mode in ("RGBA", "LA", "RGB", "L"):
        image = image.convert("RGBA")
        below = Image.new("RGBA", image.size, (9, 90, 200, 255))
        good = same(what, data, Image.alpha_composite(below, image).convert("RGB"),
                    "background=9,90,200") and good
    return good


def count(sentence, cases):
    cases = list(cases)
    good = sum(cases)
    ok(good == len(cases) and good > 0, f"{len(cases)} {sentence}")


def refused(cases):
    """Whether each is refused in words, by the probe too when it says anything."""
    for name, data in cases:
        got = ask(data)
        if not isinstance(got, str):
            note(f"{name}: accepted")
        elif len(got.partition(" ")[2]) < 20:
            note(f"{name}: says only '{got}'")
        else:
            note(f"{name}: {got}")
            yield True
            continue
        yield False


def damaged(data, rng, n):
    for _ in range(n):
        torn = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            torn[rng.randrange(len(torn))] = rng.randrange(256)
        yield bytes(torn)


def survives(data, n):
    """Damaged bytes give pixels or a sentence, and a probe that agrees."""
    rng = random.Random(len(data))
    for torn in damaged(data, rng, n):
        got, probe = ask(torn), ask(torn, "probe")
        yield not isinstance(probe, str) or probe == got


# -------------------------------------------------------------------------------- WebP


def webp_cases(rng):
    for w, h in ((1, 1), (16, 16), (17, 33), (100, 75), (3, 200)):
        for mode in ("RGB", "RGBA"):
            for options in ({"quality": 80}, {"quality": 5, "method": 6}, {"lossless": True},
                            {"lossless": True, "exact": True, "quality": 0}):
                image = random_pixels(rng, w, h, mode)
                yield f"{w}x{h} {mode} {options}", encode(image, "WEBP", **options)


def test_webp():
    rng = random.Random(1)
    count("WebP, lossy and lossless, with and without transparency, equal Pillow's",
          (equals_pillow(name, data, True) for name, data in webp_cases(rng)))
    image = random_pixels(rng, 31, 20, "RGB")
    count("orientations in WebP equal Pillow's",
          (equals_pillow(f"orientation {o}", encode(image, "WEBP", lossless=lossless, exif=head + exif(o, order)), True)
           for o in range(0, 10) for lossless in (False, True) for head in (b"", b"Exif\0\0") for order in "<>"))
    profile = encode(image, "WEBP", icc_profile=bytes(90000), exif=b"Exif\0\0" + exif(6))
    count("WebP with a profile longer than what is read at first equal Pillow's",
          [equals_pillow("profile", profile, True)])
    frames = [random_pixels(rng, 40, 30, "RGBA") for _ in range(3)]
    moving = [encode(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=lossless)
              for lossless in (False, True)]
    count("animated WebP give the first picture, as Pillow's",
          (equals_pillow("animated", data, True) for data in moving))
    # a first picture that does not fill the canvas
    apart = place_frame(encode(random_pixels(rng, 10, 8, "RGBA"), "WEBP", lossless=True), 40, 30, 6, 4)
    count("animation whose first picture is a part of the canvas equals Pillow's",
          [equals_pillow("part of a canvas", apart, True)])
    plain = encode(random_pixels(rng, 64, 48, "RGB"), "WEBP", quality=70)
    big = bytearray(encode(random_pixels(rng, 8, 8, "RGBA"), "WEBP", exif=exif(1)))
    big[24:30] = b"\xff" * 6
    count("WebP that are none are refused in words", refused([
        ("cut", plain[:len(plain) // 2]), ("cut by a byte", plain[:-1]), ("headers only", plain[:30]),
        ("too large", bytes(big)), ("RIFF of something else", b"RIFF" + plain[4:8] + b"WAVEfmt " + plain[16:]),
        ("EXIF that is not there", encode(image, "WEBP", exif=exif(6))[:-10])]))
    count("damaged WebP end in pixels or a sentence",
          (good for name, data in list(webp_cases(rng))[::5] + [("", moving[0]), ("", profile[-9000:])]
           for good in survives(data, 40)))


def riff(name, data):
    return name + struct.pack("<L", len(data)) + data + b"\0" * (len(data) % 2)


def place_frame(webp, w, h, x, y):
    """An animation of one picture, that of a plain WebP, at a place of a canvas."""
    picture = webp[12:]
    if picture[:4] == b"VP8X":
        picture = picture[18:]
    size = Image.open(io.BytesIO(webp)).size
    three = lambda n: struct.pack("<L", n)[:3]  # noqa: E731
    anmf = three(x // 2) + three(y // 2) + three(size[0] - 1) + three(size[1] - 1) + three(100) + b"\0"
    body = (b"WEBP" + riff(b"VP8X", bytes([0x12, 0, 0, 0]) + three(w - 1) + three(h - 1)) +
            riff(b"ANIM", bytes(6)) + riff(b"ANMF", anmf + picture))
    return b"RIFF" + struct.pack("<L", len(body)) + body


# -------------------------------------------------------------------------------- TIFF

GRAY0, GRAY1, RGB, PALETTE, CMYK, YCBCR = 0, 1, 2, 3, 5, 6


def pack_row(samples, depth, order):
    if depth == 16:
        return struct.pack("%s%dH" % (order, len(samples)), *samples)
    per_byte = 8 // depth
    samples = samples + [0] * (-len(samples) % per_byte)
    return bytes(sum(s << (8 - depth * (k + 1)) for k, s in enumerate(samples[i:i + per_byte]))
                 for i in range(0, len(samples), per_byte))


def packbits(data):
    return b"".join(bytes([len(data[i:i + 128]) - 1]) + data[i:i + 128] for i in range(0, len(data), 128))


COMPRESSORS = {1: bytes, 8: zlib.compress, 32946: zlib.compress, 32773: packbits}


class Tiff:
    """A TIFF of random samples, and its bytes."""

    def __init__(self, rng, w, h, depth, colors, photometric, order="<", compression=1, planar=False,
                 rows=None, tile=None, extra=(), fill=None, tags=(), big=False, next_ifd=0):
        n = colors + len(extra)
        top = (1 << depth) - 1
        pixels_ = [[[rng.choice((0, top, rng.randint(0, top))) if fill is None else fill
                     for _ in range(n)] for _ in range(w)] for _ in range(h)]
        planes = range(n) if planar else (None,)
        tw, th = tile or (w, rows or h)
        parts = []
        for plane in planes:
            for y in range(0, h, th):
                for x in range(0, w, tw):
                    data = b""
                    for row in range(y, y + th if tile else min(y + th, h)):
                        line = [pixels_[min(row, h - 1)][min(col, w - 1)] for col in range(x, x + tw)]
                        line = [s for p in line for s in (p if plane is None else [p[plane]])]
                        data += pack_row(line, depth, order)
                    parts.append(COMPRESSORS[compression](data))
        palette = [rng.randrange(65536) for _ in range(3 << depth)] if photometric == PALETTE else None
        self.tags = [(256, 4, [w]), (257, 4, [h]), (258, 3, [depth] * n), (259, 3, [compression]),
                     (262, 3, [photometric]), (277, 3, [n]), (284, 3, [2 if planar else 1])]
        if palette:
            self.tags.append((320, 3, palette))
        if extra:
            self.tags.append((338, 3, list(extra)))
        if tile:
            self.tags += [(322, 4, [tw]), (323, 4, [th])]
        else:
            self.tags.append((278, 4, [th]))
        self.tags += tags
        self.parts, self.order, self.is_tiled, self.big, self.next_ifd = parts, order, bool(tile), big, next_ifd

    def file(self):
        o = self.order
        head = 16 if self.big else 8
        data = b"".join(self.parts)
        offsets, at = [], head
        for part in self.parts:
            offsets.append(at)
            at += len(part)
        where, sizes = (324, 325) if self.is_tiled else (273, 279)
        tags = sorted([t for t in self.tags if t[0] not in (where, sizes)] +
                      [(where, 4, offsets), (sizes, 4, [len(p) for p in self.parts])])
        at += at % 2
        entry, inline = (20, 8) if self.big else (12, 4)
        rest_at = at + (8 if self.big else 2) + entry * len(tags) + (8 if self.big else 4)
        body, rest = struct.pack(o + ("Q" if self.big else "H"), len(tags)), b""
        for tag, kind, values in tags:
            packed = struct.pack("%s%d%s" % (o, len(values), {3: "H", 4: "L", 1: "B"}[kind]), *values)
            if len(packed) <= inline:
                value = packed.ljust(inline, b"\0")
            else:
                value = struct.pack(o + ("Q" if self.big else "L"), rest_at + len(rest))
                rest += packed + b"\0" * (len(packed) % 2)
            body += struct.pack(o + ("HHQ" if self.big else "HHL"), tag, kind, len(values)) + value
        body += struct.pack(o + ("Q" if self.big else "L"), self.next_ifd)
        mark = b"II" if o == "<" else b"MM"
        start = mark + (struct.pack(o + "HHHQ", 43, 8, 0, at) if self.big else struct.pack(o + "HL", 42, at))
        return start + data + b"\0" * (at - head - len(data)) + body + rest


def ycbcr(rng, w, h, rows, across, down):
    """A TIFF of data units: across x down samples of Y, one of Cb, one of Cr."""
    file = Tiff(rng, w, h, 8, 3, YCBCR, compression=8, rows=rows, tags=[(530, 3, [across, down])])
    units = -(-w // across)
    file.parts = [zlib.compress(rng.randbytes(units * -(-min(rows, h - y) // down) * (across * down + 2)))
                  for y in range(0, h, rows)]
    return file.file()


def tiff_kinds():
    for photometric in (GRAY0, GRAY1):
        for depth in (1, 2, 4, 8):
            yield dict(depth=depth, colors=1, photometric=photometric)
    for depth in (1, 2, 4, 8):
        yield dict(depth=depth, colors=1, photometric=PALETTE)
    yield dict(depth=8, colors=1, photometric=GRAY1, extra=(2,))
    for depth in (8, 16):
        yield dict(depth=depth, colors=3, photometric=RGB)
        for extra in ((0,), (1,), (2,)):
            yield dict(depth=depth, colors=3, photometric=RGB, extra=extra)
    yield dict(depth=8, colors=3, photometric=RGB, extra=(0, 0))
    yield dict(depth=8, colors=3, photometric=RGB, extra=(2, 0))
    yield dict(depth=8, colors=4, photometric=CMYK)


def tiff_layouts():
    yield {}
    yield {"order": ">"}
    yield {"rows": 3}
    yield {"compression": 8, "rows": 5}
    yield {"compression": 32773}
    yield {"compression": 32946, "order": ">", "rows": 1}
    yield {"tile": (16, 16), "compression": 8}
    yield {"tile": (32, 16), "compression": 8, "order": ">"}


def test_tiff_kinds(rng):
    cases = []
    for kind in tiff_kinds():
        for layout in tiff_layouts():
            w, h = rng.randint(1, 50), rng.randint(1, 40)
            data = Tiff(rng, w, h, **kind, **layout).file()
            cases.append(equals_pillow(f"{w}x{h} {kind} {layout}", data))
    count("TIFF of many colours, depths, strips, tiles and byte orders equal Pillow's", cases)
    cases = []
    for kind in tiff_kinds():
        if kind["colors"] + len(kind.get("extra", ())) < 2 or kind["photometric"] == CMYK:
            continue
        for layout in ({}, {"rows": 4, "compression": 8}, {"tile": (16, 16), "compression": 8}):
            w, h = rng.randint(1, 50), rng.randint(1, 40)
            state = rng.getstate()
            together = Tiff(rng, w, h, **kind, **layout).file()
            rng.setstate(state)
            apart = Tiff(rng, w, h, planar=True, **kind, **layout).file()
            cases.append(same(f"planes {kind} {layout}", apart, Image.open(io.BytesIO(together)).convert("RGB")))
    count("TIFF whose planes lie apart give what they do together", cases)


def test_tiff_pillow(rng):
    """What Pillow writes through libtiff."""
    cases = []
    for mode, compressions in (("1", ("raw", "group3", "group4", "tiff_lzw", "packbits")),
                               ("L", ("raw", "tiff_lzw", "jpeg", "tiff_adobe_deflate")),
                               ("RGB", ("raw", "tiff_lzw", "jpeg", "tiff_adobe_deflate", "packbits")),
                               ("RGBA", ("raw", "tiff_lzw")), ("CMYK", ("raw", "tiff_lzw", "jpeg")),
                               ("P", ("raw", "tiff_lzw")), ("YCbCr", ("jpeg",))):
        for compression in compressions:
            for w, h in ((1, 1), (33, 20), (130, 97)):
                image = random_pixels(rng, w, h, "RGB").convert(mode)
                for info in ({}, {317: 2} if compression in ("tiff_lzw", "tiff_adobe_deflate") and mode != "1" else {}):
                    data = encode(image, "TIFF", compression=compression, tiffinfo=info)
                    cases.append(equals_pillow(f"{mode} {compression} {w}x{h} {info}", data))
    count("TIFF that Pillow wrote, compressed in each way, equal Pillow's", cases)
    cases = []
    for across, down in ((1, 1), (2, 1), (2, 2)):
        for w, h, rows in ((24, 16, 16), (24, 16, 4), (17, 9, 8), (2, 2, 2)):  # libtiff 4.7 refuses 1x1
            cases.append(equals_pillow(f"YCbCr {across}x{down} {w}x{h}", ycbcr(rng, w, h, rows, across, down)))
    count("TIFF of YCbCr with and without subsampling equal Pillow's", cases)
    cases = []
    for o in range(0, 10):
        for mode in ("RGB", "L"):
            image = random_pixels(rng, 23, 14, mode)
            for compression in ("raw", "tiff_lzw") if o < 9 else ("raw",):
                cases.append(equals_pillow(f"orientation {o}", encode(
                    image, "TIFF", compression=compression, tiffinfo={274: o} if o else {})))
    count("orientations in TIFF equal Pillow's, which turns them when it opens them", cases)
    pages = [random_pixels(rng, 20 + i, 10, "RGB") for i in range(3)]
    count("TIFF of several pages give the first", [
        same("pages", encode(pages[0], "TIFF", save_all=True, append_images=pages[1:], compression=c), pages[0])
        for c in ("raw", "tiff_lzw")])


def test_tiff_own(rng):
    """Where Pillow is not followed, or does not go."""
    cases = []
    for photometric in (GRAY0, GRAY1):
        for order in "<>":
            for big in (False, True):
                file = Tiff(rng, 19, 7, 16, 1, photometric, order, big=big)
                data = file.file()
                values = struct.unpack(order + "133H", b"".join(file.parts))
                top = bytes((65535 - v if photometric == GRAY0 else v) >> 8 for v in values)
                cases.append(same("16 bits", data, Image.frombytes("L", (19, 7), top), "gray"))
                low, high = sorted(rng.sample(sorted(set(values)), 2))
                scaled = [((min(max(v, low), high) - low) * 255 + (high - low) // 2) // (high - low)
                          for v in values]
                scaled = bytes(255 - v if photometric == GRAY0 else v for v in scaled)
                cases.append(same("scaled", data, Image.frombytes("L", (19, 7), scaled), "gray",
                                  f"scale16={low}:{high}"))
    count("16-bit gray TIFF keep the high byte, or are scaled", cases)
    small = Tiff(rng, 9, 9, 8, 3, RGB)

    def changed(tag, kind, values, **how):
        file = Tiff(rng, 9, 9, **{"depth": 8, "colors": 3, "photometric": RGB, **how})
        file.tags = [t for t in file.tags if t[0] != tag] + [(tag, kind, values)]
        return file.file()
    whole = small.file()
    count("TIFF that are not read are refused in words", refused([
        ("no strips", changed(278, 4, [0])[:200]),
        ("cut", whole[:len(whole) // 2]), ("cut pixels", Tiff(rng, 9, 9, 8, 3, RGB).file()[:100]),
        ("header only", whole[:8]), ("the tags only", whole[:8] + bytes(9)),
        ("floats", changed(339, 3, [3], depth=16, colors=1, photometric=GRAY1)),
        ("signed", changed(339, 3, [2], depth=16, colors=1, photometric=GRAY1)),
        ("Lab", changed(262, 3, [8])), ("a mask", changed(262, 3, [4], colors=1)),
        ("12 bits", changed(258, 3, [12], colors=1, photometric=GRAY1)),
        ("old JPEG", changed(259, 3, [6])), ("an unknown compression", changed(259, 3, [12345])),
        ("a reduced picture", changed(254, 4, [1])),
        ("a wide image", changed(256, 4, [2**31 - 1])), ("a large image", changed(257, 4, [2**27])),
        ("no image", changed(256, 4, [0])),
        ("huge tiles", Tiff(rng, 9, 9, 8, 1, GRAY1, tile=(16, 16),
                            tags=()).file().replace(struct.pack("<HHLL", 322, 4, 1, 16), struct.pack("<HHLL", 322, 4, 1, 1 << 30))),
        ("no palette", changed(262, 3, [3], depth=4, colors=1, photometric=GRAY1)),
    ]))
    count("damaged TIFF end in pixels or a sentence",
          (good for kind in list(tiff_kinds())[::3] for layout in list(tiff_layouts())[::3]
           for good in survives(Tiff(rng, 20, 18, **kind, **layout).file(), 25)))


def main():
    feature = "webp_anim" if "webp_anim" in features.features else "webp"  # Pillow 11 always has both
    if "WEBP" in sys.argv[3] and features.check(feature):
        test_webp()
    else:
        skip("this build or this Pillow does not read WebP")
    if "TIFF" in sys.argv[3] and features.check("libtiff"):
        rng = random.Random(2)
        test_tiff_kinds(rng)
        test_tiff_pillow(rng)
        test_tiff_own(rng)
    else:
        skip("this build or this Pillow does not read TIFF")
    ok(server.close() == 0, "the server ends well")
    print(f"1..{pixels.n_tests}")
    return pixels.n_failed != 0


sys.exit(main())
