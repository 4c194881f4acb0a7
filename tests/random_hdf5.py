"""
Random HDF5 files by h5py: what hdf5_dump, that is the library, says of each dataset is what
h5py knows of it: type, shapes, layout, chunks and where they lie, filters, fill value,
attributes, values read in boxes, as lists, and what cannot be read so.

    random_hdf5.py FOLDER N_FILES
"""
import json
import os
import random
import struct
import subprocess
import sys

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from tap import done, note, ok

MISSING = MASK = (1 << 64) - 1
TYPES = ["u1", "<i2", ">i4", "<i8", ">u8", "<f4", ">f8", "i1", "<u2", "bool", "S5", "text", "pair", "V3"]
PAIR = np.dtype([("a", "<i4"), ("b", "<f8")])


def checksum(data):
    """As base/checksum.c has it."""
    def step(lane, word):
        lane = (lane ^ word) * 0x9fb21c651e98df25 & MASK
        return lane ^ lane >> 29

    lanes, at = [0, 1, 2, 3], len(data) // 8 * 8
    words = struct.unpack(f"<{at // 8}Q", data[:at])
    n_full = len(words) // 4 * 4
    for i, word in enumerate(words):
        lane = i % 4 if i < n_full else 0
        lanes[lane] = step(lanes[lane], word)
    if at < len(data):
        lanes[1] = step(lanes[1], int.from_bytes(data[at:], "little"))
    return step(step(step(step(lanes[0], lanes[1]), lanes[2]), lanes[3]), len(data))


class Wrong(Exception):
    pass


def same(got, want, what):
    if got != want:
        raise Wrong(f"{what}: got {got!r}, want {want!r}")


# ------------------------------------------------------------------- what is drawn


def some_type(rng):
    name = rng.choice(TYPES)
    if name == "text":
        return name, h5py.string_dtype()
    if name == "pair":
        return name, PAIR
    return name, np.dtype(name)


