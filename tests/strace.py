"""Stock h5py under strace against both programs: strace.py SEED LAYOUTS

Makes so many random layouts, reads each in a random order with h5py, counts the preads of
raw data that strace saw (those that begin inside a chunk), and compares with h5advise's
prediction of the same order and with h5readbench's measurement of it. Called with "read"
instead of a seed it is the process that strace watches."""
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import h5py
import numpy

import tap


def layout(rng):
    """What one file is like, and how it is read."""
    rank = rng.randint(1, 4)
    extent = [rng.randint(20, 120)] + [rng.choice((1, 3, 7, 16, 30, 41)) for _ in range(rank - 1)]
    chunk = [rng.randint(1, min(n, 16 if axis == 0 else n)) for axis, n in enumerate(extent)]
    if rng.random() < 0.4:
        chunk = [min(chunk[0], rng.choice((1, 4, 10)))] + extent[1:]
    box = None
    if rng.random() < 0.5:
        box = [rng.randint(1, min(n, 3 if axis == 0 else n)) for axis, n in enumerate(extent)]
    reads = []
    for _ in range(60):
        count = box or [1] + extent[1:]
        start = [rng.randint(0, n - c) for n, c in zip(extent, count)]
        reads.append((start, count))
    element = rng.choice(("u1", "<i2", "<f4", ">f4", "<f8"))
    chunk_bytes = int(numpy.prod(chunk)) * numpy.dtype(element).itemsize
    return {
        "extent": extent, "chunk": chunk, "element": element,
        "filter": rng.choice(("none", "none", "gzip", "shuffle+gzip", "fletcher32")),
        "grows": rng.random() < 0.3, "libver": rng.choice(("earliest", "latest")),
        "written": rng.choice((1, 1, 1, 0.5)),
        # chunks that are stored as they are, which their filter mask says; whether a chunk is
        # cached goes by the pipeline, not by the mask
        "masked": rng.choice((0, 0, 0.3, 1)),
        "nbytes": rng.choice((0, chunk_bytes - 1, chunk_bytes, 3 * chunk_bytes, 7 * chunk_bytes + 5, 1 << 20)),
        "nslots": rng.choice((0, 1, 7, 64, 521)), "w0": rng.choice((0.0, 0.5, 0.75, 1.0)),
        "reads": reads,
    }


