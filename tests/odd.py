"""Odd images, made here byte by byte: PNG of every kind, orientations, and what is to be refused.

odd.py PIXEL_SERVER JPEG: JPEG is any baseline image, to be operated on. Needs nothing but Python,
so that it runs where pixels.py, which asks one version of Pillow, cannot: the pixels of a PNG
are known from how it was made, those of a turned JPEG from the JPEG. Prints TAP.
"""
import os
import random
import struct
import sys
import tempfile
import zlib

import pixels
from pixels import Server, chunk, exif, note, ok

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


# --------------------------------------------------------------------------------- PNG


def pack_row(samples, depth):
    if depth == 16:
        return struct.pack(">%dH" % len(samples), *samples)
    per_byte = 8 // depth
    samples = samples + [0] * (-len(samples) % per_byte)
    return bytes(sum(s << (8 - depth * (k + 1)) for k, s in enumerate(samples[i:i + per_byte]))
                 for i in range(0, len(samples), per_byte))


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def filter_rows(rows, kind, step):
    out, above = b"", b"\0" * max(map(len, rows), default=0)
    for row in rows:
        out += bytes([kind])
        for i, x in enumerate(row):
            left = row[i - step] if i >= step else 0
            corner = above[i - step] if i >= step else 0
            out += bytes([(x - (0, left, above[i], (left + above[i]) // 2,
                                paeth(left, above[i], corner))[kind]) % 256])
        above = row
    return out


