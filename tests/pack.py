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


def layouts(images, want):
    pack("photos", "--size", "40x30", "--layout", "nchw", "--gray", "--chunk", 1)
    with h5py.File("out.h5") as f:
        first = np.asarray(ImageOps.fit(pillow("photos/" + images[0], "L"), (30, 40), Image.BILINEAR))
        equal(f["images"].shape, (60, 1, 40, 30), "gray nchw has a channel axis")
        ok(np.array_equal(f["images"][0, 0], first), "--size fits as ImageOps.fit does")
    pack("photos", "--size", "40x30", "--fit", "pad", "--resample", "lanczos", "--gray")
    with h5py.File("out.h5") as f:
        first = np.asarray(ImageOps.pad(pillow("photos/" + images[0], "L"), (30, 40), Image.LANCZOS))
        equal(f["images"].shape, (60, 40, 30), "gray nhwc has none")
        ok(np.array_equal(f["images"][0], first), "--fit pad pads as ImageOps.pad does")
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


def peak_memory(*words):
    """Status and most resident bytes of a run."""
    process = subprocess.Popen(["h5pack", *words, "--quiet", "--force", "-o", "peak.h5"],
                               stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


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
    os.truncate(os.open("large/a/junk.jpg", os.O_CREAT | os.O_WRONLY), 3 << 30)
    status, peak = peak_memory("large", "--size", "32", "-j", "1", "--memory", "24M")
    ok(status == 1 and peak < base + 24 * mib,
       f"3 GiB that are no image are not read: {(peak - base) / mib:.1f}")


def verification():
    pack("photos", "--size", 32)
    before = digest("out.h5")
    result = run("photos", "--verify", "-o", "out.h5")
    ok(result.returncode == 0 and digest("out.h5") == before, "--verify decodes again and agrees")
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
hostile_files()
verification()
odd_images()
done()
