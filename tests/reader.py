"""Whole datasets as the reader gives them against h5py: types, ranks, byte orders, layouts and
filters that h5py writes, and every dataset of the shared files that it reads."""
import glob
import os
import random
import subprocess
import sys

import h5py
import numpy as np
from tap import apart, done, note, ok, skip

work, shared = sys.argv[1:3]
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
TYPES = [order + kind for kind in ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8', 'f2', 'f4', 'f8')
         for order in '<>'] + ['S5', 'bool']
FILTERS = [{}, {'compression': 'gzip'}, {'compression': 'gzip', 'compression_opts': 9, 'shuffle': True},
           {'compression': 'lzf'}, {'compression': 'lzf', 'shuffle': True}, {'fletcher32': True},
           {'compression': 'lzf', 'shuffle': True, 'fletcher32': True}, {'shuffle': True},
           {'compression': 'gzip', 'fletcher32': True}]


def dump(path, name, *options):
    run = subprocess.run(['reader_dump', path, name, *options], capture_output=True)
    return run.returncode, run.stdout, run.stderr.decode(errors='replace').strip()


def wanted(data):
    """A dataset's bytes as they are in the file, but for numbers, which are in this machine's order."""
    raw = np.zeros(data.shape, dtype=f'V{data.id.get_type().get_size()}')
    data.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=data.id.get_type())
    if data.dtype.kind in 'iuf' and not data.dtype.isnative:
        raw = raw.view(f'u{data.dtype.itemsize}').byteswap()
    return raw.tobytes()


def values(kind, shape):
    n = int(np.prod(shape))
    raw = np.arange(n) // 3 % 200 + np.array([rng.randrange(8) for _ in range(min(n, 4096))] * (n // 4096 + 1))[:n]
    data = raw.reshape(shape)
    return data.astype('S5') if kind == 'S5' else data.astype(kind)


def made(path):
    """Writes a file of datasets; returns their names with what they are."""
    names = {}
    with h5py.File(path, 'w', libver=rng.choice(['earliest', 'latest']),
                   userblock_size=rng.choice([0, 0, 512])) as file:
        for i in range(40):
            rank, kind = rng.randint(1, 5), rng.choice(TYPES)
            shape = tuple(rng.randint(1, (400, 40, 12, 8, 5)[rank - 1]) for _ in range(rank))
            options = dict(rng.choice(FILTERS))
            if options or rng.random() < 0.5:
                options['chunks'] = tuple(rng.randint(1, n) for n in shape)
                if rng.random() < 0.3:
                    options['maxshape'] = (None,) + shape[1:]
            if kind not in ('S5', 'bool') and rng.random() < 0.3:
                options['fillvalue'] = 7
            data = file.create_dataset(f'd{i}', shape=shape, dtype=kind, **options)
            part = rng.randint(1, shape[0]) if rng.random() < 0.4 else shape[0]
            data[:part] = values(kind, (part,) + shape[1:])
            names[f'd{i}'] = f'{kind} {shape} {options}'
    return names


def compare_made():
    path = os.path.join(work, 'made.h5')
    n = n_same = n_own = 0
    for _ in range(20 if os.environ.get('H5PACK_LONG') else 3):
        names = made(path)
        with h5py.File(path) as file:
            for name, what in names.items():
                status, out, said = dump(path, name, rng.choice(['pread', 'mmap', 'direct']), str(rng.randint(1, 4)))
                same = status == 0 and out == wanted(file[name])
                n, n_same, n_own = n + 1, n_same + same, n_own + (not said.startswith('hdf5'))
                if not same:
                    note(f'{name}: {what}: {said}')
    ok(n_same == n, f'{n_same} of {n} datasets read as h5py reads them')
    ok(n_own == n, f'{n_own} of them without HDF5')


def compare_shared():
    paths = sorted(glob.glob(os.path.join(shared, '*.h5')) + glob.glob(os.path.join(shared, '*.hdf5')))
    if not os.environ.get('H5PACK_LONG'):  # HDF5 takes the time that it is given
        paths = [path for path in paths if 'cve-2018-15671' not in path]
    if not paths:
        skip('no shared HDF5 files here')
        return
    n_same = n_other = 0
    for path in paths:  # h5py itself may crash on some: each in a process of its own
        lines = apart(one_file, path, seconds=5)
        if lines is None:  # it hangs on one
            note(f'{os.path.basename(path)}: not read in time')
            continue
        for line in lines:
            n_same += line == 'same'
            if line.startswith('differs'):
                n_other += 1
                note(f'{os.path.basename(path)}: {line}')
    ok(n_same > 0 and n_other == 0, f'{n_same} datasets of {len(paths)} shared files read as h5py reads them')


def one_file(path):
    """Says of each dataset that both can read whether it is the same."""
    def look(name, data):
        if not isinstance(data, h5py.Dataset) or not data.shape or 0 in data.shape or data.nbytes > 1 << 27:
            return
        try:
            want = wanted(data)
        except (OSError, RuntimeError, TypeError, ValueError):
            return
        status, out, said = dump(path, name)
        if status == 2 and ('holds elements of type' in said or 'HDF5 itself' in said):
            return
        print('same' if status == 0 and out == want else f'differs: {name}: {data.dtype}: {said}', flush=True)
    with h5py.File(path) as file:
        file.visititems(look)


compare_made()
compare_shared()
done()
