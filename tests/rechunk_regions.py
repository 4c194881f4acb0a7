"""h5rechunk and region references, against h5py: what they select holds the same values wherever rows and axes went."""
import os
import random
import subprocess
import sys

import h5py
import numpy as np
from tap import done, note, ok

os.chdir(sys.argv[1])
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
N = 40


def run(*options):
    ran = subprocess.run(['h5rechunk', '-q', '-f', *options], capture_output=True)
    if ran.returncode:
        note(f'{options}: {ran.stderr.decode().strip()}')
    return ran.returncode == 0


def selections(images):
    """As h5py has them: blocks, steps, lists of rows, everything."""
    step = np.s_[3:30:4, ::3, 1::2, :2]
    yield from (np.s_[5], np.s_[3:9], np.s_[2:4, 1:5, 2:7, 1], step, np.s_[[1, 2, 7, 20, 39], 2:6], np.s_[...],
                np.s_[0, 0, 0, 0], np.s_[39:40, ::7], np.s_[:, 2, 3, :1], np.s_[0:0])


def irregular(images):
    """Two blocks that share rows and columns."""
    space = images.id.get_space()
    space.select_hyperslab((3, 1, 1, 0), (9, 3, 2, 2))
    space.select_hyperslab((6, 2, 0, 1), (20, 4, 5, 1), op=h5py.h5s.SELECT_OR)
    return h5py.h5r.create(images.id, b'.', h5py.h5r.DATASET_REGION, space)


def points(images):
    space = images.id.get_space()
    space.select_elements(np.array([[rng.randrange(k) for k in images.shape] for _ in range(9)], 'u8'))
    return h5py.h5r.create(images.id, b'.', h5py.h5r.DATASET_REGION, space)


def make():
    with h5py.File('in.h5', 'w') as f:
        images = f.create_dataset('images', data=np.arange(N * 8 * 9 * 3, dtype='u4').reshape(N, 8, 9, 3), chunks=(3, 8, 5, 3))
        images.attrs['INTERLACE_MODE'] = np.bytes_('INTERLACE_PIXEL')
        f['labels'] = np.arange(N, dtype='u4') + 100000
        f['other'] = np.arange(200, dtype='u4').reshape(50, 4) + 200000
        refs = [images.regionref[s] for s in selections(images)] + [irregular(images), points(images)]
        refs += [f['labels'].regionref[3:20:2], f['labels'].regionref[[0, 9]], f['other'].regionref[7:9, 1:], h5py.RegionReference()]
        f.create_dataset('regions', (len(refs),), h5py.regionref_dtype)
        for i, ref in enumerate(refs):
            f['regions'][i] = ref
        f.attrs['one'] = images.regionref[30:, 1:3]


def values(f, ref):
    """In order; None of what leads nowhere."""
    if not ref:
        return None
    space = h5py.h5r.get_region(ref, f.id)
    found = np.zeros(space.get_select_npoints(), 'u4')
    if space.get_select_type() == h5py.h5s.SEL_POINTS:  # HDF5 1.10 cannot read those of a virtual dataset
        found = f[ref][()][tuple(space.get_select_elem_pointlist().T)]
    elif len(found):
        f[ref].id.read(h5py.h5s.create_simple(found.shape), space, found)
    return f[ref].name, sorted(found.tolist())


def all_values(name):
    with h5py.File(name) as f:
        return [values(f, ref) for ref in f['regions']] + [values(f, f.attrs['one'])]


def test_whole(before):
    for what, *options in ('as they were', '-c', '7x4x9x1'), ('rows in another order', '--shuffle', '--seed', '3'), \
                          ('axes in another order', '--layout', 'nchw'), ('both', '--layout', 'nchw', '--shuffle'):
        done_so = run('in.h5', '-o', 'out.h5', '--dataset', 'images', *options)
        after = all_values('out.h5') if done_so else []
        ok(after == before, f'{what}: {len(before)} regions hold what they held')
        for old, new in zip(before, after):
            if old != new:
                note(f'{str(old)[:300]} became {str(new)[:300]}')


def test_shards(before):
    good = run('in.h5', '-o', 'x.h5', '--dataset', 'images', '--split', '3')
    names = sorted(name for name in os.listdir('.') if name.startswith('x-'))
    ok(good and all_values('x.h5') == before, 'of all shards')
    end = 0
    for name in names:
        with h5py.File(name) as f:
            first, end = end, end + len(f['images'])
        rows = {'/images': range(first * 216, end * 216), '/labels': range(100000 + first, 100000 + end)}
        want = []
        for old in before:
            there = old and [v for v in old[1] if old[0] == '/other' or v in rows[old[0]]]
            want.append(old and (there or not old[1]) and (old[0], there) or None)
        ok(all_values(name) == want and end > first, f'of rows {first} to {end - 1} in theirs')
    ok(len(names) == 3 and end == N, 'which are all')
    ok(run('--join', 'x.h5', '-o', 'one.h5') and all_values('one.h5') == before, 'and joined again')


def test_beyond():
    """Regions of rows that the dataset does not have any more."""
    with h5py.File('in.h5', 'w') as f:
        images = f.create_dataset('images', data=np.zeros((90, 4, 5, 3), 'u1'), maxshape=(None, 4, 5, 3), chunks=(4, 4, 5, 3))
        images.attrs['INTERLACE_MODE'] = np.bytes_('INTERLACE_PIXEL')
        f.create_dataset('regions', (5,), h5py.regionref_dtype)
        f['regions'][0], f['regions'][1], f['regions'][2] = images.regionref[10:80:2], images.regionref[70:, 1:3], points(images)
        for i, (stride, count, block) in (3, (2, 1 << 45, 1)), (4, (1 << 45, 1, 1 << 45)):
            space = h5py.h5s.create_simple((1 << 50, 4, 5, 3))
            space.select_hyperslab((1, 0, 0, 0), (count, 1, 1, 1), (stride, 1, 1, 1), (block, 4, 5, 3))
            f['regions'][i] = h5py.h5r.create(images.id, b'.', h5py.h5r.DATASET_REGION, space)
        images.resize(30, axis=0)
    for options in ['--shuffle'], ['--layout', 'nchw'], ['--split', '2']:
        ok(run('in.h5', '-o', 'out.h5', '--dataset', 'images', *options), f'rows that are gone: {options[0]}')
    run('in.h5', '-o', 'out.h5', '--dataset', 'images', '--shuffle')
    with h5py.File('out.h5') as f:
        n = [ref and h5py.h5r.get_region(ref, f.id).get_select_npoints() for ref in f['regions']]
        ok(n[0] == 10 * 60 and not n[1] and n[3] == 15 * 60 and n[4] == 29 * 60,
           'those that are left are selected, and null leads nowhere')


make()
held = all_values('in.h5')
ok(len({str(v) for v in held}) == 17 and held[5][1] == list(range(N * 216)) and held[-2] is None, 'regions of all kinds')
test_whole(held)
test_shards(held)
test_beyond()
done()
