"""Random lists in every form that is read: names, labels, classes, columns with their types,
paths to open, and the words for the form are what is computed here from what was written.

    random_lists.py SOURCE_DUMP FOLDER N_LISTS"""

import json
import math
import os
import random
import re
import subprocess
import sys

from tap import done, note, ok

PATH_NAMES = ["path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_id", "imageid",
              "image_path", "image_name", "img_path"]
LABEL_NAMES = ["label", "class", "target", "category"]
FURTHER = ["x", "Größe", "a.b", "two words", "score", "mask", "Labels", "reason"]
ENDINGS = [".jpg", ".JPEG", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif", ".heic", ".heif", ".avif",
           ".jp2", ".jfif"]
WORDS = ["cat", "dog", "bird", "Zebra", "é", "a-b", "7up"]
CELLS = {
    "int": ["0", "-1", "7", "9223372036854775807", "-9223372036854775808", "1234567", "10"],
    "real": ["0.5", "-1e3", "2.", ".25", "+4", "1E-5", "3", "-0", "0", "9007199254740991"],
    "odd": ["nan", "NaN", "-inf", "Infinity", "INF", "+infinity", "1.5"],
    "zero": ["-0", "0", "1"],
    "wide": ["9007199254740992", "0.5"],
    "huge": ["1e999", "1"],
    "beyond": ["9223372036854775808", "1"],
    "zeros": ["007", "1", "2"],
    "text": ["red", "blue fish", "1x", "e5", ".", "-", "5 6", "0x1", "1e", "\u20ac"],
}


class Refused(Exception):
    pass


# -------------------------------------------------------------- what is to come of it


def typed(cells):
    """The type and values of a column, by libpack/source.h."""
    whole = re.compile(r"(0|-?[1-9]\d*)\Z", re.A)
    real = re.compile(r"[+-]?(((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|(?i:nan|inf|infinity))\Z", re.A)
    if all(whole.match(c) and -2**63 <= int(c) < 2**63 for c in cells):
        return "int64", [int(c) for c in cells]
    values = []
    for cell in cells:
        if cell and not real.match(cell):
            return "string", cells
        value = float(cell) if cell else math.nan
        if math.isinf(value) and "inf" not in cell.lower():
            return "string", cells
        if re.match(r"[+-]?\d+\Z", cell, re.A) and abs(value) >= 2**53:
            return "string", cells
        values.append(value)
    if not any(cells):
        return "string", cells
    return "float64", values


