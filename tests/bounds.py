"""
One hostile file among good ones: giants that claim memory, names that are taken, columns and chunks
that cannot be. Each is right, a reject, or refused in one sentence before anything is harmed.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

import h5py
import numpy as np

from tap import done, equal, note, ok, skip

os.chdir(sys.argv[1])
GIB = 1 << 30
SANITIZED = os.environ.get("SANITIZERS", "no") != "no"  # they take memory of their own


def run(*words):
    """Status, what was said, the most memory that was resident, and processor time."""
    with open("said", "wb") as said:
        process = subprocess.Popen(["h5pack", *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    with open("said", errors="replace") as said:
        return process.returncode, said.read(), usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def says(got, status, words, sentence):
    good = got[0] == status and got[1].count("\n") == 1 and re.search(words, got[1])
    ok(good, sentence)
    if not good:
        note(f"status {got[0]}: {got[1]}")


def chunk(name, data):
    return (struct.pack(">I", len(data)) + name + data
            + struct.pack(">I", zlib.crc32(name + data)))


def png(path, rows, width, height, behind=b""):
    """8-bit gray or RGB, `rows` being all of it, filter bytes included."""
    colour = 0 if len(rows) == (width + 1) * height else 2
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows, 1)) + behind + chunk(b"IEND", b""))


def folder(name):
    shutil.copytree("photos", name)
    return os.path.join(name, sorted(os.listdir(name))[0])


def giants():
    image = os.path.join(folder("sparse"), "sparse.jpg")
    shutil.copy(sorted(os.scandir(os.path.dirname(image)), key=lambda e: e.name)[0], image)
    try:
        os.truncate(image, 3 << 40)
        got = run("sparse", "--size", 32, "-o", "a.h5")
        says(got, 1, r"sparse\.jpg': a file of 3.* TiB is over the limit of 4.* GiB",
             "a file of 3 TiB is a reject")
        ok(SANITIZED or got[2] < GIB // 2, f"that takes no memory: {got[2] >> 20} MiB")
    except OSError:
        skip("no file of 3 TiB here")
        skip("no file of 3 TiB here")
    os.truncate(image, 3 * GIB)
    got = run("sparse", "--size", 32, "--memory", "1G", "-o", "b.h5")
    says(got, 2, r"sparse\.jpg': takes .* of memory, which a bound of \d+ MiB would hold; "
         r"--memory .*--max-file", "one of 3 GiB stops a run of 1 GiB, with the bound that it needs")
    ok(SANITIZED or got[2] < GIB // 2, f"before it takes any: {got[2] >> 20} MiB")
    got = run("sparse", "--size", 32, "--max-file", "1G", "-o", "c.h5")
    says(got, 1, "over the limit of 1", "--max-file makes it a reject")
    got = run("sparse", "--size", 32, "--max-file", "1G", "--dry-run", "-o", "d.h5")
    says(got, 1, "over the limit of 1", "in a forecast, too")
    wide = os.path.join(folder("wide"), "wide.png")
    deflate = zlib.compressobj(1)
    data = b"".join(deflate.compress(bytes(1 << 20)) for _ in range(171)) + deflate.flush()
    with open(wide, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", struct.pack(">IIBBBBB", 178956970, 1, 8, 0, 0, 0, 0))
                + chunk(b"IDAT", data) + chunk(b"IEND", b""))
    for words in ([], ["--dry-run"], ["--fit", "stretch"]):
        got = run("wide", "--size", 32, "--memory", "1G", "-o", "d.h5", *words)
        says(got, 2, r"wide\.png': takes .* GiB of memory, which a bound of \d+ MiB would hold",
             f"so does an image 178956970 wide {' '.join(words)}")
        ok(SANITIZED or got[2] < GIB // 2, f"likewise: {got[2] >> 20} MiB")
    bound = int(re.search(r"bound of (\d+) MiB", got[1])[1])
    ok(1024 < bound < 16 * 1024, f"the bound is no fantasy: {bound} MiB")
    got = run("wide", "--size", 32, "--max-pixels", 10**6, "-o", "e.h5")
    says(got, 1, "over the limit of 1000000 pixels", "--max-pixels makes it a reject")


def resumed():
    """The giant comes last, so that something is done before it."""
    first = folder("late")
    last = sorted(os.listdir("late"))[-1]
    noise = np.random.default_rng(1).integers(0, 256, (2000, 1 + 3 * 2000), "u1")
    noise[:, 0] = 0
    png(f"late/{last}/zzz.png", noise.tobytes(), 2000, 2000)
    words = ["late", "--size", 32, "--chunk", 1]
    got = run(*words, "--memory", "4M", "-o", "late.h5")
    says(got, 2, r"zzz\.png': takes .*--resume goes on", "what was done before is kept")
    bound = re.search(r"bound of (\d+) MiB", got[1])[1]
    got = run(*words, "--resume", "--memory", "64M", "--max-pixels", 10**6, "-o", "late.h5")
    says(got, 2, "other options", "limits belong to the options, which cannot change on the way")
    got = run(*words, "--resume", "--memory", bound + "M", "-o", "late.h5")
    equal(got[:2], (0, ""), f"the bound that was told, {bound} MiB, is enough to go on")
    run(*words, "-o", "whole.h5")
    with open("late.h5", "rb") as a, open("whole.h5", "rb") as b:
        ok(a.read() == b.read(), "to the same file")
    shutil.rmtree(first)


def least(words, what):
    """The bound that is told, from whatever amount, holds; one MiB less does not; more does."""
    def refused(memory):
        got = run(*words, "--memory", f"{memory}M", "-o", "least.h5", "--force")
        bound = re.search(r"which a bound of (\d+) MiB would hold|which take (\d+) MiB", got[1])
        if got[0] == 2 and not bound:
            note(got[1])
        return got[0] == 2 and bound and int(bound[1] or bound[2])
    told = [1]
    while bound := refused(told[-1]):
        told.append(bound)
    equal(told, sorted(set(told)), f"{what}: what is told is more than what is too little")
    enough = told[-1]
    equal(told, [1, enough], f"{what}: {enough} MiB are told at once")
    ok(refused(enough - 1) == enough, f"{what}: one MiB less is refused, and told the same")
    ok(all(refused(m) == enough for m in (enough // 3 + 1, enough // 2, enough * 7 // 8)),
       f"{what}: less is told the same")
    ok(not any(refused(m) for m in (enough + 1, enough * 8 // 7, enough * 3 // 2, enough * 2 + 1,
                                    enough * 3)), f"{what}: more holds them, too")


def least_bounds():
    noise = np.random.default_rng(3).integers(0, 256, (1500, 1 + 3 * 2000), "u1")
    noise[:, 0] = 0
    os.mkdir("large")
    for i in range(3):
        png(f"large/{i}.png", noise.tobytes(), 2000, 1500)
    least(["large", "--threads", 2], "as they are")
    least(["large", "--threads", 7, "--compress", "zstd:1"], "zstd, seven threads")
    least(["large", "--threads", 1, "--chunk", 2], "two in a chunk")
    least(["large", "--threads", 2, "--chunk", "1x100x100x3"], "in pieces")
    least(["large", "--threads", 2, "--size", 32], "small samples")
    least(["large", "--threads", 2, "--size", "1500x2000"], "large samples")
    least(["large", "--threads", 2, "--dry-run"], "a forecast")
    least(["photos", "--threads", 2, "--size", 500, "--chunk", 3, "--compress", "gzip:1"],
          "small images, large chunks")


def tiff(path, samples, tags=()):
    """Deflate, the directory behind the pixels, as most programs write it; `tags` are (tag, type,
    count, value) more, in order."""
    height, width, _ = samples.shape
    data = zlib.compress(samples.tobytes(), 1)
    data += bytes(len(data) % 2)
    entries = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 3, 8), (259, 3, 1, 8), (262, 3, 1, 2),
               (273, 4, 1, 14), (277, 3, 1, 3), (278, 4, 1, height), (279, 4, 1, len(data)), *tags]
    with open(path, "wb") as f:
        f.write(b"II*\0" + struct.pack("<L", 14 + len(data)) + struct.pack("<HHH", 8, 8, 8) + data
                + struct.pack("<H", len(entries))
                + b"".join(struct.pack("<HHLL", *entry) for entry in entries) + bytes(4))


def far_headers():
    """Headers that are not in the first 64 KiB."""
    noise = np.random.default_rng(4).integers(0, 256, (1500, 2000, 3), "u1")
    shutil.copytree("photos", "late_jpeg")
    for entry in sorted(os.scandir("late_jpeg"), key=lambda e: e.name)[1:]:
        shutil.rmtree(entry.path)
    folder_of_one = os.path.join("late_jpeg", os.listdir("late_jpeg")[0])
    for name in os.listdir(folder_of_one):
        with open(os.path.join(folder_of_one, name), "r+b") as f:
            jpeg = f.read()
            f.seek(0)
            f.write(jpeg[:2] + (b"\xff\xef\xff\xff" + bytes(65533)) * 3 + jpeg[2:])
    least(["late_jpeg", "--threads", 2, "--size", 32], "a JPEG with 192 KiB in front")
    if b"TIFF" not in subprocess.run(["h5pack", "--version"], capture_output=True).stdout:
        return skip("this build reads no TIFF")
    os.mkdir("tiff")
    tiff("tiff/a.tif", noise)
    for words in (["--size", 32], [], ["--dry-run"]):
        least(["tiff", "--threads", 2, *words], f"compressed TIFF {' '.join(map(str, words))}")
    tiff("tiff/b.tif", np.zeros((4000, 3000, 3), "u1"))
    got = run("tiff", "--size", 32, "--memory", "2M", "--dry-run", "-o", "t.h5")
    says(got, 2, r"b\.tif': takes", "a forecast names the one of two that takes more")
    os.mkdir("tags")
    tiff("tags/a.tif", noise, [(40000 + i, 1, 8 << 20, 0) for i in range(200)])
    got = run("tags", "--size", 32, "--memory", "64M", "-o", "tags.h5")
    ok(got[0] == 2 and "its tags hold more than the file does" in got[1],
       "a TIFF whose tags all have the same 8 MiB is refused")
    ok(SANITIZED or got[2] < GIB // 2, f"before it takes {got[2] >> 20} MiB")
    os.mkdir("long_tags")
    tiff("long_tags/a.tif", noise[:300], [(40000, 1, 1 << 19, 0)])
    got = run("long_tags", "--size", 32, "-o", "long_tags.h5")
    equal(got[:2], (0, ""), "one with a long tag is packed")


def taken_names():
    with open("precious", "w") as f:
        f.write("precious\n")
    os.symlink("precious", "set.h5.part")
    for words, status in ((["--resume"], 2), ([], 2), (["--force"], 0)):
        got = run("photos", "--size", 32, "-o", "set.h5", *words)
        with open("precious") as f:
            equal((got[0], f.read()), (status, "precious\n"),
                  f"a link in the place of the part harms nothing {' '.join(words)}")
    with open("rejects.tsv.part", "w") as f:
        f.write("a stranger's\n")
    got = run("photos", "--size", 32, "--rejects", "rejects.tsv", "-o", "r.h5")
    says(got, 2, "'rejects.tsv.part' is in the way", "--rejects does not eat a stranger's file")
    with open("rejects.tsv.part") as f:
        equal(f.read(), "a stranger's\n", "which stays as it was")
    with open("rejects.tsv.part", "w") as f:
        f.write("path\treason\nold.jpg\tkilled\n")
    got = run("photos", "--size", 32, "--rejects", "rejects.tsv", "-o", "r.h5")
    with open("rejects.tsv") as f:
        equal((got[0], f.read()), (0, "path\treason\n"), "a list that a killed run left is replaced")
    for rejects, output in (("x.h5.part", "./x.h5"), ("x.h5.part.journal", "x.h5"),
                            ("x", "photos/../x.part"), ("photos/../x.h5", "x.h5")):
        got = run("photos", "--size", 32, "--rejects", rejects, "-o", output)
        says(got, 2, "the same file", f"--rejects {rejects} and --output {output} are refused")


def late_exif():
    noise = np.random.default_rng(2).integers(0, 256, (200, 1 + 3 * 300), "u1")
    noise[:, 0] = 0
    exif = b"MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"
    os.mkdir("turned")
    for i in range(3):
        png(f"turned/{i}.png", noise.tobytes(), 300, 200, chunk(b"eXIf", exif))
    got = run("turned", "-o", "turned.h5", "--quiet")
    equal(got[:2], (0, ""), "PNG that is turned by what follows its pixels needs no --size")
    with h5py.File("turned.h5") as f:
        ok(np.array_equal(f["images"][0], np.rot90(noise[:, 1:].reshape(200, 300, 3), -1)),
           "and is upright")


def chunks():
    image = os.path.join("photos", os.listdir("photos")[0])
    image = os.path.join(image, os.listdir(image)[0])
    with open("many.txt", "w") as f:
        f.write("path\n" + (image + "\n") * 40000)
    got = run("--quiet", "--list", "many.txt", "--size", 224, "--chunk", "1x1x1x1", "-o", "many.h5")
    says(got, 2, r"chunks of 1x1x1x1 would be 6021120000 for 40000 images, more than",
         "billions of chunks are refused")
    ok(got[3] < 20 and not os.path.exists("many.h5.part"), "before the work, which takes a minute")


def columns():
    names = [os.path.join("photos", c, n) for c in sorted(os.listdir("photos"))
             for n in sorted(os.listdir(os.path.join("photos", c)))]
    with open("valid.csv", "w") as f:
        f.write("path,valid\n" + "".join(f"{n},{i}\n" for i, n in enumerate(names)))
    for words in ([], ["--dry-run"]):
        got = run("--quiet", "--list", "valid.csv", "--size", 32, "--on-error", "blank", "-o", "v.h5", *words)
        says(got, 2, "column 'valid'", f"a column 'valid' is refused beside ours {' '.join(words)}")
    got = run("--list", "valid.csv", "--size", 32, "--quiet", "-o", "v.h5")
    with h5py.File("v.h5") as f:
        equal(f["valid"][()].tolist(), list(range(len(names))), "else it is a column like others")
    with open("texts.csv", "wb") as f:
        f.write(b"path,where,other\n" + b"".join(
            os.fsencode(n) + b",C:\\photos\\\xc3\xa9 " + str(i).encode() + b",\\a\xff\n"
            for i, n in enumerate(names)))
    got = run("--list", "texts.csv", "--size", 32, "--quiet", "-o", "t.h5")
    with h5py.File("t.h5") as f:
        equal(f["where"][1], "C:\\photos\\\u00e9 1".encode(), "a column's backslashes stay")
        ok("escape" not in f["where"].attrs, "and nothing is said of them")
        equal((f["other"][1], f["other"].attrs["escape"]), (b"\\\\a\\xff", b"\\xHH"),
              "a column that is not UTF-8 is stored like names, and says so")


def times():
    images = folder("future")
    names = [os.path.join(images, n) for n in os.listdir(images)]
    for name in names:
        os.utime(name, (17 * 10**9, 17 * 10**9))
    if os.stat(names[0]).st_mtime != 17 * 10**9:
        return skip("no file of the year 2508 here")
    got = run("future", "--size", 32, "--quiet", "--verify", "-o", "future.h5")
    equal(got[:2], (0, ""), "images of the year 2508 are packed")


giants()
resumed()
least_bounds()
far_headers()
taken_names()
late_exif()
chunks()
columns()
times()
done()
