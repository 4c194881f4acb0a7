"""
h5pack --scale16 auto: which range it finds, keeps and stores, and the pixels that come of it.

Images of 16 bits are written here, with libpng's format by hand, where Pillow cannot; what is
expected of their pixels is computed by NumPy.
"""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib

import h5py
import numpy as np
from PIL import Image

from tap import done, equal, ok, skip

work, shim = sys.argv[1:3]
os.chdir(work)
rng = np.random.default_rng(16)


def run(*words, **fault):
    env = dict(os.environ)
    if fault:
        env.update({"FAULT_" + key.upper(): str(value) for key, value in fault.items()}, LD_PRELOAD=shim)
    result = subprocess.run([*map(str, words)], capture_output=True, timeout=300, env=env,
                            stdin=subprocess.DEVNULL)
    result.err = result.stderr.decode(errors="replace")
    return result


def pack(*words, out="out.h5", **fault):
    return run("h5pack", *words, "-o", out, **fault)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def png(samples):
    """A PNG of 16 bits: H x W samples are gray, H x W x 2 to 4 gray with alpha, RGB, RGBA."""
    samples = samples if samples.ndim == 3 else samples[:, :, None]
    h, w, n = samples.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)

    def chunk(kind, data):
        return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">LLBBBBB", w, h, 16, [0, 4, 2, 6][n - 1], 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else png(data))


def samples(low, high, shape=(12, 16)):
    """Random ones that reach both ends."""
    found = rng.integers(low, high + 1, shape)
    found.flat[3], found.flat[-1] = low, high
    return found