def labels_of(cells, classes):
    """Labels and classes; cells None: there are none."""
    if cells is None:
        if classes:
            raise Refused("the list has no labels for the classes given")
        return None, []
    kind, values = typed(cells)
    if kind == "float64":
        values = [-1 if math.isnan(v) else v for v in values]
        texts = ["" if v == -1 and not c else "%.17g" % v for v, c in zip(values, cells)]
        texts = ["" if c.lower().lstrip("+-") == "nan" else t for t, c in zip(texts, cells)]
    else:
        texts = [str(v) for v in values]
    if classes:
        if all(not t or t in classes for t in texts):
            return [classes.index(t) if t else -1 for t in texts], classes
        if kind == "string":
            raise Refused("is none of the classes given")
    if kind == "string":
        names = sorted(set(filter(None, texts)), key=os.fsencode)
        return ([names.index(t) if t else -1 for t in texts], names) if names else (None, [])
    if any(v != v // 1 or abs(v) >= 2**53 and kind == "float64" for v in values):
        first = next(v for v in values if v != v // 1 or abs(v) >= 2**53)
        before = values[:values.index(first)]
        if not classes or all(-1 <= v < len(classes) for v in before):
            raise Refused("is no whole number")
    if classes and not all(-1 <= v < len(classes) for v in values):
        raise Refused("is no number of a class")
    return [int(v) for v in values], classes


def folder_class(path, root):
    parts = [p for p in os.path.dirname(path).split("/") if p not in ("", ".")]
    name = parts[-1] if parts else os.path.basename(root)
    if name in ("", ".", ".."):
        raise Refused("names no folder to take a label from")
    return name


def in_words(path):
    """A name in a sentence: backslashes doubled, what cannot be shown as \\xNN."""
    odd = lambda c: c < " " or "\udc80" <= c <= "\udcff"
    return "".join("\\\\" if c == "\\" else "\\x%02x" % os.fsencode(c)[0] if odd(c) else c for c in path)


class Wanted:
    """What a list holds; the forms below fill it."""

    def __init__(self):
        self.paths, self.label, self.columns, self.form, self.own_classes = [], None, [], "", []
        self.options, self.name, self.root = [], "list.txt", None

    def records(self, classes, from_folder):
        if from_folder:
            names = [folder_class(p, self.root_path()) for p in self.paths]
            every = classes or sorted(set(names), key=os.fsencode)
            if not set(names) <= set(every):
                raise Refused("is none of the %d classes given" % len(every))
            return [every.index(n) for n in names], every
        if self.own_classes and not classes:
            return [self.own_classes.index(t) if t else -1 for t in self.label], self.own_classes
        return labels_of(self.label, classes)

    def root_path(self):
        return self.root or os.path.dirname(self.name) or "."

    def opened(self, path):
        root = self.root_path()
        return path if root == "." else root + "/" + path

    def has_large_labels(self):
        """Whole numbers that are names, as no type holds them all."""
        return any(self.label or []) and not self.own_classes and typed(self.label)[0] == "string" \
            and all(re.match(r"(0|-?[1-9]\d*)?\Z", c, re.A) for c in self.label)

    def said(self, labels_are_read):
        text, n = self.form, min(len(self.paths), 16)
        if not any(os.path.lexists(self.opened(p)) for p in self.paths[:16]):
            text += "; of its first %d file%s none is in '%s', where the paths start" % (
                n, "" if n == 1 else "s", self.root_path())
        again = [p for i, p in enumerate(self.paths) if p in self.paths[:i]]
        if again:
            text += "; %d row%s an image again, first '%s'" % (
                len(again), " names" if len(again) == 1 else "s name", in_words(again[0]))
        if labels_are_read and self.has_large_labels():
            text += "; labels too large for numbers: all are names of classes"
        return text


# ------------------------------------------------------------------------- the forms


def some_path(rng, pieces, endings=ENDINGS):
    name = "".join(rng.choice(pieces) for _ in range(rng.randint(1, 3)))
    return "%s/%s%d%s" % (rng.choice(["d", "e/f", "é"]), name, rng.randint(0, 10**6), rng.choice(endings))


def some_paths(rng, n, pieces=("a", "B", "é", "-", "."), endings=ENDINGS):
    paths = [some_path(rng, pieces, endings) for _ in range(n)]
    if n > 1 and rng.random() < 0.3:
        paths[rng.randrange(1, n)] = paths[0]
    return paths


def some_cells(rng, n, kind=None):
    kind = kind or rng.choice(list(CELLS))
    empty = rng.choice([0, 0, 0.3])
    return ["" if rng.random() < empty else rng.choice(CELLS[kind]) for _ in range(n)]


def some_labels(rng, n, empties=True):
    kind = rng.randrange(5)
    empty = rng.choice([0, 0.2]) if empties else 0
    pick = [lambda: str(rng.randint(0, 5)), lambda: rng.choice(WORDS), lambda: "%.1f" % rng.randint(-2, 4),
            lambda: rng.choice(["0.5", "1", "2.0"]), lambda: str(rng.randint(-3, 2**62))][kind]
    return ["" if rng.random() < empty else pick() for _ in range(n)]


def plural(n, word):
    return "%d more as %s%s" % (n, word, "" if n == 1 else "s")


def as_text(rng, lines, ends):
    """Lines as bytes, with what stands around them."""
    end = rng.choice(ends)
    if end == "\r" and len(lines) < 2:
        end = "\n"
    text = "".join(line + end * rng.choice([1, 1, 1, 2]) for line in lines[:-1]) + lines[-1]
    text += end if rng.random() < 0.7 else ""
    return (b"\xef\xbb\xbf" if rng.random() < 0.2 else b"") + os.fsencode(text)


def quoted(rng, cell, separator, blanks):
    must = any(c in cell for c in separator + "\"\n\r") or cell != cell.strip(" \t")
    if must or rng.random() < 0.2:
        cell = '"' + cell.replace('"', '""') + '"'
    around = [rng.choice(["", " ", "  "]) if blanks else "" for _ in range(2)]
    return around[0] + cell + around[1]


def table(rng, n, w):
    """A header, CSV or the like; columns in any order, what is left out among them."""
    separator = rng.choice([",", ",", ";", "\t"])
    quotes = separator != "\t"
    pieces = ["a", "é", " ", "x", ",", ";", "'"] + (['"'] if quotes else [])
    w.paths = some_paths(rng, n, pieces)
    knows_path, has_label = rng.random() < 0.8, rng.random() < 0.7
    path_name = rng.choice(PATH_NAMES) if knows_path else "pic"
    path_name = rng.choice([path_name, path_name.upper(), path_name.capitalize()])
    columns = [(path_name, w.paths, "path")]
    if has_label:
        w.label = some_labels(rng, n)
        columns.append((rng.choice(LABEL_NAMES + ["LABEL", "Class"]), w.label, "label"))
    for name in rng.sample(FURTHER, rng.randint(0, 3)):
        cells = some_cells(rng, n)
        if quotes and rng.random() < 0.2:
            cells = [c + rng.choice(["", "\n", '"', separator, " "]) for c in cells]
        columns.append((name, cells, "further"))
    rng.shuffle(columns)
    n_out = 0
    if rng.random() < 0.2:
        columns.insert(0, (rng.choice(["", "Unnamed: 0"]), [str(i) for i in range(n)], "out"))
        n_out += 1
    has_end = rng.random() < 0.2
    n_out += has_end
    at = {role: i for i, (_, _, role) in enumerate(columns)}
    only = len(columns) + has_end == 1
    if only:
        w.name = "list.csv"
    elif not knows_path or rng.random() < 0.1:
        w.options += ["--path-column", rng.choice([path_name, str(at["path"] + 1)])]
    use_label = has_label
    if has_label and rng.random() < 0.2:
        use_label = rng.random() < 0.5
        w.options += ["--label-column",
                      rng.choice([columns[at["label"]][0], str(at["label"] + 1)]) if use_label else "0"]
    if "--label-from-folder" in w.options:
        use_label = False
    rest = [c for c in columns if c[2] == "further" or (c[2] == "label" and not use_label)]
    w.columns = [(name, cells) for name, cells, _ in rest]
    w.label = w.label if use_label else None
    blanks = rng.random() < 0.2
    put = (lambda c: quoted(rng, c, separator, blanks)) if quotes else (lambda c: c)
    rows = [[name for name, _, _ in columns]] + [[c[i] for _, c, _ in columns] for i in range(n)]
    more = separator if not has_end and n_out == 0 and rng.random() < 0.1 else ""  # empty cells behind some rows
    lines = [separator.join(map(put, row)) + (more if i % 2 else "") + (separator if has_end and (i == 0 or rng.random() < 0.7) else "")
             for i, row in enumerate(rows)]
    if only:  # commas alone, as the name of the file says; a header is known by its name
        path_name = path_name if knows_path else "Path"
        lines = [path_name] + [quoted(rng, path, ",", False) for path in w.paths]
    if rng.random() < 0.1 and not only:
        lines.insert(0, "sep=" + separator)
    w.form = "takes column %d, '%s', as path" % (at["path"] + 1, path_name)
    if use_label:
        w.form += ", column %d, '%s', as label" % (at["label"] + 1, columns[at["label"]][0])
    w.form += ", " + plural(len(rest), "dataset") if rest else ""
    w.form += (", leaves out %d" % n_out if n_out else "") + "; header"
    has_lines = any("\n" in line for line in lines)
    return as_text(rng, lines, ["\n"] if has_lines else ["\n", "\r\n", "\r"])


def bare(rng, n, w):
    """Path and label without a header."""
    separator = rng.choice(["\t", ",", ", ", ";", " ", "  "])
    pieces = ["a", "é", "x", "-"] + ([" "] if separator[0] in "\t,;" or rng.random() < 0.5 else [])
    w.paths, w.label = some_paths(rng, n, pieces), some_labels(rng, n, separator not in ("  ", " "))
    first = separator == "\t" and rng.random() < 0.5
    index = separator == "\t" and rng.random() < 0.3
    rows = [[l, p] if first or index else [p, l] for p, l in zip(w.paths, w.label)]
    if index:  # im2rec's
        rows = [[str(rng.randint(0, 99)), *row] for row in rows]
    path_at, label_at = (3, 2) if index else (2, 1) if first else (1, 2)
    if not any(w.label):
        w.label, label_at = None, None
    if "--label-from-folder" in w.options:
        w.label, label_at = None, None
    w.form = "takes column %d as path" % path_at
    w.form += ", column %d as label" % label_at if label_at else ""
    n_out = len(rows[0]) - 1 - bool(label_at)
    w.form += (", leaves out %d" % n_out if n_out else "") + "; no header"
    return as_text(rng, [separator.join(row) for row in rows], ["\n", "\r\n", "\r"])


def lines(rng, n, w):
    """Paths alone."""
    how = rng.choice(["", "--lines", "--null"])
    w.form = "takes each line as path; no header"
    if not how:
        w.paths = some_paths(rng, n)
        return as_text(rng, w.paths, ["\n", "\r\n", "\r"])
    w.options.append(how)
    pieces = ["a", " ", "\t", ",", '"', "\udcff", "é"] + (["\n", "\r"] if how == "--null" else [])
    w.paths = [p.strip("\r") for p in some_paths(rng, n, pieces, ENDINGS + ["", ".txt"])]
    if how == "--null":
        return os.fsencode("\0".join(w.paths) + rng.choice(["", "\0"]))
    return as_text(rng, w.paths, ["\n", "\r\n"])


def celeba(rng, n, w):
    """The number of rows, the names of the columns, rows apart by blanks."""
    w.paths = some_paths(rng, n)
    named, has_label = rng.random() < 0.4, rng.random() < 0.4
    names = rng.sample([f for f in FURTHER if " " not in f and "." not in f], rng.randint(1, 3)) + (["label"] if has_label else [])
    rng.shuffle(names)
    cells = {name: [c.replace(" ", "_") or "-1" for c in some_cells(rng, n)] for name in names}
    if has_label:
        cells["label"] = w.label = some_labels(rng, n, False)
    if "--label-from-folder" in w.options:
        w.label, has_label = None, False
    w.columns = [(name, cells[name]) for name in names if not (has_label and name == "label")]
    gap = lambda: rng.choice([" ", "  ", "\t", " \t "])
    text = [str(n), gap().join((["image_id"] if named else []) + names) + rng.choice(["", " "])]
    text += [gap().join([p] + [cells[name][i] for name in names]) for i, p in enumerate(w.paths)]
    w.form = "takes column 1 as path" + (", column %d as label" % (2 + names.index("label")) if has_label else "")
    w.form += (", " + plural(len(w.columns), "dataset") if w.columns else "") + "; CelebA's table"
    return as_text(rng, text, ["\n", "\r\n"])


def rejects(rng, n, w):
    w.paths = some_paths(rng, n, ["a", "\\", " ", "é"])
    w.root = "."  # from where they were packed
    rows = ["%s\tno image: %d" % (p.replace("\\", "\\\\"), i) for i, p in enumerate(w.paths)]
    w.form = "takes column 1, 'path', as path, leaves out 1; a list of rejects"
    return as_text(rng, ["path\treason"] + rows, ["\n"])


def json_value(rng, cell):
    """A cell as one of the JSON values that stand for it, and what it is read as."""
    if cell == "" and rng.random() < 0.7:
        return None, ""
    if cell in ("0", "1") and rng.random() < 0.3:
        return cell == "1", cell
    if re.match(r"(0|-?[1-9]\d{0,17})\Z", cell) and rng.random() < 0.7:
        return int(cell), cell
    if re.match(r"-?(0|[1-9]\d*)\.\d+\Z", cell) and rng.random() < 0.7:
        value = float(cell)
        return value, "%.0f" % value if value.is_integer() and abs(value) < 2**53 else json.dumps(value)
    return cell, cell


def objects(rng, n, w):
    """An object for each image."""
    w.paths = some_paths(rng, n, ["a", "é", " ", '"', "\\", ",", "{", "]"])
    path_name = rng.choice(PATH_NAMES)
    names = rng.sample(FURTHER, rng.randint(0, 3))
    has_label = rng.random() < 0.7
    label_name = rng.choice(LABEL_NAMES)
    cells = {name: some_cells(rng, n) for name in names}
    if has_label:
        cells[label_name] = some_labels(rng, n)
    keys = names + [path_name] + ([label_name] if has_label else [])
    rng.shuffle(keys)
    rows = []
    for i, path in enumerate(w.paths):
        row = {}
        for key in keys if i == 0 else rng.sample(keys, len(keys)):
            value, read = (path, path) if key == path_name else json_value(rng, cells[key][i])
            if key != path_name:
                cells[key][i] = read
            if value is not None or i == 0 or rng.random() < 0.5:
                row[key] = value
        if rng.random() < 0.3:
            row["boxes"] = [[1, 2], {"a": "]"}]
        rows.append(row)
    if has_label and "--label-from-folder" not in w.options:
        w.label = cells[label_name]
        w.form = ", '%s' as label" % label_name
    w.columns = [(k, cells[k]) for k in keys if k in cells and not (w.label is cells[k])]
    w.form = "takes '%s' as path" % path_name + w.form
    w.form += ", " + plural(len(w.columns), "dataset") if w.columns else ""
    form = rng.choice(["JSON lines", "JSON array", "JSON objects"])
    w.form += "; " + form
    ascii_only = rng.random() < 0.5
    if form == "JSON lines":
        return as_text(rng, [json.dumps(r, ensure_ascii=ascii_only) for r in rows], ["\n", "\r\n"])
    if form == "JSON objects":
        return os.fsencode("\n".join(json.dumps(r, indent=1, ensure_ascii=ascii_only) for r in rows))
    return os.fsencode(json.dumps(rows, indent=rng.choice([None, 1]), ensure_ascii=ascii_only))


def cells_of_json(rng, n, w):
    """Arrays of path and label, StyleGAN's among them, or an object of them."""
    form = rng.choice(["JSON array", "StyleGAN's dataset.json", "JSON object"])
    w.paths = some_paths(rng, n, ["a", "é", " ", ":"])
    if form == "JSON object":
        w.paths = list(dict.fromkeys(w.paths))
    values = [json_value(rng, c) for c in some_labels(rng, len(w.paths))]
    w.label = [read for _, read in values]
    rows = [[p, value] for p, (value, _) in zip(w.paths, values)]
    w.form = "takes each key as path, each value as label" if form == "JSON object" else \
        "takes column 1 as path, column 2 as label"
    if "--label-from-folder" in w.options or not any(w.label):
        w.form = "takes each key as path, leaves out 1" if form == "JSON object" else \
            "takes column 1 as path, leaves out 1"
        w.label = None
    w.form += "; " + form
    data = rows if form == "JSON array" else dict(rows) if form == "JSON object" else \
        {"labels": rows, "more": [1, {"x": 2}]}
    return os.fsencode(json.dumps(data, indent=rng.choice([None, 2])))


def coco(rng, n, w):
    """Images, annotations and categories, in any order."""
    w.paths = some_paths(rng, n, ["a", "é", " ", "/"])
    ids = rng.sample(range(-5, 10 * n + 5), n)
    names = rng.sample(WORDS, rng.randint(1, len(WORDS)))
    numbers = dict(zip(rng.sample(range(1, 91), len(names)), names))
    notes = [(rng.choice(ids + [10**6]), rng.choice(list(numbers))) for _ in range(rng.choice([0, n, 3 * n]))]
    seen = {}
    for image, category in notes:
        seen.setdefault(image, []).append(category)

    def item(**members):
        keys = rng.sample(list(members), len(members))
        return {**{k: members[k] for k in keys}, **({"bbox": [0, {"id": 5}]} if rng.random() < 0.3 else {})}

    sections = {"images": [item(id=i, file_name=p) for i, p in zip(ids, w.paths)],
                "annotations": [item(id=k, image_id=i, category_id=c) for k, (i, c) in enumerate(notes)],
                "categories": [item(id=i, name=name) for i, name in numbers.items()],
                "info": {"images": [1], "id": 2}}
    has_labels = rng.random() < 0.8
    if not has_labels:
        del sections["annotations"]
    if "--label-from-folder" in w.options:
        has_labels = False
    w.form = "takes file_name as path"
    if has_labels:
        first = [seen.get(i, [None])[0] for i in ids]
        w.label = [numbers.get(c, "") for c in first]
        w.own_classes = [numbers[i] for i in sorted(numbers)]
        w.form += ", the first category of each image as label (%d have several, %d none)" % (
            sum(len(set(seen.get(i, []))) > 1 for i in ids), first.count(None))
    w.form += ", image_id as dataset; COCO"
    w.columns = [("image_id", [str(i) for i in ids])]
    keys = rng.sample(list(sections), len(sections))
    return os.fsencode(json.dumps({k: sections[k] for k in keys}, indent=rng.choice([None, 1])))


FORMS = [table, table, table, bare, bare, lines, celeba, rejects, objects, objects, cells_of_json, coco]

# ------------------------------------------------------------------------ the test


def dump(program, words):
    run = subprocess.run([program, "--all", *words], capture_output=True)
    got = {"records": [], "C": [], "P": [], "L": None, "F": None, "columns": []}
    for entry in map(os.fsdecode, run.stdout.split(b"\0")[:-1]):
        key, rest = entry.split(" ", 1)
        if key == "K":
            kind, name = rest.split(" ", 1)
            got["columns"].append((name, kind, []))
        elif key == "V":
            got["columns"][-1][2].append(rest)
        elif key in ("C", "P"):
            got[key].append(rest)
        elif key in ("L", "F"):
            got[key] = rest
        else:
            got["records"].append((int(key), rest))
    return run.returncode, got, run.stderr.decode(errors="surrogateescape")


def shown(value, kind):
    return value if kind == "string" else str(value) if kind == "int64" else \
        "nan" if math.isnan(value) else "%.17g" % value


def wanted(w, classes, from_folder):
    labels, names = w.records(classes, from_folder)
    columns = []
    for name, cells in w.columns:
        kind, values = typed(cells)
        columns.append((name, kind, [shown(v, kind) for v in values]))
    return {"records": list(zip(labels or [-1] * len(w.paths), w.paths)), "C": names,
            "P": [w.opened(p) for p in w.paths], "L": str(int(labels is not None)), "F": w.said(not classes and not from_folder),
            "columns": columns}


def check(program, seed):
    rng = random.Random(seed)
    w = Wanted()
    form = rng.choice(FORMS)
    n = rng.choice([1, 2, 3, 5, 8, 40, 300, 700])
    from_folder = rng.random() < 0.15
    w.options = ["--label-from-folder"] if from_folder else []
    classes = rng.sample(WORDS + ["0", "1", "2"], rng.randint(3, 10)) if rng.random() < 0.15 else []
    data = form(rng, n, w)
    if form is not rejects:
        folder = rng.choice(["", "some/", "./"])
        w.name = folder + w.name
        w.root = rng.choice([None, None, "root", "root/below", "."])
        w.root = w.root if "/" not in w.name or w.root else None
    os.makedirs("some", exist_ok=True)
    with open(w.name, "wb") as f:
        f.write(data)
    there = w.opened(w.paths[rng.randrange(min(n, 16, len(w.paths)))]) if rng.random() < 0.5 else None
    if there:
        os.makedirs(os.path.dirname(there) or ".", exist_ok=True)
        open(there, "wb").close()
    words = w.options + (["--root", w.root] if w.root and form is not rejects else [])
    for name in classes:
        words += ["--class", name]
    status, got, err = dump(program, words + ["--list", w.name])
    try:
        want = wanted(w, classes, from_folder)
        passed = status == 0 and got == want
    except Refused as why:
        want = str(why)
        passed = status == 2 and want in err
    if there:
        os.remove(there)
    if not passed:
        note(f"list {seed}, {form.__name__}: {' '.join(words)}: status {status}, {err}")
        for key in got if isinstance(want, dict) else []:
            if got[key] != want[key]:
                pairs = [(g, v) for g, v in zip(got[key] or [], want[key] or []) if g != v] \
                    if isinstance(want[key], list) else []
                note(f"{key}: got {str(pairs[0][0] if pairs else got[key])[:300]}")
                note(f"{key}: want {str(pairs[0][1] if pairs else want[key])[:300]}")
        if not isinstance(want, dict):
            note(f"want refused: {want}")
        note(data[:300])
    return form.__name__, passed


def main(program, folder, count):
    os.chdir(folder)
    tally = {}
    for seed in range(count):
        form, passed = check(program, seed)
        good, bad = tally.get(form, (0, 0))
        tally[form] = good + passed, bad + (not passed)
    for form, (good, bad) in sorted(tally.items()):
        ok(bad == 0, f"{good + bad} lists of the form '{form}' are what they were written as")
    done()


main(os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
