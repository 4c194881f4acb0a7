"""
h5pack end to end: what it writes is what Pillow, h5py and torchvision would say it is.

The images are rendered by tests/render_samples, plus a few oddities made here. In sources of
several sizes the expected pixels come from Pillow itself.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
from PIL import Image, ImageOps

import across_first  # noqa: F401 (what it is imported for, it does at once)
from tap import done, equal, note, ok, skip

work = sys.argv[1]
shared = os.environ.get("H5PACK_SHARED") or os.path.join(os.environ["top_srcdir"], "..", "shared")
# h5py and h5dump cannot load a plugin with sanitizers in it
PLUGIN_LOADS = os.environ.get("SANITIZERS", "no") == "no"
os.chdir(work)


def run(*words, stdin=None):
    result = subprocess.run(["h5pack", *map(str, words)], input=stdin, capture_output=True,
                            timeout=300)
    result.err = result.stderr.decode(errors="replace")
    return result


def pack(*words, status=0, stdin=None, out="out.h5"):
    result = run(*words, "--json", "--force", "-o", out, stdin=stdin)
    if result.returncode != status:
        ok(False, f"h5pack {' '.join(map(str, words))}: status {result.returncode}, {result.err}")
        return None
    return json.loads(result.stdout)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def pillow(path, mode="RGB"):
    return ImageOps.exif_transpose(Image.open(path)).convert(mode)


def shorter_crop(image, shorter, crop):
    """torchvision's Resize and CenterCrop, for images that are large enough."""
    w, h = image.size
    size = (shorter, int(shorter * h / w)) if w <= h else (int(shorter * w / h), shorter)
    image = image.resize(size, Image.BILINEAR)
    x, y = int(round((size[0] - crop) / 2.0)), int(round((size[1] - crop) / 2.0))
    return image.crop((x, y, x + crop, y + crop))


def names(f):
    return [name.decode() for name in f["filenames"][()]]


def folder_of_classes():
    subprocess.run(["render_samples", "photos", "60", "3", "96"], check=True)
    images = sorted(os.path.join(c, n) for c in os.listdir("photos")
                    for n in os.listdir(os.path.join("photos", c)))
    report = pack("photos", "--shorter", 64, "--crop", "48x56", "--verify")
    ok(report and report["result"]["matches"], "a folder of classes is packed and read back")
    classes = sorted(os.listdir("photos"))
    with h5py.File("out.h5") as f:
        equal(names(f), images, "filenames are in ImageFolder's order")
        equal([c.decode() for c in f["class_names"]], classes, "classes are the sorted subfolders")
        equal(f["labels"][()].tolist(), [classes.index(n.split("/")[0]) for n in images],
              "labels number them")
        equal((f["labels"].dtype, f["images"].dtype, f["original_size"].dtype),
              (np.dtype("i8"), np.dtype("u1"), np.dtype("i4")), "types are int64, uint8, int32")
        want = []
        for name in images:
            image, w, h = pillow("photos/" + name), 56, 48
            size = image.size
            size = ((64, int(64 * size[1] / size[0])) if size[0] <= size[1]
                    else (int(64 * size[0] / size[1]), 64))
            image = image.resize(size, Image.BILINEAR)
            x, y = int(round((size[0] - w) / 2.0)), int(round((size[1] - h) / 2.0))
            want.append(np.asarray(image.crop((x, y, x + w, y + h))))
        want = np.stack(want)
        ok(np.array_equal(f["images"][()], want), "pixels are Pillow's, bit for bit")
        equal(f["original_size"][()].tolist(),
              [list(pillow("photos/" + n).size[::-1]) for n in images], "original sizes are kept")
        flat = want.reshape(-1, 3).astype("f8")
        ok(np.allclose(f["images"].attrs["mean"], flat.mean(0), rtol=1e-12)
           and np.allclose(f["images"].attrs["std"], flat.std(0), rtol=1e-12), "mean and std are right")
        equal([d.label for d in f["images"].dims], list("NHWC"), "dimensions are labelled")
        attrs = f["images"].attrs
        equal((attrs["CLASS"], attrs["IMAGE_VERSION"], attrs["IMAGE_SUBCLASS"],
               attrs["INTERLACE_MODE"]),
              (b"IMAGE", b"1.2", b"IMAGE_TRUECOLOR", b"INTERLACE_PIXEL"), "it is an HDF5 image")
        equal(f["images"].chunks, (8, 48, 56, 3), "small images are grouped below 64 KiB")
    return images, want


def described(f):
    """What the attributes of an HDF5 image say."""
    images = f["images"]
    return ("".join(d.label for d in images.dims),
            *(images.attrs.get(key) for key in ("CLASS", "IMAGE_VERSION", "IMAGE_SUBCLASS", "INTERLACE_MODE")))