def scaled(values, low, high):
    values = np.clip(np.asarray(values, "i8"), low, high)
    return ((2 * 255 * (values - low) + (high - low)) // (2 * (high - low))).astype("u1")


def rgb(pixels):
    return np.repeat(pixels[:, :, None], 3, 2) if pixels.ndim == 2 else pixels


def found(path="out.h5"):
    with h5py.File(path) as f:
        attrs = f["images"].attrs
        return attrs["scale16"].tolist() if "scale16" in attrs else None


def pixels(path="out.h5"):
    with h5py.File(path) as f:
        return f["images"][()]


def whole_set():
    gray, more, color = samples(700, 3000), samples(900, 5017), samples(411, 4000, (12, 16, 3))
    alpha = np.dstack([samples(500, 600), samples(0, 65535)])
    write("set/1.png", gray)
    write("set/2.png", color)
    write("set/3.png", alpha)
    eight = rng.integers(0, 256, (12, 16, 3)).astype("u1")
    os.makedirs("set", exist_ok=True)
    Image.fromarray(eight).save("set/4.png")
    Image.fromarray(eight).save("set/5.jpg")
    jpeg = np.asarray(Image.open("set/5.jpg").convert("RGB"))
    want = [gray, color, alpha[:, :, 0], eight, jpeg]
    reads_tiff = b"TIFF" in run("h5pack", "--version").stdout
    if reads_tiff:
        Image.fromarray(more.astype("u2")).save("set/6.tiff")
        want.append(more)
    high = 5017 if reads_tiff else 4000
    want = np.stack([rgb(w if w.dtype == "u1" else scaled(w, 411, high)) for w in want])

    result = pack("set", "--scale16", "auto", "--threads", 1)
    ok(result.returncode == 0 and f"  scale16   411:{high} became 0 to 255" in result.stdout.decode(),
       "the summary tells the range")
    equal(result.err, "", "and nothing needs a remark")
    equal(found(), [411, high], "the range is that of the colours of all 16-bit images, as NumPy finds it")
    ok(np.array_equal(pixels(), want), "16-bit samples are scaled as NumPy does; images of 8 bits stay")
    with h5py.File("out.h5") as f:
        equal(json.loads(f.attrs["h5pack_options"])["scale16"], "auto", "the options say what was asked for")
        equal(f["images"].attrs["scale16"].dtype, np.dtype("i8"), "the range is of 64-bit integers")
        low, top = f["images"].attrs["scale16"]
        back = low + f["images"][0, :, :, 0].astype("f8") * (top - low) / 255
        ok(np.abs(back - gray).max() <= (top - low) / 510, "from which the samples can be had back")
    first = digest("out.h5")
    for threads in 2, 7:
        pack("set", "--scale16", "auto", "--threads", threads, "--force")
        equal(digest("out.h5"), first, f"{threads} threads make no difference")
    report = json.loads(pack("set", "--scale16", "auto", "--json", "--force").stdout)
    equal((report["result"]["scale16"], report["result"]["cut_16bit"], report["options"]["scale16"]),
          ([411, high], 0, "auto"), "JSON has the range")

    for words in (), ("--scale16", "auto"), ("--threads", 7):
        result = pack("set", "--verify", *words)
        equal((result.returncode, result.err), (0, ""), f"--verify {' '.join(map(str, words))} takes the range from the file")
    result = pack("set", "--verify", "--scale16", f"411:{high}")
    ok(result.returncode == 2 and "was packed with scale16 auto" in result.err,
       "another --scale16 beside it is refused")
    equal(run("h5advise", "out.h5", "--no-measure", "--quiet").returncode in (0, 1), True, "h5advise reads the file")

    pack("set", "--scale16", "500:900", "--force")
    equal(found(), [500, 900], "a range that is given is an attribute, too")
    ok(np.array_equal(pixels()[0], rgb(scaled(gray, 500, 900))), "of the range that was scaled")
    report = json.loads(pack("set", "--scale16", "500:900", "--json", "--force").stdout)
    equal((report["result"]["scale16"], report["result"]["cut_16bit"]), ([500, 900], 3 if reads_tiff else 2),
          "and what it cuts is counted")
    pack("set", "--force")
    equal(found(), None, "without --scale16 there is none")


def white_is_zero():
    if b"TIFF" not in run("h5pack", "--version").stdout:
        return skip("this build reads no TIFF")
    os.makedirs("white")
    values = samples(0, 4095)
    Image.fromarray(values.astype("u2")).save("white/1.tiff", tiffinfo={262: 0})
    with Image.open("white/1.tiff") as image:
        stored = np.asarray(image)
        equal((image.mode, image.tag_v2[262], np.array_equal(stored, values)), ("I;16", 0, True),
              "of a TIFF of 16 bits whose 0 is white Pillow gives the samples as they are stored")
    for words, low, high in ("0:4095", 0, 4095), ("auto", 0, 4095), ("100:900", 100, 900):
        result = pack("white", "--scale16", words, "--force")
        ok(np.array_equal(pixels(), rgb(255 - scaled(stored, low, high))[None]),
           f"they are what --scale16 {words} scales, to a picture whose 0 is black")
        equal((result.returncode, found()), (0, [low, high]), "and what the attribute has")
        equal(pack("white", "--verify").returncode, 0, "--verify finds it as it is")
    result = pack("white", "--force")
    ok(np.array_equal(pixels(), rgb((255 - (stored >> 8)).astype("u1"))[None]) and "use 12" not in result.err
       and "1 image of 16 bits uses 12 of them at most and is nearly white: --scale16" in result.err
       and b"        1  of 16 bits that use 12 of them at most: nearly white\n" in result.stdout
       and b"black" not in result.stdout + result.err.encode(),
       "else the high byte is, and what uses 12 bits is told of, as nearly white")
    write("white/2.png", samples(0, 4095))
    write("white/3.png", samples(0, 4095))
    result = pack("white", "--force")
    ok("3 images of 16 bits use 12 of them at most and are nearly black, or white where 0 is" in result.err
       and b"        2  of 16 bits that use 12 of them at most: nearly black\n"
           b"          1  of 16 bits that use 12 of them at most: nearly white\n" in result.stdout,
       "and beside such as are nearly black, too")


def part_of_a_set():
    frame = np.full((20, 20), 1000)
    frame[8:12, 8:12] = samples(1200, 1300, (4, 4))
    frame[0, 0], frame[19, 19] = 10, 9000
    write("part/1.png", frame)
    write("part/2.png", samples(100, 20000, (20, 20)))
    pack("part", "--scale16", "auto", "--crop", "4x4", "--limit", 1, "--force")
    equal(found(), [10, 9000], "the range is that of whole images, of those within --limit")
    ok(np.array_equal(pixels()[0], rgb(scaled(frame[8:12, 8:12], 10, 9000))), "by which what --crop leaves is scaled")
    for seed in range(1, 9):
        pack("part", "--scale16", "auto", "--shuffle", "--seed", seed, "--limit", 1, "--force")
        with h5py.File("out.h5") as f:
            second = f["filenames"][0] == b"2.png"
        if found() != ([100, 20000] if second else [10, 9000]):
            break
    else:
        seed = 0
    equal(seed, 0, "and with --shuffle that of the images drawn")


def rejects():
    write("bad/1.png", samples(300, 800))
    write("bad/2.png", png(samples(0, 65535, (40, 40)))[:2000])
    write("bad/3.png", samples(0, 65535, (90, 90)))
    result = pack("bad", "--scale16", "auto", "--max-pixels", 2000, "--size", 8, "--force")
    equal((result.returncode, found()), (1, [300, 800]), "images that are rejected have no part in the range")
    equal(result.err.count("bad/2.png") + result.err.count("bad/3.png"), 2, "and are told once")
    equal(pack("bad", "--max-pixels", 2000, "--size", 8, "--verify").returncode, 1, "--verify finds them again")
    write("odd/1.png", samples(300, 800))
    Image.fromarray(rng.integers(0, 256, (12, 16, 3)).astype("u1")).save("odd/2.png")
    result = pack("odd", "--scale16", "auto", "--dry-run")
    ok(result.returncode == 0 and b"  scale16   300:800 of the images tried" in result.stdout,
       "a forecast tells the range of what it tried")
    ok(b"scale16   1:2 would" in pack("odd", "--scale16", "1:2", "--dry-run").stdout, "or the one given")
    write("large/1.png", samples(1, 2, (1500, 1500)))
    result = pack("large", "--scale16", "auto", "--size", 8, "--memory", "2M", out="none.h5")
    ok(result.returncode == 2 and "which a bound of" in result.err and "--memory" in result.err
       and not os.path.exists("none.h5.part"), "what does not fit --memory is told before anything is written")


def nothing_to_scale():
    os.makedirs("eight")
    Image.fromarray(rng.integers(0, 256, (9, 9, 3)).astype("u1")).save("eight/1.png")
    result = pack("eight", "--scale16", "auto", "--force")
    equal((result.returncode, result.err, found()),
          (0, "h5pack: no image has 16-bit samples: --scale16 auto scaled nothing\n", None),
          "a set without 16-bit images has no range, and is told of")
    equal(pack("eight", "--verify").returncode, 0, "--verify finds it as it is")
    write("one/1.png", np.full((5, 5), 4321))
    result = pack("one", "--scale16", "auto", "--force")
    ok(found() == [4321, 4321] and not pixels().any() and "all 16-bit samples are 4321" in result.err,
       "a set of one value is black, and told of")
    equal(pack("one", "--verify").returncode, 0, "--verify finds it as it is")


def resumed():
    images = [samples(1000, 2000) for _ in range(8)]
    for i, image in enumerate(images):
        write(f"long/{i}.png", image)
    write("long/8.png", png(samples(5, 60000))[:300])
    words = "long", "--scale16", "auto", "--chunk", 1, "--threads", 2
    result = pack(*words, "--on-error", "fail", out="r.h5")
    ok(result.returncode == 2 and "(8 of 9 images are done; --resume" in result.err, "a run is interrupted by a bad image")
    late = samples(500, 1900)
    write("long/8.png", late)
    added = samples(1500, 1600)
    write("long/9.png", added)
    result = pack(*words, "--on-error", "fail", "--resume", out="r.h5")
    equal((result.returncode, found("r.h5")), (0, [1000, 2000]), "resumed it keeps the range, where others are now")
    equal(result.err, "h5pack: 1 image came when the range of the 16-bit samples had been found, 1000:2000, "
          "and was cut to it: --force packs all anew\n", "and says what goes beyond it")
    ok(b"images" in result.stdout and b"of 16 bits" not in result.stdout, "images that were scaled are not said to be nearly black")
    want = np.stack([rgb(scaled(i, 1000, 2000)) for i in [*images, late, added]])
    ok(np.array_equal(pixels("r.h5"), want), "which is cut")
    equal(pack("long", "--verify", out="r.h5").returncode, 0, "--verify scales by the range of the file")
    pack("long", "--scale16", "7:9000", "--force", out="g.h5")
    equal(pack("long", "--verify", out="g.h5").returncode, 0, "--verify takes a range that was given from the options")
    for value, says in (([7, 9001], "attribute scale16 is not 7:9000 but 7:9001"), (None, "no attribute scale16")):
        with h5py.File("g.h5", "r+") as f:
            if value:
                f["images"].attrs["scale16"] = np.array(value)
            else:
                del f["images"].attrs["scale16"]
        result = pack("long", "--verify", out="g.h5")
        ok(result.returncode == 1 and f"'g.h5': images: {says}" in result.err, f"and compares the attribute: {result.err}")
    os.makedirs("new")
    Image.fromarray(np.zeros((12, 16), "u1")).save("new/1.png")
    write("new/2.png", b"\x89PNG\r\n\x1a\n")
    pack("new", "--scale16", "auto", "--chunk", 1, "--on-error", "fail", out="n.h5")
    write("new/2.png", late)
    result = pack("new", "--scale16", "auto", "--chunk", 1, "--on-error", "fail", "--resume", out="n.h5")
    ok(found("n.h5") is None and np.array_equal(pixels("n.h5")[1], rgb((late >> 8).astype("u1")))
       and "1 image of 16 bits came when there had been none" in result.err,
       "where there had been no range, what comes later keeps the high byte, and is told of")
    equal(pack("new", "--verify", out="n.h5").returncode, 0, "--verify finds it as it is")


def faults():
    if not shim:
        skip("the fault shim does not work here")
        return
    shutil.rmtree("long")
    for i in range(40):
        write(f"long/{i:02}.png", samples(1000, 2000))
    write("long/05.png", samples(1500, 30000))
    # of a size that is given: headers are not looked at before
    words = "long", "--size", "12x16", "--scale16", "auto", "--chunk", 1, "--threads", 2
    result = pack(*words, out="v.h5", call="open", how="ENOENT", n=2, last="all", path="long/05.png")
    equal((result.returncode, found("v.h5"), len(pixels("v.h5"))), (1, [1000, 30000], 39),
          "an image that vanishes when the range is found is a reject, and the range stays")
    result = pack(*words, out="w.h5", call="open", how="ENOENT", n=1, last=1, path="long/05.png")
    ok(result.returncode == 0 and found("w.h5") == [1000, 2000] and "1 image came when the range" in result.err,
       "one that comes only then is cut")
    result = pack(*words, out="i.h5", call="open", how="ENOMEM", n=1, last=1, path="long/05.png")
    equal((result.returncode, [n for n in os.listdir() if n.startswith("i.h5")]), (2, []),
          "an error of the machine while the range is sought ends the run, and leaves nothing")
    result = pack(*words, out="i.h5", call="open", how="SIGINT", n=1, path="long/05.png")
    equal((result.returncode, [n for n in os.listdir() if n.startswith("i.h5")]), (130, []),
          "Ctrl-C while the range is sought leaves nothing")
    result = pack(*words, out="i.h5", call="open", how="SIGINT", n=4, path="long/35.png")
    equal((result.returncode, "--resume goes on" in result.err), (130, True), "a run is interrupted when it packs")
    os.rename("long/05.png", "05.png")
    result = pack(*words, "--resume", out="i.h5")
    equal((result.returncode, found("i.h5")), (0, [1000, 30000]), "and resumed with its range, without the image that gave it")
    os.rename("05.png", "long/05.png")
    pack(*words, out="u.h5")
    equal(digest("i.h5"), digest("u.h5"), "the file is that of an undisturbed run")

    # killed while it looks for the range: the list and the seed are kept by then
    words = *words, "--shuffle"
    pack(*words, "--seed", 4, out="s.h5")
    for at in "long/00.png", "long/20.png", "long/39.png":
        result = pack(*words, "--seed", 4, out="k.h5", call="open", how="SIGKILL", n=1, path=at)
        begun = os.path.exists("k.h5.part.journal") and os.path.getsize("k.h5.part.journal") > 500
        equal((result.returncode, begun), (-9, True), f"a run is killed at {at}, when its list is on the disk")
        write("long/40.png", samples(1000, 2000))
        result = pack(*words, "--resume", out="k.h5")
        equal((result.returncode, digest("k.h5")), (1, digest("s.h5")),
              "resumed without the seed it makes the same file, and leaves out what came since")
        os.remove("long/40.png")
        os.remove("k.h5")


def damaged():
    pack("long", "--scale16", "auto", "--force")
    for value in [5], [7, 3], [-1, 9], [0, 65536], [1.0, 2.0], "0:9":
        with h5py.File("out.h5", "r+") as f:
            del f["images"].attrs["scale16"]
            f["images"].attrs["scale16"] = value
        result = pack("long", "--verify")
        ok(result.returncode == 2 and result.err.count("\n") == 1 and "'out.h5': attribute scale16" in result.err,
           f"an attribute that is {value} ends in a sentence")


whole_set()
white_is_zero()
part_of_a_set()
rejects()
nothing_to_scale()
resumed()
faults()
damaged()
done()
