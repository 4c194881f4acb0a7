#!/usr/bin/env python3
"""Records what HDF5's chunk cache does, for tests/vectors.sh to replay through the simulator.

    record_vectors.py SEED [N]          N datasets (40), drawn from SEED, as this Python's HDF5 reads
                                        them, one line of JSON each
    record_vectors.py --merge A B ...   recordings of one SEED by several versions as one, where
                                        equal counts are one line

A file lies in memory, behind h5py's driver for Python objects: each read that begins in a chunk
is the library fetching it. tests/data/good-vectors.jsonl is made so; see tests/data/README.
"""
import io
import json
import random
import sys


class CountingFile(io.BytesIO):
    """Counts reads that begin in one of the chunks."""

    starts = frozenset()
    n_reads = 0

    def readinto(self, buffer):
        if self.tell() in self.starts:
            self.n_reads += 1
        return super().readinto(buffer)


def draw_box(rng, shape):
    start = [rng.randrange(n) for n in shape]
    return [start, [rng.randint(1, min(n - s, max(1, n // 2))) for n, s in zip(shape, start)]]


def sample(shape, i):
    return [[i] + [0] * (len(shape) - 1), [1] + list(shape[1:])]


def draw_ops(rng, shape, kind, grown):
    """About forty operations in the order of a training job, or in none."""
    n = shape[0]
    if kind == "sequential":
        ops = [sample(shape, i % n) for i in range(40)]
    elif kind == "shuffle":
        ops = [sample(shape, i) for _ in range(2) for i in rng.sample(range(n), min(n, 20))]
    elif kind == "block":
        ops = [sample(shape, min(n - 1, 8 * (i // 8) + rng.randrange(8))) for i in range(40)]
    else:
        ops = [draw_box(rng, shape) for _ in range(36)]
    if kind == "mixed":
        for _ in range(4):
            start, step = rng.randrange(max(1, n // 2)), rng.randint(2, 3)
            rest = list(shape[1:])
            count = rng.randint(1, (n - 1 - start) // step + 1)
            ops.insert(rng.randrange(len(ops)), {"strided": [
                [start] + [0] * len(rest), [step] + [1] * len(rest), [count] + rest]})
            ops.insert(rng.randrange(len(ops)), {"points": [
                [rng.randrange(m) for m in shape] for _ in range(rng.randint(1, 12))]})
        ops.insert(rng.randrange(len(ops)), {"reopen": True})
    if grown:
        ops[20:20] = [{"set_extent": grown}]
        ops += [sample(grown, rng.randrange(grown[0])) for _ in range(8)]
    return ops


def draw(rng, number):
    """One dataset, its cache and what is read of it."""
    rank = rng.choice([1, 2, 2, 3, 4])
    shape = [rng.randint(16, 60)] + [rng.randint(2, 24) for _ in range(rank - 1)]
    chunk = [rng.randint(1, max(1, min(m, 9))) for m in shape]
    if rng.random() < 0.5:
        chunk[1:] = shape[1:]
    elem_size = rng.choice([1, 2, 4])
    chunk_bytes = elem_size
    for c in chunk:
        chunk_bytes *= c
    filtered = rng.random() < 0.7
    vector = {"id": "own-%03d" % number, "shape": shape, "elem_size": elem_size, "chunk": chunk,
              "filtered": filtered}
    if rng.random() < 0.1:
        vector.update(nslots=-1, nbytes=-1, w0=-1)
    else:
        fit = rng.choice([1, 1, 2, 3, 5, 8, 13, 40])  # chunks in the cache; filtered ones may not fit
        short = rng.choice([0, 0, 0, 1]) if fit > 1 or filtered else 0
        vector.update(nslots=rng.choice([1, 2, 7, 13, 101, 521]), nbytes=fit * chunk_bytes - short,
                      w0=rng.choice([0, 0.1, 0.3, 0.5, 0.75, 0.9, 1]))
    kind = rng.choice(["sequential", "shuffle", "block", "boxes", "boxes", "mixed", "mixed"])
    grown = None
    if kind == "boxes" and rng.random() < 0.4:
        grown = [m + rng.randint(0, 2 * c) for m, c in zip(shape, chunk)]
    elif rng.random() < 0.15:
        vector["allocated"] = "even"
    vector["ops"] = draw_ops(rng, shape, kind, grown)
    return vector


def write_file(rng, vector):
    import h5py
    import numpy
    shape, chunk = vector["shape"], vector["chunk"]
    data = io.BytesIO()
    with h5py.File(data, "w") as f:
        d = f.create_dataset("d", shape, "u%d" % vector["elem_size"], chunks=tuple(chunk),
                             maxshape=(None,) * len(shape),
                             compression="gzip" if vector["filtered"] else None)
        counts = [(m - 1) // c + 1 for m, c in zip(shape, chunk)]
        for number, at in enumerate(numpy.ndindex(*counts)):
            if vector.get("allocated") == "even" and number % 2:
                continue
            box = tuple(slice(a * c, min(m, a * c + c)) for a, c, m in zip(at, chunk, shape))
            d[box] = rng.randrange(1, 200)
    return data.getvalue()


def run_op(d, op):
    """Does one operation on a dataset, which may be another one then."""
    import h5py
    import numpy
    if isinstance(op, dict) and "reopen" in op:
        name, f = d.name, d.file
        d.id.close()
        return f[name]
    if isinstance(op, dict) and "set_extent" in op:
        d.resize(op["set_extent"])
        return d
    space = d.id.get_space()
    if isinstance(op, list):
        space.select_hyperslab(tuple(op[0]), tuple(op[1]))
    elif "strided" in op:
        start, step, count = op["strided"]
        space.select_hyperslab(tuple(start), tuple(count), tuple(step))
    else:
        space.select_elements(numpy.array(op["points"], "u8"))
    n = space.get_select_npoints()
    out = numpy.empty(n, d.dtype)
    d.id.read(h5py.h5s.create_simple((n,)), space, out)
    return d


def record(rng, vector):
    import h5py
    f = CountingFile(write_file(rng, vector))
    cache = {} if vector["nslots"] < 0 else {
        "rdcc_nslots": vector["nslots"], "rdcc_nbytes": vector["nbytes"], "rdcc_w0": vector["w0"]}
    loads = []
    with h5py.File(f, "r+", **cache) as h:
        d = h["d"]
        f.starts = frozenset(d.id.get_chunk_info(i).byte_offset for i in range(d.id.get_num_chunks()))
        d.id.close()
        d = h["d"]
        for op in vector["ops"]:
            d = run_op(d, op)
            loads.append(f.n_reads)
        d.id.close()
    vector["lib_version"] = h5py.version.hdf5_version
    vector["loads_prefix"] = loads
    return vector


def merge(paths):
    by_id = {}
    for path in paths:
        for line in open(path):
            vector = json.loads(line)
            version = vector.pop("lib_version")
            known = by_id.setdefault(vector["id"], [])
            for other, versions in known:
                if other == vector:
                    versions.append(version)
                    break
            else:
                known.append((vector, [version]))
    for known in by_id.values():
        for vector, versions in known:
            yield dict(vector, lib_version=versions[0], same_result_versions=versions[1:])


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--merge":
        vectors = merge(sys.argv[2:])
    else:
        seed, n = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
        rngs = [random.Random(seed * 1000003 + i) for i in range(n)]
        vectors = (record(rng, draw(rng, i)) for i, rng in enumerate(rngs))
    for vector in vectors:
        print(json.dumps(vector, separators=(",", ":")))


main()