class Png:
    """A random image; its bytes, and its pixels as RGB."""

    def __init__(self, rng, w, h, depth, color, interlaced=0, kind=0):
        n = CHANNELS[color]
        self.w, self.h, self.header = w, h, [w, h, depth, color, 0, 0, interlaced]
        palette = rng.randbytes(3 << depth) if color == 3 else b""
        rows = [[rng.randrange(1 << depth) for _ in range(w * n)] for _ in range(h)]
        self.rgb = b"".join(self.pixel(row[i:i + n], depth, color, palette)
                            for row in rows for i in range(0, w * n, n))
        step = max(1, n * depth // 8)
        passes = ADAM7 if interlaced else ((0, 0, 1, 1),)
        data = b""
        for x, y, dx, dy in passes:
            part = [pack_row([s for i in range(x, w, dx) for s in row[i * n:i * n + n]], depth)
                    for row in rows[y::dy]]
            data += filter_rows(part, kind, step) if x < w else b""
        self.data = data
        self.palette = [chunk(b"PLTE", palette)] if palette else []

    @staticmethod
    def pixel(samples, depth, color, palette):
        if color == 3:
            return palette[3 * samples[0]:3 * samples[0] + 3]
        eight = [s >> 8 if depth == 16 else s * 255 // ((1 << depth) - 1) for s in samples]
        return bytes(eight[:3] if color in (2, 6) else eight[:1] * 3)

    def chunks(self, header=None, extra=(), packed=None):
        packed = zlib.compress(self.data) if packed is None else packed
        return [chunk(b"IHDR", struct.pack(">LLBBBBB", *(header or self.header))), *self.palette,
                *extra, chunk(b"IDAT", packed), chunk(b"IEND", b"")]

    def file(self, **how):
        return SIGNATURE + b"".join(self.chunks(**how))


# --------------------------------------------------------------------------- orientation


def turned(rgb, w, h, orientation):
    """What is seen of stored pixels, with its width and height."""
    def at(x, y):
        return rgb[3 * (y * w + x):3 * (y * w + x) + 3]
    across, down = range(w), range(h)
    if orientation in (2, 3, 7, 8):  # stored columns are seen from the last on
        across = range(w - 1, -1, -1)
    if orientation in (3, 4, 6, 7):
        down = range(h - 1, -1, -1)
    if orientation < 5:
        return w, h, b"".join(at(x, y) for y in down for x in across)
    return h, w, b"".join(at(x, y) for x in across for y in down)


def exif_long(orientation):
    return b"MM\0*" + struct.pack(">LHHHLLL", 8, 1, 274, 4, 1, orientation, 0)


def segment(marker, data):
    return bytes((0xFF, marker)) + struct.pack(">H", len(data) + 2) + data


# -------------------------------------------------------------------------------- tests


class Folder:
    def __init__(self, server, path):
        self.server, self.path = server, path

    def ask(self, data, name="image", *words):
        path = os.path.join(self.path, name)
        with open(path, "wb") as f:
            f.write(data)
        return self.server.ask(path, *words)

    def gives(self, data, w, h, rgb, name="image"):
        got = self.ask(data, name)
        same = not isinstance(got, str) and got[:2] == (h, w) and got[5] == rgb
        if not same:
            note(f"{name}: {got if isinstance(got, str) else got[:5]}, wanted {h}x{w}")
        return same


def test_png_kinds(folder):
    rng = random.Random(1)
    wrong = n = 0
    for color, depths in DEPTHS.items():
        for depth in depths:
            for interlaced in (0, 1):
                for kind in range(5):
                    w, h = rng.randint(1, 19), rng.randint(1, 19)
                    png = Png(rng, w, h, depth, color, interlaced, kind)
                    wrong += not folder.gives(png.file(), w, h, png.rgb,
                                              f"c{color}d{depth}i{interlaced}f{kind}.png")
                    n += 1
    ok(wrong == 0, f"{n} PNG of every colour type, depth, interlace and filter")
    wrong = 0
    for color, note_data in ((0, b"\0\x01"), (2, b"\0\x01" * 3), (3, b"\0\x80")):
        png = Png(rng, 9, 7, 8, color)
        wrong += not folder.gives(png.file(extra=[chunk(b"tRNS", note_data)]), 9, 7, png.rgb)
    png = Png(rng, 11, 5, 8, 2)
    packed = zlib.compress(png.data)
    parts = png.chunks()
    split = parts[:-2] + [chunk(b"IDAT", packed[i:i + 7]) for i in range(0, len(packed), 7)] + parts[-1:]
    for data in (SIGNATURE + b"".join(split), png.file() + b"more behind the end",
                 png.file(extra=[chunk(b"tEXt", b"a\0b"), chunk(b"gAMA", b"\0\0\0\1")])):
        wrong += not folder.gives(data, 11, 5, png.rgb)
    wrong += not folder.gives(png.file(), 11, 5, png.rgb, "misnamed.jpg")
    ok(wrong == 0, "transparency that is told apart, many IDAT, more behind the end, a wrong name")


def test_orientations(folder, jpeg):
    rng = random.Random(2)
    wrong = 0
    png = Png(rng, 7, 4, 8, 2)
    got = folder.ask(jpeg)
    h, w, _, _, _, rgb = got
    for orientation in range(1, 9):
        for tiff in (exif(orientation), exif(orientation, ">"), exif_long(orientation)):
            tagged = jpeg[:2] + segment(0xE1, b"Exif\0\0" + tiff) + jpeg[2:]
            wrong += not folder.gives(tagged, *turned(rgb, w, h, orientation), f"{orientation}.jpg")
            tagged = png.file(extra=[chunk(b"eXIf", tiff)])
            wrong += not folder.gives(tagged, *turned(png.rgb, 7, 4, orientation), f"{orientation}.png")
    ok(wrong == 0, "orientations 1 to 8 of JPEG and PNG, of both byte orders, SHORT and LONG")
    wrong = 0
    for orientation in (0, 9, 65535):
        tagged = jpeg[:2] + segment(0xE1, b"Exif\0\0" + exif(orientation)) + jpeg[2:]
        wrong += not folder.gives(tagged, w, h, rgb, f"{orientation}.jpg")
    for tagged in (jpeg[:2] + segment(0xE1, b"Exif\0\0II*\0") + jpeg[2:],
                   jpeg[:2] + segment(0xFE, b"a comment") + jpeg[2:],
                   jpeg[:2] + b"\xff\xff\xff" + jpeg[2:], jpeg + b"more behind the end"):
        wrong += not folder.gives(tagged, w, h, rgb)
    wrong += not folder.gives(jpeg, w, h, rgb, "misnamed.png")
    ok(wrong == 0, "orientations that are none, torn EXIF, comments, fill bytes, a wrong name")


def bad_pngs(rng):
    png = Png(rng, 12, 9, 8, 2)
    whole, packed = png.file(), zlib.compress(png.data)
    for place, value in ((2, 3), (3, 5), (4, 1), (5, 1), (6, 2), (0, 0), (1, 0)):
        header = list(png.header)
        header[place] = value
        yield f"IHDR field {place} is {value}", png.file(header=header)
    for side in (65500, 2**31 - 1):
        yield f"claims {side} rows and columns", png.file(header=[side, side] + png.header[2:])
    yield "IHDR's sum", whole[:29] + bytes([whole[29] ^ 1]) + whole[30:]
    at = whole.index(b"IDAT") + 4 + len(packed)
    yield "IDAT's sum", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]
    yield "zlib's header", png.file(packed=b"\0" + packed[1:])
    yield "zlib's sum", png.file(packed=packed[:-1] + bytes([packed[-1] ^ 1]))
    yield "filter 7", png.file(packed=zlib.compress(b"\7" + png.data[1:]))
    yield "too few rows", png.file(packed=zlib.compress(png.data[:-37]))
    parts = png.chunks()
    yield "no IHDR", SIGNATURE + b"".join(parts[1:])
    yield "no IDAT", SIGNATURE + parts[0] + parts[-1]
    yield "IHDR second", SIGNATURE + chunk(b"tEXt", b"a\0b") + b"".join(parts)
    yield "cut", whole[:len(whole) // 2]
    yield "no palette", Png(rng, 5, 5, 8, 2).file(header=[5, 5, 8, 3, 0, 0, 0])
    yield "signature only", SIGNATURE
    yield "signature of a text", b"\x89PNG\n\x1a\n" + whole[8:]


def bad_jpegs(jpeg):
    def without(marker):
        data, at = jpeg[:2], 2
        while jpeg[at + 1] != 0xDA:
            size = 2 + struct.unpack(">H", jpeg[at + 2:at + 4])[0]
            data += b"" if jpeg[at + 1] == marker else jpeg[at:at + size]
            at += size
        return data + jpeg[at:]
    sof = jpeg.index(b"\xff\xc0")
    yield "no quantisation tables", without(0xDB)
    yield "no frame", without(0xC0)
    yield "claims 65500 rows and columns", jpeg[:sof + 5] + struct.pack(">HH", 65500, 65500) + jpeg[sof + 9:]
    yield "no columns", jpeg[:sof + 7] + b"\0\0" + jpeg[sof + 9:]
    yield "12 bits", jpeg[:sof + 4] + b"\x0c" + jpeg[sof + 5:]
    yield "an arithmetic frame without its tables", jpeg[:sof] + b"\xff\xcb" + jpeg[sof + 2:]
    yield "cut in its headers", jpeg[:sof + 6]
    yield "SOI only", jpeg[:2]
    yield "empty", b""
    yield "a GIF", b"GIF89a" + bytes(40)
    yield "a BMP", b"BM" + bytes(60)
    yield "text", b"no image at all\n" * 9


def test_refused(folder, jpeg):
    cases = [*bad_pngs(random.Random(3)), *bad_jpegs(jpeg)]
    accepted = silent = unlike = 0
    for name, data in cases:
        got = folder.ask(data)
        if not isinstance(got, str):
            note(f"{name}: accepted")
            accepted += 1
            continue
        silent += len(got.partition(" ")[2]) < 20
        probe = folder.ask(data, "image", "probe")
        unlike += isinstance(probe, str) and probe != got
    ok(accepted == 0, f"{len(cases)} images that are none are refused")
    ok(silent == 0, "every refusal says why")
    ok(unlike == 0, "where headers alone are refused, it is for the same reason")


def main():
    with open(sys.argv[2], "rb") as f:
        jpeg = f.read()
    server = Server(sys.argv[1])
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(server, path)
        test_png_kinds(folder)
        test_orientations(folder, jpeg)
        test_refused(folder, jpeg)
    ok(server.close() == 0, "the server ends well")
    print(f"1..{pixels.n_tests}")
    return pixels.n_failed != 0


sys.exit(main())