def layouts(images, want):
    pack("photos", "--size", "40x30", "--layout", "nchw", "--gray", "--chunk", 1)
    with h5py.File("out.h5") as f:
        first = np.asarray(ImageOps.fit(pillow("photos/" + images[0], "L"), (30, 40), Image.BILINEAR))
        equal(f["images"].shape, (60, 1, 40, 30), "gray nchw has a channel axis")
        equal(described(f), ("NCHW", b"IMAGE", b"1.2", b"IMAGE_GRAYSCALE", None), "and says so")
        ok(np.array_equal(f["images"][0, 0], first), "--size fits as ImageOps.fit does")
    pack("photos", "--size", "40x30", "--fit", "pad", "--resample", "lanczos", "--gray")
    with h5py.File("out.h5") as f:
        first = np.asarray(ImageOps.pad(pillow("photos/" + images[0], "L"), (30, 40), Image.LANCZOS))
        equal(f["images"].shape, (60, 40, 30), "gray nhwc has none")
        equal(described(f), ("NHW", b"IMAGE", b"1.2", b"IMAGE_GRAYSCALE", None), "nor a label of it")
        values = f["images"][()].astype("f8")
        ok(f["images"].attrs["mean"].shape == (1,)
           and np.allclose(f["images"].attrs["mean"], values.mean(), rtol=1e-12)
           and np.allclose(f["images"].attrs["std"], values.std(), rtol=1e-12), "but a mean of it")
        ok(np.array_equal(f["images"][0], first), "--fit pad pads as ImageOps.pad does")
    pack("photos", "--size", "40x30", "--layout", "nchw")
    with h5py.File("out.h5") as f:
        first = np.asarray(ImageOps.fit(pillow("photos/" + images[0]), (30, 40), Image.BILINEAR))
        ok(np.array_equal(f["images"][0], first.transpose(2, 0, 1)), "planes are those of the pixels")
        equal(described(f), ("NCHW", b"IMAGE", b"1.2", b"IMAGE_TRUECOLOR", b"INTERLACE_PLANE"),
              "and told")
        values = f["images"][()].astype("f8")
        ok(np.allclose(f["images"].attrs["mean"], values.mean((0, 2, 3)), rtol=1e-12)
           and np.allclose(f["images"].attrs["std"], values.std((0, 2, 3)), rtol=1e-12),
           "with the mean of each")
        equal(list(f["original_size"].attrs["columns"]), ["height", "width"],
              "the columns of sizes are named")
        equal((f.attrs["h5pack_schema"], set(f.attrs)),
              (b"1", {"h5pack_schema", "h5pack_version", "h5pack_options"}), "so is the schema")
        stored = json.loads(f.attrs["h5pack_options"])
        equal((stored["size"], stored["layout"], stored["fit"], stored["resample"], "output" in stored),
              ("40x30", "nchw", "crop", "bilinear", False), "and the options")
    same = True
    for chunk in ("1", "7", "64", "100x48x56x3", "5x47x56x3", "3x16x20x2"):
        for compress in ("none", "gzip:1", "zstd:3") if PLUGIN_LOADS else ("none", "gzip:1"):
            pack("photos", "--shorter", 64, "--crop", "48x56", "--chunk", chunk, "--compress",
                 compress, "--fletcher32", "--verify")
            with h5py.File("out.h5") as f:
                same = same and np.array_equal(f["images"][()], want)
    ok(same, "pixels do not depend on chunks, also across samples, nor on compression")
    pack("photos", "--shorter", 64, "--crop", "48x56", "--chunk", "3x16x20x2", "--compress", "shuffle",
         "--verify")
    with h5py.File("out.h5") as f:
        ok(np.array_equal(f["images"][()], want), "nor on a filter that leaves single bytes as they are")
    if not PLUGIN_LOADS:
        return skip("others cannot load a plugin with sanitizers in it")
    result = subprocess.run(["h5dump", "-d", "/images", "-s", "0,0,0,0", "-c", "1,1,1,3", "out.h5"],
                            capture_output=True, text=True)
    ok(result.returncode == 0 and ", ".join(map(str, want[0, 0, 0])) in result.stdout,
       "h5dump reads a zstd file through the plugin")


def determinism():
    digests = set()
    for options in (["-j", 1], ["-j", 2], ["-j", 7], ["-j", 3, "--memory", "6M"]):
        pack("photos", "--shorter", 64, "--crop", "48x56", "--compress", "zstd", "--shuffle",
             "--seed", 5, *options)
        digests.add(digest("out.h5"))
    equal(len(digests), 1, "the file's bytes do not depend on threads or memory")
    shutil.copytree("photos", "elsewhere/moved")
    pack("elsewhere/moved", "--shorter", 64, "--crop", "48x56", "--compress", "zstd", "--shuffle",
         "--seed", 5)
    digests.add(digest("out.h5"))
    equal(len(digests), 1, "nor on where the folder is or when its files were written")


def shuffled(images, want):
    pack("photos", "--shorter", 64, "--crop", "48x56", "--shuffle", "--seed", 9, "--limit", 25)
    with h5py.File("out.h5") as f:
        index = f["source_index"][()]
        ok(len(set(index)) == 25 and list(index) != sorted(index), "a shuffled sample of 25")
        ok(np.array_equal(f["images"][()], want[index])
           and names(f) == [images[i] for i in index], "source_index is the permutation")


