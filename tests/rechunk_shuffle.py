"""h5rechunk --shuffle against NumPy: all that has a row for each record follows one permutation,
which source_index keeps; the rest stays."""
import json
import os
import random
import re
import signal
import subprocess
import sys

import h5py
import numpy as np
from tap import done, note, ok, skip

work, packs = sys.argv[1:3]
shim = os.path.join(os.environ.get('top_builddir', '.'), 'tests/.libs/fault_shim.so')
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
source, target = os.path.join(work, 'in.h5'), os.path.join(work, 'out.h5')
STORED = [{}, {'compression': 'gzip'}, {'compression': 'gzip', 'shuffle': True}, {'fletcher32': True}]


def run(*options, to=target, env=None):
    if os.path.exists(to):
        os.remove(to)
    ran = subprocess.run(['h5rechunk', source, '-o', to, '--json', '-q', '--shuffle', *options], capture_output=True,
                         env={**os.environ, **(env or {})})
    return ran.returncode, ran.stdout, ran.stderr.decode().strip()


def make(n, group='/'):
    rank = rng.randint(1, 4)
    shape = (n,) + tuple(rng.randint(1, (20, 9, 5)[rank - 2]) for _ in range(rank - 1))
    with h5py.File(source, 'w') as file:
        place = file.require_group(group)
        options = dict(rng.choice(STORED), fillvalue=3, chunks=tuple(rng.randint(1, k) for k in shape))
        if rng.random() < 0.2:
            options = {}
        images = place.create_dataset('images', shape, rng.choice(['u1', '<f4', '>i2']), **options)
        at = rng.randint(0, n // 2) if rng.random() < 0.5 else 0
        images[at:] = (np.arange(np.prod((n - at,) + shape[1:])) % 120).reshape((n - at,) + shape[1:])
        place['labels'] = np.arange(n)
        place.create_dataset('names', data=[str(i) * (i % 4) for i in range(n)], dtype=h5py.string_dtype(), chunks=(min(n, 7),))
        place.create_dataset('boxes', data=np.arange(4 * n).reshape(n, 2, 2), chunks=(min(n, 3), 2, 1), compression='gzip')
        pairs = np.zeros(n, dtype=[('n', 'i4'), ('ref', h5py.ref_dtype)])
        pairs['n'] = np.arange(n)
        pairs['ref'] = h5py.Reference()
        pairs[n // 2] = (n // 2, images.ref)
        place['pairs'] = pairs
        place['others'] = np.arange(n + 1)
        place['none'] = 4
        place['class_names'] = np.arange(n)  # of as many classes
        place['again'] = place['labels']
        file.create_dataset('elsewhere/labels', data=np.arange(n))
        images.attrs['unit'] = 'a'
    return shape


def is_shuffled(group='/'):
    with h5py.File(source) as a, h5py.File(target) as b:
        x, y = a[group], b[group]
        order = y['source_index'][()]
        if y['source_index'].dtype != '<i8' or sorted(order) != list(range(len(order))):
            return False, order
        good = all((y[name][()] == x[name][()][order]).all() for name in ('images', 'labels', 'names', 'boxes', 'again'))
        pairs = y['pairs'][()]
        moved = list(order).index(len(order) // 2)
        good = good and (pairs['n'] == order).all() and b[pairs[moved]['ref']] == y['images'] and y['again'] == y['labels']
        good = good and (y['others'][()] == x['others'][()]).all() and y['images'].attrs['unit'] == 'a'
        good = good and (b['elsewhere/labels'][()] == a['elsewhere/labels'][()]).all() and y['none'][()] == 4
        good = good and (y['class_names'][()] == x['class_names'][()]).all()
        good = good and set(y) == set(x) | {'source_index'}
        return good, order


def test_random(n_files):
    n_good = n_runs = n_short = 0
    for k in range(n_files):
        n, group = rng.choice([1, 2, 30, rng.randint(3, 400)]), rng.choice(['/', '/train', 'a/b'])
        shape = make(n, group)
        named = [f'{group}/images'.lstrip('/')]
        chunk = 'x'.join(str(rng.randint(1, max(1, m // 2))) for m in shape)
        options = ['--dataset', named[0], '--chunk', chunk, '--seed', str(k)]
        options += rng.choice([[], ['--compress', 'gzip:1'], ['--as', 'uint8']])
        first = None
        least = re.search(r'needs ([0-9]+)K', run(*options, '--memory', '1K')[2])
        for memory in (['--memory', '64M'], ['--memory', f'{int(least.group(1)) + 30}K'] if least else []):
            status, out, said = run(*options, *memory, *rng.choice([[], ['--verify']]), '-j', str(rng.randint(1, 4)))
            good, order = is_shuffled(group) if status == 0 else (False, None)
            n_runs += 1
            if status == 2 and 'twice its own' in said:  # what is beside it
                good, order = True, first
            elif status == 0:
                plan = json.loads(out)['result']['datasets'][0]['plan']
                n_short += plan['loads'] > plan['source_chunks']
            first = order if first is None else first
            good = good and (first is None or list(first) == list(order))
            n_good += good
            if not good:
                note(f'{n} {group} {shape} {options} {memory}: {status} {said}')
    ok(n_good == n_runs, f'{n_good} of {n_runs} are in one order, whatever their memory')
    note(f'{n_short} of them read chunks several times, as memory was short')


def make_wide():
    with h5py.File(source, 'w') as file:
        file.create_dataset('images', data=np.arange(300 * 4000).reshape(300, 4000) % 251, dtype='u1', chunks=(10, 500))


def test_short():
    make_wide()
    least = re.search(r'needs ([0-9]+)K', run('-c', '3', '--memory', '1K')[2])
    status, out, said = run('-c', '3', '--memory', f'{int(least.group(1)) + 100}K', '-j', '2')
    report = json.loads(out)['result']['datasets'][0] if status == 0 else {}
    plan = report.get('plan', {'loads': 0, 'source_chunks': 0})
    ok(report and report['moved']['loads'] == plan['loads'],
       'and no chunk that has no row in a part')
    with h5py.File(source) as a, h5py.File(target) as b:
        ok(plan['loads'] > plan['source_chunks'] and (b['images'][()] == a['images'][()][b['source_index'][()]]).all(),
           f'chunks are read several times where memory is short: {plan}')


def test_order():
    make(300)
    orders, files = [], []
    for seed, threads in (('0', '1'), ('0', '3'), ('1', '2')):
        run('--dataset', 'images', '-c', '2', '--seed', seed, '-j', threads)
        orders.append(list(is_shuffled()[1]))
        files.append(open(target, 'rb').read())
    ok(orders[0] != orders[2] and orders[0] != list(range(300)) and files[0] == files[1],
       'another seed is another order; threads make no difference')
    with h5py.File(target) as file:
        places = [file['images'].id.get_chunk_info_by_coord((i, 0, 0, 0)[:file['images'].ndim]).byte_offset
                  for i in range(0, 300, 2) if file['images'].chunks[1:] == file['images'].shape[1:]]
    ok(places == sorted(places), 'chunks lie in the file in their order')
    os.replace(target, source)
    status, _, said = run('--dataset', 'images', '-c', '3', '--seed', '9')
    with h5py.File(source) as a, h5py.File(target) as b:
        index = b['source_index'][()]
        ok(status == 0 and (b['labels'][()] == index).all() and sorted(index) == list(range(300)) and
           (index != a['source_index'][()]).any(), 'shuffled once more: source_index still leads to the first file')


def test_h5pack():
    with h5py.File(os.path.join(packs, 'plain.h5')) as a, h5py.File(os.path.join(packs, 'y.h5')) as b:
        order = b['source_index'][()]
        names = [name for name in a if a[name].shape[:1] == (20,)]
        ok(len(names) >= 4 and all((b[name][()] == a[name][()][order]).all() for name in names) and
           (b['class_names'][()] == a['class_names'][()]).all(), 'a file of h5pack: ' + ', '.join(names))


def test_refused():
    def refused(pattern, what, *options):
        status, _, said = run(*(options or ('--dataset', 'images', '-c', '1')))
        good = status == 2 and re.search(pattern, said) and len(said.splitlines()) == 1 and os.listdir(work) == ['in.h5']
        ok(good, f'refused: {what}')
        if not good:
            note(f'{status} {said} {os.listdir(work)}')
    for name in os.listdir(work):
        if name != 'in.h5':
            os.remove(os.path.join(work, name))
    make(50)
    refused('not of one length', 'datasets of two lengths', '--dataset', 'images', '--dataset', 'others', '-c', '1')
    refused('not of one group', 'datasets of two groups', '--dataset', 'images', '--dataset', 'elsewhere/labels', '-c', '1')
    with h5py.File(source, 'r+') as file:
        file['source_index'] = 3
    refused('is to have its name', 'a source_index of another kind')
    with h5py.File(source, 'w') as file:
        file['images'] = np.arange(90, dtype='u1')
        file['offsets'] = np.array([0, 30, 90])
        file['shapes'] = np.array([[5, 6], [6, 10]])
    refused('of various sizes', 'records of various sizes')
    make(50)
    with h5py.File(source, 'r+') as file:
        file.create_dataset('lzf', data=np.zeros(50), chunks=(9,), compression='lzf')
    refused('filter 32000', 'what HDF5 cannot decode beside')
    make(50)
    with h5py.File(source, 'r+') as file:
        file['wide'] = np.zeros((50, 90000))
    refused('twice its own; --memory', 'what memory cannot hold beside', '--dataset', 'images', '-c', '1', '--memory', '16M')
    make(50)
    with h5py.File(source, 'r+') as file:
        layout = h5py.VirtualLayout((50,), 'i8')
        layout[:] = h5py.VirtualSource('.', 'labels', (50,))
        file.create_virtual_dataset('virtual', layout)
    refused('it is virtual', 'a virtual dataset beside')


def test_resumed():
    make(200)
    stopped(['--dataset', 'images', '-c', '1', '--compress', 'gzip:1', '--seed', '4'], 30, 'it is the same file')
    make_wide()  # where chunks of one part after the other have the same memory
    least = re.search(r'needs ([0-9]+)K', run('-c', '3', '--memory', '1K')[2])
    stopped(['-c', '3', '--memory', f'{int(least.group(1)) + 100}K', '--seed', '4'], 40, 'so is one made in little memory')


def stopped(options, step, what):
    other = os.path.join(work, 'whole.h5')
    run(*options, to=other)
    good, n_kept = True, 0
    for n in range(20, 2000, step):
        status, _, said = run(*options, env={'LD_PRELOAD': shim, 'FAULT_CALL': 'write', 'FAULT_HOW': 'SIGINT',
                                                         'FAULT_N': str(n)})
        if status == 0:
            break
        good = good and status == 128 + signal.SIGINT
        if os.path.exists(target + '.part'):
            status, _, said = run(*options[:-1], '5', '--resume')
            good = good and status == 2 and 'other options' in said
        status, out, said = run(*options, '--resume')
        good = good and status == 0 and open(other, 'rb').read() == open(target, 'rb').read()
        n_kept += json.loads(out)['result']['datasets'][0]['moved']['resumed'] if status == 0 else 0
        if not good:
            note(f'{n}: {status} {said}')
    ok(good and n_kept > 0, f'stopped and resumed {what}; {n_kept} chunks were taken over')


test_random(40 if os.environ.get('H5PACK_LONG') else 6)
test_short()
test_order()
test_h5pack()
test_refused()
if os.path.exists(shim):
    test_resumed()
else:
    skip('the fault shim cannot be preloaded here')
done()
