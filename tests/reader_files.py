"""Virtual datasets over files of many kinds, and lists of files, as the reader gives them against
h5py: which rows come from where, what is missing, and what has to be left to HDF5."""
import os
import random
import shutil
import subprocess
import sys

import h5py
import numpy as np
from tap import done, equal, note, ok

work = sys.argv[1]
os.chdir(work)
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
SEQUENTIAL, SHUFFLE, BLOCK, BUFFER, REPLACEMENT = range(5)
KINDS = [{}, {'chunks': (1, 4, 6)}, {'chunks': (5, 3, 4), 'compression': 'gzip'},
         {'chunks': (4, 4, 6), 'compression': 'lzf', 'shuffle': True}, {'chunks': (7, 2, 6), 'fletcher32': True},
         {'chunks': (30, 4, 6), 'compression': 'gzip', 'shuffle': True, 'fletcher32': True}]


def dump(name, data, *options, stdin=b''):
    run = subprocess.run(['reader_dump', name, data, *options], input=stdin, capture_output=True)
    said = run.stderr.decode(errors='replace').strip().splitlines()
    numbers = [int(line[7:]) for line in said if line.startswith('sample ')]
    return run.returncode, run.stdout, numbers, said[-1] if said else ''


def part(name, n, kind, dtype='>i4', rows=(4, 6), **more):
    """A file of n rows, and of labels; some chunks are left out."""
    with h5py.File(name, 'w', libver=rng.choice(['earliest', 'latest'])) as file:
        kind = dict(kind)
        if 'chunks' in kind:
            kind['chunks'] = tuple(map(min, kind['chunks'], (n,) + rows))
        data = file.create_dataset('x', shape=(n,) + rows, dtype=dtype, fillvalue=rng.randrange(9), **kind, **more)
        for i in range(n):
            if not data.chunks or rng.random() < 0.8:
                data[i] = np.array([rng.randrange(1000) for _ in range(24)]).reshape(rows)
        file['y'] = np.array([rng.randrange(1 << 30) for _ in range(n)])
        file.create_dataset('far/z', data=data[()] + 1, dtype=dtype, chunks=True, compression='gzip')


def virtual(name, n, blocks, dtype='>i4', source='x', fill=77):
    """blocks: (row, file, first row there, end there, rows of it)"""
    layout = h5py.VirtualLayout(shape=(n, 4, 6), dtype=dtype)
    for row, file, first, end, rows in blocks:
        layout[row:row + end - first] = h5py.VirtualSource(file, source, shape=(rows, 4, 6))[first:end]
    with h5py.File(name, 'a') as file:
        file.create_virtual_dataset('x', layout, fillvalue=fill)
        file['y'] = np.arange(n) * 3


def same(name, want, sentence, kind=SEQUENTIAL, own=True, *options):
    """Whether all samples of any order are those of `want`, an array that h5py has read."""
    threads, strategy = str(rng.randint(1, 4)), rng.choice(['pread', 'mmap', 'direct'])
    status, out, numbers, said = dump(name, 'x', strategy, threads, 'plain=1', f'kind={kind}', 'epochs=2',
                                      f'batch={rng.randint(1, 20)}', f'memory={rng.choice([5 << 20, 1 << 27])}', *options)
    good = status == 0 and out == want[numbers].astype('i4').tobytes() and len(numbers) >= 2 * len(want)
    good = good and said.startswith('hdf5') != own
    ok(good, f'{sentence}: {strategy}, order {kind}' + ('' if own else f', {said}'))
    if not good:
        note(f'{said}; {len(out)} bytes of {len(numbers)} samples')


def read(name):
    with h5py.File(name) as file:
        return file['x'][()]


def test_virtual():
    sizes = [30, 17, 1, 40, 23, 8]
    for i, n in enumerate(sizes):
        part(f'p{i}.h5', n, KINDS[i])
    end, blocks = 0, []
    for i, n in enumerate(sizes):
        blocks.append((end, f'p{i}.h5', 0, n, n))
        end += n
    virtual('v.h5', end, blocks)
    for kind in range(5):
        same('v.h5', read('v.h5'), 'six sources', kind)
    # parts of sources, one of them twice, with gaps, in another order than their rows
    virtual('odd.h5', 100, [(60, 'p0.h5', 7, 29, 30), (3, 'p3.h5', 11, 40, 40), (40, 'p0.h5', 0, 12, 30),
                            (90, 'none.h5', 0, 5, 5), (52, 'p4.h5', 22, 23, 23)])
    for kind in range(5):
        same('odd.h5', read('odd.h5'), 'parts of sources, gaps, one missing', kind)
    virtual('lost.h5', 9, [(0, 'none.h5', 0, 5, 5)])
    same('lost.h5', read('lost.h5'), 'no source is there')
    want = read('odd.h5')
    status, out, numbers, said = dump('odd.h5', 'x', 'mmap', '3', 'plain=1', 'box=9:4:6', 'batch=4')
    ok(status == 0 and len(numbers) == 92 and
       out == b''.join(want[i:i + 9].astype('i4').tobytes() for i in numbers),
       f'{len(numbers)} boxes over several sources {said}')