def lists(images):
    with open("list.tsv", "w") as f:
        f.write("path\tlabel\tage\tscore\tnote\n")
        for i, name in enumerate(images[:20]):
            f.write(f"{name}\t{'dog' if i % 2 else 'cat'}\t{i}\t{i / 4}\tn{i}\n")
    pack("--list", "list.tsv", "photos", "--size", 32)
    with h5py.File("out.h5") as f:
        equal([c.decode() for c in f["class_names"]], ["cat", "dog"], "named labels become classes")
        equal(f["labels"][()].tolist(), [i % 2 for i in range(20)], "and numbers")
        equal((f["age"].dtype, f["score"].dtype, f["score"][3], f["note"][7]),
              (np.dtype("i8"), np.dtype("f8"), 0.75, b"n7"), "further columns are datasets")
    with open("list.tsv", "a") as f:
        f.write("gone.jpg\tcat\t99\t99.5\tlost\n")
    pack("--list", "list.tsv", "photos", "--size", 32, "--shuffle", "--seed", 4, status=1)
    with h5py.File("out.h5") as f:
        row = [images.index(n) for n in names(f)]
        ok(row != sorted(row) and sorted(row) == list(range(20)), "a list is shuffled")
        equal((f["age"][()].tolist(), f["score"][()].tolist(), f["note"][()].tolist(),
               f["labels"][()].tolist()),
              (row, [i / 4 for i in row], [b"n%d" % i for i in row], [i % 2 for i in row]),
              "and its columns go with the images, also beside one that is left out")
    os.makedirs("celeba", exist_ok=True)
    attributes = [f"Attr_{i}" for i in range(40)]
    with open("celeba/list_attr_celeba.txt", "w") as f:
        f.write("12\n" + " ".join(attributes) + " \n")
        for i in range(12):
            Image.fromarray(np.full((218, 178, 3), i * 20, "u1")).save(f"celeba/{i + 1:06}.jpg")
            f.write(f"{i + 1:06}.jpg " + " ".join(f"{1 if (i + k) % 3 else -1:2}" for k in range(40)) + "\n")
    pack("--list", "celeba/list_attr_celeba.txt", "celeba")
    with h5py.File("out.h5") as f:
        equal((f["images"].shape, f["images"].chunks), ((12, 218, 178, 3), (1, 218, 178, 3)),
              "CelebA's folder is packed with its own size, one image a chunk")
        equal(f["Attr_7"][()].tolist(), [1 if (i + 7) % 3 else -1 for i in range(12)],
              "and its attributes")
    text = "".join(f"photos/{n}\n" for n in images[:5]).encode()
    pack("--list", "-", "--size", 32, stdin=text)
    with h5py.File("out.h5") as f:
        equal(len(f["images"]), 5, "paths come from standard input")
    nasty = "new\nline \udcff.jpg"
    shutil.copy("photos/" + images[0], nasty)
    pack("--list", "-", "--null", "--size", 32, stdin=os.fsencode(nasty) + b"\0")
    with h5py.File("out.h5") as f:
        equal(f["filenames"][0], b"new\nline \\xff.jpg", "a nasty name is stored in its escaped form")
    os.unlink(nasty)


def validation_classes():
    pack("photos", "--size", 32, out="train.h5")
    shutil.copytree("photos", "val")
    classes = sorted(os.listdir("photos"))
    shutil.rmtree("val/" + classes[0])
    pack("val", "--size", 32, "--classes", "train.h5")
    with h5py.File("out.h5") as f:
        ok(min(f["labels"]) == 1, "--classes keeps the numbers of the training set")
    os.makedirs("split")
    shutil.move("val", "split/val")
    shutil.copytree("photos", "split/train")
    result = run("split", "--size", 32, "-o", "x.h5")
    ok(result.returncode == 2 and "--classes" in result.err and not os.path.exists("x.h5"),
       "train/ and val/ are told apart from classes")
    note(result.err)