def make(path, what, rng):
    generator = numpy.random.RandomState(rng.randrange(1 << 31))
    settings = {}
    if "gzip" in what["filter"]:
        settings["compression"] = "gzip"
    if "shuffle" in what["filter"]:
        settings["shuffle"] = True
    if "fletcher32" in what["filter"]:
        settings["fletcher32"] = True
    with h5py.File(path, "w", libver=what["libver"]) as file:
        data = file.create_dataset(
            "d", shape=what["extent"], dtype=what["element"], chunks=tuple(what["chunk"]),
            maxshape=tuple([None] + what["extent"][1:]) if what["grows"] else None, **settings)
        rows = int(what["extent"][0] * what["written"])
        # chunks of different compressibility
        values = generator.randint(0, 100, [rows] + what["extent"][1:])
        values[: rows // 2] //= 30
        data[:rows] = values.astype(what["element"])
        if what["filter"] != "none" and what["masked"]:
            mask(data, what["masked"], rng)


def mask(data, part, rng):
    """Stores some of the chunks again, past all filters."""
    for number in range(data.id.get_num_chunks()):
        if rng.random() >= part:
            continue
        offset = data.id.get_chunk_info(number).chunk_offset
        piece = data[tuple(slice(at, at + n) for at, n in zip(offset, data.chunks))]
        whole = numpy.zeros(data.chunks, data.dtype)
        whole[tuple(slice(0, n) for n in piece.shape)] = piece
        data.id.write_direct_chunk(offset, whole.tobytes(), 0xffffffff)


def read(folder):
    """The process under strace: all files, each in its order."""
    with open(os.path.join(folder, "layouts.json")) as file:
        layouts = json.load(file)
    for number, what in enumerate(layouts):
        with h5py.File(os.path.join(folder, f"{number}.h5"), "r", rdcc_nbytes=what["nbytes"],
                       rdcc_nslots=what["nslots"], rdcc_w0=what["w0"]) as file:
            data = file["d"]
            for start, count in what["reads"]:
                data[tuple(slice(s, s + c) for s, c in zip(start, count))]


def chunk_ranges(path):
    with h5py.File(path, "r") as file:
        data = file["d"].id
        infos = [data.get_chunk_info(i) for i in range(data.get_num_chunks())]
    return [(info.byte_offset, info.byte_offset + info.size) for info in infos]


def watch(folder, n):
    """{number: (reads, bytes)} of raw data, as the kernel was asked for them."""
    log = os.path.join(folder, "strace.log")
    command = ["strace", "-f", "-y", "-s", "0", "-e", "trace=pread64,read,readv,preadv,lseek", "-o", log]
    for number in range(n):
        command += ["-P", os.path.join(folder, f"{number}.h5")]
    subprocess.run(command + [sys.executable, os.path.abspath(__file__), "read", folder], check=True)
    ranges = [chunk_ranges(os.path.join(folder, f"{number}.h5")) for number in range(n)]
    counts = {number: [0, 0] for number in range(n)}
    at = {}
    pattern = re.compile(r"(pread64|read|lseek)\(\d+<[^>]*/(\d+)\.h5>, (.*)\) += (\d+)$")
    with open(log) as file:
        for line in file:
            found = pattern.search(line)
            if not found:
                continue
            call, number, rest, result = found[1], int(found[2]), found[3], int(found[4])
            if call == "lseek":
                at[number] = result
                continue
            offset = int(rest.rsplit(", ", 1)[1]) if call == "pread64" else at.get(number, 0)
            at[number] = offset + result
            if any(low <= offset < high for low, high in ranges[number]):
                counts[number][0] += 1
                counts[number][1] += result
    return counts


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        tap.note(f"{' '.join(command)}: {done.returncode}: {done.stderr}")
        return None
    return json.loads(done.stdout)


def settings(what):
    return ["--rdcc-nbytes", str(what["nbytes"]), "--rdcc-nslots", str(what["nslots"]), "--rdcc-w0", str(what["w0"])]


def advised(path, what, trace, plain):
    answer = run(["h5advise", path, "--what-if", "--pattern", f"trace:{trace}", "--epochs", "1", "--workers", "1",
                  "--batch", "1", "--hdf5-version", h5py.version.hdf5_version, "--json", *plain, *settings(what)])
    counts = answer and answer["result"]["rows"][0]["first_epoch_counts"]
    return counts and [counts["file_reads"], counts["file_read_bytes"]]


def measured(path, what, trace):
    answer = run(["h5readbench", path, "--no-trial", "--pattern", f"trace:{trace}", "--epochs", "1", "--workers", "0", "--batch",
                  "1", "--json", "--quiet", *settings(what)])
    cost = answer and answer["measured"]["epochs"][0]["read"]
    return cost and [cost["file_reads"], cost["file_read_bytes"]]


def main(seed, n):
    rng = random.Random(seed)
    folder = os.getcwd()
    layouts = [layout(rng) for _ in range(n)]
    for number, what in enumerate(layouts):
        make(f"{number}.h5", what, rng)
    with open("layouts.json", "w") as file:
        json.dump(layouts, file)
    seen = watch(folder, n)
    help_text = subprocess.run(["h5advise", "--help"], stdout=subprocess.PIPE, text=True).stdout
    plain = ["--no-measure"] if "--no-measure" in help_text else []
    wrong = {"h5advise": [], "h5readbench": []}
    for number, what in enumerate(layouts):
        trace = f"{number}.tsv"
        with open(trace, "w") as file:
            for start, count in what["reads"]:
                print(*start, *count, sep="\t", file=file)
        got = {"h5advise": advised(f"{number}.h5", what, trace, plain),
               "h5readbench": measured(f"{number}.h5", what, trace)}
        for program, counts in got.items():
            if counts != seen[number]:
                wrong[program].append(number)
                shown = {key: value for key, value in what.items() if key != "reads"}
                tap.note(f"{program}: {counts}, strace: {seen[number]}: {shown}, {what['reads'][0]}")
    total = [sum(counts[i] for counts in seen.values()) for i in (0, 1)]
    tap.note(f"seed {seed}: {total[0]} reads of {total[1]} bytes in {n} layouts, HDF5 {h5py.version.hdf5_version}")
    tap.ok(total[0] > 10 * n, "strace saw h5py read")
    tap.ok(not wrong["h5advise"], f"h5advise predicts reads and bytes of {n} of {n} layouts as strace saw them")
    tap.ok(not wrong["h5readbench"], f"h5readbench measures the same in {n} of {n}")
    tap.done()


if sys.argv[1] == "read":
    read(sys.argv[2])
else:
    main(int(sys.argv[1]), int(sys.argv[2]))
