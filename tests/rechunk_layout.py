"""h5rechunk --layout against NumPy's transpose: random images, chunks, filters and memory."""
import json
import os
import random
import re
import signal
import subprocess
import sys

import h5py
import numpy as np
from tap import done, note, ok

work = sys.argv[1]
shim = os.path.join(os.environ.get('top_builddir', '.'), 'tests/.libs/fault_shim.so')
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
source, target = os.path.join(work, 'in.h5'), os.path.join(work, 'out.h5')
STORED = [{}, {'compression': 'gzip'}, {'compression': 'gzip', 'shuffle': True}, {'fletcher32': True}]
AXES = {'nchw': (0, 3, 1, 2), 'nhwc': (0, 2, 3, 1)}
LABELS = {'nchw': 'NHWC', 'nhwc': 'NCHW'}  # of the source


def run(*options, to=target, env=None):
    if os.path.exists(to):
        os.remove(to)
    ran = subprocess.run(['h5rechunk', source, '-o', to, '--json', '-q', *options], capture_output=True,
                         env={**os.environ, **(env or {})})
    return ran.returncode, ran.stdout, ran.stderr.decode().strip()


def make(to, n, channels=None):
    """Images that are to become `to`, whose layout attributes tell where their size does not."""
    channels = channels or rng.choice([1, 2, 3, 4, 5])
    h, w = rng.randint(1, 30), rng.randint(1, 30)
    shape = (n, h, w, channels) if to == 'nchw' else (n, channels, h, w)
    told = channels in (2, 5) or h in (1, 3, 4) or w in (1, 3, 4) or rng.random() < 0.3
    options = dict(rng.choice(STORED), fillvalue=7, chunks=tuple(rng.randint(1, k) for k in shape))
    if rng.random() < 0.3:
        options['maxshape'] = tuple(rng.choice([k, k + 3, None]) for k in shape)
    elif rng.random() < 0.2:
        options = {}
    with h5py.File(source, 'w', libver=rng.choice(['earliest', 'latest'])) as file:
        images = file.create_dataset('images', shape, rng.choice(['u1', '<f4', '>i2', 'f8']), **options)
        at = rng.randint(0, n // 2) if rng.random() < 0.5 else 0
        images[at:] = (np.arange(np.prod((n - at,) + shape[1:])) % 120).reshape((n - at,) + shape[1:])
        if told and rng.random() < 0.5:
            kind = rng.choice([h5py.string_dtype(), 'S1'])
            images.attrs['DIMENSION_LABELS'] = np.array(list(LABELS[to]), dtype=kind)
        elif told:
            images.attrs['INTERLACE_MODE'] = np.bytes_('INTERLACE_PIXEL' if to == 'nchw' else 'INTERLACE_PLANE')
        images.attrs['unit'] = 'a'
        images.attrs['four'] = np.arange(4)
        file['labels'] = np.arange(n)
    return shape


def is_turned(to, as_bytes=False):
    with h5py.File(source) as a, h5py.File(target) as b:
        x, y = a['images'], b['images']
        rows = b['source_index'][()] if 'source_index' in b else np.arange(len(x))
        good = (x[()].transpose(AXES[to])[rows] == y[()]).all() and y.dtype == ('u1' if as_bytes else x.dtype)
        good = good and y.maxshape == tuple(x.maxshape[i] for i in AXES[to])
        good = good and y.fillvalue == x.fillvalue
        good = good and set(y.attrs) - {'h5rechunk_type', 'h5rechunk_scale'} == set(x.attrs)
        good = good and y.attrs['unit'] == 'a' and list(y.attrs['four']) == [0, 1, 2, 3]
        if 'DIMENSION_LABELS' in x.attrs:
            labels = [k.decode() if isinstance(k, bytes) else k for k in y.attrs['DIMENSION_LABELS']]
            good = good and ''.join(labels) == to.upper()
        if 'INTERLACE_MODE' in x.attrs:
            good = good and y.attrs['INTERLACE_MODE'] == (b'INTERLACE_PLANE' if to == 'nchw' else b'INTERLACE_PIXEL')
        return good and (b['labels'][()] == rows).all()


def is_stored():
    """Whether all chunks of the source are."""
    with h5py.File(source) as file:
        images = file['images']
        n = np.prod([-(-k // m) for k, m in zip(images.shape, images.chunks)]) if images.chunks else 0
        return not images.chunks or images.id.get_num_chunks() == n


def test_cubes():
    """Chunks of the same shape in both layouts are not copied as stored."""
    with h5py.File(source, 'w') as file:
        images = file.create_dataset('images', data=np.arange(60 * 27).reshape(60, 3, 3, 3) % 251, dtype='u1', chunks=(1, 3, 3, 3))
        images.attrs['INTERLACE_MODE'] = np.bytes_('INTERLACE_PIXEL')
        images.attrs['DIMENSION_LABELS'] = np.array([b'N', b'Y'])
        file['labels'] = np.arange(60)
    status, _, said = run('--layout', 'nchw', '--dataset', 'images', '--verify')
    with h5py.File(source) as a, h5py.File(target) as b:
        ok(status == 0 and (b['images'][()] == a['images'][()].transpose(AXES['nchw'])).all() and
           list(b['images'].attrs['DIMENSION_LABELS']) == [b'N', b'Y'], f'chunks of one shape in both layouts {said}')


def test_random(n_files):
    n_good = n_runs = n_short = 0
    for k in range(n_files):
        to, n = rng.choice(['nchw', 'nhwc']), rng.choice([1, 2, rng.randint(3, 60)])
        shape = make(to, n)
        with h5py.File(source) as file:
            keeps = file['images'].chunks and rng.random() < 0.5
        turned = [shape[i] for i in AXES[to]]
        options = ['--layout', to, '--dataset', 'images']
        if not keeps:
            options += ['--chunk', 'x'.join(str(rng.randint(1, m + m // 2 + 1)) for m in turned)]
        options += rng.choice([[], ['--compress', 'gzip:1'], ['--as', 'uint8'], ['--shuffle', '--seed', str(k)]])
        files = []
        least = re.search(r'needs ([0-9]+)K', run(*options, '--memory', '1K')[2])
        for memory in ['64M'] + [f'{int(least.group(1)) + rng.randint(0, 60)}K' if least else '32M'] * 2:
            status, out, said = run(*options, '--memory', memory, *rng.choice([[], ['--verify']]), '-j', str(len(files) + 1))
            good = status == 0 and is_turned(to, 'uint8' in options)
            if status == 2 and 'twice its own' in said:  # what is beside it
                continue
            n_runs += 1
            if status == 0:
                plan = json.loads(out)['result']['datasets'][0]['plan']
                n_short += plan['loads'] > plan['source_chunks']
                moved = json.loads(out)['result']['datasets'][0]['moved']
                good = good and (moved['loads'] == plan['loads'] or not is_stored())
                files.append(open(target, 'rb').read())
            n_good += good
            if not good:
                note(f'{to} {shape} {options} {memory}: {status} {said}')
        if len(files) == 3 and files[1] != files[2]:
            n_good -= 1
            note(f'{to} {shape} {options}: another file with other threads')
    ok(n_good == n_runs > n_files, f'{n_good} of {n_runs} are as NumPy turns them, whatever their memory and threads')
    note(f'{n_short} of them read chunks several times, as memory was short')


def test_refused():
    def refused(pattern, what, *options):
        status, _, said = run('--dataset', 'images', '-c', '1', *options)
        good = status == 2 and re.search(pattern, said) and len(said.splitlines()) == 1 and os.listdir(work) == ['in.h5']
        ok(good, f'refused: {what}')
        if not good:
            note(f'{status} {said} {os.listdir(work)}')
    if os.path.exists(target):
        os.remove(target)
    for shape, what in ((9, 8, 8), 'three axes'), ((9, 3, 8, 3), 'two axes as long as channels'), \
                       ((9, 8, 8, 2), 'no axis as long as channels'), ((9, 3, 8, 8, 1), 'five axes'):
        with h5py.File(source, 'w') as file:
            file['images'] = np.zeros(shape, 'u1')
        refused('neither nhwc nor nchw as far as can be seen', what, '--layout', 'nchw')
    refused('unknown layout', 'a layout that there is not', '--layout', 'chwn')
    with h5py.File(source, 'w') as file:
        file['images'] = np.zeros((5, 8, 8, 3), 'u1')
        file['x'] = np.arange(8)
        file['x'].make_scale('x')
        file['images'].dims[2].attach_scale(file['x'])
    refused('dimension scales', 'dimension scales', '--layout', 'nchw')
    ok(run('--dataset', 'images', '-c', '1', '--layout', 'nhwc')[0] == 0, 'dimension scales of axes that stay')


def test_resumed():
    test_cubes()
    other = os.path.join(work, 'whole.h5')
    options = ['--dataset', 'images', '-c', '1', '--compress', 'gzip:1', '--layout', 'nchw']
    run(*options, to=other)
    good, n_kept = True, 0
    for n in range(12, 600, 17):
        status, _, said = run(*options, env={'LD_PRELOAD': shim, 'FAULT_CALL': 'write', 'FAULT_HOW': 'SIGINT',
                                             'FAULT_N': str(n)})
        if status == 0:
            break
        good = good and status == 128 + signal.SIGINT
        if os.path.exists(target + '.part'):
            status, _, said = run(*options[:-1], 'nhwc', '--resume')
            good = good and status == 2 and 'other options' in said  # though chunks are the same
        status, out, said = run(*options, '--resume')
        good = good and status == 0 and open(other, 'rb').read() == open(target, 'rb').read()
        n_kept += json.loads(out)['result']['datasets'][0]['moved']['resumed'] if status == 0 else 0
        if not good:
            note(f'{n}: {status} {said}')
    ok(good and n_kept > 0, f'stopped and resumed it is the same file; {n_kept} chunks were taken over')


test_random(300 if os.environ.get('H5PACK_LONG') else 20)
test_refused()
if os.environ.get('SANITIZERS', 'no') == 'no':
    test_resumed()
done()