def some_values(rng, name, dtype, shape):
    noise = np.random.default_rng(rng.getrandbits(32))
    if name == "text":
        words = ["", "a", "b\u00e9", "long " * 9]
        return np.array([rng.choice(words) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    if name == "S5":
        return noise.choice([b"", b"abc", b"abcde"], shape)
    if name == "pair":
        values = np.zeros(shape, PAIR)
        values["a"] = noise.integers(-9, 9, shape)
        return values
    if name == "V3":
        return np.zeros(shape, "V3")
    return noise.integers(0, 2 if name == "bool" else 100, shape).astype(dtype)


def add_dataset(rng, f, path):
    name, dtype = some_type(rng)
    rank = rng.choice([1, 1, 2, 3, 4])
    shape = tuple(rng.randint(1, 9) for _ in range(rank))
    layout = rng.choice(["chunked"] * 4 + ["contiguous", "compact"])
    plist = h5p.create(h5p.DATASET_CREATE)
    most, chunk = shape, None
    if layout == "chunked":
        chunk = tuple(rng.randint(1, n + 1) for n in shape)
        most = tuple(rng.choice([n, n, None, n + 5]) for n in shape)
        chunk = tuple(min(c, m) if m else c for c, m in zip(chunk, most))
        plist.set_chunk(chunk)
        if rng.random() < 0.3 and name != "text":
            plist.set_shuffle()
        if rng.random() < 0.5:
            plist.set_deflate(rng.randint(0, 9))
        if rng.random() < 0.2 and name != "text":
            plist.set_fletcher32()
        if rng.random() < 0.3 and name != "text":
            plist.set_fill_time(rng.choice([h5d.FILL_TIME_NEVER, h5d.FILL_TIME_ALLOC]))
    elif layout == "compact":
        plist.set_layout(h5d.COMPACT)
    if name not in ("text", "pair", "V3", "S5", "bool") and rng.random() < 0.4:
        plist.set_fill_value(np.array(rng.choice([0, 7]), dtype))
    space = h5s.create_simple(shape, tuple(h5s.UNLIMITED if m is None else m for m in most))
    links = h5p.create(h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    data = h5py.Dataset(h5d.create(f.id, path.encode(), h5t.py_create(dtype, logical=True), space, plist,
                                   lcpl=links))
    how = rng.random()
    if how < 0.6:
        data[...] = some_values(rng, name, dtype, shape)
    elif how < 0.8 and layout == "chunked":
        data[:1] = some_values(rng, name, dtype, (1, *shape[1:]))
    if rng.random() < 0.3:
        data.attrs["CLASS"] = np.bytes_(rng.choice(["IMAGE", "x" * 80, "b"]))
        data.attrs["INTERLACE_MODE"] = rng.choice(["INTERLACE_PIXEL", ""])  # of variable length
    if rng.random() < 0.3:
        data.attrs["mean"] = rng.choice([[1.5, 2.5], [3, 4], [0.1] * 17, [2.0] * 16, "no number"])
    if rng.random() < 0.2:
        data.dims[0].label = "N"
    return data


def make_file(rng, path):
    libver = rng.choice(["earliest", ("earliest", "v110"), ("v110", "v110")])
    user_block = rng.choice([0, 0, 512])
    extra = {"userblock_size": user_block} if user_block else {}
    if rng.random() < 0.2 and libver != "earliest" and not user_block:
        extra["fs_strategy"] = "page"
    with h5py.File(path, "w", libver=libver, **extra) as f:
        for i in range(rng.randint(1, 4)):
            add_dataset(rng, f, rng.choice(["x%d", "a/x%d", "a/b \u00e9/x%d"]) % i)
        if rng.random() < 0.3:
            f.create_dataset("scalar", data=np.int64(5))
        if rng.random() < 0.3:
            f.create_dataset("null", data=h5py.Empty("f4"))
        if rng.random() < 0.3:
            f["soft"] = h5py.SoftLink("/x0")
            f["far"] = h5py.ExternalLink("other.h5", "/x")
        if rng.random() < 0.3:
            f.attrs["h5pack_schema"] = np.bytes_("1")
            f.attrs["h5pack_version"] = "of variable length"
    return user_block, "fs_strategy" in extra, libver != ("v110", "v110")


# ----------------------------------------------------------------- what is expected


def type_text(data):
    kind, bits = data.dtype.kind, data.dtype.itemsize * 8
    big = ">" if data.dtype.byteorder == ">" and bits > 8 else ""
    if h5py.check_string_dtype(data.dtype):
        return ("variable-length string" if h5py.check_string_dtype(data.dtype).length is None
                else f"string of {data.dtype.itemsize} bytes")
    if h5py.check_enum_dtype(data.dtype) or data.dtype == bool:
        return "enum of 1 byte"
    if data.dtype.names:
        return f"compound of {data.dtype.itemsize} bytes"
    if kind == "V":
        return f"opaque of {data.dtype.itemsize} bytes"
    return big + {"u": "uint", "i": "int", "f": "float"}[kind] + str(bits)


def index_name(data, is_old):
    """Which index HDF5 chooses for chunks, by the file format's rules."""
    if data.chunks is None:
        return "none"
    if is_old:
        return "B-tree v1"
    n_unlimited = sum(m is None for m in data.maxshape)
    if n_unlimited > 1:
        return "B-tree v2"
    if n_unlimited == 1:
        return "extensible array"
    if data.chunks == data.shape == data.maxshape:
        return "single"
    return "fixed array"


FILTERS = {h5py.h5z.FILTER_SHUFFLE: "shuffle", h5py.h5z.FILTER_FLETCHER32: "fletcher32"}


def pipeline_text(plist):
    stages = []
    for i in range(plist.get_nfilters()):
        number, _, values, _ = plist.get_filter(i)
        stages.append(FILTERS.get(number) or f"gzip:{values[0]}")
    return "+".join(stages) or "none"


def text_of(value, most):
    value = value.decode() if isinstance(value, bytes) else value
    return value[:most] if isinstance(value, str) else ""


def check_facts(got, data, f, user_block, has_pages, is_old):
    space, plist = data.id.get_space(), data.id.get_create_plist()
    chunked = data.chunks is not None
    is_simple = space.get_simple_extent_type() == h5s.SIMPLE
    is_null = space.get_simple_extent_type() == h5s.NULL
    shape = data.shape if is_simple else ()
    n = 0 if is_null else int(np.prod(shape)) if is_simple else 1
    itemsize = data.id.get_type().get_size()
    layouts = {h5d.COMPACT: "compact", h5d.CONTIGUOUS: "contiguous", h5d.CHUNKED: "chunked"}
    fill = {h5d.FILL_VALUE_DEFAULT: "default", h5d.FILL_VALUE_USER_DEFINED: "user",
            h5d.FILL_VALUE_UNDEFINED: "undefined"}[plist.fill_value_defined()]
    fill_time = {h5d.FILL_TIME_ALLOC: "alloc", h5d.FILL_TIME_NEVER: "never",
                 h5d.FILL_TIME_IFSET: "ifset"}[plist.get_fill_time()]
    alloc = {h5d.ALLOC_TIME_EARLY: "early", h5d.ALLOC_TIME_LATE: "late",
             h5d.ALLOC_TIME_INCR: "incremental"}[plist.get_alloc_time()]
    is_zero = fill_time != "never" and (fill == "default" or fill == "user" and not np.any(data.fillvalue))
    want = {"path": data.name.lstrip("/"), "type": type_text(data), "type_bytes": itemsize,
            "space": 2 if is_null else 0 if is_simple else 1, "extent": list(shape),
            "max_extent": [MASK if m is None else m for m in data.maxshape] if is_simple else [],
            "n_elements": n, "logical_bytes": n * itemsize,
            "layout": layouts[plist.get_layout()], "chunk": list(data.chunks or ()),
            "stored_bytes": data.id.get_storage_size(), "n_external": 0, "n_virtual": 0,
            "pipeline": pipeline_text(plist), "filters_available": True, "fill": fill,
            "fill_time": fill_time, "alloc_time": alloc, "fill_is_zero": bool(is_zero),
            "skips_missing": fill_time == "never" or fill_time == "ifset" and fill == "undefined",
            "file_bytes": os.path.getsize(f.filename), "user_block": user_block, "pages": has_pages,
            "schema": text_of(f.attrs.get("h5pack_schema", ""), 63),
            "version": text_of(f.attrs.get("h5pack_version", ""), 63),
            "class": text_of(data.attrs.get("CLASS", ""), 63),
            "interlace": text_of(data.attrs.get("INTERLACE_MODE", ""), 63), "subclass": ""}
    grid = [-(-s // c) for s, c in zip(shape, data.chunks or ())]
    want["n_chunks"] = grid
    want["n_chunks_total"] = int(np.prod(grid)) if chunked else 0
    want["n_chunks_stored"] = data.id.get_num_chunks() if chunked else 0
    want["chunk_bytes"] = int(np.prod(data.chunks)) * itemsize if chunked else 0
    want["index"] = index_name(data, is_old)
    labels = [d.label for d in data.dims] if is_simple and "DIMENSION_LABELS" in data.attrs else []
    want["labels"] = labels
    mean = data.attrs.get("mean")
    numbers = mean is not None and not isinstance(mean, str) and len(mean) <= 16
    want["mean"], want["std"] = [float(v) for v in mean] if numbers else [], []
    offset = data.id.get_offset()
    none = chunked or offset is None or offset == user_block - 1
    want["contiguous_address"] = MASK if none else offset
    if want["layout"] == "compact":
        want["contiguous_address"] = MASK
    for key, value in want.items():
        same(got[key] or type(value)(), value, f"{data.name}: {key}")  # a shape of rank 0 is null
    return n, shape


def check_chunks(got, data, user_block):
    grid = got["n_chunks"]
    want = [[i, MISSING, 0, 0] for i in range(got["n_chunks_total"])]
    sizes = 0
    for at, place in enumerate(np.ndindex(*grid)):
        info = data.id.get_chunk_info_by_coord(tuple(i * c for i, c in zip(place, data.chunks)))
        if info.byte_offset is not None and info.size:
            want[at] = [at, info.byte_offset, info.size, info.filter_mask]
            sizes += info.size
    chunks = got["chunks"]
    if user_block:  # h5py counts from either place
        shift = {c[1] - w[1] for c, w in zip(chunks, want) if w[1] != MISSING}
        same(shift <= {0, user_block} and len(shift) <= 1, True, f"{data.name}: addresses {shift}")
        want = [w if w[1] == MISSING else [w[0], w[1] + (shift or {0}).copy().pop(), *w[2:]] for w in want]
    same(chunks, want, f"{data.name}: chunks")
    same((got["n_missing"], got["index_bytes"]), (sum(w[1] == MISSING for w in want), sizes),
         f"{data.name}: sums")


def check_lists(got, data, n, shape):
    """A dataset as a list of at most 50 integers, or texts."""
    values = data[()] if n else None
    kind = h5py.check_string_dtype(data.dtype)
    one = len(shape) == 1
    if one and data.dtype.kind in "iu" and not h5py.check_enum_dtype(data.dtype):
        same(got["integers"], values.astype("i8").tolist(), f"{data.name}: integers")
    else:
        says = "is not of integers" if one else "is not one-dimensional"
        same(says in got["integers"] if isinstance(got["integers"], str) else got["integers"], True,
             f"{data.name}: integers, {says}")
    if one and kind:
        same(got["texts"], [v.decode() for v in values.tolist()], f"{data.name}: texts")
    else:
        says = "is not of texts" if one else "is not one-dimensional"
        same(says in got["texts"] if isinstance(got["texts"], str) else got["texts"], True,
             f"{data.name}: texts, {says}")


def check_attributes(got, data):
    value = data.attrs.get("CLASS")
    same(got["attr"], "no attribute CLASS" if value is None else value.decode(), f"{data.name}: CLASS")
    mean = data.attrs.get("mean")
    integers = mean is not None and not isinstance(mean, str) and mean.dtype.kind == "i"
    want = ([int(v) for v in mean] if integers else "no attribute mean" if mean is None
            else "attribute mean is not of 2 integers")
    same(got["range"], want, f"{data.name}: mean as integers")


def check_dataset(got, data, f, user_block, has_pages, is_old):
    n, shape = check_facts(got, data, f, user_block, has_pages, is_old)
    # HDF5 itself tells wrong places where the one axis without end is not the first
    if data.chunks and not (got["index"] == "extensible array" and data.maxshape[0] is not None):
        check_chunks(got, data, user_block)
    check_lists(got, data, n, shape)
    check_attributes(got, data)
    if "boxes" in got and not (got["skips_missing"] and got.get("n_missing")):
        same(got["boxes"][3:], [True, True], f"{data.name}: boxes that leave it")
        values = data[()]
        middle = tuple(slice(s // 3, s - s // 3) for s in shape)
        front = (slice(0, shape[0] // 3 // 2), *middle[1:])
        both = np.concatenate([values[front], values[middle]]).astype(values.dtype)  # in its byte order
        for i, box in enumerate((values, values[middle], both)):
            same(got["boxes"][i], checksum(np.ascontiguousarray(box).tobytes()), f"{data.name}: box {i}")


def check_file(seed):
    rng = random.Random(seed)
    path = f"random{seed}.h5"
    user_block, has_pages, is_old = make_file(rng, path)
    result = subprocess.run(["hdf5_dump", path], capture_output=True, timeout=100)
    same(result.returncode, 0, "status: " + result.stderr.decode())
    report = json.loads(result.stdout)
    with h5py.File(path) as f:
        found = []
        f.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        same([d["path"] for d in report["datasets"]], sorted(found, key=os.fsencode), "datasets")
        same(report["links"], sorted({"soft", "far"} & set(f), key=os.fsencode), "links")
        for got in report["datasets"]:
            check_dataset(got, f[got["path"]], f, user_block, has_pages, is_old)


def main(folder, n):
    os.chdir(folder)
    first = int(os.environ.get("H5PACK_SEED", "1")) * 1000
    n_wrong = 0
    for seed in range(first, first + n):
        try:
            check_file(seed)
        except (Wrong, KeyError, TypeError) as wrong:
            n_wrong += 1
            note(f"file {seed}: {type(wrong).__name__}: {wrong}")
        os.unlink(f"random{seed}.h5")
    ok(n_wrong == 0, f"{n} random files are described as h5py does")
    done()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