def test_names():
    os.makedirs('sub/deep', exist_ok=True)
    shutil.copy('p1.h5', 'sub/p1.h5')
    part('p1.h5', 17, KINDS[2])
    virtual('sub/v.h5', 17, [(0, 'p1.h5', 0, 17, 17)])
    same('sub/v.h5', read('sub/v.h5'), 'a source beside the virtual file goes before one in the current folder')
    virtual('sub/w.h5', 23, [(0, 'p4.h5', 0, 23, 23)])
    same('sub/w.h5', read('sub/w.h5'), 'one in the current folder')
    virtual('sub/a.h5', 23, [(0, os.path.abspath('p4.h5'), 0, 23, 23)])
    same('sub/a.h5', read('sub/a.h5'), 'an absolute name')
    os.symlink('../v.h5', 'sub/deep/link.h5')
    same('sub/deep/link.h5', read('sub/deep/link.h5'), 'a link to the virtual file')
    part('sub/only.h5', 17, KINDS[2])
    virtual('sub/u.h5', 17, [(0, 'only.h5', 0, 17, 17)])
    os.symlink('../u.h5', 'sub/deep/u.h5')
    same('sub/deep/u.h5', read('sub/deep/u.h5'), 'a link to one whose source is beside it alone')
    part('own.h5', 12, KINDS[3])
    with h5py.File('own.h5', 'r+') as file:
        file.move('x', 'in/here')
        del file['y']
    virtual('own.h5', 20, [(8, '.', 0, 12, 12)], source='in/here')
    same('own.h5', read('own.h5'), 'a source in the same file', SHUFFLE)
    virtual('pre.h5', 40, [(0, 'p1.h5', 0, 17, 17), (20, 'p0.h5', 0, 15, 30)])
    env, os.environ['HDF5_VDS_PREFIX'] = os.environ.get('HDF5_VDS_PREFIX'), os.path.abspath('sub')
    run = subprocess.run([sys.executable, '-c', 'import h5py, sys; sys.stdout.buffer.write(h5py.File("pre.h5")["x"][()].tobytes())'],
                         capture_output=True)
    same('pre.h5', np.frombuffer(run.stdout, '>i4').reshape(-1, 4, 6), 'HDF5_VDS_PREFIX', SEQUENTIAL, False)
    del os.environ['HDF5_VDS_PREFIX']
    if env:
        os.environ['HDF5_VDS_PREFIX'] = env


def test_left_to_hdf5():
    part('little.h5', 10, KINDS[1], dtype='<i4')
    virtual('types.h5', 10, [(0, 'little.h5', 0, 10, 10)])
    same('types.h5', read('types.h5'), 'another type', SEQUENTIAL, False)
    virtual('twice.h5', 10, [(0, 'v.h5', 0, 10, 119)])
    same('twice.h5', read('twice.h5'), 'virtual over virtual', SEQUENTIAL, False)
    virtual('over.h5', 30, [(0, 'p0.h5', 0, 20, 30), (10, 'p4.h5', 0, 20, 23)])
    same('over.h5', read('over.h5'), 'blocks that overlap', SEQUENTIAL, False)
    layout = h5py.VirtualLayout(shape=(10, 4, 6), dtype='>i4')
    layout[:, :2] = h5py.VirtualSource('p0.h5', 'x', shape=(30, 4, 6))[:10, :2]
    with h5py.File('half.h5', 'w') as file:
        file.create_virtual_dataset('x', layout)
    same('half.h5', read('half.h5'), 'parts of samples', SEQUENTIAL, False)
    layout = h5py.VirtualLayout(shape=(10, 4, 6), dtype='>i4')
    layout[::2] = h5py.VirtualSource('p0.h5', 'x', shape=(30, 4, 6))[:5]
    with h5py.File('every.h5', 'w') as file:
        file.create_virtual_dataset('x', layout, fillvalue=4)
    same('every.h5', read('every.h5'), 'every second row', SEQUENTIAL, False)


