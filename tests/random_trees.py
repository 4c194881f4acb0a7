"""Random folders and files as sources: names, order, labels, classes, paths, formats that are
not read and every remark are what is computed here by the rules of libpack/source.h.

    random_trees.py SOURCE_DUMP FOLDER N_TREES"""

import os
import random
import re
import shutil
import subprocess
import sys

from tap import done, note, ok

READ = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
THUMBS = ("thumbs", "thumb", "thumbnails", "thumbnail", "@eadir")
SPLIT = re.compile(r"(train|training|val|valid|validation|test|testing)[-_ ]*(set|data|images|imgs|img|\d{2,4}|)\Z",
                   re.I)
REMARKS = [
    ("hidden", "hidden file or folder ignored", "hidden files and folders ignored"),
    ("other", "file ignored that is no image", "files ignored that are no images"),
    ("unnamed", "image ignored because its name does not end in .jpg, .png or the like",
     "images ignored because their names do not end in .jpg, .png or the like"),
    ("root", "image ignored that lies beside the class folders", "images ignored that lie beside the class folders"),
    ("folder", "folder without images ignored", "folders without images ignored"),
    ("empty", "class folder without images", "class folders without images"),
    ("broken", "link to nowhere ignored", "links to nowhere ignored"),
    ("loop", "link not followed because it leads to a folder it is in",
     "links not followed because they lead to a folder they are in"),
    ("thumb", "image ignored that lies in a folder of thumbnails", "images ignored that lie in folders of thumbnails"),
    ("source", "source ignored that is no image and no folder", "sources ignored that are no images and no folders"),
]
ORDER = ["hidden", "other", "unnamed", "root", "folder", "empty", "broken", "loop", "thumb", "source"]


class Refused(Exception):
    pass


# ------------------------------------------------------------------ what is to come of it