def bad_images(images):
    shutil.copytree("photos", "mixed")
    classes = sorted(os.listdir("mixed"))
    with open(f"mixed/{classes[0]}/000.jpg", "wb") as f:
        f.write(b"no image at all")
    with open("photos/" + images[0], "rb") as f:
        data = f.read()
    with open(f"mixed/{classes[1]}/cut.jpg", "wb") as f:
        f.write(data[: len(data) // 2])
    open(f"mixed/{classes[0]}/.DS_Store", "wb").close()
    open(f"mixed/{classes[0]}/notes.txt", "wb").close()
    report = pack("mixed", "--size", 32, "--rejects", "bad.tsv", "--verify", status=1)
    equal(report and report["result"]["ignored"], {"hidden": 1, "not_images": 1},
          "what is ignored is counted")
    ok(report and report["result"]["rejected"] == 2 and report["result"]["packed"] == 60,
       "two bad images are left out, status 1")
    with open("bad.tsv") as f:
        lines = f.read().splitlines()
    ok(len(lines) == 3 and lines[0] == "path\treason" and "000.jpg\t" in lines[1],
       "and listed with reasons")
    note("\n".join(lines))
    report = pack("mixed", "--size", 32, "--on-error", "blank", status=1)
    with h5py.File("out.h5") as f:
        valid = f["valid"][()]
        ok(len(valid) == 62 and list(valid).count(0) == 2 and not f["images"][0].any()
           and valid[0] == 0, "--on-error blank keeps their places")
        images = f["images"][()][valid == 1].reshape(-1, 3).astype(np.float64)
        ok(np.allclose(f["images"].attrs["mean"], images.mean(0), rtol=1e-12)
           and np.allclose(f["images"].attrs["std"], images.std(0), rtol=1e-12),
           "and the black stand-ins are not part of mean and std")
    equal(run("mixed", "--verify", "-o", "out.h5").err.count("differ"), 0, "verified, they agree")
    with h5py.File("out.h5", "r+") as f:
        f["images"][0, 31, 31, 2] = 1
    result = run("mixed", "--verify", "-o", "out.h5")
    ok(result.returncode == 1 and "pixels differ (row 0" in result.err, "and are to be black")
    result = run("mixed", "--size", 32, "--on-error", "fail", "-o", "fail.h5")
    ok(result.returncode == 2 and "000.jpg" in result.err and not os.path.exists("fail.h5"),
       "--on-error fail stops: " + result.err.splitlines()[0])
    result = run("mixed", "--dry-run", "--json", "--size", 32, "-o", "fail.h5")
    forecast = json.loads(result.stdout)["result"]
    ok(forecast["packed"] == 61 and forecast["rejected"] == 1 and not os.path.exists("fail.h5"),
       "--dry-run sees the one that headers give away")
    measured = json.loads(result.stdout)["measured"]
    ok(50 < measured["tried"] <= 64 and 0 < measured["forecast_ns"] < 60e9,
       f"and foresees the time: {measured}")
    result = run("mixed", "-o", "sizes.h5")
    ok(result.returncode == 2 and "differ in size" in result.err and not os.path.exists("sizes.h5"),
       "several sizes are told: " + result.err.strip())
    os.makedirs("none")
    with open("none/a.jpg", "wb") as f:
        f.write(b"x")
    result = run("none", "--size", 32, "-o", "none.h5")
    ok(result.returncode == 2 and not os.path.exists("none.h5")
       and not os.path.exists("none.h5.part"), "nothing but rejects makes no file: " + result.err)


def links_to_nowhere(images):
    shutil.copytree("photos", "linked")
    link = "linked/" + images[0].split("/")[0] + "/none.jpg"
    os.symlink("/nowhere/at/all", link)
    result = run("linked", "--size", 32, "-o", "linked.h5")
    equal((result.returncode, result.err),
          (1, f"h5pack: '{link}': cannot be opened: No such file or directory\n"),
          "a link to nowhere that is called an image is a reject")


MEASURING = """
import os, sys
child = os.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def peak_memory(*words):
    """Status and most resident bytes of a run. What starts it is small: its own memory counts too."""
    told = subprocess.run([sys.executable, "-IS", "-c", MEASURING, "h5pack", *words, "--quiet",
                           "--force", "-o", "peak.h5"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    status, kib = told.split()
    return int(status), int(kib) * 1024


def memory():
    if not os.path.exists(os.path.join(os.environ["top_builddir"], "tests/.libs/fault_shim.so")):
        skip("sanitizers take memory of their own")
        return
    mib = 1 << 20
    os.makedirs("large/a")
    Image.new("RGB", (2000, 1600), (10, 200, 30)).save("large/a/00.jpg")
    for i in range(1, 33):
        os.link("large/a/00.jpg", f"large/a/{i:02}.jpg")
    status, base = peak_memory("photos", "--size", "32", "-j", "16", "--memory", "4M")
    status, peak = peak_memory("large", "--size", "32", "-j", "16", "--memory", "24M")
    ok(status == 0 and peak < base + 24 * mib,
       f"16 threads on images of 9 MiB stay within 24 MiB: {(peak - base) / mib:.1f}")
    with open("again.txt", "w") as f:
        f.write("\n".join([os.path.join("photos", c, n) for c in sorted(os.listdir("photos"))
                           for n in sorted(os.listdir(os.path.join("photos", c)))][:40] * 64))
    for mebibytes, words, what in (
            (72, "--chunk 64 --compress gzip:0 --limit 640 --verify", "read back"),
            (112, "--chunk 64 --compress gzip:0 --fletcher32 -j 16", "filtered twice"),
            (96, "--chunk 64x128x256x3 --compress gzip:0 -j 16", "cut out of larger ones")):
        status, peak = peak_memory("--list", "again.txt", "--size", "256", "--memory",
                                   f"{mebibytes}M", *words.split())
        ok(status == 0 and peak < base + mebibytes * mib,
           f"chunks that are {what} stay within {mebibytes} MiB: {(peak - base) / mib:.1f}")
    os.truncate(os.open("large/a/junk.jpg", os.O_CREAT | os.O_WRONLY), 3 << 30)
    status, peak = peak_memory("large", "--size", "32", "-j", "1", "--memory", "24M")
    ok(status == 1 and peak < base + 24 * mib,
       f"3 GiB that are no image are not read: {(peak - base) / mib:.1f}")


def verified_reads():
    """Each chunk is read and decoded once, however many images are in it, and not for each of them."""
    shim = os.path.join(os.environ["top_builddir"], "tests/.libs/fault_shim.so")
    if not os.path.exists(shim):
        skip("what is read is not counted beside sanitizers")
        return
    for chunk in ("40", "40x128x128x3"):
        pack("photos", "--size", 256, "--chunk", chunk, "--compress", "zstd:1", out="many.h5")
        with h5py.File("many.h5") as f:
            n, n_chunks = len(f["images"]), f["images"].id.get_num_chunks()
        environment = dict(os.environ, LD_PRELOAD=shim, FAULT_CALL="read", FAULT_PATH="many.h5",
                           FAULT_REPORT=os.path.abspath("reads"))
        status = subprocess.run(["h5pack", "photos", "--verify", "--quiet", "-o", "many.h5"],
                                env=environment).returncode
        with open("reads") as f:
            calls = int(f.read().split()[-1])
        os.unlink("reads")
        ok(status == 0 and n_chunks <= calls < n,
           f"{n} images in {n_chunks} chunks, {chunk}, are verified in {calls} reads")
    os.unlink("many.h5")


def verification():
    pack("photos", "--size", 32)
    before = digest("out.h5")
    result = run("photos", "--verify", "-o", "out.h5")
    ok(result.returncode == 0 and digest("out.h5") == before, "--verify decodes again and agrees")
    verified_reads()
    with h5py.File("out.h5") as f:
        offset = f["images"].id.get_chunk_info(0).byte_offset
    with open("out.h5", "r+b") as f:
        f.seek(offset + 1234)
        byte = f.read(1)
        f.seek(offset + 1234)
        f.write(bytes([byte[0] ^ 1]))
    result = run("photos", "--verify", "-o", "out.h5")
    ok(result.returncode == 1 and "pixels differ" in result.err, "and finds a single flipped bit: "
       + result.err.strip())
    os.unlink("photos/" + sorted(os.listdir("photos"))[0] + "/"
              + sorted(os.listdir("photos/" + sorted(os.listdir("photos"))[0]))[0])
    result = run("photos", "--verify", "-o", "out.h5")
    ok(result.returncode == 1 and "another image" in result.err, "and a missing image: "
       + result.err.strip())


def other_values():
    """--verify of files in which h5py has changed one value of one image."""
    images = sorted(os.path.relpath(os.path.join(where, name), "photos")
                    for where, _, files in os.walk("photos") for name in files)[:6]
    with open("rows.tsv", "w") as f:
        f.write("path\tage\tscore\tnote\tplace\n")
        for i, name in enumerate([*images, "gone.jpg"]):
            f.write(f"{name}\t{i}\t{i / 4 if i else 'nan'}\tn{i}\t\\{i}\n")
    words = ["--list", "rows.tsv", "photos"]
    pack(*words, "--size", 16, "--shuffle", "--seed", 4, "--on-error", "blank", status=1)
    result = run(*words, "--verify", "--json", "-o", "out.h5")
    ok(result.returncode == 1 and json.loads(result.stdout)["result"]["matches"] is True,
       "--verify agrees with a list's columns, an order and a stand-in: " + result.err.strip())
    with h5py.File("out.h5") as f:
        index, valid = f["source_index"][()].tolist(), f["valid"][()].tolist()
        height, width = f["original_size"][2].tolist()
    gone, at = valid.index(0), index[2]
    for name, row, value, says in (
            ("original_size", 2, (3, width), f"original_size is 3x{width}, the image's {height}x{width}"),
            ("original_size", 2, (height, 3), f"original_size is {height}x3, the image's {height}x{width}"),
            ("original_size", gone, (1, 2), "original_size is 1x2, the image's 0x0"),
            ("source_index", 2, 9, f"source_index is 9, the source's {at}"),
            ("valid", 2, 0, "valid is 0, the image's 1"),
            ("valid", gone, 1, "valid is 1, the image's 0"),
            ("age", 2, 77, f"age is 77, in the list {at}"),
            ("score", index.index(0), 0.5, "score is 0.5, in the list nan"),
            ("note", 2, b"x", f"note is 'x', in the list 'n{at}'"),
            ("place", 2, b"", f"place is '', in the list '\\\\{at}'")):
        with h5py.File("out.h5", "r+") as f:
            was = f[name][row]
            f[name][row] = value
        result = run(*words, "--verify", "-o", "out.h5")
        ok(result.returncode == 1 and f"{says} (row {row} of 'out.h5')" in result.err,
           f"--verify compares {name} of image {row}: {result.err.strip()}")
        with h5py.File("out.h5", "r+") as f:
            f[name][row] = was
    for name, make, says in (
            ("age", None, "column 'age' of the list: no dataset 'age'"),
            ("age", np.zeros(7), "column 'age' of the list: 'age' is not of integers"),
            ("score", np.zeros(7, "i8"), "column 'score' of the list: 'score' is not of floating-point numbers"),
            ("note", np.zeros(7), "column 'note' of the list: 'note' is not of texts"),
            ("age", np.zeros(6, "i8"), "column 'age' of the list: 'age' has 6 entries, images 7"),
            ("original_size", np.zeros((7, 3), "i4"), "'original_size' is not of 2 columns")):
        shutil.copy("out.h5", "other.h5")
        with h5py.File("other.h5", "r+") as f:
            del f[name]
            if make is not None:
                f[name] = make
        result = run(*words, "--verify", "-o", "other.h5")
        ok(result.returncode == (2 if name == "original_size" else 1) and f"'other.h5': {says}" in result.err,
           f"--verify: {says}: {result.err.strip()}")
    other_statistics(words)


def other_statistics(words):
    """--verify of out.h5 with another mean or std, or with labels that the list does not give."""
    with h5py.File("out.h5") as f:
        mean, std = f["images"].attrs["mean"], f["images"].attrs["std"]
    for name, value, says in (
            ("mean", mean + (0, 0, 1e-6), f"attribute mean is not {mean[2]:.17g} but"),
            ("std", std * (1, 1.001, 1), f"attribute std is not {std[1]:.17g} but"),
            ("std", std * np.nan, "attribute std is not"),
            ("mean", None, "no attribute mean"),
            ("mean", mean[:2], "attribute mean is not of 3 floating-point numbers"),
            ("mean", mean + 1e-12, None),
            ("labels", np.zeros(7, "i8"), "has labels, the source has none")):
        shutil.copy("out.h5", "other.h5")
        with h5py.File("other.h5", "r+") as f:
            if name == "labels":
                f[name] = value
            elif value is None:
                del f["images"].attrs[name]
            else:
                f["images"].attrs[name] = value
        result = run(*words, "--verify", "-o", "other.h5")
        ok(result.returncode == 1 and ("'other.h5'" in result.err and says in result.err if says
                                       else "'other.h5'" not in result.err),
           f"--verify of {name}: {result.err.strip()}")


def hostile_files():
    pack("photos", "--size", 32)
    with h5py.File("out.h5") as f:
        options = f.attrs["h5pack_options"]
    for shape in (3, 0, 5, 3), (0, 5, 5, 3), (3, 5, 5, 4), (3, 5, 5), (3, 70000, 5, 3):
        with h5py.File("hostile.h5", "w") as f:
            f.attrs["h5pack_options"] = options
            f.create_dataset("images", shape, "u1", chunks=True)
            f["filenames"] = [b"a"] * shape[0]
        result = run("photos", "--verify", "-o", "hostile.h5")
        ok(result.returncode in (1, 2) and result.err.count("\n") == 1,
           f"a file with images of {shape} that h5pack did not write: {result.err.strip()}")
    with h5py.File("out.h5", "r+") as f:
        f["labels"][7] += 1
    result = run("photos", "--verify", "-o", "out.h5")
    ok(result.returncode == 1 and "label differs (row 7" in result.err, "--verify compares labels: "
       + result.err.strip())
    with h5py.File("out.h5", "r+") as f:
        f["labels"][7] -= 1
        f["class_names"][0] = b"someone"
    result = run("photos", "--verify", "-o", "out.h5")
    ok(result.returncode == 1 and "other classes" in result.err, "--verify compares classes: "
       + result.err.strip())


def compared():
    """Every way in which a file can differ from its images has its sentence."""
    os.makedirs("same/a")
    os.makedirs("same/b")
    for i in range(6):
        Image.fromarray(np.full((6, 8, 3), 40 * i, "u1")).save(f"same/{'ab'[i % 2]}/{i}.png")
    pack("same", "--chunk", 2, out="same.h5")
    order = ["a/0.png", "a/2.png", "a/4.png", "b/1.png", "b/3.png", "b/5.png"]

    def replaced(f, name, values):
        attributes = dict(f[name].attrs)
        del f[name]
        f[name] = values
        f[name].attrs.update(attributes)

    def set_to(name, index, value):
        def change(f):
            f[name][index] = value
        return change

    def put(name, make):
        return lambda f: replaced(f, name, make(f[name][()]))

    def without(name):
        return lambda f: f.pop(name)

    def row(i, what):
        return 1, f"'same/{order[i]}': {what} (row {i} of 'changed.h5')"
    bad_images = (2, "'changed.h5': images is not as h5pack_options says")
    uneven = (2, "'changed.h5': filenames and labels are not as many as images")
    classes = (1, "'changed.h5': has other classes than the source; were --classes or --list given when "
               "it was packed?")
    cases = [
        (lambda f: None, (0, "")),
        (set_to("images", (0, 0, 0, 0), 7), row(0, "pixels differ")),
        (set_to("images", (5, 5, 7, 2), 7), row(5, "pixels differ")),
        (set_to("images", (3, 2, 0, 1), 7), row(3, "pixels differ")),
        (set_to("labels", 4, 0), row(4, "label differs")),
        (set_to("labels", 0, -1), row(0, "label differs")),
        (set_to("filenames", 2, b"a/5.png"), row(2, "the file has another image in this place")),
        (set_to("filenames", 5, b"b/5.pn"), row(5, "the file has another image in this place")),
        (set_to("class_names", 1, b"c"), classes),
        (put("class_names", lambda names: names[:1]), classes),
        (put("class_names", lambda names: names[[0, 1, 1]]), classes),
        (put("class_names", lambda names: names[::-1]), classes),
        (without("class_names"), classes),
        (put("labels", lambda labels: labels[:5]), uneven),
        (put("filenames", lambda names: names[[0, 1, 2, 3, 4, 5, 5]]), uneven),
        (without("labels"), (2, "'changed.h5': no dataset 'labels'")),
        (without("filenames"), (2, "'changed.h5': no dataset 'filenames'")),
        (without("images"), (2, "'changed.h5' has no dataset 'images'")),
        (put("filenames", lambda names: names.reshape(6, 1)), (2, "'changed.h5': 'filenames' is not one-dimensional")),
        (put("filenames", lambda names: np.arange(6)), (2, "'changed.h5': 'filenames' is not of texts")),
        (put("images", lambda images: images.astype("u2")), bad_images),
        (put("images", lambda images: images[..., 0]), bad_images),
        (put("images", lambda images: images[..., :2]), bad_images),
        (put("images", lambda images: images[:, :0]), bad_images),
        (put("images", lambda images: images[:, :, :0]), bad_images),
        (lambda f: f.attrs.pop("h5pack_options"),
         (2, "'changed.h5': no attribute h5pack_options: h5pack did not write this file")),
        (lambda f: f.attrs.modify("h5pack_options", np.bytes_("{}")),
         (2, "'changed.h5': attribute h5pack_options: bad 'layout'")),
        (lambda f: f.attrs.modify("h5pack_options", np.bytes_("[]")),
         (2, "'changed.h5': attribute h5pack_options: bad '{'")),
    ]
    wrong = []
    for i, (change, (status, sentence)) in enumerate(cases):
        shutil.copy("same.h5", "changed.h5")
        with h5py.File("changed.h5", "r+") as f:
            change(f)
        result = run("same", "--verify", "--quiet", "-o", "changed.h5")
        want = f"h5pack: {sentence}\n" if sentence else ""
        if (result.returncode, result.err) != (status, want):
            wrong.append((i, result.returncode, result.err, want))
    equal(wrong, [], f"{len(cases)} files that were changed are told apart")
    shutil.copytree("same", "more")
    shutil.copy("more/b/5.png", "more/b/6.png")
    shutil.copytree("same", "less")
    os.unlink("less/b/5.png")
    shutil.copytree("same", "other")
    Image.fromarray(np.zeros((6, 9, 3), "u1")).save("other/a/0.png")
    shutil.copytree("same", "spoilt")
    with open("spoilt/a/2.png", "wb") as f:
        f.write(b"none")
    seen = {}
    for folder in "more", "less", "other", "spoilt":
        result = run(folder, "--verify", "--quiet", "-o", "same.h5")
        seen[folder] = (result.returncode, result.err.splitlines())
    equal(seen["more"], (1, ["h5pack: 'more/b/6.png': is not in the file (row 6 of 'same.h5')"]), "an image more")
    equal(seen["less"], (1, ["h5pack: 'same.h5' holds 6 images, the source gives 5"]), "an image less")
    equal(seen["other"][0], 1, "an image of another size: " + seen["other"][1][-1])
    equal((seen["spoilt"][0], seen["spoilt"][1][-1]),
          (1, "h5pack: 'spoilt/a/4.png': the file has another image in this place (row 1 of 'same.h5')"),
          "an image that is none any more")


def counted():
    """Headers alone tell what packing counts."""
    os.makedirs("kinds/x")
    plain = Image.fromarray(np.arange(192, dtype="u1").reshape(8, 8, 3))
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = Image.Exif()
    upright[0x0112] = 1
    for i in range(1):
        plain.save(f"kinds/x/icc{i}.png", icc_profile=b"profile")
    for i in range(2):
        plain.convert("RGBA").save(f"kinds/x/alpha{i}.png")
    for i in range(3):
        plain.save(f"kinds/x/turned{i}.jpg", exif=exif)
    for i in range(4):
        plain.save(f"kinds/x/moving{i}.png", save_all=True, append_images=[plain.rotate(90)])
    for i in range(5):
        plain.save(f"kinds/x/plain{i}.jpg", exif=upright)
    for i in range(6):
        plain.save(f"kinds/x/gif{i}.jpg", "GIF")
    for i in range(7):
        plain.save(f"kinds/x/bmp{i}.bmp")
    with open("kinds/x/cut.jpg", "wb") as f, open("kinds/x/plain0.jpg", "rb") as whole:
        f.write(whole.read()[:40])
    want = {"listed": 29, "packed": 15, "rejected": 14, "icc_profiles": 1, "with_alpha": 2, "rotated": 3,
            "animated": 4, "unread": {"GIF": 6, "BMP": 7}, "extent": [15, 8, 8, 3], "chunk": [29, 8, 8, 3],
            "chunks": 1, "pixel_bytes": 2880, "blank": 0, "warned": 0, "dim_16bit": 0,
            "pale_16bit": 0}
    for words in ("--dry-run",), ():
        report = pack("kinds", *words, status=1, out="kinds.h5")["result"]
        equal({key: report[key] for key in want}, want, "what is counted " + ("by headers" if words else "packing"))
    report = pack("kinds", "--on-error", "blank", "--dry-run", status=1)["result"]
    equal((report["packed"], report["blank"], report["rejected"]), (29, 14, 14), "rejects are to be black")
    with h5py.File("kinds.h5") as f:
        equal(sorted(set(n.decode() for n in f["filenames"])),
              sorted("x/" + n for n in os.listdir("kinds/x") if n[:3] not in ("gif", "bmp", "cut")),
              "and those are not in the file")
    os.makedirs("sizes/x")
    for i in range(12):
        for k in range(i + 1):
            Image.new("L", (10 + i, 20)).save(f"sizes/x/{i:02}_{k:02}.png")
    result = run("sizes", "-o", "x.h5")
    note(result.err.strip())
    tell = result.err.split("height x width: ")[1]
    shown = [part for part in tell.split(";")[0].split(" and others")[0].split(", ")]
    equal(shown, [f"20x{10 + i} ({i + 1})" for i in range(len(shown))], "sizes are counted in their order")
    rest = sum(i + 1 for i in range(len(shown), 12))
    ok(f" and others ({rest})" in tell and len(shown) < 12, "what there is no room for is counted together")


def odd_images():
    manifest = os.path.join(shared, "data", "odd", "MANIFEST.tsv")
    if not os.path.exists(manifest):
        skip("no shared data beside the checkout")
        return
    with open(manifest, encoding="utf-8", newline="\n") as f:
        header, *rows = [line.rstrip("\n").split("\t") for line in f]
    rows = [dict(zip(header, row)) for row in rows]
    text = b"".join(os.fsencode(r["file"]) + b"\0" for r in rows)
    report = pack("--list", "-", "--null", os.path.dirname(manifest), "--size", "24x20", "--fit",
                  "stretch", "--rejects", "odd.tsv", status=1, stdin=text)
    with open("odd.tsv", encoding="utf-8") as f:
        rejected = {os.path.basename(line.split("\t")[0]).replace("\\\\", "\\") for line in f}
    ok(report, "all odd images are packed or rejected in one run")
    equal([r["file"] for r in rows if r["expect"] == "ok" and r["file"] in rejected], [],
          "no image marked ok is rejected")
    formats = run("--version").stdout.decode().upper()
    equal([r["file"] for r in rows if r["expect"] == "error" and r["file"] not in rejected
           and (r["format"] not in ("WEBP", "TIFF") or r["format"] not in formats)], [],
          "every image marked error is")
    packed = [Image.open(os.path.join(os.path.dirname(manifest), r["file"])) for r in rows
              if r["file"] not in rejected and r["pillow"] == "ok"]
    equal(report["result"]["rotated"],
          sum(i.getexif().get(0x0112, 1) in range(2, 9) for i in packed), "turned ones are counted")
    ok(report["result"]["icc_profiles"] >= sum("icc_profile" in i.info for i in packed) > 0,
       "and those with a profile, a damaged one of which Pillow does not show")
    with h5py.File("out.h5") as f:
        row_of = {name: i for i, name in enumerate(names(f))}
        images = f["images"][()]
    wrong = []
    for r in rows:
        if r["expect"] != "ok" or r["rgb_strip16_sha256"] != "-":
            continue
        want = pillow(os.path.join(os.path.dirname(manifest), r["file"])).resize((20, 24),
                                                                                Image.BILINEAR)
        if not np.array_equal(images[row_of[r["file"].replace("\\", "\\\\")]], np.asarray(want)):
            wrong.append(r["file"])
    equal(wrong, [], "their resized pixels are Pillow's")


images, want = folder_of_classes()
layouts(images, want)
determinism()
shuffled(images, want)
lists(images)
validation_classes()
bad_images(images)
links_to_nowhere(images)
memory()
other_values()
hostile_files()
verification()
compared()
counted()
odd_images()
done()