def test_split():
    with h5py.File('one.h5', 'w') as file:
        data = np.array([rng.randrange(1 << 20) for _ in range(100 * 24)], dtype='i4').reshape(100, 4, 6)
        file.create_dataset('x', data=data, chunks=(7, 4, 6), compression='gzip')
        file['y'] = np.arange(100)
    made = subprocess.run(['h5rechunk', 'one.h5:/x', '-o', 'split.h5', '--split', '4'],
                          capture_output=True, text=True)
    equal(made.returncode, 0, f'h5rechunk --split {made.stderr.strip()}')
    for kind in (SEQUENTIAL, SHUFFLE, BLOCK):
        same('split.h5', read('one.h5'), 'shards of h5rechunk', kind)
    status, out, numbers, said = dump('split.h5', 'x', 'pread', '2', 'plain=1', f'kind={SHUFFLE}', 'batch=100', 'further=y')
    want = read('one.h5')[numbers].tobytes() + np.array(numbers, dtype='i8').tobytes()
    ok(status == 0 and out == want, f'their labels in step {said}')


def test_list():
    names = ['p3.h5', 'p0.h5', 'v.h5', 'p5.h5']
    want = np.concatenate([read(name) for name in names])
    for kind in range(5):
        same(','.join(names), want, 'a list of files, one virtual', kind)
    names = ['p3.h5', 'p1.h5', 'p2.h5']
    labels = np.concatenate([h5py.File(name)['y'][()] for name in names])
    want = np.concatenate([read(name) for name in names])
    for memory in (3 << 20, 1 << 27):  # labels are kept, and read
        status, out, numbers, said = dump(','.join(names), 'x', 'mmap', '3', 'plain=1', f'kind={SHUFFLE}',
                                          'batch=58', 'further=y', f'memory={memory}')
        ok(status == 0 and out == want[numbers].astype('i4').tobytes() + labels[numbers].tobytes(),
           f'labels of three files in step {said}')
    big = np.concatenate([h5py.File(name)['far/z'][()] for name in names])
    status, out, numbers, said = dump(','.join(names), 'x', 'pread', '3', 'plain=1', f'kind={SHUFFLE}',
                                      'batch=58', 'further=far/z', 'memory=3500000')
    ok(status == 0 and out == want[numbers].astype('i4').tobytes() + big[numbers].astype('i4').tobytes(),
       f'a further dataset that is read in step {said}')
    part('wide.h5', 3, {}, rows=(6, 4))
    for other, words in (('wide.h5', "files of a set have samples of one shape"), ('little.h5', 'is of another type than'),
                         ('half.h5', 'can be read by HDF5 alone'), ('none.h5', "'none.h5'")):
        status, out, numbers, said = dump(f'p0.h5,{other}', 'x')
        ok(status == 2 and words in said and other in said and not out, said)


def changed(change, *options):
    """What the reader says when one of its two sources is changed behind the first batches."""
    part('a.h5', 400, {})
    part('b.h5', 400, {})
    virtual('c.h5', 800, [(0, 'a.h5', 0, 400, 400), (400, 'b.h5', 0, 400, 400)])
    want = read('c.h5').astype('i4').tobytes()
    with subprocess.Popen(['reader_dump', 'c.h5', 'x', 'pread', '2', 'plain=1', 'batch=40', 'wait=3', *options],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        while run.stderr.readline() != b'sample 119\n':
            continue
        change()
        out, said = run.communicate()
    os.remove('c.h5')
    return run.returncode, out, want, said.decode().strip().splitlines()[-1]


def test_changes():
    """A source that changes while the reader is open is an error of its batches, others are not."""
    def write():
        with open('b.h5', 'r+b') as file:
            file.write(file.read(1))
        os.utime('b.h5', (1, 1))
    for change, words in ((lambda: os.truncate('b.h5', 3000), "'b.h5' was cut short"), (write, "'b.h5' was written to")):
        status, out, want, said = changed(change)
        ok(status == 2 and words in said, said)
        ok(len(out) == 400 * 96 and want.startswith(out), 'all batches of the other source came before')
    status, out, want, said = changed(lambda: os.replace('a.h5', 'b.h5'))
    ok(status == 0 and out == want, f'a source that is replaced is read as it was {said}')
    part('a.h5', 40, {})
    with open('b.h5', 'wb') as file:
        file.write(b'no HDF5' * 100)
    virtual('c.h5', 80, [(0, 'a.h5', 0, 40, 40), (40, 'b.h5', 0, 40, 40)])
    status, out, _, said = dump('c.h5', 'x')
    ok(status == 2 and "'b.h5'" in said and not out, said)


def main():
    test_virtual()
    test_names()
    test_left_to_hdf5()
    test_split()
    test_list()
    test_changes()


main()
done()