class Source:
    """All sources of a call."""

    def __init__(self, options, given):
        self.options, self.given = options, given
        self.takes_all = options["no_labels"] or options["label_from_folder"]
        self.records, self.classes, self.paths = [], [], []  # records: name, number of class folder
        self.notes = {kind: [] for kind in ORDER}
        self.unread = []

    def note(self, kind, name):
        self.notes[kind].append(name)

    def files(self, folder, prefix, by_content, unread, in_thumbs=False):
        """The images of one folder, and its subfolders; notes the rest."""
        images, folders = [], []
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.startswith("."):
                self.note("hidden", prefix + name)
            elif os.path.isdir(path):
                folders.append(name)
            elif name.lower().endswith(READ):
                images.append(name)
            elif not os.path.exists(path):
                self.note("broken", prefix + name)
            else:
                self.file(path, prefix + name, by_content, unread, images, in_thumbs)
        return sorted(images), sorted(folders)

    def file(self, path, name, by_content, unread, images, in_thumbs):
        head = open(path, "rb").read(16) if os.path.isfile(path) else b""
        if head.startswith(b"\xff\xd8\xff"):
            if by_content:
                images.append(os.path.basename(path))
            else:
                self.note("unnamed", name)
        elif os.path.isfile(path) and not in_thumbs and (head.startswith(b"GIF89a")):
            unread.append(name)
        else:
            self.note("other", name)

    def walk(self, folder, prefix, label, by_content, unread, up, in_thumbs=False):
        """Images below, (path of their folder, name): for sorting."""
        key = (os.stat(folder).st_dev, os.stat(folder).st_ino)
        if key in up:
            self.note("loop", prefix[:-1])
            return []
        images, folders = self.files(folder, prefix, by_content, unread, in_thumbs)
        found = [(prefix[:-1], name) for name in images]
        if in_thumbs:
            for name in images:
                self.note("thumb", prefix + name)
            found = []
        for name in folders:
            thumbs = in_thumbs or (self.takes_all and images and not in_thumbs and name.lower() in THUMBS)
            found += self.walk(os.path.join(folder, name), prefix + name + "/", label, by_content, unread, up + [key],
                               bool(thumbs))
        return found

    def add(self, found, label, prefix, folder):
        for above, name in sorted(found):
            name = above + "/" + name if above else name
            self.records.append((name, label))
            rest = name[len(prefix):]
            self.paths.append(rest if folder == "." else folder + ("" if folder.endswith("/") else "/") + rest)

    def folder(self, folder, prefix):
        """True when it is flat."""
        unread, key = [], (os.stat(folder).st_dev, os.stat(folder).st_ino)
        if self.takes_all:
            found = self.walk(folder, prefix, -1, True, self.unread, [])
            self.add(found, -1, prefix, folder)
            return self.has_images(found, folder)
        root, folders = self.files(folder, prefix, True, unread)
        splits = [bool(SPLIT.match(name)) for name in folders]
        if not root and not self.options["splits"] and 2 * sum(splits) > len(splits):
            raise Refused("'%s' holds splits" % folder)
        below = [self.walk(os.path.join(folder, name), prefix + name + "/", 0, self.options["any_name"], self.unread,
                           [key])
                 for name in folders]
        n = sum(map(len, below))
        with_images = [i for i, found in enumerate(below) if found]
        if root and n and all(folders[i].lower() in THUMBS for i in with_images):
            for found in below:
                for above, name in found:
                    self.note("thumb", above + "/" + name)
            n = 0
        elif n == 0 and root:
            for name in folders:
                self.note("folder", prefix + name)
        if n == 0:
            self.unread += unread
            self.add([(prefix[:-1], name) for name in root], -1, prefix, folder)
            return self.has_images(root, folder)
        if len(root) > n:
            raise Refused("'%s' holds %d image%s itself and %d in subfolders" % (
                folder, len(root), "" if len(root) == 1 else "s", n))
        if not self.options["splits"] and 2 * sum(splits[i] for i in with_images) > len(with_images):
            raise Refused("'%s' holds splits" % folder)
        for name in unread:
            self.note("other", name)
        for name in root:
            self.note("root", prefix + name)
        for name, found in zip(folders, below):
            self.classes.append((name, prefix + name, len(found)))
            self.add(found, len(self.classes) - 1, prefix, folder)
        return False

    def has_images(self, found, folder):
        if not found:
            raise Refused("no images in '%s'" % folder)
        return True

    def kinds(self):
        """The sources that are taken: (path, whether it is an image)."""
        taken, missing = [], None
        for path in self.given:
            if os.path.isdir(path):
                taken.append((re.sub("(.)/+$", r"\1", path), False))
            elif not os.path.lexists(path):
                missing = missing or path
                taken.append((path, False))
            elif path.lower().endswith(READ) or (os.path.isfile(path) and
                                                 open(path, "rb").read(3) == b"\xff\xd8\xff"):
                taken.append((path, True))
            else:
                self.note("source" if os.path.exists(path) else "broken", path)
        if missing and (len(taken) < len(self.given) or any(image for _, image in taken) or
                        missing.lower().endswith(READ)):
            raise Refused("'%s': No such file or directory" % missing)
        if not taken:
            raise Refused("'%s' is no image and no folder of images" % self.given[0])
        return taken

    def list(self):
        taken = self.kinds()
        names = [os.path.basename(path) for path, _ in taken]
        by_last = not any(image for _, image in taken) and len(set(names)) == len(names) and \
            not set(names) & {"", ".", ".."}
        flat, seen = [], []
        for path, image in taken:
            if image:
                self.records.append((path, -1))
                self.paths.append(path)
                flat.append(True)
            else:
                if not os.path.isdir(path):
                    raise Refused("'%s': No such file or directory" % path)
                key = os.stat(path).st_ino
                if key in seen:
                    raise Refused("are the same folder")
                seen.append(key)
                prefix = "" if len(taken) == 1 else (os.path.basename(path) if by_last else path) + "/"
                flat.append(self.folder(path, prefix))
            if flat[-1] and self.options["classes"] and not self.takes_all:
                raise Refused("sources that are files have no labels among" if image else
                              "'%s' is a flat folder" % path)
            if flat[-1] != flat[0]:
                raise Refused("no such mixture")
        return self.labels()

    def labels(self):
        given = self.options["classes"]
        if self.options["label_from_folder"]:
            names = []
            for (_, _), path in zip(self.records, self.paths):
                name = os.path.basename(os.path.dirname(path))
                if name in ("", ".", ".."):
                    raise Refused("names no folder to take a label from")
                names.append(name)
            classes = given or sorted(set(names))
            if set(names) - set(classes):
                raise Refused("is none of the %d classes given" % len(classes))
            return [classes.index(name) for name in names], classes
        if not self.classes:
            return None, []
        classes = given or sorted({name for name, _, _ in self.classes})
        for name, path, n in self.classes:
            if n and name not in classes:
                raise Refused("class folder '%s' is none of the %d classes given" % (path, len(classes)))
            if not n:
                self.note("empty" if name in classes else "folder", path)
        return [classes.index(self.classes[i][0]) for _, i in self.records], classes

    def remarks(self):
        text = ""
        for kind, one, many in REMARKS:
            names = self.notes[kind]
            if names:
                text += "%d %s%s '%s'\n" % (len(names), one if len(names) == 1 else many,
                                            ":" if len(names) == 1 else ", first", min(names))
        return text


# ---------------------------------------------------------------------------- the trees

NAMES = ["a", "b", "B", "a-b", "é", "x y", "~", "\U0001f600", "\uff21", "z.d"]
ENDINGS = [".jpg", ".JPG", ".Jpeg", ".png", ".tiff", ".webp", ".pgm", ".txt", "", ".dat", ".jpgx", ".bmp", ".tif",
           ".ppm"]
FOLDERS = NAMES + ["thumbs", "Thumbnails", "@eaDir", "train", "val2017", "Test-Images", "validation", "trainer",
                   "test1", "testing set", "thumb", "cat.jpg"]


def make_file(rng, path):
    kind = rng.random()
    if os.path.lexists(path):
        return
    if kind < 0.08:
        os.symlink(rng.choice(["nowhere", os.path.basename(path)]), path)
    elif kind < 0.12:
        os.mkfifo(path)
    else:
        with open(path, "wb") as f:
            f.write(rng.choice([b"text", b"", b"\xff\xd8\xff\xe0 x", b"\xff\xd8", b"GIF89a x"]))


def fill(rng, folder, depth, some):
    for _ in range(rng.choice(some)):
        name = rng.choice(["", "", "", "", "."]) + rng.choice(NAMES) + rng.choice(ENDINGS)
        make_file(rng, os.path.join(folder, name))
    for _ in range(rng.choice([0, 1, 2, 4]) if depth else 0):
        path = os.path.join(folder, rng.choice(["", "", "", "", "", "."]) + rng.choice(FOLDERS))
        if os.path.lexists(path):
            continue
        if rng.random() < 0.1:
            os.symlink(rng.choice(["..", ".", "../.."]), path)
        else:
            os.mkdir(path)
            fill(rng, path, depth - 1, [0, 0, 1, 2, 4, 6])


def make_sources(rng):
    """The sources of a call, made in the current folder."""
    os.makedirs("s/2019")
    for name in ("s/one", "s/two", "s/2019/one", "s/flat"):
        os.mkdir(name)
        fill(rng, name, 0 if name == "s/flat" else 3, rng.choice([[0], [0], [0, 1], [1, 3, 8]]))
    for name in ("s/i.jpg", "s/j", "s/k.txt", "s/2019/l.PNG"):
        make_file(rng, name)
    folders = ["s/one", "s/one/", "s/two", "s/two//", "s/2019/one", "s/flat", "./s/two"]
    if rng.random() < 0.5:
        return [rng.choice(folders + ["."])]
    if rng.random() < 0.5:
        return rng.sample(folders, rng.randint(1, 3))
    return rng.sample(folders + ["s/i.jpg", "s/j", "s/k.txt", "s/2019/l.PNG", "s/gone.jpg"], rng.randint(1, 4))


def dump(program, words):
    run = subprocess.run([program, "--all", *words], capture_output=True)
    got = {"records": [], "C": [], "P": [], "L": [], "U": []}
    for entry in map(os.fsdecode, run.stdout.split(b"\0")[:-1]):
        key, rest = entry.split(" ", 1)
        if key in got:
            got[key].append(rest)
        else:
            got["records"].append((rest, int(key)))
    return run.returncode, got, os.fsdecode(run.stderr)


def check(program, seed):
    rng = random.Random(seed)
    sources = make_sources(rng)
    options = {"no_labels": rng.random() < 0.25, "label_from_folder": rng.random() < 0.15,
               "any_name": rng.random() < 0.2, "splits": rng.random() < 0.6, "classes": []}
    options["label_from_folder"] &= not options["no_labels"]
    if rng.random() < 0.15 and not options["no_labels"]:
        options["classes"] = rng.sample(FOLDERS, rng.randint(8, len(FOLDERS)))
    words = [word for word, key in (("--no-labels", "no_labels"), ("--label-from-folder", "label_from_folder"),
                                    ("--any-name", "any_name"), ("--splits", "splits")) if options[key]]
    for name in options["classes"]:
        words += ["--class", name]
    status, got, err = dump(program, words + sources)
    source = Source(options, sources)
    try:
        labels, classes = source.list()
        n = len(source.unread)
        want = {"records": [(name, -1 if labels is None else labels[i]) for i, (name, _) in enumerate(source.records)],
                "C": classes, "P": source.paths, "L": [str(int(labels is not None))],
                "U": ["%d GIF %s" % (n, min(source.unread))] if n else []}
        passed = status == 0 and got == want and err == source.remarks()
    except Refused as why:
        want = str(why)
        mixed = "one is flat and one" in err or "is an image in none of them" in err
        passed = status == 2 and (mixed if want == "no such mixture" else want in err)
    if not passed:
        note(f"tree {seed}: {' '.join(words + sources)}: status {status}\n{err}")
        if isinstance(want, dict):
            note("want remarks:\n" + source.remarks())
            for key in got:
                if got[key] != want[key]:
                    note(f"{key}: got  {got[key]}")
                    note(f"{key}: want {want[key]}")
        else:
            note(f"want refused: {want}")
    return passed, "refused" if isinstance(want, str) else "with classes" if want["C"] else "without classes"


def main(program, folder, count):
    tally = {}
    for seed in range(count):
        case = os.path.join(folder, "case")
        os.mkdir(case)
        os.chdir(case)
        passed, kind = check(program, seed)
        good, bad = tally.get(kind, (0, 0))
        tally[kind] = good + passed, bad + (not passed)
        os.chdir(folder)
        shutil.rmtree(case)
    for kind, (good, bad) in sorted(tally.items()):
        ok(bad == 0 and good > count // 10, f"{good + bad} random sources, {kind}, are listed as they are to be")
    done()


main(os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
